/// matmul_blas.c: matrix products by CLBlast, for operands that it can take as they are.
#include "matmul.h"

/// Row-major [rows][columns] with rows `*out_ld` apart, or transposed.
static bool is_row_major(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride,
                         bool *out_is_transposed, uint64_t *out_ld) {
    if (column_stride == 1 && (rows == 1 || row_stride >= columns)) {
        *out_is_transposed = false;
        *out_ld = (uint64_t)(rows == 1 ? columns : row_stride);
        return true;
    }
    if (row_stride == 1 && (columns == 1 || column_stride >= rows)) {
        *out_is_transposed = true;
        *out_ld = (uint64_t)(columns == 1 ? rows : column_stride);
        return true;
    }
    return false;
}

/// The product of the innermost batch axis, or of one matrix.
static bool describe(const struct cbk_ocl_product *p, struct cbk_rt_gemm *out) {
    bool is_transposed = false;
    const int64_t *strides[3] = {p->batch.strides[CBK_OCL_A], p->batch.strides[CBK_OCL_B],
                                 p->batch.strides[CBK_OCL_C]};
    bool has_batch = p->batch.rank > 0;
    if (p->acc != p->in && !(p->acc == CBK_DTYPE_F32 && p->in == CBK_DTYPE_FLEX32)) return false;
    if (p->out_dtype != p->in || cbk_dtype_size(p->in) < 4 || p->in >= CBK_DTYPE_I64) return false;
    *out = (struct cbk_rt_gemm){
        .is_f64 = p->acc == CBK_DTYPE_F64,
        .m = (uint64_t)p->m,
        .n = (uint64_t)p->n,
        .k = (uint64_t)p->k,
        .batch = has_batch ? (uint64_t)p->batch.shape[0] : 1,
        .a = p->a.block,
        .b = p->b.block,
        .c = p->out.block,
        .a_offset = (uint64_t)p->a.offset,
        .b_offset = (uint64_t)p->b.offset,
        .c_offset = (uint64_t)p->out.offset,
    };
    if (has_batch) {
        if (strides[0][0] < 0 || strides[1][0] < 0 || strides[2][0] < 0) return false;
        out->a_stride = (uint64_t)strides[0][0];
        out->b_stride = (uint64_t)strides[1][0];
        out->c_stride = (uint64_t)strides[2][0];
    }
    return is_row_major(p->m, p->k, p->a.line, p->a.run, &out->transpose_a, &out->a_ld) &&
           is_row_major(p->k, p->n, p->b.run, p->b.line, &out->transpose_b, &out->b_ld) &&
           is_row_major(p->m, p->n, p->out.line, p->out.run, &is_transposed, &out->c_ld) &&
           !is_transposed;
}

/// Calls `visit` for each setting of the batch axes beyond the innermost.
static cbk_status each_part(const struct cbk_ocl_stream *stream, const struct cbk_ocl_product *p,
                            const struct cbk_rt_gemm *first,
                            cbk_status (*visit)(const struct cbk_ocl_stream *stream,
                                                const struct cbk_rt_gemm *gemm)) {
    const struct cbk_ocl_batch *batch = &p->batch;
    int64_t index[6] = {0}, axis;
    do {
        struct cbk_rt_gemm gemm = *first;
        for (axis = 1; axis < batch->rank; axis++) {
            gemm.a_offset += (uint64_t)(index[axis] * batch->strides[CBK_OCL_A][axis]);
            gemm.b_offset += (uint64_t)(index[axis] * batch->strides[CBK_OCL_B][axis]);
            gemm.c_offset += (uint64_t)(index[axis] * batch->strides[CBK_OCL_C][axis]);
        }
        cbk_status status = visit(stream, &gemm);
        if (status != CBK_OK) return status;
        for (axis = 1; axis < batch->rank && ++index[axis] == batch->shape[axis]; axis++)
            index[axis] = 0;
    } while (axis < batch->rank);
    return CBK_OK;
}

static cbk_status check(const struct cbk_ocl_stream *stream, const struct cbk_rt_gemm *gemm) {
    return cbk_rt_gemm_supported(stream->device->rt, gemm) ? CBK_OK : CBK_ERROR_UNSUPPORTED;
}

static cbk_status multiply(const struct cbk_ocl_stream *stream, const struct cbk_rt_gemm *gemm) {
    return cbk_rt_gemm(stream->rt, gemm);
}

bool cbk_ocl_matmul_blas_fits(const struct cbk_ocl_stream *stream,
                              const struct cbk_ocl_product *product) {
    struct cbk_rt_gemm gemm;
    return describe(product, &gemm) && each_part(stream, product, &gemm, check) == CBK_OK;
}

cbk_status cbk_ocl_matmul_blas(struct cbk_ocl_stream *stream,
                               const struct cbk_ocl_product *product) {
    struct cbk_rt_gemm gemm;
    bool fits = describe(product, &gemm);
    CBK_ASSERT(fits);
    (void)fits;
    return each_part(stream, product, &gemm, multiply);
}
