#pragma OPENCL FP_CONTRACT OFF
// radix_cpu: one pass of a stable radix sort, for CPUs. See radix.clh. A work-item does a chunk.
//
// Defines: those of radix.clh.
#include "radix.clh"

kernel void radix_count(global const raw_t *restrict in, global place_t *restrict counts,
                        const struct radix_args args) {
    const long row = (long)get_global_id(0) / args.chunks;
    const long chunk = (long)get_global_id(0) - row * args.chunks;
    const long begin = chunk * args.chunk_length;
    const long end = min(begin + args.chunk_length, args.length);
    uint even[DIGITS], odd[DIGITS]; // two, so that equal neighbours do not wait for each other
    in += args.in + row * args.length;
    for (int d = 0; d < DIGITS; d++) even[d] = odd[d] = 0;
    long i = begin;
    for (; i + 2 <= end; i += 2) {
        even[digit_of(in[i], &args)]++;
        odd[digit_of(in[i + 1], &args)]++;
    }
    if (i < end) even[digit_of(in[i], &args)]++;
    for (int d = 0; d < DIGITS; d++)
        counts[args.counts + (row * DIGITS + d) * args.chunks + chunk] = even[d] + odd[d];
}

kernel void radix_move(global const raw_t *restrict in, global raw_t *restrict out,
                       global const place_t *restrict places_in,
                       global place_t *restrict places_out, global STORAGE(I) *restrict indices,
                       global const place_t *restrict counts, const struct radix_args args) {
    const long row = (long)get_global_id(0) / args.chunks, top = row * args.length;
    const long chunk = (long)get_global_id(0) - row * args.chunks;
    const long begin = chunk * args.chunk_length;
    const long end = min(begin + args.chunk_length, args.length);
    place_t next[DIGITS];
    for (int d = 0; d < DIGITS; d++)
        next[d] = counts[args.counts + (row * DIGITS + d) * args.chunks + chunk];
    in += args.in + top;
    out += args.out + top;
#if HAS_PLACES
    places_in += args.places_in + top;
    places_out += args.places_out + top;
    indices += args.indices + top;
#endif
    for (long i = begin; i < end; i++) {
        const raw_t raw = in[i];
        const place_t at = next[digit_of(raw, &args)]++;
        if ((args.what & WRITES_VALUES) != 0) out[at] = raw;
#if HAS_PLACES
        const place_t place = (args.what & READS_PLACES) != 0 ? places_in[i] : (place_t)i;
        if ((args.what & WRITES_PLACES) != 0) places_out[at] = place;
        if ((args.what & WRITES_INDICES) != 0) STORE(I, indices, at, (MATH(I))place);
#endif
    }
}
