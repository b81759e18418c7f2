/// cases_matmul.c: matrix products, beside OpenBLAS where it is installed.
#include "bench.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

// ---- ours --------------------------------------------------------------------------------------

/// a [m, k], b [k, n], c [m, n].
static cbk_status setup(struct bench *bench, const struct bench_case *of) {
    const int64_t a[2] = {of->m, of->k}, b[2] = {of->k, of->n}, c[2] = {of->m, of->n};
    cbk_status status = CBK_OK;
    TRY(cbk_random_normal(bench->stream, of->dtype, 2, a, 0, 1, &bench->tensor[0]));
    TRY(cbk_random_normal(bench->stream, of->dtype, 2, b, 0, 1, &bench->tensor[1]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 2, c, &bench->tensor[2]));
done:
    return status;
}

static cbk_status setup_batch(struct bench *bench, const struct bench_case *of) {
    const int64_t shape[3] = {64, of->m, of->m};
    cbk_status status = CBK_OK;
    for (int i = 0; i < 2; i++)
        TRY(cbk_random_normal(bench->stream, of->dtype, 3, shape, 0, 1, &bench->tensor[i]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 3, shape, &bench->tensor[2]));
done:
    return status;
}

/// relu(a b + bias) + residual.
static cbk_status setup_fused(struct bench *bench, const struct bench_case *of) {
    cbk_status status = CBK_OK;
    TRY(setup(bench, of));
    TRY(cbk_random_normal(bench->stream, of->dtype, 1, &of->n, 0, 1, &bench->tensor[3]));
    TRY(cbk_random_normal(bench->stream, of->dtype, 2, (int64_t[]){of->m, of->n}, 0, 1,
                          &bench->tensor[4]));
done:
    return status;
}

static cbk_status run_fused(struct bench *bench, const struct bench_case *of) {
    const cbk_matmul_params relu = CBK_INIT(cbk_matmul_params, .activation = CBK_OP_RELU);
    cbk_tensor *const *t = bench->tensor;
    (void)of;
    return cbk_matmul_fused_into(bench->stream, t[0], t[1], t[3], t[4], &relu, t[2]);
}

static cbk_status run(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_matmul_into(bench->stream, bench->tensor[0], bench->tensor[1], NULL,
                           bench->tensor[2]);
}

// ---- OpenBLAS ------------------------------------------------------------------------------------

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };
typedef void (*sgemm_function)(int order, int ta, int tb, int m, int n, int k, float alpha,
                               const float *a, int lda, const float *b, int ldb, float beta,
                               float *c, int ldc);
typedef void (*dgemm_function)(int order, int ta, int tb, int m, int n, int k, double alpha,
                               const double *a, int lda, const double *b, int ldb, double beta,
                               double *c, int ldc);

/// One product by OpenBLAS, of the operands that ours had.
struct blas {
    sgemm_function sgemm;
    dgemm_function dgemm;
    void *a, *b, *c, *ours;
    int m, n, k;
    bool is_f64;
};

static void *blas_symbol(const char *name) {
    static void *library;
    if (library == NULL) {
        // a forced kernel would make it slower than the machine allows
        unsetenv("OPENBLAS_CORETYPE");
        unsetenv("OPENBLAS_L2_SIZE");
        library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    }
    return library != NULL ? dlsym(library, name) : NULL;
}

static void blas_once(void *state) {
    struct blas *s = state;
    if (s->is_f64)
        s->dgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, s->m, s->n, s->k, 1, s->a, s->k, s->b, s->n,
                 0, s->c, s->n);
    else
        s->sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, s->m, s->n, s->k, 1, s->a, s->k, s->b, s->n,
                 0, s->c, s->n);
}

/// A peer that computes something else is no peer.
static bool same_product(const struct blas *s) {
    double worst = 0, scale = sqrt((double)s->k);
    for (size_t i = 0; i < (size_t)s->m * (size_t)s->n; i++) {
        double x = s->is_f64 ? ((double *)s->c)[i] : ((float *)s->c)[i];
        double y = s->is_f64 ? ((double *)s->ours)[i] : ((float *)s->ours)[i];
        if (!(fabs(x - y) <= worst)) worst = fabs(x - y);
    }
    return worst <= 1e-4 * scale;
}

static void peer(struct bench *bench, const struct bench_case *of, struct bench_times *out) {
    struct blas s = {
        .m = (int)of->m, .n = (int)of->n, .k = (int)of->k, .is_f64 = of->dtype == CBK_DTYPE_F64};
    const uint64_t size = cbk_dtype_size(of->dtype);
    const uint64_t bytes[3] = {(uint64_t)(of->m * of->k) * size, (uint64_t)(of->k * of->n) * size,
                               (uint64_t)(of->m * of->n) * size};
    if (!bench->is_cpu) return;
    *(void **)&s.sgemm = blas_symbol("cblas_sgemm");
    *(void **)&s.dgemm = blas_symbol("cblas_dgemm");
    if (s.sgemm == NULL || s.dgemm == NULL) return;
    s.a = malloc(bytes[0]), s.b = malloc(bytes[1]);
    s.c = malloc(bytes[2]), s.ours = malloc(bytes[2]);
    if (s.a != NULL && s.b != NULL && s.c != NULL && s.ours != NULL &&
        cbk_tensor_read(bench->stream, bench->tensor[0], s.a, bytes[0]) == CBK_OK &&
        cbk_tensor_read(bench->stream, bench->tensor[1], s.b, bytes[1]) == CBK_OK &&
        cbk_tensor_read(bench->stream, bench->tensor[2], s.ours, bytes[2]) == CBK_OK) {
        bench_time(blas_once, NULL, &s, out);
        out->valid = same_product(&s);
    }
    free(s.a), free(s.b), free(s.c), free(s.ours);
}

