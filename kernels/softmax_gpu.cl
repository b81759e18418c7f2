#pragma OPENCL FP_CONTRACT OFF
// softmax_gpu: softmax, log_softmax, softmin and quiet_softmax along one axis, for GPUs.
//
//   y = exp(x - max) / sum        or        y = (x - max) - log(sum),    sum = sum of exp(x - max)
//
// quiet_softmax counts one more element, a 0 that has no result.
//
//   softmax_rows  `items` work-items (a power of two) keep a row in registers: 4 * N elements each,
//                 quad i * items + item. GROUP / items rows share a group.
//   softmax_long  rows of more than 4 * N * GROUP elements: a group per row, which is read twice;
//                 each work-item keeps a running maximum and the sum relative to it.
// The order of additions depends on the row's length alone, for the host chooses N, GROUP and
// `items` by that. A NaN or an infinite maximum makes the row NaN by itself.
//
// Defines
//   X, ACC        dtype of x and y; f32 or f64: the arithmetic
//   IS_LOG        0 or 1
//   SIGN          empty or -: what x is taken with
//   QUIET         quiet_softmax
//   GROUP, N      work-items of a group; quads of a work-item
//   ITEMS         `items`, where it is known; it is GROUP as a rule
//   LONG          the program has softmax_long, else softmax_rows
//   NVIDIA        see row_join.clh
//   RUN           the axis has stride 1 in x and y, its length and all offsets are multiples of 4
//   those of types.clh (W is 4, ALIGNED) and axes.clh
#include "types.clh"
#include "axes.clh"
#include "math.clh"
#include "row_join.clh"

struct softmax_args {
    struct axes kept; // x and y strides; the count is the number of rows
    long length;      // of the axis
    long x_stride, y_stride;
    long x_offset, y_offset;
    long items; // work-items of a row
};

typedef MATH(ACC) acc_t;
typedef MATHV(ACC) accv_t;

// of numbers up to 0
#define EXP_f32 exp_falling_f32
#define EXP_f64 exp
#define EXPV_f32 exp_falling_f32v
#define EXPV_f64 exp
#define LOG_f32 log_f32
#define LOG_f64 log
#define EXP CAT(EXP_, ACC)
#define EXPV CAT(EXPV_, ACC)
#define LOG CAT(LOG_, ACC)

#ifdef QUIET
#define LEAST 0 // what a maximum is at least
#else
#define LEAST -INFINITY
#endif

static inline acc_t larger(acc_t a, acc_t b) { return fmax(a, b); }
static inline acc_t largest(accv_t v) { return larger(larger(v.s0, v.s2), larger(v.s1, v.s3)); }
static inline acc_t total(accv_t v) { return (v.s0 + v.s2) + (v.s1 + v.s3); }

// Elements 4 * quad .. of a row; -infinity past its end.
static inline accv_t load_quad(global const STORAGE(X) *x, const struct softmax_args *args,
                               INDEX quad) {
    const INDEX i = 4 * quad, length = (INDEX)args->length;
#ifdef RUN
    return i < length ? SIGN LOADV(X, x, i) : (accv_t)-INFINITY;
#else
    const INDEX stride = (INDEX)args->x_stride;
    const acc_t none = -INFINITY;
    return (accv_t)(i < length ? SIGN LOAD(X, x, i * stride) : none,
                    i + 1 < length ? SIGN LOAD(X, x, (i + 1) * stride) : none,
                    i + 2 < length ? SIGN LOAD(X, x, (i + 2) * stride) : none,
                    i + 3 < length ? SIGN LOAD(X, x, (i + 3) * stride) : none);
#endif
}

static inline void store_quad(global STORAGE(X) *y, const struct softmax_args *args, INDEX quad,
                              accv_t v) {
    const INDEX i = 4 * quad, length = (INDEX)args->length;
#ifdef RUN
    if (i < length) STOREV(X, y, i, v);
#else
    const INDEX stride = (INDEX)args->y_stride;
    if (i < length) STORE(X, y, i * stride, v.s0);
    if (i + 1 < length) STORE(X, y, (i + 1) * stride, v.s1);
    if (i + 2 < length) STORE(X, y, (i + 2) * stride, v.s2);
    if (i + 3 < length) STORE(X, y, (i + 3) * stride, v.s3);
#endif
}

