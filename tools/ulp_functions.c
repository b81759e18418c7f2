/// ulp_functions.c: see ulp_functions.h.
#include "ulp_functions.h"

#include <float.h>
#include <math.h>

#define PI 3.14159265358979323846

static double recip(double x) {
    return 1 / x;
}
static double rsqrt(double x) {
    return 1 / sqrt(x);
}
static double sigmoid(double x) {
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}
static double log_sigmoid(double x) {
    return isnan(x) ? x : fmin(x, 0) - log1p(exp(-fabs(x)));
}
/// x times a factor that falls faster than x grows: 0 in the limit.
static double times(double x, double vanishing) {
    return vanishing == 0 ? 0 : x * vanishing;
}
static double silu(double x) {
    return times(x, sigmoid(x));
}
static double log1p_exp(double x) {
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}
static double softplus(double x) {
    return x > 20 ? x : log1p_exp(x);
}
static double mish(double x) {
    return times(x, tanh(log1p_exp(x)));
}
static double gelu(double x) {
    return times(x, 0.5 * erfc(-x / sqrt(2.0)));
}
static double gelu_tanh(double x) {
    return times(x, sigmoid(2 * sqrt(2 / PI) * (x + 0.044715 * x * x * x)));
}
static double elu(double x) {
    return x > 0 ? x : expm1(x);
}
static double celu(double x) {
    return elu(x); // alpha is 1
}
static double hard_sigmoid(double x) {
    const double line = (double)(float)(1.0 / 6) * x + 0.5;
    return line < 0 ? 0 : line > 1 ? 1 : line;
}
static double selu(double x) {
    return 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * expm1(x));
}
static double softsign(double x) {
    return isinf(x) ? copysign(1, x) : x / (1 + fabs(x));
}
static double hardswish(double x) {
    return x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6;
}
static double tanhshrink(double x) {
    const double s = x * x;
    if (fabs(x) > 0.1) return x - tanh(x);
    return x * s *
           (1.0 / 3 - s * (2.0 / 15 - s * (17.0 / 315 - s * (62.0 / 2835 - s * 1382 / 155925))));
}

static double divide(double a, double b) {
    return a / b;
}
static double glu(double x, double gate) {
    return x * sigmoid(gate);
}

#define ONE(name_, OP, ulps_, flushed_)                                                            \
    { .name = #name_, .opcode = CBK_OP_##OP, .one = name_, .ulps = ulps_, .flushed = flushed_ }
#define TWO(name_, OP, ulps_)                                                                      \
    { .name = #name_, .opcode = CBK_OP_##OP, .two = name_, .ulps = ulps_, .flushed = 1 }
/// Correctly rounded on CPUs.
#define ROUNDED(name_, OP, argument_, function_, ulps_)                                            \
    {                                                                                              \
        .name = name_, .opcode = CBK_OP_##OP, .argument_ = function_, .ulps = ulps_,               \
        .rounded_on_cpus = true                                                                    \
    }
#define GELU(name_, VARIANT, ulps_, of_input_)                                                     \
    {                                                                                              \
        .name = #name_, .opcode = CBK_OP_GELU, .one = name_, .ulps = ulps_, .flushed = 1,          \
        .of_input = of_input_, .has_params = true, .variant = VARIANT                              \
    }

const struct ulp_function ulp_functions[] = {
    ROUNDED("recip", RECIP, one, recip, 3),
    ROUNDED("sqrt", SQRT, one, sqrt, 3),
    ONE(rsqrt, RSQRT, 2, 1),
    ONE(exp, EXP, 3, 1),
    ONE(expm1, EXPM1, 3, 1),
    ONE(log, LOG, 3, 1),
    ONE(log1p, LOG1P, 2, 1),
    ONE(sin, SIN, 4, 1),
    ONE(cos, COS, 4, 1),
    ONE(tan, TAN, 5, 1),
    ONE(asin, ASIN, 4, 1),
    ONE(acos, ACOS, 4, 1),
    ONE(atan, ATAN, 5, 1),
    ONE(sinh, SINH, 4, 1),
    ONE(cosh, COSH, 4, 1),
    ONE(tanh, TANH, 5, 1),
    ONE(asinh, ASINH, 4, 1),
    ONE(acosh, ACOSH, 4, 1),
    ONE(atanh, ATANH, 5, 1),
    ONE(erf, ERF, 16, 1),
    ONE(sigmoid, SIGMOID, 7, 1),
    ONE(log_sigmoid, LOG_SIGMOID, 6, 1),
    ONE(silu, SILU, 8, 128),
    ONE(softplus, SOFTPLUS, 8, 1),
    ONE(mish, MISH, 12, 128),
    GELU(gelu, CBK_GELU_EXACT, 4, 10),
    GELU(gelu_tanh, CBK_GELU_TANH, 4, 6),
    ONE(elu, ELU, 4, 1),
    ONE(celu, CELU, 4, 1),
    ONE(selu, SELU, 4, 1),
    ONE(softsign, SOFTSIGN, 2, 1),
    {.name = "hard_sigmoid",
     .opcode = CBK_OP_HARD_SIGMOID,
     .one = hard_sigmoid,
     .ulps = 1,
     .of_unit = 1},
    ONE(hardswish, HARDSWISH, 2, 1),
    ONE(tanhshrink, TANHSHRINK, 6, 1),
    ROUNDED("div", DIV, two, divide, 3),
    TWO(pow, POW, 16),
    TWO(atan2, ATAN2, 6),
    TWO(hypot, HYPOT, 4),
    // The gate's part may be flushed to 0 before it meets x.
    {.name = "glu",
     .opcode = CBK_OP_GLU,
     .two = glu,
     .ulps = 8,
     .flushed = 1,
     .of_input = FLT_MIN / 0x1p-24},
};
const uint32_t ulp_function_count = sizeof ulp_functions / sizeof *ulp_functions;
