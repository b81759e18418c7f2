#pragma OPENCL FP_CONTRACT OFF
// sort_cpu: rows of up to ROW elements, for CPUs. A work-item sorts rows one by one in private
// memory: short ones by insertion, others by their digits, all of which are counted in one go;
// digits that all elements share are left out. The first `keep` elements of each row are written,
// densely, row after row.
//
// Defines
//   I   dtype of the indices
//   those of sort_keys.clh and axes.clh
#include "sort_keys.clh"
#include "axes.clh"

#define ROW 8192
#define SHORT 48
#define DIGITS 256
#define PASSES (KEY_BITS / 8)

#define WRITES_VALUES 1
#define WRITES_INDICES 2
struct sort_args {
    struct axes kept; // x strides; the count is the number of rows
    long length, x_stride, x_offset, values_offset, indices_offset;
    long keep, share, what; // share: rows of a work-item
    ulong flip;
};

// A row, and room for another one.
struct row {
    sort_key keys[2][ROW];
    ushort places[2][ROW];
};

static inline void insert(sort_key *keys, ushort *places, int length) {
    for (int i = 1; i < length; i++) {
        const sort_key key = keys[i];
        int k = i;
        for (; k > 0 && keys[k - 1] > key; k--) {
            keys[k] = keys[k - 1];
            places[k] = places[k - 1];
        }
        keys[k] = key;
        places[k] = (ushort)i;
    }
}

// Returns which half of the row holds the result.
static inline int sort_digits(struct row *row, int length) {
    uint bins[PASSES][DIGITS];
    int from = 0;
    for (int pass = 0; pass < PASSES; pass++)
        for (int d = 0; d < DIGITS; d++) bins[pass][d] = 0;
    for (int i = 0; i < length; i++)
#pragma unroll
        for (int pass = 0; pass < PASSES; pass++)
            bins[pass][(uint)(row->keys[0][i] >> (8 * pass)) & (DIGITS - 1)]++;
    for (int pass = 0; pass < PASSES; pass++) {
        uint *next = bins[pass], before = 0;
        const sort_key *keys = row->keys[from];
        const ushort *places = row->places[from];
        if (next[(uint)(keys[0] >> (8 * pass)) & (DIGITS - 1)] == (uint)length) continue;
        for (int d = 0; d < DIGITS; d++) {
            const uint count = next[d];
            next[d] = before;
            before += count;
        }
        for (int i = 0; i < length; i++) {
            const uint at = next[(uint)(keys[i] >> (8 * pass)) & (DIGITS - 1)]++;
            row->keys[1 - from][at] = keys[i];
            row->places[1 - from][at] = places[i];
        }
        from = 1 - from;
    }
    return from;
}

kernel void sort_rows(global const raw_t *restrict x, global raw_t *restrict values,
                      global STORAGE(I) *restrict indices, const struct sort_args args) {
    struct row row;
    const int length = (int)args.length;
    const sort_key flip = (sort_key)args.flip & KEY_MASK;
    const long begin = (long)get_global_id(0) * args.share;
    const long end = min(begin + args.share, args.kept.count);
    for (long r = begin; r < end; r++) {
        global const raw_t *from = x + args.x_offset + axes_x(&args.kept, r);
        for (int i = 0; i < length; i++) {
            row.keys[0][i] = sort_key_of(from[i * args.x_stride], flip);
            row.places[0][i] = (ushort)i;
        }
        int half_of_row = 0;
        if (length <= SHORT)
            insert(row.keys[0], row.places[0], length);
        else
            half_of_row = sort_digits(&row, length);
        const ushort *places = row.places[half_of_row];
        if ((args.what & WRITES_VALUES) != 0)
            for (int i = 0; i < args.keep; i++)
                values[args.values_offset + r * args.keep + i] = from[places[i] * args.x_stride];
        if ((args.what & WRITES_INDICES) != 0)
            for (int i = 0; i < args.keep; i++)
                STORE(I, indices, args.indices_offset + r * args.keep + i, (MATH(I))places[i]);
    }
}
