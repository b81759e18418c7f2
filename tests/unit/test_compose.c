// test_compose.c: named functions that are compositions of rows, on the reference backend.
#include "table.h"

#include <math.h>
#include <string.h>

/// 0, 1, 2, ... in this shape.
static cbk_tensor *counted(uint32_t rank, const int64_t *shape) {
    int64_t count = 1;
    cbk_tensor *flat = NULL, *out = NULL;
    for (uint32_t i = 0; i < rank; i++) count *= shape[i];
    assert_ok(cbk_arange(test_table_stream, CBK_DTYPE_I32, cbk_i(0), cbk_i(1), count, &flat));
    assert_ok(cbk_reshape(test_table_stream, flat, rank, shape, &out));
    cbk_tensor_release(&flat);
    return out;
}

#define SHAPE(...)                                                                                 \
    (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) {            \
        __VA_ARGS__                                                                                \
    }

static void expect_shape(const cbk_tensor *tensor, uint32_t rank, const int64_t *shape) {
    assert_int_equal(cbk_tensor_rank(tensor), rank);
    for (uint32_t i = 0; i < rank; i++) assert_int_equal(cbk_tensor_shape(tensor)[i], shape[i]);
}

static void expect_message_of(const char *function) {
    if (strncmp(cbk_last_error_message(), function, strlen(function)) == 0) return;
    fail_msg("\"%s\" does not begin with %s", cbk_last_error_message(), function);
}

static void parts(void **state) {
    (void)state;
    cbk_tensor *x = counted(SHAPE(2, 5)), *outs[7];
    uint32_t made;
    assert_ok(cbk_split(test_table_stream, x, -1, 3, (int64_t[]){2, 0, 3}, outs));
    expect_shape(outs[1], SHAPE(2, 0));
    EXPECT(outs[0], CBK_DTYPE_I32, int32_t, 0, 1, 5, 6);
    EXPECT(outs[2], CBK_DTYPE_I32, int32_t, 2, 3, 4, 7, 8, 9);
    cbk_tensor_release(&outs[1]);

    assert_ok(cbk_chunk(test_table_stream, x, 1, 4, outs, &made));
    assert_int_equal(made, 3);
    assert_null(outs[3]);
    EXPECT(outs[0], CBK_DTYPE_I32, int32_t, 0, 1, 5, 6);
    EXPECT(outs[1], CBK_DTYPE_I32, int32_t, 2, 3, 7, 8);
    EXPECT(outs[2], CBK_DTYPE_I32, int32_t, 4, 9);
    assert_ok(cbk_chunk(test_table_stream, x, 1, 7, outs, &made));
    assert_int_equal(made, 5);
    for (uint32_t i = 0; i < made; i++) cbk_tensor_release(&outs[i]);

    outs[0] = x;
    assert_status(CBK_ERROR_SHAPE, cbk_split(test_table_stream, x, 1, 2, (int64_t[]){2, 4}, outs));
    assert_null(outs[0]);
    assert_status(CBK_ERROR_SHAPE, cbk_split(test_table_stream, x, 1, 1, (int64_t[]){2}, outs));
    assert_status(CBK_ERROR_AXIS, cbk_split(test_table_stream, x, 2, 1, (int64_t[]){2}, outs));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_split(test_table_stream, x, 0, 1, NULL, outs));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_split(test_table_stream, NULL, 0, 1, (int64_t[]){2}, outs));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_chunk(test_table_stream, x, 0, 0, outs, &made));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_chunk(test_table_stream, x, 0, 1, NULL, &made));
    cbk_tensor_release(&x);

    cbk_tensor *empty = counted(SHAPE(0, 3));
    assert_ok(cbk_chunk(test_table_stream, empty, 0, 3, outs, &made));
    assert_int_equal(made, 1);
    expect_shape(outs[0], SHAPE(0, 3));
    cbk_tensor_release(&outs[0]);
    cbk_tensor_release(&empty);
}

