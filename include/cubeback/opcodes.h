/// cubeback/opcodes.h: the number and the parameters of every operation.
///
/// An opcode is family << 8 | index. Scalar forms have the index of their tensor form. Parameter
/// structs are flat; zero in every member but struct_size is the default.
#ifndef CUBEBACK_OPCODES_H
#define CUBEBACK_OPCODES_H

#include <cubeback/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CBK_FAMILY_VIEW = 0x01,
    CBK_FAMILY_UNARY = 0x02,
    CBK_FAMILY_BINARY = 0x03,
    CBK_FAMILY_BINARY_SCALAR = 0x04,
    CBK_FAMILY_COMPARE = 0x05,
    CBK_FAMILY_COMPARE_SCALAR = 0x06,
    CBK_FAMILY_TERNARY = 0x07,
    CBK_FAMILY_CAST = 0x08,
    CBK_FAMILY_CREATE = 0x09,
    CBK_FAMILY_MOVE = 0x0a,
    CBK_FAMILY_REDUCE = 0x0b,
    CBK_FAMILY_SOFTMAX = 0x0c,
    CBK_FAMILY_MATMUL = 0x0d,
    CBK_FAMILY_INDEX = 0x0e,
    CBK_FAMILY_RANDOM = 0x0f,
    CBK_FAMILY_ACTIVATION_BACKWARD = 0x10,
    CBK_FAMILY_NORM = 0x11,
    CBK_FAMILY_SCAN = 0x12,
    CBK_FAMILY_SORT = 0x13,
    CBK_FAMILY_COMPACT = 0x14,
    CBK_FAMILY_LINALG = 0x15
};

enum {
    CBK_OP_NONE = 0,

    // views: metadata only
    CBK_OP_RESHAPE = 0x0100,
    CBK_OP_PERMUTE = 0x0101,
    CBK_OP_EXPAND = 0x0102,
    CBK_OP_SLICE = 0x0103,
    CBK_OP_FLIP = 0x0104,
    CBK_OP_UNFOLD = 0x0105,
    CBK_OP_SQUEEZE = 0x0106,
    CBK_OP_UNSQUEEZE = 0x0107,
    CBK_OP_DIAGONAL = 0x0108,
    CBK_OP_TRANSPOSE = 0x0109,

    // unary
    CBK_OP_NEG = 0x0200,
    CBK_OP_ABS = 0x0201,
    CBK_OP_SIGN = 0x0202,
    CBK_OP_RECIP = 0x0203,
    CBK_OP_SQUARE = 0x0204,
    CBK_OP_SQRT = 0x0205,
    CBK_OP_RSQRT = 0x0206,
    CBK_OP_EXP = 0x0207,
    CBK_OP_EXPM1 = 0x0208,
    CBK_OP_LOG = 0x0209,
    CBK_OP_LOG1P = 0x020a,
    CBK_OP_SIN = 0x020b,
    CBK_OP_COS = 0x020c,
    CBK_OP_TAN = 0x020d,
    CBK_OP_ASIN = 0x020e,
    CBK_OP_ACOS = 0x020f,
    CBK_OP_ATAN = 0x0210,
    CBK_OP_SINH = 0x0211,
    CBK_OP_COSH = 0x0212,
    CBK_OP_TANH = 0x0213,
    CBK_OP_ASINH = 0x0214,
    CBK_OP_ACOSH = 0x0215,
    CBK_OP_ATANH = 0x0216,
    CBK_OP_ERF = 0x0217,
    CBK_OP_FLOOR = 0x0218,
    CBK_OP_CEIL = 0x0219,
    CBK_OP_ROUND = 0x021a,
    CBK_OP_TRUNC = 0x021b,
    CBK_OP_LOGICAL_NOT = 0x021c,
    CBK_OP_BITWISE_NOT = 0x021d,
    CBK_OP_IS_NAN = 0x021e,
    CBK_OP_IS_INF = 0x021f,
    CBK_OP_IS_FINITE = 0x0220,
    CBK_OP_RELU = 0x0221,
    CBK_OP_SIGMOID = 0x0222,
    CBK_OP_LOG_SIGMOID = 0x0223,
    CBK_OP_GELU = 0x0224,
    CBK_OP_SILU = 0x0225,
    CBK_OP_SOFTPLUS = 0x0226,
    CBK_OP_MISH = 0x0227,
    CBK_OP_LEAKY_RELU = 0x0228,
    CBK_OP_ELU = 0x0229,
    CBK_OP_HARD_SIGMOID = 0x022a,
    CBK_OP_CELU = 0x022b,
    CBK_OP_SELU = 0x022c,
    CBK_OP_HARDTANH = 0x022d,
    CBK_OP_HARDSWISH = 0x022e,
    CBK_OP_RELU6 = 0x022f,
    CBK_OP_SOFTSIGN = 0x0230,
    CBK_OP_TANHSHRINK = 0x0231,
    CBK_OP_SOFTSHRINK = 0x0232,
    CBK_OP_HARDSHRINK = 0x0233,
    CBK_OP_THRESHOLD = 0x0234,
    CBK_OP_THRESHOLDED_RELU = 0x0235,

