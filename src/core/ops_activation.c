// ops_activation.c: named functions of activations with constants and of all backward forms.
#include "core.h"

// ---- forward ------------------------------------------------------------------------------------

/// `name` with the arguments ARGS, of which INIT makes the params.
#define FORWARD(name, OP, INIT, ...)                                                               \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x, __VA_ARGS__,                    \
                          cbk_tensor **out) {                                                      \
        const cbk_activation_params params = INIT;                                                 \
        return cbk_run(stream, CBK_OP_##OP, &x, 1, &params, sizeof params, out);                   \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x, __VA_ARGS__,             \
                                 cbk_tensor *dst) {                                                \
        const cbk_activation_params params = INIT;                                                 \
        return cbk_run_into(stream, CBK_OP_##OP, &x, 1, &params, sizeof params, dst);              \
    }

#define VARIANT_PARAMS                                                                             \
    { .struct_size = sizeof(cbk_activation_params), .variant = variant }
#define ALPHA_PARAMS                                                                               \
    { .struct_size = sizeof(cbk_activation_params), .alpha = cbk_f(alpha) }
#define TWO_PARAMS                                                                                 \
    { .struct_size = sizeof(cbk_activation_params), .alpha = cbk_f(alpha), .beta = cbk_f(beta) }

FORWARD(gelu, GELU, VARIANT_PARAMS, uint32_t variant)
FORWARD(leaky_relu, LEAKY_RELU, ALPHA_PARAMS, double alpha)
FORWARD(elu, ELU, ALPHA_PARAMS, double alpha)
FORWARD(celu, CELU, ALPHA_PARAMS, double alpha)
FORWARD(softshrink, SOFTSHRINK, ALPHA_PARAMS, double alpha)
FORWARD(hardshrink, HARDSHRINK, ALPHA_PARAMS, double alpha)
FORWARD(thresholded_relu, THRESHOLDED_RELU, ALPHA_PARAMS, double alpha)
FORWARD(hardtanh, HARDTANH, TWO_PARAMS, double alpha, double beta)
FORWARD(threshold, THRESHOLD, TWO_PARAMS, double alpha, double beta)

/// With the caller's params, which may be NULL.
#define FORWARD_PARAMS(name, OP)                                                                   \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x,                                 \
                          const cbk_activation_params *params, cbk_tensor **out) {                 \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run(stream, CBK_OP_##OP, &x, 1, params, size, out);                             \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x,                          \
                                 const cbk_activation_params *params, cbk_tensor *dst) {           \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run_into(stream, CBK_OP_##OP, &x, 1, params, size, dst);                        \
    }

FORWARD_PARAMS(softplus, SOFTPLUS)
FORWARD_PARAMS(hard_sigmoid, HARD_SIGMOID)

// ---- backward -----------------------------------------------------------------------------------

#define BACKWARD(name, OP)                                                                         \
    cbk_status cbk_##name##_backward(cbk_stream *stream, const cbk_tensor *saved,                  \
                                     const cbk_tensor *grad, cbk_tensor **out) {                   \
        const cbk_tensor *const inputs[] = {saved, grad};                                          \
        return cbk_run(stream, CBK_OP_##OP##_BACKWARD, inputs, 2, NULL, 0, out);                   \
    }                                                                                              \
    cbk_status cbk_##name##_backward_into(cbk_stream *stream, const cbk_tensor *saved,             \
                                          const cbk_tensor *grad, cbk_tensor *dst) {               \
        const cbk_tensor *const inputs[] = {saved, grad};                                          \
        return cbk_run_into(stream, CBK_OP_##OP##_BACKWARD, inputs, 2, NULL, 0, dst);              \
    }

BACKWARD(relu, RELU)
BACKWARD(sigmoid, SIGMOID)
BACKWARD(tanh, TANH)
BACKWARD(log_sigmoid, LOG_SIGMOID)
BACKWARD(silu, SILU)
BACKWARD(mish, MISH)
BACKWARD(hardswish, HARDSWISH)
BACKWARD(selu, SELU)
BACKWARD(relu6, RELU6)
BACKWARD(softsign, SOFTSIGN)
BACKWARD(tanhshrink, TANHSHRINK)

#define BACKWARD_WITH(name, OP, INIT, ...)                                                         \
    cbk_status cbk_##name##_backward(cbk_stream *stream, const cbk_tensor *x,                      \
                                     const cbk_tensor *grad, __VA_ARGS__, cbk_tensor **out) {      \
        const cbk_tensor *const inputs[] = {x, grad};                                              \
        const cbk_activation_params params = INIT;                                                 \
        return cbk_run(stream, CBK_OP_##OP##_BACKWARD, inputs, 2, &params, sizeof params, out);    \
    }                                                                                              \
    cbk_status cbk_##name##_backward_into(cbk_stream *stream, const cbk_tensor *x,                 \
                                          const cbk_tensor *grad, __VA_ARGS__, cbk_tensor *dst) {  \
        const cbk_tensor *const inputs[] = {x, grad};                                              \
        const cbk_activation_params params = INIT;                                                 \
        return cbk_run_into(stream, CBK_OP_##OP##_BACKWARD, inputs, 2, &params, sizeof params,     \
                            dst);                                                                  \
    }

BACKWARD_WITH(gelu, GELU, VARIANT_PARAMS, uint32_t variant)
BACKWARD_WITH(leaky_relu, LEAKY_RELU, ALPHA_PARAMS, double alpha)
BACKWARD_WITH(elu, ELU, ALPHA_PARAMS, double alpha)
BACKWARD_WITH(celu, CELU, ALPHA_PARAMS, double alpha)
BACKWARD_WITH(softshrink, SOFTSHRINK, ALPHA_PARAMS, double alpha)
BACKWARD_WITH(hardshrink, HARDSHRINK, ALPHA_PARAMS, double alpha)
BACKWARD_WITH(thresholded_relu, THRESHOLDED_RELU, ALPHA_PARAMS, double alpha)
BACKWARD_WITH(threshold, THRESHOLD, ALPHA_PARAMS, double alpha)
BACKWARD_WITH(hardtanh, HARDTANH, TWO_PARAMS, double alpha, double beta)

#define BACKWARD_PARAMS(name, OP)                                                                  \
    cbk_status cbk_##name##_backward(cbk_stream *stream, const cbk_tensor *x,                      \
                                     const cbk_tensor *grad, const cbk_activation_params *params,  \
                                     cbk_tensor **out) {                                           \
        const cbk_tensor *const inputs[] = {x, grad};                                              \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run(stream, CBK_OP_##OP##_BACKWARD, inputs, 2, params, size, out);              \
    }                                                                                              \
    cbk_status cbk_##name##_backward_into(cbk_stream *stream, const cbk_tensor *x,                 \
                                          const cbk_tensor *grad,                                  \
                                          const cbk_activation_params *params, cbk_tensor *dst) {  \
        const cbk_tensor *const inputs[] = {x, grad};                                              \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run_into(stream, CBK_OP_##OP##_BACKWARD, inputs, 2, params, size, dst);         \
    }

BACKWARD_PARAMS(softplus, SOFTPLUS)
BACKWARD_PARAMS(hard_sigmoid, HARD_SIGMOID)
