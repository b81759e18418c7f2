/// cubeback/ops/binary.h: arithmetic and bits of two tensors, or of a tensor and a scalar.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_BINARY_H
#define CUBEBACK_OPS_BINARY_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Integers wrap. Dtypes: floats, ints.
CBK_API cbk_status cbk_add(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           cbk_tensor **out);
CBK_API cbk_status cbk_add_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                cbk_tensor *dst);
CBK_API cbk_status cbk_add_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_add_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                       cbk_tensor *dst);
/// Integers wrap. Dtypes: floats, ints.
CBK_API cbk_status cbk_sub(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           cbk_tensor **out);
CBK_API cbk_status cbk_sub_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                cbk_tensor *dst);
CBK_API cbk_status cbk_sub_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_sub_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                       cbk_tensor *dst);
/// Integers wrap. Dtypes: floats, ints.
CBK_API cbk_status cbk_mul(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           cbk_tensor **out);
CBK_API cbk_status cbk_mul_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                cbk_tensor *dst);
CBK_API cbk_status cbk_mul_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_mul_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                       cbk_tensor *dst);
/// Floats: IEEE. Integers: toward zero, x / 0 = x, MIN / -1 = MIN. Dtypes: floats, ints.
CBK_API cbk_status cbk_div(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           cbk_tensor **out);
CBK_API cbk_status cbk_div_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                cbk_tensor *dst);
CBK_API cbk_status cbk_div_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_div_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                       cbk_tensor *dst);
/// a - b * floor(a / b): the sign of b. Integers: x rem 0 = 0. Floats: x rem 0 = NaN.
/// Dtypes: floats, ints.
CBK_API cbk_status cbk_remainder(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 cbk_tensor **out);
CBK_API cbk_status cbk_remainder_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                      cbk_tensor *dst);
CBK_API cbk_status cbk_remainder_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                        cbk_tensor **out);
CBK_API cbk_status cbk_remainder_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                             cbk_scalar scalar, cbk_tensor *dst);
/// Floats: as C pow. Integers: exact, wrapping; b^-n = 0 except for b = 1, -1; 0^0 = 1.
/// Dtypes: floats, ints.
CBK_API cbk_status cbk_pow(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           cbk_tensor **out);
CBK_API cbk_status cbk_pow_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                cbk_tensor *dst);
CBK_API cbk_status cbk_pow_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_pow_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                       cbk_tensor *dst);
/// Angle of (x = b, y = a). Dtypes: floats.
CBK_API cbk_status cbk_atan2(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                             cbk_tensor **out);
CBK_API cbk_status cbk_atan2_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor *dst);
CBK_API cbk_status cbk_atan2_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                    cbk_tensor **out);
CBK_API cbk_status cbk_atan2_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                         cbk_tensor *dst);
/// sqrt(a^2 + b^2) without overflow on the way. Dtypes: floats.
CBK_API cbk_status cbk_hypot(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                             cbk_tensor **out);
CBK_API cbk_status cbk_hypot_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor *dst);
CBK_API cbk_status cbk_hypot_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                    cbk_tensor **out);
CBK_API cbk_status cbk_hypot_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                         cbk_tensor *dst);
/// NaN if either is NaN. Dtypes: floats, ints.
CBK_API cbk_status cbk_maximum(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                               cbk_tensor **out);
CBK_API cbk_status cbk_maximum_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                    cbk_tensor *dst);
CBK_API cbk_status cbk_maximum_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                      cbk_tensor **out);
CBK_API cbk_status cbk_maximum_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                           cbk_scalar scalar, cbk_tensor *dst);
/// NaN if either is NaN. Dtypes: floats, ints.
CBK_API cbk_status cbk_minimum(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                               cbk_tensor **out);
CBK_API cbk_status cbk_minimum_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                    cbk_tensor *dst);
CBK_API cbk_status cbk_minimum_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                      cbk_tensor **out);
CBK_API cbk_status cbk_minimum_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                           cbk_scalar scalar, cbk_tensor *dst);
/// Dtypes: ints, bools.
CBK_API cbk_status cbk_bitwise_and(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_and_into(cbk_stream *stream, const cbk_tensor *a,
                                        const cbk_tensor *b, cbk_tensor *dst);
CBK_API cbk_status cbk_bitwise_and_scalar(cbk_stream *stream, const cbk_tensor *a,
                                          cbk_scalar scalar, cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_and_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                               cbk_scalar scalar, cbk_tensor *dst);
/// Dtypes: ints, bools.
CBK_API cbk_status cbk_bitwise_or(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_or_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                       cbk_tensor *dst);
CBK_API cbk_status cbk_bitwise_or_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                         cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_or_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                              cbk_scalar scalar, cbk_tensor *dst);
/// Dtypes: ints, bools.
CBK_API cbk_status cbk_bitwise_xor(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_xor_into(cbk_stream *stream, const cbk_tensor *a,
                                        const cbk_tensor *b, cbk_tensor *dst);
CBK_API cbk_status cbk_bitwise_xor_scalar(cbk_stream *stream, const cbk_tensor *a,
                                          cbk_scalar scalar, cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_xor_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                               cbk_scalar scalar, cbk_tensor *dst);
/// A count that is negative or >= the width gives 0. Dtypes: ints.
CBK_API cbk_status cbk_shift_left(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_shift_left_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                       cbk_tensor *dst);
CBK_API cbk_status cbk_shift_left_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                         cbk_tensor **out);
CBK_API cbk_status cbk_shift_left_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                              cbk_scalar scalar, cbk_tensor *dst);
/// Arithmetic for signed types; a count that is negative or >= the width gives 0, or -1 for
/// a negative signed a. Dtypes: ints.
CBK_API cbk_status cbk_shift_right(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_shift_right_into(cbk_stream *stream, const cbk_tensor *a,
                                        const cbk_tensor *b, cbk_tensor *dst);
CBK_API cbk_status cbk_shift_right_scalar(cbk_stream *stream, const cbk_tensor *a,
                                          cbk_scalar scalar, cbk_tensor **out);
CBK_API cbk_status cbk_shift_right_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                               cbk_scalar scalar, cbk_tensor *dst);
/// scalar - x, scalar / x, scalar ^ x, scalar rem x.
CBK_API cbk_status cbk_rsub_scalar(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_rsub_scalar_into(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                        cbk_tensor *dst);
CBK_API cbk_status cbk_rdiv_scalar(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_rdiv_scalar_into(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                        cbk_tensor *dst);
CBK_API cbk_status cbk_rpow_scalar(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_rpow_scalar_into(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                        cbk_tensor *dst);
CBK_API cbk_status cbk_rremainder_scalar(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                         cbk_tensor **out);
CBK_API cbk_status cbk_rremainder_scalar_into(cbk_stream *stream, const cbk_tensor *x,
                                              cbk_scalar scalar, cbk_tensor *dst);
/// Dtypes: bools.
CBK_API cbk_status cbk_logical_and(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_logical_and_into(cbk_stream *stream, const cbk_tensor *a,
                                        const cbk_tensor *b, cbk_tensor *dst);
/// Dtypes: bools.
CBK_API cbk_status cbk_logical_or(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_logical_or_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                       cbk_tensor *dst);
/// Dtypes: bools.
CBK_API cbk_status cbk_logical_xor(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_logical_xor_into(cbk_stream *stream, const cbk_tensor *a,
                                        const cbk_tensor *b, cbk_tensor *dst);
/// a - b * trunc(a / b), exact: the sign of a. Integers: x fmod 0 = 0. Floats: x fmod 0 = NaN,
/// x fmod inf = x. Dtypes: floats, ints.
CBK_API cbk_status cbk_fmod(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                            cbk_tensor **out);
CBK_API cbk_status cbk_fmod_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 cbk_tensor *dst);
CBK_API cbk_status cbk_fmod_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_fmod_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                        cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
