#pragma OPENCL FP_CONTRACT OFF
// scan_cpu: running sums, products, maxima and minima along one axis, for CPUs.
//
//   scan_rows     a work-item walks along rows, or along tiles of rows.
//   scan_columns  the axis is strided and neighbouring columns are contiguous: a work-item walks
//                 down strips of columns, four rows at a time, W columns to a vector.
// Few rows longer than a tile, and columns longer than a tile, take three steps: PHASE_TOTALS, a
// scan of the totals, PHASE_REST. The segments of a row depend on each other by a single addition,
// so a CPU has several of them under way.
//
// Defines: those of scan_ops.clh.
#include "scan_ops.clh"

// ---- rows ---------------------------------------------------------------------------------------

// The part of a row that a call of scan_tile does.
struct piece {
    global const STORAGE(X) *x;
    global STORAGE(Y) *y;
    long x_stride, y_stride;
    bool x_run, y_run, exclusive, is_total; // is_total: nothing is written
};

static inline acc_t do_quad(const struct piece *piece, int i, int length, acc_t before, acc_t base,
                            acc_t quads) {
    const accv_t prefix =
        quad_prefix(load_quad(piece->x, piece->x_stride, piece->x_run, i, length));
    if (!piece->is_total)
        store_quad(piece->y, piece->y_stride, piece->y_run, i, length,
                   quad_results(combine(before, combine(base, quads)), prefix, piece->exclusive));
    return combine(quads, prefix.s3);
}

// Up to TILE elements; returns their total.
static inline acc_t scan_tile(const struct piece *piece, int length, acc_t before) {
    acc_t blocks = IDENTITY, segments = IDENTITY;
    const bool is_plain = piece->x_run && piece->y_run && piece->x_stride > 0 &&
                          piece->y_stride > 0 && !piece->exclusive && !piece->is_total;
    for (int i = 0; i < length;) {
        const acc_t base = combine(blocks, segments);
        acc_t quads = IDENTITY;
        if (is_plain && i + SEGMENT <= length) {
#pragma unroll
            for (int q = 0; q < SEGMENT; q += QUAD) {
                const accv_t prefix = quad_prefix(load_accv(piece->x + i + q));
                const acc_t carried = combine(before, combine(base, quads));
                STOREV(Y, piece->y, i + q, TO_YV(combinev((accv_t)carried, prefix)));
                quads = combine(quads, prefix.s3);
            }
            i += SEGMENT;
        } else {
            const int end = min(i + SEGMENT, length);
            for (; i < end; i += QUAD) quads = do_quad(piece, i, length, before, base, quads);
        }
        segments = combine(segments, quads);
        if (i % SCAN_BLOCK == 0) {
            blocks = combine(blocks, segments);
            segments = IDENTITY;
        }
    }
    return combine(blocks, segments);
}

// A scan of totals, one by one: level 0 of tiles, level 1 of TILE tiles, and so on.
#define LEVELS 4
struct level {
    acc_t pair, last, prefix, quads, segments, blocks;
    int count;
};

static inline void clear_level(struct level *level) {
    level->prefix = level->quads = level->segments = level->blocks = IDENTITY;
    level->pair = level->last = IDENTITY;
    level->count = 0;
}

static inline acc_t level_total(const struct level *level) {
    return combine(combine(combine(level->blocks, level->segments), level->quads), level->prefix);
}

static inline void add_total(struct level *level, acc_t total) {
    switch (level->count++ % QUAD) {
    case 0: level->prefix = total; break;
    case 1: level->prefix = level->pair = combine(level->prefix, total); break;
    case 2:
        level->last = total;
        level->prefix = combine(level->pair, total);
        break;
    default:
        level->prefix = combine(level->pair, combine(level->last, total));
        level->quads = combine(level->quads, level->prefix);
        level->prefix = IDENTITY;
        break;
    }
    if (level->count % SEGMENT == 0) {
        level->segments = combine(level->segments, level->quads);
        level->quads = IDENTITY;
    }
    if (level->count % SCAN_BLOCK == 0) {
        level->blocks = combine(level->blocks, level->segments);
        level->segments = IDENTITY;
    }
}

