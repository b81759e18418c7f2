#pragma OPENCL FP_CONTRACT OFF
// softmax_cpu: softmax, log_softmax, softmin and quiet_softmax along one axis, for CPUs.
//
//   y = exp(x - max) / sum        or        y = (x - max) - log(sum),    sum = sum of exp(x - max)
//
// quiet_softmax counts one more element, a 0 that has no result.
//
// Three passes: maximum, exponentials and their sum, result. The first brings the row into private
// memory, and several at a time where neighbouring rows interleave (the axis is not the contiguous
// one); rows too long for that are read three times. Contiguous rows go through the passes side by
// side, each a pass behind the one before it, so that memory is busy all the time. The sum's tree is
// that of reduce_ops.clh. A NaN or an infinite maximum makes the row NaN by itself.
//
// Defines
//   X, Y    dtype of x and of y, the same
//   ACC     f32 or f64: the arithmetic
//   OP      op_sum
//   IS_LOG  0 or 1
//   SIGN    empty or -: what x is taken with
//   QUIET   quiet_softmax
//   those of types.clh and axes.clh
#include "types.clh"
#include "axes.clh"
#include "math.clh"
#include "reduce_ops.clh"
#include "reduce_states.clh"

struct softmax_args {
    struct axes kept;          // x and y strides; the count is the number of rows
    long length;               // of the axis
    long x_stride, y_stride;   // along it
    long x_offset, y_offset;
    long tile_rows;            // rows brought in at a time; 1 for rows over ROW elements
    long rows_per_item;
    long stream;               // stores should bypass the caches
};

// Elements in private memory; rows of a tile, and what keeps those from sharing cache sets.
#define ROW 65536
#define TILE 16
#define PADDING 16

#define ACCUMULATORS (LANES / W)

#ifdef QUIET
#define LEAST 0 // what a maximum is at least
#else
#define LEAST -INFINITY
#endif

#define EXP_f32 exp_short_f32v
#define EXP_f64 exp
#define EXP CAT(EXP_, ACC)
#define EXP1_f32 exp_short_f32
#define EXP1_f64 exp
#define EXP1 CAT(EXP1_, ACC)
#define LOG_f32 log_f32
#define LOG_f64 log
#define LOG CAT(LOG_, ACC)

// Brings elements to `row` and returns the larger of `most` and their maximum. The row is filled up
// to the next multiple of W with -infinity, whose exponential is 0.
static inline acc_t load_run(global const STORAGE(X) *x, long stride, int count, acc_t most,
                             acc_t *row) {
    accv_t most_lanes = (accv_t)most;
    int i = 0;
    if (stride == 1) {
        for (; i + W <= count; i += W) {
            const accv_t v = SIGN load_accv(x + i);
            keep_accv(row + i, v);
            most_lanes = v > most_lanes ? v : most_lanes;
        }
    }
    acc_t lanes[W];
    keep_accv(lanes, most_lanes);
    for (int k = 0; k < W; k++) most = lanes[k] > most ? lanes[k] : most;
    for (; i < count; i++) {
        row[i] = SIGN load_acc(x + i * stride);
        most = row[i] > most ? row[i] : most;
    }
    for (; i % W != 0; i++) row[i] = -INFINITY;
    return most;
}

// W exponentials of a row, which take its elements' place where they are needed again.
static inline accv_t exponential(acc_t *row, acc_t most) {
    const accv_t e = EXP(CAT(vload, W)(0, row) - most);
#if !IS_LOG
    keep_accv(row, e);
#endif
    return e;
}

static inline acc_t join_lanes(accv_t sums[ACCUMULATORS]) {
#pragma unroll
    for (int h = ACCUMULATORS / 2; h > 0; h >>= 1)
#pragma unroll
        for (int j = 0; j < h; j++) sums[j] += sums[j + h];
    return FOLD(sums[0]);
}

