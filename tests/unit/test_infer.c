// test_infer.c: shape, dtype and refusals of every family that is not a view; messages carry the
// values.
#include "mock_backend.h"
#include "support.h"

#include <cubeback/opcodes.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mock mock;

static int open_mock(void **state) {
    (void)state;
    mock_init(&mock);
    mock_open(&mock);
    return 0;
}

static int close_mock(void **state) {
    (void)state;
    mock_close(&mock);
    return mock.storages == 0 && mock.destroyed == 1 ? 0 : -1;
}

enum {
    F64 = CBK_DTYPE_F64,
    F32 = CBK_DTYPE_F32,
    F16 = CBK_DTYPE_F16,
    BF16 = CBK_DTYPE_BF16,
    FLEX = CBK_DTYPE_FLEX32,
    E4M3 = CBK_DTYPE_F8E4M3,
    I64 = CBK_DTYPE_I64,
    I32 = CBK_DTYPE_I32,
    I8 = CBK_DTYPE_I8,
    U8 = CBK_DTYPE_U8,
    BOOL = CBK_DTYPE_BOOL,
    BOOL32 = CBK_DTYPE_BOOL32,
};

/// One operation: inputs written as "f32[2,3] i64[4]", result as "f32[2,4]" or as a part of the
/// message of `status`. Of several results only the first is looked at.
struct row {
    cbk_opcode opcode;
    const char *inputs;
    cbk_status status;
    const char *result;
    uint32_t params_size;
    union {
        uint32_t struct_size;
        cbk_activation_params activation;
        cbk_bool_params boolean;
        cbk_scalar_params scalar;
        cbk_compare_params compare;
        cbk_clamp_params clamp;
        cbk_close_params close;
        cbk_cast_params cast;
        cbk_create_params create;
        cbk_eye_params eye;
        cbk_window_params window;
        cbk_offset_params offset;
        cbk_slice_params slice;
        cbk_axis_params axis;
        cbk_reduce_params reduce;
        cbk_variance_params variance;
        cbk_norm_params norm;
        cbk_layer_norm_params layer_norm;
        cbk_matmul_params matmul;
        cbk_index_params index;
        cbk_random_params random;
        cbk_scan_params scan;
        cbk_pad_params pad;
        cbk_embedding_backward_params embedding_backward;
        cbk_one_hot_params one_hot;
        cbk_grid_sample_params grid_sample;
        cbk_categorical_params categorical;
        cbk_roll_params roll;
        cbk_sort_params sort;
        cbk_topk_params topk;
        cbk_median_params median;
        cbk_quantile_params quantile;
    } params;
};

#define OK(op, inputs, result)                                                                     \
    {                                                                                              \
        CBK_OP_##op, inputs, CBK_OK, result, 0, {                                                  \
            0                                                                                      \
        }                                                                                          \
    }
#define NO(op, inputs, status, message)                                                            \
    {                                                                                              \
        CBK_OP_##op, inputs, CBK_ERROR_##status, message, 0, {                                     \
            0                                                                                      \
        }                                                                                          \
    }
#define WITH(member, ...)                                                                          \
    sizeof(((struct row *)0)->params.member), {                                                    \
        .member = { sizeof(((struct row *)0)->params.member), __VA_ARGS__ }                        \
    }
