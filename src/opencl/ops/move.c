/// move.c: copy and slice_assign: elements go bit for bit, whatever they mean. Other moves are in
/// cat.c and pad.c.
#include "matrix.h"
#include "merge.h"
#include "mover.h"
#include "pointwise.h"
#include "transpose.h"

static struct cbk_ocl_pointwise describe_copy(cbk_dtype bits) {
    struct cbk_ocl_pointwise op = {.operation = "copy",
                                   .id = CBK_OP_COPY,
                                   .name = "identity",
                                   .family = "MOVE",
                                   .word = cbk_ocl_class_word(bits),
                                   .input_count = 1,
                                   .types = {bits, bits}};
    return op;
}

// ---- copy ----------------------------------------------------------------------------------------

/// Can runs of the innermost axis be moved `factor` elements at a time?
static bool can_widen(const struct cbk_ocl_nest *nest, int64_t factor) {
    uint32_t last = nest->rank - 1;
    if (nest->shape[last] % factor != 0) return false;
    for (uint32_t k = 0; k < nest->operand_count; k++) {
        if (nest->strides[k][last] != 1 || nest->offsets[k] % factor != 0) return false;
        for (uint32_t axis = 0; axis < last; axis++)
            if (nest->strides[k][axis] % factor != 0) return false;
    }
    return true;
}

static void widen(struct cbk_ocl_nest *nest, int64_t factor) {
    uint32_t last = nest->rank - 1;
    nest->shape[last] /= factor;
    nest->element_count /= factor;
    for (uint32_t k = 0; k < nest->operand_count; k++) {
        nest->offsets[k] /= factor;
        for (uint32_t axis = 0; axis < last; axis++) nest->strides[k][axis] /= factor;
    }
}

cbk_status cbk_ocl_copy(struct cbk_ocl_stream *stream, const struct cbk_ocl_operand *source,
                        const struct cbk_ocl_operand *destination) {
    const struct cbk_ocl_operand operands[2] = {*destination, *source};
    struct cbk_rt_block *blocks[2] = {destination->block, source->block};
    cbk_dtype bits = cbk_ocl_bits_dtype(destination->meta->dtype);
    bool is_done;
    struct cbk_ocl_nest nest;
    if (destination->meta->element_count == 0) return CBK_OK;
    cbk_ocl_nest(stream, operands, 2, &nest);
    cbk_status status =
        cbk_ocl_transpose(stream, bits, &nest, destination->block, source->block, &is_done);
    if (status == CBK_OK && is_done && cbk_rt_is_capturing(stream->rt)) {
        const struct cbk_ocl_pointwise copy = describe_copy(bits);
        cbk_ocl_note_small_launch(stream, &copy, &nest, blocks); // the same, if it is merged
    }
    if (status != CBK_OK || is_done) return status;

    // Small elements travel in words where they lie so.
    for (uint32_t size = 4; size > cbk_dtype_size(bits); size /= 2) {
        int64_t factor = size / cbk_dtype_size(bits);
        if (!can_widen(&nest, factor)) continue;
        widen(&nest, factor);
        bits = size == 4 ? CBK_DTYPE_U32 : CBK_DTYPE_U16;
    }
    struct cbk_ocl_pointwise copy = describe_copy(bits);
    return cbk_ocl_pointwise_nest(stream, &copy, &nest, blocks);
}

cbk_status cbk_ocl_temporary(struct cbk_ocl_stream *stream, const cbk_tensor_meta *meta,
                             cbk_tensor_meta *out_meta, struct cbk_ocl_operand *out) {
    int64_t stride = 1;
    *out_meta = *meta;
    for (uint32_t axis = meta->rank; axis-- > 0;) {
        out_meta->strides[axis] = stride;
        stride *= meta->shape[axis];
    }
    out_meta->offset = 0;
    out_meta->layout = 0;

    uint32_t size = cbk_dtype_size(meta->dtype);
    struct cbk_rt_block *block = NULL;
    cbk_status status = cbk_rt_alloc(stream->rt, (uint64_t)meta->element_count * size, &block);
    if (status != CBK_OK) return status;
    *out = (struct cbk_ocl_operand){
        .meta = out_meta, .block = block, .offset = (int64_t)(cbk_rt_block_offset(block) / size)};
    return CBK_OK;
}

