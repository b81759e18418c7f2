/// cubeback/ops/index.h: elements and slices by index; any integer dtype indexes.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_INDEX_H
#define CUBEBACK_OPS_INDEX_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A negative or too large index touches nothing: a gathered element is 0, a scattered one is
/// skipped, and the stream's next sync or read gives CBK_ERROR_INDEX_OUT_OF_RANGE. All of them are
/// deterministic unless CBK_INDEX_UNORDERED is set in the params of cbk_execute. Dtypes of x and value:
/// any; add and mul: floats, ints; min, max: floats, ints, bools (and, or).

/// out[.., i, ..] = x[.., index[.., i, ..], ..] along `axis`. index has x's rank and no greater
/// length on the other axes; out has its shape.
CBK_API cbk_status cbk_gather(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                              int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_gather_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                                   int32_t axis, cbk_tensor *dst);
/// Slices of x at the positions of `index`, whose axes stand where the indexed one was.
CBK_API cbk_status cbk_select(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                              int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_select_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                                   int32_t axis, cbk_tensor *dst);
/// x with x[.., index[..i..], ..] updated by value[..i..] (CBK_UPDATE_*), for each position of index.
/// value has index's shape. In place: dst == x.
CBK_API cbk_status cbk_scatter(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                               const cbk_tensor *value, int32_t axis, uint32_t update,
                               cbk_tensor **out);
CBK_API cbk_status cbk_scatter_into(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_tensor *index, const cbk_tensor *value, int32_t axis,
                                    uint32_t update, cbk_tensor *dst);
