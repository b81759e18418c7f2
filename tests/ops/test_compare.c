// test_compare.c: comparisons of tensors and with scalars against the reference.

#include "runner.h"

#include <stdio.h>

static const cbk_dtype computed[] = {
    CBK_DTYPE_F64,    CBK_DTYPE_F32,  CBK_DTYPE_F16,    CBK_DTYPE_BF16,
    CBK_DTYPE_FLEX32, CBK_DTYPE_I64,  CBK_DTYPE_I32,    CBK_DTYPE_I16,
    CBK_DTYPE_I8,     CBK_DTYPE_U64,  CBK_DTYPE_U32,    CBK_DTYPE_U16,
    CBK_DTYPE_U8,     CBK_DTYPE_BOOL, CBK_DTYPE_BOOL32, 0};

static void add_rows(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype, uint32_t number) {
    struct test_spec spec = {.opcode = opcode, .input_count = 2};
    for (uint32_t i = 0; i < 2; i++) {
        spec.inputs[i].dtype = dtype;
        spec.inputs[i].data = TEST_EDGES;
    }
    if (number % 2) test_set_params(&spec, compare, .out_dtype = CBK_DTYPE_BOOL32);
    test_add_pointwise(list, &spec, number, dtype == CBK_DTYPE_BOOL && number % 2 == 0, "");
}

static void add_scalar_rows(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype,
                            uint32_t number) {
    const cbk_scalar scalars[] = {cbk_i(0), cbk_f(1.5), cbk_i(-3), cbk_u(200), cbk_i(1)};
    struct test_spec spec = {.opcode =
                                 opcode + ((CBK_FAMILY_COMPARE_SCALAR - CBK_FAMILY_COMPARE) << 8),
                             .input_count = 1};
    spec.inputs[0].dtype = dtype;
    spec.inputs[0].data = TEST_EDGES;
    for (uint32_t i = 0; i < (test_is_full() ? 5 : 1); i++) {
        char suffix[16];
        snprintf(suffix, sizeof suffix, "scalar %u", (number + i) % 5);
        test_set_params(&spec, compare, .scalar = scalars[(number + i) % 5]);
        test_add_pointwise(list, &spec, number + i, dtype == CBK_DTYPE_BOOL, suffix);
    }
}

static void add_close(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    struct test_spec spec = {.opcode = CBK_OP_IS_CLOSE, .input_count = 2};
    for (uint32_t i = 0; i < 2; i++) {
        spec.inputs[i].dtype = dtype;
        spec.inputs[i].data = number % 2 ? TEST_MODERATE : TEST_EDGES;
    }
    test_add_pointwise(list, &spec, number, false, "");
    test_set_params(&spec, close, .relative = cbk_f(0.25), .absolute = cbk_f(0.5), .equal_nan = 1);
    test_add_pointwise(list, &spec, number + 1, false, "1/4 1/2 nan");
    test_set_params(&spec, close, .relative = cbk_f(0.3), .out_dtype = CBK_DTYPE_BOOL32);
    test_add_pointwise(list, &spec, number + 2, false, "0.3");
}

int main(void) {
    struct test_list list = {0};
    cbk_dtype dtypes[20];
    for (cbk_opcode opcode = CBK_OP_EQUAL; opcode <= CBK_OP_GREATER_EQUAL; opcode++) {
        uint32_t row = opcode & 0xff;
        bool takes_bools = opcode <= CBK_OP_NOT_EQUAL;
        uint32_t count = test_pick_dtypes(takes_bools ? computed : test_numbers, row, 2, dtypes);
        for (uint32_t d = 0; d < count; d++) {
            add_rows(&list, opcode, dtypes[d], row * 5 + d);
            add_scalar_rows(&list, opcode, dtypes[d], row * 5 + d);
        }
    }
    uint32_t count = test_pick_dtypes(test_floats, 1, 3, dtypes);
    for (uint32_t d = 0; d < count; d++) add_close(&list, dtypes[d], d);
    return test_run_list("compare", &list);
}