    // binary; the scalar form of 0x03nn is 0x04nn
    CBK_OP_ADD = 0x0300,
    CBK_OP_SUB = 0x0301,
    CBK_OP_MUL = 0x0302,
    CBK_OP_DIV = 0x0303,
    CBK_OP_REMAINDER = 0x0304,
    CBK_OP_POW = 0x0305,
    CBK_OP_ATAN2 = 0x0306,
    CBK_OP_HYPOT = 0x0307,
    CBK_OP_MAXIMUM = 0x0308,
    CBK_OP_MINIMUM = 0x0309,
    CBK_OP_BITWISE_AND = 0x030a,
    CBK_OP_BITWISE_OR = 0x030b,
    CBK_OP_BITWISE_XOR = 0x030c,
    CBK_OP_SHIFT_LEFT = 0x030d,
    CBK_OP_SHIFT_RIGHT = 0x030e,
    CBK_OP_LOGICAL_AND = 0x030f,
    CBK_OP_LOGICAL_OR = 0x0310,
    CBK_OP_LOGICAL_XOR = 0x0311,
    CBK_OP_FMOD = 0x0312,
    CBK_OP_PRELU = 0x0313, ///< (x, slope)
    CBK_OP_GLU = 0x0314,   ///< (x, gate)

    CBK_OP_ADD_SCALAR = 0x0400,
    CBK_OP_SUB_SCALAR = 0x0401,
    CBK_OP_MUL_SCALAR = 0x0402,
    CBK_OP_DIV_SCALAR = 0x0403,
    CBK_OP_REMAINDER_SCALAR = 0x0404,
    CBK_OP_POW_SCALAR = 0x0405,
    CBK_OP_ATAN2_SCALAR = 0x0406,
    CBK_OP_HYPOT_SCALAR = 0x0407,
    CBK_OP_MAXIMUM_SCALAR = 0x0408,
    CBK_OP_MINIMUM_SCALAR = 0x0409,
    CBK_OP_BITWISE_AND_SCALAR = 0x040a,
    CBK_OP_BITWISE_OR_SCALAR = 0x040b,
    CBK_OP_BITWISE_XOR_SCALAR = 0x040c,
    CBK_OP_SHIFT_LEFT_SCALAR = 0x040d,
    CBK_OP_SHIFT_RIGHT_SCALAR = 0x040e,
    CBK_OP_FMOD_SCALAR = 0x0412,

    // comparison; the scalar form of 0x05nn is 0x06nn
    CBK_OP_EQUAL = 0x0500,
    CBK_OP_NOT_EQUAL = 0x0501,
    CBK_OP_LESS = 0x0502,
    CBK_OP_LESS_EQUAL = 0x0503,
    CBK_OP_GREATER = 0x0504,
    CBK_OP_GREATER_EQUAL = 0x0505,
    CBK_OP_IS_CLOSE = 0x0506, ///< cbk_close_params; no scalar form