static void axes(void **state) {
    (void)state;
    cbk_tensor *x = counted(SHAPE(2, 3, 4)), *out = NULL;
    assert_ok(cbk_movedim(test_table_stream, x, 1, (int32_t[]){0}, (int32_t[]){-1}, &out));
    expect_shape(out, SHAPE(3, 4, 2));
    cbk_tensor_release(&out);
    assert_ok(cbk_movedim(test_table_stream, x, 2, (int32_t[]){0, 2}, (int32_t[]){2, 1}, &out));
    expect_shape(out, SHAPE(3, 4, 2));
    cbk_tensor_release(&out);
    assert_status(CBK_ERROR_AXIS,
                  cbk_movedim(test_table_stream, x, 2, (int32_t[]){0, 0}, (int32_t[]){1, 2}, &out));
    assert_status(CBK_ERROR_AXIS,
                  cbk_movedim(test_table_stream, x, 1, (int32_t[]){3}, (int32_t[]){1}, &out));

    assert_ok(cbk_flatten(test_table_stream, x, 1, -1, &out));
    expect_shape(out, SHAPE(2, 12));
    cbk_tensor_release(&out);
    assert_ok(cbk_flatten(test_table_stream, x, 0, 1, &out));
    expect_shape(out, SHAPE(6, 4));
    cbk_tensor_release(&out);
    assert_status(CBK_ERROR_AXIS, cbk_flatten(test_table_stream, x, 2, 1, &out));

    assert_ok(cbk_unflatten(test_table_stream, x, 2, 2, (int64_t[]){2, -1}, &out));
    expect_shape(out, SHAPE(2, 3, 2, 2));
    cbk_tensor_release(&out);
    assert_status(CBK_ERROR_SHAPE,
                  cbk_unflatten(test_table_stream, x, 2, 2, (int64_t[]){3, -1}, &out));
    assert_status(CBK_ERROR_SHAPE,
                  cbk_unflatten(test_table_stream, x, 2, 2, (int64_t[]){3, 2}, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_unflatten(test_table_stream, x, 2, 7,
                                                 (int64_t[]){4, 1, 1, 1, 1, 1, 1}, &out));
    assert_string_equal(cbk_last_error_message(),
                        "unflatten: 7 axes in the place of one of 3 are over 8 in all");
    cbk_tensor_release(&x);
}

static void grids(void **state) {
    (void)state;
    cbk_tensor *a = VECTOR(CBK_DTYPE_I32, int32_t, 1, 2), *outs[2] = {NULL};
    cbk_tensor *b = VECTOR(CBK_DTYPE_I32, int32_t, 7, 8, 9), *grid = NULL;
    const cbk_tensor *const vectors[] = {a, b};
    assert_ok(cbk_meshgrid(test_table_stream, vectors, 2, CBK_GRID_IJ, outs));
    expect_shape(outs[0], SHAPE(2, 3));
    EXPECT(outs[0], CBK_DTYPE_I32, int32_t, 1, 1, 1, 2, 2, 2);
    EXPECT(outs[1], CBK_DTYPE_I32, int32_t, 7, 8, 9, 7, 8, 9);
    assert_ok(cbk_meshgrid(test_table_stream, vectors, 2, CBK_GRID_XY, outs));
    expect_shape(outs[0], SHAPE(3, 2));
    EXPECT(outs[0], CBK_DTYPE_I32, int32_t, 1, 2, 1, 2, 1, 2);
    EXPECT(outs[1], CBK_DTYPE_I32, int32_t, 7, 7, 8, 8, 9, 9);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_meshgrid(test_table_stream, vectors, 2, 2, outs));
    cbk_tensor_release(&a);
    cbk_tensor_release(&b);

    assert_ok(cbk_cartesian_grid(test_table_stream, CBK_DTYPE_I32, 2, (int64_t[]){2, 3}, &grid));
    expect_shape(grid, SHAPE(2, 3, 2));
    EXPECT(grid, CBK_DTYPE_I32, int32_t, 0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2);
    assert_ok(cbk_cartesian_grid(test_table_stream, 0, 2, (int64_t[]){0, 3}, &grid));
    assert_int_equal(cbk_tensor_dtype(grid), CBK_DTYPE_I64);
    cbk_tensor_release(&grid);
    assert_status(CBK_ERROR_SHAPE, cbk_cartesian_grid(test_table_stream, 0, 8,
                                                      (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1}, &grid));
}

