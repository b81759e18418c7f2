#pragma OPENCL FP_CONTRACT OFF
// lu: what follows the panels of an LU factorisation.
//
//   lu_columns      columns beside a panel: swaps their rows as the panel's were; behind the panel
//                   it also solves L U = A for the panel's rows, and leaves -U in `negated`, dense,
//                   for the product that brings the rows below up to date. A work-item has COLUMNS
//                   neighbouring columns of one matrix: those before the panel first
//   lu_permutation  where each row of L U was in the beginning: follows the swaps back
//   lu_determinant  the product of the diagonal, its exponent apart, so that it stays in range
//
// Defines
//   COLUMNS  1 on GPUs, where neighbours read side by side; 32 on CPUs
//   those of linalg.clh
#include "linalg.clh"

struct columns_args {
    struct matrices a; // whole
    struct matrices pivots, negated;
    int first; // the panel's first row and column
    int steps; // its columns
    int columns; // of a matrix
    int before, items, reserved; // work-items for columns before the panel, for all
    long count; // of matrices
};

static inline void swap_rows(global real *a, const struct columns_args *args,
                             global const int *pivots, int count) {
    for (int j = 0; j < args->steps; j++) {
        const int pivot = pivots[j];
        if (pivot == args->first + j) continue;
        global real *x = a + (args->first + j) * args->a.line, *y = a + pivot * args->a.line;
        for (int c = 0; c < count; c++) {
            const real element = x[c];
            x[c] = y[c];
            y[c] = element;
        }
    }
}

static inline void solve(global real *rows, global const real *lower, global real *negated,
                         const struct columns_args *args, int count) {
    real x[COLUMNS];
    for (int i = 0; i < args->steps; i++) {
        global real *row = rows + i * args->a.line;
        for (int c = 0; c < count; c++) x[c] = row[c];
        for (int k = 0; k < i; k++) {
            const real multiplier = lower[i * args->a.line + k];
            global const real *above = rows + k * args->a.line;
            for (int c = 0; c < count; c++) x[c] = fma(-multiplier, above[c], x[c]);
        }
        for (int c = 0; c < count; c++) row[c] = x[c];
        for (int c = 0; c < count; c++) negated[i * args->negated.line + c] = -x[c];
    }
}

kernel void lu_columns(global real *a, global const int *pivots, global real *negated,
                       const struct columns_args args) {
    const long number = (long)get_global_id(0) / args.items;
    const int item = (int)((long)get_global_id(0) - number * args.items);
    const int behind = args.first + args.steps;
    const bool is_before = item < args.before;
    const int column = is_before ? item * COLUMNS : behind + (item - args.before) * COLUMNS;
    const int count = min(COLUMNS, (is_before ? args.first : args.columns) - column);
    if (number >= args.count) return;
    a = MATRIX(a, args.a, number);
    swap_rows(a + column, &args, MATRIX(pivots, args.pivots, number), count);
    if (is_before) return;
    global real *rows = a + args.first * args.a.line;
    solve(rows + column, rows + args.first, MATRIX(negated, args.negated, number) + column - behind,
          &args, count);
}

struct result_args {
    struct matrices a;
    struct matrices pivots;
    long result; // offset
    long count; // of matrices
    int rows, steps;
};

kernel void lu_permutation(global const int *pivots, global int *permutation,
                           const struct result_args args) {
    const long number = (long)get_global_id(0) / args.rows;
    const int row = (int)((long)get_global_id(0) - number * args.rows);
    if (number >= args.count) return;
    pivots = MATRIX(pivots, args.pivots, number);
    int place = row;
    for (int j = args.steps; j-- > 0;) {
        const int pivot = pivots[j];
        place = place == j ? pivot : place == pivot ? j : place;
    }
    permutation[args.result + number * args.rows + row] = place;
}

kernel void lu_determinant(global const real *a, global const int *pivots, global real *result,
                           const struct result_args args) {
    const long number = (long)get_global_id(0);
    if (number >= args.count) return;
    a = MATRIX(a, args.a, number);
    pivots = MATRIX(pivots, args.pivots, number);
    real product = 1;
    long exponent = 0;
    for (int j = 0; j < args.steps; j++) {
        int of_element = 0, of_product = 0;
        const real element = frexp(a[j * args.a.line + j], &of_element);
        product = frexp(product * element, &of_product);
        if (product == 0 || isnan(product) || isinf(product)) of_element = of_product = 0;
        exponent += of_element + of_product;
        product = pivots[j] == j ? product : -product;
    }
    result[args.result + number] = ldexp(product, (int)clamp(exponent, -5000l, 5000l));
}
