// rows_view.c: view rows: new metadata over the input's storage. Output 0 gets strides and offset.
#include "rows.h"

#include <string.h>

/// Output 0 as the input with `rank` axes of these lengths and strides.
static cbk_status set_view(struct cbk_inference *inference, uint32_t rank, const int64_t *shape,
                           const int64_t *strides, int64_t offset) {
    cbk_tensor_meta *output = &inference->outputs[0];
    const cbk_tensor_meta *input = cbk_input(inference, 0);
    cbk_status status = cbk_infer_dtype(inference, input->dtype);
    if (status == CBK_OK) status = cbk_meta_init(output, input->dtype, rank, shape);
    if (status != CBK_OK) return status;
    if (output->element_count == 0) return CBK_OK; // no storage: row-major, offset 0
    memcpy(output->strides, strides, rank * sizeof *strides);
    output->offset = offset;
    return CBK_OK;
}

// ---- reshape, expand ----------------------------------------------------------------------------

static cbk_status fail_reshape(const cbk_tensor_meta *x, const cbk_shape_params *params,
                               const char *rule) {
    char from[CBK_SHAPE_TEXT], to[CBK_SHAPE_TEXT];
    return cbk_fail(CBK_ERROR_SHAPE, 0, "%s to %s: %s", cbk_shape_text(x->rank, x->shape, from),
                    cbk_shape_text(params->rank, params->shape, to), rule);
}

/// Replaces a -1 and checks the element count.
static cbk_status resolve_shape(const cbk_tensor_meta *x, cbk_shape_params *params) {
    int64_t known = 1;
    int32_t open = -1;
    bool fits = true;
    for (uint32_t i = 0; i < params->rank; i++) {
        if (params->shape[i] == -1) {
            if (open >= 0) return fail_reshape(x, params, "only one length may be -1");
            open = (int32_t)i;
        } else if (params->shape[i] < 0) {
            return fail_reshape(x, params, "a length is negative");
        } else if (params->shape[i] == 0) {
            known = 0;
            fits = true;
        } else if (known != 0) {
            fits = fits && cbk_mul_i64(known, params->shape[i], &known);
        }
    }
    if (open >= 0) {
        if (fits && known == 0)
            return fail_reshape(x, params, "-1 is not determined beside a 0");
        if (!fits || x->element_count % known != 0) {
            return fail_reshape(x, params, "the known lengths do not divide the element count");
        }
        params->shape[open] = x->element_count / known;
    } else if (!fits || known != x->element_count) {
        return fail_reshape(x, params, "the element counts differ");
    }
    return CBK_OK;
}

/// Strides under which x's storage shows `shape` (same count, not 0); false if there are none.
/// Groups of axes with equal products are matched; within x a group must be one run.
static bool reshape_strides(const cbk_tensor_meta *x, uint32_t rank, const int64_t *shape,
                            int64_t strides[CBK_MAX_RANK]) {
    int64_t old_shape[CBK_MAX_RANK], old_strides[CBK_MAX_RANK];
    uint32_t old_rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (x->shape[i] == 1) continue;
        old_shape[old_rank] = x->shape[i];
        old_strides[old_rank++] = x->strides[i];
    }
    uint32_t from = 0, to = 0;
    while (from < old_rank) {
        uint32_t from_end = from + 1, to_end = to + 1;
        int64_t old_count = old_shape[from], new_count = shape[to];
        while (old_count != new_count) {
            if (new_count < old_count) {
                new_count *= shape[to_end++];
            } else {
                old_count *= old_shape[from_end++];
            }
        }
        for (uint32_t i = from; i + 1 < from_end; i++) {
            if (old_strides[i] != old_strides[i + 1] * old_shape[i + 1]) return false;
        }
        int64_t stride = old_strides[from_end - 1];
        for (uint32_t i = to_end; i-- > to;) {
            strides[i] = stride;
            stride *= shape[i];
        }
        from = from_end;
        to = to_end;
    }
    for (; to < rank; to++) strides[to] = 1; // lengths of 1 are left
    return true;
}

