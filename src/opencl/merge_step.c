/// merge_step.c: from a noted launch to a step of a merged one.
#include "merge_run.h"

#include <stdio.h>
#include <string.h>

enum {
    CPU_REDUCED = 1024, ///< elements that a reduction of the CPU form reads, one by one
    ALONE = 64,         ///< GPU form: elements that a work-item reduces alone ...
    FEW_ALONE = 16,     ///< ... even where there are few results
    BLOCK = 1024        ///< of the tree of reductions
};

// ---- kinds -----------------------------------------------------------------------------------------

/// Finds the kind in the run, or takes it in.
static bool find_kind(struct cbk_ocl_run *run, const struct cbk_ocl_kind *kind, int32_t *out) {
    uint32_t i = 0;
    while (i < run->kind_count && (run->kinds[i].is_reduction != kind->is_reduction ||
                                   strcmp(run->kinds[i].text, kind->text) != 0))
        i++;
    if (i == CBK_OCL_MERGE_KINDS) return false;
    if (i == run->kind_count) run->kinds[run->kind_count++] = *kind;
    *out = (int32_t)i;
    return true;
}

static bool find_pointwise_kind(struct cbk_ocl_run *run, const struct cbk_ocl_pointwise *op,
                                int32_t *out) {
    struct cbk_ocl_kind kind = {.is_reduction = false};
    const char *words[CBK_OCL_MERGE_OPERANDS + 1];
    for (uint32_t k = 0; k < CBK_OCL_MERGE_OPERANDS; k++)
        words[k] = cbk_ocl_dtype_word(k <= op->input_count ? op->types[k] : CBK_DTYPE_F32);
    words[CBK_OCL_MERGE_OPERANDS] =
        cbk_ocl_dtype_word(op->scalar_count != 0 ? op->scalar_type : CBK_DTYPE_F32);
    const char scalars = op->is_reversed ? 'R' : (char)('0' + op->scalar_count);
    const int length = snprintf(kind.text, sizeof kind.text, "%u,%c,op_%s_%s%s%s,%s,%s,%s,%s,%s",
                                (unsigned)op->input_count, scalars, op->name, op->word,
                                op->names_result ? "_" : "", op->names_result ? words[0] : "",
                                words[0], words[1], words[2], words[3], words[4]);
    if (length <= 0 || length >= (int)sizeof kind.text || !find_kind(run, &kind, out)) return false;
    if (!run->has_words)
        run->word = op->word;
    else if (run->word != NULL && strcmp(run->word, op->word) != 0)
        run->word = NULL;
    run->has_words = true;
    run->has_unary |= strcmp(op->family, "UNARY") == 0;
    run->has_binary |= strcmp(op->family, "BINARY") == 0 || strcmp(op->family, "TERNARY") == 0;
    run->has_compare |= strcmp(op->family, "COMPARE") == 0;
    run->has_cast |= strcmp(op->family, "CAST") == 0 || strcmp(op->family, "CREATE") == 0;
    run->has_move |= strcmp(op->family, "MOVE") == 0;
    run->has_backward |= strcmp(op->family, "BACKWARD") == 0;
    return true;
}

static bool find_reduction_kind(struct cbk_ocl_run *run,
                                const struct cbk_ocl_small_reduction *reduction, int32_t *out) {
    struct cbk_ocl_kind kind = {.is_reduction = true};
    const int length =
        snprintf(kind.text, sizeof kind.text, "%s,op_%s,%s,%s,%s,%s", reduction->sort,
                 reduction->name, cbk_ocl_dtype_word(reduction->x),
                 cbk_ocl_dtype_word(reduction->accumulator), cbk_ocl_dtype_word(reduction->y),
                 cbk_ocl_dtype_word(reduction->is_pair ? reduction->z : reduction->y));
    return length > 0 && length < (int)sizeof kind.text && find_kind(run, &kind, out);
}

// ---- memory ----------------------------------------------------------------------------------------

static bool find_buffer(struct cbk_ocl_run *run, struct cbk_rt_block *block, int32_t *out) {
    const void *buffer = cbk_rt_block_buffer(block);
    uint32_t i = 0;
    while (i < run->buffer_count && run->buffers[i] != buffer) i++;
    if (i == CBK_OCL_MERGE_BUFFERS) return false;
    if (i == run->buffer_count) {
        run->buffers[i] = buffer;
        run->blocks[i] = block;
        run->buffer_count++;
    }
    *out = (int32_t)i;
    return true;
}

/// One element at `offset`; grow makes it all that an axis reaches.
static struct cbk_ocl_touch touch_at(const struct cbk_rt_block *block, cbk_dtype dtype,
                                     int64_t offset, bool is_write) {
    const int64_t size = cbk_dtype_size(dtype);
    return (struct cbk_ocl_touch){.buffer = cbk_rt_block_buffer(block),
                                  .begin = offset * size,
                                  .end = (offset + 1) * size,
                                  .dtype = dtype,
                                  .is_write = is_write};
}

