// test_reference_index.c: the judge's views, moves and indexing, by hand-computed tables.

#include "table.h"

#include <math.h>

static cbk_tensor *matrix(void) { // 0 1 2 / 3 4 5
    const int64_t shape[] = {2, 3};
    const int32_t data[] = {0, 1, 2, 3, 4, 5};
    cbk_tensor *x = NULL;
    assert_ok(
        cbk_tensor_from_data(test_table_stream, CBK_DTYPE_I32, 2, shape, data, sizeof data, &x));
    return x;
}

#define EXPECT_I32(tensor, ...) EXPECT(tensor, CBK_DTYPE_I32, int32_t, __VA_ARGS__)

static void test_views(void **state) {
    cbk_stream *stream = test_table_stream;
    cbk_tensor *x = matrix(), *view = NULL;
    (void)state;
    assert_ok(cbk_transpose(stream, x, 0, 1, &view));
    EXPECT_I32(view, 0, 3, 1, 4, 2, 5);
    assert_ok(cbk_flip(stream, x, 1, (int32_t[]){-1}, &view));
    EXPECT_I32(view, 2, 1, 0, 5, 4, 3);
    assert_ok(cbk_narrow(stream, x, 1, 1, 2, &view));
    EXPECT_I32(view, 1, 2, 4, 5);
    assert_ok(cbk_unfold(stream, x, 1, 2, 1, &view));
    EXPECT_I32(view, 0, 1, 1, 2, 3, 4, 4, 5);
    assert_ok(cbk_expand(stream, x, 3, (int64_t[]){2, -1, -1}, &view));
    EXPECT_I32(view, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5);
    assert_ok(cbk_diagonal(stream, x, 1, 0, 1, &view));
    EXPECT_I32(view, 1, 5);
    cbk_tensor_release(&x);
}

static void test_slice(void **state) {
    const struct {
        int64_t start, stop, step;
        int64_t count;
        int32_t want[8];
    } rows[] = {
        {0, 5, -1, 5, {4, 3, 2, 1, 0}},    {2, 8, -2, 3, {7, 5, 3}},
        {-3, INT64_MAX, 1, 3, {7, 8, 9}},  {1, 9, 3, 3, {1, 4, 7}},
        {0, INT64_MAX, INT64_MIN, 1, {9}}, {6, 4, 1, 0, {0}},
    };
    cbk_tensor *x = VECTOR(CBK_DTYPE_I32, int32_t, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9), *view = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cbk_slice_params params = CBK_INIT(cbk_slice_params, .axis_count = 1);
        params.start[0] = rows[i].start, params.stop[0] = rows[i].stop;
        params.step[0] = rows[i].step;
        assert_ok(cbk_slice(test_table_stream, x, &params, &view));
        test_expect(view, CBK_DTYPE_I32, rows[i].count, rows[i].want, __FILE__, __LINE__);
        // Assigning to the slice of a copy writes the same places.
        cbk_tensor *value = NULL, *copy = NULL, *part = NULL;
        assert_ok(cbk_fill(test_table_stream, CBK_DTYPE_I32, 1, &rows[i].count, cbk_i(-1), &value));
        assert_ok(cbk_slice_assign(test_table_stream, x, value, &params, &copy));
        assert_ok(cbk_slice(test_table_stream, copy, &params, &part));
        const int32_t minus[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
        test_expect(part, CBK_DTYPE_I32, rows[i].count, minus, __FILE__, __LINE__);
        cbk_tensor_release(&copy);
        cbk_tensor_release(&value);
    }
    cbk_tensor_release(&x);
}

static void test_gather(void **state) {
    const int64_t shape[] = {2, 2};
    const uint8_t indices[] = {2, 0, 1, 1};
    cbk_tensor *x = matrix(), *index = NULL, *out = NULL;
    (void)state;
    assert_ok(cbk_tensor_from_data(test_table_stream, CBK_DTYPE_U8, 2, shape, indices, 4, &index));
    assert_ok(cbk_gather(test_table_stream, x, index, 1, &out));
    EXPECT_I32(out, 2, 0, 4, 4);
    cbk_tensor_release(&index);
    index = VECTOR(CBK_DTYPE_I16, int16_t, 2, 2, 0);
    assert_ok(cbk_select(test_table_stream, x, index, -1, &out));
    EXPECT_I32(out, 2, 2, 0, 5, 5, 3);
    cbk_tensor_release(&index);
    cbk_tensor_release(&x);
}

