// meta.c: shapes, strides and sizes.
#include "core.h"

#include <string.h>

bool cbk_mul_i64(int64_t a, int64_t b, int64_t *out) {
#if defined(__GNUC__)
    return !__builtin_mul_overflow(a, b, out);
#else
    if (a != 0 && b > INT64_MAX / a) return false;
    *out = a * b;
    return true;
#endif
}

cbk_status cbk_check_storable(cbk_dtype dtype) {
    if (cbk_dtype_size(dtype) != 0) return CBK_OK;
    if (dtype == CBK_DTYPE_QUANT) {
        return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "dtype quant cannot be made by this operation");
    }
    return cbk_fail(CBK_ERROR_DTYPE, 0, "dtype %s (%u) cannot be stored", cbk_dtype_name(dtype),
                    (unsigned)dtype);
}

cbk_status cbk_check_axis(int64_t axis, uint32_t rank, int32_t *out_axis) {
    int64_t counted = axis < 0 ? axis + (int64_t)rank : axis;
    if (counted < 0 || counted >= (int64_t)rank) {
        return cbk_fail(CBK_ERROR_AXIS, 0, "axis %lld of a tensor of rank %u", (long long)axis,
                        (unsigned)rank);
    }
    *out_axis = (int32_t)counted;
    return CBK_OK;
}

void cbk_meta_row_major(cbk_tensor_meta *meta) {
    int64_t stride = 1;
    for (uint32_t i = meta->rank; i-- > 0;) {
        meta->strides[i] = stride;
        stride *= meta->shape[i] > 1 ? meta->shape[i] : 1;
    }
}

static cbk_status fail_size(const cbk_tensor_meta *meta) {
    char text[CBK_SHAPE_TEXT];
    return cbk_fail(CBK_ERROR_OVERFLOW, 0, "%s elements of %s are more than 2^63 - 1 bytes",
                    cbk_shape_text(meta->rank, meta->shape, text), cbk_dtype_name(meta->dtype));
}

cbk_status cbk_meta_init(cbk_tensor_meta *meta, cbk_dtype dtype, uint32_t rank,
                         const int64_t *shape) {
    if (rank > CBK_MAX_RANK) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "rank %u is over %d", (unsigned)rank, CBK_MAX_RANK);
    }
    meta->struct_size = (uint32_t)sizeof *meta;
    meta->dtype = dtype;
    meta->rank = rank;
    meta->layout = 0;
    meta->offset = 0;
    meta->quant = NULL;
    // Strides are products that leave out zero lengths, so the bound does too.
    int64_t bytes = cbk_dtype_size(dtype);
    int64_t count = 1;
    bool fits = true;
    for (uint32_t i = 0; i < CBK_MAX_RANK; i++) {
        int64_t length = i < rank ? shape[i] : 1;
        if (length < 0) {
            return cbk_fail(CBK_ERROR_SHAPE, 0, "length %lld of axis %u is negative",
                            (long long)length, (unsigned)i);
        }
        meta->shape[i] = length;
        meta->strides[i] = 0;
        if (length > 1) fits = fits && cbk_mul_i64(bytes, length, &bytes);
        count = fits ? count * length : 0;
    }
    meta->element_count = count;
    if (!fits) return fail_size(meta);
    cbk_meta_row_major(meta);
    return CBK_OK;
}

bool cbk_meta_is_contiguous(const cbk_tensor_meta *meta) {
    if (meta->layout != 0) return false;
    if (meta->element_count <= 1) return true;
    int64_t stride = 1;
    for (uint32_t i = meta->rank; i-- > 0;) {
        if (meta->shape[i] == 1) continue;
        if (meta->strides[i] != stride) return false;
        stride *= meta->shape[i];
    }
    return true;
}

bool cbk_meta_same_shape(const cbk_tensor_meta *a, const cbk_tensor_meta *b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

// ---- output strides of pointwise rows -----------------------------------------------------------

/// Dense strides for meta's shape in the order of axes that `model` has; false if `model` is not
/// dense in that order.
static bool dense_like(const cbk_tensor_meta *model, cbk_tensor_meta *meta) {
    uint32_t order[CBK_MAX_RANK]; // innermost first
    uint32_t count = 0;
    for (uint32_t i = model->rank; i-- > 0;) {
        if (model->shape[i] == 1) continue;
        uint32_t place = count++;
        while (place > 0 && model->strides[order[place - 1]] > model->strides[i]) {
            order[place] = order[place - 1];
            place--;
        }
        order[place] = i;
    }
    int64_t stride = 1;
    for (uint32_t k = 0; k < count; k++) {
        if (model->strides[order[k]] != stride) return false;
        meta->strides[order[k]] = stride;
        stride *= model->shape[order[k]];
    }
    // An axis of length 1 takes the stride that a longer one in its place would have.
    for (uint32_t i = model->rank; i-- > 0;) {
        if (model->shape[i] != 1) continue;
        meta->strides[i] = i + 1 < model->rank ? meta->strides[i + 1] * meta->shape[i + 1] : 1;
    }
    return true;
}

static bool same_order(const cbk_tensor_meta *input, const cbk_tensor_meta *output) {
    for (uint32_t i = 0; i < output->rank; i++) {
        if (output->shape[i] != 1 && input->strides[i] != output->strides[i]) return false;
    }
    return true;
}

void cbk_meta_pointwise_strides(cbk_tensor_meta *output, cbk_tensor *const *inputs,
                                uint32_t count) {
    if (output->element_count <= 1) return;
    const cbk_tensor_meta *model = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const cbk_tensor_meta *input = &inputs[i]->meta;
        if (!cbk_meta_same_shape(input, output)) continue;
        if (model == NULL) {
            model = input;
            if (cbk_meta_is_contiguous(input)) continue; // output is row-major already
            if (dense_like(input, output)) continue;
        } else if (same_order(input, output)) {
            continue;
        }
        cbk_meta_row_major(output);
        return;
    }
}
