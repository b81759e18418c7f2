/// compare.c: comparisons of two tensors, or of a tensor and a scalar, giving bools.
#include "pointwise.h"

#define LOW(opcode) ((opcode)&0xff)

/// Scalar forms have the low byte of their tensor form.
static const char *const compare_rows[] = {
    [LOW(CBK_OP_EQUAL)] = "equal",     [LOW(CBK_OP_NOT_EQUAL)] = "not_equal",
    [LOW(CBK_OP_LESS)] = "less",       [LOW(CBK_OP_LESS_EQUAL)] = "less_equal",
    [LOW(CBK_OP_GREATER)] = "greater", [LOW(CBK_OP_GREATER_EQUAL)] = "greater_equal",
};
enum { COMPARE_ROWS = sizeof compare_rows / sizeof *compare_rows };

static struct cbk_ocl_pointwise describe_compare(cbk_opcode opcode, cbk_dtype in, cbk_dtype out) {
    bool has_scalar = opcode >> 8 == CBK_FAMILY_COMPARE_SCALAR;
    struct cbk_ocl_pointwise op = {.operation = compare_rows[LOW(opcode)],
                                   .id = opcode,
                                   .name = compare_rows[LOW(opcode)],
                                   .family = "COMPARE",
                                   .word = cbk_ocl_class_word(in),
                                   .input_count = has_scalar ? 1 : 2,
                                   .scalar_count = has_scalar ? 1 : 0,
                                   .types = {out, in, has_scalar ? 0 : in},
                                   .scalar_type = has_scalar ? in : 0};
    return op;
}

/// Tolerances are in the arithmetic type: f16 has no 1e-8.
static struct cbk_ocl_pointwise describe_close(bool equal_nan, cbk_dtype in, cbk_dtype out) {
    struct cbk_ocl_pointwise op = {.operation = "is_close",
                                   .id = CBK_OP_IS_CLOSE | (equal_nan ? 1u << 16 : 0),
                                   .name = equal_nan ? "is_close_or_nan" : "is_close",
                                   .family = "COMPARE",
                                   .word = cbk_ocl_class_word(in),
                                   .input_count = 2,
                                   .scalar_count = 2,
                                   .types = {out, in, in},
                                   .scalar_type =
                                       in == CBK_DTYPE_F64 ? CBK_DTYPE_F64 : CBK_DTYPE_F32};
    return op;
}

static cbk_status launch_close(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_close_params *params = op->params;
    const struct cbk_ocl_operand operands[3] = {cbk_ocl_operand(op->outputs[0]),
                                                cbk_ocl_operand(op->inputs[0]),
                                                cbk_ocl_operand(op->inputs[1])};
    struct cbk_ocl_pointwise close =
        describe_close(params->equal_nan != 0, operands[1].meta->dtype, operands[0].meta->dtype);
    cbk_status status = cbk_ocl_scalar(params->relative, close.scalar_type, &close.scalars[0]);
    if (status == CBK_OK)
        status = cbk_ocl_scalar(params->absolute, close.scalar_type, &close.scalars[1]);
    return status != CBK_OK ? status : cbk_ocl_pointwise(stream, &close, operands);
}

cbk_status cbk_ocl_compare(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct cbk_ocl_operand operands[3] = {cbk_ocl_operand(op->outputs[0]),
                                          cbk_ocl_operand(op->inputs[0])};
    cbk_dtype in = operands[1].meta->dtype;
    if (op->opcode == CBK_OP_IS_CLOSE) return launch_close(stream, op);
    struct cbk_ocl_pointwise pointwise = describe_compare(op->opcode, in, operands[0].meta->dtype);
    if (pointwise.scalar_count == 0) {
        operands[2] = cbk_ocl_operand(op->inputs[1]);
        return cbk_ocl_pointwise(stream, &pointwise, operands);
    }
    const cbk_compare_params *params = op->params;
    cbk_status status = cbk_ocl_scalar(params->scalar, in, &pointwise.scalars[0]);
    return status != CBK_OK ? status : cbk_ocl_pointwise(stream, &pointwise, operands);
}

// ---- list of programs ----------------------------------------------------------------------------

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct cbk_ocl_row_visit *visit = context;
    struct cbk_ocl_pointwise op = describe_compare(visit->opcode, dtype, CBK_DTYPE_BOOL);
    cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
    op.types[0] = CBK_DTYPE_BOOL32;
    cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
}

static void visit_close(void *context, cbk_dtype dtype) {
    const struct cbk_ocl_row_visit *visit = context;
    for (int i = 0; i < 4; i++) {
        cbk_dtype out = (i & 1) != 0 ? CBK_DTYPE_BOOL32 : CBK_DTYPE_BOOL;
        struct cbk_ocl_pointwise op = describe_close((i & 2) != 0, dtype, out);
        cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
    }
}

void cbk_ocl_compare_programs(cbk_ocl_program_visitor visit, void *user_data) {
    for (uint32_t low = 0; low < COMPARE_ROWS; low++) {
        struct cbk_ocl_row_visit tensors = {CBK_FAMILY_COMPARE << 8 | low, visit, user_data};
        struct cbk_ocl_row_visit scalar = {CBK_FAMILY_COMPARE_SCALAR << 8 | low, visit, user_data};
        cbk_ocl_each_row_dtype(tensors.opcode, visit_dtype, &tensors);
        cbk_ocl_each_row_dtype(scalar.opcode, visit_dtype, &scalar);
    }
    struct cbk_ocl_row_visit close = {CBK_OP_IS_CLOSE, visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_IS_CLOSE, visit_close, &close);
}
