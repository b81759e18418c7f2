// softmax.c: softmax and log_softmax along one axis.

#include "reference.h"

#include <math.h>

/// One row: elements base + i * stride.
struct row {
    const struct cbk_ref_view *view;
    int64_t base, stride;
};

static double get(const struct row *row, int64_t i) {
    return cbk_ref_get_float(row->view->data, row->view->dtype, row->base + i * row->stride);
}

static void softmax_row(const struct row *x, const struct row *out, int64_t length, bool is_log) {
    double max = -INFINITY;
    for (int64_t i = 0; i < length; i++) {
        double value = get(x, i);
        if (value > max || isnan(value)) max = value;
        if (isnan(max)) break;
    }
    long double sum = 0;
    for (int64_t i = 0; i < length; i++) sum += exp(get(x, i) - max);
    for (int64_t i = 0; i < length; i++) {
        double shifted = get(x, i) - max;
        double result = is_log ? shifted - log((double)sum) : exp(shifted) / (double)sum;
        cbk_ref_put_result(out->view->data, out->view->dtype, out->base + i * out->stride, result);
    }
}

cbk_status cbk_ref_softmax(struct cbk_ref_stream *stream, const cbk_op *op) {
    const cbk_axis_params *params = op->params;
    struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    (void)stream;
    if (op->opcode != CBK_OP_SOFTMAX && op->opcode != CBK_OP_LOG_SOFTMAX)
        return cbk_ref_unknown(op);

    uint32_t axis = (uint32_t)params->axis, others = ((1u << x.rank) - 1) & ~(1u << axis);
    struct cbk_ref_view x_rows = cbk_ref_sub_view(&x, others);
    struct cbk_ref_view out_rows = cbk_ref_sub_view(&out, others);
    for (int64_t i = 0; i < x_rows.count; i++) {
        struct row from = {&x, cbk_ref_at(&x_rows, i), x.strides[axis]};
        struct row to = {&out, cbk_ref_at(&out_rows, i), out.strides[axis]};
        softmax_row(&from, &to, x.shape[axis], op->opcode == CBK_OP_LOG_SOFTMAX);
    }
    return CBK_OK;
}
