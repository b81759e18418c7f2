// test_properties.c: what holds whatever the shapes: on the device alone, over random shapes.

#include "device.h"
#include "random_data.h"
#include "support.h"

#include <math.h>
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
        is_open = test_opencl_open(&side, 0);
    stream = side.stream;
    return is_open ? 0 : -1;
}

static int close_side(void **state) {
    (void)state;
    return test_side_finish(&side);
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

/// `count` elements of one value, in memory of one.
static cbk_tensor *repeated(cbk_dtype dtype, double value, int64_t count) {
    cbk_tensor *one = NULL, *many = NULL;
    assert_ok(cbk_fill(stream, dtype, 1, (int64_t[]){1}, cbk_f(value), &one));
    assert_ok(cbk_expand(stream, one, 1, &count, &many));
    cbk_tensor_release(&one);
    return many;
}

static void expect_f32(cbk_tensor *x, float value) {
    cbk_tensor *wanted = NULL;
    assert_ok(cbk_fill(stream, CBK_DTYPE_F32, 0, NULL, cbk_f(value), &wanted));
    expect_same(x, wanted);
}

static void test_sums_of_many_are_exact(void **state) {
    (void)state;
    cbk_reduce_params to_f32 = CBK_INIT(cbk_reduce_params, .out_dtype = CBK_DTYPE_F32);
    cbk_tensor *ones = repeated(CBK_DTYPE_F32, 1, (int64_t)1 << 26), *out = NULL;
    cbk_tensor *largest = repeated(CBK_DTYPE_F16, 65504, 100000);
    assert_ok(cbk_sum(stream, ones, NULL, &out)); // a running sum would stop at 2^24
    expect_f32(out, 0x1p26f);
    assert_ok(cbk_mean(stream, largest, &to_f32, &out));
    expect_f32(out, 65504);
    assert_ok(
        cbk_var(stream, largest, &CBK_INIT(cbk_variance_params, .out_dtype = CBK_DTYPE_F32), &out));
    expect_f32(out, 0);
    cbk_tensor_release(&ones);
    cbk_tensor_release(&largest);
}

static void test_variance_far_from_zero(void **state) {
    (void)state; // 0, 1, 0, 1, ... on top of a million: a difference of squares would lose it all
    const int64_t pair = 2, count = 5000, shape[2] = {count, pair};
    cbk_tensor *offset = NULL, *x = NULL, *line = NULL, *out = NULL;
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 1, &pair, (float[]){1000000, 1000001},
                                   2 * sizeof(float), &offset));
    assert_ok(cbk_expand(stream, offset, 2, shape, &x));
    assert_ok(cbk_reshape(stream, x, 1, (int64_t[]){-1}, &line));
    assert_ok(cbk_var(stream, line, NULL, &out));
    float variance = 0;
    assert_ok(cbk_tensor_read(stream, out, &variance, sizeof variance));
    assert_true(variance > 0.24999f && variance < 0.25001f);
    cbk_tensor_release(&out);
    cbk_tensor_release(&line);
    cbk_tensor_release(&x);
    cbk_tensor_release(&offset);
}

static void test_norm_of_the_largest(void **state) {
    (void)state;
    const float values[4] = {3e38f, 0, 1, 0}, tiny[4] = {0, 3e-30f, 0, 4e-30f};
    const int64_t length = 4;
    cbk_tensor *x = NULL, *out = NULL;
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 1, &length, values, sizeof values, &x));
    assert_ok(cbk_norm(stream, x, NULL, &out));
    expect_f32(out, 3e38f);
    cbk_tensor_release(&x);
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 1, &length, tiny, sizeof tiny, &x));
    assert_ok(cbk_norm(stream, x, NULL, &out));
    float norm = 0;
    assert_ok(cbk_tensor_read(stream, out, &norm, sizeof norm));
    assert_true(norm > 4.99999e-30f && norm < 5.00001e-30f);
    cbk_tensor_release(&out);
    cbk_tensor_release(&x);
}

static double read_one(cbk_tensor *x, int64_t at) {
    size_t size;
    float *data = read_all(x, &size);
    const double value = data[at];
    free(data);
    return value;
}

