/// cubeback/ops/softmax.h: softmax and its relatives along one axis.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_SOFTMAX_H
#define CUBEBACK_OPS_SOFTMAX_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// exp(x - max) / sum(exp(x - max)) along `axis`. Dtypes: floats; computed in f32 or f64.
CBK_API cbk_status cbk_softmax(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                               cbk_tensor **out);
CBK_API cbk_status cbk_softmax_into(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                    cbk_tensor *dst);
/// x - max - log(sum(exp(x - max))) along `axis`. Dtypes: floats.
CBK_API cbk_status cbk_log_softmax(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_log_softmax_into(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                        cbk_tensor *dst);

/// softmax of -x. Dtypes: floats.
CBK_API cbk_status cbk_softmin(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                               cbk_tensor **out);
CBK_API cbk_status cbk_softmin_into(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                    cbk_tensor *dst);
/// exp(x) / (1 + sum(exp(x))) along `axis`, without overflow on the way: a row whose elements are all
/// far below 0 gives numbers near 0, which add up to less than 1. Dtypes: floats.
CBK_API cbk_status cbk_quiet_softmax(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                     cbk_tensor **out);
CBK_API cbk_status cbk_quiet_softmax_into(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                          cbk_tensor *dst);
/// The gradient of x, of the result y of softmax (or quiet_softmax) or log_softmax along `axis` and
/// of y's gradient: y (g - sum(y g)), g - exp(y) sum(g). Dtypes: floats.
CBK_API cbk_status cbk_softmax_backward(cbk_stream *stream, const cbk_tensor *y,
                                        const cbk_tensor *gradient, int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_softmax_backward_into(cbk_stream *stream, const cbk_tensor *y,
                                             const cbk_tensor *gradient, int32_t axis,
                                             cbk_tensor *dst);
CBK_API cbk_status cbk_log_softmax_backward(cbk_stream *stream, const cbk_tensor *y,
                                            const cbk_tensor *gradient, int32_t axis,
                                            cbk_tensor **out);
CBK_API cbk_status cbk_log_softmax_backward_into(cbk_stream *stream, const cbk_tensor *y,
                                                 const cbk_tensor *gradient, int32_t axis,
                                                 cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
