// infer.c: the checks that many rows share.
#include "rows.h"

static const char *set_text(uint64_t set) {
    static const struct {
        uint64_t set;
        const char *text;
    } names[] = {
        {CBK_FLOATS, "floats"},
        {CBK_INTS, "ints"},
        {CBK_BOOLS, "bools"},
        {CBK_NUMBERS, "floats and ints"},
        {CBK_INTS | CBK_BOOLS, "ints and bools"},
        {CBK_NUMBERS | CBK_SMALL_FLOATS, "floats, 8-bit floats and ints"},
        {CBK_COMPUTED, "floats, ints and bools"},
        {CBK_STORED, "floats, 8-bit floats, ints and bools"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].set == set) return names[i].text;
    }
    return "some dtypes";
}

cbk_status cbk_infer_dtype_in(cbk_dtype dtype, uint64_t set, const char *what) {
    if (cbk_dtype_in(dtype, set)) return CBK_OK;
    return cbk_fail(CBK_ERROR_DTYPE, 0, "%s is %s (%u); accepted are %s", what,
                    cbk_dtype_name(dtype), (unsigned)dtype, set_text(set));
}

cbk_status cbk_infer_dtype(const struct cbk_inference *inference, cbk_dtype dtype) {
    if (cbk_dtype_in(dtype, inference->info->dtypes)) return CBK_OK;
    return cbk_infer_dtype_in(dtype, inference->info->dtypes, "dtype");
}

cbk_status cbk_infer_same_dtype(const struct cbk_inference *inference, uint32_t i, uint32_t j) {
    cbk_dtype a = cbk_input(inference, i)->dtype, b = cbk_input(inference, j)->dtype;
    if (a == b) return CBK_OK;
    return cbk_fail(CBK_ERROR_DTYPE, 0, "input %u is %s, input %u is %s: dtypes must agree",
                    (unsigned)i, cbk_dtype_name(a), (unsigned)j, cbk_dtype_name(b));
}

cbk_status cbk_infer_broadcast(const struct cbk_inference *inference, uint32_t i, uint32_t *rank,
                               int64_t shape[CBK_MAX_RANK]) {
    const cbk_tensor_meta *input = cbk_input(inference, i);
    if (input->rank > *rank) {
        uint32_t added = input->rank - *rank;
        for (uint32_t k = *rank; k-- > 0;) shape[k + added] = shape[k];
        for (uint32_t k = 0; k < added; k++) shape[k] = 1;
        *rank = input->rank;
    }
    uint32_t first = *rank - input->rank;
    for (uint32_t k = 0; k < input->rank; k++) {
        int64_t length = input->shape[k];
        if (shape[first + k] == length || length == 1) continue;
        if (shape[first + k] == 1) {
            shape[first + k] = length;
            continue;
        }
        char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_SHAPE, 0,
                        "input %u is %s, those before it %s: lengths %lld and %lld of axis %u do "
                        "not broadcast",
                        (unsigned)i, cbk_shape_text(input->rank, input->shape, a),
                        cbk_shape_text(*rank, shape, b), (long long)length,
                        (long long)shape[first + k], (unsigned)(first + k));
    }
    return CBK_OK;
}

cbk_status cbk_infer_like(struct cbk_inference *inference, cbk_dtype dtype) {
    const cbk_tensor_meta *input = cbk_input(inference, 0);
    return cbk_meta_init(&inference->outputs[0], dtype, input->rank, input->shape);
}

cbk_status cbk_infer_pointwise(struct cbk_inference *inference, cbk_dtype dtype) {
    const cbk_tensor_meta *first = cbk_input(inference, 0);
    uint32_t rank = first->rank;
    int64_t shape[CBK_MAX_RANK];
    for (uint32_t i = 0; i < CBK_MAX_RANK; i++) shape[i] = first->shape[i];
    for (uint32_t i = 1; i < inference->input_count; i++) {
        cbk_status status = cbk_infer_broadcast(inference, i, &rank, shape);
        if (status != CBK_OK) return status;
    }
    cbk_status status = cbk_meta_init(&inference->outputs[0], dtype, rank, shape);
    if (status != CBK_OK) return status;
    cbk_meta_pointwise_strides(&inference->outputs[0], inference->inputs, inference->input_count);
    return CBK_OK;
}

