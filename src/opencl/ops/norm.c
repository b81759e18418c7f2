/// norm.c: normalisations along trailing axes, their gradients, and those of softmax: launches of
/// kernels/norm_cpu.cl and kernels/norm_gpu.cl, which walk contiguous rows.
#include "norm.h"

#include "reduce.h"

#define GROUP 256         ///< of rows that are too long for registers, and of norm_columns
#define CHUNK_ROWS 256    ///< of norm_columns
#define COLUMNS_CPU 512   ///< of a work-item of norm_columns
#define COLUMNS_GPU 64    ///< of a group of it
#define MAX_TEMPORARIES 6 ///< dense copies

/// What the kernels get; as in both texts.
struct norm_args {
    struct cbk_ocl_axes rows, g_rows;
    int64_t length;
    int64_t x_offset, g_offset, gamma_offset, beta_offset, y_offset, stats_offset, partials_offset;
    int64_t chunks;
    int64_t items;
    int64_t stream;
};

/// One normalisation. Operands are dense along the last `axis_count` axes, which make a row.
struct normalisation {
    struct cbk_ocl_stream *stream;
    const char *name;
    struct cbk_ocl_norm_program program;
    uint32_t axis_count;
    double eps;
    struct cbk_ocl_operand x, g, gamma, beta, y; ///< block NULL: left out
    struct cbk_rt_block *stats;                  ///< of gradients: mean and rstd of each row
    struct norm_args args;
    // Dense copies of operands that are not; freed at the end.
    struct cbk_rt_block *temporaries[MAX_TEMPORARIES];
    cbk_tensor_meta metas[MAX_TEMPORARIES];
    uint32_t temporary_count;
};

// ---- rows that are contiguous -------------------------------------------------------------------

/// Are the last `axis_count` axes dense and in row-major order?
static bool has_rows(const cbk_tensor_meta *meta, uint32_t axis_count) {
    int64_t stride = 1;
    for (uint32_t i = 0; i < axis_count; i++) {
        const uint32_t axis = meta->rank - 1 - i;
        if (meta->shape[axis] == 1) continue;
        if (meta->strides[axis] != stride) return false;
        stride *= meta->shape[axis];
    }
    return true;
}

/// Room like `operand`, in its place.
static cbk_status make_room(struct normalisation *n, struct cbk_ocl_operand *operand) {
    const uint32_t k = n->temporary_count;
    cbk_status status = cbk_ocl_temporary(n->stream, operand->meta, &n->metas[k], operand);
    if (status != CBK_OK) return status;
    n->temporaries[n->temporary_count++] = operand->block;
    return CBK_OK;
}

/// Puts a dense copy in the place of an operand whose rows are not contiguous.
static cbk_status make_dense(struct normalisation *n, struct cbk_ocl_operand *operand) {
    if (operand->block == NULL || has_rows(operand->meta, n->axis_count)) return CBK_OK;
    const struct cbk_ocl_operand source = *operand;
    cbk_status status = make_room(n, operand);
    return status == CBK_OK ? cbk_ocl_copy(n->stream, &source, operand) : status;
}

static void free_temporaries(struct normalisation *n) {
    struct cbk_rt_device *device = n->stream->device->rt;
    cbk_rt_free(device, &n->stats);
    while (n->temporary_count > 0) cbk_rt_free(device, &n->temporaries[--n->temporary_count]);
}

// ---- launches -----------------------------------------------------------------------------------

/// The axes of x and y that no row walks along, in row-major order.
static void list_rows(const struct normalisation *n, const cbk_tensor_meta *x,
                      const cbk_tensor_meta *y, struct cbk_ocl_axes *out) {
    cbk_ocl_axes_init(out);
    for (uint32_t i = x->rank - n->axis_count; i-- > 0;)
        cbk_ocl_axes_add(out, x->shape[i], x->strides[i], y->strides[i]);
}

static size_t pair_bytes(const struct normalisation *n) {
    return n->program.x == CBK_DTYPE_F64 ? 16 : 8;
}

static bool is_aligned(const struct normalisation *n) {
    const struct norm_args *args = &n->args;
    return args->length % 4 == 0 && args->x_offset % 4 == 0 && args->g_offset % 4 == 0 &&
           args->gamma_offset % 4 == 0 && args->beta_offset % 4 == 0 && args->y_offset % 4 == 0 &&
           cbk_ocl_axes_are_aligned(&args->rows, 4) && cbk_ocl_axes_are_aligned_y(&args->rows, 4) &&
           cbk_ocl_axes_are_aligned(&args->g_rows, 4);
}