static void expect_update(uint32_t update, const int32_t *want) {
    cbk_tensor *x = VECTOR(CBK_DTYPE_I32, int32_t, 10, 20, 30), *out = NULL;
    cbk_tensor *index = VECTOR(CBK_DTYPE_I64, int64_t, 0, 2, 0);
    cbk_tensor *value = VECTOR(CBK_DTYPE_I32, int32_t, 5, 40, 7);
    assert_ok(cbk_scatter(test_table_stream, x, index, value, 0, update, &out));
    test_expect(out, CBK_DTYPE_I32, 3, want, __FILE__, __LINE__);
    assert_ok(cbk_select_assign(test_table_stream, x, index, value, 0, update, &out));
    test_expect(out, CBK_DTYPE_I32, 3, want, __FILE__, __LINE__);
    assert_ok(cbk_scatter_into(test_table_stream, x, index, value, 0, update, x));
    test_expect(x, CBK_DTYPE_I32, 3, want, __FILE__, __LINE__);
    cbk_tensor_release(&index);
    cbk_tensor_release(&value);
}

static void test_updates(void **state) {
    (void)state;
    expect_update(CBK_UPDATE_ASSIGN, (int32_t[]){7, 20, 40});
    expect_update(CBK_UPDATE_ADD, (int32_t[]){22, 20, 70});
    expect_update(CBK_UPDATE_MUL, (int32_t[]){350, 20, 1200});
    expect_update(CBK_UPDATE_MIN, (int32_t[]){5, 20, 30});
    expect_update(CBK_UPDATE_MAX, (int32_t[]){10, 20, 40});
}

static void test_out_of_range(void **state) {
    cbk_tensor *x = VECTOR(CBK_DTYPE_I32, int32_t, 10, 20, 30), *out = NULL;
    cbk_tensor *index = VECTOR(CBK_DTYPE_I64, int64_t, 3, 1, -1);
    int32_t data[3];
    (void)state;
    assert_ok(cbk_gather(test_table_stream, x, index, 0, &out));
    assert_status(CBK_ERROR_INDEX_OUT_OF_RANGE,
                  cbk_tensor_read(test_table_stream, out, data, sizeof data));
    EXPECT_I32(out, 0, 20, 0); // the error came up once
    assert_ok(cbk_scatter(test_table_stream, x, index, x, 0, CBK_UPDATE_ADD, &out));
    assert_status(CBK_ERROR_INDEX_OUT_OF_RANGE, cbk_sync(test_table_stream));
    assert_ok(cbk_sync(test_table_stream));
    EXPECT_I32(out, 10, 40, 30);
    cbk_tensor_release(&index);
    cbk_tensor_release(&x);
}

static void test_cat_and_where(void **state) {
    cbk_tensor *a = matrix(), *b = NULL, *out = NULL;
    (void)state;
    assert_ok(cbk_narrow(test_table_stream, a, 1, 0, 1, &b));
    const cbk_tensor *const parts[] = {a, b};
    assert_ok(cbk_cat(test_table_stream, parts, 2, 1, &out));
    EXPECT_I32(out, 0, 1, 2, 0, 3, 4, 5, 3);
    cbk_tensor *mask = VECTOR(CBK_DTYPE_BOOL, uint8_t, 1, 0, 2);
    assert_ok(cbk_where(test_table_stream, mask, a, b, &out));
    EXPECT_I32(out, 0, 0, 2, 3, 3, 5);
    assert_ok(cbk_mask_fill(test_table_stream, a, mask, cbk_f(-7.9), &out));
    EXPECT_I32(out, -7, 1, -7, -7, 4, -7);
    cbk_tensor_release(&mask);
    cbk_tensor_release(&a);
    cbk_tensor_release(&b);
}

static void test_several_axes(void **state) {
    cbk_stream *stream = test_table_stream;
    const int32_t places[] = {1, 2, 0, 1};
    cbk_tensor *x = matrix(), *index = NULL, *value = NULL, *out = NULL;
    (void)state;
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_I32, 2, (int64_t[]){2, 2}, places,
                                   sizeof places, &index));
    assert_ok(cbk_gather_nd(stream, x, index, &out));
    EXPECT_I32(out, 5, 1);
    value = VECTOR(CBK_DTYPE_I32, int32_t, 10, 20);
    assert_ok(cbk_scatter_nd(stream, x, index, value, CBK_UPDATE_ADD, &out));
    EXPECT_I32(out, 0, 21, 2, 3, 4, 15);
    // Elements by their row-major place, in the index's shape.
    assert_ok(cbk_take(stream, x, index, &out));
    assert_int_equal(cbk_tensor_rank(out), 2);
    EXPECT_I32(out, 1, 2, 0, 1);
    cbk_tensor_release(&value);
    cbk_tensor_release(&index);
    cbk_tensor_release(&x);
}