#define OK_WITH(op, inputs, result, ...)                                                           \
    { CBK_OP_##op, inputs, CBK_OK, result, __VA_ARGS__ }
#define NO_WITH(op, inputs, status, message, ...)                                                  \
    { CBK_OP_##op, inputs, CBK_ERROR_##status, message, __VA_ARGS__ }

#define INT_SCALAR(value)                                                                          \
    {                                                                                              \
        CBK_SCALAR_INT, 0, {                                                                       \
            .i = (value)                                                                           \
        }                                                                                          \
    }
#define FLOAT_SCALAR(value)                                                                        \
    {                                                                                              \
        CBK_SCALAR_FLOAT, 0, {                                                                     \
            .f = (value)                                                                           \
        }                                                                                          \
    }
#define NO_SCALAR                                                                                  \
    {                                                                                              \
        0, 0, {                                                                                    \
            0                                                                                      \
        }                                                                                          \
    }

static const struct row rows[] = {
    // unary
    OK(NEG, "f32[2,3]", "f32[2,3]"),
    OK(NEG, "u8[]", "u8[]"),
    NO(NEG, "bool[2]", DTYPE, "neg: dtype is bool (32); accepted are floats and ints"),
    NO(EXP, "i32[2]", DTYPE, "exp: dtype is i32 (17); accepted are floats"),
    NO(EXP, "f8e4m3[2]", DTYPE, "accepted are floats"),
    OK(FLOOR, "i32[2]", "i32[2]"),
    OK(BITWISE_NOT, "bool[2]", "bool[2]"),
    NO(BITWISE_NOT, "f32[2]", DTYPE, "ints and bools"),
    OK(LOGICAL_NOT, "f32[2]", "bool[2]"),
    OK(LOGICAL_NOT, "bool32[2]", "bool32[2]"),
    OK_WITH(IS_NAN, "f16[2]", "bool32[2]", WITH(boolean, BOOL32)),
    NO_WITH(IS_NAN, "f16[2]", DTYPE, "out_dtype is f32", WITH(boolean, F32)),
    OK_WITH(GELU, "f16[2]", "f16[2]", WITH(activation, CBK_GELU_TANH, NO_SCALAR, NO_SCALAR)),
    NO_WITH(GELU, "f16[2]", INVALID_ARGUMENT, "variant 2",
            WITH(activation, 2, NO_SCALAR, NO_SCALAR)),
    NO_WITH(ELU, "f16[2]", INVALID_ARGUMENT, "variant 1",
            WITH(activation, 1, NO_SCALAR, NO_SCALAR)),
    NO_WITH(ELU, "f16[2]", INVALID_ARGUMENT, "alpha has kind 9",
            WITH(activation, 0, {9, 0, {0}}, NO_SCALAR)),
    NO_WITH(HARDTANH, "f32[2]", INVALID_ARGUMENT, "beta has kind 9",
            WITH(activation, 0, NO_SCALAR, {9, 0, {0}})),
    NO(RELU6, "i32[2]", DTYPE, "relu6: dtype is i32 (17); accepted are floats"),

    // gradients of activations
    OK(RELU_BACKWARD, "f32[2,3] f32[3]", "f32[2,3]"),
    OK(GELU_BACKWARD, "bf16[2] bf16[]", "bf16[2]"),
    NO(SILU_BACKWARD, "f32[2] f16[2]", DTYPE, "silu_backward: input 0 is f32, input 1 is f16"),
    NO(SILU_BACKWARD, "i32[2] i32[2]", DTYPE, "accepted are floats"),
    NO(MISH_BACKWARD, "f32[2] f32[3]", SHAPE, "do not broadcast"),
    NO_WITH(GELU_BACKWARD, "f32[2] f32[2]", INVALID_ARGUMENT, "variant 2",
            WITH(activation, 2, NO_SCALAR, NO_SCALAR)),
    NO_WITH(TANH_BACKWARD, "f32[2] f32[2]", INVALID_ARGUMENT, "variant 1",
            WITH(activation, 1, NO_SCALAR, NO_SCALAR)),
    NO_WITH(ELU_BACKWARD, "f32[2] f32[2]", INVALID_ARGUMENT, "alpha has kind 9",
            WITH(activation, 0, {9, 0, {0}}, NO_SCALAR)),

    // binary and comparison
    OK(ADD, "f32[2,3] f32[3]", "f32[2,3]"),
    OK(ADD, "f32[3] f32[2,1]", "f32[2,3]"),
    OK(ADD, "f32[1] f32[0]", "f32[0]"),
    OK(ADD, "f32[] f32[4,1,2]", "f32[4,1,2]"),
    OK(ADD, "f32[5,1,4,1] f32[3,1,2]", "f32[5,3,4,2]"),
    NO(ADD, "f32[2,3] f32[2]", SHAPE,
       "add: input 1 is [2], those before it [2,3]: lengths 2 and 3 of "
       "axis 1 do not broadcast"),
    NO(ADD, "f32[0] f32[2]", SHAPE, "lengths 2 and 0 of axis 0"),
    NO(ADD, "f32[2] f64[2]", DTYPE, "add: input 0 is f32, input 1 is f64: dtypes must agree"),
    NO(ADD, "f32[2] flex32[2]", DTYPE, "dtypes must agree"),
    NO(ADD, "bool[2] bool[2]", DTYPE, "floats and ints"),
    OK(BITWISE_XOR, "bool[2] bool[2]", "bool[2]"),
    NO(SHIFT_LEFT, "bool[2] bool[2]", DTYPE, "accepted are ints"),
    NO(ATAN2, "i32[2] i32[2]", DTYPE, "accepted are floats"),
    OK(LOGICAL_XOR, "bool32[2] bool32[2]", "bool32[2]"),
    NO(LOGICAL_AND, "u8[2] u8[2]", DTYPE, "accepted are bools"),
    OK(LESS, "i8[2] i8[1]", "bool[2]"),
    OK(EQUAL, "bool[2] bool[2]", "bool[2]"),
    NO(LESS, "bool[2] bool[2]", DTYPE, "floats and ints"),
    OK_WITH(LESS_SCALAR, "f32[2]", "bool32[2]", WITH(compare, BOOL32, FLOAT_SCALAR(1))),
    NO(LESS_SCALAR, "f32[2]", INVALID_ARGUMENT, "less_scalar: scalar has kind 0"),
    OK_WITH(POW_SCALAR, "i64[2]", "i64[2]", WITH(scalar, 1, INT_SCALAR(2))),
    NO_WITH(POW_SCALAR, "i64[2]", INVALID_ARGUMENT, "reversed is 2",
            WITH(scalar, 2, INT_SCALAR(2))),
    NO(ADD_SCALAR, "i64[2]", INVALID_ARGUMENT, "left out"),
    OK(FMOD, "i8[2] i8[2]", "i8[2]"),
    NO(PRELU, "i8[2] i8[2]", DTYPE, "accepted are floats"),
    OK(GLU, "f16[2] f16[2,1]", "f16[2,2]"),
    OK(GLU_BACKWARD, "f16[2] f16[2,1] f16[]", "f16[2,2]"),
    NO(GLU_BACKWARD, "f16[2] f16[2] f32[2]", DTYPE, "input 0 is f16, input 2 is f32"),
    OK(PRELU_BACKWARD, "f64[2,3] f64[2,1] f64[2,3]", "f64[2,3]"),
    NO(PRELU_BACKWARD, "f32[2] f32[3] f32[2]", SHAPE, "do not broadcast"),
    OK(IS_CLOSE, "f16[2] f16[2,1]", "bool[2,2]"),
    NO(IS_CLOSE, "i32[2] i32[2]", DTYPE, "accepted are floats"),
    NO_WITH(IS_CLOSE, "f32[2] f32[2]", INVALID_ARGUMENT, "equal_nan is 2",
            WITH(close, 0, NO_SCALAR, NO_SCALAR, 2)),

    // ternary, cast
    OK(LERP, "f32[2] f32[3,1] f32[]", "f32[3,2]"),
    NO(LERP, "f32[2] f32[2] f16[2]", DTYPE, "input 0 is f32, input 2 is f16"),
    NO(LERP_SCALAR, "f32[2] f32[2]", INVALID_ARGUMENT, "weight has kind 0"),
    OK(ADDCMUL, "f32[2] f32[2] f32[2]", "f32[2]"),
    NO(ADDCDIV, "i32[2] i32[2] i32[2]", DTYPE, "accepted are floats"),
    OK(WHERE, "bool[2,1] f8e4m3[3] f8e4m3[]", "f8e4m3[2,3]"),
    OK(WHERE, "bool32[2] bool[2] bool[2]", "bool[2]"),
    NO(WHERE, "u8[2] f32[2] f32[2]", DTYPE, "where: mask is u8 (27); accepted are bools"),
    NO(WHERE, "bool[2] f32[2] i32[2]", DTYPE, "input 1 is f32, input 2 is i32"),
    NO(WHERE, "bool[2] f32[3] f32[3]", SHAPE, "do not broadcast"),
    OK_WITH(MASK_FILL, "f32[2,3] bool[3]", "f32[2,3]", WITH(scalar, 0, FLOAT_SCALAR(-1))),
    OK_WITH(MASK_FILL, "f32[3] bool[2,1]", "f32[2,3]", WITH(scalar, 0, FLOAT_SCALAR(-1))),
    NO(MASK_FILL, "f32[2] bool[2]", INVALID_ARGUMENT, "value has kind 0"),
    OK(CLAMP, "f32[2]", "f32[2]"),
    NO_WITH(CLAMP, "f32[2]", INVALID_ARGUMENT, "kinds 0 and 7",
            WITH(clamp, 0, NO_SCALAR, {7, 0, {0}})),
    NO(CLAMP, "bool[2]", DTYPE, "floats and ints"),
    OK_WITH(CAST, "bool[2]", "f8e4m3[2]", WITH(cast, E4M3)),
    NO(CAST, "bool[2]", DTYPE, "dtype unknown (0)"),
    NO_WITH(CAST, "bool[2]", DTYPE, "native bool", WITH(cast, CBK_DTYPE_BOOL_NATIVE)),
    NO_WITH(CAST, "bool[2]", UNSUPPORTED, "quant", WITH(cast, CBK_DTYPE_QUANT)),

    // creation
    OK(FILL, "", "f32[]"),
    OK_WITH(FILL, "", "bool[2,0]", WITH(create, BOOL, 2, 0, {2, 0}, INT_SCALAR(1), NO_SCALAR)),
    NO(ARANGE, "", SHAPE, "rank is 0"),
    OK_WITH(ARANGE, "", "i64[5]", WITH(create, 0, 1, 0, {5}, NO_SCALAR, NO_SCALAR)),
    NO_WITH(ARANGE, "", SHAPE, "length -5", WITH(create, 0, 1, 0, {-5}, NO_SCALAR, NO_SCALAR)),
    NO_WITH(ARANGE, "", DTYPE, "bool", WITH(create, BOOL, 1, 0, {5}, NO_SCALAR, NO_SCALAR)),
    OK_WITH(EYE, "", "f32[2,3]", WITH(eye, 0, 2, 3, -1)),
    OK_WITH(EYE, "", "bool[0,3]", WITH(eye, BOOL, 0, 3, 0)),
    NO_WITH(EYE, "", SHAPE, "length -2", WITH(eye, 0, -2, 3, 0)),
    OK_WITH(LINSPACE, "", "f32[5]", WITH(create, 0, 1, 0, {5}, NO_SCALAR, NO_SCALAR)),
    NO_WITH(LINSPACE, "", SHAPE, "rank is 2, linspace makes rank 1",
            WITH(create, 0, 2, 0, {5, 1}, NO_SCALAR, NO_SCALAR)),
    NO_WITH(LINSPACE, "", DTYPE, "accepted are floats",
            WITH(create, CBK_DTYPE_I32, 1, 0, {5}, NO_SCALAR, NO_SCALAR)),
    OK_WITH(WINDOW, "", "f16[5]", WITH(window, CBK_DTYPE_F16, 5, CBK_WINDOW_BLACKMAN, 1)),
    NO_WITH(WINDOW, "", INVALID_ARGUMENT, "window 3 with symmetric 0", WITH(window, 0, 5, 3, 0)),
    NO_WITH(WINDOW, "", INVALID_ARGUMENT, "symmetric 2", WITH(window, 0, 5, 0, 2)),
    NO_WITH(WINDOW, "", SHAPE, "length -5", WITH(window, 0, -5, 0, 0)),

    // moves
    OK_WITH(TRIL, "i8[4,2]", "i8[4,2]", WITH(offset, 0, -1)),
    NO(TRIU, "i8[4]", SHAPE, "triu: a tensor of rank 1 has no last two axes"),
    OK_WITH(DIAG_EMBED, "i8[4,2]", "i8[4,5,5]", WITH(offset, 0, -3)),
    NO(DIAG_EMBED, "i8[]", SHAPE, "x has rank 0"),
    NO_WITH(DIAG_EMBED, "i8[4]", OVERFLOW, "a diagonal of 4 elements", WITH(offset, 0, INT64_MIN)),
    OK(CROSS, "f32[3,1] f32[3,5]", "f32[3,5]"),
    NO(CROSS, "f32[2,4] f32[2,4]", SHAPE, "axis 0 must have length 3 in both"),
    NO(CROSS, "f32[3] f32[1]", SHAPE, "cross: a is [3], b is [1]"),
    NO_WITH(CROSS, "f32[3] f32[3]", AXIS, "axis 1", WITH(axis, 1)),
    NO(CROSS, "bool[3] bool[3]", DTYPE, "accepted are floats and ints"),
    OK(COPY, "f8e4m3[2,3]", "f8e4m3[2,3]"),
    OK_WITH(SLICE_ASSIGN, "i8[4] i8[2]", "i8[4]", WITH(slice, 1, {1}, {4}, {-2})),
    NO_WITH(SLICE_ASSIGN, "i8[4] i8[1]", SHAPE, "the slice is [2], the value [1]",
            WITH(slice, 1, {1}, {4}, {-2})),
    NO(SLICE_ASSIGN, "i8[4] u8[4]", DTYPE, "agree"),
    NO_WITH(SLICE_ASSIGN, "i8[4] i8[4]", AXIS, "2 axes are sliced of a tensor of rank 1",
            WITH(slice, 2, {0}, {4}, {1})),
    OK(CAT, "f32[2,3] f32[0,3] f32[1,3]", "f32[3,3]"),
    OK_WITH(CAT, "f32[2,3] f32[2,4]", "f32[2,7]", WITH(axis, -1)),
    OK(CAT, "bool[2]", "bool[2]"),
    NO(CAT, "f32[2,3] f32[2,4]", SHAPE,
       "member 0 is [2,3], member 1 is [2,4]: they may differ on axis 0 alone"),
    NO(CAT, "f32[2] f32[2,4]", SHAPE, "member 1 is [2,4]"),
    NO(CAT, "f32[2] f16[2]", DTYPE, "agree"),
    NO(CAT, "f32[] f32[]", AXIS, "axis 0 of a tensor of rank 0"),
    NO(CAT, "", INVALID_ARGUMENT, "cat: 0 inputs; it takes at least 1"),
    OK(PAD, "f8e4m3[2,3]", "f8e4m3[2,3]"),
    OK_WITH(PAD, "i8[2,0]", "i8[5,4]", WITH(pad, CBK_PAD_CONSTANT, {1, 4}, {2, 0}, NO_SCALAR)),
    OK_WITH(PAD, "i8[3]", "i8[7]", WITH(pad, CBK_PAD_REFLECT, {2}, {2}, NO_SCALAR)),
    NO_WITH(PAD, "i8[3]", SHAPE,
            "pad: axis 0 of length 3, 0 before and 3 after: a reflection is shorter",
            WITH(pad, CBK_PAD_REFLECT, {0}, {3}, NO_SCALAR)),
    NO_WITH(PAD, "i8[0]", SHAPE, "nothing to repeat", WITH(pad, CBK_PAD_EDGE, {1}, {0}, NO_SCALAR)),
    NO_WITH(PAD, "i8[4]", SHAPE, "nothing can be taken away", WITH(pad, 0, {-1}, {0}, NO_SCALAR)),
    NO_WITH(PAD, "i8[4]", SHAPE, "axis 1 of length 0, 1 before and 0 after: there is no axis",
            WITH(pad, 0, {0, 1}, {0}, NO_SCALAR)),
    NO_WITH(PAD, "i8[4]", OVERFLOW, "axis 0 would be longer",
            WITH(pad, 0, {INT64_MAX}, {0}, NO_SCALAR)),
    NO_WITH(PAD, "i8[4]", INVALID_ARGUMENT, "mode 4", WITH(pad, 4, {0}, {0}, NO_SCALAR)),
    NO_WITH(PAD, "i8[4]", INVALID_ARGUMENT, "value has kind 9",
            WITH(pad, 0, {0}, {0}, {9, 0, {0}})),
    OK_WITH(ROLL, "bool[4,0]", "bool[4,0]", WITH(roll, 2, {1, -2}, {5, INT64_MIN})),
    NO_WITH(ROLL, "f32[4,2]", AXIS, "roll: axis 1 is named twice", WITH(roll, 2, {1, -1}, {1, 1})),
    NO_WITH(ROLL, "f32[4]", AXIS, "2 axes are rolled of a tensor of rank 1",
            WITH(roll, 2, {0, 1}, {0})),

    // scans
    OK_WITH(CUMSUM, "f32[2,3]", "f32[2,3]", WITH(scan, -1, 0, 0, 0)),
    OK_WITH(CUMSUM, "i8[2,0]", "i64[2,0]", WITH(scan, 1, 1, 1, I64)),
    OK_WITH(CUMPROD, "bf16[3]", "f32[3]", WITH(scan, 0, 0, 0, F32)),
    NO_WITH(CUMSUM, "f32[3]", DTYPE, "out_dtype is i32", WITH(scan, 0, 0, 0, I32)),
    NO_WITH(CUMMAX, "f16[3]", DTYPE, "out_dtype is f32", WITH(scan, 0, 0, 0, F32)),
    NO_WITH(CUMSUM, "f32[2,3]", AXIS, "cumsum: axis 2 of a tensor of rank 2",
            WITH(scan, 2, 0, 0, 0)),
    NO_WITH(CUMMIN, "f32[3]", INVALID_ARGUMENT, "exclusive is 2", WITH(scan, 0, 2, 0, 0)),
    NO_WITH(CUMMIN, "f32[3]", INVALID_ARGUMENT, "reversed is 3", WITH(scan, 0, 0, 3, 0)),
    NO(CUMSUM, "bool[3]", DTYPE, "cumsum: dtype is bool"),
    OK_WITH(LOGCUMSUMEXP, "bf16[0,3]", "bf16[0,3]", WITH(scan, -1, 1, 1, 0)),
    NO_WITH(LOGCUMSUMEXP, "f16[3]", DTYPE, "out_dtype is f32", WITH(scan, 0, 0, 0, F32)),
    NO(LOGCUMSUMEXP, "i64[3]", DTYPE, "accepted are floats"),

    // sorting
    OK_WITH(SORT, "f32[2,3]", "f32[2,3]", WITH(sort, -1, 1, 0)),
    OK_WITH(ARGSORT, "bool[2,0]", "i64[2,0]", WITH(sort, 1, 0, 0)),
    OK_WITH(ARGSORT, "f16[200]", "u8[200]", WITH(sort, 0, 0, U8)),
    NO_WITH(ARGSORT, "f16[200]", OVERFLOW, "index 199 does not fit out_dtype i8",
            WITH(sort, 0, 0, I8)),
    NO_WITH(ARGSORT, "f16[2]", DTYPE, "out_dtype is f32", WITH(sort, 0, 0, F32)),
    NO_WITH(SORT, "f32[2,3]", AXIS, "sort: axis 2 of a tensor of rank 2", WITH(sort, 2, 0, 0)),
    NO_WITH(SORT, "f32[2]", INVALID_ARGUMENT, "descending is 2", WITH(sort, 0, 2, 0)),
    NO(SORT, "f8e4m3[2]", DTYPE, "sort: dtype is f8e4m3"),
    OK_WITH(TOPK, "f32[2,3]", "f32[2,2]", WITH(topk, 1, 2, 0, 0)),
    OK_WITH(ARGTOPK, "f32[2,3]", "i32[0,3]", WITH(topk, 0, 0, 0, I32)),
    NO_WITH(TOPK, "f32[2,3]", SHAPE, "topk: k is 4 for an axis of length 3",
            WITH(topk, 1, 4, 0, 0)),
    NO_WITH(TOPK, "f32[2,3]", SHAPE, "k is -1", WITH(topk, 1, -1, 0, 0)),
    NO_WITH(TOPK, "f32[0,3]", SHAPE, "axis 0 of [0,3] is empty: it has no topk",
            WITH(topk, 0, 0, 0, 0)),
    NO_WITH(TOPK, "f32[3]", INVALID_ARGUMENT, "ascending is 2", WITH(topk, 0, 1, 2, 0)),
    OK_WITH(MEDIAN, "i8[2,3]", "i8[2,1]", WITH(median, 1, 0)),
    OK_WITH(MEDIAN, "f32[2,3]", "f32[3]", WITH(median, 0, 1)),
    NO_WITH(MEDIAN, "f32[2,0]", SHAPE, "it has no median", WITH(median, 1, 0)),
    NO_WITH(MEDIAN, "bool[2]", DTYPE, "median: dtype is bool", WITH(median, 0, 0)),
    OK_WITH(QUANTILE, "f16[2,3]", "f16[2,1]", WITH(quantile, 1, 0, 0, 0, 0, {0.5})),
    OK_WITH(QUANTILE, "f64[2,3]", "f64[2,3]", WITH(quantile, 0, 1, 4, 2, 0, {0.5, 1})),
    NO_WITH(QUANTILE, "f32[2]", INVALID_ARGUMENT, "q[1] is 1.5, outside 0 .. 1",
            WITH(quantile, 0, 0, 0, 2, 0, {0.5, 1.5})),
    NO_WITH(QUANTILE, "f32[2]", INVALID_ARGUMENT, "interpolation is 5",
            WITH(quantile, 0, 0, 5, 0, 0, {0.5})),
    NO_WITH(QUANTILE, "f32[2]", INVALID_ARGUMENT, "9 quantiles are over 8",
            WITH(quantile, 0, 0, 0, 9, 0, {0.5})),
    NO_WITH(QUANTILE, "i32[2]", DTYPE, "quantile: dtype is i32", WITH(quantile, 0)),

    // reductions
    OK(SUM, "f32[2,3]", "f32[]"),
    OK(SUM, "f32[]", "f32[]"),
    OK_WITH(SUM, "f32[2,3]", "f32[2,1]", WITH(reduce, 1, {-1}, 0, 0)),
    OK_WITH(SUM, "f32[2,3,4]", "f32[3]", WITH(reduce, 2, {2, 0}, 1, 0)),
    OK_WITH(SUM, "f32[2,3]", "f32[1,1]", WITH(reduce, 2, {0, 1}, 0, 0)),
    OK_WITH(SUM, "i8[2,3]", "i64[]", WITH(reduce, 0, {0}, 0, I64)),
    OK_WITH(SUM, "f16[2,3]", "f32[]", WITH(reduce, 0, {0}, 0, F32)),
    NO_WITH(SUM, "f16[2,3]", DTYPE, "out_dtype is i32", WITH(reduce, 0, {0}, 0, I32)),
    NO_WITH(MAX, "f16[2,3]", DTYPE, "out_dtype is f32", WITH(reduce, 0, {0}, 0, F32)),
    NO_WITH(SUM, "f32[2,3]", AXIS, "sum: axis 2 of a tensor of rank 2", WITH(reduce, 1, {2}, 0, 0)),
    NO_WITH(SUM, "f32[2,3]", AXIS, "axis 1 is named twice", WITH(reduce, 2, {1, -1}, 0, 0)),
    NO_WITH(SUM, "f32[2,3]", AXIS, "3 axes", WITH(reduce, 3, {0, 1, 2}, 0, 0)),
    NO_WITH(SUM, "f32[2]", INVALID_ARGUMENT, "drop_axes is 2", WITH(reduce, 0, {0}, 2, 0)),
    NO(SUM, "bool[2]", DTYPE, "floats and ints"),
    OK(SUM, "f32[0]", "f32[]"),
    OK(PROD, "i32[0,3]", "i32[]"),
    OK(MEAN, "f32[0]", "f32[]"),
    NO(MEAN, "i32[0]", SHAPE, "mean: i32 is [0]: there is no mean of no elements"),
    NO(MAX, "f32[2,0]", SHAPE, "no max of no elements"),
    NO(ARGMIN, "f32[0]", SHAPE, "no argmin of no elements"),
    NO_WITH(MIN, "f32[0,0]", SHAPE, "no elements", WITH(reduce, 1, {1}, 0, 0)),
    OK_WITH(MIN, "f32[0,3]", "f32[0,1]", WITH(reduce, 1, {1}, 0, 0)),
    OK_WITH(SUM, "f32[0,3]", "f32[1,3]", WITH(reduce, 1, {0}, 0, 0)),
    OK(ARGMAX, "f16[2,3]", "i64[]"),
    OK_WITH(ARGMAX, "i32[2,3]", "u8[3]", WITH(reduce, 1, {0}, 1, U8)),
    NO_WITH(ARGMAX, "f32[200]", OVERFLOW, "index 199 does not fit out_dtype i8",
            WITH(reduce, 0, {0}, 0, I8)),
    OK_WITH(ARGMAX, "f32[128]", "i8[]", WITH(reduce, 0, {0}, 0, I8)),
    NO_WITH(ARGMAX, "f32[2]", DTYPE, "out_dtype is f32", WITH(reduce, 0, {0}, 0, F32)),
    OK(ANY, "f32[0]", "bool[]"),
    OK(ALL, "bool32[2]", "bool32[]"),
    NO_WITH(ALL, "bool32[2]", DTYPE, "out_dtype is i32", WITH(reduce, 0, {0}, 0, I32)),
    OK(COUNT_NONZERO, "bool[2,0]", "i64[]"),
    OK_WITH(COUNT_NONZERO, "f16[2,255]", "u8[2]", WITH(reduce, 1, {1}, 1, U8)),
    NO_WITH(COUNT_NONZERO, "bool[128]", OVERFLOW, "a count of 128 does not fit out_dtype i8",
            WITH(reduce, 0, {0}, 0, I8)),
    NO_WITH(COUNT_NONZERO, "bool[2]", DTYPE, "out_dtype is bool", WITH(reduce, 0, {0}, 0, BOOL)),
    NO(COUNT_NONZERO, "f8e4m3[2]", DTYPE, "floats, ints and bools"),
    OK_WITH(VAR, "f16[2,3]", "f16[2,1]", WITH(variance, 1, {1}, 0, 0, 1)),
    OK_WITH(VAR, "f16[2,0]", "f32[2]", WITH(variance, 1, {1}, 1, F32, 0)),
    NO(VAR, "i32[2,3]", DTYPE, "var: dtype is i32"),
    NO_WITH(STD, "f32[2,3]", INVALID_ARGUMENT, "correction is -1",
            WITH(variance, 0, {0}, 0, 0, -1)),
    OK(NORM, "f32[2,3]", "f32[]"),
    OK_WITH(NORM, "f32[0,3]", "f32[1,3]", WITH(norm, 1, {0}, 0, 0, INT_SCALAR(3))),
    NO_WITH(NORM, "f32[0,3]", SHAPE, "no norm of no elements",
            WITH(norm, 1, {0}, 0, 0, FLOAT_SCALAR(-1.0))),
    NO_WITH(NORM, "f32[3]", INVALID_ARGUMENT, "p has kind 9", WITH(norm, 0, {0}, 0, 0, {9})),
    NO(NORM, "u8[3]", DTYPE, "u8"),
    OK_WITH(LOGSUMEXP, "bf16[2,0]", "bf16[2]", WITH(reduce, 1, {1}, 1, 0)),
    NO(LOGSUMEXP, "i32[3]", DTYPE, "i32"),
    OK(MAX_ABS, "i8[3]", "i8[]"),
    NO(MIN_ABS, "f32[0]", SHAPE, "no min_abs of no elements"),
    NO_WITH(MAX_ABS, "f16[2,3]", DTYPE, "out_dtype is f32", WITH(reduce, 0, {0}, 0, F32)),

    OK(GRID_SAMPLE, "f16[2,3,4,5] f16[2,0,7,2]", "f16[2,3,0,7]"),
    NO(GRID_SAMPLE, "f32[2,3,0,5] f32[2,6,7,2]", SHAPE, "with elements"),
    NO(GRID_SAMPLE, "f32[2,3,4,5] f32[1,6,7,2]", SHAPE, "grid [1,6,7,2]"),
    NO(GRID_SAMPLE, "f32[2,3,4,5] f64[2,6,7,2]", DTYPE, "agree"),
    NO(GRID_SAMPLE, "u8[2,3,4,5] u8[2,6,7,2]", DTYPE, "accepted are floats"),
    NO_WITH(GRID_SAMPLE, "f32[1,1,1,1] f32[1,1,1,2]", INVALID_ARGUMENT, "mode 3",
            WITH(grid_sample, 3, 0, 0)),
    NO_WITH(GRID_SAMPLE, "f32[1,1,1,1] f32[1,1,1,2]", INVALID_ARGUMENT, "align_corners is 2",
            WITH(grid_sample, 0, 0, 2)),
    OK(GRID_SAMPLE_X_BACKWARD, "f16[2,3,4,5] f16[2,6,7,2] f16[2,3,6,7]", "f16[2,3,4,5]"),
    OK(GRID_SAMPLE_GRID_BACKWARD, "f16[2,3,4,5] f16[2,6,7,2] f16[2,3,6,7]", "f16[2,6,7,2]"),
    NO(GRID_SAMPLE_X_BACKWARD, "f32[2,3,4,5] f32[2,6,7,2] f32[2,3,6]", SHAPE,
       "grad is [2,3,6], the samples are [2,3,6,7]"),
    NO(GRID_SAMPLE_GRID_BACKWARD, "f32[2,3,4,5] f32[2,6,7,2] f32[2,3,4,5]", SHAPE,
       "the samples are [2,3,6,7]"),
    NO(GRID_SAMPLE_GRID_BACKWARD, "f32[2,3,4,5] f32[2,6,7,2] f64[2,3,6,7]", DTYPE, "agree"),
    NO(GRID_SAMPLE_X_BACKWARD, "f32[2,3,4,5] f32[1,6,7,2] f32[2,3,6,7]", SHAPE, "grid [1,6,7,2]"),

    // softmax, matrix product
    OK_WITH(SOFTMAX, "f16[2,0]", "f16[2,0]", WITH(axis, -1)),
    NO(SOFTMAX, "f32[]", AXIS, "rank 0"),
    NO(SOFTMAX, "i32[2]", DTYPE, "softmax: dtype is i32"),
    OK_WITH(QUIET_SOFTMAX, "f64[0,2]", "f64[0,2]", WITH(axis, -2)),
    OK_WITH(SOFTMAX_BACKWARD, "f16[2,3] f16[2,3]", "f16[2,3]", WITH(axis, -1)),
    NO(SOFTMAX_BACKWARD, "f32[2] f32[3]", SHAPE, "the result is [2], its gradient [3]"),
    NO(LOG_SOFTMAX_BACKWARD, "f32[2] f64[2]", DTYPE, "agree"),
    OK(LAYER_NORM, "f16[2,3] f16[3] f16[3]", "f16[2,3]"),
    OK_WITH(LAYER_NORM, "f32[2,3,4] f32[3,4]", "f32[2,3,4]", WITH(layer_norm, 2, 0.5)),
    NO(LAYER_NORM, "f32[2,3] f32[2]", SHAPE, "gamma is [2], x is [2,3]: it must have the last 1"),
    NO(LAYER_NORM, "f32[2,3] f32[3] f16[3]", DTYPE, "agree"),
    NO(LAYER_NORM, "i32[2,3]", DTYPE, "i32"),
    NO(LAYER_NORM, "f32[]", AXIS, "1 axes are normalised of a tensor of rank 0"),
    NO_WITH(RMS_NORM, "f32[3]", INVALID_ARGUMENT, "eps is -1", WITH(layer_norm, 1, -1.0)),
    NO(RMS_NORM_BACKWARD, "f32[2,3] f32[3,2]", SHAPE, "they are [2,3] and [3,2]"),
    OK(BATCH_NORM, "f32[2,3,4] f32[3] f32[3]", "f32[2,3,4]"),
    NO(BATCH_NORM, "f32[3] f32[3] f32[3]", SHAPE, "rank 2 or more"),
    NO(BATCH_NORM, "f32[2,3] f32[3] f32[2]", SHAPE, "x is [2,3], var is [2]: it must be [3]"),
    OK(MATMUL, "f32[4,3] f32[3,5]", "f32[4,5]"),
    OK(MATMUL, "f32[2,1,4,3] f32[6,3,5]", "f32[2,6,4,5]"),
    OK(MATMUL, "i8[4,0] i8[0,5]", "i8[4,5]"),
    OK(MATMUL, "f32[0,4,3] f32[1,3,5]", "f32[0,4,5]"),
    OK_WITH(MATMUL, "i8[1,2] i8[2,1]", "i32[1,1]", WITH(matmul, 0, I32, 0)),
    OK_WITH(MATMUL, "bf16[1,2] bf16[2,1]", "f32[1,1]", WITH(matmul, 0, F32, 0)),
    NO_WITH(MATMUL, "i8[1,2] i8[2,1]", DTYPE, "out_dtype is f32", WITH(matmul, 0, F32, 0)),
    NO_WITH(MATMUL, "f32[1,2] f32[2,1]", INVALID_ARGUMENT, "precision 9", WITH(matmul, 9, 0, 0)),
    NO(MATMUL, "f32[4,3] f32[5,2]", SHAPE,
       "matmul: a is [4,3], b is [5,2]: inner lengths 3 and 5 differ"),
    NO(MATMUL, "f32[2,4,3] f32[3,3,2]", SHAPE, "batch lengths 2 and 3 differ"),
    NO(MATMUL, "f32[3] f32[3,2]", SHAPE, "both need rank 2 or more"),
    NO(MATMUL, "f32[3,3] f16[3,3]", DTYPE, "agree"),
    NO(MATMUL, "bool[3,3] bool[3,3]", DTYPE, "floats, 8-bit floats and ints"),
    OK(MATMUL, "f8e4m3[2,3] f8e4m3[3,4]", "bf16[2,4]"),
    OK_WITH(MATMUL, "f8e4m3[2,3] f8e4m3[3,4]", "f32[2,4]", WITH(matmul, 0, F32, 0)),
    NO_WITH(MATMUL, "f8e4m3[2,3] f8e4m3[3,4]", DTYPE, "out_dtype is f8e4m3",
            WITH(matmul, 0, E4M3, 0)),
    OK(MATMUL, "f32[2,4,3] f32[3,5] f32[5]", "f32[2,4,5]"),
    OK(MATMUL, "f32[4,3] f32[3,5] f32[1] f32[4,1]", "f32[4,5]"),
    OK_WITH(MATMUL, "i8[4,3] i8[3,5] i32[5]", "i32[4,5]",
            WITH(matmul, 0, I32, 0, .activation = CBK_OP_RELU)),
    NO(MATMUL, "f32[4,3] f32[3,5] f16[5]", DTYPE, "bias is f16, the result f32"),
    NO(MATMUL, "f32[4,3] f32[3,5] f32[4]", SHAPE,
       "bias is [4], which does not stretch to the result [4,5]"),
    NO(MATMUL, "f32[4,3] f32[3,5] f32[5] f32[2,4,5]", SHAPE,
       "residual is [2,4,5], which does not stretch to the result [4,5]"),
    NO(MATMUL, "f32[4,3] f32[3,1] f32[5]", SHAPE, "bias is [5]"),
    NO_WITH(MATMUL, "f32[4,3] f32[3,5]", INVALID_ARGUMENT, "activation 0x0200 is not one",
            WITH(matmul, 0, 0, 0, .activation = CBK_OP_NEG)),
    NO_WITH(MATMUL, "f32[4,3] f32[3,5]", INVALID_ARGUMENT, "variant 7",
            WITH(matmul, 0, 0, 0, .activation = CBK_OP_GELU, .activation_variant = 7)),
    NO_WITH(MATMUL, "i32[4,3] i32[3,5]", DTYPE, "floats",
            WITH(matmul, 0, 0, 0, .activation = CBK_OP_GELU)),

    // indexing
    OK_WITH(GATHER, "bool[4,3] u8[2,3]", "bool[2,3]", WITH(index, 0, 0, 0)),
    OK_WITH(GATHER, "f32[4,3] i64[2,9]", "f32[2,9]", WITH(index, -1, 0, 0)),
    NO(GATHER, "f32[4,3] i64[2,9]", SHAPE, "gather: x is [4,3], index [2,9], axis 0"),
    NO(GATHER, "f32[4,3] i64[2]", SHAPE, "x's rank"),
    NO(GATHER, "f32[4] f32[2]", DTYPE, "index is f32 (2); accepted are ints"),
    NO(GATHER, "f32[4] bool[2]", DTYPE, "index is bool"),
    NO_WITH(GATHER, "f32[4] i64[2]", AXIS, "axis 1", WITH(index, 1, 0, 0)),
    NO_WITH(GATHER, "f32[4] i64[2]", INVALID_ARGUMENT, "update 1", WITH(index, 0, 1, 0)),
    OK_WITH(SELECT, "f32[4,3] i32[7]", "f32[4,7]", WITH(index, 1, 0, 0)),
    OK_WITH(SELECT, "f32[4,3] i32[]", "f32[4]", WITH(index, 1, 0, 0)),
    OK_WITH(SELECT, "f32[4,3,5] i32[7,1]", "f32[4,7,1,5]", WITH(index, 1, 0, 0)),
    NO(SELECT, "f32[1,1,1,1,1] i32[1,1,1,1,1]", SHAPE, "more than 8 axes"),
    NO(SELECT_ASSIGN, "f32[4,3] i32[7,1] f32[7,1,3]", SHAPE, "index must have rank 1"),
    OK(GATHER_ND, "f32[4,3,5] u8[7,2,1]", "f32[7,2,3,5]"),
    OK(GATHER_ND, "f32[4,3,5] u8[3]", "f32[]"),
    NO(GATHER_ND, "f32[4,3] i32[7,3]", SHAPE,
       "gather_nd: x is [4,3], index [7,3], axis 0: the last axis of index counts axes of x"),
    NO(GATHER_ND, "f32[4,3] i32[7,0]", SHAPE, "counts axes of x"),
    NO(GATHER_ND, "f32[4,3] i32[]", SHAPE, "counts axes of x"),
    NO(GATHER_ND, "f32[1,1,1,1,1] i32[1,1,1,1,1,1]", SHAPE, "more than 8 axes"),
    OK(SCATTER_ND, "bool[4,3] i64[7,1] bool[7,3]", "bool[4,3]"),
    NO(SCATTER_ND, "f32[4,3] i64[7,1] f32[7,4]", SHAPE, "value [7,4], axis 0: value must have"),
    NO_WITH(SCATTER_ND, "f32[4] i64[7,1] f32[7]", INVALID_ARGUMENT, "update 5 with flags 0",
            WITH(index, 0, 5, 0)),
    OK_WITH(SCATTER, "bool[4] i64[7] bool[7]", "bool[4]", WITH(index, 0, CBK_UPDATE_MAX, 0)),
    OK_WITH(SCATTER, "f32[4] i64[7] f32[7]", "f32[4]",
            WITH(index, 0, CBK_UPDATE_ADD, CBK_INDEX_UNORDERED)),
    NO_WITH(GATHER, "f32[4] i64[7]", INVALID_ARGUMENT, "update 0 with flags 1",
            WITH(index, 0, 0, CBK_INDEX_UNORDERED)),
    OK_WITH(EMBEDDING_BACKWARD, "f16[2,3,5] i8[2,3]", "f16[9,5]", WITH(embedding_backward, 0, 9)),
    NO(EMBEDDING_BACKWARD, "f16[2,3,5] i8[2]", SHAPE,
       "embedding_backward: grad is [2,3,5], index [2]: grad has one axis more"),
    NO_WITH(EMBEDDING_BACKWARD, "f16[2,5] i8[2]", INVALID_ARGUMENT, "flags 2",
            WITH(embedding_backward, 2, 9)),
    NO(EMBEDDING_BACKWARD, "bool[2,5] i8[2]", DTYPE, "floats and ints"),
    OK_WITH(ONE_HOT, "u8[2,3]", "i64[2,3,4]", WITH(one_hot, 0, 4, NO_SCALAR, NO_SCALAR)),
    OK_WITH(ONE_HOT, "u8[]", "f16[4]", WITH(one_hot, F16, 4, FLOAT_SCALAR(0.9), NO_SCALAR)),
    OK(ONE_HOT, "u8[3]", "i64[3,0]"),
    NO(ONE_HOT, "f32[3]", DTYPE, "accepted are ints"),
    NO_WITH(ONE_HOT, "u8[3]", SHAPE, "length -1", WITH(one_hot, 0, -1, NO_SCALAR, NO_SCALAR)),
    NO(ONE_HOT, "u8[1,1,1,1,1,1,1,1]", SHAPE, "index has rank 8"),
    OK(SCATTER, "f32[4,3] i32[9,2] f32[9,2]", "f32[4,3]"),
    OK_WITH(SCATTER, "f32[4] i32[9] f32[9]", "f32[4]", WITH(index, 0, CBK_UPDATE_MAX, 0)),
    NO_WITH(SCATTER, "bool[4] i32[9] bool[9]", DTYPE, "x of such an update",
            WITH(index, 0, CBK_UPDATE_ADD, 0)),
    OK(SCATTER, "bool[4] i32[9] bool[9]", "bool[4]"),
    NO_WITH(SCATTER, "f32[4] i32[9] f32[9]", INVALID_ARGUMENT, "update 5", WITH(index, 0, 5, 0)),
    NO(SCATTER, "f32[4] i32[9] f32[8]", SHAPE, "x is [4], index [9], value [8], axis 0"),
    NO(SCATTER, "f32[4] i32[9] f64[9]", DTYPE, "agree"),
    OK(SELECT_ASSIGN, "f32[4,3] u8[7] f32[7,3]", "f32[4,3]"),
    NO(SELECT_ASSIGN, "f32[4,3] u8[7] f32[4,3]", SHAPE, "value must be x"),

    // random
    OK_WITH(RANDOM_UNIFORM, "", "f32[3]", WITH(random, 0, 1, 0, {3}, NO_SCALAR, NO_SCALAR)),
    NO_WITH(RANDOM_UNIFORM, "", INVALID_ARGUMENT, "in order",
            WITH(random, 0, 1, 0, {3}, FLOAT_SCALAR(2), FLOAT_SCALAR(1))),
    NO_WITH(RANDOM_NORMAL, "", INVALID_ARGUMENT, "negative",
            WITH(random, 0, 1, 0, {3}, FLOAT_SCALAR(2), FLOAT_SCALAR(-1))),
    NO_WITH(RANDOM_NORMAL, "", DTYPE, "i32", WITH(random, I32, 1, 0, {3}, NO_SCALAR, NO_SCALAR)),
    OK_WITH(RANDOM_BERNOULLI, "", "bool[3]", WITH(random, 0, 1, 0, {3}, NO_SCALAR, NO_SCALAR)),
    NO_WITH(RANDOM_BERNOULLI, "", INVALID_ARGUMENT, "probability",
            WITH(random, 0, 1, 0, {3}, FLOAT_SCALAR(1.5), NO_SCALAR)),
    OK_WITH(RANDOM_INTEGER, "", "i64[3]", WITH(random, 0, 1, 0, {3}, NO_SCALAR, NO_SCALAR)),
    OK_WITH(RANDOM_INTEGER, "", "i8[3]", WITH(random, I8, 1, 0, {3}, NO_SCALAR, NO_SCALAR)),
    NO_WITH(RANDOM_INTEGER, "", OVERFLOW, "beyond u8",
            WITH(random, U8, 1, 0, {3}, INT_SCALAR(0), INT_SCALAR(257))),
    NO_WITH(RANDOM_INTEGER, "", OVERFLOW, "beyond u8",
            WITH(random, U8, 1, 0, {3}, INT_SCALAR(-1), INT_SCALAR(5))),
    NO_WITH(RANDOM_INTEGER, "", INVALID_ARGUMENT, "low 5 is not below high 5",
            WITH(random, 0, 1, 0, {3}, INT_SCALAR(5), INT_SCALAR(5))),
    OK(RANDOM_CATEGORICAL, "f32[2,5]", "i64[2,1]"),
    OK_WITH(RANDOM_CATEGORICAL, "bf16[0,5]", "u8[0,7]", WITH(categorical, U8, 7, 1, 0)),
    OK_WITH(RANDOM_CATEGORICAL, "f64[5]", "i64[5]", WITH(categorical, 0, 5, 0, 1)),
    NO_WITH(RANDOM_CATEGORICAL, "f32[2,5]", SHAPE, "6 distinct draws from rows of weights [2,5]",
            WITH(categorical, 0, 6, 0, 1)),
    NO_WITH(RANDOM_CATEGORICAL, "f32[5]", SHAPE, "-1 draws", WITH(categorical, 0, -1, 0, 0)),
    NO(RANDOM_CATEGORICAL, "f32[2,0]", SHAPE, "1 draws from rows of weights [2,0]"),
    NO(RANDOM_CATEGORICAL, "f32[]", SHAPE, "1 draws from rows of weights []"),
    NO(RANDOM_CATEGORICAL, "i32[5]", DTYPE, "i32"),
    NO_WITH(RANDOM_CATEGORICAL, "f32[300]", OVERFLOW, "place 299 does not fit",
            WITH(categorical, U8, 1, 0, 0)),
    NO_WITH(RANDOM_CATEGORICAL, "f32[5]", INVALID_ARGUMENT, "logits is 2",
            WITH(categorical, 0, 1, 2, 0)),
};

static cbk_dtype dtype_of(const char *name, size_t length) {
    for (cbk_dtype dtype = 1; dtype < 64; dtype++) {
        const char *candidate = cbk_dtype_name(dtype);
        if (strlen(candidate) == length && strncmp(candidate, name, length) == 0) return dtype;
    }
    fail_msg("dtype in %s", name);
    return 0;
}

/// Makes the tensors that the text lists; returns their number.
static uint32_t parse(const char *text, cbk_tensor **tensors) {
    uint32_t count = 0;
    while (*text != '\0') {
        const char *bracket = strchr(text, '[');
        cbk_dtype dtype = dtype_of(text, (size_t)(bracket - text));
        int64_t shape[CBK_MAX_RANK];
        uint32_t rank = 0;
        char *end = (char *)(uintptr_t)bracket + 1;
        while (*end != ']') {
            shape[rank++] = strtoll(end, &end, 10);
            if (*end == ',') end++;
        }
        assert_ok(cbk_tensor_empty(mock.stream, dtype, rank, shape, &tensors[count++]));
        text = end + 1;
        while (*text == ' ') text++;
    }
    return count;
}

static void describe(const cbk_tensor *tensor, char *text, size_t size) {
    int used = snprintf(text, size, "%s[", cbk_dtype_name(cbk_tensor_dtype(tensor)));
    for (uint32_t i = 0; i < cbk_tensor_rank(tensor); i++) {
        used += snprintf(text + used, size - (size_t)used, i == 0 ? "%lld" : ",%lld",
                         (long long)cbk_tensor_shape(tensor)[i]);
    }
    snprintf(text + used, size - (size_t)used, "]");
}

static void run_row(void **state) {
    const struct row *row = *state;
    cbk_tensor *inputs[8] = {NULL}, *outputs[4] = {NULL}, *out;
    const uint32_t count = parse(row->inputs, inputs);
    const uint32_t output_count = cbk_op_info_of(row->opcode)->output_count;
    const cbk_op op = CBK_INIT(cbk_op, .opcode = row->opcode, .input_count = count,
                               .output_count = output_count, .inputs = inputs, .outputs = outputs,
                               .params = row->params_size != 0 ? &row->params : NULL,
                               .params_size = row->params_size);
    const cbk_status asked = cbk_supports_op(mock.device, &op);
    const cbk_status status = cbk_execute(mock.stream, &op);
    assert_int_equal(asked, status);
    out = outputs[0];
    char text[256] = "";
    if (status == CBK_OK) {
        describe(out, text, sizeof text);
        assert_int_equal(row->status, CBK_OK);
        assert_string_equal(text, row->result);
        assert_int_equal(cbk_tensor_is_contiguous(out), 1);
    } else {
        if (status != row->status || strstr(cbk_last_error_message(), row->result) == NULL) {
            print_error("%s: %s\n", cbk_status_string(status), cbk_last_error_message());
            fail();
        }
        assert_null(out);
    }
    for (uint32_t k = 0; k < output_count; k++) cbk_tensor_release(&outputs[k]);
    for (uint32_t i = 0; i < count; i++) cbk_tensor_release(&inputs[i]);
}

int main(void) {
    enum { ROWS = sizeof rows / sizeof *rows };
    static struct CMUnitTest tests[ROWS];
    static char names[ROWS][96];
    for (size_t i = 0; i < ROWS; i++) {
        const char *name = "";
        uint32_t cursor = 0;
        for (const cbk_op_info *info; (info = cbk_op_next(&cursor)) != NULL;) {
            if (info->opcode == rows[i].opcode) name = info->name;
        }
        snprintf(names[i], sizeof names[i], "%s %s", name, rows[i].inputs);
        tests[i] = (struct CMUnitTest){
            .name = names[i], .test_func = run_row, .initial_state = (void *)(uintptr_t)&rows[i]};
    }
    return cmocka_run_group_tests_name("infer", tests, open_mock, close_mock);
}
