// ops_reduce.c: named functions of the reduction and softmax families.
#include "core.h"

#define REDUCE(name, OP)                                                                           \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x,                                 \
                          const cbk_reduce_params *params, cbk_tensor **out) {                     \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run(stream, CBK_OP_##OP, &x, 1, params, size, out);                             \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x,                          \
                                 const cbk_reduce_params *params, cbk_tensor *dst) {               \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run_into(stream, CBK_OP_##OP, &x, 1, params, size, dst);                        \
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
