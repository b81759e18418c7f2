/// cubeback/ops/unary.h: functions of one tensor.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_UNARY_H
#define CUBEBACK_OPS_UNARY_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// -x; integers wrap. Dtypes: floats, ints.
CBK_API cbk_status cbk_neg(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_neg_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// |x|; |MIN| = MIN. Dtypes: floats, ints.
CBK_API cbk_status cbk_abs(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_abs_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// -1, 0 or 1; NaN gives 0. Dtypes: floats, ints.
CBK_API cbk_status cbk_sign(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_sign_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// 1 / x. Dtypes: floats.
CBK_API cbk_status cbk_recip(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_recip_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// x * x; integers wrap. Dtypes: floats, ints.
CBK_API cbk_status cbk_square(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_square_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_sqrt(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_sqrt_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// 1 / sqrt(x). Dtypes: floats.
CBK_API cbk_status cbk_rsqrt(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_rsqrt_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_exp(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_exp_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// exp(x) - 1, accurate near 0. Dtypes: floats.
CBK_API cbk_status cbk_expm1(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_expm1_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_log(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_log_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// log(1 + x), accurate near 0. Dtypes: floats.
CBK_API cbk_status cbk_log1p(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_log1p_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_sin(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_sin_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_cos(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_cos_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_tan(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_tan_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_asin(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_asin_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_acos(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_acos_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_atan(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_atan_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_sinh(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_sinh_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_cosh(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_cosh_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_tanh(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_tanh_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_asinh(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_asinh_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_acosh(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_acosh_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_atanh(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_atanh_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_erf(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_erf_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats; integers are copied.
CBK_API cbk_status cbk_floor(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_floor_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats; integers are copied.
CBK_API cbk_status cbk_ceil(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_ceil_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// To the nearest, halves to even. Dtypes: floats; integers are copied.
CBK_API cbk_status cbk_round(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_round_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Toward zero. Dtypes: floats; integers are copied.
CBK_API cbk_status cbk_trunc(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_trunc_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: ints; bools: as logical_not.
CBK_API cbk_status cbk_bitwise_not(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_not_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// 1 where x is 0, else 0. Dtypes: all; the result is bool (bool32 for bool32).
CBK_API cbk_status cbk_logical_not(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_logical_not_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Result: bool. Dtypes: floats, ints (never).
CBK_API cbk_status cbk_is_nan(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_is_nan_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Result: bool. Dtypes: floats, ints (never).
CBK_API cbk_status cbk_is_inf(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_is_inf_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Result: bool. Dtypes: floats, ints (always).
CBK_API cbk_status cbk_is_finite(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_is_finite_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
