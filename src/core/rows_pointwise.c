// rows_pointwise.c: unary, binary, comparison, ternary and cast rows: element i of the output
// depends on element i of the broadcast inputs.
#include "rows.h"

enum {
    POINTWISE = CBK_ROW_POINTWISE,
    SMOOTH = CBK_ROW_POINTWISE | CBK_ROW_DIFFERENTIABLE,
};

static cbk_status infer_unary(struct cbk_inference *inference) {
    cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    cbk_status status = cbk_infer_dtype(inference, dtype);
    return status != CBK_OK ? status : cbk_infer_pointwise(inference, dtype);
}

// ---- unary --------------------------------------------------------------------------------------

/// is_nan, is_inf, is_finite, logical_not.
static cbk_status infer_unary_bool(struct cbk_inference *inference) {
    cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    cbk_bool_params *params = &inference->params.boolean;
    cbk_status status = cbk_infer_dtype(inference, dtype);
    if (status == CBK_OK) status = cbk_infer_bool(inference, dtype, &params->out_dtype);
    return status != CBK_OK ? status : cbk_infer_pointwise(inference, params->out_dtype);
}

static cbk_status infer_activation(struct cbk_inference *inference) {
    cbk_status status = cbk_infer_constants(inference);
    return status != CBK_OK ? status : infer_unary(inference);
}

#define UNARY(op, name, flags, dtypes) CBK_ROW(op, name, 1, 0, flags, dtypes, infer_unary)
#define UNARY_BOOL(op, name, dtypes)                                                               \
    CBK_ROW(op, name, 1, sizeof(cbk_bool_params), POINTWISE, dtypes, infer_unary_bool)
#define ACTIVATION(op, name)                                                                       \
    CBK_ROW(op, name, 1, sizeof(cbk_activation_params), SMOOTH, CBK_FLOATS, infer_activation)

static const struct cbk_row unary_rows[] = {
    UNARY(CBK_OP_NEG, "neg", SMOOTH, CBK_NUMBERS),
    UNARY(CBK_OP_ABS, "abs", SMOOTH, CBK_NUMBERS),
    UNARY(CBK_OP_SIGN, "sign", SMOOTH, CBK_NUMBERS),
    UNARY(CBK_OP_RECIP, "recip", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_SQUARE, "square", SMOOTH, CBK_NUMBERS),
    UNARY(CBK_OP_SQRT, "sqrt", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_RSQRT, "rsqrt", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_EXP, "exp", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_EXPM1, "expm1", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_LOG, "log", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_LOG1P, "log1p", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_SIN, "sin", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_COS, "cos", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_TAN, "tan", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_ASIN, "asin", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_ACOS, "acos", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_ATAN, "atan", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_SINH, "sinh", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_COSH, "cosh", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_TANH, "tanh", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_ASINH, "asinh", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_ACOSH, "acosh", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_ATANH, "atanh", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_ERF, "erf", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_FLOOR, "floor", SMOOTH, CBK_NUMBERS),
    UNARY(CBK_OP_CEIL, "ceil", SMOOTH, CBK_NUMBERS),
    UNARY(CBK_OP_ROUND, "round", SMOOTH, CBK_NUMBERS),
    UNARY(CBK_OP_TRUNC, "trunc", SMOOTH, CBK_NUMBERS),
    UNARY_BOOL(CBK_OP_LOGICAL_NOT, "logical_not", CBK_COMPUTED),
    UNARY(CBK_OP_BITWISE_NOT, "bitwise_not", POINTWISE, CBK_INTS | CBK_BOOLS),
    UNARY_BOOL(CBK_OP_IS_NAN, "is_nan", CBK_NUMBERS),
    UNARY_BOOL(CBK_OP_IS_INF, "is_inf", CBK_NUMBERS),
    UNARY_BOOL(CBK_OP_IS_FINITE, "is_finite", CBK_NUMBERS),
    UNARY(CBK_OP_RELU, "relu", SMOOTH, CBK_NUMBERS),
    UNARY(CBK_OP_SIGMOID, "sigmoid", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_LOG_SIGMOID, "log_sigmoid", SMOOTH, CBK_FLOATS),
    ACTIVATION(CBK_OP_GELU, "gelu"),
    UNARY(CBK_OP_SILU, "silu", SMOOTH, CBK_FLOATS),
    ACTIVATION(CBK_OP_SOFTPLUS, "softplus"),
    UNARY(CBK_OP_MISH, "mish", SMOOTH, CBK_FLOATS),
    ACTIVATION(CBK_OP_LEAKY_RELU, "leaky_relu"),
    ACTIVATION(CBK_OP_ELU, "elu"),
    ACTIVATION(CBK_OP_HARD_SIGMOID, "hard_sigmoid"),
    ACTIVATION(CBK_OP_CELU, "celu"),
    UNARY(CBK_OP_SELU, "selu", SMOOTH, CBK_FLOATS),
    ACTIVATION(CBK_OP_HARDTANH, "hardtanh"),
    UNARY(CBK_OP_HARDSWISH, "hardswish", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_RELU6, "relu6", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_SOFTSIGN, "softsign", SMOOTH, CBK_FLOATS),
    UNARY(CBK_OP_TANHSHRINK, "tanhshrink", SMOOTH, CBK_FLOATS),
    ACTIVATION(CBK_OP_SOFTSHRINK, "softshrink"),
    ACTIVATION(CBK_OP_HARDSHRINK, "hardshrink"),
    ACTIVATION(CBK_OP_THRESHOLD, "threshold"),
    ACTIVATION(CBK_OP_THRESHOLDED_RELU, "thresholded_relu"),
};
CBK_FAMILY(cbk_unary_family, unary_rows);

