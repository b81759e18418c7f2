/// test_blas.c: CLBlast products against a plain loop, and the limits that keep others away.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "runtime_side.h"
#include "support.h"

static struct test_runtime side;

struct shape {
    const char *name;
    uint64_t m, n, k, batch;
    bool transpose_a, transpose_b;
    uint64_t lead;           ///< elements before the first of each operand
    uint64_t pitch;          ///< elements between the end of a row and the next
    uint64_t gap;            ///< elements between matrices
    bool repeat_a, repeat_b; ///< the batch uses one matrix for all
};

static const struct shape shapes[] = {
    {"one element", 1, 1, 1, 1, false, false, 0, 0, 0, false, false},
    {"row by column", 1, 1, 300, 1, false, false, 0, 0, 0, false, false},
    {"column by row", 37, 41, 1, 1, false, false, 0, 0, 0, false, false},
    {"square", 64, 64, 64, 1, false, false, 0, 0, 0, false, false},
    {"odd", 67, 129, 33, 1, false, false, 0, 0, 0, false, false},
    {"left transposed", 67, 129, 33, 1, true, false, 0, 0, 0, false, false},
    {"right transposed", 67, 129, 33, 1, false, true, 0, 0, 0, false, false},
    {"both transposed", 67, 129, 33, 1, true, true, 0, 0, 0, false, false},
    {"offsets", 50, 60, 70, 1, false, false, 13, 0, 0, false, false},
    {"pitch", 50, 60, 70, 1, false, false, 0, 5, 0, false, false},
    {"offsets, pitch, transposed", 50, 60, 70, 1, true, true, 7, 3, 0, false, false},
    {"tall", 513, 9, 100, 1, false, false, 0, 0, 0, false, false},
    {"wide", 9, 513, 100, 1, false, true, 0, 0, 0, false, false},
    {"batch", 20, 30, 40, 5, false, false, 0, 0, 0, false, false},
    {"batch, transposed, gaps", 20, 30, 40, 5, true, false, 11, 2, 17, false, false},
    {"batch with one left", 20, 30, 40, 4, false, false, 3, 0, 0, true, false},
    {"batch with one right", 32, 64, 32, 4, false, false, 0, 0, 0, false, true},
    {"batch with one of each", 20, 30, 40, 3, false, true, 0, 1, 5, true, true},
};

/// An operand on the host and on the device.
struct operand {
    double *values; ///< of the whole buffer
    uint64_t count, offset, row_length, stride;
    struct cbk_rt_block *block;
};

static void make_operand(struct operand *operand, const struct shape *shape, uint64_t rows,
                         uint64_t columns, bool is_repeated, uint32_t *seed) {
    operand->row_length = columns + shape->pitch;
    operand->offset = shape->lead;
    uint64_t matrix = rows * operand->row_length;
    operand->stride = is_repeated ? 0 : matrix + shape->gap;
    operand->count = shape->lead + (shape->batch - 1) * operand->stride + matrix;
    operand->values = malloc(operand->count * sizeof *operand->values);
    assert_non_null(operand->values);
    for (uint64_t i = 0; i < operand->count; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        operand->values[i] = (double)(int32_t)(*seed >> 16 & 1023) / 256.0 - 2.0;
    }
}

static void upload(struct operand *operand, bool is_f64) {
    const size_t size = is_f64 ? 8 : 4;
    float *singles = NULL;
    assert_ok(cbk_rt_alloc(side.stream, operand->count * size, &operand->block));
    if (!is_f64) {
        singles = malloc(operand->count * sizeof *singles);
        assert_non_null(singles);
        for (uint64_t i = 0; i < operand->count; i++) singles[i] = (float)operand->values[i];
    }
    const void *data = is_f64 ? (const void *)operand->values : singles;
    assert_ok(cbk_rt_write(side.stream, operand->block, 0, data, operand->count * size));
    free(singles);
}

/// Element [row, column] of a matrix of the batch, seen through the transposition.
static double element(const struct operand *operand, uint64_t matrix, uint64_t row, uint64_t column,
                      bool is_transposed) {
    uint64_t r = is_transposed ? column : row, c = is_transposed ? row : column;
    return operand
        ->values[operand->offset + matrix * operand->stride + r * operand->row_length + c];
}

static void check(const struct shape *shape, const struct operand *a, const struct operand *b,
                  const struct operand *c, const void *result, bool is_f64) {
    const double epsilon = is_f64 ? 0x1p-53 : 0x1p-24;
    for (uint64_t i = 0; i < shape->batch; i++) {
        for (uint64_t row = 0; row < shape->m; row++) {
            for (uint64_t column = 0; column < shape->n; column++) {
                double sum = 0, size = 0;
                for (uint64_t k = 0; k < shape->k; k++) {
                    double product = element(a, i, row, k, shape->transpose_a) *
                                     element(b, i, k, column, shape->transpose_b);
                    sum += product, size += fabs(product);
                }
                uint64_t at = c->offset + i * c->stride + row * c->row_length + column;
                double found = is_f64 ? ((const double *)result)[at] : ((const float *)result)[at];
                // Each of k additions rounds a partial sum of at most `size`.
                if (fabs(found - sum) > (double)shape->k * epsilon * size) {
                    print_error("%s: matrix %u [%u,%u]: %.17g instead of %.17g\n", shape->name,
                                (unsigned)i, (unsigned)row, (unsigned)column, found, sum);
                    fail();
                }
            }
        }
    }
}