// What comes before the next tile: the results of all levels, the outermost first.
static inline acc_t levels_before(struct level *levels, acc_t total) {
    int top = 0;
    for (; top < LEVELS; top++) {
        add_total(&levels[top], total);
        if (levels[top].count < TILE) break;
        total = levels[top].blocks;
        clear_level(&levels[top]);
    }
    acc_t before = IDENTITY;
    for (int i = LEVELS - 1; i >= 0; i--) {
        const struct level *l = &levels[i];
        const acc_t inner = combine(combine(l->blocks, l->segments), l->quads);
        before = combine(combine(before, inner), l->prefix);
    }
    return before;
}

static inline void scan_row(struct piece *piece, const struct scan_args *args) {
    struct level levels[LEVELS];
    acc_t before = IDENTITY;
    for (int i = 0; i < LEVELS; i++) clear_level(&levels[i]);
    for (long i = 0; i < args->length; i += TILE) {
        const acc_t total = scan_tile(piece, (int)min((long)TILE, args->length - i), before);
        if (args->length > TILE) before = levels_before(levels, total);
        piece->x += TILE * piece->x_stride;
        piece->y += TILE * piece->y_stride;
    }
}

kernel void scan_rows(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
                      global acc_t *carry, const struct scan_args args) {
    const long tiles = args.phase == PHASE_WHOLE ? 1 : args.tiles;
    const long begin = (long)get_global_id(0) * args.share;
    const long end = min(begin + args.share, args.kept.count * tiles);
    struct piece piece = {.x_stride = args.x_stride,
                          .y_stride = args.y_stride,
                          .x_run = args.x_stride == 1 || args.x_stride == -1,
                          .y_run = args.y_stride == 1 || args.y_stride == -1,
                          .exclusive = args.exclusive != 0,
                          .is_total = args.phase == PHASE_TOTALS};
    for (long unit = begin; unit < end; unit++) {
        const long row = unit / tiles, start = (unit - row * tiles) * TILE;
        long x_at, y_at;
        axes_offsets(&args.kept, row, &x_at, &y_at);
        piece.x = x + args.x_offset + x_at + start * args.x_stride;
        piece.y = y + args.y_offset + y_at + start * args.y_stride;
        if (args.phase == PHASE_WHOLE) {
            scan_row(&piece, &args);
            continue;
        }
        const long at = args.carry_offset + unit;
        const acc_t before = piece.is_total ? (acc_t)(IDENTITY) : carry[at];
        const acc_t total =
            scan_tile(&piece, (int)min((long)TILE, args.length - start), before);
        if (piece.is_total) carry[at] = total;
    }
}

// ---- columns ------------------------------------------------------------------------------------

#define STRIP 256

// What is known of each column of a strip.
struct strip {
    acc_t before[STRIP], base[STRIP], blocks[STRIP], segments[STRIP], quads[STRIP];
};

static inline accv_t get(const acc_t *values, int c) { return CAT(vload, W)(0, values + c); }
static inline void put(acc_t *values, int c, accv_t v) { CAT(vstore, W)(v, 0, values + c); }

static inline accv_t load_columns(global const STORAGE(X) *x, int left) {
    return left < W ? load_acc_part(x, left) : load_accv(x);
}

static inline void store_columns(global STORAGE(Y) *y, int left, accv_t v) {
    if (left >= W) {
        STOREV(Y, y, 0, TO_YV(v));
        return;
    }
    acc_t lanes[W];
    put(lanes, 0, v);
    for (int i = 0; i < left; i++) STORE(Y, y, i, (MATH(Y))lanes[i]);
}