// ---- binary -------------------------------------------------------------------------------------

static cbk_status infer_binary(struct cbk_inference *inference) {
    cbk_status status = cbk_infer_same_dtype(inference, 0, 1);
    return status != CBK_OK ? status : infer_unary(inference);
}

static cbk_status infer_scalar_form(struct cbk_inference *inference) {
    cbk_scalar_params *params = &inference->params.scalar;
    cbk_status status = cbk_infer_scalar(&params->scalar, "scalar");
    if (status != CBK_OK) return status;
    if (params->reversed > 1) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "reversed is %u, not 0 or 1",
                        (unsigned)params->reversed);
    }
    return infer_unary(inference);
}

/// Name, flags and dtypes of a row and of its scalar form.
#define FOR_BINARY_WITH_SCALAR(ROW)                                                                \
    ROW(ADD, "add", SMOOTH, CBK_NUMBERS)                                                           \
    ROW(SUB, "sub", SMOOTH, CBK_NUMBERS)                                                           \
    ROW(MUL, "mul", SMOOTH, CBK_NUMBERS)                                                           \
    ROW(DIV, "div", SMOOTH, CBK_NUMBERS)                                                           \
    ROW(REMAINDER, "remainder", SMOOTH, CBK_NUMBERS)                                               \
    ROW(POW, "pow", SMOOTH, CBK_NUMBERS)                                                           \
    ROW(ATAN2, "atan2", SMOOTH, CBK_FLOATS)                                                        \
    ROW(HYPOT, "hypot", SMOOTH, CBK_FLOATS)                                                        \
    ROW(MAXIMUM, "maximum", SMOOTH, CBK_NUMBERS)                                                   \
    ROW(MINIMUM, "minimum", SMOOTH, CBK_NUMBERS)                                                   \
    ROW(BITWISE_AND, "bitwise_and", POINTWISE, CBK_INTS | CBK_BOOLS)                               \
    ROW(BITWISE_OR, "bitwise_or", POINTWISE, CBK_INTS | CBK_BOOLS)                                 \
    ROW(BITWISE_XOR, "bitwise_xor", POINTWISE, CBK_INTS | CBK_BOOLS)                               \
    ROW(SHIFT_LEFT, "shift_left", POINTWISE, CBK_INTS)                                             \
    ROW(SHIFT_RIGHT, "shift_right", POINTWISE, CBK_INTS)                                           \
    ROW(FMOD, "fmod", SMOOTH, CBK_NUMBERS)