    CBK_OP_EQUAL_SCALAR = 0x0600,
    CBK_OP_NOT_EQUAL_SCALAR = 0x0601,
    CBK_OP_LESS_SCALAR = 0x0602,
    CBK_OP_LESS_EQUAL_SCALAR = 0x0603,
    CBK_OP_GREATER_SCALAR = 0x0604,
    CBK_OP_GREATER_EQUAL_SCALAR = 0x0605,

    // ternary
    CBK_OP_WHERE = 0x0700,
    CBK_OP_MASK_FILL = 0x0701,
    CBK_OP_CLAMP = 0x0702,
    CBK_OP_LERP = 0x0703,        ///< (a, b, weight)
    CBK_OP_LERP_SCALAR = 0x0704, ///< (a, b)
    CBK_OP_ADDCMUL = 0x0705,     ///< (x, a, b)
    CBK_OP_ADDCDIV = 0x0706,     ///< (x, a, b)

    CBK_OP_CAST = 0x0800,

    // creation
    CBK_OP_FILL = 0x0900,
    CBK_OP_ARANGE = 0x0901,
    CBK_OP_EYE = 0x0902,
    CBK_OP_LINSPACE = 0x0903,
    CBK_OP_WINDOW = 0x0904,

    // moves
    CBK_OP_COPY = 0x0a00,
    CBK_OP_SLICE_ASSIGN = 0x0a01,
    CBK_OP_CAT = 0x0a02,
    CBK_OP_PAD = 0x0a03,
    CBK_OP_ROLL = 0x0a04,
    CBK_OP_TRIL = 0x0a10,
    CBK_OP_TRIU = 0x0a11,
    CBK_OP_DIAG_EMBED = 0x0a12,
    CBK_OP_CROSS = 0x0a13,

    // reductions
    CBK_OP_SUM = 0x0b00,
    CBK_OP_MEAN = 0x0b01,
    CBK_OP_PROD = 0x0b02,
    CBK_OP_MAX = 0x0b03,
    CBK_OP_MIN = 0x0b04,
    CBK_OP_ARGMAX = 0x0b05,
    CBK_OP_ARGMIN = 0x0b06,
    CBK_OP_ANY = 0x0b07,
    CBK_OP_ALL = 0x0b08,
    CBK_OP_VAR = 0x0b09,
    CBK_OP_STD = 0x0b0a,
    CBK_OP_VAR_MEAN = 0x0b0b,
    CBK_OP_NORM = 0x0b0c,
    CBK_OP_LOGSUMEXP = 0x0b0d,
    CBK_OP_MAX_ABS = 0x0b0e,
    CBK_OP_MIN_ABS = 0x0b0f,
    CBK_OP_MAX_WITH_INDICES = 0x0b10,
    CBK_OP_MIN_WITH_INDICES = 0x0b11,
    CBK_OP_COUNT_NONZERO = 0x0b18,

    CBK_OP_SOFTMAX = 0x0c00,
    CBK_OP_LOG_SOFTMAX = 0x0c01,
    CBK_OP_SOFTMIN = 0x0c02,
    CBK_OP_SOFTMAX_BACKWARD = 0x0c03,
    CBK_OP_LOG_SOFTMAX_BACKWARD = 0x0c04,
    CBK_OP_QUIET_SOFTMAX = 0x0c05,

    // normalisations
    CBK_OP_LAYER_NORM = 0x1100,
    CBK_OP_RMS_NORM = 0x1101,
    CBK_OP_LAYER_NORM_BACKWARD = 0x1102,
    CBK_OP_RMS_NORM_BACKWARD = 0x1103,
    CBK_OP_BATCH_NORM = 0x1104,

    CBK_OP_MATMUL = 0x0d00,

