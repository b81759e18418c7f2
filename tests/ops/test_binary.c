// test_binary.c: every binary operation and its scalar forms against the reference.

#include "runner.h"

#include <stdio.h>

struct row {
    cbk_opcode opcode;
    const cbk_dtype *dtypes;
    double ulps, gpu_ulps;
    bool has_scalar_form, has_reversed_form;
};

static const cbk_dtype bools[] = {CBK_DTYPE_BOOL, CBK_DTYPE_BOOL32, 0};
static const struct row rows[] = {
    {CBK_OP_ADD, test_numbers, 0, 0, true, false},
    {CBK_OP_SUB, test_numbers, 0, 0, true, true},
    {CBK_OP_MUL, test_numbers, 0, 0, true, false},
    {CBK_OP_DIV, test_numbers, 0, 3, true, true},
    {CBK_OP_REMAINDER, test_numbers, 0, 0, true, true},
    {CBK_OP_POW, test_numbers, 16, 16, true, true},
    {CBK_OP_ATAN2, test_floats, 6, 6, true, false},
    {CBK_OP_HYPOT, test_floats, 4, 4, true, false},
    {CBK_OP_MAXIMUM, test_numbers, 0, 0, true, false},
    {CBK_OP_MINIMUM, test_numbers, 0, 0, true, false},
    {CBK_OP_BITWISE_AND, test_ints_and_bools, 0, 0, true, false},
    {CBK_OP_BITWISE_OR, test_ints_and_bools, 0, 0, true, false},
    {CBK_OP_BITWISE_XOR, test_ints_and_bools, 0, 0, true, false},
    {CBK_OP_SHIFT_LEFT, test_ints, 0, 0, true, false},
    {CBK_OP_SHIFT_RIGHT, test_ints, 0, 0, true, false},
    {CBK_OP_FMOD, test_numbers, 0, 0, true, true},
    {CBK_OP_PRELU, test_floats, 0, 0, false, false},
    {CBK_OP_GLU, test_floats, 8, 8, false, false},
    {CBK_OP_LOGICAL_AND, bools, 0, 0, false, false},
    {CBK_OP_LOGICAL_OR, bools, 0, 0, false, false},
    {CBK_OP_LOGICAL_XOR, bools, 0, 0, false, false},
};

static struct test_spec make_spec(const struct row *row, cbk_dtype dtype, uint32_t inputs) {
    struct test_spec spec = {.opcode = row->opcode, .input_count = inputs};
    for (uint32_t i = 0; i < inputs; i++) {
        spec.inputs[i].dtype = dtype;
        spec.inputs[i].data = TEST_EDGES;
    }
    bool is_inexact = test_is_float(dtype) && row->ulps > 0;
    spec.tolerance = test_ulps(dtype, is_inexact ? row->ulps : 0, is_inexact ? 1 : 0);
    spec.tolerance.gpu_ulps = test_is_float(dtype) ? row->gpu_ulps : 0;
    return spec;
}

static void add_scalar_rows(struct test_list *list, const struct row *row, cbk_dtype dtype,
                            uint32_t number) {
    const struct {
        cbk_scalar scalar;
        const char *name;
    } scalars[] = {
        {cbk_f(2.5), "2.5"},        {cbk_i(3), "3"}, {cbk_i(-2), "-2"},   {cbk_i(0), "0"},
        {cbk_u(UINT64_MAX), "max"}, {cbk_i(1), "1"}, {cbk_f(0.1), "0.1"}, {cbk_i(-1), "-1"},
    };
    uint32_t count = sizeof scalars / sizeof *scalars;
    struct test_spec spec = make_spec(row, dtype, 1);
    spec.opcode += (CBK_FAMILY_BINARY_SCALAR - CBK_FAMILY_BINARY) << 8;
    for (uint32_t i = 0; i < (test_is_full() ? count : 2); i++) {
        uint32_t pick = (number + i * 3) % count;
        for (uint32_t reversed = 0; reversed <= row->has_reversed_form; reversed++) {
            char suffix[32];
            snprintf(suffix, sizeof suffix, "%s%s", reversed ? "reversed " : "",
                     scalars[pick].name);
            test_set_params(&spec, scalar, .scalar = scalars[pick].scalar, .reversed = reversed);
            test_add_pointwise(list, &spec, number + i, true, suffix);
        }
    }
}

/// f64 is seldom among the dtypes of a row, and no lane may be of concern to its neighbours.
static void add_f64_rows(struct test_list *list) {
    static const struct {
        cbk_opcode opcode;
        double ulps;
    } f64_rows[] = {{CBK_OP_FMOD_SCALAR, 0}, {CBK_OP_REMAINDER_SCALAR, 0}, {CBK_OP_POW_SCALAR, 16}};
    for (uint32_t i = 0; i < 3; i++) {
        const double ulps = f64_rows[i].ulps;
        struct test_spec spec = {.opcode = f64_rows[i].opcode,
                                 .input_count = 1,
                                 .tolerance = test_ulps(CBK_DTYPE_F64, ulps, ulps > 0 ? 1 : 0)};
        spec.inputs[0] = test_input(CBK_DTYPE_F64, TEST_CONTIGUOUS, TEST_EDGES, 1, 20000);
        test_set_params(&spec, scalar, .scalar = cbk_f(0.5625));
        test_add(list, &spec, "0.5625");
    }
}

int main(void) {
    struct test_list list = {0};
    cbk_dtype dtypes[20];
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        uint32_t count = test_pick_dtypes(row->dtypes, i, 2, dtypes);
        for (uint32_t d = 0; d < count; d++) {
            struct test_spec spec = make_spec(row, dtypes[d], 2);
            test_add_pointwise(&list, &spec, i * 3 + d, true, "");
            if (row->has_scalar_form && (d < 2 || test_is_full()))
                add_scalar_rows(&list, row, dtypes[d], i * 3 + d);
        }
    }
    add_f64_rows(&list);
    return test_run_list("binary", &list);
}