#define MATMUL(name_, dtype_, m_, n_, k_, peer_)                                                   \
    {                                                                                              \
        .name = name_, .setup = setup, .run = run, .dtype = dtype_, .m = m_, .n = n_, .k = k_,     \
        .flops = 2.0 * (m_) * (n_) * (k_), .peer = peer_, .peer_name = "openblas"                  \
    }

#define FUSED(name_, dtype_, m_, n_, k_, gpu_only_)                                                \
    {                                                                                              \
        .name = name_, .setup = setup_fused, .run = run_fused, .dtype = dtype_, .m = m_, .n = n_,  \
        .k = k_, .flops = 2.0 * (m_) * (n_) * (k_), .gpu_only = gpu_only_                          \
    }

static const struct bench_case cases[] = {
    MATMUL("matmul_f32_64", CBK_DTYPE_F32, 64, 64, 64, peer),
    MATMUL("matmul_f32_256", CBK_DTYPE_F32, 256, 256, 256, peer),
    MATMUL("matmul_f32_512", CBK_DTYPE_F32, 512, 512, 512, peer),
    MATMUL("matmul_f32_1024", CBK_DTYPE_F32, 1024, 1024, 1024, peer),
    MATMUL("matmul_f32_2048", CBK_DTYPE_F32, 2048, 2048, 2048, peer),
    MATMUL("matmul_f64_1024", CBK_DTYPE_F64, 1024, 1024, 1024, peer),
    MATMUL("matmul_f16_1024", CBK_DTYPE_F16, 1024, 1024, 1024, NULL),
    MATMUL("matmul_bf16_1024", CBK_DTYPE_BF16, 1024, 1024, 1024, NULL),
    MATMUL("matmul_f32_8x256x256", CBK_DTYPE_F32, 8, 256, 256, NULL),
    MATMUL("matmul_f32_8x4096x4096", CBK_DTYPE_F32, 8, 4096, 4096, NULL),
    MATMUL("matmul_bf16_8x4096x4096", CBK_DTYPE_BF16, 8, 4096, 4096, NULL),
    FUSED("matmul_fused_f32_8x256x256", CBK_DTYPE_F32, 8, 256, 256, false),
    FUSED("matmul_fused_f32_1024", CBK_DTYPE_F32, 1024, 1024, 1024, false),
    FUSED("matmul_fused_f32_4096", CBK_DTYPE_F32, 4096, 4096, 4096, true),
    FUSED("matmul_fused_bf16_4096", CBK_DTYPE_BF16, 4096, 4096, 4096, true),
    {.name = "matmul_f32_4096",
     .setup = setup,
     .run = run,
     .dtype = CBK_DTYPE_F32,
     .m = 4096,
     .n = 4096,
     .k = 4096,
     .flops = 2.0 * 4096 * 4096 * 4096,
     .gpu_only = true},
    {.name = "matmul_f32_8192",
     .setup = setup,
     .run = run,
     .dtype = CBK_DTYPE_F32,
     .m = 8192,
     .n = 8192,
     .k = 8192,
     .flops = 2.0 * 8192 * 8192 * 8192,
     .gpu_only = true},
    {.name = "matmul_f16_4096",
     .setup = setup,
     .run = run,
     .dtype = CBK_DTYPE_F16,
     .m = 4096,
     .n = 4096,
     .k = 4096,
     .flops = 2.0 * 4096 * 4096 * 4096,
     .gpu_only = true},
    {.name = "matmul_bf16_4096",
     .setup = setup,
     .run = run,
     .dtype = CBK_DTYPE_BF16,
     .m = 4096,
     .n = 4096,
     .k = 4096,
     .flops = 2.0 * 4096 * 4096 * 4096,
     .gpu_only = true},
    {.name = "matmul_f64_4096",
     .setup = setup,
     .run = run,
     .dtype = CBK_DTYPE_F64,
     .m = 4096,
     .n = 4096,
     .k = 4096,
     .flops = 2.0 * 4096 * 4096 * 4096,
     .gpu_only = true},
    {.name = "bmm_f32_64x512",
     .setup = setup_batch,
     .run = run,
     .dtype = CBK_DTYPE_F32,
     .m = 512,
     .n = 512,
     .k = 512,
     .flops = 2.0 * 64 * 512 * 512 * 512},
    {.name = "gemv_f32_16384",
     .setup = setup,
     .run = run,
     .dtype = CBK_DTYPE_F32,
     .elements = (int64_t)16384 * 16384,
     .reads = 1,
     .m = 16384,
     .n = 1,
     .k = 16384},
};

struct bench_table bench_matmul_cases(void) {
    return (struct bench_table){cases, sizeof cases / sizeof *cases};
}
