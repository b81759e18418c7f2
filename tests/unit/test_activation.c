// test_activation.c: gradients of activations are the derivatives of their forward forms, by
// differences in f64 on the reference backend; NaN and infinite operands.
#include "table.h"

#include <cubeback/backend.h>

#include <math.h>
#include <string.h>

enum { COUNT = 241 };
#define STEP 1e-5

struct pair {
    cbk_opcode forward, backward;
    bool saves_output;
    uint32_t variant;
    double kinks[2]; ///< where there is no derivative
};

#define PAIR(name, ...)                                                                            \
    { CBK_OP_##name, CBK_OP_##name##_BACKWARD, __VA_ARGS__ }
static const struct pair pairs[] = {
    PAIR(RELU, true, 0, {0, 0}),
    PAIR(SIGMOID, true, 0, {99, 99}),
    PAIR(TANH, true, 0, {99, 99}),
    PAIR(GELU, false, CBK_GELU_EXACT, {99, 99}),
    PAIR(GELU, false, CBK_GELU_TANH, {99, 99}),
    PAIR(LOG_SIGMOID, false, 0, {99, 99}),
    PAIR(SILU, false, 0, {99, 99}),
    PAIR(SOFTPLUS, false, 0, {99, 99}),
    PAIR(MISH, false, 0, {99, 99}),
    PAIR(LEAKY_RELU, false, 0, {0, 0}),
    PAIR(ELU, false, 0, {0, 0}),
    PAIR(HARD_SIGMOID, false, 0, {-3, 3}),
    PAIR(HARDSWISH, false, 0, {-3, 3}),
    PAIR(CELU, false, 0, {0, 0}),
    PAIR(SELU, false, 0, {0, 0}),
    PAIR(HARDTANH, false, 0, {-1, 1}),
    PAIR(RELU6, false, 0, {0, 6}),
    PAIR(SOFTSIGN, false, 0, {0, 0}),
    PAIR(TANHSHRINK, false, 0, {99, 99}),
    PAIR(SOFTSHRINK, false, 0, {-0.5, 0.5}),
    PAIR(HARDSHRINK, false, 0, {-0.5, 0.5}),
    PAIR(THRESHOLD, false, 0, {0, 0}),
    PAIR(THRESHOLDED_RELU, false, 0, {1, 1}),
};

static void run(const struct pair *pair, cbk_opcode opcode, cbk_tensor *const *inputs,
                uint32_t count, double *out) {
    const cbk_activation_params params = CBK_INIT(cbk_activation_params, .variant = pair->variant);
    const bool has_params = cbk_op_info_of(opcode)->params_size != 0;
    cbk_tensor *result = NULL;
    const cbk_op op =
        CBK_INIT(cbk_op, .opcode = opcode, .input_count = count, .output_count = 1,
                 .inputs = inputs, .outputs = &result, .params = has_params ? &params : NULL,
                 .params_size = has_params ? sizeof params : 0);
    assert_ok(cbk_execute(test_table_stream, &op));
    assert_ok(cbk_tensor_read(test_table_stream, result, out, COUNT * sizeof *out));
    cbk_tensor_release(&result);
}

static void forward(const struct pair *pair, const double *x, double *out) {
    cbk_tensor *input = test_vector(CBK_DTYPE_F64, COUNT, x);
    run(pair, pair->forward, &input, 1, out);
    cbk_tensor_release(&input);
}

static void backward(const struct pair *pair, const double *x, const double *grad, double *out) {
    double saved[COUNT];
    if (pair->saves_output)
        forward(pair, x, saved);
    else
        memcpy(saved, x, sizeof saved);
    cbk_tensor *inputs[2] = {test_vector(CBK_DTYPE_F64, COUNT, saved),
                             test_vector(CBK_DTYPE_F64, COUNT, grad)};
    run(pair, pair->backward, inputs, 2, out);
    cbk_tensor_release(&inputs[0]);
    cbk_tensor_release(&inputs[1]);
}

static bool is_near_kink(const struct pair *pair, double x) {
    return fabs(x - pair->kinks[0]) < 2 * STEP || fabs(x - pair->kinks[1]) < 2 * STEP;
}

static void gradients_are_derivatives(void **state) {
    (void)state;
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        double x[COUNT], low[COUNT], high[COUNT], y_low[COUNT], y_high[COUNT], grad[COUNT];
        double got[COUNT];
        for (int i = 0; i < COUNT; i++) {
            x[i] = -12 + i * 0.1;
            low[i] = x[i] - STEP;
            high[i] = x[i] + STEP;
            grad[i] = 1.5 - 0.01 * i;
        }
        forward(&pairs[p], low, y_low);
        forward(&pairs[p], high, y_high);
        backward(&pairs[p], x, grad, got);
        for (int i = 0; i < COUNT; i++) {
            double want = grad[i] * (y_high[i] - y_low[i]) / (2 * STEP);
            if (is_near_kink(&pairs[p], x[i]) || fabs(want - got[i]) < 2e-9) continue;
            fail_msg("%s at %g: difference %.12g, gradient %.12g",
                     cbk_op_info_of(pairs[p].backward)->name, x[i], want, got[i]);
        }
    }
}

/// At infinities derivatives have their limits, at NaN the pieces that hand NaN on.
static void limits_are_right(void **state) {
    (void)state;
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        double x[COUNT] = {-INFINITY, INFINITY, -700, 700, NAN}, grad[COUNT], got[COUNT];
        for (int i = 0; i < COUNT; i++) grad[i] = 1;
        backward(&pairs[p], x, grad, got);
        assert_true(fabs(got[0] - got[2]) < 1e-5);
        assert_true(fabs(got[1] - got[3]) < 1e-5);
        double y[COUNT];
        forward(&pairs[p], x, y);
        assert_false(isnan(y[0]) || isnan(y[1]));
        assert_true(isnan(y[4]));
        assert_true(isnan(got[4]) || got[4] != 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_derivatives),
        cmocka_unit_test(limits_are_right),
    };
    return cmocka_run_group_tests_name("activation", tests, test_table_open, test_table_close);
}
