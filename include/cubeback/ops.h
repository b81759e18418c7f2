/// cubeback/ops.h: a named function for every operation.
///
/// Each operation gives two functions. `cbk_x(stream, inputs..., options..., &out)` makes a new
/// tensor; `cbk_x_into(stream, inputs..., options..., dst)` writes into `dst`, which has the
/// result's shape and dtype and any strides that do not overlap in itself.
///
/// What holds for all of them:
///   Shapes:   operands of pointwise operations broadcast: trailing axes are aligned, length 1
///             stretches. Negative axes count from the end. Any length may be 0.
///   Dtypes:   operands must agree; nothing is promoted. "floats" are f64 f32 f16 bf16 flex32,
///             "ints" all signed and unsigned integers, "bools" bool and bool32. f16 and bf16 are
///             computed in f32 and rounded once. 8-bit floats: copies, views and casts.
///   Views:    every input may have any offset, strides of 0 and negative strides.
///   Aliasing: the result is new; `dst` of a pointwise or update operation may be exactly one of
///             the inputs, any other overlap is CBK_ERROR_ALIASING.
///   Order:    enqueued on `stream`; runs after all earlier work there.
///   Errors:   CBK_ERROR_INVALID_ARGUMENT, CBK_ERROR_SHAPE, CBK_ERROR_DTYPE, CBK_ERROR_AXIS,
///             CBK_ERROR_ALIASING, CBK_ERROR_OVERFLOW, CBK_ERROR_OUT_OF_MEMORY, CBK_ERROR_BUILD,
///             CBK_ERROR_UNSUPPORTED (a dtype the device lacks), CBK_ERROR_DEVICE_LOST; the new
///             tensor is NULL then. Errors of the running work come up at the next sync, flush or
///             read.
/// docs/numerics.md gives accuracy, docs/operations.md the table of dtypes.
#ifndef CUBEBACK_OPS_H
#define CUBEBACK_OPS_H

#include <cubeback/cubeback.h>
#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- views: new metadata over the same storage; nothing is launched -------------------------

/// The same elements in row-major order under another shape; one length may be -1 (inferred).
/// Where no strides can express it (a reshape of a transposed tensor), the result is a copy.
CBK_API cbk_status cbk_reshape(cbk_stream *stream, const cbk_tensor *x, uint32_t rank,
                               const int64_t *shape, cbk_tensor **out);

/// Axis i of the result is axis axes[i] of x. `axes` lists all axes once.
CBK_API cbk_status cbk_permute(cbk_stream *stream, const cbk_tensor *x, const int32_t *axes,
                               cbk_tensor **out);

/// Swaps two axes.
CBK_API cbk_status cbk_transpose(cbk_stream *stream, const cbk_tensor *x, int32_t axis1,
                                 int32_t axis2, cbk_tensor **out);

/// Stretches axes of length 1 (also to 0) and adds leading axes; -1 keeps a length.
CBK_API cbk_status cbk_expand(cbk_stream *stream, const cbk_tensor *x, uint32_t rank,
                              const int64_t *shape, cbk_tensor **out);

/// A range of each axis; see cbk_slice_params. NULL params: the whole tensor.
CBK_API cbk_status cbk_slice(cbk_stream *stream, const cbk_tensor *x,
                             const cbk_slice_params *params, cbk_tensor **out);

/// Elements start <= i < start + length of one axis.
CBK_API cbk_status cbk_narrow(cbk_stream *stream, const cbk_tensor *x, int32_t axis, int64_t start,
                              int64_t length, cbk_tensor **out);

/// Reverses axes; count 0: all.
CBK_API cbk_status cbk_flip(cbk_stream *stream, const cbk_tensor *x, uint32_t axis_count,
                            const int32_t *axes, cbk_tensor **out);

/// Windows of `size` every `step` elements of `axis`: the axis gets length
/// floor((n - size) / step) + 1 (0 when n < size), the window is appended as last axis.
/// Errors: CBK_ERROR_SHAPE for rank 8.
CBK_API cbk_status cbk_unfold(cbk_stream *stream, const cbk_tensor *x, int32_t axis, int64_t size,
                              int64_t step, cbk_tensor **out);

/// Drops axes of length 1; count 0: all of them.
CBK_API cbk_status cbk_squeeze(cbk_stream *stream, const cbk_tensor *x, uint32_t axis_count,
                               const int32_t *axes, cbk_tensor **out);

/// Adds axes of length 1 at these places of the result.
CBK_API cbk_status cbk_unsqueeze(cbk_stream *stream, const cbk_tensor *x, uint32_t axis_count,
                                 const int32_t *axes, cbk_tensor **out);

/// The diagonal of two axes becomes the last axis; offset > 0 lies above the main diagonal.
CBK_API cbk_status cbk_diagonal(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                                int32_t axis1, int32_t axis2, cbk_tensor **out);

// ---- views made of several of these -----------------------------------------------------------

/// Parts of these lengths, one after the other, which make up the axis. `outs` has `count` places;
/// after a failure all of them are NULL.
CBK_API cbk_status cbk_split(cbk_stream *stream, const cbk_tensor *x, int32_t axis, uint32_t count,
                             const int64_t *lengths, cbk_tensor **outs);

/// Parts of ceil(n / count) elements, of which the last may be shorter; their number, at most
/// `count` (at least 1), goes to *out_count, and places of `outs` beyond it are NULL.
CBK_API cbk_status cbk_chunk(cbk_stream *stream, const cbk_tensor *x, int32_t axis, uint32_t count,
                             cbk_tensor **outs, uint32_t *out_count);

/// Axis source[i] of x becomes axis destination[i]; the others keep their order.
CBK_API cbk_status cbk_movedim(cbk_stream *stream, const cbk_tensor *x, uint32_t count,
                               const int32_t *source, const int32_t *destination, cbk_tensor **out);

/// Axes first to last, both included, become one, as reshape does it; rank 0 becomes [1].
CBK_API cbk_status cbk_flatten(cbk_stream *stream, const cbk_tensor *x, int32_t first, int32_t last,
                               cbk_tensor **out);

/// One axis becomes `count` axes of these lengths, of which one may be -1.
CBK_API cbk_status cbk_unflatten(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                 uint32_t count, const int64_t *lengths, cbk_tensor **out);

enum { CBK_GRID_IJ = 0, CBK_GRID_XY = 1 };

/// vectors[i] [n_i] -> outs[i] [n_0, n_1, ...], varying along axis i alone. CBK_GRID_XY: axes 0 and
/// 1 of the results change places.
CBK_API cbk_status cbk_meshgrid(cbk_stream *stream, const cbk_tensor *const *vectors,
                                uint32_t count, uint32_t indexing, cbk_tensor **outs);

/// The coordinates of every place of a shape: [lengths..., rank], made anew, two launches an axis.
/// Dtype 0: the device's default int. Errors: CBK_ERROR_SHAPE for rank 8.
CBK_API cbk_status cbk_cartesian_grid(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                      const int64_t *lengths, cbk_tensor **out);

// ---- unary ----------------------------------------------------------------------------------

