// test_unary.c: every unary operation against the reference.

#include "runner.h"

struct row {
    cbk_opcode opcode;
    const cbk_dtype *dtypes;
    double ulps;     ///< of f32 and f64 results
    double gpu_ulps; ///< where a device other than a CPU may differ more
    double flushed;  ///< smallest normal numbers that a result near 0 may lack
};

static const cbk_dtype computed[] = {
    CBK_DTYPE_F64,    CBK_DTYPE_F32,  CBK_DTYPE_F16,    CBK_DTYPE_BF16,
    CBK_DTYPE_FLEX32, CBK_DTYPE_I64,  CBK_DTYPE_I32,    CBK_DTYPE_I16,
    CBK_DTYPE_I8,     CBK_DTYPE_U64,  CBK_DTYPE_U32,    CBK_DTYPE_U16,
    CBK_DTYPE_U8,     CBK_DTYPE_BOOL, CBK_DTYPE_BOOL32, 0};

// Bounds are those of the OpenCL specification's full profile; see docs/numerics.md.
static const struct row rows[] = {
    {CBK_OP_NEG, test_numbers, 0, 0, 0},       {CBK_OP_ABS, test_numbers, 0, 0, 0},
    {CBK_OP_SIGN, test_numbers, 0, 0, 0},      {CBK_OP_RECIP, test_floats, 0, 3, 0},
    {CBK_OP_SQUARE, test_numbers, 0, 0, 0},    {CBK_OP_SQRT, test_floats, 0, 3, 0},
    {CBK_OP_RSQRT, test_floats, 2, 2, 1},      {CBK_OP_EXP, test_floats, 3, 3, 1},
    {CBK_OP_EXPM1, test_floats, 3, 3, 1},      {CBK_OP_LOG, test_floats, 3, 3, 1},
    {CBK_OP_LOG1P, test_floats, 2, 2, 1},      {CBK_OP_SIN, test_floats, 4, 4, 1},
    {CBK_OP_COS, test_floats, 4, 4, 1},        {CBK_OP_TAN, test_floats, 5, 5, 1},
    {CBK_OP_ASIN, test_floats, 4, 4, 1},       {CBK_OP_ACOS, test_floats, 4, 4, 1},
    {CBK_OP_ATAN, test_floats, 5, 5, 1},       {CBK_OP_SINH, test_floats, 4, 4, 1},
    {CBK_OP_COSH, test_floats, 4, 4, 1},       {CBK_OP_TANH, test_floats, 5, 5, 1},
    {CBK_OP_ASINH, test_floats, 4, 4, 1},      {CBK_OP_ACOSH, test_floats, 4, 4, 1},
    {CBK_OP_ATANH, test_floats, 5, 5, 1},      {CBK_OP_ERF, test_floats, 16, 16, 1},
    {CBK_OP_FLOOR, test_numbers, 0, 0, 0},     {CBK_OP_CEIL, test_numbers, 0, 0, 0},
    {CBK_OP_ROUND, test_numbers, 0, 0, 0},     {CBK_OP_TRUNC, test_numbers, 0, 0, 0},
    {CBK_OP_LOGICAL_NOT, computed, 0, 0, 0},   {CBK_OP_BITWISE_NOT, test_ints_and_bools, 0, 0, 0},
    {CBK_OP_IS_NAN, test_numbers, 0, 0, 0},    {CBK_OP_IS_INF, test_numbers, 0, 0, 0},
    {CBK_OP_IS_FINITE, test_numbers, 0, 0, 0}, {CBK_OP_RELU, test_numbers, 0, 0, 0},
    {CBK_OP_SIGMOID, test_floats, 7, 7, 1},    {CBK_OP_LOG_SIGMOID, test_floats, 6, 6, 1},
    {CBK_OP_SILU, test_floats, 8, 8, 128},     {CBK_OP_MISH, test_floats, 12, 12, 128},
    {CBK_OP_SELU, test_floats, 4, 4, 1},       {CBK_OP_HARDSWISH, test_floats, 2, 4, 1},
    {CBK_OP_RELU6, test_floats, 0, 0, 0},      {CBK_OP_SOFTSIGN, test_floats, 2, 4, 1},
    {CBK_OP_TANHSHRINK, test_floats, 6, 6, 1},
};

static bool answers_bool(cbk_opcode opcode) {
    return opcode == CBK_OP_LOGICAL_NOT || opcode == CBK_OP_IS_NAN || opcode == CBK_OP_IS_INF ||
           opcode == CBK_OP_IS_FINITE;
}

static void add_plain_rows(struct test_list *list) {
    cbk_dtype dtypes[20];
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        uint32_t count = test_pick_dtypes(row->dtypes, i, 1, dtypes);
        for (uint32_t d = 0; d < count; d++) {
            struct test_spec spec = {.opcode = row->opcode, .input_count = 1};
            spec.inputs[0].dtype = dtypes[d];
            spec.inputs[0].data = TEST_EDGES;
            spec.tolerance = test_ulps(dtypes[d], row->ulps, row->flushed);
            spec.tolerance.gpu_ulps = row->gpu_ulps;
            bool in_place = !answers_bool(row->opcode) || dtypes[d] >= CBK_DTYPE_BOOL;
            test_add_pointwise(list, &spec, i * 3 + d, in_place, "");
        }
    }
}

