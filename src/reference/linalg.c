// linalg.c: LU with partial pivoting, determinants, QR by Householder reflections, in double.

#include "reference.h"

#include <math.h>

/// A matrix in double, row by row.
struct matrix {
    int64_t rows, columns;
    double *data;
};

static double *at(const struct matrix *a, int64_t row, int64_t column) {
    return a->data + row * a->columns + column;
}

static int64_t shorter(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// ---- matrices of a tensor -----------------------------------------------------------------------

/// The matrices of a view, or its vectors: `inner` is how many elements each of them has.
struct batch {
    struct cbk_ref_view view;
    int64_t inner;
};

static struct batch batch_of(const cbk_tensor *tensor, uint32_t axes) {
    struct batch batch = {.view = cbk_ref_view_of(tensor), .inner = 1};
    for (uint32_t i = 0; i < axes; i++) batch.inner *= batch.view.shape[batch.view.rank - 1 - i];
    return batch;
}

static void load(const struct batch *x, int64_t number, struct matrix *a) {
    for (int64_t i = 0; i < x->inner; i++)
        a->data[i] = cbk_ref_get_float(x->view.data, x->view.dtype,
                                       cbk_ref_at(&x->view, number * x->inner + i));
}

/// Outputs of size zero have no storage, and nothing is put there.
static void put(const struct batch *out, int64_t number, int64_t i, double value) {
    cbk_ref_put_result(out->view.data, out->view.dtype,
                       cbk_ref_at(&out->view, number * out->inner + i), value);
}

static void put_row(const struct batch *out, int64_t number, int64_t i, int64_t row) {
    cbk_ref_put_int(out->view.data, out->view.dtype,
                    cbk_ref_at(&out->view, number * out->inner + i), row);
}

// ---- LU -----------------------------------------------------------------------------------------

/// NaN is greater than all else.
static bool is_greater(double a, double b) {
    return !isnan(b) && (isnan(a) || fabs(a) > fabs(b));
}

static int64_t find_pivot(const struct matrix *a, int64_t column) {
    int64_t pivot = column;
    for (int64_t i = column + 1; i < a->rows; i++)
        if (is_greater(*at(a, i, column), *at(a, pivot, column))) pivot = i;
    return pivot;
}

static void swap_rows(const struct matrix *a, int64_t i, int64_t k) {
    for (int64_t column = 0; column < a->columns; column++) {
        const double element = *at(a, i, column);
        *at(a, i, column) = *at(a, k, column);
        *at(a, k, column) = element;
    }
}

static void factor_lu(const struct matrix *a, int64_t *pivots) {
    for (int64_t j = 0; j < shorter(a->rows, a->columns); j++) {
        pivots[j] = find_pivot(a, j);
        swap_rows(a, j, pivots[j]);
        const double pivot = *at(a, j, j);
        for (int64_t i = j + 1; i < a->rows; i++) {
            const double multiplier = pivot != 0 ? *at(a, i, j) / pivot : 0;
            *at(a, i, j) = multiplier;
            for (int64_t c = j + 1; c < a->columns; c++) *at(a, i, c) -= multiplier * *at(a, j, c);
        }
    }
}

/// The product of the diagonal, with its exponent apart, so that it stays in range.
static double determinant(const struct matrix *a, const int64_t *pivots) {
    double product = 1;
    int64_t exponent = 0;
    for (int64_t j = 0; j < a->rows; j++) {
        int of_element = 0, of_product = 0;
        const double element = frexp(*at(a, j, j), &of_element);
        product = frexp(product * element, &of_product);
        exponent += of_element + of_product;
        if (pivots[j] != j) product = -product;
    }
    exponent = exponent < -5000 ? -5000 : exponent > 5000 ? 5000 : exponent;
    return ldexp(product, (int)exponent);
}

static void put_lu(const struct matrix *a, const int64_t *pivots, int64_t *permutation,
                   const struct batch outs[3], int64_t number) {
    const int64_t steps = shorter(a->rows, a->columns);
    for (int64_t i = 0; i < a->rows * a->columns; i++) put(&outs[0], number, i, a->data[i]);
    for (int64_t i = 0; i < a->rows; i++) permutation[i] = i;
    for (int64_t j = 0; j < steps; j++) {
        const int64_t row = permutation[j];
        permutation[j] = permutation[pivots[j]];
        permutation[pivots[j]] = row;
        put_row(&outs[1], number, j, pivots[j]);
    }
    for (int64_t i = 0; i < a->rows; i++) put_row(&outs[2], number, i, permutation[i]);
}

static cbk_status lu(struct cbk_ref *ref, const cbk_op *op) {
    const bool is_det = op->opcode == CBK_OP_DET;
    const cbk_tensor_meta *meta = cbk_tensor_metadata(op->inputs[0]);
    const struct batch x = batch_of(op->inputs[0], 2);
    struct batch outs[3] = {batch_of(op->outputs[0], is_det ? 0 : 2)};
    struct matrix a = {.rows = meta->shape[meta->rank - 2], .columns = meta->shape[meta->rank - 1]};
    const size_t size = (size_t)x.inner * sizeof *a.data;
    const size_t rows_size = (size_t)a.rows * sizeof(int64_t);
    int64_t *rows = cbk_ref_alloc(ref, 2 * rows_size + 1);
    a.data = cbk_ref_alloc(ref, size + 1);
    for (uint32_t i = 1; i < op->output_count; i++) outs[i] = batch_of(op->outputs[i], 1);
    int64_t matrices = 1;
    for (uint32_t i = 0; i + 2 < meta->rank; i++) matrices *= meta->shape[i];
    const bool has_memory = rows != NULL && a.data != NULL;
    for (int64_t number = 0; has_memory && number < matrices; number++) {
        load(&x, number, &a);
        factor_lu(&a, rows);
        if (is_det)
            put(&outs[0], number, 0, determinant(&a, rows));
        else
            put_lu(&a, rows, rows + a.rows, outs, number);
    }
    cbk_ref_free(ref, a.data, size + 1);
    cbk_ref_free(ref, rows, 2 * rows_size + 1);
    return has_memory ? CBK_OK
                      : cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no memory for a matrix");
}

// ---- QR -----------------------------------------------------------------------------------------

static double length_below(const struct matrix *a, int64_t row, int64_t column) {
    double length = 0;
    for (int64_t i = row; i < a->rows; i++) length = hypot(length, *at(a, i, column));
    return length;
}

/// H = 1 - tau v v' makes column j 0 below the diagonal; v[j] is 1, and v is 0 above. Returns tau.
static double find_reflection(const struct matrix *a, int64_t j, double *v) {
    const double alpha = *at(a, j, j), below = length_below(a, j + 1, j);
    const double beta = -copysign(hypot(alpha, below), alpha);
    v[j] = 1;
    for (int64_t i = j + 1; i < a->rows; i++) v[i] = below != 0 ? *at(a, i, j) / (alpha - beta) : 0;
    return below != 0 ? (beta - alpha) / beta : 0;
}

static void reflect(const struct matrix *a, int64_t j, const double *v, double tau) {
    for (int64_t c = 0; c < a->columns; c++) {
        double dot = 0;
        for (int64_t i = j; i < a->rows; i++) dot += v[i] * *at(a, i, c);
        for (int64_t i = j; i < a->rows; i++) *at(a, i, c) -= tau * dot * v[i];
    }
}

/// a becomes R, q becomes Q; v holds k vectors, then k numbers tau.
static void factor_qr(const struct matrix *a, const struct matrix *q, double *v) {
    const int64_t m = a->rows, k = shorter(m, a->columns);
    double *tau = v + k * m;
    for (int64_t j = 0; j < k; j++) {
        tau[j] = find_reflection(a, j, v + j * m);
        reflect(a, j, v + j * m, tau[j]);
    }
    for (int64_t i = 0; i < m; i++) {
        for (int64_t c = 0; c < a->columns && c < i; c++) *at(a, i, c) = 0;
        for (int64_t c = 0; c < q->columns; c++) *at(q, i, c) = i == c;
    }
    for (int64_t j = k; j-- > 0;) reflect(q, j, v + j * m, tau[j]);
}

static cbk_status qr(struct cbk_ref *ref, const cbk_op *op) {
    const cbk_tensor_meta *meta = cbk_tensor_metadata(op->inputs[0]);
    const struct batch x = batch_of(op->inputs[0], 2);
    const struct batch outs[2] = {batch_of(op->outputs[0], 2), batch_of(op->outputs[1], 2)};
    const int64_t m = meta->shape[meta->rank - 2], n = meta->shape[meta->rank - 1];
    struct matrix a = {.rows = m, .columns = n};
    struct matrix q = {.rows = m, .columns = outs[0].view.shape[meta->rank - 1]};
    const size_t count = (size_t)(m * n + m * q.columns + (m + 1) * shorter(m, n));
    const size_t size = count * sizeof(double) + 1;
    int64_t matrices = 1;
    for (uint32_t i = 0; i + 2 < meta->rank; i++) matrices *= meta->shape[i];
    double *memory = cbk_ref_alloc(ref, size);
    if (memory == NULL) return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no memory for a matrix");
    a.data = memory;
    q.data = memory + m * n;
    for (int64_t number = 0; number < matrices; number++) {
        load(&x, number, &a);
        factor_qr(&a, &q, q.data + m * q.columns);
        for (int64_t i = 0; i < outs[0].inner; i++) put(&outs[0], number, i, q.data[i]);
        for (int64_t i = 0; i < outs[1].inner; i++) put(&outs[1], number, i, a.data[i]);
    }
    cbk_ref_free(ref, memory, size);
    return CBK_OK;
}

cbk_status cbk_ref_linalg(struct cbk_ref_stream *stream, const cbk_op *op) {
    struct cbk_ref *ref = stream->device->ref;
    switch (op->opcode) {
    case CBK_OP_LU_FACTOR:
    case CBK_OP_DET:
        return lu(ref, op);
    case CBK_OP_QR:
        return qr(ref, op);
    default:
        return cbk_ref_unknown(op);
    }
}
