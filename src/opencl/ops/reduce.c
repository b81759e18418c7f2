/// reduce.c: launches of kernels/reduce_cpu.cl and kernels/reduce_gpu.cl.
///
/// The tree of a reduction is fixed by its length (kernels/include/reduce_ops.clh). Everything
/// decided here - which kernel, how many chunks - changes who does which part of that tree.
#include "axes.h"
#include "pointwise.h"

#define BLOCK 1024 ///< elements of a block
#define GROUP 256  ///< work-items of a group, GPU form
#define GROUP_BLOCKS 16
#define TILE_COLUMNS 512 ///< of reduce_column, CPU form
#define GROUP_COLUMNS 32 ///< of reduce_column, GPU form
#define SHORT_LENGTH 64

struct reduce_op {
    const char *name;
    bool is_arg, is_truth;
    bool is_order_free; ///< for floats too
    bool is_count;
};

#define LOW(opcode) ((opcode)&0xff)
static const struct reduce_op reduce_ops[] = {
    [LOW(CBK_OP_SUM)] = {"sum", false, false, false},
    [LOW(CBK_OP_MEAN)] = {"mean", false, false, false},
    [LOW(CBK_OP_PROD)] = {"prod", false, false, false},
    [LOW(CBK_OP_MAX)] = {"max", false, false, true},
    [LOW(CBK_OP_MIN)] = {"min", false, false, true},
    [LOW(CBK_OP_ARGMAX)] = {"argmax", true, false, false},
    [LOW(CBK_OP_ARGMIN)] = {"argmin", true, false, false},
    [LOW(CBK_OP_ANY)] = {"any", false, true, true},
    [LOW(CBK_OP_ALL)] = {"all", false, true, true},
    [LOW(CBK_OP_COUNT_NONZERO)] = {"count_nonzero", false, false, true, true},
};
#define REDUCE_OPS (sizeof reduce_ops / sizeof *reduce_ops)

// ---- programs -----------------------------------------------------------------------------------

/// Names a program; packed into the key.
struct program {
    uint32_t op; ///< low byte of the opcode
    cbk_dtype x, accumulator, y;
    uint32_t lanes;
    bool is_gpu, is_aligned, has_index64;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DOP=op_%s -DX=%s -DACC=%s -DY=%s -DW=%u -DINDEX=%s",
                    reduce_ops[program->op].name, cbk_ocl_dtype_word(program->x),
                    cbk_ocl_dtype_word(program->accumulator), cbk_ocl_dtype_word(program->y),
                    (unsigned)program->lanes, program->has_index64 ? "long" : "int");
    if (program->is_aligned) cbk_rt_text_add(defines, " -DALIGNED");
}

static struct cbk_rt_spec make_spec(const struct program *program, const char *entry) {
    uint64_t flags = (uint64_t)program->is_aligned | (uint64_t)program->has_index64 << 1;
    return (struct cbk_rt_spec){
        .source = program->is_gpu ? &cbk_kernel_reduce_gpu : &cbk_kernel_reduce_cpu,
        .entry = entry,
        .key = {(uint64_t)program->op | (uint64_t)program->x << 8 |
                    (uint64_t)program->accumulator << 16 | (uint64_t)program->y << 24,
                (uint64_t)program->lanes | flags << 8},
        .describe = describe,
        .context = program};
}

static bool is_float(cbk_dtype dtype) {
    return dtype < CBK_DTYPE_I64;
}

static cbk_dtype accumulator_of(const struct reduce_op *op, cbk_dtype x, cbk_dtype y) {
    if (op->is_truth || op->is_count) return CBK_DTYPE_I32; // count: while that holds it
    return cbk_ocl_accumulator(x, op->is_arg ? x : y);
}

/// Lanes of the CPU form's vectors: as wide as its registers, but no more than 64 bytes.
static uint32_t cpu_lanes(uint32_t float_lanes, cbk_dtype accumulator) {
    uint32_t lanes = cbk_dtype_size(accumulator) == 8 ? float_lanes / 2 : float_lanes;
    return lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4;
}

// ---- one reduction ------------------------------------------------------------------------------

