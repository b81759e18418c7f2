#pragma OPENCL FP_CONTRACT OFF
// grid_sample_backward: gradients of grid_sample, from that of its result, y [n, c, h, w].
//
// Of x: each position of y gives each of its taps (rows first, up to 16) the element times the tap's
// weight. sample_taps, a work-item per position, writes a tap's key, the place of x counted
// n, h, w, or `no_place`, and its weight. The host sorts the keys, stably; then in sample_x a
// work-item adds up what lies at places_per_item places, CHANNELS channels at a time, in the order
// of positions. So the order of sums is that of the positions, on every device.
//
// Of the grid: sample_grid, a work-item per position, adds up over the channels.
//
// Defines
//   X  dtype of x, grid, y and the gradients
//   K  dtype of keys and of what is sorted along: u32 or u64
//   those of sample_ops.clh
#include "types.clh"
#include "sample_ops.clh"

#define CHANNELS 8

// Offsets of the buffers, in their elements.
struct tap_args {
    long keys, order, weights;
    long taps;     // of a position
    long count;    // of all positions
    long no_place; // also the number of places
    long places_per_item;
};

// Where position `position` stands.
static inline void locate_position(const struct sample_args *args, INDEX position, INDEX *n,
                                   INDEX *h, INDEX *w) {
    const INDEX line = position / (INDEX)args->out_width;
    *w = position - line * (INDEX)args->out_width;
    *n = line / (INDEX)args->out_height;
    *h = line - *n * (INDEX)args->out_height;
}

static inline INDEX y_offset(const struct sample_args *args, INDEX position) {
    INDEX n, h, w;
    locate_position(args, position, &n, &h, &w);
    return n * (INDEX)args->y_strides[0] + h * (INDEX)args->y_strides[2] +
           w * (INDEX)args->y_strides[3];
}

static inline global const STORAGE(X) *grid_at(global const STORAGE(X) *grid,
                                                const struct sample_args *args, INDEX n, INDEX h,
                                                INDEX w) {
    return grid + args->grid_offset + n * (INDEX)args->grid_strides[0] +
           h * (INDEX)args->grid_strides[1] + w * (INDEX)args->grid_strides[2];
}

kernel void sample_taps(global const STORAGE(X) *restrict grid, global STORAGE(K) *restrict keys,
                        global MATH(ACC) *restrict weights, const struct sample_args args,
                        const struct tap_args tap_args) {
    const INDEX position = (INDEX)get_global_id(0);
    if (position >= (INDEX)args.positions) return;
    INDEX n, h, w;
    locate_position(&args, position, &n, &h, &w);
    grid = grid_at(grid, &args, n, h, w);
    struct taps columns, rows;
    find_taps(LOAD(X, grid, 0), args.width, &args, &columns);
    const int count = find_taps(LOAD(X, grid, args.grid_strides[3]), args.height, &args, &rows);
    keys += tap_args.keys + position * (INDEX)tap_args.taps;
    weights += tap_args.weights + position * (INDEX)tap_args.taps;
    for (int j = 0; j < count; j++) {
        const long line = (n * args.height + rows.places[j]) * args.width;
        for (int i = 0; i < count; i++) {
            const bool exists = rows.places[j] >= 0 && columns.places[i] >= 0;
            keys[j * count + i] =
                (STORAGE(K))(exists ? line + columns.places[i] : tap_args.no_place);
            weights[j * count + i] = rows.weights[j] * columns.weights[i];
        }
    }
}