    // indexing
    CBK_OP_GATHER = 0x0e00,
    CBK_OP_SELECT = 0x0e01,
    CBK_OP_SCATTER = 0x0e02,
    CBK_OP_SELECT_ASSIGN = 0x0e03,
    CBK_OP_GATHER_ND = 0x0e04,
    CBK_OP_SCATTER_ND = 0x0e05,
    CBK_OP_EMBEDDING_BACKWARD = 0x0e06,
    CBK_OP_ONE_HOT = 0x0e07,
    CBK_OP_GRID_SAMPLE = 0x0e08,
    CBK_OP_GRID_SAMPLE_X_BACKWARD = 0x0e09,    ///< (x, grid, gradient)
    CBK_OP_GRID_SAMPLE_GRID_BACKWARD = 0x0e0a, ///< (x, grid, gradient)

    // random
    CBK_OP_RANDOM_UNIFORM = 0x0f00,
    CBK_OP_RANDOM_NORMAL = 0x0f01,
    CBK_OP_RANDOM_BERNOULLI = 0x0f02,
    CBK_OP_RANDOM_INTEGER = 0x0f03,
    CBK_OP_RANDOM_CATEGORICAL = 0x0f04, ///< cbk_categorical_params; (weights)

    // gradients of activations: of what was saved (relu, sigmoid, tanh: the output; others: x) and
    // of the output's gradient
    CBK_OP_RELU_BACKWARD = 0x1000,
    CBK_OP_SIGMOID_BACKWARD = 0x1001,
    CBK_OP_TANH_BACKWARD = 0x1002,
    CBK_OP_GELU_BACKWARD = 0x1003,
    CBK_OP_LOG_SIGMOID_BACKWARD = 0x1004,
    CBK_OP_SILU_BACKWARD = 0x1005,
    CBK_OP_SOFTPLUS_BACKWARD = 0x1006,
    CBK_OP_MISH_BACKWARD = 0x1007,
    CBK_OP_LEAKY_RELU_BACKWARD = 0x1008,
    CBK_OP_ELU_BACKWARD = 0x1009,
    CBK_OP_HARD_SIGMOID_BACKWARD = 0x100a,
    CBK_OP_HARDSWISH_BACKWARD = 0x100b,
    CBK_OP_CELU_BACKWARD = 0x100c,
    CBK_OP_SELU_BACKWARD = 0x100d,
    CBK_OP_HARDTANH_BACKWARD = 0x100e,
    CBK_OP_RELU6_BACKWARD = 0x100f,
    CBK_OP_SOFTSIGN_BACKWARD = 0x1010,
    CBK_OP_TANHSHRINK_BACKWARD = 0x1011,
    CBK_OP_SOFTSHRINK_BACKWARD = 0x1012,
    CBK_OP_HARDSHRINK_BACKWARD = 0x1013,
    CBK_OP_THRESHOLD_BACKWARD = 0x1014,
    CBK_OP_THRESHOLDED_RELU_BACKWARD = 0x1015,
    CBK_OP_GLU_BACKWARD = 0x1016,   ///< (x, gate, gradient): the gate's gradient
    CBK_OP_PRELU_BACKWARD = 0x1017, ///< (x, slope, gradient): the gradient of x

    // scans
    CBK_OP_CUMSUM = 0x1200,
    CBK_OP_CUMPROD = 0x1201,
    CBK_OP_CUMMAX = 0x1202,
    CBK_OP_CUMMIN = 0x1203,
    CBK_OP_LOGCUMSUMEXP = 0x1204,

    // sorting
    CBK_OP_SORT = 0x1300,
    CBK_OP_ARGSORT = 0x1301,
    CBK_OP_SORT_WITH_INDICES = 0x1302,
    CBK_OP_TOPK = 0x1303,
    CBK_OP_ARGTOPK = 0x1304,
    CBK_OP_TOPK_WITH_INDICES = 0x1305,
    CBK_OP_MEDIAN = 0x1306,
    CBK_OP_QUANTILE = 0x1307,

    // compaction: as many results as a mask has hits
    CBK_OP_ARGWHERE = 0x1401,
    CBK_OP_MASK_SELECT = 0x1402,

