/// index.c: the index family: what is moved where.
#include "grid_sample.h"

#include "mover.h"

const cbk_dtype cbk_ocl_index_dtypes[] = {CBK_DTYPE_I64, CBK_DTYPE_I32, CBK_DTYPE_I16,
                                          CBK_DTYPE_I8,  CBK_DTYPE_U64, CBK_DTYPE_U32,
                                          CBK_DTYPE_U16, CBK_DTYPE_U8,  CBK_DTYPE_NONE};

// ---- programs that gather and one_hot have alike ------------------------------------------------

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct cbk_ocl_index_program *program = spec->context;
    cbk_rt_text_add(defines, " -DE=%s -DI=%s -DINDEX=%s", cbk_ocl_bits_type(program->element_size),
                    cbk_ocl_dtype_word(program->index), program->has_index64 ? "long" : "int");
    if (program->is_gpu)
        cbk_rt_text_add(defines, " -DGPU_FORM");
    else
        cbk_rt_text_add(defines, " -DV=%d", program->element_size == 8 ? 8 : 16);
}

struct cbk_rt_spec cbk_ocl_index_spec(const struct cbk_ocl_index_program *program) {
    return (struct cbk_rt_spec){
        .source = program->source,
        .entry = program->entry,
        .key = {(uint64_t)program->element_size | (uint64_t)program->index << 8 |
                    (uint64_t)program->is_gpu << 16 | (uint64_t)program->has_index64 << 17,
                0},
        .describe = describe,
        .context = program};
}

void cbk_ocl_index_programs_of(const struct cbk_rt_source *source, const char *entry,
                               uint32_t most_size, cbk_ocl_program_visitor visit, void *user_data) {
    for (const cbk_dtype *index = cbk_ocl_index_dtypes; *index != CBK_DTYPE_NONE; index++) {
        for (uint32_t size = 1; size <= most_size; size *= 2) {
            for (int form = size == 16; form < 3; form++) {
                const struct cbk_ocl_index_program program = {source, entry,    size,
                                                              *index, form > 0, form != 1};
                const struct cbk_rt_spec spec = cbk_ocl_index_spec(&program);
                visit(user_data, &spec);
            }
        }
    }
}

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

void cbk_ocl_index_axes(const struct cbk_ocl_indexing *indexing, bool with_index,
                        struct cbk_ocl_index_axes *out) {
    const cbk_tensor_meta *x = indexing->x.meta, *index = indexing->index.meta,
                          *y = indexing->y.meta;
    const bool is_per_slice = indexing->is_per_slice;
    const uint32_t axis = indexing->axis, end = axis + (is_per_slice ? index->rank : 1);
    *out = (struct cbk_ocl_index_axes){.count = 1};
    for (uint32_t i = y->rank; i-- > 0;) {
        const bool is_index = i >= axis && i < end;
        if (is_index && with_index)
            add_axis(out, y->shape[i], 0, index->strides[is_per_slice ? i - axis : i],
                     y->strides[i]);
        else if (!is_index)
            add_axis(out, y->shape[i], x->strides[i < axis ? i : i - end + axis + 1],
                     is_per_slice ? 0 : index->strides[i], y->strides[i]);
    }
}

// ---- leading axes as one ------------------------------------------------------------------------

bool cbk_ocl_is_flat(const cbk_tensor_meta *meta, uint32_t count) {
    int64_t next = 0; // stride that the next axis out must have; 0: none so far
    bool has_axis = false;
    if (meta->element_count == 0) return true;
    for (uint32_t i = count; i-- > 0;) {
        if (meta->shape[i] == 1) continue;
        if (has_axis && meta->strides[i] != next) return false;
        next = meta->strides[i] * meta->shape[i];
        has_axis = true;
    }
    return true;
}

