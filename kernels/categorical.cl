#pragma OPENCL FP_CONTRACT OFF
// categorical: places within rows of x [rows, length], drawn with probabilities in proportion to
// their weights, by integers alone, so that every device draws the same (docs/numerics.md).
//
// With replacement a weight becomes a whole number of steps of 2^-bits of the row's power of two,
// the peak: steps_of. Draw i of y [rows, count] takes 64 random bits, which choose one of all the
// row's steps; it is the place whose steps that one is among. Short rows: categorical_short, a
// work-item per draw, which goes through the row three times. Other rows:
//   categorical_peaks  the highest weight of each part of a row, a work-group per part
//   categorical_sums   steps of each chunk of a few places, a work-group per block of chunks
//   categorical_draw   a work-item per draw: a search among the chunks, of which the host has
//                      summed up what lies before each, and a walk through one of them
//
// Without replacement every place takes 64 random bits: categorical_keys gives it the logarithm of
// its weight over a number of an exponential distribution; the places of the greatest keys, in
// their order, are the draws.
//
// Defines
//   X      dtype of the weights
//   I      dtype of the places drawn
//   GROUP  work-items of a group of peaks and sums: GPU form 256, CPU form 1
//   LANES  of them, for a chunk: GPU form 16, CPU form 1
//   W      positions that keys are made for at once, CPU form: 8
//   INDEX  long
#include "types.clh"
#include "axes.clh"
#include "philox.clh"
#include "random_start.clh"
#include "fixed_point.clh"

#define IS_f64 1
#define IS_F64 CAT(IS_, X)

typedef MATH(X) weight_t;
#if IS_F64
typedef ulong bits_t;
#define BITS(w) as_ulong(w)
#define FROM_BITS(b) as_double(b)
#define MANTISSA_BITS 52
#define LEAST_EXPONENT -1074
#else
typedef uint bits_t;
#define BITS(w) as_uint(w)
#define FROM_BITS(b) as_float(b)
#define MANTISSA_BITS 23
#define LEAST_EXPONENT -149
#endif
#define HIDDEN ((bits_t)1 << MANTISSA_BITS)
#define SIGN ((bits_t)1 << (8 * sizeof(bits_t) - 1))
#define INFINITE ((bits_t)(SIGN - HIDDEN))

struct categorical_args {
    struct axes kept; // of x, in order
    struct axes y;    // of all of y; its x strides
    long x_offset, x_stride, y_offset;
    long rows, length, count;
    long parts, part_length;                // of a row, up to 256
    long chunk_length, chunks, chunks_per_block, blocks; // of a row
    long peaks, row_peaks, sums, before, keys; // where they start, in elements of 8 bytes
    long bits, is_logits;
    long elements, turns; // of a launch of one element per work-item and turn
    ulong position, stream_number, seed;
    long start_offset; // in a graph
};

// ---- weights ------------------------------------------------------------------------------------

// Orders weights as they are; 0: never drawn.
static inline ulong rank_of(weight_t w, long is_logits) {
    const bits_t bits = BITS(w);
    const bool is_negative = (bits & SIGN) != 0, is_nan = (bits_t)(bits & ~SIGN) > INFINITE;
    if (is_nan) return 0;
    if (!is_logits) return is_negative ? 0 : bits;
    if (is_negative) return bits == (SIGN | INFINITE) ? 0 : (bits_t)~bits;
    return (bits_t)(bits | SIGN);
}

static inline weight_t logit_of_rank(ulong rank) {
    const bits_t bits = (bits_t)rank;
    return FROM_BITS((bits & SIGN) != 0 ? (bits_t)(bits ^ SIGN) : (bits_t)~bits);
}

// A positive, finite w is its mantissa times 2^exponent.
static inline ulong mantissa_of(bits_t bits) {
    return (bits & (HIDDEN - 1)) | (bits >= HIDDEN ? HIDDEN : 0);
}
static inline int exponent_of(bits_t bits) {
    const int field = (int)(bits >> MANTISSA_BITS);
    return (field > 0 ? field - 1 : 0) + LEAST_EXPONENT;
}

static inline ulong shifted(ulong number, int left) {
    if (left >= 0) return number << left;
    return left > -64 ? ((number >> (-left - 1)) + 1) >> 1 : 0;
}

