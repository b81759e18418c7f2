/// cubeback/ops/sort.h: order along one axis.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_SORT_H
#define CUBEBACK_OPS_SORT_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Elements of each row in ascending or descending order; NULL params: axis 0, ascending.
/// NaN counts as greater than +infinity; -0 equals +0. Equal elements keep their order, also when
/// descending. Indices are positions within the axis, in out_dtype.
/// Shapes: the results have x's; an empty axis is fine. Dtypes: floats, ints, bools.
/// Errors: CBK_ERROR_OVERFLOW where positions do not fit out_dtype.
CBK_API cbk_status cbk_sort(cbk_stream *stream, const cbk_tensor *x, const cbk_sort_params *params,
                            cbk_tensor **out);
CBK_API cbk_status cbk_sort_into(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_sort_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_argsort(cbk_stream *stream, const cbk_tensor *x,
                               const cbk_sort_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_argsort_into(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_sort_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_sort_with_indices(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_sort_params *params, cbk_tensor **out_values,
                                         cbk_tensor **out_indices);
CBK_API cbk_status cbk_sort_with_indices_into(cbk_stream *stream, const cbk_tensor *x,
                                              const cbk_sort_params *params, cbk_tensor *dst_values,
                                              cbk_tensor *dst_indices);

/// The k greatest elements of each row, the greatest first, or the k least, the least first; the
/// start of what a sort gives. Equal elements: the lowest index first. So NaN is the maximum.
/// Shapes: the axis gets length k, which may be 0. Dtypes: floats, ints, bools.
/// Errors: CBK_ERROR_SHAPE for an empty axis or k over its length, CBK_ERROR_OVERFLOW.
CBK_API cbk_status cbk_topk(cbk_stream *stream, const cbk_tensor *x, const cbk_topk_params *params,
                            cbk_tensor **out);
CBK_API cbk_status cbk_topk_into(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_topk_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_argtopk(cbk_stream *stream, const cbk_tensor *x,
                               const cbk_topk_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_argtopk_into(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_topk_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_topk_with_indices(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_topk_params *params, cbk_tensor **out_values,
                                         cbk_tensor **out_indices);
CBK_API cbk_status cbk_topk_with_indices_into(cbk_stream *stream, const cbk_tensor *x,
                                              const cbk_topk_params *params, cbk_tensor *dst_values,
                                              cbk_tensor *dst_indices);

/// The element (length - 1) / 2 of each row when sorted: of two in the middle the lower one. A row
/// with a NaN gives NaN. Dtypes: floats, ints. Errors: CBK_ERROR_SHAPE for an empty axis.
CBK_API cbk_status cbk_median(cbk_stream *stream, const cbk_tensor *x,
                              const cbk_median_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_median_into(cbk_stream *stream, const cbk_tensor *x,
                                   const cbk_median_params *params, cbk_tensor *dst);

/// Quantiles of each row: with p = q * (length - 1), i = floor(p), t = p - i and a, b the elements
/// i and i + 1 of the sorted row, a + (b - a) t, or b - (b - a) (1 - t) from t = 1/2 on, or
/// a (1 - t) + b t where b - a is infinite; t = 0 and equal a and b give a. Other interpolations:
/// see CBK_QUANTILE_*; midpoint is a / 2 + b / 2. A row with a NaN gives NaN.
/// Shapes: params->count > 0 adds a leading axis of that length. Dtypes: floats; f16 and bf16 are
/// rounded once. Errors: CBK_ERROR_SHAPE for an empty axis or a result of rank 9,
/// CBK_ERROR_INVALID_ARGUMENT for q outside 0 .. 1.
CBK_API cbk_status cbk_quantile(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_quantile_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_quantile_into(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_quantile_params *params, cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