// The sum of the exponentials of up to a block of a row; meanwhile `next` arrives, elements that come
// later.
static inline acc_t exponentials(acc_t *row, int count, acc_t most,
                                 global const STORAGE(X) *next) {
    const int full = count / LANES * LANES, rest = count - full;
    accv_t sums[ACCUMULATORS];
#pragma unroll
    for (int j = 0; j < ACCUMULATORS; j++) sums[j] = (accv_t)0;
    for (int i = 0; i < full; i += LANES) {
#pragma unroll
        for (int line = 0; line < LANES; line += LINE_BYTES / (int)sizeof(*next))
            FETCH_LINE(next + i + line);
#pragma unroll
        for (int j = 0; j < ACCUMULATORS; j++) sums[j] += exponential(row + i + j * W, most);
    }
#pragma unroll
    for (int j = 0; j < ACCUMULATORS; j++)
        if (j * W < rest) sums[j] += exponential(row + full + j * W, most);
    return join_lanes(sums);
}

static inline void push_sums(struct block_stack *stack, acc_t *row, int count, acc_t most,
                             global const STORAGE(X) *next) {
    for (int i = 0; i < count; i += BLOCK)
        stack_push(stack, exponentials(row + i, min(BLOCK, count - i), most, next + i));
}

#if IS_LOG
#define RESULT(v, most, factor) ((v) - (most) - (factor))
#define FACTOR(sum, most) LOG(sum)
#else
#define RESULT(v, most, factor) ((v) * (factor))
#ifdef QUIET
#define FACTOR(sum, most) (1 / ((sum) + EXP1(-(most))))
#else
#define FACTOR(sum, most) (1 / (sum))
#endif
#endif

static inline void store_run(const acc_t *row, global STORAGE(Y) *y, long stride, int count,
                             acc_t most, acc_t factor, bool stream) {
    int i = 0;
    if (stride == 1 && stream && IS_STREAMABLE(y))
        for (; i + W <= count; i += W)
            STREAMV(Y, y, i, RESULT(CAT(vload, W)(0, row + i), most, factor));
    else if (stride == 1)
        for (; i + W <= count; i += W)
            STOREV(Y, y, i, RESULT(CAT(vload, W)(0, row + i), most, factor));
    for (; i < count; i++) STORE(Y, y, i * stride, RESULT(row[i], most, factor));
}

// ---- contiguous rows, side by side --------------------------------------------------------------

// Three rows that follow each other: the first one arrives and gives its maximum, the second one
// becomes exponentials, the third one is written. `done` holds what the third one's results are made
// of and takes the same of the second one in their place.
struct rows {
    global const STORAGE(X) *first, *second;
    global STORAGE(Y) *third; // NULL: there is none
    acc_t second_most, third_most, third_factor;
    bool stream;
    acc_t *done;
};

#define AHEAD (8192 / (int)sizeof(STORAGE(X))) // elements that are on their way

static inline accv_t third_results(const struct rows *rows, int i) {
    return RESULT(CAT(vload, W)(0, rows->done + i), rows->third_most, rows->third_factor);
}

static inline accv_t second_exponentials(const struct rows *rows, int i, accv_t v) {
    const accv_t e = EXP(v - rows->second_most);
    keep_accv(rows->done + i, IS_LOG ? v : e);
    return e;
}

// W elements of each row from i on; returns the exponentials.
static inline accv_t advance(const struct rows *rows, int i, accv_t *first_most) {
    const accv_t first = SIGN load_accv(rows->first + i);
    *first_most = first > *first_most ? first : *first_most;
    if (rows->third != 0 && rows->stream)
        STREAMV(Y, rows->third, i, third_results(rows, i));
    else if (rows->third != 0)
        STOREV(Y, rows->third, i, third_results(rows, i));
    return second_exponentials(rows, i, SIGN load_accv(rows->second + i));
}

static inline accv_t load_part(global const STORAGE(X) *x, int count) {
    acc_t lanes[W];
    for (int k = 0; k < W; k++) lanes[k] = k < count ? SIGN load_acc(x + k) : -INFINITY;
    return CAT(vload, W)(0, lanes);
}

