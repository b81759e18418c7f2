#pragma OPENCL FP_CONTRACT OFF
// qr_cpu: one panel of QR by Householder reflections, for CPUs. A work-item factors the panel of
// one matrix in v, where its rows are neighbours; the steps and the results are those of qr_gpu.cl.
//
// Defines: those of linalg.clh
#include "linalg.clh"

struct qr_args {
    struct matrices a, v, t; // panels
    int rows, columns; // of a panel; not more columns than rows
};

struct state {
    real sums[WIDTH], products[WIDTH];
    real inverse[WIDTH]; // of the columns that are v
    int exponents[WIDTH];
    real factors[WIDTH][WIDTH]; // T
};

static inline void scale_down(global const real *a, long line, global real *v, int rows,
                              const int columns, struct state *s) {
    real *down = s->sums;
    for (int c = 0; c < columns; c++) down[c] = 0;
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < columns; c++) down[c] = fmax(down[c], fabs(a[i * line + c]));
    for (int c = 0; c < columns; c++) {
        s->exponents[c] = exponent_of(down[c]);
        down[c] = POWER_OF_TWO(-s->exponents[c]);
    }
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < columns; c++) v[i * columns + c] = a[i * line + c] * down[c];
}

// Products of column j with all columns, below the diagonal.
static inline void multiply(global const real *v, int j, int rows, const int columns, real *sums) {
    for (int c = 0; c < columns; c++) sums[c] = 0;
    for (int i = j + 1; i < rows; i++) {
        global const real *row = v + i * columns;
        const real x = row[j];
        for (int c = 0; c < columns; c++) sums[c] = fma(row[c], x, sums[c]);
    }
}

static inline void update(global real *v, int j, int rows, const int columns, real inverse,
                          const real *taken) {
    for (int i = j + 1; i < rows; i++) {
        global real *row = v + i * columns;
        const real x = row[j] * inverse;
        for (int c = j + 1; c < columns; c++) row[c] = fma(-taken[c], x, row[c]);
    }
}

static inline void add_factor(struct state *s, int j, real tau) {
    for (int r = 0; r <= j; r++) {
        real entry = r == j ? (real)-1 : (real)0;
        for (int c = r; c < j; c++) entry = fma(s->factors[r][c], s->products[c], entry);
        s->factors[r][j] = -tau * entry;
    }
}

static inline void reflect(global real *v, int rows, const int columns, struct state *s) {
    for (int j = 0; j < columns; j++) {
        global real *diagonal = v + j * columns;
        real *taken = s->sums;
        multiply(v, j, rows, columns, s->sums);
        const struct reflection h = reflection_of(diagonal[j], s->sums[j]);
        for (int c = 0; c < columns; c++) {
            const real product = fma(h.inverse, s->sums[c], diagonal[c]);
            taken[c] = h.tau * product;
            if (c < j) s->products[c] = product * s->inverse[c];
        }
        update(v, j, rows, columns, h.inverse, taken);
        for (int c = j + 1; c < columns; c++) diagonal[c] -= taken[c];
        diagonal[j] = h.beta;
        s->inverse[j] = h.inverse;
        add_factor(s, j, h.tau);
    }
}

static inline void put_results(global real *a, long line, global real *v, global real *t, int rows,
                               const int columns, const struct state *s) {
    for (int i = 0; i < columns; i++)
        for (int c = i; c < columns; c++)
            a[i * line + c] = v[i * columns + c] * POWER_OF_TWO(s->exponents[c]);
    for (int i = 0; i < columns; i++)
        for (int c = 0; c < columns; c++) {
            const real x = v[i * columns + c] * s->inverse[c];
            v[i * columns + c] = i > c ? x : i == c ? (real)1 : (real)0;
            t[i * columns + c] = i > c ? (real)0 : -s->factors[i][c];
        }
    for (int i = columns; i < rows; i++)
        for (int c = 0; c < columns; c++) v[i * columns + c] *= s->inverse[c];
}

static inline void factor(global real *a, long line, global real *v, global real *t, int rows,
                          const int columns) {
    struct state s;
    scale_down(a, line, v, rows, columns, &s);
    reflect(v, rows, columns, &s);
    put_results(a, line, v, t, rows, columns, &s);
}

kernel void qr_panel(global real *a, global real *v, global real *t, const struct qr_args args) {
    const long number = (long)get_global_id(0);
    a = MATRIX(a, args.a, number);
    v = MATRIX(v, args.v, number);
    t = MATRIX(t, args.t, number);
    if (args.columns == WIDTH) // loops of known length
        factor(a, args.a.line, v, t, args.rows, WIDTH);
    else
        factor(a, args.a.line, v, t, args.rows, args.columns);
}
