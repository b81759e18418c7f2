/// cases_reduce.c: reductions, softmax and row selection.
#include "bench.h"

#define Mi ((int64_t)1 << 20)

/// x [m, n] and what the reduction of axis k writes.
static cbk_status setup_reduce(struct bench *bench, const struct bench_case *of) {
    const int64_t shape[2] = {of->m, of->n};
    const int64_t kept[2] = {of->k == 0 ? 1 : of->m, of->k == 1 ? 1 : of->n};
    cbk_status status = CBK_OK;
    TRY(cbk_random_normal(bench->stream, of->dtype, 2, shape, 0, 1, &bench->tensor[0]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 2, kept, &bench->tensor[1]));
    TRY(cbk_tensor_empty(bench->stream, CBK_DTYPE_I64, 2, kept, &bench->tensor[3]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 0, NULL, &bench->tensor[4]));
done:
    return status;
}

static cbk_status setup_map(struct bench *bench, const struct bench_case *of) {
    const int64_t shape[2] = {of->m, of->n};
    cbk_status status = CBK_OK;
    TRY(cbk_random_normal(bench->stream, of->dtype, 2, shape, 0, 1, &bench->tensor[0]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 2, shape, &bench->tensor[1]));
done:
    return status;
}

static cbk_status setup_norm(struct bench *bench, const struct bench_case *of) {
    cbk_status status = setup_map(bench, of);
    for (int i = 5; i < 7 && status == CBK_OK; i++)
        status = cbk_random_normal(bench->stream, of->dtype, 1, &of->n, 0, 1, &bench->tensor[i]);
    return status;
}

/// k rows of x [m, n], drawn at random.
static cbk_status setup_select(struct bench *bench, const struct bench_case *of) {
    const int64_t shape[2] = {of->m, of->n}, picked[2] = {of->k, of->n};
    cbk_status status = CBK_OK;
    TRY(cbk_random_normal(bench->stream, of->dtype, 2, shape, 0, 1, &bench->tensor[0]));
    TRY(cbk_random_integer(bench->stream, CBK_DTYPE_I64, 1, &of->k, 0, of->m, &bench->tensor[1]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 2, picked, &bench->tensor[2]));
done:
    return status;
}

static cbk_reduce_params axis(const struct bench_case *of) {
    return CBK_INIT(cbk_reduce_params, .axis_count = 1, .axes = {(int32_t)of->k});
}

static cbk_status run_sum_all(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_sum_into(bench->stream, bench->tensor[0], NULL, bench->tensor[4]);
}
static cbk_status run_sum(struct bench *bench, const struct bench_case *of) {
    cbk_reduce_params params = axis(of);
    return cbk_sum_into(bench->stream, bench->tensor[0], &params, bench->tensor[1]);
}
static cbk_status run_argmax(struct bench *bench, const struct bench_case *of) {
    cbk_reduce_params params = axis(of);
    return cbk_argmax_into(bench->stream, bench->tensor[0], &params, bench->tensor[3]);
}
static cbk_status run_var(struct bench *bench, const struct bench_case *of) {
    cbk_variance_params params = CBK_INIT(cbk_variance_params, .axis_count = 1, .axes = {1});
    (void)of;
    return cbk_var_into(bench->stream, bench->tensor[0], &params, bench->tensor[1]);
}
static cbk_status run_norm(struct bench *bench, const struct bench_case *of) {
    cbk_norm_params params = CBK_INIT(cbk_norm_params, .axis_count = 1, .axes = {1});
    (void)of;
    return cbk_norm_into(bench->stream, bench->tensor[0], &params, bench->tensor[1]);
}
static cbk_status run_logsumexp(struct bench *bench, const struct bench_case *of) {
    cbk_reduce_params params = axis(of);
    return cbk_logsumexp_into(bench->stream, bench->tensor[0], &params, bench->tensor[1]);
}
static cbk_status run_softmax(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_softmax_into(bench->stream, bench->tensor[0], 1, bench->tensor[1]);
}
/// tensor[5], tensor[6]: gamma and beta of setup_norm.
static cbk_status run_layer_norm(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_layer_norm_into(bench->stream, bench->tensor[0], bench->tensor[5], bench->tensor[6],
                               NULL, bench->tensor[1]);
}
static cbk_status run_rms_norm(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_rms_norm_into(bench->stream, bench->tensor[0], bench->tensor[5], NULL,
                             bench->tensor[1]);
}
static cbk_status run_select(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_select_into(bench->stream, bench->tensor[0], bench->tensor[1], 0, bench->tensor[2]);
}