cbk_status cbk_infer_bool(const struct cbk_inference *inference, cbk_dtype preferred,
                          cbk_dtype *in_out_dtype) {
    if (*in_out_dtype == CBK_DTYPE_NONE) {
        const cbk_tensor *given = inference->given[0];
        if (given != NULL && cbk_dtype_in(given->meta.dtype, CBK_BOOLS)) {
            *in_out_dtype = given->meta.dtype;
        } else if (cbk_dtype_in(preferred, CBK_BOOLS)) {
            *in_out_dtype = preferred;
        } else {
            *in_out_dtype =
                atomic_load_explicit(&inference->device->default_bool, memory_order_relaxed);
        }
    }
    return cbk_infer_dtype_in(*in_out_dtype, CBK_BOOLS, "out_dtype");
}

cbk_status cbk_infer_int(const struct cbk_inference *inference, cbk_dtype *in_out_dtype) {
    if (*in_out_dtype == CBK_DTYPE_NONE) {
        *in_out_dtype = atomic_load_explicit(&inference->device->default_int, memory_order_relaxed);
    }
    return cbk_infer_dtype_in(*in_out_dtype, CBK_INTS, "out_dtype");
}

cbk_status cbk_infer_fits(int64_t value, cbk_dtype dtype, const char *what) {
    uint32_t bits = 8 * cbk_dtype_size(dtype);
    if (cbk_dtype_in(dtype, CBK_SIGNED)) bits--;
    if (bits >= 63 || value >> bits == 0) return CBK_OK;
    return cbk_fail(CBK_ERROR_OVERFLOW, 0, "%s %lld does not fit out_dtype %s", what,
                    (long long)value, cbk_dtype_name(dtype));
}

cbk_status cbk_infer_axis(const struct cbk_inference *inference, int32_t *in_out_axis) {
    return cbk_check_axis(*in_out_axis, cbk_input(inference, 0)->rank, in_out_axis);
}

cbk_status cbk_infer_flag(uint32_t value, const char *what) {
    if (value <= 1) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s is %u, not 0 or 1", what, (unsigned)value);
}

cbk_status cbk_infer_scalar(const cbk_scalar *scalar, const char *what) {
    if (scalar->kind >= CBK_SCALAR_FLOAT && scalar->kind <= CBK_SCALAR_UINT) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s has kind %u: it is left out or unknown",
                    what, (unsigned)scalar->kind);
}

static int64_t clamp_index(int64_t index, int64_t length) {
    if (index < 0) index += length; // cannot overflow: the signs differ
    return index < 0 ? 0 : index > length ? length : index;
}

cbk_status cbk_infer_slice(const cbk_tensor_meta *input, cbk_slice_params *params,
                           int64_t out_shape[CBK_MAX_RANK]) {
    if (params->axis_count > input->rank) {
        return cbk_fail(CBK_ERROR_AXIS, 0, "%u axes are sliced of a tensor of rank %u",
                        (unsigned)params->axis_count, (unsigned)input->rank);
    }
    for (uint32_t i = 0; i < input->rank; i++) {
        int64_t length = input->shape[i];
        if (i >= params->axis_count) {
            params->start[i] = 0, params->stop[i] = length, params->step[i] = 1;
        }
        if (params->step[i] == 0) params->step[i] = 1;
        params->start[i] = clamp_index(params->start[i], length);
        params->stop[i] = clamp_index(params->stop[i], length);
        if (params->stop[i] < params->start[i]) params->stop[i] = params->start[i];
        uint64_t step =
            params->step[i] < 0 ? 0 - (uint64_t)params->step[i] : (uint64_t)params->step[i];
        uint64_t span = (uint64_t)(params->stop[i] - params->start[i]);
        out_shape[i] = span == 0 ? 0 : (int64_t)((span - 1) / step + 1);
    }
    params->axis_count = input->rank;
    return CBK_OK;
}
