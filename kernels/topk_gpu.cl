#pragma OPENCL FP_CONTRACT OFF
// topk_gpu: the k greatest elements of parts of rows, for GPUs. See topk.clh. A group does a part:
//
//   1. every work-item finds the greatest of its elements, which are GROUP quads apart;
//   2. the k-th greatest of those, T, is a lower bound: k elements are not below it;
//   3. work-items that have an element from T on read theirs once more and list all such elements;
//   4. each of these counts how many come before it, which is its place among the results.
// If the list is too short for step 3 (many equal elements), the k-th greatest element is found
// digit by digit; then those above it and the first of its equals are listed.
//
// Defines
//   RUN  the axis has stride 1 and every part begins at a multiple of 4 elements
//   those of topk.clh
#include "topk.clh"

#define GROUP 256
#define CAPACITY 1024
#define QUAD 4
#define LOADS 4 // quads on their way at a time
#define DIGITS 256

#define RAW4_u8 uchar4
#define RAW4_u16 ushort4
#define RAW4_u32 uint4
#define RAW4_u64 ulong4
typedef CAT(RAW4_, B) raw4_t;
#define KEY4_u8 uint4
#define KEY4_u16 uint4
#define KEY4_u32 uint4
#define KEY4_u64 ulong4
typedef CAT(KEY4_, B) key4_t;

// A part of a row.
struct part {
    global const raw_t *from;
    long stride;
    INDEX count;
    sort_key flip;
};

static inline sort_key key_at(const struct part *part, INDEX i) {
    return sort_key_of(part->from[i * (INDEX)part->stride], part->flip);
}

// The keys of four elements; 0, which is below none, past the end.
struct quad {
    sort_key keys[QUAD];
};
static inline struct quad load_quad(const struct part *part, INDEX i) {
    struct quad quad;
#ifdef RUN
    if (i + QUAD <= part->count) {
        const raw4_t raw = *(global const raw4_t *)(part->from + i);
        quad.keys[0] = sort_key_of(raw.s0, part->flip);
        quad.keys[1] = sort_key_of(raw.s1, part->flip);
        quad.keys[2] = sort_key_of(raw.s2, part->flip);
        quad.keys[3] = sort_key_of(raw.s3, part->flip);
        return quad;
    }
#endif
#pragma unroll
    for (int e = 0; e < QUAD; e++) quad.keys[e] = i + e < part->count ? key_at(part, i + e) : 0;
    return quad;
}

static inline sort_key greatest_of(const struct part *part, int item) {
    sort_key most = 0;
    for (INDEX i = item * QUAD; i < part->count; i += LOADS * GROUP * QUAD) {
        struct quad quads[LOADS];
#pragma unroll
        for (int l = 0; l < LOADS; l++) quads[l] = load_quad(part, i + l * GROUP * QUAD);
#pragma unroll
        for (int l = 0; l < LOADS; l++)
#pragma unroll
            for (int e = 0; e < QUAD; e++) most = max(most, quads[l].keys[e]);
    }
    return most;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
topk(global const raw_t *restrict x, global raw_t *restrict values,
     global STORAGE(I) *restrict indices, global const STORAGE(M) *restrict map,
     const struct topk_args args) {
    local sort_key maxima[GROUP] __attribute__((aligned(32))), keys[CAPACITY], bound;
    local uint places[CAPACITY], bins[DIGITS], flags[GROUP];
    local int listed, digit, rest;
    const int item = (int)get_local_id(0), k = (int)args.k;
    const long unit = (long)get_group_id(0), row = unit / args.chunks;
    const long begin = (unit - row * args.chunks) * args.chunk_length;
    global const raw_t *whole = x + args.x_offset + axes_x(&args.kept, (INDEX)row);
    struct part part;
    part.from = whole + begin * args.x_stride;
    part.stride = args.x_stride;
    part.count = (INDEX)min(args.chunk_length, args.length - begin);
    part.flip = (sort_key)args.flip & KEY_MASK;

    const sort_key most = greatest_of(&part, item);
    maxima[item] = most;
    if (item == 0) listed = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int above = 0;
#pragma unroll 4
    for (int other = 0; other < GROUP; other += QUAD) {
        const key4_t theirs = *(local const key4_t *)(maxima + other);
        above += theirs.s0 > most || (theirs.s0 == most && other < item);
        above += theirs.s1 > most || (theirs.s1 == most && other + 1 < item);
        above += theirs.s2 > most || (theirs.s2 == most && other + 2 < item);
        above += theirs.s3 > most || (theirs.s3 == most && other + 3 < item);
    }
    if (above == k - 1) bound = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (most >= bound) {
        for (INDEX i = item * QUAD; i < part.count; i += GROUP * QUAD) {
            const struct quad quad = load_quad(&part, i);
#pragma unroll
            for (int e = 0; e < QUAD; e++) {
                if (quad.keys[e] < bound || i + e >= part.count) continue;
                const int at = atomic_inc(&listed);
                if (at < CAPACITY) keys[at] = quad.keys[e], places[at] = (uint)(i + e);
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int count = listed;
    if (count > CAPACITY) {
        sort_key found = 0;
        int left = k; // of those whose upper digits are `found`
        for (int shift = KEY_BITS - 8; shift >= 0; shift -= 8) {
            bins[item] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (INDEX i = item; i < part.count; i += GROUP) {
                const sort_key key = key_at(&part, i);
                if (shift == KEY_BITS - 8 || key >> (shift + 8) == found)
                    atomic_inc(&bins[(uint)(key >> shift) & (DIGITS - 1)]);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item == 0) {
                int d = DIGITS - 1;
                for (; d > 0 && (int)bins[d] < left; d--) left -= (int)bins[d];
                digit = d;
                rest = left;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            found = found << (shift == KEY_BITS - 8 ? 0 : 8) | (sort_key)digit;
            left = rest;
        }
        if (item == 0) listed = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (INDEX i = item; i < part.count; i += GROUP) {
            const sort_key key = key_at(&part, i);
            if (key <= found) continue;
            const int at = atomic_inc(&listed);
            keys[at] = key;
            places[at] = (uint)i;
        }
        int equals = 0;
        for (INDEX top = 0; top < part.count && equals < left; top += GROUP) {
            const bool is_equal = top + item < part.count && key_at(&part, top + item) == found;
            barrier(CLK_LOCAL_MEM_FENCE);
            flags[item] = is_equal;
            barrier(CLK_LOCAL_MEM_FENCE);
            int before = equals;
            for (int other = 0; other < GROUP; other++) {
                before += other < item ? (int)flags[other] : 0;
                equals += (int)flags[other];
            }
            if (is_equal && before < left) {
                keys[k - left + before] = found;
                places[k - left + before] = (uint)(top + item);
            }
        }
        count = k;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int c = item; c < count; c += GROUP) {
        const sort_key key = keys[c];
        const uint place = places[c];
        int rank = 0;
        for (int other = 0; other < count; other++)
            rank += keys[other] > key || (keys[other] == key && places[other] < place);
        if (rank < k) put_result(whole, values, indices, map, &args, unit, rank, begin + place);
    }
}
