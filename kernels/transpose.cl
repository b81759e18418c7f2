#pragma OPENCL FP_CONTRACT OFF
// transpose.cl: destination[b][c][r] = source[b][r][c] for matrices whose innermost axes differ: c
// is contiguous in the source, r in the destination. Elements are moved as unsigned integers.
//
//   source       row r at r * source_pitch:      c ->
//   destination  row c at c * destination_pitch: r ->
//
// CPU form, one work-item (local size 1) per run of tiles:
//   transpose_blocks  a tile is 32 rows of 256 bytes, moved by lines of 64 bytes of each row: words
//                     in squares in registers, others one by one. What is written are runs of 32
//                     elements, from a private buffer or, words past the caches, from registers.
//                     Those tiles go along the rows (strip = 1): the source is read in 32 streams,
//                     and each line once, for pitches are often powers of two and few lines of a
//                     column then fit in the caches. Else 16 tiles below each other come first, so
//                     that the lines they share are still in the caches
// GPU form, one work-group per tile; tiles are numbered down the source's rows, so that
// neighbouring groups write neighbouring places:
//   transpose_vector  tiles of 64 x 64 elements of 4 bytes in 4 x 4 blocks turned in registers;
//                     local memory holds quads [column][row quad ^ (column / 4)], free of bank
//                     conflicts. Lengths, pitches and offsets are multiples of 4
//   transpose_tile    tiles of 32 x 32 elements through padded local memory; anything
//
// Defines
//   T         element type: uchar, ushort, uint, ulong
//   W         CPU: lanes of a vector of T, a divisor of 32
//   GPU_FORM  GPU form

#ifndef T
#error "transpose.cl needs T"
#endif

#include "cache.clh"

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

struct plan {
    long rows, columns;
    long source_pitch, destination_pitch;
    long source_offset, destination_offset;
    long batch_shape[6]; // outermost first
    long source_strides[6], destination_strides[6];
    long tiles, tiles_per_item; // CPU form
    long strip;                 // CPU form: tiles below each other before the next column of tiles
    int batch_rank;
    int stream; // CPU form: stores should bypass the caches
};

static inline void find_batch(const struct plan *p, long batch, long *source_at,
                              long *destination_at) {
    *source_at = p->source_offset;
    *destination_at = p->destination_offset;
#pragma unroll
    for (int axis = 5; axis >= 0; axis--) {
        if (axis >= p->batch_rank) continue;
        long coordinate = batch % p->batch_shape[axis];
        batch /= p->batch_shape[axis];
        *source_at += coordinate * p->source_strides[axis];
        *destination_at += coordinate * p->destination_strides[axis];
    }
}

#ifndef GPU_FORM
// ---- CPU form -----------------------------------------------------------------------------------

#define TILE_ROWS 32
#define TILE_BYTES 256
#define TILE_COLUMNS (TILE_BYTES / (int)sizeof(T))
#define LINE_COLUMNS (LINE_BYTES / (int)sizeof(T))
#define FETCH_AHEAD (16 * LINE_COLUMNS)
typedef CAT(T, W) vector_t;

// Whether lines can be stored past the caches at any multiple of the pitch.
static inline bool is_aligned(global const T *destination, long pitch) {
    return (((ulong)destination | (ulong)pitch * sizeof(T)) & (LINE_BYTES - 1)) == 0;
}

// Whether a line of each row is squares of words.
static inline bool is_words(int rows, int columns) {
    return sizeof(T) == 4 && rows == TILE_ROWS && columns == LINE_COLUMNS;
}

// How squares of words are turned: the interleaved low and high halves of each 128 bits of two
// vectors, first by words and then by pairs, as CPUs have them; then 128 bits as wholes.
#if W == 16
#define SQUARE 16
#define LOW_WORDS(a, b)                                                                            \
    (uint16)(a.s0, b.s0, a.s1, b.s1, a.s4, b.s4, a.s5, b.s5, a.s8, b.s8, a.s9, b.s9, a.sc, b.sc,   \
             a.sd, b.sd)
#define HIGH_WORDS(a, b)                                                                           \
    (uint16)(a.s2, b.s2, a.s3, b.s3, a.s6, b.s6, a.s7, b.s7, a.sa, b.sa, a.sb, b.sb, a.se, b.se,   \
             a.sf, b.sf)
#define LOW_PAIRS(a, b) (uint16)(a.s01, b.s01, a.s45, b.s45, a.s89, b.s89, a.scd, b.scd)
#define HIGH_PAIRS(a, b) (uint16)(a.s23, b.s23, a.s67, b.s67, a.sab, b.sab, a.sef, b.sef)
#define EVEN_QUARTERS(a, b) (uint16)(a.s0123, a.s89ab, b.s0123, b.s89ab)
#define ODD_QUARTERS(a, b) (uint16)(a.s4567, a.scdef, b.s4567, b.scdef)
typedef uint16 words_t;
#else
#define SQUARE 8
#define LOW_WORDS(a, b) (uint8)(a.s0, b.s0, a.s1, b.s1, a.s4, b.s4, a.s5, b.s5)
#define HIGH_WORDS(a, b) (uint8)(a.s2, b.s2, a.s3, b.s3, a.s6, b.s6, a.s7, b.s7)
#define LOW_PAIRS(a, b) (uint8)(a.s01, b.s01, a.s45, b.s45)
#define HIGH_PAIRS(a, b) (uint8)(a.s23, b.s23, a.s67, b.s67)
typedef uint8 words_t;
#endif

