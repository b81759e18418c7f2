#pragma OPENCL FP_CONTRACT OFF
// norm_gpu: normalisations along contiguous rows and their gradients, for GPUs. The formulas are in
// norm_ops.clh.
//
//   norm_rows     `items` work-items (a power of two) keep ROWS rows at a time in registers: N quads
//                 of each, quad i * items + lane. GROUP / items such sets of rows share a group. With
//                 two rows gamma and beta are read once for both.
//   norm_long     rows of more than 4 * N * GROUP elements: a group per row, read once per pass
//   norm_columns  the sums over rows of g and of g z, for the gradients of beta and gamma: a group
//                 takes 64 columns of 256 rows
// The order of additions depends on the number of elements alone.
//
// Defines
//   GROUP, N, ROWS  work-items of a group; quads of a work-item; 1 or 2 rows (gradients: 1)
//   ONLY_<kernel>   which of them the program has
//   ITEMS           `items`, where it is known; it is GROUP as a rule
//   NVIDIA          see row_join.clh
//   those of norm_ops.clh, types.clh (W is 4; ALIGNED: lengths, strides and offsets are multiples
//   of 4) and axes.clh
#include "types.clh"
#include "axes.clh"
#include "math.clh"
#include "norm_ops.clh"
#include "row_join.clh"

typedef MATH(ACC) acc_t;
typedef MATHV(ACC) accv_t;

struct norm_args {
    struct axes rows;   // x and y strides, in row-major order
    struct axes g_rows; // the same rows: g strides as x
    long length;        // of a row
    long x_offset, g_offset, gamma_offset, beta_offset, y_offset, stats_offset, partials_offset;
    long chunks; // norm_columns: of rows
    long items;  // norm_rows: work-items of a set of rows
    long stream; // CPU form
};

// Elements at .. at + 3 of a row; 0 past its end.
static inline accv_t load_quad(global const STORAGE(X) *p, INDEX at, INDEX length) {
#ifdef ALIGNED
    return at < length ? LOADV(X, p, at) : (accv_t)0;
#else
    return (accv_t)(at < length ? LOAD(X, p, at) : 0, at + 1 < length ? LOAD(X, p, at + 1) : 0,
                    at + 2 < length ? LOAD(X, p, at + 2) : 0,
                    at + 3 < length ? LOAD(X, p, at + 3) : 0);
#endif
}

static inline void store_quad(global STORAGE(X) *p, INDEX at, INDEX length, accv_t v) {
#ifdef ALIGNED
    if (at < length) STOREV(X, p, at, v);
#else
    if (at < length) STORE(X, p, at, v.s0);
    if (at + 1 < length) STORE(X, p, at + 1, v.s1);
    if (at + 2 < length) STORE(X, p, at + 2, v.s2);
    if (at + 3 < length) STORE(X, p, at + 3, v.s3);
#endif
}

static inline acc_t total(accv_t v) { return (v.s0 + v.s2) + (v.s1 + v.s3); }

// sum and the squares of what d has within the row.
static inline acc_t add_squares(acc_t sum, accv_t d, INDEX at, INDEX length) {
#ifdef ALIGNED
    return at < length ? sum + total(d * d) : sum;
#else
    const accv_t some = (accv_t)(at < length ? d.s0 : 0, at + 1 < length ? d.s1 : 0,
                                 at + 2 < length ? d.s2 : 0, at + 3 < length ? d.s3 : 0);
    return sum + total(some * some);
#endif
}

#define ADD(a, b) ((a) + (b))
DEFINE_JOIN(join, CAT(ACC, x2), ADD)
static inline acc2_t join_rows(local acc2_t *values, const acc_t *sums, int items) {
    return join(values, (acc2_t)(sums[0], sums[1]), items);
}

static inline acc_t of_row(acc2_t pair, int r) { return r == 0 ? pair.s0 : pair.s1; }

// gamma and beta of a quad, 1 and 0 where there is none.
#if HAS_GAMMA
#define GAMMA(at) load_quad(gamma + args.gamma_offset, at, length)
#else
#define GAMMA(at) ((accv_t)1)
#endif
#if HAS_BETA
#define BETA(at) load_quad(beta + args.beta_offset, at, length)
#define FORWARD(v, rstd, c, b) fma((v) * (rstd), c, b)
#else
#define BETA(at) ((accv_t)0)
#if HAS_GAMMA
#define FORWARD(v, rstd, c, b) ((v) * (rstd) * (c))
#else
#define FORWARD(v, rstd, c, b) ((v) * (rstd))
#endif
#endif

