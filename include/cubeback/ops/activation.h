/// cubeback/ops/activation.h: activations and their gradients.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_ACTIVATION_H
#define CUBEBACK_OPS_ACTIVATION_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// max(x, 0); NaN stays NaN. Dtypes: floats, ints.
CBK_API cbk_status cbk_relu(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_relu_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// 1 / (1 + exp(-x)). Dtypes: floats.
CBK_API cbk_status cbk_sigmoid(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_sigmoid_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// log(sigmoid(x)), stable. Dtypes: floats.
CBK_API cbk_status cbk_log_sigmoid(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_log_sigmoid_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// x * sigmoid(x); 0 for -inf. Dtypes: floats.
CBK_API cbk_status cbk_silu(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_silu_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// x * tanh(softplus(x)); 0 for -inf. Dtypes: floats.
CBK_API cbk_status cbk_mish(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_mish_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// x * P(X <= x) for a normal X: variant CBK_GELU_EXACT by erf, CBK_GELU_TANH by
/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))); 0 for -inf. Dtypes: floats.
CBK_API cbk_status cbk_gelu(cbk_stream *stream, const cbk_tensor *x, uint32_t variant,
                            cbk_tensor **out);
CBK_API cbk_status cbk_gelu_into(cbk_stream *stream, const cbk_tensor *x, uint32_t variant,
                                 cbk_tensor *dst);
/// log(1 + exp(beta x)) / beta, x itself where beta x > threshold. NULL params: 1 and 20.
/// Dtypes: floats.
CBK_API cbk_status cbk_softplus(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_activation_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_softplus_into(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_activation_params *params, cbk_tensor *dst);
/// x > 0 ? x : slope * x. Dtypes: floats.
CBK_API cbk_status cbk_leaky_relu(cbk_stream *stream, const cbk_tensor *x, double slope,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_leaky_relu_into(cbk_stream *stream, const cbk_tensor *x, double slope,
                                       cbk_tensor *dst);
/// x > 0 ? x : alpha * (exp(x) - 1). Dtypes: floats.
CBK_API cbk_status cbk_elu(cbk_stream *stream, const cbk_tensor *x, double alpha, cbk_tensor **out);
CBK_API cbk_status cbk_elu_into(cbk_stream *stream, const cbk_tensor *x, double alpha,
                                cbk_tensor *dst);
/// min(max(alpha x + beta, 0), 1). NULL params: 1/6 and 1/2. Dtypes: floats.
CBK_API cbk_status cbk_hard_sigmoid(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_activation_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_hard_sigmoid_into(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_activation_params *params, cbk_tensor *dst);
/// max(x, 0) + min(0, alpha * (exp(x / alpha) - 1)). Dtypes: floats.
CBK_API cbk_status cbk_celu(cbk_stream *stream, const cbk_tensor *x, double alpha,
                            cbk_tensor **out);
CBK_API cbk_status cbk_celu_into(cbk_stream *stream, const cbk_tensor *x, double alpha,
                                 cbk_tensor *dst);
/// s * (x > 0 ? x : a * (exp(x) - 1)) with s = 1.0507009873554805, a = 1.6732632423543772.
/// Dtypes: floats.
CBK_API cbk_status cbk_selu(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_selu_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// min(max(x, low), high); NaN stays NaN. Dtypes: floats.
CBK_API cbk_status cbk_hardtanh(cbk_stream *stream, const cbk_tensor *x, double low, double high,
                                cbk_tensor **out);
CBK_API cbk_status cbk_hardtanh_into(cbk_stream *stream, const cbk_tensor *x, double low,
                                     double high, cbk_tensor *dst);
/// min(max(x, 0), 6); NaN stays NaN. Dtypes: floats.
CBK_API cbk_status cbk_relu6(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_relu6_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// x * relu6(x + 3) / 6; 0 for -inf. Dtypes: floats.
CBK_API cbk_status cbk_hardswish(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_hardswish_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// x / (1 + |x|); 1 or -1 for an infinite x. Dtypes: floats.
CBK_API cbk_status cbk_softsign(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_softsign_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// x - tanh(x), accurate near 0. Dtypes: floats.
CBK_API cbk_status cbk_tanhshrink(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_tanhshrink_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// x - lambda above lambda, x + lambda below -lambda, else 0; NaN stays NaN. Dtypes: floats.
CBK_API cbk_status cbk_softshrink(cbk_stream *stream, const cbk_tensor *x, double lambda,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_softshrink_into(cbk_stream *stream, const cbk_tensor *x, double lambda,
                                       cbk_tensor *dst);
/// -lambda <= x <= lambda ? 0 : x. Dtypes: floats.
CBK_API cbk_status cbk_hardshrink(cbk_stream *stream, const cbk_tensor *x, double lambda,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_hardshrink_into(cbk_stream *stream, const cbk_tensor *x, double lambda,
                                       cbk_tensor *dst);
/// x <= threshold ? value : x. Dtypes: floats.
CBK_API cbk_status cbk_threshold(cbk_stream *stream, const cbk_tensor *x, double threshold,
                                 double value, cbk_tensor **out);
CBK_API cbk_status cbk_threshold_into(cbk_stream *stream, const cbk_tensor *x, double threshold,
                                      double value, cbk_tensor *dst);
/// x <= alpha ? 0 : x. Dtypes: floats.
CBK_API cbk_status cbk_thresholded_relu(cbk_stream *stream, const cbk_tensor *x, double alpha,
                                        cbk_tensor **out);
CBK_API cbk_status cbk_thresholded_relu_into(cbk_stream *stream, const cbk_tensor *x, double alpha,
                                             cbk_tensor *dst);
/// x > 0 ? x : slope * x. slope is [1], or [channels] along axis 1 of x. (The row itself takes two
/// operands that broadcast.) Dtypes: floats.
CBK_API cbk_status cbk_prelu(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *slope,
                             cbk_tensor **out);
CBK_API cbk_status cbk_prelu_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *slope,
                                  cbk_tensor *dst);
/// The gradients of x, of its shape, and of slope: the sum of grad min(x, 0) over the elements of
/// each slope, in three more launches; out_slope and dst_slope may be NULL. grad has x's shape;
/// dst_slope lies apart from the inputs and dst_x. (The row itself gives the gradient of x alone, for
/// three operands that broadcast.) Dtypes: floats.
CBK_API cbk_status cbk_prelu_backward(cbk_stream *stream, const cbk_tensor *x,
                                      const cbk_tensor *slope, const cbk_tensor *grad,
                                      cbk_tensor **out_x, cbk_tensor **out_slope);
CBK_API cbk_status cbk_prelu_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                           const cbk_tensor *slope, const cbk_tensor *grad,
                                           cbk_tensor *dst_x, cbk_tensor *dst_slope);
/// The first half of `axis` times the sigmoid of the second half, in one launch. (The row itself
/// takes the two halves.) Dtypes: floats. Errors: CBK_ERROR_SHAPE for an odd length.
CBK_API cbk_status cbk_glu(cbk_stream *stream, const cbk_tensor *x, int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_glu_into(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                cbk_tensor *dst);
/// The gradient of x, of its shape, in two launches; grad has the shape of glu's result, dst lies
/// apart from both. (The row itself gives the gate's half.) Dtypes: floats.
CBK_API cbk_status cbk_glu_backward(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *grad,
                                    int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_glu_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_tensor *grad, int32_t axis, cbk_tensor *dst);

// ---- gradients -----------------------------------------------------------------------------

/// grad times the activation's derivative, in one launch: relu, sigmoid and tanh take the output
/// that was saved, all others the input x; both operands broadcast. Constants as in the forward
/// form. At a kink the derivative is that of the flat side (leaky_relu, elu, celu, selu: of the
/// side below 0). A NaN that was saved gives NaN where the function is smooth there; where it is
/// piecewise linear, NaN counts as on the piece that hands it on. Dtypes: floats; f16 and bf16 are
/// computed in f32.

CBK_API cbk_status cbk_relu_backward(cbk_stream *stream, const cbk_tensor *output,
                                     const cbk_tensor *grad, cbk_tensor **out);
CBK_API cbk_status cbk_relu_backward_into(cbk_stream *stream, const cbk_tensor *output,
                                          const cbk_tensor *grad, cbk_tensor *dst);
CBK_API cbk_status cbk_sigmoid_backward(cbk_stream *stream, const cbk_tensor *output,
                                        const cbk_tensor *grad, cbk_tensor **out);
CBK_API cbk_status cbk_sigmoid_backward_into(cbk_stream *stream, const cbk_tensor *output,
                                             const cbk_tensor *grad, cbk_tensor *dst);
CBK_API cbk_status cbk_tanh_backward(cbk_stream *stream, const cbk_tensor *output,
                                     const cbk_tensor *grad, cbk_tensor **out);
CBK_API cbk_status cbk_tanh_backward_into(cbk_stream *stream, const cbk_tensor *output,
                                          const cbk_tensor *grad, cbk_tensor *dst);
CBK_API cbk_status cbk_gelu_backward(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_tensor *grad, uint32_t variant, cbk_tensor **out);
CBK_API cbk_status cbk_gelu_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                          const cbk_tensor *grad, uint32_t variant,
                                          cbk_tensor *dst);
CBK_API cbk_status cbk_log_sigmoid_backward(cbk_stream *stream, const cbk_tensor *x,
                                            const cbk_tensor *grad, cbk_tensor **out);
CBK_API cbk_status cbk_log_sigmoid_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                                 const cbk_tensor *grad, cbk_tensor *dst);
CBK_API cbk_status cbk_silu_backward(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_tensor *grad, cbk_tensor **out);
CBK_API cbk_status cbk_silu_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                          const cbk_tensor *grad, cbk_tensor *dst);
CBK_API cbk_status cbk_mish_backward(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_tensor *grad, cbk_tensor **out);
CBK_API cbk_status cbk_mish_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                          const cbk_tensor *grad, cbk_tensor *dst);
CBK_API cbk_status cbk_hardswish_backward(cbk_stream *stream, const cbk_tensor *x,
                                          const cbk_tensor *grad, cbk_tensor **out);
CBK_API cbk_status cbk_hardswish_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                               const cbk_tensor *grad, cbk_tensor *dst);
CBK_API cbk_status cbk_selu_backward(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_tensor *grad, cbk_tensor **out);
CBK_API cbk_status cbk_selu_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                          const cbk_tensor *grad, cbk_tensor *dst);
CBK_API cbk_status cbk_relu6_backward(cbk_stream *stream, const cbk_tensor *x,
                                      const cbk_tensor *grad, cbk_tensor **out);
CBK_API cbk_status cbk_relu6_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                           const cbk_tensor *grad, cbk_tensor *dst);
CBK_API cbk_status cbk_softsign_backward(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_tensor *grad, cbk_tensor **out);
CBK_API cbk_status cbk_softsign_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                              const cbk_tensor *grad, cbk_tensor *dst);
CBK_API cbk_status cbk_tanhshrink_backward(cbk_stream *stream, const cbk_tensor *x,
                                           const cbk_tensor *grad, cbk_tensor **out);
CBK_API cbk_status cbk_tanhshrink_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                                const cbk_tensor *grad, cbk_tensor *dst);
CBK_API cbk_status cbk_softplus_backward(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_tensor *grad,
                                         const cbk_activation_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_softplus_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                              const cbk_tensor *grad,
                                              const cbk_activation_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_hard_sigmoid_backward(cbk_stream *stream, const cbk_tensor *x,
                                             const cbk_tensor *grad,
                                             const cbk_activation_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_hard_sigmoid_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                                  const cbk_tensor *grad,
                                                  const cbk_activation_params *params,
                                                  cbk_tensor *dst);
CBK_API cbk_status cbk_leaky_relu_backward(cbk_stream *stream, const cbk_tensor *x,
                                           const cbk_tensor *grad, double slope, cbk_tensor **out);
CBK_API cbk_status cbk_leaky_relu_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                                const cbk_tensor *grad, double slope,
                                                cbk_tensor *dst);
CBK_API cbk_status cbk_elu_backward(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *grad,
                                    double alpha, cbk_tensor **out);
CBK_API cbk_status cbk_elu_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_tensor *grad, double alpha, cbk_tensor *dst);
CBK_API cbk_status cbk_celu_backward(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_tensor *grad, double alpha, cbk_tensor **out);
CBK_API cbk_status cbk_celu_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                          const cbk_tensor *grad, double alpha, cbk_tensor *dst);
CBK_API cbk_status cbk_thresholded_relu_backward(cbk_stream *stream, const cbk_tensor *x,
                                                 const cbk_tensor *grad, double alpha,
                                                 cbk_tensor **out);
