#pragma OPENCL FP_CONTRACT OFF
// radix_cpu: one pass of a stable radix sort, for CPUs. See radix.clh. A work-item does a chunk, by
// blocks whose digits are found by vectors first.
//
// Where rows are much larger than the caches and have no places, what belongs to a digit is
// collected in a line, which goes out whole and past the caches (args.stream).
//
// Defines: those of radix.clh.
#include "radix.clh"
#include "cache.clh"

#define BLOCK 64
#define PER_LINE (LINE_BYTES / (int)sizeof(raw_t))
typedef ulong8 line_words;
typedef struct {
    raw_t elements[PER_LINE];
} __attribute__((aligned(LINE_BYTES))) line_t;

#if KEY_BITS == 64
#define LANES 8
KEY_BODY(keys_of_bits, ulong8)
#define KEYS(in) convert_ulong8(vload8(0, in))
#else
#define LANES 16
KEY_BODY(keys_of_bits, uint16)
#define KEYS(in) convert_uint16(vload16(0, in))
#endif

// The digits of a block of elements, of which `count` exist.
static inline void find_digits(global const raw_t *in, const struct radix_args *args, int count,
                               uint *digits) {
    if (count < BLOCK) {
        for (int k = 0; k < count; k++) digits[k] = digit_of(in[k], args);
        return;
    }
    const sort_key flip = (sort_key)args->flip & KEY_MASK, shift = (sort_key)args->shift;
    for (int k = 0; k < BLOCK; k += LANES)
        CAT(vstore, LANES)(CAT(convert_uint, LANES)(keys_of_bits(KEYS(in + k), flip) >> shift) &
                               (DIGITS - 1),
                           0, digits + k);
}

kernel void radix_count(global const raw_t *restrict in, global place_t *restrict counts,
                        const struct radix_args args) {
    const long row = (long)get_global_id(0) / args.chunks;
    const long chunk = (long)get_global_id(0) - row * args.chunks;
    const long begin = chunk * args.chunk_length;
    const long end = min(begin + args.chunk_length, args.length);
    uint even[DIGITS], odd[DIGITS]; // two, so that equal neighbours do not wait for each other
    uint digits[BLOCK];
    in += args.in + row * args.length;
    for (int d = 0; d < DIGITS; d++) even[d] = odd[d] = 0;
    for (long i = begin; i < end; i += BLOCK) {
        const int count = (int)min((long)BLOCK, end - i);
        find_digits(in + i, &args, count, digits);
        int k = 0;
        for (; k + 2 <= count; k += 2) {
            even[digits[k]]++;
            odd[digits[k + 1]]++;
        }
        if (k < count) even[digits[k]]++;
    }
    for (int d = 0; d < DIGITS; d++)
        counts[args.counts + (row * DIGITS + d) * args.chunks + chunk] = even[d] + odd[d];
}

#if !HAS_PLACES
// The digit's places up to `at`, which is the last of a line; those before `start` are others'.
static inline void write_line(const line_t *line, global raw_t *out, place_t start, place_t at) {
    const place_t first = at - (PER_LINE - 1);
    if (first >= start) {
        STREAM(*(const line_words *)line, (global line_words *)(out + first));
        return;
    }
    for (place_t k = start; k <= at; k++) out[k] = line->elements[k & (PER_LINE - 1)];
}

// Places count from `out`, where a line begins.
static inline void move_lines(global const raw_t *in, long begin, long end, global raw_t *out,
                              place_t *next, const struct radix_args *args) {
    line_t lines[DIGITS];
    place_t start[DIGITS];
    uint digits[BLOCK];
    for (int d = 0; d < DIGITS; d++) start[d] = next[d];
    for (long i = begin; i < end; i += BLOCK) {
        const int count = (int)min((long)BLOCK, end - i);
        find_digits(in + i, args, count, digits);
        for (int k = 0; k < count; k++) {
            const uint d = digits[k];
            const place_t at = next[d]++;
            lines[d].elements[at & (PER_LINE - 1)] = in[i + k];
            if ((at & (PER_LINE - 1)) == PER_LINE - 1) write_line(&lines[d], out, start[d], at);
        }
    }
    for (int d = 0; d < DIGITS; d++) {
        const place_t line = next[d] & ~(place_t)(PER_LINE - 1);
        for (place_t k = max(start[d], line); k < next[d]; k++)
            out[k] = lines[d].elements[k & (PER_LINE - 1)];
    }
}
#endif

kernel void radix_move(global const raw_t *restrict in, global raw_t *restrict out,
                       global const place_t *restrict places_in,
                       global place_t *restrict places_out, global STORAGE(I) *restrict indices,
                       global const place_t *restrict counts, const struct radix_args args) {
    const long row = (long)get_global_id(0) / args.chunks, top = row * args.length;
    const long chunk = (long)get_global_id(0) - row * args.chunks;
    const long begin = chunk * args.chunk_length;
    const long end = min(begin + args.chunk_length, args.length);
    place_t next[DIGITS];
    uint digits[BLOCK];
    for (int d = 0; d < DIGITS; d++)
        next[d] = counts[args.counts + (row * DIGITS + d) * args.chunks + chunk];
    in += args.in + top;
    out += args.out + top;
#if HAS_PLACES
    places_in += args.places_in + top;
    places_out += args.places_out + top;
    indices += args.indices + top;
#else
    if (args.stream != 0) {
        const place_t before = (place_t)((ulong)out / sizeof(raw_t)) & (PER_LINE - 1);
        for (int d = 0; d < DIGITS; d++) next[d] += before;
        move_lines(in, begin, end, out - before, next, &args);
        return;
    }
#endif
    for (long i = begin; i < end; i += BLOCK) {
        const int count = (int)min((long)BLOCK, end - i);
        find_digits(in + i, &args, count, digits);
        for (int k = 0; k < count; k++) {
            const place_t at = next[digits[k]]++;
            if ((args.what & WRITES_VALUES) != 0) out[at] = in[i + k];
#if HAS_PLACES
            const place_t place =
                (args.what & READS_PLACES) != 0 ? places_in[i + k] : (place_t)(i + k);
            if ((args.what & WRITES_PLACES) != 0) places_out[at] = place;
            if ((args.what & WRITES_INDICES) != 0) STORE(I, indices, at, (MATH(I))place);
#endif
        }
    }
}
