// rows_reduce.c: reductions and softmax.
#include "rows.h"

#include <math.h>

// ---- reductions ---------------------------------------------------------------------------------

/// Axes become a sorted list of different, non-negative ones; count 0 becomes all of them.
static cbk_status normalise_axes(const cbk_tensor_meta *x, cbk_reduce_params *params) {
    bool reduced[CBK_MAX_RANK] = {false};
    if (params->drop_axes > 1) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "drop_axes is %u, not 0 or 1",
                        (unsigned)params->drop_axes);
    }
    if (params->axis_count > x->rank) {
        return cbk_fail(CBK_ERROR_AXIS, 0, "%u axes are reduced of a tensor of rank %u",
                        (unsigned)params->axis_count, (unsigned)x->rank);
    }
    for (uint32_t i = 0; i < params->axis_count; i++) {
        int32_t axis;
        cbk_status status = cbk_check_axis(params->axes[i], x->rank, &axis);
        if (status != CBK_OK) return status;
        if (reduced[axis]) return cbk_fail(CBK_ERROR_AXIS, 0, "axis %d is named twice", (int)axis);
        reduced[axis] = true;
    }
    const bool all = params->axis_count == 0;
    if (all) params->drop_axes = 1;
    params->axis_count = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (all || reduced[i]) params->axes[params->axis_count++] = (int32_t)i;
    }
    for (uint32_t i = params->axis_count; i < CBK_MAX_RANK; i++) params->axes[i] = 0;
    return CBK_OK;
}

/// The shape without, or with length 1 on, the reduced axes; `out_length`: elements per result.
static cbk_status infer_reduced(struct cbk_inference *inference, cbk_dtype dtype,
                                int64_t *out_length) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    const cbk_reduce_params *params = &inference->params.reduce;
    int64_t shape[CBK_MAX_RANK];
    uint32_t rank = 0, next = 0;
    *out_length = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (next < params->axis_count && params->axes[next] == (int32_t)i) {
            next++;
            *out_length *= x->shape[i]; // at most the count, or a zero is on its way
            if (!params->drop_axes) shape[rank++] = 1;
        } else {
            shape[rank++] = x->shape[i];
        }
    }
    return cbk_meta_init(&inference->outputs[0], dtype, rank, shape);
}

static cbk_status check_not_empty(const struct cbk_inference *inference, int64_t length) {
    if (length != 0) return CBK_OK;
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    char text[CBK_SHAPE_TEXT];
    return cbk_fail(CBK_ERROR_SHAPE, 0, "%s is %s: there is no %s of no elements",
                    cbk_dtype_name(x->dtype), cbk_shape_text(x->rank, x->shape, text),
                    inference->info->name);
}

/// Is there a result for no elements? Sums have one, float means are NaN.
static bool has_empty(cbk_opcode opcode, bool is_int) {
    switch (opcode) {
    case CBK_OP_SUM:
    case CBK_OP_PROD:
    case CBK_OP_VAR:
    case CBK_OP_STD:
    case CBK_OP_VAR_MEAN:
    case CBK_OP_NORM:
    case CBK_OP_LOGSUMEXP:
        return true;
    default:
        return opcode == CBK_OP_MEAN && !is_int;
    }
}

/// sum, mean, prod: floats give floats, ints give ints; max, min and those of |x|: the input's own.
static cbk_status infer_reduce(struct cbk_inference *inference) {
    cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    cbk_reduce_params *params = &inference->params.reduce;
    const cbk_opcode opcode = inference->info->opcode;
    const bool keeps_dtype = opcode == CBK_OP_MAX || opcode == CBK_OP_MIN ||
                             opcode == CBK_OP_MAX_ABS || opcode == CBK_OP_MIN_ABS;
    const bool is_int = cbk_dtype_in(dtype, CBK_INTS);
    int64_t length;
    if (params->out_dtype == CBK_DTYPE_NONE) params->out_dtype = dtype;
    cbk_status status = cbk_infer_dtype(inference, dtype);
    if (status == CBK_OK) {
        uint64_t legal = keeps_dtype ? CBK_BIT(dtype) : is_int ? CBK_INTS : CBK_FLOATS;
        status = cbk_infer_dtype_in(params->out_dtype, legal, "out_dtype");
    }
    if (status == CBK_OK) status = normalise_axes(cbk_input(inference, 0), params);
    if (status == CBK_OK) status = infer_reduced(inference, params->out_dtype, &length);
    if (status != CBK_OK) return status;
    return has_empty(opcode, is_int) ? CBK_OK : check_not_empty(inference, length);
}

