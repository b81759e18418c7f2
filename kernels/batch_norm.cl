#pragma OPENCL FP_CONTRACT OFF
// batch_norm: y = (x - mean) / sqrt(var + eps) gamma + beta per channel, as y = x scale + shift with
// both factors in ACC.
//
//   batch_factors  a channel per work-item: its scale and shift
//   batch_apply    rows of contiguous elements; a work-item takes `vectors` vectors of W in a row.
//                  PLANES 1: a row is a plane of one channel, number row % channels
//                  PLANES 0: element i of each row is of channel i
//
// Defines
//   X, ACC   dtype of all tensors; f32 or f64: the arithmetic
//   PLANES   0 or 1
//   HAS_GAMMA, HAS_BETA   0 or 1
//   those of types.clh (W) and axes.clh
#include "types.clh"
#include "axes.clh"

typedef MATH(ACC) acc_t;
typedef MATHV(ACC) accv_t;

struct batch_args {
    struct axes rows; // x and y strides, in row-major order
    long length;      // of a row
    long channels;
    long x_offset, y_offset, factors_offset;
    long mean_offset, var_offset, gamma_offset, beta_offset;
    long mean_stride, var_stride, gamma_stride, beta_stride;
    long vectors;
};

// All scales, then all shifts.
kernel void batch_factors(global const STORAGE(X) *restrict mean,
                          global const STORAGE(X) *restrict var,
                          global const STORAGE(X) *restrict gamma,
                          global const STORAGE(X) *restrict beta, global acc_t *restrict factors,
                          const struct batch_args args, const acc_t eps) {
    const long c = (long)get_global_id(0);
    if (c >= args.channels) return;
    acc_t scale = 1 / sqrt(LOAD(X, var, args.var_offset + c * args.var_stride) + eps);
#if HAS_GAMMA
    scale *= LOAD(X, gamma, args.gamma_offset + c * args.gamma_stride);
#endif
    acc_t shift = -LOAD(X, mean, args.mean_offset + c * args.mean_stride) * scale;
#if HAS_BETA
    shift += LOAD(X, beta, args.beta_offset + c * args.beta_stride);
#endif
    factors[args.factors_offset + c] = scale;
    factors[args.factors_offset + args.channels + c] = shift;
}

kernel void batch_apply(global const STORAGE(X) *restrict x,
                        global const acc_t *restrict factors, global STORAGE(X) *restrict y,
                        const struct batch_args args) {
    const INDEX length = (INDEX)args.length, run = (INDEX)args.vectors * W;
    const INDEX runs = (length + run - 1) / run, group = (INDEX)get_global_id(0);
    const INDEX row = group / runs, begin = (group - row * runs) * run;
    if (row >= args.rows.count) return;
    const INDEX end = min(begin + run, length);
    INDEX x_at, y_at;
    axes_offsets(&args.rows, row, &x_at, &y_at);
    global const STORAGE(X) *from = x + args.x_offset + x_at;
    global STORAGE(X) *to = y + args.y_offset + y_at;
    global const acc_t *scales = factors + args.factors_offset, *shifts = scales + args.channels;
#if PLANES
    const INDEX c = row % (INDEX)args.channels;
    const acc_t scale = scales[c], shift = shifts[c];
#define SCALE(i) scale
#define SHIFT(i) shift
#define SCALES(i) ((accv_t)scale)
#define SHIFTS(i) ((accv_t)shift)
#else
#define SCALE(i) scales[i]
#define SHIFT(i) shifts[i]
#define SCALES(i) CAT(vload, W)(0, scales + (i))
#define SHIFTS(i) CAT(vload, W)(0, shifts + (i))
#endif
    INDEX i = begin;
    for (; i + W <= end; i += W) STOREV(X, to, i, fma(LOADV(X, from, i), SCALES(i), SHIFTS(i)));
    for (; i < end; i++) STORE(X, to, i, fma(LOAD(X, from, i), SCALE(i), SHIFT(i)));
}
