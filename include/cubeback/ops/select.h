/// cubeback/ops/select.h: selection, bounds, conversion.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_SELECT_H
#define CUBEBACK_OPS_SELECT_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// mask ? a : b, all broadcast. Dtypes: mask bools; a, b any, equal.
CBK_API cbk_status cbk_where(cbk_stream *stream, const cbk_tensor *mask, const cbk_tensor *a,
                             const cbk_tensor *b, cbk_tensor **out);
CBK_API cbk_status cbk_where_into(cbk_stream *stream, const cbk_tensor *mask, const cbk_tensor *a,
                                  const cbk_tensor *b, cbk_tensor *dst);
/// mask ? value : x. Dtypes: mask bools; x any.
CBK_API cbk_status cbk_mask_fill(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *mask,
                                 cbk_scalar value, cbk_tensor **out);
CBK_API cbk_status cbk_mask_fill_into(cbk_stream *stream, const cbk_tensor *x,
                                      const cbk_tensor *mask, cbk_scalar value, cbk_tensor *dst);
/// min(max(x, low), high): high wins when low > high; NaN in x or a bound gives NaN. A bound of
/// kind CBK_SCALAR_NONE is left out. Dtypes: floats, ints.
CBK_API cbk_status cbk_clamp(cbk_stream *stream, const cbk_tensor *x, cbk_scalar low,
                             cbk_scalar high, cbk_tensor **out);
CBK_API cbk_status cbk_clamp_into(cbk_stream *stream, const cbk_tensor *x, cbk_scalar low,
                                  cbk_scalar high, cbk_tensor *dst);
/// (1 - weight) a + weight b, as fma(weight, b, fma(-weight, a, a)). Dtypes: floats.
CBK_API cbk_status cbk_lerp(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                            const cbk_tensor *weight, cbk_tensor **out);
CBK_API cbk_status cbk_lerp_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 const cbk_tensor *weight, cbk_tensor *dst);
/// The same with one weight.
CBK_API cbk_status cbk_lerp_scalar(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                   cbk_scalar weight, cbk_tensor **out);
CBK_API cbk_status cbk_lerp_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                        const cbk_tensor *b, cbk_scalar weight, cbk_tensor *dst);
/// x + value * a * b; value left out: 1. Dtypes: floats.
CBK_API cbk_status cbk_addcmul(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *a,
                               const cbk_tensor *b, cbk_scalar value, cbk_tensor **out);
CBK_API cbk_status cbk_addcmul_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *a,
                                    const cbk_tensor *b, cbk_scalar value, cbk_tensor *dst);
/// x + value * a / b; value left out: 1. Dtypes: floats.
CBK_API cbk_status cbk_addcdiv(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *a,
                               const cbk_tensor *b, cbk_scalar value, cbk_tensor **out);
CBK_API cbk_status cbk_addcdiv_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *a,
                                    const cbk_tensor *b, cbk_scalar value, cbk_tensor *dst);
/// Converts: to floats rounded to nearest even (overflow gives infinity; f8e4m3 saturates to NaN as
/// its format demands); float to integer toward zero, saturating, NaN to 0; integer to integer wraps;
/// to bool: x != 0. Dtypes: any to any.
CBK_API cbk_status cbk_cast(cbk_stream *stream, const cbk_tensor *x, cbk_dtype dtype,
                            cbk_tensor **out);
/// Converts to the dtype of `dst`.
CBK_API cbk_status cbk_cast_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
