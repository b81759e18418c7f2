// rows_random.c: random rows.
#include "rows.h"

#include <float.h>
#include <math.h>

static cbk_status to_float(cbk_scalar *scalar) {
    if (scalar->kind == CBK_SCALAR_INT) *scalar = cbk_f((double)scalar->v.i);
    if (scalar->kind == CBK_SCALAR_UINT) *scalar = cbk_f((double)scalar->v.u);
    return cbk_infer_scalar(scalar, "parameter");
}

static cbk_status to_int(cbk_scalar *scalar) {
    cbk_status status = cbk_infer_scalar(scalar, "bound");
    if (status != CBK_OK) return status;
    if (scalar->kind == CBK_SCALAR_UINT && scalar->v.u > INT64_MAX) {
        return cbk_fail(CBK_ERROR_OVERFLOW, 0, "bound %llu is over 2^63 - 1",
                        (unsigned long long)scalar->v.u);
    }
    uint64_t bits;
    status = cbk_scalar_to_bits(*scalar, CBK_DTYPE_I64, &bits);
    *scalar = cbk_i((int64_t)bits);
    return status;
}

/// Lowest and highest value of an integer dtype, as far as int64_t goes.
static void int_limits(cbk_dtype dtype, int64_t *out_lowest, int64_t *out_highest) {
    uint32_t width = 8 * cbk_dtype_size(dtype);
    bool is_signed = cbk_dtype_in(dtype, CBK_SIGNED);
    uint32_t bits = is_signed || width == 64 ? width - 1 : width;
    *out_highest = (int64_t)((UINT64_C(1) << bits) - 1);
    *out_lowest = is_signed ? -*out_highest - 1 : 0;
}

static cbk_status check_integer(cbk_random_params *params) {
    int64_t lowest, highest;
    int_limits(params->dtype, &lowest, &highest);
    if (params->a.kind == CBK_SCALAR_NONE) params->a = cbk_i(0);
    if (params->b.kind == CBK_SCALAR_NONE) params->b = cbk_i(highest < 255 ? highest + 1 : 256);
    cbk_status status = to_int(&params->a);
    if (status == CBK_OK) status = to_int(&params->b);
    if (status != CBK_OK) return status;
    int64_t low = params->a.v.i, high = params->b.v.i;
    if (low >= high) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "low %lld is not below high %lld",
                        (long long)low, (long long)high);
    }
    if (low < lowest || high - 1 > highest) {
        return cbk_fail(CBK_ERROR_OVERFLOW, 0, "%lld to %lld goes beyond %s", (long long)low,
                        (long long)(high - 1), cbk_dtype_name(params->dtype));
    }
    return CBK_OK;
}

/// Parameters that stay finite in the dtype, and so does their difference where it is computed.
static cbk_status check_float_range(cbk_dtype dtype, double a, double b) {
    double highest = dtype == CBK_DTYPE_F64    ? DBL_MAX
                     : dtype == CBK_DTYPE_F16  ? 65504.0
                     : dtype == CBK_DTYPE_BF16 ? 0x1.fep127
                                               : FLT_MAX;
    double widest = dtype == CBK_DTYPE_F64 ? DBL_MAX : FLT_MAX;
    if (fabs(a) <= highest && fabs(b) <= highest && fabs(b - a) <= widest) return CBK_OK;
    return cbk_fail(CBK_ERROR_OVERFLOW, 0, "%g and %g are too large or too far apart for %s", a, b,
                    cbk_dtype_name(dtype));
}

static cbk_status check_real(cbk_opcode opcode, cbk_random_params *params) {
    const bool is_bernoulli = opcode == CBK_OP_RANDOM_BERNOULLI;
    if (params->a.kind == CBK_SCALAR_NONE) params->a = cbk_f(is_bernoulli ? 0.5 : 0.0);
    if (params->b.kind == CBK_SCALAR_NONE) params->b = cbk_f(1.0);
    cbk_status status = to_float(&params->a);
    if (status == CBK_OK) status = to_float(&params->b);
    if (status != CBK_OK) return status;
    double a = params->a.v.f, b = params->b.v.f;
    bool fits = isfinite(a) && isfinite(b);
    if (!is_bernoulli && fits) {
        status = check_float_range(params->dtype, a, b);
        if (status != CBK_OK) return status;
    }
    if (is_bernoulli) fits = fits && a >= 0.0 && a <= 1.0;
    if (opcode == CBK_OP_RANDOM_UNIFORM) fits = fits && a <= b;
    if (opcode == CBK_OP_RANDOM_NORMAL) fits = fits && b >= 0.0;
    if (fits) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s",
                    is_bernoulli                      ? "the probability is not within 0 and 1"
                    : opcode == CBK_OP_RANDOM_UNIFORM ? "the bounds are not finite and in order"
                                                      : "mean and deviation are not finite, or the "
                                                        "deviation is negative");
}

