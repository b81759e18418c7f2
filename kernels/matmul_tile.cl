#pragma OPENCL FP_CONTRACT OFF
// matmul_tile: matrix products on any GPU: tiles in local memory, any strides, any dtype.
//
//   out[i, j] = sum over k of a[i, k] b[k, j]
//
// A work-group of LX x LY computes a tile of BM = LY TM rows and BN = LX TN columns of one output
// matrix; a work-item holds TM x TN sums, LY rows and LX columns apart:
//
//   for each BK steps of k:   a_tile [BK][BM], b_tile [BK][BN] through registers into local
//                             memory, the next ones on their way while these are multiplied
//
// Sums run over k in order. Groups walk the tiles 8 tile rows at a time, which keeps b in cache.
// Where the output has few tiles the host cuts k into `splits` of k_split steps: then the sums of
// each go to `partial`, [split][matrix][m][n], and add_splits adds them in order. Results go through
// the epilogue (matmul_epilogue.clh).
//
// Host guarantees: out does not overlap a or b; k may be 0.
//
// Defines
//   X, Y, ACC        see matmul_types.clh
//   LX, LY, TM, TN   as above
//   BK               divides LX LY; LX LY divides BM BK and BN BK
//   INDEX            int if all offsets within a matrix fit, else long
#include "matmul_epilogue.clh"

#define THREADS (LX * LY)
#define BM (LY * TM)
#define BN (LX * TN)
#define A_LOADS (BM * BK / THREADS)
#define B_LOADS (BN * BK / THREADS)

// Place of a tile element that work-item `t` moves in its i-th turn: line (row of a, column of b)
// and k, so that neighbours read along the axis that is contiguous.
static inline int line_of(int t, int i, bool k_is_fast, const int lines) {
    int e = t + i * THREADS;
    return k_is_fast ? e / BK : e % lines;
}
static inline int k_of(int t, int i, bool k_is_fast, const int lines) {
    int e = t + i * THREADS;
    return k_is_fast ? e % BK : e / lines;
}

// Element (line, k) of an operand, 0 outside. The address is always inside.
static inline acc_t fetch(global const STORAGE(X) *x, INDEX line, INDEX lines, INDEX k,
                          INDEX k_count, INDEX line_stride, INDEX k_stride) {
    INDEX inside_line = min(line, lines - 1), inside_k = min(k, k_count - 1);
    acc_t value = as_acc(LOAD(X, x, inside_line * line_stride + inside_k * k_stride));
    return line < lines && k < k_count ? value : 0;
}

kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
multiply(global const STORAGE(X) *a, long a_offset, global const STORAGE(X) *b, long b_offset,
         global STORAGE(Y) *out, long out_offset, global acc_t *partial, long partial_offset,
         long m, long n, long k, long a_row, long a_k, long b_k, long b_column, long out_row,
         long out_column, long splits, long k_split, batch_axes batch EPILOGUE_PARAMS) {
    local acc_t a_tile[BK][BM + 1], b_tile[BK][BN + 1];
    int t = (int)get_local_id(0), x = t % LX, y = t / LX;
    long down = (m + BM - 1) / BM, across = (n + BN - 1) / BN;
    long id = get_group_id(0), tile = id % (down * across), matrix = id / (down * across) / splits;
    long split = id / (down * across) % splits;
    long band = tile / (8 * across), band_rows = min(8L, down - band * 8);
    long i_first = (band * 8 + tile % (8 * across) % band_rows) * BM;
    long j_first = tile % (8 * across) / band_rows * BN;
    long k_first = split * k_split;

    a += a_offset + batch_offset(&batch, matrix, 0) + i_first * a_row + k_first * a_k;
    b += b_offset + batch_offset(&batch, matrix, 1) + j_first * b_column + k_first * b_k;
    INDEX rows = (INDEX)min(m - i_first, (long)BM), columns = (INDEX)min(n - j_first, (long)BN);
    INDEX steps = (INDEX)min(k - k_first, k_split);
    INDEX row_stride = (INDEX)a_row, a_step = (INDEX)a_k;
    INDEX column_stride = (INDEX)b_column, b_step = (INDEX)b_k;
    bool a_k_fast = a_k == 1, b_k_fast = b_k == 1;

    acc_t sum[TM][TN], a_next[A_LOADS], b_next[B_LOADS];
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++) sum[i][j] = 0;

    // Step 0 only fetches; each later step stores what was fetched, fetches ahead, and multiplies.
    for (INDEX done = -BK; done < steps; done += BK) {
        if (done >= 0) {
            for (int i = 0; i < A_LOADS; i++)
                a_tile[k_of(t, i, a_k_fast, BM)][line_of(t, i, a_k_fast, BM)] = a_next[i];
            for (int i = 0; i < B_LOADS; i++)
                b_tile[k_of(t, i, b_k_fast, BN)][line_of(t, i, b_k_fast, BN)] = b_next[i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        INDEX ahead = done + BK;
        if (ahead < steps) {
            for (int i = 0; i < A_LOADS; i++)
                a_next[i] = fetch(a, line_of(t, i, a_k_fast, BM), rows,
                                  ahead + k_of(t, i, a_k_fast, BM), steps, row_stride, a_step);
            for (int i = 0; i < B_LOADS; i++)
                b_next[i] = fetch(b, line_of(t, i, b_k_fast, BN), columns,
                                  ahead + k_of(t, i, b_k_fast, BN), steps, column_stride, b_step);
        }
        if (done >= 0)
            for (int kk = 0; kk < BK; kk++) {
                acc_t u[TM], v[TN];
                for (int i = 0; i < TM; i++) u[i] = a_tile[kk][y + i * LY];
                for (int j = 0; j < TN; j++) v[j] = b_tile[kk][x + j * LX];
                for (int i = 0; i < TM; i++)
                    for (int j = 0; j < TN; j++) sum[i][j] = multiply_add(u[i], v[j], sum[i][j]);
            }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    long matrices = get_num_groups(0) / (down * across) / splits;
    out += out_offset + batch_offset(&batch, matrix, 2) + i_first * out_row + j_first * out_column;
    partial += partial_offset + ((split * matrices + matrix) * m + i_first) * n + j_first;
    EPILOGUE_AT(matrix, i_first, j_first);
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++) {
            int row = y + i * LY, column = x + j * LX;
            if (row < rows && column < columns) {
                if (splits > 1)
                    partial[row * n + column] = sum[i][j];
                else
                    STORE(Y, out, row * out_row + column * out_column,
                          finish_sum(sum[i][j], &e, row, column));
            }
        }
}

// One element of the output per work-item.
kernel void add_splits(global const acc_t *partial, long partial_offset, global STORAGE(Y) *out,
                       long out_offset, long m, long n, long matrices, long splits, long out_row,
                       long out_column, batch_axes batch EPILOGUE_PARAMS) {
    long size = m * n * matrices, at = get_global_id(0);
    if (at < size) {
        acc_t sum = 0;
        for (long i = 0; i < splits; i++) sum += partial[partial_offset + i * size + at];
        long matrix = at / n / m, row = at / n % m, column = at % n;
        EPILOGUE_AT(matrix, 0, 0);
        out += out_offset + batch_offset(&batch, matrix, 2);
        STORE(Y, out, row * out_row + column * out_column, finish_sum(sum, &e, row, column));
    }
}
