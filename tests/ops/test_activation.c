// test_activation.c: gradients of activations against the reference.

#include "runner.h"

struct row {
    cbk_opcode opcode;
    cbk_activation_params params;
    double ulps;
    double of_grad;      ///< absolute error in steps of 2^-24 (f64: 2^-53) times |grad|
    enum test_data data; ///< of what was saved
    const char *suffix;
};

/// |grad| as f64: where a sum of two terms cancels, the error is proportional to it.
static cbk_tensor *size_of_grad(cbk_stream *stream, const struct test_spec *spec,
                                cbk_tensor *const *inputs) {
    cbk_tensor *wide = NULL, *size = NULL, *zeros = NULL, *full = NULL;
    (void)spec;
    if (cbk_cast(stream, inputs[1], CBK_DTYPE_F64, &wide) == CBK_OK &&
        cbk_abs(stream, wide, &size) == CBK_OK &&
        cbk_cast(stream, inputs[0], CBK_DTYPE_BOOL, &zeros) == CBK_OK)
        (void)cbk_where(stream, zeros, size, size, &full); // stretched to the output's shape
    cbk_tensor_release(&wide);
    cbk_tensor_release(&size);
    cbk_tensor_release(&zeros);
    return full;
}

static void add(struct test_list *list, const struct row *row, uint32_t number) {
    cbk_dtype dtypes[20];
    uint32_t count = test_pick_dtypes(test_floats, number, 1, dtypes);
    for (uint32_t d = 0; d < count; d++) {
        struct test_spec spec = {.opcode = row->opcode, .input_count = 2};
        spec.inputs[0] = (struct test_operand){.dtype = dtypes[d], .data = row->data};
        spec.inputs[1] = (struct test_operand){.dtype = dtypes[d], .data = TEST_MODERATE};
        spec.params.activation = row->params;
        spec.params.struct_size = spec.params_size = sizeof spec.params.activation;
        spec.tolerance = test_ulps(dtypes[d], row->ulps, row->ulps > 0 ? 16 : 0);
        spec.tolerance.relative = row->of_grad * test_unit_roundoff(dtypes[d]);
        if (row->of_grad > 0) spec.magnitude = size_of_grad;
        test_add_pointwise(list, &spec, number * 2 + d, true, row->suffix);
    }
}

/// Gradients of x and a gate or slope; `edges`: the operand with edge values.
static void add_of_two(struct test_list *list, cbk_opcode opcode, uint32_t edges, double ulps,
                       uint32_t number) {
    cbk_dtype dtypes[20];
    uint32_t count = test_pick_dtypes(test_floats, number, 1, dtypes);
    for (uint32_t d = 0; d < count; d++) {
        struct test_spec spec = {.opcode = opcode, .input_count = 3};
        for (uint32_t i = 0; i < 3; i++)
            spec.inputs[i] = (struct test_operand){.dtype = dtypes[d],
                                                   .data = i == edges ? TEST_EDGES : TEST_MODERATE};
        spec.tolerance = test_ulps(dtypes[d], ulps, ulps > 0 ? 128 : 0);
        test_add_pointwise(list, &spec, number + d, true, "");
    }
}

int main(void) {
    const struct row rows[] = {
        {CBK_OP_RELU_BACKWARD, {0}, 0, 0, TEST_EDGES, ""},
        {CBK_OP_SIGMOID_BACKWARD, {0}, 2, 0, TEST_UNIT, ""},
        {CBK_OP_TANH_BACKWARD, {0}, 2, 0, TEST_UNIT, ""},
        {CBK_OP_GELU_BACKWARD, {.variant = CBK_GELU_EXACT}, 8, 8, TEST_EDGES, "exact"},
        {CBK_OP_GELU_BACKWARD, {.variant = CBK_GELU_TANH}, 8, 16, TEST_EDGES, "tanh"},
        {CBK_OP_LOG_SIGMOID_BACKWARD, {0}, 8, 0, TEST_EDGES, ""},
        {CBK_OP_SILU_BACKWARD, {0}, 8, 8, TEST_EDGES, ""},
        {CBK_OP_SOFTPLUS_BACKWARD, {0}, 8, 0, TEST_EDGES, "default"},
        {CBK_OP_SOFTPLUS_BACKWARD, {0, 0, cbk_f(2), cbk_f(4)}, 8, 0, TEST_EDGES, "2 4"},
        {CBK_OP_MISH_BACKWARD, {0}, 12, 8, TEST_EDGES, ""},
        {CBK_OP_LEAKY_RELU_BACKWARD, {0}, 0, 0, TEST_EDGES, "default"},
        {CBK_OP_LEAKY_RELU_BACKWARD, {0, 0, cbk_f(-0.3), {0}}, 0, 0, TEST_EDGES, "-0.3"},
        {CBK_OP_ELU_BACKWARD, {0}, 5, 0, TEST_EDGES, "default"},
        {CBK_OP_ELU_BACKWARD, {0, 0, cbk_f(1.7), {0}}, 5, 0, TEST_EDGES, "1.7"},
        {CBK_OP_HARD_SIGMOID_BACKWARD, {0}, 0, 0, TEST_EDGES, "default"},
        {CBK_OP_HARD_SIGMOID_BACKWARD, {0, 0, cbk_f(0.2), cbk_f(0.4)}, 0, 0, TEST_EDGES, "0.2"},
        {CBK_OP_HARDSWISH_BACKWARD, {0}, 3, 0, TEST_EDGES, ""},
        {CBK_OP_CELU_BACKWARD, {0}, 5, 0, TEST_EDGES, "default"},
        {CBK_OP_CELU_BACKWARD, {0, 0, cbk_f(2), {0}}, 5, 0, TEST_EDGES, "2"},
        {CBK_OP_SELU_BACKWARD, {0}, 5, 0, TEST_EDGES, ""},
        {CBK_OP_HARDTANH_BACKWARD, {0}, 0, 0, TEST_EDGES, "default"},
        {CBK_OP_HARDTANH_BACKWARD, {0, 0, cbk_f(0.3), cbk_f(2)}, 0, 0, TEST_EDGES, "0.3 2"},
        {CBK_OP_RELU6_BACKWARD, {0}, 0, 0, TEST_EDGES, ""},
        {CBK_OP_SOFTSIGN_BACKWARD, {0}, 5, 0, TEST_EDGES, ""},
        {CBK_OP_TANHSHRINK_BACKWARD, {0}, 12, 0, TEST_EDGES, ""},
        {CBK_OP_SOFTSHRINK_BACKWARD, {0}, 0, 0, TEST_EDGES, "default"},
        {CBK_OP_HARDSHRINK_BACKWARD, {0, 0, cbk_f(2), {0}}, 0, 0, TEST_EDGES, "2"},
        {CBK_OP_THRESHOLD_BACKWARD, {0, 0, cbk_f(1), {0}}, 0, 0, TEST_EDGES, "1"},
        {CBK_OP_THRESHOLDED_RELU_BACKWARD, {0}, 0, 0, TEST_EDGES, "default"},
    };
    struct test_list list = {0};
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) add(&list, &rows[i], i);
    add_of_two(&list, CBK_OP_GLU_BACKWARD, 1, 12, 3);
    add_of_two(&list, CBK_OP_PRELU_BACKWARD, 0, 0, 4);
    return test_run_list("activation", &list);
}
