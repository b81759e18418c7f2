/// ternary.c: where, mask_fill, clamp, lerp, addcmul, addcdiv.
#include "pointwise.h"

// where and mask_fill move elements whatever they mean: they see unsigned integers of their size.

static struct cbk_ocl_pointwise describe_where(cbk_dtype mask, cbk_dtype dtype) {
    cbk_dtype bits = cbk_ocl_bits_dtype(dtype);
    struct cbk_ocl_pointwise op = {.operation = "where",
                                   .id = CBK_OP_WHERE,
                                   .name = "where",
                                   .family = "TERNARY",
                                   .word = cbk_ocl_class_word(bits),
                                   .input_count = 3,
                                   .types = {bits, mask, bits, bits}};
    return op;
}

static struct cbk_ocl_pointwise describe_mask_fill(cbk_dtype mask, cbk_dtype dtype) {
    cbk_dtype bits = cbk_ocl_bits_dtype(dtype);
    struct cbk_ocl_pointwise op = {.operation = "mask_fill",
                                   .id = CBK_OP_MASK_FILL,
                                   .name = "mask_fill",
                                   .family = "TERNARY",
                                   .word = cbk_ocl_class_word(bits),
                                   .input_count = 2,
                                   .scalar_count = 1,
                                   .types = {bits, bits, mask},
                                   .scalar_type = bits};
    return op;
}

enum { CLAMP_BOTH = 0, CLAMP_LOW = 1, CLAMP_HIGH = 2 };

static struct cbk_ocl_pointwise describe_clamp(uint32_t bounds, cbk_dtype dtype) {
    static const char *const names[] = {"clamp", "maximum", "minimum"};
    struct cbk_ocl_pointwise op = {.operation = "clamp",
                                   .id = CBK_OP_CLAMP | bounds << 16,
                                   .name = names[bounds],
                                   .family = "TERNARY",
                                   .word = cbk_ocl_class_word(dtype),
                                   .input_count = 1,
                                   .scalar_count = bounds == CLAMP_BOTH ? 2 : 1,
                                   .types = {dtype, dtype},
                                   .scalar_type = dtype};
    return op;
}

/// lerp with a tensor or a scalar as weight, addcmul, addcdiv.
static struct cbk_ocl_pointwise describe_combination(cbk_opcode opcode, cbk_dtype dtype) {
    static const char *const names[] = {"lerp", "lerp", "addcmul", "addcdiv"};
    struct cbk_ocl_pointwise op = {.operation = names[opcode - CBK_OP_LERP],
                                   .id = opcode,
                                   .name = names[opcode - CBK_OP_LERP],
                                   .family = "TERNARY",
                                   .word = cbk_ocl_class_word(dtype),
                                   .input_count = opcode == CBK_OP_LERP_SCALAR ? 2 : 3,
                                   .scalar_count = opcode == CBK_OP_LERP ? 0 : 1,
                                   .types = {dtype, dtype, dtype, dtype},
                                   .scalar_type = opcode == CBK_OP_LERP ? 0 : dtype};
    if (op.input_count == 2) op.types[3] = 0;
    return op;
}

static cbk_status launch_where(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct cbk_ocl_operand operands[4] = {
        cbk_ocl_operand(op->outputs[0]), cbk_ocl_operand(op->inputs[0]),
        cbk_ocl_operand(op->inputs[1]), cbk_ocl_operand(op->inputs[2])};
    struct cbk_ocl_pointwise where =
        describe_where(operands[1].meta->dtype, operands[0].meta->dtype);
    return cbk_ocl_pointwise(stream, &where, operands);
}

static cbk_status launch_mask_fill(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_scalar_params *params = op->params;
    struct cbk_ocl_operand operands[3] = {cbk_ocl_operand(op->outputs[0]),
                                          cbk_ocl_operand(op->inputs[0]),
                                          cbk_ocl_operand(op->inputs[1])};
    cbk_dtype dtype = operands[0].meta->dtype;
    struct cbk_ocl_pointwise fill = describe_mask_fill(operands[2].meta->dtype, dtype);
    cbk_status status = cbk_ocl_scalar_bits(params->scalar, dtype, &fill.scalars[0]);
    return status != CBK_OK ? status : cbk_ocl_pointwise(stream, &fill, operands);
}

