// rows_sort.c: sorting along one axis, and what a sorted row answers.
#include "rows.h"

/// A row gives its values, its indices, or both, in this order.
struct results {
    bool has_values, has_indices;
};

static struct results results_of(cbk_opcode opcode) {
    const bool is_arg = opcode == CBK_OP_ARGSORT || opcode == CBK_OP_ARGTOPK;
    const bool is_both = opcode == CBK_OP_SORT_WITH_INDICES || opcode == CBK_OP_TOPK_WITH_INDICES;
    return (struct results){.has_values = !is_arg, .has_indices = is_arg || is_both};
}

/// The outputs' metadata: x with length `kept` along `axis`. Fills in the dtype of indices.
static cbk_status infer_results(struct cbk_inference *inference, int32_t axis, int64_t kept,
                                cbk_dtype *out_dtype) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    const struct results results = results_of(inference->info->opcode);
    int64_t shape[CBK_MAX_RANK];
    uint32_t index = 0;
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < x->rank; i++) shape[i] = i == (uint32_t)axis ? kept : x->shape[i];
    if (results.has_values)
        status = cbk_meta_init(&inference->outputs[index++], x->dtype, x->rank, shape);
    if (status != CBK_OK || !results.has_indices) return status;
    status = cbk_infer_int(inference, out_dtype);
    if (status == CBK_OK && x->shape[axis] > 0)
        status = cbk_infer_fits(x->shape[axis] - 1, *out_dtype, "index");
    if (status != CBK_OK) return status;
    return cbk_meta_init(&inference->outputs[index], *out_dtype, x->rank, shape);
}

static cbk_status check_not_empty(const struct cbk_inference *inference, int32_t axis) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    char text[CBK_SHAPE_TEXT];
    if (x->shape[axis] > 0) return CBK_OK;
    return cbk_fail(CBK_ERROR_SHAPE, 0, "axis %d of %s is empty: it has no %s", (int)axis,
                    cbk_shape_text(x->rank, x->shape, text), inference->info->name);
}

static cbk_status infer_sort(struct cbk_inference *inference) {
    cbk_sort_params *params = &inference->params.sort;
    cbk_status status = cbk_infer_dtype(inference, cbk_input(inference, 0)->dtype);
    if (status == CBK_OK) status = cbk_infer_flag(params->descending, "descending");
    if (status == CBK_OK) status = cbk_infer_axis(inference, &params->axis);
    if (status != CBK_OK) return status;
    return infer_results(inference, params->axis, cbk_input(inference, 0)->shape[params->axis],
                         &params->out_dtype);
}

static cbk_status infer_topk(struct cbk_inference *inference) {
    cbk_topk_params *params = &inference->params.topk;
    cbk_status status = cbk_infer_dtype(inference, cbk_input(inference, 0)->dtype);
    if (status == CBK_OK) status = cbk_infer_flag(params->ascending, "ascending");
    if (status == CBK_OK) status = cbk_infer_axis(inference, &params->axis);
    if (status == CBK_OK) status = check_not_empty(inference, params->axis);
    if (status != CBK_OK) return status;
    const int64_t length = cbk_input(inference, 0)->shape[params->axis];
    if (params->k < 0 || params->k > length) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "k is %lld for an axis of length %lld",
                        (long long)params->k, (long long)length);
    }
    return infer_results(inference, params->axis, params->k, &params->out_dtype);
}

/// x's shape after `axis` is reduced, with `added` leading axes of length `count`.
static cbk_status infer_reduced(struct cbk_inference *inference, int32_t axis, uint32_t drop_axis,
                                uint32_t added, int64_t count) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    int64_t shape[CBK_MAX_RANK + 1] = {count};
    uint32_t rank = added;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i != (uint32_t)axis)
            shape[rank++] = x->shape[i];
        else if (!drop_axis)
            shape[rank++] = 1;
    }
    return cbk_meta_init(&inference->outputs[0], x->dtype, rank, shape);
}

static cbk_status infer_median(struct cbk_inference *inference) {
    cbk_median_params *params = &inference->params.median;
    cbk_status status = cbk_infer_dtype(inference, cbk_input(inference, 0)->dtype);
    if (status == CBK_OK) status = cbk_infer_flag(params->drop_axis, "drop_axis");
    if (status == CBK_OK) status = cbk_infer_axis(inference, &params->axis);
    if (status == CBK_OK) status = check_not_empty(inference, params->axis);
    return status != CBK_OK ? status
                            : infer_reduced(inference, params->axis, params->drop_axis, 0, 0);
}

static cbk_status check_quantiles(const cbk_quantile_params *params) {
    if (params->interpolation > CBK_QUANTILE_MIDPOINT) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "interpolation is %u",
                        (unsigned)params->interpolation);
    }
    if (params->count > CBK_MAX_RANK) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%u quantiles are over %d",
                        (unsigned)params->count, CBK_MAX_RANK);
    }
    for (uint32_t i = 0; i < (params->count != 0 ? params->count : 1); i++) {
        if (params->q[i] >= 0 && params->q[i] <= 1) continue;
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "q[%u] is %g, outside 0 .. 1", (unsigned)i,
                        params->q[i]);
    }
    return CBK_OK;
}

static cbk_status infer_quantile(struct cbk_inference *inference) {
    cbk_quantile_params *params = &inference->params.quantile;
    cbk_status status = cbk_infer_dtype(inference, cbk_input(inference, 0)->dtype);
    if (status == CBK_OK) status = cbk_infer_flag(params->drop_axis, "drop_axis");
    if (status == CBK_OK) status = check_quantiles(params);
    if (status == CBK_OK) status = cbk_infer_axis(inference, &params->axis);
    if (status == CBK_OK) status = check_not_empty(inference, params->axis);
    if (status != CBK_OK) return status;
    return infer_reduced(inference, params->axis, params->drop_axis, params->count != 0,
                         params->count);
}

#define SORT(op, name, outputs, params, flags, dtypes, infer)                                      \
    CBK_ROW_OUTPUTS(CBK_OP_##op, name, 1, outputs, sizeof(params), flags, dtypes, infer)

static const struct cbk_row sort_rows[] = {
    SORT(SORT, "sort", 1, cbk_sort_params, CBK_ROW_DIFFERENTIABLE, CBK_COMPUTED, infer_sort),
    SORT(ARGSORT, "argsort", 1, cbk_sort_params, 0, CBK_COMPUTED, infer_sort),
    SORT(SORT_WITH_INDICES, "sort_with_indices", 2, cbk_sort_params, CBK_ROW_DIFFERENTIABLE,
         CBK_COMPUTED, infer_sort),
    SORT(TOPK, "topk", 1, cbk_topk_params, CBK_ROW_DIFFERENTIABLE, CBK_COMPUTED, infer_topk),
    SORT(ARGTOPK, "argtopk", 1, cbk_topk_params, 0, CBK_COMPUTED, infer_topk),
    SORT(TOPK_WITH_INDICES, "topk_with_indices", 2, cbk_topk_params, CBK_ROW_DIFFERENTIABLE,
         CBK_COMPUTED, infer_topk),
    SORT(MEDIAN, "median", 1, cbk_median_params, CBK_ROW_DIFFERENTIABLE, CBK_NUMBERS, infer_median),
    SORT(QUANTILE, "quantile", 1, cbk_quantile_params, CBK_ROW_DIFFERENTIABLE, CBK_FLOATS,
         infer_quantile),
};
CBK_FAMILY(cbk_sort_family, sort_rows);
