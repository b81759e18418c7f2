/// axes.c: merging the axes that a row kernel walks along, or does not.
#include "axes.h"

/// Kernels compute with 32 bits up to here: the last group may reach beyond the count.
#define INDEX_LIMIT (INT32_MAX - (1 << 16))

static int64_t magnitude(int64_t value) {
    return value < 0 ? -value : value;
}

void cbk_ocl_axes_init(struct cbk_ocl_axes *axes) {
    *axes = (struct cbk_ocl_axes){.count = 1};
}

void cbk_ocl_axes_add(struct cbk_ocl_axes *axes, int64_t length, int64_t x, int64_t y) {
    axes->count *= length;
    if (length == 1) return;
    if (axes->rank > 0) {
        int64_t top = axes->rank - 1, inner = axes->shape[top];
        if (x == axes->x[top] * inner && y == axes->y[top] * inner) {
            axes->shape[top] *= length;
            return;
        }
    }
    axes->shape[axes->rank] = length;
    axes->x[axes->rank] = x;
    axes->y[axes->rank] = y;
    axes->rank++;
}

static bool comes_before(int64_t a, int64_t b) {
    return a != 0 && (b == 0 || magnitude(a) < magnitude(b));
}

void cbk_ocl_axes_sort(struct cbk_ocl_axes *axes) {
    struct cbk_ocl_axes from = *axes;
    uint32_t order[CBK_MAX_RANK];
    for (uint32_t i = 0; i < from.rank; i++) {
        uint32_t place = i;
        for (; place > 0 && comes_before(from.x[i], from.x[order[place - 1]]); place--)
            order[place] = order[place - 1];
        order[place] = i;
    }
    cbk_ocl_axes_init(axes);
    for (uint32_t i = 0; i < from.rank; i++)
        cbk_ocl_axes_add(axes, from.shape[order[i]], from.x[order[i]], from.y[order[i]]);
    axes->count = from.count;
}

bool cbk_ocl_axes_are_long(const struct cbk_ocl_axes *axes) {
    int64_t x_span = 0, y_span = 0;
    for (int64_t d = 0; d < axes->rank; d++) {
        x_span += (axes->shape[d] - 1) * magnitude(axes->x[d]);
        y_span += (axes->shape[d] - 1) * magnitude(axes->y[d]);
    }
    return axes->count > INDEX_LIMIT || x_span > INDEX_LIMIT || y_span > INDEX_LIMIT;
}

bool cbk_ocl_axes_are_aligned(const struct cbk_ocl_axes *axes, int64_t lanes) {
    for (int64_t d = 0; d < axes->rank; d++)
        if (axes->x[d] % lanes != 0) return false;
    return true;
}

bool cbk_ocl_axes_are_aligned_y(const struct cbk_ocl_axes *axes, int64_t lanes) {
    for (int64_t d = 0; d < axes->rank; d++)
        if (axes->y[d] % lanes != 0) return false;
    return true;
}

void cbk_ocl_axes_beside(const cbk_tensor_meta *x, const cbk_tensor_meta *y, uint32_t axis,
                         struct cbk_ocl_axes *out) {
    cbk_ocl_axes_init(out);
    for (uint32_t i = x->rank; i-- > 0;)
        if (i != axis) cbk_ocl_axes_add(out, x->shape[i], x->strides[i], y->strides[i]);
    cbk_ocl_axes_sort(out);
}

void cbk_ocl_move_last(const cbk_tensor_meta *from, uint32_t axis, cbk_tensor_meta *out) {
    *out = *from;
    for (uint32_t i = axis; i + 1 < from->rank; i++) {
        out->shape[i] = from->shape[i + 1];
        out->strides[i] = from->strides[i + 1];
    }
    out->shape[from->rank - 1] = from->shape[axis];
    out->strides[from->rank - 1] = from->strides[axis];
}

bool cbk_ocl_is_dense(const cbk_tensor_meta *meta) {
    int64_t stride = 1;
    for (uint32_t i = meta->rank; i-- > 0;) {
        if (meta->shape[i] != 1 && meta->strides[i] != stride) return false;
        stride *= meta->shape[i];
    }
    return true;
}

void cbk_ocl_axes_in_order(const cbk_tensor_meta *x, uint32_t axis, struct cbk_ocl_axes *out) {
    int64_t rows = 1;
    cbk_ocl_axes_init(out);
    for (uint32_t i = x->rank; i-- > 0;) {
        if (i == axis) continue;
        cbk_ocl_axes_add(out, x->shape[i], x->strides[i], rows);
        rows *= x->shape[i];
    }
}
