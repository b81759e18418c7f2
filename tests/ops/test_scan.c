// test_scan.c: cumsum, cumprod, cummax, cummin and logcumsumexp along any axis against the reference.

#include "runner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct form {
    uint32_t rank;
    int shape[4];
    int32_t axis;
};

/// Lengths around a quad (4), a segment (32), a block (512), a tile (16384, 8192 of wide dtypes).
static const struct form forms[] = {
    {1, {1000}, 0},    {2, {5, 33}, -1},    {2, {33, 40}, 0},      {3, {3, 70, 20}, 1},
    {2, {3, 4100}, 1}, {2, {700, 17}, 0},   {4, {2, 3, 4, 5}, 2},  {2, {5, 1}, 1},
    {2, {0, 4}, 1},    {2, {2, 16385}, -1}, {1, {50000}, 0},       {2, {517, 65}, 0},
    {2, {100, 3}, 1},  {2, {20, 64}, 1},    {3, {2, 8195, 16}, 1}, {2, {16500, 2}, 0},
    {2, {3, 4096}, 1}, {1, {32768}, 0},     {2, {3, 2048}, 1},
};
#define FORM_COUNT (sizeof forms / sizeof *forms)

static bool is_accumulated(cbk_opcode opcode) {
    return opcode == CBK_OP_CUMSUM || opcode == CBK_OP_CUMPROD;
}

/// The same scan of |x| in f64.
static cbk_tensor *size_of_terms(cbk_stream *stream, const struct test_spec *spec,
                                 cbk_tensor *const *inputs) {
    cbk_tensor *wide = NULL, *size = NULL, *out = NULL;
    cbk_scan_params params = spec->params.scan;
    params.out_dtype = 0;
    if (cbk_cast(stream, inputs[0], CBK_DTYPE_F64, &wide) == CBK_OK &&
        cbk_abs(stream, wide, &size) == CBK_OK) {
        if (spec->opcode == CBK_OP_CUMSUM)
            (void)cbk_cumsum(stream, size, &params, &out);
        else
            (void)cbk_cumprod(stream, size, &params, &out);
    }
    cbk_tensor_release(&wide);
    cbk_tensor_release(&size);
    return out;
}

static int64_t length_of(const struct form *form) {
    return form->shape[form->axis < 0 ? form->axis + (int32_t)form->rank : form->axis];
}

static void set_tolerance(struct test_spec *spec, const struct form *form, cbk_dtype out_dtype) {
    cbk_dtype dtype = spec->inputs[0].dtype;
    spec->tolerance = test_ulps(dtype, 0, 0);
    if (spec->opcode == CBK_OP_LOGCUMSUMEXP) { // as many roundings as cumsum, of |result| < 20
        spec->tolerance = test_ulps(dtype, 128, 1);
        spec->tolerance.absolute = 64 * 20 * test_unit_roundoff(dtype);
        return;
    }
    if (!test_is_float(dtype) || !is_accumulated(spec->opcode)) return;
    // A chain of at most 2 + 8 + 16 + 32 additions and a few to join them; products: as many
    // roundings as factors.
    double roundings = spec->opcode == CBK_OP_CUMPROD ? (double)length_of(form) + 2 : 64;
    double unit = fmax(test_unit_roundoff(dtype), test_unit_roundoff(out_dtype));
    spec->tolerance = test_ulps(out_dtype, 1, 1);
    spec->tolerance.relative = roundings * unit;
    spec->magnitude = size_of_terms;
}

static enum test_data data_for(cbk_opcode opcode, cbk_dtype dtype, uint32_t number) {
    if (opcode == CBK_OP_LOGCUMSUMEXP) return number % 4 == 0 ? TEST_EDGES : TEST_MODERATE;
    if (!is_accumulated(opcode) || !test_is_float(dtype)) return TEST_EDGES;
    return opcode == CBK_OP_CUMPROD ? TEST_NEAR_ONE : TEST_MODERATE;
}

