// test_linalg.c: LU, determinants and QR of both backends, held against what they must fulfil:
// products of the factors give the matrix, Q is orthonormal, pivots are the greatest. Factors of
// matrices that are far from singular are also compared with the reference's.
#include "runner.h"
#include "support.h"

#include <cubeback/backend.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- matrices in double -------------------------------------------------------------------------

/// Matrices of one tensor.
struct matrices {
    int64_t count, rows, columns;
    double *data;
};

static double *at(const struct matrices *a, int64_t number, int64_t row, int64_t column) {
    return a->data + (number * a->rows + row) * a->columns + column;
}

static int64_t shorter(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/// The elements of a tensor; `axes` of them are those of a matrix, or of a vector.
static struct matrices read_matrices(cbk_stream *stream, const cbk_tensor *tensor, uint32_t axes) {
    const cbk_tensor_meta *meta = cbk_tensor_metadata(tensor);
    const size_t size = (size_t)meta->element_count * cbk_dtype_size(meta->dtype);
    struct matrices a = {1, 1, 1, malloc((size_t)meta->element_count * sizeof(double) + 1)};
    void *bytes = malloc(size + 1);
    assert_true(a.data != NULL && bytes != NULL);
    assert_ok(cbk_tensor_read(stream, tensor, bytes, size));
    for (int64_t i = 0; i < meta->element_count; i++)
        a.data[i] = test_to_double(bytes, meta->dtype, i);
    free(bytes);
    if (axes > 0) a.columns = meta->shape[meta->rank - 1];
    if (axes > 1) a.rows = meta->shape[meta->rank - 2];
    for (uint32_t i = 0; i + axes < meta->rank; i++) a.count *= meta->shape[i];
    return a;
}

static double greatest_of(const struct matrices *a) {
    double greatest = 0;
    for (int64_t i = 0; i < a->count * a->rows * a->columns; i++)
        greatest = fmax(greatest, fabs(a->data[i]));
    return greatest;
}

/// Half a step at 1 of the dtype itself.
static double rounding_of(cbk_dtype dtype) {
    struct test_float_format format;
    assert_true(test_float_format(dtype, &format));
    return ldexp(1, -format.mantissa_bits - 1);
}

static double smallest_of(cbk_dtype dtype) {
    return dtype == CBK_DTYPE_F64 ? 0x1p-1022 : dtype == CBK_DTYPE_F16 ? 0x1p-14 : 0x1p-126;
}

// ---- cases --------------------------------------------------------------------------------------

enum data {
    RANDOM,
    DOMINANT, ///< with a heavy diagonal: far from singular
    ZEROS,
    RANK_ONE,
    ZERO_COLUMN, ///< and a row twice
    TINY,        ///< squares are out of range
    HUGE_ONES
};

struct matrix_case {
    char name[96];
    cbk_dtype dtype;
    uint32_t rank;
    int64_t shape[4];
    enum test_view view;
    enum data data;
    bool is_into; ///< results are views
};

static double element_of(const struct matrix_case *c, int64_t row, int64_t column, double random) {
    const int64_t longest = c->shape[c->rank - 2] > c->shape[c->rank - 1] ? c->shape[c->rank - 2]
                                                                          : c->shape[c->rank - 1];
    switch (c->data) {
    case DOMINANT:
        return random / 8 + (row == column ? 2 * sqrt((double)longest) : 0);
    case ZEROS:
        return 0;
    case RANK_ONE:
        return (double)((row % 5 + 1) * (column % 3 + 1));
    case ZERO_COLUMN:
        return column == 1 ? 0 : row == 2 ? 1 : random;
    case TINY:
        return random * (c->dtype == CBK_DTYPE_F64 ? 1e-300 : 1e-37);
    case HUGE_ONES:
        return random * (c->dtype == CBK_DTYPE_F64 ? 1e300 : 1e35);
    default:
        return random;
    }
}

/// A view of the case's kind, whose base has the case's data. f32 first, for other dtypes to round.
static cbk_tensor *make_x(const struct matrix_case *c, struct test_side *side) {
    const struct test_base base = test_view_base(c->view, c->rank, c->shape);
    double *data = malloc((size_t)base.count * sizeof *data + 1);
    uint64_t seed = test_hash(c->name);
    cbk_tensor *wide = NULL, *narrow = NULL;
    assert_non_null(data);
    test_fill(data, CBK_DTYPE_F64, base.count, TEST_MODERATE, 0, &seed);
    const int64_t columns = base.rank > 0 ? base.shape[base.rank - 1] : 1;
    const int64_t rows = base.rank > 1 ? base.shape[base.rank - 2] : 1;
    for (int64_t i = 0; i < base.count; i++)
        data[i] = element_of(c, i / columns % rows, i % columns, data[i]);
    assert_ok(cbk_tensor_from_data(side->stream, CBK_DTYPE_F64, base.rank, base.shape, data,
                                   (uint64_t)base.count * sizeof *data, &wide));
    assert_ok(cbk_cast(side->stream, wide, c->dtype, &narrow));
    cbk_tensor *view = test_view_make(side, c->view, narrow, c->rank, c->shape);
    cbk_tensor_release(&narrow);
    cbk_tensor_release(&wide);
    free(data);
    return view;
}

/// Outputs of the case's operation: new ones, or transposed and stepped views.
static void run(const struct matrix_case *c, struct test_side *side, cbk_opcode opcode,
                const void *params, uint32_t params_size, cbk_tensor *x, cbk_tensor **outputs) {
    const uint32_t count = cbk_op_info_of(opcode)->output_count;
    const cbk_op op =
        CBK_INIT(cbk_op, .opcode = opcode, .input_count = 1, .output_count = count, .inputs = &x,
                 .outputs = outputs, .params = params, .params_size = params_size);
    assert_ok(cbk_execute(side->stream, &op));
    for (uint32_t i = 0; c->is_into && i < count; i++) {
        const cbk_tensor_meta meta = *cbk_tensor_metadata(outputs[i]);
        const enum test_view view = i % 2 == 0 ? TEST_TRANSPOSED : TEST_STEPPED;
        const struct test_base base = test_view_base(view, meta.rank, meta.shape);
        cbk_tensor *memory = NULL;
        cbk_tensor_release(&outputs[i]);
        assert_ok(cbk_tensor_empty(side->stream, meta.dtype, base.rank, base.shape, &memory));
        outputs[i] = test_view_make(side, view, memory, meta.rank, meta.shape);
        cbk_tensor_release(&memory);
    }
    if (c->is_into) assert_ok(cbk_execute(side->stream, &op));
}

static void release_all(cbk_tensor **tensors, int count) {
    for (int i = 0; i < count; i++) cbk_tensor_release(&tensors[i]);
}

/// Results of both backends are alike, as far as the arithmetic goes.
static void hold_together(const struct matrix_case *c, const struct matrices *want,
                          const struct matrices *got, const char *what) {
    const double size = fmax(greatest_of(want), 1);
    const double limit = size * (2048 * test_unit_roundoff(c->dtype) + 2 * rounding_of(c->dtype));
    for (int64_t i = 0; i < want->count * want->rows * want->columns; i++)
        if (!(fabs(want->data[i] - got->data[i]) <= limit))
            fail_msg("%s[%lld] is %.17g, by the reference %.17g", what, (long long)i, got->data[i],
                     want->data[i]);
}

// ---- LU -----------------------------------------------------------------------------------------

static void check_pivots(const struct matrices *pivots, const struct matrices *permutation,
                         int64_t number) {
    const int64_t rows = permutation->columns;
    int64_t *order = malloc((size_t)rows * sizeof *order + 1);
    assert_non_null(order);
    for (int64_t i = 0; i < rows; i++) order[i] = i;
    for (int64_t j = 0; j < pivots->columns; j++) {
        const int64_t pivot = (int64_t)*at(pivots, number, 0, j), row = order[j];
        assert_true(pivot >= j && pivot < rows);
        order[j] = order[pivot];
        order[pivot] = row;
    }
    for (int64_t i = 0; i < rows; i++)
        assert_true(*at(permutation, number, 0, i) == (double)order[i]);
    free(order);
}

/// |P' A - L U| <= gamma |L| |U|, element by element.
static void check_lu(const struct matrix_case *c, const struct matrices *x,
                     const struct matrices *lu, const struct matrices *permutation,
                     int64_t number) {
    const double terms = (double)shorter(x->rows, x->columns);
    const double gamma = 2 * (terms + 4) * test_unit_roundoff(c->dtype) + 3 * rounding_of(c->dtype);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->columns; j++) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k <= shorter(i, j); k++) {
                const double term = (k == i ? 1 : *at(lu, number, i, k)) * *at(lu, number, k, j);
                sum += term;
                size += fabs(term);
                if (k < i) assert_true(fabs(*at(lu, number, i, k)) <= 1 + 1e-6);
            }
            const double want = *at(x, number, (int64_t)*at(permutation, number, 0, i), j);
            if (!(fabs(want - sum) <= gamma * size + 4 * (terms + 1) * smallest_of(c->dtype)))
                fail_msg("matrix %lld at %lld, %lld: L U is %.17g, x %.17g", (long long)number,
                         (long long)i, (long long)j, sum, want);
        }
}

