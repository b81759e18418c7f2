#pragma OPENCL FP_CONTRACT OFF
// matmul_rows: products of few rows on a GPU: what counts is to read b once, from all over the device.
//
//   out[i, j] = sum over k of a[i, k] b[k, j]
//
// A work-group takes MR rows and TN x W columns of one matrix: TN work-items side by side, the others
// on SLICES slices of k. A work-item holds MR x W sums, which the slices then add up in local memory,
// VALUES of each work-item at a time:
//
//   slice s reads steps s, s + SLICES ...   b along n:      row k of b, W columns at once
//                                           B_ALONG_K:      W steps of W columns and of MR rows
//   sums [THREADS][VALUES]  ->  totals [HELPERS][OUTPUTS]  ->  OUTPUTS results
//
// Where the output is small the host cuts k into `parts` of k_part steps: the totals go to `partial`,
// [part][matrix][m][n], and add_splits of matmul_tile adds them. The order of additions depends on
// the shape alone. Results go through the epilogue, whose operands are loaded first of all.
//
// Host guarantees: b's rows are contiguous (B_ALONG_K: its columns, and a's rows); k_part is a
// multiple of W; k > 0; fewer than 2^31 work-groups; out does not overlap a or b.
//
// Defines
//   X, Y, ACC   see matmul_types.clh
//   W           4
//   MR          rows: 4, 8 or 16
//   TN          work-items side by side: 1, 2, 4 or 8; 1 or 2 of 64
//   THREADS     64 or 256
//   B_ALONG_K   as above
//   ALIGNED     what is read W elements at a time is aligned to them
//   PARTS       k is cut
#include "matmul_epilogue.clh"

#define SLICES (THREADS / TN)
#define UNROLL _Pragma("unroll")
#define AHEAD 4 // steps whose loads are in flight

// 128 bytes of sums for each work-item.
#if IS_WORD(ACC) == 2 || IS_WORD(ACC) == 4
#define MOST_VALUES 16
#else
#define MOST_VALUES 32
#endif
#define VALUES (MR * W < MOST_VALUES ? MR * W : MOST_VALUES)
#define CHUNKS (MR * W / VALUES)
#define OUTPUTS (TN * VALUES)
#define HELPERS (THREADS / OUTPUTS)

#ifdef B_ALONG_K

// The sums of one slice; column(c) of b, row(i) of a: the last one again past the end.
static inline void add_steps(acc_t sum[MR][W], global const STORAGE(X) *a, long a_row, int rows,
                             global const STORAGE(X) *b, long b_column, long columns,
                             long k_count, int slice) {
    long even = k_count / W * W;
    for (long step = (long)slice * W; step < even; step += (long)SLICES * W) {
        acc_t x[MR][W], y[W][W];
        UNROLL
        for (int c = 0; c < W; c++)
            CAT(vstore, W)(as_accv(LOADV(X, b, min((long)c, columns - 1) * b_column + step)), 0,
                           y[c]);
        UNROLL
        for (int i = 0; i < MR; i++)
            CAT(vstore, W)(as_accv(LOADV(X, a, min(i, rows - 1) * a_row + step)), 0, x[i]);
        UNROLL
        for (int e = 0; e < W; e++) {
            UNROLL
            for (int i = 0; i < MR; i++) {
                UNROLL
                for (int c = 0; c < W; c++) sum[i][c] = multiply_add(x[i][e], y[c][e], sum[i][c]);
            }
        }
    }
    for (long step = even + slice; step < k_count; step += SLICES) {
        UNROLL
        for (int c = 0; c < W; c++) {
            acc_t y = as_acc(LOAD(X, b, min((long)c, columns - 1) * b_column + step));
            UNROLL
            for (int i = 0; i < MR; i++)
                sum[i][c] =
                    multiply_add(as_acc(LOAD(X, a, min(i, rows - 1) * a_row + step)), y, sum[i][c]);
        }
    }
}

#else

// W columns of a row of b, of which `columns` exist.
static inline accv load_row(global const STORAGE(X) *b, long columns) {
    if (columns >= W) return as_accv(LOADV(X, b, 0));
    acc_t lanes[W];
    for (int c = 0; c < W; c++) lanes[c] = as_acc(LOAD(X, b, min((long)c, columns - 1)));
    return CAT(vload, W)(0, lanes);
}

static inline void add_row(acc_t sum[MR][W], global const STORAGE(X) *a, long a_row, int rows,
                           accv row) {
    acc_t y[W];
    CAT(vstore, W)(row, 0, y);
    UNROLL
    for (int i = 0; i < MR; i++) {
        acc_t x = as_acc(LOAD(X, a, min(i, rows - 1) * a_row));
        UNROLL
        for (int c = 0; c < W; c++) sum[i][c] = multiply_add(x, y[c], sum[i][c]);
    }
}

