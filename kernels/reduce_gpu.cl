#pragma OPENCL FP_CONTRACT OFF
// reduce_gpu: reductions for GPUs.
//
// y[o] = OP over r of x[o, r]; with PAIR z[o] is the second result, at the same strides. The tree is
// that of reduce_ops.clh: 16 neighbouring work-items (a unit) take one block, each of them 4 lanes.
// Ways of walking:
//   reduce_row      the reduced axes are one contiguous run, aligned to 4 elements: each work-item
//                   loads 4 elements at a time, 16 times. Argmax and argmin give the same in any
//                   order: the value first, then its place
//   reduce_any      any view: the same units, one element at a time, neighbours side by side
//   reduce_column   the innermost kept axis is contiguous: 8 work-items side by side load 4 columns
//                   each, 32 of these rows of work-items share the lanes; a group does one block
//   reduce_short    up to 64 elements: a result per work-item
//   reduce_combine  joins the states that several groups left of one result
// Rows of fewer than 16 blocks share a group; longer ones are walked in steps of 16 blocks, and the
// longest are cut into chunks of such steps.
//
// Defines
//   ONLY_<kernel>   which of them the program has
//   ROW_GROUP       work-items of a group of reduce_row for argmax and argmin: 256 or 512
//   those of reduce_ops.clh (W is 4) and axes.clh
#include "types.clh"
#include "axes.clh"
#include "reduce_ops.clh"
#include "reduce_states.clh"

struct reduce_args {
    struct axes kept;    // x and y strides
    struct axes reduced; // x strides
    long x_offset, y_offset, z_offset, partials_offset, joined_offset; // elements, states
    long parameter;        // of store_result
    long chunks;           // per result; above 1 the chunks' states go to `partials`
    long blocks_per_chunk; // row, any: a multiple of the blocks in a step
    long blocks_per_step;  // row, any: 1, 2, 4, 8 or 16; 16 / it rows share a group
};

#define GROUP 256
#define UNIT 16
#define LOADS (BLOCK / LANES)

static inline void finish(const struct reduce_args *args, global STORAGE(Y) *y,
                          global STORAGE(Z) *z, INDEX result, state s) {
    INDEX x_offset, y_offset;
    axes_offsets(&args->kept, result, &x_offset, &y_offset);
    store_result(y + args->y_offset + y_offset, z + args->z_offset + y_offset, s,
                 args->reduced.count, args->parameter);
}

static inline void emit(const struct reduce_args *args, global STORAGE(Y) *y,
                        global STORAGE(Z) *z, global state *partials, INDEX result, INDEX chunk,
                        state s) {
    if (args->chunks > 1)
        partials[args->partials_offset + (long)result * args->chunks + chunk] = s;
    else
        finish(args, y, z, result, s);
}

// 4 neighbouring lanes of a block of `count` elements, 4 | count. IN_FLIGHT loads are under way at a
// time: a wide state leaves no registers for more.
#if defined(FIELDS)
#define IN_FLIGHT 8
#else
#define IN_FLIGHT LOADS
#endif
static inline statev load_quads(global const STORAGE(X) *p, int count, int lane, long parameter) {
    leafv s;
    int i = lane;
    if (lane >= count) return empty_statev();
    if (count == BLOCK) {
#pragma unroll
        for (int turn = 0; turn < LOADS / IN_FLIGHT; turn++) {
            accv_t v[IN_FLIGHT];
#pragma unroll
            for (int k = 0; k < IN_FLIGHT; k++) v[k] = load_accv(p + i + k * LANES);
#pragma unroll
            for (int k = 0; k < IN_FLIGHT; k++, i += LANES)
                s = turn + k == 0 ? leaf_start(v[k], IOTA + i) : leaf_next(s, v[k], IOTA + i);
        }
        return leaf_end(s);
    }
    s = leaf_start(load_accv(p + i), IOTA + i);
    for (i += LANES; i < count; i += LANES) s = leaf_next(s, load_accv(p + i), IOTA + i);
    return leaf_end(s);
}