static struct matrices lu_of(const struct matrix_case *c, struct test_side *side) {
    const cbk_lu_params params =
        CBK_INIT(cbk_lu_params, .out_dtype = c->is_into ? CBK_DTYPE_I16 : CBK_DTYPE_NONE);
    cbk_tensor *x = make_x(c, side), *outputs[3] = {NULL};
    run(c, side, CBK_OP_LU_FACTOR, &params, sizeof params, x, outputs);
    struct matrices a = read_matrices(side->stream, x, 2);
    struct matrices lu = read_matrices(side->stream, outputs[0], 2);
    struct matrices pivots = read_matrices(side->stream, outputs[1], 1);
    struct matrices permutation = read_matrices(side->stream, outputs[2], 1);
    assert_int_equal(pivots.columns, shorter(a.rows, a.columns));
    assert_int_equal(permutation.columns, a.rows);
    for (int64_t number = 0; number < a.count; number++) {
        check_pivots(&pivots, &permutation, number);
        check_lu(c, &a, &lu, &permutation, number);
    }
    free(permutation.data);
    free(pivots.data);
    free(a.data);
    release_all(outputs, 3);
    cbk_tensor_release(&x);
    return lu;
}

// ---- determinants -------------------------------------------------------------------------------

static struct matrices det_of(const struct matrix_case *c, struct test_side *side) {
    cbk_tensor *x = make_x(c, side), *out = NULL;
    run(c, side, CBK_OP_DET, NULL, 0, x, &out);
    struct matrices det = read_matrices(side->stream, out, 0);
    if (c->data == ZEROS || c->data == ZERO_COLUMN)
        for (int64_t i = 0; i < det.count; i++)
            assert_true(det.data[i] == (c->shape[c->rank - 1] == 0));
    cbk_tensor_release(&out);
    cbk_tensor_release(&x);
    return det;
}

