#pragma OPENCL FP_CONTRACT OFF
// gather: y[.., i, ..] = x[.., index[..], ..], for gather (index has y's shape) and select (index
// has one axis, its strides along the others are 0). Elements go bit for bit; where index stands still
// along the innermost axis and memory allows it, several of them go as one.
//
// CPU form: a work-item does pieces of up to `piece` elements of the innermost axis.
// GPU form (GPU_FORM defined): a work-item does one element.
//
// Defines: E  C type of an element: uchar ushort uint ulong uint4; those of index_ops.clh
#include "types.clh"
#include "index_ops.clh"

struct gather_args {
    struct index_axes axes; // of y
    long x_offset, index_offset, y_offset;
    long x_step, length;    // of the indexed axis of x
    long piece, units_per_item;
};

#ifdef GPU_FORM

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
gather(global const E *restrict x, global const STORAGE(I) *restrict index, global E *restrict y,
       const struct gather_args args, global int *flag, uint operation) {
    const INDEX i = (INDEX)get_global_id(0);
    if (i >= args.axes.count) return;
    const struct places at = locate(&args.axes, i);
    const long from = read_index(index, args.index_offset + at.index, args.length, flag, operation);
    y[args.y_offset + at.y] = from < 0 ? (E)0 : x[args.x_offset + at.x + from * args.x_step];
}

#else

// Elements begin .. end - 1 of the innermost axis, for one index.
static inline void move_run(global const E *restrict x, long x_step, global E *restrict y,
                            long y_step, long begin, long end, bool exists) {
    if (!exists) {
        for (long k = begin; k < end; k++) y[k * y_step] = (E)0;
    } else if (x_step == 1 && y_step == 1) {
        for (long k = begin; k < end; k++) y[k] = x[k];
    } else {
        for (long k = begin; k < end; k++) y[k * y_step] = x[k * x_step];
    }
}

kernel void gather(global const E *restrict x, global const STORAGE(I) *restrict index,
                   global E *restrict y, const struct gather_args args, global int *flag,
                   uint operation) {
    const struct index_axes *axes = &args.axes;
    const long inner = axes->rank > 0 ? axes->shape[0] : 1;
    const long pieces = (inner + args.piece - 1) / args.piece, units = axes->count / inner * pieces;
    const long unit = (long)get_global_id(0) * args.units_per_item;
    for (long u = unit; u < min(unit + args.units_per_item, units); u++) {
        const struct places at = locate(axes, u / pieces * inner);
        const long begin = u % pieces * args.piece, end = min(begin + args.piece, inner);
        global const STORAGE(I) *indices = index + args.index_offset + at.index;
        global const E *from = x + args.x_offset + at.x;
        global E *to = y + args.y_offset + at.y;
        if (axes->index[0] == 0) {
            const long place = read_index(indices, 0, args.length, flag, operation);
            move_run(from + (place < 0 ? 0 : place * args.x_step), axes->x[0], to, axes->y[0],
                     begin, end, place >= 0);
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
