// test_properties.c: what holds whatever the shapes: on the device alone, over random shapes.

#include "device.h"
#include "random_data.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

static struct test_side side;
static cbk_stream *stream;
static uint64_t seed;

static int open_side(void **state) {
    (void)state;
    const char *kind = getenv("CUBEBACK_TEST_BACKEND");
    cbk_backend *reference = NULL;
    bool is_open;
    if (kind && !strcmp(kind, "reference"))
        is_open = cbk_reference_create(NULL, &reference) == CBK_OK &&
                  test_side_open(&side, "reference", reference, false);
    else
        is_open = test_opencl_open(&side);
    stream = side.stream;
    return is_open ? 0 : -1;
}

static int close_side(void **state) {
    (void)state;
    test_write_stats(side.device);
    test_side_close(&side);
    return 0;
}

/// Rounds of each property.
static int rounds(void) {
    const char *full = getenv("CUBEBACK_TEST_FULL");
    return full && *full && strcmp(full, "0") != 0 ? 300 : 12;
}

// ---- tensors of random shapes ------------------------------------------------------------------

struct shape {
    uint32_t rank;
    int64_t lengths[TEST_MAX_RANK];
    int64_t count;
};

static struct shape random_shape(uint32_t lowest_rank, uint32_t highest_rank, int64_t longest) {
    struct shape shape = {.count = 1};
    shape.rank = lowest_rank + (uint32_t)test_random_below(&seed, highest_rank - lowest_rank + 1);
    for (uint32_t i = 0; i < shape.rank; i++) {
        shape.lengths[i] = 1 + test_random_below(&seed, longest);
        shape.count *= shape.lengths[i];
    }
    return shape;
}

static cbk_tensor *random_tensor(const struct shape *shape, cbk_dtype dtype, enum test_data data,
                                 int64_t bound) {
    enum test_view view = (enum test_view)test_random_below(&seed, TEST_EXPANDED);
    struct test_base base = test_view_base(view, shape->rank, shape->lengths);
    size_t size = (size_t)base.count * cbk_dtype_size(dtype);
    void *bytes = malloc(size + 1);
    cbk_tensor *whole = NULL;
    assert_non_null(bytes);
    test_fill(bytes, dtype, base.count, data, bound, &seed);
    assert_ok(cbk_tensor_from_data(stream, dtype, base.rank, base.shape, bytes, size, &whole));
    cbk_tensor *x = test_view_make(&side, view, whole, shape->rank, shape->lengths);
    cbk_tensor_release(&whole);
    free(bytes);
    return x;
}

static void *read_all(const cbk_tensor *x, size_t *out_size) {
    *out_size = (size_t)cbk_tensor_element_count(x) * cbk_dtype_size(cbk_tensor_dtype(x));
    void *bytes = malloc(*out_size + 1);
    assert_non_null(bytes);
    assert_ok(cbk_tensor_read(stream, x, bytes, *out_size));
    return bytes;
}

/// Fails unless both have the same bytes; releases them.
static void expect_same(cbk_tensor *a, cbk_tensor *b) {
    size_t size_a, size_b;
    void *bytes_a = read_all(a, &size_a), *bytes_b = read_all(b, &size_b);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(bytes_a, bytes_b, size_a);
    free(bytes_a);
    free(bytes_b);
    cbk_tensor_release(&a);
    cbk_tensor_release(&b);
}

// ---- properties --------------------------------------------------------------------------------

static void test_addition_commutes(void **state) {
    (void)state;
    for (int i = 0; i < rounds(); i++) {
        struct shape shape = random_shape(0, 5, 9);
        cbk_tensor *a = random_tensor(&shape, CBK_DTYPE_F32, TEST_FINITE, 0);
        cbk_tensor *b = random_tensor(&shape, CBK_DTYPE_F32, TEST_FINITE, 0);
        cbk_tensor *ab = NULL, *ba = NULL;
        assert_ok(cbk_add(stream, a, b, &ab));
        assert_ok(cbk_add(stream, b, a, &ba));
        expect_same(ab, ba);
        cbk_tensor_release(&a);
        cbk_tensor_release(&b);
    }
}

