// rows_matrix.c: infer functions of rows about the last two axes, and of cross and windows.
#include "rows.h"

// ---- creation -----------------------------------------------------------------------------------

static cbk_status take_default_float(const struct cbk_inference *inference, cbk_dtype *dtype) {
    if (*dtype == CBK_DTYPE_NONE)
        *dtype = atomic_load_explicit(&inference->device->default_float, memory_order_relaxed);
    return cbk_infer_dtype(inference, *dtype);
}

cbk_status cbk_infer_eye(struct cbk_inference *inference) {
    cbk_eye_params *params = &inference->params.eye;
    const int64_t shape[2] = {params->rows, params->columns};
    cbk_status status = take_default_float(inference, &params->dtype);
    return status != CBK_OK ? status
                            : cbk_meta_init(&inference->outputs[0], params->dtype, 2, shape);
}

cbk_status cbk_infer_window(struct cbk_inference *inference) {
    cbk_window_params *params = &inference->params.window;
    if (params->kind > CBK_WINDOW_BLACKMAN || params->symmetric > 1) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "window %u with symmetric %u is unknown",
                        (unsigned)params->kind, (unsigned)params->symmetric);
    }
    cbk_status status = take_default_float(inference, &params->dtype);
    if (status != CBK_OK) return status;
    return cbk_meta_init(&inference->outputs[0], params->dtype, 1, &params->length);
}

// ---- the last two axes --------------------------------------------------------------------------

cbk_status cbk_infer_triangle(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    cbk_status status = cbk_infer_dtype(inference, x->dtype);
    if (status != CBK_OK) return status;
    if (x->rank < 2) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "a tensor of rank %u has no last two axes",
                        (unsigned)x->rank);
    }
    return cbk_infer_like(inference, x->dtype);
}

cbk_status cbk_infer_diag_embed(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    const int64_t offset = inference->params.offset.offset;
    int64_t shape[CBK_MAX_RANK] = {0};
    cbk_status status = cbk_infer_dtype(inference, x->dtype);
    if (status != CBK_OK) return status;
    if (x->rank < 1 || x->rank == CBK_MAX_RANK) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "x has rank %u: 1 to %d can become one more",
                        (unsigned)x->rank, CBK_MAX_RANK - 1);
    }
    const int64_t length = x->shape[x->rank - 1];
    const uint64_t size = offset < 0 ? 0 - (uint64_t)offset : (uint64_t)offset;
    if (size > (uint64_t)(INT64_MAX - length)) {
        return cbk_fail(CBK_ERROR_OVERFLOW, 0, "offset %lld of a diagonal of %lld elements",
                        (long long)offset, (long long)length);
    }
    for (uint32_t i = 0; i + 1 < x->rank; i++) shape[i] = x->shape[i];
    shape[x->rank - 1] = shape[x->rank] = length + (int64_t)size;
    return cbk_meta_init(&inference->outputs[0], x->dtype, x->rank + 1, shape);
}

// ---- cross --------------------------------------------------------------------------------------

/// Does the operand itself have length 3 along this axis of the broadcast shape?
static bool has_vectors(const cbk_tensor_meta *operand, uint32_t rank, int32_t axis) {
    const uint32_t missing = rank - operand->rank;
    return (uint32_t)axis >= missing && operand->shape[(uint32_t)axis - missing] == 3;
}

cbk_status cbk_infer_cross(struct cbk_inference *inference) {
    const cbk_tensor_meta *a = cbk_input(inference, 0), *b = cbk_input(inference, 1);
    int32_t *axis = &inference->params.axis.axis;
    cbk_status status = cbk_infer_same_dtype(inference, 0, 1);
    if (status == CBK_OK) status = cbk_infer_dtype(inference, a->dtype);
    if (status == CBK_OK) status = cbk_infer_pointwise(inference, a->dtype);
    if (status != CBK_OK) return status;
    cbk_tensor_meta *out = &inference->outputs[0];
    cbk_meta_row_major(out);
    status = cbk_check_axis(*axis, out->rank, axis);
    if (status != CBK_OK) return status;
    if (has_vectors(a, out->rank, *axis) && has_vectors(b, out->rank, *axis)) return CBK_OK;
    char a_text[CBK_SHAPE_TEXT], b_text[CBK_SHAPE_TEXT];
    return cbk_fail(CBK_ERROR_SHAPE, 0, "a is %s, b is %s: axis %d must have length 3 in both",
                    cbk_shape_text(a->rank, a->shape, a_text),
                    cbk_shape_text(b->rank, b->shape, b_text), (int)*axis);
}
