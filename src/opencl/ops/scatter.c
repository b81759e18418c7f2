/// scatter.c: launches of kernels/scatter.cl.
#include "index.h"

#define GROUP 256
#define PIECE 1024       ///< neighbouring columns that a CPU work-item does at a time
#define GPU_OWNERS 16384 ///< work-items over which columns and ranges are spread
#define LEAST_RANGE 16   ///< places of the axis that are worth an owner of their own

struct scatter_args {
    struct cbk_ocl_index_axes axes;
    int64_t x_offset, index_offset, value_offset;
    int64_t x_step, index_step, value_step;
    int64_t length, positions;
    int64_t ranges, range_length;
    int64_t piece, units_per_item;
};

static const char *const updates[] = {
    [CBK_UPDATE_ASSIGN] = "assign", [CBK_UPDATE_ADD] = "add", [CBK_UPDATE_MUL] = "mul",
    [CBK_UPDATE_MIN] = "min",       [CBK_UPDATE_MAX] = "max",
};
#define UPDATES (sizeof updates / sizeof *updates)

// ---- programs ------------------------------------------------------------------------------------

struct program {
    uint32_t update;
    cbk_dtype x, value, index;
    uint32_t lanes; ///< CPU form
    bool is_gpu, has_index64;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DUPDATE=update_%s -DX=%s -DV=%s -DI=%s -DINDEX=%s",
                    updates[program->update], cbk_ocl_dtype_word(program->x),
                    cbk_ocl_dtype_word(program->value), cbk_ocl_dtype_word(program->index),
                    program->has_index64 ? "long" : "int");
    if (program->is_gpu)
        cbk_rt_text_add(defines, " -DGPU_FORM");
    else
        cbk_rt_text_add(defines, " -DW=%u", (unsigned)program->lanes);
}

static struct cbk_rt_spec make_spec(const struct program *program) {
    return (struct cbk_rt_spec){.source = &cbk_kernel_scatter,
                                .entry = "scatter",
                                .key = {(uint64_t)program->update | (uint64_t)program->x << 8 |
                                            (uint64_t)program->value << 16 |
                                            (uint64_t)program->index << 24,
                                        (uint64_t)program->lanes | (uint64_t)program->is_gpu << 8 |
                                            (uint64_t)program->has_index64 << 9},
                                .describe = describe,
                                .context = program};
}

static uint32_t cpu_lanes(uint32_t float_lanes, cbk_dtype dtype) {
    uint32_t lanes = cbk_dtype_size(dtype) == 8 ? float_lanes / 2 : float_lanes;
    return lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4;
}

// ---- launch --------------------------------------------------------------------------------------

static void set_ranges(struct scatter_args *args, int64_t wanted) {
    int64_t most = cbk_ocl_divide_up(args->length, LEAST_RANGE);
    args->ranges = cbk_ocl_clamp(wanted, 1, most < 1 ? 1 : most);
    args->range_length = cbk_ocl_divide_up(args->length, args->ranges);
    if (args->range_length > 0) args->ranges = cbk_ocl_divide_up(args->length, args->range_length);
}

/// Work-items. Each owner walks all positions of its columns, so there are no more of them than
/// keep the device busy.
static int64_t plan(const struct cbk_rt_caps *caps, bool is_gpu, struct scatter_args *args) {
    const struct cbk_ocl_index_axes *axes = &args->axes;
    if (is_gpu) {
        set_ranges(args, cbk_ocl_divide_up(GPU_OWNERS, axes->count));
        return (int64_t)cbk_ocl_round_up((size_t)(axes->count * args->ranges), GROUP);
    }
    int64_t inner = axes->rank > 0 ? axes->shape[0] : 1, busy = 4 * (int64_t)caps->compute_units;
    args->piece = inner < PIECE ? inner : PIECE;
    int64_t pieces = axes->count / inner * cbk_ocl_divide_up(inner, args->piece);
    bool is_large = axes->count * args->positions >= 8192;
    set_ranges(args, is_large ? cbk_ocl_divide_up(caps->compute_units, pieces) : 1);
    int64_t units = pieces * args->ranges;
    args->units_per_item = is_large ? cbk_ocl_divide_up(units, 4 * busy) : units;
    return cbk_ocl_divide_up(units, args->units_per_item);
}

