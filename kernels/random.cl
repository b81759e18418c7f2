#pragma OPENCL FP_CONTRACT OFF
// random: draws of docs/numerics.md: element i of the row-major order of y belongs to Philox
// position first_position + i / 4 and has word i % 4 of it.
//
// CPU form: a work-item makes runs of W positions side by side in vectors. GPU form (GPU_FORM
// defined): a work-item makes POSITIONS positions, a work-group apart, and stores the four elements
// of each at once.
//
// Defines
//   DRAW      draw_uniform draw_normal draw_bernoulli draw_integer
//   Y         dtype of the output
//   GPU_FORM  see above; W is then 4
//   TINY_SPAN uniform: see there
//   those of types.clh and axes.clh
#include "types.clh"
#include "axes.clh"
#include "math.clh"
#include "philox.clh"
#include "random_start.clh"

#ifdef GPU_FORM
#define OF(type) type
#define CONVERT(type) CAT(convert_, type)
#else
#define OF(type) VEC(type)
#define CONVERT(type) CAT(CAT(convert_, type), W)
#endif

struct random_args {
    struct axes y;
    long y_offset, count;
    ulong position, stream_number, seed;
    ulong parameters[3]; // see each draw
    long runs_per_item;  // CPU form
    long is_dense;       // y is one run of stride 1
    long start_offset;   // in a graph
    long stream;         // CPU form: stores should bypass the caches
};

#define SIZE_8_f64 1
#define SIZE_8_i64 1
#define SIZE_8_u64 1
#define IS_8_BYTES CAT(SIZE_8_, Y)
#define IS_f64 1
#define IS_F64 CAT(IS_, Y)
#define KIND_draw_uniform 1
#define KIND_draw_normal 2
#define KIND_draw_bernoulli 3
#define KIND_draw_integer 4
#define KIND CAT(KIND_, DRAW)

typedef OF(uint) words_t;

// ---- the draws: four words to the four elements of a position -----------------------------------

#if KIND == 1 || KIND == 2

#if IS_F64
#define REAL double
#define PARAMETER(i) as_double(parameters[i])
#define WHOLE(word) CONVERT(double)(word)
#define UNIT(word) (WHOLE(word) * STEP)
#define STEP 0x1p-32
#define ROOT(x) sqrt(x)
TURN_F64_BODY(turn, OF(double), OF(long))
#define LOG_OPEN_UNIT(word) log((WHOLE(word) + 1.0) * STEP)
#define TURNS UNIT
#else
#define REAL float
#define PARAMETER(i) as_float((uint)parameters[i])
#define WHOLE(word) CONVERT(float)((word) >> 8)
#define UNIT(word) (WHOLE(word) * STEP)
#define STEP 0x1p-24f
#define TURNS WHOLE
#define LOG_OPEN_UNIT(word) NORMAL_LOG(CONVERT(float)(((word) >> 8) + 1u), -24)
TURN_F32_BODY(turn, OF(float), OF(int))
#ifdef GPU_FORM
#define NORMAL_LOG normal_log_f32
// Square root of 0 or a normal number, within 1 ulp wherever rsqrt is good to a few: many a GPU's
// sqrt is several times as long.
static inline float ROOT(float x) {
    const float r = rsqrt(fmax(x, 0x1p-100f)), y = x * r;
    return fma(fma(-y, y, x), 0.5f * r, y);
}
#else
#define NORMAL_LOG normal_log_f32v
#define ROOT(x) sqrt(x)
#endif
#endif

#if KIND == 1
// None is a NaN. GPUs have an instruction for fmin, CPUs for the comparison.
#ifdef GPU_FORM
#define LESSER(a, b) fmin(a, b)
#else
#define LESSER(a, b) ((b) < (a) ? (b) : (a))
#endif

// parameters: low, (high - low) * STEP (of a tiny span, whose bits that would lose, high - low
// itself), the largest result. Rounding to the dtype is monotonic, so that the
// limit, one of its numbers, may be applied before.
static inline void draw(const words_t word[4], const ulong parameters[3], OF(REAL) out[4]) {
    const REAL low = PARAMETER(0), span = PARAMETER(1), limit = PARAMETER(2);
#pragma unroll
    for (int i = 0; i < 4; i++) {
#ifdef TINY_SPAN
        const OF(REAL) product = UNIT(word[i]) * span;
#else
        const OF(REAL) product = WHOLE(word[i]) * span;
#endif
        out[i] = LESSER(low + product, (OF(REAL))limit);
    }
}
#else
// parameters: mean, deviation.
static inline void draw(const words_t word[4], const ulong parameters[3], OF(REAL) out[4]) {
    const REAL mean = PARAMETER(0), deviation = PARAMETER(1);
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const OF(REAL) radius = ROOT((REAL)-2 * LOG_OPEN_UNIT(word[i]));
        OF(REAL) cosine, sine;
        turn(TURNS(word[i + 1]), &cosine, &sine);
        const OF(REAL) even = radius * cosine, odd = radius * sine;
        const OF(REAL) even_part = deviation * even, odd_part = deviation * odd;
        out[i] = mean + even_part;
        out[i + 1] = mean + odd_part;
    }
}
#endif
#define VALUE REAL