/// -x; integers wrap. Dtypes: floats, ints.
CBK_API cbk_status cbk_neg(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_neg_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// |x|; |MIN| = MIN. Dtypes: floats, ints.
CBK_API cbk_status cbk_abs(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_abs_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// -1, 0 or 1; NaN gives 0. Dtypes: floats, ints.
CBK_API cbk_status cbk_sign(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_sign_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// 1 / x. Dtypes: floats.
CBK_API cbk_status cbk_recip(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_recip_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// x * x; integers wrap. Dtypes: floats, ints.
CBK_API cbk_status cbk_square(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_square_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_sqrt(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_sqrt_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// 1 / sqrt(x). Dtypes: floats.
CBK_API cbk_status cbk_rsqrt(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_rsqrt_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_exp(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_exp_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// exp(x) - 1, accurate near 0. Dtypes: floats.
CBK_API cbk_status cbk_expm1(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_expm1_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_log(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_log_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// log(1 + x), accurate near 0. Dtypes: floats.
CBK_API cbk_status cbk_log1p(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_log1p_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_sin(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_sin_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_cos(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_cos_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_tan(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_tan_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_asin(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_asin_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_acos(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_acos_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_atan(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_atan_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_sinh(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_sinh_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_cosh(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_cosh_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_tanh(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_tanh_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_asinh(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_asinh_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_acosh(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_acosh_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_atanh(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_atanh_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_erf(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_erf_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats; integers are copied.
CBK_API cbk_status cbk_floor(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_floor_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: floats; integers are copied.
CBK_API cbk_status cbk_ceil(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_ceil_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// To the nearest, halves to even. Dtypes: floats; integers are copied.
CBK_API cbk_status cbk_round(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_round_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Toward zero. Dtypes: floats; integers are copied.
CBK_API cbk_status cbk_trunc(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_trunc_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Dtypes: ints; bools: as logical_not.
CBK_API cbk_status cbk_bitwise_not(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_not_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
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
/// 1 where x is 0, else 0. Dtypes: all; the result is bool (bool32 for bool32).
CBK_API cbk_status cbk_logical_not(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_logical_not_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Result: bool. Dtypes: floats, ints (never).
CBK_API cbk_status cbk_is_nan(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_is_nan_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Result: bool. Dtypes: floats, ints (never).
CBK_API cbk_status cbk_is_inf(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_is_inf_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// Result: bool. Dtypes: floats, ints (always).
CBK_API cbk_status cbk_is_finite(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_is_finite_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
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

// ---- gradients of activations -----------------------------------------------------------------

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

// ---- binary, with a tensor or a scalar ------------------------------------------------------

/// Integers wrap. Dtypes: floats, ints.
CBK_API cbk_status cbk_add(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           cbk_tensor **out);
CBK_API cbk_status cbk_add_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                cbk_tensor *dst);
CBK_API cbk_status cbk_add_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_add_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                       cbk_tensor *dst);
/// Integers wrap. Dtypes: floats, ints.
CBK_API cbk_status cbk_sub(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           cbk_tensor **out);
CBK_API cbk_status cbk_sub_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                cbk_tensor *dst);
CBK_API cbk_status cbk_sub_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_sub_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                       cbk_tensor *dst);
/// Integers wrap. Dtypes: floats, ints.
CBK_API cbk_status cbk_mul(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           cbk_tensor **out);
CBK_API cbk_status cbk_mul_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                cbk_tensor *dst);
CBK_API cbk_status cbk_mul_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_mul_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                       cbk_tensor *dst);
/// Floats: IEEE. Integers: toward zero, x / 0 = x, MIN / -1 = MIN. Dtypes: floats, ints.
CBK_API cbk_status cbk_div(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           cbk_tensor **out);
CBK_API cbk_status cbk_div_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                cbk_tensor *dst);
CBK_API cbk_status cbk_div_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_div_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                       cbk_tensor *dst);
/// a - b * floor(a / b): the sign of b. Integers: x rem 0 = 0. Floats: x rem 0 = NaN.
/// Dtypes: floats, ints.
CBK_API cbk_status cbk_remainder(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 cbk_tensor **out);
CBK_API cbk_status cbk_remainder_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                      cbk_tensor *dst);
CBK_API cbk_status cbk_remainder_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                        cbk_tensor **out);
CBK_API cbk_status cbk_remainder_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                             cbk_scalar scalar, cbk_tensor *dst);
/// Floats: as C pow. Integers: exact, wrapping; b^-n = 0 except for b = 1, -1; 0^0 = 1.
/// Dtypes: floats, ints.
CBK_API cbk_status cbk_pow(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           cbk_tensor **out);
CBK_API cbk_status cbk_pow_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                cbk_tensor *dst);
CBK_API cbk_status cbk_pow_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_pow_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                       cbk_tensor *dst);
/// Angle of (x = b, y = a). Dtypes: floats.
CBK_API cbk_status cbk_atan2(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                             cbk_tensor **out);
CBK_API cbk_status cbk_atan2_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor *dst);
CBK_API cbk_status cbk_atan2_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                    cbk_tensor **out);
CBK_API cbk_status cbk_atan2_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                         cbk_tensor *dst);
/// sqrt(a^2 + b^2) without overflow on the way. Dtypes: floats.
CBK_API cbk_status cbk_hypot(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                             cbk_tensor **out);
CBK_API cbk_status cbk_hypot_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor *dst);
CBK_API cbk_status cbk_hypot_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                    cbk_tensor **out);
CBK_API cbk_status cbk_hypot_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                         cbk_tensor *dst);
/// NaN if either is NaN. Dtypes: floats, ints.
CBK_API cbk_status cbk_maximum(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                               cbk_tensor **out);
CBK_API cbk_status cbk_maximum_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                    cbk_tensor *dst);
CBK_API cbk_status cbk_maximum_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                      cbk_tensor **out);
CBK_API cbk_status cbk_maximum_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                           cbk_scalar scalar, cbk_tensor *dst);
/// NaN if either is NaN. Dtypes: floats, ints.
CBK_API cbk_status cbk_minimum(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                               cbk_tensor **out);
CBK_API cbk_status cbk_minimum_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                    cbk_tensor *dst);
CBK_API cbk_status cbk_minimum_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                      cbk_tensor **out);
CBK_API cbk_status cbk_minimum_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                           cbk_scalar scalar, cbk_tensor *dst);
/// Dtypes: ints, bools.
CBK_API cbk_status cbk_bitwise_and(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_and_into(cbk_stream *stream, const cbk_tensor *a,
                                        const cbk_tensor *b, cbk_tensor *dst);
CBK_API cbk_status cbk_bitwise_and_scalar(cbk_stream *stream, const cbk_tensor *a,
                                          cbk_scalar scalar, cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_and_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                               cbk_scalar scalar, cbk_tensor *dst);
/// Dtypes: ints, bools.
CBK_API cbk_status cbk_bitwise_or(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_or_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                       cbk_tensor *dst);
CBK_API cbk_status cbk_bitwise_or_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                         cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_or_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                              cbk_scalar scalar, cbk_tensor *dst);
/// Dtypes: ints, bools.
CBK_API cbk_status cbk_bitwise_xor(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_xor_into(cbk_stream *stream, const cbk_tensor *a,
                                        const cbk_tensor *b, cbk_tensor *dst);
CBK_API cbk_status cbk_bitwise_xor_scalar(cbk_stream *stream, const cbk_tensor *a,
                                          cbk_scalar scalar, cbk_tensor **out);
CBK_API cbk_status cbk_bitwise_xor_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                               cbk_scalar scalar, cbk_tensor *dst);
/// A count that is negative or >= the width gives 0. Dtypes: ints.
CBK_API cbk_status cbk_shift_left(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_shift_left_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                       cbk_tensor *dst);
CBK_API cbk_status cbk_shift_left_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                         cbk_tensor **out);
CBK_API cbk_status cbk_shift_left_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                              cbk_scalar scalar, cbk_tensor *dst);
/// Arithmetic for signed types; a count that is negative or >= the width gives 0, or -1 for
/// a negative signed a. Dtypes: ints.
CBK_API cbk_status cbk_shift_right(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_shift_right_into(cbk_stream *stream, const cbk_tensor *a,
                                        const cbk_tensor *b, cbk_tensor *dst);
CBK_API cbk_status cbk_shift_right_scalar(cbk_stream *stream, const cbk_tensor *a,
                                          cbk_scalar scalar, cbk_tensor **out);
CBK_API cbk_status cbk_shift_right_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                               cbk_scalar scalar, cbk_tensor *dst);
/// scalar - x, scalar / x, scalar ^ x, scalar rem x.
CBK_API cbk_status cbk_rsub_scalar(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_rsub_scalar_into(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                        cbk_tensor *dst);
CBK_API cbk_status cbk_rdiv_scalar(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_rdiv_scalar_into(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                        cbk_tensor *dst);
CBK_API cbk_status cbk_rpow_scalar(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_rpow_scalar_into(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                        cbk_tensor *dst);
CBK_API cbk_status cbk_rremainder_scalar(cbk_stream *stream, const cbk_tensor *x, cbk_scalar scalar,
                                         cbk_tensor **out);
CBK_API cbk_status cbk_rremainder_scalar_into(cbk_stream *stream, const cbk_tensor *x,
                                              cbk_scalar scalar, cbk_tensor *dst);
/// Dtypes: bools.
CBK_API cbk_status cbk_logical_and(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_logical_and_into(cbk_stream *stream, const cbk_tensor *a,
                                        const cbk_tensor *b, cbk_tensor *dst);
/// Dtypes: bools.
CBK_API cbk_status cbk_logical_or(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_logical_or_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                       cbk_tensor *dst);
/// Dtypes: bools.
CBK_API cbk_status cbk_logical_xor(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_logical_xor_into(cbk_stream *stream, const cbk_tensor *a,
                                        const cbk_tensor *b, cbk_tensor *dst);
/// a - b * trunc(a / b), exact: the sign of a. Integers: x fmod 0 = 0. Floats: x fmod 0 = NaN,
/// x fmod inf = x. Dtypes: floats, ints.
CBK_API cbk_status cbk_fmod(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                            cbk_tensor **out);
CBK_API cbk_status cbk_fmod_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 cbk_tensor *dst);
CBK_API cbk_status cbk_fmod_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_fmod_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                        cbk_tensor *dst);
/// x > 0 ? x : slope * x. slope is [1], or [channels] along axis 1 of x. (The row itself takes two
/// operands that broadcast.) Dtypes: floats.
CBK_API cbk_status cbk_prelu(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *slope,
                             cbk_tensor **out);
CBK_API cbk_status cbk_prelu_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *slope,
                                  cbk_tensor *dst);
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
/// a [n], b [m] -> a[i] * b[j] [n, m]. Dtypes: floats, ints.
CBK_API cbk_status cbk_outer(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                             cbk_tensor **out);
CBK_API cbk_status cbk_outer_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor *dst);

// ---- comparison: NaN compares false (not_equal: true). Result: the default bool -------------

/// `dst` may be bool or bool32. Dtypes: floats, ints; equal and not_equal also bools.
CBK_API cbk_status cbk_equal(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                             cbk_tensor **out);
CBK_API cbk_status cbk_equal_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor *dst);
CBK_API cbk_status cbk_equal_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                    cbk_tensor **out);
CBK_API cbk_status cbk_equal_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                         cbk_tensor *dst);
CBK_API cbk_status cbk_not_equal(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 cbk_tensor **out);
CBK_API cbk_status cbk_not_equal_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                      cbk_tensor *dst);
CBK_API cbk_status cbk_not_equal_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                        cbk_tensor **out);
CBK_API cbk_status cbk_not_equal_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                             cbk_scalar scalar, cbk_tensor *dst);
CBK_API cbk_status cbk_less(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                            cbk_tensor **out);
CBK_API cbk_status cbk_less_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 cbk_tensor *dst);
CBK_API cbk_status cbk_less_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_less_scalar_into(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                        cbk_tensor *dst);
CBK_API cbk_status cbk_less_equal(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_less_equal_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                       cbk_tensor *dst);
CBK_API cbk_status cbk_less_equal_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                         cbk_tensor **out);
CBK_API cbk_status cbk_less_equal_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                              cbk_scalar scalar, cbk_tensor *dst);
CBK_API cbk_status cbk_greater(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                               cbk_tensor **out);
CBK_API cbk_status cbk_greater_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                    cbk_tensor *dst);
CBK_API cbk_status cbk_greater_scalar(cbk_stream *stream, const cbk_tensor *a, cbk_scalar scalar,
                                      cbk_tensor **out);