#if IS_LOG
#define RESULT(v, exponentials, most, factor) ((v) - (most) - (factor))
#define FACTOR(sum, most) LOG(sum)
#else
#define RESULT(v, exponentials, most, factor) ((exponentials) * (factor))
#ifdef QUIET
#define FACTOR(sum, most) (1 / ((sum) + EXP(-(most))))
#else
#define FACTOR(sum, most) (1 / (sum))
#endif
#endif

#define ADD(a, b) ((a) + (b))
DEFINE_JOIN(join_maximum, ACC, larger)
DEFINE_JOIN(join_sum, ACC, ADD)

#ifndef ITEMS
#define ITEMS ((int)args.items)
#endif

#ifndef LONG

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
softmax_rows(global const STORAGE(X) *restrict x, global STORAGE(X) *restrict y,
             const struct softmax_args args) {
    local acc_t maxima[GROUP], sums[GROUP];
    const int items = ITEMS, item = (int)get_local_id(0), lane = item & (items - 1);
    const INDEX row = ((INDEX)get_group_id(0) * GROUP + item) >> popcount(items - 1);
    const bool exists = row < args.kept.count;
    INDEX x_at, y_at;
    axes_offsets(&args.kept, exists ? row : 0, &x_at, &y_at);
    global const STORAGE(X) *from = x + args.x_offset + x_at;

    accv_t v[N];
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = load_quad(from, &args, i * items + lane);
    acc_t most = LEAST, sum = 0;
#pragma unroll
    for (int i = 0; i < N; i++) most = larger(most, largest(v[i]));
    most = join_maximum(maxima, most, items);
#pragma unroll
    for (int i = 0; i < N; i++) {
#if IS_LOG
        sum += total(EXPV(v[i] - most));
#else
        v[i] = EXPV(v[i] - most);
        sum += total(v[i]);
#endif
    }
    sum = join_sum(sums, sum, items);
    if (!exists) return;
    const acc_t factor = FACTOR(sum, most);
    global STORAGE(X) *to = y + args.y_offset + y_at;
#pragma unroll
    for (int i = 0; i < N; i++)
        store_quad(to, &args, i * items + lane, RESULT(v[i], v[i], most, factor));
}

#else

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
softmax_long(global const STORAGE(X) *restrict x, global STORAGE(X) *restrict y,
             const struct softmax_args args) {
    local acc_t maxima[GROUP], sums[GROUP];
    const int item = (int)get_local_id(0);
    const INDEX quads = (INDEX)((args.length + 3) / 4);
    INDEX x_at, y_at;
    axes_offsets(&args.kept, (INDEX)get_group_id(0), &x_at, &y_at);
    global const STORAGE(X) *from = x + args.x_offset + x_at;

    acc_t most = LEAST, sum = 0;
    for (INDEX quad = item; quad < quads; quad += GROUP) {
        const accv_t v = load_quad(from, &args, quad);
        const acc_t before = most;
        most = larger(most, largest(v));
        if (most > -INFINITY) sum = sum * EXP(before - most) + total(EXPV(v - most));
        else if (any(isnan(v))) sum = NAN;
    }
    const acc_t row_most = join_maximum(maxima, most, GROUP);
    sum = join_sum(sums, most > -INFINITY ? sum * EXP(most - row_most) : sum, GROUP);
    const acc_t factor = FACTOR(sum, row_most);
    global STORAGE(X) *to = y + args.y_offset + y_at;
    for (INDEX quad = item; quad < quads; quad += GROUP) {
        const accv_t v = load_quad(from, &args, quad);
        store_quad(to, &args, quad, RESULT(v, EXPV(v - row_most), row_most, factor));
    }
}

#endif // LONG
