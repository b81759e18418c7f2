// cast.c: any dtype to any dtype, by the rules of cbk_ref_store.

#include "reference.h"

cbk_status cbk_ref_cast(struct cbk_ref_stream *stream, const cbk_op *op) {
    struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    (void)stream;
    if (op->opcode != CBK_OP_CAST) return cbk_ref_unknown(op);
    for (int64_t i = 0; i < out.count; i++) {
        struct cbk_ref_value value = cbk_ref_load(x.data, x.dtype, cbk_ref_at(&x, i));
        cbk_ref_store(out.data, out.dtype, cbk_ref_at(&out, i), value);
    }
    return CBK_OK;
}