// ---- activations with constants ----------------------------------------------------------------

/// |x| as f64: the absolute error of gelu is proportional to it where 1 + erf cancels.
static cbk_tensor *size_of_input(cbk_stream *stream, const struct test_spec *spec,
                                 cbk_tensor *const *inputs) {
    cbk_tensor *wide = NULL, *size = NULL;
    (void)spec;
    if (cbk_cast(stream, inputs[0], CBK_DTYPE_F64, &wide) == CBK_OK)
        (void)cbk_abs(stream, wide, &size);
    cbk_tensor_release(&wide);
    return size;
}

struct activation {
    cbk_opcode opcode;
    cbk_activation_params params;
    double ulps, flushed;
    double of_unit;  ///< absolute error in steps of 2^-24 (f64: 2^-53)
    double of_input; ///< the same times |x|
    const char *suffix;
};

static void add_activations(struct test_list *list) {
    const struct activation activations[] = {
        // erf within 16 steps below 1, a sum, and two products: 10 steps of |x|.
        {CBK_OP_GELU, {.variant = CBK_GELU_EXACT}, 4, 1, 0, 10, "exact"},
        {CBK_OP_GELU, {.variant = CBK_GELU_TANH}, 4, 1, 0, 6, "tanh"},
        {CBK_OP_LEAKY_RELU, {.alpha = {0}}, 0, 0, 0, 0, "default"},
        {CBK_OP_LEAKY_RELU, {.alpha = cbk_f(-0.3)}, 0, 0, 0, 0, "-0.3"},
        {CBK_OP_ELU, {.alpha = {0}}, 4, 1, 0, 0, "default"},
        {CBK_OP_ELU, {.alpha = cbk_f(1.7)}, 4, 1, 0, 0, "1.7"},
        {CBK_OP_HARD_SIGMOID, {.alpha = {0}}, 1, 0, 1, 0, "default"},
        {CBK_OP_HARD_SIGMOID, {.alpha = cbk_f(0.2), .beta = cbk_f(0.4)}, 1, 0, 1, 0, "0.2 0.4"},
        {CBK_OP_SOFTPLUS, {.alpha = {0}}, 8, 1, 0, 0, "default"},
        {CBK_OP_SOFTPLUS, {.alpha = cbk_f(2), .beta = cbk_f(4)}, 8, 1, 0, 0, "2 4"},
        {CBK_OP_CELU, {.alpha = {0}}, 4, 1, 0, 0, "default"},
        {CBK_OP_CELU, {.alpha = cbk_f(2)}, 5, 2, 0, 0, "2"},
        {CBK_OP_HARDTANH, {.alpha = {0}}, 0, 0, 0, 0, "default"},
        {CBK_OP_HARDTANH, {.alpha = cbk_f(0.3), .beta = cbk_f(2.1)}, 0, 0, 0, 0, "0.3 2.1"},
        {CBK_OP_SOFTSHRINK, {.alpha = {0}}, 0, 0, 0, 0, "default"},
        {CBK_OP_SOFTSHRINK, {.alpha = cbk_f(1.7)}, 0, 0, 0, 0, "1.7"},
        {CBK_OP_HARDSHRINK, {.alpha = {0}}, 0, 0, 0, 0, "default"},
        {CBK_OP_HARDSHRINK, {.alpha = cbk_f(2)}, 0, 0, 0, 0, "2"},
        {CBK_OP_THRESHOLD, {.alpha = {0}}, 0, 0, 0, 0, "default"},
        {CBK_OP_THRESHOLD, {.alpha = cbk_f(1), .beta = cbk_f(-0.3)}, 0, 0, 0, 0, "1 -0.3"},
        {CBK_OP_THRESHOLDED_RELU, {.alpha = {0}}, 0, 0, 0, 0, "default"},
        {CBK_OP_THRESHOLDED_RELU, {.alpha = cbk_f(0)}, 0, 0, 0, 0, "0"},
    };
    cbk_dtype dtypes[20];
    for (uint32_t i = 0; i < sizeof activations / sizeof *activations; i++) {
        const struct activation *row = &activations[i];
        uint32_t count = test_pick_dtypes(test_floats, i, 1, dtypes);
        for (uint32_t d = 0; d < count; d++) {
            struct test_spec spec = {.opcode = row->opcode, .input_count = 1};
            spec.inputs[0].dtype = dtypes[d];
            spec.inputs[0].data = TEST_EDGES;
            spec.params.activation = row->params;
            spec.params.struct_size = spec.params_size = sizeof spec.params.activation;
            spec.tolerance = test_ulps(dtypes[d], row->ulps, row->flushed);
            spec.tolerance.absolute += row->of_unit * test_unit_roundoff(dtypes[d]);
            spec.tolerance.relative = row->of_input * test_unit_roundoff(dtypes[d]);
            if (row->of_input > 0) spec.magnitude = size_of_input;
            test_add_pointwise(list, &spec, i * 2 + d, true, row->suffix);
        }
    }
}

int main(void) {
    struct test_list list = {0};
    add_plain_rows(&list);
    add_activations(&list);
    return test_run_list("unary", &list);
}
