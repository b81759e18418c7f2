// ops_sort.c: named functions of the sort family.
#include "core.h"

#define ONE(name, OP, params_type)                                                                 \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x, const params_type *params,      \
                          cbk_tensor **out) {                                                      \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run(stream, CBK_OP_##OP, &x, 1, params, size, out);                             \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x,                          \
                                 const params_type *params, cbk_tensor *dst) {                     \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run_into(stream, CBK_OP_##OP, &x, 1, params, size, dst);                        \
    }

ONE(sort, SORT, cbk_sort_params)
ONE(argsort, ARGSORT, cbk_sort_params)
ONE(topk, TOPK, cbk_topk_params)
ONE(argtopk, ARGTOPK, cbk_topk_params)
ONE(median, MEDIAN, cbk_median_params)
ONE(quantile, QUANTILE, cbk_quantile_params)

#define TWO(name, OP, params_type)                                                                 \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x, const params_type *params,      \
                          cbk_tensor **out_values, cbk_tensor **out_indices) {                     \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        cbk_tensor **const outs[] = {out_values, out_indices};                                     \
        return cbk_run_outputs(stream, CBK_OP_##OP, &x, 1, params, size, outs, 2);                 \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x,                          \
                                 const params_type *params, cbk_tensor *dst_values,                \
                                 cbk_tensor *dst_indices) {                                        \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        cbk_tensor *const dsts[] = {dst_values, dst_indices};                                      \
        return cbk_run_into_outputs(stream, CBK_OP_##OP, &x, 1, params, size, dsts, 2);            \
    }

TWO(sort_with_indices, SORT_WITH_INDICES, cbk_sort_params)
TWO(topk_with_indices, TOPK_WITH_INDICES, cbk_topk_params)
