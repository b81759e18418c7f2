/// cubeback/ops/view.h: new metadata over the same storage; nothing is launched.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_VIEW_H
#define CUBEBACK_OPS_VIEW_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The same elements in row-major order under another shape; one length may be -1 (inferred).
/// Where no strides can express it (a reshape of a transposed tensor), the result is a copy.
CBK_API cbk_status cbk_reshape(cbk_stream *stream, const cbk_tensor *x, uint32_t rank,
                               const int64_t *shape, cbk_tensor **out);

/// Axis i of the result is axis axes[i] of x. `axes` lists all axes once.
CBK_API cbk_status cbk_permute(cbk_stream *stream, const cbk_tensor *x, const int32_t *axes,
                               cbk_tensor **out);

/// Swaps two axes.
CBK_API cbk_status cbk_transpose(cbk_stream *stream, const cbk_tensor *x, int32_t axis1,
                                 int32_t axis2, cbk_tensor **out);

/// Stretches axes of length 1 (also to 0) and adds leading axes; -1 keeps a length.
CBK_API cbk_status cbk_expand(cbk_stream *stream, const cbk_tensor *x, uint32_t rank,
                              const int64_t *shape, cbk_tensor **out);

/// A range of each axis; see cbk_slice_params. NULL params: the whole tensor.
CBK_API cbk_status cbk_slice(cbk_stream *stream, const cbk_tensor *x,
                             const cbk_slice_params *params, cbk_tensor **out);

/// Elements start <= i < start + length of one axis.
CBK_API cbk_status cbk_narrow(cbk_stream *stream, const cbk_tensor *x, int32_t axis, int64_t start,
                              int64_t length, cbk_tensor **out);

/// Reverses axes; count 0: all.
CBK_API cbk_status cbk_flip(cbk_stream *stream, const cbk_tensor *x, uint32_t axis_count,
                            const int32_t *axes, cbk_tensor **out);

/// Windows of `size` every `step` elements of `axis`: the axis gets length
/// floor((n - size) / step) + 1 (0 when n < size), the window is appended as last axis.
/// Errors: CBK_ERROR_SHAPE for rank 8.
CBK_API cbk_status cbk_unfold(cbk_stream *stream, const cbk_tensor *x, int32_t axis, int64_t size,
                              int64_t step, cbk_tensor **out);

/// Drops axes of length 1; count 0: all of them.
CBK_API cbk_status cbk_squeeze(cbk_stream *stream, const cbk_tensor *x, uint32_t axis_count,
                               const int32_t *axes, cbk_tensor **out);

/// Adds axes of length 1 at these places of the result.
CBK_API cbk_status cbk_unsqueeze(cbk_stream *stream, const cbk_tensor *x, uint32_t axis_count,
                                 const int32_t *axes, cbk_tensor **out);

/// The diagonal of two axes becomes the last axis; offset > 0 lies above the main diagonal.
CBK_API cbk_status cbk_diagonal(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                                int32_t axis1, int32_t axis2, cbk_tensor **out);

// ---- made of several of these --------------------------------------------------------------

/// Parts of these lengths, one after the other, which make up the axis. `outs` has `count` places;
/// after a failure all of them are NULL.
CBK_API cbk_status cbk_split(cbk_stream *stream, const cbk_tensor *x, int32_t axis, uint32_t count,
                             const int64_t *lengths, cbk_tensor **outs);

/// Parts of ceil(n / count) elements, of which the last may be shorter; their number, at most
/// `count` (at least 1), goes to *out_count, and places of `outs` beyond it are NULL.
CBK_API cbk_status cbk_chunk(cbk_stream *stream, const cbk_tensor *x, int32_t axis, uint32_t count,
                             cbk_tensor **outs, uint32_t *out_count);

/// Axis source[i] of x becomes axis destination[i]; the others keep their order.
CBK_API cbk_status cbk_movedim(cbk_stream *stream, const cbk_tensor *x, uint32_t count,
                               const int32_t *source, const int32_t *destination, cbk_tensor **out);

/// Axes first to last, both included, become one, as reshape does it; rank 0 becomes [1].
CBK_API cbk_status cbk_flatten(cbk_stream *stream, const cbk_tensor *x, int32_t first, int32_t last,
                               cbk_tensor **out);

/// One axis becomes `count` axes of these lengths, of which one may be -1.
CBK_API cbk_status cbk_unflatten(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                 uint32_t count, const int64_t *lengths, cbk_tensor **out);

enum { CBK_GRID_IJ = 0, CBK_GRID_XY = 1 };

/// vectors[i] [n_i] -> outs[i] [n_0, n_1, ...], varying along axis i alone. CBK_GRID_XY: axes 0 and
/// 1 of the results change places.
CBK_API cbk_status cbk_meshgrid(cbk_stream *stream, const cbk_tensor *const *vectors,
                                uint32_t count, uint32_t indexing, cbk_tensor **outs);

/// The coordinates of every place of a shape: [lengths..., rank], made anew, two launches an axis.
/// Dtype 0: the device's default int. Errors: CBK_ERROR_SHAPE for rank 8.
CBK_API cbk_status cbk_cartesian_grid(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                      const int64_t *lengths, cbk_tensor **out);

#ifdef __cplusplus
}
#endif
#endif
