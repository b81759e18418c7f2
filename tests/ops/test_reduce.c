// test_reduce.c: reductions over one, several and all axes against the reference.

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
    {1, {5003}, 0, {0}, 0},          {2, {13, 1029}, 1, {1}, 0},
    {2, {700, 9}, 1, {0}, 1},        {3, {5, 37, 19}, 1, {1}, 0},
    {3, {5, 37, 19}, 2, {0, 2}, 1},  {4, {3, 4, 5, 6}, 2, {1, -1}, 0},
    {2, {33, 64}, 1, {-1}, 1},       {3, {7, 8, 9}, 0, {0}, 0},
    {2, {1, 300}, 1, {0}, 0},        {1, {1}, 1, {0}, 1},
    {2, {70001, 2}, 1, {0}, 0},      {1, {300000}, 0, {0}, 0},
    {3, {2, 3, 4}, 3, {2, 0, 1}, 0}, {0, {0}, 0, {0}, 0},
};
static const struct form empty_forms[] = {
    {2, {0, 3}, 1, {0}, 0}, {2, {0, 3}, 1, {1}, 1}, {2, {3, 0}, 0, {0}, 0}};
#define FORM_COUNT (sizeof forms / sizeof *forms)

static const cbk_dtype computed[] = {
    CBK_DTYPE_F64,    CBK_DTYPE_F32,  CBK_DTYPE_F16,    CBK_DTYPE_BF16,
    CBK_DTYPE_FLEX32, CBK_DTYPE_I64,  CBK_DTYPE_I32,    CBK_DTYPE_I16,
    CBK_DTYPE_I8,     CBK_DTYPE_U64,  CBK_DTYPE_U32,    CBK_DTYPE_U16,
    CBK_DTYPE_U8,     CBK_DTYPE_BOOL, CBK_DTYPE_BOOL32, 0};

static bool is_accumulated(cbk_opcode opcode) {
    return opcode == CBK_OP_SUM || opcode == CBK_OP_MEAN || opcode == CBK_OP_PROD;
}

static bool is_question(cbk_opcode opcode) {
    return opcode == CBK_OP_ANY || opcode == CBK_OP_ALL || opcode == CBK_OP_COUNT_NONZERO;
}

/// The same reduction of |x| in f64.
static cbk_tensor *size_of_terms(cbk_stream *stream, const struct test_spec *spec,
                                 cbk_tensor *const *inputs) {
    cbk_tensor *wide = NULL, *size = NULL, *out = NULL;
    cbk_reduce_params params = spec->params.reduce;
    params.out_dtype = 0;
    if (cbk_cast(stream, inputs[0], CBK_DTYPE_F64, &wide) == CBK_OK &&
        cbk_abs(stream, wide, &size) == CBK_OK) {
        switch (spec->opcode) {
        case CBK_OP_SUM:
            (void)cbk_sum(stream, size, &params, &out);
            break;
        case CBK_OP_MEAN:
            (void)cbk_mean(stream, size, &params, &out);
            break;
        default:
            (void)cbk_prod(stream, size, &params, &out);
            break;
        }
    }
    cbk_tensor_release(&wide);
    cbk_tensor_release(&size);
    return out;
}

static double reduced_length(const struct form *form) {
    double length = 1;
    if (form->axis_count == 0)
        for (uint32_t i = 0; i < form->rank; i++) length *= form->shape[i];
    for (uint32_t i = 0; i < form->axis_count; i++)
        length *=
            form->shape[form->axes[i] < 0 ? form->axes[i] + (int32_t)form->rank : form->axes[i]];
    return length;
}

static void set_tolerance(struct test_spec *spec, const struct form *form, cbk_dtype out_dtype) {
    cbk_dtype dtype = spec->inputs[0].dtype;
    spec->tolerance = test_ulps(dtype, 0, 0);
    if (!test_is_float(dtype) || !is_accumulated(spec->opcode)) return;
    double length = fmax(reduced_length(form), 2);
    // Pairwise sums: a few roundings per level above short runs; products: one per factor.
    double roundings = spec->opcode == CBK_OP_PROD ? length + 2 : 16 + 2 * log2(length);
    double unit = fmax(test_unit_roundoff(dtype), test_unit_roundoff(out_dtype));
    spec->tolerance = test_ulps(out_dtype, 1, 1);
    spec->tolerance.relative = roundings * unit;
    spec->magnitude = size_of_terms;
}

static enum test_data data_for(cbk_opcode opcode, cbk_dtype dtype) {
    if (opcode == CBK_OP_PROD && test_is_float(dtype)) return TEST_NEAR_ONE;
    if (is_accumulated(opcode)) return test_is_float(dtype) ? TEST_MODERATE : TEST_EDGES;
    return is_question(opcode) ? TEST_ZERO_HEAVY : TEST_EDGES;
}

