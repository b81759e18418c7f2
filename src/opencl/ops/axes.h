/// axes.h: axes of one or two tensors, merged, as kernels/include/axes.clh sees them.
#ifndef CUBEBACK_OPENCL_AXES_H
#define CUBEBACK_OPENCL_AXES_H

#include "opencl.h"

/// Innermost first. The layout is that of `struct axes` in kernels/include/axes.clh.
struct cbk_ocl_axes {
    int64_t rank;
    int64_t count; ///< product of the lengths
    int64_t shape[CBK_MAX_RANK], x[CBK_MAX_RANK], y[CBK_MAX_RANK];
};

void cbk_ocl_axes_init(struct cbk_ocl_axes *axes);

/// Adds an axis around those there are; merges it with the outermost one where both operands allow
/// it, leaves it out if its length is 1.
void cbk_ocl_axes_add(struct cbk_ocl_axes *axes, int64_t length, int64_t x, int64_t y);

/// Sorts the axes by the magnitude of their x strides, innermost the smallest (a stride of 0 counts
/// as the largest), and merges again. For axes whose order does not matter.
void cbk_ocl_axes_sort(struct cbk_ocl_axes *axes);

/// All axes of x, with y's strides, but `axis`; sorted.
void cbk_ocl_axes_beside(const cbk_tensor_meta *x, const cbk_tensor_meta *y, uint32_t axis,
                         struct cbk_ocl_axes *out);

/// All axes of x but `axis` in row-major order: place i is row i. There are no y strides.
void cbk_ocl_axes_in_order(const cbk_tensor_meta *x, uint32_t axis, struct cbk_ocl_axes *out);

/// `from` with `axis` moved to the end.
void cbk_ocl_move_last(const cbk_tensor_meta *from, uint32_t axis, cbk_tensor_meta *out);

/// Row-major without gaps? Axes of length 1 have no say.
bool cbk_ocl_is_dense(const cbk_tensor_meta *meta);

/// True if offsets within these axes, or their count, do not fit 31 bits.
bool cbk_ocl_axes_are_long(const struct cbk_ocl_axes *axes);

/// True if x's offset of every place is a multiple of `lanes` elements.
bool cbk_ocl_axes_are_aligned(const struct cbk_ocl_axes *axes, int64_t lanes);
/// The same of y's.
bool cbk_ocl_axes_are_aligned_y(const struct cbk_ocl_axes *axes, int64_t lanes);

/// Least power of two that is not below `value` (1 for 0).
static inline int64_t cbk_ocl_power_of_two(int64_t value) {
    int64_t power = 1;
    while (power < value) power *= 2;
    return power;
}

static inline int64_t cbk_ocl_divide_up(int64_t value, int64_t divisor) {
    return (value + divisor - 1) / divisor;
}

/// Is an output so large that a CPU stores it past its caches?
static inline bool cbk_ocl_is_streamed(int64_t element_count, cbk_dtype dtype) {
    return element_count * (int64_t)cbk_dtype_size(dtype) >= 16 << 20;
}

static inline int64_t cbk_ocl_clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

#endif