    // factorisations of matrices
    CBK_OP_LU_FACTOR = 0x1500,
    CBK_OP_DET = 0x1501,
    CBK_OP_QR = 0x1502
};

/// reshape, expand: one length may be -1 (reshape: inferred; expand: as the input's).
typedef struct cbk_shape_params {
    uint32_t struct_size;
    uint32_t rank;
    int64_t shape[CBK_MAX_RANK];
} cbk_shape_params;

/// permute (a permutation of all axes), flip, squeeze (count 0: all axes, for squeeze those of
/// length 1), unsqueeze (places in the result), transpose (two axes; count 0: the last two).
typedef struct cbk_axes_params {
    uint32_t struct_size;
    uint32_t axis_count;
    int32_t axes[CBK_MAX_RANK];
} cbk_axes_params;

/// slice, slice_assign. For each of the first `axis_count` axes: elements start <= i < stop, then
/// every |step|-th of them; a negative step walks the same range from stop - 1 downward. Negative
/// start and stop count from the end; both are clamped to the axis. step 0 means 1. stop
/// INT64_MAX: to the end. Axes past `axis_count` are whole.
typedef struct cbk_slice_params {
    uint32_t struct_size;
    uint32_t axis_count;
    int64_t start[CBK_MAX_RANK];
    int64_t stop[CBK_MAX_RANK];
    int64_t step[CBK_MAX_RANK];
} cbk_slice_params;

/// unfold: windows of `size` every `step` elements of `axis`; the window axis is appended.
typedef struct cbk_unfold_params {
    uint32_t struct_size;
    int32_t axis;
    int64_t size;
    int64_t step; ///< 0: 1
} cbk_unfold_params;

/// diagonal: axes {0, 0} mean the last two; offset > 0 lies above the main diagonal.
typedef struct cbk_diagonal_params {
    uint32_t struct_size;
    int32_t axis1;
    int32_t axis2;
    uint32_t reserved;
    int64_t offset;
} cbk_diagonal_params;

enum { CBK_GELU_EXACT = 0, CBK_GELU_TANH = 1 };

/// Activations with constants, and their backward forms. A left-out scalar has the default in
/// parentheses.
///
///                      alpha                beta
///     leaky_relu       slope (0.01)
///     elu, celu        alpha (1)
///     hard_sigmoid     slope (1/6)          offset (1/2)
///     softplus         beta (1)             threshold (20)
///     hardtanh         lowest (-1)          highest (1)
///     softshrink,
///     hardshrink       lambda (1/2)
///     threshold        threshold (0)        value (0)
///     thresholded_relu threshold (1)
typedef struct cbk_activation_params {
    uint32_t struct_size;
    uint32_t variant; ///< gelu: CBK_GELU_*
    cbk_scalar alpha;
    cbk_scalar beta;
} cbk_activation_params;

/// Output dtype of is_nan, is_inf, is_finite, logical_not on numbers, any, all.
typedef struct cbk_bool_params {
    uint32_t struct_size;
    cbk_dtype out_dtype; ///< bool or bool32; 0: bool inputs' own, else the device's default
} cbk_bool_params;

typedef struct cbk_scalar_params {
    uint32_t struct_size;
    uint32_t reversed; ///< 1: scalar op x instead of x op scalar
    cbk_scalar scalar;
} cbk_scalar_params;

typedef struct cbk_compare_params {
    uint32_t struct_size;
    cbk_dtype out_dtype; ///< bool or bool32; 0: the device's default
    cbk_scalar scalar;   ///< scalar forms only
} cbk_compare_params;

/// is_close: |a - b| <= absolute + relative |b|.
typedef struct cbk_close_params {
    uint32_t struct_size;
    cbk_dtype out_dtype; ///< bool or bool32; 0: the device's default
    cbk_scalar relative; ///< left out: 1e-5
    cbk_scalar absolute; ///< left out: 1e-8
    uint32_t equal_nan;  ///< 1: NaN is close to NaN
    uint32_t reserved;
} cbk_close_params;

