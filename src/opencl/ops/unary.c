/// unary.c: operations of one tensor, with or without constants.
#include "pointwise.h"

#include <string.h>

/// What a row does for dtypes that its function does not serve.
enum { NUMBERS = 0, INTS_ARE_COPIED, INTS_GIVE_0, INTS_GIVE_1 };

struct unary_row {
    const char *name;
    uint32_t scalar_count; ///< activation constants: alpha, beta
    uint32_t ints;
    bool gives_bool;
};

#define LOW(opcode) ((opcode)&0xff)

static const struct unary_row unary_rows[] = {
    [LOW(CBK_OP_NEG)] = {"neg"},
    [LOW(CBK_OP_ABS)] = {"abs"},
    [LOW(CBK_OP_SIGN)] = {"sign"},
    [LOW(CBK_OP_RECIP)] = {"recip"},
    [LOW(CBK_OP_SQUARE)] = {"square"},
    [LOW(CBK_OP_SQRT)] = {"sqrt"},
    [LOW(CBK_OP_RSQRT)] = {"rsqrt"},
    [LOW(CBK_OP_EXP)] = {"exp"},
    [LOW(CBK_OP_EXPM1)] = {"expm1"},
    [LOW(CBK_OP_LOG)] = {"log"},
    [LOW(CBK_OP_LOG1P)] = {"log1p"},
    [LOW(CBK_OP_SIN)] = {"sin"},
    [LOW(CBK_OP_COS)] = {"cos"},
    [LOW(CBK_OP_TAN)] = {"tan"},
    [LOW(CBK_OP_ASIN)] = {"asin"},
    [LOW(CBK_OP_ACOS)] = {"acos"},
    [LOW(CBK_OP_ATAN)] = {"atan"},
    [LOW(CBK_OP_SINH)] = {"sinh"},
    [LOW(CBK_OP_COSH)] = {"cosh"},
    [LOW(CBK_OP_TANH)] = {"tanh"},
    [LOW(CBK_OP_ASINH)] = {"asinh"},
    [LOW(CBK_OP_ACOSH)] = {"acosh"},
    [LOW(CBK_OP_ATANH)] = {"atanh"},
    [LOW(CBK_OP_ERF)] = {"erf"},
    [LOW(CBK_OP_FLOOR)] = {"floor", .ints = INTS_ARE_COPIED},
    [LOW(CBK_OP_CEIL)] = {"ceil", .ints = INTS_ARE_COPIED},
    [LOW(CBK_OP_ROUND)] = {"round", .ints = INTS_ARE_COPIED},
    [LOW(CBK_OP_TRUNC)] = {"trunc", .ints = INTS_ARE_COPIED},
    [LOW(CBK_OP_LOGICAL_NOT)] = {"logical_not", .gives_bool = true},
    [LOW(CBK_OP_BITWISE_NOT)] = {"bitwise_not"},
    [LOW(CBK_OP_IS_NAN)] = {"is_nan", .gives_bool = true, .ints = INTS_GIVE_0},
    [LOW(CBK_OP_IS_INF)] = {"is_inf", .gives_bool = true, .ints = INTS_GIVE_0},
    [LOW(CBK_OP_IS_FINITE)] = {"is_finite", .gives_bool = true, .ints = INTS_GIVE_1},
    [LOW(CBK_OP_RELU)] = {"relu"},
    [LOW(CBK_OP_SIGMOID)] = {"sigmoid"},
    [LOW(CBK_OP_LOG_SIGMOID)] = {"log_sigmoid"},
    [LOW(CBK_OP_GELU)] = {"gelu"},
    [LOW(CBK_OP_SILU)] = {"silu"},
    [LOW(CBK_OP_SOFTPLUS)] = {"softplus", .scalar_count = 2},
    [LOW(CBK_OP_MISH)] = {"mish"},
    [LOW(CBK_OP_LEAKY_RELU)] = {"leaky_relu", .scalar_count = 1},
    [LOW(CBK_OP_ELU)] = {"elu", .scalar_count = 1},
    [LOW(CBK_OP_HARD_SIGMOID)] = {"hard_sigmoid", .scalar_count = 2},
    [LOW(CBK_OP_CELU)] = {"celu", .scalar_count = 1},
    [LOW(CBK_OP_SELU)] = {"selu"},
    [LOW(CBK_OP_HARDTANH)] = {"hardtanh", .scalar_count = 2},
    [LOW(CBK_OP_HARDSWISH)] = {"hardswish"},
    [LOW(CBK_OP_RELU6)] = {"relu6"},
    [LOW(CBK_OP_SOFTSIGN)] = {"softsign"},
    [LOW(CBK_OP_TANHSHRINK)] = {"tanhshrink"},
    [LOW(CBK_OP_SOFTSHRINK)] = {"softshrink", .scalar_count = 1},
    [LOW(CBK_OP_HARDSHRINK)] = {"hardshrink", .scalar_count = 1},
    [LOW(CBK_OP_THRESHOLD)] = {"threshold", .scalar_count = 2},
    [LOW(CBK_OP_THRESHOLDED_RELU)] = {"thresholded_relu", .scalar_count = 1},
};
enum { UNARY_ROWS = sizeof unary_rows / sizeof *unary_rows };

