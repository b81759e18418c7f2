// test_reference_integers.c: the judge's integer rules, by hand-computed tables.

#include "table.h"

#define I32(...) VECTOR(CBK_DTYPE_I32, int32_t, __VA_ARGS__)
#define I8(...) VECTOR(CBK_DTYPE_I8, int8_t, __VA_ARGS__)
#define U8(...) VECTOR(CBK_DTYPE_U8, uint8_t, __VA_ARGS__)
#define I64(...) VECTOR(CBK_DTYPE_I64, int64_t, __VA_ARGS__)
#define U64(...) VECTOR(CBK_DTYPE_U64, uint64_t, __VA_ARGS__)

static void test_wrap(void **state) {
    (void)state;
    EXPECT(test_binary(cbk_add, I8(127, -128, 100), I8(1, -1, 100)), CBK_DTYPE_I8, int8_t, -128,
           127, -56);
    EXPECT(test_binary(cbk_sub, U8(0, 5, 200), U8(1, 6, 100)), CBK_DTYPE_U8, uint8_t, 255, 255,
           100);
    EXPECT(test_binary(cbk_mul, I32(65536, INT32_MIN, 3), I32(65536, -1, -4)), CBK_DTYPE_I32,
           int32_t, 0, INT32_MIN, -12);
    EXPECT(test_binary(cbk_mul, U64(UINT64_MAX, 1), U64(2, 7)), CBK_DTYPE_U64, uint64_t,
           UINT64_MAX - 1, 7);
}

static void test_divide(void **state) {
    (void)state;
    EXPECT(test_binary(cbk_div, I32(-7, 7, -7, 5, INT32_MIN, 0), I32(2, -2, -2, 0, -1, 0)),
           CBK_DTYPE_I32, int32_t, -3, -3, 3, 5, INT32_MIN, 0);
    EXPECT(test_binary(cbk_div, I64(INT64_MIN, INT64_MIN, 9), I64(-1, 0, 4)), CBK_DTYPE_I64,
           int64_t, INT64_MIN, INT64_MIN, 2);
    EXPECT(test_binary(cbk_div, U8(255, 7, 9), U8(2, 0, 255)), CBK_DTYPE_U8, uint8_t, 127, 7, 0);
    EXPECT(test_binary(cbk_div, U64(UINT64_MAX), U64(3)), CBK_DTYPE_U64, uint64_t,
           0x5555555555555555);
}

static void test_remainder(void **state) {
    (void)state;
    EXPECT(test_binary(cbk_remainder, I32(-3, -2, -1, 1, 2, 3), I32(2, 3, 1, 2, 1, 3)),
           CBK_DTYPE_I32, int32_t, 1, 1, 0, 1, 0, 0);
    EXPECT(test_binary(cbk_remainder, I32(7, -7, 7, INT32_MIN, 5), I32(-3, -3, 3, -1, 0)),
           CBK_DTYPE_I32, int32_t, -2, -1, 1, 0, 0);
    EXPECT(test_binary(cbk_remainder, I64(INT64_MIN, INT64_MIN), I64(-1, INT64_MAX)), CBK_DTYPE_I64,
           int64_t, 0, INT64_MAX - 1);
    EXPECT(test_binary(cbk_remainder, U8(200, 3, 3), U8(7, 0, 255)), CBK_DTYPE_U8, uint8_t, 4, 0,
           3);
}

static void test_power(void **state) {
    (void)state;
    EXPECT(test_binary(cbk_pow, I32(7, -2, 0, 0, 1, -1, -1, 2, 3, 2),
                       I32(9, 3, 0, -1, -5, -3, -4, -1, 0, 31)),
           CBK_DTYPE_I32, int32_t, 40353607, -8, 1, 0, 1, -1, 1, 0, 1, INT32_MIN);
    EXPECT(test_binary(cbk_pow, U8(3, 2, 255), U8(6, 8, 255)), CBK_DTYPE_U8, uint8_t, 217, 0, 255);
    EXPECT(test_binary(cbk_pow, I64(3), I64(40)), CBK_DTYPE_I64, int64_t,
           (int64_t)12157665459056928801u);
}

static void test_shifts(void **state) {
    (void)state;
    EXPECT(test_binary(cbk_shift_left, I32(1, 1, 1, 1, -1), I32(31, 32, -1, 0, 4)), CBK_DTYPE_I32,
           int32_t, INT32_MIN, 0, 0, 1, -16);
    EXPECT(test_binary(cbk_shift_right, I32(-8, -8, -8, 8, 8, -1), I32(1, 32, -1, 1, 99, 31)),
           CBK_DTYPE_I32, int32_t, -4, -1, -1, 4, 0, -1);
    EXPECT(test_binary(cbk_shift_right, U8(0x80, 0x80, 0xff), U8(7, 8, 4)), CBK_DTYPE_U8, uint8_t,
           1, 0, 15);
    EXPECT(test_binary(cbk_shift_left, I8(3, 127, 1), I8(7, 1, 8)), CBK_DTYPE_I8, int8_t, -128, -2,
           0);
}