// Lanes lane, lane + 16, lane + 32, lane + 48 of the block that starts at element r of the reduced
// axes: each component of the result is one lane.
#define STRIDES ((placev_t)(0, UNIT, 2 * UNIT, 3 * UNIT))
static inline acc_t load_at(global const STORAGE(X) *x, const struct axes *reduced, INDEX r,
                            INDEX end) {
    return r < end ? load_acc(x + (reduced->rank == 1 ? r * (INDEX)reduced->x[0]
                                                      : axes_x(reduced, r)))
                   : (acc_t)(IDENTITY);
}
static inline statev load_lanes(global const STORAGE(X) *x, const struct axes *reduced, INDEX r,
                                INDEX end, int lane, long parameter) {
    leafv s = empty_leafv();
#define PART(k, PLACE)                                                                             \
    {                                                                                              \
        const INDEX i = r + k + lane;                                                              \
        if (i >= end) break;                                                                       \
        const accv_t v = (accv_t)(PLACE(i), PLACE(i + UNIT), PLACE(i + 2 * UNIT),                  \
                                  PLACE(i + 3 * UNIT));                                            \
        s = leaf_part(s, v, STRIDES + (k + lane), STRIDES < (int)min(end - i, (INDEX)LANES));      \
    }
#define ON_LINE(i) ((i) < end ? load_acc(x + (i) * step) : (acc_t)(IDENTITY))
#define ANYWHERE(i) load_at(x, reduced, i, end)
    if (reduced->rank == 1) {
        const INDEX step = (INDEX)reduced->x[0];
#pragma unroll 4
        for (int k = 0; k < BLOCK; k += LANES) PART(k, ON_LINE)
    } else { // the walk over axes is long
#pragma unroll 1
        for (int k = 0; k < BLOCK; k += LANES) PART(k, ANYWHERE)
    }
    return leaf_end(s);
}

// Joins by halves, with FUNCTION, what the 16 work-items of each unit have in `values`; the result is
// in its first one's. (PoCL 3.1 wants a barrier before a loop with barriers, too.)
#define JOIN_UNIT(FUNCTION, values)                                                                \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                  \
    for (int h = UNIT / 2; h > 0; h >>= 1) {                                                       \
        if (in_unit < h) values[item] = FUNCTION(values[item], values[item + h]);                  \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
    }

// Joins by neighbours the states of a row's units; the result is in its first unit's.
#define JOIN_UNITS                                                                                 \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                  \
    for (int d = 1; d < blocks; d <<= 1) {                                                         \
        if (in_unit == 0 && unit % (2 * d) == 0) units[unit] = join(units[unit], units[unit + d]); \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
    }

// What reduce_row and reduce_any have in common. LOAD(r): the state of the block that starts at
// element r of the row, in `units` of its unit.
#define WALK_STEPS(LOAD)                                                                           \
    const int item = (int)get_local_id(0), unit = item / UNIT, in_unit = item % UNIT;              \
    const int blocks = (int)args.blocks_per_step, rows = GROUP / UNIT / blocks;                    \
    const INDEX group = (INDEX)get_group_id(0), chunks = (INDEX)args.chunks;                       \
    const INDEX row_group = chunks == 1 ? group : group / chunks;                                  \
    const INDEX chunk = group - row_group * chunks, result = row_group * rows + unit / blocks;     \
    const bool exists = result < args.kept.count, leads = item % (blocks * UNIT) == 0;             \
    const INDEX step_length = (INDEX)blocks * BLOCK;                                               \
    const INDEX begin = chunk * ((INDEX)args.blocks_per_chunk * BLOCK);                            \
    const INDEX end = (INDEX)args.reduced.count;                                                   \
    const INDEX stop = (INDEX)min((long)end, (long)begin + args.blocks_per_chunk * BLOCK);         \
    const int steps = (int)((stop - begin + step_length - 1) / step_length);                       \
    global const STORAGE(X) *row =                                                                 \
        x + args.x_offset + (exists ? axes_x(&args.kept, result) : 0);                             \
    struct block_stack stack;                                                                      \
    stack.count = 0, stack.top = 0;                                                                \
    for (int step = 0; step < steps; step++) {                                                     \
        const INDEX r = begin + step * step_length + (unit % blocks) * BLOCK;                      \
        const bool has_elements = exists && r < end;                                               \
        LOAD(r)                                                                                    \
        JOIN_UNITS                                                                                 \
        if (leads && exists) {                                                                     \
            if (steps == 1) {                                                                      \
                emit(&args, y, z, partials, result, chunk, units[unit]);                           \
            } else {                                                                               \
                stack_push(&stack, units[unit]);                                                   \
                if (step == steps - 1)                                                             \
                    emit(&args, y, z, partials, result, chunk, stack_result(&stack));              \
            }                                                                                      \
        }                                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
    }

