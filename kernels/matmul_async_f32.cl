#pragma OPENCL FP_CONTRACT OFF
// matmul_async_f32: f32 matrix products on GPUs that copy to local memory asynchronously.
//
//   out[i, j] = sum over k of a[i, k] b[k, j]
//
// A work-group of 256 computes a tile of BM x BN outputs; groups walk the tiles 8 tile rows at a
// time, which keeps b in the L2 cache. STAGES steps of BK are in flight:
//
//   stage:  a [BM][BK], chunks of 4 k exchanged by row so that reads do not collide; b [BK][BN]
//   warp:   32 x 64 outputs; work-item: 8 x 8, rows 4 and groups of 4 columns 32 apart
//
// A work-item reads a 4 k at a time and b row by row, one step ahead of the products; odd rows run
// through their columns backwards, which lets neighbouring products share a register read.
// Sums run over k in order. Edges are filled with zeros on the way into local memory.
// k may be cut into `splits` of k_split steps (a multiple of BK); the sums then go to `partial`,
// [split][matrix][m][n], and add_splits of matmul_tile adds them. Results go through the epilogue
// (matmul_epilogue.clh).
//
// Host guarantees: rows of a run along k, rows of b along n; their offsets, strides and batch
// strides are multiples of 4 elements; 0 < k_split < 2^31.
//
// Defines
//   X, Y, ACC   f32, the output's dtype, f32
//   BK          16 or 32
//   WHOLE       m, n and k_split are multiples of BM, BN and BK: there are no edges
//   NVIDIA      see nvidia_async.clh
#include "matmul_epilogue.clh"
#include "nvidia_async.clh"

#define BM 128
#define BN 128
#define STAGES 3
#define THREADS 256
#define CHUNKS (BK / 4)     // of 4 k in a row of a
#define A_FLOATS (BM * BK)
#define STAGE_FLOATS (A_FLOATS + BN * BK)
#define A_ROWS (THREADS / CHUNKS)    // copied in one turn
#define B_ROWS (THREADS / (BN / 4))
#define UNROLL _Pragma("unroll")

// Chunk c of row r lies at place c ^ exchange(r), which repeats every 8 rows.
#define exchange(r) (CHUNKS == 4 ? ((r) >> 1) & 3 : (r) & 7)

// What a work-item copies into a stage: a chunk of every A_ROWS-th row of a and of every B_ROWS-th
// row of b. Rows and columns are those of the tile that exist; `steps` of k are to come.
struct source {
    global const float *a, *b;
    uint lda, ldb;
    uint t;
    int rows, columns, steps;
};

// Starts the copies of one stage and moves on to the next. Beyond an edge nothing is read.
static inline void load_stage(local float *stage, struct source *from) {
    uint a_chunk = from->t % CHUNKS, a_row = from->t / CHUNKS;
    uint b_chunk = from->t % (BN / 4), b_row = from->t / (BN / 4);
#ifdef WHOLE
#define INSIDE(is_inside, bytes) 16
#define ROWS(from) BM
#define COLUMNS(from) BN
#else
#define ROWS(from) (from).rows
#define COLUMNS(from) (from).columns
#define INSIDE(is_inside, bytes) ((is_inside) ? (bytes) : 0)
    int a_bytes = clamp(from->steps - (int)a_chunk * 4, 0, 4) * 4;
    int b_bytes = clamp(from->columns - (int)b_chunk * 4, 0, 4) * 4;
#endif
    local float *a_to = stage + a_row * BK + ((a_chunk ^ exchange(a_row)) << 2);
    local float *b_to = stage + A_FLOATS + b_row * BN + b_chunk * 4;
    UNROLL
    for (int i = 0; i < BM / A_ROWS; i++)
        async_copy16(a_to + i * A_ROWS * BK, from->a + (ulong)(i * A_ROWS) * from->lda,
                     INSIDE((int)a_row + i * A_ROWS < from->rows, a_bytes));
    UNROLL
    for (int i = 0; i < BK / B_ROWS; i++)
        async_copy16(b_to + i * B_ROWS * BN, from->b + (ulong)(i * B_ROWS) * from->ldb,
                     INSIDE((int)b_row + i * B_ROWS < from->steps, b_bytes));
    from->a += BK;
    from->b += (ulong)BK * from->ldb;
    from->steps -= BK;
}

