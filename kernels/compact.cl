#pragma OPENCL FP_CONTRACT OFF
// compact: the places where a mask is not 0 (argwhere), or another tensor's elements there
// (mask_select), in row-major order.
//
// The positions of the mask are cut into chunks. compact_count counts the hits of each. In
// compact_write a chunk adds up the counts before its own: its hits go to the rows from there on, as
// far as the result has rows. Rows past the last hit become 0, a share of them by each chunk; the
// first chunk stores the number of hits.
//
// CPU form: a work-item does a chunk.
// GPU form (GPU_FORM defined): a group does a chunk, in tiles of 4096 positions. A work-item looks at
// 16 neighbours; a scan over the group gives each hit its place in a list, and the list is written by
// neighbours side by side.
//
// Defines
//   M       unsigned integer of a mask element's size: uchar ushort uint ulong
//   E       unsigned integer of a result element's size, likewise
//   SELECT  1: elements of `source`; 0: coordinates
//   INDEX   int or long: the type of positions
#include "types.clh"
#include "axes.clh"

struct compact_args {
    struct axes axes;         // of the mask's shape; x: its strides, y: the source's
    long mask_offset, source_offset, out_offset, counts_offset, total_offset;
    long row_step, column_step; // of the result
    long length;                // its rows; 0 if they have no columns
    long chunk_length, chunks;
    ulong significant;          // bits of a mask element that make it true
    long total_size;            // bytes of the number of hits
    long columns;               // of the result: 1, or the rank of the mask
    long shape[MAX_AXES];       // of the mask, outermost first
};

static inline void store_total(global uchar *p, long at, long size, ulong total) {
    switch (size) {
    case 1: p[at] = (uchar)total; break;
    case 2: ((global ushort *)p)[at] = (ushort)total; break;
    case 4: ((global uint *)p)[at] = (uint)total; break;
    default: ((global ulong *)p)[at] = total; break;
    }
}

#ifdef GPU_FORM

#define GROUP 256
#define LANES 16
#define TILE (GROUP * LANES)

// Bit k: byte k of the word is not 0. All of them come to the topmost bits, then side by side.
static inline uint nonzero_bytes(uint word) {
    const uint tops = (((word & 0x7f7f7f7fu) + 0x7f7f7f7fu) | word) & 0x80808080u;
    return ((tops >> 7) * 0x01020408u) >> 24 & 15u;
}

// Bit k: position first + k is a hit. A mask whose elements follow each other is read as vectors.
static inline uint load_bits(global const M *mask, const struct compact_args *args, INDEX first,
                             INDEX end) {
    const struct axes *axes = &args->axes;
    const bool is_run = axes->rank == 1 && axes->x[0] == 1;
    uint bits = 0;
    if (first >= end) return 0;
    if (is_run && args->mask_offset % LANES == 0 && first + LANES <= end) {
        global const M *from = mask + args->mask_offset + first;
        if (sizeof(M) == 1) { // one load: a vector of bytes comes in pieces
            const uint significant = (uchar)args->significant * 0x01010101u;
            const uint4 words = *(global const uint4 *)from & significant;
            return nonzero_bytes(words.s0) | nonzero_bytes(words.s1) << 4 |
                   nonzero_bytes(words.s2) << 8 | nonzero_bytes(words.s3) << 12;
        }
        M lanes[LANES];
        vstore16(*(global const CAT(M, 16) *)from, 0, lanes);
#pragma unroll
        for (int k = 0; k < LANES; k++) bits |= (uint)((lanes[k] & args->significant) != 0) << k;
        return bits;
    }
    mask += args->mask_offset;
#pragma unroll 1
    for (int k = 0; k < LANES && first + k < end; k++) {
        const INDEX at = is_run ? first + k : axes_x(axes, first + k);
        bits |= (uint)((mask[at] & args->significant) != 0) << k;
    }
    return bits;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
compact_count(global const M *restrict mask, global uint *restrict counts,
              const struct compact_args args) {
    local uint sums[GROUP];
    const int item = (int)get_local_id(0);
    const INDEX begin = (INDEX)(get_group_id(0) * args.chunk_length);
    const INDEX end = (INDEX)min((long)begin + args.chunk_length, args.axes.count);
    uint sum = 0;
    for (INDEX i = begin + item * LANES; i < end; i += TILE)
        sum += popcount(load_bits(mask, &args, i, end));
    sums[item] = sum;
    for (int h = GROUP / 2; h > 0; h >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < h) sums[item] += sums[item + h];
    }
    if (item == 0) counts[args.counts_offset + (long)get_group_id(0)] = sums[0];
}

