// test_reference_order.c: scans and sorts of the reference backend against results written out.

#include "table.h"

#include <math.h>

static cbk_tensor *scan(cbk_status (*function)(cbk_stream *, const cbk_tensor *,
                                               const cbk_scan_params *, cbk_tensor **),
                        cbk_tensor *x, uint32_t exclusive, uint32_t reversed) {
    cbk_tensor *out = NULL;
    const cbk_scan_params params =
        CBK_INIT(cbk_scan_params, .exclusive = exclusive, .reversed = reversed);
    assert_ok(function(test_table_stream, x, &params, &out));
    cbk_tensor_release(&x);
    return out;
}

static void scans(void **state) {
    (void)state;
    EXPECT(scan(cbk_cumsum, VECTOR(CBK_DTYPE_F32, float, 1, 2, 3, 4), 0, 0), CBK_DTYPE_F32, float,
           1, 3, 6, 10);
    EXPECT(scan(cbk_cumsum, VECTOR(CBK_DTYPE_F32, float, 1, 2, 3, 4), 1, 0), CBK_DTYPE_F32, float,
           0, 1, 3, 6);
    EXPECT(scan(cbk_cumsum, VECTOR(CBK_DTYPE_F32, float, 1, 2, 3, 4), 1, 1), CBK_DTYPE_F32, float,
           9, 7, 4, 0);
    EXPECT(scan(cbk_cumprod, VECTOR(CBK_DTYPE_I8, int8_t, 2, 100, 3), 0, 0), CBK_DTYPE_I8, int8_t,
           2, -56, 88);
    EXPECT(scan(cbk_cumprod, VECTOR(CBK_DTYPE_I8, int8_t, 2, 100, 3), 1, 0), CBK_DTYPE_I8, int8_t,
           1, 2, -56);
    EXPECT(scan(cbk_cummax, VECTOR(CBK_DTYPE_F32, float, 1, -2, NAN, 4), 0, 0), CBK_DTYPE_F32,
           float, 1, 1, NAN, NAN);
    EXPECT(scan(cbk_cummax, VECTOR(CBK_DTYPE_F32, float, 1, -2, 4), 1, 0), CBK_DTYPE_F32, float,
           -INFINITY, 1, 1);
    EXPECT(scan(cbk_cummin, VECTOR(CBK_DTYPE_U8, uint8_t, 7, 3, 5), 1, 0), CBK_DTYPE_U8, uint8_t,
           255, 7, 3);
    EXPECT(scan(cbk_cummin, VECTOR(CBK_DTYPE_I16, int16_t, 7, -3, 5), 0, 1), CBK_DTYPE_I16, int16_t,
           -3, -3, 5);
    EXPECT(scan(cbk_logcumsumexp, VECTOR(CBK_DTYPE_F32, float, 1000, 1000, -INFINITY), 0, 0),
           CBK_DTYPE_F32, float, 1000, 1000.69315f, 1000.69315f);
    EXPECT(scan(cbk_logcumsumexp, VECTOR(CBK_DTYPE_F32, float, -INFINITY, 2, INFINITY, NAN), 1, 0),
           CBK_DTYPE_F32, float, -INFINITY, -INFINITY, 2, INFINITY);
}

/// Sorts x and checks values and indices.
static void expect_sorted(cbk_tensor *x, uint32_t descending, int64_t count, const float *values,
                          const int64_t *indices) {
    cbk_tensor *out_values = NULL, *out_indices = NULL;
    const cbk_sort_params params = CBK_INIT(cbk_sort_params, .descending = descending);
    assert_ok(cbk_sort_with_indices(test_table_stream, x, &params, &out_values, &out_indices));
    cbk_tensor_release(&x);
    test_expect(out_values, CBK_DTYPE_F32, count, values, __FILE__, __LINE__);
    test_expect(out_indices, CBK_DTYPE_I64, count, indices, __FILE__, __LINE__);
}

static void sorts(void **state) {
    (void)state;
    expect_sorted(VECTOR(CBK_DTYPE_F32, float, 0.0f, NAN, -0.0f, INFINITY, -1, 0.0f), 0, 6,
                  (float[]){-1, 0.0f, -0.0f, 0.0f, INFINITY, NAN}, (int64_t[]){4, 0, 2, 5, 3, 1});
    expect_sorted(VECTOR(CBK_DTYPE_F32, float, 0.0f, -NAN, -0.0f, INFINITY, -1, NAN), 1, 6,
                  (float[]){NAN, NAN, INFINITY, 0.0f, -0.0f, -1}, (int64_t[]){1, 5, 3, 0, 2, 4});
}

