/// index.c: gather, select, scatter and select_assign: what is moved where.
#include "index.h"

const cbk_dtype cbk_ocl_index_dtypes[] = {CBK_DTYPE_I64, CBK_DTYPE_I32, CBK_DTYPE_I16,
                                          CBK_DTYPE_I8,  CBK_DTYPE_U64, CBK_DTYPE_U32,
                                          CBK_DTYPE_U16, CBK_DTYPE_U8,  CBK_DTYPE_NONE};

// ---- axes ---------------------------------------------------------------------------------------

static void add_axis(struct cbk_ocl_index_axes *axes, int64_t length, int64_t x, int64_t index,
                     int64_t y) {
    axes->count *= length;
    if (length == 1) return;
    if (axes->rank > 0) {
        int64_t top = axes->rank - 1, inner = axes->shape[top];
        if (x == axes->x[top] * inner && index == axes->index[top] * inner &&
            y == axes->y[top] * inner) {
            axes->shape[top] *= length;
            return;
        }
    }
    axes->shape[axes->rank] = length;
    axes->x[axes->rank] = x;
    axes->index[axes->rank] = index;
    axes->y[axes->rank] = y;
    axes->rank++;
}

int64_t cbk_ocl_index_step(const struct cbk_ocl_indexing *indexing) {
    return indexing->index.meta->strides[indexing->is_per_slice ? 0 : indexing->axis];
}

void cbk_ocl_index_axes(const struct cbk_ocl_indexing *indexing, bool with_axis,
                        struct cbk_ocl_index_axes *out) {
    const cbk_tensor_meta *x = indexing->x.meta, *index = indexing->index.meta,
                          *y = indexing->y.meta;
    *out = (struct cbk_ocl_index_axes){.count = 1};
    for (uint32_t i = y->rank; i-- > 0;) {
        if (i != indexing->axis)
            add_axis(out, y->shape[i], x->strides[i],
                     indexing->is_per_slice ? 0 : index->strides[i], y->strides[i]);
        else if (with_axis)
            add_axis(out, y->shape[i], 0, cbk_ocl_index_step(indexing), y->strides[i]);
    }
}

// ---- updates ------------------------------------------------------------------------------------

/// Sums and products of f16 and bf16 are kept in f32 until all are done.
static bool needs_wide(cbk_dtype dtype, uint32_t update) {
    return (dtype == CBK_DTYPE_F16 || dtype == CBK_DTYPE_BF16) &&
           (update == CBK_UPDATE_ADD || update == CBK_UPDATE_MUL);
}

static cbk_status update_wide(struct cbk_ocl_stream *stream, struct cbk_ocl_indexing *indexing,
                              const struct cbk_ocl_operand *x, const struct cbk_ocl_operand *out,
                              uint32_t update) {
    cbk_tensor_meta wide_like = *out->meta, wide_meta;
    struct cbk_ocl_operand wide = {.block = NULL};
    cbk_status status = CBK_OK;
    wide_like.dtype = CBK_DTYPE_F32;
    RT_TRY(cbk_ocl_temporary(stream, &wide_like, &wide_meta, &wide));
    RT_TRY(cbk_ocl_convert(stream, x, &wide));
    indexing->x = wide;
    RT_TRY(cbk_ocl_scatter(stream, indexing, update));
    RT_TRY(cbk_ocl_convert(stream, &wide, out));
done:
    cbk_rt_free(stream->device->rt, &wide.block);
    return status;
}

static cbk_status update_in(struct cbk_ocl_stream *stream, const cbk_op *op,
                            struct cbk_ocl_indexing *indexing) {
    const cbk_index_params *params = op->params;
    struct cbk_ocl_operand x = indexing->x, out = cbk_ocl_operand(op->outputs[0]);
    indexing->y = cbk_ocl_operand(op->inputs[2]);
    bool has_values = indexing->y.meta->element_count > 0;
    if (has_values && needs_wide(x.meta->dtype, params->update))
        return update_wide(stream, indexing, &x, &out, params->update);
    cbk_status status = x.block == out.block ? CBK_OK : cbk_ocl_copy(stream, &x, &out);
    if (status != CBK_OK || !has_values) return status;
    indexing->x = out;
    return cbk_ocl_scatter(stream, indexing, params->update);
}

cbk_status cbk_ocl_index(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_index_params *params = op->params;
    struct cbk_ocl_indexing indexing = {.operation = cbk_op_info_of(op->opcode)->name,
                                        .x = cbk_ocl_operand(op->inputs[0]),
                                        .index = cbk_ocl_operand(op->inputs[1]),
                                        .axis = (uint32_t)params->axis};
    indexing.is_per_slice = op->opcode == CBK_OP_SELECT || op->opcode == CBK_OP_SELECT_ASSIGN;
    if (op->opcode == CBK_OP_SCATTER || op->opcode == CBK_OP_SELECT_ASSIGN)
        return update_in(stream, op, &indexing);
    indexing.y = cbk_ocl_operand(op->outputs[0]);
    return cbk_ocl_gather(stream, &indexing);
}

void cbk_ocl_index_programs(cbk_ocl_program_visitor visit, void *user_data) {
    cbk_ocl_gather_programs(visit, user_data);
    cbk_ocl_scatter_programs(visit, user_data);
}