// Keeps the compiler from making fewer but costlier shuffles of what comes before and behind.
#if HAS_CPU_ACCESS && defined(__x86_64__)
#define HOLD(v) __asm__("" : "+v"(v))
#else
#define HOLD(v)
#endif

// Turns SQUARE rows of as many words.
static inline void turn_words(global const uint *source, long pitch, words_t *turned) {
    words_t row[SQUARE], part[SQUARE];
#pragma unroll
    for (int i = 0; i < SQUARE; i++) row[i] = CAT(vload, SQUARE)(0, source + i * pitch);
#pragma unroll
    for (int i = 0; i < SQUARE; i += 2) {
        part[i] = LOW_WORDS(row[i], row[i + 1]);
        part[i + 1] = HIGH_WORDS(row[i], row[i + 1]);
    }
    // row[4 g + k]: word k of each 128 bits, from the rows 4 g to 4 g + 3
#pragma unroll
    for (int i = 0; i < SQUARE; i += 4) {
        row[i] = LOW_PAIRS(part[i], part[i + 2]);
        row[i + 1] = HIGH_PAIRS(part[i], part[i + 2]);
        row[i + 2] = LOW_PAIRS(part[i + 1], part[i + 3]);
        row[i + 3] = HIGH_PAIRS(part[i + 1], part[i + 3]);
    }
#pragma unroll
    for (int i = 0; i < SQUARE; i++) HOLD(row[i]);
#pragma unroll
    for (int k = 0; k < 4; k++) {
#if SQUARE == 16
        words_t even = EVEN_QUARTERS(row[k], row[k + 4]);
        words_t odd = ODD_QUARTERS(row[k], row[k + 4]);
        words_t more_even = EVEN_QUARTERS(row[k + 8], row[k + 12]);
        words_t more_odd = ODD_QUARTERS(row[k + 8], row[k + 12]);
        HOLD(even);
        HOLD(odd);
        HOLD(more_even);
        HOLD(more_odd);
        turned[k] = EVEN_QUARTERS(even, more_even);
        turned[k + 4] = EVEN_QUARTERS(odd, more_odd);
        turned[k + 8] = ODD_QUARTERS(even, more_even);
        turned[k + 12] = ODD_QUARTERS(odd, more_odd);
#else
        turned[k] = (uint8)(row[k].lo, row[k + 4].lo);
        turned[k + 4] = (uint8)(row[k].hi, row[k + 4].hi);
#endif
    }
}

// A line of each row of words, past the caches.
static inline void stream_words(global const uint *source, long source_pitch, global uint *out,
                                long out_pitch) {
    for (int r = 0; r < TILE_ROWS; r++) FETCH_LINE(source + r * source_pitch + FETCH_AHEAD);
    for (int c = 0; c < LINE_BYTES / 4; c += SQUARE) {
        for (int r = 0; r < TILE_ROWS; r += SQUARE) {
            words_t turned[SQUARE];
            turn_words(source + r * source_pitch + c, source_pitch, turned);
#pragma unroll
            for (int i = 0; i < SQUARE; i++)
                STREAM(turned[i], (global words_t *)(out + (c + i) * out_pitch + r));
        }
    }
}

// Up to a line of each row, to runs of TILE_ROWS in a buffer.
static inline void read_lines(global const T *source, long pitch, int rows, int columns,
                              T *buffer) {
    if (!is_words(rows, columns)) {
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++) buffer[c * TILE_ROWS + r] = source[r * pitch + c];
        return;
    }
    for (int r = 0; r < TILE_ROWS; r++) FETCH_LINE(source + r * pitch + 2 * LINE_COLUMNS);
    for (int c = 0; c < LINE_BYTES / 4; c += SQUARE) {
        for (int r = 0; r < TILE_ROWS; r += SQUARE) {
            words_t turned[SQUARE];
            turn_words((global const uint *)source + r * pitch + c, pitch, turned);
#pragma unroll
            for (int i = 0; i < SQUARE; i++)
                CAT(vstore, SQUARE)(turned[i], 0, (uint *)buffer + (c + i) * TILE_ROWS + r);
        }
    }
}

