#pragma OPENCL FP_CONTRACT OFF
// grid_sample: y[n, c, h, w] = x[n, c] at the place between its elements that (gx, gy) =
// grid[n, h, w] names; -1 is the start of an axis, 1 its end.
//
// An axis has 1, 2 or 4 taps: neighbouring elements and their weights (nearest, linear, cubic). A
// work-item finds the taps of a position once and adds up each channel of it, along the rows first;
// it does positions_per_item positions, which are counted n, h, w.
//
// Defines: X  dtype word; those of sample_ops.clh
#include "types.clh"
#include "sample_ops.clh"

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