/// What the kernels get; as in both texts, with `tail` in each one's meaning.
struct reduce_args {
    struct cbk_ocl_axes kept, reduced;
    int64_t x_offset, y_offset, partials_offset, joined_offset;
    int64_t chunks;
    int64_t blocks_per_chunk;
    int64_t tail; ///< CPU: units per work-item; GPU: blocks per step
};

struct reduction {
    struct cbk_ocl_stream *stream;
    struct program program;
    struct cbk_ocl_operand x, y;
    struct reduce_args args;
    const char *entry;
    int64_t groups; ///< of the first launch; CPU form: work-items
    bool is_column; ///< partials are [chunk][result], else [result][chunk]
};

static size_t state_bytes(const struct reduction *r) {
    return reduce_ops[r->program.op].is_arg ? 16 : cbk_dtype_size(r->program.accumulator);
}

/// Where a block of states starts in its buffer.
static int64_t state_offset(const struct reduction *r, const struct cbk_rt_block *block) {
    return block != NULL ? (int64_t)(cbk_rt_block_offset(block) / state_bytes(r)) : 0;
}

static int64_t block_count(const struct reduction *r) {
    return cbk_ocl_divide_up(r->args.reduced.count, BLOCK);
}

/// Splits x's axes into those that stay and those that go.
static void split_axes(struct reduction *r, const cbk_reduce_params *params) {
    const cbk_tensor_meta *x = r->x.meta, *y = r->y.meta;
    bool is_reduced[CBK_MAX_RANK] = {false};
    for (uint32_t i = 0; i < params->axis_count; i++) is_reduced[params->axes[i]] = true;
    cbk_ocl_axes_init(&r->args.kept);
    cbk_ocl_axes_init(&r->args.reduced);
    uint32_t y_axis = y->rank;
    for (uint32_t i = x->rank; i-- > 0;) {
        bool has_y = !params->drop_axes || !is_reduced[i];
        if (has_y) y_axis--;
        if (is_reduced[i])
            cbk_ocl_axes_add(&r->args.reduced, x->shape[i], x->strides[i], 0);
        else
            cbk_ocl_axes_add(&r->args.kept, x->shape[i], x->strides[i], y->strides[y_axis]);
    }
    cbk_ocl_axes_sort(&r->args.kept);
    const struct reduce_op *op = &reduce_ops[r->program.op];
    if (op->is_order_free || (!op->is_arg && !is_float(r->program.accumulator)))
        cbk_ocl_axes_sort(&r->args.reduced);
    if (r->args.reduced.rank == 0 && r->args.reduced.count == 1) { // nothing is reduced
        r->args.reduced.rank = 1;
        r->args.reduced.shape[0] = 1;
        r->args.reduced.x[0] = 1;
    }
}

static bool is_run(const struct reduction *r) {
    return r->args.reduced.rank == 1 && r->args.reduced.x[0] == 1;
}

static bool has_columns(const struct reduction *r, int64_t width) {
    return r->args.kept.rank > 0 && r->args.kept.x[0] == 1 && r->args.kept.shape[0] >= width;
}

// ---- CPU form: which kernel, how much for a work-item -------------------------------------------

static void plan_cpu(struct reduction *r, const struct cbk_rt_caps *caps) {
    struct reduce_args *args = &r->args;
    int64_t blocks = block_count(r), results = args->kept.count, units;
    int64_t wanted = 8 * (int64_t)caps->compute_units;
    int64_t useful = cbk_ocl_divide_up(results * args->reduced.count, 8192);
    int64_t items = useful < wanted ? useful : wanted;

    r->program.lanes = cpu_lanes(caps->float_lanes, r->program.accumulator);
    r->program.has_index64 = true;
    r->is_column = !is_run(r) && has_columns(r, r->program.lanes);
    if (r->is_column) {
        r->entry = "reduce_column";
        args->chunks = blocks;
        args->blocks_per_chunk = 1;
        units = results / args->kept.shape[0] * blocks *
                cbk_ocl_divide_up(args->kept.shape[0], TILE_COLUMNS);
    } else {
        r->entry = is_run(r) ? "reduce_row" : "reduce_gather";
        args->blocks_per_chunk = cbk_ocl_power_of_two(
            results >= items ? blocks : cbk_ocl_divide_up(blocks * results, items));
        args->chunks = cbk_ocl_divide_up(blocks, args->blocks_per_chunk);
        units = results * args->chunks;
    }
    args->tail = cbk_ocl_divide_up(units, cbk_ocl_clamp(items, 1, units));
    r->groups = cbk_ocl_divide_up(units, args->tail);
}

