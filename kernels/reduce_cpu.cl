#pragma OPENCL FP_CONTRACT OFF
// reduce_cpu: reductions for CPUs: explicit vectors, no barriers, work-groups of one work-item.
//
// y[o] = OP over r of x[o, r]; with PAIR z[o] is the second result, at the same strides. The tree is
// that of reduce_ops.clh. Three ways of walking, and the launch that joins what they leave:
//   reduce_row       the reduced axes are one contiguous run
//   reduce_column    the innermost kept axis is contiguous: lanes of a vector are neighbouring
//                    results, a work-item does one block of rows for a tile of columns
//   reduce_gather    anything else: each block is first brought into private memory
//   reduce_combine   joins the states of several chunks of one result
//
// Defines: those of reduce_ops.clh and axes.clh (INDEX is long).
#include "types.clh"
#include "axes.clh"
#include "reduce_ops.clh"
#include "reduce_states.clh"
#include "reduce_block.clh"

struct reduce_args {
    struct axes kept;    // x and y strides
    struct axes reduced; // x strides
    long x_offset, y_offset, z_offset, partials_offset, joined_offset; // elements, states
    long parameter;        // of store_result
    long chunks;           // per result; above 1 the chunks' states go to `partials`
    long blocks_per_chunk; // a power of two
    long units_per_item;   // of (result, chunk)
};

BLOCK_BODY(block_contiguous, global, STORAGE(X), load_accv, load_acc_part)

static inline void finish(const struct reduce_args *args, global STORAGE(Y) *y,
                          global STORAGE(Z) *z, long y_offset, state s) {
    store_result(y + args->y_offset + y_offset, z + args->z_offset + y_offset, s,
                 args->reduced.count, args->parameter);
}

static inline void emit(const struct reduce_args *args, global STORAGE(Y) *y,
                        global STORAGE(Z) *z, global state *partials, long result, long chunk,
                        long y_offset, state s) {
    if (args->chunks > 1)
        partials[args->partials_offset + result * args->chunks + chunk] = s;
    else
        finish(args, y, z, y_offset, s);
}

// ---- contiguous rows ----------------------------------------------------------------------------

kernel void reduce_row(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
                       global STORAGE(Z) *restrict z, global state *restrict partials,
                       const struct reduce_args args) {
    const long unit = (long)get_global_id(0) * args.units_per_item;
    const long end = min(unit + args.units_per_item, args.kept.count * args.chunks);
    const long chunk_length = args.blocks_per_chunk * BLOCK;
    for (long u = unit; u < end; u++) {
        const long result = u / args.chunks, chunk = u % args.chunks;
        const long stop = min((chunk + 1) * chunk_length, args.reduced.count);
        long x_offset, y_offset;
        axes_offsets(&args.kept, result, &x_offset, &y_offset);
        global const STORAGE(X) *row = x + args.x_offset + x_offset;
        struct block_stack stack;
        stack.count = 0, stack.top = 0;
        for (long r = chunk * chunk_length; r < stop; r += BLOCK)
            stack_push(&stack, block_contiguous(row + r, (int)min((long)BLOCK, stop - r), r,
                                                args.parameter));
        emit(&args, y, z, partials, result, chunk, y_offset, stack_result(&stack));
    }
}

// ---- any view -----------------------------------------------------------------------------------

// Elements r .. r + count - 1 of the reduced axes, run by run along the innermost one.
static inline void gather_block(global const STORAGE(X) *x, const struct axes *reduced, long r,
                                int count, acc_t *out) {
    const long length = reduced->shape[0], step = reduced->x[0];
    for (int i = 0; i < count;) {
        const long at = axes_x(reduced, r + i);
        const int run = (int)min((long)(count - i), length - (r + i) % length);
        for (int k = 0; k < run; k++) out[i + k] = load_acc(x + at + k * step);
        i += run;
    }
}

kernel void reduce_gather(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
                          global STORAGE(Z) *restrict z, global state *restrict partials,
                          const struct reduce_args args) {
    acc_t buffer[BLOCK];
    const long unit = (long)get_global_id(0) * args.units_per_item;
    const long end = min(unit + args.units_per_item, args.kept.count * args.chunks);
    const long chunk_length = args.blocks_per_chunk * BLOCK;
    for (long u = unit; u < end; u++) {
        const long result = u / args.chunks, chunk = u % args.chunks;
        const long stop = min((chunk + 1) * chunk_length, args.reduced.count);
        long x_offset, y_offset;
        axes_offsets(&args.kept, result, &x_offset, &y_offset);
        struct block_stack stack;
        stack.count = 0, stack.top = 0;
        for (long r = chunk * chunk_length; r < stop; r += BLOCK) {
            const int count = (int)min((long)BLOCK, stop - r);
            gather_block(x + args.x_offset + x_offset, &args.reduced, r, count, buffer);
            stack_push(&stack, block_private(buffer, count, r, args.parameter));
        }
        emit(&args, y, z, partials, result, chunk, y_offset, stack_result(&stack));
    }
}