// Up to four rows of W columns, of which `left` exist.
static inline void do_rows(struct strip *s, int c, int left, int rows,
                           global const STORAGE(X) *x, global STORAGE(Y) *y,
                           const struct scan_args *args) {
    const long xs = args->x_stride, ys = args->y_stride;
    const accv_t none = (accv_t)(IDENTITY);
    const accv_t p0 = load_columns(x, left);
    const accv_t p1 = combinev(p0, rows > 1 ? load_columns(x + xs, left) : none);
    const accv_t third = rows > 2 ? load_columns(x + 2 * xs, left) : none;
    const accv_t fourth = rows > 3 ? load_columns(x + 3 * xs, left) : none;
    const accv_t p2 = combinev(p1, third), p3 = combinev(p1, combinev(third, fourth));
    const accv_t quads = get(s->quads, c);
    put(s->quads, c, combinev(quads, p3));
    if (args->phase == PHASE_TOTALS) return;
    const accv_t before = combinev(get(s->before, c), combinev(get(s->base, c), quads));
    const accv_t r0 = combinev(before, p0), r1 = combinev(before, p1), r2 = combinev(before, p2);
    const bool exclusive = args->exclusive != 0;
    store_columns(y, left, exclusive ? SHOWN(before) : r0);
    if (rows > 1) store_columns(y + ys, left, exclusive ? SHOWN(r0) : r1);
    if (rows > 2) store_columns(y + 2 * ys, left, exclusive ? SHOWN(r1) : r2);
    if (rows > 3)
        store_columns(y + 3 * ys, left, exclusive ? SHOWN(r2) : combinev(before, p3));
}

// The row that comes next begins a segment.
static inline void end_segment(struct strip *s, int width, bool ends_block) {
    const accv_t none = (accv_t)(IDENTITY);
    for (int c = 0; c < width; c += W) {
        accv_t blocks = get(s->blocks, c), segments = combinev(get(s->segments, c), get(s->quads, c));
        if (ends_block) {
            blocks = combinev(blocks, segments);
            segments = none;
        }
        put(s->blocks, c, blocks);
        put(s->segments, c, segments);
        put(s->base, c, combinev(blocks, segments));
        put(s->quads, c, none);
    }
}

static inline void scan_strip(struct strip *s, int width, int length,
                              global const STORAGE(X) *x, global STORAGE(Y) *y,
                              const struct scan_args *args) {
    for (int r = 0; r < length; r += QUAD) {
        for (int c = 0; c < width; c += W)
            do_rows(s, c, width - c, length - r, x + r * args->x_stride + c,
                    y + r * args->y_stride + c, args);
        const int next = r + QUAD;
        if (next % SEGMENT == 0 || next >= length) end_segment(s, width, next % SCAN_BLOCK == 0);
    }
}

kernel void scan_columns(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
                         global acc_t *carry, const struct scan_args args) {
    struct strip s;
    const long width = args.kept.shape[0], strips = (width + args.strip - 1) / args.strip;
    const long units = args.kept.count / width * strips * args.tiles;
    const long begin = (long)get_global_id(0) * args.share, end = min(begin + args.share, units);
    for (long unit = begin; unit < end; unit++) {
        const long wide = unit / args.tiles, tile = unit - wide * args.tiles;
        const long outer = wide / strips, inner = (wide - outer * strips) * args.strip;
        const long column = outer * width + inner, start = tile * TILE;
        const int count = (int)min(args.strip, width - inner);
        global acc_t *carried = carry + args.carry_offset + column * args.tiles + tile;
        long x_at, y_at;
        axes_offsets(&args.kept, column, &x_at, &y_at);
        for (int c = 0; c < STRIP; c++) {
            const bool has_before = args.phase == PHASE_REST && c < count;
            s.before[c] = has_before ? carried[c * args.tiles] : (acc_t)(IDENTITY);
            s.base[c] = s.blocks[c] = s.segments[c] = s.quads[c] = IDENTITY;
        }
        scan_strip(&s, count, (int)min((long)TILE, args.length - start),
                   x + args.x_offset + x_at + start * args.x_stride,
                   y + args.y_offset + y_at + start * args.y_stride, &args);
        if (args.phase == PHASE_TOTALS)
            for (int c = 0; c < count; c++) carried[c * args.tiles] = s.base[c];
    }
}
