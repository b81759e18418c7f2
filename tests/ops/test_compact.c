// test_compact.c: argwhere and mask_select: the sized forms against the reference, the forms that
// wait, and what is refused; unique.

#include "runner.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

/// Shapes round a vector, a tile (4096) and a chunk (16384) of the kernels.
static const struct {
    uint32_t rank;
    int shape[4];
} shapes[] = {
    {2, {67, 41}},     {1, {20011}},   {4, {3, 4, 5, 6}}, {0, {0}},        {2, {0, 3}},
    {3, {130, 9, 61}}, {2, {1, 4096}}, {1, {1}},          {2, {4097, 16}}, {1, {15}},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static struct test_operand operand(cbk_dtype dtype, uint32_t view, enum test_data data,
                                   uint32_t shape) {
    const int *s = shapes[shape].shape;
    return test_input(dtype, (enum test_view)(view % TEST_VIEW_COUNT), data, shapes[shape].rank,
                      s[0], s[1], s[2], s[3]);
}

/// Half of the elements are hits, or one in forty; the result has room for fewer, more or none.
static void add_lengths(struct test_list *list, struct test_spec *spec, int64_t count,
                        uint32_t number) {
    const int64_t lengths[] = {count / 2 + 3, count / 60, count + 5, 0};
    spec->output_count = 2;
    spec->tolerance.closeness = TEST_BITS;
    for (uint32_t i = 0; i < 4; i++) {
        if (!test_is_full() && i != number % 4) continue;
        char suffix[40];
        spec->params.compact.length = lengths[i];
        snprintf(suffix, sizeof suffix, "length %d", (int)lengths[i]);
        spec->output = TEST_NEW;
        test_add(list, spec, suffix);
        spec->output = TEST_INTO;
        spec->output_view = (enum test_view)(number % TEST_EXPANDED);
        test_add(list, spec, suffix);
    }
}

static int64_t count_of(const struct test_operand *x) {
    int64_t count = 1;
    for (uint32_t i = 0; i < x->rank; i++) count *= x->shape[i];
    return count;
}

static void add_argwhere(struct test_list *list, cbk_dtype dtype, uint32_t shape, uint32_t number) {
    struct test_spec spec = {.opcode = CBK_OP_ARGWHERE, .input_count = 1};
    enum test_data data = number % 3 == 0 ? TEST_EDGES : TEST_ZERO_HEAVY;
    spec.inputs[0] = operand(dtype, number, data, shape);
    int64_t count = count_of(&spec.inputs[0]);
    cbk_dtype out_dtype = test_ints[number % 8];
    if (count > 100 && cbk_dtype_size(out_dtype) == 1) out_dtype = 0;
    if (count > 30000 && cbk_dtype_size(out_dtype) == 2) out_dtype = CBK_DTYPE_I32;
    test_set_params(&spec, compact, .out_dtype = out_dtype);
    add_lengths(list, &spec, count, number);
}

static void add_mask_select(struct test_list *list, cbk_dtype dtype, uint32_t shape,
                            uint32_t number) {
    struct test_spec spec = {.opcode = CBK_OP_MASK_SELECT, .input_count = 2};
    enum test_data data = number % 3 == 0 ? TEST_ZERO_HEAVY : TEST_EDGES;
    spec.inputs[0] = operand(dtype, number, TEST_EDGES, shape);
    spec.inputs[1] =
        operand(number % 5 == 2 ? CBK_DTYPE_BOOL32 : CBK_DTYPE_BOOL, number / 2, data, shape);
    struct test_operand *mask = &spec.inputs[1];
    if (number % 4 == 1 && mask->rank > 1) { // the last axes alone
        memmove(mask->shape, mask->shape + 1, 3 * sizeof *mask->shape);
        mask->rank--;
    } else if (number % 4 == 3 && mask->rank > 1) {
        mask->shape[mask->rank - 1] = 1;
    }
    test_set_params(&spec, compact, .out_dtype = number % 2 ? CBK_DTYPE_I64 : CBK_DTYPE_U32);
    add_lengths(list, &spec, count_of(&spec.inputs[0]), number);
}

// ---- the forms that wait ------------------------------------------------------------------------

static cbk_tensor *matrix(const uint8_t *data, cbk_dtype dtype) {
    const int64_t shape[2] = {2, 3};
    cbk_tensor *x = NULL;
    assert_ok(cbk_tensor_from_data(test_pair.device.stream, dtype, 2, shape, data, 6, &x));
    return x;
}

static void test_waiting(void **state) {
    cbk_stream *stream = test_pair.device.stream;
    const uint8_t mask_data[6] = {0, 1, 1, 0, 0, 1}, data[6] = {5, 6, 7, 8, 9, 10};
    const int64_t want_places[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    int64_t places[3][2];
    uint8_t selected[3];
    (void)state;
    cbk_tensor *mask = matrix(mask_data, CBK_DTYPE_BOOL), *x = matrix(data, CBK_DTYPE_U8);
    cbk_tensor *where = NULL, *picked = NULL, *none = NULL;
    assert_ok(cbk_argwhere(stream, mask, &where));
    assert_int_equal(cbk_tensor_shape(where)[0], 3);
    assert_int_equal(cbk_tensor_shape(where)[1], 2);
    assert_ok(cbk_tensor_read(stream, where, places, sizeof places));
    assert_memory_equal(places, want_places, sizeof places);
    assert_ok(cbk_mask_select(stream, x, mask, &picked));
    assert_int_equal(cbk_tensor_shape(picked)[0], 3);
    assert_ok(cbk_tensor_read(stream, picked, selected, 3));
    assert_memory_equal(selected, ((uint8_t[]){6, 7, 10}), 3);
    cbk_tensor_release(&where);
    cbk_tensor_release(&picked);

    // No hit at all, and a row of the mask for all rows of x.
    assert_ok(cbk_zeros(stream, CBK_DTYPE_BOOL, 1, (int64_t[]){3}, &none));
    assert_ok(cbk_argwhere(stream, none, &where));
    assert_int_equal(cbk_tensor_shape(where)[0], 0);
    assert_int_equal(cbk_tensor_shape(where)[1], 1);
    assert_ok(cbk_mask_select(stream, x, none, &picked));
    assert_int_equal(cbk_tensor_shape(picked)[0], 0);
    cbk_tensor_release(&where);
    cbk_tensor_release(&picked);
    cbk_tensor_release(&none);
    cbk_tensor_release(&mask);
    cbk_tensor_release(&x);
}

/// Both steps are recorded; the forms that wait are refused and leave the capture as it is.
static void test_captured(void **state) {
    cbk_stream *stream = test_pair.device.stream;
    const uint8_t first[6] = {0, 1, 1, 0, 0, 1}, second[6] = {1, 0, 0, 0, 0, 0};
    const cbk_compact_params params = CBK_INIT(cbk_compact_params, .length = 2);
    cbk_tensor *mask = matrix(first, CBK_DTYPE_BOOL), *where = NULL, *count = NULL, *refused = NULL;
    cbk_graph *graph = NULL;
    int64_t places[2][2], hits = 0;
    (void)state;
    assert_ok(cbk_graph_prepare(stream));
    assert_ok(cbk_argwhere_sized(stream, mask, &params, &where, NULL));
    cbk_tensor_release(&where);
    assert_ok(cbk_graph_start_capture(stream));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_argwhere(stream, mask, &refused));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_mask_select(stream, mask, mask, &refused));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_unique(stream, mask, &refused, NULL, NULL));
    assert_null(refused);
    assert_ok(cbk_argwhere_sized(stream, mask, &params, &where, &count));
    assert_ok(cbk_graph_stop_capture(stream, &graph));
    for (int turn = 0; turn < 2; turn++) {
        if (turn == 1) assert_ok(cbk_tensor_write(stream, mask, second, sizeof second));
        assert_ok(cbk_graph_replay(graph));
        assert_ok(cbk_tensor_read(stream, count, &hits, sizeof hits));
        assert_int_equal(hits, turn == 0 ? 3 : 1);
        assert_ok(cbk_tensor_read(stream, where, places, sizeof places));
        assert_int_equal(places[0][0], 0);
        assert_int_equal(places[0][1], turn == 0 ? 1 : 0);
        assert_int_equal(places[1][1], turn == 0 ? 2 : 0);
    }
    cbk_graph_release(&graph);
    cbk_tensor_release(&where);
    cbk_tensor_release(&count);
    cbk_tensor_release(&mask);
}

