#pragma OPENCL FP_CONTRACT OFF
// grid_sample: y[n, c, h, w] = x[n, c] at the place between its elements that (gx, gy) =
// grid[n, h, w] names; -1 is the start of an axis, 1 its end.
//
// An axis has 1, 2 or 4 taps: neighbouring elements and their weights (nearest, linear, cubic). A
// work-item finds the taps of a position once and adds up each channel of it, along the rows first;
// it does positions_per_item positions, which are counted n, h, w.
//
// Defines: X  dtype word; ACC  f32 or f64: the arithmetic; INDEX  int or long: of element offsets
#include "types.clh"

#define BILINEAR 0
#define NEAREST 1
#define BICUBIC 2
#define ZEROS 0
#define BORDER 1
#define REFLECTION 2

struct sample_args {
    long x_offset, grid_offset, y_offset;
    long x_strides[4], grid_strides[4], y_strides[4];
    long channels, height, width;         // of x
    long positions, out_height, out_width; // of y
    long positions_per_item;
    long mode, padding, align_corners;
};

typedef MATH(ACC) acc_t;

// From -1 .. 1 to elements of an axis: from centre to centre, or from border to border.
static inline acc_t coordinate(acc_t g, long length, long align_corners) {
    return align_corners ? (g + 1) * (acc_t)0.5 * (acc_t)(length - 1)
                         : ((g + 1) * (acc_t)length - 1) * (acc_t)0.5;
}

static inline acc_t bounded(acc_t at, long length) {
    return at > 0 ? fmin(at, (acc_t)(length - 1)) : (acc_t)0; // NaN: 0
}

// Reflected at the centres of the outer elements, or at their borders.
static inline acc_t padded(acc_t at, long length, const struct sample_args *args) {
    if (args->padding == ZEROS) return at;
    if (args->padding == REFLECTION) {
        const acc_t low = args->align_corners ? (acc_t)0 : (acc_t)-0.5;
        const acc_t span = (acc_t)(args->align_corners ? length - 1 : length);
        const acc_t rest = span > 0 ? fmod(fabs(at - low), 2 * span) : (acc_t)0;
        at = (rest > span ? 2 * span - rest : rest) + low;
    }
    return bounded(at, length);
}

struct taps {
    acc_t weights[4];
    INDEX places[4]; // -1: outside
};

static inline INDEX place_of(acc_t at, long length) {
    return at >= 0 && at < (acc_t)length ? (INDEX)at : (INDEX)-1;
}

// Keys' kernel with a = -3/4, of distances up to 1, and from there to 2.
static inline acc_t cubic_near(acc_t d) { return ((acc_t)1.25 * d - (acc_t)2.25) * d * d + 1; }
static inline acc_t cubic_far(acc_t d) {
    return (((acc_t)-0.75 * d + (acc_t)3.75) * d - 6) * d + 3;
}

// Returns their number.
static inline int find_taps(acc_t g, long length, const struct sample_args *args,
                            struct taps *taps) {
    const acc_t raw = coordinate(g, length, args->align_corners);
    if (args->mode == BICUBIC) { // what lies outside is padded element by element
        const acc_t first = floor(raw), d = raw - first;
        for (int i = 0; i < 4; i++)
            taps->places[i] = place_of(padded(first + (acc_t)(i - 1), length, args), length);
        taps->weights[0] = cubic_far(d + 1);
        taps->weights[1] = cubic_near(d);
        taps->weights[2] = cubic_near(1 - d);
        taps->weights[3] = cubic_far(2 - d);
        return 4;
    }
    const acc_t at = padded(raw, length, args);
    if (args->mode == NEAREST) {
        taps->places[0] = place_of(rint(at), length);
        taps->weights[0] = 1;
        return 1;
    }
    const acc_t first = floor(at);
    taps->places[0] = place_of(first, length);
    taps->places[1] = place_of(first + 1, length);
    taps->weights[0] = 1 - (at - first);
    taps->weights[1] = at - first;
    return 2;
}

static inline acc_t value_at(global const STORAGE(X) *x, const struct sample_args *args,
                             const struct taps *rows, const struct taps *columns, int count) {
    acc_t sum = 0;
    for (int j = 0; j < count; j++) {
        if (rows->places[j] < 0) continue;
        global const STORAGE(X) *row = x + rows->places[j] * (INDEX)args->x_strides[2];
        acc_t part = 0;
        for (int i = 0; i < count; i++)
            if (columns->places[i] >= 0)
                part += columns->weights[i] *
                        LOAD(X, row, columns->places[i] * (INDEX)args->x_strides[3]);
        sum += rows->weights[j] * part;
    }
    return sum;
}

kernel void grid_sample(global const STORAGE(X) *restrict x, global const STORAGE(X) *restrict grid,
                        global STORAGE(X) *restrict y, const struct sample_args args) {
    const INDEX begin = (INDEX)get_global_id(0) * (INDEX)args.positions_per_item;
    const INDEX end = min(begin + (INDEX)args.positions_per_item, (INDEX)args.positions);
    for (INDEX position = begin; position < end; position++) {
        const INDEX line = position / (INDEX)args.out_width;
        const INDEX w = position - line * (INDEX)args.out_width;
        const INDEX n = line / (INDEX)args.out_height, h = line - n * (INDEX)args.out_height;
        global const STORAGE(X) *place =
            grid + args.grid_offset + n * (INDEX)args.grid_strides[0] +
            h * (INDEX)args.grid_strides[1] + w * (INDEX)args.grid_strides[2];
        struct taps columns, rows;
        find_taps(LOAD(X, place, 0), args.width, &args, &columns);
        const int count =
            find_taps(LOAD(X, place, args.grid_strides[3]), args.height, &args, &rows);
        global const STORAGE(X) *from = x + args.x_offset + n * (INDEX)args.x_strides[0];
        global STORAGE(X) *to = y + args.y_offset + n * (INDEX)args.y_strides[0] +
                                h * (INDEX)args.y_strides[2] + w * (INDEX)args.y_strides[3];
        for (INDEX c = 0; c < (INDEX)args.channels; c++)
            STORE(X, to, c * (INDEX)args.y_strides[1],
                  value_at(from + c * (INDEX)args.x_strides[1], &args, &rows, &columns, count));
    }
}