CBK_API cbk_status cbk_scatter_add(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                                   const cbk_tensor *value, int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_scatter_add_into(cbk_stream *stream, const cbk_tensor *x,
                                        const cbk_tensor *index, const cbk_tensor *value,
                                        int32_t axis, cbk_tensor *dst);
/// x with its slices at the positions of the rank-1 `index` updated by those of value, whose shape
/// is x's with the axis as long as index. In place: dst == x.
CBK_API cbk_status cbk_select_assign(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_tensor *index, const cbk_tensor *value, int32_t axis,
                                     uint32_t update, cbk_tensor **out);
CBK_API cbk_status cbk_select_assign_into(cbk_stream *stream, const cbk_tensor *x,
                                          const cbk_tensor *index, const cbk_tensor *value,
                                          int32_t axis, uint32_t update, cbk_tensor *dst);
CBK_API cbk_status cbk_select_add(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                                  const cbk_tensor *value, int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_select_add_into(cbk_stream *stream, const cbk_tensor *x,
                                       const cbk_tensor *index, const cbk_tensor *value,
                                       int32_t axis, cbk_tensor *dst);
/// The last axis of index, of length d, holds places in the first d axes of x (1 <= d <= rank of x):
/// out has index's other axes, then x's axes from d on.
CBK_API cbk_status cbk_gather_nd(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                                 cbk_tensor **out);
CBK_API cbk_status cbk_gather_nd_into(cbk_stream *stream, const cbk_tensor *x,
                                      const cbk_tensor *index, cbk_tensor *dst);
/// x with the slices that cbk_gather_nd would read updated by those of value (CBK_UPDATE_*), in the
/// row-major order of index. In place: dst == x.
CBK_API cbk_status cbk_scatter_nd(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                                  const cbk_tensor *value, uint32_t update, cbk_tensor **out);
CBK_API cbk_status cbk_scatter_nd_into(cbk_stream *stream, const cbk_tensor *x,
                                       const cbk_tensor *index, const cbk_tensor *value,
                                       uint32_t update, cbk_tensor *dst);
/// Rows of weights [V, D] at index [..]: [.., D]. The same as cbk_select along axis 0.
CBK_API cbk_status cbk_embedding(cbk_stream *stream, const cbk_tensor *weights,
                                 const cbk_tensor *index, cbk_tensor **out);
CBK_API cbk_status cbk_embedding_into(cbk_stream *stream, const cbk_tensor *weights,
                                      const cbk_tensor *index, cbk_tensor *dst);
/// The gradient of weights [rows, D]: for each row the sum of grad [.., D] where index [..] names it,
/// added in row-major order of index. Dtypes: floats, ints; f16 and bf16 are added in f32.
CBK_API cbk_status cbk_embedding_backward(cbk_stream *stream, const cbk_tensor *grad,
                                          const cbk_tensor *index, int64_t rows, cbk_tensor **out);
CBK_API cbk_status cbk_embedding_backward_into(cbk_stream *stream, const cbk_tensor *grad,
                                               const cbk_tensor *index, cbk_tensor *dst);
/// Elements of x, seen as one row-major axis, at index: index's shape.
CBK_API cbk_status cbk_take(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                            cbk_tensor **out);
/// [.., classes]: params->on where the last axis' place is the index, params->off elsewhere. NULL
/// params: no classes. Dtypes: index ints; the result any.
CBK_API cbk_status cbk_one_hot(cbk_stream *stream, const cbk_tensor *index,
                               const cbk_one_hot_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_one_hot_into(cbk_stream *stream, const cbk_tensor *index,
                                    const cbk_one_hot_params *params, cbk_tensor *dst);

/// x [n, c, h, w] at places between its elements, grid [n, ho, wo, 2] (along w, then along h; from -1
/// to 1 over x): [n, c, ho, wo]. A place that is not finite lies outside; NaN counts as -1 there
/// where padding leads back into x. NULL params: bilinear, zeros outside, borders at -1 and 1.
/// Dtypes: floats, of x and grid the same. Errors: CBK_ERROR_SHAPE where h or w is 0.
CBK_API cbk_status cbk_grid_sample(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *grid,
                                   const cbk_grid_sample_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_grid_sample_into(cbk_stream *stream, const cbk_tensor *x,
                                        const cbk_tensor *grid,
                                        const cbk_grid_sample_params *params, cbk_tensor *dst);
/// The gradients of x and of grid from that of the result, grad [n, c, ho, wo], with the params of the
/// forward operation. That of x, of which the shape alone has a say, adds in row-major order of the
/// positions of grad; f16 and bf16 are added in f32. That of grid is 0 where padding holds a place at
/// an edge, and for nearest everywhere. Dtypes: floats, of all three the same.
CBK_API cbk_status cbk_grid_sample_x_backward(cbk_stream *stream, const cbk_tensor *x,
                                              const cbk_tensor *grid, const cbk_tensor *grad,
                                              const cbk_grid_sample_params *params,
                                              cbk_tensor **out);
CBK_API cbk_status cbk_grid_sample_x_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                                   const cbk_tensor *grid, const cbk_tensor *grad,
                                                   const cbk_grid_sample_params *params,
                                                   cbk_tensor *dst);
CBK_API cbk_status cbk_grid_sample_grid_backward(cbk_stream *stream, const cbk_tensor *x,
                                                 const cbk_tensor *grid, const cbk_tensor *grad,
                                                 const cbk_grid_sample_params *params,
                                                 cbk_tensor **out);
CBK_API cbk_status cbk_grid_sample_grid_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                                      const cbk_tensor *grid,
                                                      const cbk_tensor *grad,
                                                      const cbk_grid_sample_params *params,
                                                      cbk_tensor *dst);
/// theta [n, 2, 3] applied to (x, y, 1) of every place of a [height, width] image: a grid [n, height,
/// width, 2] for cbk_grid_sample with the same align_corners. Dtypes: floats.
CBK_API cbk_status cbk_affine_grid(cbk_stream *stream, const cbk_tensor *theta, int64_t height,
                                   int64_t width, uint32_t align_corners, cbk_tensor **out);

#ifdef __cplusplus
}
#endif
#endif