static cbk_tensor *topk(cbk_tensor *x, int64_t k, uint32_t ascending) {
    cbk_tensor *out = NULL;
    const cbk_topk_params params = CBK_INIT(cbk_topk_params, .k = k, .ascending = ascending);
    assert_ok(cbk_argtopk(test_table_stream, x, &params, &out));
    cbk_tensor_release(&x);
    return out;
}

static void topks(void **state) {
    (void)state;
    EXPECT(topk(VECTOR(CBK_DTYPE_I32, int32_t, 3, 9, 9, -4), 3, 0), CBK_DTYPE_I64, int64_t, 1, 2,
           0);
    EXPECT(topk(VECTOR(CBK_DTYPE_I32, int32_t, 3, 9, 3, -4), 3, 1), CBK_DTYPE_I64, int64_t, 3, 0,
           2);
    EXPECT(topk(VECTOR(CBK_DTYPE_F32, float, 3, NAN, INFINITY), 1, 0), CBK_DTYPE_I64, int64_t, 1);
}

static cbk_tensor *median(cbk_tensor *x) {
    cbk_tensor *out = NULL;
    assert_ok(cbk_median(test_table_stream, x, NULL, &out));
    cbk_tensor_release(&x);
    return out;
}

static cbk_tensor *quantile(cbk_tensor *x, uint32_t interpolation, double q) {
    cbk_tensor *out = NULL;
    const cbk_quantile_params params =
        CBK_INIT(cbk_quantile_params, .interpolation = interpolation, .q = {q});
    assert_ok(cbk_quantile(test_table_stream, x, &params, &out));
    cbk_tensor_release(&x);
    return out;
}

static void medians_and_quantiles(void **state) {
    (void)state;
    EXPECT(median(VECTOR(CBK_DTYPE_I32, int32_t, 4, 1, 3, 2)), CBK_DTYPE_I32, int32_t, 2);
    EXPECT(median(VECTOR(CBK_DTYPE_F32, float, 4, NAN, 3)), CBK_DTYPE_F32, float, NAN);
    static const float results[] = {1.75f, 1, 2, 2, 1.5f};
    for (uint32_t i = 0; i < 5; i++) // place 0.75 of 1, 2, 4, 8
        test_expect(quantile(VECTOR(CBK_DTYPE_F32, float, 4, 1, 8, 2), i, 0.25), CBK_DTYPE_F32, 1,
                    &results[i], __FILE__, __LINE__);
    EXPECT(quantile(VECTOR(CBK_DTYPE_F32, float, 4, 1), CBK_QUANTILE_NEAREST, 0.5), CBK_DTYPE_F32,
           float, 1);
    EXPECT(quantile(VECTOR(CBK_DTYPE_F32, float, INFINITY, INFINITY), CBK_QUANTILE_LINEAR, 0.5),
           CBK_DTYPE_F32, float, INFINITY);
    EXPECT(quantile(VECTOR(CBK_DTYPE_F32, float, 4, NAN), CBK_QUANTILE_LOWER, 0), CBK_DTYPE_F32,
           float, NAN);
}

/// Elements whose distance is no number, on all sides of the place.
static void quantiles_of_far_elements(void **state) {
    (void)state;
    const double high = 0x1p1023;
    for (uint32_t i = CBK_QUANTILE_LINEAR; i <= CBK_QUANTILE_MIDPOINT; i++) {
        EXPECT(quantile(VECTOR(CBK_DTYPE_F32, float, 1, -INFINITY), i, 0), CBK_DTYPE_F32, float,
               -INFINITY);
        EXPECT(quantile(VECTOR(CBK_DTYPE_F32, float, 2, 1, INFINITY), i, 0.5), CBK_DTYPE_F32, float,
               2);
        EXPECT(quantile(VECTOR(CBK_DTYPE_F64, double, high, -high), i, 0), CBK_DTYPE_F64, double,
               -high);
    }
    for (int i = 1; i < 4; i++) {
        EXPECT(quantile(VECTOR(CBK_DTYPE_F32, float, 1, -INFINITY), CBK_QUANTILE_LINEAR, i * 0.25),
               CBK_DTYPE_F32, float, -INFINITY);
        EXPECT(quantile(VECTOR(CBK_DTYPE_F32, float, 1, INFINITY), CBK_QUANTILE_LINEAR, i * 0.25),
               CBK_DTYPE_F32, float, INFINITY);
        EXPECT(quantile(VECTOR(CBK_DTYPE_F64, double, -high, high), CBK_QUANTILE_LINEAR, i * 0.25),
               CBK_DTYPE_F64, double, high *(i * 0.5 - 1));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scans),
        cmocka_unit_test(sorts),
        cmocka_unit_test(topks),
        cmocka_unit_test(medians_and_quantiles),
        cmocka_unit_test(quantiles_of_far_elements),
    };
    return cmocka_run_group_tests_name("reference_order", tests, test_table_open, test_table_close);
}
