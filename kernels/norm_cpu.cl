#pragma OPENCL FP_CONTRACT OFF
// norm_cpu: normalisations along contiguous rows and their gradients, for CPUs. The formulas are in
// norm_ops.clh.
//
//   norm_rows     some rows per work-item, each walked once per sum and once for the result; after
//                 the first walk a row of usual length is in the caches. The tree of the sums is that
//                 of reduce_ops.clh.
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
#if IS_BACKWARD
SUM_BODY(sum_of_0, TERM_0)
SUM_BODY(sum_of_1, TERM_1)
#endif

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

kernel void norm_rows(global const STORAGE(X) *restrict x, global const STORAGE(X) *restrict g,
                      global const STORAGE(X) *restrict gamma,
                      global const STORAGE(X) *restrict beta, global STORAGE(X) *restrict y,
                      global acc2_t *restrict stats, const struct norm_args args,
                      const acc_t eps) {
    const long begin = (long)get_global_id(0) * args.items;
    const long end = min(begin + args.items, args.rows.count);
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
#if IS_BACKWARD
        row.g += axes_x(&args.g_rows, i);
        sums.s0 = sum_of_0(&row, row.g);
#if IS_SCALED
        sums.s1 = sum_of_1(&row, row.g);
        sums *= part;
        stats[args.stats_offset + i] = (acc2_t)(row.mean, row.rstd);
#endif
#endif
        store_row(y + args.y_offset + y_at, &row, sums, args.stream != 0);
    }
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