static void test_composed_statistics(void **state) {
    (void)state;
    const float data[6] = {1, 2, 4, 2, 4, 8};
    const int64_t shape[2] = {2, 3};
    cbk_tensor *x = NULL, *a = NULL, *b = NULL, *out = NULL;
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape, data, sizeof data, &x));
    assert_ok(cbk_cov(stream, x, 1, &out)); // rows a and 2 a
    assert_true(fabs(read_one(out, 0) - 7.0 / 3) < 1e-5 &&
                fabs(read_one(out, 3) - 28.0 / 3) < 1e-5);
    assert_true(fabs(read_one(out, 1) - 14.0 / 3) < 1e-5 && read_one(out, 1) == read_one(out, 2));
    cbk_tensor *trace = NULL;
    assert_ok(cbk_matrix_trace(stream, out, &trace));
    assert_true(fabs(read_one(trace, 0) - 35.0 / 3) < 1e-5);
    cbk_tensor_release(&trace);
    cbk_tensor_release(&out);
    assert_ok(cbk_narrow(stream, x, 0, 0, 1, &a));
    assert_ok(cbk_narrow(stream, x, 0, 1, 1, &b));
    assert_ok(cbk_cosine_similarity(stream, a, b, 1, 0, &out));
    assert_true(fabs(read_one(out, 0) - 1) < 1e-6);
    cbk_tensor_release(&out);
    cbk_tensor_release(&a);
    cbk_tensor_release(&b);
    cbk_tensor_release(&x);
}

/// A function of x that is differentiated; `inputs` are x, gamma, beta.
struct differentiable {
    cbk_status (*value)(cbk_tensor *const *inputs, cbk_tensor **out);
    cbk_status (*gradients)(cbk_tensor *const *inputs, cbk_tensor *g, cbk_tensor **outs);
    uint32_t input_count;
};
static const cbk_layer_norm_params soft_eps = {.struct_size = sizeof soft_eps, .eps = 0.125};

static cbk_status layer_value(cbk_tensor *const *in, cbk_tensor **out) {
    return cbk_layer_norm(stream, in[0], in[1], in[2], &soft_eps, out);
}
static cbk_status layer_gradients(cbk_tensor *const *in, cbk_tensor *g, cbk_tensor **outs) {
    return cbk_layer_norm_backward(stream, g, in[0], in[1], &soft_eps, &outs[0], &outs[1],
                                   &outs[2]);
}
static cbk_status rms_value(cbk_tensor *const *in, cbk_tensor **out) {
    return cbk_rms_norm(stream, in[0], in[1], &soft_eps, out);
}
static cbk_status rms_gradients(cbk_tensor *const *in, cbk_tensor *g, cbk_tensor **outs) {
    return cbk_rms_norm_backward(stream, g, in[0], in[1], &soft_eps, &outs[0], &outs[1]);
}
static cbk_status softmax_value(cbk_tensor *const *in, cbk_tensor **out) {
    return cbk_softmax(stream, in[0], 1, out);
}
static cbk_status softmax_gradients(cbk_tensor *const *in, cbk_tensor *g, cbk_tensor **outs) {
    cbk_tensor *y = NULL;
    cbk_status status = softmax_value(in, &y);
    if (status == CBK_OK) status = cbk_softmax_backward(stream, y, g, 1, outs);
    cbk_tensor_release(&y);
    return status;
}
static cbk_status log_softmax_value(cbk_tensor *const *in, cbk_tensor **out) {
    return cbk_log_softmax(stream, in[0], 1, out);
}
static cbk_status log_softmax_gradients(cbk_tensor *const *in, cbk_tensor *g, cbk_tensor **outs) {
    cbk_tensor *y = NULL;
    cbk_status status = log_softmax_value(in, &y);
    if (status == CBK_OK) status = cbk_log_softmax_backward(stream, y, g, 1, outs);
    cbk_tensor_release(&y);
    return status;
}

#define GRADIENT_ROWS 3
#define GRADIENT_COLUMNS 5
static cbk_tensor *doubles(uint32_t rank, const double *data) {
    const int64_t shape[2] = {GRADIENT_ROWS, GRADIENT_COLUMNS};
    const int64_t count = rank == 2 ? GRADIENT_ROWS * GRADIENT_COLUMNS : GRADIENT_COLUMNS;
    cbk_tensor *x = NULL;
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F64, rank, rank == 2 ? shape : shape + 1, data,
                                   (uint64_t)count * sizeof *data, &x));
    return x;
}

