// ops_statistics.c: statistics that are composed of other operations.
#include "core.h"

#include <cubeback/ops.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

static cbk_status check_variables(const cbk_tensor *x, int64_t correction) {
    cbk_status status = cbk_check_tensor(x, "x");
    if (status == CBK_OK && x->meta.rank != 2) {
        char text[CBK_SHAPE_TEXT];
        status = cbk_fail(CBK_ERROR_SHAPE, 0, "x is %s: it must have rank 2",
                          cbk_shape_text(x->meta.rank, x->meta.shape, text));
    }
    if (status == CBK_OK && correction < 0) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "correction is %lld, below 0",
                          (long long)correction);
    }
    return status;
}

static cbk_status matrix_trace(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out) {
    cbk_tensor *diagonal = NULL;
    const cbk_reduce_params last = {
        .struct_size = sizeof last, .axis_count = 1, .axes = {-1}, .drop_axes = 1};
    cbk_status status = cbk_check_out(out);
    if (status != CBK_OK) return status;
    TRY(cbk_diagonal(stream, x, 0, -2, -1, &diagonal));
    TRY(cbk_sum(stream, diagonal, &last, out));
done:
    cbk_tensor_release(&diagonal);
    return status;
}

cbk_status cbk_matrix_trace(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin_composed("matrix_trace", CBK_OP_NONE);
    return cbk_call_end(former, matrix_trace(stream, x, out));
}

static cbk_status cov(cbk_stream *stream, const cbk_tensor *x, int64_t correction,
                      cbk_tensor **out) {
    cbk_tensor *mean = NULL, *centered = NULL, *turned = NULL, *product = NULL;
    const cbk_reduce_params rows = {.struct_size = sizeof rows, .axis_count = 1, .axes = {1}};
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = check_variables(x, correction);
    if (status != CBK_OK) return status;
    const int64_t length = x->meta.shape[1];
    const int64_t divisor = length > correction ? length - correction : 0;
    TRY(cbk_mean(stream, x, &rows, &mean));
    TRY(cbk_sub(stream, x, mean, &centered));
    TRY(cbk_transpose(stream, centered, 0, 1, &turned));
    TRY(cbk_matmul(stream, centered, turned, NULL, &product));
    TRY(cbk_div_scalar(stream, product, cbk_f((double)divisor), out));
done:
    cbk_tensor_release(&product);
    cbk_tensor_release(&turned);
    cbk_tensor_release(&centered);
    cbk_tensor_release(&mean);
    return status;
}

cbk_status cbk_cov(cbk_stream *stream, const cbk_tensor *x, int64_t correction, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin_composed("cov", CBK_OP_NONE);
    return cbk_call_end(former, cov(stream, x, correction, out));
}

static cbk_status cosine_similarity(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                    int32_t axis, double eps, cbk_tensor **out) {
    cbk_tensor *product = NULL, *dot = NULL, *size_a = NULL, *size_b = NULL, *unit_a = NULL;
    const cbk_reduce_params along = {
        .struct_size = sizeof along, .axis_count = 1, .axes = {axis}, .drop_axes = 1};
    const cbk_norm_params norm = {
        .struct_size = sizeof norm, .axis_count = 1, .axes = {axis}, .drop_axes = 1};
    const cbk_scalar least = cbk_f(eps != 0 ? eps : 1e-8);
    cbk_tensor *bounded_a = NULL, *bounded_b = NULL;
    cbk_status status = cbk_check_out(out);
    if (status != CBK_OK) return status;
    TRY(cbk_mul(stream, a, b, &product));
    TRY(cbk_sum(stream, product, &along, &dot));
    TRY(cbk_norm(stream, a, &norm, &size_a));
    TRY(cbk_norm(stream, b, &norm, &size_b));
    TRY(cbk_maximum_scalar(stream, size_a, least, &bounded_a));
    TRY(cbk_maximum_scalar(stream, size_b, least, &bounded_b));
    TRY(cbk_div(stream, dot, bounded_a, &unit_a));
    TRY(cbk_div(stream, unit_a, bounded_b, out));
done:
    cbk_tensor_release(&unit_a);
    cbk_tensor_release(&bounded_b);
    cbk_tensor_release(&bounded_a);
    cbk_tensor_release(&size_b);
    cbk_tensor_release(&size_a);
    cbk_tensor_release(&dot);
    cbk_tensor_release(&product);
    return status;
}

cbk_status cbk_cosine_similarity(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 int32_t axis, double eps, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin_composed("cosine_similarity", CBK_OP_NONE);
    return cbk_call_end(former, cosine_similarity(stream, a, b, axis, eps, out));
}