/// The same numbers, places and counts on both sides; `x` are two tensors with the same elements.
/// `axis` is negative for all elements.
static void expect_same_unique(cbk_tensor *const x[2], int32_t axis) {
    cbk_stream *const streams[2] = {test_pair.device.stream, test_pair.reference.stream};
    cbk_tensor *outs[2][3] = {{NULL}};
    static unsigned char bytes[2][1 << 17];
    for (int side = 0; side < 2; side++)
        assert_ok(axis < 0 ? cbk_unique(streams[side], x[side], &outs[side][0], &outs[side][1],
                                        &outs[side][2])
                           : cbk_unique_along(streams[side], x[side], axis, &outs[side][0],
                                              &outs[side][1], &outs[side][2]));
    for (int k = 0; k < 3; k++) {
        const cbk_tensor *want = outs[1][k], *got = outs[0][k];
        const size_t size =
            (size_t)cbk_tensor_element_count(want) * cbk_dtype_size(cbk_tensor_dtype(want));
        assert_int_equal(cbk_tensor_element_count(got), cbk_tensor_element_count(want));
        assert_true(size <= sizeof bytes[0]);
        for (int side = 0; side < 2; side++) {
            assert_ok(cbk_tensor_read(streams[side], outs[side][k], bytes[side], size));
            cbk_tensor_release(&outs[side][k]);
        }
        assert_memory_equal(bytes[0], bytes[1], size);
    }
}

