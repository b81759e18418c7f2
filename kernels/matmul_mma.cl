#pragma OPENCL FP_CONTRACT OFF
// matmul_mma: f16 and bf16 matrix products on the matrix units of NVIDIA GPUs, with f32 sums.
//
//   out[i, j] = sum over k of a[i, k] b[k, j]
//
// A work-group of 4 warps computes a tile of BM x BN outputs, each warp 64 x 64; groups walk the
// tiles 8 tile rows at a time. STAGES steps of BK are in flight:
//
//   stage:  a [BM][64 k], then b, either [BN][64 k] (B_ALONG_K) or two panels [64 k][64 n]; every
//           row is 128 bytes in 8 chunks, chunk c of row r at place c ^ (r & 7): no collisions
//   warp:   4 x 8 products of 16 x 8 x 16, fragments loaded one step of 16 k ahead
//
// Edges are filled with zeros on the way into local memory. k may be cut into `splits` of k_split
// steps (a multiple of BK); the sums then go to `partial`, [split][matrix][m][n], and add_splits of
// matmul_tile adds them. Results of an epilogue (matmul_epilogue.clh) go through local memory, so that
// its operands are read, and they are written, row by row.
//
// Host guarantees: rows of a run along k, rows of b along n (B_ALONG_K: its columns along k); their
// offsets, strides and batch strides are multiples of 8 elements; 0 < k_split < 2^31.
//
// Defines
//   X, Y, ACC   f16 or bf16, the output's dtype, f32
//   B_ALONG_K   b's columns are contiguous
//   NVIDIA      see nvidia_async.clh
#ifdef EPILOGUE
#define W 4
#define ALIGNED
#endif
#include "matmul_epilogue.clh"
#include "nvidia_async.clh"
#include "nvidia_mma.clh"

#define BM 128
#define BN 128
#define BK 64
#define STAGES 3
#define THREADS 128
#define A_BYTES (BM * BK * 2)
#define STAGE_BYTES (A_BYTES + BN * BK * 2)
#define UNROLL _Pragma("unroll")

// What a work-item copies: chunk by chunk of 8 elements, 8 of a and 8 of b for each stage.
struct source {
    global const ushort *a, *b;
    uint lda, ldb;
    uint t;
    int rows, columns, steps; // of the tile that exist; of k still to come
};

// 16 bytes of each 16th row of an operand whose rows run along k.
static inline void load_rows(local uchar *stage, global const ushort *from, uint pitch, uint t,
                             int rows, int steps) {
    uint chunk = t & 7, row = t >> 3;
    int bytes = clamp(steps - (int)chunk * 8, 0, 8) * 2;
    local uchar *to = stage + row * 128 + ((chunk ^ (row & 7)) << 4);
    UNROLL
    for (int i = 0; i < 8; i++)
        async_copy16(to + i * 2048, from + (ulong)(i * 16) * pitch,
                     (int)row + i * 16 < rows ? bytes : 0);
}

#ifndef B_ALONG_K
// 16 bytes of each 8th row of k.
static inline void load_columns(local uchar *stage, global const ushort *from, uint pitch, uint t,
                                int columns, int steps) {
    uint chunk = t & 15, row = t >> 4;
    int bytes = clamp(columns - (int)chunk * 8, 0, 8) * 2;
    local uchar *to = stage + (chunk >> 3) * 8192 + row * 128 + (((chunk & 7) ^ row) << 4);
    UNROLL
    for (int i = 0; i < 8; i++)
        async_copy16(to + i * 1024, from + (ulong)(i * 8) * pitch,
                     (int)row + i * 8 < steps ? bytes : 0);
}
#endif

// Starts the copies of one stage and moves on to the next.
static inline void load_stage(local uchar *stage, struct source *from) {
    load_rows(stage, from->a, from->lda, from->t, from->rows, from->steps);
#ifdef B_ALONG_K
    load_rows(stage + A_BYTES, from->b, from->ldb, from->t, from->columns, from->steps);
    from->b += BK;
#else
    load_columns(stage + A_BYTES, from->b, from->ldb, from->t, from->columns, from->steps);
    from->b += (ulong)BK * from->ldb;
#endif
    from->a += BK;
    from->steps -= BK;
}

