#pragma OPENCL FP_CONTRACT OFF
// cat: up to 8 members side by side along one axis of y, bit for bit.
//
// The host merges the axes of all members and of y together. They have the same lengths but along
// the joined axis, where each member has its own and begins where the one before it ends. Where
// memory allows it, several neighbours go as one element.
//
// CPU form: a work-item does some pieces, of up to `piece` elements of the innermost axis.
// GPU form (GPU_FORM defined): a group does 1024 elements of one member, 4 per work-item, which are
// all loaded before the first is stored.
//
// Defines
//   E      C type of an element: uchar ushort uint ulong, GPU form also uint4
//   INDEX  int or long: the type of element counts
//   V      see run.clh, CPU form
#include "types.clh"
#include "run.clh"
#include "in_flight.clh"

#define MAX_AXES 8
#define MEMBERS 8

struct member {
    long first;             // group (GPU form) or piece (CPU form) of the launch that begins it
    long length;            // along the joined axis
    long x_offset, y_offset;
    long strides[MAX_AXES]; // innermost first
};

struct cat_args {
    long count;             // members
    long rank, joined;      // axes; which one is joined
    long others;            // product of the other lengths
    long shape[MAX_AXES], y[MAX_AXES]; // joined: of no meaning
    int piece, stream;      // CPU form, and the next line
    long units_per_item, units;
    struct member members[MEMBERS];
};

#define SOURCES                                                                                    \
    global const E *restrict m0, global const E *restrict m1, global const E *restrict m2,         \
        global const E *restrict m3, global const E *restrict m4, global const E *restrict m5,     \
        global const E *restrict m6, global const E *restrict m7
#define SOURCE_OF(m)                                                                               \
    ((m) < 4 ? ((m) < 2 ? ((m) == 0 ? m0 : m1) : ((m) == 2 ? m2 : m3))                             \
             : ((m) < 6 ? ((m) == 4 ? m4 : m5) : ((m) == 6 ? m6 : m7)))

// The member that unit number `unit` belongs to.
static inline int find_member(const struct cat_args *args, long unit) {
    int m = 0;
    while (m + 1 < args->count && unit >= args->members[m + 1].first) m++;
    return m;
}

#ifdef GPU_FORM

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
cat(SOURCES, global E *restrict y, const struct cat_args args) {
    const long group = (long)get_group_id(0);
    const int m = find_member(&args, group);
    global const E *x = SOURCE_OF(m);
    const INDEX length = (INDEX)args.members[m].length, count = length * (INDEX)args.others;
    const INDEX begin = (INDEX)(group - args.members[m].first) * (GROUP * EACH) +
                        (INDEX)get_local_id(0);
#pragma unroll 1
    for (int part = 0; part < EACH; part += IN_FLIGHT) {
        const INDEX first = begin + part * GROUP;
        E values[IN_FLIGHT];
        long to[IN_FLIGHT];
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; k++) { // past the end the last element is looked at again
            INDEX rest = min(first + k * GROUP, count - 1);
            long from = args.members[m].x_offset;
            to[k] = args.members[m].y_offset;
#pragma unroll
            for (int d = 0; d < MAX_AXES; d++) {
                if (d >= args.rank) break;
                const INDEX n = d == args.joined ? length : (INDEX)args.shape[d];
                const INDEX next = d + 1 < args.rank ? rest / n : 0;
                const long place = rest - next * n;
                from += place * args.members[m].strides[d];
                to[k] += place * args.y[d];
                rest = next;
            }
            values[k] = x[from];
        }
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; k++)
            if (first + k * GROUP < count) y[to[k]] = values[k];
    }
}

#else

// Where a row of the innermost axis lies, and its coordinates on the others.
struct row {
    long from, to;
    long places[MAX_AXES];
};

#define LENGTH(args, m, d) ((d) == (args)->joined ? (args)->members[m].length : (args)->shape[d])

static inline struct row find_row(const struct cat_args *args, int m, long number) {
    struct row row = {args->members[m].x_offset, args->members[m].y_offset, {0}};
    for (int d = 1; d < args->rank; d++) {
        const long n = LENGTH(args, m, d);
        row.places[d] = number % n;
        row.from += row.places[d] * args->members[m].strides[d];
        row.to += row.places[d] * args->y[d];
        number /= n;
    }
    return row;
}

static inline void next_row(const struct cat_args *args, int m, struct row *row) {
    for (int d = 1; d < args->rank; d++) {
        row->from += args->members[m].strides[d];
        row->to += args->y[d];
        if (++row->places[d] < LENGTH(args, m, d)) return;
        row->from -= row->places[d] * args->members[m].strides[d];
        row->to -= row->places[d] * args->y[d];
        row->places[d] = 0;
    }
}

// Pieces begin .. end - 1 of one member, counted from its first one.
static inline void copy_pieces(const struct cat_args *args, int m, global const E *x,
                               global E *y, long begin, long end) {
    const long inner = LENGTH(args, m, 0), pieces = (inner + args->piece - 1) / args->piece;
    struct row row = find_row(args, m, begin / pieces);
    long piece = begin % pieces;
    for (long u = begin; u < end; u++) {
        const long at = piece * args->piece, n = min((long)args->piece, inner - at);
        copy_run(x + row.from + at * args->members[m].strides[0], args->members[m].strides[0],
                 y + row.to + at * args->y[0], args->y[0], n, args->stream != 0);
        if (++piece < pieces) continue;
        piece = 0;
        next_row(args, m, &row);
    }
}

kernel void cat(SOURCES, global E *restrict y, const struct cat_args args) {
    const long begin = (long)get_global_id(0) * args.units_per_item;
    const long end = min(begin + args.units_per_item, args.units);
    for (int m = find_member(&args, begin); m < args.count; m++) {
        const long first = args.members[m].first;
        const long stop = m + 1 < args.count ? args.members[m + 1].first : args.units;
        if (first >= end) break;
        copy_pieces(&args, m, SOURCE_OF(m), y, max(begin, first) - first, min(end, stop) - first);
    }
}

#endif
