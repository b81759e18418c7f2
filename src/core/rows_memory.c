// rows_memory.c: creation and moves.
#include "rows.h"

// ---- creation -----------------------------------------------------------------------------------

static cbk_status infer_create(struct cbk_inference *inference) {
    cbk_create_params *params = &inference->params.create;
    const bool is_arange = inference->info->opcode == CBK_OP_ARANGE;
    if (params->dtype == CBK_DTYPE_NONE) {
        params->dtype = cbk_default_of(is_arange ? &inference->device->default_int
                                                 : &inference->device->default_float);
    }
    if (params->value.kind == CBK_SCALAR_NONE) params->value = cbk_i(0);
    if (params->step.kind == CBK_SCALAR_NONE) params->step = cbk_i(1);
    cbk_status status = cbk_infer_scalar(&params->value, "value");
    if (status == CBK_OK) status = cbk_infer_scalar(&params->step, "step");
    if (status == CBK_OK) status = cbk_infer_dtype(inference, params->dtype);
    if (status != CBK_OK) return status;
    if (inference->info->opcode != CBK_OP_FILL && params->rank != 1) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "rank is %u, %s makes rank 1", (unsigned)params->rank,
                        inference->info->name);
    }
    return cbk_meta_init(&inference->outputs[0], params->dtype, params->rank, params->shape);
}

static const struct cbk_row create_rows[] = {
    CBK_ROW(CBK_OP_FILL, "fill", 0, sizeof(cbk_create_params), CBK_ROW_CREATES | CBK_ROW_UPDATE,
            CBK_STORED, infer_create),
    CBK_ROW(CBK_OP_ARANGE, "arange", 0, sizeof(cbk_create_params), CBK_ROW_CREATES | CBK_ROW_UPDATE,
            CBK_NUMBERS, infer_create),
    CBK_ROW(CBK_OP_EYE, "eye", 0, sizeof(cbk_eye_params), CBK_ROW_CREATES | CBK_ROW_UPDATE,
            CBK_STORED, cbk_infer_eye),
    CBK_ROW(CBK_OP_LINSPACE, "linspace", 0, sizeof(cbk_create_params),
            CBK_ROW_CREATES | CBK_ROW_UPDATE, CBK_FLOATS, infer_create),
    CBK_ROW(CBK_OP_WINDOW, "window", 0, sizeof(cbk_window_params), CBK_ROW_CREATES | CBK_ROW_UPDATE,
            CBK_FLOATS, cbk_infer_window),
};
CBK_FAMILY(cbk_create_family, create_rows);

// ---- moves --------------------------------------------------------------------------------------

static cbk_status infer_copy(struct cbk_inference *inference) {
    cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    cbk_status status = cbk_infer_dtype(inference, dtype);
    return status != CBK_OK ? status : cbk_infer_like(inference, dtype);
}

static cbk_status infer_slice_assign(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0), *value = cbk_input(inference, 1);
    cbk_tensor_meta slice = *x;
    cbk_status status = cbk_infer_same_dtype(inference, 0, 1);
    if (status == CBK_OK) {
        status = cbk_infer_slice(x, &inference->params.slice, slice.shape);
    }
    if (status != CBK_OK) return status;
    if (!cbk_meta_same_shape(&slice, value)) {
        char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_SHAPE, 0, "the slice is %s, the value %s",
                        cbk_shape_text(slice.rank, slice.shape, a),
                        cbk_shape_text(value->rank, value->shape, b));
    }
    return infer_copy(inference);
}

static cbk_status check_cat_member(const struct cbk_inference *inference, uint32_t i,
                                   int32_t axis) {
    const cbk_tensor_meta *first = cbk_input(inference, 0), *member = cbk_input(inference, i);
    cbk_status status = cbk_infer_same_dtype(inference, 0, i);
    if (status != CBK_OK) return status;
    bool fits = member->rank == first->rank;
    for (uint32_t k = 0; fits && k < first->rank; k++) {
        fits = k == (uint32_t)axis || member->shape[k] == first->shape[k];
    }
    if (fits) return CBK_OK;
    char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
    return cbk_fail(CBK_ERROR_SHAPE, 0,
                    "member 0 is %s, member %u is %s: they may differ on axis %d alone",
                    cbk_shape_text(first->rank, first->shape, a), (unsigned)i,
                    cbk_shape_text(member->rank, member->shape, b), (int)axis);
}

