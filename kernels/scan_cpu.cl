#pragma OPENCL FP_CONTRACT OFF
// scan_cpu: running sums, products, maxima and minima along one axis, for CPUs.
//
//   scan_rows     a work-item walks along rows, a block at a time. The prefixes of quads, W / 4 of
//                 them to a vector, go to private memory, and their totals beside them. The totals
//                 are turned, so that a lane has a segment and all segments of a band add up their
//                 quads at the same time; what comes before each quad is turned back and joined to
//                 its prefixes. Short rows go element by element.
//   scan_columns  the axis is strided and neighbouring columns are contiguous: a work-item walks
//                 down strips of columns, a segment at a time, W columns to a vector.
// Few rows longer than a tile, and columns longer than a tile, take three steps: PHASE_TOTALS, a
// scan of the totals, PHASE_REST.
//
// Defines: those of scan_ops.clh.
#include "scan_ops.clh"

// ---- vectors of quads ---------------------------------------------------------------------------

#define IOTA_8 (0, 1, 2, 3, 4, 5, 6, 7)
#define IOTA_16 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define PLACE_IN_QUAD ((placev_t)CAT(IOTA_, W) & 3)

#define SECOND_8 s11115555 // the second of each quad, to all of it
#define SECOND_16 s111155559999dddd
#define BEHIND_8 s00124456 // each to the next place of its quad
#define BEHIND_16 s00124456889accde
#define LAST_8 s37 // of each quad
#define LAST_16 s37bf
#define SPREAD_8 s00001111 // one to a quad
#define SPREAD_16 s0000111122223333
#define BACKWARDS_8 s76543210
#define BACKWARDS_16 sfedcba9876543210
#define VECTOR_QUADS_8 2
#define VECTOR_QUADS_16 4
#define SWIZZLE(name) CAT(CAT(name, _), W)
#define VECTOR_QUADS SWIZZLE(VECTOR_QUADS)

static inline accv_t get(const acc_t *values, int i) { return CAT(vload, W)(0, values + i); }

static inline accv_t quad_prefixes(accv_t v) {
    accv_t first, pairs;
    first.even = v.even, first.odd = v.even;
    pairs = PLACE_IN_QUAD % 2 != 0 ? combinev(first, v) : v;
    return PLACE_IN_QUAD >= 2 ? combinev(pairs.SWIZZLE(SECOND), pairs) : pairs;
}

// The results of a vector's quads from what comes before each of them.
static inline accv_t quad_results(const acc_t *before, accv_t prefixes, bool exclusive) {
    const accv_t carried = CAT(vload, VECTOR_QUADS)(0, before).SWIZZLE(SPREAD);
    const accv_t v = combinev(carried, prefixes);
    return exclusive ? SHOWN(PLACE_IN_QUAD == 0 ? carried : v.SWIZZLE(BEHIND)) : v;
}

// ---- a block of a row ---------------------------------------------------------------------------

// The part of a row that a call of scan_tile does.
struct piece {
    global const STORAGE(X) *x;
    global STORAGE(Y) *y;
    long x_stride, y_stride;
    bool exclusive, is_total; // is_total: nothing is written
    bool stream;
};

#define BLOCK_QUADS (SCAN_BLOCK / QUAD)
#define BAND (W * SEGMENT_QUADS) // quads of W segments

// Elements i .. i + W - 1 of a row of `length`; identity past its end.
static inline accv_t load_elements(const struct piece *piece, int i, int length) {
    if (piece->x_stride == 1 && i + W <= length) return load_accv(piece->x + i);
    if (piece->x_stride == -1 && i + W <= length)
        return load_accv(piece->x - i - (W - 1)).SWIZZLE(BACKWARDS);
    acc_t lanes[W];
    for (int k = 0; k < W; k++)
        lanes[k] = i + k < length ? load_acc(piece->x + (i + k) * piece->x_stride)
                                  : (acc_t)(IDENTITY);
    return get(lanes, 0);
}