// How many steps a weight has, in a row whose highest weight has that rank.
static inline ulong steps_of(weight_t w, ulong peak, const struct categorical_args *args) {
    const ulong rank = rank_of(w, args->is_logits);
    const int bits = (int)args->bits;
    if (rank == 0) return 0;
    if (rank == peak && (args->is_logits || rank == INFINITE)) return 1ul << bits;
    if (args->is_logits) {
        const weight_t down = logit_of_rank(peak) - w;
        if (!(down < 64)) return 0;
        const ulong z = fixed_to_log2((ulong)(down * (weight_t)0x1p32));
        return shifted(fixed_exp1((uint)z), bits - 32 - (int)(z >> 32));
    }
    if (peak == INFINITE) return 0;
    const int top = exponent_of((bits_t)peak) + 63 - (int)clz(mantissa_of((bits_t)peak));
    return shifted(mantissa_of((bits_t)rank), exponent_of((bits_t)rank) - top + bits);
}

// ---- random bits --------------------------------------------------------------------------------

// Those of elements 2 i and 2 i + 1.
static inline void draw_pair(const struct categorical_args *args, struct random_start first, long i,
                             ulong out[2]) {
    const ulong position = first.position + (ulong)i;
    uint c[1][4] = {{(uint)position, (uint)(position >> 32), (uint)args->stream_number,
                     (uint)(args->stream_number >> 32)}};
    philox(c, 1, (uint)first.seed, (uint)(first.seed >> 32));
    out[0] = (ulong)c[0][0] << 32 | c[0][1];
    out[1] = (ulong)c[0][2] << 32 | c[0][3];
}

static inline struct random_start begin(const struct categorical_args *args,
                                        global const struct random_start *start) {
    return begin_draws(args->position, args->seed, start, args->start_offset);
}

// Pair `turn` of a work-item: side by side in the GPU form.
static inline long pair_of(const struct categorical_args *args, long turn) {
#if GROUP > 1
    return (long)get_global_id(0) + turn * (long)get_global_size(0);
#else
    return (long)get_global_id(0) * args->turns + turn;
#endif
}

// ---- short rows ---------------------------------------------------------------------------------

static inline long walk(global const STORAGE(X) *x, long begin, long end, ulong peak, ulong step,
                        const struct categorical_args *args) {
    long i = begin;
    for (; i < end; i++) {
        const ulong own = steps_of(LOAD(X, x, i * args->x_stride), peak, args);
        if (step < own) break;
        step -= own;
    }
    return i < end ? i : 0; // of a row without weight: 0
}

static inline long draw_short(global const STORAGE(X) *x, ulong word,
                              const struct categorical_args *args) {
    ulong peak = 0, total = 0;
    for (long i = 0; i < args->length; i++)
        peak = max(peak, rank_of(LOAD(X, x, i * args->x_stride), args->is_logits));
    for (long i = 0; i < args->length; i++)
        total += steps_of(LOAD(X, x, i * args->x_stride), peak, args);
    return walk(x, 0, args->length, peak, mul_hi(word, total), args);
}

kernel void categorical_short(global const STORAGE(X) *restrict x, global STORAGE(I) *restrict y,
                              const struct categorical_args args,
                              global const struct random_start *start) {
    const struct random_start first = begin(&args, start);
    for (long turn = 0; turn < args.turns; turn++) {
        const long pair = pair_of(&args, turn);
        ulong words[2];
        if (2 * pair >= args.elements) return;
        draw_pair(&args, first, pair, words);
        for (long i = 2 * pair; i < min(2 * pair + 2, args.elements); i++) {
            const long row = i / args.count;
            const long place = draw_short(x + args.x_offset + axes_x(&args.kept, row),
                                          i & 1 ? words[1] : words[0], &args);
            STORE(I, y, args.y_offset + axes_x(&args.y, i), (MATH(I))place);
        }
    }
}

// ---- long rows ----------------------------------------------------------------------------------

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
categorical_peaks(global const STORAGE(X) *restrict x, global ulong *restrict peaks,
                  const struct categorical_args args) {
    const long part = (long)get_group_id(0), row = part / args.parts;
    const long begin = (part - row * args.parts) * args.part_length;
    const long end = min(begin + args.part_length, args.length);
    const int item = (int)get_local_id(0);
    ulong peak = 0;
    x += args.x_offset + axes_x(&args.kept, row);
    for (long i = begin + item; i < end; i += GROUP)
        peak = max(peak, rank_of(LOAD(X, x, i * args.x_stride), args.is_logits));
#if GROUP > 1
    local ulong shared[GROUP];
    shared[item] = peak;
    for (int width = GROUP / 2; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < width) shared[item] = max(shared[item], shared[item + width]);
    }
    if (item != 0) return;
    peak = shared[0];
