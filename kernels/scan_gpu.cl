#pragma OPENCL FP_CONTRACT OFF
// scan_gpu: running sums, products, maxima and minima along one axis, for GPUs.
//
//   scan_rows     `share` work-items (a power of two) do a tile of a row: each keeps N quads in
//                 registers, quad i * share + item. Totals of quads, then of segments, then of
//                 blocks are turned into what comes before them in local memory. GROUP / share
//                 tiles share a group. The host sees to share * N * 4 >= min(length, TILE), and
//                 to share * N >= 8 unless N is 1.
//   scan_columns  the axis is strided and neighbouring columns are contiguous: a group does one
//                 tile of COLUMNS of them. A work-item keeps a segment of a column in registers;
//                 LANES segments of each column go at a time.
// Rows longer than a tile take three steps: PHASE_TOTALS, a scan of the totals, PHASE_REST.
//
// Defines
//   GROUP, N   work-items of a group; quads of a work-item (scan_rows)
//   RUN        x and y have stride 1 or -1 along the axis; its length and all offsets are such that
//              quads are aligned (and so is ALIGNED)
//   WHOLE      scan_rows, with RUN: the strides are 1, share is GROUP and every tile has all its quads
//   those of scan_ops.clh
#include "scan_ops.clh"

// ---- quads of a row -----------------------------------------------------------------------------

static inline accv_t quad_prefix(accv_t v) {
    const acc_t ab = combine(v.s0, v.s1);
    return (accv_t)(v.s0, ab, combine(ab, v.s2), combine(ab, combine(v.s2, v.s3)));
}

// Elements i .. i + 3 of a row of `length`; identity past its end. `is_run`: the stride is 1 or -1.
static inline accv_t load_quad(global const STORAGE(X) *x, long stride, bool is_run, INDEX i,
                               INDEX length) {
    if (is_run && i + QUAD <= length)
        return stride > 0 ? load_accv(x + i) : load_accv(x - i - (QUAD - 1)).s3210;
    const INDEX step = (INDEX)stride;
    const acc_t none = IDENTITY;
    return (accv_t)(i < length ? load_acc(x + i * step) : none,
                    i + 1 < length ? load_acc(x + (i + 1) * step) : none,
                    i + 2 < length ? load_acc(x + (i + 2) * step) : none,
                    i + 3 < length ? load_acc(x + (i + 3) * step) : none);
}

static inline void store_quad(global STORAGE(Y) *y, long stride, bool is_run, INDEX i,
                              INDEX length, accv_t v) {
    if (is_run && i + QUAD <= length) {
        if (stride > 0)
            STOREV(Y, y, i, TO_YV(v));
        else
            STOREV(Y, y, -i - (QUAD - 1), TO_YV(v.s3210));
        return;
    }
    const INDEX step = (INDEX)stride;
    if (i < length) STORE(Y, y, i * step, (MATH(Y))v.s0);
    if (i + 1 < length) STORE(Y, y, (i + 1) * step, (MATH(Y))v.s1);
    if (i + 2 < length) STORE(Y, y, (i + 2) * step, (MATH(Y))v.s2);
    if (i + 3 < length) STORE(Y, y, (i + 3) * step, (MATH(Y))v.s3);
}

// The results of a quad from its prefixes and what comes before it.
static inline accv_t quad_results(acc_t before, accv_t prefix, bool exclusive) {
    const accv_t v = combinev((accv_t)before, prefix);
    return exclusive ? SHOWN((accv_t)(before, v.s0, v.s1, v.s2)) : v;
}

#ifdef RUN
#define IS_RUN true
#else
#define IS_RUN false
#endif

// A quad's place in local memory, such that neither writing nor reading meets bank conflicts.
#define PADDED(quad) ((quad) + (quad) / SEGMENT_QUADS)
#define QUADS (GROUP * N)
#define PARTS (N == 1 ? QUADS : QUADS / SEGMENT_QUADS)