static void flatten_meta(const cbk_tensor_meta *x, uint32_t count, cbk_tensor_meta *out) {
    *out = *x;
    out->rank = x->rank - count + 1;
    out->shape[0] = 1;
    out->strides[0] = 0;
    for (uint32_t i = count; i-- > 0;) {
        if (out->shape[0] == 1) out->strides[0] = x->strides[i];
        out->shape[0] *= x->shape[i];
    }
    for (uint32_t i = count; i < x->rank; i++) {
        out->shape[i - count + 1] = x->shape[i];
        out->strides[i - count + 1] = x->strides[i];
    }
}

cbk_status cbk_ocl_flatten(struct cbk_ocl_stream *stream, const struct cbk_ocl_operand *x,
                           uint32_t count, struct cbk_ocl_flat *out) {
    struct cbk_ocl_operand source = *x;
    out->temporary = NULL;
    if (!cbk_ocl_is_flat(x->meta, count)) {
        cbk_status status = cbk_ocl_temporary(stream, x->meta, &out->dense, &source);
        if (status != CBK_OK) return status;
        out->temporary = source.block;
        status = cbk_ocl_copy(stream, x, &source);
        if (status != CBK_OK) return status;
    }
    flatten_meta(source.meta, count, &out->meta);
    out->operand = source;
    out->operand.meta = &out->meta;
    return CBK_OK;
}

// ---- updates ------------------------------------------------------------------------------------

/// Sums and products of f16 and bf16 are kept in f32 until all are done.
static bool needs_wide(cbk_dtype dtype, uint32_t update) {
    return (dtype == CBK_DTYPE_F16 || dtype == CBK_DTYPE_BF16) &&
           (update == CBK_UPDATE_ADD || update == CBK_UPDATE_MUL);
}

static cbk_status start(struct cbk_ocl_stream *stream, const struct cbk_ocl_operand *x,
                        const struct cbk_ocl_operand *to) {
    if (x == NULL) return cbk_ocl_fill(stream, cbk_i(0), to);
    if (x->block == to->block && x->offset == to->offset) return CBK_OK; // in place
    return x->meta->dtype == to->meta->dtype ? cbk_ocl_copy(stream, x, to)
                                             : cbk_ocl_convert(stream, x, to);
}

/// In dense memory of dtype `dtype`, and from there to `out`.
static cbk_status update_aside(struct cbk_ocl_stream *stream, struct cbk_ocl_indexing *indexing,
                               const struct cbk_ocl_operand *x, const struct cbk_ocl_operand *out,
                               cbk_dtype dtype, uint32_t depth, uint32_t update, uint32_t flags) {
    cbk_tensor_meta like = *out->meta, meta;
    struct cbk_ocl_operand aside = {.block = NULL};
    struct cbk_ocl_flat flat;
    cbk_status status = CBK_OK;
    like.dtype = dtype;
    RT_TRY(cbk_ocl_temporary(stream, &like, &meta, &aside));
    RT_TRY(start(stream, x, &aside));
    RT_TRY(cbk_ocl_flatten(stream, &aside, depth, &flat));
    indexing->x = flat.operand;
    RT_TRY(cbk_ocl_scatter(stream, indexing, update, flags));
    RT_TRY(start(stream, &aside, out));
done:
    cbk_rt_free(stream->device->rt, &aside.block);
    return status;
}

cbk_status cbk_ocl_update(struct cbk_ocl_stream *stream, struct cbk_ocl_indexing *indexing,
                          const struct cbk_ocl_operand *x, const struct cbk_ocl_operand *out,
                          uint32_t depth, uint32_t update, uint32_t flags) {
    const cbk_dtype dtype = out->meta->dtype;
    struct cbk_ocl_flat flat;
    if (indexing->y.meta->element_count == 0) return start(stream, x, out);
    if (needs_wide(dtype, update))
        return update_aside(stream, indexing, x, out, CBK_DTYPE_F32, depth, update, flags);
    if (!cbk_ocl_is_flat(out->meta, depth))
        return update_aside(stream, indexing, x, out, dtype, depth, update, flags);
    cbk_status status = start(stream, x, out);
    if (status == CBK_OK) status = cbk_ocl_flatten(stream, out, depth, &flat);
    if (status != CBK_OK) return status;
    indexing->x = flat.operand;
    return cbk_ocl_scatter(stream, indexing, update, flags);
}

