// test_ternary.c: where, mask_fill, clamp, lerp, addcmul, addcdiv against the reference.

#include "runner.h"

#include <math.h>

static void add_where(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    struct test_spec spec = {.opcode = CBK_OP_WHERE, .input_count = 3};
    spec.inputs[0].dtype = number % 3 == 2 ? CBK_DTYPE_BOOL32 : CBK_DTYPE_BOOL;
    spec.inputs[1].dtype = spec.inputs[2].dtype = dtype;
    spec.tolerance.closeness = TEST_BITS;
    test_add_pointwise(list, &spec, number, dtype == spec.inputs[0].dtype, "");
}

static void add_mask_fill(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    struct test_spec spec = {.opcode = CBK_OP_MASK_FILL, .input_count = 2};
    spec.inputs[0].dtype = dtype;
    spec.inputs[1].dtype = number % 3 == 1 ? CBK_DTYPE_BOOL32 : CBK_DTYPE_BOOL;
    spec.tolerance.closeness = TEST_BITS;
    test_set_params(&spec, scalar, .scalar = number % 2 ? cbk_f(-1.3) : cbk_i(7));
    test_add_pointwise(list, &spec, number, true, number % 2 ? "-1.3" : "7");
}

static void add_clamp(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    const struct {
        cbk_scalar low, high;
        const char *name;
        bool floats_only;
    } bounds[] = {
        {cbk_i(2), cbk_i(6), "2 to 6", false},    {cbk_i(1), {0}, "from 1", false},
        {{0}, cbk_f(3.5), "to 3.5", false},       {cbk_i(5), cbk_i(3), "5 to 3", false},
        {cbk_f(NAN), cbk_i(3), "NaN to 3", true}, {cbk_f(-INFINITY), cbk_f(0.1), "to 0.1", true},
    };
    uint32_t count = test_is_float(dtype) ? 6 : 4;
    for (uint32_t i = 0; i < (test_is_full() ? count : 2); i++) {
        uint32_t pick = (number + i * 2) % count;
        struct test_spec spec = {.opcode = CBK_OP_CLAMP, .input_count = 1};
        spec.inputs[0].dtype = dtype;
        test_set_params(&spec, clamp, .low = bounds[pick].low, .high = bounds[pick].high);
        spec.tolerance = test_ulps(dtype, 0, 0);
        test_add_pointwise(list, &spec, number + i, true, bounds[pick].name);
    }
}

/// Terms are below 100; where they cancel, their own rounding stays.
static void add_combination(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype,
                            uint32_t number) {
    struct test_spec spec = {.opcode = opcode, .input_count = opcode == CBK_OP_LERP_SCALAR ? 2 : 3};
    for (uint32_t i = 0; i < spec.input_count; i++)
        spec.inputs[i] = (struct test_operand){.dtype = dtype, .data = TEST_MODERATE};
    if (opcode == CBK_OP_LERP_SCALAR)
        test_set_params(&spec, scalar, .scalar = number % 2 ? cbk_f(0.3) : cbk_i(1));
    else if (opcode != CBK_OP_LERP && number % 2)
        test_set_params(&spec, scalar, .scalar = cbk_f(-1.3));
    spec.tolerance = test_ulps(dtype, 4, 1);
    spec.tolerance.absolute = 200 * test_unit_roundoff(dtype);
    test_add_pointwise(list, &spec, number, true, "");
}

int main(void) {
    struct test_list list = {0};
    cbk_dtype dtypes[20];
    uint32_t count = test_pick_dtypes(test_all_dtypes, 0, 6, dtypes);
    for (uint32_t d = 0; d < count; d++) add_where(&list, dtypes[d], d);
    count = test_pick_dtypes(test_all_dtypes, 1, 6, dtypes);
    for (uint32_t d = 0; d < count; d++) add_mask_fill(&list, dtypes[d], d);
    count = test_pick_dtypes(test_numbers, 0, 20, dtypes);
    for (uint32_t d = 0; d < count; d++) add_clamp(&list, dtypes[d], d);
    for (cbk_opcode opcode = CBK_OP_LERP; opcode <= CBK_OP_ADDCDIV; opcode++) {
        count = test_pick_dtypes(test_floats, opcode, 1, dtypes);
        for (uint32_t d = 0; d < count; d++) add_combination(&list, opcode, dtypes[d], opcode + d);
    }
    return test_run_list("ternary", &list);
}