// A work-item's vector is 4 lanes in any order or 16 apart: they are joined first.
#define LOAD_STATES(r, STATEV)                                                                     \
    states[item] = fold_state(has_elements ? STATEV : empty_statev(), r);                          \
    JOIN_UNIT(join, states)                                                                        \
    if (in_unit == 0) units[unit] = states[item];

// A work-item's vector is 4 neighbouring lanes: vectors are joined before their lanes are.
#if IS_ARG
#elif defined(FIELDS)
#define VECTORS GROUP
#define LOAD_RUN(r)                                                                                \
    vectors[item] = has_elements ? load_quads(row + r, (int)min((INDEX)BLOCK, end - r),            \
                                              in_unit * W, args.parameter)                         \
                                 : empty_statev();                                                 \
    JOIN_UNIT(joinv, vectors)                                                                      \
    if (in_unit == 0) units[unit] = fold_state(vectors[item], r);
#else
// Numbers: 4 work-items of each unit take a lane of its 16 vectors each. A gap between the units
// keeps them from the same banks.
#define VECTORS (GROUP + GROUP / UNIT)
#define LOAD_RUN(r)                                                                                \
    vectors[item + unit] = has_elements                                                            \
                               ? load_quads(row + r, (int)min((INDEX)BLOCK, end - r),              \
                                            in_unit * W, args.parameter)                           \
                               : empty_statev();                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                  \
    if (item < W * (GROUP / UNIT))                                                                 \
        lanes[item] = join_lane((local const state *)(vectors + item / W * (UNIT + 1)) + item % W); \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                  \
    if (item < GROUP / UNIT) units[item] = FOLD(CAT(vload, W)(item, lanes));

// By halves: 0 with 8, 4 with 12, ...
#define JOINED2(i) join(lane[(i) * W], lane[((i) + 8) * W])
#define JOINED4(i) join(JOINED2(i), JOINED2((i) + 4))
#define JOINED8(i) join(JOINED4(i), JOINED4((i) + 2))
static inline state join_lane(local const state *lane) { return join(JOINED8(0), JOINED8(1)); }
#endif

#define LOAD_ANY(r)                                                                                \
    LOAD_STATES(r, load_lanes(row, &args.reduced, r, end, in_unit, args.parameter))

#if defined(ONLY_reduce_row) && IS_ARG

// The value comes first: only work-items that hold the row's look for its place. A NaN leads.
#define ORDER CAT(ORDER_, OP)
#if IS_FLOAT
#define LEADING(a, b) (ORDER(a, b) | ((a) == (b)) | isnan(a) ? (a) : (b))
#else
#define LEADING(a, b) COMBINE(a, b)
#endif
#define AHEAD 8 // loads under way at a time

static inline acc_t leading_value(global const STORAGE(X) *row, INDEX from, INDEX stop,
                                  INDEX step) {
    accv_t most = (accv_t)(IDENTITY);
    INDEX i = from;
    for (; i + (AHEAD - 1) * step < stop; i += AHEAD * step) {
        accv_t v[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) v[k] = load_accv(row + i + k * step);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) most = LEADING(most, v[k]);
    }
#pragma unroll 1
    for (; i < stop; i += step) {
        const accv_t v = load_accv(row + i);
        most = LEADING(most, v);
    }
    return LEADING(LEADING(most.s0, most.s1), LEADING(most.s2, most.s3));
}

