/// random.h: what the launchers of the random family share.
#ifndef CUBEBACK_OPENCL_RANDOM_H
#define CUBEBACK_OPENCL_RANDOM_H

#include "opencl.h"

/// Where a draw begins: at `first`, in a capture counted from what *start holds on the device.
struct cbk_ocl_positions {
    uint64_t first;
    struct cbk_rt_block *start; ///< NULL outside of captures
    int64_t start_offset;       ///< in elements of struct cbk_ocl_random_start
};

/// Takes `count` positions from the stream, whose state the caller has got from
/// cbk_ocl_random_state: another thread may seed meanwhile. `draw` names any program of a text that includes
/// kernels/include/random_start.clh.
cbk_status cbk_ocl_take_positions(struct cbk_ocl_stream *stream, const struct cbk_rt_spec *draw,
                                  uint64_t count, struct cbk_ocl_positions *out);

/// Adds the argument `start` of kernels that draw.
void cbk_ocl_arg_start(struct cbk_rt_launch *launch, const struct cbk_ocl_positions *positions);

// categorical.c
cbk_status cbk_ocl_categorical(struct cbk_ocl_stream *stream, const cbk_op *op);
void cbk_ocl_categorical_programs(cbk_ocl_program_visitor visit, void *user_data);

#endif