static inline void write_runs(const T *buffer, global T *destination, long pitch, int rows,
                              int columns, bool stream) {
    for (int c = 0; c < columns; c++) {
        global T *to = destination + c * pitch;
        const T *from = buffer + c * TILE_ROWS;
        if (rows < TILE_ROWS) {
            for (int r = 0; r < rows; r++) to[r] = from[r];
        } else if (stream) {
            for (int r = 0; r < TILE_ROWS; r += W)
                STREAM(CAT(vload, W)(0, from + r), (global vector_t *)(to + r));
        } else {
            for (int r = 0; r < TILE_ROWS; r += W)
                CAT(vstore, W)(CAT(vload, W)(0, from + r), 0, to + r);
        }
    }
}

kernel void transpose_blocks(global T *destination, global const T *source, const struct plan p) {
    T buffer[LINE_COLUMNS * TILE_ROWS];
    long tile_rows = (p.rows + TILE_ROWS - 1) / TILE_ROWS;
    long tile_columns = (p.columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
    long tile = (long)get_global_id(0) * p.tiles_per_item;
    long last = min(tile + p.tiles_per_item, p.tiles);
    for (; tile < last; tile++) {
        long source_at, destination_at;
        long batch = tile / (tile_rows * tile_columns), place = tile % (tile_rows * tile_columns);
        long first = place / (p.strip * tile_columns) * p.strip;
        long height = min(tile_rows - first, p.strip);
        place %= p.strip * tile_columns;
        long row = (first + place % height) * TILE_ROWS, column = place / height * TILE_COLUMNS;
        int rows = (int)min(p.rows - row, (long)TILE_ROWS);
        long end = min(column + TILE_COLUMNS, p.columns);
        find_batch(&p, batch, &source_at, &destination_at);
        source_at += row * p.source_pitch, destination_at += row;
        for (; column < end; column += LINE_COLUMNS) {
            int columns = (int)min(end - column, (long)LINE_COLUMNS);
            global const T *from = source + source_at + column;
            global T *to = destination + destination_at + column * p.destination_pitch;
            bool stream = p.stream && is_aligned(to, p.destination_pitch);
            if (stream && is_words(rows, columns)) {
                stream_words((global const uint *)from, p.source_pitch, (global uint *)to,
                             p.destination_pitch);
                continue;
            }
            read_lines(from, p.source_pitch, rows, columns, buffer);
            write_runs(buffer, to, p.destination_pitch, rows, columns, stream);
        }
    }
}

#else
// ---- GPU form -----------------------------------------------------------------------------------

// Global size: (row tiles * local size, column tiles, batches).
kernel void transpose_tile(global T *destination, global const T *source, const struct plan p) {
    local T tile[32][33];
    long source_at, destination_at;
    long first_row = (long)get_group_id(0) * 32, first_column = (long)get_group_id(1) * 32;
    int x = (int)get_local_id(0) & 31, y = (int)get_local_id(0) >> 5;
    int step = (int)get_local_size(0) >> 5;
    find_batch(&p, (long)get_group_id(2), &source_at, &destination_at);
    source += source_at + first_row * p.source_pitch + first_column;
    destination += destination_at + first_column * p.destination_pitch + first_row;
    for (int r = y; r < 32; r += step)
        if (first_row + r < p.rows && first_column + x < p.columns)
            tile[r][x] = source[r * p.source_pitch + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = y; c < 32; c += step)
        if (first_column + c < p.columns && first_row + x < p.rows)
            destination[c * p.destination_pitch + x] = tile[x][c];
}

// Local size 256: 16 x 16 blocks of 4 x 4 elements.
kernel void transpose_vector(global uint *destination, global const uint *source,
                             const struct plan p) {
    local uint4 tile[64 * 16];
    long source_at, destination_at;
    long first_row = (long)get_group_id(0) * 64, first_column = (long)get_group_id(1) * 64;
    int x = (int)get_local_id(0) & 15, y = (int)get_local_id(0) >> 4;
    find_batch(&p, (long)get_group_id(2), &source_at, &destination_at);
    source += source_at + (first_row + 4 * y) * p.source_pitch + first_column + 4 * x;
    destination += destination_at + first_column * p.destination_pitch + first_row;
    if (first_row + 4 * y < p.rows && first_column + 4 * x < p.columns) {
        uint4 a = *(global const uint4 *)source;
        uint4 b = *(global const uint4 *)(source + p.source_pitch);
        uint4 c = *(global const uint4 *)(source + 2 * p.source_pitch);
        uint4 d = *(global const uint4 *)(source + 3 * p.source_pitch);
        int place = y ^ x;
        tile[(4 * x + 0) * 16 + place] = (uint4)(a.x, b.x, c.x, d.x);
        tile[(4 * x + 1) * 16 + place] = (uint4)(a.y, b.y, c.y, d.y);
        tile[(4 * x + 2) * 16 + place] = (uint4)(a.z, b.z, c.z, d.z);
        tile[(4 * x + 3) * 16 + place] = (uint4)(a.w, b.w, c.w, d.w);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = y; c < 64; c += 16)
        if (first_column + c < p.columns && first_row + 4 * x < p.rows)
            *(global uint4 *)(destination + c * p.destination_pitch + 4 * x) =
                tile[c * 16 + (x ^ (c >> 2))];
}

#endif // GPU_FORM
