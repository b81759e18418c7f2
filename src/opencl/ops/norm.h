/// norm.h: what the files of the normalisations share.
#ifndef CUBEBACK_OPENCL_NORM_H
#define CUBEBACK_OPENCL_NORM_H

#include "axes.h"

/// The formulas of kernels/include/norm_ops.clh.
enum {
    CBK_OCL_NORM_LAYER,
    CBK_OCL_NORM_RMS,
    CBK_OCL_NORM_LAYER_BACKWARD,
    CBK_OCL_NORM_RMS_BACKWARD,
    CBK_OCL_NORM_SOFTMAX_BACKWARD,
    CBK_OCL_NORM_LOG_SOFTMAX_BACKWARD
};

/// GPU form: rows up to `length` elements are kept in registers, `rows` at a time, by groups of
/// `group` work-items with `quads` vectors of each row.
struct cbk_ocl_norm_shape {
    int64_t length;
    uint32_t group, quads, rows;
};

/// Names a program; packed into the key.
struct cbk_ocl_norm_program {
    uint32_t kind; ///< CBK_OCL_NORM_*
    bool is_gpu, is_aligned, has_index64, has_gamma, has_beta;
    cbk_dtype x;
    uint32_t lanes; ///< CPU form
    // GPU form
    bool is_nvidia;
    bool has_group; ///< a set of rows has the group of its own
    struct cbk_ocl_norm_shape shape;
};

// norm_program.c
extern const struct cbk_ocl_norm_shape cbk_ocl_norm_loop; ///< of norm_long and norm_columns
cbk_dtype cbk_ocl_norm_arithmetic(cbk_dtype x);
uint32_t cbk_ocl_norm_lanes(uint32_t float_lanes, cbk_dtype x);
/// False if rows are too long for registers.
bool cbk_ocl_norm_shape(const struct cbk_ocl_norm_program *program, int64_t length,
                        uint32_t max_work_group, struct cbk_ocl_norm_shape *out);
struct cbk_rt_spec cbk_ocl_norm_spec(const struct cbk_ocl_norm_program *program, const char *entry);

// batch_norm.c
cbk_status cbk_ocl_batch_norm(struct cbk_ocl_stream *stream, const cbk_op *op);

#endif
