/// cases_order.c: scans.
#include "bench.h"

#define Mi ((int64_t)1 << 20)

/// x [m, n] and a result like it.
static cbk_status setup_scan(struct bench *bench, const struct bench_case *of) {
    const int64_t shape[2] = {of->m, of->n};
    cbk_status status = CBK_OK;
    TRY(cbk_random_normal(bench->stream, of->dtype, 2, shape, 0, 1, &bench->tensor[0]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 2, shape, &bench->tensor[1]));
done:
    return status;
}

static cbk_status run_cumsum(struct bench *bench, const struct bench_case *of) {
    const cbk_scan_params params = CBK_INIT(cbk_scan_params, .axis = (int32_t)of->k);
    return cbk_cumsum_into(bench->stream, bench->tensor[0], &params, bench->tensor[1]);
}

#define SCAN(name_, rows_, columns_, axis_)                                                        \
    {                                                                                              \
        .name = name_, .setup = setup_scan, .run = run_cumsum, .dtype = CBK_DTYPE_F32,             \
        .elements = (int64_t)(rows_) * (columns_), .m = rows_, .n = columns_, .k = axis_,          \
        .reads = 1, .writes = 1                                                                    \
    }

static const struct bench_case cases[] = {
    SCAN("cumsum_rows_4096", 4096, 4096, 1),    SCAN("cumsum_cols_4096", 4096, 4096, 0),
    SCAN("cumsum_rows_16384", 16384, 16384, 1), SCAN("cumsum_cols_16384", 16384, 16384, 0),
    SCAN("cumsum_64Mi", 1, 64 * Mi, 1),
};

struct bench_table bench_order_cases(void) {
    return (struct bench_table){cases, sizeof cases / sizeof *cases};
}
