/// binary.c: operations of two tensors, or of a tensor and a scalar.
#include "pointwise.h"

#define LOW(opcode) ((opcode)&0xff)

/// Scalar forms have the low byte of their tensor form. Bools are 0 or 1, so that logical
/// operations are the bitwise ones.
static const char *const binary_rows[] = {
    [LOW(CBK_OP_ADD)] = "add",
    [LOW(CBK_OP_SUB)] = "sub",
    [LOW(CBK_OP_MUL)] = "mul",
    [LOW(CBK_OP_DIV)] = "div",
    [LOW(CBK_OP_REMAINDER)] = "remainder",
    [LOW(CBK_OP_POW)] = "pow",
    [LOW(CBK_OP_ATAN2)] = "atan2",
    [LOW(CBK_OP_HYPOT)] = "hypot",
    [LOW(CBK_OP_MAXIMUM)] = "maximum",
    [LOW(CBK_OP_MINIMUM)] = "minimum",
    [LOW(CBK_OP_BITWISE_AND)] = "bitwise_and",
    [LOW(CBK_OP_BITWISE_OR)] = "bitwise_or",
    [LOW(CBK_OP_BITWISE_XOR)] = "bitwise_xor",
    [LOW(CBK_OP_SHIFT_LEFT)] = "shift_left",
    [LOW(CBK_OP_SHIFT_RIGHT)] = "shift_right",
    [LOW(CBK_OP_LOGICAL_AND)] = "bitwise_and",
    [LOW(CBK_OP_LOGICAL_OR)] = "bitwise_or",
    [LOW(CBK_OP_LOGICAL_XOR)] = "bitwise_xor",
    [LOW(CBK_OP_FMOD)] = "fmod",
    [LOW(CBK_OP_PRELU)] = "prelu",
    [LOW(CBK_OP_GLU)] = "glu",
};
enum { BINARY_ROWS = sizeof binary_rows / sizeof *binary_rows };

static struct cbk_ocl_pointwise describe_binary(cbk_opcode opcode, bool is_reversed,
                                                cbk_dtype dtype) {
    bool has_scalar = opcode >> 8 == CBK_FAMILY_BINARY_SCALAR;
    struct cbk_ocl_pointwise op = {.operation = binary_rows[LOW(opcode)],
                                   .id = opcode,
                                   .name = binary_rows[LOW(opcode)],
                                   .family = opcode == CBK_OP_GLU ? "BACKWARD" : "BINARY",
                                   .word = cbk_ocl_class_word(dtype),
                                   .is_reversed = is_reversed,
                                   .input_count = has_scalar ? 1 : 2,
                                   .scalar_count = has_scalar ? 1 : 0,
                                   .types = {dtype, dtype, has_scalar ? 0 : dtype},
                                   .scalar_type = has_scalar ? dtype : 0};
    return op;
}

cbk_status cbk_ocl_binary(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct cbk_ocl_operand operands[3] = {cbk_ocl_operand(op->outputs[0]),
                                          cbk_ocl_operand(op->inputs[0])};
    cbk_dtype dtype = operands[1].meta->dtype;
    if (op->opcode >> 8 == CBK_FAMILY_BINARY) {
        struct cbk_ocl_pointwise tensors = describe_binary(op->opcode, false, dtype);
        operands[2] = cbk_ocl_operand(op->inputs[1]);
        return cbk_ocl_pointwise(stream, &tensors, operands);
    }
    const cbk_scalar_params *params = op->params;
    struct cbk_ocl_pointwise scalar = describe_binary(op->opcode, params->reversed != 0, dtype);
    cbk_status status = cbk_ocl_scalar(params->scalar, dtype, &scalar.scalars[0]);
    return status != CBK_OK ? status : cbk_ocl_pointwise(stream, &scalar, operands);
}

// ---- list of programs ----------------------------------------------------------------------------

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct cbk_ocl_row_visit *visit = context;
    struct cbk_ocl_pointwise op = describe_binary(visit->opcode, false, dtype);
    cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
    if (op.scalar_count == 0) return;
    op.is_reversed = true;
    cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
}

void cbk_ocl_binary_programs(cbk_ocl_program_visitor visit, void *user_data) {
    for (uint32_t low = 0; low < BINARY_ROWS; low++) {
        struct cbk_ocl_row_visit tensors = {CBK_FAMILY_BINARY << 8 | low, visit, user_data};
        struct cbk_ocl_row_visit scalar = {CBK_FAMILY_BINARY_SCALAR << 8 | low, visit, user_data};
        cbk_ocl_each_row_dtype(tensors.opcode, visit_dtype, &tensors);
        cbk_ocl_each_row_dtype(scalar.opcode, visit_dtype, &scalar);
    }
}