// The first of the sorted keys that is not below `key`.
static inline long find_key(global const STORAGE(K) *keys, long count, STORAGE(K) key) {
    long low = 0, high = count;
    while (low < high) {
        const long middle = low + (high - low) / 2;
        if (keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

kernel void sample_x(global const STORAGE(X) *restrict y, global STORAGE(X) *restrict x,
                     global const STORAGE(K) *restrict keys, global const STORAGE(K) *restrict order,
                     global const MATH(ACC) *restrict weights, const struct sample_args args,
                     const struct tap_args tap_args) {
    const long blocks = (args.channels + CHANNELS - 1) / CHANNELS;
    const long shares =
        (tap_args.no_place + tap_args.places_per_item - 1) / tap_args.places_per_item;
    const long item = (long)get_global_id(0);
    if (item >= blocks * shares) return;
    const long begin = item % shares * tap_args.places_per_item;
    const long end = min(begin + tap_args.places_per_item, tap_args.no_place);
    const long first = item / shares * CHANNELS;
    const int channels = (int)min((long)CHANNELS, args.channels - first);
    keys += tap_args.keys;
    order += tap_args.order;
    weights += tap_args.weights;
    x += args.x_offset + first * args.x_strides[1];
    y += args.y_offset + first * args.y_strides[1];
    long at = find_key(keys, tap_args.count, (STORAGE(K))begin);
    for (long place = begin; place < end; place++) {
        acc_t sums[CHANNELS] = {0};
        for (; at < tap_args.count && keys[at] == (STORAGE(K))place; at++) {
            const INDEX tap = (INDEX)order[at];
            const acc_t weight = weights[tap];
            global const STORAGE(X) *from = y + y_offset(&args, tap / (INDEX)tap_args.taps);
#pragma unroll
            for (int c = 0; c < CHANNELS; c++)
                if (c < channels) sums[c] += weight * LOAD(X, from, c * args.y_strides[1]);
        }
        const long line = place / args.width, w = place - line * args.width;
        const long n = line / args.height, h = line - n * args.height;
        global STORAGE(X) *to =
            x + n * args.x_strides[0] + h * args.x_strides[2] + w * args.x_strides[3];
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            if (c < channels) STORE(X, to, c * args.x_strides[1], sums[c]);
    }
}

// How the sample of one channel grows with the place along w (x) and along h (y).
struct growth {
    acc_t along_w, along_h;
};

static inline struct growth growth_of(global const STORAGE(X) *x, const struct sample_args *args,
                                      const struct taps *rows, const struct taps *columns,
                                      const acc_t row_slopes[4], const acc_t column_slopes[4],
                                      int count) {
    struct growth growth = {0, 0};
    for (int j = 0; j < count; j++) {
        if (rows->places[j] < 0) continue;
        global const STORAGE(X) *row = x + rows->places[j] * (INDEX)args->x_strides[2];
        acc_t value = 0, slope = 0;
        for (int i = 0; i < count; i++) {
            if (columns->places[i] < 0) continue;
            const acc_t element = LOAD(X, row, columns->places[i] * (INDEX)args->x_strides[3]);
            value += columns->weights[i] * element;
            slope += column_slopes[i] * element;
        }
        growth.along_w += rows->weights[j] * slope;
        growth.along_h += row_slopes[j] * value;
    }
    return growth;
}

kernel void sample_grid(global const STORAGE(X) *restrict x, global const STORAGE(X) *restrict grid,
                        global const STORAGE(X) *restrict y, global STORAGE(X) *restrict gradient,
                        const struct sample_args args) {
    const INDEX position = (INDEX)get_global_id(0);
    if (position >= (INDEX)args.positions) return;
    INDEX n, h, w;
    locate_position(&args, position, &n, &h, &w);
    grid = grid_at(grid, &args, n, h, w);
    const acc_t gx = LOAD(X, grid, 0), gy = LOAD(X, grid, args.grid_strides[3]);
    struct taps columns, rows;
    acc_t column_slopes[4], row_slopes[4];
    find_taps(gx, args.width, &args, &columns);
    const int count = find_taps(gy, args.height, &args, &rows);
    find_slopes(gx, args.width, &args, column_slopes);
    find_slopes(gy, args.height, &args, row_slopes);
    x += args.x_offset + n * (INDEX)args.x_strides[0];
    y += args.y_offset + y_offset(&args, position);
    acc_t along_w = 0, along_h = 0;
    for (INDEX c = 0; c < (INDEX)args.channels; c++) {
        const acc_t of_y = LOAD(X, y, c * (INDEX)args.y_strides[1]);
        const struct growth growth = growth_of(x + c * (INDEX)args.x_strides[1], &args, &rows,
                                               &columns, row_slopes, column_slopes, count);
        along_w += of_y * growth.along_w;
        along_h += of_y * growth.along_h;
    }
    gradient += args.grid_gradient_offset + n * (INDEX)args.grid_gradient_strides[0] +
                h * (INDEX)args.grid_gradient_strides[1] + w * (INDEX)args.grid_gradient_strides[2];
    STORE(X, gradient, 0, along_w);
    STORE(X, gradient, args.grid_gradient_strides[3], along_h);
}
