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

cbk_status cbk_ocl_compare(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct cbk_ocl_operand operands[3] = {cbk_ocl_operand(op->outputs[0]),
                                          cbk_ocl_operand(op->inputs[0])};
    cbk_dtype in = operands[1].meta->dtype;
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

struct visit {
    cbk_opcode opcode;
    cbk_ocl_program_visitor visit;
    void *user_data;
};

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    struct cbk_ocl_pointwise op = describe_compare(visit->opcode, dtype, CBK_DTYPE_BOOL);
    cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
    op.types[0] = CBK_DTYPE_BOOL32;
    cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
}

void cbk_ocl_compare_programs(cbk_ocl_program_visitor visit, void *user_data) {
    for (uint32_t low = 0; low < COMPARE_ROWS; low++) {
        struct visit tensors = {CBK_FAMILY_COMPARE << 8 | low, visit, user_data};
        struct visit scalar = {CBK_FAMILY_COMPARE_SCALAR << 8 | low, visit, user_data};
        cbk_ocl_each_row_dtype(tensors.opcode, visit_dtype, &tensors);
        cbk_ocl_each_row_dtype(scalar.opcode, visit_dtype, &scalar);
    }
}
