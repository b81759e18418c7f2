// softmax.c: softmax and its relatives along one axis, and gradients.

#include "reference.h"

#include <math.h>

/// One row: elements base + i * stride.
struct row {
    const struct cbk_ref_view *view;
    int64_t base, stride;
    double sign; ///< -1 for softmin
};

static double get(const struct row *row, int64_t i) {
    return row->sign *
           cbk_ref_get_float(row->view->data, row->view->dtype, row->base + i * row->stride);
}

/// quiet_softmax counts one more element, a 0 that has no result.
static void softmax_row(const struct row *x, const struct row *out, int64_t length,
                        cbk_opcode opcode) {
    const bool is_log = opcode == CBK_OP_LOG_SOFTMAX, is_quiet = opcode == CBK_OP_QUIET_SOFTMAX;
    double max = is_quiet ? 0 : -INFINITY;
    for (int64_t i = 0; i < length; i++) {
        double value = get(x, i);
        if (value > max || isnan(value)) max = value;
        if (isnan(max)) break;
    }
    long double sum = is_quiet ? exp(-max) : 0;
    for (int64_t i = 0; i < length; i++) sum += exp(get(x, i) - max);
    for (int64_t i = 0; i < length; i++) {
        double shifted = get(x, i) - max;
        double result = is_log ? shifted - log((double)sum) : exp(shifted) / (double)sum;
        cbk_ref_put_result(out->view->data, out->view->dtype, out->base + i * out->stride, result);
    }
}

/// The gradient of x, of the result y and its gradient g.
static void backward_row(const struct row *y, const struct row *g, const struct row *out,
                         int64_t length, bool is_log) {
    long double sum = 0;
    for (int64_t i = 0; i < length; i++) sum += is_log ? get(g, i) : get(y, i) * get(g, i);
    for (int64_t i = 0; i < length; i++) {
        const long double result =
            is_log ? get(g, i) - exp(get(y, i)) * sum : get(y, i) * (get(g, i) - sum);
        cbk_ref_put_result(out->view->data, out->view->dtype, out->base + i * out->stride,
                           (double)result);
    }
}

cbk_status cbk_ref_softmax(struct cbk_ref_stream *stream, const cbk_op *op) {
    const cbk_axis_params *params = op->params;
    const uint32_t axis = (uint32_t)params->axis;
    const bool is_backward =
        op->opcode == CBK_OP_SOFTMAX_BACKWARD || op->opcode == CBK_OP_LOG_SOFTMAX_BACKWARD;
    const cbk_tensor *tensors[3] = {op->inputs[0], op->inputs[is_backward ? 1 : 0], op->outputs[0]};
    struct cbk_ref_view views[3], outer[3];
    struct row rows[3];
    (void)stream;
    if (op->opcode > CBK_OP_QUIET_SOFTMAX) return cbk_ref_unknown(op);

    for (int k = 0; k < 3; k++) {
        views[k] = cbk_ref_view_of(tensors[k]);
        outer[k] = cbk_ref_sub_view(&views[k], ((1u << views[k].rank) - 1) & ~(1u << axis));
    }
    for (int64_t i = 0; i < outer[0].count; i++) {
        for (int k = 0; k < 3; k++)
            rows[k] = (struct row){&views[k], cbk_ref_at(&outer[k], i), views[k].strides[axis],
                                   op->opcode == CBK_OP_SOFTMIN ? -1 : 1};
        if (is_backward)
            backward_row(&rows[0], &rows[1], &rows[2], views[0].shape[axis],
                         op->opcode == CBK_OP_LOG_SOFTMAX_BACKWARD);
        else
            softmax_row(&rows[0], &rows[2], views[0].shape[axis], op->opcode);
    }
    return CBK_OK;
}