static cbk_status infer_variance(struct cbk_inference *inference) {
    const cbk_variance_params *params = &inference->params.variance;
    if (params->correction < 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "correction is %lld, below 0",
                        (long long)params->correction);
    }
    cbk_status status = infer_reduce(inference);
    if (inference->info->opcode == CBK_OP_VAR_MEAN) inference->outputs[1] = inference->outputs[0];
    return status;
}

/// p as a float, which a left-out one becomes too.
static cbk_status read_p(cbk_scalar *p) {
    switch (p->kind) {
    case CBK_SCALAR_NONE:
        *p = cbk_f(2);
        break;
    case CBK_SCALAR_INT:
        *p = cbk_f((double)p->v.i);
        break;
    case CBK_SCALAR_UINT:
        *p = cbk_f((double)p->v.u);
        break;
    default:
        break;
    }
    cbk_status status = cbk_infer_scalar(p, "p");
    if (status == CBK_OK && isnan(p->v.f)) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "p is NaN");
    }
    return status;
}

/// The norm of nothing is 0, but for p < 0: there it is no number.
static cbk_status infer_norm(struct cbk_inference *inference) {
    cbk_norm_params *params = &inference->params.norm;
    cbk_status status = read_p(&params->p);
    if (status == CBK_OK) status = infer_reduce(inference);
    if (status != CBK_OK || !(params->p.v.f < 0)) return status;
    int64_t length;
    status = infer_reduced(inference, params->out_dtype, &length);
    return status == CBK_OK ? check_not_empty(inference, length) : status;
}

static cbk_status infer_arg(struct cbk_inference *inference) {
    cbk_reduce_params *params = &inference->params.reduce;
    int64_t length;
    cbk_status status = cbk_infer_dtype(inference, cbk_input(inference, 0)->dtype);
    if (status == CBK_OK) status = cbk_infer_int(inference, &params->out_dtype);
    if (status == CBK_OK) status = normalise_axes(cbk_input(inference, 0), params);
    if (status == CBK_OK) status = infer_reduced(inference, params->out_dtype, &length);
    if (status == CBK_OK) status = check_not_empty(inference, length);
    return status != CBK_OK ? status : cbk_infer_fits(length - 1, params->out_dtype, "index");
}

static cbk_status infer_count(struct cbk_inference *inference) {
    cbk_reduce_params *params = &inference->params.reduce;
    int64_t length;
    cbk_status status = cbk_infer_dtype(inference, cbk_input(inference, 0)->dtype);
    if (status == CBK_OK) status = cbk_infer_int(inference, &params->out_dtype);
    if (status == CBK_OK) status = normalise_axes(cbk_input(inference, 0), params);
    if (status == CBK_OK) status = infer_reduced(inference, params->out_dtype, &length);
    return status != CBK_OK ? status : cbk_infer_fits(length, params->out_dtype, "a count of");
}

/// max_with_indices, min_with_indices: the values, and where argmax or argmin finds them.
static cbk_status infer_with_indices(struct cbk_inference *inference) {
    cbk_status status = infer_arg(inference);
    if (status != CBK_OK) return status;
    int64_t length;
    inference->outputs[1] = inference->outputs[0];
    return infer_reduced(inference, cbk_input(inference, 0)->dtype, &length);
}

static cbk_status infer_any_all(struct cbk_inference *inference) {
    cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    cbk_reduce_params *params = &inference->params.reduce;
    int64_t length;
    cbk_status status = cbk_infer_dtype(inference, dtype);
    if (status == CBK_OK) status = cbk_infer_bool(inference, dtype, &params->out_dtype);
    if (status == CBK_OK) status = normalise_axes(cbk_input(inference, 0), params);
    return status != CBK_OK ? status : infer_reduced(inference, params->out_dtype, &length);
}

#define REDUCE(op, name, flags, dtypes, infer)                                                     \
    CBK_ROW(op, name, 1, sizeof(cbk_reduce_params), flags, dtypes, infer)

#define VARIANCE(op, name, outputs)                                                                \
    CBK_ROW_OUTPUTS(op, name, 1, outputs, sizeof(cbk_variance_params), CBK_ROW_DIFFERENTIABLE,     \
                    CBK_FLOATS, infer_variance)
#define WITH_INDICES(op, name)                                                                     \
    CBK_ROW_OUTPUTS(op, name, 1, 2, sizeof(cbk_reduce_params), CBK_ROW_DIFFERENTIABLE,             \
                    CBK_NUMBERS, infer_with_indices)