// The same of the last `left` (< W) elements.
static inline accv_t advance_part(const struct rows *rows, int i, int left, accv_t *first_most) {
    const accv_t first = load_part(rows->first + i, left);
    *first_most = first > *first_most ? first : *first_most;
    if (rows->third != 0) {
        acc_t lanes[W];
        keep_accv(lanes, third_results(rows, i));
        for (int k = 0; k < left; k++) STORE(Y, rows->third, i + k, lanes[k]);
    }
    return second_exponentials(rows, i, load_part(rows->second + i, left));
}

// Up to a block of each row; returns the sum of the second one's exponentials.
static inline acc_t advance_block(const struct rows *rows, int start, int count,
                                  accv_t first_most[ACCUMULATORS]) {
    const int full = start + count / LANES * LANES, rest = count % LANES;
    accv_t sums[ACCUMULATORS];
#pragma unroll
    for (int j = 0; j < ACCUMULATORS; j++) sums[j] = (accv_t)0;
    for (int i = start; i < full; i += LANES) {
#pragma unroll
        for (int line = 0; line < LANES; line += LINE_BYTES / (int)sizeof(STORAGE(X)))
            FETCH_LINE(rows->first + i + line + AHEAD);
#pragma unroll
        for (int j = 0; j < ACCUMULATORS; j++) sums[j] += advance(rows, i + j * W, &first_most[j]);
    }
#pragma unroll
    for (int j = 0; j < ACCUMULATORS; j++) {
        const int at = full + j * W, left = rest - j * W;
        if (left >= W)
            sums[j] += advance(rows, at, &first_most[j]);
        else if (left > 0)
            sums[j] += advance_part(rows, at, left, &first_most[j]);
    }
    return join_lanes(sums);
}

// A whole row; returns the factor of the second one, and the maximum of the first one in *out_most.
static inline acc_t advance_row(const struct rows *rows, int length, acc_t *out_most) {
    accv_t most[ACCUMULATORS];
    acc_t lanes[W];
    struct block_stack stack;
    stack.count = 0, stack.top = 0;
#pragma unroll
    for (int j = 0; j < ACCUMULATORS; j++) most[j] = (accv_t)LEAST;
    for (int i = 0; i < length; i += BLOCK)
        stack_push(&stack, advance_block(rows, i, min(BLOCK, length - i), most));
#pragma unroll
    for (int j = 1; j < ACCUMULATORS; j++) most[0] = most[j] > most[0] ? most[j] : most[0];
    keep_accv(lanes, most[0]);
    *out_most = LEAST;
    for (int k = 0; k < W; k++) *out_most = lanes[k] > *out_most ? lanes[k] : *out_most;
    return FACTOR(stack_result(&stack), rows->second_most);
}

static inline void do_rows(global const STORAGE(X) *x, global STORAGE(Y) *y,
                           const struct softmax_args *args, long begin, long end, acc_t *done) {
    const int length = (int)args->length;
    struct rows rows = {.third = 0, .done = done};
    rows.first = x + axes_x(&args->kept, begin);
    acc_t most = load_run(rows.first, 1, length, LEAST, done);
    for (long row = begin; row < end; row++) {
        rows.second = rows.first;
        rows.first = x + axes_x(&args->kept, min(row + 1, end - 1));
        rows.second_most = most;
        const acc_t factor = advance_row(&rows, length, &most);
        long x_at, y_at;
        axes_offsets(&args->kept, row, &x_at, &y_at);
        rows.third = y + y_at;
        rows.third_most = rows.second_most;
        rows.third_factor = factor;
        rows.stream = args->stream != 0 && IS_STREAMABLE(rows.third);
    }
    store_run(done, rows.third, 1, length, rows.third_most, rows.third_factor, args->stream != 0);
}

// ---- other rows ---------------------------------------------------------------------------------

