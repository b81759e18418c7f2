// test_norm.c: normalisations, their gradients and those of softmax against the reference.

#include "runner.h"

#include <cubeback/backend.h>

#include <stdio.h>

/// x's shape and how many of its last axes make a row.
struct form {
    uint32_t rank;
    int shape[4];
    uint32_t axis_count;
};
static const struct form forms[] = {
    {1, {1000}, 1},       {2, {17, 33}, 1},     {2, {1030, 8}, 1},  {3, {3, 5, 70}, 2},
    {2, {3, 5000}, 1},    {4, {2, 3, 4, 5}, 3}, {2, {5, 1}, 1},     {2, {3, 17000}, 1},
    {3, {2, 300, 64}, 1}, {2, {5, 1024}, 1},    {2, {3, 16384}, 1}, {2, {2, 8200}, 0},
    {2, {0, 8}, 1},       {2, {3, 0}, 1},
};
#define FORM_COUNT (sizeof forms / sizeof *forms)

static uint32_t rows_axes(const struct form *form) {
    return form->axis_count ? form->axis_count : 1;
}

/// gamma or beta of a form.
static struct test_operand factor(const struct form *form, cbk_dtype dtype, enum test_view view) {
    const uint32_t count = rows_axes(form);
    const int *s = form->shape + form->rank - count;
    return test_input(dtype, view, TEST_MODERATE, count, s[0], count > 1 ? s[1] : 1,
                      count > 2 ? s[2] : 1);
}

static enum test_view pick(uint32_t number) {
    return (enum test_view)(number % TEST_VIEW_COUNT);
}

/// Results of terms of up to 8 in size that may cancel: `roundings` of them.
static struct test_tolerance within(cbk_dtype dtype, double roundings) {
    struct test_tolerance tolerance = test_ulps(dtype, 32, 1);
    tolerance.absolute = roundings * 8 * test_unit_roundoff(dtype);
    if (dtype == CBK_DTYPE_F16) tolerance.absolute += 0x1p-24;
    return tolerance;
}

static void set_outputs(struct test_spec *spec, uint32_t number) {
    spec->output_count = cbk_op_info_of(spec->opcode)->output_count;
    if (number % 4 != 2) return;
    spec->output = TEST_INTO;
    spec->output_view = (enum test_view)(number % TEST_EXPANDED);
}

static void add_forward(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype,
                        const struct form *form, uint32_t number) {
    struct test_spec spec = {.opcode = opcode};
    const int *s = form->shape;
    const uint32_t most = opcode == CBK_OP_RMS_NORM ? 2 : 3;
    spec.input_count = 1 + number % most;
    // Rows of equal elements have no variance, so the rounding of their mean would be the result: it
    // must be exact.
    spec.inputs[0] =
        test_input(dtype, pick(number), TEST_MODERATE, form->rank, s[0], s[1], s[2], s[3]);
    if (spec.inputs[0].view == TEST_EXPANDED) spec.inputs[0].data = TEST_COARSE;
    for (uint32_t i = 1; i < spec.input_count; i++)
        spec.inputs[i] = factor(form, dtype, pick(number + i));
    const bool has_spread = spec.inputs[0].view != TEST_EXPANDED;
    test_set_params(&spec, layer_norm, .axis_count = form->axis_count,
                    .eps = number % 2 || !has_spread ? 0 : 0.25);
    spec.tolerance = within(dtype, 16);
    set_outputs(&spec, number);
    char suffix[32];
    snprintf(suffix, sizeof suffix, "%u axes", (unsigned)form->axis_count);
    test_add(list, &spec, suffix);
}

static void add_backward(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype,
                         const struct form *form, uint32_t number) {
    struct test_spec spec = {.opcode = opcode, .input_count = 2 + number % 2};
    const int *s = form->shape;
    for (uint32_t i = 0; i < 2; i++)
        spec.inputs[i] =
            test_input(dtype, pick(number + i), TEST_MODERATE, form->rank, s[0], s[1], s[2], s[3]);
    spec.inputs[2] = factor(form, dtype, pick(number + 2));
    test_set_params(&spec, layer_norm, .axis_count = form->axis_count, .eps = 0.25);
    spec.tolerance = within(dtype, 128);
    double rows = 32; // sums over rows: a chain of up to 256, then a tree
    for (uint32_t i = 0; i + rows_axes(form) < form->rank; i++) rows *= form->shape[i];
    for (int k = 0; k < 2; k++) spec.more_tolerances[k] = within(dtype, rows);
    set_outputs(&spec, number);
    char suffix[32];
    snprintf(suffix, sizeof suffix, "%u axes", (unsigned)form->axis_count);
    test_add(list, &spec, suffix);
}

