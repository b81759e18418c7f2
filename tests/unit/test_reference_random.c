// test_reference_random.c: the judge's random numbers, by published and independently made vectors.

#include "table.h"

#include <math.h>
#include <stdlib.h>

static const int64_t four[] = {4};
static const int64_t words_range = (int64_t)1 << 32;

static int seed_0(void **state) {
    (void)state;
    return cbk_seed(test_pair.reference.device, 0);
}

// The known answer of Philox 4x32-10 for counter 0 and key 0 (Random123, kat_vectors).
static void test_known_answer(void **state) {
    cbk_tensor *out = NULL;
    (void)state;
    assert_ok(cbk_random_integer(test_table_stream, CBK_DTYPE_I64, 1, four, 0, words_range, &out));
    EXPECT(out, CBK_DTYPE_I64, int64_t, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
}

static void test_key_stream_and_position(void **state) {
    const int64_t five[] = {5};
    cbk_tensor *out = NULL;
    cbk_stream *second = NULL;
    (void)state;
    assert_ok(cbk_stream_create(test_pair.reference.device, NULL, &second)); // number 1
    assert_ok(cbk_seed(test_pair.reference.device, 0x0123456789abcdef));
    assert_ok(cbk_random_integer(second, CBK_DTYPE_U64, 1, four, 0, words_range, &out));
    EXPECT(out, CBK_DTYPE_U64, uint64_t, 0xfa9dff5e, 0x6c10844b, 0x6979c717, 0x0590ff83);
    assert_ok(cbk_random_integer(second, CBK_DTYPE_U64, 1, four, 0, words_range, &out));
    EXPECT(out, CBK_DTYPE_U64, uint64_t, 0xf11fc46f, 0x8e9e98b3, 0x9df0c5a5, 0x3147ab5b);
    // Five elements take two positions, so the third draw after a restart is the fourth above.
    assert_ok(cbk_seed(test_pair.reference.device, 0x0123456789abcdef));
    assert_ok(cbk_random_integer(second, CBK_DTYPE_U64, 1, five, 0, words_range, &out));
    EXPECT(out, CBK_DTYPE_U64, uint64_t, 0xfa9dff5e, 0x6c10844b, 0x6979c717, 0x0590ff83,
           0xf11fc46f);
    cbk_stream_release(&second);
}

static void test_distributions(void **state) {
    cbk_stream *stream = test_table_stream;
    cbk_device *device = test_pair.reference.device;
    cbk_tensor *out = NULL;
    (void)state;
    assert_ok(cbk_random_uniform(stream, CBK_DTYPE_F32, 1, four, 0, 1, &out));
    EXPECT(out, CBK_DTYPE_F32, float, 0x1.989fap-2f, 0x1.c2d38ap-1f, 0x1.78af58p-1f,
           0x1.3601b6p-1f);
    assert_ok(cbk_seed(device, 0));
    assert_ok(cbk_random_uniform(stream, CBK_DTYPE_F32, 1, four, -2.5, 7.1, &out));
    EXPECT(out, CBK_DTYPE_F32, float, 0x1.54b25p+0f, 0x1.7cfddcp+2f, 0x1.24059ep+2f,
           0x1.a8041cp+1f);
    assert_ok(cbk_seed(device, 0));
    assert_ok(cbk_random_uniform(stream, CBK_DTYPE_F64, 1, four, 0, 1, &out));
    EXPECT(out, CBK_DTYPE_F64, double, 0x1.989fa354p-2, 0x1.c2d38b1ap-1, 0x1.78af5898p-1,
           0x1.3601b7bp-1);
    assert_ok(cbk_seed(device, 0));
    assert_ok(cbk_random_normal(stream, CBK_DTYPE_F32, 1, four, 0, 1, &out));
    EXPECT(out, CBK_DTYPE_F32, float, 0x1.fb766p-1f, -0x1.d96d66p-1f, -0x1.3c3742p-1f,
           -0x1.eda354p-2f);
    assert_ok(cbk_seed(device, 0));
    assert_ok(cbk_random_integer(stream, CBK_DTYPE_I8, 1, four, 0, 100, &out));
    EXPECT(out, CBK_DTYPE_I8, int8_t, 39, 88, 73, 60);
    assert_ok(cbk_seed(device, 0));
    assert_ok(cbk_random_integer(stream, CBK_DTYPE_I64, 1, four, 5, 5 + 3 * words_range, &out));
    EXPECT(out, CBK_DTYPE_I64, int64_t, 5141674630, 11345416366, 9479587050, 7801574286);
    assert_ok(cbk_seed(device, 0));
    assert_ok(cbk_random_bernoulli(stream, CBK_DTYPE_BOOL, 1, four, 0.8, &out));
    EXPECT(out, CBK_DTYPE_BOOL, uint8_t, 1, 0, 1, 1);
}

/// A narrow range in f16 rounds many draws up to its end, which must not be reached.
static void test_half_open(void **state) {
    const int64_t count = 20000;
    uint16_t *data = malloc((size_t)count * sizeof *data);
    cbk_tensor *out = NULL;
    (void)state;
    assert_non_null(data);
    assert_ok(cbk_random_uniform(test_table_stream, CBK_DTYPE_F16, 1, &count, 1, 1 + 0x1p-9, &out));
    assert_ok(cbk_tensor_read(test_table_stream, out, data, (uint64_t)count * sizeof *data));
    for (int64_t i = 0; i < count; i++) assert_in_range(data[i], 0x3c00, 0x3c01);
    cbk_tensor_release(&out);
    free(data);
}

static void test_moments(void **state) {
    const int64_t count = 200000;
    double *data = malloc((size_t)count * sizeof *data), sum = 0, squares = 0;
    cbk_tensor *out = NULL;
    (void)state;
    assert_non_null(data);
    assert_ok(cbk_random_normal(test_table_stream, CBK_DTYPE_F64, 1, &count, 3, 2, &out));
    assert_ok(cbk_tensor_read(test_table_stream, out, data, (uint64_t)count * sizeof *data));
    for (int64_t i = 0; i < count; i++) sum += data[i], squares += data[i] * data[i];
    double mean = sum / (double)count, variance = squares / (double)count - mean * mean;
    assert_true(fabs(mean - 3) < 0.02); // 4.5 deviations of the mean
    assert_true(fabs(variance - 4) < 0.06);
    cbk_tensor_release(&out);
    free(data);
}

/// Bounds whose distance overflows would make NaN of a draw of 0.
static void test_spans(void **state) {
    cbk_tensor *out = NULL;
    (void)state;
    assert_status(CBK_ERROR_OVERFLOW,
                  cbk_random_uniform(test_table_stream, CBK_DTYPE_F32, 1, four, -3e38, 3e38, &out));
    assert_status(CBK_ERROR_OVERFLOW,
                  cbk_random_uniform(test_table_stream, CBK_DTYPE_F16, 1, four, 0, 1e6, &out));
    assert_null(out);
    assert_ok(cbk_random_uniform(test_table_stream, CBK_DTYPE_F16, 1, four, -65504, 65504, &out));
    cbk_tensor_release(&out);
}

// ---- draws from given weights -------------------------------------------------------------------

/// `rows` times the same weights, as a view.
static cbk_tensor *repeated(cbk_dtype dtype, int64_t rows, int64_t count, const void *weights) {
    cbk_tensor *row = test_vector(dtype, count, weights), *out = NULL;
    assert_ok(cbk_expand(test_table_stream, row, 2, (int64_t[]){rows, count}, &out));
    cbk_tensor_release(&row);
    return out;
}

/// Draws, as i64; releases the weights.
static int64_t *drawn(cbk_tensor *weights, const cbk_categorical_params *params) {
    cbk_tensor *out = NULL;
    assert_ok(cbk_random_categorical(test_table_stream, weights, params, &out));
    const size_t size = (size_t)cbk_tensor_element_count(out) * sizeof(int64_t);
    int64_t *places = malloc(size);
    assert_non_null(places);
    assert_ok(cbk_tensor_read(test_table_stream, out, places, size));
    cbk_tensor_release(&weights);
    cbk_tensor_release(&out);
    return places;
}

/// Pearson's statistic of how often each outcome came; one that cannot come must not.
static double chi_square(const int64_t *seen, const double *chances, int outcomes, int64_t draws) {
    double sum = 0;
    for (int i = 0; i < outcomes; i++) {
        const double expected = chances[i] * (double)draws;
        if (expected == 0) assert_int_equal(seen[i], 0);
        if (expected > 0)
            sum += ((double)seen[i] - expected) * ((double)seen[i] - expected) / expected;
    }
    return sum;
}

static void test_categorical_frequencies(void **state) {
    static const float weights[] = {0, 1, 2, -3, 3, 0, 4, NAN};
    static const double chances[] = {0, 0.1, 0.2, 0, 0.3, 0, 0.4, 0};
    const int64_t draws = 40000;
    (void)state;
    for (uint32_t logits = 0; logits < 2; logits++) {
        float row[8];
        for (int i = 0; i < 8; i++) row[i] = logits ? logf(weights[i]) + 50 : weights[i];
        const cbk_categorical_params params =
            CBK_INIT(cbk_categorical_params, .count = draws, .logits = logits);
        int64_t *places = drawn(test_vector(CBK_DTYPE_F32, 8, row), &params), seen[8] = {0};
        for (int64_t i = 0; i < draws; i++) seen[places[i]]++;
        assert_true(chi_square(seen, chances, 8, draws) < 16.3); // 1 in 1000, 3 degrees of freedom
        free(places);
    }
}

/// The first of two distinct draws has the weights' chances, the second those of what is left.
static void test_distinct_frequencies(void **state) {
    static const double weights[] = {1, 0, 2, 5};
    const int64_t rows = 30000;
    (void)state;
    for (uint32_t logits = 0; logits < 2; logits++) {
        double row[4], chances[16] = {0};
        int64_t seen[16] = {0};
        for (int i = 0; i < 4; i++) row[i] = logits ? log(weights[i]) - 3 : weights[i];
        for (int i = 0; i < 16; i++)
            if (i / 4 != i % 4)
                chances[i] = weights[i / 4] / 8 * weights[i % 4] / (8 - weights[i / 4]);
        const cbk_categorical_params params =
            CBK_INIT(cbk_categorical_params, .count = 2, .logits = logits, .distinct = 1);
        int64_t *places = drawn(repeated(CBK_DTYPE_F64, rows, 4, row), &params);
        for (int64_t i = 0; i < rows; i++) seen[4 * places[2 * i] + places[2 * i + 1]]++;
        assert_true(chi_square(seen, chances, 16, rows) < 20.5); // 1 in 1000, 5 degrees of freedom
        free(places);
    }
}

/// One of many equal weights is as likely as another, wherever it stands.
static void test_many_places(void **state) {
    enum { LENGTH = 3000, BINS = 10 };
    const int64_t draws = 3000;
    static float weights[LENGTH];
    int64_t seen[BINS] = {0};
    double chances[BINS];
    (void)state;
    for (int i = 0; i < LENGTH; i++) weights[i] = 1e-30f;
    for (int i = 0; i < BINS; i++) chances[i] = 1.0 / BINS;
    const cbk_categorical_params params = CBK_INIT(cbk_categorical_params, .count = draws);
    int64_t *places = drawn(test_vector(CBK_DTYPE_F32, LENGTH, weights), &params);
    for (int64_t i = 0; i < draws; i++) seen[places[i] / (LENGTH / BINS)]++;
    assert_true(chi_square(seen, chances, BINS, draws) < 27.9); // 1 in 1000, 9 degrees of freedom
    free(places);
}

static void expect_draws(const float *weights, uint32_t logits, uint32_t distinct,
                         const int64_t *expected) {
    const cbk_categorical_params params =
        CBK_INIT(cbk_categorical_params, .count = 4, .logits = logits, .distinct = distinct);
    int64_t *places = drawn(test_vector(CBK_DTYPE_F32, 4, weights), &params);
    assert_memory_equal(places, expected, 4 * sizeof *places);
    free(places);
}

static void test_rows_without_choice(void **state) {
    static const int64_t first[] = {0, 0, 0, 0}, third[] = {2, 2, 2, 2}, all[] = {0, 1, 2, 3};
    static const int64_t third_first[] = {2, 0, 1, 3};
    static const float nothing[] = {0, -1, NAN, -INFINITY}, one[] = {0, -1, 1e-45f, NAN};
    static const float infinite[] = {1, 3e38f, INFINITY, 0};
    static const float no_logit[] = {-INFINITY, NAN, -INFINITY, NAN};
    static const float far[] = {-3e38f, -200, 0, -INFINITY};
    (void)state;
    expect_draws(nothing, 0, 0, first);
    expect_draws(nothing, 0, 1, all);
    expect_draws(no_logit, 1, 0, first);
    expect_draws(no_logit, 1, 1, all);
    expect_draws(one, 0, 0, third);
    expect_draws(one, 0, 1, third_first);
    expect_draws(infinite, 0, 0, third);
    expect_draws(infinite, 1, 0, third);
    expect_draws(far, 1, 0, third);
}

/// A draw takes a position for two results, a distinct one for two weights.
static void test_categorical_positions(void **state) {
    static const float ones[] = {1, 1, 1, 1, 1};
    cbk_random_state at = CBK_INIT(cbk_random_state);
    cbk_categorical_params params = CBK_INIT(cbk_categorical_params, .count = 3);
    (void)state;
    free(drawn(test_vector(CBK_DTYPE_F32, 5, ones), &params));
    assert_ok(cbk_random_get_state(test_table_stream, &at));
    assert_int_equal(at.position, 2);
    params.distinct = 1;
    free(drawn(test_vector(CBK_DTYPE_F32, 5, ones), &params));
    assert_ok(cbk_random_get_state(test_table_stream, &at));
    assert_int_equal(at.position, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_known_answer, seed_0),
        cmocka_unit_test_setup(test_key_stream_and_position, seed_0),
        cmocka_unit_test_setup(test_distributions, seed_0),
        cmocka_unit_test_setup(test_half_open, seed_0),
        cmocka_unit_test_setup(test_moments, seed_0),
        cmocka_unit_test(test_spans),
        cmocka_unit_test_setup(test_categorical_frequencies, seed_0),
        cmocka_unit_test_setup(test_distinct_frequencies, seed_0),
        cmocka_unit_test_setup(test_many_places, seed_0),
        cmocka_unit_test_setup(test_rows_without_choice, seed_0),
        cmocka_unit_test_setup(test_categorical_positions, seed_0),
    };
    return cmocka_run_group_tests(tests, test_table_open, test_table_close);
}