// A row of any length, in pieces of up to ROW elements. Only a single piece stays in memory from
// pass to pass. `next`: the row that comes next, or this one again.
static inline void do_row(global const STORAGE(X) *x, global const STORAGE(X) *next,
                          global STORAGE(Y) *y, const struct softmax_args *args, acc_t *row) {
    const bool is_single = args->length <= ROW;
    struct block_stack stack;
    stack.count = 0, stack.top = 0;
    acc_t most = LEAST;
    for (long r = 0; r < args->length; r += ROW)
        most = load_run(x + r * args->x_stride, args->x_stride,
                        (int)min((long)ROW, args->length - r), most, row);
    for (long r = 0; r < args->length; r += ROW) {
        const int count = (int)min((long)ROW, args->length - r);
        if (!is_single) load_run(x + r * args->x_stride, args->x_stride, count, most, row);
        push_sums(&stack, row, count, most, next + r);
    }
    const acc_t factor = FACTOR(stack_result(&stack), most);
    for (long r = 0; r < args->length; r += ROW) {
        const int count = (int)min((long)ROW, args->length - r);
        if (!is_single) {
            load_run(x + r * args->x_stride, args->x_stride, count, most, row);
#if !IS_LOG
            for (int i = 0; i < count; i += BLOCK)
                exponentials(row + i, min(BLOCK, count - i), most, x + r + i);
#endif
        }
        store_run(row, y + r * args->y_stride, args->y_stride, count, most, factor,
                  args->stream != 0);
    }
}

// `tile` rows that interleave: brought in and written side by side.
static inline void do_tile(global const STORAGE(X) *x, global STORAGE(Y) *y,
                           const struct softmax_args *args, const long *x_at, const long *y_at,
                           int tile, acc_t *rows) {
    const int length = (int)args->length, filled = (length + W - 1) / W * W;
    const int pitch = filled + PADDING;
    acc_t most[TILE], factor[TILE];
    for (int t = 0; t < tile; t++) most[t] = LEAST;
    for (int r = 0; r < length; r++) {
        for (int t = 0; t < tile; t++) {
            const acc_t v = SIGN load_acc(x + x_at[t] + r * args->x_stride);
            rows[t * pitch + r] = v;
            most[t] = v > most[t] ? v : most[t];
        }
    }
    for (int t = 0; t < tile; t++) {
        struct block_stack stack;
        stack.count = 0, stack.top = 0;
        for (int r = length; r < filled; r++) rows[t * pitch + r] = -INFINITY;
        push_sums(&stack, rows + t * pitch, length, most[t], x + x_at[t]);
        factor[t] = FACTOR(stack_result(&stack), most[t]);
    }
    for (int r = 0; r < length; r++)
        for (int t = 0; t < tile; t++)
            STORE(Y, y, y_at[t] + r * args->y_stride,
                  RESULT(rows[t * pitch + r], most[t], factor[t]));
}

kernel void softmax_rows(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
                         const struct softmax_args args) {
    acc_t rows[ROW + TILE * (W + PADDING)];
    const int tile = (int)args.tile_rows;
    const long first = (long)get_global_id(0) * args.rows_per_item;
    const long end = min(first + args.rows_per_item, args.kept.count);
    x += args.x_offset;
    y += args.y_offset;
    if (args.x_stride == 1 && args.y_stride == 1 && args.length <= ROW) {
        do_rows(x, y, &args, first, end, rows);
        return;
    }
    for (long row = first; row < end; row += tile) {
        const int count = (int)min((long)tile, end - row);
        long x_at[TILE], y_at[TILE];
        for (int t = 0; t < count; t++) axes_offsets(&args.kept, row + t, &x_at[t], &y_at[t]);
        if (tile == 1) {
            const long next = axes_x(&args.kept, min(row + 1, end - 1));
            do_row(x + x_at[0], x + next, y + y_at[0], &args, rows);
        } else {
            do_tile(x, y, &args, x_at, y_at, count, rows);
        }
    }
}