static void grow(struct cbk_ocl_touch *touch, int64_t length, int64_t stride) {
    const int64_t reach = (length - 1) * stride * cbk_dtype_size(touch->dtype);
    if (reach < 0)
        touch->begin += reach;
    else
        touch->end += reach;
}

static bool is_same_item(const struct cbk_ocl_touch *a, const struct cbk_ocl_touch *b) {
    return a->dense_length != 0 && a->dense_length == b->dense_length && a->begin == b->begin &&
           a->dtype == b->dtype;
}

static bool touches_harm(const struct cbk_ocl_touch *a, const struct cbk_ocl_touch *b) {
    if (a->buffer != b->buffer || a->end <= b->begin || b->end <= a->begin) return false;
    return (a->is_write || b->is_write) && !is_same_item(a, b);
}

/// Must all work-items have ended what is before this step? Each may run on as long as it touches
/// only what it has made itself.
static bool needs_barrier(struct cbk_ocl_run *run, const struct cbk_ocl_touch *touches,
                          uint32_t count) {
    bool is_harmful = run->touch_count + count > CBK_OCL_MERGE_TOUCHES;
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t i = 0; i < run->touch_count && !is_harmful; i++)
            is_harmful = touches_harm(&touches[k], &run->touches[i]);
    if (is_harmful) run->touch_count = 0;
    for (uint32_t k = 0; k < count; k++) run->touches[run->touch_count++] = touches[k];
    return is_harmful;
}

// ---- pointwise steps -------------------------------------------------------------------------------

/// Is an element the same in memory as in a register?
static bool is_plain(cbk_dtype dtype) {
    switch (dtype) {
    case CBK_DTYPE_F64:
    case CBK_DTYPE_F32:
    case CBK_DTYPE_FLEX32:
    case CBK_DTYPE_I64:
    case CBK_DTYPE_I32:
    case CBK_DTYPE_U64:
    case CBK_DTYPE_U32:
        return true;
    default:
        return false;
    }
}

static void touch_nest(const struct cbk_ocl_small_launch *launch, struct cbk_ocl_touch *touches) {
    const struct cbk_ocl_nest *nest = &launch->as.pointwise.nest;
    for (uint32_t k = 0; k < nest->operand_count; k++) {
        touches[k] =
            touch_at(launch->blocks[k], launch->as.pointwise.op.types[k], nest->offsets[k], k == 0);
        for (uint32_t axis = 0; axis < nest->rank; axis++)
            grow(&touches[k], nest->shape[axis], nest->strides[k][axis]);
        if (nest->is_dense && nest->strides[k][0] == 1)
            touches[k].dense_length = nest->element_count;
    }
}

/// The operands that the work-items still have in registers.
static int32_t find_carried(struct cbk_ocl_run *run, const struct cbk_ocl_touch *touches,
                            uint32_t count) {
    int32_t carried = 0;
    for (uint32_t k = 1; k < count; k++)
        if (is_plain(touches[k].dtype) && touches[k].buffer == run->carried.buffer &&
            is_same_item(&touches[k], &run->carried))
            carried |= 1 << k;
    run->carried = touches[0];
    return carried;
}

uint32_t cbk_ocl_small_launch_lanes(const struct cbk_rt_caps *caps,
                                    const struct cbk_ocl_small_launch *launch) {
    const struct cbk_ocl_pointwise *op = &launch->as.pointwise.op;
    return launch->is_reduction || strcmp(op->family, "MOVE") == 0
               ? 0
               : cbk_ocl_pointwise_lanes(caps, op);
}

static bool add_pointwise(struct cbk_ocl_run *run, const struct cbk_ocl_small_launch *launch,
                          struct cbk_ocl_step *step) {
    const struct cbk_ocl_pointwise *op = &launch->as.pointwise.op;
    const struct cbk_ocl_nest *nest = &launch->as.pointwise.nest;
    const uint32_t last = nest->rank - 1;
    struct cbk_ocl_touch touches[CBK_OCL_MERGE_OPERANDS] = {{.dense_length = 0}};
    const uint32_t lanes = run->lanes, own_lanes = cbk_ocl_small_launch_lanes(run->caps, launch);
    if ((own_lanes != 0 && own_lanes != lanes) || !find_pointwise_kind(run, op, &step->kind))
        return false;
    for (uint32_t k = 0; k < nest->operand_count; k++) {
        if (!find_buffer(run, launch->blocks[k], &step->buffers[k])) return false;
        step->offsets[k] = (uint64_t)nest->offsets[k] * cbk_dtype_size(op->types[k]);
        step->inner_strides[k] = (int32_t)nest->strides[k][last];
        for (uint32_t axis = 0; axis < last; axis++)
            step->strides[k][axis] = (int32_t)nest->strides[k][axis];
    }
    for (uint32_t axis = 0; axis < last; axis++) step->shape[axis] = (int32_t)nest->shape[axis];
    step->inner = (int32_t)nest->shape[last];
    step->outer_rank = (int32_t)last;
    step->per_row = (step->inner + (int32_t)lanes - 1) / (int32_t)lanes;
    step->vectors = step->per_row * (int32_t)(nest->element_count / step->inner);
    step->is_vector = cbk_ocl_pointwise_is_vector(run->caps, nest, lanes);
    memcpy(step->scalars, op->scalars, sizeof step->scalars);
    touch_nest(launch, touches);
    step->needs_barrier = needs_barrier(run, touches, nest->operand_count);
    step->carried = find_carried(run, touches, nest->operand_count);
    return true;
}

