/// scatter.c: launches of kernels/scatter.cl.
#include "index.h"
#include "radix.h"

#define GROUP 256
#define PIECE 1024       ///< neighbouring columns that a CPU work-item does at a time
#define LINE 64          ///< bytes: columns with indices of their own are done by lines of a cache
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

// ---- programs -----------------------------------------------------------------------------------

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

static struct cbk_rt_spec make_spec(const struct program *program, const char *entry) {
    return (struct cbk_rt_spec){.source = &cbk_kernel_scatter,
                                .entry = entry,
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

// ---- walking the positions ----------------------------------------------------------------------

/// One update in place.
struct scatter {
    struct cbk_ocl_stream *stream;
    const struct cbk_ocl_indexing *indexing;
    struct scatter_args args;
    struct program program;
};

static void set_ranges(struct scatter_args *args, int64_t wanted) {
    int64_t most = cbk_ocl_divide_up(args->length, LEAST_RANGE);
    args->ranges = cbk_ocl_clamp(wanted, 1, most < 1 ? 1 : most);
    args->range_length = cbk_ocl_divide_up(args->length, args->ranges);
    if (args->range_length > 0) args->ranges = cbk_ocl_divide_up(args->length, args->range_length);
}

/// Work-items. Each owner walks all positions of its columns, so there are no more of them than
/// keep the device busy.
static int64_t plan(const struct cbk_rt_caps *caps, bool is_gpu, uint32_t element_size,
                    struct scatter_args *args) {
    const struct cbk_ocl_index_axes *axes = &args->axes;
    if (is_gpu) {
        set_ranges(args, cbk_ocl_divide_up(GPU_OWNERS, axes->count));
        return (int64_t)cbk_ocl_round_up((size_t)(axes->count * args->ranges), GROUP);
    }
    int64_t inner = axes->rank > 0 ? axes->shape[0] : 1, busy = 4 * (int64_t)caps->compute_units;
    int64_t most = axes->rank > 0 && axes->index[0] != 0 ? LINE / element_size : PIECE;
    args->piece = inner < most ? inner : most;
    int64_t pieces = axes->count / inner * cbk_ocl_divide_up(inner, args->piece);
    bool is_large = axes->count * args->positions >= 8192;
    set_ranges(args, is_large ? cbk_ocl_divide_up(caps->compute_units, pieces) : 1);
    int64_t units = pieces * args->ranges;
    args->units_per_item = is_large ? cbk_ocl_divide_up(units, 4 * busy) : units;
    return cbk_ocl_divide_up(units, args->units_per_item);
}

static cbk_status make_launch(const struct scatter *scatter, const struct cbk_rt_spec *spec,
                              int64_t items, struct cbk_rt_launch *launch) {
    size_t local = scatter->program.is_gpu ? GROUP : 1;
    *launch = (struct cbk_rt_launch){.operation = scatter->indexing->operation,
                                     .dimensions = 1,
                                     .global = {cbk_ocl_round_up((size_t)items, local), 1, 1},
                                     .local = {local, 1, 1}};
    return cbk_rt_kernel(scatter->stream->rt, spec, &launch->kernel);
}

static cbk_status walk(struct scatter *scatter) {
    const struct cbk_ocl_indexing *indexing = scatter->indexing;
    int64_t items = plan(scatter->stream->device->caps, scatter->program.is_gpu,
                         cbk_dtype_size(scatter->program.x), &scatter->args);
    struct cbk_rt_spec spec = make_spec(&scatter->program, "scatter");
    struct cbk_rt_launch launch;
    cbk_status status = make_launch(scatter, &spec, items, &launch);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, indexing->x.block, CBK_RT_READ_WRITE);
    cbk_rt_arg_block(&launch, indexing->index.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, indexing->y.block, CBK_RT_READ);
    cbk_rt_arg_value(&launch, &scatter->args, sizeof scatter->args);
    cbk_rt_arg_index_flag(scatter->stream->rt, &launch);
    return cbk_rt_launch(scatter->stream->rt, &launch);
}

// ---- sorting the positions ----------------------------------------------------------------------

#define SORT_FROM 64          ///< positions of a column that are worth a sort
#define SORT_LIMIT UINT32_MAX ///< keys and positions are 32 bits wide

/// As in kernels/scatter.cl.
struct sort_args {
    int64_t keys, positions, count, columns, no_place;
};

static bool wants_sort(const struct scatter *scatter, struct sort_args *sort) {
    const struct scatter_args *args = &scatter->args;
    sort->columns = scatter->indexing->is_per_slice ? 1 : args->axes.count;
    sort->count = args->positions * sort->columns;
    if (!scatter->program.is_gpu || args->positions < SORT_FROM) return false;
    if (sort->count >= (int64_t)SORT_LIMIT || args->length >= (int64_t)SORT_LIMIT / sort->columns)
        return false;
    sort->no_place = args->length * sort->columns;
    return true;
}

static cbk_status launch_begin(struct scatter *scatter, struct cbk_rt_block *keys,
                               const struct sort_args *sort) {
    struct cbk_rt_spec spec = make_spec(&scatter->program, "scatter_begin");
    struct cbk_rt_launch launch;
    cbk_status status = make_launch(scatter, &spec, sort->count, &launch);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, scatter->indexing->index.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, keys, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &scatter->args, sizeof scatter->args);
    cbk_rt_arg_value(&launch, sort, sizeof *sort);
    cbk_rt_arg_index_flag(scatter->stream->rt, &launch);
    return cbk_rt_launch(scatter->stream->rt, &launch);
}

