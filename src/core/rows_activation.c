// rows_activation.c: constants of activations, and the rows of their gradients.
#include "rows.h"

// ---- constants ----------------------------------------------------------------------------------

struct defaults {
    cbk_opcode forward, backward;
    double alpha, beta;
};

static const struct defaults defaults[] = {
    {CBK_OP_SOFTPLUS, CBK_OP_SOFTPLUS_BACKWARD, 1.0, 20.0},
    {CBK_OP_LEAKY_RELU, CBK_OP_LEAKY_RELU_BACKWARD, 0.01, 0.0},
    {CBK_OP_ELU, CBK_OP_ELU_BACKWARD, 1.0, 0.0},
    {CBK_OP_HARD_SIGMOID, CBK_OP_HARD_SIGMOID_BACKWARD, 1.0 / 6.0, 0.5},
    {CBK_OP_CELU, CBK_OP_CELU_BACKWARD, 1.0, 0.0},
    {CBK_OP_HARDTANH, CBK_OP_HARDTANH_BACKWARD, -1.0, 1.0},
    {CBK_OP_SOFTSHRINK, CBK_OP_SOFTSHRINK_BACKWARD, 0.5, 0.0},
    {CBK_OP_HARDSHRINK, CBK_OP_HARDSHRINK_BACKWARD, 0.5, 0.0},
    {CBK_OP_THRESHOLD, CBK_OP_THRESHOLD_BACKWARD, 0.0, 0.0},
    {CBK_OP_THRESHOLDED_RELU, CBK_OP_THRESHOLDED_RELU_BACKWARD, 1.0, 0.0},
};

/// Rows without constants have none to look at.
static const struct defaults *find_defaults(cbk_opcode opcode) {
    static const struct defaults none = {CBK_OP_NONE, CBK_OP_NONE, 0.0, 0.0};
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        if (defaults[i].forward == opcode || defaults[i].backward == opcode) return &defaults[i];
    }
    return &none;
}

cbk_status cbk_infer_constants(struct cbk_inference *inference) {
    const cbk_opcode opcode = inference->info->opcode;
    const struct defaults *row = find_defaults(opcode);
    const uint32_t variants = opcode == CBK_OP_GELU || opcode == CBK_OP_GELU_BACKWARD ? 2 : 1;
    cbk_activation_params *params = &inference->params.activation;
    if (params->variant >= variants) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "variant %u is unknown",
                        (unsigned)params->variant);
    }
    if (params->alpha.kind == CBK_SCALAR_NONE) params->alpha = cbk_f(row->alpha);
    if (params->beta.kind == CBK_SCALAR_NONE) params->beta = cbk_f(row->beta);
    cbk_status status = cbk_infer_scalar(&params->alpha, "alpha");
    return status != CBK_OK ? status : cbk_infer_scalar(&params->beta, "beta");
}

// ---- gradients: of what was saved and of the output's gradient ----------------------------------

static cbk_status infer_backward(struct cbk_inference *inference) {
    const cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    cbk_status status = cbk_infer_same_dtype(inference, 0, 1);
    if (status == CBK_OK) status = cbk_infer_dtype(inference, dtype);
    if (status == CBK_OK) status = cbk_infer_constants(inference);
    return status != CBK_OK ? status : cbk_infer_pointwise(inference, dtype);
}

/// A gate or slope, too.
static cbk_status infer_backward_of_two(struct cbk_inference *inference) {
    const cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    cbk_status status = cbk_infer_same_dtype(inference, 0, 1);
    if (status == CBK_OK) status = cbk_infer_same_dtype(inference, 0, 2);
    if (status == CBK_OK) status = cbk_infer_dtype(inference, dtype);
    return status != CBK_OK ? status : cbk_infer_pointwise(inference, dtype);
}

#define BACKWARD(op, name)                                                                         \
    CBK_ROW(CBK_OP_##op##_BACKWARD, name "_backward", 2, sizeof(cbk_activation_params),            \
            CBK_ROW_POINTWISE | CBK_ROW_DIFFERENTIABLE, CBK_FLOATS, infer_backward)

static const struct cbk_row backward_rows[] = {
    BACKWARD(RELU, "relu"),
    BACKWARD(SIGMOID, "sigmoid"),
    BACKWARD(TANH, "tanh"),
    BACKWARD(GELU, "gelu"),
    BACKWARD(LOG_SIGMOID, "log_sigmoid"),
    BACKWARD(SILU, "silu"),
    BACKWARD(SOFTPLUS, "softplus"),
    BACKWARD(MISH, "mish"),
    BACKWARD(LEAKY_RELU, "leaky_relu"),
    BACKWARD(ELU, "elu"),
    BACKWARD(HARD_SIGMOID, "hard_sigmoid"),
    BACKWARD(HARDSWISH, "hardswish"),
    BACKWARD(CELU, "celu"),
    BACKWARD(SELU, "selu"),
    BACKWARD(HARDTANH, "hardtanh"),
    BACKWARD(RELU6, "relu6"),
    BACKWARD(SOFTSIGN, "softsign"),
    BACKWARD(TANHSHRINK, "tanhshrink"),
    BACKWARD(SOFTSHRINK, "softshrink"),
    BACKWARD(HARDSHRINK, "hardshrink"),
    BACKWARD(THRESHOLD, "threshold"),
    BACKWARD(THRESHOLDED_RELU, "thresholded_relu"),
    CBK_ROW(CBK_OP_GLU_BACKWARD, "glu_backward", 3, 0, CBK_ROW_POINTWISE | CBK_ROW_DIFFERENTIABLE,
            CBK_FLOATS, infer_backward_of_two),
    CBK_ROW(CBK_OP_PRELU_BACKWARD, "prelu_backward", 3, 0,
            CBK_ROW_POINTWISE | CBK_ROW_DIFFERENTIABLE, CBK_FLOATS, infer_backward_of_two),
};
CBK_FAMILY(cbk_activation_backward_family, backward_rows);
