// binary.c: two tensors, or a tensor and a scalar seen as a tensor whose strides are all 0.

#include "reference.h"

#include <math.h>

#define LOW(opcode) ((opcode)&0xff)

// ---- floats ------------------------------------------------------------------------------------

static double f_add(double a, double b) {
    return a + b;
}
static double f_sub(double a, double b) {
    return a - b;
}
static double f_mul(double a, double b) {
    return a * b;
}
static double f_div(double a, double b) {
    return a / b;
}
static double f_max(double a, double b) {
    return isnan(a) ? a : isnan(b) ? b : a > b ? a : b;
}
static double f_min(double a, double b) {
    return isnan(a) ? a : isnan(b) ? b : a < b ? a : b;
}

static double f_remainder(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static double f_prelu(double x, double slope) {
    return x > 0 ? x : slope * x;
}

static double f_glu(double x, double gate) {
    return gate < 0 ? x * (exp(gate) / (1 + exp(gate))) : x * (1 / (1 + exp(-gate)));
}

static double (*const float_functions[])(double, double) = {
    [LOW(CBK_OP_ADD)] = f_add,
    [LOW(CBK_OP_SUB)] = f_sub,
    [LOW(CBK_OP_MUL)] = f_mul,
    [LOW(CBK_OP_DIV)] = f_div,
    [LOW(CBK_OP_REMAINDER)] = f_remainder,
    [LOW(CBK_OP_POW)] = pow,
    [LOW(CBK_OP_ATAN2)] = atan2,
    [LOW(CBK_OP_HYPOT)] = hypot,
    [LOW(CBK_OP_MAXIMUM)] = f_max,
    [LOW(CBK_OP_MINIMUM)] = f_min,
    [LOW(CBK_OP_FMOD)] = fmod,
    [LOW(CBK_OP_PRELU)] = f_prelu,
    [LOW(CBK_OP_GLU)] = f_glu,
};

// ---- integers: a pattern of 64 bits, signed or not ---------------------------------------------

struct int_type {
    bool is_signed;
    int64_t width;
};

static int64_t i_div(int64_t a, int64_t b, bool is_signed) {
    if (b == 0) return a;
    if (!is_signed) return (int64_t)((uint64_t)a / (uint64_t)b);
    if (b == -1) return (int64_t)(0 - (uint64_t)a); // MIN / -1 = MIN
    return a / b;
}

static int64_t i_remainder(int64_t a, int64_t b, bool is_signed) {
    if (b == 0) return 0;
    if (!is_signed) return (int64_t)((uint64_t)a % (uint64_t)b);
    if (b == -1) return 0; // MIN rem -1 = 0
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/// The sign of a.
static int64_t i_fmod(int64_t a, int64_t b, bool is_signed) {
    if (b == 0) return 0;
    if (!is_signed) return (int64_t)((uint64_t)a % (uint64_t)b);
    return b == -1 ? 0 : a % b; // MIN fmod -1 = 0
}

static int64_t i_pow(int64_t base, int64_t exponent, bool is_signed) {
    if (is_signed && exponent < 0) {
        if (base == 1) return 1;
        if (base == -1) return exponent % 2 == 0 ? 1 : -1;
        return 0;
    }
    uint64_t result = 1, square = (uint64_t)base;
    for (uint64_t left = (uint64_t)exponent; left; left >>= 1) {
        if (left & 1) result *= square;
        square *= square;
    }
    return (int64_t)result;
}

static int64_t i_shift_left(int64_t a, int64_t count, struct int_type type) {
    if (count < 0 || count >= type.width) return 0;
    return (int64_t)((uint64_t)a << count);
}

static int64_t i_shift_right(int64_t a, int64_t count, struct int_type type) {
    bool is_negative = type.is_signed && a < 0;
    if (count < 0 || count >= type.width) return is_negative ? -1 : 0;
    // For a negative number: shift its complement, whose top bits are zeros.
    return is_negative ? ~(int64_t)(~(uint64_t)a >> count) : (int64_t)((uint64_t)a >> count);
}

static bool i_less(int64_t a, int64_t b, bool is_signed) {
    return is_signed ? a < b : (uint64_t)a < (uint64_t)b;
}

static cbk_status int_function(const cbk_op *op, int64_t a, int64_t b, struct int_type type,
                               int64_t *out) {
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    switch (CBK_FAMILY_BINARY << 8 | LOW(op->opcode)) {
    case CBK_OP_ADD:
        *out = (int64_t)(ua + ub);
        break;
    case CBK_OP_SUB:
        *out = (int64_t)(ua - ub);
        break;
    case CBK_OP_MUL:
        *out = (int64_t)(ua * ub);
        break;
    case CBK_OP_DIV:
        *out = i_div(a, b, type.is_signed);
        break;
    case CBK_OP_REMAINDER:
        *out = i_remainder(a, b, type.is_signed);
        break;
    case CBK_OP_FMOD:
        *out = i_fmod(a, b, type.is_signed);
        break;
    case CBK_OP_POW:
        *out = i_pow(a, b, type.is_signed);
        break;
    case CBK_OP_MAXIMUM:
        *out = i_less(a, b, type.is_signed) ? b : a;
        break;
    case CBK_OP_MINIMUM:
        *out = i_less(b, a, type.is_signed) ? b : a;
        break;
    case CBK_OP_LOGICAL_AND: // bools are 0 or 1
    case CBK_OP_BITWISE_AND:
        *out = a & b;
        break;
    case CBK_OP_LOGICAL_OR:
    case CBK_OP_BITWISE_OR:
        *out = a | b;
        break;
    case CBK_OP_LOGICAL_XOR:
    case CBK_OP_BITWISE_XOR:
        *out = a ^ b;
        break;
    case CBK_OP_SHIFT_LEFT:
        *out = i_shift_left(a, b, type);
        break;
    case CBK_OP_SHIFT_RIGHT:
        *out = i_shift_right(a, b, type);
        break;
    default:
        return cbk_ref_unknown(op);
    }
    return CBK_OK;
}

// ---- loops -------------------------------------------------------------------------------------

static cbk_status run_float(const cbk_op *op, const struct cbk_ref_view *a,
                            const struct cbk_ref_view *b, const struct cbk_ref_view *out) {
    uint32_t row = LOW(op->opcode);
    if (row >= sizeof float_functions / sizeof *float_functions || float_functions[row] == NULL)
        return cbk_ref_unknown(op);
    for (int64_t i = 0; i < out->count; i++) {
        double x = cbk_ref_get_float(a->data, a->dtype, cbk_ref_at(a, i));
        double y = cbk_ref_get_float(b->data, b->dtype, cbk_ref_at(b, i));
        cbk_ref_put_result(out->data, out->dtype, cbk_ref_at(out, i), float_functions[row](x, y));
    }
    return CBK_OK;
}

static cbk_status run_int(const cbk_op *op, const struct cbk_ref_view *a,
                          const struct cbk_ref_view *b, const struct cbk_ref_view *out) {
    struct int_type type = {cbk_ref_kind_of(a->dtype) == CBK_REF_SIGNED,
                            (int64_t)cbk_dtype_size(a->dtype) * 8};
    for (int64_t i = 0; i < out->count; i++) {
        int64_t x = cbk_ref_get_int(a->data, a->dtype, cbk_ref_at(a, i));
        int64_t y = cbk_ref_get_int(b->data, b->dtype, cbk_ref_at(b, i));
        int64_t result = 0;
        cbk_status status = int_function(op, x, y, type, &result);
        if (status != CBK_OK) return status;
        cbk_ref_put_int(out->data, out->dtype, cbk_ref_at(out, i), result);
    }
    return CBK_OK;
}

cbk_status cbk_ref_binary(struct cbk_ref_stream *stream, const cbk_op *op) {
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    struct cbk_ref_view a = cbk_ref_view_of(op->inputs[0]), b;
    uint64_t memory;
    (void)stream;

    a = cbk_ref_broadcast(&a, out.rank, out.shape);
    if (op->opcode >> 8 == CBK_FAMILY_BINARY_SCALAR) {
        const cbk_scalar_params *params = op->params;
        b = cbk_ref_scalar_view(params->scalar, a.dtype, out.rank, out.shape, &memory);
        if (params->reversed) {
            struct cbk_ref_view x = a;
            a = b;
            b = x;
        }
    } else {
        b = cbk_ref_view_of(op->inputs[1]);
        b = cbk_ref_broadcast(&b, out.rank, out.shape);
    }
    return cbk_ref_kind_of(a.dtype) == CBK_REF_FLOAT ? run_float(op, &a, &b, &out)
                                                     : run_int(op, &a, &b, &out);
}