static cbk_status launch_apply(struct scatter *scatter, struct cbk_rt_block *keys,
                               struct cbk_rt_block *positions, const struct sort_args *sort) {
    int64_t columns = sort->columns == 1 ? scatter->args.axes.count : 1;
    struct cbk_rt_spec spec = make_spec(&scatter->program, "scatter_apply");
    struct cbk_rt_launch launch;
    cbk_status status = make_launch(scatter, &spec, sort->count * columns, &launch);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, scatter->indexing->x.block, CBK_RT_READ_WRITE);
    cbk_rt_arg_block(&launch, scatter->indexing->y.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, keys, CBK_RT_READ);
    cbk_rt_arg_block(&launch, positions, CBK_RT_READ);
    cbk_rt_arg_value(&launch, &scatter->args, sizeof scatter->args);
    cbk_rt_arg_value(&launch, sort, sizeof *sort);
    return cbk_rt_launch(scatter->stream->rt, &launch);
}

static uint32_t bits_of(int64_t value) {
    uint32_t bits = 0;
    for (; value >> bits != 0; bits++) {
    }
    return bits;
}

static cbk_status sort_and_apply(struct scatter *scatter, struct sort_args *sort) {
    struct cbk_ocl_stream *stream = scatter->stream;
    struct cbk_rt_block *keys = NULL, *sorted = NULL, *positions = NULL;
    const uint64_t bytes = (uint64_t)sort->count * sizeof(uint32_t);
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_alloc(stream->rt, bytes, &keys));
    RT_TRY(cbk_rt_alloc(stream->rt, bytes, &sorted));
    RT_TRY(cbk_rt_alloc(stream->rt, bytes, &positions));
    const struct cbk_ocl_radix radix = {.stream = stream,
                                        .operation = scatter->indexing->operation,
                                        .dtype = CBK_DTYPE_U32,
                                        .rows = 1,
                                        .length = sort->count,
                                        .key_bits = bits_of(sort->no_place),
                                        .in = cbk_ocl_span(keys, CBK_DTYPE_U32),
                                        .values = cbk_ocl_span(sorted, CBK_DTYPE_U32),
                                        .indices = cbk_ocl_span(positions, CBK_DTYPE_U32),
                                        .index_dtype = CBK_DTYPE_U32};
    sort->keys = radix.in.offset;
    RT_TRY(launch_begin(scatter, keys, sort));
    RT_TRY(cbk_ocl_radix_sort(&radix));
    sort->keys = radix.values.offset;
    sort->positions = radix.indices.offset;
    RT_TRY(launch_apply(scatter, sorted, positions, sort));
done:
    cbk_rt_free(stream->device->rt, &positions);
    cbk_rt_free(stream->device->rt, &sorted);
    cbk_rt_free(stream->device->rt, &keys);
    return status;
}

// ---- either -------------------------------------------------------------------------------------

cbk_status cbk_ocl_scatter(struct cbk_ocl_stream *stream, const struct cbk_ocl_indexing *indexing,
                           uint32_t update, uint32_t flags) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    const cbk_tensor_meta *x = indexing->x.meta, *value = indexing->y.meta;
    const uint32_t axis = indexing->axis;
    const bool is_move = update == CBK_UPDATE_ASSIGN;
    struct scatter scatter = {
        .stream = stream,
        .indexing = indexing,
        .args = {.x_offset = indexing->x.offset,
                 .index_offset = indexing->index.offset,
                 .value_offset = indexing->y.offset,
                 .x_step = x->strides[axis],
                 .index_step = cbk_ocl_index_step(indexing),
                 .value_step = value->strides[axis],
                 .length = x->shape[axis],
                 .positions = value->shape[axis]},
        .program = {.update = update,
                    .x = is_move ? cbk_ocl_bits_dtype(x->dtype) : x->dtype,
                    .value = is_move ? cbk_ocl_bits_dtype(value->dtype) : value->dtype,
                    .index = indexing->index.meta->dtype,
                    .lanes = caps->is_cpu ? cpu_lanes(caps->float_lanes, x->dtype) : 0,
                    .is_gpu = !caps->is_cpu}};
    struct sort_args sort;
    if ((flags & CBK_INDEX_UNORDERED) != 0) {
        bool is_done;
        cbk_status status = cbk_ocl_scatter_atomic(stream, indexing, update, &is_done);
        if (status != CBK_OK || is_done) return status;
    }
    cbk_ocl_index_axes(indexing, false, &scatter.args.axes);
    scatter.program.has_index64 = caps->is_cpu || value->element_count > INT32_MAX - GROUP ||
                                  (stream->device->flags & CBK_INDEX_64) != 0;
    return wants_sort(&scatter, &sort) ? sort_and_apply(&scatter, &sort) : walk(&scatter);
}

// ---- the list of all programs -------------------------------------------------------------------

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
        struct cbk_rt_spec spec = make_spec(&program, "scatter");
        visit->visit(visit->user_data, &spec);
    }
}

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    const uint32_t update = visit->program.update;
    const bool is_number =
        dtype < CBK_DTYPE_BOOL && dtype != CBK_DTYPE_F8E4M3 && dtype != CBK_DTYPE_F8E5M2;
    const bool is_question = (dtype == CBK_DTYPE_BOOL || dtype == CBK_DTYPE_BOOL32) &&
                             (update == CBK_UPDATE_MIN || update == CBK_UPDATE_MAX);
    const bool is_wide = (dtype == CBK_DTYPE_F16 || dtype == CBK_DTYPE_BF16) &&
                         (update == CBK_UPDATE_ADD || update == CBK_UPDATE_MUL);
    if (update == CBK_UPDATE_ASSIGN)
        visit_forms(visit, cbk_ocl_bits_dtype(dtype), cbk_ocl_bits_dtype(dtype));
    else if (is_number || is_question)
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