// Entry e of the tile's hits, a row or one coordinate of it: its value, and where it goes.
static inline E entry_value(global const E *source, const struct compact_args *args,
                            local const ushort *hits, INDEX tile, int e) {
#if SELECT
    const INDEX position = tile + hits[e];
    INDEX x, y;
    if (args->axes.rank == 1)
        y = position * (INDEX)args->axes.y[0];
    else
        axes_offsets(&args->axes, position, &x, &y);
    return source[args->source_offset + y];
#else
    const int hit = e / (int)args->columns, column = e - hit * (int)args->columns;
    INDEX place = tile + hits[hit];
    for (int axis = (int)args->columns - 1; axis > column; axis--) place /= (INDEX)args->shape[axis];
    if (column > 0) place %= (INDEX)args->shape[column];
    return (E)place;
#endif
}

static inline long entry_place(const struct compact_args *args, long row, int e) {
#if SELECT
    return args->out_offset + (row + e) * args->row_step;
#else
    const int hit = e / (int)args->columns, column = e - hit * (int)args->columns;
    return args->out_offset + (row + hit) * args->row_step + column * args->column_step;
#endif
}

// The elements of one line are on their way together; the walk over axes is long.
#define AHEAD 4
static inline void write_entries(global const E *source, global E *out,
                                 const struct compact_args *args, local const ushort *hits,
                                 INDEX tile, long row, int entries) {
    int e = (int)get_local_id(0);
#if SELECT
    if (args->axes.rank == 1)
        for (; e + (AHEAD - 1) * GROUP < entries; e += AHEAD * GROUP) {
            E values[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                values[k] = source[args->source_offset +
                                   (tile + hits[e + k * GROUP]) * (INDEX)args->axes.y[0]];
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                out[entry_place(args, row, e + k * GROUP)] = values[k];
        }
#endif
#pragma unroll 1
    for (; e < entries; e += GROUP)
        out[entry_place(args, row, e)] = entry_value(source, args, hits, tile, e);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
compact_write(global const M *restrict mask, global const E *restrict source,
              global E *restrict out, global uchar *restrict total_out,
              global const uint *restrict counts, const struct compact_args args) {
    local ulong before[GROUP], all[GROUP];
    local uint scan[2][GROUP];
    local ushort hits[TILE];
    const int item = (int)get_local_id(0);
    const long chunk = (long)get_group_id(0), columns = args.columns;
    ulong sum_before = 0, sum_all = 0;
    for (long i = item; i < args.chunks; i += GROUP) {
        const uint count = counts[args.counts_offset + i];
        sum_all += count;
        sum_before += i < chunk ? count : 0;
    }
    before[item] = sum_before;
    all[item] = sum_all;
    for (int h = GROUP / 2; h > 0; h >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < h) {
            before[item] += before[item + h];
            all[item] += all[item + h];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const long total = (long)all[0];
    long row = (long)before[0];
    if (chunk == 0 && item == 0)
        store_total(total_out, args.total_offset, args.total_size, (ulong)total);

    const INDEX begin = (INDEX)(chunk * args.chunk_length);
    const INDEX end = (INDEX)min((long)begin + args.chunk_length, args.axes.count);
    uint next_bits = 0; // of a tile ahead of its turn
    for (INDEX next = begin; next - TILE < end && row < args.length; next += TILE) {
        const INDEX tile = next - TILE;
        uint bits = next_bits;
        next_bits = load_bits(mask, &args, next + item * LANES, end);
        if (tile < begin) continue;
        int from = 0;
        scan[0][item] = popcount(bits);
        for (int d = 1; d < GROUP; d <<= 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            scan[1 - from][item] = scan[from][item] + (item >= d ? scan[from][item - d] : 0);
            from = 1 - from;
        }
        uint place = scan[from][item] - popcount(bits);
        for (; bits != 0; bits &= bits - 1)
            hits[place++] = (ushort)(item * LANES + 31 - clz(bits & (0u - bits)));
        barrier(CLK_LOCAL_MEM_FENCE);
        const int found = (int)scan[from][GROUP - 1];
        const int entries = (int)(min((long)found, args.length - row) * columns);
        write_entries(source, out, &args, hits, tile, row, entries);
        row += found;
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    const long share = (args.length + args.chunks - 1) / args.chunks;
    const long last = min((chunk + 1) * share, args.length);
    for (long r = max(chunk * share, total) + item; r < last; r += GROUP)
        for (long c = 0; c < columns; c++)
            out[args.out_offset + r * args.row_step + c * args.column_step] = 0;
}

#else

// Positions of the chunk, from *begin to *end.
static inline void chunk_range(const struct compact_args *args, long chunk, long *begin, long *end) {
    *begin = chunk * args->chunk_length;
    *end = min(*begin + args->chunk_length, args->axes.count);
}

// Positions from `i` on that lie along the innermost axis.
static inline long run_length(const struct axes *axes, long i, long end) {
    if (axes->rank == 1) return end - i; // divisions of 64 bits are slow
    return min(axes->shape[0] - i % axes->shape[0], end - i);
}

kernel void compact_count(global const M *restrict mask, global uint *restrict counts,
                          const struct compact_args args) {
    const CAT(M, 16) significant = (CAT(M, 16))((M)args.significant);
    const CAT(M, 16) one = (CAT(M, 16))((M)1), none = (CAT(M, 16))((M)0);
    long begin, end;
    uint16 sums = 0;
    uint sum = 0;
    chunk_range(&args, (long)get_global_id(0), &begin, &end);
    for (long i = begin; i < end;) {
        const long run = run_length(&args.axes, i, end), step = args.axes.x[0];
        global const M *p = mask + args.mask_offset + axes_x(&args.axes, i);
        long k = 0;
        if (step == 1)
            for (; k + 16 <= run; k += 16)
                sums += convert_uint16((vload16(0, p + k) & significant) != none ? one : none);
        for (; k < run; k++) sum += (p[k * step] & args.significant) != 0;
        i += run;
    }
    uint lanes[16];
    vstore16(sums, 0, lanes);
    for (int k = 0; k < 16; k++) sum += lanes[k];
    counts[args.counts_offset + (long)get_global_id(0)] = sum;
}

#define BLOCK 16

// No hit among the next BLOCK positions of a mask of bytes; others are not asked.
static inline bool is_empty(global const M *p) {
    if (sizeof(M) != 1) return false;
    const ulong2 words = as_ulong2(vload16(0, (global const uchar *)p));
    return (words.x | words.y) == 0;
}

#if SELECT
#define VALUE(k) source[k]
#else
#define VALUE(k) ((E)(first + (k)))
#endif

// Hits of `run` positions, from coordinate `first` on, to rows r .. last - 1, which follow each other
// in memory; returns the row after them. Each position writes row r; it is the next row only after a
// hit.
static inline long write_dense(global const M *p, global const E *source, global E *out,
                               const M significant, const long first, const long run, long r,
                               const long last) {
    long k = 0;
    for (; k + BLOCK <= run && r + BLOCK <= last; k += BLOCK) {
        if (is_empty(p + k)) continue;
#pragma unroll
        for (int i = 0; i < BLOCK; i++) {
            out[r] = VALUE(k + i);
            r += (p[k + i] & significant) != 0;
        }
    }
    for (; k < run && r < last; k++) {
        out[r] = VALUE(k);
        r += (p[k] & significant) != 0;
    }
    return r;
}

// The same with any strides, and with the coordinates `places` before the last: block by block, first
// a list of the hits, then their rows.
static inline long write_run(global const M *p, global const E *source, global E *out,
                             const struct compact_args *args, const long *places, long run, long r,
                             long last) {
    const long tail = args->columns - 1, step = args->axes.x[0];
    const M significant = (M)args->significant;
    int hits[BLOCK];
    for (long k = 0; k < run && r < last; k += BLOCK) {
        const int count = (int)min((long)BLOCK, run - k);
        int found = 0;
        if (step == 1 && count == BLOCK && is_empty(p + k)) continue;
        for (int i = 0; i < count; i++) {
            hits[found] = i;
            found += (p[(k + i) * step] & significant) != 0;
        }
        for (int h = 0; h < found && r < last; h++, r++) {
            const long place = k + hits[h];
            global E *row = out + r * args->row_step;
#if SELECT
            *row = source[place * args->axes.y[0]];
#else
            for (long axis = 0; axis < tail; axis++) row[axis * args->column_step] = (E)places[axis];
            row[tail * args->column_step] = (E)(places[tail] + place);
#endif
        }
    }
    return r;
}

// The coordinates of position i.
static inline void find_places(const struct compact_args *args, long i, long *places) {
    for (long axis = args->columns - 1; axis >= 0; axis--) {
        places[axis] = i % args->shape[axis];
        i /= args->shape[axis];
    }
}

// Those of the position `run` further on, which is no further than the end of the last axis.
static inline void move_places(const struct compact_args *args, long run, long *places) {
    long axis = args->columns - 1;
    places[axis] += run;
    for (; axis > 0 && places[axis] == args->shape[axis]; axis--) {
        places[axis] = 0;
        places[axis - 1]++;
    }
}

kernel void compact_write(global const M *restrict mask, global const E *restrict source,
                          global E *restrict out, global uchar *restrict total_out,
                          global const uint *restrict counts, const struct compact_args args) {
    const long chunk = (long)get_global_id(0), columns = args.columns;
    long begin, end, row = 0, total = 0, places[MAX_AXES];
    for (long i = 0; i < args.chunks; i++) {
        const uint count = counts[args.counts_offset + i];
        row += i < chunk ? count : 0;
        total += count;
    }
    if (chunk == 0) store_total(total_out, args.total_offset, args.total_size, (ulong)total);
    const long last = min(row + counts[args.counts_offset + chunk], args.length);
    const long tail = args.columns - 1;
    const bool is_dense = args.axes.x[0] == 1 && args.axes.y[0] == 1 && args.row_step == 1;
    out += args.out_offset;

    chunk_range(&args, chunk, &begin, &end);
    if (!SELECT && begin < end) find_places(&args, begin, places);
    for (long i = begin; i < end && row < last;) {
        long run = run_length(&args.axes, i, end), x, y;
        axes_offsets(&args.axes, i, &x, &y);
        global const M *p = mask + args.mask_offset + x;
        global const E *from = source + args.source_offset + y;
#if !SELECT
        run = min(run, args.shape[tail] - places[tail]);
#endif
        if (is_dense && tail == 0)
            row = write_dense(p, from, out, (M)args.significant, SELECT ? 0 : places[0], run, row,
                              last);
        else
            row = write_run(p, from, out, &args, places, run, row, last);
        if (!SELECT) move_places(&args, run, places);
        i += run;
    }

    const long share = (args.length + args.chunks - 1) / args.chunks;
    for (long r = max(chunk * share, total); r < min((chunk + 1) * share, args.length); r++)
        for (long c = 0; c < columns; c++)
            out[r * args.row_step + c * args.column_step] = 0;
}

#endif