CBK_API cbk_status cbk_greater_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                           cbk_scalar scalar, cbk_tensor *dst);
CBK_API cbk_status cbk_greater_equal(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                     cbk_tensor **out);
CBK_API cbk_status cbk_greater_equal_into(cbk_stream *stream, const cbk_tensor *a,
                                          const cbk_tensor *b, cbk_tensor *dst);
CBK_API cbk_status cbk_greater_equal_scalar(cbk_stream *stream, const cbk_tensor *a,
                                            cbk_scalar scalar, cbk_tensor **out);
CBK_API cbk_status cbk_greater_equal_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                                 cbk_scalar scalar, cbk_tensor *dst);
/// |a - b| <= absolute + relative |b|, decided in f32 (f64: in f64); equal numbers are close,
/// infinity only to itself, NaN to NaN only with equal_nan. NULL params: 1e-5 and 1e-8.
/// Dtypes: floats.
CBK_API cbk_status cbk_is_close(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                const cbk_close_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_is_close_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                     const cbk_close_params *params, cbk_tensor *dst);
/// 1 if all elements are close, as a tensor of rank 0.
CBK_API cbk_status cbk_all_close(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 const cbk_close_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_all_close_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                      const cbk_close_params *params, cbk_tensor *dst);

// ---- selection, bounds, conversion ----------------------------------------------------------

