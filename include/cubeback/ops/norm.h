/// cubeback/ops/norm.h: normalisations.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_NORM_H
#define CUBEBACK_OPS_NORM_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What holds for all of them: the last axis_count axes of x (params NULL: the last one) are
/// normalised together; gamma and beta have exactly these axes and x's dtype, and may be NULL (1 and
/// 0). A gradient has x's shape. Dtypes: floats; f16 and bf16 are computed in f32 and rounded once.
/// Rows of no elements give none.

/// (x - mean) / sqrt(variance + eps) gamma + beta, with the population's variance.
CBK_API cbk_status cbk_layer_norm(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *gamma,
                                  const cbk_tensor *beta, const cbk_layer_norm_params *params,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_layer_norm_into(cbk_stream *stream, const cbk_tensor *x,
                                       const cbk_tensor *gamma, const cbk_tensor *beta,
                                       const cbk_layer_norm_params *params, cbk_tensor *dst);
/// x / sqrt(mean of x^2 + eps) gamma.
CBK_API cbk_status cbk_rms_norm(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *gamma,
                                const cbk_layer_norm_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_rms_norm_into(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_tensor *gamma, const cbk_layer_norm_params *params,
                                     cbk_tensor *dst);
/// The gradients of x, gamma and beta; the last two as if gamma and beta were given. Mean and
/// variance are computed again, so nothing need be kept from the forward pass.
CBK_API cbk_status cbk_layer_norm_backward(cbk_stream *stream, const cbk_tensor *gradient,
                                           const cbk_tensor *x, const cbk_tensor *gamma,
                                           const cbk_layer_norm_params *params, cbk_tensor **out_x,
                                           cbk_tensor **out_gamma, cbk_tensor **out_beta);
CBK_API cbk_status cbk_layer_norm_backward_into(cbk_stream *stream, const cbk_tensor *gradient,
                                                const cbk_tensor *x, const cbk_tensor *gamma,
                                                const cbk_layer_norm_params *params,
                                                cbk_tensor *dst_x, cbk_tensor *dst_gamma,
                                                cbk_tensor *dst_beta);
CBK_API cbk_status cbk_rms_norm_backward(cbk_stream *stream, const cbk_tensor *gradient,
                                         const cbk_tensor *x, const cbk_tensor *gamma,
                                         const cbk_layer_norm_params *params, cbk_tensor **out_x,
                                         cbk_tensor **out_gamma);
CBK_API cbk_status cbk_rms_norm_backward_into(cbk_stream *stream, const cbk_tensor *gradient,
                                              const cbk_tensor *x, const cbk_tensor *gamma,
                                              const cbk_layer_norm_params *params,
                                              cbk_tensor *dst_x, cbk_tensor *dst_gamma);
/// (x - mean) / sqrt(var + eps) gamma + beta of x [n, channels, ...], by given statistics, all of
/// them [channels]; gamma and beta may be NULL. eps 0: 1e-5. Channels-last x gives channels-last.
CBK_API cbk_status cbk_batch_norm(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *mean,
                                  const cbk_tensor *var, const cbk_tensor *gamma,
                                  const cbk_tensor *beta, double eps, cbk_tensor **out);
CBK_API cbk_status cbk_batch_norm_into(cbk_stream *stream, const cbk_tensor *x,
                                       const cbk_tensor *mean, const cbk_tensor *var,
                                       const cbk_tensor *gamma, const cbk_tensor *beta, double eps,
                                       cbk_tensor *dst);
/// layer_norm over groups of channels and all axes after them of x [n, channels, ...]; gamma and beta
/// are [channels] or NULL. `groups` divides the channels: 1 normalises all of them together, as many
/// as channels each by itself (instance norm). eps 0: 1e-5.
CBK_API cbk_status cbk_group_norm(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *gamma,
                                  const cbk_tensor *beta, int64_t groups, double eps,
                                  cbk_tensor **out);

#ifdef __cplusplus
}
#endif
#endif