// ---- GPU form: which kernel, how many groups ----------------------------------------------------

static void plan_rows(struct reduction *r, const struct cbk_rt_caps *caps) {
    struct reduce_args *args = &r->args;
    int64_t blocks = block_count(r);
    args->tail = cbk_ocl_clamp(cbk_ocl_power_of_two(blocks), 1, GROUP_BLOCKS);
    int64_t row_groups = cbk_ocl_divide_up(args->kept.count, GROUP_BLOCKS / args->tail);
    int64_t steps = cbk_ocl_divide_up(blocks, args->tail);
    int64_t wanted = 32 * (int64_t)caps->compute_units;
    int64_t chunk_steps = cbk_ocl_power_of_two(
        row_groups >= wanted ? steps : cbk_ocl_divide_up(steps * row_groups, wanted));
    args->blocks_per_chunk = chunk_steps * args->tail;
    args->chunks = cbk_ocl_divide_up(steps, chunk_steps);
    r->groups = row_groups * args->chunks;
}

static void plan_gpu(struct reduction *r, const struct cbk_rt_caps *caps) {
    struct reduce_args *args = &r->args;
    const int64_t lanes = 4, length = args->reduced.count;
    const bool starts_aligned = args->x_offset % lanes == 0;
    const bool rows_aligned = starts_aligned && cbk_ocl_axes_are_aligned(&args->kept, lanes);

    r->program.lanes = (uint32_t)lanes;
    r->program.has_index64 = cbk_ocl_axes_are_long(&args->kept) ||
                             cbk_ocl_axes_are_long(&args->reduced) ||
                             (r->stream->device->flags & CBK_INDEX_64) != 0;
    args->chunks = args->blocks_per_chunk = 1;
    if (length <= SHORT_LENGTH && !(is_run(r) && length > 16)) {
        r->entry = "reduce_short";
        r->groups = cbk_ocl_divide_up(args->kept.count, GROUP);
    } else if (is_run(r) && length % lanes == 0 && rows_aligned) {
        r->entry = "reduce_row";
        r->program.is_aligned = true;
        plan_rows(r, caps);
    } else if (!is_run(r) && has_columns(r, 16)) {
        struct cbk_ocl_axes outer = args->kept;
        outer.x[0] = 0;
        r->entry = "reduce_column";
        r->is_column = true;
        r->program.is_aligned = starts_aligned && cbk_ocl_axes_are_aligned(&outer, lanes) &&
                                cbk_ocl_axes_are_aligned(&args->reduced, lanes);
        args->chunks = block_count(r);
        r->groups = args->kept.count / args->kept.shape[0] * args->chunks *
                    cbk_ocl_divide_up(args->kept.shape[0], GROUP_COLUMNS);
    } else {
        r->entry = "reduce_any";
        plan_rows(r, caps);
    }
}

// ---- launches -----------------------------------------------------------------------------------

static cbk_status make_launch(struct reduction *r, const char *entry, int64_t groups,
                              struct cbk_rt_launch *launch) {
    struct cbk_rt_spec spec = make_spec(&r->program, entry);
    size_t local = r->program.is_gpu ? GROUP : 1;
    *launch = (struct cbk_rt_launch){.operation = reduce_ops[r->program.op].name,
                                     .dimensions = 1,
                                     .global = {(size_t)groups * local, 1, 1},
                                     .local = {local, 1, 1}};
    return cbk_rt_kernel(r->stream->rt, &spec, &launch->kernel);
}

