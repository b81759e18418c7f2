/// pointwise_inputs.c: inputs that are worth a copy before an operator reads them.
#include "pointwise.h"

#include "join.h"

#include <stdlib.h>

enum {
    TURN_ELEMENTS = 1 << 16, ///< smallest output whose transposed inputs are turned
    TURN_LENGTH = 8,         ///< of both axes
    TILE_ELEMENTS = 1 << 14, ///< smallest output whose short rows are joined
    TILE_SHORT = 64,         ///< longest row that is short
    TILE_LONG = 4096         ///< longest row that is made of them
};

// ---- transposed inputs ---------------------------------------------------------------------------

// An input that is contiguous along another axis than the output would be read an element per cache
// line. From some size on it is cheaper to turn it first, by tiles.

static bool is_transposed(const struct cbk_ocl_nest *nest, uint32_t k) {
    uint32_t last = nest->rank - 1;
    int64_t inner = nest->strides[k][last];
    if (nest->element_count < TURN_ELEMENTS || nest->strides[0][last] != 1) return false;
    if (inner == 0 || inner == 1 || nest->shape[last] < TURN_LENGTH) return false;
    for (uint32_t axis = 0; axis < last; axis++)
        if (nest->strides[k][axis] == 1 && nest->shape[axis] >= TURN_LENGTH) return true;
    return false;
}

/// Copies *operand into a dense temporary whose axes have the order of the output's.
static cbk_status turn(struct cbk_ocl_stream *stream, const cbk_tensor_meta *out,
                       cbk_tensor_meta *meta, struct cbk_ocl_operand *operand) {
    struct cbk_ocl_operand source = *operand;
    uint32_t order[CBK_MAX_RANK], missing = out->rank - source.meta->rank;
    cbk_status status = cbk_ocl_temporary(stream, source.meta, meta, operand);
    if (status != CBK_OK) return status;
    for (uint32_t axis = 0; axis < meta->rank; axis++) {
        uint32_t place = axis;
        for (; place > 0; place--) {
            int64_t before = out->strides[missing + order[place - 1]];
            if (llabs(before) >= llabs(out->strides[missing + axis])) break;
            order[place] = order[place - 1];
        }
        order[place] = axis;
    }
    int64_t stride = 1;
    for (uint32_t place = meta->rank; place-- > 0;) {
        meta->strides[order[place]] = stride;
        stride *= meta->shape[order[place]];
    }
    status = cbk_ocl_copy(stream, &source, operand);
    if (status != CBK_OK) cbk_rt_free(stream->device->rt, &operand->block);
    return status;
}

static cbk_status launch_turned(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                                const struct cbk_ocl_operand *operands, struct cbk_ocl_nest *nest) {
    struct cbk_ocl_operand turned[1 + CBK_OCL_POINTWISE_INPUTS];
    struct cbk_rt_block *temporaries[1 + CBK_OCL_POINTWISE_INPUTS] = {NULL};
    struct cbk_rt_block *blocks[1 + CBK_OCL_POINTWISE_INPUTS];
    cbk_tensor_meta metas[1 + CBK_OCL_POINTWISE_INPUTS];
    cbk_status status = CBK_OK;
    for (uint32_t k = 0; k <= op->input_count; k++) {
        turned[k] = operands[k];
        if (k != 0 && is_transposed(nest, k)) {
            RT_TRY(turn(stream, operands[0].meta, &metas[k], &turned[k]));
            temporaries[k] = turned[k].block;
        }
        blocks[k] = turned[k].block;
    }
    cbk_ocl_nest(stream, turned, op->input_count + 1, nest);
    status = cbk_ocl_pointwise_nest(stream, op, nest, blocks);
done:
    for (uint32_t k = 1; k <= op->input_count; k++)
        cbk_rt_free(stream->device->rt, &temporaries[k]);
    return status;
}

// ---- short rows ----------------------------------------------------------------------------------

// [n, 3] + [3] has rows of three elements, which a CPU walks slowly. A few rows are joined to one:
// [n / m, 3 m] + [3 m], with the small operand repeated m times in a temporary.

/// Does operand k repeat its innermost row everywhere?
static bool is_periodic(const struct cbk_ocl_nest *nest, uint32_t k) {
    for (uint32_t axis = 0; axis + 1 < nest->rank; axis++)
        if (nest->strides[k][axis] != 0) return false;
    return nest->strides[k][nest->rank - 1] != 0;
}

