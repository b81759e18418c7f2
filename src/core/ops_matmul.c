// ops_matmul.c: named functions of the matrix product, and the linear layer made of it.
#include "core.h"

// ---- matrix product -----------------------------------------------------------------------------

/// The inputs without those that are left out at the end.
static uint32_t count_inputs(const cbk_tensor *const inputs[4]) {
    return inputs[3] != NULL ? 4 : inputs[2] != NULL ? 3 : 2;
}

static cbk_status run_matmul(cbk_stream *stream, const cbk_tensor *const inputs[4],
                             const cbk_matmul_params *params, cbk_tensor **out) {
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run(stream, CBK_OP_MATMUL, inputs, count_inputs(inputs), params, size, out);
}

static cbk_status run_matmul_into(cbk_stream *stream, const cbk_tensor *const inputs[4],
                                  const cbk_matmul_params *params, cbk_tensor *dst) {
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run_into(stream, CBK_OP_MATMUL, inputs, count_inputs(inputs), params, size, dst);
}

cbk_status cbk_matmul(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                      const cbk_matmul_params *params, cbk_tensor **out) {
    const cbk_tensor *const inputs[4] = {a, b};
    return run_matmul(stream, inputs, params, out);
}

cbk_status cbk_matmul_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           const cbk_matmul_params *params, cbk_tensor *dst) {
    const cbk_tensor *const inputs[4] = {a, b};
    return run_matmul_into(stream, inputs, params, dst);
}

cbk_status cbk_matmul_fused(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                            const cbk_tensor *bias, const cbk_tensor *residual,
                            const cbk_matmul_params *params, cbk_tensor **out) {
    const cbk_tensor *const inputs[4] = {a, b, bias, residual};
    return run_matmul(stream, inputs, params, out);
}

cbk_status cbk_matmul_fused_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 const cbk_tensor *bias, const cbk_tensor *residual,
                                 const cbk_matmul_params *params, cbk_tensor *dst) {
    const cbk_tensor *const inputs[4] = {a, b, bias, residual};
    return run_matmul_into(stream, inputs, params, dst);
}

// ---- linear layer -------------------------------------------------------------------------------

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

/// `x` as it is, or a vector as a matrix of one row: a view.
static cbk_status as_rows(cbk_stream *stream, const cbk_tensor *x, const char *what,
                          cbk_tensor **out) {
    cbk_status status = cbk_check_tensor(x, what);
    if (status != CBK_OK) return status;
    if (x->meta.rank == 0)
        return cbk_fail(CBK_ERROR_SHAPE, 0, "%s has rank 0, not 1 or more", what);
    if (x->meta.rank == 1) return cbk_unsqueeze(stream, x, 1, (int32_t[]){0}, out);
    *out = cbk_tensor_retain((cbk_tensor *)(uintptr_t)x);
    return CBK_OK;
}

/// All leading axes of `x` merged into one; a copy only where no strides can express it.
static cbk_status as_matrix(cbk_stream *stream, const cbk_tensor *x, const char *what,
                            cbk_tensor **out) {
    cbk_status status = cbk_check_tensor(x, what);
    if (status != CBK_OK) return status;
    const cbk_tensor_meta *meta = &x->meta;
    if (meta->rank == 2 || meta->rank == 0) return as_rows(stream, x, what, out);
    int64_t shape[2] = {1, meta->shape[meta->rank - 1]};
    for (uint32_t i = 0; i + 1 < meta->rank; i++) shape[0] *= meta->shape[i];
    return cbk_reshape(stream, x, 2, shape, out);
}

/// The result of one row as a vector, if the operand was one. Takes over `rows`.
static cbk_status give_back(cbk_stream *stream, bool is_vector, cbk_tensor **rows,
                            cbk_tensor **out) {
    cbk_status status = CBK_OK;
    if (is_vector) {
        status = cbk_squeeze(stream, *rows, 1, (int32_t[]){0}, out);
    } else {
        *out = *rows;
        *rows = NULL;
    }
    return status;
}

cbk_status cbk_linear(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *weight,
                      const cbk_tensor *bias, const cbk_matmul_params *params, cbk_tensor **out) {
    cbk_tensor *rows = NULL, *result = NULL;
    struct cbk_call former = cbk_call_begin_composed("linear", CBK_OP_NONE);
    cbk_status status = CBK_OK;
    TRY(cbk_check_out(out));
    TRY(as_rows(stream, x, "x", &rows));
    TRY(cbk_matmul_fused(stream, rows, weight, bias, NULL, params, &result));
    TRY(give_back(stream, x->meta.rank == 1, &result, out));
done:
    cbk_tensor_release(&rows);
    cbk_tensor_release(&result);
    return cbk_call_end(former, status);
}

cbk_status cbk_linear_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *weight,
                           const cbk_tensor *bias, const cbk_matmul_params *params,
                           cbk_tensor *dst) {
    cbk_tensor *rows = NULL, *result = NULL;
    struct cbk_call former = cbk_call_begin_composed("linear", CBK_OP_NONE);
    cbk_status status = CBK_OK;
    TRY(as_rows(stream, x, "x", &rows));
    TRY(as_rows(stream, dst, "dst", &result));
    TRY(cbk_matmul_fused_into(stream, rows, weight, bias, NULL, params, result));
done:
    cbk_tensor_release(&rows);
    cbk_tensor_release(&result);
    return cbk_call_end(former, status);
}

