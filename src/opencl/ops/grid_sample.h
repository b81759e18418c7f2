/// grid_sample.h: what grid_sample and its gradients share.
#ifndef CUBEBACK_OPENCL_GRID_SAMPLE_H
#define CUBEBACK_OPENCL_GRID_SAMPLE_H

#include "index.h"

/// As in kernels/include/sample_ops.clh.
struct cbk_ocl_sample_args {
    int64_t x_offset, grid_offset, y_offset, grid_gradient_offset;
    int64_t x_strides[4], grid_strides[4], y_strides[4], grid_gradient_strides[4];
    int64_t channels, height, width;
    int64_t positions, out_height, out_width;
    int64_t positions_per_item;
    int64_t mode, padding, align_corners;
};

/// Of images like `x`, sampled at `grid`, with samples like `y`; one position per work-item.
struct cbk_ocl_sample_args cbk_ocl_sample_args(const struct cbk_ocl_operand *x,
                                               const struct cbk_ocl_operand *grid,
                                               const struct cbk_ocl_operand *y,
                                               const cbk_grid_sample_params *params);

/// Are there offsets beyond 31 bits from the first element on?
bool cbk_ocl_sample_is_long(const cbk_tensor_meta *meta);

// grid_sample_backward.c
cbk_status cbk_ocl_grid_sample_x_backward(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_grid_sample_grid_backward(struct cbk_ocl_stream *stream, const cbk_op *op);
void cbk_ocl_grid_sample_backward_programs(cbk_ocl_program_visitor visit, void *user_data);

#endif