#elif KIND == 3

// parameters: probability * 2^32, rounded down.
#define VALUE int
static inline void draw(const words_t word[4], const ulong parameters[3], OF(int) out[4]) {
    const uint threshold = (uint)min(parameters[0], 0xfffffffful);
    const int always = parameters[0] > 0xfffffffful;
#pragma unroll
    for (int i = 0; i < 4; i++) out[i] = ((OF(int))(word[i] < threshold) & 1) | always;
}

#else

// parameters: low, high - low, both modulo 2^64.
#if IS_8_BYTES
#define VALUE ulong
static inline void draw(const words_t word[4], const ulong parameters[3], OF(ulong) out[4]) {
    const ulong low = parameters[0], range = parameters[1];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const OF(ulong) high_word = CONVERT(ulong)(word[i]);
        const OF(ulong) both = high_word << 32 | CONVERT(ulong)(word[(i + 1) % 4]);
        out[i] = low + (range > 0x100000000ul ? mul_hi(both, (OF(ulong))range)
                                              : (high_word * range) >> 32);
    }
}
#else
#define VALUE uint
static inline void draw(const words_t word[4], const ulong parameters[3], OF(uint) out[4]) {
    const uint low = (uint)parameters[0], range = (uint)parameters[1]; // 0: 2^32
#pragma unroll
    for (int i = 0; i < 4; i++)
        out[i] = low + (range == 0 ? word[i] : mul_hi(word[i], (OF(uint))range));
}
#endif

#endif

// ---- stores -------------------------------------------------------------------------------------

#define NAME_f64 double
#define NAME_f32 float
#define NAME_f16 float
#define NAME_bf16 float
#define NAME_i64 long
#define NAME_i32 int
#define NAME_i16 int
#define NAME_i8 int
#define NAME_u64 ulong
#define NAME_u32 uint
#define NAME_u16 uint
#define NAME_u8 uint
#define NAME_bool int
#define NAME_bool32 int
#define MATH_NAME CAT(NAME_, Y)

// `count` elements from `at` on, wherever y's strides put them.
static inline void store_each(global STORAGE(Y) *y, const struct random_args *args, long at,
                              int count, const MATH(Y) *values) {
    for (int i = 0; i < count; i++) {
        INDEX x_offset, y_offset;
        axes_offsets(&args->y, (INDEX)(at + i), &x_offset, &y_offset);
        STORE(Y, y, args->y_offset + y_offset, values[i]);
    }
}

#ifdef GPU_FORM

#define GROUP 256
#define POSITIONS 8

// The positions from `index` on, a work-group apart.
static inline void make_positions(const struct random_args *args, struct random_start first,
                                  long index, int count, MATH(Y) values[][4]) {
    uint word[POSITIONS][4];
    for (int k = 0; k < count; k++) {
        const ulong position = first.position + (ulong)(index + k * GROUP);
        word[k][0] = (uint)position, word[k][1] = (uint)(position >> 32);
        word[k][2] = (uint)args->stream_number, word[k][3] = (uint)(args->stream_number >> 32);
    }
    philox(word, count, (uint)first.seed, (uint)(first.seed >> 32));
    for (int k = 0; k < count; k++) {
        VALUE drawn[4];
        draw(word[k], args->parameters, drawn);
        for (int i = 0; i < 4; i++) values[k][i] = (MATH(Y))drawn[i];
    }
}

// All of them are there, and dense.
static inline void make_dense(global STORAGE(Y) *y, const struct random_args *args,
                              struct random_start first, long index) {
    MATH(Y) values[POSITIONS][4];
    make_positions(args, first, index, POSITIONS, values);
    for (int k = 0; k < POSITIONS; k++)
        STOREV(Y, y, args->y_offset + (index + k * GROUP) * 4,
               (MATHV(Y))(values[k][0], values[k][1], values[k][2], values[k][3]));
}

