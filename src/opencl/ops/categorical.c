/// categorical.c: random_categorical: launches of kernels/categorical.cl.
#include "axes.h"
#include "pointwise.h"
#include "random.h"
#include "sort.h"

enum {
    GROUP = 256,     ///< work-items, GPU form
    LANES = 16,      ///< of them, for a chunk
    LANES_CPU = 8,   ///< positions that keys are made for at once, CPU form
    CHUNK = 64,      ///< places
    FINE_CHUNK = 16, ///< for rows of many draws
    SHORT = 64,      ///< most places of a short row
    PART = 16384,
    MOST_PARTS = 256,
    GPU_BLOCK = 64, ///< chunks of a work-group
    CPU_BLOCK = 512
};

/// As in the kernel.
struct categorical_args {
    struct cbk_ocl_axes kept, y;
    int64_t x_offset, x_stride, y_offset;
    int64_t rows, length, count;
    int64_t parts, part_length;
    int64_t chunk_length, chunks, chunks_per_block, blocks;
    int64_t peaks, row_peaks, sums, before, keys;
    int64_t bits, is_logits;
    int64_t elements, turns;
    uint64_t position, stream_number, seed;
    int64_t start_offset;
};

// ---- programs -----------------------------------------------------------------------------------

struct program {
    cbk_dtype x, index;
    bool is_gpu;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DX=%s -DI=%s -DGROUP=%d -DLANES=%d -DINDEX=long",
                    cbk_ocl_dtype_word(program->x), cbk_ocl_dtype_word(program->index),
                    program->is_gpu ? GROUP : 1, program->is_gpu ? LANES : 1);
    if (!program->is_gpu) cbk_rt_text_add(defines, " -DW=%d", LANES_CPU);
}

static struct cbk_rt_spec make_spec(const struct program *program, const char *entry) {
    const cbk_dtype x = program->x == CBK_DTYPE_FLEX32 ? CBK_DTYPE_F32 : program->x;
    return (struct cbk_rt_spec){
        .source = &cbk_kernel_categorical,
        .entry = entry,
        .key = {x | (uint64_t)program->index << 8 | (uint64_t)program->is_gpu << 16, 0},
        .describe = describe,
        .context = program};
}

// ---- launches -----------------------------------------------------------------------------------

/// One operation.
struct draw {
    struct cbk_ocl_stream *stream;
    struct program program;
    struct cbk_ocl_operand x, y;
    struct categorical_args args;
    struct cbk_rt_block *peaks, *row_peaks, *sums, *before;
};

static cbk_status begin(const struct draw *draw, const char *entry, size_t groups,
                        struct cbk_rt_launch *launch) {
    const struct cbk_rt_spec spec = make_spec(&draw->program, entry);
    const size_t local = draw->program.is_gpu ? GROUP : 1;
    *launch = (struct cbk_rt_launch){.operation = "random_categorical",
                                     .dimensions = 1,
                                     .global = {groups * local, 1, 1},
                                     .local = {local, 1, 1}};
    return cbk_rt_kernel(draw->stream->rt, &spec, &launch->kernel);
}

/// For a launch over `elements`, which takes 64 random bits for each: two elements to a position. A
/// work-item takes `pairs_per_turn` positions at a time.
static cbk_status begin_elements(struct draw *draw, const char *entry, int64_t elements,
                                 int64_t pairs_per_turn, struct cbk_rt_launch *launch,
                                 struct cbk_ocl_positions *positions) {
    struct cbk_ocl_stream *stream = draw->stream;
    struct categorical_args *args = &draw->args;
    const int64_t pairs = cbk_ocl_divide_up(elements, 2),
                  units = (int64_t)stream->device->caps->compute_units;
    const int64_t most = draw->program.is_gpu ? 16 * units : 8 * units;
    const int64_t groups =
        cbk_ocl_clamp(cbk_ocl_divide_up(pairs, draw->program.is_gpu ? GROUP : 16), 1, most);
    const struct cbk_rt_spec spec = make_spec(&draw->program, entry);
    cbk_status status = begin(draw, entry, (size_t)groups, launch);
    if (status == CBK_OK)
        status = cbk_ocl_take_positions(stream, &spec, (uint64_t)pairs, positions);
    args->elements = elements;
    args->turns = cbk_ocl_divide_up(pairs, pairs_per_turn * (int64_t)launch->global[0]);
    args->position = positions->first;
    args->start_offset = positions->start_offset;
    return status;
}

static cbk_status draw_short(struct draw *draw) {
    struct cbk_rt_launch launch;
    struct cbk_ocl_positions positions;
    cbk_status status = begin_elements(draw, "categorical_short", draw->y.meta->element_count, 1,
                                       &launch, &positions);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, draw->x.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, draw->y.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &draw->args, sizeof draw->args);
    cbk_ocl_arg_start(&launch, &positions);
    return cbk_rt_launch(draw->stream->rt, &launch);
}

