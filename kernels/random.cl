#pragma OPENCL FP_CONTRACT OFF
// random: draws of docs/numerics.md: element i of the row-major order of y belongs to Philox
// position first_position + i / 4 and has word i % 4 of it.
//
// CPU form: a work-item makes runs of W positions side by side in vectors. GPU form (GPU_FORM
// defined): a work-item makes one position and stores its four elements at once.
//
// Defines
//   DRAW      draw_uniform draw_normal draw_bernoulli draw_integer
//   Y         dtype of the output
//   GPU_FORM  see above; W is then 4
//   those of types.clh and axes.clh
#include "types.clh"
#include "axes.clh"
#include "math.clh"
#include "philox.clh"

#ifdef GPU_FORM
#define LANES 1
#define OF(type) type
#define CONVERT(type) CAT(convert_, type)
#else
#define LANES W
#define OF(type) VEC(type)
#define CONVERT(type) CAT(CAT(convert_, type), W)
#endif

struct random_args {
    struct axes y;
    long y_offset, count;
    ulong position, stream, seed;
    ulong parameters[3]; // see each draw
    long runs_per_item;  // CPU form
    long is_dense;       // y is one run of stride 1
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
PHILOX_BODY(philox, OF(uint))

// ---- the draws: four words to the four elements of a position ------------------------------------

#if KIND == 1 || KIND == 2

#if IS_F64
#define REAL double
#define PARAMETER(i) as_double(parameters[i])
#define UNIT(word) (CONVERT(double)(word) * 0x1p-32)
#define OPEN_UNIT(word) ((CONVERT(double)(word) + 1.0) * 0x1p-32)
TURN_F64_BODY(turn, OF(double), OF(long))
#define LOG log
#else
#define REAL float
#define PARAMETER(i) as_float((uint)parameters[i])
#define UNIT(word) (CONVERT(float)((word) >> 8) * 0x1p-24f)
#define OPEN_UNIT(word) (CONVERT(float)(((word) >> 8) + 1u) * 0x1p-24f)
TURN_F32_BODY(turn, OF(float), OF(int))
#ifdef GPU_FORM
#define LOG log_f32
#else
#define LOG log_f32v
#endif
#endif

#if KIND == 1
// parameters: low, high - low, the largest result. Rounding to the dtype is monotonic, so that the
// limit, one of its numbers, may be applied before.
static inline void draw(const words_t word[4], const ulong parameters[3], OF(REAL) out[4]) {
    const REAL low = PARAMETER(0), span = PARAMETER(1), limit = PARAMETER(2);
    for (int i = 0; i < 4; i++) {
        const OF(REAL) product = UNIT(word[i]) * span;
        out[i] = fmin(low + product, (OF(REAL))limit);
    }
}
#else
// parameters: mean, deviation.
static inline void draw(const words_t word[4], const ulong parameters[3], OF(REAL) out[4]) {
    const REAL mean = PARAMETER(0), deviation = PARAMETER(1);
    for (int i = 0; i < 4; i += 2) {
        const OF(REAL) radius = sqrt((REAL)-2 * LOG(OPEN_UNIT(word[i])));
        OF(REAL) cosine, sine;
        turn(UNIT(word[i + 1]), &cosine, &sine);
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
    for (int i = 0; i < 4; i++) out[i] = ((OF(int))(word[i] < threshold) & 1) | always;
}

#else

// parameters: low, high - low, both modulo 2^64.
#if IS_8_BYTES
#define VALUE ulong
static inline void draw(const words_t word[4], const ulong parameters[3], OF(ulong) out[4]) {
    const ulong low = parameters[0], range = parameters[1];
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
    for (int i = 0; i < 4; i++)
        out[i] = low + (range == 0 ? word[i] : mul_hi(word[i], (OF(uint))range));
}
#endif

#endif

// ---- stores --------------------------------------------------------------------------------------

// Positions first .. first + LANES - 1 to elements from `at` on.
static inline void make_run(global STORAGE(Y) *y, const struct random_args *args, long at) {
    words_t word[4];
    const ulong position = args->position + (ulong)at / 4;
#ifdef GPU_FORM
    word[0] = (uint)position;
    word[1] = (uint)(position >> 32);
#else
    ulong positions[LANES];
    uint low[LANES], high[LANES];
    for (int i = 0; i < LANES; i++) {
        positions[i] = position + (ulong)i;
        low[i] = (uint)positions[i];
        high[i] = (uint)(positions[i] >> 32);
    }
    word[0] = CAT(vload, W)(0, low);
    word[1] = CAT(vload, W)(0, high);
#endif
    word[2] = (words_t)(uint)args->stream;
    word[3] = (words_t)(uint)(args->stream >> 32);
    philox(word, (uint)args->seed, (uint)(args->seed >> 32));

    OF(VALUE) drawn[4];
    draw(word, args->parameters, drawn);
    VALUE values[4 * LANES]; // in the order of the elements
#ifdef GPU_FORM
    for (int i = 0; i < 4; i++) values[i] = drawn[i];
#else
    for (int i = 0; i < 4; i++) {
        VALUE lanes[LANES];
        CAT(vstore, W)(drawn[i], 0, lanes);
        for (int k = 0; k < LANES; k++) values[4 * k + i] = lanes[k];
    }
#endif
    const int count = (int)min((long)(4 * LANES), args->count - at);
    if (args->is_dense && count == 4 * LANES) {
        for (int i = 0; i < 4 * LANES; i += W) {
            MATH(Y) run[W];
            for (int k = 0; k < W; k++) run[k] = (MATH(Y))values[i + k];
            STOREV(Y, y, args->y_offset + at + i, CAT(vload, W)(0, run));
        }
    } else {
        for (int i = 0; i < count; i++) {
            INDEX x_offset, y_offset;
            axes_offsets(&args->y, (INDEX)(at + i), &x_offset, &y_offset);
            STORE(Y, y, args->y_offset + y_offset, (MATH(Y))values[i]);
        }
    }
}

#ifdef GPU_FORM
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
random_fill(global STORAGE(Y) *restrict y, const struct random_args args) {
    const long at = (long)get_global_id(0) * 4;
    if (at < args.count) make_run(y, &args, at);
}
#else
kernel void random_fill(global STORAGE(Y) *restrict y, const struct random_args args) {
    const long run = (long)get_global_id(0) * args.runs_per_item;
    for (long i = run; i < run + args.runs_per_item; i++)
        if (i * 4 * LANES < args.count) make_run(y, &args, i * 4 * LANES);
}
#endif