static bool is_long(const struct normalisation *n) {
    struct cbk_ocl_axes rows = n->args.rows, g_rows = n->args.g_rows;
    if (rows.rank == CBK_MAX_RANK || (n->stream->device->flags & CBK_INDEX_64) != 0) return true;
    cbk_ocl_axes_add(&rows, n->args.length, 1, 1);
    if (g_rows.rank < CBK_MAX_RANK) cbk_ocl_axes_add(&g_rows, n->args.length, 1, 1);
    return cbk_ocl_axes_are_long(&rows) || cbk_ocl_axes_are_long(&g_rows);
}

static void fill_args(struct normalisation *n) {
    struct norm_args *args = &n->args;
    const cbk_tensor_meta *g = n->g.block != NULL ? n->g.meta : n->x.meta;
    list_rows(n, n->x.meta, n->y.meta, &args->rows);
    list_rows(n, g, g, &args->g_rows);
    args->length = 1;
    for (uint32_t i = 0; i < n->axis_count; i++)
        args->length *= n->x.meta->shape[n->x.meta->rank - 1 - i];
    args->x_offset = n->x.offset;
    args->y_offset = n->y.offset;
    args->g_offset = n->g.block != NULL ? n->g.offset : 0;
    args->gamma_offset = n->gamma.block != NULL ? n->gamma.offset : 0;
    args->beta_offset = n->beta.block != NULL ? n->beta.offset : 0;
    args->stats_offset =
        n->stats != NULL ? (int64_t)(cbk_rt_block_offset(n->stats) / pair_bytes(n)) : 0;
}

static struct cbk_rt_block *or_x(const struct normalisation *n, struct cbk_rt_block *block) {
    return block != NULL ? block : n->x.block; // an argument that is not looked at
}

static cbk_status launch_rows(struct normalisation *n, const char *entry, int64_t groups) {
    const struct cbk_rt_spec spec = cbk_ocl_norm_spec(&n->program, entry);
    const size_t local = n->program.is_gpu ? n->program.shape.group : 1;
    struct cbk_rt_launch launch = {.operation = n->name,
                                   .dimensions = 1,
                                   .global = {(size_t)groups * local, 1, 1},
                                   .local = {local, 1, 1}};
    const float narrow_eps = (float)n->eps;
    cbk_status status = cbk_rt_kernel(n->stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, n->x.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, or_x(n, n->g.block), CBK_RT_READ);
    cbk_rt_arg_block(&launch, or_x(n, n->gamma.block), CBK_RT_READ);
    cbk_rt_arg_block(&launch, or_x(n, n->beta.block), CBK_RT_READ);
    cbk_rt_arg_block(&launch, n->y.block, CBK_RT_WRITE);
    cbk_rt_arg_block(&launch, n->stats != NULL ? n->stats : n->y.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &n->args, sizeof n->args);
    if (n->program.x == CBK_DTYPE_F64)
        cbk_rt_arg_value(&launch, &n->eps, sizeof n->eps);
    else
        cbk_rt_arg_value(&launch, &narrow_eps, sizeof narrow_eps);
    return cbk_rt_launch(n->stream->rt, &launch);
}

static cbk_status run_cpu(struct normalisation *n) {
    const struct cbk_rt_caps *caps = n->stream->device->caps;
    const int64_t rows = n->args.rows.count;
    const int64_t useful = cbk_ocl_divide_up(rows * n->args.length, 8192);
    const int64_t items = cbk_ocl_clamp(useful, 1, 16 * (int64_t)caps->compute_units);
    n->program.lanes = cbk_ocl_norm_lanes(caps->float_lanes, n->program.x);
    n->args.items = cbk_ocl_divide_up(rows, items);
    n->args.stream = cbk_ocl_is_streamed(rows * n->args.length, n->program.x);
    return launch_rows(n, "norm_rows", cbk_ocl_divide_up(rows, n->args.items));
}

static cbk_status run_gpu(struct normalisation *n) {
    struct cbk_ocl_norm_program *program = &n->program;
    struct norm_args *args = &n->args;
    const bool fits = cbk_ocl_norm_shape(program, args->length,
                                         n->stream->device->caps->max_work_group, &program->shape);
    program->is_aligned = is_aligned(n);
    program->has_index64 = is_long(n);
    program->is_nvidia = n->stream->device->caps->is_nvidia;
    if (!fits) {
        program->shape = cbk_ocl_norm_loop;
        return launch_rows(n, "norm_long", args->rows.count);
    }
    const int64_t quads = cbk_ocl_divide_up(args->length, 4 * (int64_t)program->shape.quads);
    args->items = cbk_ocl_clamp(cbk_ocl_power_of_two(quads), 1, program->shape.group);
    program->has_group = args->items == program->shape.group;
    const int64_t rows = program->shape.group / args->items * (int64_t)program->shape.rows;
    return launch_rows(n, "norm_rows", cbk_ocl_divide_up(args->rows.count, rows));
}