static void test_unary_rules(void **state) {
    (void)state;
    EXPECT(test_unary(cbk_abs, I8(-128, -5, 5)), CBK_DTYPE_I8, int8_t, -128, 5, 5);
    EXPECT(test_unary(cbk_neg, I8(-128, 5, 0)), CBK_DTYPE_I8, int8_t, -128, -5, 0);
    EXPECT(test_unary(cbk_neg, U8(1, 0)), CBK_DTYPE_U8, uint8_t, 255, 0);
    EXPECT(test_unary(cbk_abs, U64(UINT64_MAX)), CBK_DTYPE_U64, uint64_t, UINT64_MAX);
    EXPECT(test_unary(cbk_sign, U64(UINT64_MAX, 0)), CBK_DTYPE_U64, uint64_t, 1, 0);
    EXPECT(test_unary(cbk_sign, I32(INT32_MIN, 0, 9)), CBK_DTYPE_I32, int32_t, -1, 0, 1);
    EXPECT(test_unary(cbk_relu, I32(INT32_MIN, 0, 9)), CBK_DTYPE_I32, int32_t, 0, 0, 9);
    EXPECT(test_unary(cbk_relu, U8(200)), CBK_DTYPE_U8, uint8_t, 200);
    EXPECT(test_unary(cbk_bitwise_not, U8(0x0f)), CBK_DTYPE_U8, uint8_t, 0xf0);
    EXPECT(test_unary(cbk_bitwise_not, VECTOR(CBK_DTYPE_BOOL, uint8_t, 0, 1, 7)), CBK_DTYPE_BOOL,
           uint8_t, 1, 0, 0);
}

static void test_comparisons(void **state) {
    (void)state;
    EXPECT(test_binary(cbk_less, U64(UINT64_MAX, 1), U64(1, UINT64_MAX)), CBK_DTYPE_BOOL, uint8_t,
           0, 1);
    EXPECT(test_binary(cbk_less, I64(-1, 1), I64(1, -1)), CBK_DTYPE_BOOL, uint8_t, 1, 0);
    EXPECT(test_binary(cbk_equal, I64(INT64_MAX, INT64_MAX), I64(INT64_MAX - 1, INT64_MAX)),
           CBK_DTYPE_BOOL, uint8_t, 0, 1);
    EXPECT(test_binary(cbk_maximum, U64(UINT64_MAX), U64(1)), CBK_DTYPE_U64, uint64_t, UINT64_MAX);
    EXPECT(test_binary(cbk_minimum, I8(-128), I8(127)), CBK_DTYPE_I8, int8_t, -128);
}

static void test_sums(void **state) {
    cbk_tensor *x = NULL, *out = NULL;
    (void)state;
    x = I8(100, 100, 100);
    assert_ok(cbk_sum(test_table_stream, x, NULL, &out));
    EXPECT(out, CBK_DTYPE_I8, int8_t, 44);
    assert_ok(cbk_sum(test_table_stream, x,
                      &CBK_INIT(cbk_reduce_params, .out_dtype = CBK_DTYPE_I32), &out));
    EXPECT(out, CBK_DTYPE_I32, int32_t, 300);
    assert_ok(cbk_mean(test_table_stream, x, NULL, &out)); // the sum is kept in 32 bits
    EXPECT(out, CBK_DTYPE_I8, int8_t, 100);
    assert_ok(cbk_prod(test_table_stream, x, NULL, &out));
    EXPECT(out, CBK_DTYPE_I8, int8_t, 64);
    cbk_tensor_release(&x);
    x = I32(-3, -4);
    assert_ok(cbk_mean(test_table_stream, x, NULL, &out)); // -7 / 2 toward zero
    EXPECT(out, CBK_DTYPE_I32, int32_t, -3);
    cbk_tensor_release(&x);
}

static void test_matmul(void **state) {
    const int64_t shape_a[] = {2, 3}, shape_b[] = {3, 1};
    const int8_t a[] = {1, 2, 3, -100, 100, 50}, b[] = {7, -1, 100};
    cbk_tensor *x = NULL, *y = NULL, *out = NULL;
    (void)state;
    assert_ok(cbk_tensor_from_data(test_table_stream, CBK_DTYPE_I8, 2, shape_a, a, sizeof a, &x));
    assert_ok(cbk_tensor_from_data(test_table_stream, CBK_DTYPE_I8, 2, shape_b, b, sizeof b, &y));
    assert_ok(cbk_matmul(test_table_stream, x, y, NULL, &out));
    EXPECT(out, CBK_DTYPE_I8, int8_t, 49, 104); // 305 and 4200 modulo 256
    assert_ok(cbk_matmul(test_table_stream, x, y,
                         &CBK_INIT(cbk_matmul_params, .out_dtype = CBK_DTYPE_I32), &out));
    EXPECT(out, CBK_DTYPE_I32, int32_t, 305, 4200);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrap),        cmocka_unit_test(test_divide),
        cmocka_unit_test(test_remainder),   cmocka_unit_test(test_power),
        cmocka_unit_test(test_shifts),      cmocka_unit_test(test_unary_rules),
        cmocka_unit_test(test_comparisons), cmocka_unit_test(test_sums),
        cmocka_unit_test(test_matmul),
    };
    return cmocka_run_group_tests(tests, test_table_open, test_table_close);
}