// The first of these places with such a value, relative to `begin`; there is one.
static inline uint find_value(global const STORAGE(X) *row, INDEX begin, INDEX from, INDEX stop,
                              INDEX step, acc_t value) {
    const accv_t values = (accv_t)value;
    uint lane = 0;
#pragma unroll 1
    for (INDEX i = from; i < stop; i += step) {
        const accv_t v = load_accv(row + i);
        if (!any(SAME(v, values))) continue;
        lane = SAME(v.s0, value) ? 0 : SAME(v.s1, value) ? 1 : SAME(v.s2, value) ? 2 : 3;
        return (uint)(i - begin) + lane;
    }
    return FAR;
}

#ifndef ITEMS
#define ITEMS (ROW_GROUP / (GROUP / UNIT) * (int)args.blocks_per_step)
#endif

// A row's work-items, `items` of them, take quads side by side. A chunk has less than 2^31 elements.
kernel __attribute__((reqd_work_group_size(ROW_GROUP, 1, 1))) void
reduce_row(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
           global STORAGE(Z) *restrict z, global state *restrict partials,
           const struct reduce_args args) {
    local acc_t values[ROW_GROUP];
    local uint places[GROUP / UNIT];
    const int item = (int)get_local_id(0), items = ITEMS;
    const int lane = item & (items - 1), bits = popcount(items - 1), row_here = item >> bits;
    const INDEX group = (INDEX)get_group_id(0), chunks = (INDEX)args.chunks;
    const INDEX row_group = chunks == 1 ? group : group / chunks;
    const INDEX chunk = group - row_group * chunks, step = 4 * items;
    const INDEX result = row_group * (ROW_GROUP >> bits) + row_here;
    const INDEX begin = chunk * ((INDEX)args.blocks_per_chunk * BLOCK), from = begin + 4 * lane;
    const INDEX stop = (INDEX)min(args.reduced.count, (long)begin + args.blocks_per_chunk * BLOCK);
    const bool exists = result < args.kept.count;
    global const STORAGE(X) *row = x + args.x_offset + (exists ? axes_x(&args.kept, result) : 0);

    const acc_t own = leading_value(row, from, exists ? stop : from, step);
    values[item] = own;
    if (lane == 0) places[row_here] = FAR;
    for (int h = items / 2; h > 0; h >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < h) values[item] = LEADING(values[item], values[item + h]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const acc_t value = values[item - lane];
    if (exists && from < stop && SAME(own, value))
        atomic_min(&places[row_here], find_value(row, begin, from, stop, step, value));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane > 0 || !exists) return;
    const long place = (long)begin + places[row_here];
    emit(&args, y, z, partials, result, chunk, (state){load_acc(row + place), place});
}

#elif defined(ONLY_reduce_row)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_row(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
           global STORAGE(Z) *restrict z, global state *restrict partials,
           const struct reduce_args args) {
    local statev vectors[VECTORS];
#ifndef FIELDS
    local state lanes[W * (GROUP / UNIT)];
#endif
    local state units[GROUP / UNIT];
    WALK_STEPS(LOAD_RUN)
}

#elif defined(ONLY_reduce_any)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_any(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
           global STORAGE(Z) *restrict z, global state *restrict partials,
           const struct reduce_args args) {
    local state states[GROUP];
    local state units[GROUP / UNIT];
    WALK_STEPS(LOAD_ANY)
}

#elif defined(ONLY_reduce_column)

// ---- columns ------------------------------------------------------------------------------------

#define QUADS 8
#define ROWS (GROUP / QUADS)

static inline accv_t load_columns(global const STORAGE(X) *p, int left) {
    return left >= W ? load_accv(p) : load_acc_part(p, left);
}

// One lane of the block for 4 columns; x is at its first row.
static inline statev column_lane(global const STORAGE(X) *x, INDEX step, INDEX r, INDEX end,
                                 int lane, int left, long parameter) {
    if (r + lane >= end) return empty_statev();
    leafv s = leaf_start(load_columns(x + (r + lane) * step, left), (placev_t)lane);
#pragma unroll 8
    for (int k = LANES; k < BLOCK; k += LANES) {
        if (r + lane + k >= end) break;
        s = leaf_next(s, load_columns(x + (r + lane + k) * step, left), (placev_t)(lane + k));
    }
    return leaf_end(s);
}