static void test_different_numbers(void **state) {
    static const cbk_dtype dtypes[] = {CBK_DTYPE_F32, CBK_DTYPE_I8};
    const int64_t shape[2] = {41, 257};
    static unsigned char data[41 * 257 * 4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        cbk_stream *const streams[2] = {test_pair.device.stream, test_pair.reference.stream};
        cbk_tensor *whole[2] = {NULL}, *turned[2] = {NULL}, *pairs[2] = {NULL};
        const cbk_dtype dtype = dtypes[i % 2];
        const size_t size = 41 * 257 * cbk_dtype_size(dtype);
        uint64_t seed = 77 + (uint64_t)i;
        test_fill(data, dtype, 41 * 257, i < 2 ? TEST_MODERATE : TEST_EDGES, 0, &seed);
        for (int side = 0; side < 2; side++) {
            assert_ok(
                cbk_tensor_from_data(streams[side], dtype, 2, shape, data, size, &whole[side]));
            assert_ok(cbk_transpose(streams[side], whole[side], 0, 1, &turned[side]));
            assert_ok(cbk_narrow(streams[side], turned[side], 1, 0, 2, &pairs[side]));
        }
        expect_same_unique(whole, -1);
        expect_same_unique(turned, -1);
        expect_same_unique(whole, 0);
        expect_same_unique(pairs, 0); // [257, 2]
        for (int side = 0; side < 2; side++) {
            cbk_tensor_release(&pairs[side]);
            cbk_tensor_release(&turned[side]);
            cbk_tensor_release(&whole[side]);
        }
    }
}