// Where a lane's fragments are, from the start of a stage.
struct lane {
    uint a, a_chunk, a_swap, b, b_chunk, b_swap;
};

static inline struct lane lane_of(uint t, uint row, uint column) {
    uint lane = t & 31, a_row = row + (lane & 15);
    struct lane at = {a_row * 128, lane >> 4, a_row & 7, 0, 0, 0};
#ifdef B_ALONG_K
    uint b_row = column + (lane & 7) + ((lane >> 4) << 3);
    at.b = A_BYTES + b_row * 128, at.b_chunk = lane >> 3 & 1, at.b_swap = b_row & 7;
#else
    uint b_row = (lane & 7) + (lane >> 3 & 1) * 8;
    at.b = A_BYTES + column / 64 * 8192 + b_row * 128, at.b_chunk = lane >> 4;
    at.b_swap = b_row & 7;
#endif
    return at;
}

// Fragments for 16 steps of k, number kk of the stage at `address`.
static inline void load_step(uint a[4][4], uint b[4][4], uint address, const struct lane *at,
                             uint kk) {
    UNROLL
    for (int i = 0; i < 4; i++)
        load_fragments(a[i], address + at->a + i * 2048 +
                                 (((kk * 2 + at->a_chunk) ^ at->a_swap) << 4));
    UNROLL
    for (int j = 0; j < 4; j++)
#ifdef B_ALONG_K
        load_fragments(b[j], address + at->b + j * 2048 +
                                 (((kk * 2 + at->b_chunk) ^ at->b_swap) << 4));
#else
        load_fragments_transposed(b[j], address + at->b + kk * 2048 +
                                            (((j * 2 + at->b_chunk) ^ at->b_swap) << 4));
#endif
}

