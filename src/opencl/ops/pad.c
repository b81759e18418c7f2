/// pad.c: launches of kernels/pad.cl: pad and roll.
#include "mover.h"
#include "pointwise.h"

struct pad_args {
    int64_t rank, count, mode;
    int64_t shape[CBK_MAX_RANK], y[CBK_MAX_RANK];
    int64_t lengths[CBK_MAX_RANK], x[CBK_MAX_RANK], before[CBK_MAX_RANK];
    int64_t x_offset, y_offset;
    int64_t piece, units_per_item, units, stream;
};

struct padding {
    struct cbk_ocl_stream *stream;
    const char *operation;
    struct cbk_ocl_operand x, y;
    int64_t before[CBK_MAX_RANK]; ///< by axis of x
    struct pad_args args;
    uint32_t size;       ///< bytes of an element
    uint32_t pattern[4]; ///< 16 bytes of elements that lie outside
};

// ---- axes ---------------------------------------------------------------------------------------

static bool is_plain(const struct pad_args *args, int64_t d) {
    return args->before[d] == 0 && args->lengths[d] == args->shape[d];
}

/// Adds axis i around those so far. It joins the outermost of them if that is not padded and both
/// tensors go on there; reflect and edge look at single places of a padded axis, so that stays apart.
static void add_axis(struct padding *p, uint32_t i) {
    struct pad_args *args = &p->args;
    const cbk_tensor_meta *x = p->x.meta, *y = p->y.meta;
    const bool is_padded = p->before[i] != 0 || x->shape[i] != y->shape[i];
    const bool counts_places = args->mode == CBK_PAD_REFLECT || args->mode == CBK_PAD_EDGE;
    int64_t inner = 1;
    if (y->shape[i] == 1 && !is_padded) return;
    if (args->rank > 0 && is_plain(args, args->rank - 1) && !(is_padded && counts_places)) {
        const int64_t top = args->rank - 1, length = args->shape[top];
        if (y->strides[i] == args->y[top] * length &&
            (x->shape[i] == 1 || x->strides[i] == args->x[top] * length))
            inner = length;
    }
    if (inner == 1) {
        args->x[args->rank] = x->strides[i];
        args->y[args->rank] = y->strides[i];
        args->rank++;
    }
    args->shape[args->rank - 1] = inner * y->shape[i];
    args->lengths[args->rank - 1] = inner * x->shape[i];
    args->before[args->rank - 1] = inner * p->before[i];
}

static void set_axes(struct padding *p) {
    struct pad_args *args = &p->args;
    for (uint32_t i = p->y.meta->rank; i-- > 0;) add_axis(p, i);
    if (args->rank == 0) { // one element
        args->rank = 1;
        args->shape[0] = args->lengths[0] = args->x[0] = args->y[0] = 1;
    }
    args->count = p->y.meta->element_count;
    args->x_offset = p->x.offset;
    args->y_offset = p->y.offset;
}

// ---- several elements as one --------------------------------------------------------------------

static bool can_widen(const struct pad_args *args, int64_t factor) {
    const bool counts_places = args->mode == CBK_PAD_REFLECT || args->mode == CBK_PAD_EDGE;
    if (args->x[0] != 1 || args->y[0] != 1) return false;
    if (args->shape[0] % factor != 0 || args->lengths[0] % factor != 0) return false;
    if (args->before[0] % factor != 0 || (counts_places && !is_plain(args, 0))) return false;
    if (args->x_offset % factor != 0 || args->y_offset % factor != 0) return false;
    for (int64_t d = 1; d < args->rank; d++)
        if (args->x[d] % factor != 0 || args->y[d] % factor != 0) return false;
    return true;
}

static void widen(struct pad_args *args, int64_t factor) {
    args->shape[0] /= factor;
    args->lengths[0] /= factor;
    args->before[0] /= factor;
    args->count /= factor;
    args->x_offset /= factor;
    args->y_offset /= factor;
    for (int64_t d = 1; d < args->rank; d++) {
        args->x[d] /= factor;
        args->y[d] /= factor;
    }
}

/// Repeats the bits of one element.
static void set_pattern(struct padding *p, uint64_t bits) {
    for (uint32_t at = 0; at < sizeof p->pattern; at += p->size)
        for (uint32_t byte = 0; byte < p->size; byte++)
            p->pattern[(at + byte) / 4] |= (uint32_t)(bits >> 8 * byte & 0xff)
                                           << 8 * ((at + byte) % 4);
}

