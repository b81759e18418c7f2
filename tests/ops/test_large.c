// test_large.c: pointwise operations and copies in the sizes where kernels choose other ways: tiles
// for transposed operands, joined short rows, stores past the caches, several work-items.

#include "runner.h"

static void add_transposed(struct test_list *list, cbk_dtype dtype) {
    struct test_spec spec = {.opcode = CBK_OP_COPY, .input_count = 1};
    spec.tolerance.closeness = TEST_BITS;
    spec.inputs[0] = test_input(dtype, TEST_TRANSPOSED, TEST_EDGES, 2, 301, 405);
    test_add(list, &spec, "");
    spec.inputs[0] = test_input(dtype, TEST_PERMUTED, TEST_EDGES, 3, 40, 50, 60);
    test_add(list, &spec, "");
    spec.inputs[0] = test_input(dtype, TEST_TRANSPOSED, TEST_EDGES, 3, 3, 128, 192);
    test_add(list, &spec, "");
    spec.inputs[0] = test_input(dtype, TEST_CONTIGUOUS, TEST_EDGES, 2, 320, 384);
    spec.output = TEST_INTO;
    spec.output_view = TEST_TRANSPOSED;
    test_add(list, &spec, "");
}

static void add_binary(struct test_list *list, cbk_dtype dtype, enum test_view a,
                       enum test_view b) {
    struct test_spec spec = {.opcode = CBK_OP_ADD, .input_count = 2};
    spec.tolerance = test_ulps(dtype, 0, 0);
    spec.inputs[0] = test_input(dtype, a, TEST_MODERATE, 3, 3, 200, 180);
    spec.inputs[1] = test_input(dtype, b, TEST_MODERATE, 2, 200, 180);
    test_add(list, &spec, "");
    spec.output = TEST_INTO;
    spec.output_view = TEST_TRANSPOSED;
    test_add(list, &spec, "");
}

static void add_short_rows(struct test_list *list, cbk_dtype dtype) {
    const int lengths[] = {1, 3, 10, 64, 65};
    for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct test_spec spec = {.opcode = CBK_OP_SUB, .input_count = 2};
        spec.tolerance = test_ulps(dtype, 0, 0);
        spec.inputs[0] = test_input(dtype, TEST_CONTIGUOUS, TEST_MODERATE, 3, 12, 1500, lengths[i]);
        spec.inputs[1] = test_input(dtype, TEST_CONTIGUOUS, TEST_MODERATE, 1, lengths[i]);
        test_add(list, &spec, "");
        spec.inputs[1] = test_input(dtype, TEST_CONTIGUOUS, TEST_MODERATE, 2, 1500, 1);
        test_add(list, &spec, "");
        spec.inputs[0] = test_input(dtype, TEST_CONTIGUOUS, TEST_MODERATE, 1, lengths[i]);
        spec.inputs[1] = test_input(dtype, TEST_STEPPED, TEST_MODERATE, 3, 12, 1500, lengths[i]);
        test_add(list, &spec, "");
    }
}

static void add_selection(struct test_list *list, cbk_dtype dtype) {
    struct test_spec spec = {.opcode = CBK_OP_WHERE, .input_count = 3};
    spec.tolerance.closeness = TEST_BITS;
    spec.inputs[0] = test_input(CBK_DTYPE_BOOL, TEST_TRANSPOSED, TEST_EDGES, 2, 310, 330);
    spec.inputs[1] = test_input(dtype, TEST_CONTIGUOUS, TEST_EDGES, 2, 310, 330);
    spec.inputs[2] = test_input(dtype, TEST_TRANSPOSED, TEST_EDGES, 2, 310, 330);
    test_add(list, &spec, "");
    spec.inputs[0] = test_input(CBK_DTYPE_BOOL, TEST_CONTIGUOUS, TEST_EDGES, 1, 7);
    spec.inputs[1] = test_input(dtype, TEST_CONTIGUOUS, TEST_EDGES, 2, 9000, 7);
    spec.inputs[2] = test_input(dtype, TEST_CONTIGUOUS, TEST_EDGES, 1, 7);
    test_add(list, &spec, "");
}

/// More than the 32 MiB from which stores bypass the caches, at an odd length and offset.
static void add_streams(struct test_list *list) {
    struct test_spec spec = {.opcode = CBK_OP_NEG, .input_count = 1};
    spec.tolerance.closeness = TEST_BITS;
    spec.inputs[0] = test_input(CBK_DTYPE_F32, TEST_CONTIGUOUS, TEST_MODERATE, 1, (4 << 20) + 77);
    test_add(list, &spec, "");
    spec.output = TEST_INTO;
    spec.output_view = TEST_OFFSET;
    test_add(list, &spec, "");
    spec.opcode = CBK_OP_CAST;
    test_set_params(&spec, cast, .dtype = CBK_DTYPE_BF16);
    spec.inputs[0].shape[0] = (6 << 20) + 77;
    test_add(list, &spec, "to bf16");
    test_set_params(&spec, cast, .dtype = CBK_DTYPE_F16);
    test_add(list, &spec, "to f16");
    spec = (struct test_spec){.opcode = CBK_OP_COPY, .input_count = 1};
    spec.tolerance.closeness = TEST_BITS;
    spec.inputs[0] = test_input(CBK_DTYPE_F32, TEST_TRANSPOSED, TEST_EDGES, 2, 2001, 2112);
    test_add(list, &spec, "");
    spec.inputs[0].shape[1] = 2103;
    test_add(list, &spec, "lines not aligned");
}

int main(void) {
    const cbk_dtype dtypes[] = {CBK_DTYPE_F64, CBK_DTYPE_F32, CBK_DTYPE_F16, CBK_DTYPE_U8};
    struct test_list list = {0};
    for (uint32_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        add_transposed(&list, dtypes[d]);
        add_selection(&list, dtypes[d]);
    }
    add_binary(&list, CBK_DTYPE_F32, TEST_CONTIGUOUS, TEST_TRANSPOSED);
    add_binary(&list, CBK_DTYPE_F32, TEST_TRANSPOSED, TEST_CONTIGUOUS);
    add_binary(&list, CBK_DTYPE_F16, TEST_PERMUTED, TEST_TRANSPOSED);
    add_binary(&list, CBK_DTYPE_I32, TEST_TRANSPOSED, TEST_TRANSPOSED);
    add_short_rows(&list, CBK_DTYPE_F32);
    add_short_rows(&list, CBK_DTYPE_BF16);
    add_streams(&list);
    return test_run_list("large", &list);
}