typedef struct cbk_clamp_params {
    uint32_t struct_size;
    uint32_t reserved;
    cbk_scalar low;  ///< left out: no lower bound
    cbk_scalar high; ///< left out: no upper bound
} cbk_clamp_params;

typedef struct cbk_cast_params {
    uint32_t struct_size;
    cbk_dtype dtype;
} cbk_cast_params;

/// fill, arange, linspace (rank 1, shape[0] = length): element = value, or value + i * step, or evenly
/// from value to step, both included.
typedef struct cbk_create_params {
    uint32_t struct_size;
    cbk_dtype dtype; ///< 0: the device's default float (fill) or int (arange)
    uint32_t rank;
    uint32_t reserved;
    int64_t shape[CBK_MAX_RANK];
    cbk_scalar value; ///< left out: 0
    cbk_scalar step;  ///< arange, linspace (the last element); left out: 1
} cbk_create_params;

/// eye: rows x columns, 1 where column - row = offset.
typedef struct cbk_eye_params {
    uint32_t struct_size;
    cbk_dtype dtype; ///< 0: the device's default float
    int64_t rows, columns;
    int64_t offset;
} cbk_eye_params;

enum { CBK_WINDOW_HANN = 0, CBK_WINDOW_HAMMING = 1, CBK_WINDOW_BLACKMAN = 2 };

typedef struct cbk_window_params {
    uint32_t struct_size;
    cbk_dtype dtype; ///< 0: the device's default float
    int64_t length;
    uint32_t kind;      ///< CBK_WINDOW_*
    uint32_t symmetric; ///< 1: a period is length - 1 elements; 0: length elements
} cbk_window_params;

/// tril, triu, diag_embed: offset > 0 lies above the main diagonal.
typedef struct cbk_offset_params {
    uint32_t struct_size;
    uint32_t reserved;
    int64_t offset;
} cbk_offset_params;

typedef struct cbk_axis_params {
    uint32_t struct_size;
    int32_t axis;
} cbk_axis_params;

/// What lies outside of a padded axis of elements a b c: constant; reflect: c b [a b c] b a; edge:
/// a a [a b c] c c; circular: b c [a b c] a b.
enum { CBK_PAD_CONSTANT = 0, CBK_PAD_REFLECT = 1, CBK_PAD_EDGE = 2, CBK_PAD_CIRCULAR = 3 };

/// pad: elements added before and after each axis of x.
typedef struct cbk_pad_params {
    uint32_t struct_size;
    uint32_t mode; ///< CBK_PAD_*
    int64_t before[CBK_MAX_RANK];
    int64_t after[CBK_MAX_RANK];
    cbk_scalar value; ///< constant; left out: 0
} cbk_pad_params;

/// roll: element i of axes[k] goes to (i + shifts[k]) modulo its length; count 0: shifts[i] of axis i.
typedef struct cbk_roll_params {
    uint32_t struct_size;
    uint32_t axis_count;
    int32_t axes[CBK_MAX_RANK];
    int64_t shifts[CBK_MAX_RANK];
} cbk_roll_params;

typedef struct cbk_reduce_params {
    uint32_t struct_size;
    uint32_t axis_count; ///< 0: all axes
    int32_t axes[CBK_MAX_RANK];
    uint32_t drop_axes;  ///< 0: a reduced axis stays with length 1; 1: it goes. With all axes
                         ///< reduced by axis_count 0 the result has rank 0 in any case
    cbk_dtype out_dtype; ///< 0: see the operation
} cbk_reduce_params;

/// var, std, var_mean. The first members are those of cbk_reduce_params.
typedef struct cbk_variance_params {
    uint32_t struct_size;
    uint32_t axis_count; ///< 0: all axes
    int32_t axes[CBK_MAX_RANK];
    uint32_t drop_axes;
    cbk_dtype out_dtype; ///< 0: the input's
    int64_t correction;  ///< the sum of squares is divided by n - correction; 0: the population's
                         ///< variance, 1: the unbiased estimate from a sample
} cbk_variance_params;