static cbk_status infer_cat(struct cbk_inference *inference) {
    const cbk_tensor_meta *first = cbk_input(inference, 0);
    int32_t *axis = &inference->params.axis.axis;
    cbk_status status = cbk_infer_dtype(inference, first->dtype);
    if (status == CBK_OK) status = cbk_infer_axis(inference, axis);
    if (status != CBK_OK) return status;

    int64_t shape[CBK_MAX_RANK];
    for (uint32_t i = 0; i < CBK_MAX_RANK; i++) shape[i] = first->shape[i];
    for (uint32_t i = 1; i < inference->input_count; i++) {
        status = check_cat_member(inference, i, *axis);
        if (status != CBK_OK) return status;
        int64_t length = cbk_input(inference, i)->shape[*axis];
        if (length > INT64_MAX - shape[*axis]) {
            return cbk_fail(CBK_ERROR_OVERFLOW, 0, "axis %d would be longer than 2^63 - 1",
                            (int)*axis);
        }
        shape[*axis] += length;
    }
    return cbk_meta_init(&inference->outputs[0], first->dtype, first->rank, shape);
}

static cbk_status fail_pad(const struct cbk_inference *inference, uint32_t axis, const char *rule) {
    const cbk_pad_params *params = &inference->params.pad;
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    return cbk_fail(CBK_ERROR_SHAPE, 0, "axis %u of length %lld, %lld before and %lld after: %s",
                    (unsigned)axis, (long long)(axis < x->rank ? x->shape[axis] : 0),
                    (long long)params->before[axis], (long long)params->after[axis], rule);
}

static cbk_status check_pad_axis(const struct cbk_inference *inference, uint32_t axis,
                                 int64_t *out_length) {
    const cbk_pad_params *params = &inference->params.pad;
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    const int64_t before = params->before[axis], after = params->after[axis];
    if (axis >= x->rank) {
        return before == 0 && after == 0 ? CBK_OK : fail_pad(inference, axis, "there is no axis");
    }
    const int64_t length = x->shape[axis], longest = before > after ? before : after;
    if (before < 0 || after < 0) return fail_pad(inference, axis, "nothing can be taken away");
    if (params->mode == CBK_PAD_REFLECT && longest > 0 && longest >= length) {
        return fail_pad(inference, axis, "a reflection is shorter than the axis");
    }
    if (params->mode != CBK_PAD_CONSTANT && longest > 0 && length == 0) {
        return fail_pad(inference, axis, "there is nothing to repeat");
    }
    if (before > INT64_MAX - length || after > INT64_MAX - length - before) {
        return cbk_fail(CBK_ERROR_OVERFLOW, 0, "axis %u would be longer than 2^63 - 1",
                        (unsigned)axis);
    }
    *out_length = before + length + after;
    return CBK_OK;
}

static cbk_status infer_pad(struct cbk_inference *inference) {
    cbk_pad_params *params = &inference->params.pad;
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    int64_t shape[CBK_MAX_RANK];
    if (params->mode > CBK_PAD_CIRCULAR) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "mode %u is unknown",
                        (unsigned)params->mode);
    }
    if (params->value.kind == CBK_SCALAR_NONE) params->value = cbk_i(0);
    cbk_status status = cbk_infer_scalar(&params->value, "value");
    if (status == CBK_OK) status = cbk_infer_dtype(inference, x->dtype);
    for (uint32_t i = 0; i < CBK_MAX_RANK && status == CBK_OK; i++) {
        status = check_pad_axis(inference, i, &shape[i]);
    }
    if (status != CBK_OK) return status;
    return cbk_meta_init(&inference->outputs[0], x->dtype, x->rank, shape);
}