static void test_embedding(void **state) {
    cbk_stream *stream = test_table_stream;
    cbk_tensor *weights = matrix(), *index = VECTOR(CBK_DTYPE_U8, uint8_t, 1, 0, 1), *out = NULL;
    cbk_tensor *grad = NULL;
    const cbk_one_hot_params params =
        CBK_INIT(cbk_one_hot_params, .classes = 2, .off = cbk_i(-1), .dtype = CBK_DTYPE_I32);
    (void)state;
    assert_ok(cbk_embedding(stream, weights, index, &grad));
    assert_ok(cbk_embedding_backward(stream, grad, index, 3, &out));
    EXPECT_I32(grad, 3, 4, 5, 0, 1, 2, 3, 4, 5);
    EXPECT_I32(out, 0, 1, 2, 6, 8, 10, 0, 0, 0);
    assert_ok(cbk_one_hot(stream, index, &params, &out));
    EXPECT_I32(out, -1, 1, 1, -1, -1, 1);
    cbk_tensor_release(&index);
    cbk_tensor_release(&weights);
}

static void test_stack_and_repeat(void **state) {
    cbk_stream *stream = test_table_stream;
    cbk_tensor *x = matrix(), *row = VECTOR(CBK_DTYPE_I32, int32_t, 7, 8), *out = NULL,
               *wide = NULL;
    const cbk_tensor *const rows[] = {row, row, row};
    (void)state;
    assert_ok(cbk_stack(stream, rows, 3, -1, &out));
    EXPECT_I32(out, 7, 7, 7, 8, 8, 8);
    assert_ok(cbk_repeat(stream, x, (int64_t[]){2, 1}, &out));
    EXPECT_I32(out, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5);
    assert_ok(cbk_repeat_dim(stream, row, -1, 3, &out));
    EXPECT_I32(out, 7, 8, 7, 8, 7, 8);
    assert_ok(cbk_repeat_dim(stream, row, 0, 0, &out));
    assert_int_equal(cbk_tensor_shape(out)[0], 0);
    cbk_tensor_release(&out);
    // Only an axis of length 1: a view, which shares x's memory.
    assert_ok(cbk_unsqueeze(stream, row, 1, (int32_t[]){0}, &wide));
    assert_ok(cbk_repeat(stream, wide, (int64_t[]){3, 1}, &out));
    assert_int_equal(cbk_tensor_strides(out)[0], 0);
    EXPECT_I32(out, 7, 8, 7, 8, 7, 8);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_repeat_dim(stream, row, 0, -1, &out));
    assert_status(CBK_ERROR_AXIS, cbk_repeat_dim(stream, row, 1, 2, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_stack(stream, rows, 0, 0, &out));
    assert_status(CBK_ERROR_AXIS, cbk_stack(stream, rows, 3, 2, &out));
    assert_null(out);
    cbk_tensor_release(&wide);
    cbk_tensor_release(&row);
    cbk_tensor_release(&x);
}

static void test_pad(void **state) {
    cbk_tensor *x = VECTOR(CBK_DTYPE_I32, int32_t, 1, 2, 3), *out = NULL;
    static const int32_t want[4][7] = {
        {9, 9, 1, 2, 3, 9, 9}, {3, 2, 1, 2, 3, 2, 1}, {1, 1, 1, 2, 3, 3, 3}, {2, 3, 1, 2, 3, 1, 2}};
    (void)state;
    for (uint32_t mode = 0; mode < 4; mode++) {
        const cbk_pad_params params = CBK_INIT(cbk_pad_params, .mode = mode, .before = {2},
                                               .after = {2}, .value = cbk_f(9.9));
        assert_ok(cbk_pad(test_table_stream, x, &params, &out));
        test_expect(out, CBK_DTYPE_I32, 7, want[mode], __FILE__, __LINE__);
    }
    assert_ok(cbk_roll(test_table_stream, x, &CBK_INIT(cbk_roll_params, .shifts = {1}), &out));
    EXPECT_I32(out, 3, 1, 2);
    cbk_tensor_release(&x);
}

