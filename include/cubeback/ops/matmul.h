/// cubeback/ops/matmul.h: matrix products, the linear layer, products of vectors.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_MATMUL_H
#define CUBEBACK_OPS_MATMUL_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

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

// ---- linear layer: one product each --------------------------------------------------------

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

// ---- products of vectors -------------------------------------------------------------------

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
/// a [n], b [m] -> a[i] * b[j] [n, m]. Dtypes: floats, ints.
CBK_API cbk_status cbk_outer(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                             cbk_tensor **out);
CBK_API cbk_status cbk_outer_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                                  cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