/// norm. The first members are those of cbk_reduce_params.
typedef struct cbk_norm_params {
    uint32_t struct_size;
    uint32_t axis_count; ///< 0: all axes
    int32_t axes[CBK_MAX_RANK];
    uint32_t drop_axes;
    cbk_dtype out_dtype; ///< 0: the input's
    cbk_scalar p;        ///< any number, also 0 and both infinities; left out: 2
} cbk_norm_params;

/// layer_norm, rms_norm, their gradients, batch_norm (eps only).
typedef struct cbk_layer_norm_params {
    uint32_t struct_size;
    uint32_t axis_count; ///< how many of the last axes are normalised together; 0: 1
    double eps;          ///< 0: 1e-5
} cbk_layer_norm_params;

/// exact: the inputs' arithmetic with f32 accumulation for f16 and bf16 (f64, integers: their
/// own). Others may round operands on their way into a matrix unit.
enum {
    CBK_PRECISION_DEFAULT = 0, ///< exact; tf32 where an operand is flex32
    CBK_PRECISION_EXACT = 1,
    CBK_PRECISION_TF32 = 2,
    CBK_PRECISION_TF32X3 = 3,
    CBK_PRECISION_BF16 = 4
};

typedef struct cbk_matmul_params {
    uint32_t struct_size;
    uint32_t precision;  ///< CBK_PRECISION_*
    cbk_dtype out_dtype; ///< 0: the inputs'; bf16 for 8-bit floats
    uint32_t reserved;
    cbk_opcode activation;       ///< 0: none; CBK_OP_TANH, CBK_OP_RELU, _SIGMOID, _GELU, _SILU, ...
    uint32_t activation_variant; ///< with gelu: CBK_GELU_*
    cbk_scalar alpha, beta;      ///< the activation's constants, as in cbk_activation_params
} cbk_matmul_params;

enum {
    CBK_UPDATE_ASSIGN = 0, ///< duplicates: the last in row-major order of the indices wins
    CBK_UPDATE_ADD = 1,
    CBK_UPDATE_MUL = 2,
    CBK_UPDATE_MIN = 3,
    CBK_UPDATE_MAX = 4
};

/// Flags of updates. UNORDERED: add, mul, min and max in any order, which is faster where many values
/// meet few places; float sums and products then differ from run to run. A device may ignore it.
enum { CBK_INDEX_UNORDERED = 1u << 0 };

/// gather, select, scatter, select_assign; gather_nd and scatter_nd, which have no axis.
typedef struct cbk_index_params {
    uint32_t struct_size;
    int32_t axis;
    uint32_t update; ///< CBK_UPDATE_*; rows that update
    uint32_t flags;  ///< CBK_INDEX_UNORDERED; rows that update
} cbk_index_params;

typedef struct cbk_embedding_backward_params {
    uint32_t struct_size;
    uint32_t flags; ///< CBK_INDEX_UNORDERED
    int64_t rows;   ///< of the table
} cbk_embedding_backward_params;

typedef struct cbk_one_hot_params {
    uint32_t struct_size;
    cbk_dtype dtype; ///< 0: the device's default int
    int64_t classes; ///< length of the new last axis
    cbk_scalar on;   ///< left out: 1
    cbk_scalar off;  ///< left out: 0
} cbk_one_hot_params;

enum { CBK_SAMPLE_BILINEAR = 0, CBK_SAMPLE_NEAREST = 1, CBK_SAMPLE_BICUBIC = 2 };
/// Outside of x: 0; the outermost element; x in a mirror where -1 and 1 are.
enum { CBK_SAMPLE_ZEROS = 0, CBK_SAMPLE_BORDER = 1, CBK_SAMPLE_REFLECTION = 2 };

