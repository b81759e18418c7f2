// ops_linalg.c: named functions of the linalg family.
#include "core.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

// ---- rows ---------------------------------------------------------------------------------------

cbk_status cbk_lu_factor(cbk_stream *stream, const cbk_tensor *x, const cbk_lu_params *params,
                         cbk_tensor **out_lu, cbk_tensor **out_pivots,
                         cbk_tensor **out_permutation) {
    cbk_tensor **const outs[] = {out_lu, out_pivots, out_permutation};
    return cbk_run_outputs(stream, CBK_OP_LU_FACTOR, &x, 1, params,
                           params != NULL ? params->struct_size : 0, outs, 3);
}

cbk_status cbk_lu_factor_into(cbk_stream *stream, const cbk_tensor *x, const cbk_lu_params *params,
                              cbk_tensor *dst_lu, cbk_tensor *dst_pivots,
                              cbk_tensor *dst_permutation) {
    cbk_tensor *const dsts[] = {dst_lu, dst_pivots, dst_permutation};
    return cbk_run_into_outputs(stream, CBK_OP_LU_FACTOR, &x, 1, params,
                                params != NULL ? params->struct_size : 0, dsts, 3);
}

cbk_status cbk_det(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out) {
    return cbk_run(stream, CBK_OP_DET, &x, 1, NULL, 0, out);
}

cbk_status cbk_det_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst) {
    return cbk_run_into(stream, CBK_OP_DET, &x, 1, NULL, 0, dst);
}

cbk_status cbk_qr(cbk_stream *stream, const cbk_tensor *x, const cbk_qr_params *params,
                  cbk_tensor **out_q, cbk_tensor **out_r) {
    cbk_tensor **const outs[] = {out_q, out_r};
    return cbk_run_outputs(stream, CBK_OP_QR, &x, 1, params,
                           params != NULL ? params->struct_size : 0, outs, 2);
}

cbk_status cbk_qr_into(cbk_stream *stream, const cbk_tensor *x, const cbk_qr_params *params,
                       cbk_tensor *dst_q, cbk_tensor *dst_r) {
    cbk_tensor *const dsts[] = {dst_q, dst_r};
    return cbk_run_into_outputs(stream, CBK_OP_QR, &x, 1, params,
                                params != NULL ? params->struct_size : 0, dsts, 2);
}

// ---- lu: the packed form taken apart ------------------------------------------------------------

/// P [.., m, m]: column i has its one in row permutation[i].
static cbk_status make_p(cbk_stream *stream, const cbk_tensor *permutation, cbk_dtype dtype,
                         cbk_tensor **out) {
    const cbk_tensor_meta *meta = &permutation->meta;
    const cbk_one_hot_params params = {
        .struct_size = sizeof params, .dtype = dtype, .classes = meta->shape[meta->rank - 1]};
    cbk_tensor *rows = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_one_hot(stream, permutation, &params, &rows));
    TRY(cbk_transpose(stream, rows, -1, -2, out));
done:
    cbk_tensor_release(&rows);
    return status;
}

static cbk_status make_l(cbk_stream *stream, const cbk_tensor *lu, int64_t k, cbk_tensor **out) {
    cbk_tensor *left = NULL, *lower = NULL, *diagonal = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_narrow(stream, lu, -1, 0, k, &left));
    TRY(cbk_tril(stream, left, -1, &lower));
    TRY(cbk_diagonal(stream, lower, 0, 0, 0, &diagonal));
    TRY(cbk_fill_into(stream, cbk_f(1), diagonal));
    *out = lower;
    lower = NULL;
done:
    cbk_tensor_release(&diagonal);
    cbk_tensor_release(&lower);
    cbk_tensor_release(&left);
    return status;
}

static cbk_status make_u(cbk_stream *stream, const cbk_tensor *lu, int64_t k, cbk_tensor **out) {
    cbk_tensor *top = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_narrow(stream, lu, -2, 0, k, &top));
    TRY(cbk_triu(stream, top, 0, out));
done:
    cbk_tensor_release(&top);
    return status;
}

enum { P, L, U, FACTORS };

static cbk_status make_factors(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *made[FACTORS]) {
    const cbk_lu_params params = {.struct_size = sizeof params, .out_dtype = CBK_DTYPE_I32};
    cbk_tensor *lu = NULL, *pivots = NULL, *permutation = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_lu_factor(stream, x, &params, &lu, &pivots, &permutation));
    const cbk_tensor_meta *steps = &pivots->meta;
    const int64_t k = steps->shape[steps->rank - 1];
    TRY(make_p(stream, permutation, lu->meta.dtype, &made[P]));
    TRY(make_l(stream, lu, k, &made[L]));
    TRY(make_u(stream, lu, k, &made[U]));
done:
    cbk_tensor_release(&permutation);
    cbk_tensor_release(&pivots);
    cbk_tensor_release(&lu);
    return status;
}

cbk_status cbk_lu(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out_p, cbk_tensor **out_l,
                  cbk_tensor **out_u) {
    cbk_tensor **const outs[FACTORS] = {out_p, out_l, out_u};
    cbk_tensor *made[FACTORS] = {NULL};
    struct cbk_call former = cbk_call_begin("lu", CBK_OP_LU_FACTOR);
    cbk_status status = CBK_OK;
    for (int i = 0; i < FACTORS; i++) {
        cbk_status missing = cbk_check_out(outs[i]);
        if (status == CBK_OK) status = missing;
    }
    if (status == CBK_OK) status = make_factors(stream, x, made);
    for (int i = 0; i < FACTORS; i++) {
        if (status == CBK_OK)
            *outs[i] = made[i];
        else
            cbk_tensor_release(&made[i]);
    }
    return cbk_call_end(former, status);
}
