#pragma OPENCL FP_CONTRACT OFF
// quantile: elements of sorted rows, and numbers between two of them.
//
//   quantile_pick         the element at places[0]
//   quantile_interpolate  for each q: between the element at places[q] and the one after it; floats
// A row that ends with a NaN has NaN for all results. A work-item makes one result; those of one q
// lie side by side.
//
// Defines
//   ACC  f32 or f64: the arithmetic of floats
//   those of sort_keys.clh
#include "sort_keys.clh"

#define MOST 8
struct quantile_args {
    long x_offset, y_offset;  // of dense rows and of dense results
    long rows, length, count; // of rows, of a row, of q
    long midpoint;
    long places[MOST];
    ulong parts[MOST]; // of the way to the next element, below 1: bits of ACC
};

kernel void quantile_pick(global const raw_t *restrict x, global raw_t *restrict y,
                          const struct quantile_args args) {
    const long row = (long)get_global_id(0);
    if (row >= args.rows) return;
    x += args.x_offset + row * args.length;
    const raw_t last = x[args.length - 1];
    long place = args.places[0];
#if KIND > 1
    if (sort_key_of(last, 0) == KEY_MASK) place = args.length - 1;
#endif
    y[args.y_offset + row] = x[place];
}

#if KIND > 1

typedef MATH(ACC) acc_t;
#define AS_f32(bits) as_float((uint)(bits))
#define AS_f64(bits) as_double(bits)

static inline acc_t between(acc_t a, acc_t b, acc_t t, bool is_midpoint) {
    if (a == b || t == 0) return a;
    if (is_midpoint) return a / 2 + b / 2;
    if (isinf(b - a)) return a * (1 - t) + b * t;
    return t < (acc_t)0.5f ? a + (b - a) * t : b - (b - a) * (1 - t);
}

kernel void quantile_interpolate(global const STORAGE(X) *restrict x, global STORAGE(X) *restrict y,
                                 const struct quantile_args args) {
    const long result = (long)get_global_id(0);
    if (result >= args.rows * args.count) return;
    const long q = result / args.rows, row = result - q * args.rows;
    x += args.x_offset + row * args.length;
    const long place = args.places[q];
    const acc_t a = LOAD(X, x, place), last = LOAD(X, x, args.length - 1);
    const acc_t b = LOAD(X, x, min(place + 1, args.length - 1));
    const acc_t t = CAT(AS_, ACC)(args.parts[q]);
    STORE(X, y, args.y_offset + result, last != last ? last : between(a, b, t, args.midpoint != 0));
}

#endif
