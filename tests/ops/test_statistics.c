// test_statistics.c: variances, norms, logsumexp, extrema of sizes and extrema with indices.

#include "runner.h"

#include <cubeback/backend.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

struct form {
    uint32_t rank;
    int shape[4];
    uint32_t axis_count; ///< 0: all
    int32_t axes[3];
    uint32_t drop_axes;
};

static const struct form forms[] = {
    {1, {5003}, 0, {0}, 0},      {2, {13, 1029}, 1, {1}, 0},     {2, {700, 9}, 1, {0}, 1},
    {3, {5, 37, 19}, 1, {1}, 0}, {3, {5, 37, 19}, 2, {0, 2}, 1}, {4, {3, 4, 5, 6}, 2, {1, -1}, 0},
    {2, {33, 64}, 1, {-1}, 1},   {3, {7, 8, 9}, 0, {0}, 0},      {2, {1, 300}, 1, {0}, 0},
    {1, {1}, 1, {0}, 1},         {2, {2500, 40}, 1, {0}, 0},     {1, {300000}, 0, {0}, 0},
    {2, {9, 2048}, 1, {1}, 1},   {2, {3, 20000}, 1, {1}, 0},     {0, {0}, 0, {0}, 0},
};
#define FORM_COUNT (sizeof forms / sizeof *forms)
static const struct form empty_forms[] = {
    {2, {0, 3}, 1, {0}, 0}, {2, {0, 3}, 1, {1}, 1}, {2, {3, 0}, 0, {0}, 0}};

/// What is asked for: an operation with its parameter.
struct question {
    cbk_opcode opcode;
    bool is_for_ints; ///< too
    enum test_data data;
    double parameter; ///< p or correction
    double ulps;
};
static const struct question questions[] = {
    {CBK_OP_VAR, false, TEST_MODERATE, 0, 64},
    {CBK_OP_VAR, false, TEST_MODERATE, 1, 64},
    {CBK_OP_STD, false, TEST_MODERATE, 1, 64},
    {CBK_OP_VAR_MEAN, false, TEST_MODERATE, 0, 64},
    {CBK_OP_NORM, false, TEST_EDGES, 0, 1},
    {CBK_OP_NORM, false, TEST_MODERATE, 1, 32},
    {CBK_OP_NORM, false, TEST_MODERATE, 2, 32},
    {CBK_OP_NORM, false, TEST_FINITE, 2, 32},
    {CBK_OP_NORM, false, TEST_EDGES, 2, 32},
    {CBK_OP_NORM, false, TEST_MODERATE, 3, 64},
    {CBK_OP_NORM, false, TEST_MODERATE, -0.5, 128},
    {CBK_OP_NORM, false, TEST_EDGES, INFINITY, 0},
    {CBK_OP_NORM, false, TEST_FINITE, -INFINITY, 0},
    {CBK_OP_LOGSUMEXP, false, TEST_MODERATE, 0, 8},
    {CBK_OP_LOGSUMEXP, false, TEST_FINITE, 0, 8},
    {CBK_OP_LOGSUMEXP, false, TEST_EDGES, 0, 8},
    {CBK_OP_MAX_ABS, true, TEST_EDGES, 0, 0},
    {CBK_OP_MIN_ABS, true, TEST_FINITE, 0, 0},
    {CBK_OP_MAX_WITH_INDICES, true, TEST_EDGES, 0, 0},
    {CBK_OP_MIN_WITH_INDICES, true, TEST_FINITE, 0, 0},
};
#define QUESTION_COUNT (sizeof questions / sizeof *questions)

static void set_params(struct test_spec *spec, const struct question *question,
                       const struct form *form) {
    const cbk_opcode opcode = spec->opcode;
    if (opcode == CBK_OP_NORM)
        test_set_params(spec, norm, .p = cbk_f(question->parameter));
    else if (opcode >= CBK_OP_VAR && opcode <= CBK_OP_VAR_MEAN)
        test_set_params(spec, variance, .correction = (int64_t)question->parameter);
    else
        test_set_params(spec, reduce, .axis_count = 0);
    // The params of all of them begin alike.
    spec->params.reduce.axis_count = form->axis_count;
    spec->params.reduce.drop_axes = form->drop_axes;
    memcpy(spec->params.reduce.axes, form->axes, sizeof form->axes);
}

