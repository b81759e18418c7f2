/// cat.c: launches of kernels/cat.cl.
#include "merge.h"
#include "mover.h"
#include "pointwise.h"

#define MEMBERS 8 ///< of a launch

struct member {
    int64_t first, length;
    int64_t x_offset, y_offset;
    int64_t strides[CBK_MAX_RANK];
};

struct cat_args {
    int64_t count, rank, joined, others;
    int64_t shape[CBK_MAX_RANK], y[CBK_MAX_RANK];
    int32_t piece, stream;
    int64_t units_per_item, units;
    struct member members[MEMBERS];
};
_Static_assert(sizeof(struct cat_args) + 9 * sizeof(void *) <= 1024,
               "what every device takes as arguments");

/// Some members on their way into y.
struct joining {
    struct cbk_ocl_stream *stream;
    struct cbk_ocl_operand y;
    uint32_t axis;
    int64_t start; ///< along the axis, of the first of them
    struct cbk_ocl_operand x[MEMBERS];
    struct cat_args args;
    uint32_t size; ///< bytes of an element
};

// ---- axes ---------------------------------------------------------------------------------------

/// Does axis i, outside of those so far, go on where the outermost of them ends, in y and all
/// members?
static bool continues(const struct joining *j, uint32_t i) {
    const struct cat_args *args = &j->args;
    if (args->rank == 0 || args->rank - 1 == args->joined) return false;
    int64_t top = args->rank - 1, inner = args->shape[top];
    if (j->y.meta->strides[i] != args->y[top] * inner) return false;
    for (int64_t k = 0; k < args->count; k++) {
        const cbk_tensor_meta *x = j->x[k].meta;
        if (x->shape[i] != 1 && x->strides[i] != args->members[k].strides[top] * inner)
            return false;
    }
    return true;
}

static void add_axis(struct joining *j, uint32_t i) {
    struct cat_args *args = &j->args;
    const bool is_joined = i == j->axis, goes_on = continues(j, i);
    const int64_t inner = goes_on ? args->shape[args->rank - 1] : 1;
    if (!goes_on) {
        args->y[args->rank] = j->y.meta->strides[i];
        for (int64_t k = 0; k < args->count; k++)
            args->members[k].strides[args->rank] = j->x[k].meta->strides[i];
        args->rank++;
    }
    args->shape[args->rank - 1] = inner * j->y.meta->shape[i];
    if (!is_joined) {
        args->others *= j->y.meta->shape[i];
        return;
    }
    args->joined = args->rank - 1;
    args->others /= inner; // these elements are counted along the joined axis now
    for (int64_t k = 0; k < args->count; k++)
        args->members[k].length = inner * j->x[k].meta->shape[i];
}

static void set_axes(struct joining *j) {
    struct cat_args *args = &j->args;
    args->others = 1;
    args->joined = -1;
    for (uint32_t i = j->y.meta->rank; i-- > 0;)
        if (i == j->axis || j->y.meta->shape[i] != 1) add_axis(j, i);
    int64_t start = j->start * j->y.meta->strides[j->axis];
    for (int64_t k = 0; k < args->count; k++) {
        args->members[k].x_offset = j->x[k].offset;
        args->members[k].y_offset = j->y.offset + start;
        start += args->members[k].length * args->y[args->joined];
    }
}

// ---- several elements as one --------------------------------------------------------------------

static bool can_widen(const struct cat_args *args, int64_t factor) {
    if (args->y[0] != 1 || (args->joined != 0 && args->shape[0] % factor != 0)) return false;
    for (int64_t d = 1; d < args->rank; d++)
        if (args->y[d] % factor != 0) return false;
    for (int64_t k = 0; k < args->count; k++) {
        const struct member *member = &args->members[k];
        if (member->strides[0] != 1 || member->x_offset % factor != 0) return false;
        if (member->y_offset % factor != 0) return false;
        if (args->joined == 0 && member->length % factor != 0) return false;
        for (int64_t d = 1; d < args->rank; d++)
            if (member->strides[d] % factor != 0) return false;
    }
    return true;
}

static void widen(struct cat_args *args, int64_t factor) {
    if (args->joined != 0) {
        args->shape[0] /= factor;
        args->others /= factor;
    }
    for (int64_t d = 1; d < args->rank; d++) args->y[d] /= factor;
    for (int64_t k = 0; k < args->count; k++) {
        struct member *member = &args->members[k];
        member->x_offset /= factor;
        member->y_offset /= factor;
        if (args->joined == 0) member->length /= factor;
        for (int64_t d = 1; d < args->rank; d++) member->strides[d] /= factor;
    }
}

// ---- launch -------------------------------------------------------------------------------------

static int64_t elements_of(const struct cat_args *args, int64_t k) {
    return args->members[k].length * args->others;
}

