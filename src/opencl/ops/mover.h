/// mover.h: what the launchers that move elements bit for bit share: programs by element size.
#ifndef CUBEBACK_OPENCL_MOVER_H
#define CUBEBACK_OPENCL_MOVER_H

#include "axes.h"

#define CBK_OCL_MOVE_GROUP 256
#define CBK_OCL_MOVE_EACH 4             ///< elements of a work-item, GPU form
#define CBK_OCL_MOVE_PIECE 16384        ///< bytes that a CPU does at a time
#define CBK_OCL_STREAM_BYTES (32 << 20) ///< from here on stores of a CPU bypass its caches

/// One form of a move's program (kernels/cat.cl, kernels/pad.cl).
struct cbk_ocl_mover {
    uint32_t element_size; ///< 1, 2, 4, 8; GPU form also 16
    bool is_gpu, has_index64;
};

/// The unsigned C type of a size: "uchar" to "ulong", "uint4".
const char *cbk_ocl_bits_type(uint32_t size);

/// `mover` must live as long as the spec.
struct cbk_rt_spec cbk_ocl_mover_spec(const struct cbk_rt_source *source, const char *entry,
                                      const struct cbk_ocl_mover *mover);

/// Work-items of a CPU for so many bytes.
int64_t cbk_ocl_move_items(const struct cbk_rt_caps *caps, int64_t bytes);

cbk_status cbk_ocl_cat(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_pad(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_roll(struct cbk_ocl_stream *stream, const cbk_op *op);

void cbk_ocl_cat_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_pad_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_mover_programs(const struct cbk_rt_source *source, const char *entry,
                            cbk_ocl_program_visitor visit, void *user_data);

#endif
