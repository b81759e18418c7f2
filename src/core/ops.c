// ops.c: the two calls behind every named operation.
#include "core.h"

#include <string.h>

static cbk_status run(cbk_stream *stream, cbk_opcode opcode, const cbk_tensor *const *inputs,
                      uint32_t input_count, const void *params, uint32_t params_size,
                      cbk_tensor **outputs, uint32_t output_count) {
    const cbk_op op = {
        .struct_size = sizeof op,
        .opcode = opcode,
        .input_count = input_count,
        .output_count = output_count,
        .inputs = (cbk_tensor *const *)(uintptr_t)inputs, // not written to without donation
        .outputs = outputs,
        .params = params,
        .params_size = params_size,
    };
    return cbk_execute(stream, &op);
}

static cbk_status fail_null(cbk_opcode opcode, const char *what) {
    const struct cbk_row *row = cbk_row_of(opcode);
    struct cbk_call former = cbk_call_begin(row->info.name, opcode);
    return cbk_call_end(former, cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s is NULL", what));
}

cbk_status cbk_run(cbk_stream *stream, cbk_opcode opcode, const cbk_tensor *const *inputs,
                   uint32_t input_count, const void *params, uint32_t params_size,
                   cbk_tensor **out) {
    if (out == NULL) return fail_null(opcode, "out");
    *out = NULL;
    return run(stream, opcode, inputs, input_count, params, params_size, out, 1);
}

cbk_status cbk_run_into(cbk_stream *stream, cbk_opcode opcode, const cbk_tensor *const *inputs,
                        uint32_t input_count, const void *params, uint32_t params_size,
                        cbk_tensor *dst) {
    if (dst == NULL) return fail_null(opcode, "dst");
    return run(stream, opcode, inputs, input_count, params, params_size, &dst, 1);
}

cbk_status cbk_run_outputs(cbk_stream *stream, cbk_opcode opcode, const cbk_tensor *const *inputs,
                           uint32_t input_count, const void *params, uint32_t params_size,
                           cbk_tensor **const *outs, uint32_t output_count) {
    cbk_tensor *outputs[CBK_MAX_OUTPUTS] = {NULL};
    bool is_whole = true;
    for (uint32_t i = 0; i < output_count; i++) {
        if (outs[i] != NULL) *outs[i] = NULL;
        is_whole = is_whole && outs[i] != NULL;
    }
    if (!is_whole) return fail_null(opcode, "an output");
    cbk_status status =
        run(stream, opcode, inputs, input_count, params, params_size, outputs, output_count);
    for (uint32_t i = 0; i < output_count && status == CBK_OK; i++) *outs[i] = outputs[i];
    return status;
}

cbk_status cbk_run_into_outputs(cbk_stream *stream, cbk_opcode opcode,
                                const cbk_tensor *const *inputs, uint32_t input_count,
                                const void *params, uint32_t params_size, cbk_tensor *const *dsts,
                                uint32_t output_count) {
    cbk_tensor *outputs[CBK_MAX_OUTPUTS];
    for (uint32_t i = 0; i < output_count; i++) {
        if (dsts[i] == NULL) return fail_null(opcode, "a destination");
        outputs[i] = dsts[i];
    }
    return run(stream, opcode, inputs, input_count, params, params_size, outputs, output_count);
}

static cbk_status check_list(const char *operation, uint32_t count, const void *list,
                             const char *what) {
    if (count <= CBK_MAX_RANK && (count == 0 || list != NULL)) return CBK_OK;
    struct cbk_call former = cbk_call_begin(operation, CBK_OP_NONE);
    cbk_status status =
        count > CBK_MAX_RANK
            ? cbk_fail(CBK_ERROR_SHAPE, 0, "%u %s are over %d", (unsigned)count, what, CBK_MAX_RANK)
            : cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "the list of %u %s is NULL", (unsigned)count,
                       what);
    return cbk_call_end(former, status);
}

cbk_status cbk_copy_shape(const char *operation, uint32_t rank, const int64_t *shape,
                          int64_t out[CBK_MAX_RANK]) {
    cbk_status status = check_list(operation, rank, shape, "lengths (the rank)");
    if (status == CBK_OK && rank != 0) memcpy(out, shape, rank * sizeof *shape);
    return status;
}

cbk_status cbk_copy_axes(const char *operation, uint32_t count, const int32_t *axes,
                         int32_t out[CBK_MAX_RANK]) {
    cbk_status status = check_list(operation, count, axes, "axes");
    if (status == CBK_OK && count != 0) memcpy(out, axes, count * sizeof *axes);
    return status;
}