static void test_reductions_in_any_order(void **state) {
    (void)state;
    for (int i = 0; i < rounds(); i++) {
        struct shape shape = random_shape(2, 4, 20);
        int32_t last = (int32_t)shape.rank - 1;
        cbk_tensor *x = random_tensor(&shape, CBK_DTYPE_I32, TEST_EDGES, 0);
        cbk_tensor *first = NULL, *steps = NULL, *once = NULL;
        assert_ok(cbk_sum(stream, x, &CBK_INIT(cbk_reduce_params, .axis_count = 1, .axes = {last}),
                          &first));
        assert_ok(cbk_sum(stream, first, NULL, &steps));
        assert_ok(cbk_sum(stream, x, NULL, &once));
        expect_same(steps, once);
        cbk_tensor_release(&first);
        cbk_tensor_release(&x);
    }
}

static void test_reshape_keeps_the_order(void **state) {
    (void)state;
    for (int i = 0; i < rounds(); i++) {
        struct shape shape = random_shape(1, 6, 6);
        cbk_tensor *x = random_tensor(&shape, CBK_DTYPE_F32, TEST_EDGES, 0);
        cbk_tensor *copy = NULL, *line = NULL, *back = NULL, *square = NULL;
        assert_ok(cbk_copy(stream, x, &copy));
        assert_ok(cbk_reshape(stream, x, 1, (int64_t[]){-1}, &line));
        assert_ok(cbk_reshape(stream, line, shape.rank, shape.lengths, &back));
        assert_ok(cbk_reshape(stream, copy, 2, (int64_t[]){shape.lengths[0], -1}, &square));
        expect_same(line, copy);
        expect_same(back, square);
        cbk_tensor_release(&x);
    }
}

static void test_views_and_their_opposites(void **state) {
    (void)state;
    for (int i = 0; i < rounds(); i++) {
        struct shape shape = random_shape(2, 5, 8);
        cbk_tensor *x = random_tensor(&shape, CBK_DTYPE_F32, TEST_EDGES, 0);
        cbk_tensor *turned = NULL, *copy = NULL, *back = NULL;
        assert_ok(cbk_flip(stream, x, 0, NULL, &turned));
        assert_ok(cbk_copy(stream, turned, &copy));
        cbk_tensor_release(&turned);
        assert_ok(cbk_transpose(stream, copy, 0, -1, &turned));
        cbk_tensor_release(&copy);
        assert_ok(cbk_copy(stream, turned, &copy));
        cbk_tensor_release(&turned);
        assert_ok(cbk_transpose(stream, copy, 0, -1, &turned));
        assert_ok(cbk_flip(stream, turned, 0, NULL, &back));
        cbk_tensor_release(&copy);
        cbk_tensor_release(&turned);
        expect_same(back, x);
    }
}

static void test_gather_after_scatter(void **state) {
    (void)state;
    for (int i = 0; i < rounds(); i++) {
        struct shape shape = random_shape(1, 1, 200);
        cbk_tensor *x = random_tensor(&shape, CBK_DTYPE_F32, TEST_EDGES, 0);
        cbk_tensor *value = random_tensor(&shape, CBK_DTYPE_F32, TEST_EDGES, 0);
        cbk_tensor *index = NULL, *changed = NULL, *got = NULL;
        int64_t *places = malloc((size_t)shape.count * sizeof *places);
        assert_non_null(places);
        test_fill(places, CBK_DTYPE_I64, shape.count, TEST_UNIQUE, 0, &seed);
        assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_I64, 1, shape.lengths, places,
                                       (uint64_t)shape.count * 8, &index));
        assert_ok(cbk_scatter(stream, x, index, value, 0, CBK_UPDATE_ASSIGN, &changed));
        assert_ok(cbk_gather(stream, changed, index, 0, &got));
        expect_same(got, value);
        free(places);
        cbk_tensor_release(&changed);
        cbk_tensor_release(&index);
        cbk_tensor_release(&x);
    }
}

