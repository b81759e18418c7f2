// ops_pointwise.c: named functions of the unary, binary, comparison, ternary and cast families.
#include "core.h"

static cbk_status run_unary(cbk_stream *stream, cbk_opcode opcode, const cbk_tensor *x,
                            const void *params, uint32_t params_size, cbk_tensor **out) {
    return cbk_run(stream, opcode, &x, 1, params, params_size, out);
}

static cbk_status run_unary_into(cbk_stream *stream, cbk_opcode opcode, const cbk_tensor *x,
                                 const void *params, uint32_t params_size, cbk_tensor *dst) {
    return cbk_run_into(stream, opcode, &x, 1, params, params_size, dst);
}

// ---- unary without params -----------------------------------------------------------------------

#define UNARY(name, OP)                                                                            \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out) {             \
        return run_unary(stream, CBK_OP_##OP, x, NULL, 0, out);                                    \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst) {       \
        return run_unary_into(stream, CBK_OP_##OP, x, NULL, 0, dst);                               \
    }

UNARY(neg, NEG)
UNARY(abs, ABS)
UNARY(sign, SIGN)
UNARY(recip, RECIP)
UNARY(square, SQUARE)
UNARY(sqrt, SQRT)
UNARY(rsqrt, RSQRT)
UNARY(exp, EXP)
UNARY(expm1, EXPM1)
UNARY(log, LOG)
UNARY(log1p, LOG1P)
UNARY(sin, SIN)
UNARY(cos, COS)
UNARY(tan, TAN)
UNARY(asin, ASIN)
UNARY(acos, ACOS)
UNARY(atan, ATAN)
UNARY(sinh, SINH)
UNARY(cosh, COSH)
UNARY(tanh, TANH)
UNARY(asinh, ASINH)
UNARY(acosh, ACOSH)
UNARY(atanh, ATANH)
UNARY(erf, ERF)
UNARY(floor, FLOOR)
UNARY(ceil, CEIL)
UNARY(round, ROUND)
UNARY(trunc, TRUNC)
UNARY(bitwise_not, BITWISE_NOT)
UNARY(relu, RELU)
UNARY(sigmoid, SIGMOID)
UNARY(log_sigmoid, LOG_SIGMOID)
UNARY(silu, SILU)
UNARY(mish, MISH)
UNARY(selu, SELU)
UNARY(hardswish, HARDSWISH)
UNARY(relu6, RELU6)
UNARY(softsign, SOFTSIGN)
UNARY(tanhshrink, TANHSHRINK)
UNARY(logical_not, LOGICAL_NOT)
UNARY(is_nan, IS_NAN)
UNARY(is_inf, IS_INF)
UNARY(is_finite, IS_FINITE)

// ---- binary -------------------------------------------------------------------------------------

#define BINARY(name, OP)                                                                           \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,            \
                          cbk_tensor **out) {                                                      \
        const cbk_tensor *const inputs[] = {a, b};                                                 \
        return cbk_run(stream, CBK_OP_##OP, inputs, 2, NULL, 0, out);                              \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,     \
                                 cbk_tensor *dst) {                                                \
        const cbk_tensor *const inputs[] = {a, b};                                                 \
        return cbk_run_into(stream, CBK_OP_##OP, inputs, 2, NULL, 0, dst);                         \
    }

/// `name` with a scalar; reversed: scalar op x.
#define SCALAR_FORM(name, OP, is_reversed)                                                         \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,              \
                          cbk_tensor **out) {                                                      \
        const cbk_scalar_params params = {                                                         \
            .struct_size = sizeof params, .reversed = (is_reversed), .scalar = scalar};            \
        return run_unary(stream, CBK_OP_##OP, a, &params, sizeof params, out);                     \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,       \
                                 cbk_tensor *dst) {                                                \
        const cbk_scalar_params params = {                                                         \
            .struct_size = sizeof params, .reversed = (is_reversed), .scalar = scalar};            \
        return run_unary_into(stream, CBK_OP_##OP, a, &params, sizeof params, dst);                \
    }

#define BINARY_AND_SCALAR(name, OP) BINARY(name, OP) SCALAR_FORM(name##_scalar, OP##_SCALAR, 0)

BINARY_AND_SCALAR(add, ADD)
BINARY_AND_SCALAR(sub, SUB)
BINARY_AND_SCALAR(mul, MUL)
BINARY_AND_SCALAR(div, DIV)
BINARY_AND_SCALAR(remainder, REMAINDER)
BINARY_AND_SCALAR(pow, POW)
BINARY_AND_SCALAR(atan2, ATAN2)
BINARY_AND_SCALAR(hypot, HYPOT)
BINARY_AND_SCALAR(maximum, MAXIMUM)
BINARY_AND_SCALAR(minimum, MINIMUM)
BINARY_AND_SCALAR(bitwise_and, BITWISE_AND)
BINARY_AND_SCALAR(bitwise_or, BITWISE_OR)
BINARY_AND_SCALAR(bitwise_xor, BITWISE_XOR)
BINARY_AND_SCALAR(shift_left, SHIFT_LEFT)
BINARY_AND_SCALAR(shift_right, SHIFT_RIGHT)
BINARY_AND_SCALAR(fmod, FMOD)
BINARY(logical_and, LOGICAL_AND)
BINARY(logical_or, LOGICAL_OR)
BINARY(logical_xor, LOGICAL_XOR)

SCALAR_FORM(rsub_scalar, SUB_SCALAR, 1)
SCALAR_FORM(rdiv_scalar, DIV_SCALAR, 1)
SCALAR_FORM(rpow_scalar, POW_SCALAR, 1)
SCALAR_FORM(rremainder_scalar, REMAINDER_SCALAR, 1)

// ---- comparison ---------------------------------------------------------------------------------

#define COMPARE(name, OP)                                                                          \
    BINARY(name, OP)                                                                               \
    cbk_status cbk_##name##_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,     \
                                   cbk_tensor **out) {                                             \
        const cbk_compare_params params = {.struct_size = sizeof params, .scalar = scalar};        \
        return run_unary(stream, CBK_OP_##OP##_SCALAR, a, &params, sizeof params, out);            \
    }                                                                                              \
    cbk_status cbk_##name##_scalar_into(cbk_stream *stream, const cbk_tensor *a,                   \
                                        cbk_scalar scalar, cbk_tensor *dst) {                      \
        const cbk_compare_params params = {.struct_size = sizeof params, .scalar = scalar};        \
        return run_unary_into(stream, CBK_OP_##OP##_SCALAR, a, &params, sizeof params, dst);       \
    }

COMPARE(equal, EQUAL)
COMPARE(not_equal, NOT_EQUAL)
COMPARE(less, LESS)
COMPARE(less_equal, LESS_EQUAL)
COMPARE(greater, GREATER)
COMPARE(greater_equal, GREATER_EQUAL)

cbk_status cbk_is_close(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                        const cbk_close_params *params, cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {a, b};
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run(stream, CBK_OP_IS_CLOSE, inputs, 2, params, size, out);
}

cbk_status cbk_is_close_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                             const cbk_close_params *params, cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {a, b};
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run_into(stream, CBK_OP_IS_CLOSE, inputs, 2, params, size, dst);
}

// ---- ternary and cast ---------------------------------------------------------------------------

cbk_status cbk_where(cbk_stream *stream, const cbk_tensor *mask, const cbk_tensor *a,
                     const cbk_tensor *b, cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {mask, a, b};
    return cbk_run(stream, CBK_OP_WHERE, inputs, 3, NULL, 0, out);
}

cbk_status cbk_where_into(cbk_stream *stream, const cbk_tensor *mask, const cbk_tensor *a,
                          const cbk_tensor *b, cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {mask, a, b};
    return cbk_run_into(stream, CBK_OP_WHERE, inputs, 3, NULL, 0, dst);
}

cbk_status cbk_mask_fill(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *mask,
                         cbk_scalar value, cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {x, mask};
    const cbk_scalar_params params = {.struct_size = sizeof params, .scalar = value};
    return cbk_run(stream, CBK_OP_MASK_FILL, inputs, 2, &params, sizeof params, out);
}

cbk_status cbk_mask_fill_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *mask,
                              cbk_scalar value, cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {x, mask};
    const cbk_scalar_params params = {.struct_size = sizeof params, .scalar = value};
    return cbk_run_into(stream, CBK_OP_MASK_FILL, inputs, 2, &params, sizeof params, dst);
}

cbk_status cbk_clamp(cbk_stream *stream, const cbk_tensor *x, cbk_scalar low, cbk_scalar high,
                     cbk_tensor **out) {
    const cbk_clamp_params params = {.struct_size = sizeof params, .low = low, .high = high};
    return run_unary(stream, CBK_OP_CLAMP, x, &params, sizeof params, out);
}

cbk_status cbk_clamp_into(cbk_stream *stream, const cbk_tensor *x, cbk_scalar low, cbk_scalar high,
                          cbk_tensor *dst) {
    const cbk_clamp_params params = {.struct_size = sizeof params, .low = low, .high = high};
    return run_unary_into(stream, CBK_OP_CLAMP, x, &params, sizeof params, dst);
}

cbk_status cbk_lerp(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                    const cbk_tensor *weight, cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {a, b, weight};
    return cbk_run(stream, CBK_OP_LERP, inputs, 3, NULL, 0, out);
}

cbk_status cbk_lerp_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                         const cbk_tensor *weight, cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {a, b, weight};
    return cbk_run_into(stream, CBK_OP_LERP, inputs, 3, NULL, 0, dst);
}