/// Relative errors grow with the number of factors, and results may be out of range.
static void hold_dets_together(const struct matrix_case *c, const struct matrices *want,
                               const struct matrices *got) {
    const double n = (double)c->shape[c->rank - 1];
    const double limit = 256 * (n + 1) * test_unit_roundoff(c->dtype) + 2 * rounding_of(c->dtype);
    for (int64_t i = 0; i < want->count; i++) {
        if (want->data[i] == got->data[i]) continue;
        if (!(fabs(want->data[i] - got->data[i]) <= limit * fabs(want->data[i])))
            fail_msg("det[%lld] is %.17g, by the reference %.17g", (long long)i, got->data[i],
                     want->data[i]);
    }
}

// ---- QR -----------------------------------------------------------------------------------------

static double column_length(const struct matrices *x, int64_t number, int64_t column) {
    double length = 0;
    for (int64_t i = 0; i < x->rows; i++) length = hypot(length, *at(x, number, i, column));
    return length;
}

/// |x - Q R| in each column against its length, and |Q' Q - 1|.
static void check_qr(const struct matrix_case *c, const struct matrices *x,
                     const struct matrices *q, const struct matrices *r, int64_t number) {
    const double longest = (double)(x->rows > x->columns ? x->rows : x->columns);
    const double limit = (16 + 8 * longest) * test_unit_roundoff(c->dtype) +
                         4 * sqrt(longest) * rounding_of(c->dtype);
    for (int64_t j = 0; j < x->columns; j++) {
        const double length = column_length(x, number, j);
        for (int64_t i = 0; i < x->rows; i++) {
            double sum = 0;
            for (int64_t k = 0; k < q->columns; k++)
                sum += *at(q, number, i, k) * *at(r, number, k, j);
            if (!(fabs(sum - *at(x, number, i, j)) <=
                  limit * length + longest * smallest_of(c->dtype)))
                fail_msg("matrix %lld at %lld, %lld: Q R is %.17g, x %.17g", (long long)number,
                         (long long)i, (long long)j, sum, *at(x, number, i, j));
        }
        for (int64_t i = j + 1; i < r->rows; i++) assert_true(*at(r, number, i, j) == 0);
    }
    for (int64_t i = 0; i < q->columns; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0;
            for (int64_t k = 0; k < q->rows; k++)
                sum += *at(q, number, k, i) * *at(q, number, k, j);
            if (!(fabs(sum - (i == j)) <= limit))
                fail_msg("matrix %lld: columns %lld and %lld of Q have the product %.17g",
                         (long long)number, (long long)i, (long long)j, sum);
        }
}

