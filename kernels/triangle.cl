#pragma OPENCL FP_CONTRACT OFF
// triangle: y[.., i, j] = x[.., i, j] on one side of a diagonal, 0 beyond it.
//
//     tril keeps j - i <= offset, triu j - i >= offset.  offset 1, 4 x 4:   k k . .   . k k k
//                                                                           k k k .   . . k k
// Elements are unsigned integers of their size; x and y may be the same     k k k k   . . . k
// tensor. A line is a row of one of the matrices, cut into units of V       k k k k   . . . .
// elements. What is not kept is not read.
//
// CPU form: a work-item per block of lines.
// GPU form (GPU_FORM defined): a work-item per unit; a unit that the diagonal cuts goes element by
// element.
//
// Defines
//   E      C type of an element: uchar ushort uint ulong
//   V      elements of a unit: 1, or a 16-byte vector where columns lie side by side and all lines
//          start aligned (GPU form)
//   UPPER  triu
//   INDEX  int or long: the type of element offsets
#include "types.clh"
#include "axes.clh"

#if !defined(E) || !defined(V)
#error "triangle.cl needs E and V"
#endif

struct triangle_args {
    struct axes matrices;
    long x_offset, y_offset;
    long rows, columns;
    long x_row, x_column, y_row, y_column; // strides
    long offset;                           // of the diagonal
    long lines_per_item;
};

struct line {
    INDEX x, y;       // where it starts
    INDEX begin, end; // columns that are kept
};

static inline struct line locate(const struct triangle_args *args, INDEX number) {
    struct line line;
    const INDEX matrix = number / (INDEX)args->rows, row = number - matrix * (INDEX)args->rows;
    const long edge = clamp((long)row + args->offset, -1l, args->columns);
    axes_offsets(&args->matrices, matrix, &line.x, &line.y);
    line.x += row * (INDEX)args->x_row;
    line.y += row * (INDEX)args->y_row;
#ifdef UPPER
    line.begin = (INDEX)max(edge, 0l);
    line.end = (INDEX)args->columns;
#else
    line.begin = 0;
    line.end = (INDEX)min(edge + 1, args->columns);
#endif
    return line;
}

#ifdef GPU_FORM

#if V == 1
typedef E unit;
#else
typedef CAT(E, V) unit;
#endif

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
triangle(global const E *x, global E *y, const struct triangle_args args) {
    const INDEX per_line = (INDEX)(args.columns / V), i = (INDEX)get_global_id(0);
    const INDEX number = i / per_line, first = (i - number * per_line) * V;
    if (number >= (INDEX)args.matrices.count * (INDEX)args.rows) return;
    const struct line line = locate(&args, number);
    global const E *from = x + args.x_offset + line.x + first * (INDEX)args.x_column;
    global E *to = y + args.y_offset + line.y + first * (INDEX)args.y_column;
    if (first >= line.begin && first + V <= line.end) {
        *(global unit *)to = *(global const unit *)from;
    } else if (first + V <= line.begin || first >= line.end) {
        *(global unit *)to = (unit)(E)0;
    } else {
        for (int k = 0; k < V; k++)
            to[k] = first + k >= line.begin && first + k < line.end ? from[k] : (E)0;
    }
}

#else

static inline void clear(global E *to, long step, long begin, long end) {
    if (step == 1)
        for (long j = begin; j < end; j++) to[j] = (E)0;
    else
        for (long j = begin; j < end; j++) to[j * step] = (E)0;
}

static inline void move(global const E *from, long from_step, global E *to, long to_step,
                        long begin, long end) {
    if (from_step == 1 && to_step == 1)
        for (long j = begin; j < end; j++) to[j] = from[j];
    else
        for (long j = begin; j < end; j++) to[j * to_step] = from[j * from_step];
}

kernel void triangle(global const E *x, global E *y, const struct triangle_args args) {
    const long first = (long)get_global_id(0) * args.lines_per_item;
    const long last = min(first + args.lines_per_item, args.matrices.count * args.rows);
    for (long number = first; number < last; number++) {
        const struct line line = locate(&args, number);
        global E *to = y + args.y_offset + line.y;
        clear(to, args.y_column, 0, line.begin);
        move(x + args.x_offset + line.x, args.x_column, to, args.y_column, line.begin, line.end);
        clear(to, args.y_column, max((long)line.end, (long)line.begin), args.columns);
    }
}

#endif
