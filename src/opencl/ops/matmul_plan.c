/// matmul_plan.c: from an operation to a product in normal form.
#include "matmul.h"

#include <string.h>

cbk_dtype cbk_ocl_matmul_accumulator(cbk_dtype in, cbk_dtype out) {
    bool is_wide = cbk_dtype_size(in) == 8 || cbk_dtype_size(out) == 8;
    if (in < CBK_DTYPE_I64) return is_wide ? CBK_DTYPE_F64 : CBK_DTYPE_F32;
    return is_wide ? CBK_DTYPE_U64 : CBK_DTYPE_U32;
}

/// Stride of an operand along an output axis; 0 where it is broadcast.
static int64_t batch_stride(const cbk_tensor_meta *meta, uint32_t rank, uint32_t axis) {
    if (axis + meta->rank < rank) return 0;
    uint32_t own = axis + meta->rank - rank;
    return meta->shape[own] == 1 ? 0 : meta->strides[own];
}

static void drop_axis(struct cbk_ocl_product *p, int64_t axis) {
    struct cbk_ocl_batch *batch = &p->batch;
    struct cbk_ocl_epilogue_args *added = &p->epilogue.args;
    for (int64_t i = axis; i + 1 < batch->rank; i++) {
        batch->shape[i] = batch->shape[i + 1];
        for (int k = 0; k < 3; k++) batch->strides[k][i] = batch->strides[k][i + 1];
        for (int k = 0; k < CBK_OCL_ADDED; k++) added->batch[k][i] = added->batch[k][i + 1];
    }
    batch->rank--;
}

static void collect_batch(const struct cbk_ocl_matmul_operands *operands,
                          struct cbk_ocl_product *p) {
    const cbk_tensor_meta *const metas[3] = {operands->a.meta, operands->b.meta,
                                             operands->out.meta};
    const cbk_tensor_meta *out = metas[CBK_OCL_C];
    struct cbk_ocl_batch *batch = &p->batch;
    for (uint32_t axis = out->rank - 2; axis-- > 0;) {
        if (out->shape[axis] == 1) continue;
        batch->shape[batch->rank] = out->shape[axis];
        for (int k = 0; k < 3; k++)
            batch->strides[k][batch->rank] = batch_stride(metas[k], out->rank, axis);
        for (int k = 0; k < CBK_OCL_ADDED; k++)
            if (operands->added[k].meta != NULL)
                p->epilogue.args.batch[k][batch->rank] =
                    batch_stride(operands->added[k].meta, out->rank, axis);
        batch->rank++;
    }
}

static void collect_added(const struct cbk_ocl_matmul_operands *operands,
                          struct cbk_ocl_epilogue *epilogue) {
    const uint32_t rank = operands->out.meta->rank;
    for (int k = 0; k < CBK_OCL_ADDED; k++) {
        const struct cbk_ocl_operand *added = &operands->added[k];
        if (added->meta == NULL) continue;
        epilogue->blocks[k] = added->block;
        epilogue->args.offset[k] = added->offset;
        epilogue->args.line[k] = batch_stride(added->meta, rank, rank - 2);
        epilogue->args.run[k] = batch_stride(added->meta, rank, rank - 1);
    }
}

/// bias and residual along lines that take batch axis `axis` in.
static void fold_added(struct cbk_ocl_epilogue *epilogue, int64_t axis, int64_t count,
                       int64_t strides[CBK_OCL_ADDED]) {
    for (int k = 0; k < CBK_OCL_ADDED; k++) {
        const int64_t outer = epilogue->args.batch[k][axis];
        if (count == 1)
            strides[k] = outer;
        else
            epilogue->is_lost |= outer != strides[k] * count;
    }
}

/// Does axis `outer` continue an axis of that length and stride?
static bool continues(int64_t outer, int64_t stride, int64_t length) {
    return length == 1 || outer == stride * length;
}

/// A batch axis along which one operand repeats is an axis of rows of the other: [s, m, k] x [k, n]
/// is [s m, k] x [k, n]. `lines` is the operand that does not repeat.
static void fold_lines(struct cbk_ocl_product *p, int lines, int repeated, int64_t *count,
                       int64_t *stride, int64_t *out_stride, int64_t added_strides[CBK_OCL_ADDED]) {
    struct cbk_ocl_batch *batch = &p->batch;
    for (int64_t i = 0; i < batch->rank; i++) {
        if (batch->strides[repeated][i] != 0 ||
            !continues(batch->strides[lines][i], *stride, *count) ||
            !continues(batch->strides[CBK_OCL_C][i], *out_stride, *count))
            continue;
        if (*count == 1) {
            *stride = batch->strides[lines][i];
            *out_stride = batch->strides[CBK_OCL_C][i];
        }
        fold_added(&p->epilogue, i, *count, added_strides);
        *count *= batch->shape[i];
        drop_axis(p, i);
        i = -1; // a longer axis may continue into one that was passed
    }
}

static void merge_batch(struct cbk_ocl_product *p) {
    struct cbk_ocl_batch *batch = &p->batch;
    struct cbk_ocl_epilogue *epilogue = &p->epilogue;
    for (int64_t i = 0; i + 1 < batch->rank;) {
        bool merges = true;
        for (int k = 0; k < 3; k++)
            merges = merges && batch->strides[k][i + 1] == batch->strides[k][i] * batch->shape[i];
        if (merges) {
            for (int k = 0; k < CBK_OCL_ADDED; k++) {
                int64_t *strides = epilogue->args.batch[k];
                epilogue->is_lost |= strides[i + 1] != strides[i] * batch->shape[i];
                strides[i + 1] = strides[i];
            }
            batch->shape[i + 1] *= batch->shape[i];
            for (int k = 0; k < 3; k++) batch->strides[k][i + 1] = batch->strides[k][i];
            drop_axis(p, i);
        } else {
            i++;
        }
    }
}

