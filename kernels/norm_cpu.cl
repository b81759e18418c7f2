#pragma OPENCL FP_CONTRACT OFF
// norm_cpu: normalisations along contiguous rows and their gradients, for CPUs. The formulas are in
// norm_ops.clh.
//
//   norm_rows     some rows per work-item, each walked once per sum and once for the result; after
//                 the first walk a row of usual length is in the caches. Normalised rows go through
//                 these walks side by side, each a walk behind the one before it, so that memory is
//                 busy all the time. The tree of the sums is that of reduce_ops.clh.
//   norm_columns  the sums over rows of g and of g z, for the gradients of beta and gamma: a
//                 work-item takes a tile of columns of CHUNK rows
//
// Defines: those of norm_ops.clh and of reduce_ops.clh (OP is op_sum; X and Y are the same; INDEX is
// long)
#include "types.clh"
#include "axes.clh"
#include "math.clh"
#include "reduce_ops.clh"
#include "reduce_states.clh"
#include "norm_ops.clh"

struct norm_args {
    struct axes rows;   // x and y strides, in row-major order
    struct axes g_rows; // the same rows: g strides as x
    long length;        // of a row
    long x_offset, g_offset, gamma_offset, beta_offset, y_offset, stats_offset, partials_offset;
    long chunks; // norm_columns: of rows
    long items;  // norm_rows: rows of a work-item
    long stream; // norm_rows: stores should bypass the caches
};

#define ACCUMULATORS (LANES / W)

// A row and what is known of it.
struct row {
    global const STORAGE(X) *x, *g, *gamma, *beta;
    long length;
    acc_t mean, rstd;
};

#define WHOLE(p) load_accv(p)
#define PART(p) load_acc_part(p, left)

#define NORMALISED(LOADER, at) ((LOADER(row->x + (at)) - row->mean) * row->rstd)
#if HAS_GAMMA
#define SCALED_G(LOADER, at) (LOADER(row->g + (at)) * LOADER(row->gamma + (at)))
#else
#define SCALED_G(LOADER, at) LOADER(row->g + (at))
#endif
#define TERM_X(LOADER, at) LOADER(row->x + (at))
#define TERM_SQUARE(LOADER, at) squared(LOADER(row->x + (at)) - row->mean)
#define TERM_0(LOADER, at) TERM0(NORMALISED(LOADER, at), SCALED_G(LOADER, at))
#define TERM_1(LOADER, at) TERM1(NORMALISED(LOADER, at), SCALED_G(LOADER, at))
static inline accv_t squared(accv_t v) { return v * v; }

#if IS_BACKWARD

// The sum of a row's terms; meanwhile `next` arrives, elements that come later.
#define SUM_BODY(NAME, TERM)                                                                       \
    static inline acc_t NAME(const struct row *row, global const STORAGE(X) *next) {               \
        struct block_stack stack;                                                                  \
        stack.count = 0, stack.top = 0;                                                            \
        for (long r = 0; r < row->length; r += BLOCK) {                                            \
            const long end = min(r + BLOCK, row->length);                                          \
            accv_t s[ACCUMULATORS];                                                                \
            _Pragma("unroll") for (int j = 0; j < ACCUMULATORS; j++) s[j] = (accv_t)0;             \
            long i = r;                                                                            \
            for (; i + LANES <= end; i += LANES) {                                                 \
                _Pragma("unroll") for (int k = 0; k < LANES;                                       \
                                       k += LINE_BYTES / (int)sizeof(*next))                       \
                    FETCH_LINE(next + i + k);                                                      \
                _Pragma("unroll") for (int j = 0; j < ACCUMULATORS; j++)                           \
                    s[j] += TERM(WHOLE, i + j * W);                                                \
            }                                                                                      \
            _Pragma("unroll") for (int j = 0; j < ACCUMULATORS; j++) {                             \
                const int left = (int)(end - i) - j * W;                                           \
                if (left >= W)                                                                     \
                    s[j] += TERM(WHOLE, i + j * W);                                                \
                else if (left > 0)                                                                 \
                    s[j] += IOTA < left ? TERM(PART, i + j * W) : (accv_t)0;                       \
            }                                                                                      \
            _Pragma("unroll") for (int h = ACCUMULATORS / 2; h > 0; h >>= 1)                       \
                _Pragma("unroll") for (int j = 0; j < h; j++) s[j] += s[j + h];                    \
            stack_push(&stack, FOLD(s[0]));                                                        \
        }                                                                                          \
        return stack_result(&stack);                                                               \
    }
