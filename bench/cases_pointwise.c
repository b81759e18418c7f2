/// cases_pointwise.c: work bound by memory: moves, elementwise operations, random numbers.
#include "bench.h"

#define Mi ((int64_t)1 << 20)
#define ARRAY_1GiB (256 * Mi)
#define ARRAY_64Mi (64 * Mi)

static cbk_status normal(struct bench *bench, int slot, cbk_dtype dtype, uint32_t rank,
                         const int64_t *shape) {
    return cbk_random_normal(bench->stream, dtype, rank, shape, 0, 1, &bench->tensor[slot]);
}

/// Two inputs and an output of `elements` elements.
static cbk_status setup_flat(struct bench *bench, const struct bench_case *of) {
    cbk_status status = CBK_OK;
    TRY(normal(bench, 0, of->dtype, 1, &of->elements));
    if (of->reads > 1) TRY(normal(bench, 1, of->dtype, 1, &of->elements));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 1, &of->elements, &bench->tensor[2]));
done:
    return status;
}

/// [m, n], a row [n], and an output [m, n] (or its transpose).
static cbk_status setup_matrix(struct bench *bench, const struct bench_case *of) {
    const int64_t shape[2] = {of->m, of->n};
    cbk_status status = CBK_OK;
    TRY(normal(bench, 0, of->dtype, 2, shape));
    TRY(normal(bench, 1, of->dtype, 1, &of->n));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 2, shape, &bench->tensor[2]));
    TRY(cbk_transpose(bench->stream, bench->tensor[0], 0, 1, &bench->tensor[3]));
done:
    return status;
}

#define IN(i) bench->tensor[i]
#define OUT bench->tensor[2]
#define RUN(name, call)                                                                            \
    static cbk_status run_##name(struct bench *bench, const struct bench_case *of) {               \
        (void)of;                                                                                  \
        return call;                                                                               \
    }

RUN(copy, cbk_copy_into(bench->stream, IN(0), OUT))
RUN(add, cbk_add_into(bench->stream, IN(0), IN(1), OUT))
RUN(relu, cbk_relu_into(bench->stream, IN(0), OUT))
RUN(gelu, cbk_gelu_into(bench->stream, IN(0), CBK_GELU_EXACT, OUT))
RUN(gelu_backward, cbk_gelu_backward_into(bench->stream, IN(0), IN(1), CBK_GELU_EXACT, OUT))
RUN(silu_backward, cbk_silu_backward_into(bench->stream, IN(0), IN(1), OUT))
RUN(exp, cbk_exp_into(bench->stream, IN(0), OUT))
RUN(tanh, cbk_tanh_into(bench->stream, IN(0), OUT))
RUN(bcast_add, cbk_add_into(bench->stream, IN(0), IN(1), OUT))
RUN(tril, cbk_tril_into(bench->stream, IN(0), 0, OUT))
RUN(transpose, cbk_copy_into(bench->stream, IN(3), OUT))
RUN(rand, cbk_random_uniform_into(bench->stream, 0, 1, OUT))
RUN(randn, cbk_random_normal_into(bench->stream, 0, 1, OUT))

#define FLAT(name_, run_, count_, reads_, writes_)                                                 \
    {                                                                                              \
        .name = name_, .setup = setup_flat, .run = run_, .dtype = CBK_DTYPE_F32,                   \
        .elements = count_, .reads = reads_, .writes = writes_                                     \
    }
#define MATRIX(name_, run_, rows_, columns_)                                                       \
    {                                                                                              \
        .name = name_, .setup = setup_matrix, .run = run_, .dtype = CBK_DTYPE_F32,                 \
        .elements = (rows_) * (columns_), .m = rows_, .n = columns_, .reads = 1, .writes = 1       \
    }

static const struct bench_case cases[] = {
    FLAT("copy_f32_64Mi", run_copy, ARRAY_64Mi, 1, 1),
    FLAT("add_f32_64Mi", run_add, ARRAY_64Mi, 2, 1),
    FLAT("relu_f32_64Mi", run_relu, ARRAY_64Mi, 1, 1),
    FLAT("exp_f32_64Mi", run_exp, ARRAY_64Mi, 1, 1),
    FLAT("tanh_f32_64Mi", run_tanh, ARRAY_64Mi, 1, 1),
    FLAT("gelu_f32_64Mi", run_gelu, ARRAY_64Mi, 1, 1),
    FLAT("gelu_backward_f32_64Mi", run_gelu_backward, ARRAY_64Mi, 2, 1),
    FLAT("silu_backward_f32_64Mi", run_silu_backward, ARRAY_64Mi, 2, 1),
    FLAT("copy_f32_1GiB", run_copy, ARRAY_1GiB, 1, 1),
    FLAT("add_f32_1GiB", run_add, ARRAY_1GiB, 2, 1),
    FLAT("gelu_f32_1GiB", run_gelu, ARRAY_1GiB, 1, 1),
    MATRIX("bcast_add_8192", run_bcast_add, 8192, 8192),
    MATRIX("transpose_copy_8192", run_transpose, 8192, 8192),
    // Half of what is read is not: traffic counts it all the same.
    MATRIX("tril_8192", run_tril, 8192, 8192),
    MATRIX("bcast_add_16384", run_bcast_add, 16384, 16384),
    MATRIX("transpose_copy_16384", run_transpose, 16384, 16384),
    FLAT("rand_64M", run_rand, ARRAY_64Mi, 0, 1),
    FLAT("randn_64M", run_randn, ARRAY_64Mi, 0, 1),
    FLAT("rand_256M", run_rand, ARRAY_1GiB, 0, 1),
    FLAT("randn_256M", run_randn, ARRAY_1GiB, 0, 1),
};

struct bench_table bench_pointwise_cases(void) {
    return (struct bench_table){cases, sizeof cases / sizeof *cases};
}