typedef struct cbk_grid_sample_params {
    uint32_t struct_size;
    uint32_t mode;    ///< CBK_SAMPLE_BILINEAR, _NEAREST (halves to even), _BICUBIC (Keys, -3/4)
    uint32_t padding; ///< CBK_SAMPLE_ZEROS, _BORDER, _REFLECTION
    uint32_t align_corners; ///< 1: -1 and 1 are centres of the outermost elements; 0: their borders
} cbk_grid_sample_params;

/// uniform [a, b), normal (mean a, deviation b), Bernoulli (probability a), integers a <= i < b.
typedef struct cbk_random_params {
    uint32_t struct_size;
    cbk_dtype dtype; ///< 0: the device's default float, int (integers) or bool (Bernoulli)
    uint32_t rank;
    uint32_t reserved;
    int64_t shape[CBK_MAX_RANK];
    cbk_scalar a; ///< left out: 0 (Bernoulli: 1/2)
    cbk_scalar b; ///< left out: 1 (integers: 256)
} cbk_random_params;

/// random_categorical: places within the last axis of the weights.
typedef struct cbk_categorical_params {
    uint32_t struct_size;
    cbk_dtype out_dtype; ///< of the places; 0: the device's default int
    int64_t count;       ///< draws from each row; 0: 1
    uint32_t logits;     ///< 1: logarithms of weights
    uint32_t distinct;   ///< 1: without replacement
} cbk_categorical_params;

/// argwhere, mask_select, unique.
typedef struct cbk_compact_params {
    uint32_t struct_size;
    cbk_dtype out_dtype; ///< of coordinates, indices, numbers of hits; 0: the default int
    int64_t length;      ///< rows of the result
} cbk_compact_params;

typedef struct cbk_scan_params {
    uint32_t struct_size;
    int32_t axis;
    uint32_t exclusive;  ///< 1: without the element itself; the first result is the identity
    uint32_t reversed;   ///< 1: from the end of the axis to its start
    cbk_dtype out_dtype; ///< cumsum, cumprod; 0: the input's
} cbk_scan_params;

typedef struct cbk_sort_params {
    uint32_t struct_size;
    int32_t axis;
    uint32_t descending; ///< 1: the greatest first
    cbk_dtype out_dtype; ///< of indices; 0: the device's default int
} cbk_sort_params;

typedef struct cbk_topk_params {
    uint32_t struct_size;
    int32_t axis;
    int64_t k;           ///< elements to keep
    uint32_t ascending;  ///< 1: the k least, the least first
    cbk_dtype out_dtype; ///< of indices; 0: the device's default int
} cbk_topk_params;

typedef struct cbk_median_params {
    uint32_t struct_size;
    int32_t axis;
    uint32_t drop_axis; ///< 0: the axis stays with length 1; 1: it goes
} cbk_median_params;

/// Between the elements i and i + 1 of the sorted row that q * (length - 1) falls between.
enum {
    CBK_QUANTILE_LINEAR = 0,
    CBK_QUANTILE_LOWER = 1,
    CBK_QUANTILE_HIGHER = 2,
    CBK_QUANTILE_NEAREST = 3, ///< halfway: the even position
    CBK_QUANTILE_MIDPOINT = 4
};

typedef struct cbk_quantile_params {
    uint32_t struct_size;
    int32_t axis;
    uint32_t drop_axis;     ///< 0: the axis stays with length 1; 1: it goes
    uint32_t interpolation; ///< CBK_QUANTILE_*
    uint32_t count;         ///< of q; 0: q[0] alone, and the result gets no axis for it
    uint32_t reserved;
    double q[CBK_MAX_RANK]; ///< 0 <= q <= 1
} cbk_quantile_params;

typedef struct cbk_lu_params {
    uint32_t struct_size;
    cbk_dtype out_dtype; ///< of pivots and permutation; 0: the device's default int
} cbk_lu_params;

enum { CBK_QR_REDUCED = 0, CBK_QR_COMPLETE = 1 };

typedef struct cbk_qr_params {
    uint32_t struct_size;
    uint32_t mode; ///< CBK_QR_*
} cbk_qr_params;

#ifdef __cplusplus
}
#endif
#endif
