// ops_norm.c: named functions of the normalisations.
#include "core.h"

#include <cubeback/ops.h>

#define PARAMS_SIZE (params != NULL ? params->struct_size : 0)

cbk_status cbk_layer_norm(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *gamma,
                          const cbk_tensor *beta, const cbk_layer_norm_params *params,
                          cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {x, gamma, beta};
    return cbk_run(stream, CBK_OP_LAYER_NORM, inputs, 3, params, PARAMS_SIZE, out);
}

cbk_status cbk_layer_norm_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *gamma,
                               const cbk_tensor *beta, const cbk_layer_norm_params *params,
                               cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {x, gamma, beta};
    return cbk_run_into(stream, CBK_OP_LAYER_NORM, inputs, 3, params, PARAMS_SIZE, dst);
}

cbk_status cbk_rms_norm(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *gamma,
                        const cbk_layer_norm_params *params, cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {x, gamma};
    return cbk_run(stream, CBK_OP_RMS_NORM, inputs, 2, params, PARAMS_SIZE, out);
}

cbk_status cbk_rms_norm_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *gamma,
                             const cbk_layer_norm_params *params, cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {x, gamma};
    return cbk_run_into(stream, CBK_OP_RMS_NORM, inputs, 2, params, PARAMS_SIZE, dst);
}

cbk_status cbk_layer_norm_backward(cbk_stream *stream, const cbk_tensor *gradient,
                                   const cbk_tensor *x, const cbk_tensor *gamma,
                                   const cbk_layer_norm_params *params, cbk_tensor **out_x,
                                   cbk_tensor **out_gamma, cbk_tensor **out_beta) {
    const cbk_tensor *const inputs[] = {gradient, x, gamma};
    cbk_tensor **const outs[] = {out_x, out_gamma, out_beta};
    return cbk_run_outputs(stream, CBK_OP_LAYER_NORM_BACKWARD, inputs, 3, params, PARAMS_SIZE, outs,
                           3);
}

cbk_status cbk_layer_norm_backward_into(cbk_stream *stream, const cbk_tensor *gradient,
                                        const cbk_tensor *x, const cbk_tensor *gamma,
                                        const cbk_layer_norm_params *params, cbk_tensor *dst_x,
                                        cbk_tensor *dst_gamma, cbk_tensor *dst_beta) {
    const cbk_tensor *const inputs[] = {gradient, x, gamma};
    cbk_tensor *const dsts[] = {dst_x, dst_gamma, dst_beta};
    return cbk_run_into_outputs(stream, CBK_OP_LAYER_NORM_BACKWARD, inputs, 3, params, PARAMS_SIZE,
                                dsts, 3);
}

cbk_status cbk_rms_norm_backward(cbk_stream *stream, const cbk_tensor *gradient,
                                 const cbk_tensor *x, const cbk_tensor *gamma,
                                 const cbk_layer_norm_params *params, cbk_tensor **out_x,
                                 cbk_tensor **out_gamma) {
    const cbk_tensor *const inputs[] = {gradient, x, gamma};
    cbk_tensor **const outs[] = {out_x, out_gamma};
    return cbk_run_outputs(stream, CBK_OP_RMS_NORM_BACKWARD, inputs, 3, params, PARAMS_SIZE, outs,
                           2);
}

cbk_status cbk_rms_norm_backward_into(cbk_stream *stream, const cbk_tensor *gradient,
                                      const cbk_tensor *x, const cbk_tensor *gamma,
                                      const cbk_layer_norm_params *params, cbk_tensor *dst_x,
                                      cbk_tensor *dst_gamma) {
    const cbk_tensor *const inputs[] = {gradient, x, gamma};
    cbk_tensor *const dsts[] = {dst_x, dst_gamma};
    return cbk_run_into_outputs(stream, CBK_OP_RMS_NORM_BACKWARD, inputs, 3, params, PARAMS_SIZE,
                                dsts, 2);
}

cbk_status cbk_batch_norm(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *mean,
                          const cbk_tensor *var, const cbk_tensor *gamma, const cbk_tensor *beta,
                          double eps, cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {x, mean, var, gamma, beta};
    const cbk_layer_norm_params params = {.struct_size = sizeof params, .eps = eps};
    return cbk_run(stream, CBK_OP_BATCH_NORM, inputs, 5, &params, sizeof params, out);
}

