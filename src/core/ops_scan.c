// ops_scan.c: named functions of the scan family.
#include "core.h"

#define SCAN(name, OP)                                                                             \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x, const cbk_scan_params *params,  \
                          cbk_tensor **out) {                                                      \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run(stream, CBK_OP_##OP, &x, 1, params, size, out);                             \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x,                          \
                                 const cbk_scan_params *params, cbk_tensor *dst) {                 \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run_into(stream, CBK_OP_##OP, &x, 1, params, size, dst);                        \
    }

SCAN(cumsum, CUMSUM)
SCAN(cumprod, CUMPROD)
SCAN(cummax, CUMMAX)
SCAN(cummin, CUMMIN)
SCAN(logcumsumexp, LOGCUMSUMEXP)