/// How many rows make one; 1: it is not worth it, or not possible.
static int64_t count_joined(const struct cbk_ocl_stream *stream, const struct cbk_ocl_nest *nest) {
    bool has_periodic = false;
    uint32_t last = nest->rank - 1;
    int64_t length = nest->shape[last];
    if (!stream->device->caps->is_cpu || nest->rank < 2 || length > TILE_SHORT) return 1;
    if (nest->element_count < TILE_ELEMENTS) return 1;
    for (uint32_t k = 0; k < nest->operand_count; k++) {
        bool is_dense = nest->strides[k][last] == 1 && nest->strides[k][last - 1] == length;
        bool can_repeat = k != 0 && is_periodic(nest, k);
        if (!is_dense && !can_repeat) return 1;
        has_periodic |= !is_dense;
    }
    int64_t joined = has_periodic ? TILE_LONG / length : 1;
    while (joined > 1 && nest->shape[last - 1] % joined != 0) joined--;
    return joined >= 4 ? joined : 1;
}

/// Repeats operand k's row `joined` times in a temporary; *out_block is NULL after a failure.
static cbk_status repeat_row(struct cbk_ocl_stream *stream, cbk_dtype dtype,
                             const struct cbk_ocl_nest *nest, uint32_t k, int64_t joined,
                             struct cbk_rt_block *block, struct cbk_ocl_operand *out) {
    uint32_t last = nest->rank - 1;
    int64_t length = nest->shape[last];
    cbk_tensor_meta row = {.dtype = dtype,
                           .rank = 2,
                           .element_count = joined * length,
                           .shape = {joined, length, 1, 1, 1, 1, 1, 1},
                           .strides = {0, nest->strides[k][last]}};
    cbk_tensor_meta meta;
    struct cbk_ocl_operand source = {.meta = &row, .block = block, .offset = nest->offsets[k]};
    cbk_status status = cbk_ocl_temporary(stream, &row, &meta, out);
    if (status != CBK_OK) return status;
    status = cbk_ocl_copy(stream, &source, out);
    if (status != CBK_OK) cbk_rt_free(stream->device->rt, &out->block);
    out->meta = NULL;
    return status;
}

static cbk_status launch_joined(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                                int64_t joined, struct cbk_rt_block *const *blocks,
                                struct cbk_ocl_nest *nest) {
    struct cbk_rt_block *used[1 + CBK_OCL_POINTWISE_INPUTS];
    struct cbk_rt_block *temporaries[1 + CBK_OCL_POINTWISE_INPUTS] = {NULL};
    uint32_t last = nest->rank - 1;
    cbk_status status = CBK_OK;
    for (uint32_t k = 0; k <= op->input_count; k++) {
        used[k] = blocks[k];
        if (nest->strides[k][last - 1] == 0) {
            struct cbk_ocl_operand repeated;
            RT_TRY(repeat_row(stream, op->types[k], nest, k, joined, blocks[k], &repeated));
            used[k] = temporaries[k] = repeated.block;
            nest->offsets[k] = repeated.offset;
            nest->strides[k][last] = 1;
        }
        nest->strides[k][last - 1] *= joined;
    }
    nest->shape[last - 1] /= joined;
    nest->shape[last] *= joined;
    status = cbk_ocl_pointwise_nest(stream, op, nest, used);
done:
    for (uint32_t k = 1; k <= op->input_count; k++)
        cbk_rt_free(stream->device->rt, &temporaries[k]);
    return status;
}

// ---- launch --------------------------------------------------------------------------------------

cbk_status cbk_ocl_pointwise(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                             const struct cbk_ocl_operand *operands) {
    struct cbk_rt_block *blocks[1 + CBK_OCL_POINTWISE_INPUTS];
    struct cbk_ocl_nest nest;
    bool has_transposed = false;
    cbk_ocl_nest(stream, operands, op->input_count + 1, &nest);
    for (uint32_t k = 0; k <= op->input_count; k++) {
        blocks[k] = operands[k].block;
        has_transposed |= k != 0 && is_transposed(&nest, k);
    }
    if (has_transposed) return launch_turned(stream, op, operands, &nest);
    int64_t joined = op->is_indexed ? 1 : count_joined(stream, &nest);
    cbk_status status = joined > 1 ? launch_joined(stream, op, joined, blocks, &nest)
                                   : cbk_ocl_pointwise_nest(stream, op, &nest, blocks);
    if (status == CBK_OK && cbk_rt_is_capturing(stream->rt))
        cbk_ocl_note_step(stream, op, operands);
    return status;
}
