#pragma OPENCL FP_CONTRACT OFF
// radix_gpu: one pass of a stable radix sort, for GPUs. See radix.clh.
//
// A group does a chunk, tile by tile. Each warp has K * WARP neighbouring elements of a tile, WARP at
// a time, and a counter for each digit: an element's rank among its warp's is the counter plus the
// number of peers in lower lanes, work-items with the same digit at the same time. Sums over digits
// and, within a digit, over warps make this the rank in the tile. By it elements go to local memory,
// where those of a digit lie side by side and are written so.
//
// With CHAINED a chunk is a tile, and a group learns from those before where its digits begin
// (chain.clh). `chain` has the tickets of all passes, and states [chunk of all rows][digit] of even
// and of odd passes: each pass clears those of the next.
//
// Defines
//   K        elements of a work-item, 1 to 32
//   CHAINED  0 or 1; needs PLACE u32 and rows shorter than 2^30
//   NVIDIA   see warp.clh
//   DIGIT_BITS is 8: a work-item has a digit of its own
//   those of radix.clh
#include "radix.clh"
#include "warp.clh"
#include "chain.clh"

#define GROUP 256
#define WARPS (GROUP / WARP)
#define TILE (GROUP * K)
#define LOADS 4 // on their way at a time

#if CHAINED

