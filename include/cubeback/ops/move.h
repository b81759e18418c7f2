/// cubeback/ops/move.h: elements to other places; any dtype, bit for bit.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_MOVE_H
#define CUBEBACK_OPS_MOVE_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A new row-major tensor with the same elements.
CBK_API cbk_status cbk_copy(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_copy_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// x itself (one more reference) if it is contiguous, else a copy. Private layouts are turned back.
CBK_API cbk_status cbk_contiguous(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
/// x with the slice replaced by `value`, whose shape is the slice's.
/// In place: dst == x.
CBK_API cbk_status cbk_slice_assign(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_tensor *value, const cbk_slice_params *params,
                                    cbk_tensor **out);
CBK_API cbk_status cbk_slice_assign_into(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_tensor *value, const cbk_slice_params *params,
                                         cbk_tensor *dst);
/// Joins tensors along `axis`; all other lengths agree. Members of length 0 add nothing.
CBK_API cbk_status cbk_cat(cbk_stream *stream, const cbk_tensor *const *tensors, uint32_t count,
                           int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_cat_into(cbk_stream *stream, const cbk_tensor *const *tensors,
                                uint32_t count, int32_t axis, cbk_tensor *dst);
/// Joins tensors of one shape along a new axis, `axis` of the result.
CBK_API cbk_status cbk_stack(cbk_stream *stream, const cbk_tensor *const *tensors, uint32_t count,
                             int32_t axis, cbk_tensor **out);
/// x with elements added before and after each axis; see cbk_pad_params. NULL params: a copy.
/// Errors: CBK_ERROR_SHAPE for a negative number, for a reflection of as many elements as the axis
/// has or more, and for edge and circular elements of an axis that has none.
CBK_API cbk_status cbk_pad(cbk_stream *stream, const cbk_tensor *x, const cbk_pad_params *params,
                           cbk_tensor **out);
CBK_API cbk_status cbk_pad_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_pad_params *params, cbk_tensor *dst);
/// x turned round along axes; see cbk_roll_params.
CBK_API cbk_status cbk_roll(cbk_stream *stream, const cbk_tensor *x, const cbk_roll_params *params,
                            cbk_tensor **out);
CBK_API cbk_status cbk_roll_into(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_roll_params *params, cbk_tensor *dst);
/// x laid side by side with itself, repeats[i] times along axis i: as many entries as x has axes.
/// Where only axes of length 1 are repeated the result is a view of x that is stretched there.
CBK_API cbk_status cbk_repeat(cbk_stream *stream, const cbk_tensor *x, const int64_t *repeats,
                              cbk_tensor **out);
/// The same along one axis.
CBK_API cbk_status cbk_repeat_dim(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                  int64_t times, cbk_tensor **out);

/// Elements of the last two axes with column - row <= offset, else 0. In place: dst == x.
CBK_API cbk_status cbk_tril(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                            cbk_tensor **out);
CBK_API cbk_status cbk_tril_into(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                                 cbk_tensor *dst);
/// Elements of the last two axes with column - row >= offset, else 0. In place: dst == x.
CBK_API cbk_status cbk_triu(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                            cbk_tensor **out);
CBK_API cbk_status cbk_triu_into(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                                 cbk_tensor *dst);
/// x [..., n] -> [..., n + |offset|, n + |offset|] with x on that diagonal, else 0.
CBK_API cbk_status cbk_diag_embed(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_diag_embed_into(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                                       cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