/// mask ? a : b, all broadcast. Dtypes: mask bools; a, b any, equal.
CBK_API cbk_status cbk_where(cbk_stream *stream, const cbk_tensor *mask, const cbk_tensor *a,
                             const cbk_tensor *b, cbk_tensor **out);
CBK_API cbk_status cbk_where_into(cbk_stream *stream, const cbk_tensor *mask, const cbk_tensor *a,
                                  const cbk_tensor *b, cbk_tensor *dst);
/// mask ? value : x. Dtypes: mask bools; x any.
CBK_API cbk_status cbk_mask_fill(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *mask,
                                 cbk_scalar value, cbk_tensor **out);
CBK_API cbk_status cbk_mask_fill_into(cbk_stream *stream, const cbk_tensor *x,
                                      const cbk_tensor *mask, cbk_scalar value, cbk_tensor *dst);
/// min(max(x, low), high): high wins when low > high; NaN in x or a bound gives NaN. A bound of
/// kind CBK_SCALAR_NONE is left out. Dtypes: floats, ints.
CBK_API cbk_status cbk_clamp(cbk_stream *stream, const cbk_tensor *x, cbk_scalar low,
                             cbk_scalar high, cbk_tensor **out);
CBK_API cbk_status cbk_clamp_into(cbk_stream *stream, const cbk_tensor *x, cbk_scalar low,
                                  cbk_scalar high, cbk_tensor *dst);
/// (1 - weight) a + weight b, as fma(weight, b, fma(-weight, a, a)). Dtypes: floats.
CBK_API cbk_status cbk_lerp(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                            const cbk_tensor *weight, cbk_tensor **out);
CBK_API cbk_status cbk_lerp_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                 const cbk_tensor *weight, cbk_tensor *dst);
/// The same with one weight.
CBK_API cbk_status cbk_lerp_scalar(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                   cbk_scalar weight, cbk_tensor **out);
CBK_API cbk_status cbk_lerp_scalar_into(cbk_stream *stream, const cbk_tensor *a,
                                        const cbk_tensor *b, cbk_scalar weight, cbk_tensor *dst);
/// x + value * a * b; value left out: 1. Dtypes: floats.
CBK_API cbk_status cbk_addcmul(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *a,
                               const cbk_tensor *b, cbk_scalar value, cbk_tensor **out);
CBK_API cbk_status cbk_addcmul_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *a,
                                    const cbk_tensor *b, cbk_scalar value, cbk_tensor *dst);
/// x + value * a / b; value left out: 1. Dtypes: floats.
CBK_API cbk_status cbk_addcdiv(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *a,
                               const cbk_tensor *b, cbk_scalar value, cbk_tensor **out);
CBK_API cbk_status cbk_addcdiv_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *a,
                                    const cbk_tensor *b, cbk_scalar value, cbk_tensor *dst);
/// Converts: to floats rounded to nearest even (overflow gives infinity; f8e4m3 saturates to NaN as
/// its format demands); float to integer toward zero, saturating, NaN to 0; integer to integer wraps;
/// to bool: x != 0. Dtypes: any to any.
CBK_API cbk_status cbk_cast(cbk_stream *stream, const cbk_tensor *x, cbk_dtype dtype,
                            cbk_tensor **out);
/// Converts to the dtype of `dst`.
CBK_API cbk_status cbk_cast_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);

// ---- creation -------------------------------------------------------------------------------

/// All elements `value`. Dtype 0: the device's default float.
CBK_API cbk_status cbk_fill(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                            const int64_t *shape, cbk_scalar value, cbk_tensor **out);
CBK_API cbk_status cbk_fill_into(cbk_stream *stream, cbk_scalar value, cbk_tensor *dst);
CBK_API cbk_status cbk_zeros(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                             const int64_t *shape, cbk_tensor **out);
CBK_API cbk_status cbk_ones(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                            const int64_t *shape, cbk_tensor **out);
/// start, start + step, ...: `length` elements, each computed as start + i * step and rounded once.
/// Integers wrap. Dtype 0: the device's default int. Dtypes: floats, ints.
CBK_API cbk_status cbk_arange(cbk_stream *stream, cbk_dtype dtype, cbk_scalar start,
                              cbk_scalar step, int64_t length, cbk_tensor **out);
CBK_API cbk_status cbk_arange_into(cbk_stream *stream, cbk_scalar start, cbk_scalar step,
                                   cbk_tensor *dst);

/// [rows, columns]: 1 where column - row = offset, else 0. Dtype 0: the default float. Dtypes: all.
CBK_API cbk_status cbk_eye(cbk_stream *stream, cbk_dtype dtype, int64_t rows, int64_t columns,
                           int64_t offset, cbk_tensor **out);
CBK_API cbk_status cbk_eye_into(cbk_stream *stream, int64_t offset, cbk_tensor *dst);
/// `length` numbers evenly from first to last, both exact; first alone for length 1. Dtype 0: the
/// default float. Dtypes: floats.
CBK_API cbk_status cbk_linspace(cbk_stream *stream, cbk_dtype dtype, cbk_scalar first,
                                cbk_scalar last, int64_t length, cbk_tensor **out);
CBK_API cbk_status cbk_linspace_into(cbk_stream *stream, cbk_scalar first, cbk_scalar last,
                                     cbk_tensor *dst);
/// With t = i / length (symmetric: i / (length - 1)) in turns, Hann: (1 - cos t) / 2; Hamming:
/// 0.54 - 0.46 cos t; Blackman: 0.42 - 0.5 cos t + 0.08 cos 2t. 1 for length 1. Dtype 0: the default
/// float. Dtypes: floats.
CBK_API cbk_status cbk_window(cbk_stream *stream, cbk_dtype dtype, uint32_t kind, int64_t length,
                              uint32_t symmetric, cbk_tensor **out);
CBK_API cbk_status cbk_window_into(cbk_stream *stream, uint32_t kind, uint32_t symmetric,
                                   cbk_tensor *dst);

// ---- moves: any dtype, bit for bit ----------------------------------------------------------