static void set_tolerance(struct test_spec *spec, const struct question *question) {
    const cbk_dtype dtype = spec->inputs[0].dtype;
    spec->tolerance = test_ulps(dtype, question->ulps, question->ulps > 0);
    if (spec->opcode == CBK_OP_LOGSUMEXP) spec->tolerance.absolute = 64 * test_unit_roundoff(dtype);
    if (spec->opcode == CBK_OP_VAR_MEAN) { // a sum of up to 8 in size, which may cancel
        spec->more_tolerances[0] = test_ulps(dtype, 1, 1);
        spec->more_tolerances[0].absolute = 8 * 64 * test_unit_roundoff(dtype);
    } else {
        spec->more_tolerances[0] = test_ulps(dtype, 0, 0);
    }
}

static void add(struct test_list *list, const struct question *question, cbk_dtype dtype,
                const struct form *form, uint32_t number) {
    struct test_spec spec = {.opcode = question->opcode, .input_count = 1};
    const int *s = form->shape;
    spec.inputs[0] = test_input(dtype, number % TEST_VIEW_COUNT, question->data, form->rank, s[0],
                                s[1], s[2], s[3]);
    spec.output_count = cbk_op_info_of(question->opcode)->output_count;
    set_params(&spec, question, form);
    set_tolerance(&spec, question);
    if (number % 5 == 3) {
        spec.output = TEST_INTO;
        spec.output_view = (enum test_view)(number % TEST_EXPANDED);
    }
    char suffix[64];
    snprintf(suffix, sizeof suffix, "%g, %u axes from %d%s data %d", question->parameter,
             form->axis_count, (int)form->axes[0], form->drop_axes ? " dropped" : "",
             (int)question->data);
    test_add(list, &spec, suffix);
}

static void add_question(struct test_list *list, const struct question *question, uint32_t number) {
    cbk_dtype dtypes[20];
    const uint32_t count = test_pick_dtypes(question->is_for_ints ? test_numbers : test_floats,
                                            number, question->is_for_ints ? 3 : 2, dtypes);
    for (uint32_t d = 0; d < count; d++) {
        for (uint32_t f = 0; f < FORM_COUNT; f++)
            if (test_is_full() || dtypes[d] == CBK_DTYPE_F32 || (f + d + number) % 3 == 0)
                add(list, question, dtypes[d], &forms[f], f + d + number);
        // A contiguous and a transposed operand of each kind of walk.
        add(list, question, dtypes[d], &forms[12], 0);
        add(list, question, dtypes[d], &forms[2], TEST_TRANSPOSED);
    }
}

/// Variances that overflow, and rows with infinities and NaN.
static void add_extremes(struct test_list *list) {
    static const struct question overflowing[] = {
        {CBK_OP_VAR, false, TEST_LARGE, 1, 64},
        {CBK_OP_STD, false, TEST_LARGE, 0, 64},
    };
    for (uint32_t f = 0; f < FORM_COUNT; f++)
        add(list, &overflowing[f % 2], CBK_DTYPE_F32, &forms[f], f);
    const struct question edges = {CBK_OP_VAR, false, TEST_EDGES, 1, 64};
    add(list, &edges, CBK_DTYPE_F32, &forms[0], 0);
    add(list, &edges, CBK_DTYPE_F32, &forms[2], 0);
    add(list, &edges, CBK_DTYPE_F32, &forms[8], 0);
}

int main(void) {
    struct test_list list = {0};
    for (uint32_t q = 0; q < QUESTION_COUNT; q++) {
        const struct question *question = &questions[q];
        const bool has_empty = question->opcode <= CBK_OP_LOGSUMEXP &&
                               !(question->opcode == CBK_OP_NORM && question->parameter < 0);
        add_question(&list, question, q);
        for (uint32_t f = 0; has_empty && f < 3; f++)
            add(&list, question, CBK_DTYPE_F32, &empty_forms[f], 0);
    }
    add_extremes(&list);
    return test_run_list("statistics", &list);
}
