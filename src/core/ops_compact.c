// ops_compact.c: named functions of the compaction family.
#include "core.h"

/// Runs a row whose second output the caller may not want.
static cbk_status run_sized(cbk_stream *stream, cbk_opcode opcode, const cbk_tensor *const *inputs,
                            uint32_t input_count, const cbk_compact_params *params,
                            cbk_tensor **out, cbk_tensor **out_count) {
    cbk_tensor *count = NULL, **outs[2] = {out, out_count != NULL ? out_count : &count};
    cbk_status status = cbk_run_outputs(stream, opcode, inputs, input_count, params,
                                        params != NULL ? params->struct_size : 0, outs, 2);
    cbk_tensor_release(&count);
    return status;
}

static cbk_status run_sized_into(cbk_stream *stream, cbk_opcode opcode,
                                 const cbk_tensor *const *inputs, uint32_t input_count,
                                 cbk_tensor *dst, cbk_tensor *dst_count) {
    const cbk_tensor_meta *meta = cbk_tensor_metadata(dst);
    cbk_compact_params params = {.struct_size = sizeof params};
    cbk_tensor *outputs[2] = {dst, dst_count};
    if (dst == NULL) return cbk_run_into(stream, opcode, inputs, input_count, NULL, 0, dst);
    if (meta != NULL && meta->rank > 0) params.length = meta->shape[0];
    if (meta != NULL && opcode == CBK_OP_ARGWHERE) params.out_dtype = meta->dtype;
    if (dst_count != NULL) params.out_dtype = cbk_tensor_dtype(dst_count);
    const cbk_op op = {
        .struct_size = sizeof op,
        .opcode = opcode,
        .input_count = input_count,
        .output_count = 2,
        .inputs = (cbk_tensor *const *)(uintptr_t)inputs, // not written to without donation
        .outputs = outputs,
        .params = &params,
        .params_size = sizeof params,
    };
    cbk_status status = cbk_execute(stream, &op);
    if (dst_count == NULL) cbk_tensor_release(&outputs[1]);
    return status;
}

cbk_status cbk_argwhere_sized(cbk_stream *stream, const cbk_tensor *x,
                              const cbk_compact_params *params, cbk_tensor **out,
                              cbk_tensor **out_count) {
    return run_sized(stream, CBK_OP_ARGWHERE, &x, 1, params, out, out_count);
}

cbk_status cbk_argwhere_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst,
                             cbk_tensor *dst_count) {
    return run_sized_into(stream, CBK_OP_ARGWHERE, &x, 1, dst, dst_count);
}

cbk_status cbk_mask_select_sized(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *mask,
                                 const cbk_compact_params *params, cbk_tensor **out,
                                 cbk_tensor **out_count) {
    const cbk_tensor *const inputs[] = {x, mask};
    return run_sized(stream, CBK_OP_MASK_SELECT, inputs, 2, params, out, out_count);
}

cbk_status cbk_mask_select_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *mask,
                                cbk_tensor *dst, cbk_tensor *dst_count) {
    const cbk_tensor *const inputs[] = {x, mask};
    return run_sized_into(stream, CBK_OP_MASK_SELECT, inputs, 2, dst, dst_count);
}

// ---- both steps ---------------------------------------------------------------------------------

cbk_status cbk_count_hits(cbk_stream *stream, const cbk_tensor *x, int64_t *out_hits) {
    const cbk_reduce_params params = {.struct_size = sizeof params, .out_dtype = CBK_DTYPE_I64};
    cbk_tensor *count = NULL;
    cbk_status status = cbk_count_nonzero(stream, x, &params, &count);
    if (status == CBK_OK) status = cbk_tensor_read(stream, count, out_hits, sizeof *out_hits);
    cbk_tensor_release(&count);
    return status;
}

cbk_status cbk_check_can_wait(cbk_stream *stream) {
    cbk_status status = cbk_check_stream(stream);
    if (status != CBK_OK || stream->capture == NULL) return status;
    return cbk_fail(CBK_ERROR_INVALID_STATE, 0,
                    "the number of hits cannot be read in a capture; the sized form needs no read");
}

static cbk_status argwhere(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out) {
    cbk_compact_params params = {.struct_size = sizeof params};
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_can_wait(stream);
    if (status == CBK_OK) status = cbk_count_hits(stream, x, &params.length);
    return status != CBK_OK ? status : cbk_argwhere_sized(stream, x, &params, out, NULL);
}

cbk_status cbk_argwhere(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("argwhere", CBK_OP_ARGWHERE);
    return cbk_call_end(former, argwhere(stream, x, out));
}

static cbk_status mask_select(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *mask,
                              cbk_tensor **out) {
    cbk_compact_params params = {.struct_size = sizeof params};
    cbk_tensor *whole = NULL;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_can_wait(stream);
    if (status == CBK_OK) status = cbk_check_tensor(x, "x");
    if (status == CBK_OK) status = cbk_expand(stream, mask, x->meta.rank, x->meta.shape, &whole);
    if (status == CBK_OK) status = cbk_count_hits(stream, whole, &params.length);
    if (status == CBK_OK) status = cbk_mask_select_sized(stream, x, mask, &params, out, NULL);
    cbk_tensor_release(&whole);
    return status;
}

cbk_status cbk_mask_select(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *mask,
                           cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("mask_select", CBK_OP_MASK_SELECT);
    return cbk_call_end(former, mask_select(stream, x, mask, out));
}
