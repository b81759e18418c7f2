// rows_matmul.c: the matrix product with its epilogue.
#include "rows.h"

// ---- shapes -------------------------------------------------------------------------------------

static cbk_status fail_shape(const cbk_tensor_meta *a, const cbk_tensor_meta *b, const char *rule,
                             int64_t left, int64_t right) {
    char a_text[CBK_SHAPE_TEXT], b_text[CBK_SHAPE_TEXT];
    return cbk_fail(CBK_ERROR_SHAPE, 0, "a is %s, b is %s: %s %lld and %lld differ",
                    cbk_shape_text(a->rank, a->shape, a_text),
                    cbk_shape_text(b->rank, b->shape, b_text), rule, (long long)left,
                    (long long)right);
}

static cbk_status infer_shape(const cbk_tensor_meta *a, const cbk_tensor_meta *b,
                              uint32_t *out_rank, int64_t shape[CBK_MAX_RANK]) {
    if (a->rank < 2 || b->rank < 2) {
        char a_text[CBK_SHAPE_TEXT], b_text[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_SHAPE, 0, "a is %s, b is %s: both need rank 2 or more",
                        cbk_shape_text(a->rank, a->shape, a_text),
                        cbk_shape_text(b->rank, b->shape, b_text));
    }
    int64_t k_a = a->shape[a->rank - 1], k_b = b->shape[b->rank - 2];
    if (k_a != k_b) return fail_shape(a, b, "inner lengths", k_a, k_b);
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i + 2 < rank; i++) { // i counts from the end of the batch axes
        int64_t left = i + 2 < a->rank ? a->shape[a->rank - 3 - i] : 1;
        int64_t right = i + 2 < b->rank ? b->shape[b->rank - 3 - i] : 1;
        if (left != right && left != 1 && right != 1) {
            return fail_shape(a, b, "batch lengths", left, right);
        }
        shape[rank - 3 - i] = left == 1 ? right : left;
    }
    shape[rank - 2] = a->shape[a->rank - 2];
    shape[rank - 1] = b->shape[b->rank - 1];
    *out_rank = rank;
    return CBK_OK;
}

/// bias or residual: the result's dtype, and a shape that stretches to the result's.
static cbk_status check_added(const struct cbk_inference *inference, uint32_t i, const char *what) {
    const cbk_tensor_meta *result = &inference->outputs[0];
    uint32_t rank = result->rank;
    int64_t shape[CBK_MAX_RANK];
    if (i >= inference->input_count || inference->inputs[i] == NULL) return CBK_OK;
    const cbk_tensor_meta *added = cbk_input(inference, i);
    if (added->dtype != result->dtype) {
        return cbk_fail(CBK_ERROR_DTYPE, 0, "%s is %s, the result %s", what,
                        cbk_dtype_name(added->dtype), cbk_dtype_name(result->dtype));
    }
    for (uint32_t k = 0; k < CBK_MAX_RANK; k++) shape[k] = result->shape[k];
    cbk_status status = cbk_infer_broadcast(inference, i, &rank, shape);
    bool fits = status == CBK_OK && rank == result->rank;
    for (uint32_t k = 0; k < result->rank && fits; k++) fits = shape[k] == result->shape[k];
    if (fits) return CBK_OK;
    char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
    return cbk_fail(CBK_ERROR_SHAPE, 0, "%s is %s, which does not stretch to the result %s", what,
                    cbk_shape_text(added->rank, added->shape, a),
                    cbk_shape_text(result->rank, result->shape, b));
}

// ---- activation ---------------------------------------------------------------------------------

static bool is_activation(cbk_opcode opcode) {
    return (opcode >= CBK_OP_RELU && opcode <= CBK_OP_THRESHOLDED_RELU) || opcode == CBK_OP_TANH;
}

