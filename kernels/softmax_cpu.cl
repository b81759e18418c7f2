#pragma OPENCL FP_CONTRACT OFF
// softmax_cpu: softmax and log_softmax along one axis, for CPUs.
//
//   y = exp(x - max) / sum        or        y = (x - max) - log(sum),    sum = sum of exp(x - max)
//
// A work-item brings rows into private memory, several at a time where neighbouring rows interleave
// (the axis is not the contiguous one), and does each in three passes there: maximum, exponentials
// and their sum, result. Rows too long for that are read three times. The sum's tree is that of
// reduce_ops.clh. A NaN or an infinite maximum makes the row NaN by itself.
//
// Defines
//   X, Y    dtype of both
//   ACC     f32 or f64: the arithmetic
//   OP      op_sum
//   IS_LOG  0 or 1
//   those of types.clh and axes.clh
#include "types.clh"
#include "axes.clh"
#include "math.clh"
#include "reduce_ops.clh"
#include "reduce_block.clh"

struct softmax_args {
    struct axes kept;          // x and y strides; the count is the number of rows
    long length;               // of the axis
    long x_stride, y_stride;   // along it
    long x_offset, y_offset;
    long tile_rows;            // rows brought in at a time; 1 for rows over ROW elements
    long rows_per_item;
};

#define ROW 16384

#define EXP_f32 exp_f32v
#define EXP_f64 exp
#define EXP CAT(EXP_, ACC)
#define LOG_f32 log_f32
#define LOG_f64 log
#define LOG CAT(LOG_, ACC)

static inline void load_run(global const STORAGE(X) *x, long stride, int count, acc_t *out) {
    int i = 0;
    if (stride == 1)
        for (; i + W <= count; i += W) CAT(vstore, W)(load_accv(x + i), 0, out + i);
    for (; i < count; i++) out[i] = load_acc(x + i * stride);
}

static inline void store_run(const acc_t *from, global STORAGE(Y) *y, long stride, int count) {
    int i = 0;
    if (stride == 1)
        for (; i + W <= count; i += W) STOREV(Y, y, i, CAT(vload, W)(0, from + i));
    for (; i < count; i++) STORE(Y, y, i * stride, from[i]);
}

// `row` has room for W - 1 elements more, which these functions may write.
static inline acc_t maximum(acc_t *row, int count) {
    accv_t most = (accv_t)-INFINITY;
    for (int i = count; i % W != 0; i++) row[i] = -INFINITY;
    for (int i = 0; i < count; i += W) {
        const accv_t v = CAT(vload, W)(0, row + i);
        most = v > most ? v : most;
    }
    acc_t lanes[W], result = -INFINITY;
    CAT(vstore, W)(most, 0, lanes);
    for (int i = 0; i < W; i++) result = lanes[i] > result ? lanes[i] : result;
    return result;
}

static inline void exponentials(const acc_t *row, int count, acc_t most, acc_t *out) {
    for (int i = 0; i < count; i += W)
        CAT(vstore, W)(EXP(CAT(vload, W)(0, row + i) - most), 0, out + i);
}

static inline void push_sums(struct block_stack *stack, const acc_t *row, int count) {
    for (int i = 0; i < count; i += BLOCK)
        stack_push(stack, block_private(row + i, min(BLOCK, count - i), 0));
}

// row: x in, y out; its exponentials too unless they are made twice.
static inline void finish(acc_t *row, int count, acc_t most, acc_t sum) {
#if IS_LOG
    const acc_t log_sum = LOG(sum);
    for (int i = 0; i < count; i += W)
        CAT(vstore, W)(CAT(vload, W)(0, row + i) - most - log_sum, 0, row + i);
#else
    const acc_t scale = 1 / sum;
    for (int i = 0; i < count; i += W)
        CAT(vstore, W)(CAT(vload, W)(0, row + i) * scale, 0, row + i);
#endif
}

static inline void short_row(acc_t *row, int count) {
    struct block_stack stack;
    stack.count = 0, stack.top = 0;
    const acc_t most = maximum(row, count);
#if IS_LOG
    acc_t block[BLOCK + W];
    for (int i = 0; i < count; i += BLOCK) {
        const int part = min(BLOCK, count - i);
        exponentials(row + i, part, most, block);
        push_sums(&stack, block, part);
    }
#else
    exponentials(row, count, most, row);
    push_sums(&stack, row, count);
#endif
    finish(row, count, most, stack_result(&stack));
}

static inline void long_row(global const STORAGE(X) *x, global STORAGE(Y) *y,
                            const struct softmax_args *args, acc_t *row) {
    struct block_stack stack;
    stack.count = 0, stack.top = 0;
    acc_t most = -INFINITY;
    for (long r = 0; r < args->length; r += ROW) {
        const int count = (int)min((long)ROW, args->length - r);
        load_run(x + r * args->x_stride, args->x_stride, count, row);
        const acc_t most_here = maximum(row, count);
        most = most_here > most ? most_here : most;
    }
    for (long r = 0; r < args->length; r += ROW) {
        const int count = (int)min((long)ROW, args->length - r);
        load_run(x + r * args->x_stride, args->x_stride, count, row);
        exponentials(row, count, most, row);
        push_sums(&stack, row, count);
    }
    const acc_t sum = stack_result(&stack);
    for (long r = 0; r < args->length; r += ROW) {
        const int count = (int)min((long)ROW, args->length - r);
        load_run(x + r * args->x_stride, args->x_stride, count, row);
#if !IS_LOG
        exponentials(row, count, most, row);
#endif
        finish(row, count, most, sum);
        store_run(row, y + r * args->y_stride, args->y_stride, count);
    }
}

kernel void softmax_rows(global const STORAGE(X) *restrict x, global STORAGE(Y) *restrict y,
                         const struct softmax_args args) {
    acc_t rows[ROW + 16 * W]; // tile_rows * (length rounded up to W) elements
    const int tile = (int)args.tile_rows, length = (int)min(args.length, (long)ROW);
    const int pitch = (length + W - 1) / W * W;
    const long first = (long)get_global_id(0) * args.rows_per_item;
    const long end = min(first + args.rows_per_item, args.kept.count);
    for (long row = first; row < end; row += tile) {
        const int count = (int)min((long)tile, end - row);
        long x_at[16], y_at[16];
        for (int t = 0; t < count; t++) {
            axes_offsets(&args.kept, row + t, &x_at[t], &y_at[t]);
            x_at[t] += args.x_offset;
            y_at[t] += args.y_offset;
        }
        if (args.length > ROW) {
            long_row(x + x_at[0], y + y_at[0], &args, rows);
        } else if (tile == 1) {
            load_run(x + x_at[0], args.x_stride, length, rows);
            short_row(rows, length);
            store_run(rows, y + y_at[0], args.y_stride, length);
        } else {
            for (int r = 0; r < length; r++)
                for (int t = 0; t < count; t++)
                    rows[t * pitch + r] = load_acc(x + x_at[t] + r * args.x_stride);
            for (int t = 0; t < count; t++) short_row(rows + t * pitch, length);
            for (int r = 0; r < length; r++)
                for (int t = 0; t < count; t++)
                    STORE(Y, y, y_at[t] + r * args.y_stride, rows[t * pitch + r]);
        }
    }
}
