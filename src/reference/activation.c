// activation.c: activation functions and their derivatives, in double.

#include "reference.h"

#include <math.h>

#define LOW(opcode) ((opcode)&0xff)

#define PI 3.14159265358979323846
#define SELU_SCALE 1.0507009873554804934
#define SELU_ALPHA 1.6732632423543772848

/// Constants of an activation, rounded to the tensor's dtype.
struct constants {
    uint32_t variant;
    double alpha, beta;
    bool is_f64; ///< else f32 arithmetic decides on which side of a kink a number lies
};

typedef double (*function)(double x, const struct constants *c);

#define FUNCTION(name) static double name(double x, const struct constants *c)

static double logistic(double x) {
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double normal_density(double x) {
    return exp(-x * x / 2) / sqrt(2 * PI);
}

static double normal_probability(double x) {
    return 0.5 * erfc(-x / sqrt(2.0));
}

/// x times a factor that falls faster than x grows: 0 in the limit.
static double times(double x, double vanishing) {
    return vanishing == 0 ? 0 : x * vanishing;
}

// ---- functions: x itself ------------------------------------------------------------------------

FUNCTION(relu) {
    (void)c;
    return x < 0 ? 0 : x;
}
FUNCTION(sigmoid) {
    (void)c;
    return logistic(x);
}
FUNCTION(log_sigmoid) {
    (void)c;
    return fmin(x, 0) - log1p(exp(-fabs(x)));
}
FUNCTION(gelu) {
    // (1 + tanh(y)) / 2 = sigmoid(2 y), which keeps its digits for negative y.
    if (c->variant == CBK_GELU_TANH)
        return times(x, logistic(2 * sqrt(2 / PI) * (x + 0.044715 * x * x * x)));
    return times(x, normal_probability(x));
}
FUNCTION(silu) {
    (void)c;
    return times(x, logistic(x));
}
static double log1p_exp(double x) {
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}
FUNCTION(softplus) {
    double z = c->alpha * x;
    return z > c->beta ? x : log1p_exp(z) / c->alpha;
}
FUNCTION(mish) {
    (void)c;
    return times(x, tanh(log1p_exp(x)));
}
FUNCTION(leaky_relu) {
    return x > 0 ? x : c->alpha * x;
}
FUNCTION(elu) {
    return x > 0 ? x : c->alpha * expm1(x);
}
FUNCTION(celu) {
    return x > 0 ? x : c->alpha * expm1(x / c->alpha);
}
FUNCTION(selu) {
    (void)c;
    return SELU_SCALE * (x > 0 ? x : SELU_ALPHA * expm1(x));
}
static double hard_sigmoid_line(double x, const struct constants *c) {
    return c->is_f64 ? c->alpha * x + c->beta
                     : (double)((float)(c->alpha * x) + (float)c->beta); // as f32 rounds
}
FUNCTION(hard_sigmoid) {
    double line = c->alpha * x + c->beta;
    return line < 0 ? 0 : line > 1 ? 1 : line; // NaN passes through
}
FUNCTION(hardtanh) {
    double raised = x < c->alpha ? c->alpha : x;
    return raised > c->beta ? c->beta : raised;
}
FUNCTION(relu6) {
    (void)c;
    return x < 0 ? 0 : x > 6 ? 6 : x;
}
FUNCTION(hardswish) {
    (void)c;
    return x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6;
}
FUNCTION(softsign) {
    (void)c;
    return isinf(x) ? copysign(1, x) : x / (1 + fabs(x));
}
FUNCTION(tanhshrink) {
    (void)c;
    double s = x * x;
    if (fabs(x) > 0.1) return x - tanh(x);
    return x * s *
           (1.0 / 3 - s * (2.0 / 15 - s * (17.0 / 315 - s * (62.0 / 2835 - s * 1382 / 155925))));
}
FUNCTION(softshrink) {
    return x > c->alpha ? x - c->alpha : x < -c->alpha ? x + c->alpha : isnan(x) ? x : 0;
}
FUNCTION(hardshrink) {
    return x >= -c->alpha && x <= c->alpha ? 0 : x;
}
FUNCTION(threshold) {
    return x <= c->alpha ? c->beta : x;
}
FUNCTION(thresholded_relu) {
    return x <= c->alpha ? 0 : x;
}

static const function functions[] = {
    [LOW(CBK_OP_RELU)] = relu,
    [LOW(CBK_OP_SIGMOID)] = sigmoid,
    [LOW(CBK_OP_LOG_SIGMOID)] = log_sigmoid,
    [LOW(CBK_OP_GELU)] = gelu,
    [LOW(CBK_OP_SILU)] = silu,
    [LOW(CBK_OP_SOFTPLUS)] = softplus,
    [LOW(CBK_OP_MISH)] = mish,
    [LOW(CBK_OP_LEAKY_RELU)] = leaky_relu,
    [LOW(CBK_OP_ELU)] = elu,
    [LOW(CBK_OP_HARD_SIGMOID)] = hard_sigmoid,
    [LOW(CBK_OP_CELU)] = celu,
    [LOW(CBK_OP_SELU)] = selu,
    [LOW(CBK_OP_HARDTANH)] = hardtanh,
    [LOW(CBK_OP_HARDSWISH)] = hardswish,
    [LOW(CBK_OP_RELU6)] = relu6,
    [LOW(CBK_OP_SOFTSIGN)] = softsign,
    [LOW(CBK_OP_TANHSHRINK)] = tanhshrink,
    [LOW(CBK_OP_SOFTSHRINK)] = softshrink,
    [LOW(CBK_OP_HARDSHRINK)] = hardshrink,
    [LOW(CBK_OP_THRESHOLD)] = threshold,
    [LOW(CBK_OP_THRESHOLDED_RELU)] = thresholded_relu,
};

// ---- derivatives: of the saved output (relu, sigmoid, tanh) or of x ------------------------------

FUNCTION(relu_slope) {
    (void)c;
    return !(x <= 0);
}
FUNCTION(sigmoid_slope) {
    (void)c;
    return x * (1 - x);
}
FUNCTION(tanh_slope) {
    (void)c;
    return 1 - x * x;
}
FUNCTION(gelu_slope) {
    if (c->variant == CBK_GELU_TANH) {
        const double k = sqrt(2 / PI), bounded = fmax(fmin(x, 30), -30); // constant beyond
        double p = logistic(2 * k * (bounded + 0.044715 * bounded * bounded * bounded));
        double q = logistic(-2 * k * (bounded + 0.044715 * bounded * bounded * bounded));
        double inner = 2 * k * (1 + 3 * 0.044715 * bounded * bounded);
        return isnan(x) ? x : p + bounded * p * q * inner;
    }
    return normal_probability(x) + times(x, normal_density(x));
}
FUNCTION(log_sigmoid_slope) {
    (void)c;
    return logistic(-x);
}
FUNCTION(silu_slope) {
    (void)c;
    return logistic(x) + times(x, logistic(x) * logistic(-x));
}
FUNCTION(softplus_slope) {
    double z = c->alpha * x;
    return z > c->beta ? 1 : logistic(z);
}
FUNCTION(mish_slope) {
    (void)c;
    // 1 - t^2 = 4 (e^x + 1)^2 / ((e^x + 1)^2 + 1)^2, for positive x in terms of e^-x
    double t = tanh(log1p_exp(x)), e = exp(-fabs(x)), square = (1 + e) * (1 + e);
    double rest =
        x > 0 ? 4 * square * e * e / pow(square + e * e, 2) : 4 * square / pow(square + 1, 2);
    return t + times(x, logistic(x) * rest);
}
FUNCTION(leaky_relu_slope) {
    return x > 0 ? 1 : c->alpha;
}
FUNCTION(elu_slope) {
    return x > 0 ? 1 : c->alpha * exp(x);
}
FUNCTION(celu_slope) {
    return x > 0 ? 1 : exp(x / c->alpha);
}
FUNCTION(selu_slope) {
    (void)c;
    return SELU_SCALE * (x > 0 ? 1 : SELU_ALPHA * exp(x));
}
FUNCTION(hard_sigmoid_slope) {
    double line = hard_sigmoid_line(x, c);
    return line <= 0 || line >= 1 ? 0 : c->alpha;
}
FUNCTION(hardtanh_slope) {
    return !(x <= c->alpha || x >= c->beta);
}
FUNCTION(relu6_slope) {
    (void)c;
    return !(x <= 0 || x >= 6);
}
FUNCTION(hardswish_slope) {
    (void)c;
    return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
}
FUNCTION(softsign_slope) {
    (void)c;
    return 1 / ((1 + fabs(x)) * (1 + fabs(x)));
}
FUNCTION(tanhshrink_slope) {
    (void)c;
    return tanh(x) * tanh(x);
}
FUNCTION(shrink_slope) {
    return !(x >= -c->alpha && x <= c->alpha);
}
FUNCTION(threshold_slope) {
    return !(x <= c->alpha);
}

static const function slopes[] = {
    [LOW(CBK_OP_RELU_BACKWARD)] = relu_slope,
    [LOW(CBK_OP_SIGMOID_BACKWARD)] = sigmoid_slope,
    [LOW(CBK_OP_TANH_BACKWARD)] = tanh_slope,
    [LOW(CBK_OP_GELU_BACKWARD)] = gelu_slope,
    [LOW(CBK_OP_LOG_SIGMOID_BACKWARD)] = log_sigmoid_slope,
    [LOW(CBK_OP_SILU_BACKWARD)] = silu_slope,
    [LOW(CBK_OP_SOFTPLUS_BACKWARD)] = softplus_slope,
    [LOW(CBK_OP_MISH_BACKWARD)] = mish_slope,
    [LOW(CBK_OP_LEAKY_RELU_BACKWARD)] = leaky_relu_slope,
    [LOW(CBK_OP_ELU_BACKWARD)] = elu_slope,
    [LOW(CBK_OP_HARD_SIGMOID_BACKWARD)] = hard_sigmoid_slope,
    [LOW(CBK_OP_HARDSWISH_BACKWARD)] = hardswish_slope,
    [LOW(CBK_OP_CELU_BACKWARD)] = celu_slope,
    [LOW(CBK_OP_SELU_BACKWARD)] = selu_slope,
    [LOW(CBK_OP_HARDTANH_BACKWARD)] = hardtanh_slope,
    [LOW(CBK_OP_RELU6_BACKWARD)] = relu6_slope,
    [LOW(CBK_OP_SOFTSIGN_BACKWARD)] = softsign_slope,
    [LOW(CBK_OP_TANHSHRINK_BACKWARD)] = tanhshrink_slope,
    [LOW(CBK_OP_SOFTSHRINK_BACKWARD)] = shrink_slope,
    [LOW(CBK_OP_HARDSHRINK_BACKWARD)] = shrink_slope,
    [LOW(CBK_OP_THRESHOLD_BACKWARD)] = threshold_slope,
    [LOW(CBK_OP_THRESHOLDED_RELU_BACKWARD)] = threshold_slope,
};

/// Is the slope 0 or 1 everywhere? Then a gradient is kept or dropped, whatever it is.
static bool is_gate(function slope) {
    return slope == relu_slope || slope == hardtanh_slope || slope == relu6_slope ||
           slope == shrink_slope || slope == threshold_slope;
}

// ---- loops -------------------------------------------------------------------------------------

static struct constants read_constants(const cbk_op *op, cbk_dtype dtype) {
    const cbk_activation_params *params = op->params;
    if (op->params_size != sizeof *params) return (struct constants){0};
    return (struct constants){.variant = params->variant,
                              .alpha = cbk_ref_scalar_float(params->alpha, 0, dtype),
                              .beta = cbk_ref_scalar_float(params->beta, 0, dtype),
                              .is_f64 = dtype == CBK_DTYPE_F64};
}

static function find(const function *table, size_t count, cbk_opcode opcode) {
    return LOW(opcode) < count ? table[LOW(opcode)] : NULL;
}

cbk_status cbk_ref_activation(const cbk_op *op, const struct cbk_ref_view *x,
                              const struct cbk_ref_view *out) {
    const function forward = find(functions, sizeof functions / sizeof *functions, op->opcode);
    const struct constants constants = read_constants(op, x->dtype);
    if (forward == NULL) return cbk_ref_unknown(op);
    for (int64_t i = 0; i < out->count; i++) {
        double value = cbk_ref_get_float(x->data, x->dtype, cbk_ref_at(x, i));
        cbk_ref_put_result(out->data, out->dtype, cbk_ref_at(out, i), forward(value, &constants));
    }
    return CBK_OK;
}

/// glu: grad x s (1 - s), s the sigmoid of b, the gate; prelu: grad, times b, the slope, where x is
/// not positive.
static double gradient_of_two(cbk_opcode opcode, double x, double b, double grad) {
    if (opcode == CBK_OP_GLU_BACKWARD) return grad * (x * (logistic(b) * logistic(-b)));
    return x > 0 ? grad : grad * b;
}

static void backward_of_two(const cbk_op *op, const struct cbk_ref_view *out) {
    struct cbk_ref_view views[3];
    for (uint32_t i = 0; i < 3; i++) {
        views[i] = cbk_ref_view_of(op->inputs[i]);
        views[i] = cbk_ref_broadcast(&views[i], out->rank, out->shape);
    }
    for (int64_t i = 0; i < out->count; i++) {
        double x = cbk_ref_get_float(views[0].data, views[0].dtype, cbk_ref_at(&views[0], i));
        double b = cbk_ref_get_float(views[1].data, views[1].dtype, cbk_ref_at(&views[1], i));
        double grad = cbk_ref_get_float(views[2].data, views[2].dtype, cbk_ref_at(&views[2], i));
        cbk_ref_put_result(out->data, out->dtype, cbk_ref_at(out, i),
                           gradient_of_two(op->opcode, x, b, grad));
    }
}

cbk_status cbk_ref_activation_backward(struct cbk_ref_stream *stream, const cbk_op *op) {
    const struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    struct cbk_ref_view saved = cbk_ref_view_of(op->inputs[0]);
    struct cbk_ref_view grad = cbk_ref_view_of(op->inputs[1]);
    const function slope = find(slopes, sizeof slopes / sizeof *slopes, op->opcode);
    const struct constants constants = read_constants(op, saved.dtype);
    (void)stream;
    if (op->opcode == CBK_OP_GLU_BACKWARD || op->opcode == CBK_OP_PRELU_BACKWARD) {
        backward_of_two(op, &out);
        return CBK_OK;
    }
    if (slope == NULL) return cbk_ref_unknown(op);
    saved = cbk_ref_broadcast(&saved, out.rank, out.shape);
    grad = cbk_ref_broadcast(&grad, out.rank, out.shape);
    for (int64_t i = 0; i < out.count; i++) {
        double x = cbk_ref_get_float(saved.data, saved.dtype, cbk_ref_at(&saved, i));
        double g = cbk_ref_get_float(grad.data, grad.dtype, cbk_ref_at(&grad, i));
        double s = slope(x, &constants);
        cbk_ref_put_result(out.data, out.dtype, cbk_ref_at(&out, i),
                           s == 0 && is_gate(slope) ? 0 : s * g);
    }
    return CBK_OK;
}
