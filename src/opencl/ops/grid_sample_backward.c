/// grid_sample_backward.c: launches of kernels/grid_sample_backward.cl.
#include "grid_sample.h"
#include "pointwise.h"
#include "sort.h"

#include <string.h>

enum { GROUP = 256, CHANNELS = 8, ITEMS_PER_CORE = 16 };

// ---- programs -----------------------------------------------------------------------------------

struct program {
    cbk_dtype dtype, key;
    bool has_index64;
};

static cbk_dtype accumulator_of(cbk_dtype dtype) {
    return dtype == CBK_DTYPE_F64 ? CBK_DTYPE_F64 : CBK_DTYPE_F32;
}

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DX=%s -DACC=%s -DK=%s -DINDEX=%s",
                    cbk_ocl_dtype_word(program->dtype),
                    cbk_ocl_dtype_word(accumulator_of(program->dtype)),
                    cbk_ocl_dtype_word(program->key), program->has_index64 ? "long" : "int");
}

static struct cbk_rt_spec make_spec(const struct program *program, const char *entry) {
    const cbk_dtype dtype = program->dtype == CBK_DTYPE_FLEX32 ? CBK_DTYPE_F32 : program->dtype;
    return (struct cbk_rt_spec){
        .source = &cbk_kernel_grid_sample_backward,
        .entry = entry,
        .key = {dtype | (uint64_t)program->key << 8 | (uint64_t)program->has_index64 << 16, 0},
        .describe = describe,
        .context = program};
}

// ---- one gradient -------------------------------------------------------------------------------

/// As in the kernel.
struct tap_args {
    int64_t keys, order, weights;
    int64_t taps, count, no_place, places_per_item;
};

struct gradient {
    struct cbk_ocl_stream *stream;
    const char *operation;
    struct program program;
    struct cbk_ocl_operand x, grid, y; ///< x: it, or its gradient
    struct cbk_ocl_sample_args args;
    struct tap_args taps;
};

static struct gradient make_gradient(struct cbk_ocl_stream *stream, const cbk_op *op,
                                     const cbk_tensor *x) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    const int64_t taps[] = {
        [CBK_SAMPLE_BILINEAR] = 4, [CBK_SAMPLE_NEAREST] = 1, [CBK_SAMPLE_BICUBIC] = 16};
    const cbk_grid_sample_params *params = op->params;
    struct gradient gradient = {.stream = stream,
                                .operation = cbk_op_info_of(op->opcode)->name,
                                .x = cbk_ocl_operand(x),
                                .grid = cbk_ocl_operand(op->inputs[1]),
                                .y = cbk_ocl_operand(op->inputs[2])};
    gradient.args = cbk_ocl_sample_args(&gradient.x, &gradient.grid, &gradient.y, params);
    struct tap_args *of = &gradient.taps;
    of->taps = taps[params->mode];
    of->count = gradient.args.positions * of->taps;
    of->no_place = gradient.x.meta->shape[0] * gradient.args.height * gradient.args.width;
    const bool is_large = of->count > INT32_MAX / 2 || of->no_place > INT32_MAX / 2 ||
                          (stream->device->flags & CBK_INDEX_64) != 0;
    gradient.program = (struct program){.dtype = gradient.x.meta->dtype,
                                        .key = is_large ? CBK_DTYPE_U64 : CBK_DTYPE_U32,
                                        .has_index64 = caps->is_cpu || is_large ||
                                                       cbk_ocl_sample_is_long(gradient.x.meta) ||
                                                       cbk_ocl_sample_is_long(gradient.grid.meta) ||
                                                       cbk_ocl_sample_is_long(gradient.y.meta) ||
                                                       (stream->device->flags & CBK_INDEX_64) != 0};
    return gradient;
}

static cbk_status begin(const struct gradient *gradient, const char *entry, int64_t items,
                        struct cbk_rt_launch *launch) {
    const size_t local = gradient->stream->device->caps->is_cpu ? 1 : GROUP;
    const struct cbk_rt_spec spec = make_spec(&gradient->program, entry);
    *launch = (struct cbk_rt_launch){.operation = gradient->operation,
                                     .dimensions = 1,
                                     .global = {cbk_ocl_round_up((size_t)items, local), 1, 1},
                                     .local = {local, 1, 1}};
    return cbk_rt_kernel(gradient->stream->rt, &spec, &launch->kernel);
}

// ---- of x ---------------------------------------------------------------------------------------

/// Per tap: its key, keys and taps in the order of the keys, its weight.
struct taps {
    struct cbk_rt_block *keys, *sorted, *order, *weights;
};

static cbk_status write_taps(struct gradient *gradient, const struct taps *taps) {
    struct cbk_rt_launch launch;
    cbk_status status = begin(gradient, "sample_taps", gradient->args.positions, &launch);
    if (status != CBK_OK) return status;
    gradient->taps.keys = cbk_ocl_span(taps->keys, gradient->program.key).offset;
    cbk_rt_arg_block(&launch, gradient->grid.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, taps->keys, CBK_RT_WRITE);
    cbk_rt_arg_block(&launch, taps->weights, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &gradient->args, sizeof gradient->args);
    cbk_rt_arg_value(&launch, &gradient->taps, sizeof gradient->taps);
    return cbk_rt_launch(gradient->stream->rt, &launch);
}

static uint32_t bits_of(int64_t value) {
    uint32_t bits = 0;
    for (; value >> bits != 0; bits++) {
    }
    return bits;
}