cbk_status cbk_ocl_scatter(struct cbk_ocl_stream *stream, const struct cbk_ocl_indexing *indexing,
                           uint32_t update) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    const struct cbk_ocl_operand *x = &indexing->x, *value = &indexing->y;
    const uint32_t axis = indexing->axis;
    struct scatter_args args = {.x_offset = x->offset,
                                .index_offset = indexing->index.offset,
                                .value_offset = value->offset,
                                .x_step = x->meta->strides[axis],
                                .index_step = cbk_ocl_index_step(indexing),
                                .value_step = value->meta->strides[axis],
                                .length = x->meta->shape[axis],
                                .positions = value->meta->shape[axis]};
    cbk_ocl_index_axes(indexing, false, &args.axes);
    const bool is_move = update == CBK_UPDATE_ASSIGN;
    const cbk_dtype x_type = x->meta->dtype, value_type = value->meta->dtype;
    struct program program = {.update = update,
                              .x = is_move ? cbk_ocl_bits_dtype(x_type) : x_type,
                              .value = is_move ? cbk_ocl_bits_dtype(value_type) : value_type,
                              .index = indexing->index.meta->dtype,
                              .lanes = caps->is_cpu ? cpu_lanes(caps->float_lanes, x_type) : 0,
                              .is_gpu = !caps->is_cpu,
                              .has_index64 = caps->is_cpu || args.axes.count > INT32_MAX ||
                                             (stream->device->flags & CBK_INDEX_64) != 0};
    size_t local = program.is_gpu ? GROUP : 1;
    struct cbk_rt_launch launch = {.operation = indexing->operation,
                                   .dimensions = 1,
                                   .global = {(size_t)plan(caps, program.is_gpu, &args), 1, 1},
                                   .local = {local, 1, 1}};
    struct cbk_rt_spec spec = make_spec(&program);
    cbk_status status = cbk_rt_kernel(stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, x->block, CBK_RT_READ_WRITE);
    cbk_rt_arg_block(&launch, indexing->index.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, value->block, CBK_RT_READ);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    cbk_rt_arg_index_flag(stream->rt, &launch);
    return cbk_rt_launch(stream->rt, &launch);
}

// ---- the list of all programs ----------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
    struct program program;
};

static void visit_forms(const struct visit *visit, cbk_dtype x, cbk_dtype value) {
    const uint32_t float_lanes[] = {4, 8, 16};
    for (int form = 0; form < 5; form++) {
        struct program program = visit->program;
        program.x = x;
        program.value = value;
        program.is_gpu = form >= 3;
        program.has_index64 = form != 3;
        program.lanes = form < 3 ? cpu_lanes(float_lanes[form], x) : 0;
        struct cbk_rt_spec spec = make_spec(&program);
        visit->visit(visit->user_data, &spec);
    }
}

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    const uint32_t update = visit->program.update;
    const bool is_number =
        dtype < CBK_DTYPE_BOOL && dtype != CBK_DTYPE_F8E4M3 && dtype != CBK_DTYPE_F8E5M2;
    const bool is_wide = (dtype == CBK_DTYPE_F16 || dtype == CBK_DTYPE_BF16) &&
                         (update == CBK_UPDATE_ADD || update == CBK_UPDATE_MUL);
    if (update == CBK_UPDATE_ASSIGN)
        visit_forms(visit, cbk_ocl_bits_dtype(dtype), cbk_ocl_bits_dtype(dtype));
    else if (is_number)
        visit_forms(visit, is_wide ? CBK_DTYPE_F32 : dtype, dtype);
}

void cbk_ocl_scatter_programs(cbk_ocl_program_visitor visit, void *user_data) {
    for (uint32_t update = 0; update < UPDATES; update++) {
        // All indices with one update, one index with the others: the index is read in one place.
        const cbk_dtype *index = cbk_ocl_index_dtypes;
        do {
            struct visit context = {visit, user_data, {.update = update, .index = *index}};
            cbk_ocl_each_row_dtype(CBK_OP_SCATTER, visit_dtype, &context);
            index++;
        } while (update == CBK_UPDATE_ASSIGN && *index != CBK_DTYPE_NONE);
    }
}
