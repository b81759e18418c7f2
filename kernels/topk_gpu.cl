#pragma OPENCL FP_CONTRACT OFF
// topk_gpu: the k greatest elements of parts of rows, for GPUs. See topk.clh. A group does a part:
//
//   1. every work-item finds the greatest of its elements, which are GROUP quads apart;
//   2. work-items make sets; the k-th greatest of the sets' greatest elements is a lower bound: k
//      elements are not below it;
//   3. the elements of work-items that have one from the bound on are read once more, by all
//      work-items, and all such are listed;
//   4. it is counted how many come before each of these, which is its place among the results.
// If the list is too short for step 3 (many equal elements), the k-th greatest element is found
// digit by digit; then those above it and the first of its equals are listed.
//
// Defines
//   RUN  the axis has stride 1, every part begins at a multiple of 4 elements and has as many
//   those of topk.clh
#include "topk.clh"

#define GROUP 256
#define CAPACITY 1024
#define QUAD 4
#define STEP (GROUP * QUAD)
#define LOADS 4 // quads on their way at a time
#define DIGITS 256
#define RANKERS 8 // work-items that look at the list for one of its elements

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

// The keys of four elements; 0, which is below none, past the end. Loads stand under no condition,
// so that those of several quads are on their way together.
struct quad {
    sort_key keys[QUAD];
};
static inline struct quad load_quad(const struct part *part, INDEX i) {
    struct quad quad;
#ifdef RUN
    const bool exists = i < part->count;
    const raw4_t raw = *(global const raw4_t *)(part->from + (exists ? i : 0));
    const sort_key mask = exists ? KEY_MASK : 0;
    quad.keys[0] = sort_key_of(raw.s0, part->flip) & mask;
    quad.keys[1] = sort_key_of(raw.s1, part->flip) & mask;
    quad.keys[2] = sort_key_of(raw.s2, part->flip) & mask;
    quad.keys[3] = sort_key_of(raw.s3, part->flip) & mask;
#else
#pragma unroll
    for (int e = 0; e < QUAD; e++) {
        const bool exists = i + e < part->count;
        quad.keys[e] = key_at(part, exists ? i + e : 0) & (exists ? KEY_MASK : 0);
    }
#endif
    return quad;
}

static inline sort_key greatest_of(const struct quad *quad) {
    return max(max(quad->keys[0], quad->keys[1]), max(quad->keys[2], quad->keys[3]));
}

// Those from the bound on, of the quad at `i`.
static inline void list_quad(const struct part *part, const struct quad *quad, INDEX i,
                             sort_key bound, local sort_key *keys, local uint *places,
                             local int *listed) {
#pragma unroll
    for (int e = 0; e < QUAD; e++) {
        if (quad->keys[e] < bound || i + e >= part->count) continue;
        const int at = atomic_inc(listed);
        if (at < CAPACITY) keys[at] = quad->keys[e], places[at] = (uint)(i + e);
    }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
topk(global const raw_t *restrict x, global raw_t *restrict values,
     global STORAGE(I) *restrict indices, global const STORAGE(M) *restrict map,
     const struct topk_args args) {
    local sort_key maxima[GROUP] __attribute__((aligned(32))), keys[CAPACITY], bound;
    local uint places[CAPACITY], bins[DIGITS], flags[GROUP], holders[GROUP];
    local int ranks[CAPACITY], holding, listed, digit, rest;
    const int item = (int)get_local_id(0), k = (int)args.k;
    const long unit = (long)get_group_id(0), row = unit / args.chunks;
    const long begin = (unit - row * args.chunks) * args.chunk_length;
    global const raw_t *whole = x + args.x_offset + axes_x(&args.kept, (INDEX)row);
    struct part part;
    part.from = whole + begin * args.x_stride;
    part.stride = args.x_stride;
    part.count = (INDEX)min(args.chunk_length, args.length - begin);
    part.flip = (sort_key)args.flip & KEY_MASK;

    sort_key most = 0;
    for (INDEX i = item * QUAD; i < part.count; i += LOADS * STEP) {
        struct quad quads[LOADS];
#pragma unroll
        for (int l = 0; l < LOADS; l++) quads[l] = load_quad(&part, i + l * STEP);
#pragma unroll
        for (int l = 0; l < LOADS; l++) most = max(most, greatest_of(&quads[l]));
    }
    maxima[item] = most;
    if (item == 0) holding = listed = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int sets = k <= 32 ? 128 : 256, set = item & (sets - 1);
    sort_key greatest = 0;
    for (int i = set; i < GROUP; i += sets) greatest = max(greatest, maxima[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < sets) maxima[item] = greatest, ranks[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int others = sets * sets / GROUP, first = item / sets * others;
    int above = 0;
#pragma unroll 4
    for (int other = first; other < first + others; other += QUAD) {
        const key4_t theirs = *(local const key4_t *)(maxima + other);
        above += theirs.s0 > greatest || (theirs.s0 == greatest && other < set);
        above += theirs.s1 > greatest || (theirs.s1 == greatest && other + 1 < set);
        above += theirs.s2 > greatest || (theirs.s2 == greatest && other + 2 < set);
        above += theirs.s3 > greatest || (theirs.s3 == greatest && other + 3 < set);
    }
    atomic_add(&ranks[set], above);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < sets && ranks[item] == k - 1) bound = greatest;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (most >= bound) holders[atomic_inc(&holding)] = (uint)item;
    for (int i = item; i < CAPACITY; i += GROUP) ranks[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const INDEX held = (INDEX)holding * ((part.count + STEP - 1) / STEP); // quads
    for (INDEX n = item; n < held; n += LOADS * GROUP) {
        struct quad quads[LOADS];
        INDEX at[LOADS];
#pragma unroll
        for (int l = 0; l < LOADS; l++) {
            const INDEX step = (n + l * GROUP) / holding, h = n + l * GROUP - step * holding;
            at[l] = step * STEP + (INDEX)holders[h] * QUAD;
            quads[l] = load_quad(&part, at[l]);
        }
#pragma unroll
        for (int l = 0; l < LOADS; l++)
            if (greatest_of(&quads[l]) >= bound)
                list_quad(&part, &quads[l], at[l], bound, keys, places, &listed);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int count = listed;
    if (count > CAPACITY) {
        sort_key found = 0;
        int left = k; // of those whose upper digits are `found`
        for (int shift = KEY_BITS - 8; shift >= 0; shift -= 8) {
            if (item < DIGITS) bins[item] = 0;
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
    for (int c = item / RANKERS; c < count; c += GROUP / RANKERS) {
        const sort_key key = keys[c];
        const uint place = places[c];
        int rank = 0;
        for (int other = item % RANKERS; other < count; other += RANKERS)
            rank += keys[other] > key || (keys[other] == key && places[other] < place);
        atomic_add(&ranks[c], rank);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = item; c < count; c += GROUP)
        if (ranks[c] < k)
            put_result(whole, values, indices, map, &args, unit, ranks[c], begin + places[c]);
}
