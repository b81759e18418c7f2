/// matmul.c: which kernels compute a matrix product.
///
/// The route depends on the operands and the kind of device only: the order in which the terms of
/// an element are added is a function of dtypes, shapes and strides.
#include "matmul.h"

#include "join.h"

enum {
    PACKED_SHORTEST = 24,     ///< rows and columns from which packing pays (CPU)
    PACKED_SIDE = 448,        ///< side of a cube of products likewise
    PACKED_SIDE_COSTLY = 160, ///< where the small form reads a badly
    BLAS_SHORTEST = 128       ///< m, n and k from which CLBlast is used by itself
};

/// The small form reads a in place, over and over: not where it must convert or jump for it.
static bool pays_packing(const struct cbk_ocl_product *p) {
    bool is_cheap = cbk_dtype_size(p->in) >= 4 && p->a.run == 1;
    double side = is_cheap ? PACKED_SIDE : PACKED_SIDE_COSTLY;
    return p->m >= PACKED_SHORTEST && p->n >= PACKED_SHORTEST &&
           (double)p->m * (double)p->n * (double)p->k >= side * side * side;
}

static cbk_status multiply_cpu(struct cbk_ocl_stream *stream, const struct cbk_ocl_product *p) {
    bool has_vector_rows = p->b.line == 1 || (p->b.run == 1 && p->a.run == 1);
    if (p->m == 1 && p->k > 0 && has_vector_rows) return cbk_ocl_matmul_vector(stream, p);
    return pays_packing(p) ? cbk_ocl_matmul_packed(stream, p) : cbk_ocl_matmul_small(stream, p);
}

static cbk_status multiply_gpu(struct cbk_ocl_stream *stream, const struct cbk_ocl_product *p) {
    bool has_vector_rows = p->b.line == 1 || (p->b.run == 1 && p->a.run == 1);
    if (p->m == 1 && p->k > 0 && has_vector_rows) return cbk_ocl_matmul_vector_group(stream, p);
    if (cbk_ocl_matmul_async_suits(stream, p)) return cbk_ocl_matmul_async(stream, p);
    if (cbk_ocl_matmul_rows_suits(stream, p)) return cbk_ocl_matmul_rows(stream, p);
    return cbk_ocl_matmul_tile(stream, p);
}

/// True where CLBlast is asked for, or is not known to be slower than kernels of ours.
static bool prefers_blas(const struct cbk_ocl_stream *stream, const struct cbk_ocl_product *p) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    uint32_t flags = stream->device->flags;
    if (flags & CBK_ROUTE_NO_BLAS) return false;
    if (flags & CBK_ROUTE_BLAS) return true;
    if (cbk_ocl_matmul_async_suits(stream, p)) return false;
    return !caps->is_cpu && !caps->is_pocl && p->m >= BLAS_SHORTEST && p->n >= BLAS_SHORTEST &&
           p->k >= BLAS_SHORTEST;
}

cbk_status cbk_ocl_matmul_multiply(struct cbk_ocl_stream *stream,
                                   const struct cbk_ocl_product *product) {
    return stream->device->caps->is_cpu ? multiply_cpu(stream, product)
                                        : multiply_gpu(stream, product);
}

static struct cbk_ocl_matmul_operands read_operands(const cbk_op *op) {
    struct cbk_ocl_matmul_operands operands = {.a = cbk_ocl_operand(op->inputs[0]),
                                               .b = cbk_ocl_operand(op->inputs[1]),
                                               .out = cbk_ocl_operand(op->outputs[0])};
    for (uint32_t k = 2; k < op->input_count; k++)
        if (op->inputs[k] != NULL) operands.added[k - 2] = cbk_ocl_operand(op->inputs[k]);
    return operands;
}

cbk_status cbk_ocl_matmul(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const struct cbk_ocl_matmul_operands operands = read_operands(op);
    struct cbk_ocl_product product;
    cbk_ocl_product_init(&operands, &product);
    cbk_status status = cbk_ocl_epilogue_activate(op->params, product.out_dtype, &product.epilogue);
    if (status != CBK_OK) return status;
    bool is_blas = prefers_blas(stream, &product) && cbk_ocl_matmul_blas_fits(stream, &product);
    if (!is_blas && !product.epilogue.is_lost) {
        const uint32_t first_node = cbk_rt_recorded_count(stream->rt);
        status = cbk_ocl_matmul_multiply(stream, &product);
        if (status == CBK_OK && cbk_rt_is_capturing(stream->rt))
            cbk_ocl_note_product(stream, first_node, &operands, &product.epilogue);
        return status;
    }

    const struct cbk_ocl_product bare = cbk_ocl_product_bare(&product);
    status = is_blas ? cbk_ocl_matmul_blas(stream, &bare) : cbk_ocl_matmul_multiply(stream, &bare);
    return status == CBK_OK ? cbk_ocl_epilogue_launch(stream, op) : status;
}