static void add(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype, cbk_dtype out_dtype,
                const struct form *form, uint32_t number) {
    struct test_spec spec = {.opcode = opcode, .input_count = 1};
    const int *s = form->shape;
    uint32_t exclusive = number / 2 % 2, reversed = number / 4 % 2;
    if (opcode == CBK_OP_CUMPROD && test_is_float(dtype) && length_of(form) > 2000) return;
    spec.inputs[0] = test_input(dtype, number % TEST_VIEW_COUNT, data_for(opcode, dtype, number),
                                form->rank, s[0], s[1], s[2], s[3]);
    test_set_params(&spec, scan, .axis = form->axis, .exclusive = exclusive, .reversed = reversed,
                    .out_dtype = out_dtype);
    set_tolerance(&spec, form, out_dtype ? out_dtype : dtype);
    if (number % 3 == 1) {
        spec.output = TEST_INTO;
        spec.output_view = (enum test_view)(number / 3 % TEST_EXPANDED);
    }
    char suffix[64];
    snprintf(suffix, sizeof suffix, "axis %d%s%s", (int)form->axis, exclusive ? " exclusive" : "",
             reversed ? " reversed" : "");
    if (out_dtype)
        snprintf(suffix + strlen(suffix), sizeof suffix - strlen(suffix), " to %s",
                 cbk_dtype_name(out_dtype));
    test_add(list, &spec, suffix);
}

static void add_forms(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype, uint32_t number) {
    for (uint32_t f = 0; f < FORM_COUNT; f++) {
        bool is_chosen = test_is_full() || dtype == CBK_DTYPE_F32 || (f + number) % 3 == 0;
        if (is_chosen) add(list, opcode, dtype, 0, &forms[f], 5 * f + 3 * number);
        if (test_is_full())
            for (uint32_t view = 1; view < TEST_VIEW_COUNT; view++)
                add(list, opcode, dtype, 0, &forms[f], 5 * f + 3 * number + view);
    }
    // Contiguous operands in each direction, and columns.
    for (uint32_t flags = 0; flags < 4; flags++) {
        add(list, opcode, dtype, 0, &forms[4], 20 * 3 * flags + 2 * flags * 10);
        add(list, opcode, dtype, 0, &forms[2], 60 * flags);
    }
}

static void add_wider_outputs(struct test_list *list) {
    static const struct {
        cbk_opcode opcode;
        cbk_dtype dtype, out_dtype;
    } rows[] = {
        {CBK_OP_CUMSUM, CBK_DTYPE_I8, CBK_DTYPE_I32},
        {CBK_OP_CUMSUM, CBK_DTYPE_U8, CBK_DTYPE_U64},
        {CBK_OP_CUMSUM, CBK_DTYPE_F16, CBK_DTYPE_F32},
        {CBK_OP_CUMSUM, CBK_DTYPE_I32, CBK_DTYPE_U8},
        {CBK_OP_CUMPROD, CBK_DTYPE_I16, CBK_DTYPE_I64},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t f = 1; f < 4; f++)
            add(list, rows[i].opcode, rows[i].dtype, rows[i].out_dtype, &forms[f], 7 * i + f);
}

int main(void) {
    struct test_list list = {0};
    cbk_dtype dtypes[20];
    for (cbk_opcode opcode = CBK_OP_CUMSUM; opcode <= CBK_OP_LOGCUMSUMEXP; opcode++) {
        const bool is_for_floats = opcode == CBK_OP_LOGCUMSUMEXP;
        const uint32_t row = opcode & 0xff,
                       count = test_pick_dtypes(is_for_floats ? test_floats : test_numbers,
                                                1 + row * 2, is_for_floats ? 1 : 2, dtypes);
        for (uint32_t d = 0; d < count; d++) add_forms(&list, opcode, dtypes[d], row * 3 + d);
    }
    add_wider_outputs(&list);
    return test_run_list("scan", &list);
}