static void test_compaction(void **state) {
    const cbk_compact_params params = CBK_INIT(cbk_compact_params, .length = 6);
    cbk_tensor *x = matrix(), *mask = VECTOR(CBK_DTYPE_BOOL, uint8_t, 1, 0, 2);
    cbk_tensor *out = NULL, *count = NULL;
    (void)state;
    assert_ok(cbk_count_nonzero(test_table_stream, x, NULL, &out));
    EXPECT(out, CBK_DTYPE_I64, int64_t, 5);
    assert_ok(cbk_argwhere(test_table_stream, x, &out));
    EXPECT(out, CBK_DTYPE_I64, int64_t, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2);
    assert_ok(cbk_mask_select(test_table_stream, x, mask, &out));
    EXPECT_I32(out, 0, 2, 3, 5);
    assert_ok(cbk_mask_select_sized(test_table_stream, x, mask, &params, &out, &count));
    EXPECT_I32(out, 0, 2, 3, 5, 0, 0);
    EXPECT(count, CBK_DTYPE_I64, int64_t, 4);
    cbk_tensor_release(&mask);
    cbk_tensor_release(&x);
    x = VECTOR(CBK_DTYPE_F32, float, -0.0f, NAN, 0, 1e-40f);
    assert_ok(cbk_argwhere(test_table_stream, x, &out));
    EXPECT(out, CBK_DTYPE_I64, int64_t, 1, 3);
    cbk_tensor_release(&x);
}

static void test_arange(void **state) {
    cbk_tensor *out = NULL;
    (void)state;
    assert_ok(cbk_arange(test_table_stream, CBK_DTYPE_U8, cbk_i(250), cbk_i(3), 4, &out));
    EXPECT(out, CBK_DTYPE_U8, uint8_t, 250, 253, 0, 3);
    assert_ok(cbk_arange(test_table_stream, CBK_DTYPE_F32, cbk_f(1), cbk_f(0.1), 3, &out));
    EXPECT(out, CBK_DTYPE_F32, float, 1, 1.1f, 1.2f);
}

static cbk_tensor *sample(uint32_t mode, uint32_t padding, uint32_t align_corners, float gx,
                          float gy) {
    const int64_t x_shape[4] = {1, 1, 2, 3}, grid_shape[4] = {1, 1, 1, 2};
    const float values[6] = {1, 2, 3, 10, 20, 30}, place[2] = {gx, gy};
    const cbk_grid_sample_params params = CBK_INIT(
        cbk_grid_sample_params, .mode = mode, .padding = padding, .align_corners = align_corners);
    cbk_tensor *x = NULL, *grid = NULL, *out = NULL;
    assert_ok(cbk_tensor_from_data(test_table_stream, CBK_DTYPE_F32, 4, x_shape, values,
                                   sizeof values, &x));
    assert_ok(cbk_tensor_from_data(test_table_stream, CBK_DTYPE_F32, 4, grid_shape, place,
                                   sizeof place, &grid));
    assert_ok(cbk_grid_sample(test_table_stream, x, grid, &params, &out));
    cbk_tensor_release(&grid);
    cbk_tensor_release(&x);
    return out;
}

