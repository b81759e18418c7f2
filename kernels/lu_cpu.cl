#pragma OPENCL FP_CONTRACT OFF
// lu_cpu: one panel of LU with partial pivoting, for CPUs. A work-item factors the panel of one
// matrix, row below row: step j takes the greatest element of column j from the diagonal down,
// swaps its row with row j, and takes multiples of row j from the rows below, whose elements behind
// the diagonal are in private memory, a whole row of them. Otherwise as lu_gpu.cl. A panel of a
// wider matrix is factored in `work`, where its rows are neighbours.
//
// Defines: those of linalg.clh
#include "linalg.clh"

struct lu_args {
    struct matrices a; // panels
    struct matrices pivots; // of the panels
    int rows, columns; // of a panel; not more columns than rows
    int first, reserved; // the panel's first row within the matrix
};

static inline void swap_rows(global real *restrict x, global real *restrict y, int columns) {
    for (int c = 0; c < columns; c++) {
        const real element = x[c];
        x[c] = y[c];
        y[c] = element;
    }
}

static inline int find_pivot(global const real *panel, long line, int j, int rows) {
    magnitude_t best = MAGNITUDE(panel[j * line + j]);
    int pivot = j;
    for (int i = j + 1; i < rows; i++) {
        const magnitude_t key = MAGNITUDE(panel[i * line + j]);
        if (key > best) best = key, pivot = i;
    }
    return pivot;
}

// row -= multiplier * above, from column `first` on; `above` is 0 before it.
static inline void take_multiple(global real *row, const real *above, real multiplier, int first,
                                 int columns) {
    for (int c = first; c < columns; c++) row[c] = fma(-multiplier, above[c], row[c]);
}

static inline void factor(global real *panel, long line, global int *pivots, int rows,
                          const int columns, int first) {
    real above[WIDTH];
    for (int j = 0; j < columns; j++) {
        const int pivot = find_pivot(panel, line, j, rows);
        global real *diagonal = panel + j * line;
        if (pivot != j) swap_rows(diagonal, panel + pivot * line, columns);
        pivots[j] = first + pivot;
        for (int c = 0; c < columns; c++) above[c] = diagonal[c];
        const struct divisor by = divisor_of(above[j]);
        for (int i = j + 1; i < rows; i++) {
            global real *row = panel + i * line;
            const real multiplier = DIVIDED(row[j], by);
            row[j] = multiplier;
            take_multiple(row, above, multiplier, j + 1, columns);
        }
    }
}

static inline void copy_rows(global const real *from, long from_line, global real *to, long to_line,
                             int rows, int columns) {
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < columns; c++) to[i * to_line + c] = from[i * from_line + c];
}

kernel void lu_panel(global real *a, global int *pivots, const struct lu_args args,
                     global real *work, const long work_offset) {
    const long number = (long)get_global_id(0);
    global real *panel = MATRIX(a, args.a, number);
    pivots = MATRIX(pivots, args.pivots, number);
    if (args.a.line == args.columns) {
        factor(panel, args.a.line, pivots, args.rows, args.columns, args.first);
        return;
    }
    work += work_offset + number * args.rows * args.columns;
    copy_rows(panel, args.a.line, work, args.columns, args.rows, args.columns);
    factor(work, args.columns, pivots, args.rows, args.columns, args.first);
    copy_rows(work, args.columns, panel, args.a.line, args.rows, args.columns);
}
