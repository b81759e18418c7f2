/// cases_index.c: compaction, and what reads or writes at indices.
#include "bench.h"

#define Mi ((int64_t)1 << 20)

// ---- compaction: a byte of the mask per element; traffic is counted in such bytes ----------------

/// A mask in which one element in `k` is true, x, and room for the hits.
static cbk_status setup_compact(struct bench *bench, const struct bench_case *of) {
    const int64_t hits = of->elements / of->k, places[2] = {hits, 1};
    cbk_status status = CBK_OK;
    TRY(cbk_random_bernoulli(bench->stream, CBK_DTYPE_BOOL, 1, &of->elements, 1.0 / (double)of->k,
                             &bench->tensor[0]));
    TRY(cbk_random_normal(bench->stream, CBK_DTYPE_F32, 1, &of->elements, 0, 1, &bench->tensor[1]));
    TRY(cbk_tensor_empty(bench->stream, CBK_DTYPE_I64, 2, places, &bench->tensor[2]));
    TRY(cbk_tensor_empty(bench->stream, CBK_DTYPE_F32, 1, &hits, &bench->tensor[3]));
    TRY(cbk_tensor_empty(bench->stream, CBK_DTYPE_I64, 0, NULL, &bench->tensor[4]));
done:
    return status;
}

static cbk_status run_argwhere(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_argwhere_into(bench->stream, bench->tensor[0], bench->tensor[2], bench->tensor[4]);
}
static cbk_status run_mask_select(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_mask_select_into(bench->stream, bench->tensor[1], bench->tensor[0], bench->tensor[3],
                                bench->tensor[4]);
}
static cbk_status run_count(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_count_nonzero_into(bench->stream, bench->tensor[0], NULL, bench->tensor[4]);
}

#define COMPACT(name_, run_, one_in_, reads_, writes_)                                             \
    {                                                                                              \
        .name = name_, .setup = setup_compact, .run = run_, .dtype = CBK_DTYPE_U8,                 \
        .elements = 64 * Mi, .k = one_in_, .reads = reads_, .writes = writes_                      \
    }

static const struct bench_case cases[] = {
    COMPACT("count_nonzero_64Mi", run_count, 8, 1, 0),
    COMPACT("argwhere_64Mi", run_argwhere, 8, 1, 1),
    COMPACT("mask_select_64Mi", run_mask_select, 4, 5, 1),
};

struct bench_table bench_index_cases(void) {
    return (struct bench_table){cases, sizeof cases / sizeof *cases};
}