#if IS_CENTERED
SUM_BODY(sum_of_x, TERM_X)
#endif
#if IS_SCALED
SUM_BODY(sum_of_squares, TERM_SQUARE)
#endif
SUM_BODY(sum_of_0, TERM_0)
#if IS_SCALED
SUM_BODY(sum_of_1, TERM_1)
#endif

#endif // IS_BACKWARD

// W results.
#if IS_BACKWARD
#define RESULT(LOADER, at)                                                                         \
    GRADIENT(CAT(EXPV_, ACC), NORMALISED(LOADER, at), SCALED_G(LOADER, at), row->rstd, sums)
#elif HAS_BETA && HAS_GAMMA
#define RESULT(LOADER, at)                                                                         \
    fma(NORMALISED(LOADER, at), LOADER(row->gamma + (at)), LOADER(row->beta + (at)))
#elif HAS_BETA
#define RESULT(LOADER, at) (NORMALISED(LOADER, at) + LOADER(row->beta + (at)))
#elif HAS_GAMMA
#define RESULT(LOADER, at) (NORMALISED(LOADER, at) * LOADER(row->gamma + (at)))
#else
#define RESULT(LOADER, at) NORMALISED(LOADER, at)
#endif

#if IS_BACKWARD

static inline void store_row(global STORAGE(X) *y, const struct row *row, acc2_t sums,
                             bool stream) {
    long i = 0;
    if (stream && IS_STREAMABLE(y))
        for (; i + W <= row->length; i += W) STREAMV(X, y, i, RESULT(WHOLE, i));
    for (; i + W <= row->length; i += W) {
        const accv_t v = RESULT(WHOLE, i);
        STOREV(X, y, i, v);
    }
    const int left = (int)(row->length - i);
    if (left == 0) return;
    acc_t lanes[W];
    CAT(vstore, W)(RESULT(PART, i), 0, lanes);
    for (int k = 0; k < left; k++) STORE(X, y, i + k, lanes[k]);
}

#else // ---- normalised rows, side by side --------------------------------------------------------

// Three rows that follow each other: the first one is summed up for its mean, the second one for its
// squares, the third one is written. length 0: there is none.
struct walk {
    struct row first, second, third;
    global STORAGE(X) *y; // of the third one
    bool stream;
};

#define AHEAD (8192 / (int)sizeof(STORAGE(X)))      // elements that are on their way
#define NEAR_ROW (262144 / (int)sizeof(STORAGE(X))) // the caches hold three such rows

#if IS_CENTERED
#define ARRIVING first
#define BEHIND 2 // rows between the one that arrives and the third one
#else
#define ARRIVING second
#define BEHIND 1
#endif

static inline accv_t normalised(const struct row *row, long i) { return RESULT(WHOLE, i); }

static inline accv_t normalised_part(const struct row *row, long i, int left) {
    return RESULT(PART, i);
}

// W elements of each row from i on.
static inline void advance(const struct walk *walk, long i, accv_t *sum, accv_t *squares) {
    if (walk->first.length > 0) *sum += load_accv(walk->first.x + i);
    if (walk->second.length > 0)
        *squares += squared(load_accv(walk->second.x + i) - walk->second.mean);
    if (walk->third.length > 0 && walk->stream)
        STREAMV(X, walk->y, i, normalised(&walk->third, i));
    else if (walk->third.length > 0)
        STOREV(X, walk->y, i, normalised(&walk->third, i));
}