/// y's rows; through a dense temporary where they are not contiguous.
static cbk_status run_rows(struct normalisation *n) {
    const struct cbk_ocl_operand target = n->y;
    cbk_status status = CBK_OK;
    RT_TRY(make_dense(n, &n->x));
    RT_TRY(make_dense(n, &n->g));
    RT_TRY(make_dense(n, &n->gamma));
    RT_TRY(make_dense(n, &n->beta));
    if (!has_rows(n->y.meta, n->axis_count)) RT_TRY(make_room(n, &n->y));
    fill_args(n);
    RT_TRY(n->program.is_gpu ? run_gpu(n) : run_cpu(n));
    if (n->y.block != target.block) RT_TRY(cbk_ocl_copy(n->stream, &n->y, &target));
done:
    return status;
}

// ---- gradients of gamma and beta ----------------------------------------------------------------

static cbk_status launch_columns(struct normalisation *n, struct cbk_rt_block *partials) {
    struct cbk_ocl_norm_program program = n->program;
    program.has_gamma = program.has_group = program.is_nvidia = false;
    program.shape = cbk_ocl_norm_loop;
    const struct cbk_rt_spec spec = cbk_ocl_norm_spec(&program, "norm_columns");
    const int64_t width = n->program.is_gpu ? COLUMNS_GPU : COLUMNS_CPU;
    const size_t local = n->program.is_gpu ? GROUP : 1;
    const int64_t groups = n->args.chunks * cbk_ocl_divide_up(n->args.length, width);
    struct cbk_rt_launch launch = {.operation = n->name,
                                   .dimensions = 1,
                                   .global = {(size_t)groups * local, 1, 1},
                                   .local = {local, 1, 1}};
    cbk_status status = cbk_rt_kernel(n->stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    n->args.partials_offset = (int64_t)(cbk_rt_block_offset(partials) / (pair_bytes(n) / 2));
    cbk_rt_arg_block(&launch, n->x.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, n->g.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, n->stats, CBK_RT_READ);
    cbk_rt_arg_block(&launch, partials, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &n->args, sizeof n->args);
    return cbk_rt_launch(n->stream->rt, &launch);
}

/// The sum over chunks of `partials`, rows `which` of each pair of rows; any number of chunks.
static cbk_status join_chunks(struct normalisation *n, struct cbk_rt_block *partials, int which,
                              const struct cbk_ocl_operand *target) {
    const int64_t length = target->meta->element_count, chunks = n->args.chunks;
    const bool is_dense = has_rows(target->meta, target->meta->rank);
    cbk_tensor_meta from_meta = {.dtype = cbk_ocl_norm_arithmetic(n->program.x),
                                 .rank = 2,
                                 .shape = {chunks, length},
                                 .strides = {2 * length, 1},
                                 .element_count = chunks * length};
    cbk_tensor_meta line_meta = {.dtype = target->meta->dtype,
                                 .rank = 1,
                                 .shape = {length},
                                 .strides = {1},
                                 .element_count = length};
    struct cbk_ocl_operand from = {&from_meta, partials, n->args.partials_offset + which * length};
    struct cbk_ocl_operand dense = *target, line;
    cbk_status status = is_dense ? CBK_OK : make_room(n, &dense);
    if (status != CBK_OK) return status;
    line = dense;
    line.meta = &line_meta;
    status = cbk_ocl_sum_first_axis(n->stream, n->name, &from, &line);
    return status != CBK_OK || is_dense ? status : cbk_ocl_copy(n->stream, &dense, target);
}

static cbk_status run_columns(struct normalisation *n, const cbk_op *op) {
    const int64_t rows = n->x.block != NULL ? n->args.rows.count : 0;
    struct cbk_rt_block *partials = NULL;
    cbk_status status = CBK_OK;
    n->args.chunks = cbk_ocl_divide_up(rows, CHUNK_ROWS);
    if (rows > 0) {
        const uint64_t bytes = (uint64_t)(n->args.chunks * n->args.length) * pair_bytes(n);
        RT_TRY(cbk_rt_alloc(n->stream->rt, bytes, &partials));
        RT_TRY(launch_columns(n, partials));
    }
    for (uint32_t k = 1; k < op->output_count; k++) {
        const struct cbk_ocl_operand target = cbk_ocl_operand(op->outputs[k]);
        RT_TRY(join_chunks(n, partials, (int)k - 1, &target));
    }
done:
    cbk_rt_free(n->stream->device->rt, &partials);
    return status;
}

// ---- operations ---------------------------------------------------------------------------------

static struct cbk_ocl_operand optional(const cbk_op *op, uint32_t i) {
    if (i >= op->input_count || op->inputs[i] == NULL)
        return (struct cbk_ocl_operand){.block = NULL};
    return cbk_ocl_operand(op->inputs[i]);
}

static struct normalisation begin(struct cbk_ocl_stream *stream, const cbk_op *op, uint32_t kind,
                                  const struct cbk_ocl_operand *x) {
    return (struct normalisation){.stream = stream,
                                  .name = cbk_op_info_of(op->opcode)->name,
                                  .program = {.kind = kind,
                                              .is_gpu = !stream->device->caps->is_cpu,
                                              .has_index64 = true, // CPU form
                                              .x = x->meta->dtype},
                                  .x = *x,
                                  .y = cbk_ocl_operand(op->outputs[0])};
}

static cbk_status forward(struct cbk_ocl_stream *stream, const cbk_op *op, uint32_t kind) {
    const cbk_layer_norm_params *params = op->params;
    const struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]);
    struct normalisation n = begin(stream, op, kind, &x);
    n.axis_count = params->axis_count;
    n.eps = params->eps;
    n.gamma = optional(op, 1);
    n.beta = optional(op, 2);
    n.program.has_gamma = n.gamma.block != NULL;
    n.program.has_beta = n.beta.block != NULL;
    cbk_status status = run_rows(&n);
    free_temporaries(&n);
    return status;
}