/// What lies between rows and matrices of c must stay.
static void check_gaps(const struct shape *shape, const struct operand *c, const void *result,
                       bool is_f64) {
    for (uint64_t i = 0; i < c->count; i++) {
        bool is_inside = false;
        if (i >= c->offset) {
            uint64_t inner = i - c->offset;
            if (shape->batch > 1) inner %= c->stride;
            is_inside = inner / c->row_length < shape->m && inner % c->row_length < shape->n;
        }
        double found = is_f64 ? ((const double *)result)[i] : ((const float *)result)[i];
        if (!is_inside) assert_true(found == c->values[i]);
    }
}

static void run_shape(const struct shape *shape, bool is_f64) {
    const size_t size = is_f64 ? 8 : 4;
    uint32_t seed = 12345;
    struct operand a, b, c;
    make_operand(&a, shape, shape->transpose_a ? shape->k : shape->m,
                 shape->transpose_a ? shape->m : shape->k, shape->repeat_a, &seed);
    make_operand(&b, shape, shape->transpose_b ? shape->n : shape->k,
                 shape->transpose_b ? shape->k : shape->n, shape->repeat_b, &seed);
    make_operand(&c, shape, shape->m, shape->n, false, &seed);
    // NaN where the result goes: it must not be read.
    for (uint64_t i = 0; i < shape->m; i++) c.values[c.offset + i * c.row_length] = NAN;
    upload(&a, is_f64);
    upload(&b, is_f64);
    upload(&c, is_f64);

    const struct cbk_rt_gemm gemm = {.is_f64 = is_f64,
                                     .transpose_a = shape->transpose_a,
                                     .transpose_b = shape->transpose_b,
                                     .m = shape->m,
                                     .n = shape->n,
                                     .k = shape->k,
                                     .batch = shape->batch,
                                     .a = a.block,
                                     .b = b.block,
                                     .c = c.block,
                                     .a_offset = cbk_rt_block_offset(a.block) / size + a.offset,
                                     .b_offset = cbk_rt_block_offset(b.block) / size + b.offset,
                                     .c_offset = cbk_rt_block_offset(c.block) / size + c.offset,
                                     .a_ld = a.row_length,
                                     .b_ld = b.row_length,
                                     .c_ld = c.row_length,
                                     .a_stride = a.stride,
                                     .b_stride = b.stride,
                                     .c_stride = c.stride};
    assert_true(cbk_rt_gemm_supported(side.device, &gemm));
    assert_ok(cbk_rt_gemm(side.stream, &gemm));
    void *result = malloc(c.count * size);
    assert_non_null(result);
    assert_ok(
        cbk_rt_read(side.stream, &(struct cbk_rt_read){c.block, 0, result, c.count * size}, 1));
    check(shape, &a, &b, &c, result, is_f64);
    check_gaps(shape, &c, result, is_f64);
    free(result);
    struct operand *all[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) {
        cbk_rt_free(side.device, &all[i]->block);
        free(all[i]->values);
    }
}

static void a_product_in_f32(void **state) {
    run_shape(*state, false);
}

/// On PoCL CLBlast's batched program takes 20 s to compile: once, in f32, is enough for a sample.
static void a_product_in_f64(void **state) {
    const struct shape *shape = *state;
    if (!cbk_rt_device_caps(side.device)->has_f64) skip();
    if (shape->batch > 1 && !getenv("CUBEBACK_TEST_FULL")) skip();
    run_shape(shape, true);
}

// ---- limits --------------------------------------------------------------------------------------

static void products_past_the_limits_are_refused(void **state) {
    (void)state;
    const struct cbk_rt_gemm good = {.m = 4,
                                     .n = 4,
                                     .k = 4,
                                     .batch = 2,
                                     .a_ld = 4,
                                     .b_ld = 4,
                                     .c_ld = 4,
                                     .a_stride = 16,
                                     .b_stride = 16,
                                     .c_stride = 16};
    const uint64_t limit = (uint64_t)1 << 31;
    assert_true(cbk_rt_gemm_supported(side.device, &good));
#define assert_refused(change)                                                                     \
    do {                                                                                           \
        struct cbk_rt_gemm gemm = good;                                                            \
        gemm.change;                                                                               \
        assert_false(cbk_rt_gemm_supported(side.device, &gemm));                                   \
    } while (0)
    assert_refused(m = 0);
    assert_refused(n = 0);
    assert_refused(k = 0);
    assert_refused(batch = 0);
    assert_refused(m = limit);
    assert_refused(n = limit);
    assert_refused(k = UINT64_MAX);
    assert_refused(batch = limit);
    assert_refused(batch = limit / 16);
    assert_refused(a_ld = 3);
    assert_refused(b_ld = 3);
    assert_refused(c_ld = 3);
    assert_refused(a_ld = limit / 3);
    assert_refused(a_ld = UINT64_MAX);
    assert_refused(a_offset = limit - 16);
    assert_refused(b_offset = limit);
    assert_refused(c_offset = UINT64_MAX);
    assert_refused(a_stride = limit - 8);
    assert_refused(b_stride = UINT64_MAX);
    assert_refused(c_stride = 0);
#undef assert_refused
    struct cbk_rt_gemm large = good;
    large.batch = 1;
    large.m = large.k = 50000;
    large.a_ld = 50000;
    assert_false(cbk_rt_gemm_supported(side.device, &large));
}