// ---- columns ------------------------------------------------------------------------------------

#define TILE_COLUMNS 512
#define TILE (TILE_COLUMNS / W)
#define ROWS_PER_LANE (BLOCK / LANES)

static inline accv_t load_columns(global const STORAGE(X) *p, int left) {
    return left >= W ? load_accv(p) : load_acc_part(p, left);
}

// One lane of the block for W columns: its rows, first to last.
static inline statev column_lane(global const STORAGE(X) *x, const long *rows, int row_count,
                                 int left, int lane, long parameter) {
    if (row_count == 0) return empty_statev();
    leafv s = leaf_start(load_columns(x + rows[0], left), (placev_t)lane);
    if (row_count == ROWS_PER_LANE && left >= W) {
        _Pragma("unroll") for (int k = 1; k < ROWS_PER_LANE; k++)
            s = leaf_next(s, load_accv(x + rows[k]), (placev_t)(lane + k * LANES));
    } else {
        for (int k = 1; k < row_count; k++)
            s = leaf_next(s, load_columns(x + rows[k], left), (placev_t)(lane + k * LANES));
    }
    return leaf_end(s);
}

// The lanes are visited in bit-reversed order, so that the join by halves becomes a binary counter
// of at most log2(LANES) + 1 tiles, which stay in the first-level cache.
static inline void column_block(global const STORAGE(X) *x, const struct axes *reduced, long start,
                                int count, int columns, long parameter,
                                statev (*levels)[TILE]) {
    const int vectors = (columns + W - 1) / W;
    const int lanes = min(count, LANES);
    int bits = 0;
    while ((1 << bits) < lanes) bits++;
    for (int i = 0; i < 1 << bits; i++) {
        int lane = 0, joins = 0;
        for (int b = 0; b < bits; b++) lane |= ((i >> b) & 1) << (bits - 1 - b);
        while ((i >> joins) & 1) joins++;
        const int row_count = lane < count ? (count - lane + LANES - 1) / LANES : 0;
        long rows[ROWS_PER_LANE];
        for (int k = 0; k < row_count; k++) rows[k] = axes_x(reduced, start + lane + k * LANES);
        for (int v = 0; v < vectors; v++) {
            statev s = column_lane(x + v * W, rows, row_count, columns - v * W, lane, parameter);
            for (int level = 0; level < joins; level++) s = joinv(levels[level][v], s);
            levels[joins][v] = s;
        }
    }
    for (int v = 0; v < vectors && bits > 0; v++) levels[0][v] = levels[bits][v];
}

// kept.shape[0] is the column axis, kept.x[0] is 1. A unit is (outer place, block, tile); units are
// numbered tile fastest. Partials: [block][result].
kernel void reduce_column(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
                          global STORAGE(Z) *restrict z, global state *restrict partials,
                          const struct reduce_args args) {
    statev levels[7][TILE];
    const long length = args.kept.shape[0], tiles = (length + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const long units = args.kept.count / length * args.chunks * tiles;
    const long unit = (long)get_global_id(0) * args.units_per_item;
    const long end = min(unit + args.units_per_item, units);
    for (long u = unit; u < end; u++) {
        const long column = u % tiles * TILE_COLUMNS, block = u / tiles % args.chunks;
        const long result = u / tiles / args.chunks * length + column, start = block * BLOCK;
        const int columns = (int)min((long)TILE_COLUMNS, length - column);
        long x_offset, y_offset;
        axes_offsets(&args.kept, result, &x_offset, &y_offset);
        column_block(x + args.x_offset + x_offset, &args.reduced, start,
                     (int)min((long)BLOCK, args.reduced.count - start), columns, args.parameter,
                     levels);
        for (int c = 0; c < columns; c++) {
            state s = lane_state(levels[0][c / W], c % W, start);
            if (args.chunks > 1)
                partials[args.partials_offset + block * args.kept.count + result + c] = s;
            else
                finish(&args, y, z, y_offset + c * args.kept.y[0], s);
        }
    }
}

// ---- joining chunks -----------------------------------------------------------------------------

// State i of result o is partials[o * result_step + i * chunk_step]; chunks 0: an empty reduction.
kernel void reduce_combine(global const state *restrict partials, global STORAGE(Y) *restrict y,
                           global STORAGE(Z) *restrict z, const struct reduce_args args,
                           long result_step, long chunk_step) {
    global const state *from = partials + args.partials_offset;
    const long begin = (long)get_global_id(0) * args.units_per_item;
    const long end = min(begin + args.units_per_item, args.kept.count);
    for (long result = begin; result < end; result++) {
        long x_offset, y_offset;
        axes_offsets(&args.kept, result, &x_offset, &y_offset);
        struct block_stack stack;
        stack.count = 0, stack.top = 0;
        for (long i = 0; i < args.chunks; i++)
            stack_push(&stack, from[result * result_step + i * chunk_step]);
        finish(&args, y, z, y_offset, stack_result(&stack));
    }
}
