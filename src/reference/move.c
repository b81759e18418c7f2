// move.c: copy, slice_assign, cat, pad, roll: elements go bit for bit.

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

// ---- pad, roll ---------------------------------------------------------------------------------

/// The place in an axis of `length` that position p shows; -1: none.
static int64_t source_place(int64_t p, int64_t length, uint32_t mode) {
    if (p >= 0 && p < length) return p;
    switch (mode) {
    case CBK_PAD_REFLECT:
        return p < 0 ? -p : 2 * (length - 1) - p;
    case CBK_PAD_EDGE:
        return p < 0 ? 0 : length - 1;
    case CBK_PAD_CIRCULAR:
        return (p % length + length) % length;
    default:
        return -1;
    }
}

/// Element c of `out` shows c - before of x.
static void pad(const struct cbk_ref_view *x, const int64_t *before, uint32_t mode,
                cbk_scalar value, const struct cbk_ref_view *out) {
    int64_t places[CBK_MAX_RANK];
    for (int64_t i = 0; i < out->count; i++) {
        int64_t to = cbk_ref_at(out, i), from = x->offset;
        bool exists = true;
        cbk_ref_coordinates(out, i, places);
        for (uint32_t axis = 0; axis < x->rank; axis++) {
            int64_t place = source_place(places[axis] - before[axis], x->shape[axis], mode);
            if (place < 0) exists = false;
            from += place * x->strides[axis];
        }
        if (exists)
            cbk_ref_copy_element(out, to, x, from);
        else
            cbk_ref_store(out->data, out->dtype, to, cbk_ref_scalar_value(value));
    }
}

static void roll(const struct cbk_ref_view *x, const cbk_roll_params *params,
                 const struct cbk_ref_view *out) {
    int64_t before[CBK_MAX_RANK] = {0};
    for (uint32_t i = 0; i < params->axis_count; i++) before[params->axes[i]] = params->shifts[i];
    pad(x, before, CBK_PAD_CIRCULAR, cbk_i(0), out);
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
    case CBK_OP_PAD: {
        const cbk_pad_params *params = op->params;
        struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
        pad(&x, params->before, params->mode, params->value, &out);
        return CBK_OK;
    }
    case CBK_OP_ROLL: {
        struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
        roll(&x, op->params, &out);
        return CBK_OK;
    }
    case CBK_OP_TRIL:
    case CBK_OP_TRIU: {
        struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
        cbk_ref_triangle(op, &x, &out);
        return CBK_OK;
    }
    case CBK_OP_DIAG_EMBED: {
        struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
        cbk_ref_diag_embed(op->params, &x, &out);
        return CBK_OK;
    }
    case CBK_OP_CROSS:
        cbk_ref_cross(op, &out);
        return CBK_OK;
    default:
        return cbk_ref_unknown(op);
    }
}
