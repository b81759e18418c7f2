#pragma OPENCL FP_CONTRACT OFF
// qr_gpu: one panel of QR by Householder reflections, for GPUs.
//
// A work-group factors the panel of one matrix: work-item (lane, row) has column `lane` of the rows
// row, row + GROUPS, ... Step j multiplies column j below the diagonal with every column. That one
// pass gives the length of column j, so its reflection 1 - tau v v'; what the reflection takes from
// the columns behind it; and the products of v with the vectors before it, from which the next
// column of T follows: the product of all reflections is 1 - V T V'.
//
//   in    a     [rows, columns] the panel
//   out   a     R on and above the diagonal; what is below is of no use
//         v     V [rows, columns], dense: 1 on the diagonal, 0 above
//         t     -T [columns, columns], dense, 0 below the diagonal
//
// Columns are brought near 1 by powers of two, which V and T do not see and R is freed of at the
// end, so that squares stay in range. Columns of V are kept unscaled until then, as x of
// v = x inverse, for all lanes read them. Two barriers a step: after the pass, and after the updates;
// row j is stored past the second one, when nobody reads it.
//
// Defines
//   GROUPS  rows of work-items: 4, 8 or 16
//   ROWS    room for that many rows in local memory; 0: the panel is worked on in v
//   those of linalg.clh
#include "linalg.clh"

struct qr_args {
    struct matrices a, v, t; // panels
    int rows, columns; // of a panel; not more columns than rows
};

#if ROWS
#define AT(i, c) tile[(i) * WIDTH + (c)]
#define FENCE CLK_LOCAL_MEM_FENCE
#else
#define AT(i, c) v[(i) * args.v.line + (c)]
#define FENCE (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif

kernel __attribute__((reqd_work_group_size(WIDTH, GROUPS, 1))) void
qr_panel(global real *a, global real *v, global real *t, const struct qr_args args) {
    local real parts[GROUPS * WIDTH], products[WIDTH], factors[WIDTH * (WIDTH + 1)];
    const int lane = (int)get_local_id(0), row = (int)get_local_id(1);
    const int rows = args.rows, columns = args.columns;
    const bool has_column = lane < columns;
    const long number = (long)get_group_id(0);
    a = MATRIX(a, args.a, number);
    v = MATRIX(v, args.v, number);
    t = MATRIX(t, args.t, number);
#if ROWS
    local real tile[ROWS * WIDTH];
#endif

    real greatest = 0;
    for (int i = row; has_column && i < rows; i += GROUPS)
        greatest = fmax(greatest, fabs(a[i * args.a.line + lane]));
    parts[row * WIDTH + lane] = greatest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int g = 0; g < GROUPS; g++) greatest = fmax(greatest, parts[g * WIDTH + lane]);
    const int exponent = exponent_of(greatest);
    const real down = POWER_OF_TWO(-exponent), up = POWER_OF_TWO(exponent);
    for (int i = row; has_column && i < rows; i += GROUPS)
        AT(i, lane) = a[i * args.a.line + lane] * down;
    barrier(FENCE);

    real inverse = 0; // of this lane's column, once it is v
    for (int j = 0; j < columns; j++) {
        real sum = 0;
        for (int i = j + 1 + row; has_column && i < rows; i += GROUPS)
            sum = fma(AT(i, lane), AT(i, j), sum);
        parts[row * WIDTH + lane] = sum;
        barrier(FENCE);
        real below = 0;
        sum = 0;
        for (int g = 0; g < GROUPS; g++) {
            sum += parts[g * WIDTH + lane];
            below += parts[g * WIDTH + j];
        }
        const struct reflection h = reflection_of(AT(j, j), below);
        const real beside = has_column ? AT(j, lane) : (real)0;
        const real product = fma(h.inverse, sum, beside), taken = h.tau * product;
        if (row == 0) products[lane] = product * inverse;
        if (lane == j) inverse = h.inverse;
        for (int i = j + 1 + row; has_column && lane > j && i < rows; i += GROUPS)
            AT(i, lane) = fma(-taken, AT(i, j) * h.inverse, AT(i, lane));
        barrier(FENCE);
        if (row == 0 && has_column && lane >= j) AT(j, lane) = lane == j ? h.beta : beside - taken;
        if (row == GROUPS - 1 && lane <= j) {
            real entry = lane == j ? (real)-1 : (real)0;
            for (int c = lane; c < j; c++)
                entry = fma(factors[lane * (WIDTH + 1) + c], products[c], entry);
            factors[lane * (WIDTH + 1) + j] = -h.tau * entry;
        }
    }
    barrier(FENCE);

    for (int i = row; has_column && i < rows; i += GROUPS) {
        const real x = AT(i, lane);
        if (i <= lane) a[i * args.a.line + lane] = x * up;
        v[i * args.v.line + lane] = i > lane ? x * inverse : i == lane ? (real)1 : (real)0;
    }
    for (int i = row; has_column && i < columns; i += GROUPS)
        t[i * args.t.line + lane] = i > lane ? (real)0 : -factors[i * (WIDTH + 1) + lane];
}