/// Groups.
static int64_t plan_gpu(struct cat_args *args) {
    int64_t groups = 0;
    for (int64_t k = 0; k < args->count; k++) {
        args->members[k].first = groups;
        groups += cbk_ocl_divide_up(elements_of(args, k), CBK_OCL_MOVE_GROUP * CBK_OCL_MOVE_EACH);
    }
    return groups;
}

/// Work-items.
static int64_t plan_cpu(struct joining *j, const struct cbk_rt_caps *caps) {
    struct cat_args *args = &j->args;
    int64_t bytes = 0;
    args->piece = CBK_OCL_MOVE_PIECE / (int32_t)j->size;
    for (int64_t k = 0; k < args->count; k++) {
        int64_t inner = args->joined == 0 ? args->members[k].length : args->shape[0];
        args->members[k].first = args->units;
        args->units += elements_of(args, k) / inner * cbk_ocl_divide_up(inner, args->piece);
        bytes += elements_of(args, k) * j->size;
    }
    args->stream = bytes >= CBK_OCL_STREAM_BYTES / 2;
    args->units_per_item = cbk_ocl_divide_up(args->units, cbk_ocl_move_items(caps, bytes));
    return cbk_ocl_divide_up(args->units, args->units_per_item);
}

static bool needs_long(const struct joining *j) {
    if ((j->stream->device->flags & CBK_INDEX_64) != 0) return true;
    for (int64_t k = 0; k < j->args.count; k++)
        if (elements_of(&j->args, k) > INT32_MAX - CBK_OCL_MOVE_GROUP * CBK_OCL_MOVE_EACH)
            return true;
    return false;
}

static cbk_status launch_members(struct joining *j) {
    const struct cbk_rt_caps *caps = j->stream->device->caps;
    set_axes(j);
    for (uint32_t wide = caps->is_cpu ? 8 : 16; wide > j->size; wide /= 2) {
        if (!can_widen(&j->args, wide / j->size)) continue;
        widen(&j->args, wide / j->size);
        j->size = wide;
    }
    const struct cbk_ocl_mover mover = {j->size, !caps->is_cpu, caps->is_cpu || needs_long(j)};
    const struct cbk_rt_spec spec = cbk_ocl_mover_spec(&cbk_kernel_cat, "cat", &mover);
    const size_t local = caps->is_cpu ? 1 : CBK_OCL_MOVE_GROUP;
    const int64_t groups = caps->is_cpu ? plan_cpu(j, caps) : plan_gpu(&j->args);
    struct cbk_rt_launch launch = {.operation = "cat",
                                   .dimensions = 1,
                                   .global = {(size_t)groups * local, 1, 1},
                                   .local = {local, 1, 1}};
    cbk_status status = cbk_rt_kernel(j->stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    for (int64_t k = 0; k < MEMBERS; k++)
        cbk_rt_arg_block(&launch, j->x[k < j->args.count ? k : 0].block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, j->y.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &j->args, sizeof j->args);
    return cbk_rt_launch(j->stream->rt, &launch);
}

/// In a capture: small copies become steps of one launch (merge.h).
static cbk_status copy_members(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const uint32_t axis = (uint32_t)((const cbk_axis_params *)op->params)->axis;
    struct cbk_ocl_operand y = cbk_ocl_operand(op->outputs[0]);
    const int64_t stride = y.meta->strides[axis];
    cbk_tensor_meta part = *y.meta;
    y.meta = &part;
    for (uint32_t i = 0; i < op->input_count; i++) {
        struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[i]);
        part.shape[axis] = x.meta->shape[axis];
        part.element_count = x.meta->element_count;
        const cbk_status status = cbk_ocl_copy(stream, &x, &y);
        if (status != CBK_OK) return status;
        y.offset += part.shape[axis] * stride;
    }
    return CBK_OK;
}

cbk_status cbk_ocl_cat(struct cbk_ocl_stream *stream, const cbk_op *op) {
    if (cbk_ocl_will_merge(stream, cbk_tensor_element_count(op->outputs[0])))
        return copy_members(stream, op);
    struct joining empty = {.stream = stream,
                            .y = cbk_ocl_operand(op->outputs[0]),
                            .axis = (uint32_t)((const cbk_axis_params *)op->params)->axis};
    cbk_status status = CBK_OK;
    empty.size = cbk_dtype_size(empty.y.meta->dtype);
    struct joining j = empty;
    int64_t end = 0;
    for (uint32_t i = 0; i < op->input_count && status == CBK_OK; i++) {
        struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[i]);
        if (x.meta->element_count > 0) j.x[j.args.count++] = x;
        end += x.meta->shape[j.axis];
        const bool is_last = i + 1 == op->input_count;
        if (j.args.count == 0 || (j.args.count < MEMBERS && !is_last)) continue;
        status = launch_members(&j);
        j = empty;
        j.start = end;
    }
    return status;
}

void cbk_ocl_cat_programs(cbk_ocl_program_visitor visit, void *user_data) {
    cbk_ocl_mover_programs(&cbk_kernel_cat, "cat", visit, user_data);
}