// The same where rows are anywhere: the walk over axes is long.
static inline statev column_walk(global const STORAGE(X) *x, const struct axes *reduced, INDEX r,
                                 INDEX end, int lane, int left, long parameter) {
    leafv s = empty_leafv();
#pragma unroll 1
    for (int k = 0; k < BLOCK; k += LANES) {
        if (r + lane + k >= end) break;
        const accv_t v = load_columns(x + axes_x(reduced, r + lane + k), left);
        s = k == 0 ? leaf_start(v, (placev_t)lane) : leaf_next(s, v, (placev_t)(lane + k));
    }
    return leaf_end(s);
}

// kept.shape[0] is the column axis, kept.x[0] is 1. Groups: tile of 32 columns fastest, then block,
// then outer place. Partials: [block][result].
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_column(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
              global STORAGE(Z) *restrict z, global state *restrict partials,
              const struct reduce_args args) {
    local statev states[GROUP];
    const int item = (int)get_local_id(0), quad = item % QUADS, lane = item / QUADS;
    const INDEX length = (INDEX)args.kept.shape[0], group = (INDEX)get_group_id(0);
    const INDEX tiles = (length + QUADS * W - 1) / (QUADS * W), chunks = (INDEX)args.chunks;
    const INDEX strip = group / tiles, outer = chunks == 1 ? strip : strip / chunks;
    const INDEX column = (group - strip * tiles) * (QUADS * W) + quad * W;
    const INDEX block = strip - outer * chunks, first = outer * length + column;
    const INDEX end = (INDEX)args.reduced.count, r = block * BLOCK;
    const int left = (int)min((INDEX)W, length - column);

    statev s = empty_statev();
    if (left > 0) {
        global const STORAGE(X) *from = x + args.x_offset + axes_x(&args.kept, first);
        if (args.reduced.rank == 1) {
            const INDEX step = (INDEX)args.reduced.x[0];
            s = joinv(column_lane(from, step, r, end, lane, left, args.parameter),
                      column_lane(from, step, r, end, lane + ROWS, left, args.parameter));
        } else {
#pragma unroll 1
            for (int k = 0; k < LANES; k += ROWS) {
                const statev next = column_walk(from, &args.reduced, r, end, lane + k, left,
                                                args.parameter);
                s = k == 0 ? next : joinv(s, next);
            }
        }
    }
    states[item] = s;
    for (int h = ROWS / 2; h > 0; h >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < h) states[item] = joinv(states[item], states[item + h * QUADS]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane > 0) return;
    for (int c = 0; c < left; c++) {
        state result = lane_state(states[item], c, r);
        if (args.chunks > 1)
            partials[args.partials_offset + (long)block * args.kept.count + first + c] = result;
        else
            emit(&args, y, z, partials, first + c, 0, result);
    }
}

#elif defined(ONLY_reduce_short)

// ---- few elements -------------------------------------------------------------------------------

static inline state state_at(global const STORAGE(X) *x, const struct axes *reduced, INDEX r,
                             INDEX end, long parameter) {
    return r < end ? make_state(load_at(x, reduced, r, end), r) : empty_state();
}

