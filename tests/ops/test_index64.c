// test_index64.c: the variants of kernels that index in 64 bits, forced for all sizes; one row or
// a few of each family over all views. In full mode also a tensor of more than 2^31 elements.

#include "runner.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct test_list *list, struct test_spec spec, const char *suffix) {
    test_add(list, &spec, suffix);
    spec.output = TEST_INTO;
    spec.output_view = (enum test_view)(spec.inputs[0].view % TEST_EXPANDED);
    test_add(list, &spec, suffix);
}

static void add_pointwise(struct test_list *list, enum test_view view) {
    enum test_view other = (enum test_view)((view + 3) % TEST_VIEW_COUNT);
    struct test_spec spec = {.opcode = CBK_OP_NEG, .input_count = 1};
    spec.inputs[0] = test_input(CBK_DTYPE_I8, view, TEST_EDGES, 3, 5, 7, 11);
    spec.tolerance.closeness = TEST_BITS;
    add(list, spec, "");
    spec.opcode = CBK_OP_CAST;
    test_set_params(&spec, cast, .dtype = CBK_DTYPE_F16);
    add(list, spec, "to f16");
    spec.params_size = 0;
    spec.opcode = CBK_OP_COPY;
    add(list, spec, "");

    spec.opcode = CBK_OP_ADD;
    spec.input_count = 2;
    spec.inputs[0] = test_input(CBK_DTYPE_F32, view, TEST_MODERATE, 3, 5, 7, 11);
    spec.inputs[1] = test_input(CBK_DTYPE_F32, other, TEST_MODERATE, 2, 7, 1);
    add(list, spec, "");
    spec.opcode = CBK_OP_LESS;
    add(list, spec, "");

    spec.opcode = CBK_OP_WHERE;
    spec.input_count = 3;
    spec.inputs[2] = spec.inputs[1];
    spec.inputs[1] = spec.inputs[0];
    spec.inputs[0] = test_input(CBK_DTYPE_BOOL, other, TEST_EDGES, 1, 11);
    add(list, spec, "");
}

static void add_moves(struct test_list *list, enum test_view view) {
    enum test_view other = (enum test_view)((view + 4) % TEST_VIEW_COUNT);
    struct test_spec spec = {.opcode = CBK_OP_SLICE_ASSIGN, .input_count = 2};
    spec.tolerance.closeness = TEST_BITS;
    spec.inputs[0] = test_input(CBK_DTYPE_U16, view, TEST_EDGES, 2, 9, 12);
    spec.inputs[1] = test_input(CBK_DTYPE_U16, other, TEST_EDGES, 2, 4, 10);
    test_set_params(&spec, slice, .axis_count = 2, .start = {1, 1}, .stop = {9, 11}, .step = {-2});
    add(list, spec, "");
    spec.opcode = CBK_OP_CAT;
    spec.inputs[1] = test_input(CBK_DTYPE_U16, other, TEST_EDGES, 2, 4, 12);
    test_set_params(&spec, axis, .axis = 0);
    add(list, spec, "");

    spec.opcode = CBK_OP_GATHER;
    spec.inputs[1] = test_input(CBK_DTYPE_I32, other, TEST_INDEX, 2, 9, 20);
    spec.inputs[1].bound = 12;
    test_set_params(&spec, index, .axis = 1);
    add(list, spec, "");
    spec.opcode = CBK_OP_SCATTER;
    spec.input_count = 3;
    spec.inputs[2] = test_input(CBK_DTYPE_U16, view, TEST_EDGES, 2, 9, 20);
    add(list, spec, "");
}

