/// cubeback/ops/linalg.h: factorisations of matrices, determinants.
/// What holds for every operation is said in cubeback/ops.h.
///
/// Matrices are the last two axes, the axes before them count matrices. Dtypes: floats; f16 and
/// bf16 are factored in f32, and every result is rounded once. A matrix with an infinity or a NaN
/// has results with NaN in them, and leaves the other matrices alone. The library never fails for
/// what a matrix holds: a singular one has its factors too.
/// Errors: CBK_ERROR_SHAPE for a rank below 2.
#ifndef CUBEBACK_OPS_LINALG_H
#define CUBEBACK_OPS_LINALG_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// LU with partial pivoting, packed: x [.., m, n] -> lu [.., m, n], pivots [.., k], permutation
/// [.., m], with k = min(m, n). U is lu on and above the diagonal, L below it with ones on its own
/// diagonal. Row i was swapped with row pivots[i] >= i, one after the other, counted from 0; row i
/// of L U is row permutation[i] of x. The pivot is the first element of the greatest magnitude; a
/// column of zeros has none, and its multipliers are 0. NULL params: integers of the device's
/// default dtype. Errors: CBK_ERROR_OVERFLOW where row numbers do not fit out_dtype.
CBK_API cbk_status cbk_lu_factor(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_lu_params *params, cbk_tensor **out_lu,
                                 cbk_tensor **out_pivots, cbk_tensor **out_permutation);
CBK_API cbk_status cbk_lu_factor_into(cbk_stream *stream, const cbk_tensor *x,
                                      const cbk_lu_params *params, cbk_tensor *dst_lu,
                                      cbk_tensor *dst_pivots, cbk_tensor *dst_permutation);

/// The same as three matrices with x = P L U: P [.., m, m] of zeros and ones, L [.., m, k] with
/// ones on the diagonal, U [.., k, n]. Each may be a view with strides of its own.
CBK_API cbk_status cbk_lu(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out_p,
                          cbk_tensor **out_l, cbk_tensor **out_u);

/// x [.., n, n] -> [..], from the LU factors; 1 for n = 0. Products that leave the dtype's range on
/// the way do no harm. Errors: CBK_ERROR_SHAPE unless the matrices are square.
CBK_API cbk_status cbk_det(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_det_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);

/// x [.., m, n] = Q R by Householder reflections, with k = min(m, n). CBK_QR_REDUCED, also of NULL
/// params: Q [.., m, k], R [.., k, n]; CBK_QR_COMPLETE: Q [.., m, m], R [.., m, n]. The columns of
/// Q are orthonormal; R is 0 below the diagonal. An element of R's diagonal has the sign opposite
/// to that of the element that was there before its reflection, or is that element where nothing
/// but zeros stood below it.
CBK_API cbk_status cbk_qr(cbk_stream *stream, const cbk_tensor *x, const cbk_qr_params *params,
                          cbk_tensor **out_q, cbk_tensor **out_r);
CBK_API cbk_status cbk_qr_into(cbk_stream *stream, const cbk_tensor *x, const cbk_qr_params *params,
                               cbk_tensor *dst_q, cbk_tensor *dst_r);

#ifdef __cplusplus
}
#endif
#endif