static inline void add_steps(acc_t sum[MR][W], global const STORAGE(X) *a, long a_row, long a_k,
                             int rows, global const STORAGE(X) *b, long b_k, long columns,
                             long k_count, int slice) {
    long step = slice;
    for (; step + (AHEAD - 1) * SLICES < k_count; step += AHEAD * SLICES) {
        accv y[AHEAD];
        UNROLL
        for (int r = 0; r < AHEAD; r++) y[r] = load_row(b + (step + r * SLICES) * b_k, columns);
        UNROLL
        for (int r = 0; r < AHEAD; r++)
            add_row(sum, a + (step + r * SLICES) * a_k, a_row, rows, y[r]);
    }
    for (; step < k_count; step += SLICES)
        add_row(sum, a + step * a_k, a_row, rows, load_row(b + step * b_k, columns));
}

#endif

// Passed by value: src/opencl/ops/matmul_rows.c has the same struct.
typedef struct {
    long a_offset, b_offset, out_offset, partial_offset;
    long m, n, k, parts, k_part;
    long a_row, a_k, b_stride, out_row, out_column;
    batch_axes batch;
} rows_args;

kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
multiply(global const STORAGE(X) *a, global const STORAGE(X) *b, global STORAGE(Y) *out,
#ifdef PARTS
         global acc_t *partial,
#endif
         rows_args args EPILOGUE_PARAMS) {
    const batch_axes batch = args.batch;
    const long m = args.m, n = args.n, k = args.k, parts = args.parts, k_part = args.k_part;
    const long a_row = args.a_row, a_k = args.a_k, b_stride = args.b_stride;
    const long out_row = args.out_row, out_column = args.out_column;
    local acc_t sums[THREADS][VALUES + 1], totals[THREADS];
    int t = (int)get_local_id(0), slice = t / TN;
    // In 32 bits: divisions by what is not known are slow in 64.
    uint across = (uint)((n + TN * W - 1) / (TN * W)), down = (uint)((m + MR - 1) / MR);
    uint id = (uint)get_group_id(0), block = id / across, piece = block / down;
    long j_first = (long)(id - block * across) * (TN * W), i_first = (block - piece * down) * MR;
    uint matrix = piece / (uint)parts, part = piece - matrix * (uint)parts;
    long matrices = get_num_groups(0) / (across * down * (uint)parts);
    long j = j_first + t % TN * W, columns = n - j, k_first = part * k_part;
    long k_count = min(k_part, k - k_first);
    int rows = (int)min((long)MR, m - i_first);

    // The place of this work-item's results: value `place` of each chunk.
    int place = t % VALUES, helper = t / OUTPUTS;
    int column = t % OUTPUTS / VALUES * W + place % W;
    bool is_output = t < OUTPUTS && j_first + column < n;
    EPILOGUE_AT(matrix, i_first, j_first);
    added_t added[CHUNKS];
    UNROLL
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        int row = (chunk * VALUES + place) / W;
        if (is_output && row < rows) added[chunk] = added_at(&e, row, column);
    }

    acc_t sum[MR][W];
    UNROLL
    for (int i = 0; i < MR; i++) {
        UNROLL
        for (int c = 0; c < W; c++) sum[i][c] = 0;
    }
    a += args.a_offset + batch_offset(&batch, matrix, 0) + i_first * a_row + k_first * a_k;
    b += args.b_offset + batch_offset(&batch, matrix, 1);
#ifdef B_ALONG_K
    if (columns > 0)
        add_steps(sum, a, a_row, rows, b + j * b_stride + k_first, b_stride, columns, k_count,
                  slice);
#else
    if (columns > 0)
        add_steps(sum, a, a_row, a_k, rows, b + j + k_first * b_stride, b_stride, columns, k_count,
                  slice);
#endif

    out += args.out_offset + batch_offset(&batch, matrix, 2) + i_first * out_row +
           j_first * out_column;
#ifdef PARTS
    partial += args.partial_offset + ((part * matrices + matrix) * m + i_first) * n + j_first;
#endif
    UNROLL
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        UNROLL
        for (int v = 0; v < VALUES; v++)
            sums[t][v] = sum[(chunk * VALUES + v) / W][(chunk * VALUES + v) % W];
        barrier(CLK_LOCAL_MEM_FENCE);
        acc_t total = 0;
        UNROLL
        for (int s = 0; s < SLICES / HELPERS; s++)
            total += sums[(helper * (SLICES / HELPERS) + s) * TN + t % OUTPUTS / VALUES][place];
        totals[t] = total;
        barrier(CLK_LOCAL_MEM_FENCE);
        int row = (chunk * VALUES + place) / W;
        if (is_output && row < rows) {
            for (int h = 1; h < HELPERS; h++) total += totals[h * OUTPUTS + t];
#ifdef PARTS
            partial[row * n + column] = total;
#else
            STORE(Y, out, row * out_row + column * out_column,
                  finish_added(total, added[chunk], &e));
#endif
        }
    }
}