// Rows and columns of the tile that a work-item holds: row + 4 i, column + 32 (j / 4) + j % 4.
struct place {
    uint row, column;
    uint swap; // exchange(row); 4 rows on it is the other half's
};

static inline struct place place_of(uint t) {
    uint lane = t & 31, warp = warp_uniform(t >> 5);
    // Neighbouring lanes share addresses: two 16-byte reads of a warp take two cycles.
    uint row = (lane >> 4) * 2 | (lane & 1);
    return (struct place){warp % 4 * 32 + row, warp / 4 * 64 + ((lane >> 1) & 7) * 4,
                          exchange(row)};
}

static inline void load_a(float4 *a, local const float *from, uint swap, uint chunk, uint i) {
    uint place = chunk ^ swap ^ (i & 1 ? CHUNKS / 2 : 0);
    a[i] = *(local const float4 *)(from + 4 * i * BK + place * 4);
}

static inline void load_b(float *b, local const float *from) {
    float4 low = *(local const float4 *)from, high = *(local const float4 *)(from + 32);
    b[0] = low.x, b[1] = low.y, b[2] = low.z, b[3] = low.w;
    b[4] = high.x, b[5] = high.y, b[6] = high.z, b[7] = high.w;
}

static inline void add_products(float sum[8][8], const float4 *a, int e, const float *b) {
    UNROLL
    for (int i = 0; i < 8; i++) {
        float x = e == 0 ? a[i].x : e == 1 ? a[i].y : e == 2 ? a[i].z : a[i].w;
        UNROLL
        for (int jj = 0; jj < 8; jj++) {
            int j = i & 1 ? 7 - jj : jj;
            sum[i][j] = fma(x, b[j], sum[i][j]);
        }
    }
}