#endif
    peaks[args.peaks + part] = peak;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
categorical_sums(global const STORAGE(X) *restrict x, global const ulong *restrict peaks,
                 global ulong *restrict row_peaks, global ulong *restrict sums,
                 const struct categorical_args args) {
    const long block = (long)get_group_id(0), row = block / args.blocks;
    const long begin = (block - row * args.blocks) * args.chunks_per_block;
    const long end = min(begin + args.chunks_per_block, args.chunks);
    const int item = (int)get_local_id(0), lane = item % LANES, slot = item / LANES;
    ulong peak = 0;
    x += args.x_offset + axes_x(&args.kept, row);
    for (long i = item; i < args.parts; i += GROUP)
        peak = max(peak, peaks[args.peaks + row * args.parts + i]);
#if GROUP > 1
    local ulong shared[GROUP];
    shared[item] = peak;
    for (int width = GROUP / 2; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < width) shared[item] = max(shared[item], shared[item + width]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    peak = shared[0];
#endif
    if (begin == 0 && item == 0) row_peaks[args.row_peaks + row] = peak;
    for (long at = begin; at < end; at += GROUP / LANES) {
        const long chunk = at + slot, first = chunk * args.chunk_length;
        const long last = chunk < end ? min(first + args.chunk_length, args.length) : first;
        ulong sum = 0;
        for (long i = first + lane; i < last; i += LANES)
            sum += steps_of(LOAD(X, x, i * args.x_stride), peak, &args);
#if GROUP > 1
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[item] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane == 0)
            for (int i = 1; i < LANES; i++) sum += shared[item + i];
#endif
        if (lane == 0 && chunk < end) sums[args.sums + row * args.chunks + chunk] = sum;
    }
}

// The last chunk with no more than `step` steps before it.
static inline long find_chunk(global const ulong *before, long chunks, ulong step) {
    long low = 0, high = chunks;
    while (high - low > 1) {
        const long middle = low + (high - low) / 2;
        if (before[middle] <= step)
            low = middle;
        else
            high = middle;
    }
    return low;
}

kernel void categorical_draw(global const STORAGE(X) *restrict x,
                             global const ulong *restrict row_peaks,
                             global const ulong *restrict sums, global const ulong *restrict before,
                             global STORAGE(I) *restrict y, const struct categorical_args args,
                             global const struct random_start *start) {
    const struct random_start first = begin(&args, start);
    row_peaks += args.row_peaks;
    for (long turn = 0; turn < args.turns; turn++) {
        const long pair = pair_of(&args, turn);
        ulong words[2];
        if (2 * pair >= args.elements) return;
        draw_pair(&args, first, pair, words);
        for (long i = 2 * pair; i < min(2 * pair + 2, args.elements); i++) {
            const long row = i / args.count, last = (row + 1) * args.chunks - 1;
            const ulong total = before[args.before + last] + sums[args.sums + last];
            const ulong step = mul_hi(i & 1 ? words[1] : words[0], total);
            global const ulong *own = before + args.before + row * args.chunks;
            const long chunk = find_chunk(own, args.chunks, step);
            const long place =
                walk(x + args.x_offset + axes_x(&args.kept, row), chunk * args.chunk_length,
                     min((chunk + 1) * args.chunk_length, args.length), row_peaks[row],
                     step - own[chunk], &args);
            STORE(I, y, args.y_offset + axes_x(&args.y, i), (MATH(I))place);
        }
    }
}

// ---- without replacement ------------------------------------------------------------------------

#define FARTHEST 0x100000 // logits beyond it, either way, count as it

// A weight of mantissa times 2^(base / 2^32); base NEVER: it is not drawn.
struct measure {
    ulong mantissa;
    long base;
};
#define NEVER LONG_MIN

