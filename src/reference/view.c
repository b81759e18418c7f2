// view.c: tensors as (shape, strides, offset) over their storage.

#include "reference.h"

#include <string.h>

struct cbk_ref_view cbk_ref_view_of(const cbk_tensor *tensor) {
    const cbk_tensor_meta *meta = cbk_tensor_metadata(tensor);
    const struct cbk_ref_storage *storage = cbk_tensor_storage(tensor);
    struct cbk_ref_view view = {
        .data = storage ? storage->data : NULL,
        .dtype = meta->dtype,
        .rank = meta->rank,
        .count = meta->element_count,
        .offset = meta->offset,
    };
    memcpy(view.shape, meta->shape, sizeof view.shape);
    memcpy(view.strides, meta->strides, sizeof view.strides);
    return view;
}

static void set_shape(struct cbk_ref_view *view, uint32_t rank, const int64_t *shape) {
    view->rank = rank;
    view->count = 1;
    for (uint32_t axis = 0; axis < rank; axis++) {
        view->shape[axis] = shape[axis];
        view->count *= shape[axis];
    }
}

struct cbk_ref_view cbk_ref_broadcast(const struct cbk_ref_view *view, uint32_t rank,
                                      const int64_t *shape) {
    struct cbk_ref_view result = {.data = view->data, .dtype = view->dtype, .offset = view->offset};
    set_shape(&result, rank, shape);
    uint32_t added = rank - view->rank;
    for (uint32_t axis = 0; axis < view->rank; axis++)
        result.strides[added + axis] = view->shape[axis] == 1 ? 0 : view->strides[axis];
    return result;
}

struct cbk_ref_view cbk_ref_scalar_view(cbk_scalar scalar, cbk_dtype dtype, uint32_t rank,
                                        const int64_t *shape, uint64_t *memory) {
    struct cbk_ref_view result = {.data = (char *)memory, .dtype = dtype};
    cbk_ref_store(memory, dtype, 0, cbk_ref_scalar_value(scalar));
    set_shape(&result, rank, shape);
    return result;
}

struct cbk_ref_view cbk_ref_sub_view(const struct cbk_ref_view *view, uint32_t axes) {
    struct cbk_ref_view result = {
        .data = view->data, .dtype = view->dtype, .offset = view->offset, .count = 1};
    for (uint32_t axis = 0; axis < view->rank; axis++) {
        if (!(axes >> axis & 1)) continue;
        result.shape[result.rank] = view->shape[axis];
        result.strides[result.rank++] = view->strides[axis];
        result.count *= view->shape[axis];
    }
    return result;
}

static int64_t clamp_position(int64_t position, int64_t length) {
    if (position < 0) position += length;
    return position < 0 ? 0 : position > length ? length : position;
}

struct cbk_ref_view cbk_ref_slice_view(const struct cbk_ref_view *view,
                                       const cbk_slice_params *params) {
    struct cbk_ref_view result = *view;
    result.count = 1;
    for (uint32_t axis = 0; axis < view->rank; axis++) {
        if (axis < params->axis_count) {
            int64_t start = clamp_position(params->start[axis], view->shape[axis]);
            int64_t stop = clamp_position(params->stop[axis], view->shape[axis]);
            int64_t step = params->step[axis] == 0 ? 1 : params->step[axis];
            // Steps past the whole range take one element; the bound keeps the products small.
            int64_t range = stop > start ? stop - start : 0;
            int64_t stride = step > range ? range : step < -range ? -range : step;
            int64_t width = stride < 0 ? -stride : stride;
            result.shape[axis] = width ? (range + width - 1) / width : 0;
            result.strides[axis] = view->strides[axis] * stride;
            if (range) result.offset += view->strides[axis] * (step > 0 ? start : stop - 1);
        }
        result.count *= result.shape[axis];
    }
    return result;
}

int64_t cbk_ref_at(const struct cbk_ref_view *view, int64_t i) {
    int64_t at = view->offset;
    for (uint32_t axis = view->rank; axis-- > 0;) {
        at += i % view->shape[axis] * view->strides[axis];
        i /= view->shape[axis];
    }
    return at;
}

void cbk_ref_coordinates(const struct cbk_ref_view *view, int64_t i, int64_t *coordinates) {
    for (uint32_t axis = view->rank; axis-- > 0;) {
        coordinates[axis] = i % view->shape[axis];
        i /= view->shape[axis];
    }
}

bool cbk_ref_is_true(const struct cbk_ref_view *view, int64_t at) {
    struct cbk_ref_value value = cbk_ref_load(view->data, view->dtype, at);
    return value.kind == CBK_REF_FLOAT ? !(value.f == 0) : value.i != 0;
}

void cbk_ref_copy_element(const struct cbk_ref_view *to, int64_t to_at,
                          const struct cbk_ref_view *from, int64_t from_at) {
    int64_t size = cbk_dtype_size(to->dtype);
    char *target = to->data + to_at * size;
    const char *source = from->data + from_at * size;
    if (target != source) memcpy(target, source, (size_t)size);
}

void cbk_ref_copy_view(const struct cbk_ref_view *to, const struct cbk_ref_view *from) {
    for (int64_t i = 0; i < to->count; i++)
        cbk_ref_copy_element(to, cbk_ref_at(to, i), from, cbk_ref_at(from, i));
}
