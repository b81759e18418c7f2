/// cases_order.c: scans, sorts, draws from given weights.
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

static cbk_status setup_sort(struct bench *bench, const struct bench_case *of) {
    const int64_t shape[2] = {of->m, of->n}, kept[2] = {of->m, of->k != 0 ? of->k : of->n};
    cbk_status status = CBK_OK;
    TRY(cbk_random_normal(bench->stream, of->dtype, 2, shape, 0, 1, &bench->tensor[0]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 2, kept, &bench->tensor[1]));
    TRY(cbk_tensor_empty(bench->stream, CBK_DTYPE_I64, 2, kept, &bench->tensor[2]));
done:
    return status;
}

static cbk_status run_sort(struct bench *bench, const struct bench_case *of) {
    const cbk_sort_params params = CBK_INIT(cbk_sort_params, .axis = 1);
    (void)of;
    return cbk_sort_into(bench->stream, bench->tensor[0], &params, bench->tensor[1]);
}
static cbk_status run_argsort(struct bench *bench, const struct bench_case *of) {
    const cbk_sort_params params = CBK_INIT(cbk_sort_params, .axis = 1);
    (void)of;
    return cbk_argsort_into(bench->stream, bench->tensor[0], &params, bench->tensor[2]);
}
static cbk_status run_sort_both(struct bench *bench, const struct bench_case *of) {
    const cbk_sort_params params = CBK_INIT(cbk_sort_params, .axis = 1);
    (void)of;
    return cbk_sort_with_indices_into(bench->stream, bench->tensor[0], &params, bench->tensor[1],
                                      bench->tensor[2]);
}
static cbk_status run_topk(struct bench *bench, const struct bench_case *of) {
    const cbk_topk_params params = CBK_INIT(cbk_topk_params, .axis = 1, .k = of->k);
    return cbk_topk_with_indices_into(bench->stream, bench->tensor[0], &params, bench->tensor[1],
                                      bench->tensor[2]);
}

/// Weights [m, n] and k draws from each row.
static cbk_status setup_draws(struct bench *bench, const struct bench_case *of) {
    const int64_t shape[2] = {of->m, of->n}, drawn[2] = {of->m, of->k};
    cbk_status status = CBK_OK;
    TRY(cbk_random_uniform(bench->stream, of->dtype, 2, shape, 0, 1, &bench->tensor[0]));
    TRY(cbk_tensor_empty(bench->stream, CBK_DTYPE_I64, 2, drawn, &bench->tensor[1]));
done:
    return status;
}

static cbk_status run_categorical(struct bench *bench, const struct bench_case *of) {
    const cbk_categorical_params params = CBK_INIT(cbk_categorical_params, .count = of->k);
    return cbk_random_categorical_into(bench->stream, bench->tensor[0], &params, bench->tensor[1]);
}
static cbk_status run_distinct(struct bench *bench, const struct bench_case *of) {
    const cbk_categorical_params params =
        CBK_INIT(cbk_categorical_params, .count = of->k, .distinct = 1);
    return cbk_random_categorical_into(bench->stream, bench->tensor[0], &params, bench->tensor[1]);
}

#define SCAN(name_, rows_, columns_, axis_)                                                        \
    {                                                                                              \
        .name = name_, .setup = setup_scan, .run = run_cumsum, .dtype = CBK_DTYPE_F32,             \
        .elements = (int64_t)(rows_) * (columns_), .m = rows_, .n = columns_, .k = axis_,          \
        .reads = 1, .writes = 1                                                                    \
    }

#define SORT(name_, run_, rows_, columns_, kept_)                                                  \
    {                                                                                              \
        .name = name_, .setup = setup_sort, .run = run_, .dtype = CBK_DTYPE_F32,                   \
        .elements = (int64_t)(rows_) * (columns_), .m = rows_, .n = columns_, .k = kept_,          \
        .reads = 1                                                                                 \
    }

#define DRAWS(name_, run_, rows_, columns_, count_)                                                \
    {                                                                                              \
        .name = name_, .setup = setup_draws, .run = run_, .dtype = CBK_DTYPE_F32,                  \
        .elements = (int64_t)(rows_) * (columns_), .m = rows_, .n = columns_, .k = count_,         \
        .reads = 1                                                                                 \
    }

static const struct bench_case cases[] = {
    SCAN("cumsum_rows_4096", 4096, 4096, 1),
    SCAN("cumsum_cols_4096", 4096, 4096, 0),
    SCAN("cumsum_rows_16384", 16384, 16384, 1),
    SCAN("cumsum_cols_16384", 16384, 16384, 0),
    SCAN("cumsum_64Mi", 1, 64 * Mi, 1),
    SORT("sort_f32_16Mi", run_sort, 1, 16 * Mi, 0),
    SORT("sort_f32_64Mi", run_sort, 1, 64 * Mi, 0),
    SORT("sort_both_f32_64Mi", run_sort_both, 1, 64 * Mi, 0),
    SORT("argsort_rows_65536x1024", run_argsort, 65536, 1024, 0),
    SORT("argsort_rows_4096x16384", run_argsort, 4096, 16384, 0),
    SORT("topk32_4096x16384", run_topk, 4096, 16384, 32),
    DRAWS("categorical_64x131072", run_categorical, 64, 131072, 1),
    DRAWS("categorical_1Mi_of_65536", run_categorical, 1, 65536, Mi),
    DRAWS("categorical_distinct32_64x131072", run_distinct, 64, 131072, 32),
};

struct bench_table bench_order_cases(void) {
    return (struct bench_table){cases, sizeof cases / sizeof *cases};
}
