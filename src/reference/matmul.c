// matmul.c: row times column; then bias, activation and residual.

#include "reference.h"

#include <string.h>

/// A run of elements base + i * stride.
struct run {
    const struct cbk_ref_view *view;
    int64_t base, stride;
};

static double dot_float(const struct run *a, const struct run *b, int64_t length) {
    long double sum = 0;
    for (int64_t i = 0; i < length; i++)
        sum +=
            (long double)cbk_ref_get_float(a->view->data, a->view->dtype, a->base + i * a->stride) *
            cbk_ref_get_float(b->view->data, b->view->dtype, b->base + i * b->stride);
    return (double)sum;
}

static int64_t dot_int(const struct run *a, const struct run *b, int64_t length) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < length; i++)
        sum += (uint64_t)cbk_ref_get_int(a->view->data, a->view->dtype, a->base + i * a->stride) *
               (uint64_t)cbk_ref_get_int(b->view->data, b->view->dtype, b->base + i * b->stride);
    return (int64_t)sum;
}

static struct cbk_ref_value dot(const struct run *a, const struct run *b, int64_t length) {
    struct cbk_ref_value value = {.kind = cbk_ref_kind_of(a->view->dtype)};
    if (value.kind == CBK_REF_FLOAT)
        value.f = dot_float(a, b, length);
    else
        value.i = dot_int(a, b, length);
    return value;
}

/// An operand stretched to the batch axes of the result.
static struct cbk_ref_view stretch(const struct cbk_ref_view *x, const struct cbk_ref_view *out) {
    int64_t shape[CBK_MAX_RANK];
    uint32_t batch_rank = out->rank - 2;
    memcpy(shape, out->shape, sizeof shape);
    shape[batch_rank] = x->shape[x->rank - 2];
    shape[batch_rank + 1] = x->shape[x->rank - 1];
    struct cbk_ref_view result = cbk_ref_broadcast(x, out->rank, shape);
    result.strides[batch_rank] = x->strides[x->rank - 2];
    result.strides[batch_rank + 1] = x->strides[x->rank - 1];
    return result;
}

/// out = out + added, or the activation of out, as those operations have it.
static cbk_status run_on_result(struct cbk_ref_stream *stream, const cbk_op *op, cbk_opcode opcode,
                                cbk_tensor *added) {
    const cbk_matmul_params *params = op->params;
    const cbk_activation_params activation = {.struct_size = sizeof activation,
                                              .variant = params->activation_variant,
                                              .alpha = params->alpha,
                                              .beta = params->beta};
    cbk_tensor *inputs[] = {op->outputs[0], added};
    const cbk_op part = {.struct_size = sizeof part,
                         .opcode = opcode,
                         .input_count = added ? 2 : 1,
                         .output_count = 1,
                         .inputs = inputs,
                         .outputs = op->outputs,
                         .params = &activation,
                         .params_size = sizeof activation};
    return added ? cbk_ref_binary(stream, &part) : cbk_ref_unary(stream, &part);
}

static cbk_status run_epilogue(struct cbk_ref_stream *stream, const cbk_op *op) {
    const cbk_matmul_params *params = op->params;
    cbk_tensor *bias = op->input_count > 2 ? op->inputs[2] : NULL;
    cbk_tensor *residual = op->input_count > 3 ? op->inputs[3] : NULL;
    cbk_status status = CBK_OK;
    if (bias) REF_TRY(run_on_result(stream, op, CBK_OP_ADD, bias));
    if (params->activation) REF_TRY(run_on_result(stream, op, params->activation, NULL));
    if (residual) REF_TRY(run_on_result(stream, op, CBK_OP_ADD, residual));
done:
    return status;
}

cbk_status cbk_ref_matmul(struct cbk_ref_stream *stream, const cbk_op *op) {
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    struct cbk_ref_view a = cbk_ref_view_of(op->inputs[0]), b = cbk_ref_view_of(op->inputs[1]);
    if (op->opcode != CBK_OP_MATMUL) return cbk_ref_unknown(op);

    a = stretch(&a, &out);
    b = stretch(&b, &out);
    uint32_t row_axis = out.rank - 2, column_axis = out.rank - 1;
    uint32_t batch_axes = (1u << row_axis) - 1;
    struct cbk_ref_view a_batch = cbk_ref_sub_view(&a, batch_axes);
    struct cbk_ref_view b_batch = cbk_ref_sub_view(&b, batch_axes);
    int64_t rows = out.shape[row_axis], columns = out.shape[column_axis];
    int64_t length = a.shape[column_axis];

    for (int64_t i = 0; i < out.count; i++) {
        int64_t column = i % columns, row = i / columns % rows, batch = i / columns / rows;
        struct run a_run = {&a, cbk_ref_at(&a_batch, batch) + row * a.strides[row_axis],
                            a.strides[column_axis]};
        struct run b_run = {&b, cbk_ref_at(&b_batch, batch) + column * b.strides[column_axis],
                            b.strides[row_axis]};
        cbk_ref_store(out.data, out.dtype, cbk_ref_at(&out, i), dot(&a_run, &b_run, length));
    }
    return run_epilogue(stream, op);
}
