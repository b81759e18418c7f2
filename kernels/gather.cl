#pragma OPENCL FP_CONTRACT OFF
// gather: y[.., i, ..] = x[.., index[..], ..], for gather (index has y's shape) and select (index's
// axes stand where x's indexed one was, its strides along the others are 0). Elements go bit for bit;
// where index stands still along the innermost axis and memory allows it, several of them go as one.
//
// CPU form: a work-item does pieces of up to `piece` elements of the innermost axis.
// GPU form (GPU_FORM defined): a work-item does 4 elements, a group apart: first all indices are
// loaded, then all elements, then all are stored.
//
// Defines: E  C type of an element: uchar ushort uint ulong, GPU form also uint4; V as in run.clh,
// CPU form; those of index_ops.clh
#include "types.clh"
#include "index_ops.clh"
#include "run.clh"
#include "in_flight.clh"

struct gather_args {
    struct index_axes axes; // of y
    long x_offset, index_offset, y_offset;
    long x_step, length;    // of the indexed axis of x
    long piece, units_per_item, stream; // CPU form
    long ahead, fetched; // rows ahead of which the first `fetched` elements are fetched; CPU form
};

#ifdef GPU_FORM

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gather(global const E *restrict x, global const STORAGE(I) *restrict index, global E *restrict y,
       const struct gather_args args, global int *flag, uint operation) {
    const INDEX count = (INDEX)args.axes.count;
    const INDEX begin = (INDEX)get_group_id(0) * (GROUP * EACH) + (INDEX)get_local_id(0);
#pragma unroll 1
    for (int part = 0; part < EACH; part += IN_FLIGHT) {
        const INDEX first = begin + part * GROUP;
        long from[IN_FLIGHT], to[IN_FLIGHT], picked[IN_FLIGHT];
        E values[IN_FLIGHT];
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; k++) { // past the end the last element is looked at again
            const struct places at = locate(&args.axes, min(first + k * GROUP, count - 1));
            from[k] = args.x_offset + at.x;
            to[k] = args.y_offset + at.y;
            picked[k] = (long)LOAD(I, index, args.index_offset + at.index);
        }
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; k++) {
            const bool exists = picked[k] >= 0 && picked[k] < args.length;
            if (!exists) report_index(flag, operation, picked[k]);
            values[k] = exists ? x[from[k] + picked[k] * args.x_step] : (E)0;
        }
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; k++)
            if (first + k * GROUP < count) y[to[k]] = values[k];
    }
}

#else

// Where row number `row` of the innermost axis begins. Divisions of 64 bits are slow: two axes need
// none.
static inline struct places locate_row(const struct index_axes *axes, long row) {
    struct places at = {0, 0, 0};
    if (axes->rank == 2) {
        add_place(axes, 1, row, &at);
        return at;
    }
    for (int d = 1; d < axes->rank; d++) {
        const long next = row / axes->shape[d];
        add_place(axes, d, row - next * axes->shape[d], &at);
        row = next;
    }
    return at;
}

// Brings the beginning of what piece 0 of a row will copy near. What the index says is not looked at.
static inline void fetch_row(global const E *x, global const STORAGE(I) *index,
                             const struct gather_args *args, long row) {
    const struct places at = locate_row(&args->axes, row);
    const long place = (long)LOAD(I, index, args->index_offset + at.index);
    global const E *from = x + args->x_offset + at.x + place * args->x_step;
    for (long k = 0; k < args->fetched; k += LINE_BYTES / sizeof(E)) FETCH_LINE(from + k);
}

kernel void gather(global const E *restrict x, global const STORAGE(I) *restrict index,
                   global E *restrict y, const struct gather_args args, global int *flag,
                   uint operation) {
    const struct index_axes *axes = &args.axes;
    const long inner = axes->rank > 0 ? axes->shape[0] : 1;
    const long pieces = (inner + args.piece - 1) / args.piece, units = axes->count / inner * pieces;
    const long unit = (long)get_global_id(0) * args.units_per_item;
    const long end_unit = min(unit + args.units_per_item, units);
    for (long u = unit; u < end_unit; u++) {
        if (args.fetched > 0 && u + args.ahead < end_unit)
            fetch_row(x, index, &args, u + args.ahead);
        const long row = pieces == 1 ? u : u / pieces;
        const long begin = (u - row * pieces) * args.piece, end = min(begin + args.piece, inner);
        const struct places at = locate_row(axes, row);
        global const STORAGE(I) *indices = index + args.index_offset + at.index;
        global const E *from = x + args.x_offset + at.x;
        global E *to = y + args.y_offset + at.y;
        if (axes->index[0] == 0) {
            const long place = read_index(indices, 0, args.length, flag, operation);
            to += begin * axes->y[0];
            from += place * args.x_step + begin * axes->x[0];
            if (place < 0)
                fill_run(to, axes->y[0], end - begin, (E)0);
            else
                copy_run(from, axes->x[0], to, axes->y[0], end - begin, args.stream != 0);
            continue;
        }
        for (long k = begin; k < end; k++) {
            const long place =
                read_index(indices, k * axes->index[0], args.length, flag, operation);
            to[k * axes->y[0]] =
                place < 0 ? (E)0 : from[place * args.x_step + k * axes->x[0]];
        }
    }
}

#endif
