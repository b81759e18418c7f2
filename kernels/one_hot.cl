#pragma OPENCL FP_CONTRACT OFF
// one_hot: y[.., c] = index[..] == c ? on : off. An index out of range is reported; its row has no
// `on`.
//
// CPU form: a work-item does some rows.
// GPU form (GPU_FORM defined): a work-item does 4 elements, a group apart.
//
// Defines: E  unsigned type of an element of the size: uchar ushort uint ulong; V as in run.clh, CPU
// form; I  dtype of the indices; INDEX as in axes.clh
#include "types.clh"
#include "axes.clh"
#include "index_flag.clh"
#include "run.clh"
#include "in_flight.clh"

struct one_hot_args {
    struct axes rows; // of index; x: its strides, y: those of the result
    long index_offset, y_offset;
    long classes, step; // length and stride of the last axis of the result
    long rows_per_item; // CPU form
    ulong on, off;
};

#ifdef GPU_FORM

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
one_hot(global const STORAGE(I) *restrict index, global E *restrict y,
        const struct one_hot_args args, global int *flag, uint operation) {
    const INDEX classes = (INDEX)args.classes, count = (INDEX)args.rows.count * classes;
    const INDEX first = (INDEX)get_group_id(0) * (GROUP * EACH) + (INDEX)get_local_id(0);
#pragma unroll 1
    for (int k = 0; k < EACH; k++) {
        const INDEX i = first + k * GROUP, row = i / classes, c = i - row * classes;
        if (i >= count) return;
        INDEX x_offset, y_offset;
        axes_offsets(&args.rows, row, &x_offset, &y_offset);
        const long value = (long)LOAD(I, index, args.index_offset + x_offset);
        if (c == 0 && (value < 0 || value >= args.classes)) report_index(flag, operation, value);
        y[args.y_offset + y_offset + (long)c * args.step] = (E)(value == c ? args.on : args.off);
    }
}

#else

kernel void one_hot(global const STORAGE(I) *restrict index, global E *restrict y,
                    const struct one_hot_args args, global int *flag, uint operation) {
    const long first = (long)get_global_id(0) * args.rows_per_item;
    for (long row = first; row < min(first + args.rows_per_item, args.rows.count); row++) {
        long x_offset, y_offset;
        axes_offsets(&args.rows, row, &x_offset, &y_offset);
        const long value = (long)LOAD(I, index, args.index_offset + x_offset);
        global E *to = y + args.y_offset + y_offset;
        fill_run(to, args.step, args.classes, (E)args.off);
        if (value < 0 || value >= args.classes)
            report_index(flag, operation, value);
        else
            to[value * args.step] = (E)args.on;
    }
}

#endif