static void a_loop_of_products_is_bounded(void **state) {
    (void)state;
    enum { SIZE = 96 };
    cbk_memory_info usage = CBK_INIT(cbk_memory_info);
    struct cbk_rt_block *blocks[3] = {0};
    float *zeros = calloc(SIZE * SIZE, sizeof *zeros);
    assert_non_null(zeros);
    for (int i = 0; i < 3; i++) {
        assert_ok(cbk_rt_alloc(side.stream, SIZE * SIZE * 4, &blocks[i]));
        assert_ok(cbk_rt_write(side.stream, blocks[i], 0, zeros, SIZE * SIZE * 4));
    }
    struct cbk_rt_gemm gemm = {.batch = 1,
                               .a = blocks[0],
                               .b = blocks[1],
                               .c = blocks[2],
                               .a_offset = cbk_rt_block_offset(blocks[0]) / 4,
                               .b_offset = cbk_rt_block_offset(blocks[1]) / 4,
                               .c_offset = cbk_rt_block_offset(blocks[2]) / 4,
                               .a_ld = SIZE,
                               .b_ld = SIZE,
                               .c_ld = SIZE};
    uint64_t reserved = 0;
    for (int i = 0; i < 300; i++) {
        gemm.m = 1 + (uint64_t)i % SIZE;
        gemm.n = 1 + (uint64_t)i * 7 % SIZE;
        gemm.k = 1 + (uint64_t)i * 13 % SIZE;
        assert_ok(cbk_rt_gemm(side.stream, &gemm));
        if (i % 100 != 99) continue;
        assert_ok(cbk_rt_sync(side.stream));
        assert_ok(cbk_rt_memory_usage(side.device, &usage));
        if (reserved > 0) assert_true(usage.reserved_bytes <= reserved);
        reserved = usage.reserved_bytes;
    }
    for (int i = 0; i < 3; i++) cbk_rt_free(side.device, &blocks[i]);
    free(zeros);
}

// ---- the suite -----------------------------------------------------------------------------------

static int open_side(void **state) {
    (void)state;
    cbk_backend_params params = test_runtime_params("");
    test_runtime_open(&side, &params, NULL);
    return 0;
}

static int close_side(void **state) {
    (void)state;
    test_runtime_close(&side);
    return 0;
}

/// Two devices at once, then none: the library's cache is cleared with the last one only.
static void devices_come_and_go(void **state) {
    (void)state;
    struct test_runtime kept = side;
    for (int i = 0; i < 2; i++) {
        (void)open_side(NULL);
        run_shape(&shapes[3], false);
        (void)close_side(NULL);
        side = kept;
        run_shape(&shapes[4], false);
    }
    (void)close_side(NULL);
    (void)open_side(NULL);
    run_shape(&shapes[4], false);
}

int main(void) {
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    static const struct cbk_rt_gemm smallest = {
        .m = 1, .n = 1, .k = 1, .batch = 1, .a_ld = 1, .b_ld = 1, .c_ld = 1};
    struct CMUnitTest tests[2 * SHAPES + 3];
    char names[2 * SHAPES][64];
    size_t count = 0;

    (void)open_side(NULL);
    const bool has_blas = cbk_rt_gemm_supported(side.device, &smallest);
    (void)close_side(NULL);
    if (!has_blas) {
        print_message("built without CLBlast: nothing to test\n");
        return 0;
    }
    for (size_t i = 0; i < 2 * SHAPES; i++) {
        const struct shape *shape = &shapes[i / 2];
        snprintf(names[i], sizeof names[i], "%s, %s", shape->name, i % 2 ? "f64" : "f32");
        tests[count++] =
            (struct CMUnitTest){.name = names[i],
                                .test_func = i % 2 ? a_product_in_f64 : a_product_in_f32,
                                .initial_state = (void *)(uintptr_t)shape};
    }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(products_past_the_limits_are_refused);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(a_loop_of_products_is_bounded);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(devices_come_and_go);
    return _cmocka_run_group_tests("blas", tests, count, open_side, close_side);
}
