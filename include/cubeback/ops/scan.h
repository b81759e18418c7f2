/// cubeback/ops/scan.h: running sums, products and extrema along one axis.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_SCAN_H
#define CUBEBACK_OPS_SCAN_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Element i of the result is the sum, product, maximum or minimum of elements 0 .. i of the axis,
/// or of 0 .. i - 1 (exclusive), or counted from the axis' end (reversed); NULL params: axis 0.
/// The first exclusive result is the identity: 0, 1, and for cummax the lowest value of the dtype
/// (floats: -infinity), for cummin the highest.
/// out_dtype of cumsum and cumprod as for sum; f16 and bf16 accumulate in f32, i8 and i16 in i32;
/// integers wrap. The order of additions depends on the length and the dtype alone. In cummax and
/// cummin a NaN makes all that follow NaN.
/// Shapes: the result has x's; an empty axis is fine. Dtypes: floats, ints.
CBK_API cbk_status cbk_cumsum(cbk_stream *stream, const cbk_tensor *x,
                              const cbk_scan_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_cumsum_into(cbk_stream *stream, const cbk_tensor *x,
                                   const cbk_scan_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_cumprod(cbk_stream *stream, const cbk_tensor *x,
                               const cbk_scan_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_cumprod_into(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_scan_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_cummax(cbk_stream *stream, const cbk_tensor *x,
                              const cbk_scan_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_cummax_into(cbk_stream *stream, const cbk_tensor *x,
                                   const cbk_scan_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_cummin(cbk_stream *stream, const cbk_tensor *x,
                              const cbk_scan_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_cummin_into(cbk_stream *stream, const cbk_tensor *x,
                                   const cbk_scan_params *params, cbk_tensor *dst);
/// log(sum(exp(x))) of the elements that cumsum would add, without overflow on the way; the first
/// exclusive result is -infinity. No out_dtype. Dtypes: floats.
CBK_API cbk_status cbk_logcumsumexp(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_scan_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_logcumsumexp_into(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_scan_params *params, cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
