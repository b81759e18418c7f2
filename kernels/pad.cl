#pragma OPENCL FP_CONTRACT OFF
// pad: y[.., c, ..] = x[.., c - before, ..] along every axis; what lies outside of x follows from
// the mode. Serves pad, roll (circular) and repeat (circular over several lengths), bit for bit.
// Where memory allows it, several neighbours along an axis that is not padded go as one element.
//
// CPU form: a work-item does some pieces, of up to `piece` elements of the innermost axis, by runs of
// neighbours in x.
// GPU form (GPU_FORM defined): a work-item does 4 elements, all loaded before the first is stored.
//
// Defines
//   E      C type of an element: uchar ushort uint ulong, GPU form also uint4
//   INDEX  int or long: the type of element counts
//   V      see run.clh, CPU form
#include "types.clh"
#include "run.clh"
#include "in_flight.clh"

#define MAX_AXES 8
enum { CONSTANT, REFLECT, EDGE, CIRCULAR }; // as in opcodes.h

struct pad_args {
    long rank, count, mode; // axes, innermost first; elements of y
    long shape[MAX_AXES], y[MAX_AXES];                     // of y
    long lengths[MAX_AXES], x[MAX_AXES], before[MAX_AXES]; // of x
    long x_offset, y_offset;
    long piece, units_per_item, units, stream; // CPU form
};

#define FILL_uchar(pattern) ((uchar)(pattern).x)
#define FILL_ushort(pattern) ((ushort)(pattern).x)
#define FILL_uint(pattern) ((pattern).x)
#define FILL_ulong(pattern) (as_ulong((pattern).xy))
#define FILL_uint4(pattern) (pattern)
#define FILL CAT(FILL_, E)

// The place in an axis of x of length n that position p, counted from its first element, shows; -1:
// none.
static inline INDEX source_place(INDEX p, INDEX n, int mode) {
    if (p >= 0 && p < n) return p;
    switch (mode) {
    case REFLECT:
        p = p < 0 ? -p : p;
        return p < n ? p : 2 * (n - 1) - p;
    case EDGE:
        return p < 0 ? 0 : n - 1;
    case CIRCULAR:
        p %= n;
        return p < 0 ? p + n : p;
    default:
        return -1;
    }
}

#ifdef GPU_FORM

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
pad(global const E *restrict x, global E *restrict y, const struct pad_args args,
    const uint4 pattern) {
    const INDEX count = (INDEX)args.count;
    const INDEX begin = (INDEX)get_group_id(0) * (GROUP * EACH) + (INDEX)get_local_id(0);
#pragma unroll 1
    for (int part = 0; part < EACH; part += IN_FLIGHT) {
        const INDEX first = begin + part * GROUP;
        E values[IN_FLIGHT];
        long to[IN_FLIGHT];
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; k++) { // past the end the last element is looked at again
            INDEX rest = min(first + k * GROUP, count - 1);
            long from = args.x_offset;
            bool exists = true;
            to[k] = args.y_offset;
#pragma unroll
            for (int d = 0; d < MAX_AXES; d++) { // so that no array is indexed at run time
                if (d >= args.rank) break;
                const INDEX n = (INDEX)args.shape[d];
                const INDEX next = d + 1 < args.rank ? rest / n : 0;
                const INDEX c = rest - next * n;
                const INDEX place = source_place(c - (INDEX)args.before[d],
                                                 (INDEX)args.lengths[d], (int)args.mode);
                exists = exists && place >= 0;
                from += (long)place * args.x[d];
                to[k] += (long)c * args.y[d];
                rest = next;
            }
            values[k] = exists ? x[from] : FILL(pattern);
        }
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; k++)
            if (first + k * GROUP < count) y[to[k]] = values[k];
    }
}

#else

// Where row `number` of y begins and where its elements come from; false: all of it lies outside.
static inline bool find_row(const struct pad_args *args, long number, long *from, long *to) {
    bool exists = true;
    *from = args->x_offset;
    *to = args->y_offset;
    for (int d = 1; d < args->rank; d++) {
        const long c = number % args->shape[d];
        const long place = source_place(c - args->before[d], args->lengths[d], (int)args->mode);
        exists = exists && place >= 0;
        *from += place * args->x[d];
        *to += c * args->y[d];
        number /= args->shape[d];
    }
    return exists;
}

// Elements c .. end - 1 of a row, by runs that are neighbours in x, or outside of it, or one by one.
static inline void pad_run(global const E *x, global E *y, const struct pad_args *args, long c,
                           long end, E fill) {
    const long n = args->lengths[0];
    while (c < end) {
        const long p = c - args->before[0], place = source_place(p, n, (int)args->mode);
        const bool is_inside = (p >= 0 && p < n) || args->mode == CIRCULAR;
        long run = 1;
        if (is_inside)
            run = n - place;
        else if (args->mode == CONSTANT)
            run = p < 0 ? -p : end;
        run = min(run, end - c);
        if (place < 0)
            fill_run(y + c * args->y[0], args->y[0], run, fill);
        else
            copy_run(x + place * args->x[0], args->x[0], y + c * args->y[0], args->y[0], run,
                     args->stream != 0);
        c += run;
    }
}

kernel void pad(global const E *restrict x, global E *restrict y, const struct pad_args args,
                const uint4 pattern) {
    const long inner = args.shape[0], pieces = (inner + args.piece - 1) / args.piece;
    const long first = (long)get_global_id(0) * args.units_per_item;
    const E fill = FILL(pattern);
    for (long u = first; u < min(first + args.units_per_item, args.units); u++) {
        const long begin = u % pieces * args.piece, end = min(begin + args.piece, inner);
        long from, to;
        if (find_row(&args, u / pieces, &from, &to))
            pad_run(x + from, y + to, &args, begin, end, fill);
        else
            fill_run(y + to + begin * args.y[0], args.y[0], end - begin, fill);
    }
}

#endif