static inline void store_elements(const struct piece *piece, int i, int length, accv_t v) {
    if (piece->y_stride == 1 && i + W <= length) {
        if (piece->stream)
            STREAMV(Y, piece->y, i, TO_YV(v));
        else
            STOREV(Y, piece->y, i, TO_YV(v));
        return;
    }
    if (piece->y_stride == -1 && i + W <= length) {
        STOREV(Y, piece->y, -i - (W - 1), TO_YV(v.SWIZZLE(BACKWARDS)));
        return;
    }
    acc_t lanes[W];
    keep_accv(lanes, v);
    for (int k = 0; k < W && i + k < length; k++)
        STORE(Y, piece->y, (i + k) * piece->y_stride, (MATH(Y))lanes[k]);
}

// Eight vectors as memory has them: the lanes of all that are j modulo 8 become vector j.
static inline void part_by_8(accv_t v[8]) {
#pragma unroll
    for (int level = 0; level < 3; level++) {
        accv_t even[4], odd[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            even[k] = (accv_t)(v[2 * k].even, v[2 * k + 1].even);
            odd[k] = (accv_t)(v[2 * k].odd, v[2 * k + 1].odd);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) v[k] = even[k], v[k + 4] = odd[k];
    }
}

// The way back.
static inline void join_8(accv_t v[8]) {
#pragma unroll
    for (int level = 0; level < 3; level++) {
        accv_t joined[8];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            joined[2 * k].even = v[k].lo, joined[2 * k].odd = v[k + 4].lo;
            joined[2 * k + 1].even = v[k].hi, joined[2 * k + 1].odd = v[k + 4].hi;
        }
#pragma unroll
        for (int k = 0; k < 8; k++) v[k] = joined[k];
    }
}

// Turns the totals of a band's quads into what comes before each of them; returns `segments`, what
// comes before the band in its block, joined with the band's total.
static inline acc_t scan_band(acc_t *quads, acc_t before, acc_t blocks, acc_t segments) {
    accv_t v[SEGMENT_QUADS], sum = (accv_t)(IDENTITY);
    acc_t lanes[W];
#pragma unroll
    for (int k = 0; k < SEGMENT_QUADS; k++) v[k] = get(quads, k * W);
    part_by_8(v);
#pragma unroll
    for (int k = 0; k < SEGMENT_QUADS; k++) {
        const accv_t total = v[k];
        v[k] = sum;
        sum = combinev(sum, total);
    }
    keep_accv(lanes, sum);
#pragma unroll
    for (int k = 0; k < W; k++) {
        const acc_t total = lanes[k];
        lanes[k] = segments;
        segments = combine(segments, total);
    }
    const accv_t base = combinev((accv_t)blocks, get(lanes, 0));
#pragma unroll
    for (int k = 0; k < SEGMENT_QUADS; k++)
        v[k] = combinev((accv_t)before, combinev(base, v[k]));
    join_8(v);
#pragma unroll
    for (int k = 0; k < SEGMENT_QUADS; k++) keep_accv(quads + k * W, v[k]);
    return segments;
}

#define AHEAD (4096 / (int)sizeof(STORAGE(X))) // elements that are on their way

// Up to a block, the elements from `start` on; returns its total.
static inline acc_t scan_block(const struct piece *piece, int start, int length, acc_t before,
                               acc_t blocks) {
    acc_t prefixes[SCAN_BLOCK], quads[BLOCK_QUADS], segments = IDENTITY;
    const int count = min(SCAN_BLOCK, length - start);
    int i = 0;
    for (; i < count; i += W) {
        FETCH_LINE(piece->x + start + i + AHEAD);
        const accv_t v = quad_prefixes(load_elements(piece, start + i, length));
        keep_accv(prefixes + i, v);
        CAT(vstore, VECTOR_QUADS)(v.SWIZZLE(LAST), 0, quads + i / QUAD);
    }
    for (; i < SCAN_BLOCK; i += QUAD) quads[i / QUAD] = IDENTITY;
    for (int band = 0; band < BLOCK_QUADS; band += BAND)
        segments = scan_band(quads + band, before, blocks, segments);
    if (piece->is_total) return segments;
    for (i = 0; i < count; i += W)
        store_elements(piece, start + i, length,
                       quad_results(quads + i / QUAD, get(prefixes, i), piece->exclusive));
    return segments;
}

