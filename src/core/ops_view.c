// ops_view.c: named functions of the view family.
#include "core.h"

static cbk_status run_view(cbk_stream *stream, cbk_opcode opcode, const cbk_tensor *x,
                           const void *params, size_t params_size, cbk_tensor **out) {
    return cbk_run(stream, opcode, &x, 1, params, (uint32_t)params_size, out);
}

static cbk_status run_shape(cbk_stream *stream, cbk_opcode opcode, const char *name,
                            const cbk_tensor *x, uint32_t rank, const int64_t *shape,
                            cbk_tensor **out) {
    cbk_shape_params params = {.struct_size = sizeof params, .rank = rank};
    cbk_status status = cbk_copy_shape(name, rank, shape, params.shape);
    if (status == CBK_OK) return run_view(stream, opcode, x, &params, sizeof params, out);
    if (out != NULL) *out = NULL;
    return status;
}

cbk_status cbk_reshape(cbk_stream *stream, const cbk_tensor *x, uint32_t rank, const int64_t *shape,
                       cbk_tensor **out) {
    return run_shape(stream, CBK_OP_RESHAPE, "reshape", x, rank, shape, out);
}

cbk_status cbk_expand(cbk_stream *stream, const cbk_tensor *x, uint32_t rank, const int64_t *shape,
                      cbk_tensor **out) {
    return run_shape(stream, CBK_OP_EXPAND, "expand", x, rank, shape, out);
}

static cbk_status run_axes(cbk_stream *stream, cbk_opcode opcode, const char *name,
                           const cbk_tensor *x, uint32_t count, const int32_t *axes,
                           cbk_tensor **out) {
    cbk_axes_params params = {.struct_size = sizeof params, .axis_count = count};
    cbk_status status = cbk_copy_axes(name, count, axes, params.axes);
    if (status == CBK_OK) return run_view(stream, opcode, x, &params, sizeof params, out);
    if (out != NULL) *out = NULL;
    return status;
}

cbk_status cbk_permute(cbk_stream *stream, const cbk_tensor *x, const int32_t *axes,
                       cbk_tensor **out) {
    return run_axes(stream, CBK_OP_PERMUTE, "permute", x, cbk_tensor_rank(x), axes, out);
}

cbk_status cbk_transpose(cbk_stream *stream, const cbk_tensor *x, int32_t axis1, int32_t axis2,
                         cbk_tensor **out) {
    const cbk_axes_params params = {
        .struct_size = sizeof params, .axis_count = 2, .axes = {axis1, axis2}};
    return run_view(stream, CBK_OP_TRANSPOSE, x, &params, sizeof params, out);
}

cbk_status cbk_flip(cbk_stream *stream, const cbk_tensor *x, uint32_t axis_count,
                    const int32_t *axes, cbk_tensor **out) {
    return run_axes(stream, CBK_OP_FLIP, "flip", x, axis_count, axes, out);
}

cbk_status cbk_squeeze(cbk_stream *stream, const cbk_tensor *x, uint32_t axis_count,
                       const int32_t *axes, cbk_tensor **out) {
    return run_axes(stream, CBK_OP_SQUEEZE, "squeeze", x, axis_count, axes, out);
}

cbk_status cbk_unsqueeze(cbk_stream *stream, const cbk_tensor *x, uint32_t axis_count,
                         const int32_t *axes, cbk_tensor **out) {
    return run_axes(stream, CBK_OP_UNSQUEEZE, "unsqueeze", x, axis_count, axes, out);
}

cbk_status cbk_slice(cbk_stream *stream, const cbk_tensor *x, const cbk_slice_params *params,
                     cbk_tensor **out) {
    return run_view(stream, CBK_OP_SLICE, x, params, params != NULL ? params->struct_size : 0, out);
}

static cbk_status narrow_params(const cbk_tensor *x, int32_t axis, int64_t start, int64_t length,
                                cbk_slice_params *params) {
    int32_t counted;
    cbk_status status = cbk_check_tensor(x, "x");
    if (status == CBK_OK) status = cbk_check_axis(axis, x->meta.rank, &counted);
    if (status != CBK_OK) return status;
    const int64_t whole = x->meta.shape[counted];
    if (start < 0 || length < 0 || start > whole || length > whole - start) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "%lld elements from %lld on an axis of length %lld",
                        (long long)length, (long long)start, (long long)whole);
    }
    params->axis_count = (uint32_t)counted + 1;
    for (int32_t i = 0; i < counted; i++) params->stop[i] = INT64_MAX;
    params->start[counted] = start;
    params->stop[counted] = start + length;
    return CBK_OK;
}

cbk_status cbk_narrow(cbk_stream *stream, const cbk_tensor *x, int32_t axis, int64_t start,
                      int64_t length, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("narrow", CBK_OP_SLICE);
    cbk_slice_params params = {.struct_size = sizeof params};
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = narrow_params(x, axis, start, length, &params);
    if (status == CBK_OK) status = cbk_slice(stream, x, &params, out);
    return cbk_call_end(former, status);
}

cbk_status cbk_unfold(cbk_stream *stream, const cbk_tensor *x, int32_t axis, int64_t size,
                      int64_t step, cbk_tensor **out) {
    const cbk_unfold_params params = {
        .struct_size = sizeof params, .axis = axis, .size = size, .step = step};
    return run_view(stream, CBK_OP_UNFOLD, x, &params, sizeof params, out);
}

cbk_status cbk_diagonal(cbk_stream *stream, const cbk_tensor *x, int64_t offset, int32_t axis1,
                        int32_t axis2, cbk_tensor **out) {
    const cbk_diagonal_params params = {
        .struct_size = sizeof params, .axis1 = axis1, .axis2 = axis2, .offset = offset};
    return run_view(stream, CBK_OP_DIAGONAL, x, &params, sizeof params, out);
}