static inline void multiply_tile(local uchar *stages, struct source *from, const struct lane *at,
                                 float sum[4][8][4]) {
    uint a[2][4][4], b[2][4][4], write = 0, read = 0, base = local_address(stages);
    int left = (from->steps + BK - 1) / BK;
    for (; write < STAGES - 1; write++) {
        if (from->steps > 0) load_stage(stages + write * STAGE_BYTES, from);
        async_commit();
    }
    async_wait(STAGES - 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    load_step(a[0], b[0], base, at, 0);
    for (; left > 0; left--) {
        UNROLL
        for (int kk = 0; kk < 4; kk++) {
            if (kk < 3) {
                load_step(a[(kk + 1) & 1], b[(kk + 1) & 1], base + read * STAGE_BYTES, at, kk + 1);
            } else {
                // The next stage has landed. After the last one this reads what is not used.
                async_wait(STAGES - 2);
                barrier(CLK_LOCAL_MEM_FENCE);
                read = read == STAGES - 1 ? 0 : read + 1;
                load_step(a[0], b[0], base + read * STAGE_BYTES, at, 0);
            }
            if (kk == 0) { // into the stage that all have read since the last barrier
                if (from->steps > 0) load_stage(stages + write * STAGE_BYTES, from);
                async_commit();
                write = write == STAGES - 1 ? 0 : write + 1;
            }
            UNROLL
            for (int i = 0; i < 4; i++) {
                UNROLL
                for (int j = 0; j < 8; j++)
                    multiply_fragments(sum[i][j], a[kk & 1][i], &b[kk & 1][j >> 1][(j & 1) * 2]);
            }
        }
    }
    async_wait(0);
}

#ifdef EPILOGUE

#define PITCH (BN + 8)                    // of the rows of sums in local memory
#define ROWS_AT_ONCE (THREADS / (BN / W)) // a work-item has W columns of a row
#define LOADS 4                           // of each operand, on their way at a time

static inline bool runs_along_rows(global const STORAGE(Y) *x, long row, long column) {
    return column == 1 && row % W == 0 && (ulong)x % (W * sizeof(STORAGE(Y))) == 0;
}

// Do the operands allow vectors?
static inline bool is_plain(const epilogue *e) {
    bool plain = true;
#ifdef BIAS
    plain = plain && runs_along_rows(e->added[0], e->row[0], e->column[0]);
#endif
#ifdef RESIDUAL
    plain = plain && runs_along_rows(e->added[1], e->row[1], e->column[1]);
#endif
    return plain;
}

// Tells the second cache what will be read after the product.
static inline void announce_residual(const epilogue *e, int rows, int columns, uint t) {
#ifdef RESIDUAL
    global const STORAGE(Y) *row = e->added[1] + t * e->row[1];
    if ((int)t < rows && e->column[1] == 1)
        for (int c = 0; c < columns; c += 128 / sizeof(STORAGE(Y))) prefetch_second(row + c);
#endif
}

static inline void lay_out(local float *tile, uint row, uint column, float sum[4][8][4]) {
    UNROLL
    for (int i = 0; i < 4; i++) {
        UNROLL
        for (int j = 0; j < 8; j++) {
            UNROLL
            for (int c = 0; c < 4; c += 2)
                *(local float2 *)(tile + (row + i * 16 + c * 4) * PITCH + column + j * 8) =
                    (float2)(sum[i][j][c], sum[i][j][c + 1]);
        }
    }
}

static inline void finish_rows(local const float *tile, const epilogue *e, global STORAGE(Y) *out,
                               long out_row, uint t) {
    int column = (int)t % (BN / W) * W, first = (int)t / (BN / W);
    for (int row = first; row < BM; row += LOADS * ROWS_AT_ONCE) {
        result_t bias[LOADS], residual[LOADS];
        UNROLL
        for (int l = 0; l < LOADS; l++) {
            int r = row + l * ROWS_AT_ONCE;
            bias[l] = residual[l] = 0;
#ifdef BIAS
            bias[l] = LOADV(Y, e->added[0] + r * e->row[0], column);
#endif
#ifdef RESIDUAL
            residual[l] = LOADV(Y, e->added[1] + r * e->row[1], column);
#endif
        }
        UNROLL
        for (int l = 0; l < LOADS; l++) {
            int r = row + l * ROWS_AT_ONCE;
            accv sums = *(local const accv *)(tile + r * PITCH + column);
            STOREV(Y, out + r * out_row, column,
                   finish_result(as_outv(sums), bias[l], residual[l], e));
        }
    }
}

static inline void finish_elements(local const float *tile, const epilogue *e,
                                   global STORAGE(Y) *out, long out_row, long out_column, int rows,
                                   int columns, uint t) {
    for (int i = (int)t; i < rows * BN; i += THREADS) {
        int row = i / BN, column = i % BN;
        if (column < columns)
            STORE(Y, out, row * out_row + column * out_column,
                  finish_sum(tile[row * PITCH + column], e, row, column));
    }
}

#else

// Two neighbours at an even element.
#define store_two(Y, p, v) CAT(store_two_, Y)(p, v)
#define store_two_f16(p, v) vstorea_half2_rte((v), 0, (p))
#define store_two_bf16(p, v)                                                                       \
    (*(global uint *)(p) = encode_bf16((v).x) | (uint)encode_bf16((v).y) << 16)
#define store_two_f32(p, v) (*(global float2 *)(p) = (v))
#define store_two_f8e4m3(p, v) (STORE(f8e4m3, p, 0, (v).x), STORE(f8e4m3, p, 1, (v).y))
#define store_two_f8e5m2(p, v) (STORE(f8e5m2, p, 0, (v).x), STORE(f8e5m2, p, 1, (v).y))

#endif

kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
multiply(global const ushort *a, long a_offset, global const ushort *b, long b_offset,
         global STORAGE(Y) *out, long out_offset, global float *partial, long partial_offset,
         long m, long n, long k, uint lda, uint ldb, long out_row, long out_column, long splits,
         long k_split, batch_axes batch EPILOGUE_PARAMS) {
    local uchar stages[STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
    uint t = (uint)get_local_id(0), warp = warp_uniform(t >> 5), lane = t & 31;
    long down = (m + BM - 1) / BM, across = (n + BN - 1) / BN, tiles = down * across;
    long id = get_group_id(0), tile = id % tiles, split = id / tiles % splits;
    long matrix = id / tiles / splits, matrices = get_num_groups(0) / tiles / splits;
    long band = tile / (8 * across), band_rows = min(8L, down - band * 8);
    long i_first = (band * 8 + tile % (8 * across) % band_rows) * BM;
    long j_first = tile % (8 * across) / band_rows * BN, k_first = split * k_split;
    uint row = (warp & 1) * 64, column = (warp >> 1) * 64;
    struct lane at = lane_of(t, row, column);
    struct source from = {
        .a = a + a_offset + batch_offset(&batch, matrix, 0) + (i_first + (t >> 3)) * lda +
             k_first + (t & 7) * 8,
#ifdef B_ALONG_K
        .b = b + b_offset + batch_offset(&batch, matrix, 1) + (j_first + (t >> 3)) * ldb +
             k_first + (t & 7) * 8,
#else
        .b = b + b_offset + batch_offset(&batch, matrix, 1) + (k_first + (t >> 4)) * ldb +
             j_first + (t & 15) * 8,
#endif
        .lda = lda,
        .ldb = ldb,
        .t = t,
        .rows = (int)min(m - i_first, (long)BM),
        .columns = (int)min(n - j_first, (long)BN),
        .steps = (int)min(k - k_first, k_split),
    };
    float sum[4][8][4];
    UNROLL
    for (int i = 0; i < 4; i++) {
        UNROLL
        for (int j = 0; j < 8; j++) {
            UNROLL
            for (int c = 0; c < 4; c++) sum[i][j][c] = 0;
        }
    }
#ifdef EPILOGUE
    {
        EPILOGUE_AT(matrix, i_first, j_first);
        announce_residual(&e, from.rows, from.columns, t);
    }
#endif
    multiply_tile(stages, &from, &at, sum);

    row += lane >> 2, column += (lane & 3) * 2;
    out += out_offset + batch_offset(&batch, matrix, 2) + i_first * out_row + j_first * out_column;
#ifdef EPILOGUE // and then there are no splits
    local float *sums = (local float *)stages;
    EPILOGUE_AT(matrix, i_first, j_first);
    barrier(CLK_LOCAL_MEM_FENCE);
    lay_out(sums, row, column, sum);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (from.rows == BM && from.columns == BN && is_plain(&e) &&
        runs_along_rows(out, out_row, out_column))
        finish_rows(sums, &e, out, out_row, t);
    else
        finish_elements(sums, &e, out, out_row, out_column, from.rows, from.columns, t);
#else
    // A lane holds, of each 16 x 8, two neighbours in row lane / 4 and two in the row 8 below.
    bool is_even = out_column == 1 && (ulong)out % (2 * sizeof(*out)) == 0 && out_row % 2 == 0;
    partial += partial_offset + ((split * matrices + matrix) * m + i_first) * n + j_first;
    UNROLL
    for (int i = 0; i < 4; i++) {
        UNROLL
        for (int j = 0; j < 8; j++) {
            UNROLL
            for (int c = 0; c < 4; c += 2) {
                int r = (int)row + i * 16 + c * 4, q = (int)column + j * 8;
                float2 two = (float2)(sum[i][j][c], sum[i][j][c + 1]);
                if (r >= from.rows || q >= from.columns) continue;
                bool has_two = q + 1 < from.columns;
                if (splits > 1) {
                    partial[r * n + q] = two.x;
                    if (has_two) partial[r * n + q + 1] = two.y;
                } else if (is_even && has_two) {
                    store_two(Y, out + r * out_row + q, two);
                } else {
                    STORE(Y, out, r * out_row + q * out_column, two.x);
                    if (has_two) STORE(Y, out, r * out_row + (q + 1) * out_column, two.y);
                }
            }
        }
    }
#endif
}
