#pragma OPENCL FP_CONTRACT OFF
// lu_gpu: one panel of LU with partial pivoting, for GPUs.
//
//           columns              A work-group factors the panel of one matrix in place: work-item
//        . . . . . . . .         (lane, row) has column `lane` of rows row, row + GROUPS, ...
//   row  u u . . . . . .         Step j takes the greatest element of column j from the diagonal
//    j   l u p x x x x x         down, swaps its row with row j, and takes multiples of row j from
//        l l x x x x x x         the rows below. Work-items look for the next pivot among what they
//        l l x x x x x x         store. Multipliers stay undivided until the end, for all lanes
//                                read them.
//
// Two barriers a step: before row j is swapped, and after. pivots[j] is the row within the matrix.
// Other columns are not touched: lu_columns does what is left to do there.
//
// Defines
//   GROUPS  rows of work-items: 4, 8 or 16
//   ROWS    room for that many rows in local memory; 0: the panel stays where it is
//   those of linalg.clh
#include "linalg.clh"

struct lu_args {
    struct matrices a; // panels
    struct matrices pivots; // of the panels
    int rows, columns; // of a panel; not more columns than rows
    int first, reserved; // the panel's first row within the matrix
};

#if ROWS
#define AT(i, c) tile[(i) * WIDTH + (c)]
#define FENCE CLK_LOCAL_MEM_FENCE
#else
#define AT(i, c) panel[(i) * args.a.line + (c)]
#define FENCE (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif

kernel __attribute__((reqd_work_group_size(WIDTH, GROUPS, 1))) void
lu_panel(global real *a, global int *pivots, const struct lu_args args) {
    local magnitude_t greatest[GROUPS];
    local int places[GROUPS];
    const int lane = (int)get_local_id(0), row = (int)get_local_id(1);
    const int rows = args.rows, columns = args.columns;
    const bool has_column = lane < columns;
    const long number = (long)get_group_id(0);
    global real *panel = MATRIX(a, args.a, number);
    pivots = MATRIX(pivots, args.pivots, number);
#if ROWS
    local real tile[ROWS * WIDTH];
    for (int i = row; has_column && i < rows; i += GROUPS)
        AT(i, lane) = panel[i * args.a.line + lane];
#endif

    magnitude_t best = 0;
    int place = rows;
    for (int i = row; lane == 0 && i < rows; i += GROUPS) {
        const magnitude_t key = MAGNITUDE(panel[i * args.a.line]);
        if (place == rows || key > best) best = key, place = i;
    }
    for (int j = 0; j < columns; j++) {
        if (lane == j) greatest[row] = best, places[row] = place;
        barrier(FENCE);
        int pivot = places[0];
        best = greatest[0];
        for (int g = 1; g < GROUPS; g++) {
            const magnitude_t key = greatest[g];
            const int other = places[g];
            const bool is_better = pivot == rows || key > best || (key == best && other < pivot);
            if (other < rows && is_better) best = key, pivot = other;
        }
        if (row == 0 && has_column && pivot != j) {
            const real element = AT(j, lane);
            AT(j, lane) = AT(pivot, lane);
            AT(pivot, lane) = element;
        }
        if (lane == 0 && row == 0) pivots[j] = args.first + pivot;
        barrier(FENCE);
        const struct divisor by = divisor_of(AT(j, j));
        best = 0;
        place = rows;
        if (has_column && lane > j) {
            const real above = AT(j, lane);
            for (int i = j + 1 + row; i < rows; i += GROUPS) {
                const real x = fma(-DIVIDED(AT(i, j), by), above, AT(i, lane));
                const magnitude_t key = MAGNITUDE(x);
                AT(i, lane) = x;
                if (place == rows || key > best) best = key, place = i;
            }
        }
    }
    barrier(FENCE);

    if (!has_column) return;
    const struct divisor by = divisor_of(AT(lane, lane));
    for (int i = row; i < rows; i += GROUPS) {
        const real x = AT(i, lane);
        if (i > lane)
            panel[i * args.a.line + lane] = DIVIDED(x, by);
        else if (ROWS)
            panel[i * args.a.line + lane] = x;
    }
}