// ---- launch -------------------------------------------------------------------------------------

/// Work-items.
static int64_t plan_cpu(struct padding *p, const struct cbk_rt_caps *caps) {
    struct pad_args *args = &p->args;
    const int64_t bytes = args->count * p->size;
    args->piece = CBK_OCL_MOVE_PIECE / p->size;
    args->units = args->count / args->shape[0] * cbk_ocl_divide_up(args->shape[0], args->piece);
    args->stream = bytes >= CBK_OCL_STREAM_BYTES / 2 && args->shape[0] >= 256;
    args->units_per_item = cbk_ocl_divide_up(args->units, cbk_ocl_move_items(caps, bytes));
    return cbk_ocl_divide_up(args->units, args->units_per_item);
}

static bool needs_long(const struct padding *p) {
    int64_t longest = p->args.count;
    if ((p->stream->device->flags & CBK_INDEX_64) != 0) return true;
    for (int64_t d = 0; d < p->args.rank; d++) {
        if (p->args.lengths[d] > longest) longest = p->args.lengths[d];
    }
    return longest > INT32_MAX / 2;
}

static cbk_status launch_padding(struct padding *p, uint64_t bits) {
    const struct cbk_rt_caps *caps = p->stream->device->caps;
    set_axes(p);
    set_pattern(p, bits);
    for (uint32_t wide = caps->is_cpu ? 8 : 16; wide > p->size; wide /= 2) {
        if (!can_widen(&p->args, wide / p->size)) continue;
        widen(&p->args, wide / p->size);
        p->size = wide;
    }
    const struct cbk_ocl_mover mover = {p->size, !caps->is_cpu, caps->is_cpu || needs_long(p)};
    const struct cbk_rt_spec spec = cbk_ocl_mover_spec(&cbk_kernel_pad, "pad", &mover);
    const size_t local = caps->is_cpu ? 1 : CBK_OCL_MOVE_GROUP;
    const int64_t groups =
        caps->is_cpu ? plan_cpu(p, caps)
                     : cbk_ocl_divide_up(p->args.count, CBK_OCL_MOVE_GROUP * CBK_OCL_MOVE_EACH);
    struct cbk_rt_launch launch = {.operation = p->operation,
                                   .dimensions = 1,
                                   .global = {(size_t)groups * local, 1, 1},
                                   .local = {local, 1, 1}};
    cbk_status status = cbk_rt_kernel(p->stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    // x may have no elements: then nothing of it is read.
    cbk_rt_arg_block(&launch, p->x.block != NULL ? p->x.block : p->y.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, p->y.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &p->args, sizeof p->args);
    cbk_rt_arg_value(&launch, p->pattern, sizeof p->pattern);
    return cbk_rt_launch(p->stream->rt, &launch);
}

static struct padding begin(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct padding p = {.stream = stream,
                        .operation = cbk_op_info_of(op->opcode)->name,
                        .x = cbk_ocl_operand(op->inputs[0]),
                        .y = cbk_ocl_operand(op->outputs[0])};
    p.size = cbk_dtype_size(p.y.meta->dtype);
    return p;
}

cbk_status cbk_ocl_pad(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_pad_params *params = op->params;
    struct padding p = begin(stream, op);
    uint64_t bits = 0;
    cbk_status status = CBK_OK;
    if (params->mode == CBK_PAD_CONSTANT)
        status = cbk_ocl_scalar_bits(params->value, p.x.meta->dtype, &bits);
    if (status != CBK_OK) return status;
    p.args.mode = params->mode;
    for (uint32_t i = 0; i < p.x.meta->rank; i++) p.before[i] = params->before[i];
    return launch_padding(&p, bits);
}

/// Element c shows what was at c - shift: padded by `shift` of the other end, and cut.
cbk_status cbk_ocl_roll(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_roll_params *params = op->params;
    struct padding p = begin(stream, op);
    p.args.mode = CBK_PAD_CIRCULAR;
    for (uint32_t i = 0; i < params->axis_count; i++) p.before[params->axes[i]] = params->shifts[i];
    return launch_padding(&p, 0);
}

void cbk_ocl_pad_programs(cbk_ocl_program_visitor visit, void *user_data) {
    cbk_ocl_mover_programs(&cbk_kernel_pad, "pad", visit, user_data);
}