static inline int log2_of(int power) { return (int)popcount((uint)power - 1u); }

// Puts what comes before each of `count` parts in the place of its total; returns the total of all.
// Eight totals are read together, for each takes its time; more would take registers.
static inline acc_t parts_before(local acc_t *parts, int count) {
    acc_t before = IDENTITY;
#pragma unroll 1
    for (int begin = 0; begin < count; begin += 8) {
        acc_t totals[8];
#pragma unroll
        for (int k = 0; k < 8; k++)
            totals[k] = begin + k < count ? parts[begin + k] : (acc_t)(IDENTITY);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            if (begin + k < count) parts[begin + k] = before;
            before = combine(before, totals[k]);
        }
    }
    return before;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
scan_rows(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y, global acc_t *carry,
          const struct scan_args args) {
    local acc_t quads[PADDED(QUADS)], segments[PARTS], blocks[PARTS];
#ifdef WHOLE
    const int share = GROUP;
#else
    const int share = (int)args.share;
#endif
    const int item = (int)get_local_id(0), lane = item & (share - 1);
    // Logarithms: quads of a tile, of a segment; segments of a block; blocks of a tile.
    const int tile_log = log2_of(share * N);
    const int segment_log = min(tile_log, 3), block_log = min(tile_log - segment_log, 4);
    const int blocks_log = tile_log - segment_log - block_log;

    const INDEX tiles = (INDEX)args.tiles;
    const INDEX unit = (INDEX)get_group_id(0) * (GROUP / share) + item / share;
    const bool exists = unit < args.kept.count * tiles;
    const INDEX row = exists ? unit / tiles : 0, tile = exists ? unit - row * tiles : 0;
    const INDEX start = tile * TILE;
    const INDEX length = exists ? min((INDEX)TILE, (INDEX)args.length - start) : 0;
    INDEX x_at, y_at;
    axes_offsets(&args.kept, row, &x_at, &y_at);
    global const STORAGE(X) *from = x + args.x_offset + x_at + start * (INDEX)args.x_stride;

    accv_t v[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
#ifdef WHOLE
        v[i] = load_accv(from + QUAD * (i * share + lane));
#else
        v[i] = load_quad(from, args.x_stride, IS_RUN, QUAD * (i * share + lane), length);
#endif
    }
    const int first = (item - lane) * N + lane; // of the group's quads
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[i] = quad_prefix(v[i]);
        quads[PADDED(first + i * share)] = v[i].s3;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = item; s < QUADS >> segment_log; s += GROUP)
        segments[s] = parts_before(quads + PADDED(s << segment_log), 1 << segment_log);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = item; b < QUADS >> (segment_log + block_log); b += GROUP)
        blocks[b] = parts_before(segments + (b << block_log), 1 << block_log);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        const acc_t before =
            parts_before(blocks + (first >> (segment_log + block_log)), 1 << blocks_log);
        if (exists && args.phase == PHASE_TOTALS) carry[args.carry_offset + unit] = before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (args.phase == PHASE_TOTALS) return;

    global STORAGE(Y) *to = y + args.y_offset + y_at + start * (INDEX)args.y_stride;
    const acc_t tiles_before =
        exists && args.phase == PHASE_REST ? carry[args.carry_offset + unit] : (acc_t)(IDENTITY);
#pragma unroll
    for (int i = 0; i < N; i++) {
        const int quad = first + i * share, segment = quad >> segment_log;
        acc_t before = combine(blocks[segment >> block_log], segments[segment]);
        before = combine(tiles_before, combine(before, quads[PADDED(quad)]));
        const accv_t results = quad_results(before, v[i], args.exclusive != 0);
#ifdef WHOLE
        STOREV(Y, to, QUAD * (i * share + lane), TO_YV(results));
#else
        store_quad(to, args.y_stride, IS_RUN, QUAD * (i * share + lane), length, results);
#endif
    }
}

// ---- columns ------------------------------------------------------------------------------------

