// test_reference_floats.c: the judge's conversions and float rules, by hand-computed tables.

#include "table.h"

#include <math.h>

#define F32(...) VECTOR(CBK_DTYPE_F32, float, __VA_ARGS__)
#define F64(...) VECTOR(CBK_DTYPE_F64, double, __VA_ARGS__)
#define EXPECT_F32(tensor, ...) EXPECT(tensor, CBK_DTYPE_F32, float, __VA_ARGS__)

// ---- conversions -------------------------------------------------------------------------------

static void test_to_f16(void **state) {
    (void)state;
    EXPECT(test_cast(F64(1, 1 + 0x1p-11, 1 + 0x3p-11, 65504, 65519.99, 65520, 0x1p-24, 0x1p-25,
                         0x1.8p-25, 0x1p-14, 0.1, 2049, 2051, -0.0, -INFINITY, 1 + 0x1.0001p-11),
                     CBK_DTYPE_F16),
           CBK_DTYPE_F16, uint16_t, 0x3c00, 0x3c00, 0x3c02, 0x7bff, 0x7bff, 0x7c00, 1, 0, 1, 0x0400,
           0x2e66, 0x6800, 0x6802, 0x8000, 0xfc00, 0x3c01);
    EXPECT(test_cast(F64(NAN), CBK_DTYPE_F16), CBK_DTYPE_F16, uint16_t, 0x7e00);
    EXPECT(
        test_cast(VECTOR(CBK_DTYPE_F16, uint16_t, 0x3c00, 0x0001, 0x03ff, 0x7bff, 0xfc00, 0x8000),
                  CBK_DTYPE_F64),
        CBK_DTYPE_F64, double, 1, 0x1p-24, 0x1.ff8p-15, 65504, -INFINITY, -0.0);
}

static void test_to_bf16(void **state) {
    (void)state;
    EXPECT(test_cast(F64(1, 1 + 0x1p-8, 1 + 0x3p-8, 1 + 0x1.00001p-8, 0x1.fep127, 0x1.ffp127,
                         0x1.fefffp127, 0x1p-133, 0x1p-134, 0x1.8p-134, -3),
                     CBK_DTYPE_BF16),
           CBK_DTYPE_BF16, uint16_t, 0x3f80, 0x3f80, 0x3f82, 0x3f81, 0x7f7f, 0x7f80, 0x7f7f, 1, 0,
           1, 0xc040);
    EXPECT(
        test_cast(VECTOR(CBK_DTYPE_BF16, uint16_t, 0x3f80, 0xc040, 0x7f80, 0x0001), CBK_DTYPE_F64),
        CBK_DTYPE_F64, double, 1, -3, INFINITY, 0x1p-133);
}

static void test_to_f8(void **state) {
    (void)state;
    EXPECT(test_cast(F64(448, 464, 464.1, 1, 1.0625, 1.1875, 0x1p-9, 0x1p-10, 0x1.8p-10, 0x1p-6,
                         -448, 0.0, 240),
                     CBK_DTYPE_F8E4M3),
           CBK_DTYPE_F8E4M3, uint8_t, 0x7e, 0x7e, 0x7f, 0x38, 0x38, 0x3a, 1, 0, 1, 8, 0xfe, 0,
           0x77);
    EXPECT(test_cast(F64(INFINITY, NAN), CBK_DTYPE_F8E4M3), CBK_DTYPE_F8E4M3, uint8_t, 0x7f, 0x7f);
    EXPECT(test_cast(F64(57344, 61439, 61440, INFINITY, 1, 1.125, 1.375, 0x1p-16, 0x1p-17, -1.5),
                     CBK_DTYPE_F8E5M2),
           CBK_DTYPE_F8E5M2, uint8_t, 0x7b, 0x7b, 0x7c, 0x7c, 0x3c, 0x3c, 0x3e, 1, 0, 0xbe);
    EXPECT(
        test_cast(VECTOR(CBK_DTYPE_F8E4M3, uint8_t, 0x7e, 0x01, 0x38, 0xb8, 0x08), CBK_DTYPE_F32),
        CBK_DTYPE_F32, float, 448, 0x1p-9f, 1, -1, 0x1p-6f);
}