#define BINARY(op, name, flags, dtypes)                                                            \
    CBK_ROW(CBK_OP_##op, name, 2, 0, flags, dtypes, infer_binary),
#define BINARY_SCALAR(op, name, flags, dtypes)                                                     \
    CBK_ROW(CBK_OP_##op##_SCALAR, name "_scalar", 1, sizeof(cbk_scalar_params), flags, dtypes,     \
            infer_scalar_form),

static const struct cbk_row binary_rows[] = {
    FOR_BINARY_WITH_SCALAR(BINARY) BINARY(LOGICAL_AND, "logical_and", POINTWISE, CBK_BOOLS)
        BINARY(LOGICAL_OR, "logical_or", POINTWISE, CBK_BOOLS)
            BINARY(LOGICAL_XOR, "logical_xor", POINTWISE, CBK_BOOLS)
                BINARY(PRELU, "prelu", SMOOTH, CBK_FLOATS) BINARY(GLU, "glu", SMOOTH, CBK_FLOATS)};
CBK_FAMILY(cbk_binary_family, binary_rows);

static const struct cbk_row binary_scalar_rows[] = {FOR_BINARY_WITH_SCALAR(BINARY_SCALAR)};
CBK_FAMILY(cbk_binary_scalar_family, binary_scalar_rows);

// ---- comparison ---------------------------------------------------------------------------------

static cbk_status infer_compare_output(struct cbk_inference *inference) {
    cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    cbk_compare_params *params = &inference->params.compare;
    cbk_status status = cbk_infer_dtype(inference, dtype);
    if (status == CBK_OK) status = cbk_infer_bool(inference, CBK_DTYPE_NONE, &params->out_dtype);
    return status != CBK_OK ? status : cbk_infer_pointwise(inference, params->out_dtype);
}

static cbk_status infer_compare(struct cbk_inference *inference) {
    cbk_status status = cbk_infer_same_dtype(inference, 0, 1);
    return status != CBK_OK ? status : infer_compare_output(inference);
}

static cbk_status infer_compare_scalar(struct cbk_inference *inference) {
    cbk_status status = cbk_infer_scalar(&inference->params.compare.scalar, "scalar");
    return status != CBK_OK ? status : infer_compare_output(inference);
}

#define FOR_COMPARE(ROW)                                                                           \
    ROW(EQUAL, "equal", CBK_COMPUTED)                                                              \
    ROW(NOT_EQUAL, "not_equal", CBK_COMPUTED)                                                      \
    ROW(LESS, "less", CBK_NUMBERS)                                                                 \
    ROW(LESS_EQUAL, "less_equal", CBK_NUMBERS)                                                     \
    ROW(GREATER, "greater", CBK_NUMBERS)                                                           \
    ROW(GREATER_EQUAL, "greater_equal", CBK_NUMBERS)

#define COMPARE(op, name, dtypes)                                                                  \
    CBK_ROW(CBK_OP_##op, name, 2, sizeof(cbk_compare_params), POINTWISE, dtypes, infer_compare),
#define COMPARE_SCALAR(op, name, dtypes)                                                           \
    CBK_ROW(CBK_OP_##op##_SCALAR, name "_scalar", 1, sizeof(cbk_compare_params), POINTWISE,        \
            dtypes, infer_compare_scalar),

static cbk_status infer_close(struct cbk_inference *inference) {
    cbk_close_params *params = &inference->params.close;
    const cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    if (params->relative.kind == CBK_SCALAR_NONE) params->relative = cbk_f(1e-5);
    if (params->absolute.kind == CBK_SCALAR_NONE) params->absolute = cbk_f(1e-8);
    if (params->equal_nan > 1) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "equal_nan is %u, not 0 or 1",
                        (unsigned)params->equal_nan);
    }
    cbk_status status = cbk_infer_same_dtype(inference, 0, 1);
    if (status == CBK_OK) status = cbk_infer_dtype(inference, dtype);
    if (status == CBK_OK) status = cbk_infer_scalar(&params->relative, "relative");
    if (status == CBK_OK) status = cbk_infer_scalar(&params->absolute, "absolute");
    if (status == CBK_OK) status = cbk_infer_bool(inference, CBK_DTYPE_NONE, &params->out_dtype);
    return status != CBK_OK ? status : cbk_infer_pointwise(inference, params->out_dtype);
}

static const struct cbk_row compare_rows[] = {
    FOR_COMPARE(COMPARE) CBK_ROW(CBK_OP_IS_CLOSE, "is_close", 2, sizeof(cbk_close_params),
                                 POINTWISE, CBK_FLOATS, infer_close),
};
CBK_FAMILY(cbk_compare_family, compare_rows);

static const struct cbk_row compare_scalar_rows[] = {FOR_COMPARE(COMPARE_SCALAR)};
CBK_FAMILY(cbk_compare_scalar_family, compare_scalar_rows);

// ---- ternary and cast ---------------------------------------------------------------------------

