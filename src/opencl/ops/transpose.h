/// transpose.h: copies between tensors whose innermost axes differ.
#ifndef CUBEBACK_OPENCL_TRANSPOSE_H
#define CUBEBACK_OPENCL_TRANSPOSE_H

#include "opencl.h"

/// Copies by tiles if the nest of (destination, source) is a transposition: the destination's
/// innermost axis is contiguous, another one is contiguous in the source. *out_done tells; false:
/// nothing was launched. `bits` is the unsigned integer of the element's size.
cbk_status cbk_ocl_transpose(struct cbk_ocl_stream *stream, cbk_dtype bits,
                             const struct cbk_ocl_nest *nest, struct cbk_rt_block *destination,
                             struct cbk_rt_block *source, bool *out_done);

void cbk_ocl_transpose_programs(cbk_ocl_program_visitor visit, void *user_data);

#endif