// ---- its gradients ------------------------------------------------------------------------------

cbk_status cbk_linear_x_backward(cbk_stream *stream, const cbk_tensor *weight,
                                 const cbk_tensor *grad, cbk_tensor **out) {
    cbk_tensor *turned = NULL;
    struct cbk_call former = cbk_call_begin_composed("linear_x_backward", CBK_OP_NONE);
    cbk_status status = cbk_transpose(stream, weight, -2, -1, &turned);
    if (status == CBK_OK) status = cbk_linear(stream, grad, turned, NULL, NULL, out);
    cbk_tensor_release(&turned);
    return cbk_call_end(former, status);
}

cbk_status cbk_linear_x_backward_into(cbk_stream *stream, const cbk_tensor *weight,
                                      const cbk_tensor *grad, cbk_tensor *dst) {
    cbk_tensor *turned = NULL;
    struct cbk_call former = cbk_call_begin_composed("linear_x_backward", CBK_OP_NONE);
    cbk_status status = cbk_transpose(stream, weight, -2, -1, &turned);
    if (status == CBK_OK) status = cbk_linear_into(stream, grad, turned, NULL, NULL, dst);
    cbk_tensor_release(&turned);
    return cbk_call_end(former, status);
}

/// x turned round, and grad, both as matrices.
static cbk_status weight_operands(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *grad,
                                  cbk_tensor **out_x, cbk_tensor **out_grad) {
    cbk_tensor *rows = NULL;
    cbk_status status = CBK_OK;
    TRY(as_matrix(stream, x, "x", &rows));
    TRY(cbk_transpose(stream, rows, 0, 1, out_x));
    TRY(as_matrix(stream, grad, "grad", out_grad));
done:
    cbk_tensor_release(&rows);
    return status;
}

cbk_status cbk_linear_weight_backward(cbk_stream *stream, const cbk_tensor *x,
                                      const cbk_tensor *grad, cbk_tensor **out) {
    cbk_tensor *turned = NULL, *rows = NULL;
    struct cbk_call former = cbk_call_begin_composed("linear_weight_backward", CBK_OP_NONE);
    cbk_status status = CBK_OK;
    TRY(cbk_check_out(out));
    TRY(weight_operands(stream, x, grad, &turned, &rows));
    TRY(cbk_matmul(stream, turned, rows, NULL, out));
done:
    cbk_tensor_release(&turned);
    cbk_tensor_release(&rows);
    return cbk_call_end(former, status);
}

cbk_status cbk_linear_weight_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                           const cbk_tensor *grad, cbk_tensor *dst) {
    cbk_tensor *turned = NULL, *rows = NULL;
    struct cbk_call former = cbk_call_begin_composed("linear_weight_backward", CBK_OP_NONE);
    cbk_status status = CBK_OK;
    TRY(weight_operands(stream, x, grad, &turned, &rows));
    TRY(cbk_matmul_into(stream, turned, rows, NULL, dst));
done:
    cbk_tensor_release(&turned);
    cbk_tensor_release(&rows);
    return cbk_call_end(former, status);
}

/// All axes of `grad` but the last, for a sum that drops them; a vector's row has one to drop.
static cbk_reduce_params leading_axes(const cbk_tensor *grad) {
    cbk_reduce_params params = {.struct_size = sizeof params, .drop_axes = 1};
    params.axis_count = grad->meta.rank - 1;
    for (uint32_t i = 0; i < params.axis_count; i++) params.axes[i] = (int32_t)i;
    return params;
}

cbk_status cbk_linear_bias_backward(cbk_stream *stream, const cbk_tensor *grad, cbk_tensor **out) {
    cbk_tensor *rows = NULL;
    struct cbk_call former = cbk_call_begin_composed("linear_bias_backward", CBK_OP_NONE);
    cbk_status status = CBK_OK;
    TRY(cbk_check_out(out));
    TRY(as_rows(stream, grad, "grad", &rows));
    const cbk_reduce_params params = leading_axes(rows);
    TRY(cbk_sum(stream, rows, &params, out));
done:
    cbk_tensor_release(&rows);
    return cbk_call_end(former, status);
}

cbk_status cbk_linear_bias_backward_into(cbk_stream *stream, const cbk_tensor *grad,
                                         cbk_tensor *dst) {
    cbk_tensor *rows = NULL;
    struct cbk_call former = cbk_call_begin_composed("linear_bias_backward", CBK_OP_NONE);
    cbk_status status = CBK_OK;
    TRY(as_rows(stream, grad, "grad", &rows));
    const cbk_reduce_params params = leading_axes(rows);
    TRY(cbk_sum_into(stream, rows, &params, dst));
done:
    cbk_tensor_release(&rows);
    return cbk_call_end(former, status);
}