static void expect_refusal(cbk_status want, const char *message, cbk_status got) {
    assert_status(want, got);
    if (strstr(cbk_last_error_message(), message) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", message, cbk_last_error_message());
}

static void test_refusals(void **state) {
    cbk_stream *stream = test_pair.device.stream;
    const uint8_t data[6] = {0};
    cbk_tensor *x = matrix(data, CBK_DTYPE_U8), *mask = NULL, *wide = NULL, *one = NULL,
               *out = NULL;
    (void)state;
    assert_ok(cbk_zeros(stream, CBK_DTYPE_BOOL, 1, (int64_t[]){2}, &mask));
    assert_ok(cbk_zeros(stream, CBK_DTYPE_BOOL, 2, (int64_t[]){1, 1}, &one));
    assert_ok(cbk_zeros(stream, CBK_DTYPE_BOOL, 2, (int64_t[]){20, 20}, &wide));
    const cbk_compact_params negative = CBK_INIT(cbk_compact_params, .length = -1),
                             narrow = CBK_INIT(cbk_compact_params, .out_dtype = CBK_DTYPE_U8),
                             real = CBK_INIT(cbk_compact_params, .out_dtype = CBK_DTYPE_F32);
    expect_refusal(CBK_ERROR_SHAPE, "-1", cbk_argwhere_sized(stream, x, &negative, &out, NULL));
    expect_refusal(CBK_ERROR_OVERFLOW, "argwhere: a count of 400 does not fit out_dtype u8",
                   cbk_argwhere_sized(stream, wide, &narrow, &out, NULL));
    expect_refusal(CBK_ERROR_DTYPE, "out_dtype is f32",
                   cbk_argwhere_sized(stream, x, &real, &out, NULL));
    expect_refusal(CBK_ERROR_SHAPE, "do not broadcast",
                   cbk_mask_select_sized(stream, x, mask, NULL, &out, NULL));
    expect_refusal(CBK_ERROR_SHAPE, "x is [1,1], mask [20,20]: the mask must broadcast to x",
                   cbk_mask_select_sized(stream, one, wide, NULL, &out, NULL));
    expect_refusal(CBK_ERROR_DTYPE, "mask is u8",
                   cbk_mask_select_sized(stream, x, x, NULL, &out, NULL));
    expect_refusal(CBK_ERROR_INVALID_ARGUMENT, "dst is NULL",
                   cbk_argwhere_into(stream, x, NULL, NULL));
    assert_null(out);
    cbk_tensor_release(&x);
    cbk_tensor_release(&mask);
    cbk_tensor_release(&wide);
    cbk_tensor_release(&one);
}

int main(void) {
    const struct CMUnitTest calls[] = {
        cmocka_unit_test(test_waiting), cmocka_unit_test(test_captured),
        cmocka_unit_test(test_different_numbers), cmocka_unit_test(test_refusals)};
    struct test_list list = {0};
    for (uint32_t d = 0; test_all_dtypes[d]; d++) {
        cbk_dtype dtype = test_all_dtypes[d];
        bool is_small = dtype == CBK_DTYPE_F8E4M3 || dtype == CBK_DTYPE_F8E5M2;
        for (uint32_t s = 0; s < SHAPES; s++) {
            bool is_usual = dtype == CBK_DTYPE_BOOL || dtype == CBK_DTYPE_F32;
            if (!test_is_full() && !is_usual && s % 4 != d % 4) continue;
            if (!is_small) add_argwhere(&list, dtype, s, 3 * d + s);
            add_mask_select(&list, dtype, s, 5 * d + s);
        }
    }
    for (uint32_t view = 0; view < TEST_VIEW_COUNT; view++) {
        add_argwhere(&list, CBK_DTYPE_BOOL, 0, view);
        add_argwhere(&list, CBK_DTYPE_BOOL, 5, view);
        add_mask_select(&list, CBK_DTYPE_F32, 5, view);
    }
    int failed = test_run_list("compact", &list);
    return failed + cmocka_run_group_tests(calls, test_pair_open, test_pair_close);
}
