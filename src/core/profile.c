// profile.c: records of what each operation did.
#include "core.h"

#include <string.h>

cbk_status cbk_profile_begin(cbk_stream *stream, cbk_profile_function function, void *user_data) {
    struct cbk_call former = cbk_call_begin("profile_begin", CBK_OP_NONE);
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK && function == NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "function is NULL");
    }
    if (status == CBK_OK) {
        const cbk_vtable *vtable = cbk_stream_vtable(stream);
        status = vtable->profile_begin != NULL
                     ? vtable->profile_begin(cbk_stream_self(stream), stream->handle, function,
                                             user_data)
                     : cbk_fail_unsupported(stream->device->backend, "profile_begin");
    }
    return cbk_call_end(former, status);
}

cbk_status cbk_profile_end(cbk_stream *stream) {
    struct cbk_call former = cbk_call_begin("profile_end", CBK_OP_NONE);
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK) {
        const cbk_vtable *vtable = cbk_stream_vtable(stream);
        status = vtable->profile_end != NULL
                     ? vtable->profile_end(cbk_stream_self(stream), stream->handle)
                     : cbk_fail_unsupported(stream->device->backend, "profile_end");
    }
    return cbk_call_end(former, status);
}

// ---- what a record says of an operation ----------------------------------------------------------

/// A repeated element (stride 0) counts once.
static uint64_t distinct_bytes(const cbk_tensor_meta *meta) {
    uint64_t bytes = cbk_dtype_size(meta->dtype);
    for (uint32_t i = 0; i < meta->rank; i++) {
        if (meta->strides[i] != 0 || meta->shape[i] == 0) bytes *= (uint64_t)meta->shape[i];
    }
    return bytes;
}

static void add_operand(cbk_profile_record *record, const cbk_tensor *tensor) {
    if (tensor == NULL) return;
    const cbk_tensor_meta *meta = cbk_tensor_metadata(tensor);
    record->bytes += distinct_bytes(meta);
    if (record->operand_count == CBK_PROFILE_OPERANDS) return;
    const uint32_t i = record->operand_count++;
    record->dtype[i] = meta->dtype;
    record->rank[i] = meta->rank;
    memcpy(record->shape[i], meta->shape, sizeof meta->shape);
}

/// A multiplication and an addition for each element of the result and step along k.
static uint64_t count_flops(const cbk_op *op) {
    if (op->opcode != CBK_OP_MATMUL) return 0;
    const cbk_tensor_meta *a = cbk_tensor_metadata(op->inputs[0]);
    const cbk_tensor_meta *out = cbk_tensor_metadata(op->outputs[0]);
    return 2 * (uint64_t)out->element_count * (uint64_t)a->shape[a->rank - 1];
}

void cbk_profile_describe(const cbk_op *op, cbk_profile_record *out) {
    const cbk_op_info *info = cbk_op_info_of(op->opcode);
    *out = (cbk_profile_record){.struct_size = sizeof *out,
                                .opcode = op->opcode,
                                .operation = info != NULL ? info->name : "",
                                .kernel = ""};
    for (uint32_t i = 0; i < op->output_count; i++) add_operand(out, op->outputs[i]);
    for (uint32_t i = 0; i < op->input_count; i++) add_operand(out, op->inputs[i]);
    out->flops = count_flops(op);
}