static inline void make_some(global STORAGE(Y) *y, const struct random_args *args,
                             struct random_start first, long index) {
#pragma unroll 1
    for (int k = 0; k < POSITIONS; k++, index += GROUP) {
        MATH(Y) values[1][4];
        if (index * 4 >= args->count) return;
        make_positions(args, first, index, 1, values);
        store_each(y, args, index * 4, (int)min(4L, args->count - index * 4), values[0]);
    }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
random_fill(global STORAGE(Y) *restrict y, const struct random_args args,
            global const struct random_start *start) {
    const struct random_start first = begin_draws(args.position, args.seed, start, args.start_offset);
    const long step = (long)get_num_groups(0) * (GROUP * POSITIONS);
#pragma unroll 1
    for (long at = (long)get_group_id(0) * (GROUP * POSITIONS); at * 4 < args.count; at += step) {
        const long index = at + get_local_id(0);
        if (args.is_dense && (at + GROUP * POSITIONS) * 4 <= args.count)
            make_dense(y, &args, first, index);
        else
            make_some(y, &args, first, index);
    }
}

#else

#define MATH_OF(n) CAT(MATH_NAME, n)
#define AS_WORDS CAT(as_uint, W)
#define HALF_4 2
#define HALF_8 4
#define HALF_16 8
#define HALF_VEC CAT(ulong, CAT(HALF_, W))
#define IOTA_4 (0, 1, 2, 3)
#define IOTA_8 (0, 1, 2, 3, 4, 5, 6, 7)
#define IOTA_16 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

// Does a draw make each element of a word of its own?
#define IS_ELEMENTWISE (KIND == 1 || KIND == 3 || (KIND == 4 && !IS_8_BYTES))

#if IS_ELEMENTWISE

// Half of W positions: 2 W words in the elements' order.
static inline void order_words(HALF_VEC words01, HALF_VEC words23, words_t word[2]) {
    VEC(ulong) pairs;
    pairs.even = words01;
    pairs.odd = words23;
    word[0] = AS_WORDS(pairs.lo);
    word[1] = AS_WORDS(pairs.hi);
}

// W positions: 4 W elements in their order.
static inline void make_values(VEC(ulong) c[4], struct random_start first,
                               const ulong parameters[3], MATHV(Y) values[4]) {
    VEC(ulong) pairs[2];
    words_t word[4];
    OF(VALUE) drawn[4];
    philoxv_pairs(c, (uint)first.seed, (uint)(first.seed >> 32), pairs);
    order_words(pairs[0].lo, pairs[1].lo, word);
    order_words(pairs[0].hi, pairs[1].hi, word + 2);
    draw(word, parameters, drawn);
#pragma unroll
    for (int i = 0; i < 4; i++) values[i] = CAT(convert_, MATH_OF(W))(drawn[i]);
}

#else

// The same of draws that need several words: lane k of a, b, c, d becomes elements 4 k ..
static inline void make_values(VEC(ulong) c[4], struct random_start first,
                               const ulong parameters[3], MATHV(Y) values[4]) {
    words_t word[4];
    OF(VALUE) drawn[4];
    MATHV(Y) v[4], ac[2], bd[2];
    philoxv(c, (uint)first.seed, (uint)(first.seed >> 32));
#pragma unroll
    for (int i = 0; i < 4; i++) word[i] = CONVERT(uint)(c[i]);
    draw(word, parameters, drawn);
#pragma unroll
    for (int i = 0; i < 4; i++) v[i] = CAT(convert_, MATH_OF(W))(drawn[i]);
    ac[0].even = v[0].lo, ac[0].odd = v[2].lo, ac[1].even = v[0].hi, ac[1].odd = v[2].hi;
    bd[0].even = v[1].lo, bd[0].odd = v[3].lo, bd[1].even = v[1].hi, bd[1].odd = v[3].hi;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        values[2 * i].even = ac[i].lo, values[2 * i].odd = bd[i].lo;
        values[2 * i + 1].even = ac[i].hi, values[2 * i + 1].odd = bd[i].hi;
    }
}

#endif

// W positions, the elements from `at` on.
static inline void make_run(global STORAGE(Y) *y, const struct random_args *args,
                            struct random_start first, long at) {
    const VEC(ulong) position = first.position + (ulong)at / 4 + (VEC(ulong))CAT(IOTA_, W);
    VEC(ulong) c[4] = {position, position >> 32, args->stream_number, args->stream_number >> 32};
    MATHV(Y) values[4];
    global STORAGE(Y) *to = y + args->y_offset + at;
    make_values(c, first, args->parameters, values);

    const int count = (int)min(4L * W, args->count - at);
    if (args->is_dense && count == 4 * W) {
        const bool stream = args->stream != 0 && IS_STREAMABLE(to);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (stream)
                STREAMV(Y, to, i * W, values[i]);
            else
                STOREV(Y, to, i * W, values[i]);
        }
        return;
    }
    MATH(Y) run[4 * W];
#pragma unroll
    for (int i = 0; i < 4; i++) CAT(vstore, W)(values[i], i, run);
    store_each(y, args, at, count, run);
}

kernel void random_fill(global STORAGE(Y) *restrict y, const struct random_args args,
                        global const struct random_start *start) {
    const struct random_start first = begin_draws(args.position, args.seed, start, args.start_offset);
    const long run = (long)get_global_id(0) * args.runs_per_item;
    for (long i = run; i < run + args.runs_per_item; i++)
        if (i * 4 * W < args.count) make_run(y, &args, first, i * 4 * W);
}

#endif