static cbk_status infer_reshape(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    cbk_shape_params *params = &inference->params.shape;
    if (params->rank > CBK_MAX_RANK) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "rank %u is over %d", (unsigned)params->rank,
                        CBK_MAX_RANK);
    }
    cbk_status status = resolve_shape(x, params);
    if (status != CBK_OK) return status;
    int64_t strides[CBK_MAX_RANK] = {0};
    inference->needs_copy =
        x->element_count != 0 && !reshape_strides(x, params->rank, params->shape, strides);
    if (inference->needs_copy) {
        return cbk_meta_init(&inference->outputs[0], x->dtype, params->rank, params->shape);
    }
    return set_view(inference, params->rank, params->shape, strides, x->offset);
}

static cbk_status infer_expand(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    cbk_shape_params *params = &inference->params.shape;
    int64_t strides[CBK_MAX_RANK] = {0};
    if (params->rank > CBK_MAX_RANK || params->rank < x->rank) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "rank %u to rank %u: it must grow, up to %d",
                        (unsigned)x->rank, (unsigned)params->rank, CBK_MAX_RANK);
    }
    uint32_t added = params->rank - x->rank;
    for (uint32_t i = 0; i < params->rank; i++) {
        int64_t old = i < added ? 1 : x->shape[i - added];
        int64_t *length = &params->shape[i];
        if (*length == -1 && i >= added) *length = old;
        if (*length < 0 || (*length != old && old != 1)) {
            char from[CBK_SHAPE_TEXT], to[CBK_SHAPE_TEXT];
            return cbk_fail(CBK_ERROR_SHAPE, 0, "%s to %s: axis %u cannot go from %lld to %lld",
                            cbk_shape_text(x->rank, x->shape, from),
                            cbk_shape_text(params->rank, params->shape, to), (unsigned)i,
                            (long long)old, (long long)*length);
        }
        strides[i] = i < added || *length != old ? 0 : x->strides[i - added];
    }
    return set_view(inference, params->rank, params->shape, strides, x->offset);
}

// ---- order of axes ------------------------------------------------------------------------------

static cbk_status infer_permute(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    cbk_axes_params *params = &inference->params.axes;
    int64_t shape[CBK_MAX_RANK], strides[CBK_MAX_RANK];
    bool used[CBK_MAX_RANK] = {false};
    if (params->axis_count != x->rank) {
        return cbk_fail(CBK_ERROR_AXIS, 0, "%u axes are listed for a tensor of rank %u",
                        (unsigned)params->axis_count, (unsigned)x->rank);
    }
    for (uint32_t i = 0; i < x->rank; i++) {
        int32_t *axis = &params->axes[i];
        cbk_status status = cbk_check_axis(*axis, x->rank, axis);
        if (status != CBK_OK) return status;
        if (used[*axis]) return cbk_fail(CBK_ERROR_AXIS, 0, "axis %d is named twice", (int)*axis);
        used[*axis] = true;
        shape[i] = x->shape[*axis];
        strides[i] = x->strides[*axis];
    }
    return set_view(inference, x->rank, shape, strides, x->offset);
}

static cbk_status infer_transpose(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    cbk_axes_params *params = &inference->params.axes;
    if (params->axis_count == 0) {
        params->axis_count = 2, params->axes[0] = -2, params->axes[1] = -1;
    }
    if (params->axis_count != 2) {
        return cbk_fail(CBK_ERROR_AXIS, 0, "%u axes are listed, two can be swapped",
                        (unsigned)params->axis_count);
    }
    for (int i = 0; i < 2; i++) {
        cbk_status status = cbk_check_axis(params->axes[i], x->rank, &params->axes[i]);
        if (status != CBK_OK) return status;
    }
    int64_t shape[CBK_MAX_RANK], strides[CBK_MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    memcpy(strides, x->strides, sizeof strides);
    int32_t a = params->axes[0], b = params->axes[1];
    shape[a] = x->shape[b], shape[b] = x->shape[a];
    strides[a] = x->strides[b], strides[b] = x->strides[a];
    return set_view(inference, x->rank, shape, strides, x->offset);
}

// ---- ranges -------------------------------------------------------------------------------------

static cbk_status infer_slice(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    cbk_slice_params *params = &inference->params.slice;
    int64_t shape[CBK_MAX_RANK], strides[CBK_MAX_RANK];
    cbk_status status = cbk_infer_slice(x, params, shape);
    if (status != CBK_OK) return status;
    int64_t offset = x->offset;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (shape[i] == 0) continue;
        int64_t first = params->step[i] < 0 ? params->stop[i] - 1 : params->start[i];
        offset += first * x->strides[i];
        // With one element the step, which may be huge, has no say.
        strides[i] = shape[i] > 1 ? x->strides[i] * params->step[i] : x->strides[i];
    }
    return set_view(inference, x->rank, shape, strides, offset);
}

