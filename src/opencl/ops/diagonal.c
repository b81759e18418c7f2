/// diagonal.c: diag_embed and eye: zeros, then a launch over a view of the diagonal.
#include "matrix.h"
#include "pointwise.h"

/// The diagonal of the last two axes of y, as its last axis; its length may be 0.
static struct cbk_ocl_operand diagonal_of(const struct cbk_ocl_operand *y, int64_t offset,
                                          cbk_tensor_meta *out_meta) {
    const cbk_tensor_meta *meta = y->meta;
    const uint32_t row = meta->rank - 2, column = meta->rank - 1;
    const int64_t rows = meta->shape[row], columns = meta->shape[column];
    struct cbk_ocl_operand diagonal = {.meta = out_meta, .block = y->block, .offset = y->offset};
    int64_t length = 0;
    *out_meta = *meta;
    out_meta->rank--;
    if (offset >= 0 && offset < columns) {
        length = columns - offset < rows ? columns - offset : rows;
        diagonal.offset += offset * meta->strides[column];
    } else if (offset < 0 && offset > -rows) {
        length = rows + offset < columns ? rows + offset : columns;
        diagonal.offset -= offset * meta->strides[row];
    }
    out_meta->shape[row] = length;
    out_meta->strides[row] = meta->strides[row] + meta->strides[column];
    out_meta->element_count = 1;
    for (uint32_t i = 0; i < out_meta->rank; i++) out_meta->element_count *= out_meta->shape[i];
    return diagonal;
}

cbk_status cbk_ocl_diag_embed(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]);
    const struct cbk_ocl_operand y = cbk_ocl_operand(op->outputs[0]);
    cbk_tensor_meta meta;
    const struct cbk_ocl_operand diagonal =
        diagonal_of(&y, ((const cbk_offset_params *)op->params)->offset, &meta);
    cbk_status status = cbk_ocl_fill(stream, cbk_i(0), &y);
    return status != CBK_OK ? status : cbk_ocl_copy(stream, &x, &diagonal);
}

cbk_status cbk_ocl_eye(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const struct cbk_ocl_operand y = cbk_ocl_operand(op->outputs[0]);
    cbk_tensor_meta meta;
    const struct cbk_ocl_operand diagonal =
        diagonal_of(&y, ((const cbk_eye_params *)op->params)->offset, &meta);
    cbk_status status = cbk_ocl_fill(stream, cbk_i(0), &y);
    if (status != CBK_OK || meta.element_count == 0) return status;
    return cbk_ocl_fill(stream, cbk_i(1), &diagonal);
}