CBK_API cbk_status cbk_thresholded_relu_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                                      const cbk_tensor *grad, double alpha,
                                                      cbk_tensor *dst);
CBK_API cbk_status cbk_softshrink_backward(cbk_stream *stream, const cbk_tensor *x,
                                           const cbk_tensor *grad, double lambda, cbk_tensor **out);
CBK_API cbk_status cbk_softshrink_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                                const cbk_tensor *grad, double lambda,
                                                cbk_tensor *dst);
CBK_API cbk_status cbk_hardshrink_backward(cbk_stream *stream, const cbk_tensor *x,
                                           const cbk_tensor *grad, double lambda, cbk_tensor **out);
CBK_API cbk_status cbk_hardshrink_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                                const cbk_tensor *grad, double lambda,
                                                cbk_tensor *dst);
CBK_API cbk_status cbk_threshold_backward(cbk_stream *stream, const cbk_tensor *x,
                                          const cbk_tensor *grad, double threshold,
                                          cbk_tensor **out);
CBK_API cbk_status cbk_threshold_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                               const cbk_tensor *grad, double threshold,
                                               cbk_tensor *dst);
CBK_API cbk_status cbk_hardtanh_backward(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_tensor *grad, double low, double high,
                                         cbk_tensor **out);
CBK_API cbk_status cbk_hardtanh_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                              const cbk_tensor *grad, double low, double high,
                                              cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