#if defined(ONLY_norm_rows)

#ifndef ITEMS
#define ITEMS ((int)args.items)
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
norm_rows(global const STORAGE(X) *restrict x, global const STORAGE(X) *restrict g,
          global const STORAGE(X) *restrict gamma, global const STORAGE(X) *restrict beta,
          global STORAGE(X) *restrict y, global acc2_t *restrict stats,
          const struct norm_args args, const acc_t eps) {
    local acc2_t odd[GROUP], even[GROUP];
    const int items = ITEMS, item = (int)get_local_id(0), lane = item & (items - 1);
    const INDEX length = (INDEX)args.length, count = (INDEX)args.rows.count;
    const INDEX first = (((INDEX)get_group_id(0) * GROUP + item) >> popcount(items - 1)) * ROWS;
    const acc_t part = 1 / (acc_t)args.length;
    INDEX x_at[ROWS], y_at[ROWS];
    accv_t v[ROWS][N];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        axes_offsets(&args.rows, first + r < count ? first + r : 0, &x_at[r], &y_at[r]);
        x_at[r] += (INDEX)args.x_offset;
        y_at[r] += (INDEX)args.y_offset;
#pragma unroll
        for (int i = 0; i < N; i++)
            v[r][i] = load_quad(x + x_at[r], 4 * (i * items + lane), length);
    }
#if IS_BACKWARD
    accv_t h[N];
    const INDEX g_at = (INDEX)args.g_offset + axes_x(&args.g_rows, first < count ? first : 0);
#pragma unroll
    for (int i = 0; i < N; i++) h[i] = load_quad(g + g_at, 4 * (i * items + lane), length);
#endif
    acc2_t mean = (acc2_t)0, rstd = (acc2_t)1, sums;
#if IS_CENTERED
    acc_t plain[2] = {0, 0};
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int i = 0; i < N; i++) plain[r] += total(v[r][i]);
    mean = join_rows(odd, plain, items) * part;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int i = 0; i < N; i++) v[r][i] -= of_row(mean, r);
#endif
#if IS_SCALED
    acc_t squares[2] = {0, 0};
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int i = 0; i < N; i++)
            squares[r] = add_squares(squares[r], v[r][i], 4 * (i * items + lane), length);
    rstd = 1 / sqrt(join_rows(even, squares, items) * part + eps);
#endif
#if IS_BACKWARD
    sums = (acc2_t)0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[0][i] *= rstd.s0;
        h[i] *= GAMMA(4 * (i * items + lane)); // 0 past the end, and so are the terms
        sums += (acc2_t)(total(TERM0(v[0][i], h[i])), total(TERM1(v[0][i], h[i])));
    }
    sums = join(odd, sums, items);
#if IS_SCALED
    sums *= part;
    if (lane == 0 && first < count)
        stats[args.stats_offset + first] = (acc2_t)(mean.s0, rstd.s0);
#endif
    if (first >= count) return;
#pragma unroll
    for (int i = 0; i < N; i++)
        store_quad(y + y_at[0], 4 * (i * items + lane), length,
                   GRADIENT(CAT(EXPV_, ACC), v[0][i], h[i], rstd.s0, sums));
#else
    if (first >= count) return;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const INDEX at = 4 * (i * items + lane);
        const accv_t c = GAMMA(at), b = BETA(at);
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (r == 0 || first + r < count)
                store_quad(y + y_at[r], at, length, FORWARD(v[r][i], of_row(rstd, r), c, b));
    }
#endif
}

#elif defined(ONLY_norm_long)