/// The activation's own row checks dtype and variant and fills in its constants.
static cbk_status infer_activation(struct cbk_inference *inference) {
    cbk_matmul_params *params = &inference->params.matmul;
    if (params->activation == CBK_OP_NONE) return CBK_OK;
    if (!is_activation(params->activation)) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "activation 0x%04x is not one",
                        (unsigned)params->activation);
    }
    const struct cbk_row *row = cbk_row_of(params->activation);
    struct cbk_storage_and_tensor memory;
    cbk_tensor_make_local((cbk_device *)(uintptr_t)inference->device, &inference->outputs[0],
                          &memory);
    cbk_tensor *inputs[] = {&memory.tensor}, *given[] = {NULL};
    struct cbk_inference unary = {.info = &row->info,
                                  .device = inference->device,
                                  .input_count = 1,
                                  .inputs = inputs,
                                  .given = given};
    unary.params.activation = (cbk_activation_params){.struct_size = sizeof unary.params.activation,
                                                      .variant = params->activation_variant,
                                                      .alpha = params->alpha,
                                                      .beta = params->beta};
    cbk_status status = row->infer(&unary);
    params->alpha = unary.params.activation.alpha;
    params->beta = unary.params.activation.beta;
    return status;
}

// ---- the row ------------------------------------------------------------------------------------

static cbk_status infer_precision(const cbk_tensor_meta *a, cbk_matmul_params *params) {
    if (params->precision > CBK_PRECISION_BF16) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "precision %u is unknown",
                        (unsigned)params->precision);
    }
    if (params->precision == CBK_PRECISION_DEFAULT) {
        params->precision = a->dtype == CBK_DTYPE_FLEX32 ? CBK_PRECISION_TF32 : CBK_PRECISION_EXACT;
    }
    return CBK_OK;
}

static cbk_status infer_out_dtype(const struct cbk_inference *inference, cbk_dtype *in_out_dtype) {
    const cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    cbk_status status = cbk_infer_same_dtype(inference, 0, 1);
    if (status == CBK_OK) status = cbk_infer_dtype(inference, dtype);
    if (status != CBK_OK) return status;
    if (*in_out_dtype == CBK_DTYPE_NONE) {
        *in_out_dtype = cbk_dtype_in(dtype, CBK_SMALL_FLOATS) ? CBK_DTYPE_BF16 : dtype;
    }
    return cbk_infer_dtype_in(*in_out_dtype, cbk_dtype_in(dtype, CBK_INTS) ? CBK_INTS : CBK_FLOATS,
                              "out_dtype");
}

static cbk_status infer_matmul(struct cbk_inference *inference) {
    const cbk_tensor_meta *a = cbk_input(inference, 0), *b = cbk_input(inference, 1);
    cbk_matmul_params *params = &inference->params.matmul;
    uint32_t rank = 0;
    int64_t shape[CBK_MAX_RANK];
    cbk_status status = infer_precision(a, params);
    if (status == CBK_OK) status = infer_out_dtype(inference, &params->out_dtype);
    if (status == CBK_OK) status = infer_shape(a, b, &rank, shape);
    if (status == CBK_OK) {
        status = cbk_meta_init(&inference->outputs[0], params->out_dtype, rank, shape);
    }
    if (status == CBK_OK) status = check_added(inference, 2, "bias");
    if (status == CBK_OK) status = check_added(inference, 3, "residual");
    return status != CBK_OK ? status : infer_activation(inference);
}

static const struct cbk_row matmul_rows[] = {
    [CBK_OP_MATMUL & 0xff] = {.info = {.struct_size = sizeof(cbk_op_info),
                                       .opcode = CBK_OP_MATMUL,
                                       .name = "matmul",
                                       .flags = CBK_ROW_DIFFERENTIABLE | CBK_ROW_OPTIONAL,
                                       .min_inputs = 2,
                                       .max_inputs = 4,
                                       .output_count = 1,
                                       .params_size = sizeof(cbk_matmul_params),
                                       .dtypes = CBK_NUMBERS | CBK_SMALL_FLOATS},
                              .infer = infer_matmul},
};
CBK_FAMILY(cbk_matmul_family, matmul_rows);