static const struct cbk_row reduce_rows[] = {
    REDUCE(CBK_OP_SUM, "sum", CBK_ROW_DIFFERENTIABLE, CBK_NUMBERS, infer_reduce),
    REDUCE(CBK_OP_MEAN, "mean", CBK_ROW_DIFFERENTIABLE, CBK_NUMBERS, infer_reduce),
    REDUCE(CBK_OP_PROD, "prod", CBK_ROW_DIFFERENTIABLE, CBK_NUMBERS, infer_reduce),
    REDUCE(CBK_OP_MAX, "max", CBK_ROW_DIFFERENTIABLE, CBK_NUMBERS, infer_reduce),
    REDUCE(CBK_OP_MIN, "min", CBK_ROW_DIFFERENTIABLE, CBK_NUMBERS, infer_reduce),
    REDUCE(CBK_OP_ARGMAX, "argmax", 0, CBK_NUMBERS, infer_arg),
    REDUCE(CBK_OP_ARGMIN, "argmin", 0, CBK_NUMBERS, infer_arg),
    REDUCE(CBK_OP_ANY, "any", 0, CBK_COMPUTED, infer_any_all),
    REDUCE(CBK_OP_ALL, "all", 0, CBK_COMPUTED, infer_any_all),
    VARIANCE(CBK_OP_VAR, "var", 1),
    VARIANCE(CBK_OP_STD, "std", 1),
    VARIANCE(CBK_OP_VAR_MEAN, "var_mean", 2),
    CBK_ROW(CBK_OP_NORM, "norm", 1, sizeof(cbk_norm_params), CBK_ROW_DIFFERENTIABLE, CBK_FLOATS,
            infer_norm),
    REDUCE(CBK_OP_LOGSUMEXP, "logsumexp", CBK_ROW_DIFFERENTIABLE, CBK_FLOATS, infer_reduce),
    REDUCE(CBK_OP_MAX_ABS, "max_abs", CBK_ROW_DIFFERENTIABLE, CBK_NUMBERS, infer_reduce),
    REDUCE(CBK_OP_MIN_ABS, "min_abs", CBK_ROW_DIFFERENTIABLE, CBK_NUMBERS, infer_reduce),
    WITH_INDICES(CBK_OP_MAX_WITH_INDICES, "max_with_indices"),
    WITH_INDICES(CBK_OP_MIN_WITH_INDICES, "min_with_indices"),
    REDUCE(CBK_OP_COUNT_NONZERO, "count_nonzero", 0, CBK_COMPUTED, infer_count),
};
CBK_FAMILY(cbk_reduce_family, reduce_rows);

// ---- softmax ------------------------------------------------------------------------------------

static cbk_status infer_softmax(struct cbk_inference *inference) {
    cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    cbk_status status = cbk_infer_dtype(inference, dtype);
    if (status == CBK_OK) status = cbk_infer_axis(inference, &inference->params.axis.axis);
    return status != CBK_OK ? status : cbk_infer_like(inference, dtype);
}

/// Inputs: the result and its gradient.
static cbk_status infer_softmax_backward(struct cbk_inference *inference) {
    const cbk_tensor_meta *y = cbk_input(inference, 0), *g = cbk_input(inference, 1);
    cbk_status status = infer_softmax(inference);
    if (status != CBK_OK) return status;
    if (cbk_meta_same_shape(y, g)) return cbk_infer_same_dtype(inference, 0, 1);
    char y_text[CBK_SHAPE_TEXT], g_text[CBK_SHAPE_TEXT];
    return cbk_fail(CBK_ERROR_SHAPE, 0, "the result is %s, its gradient %s",
                    cbk_shape_text(y->rank, y->shape, y_text),
                    cbk_shape_text(g->rank, g->shape, g_text));
}

#define SOFTMAX_BACKWARD(op, name)                                                                 \
    CBK_ROW(op, name, 2, sizeof(cbk_axis_params), CBK_ROW_DIFFERENTIABLE, CBK_FLOATS,              \
            infer_softmax_backward)
#define SOFTMAX(op, name)                                                                          \
    CBK_ROW(op, name, 1, sizeof(cbk_axis_params), CBK_ROW_DIFFERENTIABLE, CBK_FLOATS, infer_softmax)

static const struct cbk_row softmax_rows[] = {
    SOFTMAX(CBK_OP_SOFTMAX, "softmax"),
    SOFTMAX(CBK_OP_LOG_SOFTMAX, "log_softmax"),
    SOFTMAX(CBK_OP_SOFTMIN, "softmin"),
    SOFTMAX_BACKWARD(CBK_OP_SOFTMAX_BACKWARD, "softmax_backward"),
    SOFTMAX_BACKWARD(CBK_OP_LOG_SOFTMAX_BACKWARD, "log_softmax_backward"),
    SOFTMAX(CBK_OP_QUIET_SOFTMAX, "quiet_softmax"),
};
CBK_FAMILY(cbk_softmax_family, softmax_rows);