// The same of the last `left` (< W) elements.
static inline void advance_part(const struct walk *walk, long i, int left, accv_t *sum,
                                accv_t *squares) {
    const accv_t none = (accv_t)0;
    if (walk->first.length > 0)
        *sum += IOTA < left ? load_acc_part(walk->first.x + i, left) : none;
    if (walk->second.length > 0) {
        const accv_t v = load_acc_part(walk->second.x + i, left) - walk->second.mean;
        *squares += IOTA < left ? squared(v) : none;
    }
    if (walk->third.length > 0) {
        acc_t lanes[W];
        keep_accv(lanes, normalised_part(&walk->third, i, left));
        for (int k = 0; k < left; k++) STORE(X, walk->y, i + k, lanes[k]);
    }
}

static inline acc_t join_lanes(accv_t s[ACCUMULATORS]) {
#pragma unroll
    for (int h = ACCUMULATORS / 2; h > 0; h >>= 1)
#pragma unroll
        for (int j = 0; j < h; j++) s[j] += s[j + h];
    return FOLD(s[0]);
}

// Up to a block of each row.
static inline void advance_block(const struct walk *walk, long start, long end,
                                 struct block_stack *sums, struct block_stack *squares) {
    accv_t a[ACCUMULATORS], b[ACCUMULATORS];
    long i = start;
#pragma unroll
    for (int j = 0; j < ACCUMULATORS; j++) a[j] = b[j] = (accv_t)0;
    for (; i + LANES <= end; i += LANES) {
#pragma unroll
        for (int k = 0; k < LANES; k += LINE_BYTES / (int)sizeof(STORAGE(X)))
            FETCH_LINE(walk->ARRIVING.x + i + k + AHEAD);
#pragma unroll
        for (int j = 0; j < ACCUMULATORS; j++) advance(walk, i + j * W, &a[j], &b[j]);
    }
#pragma unroll
    for (int j = 0; j < ACCUMULATORS; j++) {
        const int left = (int)(end - i) - j * W;
        if (left >= W)
            advance(walk, i + j * W, &a[j], &b[j]);
        else if (left > 0)
            advance_part(walk, i + j * W, left, &a[j], &b[j]);
    }
    stack_push(sums, join_lanes(a));
    stack_push(squares, join_lanes(b));
}

// The rows of a work-item, and a turn or two for the last of them to come through.
static inline void do_rows(struct walk *walk, const struct norm_args *args, long begin, long end,
                           global const STORAGE(X) *x, global STORAGE(X) *y, acc_t eps) {
    const acc_t part = 1 / (acc_t)args->length;
    for (long i = begin; i < end + BEHIND; i++) {
        struct block_stack sums, squares;
        sums.count = squares.count = 0, sums.top = squares.top = 0;
        long x_at, y_at;
        axes_offsets(&args->rows, min(i, end - 1), &x_at, &y_at);
        walk->ARRIVING.x = x + x_at;
        walk->ARRIVING.length = i < end ? args->length : 0;
        axes_offsets(&args->rows, max(i - BEHIND, begin), &x_at, &y_at);
        walk->y = y + y_at;
        walk->stream = args->stream != 0 && IS_STREAMABLE(walk->y);
        for (long r = 0; r < args->length; r += BLOCK)
            advance_block(walk, r, min(r + BLOCK, args->length), &sums, &squares);
        walk->third = walk->second;
        walk->third.rstd = 1 / sqrt(stack_result(&squares) * part + eps);
#if IS_CENTERED
        walk->second = walk->first;
        walk->second.mean = stack_result(&sums) * part;
#endif
    }
}

#endif // IS_BACKWARD

