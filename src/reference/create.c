// create.c: fill and arange.

#include "reference.h"

#include <math.h>

static void fill(const cbk_create_params *params, const struct cbk_ref_view *out) {
    uint64_t memory;
    struct cbk_ref_view value =
        cbk_ref_scalar_view(params->value, out->dtype, out->rank, out->shape, &memory);
    cbk_ref_copy_view(out, &value);
}

/// start + i * step with one rounding.
static double float_step(double start, double step, int64_t i, cbk_dtype dtype) {
    if (dtype == CBK_DTYPE_F64 || i >= 1 << 24) return fma((double)i, step, start);
    return fmaf((float)i, (float)step, (float)start);
}

static void arange(const cbk_create_params *params, const struct cbk_ref_view *out) {
    cbk_scalar step_scalar = params->step.kind == CBK_SCALAR_NONE ? cbk_i(1) : params->step;
    uint64_t start_memory, step_memory;
    cbk_ref_store(&start_memory, out->dtype, 0, cbk_ref_scalar_value(params->value));
    cbk_ref_store(&step_memory, out->dtype, 0, cbk_ref_scalar_value(step_scalar));
    struct cbk_ref_value start = cbk_ref_load(&start_memory, out->dtype, 0);
    struct cbk_ref_value step = cbk_ref_load(&step_memory, out->dtype, 0);

    for (int64_t i = 0; i < out->count; i++) {
        int64_t at = cbk_ref_at(out, i);
        if (start.kind == CBK_REF_FLOAT)
            cbk_ref_put_float(out->data, out->dtype, at,
                              float_step(start.f, step.f, i, out->dtype));
        else
            cbk_ref_put_int(out->data, out->dtype, at,
                            (int64_t)((uint64_t)start.i + (uint64_t)i * (uint64_t)step.i));
    }
}

cbk_status cbk_ref_create_op(struct cbk_ref_stream *stream, const cbk_op *op) {
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    (void)stream;
    switch (op->opcode) {
    case CBK_OP_FILL:
        fill(op->params, &out);
        return CBK_OK;
    case CBK_OP_ARANGE:
        arange(op->params, &out);
        return CBK_OK;
    case CBK_OP_EYE:
        cbk_ref_eye(op->params, &out);
        return CBK_OK;
    case CBK_OP_LINSPACE:
        cbk_ref_linspace(op->params, &out);
        return CBK_OK;
    case CBK_OP_WINDOW:
        cbk_ref_window(op->params, &out);
        return CBK_OK;
    default:
        return cbk_ref_unknown(op);
    }
}