/// Marks the listed axes; count 0 marks all and fills the list.
static cbk_status mark_axes(cbk_axes_params *params, uint32_t rank, bool marked[CBK_MAX_RANK]) {
    if (params->axis_count == 0) {
        for (uint32_t i = 0; i < rank; i++) params->axes[i] = (int32_t)i;
        params->axis_count = rank;
    }
    if (params->axis_count > rank) {
        return cbk_fail(CBK_ERROR_AXIS, 0, "%u axes are listed, there are %u",
                        (unsigned)params->axis_count, (unsigned)rank);
    }
    for (uint32_t i = 0; i < params->axis_count; i++) {
        int32_t *axis = &params->axes[i];
        cbk_status status = cbk_check_axis(*axis, rank, axis);
        if (status != CBK_OK) return status;
        if (marked[*axis]) return cbk_fail(CBK_ERROR_AXIS, 0, "axis %d is named twice", (int)*axis);
        marked[*axis] = true;
    }
    return CBK_OK;
}

static cbk_status infer_flip(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    bool flipped[CBK_MAX_RANK] = {false};
    int64_t strides[CBK_MAX_RANK], offset = x->offset;
    cbk_status status = mark_axes(&inference->params.axes, x->rank, flipped);
    if (status != CBK_OK) return status;
    for (uint32_t i = 0; i < x->rank; i++) {
        strides[i] = flipped[i] ? -x->strides[i] : x->strides[i];
        if (flipped[i]) offset += (x->shape[i] - 1) * x->strides[i];
    }
    return set_view(inference, x->rank, x->shape, strides, offset);
}

static cbk_status infer_unfold(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    cbk_unfold_params *params = &inference->params.unfold;
    cbk_status status = cbk_infer_axis(inference, &params->axis);
    if (status != CBK_OK) return status;
    if (params->step == 0) params->step = 1;
    if (params->size < 0 || params->step < 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "size %lld or step %lld is negative",
                        (long long)params->size, (long long)params->step);
    }
    if (x->rank == CBK_MAX_RANK) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "a tensor of rank %u has no room for the window's axis",
                        (unsigned)x->rank);
    }
    int64_t shape[CBK_MAX_RANK], strides[CBK_MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    memcpy(strides, x->strides, sizeof strides);
    int64_t length = x->shape[params->axis], windows = 0;
    if (params->size <= length) windows = (length - params->size) / params->step + 1;
    shape[params->axis] = windows;
    if (windows > 1) strides[params->axis] *= params->step;
    shape[x->rank] = params->size;
    strides[x->rank] = x->strides[params->axis];
    return set_view(inference, x->rank + 1, shape, strides, x->offset);
}

static cbk_status infer_diagonal(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    cbk_diagonal_params *params = &inference->params.diagonal;
    if (params->axis1 == 0 && params->axis2 == 0) params->axis1 = -2, params->axis2 = -1;
    cbk_status status = cbk_check_axis(params->axis1, x->rank, &params->axis1);
    if (status == CBK_OK) status = cbk_check_axis(params->axis2, x->rank, &params->axis2);
    if (status != CBK_OK) return status;
    if (params->axis1 == params->axis2) {
        return cbk_fail(CBK_ERROR_AXIS, 0, "both axes are %d", (int)params->axis1);
    }
    int64_t rows = x->shape[params->axis1], columns = x->shape[params->axis2];
    int64_t row = 0, column = 0; // of the diagonal's first element
    if (params->offset >= 0) {
        column = params->offset < columns ? params->offset : columns;
    } else {
        row = params->offset > -rows ? -params->offset : rows;
    }
    int64_t shape[CBK_MAX_RANK], strides[CBK_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i == (uint32_t)params->axis1 || i == (uint32_t)params->axis2) continue;
        shape[rank] = x->shape[i];
        strides[rank++] = x->strides[i];
    }
    shape[rank] = rows - row < columns - column ? rows - row : columns - column;
    strides[rank++] = x->strides[params->axis1] + x->strides[params->axis2];
    int64_t offset =
        x->offset + row * x->strides[params->axis1] + column * x->strides[params->axis2];
    return set_view(inference, rank, shape, strides, offset);
}

