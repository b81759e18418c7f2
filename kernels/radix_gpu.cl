#pragma OPENCL FP_CONTRACT OFF
// radix_gpu: one pass of a stable radix sort, for GPUs. See radix.clh.
//
// A group does a chunk. radix_move takes it tile by tile, K neighbouring elements to a work-item,
// and sorts each tile in local memory by the low and then the high 4 bits of the digit: every
// work-item counts its own elements by 4-bit digit, two counters to a word; the sums of all counters
// before one, digit by digit and within a digit work-item by work-item, are the ranks. Elements of
// a digit then lie side by side and are written so.
//
// Defines
//   K   elements of a work-item: 4, 8 or 16
//   DIGIT_BITS is 8: a work-item has a digit of its own
//   those of radix.clh
#include "radix.clh"

#define GROUP 256
#define TILE (GROUP * K)
#define COPIES 8 // of the bins, for fewer conflicts where few digits occur
#define LOADS 4  // on their way at a time

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
radix_count(global const raw_t *restrict in, global place_t *restrict counts,
            const struct radix_args args) {
    local uint bins[COPIES * DIGITS];
    const int item = (int)get_local_id(0);
    const long row = (long)get_group_id(0) / args.chunks;
    const long chunk = (long)get_group_id(0) - row * args.chunks;
    const long begin = chunk * args.chunk_length;
    const long end = min(begin + args.chunk_length, args.length);
    local uint *own = bins + item % COPIES * DIGITS;
    in += args.in + row * args.length;
    for (int i = item; i < COPIES * DIGITS; i += GROUP) bins[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (long i = begin + item; i < end; i += LOADS * GROUP) {
        raw_t v[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; k++) v[k] = i + k * GROUP < end ? in[i + k * GROUP] : (raw_t)0;
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            if (i + k * GROUP < end) atomic_inc(&own[digit_of(v[k], &args)]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint count = 0;
    for (int c = 0; c < COPIES; c++) count += bins[c * DIGITS + item];
    counts[args.counts + (row * DIGITS + item) * args.chunks + chunk] = count;
}

// Places in local memory without bank conflicts.
#define SPREAD(i) ((i) + (i) / 32)
#define COUNTERS 8 // words with the counters of 16 digits, of each work-item
#define COUNTER(word) ((word) + (word) / COUNTERS)
#define RUN 16
#define RUNS (GROUP / RUN)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
radix_move(global const raw_t *restrict in, global raw_t *restrict out,
           global const place_t *restrict places_in, global place_t *restrict places_out,
           global STORAGE(I) *restrict indices, global const place_t *restrict counts,
           const struct radix_args args) {
    local raw_t data[SPREAD(TILE)];
#if HAS_PLACES
    local place_t places[SPREAD(TILE)];
#endif
    local uint counters[COUNTER(COUNTERS * GROUP)], sums[GROUP + RUNS], tops[RUNS + 1];
    local place_t bases[DIGITS];
    local int starts[DIGITS], ends[DIGITS];
    const int item = (int)get_local_id(0);
    const long row = (long)get_group_id(0) / args.chunks;
    const long chunk = (long)get_group_id(0) - row * args.chunks, top = row * args.length;
    const long begin = chunk * args.chunk_length;
    const long end = min(begin + args.chunk_length, args.length);
    bases[item] = counts[args.counts + (row * DIGITS + item) * args.chunks + chunk];

    for (long tile = begin; tile < end; tile += TILE) {
        const int count = (int)min((long)TILE, end - tile);
        raw_t v[K];
#if HAS_PLACES
        place_t p[K];
#endif
#pragma unroll
        for (int k = 0; k < K; k++) {
            const long i = tile + item * K + k;
            v[k] = i < end ? in[args.in + top + i] : (raw_t)0;
#if HAS_PLACES
            p[k] = (place_t)i;
            if ((args.what & READS_PLACES) != 0 && i < end)
                p[k] = places_in[args.places_in + top + i];
#endif
        }
        starts[item] = ends[item] = 0;
        for (int round = 0; round < 2; round++) {
            int rank[K];
#pragma unroll
            for (int w = 0; w < COUNTERS; w++) counters[COUNTER(w * GROUP + item)] = 0;
#pragma unroll
            for (int k = 0; k < K; k++) { // what does not exist has the last digit, and stays last
                const uint digit =
                    item * K + k < count ? (digit_of(v[k], &args) >> (4 * round)) & 15 : 15;
                const int word = COUNTER((int)(digit & 7) * GROUP + item);
                const uint shift = (digit >> 3) * 16, counter = counters[word];
                rank[k] = (int)((counter >> shift) & 0xffff);
                counters[word] = counter + (1u << shift);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            uint sum = 0;
#pragma unroll
            for (int w = 0; w < COUNTERS; w++) sum += counters[COUNTER(COUNTERS * item + w)];
            sums[item + item / RUN] = sum;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item < RUNS) {
                uint before = 0;
                for (int i = 0; i < RUN; i++) {
                    const uint one = sums[item * (RUN + 1) + i];
                    sums[item * (RUN + 1) + i] = before;
                    before += one;
                }
                tops[item] = before;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item == 0) {
                uint before = 0;
                for (int i = 0; i < RUNS; i++) {
                    const uint one = tops[i];
                    tops[i] = before;
                    before += one;
                }
                tops[RUNS] = before << 16; // the upper digits come after all lower ones
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            uint before = tops[RUNS] + tops[item / RUN] + sums[item + item / RUN];
#pragma unroll
            for (int w = 0; w < COUNTERS; w++) {
                const int word = COUNTER(COUNTERS * item + w);
                const uint counter = counters[word];
                counters[word] = before;
                before += counter;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
            for (int k = 0; k < K; k++) {
                const uint digit =
                    item * K + k < count ? (digit_of(v[k], &args) >> (4 * round)) & 15 : 15;
                const uint counter = counters[COUNTER((int)(digit & 7) * GROUP + item)];
                rank[k] += (int)((counter >> ((digit >> 3) * 16)) & 0xffff);
                data[SPREAD(rank[k])] = v[k];
#if HAS_PLACES
                places[SPREAD(rank[k])] = p[k];
#endif
            }
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
            for (int k = 0; k < K; k++) {
                v[k] = data[SPREAD(item * K + k)];
#if HAS_PLACES
                p[k] = places[SPREAD(item * K + k)];
#endif
            }
        }
        for (int i = item; i < count; i += GROUP) {
            const uint digit = digit_of(data[SPREAD(i)], &args);
            if (i == 0 || digit_of(data[SPREAD(i - 1)], &args) != digit) starts[digit] = i;
            if (i == count - 1 || digit_of(data[SPREAD(i + 1)], &args) != digit)
                ends[digit] = i + 1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = item; i < count; i += GROUP) {
            const raw_t raw = data[SPREAD(i)];
            const uint digit = digit_of(raw, &args);
            const long at = top + (long)bases[digit] + (i - starts[digit]);
            if ((args.what & WRITES_VALUES) != 0) out[args.out + at] = raw;
#if HAS_PLACES
            const place_t place = places[SPREAD(i)];
            if ((args.what & WRITES_PLACES) != 0) places_out[args.places_out + at] = place;
            if ((args.what & WRITES_INDICES) != 0)
                STORE(I, indices, args.indices + at, (MATH(I))place);
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        bases[item] += (place_t)(ends[item] - starts[item]);
    }
}