static void add(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype, cbk_dtype out_dtype,
                const struct form *form, uint32_t number) {
    struct test_spec spec = {.opcode = opcode, .input_count = 1};
    struct test_operand *x = &spec.inputs[0];
    const int *s = form->shape;
    *x = test_input(dtype, number % TEST_VIEW_COUNT, data_for(opcode, dtype), form->rank, s[0],
                    s[1], s[2], s[3]);
    if (opcode == CBK_OP_PROD && reduced_length(form) > 2000) return; // leaves the range
    test_set_params(&spec, reduce, .axis_count = form->axis_count, .drop_axes = form->drop_axes,
                    .out_dtype = out_dtype);
    memcpy(spec.params.reduce.axes, form->axes, sizeof form->axes);
    set_tolerance(&spec, form, out_dtype ? out_dtype : dtype);
    if (number % 5 == 3) {
        spec.output = TEST_INTO;
        spec.output_view = (enum test_view)(number % TEST_EXPANDED);
    }
    char suffix[48] = "all axes";
    if (form->axis_count)
        snprintf(suffix, sizeof suffix, "%u axes from %d%s", form->axis_count, (int)form->axes[0],
                 form->drop_axes ? " dropped" : "");
    if (out_dtype)
        snprintf(suffix + strlen(suffix), sizeof suffix - strlen(suffix), " to %s",
                 cbk_dtype_name(out_dtype));
    test_add(list, &spec, suffix);
}

static void add_forms(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype, uint32_t number) {
    for (uint32_t f = 0; f < FORM_COUNT; f++) {
        bool is_chosen = test_is_full() || dtype == CBK_DTYPE_F32 || (f + number) % 2 == 0;
        if (is_chosen) add(list, opcode, dtype, 0, &forms[f], f + number);
        if (test_is_full())
            for (uint32_t view = 1; view < TEST_VIEW_COUNT; view++)
                add(list, opcode, dtype, 0, &forms[f], f + number + view);
    }
    // A contiguous and a transposed operand of each kind of walk.
    add(list, opcode, dtype, 0, &forms[1], 0);
    add(list, opcode, dtype, 0, &forms[2], TEST_TRANSPOSED);
}

static void add_wider_outputs(struct test_list *list) {
    static const struct {
        cbk_opcode opcode;
        cbk_dtype dtype, out_dtype;
    } rows[] = {
        {CBK_OP_SUM, CBK_DTYPE_I8, CBK_DTYPE_I32},
        {CBK_OP_SUM, CBK_DTYPE_U8, CBK_DTYPE_U64},
        {CBK_OP_SUM, CBK_DTYPE_F16, CBK_DTYPE_F32},
        {CBK_OP_MEAN, CBK_DTYPE_BF16, CBK_DTYPE_F32},
        {CBK_OP_PROD, CBK_DTYPE_I16, CBK_DTYPE_I64},
        {CBK_OP_ARGMAX, CBK_DTYPE_F32, CBK_DTYPE_I32},
        {CBK_OP_ARGMIN, CBK_DTYPE_I8, CBK_DTYPE_U16},
        {CBK_OP_ANY, CBK_DTYPE_F32, CBK_DTYPE_BOOL32},
        {CBK_OP_COUNT_NONZERO, CBK_DTYPE_BOOL, CBK_DTYPE_U16},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t f = 1; f < 4; f++)
            add(list, rows[i].opcode, rows[i].dtype, rows[i].out_dtype, &forms[f], i + f);
}

static void add_empty(struct test_list *list) {
    static const cbk_opcode opcodes[] = {CBK_OP_SUM, CBK_OP_PROD, CBK_OP_MEAN,
                                         CBK_OP_ANY, CBK_OP_ALL,  CBK_OP_COUNT_NONZERO};
    for (uint32_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        for (uint32_t f = 0; f < 3; f++) {
            add(list, opcodes[i], CBK_DTYPE_F32, 0, &empty_forms[f], 0);
            if (opcodes[i] != CBK_OP_MEAN)
                add(list, opcodes[i], CBK_DTYPE_I32, 0, &empty_forms[f], 0);
        }
}

int main(void) {
    struct test_list list = {0};
    cbk_dtype dtypes[20];
    for (cbk_opcode opcode = CBK_OP_SUM; opcode <= CBK_OP_COUNT_NONZERO; opcode++) {
        if (opcode > CBK_OP_ALL && opcode < CBK_OP_COUNT_NONZERO) continue; // test_statistics.c
        uint32_t row = opcode & 0xff;
        uint32_t count =
            test_pick_dtypes(is_question(opcode) ? computed : test_numbers, row, 2, dtypes);
        for (uint32_t d = 0; d < count; d++) add_forms(&list, opcode, dtypes[d], row * 3 + d);
    }
    add_wider_outputs(&list);
    add_empty(&list);
    return test_run_list("reduce", &list);
}
