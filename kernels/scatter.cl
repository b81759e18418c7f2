#pragma OPENCL FP_CONTRACT OFF
// scatter: x[.., index[..j..], ..] = update(x[..], value[..j..]) for all positions j of the index,
// in place: for scatter (index has value's shape) and select_assign (index has one axis, its strides
// along the others are 0).
//
// Without atomics, and in the order of the indices: the axis of x is cut into ranges. Who owns a
// range of a column (the places that differ only along the axis) walks all positions j of that
// column and applies those whose index lies in the range.
//
// CPU form: a work-item owns a range of up to `piece` neighbouring columns.
// GPU form (GPU_FORM defined): a work-item owns a range of one column. Where there are many
// positions they are sorted by place instead (radix_gpu.cl, stable): scatter_begin writes the keys, and
// in scatter_apply a work-item does all updates of one place of one column.
//
// Defines
//   UPDATE  update_assign update_add update_mul update_min update_max
//   X, V    dtypes of x and value; for assign the unsigned integer of that size
//   W       lanes of a vector, CPU form
//   those of index_ops.clh
#include "types.clh"
#include "index_ops.clh"
#include "update_ops.clh"

struct scatter_args {
    struct index_axes axes; // of value, without the indexed one; y: value's strides
    long x_offset, index_offset, value_offset;
    long x_step, index_step, value_step; // along the axis
    long length, positions;              // of the axis, in x and in value
    long ranges, range_length;
    long piece, units_per_item;
};

static inline void apply(global STORAGE(X) *x, global const STORAGE(V) *value) {
    const MATH(X) old = LOAD(X, x, 0), given = (MATH(X))LOAD(V, value, 0);
    STORE(X, x, 0, UPDATE(old, given));
}

#ifdef GPU_FORM

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
scatter(global STORAGE(X) *restrict x, global const STORAGE(I) *restrict index,
        global const STORAGE(V) *restrict value, const struct scatter_args args, global int *flag,
        uint operation) {
    const size_t item = get_global_id(0), columns = (size_t)args.axes.count;
    const long range = (long)(item / columns), begin = range * args.range_length;
    if (range >= args.ranges) return;
    const struct places at = locate(&args.axes, (INDEX)(item % columns));
    index += args.index_offset + at.index;
    value += args.value_offset + at.y;
    x += args.x_offset + at.x;
    for (long j = 0; j < args.positions; j++) {
        const long place = (long)LOAD(I, index, j * args.index_step);
        if (place < 0 || place >= args.length) {
            if (range == 0) report_index(flag, operation, place);
        } else if (place >= begin && place < begin + args.range_length) {
            apply(x + place * args.x_step, value + j * args.value_step);
        }
    }
}

// Keys and positions of the sort start at these offsets of their buffers. `columns` is 1 where all
// columns share the index, else the number of columns; position p is index j = p / columns of column
// p % columns, and its key is the place of x, column by column: `no_place` if it is out of range.
struct sort_args {
    long keys, positions, count, columns, no_place;
};

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
scatter_begin(global const STORAGE(I) *restrict index, global uint *restrict keys,
              const struct scatter_args args, const struct sort_args sort, global int *flag,
              uint operation) {
    const INDEX p = (INDEX)get_global_id(0);
    if (p >= sort.count) return;
    const INDEX columns = (INDEX)sort.columns, j = p / columns, column = p % columns;
    const long at = columns == 1 ? 0 : locate(&args.axes, column).index;
    const long place = read_index(index, args.index_offset + at + j * args.index_step, args.length,
                                  flag, operation);
    keys[sort.keys + p] = (uint)(place < 0 ? sort.no_place : column * args.length + place);
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
scatter_apply(global STORAGE(X) *restrict x, global const STORAGE(V) *restrict value,
              global const uint *restrict keys, global const uint *restrict positions,
              const struct scatter_args args, const struct sort_args sort) {
    const INDEX item = (INDEX)get_global_id(0);
    const INDEX shared_columns = sort.columns == 1 ? (INDEX)args.axes.count : 1;
    INDEX i = item / shared_columns;
    if (i >= sort.count) return;
    keys += sort.keys;
    positions += sort.positions;
    const uint key = keys[i];
    if (key == sort.no_place || (i > 0 && keys[i - 1] == key)) return;
    const INDEX own_column = (INDEX)(key / args.length), place = (INDEX)(key % args.length);
    const struct places at =
        locate(&args.axes, sort.columns == 1 ? item % shared_columns : own_column);
    x += args.x_offset + at.x + place * args.x_step;
    value += args.value_offset + at.y;
    MATH(X) current = LOAD(X, x, 0);
    for (; i < sort.count && keys[i] == key; i++) {
        const long j = positions[i] / (uint)sort.columns;
        const MATH(X) given = (MATH(X))LOAD(V, value, j * args.value_step);
        current = UPDATE(current, given);
    }
    STORE(X, x, 0, current);
}

#else

// One position for `count` neighbouring columns.
static inline void apply_run(global STORAGE(X) *x, long x_step, global const STORAGE(V) *value,
                             long value_step, int count) {
    int k = 0;
    if (x_step == 1 && value_step == 1) {
        for (; k + W <= count; k += W) {
            const MATHV(X) old = LOADV(X, x, k), given = LOADV(V, value, k);
            STOREV(X, x, k, UPDATE(old, given));
        }
    }
    for (; k < count; k++) apply(x + k * x_step, value + k * value_step);
}

kernel void scatter(global STORAGE(X) *restrict x, global const STORAGE(I) *restrict index,
                    global const STORAGE(V) *restrict value, const struct scatter_args args,
                    global int *flag, uint operation) {
    const struct index_axes *axes = &args.axes;
    const long inner = axes->rank > 0 ? axes->shape[0] : 1;
    const long pieces = (inner + args.piece - 1) / args.piece;
    const long units = axes->count / inner * pieces * args.ranges;
    const long unit = (long)get_global_id(0) * args.units_per_item;
    for (long u = unit; u < min(unit + args.units_per_item, units); u++) {
        const long range = u % args.ranges, first = u / args.ranges % pieces * args.piece;
        const struct places at = locate(axes, u / args.ranges / pieces * inner + first);
        const int count = (int)min(args.piece, inner - first);
        const long begin = range * args.range_length, end = begin + args.range_length;
        global const STORAGE(I) *indices = index + args.index_offset + at.index;
        for (long j = 0; j < args.positions; j++) {
            const int steps = axes->index[0] == 0 ? 1 : count; // looks at the index
            for (int k = 0; k < steps; k++) {
                const long place =
                    (long)LOAD(I, indices, j * args.index_step + k * axes->index[0]);
                if (place < 0 || place >= args.length) {
                    if (range == 0) report_index(flag, operation, place);
                } else if (place >= begin && place < end) {
                    apply_run(x + args.x_offset + at.x + place * args.x_step + k * axes->x[0],
                              axes->x[0],
                              value + args.value_offset + at.y + j * args.value_step +
                                  k * axes->y[0],
                              axes->y[0], steps == 1 ? count : 1);
                }
            }
        }
    }
}

#endif
