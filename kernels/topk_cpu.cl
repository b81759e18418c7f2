#pragma OPENCL FP_CONTRACT OFF
// topk_cpu: the k greatest elements of parts of rows, for CPUs. See topk.clh. A work-item does a
// part: it keeps the best so far in order; most elements are not better than the last of them, which
// is asked for BATCH neighbours at once.
//
// Defines: those of topk.clh.
#include "topk.clh"

#define BATCH 16
#define KEYS_u8 uint16
#define KEYS_u16 uint16
#define KEYS_u32 uint16
#define KEYS_u64 ulong16
typedef CAT(KEYS_, B) keys_t;
#define TO_KEYS CAT(convert_, CAT(KEYS_, B))
KEY_BODY(keys_of_bits, keys_t)

// Is one of the elements above `least`?
static inline bool is_above(global const raw_t *x, sort_key flip, sort_key least) {
    return any(keys_of_bits(TO_KEYS(vload16(0, x)), flip) > (keys_t)least);
}

// The best elements so far, the best first.
struct best {
    sort_key keys[MOST_KEPT];
    long places[MOST_KEPT];
    int count;
};

static inline void offer(struct best *best, int k, sort_key key, long place) {
    if (best->count == k && key <= best->keys[k - 1]) return;
    int at = best->count < k ? best->count++ : k - 1;
    for (; at > 0 && best->keys[at - 1] < key; at--) {
        best->keys[at] = best->keys[at - 1];
        best->places[at] = best->places[at - 1];
    }
    best->keys[at] = key;
    best->places[at] = place;
}

kernel void topk(global const raw_t *restrict x, global raw_t *restrict values,
                 global STORAGE(I) *restrict indices, global const STORAGE(M) *restrict map,
                 const struct topk_args args) {
    const long unit = (long)get_global_id(0), row = unit / args.chunks;
    const long begin = (unit - row * args.chunks) * args.chunk_length;
    const long end = min(begin + args.chunk_length, args.length);
    const sort_key flip = (sort_key)args.flip & KEY_MASK;
    const int k = (int)args.k;
    global const raw_t *from = x + args.x_offset + axes_x(&args.kept, row);
    struct best best;
    best.count = 0;
    for (long i = begin; i < end;) {
        const long stop = min(i + BATCH, end);
        const bool is_batch = args.x_stride == 1 && i + BATCH <= end && best.count == k;
        if (is_batch && !is_above(from + i, flip, best.keys[k - 1])) {
            i = stop;
            continue;
        }
        for (; i < stop; i++)
            offer(&best, k, sort_key_of(from[i * args.x_stride], flip), i);
    }
    for (int rank = 0; rank < k; rank++)
        put_result(from, values, indices, map, &args, unit, rank, best.places[rank]);
}