cbk_status cbk_batch_norm_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *mean,
                               const cbk_tensor *var, const cbk_tensor *gamma,
                               const cbk_tensor *beta, double eps, cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {x, mean, var, gamma, beta};
    const cbk_layer_norm_params params = {.struct_size = sizeof params, .eps = eps};
    return cbk_run_into(stream, CBK_OP_BATCH_NORM, inputs, 5, &params, sizeof params, dst);
}

// ---- group_norm: a layer_norm between two reshapes ----------------------------------------------

static cbk_status check_groups(const cbk_tensor *x, int64_t groups) {
    char text[CBK_SHAPE_TEXT];
    cbk_status status = cbk_check_tensor(x, "x");
    if (status != CBK_OK) return status;
    if (x->meta.rank >= 2 && groups >= 1 && x->meta.shape[1] % groups == 0) return CBK_OK;
    return cbk_fail(CBK_ERROR_SHAPE, 0,
                    "x is %s: it needs rank 2 or more and a multiple of %lld channels",
                    cbk_shape_text(x->meta.rank, x->meta.shape, text), (long long)groups);
}

/// [channels] as it broadcasts against x.
static cbk_status channels_of(cbk_stream *stream, const cbk_tensor *factor, const cbk_tensor *x,
                              cbk_tensor **out) {
    int64_t shape[CBK_MAX_RANK] = {x->meta.shape[1], 1, 1, 1, 1, 1, 1, 1};
    return cbk_reshape(stream, factor, x->meta.rank - 1, shape, out);
}

/// Applies `function` with a factor, in place of *in_out.
static cbk_status apply_factor(cbk_stream *stream, const cbk_tensor *factor, const cbk_tensor *x,
                               cbk_status (*function)(cbk_stream *, const cbk_tensor *,
                                                      const cbk_tensor *, cbk_tensor **),
                               cbk_tensor **in_out) {
    cbk_tensor *broadcast = NULL, *result = NULL;
    if (factor == NULL) return CBK_OK;
    cbk_status status = channels_of(stream, factor, x, &broadcast);
    if (status == CBK_OK) status = function(stream, *in_out, broadcast, &result);
    cbk_tensor_release(&broadcast);
    if (status != CBK_OK) return status;
    cbk_tensor_release(in_out);
    *in_out = result;
    return CBK_OK;
}

static cbk_status group_norm(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *gamma,
                             const cbk_tensor *beta, int64_t groups, double eps, cbk_tensor **out) {
    const cbk_layer_norm_params params = {.struct_size = sizeof params, .eps = eps};
    cbk_tensor *grouped = NULL, *normalised = NULL, *result = NULL;
    cbk_status status = check_groups(x, groups);
    if (status != CBK_OK) return status;
    int64_t shape[3] = {x->meta.shape[0], groups, x->meta.shape[1] / groups};
    for (uint32_t i = 2; i < x->meta.rank; i++) shape[2] *= x->meta.shape[i];
    status = cbk_reshape(stream, x, 3, shape, &grouped);
    if (status == CBK_OK)
        status = cbk_layer_norm(stream, grouped, NULL, NULL, &params, &normalised);
    if (status == CBK_OK)
        status = cbk_reshape(stream, normalised, x->meta.rank, x->meta.shape, &result);
    if (status == CBK_OK) status = apply_factor(stream, gamma, x, cbk_mul, &result);
    if (status == CBK_OK) status = apply_factor(stream, beta, x, cbk_add, &result);
    cbk_tensor_release(&normalised);
    cbk_tensor_release(&grouped);
    if (status != CBK_OK) cbk_tensor_release(&result);
    *out = result;
    return status;
}

cbk_status cbk_group_norm(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *gamma,
                          const cbk_tensor *beta, int64_t groups, double eps, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("group_norm", CBK_OP_NONE);
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = group_norm(stream, x, gamma, beta, groups, eps, out);
    return cbk_call_end(former, status);
}