static void qr_of(const struct matrix_case *c, struct test_side *side, uint32_t mode,
                  struct matrices out[2]) {
    const cbk_qr_params params = CBK_INIT(cbk_qr_params, .mode = mode);
    cbk_tensor *x = make_x(c, side), *outputs[2] = {NULL};
    run(c, side, CBK_OP_QR, &params, sizeof params, x, outputs);
    struct matrices a = read_matrices(side->stream, x, 2);
    for (int i = 0; i < 2; i++) out[i] = read_matrices(side->stream, outputs[i], 2);
    assert_int_equal(out[0].columns, mode ? a.rows : shorter(a.rows, a.columns));
    assert_int_equal(out[1].rows, out[0].columns);
    for (int64_t number = 0; number < a.count; number++) check_qr(c, &a, &out[0], &out[1], number);
    free(a.data);
    release_all(outputs, 2);
    cbk_tensor_release(&x);
}

// ---- running a case -----------------------------------------------------------------------------

static void run_lu(const struct matrix_case *c) {
    struct matrices want = lu_of(c, &test_pair.reference), got = lu_of(c, &test_pair.device);
    if (c->data == DOMINANT) hold_together(c, &want, &got, "lu");
    free(got.data);
    free(want.data);
}

static void run_det(const struct matrix_case *c) {
    struct matrices want = det_of(c, &test_pair.reference), got = det_of(c, &test_pair.device);
    if (c->data == DOMINANT) hold_dets_together(c, &want, &got);
    free(got.data);
    free(want.data);
}