static cbk_status sort_taps(const struct gradient *gradient, const struct taps *taps) {
    const cbk_dtype key = gradient->program.key;
    const struct cbk_ocl_radix radix = {.stream = gradient->stream,
                                        .operation = gradient->operation,
                                        .dtype = key,
                                        .rows = 1,
                                        .length = gradient->taps.count,
                                        .key_bits = bits_of(gradient->taps.no_place),
                                        .in = cbk_ocl_span(taps->keys, key),
                                        .values = cbk_ocl_span(taps->sorted, key),
                                        .indices = cbk_ocl_span(taps->order, key),
                                        .index_dtype = key};
    return cbk_ocl_radix_sort(&radix);
}

static cbk_status add_up(struct gradient *gradient, const struct taps *taps) {
    const struct cbk_rt_caps *caps = gradient->stream->device->caps;
    struct tap_args *args = &gradient->taps;
    const int64_t blocks = cbk_ocl_divide_up(gradient->args.channels, CHANNELS);
    const int64_t shares =
        caps->is_cpu ? (int64_t)caps->compute_units * ITEMS_PER_CORE : args->no_place;
    struct cbk_rt_launch launch;
    args->places_per_item = cbk_ocl_divide_up(args->no_place, shares);
    args->keys = cbk_ocl_span(taps->sorted, gradient->program.key).offset;
    args->order = cbk_ocl_span(taps->order, gradient->program.key).offset;
    cbk_status status =
        begin(gradient, "sample_x",
              blocks * cbk_ocl_divide_up(args->no_place, args->places_per_item), &launch);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, gradient->y.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, gradient->x.block, CBK_RT_WRITE);
    cbk_rt_arg_block(&launch, taps->sorted, CBK_RT_READ);
    cbk_rt_arg_block(&launch, taps->order, CBK_RT_READ);
    cbk_rt_arg_block(&launch, taps->weights, CBK_RT_READ);
    cbk_rt_arg_value(&launch, &gradient->args, sizeof gradient->args);
    cbk_rt_arg_value(&launch, args, sizeof *args);
    return cbk_rt_launch(gradient->stream->rt, &launch);
}

cbk_status cbk_ocl_grid_sample_x_backward(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct gradient gradient = make_gradient(stream, op, op->outputs[0]);
    struct cbk_rt_device *device = stream->device->rt;
    const uint64_t count = (uint64_t)gradient.taps.count;
    const cbk_dtype accumulator = accumulator_of(gradient.program.dtype);
    const uint64_t key_bytes = count * cbk_dtype_size(gradient.program.key);
    struct taps taps = {NULL, NULL, NULL, NULL};
    cbk_status status = CBK_OK;
    if (count == 0) return cbk_ocl_fill(stream, cbk_i(0), &gradient.x);
    RT_TRY(cbk_rt_alloc(stream->rt, key_bytes, &taps.keys));
    RT_TRY(cbk_rt_alloc(stream->rt, key_bytes, &taps.sorted));
    RT_TRY(cbk_rt_alloc(stream->rt, key_bytes, &taps.order));
    RT_TRY(cbk_rt_alloc(stream->rt, count * cbk_dtype_size(accumulator), &taps.weights));
    gradient.taps.weights = cbk_ocl_span(taps.weights, accumulator).offset;
    RT_TRY(write_taps(&gradient, &taps));
    RT_TRY(sort_taps(&gradient, &taps));
    RT_TRY(add_up(&gradient, &taps));
done:
    cbk_rt_free(device, &taps.weights);
    cbk_rt_free(device, &taps.order);
    cbk_rt_free(device, &taps.sorted);
    cbk_rt_free(device, &taps.keys);
    return status;
}

// ---- of the grid --------------------------------------------------------------------------------

cbk_status cbk_ocl_grid_sample_grid_backward(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct gradient gradient = make_gradient(stream, op, op->inputs[0]);
    const struct cbk_ocl_operand out = cbk_ocl_operand(op->outputs[0]);
    struct cbk_rt_launch launch;
    if (gradient.args.channels == 0) return cbk_ocl_fill(stream, cbk_i(0), &out);
    gradient.program.has_index64 |= cbk_ocl_sample_is_long(out.meta);
    gradient.args.grid_gradient_offset = out.offset;
    memcpy(gradient.args.grid_gradient_strides, out.meta->strides,
           sizeof gradient.args.grid_gradient_strides);
    cbk_status status = begin(&gradient, "sample_grid", gradient.args.positions, &launch);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, gradient.x.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, gradient.grid.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, gradient.y.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, out.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &gradient.args, sizeof gradient.args);
    return cbk_rt_launch(stream->rt, &launch);
}

// ---- list of programs ---------------------------------------------------------------------------

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct cbk_ocl_row_visit *list = context;
    for (int i = 0; i < 3; i++) {
        const struct program program = {dtype, i == 2 ? CBK_DTYPE_U64 : CBK_DTYPE_U32, i > 0};
        const struct cbk_rt_spec spec = make_spec(&program, "sample_x");
        list->visit(list->user_data, &spec);
    }
}

void cbk_ocl_grid_sample_backward_programs(cbk_ocl_program_visitor visit, void *user_data) {
    struct cbk_ocl_row_visit context = {CBK_OP_GRID_SAMPLE_X_BACKWARD, visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_GRID_SAMPLE_X_BACKWARD, visit_dtype, &context);
}
