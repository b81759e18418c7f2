#pragma OPENCL FP_CONTRACT OFF
// transpose.cl: destination[b][c][r] = source[b][r][c] for matrices whose innermost axes differ: c
// is contiguous in the source, r in the destination. Elements are moved as unsigned integers.
//
//   source       row r at r * source_pitch:      c ->
//   destination  row c at c * destination_pitch: r ->
//
// CPU form, one work-item (local size 1) per run of tiles:
//   transpose_blocks  a tile is 32 rows of 256 bytes: it is read 8 rows at a time, turned in a
//                     private buffer, and written in runs of 32 elements. 16 tiles below each other
//                     come before the next column of tiles, so that both sides stay in the pages
//                     they have touched
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
#define STRIP 16 // tiles
typedef CAT(T, W) vector_t;

// The interleaved low and high halves of each 128-bit half of two vectors, as CPUs have them.
#define LOW_WORDS(a, b) (uint8)(a.s0, b.s0, a.s1, b.s1, a.s4, b.s4, a.s5, b.s5)
#define HIGH_WORDS(a, b) (uint8)(a.s2, b.s2, a.s3, b.s3, a.s6, b.s6, a.s7, b.s7)
#define LOW_PAIRS(a, b) (uint8)(a.s01, b.s01, a.s45, b.s45)
#define HIGH_PAIRS(a, b) (uint8)(a.s23, b.s23, a.s67, b.s67)

// Reads 8 rows of 8 words and stores the block turned: 8 rows of the buffer.
static inline void turn_words(global const uint *source, long pitch, uint *buffer) {
    uint8 r0 = vload8(0, source), r1 = vload8(0, source + pitch);
    uint8 r2 = vload8(0, source + 2 * pitch), r3 = vload8(0, source + 3 * pitch);
    uint8 r4 = vload8(0, source + 4 * pitch), r5 = vload8(0, source + 5 * pitch);
    uint8 r6 = vload8(0, source + 6 * pitch), r7 = vload8(0, source + 7 * pitch);
    uint8 a0 = LOW_WORDS(r0, r1), a1 = HIGH_WORDS(r0, r1), a2 = LOW_WORDS(r2, r3),
          a3 = HIGH_WORDS(r2, r3), a4 = LOW_WORDS(r4, r5), a5 = HIGH_WORDS(r4, r5),
          a6 = LOW_WORDS(r6, r7), a7 = HIGH_WORDS(r6, r7);
    r0 = LOW_PAIRS(a0, a2), r1 = HIGH_PAIRS(a0, a2), r2 = LOW_PAIRS(a1, a3);
    r3 = HIGH_PAIRS(a1, a3), r4 = LOW_PAIRS(a4, a6), r5 = HIGH_PAIRS(a4, a6);
    r6 = LOW_PAIRS(a5, a7), r7 = HIGH_PAIRS(a5, a7);
    vstore8((uint8)(r0.lo, r4.lo), 0, buffer);
    vstore8((uint8)(r1.lo, r5.lo), 0, buffer + TILE_ROWS);
    vstore8((uint8)(r2.lo, r6.lo), 0, buffer + 2 * TILE_ROWS);
    vstore8((uint8)(r3.lo, r7.lo), 0, buffer + 3 * TILE_ROWS);
    vstore8((uint8)(r0.hi, r4.hi), 0, buffer + 4 * TILE_ROWS);
    vstore8((uint8)(r1.hi, r5.hi), 0, buffer + 5 * TILE_ROWS);
    vstore8((uint8)(r2.hi, r6.hi), 0, buffer + 6 * TILE_ROWS);
    vstore8((uint8)(r3.hi, r7.hi), 0, buffer + 7 * TILE_ROWS);
}

static inline void read_tile(global const T *source, long pitch, int rows, int columns, T *buffer) {
    if (sizeof(T) == 4 && rows == TILE_ROWS && columns == TILE_COLUMNS) {
        for (int r = 0; r < TILE_ROWS; r += 8) {
            for (int c = 0; c < TILE_COLUMNS; c += 8) {
                if (c % (LINE_BYTES / 4) == 0)
                    for (int k = r; k < r + 8; k++)
                        FETCH_LINE(source + k * pitch + c + 2 * LINE_BYTES / 4);
                turn_words((global const uint *)(source + r * pitch + c), pitch,
                           (uint *)(buffer + c * TILE_ROWS + r));
            }
        }
        return;
    }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) buffer[c * TILE_ROWS + r] = source[r * pitch + c];
}

static inline void write_tile(global T *destination, long pitch, int rows, int columns, bool stream,
                       const T *buffer) {
    for (int c = 0; c < columns; c++) {
        global T *to = destination + c * pitch;
        const T *from = buffer + c * TILE_ROWS;
        if (rows < TILE_ROWS) {
            for (int r = 0; r < rows; r++) to[r] = from[r];
        } else if (stream && ((ulong)to & (sizeof(vector_t) - 1)) == 0) {
            for (int r = 0; r < TILE_ROWS; r += W)
                STREAM(CAT(vload, W)(0, from + r), (global vector_t *)(to + r));
        } else {
            for (int r = 0; r < TILE_ROWS; r += W)
                CAT(vstore, W)(CAT(vload, W)(0, from + r), 0, to + r);
        }
    }
}

kernel void transpose_blocks(global T *destination, global const T *source, const struct plan p) {
    T buffer[TILE_COLUMNS * TILE_ROWS];
    long tile_rows = (p.rows + TILE_ROWS - 1) / TILE_ROWS;
    long tile_columns = (p.columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
    long tile = (long)get_global_id(0) * p.tiles_per_item;
    long last = min(tile + p.tiles_per_item, p.tiles);
    for (; tile < last; tile++) {
        long source_at, destination_at;
        long batch = tile / (tile_rows * tile_columns), place = tile % (tile_rows * tile_columns);
        long first = place / (STRIP * tile_columns) * STRIP;
        long height = min(tile_rows - first, (long)STRIP);
        place %= STRIP * tile_columns;
        long row = (first + place % height) * TILE_ROWS, column = place / height * TILE_COLUMNS;
        int rows = (int)min(p.rows - row, (long)TILE_ROWS);
        int columns = (int)min(p.columns - column, (long)TILE_COLUMNS);
        find_batch(&p, batch, &source_at, &destination_at);
        read_tile(source + source_at + row * p.source_pitch + column, p.source_pitch, rows, columns,
                  buffer);
        write_tile(destination + destination_at + column * p.destination_pitch + row,
                   p.destination_pitch, rows, columns, p.stream != 0, buffer);
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
