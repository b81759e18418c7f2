#pragma OPENCL FP_CONTRACT OFF
// sort_gpu: rows of up to CAPACITY elements, for GPUs: a bitonic network in local memory over
// (key, position) pairs, of which no two are equal, so that the sort is stable. Each row is filled
// up to `slots`, a power of two, by pairs that come after all others; CAPACITY / slots rows share a
// group. The first `keep` elements of each row are written, densely, row after row.
//
// Defines
//   I   dtype of the indices
//   those of sort_keys.clh and axes.clh
#include "sort_keys.clh"
#include "axes.clh"

#define GROUP 256
#define CAPACITY 2048

#define WRITES_VALUES 1
#define WRITES_INDICES 2
struct sort_args {
    struct axes kept; // x strides; the count is the number of rows
    long length, x_stride, x_offset, values_offset, indices_offset;
    long keep, slots, what;
    ulong flip;
};

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sort_rows(global const raw_t *restrict x, global raw_t *restrict values,
          global STORAGE(I) *restrict indices, const struct sort_args args) {
    local sort_key keys[CAPACITY];
    local ushort places[CAPACITY];
    const int item = (int)get_local_id(0), slots = (int)args.slots;
    const INDEX first = (INDEX)get_group_id(0) * (CAPACITY / slots);
    const sort_key flip = (sort_key)args.flip & KEY_MASK;
    x += args.x_offset;
#pragma unroll 1
    for (int s = item; s < CAPACITY; s += GROUP) {
        const int place = s & (slots - 1);
        const INDEX row = first + s / slots;
        sort_key key = KEY_MASK;
        if (place < args.length && row < args.kept.count)
            key = sort_key_of(x[axes_x(&args.kept, row) + place * (INDEX)args.x_stride], flip);
        keys[s] = key;
        places[s] = (ushort)place;
    }
    for (int size = 2; size <= slots; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int pair = item; pair < CAPACITY / 2; pair += GROUP) {
                const int i = 2 * pair - (pair & (stride - 1)), k = i + stride;
                const bool is_up = (i & (slots - 1) & size) == 0;
                const sort_key a = keys[i], b = keys[k];
                const ushort at = places[i], bt = places[k];
                const bool is_after = a > b || (a == b && at > bt);
                if (is_after == is_up) {
                    keys[i] = b, keys[k] = a;
                    places[i] = bt, places[k] = at;
                }
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (int s = item; s < CAPACITY; s += GROUP) {
        const int rank = s & (slots - 1), place = places[s];
        const INDEX row = first + s / slots;
        if (rank >= args.keep || row >= args.kept.count) continue;
        const INDEX at = row * (INDEX)args.keep + rank;
        if ((args.what & WRITES_VALUES) != 0)
            values[args.values_offset + at] =
                x[axes_x(&args.kept, row) + place * (INDEX)args.x_stride];
        if ((args.what & WRITES_INDICES) != 0)
            STORE(I, indices, args.indices_offset + at, (MATH(I))place);
    }
}