static cbk_status update_along_axis(struct cbk_ocl_stream *stream, const cbk_op *op,
                                    struct cbk_ocl_indexing *indexing) {
    const cbk_index_params *params = op->params;
    const struct cbk_ocl_operand x = indexing->x, out = cbk_ocl_operand(op->outputs[0]);
    indexing->y = cbk_ocl_operand(op->inputs[2]);
    return cbk_ocl_update(stream, indexing, &x, &out, 1, params->update, params->flags);
}

/// Adds rows of grad to rows of zeros: leading axes of grad, and all of index, are positions.
static cbk_status embedding_backward(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_embedding_backward_params *params = op->params;
    const struct cbk_ocl_operand grad = cbk_ocl_operand(op->inputs[0]),
                                 index = cbk_ocl_operand(op->inputs[1]),
                                 out = cbk_ocl_operand(op->outputs[0]);
    struct cbk_ocl_flat rows = {.temporary = NULL}, positions = {.temporary = NULL};
    cbk_status status = CBK_OK;
    RT_TRY(cbk_ocl_flatten(stream, &grad, index.meta->rank, &rows));
    RT_TRY(cbk_ocl_flatten(stream, &index, index.meta->rank, &positions));
    struct cbk_ocl_indexing indexing = {.operation = "embedding_backward",
                                        .index = positions.operand,
                                        .y = rows.operand,
                                        .is_per_slice = true};
    RT_TRY(cbk_ocl_update(stream, &indexing, NULL, &out, 1, CBK_UPDATE_ADD, params->flags));
done:
    cbk_rt_free(stream->device->rt, &positions.temporary);
    cbk_rt_free(stream->device->rt, &rows.temporary);
    return status;
}

// ---- the family ---------------------------------------------------------------------------------

static cbk_status along_axis(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_index_params *params = op->params;
    struct cbk_ocl_indexing indexing = {.operation = cbk_op_info_of(op->opcode)->name,
                                        .x = cbk_ocl_operand(op->inputs[0]),
                                        .index = cbk_ocl_operand(op->inputs[1]),
                                        .axis = (uint32_t)params->axis};
    indexing.is_per_slice = op->opcode == CBK_OP_SELECT || op->opcode == CBK_OP_SELECT_ASSIGN;
    if (op->opcode == CBK_OP_SCATTER || op->opcode == CBK_OP_SELECT_ASSIGN)
        return update_along_axis(stream, op, &indexing);
    indexing.y = cbk_ocl_operand(op->outputs[0]);
    return cbk_ocl_gather(stream, &indexing);
}

cbk_status cbk_ocl_index(struct cbk_ocl_stream *stream, const cbk_op *op) {
    switch (op->opcode) {
    case CBK_OP_GATHER_ND:
        return cbk_ocl_gather_nd(stream, op);
    case CBK_OP_SCATTER_ND:
        return cbk_ocl_scatter_nd(stream, op);
    case CBK_OP_EMBEDDING_BACKWARD:
        return embedding_backward(stream, op);
    case CBK_OP_ONE_HOT:
        return cbk_ocl_one_hot(stream, op);
    case CBK_OP_GRID_SAMPLE:
        return cbk_ocl_grid_sample(stream, op);
    case CBK_OP_GRID_SAMPLE_X_BACKWARD:
        return cbk_ocl_grid_sample_x_backward(stream, op);
    case CBK_OP_GRID_SAMPLE_GRID_BACKWARD:
        return cbk_ocl_grid_sample_grid_backward(stream, op);
    default:
        return along_axis(stream, op);
    }
}

void cbk_ocl_index_programs(cbk_ocl_program_visitor visit, void *user_data) {
    cbk_ocl_gather_programs(visit, user_data);
    cbk_ocl_scatter_programs(visit, user_data);
    cbk_ocl_scatter_atomic_programs(visit, user_data);
    cbk_ocl_index_nd_programs(visit, user_data);
    cbk_ocl_one_hot_programs(visit, user_data);
    cbk_ocl_grid_sample_programs(visit, user_data);
}
