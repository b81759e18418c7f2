/// index_nd.c: gather_nd and scatter_nd: rows of indices become places (kernels/index_nd.cl), with
/// which slices of x are read or updated.
#include "index.h"

#define GROUP 64

struct nd_args {
    struct cbk_ocl_axes rows;
    int64_t index_offset, step;
    int64_t y_offset;
    int64_t depth, lengths[CBK_MAX_RANK];
};

// ---- places -------------------------------------------------------------------------------------

struct program {
    cbk_dtype index;
    bool has_index64;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DI=%s -DINDEX=%s", cbk_ocl_dtype_word(program->index),
                    program->has_index64 ? "long" : "int");
}

static struct cbk_rt_spec make_spec(const struct program *program) {
    return (struct cbk_rt_spec){
        .source = &cbk_kernel_index_nd,
        .entry = "index_nd",
        .key = {(uint64_t)program->index | (uint64_t)program->has_index64 << 8, 0},
        .describe = describe,
        .context = program};
}

cbk_status cbk_ocl_index_places(struct cbk_ocl_stream *stream, const char *operation,
                                const struct cbk_ocl_operand *index, const int64_t *lengths,
                                const struct cbk_ocl_operand *out) {
    const cbk_tensor_meta *meta = index->meta;
    const uint32_t last = meta->rank - 1;
    struct nd_args args = {.index_offset = index->offset,
                           .step = meta->strides[last],
                           .y_offset = out->offset,
                           .depth = meta->shape[last]};
    cbk_ocl_axes_init(&args.rows);
    for (uint32_t i = last; i-- > 0;)
        cbk_ocl_axes_add(&args.rows, meta->shape[i], meta->strides[i], 0);
    for (int64_t k = 0; k < args.depth; k++) args.lengths[k] = lengths[k];
    const struct program program = {meta->dtype, cbk_ocl_axes_are_long(&args.rows) ||
                                                     (stream->device->flags & CBK_INDEX_64) != 0};
    const struct cbk_rt_spec spec = make_spec(&program);
    struct cbk_rt_launch launch = {
        .operation = operation,
        .dimensions = 1,
        .global = {cbk_ocl_round_up((size_t)args.rows.count, GROUP), 1, 1},
        .local = {GROUP, 1, 1}};
    cbk_status status = cbk_rt_kernel(stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, index->block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, out->block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    cbk_rt_arg_index_flag(stream->rt, &launch);
    return cbk_rt_launch(stream->rt, &launch);
}

// ---- reading and updating -----------------------------------------------------------------------

/// Index without its last axis, as dense i64 places within x's first axes.
static cbk_status find_places(struct cbk_ocl_stream *stream, const cbk_op *op,
                              cbk_tensor_meta *out_meta, struct cbk_ocl_operand *out) {
    const struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]),
                                 index = cbk_ocl_operand(op->inputs[1]);
    cbk_tensor_meta like = *index.meta;
    like.dtype = CBK_DTYPE_I64;
    like.rank--;
    like.element_count = 1;
    for (uint32_t i = 0; i < like.rank; i++) like.element_count *= like.shape[i];
    cbk_status status = cbk_ocl_temporary(stream, &like, out_meta, out);
    if (status != CBK_OK) return status;
    return cbk_ocl_index_places(stream, cbk_op_info_of(op->opcode)->name, &index, x.meta->shape,
                                out);
}

static uint32_t depth_of(const cbk_op *op) {
    const cbk_tensor_meta *index = cbk_tensor_metadata(op->inputs[1]);
    return (uint32_t)index->shape[index->rank - 1];
}

cbk_status cbk_ocl_gather_nd(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]);
    struct cbk_ocl_indexing indexing = {.operation = "gather_nd", .is_per_slice = true};
    struct cbk_ocl_operand places = {.block = NULL};
    struct cbk_ocl_flat flat = {.temporary = NULL};
    cbk_tensor_meta meta;
    cbk_status status = CBK_OK;
    RT_TRY(find_places(stream, op, &meta, &places));
    RT_TRY(cbk_ocl_flatten(stream, &x, depth_of(op), &flat));
    indexing.x = flat.operand;
    indexing.index = places;
    indexing.y = cbk_ocl_operand(op->outputs[0]);
    RT_TRY(cbk_ocl_gather(stream, &indexing));
done:
    cbk_rt_free(stream->device->rt, &flat.temporary);
    cbk_rt_free(stream->device->rt, &places.block);
    return status;
}

cbk_status cbk_ocl_scatter_nd(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_index_params *params = op->params;
    const struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]),
                                 value = cbk_ocl_operand(op->inputs[2]),
                                 out = cbk_ocl_operand(op->outputs[0]);
    struct cbk_ocl_indexing indexing = {.operation = "scatter_nd", .is_per_slice = true};
    struct cbk_ocl_operand places = {.block = NULL};
    struct cbk_ocl_flat slices = {.temporary = NULL}, positions = {.temporary = NULL};
    cbk_tensor_meta meta;
    cbk_status status = CBK_OK;
    indexing.y = value; // without elements there are no places either
    if (value.meta->element_count > 0) {
        RT_TRY(find_places(stream, op, &meta, &places));
        RT_TRY(cbk_ocl_flatten(stream, &places, meta.rank, &positions));
        RT_TRY(cbk_ocl_flatten(stream, &value, meta.rank, &slices));
        indexing.index = positions.operand;
        indexing.y = slices.operand;
    }
    RT_TRY(
        cbk_ocl_update(stream, &indexing, &x, &out, depth_of(op), params->update, params->flags));
done:
    cbk_rt_free(stream->device->rt, &slices.temporary);
    cbk_rt_free(stream->device->rt, &places.block);
    return status;
}

void cbk_ocl_index_nd_programs(cbk_ocl_program_visitor visit, void *user_data) {
    for (const cbk_dtype *index = cbk_ocl_index_dtypes; *index != CBK_DTYPE_NONE; index++) {
        for (int form = 0; form < 2; form++) {
            const struct program program = {*index, form == 1};
            const struct cbk_rt_spec spec = make_spec(&program);
            visit(user_data, &spec);
        }
    }
}