/// Shifts become 0 <= shift < length, the axes different and non-negative.
static cbk_status normalise_roll(const cbk_tensor_meta *x, cbk_roll_params *params) {
    bool is_named[CBK_MAX_RANK] = {false};
    if (params->axis_count > x->rank) {
        return cbk_fail(CBK_ERROR_AXIS, 0, "%u axes are rolled of a tensor of rank %u",
                        (unsigned)params->axis_count, (unsigned)x->rank);
    }
    const bool all = params->axis_count == 0;
    if (all) params->axis_count = x->rank;
    for (uint32_t i = 0; i < params->axis_count; i++) {
        int32_t *axis = &params->axes[i];
        cbk_status status =
            all ? cbk_check_axis(i, x->rank, axis) : cbk_check_axis(*axis, x->rank, axis);
        if (status != CBK_OK) return status;
        if (is_named[*axis]) {
            return cbk_fail(CBK_ERROR_AXIS, 0, "axis %d is named twice", (int)*axis);
        }
        is_named[*axis] = true;
        const int64_t length = x->shape[*axis];
        params->shifts[i] = length == 0 ? 0 : params->shifts[i] % length;
        if (params->shifts[i] < 0) params->shifts[i] += length;
    }
    return CBK_OK;
}

static cbk_status infer_roll(struct cbk_inference *inference) {
    cbk_status status = normalise_roll(cbk_input(inference, 0), &inference->params.roll);
    return status != CBK_OK ? status : infer_copy(inference);
}

static const struct cbk_row move_rows[] = {
    CBK_ROW(CBK_OP_COPY, "copy", 1, 0, CBK_ROW_UPDATE | CBK_ROW_DIFFERENTIABLE, CBK_STORED,
            infer_copy),
    CBK_ROW(CBK_OP_SLICE_ASSIGN, "slice_assign", 2, sizeof(cbk_slice_params),
            CBK_ROW_UPDATE | CBK_ROW_DIFFERENTIABLE, CBK_STORED, infer_slice_assign),
    [CBK_OP_CAT & 0xff] = {.info = {.struct_size = sizeof(cbk_op_info),
                                    .opcode = CBK_OP_CAT,
                                    .name = "cat",
                                    .flags = CBK_ROW_VARIADIC | CBK_ROW_DIFFERENTIABLE,
                                    .min_inputs = 1,
                                    .max_inputs = UINT32_MAX,
                                    .output_count = 1,
                                    .params_size = sizeof(cbk_axis_params),
                                    .dtypes = CBK_STORED},
                           .infer = infer_cat},
    CBK_ROW(CBK_OP_PAD, "pad", 1, sizeof(cbk_pad_params), CBK_ROW_DIFFERENTIABLE, CBK_STORED,
            infer_pad),
    CBK_ROW(CBK_OP_ROLL, "roll", 1, sizeof(cbk_roll_params), CBK_ROW_DIFFERENTIABLE, CBK_STORED,
            infer_roll),
    CBK_ROW(CBK_OP_TRIL, "tril", 1, sizeof(cbk_offset_params),
            CBK_ROW_UPDATE | CBK_ROW_DIFFERENTIABLE, CBK_STORED, cbk_infer_triangle),
    CBK_ROW(CBK_OP_TRIU, "triu", 1, sizeof(cbk_offset_params),
            CBK_ROW_UPDATE | CBK_ROW_DIFFERENTIABLE, CBK_STORED, cbk_infer_triangle),
    CBK_ROW(CBK_OP_DIAG_EMBED, "diag_embed", 1, sizeof(cbk_offset_params), CBK_ROW_DIFFERENTIABLE,
            CBK_STORED, cbk_infer_diag_embed),
    CBK_ROW(CBK_OP_CROSS, "cross", 2, sizeof(cbk_axis_params), CBK_ROW_DIFFERENTIABLE, CBK_NUMBERS,
            cbk_infer_cross),
};
CBK_FAMILY(cbk_move_family, move_rows);