// ---- axes of length 1 ---------------------------------------------------------------------------

static cbk_status infer_squeeze(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    cbk_axes_params *params = &inference->params.axes;
    bool dropped[CBK_MAX_RANK] = {false};
    if (params->axis_count == 0) {
        for (uint32_t i = 0; i < x->rank; i++) {
            if (x->shape[i] == 1) params->axes[params->axis_count++] = (int32_t)i;
        }
    }
    if (params->axis_count != 0) {
        cbk_status status = mark_axes(params, x->rank, dropped);
        if (status != CBK_OK) return status;
    }
    int64_t shape[CBK_MAX_RANK], strides[CBK_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (dropped[i] && x->shape[i] != 1) {
            char text[CBK_SHAPE_TEXT];
            return cbk_fail(CBK_ERROR_SHAPE, 0, "axis %u of %s has length %lld, not 1", (unsigned)i,
                            cbk_shape_text(x->rank, x->shape, text), (long long)x->shape[i]);
        }
        if (dropped[i]) continue;
        shape[rank] = x->shape[i];
        strides[rank++] = x->strides[i];
    }
    return set_view(inference, rank, shape, strides, x->offset);
}

static cbk_status infer_unsqueeze(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    cbk_axes_params *params = &inference->params.axes;
    bool added[CBK_MAX_RANK] = {false};
    uint32_t rank = x->rank + params->axis_count;
    if (params->axis_count > CBK_MAX_RANK || rank > CBK_MAX_RANK) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "%u axes more than rank %u are over %d",
                        (unsigned)params->axis_count, (unsigned)x->rank, CBK_MAX_RANK);
    }
    if (params->axis_count != 0) {
        cbk_status status = mark_axes(params, rank, added);
        if (status != CBK_OK) return status;
    }
    int64_t shape[CBK_MAX_RANK], strides[CBK_MAX_RANK];
    for (uint32_t i = rank, from = x->rank; i-- > 0;) {
        if (added[i]) {
            shape[i] = 1;
            strides[i] = i + 1 < rank ? strides[i + 1] * shape[i + 1] : 1;
        } else {
            from--;
            shape[i] = x->shape[from];
            strides[i] = x->strides[from];
        }
    }
    return set_view(inference, rank, shape, strides, x->offset);
}

// ---- rows ---------------------------------------------------------------------------------------

#define VIEW(op, name, params, infer)                                                              \
    CBK_ROW(op, name, 1, sizeof(params), CBK_ROW_VIEW | CBK_ROW_DIFFERENTIABLE, CBK_STORED, infer)

static const struct cbk_row view_rows[] = {
    VIEW(CBK_OP_RESHAPE, "reshape", cbk_shape_params, infer_reshape),
    VIEW(CBK_OP_PERMUTE, "permute", cbk_axes_params, infer_permute),
    VIEW(CBK_OP_EXPAND, "expand", cbk_shape_params, infer_expand),
    VIEW(CBK_OP_SLICE, "slice", cbk_slice_params, infer_slice),
    VIEW(CBK_OP_FLIP, "flip", cbk_axes_params, infer_flip),
    VIEW(CBK_OP_UNFOLD, "unfold", cbk_unfold_params, infer_unfold),
    VIEW(CBK_OP_SQUEEZE, "squeeze", cbk_axes_params, infer_squeeze),
    VIEW(CBK_OP_UNSQUEEZE, "unsqueeze", cbk_axes_params, infer_unsqueeze),
    VIEW(CBK_OP_DIAGONAL, "diagonal", cbk_diagonal_params, infer_diagonal),
    VIEW(CBK_OP_TRANSPOSE, "transpose", cbk_axes_params, infer_transpose),
};
CBK_FAMILY(cbk_view_family, view_rows);