static void grid_samples(void **state) {
    enum { LINEAR = CBK_SAMPLE_BILINEAR, NEAREST = CBK_SAMPLE_NEAREST, CUBIC = CBK_SAMPLE_BICUBIC };
    enum { ZEROS = CBK_SAMPLE_ZEROS, BORDER = CBK_SAMPLE_BORDER, MIRROR = CBK_SAMPLE_REFLECTION };
    static const struct {
        uint32_t mode, padding, align_corners;
        float gx, gy, want;
    } rows[] = {
        {LINEAR, ZEROS, 0, 0, 0, 11},        // column 1, between the rows
        {LINEAR, ZEROS, 1, -0.5f, -1, 1.5f}, // between columns 0 and 1
        {LINEAR, ZEROS, 0, -1, -0.5f, 0.5f}, // half of column 0
        {LINEAR, BORDER, 0, -1, -0.5f, 1},
        {LINEAR, ZEROS, 0, INFINITY, 0, 0},
        {LINEAR, BORDER, 0, INFINITY, NAN, 3},
        {LINEAR, MIRROR, 1, 2, -1, 2}, // 1 beyond column 2
        {NEAREST, ZEROS, 1, 0.9f, 1, 30},
        {NEAREST, ZEROS, 1, 1.6f, 1, 0},
        {NEAREST, MIRROR, 0, 2, -3, 20}, // columns 2, 1; rows 0, 1
        {CUBIC, BORDER, 1, 0, -1, 2},
        {CUBIC, BORDER, 1, 0.5f, -1, 2.5f + 0.09375f}, // 19/32 (2 + 3) - 3/32 (1 + 3)
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        test_expect(
            sample(rows[i].mode, rows[i].padding, rows[i].align_corners, rows[i].gx, rows[i].gy),
            CBK_DTYPE_F32, 1, &rows[i].want, __FILE__, (int)i);
}

// ---- gradients of grid_sample -------------------------------------------------------------------

enum { X_COUNT = 2 * 4 * 5, PLACES = 6, SAMPLES = 2 * PLACES };

static cbk_tensor *doubles(int64_t a, int64_t b, int64_t c, int64_t d, const double *data) {
    cbk_tensor *out = NULL;
    const uint64_t size = (uint64_t)(a * b * c * d) * sizeof *data;
    assert_ok(cbk_tensor_from_data(test_table_stream, CBK_DTYPE_F64, 4,
                                   (const int64_t[]){a, b, c, d}, data, size, &out));
    return out;
}

static void read_doubles(cbk_tensor *tensor, int64_t count, double *out) {
    assert_ok(cbk_tensor_read(test_table_stream, tensor, out, (uint64_t)count * sizeof *out));
    cbk_tensor_release(&tensor);
}

/// The samples times `weights`, added up.
static double loss(const cbk_grid_sample_params *params, const double *x, const double *grid,
                   const double *weights) {
    cbk_tensor *image = doubles(1, 2, 4, 5, x), *places = doubles(1, 2, 3, 2, grid), *out = NULL;
    double samples[SAMPLES], sum = 0;
    assert_ok(cbk_grid_sample(test_table_stream, image, places, params, &out));
    cbk_tensor_release(&image);
    cbk_tensor_release(&places);
    read_doubles(out, SAMPLES, samples);
    for (int i = 0; i < SAMPLES; i++) sum += samples[i] * weights[i];
    return sum;
}

/// Holds gradients against differences of the loss.
static void expect_slopes(const cbk_grid_sample_params *params, double *of, int64_t count,
                          const double *gradient, const double *x, const double *grid,
                          const double *weights) {
    const double step = 0x1p-18;
    for (int64_t i = 0; i < count; i++) {
        const double kept = of[i];
        of[i] = kept + step;
        const double above = loss(params, x, grid, weights);
        of[i] = kept - step;
        const double slope = (above - loss(params, x, grid, weights)) / (2 * step);
        of[i] = kept;
        if (fabs(slope - gradient[i]) > 1e-7 * (1 + fabs(slope)))
            fail_msg("mode %u padding %u align %u: element %d has the gradient %g, not %g",
                     params->mode, params->padding, params->align_corners, (int)i, gradient[i],
                     slope);
    }
}

static void check_gradients(const cbk_grid_sample_params *params) {
    // Inside, between border and last centre, a little and far outside.
    double grid[2 * PLACES] = {-0.31, 0.22, 0.97, -0.93, -1.13, 0.41,
                               0.1,   1.27, 2.55, -3.3,  -0.62, 0.07};
    double x[X_COUNT], weights[SAMPLES], of_x[X_COUNT], of_grid[2 * PLACES];
    for (int i = 0; i < X_COUNT; i++) x[i] = sin(3 * i);
    for (int i = 0; i < SAMPLES; i++) weights[i] = cos(2 * i);
    cbk_tensor *image = doubles(1, 2, 4, 5, x), *places = doubles(1, 2, 3, 2, grid);
    cbk_tensor *grad = doubles(1, 2, 2, 3, weights), *out = NULL;
    assert_ok(cbk_grid_sample_x_backward(test_table_stream, image, places, grad, params, &out));
    read_doubles(out, X_COUNT, of_x);
    assert_ok(cbk_grid_sample_grid_backward(test_table_stream, image, places, grad, params, &out));
    read_doubles(out, 2 * PLACES, of_grid);
    cbk_tensor_release(&image);
    cbk_tensor_release(&places);
    cbk_tensor_release(&grad);
    expect_slopes(params, x, X_COUNT, of_x, x, grid, weights);
    expect_slopes(params, grid, 2 * PLACES, of_grid, x, grid, weights);
}

static void grid_sample_gradients(void **state) {
    (void)state;
    for (uint32_t mode = 0; mode < 3; mode++)
        for (uint32_t padding = 0; padding < 3; padding++)
            for (uint32_t align = 0; align < 2; align++) {
                const cbk_grid_sample_params params =
                    CBK_INIT(cbk_grid_sample_params, .mode = mode, .padding = padding,
                             .align_corners = align);
                check_gradients(&params);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grid_sample_gradients),
        cmocka_unit_test(grid_samples),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_slice),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_cat_and_where),
        cmocka_unit_test(test_several_axes),
        cmocka_unit_test(test_embedding),
        cmocka_unit_test(test_stack_and_repeat),
        cmocka_unit_test(test_pad),
        cmocka_unit_test(test_compaction),
        cmocka_unit_test(test_arange),
    };
    return cmocka_run_group_tests(tests, test_table_open, test_table_close);
}