// ---- reductions ------------------------------------------------------------------------------------

/// Rounds of 16 blocks; 0: each result is made by one work-item.
static int32_t count_rounds(const struct cbk_rt_caps *caps,
                            const struct cbk_ocl_small_reduction *reduction, int32_t *out_blocks) {
    const int64_t length = reduction->reduced.count, results = reduction->kept.count;
    const int64_t blocks = cbk_ocl_power_of_two(cbk_ocl_divide_up(length, BLOCK));
    const bool is_alone = caps->is_cpu || length <= FEW_ALONE ||
                          (length <= ALONE && results > 2 * CBK_OCL_MERGE_ROUND);
    *out_blocks = (int32_t)blocks;
    return is_alone ? 0 : (int32_t)cbk_ocl_divide_up(results * blocks, CBK_OCL_MERGE_ROUND);
}

bool cbk_ocl_reduction_is_small(const struct cbk_rt_caps *caps,
                                const struct cbk_ocl_small_reduction *reduction) {
    const int64_t length = reduction->reduced.count, results = reduction->kept.count;
    int32_t blocks;
    if (length == 0 || reduction->kept.rank > CBK_OCL_MERGE_AXES ||
        reduction->reduced.rank > CBK_OCL_MERGE_AXES || cbk_ocl_axes_are_long(&reduction->kept) ||
        cbk_ocl_axes_are_long(&reduction->reduced))
        return false;
    if (caps->is_cpu) return length * results <= CPU_REDUCED;
    return count_rounds(caps, reduction, &blocks) <= CBK_OCL_MERGE_ROUNDS;
}

static bool add_reduction(struct cbk_ocl_run *run, const struct cbk_ocl_small_launch *launch,
                          struct cbk_ocl_step *step) {
    const struct cbk_ocl_small_reduction *reduction = &launch->as.reduction;
    const struct cbk_ocl_axes *kept = &reduction->kept, *reduced = &reduction->reduced;
    const uint32_t operands = reduction->is_pair ? 3 : 2;
    struct cbk_ocl_touch touches[3] = {
        touch_at(launch->blocks[0], reduction->y, reduction->y_offset, true),
        touch_at(launch->blocks[1], reduction->x, reduction->x_offset, false)};
    if (reduction->is_pair)
        touches[2] = touch_at(launch->blocks[2], reduction->z, reduction->z_offset, true);
    if (!find_reduction_kind(run, reduction, &step->kind)) return false;
    for (uint32_t k = 0; k < operands; k++) {
        if (!find_buffer(run, launch->blocks[k], &step->buffers[k])) return false;
        step->offsets[k] = (uint64_t)touches[k].begin;
    }
    for (int64_t d = 0; d < kept->rank; d++) {
        step->shape[d] = (int32_t)kept->shape[d];
        step->strides[0][d] = (int32_t)kept->y[d];
        step->strides[1][d] = (int32_t)kept->x[d];
        grow(&touches[0], kept->shape[d], kept->y[d]);
        grow(&touches[1], kept->shape[d], kept->x[d]);
        if (reduction->is_pair) grow(&touches[2], kept->shape[d], kept->y[d]);
    }
    for (int64_t d = 0; d < reduced->rank; d++) {
        step->strides[2][d] = (int32_t)reduced->x[d];
        step->strides[3][d] = (int32_t)reduced->shape[d];
        grow(&touches[1], reduced->shape[d], reduced->x[d]);
    }
    step->inner = (int32_t)reduced->count;
    step->per_row = (int32_t)reduced->rank;
    step->vectors = (int32_t)kept->count;
    step->outer_rank = (int32_t)kept->rank;
    step->rounds = count_rounds(run->caps, reduction, &step->blocks);
    step->needs_barrier = needs_barrier(run, touches, operands);
    run->carried = (struct cbk_ocl_touch){.dense_length = 0};
    run->has_rounds |= step->rounds > 0;
    return true;
}

// ---- either ----------------------------------------------------------------------------------------

bool cbk_ocl_run_add(struct cbk_ocl_run *run, const struct cbk_ocl_small_launch *launch,
                     struct cbk_ocl_step *step) {
    struct cbk_ocl_run longer = *run;
    memset(step, 0, sizeof *step);
    if (!(launch->is_reduction ? add_reduction : add_pointwise)(&longer, launch, step))
        return false;
    if (longer.most_vectors < step->vectors) longer.most_vectors = step->vectors;
    longer.count++;
    *run = longer;
    return true;
}
