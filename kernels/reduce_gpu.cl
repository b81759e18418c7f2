#pragma OPENCL FP_CONTRACT OFF
// reduce_gpu: reductions for GPUs.
//
// y[o] = OP over r of x[o, r]. The tree is that of reduce_ops.clh: 16 neighbouring work-items (a
// unit) take one block, each of them 4 lanes. Ways of walking:
//   reduce_row      the reduced axes are one contiguous run, aligned to 4 elements: each work-item
//                   loads 4 elements at a time, 16 times
//   reduce_any      any view: the same units, one element at a time, neighbours side by side
//   reduce_column   the innermost kept axis is contiguous: 8 work-items side by side load 4 columns
//                   each, 32 of these rows of work-items share the lanes; a group does one block
//   reduce_short    up to 64 elements: a result per work-item
//   reduce_combine  joins the states that several groups left of one result
// Rows of fewer than 16 blocks share a group; longer ones are walked in steps of 16 blocks, and the
// longest are cut into chunks of such steps.
//
// Defines: those of reduce_ops.clh (W is 4) and axes.clh.
#include "types.clh"
#include "axes.clh"
#include "reduce_ops.clh"

struct reduce_args {
    struct axes kept;    // x and y strides
    struct axes reduced; // x strides
    long x_offset, y_offset, partials_offset, joined_offset; // elements, states
    long chunks;           // per result; above 1 the chunks' states go to `partials`
    long blocks_per_chunk; // row, any: a multiple of the blocks in a step
    long blocks_per_step;  // row, any: 1, 2, 4, 8 or 16; 16 / it rows share a group
};

#define GROUP 256
#define UNIT 16
#define LOADS (BLOCK / LANES)

