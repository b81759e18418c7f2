// move.c: copy, slice_assign, cat: elements go bit for bit.

#include "reference.h"

static void cat(const cbk_op *op, uint32_t axis, const struct cbk_ref_view *out) {
    struct cbk_ref_view part = *out;
    for (uint32_t i = 0; i < op->input_count; i++) {
        struct cbk_ref_view x = cbk_ref_view_of(op->inputs[i]);
        part.shape[axis] = x.shape[axis];
        part.count = x.count;
        cbk_ref_copy_view(&part, &x);
        part.offset += x.shape[axis] * out->strides[axis];
    }
}

cbk_status cbk_ref_move(struct cbk_ref_stream *stream, const cbk_op *op) {
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    (void)stream;
    switch (op->opcode) {
    case CBK_OP_COPY: {
        struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
        cbk_ref_copy_view(&out, &x);
        return CBK_OK;
    }
    case CBK_OP_SLICE_ASSIGN: {
        struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
        struct cbk_ref_view value = cbk_ref_view_of(op->inputs[1]);
        struct cbk_ref_view part = cbk_ref_slice_view(&out, op->params);
        cbk_ref_copy_view(&out, &x); // in place this copies each element onto itself
        value = cbk_ref_broadcast(&value, part.rank, part.shape);
        cbk_ref_copy_view(&part, &value);
        return CBK_OK;
    }
    case CBK_OP_CAT: {
        const cbk_axis_params *params = op->params;
        cat(op, (uint32_t)params->axis, &out);
        return CBK_OK;
    }
    default:
        return cbk_ref_unknown(op);
    }
}