/// out^T = b^T a^T.
static void transpose(struct cbk_ocl_product *p) {
    struct cbk_ocl_matrix a = p->a;
    int64_t m = p->m, line = p->out.line;
    p->m = p->n, p->n = m;
    p->a = p->b, p->b = a;
    p->out.line = p->out.run, p->out.run = line;
    struct cbk_ocl_epilogue_args *added = &p->epilogue.args;
    for (int k = 0; k < CBK_OCL_ADDED; k++) {
        int64_t stride = added->line[k];
        added->line[k] = added->run[k], added->run[k] = stride;
    }
    for (int64_t i = 0; i < p->batch.rank; i++) {
        int64_t stride = p->batch.strides[CBK_OCL_A][i];
        p->batch.strides[CBK_OCL_A][i] = p->batch.strides[CBK_OCL_B][i];
        p->batch.strides[CBK_OCL_B][i] = stride;
    }
}

static void settle_short_axes(struct cbk_ocl_product *p) {
    if (p->m == 1) p->a.line = p->out.line = 1;
    if (p->n == 1) p->b.line = p->out.run = 1;
    if (p->k == 1) p->a.run = p->b.run = 1;
}

void cbk_ocl_product_init(const struct cbk_ocl_matmul_operands *operands,
                          struct cbk_ocl_product *out) {
    const struct cbk_ocl_operand a = operands->a, b = operands->b, c = operands->out;
    uint32_t row_a = a.meta->rank - 2, row_b = b.meta->rank - 2, row_c = c.meta->rank - 2;
    *out = (struct cbk_ocl_product){
        .in = a.meta->dtype,
        .out_dtype = c.meta->dtype,
        .acc = cbk_ocl_matmul_accumulator(a.meta->dtype, c.meta->dtype),
        .m = c.meta->shape[row_c],
        .n = c.meta->shape[row_c + 1],
        .k = a.meta->shape[row_a + 1],
        .a = {a.block, a.offset, a.meta->strides[row_a], a.meta->strides[row_a + 1]},
        .b = {b.block, b.offset, b.meta->strides[row_b + 1], b.meta->strides[row_b]},
        .out = {c.block, c.offset, c.meta->strides[row_c], c.meta->strides[row_c + 1]},
    };
    // With k = 0 the operands have no storage and are not read.
    if (out->a.block == NULL) out->a.block = c.block;
    if (out->b.block == NULL) out->b.block = c.block;
    struct cbk_ocl_epilogue_args *added = &out->epilogue.args;
    collect_batch(operands, out);
    collect_added(operands, &out->epilogue);
    fold_lines(out, CBK_OCL_A, CBK_OCL_B, &out->m, &out->a.line, &out->out.line, added->line);
    fold_lines(out, CBK_OCL_B, CBK_OCL_A, &out->n, &out->b.line, &out->out.run, added->run);
    merge_batch(out);
    settle_short_axes(out);
    if ((out->n == 1 && out->m > 1) || (out->m > 1 && out->out.run != 1 && out->out.line == 1))
        transpose(out);
    out->matrices = 1;
    for (int64_t i = 0; i < out->batch.rank; i++) out->matrices *= out->batch.shape[i];
}

struct cbk_ocl_product cbk_ocl_product_bare(const struct cbk_ocl_product *product) {
    struct cbk_ocl_product bare = *product;
    bare.epilogue = (struct cbk_ocl_epilogue){.activation = NULL};
    return bare;
}

// ---- parts --------------------------------------------------------------------------------------

static void halve_batch(struct cbk_ocl_product *first, struct cbk_ocl_product *second) {
    struct cbk_ocl_batch *batch = &first->batch;
    int64_t axis = batch->rank - 1, length = batch->shape[axis], kept = length / 2;
    int64_t others = first->matrices / length;
    batch->shape[axis] = kept;
    second->batch.shape[axis] = length - kept;
    first->matrices = others * kept;
    second->matrices = others * (length - kept);
    second->a.offset += kept * batch->strides[CBK_OCL_A][axis];
    second->b.offset += kept * batch->strides[CBK_OCL_B][axis];
    second->out.offset += kept * batch->strides[CBK_OCL_C][axis];
    struct cbk_ocl_epilogue_args *added = &second->epilogue.args;
    for (int k = 0; k < CBK_OCL_ADDED; k++) added->offset[k] += kept * added->batch[k][axis];
}

bool cbk_ocl_product_halve(const struct cbk_ocl_product *product, int64_t multiple,
                           struct cbk_ocl_product *first, struct cbk_ocl_product *second) {
    int64_t kept = product->n / 2 / multiple * multiple;
    *first = *second = *product;
    if (product->matrices > 1) {
        halve_batch(first, second);
        return true;
    }
    if (kept == 0) return false;
    first->n = kept;
    second->n = product->n - kept;
    second->b.offset += kept * product->b.line;
    second->out.offset += kept * product->out.run;
    struct cbk_ocl_epilogue_args *added = &second->epilogue.args;
    for (int k = 0; k < CBK_OCL_ADDED; k++) added->offset[k] += kept * added->run[k];
    return true;
}

static int64_t span(int64_t length, int64_t stride) {
    return (length - 1) * (stride < 0 ? -stride : stride);
}

bool cbk_ocl_product_fits_32bit(const struct cbk_ocl_product *p) {
    const int64_t limit = INT32_MAX - (1 << 20);
    return p->m <= limit && p->n <= limit && p->k <= limit &&
           span(p->m, p->a.line) + span(p->k, p->a.run) <= limit &&
           span(p->n, p->b.line) + span(p->k, p->b.run) <= limit;
}