static void add_compaction(struct test_list *list, enum test_view view) {
    enum test_view other = (enum test_view)((view + 5) % TEST_VIEW_COUNT);
    struct test_spec spec = {.opcode = CBK_OP_MASK_SELECT, .input_count = 2, .output_count = 2};
    spec.tolerance.closeness = TEST_BITS;
    spec.inputs[0] = test_input(CBK_DTYPE_U16, view, TEST_EDGES, 3, 9, 20, 33);
    spec.inputs[1] = test_input(CBK_DTYPE_BOOL, other, TEST_EDGES, 2, 20, 33);
    test_set_params(&spec, compact, .length = 3100);
    add(list, spec, "");
    spec.opcode = CBK_OP_ARGWHERE;
    spec.input_count = 1;
    add(list, spec, "");

    struct test_spec pad = {.opcode = CBK_OP_PAD, .input_count = 1};
    pad.tolerance.closeness = TEST_BITS;
    pad.inputs[0] = spec.inputs[0];
    test_set_params(&pad, pad, .mode = view % 4, .before = {1, 0, 3}, .after = {2, 4, 0});
    add(list, pad, "");
    pad.opcode = CBK_OP_ONE_HOT;
    pad.inputs[0] = test_input(CBK_DTYPE_I8, view, TEST_INDEX, 2, 9, 20);
    pad.inputs[0].bound = 5;
    test_set_params(&pad, one_hot, .classes = 5);
    add(list, pad, "");
    pad.opcode = CBK_OP_GATHER_ND;
    pad.input_count = 2;
    pad.params_size = 0;
    pad.inputs[0] = spec.inputs[0];
    pad.inputs[1] = test_input(CBK_DTYPE_I32, other, TEST_INDEX, 2, 21, 2);
    pad.inputs[1].bound = 9;
    add(list, pad, "");
}

static void add_images(struct test_list *list, enum test_view view) {
    static const cbk_opcode opcodes[] = {CBK_OP_GRID_SAMPLE, CBK_OP_GRID_SAMPLE_X_BACKWARD,
                                         CBK_OP_GRID_SAMPLE_GRID_BACKWARD};
    for (uint32_t i = 0; i < 3; i++) {
        struct test_spec spec = {.opcode = opcodes[i], .input_count = i == 0 ? 2 : 3};
        spec.inputs[0] = test_input(CBK_DTYPE_F32, view, TEST_UNIT, 4, 2, 3, 5, 6);
        spec.inputs[1] = test_input(CBK_DTYPE_F32, view, TEST_UNIT, 4, 2, 7, 9, 2);
        spec.inputs[2] = test_input(CBK_DTYPE_F32, view, TEST_UNIT, 4, 2, 3, 7, 9);
        spec.tolerance = test_ulps(CBK_DTYPE_F32, 4, 1);
        spec.tolerance.absolute = 1024 * test_unit_roundoff(CBK_DTYPE_F32);
        add(list, spec, "");
    }
}

static void add_reductions(struct test_list *list, enum test_view view) {
    struct test_spec spec = {.opcode = CBK_OP_SUM, .input_count = 1};
    spec.tolerance.closeness = TEST_BITS;
    for (int32_t axis = 0; axis < 3; axis++) {
        spec.opcode = CBK_OP_SUM;
        spec.inputs[0] = test_input(CBK_DTYPE_I32, view, TEST_EDGES, 3, 9, 17, 33);
        test_set_params(&spec, reduce, .axis_count = 1, .axes = {axis});
        add(list, spec, axis == 0 ? "axis 0" : axis == 1 ? "axis 1" : "axis 2");
        spec.opcode = CBK_OP_ARGMAX;
        spec.inputs[0].dtype = CBK_DTYPE_F32;
        add(list, spec, axis == 0 ? "axis 0" : axis == 1 ? "axis 1" : "axis 2");
    }
    spec.opcode = CBK_OP_SOFTMAX;
    spec.inputs[0] = test_input(CBK_DTYPE_F32, view, TEST_MODERATE, 3, 3, 20, 30);
    spec.tolerance = test_ulps(CBK_DTYPE_F32, 28, 1);
    test_set_params(&spec, axis, .axis = view % 3);
    add(list, spec, "");
    spec.opcode = CBK_OP_CUMSUM;
    spec.inputs[0] = test_input(CBK_DTYPE_I32, view, TEST_EDGES, 3, 3, 40, 30);
    spec.tolerance.closeness = TEST_BITS;
    test_set_params(&spec, scan, .axis = view % 3, .reversed = view % 2);
    add(list, spec, "");
    spec.opcode = CBK_OP_ARGSORT;
    spec.inputs[0] = test_input(CBK_DTYPE_I16, view, TEST_EDGES, 3, 3, 40, 30);
    test_set_params(&spec, sort, .axis = view % 3, .descending = view % 2);
    add(list, spec, "");
    spec.inputs[0] = test_input(CBK_DTYPE_I16, view, TEST_EDGES, 2, 2, 9000);
    spec.params.sort.axis = 1;
    add(list, spec, "");
    spec.opcode = CBK_OP_SORT;
    spec.inputs[0] = test_input(CBK_DTYPE_F32, view, TEST_EDGES, 2, 2, 9000);
    add(list, spec, "");
    spec.opcode = CBK_OP_MATMUL;
    spec.input_count = 2;
    spec.params_size = 0;
    spec.inputs[0] = test_input(CBK_DTYPE_I32, view, TEST_EDGES, 3, 2, 20, 30);
    spec.inputs[1] = test_input(CBK_DTYPE_I32, TEST_CONTIGUOUS, TEST_EDGES, 2, 30, 40);
    add(list, spec, "");
}

