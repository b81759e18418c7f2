// rows_norm.c: normalisations and their gradients, and the gradients of softmax.
#include "rows.h"

/// eps 0 becomes 1e-5, axis_count 0 becomes 1; x is input `index`.
static cbk_status read_params(struct cbk_inference *inference, uint32_t index) {
    cbk_layer_norm_params *params = &inference->params.layer_norm;
    const uint32_t rank = cbk_input(inference, index)->rank;
    if (!(params->eps >= 0)) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "eps is %g, not a number from 0 on",
                        params->eps);
    }
    if (params->eps == 0) params->eps = 1e-5;
    if (params->axis_count == 0) params->axis_count = 1;
    if (params->axis_count <= rank) return CBK_OK;
    return cbk_fail(CBK_ERROR_AXIS, 0, "%u axes are normalised of a tensor of rank %u",
                    (unsigned)params->axis_count, (unsigned)rank);
}

/// Input i, if it is given, has the dtype of x and x's last axis_count axes.
static cbk_status check_factor(const struct cbk_inference *inference, uint32_t x_index, uint32_t i,
                               const char *what) {
    if (i >= inference->input_count || inference->inputs[i] == NULL) return CBK_OK;
    const cbk_tensor_meta *x = cbk_input(inference, x_index), *factor = cbk_input(inference, i);
    const uint32_t count = inference->params.layer_norm.axis_count;
    bool is_same = factor->rank == count;
    for (uint32_t k = 0; k < count && is_same; k++) {
        is_same = factor->shape[k] == x->shape[x->rank - count + k];
    }
    if (!is_same) {
        char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_SHAPE, 0, "%s is %s, x is %s: it must have the last %u axes",
                        what, cbk_shape_text(factor->rank, factor->shape, a),
                        cbk_shape_text(x->rank, x->shape, b), (unsigned)count);
    }
    return cbk_infer_same_dtype(inference, x_index, i);
}

static cbk_status infer_norm(struct cbk_inference *inference) {
    const cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    cbk_status status = cbk_infer_dtype(inference, dtype);
    if (status == CBK_OK) status = read_params(inference, 0);
    if (status == CBK_OK) status = check_factor(inference, 0, 1, "gamma");
    if (status == CBK_OK) status = check_factor(inference, 0, 2, "beta");
    return status == CBK_OK ? cbk_infer_like(inference, dtype) : status;
}

static cbk_status check_same_shape(const struct cbk_inference *inference, uint32_t i, uint32_t j,
                                   const char *rule) {
    const cbk_tensor_meta *a = cbk_input(inference, i), *b = cbk_input(inference, j);
    char a_text[CBK_SHAPE_TEXT], b_text[CBK_SHAPE_TEXT];
    if (cbk_meta_same_shape(a, b)) return cbk_infer_same_dtype(inference, i, j);
    return cbk_fail(CBK_ERROR_SHAPE, 0, "%s: they are %s and %s", rule,
                    cbk_shape_text(a->rank, a->shape, a_text),
                    cbk_shape_text(b->rank, b->shape, b_text));
}

/// Inputs: gradient, x, gamma or NULL. Outputs: the gradients of x, of gamma, of beta.
static cbk_status infer_norm_backward(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 1);
    const cbk_layer_norm_params *params = &inference->params.layer_norm;
    cbk_status status = cbk_infer_dtype(inference, x->dtype);
    if (status == CBK_OK) status = check_same_shape(inference, 0, 1, "the gradient has x's shape");
    if (status == CBK_OK) status = read_params(inference, 1);
    if (status == CBK_OK) status = check_factor(inference, 1, 2, "gamma");
    if (status == CBK_OK) status = cbk_infer_like(inference, x->dtype);
    for (uint32_t k = 1; k < inference->info->output_count && status == CBK_OK; k++) {
        status = cbk_meta_init(&inference->outputs[k], x->dtype, params->axis_count,
                               x->shape + x->rank - params->axis_count);
    }
    return status;
}

/// Inputs: x [n, channels, ...], mean, var, gamma or NULL, beta or NULL, all of them [channels].
static cbk_status infer_batch_norm(struct cbk_inference *inference) {
    static const char *const names[] = {"x", "mean", "var", "gamma", "beta"};
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    char text[CBK_SHAPE_TEXT], own_text[CBK_SHAPE_TEXT];
    cbk_status status = cbk_infer_dtype(inference, x->dtype);
    if (status == CBK_OK && x->rank < 2) {
        status = cbk_fail(CBK_ERROR_SHAPE, 0, "x is %s: it needs rank 2 or more",
                          cbk_shape_text(x->rank, x->shape, text));
    }
    if (status == CBK_OK) status = read_params(inference, 0);
    for (uint32_t i = 1; i < inference->input_count && status == CBK_OK; i++) {
        if (inference->inputs[i] == NULL) continue;
        const cbk_tensor_meta *own = cbk_input(inference, i);
        if (own->rank != 1 || own->shape[0] != x->shape[1]) {
            return cbk_fail(CBK_ERROR_SHAPE, 0, "x is %s, %s is %s: it must be [%lld]",
                            cbk_shape_text(x->rank, x->shape, text), names[i],
                            cbk_shape_text(own->rank, own->shape, own_text),
                            (long long)x->shape[1]);
        }
        status = cbk_infer_same_dtype(inference, 0, i);
    }
    if (status == CBK_OK) status = cbk_infer_like(inference, x->dtype);
    if (status == CBK_OK) cbk_meta_pointwise_strides(&inference->outputs[0], inference->inputs, 1);
    return status;
}

#define NORM(op, text, first, last, outputs, infer_function)                                       \
    [(op)&0xff] = {.info = {.struct_size = sizeof(cbk_op_info),                                    \
                            .opcode = (op),                                                        \
                            .name = (text),                                                        \
                            .flags = CBK_ROW_DIFFERENTIABLE | CBK_ROW_OPTIONAL,                    \
                            .min_inputs = (first),                                                 \
                            .max_inputs = (last),                                                  \
                            .output_count = (outputs),                                             \
                            .params_size = sizeof(cbk_layer_norm_params),                          \
                            .dtypes = CBK_FLOATS},                                                 \
                   .infer = (infer_function)}

static const struct cbk_row norm_rows[] = {
    NORM(CBK_OP_LAYER_NORM, "layer_norm", 1, 3, 1, infer_norm),
    NORM(CBK_OP_RMS_NORM, "rms_norm", 1, 2, 1, infer_norm),
    NORM(CBK_OP_LAYER_NORM_BACKWARD, "layer_norm_backward", 2, 3, 3, infer_norm_backward),
    NORM(CBK_OP_RMS_NORM_BACKWARD, "rms_norm_backward", 2, 3, 2, infer_norm_backward),
    NORM(CBK_OP_BATCH_NORM, "batch_norm", 3, 5, 1, infer_batch_norm),
};
CBK_FAMILY(cbk_norm_family, norm_rows);