#define EACH_QUAD for (INDEX at = 4 * item; at < length; at += 4 * GROUP)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
norm_long(global const STORAGE(X) *restrict x, global const STORAGE(X) *restrict g,
          global const STORAGE(X) *restrict gamma, global const STORAGE(X) *restrict beta,
          global STORAGE(X) *restrict y, global acc2_t *restrict stats,
          const struct norm_args args, const acc_t eps) {
    local acc2_t odd[GROUP], even[GROUP];
    const int item = (int)get_local_id(0);
    const INDEX length = (INDEX)args.length, row = (INDEX)get_group_id(0);
    const acc_t part = 1 / (acc_t)args.length;
    INDEX x_at, y_at;
    axes_offsets(&args.rows, row, &x_at, &y_at);
    global const STORAGE(X) *from = x + args.x_offset + x_at;
    global STORAGE(X) *to = y + args.y_offset + y_at;
    acc_t mean = 0, rstd = 1, sum = 0;
#if IS_CENTERED
    EACH_QUAD sum += total(load_quad(from, at, length));
    mean = join(odd, (acc2_t)(sum, 0), GROUP).s0 * part;
#endif
#if IS_SCALED
    sum = 0;
    EACH_QUAD sum = add_squares(sum, load_quad(from, at, length) - mean, at, length);
    rstd = 1 / sqrt(join(even, (acc2_t)(sum, 0), GROUP).s0 * part + eps);
#endif
#if IS_BACKWARD
    global const STORAGE(X) *back = g + args.g_offset + axes_x(&args.g_rows, row);
    acc2_t sums = (acc2_t)0;
    EACH_QUAD {
        const accv_t z = (load_quad(from, at, length) - mean) * rstd;
        const accv_t h = load_quad(back, at, length) * GAMMA(at);
        sums += (acc2_t)(total(TERM0(z, h)), total(TERM1(z, h)));
    }
    sums = join(odd, sums, GROUP);
#if IS_SCALED
    sums *= part;
    if (item == 0) stats[args.stats_offset + row] = (acc2_t)(mean, rstd);
#endif
    EACH_QUAD {
        const accv_t z = (load_quad(from, at, length) - mean) * rstd;
        const accv_t h = load_quad(back, at, length) * GAMMA(at);
        store_quad(to, at, length, GRADIENT(CAT(EXPV_, ACC), z, h, rstd, sums));
    }
#else
    EACH_QUAD {
        const accv_t v = load_quad(from, at, length) - mean, c = GAMMA(at);
        store_quad(to, at, length, FORWARD(v, rstd, c, BETA(at)));
    }
#endif
}

#else // ONLY_norm_columns

// ---- sums over rows -----------------------------------------------------------------------------

#define COLUMN_GROUP 256
#define QUADS 16
#define LANES (COLUMN_GROUP / QUADS)
#define CHUNK 256

// partials[chunk][which][column], which: 0 of g z, 1 of g. Groups: chunk fastest.
kernel __attribute__((reqd_work_group_size(COLUMN_GROUP, 1, 1))) void
norm_columns(global const STORAGE(X) *restrict x, global const STORAGE(X) *restrict g,
             global const acc2_t *restrict stats, global acc_t *restrict partials,
             const struct norm_args args) {
    local accv_t gz_sums[COLUMN_GROUP], g_sums[COLUMN_GROUP];
    const int item = (int)get_local_id(0), quad = item % QUADS, lane = item / QUADS;
    const INDEX length = (INDEX)args.length, chunks = (INDEX)args.chunks;
    const INDEX group = (INDEX)get_group_id(0), tile = group / chunks, chunk = group % chunks;
    const INDEX at = (tile * QUADS + quad) * 4;
    const INDEX end = min((chunk + 1) * CHUNK, (INDEX)args.rows.count);
    accv_t gz_sum = (accv_t)0, g_sum = (accv_t)0;
    for (INDEX row = chunk * CHUNK + lane; row < end && at < length; row += LANES) {
        const acc2_t s = stats[args.stats_offset + row];
        const accv_t b = load_quad(g + args.g_offset + axes_x(&args.g_rows, row), at, length);
        const accv_t a = load_quad(x + args.x_offset + axes_x(&args.rows, row), at, length);
        gz_sum += b * ((a - s.s0) * s.s1);
        g_sum += b;
    }
    gz_sums[item] = gz_sum;
    g_sums[item] = g_sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int h = LANES / 2; h > 0; h >>= 1) {
        if (lane < h) {
            gz_sums[item] += gz_sums[item + h * QUADS];
            g_sums[item] += g_sums[item + h * QUADS];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane > 0) return;
    acc_t gz_lanes[4], g_lanes[4];
    vstore4(gz_sums[item], 0, gz_lanes);
    vstore4(g_sums[item], 0, g_lanes);
    global acc_t *to = partials + args.partials_offset + 2 * chunk * length;
    for (int k = 0; k < 4 && at + k < length; k++) {
        to[at + k] = gz_lanes[k];
        to[length + at + k] = g_lanes[k];
    }
}

#endif
