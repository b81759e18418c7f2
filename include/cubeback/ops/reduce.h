/// cubeback/ops/reduce.h: reductions over one, several or all axes (axis_count 0; params NULL).
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_REDUCE_H
#define CUBEBACK_OPS_REDUCE_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// An axis that is reduced keeps length 1 unless drop_axes is set; a reduction of all axes by
/// axis_count 0 has rank 0. out_dtype 0: the input's; argmax, argmin: the default int; any, all: the
/// default bool (bool inputs: their own). f32 sums are pairwise, f16 and bf16 accumulate in f32,
/// i8 and i16 in i32; integers wrap. The order of additions depends on the lengths alone.
/// Empty: sum, any 0; prod, all 1; float mean NaN; others CBK_ERROR_SHAPE. NaN wins in max, min,
/// argmax, argmin (lowest NaN index); ties take the lowest index, of the row-major position within
/// the reduced axes. Dtypes: floats, ints; any, all: any dtype (nonzero and NaN are true).
CBK_API cbk_status cbk_sum(cbk_stream *stream, const cbk_tensor *x, const cbk_reduce_params *params,
                           cbk_tensor **out);
CBK_API cbk_status cbk_sum_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_mean(cbk_stream *stream, const cbk_tensor *x,
                            const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_mean_into(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_prod(cbk_stream *stream, const cbk_tensor *x,
                            const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_prod_into(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_max(cbk_stream *stream, const cbk_tensor *x, const cbk_reduce_params *params,
                           cbk_tensor **out);
CBK_API cbk_status cbk_max_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_min(cbk_stream *stream, const cbk_tensor *x, const cbk_reduce_params *params,
                           cbk_tensor **out);
CBK_API cbk_status cbk_min_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_argmax(cbk_stream *stream, const cbk_tensor *x,
                              const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_argmax_into(cbk_stream *stream, const cbk_tensor *x,
                                   const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_argmin(cbk_stream *stream, const cbk_tensor *x,
                              const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_argmin_into(cbk_stream *stream, const cbk_tensor *x,
                                   const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_any(cbk_stream *stream, const cbk_tensor *x, const cbk_reduce_params *params,
                           cbk_tensor **out);
CBK_API cbk_status cbk_any_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_all(cbk_stream *stream, const cbk_tensor *x, const cbk_reduce_params *params,
                           cbk_tensor **out);
CBK_API cbk_status cbk_all_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_reduce_params *params, cbk_tensor *dst);
/// How many elements are not 0 (NaN counts); of no elements 0. Dtypes: floats, ints, bools; out_dtype
/// an integer type, 0: the default int. Errors: CBK_ERROR_OVERFLOW where it could not hold the
/// number of reduced elements.
CBK_API cbk_status cbk_count_nonzero(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_count_nonzero_into(cbk_stream *stream, const cbk_tensor *x,
                                          const cbk_reduce_params *params, cbk_tensor *dst);

/// The mean squared distance from the mean, as n times it divided by n - correction, and its root.
/// var_mean also gives the mean, with the bits of cbk_mean. No difference of large squares is taken.
/// A variance that overflows on the way is infinite, an infinity or a NaN in x gives NaN.
/// A divisor n - correction of 0 or less counts as 0: the result is NaN or infinite; of no elements
/// it is NaN. out_dtype 0: the input's. Dtypes: floats.
CBK_API cbk_status cbk_var(cbk_stream *stream, const cbk_tensor *x,
                           const cbk_variance_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_var_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_variance_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_std(cbk_stream *stream, const cbk_tensor *x,
                           const cbk_variance_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_std_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_variance_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_var_mean(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_variance_params *params, cbk_tensor **out,
                                cbk_tensor **out_mean);
CBK_API cbk_status cbk_var_mean_into(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_variance_params *params, cbk_tensor *dst,
                                     cbk_tensor *dst_mean);
/// (sum of |x|^p)^(1/p); p = 0: the number of elements that are not 0; p = inf, -inf: the largest,
/// the smallest |x|. p left out: 2, for which no square overflows or underflows on the way; for other
/// p a power may. Of no elements 0, CBK_ERROR_SHAPE for p < 0. out_dtype 0: the input's. Dtypes:
/// floats.
CBK_API cbk_status cbk_norm(cbk_stream *stream, const cbk_tensor *x, const cbk_norm_params *params,
                            cbk_tensor **out);
CBK_API cbk_status cbk_norm_into(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_norm_params *params, cbk_tensor *dst);
/// log(sum(exp(x))), without overflow on the way; -inf of no elements or where all are -inf. Dtypes:
/// floats.
CBK_API cbk_status cbk_logsumexp(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_logsumexp_into(cbk_stream *stream, const cbk_tensor *x,
                                      const cbk_reduce_params *params, cbk_tensor *dst);
/// The largest, the smallest |x|; NaN wins, |MIN| is MIN. Dtypes: floats, ints.
CBK_API cbk_status cbk_max_abs(cbk_stream *stream, const cbk_tensor *x,
                               const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_max_abs_into(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_min_abs(cbk_stream *stream, const cbk_tensor *x,
                               const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_min_abs_into(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_reduce_params *params, cbk_tensor *dst);
/// max or min, and the index that argmax or argmin gives, in one launch. out_dtype is that of the
/// index, by default the device's int. Dtypes: floats, ints.
CBK_API cbk_status cbk_max_with_indices(cbk_stream *stream, const cbk_tensor *x,
                                        const cbk_reduce_params *params, cbk_tensor **out,
                                        cbk_tensor **out_indices);
CBK_API cbk_status cbk_max_with_indices_into(cbk_stream *stream, const cbk_tensor *x,
                                             const cbk_reduce_params *params, cbk_tensor *dst,
                                             cbk_tensor *dst_indices);
CBK_API cbk_status cbk_min_with_indices(cbk_stream *stream, const cbk_tensor *x,
                                        const cbk_reduce_params *params, cbk_tensor **out,
                                        cbk_tensor **out_indices);
CBK_API cbk_status cbk_min_with_indices_into(cbk_stream *stream, const cbk_tensor *x,
                                             const cbk_reduce_params *params, cbk_tensor *dst,
                                             cbk_tensor *dst_indices);

/// The sum of the main diagonal of the last two axes. Dtypes: floats, ints.
CBK_API cbk_status cbk_matrix_trace(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
/// x [m, n], whose rows are variables -> [m, m]: sums of products of distances from the rows' means,
/// divided by n - correction (0: the population's). Dtypes: floats. Errors:
/// CBK_ERROR_INVALID_ARGUMENT for a correction below 0.
CBK_API cbk_status cbk_cov(cbk_stream *stream, const cbk_tensor *x, int64_t correction,
                           cbk_tensor **out);
/// sum(a b) / (max(|a|, eps) max(|b|, eps)) along `axis`, which goes; eps 0: 1e-8. a and b broadcast
/// and have one rank. Dtypes: floats.
CBK_API cbk_status cbk_cosine_similarity(cbk_stream *stream, const cbk_tensor *a,
                                         const cbk_tensor *b, int32_t axis, double eps,
                                         cbk_tensor **out);

#ifdef __cplusplus
}
#endif
#endif