static cbk_status infer_where(struct cbk_inference *inference) {
    cbk_dtype dtype = cbk_input(inference, 1)->dtype;
    cbk_status status = cbk_infer_dtype_in(cbk_input(inference, 0)->dtype, CBK_BOOLS, "mask");
    if (status == CBK_OK) status = cbk_infer_same_dtype(inference, 1, 2);
    if (status == CBK_OK) status = cbk_infer_dtype(inference, dtype);
    return status != CBK_OK ? status : cbk_infer_pointwise(inference, dtype);
}

static cbk_status infer_mask_fill(struct cbk_inference *inference) {
    cbk_status status = cbk_infer_dtype_in(cbk_input(inference, 1)->dtype, CBK_BOOLS, "mask");
    if (status == CBK_OK) status = cbk_infer_scalar(&inference->params.scalar.scalar, "value");
    return status != CBK_OK ? status : infer_unary(inference);
}

static cbk_status infer_clamp(struct cbk_inference *inference) {
    const cbk_clamp_params *params = &inference->params.clamp;
    if (params->low.kind > CBK_SCALAR_UINT || params->high.kind > CBK_SCALAR_UINT) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                        "bounds have kinds %u and %u: one is unknown", (unsigned)params->low.kind,
                        (unsigned)params->high.kind);
    }
    return infer_unary(inference);
}

static cbk_status infer_ternary(struct cbk_inference *inference) {
    cbk_status status = cbk_infer_same_dtype(inference, 0, 1);
    if (status == CBK_OK) status = cbk_infer_same_dtype(inference, 0, 2);
    return status != CBK_OK ? status : infer_unary(inference);
}

static cbk_status infer_lerp_scalar(struct cbk_inference *inference) {
    cbk_status status = cbk_infer_scalar(&inference->params.scalar.scalar, "weight");
    return status != CBK_OK ? status : infer_binary(inference);
}

/// addcmul, addcdiv: a value that is left out is 1.
static cbk_status infer_add_scaled(struct cbk_inference *inference) {
    cbk_scalar *value = &inference->params.scalar.scalar;
    if (value->kind == CBK_SCALAR_NONE) *value = cbk_f(1.0);
    cbk_status status = cbk_infer_scalar(value, "value");
    return status != CBK_OK ? status : infer_ternary(inference);
}

static const struct cbk_row ternary_rows[] = {
    CBK_ROW(CBK_OP_WHERE, "where", 3, 0, SMOOTH, CBK_STORED, infer_where),
    CBK_ROW(CBK_OP_MASK_FILL, "mask_fill", 2, sizeof(cbk_scalar_params), SMOOTH | CBK_ROW_UPDATE,
            CBK_STORED, infer_mask_fill),
    CBK_ROW(CBK_OP_CLAMP, "clamp", 1, sizeof(cbk_clamp_params), SMOOTH, CBK_NUMBERS, infer_clamp),
    CBK_ROW(CBK_OP_LERP, "lerp", 3, 0, SMOOTH, CBK_FLOATS, infer_ternary),
    CBK_ROW(CBK_OP_LERP_SCALAR, "lerp_scalar", 2, sizeof(cbk_scalar_params), SMOOTH, CBK_FLOATS,
            infer_lerp_scalar),
    CBK_ROW(CBK_OP_ADDCMUL, "addcmul", 3, sizeof(cbk_scalar_params), SMOOTH, CBK_FLOATS,
            infer_add_scaled),
    CBK_ROW(CBK_OP_ADDCDIV, "addcdiv", 3, sizeof(cbk_scalar_params), SMOOTH, CBK_FLOATS,
            infer_add_scaled),
};
CBK_FAMILY(cbk_ternary_family, ternary_rows);

static cbk_status infer_cast(struct cbk_inference *inference) {
    cbk_dtype dtype = inference->params.cast.dtype;
    cbk_status status = cbk_infer_dtype(inference, cbk_input(inference, 0)->dtype);
    if (status == CBK_OK) status = cbk_check_storable(dtype);
    return status != CBK_OK ? status : cbk_infer_pointwise(inference, dtype);
}

static const struct cbk_row cast_rows[] = {
    CBK_ROW(CBK_OP_CAST, "cast", 1, sizeof(cbk_cast_params), SMOOTH, CBK_STORED, infer_cast),
};
CBK_FAMILY(cbk_cast_family, cast_rows);