static inline void multiply_tile(local float *stages, struct source *from, struct place at,
                                 float sum[8][8]) {
    float4 x[2][8];
    float y[2][8];
    int left = (from->steps + BK - 1) / BK, write = 0, read = 0;
    for (; write < STAGES - 1; write++) {
        if (from->steps > 0) load_stage(stages + write * STAGE_FLOATS, from);
        async_commit();
    }
    async_wait(STAGES - 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    local const float *a_from = stages + at.row * BK, *b_from = stages + A_FLOATS + at.column;
    UNROLL
    for (int i = 0; i < 8; i++) load_a(x[0], a_from, at.swap, 0, i);
    load_b(y[0], b_from);
    for (; left > 0; left--) {
        UNROLL
        for (int q = 0; q < CHUNKS; q++) {
            if (q == CHUNKS - 1) {
                // The stage before this one has been read by all, the next one has landed.
                async_wait(STAGES - 3);
                barrier(CLK_LOCAL_MEM_FENCE);
                if (from->steps > 0) load_stage(stages + write * STAGE_FLOATS, from);
                async_commit();
                write = write == STAGES - 1 ? 0 : write + 1;
                read = read == STAGES - 1 ? 0 : read + 1;
                a_from = stages + read * STAGE_FLOATS + at.row * BK;
            }
            UNROLL
            for (int e = 0; e < 4; e++) {
                if (q == CHUNKS - 1 && e == 3)
                    b_from = stages + read * STAGE_FLOATS + A_FLOATS + at.column;
                load_b(y[(e + 1) & 1], b_from + (q * 4 + e + 1) % BK * BN);
                UNROLL
                for (int i = 2 * e; i < 2 * e + 2; i++)
                    load_a(x[(q + 1) & 1], a_from, at.swap, (q + 1) % CHUNKS, i);
                add_products(sum, x[q & 1], e, y[e & 1]);
            }
        }
    }
    async_wait(0);
}

// Four neighbours of row `row`, of which `count` are inside.
static inline void store_four(global float *to, bool is_aligned, int count, const float *sum) {
    if (is_aligned && count >= 4) {
        *(global float4 *)to = (float4)(sum[0], sum[1], sum[2], sum[3]);
    } else {
        UNROLL
        for (int c = 0; c < 4; c++)
            if (c < count) to[c] = sum[c];
    }
}

// Rows `pitch` apart; is_aligned: each begins at a multiple of 16 bytes.
static inline void store_rows(global float *to, long pitch, bool is_aligned, int rows, int columns,
                              struct place at, float sum[8][8]) {
    to += at.row * pitch + at.column;
    UNROLL
    for (int i = 0; i < 8; i++, to += 4 * pitch)
        if ((int)at.row + 4 * i < rows) {
            store_four(to, is_aligned, columns - (int)at.column, sum[i]);
            store_four(to + 32, is_aligned, columns - (int)at.column - 32, sum[i] + 4);
        }
}

static inline void store_strided(global STORAGE(Y) *to, long out_row, long out_column, int rows,
                                 int columns, struct place at, float sum[8][8]) {
    to += at.row * out_row + at.column * out_column;
    UNROLL
    for (int i = 0; i < 8; i++, to += 4 * out_row) {
        UNROLL
        for (int j = 0; j < 8; j++) {
            int column = (j & 4) * 8 + (j & 3);
            if ((int)at.row + 4 * i < rows && (int)at.column + column < columns)
                STORE(Y, to, column * out_column, sum[i][j]);
        }
    }
}

#ifdef EPILOGUE
static inline void finish_tile(float sum[8][8], const epilogue *e, int rows, int columns,
                               struct place at) {
    UNROLL
    for (int i = 0; i < 8; i++) {
        UNROLL
        for (int j = 0; j < 8; j++) {
            int row = (int)at.row + 4 * i, column = (int)at.column + (j & 4) * 8 + (j & 3);
            if (row < rows && column < columns)
                sum[i][j] = finish_sum(sum[i][j], e, row, column);
        }
    }
}
#endif

kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
multiply(global const float *a, long a_offset, global const float *b, long b_offset,
         global STORAGE(Y) *out, long out_offset, global float *partial, long partial_offset,
         long m, long n, long k, uint lda, uint ldb, long out_row, long out_column, long splits,
         long k_split, batch_axes batch EPILOGUE_PARAMS) {
    local float stages[STAGES * STAGE_FLOATS] __attribute__((aligned(128)));
    uint t = (uint)get_local_id(0);
    struct place at = place_of(t);
    long down = (m + BM - 1) / BM, across = (n + BN - 1) / BN, tiles = down * across;
    long id = get_group_id(0), tile = id % tiles, split = id / tiles % splits;
    long matrix = id / tiles / splits;
    long band = tile / (8 * across), band_rows = min(8L, down - band * 8);
    long i = (band * 8 + tile % (8 * across) % band_rows) * BM;
    long j = tile % (8 * across) / band_rows * BN, k_first = split * k_split;

    float sum[8][8];
    UNROLL
    for (int r = 0; r < 8; r++) {
        UNROLL
        for (int c = 0; c < 8; c++) sum[r][c] = 0;
    }
    struct source from = {
        .a = a + a_offset + batch_offset(&batch, matrix, 0) + (i + t / CHUNKS) * lda + k_first +
             t % CHUNKS * 4,
        .b = b + b_offset + batch_offset(&batch, matrix, 1) + (k_first + t / (BN / 4)) * ldb + j +
             t % (BN / 4) * 4,
        .lda = lda,
        .ldb = ldb,
        .t = t,
        .rows = (int)min(m - i, (long)BM),
        .columns = (int)min(n - j, (long)BN),
        .steps = (int)min(k - k_first, k_split),
    };
    long matrices = get_num_groups(0) / tiles / splits;
    long origin = splits > 1 ? partial_offset + ((split * matrices + matrix) * m + i) * n + j
                             : out_offset + batch_offset(&batch, matrix, 2) + i * out_row +
                                   j * out_column;
    multiply_tile(stages, &from, at, sum);
#ifdef EPILOGUE // and then there are no splits
    EPILOGUE_AT(matrix, i, j);
    finish_tile(sum, &e, ROWS(from), COLUMNS(from), at);
#endif
    if (splits > 1 || (OUT_IS_ACC && out_column == 1)) {
        long pitch = splits > 1 ? n : out_row;
        store_rows((splits > 1 ? partial : (global float *)out) + origin, pitch,
                   (pitch | origin) % 4 == 0, ROWS(from), COLUMNS(from), at, sum);
    } else {
        store_strided(out + origin, out_row, out_column, ROWS(from), COLUMNS(from), at, sum);
    }
}