static void test_float_to_int(void **state) {
    (void)state;
    EXPECT(test_cast(F32(2.9f, -2.9f, 300, -300, NAN, INFINITY, -INFINITY), CBK_DTYPE_I8),
           CBK_DTYPE_I8, int8_t, 2, -2, 127, -128, 0, 127, -128);
    EXPECT(test_cast(F32(2.9f, -0.9f, -5, 300, NAN, 255.9f), CBK_DTYPE_U8), CBK_DTYPE_U8, uint8_t,
           2, 0, 0, 255, 0, 255);
    EXPECT(test_cast(F32(0x1p63f, -0x1p63f, 1e30f, 0x1.fffffep62f), CBK_DTYPE_I64), CBK_DTYPE_I64,
           int64_t, INT64_MAX, INT64_MIN, INT64_MAX, 0x7fffff8000000000);
    EXPECT(test_cast(F64(0x1p64, 0x1.8p63, -1, 1e300), CBK_DTYPE_U64), CBK_DTYPE_U64, uint64_t,
           UINT64_MAX, 0xc000000000000000, 0, UINT64_MAX);
    EXPECT(test_cast(F32(0, -0.0f, NAN, 1e-45f, 2), CBK_DTYPE_BOOL), CBK_DTYPE_BOOL, uint8_t, 0, 0,
           1, 1, 1);
}

static void test_int_conversions(void **state) {
    (void)state;
    EXPECT(test_cast(VECTOR(CBK_DTYPE_I32, int32_t, 300, -1, 128), CBK_DTYPE_I8), CBK_DTYPE_I8,
           int8_t, 44, -1, -128);
    EXPECT(test_cast(VECTOR(CBK_DTYPE_I8, int8_t, -1, 5), CBK_DTYPE_U32), CBK_DTYPE_U32, uint32_t,
           UINT32_MAX, 5);
    // 2^24 + 1 is halfway and goes to even; one more bit far below decides otherwise.
    EXPECT(test_cast(VECTOR(CBK_DTYPE_I64, int64_t, 16777217, 16777219, -16777217,
                            (int64_t)0x4000004000000001, INT64_MIN),
                     CBK_DTYPE_F32),
           CBK_DTYPE_F32, float, 16777216, 16777220, -16777216, 0x1.000002p62f, -0x1p63f);
    EXPECT(test_cast(VECTOR(CBK_DTYPE_U64, uint64_t, UINT64_MAX, (uint64_t)1 << 63), CBK_DTYPE_F64),
           CBK_DTYPE_F64, double, 0x1p64, 0x1p63);
    EXPECT(test_cast(VECTOR(CBK_DTYPE_I64, int64_t, 65519, 65520, 2049), CBK_DTYPE_F16),
           CBK_DTYPE_F16, uint16_t, 0x7bff, 0x7c00, 0x6800);
    EXPECT(test_cast(VECTOR(CBK_DTYPE_BOOL32, uint32_t, 0, 1, 9), CBK_DTYPE_F32), CBK_DTYPE_F32,
           float, 0, 1, 1);
}

// ---- arithmetic --------------------------------------------------------------------------------

static void test_remainder(void **state) {
    (void)state;
    EXPECT_F32(test_binary(cbk_remainder, F32(5, -5, 5, -5, 3.5f, 1, 7, -1),
                           F32(3, 3, -3, -3, 3.5f, 0, INFINITY, INFINITY)),
               2, 1, -1, -2, 0, NAN, 7, INFINITY);
    EXPECT_F32(test_binary(cbk_remainder, F32(INFINITY, NAN, 1e30f), F32(2, 2, 7)), NAN, NAN,
               fmodf(1e30f, 7));
}

static void test_power(void **state) {
    (void)state;
    EXPECT_F32(test_binary(cbk_pow, F32(-2, 0, NAN, 1, -8, 4, INFINITY, 2),
                           F32(3, 0, 0, NAN, 0.5f, 0.5f, -1, -2)),
               -8, 1, 1, 1, NAN, 2, 0, 0.25f);
}

static void test_extrema(void **state) {
    (void)state;
    EXPECT_F32(test_binary(cbk_maximum, F32(1, NAN, 2, -INFINITY), F32(2, 1, NAN, -1)), 2, NAN, NAN,
               -1);
    EXPECT_F32(test_binary(cbk_minimum, F32(1, NAN, 2, INFINITY), F32(2, 1, NAN, -1)), 1, NAN, NAN,
               -1);
    EXPECT_F32(test_unary(cbk_relu, F32(-1, NAN, 3, -INFINITY)), 0, NAN, 3, 0);
    EXPECT_F32(test_unary(cbk_sign, F32(-2, NAN, 5, INFINITY)), -1, 0, 1, 1);
    EXPECT_F32(test_unary(cbk_round, F32(0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 2.4f)), 0, 2, 2, -0.0f, -2,
               2);
    EXPECT_F32(test_unary(cbk_trunc, F32(-0.5f, 1.7f, INFINITY)), -0.0f, 1, INFINITY);
}

