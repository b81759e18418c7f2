/// batch_norm.c: launches of kernels/batch_norm.cl.
#include "norm.h"

#include "pointwise.h"

#define GROUP 256

/// What the kernels get; as in the text.
struct batch_args {
    struct cbk_ocl_axes rows;
    int64_t length, channels;
    int64_t x_offset, y_offset, factors_offset;
    int64_t mean_offset, var_offset, gamma_offset, beta_offset;
    int64_t mean_stride, var_stride, gamma_stride, beta_stride;
    int64_t vectors;
};

/// Names a program; packed into the key.
struct program {
    cbk_dtype x;
    uint32_t lanes;
    bool is_planes, has_gamma, has_beta, has_index64, is_aligned;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(
        defines, " -DX=%s -DACC=%s -DPLANES=%d -DHAS_GAMMA=%d -DHAS_BETA=%d -DW=%u -DINDEX=%s",
        cbk_ocl_dtype_word(program->x), cbk_ocl_dtype_word(cbk_ocl_norm_arithmetic(program->x)),
        program->is_planes, program->has_gamma, program->has_beta, (unsigned)program->lanes,
        program->has_index64 ? "long" : "int");
    if (program->is_aligned) cbk_rt_text_add(defines, " -DALIGNED");
}

static struct cbk_rt_spec make_spec(const struct program *program, const char *entry) {
    const uint64_t flags = (uint64_t)program->is_planes | (uint64_t)program->has_gamma << 1 |
                           (uint64_t)program->has_beta << 2 | (uint64_t)program->has_index64 << 3 |
                           (uint64_t)program->is_aligned << 4;
    return (struct cbk_rt_spec){
        .source = &cbk_kernel_batch_norm,
        .entry = entry,
        .key = {(uint64_t)program->x | (uint64_t)program->lanes << 8, flags},
        .describe = describe,
        .context = program};
}

struct batch_norm {
    struct cbk_ocl_stream *stream;
    struct program program;
    struct cbk_ocl_operand x, y, mean, var, gamma, beta;
    struct cbk_rt_block *factors;
    struct batch_args args;
    double eps;
};

static cbk_status launch(struct batch_norm *b, const char *entry, int64_t items,
                         struct cbk_rt_launch *launch) {
    const struct cbk_rt_spec spec = make_spec(&b->program, entry);
    const size_t local = b->stream->device->caps->is_cpu ? 1 : GROUP;
    launch->operation = "batch_norm";
    launch->dimensions = 1;
    launch->global[0] = cbk_ocl_round_up((size_t)items, local);
    launch->local[0] = local;
    launch->global[1] = launch->global[2] = launch->local[1] = launch->local[2] = 1;
    return cbk_rt_kernel(b->stream->rt, &spec, &launch->kernel);
}

static struct cbk_rt_block *or_mean(const struct batch_norm *b, struct cbk_rt_block *block) {
    return block != NULL ? block : b->mean.block; // an argument that is not looked at
}

static cbk_status launch_factors(struct batch_norm *b) {
    struct cbk_rt_launch request = {.kernel = NULL};
    const float narrow_eps = (float)b->eps;
    cbk_status status = launch(b, "batch_factors", b->args.channels, &request);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&request, b->mean.block, CBK_RT_READ);
    cbk_rt_arg_block(&request, b->var.block, CBK_RT_READ);
    cbk_rt_arg_block(&request, or_mean(b, b->gamma.block), CBK_RT_READ);
    cbk_rt_arg_block(&request, or_mean(b, b->beta.block), CBK_RT_READ);
    cbk_rt_arg_block(&request, b->factors, CBK_RT_WRITE);
    cbk_rt_arg_value(&request, &b->args, sizeof b->args);
    if (b->program.x == CBK_DTYPE_F64)
        cbk_rt_arg_value(&request, &b->eps, sizeof b->eps);
    else
        cbk_rt_arg_value(&request, &narrow_eps, sizeof narrow_eps);
    return cbk_rt_launch(b->stream->rt, &request);
}

static cbk_status launch_apply(struct batch_norm *b) {
    struct cbk_rt_launch request = {.kernel = NULL};
    const int64_t run = b->args.vectors * b->program.lanes;
    const int64_t items = b->args.rows.count * cbk_ocl_divide_up(b->args.length, run);
    cbk_status status = launch(b, "batch_apply", items, &request);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&request, b->x.block, CBK_RT_READ);
    cbk_rt_arg_block(&request, b->factors, CBK_RT_READ);
    cbk_rt_arg_block(&request, b->y.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&request, &b->args, sizeof b->args);
    return cbk_rt_launch(b->stream->rt, &request);
}

/// Are the axes from `first` on dense and in row-major order?
static bool is_dense_from(const cbk_tensor_meta *meta, uint32_t first) {
    int64_t stride = 1;
    for (uint32_t axis = meta->rank; axis-- > first;) {
        if (meta->shape[axis] == 1) continue;
        if (meta->strides[axis] != stride) return false;
        stride *= meta->shape[axis];
    }
    return true;
}

/// Rows along the channels, where they are the contiguous axis, else planes of one channel.
static void fill_rows(struct batch_norm *b) {
    struct batch_args *args = &b->args;
    const cbk_tensor_meta *x = b->x.meta, *y = b->y.meta;
    cbk_ocl_axes_init(&args->rows);
    args->channels = x->shape[1];
    args->length = b->program.is_planes ? 1 : args->channels;
    for (uint32_t i = 2; i < x->rank && b->program.is_planes; i++) args->length *= x->shape[i];
    for (uint32_t i = x->rank; i-- > 0;)
        if (b->program.is_planes ? i < 2 : i != 1)
            cbk_ocl_axes_add(&args->rows, x->shape[i], x->strides[i], y->strides[i]);
}

