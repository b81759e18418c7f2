#pragma OPENCL FP_CONTRACT OFF
// cross: y = a x b for vectors of three elements along one axis:
//
//     y0 = a1 b2 - a2 b1      y1 = a2 b0 - a0 b2      y2 = a0 b1 - a1 b0
//
// A work-item does vectors_per_item vectors. The other axes form a loop nest, outermost first, in
// which an operand may stand still (stride 0). Floats: the rounding error of the second product is
// added back, so that results are within 2 ulp also where the products cancel. Integers wrap.
//
// Defines: T  dtype word of all operands; REAL if it is a float's
//          INDEX  int or long: the type of element offsets
#include "types.clh"

struct cross_args {
    long offsets[3]; // y, a, b
    long steps[3];   // along the vectors
    long shape[8], strides[3 * 8];
    long count; // vectors
    long vectors_per_item;
    long rank;
};

#ifdef REAL
// p q - r s. Where infinity spoils the correction, the plain difference.
static inline MATH(T) difference(MATH(T) p, MATH(T) q, MATH(T) r, MATH(T) s) {
    const MATH(T) product = r * s, error = fma(-r, s, product);
    const MATH(T) y = fma(p, q, -product) + error;
    return y == y ? y : p * q - product;
}
#else
// The unsigned type wraps.
static inline MATH(T) difference(MATH(T) p, MATH(T) q, MATH(T) r, MATH(T) s) {
    return (MATH(T))((ulong)p * (ulong)q - (ulong)r * (ulong)s);
}
#endif

kernel void cross_vectors(global STORAGE(T) *y, global const STORAGE(T) *a,
                          global const STORAGE(T) *b, const struct cross_args args) {
    const INDEX first = (INDEX)get_global_id(0) * (INDEX)args.vectors_per_item;
    const INDEX last = min((INDEX)args.count, first + (INDEX)args.vectors_per_item);
    for (INDEX i = first; i < last; i++) {
        INDEX at[3] = {0, 0, 0}, rest = i;
        for (int axis = (int)args.rank - 1; axis >= 0; axis--) {
            const INDEX next = axis > 0 ? rest / (INDEX)args.shape[axis] : 0;
            const INDEX place = rest - next * (INDEX)args.shape[axis];
            for (int k = 0; k < 3; k++) at[k] += place * (INDEX)args.strides[8 * k + axis];
            rest = next;
        }
        global STORAGE(T) *to = y + args.offsets[0] + at[0];
        global const STORAGE(T) *p = a + args.offsets[1] + at[1];
        global const STORAGE(T) *q = b + args.offsets[2] + at[2];
        const MATH(T) a0 = LOAD(T, p, 0), a1 = LOAD(T, p, args.steps[1]);
        const MATH(T) a2 = LOAD(T, p, 2 * args.steps[1]);
        const MATH(T) b0 = LOAD(T, q, 0), b1 = LOAD(T, q, args.steps[2]);
        const MATH(T) b2 = LOAD(T, q, 2 * args.steps[2]);
        STORE(T, to, 0, difference(a1, b2, a2, b1));
        STORE(T, to, args.steps[0], difference(a2, b0, a0, b2));
        STORE(T, to, 2 * args.steps[0], difference(a0, b1, a1, b0));
    }
}