/// sum(g f(inputs)).
static double weighted(const struct differentiable *f, double data[3][15], const double *g) {
    cbk_tensor *inputs[3], *out = NULL;
    double total = 0;
    for (int k = 0; k < 3; k++) inputs[k] = doubles(k == 0 ? 2 : 1, data[k]);
    assert_ok(f->value(inputs, &out));
    size_t size;
    double *values = read_all(out, &size);
    for (int i = 0; i < GRADIENT_ROWS * GRADIENT_COLUMNS; i++) total += g[i] * values[i];
    free(values);
    for (int k = 0; k < 3; k++) cbk_tensor_release(&inputs[k]);
    cbk_tensor_release(&out);
    return total;
}

static void check_gradients(const struct differentiable *f) {
    double data[3][15], g[15];
    const double step = 1e-5;
    for (int i = 0; i < 15; i++) {
        g[i] = (double)test_random_below(&seed, 1000) / 500 - 1;
        for (int k = 0; k < 3; k++) data[k][i] = (double)test_random_below(&seed, 1000) / 250 - 2;
    }
    cbk_tensor *inputs[3], *outs[3] = {NULL}, *back = doubles(2, g);
    for (int k = 0; k < 3; k++) inputs[k] = doubles(k == 0 ? 2 : 1, data[k]);
    assert_ok(f->gradients(inputs, back, outs));
    for (uint32_t k = 0; k < f->input_count; k++) {
        size_t size;
        double *gradient = read_all(outs[k], &size);
        for (size_t i = 0; i < size / sizeof *gradient; i++) {
            const double at = data[k][i];
            data[k][i] = at + step;
            const double above = weighted(f, data, g);
            data[k][i] = at - step;
            const double slope = (above - weighted(f, data, g)) / (2 * step);
            data[k][i] = at;
            assert_true(fabs(slope - gradient[i]) < 1e-7 * (1 + fabs(slope)));
        }
        free(gradient);
    }
    for (int k = 0; k < 3; k++) {
        cbk_tensor_release(&inputs[k]);
        cbk_tensor_release(&outs[k]);
    }
    cbk_tensor_release(&back);
}

static void test_gradients_are_slopes(void **state) {
    (void)state;
    static const struct differentiable functions[] = {
        {layer_value, layer_gradients, 3},
        {rms_value, rms_gradients, 2},
        {softmax_value, softmax_gradients, 1},
        {log_softmax_value, log_softmax_gradients, 1},
    };
    if (cbk_supports_dtype(side.device, CBK_DTYPE_F64) != CBK_OK) skip();
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        check_gradients(&functions[i]);
}

static void test_group_norm_of_one_group(void **state) {
    (void)state; // all channels together: a layer_norm of the same elements
    struct shape shape = {.rank = 3, .lengths = {2, 6, 5}, .count = 60};
    cbk_tensor *x = random_tensor(&shape, CBK_DTYPE_F32, TEST_MODERATE, 0);
    cbk_tensor *group = NULL, *layer = NULL;
    assert_ok(cbk_group_norm(stream, x, NULL, NULL, 1, 0, &group));
    assert_ok(cbk_layer_norm(stream, x, NULL, NULL,
                             &CBK_INIT(cbk_layer_norm_params, .axis_count = 2), &layer));
    expect_same(group, layer);
    assert_status(CBK_ERROR_SHAPE, cbk_group_norm(stream, x, NULL, NULL, 4, 0, &group));
    assert_null(group);
    cbk_tensor_release(&x);
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
        cmocka_unit_test(test_sums_of_many_are_exact),
        cmocka_unit_test(test_variance_far_from_zero),
        cmocka_unit_test(test_norm_of_the_largest),
        cmocka_unit_test(test_composed_statistics),
        cmocka_unit_test(test_gradients_are_slopes),
        cmocka_unit_test(test_group_norm_of_one_group),
    };
    seed = 20;
    return cmocka_run_group_tests(tests, open_side, close_side);
}