// ---- long rows ----------------------------------------------------------------------------------

static void plan(struct categorical_args *args, bool is_gpu) {
    const int64_t share = cbk_ocl_divide_up(args->length, MOST_PARTS);
    args->part_length = share > PART ? share : PART;
    args->parts = cbk_ocl_divide_up(args->length, args->part_length);
    args->chunk_length = args->count >= args->length / FINE_CHUNK ? FINE_CHUNK : CHUNK;
    args->chunks = cbk_ocl_divide_up(args->length, args->chunk_length);
    args->chunks_per_block = is_gpu ? GPU_BLOCK : CPU_BLOCK;
    args->blocks = cbk_ocl_divide_up(args->chunks, args->chunks_per_block);
}

static cbk_status launch_peaks(const struct draw *draw) {
    struct cbk_rt_launch launch;
    cbk_status status =
        begin(draw, "categorical_peaks", (size_t)(draw->args.rows * draw->args.parts), &launch);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, draw->x.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, draw->peaks, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &draw->args, sizeof draw->args);
    return cbk_rt_launch(draw->stream->rt, &launch);
}

static cbk_status launch_sums(const struct draw *draw) {
    struct cbk_rt_launch launch;
    cbk_status status =
        begin(draw, "categorical_sums", (size_t)(draw->args.rows * draw->args.blocks), &launch);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, draw->x.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, draw->peaks, CBK_RT_READ);
    cbk_rt_arg_block(&launch, draw->row_peaks, CBK_RT_WRITE);
    cbk_rt_arg_block(&launch, draw->sums, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &draw->args, sizeof draw->args);
    return cbk_rt_launch(draw->stream->rt, &launch);
}

static cbk_status launch_draw(struct draw *draw) {
    struct cbk_rt_launch launch;
    struct cbk_ocl_positions positions;
    cbk_status status = begin_elements(draw, "categorical_draw", draw->y.meta->element_count, 1,
                                       &launch, &positions);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, draw->x.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, draw->row_peaks, CBK_RT_READ);
    cbk_rt_arg_block(&launch, draw->sums, CBK_RT_READ);
    cbk_rt_arg_block(&launch, draw->before, CBK_RT_READ);
    cbk_rt_arg_block(&launch, draw->y.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &draw->args, sizeof draw->args);
    cbk_ocl_arg_start(&launch, &positions);
    return cbk_rt_launch(draw->stream->rt, &launch);
}

/// `count` numbers of 64 bits; *out_start is where they begin.
static cbk_status reserve(struct draw *draw, int64_t count, struct cbk_rt_block **out,
                          int64_t *out_start) {
    cbk_status status = cbk_rt_alloc(draw->stream->rt, (uint64_t)count * sizeof(uint64_t), out);
    if (status == CBK_OK) *out_start = cbk_ocl_span(*out, CBK_DTYPE_U64).offset;
    return status;
}

static cbk_status draw_long(struct draw *draw) {
    struct categorical_args *args = &draw->args;
    struct cbk_rt_device *device = draw->stream->device->rt;
    cbk_status status = CBK_OK;
    plan(args, draw->program.is_gpu);
    RT_TRY(reserve(draw, args->rows * args->parts, &draw->peaks, &args->peaks));
    RT_TRY(reserve(draw, args->rows, &draw->row_peaks, &args->row_peaks));
    RT_TRY(reserve(draw, args->rows * args->chunks, &draw->sums, &args->sums));
    RT_TRY(reserve(draw, args->rows * args->chunks, &draw->before, &args->before));
    RT_TRY(launch_peaks(draw));
    RT_TRY(launch_sums(draw));
    RT_TRY(cbk_ocl_scan_counts(draw->stream, CBK_DTYPE_U64, args->rows, args->chunks,
                               cbk_ocl_span(draw->sums, CBK_DTYPE_U64),
                               cbk_ocl_span(draw->before, CBK_DTYPE_U64)));
    RT_TRY(launch_draw(draw));
done:
    cbk_rt_free(device, &draw->before);
    cbk_rt_free(device, &draw->sums);
    cbk_rt_free(device, &draw->row_peaks);
    cbk_rt_free(device, &draw->peaks);
    return status;
}

// ---- without replacement ------------------------------------------------------------------------

static cbk_status launch_keys(struct draw *draw, struct cbk_rt_block *keys) {
    struct cbk_rt_launch launch;
    struct cbk_ocl_positions positions;
    cbk_status status = begin_elements(draw, "categorical_keys", draw->x.meta->element_count,
                                       draw->program.is_gpu ? 1 : LANES_CPU, &launch, &positions);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, draw->x.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, keys, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &draw->args, sizeof draw->args);
    cbk_ocl_arg_start(&launch, &positions);
    return cbk_rt_launch(draw->stream->rt, &launch);
}

