#pragma OPENCL FP_CONTRACT OFF
// topk_cpu: the k greatest elements of parts of rows, for CPUs. See topk.clh. A work-item does a
// part: it keeps the best so far in order; most elements are not better than the last of them.
//
// Defines: those of topk.clh.
#include "topk.clh"

kernel void topk(global const raw_t *restrict x, global raw_t *restrict values,
                 global STORAGE(I) *restrict indices, global const STORAGE(M) *restrict map,
                 const struct topk_args args) {
    const long unit = (long)get_global_id(0), row = unit / args.chunks;
    const long begin = (unit - row * args.chunks) * args.chunk_length;
    const long end = min(begin + args.chunk_length, args.length);
    const sort_key flip = (sort_key)args.flip & KEY_MASK;
    const int k = (int)args.k;
    global const raw_t *from = x + args.x_offset + axes_x(&args.kept, row);
    sort_key keys[MOST_KEPT];
    long places[MOST_KEPT];
    int count = 0;
    for (long i = begin; i < end; i++) {
        const sort_key key = sort_key_of(from[i * args.x_stride], flip);
        if (count == k && key <= keys[k - 1]) continue;
        int at = count < k ? count++ : k - 1;
        for (; at > 0 && keys[at - 1] < key; at--) {
            keys[at] = keys[at - 1];
            places[at] = places[at - 1];
        }
        keys[at] = key;
        places[at] = i;
    }
    for (int rank = 0; rank < k; rank++)
        put_result(from, values, indices, map, &args, unit, rank, places[rank]);
}
