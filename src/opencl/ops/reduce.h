/// reduce.h: what the files of the reduce family share.
#ifndef CUBEBACK_OPENCL_REDUCE_H
#define CUBEBACK_OPENCL_REDUCE_H

#include "axes.h"

#define CBK_OCL_REDUCE_GROUP 256 ///< work-items of a group as a rule, GPU form

/// What the kernels do: operations that differ in the view of their elements share one.
enum {
    CBK_OCL_REDUCE_SUM,
    CBK_OCL_REDUCE_MEAN,
    CBK_OCL_REDUCE_PROD,
    CBK_OCL_REDUCE_MAX,
    CBK_OCL_REDUCE_MIN,
    CBK_OCL_REDUCE_ARGMAX,
    CBK_OCL_REDUCE_ARGMIN,
    CBK_OCL_REDUCE_ANY,
    CBK_OCL_REDUCE_ALL,
    CBK_OCL_REDUCE_VAR,
    CBK_OCL_REDUCE_STD,
    CBK_OCL_REDUCE_VAR_MEAN,
    CBK_OCL_REDUCE_NORM0,
    CBK_OCL_REDUCE_NORM1,
    CBK_OCL_REDUCE_NORM2,
    CBK_OCL_REDUCE_NORM_P,
    CBK_OCL_REDUCE_LOGSUMEXP,
    CBK_OCL_REDUCE_MAX_ABS,
    CBK_OCL_REDUCE_MIN_ABS,
    CBK_OCL_REDUCE_MAX_WITH_INDICES,
    CBK_OCL_REDUCE_MIN_WITH_INDICES,
    CBK_OCL_REDUCE_COUNT_NONZERO
};

struct cbk_ocl_reduce_kind {
    const char *op, *term; ///< OP and TERM of kernels/include/reduce_ops.clh
    uint32_t state_fields; ///< accumulators in a state; 0: value and place, 16 bytes
    bool is_truth;
    bool is_order_free; ///< for floats too
    bool is_pair;       ///< has two outputs
};

/// Names a program; packed into the key.
struct cbk_ocl_reduce_program {
    uint32_t kind; ///< CBK_OCL_REDUCE_*
    cbk_dtype x, accumulator, y, z;
    uint32_t lanes;
    bool is_gpu, is_aligned, has_index64;
    // reduce_row of argmax and argmin, GPU form
    uint32_t group; ///< work-items
    bool has_group; ///< a row has the group of its own
};

// reduce_program.c
const struct cbk_ocl_reduce_kind *cbk_ocl_reduce_kind(uint32_t kind);
/// The kind of a row; `p` is that of the norm.
uint32_t cbk_ocl_reduce_kind_of(cbk_opcode opcode, double p);
cbk_dtype cbk_ocl_reduce_accumulator(uint32_t kind, cbk_dtype x, cbk_dtype y);
/// Is every order of the elements as good as any other, in this accumulator?
bool cbk_ocl_reduce_is_order_free(uint32_t kind, cbk_dtype accumulator);
/// Lanes of the CPU form's vectors: as wide as its registers, but no more than 64 bytes.
uint32_t cbk_ocl_reduce_lanes(uint32_t float_lanes, cbk_dtype accumulator);
size_t cbk_ocl_reduce_state_bytes(const struct cbk_ocl_reduce_program *program);
/// Work-items of a group, GPU form.
uint32_t cbk_ocl_reduce_group(const struct cbk_ocl_reduce_program *program, const char *entry);
struct cbk_rt_spec cbk_ocl_reduce_spec(const struct cbk_ocl_reduce_program *program,
                                       const char *entry);

// reduce.c
/// y = the sum of x [m, n] over its first axis. y has rank 1, m may be 0.
cbk_status cbk_ocl_sum_first_axis(struct cbk_ocl_stream *stream, const char *name,
                                  const struct cbk_ocl_operand *x, const struct cbk_ocl_operand *y);

#endif
