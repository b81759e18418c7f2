#pragma OPENCL FP_CONTRACT OFF
// index_nd: rows of indices to places: y[i] = the row-major place of (index[i, 0], ..,
// index[i, depth - 1]) within the first `depth` axes of x, or -1 if one of them is out of range,
// which is reported. A work-item does one row.
//
// Defines: I  dtype of the indices; INDEX as in axes.clh
#include "types.clh"
#include "axes.clh"
#include "index_flag.clh"

struct nd_args {
    struct axes rows;        // of index without its last axis; x: its strides
    long index_offset, step; // step: along the last axis
    long y_offset;
    long depth, lengths[MAX_AXES];
};

kernel void index_nd(global const STORAGE(I) *restrict index, global long *restrict y,
                     const struct nd_args args, global int *flag, uint operation) {
    const INDEX i = (INDEX)get_global_id(0);
    if (i >= args.rows.count) return;
    index += args.index_offset + axes_x(&args.rows, i);
    long place = 0;
    for (int k = 0; k < args.depth; k++) {
        const long value = (long)LOAD(I, index, k * args.step);
        if (value < 0 || value >= args.lengths[k]) {
            report_index(flag, operation, value);
            place = -1;
            break;
        }
        place = place * args.lengths[k] + value;
    }
    y[args.y_offset + i] = place;
}
