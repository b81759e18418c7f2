/// cubeback/ops/compare.h: comparisons. NaN compares false (not_equal: true), the result is the
/// device's default bool.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_COMPARE_H
#define CUBEBACK_OPS_COMPARE_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// `dst` may be bool or bool32. Dtypes: floats, ints; equal and not_equal also bools.
CBK_API cbk_status cbk_equal(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                             cbk_tensor **out);
CBK_API cbk_status cbk_equal_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor *dst);
CBK_API cbk_status cbk_equal_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                    cbk_tensor **out);
CBK_API cbk_status cbk_equal_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                         cbk_tensor *dst);
CBK_API cbk_status cbk_not_equal(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 cbk_tensor **out);
CBK_API cbk_status cbk_not_equal_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                      cbk_tensor *dst);
CBK_API cbk_status cbk_not_equal_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                        cbk_tensor **out);
CBK_API cbk_status cbk_not_equal_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                             cbk_scalar scalar, cbk_tensor *dst);
CBK_API cbk_status cbk_less(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                            cbk_tensor **out);
CBK_API cbk_status cbk_less_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 cbk_tensor *dst);
CBK_API cbk_status cbk_less_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_less_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                        cbk_tensor *dst);
CBK_API cbk_status cbk_less_equal(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_less_equal_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                       cbk_tensor *dst);
CBK_API cbk_status cbk_less_equal_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                         cbk_tensor **out);
CBK_API cbk_status cbk_less_equal_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                              cbk_scalar scalar, cbk_tensor *dst);
CBK_API cbk_status cbk_greater(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                               cbk_tensor **out);
CBK_API cbk_status cbk_greater_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                    cbk_tensor *dst);
CBK_API cbk_status cbk_greater_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                      cbk_tensor **out);
CBK_API cbk_status cbk_greater_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                           cbk_scalar scalar, cbk_tensor *dst);
CBK_API cbk_status cbk_greater_equal(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                     cbk_tensor **out);
CBK_API cbk_status cbk_greater_equal_into(cbk_stream *stream, const cbk_tensor *a,
                                          const cbk_tensor *b, cbk_tensor *dst);
CBK_API cbk_status cbk_greater_equal_scalar(cbk_stream *stream, const cbk_tensor *a,
                                            cbk_scalar scalar, cbk_tensor **out);
CBK_API cbk_status cbk_greater_equal_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                                 cbk_scalar scalar, cbk_tensor *dst);
/// |a - b| <= absolute + relative |b|, decided in f32 (f64: in f64); equal numbers are close,
/// infinity only to itself, NaN to NaN only with equal_nan. NULL params: 1e-5 and 1e-8.
/// Dtypes: floats.
CBK_API cbk_status cbk_is_close(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                const cbk_close_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_is_close_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                     const cbk_close_params *params, cbk_tensor *dst);
/// 1 if all elements are close, as a tensor of rank 0.
CBK_API cbk_status cbk_all_close(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 const cbk_close_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_all_close_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                      const cbk_close_params *params, cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