static cbk_status launch_clamp(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_clamp_params *params = op->params;
    struct cbk_ocl_operand operands[2] = {cbk_ocl_operand(op->outputs[0]),
                                          cbk_ocl_operand(op->inputs[0])};
    cbk_dtype dtype = operands[0].meta->dtype;
    bool has_low = params->low.kind != CBK_SCALAR_NONE, has_high = params->high.kind != 0;
    if (!has_low && !has_high) return cbk_ocl_copy(stream, &operands[1], &operands[0]);

    uint32_t bounds = has_low && has_high ? CLAMP_BOTH : has_low ? CLAMP_LOW : CLAMP_HIGH;
    struct cbk_ocl_pointwise clamp = describe_clamp(bounds, dtype);
    cbk_scalar first = has_low ? params->low : params->high;
    cbk_status status = cbk_ocl_scalar(first, dtype, &clamp.scalars[0]);
    if (bounds == CLAMP_BOTH && status == CBK_OK)
        status = cbk_ocl_scalar(params->high, dtype, &clamp.scalars[1]);
    return status != CBK_OK ? status : cbk_ocl_pointwise(stream, &clamp, operands);
}

static cbk_status launch_combination(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_scalar_params *params = op->params;
    struct cbk_ocl_operand operands[4] = {cbk_ocl_operand(op->outputs[0])};
    const cbk_dtype dtype = operands[0].meta->dtype;
    struct cbk_ocl_pointwise combination = describe_combination(op->opcode, dtype);
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < op->input_count; i++) operands[1 + i] = cbk_ocl_operand(op->inputs[i]);
    if (combination.scalar_count != 0)
        status = cbk_ocl_scalar(params->scalar, dtype, &combination.scalars[0]);
    return status != CBK_OK ? status : cbk_ocl_pointwise(stream, &combination, operands);
}

cbk_status cbk_ocl_ternary(struct cbk_ocl_stream *stream, const cbk_op *op) {
    switch (op->opcode) {
    case CBK_OP_WHERE:
        return launch_where(stream, op);
    case CBK_OP_MASK_FILL:
        return launch_mask_fill(stream, op);
    case CBK_OP_CLAMP:
        return launch_clamp(stream, op);
    default:
        return launch_combination(stream, op);
    }
}

// ---- list of programs ----------------------------------------------------------------------------

static void visit_clamp(void *context, cbk_dtype dtype) {
    const struct cbk_ocl_row_visit *visit = context;
    for (uint32_t bounds = CLAMP_BOTH; bounds <= CLAMP_HIGH; bounds++) {
        struct cbk_ocl_pointwise op = describe_clamp(bounds, dtype);
        cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
    }
}

static void visit_combination(void *context, cbk_dtype dtype) {
    const struct cbk_ocl_row_visit *visit = context;
    struct cbk_ocl_pointwise op = describe_combination(visit->opcode, dtype);
    cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
}

void cbk_ocl_ternary_programs(cbk_ocl_program_visitor visit, void *user_data) {
    static const cbk_dtype sizes[] = {CBK_DTYPE_U8, CBK_DTYPE_U16, CBK_DTYPE_U32, CBK_DTYPE_U64};
    static const cbk_dtype masks[] = {CBK_DTYPE_BOOL, CBK_DTYPE_BOOL32};
    for (int size = 0; size < 4; size++) {
        for (int mask = 0; mask < 2; mask++) {
            struct cbk_ocl_pointwise where = describe_where(masks[mask], sizes[size]);
            struct cbk_ocl_pointwise fill = describe_mask_fill(masks[mask], sizes[size]);
            cbk_ocl_pointwise_visit(&where, visit, user_data);
            cbk_ocl_pointwise_visit(&fill, visit, user_data);
        }
    }
    struct cbk_ocl_row_visit context = {CBK_OP_CLAMP, visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_CLAMP, visit_clamp, &context);
    for (cbk_opcode opcode = CBK_OP_LERP; opcode <= CBK_OP_ADDCDIV; opcode++) {
        context.opcode = opcode;
        cbk_ocl_each_row_dtype(opcode, visit_combination, &context);
    }
}
