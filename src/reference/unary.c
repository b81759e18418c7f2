// unary.c: one function of double and one of 64-bit integers per operation.

#include "reference.h"

#include <math.h>

#define LOW(opcode) ((opcode)&0xff)

// ---- floats ------------------------------------------------------------------------------------

static double f_neg(double x) {
    return -x;
}
static double f_sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}
static double f_recip(double x) {
    return 1 / x;
}
static double f_square(double x) {
    return x * x;
}
static double f_rsqrt(double x) {
    return 1 / sqrt(x);
}

static double (*const float_functions[])(double) = {
    [LOW(CBK_OP_NEG)] = f_neg,     [LOW(CBK_OP_ABS)] = fabs,        [LOW(CBK_OP_SIGN)] = f_sign,
    [LOW(CBK_OP_RECIP)] = f_recip, [LOW(CBK_OP_SQUARE)] = f_square, [LOW(CBK_OP_SQRT)] = sqrt,
    [LOW(CBK_OP_RSQRT)] = f_rsqrt, [LOW(CBK_OP_EXP)] = exp,         [LOW(CBK_OP_EXPM1)] = expm1,
    [LOW(CBK_OP_LOG)] = log,       [LOW(CBK_OP_LOG1P)] = log1p,     [LOW(CBK_OP_SIN)] = sin,
    [LOW(CBK_OP_COS)] = cos,       [LOW(CBK_OP_TAN)] = tan,         [LOW(CBK_OP_ASIN)] = asin,
    [LOW(CBK_OP_ACOS)] = acos,     [LOW(CBK_OP_ATAN)] = atan,       [LOW(CBK_OP_SINH)] = sinh,
    [LOW(CBK_OP_COSH)] = cosh,     [LOW(CBK_OP_TANH)] = tanh,       [LOW(CBK_OP_ASINH)] = asinh,
    [LOW(CBK_OP_ACOSH)] = acosh,   [LOW(CBK_OP_ATANH)] = atanh,     [LOW(CBK_OP_ERF)] = erf,
    [LOW(CBK_OP_FLOOR)] = floor,   [LOW(CBK_OP_CEIL)] = ceil,       [LOW(CBK_OP_ROUND)] = rint,
    [LOW(CBK_OP_TRUNC)] = trunc,
};

static cbk_status run_float(const cbk_op *op, const struct cbk_ref_view *x,
                            const struct cbk_ref_view *out) {
    uint32_t row = LOW(op->opcode);
    if (row >= sizeof float_functions / sizeof *float_functions || !float_functions[row])
        return cbk_ref_activation(op, x, out);
    for (int64_t i = 0; i < out->count; i++) {
        double value = cbk_ref_get_float(x->data, x->dtype, cbk_ref_at(x, i));
        cbk_ref_put_result(out->data, out->dtype, cbk_ref_at(out, i), float_functions[row](value));
    }
    return CBK_OK;
}

// ---- integers and bools ------------------------------------------------------------------------

/// Computed modulo 2^64; the store cuts the result to its width. `negative` is never set for
/// unsigned elements.
static cbk_status int_function(const cbk_op *op, uint64_t x, bool negative, int64_t *out) {
    switch (op->opcode) {
    case CBK_OP_NEG:
        *out = (int64_t)(0 - x);
        break;
    case CBK_OP_ABS:
        *out = (int64_t)(negative ? 0 - x : x);
        break;
    case CBK_OP_SIGN:
        *out = negative ? -1 : x != 0;
        break;
    case CBK_OP_SQUARE:
        *out = (int64_t)(x * x);
        break;
    case CBK_OP_FLOOR:
    case CBK_OP_CEIL:
    case CBK_OP_ROUND:
    case CBK_OP_TRUNC:
        *out = (int64_t)x;
        break;
    case CBK_OP_BITWISE_NOT:
        *out = (int64_t)~x;
        break;
    case CBK_OP_RELU:
        *out = negative ? 0 : (int64_t)x;
        break;
    default:
        return cbk_ref_unknown(op);
    }
    return CBK_OK;
}

static cbk_status run_int(const cbk_op *op, const struct cbk_ref_view *x,
                          const struct cbk_ref_view *out) {
    bool is_signed = cbk_ref_kind_of(x->dtype) == CBK_REF_SIGNED;
    bool is_bool = cbk_ref_kind_of(x->dtype) == CBK_REF_BOOL;
    for (int64_t i = 0; i < out->count; i++) {
        int64_t value = cbk_ref_get_int(x->data, x->dtype, cbk_ref_at(x, i));
        cbk_status status = CBK_OK;
        if (is_bool && op->opcode == CBK_OP_BITWISE_NOT)
            value = !value;
        else
            status = int_function(op, (uint64_t)value, is_signed && value < 0, &value);
        if (status != CBK_OK) return status;
        cbk_ref_put_int(out->data, out->dtype, cbk_ref_at(out, i), value);
    }
    return CBK_OK;
}

// ---- questions: any dtype in, bool out ---------------------------------------------------------

static bool is_question(cbk_opcode opcode) {
    return opcode == CBK_OP_LOGICAL_NOT || opcode == CBK_OP_IS_NAN || opcode == CBK_OP_IS_INF ||
           opcode == CBK_OP_IS_FINITE;
}

static bool answer(cbk_opcode opcode, struct cbk_ref_value x) {
    bool is_float = x.kind == CBK_REF_FLOAT;
    switch (opcode) {
    case CBK_OP_IS_NAN:
        return is_float && isnan(x.f);
    case CBK_OP_IS_INF:
        return is_float && isinf(x.f);
    case CBK_OP_IS_FINITE:
        return !is_float || isfinite(x.f);
    default:
        return is_float ? x.f == 0 : x.i == 0;
    }
}

static cbk_status run_question(const cbk_op *op, const struct cbk_ref_view *x,
                               const struct cbk_ref_view *out) {
    for (int64_t i = 0; i < out->count; i++) {
        struct cbk_ref_value value = cbk_ref_load(x->data, x->dtype, cbk_ref_at(x, i));
        cbk_ref_put_int(out->data, out->dtype, cbk_ref_at(out, i), answer(op->opcode, value));
    }
    return CBK_OK;
}

cbk_status cbk_ref_unary(struct cbk_ref_stream *stream, const cbk_op *op) {
    struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    (void)stream;
    if (is_question(op->opcode)) return run_question(op, &x, &out);
    return cbk_ref_kind_of(x.dtype) == CBK_REF_FLOAT ? run_float(op, &x, &out)
                                                     : run_int(op, &x, &out);
}