static void run_qr(const struct matrix_case *c) {
    for (uint32_t mode = CBK_QR_REDUCED; mode <= CBK_QR_COMPLETE; mode++) {
        struct matrices want[2], got[2];
        qr_of(c, &test_pair.reference, mode, want);
        qr_of(c, &test_pair.device, mode, got);
        for (int i = 0; i < 2; i++) {
            // Columns of Q past the matrix's own are any that complete the others.
            const bool is_settled = mode == CBK_QR_REDUCED || got[0].rows <= got[1].columns;
            if (c->data == DOMINANT && is_settled)
                hold_together(c, &want[i], &got[i], i ? "r" : "q");
            free(got[i].data);
            free(want[i].data);
        }
    }
}

static void run_case(void **state) {
    const struct matrix_case *c = *state;
    if (cbk_supports_dtype(test_pair.device.device, c->dtype) == CBK_ERROR_UNSUPPORTED) skip();
    run_lu(c);
    run_qr(c);
    if (c->shape[c->rank - 2] == c->shape[c->rank - 1]) run_det(c);
}

// ---- results by hand ----------------------------------------------------------------------------

static cbk_tensor *matrix_of(int64_t count, int64_t rows, int64_t columns, const float *data) {
    const int64_t shape[3] = {count, rows, columns};
    cbk_tensor *x = NULL;
    assert_ok(cbk_tensor_from_data(test_pair.device.stream, CBK_DTYPE_F32, 3, shape, data,
                                   (uint64_t)(count * rows * columns) * sizeof *data, &x));
    return x;
}

static void read_floats(const cbk_tensor *x, float *data, int64_t count) {
    assert_int_equal(cbk_tensor_element_count(x), count);
    assert_ok(cbk_tensor_read(test_pair.device.stream, x, data, (uint64_t)count * sizeof *data));
}

/// Products on the way are out of range, results are not.
static void determinants_stay_in_range(void **state) {
    (void)state;
    float data[3][4][4] = {{{0}}}, det[3];
    const float diagonals[3][4] = {
        {0x1p100f, 0x1p100f, 0x1p-100f, 0x1p-99f}, {0x1p-90f, 0x1p-90f, 0x1p-90f, 1}, {2, 3, 5, 7}};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 4; i++) data[k][i][i] = diagonals[k][i];
    cbk_tensor *x = matrix_of(3, 4, 4, &data[0][0][0]), *out = NULL;
    assert_ok(cbk_det(test_pair.device.stream, x, &out));
    read_floats(out, det, 3);
    assert_true(det[0] == 2 && det[1] == 0 && det[2] == 210);
    cbk_tensor_release(&out);
    cbk_tensor_release(&x);
}

/// The matrix with a NaN is one of three.
static void nan_stays_in_its_matrix(void **state) {
    (void)state;
    cbk_stream *stream = test_pair.device.stream;
    enum { N = 40, ALL = N * N };
    static float data[3][N][N], clean[3][N][N], got[ALL * 3];
    uint64_t seed = 5;
    test_fill(data, CBK_DTYPE_F32, 3 * ALL, TEST_MODERATE, 0, &seed);
    memcpy(clean, data, sizeof data);
    data[1][3][7] = NAN;
    cbk_tensor *x[2] = {matrix_of(3, N, N, &clean[0][0][0]), matrix_of(3, N, N, &data[0][0][0])};
    static float kept[4][3 * ALL];
    for (int k = 0; k < 2; k++) {
        cbk_tensor *outs[6] = {NULL};
        assert_ok(cbk_lu_factor(stream, x[k], NULL, &outs[0], &outs[4], &outs[5]));
        assert_ok(cbk_qr(stream, x[k], NULL, &outs[1], &outs[2]));
        assert_ok(cbk_det(stream, x[k], &outs[3]));
        for (int i = 0; i < 4; i++) {
            const int64_t count = i == 3 ? 1 : ALL;
            int64_t nans = 0;
            read_floats(outs[i], k ? got : kept[i], 3 * count);
            if (k == 0) continue;
            assert_memory_equal(got, kept[i], (size_t)count * sizeof *got);
            assert_memory_equal(got + 2 * count, kept[i] + 2 * count, (size_t)count * sizeof *got);
            for (int64_t e = count; e < 2 * count; e++) nans += isnan(got[e]) != 0;
            assert_true(nans > 0);
        }
        release_all(outs, 6);
        cbk_tensor_release(&x[k]);
    }
}