// Joins by halves the 16 states of each unit, then by neighbours those of `blocks` units in a row.
// The result of a row is in its first unit's first state.
static inline void join_units(local state *states, int item, int blocks) {
    const int in_unit = item % UNIT, unit = item / UNIT;
    for (int h = UNIT / 2; h > 0; h >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (in_unit < h) states[item] = join(states[item], states[item + h]);
    }
    for (int d = 1; d < blocks; d <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (in_unit == 0 && unit % (2 * d) == 0)
            states[item] = join(states[item], states[item + d * UNIT]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

static inline void emit(const struct reduce_args *args, global STORAGE(Y) *y,
                        global state *partials, INDEX result, INDEX chunk, state s) {
    if (args->chunks > 1) {
        partials[args->partials_offset + (long)result * args->chunks + chunk] = s;
    } else {
        INDEX x_offset, y_offset;
        axes_offsets(&args->kept, result, &x_offset, &y_offset);
        store_result(y + args->y_offset + y_offset, s, args->reduced.count);
    }
}

// 4 neighbouring lanes of a block of `count` elements, 4 | count.
static inline statev load_quads(global const STORAGE(X) *p, int count, int lane) {
    if (lane >= count) return empty_statev();
    statev s = make_statev(load_accv(p + lane), IOTA + lane);
    if (count == BLOCK) {
#pragma unroll
        for (int k = 1; k < LOADS; k++)
            s = laterv(s, load_accv(p + lane + k * LANES), IOTA + (lane + k * LANES));
    } else {
        for (int i = lane + LANES; i < count; i += LANES)
            s = laterv(s, load_accv(p + i), IOTA + i);
    }
    return s;
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
                                INDEX end, int lane) {
    statev s = empty_statev();
#pragma unroll 4
    for (int k = 0; k < BLOCK; k += LANES) {
        const INDEX i = r + k + lane;
        if (i >= end) break;
        accv_t v = (accv_t)(load_at(x, reduced, i, end), load_at(x, reduced, i + UNIT, end),
                            load_at(x, reduced, i + 2 * UNIT, end),
                            load_at(x, reduced, i + 3 * UNIT, end));
        s = k == 0 ? make_statev(v, STRIDES + lane) : laterv(s, v, STRIDES + (k + lane));
    }
    return s;
}

// What reduce_row and reduce_any have in common; `is_run` is a constant. `lanes` has room for a
// group's vectors where a run's lanes must change places between work-items, so that each of them
// folds lanes that are 16 apart; argmax and argmin give the same in any order.
static inline void walk_steps(global const STORAGE(X) *x, global STORAGE(Y) *y,
                              global state *partials, const struct reduce_args *args,
                              local state *states, local acc_t *lanes, const bool is_run) {
    const int item = (int)get_local_id(0), unit = item / UNIT, in_unit = item % UNIT;
    const int blocks = (int)args->blocks_per_step, rows = GROUP / UNIT / blocks;
    const INDEX group = (INDEX)get_group_id(0), chunks = (INDEX)args->chunks;
    const INDEX row_group = chunks == 1 ? group : group / chunks;
    const INDEX chunk = group - row_group * chunks, result = row_group * rows + unit / blocks;
    const bool exists = result < args->kept.count, leads = item % (blocks * UNIT) == 0;
    const INDEX step_length = (INDEX)blocks * BLOCK;
    const INDEX begin = chunk * ((INDEX)args->blocks_per_chunk * BLOCK);
    const INDEX end = (INDEX)args->reduced.count;
    const INDEX stop = (INDEX)min((long)end, (long)begin + args->blocks_per_chunk * BLOCK);
    const int steps = (int)((stop - begin + step_length - 1) / step_length);
    global const STORAGE(X) *row = x + args->x_offset + (exists ? axes_x(&args->kept, result) : 0);

    struct block_stack stack;
    stack.count = 0, stack.top = 0;
    for (int step = 0; step < steps; step++) {
        const INDEX r = begin + step * step_length + (unit % blocks) * BLOCK;
        const bool has_elements = exists && r < end;
        statev v = empty_statev();
        if (has_elements)
            v = is_run ? load_quads(row + r, (int)min((INDEX)BLOCK, end - r), in_unit * W)
                       : load_lanes(row, &args->reduced, r, end, in_unit);
#if !IS_ARG
        if (is_run) {
            vstore4(v, item, lanes);
            barrier(CLK_LOCAL_MEM_FENCE);
            local const acc_t *p = lanes + unit * LANES + in_unit;
            v = (accv_t)(p[0], p[UNIT], p[2 * UNIT], p[3 * UNIT]);
        }
#endif
        states[item] = fold_state(v, r);
        join_units(states, item, blocks);
        if (leads && exists) {
            if (steps == 1) {
                emit(args, y, partials, result, chunk, states[item]);
            } else {
                stack_push(&stack, states[item]);
                if (step == steps - 1)
                    emit(args, y, partials, result, chunk, stack_result(&stack));
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_row(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
           global state *restrict partials, const struct reduce_args args) {
    local state states[GROUP];
    local acc_t lanes[IS_ARG ? 1 : GROUP * W];
    walk_steps(x, y, partials, &args, states, lanes, true);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_any(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
           global state *restrict partials, const struct reduce_args args) {
    local state states[GROUP];
    walk_steps(x, y, partials, &args, states, 0, false);
}

// ---- columns ------------------------------------------------------------------------------------

#define QUADS 8
#define ROWS (GROUP / QUADS)

static inline accv_t load_columns(global const STORAGE(X) *p, int left) {
    return left >= W ? load_accv(p) : load_acc_part(p, left);
}

// One lane of the block for 4 columns.
static inline statev column_lane(global const STORAGE(X) *x, const struct axes *reduced, INDEX r,
                                 INDEX end, int lane, int left) {
    if (r + lane >= end) return empty_statev();
    statev s = make_statev(load_columns(x + axes_x(reduced, r + lane), left), (placev_t)lane);
#pragma unroll 8
    for (int k = LANES; k < BLOCK; k += LANES) {
        if (r + lane + k >= end) break;
        s = laterv(s, load_columns(x + axes_x(reduced, r + lane + k), left), (placev_t)(lane + k));
    }
    return s;
}

// kept.shape[0] is the column axis, kept.x[0] is 1. Groups: tile of 32 columns fastest, then block,
// then outer place. Partials: [block][result].
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_column(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
              global state *restrict partials, const struct reduce_args args) {
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
        s = joinv(column_lane(from, &args.reduced, r, end, lane, left),
                  column_lane(from, &args.reduced, r, end, lane + ROWS, left));
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
            emit(&args, y, partials, first + c, 0, result);
    }
}

// ---- few elements -------------------------------------------------------------------------------

// A result per work-item. Lane 8 a + b is the b-th state of the a-th join.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_short(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
             global state *restrict partials, const struct reduce_args args) {
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
        s = join(s, make_state(load_at(from, &args.reduced, r, end), r));
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
        for (int a = 0; a < 8; a++) lanes[a] = load_at(from, &args.reduced, 8 * a + b, end);
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
    store_result(y + args.y_offset + y_offset, s, args.reduced.count);
}

// ---- joining chunks -----------------------------------------------------------------------------

// State i of result o is partials[o * result_step + i * chunk_step]; chunks 0: an empty reduction.
// A group joins chunks for `width` results (a power of two up to 32) side by side: GROUP / width
// work-items take runs of up to RUN states each. What is left of more chunks than that goes to
// joined[o + place * results], and the launch is repeated on that.
#define RUN 16
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_combine(global const state *restrict partials, global STORAGE(Y) *restrict y,
               const struct reduce_args args, long result_step, long chunk_step,
               global state *restrict joined, int width, int run) {
    local state states[GROUP];
    global const state *from = partials + args.partials_offset;
    const int item = (int)get_local_id(0), column = item % width, lane = item / width;
    const int lanes = GROUP / width;
    const INDEX results = (INDEX)args.kept.count, tiles = (results + width - 1) / width;
    const INDEX place = (INDEX)get_group_id(0) / tiles;
    const INDEX result = ((INDEX)get_group_id(0) - place * tiles) * width + column;
    const INDEX first = (place * lanes + lane) * run;
    const INDEX last = result < results ? min(first + run, (INDEX)args.chunks) : 0;

    state s[RUN];
#pragma unroll
    for (int i = 0; i < RUN; i++)
        s[i] = first + i < last ? from[result * result_step + (first + i) * chunk_step]
                                : empty_state();
#pragma unroll
    for (int d = 1; d < RUN; d <<= 1)
#pragma unroll
        for (int i = 0; i < RUN; i += 2 * d) s[i] = join(s[i], s[i + d]);
    states[item] = s[0];
    for (int d = 1; d < lanes; d <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane % (2 * d) == 0) states[item] = join(states[item], states[item + d * width]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane > 0 || result >= results) return;
    if (args.chunks > (long)lanes * run) {
        joined[args.joined_offset + (long)place * results + result] = states[item];
    } else {
        INDEX x_offset, y_offset;
        axes_offsets(&args.kept, result, &x_offset, &y_offset);
        store_result(y + args.y_offset + y_offset, states[item], args.reduced.count);
    }
}
