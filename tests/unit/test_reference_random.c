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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_known_answer, seed_0),
        cmocka_unit_test_setup(test_key_stream_and_position, seed_0),
        cmocka_unit_test_setup(test_distributions, seed_0),
        cmocka_unit_test_setup(test_half_open, seed_0),
        cmocka_unit_test_setup(test_moments, seed_0),
        cmocka_unit_test(test_spans),
    };
    return cmocka_run_group_tests(tests, test_table_open, test_table_close);
}