/// Bytes past 2^31 are reached: written, selected, summed.
static void test_past_2_31(void **state) {
    const int64_t count = ((int64_t)1 << 31) + 1000, last = count - 1;
    struct test_side *side = &test_pair.device;
    cbk_tensor *x = NULL, *end = NULL, *index = NULL, *out = NULL;
    uint8_t byte = 0;
    int64_t sum = 0;
    (void)state;
    if (!test_is_full()) skip();
    assert_ok(cbk_fill(side->stream, CBK_DTYPE_U8, 1, &count, cbk_i(1), &x));
    assert_ok(cbk_narrow(side->stream, x, 0, last, 1, &end));
    assert_ok(cbk_fill_into(side->stream, cbk_i(9), end));
    assert_ok(
        cbk_tensor_from_data(side->stream, CBK_DTYPE_I64, 1, (int64_t[]){1}, &last, 8, &index));
    assert_ok(cbk_select(side->stream, x, index, 0, &out));
    assert_ok(cbk_tensor_read(side->stream, out, &byte, 1));
    assert_int_equal(byte, 9);
    cbk_tensor_release(&out);
    assert_ok(
        cbk_sum(side->stream, x, &CBK_INIT(cbk_reduce_params, .out_dtype = CBK_DTYPE_I64), &out));
    assert_ok(cbk_tensor_read(side->stream, out, &sum, 8));
    assert_int_equal(sum, last + 9);
    cbk_tensor_release(&out);
    const cbk_compact_params two = CBK_INIT(cbk_compact_params, .length = 2);
    cbk_tensor *hits = NULL;
    assert_ok(cbk_argwhere_sized(side->stream, x, &two, &out, &hits));
    assert_ok(cbk_tensor_read(side->stream, hits, &sum, 8));
    assert_int_equal(sum, count);
    cbk_tensor_release(&hits);
    cbk_tensor_release(&out);
    cbk_tensor_release(&index);
    cbk_tensor_release(&end);
    cbk_tensor_release(&x);
}

int main(void) {
    const struct CMUnitTest large[] = {cmocka_unit_test(test_past_2_31)};
    const char *forms = getenv("CUBEBACK_TEST_FORMS");
    char with_index64[64];
    snprintf(with_index64, sizeof with_index64, "%s index64", forms ? forms : "");
    if (setenv("CUBEBACK_TEST_FORMS", with_index64, 1) != 0) return 1;

    struct test_list list = {0};
    for (uint32_t view = 0; view < TEST_VIEW_COUNT; view++) {
        add_pointwise(&list, (enum test_view)view);
        add_moves(&list, (enum test_view)view);
        add_reductions(&list, (enum test_view)view);
        add_compaction(&list, (enum test_view)view);
        add_images(&list, (enum test_view)view);
    }
    int failed = test_run_list("index64", &list);
    return failed + cmocka_run_group_tests(large, test_pair_open, test_pair_close);
}