static void fill_args(struct batch_norm *b) {
    const struct cbk_rt_caps *caps = b->stream->device->caps;
    const struct cbk_ocl_operand *operands[4] = {&b->mean, &b->var, &b->gamma, &b->beta};
    struct batch_args *args = &b->args;
    int64_t *offsets[4] = {&args->mean_offset, &args->var_offset, &args->gamma_offset,
                           &args->beta_offset};
    int64_t *strides[4] = {&args->mean_stride, &args->var_stride, &args->gamma_stride,
                           &args->beta_stride};
    for (int i = 0; i < 4; i++) {
        if (operands[i]->block == NULL) continue;
        *offsets[i] = operands[i]->offset;
        *strides[i] = operands[i]->meta->strides[0];
    }
    args->x_offset = b->x.offset;
    args->y_offset = b->y.offset;
    b->program.lanes = caps->is_cpu ? cbk_ocl_norm_lanes(caps->float_lanes, b->program.x) : 4;
    args->vectors = caps->is_cpu ? 256 : 1;
    struct cbk_ocl_axes whole = args->rows;
    if (whole.rank < CBK_MAX_RANK) cbk_ocl_axes_add(&whole, args->length, 1, 1);
    b->program.has_index64 = caps->is_cpu || cbk_ocl_axes_are_long(&whole) ||
                             (b->stream->device->flags & CBK_INDEX_64) != 0;
    b->program.is_aligned = !caps->is_cpu && args->x_offset % 4 == 0 && args->y_offset % 4 == 0 &&
                            cbk_ocl_axes_are_aligned(&args->rows, 4) &&
                            cbk_ocl_axes_are_aligned_y(&args->rows, 4);
}

static cbk_status apply(struct batch_norm *b) {
    const uint32_t size = cbk_dtype_size(cbk_ocl_norm_arithmetic(b->program.x));
    cbk_status status = CBK_OK;
    fill_rows(b);
    fill_args(b);
    RT_TRY(cbk_rt_alloc(b->stream->rt, (uint64_t)(2 * b->args.channels) * size, &b->factors));
    b->args.factors_offset = (int64_t)(cbk_rt_block_offset(b->factors) / size);
    RT_TRY(launch_factors(b));
    RT_TRY(launch_apply(b));
done:
    cbk_rt_free(b->stream->device->rt, &b->factors);
    return status;
}

/// Through dense temporaries.
static cbk_status apply_dense(struct batch_norm *b) {
    cbk_tensor_meta x_meta, y_meta;
    const struct cbk_ocl_operand source = b->x, target = b->y;
    cbk_status status = CBK_OK;
    b->x.block = b->y.block = NULL;
    RT_TRY(cbk_ocl_temporary(b->stream, source.meta, &x_meta, &b->x));
    RT_TRY(cbk_ocl_copy(b->stream, &source, &b->x));
    RT_TRY(cbk_ocl_temporary(b->stream, target.meta, &y_meta, &b->y));
    RT_TRY(apply(b));
    RT_TRY(cbk_ocl_copy(b->stream, &b->y, &target));
done:
    cbk_rt_free(b->stream->device->rt, &b->y.block);
    cbk_rt_free(b->stream->device->rt, &b->x.block);
    return status;
}

cbk_status cbk_ocl_batch_norm(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct batch_norm b = {.stream = stream,
                           .eps = ((const cbk_layer_norm_params *)op->params)->eps,
                           .x = cbk_ocl_operand(op->inputs[0]),
                           .y = cbk_ocl_operand(op->outputs[0]),
                           .mean = cbk_ocl_operand(op->inputs[1]),
                           .var = cbk_ocl_operand(op->inputs[2])};
    if (op->input_count > 3 && op->inputs[3] != NULL) b.gamma = cbk_ocl_operand(op->inputs[3]);
    if (op->input_count > 4 && op->inputs[4] != NULL) b.beta = cbk_ocl_operand(op->inputs[4]);
    const cbk_tensor_meta *x = b.x.meta, *y = b.y.meta;
    const bool is_last = x->strides[1] == 1 && y->strides[1] == 1 && x->shape[1] > 1;
    b.program.x = x->dtype;
    b.program.has_gamma = b.gamma.block != NULL;
    b.program.has_beta = b.beta.block != NULL;
    b.program.is_planes = x->rank > 2 && !is_last;
    const bool is_direct =
        is_last || (b.program.is_planes && is_dense_from(x, 2) && is_dense_from(y, 2));
    return is_direct ? apply(&b) : apply_dense(&b);
}

// ---- the list of all programs -------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
};

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    static const uint32_t lanes[] = {4, 8, 16};
    for (uint32_t form = 0; form < 32; form++) {
        const struct program program = {.x = dtype,
                                        .lanes = lanes[form < 8 ? form % 3 : 0],
                                        .is_planes = (form & 1) != 0,
                                        .has_gamma = (form & 2) != 0,
                                        .has_beta = (form & 4) != 0,
                                        .has_index64 = form < 8 || (form & 8) != 0,
                                        .is_aligned = form >= 8 && (form & 16) != 0};
        const struct cbk_rt_spec spec = make_spec(&program, "batch_apply");
        visit->visit(visit->user_data, &spec);
    }
}

void cbk_ocl_batch_norm_programs(cbk_ocl_program_visitor visit, void *user_data) {
    struct visit context = {visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_BATCH_NORM, visit_dtype, &context);
}