// ---- parts of tensors ----------------------------------------------------------------------------

/// The slice of `x` that has `value`'s shape.
static struct cbk_ocl_operand slice(const struct cbk_ocl_operand *x, const cbk_slice_params *params,
                                    const cbk_tensor_meta *value, cbk_tensor_meta *out_meta) {
    struct cbk_ocl_operand part = {.meta = out_meta, .block = x->block, .offset = x->offset};
    *out_meta = *x->meta;
    out_meta->element_count = value->element_count;
    for (uint32_t axis = 0; axis < x->meta->rank; axis++) {
        int64_t stride = x->meta->strides[axis], step = params->step[axis];
        int64_t first = step > 0 ? params->start[axis] : params->stop[axis] - 1;
        part.offset += first * stride;
        out_meta->shape[axis] = value->shape[axis];
        out_meta->strides[axis] = value->shape[axis] > 1 ? stride * step : 0;
    }
    return part;
}

static bool is_same_tensor(const struct cbk_ocl_operand *a, const struct cbk_ocl_operand *b) {
    return a->block == b->block && a->offset == b->offset;
}

static cbk_status slice_assign(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct cbk_ocl_operand out = cbk_ocl_operand(op->outputs[0]);
    struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]);
    struct cbk_ocl_operand value = cbk_ocl_operand(op->inputs[1]);
    cbk_tensor_meta meta;
    if (!is_same_tensor(&x, &out)) {
        cbk_status status = cbk_ocl_copy(stream, &x, &out);
        if (status != CBK_OK) return status;
    }
    if (value.meta->element_count == 0) return CBK_OK;
    struct cbk_ocl_operand part = slice(&out, op->params, value.meta, &meta);
    return cbk_ocl_copy(stream, &value, &part);
}

cbk_status cbk_ocl_move(struct cbk_ocl_stream *stream, const cbk_op *op) {
    switch (op->opcode) {
    case CBK_OP_SLICE_ASSIGN:
        return slice_assign(stream, op);
    case CBK_OP_CAT:
        return cbk_ocl_cat(stream, op);
    case CBK_OP_PAD:
        return cbk_ocl_pad(stream, op);
    case CBK_OP_ROLL:
        return cbk_ocl_roll(stream, op);
    case CBK_OP_TRIL:
    case CBK_OP_TRIU:
        return cbk_ocl_triangle(stream, op);
    case CBK_OP_DIAG_EMBED:
        return cbk_ocl_diag_embed(stream, op);
    case CBK_OP_CROSS:
        return cbk_ocl_cross(stream, op);
    default: {
        struct cbk_ocl_operand out = cbk_ocl_operand(op->outputs[0]);
        struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]);
        return is_same_tensor(&x, &out) ? CBK_OK : cbk_ocl_copy(stream, &x, &out);
    }
    }
}

// ---- list of programs ----------------------------------------------------------------------------

void cbk_ocl_move_programs(cbk_ocl_program_visitor visit, void *user_data) {
    static const cbk_dtype sizes[] = {CBK_DTYPE_U8, CBK_DTYPE_U16, CBK_DTYPE_U32, CBK_DTYPE_U64};
    for (int size = 0; size < 4; size++) {
        struct cbk_ocl_pointwise copy = describe_copy(sizes[size]);
        cbk_ocl_pointwise_visit(&copy, visit, user_data);
    }
    cbk_ocl_transpose_programs(visit, user_data);
    cbk_ocl_cat_programs(visit, user_data);
    cbk_ocl_pad_programs(visit, user_data);
    cbk_ocl_triangle_programs(visit, user_data);
    cbk_ocl_cross_programs(visit, user_data);
}