kernel void norm_rows(global const STORAGE(X) *restrict x, global const STORAGE(X) *restrict g,
                      global const STORAGE(X) *restrict gamma,
                      global const STORAGE(X) *restrict beta, global STORAGE(X) *restrict y,
                      global acc2_t *restrict stats, const struct norm_args args,
                      const acc_t eps) {
    const long begin = (long)get_global_id(0) * args.items;
    const long end = min(begin + args.items, args.rows.count);
#if !IS_BACKWARD
    const struct row none = {.gamma = gamma + args.gamma_offset,
                             .beta = beta + args.beta_offset,
                             .length = 0,
                             .mean = 0,
                             .rstd = 1};
    struct walk walk = {none, none, none};
    const long together = args.length <= NEAR_ROW ? end - begin : 1;
    for (long i = begin; i < end; i += together)
        do_rows(&walk, &args, i, min(i + together, end), x + args.x_offset, y + args.y_offset, eps);
#else
    const acc_t part = 1 / (acc_t)args.length;
    for (long i = begin; i < end; i++) {
        long x_at, y_at;
        axes_offsets(&args.rows, i, &x_at, &y_at);
        global const STORAGE(X) *next = x + args.x_offset + axes_x(&args.rows, min(i + 1, end - 1));
        struct row row = {.x = x + args.x_offset + x_at,
                          .g = g + args.g_offset,
                          .gamma = gamma + args.gamma_offset,
                          .beta = beta + args.beta_offset,
                          .length = args.length,
                          .mean = 0,
                          .rstd = 1};
        acc2_t sums = (acc2_t)0;
#if IS_CENTERED
        row.mean = sum_of_x(&row, row.x) * part;
#endif
#if IS_SCALED
        row.rstd = 1 / sqrt(sum_of_squares(&row, next) * part + eps);
#endif
        row.g += axes_x(&args.g_rows, i);
        sums.s0 = sum_of_0(&row, row.g);
#if IS_SCALED
        sums.s1 = sum_of_1(&row, row.g);
        sums *= part;
        stats[args.stats_offset + i] = (acc2_t)(row.mean, row.rstd);
#endif
        store_row(y + args.y_offset + y_at, &row, sums, args.stream != 0);
    }
#endif
}

// ---- sums over rows -----------------------------------------------------------------------------

#define CHUNK 256
#define TILE 512

// partials[chunk][which][column], which: 0 of g z, 1 of g. Work-items: chunk fastest.
kernel void norm_columns(global const STORAGE(X) *restrict x, global const STORAGE(X) *restrict g,
                         global const acc2_t *restrict stats, global acc_t *restrict partials,
                         const struct norm_args args) {
    accv_t gz_sums[TILE / W], g_sums[TILE / W];
    const long tile = (long)get_global_id(0) / args.chunks, chunk = get_global_id(0) % args.chunks;
    const long first = tile * TILE, columns = min((long)TILE, args.length - first);
    const long end = min((chunk + 1) * CHUNK, args.rows.count);
    for (int j = 0; j < TILE / W; j++) gz_sums[j] = g_sums[j] = (accv_t)0;
    for (long i = chunk * CHUNK; i < end; i++) {
        const acc2_t s = stats[args.stats_offset + i];
        global const STORAGE(X) *a = x + args.x_offset + axes_x(&args.rows, i) + first;
        global const STORAGE(X) *b = g + args.g_offset + axes_x(&args.g_rows, i) + first;
        for (int j = 0; j * W < columns; j++) {
            const int left = (int)columns - j * W;
            const accv_t v = left >= W ? WHOLE(a + j * W) : PART(a + j * W);
            const accv_t w = left >= W ? WHOLE(b + j * W) : PART(b + j * W);
            gz_sums[j] += w * ((v - s.s0) * s.s1);
            g_sums[j] += w;
        }
    }
    global acc_t *to = partials + args.partials_offset + 2 * chunk * args.length + first;
    for (int j = 0; j * W < columns; j++) {
        acc_t gz_lanes[W], g_lanes[W];
        CAT(vstore, W)(gz_sums[j], 0, gz_lanes);
        CAT(vstore, W)(g_sums[j], 0, g_lanes);
        for (int k = 0; k < W && j * W + k < columns; k++) {
            to[j * W + k] = gz_lanes[k];
            to[args.length + j * W + k] = g_lanes[k];
        }
    }
}