static void test_cat_and_slices(void **state) {
    (void)state;
    for (int i = 0; i < rounds(); i++) {
        struct shape shape = random_shape(1, 4, 7);
        int32_t axis = (int32_t)test_random_below(&seed, shape.rank);
        int64_t length = shape.lengths[axis], middle = test_random_below(&seed, length + 1);
        cbk_tensor *x = random_tensor(&shape, CBK_DTYPE_F32, TEST_EDGES, 0);
        cbk_tensor *low = NULL, *high = NULL, *joined = NULL;
        assert_ok(cbk_narrow(stream, x, axis, 0, middle, &low));
        assert_ok(cbk_narrow(stream, x, axis, middle, length - middle, &high));
        const cbk_tensor *const parts[] = {low, high};
        assert_ok(cbk_cat(stream, parts, 2, axis, &joined));
        expect_same(joined, x);
        cbk_tensor_release(&low);
        cbk_tensor_release(&high);
    }
}

static void test_product_transposed(void **state) {
    (void)state;
    for (int i = 0; i < rounds(); i++) { // (a b)^T = b^T a^T, exact for integers
        struct shape a_shape = random_shape(2, 2, 40), b_shape = random_shape(2, 2, 40);
        b_shape.lengths[0] = a_shape.lengths[1];
        cbk_tensor *a = random_tensor(&a_shape, CBK_DTYPE_I32, TEST_EDGES, 0);
        cbk_tensor *b = random_tensor(&b_shape, CBK_DTYPE_I32, TEST_EDGES, 0);
        cbk_tensor *at = NULL, *bt = NULL, *ab = NULL, *left = NULL, *right = NULL;
        assert_ok(cbk_matmul(stream, a, b, NULL, &ab));
        assert_ok(cbk_transpose(stream, ab, 0, 1, &left));
        assert_ok(cbk_transpose(stream, a, 0, 1, &at));
        assert_ok(cbk_transpose(stream, b, 0, 1, &bt));
        assert_ok(cbk_matmul(stream, bt, at, NULL, &right));
        expect_same(left, right);
        cbk_tensor_release(&a);
        cbk_tensor_release(&b);
        cbk_tensor_release(&at);
        cbk_tensor_release(&bt);
        cbk_tensor_release(&ab);
    }
}

static void test_results_repeat(void **state) {
    (void)state;
    for (int i = 0; i < rounds(); i++) { // the same bits in every run and at any place in memory
        struct shape shape = random_shape(2, 3, 60);
        cbk_tensor *x = random_tensor(&shape, CBK_DTYPE_F32, TEST_MODERATE, 0);
        cbk_tensor *first = NULL, *second = NULL, *between = NULL;
        assert_ok(cbk_sum(stream, x, NULL, &first));
        assert_ok(cbk_tensor_empty(stream, CBK_DTYPE_F32, shape.rank, shape.lengths, &between));
        assert_ok(cbk_sum(stream, x, NULL, &second));
        expect_same(first, second);
        assert_ok(cbk_softmax(stream, x, -1, &first));
        assert_ok(cbk_softmax(stream, x, -1, &second));
        expect_same(first, second);
        cbk_tensor_release(&between);
        cbk_tensor_release(&x);
    }
}

static void test_halves_round_trip(void **state) {
    (void)state;
    for (int i = 0; i < rounds(); i++) {
        struct shape shape = random_shape(1, 3, 20);
        cbk_tensor *x = random_tensor(&shape, CBK_DTYPE_F16, TEST_FINITE, 0);
        cbk_tensor *wide = NULL, *back = NULL;
        assert_ok(cbk_cast(stream, x, CBK_DTYPE_F32, &wide));
        assert_ok(cbk_cast(stream, wide, CBK_DTYPE_F16, &back));
        expect_same(back, x);
        cbk_tensor_release(&wide);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addition_commutes),
        cmocka_unit_test(test_reductions_in_any_order),
        cmocka_unit_test(test_reshape_keeps_the_order),
        cmocka_unit_test(test_views_and_their_opposites),
        cmocka_unit_test(test_gather_after_scatter),
        cmocka_unit_test(test_cat_and_slices),
        cmocka_unit_test(test_product_transposed),
        cmocka_unit_test(test_results_repeat),
        cmocka_unit_test(test_halves_round_trip),
    };
    seed = 20;
    return cmocka_run_group_tests(tests, open_side, close_side);
}