#define REDUCE(name_, run_, rows_, columns_, axis_)                                                \
    {                                                                                              \
        .name = name_, .setup = setup_reduce, .run = run_, .dtype = CBK_DTYPE_F32,                 \
        .elements = (int64_t)(rows_) * (columns_), .m = rows_, .n = columns_, .k = axis_,          \
        .reads = 1                                                                                 \
    }
#define NORM(name_, run_, rows_, columns_)                                                         \
    {                                                                                              \
        .name = name_, .setup = setup_norm, .run = run_, .dtype = CBK_DTYPE_F32,                   \
        .elements = (int64_t)(rows_) * (columns_), .m = rows_, .n = columns_, .reads = 1,          \
        .writes = 1                                                                                \
    }
#define MAP(name_, run_, rows_, columns_)                                                          \
    {                                                                                              \
        .name = name_, .setup = setup_map, .run = run_, .dtype = CBK_DTYPE_F32,                    \
        .elements = (int64_t)(rows_) * (columns_), .m = rows_, .n = columns_, .reads = 1,          \
        .writes = 1                                                                                \
    }
#define SELECT(name_, rows_, columns_, picked_)                                                    \
    {                                                                                              \
        .name = name_, .setup = setup_select, .run = run_select, .dtype = CBK_DTYPE_F32,           \
        .elements = (int64_t)(picked_) * (columns_), .m = rows_, .n = columns_, .k = picked_,      \
        .reads = 1, .writes = 1                                                                    \
    }

static const struct bench_case cases[] = {
    REDUCE("sum_all_f32_64Mi", run_sum_all, 1, 64 * Mi, 1),
    REDUCE("sum_all_f32_1GiB", run_sum_all, 1, 256 * Mi, 1),
    REDUCE("sum_rows_8192", run_sum, 8192, 8192, 1),
    REDUCE("sum_cols_8192", run_sum, 8192, 8192, 0),
    REDUCE("argmax_8192", run_argmax, 8192, 8192, 1),
    REDUCE("sum_rows_16384", run_sum, 16384, 16384, 1),
    REDUCE("sum_cols_16384", run_sum, 16384, 16384, 0),
    REDUCE("argmax_16384", run_argmax, 16384, 16384, 1),
    REDUCE("var_rows_8192", run_var, 8192, 8192, 1),
    REDUCE("var_rows_16384", run_var, 16384, 16384, 1),
    REDUCE("norm_rows_8192", run_norm, 8192, 8192, 1),
    REDUCE("norm_rows_16384", run_norm, 16384, 16384, 1),
    REDUCE("logsumexp_rows_8192", run_logsumexp, 8192, 8192, 1),
    REDUCE("logsumexp_rows_16384", run_logsumexp, 16384, 16384, 1),
    MAP("softmax_8192", run_softmax, 8192, 8192),
    MAP("softmax_16384", run_softmax, 16384, 16384),
    MAP("softmax_65536x1024", run_softmax, 65536, 1024),
    NORM("layernorm_8192", run_layer_norm, 8192, 8192),
    NORM("layernorm_16384", run_layer_norm, 16384, 16384),
    NORM("layernorm_65536x1024", run_layer_norm, 65536, 1024),
    NORM("rmsnorm_65536x1024", run_rms_norm, 65536, 1024),
    SELECT("index_select_65536x1024", 65536, 1024, 32768),
};

struct bench_table bench_reduce_cases(void) {
    return (struct bench_table){cases, sizeof cases / sizeof *cases};
}
