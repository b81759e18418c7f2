/// reduce.c: launches of kernels/reduce_cpu.cl and kernels/reduce_gpu.cl.
///
/// The tree of a reduction is fixed by its length (kernels/include/reduce_ops.clh). Everything
/// decided here - which kernel, how many chunks - changes who does which part of that tree.
#include "reduce.h"

#include "merge.h"

#include <string.h>

#define BLOCK 1024 ///< elements of a block
#define GROUP CBK_OCL_REDUCE_GROUP
#define GROUP_BLOCKS 16
#define TILE_COLUMNS 512 ///< of reduce_column, CPU form
#define GROUP_COLUMNS 32 ///< of reduce_column, GPU form
#define SHORT_LENGTH 64

// ---- one reduction ------------------------------------------------------------------------------

/// What the kernels get; as in both texts, with `tail` in each one's meaning.
struct reduce_args {
    struct cbk_ocl_axes kept, reduced;
    int64_t x_offset, y_offset, z_offset, partials_offset, joined_offset;
    int64_t parameter;
    int64_t chunks;
    int64_t blocks_per_chunk;
    int64_t tail; ///< CPU: units per work-item; GPU: blocks per step
};

struct reduction {
    struct cbk_ocl_stream *stream;
    const char *name; ///< of the operation
    struct cbk_ocl_reduce_program program;
    struct cbk_ocl_operand x, y, z; ///< z: the second output, y again if there is none
    struct reduce_args args;
    const char *entry;
    int64_t groups; ///< of the first launch; CPU form: work-items
    bool is_column; ///< partials are [chunk][result], else [result][chunk]
};

