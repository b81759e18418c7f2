#pragma OPENCL FP_CONTRACT OFF
// scatter_atomic: x[.., index[..j..], ..] = update(x[..], value[..j..]), in place and in any order:
// a work-item does one value. Only for callers who asked for that (CBK_INDEX_UNORDERED): sums and
// products of floats differ from run to run.
//
// Integers have atomics for add, min and max. All else compares and swaps the 32 bits of an element
// until nobody was faster, but for additions of f32 on NVIDIA devices.
//
// Defines
//   UPDATE    update_add update_mul update_min update_max; ADDS: it is update_add
//   X, V      dtypes of x (f32 i32 u32) and value
//   CALL      atomic_add, atomic_min or atomic_max, where the device has that for X
//   NVIDIA    the device is one of NVIDIA's
//   those of index_ops.clh
#include "types.clh"
#include "index_ops.clh"
#include "update_ops.clh"
#include "nvidia_atomic.clh"

struct atomic_args {
    struct index_axes axes; // of value, with the indexed one; y: value's strides
    long x_offset, index_offset, value_offset;
    long x_step, length;    // of the indexed axis of x
};

static inline MATH(X) from_bits(uint bits) {
    union {
        uint bits;
        MATH(X) value;
    } both = {bits};
    return both.value;
}
static inline uint to_bits(MATH(X) value) {
    union {
        MATH(X) value;
        uint bits;
    } both = {value};
    return both.bits;
}

static inline void update_one(global STORAGE(X) *p, MATH(X) value) {
#if defined(CALL)
    CALL((volatile global STORAGE(X) *)p, value);
#elif defined(NVIDIA) && defined(ADDS)
    nvidia_add_f32(p, value);
#else
    volatile global uint *word = (volatile global uint *)p;
    uint seen = *word, expected;
    do {
        expected = seen;
        const MATH(X) old = from_bits(expected);
        seen = atomic_cmpxchg(word, expected, to_bits(UPDATE(old, value)));
    } while (seen != expected);
#endif
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
scatter_atomic(global STORAGE(X) *restrict x, global const STORAGE(I) *restrict index,
               global const STORAGE(V) *restrict value, const struct atomic_args args,
               global int *flag, uint operation) {
    const INDEX i = (INDEX)get_global_id(0);
    if (i >= args.axes.count) return;
    const struct places at = locate(&args.axes, i);
    const long place =
        read_index(index, args.index_offset + at.index, args.length, flag, operation);
    if (place < 0) return;
    update_one(x + args.x_offset + at.x + place * args.x_step,
               (MATH(X))LOAD(V, value, args.value_offset + at.y));
}