#define COLUMNS 32
#define LANES_OF_COLUMN 8
#define STEP (LANES_OF_COLUMN * SEGMENT)
#define STEPS_OF_BLOCK (SCAN_BLOCK / STEP)

kernel __attribute__((reqd_work_group_size(COLUMNS *LANES_OF_COLUMN, 1, 1))) void
scan_columns(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
             global acc_t *carry, const struct scan_args args) {
    local acc_t totals[2][LANES_OF_COLUMN][COLUMNS];
    const int item = (int)get_local_id(0), place = item % COLUMNS, lane = item / COLUMNS;
    const INDEX width = (INDEX)args.kept.shape[0], strips = (width + COLUMNS - 1) / COLUMNS;
    const INDEX tiles = (INDEX)args.tiles, outer = (INDEX)args.kept.count / width;
    const INDEX group = (INDEX)get_group_id(0), wide = group / strips, tile = wide / outer;
    const INDEX inner = (group - wide * strips) * COLUMNS + place;
    const bool exists = inner < width;
    const INDEX column = (wide - tile * outer) * width + (exists ? inner : 0);
    const INDEX start = tile * TILE;
    const INDEX length = min((INDEX)TILE, (INDEX)args.length - start);
    const INDEX x_step = (INDEX)args.x_stride, y_step = (INDEX)args.y_stride;
    INDEX x_at, y_at;
    axes_offsets(&args.kept, column, &x_at, &y_at);
    global const STORAGE(X) *from = x + args.x_offset + x_at + start * x_step;
    global STORAGE(Y) *to = y + args.y_offset + y_at + start * y_step;
    const long carry_at = args.carry_offset + column * tiles + tile;
    const acc_t tiles_before =
        args.phase == PHASE_REST ? carry[carry_at] : (acc_t)(IDENTITY);

    acc_t blocks = IDENTITY, segments = IDENTITY;
    int step = 0;
    for (INDEX top = 0; top < length; top += STEP, step++) {
        const INDEX begin = top + lane * SEGMENT;
        const INDEX end = exists ? length : 0;
        acc_t v[SEGMENT];
#pragma unroll
        for (int k = 0; k < SEGMENT; k++)
            v[k] = begin + k < end ? load_acc(from + (begin + k) * x_step) : (acc_t)(IDENTITY);
        acc_t quads = IDENTITY;
#pragma unroll
        for (int q = 0; q < SEGMENT; q += QUAD) {
            const accv_t prefix = quad_prefix((accv_t)(v[q], v[q + 1], v[q + 2], v[q + 3]));
            v[q + 1] = prefix.s1, v[q + 2] = prefix.s2, v[q + 3] = prefix.s3;
            quads = combine(quads, prefix.s3);
        }
        totals[step & 1][lane][place] = quads;
        barrier(CLK_LOCAL_MEM_FENCE);
        acc_t mine = segments;
#pragma unroll
        for (int l = 0; l < LANES_OF_COLUMN; l++) {
            mine = l == lane ? segments : mine;
            segments = combine(segments, totals[step & 1][l][place]);
        }
        const acc_t base = combine(blocks, mine);
        if (step % STEPS_OF_BLOCK == STEPS_OF_BLOCK - 1) {
            blocks = combine(blocks, segments);
            segments = IDENTITY;
        }
        if (args.phase == PHASE_TOTALS) continue;
        quads = IDENTITY;
#pragma unroll
        for (int q = 0; q < SEGMENT; q += QUAD) {
            const acc_t before = combine(tiles_before, combine(base, quads));
            const accv_t prefix = (accv_t)(v[q], v[q + 1], v[q + 2], v[q + 3]);
            store_quad(to, args.y_stride, false, begin + q, end,
                       quad_results(before, prefix, args.exclusive != 0));
            quads = combine(quads, prefix.s3);
        }
    }
    if (args.phase == PHASE_TOTALS && lane == 0 && exists) carry[carry_at] = combine(blocks, segments);
}