/// Where a block of states starts in its buffer.
static int64_t state_offset(const struct reduction *r, const struct cbk_rt_block *block) {
    return block != NULL
               ? (int64_t)(cbk_rt_block_offset(block) / cbk_ocl_reduce_state_bytes(&r->program))
               : 0;
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
    if (cbk_ocl_reduce_is_order_free(r->program.kind, r->program.accumulator))
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

    r->program.lanes = cbk_ocl_reduce_lanes(caps->float_lanes, r->program.accumulator);
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
    r->program.group = caps->max_work_group >= 2 * GROUP ? 2 * GROUP : GROUP;
    r->program.has_group = args->tail == GROUP_BLOCKS;
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
    struct cbk_rt_spec spec = cbk_ocl_reduce_spec(&r->program, entry);
    size_t local = r->program.is_gpu ? cbk_ocl_reduce_group(&r->program, entry) : 1;
    *launch = (struct cbk_rt_launch){.operation = r->name,
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
    cbk_rt_arg_block(&launch, r->z.block, CBK_RT_WRITE);
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
    args.tail = run;               // CPU form: results per work-item
    r->program.is_aligned = false; // of no meaning here: one program
    cbk_status status = make_launch(r, "reduce_combine", groups, &launch);
    if (status != CBK_OK) return status;
    struct cbk_rt_block *source = from->block ? from->block : r->y.block;
    struct cbk_rt_block *target = joined ? joined : r->y.block;
    args.partials_offset = state_offset(r, from->block);
    args.joined_offset = state_offset(r, joined);
    cbk_rt_arg_block(&launch, source, CBK_RT_READ);
    cbk_rt_arg_block(&launch, r->y.block, CBK_RT_WRITE);
    cbk_rt_arg_block(&launch, r->z.block, CBK_RT_WRITE);
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
            cbk_ocl_clamp(cbk_ocl_power_of_two(cbk_ocl_divide_up(from->chunks, lanes)), 1, 64);
        int64_t places = cbk_ocl_clamp(cbk_ocl_divide_up(from->chunks, lanes * run), 1, INT64_MAX);
        is_done = places == 1;
        if (!is_done)
            RT_TRY(cbk_rt_alloc(
                r->stream->rt,
                (uint64_t)(places * results) * cbk_ocl_reduce_state_bytes(&r->program), &joined));
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

/// For a graph that makes one launch of many (merge.h).
static void note_launch(const struct reduction *r) {
    const struct cbk_ocl_reduce_kind *kind = cbk_ocl_reduce_kind(r->program.kind);
    const bool counts = strcmp(kind->term, "nonzero") == 0;
    const struct cbk_ocl_small_reduction small = {.name = kind->op,
                                                  .sort = kind->is_pair             ? "PAIR"
                                                          : kind->state_fields == 0 ? "PLACE"
                                                          : kind->is_truth          ? "TRUTH"
                                                          : counts                  ? "COUNT"
                                                                                    : "VALUE",
                                                  .is_pair = kind->is_pair,
                                                  .x = r->program.x,
                                                  .accumulator = r->program.accumulator,
                                                  .y = r->program.y,
                                                  .z = r->program.z,
                                                  .kept = r->args.kept,
                                                  .reduced = r->args.reduced,
                                                  .x_offset = r->args.x_offset,
                                                  .y_offset = r->args.y_offset,
                                                  .z_offset = r->args.z_offset};
    struct cbk_rt_block *const blocks[] = {r->y.block, r->x.block, r->z.block};
    if (kind->state_fields > 1 || strcmp(kind->term, "magnitude") == 0) return;
    cbk_ocl_note_small_reduction(r->stream, &small, blocks);
}

/// An empty reduction is a join of no chunks.
static cbk_status reduce_nothing(struct reduction *r, const struct cbk_rt_caps *caps) {
    struct partials none = {.block = NULL};
    r->program.lanes =
        r->program.is_gpu ? 4 : cbk_ocl_reduce_lanes(caps->float_lanes, r->program.accumulator);
    r->program.has_index64 = !r->program.is_gpu || cbk_ocl_axes_are_long(&r->args.kept);
    return combine(r, &none);
}

/// From the operands to the result.
static cbk_status reduce(struct reduction *r, const cbk_reduce_params *params) {
    const struct cbk_rt_caps *caps = r->stream->device->caps;
    struct partials partials = {.block = NULL};
    cbk_status status = CBK_OK;

    r->args.x_offset = r->x.offset;
    r->args.y_offset = r->y.offset;
    r->args.z_offset = r->z.offset;
    split_axes(r, params);
    if (r->program.kind == CBK_OCL_REDUCE_COUNT_NONZERO && r->args.reduced.count > INT32_MAX)
        r->program.accumulator = CBK_DTYPE_I64;
    if (r->args.reduced.count == 0) return reduce_nothing(r, caps);

    if (r->program.is_gpu)
        plan_gpu(r, caps);
    else
        plan_cpu(r, caps);
    const int64_t results = r->args.kept.count, chunks = r->args.chunks;
    if (chunks > 1)
        RT_TRY(cbk_rt_alloc(r->stream->rt,
                            (uint64_t)(results * chunks) * cbk_ocl_reduce_state_bytes(&r->program),
                            &partials.block));
    RT_TRY(launch_first(r, partials.block));
    if (chunks > 1) {
        partials.result_step = r->is_column ? 1 : chunks;
        partials.chunk_step = r->is_column ? results : 1;
        partials.chunks = chunks;
        RT_TRY(combine(r, &partials));
    } else if (cbk_rt_is_capturing(r->stream->rt)) {
        note_launch(r);
    }
done:
    cbk_rt_free(r->stream->device->rt, &partials.block);
    return status;
}

static bool has_same_strides(const cbk_tensor_meta *a, const cbk_tensor_meta *b) {
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->shape[i] != 1 && a->strides[i] != b->strides[i]) return false;
    return true;
}

/// The kernels walk both outputs by the same strides: here by those of dense temporaries.
static cbk_status reduce_apart(struct reduction *r, const cbk_reduce_params *params) {
    cbk_tensor_meta y_meta, z_meta;
    struct cbk_ocl_operand y = r->y, z = r->z;
    struct cbk_rt_device *device = r->stream->device->rt;
    cbk_status status = CBK_OK;
    r->y.block = r->z.block = NULL;
    RT_TRY(cbk_ocl_temporary(r->stream, y.meta, &y_meta, &r->y));
    RT_TRY(cbk_ocl_temporary(r->stream, z.meta, &z_meta, &r->z));
    RT_TRY(reduce(r, params));
    RT_TRY(cbk_ocl_copy(r->stream, &r->y, &y));
    RT_TRY(cbk_ocl_copy(r->stream, &r->z, &z));
done:
    cbk_rt_free(device, &r->z.block);
    cbk_rt_free(device, &r->y.block);
    return status;
}

cbk_status cbk_ocl_sum_first_axis(struct cbk_ocl_stream *stream, const char *name,
                                  const struct cbk_ocl_operand *x,
                                  const struct cbk_ocl_operand *y) {
    const cbk_reduce_params params = {.axis_count = 1, .drop_axes = 1};
    struct reduction r = {.stream = stream, .name = name, .x = *x, .y = *y, .z = *y};
    r.program.kind = CBK_OCL_REDUCE_SUM;
    r.program.x = x->meta->dtype;
    r.program.y = y->meta->dtype;
    r.program.accumulator =
        cbk_ocl_reduce_accumulator(CBK_OCL_REDUCE_SUM, r.program.x, r.program.y);
    r.program.is_gpu = !stream->device->caps->is_cpu;
    return reduce(&r, &params);
}

/// What kernels get of a variance's correction and a norm's exponent.
static int64_t parameter_of(const cbk_op *op, const struct cbk_ocl_reduce_program *program) {
    int64_t bits = 0;
    if (program->kind == CBK_OCL_REDUCE_NORM_P) {
        const double p = ((const cbk_norm_params *)op->params)->p.v.f;
        const float narrow = (float)p;
        uint32_t low = 0;
        memcpy(&low, &narrow, sizeof low);
        bits = low;
        if (program->accumulator == CBK_DTYPE_F64) memcpy(&bits, &p, sizeof bits);
    } else if (op->opcode >= CBK_OP_VAR && op->opcode <= CBK_OP_VAR_MEAN) {
        bits = ((const cbk_variance_params *)op->params)->correction;
    }
    return bits;
}

cbk_status cbk_ocl_reduce(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const bool is_pair = op->output_count == 2;
    struct reduction r = {.stream = stream,
                          .name = cbk_op_info_of(op->opcode)->name,
                          .x = cbk_ocl_operand(op->inputs[0]),
                          .y = cbk_ocl_operand(op->outputs[0]),
                          .z = cbk_ocl_operand(op->outputs[is_pair ? 1 : 0])};
    const double p = op->opcode == CBK_OP_NORM ? ((const cbk_norm_params *)op->params)->p.v.f : 0;
    struct cbk_ocl_reduce_program *program = &r.program;
    program->kind = cbk_ocl_reduce_kind_of(op->opcode, p);
    program->x = r.x.meta->dtype;
    program->y = r.y.meta->dtype;
    program->z = is_pair ? r.z.meta->dtype : CBK_DTYPE_NONE;
    program->accumulator = cbk_ocl_reduce_accumulator(program->kind, program->x, program->y);
    program->is_gpu = !stream->device->caps->is_cpu;
    r.args.parameter = parameter_of(op, program);
    const cbk_reduce_params *params = op->params; // the params of all rows begin like these
    return has_same_strides(r.y.meta, r.z.meta) ? reduce(&r, params) : reduce_apart(&r, params);
}