// Up to TILE elements; returns their total.
static inline acc_t scan_tile(const struct piece *piece, int length, acc_t before) {
    acc_t blocks = IDENTITY;
    for (int i = 0; i < length; i += SCAN_BLOCK)
        blocks = combine(blocks, scan_block(piece, i, length, before, blocks));
    return blocks;
}

// ---- rows ---------------------------------------------------------------------------------------

#define SHORT 64 // elements of a row, within a block, that are not worth vectors

static inline void scan_short(const struct piece *piece, int length) {
    acc_t segments = IDENTITY, quads = IDENTITY;
    acc_t prefix = IDENTITY, pair = IDENTITY, last = IDENTITY;
    acc_t before = IDENTITY;
    for (int i = 0; i < length; i++) {
        const acc_t v = load_acc(piece->x + i * piece->x_stride);
        if (i % SEGMENT == 0) segments = combine(segments, quads), quads = IDENTITY;
        switch (i % QUAD) {
        case 0: prefix = v; break;
        case 1: prefix = pair = combine(prefix, v); break;
        case 2: prefix = combine(pair, last = v); break;
        default: prefix = combine(pair, combine(last, v)); break;
        }
        const acc_t carried = combine(segments, quads);
        if (i % QUAD == 0) before = carried;
        const acc_t result = combine(carried, prefix);
        STORE(Y, piece->y, i * piece->y_stride,
              (MATH(Y))(piece->exclusive ? SHOWN(before) : result));
        before = result;
        if (i % QUAD == QUAD - 1) quads = combine(quads, prefix);
    }
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
                          .exclusive = args.exclusive != 0,
                          .is_total = args.phase == PHASE_TOTALS};
    for (long unit = begin; unit < end; unit++) {
        const long row = unit / tiles, start = (unit - row * tiles) * TILE;
        long x_at, y_at;
        axes_offsets(&args.kept, row, &x_at, &y_at);
        piece.x = x + args.x_offset + x_at + start * args.x_stride;
        piece.y = y + args.y_offset + y_at + start * args.y_stride;
        piece.stream = args.stream != 0 && IS_STREAMABLE(piece.y);
        if (args.phase == PHASE_WHOLE && args.length <= SHORT) {
            scan_short(&piece, (int)args.length);
            continue;
        }
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

#define STRIP 1024
#define COLUMNS_AHEAD (2 * LINE_BYTES / (int)sizeof(STORAGE(X))) // on their way

// What is known of each column of a strip.
struct strip {
    acc_t before[STRIP], base[STRIP], blocks[STRIP], segments[STRIP];
};

static inline accv_t load_columns(global const STORAGE(X) *x, int left) {
    return left < W ? load_acc_part(x, left) : load_accv(x);
}

static inline void store_columns(global STORAGE(Y) *y, int left, accv_t v, bool stream) {
    if (left >= W) {
        if (stream)
            STREAMV(Y, y, 0, TO_YV(v));
        else
            STOREV(Y, y, 0, TO_YV(v));
        return;
    }
    acc_t lanes[W];
    keep_accv(lanes, v);
    for (int i = 0; i < left; i++) STORE(Y, y, i, (MATH(Y))lanes[i]);
}

// Up to four rows of W columns, of which `left` exist; returns their total.
static inline accv_t do_rows(accv_t before, int left, int rows, global const STORAGE(X) *x,
                             global STORAGE(Y) *y, const struct scan_args *args, bool stream) {
    const long xs = args->x_stride, ys = args->y_stride;
    const accv_t none = (accv_t)(IDENTITY);
    const accv_t p0 = load_columns(x, left);
    const accv_t p1 = combinev(p0, rows > 1 ? load_columns(x + xs, left) : none);
    const accv_t third = rows > 2 ? load_columns(x + 2 * xs, left) : none;
    const accv_t fourth = rows > 3 ? load_columns(x + 3 * xs, left) : none;
    const accv_t p2 = combinev(p1, third), p3 = combinev(p1, combinev(third, fourth));
    if (args->phase == PHASE_TOTALS) return p3;
    const accv_t r0 = combinev(before, p0), r1 = combinev(before, p1), r2 = combinev(before, p2);
    const bool exclusive = args->exclusive != 0;
    store_columns(y, left, exclusive ? SHOWN(before) : r0, stream);
    if (rows > 1) store_columns(y + ys, left, exclusive ? SHOWN(r0) : r1, stream);
    if (rows > 2) store_columns(y + 2 * ys, left, exclusive ? SHOWN(r1) : r2, stream);
    if (rows > 3)
        store_columns(y + 3 * ys, left, exclusive ? SHOWN(r2) : combinev(before, p3), stream);
    return p3;
}

// A segment of W columns from c on; returns its total.
static inline accv_t do_segment(const struct strip *s, int c, int left, int rows,
                                global const STORAGE(X) *x, global STORAGE(Y) *y,
                                const struct scan_args *args, bool stream) {
    const accv_t before = get(s->before, c), base = get(s->base, c);
    accv_t quads = (accv_t)(IDENTITY);
    for (int r = 0; r < rows; r += QUAD) {
        const accv_t carried = combinev(before, combinev(base, quads));
        accv_t total;
        if (left >= W && rows - r >= QUAD) {
#pragma unroll
            for (int k = 0; k < QUAD; k++) FETCH_LINE(x + k * args->x_stride + COLUMNS_AHEAD);
            total = do_rows(carried, W, QUAD, x, y, args, stream);
        } else {
            total = do_rows(carried, left, rows - r, x, y, args, false);
        }
        quads = combinev(quads, total);
        x += QUAD * args->x_stride;
        y += QUAD * args->y_stride;
    }
    return quads;
}

// A segment of all columns.
static inline void scan_segment(struct strip *s, int width, int rows, bool ends_block,
                                global const STORAGE(X) *x, global STORAGE(Y) *y,
                                const struct scan_args *args, bool stream) {
    for (int c = 0; c < width; c += W) {
        const accv_t quads = do_segment(s, c, width - c, rows, x + c, y + c, args, stream);
        accv_t blocks = get(s->blocks, c), segments = combinev(get(s->segments, c), quads);
        if (ends_block) {
            blocks = combinev(blocks, segments);
            segments = (accv_t)(IDENTITY);
        }
        keep_accv(s->blocks + c, blocks);
        keep_accv(s->segments + c, segments);
        keep_accv(s->base + c, combinev(blocks, segments));
    }
}

// Rows lie apart: what does not fill a line waits for its rest too long to be put past the caches.
static inline void scan_strip(struct strip *s, int width, int length,
                              global const STORAGE(X) *x, global STORAGE(Y) *y,
                              const struct scan_args *args) {
    const bool fills_lines = W * sizeof(*y) >= LINE_BYTES;
    const bool stream =
        args->stream != 0 && fills_lines && IS_STREAMABLE(y) && args->y_stride % W == 0;
    for (int r = 0; r < length; r += SEGMENT)
        scan_segment(s, width, min(SEGMENT, length - r), (r + SEGMENT) % SCAN_BLOCK == 0,
                     x + r * args->x_stride, y + r * args->y_stride, args, stream);
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
        for (int c = 0; c < (count + W - 1) / W * W; c++) {
            const bool has_before = args.phase == PHASE_REST && c < count;
            s.before[c] = has_before ? carried[c * args.tiles] : (acc_t)(IDENTITY);
            s.base[c] = s.blocks[c] = s.segments[c] = IDENTITY;
        }
        scan_strip(&s, count, (int)min((long)TILE, args.length - start),
                   x + args.x_offset + x_at + start * args.x_stride,
                   y + args.y_offset + y_at + start * args.y_stride, &args);
        if (args.phase == PHASE_TOTALS)
            for (int c = 0; c < count; c++) carried[c * args.tiles] = s.base[c];
    }
}