static cbk_status infer_random(struct cbk_inference *inference) {
    cbk_random_params *params = &inference->params.random;
    const cbk_opcode opcode = inference->info->opcode;
    const cbk_device *device = inference->device;
    if (params->dtype == CBK_DTYPE_NONE) {
        params->dtype =
            cbk_default_of(opcode == CBK_OP_RANDOM_INTEGER     ? &device->default_int
                           : opcode == CBK_OP_RANDOM_BERNOULLI ? &device->default_bool
                                                               : &device->default_float);
    }
    cbk_status status = cbk_infer_dtype(inference, params->dtype);
    if (status != CBK_OK) return status;
    status = opcode == CBK_OP_RANDOM_INTEGER ? check_integer(params) : check_real(opcode, params);
    if (status != CBK_OK) return status;
    return cbk_meta_init(&inference->outputs[0], params->dtype, params->rank, params->shape);
}

// ---- draws from given weights -------------------------------------------------------------------

static cbk_status infer_categorical(struct cbk_inference *inference) {
    const cbk_tensor_meta *weights = cbk_input(inference, 0);
    cbk_categorical_params *params = &inference->params.categorical;
    int64_t shape[CBK_MAX_RANK];
    char text[CBK_SHAPE_TEXT];
    if (params->count == 0) params->count = 1;
    cbk_status status = cbk_infer_dtype(inference, weights->dtype);
    if (status == CBK_OK) status = cbk_infer_flag(params->logits, "logits");
    if (status == CBK_OK) status = cbk_infer_flag(params->distinct, "distinct");
    if (status == CBK_OK) status = cbk_infer_int(inference, &params->out_dtype);
    if (status != CBK_OK) return status;
    const int64_t length = weights->rank > 0 ? weights->shape[weights->rank - 1] : 0;
    if (length == 0 || params->count < 0 || (params->distinct != 0 && params->count > length)) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "%lld%s draws from rows of weights %s",
                        (long long)params->count, params->distinct != 0 ? " distinct" : "",
                        cbk_shape_text(weights->rank, weights->shape, text));
    }
    status = cbk_infer_fits(length - 1, params->out_dtype, "place");
    if (status != CBK_OK) return status;
    for (uint32_t i = 0; i < weights->rank; i++) shape[i] = weights->shape[i];
    shape[weights->rank - 1] = params->count;
    return cbk_meta_init(&inference->outputs[0], params->out_dtype, weights->rank, shape);
}

// ---- the table ----------------------------------------------------------------------------------

#define RANDOM(op, name, dtypes)                                                                   \
    CBK_ROW(op, name, 0, sizeof(cbk_random_params),                                                \
            CBK_ROW_CREATES | CBK_ROW_UPDATE | CBK_ROW_RANDOM, dtypes, infer_random)

static const struct cbk_row random_rows[] = {
    RANDOM(CBK_OP_RANDOM_UNIFORM, "random_uniform", CBK_FLOATS),
    RANDOM(CBK_OP_RANDOM_NORMAL, "random_normal", CBK_FLOATS),
    RANDOM(CBK_OP_RANDOM_BERNOULLI, "random_bernoulli", CBK_COMPUTED),
    RANDOM(CBK_OP_RANDOM_INTEGER, "random_integer", CBK_INTS),
    CBK_ROW(CBK_OP_RANDOM_CATEGORICAL, "random_categorical", 1, sizeof(cbk_categorical_params),
            CBK_ROW_RANDOM, CBK_FLOATS, infer_categorical),
};
CBK_FAMILY(cbk_random_family, random_rows);