static void gates_and_slopes(void **state) {
    (void)state;
    cbk_tensor *flat = VECTOR(CBK_DTYPE_F32, float, 2, 3, 0, INFINITY, -4, 5, 0, -INFINITY);
    cbk_tensor *x = NULL, *out = NULL, *dst = NULL, *slope = VECTOR(CBK_DTYPE_F32, float, 10, 100);
    assert_ok(cbk_reshape(test_table_stream, flat, 2, (int64_t[]){2, 4}, &x));
    assert_ok(cbk_glu(test_table_stream, x, -1, &out));
    expect_shape(out, SHAPE(2, 2));
    EXPECT(out, CBK_DTYPE_F32, float, 1, 3, -2, 0);
    assert_ok(cbk_tensor_empty(test_table_stream, CBK_DTYPE_F32, 2, (int64_t[]){2, 2}, &dst));
    assert_ok(cbk_glu_into(test_table_stream, x, 1, dst));
    EXPECT(dst, CBK_DTYPE_F32, float, 1, 3, -2, 0);

    // Its gradient: [sigmoid(gate), a sigmoid(gate) (1 - sigmoid(gate))] for a gradient of ones.
    cbk_tensor *ones = NULL;
    assert_ok(cbk_ones(test_table_stream, CBK_DTYPE_F32, 2, (int64_t[]){2, 2}, &ones));
    assert_ok(cbk_glu_backward(test_table_stream, x, ones, 1, &out));
    EXPECT(cbk_tensor_retain(out), CBK_DTYPE_F32, float, 0.5f, 1, 0.5f, 0, 0.5f, 0, -1, 0);
    assert_ok(cbk_glu_backward_into(test_table_stream, x, ones, -1, out));
    EXPECT(out, CBK_DTYPE_F32, float, 0.5f, 1, 0.5f, 0, 0.5f, 0, -1, 0);
    assert_status(CBK_ERROR_ALIASING, cbk_glu_backward_into(test_table_stream, x, ones, 1, x));
    assert_status(CBK_ERROR_SHAPE, cbk_glu_backward_into(test_table_stream, x, x, 1, ones));
    assert_status(CBK_ERROR_AXIS, cbk_glu_backward(test_table_stream, x, ones, 2, &out));
    cbk_tensor_release(&ones);
    cbk_tensor_release(&x);
    assert_ok(cbk_reshape(test_table_stream, flat, 3, (int64_t[]){2, 1, 4}, &x));
    assert_status(CBK_ERROR_SHAPE, cbk_glu(test_table_stream, x, 1, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_glu(test_table_stream, NULL, 1, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_glu_into(test_table_stream, x, 2, NULL));
    assert_status(CBK_ERROR_SHAPE, cbk_prelu(test_table_stream, x, slope, &out));
    cbk_tensor_release(&x);

    assert_ok(cbk_reshape(test_table_stream, flat, 3, (int64_t[]){2, 2, 2}, &x));
    assert_ok(cbk_prelu(test_table_stream, x, slope, &out));
    EXPECT(out, CBK_DTYPE_F32, float, 2, 3, 0, INFINITY, -40, 5, 0, -INFINITY);
    assert_ok(cbk_prelu_into(test_table_stream, x, slope, x));
    EXPECT(x, CBK_DTYPE_F32, float, 2, 3, 0, INFINITY, -40, 5, 0, -INFINITY);
    cbk_tensor_release(&flat);
    cbk_tensor_release(&slope);
}

static void gradients_of_slopes(void **state) {
    (void)state;
    cbk_tensor *flat = VECTOR(CBK_DTYPE_F32, float, 2, -3, 0, 1, -4, 5, -6, NAN);
    cbk_tensor *grads = VECTOR(CBK_DTYPE_F32, float, 1, 2, 3, 4, 5, 6, 7, 8);
    cbk_tensor *slope = VECTOR(CBK_DTYPE_F32, float, 10, 100), *one = NULL;
    cbk_tensor *x = NULL, *grad = NULL, *out = NULL, *out_slope = NULL;
    assert_ok(cbk_reshape(test_table_stream, flat, 3, (int64_t[]){2, 2, 2}, &x));
    assert_ok(cbk_reshape(test_table_stream, grads, 3, (int64_t[]){2, 2, 2}, &grad));
    assert_ok(cbk_prelu_backward(test_table_stream, x, slope, grad, &out, &out_slope));
    expect_shape(out, SHAPE(2, 2, 2));
    EXPECT(out, CBK_DTYPE_F32, float, 1, 20, 300, 4, 50, 6, 700, 800);
    EXPECT(cbk_tensor_retain(out_slope), CBK_DTYPE_F32, float, -26, NAN);

    // One slope for all; no slope's gradient wanted; written over operands.
    assert_ok(cbk_narrow(test_table_stream, slope, 0, 0, 1, &one));
    cbk_tensor_release(&x);
    cbk_tensor_release(&grad);
    assert_ok(cbk_narrow(test_table_stream, flat, 0, 0, 7, &x));
    assert_ok(cbk_narrow(test_table_stream, grads, 0, 0, 7, &grad));
    assert_ok(cbk_prelu_backward(test_table_stream, x, one, grad, &out, NULL));
    EXPECT(out, CBK_DTYPE_F32, float, 1, 20, 30, 4, 50, 6, 70);
    assert_status(CBK_ERROR_SHAPE,
                  cbk_prelu_backward_into(test_table_stream, x, one, grad, grad, out_slope));
    cbk_tensor *dst = NULL;
    assert_ok(cbk_narrow(test_table_stream, out_slope, 0, 1, 1, &dst));
    assert_ok(cbk_prelu_backward_into(test_table_stream, x, one, grad, grad, dst));
    EXPECT(cbk_tensor_retain(grad), CBK_DTYPE_F32, float, 1, 20, 30, 4, 50, 6, 70);
    EXPECT(dst, CBK_DTYPE_F32, float, -68);
    assert_status(CBK_ERROR_ALIASING,
                  cbk_prelu_backward_into(test_table_stream, x, one, grad, grad, one));

    assert_status(CBK_ERROR_SHAPE,
                  cbk_prelu_backward(test_table_stream, x, slope, grad, &out, &dst));
    assert_status(CBK_ERROR_SHAPE,
                  cbk_prelu_backward(test_table_stream, x, slope, slope, &out, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_prelu_backward(test_table_stream, x, slope, NULL, &out, NULL));
    assert_null(out);
    assert_null(dst);
    cbk_tensor_release(&one);
    cbk_tensor_release(&grad);
    cbk_tensor_release(&x);
    cbk_tensor_release(&out_slope);
    cbk_tensor_release(&slope);
    cbk_tensor_release(&grads);
    cbk_tensor_release(&flat);
}

static void different_numbers(void **state) {
    (void)state;
    const cbk_compact_params short_of = CBK_INIT(cbk_compact_params, .length = 2,
                                                 .out_dtype = CBK_DTYPE_U8),
                             wide = CBK_INIT(cbk_compact_params, .length = 5);
    cbk_tensor *x = VECTOR(CBK_DTYPE_F32, float, 3, -0.0f, NAN, 3, 0, -1, NAN), *out = NULL;
    cbk_tensor *inverse = NULL, *counts = NULL, *count = NULL, *square = NULL;
    assert_ok(cbk_unique(test_table_stream, x, &out, &inverse, &counts));
    EXPECT(out, CBK_DTYPE_F32, float, -1, -0.0f, 3, NAN, NAN);
    EXPECT(inverse, CBK_DTYPE_I64, int64_t, 2, 1, 3, 2, 1, 0, 4);
    EXPECT(counts, CBK_DTYPE_I64, int64_t, 1, 2, 2, 1, 1);
    assert_ok(cbk_count_unique(test_table_stream, x, NULL, &count));
    assert_int_equal(cbk_tensor_rank(count), 0);
    EXPECT(count, CBK_DTYPE_I64, int64_t, 5);
    cbk_tensor_release(&x);

    cbk_tensor *flat = VECTOR(CBK_DTYPE_I8, int8_t, 9, -7, 9, 9);
    assert_ok(cbk_reshape(test_table_stream, flat, 2, (int64_t[]){2, 2}, &square));
    assert_ok(cbk_unique_sized(test_table_stream, square, &wide, &out, &inverse, &counts, &count));
    EXPECT(out, CBK_DTYPE_I8, int8_t, -7, 9, 0, 0, 0);
    expect_shape(inverse, SHAPE(2, 2));
    EXPECT(inverse, CBK_DTYPE_I64, int64_t, 1, 0, 1, 1);
    EXPECT(counts, CBK_DTYPE_I64, int64_t, 1, 3, 0, 0, 0);
    EXPECT(count, CBK_DTYPE_I64, int64_t, 2);
    cbk_tensor_release(&square);
    cbk_tensor_release(&flat);

    x = VECTOR(CBK_DTYPE_U16, uint16_t, 5, 6, 7, 5);
    assert_ok(cbk_unique_sized(test_table_stream, x, &short_of, NULL, NULL, &counts, &count));
    EXPECT(counts, CBK_DTYPE_U8, uint8_t, 2, 1);
    EXPECT(count, CBK_DTYPE_U8, uint8_t, 3);
    cbk_tensor_release(&x);

    assert_ok(cbk_zeros(test_table_stream, CBK_DTYPE_BOOL, 2, (int64_t[]){0, 3}, &x));
    assert_ok(cbk_unique(test_table_stream, x, &out, &inverse, &counts));
    expect_shape(out, SHAPE(0));
    expect_shape(inverse, SHAPE(0, 3));
    expect_shape(counts, SHAPE(0));
    cbk_tensor_release(&counts);
    cbk_tensor_release(&inverse);
    cbk_tensor_release(&out);
    assert_ok(cbk_unique_sized(test_table_stream, x, &wide, NULL, NULL, &counts, NULL));
    EXPECT(counts, CBK_DTYPE_I64, int64_t, 0, 0, 0, 0, 0);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_count_unique(test_table_stream, x, NULL, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_unique(test_table_stream, NULL, &out, NULL, NULL));
    cbk_tensor_release(&x);
    assert_ok(cbk_zeros(test_table_stream, CBK_DTYPE_F8E5M2, 1, (int64_t[]){3}, &x));
    assert_status(CBK_ERROR_DTYPE, cbk_unique(test_table_stream, x, &out, &inverse, NULL));
    assert_null(out);
    cbk_tensor_release(&x);
}

static void different_slices(void **state) {
    (void)state;
    const cbk_compact_params wide =
        CBK_INIT(cbk_compact_params, .length = 4, .out_dtype = CBK_DTYPE_U8);
    const int64_t rows[] = {5, 3}, turned[] = {3, 5};
    cbk_tensor *flat = VECTOR(CBK_DTYPE_I16, int16_t, 2, 1, 7, /**/ -2, 9, 9, /**/ 2, 1, -7, /**/ 2,
                              1, 7, /**/ -2, 9, 9);
    cbk_tensor *x = NULL, *y = NULL, *out = NULL, *inverse = NULL, *counts = NULL, *count = NULL;
    assert_ok(cbk_reshape(test_table_stream, flat, 2, rows, &x));
    assert_ok(cbk_unique_along(test_table_stream, x, 0, &out, &inverse, &counts));
    expect_shape(out, SHAPE(3, 3));
    EXPECT(out, CBK_DTYPE_I16, int16_t, -2, 9, 9, 2, 1, -7, 2, 1, 7);
    EXPECT(inverse, CBK_DTYPE_I64, int64_t, 2, 0, 1, 2, 0);
    EXPECT(counts, CBK_DTYPE_I64, int64_t, 2, 1, 2);

    assert_ok(cbk_transpose(test_table_stream, x, 0, 1, &y));
    expect_shape(y, 2, turned);
    assert_ok(
        cbk_unique_along_sized(test_table_stream, y, -1, &wide, &out, &inverse, &counts, &count));
    expect_shape(out, SHAPE(3, 4));
    EXPECT(out, CBK_DTYPE_I16, int16_t, -2, 2, 2, 0, 9, 1, 1, 0, 9, -7, 7, 0);
    EXPECT(inverse, CBK_DTYPE_U8, uint8_t, 2, 0, 1, 2, 0);
    EXPECT(counts, CBK_DTYPE_U8, uint8_t, 2, 1, 2, 0);
    EXPECT(count, CBK_DTYPE_U8, uint8_t, 3);
    assert_ok(cbk_count_unique_along(test_table_stream, y, 0, NULL, &count));
    assert_int_equal(cbk_tensor_rank(count), 0);
    EXPECT(count, CBK_DTYPE_I64, int64_t, 3);
    assert_status(CBK_ERROR_AXIS, cbk_unique_along(test_table_stream, y, 2, &out, NULL, NULL));
    expect_message_of("unique_along: ");
    assert_null(out);
    cbk_tensor_release(&y);
    cbk_tensor_release(&x);
    cbk_tensor_release(&flat);

    flat = VECTOR(CBK_DTYPE_F32, float, 1, NAN, 0, 5, 1, NAN, -0.0f, 5);
    assert_ok(cbk_reshape(test_table_stream, flat, 2, (int64_t[]){4, 2}, &x));
    assert_ok(cbk_unique_along(test_table_stream, x, 0, &out, NULL, &counts));
    EXPECT(out, CBK_DTYPE_F32, float, 0, 5, 1, NAN, 1, NAN);
    EXPECT(counts, CBK_DTYPE_I64, int64_t, 2, 1, 1);
    cbk_tensor_release(&x);
    cbk_tensor_release(&flat);
}

static void slices_without_elements(void **state) {
    (void)state;
    const cbk_compact_params two = CBK_INIT(cbk_compact_params, .length = 2);
    cbk_tensor *x = NULL, *out = NULL, *counts = NULL, *inverse = NULL, *count = NULL;
    assert_ok(cbk_zeros(test_table_stream, CBK_DTYPE_F32, 2, (int64_t[]){3, 0}, &x));
    assert_ok(cbk_unique_along(test_table_stream, x, 0, &out, &inverse, &counts));
    expect_shape(out, SHAPE(1, 0));
    EXPECT(inverse, CBK_DTYPE_I64, int64_t, 0, 0, 0);
    EXPECT(counts, CBK_DTYPE_I64, int64_t, 3);
    cbk_tensor_release(&out);
    assert_ok(cbk_unique_along_sized(test_table_stream, x, 1, &two, &out, NULL, &counts, &count));
    expect_shape(out, SHAPE(3, 2));
    EXPECT(out, CBK_DTYPE_F32, float, 0, 0, 0, 0, 0, 0);
    EXPECT(counts, CBK_DTYPE_I64, int64_t, 0, 0);
    EXPECT(count, CBK_DTYPE_I64, int64_t, 0);
    cbk_tensor_release(&x);
    assert_ok(cbk_zeros(test_table_stream, CBK_DTYPE_F32, 0, NULL, &x));
    assert_status(CBK_ERROR_AXIS, cbk_unique_along(test_table_stream, x, 0, &out, NULL, NULL));
    cbk_tensor_release(&x);
}

static cbk_tensor *affine(const float theta[6], int64_t height, int64_t width, uint32_t align) {
    const int64_t shape[3] = {1, 2, 3};
    cbk_tensor *x = NULL, *out = NULL;
    assert_ok(cbk_tensor_from_data(test_table_stream, CBK_DTYPE_F32, 3, shape, theta,
                                   6 * sizeof *theta, &x));
    assert_ok(cbk_affine_grid(test_table_stream, x, height, width, align, &out));
    cbk_tensor_release(&x);
    return out;
}

static void affine_grids(void **state) {
    static const float same[6] = {1, 0, 0, 0, 1, 0}, moved[6] = {0, 2, 8, 1, 0, 16};
    (void)state;
    cbk_tensor *grid = affine(same, 2, 4, 0), *vector = NULL;
    expect_shape(grid, SHAPE(1, 2, 4, 2));
    EXPECT(grid, CBK_DTYPE_F32, float, -0.75f, -0.5f, -0.25f, -0.5f, 0.25f, -0.5f, 0.75f, -0.5f,
           -0.75f, 0.5f, -0.25f, 0.5f, 0.25f, 0.5f, 0.75f, 0.5f);
    EXPECT(affine(same, 1, 3, 1), CBK_DTYPE_F32, float, -1, 0, 0, 0, 1, 0);
    EXPECT(affine(moved, 2, 2, 1), CBK_DTYPE_F32, float, 6, 15, 6, 17, 10, 15, 10, 17);
    grid = affine(same, 0, 3, 1);
    expect_shape(grid, SHAPE(1, 0, 3, 2));
    cbk_tensor_release(&grid);
    vector = VECTOR(CBK_DTYPE_F32, float, 1, 2, 3);
    assert_status(CBK_ERROR_SHAPE, cbk_affine_grid(test_table_stream, vector, 2, 2, 0, &grid));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_affine_grid(test_table_stream, vector, 2, 2, 0, NULL));
    assert_null(grid);
    cbk_tensor_release(&vector);
}

static void closeness(void **state) {
    (void)state;
    const cbk_close_params nan_too = CBK_INIT(cbk_close_params, .equal_nan = 1);
    cbk_tensor *a = VECTOR(CBK_DTYPE_F32, float, 1, 1, INFINITY, INFINITY, NAN, 3e38f, 0);
    cbk_tensor *b =
        VECTOR(CBK_DTYPE_F32, float, 1.000009f, 1.00002f, INFINITY, 1, NAN, -3e38f, -0.0f);
    cbk_tensor *out = NULL;
    assert_ok(cbk_is_close(test_table_stream, a, b, NULL, &out));
    EXPECT(out, CBK_DTYPE_BOOL, uint8_t, 1, 0, 1, 0, 0, 0, 1);
    assert_ok(cbk_is_close(test_table_stream, a, b, &nan_too, &out));
    EXPECT(out, CBK_DTYPE_BOOL, uint8_t, 1, 0, 1, 0, 1, 0, 1);
    assert_ok(cbk_all_close(test_table_stream, a, b, &nan_too, &out));
    assert_int_equal(cbk_tensor_rank(out), 0);
    EXPECT(out, CBK_DTYPE_BOOL, uint8_t, 0);
    assert_ok(cbk_all_close(test_table_stream, a, a, &nan_too, &out));
    EXPECT(out, CBK_DTYPE_BOOL, uint8_t, 1);
    cbk_tensor_release(&a);
    cbk_tensor_release(&b);
}

static void products(void **state) {
    (void)state;
    cbk_tensor *a = VECTOR(CBK_DTYPE_I32, int32_t, 1, 2, 3), *out = NULL, *none = NULL;
    cbk_tensor *b = VECTOR(CBK_DTYPE_I32, int32_t, 10, 20);
    assert_ok(cbk_outer(test_table_stream, a, b, &out));
    expect_shape(out, SHAPE(3, 2));
    assert_status(CBK_ERROR_SHAPE, cbk_outer(test_table_stream, out, b, &none));
    EXPECT(out, CBK_DTYPE_I32, int32_t, 10, 20, 20, 40, 30, 60);
    assert_ok(cbk_dot(test_table_stream, a, a, &out));
    assert_int_equal(cbk_tensor_rank(out), 0);
    assert_ok(cbk_add_scalar_into(test_table_stream, out, cbk_i(1), out));
    assert_ok(cbk_dot_into(test_table_stream, b, b, out));
    assert_status(CBK_ERROR_SHAPE, cbk_dot_into(test_table_stream, b, b, a));
    assert_status(CBK_ERROR_SHAPE, cbk_dot(test_table_stream, a, b, &none));
    EXPECT(out, CBK_DTYPE_I32, int32_t, 500);
    cbk_tensor_release(&a);
    cbk_tensor_release(&b);
}

static void fmod_keeps_the_sign_of_a(void **state) {
    (void)state;
    EXPECT(test_binary(cbk_fmod, VECTOR(CBK_DTYPE_I8, int8_t, -7, 7, -7, 5, -128, -128),
                       VECTOR(CBK_DTYPE_I8, int8_t, 3, -3, -3, 0, -1, 3)),
           CBK_DTYPE_I8, int8_t, -1, 1, -1, 0, 0, -2);
    EXPECT(test_binary(cbk_fmod, VECTOR(CBK_DTYPE_F32, float, -7, 7, 5, 5, INFINITY, -0.0f),
                       VECTOR(CBK_DTYPE_F32, float, 3, -3, 0, INFINITY, 2, 2)),
           CBK_DTYPE_F32, float, -1, 1, NAN, 5, NAN, -0.0f);
}

/// Rows that refuse go by the name of the function that was called.
static void messages_name_the_function(void **state) {
    (void)state;
    cbk_tensor *a = counted(SHAPE(4, 3)), *b = counted(SHAPE(5, 2)), *out = NULL;
    assert_status(CBK_ERROR_SHAPE, cbk_linear(test_table_stream, a, b, NULL, NULL, &out));
    expect_message_of("linear: ");
    assert_status(CBK_ERROR_SHAPE, cbk_linear_x_backward(test_table_stream, b, a, &out));
    expect_message_of("linear_x_backward: ");
    assert_status(CBK_ERROR_SHAPE, cbk_linear_weight_backward(test_table_stream, a, b, &out));
    expect_message_of("linear_weight_backward: ");
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_cov(test_table_stream, a, INT64_MIN, &out));
    expect_message_of("cov: ");
    assert_status(CBK_ERROR_AXIS, cbk_cosine_similarity(test_table_stream, a, a, 5, 0, &out));
    expect_message_of("cosine_similarity: ");
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_matrix_trace(test_table_stream, NULL, &out));
    expect_message_of("matrix_trace: ");
    assert_status(CBK_ERROR_SHAPE, cbk_matmul(test_table_stream, a, b, NULL, &out));
    expect_message_of("matmul: ");
    cbk_tensor_release(&a);
    cbk_tensor_release(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts),
        cmocka_unit_test(axes),
        cmocka_unit_test(grids),
        cmocka_unit_test(gates_and_slopes),
        cmocka_unit_test(gradients_of_slopes),
        cmocka_unit_test(different_numbers),
        cmocka_unit_test(different_slices),
        cmocka_unit_test(slices_without_elements),
        cmocka_unit_test(affine_grids),
        cmocka_unit_test(closeness),
        cmocka_unit_test(products),
        cmocka_unit_test(fmod_keeps_the_sign_of_a),
        cmocka_unit_test(messages_name_the_function),
    };
    return cmocka_run_group_tests_name("compose", tests, test_table_open, test_table_close);
}