// A result per work-item. Lane 8 a + b is the b-th state of the a-th join.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_short(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
             global STORAGE(Z) *restrict z, global state *restrict partials,
             const struct reduce_args args) {
    const INDEX result = (INDEX)get_global_id(0);
    if (result >= args.kept.count) return;
    const INDEX end = (INDEX)args.reduced.count;
    INDEX x_offset, y_offset;
    axes_offsets(&args.kept, result, &x_offset, &y_offset);
    global const STORAGE(X) *from = x + args.x_offset + x_offset;
    state s;
#if IS_ARG // any order gives the same
    s = empty_state();
    for (INDEX r = 0; r < end; r++)
        s = join(s, state_at(from, &args.reduced, r, end, args.parameter));
#else
    // The tree joins b and b + 4, then b and b + 2, then b and b + 1: taken in the order of
    // reversed bits, three waiting states are enough, and the loop stays rolled (the walk over axes
    // is long).
    state waiting1 = empty_state(), waiting2 = waiting1, waiting4 = waiting1;
    s = waiting1;
#pragma unroll 1
    for (int t = 0; t < 8; t++) {
        const int b = (t & 1) << 2 | (t & 2) | t >> 2;
        state lanes[8];
#pragma unroll
        for (int a = 0; a < 8; a++)
            lanes[a] = state_at(from, &args.reduced, 8 * a + b, end, args.parameter);
#pragma unroll
        for (int h = 4; h > 0; h >>= 1)
#pragma unroll
            for (int a = 0; a < h; a++) lanes[a] = join(lanes[a], lanes[a + h]);
        s = lanes[0];
        if (t & 1) s = join(waiting1, s);
        if ((t & 3) == 3) s = join(waiting2, s);
        if (t == 7) s = join(waiting4, s);
        if ((t & 1) == 0) waiting1 = s;
        if ((t & 3) == 1) waiting2 = s;
        if (t == 3) waiting4 = s;
    }
#endif
    store_result(y + args.y_offset + y_offset, z + args.z_offset + y_offset, s, args.reduced.count,
                 args.parameter);
}

#else // ONLY_reduce_combine

// ---- joining chunks -----------------------------------------------------------------------------

// The states from[i * step], first <= i < last, up to RUN of them.
#define RUN 16
static inline state join_run(global const state *from, INDEX first, INDEX last, long step) {
    state s[RUN];
#pragma unroll
    for (int i = 0; i < RUN; i++) s[i] = first + i < last ? from[(first + i) * step] : empty_state();
#pragma unroll
    for (int d = 1; d < RUN; d <<= 1)
#pragma unroll
        for (int i = 0; i < RUN; i += 2 * d) s[i] = join(s[i], s[i + d]);
    return s[0];
}

// State i of result o is partials[o * result_step + i * chunk_step]; chunks 0: an empty reduction.
// A group joins chunks for `width` results (a power of two up to 32) side by side: GROUP / width
// work-items take `run` states each, a power of two up to 4 RUN. What is left of more chunks than
// that goes to joined[o + place * results], and the launch is repeated on that.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_combine(global const state *restrict partials, global STORAGE(Y) *restrict y,
               global STORAGE(Z) *restrict z, const struct reduce_args args, long result_step,
               long chunk_step, global state *restrict joined, int width, int run) {
    local state states[GROUP];
    const int item = (int)get_local_id(0), column = item % width, lane = item / width;
    const int lanes = GROUP / width;
    const INDEX results = (INDEX)args.kept.count, tiles = (results + width - 1) / width;
    const INDEX place = (INDEX)get_group_id(0) / tiles;
    const INDEX result = ((INDEX)get_group_id(0) - place * tiles) * width + column;
    const INDEX first = (place * lanes + lane) * run;
    const INDEX last = result < results ? min(first + run, (INDEX)args.chunks) : 0;
    global const state *from = partials + args.partials_offset + (long)result * result_step;

    state s = join_run(from, first, last, chunk_step), before = s;
#pragma unroll 1
    for (int i = 1; i * RUN < run; i++) { // 0 with 1, 2 with 3, then these
        const state next = join_run(from, first + i * RUN, last, chunk_step);
        if (i == 2) before = s;
        s = i == 2 ? next : join(s, next);
        if (i == 3) s = join(before, s);
    }
    states[item] = s;
    for (int d = 1; d < lanes; d <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane % (2 * d) == 0) states[item] = join(states[item], states[item + d * width]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane > 0 || result >= results) return;
    if (args.chunks > (long)lanes * run) {
        joined[args.joined_offset + (long)place * results + result] = states[item];
    } else {
        finish(&args, y, z, result, states[item]);
    }
}

#endif