static void test_clamp(void **state) {
    const struct {
        double low, high;
        float want[4];
    } rows[] = {
        {-1, 1, {-1, 0.5f, 1, NAN}}, {2, 1, {1, 1, 1, NAN}}, {NAN, 1, {NAN, NAN, NAN, NAN}}};
    cbk_tensor *x = F32(-3, 0.5f, 3, NAN), *out = NULL;
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_ok(cbk_clamp(test_table_stream, x, cbk_f(rows[i].low), cbk_f(rows[i].high), &out));
        test_expect(out, CBK_DTYPE_F32, 4, rows[i].want, __FILE__, __LINE__);
    }
    assert_ok(cbk_clamp(test_table_stream, x, (cbk_scalar){0}, cbk_f(1), &out));
    EXPECT_F32(out, -3, 0.5f, 1, NAN);
    cbk_tensor_release(&x);
}

static void test_comparisons(void **state) {
    (void)state;
    EXPECT(test_binary(cbk_equal, F32(NAN, 0, 1), F32(NAN, -0.0f, 2)), CBK_DTYPE_BOOL, uint8_t, 0,
           1, 0);
    EXPECT(test_binary(cbk_not_equal, F32(NAN, 0, 1), F32(NAN, -0.0f, 2)), CBK_DTYPE_BOOL, uint8_t,
           1, 0, 1);
    EXPECT(test_binary(cbk_greater_equal, F32(NAN, 0, 1), F32(1, NAN, 1)), CBK_DTYPE_BOOL, uint8_t,
           0, 0, 1);
}

static void test_half_arithmetic(void **state) {
    (void)state;
    // 2048 + 1 is halfway between 2048 and 2050 in f16; 65504 + 16 rounds to infinity.
    EXPECT(test_binary(cbk_add, VECTOR(CBK_DTYPE_F16, uint16_t, 0x6800, 0x7bff, 0x3c00),
                       VECTOR(CBK_DTYPE_F16, uint16_t, 0x3c00, 0x4c00, 0xbc00)),
           CBK_DTYPE_F16, uint16_t, 0x6800, 0x7c00, 0);
    // A scalar is rounded to f16 first: 0.1 is 0x2e66 there.
    cbk_tensor *x = VECTOR(CBK_DTYPE_F16, uint16_t, 0x4900), *out = NULL; // 10
    assert_ok(cbk_mul_scalar(test_table_stream, x, cbk_f(0.1), &out));
    EXPECT(out, CBK_DTYPE_F16, uint16_t, 0x3c00);
    cbk_tensor_release(&x);
}

static void test_hypot(void **state) {
    (void)state;
    EXPECT_F32(test_binary(cbk_hypot, F32(3e20f, INFINITY, 3), F32(4e20f, NAN, 4)), 5e20f, INFINITY,
               5);
}

// ---- reductions --------------------------------------------------------------------------------

static void expect_index(cbk_tensor *x, bool is_max, int64_t want) {
    cbk_tensor *out = NULL;
    assert_ok(is_max ? cbk_argmax(test_table_stream, x, NULL, &out)
                     : cbk_argmin(test_table_stream, x, NULL, &out));
    EXPECT(out, CBK_DTYPE_I64, int64_t, want);
    cbk_tensor_release(&x);
}

static void test_nan_rules(void **state) {
    (void)state;
    expect_index(F32(1, NAN, 5, NAN), true, 1);
    expect_index(F32(1, NAN, -5, NAN), false, 1);
    expect_index(F32(1, 5, 5, 2), true, 1);
    expect_index(F32(0, -0.0f, 1), false, 0);
    cbk_tensor *x = F32(1, NAN, 5), *out = NULL;
    assert_ok(cbk_max(test_table_stream, x, NULL, &out));
    EXPECT_F32(out, NAN);
    assert_ok(cbk_any(test_table_stream, x, NULL, &out));
    EXPECT(out, CBK_DTYPE_BOOL, uint8_t, 1);
    assert_ok(cbk_all(test_table_stream, x, NULL, &out));
    EXPECT(out, CBK_DTYPE_BOOL, uint8_t, 1);
    cbk_tensor_release(&x);
}