static inline struct measure measure_of(weight_t w, long is_logits) {
    const ulong rank = rank_of(w, is_logits);
    struct measure measure = {1, NEVER};
    if (rank == 0) return measure;
    if (is_logits) {
        const weight_t size = fmin(fabs(w), (weight_t)FARTHEST) * (weight_t)0x1p32;
        const long logarithm = (long)fixed_to_log2((ulong)size);
        measure.base = w < 0 ? -logarithm : logarithm;
    } else if (rank == INFINITE) {
        measure.base = 2048l << 32;
    } else {
        measure.mantissa = mantissa_of((bits_t)rank);
        measure.base = (long)exponent_of((bits_t)rank) * 0x100000000l;
    }
    return measure;
}

#if GROUP > 1

static inline long key_of(struct measure measure, ulong word) {
    if (measure.base == NEVER) return NEVER;
    return (long)fixed_log2(measure.mantissa) + measure.base - fixed_log2_exponential(word);
}

kernel void categorical_keys(global const STORAGE(X) *restrict x, global long *restrict keys,
                             const struct categorical_args args,
                             global const struct random_start *start) {
    const struct random_start first = begin(&args, start);
    for (long turn = 0; turn < args.turns; turn++) {
        const long pair = pair_of(&args, turn);
        ulong words[2];
        if (2 * pair >= args.elements) return;
        draw_pair(&args, first, pair, words);
        for (long i = 2 * pair; i < min(2 * pair + 2, args.elements); i++) {
            const long row = i / args.length, place = i - row * args.length;
            const long at = args.x_offset + axes_x(&args.kept, row) + place * args.x_stride;
            keys[args.keys + i] =
                key_of(measure_of(LOAD(X, x, at), args.is_logits), i & 1 ? words[1] : words[0]);
        }
    }
}

#else

static inline VEC(long) keys_of(VEC(ulong) mantissa, VEC(long) base, VEC(ulong) word) {
    const VEC(long) key =
        CAT(as_long, W)(fixed_log2v(mantissa)) + base - fixed_log2_exponentialv(word);
    return base == (VEC(long))NEVER ? (VEC(long))NEVER : key;
}

// Measures of elements i .. i + 2 W - 1, those of even and of odd ones apart.
static inline void measure_run(global const STORAGE(X) *x, const struct categorical_args *args,
                               long i, int count, ulong mantissas[2][W], long bases[2][W]) {
    long row = i / args->length, place = i - row * args->length;
    long start = args->x_offset + axes_x(&args->kept, row);
    for (int k = 0; k < 2 * W; k++, place++) {
        struct measure measure = {1, NEVER};
        if (place == args->length && k < count) {
            place = 0;
            start = args->x_offset + axes_x(&args->kept, ++row);
        }
        if (k < count)
            measure = measure_of(LOAD(X, x, start + place * args->x_stride), args->is_logits);
        mantissas[k % 2][k / 2] = measure.mantissa;
        bases[k % 2][k / 2] = measure.base;
    }
}

// W positions at a time.
kernel void categorical_keys(global const STORAGE(X) *restrict x, global long *restrict keys,
                             const struct categorical_args args,
                             global const struct random_start *start) {
    const struct random_start first = begin(&args, start);
    const ulong low = 0xffffffff;
    keys += args.keys;
    for (long turn = 0; turn < args.turns; turn++) {
        const long pair = pair_of(&args, turn) * W;
        if (2 * pair >= args.elements) return;
        const int count = (int)min(2L * W, args.elements - 2 * pair);
        const VEC(ulong) position =
            first.position + (ulong)pair + (VEC(ulong))(0, 1, 2, 3, 4, 5, 6, 7);
        VEC(ulong) c[4] = {position, position >> 32, args.stream_number, args.stream_number >> 32};
        ulong mantissas[2][W];
        long bases[2][W], made[2][W];
        philoxv(c, (uint)first.seed, (uint)(first.seed >> 32));
        measure_run(x, &args, 2 * pair, count, mantissas, bases);
        for (int odd = 0; odd < 2; odd++) {
            const VEC(ulong) word = c[2 * odd] << 32 | (c[2 * odd + 1] & low);
            CAT(vstore, W)(keys_of(CAT(vload, W)(0, mantissas[odd]), CAT(vload, W)(0, bases[odd]),
                                   word),
                           0, made[odd]);
        }
        for (int k = 0; k < count; k++) keys[2 * pair + k] = made[k % 2][k / 2];
    }
}

#endif