/// The greatest element is the pivot, the first of several.
static void pivots_are_the_first_greatest(void **state) {
    (void)state;
    cbk_stream *stream = test_pair.device.stream;
    const float data[3][3] = {{1, 2, 3}, {-4, 1, 1}, {4, 8, 2}};
    const cbk_lu_params params = CBK_INIT(cbk_lu_params, .out_dtype = CBK_DTYPE_U8);
    cbk_tensor *x = matrix_of(1, 3, 3, &data[0][0]), *lu = NULL, *pivots = NULL, *order = NULL;
    uint8_t got[3];
    float factors[9];
    const float want[9] = {-4, 1, 1, -1, 9, 3, -0.25f, 0.25f, 2.5f};
    assert_ok(cbk_lu_factor(stream, x, &params, &lu, &pivots, &order));
    assert_ok(cbk_tensor_read(stream, pivots, got, sizeof got));
    assert_memory_equal(got, ((const uint8_t[]){1, 2, 2}), 3);
    assert_ok(cbk_tensor_read(stream, order, got, sizeof got));
    assert_memory_equal(got, ((const uint8_t[]){1, 2, 0}), 3);
    read_floats(lu, factors, 9);
    for (int i = 0; i < 9; i++) assert_true(fabsf(factors[i] - want[i]) < 1e-6f);
    cbk_tensor_release(&order);
    cbk_tensor_release(&pivots);
    cbk_tensor_release(&lu);
    cbk_tensor_release(&x);
}

/// x = P L U with the matrices that cbk_lu gives.
static void lu_takes_factors_apart(void **state) {
    (void)state;
    static const int64_t shapes[][4] = {{2, 3, 5, 5}, {1, 2, 7, 40}, {2, 1, 40, 7}, {1, 2, 3, 0}};
    cbk_stream *stream = test_pair.device.stream;
    for (int s = 0; s < 4; s++) {
        struct matrix_case c = {.dtype = CBK_DTYPE_F32, .rank = 4};
        memcpy(c.shape, shapes[s], sizeof c.shape);
        snprintf(c.name, sizeof c.name, "apart %d", s);
        cbk_tensor *x = make_x(&c, &test_pair.device), *factors[3] = {NULL}, *lower = NULL,
                   *product = NULL;
        assert_ok(cbk_lu(stream, x, &factors[0], &factors[1], &factors[2]));
        assert_ok(cbk_matmul(stream, factors[0], factors[1], NULL, &lower));
        assert_ok(cbk_matmul(stream, lower, factors[2], NULL, &product));
        struct matrices want = read_matrices(stream, x, 2), got = read_matrices(stream, product, 2);
        struct matrices p = read_matrices(stream, factors[0], 2);
        assert_int_equal(got.rows, want.rows);
        assert_int_equal(got.columns, want.columns);
        hold_together(&c, &want, &got, "P L U");
        double ones = 0;
        for (int64_t i = 0; i < p.count * p.rows * p.columns; i++) ones += p.data[i];
        assert_true(p.rows == want.rows && ones == (double)(p.count * p.rows));
        free(p.data);
        free(got.data);
        free(want.data);
        cbk_tensor_release(&product);
        cbk_tensor_release(&lower);
        release_all(factors, 3);
        cbk_tensor_release(&x);
    }
}