#define PASSES (KEY_BITS / DIGIT_BITS)
#define COPIES (16 / PASSES) // of the bins, so that warps seldom meet

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
radix_count_all(global const raw_t *restrict in, global uint *counts,
                const struct radix_args args) {
    local uint bins[COPIES * PASSES * DIGITS];
    const int item = (int)get_local_id(0), passes = (int)args.passes;
    const long row = (long)get_group_id(0) / args.chunks;
    const long chunk = (long)get_group_id(0) - row * args.chunks;
    const long begin = chunk * args.chunk_length;
    const long end = min(begin + args.chunk_length, args.length);
    local uint *own = bins + item / WARP % COPIES * (PASSES * DIGITS);
    in += args.in + row * args.length;
    for (int i = item; i < COPIES * PASSES * DIGITS; i += GROUP) bins[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (long i = begin + item; i < end; i += LOADS * GROUP) {
        raw_t v[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; k++) v[k] = i + k * GROUP < end ? in[i + k * GROUP] : (raw_t)0;
#pragma unroll
        for (int k = 0; k < LOADS; k++) {
            if (i + k * GROUP >= end) continue;
            const sort_key key = sort_key_of(v[k], (sort_key)args.flip & KEY_MASK);
#pragma unroll
            for (int p = 0; p < PASSES; p++)
                atomic_inc(&own[p * DIGITS + ((uint)(key >> (p * DIGIT_BITS)) & (DIGITS - 1))]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 0; p < passes; p++) {
        uint count = 0;
        for (int c = 0; c < COPIES; c++) count += bins[(c * PASSES + p) * DIGITS + item];
        if (count != 0)
            atomic_add(&counts[args.counts + (row * passes + p) * DIGITS + item], count);
    }
}

#else

#define COPIES 8 // of the bins, for fewer conflicts where few digits occur

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

#endif

#define RUN 16
#define RUNS (DIGITS / RUN)
#define DIGIT_AT 16 // in a slot, above the rank

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
radix_move(global const raw_t *in, global raw_t *restrict out,
           global const place_t *restrict places_in, global place_t *restrict places_out,
           global STORAGE(I) *restrict indices, global const place_t *restrict counts,
           global uint *chain, const struct radix_args args) {
    local raw_t data[TILE];
#if HAS_PLACES
    local place_t places[TILE];
#endif
    local uint bins[WARPS * DIGITS], totals[DIGITS], tops[RUNS];
    local place_t bases[DIGITS];
    const int item = (int)get_local_id(0), lane = item % WARP;
    local uint *own = bins + item / WARP * DIGITS;
#ifndef NVIDIA
    local uint masks[WARPS * DIGITS];
    local uint *own_masks = masks + item / WARP * DIGITS;
#endif
#if CHAINED
    local uint ticket;
    if (item == 0) ticket = atomic_inc(&chain[args.tickets + args.pass]);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint group = ticket;
#else
    const uint group = (uint)get_group_id(0);
#endif
    const uint row = group / (uint)args.chunks, chunk = group - row * (uint)args.chunks;
    const long top = row * args.length, begin = chunk * args.chunk_length;
    const long end = min(begin + args.chunk_length, args.length);
#if CHAINED
    global uint *state = chain + args.states + (long)group * DIGITS + item;
    chain[args.next_states + (long)group * DIGITS + item] = 0;
#else
    place_t base = counts[args.counts + (row * (long)DIGITS + item) * args.chunks + chunk];
#endif

    for (long tile = begin; tile < end; tile += TILE) {
        const int count = (int)min((long)TILE, end - tile);
        const int first = item / WARP * (WARP * K) + lane; // of K elements, WARP apart
        global const raw_t *from = in + args.in + top + tile;
        const int mine = (count - first + WARP - 1) / WARP; // of those, the ones that exist
        raw_t v[K];
        uint slots[K];
#pragma unroll
        for (int k = 0; k < K; k++)
            v[k] = first + k * WARP < count ? from[first + k * WARP] : (raw_t)0;
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            bins[w * DIGITS + item] = 0;
#ifndef NVIDIA
            masks[w * DIGITS + item] = 0;
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int k = 0; k < K; k++) { // what does not exist has the last digit, and stays last
            const uint found = digit_of(v[k], &args);
            const uint digit = k < mine ? found : DIGITS - 1;
#ifdef NVIDIA
            const uint peers = warp_peers(digit);
#else
            atomic_or(&own_masks[digit], 1u << lane);
            WARP_MEETS();
            const uint peers = own_masks[digit];
#endif
            const uint rank = own[digit] + popcount(peers & ((1u << lane) - 1));
            WARP_MEETS();
            if (peers >> lane == 1) { // the last of them
                own[digit] = rank + 1;
#ifndef NVIDIA
                own_masks[digit] = 0;
#endif
            }
            slots[k] = digit << DIGIT_AT | rank;
            KEEP_PACKED(slots[k]);
            WARP_MEETS();
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        uint total = 0;
#pragma unroll
        for (int w = 0; w < WARPS; w++) total += bins[w * DIGITS + item];
        totals[item] = total;
        const uint exists = item == DIGITS - 1 ? total - (uint)(TILE - count) : total;
#if CHAINED
        const uint begins =
            chunk == 0 ? counts[args.counts + (row * args.passes + args.pass) * DIGITS + item] : 0;
        chain_store(state, chunk == 0 ? CHAIN_SUM | (begins + exists) : CHAIN_COUNT | exists);
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
        uint before = 0;
#pragma unroll
        for (int r = 0; r < RUN; r++) before += r < item % RUN ? totals[item / RUN * RUN + r] : 0;
        if (item % RUN == RUN - 1) tops[item / RUN] = before + total;
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int r = 0; r < RUNS; r++) before += r < item / RUN ? tops[r] : 0;
        uint begin_of_warp = before;
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            const uint one = bins[w * DIGITS + item];
            bins[w * DIGITS + item] = begin_of_warp;
            begin_of_warp += one;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int k = 0; k < K; k++) {
            const uint rank = (slots[k] & ((1u << DIGIT_AT) - 1)) + own[slots[k] >> DIGIT_AT];
            data[rank] = v[k];
#if HAS_PLACES
            const long i = tile + first + k * WARP;
            place_t place = (place_t)i;
            if ((args.what & READS_PLACES) != 0 && i < end)
                place = places_in[args.places_in + top + i];
            places[rank] = place;
#endif
        }
#if CHAINED
        place_t base = begins;
        if (chunk != 0) {
            base = chain_before(state, DIGITS);
            chain_store(state, CHAIN_SUM | (base + exists));
        }
        bases[item] = base - before;
#else
        bases[item] = base - before;
        base += exists;
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
        for (int k = 0; k < K; k++) {
            const int i = k * GROUP + item;
            if (i >= count) continue;
            const raw_t raw = data[i];
            const place_t at = bases[digit_of(raw, &args)] + (place_t)i;
            if ((args.what & WRITES_VALUES) != 0) out[args.out + top + at] = raw;
#if HAS_PLACES
            const place_t place = places[i];
            if ((args.what & WRITES_PLACES) != 0) places_out[args.places_out + top + at] = place;
            if ((args.what & WRITES_INDICES) != 0)
                STORE(I, indices, args.indices + top + at, (MATH(I))place);
#endif
        }
    }
}