static void test_empty(void **state) {
    const int64_t shape[] = {0, 2};
    const cbk_reduce_params first = CBK_INIT(cbk_reduce_params, .axis_count = 1);
    cbk_tensor *x = NULL, *out = NULL;
    (void)state;
    assert_ok(cbk_tensor_empty(test_table_stream, CBK_DTYPE_F32, 2, shape, &x));
    assert_ok(cbk_sum(test_table_stream, x, &first, &out));
    EXPECT_F32(out, 0, 0);
    assert_ok(cbk_prod(test_table_stream, x, &first, &out));
    EXPECT_F32(out, 1, 1);
    assert_ok(cbk_mean(test_table_stream, x, &first, &out));
    EXPECT_F32(out, NAN, NAN);
    assert_ok(cbk_any(test_table_stream, x, &first, &out));
    EXPECT(out, CBK_DTYPE_BOOL, uint8_t, 0, 0);
    assert_ok(cbk_all(test_table_stream, x, &first, &out));
    EXPECT(out, CBK_DTYPE_BOOL, uint8_t, 1, 1);
    assert_status(CBK_ERROR_SHAPE, cbk_max(test_table_stream, x, &first, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_argmin(test_table_stream, x, &first, &out));
    assert_null(out);
    cbk_tensor_release(&x);
}

static void test_axes(void **state) {
    const int64_t shape[] = {2, 3};
    const float data[] = {1, 2, 3, 4, 5, 6};
    cbk_tensor *x = NULL, *out = NULL;
    (void)state;
    assert_ok(
        cbk_tensor_from_data(test_table_stream, CBK_DTYPE_F32, 2, shape, data, sizeof data, &x));
    assert_ok(cbk_sum(test_table_stream, x, &CBK_INIT(cbk_reduce_params, .axis_count = 1), &out));
    assert_int_equal(cbk_tensor_rank(out), 2);
    EXPECT_F32(out, 5, 7, 9);
    assert_ok(cbk_mean(test_table_stream, x,
                       &CBK_INIT(cbk_reduce_params, .axis_count = 1, .axes = {-1}, .drop_axes = 1),
                       &out));
    assert_int_equal(cbk_tensor_rank(out), 1);
    EXPECT_F32(out, 2, 5);
    assert_ok(cbk_sum(test_table_stream, x, NULL, &out));
    assert_int_equal(cbk_tensor_rank(out), 0);
    EXPECT_F32(out, 21);
    cbk_tensor_release(&x);
}

static void test_softmax(void **state) {
    const float third = (float)(1.0 / 3);
    cbk_tensor *x = F32(1000, 1000, 1000), *out = NULL;
    (void)state;
    assert_ok(cbk_softmax(test_table_stream, x, 0, &out));
    EXPECT_F32(out, third, third, third);
    cbk_tensor_release(&x);
    x = F32(0, INFINITY, 1);
    assert_ok(cbk_softmax(test_table_stream, x, 0, &out));
    EXPECT_F32(out, NAN, NAN, NAN);
    cbk_tensor_release(&x);
    x = F32(-INFINITY, 2, -INFINITY);
    assert_ok(cbk_log_softmax(test_table_stream, x, -1, &out));
    EXPECT_F32(out, -INFINITY, 0, -INFINITY);
    cbk_tensor_release(&x);
    x = F32(0, 0, 0);
    assert_ok(cbk_quiet_softmax(test_table_stream, x, 0, &out));
    EXPECT_F32(out, 0.25f, 0.25f, 0.25f);
    cbk_tensor_release(&x);
    x = F32(-1000, -INFINITY, 200, 200);
    assert_ok(cbk_quiet_softmax(test_table_stream, x, 0, &out));
    EXPECT_F32(out, 0, 0, 0.5f, 0.5f);
    cbk_tensor_release(&x);
}

static void test_variance_out_of_range(void **state) {
    cbk_tensor *x = F32(1e20f, -1e20f, 3e38f), *out = NULL;
    (void)state;
    assert_ok(cbk_var(test_table_stream, x, NULL, &out));
    EXPECT_F32(out, INFINITY);
    assert_ok(cbk_std(test_table_stream, x, NULL, &out));
    EXPECT_F32(out, INFINITY);
    cbk_tensor_release(&x);
    x = F32(1, INFINITY);
    assert_ok(cbk_var(test_table_stream, x, NULL, &out));
    EXPECT_F32(out, NAN);
    cbk_tensor_release(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_to_f16),
        cmocka_unit_test(test_to_bf16),
        cmocka_unit_test(test_to_f8),
        cmocka_unit_test(test_float_to_int),
        cmocka_unit_test(test_int_conversions),
        cmocka_unit_test(test_remainder),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_extrema),
        cmocka_unit_test(test_clamp),
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_half_arithmetic),
        cmocka_unit_test(test_hypot),
        cmocka_unit_test(test_nan_rules),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_variance_out_of_range),
    };
    return cmocka_run_group_tests(tests, test_table_open, test_table_close);
}