/// A new row-major tensor with the same elements.
CBK_API cbk_status cbk_copy(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_copy_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst);
/// x itself (one more reference) if it is contiguous, else a copy. Private layouts are turned back.
CBK_API cbk_status cbk_contiguous(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
/// x with the slice replaced by `value`, whose shape is the slice's.
/// In place: dst == x.
CBK_API cbk_status cbk_slice_assign(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_tensor *value, const cbk_slice_params *params,
                                    cbk_tensor **out);
CBK_API cbk_status cbk_slice_assign_into(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_tensor *value, const cbk_slice_params *params,
                                         cbk_tensor *dst);
/// Joins tensors along `axis`; all other lengths agree. Members of length 0 add nothing.
CBK_API cbk_status cbk_cat(cbk_stream *stream, const cbk_tensor *const *tensors, uint32_t count,
                           int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_cat_into(cbk_stream *stream, const cbk_tensor *const *tensors,
                                uint32_t count, int32_t axis, cbk_tensor *dst);
/// Joins tensors of one shape along a new axis, `axis` of the result.
CBK_API cbk_status cbk_stack(cbk_stream *stream, const cbk_tensor *const *tensors, uint32_t count,
                             int32_t axis, cbk_tensor **out);
/// x with elements added before and after each axis; see cbk_pad_params. NULL params: a copy.
/// Errors: CBK_ERROR_SHAPE for a negative number, for a reflection of as many elements as the axis
/// has or more, and for edge and circular elements of an axis that has none.
CBK_API cbk_status cbk_pad(cbk_stream *stream, const cbk_tensor *x, const cbk_pad_params *params,
                           cbk_tensor **out);
CBK_API cbk_status cbk_pad_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_pad_params *params, cbk_tensor *dst);
/// x turned round along axes; see cbk_roll_params.
CBK_API cbk_status cbk_roll(cbk_stream *stream, const cbk_tensor *x, const cbk_roll_params *params,
                            cbk_tensor **out);
CBK_API cbk_status cbk_roll_into(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_roll_params *params, cbk_tensor *dst);
/// x laid side by side with itself, repeats[i] times along axis i: as many entries as x has axes.
/// Where only axes of length 1 are repeated the result is a view of x that is stretched there.
CBK_API cbk_status cbk_repeat(cbk_stream *stream, const cbk_tensor *x, const int64_t *repeats,
                              cbk_tensor **out);
/// The same along one axis.
CBK_API cbk_status cbk_repeat_dim(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                  int64_t times, cbk_tensor **out);

/// Elements of the last two axes with column - row <= offset, else 0. In place: dst == x.
CBK_API cbk_status cbk_tril(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                            cbk_tensor **out);
CBK_API cbk_status cbk_tril_into(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                                 cbk_tensor *dst);
/// Elements of the last two axes with column - row >= offset, else 0. In place: dst == x.
CBK_API cbk_status cbk_triu(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                            cbk_tensor **out);
CBK_API cbk_status cbk_triu_into(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                                 cbk_tensor *dst);
/// x [..., n] -> [..., n + |offset|, n + |offset|] with x on that diagonal, else 0.
CBK_API cbk_status cbk_diag_embed(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                                  cbk_tensor **out);
CBK_API cbk_status cbk_diag_embed_into(cbk_stream *stream, const cbk_tensor *x, int64_t offset,
                                       cbk_tensor *dst);

// ---- products of vectors ------------------------------------------------------------------------

/// a x b along an axis (of the result's shape) that has length 3 in both; the others broadcast.
/// Within 2 ulp, also where products cancel; integers wrap. Dtypes: floats, ints.
CBK_API cbk_status cbk_cross(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                             int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_cross_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  int32_t axis, cbk_tensor *dst);
/// a [n], b [n] -> the sum of a[i] * b[i], of rank 0, as matmul computes it. Dtypes: floats, ints.
CBK_API cbk_status cbk_dot(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           cbk_tensor **out);
CBK_API cbk_status cbk_dot_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                cbk_tensor *dst);

// ---- reductions over one, several or all axes (axis_count 0; params NULL) -------------------

/// An axis that is reduced keeps length 1 unless drop_axes is set; a reduction of all axes by
/// axis_count 0 has rank 0. out_dtype 0: the input's; argmax, argmin: the default int; any, all: the
/// default bool (bool inputs: their own). f32 sums are pairwise, f16 and bf16 accumulate in f32,
/// i8 and i16 in i32; integers wrap. The order of additions depends on the lengths alone.
/// Empty: sum, any 0; prod, all 1; float mean NaN; others CBK_ERROR_SHAPE. NaN wins in max, min,
/// argmax, argmin (lowest NaN index); ties take the lowest index, of the row-major position within
/// the reduced axes. Dtypes: floats, ints; any, all: any dtype (nonzero and NaN are true).
CBK_API cbk_status cbk_sum(cbk_stream *stream, const cbk_tensor *x, const cbk_reduce_params *params,
                           cbk_tensor **out);
