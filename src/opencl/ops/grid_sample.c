/// grid_sample.c: launches of kernels/grid_sample.cl.
#include "grid_sample.h"
#include "pointwise.h"

#include <string.h>

enum { GROUP = 256, POSITIONS_PER_BLOCK = 256, ITEMS_PER_CORE = 16 };

// ---- programs -----------------------------------------------------------------------------------

struct program {
    cbk_dtype dtype;
    bool has_index64;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DX=%s -DACC=%s -DINDEX=%s", cbk_ocl_dtype_word(program->dtype),
                    program->dtype == CBK_DTYPE_F64 ? "f64" : "f32",
                    program->has_index64 ? "long" : "int");
}

static struct cbk_rt_spec make_spec(const struct program *program) {
    const cbk_dtype dtype = program->dtype == CBK_DTYPE_FLEX32 ? CBK_DTYPE_F32 : program->dtype;
    return (struct cbk_rt_spec){.source = &cbk_kernel_grid_sample,
                                .entry = "grid_sample",
                                .key = {dtype | (uint64_t)program->has_index64 << 8, 0},
                                .describe = describe,
                                .context = program};
}

// ---- launch -------------------------------------------------------------------------------------

struct cbk_ocl_sample_args cbk_ocl_sample_args(const struct cbk_ocl_operand *x,
                                               const struct cbk_ocl_operand *grid,
                                               const struct cbk_ocl_operand *y,
                                               const cbk_grid_sample_params *params) {
    const int64_t *x_shape = x->meta->shape, *y_shape = y->meta->shape;
    struct cbk_ocl_sample_args args = {.x_offset = x->offset,
                                       .grid_offset = grid->offset,
                                       .y_offset = y->offset,
                                       .channels = x_shape[1],
                                       .height = x_shape[2],
                                       .width = x_shape[3],
                                       .positions = y_shape[0] * y_shape[2] * y_shape[3],
                                       .out_height = y_shape[2],
                                       .out_width = y_shape[3],
                                       .positions_per_item = 1,
                                       .mode = params->mode,
                                       .padding = params->padding,
                                       .align_corners = params->align_corners};
    memcpy(args.x_strides, x->meta->strides, sizeof args.x_strides);
    memcpy(args.grid_strides, grid->meta->strides, sizeof args.grid_strides);
    memcpy(args.y_strides, y->meta->strides, sizeof args.y_strides);
    return args;
}

bool cbk_ocl_sample_is_long(const cbk_tensor_meta *meta) {
    int64_t reach = 0;
    for (uint32_t i = 0; i < meta->rank; i++) {
        const int64_t step = meta->strides[i] < 0 ? -meta->strides[i] : meta->strides[i];
        reach += meta->shape[i] * step;
    }
    return reach > INT32_MAX / 2 || meta->element_count > INT32_MAX / 2;
}

cbk_status cbk_ocl_grid_sample(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    const struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]),
                                 grid = cbk_ocl_operand(op->inputs[1]),
                                 y = cbk_ocl_operand(op->outputs[0]);
    struct cbk_ocl_sample_args args = cbk_ocl_sample_args(&x, &grid, &y, op->params);
    const struct program program = {.dtype = x.meta->dtype,
                                    .has_index64 = caps->is_cpu || cbk_ocl_sample_is_long(x.meta) ||
                                                   cbk_ocl_sample_is_long(grid.meta) ||
                                                   cbk_ocl_sample_is_long(y.meta) ||
                                                   (stream->device->flags & CBK_INDEX_64) != 0};
    if (caps->is_cpu) {
        const int64_t useful = args.positions / POSITIONS_PER_BLOCK;
        const int64_t items =
            cbk_ocl_clamp(useful, 1, (int64_t)caps->compute_units * ITEMS_PER_CORE);
        args.positions_per_item = cbk_ocl_divide_up(args.positions, items);
    }
    const size_t items = (size_t)cbk_ocl_divide_up(args.positions, args.positions_per_item);
    const size_t local = caps->is_cpu ? 1 : GROUP;
    struct cbk_rt_launch launch = {.operation = "grid_sample",
                                   .dimensions = 1,
                                   .global = {cbk_ocl_round_up(items, local), 1, 1},
                                   .local = {local, 1, 1}};
    const struct cbk_rt_spec spec = make_spec(&program);
    cbk_status status = cbk_rt_kernel(stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, x.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, grid.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, y.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    return cbk_rt_launch(stream->rt, &launch);
}

// ---- list of programs ---------------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
};

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    for (int i = 0; i < 2; i++) {
        const struct program program = {dtype, i == 1};
        const struct cbk_rt_spec spec = make_spec(&program);
        visit->visit(visit->user_data, &spec);
    }
}

void cbk_ocl_grid_sample_programs(cbk_ocl_program_visitor visit, void *user_data) {
    struct visit context = {visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_GRID_SAMPLE, visit_dtype, &context);
    cbk_ocl_grid_sample_backward_programs(visit, user_data);
}
