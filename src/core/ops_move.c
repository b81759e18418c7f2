// ops_move.c: named functions of the move family beyond copies and concatenation.
#include "core.h"

#include <string.h>

cbk_status cbk_pad(cbk_stream *stream, const cbk_tensor *x, const cbk_pad_params *params,
                   cbk_tensor **out) {
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run(stream, CBK_OP_PAD, &x, 1, params, size, out);
}

cbk_status cbk_pad_into(cbk_stream *stream, const cbk_tensor *x, const cbk_pad_params *params,
                        cbk_tensor *dst) {
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run_into(stream, CBK_OP_PAD, &x, 1, params, size, dst);
}

cbk_status cbk_roll(cbk_stream *stream, const cbk_tensor *x, const cbk_roll_params *params,
                    cbk_tensor **out) {
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run(stream, CBK_OP_ROLL, &x, 1, params, size, out);
}

cbk_status cbk_roll_into(cbk_stream *stream, const cbk_tensor *x, const cbk_roll_params *params,
                         cbk_tensor *dst) {
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run_into(stream, CBK_OP_ROLL, &x, 1, params, size, dst);
}

// ---- stack --------------------------------------------------------------------------------------

/// Members held without asking for host memory.
#define MEMBERS_ON_STACK 16

static cbk_status stack_members(cbk_stream *stream, const cbk_tensor *const *tensors,
                                uint32_t count, int32_t axis, cbk_tensor **members,
                                cbk_tensor **out) {
    cbk_status status = CBK_OK;
    uint32_t made = 0;
    for (; made < count && status == CBK_OK; made++) {
        status = cbk_unsqueeze(stream, tensors[made], 1, &axis, &members[made]);
    }
    if (status == CBK_OK) {
        status = cbk_cat(stream, (const cbk_tensor *const *)members, count, axis, out);
    }
    for (uint32_t i = 0; i < made; i++) cbk_tensor_release(&members[i]);
    return status;
}

static cbk_status stack(cbk_stream *stream, const cbk_tensor *const *tensors, uint32_t count,
                        int32_t axis, cbk_tensor **out) {
    cbk_tensor *on_stack[MEMBERS_ON_STACK], **members = on_stack;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status != CBK_OK) return status;
    if (tensors == NULL || count == 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                        tensors == NULL ? "tensors is NULL" : "there is no tensor to stack");
    }
    cbk_backend *backend = stream->device->backend;
    if (count > MEMBERS_ON_STACK) members = cbk_core_alloc(backend, count * sizeof *members);
    if (members == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    status = stack_members(stream, tensors, count, axis, members, out);
    if (members != on_stack) cbk_core_free(backend, members, count * sizeof *members);
    return status;
}

cbk_status cbk_stack(cbk_stream *stream, const cbk_tensor *const *tensors, uint32_t count,
                     int32_t axis, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("stack", CBK_OP_CAT);
    return cbk_call_end(former, stack(stream, tensors, count, axis, out));
}

// ---- repeat -------------------------------------------------------------------------------------

/// Splits the work: lengths 1 and 0 are views of x; `*out_rest` tells whether more is to be added.
static cbk_status plan_repeat(const cbk_tensor_meta *x, const int64_t *repeats,
                              int64_t view_shape[CBK_MAX_RANK], cbk_slice_params *none,
                              cbk_pad_params *rest, bool *out_rest) {
    *out_rest = false;
    none->axis_count = x->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        const int64_t length = x->shape[i], times = repeats[i];
        int64_t total;
        if (times < 0) {
            return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "axis %u is repeated %lld times",
                            (unsigned)i, (long long)times);
        }
        if (!cbk_mul_i64(length, times, &total)) {
            return cbk_fail(CBK_ERROR_OVERFLOW, 0, "axis %u would be longer than 2^63 - 1",
                            (unsigned)i);
        }
        none->stop[i] = times == 0 ? 0 : length;
        view_shape[i] = times == 0 ? 0 : length == 1 ? times : length;
        if (view_shape[i] == total) continue;
        rest->after[i] = total - length;
        *out_rest = true;
    }
    return CBK_OK;
}

static cbk_status repeat(cbk_stream *stream, const cbk_tensor *x, const int64_t *repeats,
                         cbk_tensor **out) {
    cbk_slice_params none = {.struct_size = sizeof none};
    cbk_pad_params rest = {.struct_size = sizeof rest, .mode = CBK_PAD_CIRCULAR};
    cbk_tensor *part = NULL, *view = NULL;
    int64_t shape[CBK_MAX_RANK] = {0};
    bool has_rest = false;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status == CBK_OK) status = cbk_check_tensor(x, "x");
    if (status == CBK_OK && x->meta.rank != 0 && repeats == NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "repeats is NULL");
    }
    if (status == CBK_OK) {
        status = plan_repeat(&x->meta, repeats, shape, &none, &rest, &has_rest);
    }
    if (status == CBK_OK) status = cbk_slice(stream, x, &none, &part);
    if (status == CBK_OK) {
        status = cbk_expand(stream, part, x->meta.rank, shape, has_rest ? &view : out);
    }
    if (status == CBK_OK && has_rest) status = cbk_pad(stream, view, &rest, out);
    cbk_tensor_release(&view);
    cbk_tensor_release(&part);
    return status;
}

cbk_status cbk_repeat(cbk_stream *stream, const cbk_tensor *x, const int64_t *repeats,
                      cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("repeat", CBK_OP_PAD);
    return cbk_call_end(former, repeat(stream, x, repeats, out));
}

static cbk_status repeat_dim(cbk_stream *stream, const cbk_tensor *x, int32_t axis, int64_t times,
                             cbk_tensor **out) {
    int64_t repeats[CBK_MAX_RANK];
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_tensor(x, "x");
    if (status == CBK_OK) status = cbk_check_axis(axis, x->meta.rank, &axis);
    if (status != CBK_OK) return status;
    for (uint32_t i = 0; i < CBK_MAX_RANK; i++) repeats[i] = i == (uint32_t)axis ? times : 1;
    return repeat(stream, x, repeats, out);
}

cbk_status cbk_repeat_dim(cbk_stream *stream, const cbk_tensor *x, int32_t axis, int64_t times,
                          cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("repeat_dim", CBK_OP_PAD);
    return cbk_call_end(former, repeat_dim(stream, x, axis, times, out));
}
