#pragma OPENCL FP_CONTRACT OFF
// radix: one pass of a stable sort of (key, position) pairs by 8 bits of the key.
//
//   radix_count    per group: how often each digit occurs in the group's chunk
//   radix_offsets  one group: those counts to the places where each chunk's digits begin
//   radix_move     per group: the chunk's pairs to their places, tile by tile in order
// All arrays lie in `work`; offsets are in uints.
#define GROUP 256
#define DIGITS 256

struct radix_args {
    long keys, positions;         // in
    long keys_out, positions_out;
    long counts;                  // [digit][chunk]
    long count, chunk_length, chunks;
    long shift;
};

static inline uint digit_of(uint key, const struct radix_args *args) {
    return (key >> args->shift) & (DIGITS - 1);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
radix_count(global uint *work, const struct radix_args args) {
    local uint bins[DIGITS];
    const int item = (int)get_local_id(0);
    const long begin = (long)get_group_id(0) * args.chunk_length;
    const long end = min(begin + args.chunk_length, args.count);
    bins[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (long i = begin + item; i < end; i += GROUP)
        atomic_inc(&bins[digit_of(work[args.keys + i], &args)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    work[args.counts + item * args.chunks + (long)get_group_id(0)] = bins[item];
}

// A work-item does the chunks of one digit.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
radix_offsets(global uint *work, const struct radix_args args) {
    local uint sums[2][DIGITS];
    const int item = (int)get_local_id(0);
    global uint *counts = work + args.counts + item * args.chunks;
    uint sum = 0;
    for (long i = 0; i < args.chunks; i++) sum += counts[i];
    int from = 0;
    sums[from][item] = sum;
    for (int d = 1; d < DIGITS; d <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[1 - from][item] = sums[from][item] + (item >= d ? sums[from][item - d] : 0);
        from = 1 - from;
    }
    uint place = sums[from][item] - sum;
    for (long i = 0; i < args.chunks; i++) {
        const uint count = counts[i];
        counts[i] = place;
        place += count;
    }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
radix_move(global uint *work, const struct radix_args args) {
    local uint places[DIGITS];
    local uint digits[GROUP];
    const int item = (int)get_local_id(0);
    const long begin = (long)get_group_id(0) * args.chunk_length;
    const long end = min(begin + args.chunk_length, args.count);
    places[item] = work[args.counts + item * args.chunks + (long)get_group_id(0)];
    for (long tile = begin; tile < end; tile += GROUP) {
        const long i = tile + item;
        const bool exists = i < end;
        const uint key = exists ? work[args.keys + i] : 0;
        const uint digit = exists ? digit_of(key, &args) : DIGITS;
        digits[item] = digit;
        barrier(CLK_LOCAL_MEM_FENCE);
        uint before = 0, after = 0; // items of the tile with the same digit
        for (int other = 0; other < GROUP; other++) {
            const uint same = digits[other] == digit;
            before += other < item ? same : 0;
            after += other > item ? same : 0;
        }
        if (exists) {
            const uint place = places[digit] + before;
            work[args.keys_out + place] = key;
            work[args.positions_out + place] = work[args.positions + i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (exists && after == 0) places[digit] += before + 1;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
