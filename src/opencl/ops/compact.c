/// compact.c: launches of kernels/compact.cl.
#include "mover.h"
#include "pointwise.h"

#define GROUP 256
#define TILE 4096       ///< positions that a group does at a time, GPU form
#define GPU_CHUNKS 2048 ///< most groups: each of them adds up the counts of all
#define CPU_CHUNK 16384 ///< positions that are worth a work-item

struct compact_args {
    struct cbk_ocl_axes axes;
    int64_t mask_offset, source_offset, out_offset, counts_offset, total_offset;
    int64_t row_step, column_step;
    int64_t length;
    int64_t chunk_length, chunks;
    uint64_t significant;
    int64_t total_size;
    int64_t columns, shape[CBK_MAX_RANK];
};

struct compaction {
    struct cbk_ocl_stream *stream;
    const char *operation;
    struct cbk_ocl_operand mask, source, out, total; ///< argwhere: the source is the mask
    bool is_select;
    struct compact_args args;
};

// ---- programs -----------------------------------------------------------------------------------

struct program {
    uint32_t mask_size, element_size; ///< bytes
    bool is_select, is_gpu, has_index64;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DM=%s -DE=%s -DSELECT=%d -DINDEX=%s%s",
                    cbk_ocl_bits_type(program->mask_size), cbk_ocl_bits_type(program->element_size),
                    (int)program->is_select, program->has_index64 ? "long" : "int",
                    program->is_gpu ? " -DGPU_FORM" : "");
}

static struct cbk_rt_spec make_spec(const struct program *program, const char *entry) {
    return (struct cbk_rt_spec){
        .source = &cbk_kernel_compact,
        .entry = entry,
        .key = {(uint64_t)program->mask_size | (uint64_t)program->element_size << 8 |
                    (uint64_t)program->is_select << 16 | (uint64_t)program->is_gpu << 17 |
                    (uint64_t)program->has_index64 << 18,
                0},
        .describe = describe,
        .context = program};
}

// ---- plan ---------------------------------------------------------------------------------------

/// A float is 0 whatever its sign.
static uint64_t significant_bits(cbk_dtype dtype) {
    uint32_t bits = 8 * cbk_dtype_size(dtype);
    return dtype < CBK_DTYPE_I64 ? ~(UINT64_C(1) << (bits - 1)) : ~UINT64_C(0);
}

/// Axes in row-major order: positions count along them.
static void set_axes(struct compaction *c) {
    const cbk_tensor_meta *mask = c->mask.meta, *source = c->source.meta;
    cbk_ocl_axes_init(&c->args.axes);
    for (uint32_t i = source->rank; i-- > 0;) {
        int64_t own = (int64_t)i + mask->rank - source->rank; // trailing axes are aligned
        int64_t step = own < 0 || mask->shape[own] == 1 ? 0 : mask->strides[own];
        cbk_ocl_axes_add(&c->args.axes, source->shape[i], step, source->strides[i]);
    }
    if (c->args.axes.rank == 0) { // one element
        c->args.axes.rank = 1;
        c->args.axes.shape[0] = c->args.axes.count;
        c->args.axes.x[0] = c->args.axes.y[0] = 1;
    }
}

static void set_result(struct compaction *c) {
    const cbk_tensor_meta *out = c->out.meta;
    c->args.length = out->element_count > 0 ? out->shape[0] : 0;
    c->args.row_step = out->strides[0];
    c->args.column_step = out->rank > 1 ? out->strides[1] : 0;
    c->args.out_offset = c->out.offset;
    c->args.total_offset = c->total.offset;
    c->args.total_size = cbk_dtype_size(c->total.meta->dtype);
    c->args.columns = c->is_select ? 1 : c->mask.meta->rank;
    for (uint32_t i = 0; i < c->args.columns; i++) c->args.shape[i] = c->mask.meta->shape[i];
}

static void set_chunks(struct compact_args *args, const struct cbk_rt_caps *caps) {
    const int64_t count = args->axes.count;
    int64_t most = caps->is_cpu ? 8 * (int64_t)caps->compute_units : GPU_CHUNKS;
    int64_t least = caps->is_cpu ? CPU_CHUNK : TILE;
    int64_t length = cbk_ocl_divide_up(count, most);
    args->chunk_length =
        cbk_ocl_divide_up(length > least ? length : least, least) * least; // in whole tiles
    args->chunks = count > 0 ? cbk_ocl_divide_up(count, args->chunk_length) : 1;
}

static bool needs_long(const struct compaction *c) {
    return c->stream->device->caps->is_cpu || cbk_ocl_axes_are_long(&c->args.axes) ||
           (c->stream->device->flags & CBK_INDEX_64) != 0;
}