cbk_status cbk_lerp_scalar(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           cbk_scalar weight, cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {a, b};
    const cbk_scalar_params params = {.struct_size = sizeof params, .scalar = weight};
    return cbk_run(stream, CBK_OP_LERP_SCALAR, inputs, 2, &params, sizeof params, out);
}

cbk_status cbk_lerp_scalar_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                cbk_scalar weight, cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {a, b};
    const cbk_scalar_params params = {.struct_size = sizeof params, .scalar = weight};
    return cbk_run_into(stream, CBK_OP_LERP_SCALAR, inputs, 2, &params, sizeof params, dst);
}

#define ADD_SCALED(name, OP)                                                                       \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *a,            \
                          const cbk_tensor *b, cbk_scalar value, cbk_tensor **out) {               \
        const cbk_tensor *const inputs[] = {x, a, b};                                              \
        const cbk_scalar_params params = {.struct_size = sizeof params, .scalar = value};          \
        return cbk_run(stream, CBK_OP_##OP, inputs, 3, &params, sizeof params, out);               \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *a,     \
                                 const cbk_tensor *b, cbk_scalar value, cbk_tensor *dst) {         \
        const cbk_tensor *const inputs[] = {x, a, b};                                              \
        const cbk_scalar_params params = {.struct_size = sizeof params, .scalar = value};          \
        return cbk_run_into(stream, CBK_OP_##OP, inputs, 3, &params, sizeof params, dst);          \
    }

ADD_SCALED(addcmul, ADDCMUL)
ADD_SCALED(addcdiv, ADDCDIV)

cbk_status cbk_cast(cbk_stream *stream, const cbk_tensor *x, cbk_dtype dtype, cbk_tensor **out) {
    const cbk_cast_params params = {.struct_size = sizeof params, .dtype = dtype};
    return run_unary(stream, CBK_OP_CAST, x, &params, sizeof params, out);
}

cbk_status cbk_cast_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst) {
    const cbk_cast_params params = {.struct_size = sizeof params, .dtype = cbk_tensor_dtype(dst)};
    return run_unary_into(stream, CBK_OP_CAST, x, &params, sizeof params, dst);
}