static void wrong_calls_are_refused(void **state) {
    (void)state;
    cbk_stream *stream = test_pair.device.stream;
    const int64_t long_shape[2] = {300, 2}, length = 6;
    const float data[6] = {1, 2, 3, 4, 5, 6};
    cbk_tensor *x = matrix_of(1, 2, 3, data), *vector = NULL, *rows = NULL, *ints = NULL;
    cbk_tensor *outs[3] = {NULL};
    assert_ok(cbk_reshape(stream, x, 1, &length, &vector));
    assert_ok(cbk_zeros(stream, CBK_DTYPE_F32, 2, long_shape, &rows));
    assert_ok(cbk_zeros(stream, CBK_DTYPE_I32, 2, long_shape, &ints));
    const cbk_lu_params narrow = CBK_INIT(cbk_lu_params, .out_dtype = CBK_DTYPE_U8);
    const cbk_lu_params real = CBK_INIT(cbk_lu_params, .out_dtype = CBK_DTYPE_F32);
    const cbk_qr_params mode = CBK_INIT(cbk_qr_params, .mode = 2);
    assert_status(CBK_ERROR_SHAPE, cbk_det(stream, x, &outs[0]));
    assert_status(CBK_ERROR_SHAPE, cbk_det(stream, vector, &outs[0]));
    assert_status(CBK_ERROR_SHAPE, cbk_qr(stream, vector, NULL, &outs[0], &outs[1]));
    assert_status(CBK_ERROR_SHAPE,
                  cbk_lu_factor(stream, vector, NULL, &outs[0], &outs[1], &outs[2]));
    assert_status(CBK_ERROR_OVERFLOW,
                  cbk_lu_factor(stream, rows, &narrow, &outs[0], &outs[1], &outs[2]));
    assert_status(CBK_ERROR_DTYPE,
                  cbk_lu_factor(stream, rows, &real, &outs[0], &outs[1], &outs[2]));
    assert_status(CBK_ERROR_DTYPE, cbk_qr(stream, ints, NULL, &outs[0], &outs[1]));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_qr(stream, x, &mode, &outs[0], &outs[1]));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_qr(stream, x, NULL, &outs[0], NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_lu(stream, x, &outs[0], NULL, &outs[2]));
    assert_status(CBK_ERROR_DTYPE, cbk_lu(stream, ints, &outs[0], &outs[1], &outs[2]));
    for (int i = 0; i < 3; i++) assert_null(outs[i]);
    cbk_tensor_release(&ints);
    cbk_tensor_release(&rows);
    cbk_tensor_release(&vector);
    cbk_tensor_release(&x);
}

// ---- the list -----------------------------------------------------------------------------------

enum { MOST_CASES = 256 };
static struct matrix_case cases[MOST_CASES];
static int case_count;

static void add(cbk_dtype dtype, enum data data, enum test_view view, bool is_into, uint32_t rank,
                const int64_t *shape) {
    static const char *const names[] = {"random",      "dominant", "zeros", "rank one",
                                        "zero column", "tiny",     "huge"};
    assert_true(case_count < MOST_CASES);
    struct matrix_case *c = &cases[case_count++];
    *c = (struct matrix_case){
        .dtype = dtype, .rank = rank, .view = view, .data = data, .is_into = is_into};
    memcpy(c->shape, shape, rank * sizeof *shape);
    int length = snprintf(c->name, sizeof c->name, "%s %s %s%s", cbk_dtype_name(dtype), names[data],
                          test_view_names[view], is_into ? " into" : "");
    for (uint32_t i = 0; i < rank; i++)
        length += snprintf(c->name + length, sizeof c->name - (size_t)length, " %lld",
                           (long long)shape[i]);
}
#define ADD(dtype, data, view, is_into, ...)                                                       \
    add(dtype, data, view, is_into, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),            \
        (const int64_t[]){__VA_ARGS__})