static void add_softmax_backward(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype,
                                 const struct form *form, uint32_t number) {
    struct test_spec spec = {.opcode = opcode, .input_count = 2};
    const int *s = form->shape;
    const int32_t axis = (int32_t)(number % form->rank);
    for (uint32_t i = 0; i < 2; i++)
        spec.inputs[i] = test_input(dtype, pick(number + 2 * i), i ? TEST_MODERATE : TEST_UNIT,
                                    form->rank, s[0], s[1], s[2], s[3]);
    test_set_params(&spec, axis, .axis = axis);
    spec.tolerance = within(dtype, 2048); // sums of up to 17000 terms of up to 8
    set_outputs(&spec, number);
    char suffix[32];
    snprintf(suffix, sizeof suffix, "axis %d", (int)axis);
    test_add(list, &spec, suffix);
}

static void add_batch_norm(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    static const struct {
        uint32_t rank;
        int shape[4];
    } shapes[] = {
        {4, {2, 3, 7, 9}}, {2, {33, 20}}, {3, {4, 8, 64}}, {4, {3, 16, 4, 4}}, {2, {0, 3}}};
    for (uint32_t f = 0; f < sizeof shapes / sizeof *shapes; f++) {
        const int *s = shapes[f].shape;
        for (uint32_t v = 0; v < 3; v++) {
            struct test_spec spec = {.opcode = CBK_OP_BATCH_NORM, .input_count = 3 + v % 3};
            const uint32_t turn = number + f + v;
            spec.inputs[0] = test_input(dtype, v ? pick(turn) : TEST_CONTIGUOUS, TEST_MODERATE,
                                        shapes[f].rank, s[0], s[1], s[2], s[3]);
            for (uint32_t i = 1; i < spec.input_count; i++)
                spec.inputs[i] = test_input(dtype, pick(turn + i),
                                            i == 2 ? TEST_POSITIVE : TEST_MODERATE, 1, s[1]);
            test_set_params(&spec, layer_norm, .eps = 0.001);
            spec.tolerance = within(dtype, 64);
            set_outputs(&spec, turn);
            test_add(list, &spec, "");
        }
    }
}

int main(void) {
    struct test_list list = {0};
    for (uint32_t d = 0; test_floats[d]; d++) {
        const cbk_dtype dtype = test_floats[d];
        for (uint32_t f = 0; f < FORM_COUNT; f++) {
            const uint32_t number = 3 * f + d;
            // A program takes a second or two to build: dtypes share the forms between them.
            const bool is_whole = test_is_full() || dtype == CBK_DTYPE_F32;
            if (!is_whole && (f + d) % 4) continue;
            for (uint32_t turn = 0; turn < (is_whole ? 2 : 1); turn++) {
                add_forward(&list, CBK_OP_LAYER_NORM, dtype, &forms[f], number + turn);
                add_forward(&list, CBK_OP_RMS_NORM, dtype, &forms[f], number + turn);
            }
            add_backward(&list, CBK_OP_LAYER_NORM_BACKWARD, dtype, &forms[f], number);
            add_backward(&list, CBK_OP_RMS_NORM_BACKWARD, dtype, &forms[f], number + 1);
            add_softmax_backward(&list, CBK_OP_SOFTMAX_BACKWARD, dtype, &forms[f], number);
            add_softmax_backward(&list, CBK_OP_LOG_SOFTMAX_BACKWARD, dtype, &forms[f], number + 1);
        }
        add_batch_norm(&list, dtype, d);
    }
    const uint32_t constant[] = {1, 4, 7, 11}; // the axis that a row is of stands still
    for (uint32_t i = 0; i < sizeof constant / sizeof *constant; i++)
        add_forward(&list, CBK_OP_LAYER_NORM, CBK_DTYPE_F32, &forms[constant[i]], TEST_EXPANDED);
    return test_run_list("norm", &list);
}