static cbk_status launch_first(struct reduction *r, struct cbk_rt_block *partials) {
    struct cbk_rt_launch launch;
    cbk_status status = make_launch(r, r->entry, r->groups, &launch);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, r->x.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, r->y.block, CBK_RT_WRITE);
    cbk_rt_arg_block(&launch, partials != NULL ? partials : r->y.block, CBK_RT_WRITE);
    r->args.partials_offset = state_offset(r, partials);
    cbk_rt_arg_value(&launch, &r->args, sizeof r->args);
    return cbk_rt_launch(r->stream->rt, &launch);
}

/// Where the states of several chunks of each result are.
struct partials {
    struct cbk_rt_block *block;
    int64_t result_step, chunk_step, chunks;
};

/// One launch that joins chunks: into y, or, if there are too many of them, into `joined`.
static cbk_status launch_combine(struct reduction *r, const struct partials *from,
                                 struct cbk_rt_block *joined, int64_t groups, int32_t width,
                                 int32_t run) {
    struct cbk_rt_launch launch;
    struct reduce_args args = r->args;
    args.chunks = from->chunks;
    args.tail = run; // CPU form: results per work-item
    cbk_status status = make_launch(r, "reduce_combine", groups, &launch);
    if (status != CBK_OK) return status;
    struct cbk_rt_block *source = from->block ? from->block : r->y.block;
    struct cbk_rt_block *target = joined ? joined : r->y.block;
    args.partials_offset = state_offset(r, from->block);
    args.joined_offset = state_offset(r, joined);
    cbk_rt_arg_block(&launch, source, CBK_RT_READ);
    cbk_rt_arg_block(&launch, r->y.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    cbk_rt_arg_value(&launch, &from->result_step, sizeof from->result_step);
    cbk_rt_arg_value(&launch, &from->chunk_step, sizeof from->chunk_step);
    if (r->program.is_gpu) {
        cbk_rt_arg_block(&launch, target, CBK_RT_WRITE);
        cbk_rt_arg_value(&launch, &width, sizeof width);
        cbk_rt_arg_value(&launch, &run, sizeof run);
    }
    return cbk_rt_launch(r->stream->rt, &launch);
}

static cbk_status combine_cpu(struct reduction *r, const struct partials *from) {
    int64_t results = r->args.kept.count;
    int64_t useful = cbk_ocl_divide_up(results * (from->chunks + 1), 4096);
    int64_t items = cbk_ocl_clamp(useful, 1, 8 * (int64_t)r->stream->device->caps->compute_units);
    int64_t share = cbk_ocl_divide_up(results, items);
    return launch_combine(r, from, NULL, cbk_ocl_divide_up(results, share), 1, (int32_t)share);
}

/// Frees from->block on the way.
static cbk_status combine_gpu(struct reduction *r, struct partials *from) {
    struct cbk_rt_device *device = r->stream->device->rt;
    struct cbk_rt_block *joined = NULL;
    cbk_status status = CBK_OK;
    for (bool is_done = false; !is_done;) {
        int64_t results = r->args.kept.count;
        int64_t width = cbk_ocl_clamp(cbk_ocl_power_of_two(results), 1, 32), lanes = GROUP / width;
        int64_t run =
            cbk_ocl_clamp(cbk_ocl_power_of_two(cbk_ocl_divide_up(from->chunks, lanes)), 1, 16);
        int64_t places = cbk_ocl_clamp(cbk_ocl_divide_up(from->chunks, lanes * run), 1, INT64_MAX);
        is_done = places == 1;
        if (!is_done)
            RT_TRY(cbk_rt_alloc(r->stream->rt, (uint64_t)(places * results) * state_bytes(r),
                                &joined));
        RT_TRY(launch_combine(r, from, joined, cbk_ocl_divide_up(results, width) * places,
                              (int32_t)width, (int32_t)run));
        cbk_rt_free(device, &from->block);
        *from = (struct partials){joined, 1, results, places};
        joined = NULL;
    }
done:
    cbk_rt_free(device, &joined);
    return status;
}

static cbk_status combine(struct reduction *r, struct partials *from) {
    return r->program.is_gpu ? combine_gpu(r, from) : combine_cpu(r, from);
}

/// An empty reduction is a join of no chunks.
static cbk_status reduce_nothing(struct reduction *r, const struct cbk_rt_caps *caps) {
    struct partials none = {.block = NULL};
    r->program.lanes = r->program.is_gpu ? 4 : cpu_lanes(caps->float_lanes, r->program.accumulator);
    r->program.has_index64 = !r->program.is_gpu || cbk_ocl_axes_are_long(&r->args.kept);
    return combine(r, &none);
}

cbk_status cbk_ocl_reduce(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    struct reduction r = {.stream = stream,
                          .x = cbk_ocl_operand(op->inputs[0]),
                          .y = cbk_ocl_operand(op->outputs[0])};
    struct partials partials = {.block = NULL};
    cbk_status status = CBK_OK;

    r.program.op = LOW(op->opcode);
    r.program.x = r.x.meta->dtype;
    r.program.y = r.y.meta->dtype;
    r.program.accumulator = accumulator_of(&reduce_ops[r.program.op], r.program.x, r.program.y);
    r.program.is_gpu = !caps->is_cpu;
    r.args.x_offset = r.x.offset;
    r.args.y_offset = r.y.offset;
    split_axes(&r, op->params);
    if (reduce_ops[r.program.op].is_count && r.args.reduced.count > INT32_MAX)
        r.program.accumulator = CBK_DTYPE_I64;
    if (r.args.reduced.count == 0) return reduce_nothing(&r, caps);

    if (r.program.is_gpu)
        plan_gpu(&r, caps);
    else
        plan_cpu(&r, caps);
    const int64_t results = r.args.kept.count, chunks = r.args.chunks;
    if (chunks > 1)
        RT_TRY(cbk_rt_alloc(stream->rt, (uint64_t)(results * chunks) * state_bytes(&r),
                            &partials.block));
    RT_TRY(launch_first(&r, partials.block));
    if (chunks > 1) {
        partials.result_step = r.is_column ? 1 : chunks;
        partials.chunk_step = r.is_column ? results : 1;
        partials.chunks = chunks;
        RT_TRY(combine(&r, &partials));
    }
done:
    cbk_rt_free(stream->device->rt, &partials.block);
    return status;
}

// ---- the list of all programs -------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
    struct program program;
};