static bool is_float(cbk_dtype dtype) {
    return dtype <= CBK_DTYPE_F8E5M2;
}

static bool is_bool(cbk_dtype dtype) {
    return dtype == CBK_DTYPE_BOOL || dtype == CBK_DTYPE_BOOL32;
}

static struct cbk_ocl_pointwise describe_unary(cbk_opcode opcode, uint32_t variant, cbk_dtype in,
                                               cbk_dtype out) {
    const struct unary_row *row = &unary_rows[LOW(opcode)];
    struct cbk_ocl_pointwise op = {.operation = row->name,
                                   .id = opcode | variant << 16,
                                   .name = row->name,
                                   .family = "UNARY",
                                   .word = cbk_ocl_class_word(in),
                                   .input_count = 1,
                                   .scalar_count = row->scalar_count,
                                   .types = {out, in},
                                   .scalar_type = row->scalar_count != 0 ? in : 0};
    if (opcode == CBK_OP_BITWISE_NOT && is_bool(in)) op.name = "logical_not";
    if (opcode == CBK_OP_GELU && variant == CBK_GELU_TANH) op.name = "gelu_tanh";
    return op;
}

cbk_status cbk_ocl_describe_activation(cbk_opcode opcode, const cbk_activation_params *params,
                                       cbk_dtype dtype, struct cbk_ocl_pointwise *out) {
    *out = describe_unary(opcode, params->variant, dtype, dtype);
    return cbk_ocl_set_constants(params, out);
}

cbk_status cbk_ocl_unary(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const struct unary_row *row = &unary_rows[LOW(op->opcode)];
    struct cbk_ocl_operand operands[2] = {cbk_ocl_operand(op->outputs[0]),
                                          cbk_ocl_operand(op->inputs[0])};
    cbk_dtype in = operands[1].meta->dtype, out = operands[0].meta->dtype;

    if (!is_float(in) && row->ints == INTS_ARE_COPIED)
        return cbk_ocl_copy(stream, &operands[1], &operands[0]);
    if (!is_float(in) && row->ints != NUMBERS)
        return cbk_ocl_fill(stream, cbk_i(row->ints == INTS_GIVE_1), &operands[0]);

    bool has_params = op->params_size == sizeof(cbk_activation_params) && !row->gives_bool;
    uint32_t variant = has_params ? ((const cbk_activation_params *)op->params)->variant : 0;
    struct cbk_ocl_pointwise pointwise = describe_unary(op->opcode, variant, in, out);
    cbk_status status = cbk_ocl_set_constants(op->params, &pointwise);
    return status != CBK_OK ? status : cbk_ocl_pointwise(stream, &pointwise, operands);
}

// ---- list of programs ----------------------------------------------------------------------------

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct cbk_ocl_row_visit *visit = context;
    const struct unary_row *row = &unary_rows[LOW(visit->opcode)];
    if (!is_float(dtype) && row->ints != NUMBERS) return;
    cbk_dtype out = row->gives_bool && !is_bool(dtype) ? CBK_DTYPE_BOOL : dtype;
    for (uint32_t variant = 0; variant < (visit->opcode == CBK_OP_GELU ? 2u : 1u); variant++) {
        struct cbk_ocl_pointwise op = describe_unary(visit->opcode, variant, dtype, out);
        cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
    }
}

void cbk_ocl_unary_programs(cbk_ocl_program_visitor visit, void *user_data) {
    for (uint32_t low = 0; low < UNARY_ROWS; low++) {
        struct cbk_ocl_row_visit context = {CBK_FAMILY_UNARY << 8 | low, visit, user_data};
        cbk_ocl_each_row_dtype(context.opcode, visit_dtype, &context);
    }
}