static cbk_status backward(struct cbk_ocl_stream *stream, const cbk_op *op, uint32_t kind) {
    const cbk_layer_norm_params *params = op->params;
    const struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[1]);
    struct normalisation n = begin(stream, op, kind, &x);
    cbk_status status = CBK_OK;
    n.axis_count = params->axis_count;
    n.eps = params->eps;
    n.g = cbk_ocl_operand(op->inputs[0]);
    n.gamma = optional(op, 2);
    n.program.has_gamma = n.gamma.block != NULL;
    if (n.x.block != NULL) {
        int64_t rows = 1;
        for (uint32_t i = 0; i < x.meta->rank - n.axis_count; i++) rows *= x.meta->shape[i];
        RT_TRY(cbk_rt_alloc(stream->rt, (uint64_t)rows * pair_bytes(&n), &n.stats));
        RT_TRY(run_rows(&n));
    }
    RT_TRY(run_columns(&n, op));
done:
    free_temporaries(&n);
    return status;
}

cbk_status cbk_ocl_norm(struct cbk_ocl_stream *stream, const cbk_op *op) {
    switch (op->opcode) {
    case CBK_OP_LAYER_NORM:
        return forward(stream, op, CBK_OCL_NORM_LAYER);
    case CBK_OP_RMS_NORM:
        return forward(stream, op, CBK_OCL_NORM_RMS);
    case CBK_OP_LAYER_NORM_BACKWARD:
        return backward(stream, op, CBK_OCL_NORM_LAYER_BACKWARD);
    case CBK_OP_RMS_NORM_BACKWARD:
        return backward(stream, op, CBK_OCL_NORM_RMS_BACKWARD);
    default:
        return cbk_ocl_batch_norm(stream, op);
    }
}

cbk_status cbk_ocl_softmax_backward(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const uint32_t axis = (uint32_t)((const cbk_axis_params *)op->params)->axis;
    const struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]);
    struct normalisation n =
        begin(stream, op,
              op->opcode == CBK_OP_SOFTMAX_BACKWARD ? CBK_OCL_NORM_SOFTMAX_BACKWARD
                                                    : CBK_OCL_NORM_LOG_SOFTMAX_BACKWARD,
              &x);
    cbk_tensor_meta x_meta, g_meta, y_meta;
    n.axis_count = 1;
    n.g = cbk_ocl_operand(op->inputs[1]);
    cbk_ocl_move_last(n.x.meta, axis, &x_meta);
    cbk_ocl_move_last(n.g.meta, axis, &g_meta);
    cbk_ocl_move_last(n.y.meta, axis, &y_meta);
    n.x.meta = &x_meta;
    n.g.meta = &g_meta;
    n.y.meta = &y_meta;
    cbk_status status = run_rows(&n);
    free_temporaries(&n);
    return status;
}
