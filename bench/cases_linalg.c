/// cases_linalg.c: factorisations of matrices: many small ones, and one large one.
#include "bench.h"

/// x [m, n, n] and room for the results.
static cbk_status setup_matrices(struct bench *bench, const struct bench_case *of) {
    const int64_t shape[3] = {of->m, of->n, of->n};
    cbk_status status = CBK_OK;
    TRY(cbk_random_normal(bench->stream, of->dtype, 3, shape, 0, 1, &bench->tensor[0]));
    for (int i = 1; i < 3; i++)
        TRY(cbk_tensor_empty(bench->stream, of->dtype, 3, shape, &bench->tensor[i]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 1, shape, &bench->tensor[3]));
    for (int i = 4; i < 6; i++)
        TRY(cbk_tensor_empty(bench->stream, CBK_DTYPE_I32, 2, shape, &bench->tensor[i]));
done:
    return status;
}

static cbk_status run_lu(struct bench *bench, const struct bench_case *of) {
    const cbk_lu_params params = CBK_INIT(cbk_lu_params, .out_dtype = CBK_DTYPE_I32);
    (void)of;
    return cbk_lu_factor_into(bench->stream, bench->tensor[0], &params, bench->tensor[1],
                              bench->tensor[4], bench->tensor[5]);
}
static cbk_status run_det(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_det_into(bench->stream, bench->tensor[0], bench->tensor[3]);
}
static cbk_status run_qr(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_qr_into(bench->stream, bench->tensor[0], NULL, bench->tensor[1], bench->tensor[2]);
}

// Multiplications and additions: 2/3 n^3 for LU, 4/3 n^3 each for R and for Q.
#define FACTORISE(name_, run_, count_, n_, thirds_)                                                \
    {                                                                                              \
        .name = name_, .setup = setup_matrices, .run = run_, .dtype = CBK_DTYPE_F32, .m = count_,  \
        .n = n_, .flops = (thirds_) / 3.0 * (count_) * (n_) * (n_) * (n_)                          \
    }

static const struct bench_case cases[] = {
    FACTORISE("lu_4096x32x32", run_lu, 4096, 32, 2),   FACTORISE("lu_1024", run_lu, 1, 1024, 2),
    FACTORISE("det_4096x32x32", run_det, 4096, 32, 2), FACTORISE("det_1024", run_det, 1, 1024, 2),
    FACTORISE("qr_4096x32x32", run_qr, 4096, 32, 8),   FACTORISE("qr_1024", run_qr, 1, 1024, 8),
};

struct bench_table bench_linalg_cases(void) {
    return (struct bench_table){cases, sizeof cases / sizeof *cases};
}