/// The places of the greatest keys of each row to y.
static cbk_status take_greatest(const struct draw *draw, struct cbk_rt_block *keys) {
    struct cbk_ocl_stream *stream = draw->stream;
    const struct cbk_ocl_span none = {NULL, 0};
    const int64_t rows = draw->args.rows, length = draw->args.length;
    const cbk_tensor_meta meta = {.dtype = CBK_DTYPE_I64,
                                  .rank = 2,
                                  .element_count = rows * length,
                                  .shape = {rows, length},
                                  .strides = {length, 1}};
    const struct cbk_ocl_operand operand = {
        .meta = &meta, .block = keys, .offset = cbk_ocl_span(keys, CBK_DTYPE_I64).offset};
    const struct cbk_ocl_order order = {.stream = stream,
                                        .operation = "random_categorical",
                                        .x = &operand,
                                        .axis = 1,
                                        .keep = draw->args.count,
                                        .is_descending = true};
    const cbk_dtype index = draw->y.meta->dtype;
    struct cbk_ocl_operand dense = {.block = NULL};
    cbk_tensor_meta dense_meta;
    if (cbk_ocl_is_dense(draw->y.meta))
        return cbk_ocl_order_rows(&order, none,
                                  (struct cbk_ocl_span){draw->y.block, draw->y.offset}, index);
    cbk_status status = CBK_OK;
    RT_TRY(cbk_ocl_temporary(stream, draw->y.meta, &dense_meta, &dense));
    RT_TRY(
        cbk_ocl_order_rows(&order, none, (struct cbk_ocl_span){dense.block, dense.offset}, index));
    RT_TRY(cbk_ocl_copy(stream, &dense, &draw->y));
done:
    cbk_rt_free(stream->device->rt, &dense.block);
    return status;
}

static cbk_status draw_distinct(struct draw *draw) {
    struct cbk_rt_block *keys = NULL;
    cbk_status status = CBK_OK;
    RT_TRY(reserve(draw, draw->x.meta->element_count, &keys, &draw->args.keys));
    RT_TRY(launch_keys(draw, keys));
    RT_TRY(take_greatest(draw, keys));
done:
    cbk_rt_free(draw->stream->device->rt, &keys);
    return status;
}

// ---- the operation ------------------------------------------------------------------------------

/// Steps of up to 2^bits, twice that for the highest weight, whose sum over a row stays below 2^63.
static int64_t step_bits(int64_t length) {
    int64_t bits = 62;
    for (; (length - 1) >> (62 - bits) != 0; bits--) {
    }
    return bits;
}

cbk_status cbk_ocl_categorical(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_categorical_params *params = op->params;
    const cbk_random_state *state = cbk_ocl_random_state(stream);
    struct draw draw = {.stream = stream,
                        .x = cbk_ocl_operand(op->inputs[0]),
                        .y = cbk_ocl_operand(op->outputs[0])};
    const cbk_tensor_meta *x = draw.x.meta, *y = draw.y.meta;
    const uint32_t last = x->rank - 1;
    draw.program =
        (struct program){.x = x->dtype, .index = y->dtype, .is_gpu = !stream->device->caps->is_cpu};
    draw.args = (struct categorical_args){.x_offset = draw.x.offset,
                                          .x_stride = x->strides[last],
                                          .y_offset = draw.y.offset,
                                          .rows = x->element_count / x->shape[last],
                                          .length = x->shape[last],
                                          .count = params->count,
                                          .bits = step_bits(x->shape[last]),
                                          .is_logits = params->logits,
                                          .stream_number = state->stream_number,
                                          .seed = state->seed};
    cbk_ocl_axes_in_order(x, last, &draw.args.kept);
    cbk_ocl_axes_init(&draw.args.y);
    for (uint32_t i = y->rank; i-- > 0;)
        cbk_ocl_axes_add(&draw.args.y, y->shape[i], y->strides[i], y->strides[i]);
    if (params->distinct != 0) return draw_distinct(&draw);
    return x->shape[last] <= SHORT ? draw_short(&draw) : draw_long(&draw);
}

// ---- list of programs ---------------------------------------------------------------------------

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct cbk_ocl_row_visit *list = context;
    for (int form = 0; form < 2; form++) {
        const struct program program = {dtype, CBK_DTYPE_I64, form == 1};
        const struct cbk_rt_spec spec = make_spec(&program, "categorical_draw");
        list->visit(list->user_data, &spec);
    }
}

void cbk_ocl_categorical_programs(cbk_ocl_program_visitor visit, void *user_data) {
    struct cbk_ocl_row_visit context = {CBK_OP_RANDOM_CATEGORICAL, visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_RANDOM_CATEGORICAL, visit_dtype, &context);
}
