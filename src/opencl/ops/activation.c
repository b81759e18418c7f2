/// activation.c: gradients of activations.
#include "pointwise.h"

#define LOW(opcode) ((opcode)&0xff)

struct backward_row {
    const char *name;
    const char *operator_name; ///< several rows may have one operator
    uint32_t scalar_count;     ///< activation constants: alpha, beta
    uint32_t more_inputs;      ///< beside what was saved and the gradient
};

static const struct backward_row backward_rows[] = {
    [LOW(CBK_OP_RELU_BACKWARD)] = {"relu_backward", "relu_backward", 0},
    [LOW(CBK_OP_SIGMOID_BACKWARD)] = {"sigmoid_backward", "sigmoid_backward", 0},
    [LOW(CBK_OP_TANH_BACKWARD)] = {"tanh_backward", "tanh_backward", 0},
    [LOW(CBK_OP_GELU_BACKWARD)] = {"gelu_backward", "gelu_backward", 0},
    [LOW(CBK_OP_LOG_SIGMOID_BACKWARD)] = {"log_sigmoid_backward", "log_sigmoid_backward", 0},
    [LOW(CBK_OP_SILU_BACKWARD)] = {"silu_backward", "silu_backward", 0},
    [LOW(CBK_OP_SOFTPLUS_BACKWARD)] = {"softplus_backward", "softplus_backward", 2},
    [LOW(CBK_OP_MISH_BACKWARD)] = {"mish_backward", "mish_backward", 0},
    [LOW(CBK_OP_LEAKY_RELU_BACKWARD)] = {"leaky_relu_backward", "leaky_relu_backward", 1},
    [LOW(CBK_OP_ELU_BACKWARD)] = {"elu_backward", "elu_backward", 1},
    [LOW(CBK_OP_HARD_SIGMOID_BACKWARD)] = {"hard_sigmoid_backward", "hard_sigmoid_backward", 2},
    [LOW(CBK_OP_HARDSWISH_BACKWARD)] = {"hardswish_backward", "hardswish_backward", 0},
    [LOW(CBK_OP_CELU_BACKWARD)] = {"celu_backward", "celu_backward", 1},
    [LOW(CBK_OP_SELU_BACKWARD)] = {"selu_backward", "selu_backward", 0},
    [LOW(CBK_OP_HARDTANH_BACKWARD)] = {"hardtanh_backward", "hardtanh_backward", 2},
    [LOW(CBK_OP_RELU6_BACKWARD)] = {"relu6_backward", "relu6_backward", 0},
    [LOW(CBK_OP_SOFTSIGN_BACKWARD)] = {"softsign_backward", "softsign_backward", 0},
    [LOW(CBK_OP_TANHSHRINK_BACKWARD)] = {"tanhshrink_backward", "tanhshrink_backward", 0},
    [LOW(CBK_OP_SOFTSHRINK_BACKWARD)] = {"softshrink_backward", "shrink_backward", 1},
    [LOW(CBK_OP_HARDSHRINK_BACKWARD)] = {"hardshrink_backward", "shrink_backward", 1},
    [LOW(CBK_OP_THRESHOLD_BACKWARD)] = {"threshold_backward", "threshold_backward", 1},
    [LOW(CBK_OP_THRESHOLDED_RELU_BACKWARD)] = {"thresholded_relu_backward", "threshold_backward",
                                               1},
    [LOW(CBK_OP_GLU_BACKWARD)] = {"glu_backward", "glu_backward", .more_inputs = 1},
    [LOW(CBK_OP_PRELU_BACKWARD)] = {"prelu_backward", "prelu_backward", .more_inputs = 1},
};
enum { BACKWARD_ROWS = sizeof backward_rows / sizeof *backward_rows };

cbk_status cbk_ocl_set_constants(const cbk_activation_params *params,
                                 struct cbk_ocl_pointwise *op) {
    cbk_status status = CBK_OK;
    if (op->scalar_count >= 1)
        status = cbk_ocl_scalar(params->alpha, op->scalar_type, &op->scalars[0]);
    if (op->scalar_count == 2 && status == CBK_OK)
        status = cbk_ocl_scalar(params->beta, op->scalar_type, &op->scalars[1]);
    return status;
}

static struct cbk_ocl_pointwise describe_backward(cbk_opcode opcode, uint32_t variant,
                                                  cbk_dtype dtype) {
    const struct backward_row *row = &backward_rows[LOW(opcode)];
    struct cbk_ocl_pointwise op = {
        .operation = row->name,
        .id = opcode | variant << 16,
        .name = row->operator_name,
        .family = "BACKWARD",
        .word = cbk_ocl_class_word(dtype),
        .input_count = 2 + row->more_inputs,
        .scalar_count = row->scalar_count,
        .types = {dtype, dtype, dtype, row->more_inputs != 0 ? dtype : 0},
        .scalar_type = row->scalar_count != 0 ? dtype : 0};
    if (opcode == CBK_OP_GELU_BACKWARD && variant == CBK_GELU_TANH) op.name = "gelu_tanh_backward";
    return op;
}

cbk_status cbk_ocl_activation_backward(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_activation_params *params = op->params;
    const uint32_t variant = op->opcode == CBK_OP_GELU_BACKWARD ? params->variant : 0;
    struct cbk_ocl_operand operands[4] = {cbk_ocl_operand(op->outputs[0])};
    for (uint32_t i = 0; i < op->input_count; i++) operands[1 + i] = cbk_ocl_operand(op->inputs[i]);
    struct cbk_ocl_pointwise pointwise =
        describe_backward(op->opcode, variant, operands[0].meta->dtype);
    cbk_status status = cbk_ocl_set_constants(params, &pointwise);
    return status != CBK_OK ? status : cbk_ocl_pointwise(stream, &pointwise, operands);
}

// ---- list of programs ----------------------------------------------------------------------------

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct cbk_ocl_row_visit *visit = context;
    const uint32_t variants = visit->opcode == CBK_OP_GELU_BACKWARD ? 2 : 1;
    for (uint32_t variant = 0; variant < variants; variant++) {
        struct cbk_ocl_pointwise op = describe_backward(visit->opcode, variant, dtype);
        cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
    }
}

void cbk_ocl_activation_backward_programs(cbk_ocl_program_visitor visit, void *user_data) {
    for (uint32_t low = 0; low < BACKWARD_ROWS; low++) {
        struct cbk_ocl_row_visit context = {CBK_FAMILY_ACTIVATION_BACKWARD << 8 | low, visit,
                                            user_data};
        cbk_ocl_each_row_dtype(context.opcode, visit_dtype, &context);
    }
}