// ---- launches -----------------------------------------------------------------------------------

static cbk_status make_launch(const struct compaction *c, const char *entry,
                              struct cbk_rt_launch *launch) {
    const bool is_gpu = !c->stream->device->caps->is_cpu;
    const struct program program = {.mask_size = cbk_dtype_size(c->mask.meta->dtype),
                                    .element_size = cbk_dtype_size(c->out.meta->dtype),
                                    .is_select = c->is_select,
                                    .is_gpu = is_gpu,
                                    .has_index64 = needs_long(c)};
    const struct cbk_rt_spec spec = make_spec(&program, entry);
    const size_t local = is_gpu ? GROUP : 1;
    *launch = (struct cbk_rt_launch){.operation = c->operation,
                                     .dimensions = 1,
                                     .global = {(size_t)c->args.chunks * local, 1, 1},
                                     .local = {local, 1, 1}};
    return cbk_rt_kernel(c->stream->rt, &spec, &launch->kernel);
}

/// Tensors without elements have no memory; then nothing of it is touched.
static void add_block(const struct compaction *c, struct cbk_rt_launch *launch,
                      struct cbk_rt_block *block, uint32_t access) {
    cbk_rt_arg_block(launch, block != NULL ? block : c->total.block, access);
}

static cbk_status launch_count(const struct compaction *c, struct cbk_rt_block *counts) {
    struct cbk_rt_launch launch;
    cbk_status status = make_launch(c, "compact_count", &launch);
    if (status != CBK_OK) return status;
    add_block(c, &launch, c->mask.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, counts, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &c->args, sizeof c->args);
    return cbk_rt_launch(c->stream->rt, &launch);
}

static cbk_status launch_write(const struct compaction *c, struct cbk_rt_block *counts) {
    struct cbk_rt_launch launch;
    cbk_status status = make_launch(c, "compact_write", &launch);
    if (status != CBK_OK) return status;
    add_block(c, &launch, c->mask.block, CBK_RT_READ);
    add_block(c, &launch, c->source.block, CBK_RT_READ);
    add_block(c, &launch, c->out.block, CBK_RT_WRITE);
    cbk_rt_arg_block(&launch, c->total.block, CBK_RT_WRITE);
    cbk_rt_arg_block(&launch, counts, CBK_RT_READ);
    cbk_rt_arg_value(&launch, &c->args, sizeof c->args);
    return cbk_rt_launch(c->stream->rt, &launch);
}

cbk_status cbk_ocl_compact(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const bool is_select = op->opcode == CBK_OP_MASK_SELECT;
    struct compaction c = {.stream = stream,
                           .operation = cbk_op_info_of(op->opcode)->name,
                           .is_select = is_select,
                           .source = cbk_ocl_operand(op->inputs[0]),
                           .mask = cbk_ocl_operand(op->inputs[is_select ? 1 : 0]),
                           .out = cbk_ocl_operand(op->outputs[0]),
                           .total = cbk_ocl_operand(op->outputs[1])};
    struct cbk_rt_block *counts = NULL;
    cbk_status status = CBK_OK;
    set_axes(&c);
    set_result(&c);
    set_chunks(&c.args, stream->device->caps);
    c.args.mask_offset = c.mask.offset;
    c.args.source_offset = c.source.offset;
    c.args.significant = significant_bits(c.mask.meta->dtype);
    RT_TRY(cbk_rt_alloc(stream->rt, (uint64_t)c.args.chunks * sizeof(uint32_t), &counts));
    c.args.counts_offset = (int64_t)(cbk_rt_block_offset(counts) / sizeof(uint32_t));
    RT_TRY(launch_count(&c, counts));
    RT_TRY(launch_write(&c, counts));
done:
    cbk_rt_free(stream->device->rt, &counts);
    return status;
}

// ---- the list of all programs -------------------------------------------------------------------

static void visit_sizes(cbk_ocl_program_visitor visit, void *user_data, bool is_select) {
    for (uint32_t mask = 1; mask <= 8; mask *= 2) {
        if (is_select && mask != 1 && mask != 4) continue; // bool, bool32
        for (uint32_t element = 1; element <= 8; element *= 2) {
            for (int form = 0; form < 3; form++) {
                const struct program program = {mask, element, is_select, form > 0, form != 1};
                const struct cbk_rt_spec spec = make_spec(&program, "compact_write");
                visit(user_data, &spec);
            }
        }
    }
}

void cbk_ocl_compact_programs(cbk_ocl_program_visitor visit, void *user_data) {
    visit_sizes(visit, user_data, false);
    visit_sizes(visit, user_data, true);
}