CBK_API cbk_status cbk_sum_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_mean(cbk_stream *stream, const cbk_tensor *x,
                            const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_mean_into(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_prod(cbk_stream *stream, const cbk_tensor *x,
                            const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_prod_into(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_max(cbk_stream *stream, const cbk_tensor *x, const cbk_reduce_params *params,
                           cbk_tensor **out);
CBK_API cbk_status cbk_max_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_min(cbk_stream *stream, const cbk_tensor *x, const cbk_reduce_params *params,
                           cbk_tensor **out);
CBK_API cbk_status cbk_min_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_argmax(cbk_stream *stream, const cbk_tensor *x,
                              const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_argmax_into(cbk_stream *stream, const cbk_tensor *x,
                                   const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_argmin(cbk_stream *stream, const cbk_tensor *x,
                              const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_argmin_into(cbk_stream *stream, const cbk_tensor *x,
                                   const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_any(cbk_stream *stream, const cbk_tensor *x, const cbk_reduce_params *params,
                           cbk_tensor **out);
CBK_API cbk_status cbk_any_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_all(cbk_stream *stream, const cbk_tensor *x, const cbk_reduce_params *params,
                           cbk_tensor **out);
CBK_API cbk_status cbk_all_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_reduce_params *params, cbk_tensor *dst);
/// How many elements are not 0 (NaN counts); of no elements 0. Dtypes: floats, ints, bools; out_dtype
/// an integer type, 0: the default int. Errors: CBK_ERROR_OVERFLOW where it could not hold the
/// number of reduced elements.
CBK_API cbk_status cbk_count_nonzero(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_count_nonzero_into(cbk_stream *stream, const cbk_tensor *x,
                                          const cbk_reduce_params *params, cbk_tensor *dst);

/// The mean squared distance from the mean, as n times it divided by n - correction, and its root.
/// var_mean also gives the mean, with the bits of cbk_mean. No difference of large squares is taken.
/// A divisor n - correction of 0 or less counts as 0: the result is NaN or infinite; of no elements
/// it is NaN. out_dtype 0: the input's. Dtypes: floats.
CBK_API cbk_status cbk_var(cbk_stream *stream, const cbk_tensor *x,
                           const cbk_variance_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_var_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_variance_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_std(cbk_stream *stream, const cbk_tensor *x,
                           const cbk_variance_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_std_into(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_variance_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_var_mean(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_variance_params *params, cbk_tensor **out,
                                cbk_tensor **out_mean);
CBK_API cbk_status cbk_var_mean_into(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_variance_params *params, cbk_tensor *dst,
                                     cbk_tensor *dst_mean);
/// (sum of |x|^p)^(1/p); p = 0: the number of elements that are not 0; p = inf, -inf: the largest,
/// the smallest |x|. p left out: 2, for which no square overflows or underflows on the way; for other
/// p a power may. Of no elements 0, CBK_ERROR_SHAPE for p < 0. out_dtype 0: the input's. Dtypes:
/// floats.
CBK_API cbk_status cbk_norm(cbk_stream *stream, const cbk_tensor *x, const cbk_norm_params *params,
                            cbk_tensor **out);
CBK_API cbk_status cbk_norm_into(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_norm_params *params, cbk_tensor *dst);
/// log(sum(exp(x))), without overflow on the way; -inf of no elements or where all are -inf. Dtypes:
/// floats.
CBK_API cbk_status cbk_logsumexp(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_logsumexp_into(cbk_stream *stream, const cbk_tensor *x,
                                      const cbk_reduce_params *params, cbk_tensor *dst);
/// The largest, the smallest |x|; NaN wins, |MIN| is MIN. Dtypes: floats, ints.
CBK_API cbk_status cbk_max_abs(cbk_stream *stream, const cbk_tensor *x,
                               const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_max_abs_into(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_reduce_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_min_abs(cbk_stream *stream, const cbk_tensor *x,
                               const cbk_reduce_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_min_abs_into(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_reduce_params *params, cbk_tensor *dst);
/// max or min, and the index that argmax or argmin gives, in one launch. out_dtype is that of the
/// index, by default the device's int. Dtypes: floats, ints.
CBK_API cbk_status cbk_max_with_indices(cbk_stream *stream, const cbk_tensor *x,
                                        const cbk_reduce_params *params, cbk_tensor **out,
                                        cbk_tensor **out_indices);
CBK_API cbk_status cbk_max_with_indices_into(cbk_stream *stream, const cbk_tensor *x,
                                             const cbk_reduce_params *params, cbk_tensor *dst,
                                             cbk_tensor *dst_indices);
CBK_API cbk_status cbk_min_with_indices(cbk_stream *stream, const cbk_tensor *x,
                                        const cbk_reduce_params *params, cbk_tensor **out,
                                        cbk_tensor **out_indices);
CBK_API cbk_status cbk_min_with_indices_into(cbk_stream *stream, const cbk_tensor *x,
                                             const cbk_reduce_params *params, cbk_tensor *dst,
                                             cbk_tensor *dst_indices);

/// The sum of the main diagonal of the last two axes. Dtypes: floats, ints.
CBK_API cbk_status cbk_matrix_trace(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
/// x [m, n], whose rows are variables -> [m, m]: sums of products of distances from the rows' means,
/// divided by n - correction (0: the population's). Dtypes: floats.
CBK_API cbk_status cbk_cov(cbk_stream *stream, const cbk_tensor *x, int64_t correction,
                           cbk_tensor **out);
/// sum(a b) / (max(|a|, eps) max(|b|, eps)) along `axis`, which goes; eps 0: 1e-8. a and b broadcast
/// and have one rank. Dtypes: floats.
CBK_API cbk_status cbk_cosine_similarity(cbk_stream *stream, const cbk_tensor *a,
                                         const cbk_tensor *b, int32_t axis, double eps,
                                         cbk_tensor **out);

// ---- scans along one axis -------------------------------------------------------------------

/// Element i of the result is the sum, product, maximum or minimum of elements 0 .. i of the axis,
/// or of 0 .. i - 1 (exclusive), or counted from the axis' end (reversed); NULL params: axis 0.
/// The first exclusive result is the identity: 0, 1, and for cummax the lowest value of the dtype
/// (floats: -infinity), for cummin the highest.
/// out_dtype of cumsum and cumprod as for sum; f16 and bf16 accumulate in f32, i8 and i16 in i32;
/// integers wrap. The order of additions depends on the length and the dtype alone. In cummax and
/// cummin a NaN makes all that follow NaN.
/// Shapes: the result has x's; an empty axis is fine. Dtypes: floats, ints.
CBK_API cbk_status cbk_cumsum(cbk_stream *stream, const cbk_tensor *x,
                              const cbk_scan_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_cumsum_into(cbk_stream *stream, const cbk_tensor *x,
                                   const cbk_scan_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_cumprod(cbk_stream *stream, const cbk_tensor *x,
                               const cbk_scan_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_cumprod_into(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_scan_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_cummax(cbk_stream *stream, const cbk_tensor *x,
                              const cbk_scan_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_cummax_into(cbk_stream *stream, const cbk_tensor *x,
                                   const cbk_scan_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_cummin(cbk_stream *stream, const cbk_tensor *x,
                              const cbk_scan_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_cummin_into(cbk_stream *stream, const cbk_tensor *x,
                                   const cbk_scan_params *params, cbk_tensor *dst);

// ---- sorting along one axis -----------------------------------------------------------------

/// Elements of each row in ascending or descending order; NULL params: axis 0, ascending.
/// NaN counts as greater than +infinity; -0 equals +0. Equal elements keep their order, also when
/// descending. Indices are positions within the axis, in out_dtype.
/// Shapes: the results have x's; an empty axis is fine. Dtypes: floats, ints, bools.
/// Errors: CBK_ERROR_OVERFLOW where positions do not fit out_dtype.
CBK_API cbk_status cbk_sort(cbk_stream *stream, const cbk_tensor *x, const cbk_sort_params *params,
                            cbk_tensor **out);
CBK_API cbk_status cbk_sort_into(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_sort_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_argsort(cbk_stream *stream, const cbk_tensor *x,
                               const cbk_sort_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_argsort_into(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_sort_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_sort_with_indices(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_sort_params *params, cbk_tensor **out_values,
                                         cbk_tensor **out_indices);
CBK_API cbk_status cbk_sort_with_indices_into(cbk_stream *stream, const cbk_tensor *x,
                                              const cbk_sort_params *params, cbk_tensor *dst_values,
                                              cbk_tensor *dst_indices);

/// The k greatest elements of each row, the greatest first, or the k least, the least first; the
/// start of what a sort gives. Equal elements: the lowest index first. So NaN is the maximum.
/// Shapes: the axis gets length k, which may be 0. Dtypes: floats, ints, bools.
/// Errors: CBK_ERROR_SHAPE for an empty axis or k over its length, CBK_ERROR_OVERFLOW.
CBK_API cbk_status cbk_topk(cbk_stream *stream, const cbk_tensor *x, const cbk_topk_params *params,
                            cbk_tensor **out);
CBK_API cbk_status cbk_topk_into(cbk_stream *stream, const cbk_tensor *x,
                                 const cbk_topk_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_argtopk(cbk_stream *stream, const cbk_tensor *x,
                               const cbk_topk_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_argtopk_into(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_topk_params *params, cbk_tensor *dst);
CBK_API cbk_status cbk_topk_with_indices(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_topk_params *params, cbk_tensor **out_values,
                                         cbk_tensor **out_indices);
CBK_API cbk_status cbk_topk_with_indices_into(cbk_stream *stream, const cbk_tensor *x,
                                              const cbk_topk_params *params, cbk_tensor *dst_values,
                                              cbk_tensor *dst_indices);

/// The element (length - 1) / 2 of each row when sorted: of two in the middle the lower one. A row
/// with a NaN gives NaN. Dtypes: floats, ints. Errors: CBK_ERROR_SHAPE for an empty axis.
CBK_API cbk_status cbk_median(cbk_stream *stream, const cbk_tensor *x,
                              const cbk_median_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_median_into(cbk_stream *stream, const cbk_tensor *x,
                                   const cbk_median_params *params, cbk_tensor *dst);

/// Quantiles of each row: with p = q * (length - 1), i = floor(p), t = p - i and a, b the elements
/// i and i + 1 of the sorted row, a + (b - a) t, or b - (b - a) (1 - t) from t = 1/2 on; equal a and
/// b give a. Other interpolations: see CBK_QUANTILE_*; midpoint is a / 2 + b / 2. A row with a NaN
/// gives NaN.
/// Shapes: params->count > 0 adds a leading axis of that length. Dtypes: floats; f16 and bf16 are
/// rounded once. Errors: CBK_ERROR_SHAPE for an empty axis or a result of rank 9,
/// CBK_ERROR_INVALID_ARGUMENT for q outside 0 .. 1.
CBK_API cbk_status cbk_quantile(cbk_stream *stream, const cbk_tensor *x,
                                const cbk_quantile_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_quantile_into(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_quantile_params *params, cbk_tensor *dst);

// ---- softmax --------------------------------------------------------------------------------

/// exp(x - max) / sum(exp(x - max)) along `axis`. Dtypes: floats; computed in f32 or f64.
CBK_API cbk_status cbk_softmax(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                               cbk_tensor **out);
CBK_API cbk_status cbk_softmax_into(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                    cbk_tensor *dst);
/// x - max - log(sum(exp(x - max))) along `axis`. Dtypes: floats.
CBK_API cbk_status cbk_log_softmax(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_log_softmax_into(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                        cbk_tensor *dst);

/// softmax of -x. Dtypes: floats.
CBK_API cbk_status cbk_softmin(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                               cbk_tensor **out);
CBK_API cbk_status cbk_softmin_into(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                    cbk_tensor *dst);
/// The gradient of x, of the result y of softmax or log_softmax along `axis` and of y's gradient:
/// y (g - sum(y g)), g - exp(y) sum(g). Dtypes: floats.
CBK_API cbk_status cbk_softmax_backward(cbk_stream *stream, const cbk_tensor *y,
                                        const cbk_tensor *gradient, int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_softmax_backward_into(cbk_stream *stream, const cbk_tensor *y,
                                             const cbk_tensor *gradient, int32_t axis,
                                             cbk_tensor *dst);
CBK_API cbk_status cbk_log_softmax_backward(cbk_stream *stream, const cbk_tensor *y,
                                            const cbk_tensor *gradient, int32_t axis,
                                            cbk_tensor **out);
CBK_API cbk_status cbk_log_softmax_backward_into(cbk_stream *stream, const cbk_tensor *y,
                                                 const cbk_tensor *gradient, int32_t axis,
                                                 cbk_tensor *dst);

// ---- normalisations -------------------------------------------------------------------------

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

// ---- matrix product -------------------------------------------------------------------------

/// a [..., m, k] x b [..., k, n] -> [..., m, n]; leading axes broadcast; k = 0 gives zeros. Both have
/// rank >= 2. Dtypes: floats, 8-bit floats (to bf16 unless out_dtype says otherwise), ints. f16, bf16
/// and 8-bit floats accumulate in f32 and round once; integers are exact modulo 2^width of the result
/// (i8, i16 accumulate in i32; out_dtype i32 keeps that). params->activation is applied as by
/// cbk_matmul_fused.
CBK_API cbk_status cbk_matmul(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                              const cbk_matmul_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_matmul_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                   const cbk_matmul_params *params, cbk_tensor *dst);

/// activation(a b + bias) + residual in one launch where a kernel of ours makes the product: its
/// bits are those of matmul, add, the activation and add one after the other, each rounding to the
/// result's dtype. bias and residual have that dtype and stretch to the result's shape; each may be
/// NULL: left out. dst overlaps no input.
CBK_API cbk_status cbk_matmul_fused(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                    const cbk_tensor *bias, const cbk_tensor *residual,
                                    const cbk_matmul_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_matmul_fused_into(cbk_stream *stream, const cbk_tensor *a,
                                         const cbk_tensor *b, const cbk_tensor *bias,
                                         const cbk_tensor *residual,
                                         const cbk_matmul_params *params, cbk_tensor *dst);

// ---- linear layer: one product each ---------------------------------------------------------

/// activation(x weight + bias): x [.., d_in], weight [d_in, d_out], bias [d_out] or NULL ->
/// [.., d_out]. x may be a vector. Otherwise as cbk_matmul_fused.
CBK_API cbk_status cbk_linear(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *weight,
                              const cbk_tensor *bias, const cbk_matmul_params *params,
                              cbk_tensor **out);
CBK_API cbk_status cbk_linear_into(cbk_stream *stream, const cbk_tensor *x,
                                   const cbk_tensor *weight, const cbk_tensor *bias,
                                   const cbk_matmul_params *params, cbk_tensor *dst);
/// The gradient of x from that of the result, grad [.., d_out] -> [.., d_in].
CBK_API cbk_status cbk_linear_x_backward(cbk_stream *stream, const cbk_tensor *weight,
                                         const cbk_tensor *grad, cbk_tensor **out);
CBK_API cbk_status cbk_linear_x_backward_into(cbk_stream *stream, const cbk_tensor *weight,
                                              const cbk_tensor *grad, cbk_tensor *dst);
/// That of the weight: x [.., d_in], grad [.., d_out] -> [d_in, d_out]. Operands whose leading axes
/// no strides can merge are copied first.
CBK_API cbk_status cbk_linear_weight_backward(cbk_stream *stream, const cbk_tensor *x,
                                              const cbk_tensor *grad, cbk_tensor **out);
CBK_API cbk_status cbk_linear_weight_backward_into(cbk_stream *stream, const cbk_tensor *x,
                                                   const cbk_tensor *grad, cbk_tensor *dst);
/// That of the bias: grad [.., d_out] summed over its leading axes -> [d_out].
CBK_API cbk_status cbk_linear_bias_backward(cbk_stream *stream, const cbk_tensor *grad,
                                            cbk_tensor **out);
CBK_API cbk_status cbk_linear_bias_backward_into(cbk_stream *stream, const cbk_tensor *grad,
                                                 cbk_tensor *dst);

// ---- indexing: any integer dtype indexes ----------------------------------------------------

/// A negative or too large index touches nothing: a gathered element is 0, a scattered one is
/// skipped, and the stream's next sync or read gives CBK_ERROR_INDEX_OUT_OF_RANGE. All of them are
/// deterministic unless CBK_INDEX_UNORDERED is set in the params of cbk_execute. Dtypes of x and value:
/// any; add and mul: floats, ints; min, max: floats, ints, bools (and, or).

/// out[.., i, ..] = x[.., index[.., i, ..], ..] along `axis`. index has x's rank and no greater
/// length on the other axes; out has its shape.
CBK_API cbk_status cbk_gather(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                              int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_gather_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                                   int32_t axis, cbk_tensor *dst);
/// Slices of x at the positions of `index`, whose axes stand where the indexed one was.
CBK_API cbk_status cbk_select(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                              int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_select_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                                   int32_t axis, cbk_tensor *dst);
/// x with x[.., index[..i..], ..] updated by value[..i..] (CBK_UPDATE_*), for each position of index.
/// value has index's shape. In place: dst == x.
CBK_API cbk_status cbk_scatter(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                               const cbk_tensor *value, int32_t axis, uint32_t update,
                               cbk_tensor **out);
CBK_API cbk_status cbk_scatter_into(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_tensor *index, const cbk_tensor *value, int32_t axis,
                                    uint32_t update, cbk_tensor *dst);
CBK_API cbk_status cbk_scatter_add(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                                   const cbk_tensor *value, int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_scatter_add_into(cbk_stream *stream, const cbk_tensor *x,
                                        const cbk_tensor *index, const cbk_tensor *value,
                                        int32_t axis, cbk_tensor *dst);
/// x with its slices at the positions of the rank-1 `index` updated by those of value, whose shape
/// is x's with the axis as long as index. In place: dst == x.
CBK_API cbk_status cbk_select_assign(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_tensor *index, const cbk_tensor *value, int32_t axis,
                                     uint32_t update, cbk_tensor **out);
CBK_API cbk_status cbk_select_assign_into(cbk_stream *stream, const cbk_tensor *x,
                                          const cbk_tensor *index, const cbk_tensor *value,
                                          int32_t axis, uint32_t update, cbk_tensor *dst);
CBK_API cbk_status cbk_select_add(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                                  const cbk_tensor *value, int32_t axis, cbk_tensor **out);
CBK_API cbk_status cbk_select_add_into(cbk_stream *stream, const cbk_tensor *x,
                                       const cbk_tensor *index, const cbk_tensor *value,
                                       int32_t axis, cbk_tensor *dst);
/// The last axis of index, of length d, holds places in the first d axes of x (1 <= d <= rank of x):
/// out has index's other axes, then x's axes from d on.
CBK_API cbk_status cbk_gather_nd(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                                 cbk_tensor **out);
CBK_API cbk_status cbk_gather_nd_into(cbk_stream *stream, const cbk_tensor *x,
                                      const cbk_tensor *index, cbk_tensor *dst);
/// x with the slices that cbk_gather_nd would read updated by those of value (CBK_UPDATE_*), in the
/// row-major order of index. In place: dst == x.
CBK_API cbk_status cbk_scatter_nd(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                                  const cbk_tensor *value, uint32_t update, cbk_tensor **out);
CBK_API cbk_status cbk_scatter_nd_into(cbk_stream *stream, const cbk_tensor *x,
                                       const cbk_tensor *index, const cbk_tensor *value,
                                       uint32_t update, cbk_tensor *dst);
/// Rows of weights [V, D] at index [..]: [.., D]. The same as cbk_select along axis 0.
CBK_API cbk_status cbk_embedding(cbk_stream *stream, const cbk_tensor *weights,
                                 const cbk_tensor *index, cbk_tensor **out);
CBK_API cbk_status cbk_embedding_into(cbk_stream *stream, const cbk_tensor *weights,
                                      const cbk_tensor *index, cbk_tensor *dst);
/// The gradient of weights [rows, D]: for each row the sum of grad [.., D] where index [..] names it,
/// added in row-major order of index. Dtypes: floats, ints; f16 and bf16 are added in f32.
CBK_API cbk_status cbk_embedding_backward(cbk_stream *stream, const cbk_tensor *grad,
                                          const cbk_tensor *index, int64_t rows, cbk_tensor **out);
CBK_API cbk_status cbk_embedding_backward_into(cbk_stream *stream, const cbk_tensor *grad,
                                               const cbk_tensor *index, cbk_tensor *dst);
/// Elements of x, seen as one row-major axis, at index: index's shape.
CBK_API cbk_status cbk_take(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                            cbk_tensor **out);
/// [.., classes]: params->on where the last axis' place is the index, params->off elsewhere. NULL
/// params: no classes. Dtypes: index ints; the result any.
CBK_API cbk_status cbk_one_hot(cbk_stream *stream, const cbk_tensor *index,
                               const cbk_one_hot_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_one_hot_into(cbk_stream *stream, const cbk_tensor *index,
                                    const cbk_one_hot_params *params, cbk_tensor *dst);

// ---- compaction: as many results as there are hits ------------------------------------------

/// The shape of a result never depends on data. So there are two steps: cbk_count_nonzero tells how
/// many hits there are, and the `_sized` form takes that as params->length: hits in row-major order,
/// rows past the last one 0, hits past the last row left out. Its second result, of rank 0, is the
/// true number of hits; `out_count` and `dst_count` may be NULL. `_into` forms take length and
/// dtypes from what they write into. Both steps may be captured.
/// The short forms do both and wait in between for the number; in a capture they are
/// CBK_ERROR_INVALID_STATE. CBK_ERROR_OVERFLOW where out_dtype could not hold the number of elements.

/// The places where x is not 0 (NaN is not): [hits, rank of x], in the default int.
/// Dtypes: floats, ints, bools.
CBK_API cbk_status cbk_argwhere(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_argwhere_sized(cbk_stream *stream, const cbk_tensor *x,
                                      const cbk_compact_params *params, cbk_tensor **out,
                                      cbk_tensor **out_count);
CBK_API cbk_status cbk_argwhere_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst,
                                     cbk_tensor *dst_count);
/// The elements of x where the mask, which broadcasts to x, is true: [hits].
/// Dtypes: mask bools; x any.
CBK_API cbk_status cbk_mask_select(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *mask,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_mask_select_sized(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_tensor *mask, const cbk_compact_params *params,
                                         cbk_tensor **out, cbk_tensor **out_count);
CBK_API cbk_status cbk_mask_select_into(cbk_stream *stream, const cbk_tensor *x,
                                        const cbk_tensor *mask, cbk_tensor *dst,
                                        cbk_tensor *dst_count);

// ---- random: Philox 4x32-10, see docs/numerics.md -------------------------------------------

/// Equal on every device for equal seed, stream number and sequence of draws (normal: within 4 ulp).
/// The `_into` forms draw as many elements as dst has. Dtype 0: default float.

/// low <= x < high. Dtypes: floats.
CBK_API cbk_status cbk_random_uniform(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                      const int64_t *shape, double low, double high,
                                      cbk_tensor **out);
CBK_API cbk_status cbk_random_uniform_into(cbk_stream *stream, double low, double high,
                                           cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_random_normal(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                     const int64_t *shape, double mean, double deviation,
                                     cbk_tensor **out);
CBK_API cbk_status cbk_random_normal_into(cbk_stream *stream, double mean, double deviation,
                                          cbk_tensor *dst);
/// 1 with that probability, else 0. Dtypes: all. Dtype 0: default bool.
CBK_API cbk_status cbk_random_bernoulli(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                        const int64_t *shape, double probability, cbk_tensor **out);
CBK_API cbk_status cbk_random_bernoulli_into(cbk_stream *stream, double probability,
                                             cbk_tensor *dst);
/// low <= i < high. Dtypes: ints. Dtype 0: default int.
CBK_API cbk_status cbk_random_integer(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                      const int64_t *shape, int64_t low, int64_t high,
                                      cbk_tensor **out);
CBK_API cbk_status cbk_random_integer_into(cbk_stream *stream, int64_t low, int64_t high,
                                           cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
