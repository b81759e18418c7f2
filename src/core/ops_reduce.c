// ops_reduce.c: named functions of the reduction and softmax families.
#include "core.h"

#define REDUCE_BY(name, OP, params_type)                                                           \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x, const params_type *params,      \
                          cbk_tensor **out) {                                                      \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run(stream, CBK_OP_##OP, &x, 1, params, size, out);                             \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x,                          \
                                 const params_type *params, cbk_tensor *dst) {                     \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run_into(stream, CBK_OP_##OP, &x, 1, params, size, dst);                        \
    }

#define REDUCE(name, OP) REDUCE_BY(name, OP, cbk_reduce_params)

#define REDUCE_PAIR(name, OP, params_type)                                                         \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x, const params_type *params,      \
                          cbk_tensor **out, cbk_tensor **out_second) {                             \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        cbk_tensor **const outs[] = {out, out_second};                                             \
        return cbk_run_outputs(stream, CBK_OP_##OP, &x, 1, params, size, outs, 2);                 \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x,                          \
                                 const params_type *params, cbk_tensor *dst,                       \
                                 cbk_tensor *dst_second) {                                         \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        cbk_tensor *const dsts[] = {dst, dst_second};                                              \
        return cbk_run_into_outputs(stream, CBK_OP_##OP, &x, 1, params, size, dsts, 2);            \
    }

REDUCE(sum, SUM)
REDUCE(mean, MEAN)
REDUCE(prod, PROD)
REDUCE(max, MAX)
REDUCE(min, MIN)
REDUCE(argmax, ARGMAX)
REDUCE(argmin, ARGMIN)
REDUCE(any, ANY)
REDUCE(all, ALL)
REDUCE_BY(var, VAR, cbk_variance_params)
REDUCE_BY(std, STD, cbk_variance_params)
REDUCE_PAIR(var_mean, VAR_MEAN, cbk_variance_params)
REDUCE_BY(norm, NORM, cbk_norm_params)
REDUCE(logsumexp, LOGSUMEXP)
REDUCE(max_abs, MAX_ABS)
REDUCE(min_abs, MIN_ABS)
REDUCE_PAIR(max_with_indices, MAX_WITH_INDICES, cbk_reduce_params)
REDUCE_PAIR(min_with_indices, MIN_WITH_INDICES, cbk_reduce_params)
REDUCE(count_nonzero, COUNT_NONZERO)

#define SOFTMAX(name, OP)                                                                          \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x, int32_t axis,                   \
                          cbk_tensor **out) {                                                      \
        const cbk_axis_params params = {.struct_size = sizeof params, .axis = axis};               \
        return cbk_run(stream, CBK_OP_##OP, &x, 1, &params, sizeof params, out);                   \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x, int32_t axis,            \
                                 cbk_tensor *dst) {                                                \
        const cbk_axis_params params = {.struct_size = sizeof params, .axis = axis};               \
        return cbk_run_into(stream, CBK_OP_##OP, &x, 1, &params, sizeof params, dst);              \
    }

SOFTMAX(softmax, SOFTMAX)
SOFTMAX(log_softmax, LOG_SOFTMAX)
SOFTMAX(softmin, SOFTMIN)
SOFTMAX(quiet_softmax, QUIET_SOFTMAX)

#define SOFTMAX_BACKWARD(name, OP)                                                                 \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *y, const cbk_tensor *gradient,     \
                          int32_t axis, cbk_tensor **out) {                                        \
        const cbk_axis_params params = {.struct_size = sizeof params, .axis = axis};               \
        const cbk_tensor *const inputs[] = {y, gradient};                                          \
        return cbk_run(stream, CBK_OP_##OP, inputs, 2, &params, sizeof params, out);               \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *y,                          \
                                 const cbk_tensor *gradient, int32_t axis, cbk_tensor *dst) {      \
        const cbk_axis_params params = {.struct_size = sizeof params, .axis = axis};               \
        const cbk_tensor *const inputs[] = {y, gradient};                                          \
        return cbk_run_into(stream, CBK_OP_##OP, inputs, 2, &params, sizeof params, dst);          \
    }

SOFTMAX_BACKWARD(softmax_backward, SOFTMAX_BACKWARD)
SOFTMAX_BACKWARD(log_softmax_backward, LOG_SOFTMAX_BACKWARD)