static void visit_forms(struct visit *visit) {
    struct program *program = &visit->program;
    program->is_gpu = program->is_aligned = false;
    program->has_index64 = true;
    const uint32_t float_lanes[] = {4, 8, 16};
    for (size_t i = 0; i < 3; i++) {
        program->lanes = cpu_lanes(float_lanes[i], program->accumulator);
        struct cbk_rt_spec spec = make_spec(program, "reduce_row");
        visit->visit(visit->user_data, &spec);
    }
    program->is_gpu = true;
    program->lanes = 4;
    for (int form = 0; form < 4; form++) {
        program->is_aligned = (form & 1) != 0;
        program->has_index64 = (form & 2) != 0;
        struct cbk_rt_spec spec = make_spec(program, "reduce_row");
        visit->visit(visit->user_data, &spec);
    }
}

static void visit_dtype(void *context, cbk_dtype dtype) {
    struct visit *visit = context;
    const struct reduce_op *op = &reduce_ops[visit->program.op];
    visit->program.x = dtype;
    visit->program.y = op->is_arg || op->is_count ? CBK_DTYPE_I64
                       : op->is_truth             ? CBK_DTYPE_BOOL
                                                  : dtype;
    visit->program.accumulator = accumulator_of(op, dtype, visit->program.y);
    visit_forms(visit);
    if (!op->is_count) return;
    visit->program.accumulator = CBK_DTYPE_I64;
    visit_forms(visit);
}

void cbk_ocl_reduce_programs(cbk_ocl_program_visitor visit, void *user_data) {
    for (uint32_t op = 0; op < REDUCE_OPS; op++) {
        if (reduce_ops[op].name == NULL) continue;
        struct visit context = {visit, user_data, {.op = op}};
        cbk_ocl_each_row_dtype(CBK_FAMILY_REDUCE << 8 | op, visit_dtype, &context);
    }
}