static void add_cases(void) {
    static const cbk_dtype both[] = {CBK_DTYPE_F32, CBK_DTYPE_F64};
    for (int d = 0; d < 2; d++) {
        const cbk_dtype t = both[d];
        ADD(t, DOMINANT, TEST_CONTIGUOUS, false, 1, 1);
        ADD(t, RANDOM, TEST_OFFSET, false, 3, 2);
        ADD(t, DOMINANT, TEST_CONTIGUOUS, false, 9, 5, 5);
        ADD(t, DOMINANT, TEST_TRANSPOSED, true, 2, 3, 8, 8);
        ADD(t, DOMINANT, TEST_CONTIGUOUS, false, 32, 32);
        ADD(t, RANDOM, TEST_STEPPED, true, 2, 32, 32);
        ADD(t, RANDOM, TEST_CONTIGUOUS, false, 33, 33);
        ADD(t, DOMINANT, TEST_CONTIGUOUS, true, 70, 70);
        ADD(t, RANDOM, TEST_FLIPPED, false, 3, 70, 64);
        ADD(t, RANDOM, TEST_PERMUTED, false, 2, 40, 97);
        ADD(t, DOMINANT, TEST_CONTIGUOUS, false, 2, 97, 40);
        ADD(t, RANDOM, TEST_CONTIGUOUS, false, 4, 50);
        ADD(t, RANDOM, TEST_CONTIGUOUS, false, 170, 35);
        ADD(t, RANDOM, TEST_EXPANDED, false, 2, 20, 20);
        ADD(t, RANDOM, TEST_UNFOLDED, false, 2, 40, 36);
        ADD(t, ZEROS, TEST_CONTIGUOUS, false, 2, 34, 34);
        ADD(t, RANK_ONE, TEST_CONTIGUOUS, false, 40, 40);
        ADD(t, ZERO_COLUMN, TEST_CONTIGUOUS, false, 40, 40);
        ADD(t, TINY, TEST_CONTIGUOUS, false, 2, 36, 36);
        ADD(t, HUGE_ONES, TEST_CONTIGUOUS, false, 2, 36, 36);
        ADD(t, ZEROS, TEST_CONTIGUOUS, false, 0, 0);
        ADD(t, ZEROS, TEST_CONTIGUOUS, false, 3, 0, 0);
        ADD(t, ZEROS, TEST_CONTIGUOUS, true, 2, 5, 0);
        ADD(t, ZEROS, TEST_CONTIGUOUS, false, 2, 0, 5);
        ADD(t, ZEROS, TEST_CONTIGUOUS, false, 0, 4, 4);
    }
    ADD(CBK_DTYPE_F32, DOMINANT, TEST_CONTIGUOUS, false, 150, 150);
    ADD(CBK_DTYPE_F32, DOMINANT, TEST_CONTIGUOUS, false, 300, 8, 8);
    for (int d = 0; test_floats[d]; d++) {
        ADD(test_floats[d], RANDOM, TEST_BACKWARD, true, 2, 9, 7);
        ADD(test_floats[d], DOMINANT, TEST_CONTIGUOUS, false, 3, 6, 6);
        ADD(test_floats[d], RANDOM, TEST_TRANSPOSED, false, 40, 35);
    }
}

int main(void) {
    static struct CMUnitTest tests[MOST_CASES + 8];
    size_t count = 0;
    add_cases();
    for (int i = 0; i < case_count; i++)
        if (test_is_wanted(cases[i].name))
            tests[count++] = (struct CMUnitTest){
                .name = cases[i].name, .test_func = run_case, .initial_state = &cases[i]};
    const struct CMUnitTest others[] = {
        cmocka_unit_test(determinants_stay_in_range), cmocka_unit_test(nan_stays_in_its_matrix),
        cmocka_unit_test(pivots_are_the_first_greatest), cmocka_unit_test(lu_takes_factors_apart),
        cmocka_unit_test(wrong_calls_are_refused)};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) tests[count++] = others[i];
    return _cmocka_run_group_tests("linalg", tests, count, test_pair_open, test_pair_close);
}
