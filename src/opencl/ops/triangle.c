/// triangle.c: tril and triu (kernels/triangle.cl).
#include "axes.h"
#include "matrix.h"

enum { GROUP = 256, BLOCK_ELEMENTS = 4096, ITEMS_PER_CORE = 16 };

/// As in triangle.cl.
struct triangle_args {
    struct cbk_ocl_axes matrices;
    int64_t x_offset, y_offset;
    int64_t rows, columns;
    int64_t x_row, x_column, y_row, y_column;
    int64_t offset;
    int64_t lines_per_item;
};

// ---- programs ------------------------------------------------------------------------------------

struct program {
    uint32_t element_size; ///< 1, 2, 4, 8
    uint32_t lanes;        ///< V
    bool is_upper, is_gpu, has_index64;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    static const char *const types[] = {"", "uchar", "ushort", "", "uint", "", "", "", "ulong"};
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DE=%s -DV=%u -DINDEX=%s%s%s", types[program->element_size],
                    (unsigned)program->lanes, program->has_index64 ? "long" : "int",
                    program->is_upper ? " -DUPPER" : "", program->is_gpu ? " -DGPU_FORM" : "");
}

static struct cbk_rt_spec make_spec(const struct program *program) {
    return (struct cbk_rt_spec){
        .source = &cbk_kernel_triangle,
        .entry = "triangle",
        .key = {(uint64_t)program->element_size | (uint64_t)program->lanes << 8 |
                    (uint64_t)program->is_upper << 16 | (uint64_t)program->is_gpu << 17 |
                    (uint64_t)program->has_index64 << 18,
                0},
        .describe = describe,
        .context = program};
}

// ---- launch --------------------------------------------------------------------------------------

static struct triangle_args make_args(const struct cbk_ocl_operand *x,
                                      const struct cbk_ocl_operand *y, int64_t offset) {
    const cbk_tensor_meta *from = x->meta, *to = y->meta;
    const uint32_t row = from->rank - 2, column = from->rank - 1;
    struct triangle_args args = {.x_offset = x->offset,
                                 .y_offset = y->offset,
                                 .rows = from->shape[row],
                                 .columns = from->shape[column],
                                 .x_row = from->strides[row],
                                 .x_column = from->strides[column],
                                 .y_row = to->strides[row],
                                 .y_column = to->strides[column],
                                 .offset = offset};
    cbk_ocl_axes_init(&args.matrices);
    for (uint32_t i = row; i-- > 0;)
        cbk_ocl_axes_add(&args.matrices, from->shape[i], from->strides[i], to->strides[i]);
    // Far outside, every diagonal is the same; sums with row numbers stay in range.
    args.offset = cbk_ocl_clamp(offset, -args.rows - 1, args.columns + 1);
    return args;
}

/// Do all lines start where vectors of `lanes` are aligned, and lie element by element?
static bool can_widen(const struct triangle_args *args, int64_t lanes) {
    return args->x_column == 1 && args->y_column == 1 && args->columns % lanes == 0 &&
           args->x_offset % lanes == 0 && args->y_offset % lanes == 0 && args->x_row % lanes == 0 &&
           args->y_row % lanes == 0 && cbk_ocl_axes_are_aligned(&args->matrices, lanes) &&
           cbk_ocl_axes_are_aligned_y(&args->matrices, lanes);
}

/// Do counts or offsets within the tensors not fit 31 bits?
static bool is_long(const struct triangle_args *args) {
    struct cbk_ocl_axes all = args->matrices;
    cbk_ocl_axes_add(&all, args->rows, args->x_row, args->y_row);
    if (all.rank == CBK_MAX_RANK) return true;
    cbk_ocl_axes_add(&all, args->columns, args->x_column, args->y_column);
    return cbk_ocl_axes_are_long(&all);
}

/// Work-items.
static size_t plan(const struct cbk_rt_caps *caps, uint32_t lanes, struct triangle_args *args) {
    const int64_t lines = args->matrices.count * args->rows;
    if (!caps->is_cpu) return cbk_ocl_round_up((size_t)(lines * (args->columns / lanes)), GROUP);
    const int64_t most = (int64_t)caps->compute_units * ITEMS_PER_CORE;
    const int64_t items = cbk_ocl_clamp(lines * args->columns / BLOCK_ELEMENTS, 1, most);
    args->lines_per_item = cbk_ocl_divide_up(lines, items);
    return (size_t)cbk_ocl_divide_up(lines, args->lines_per_item);
}

cbk_status cbk_ocl_triangle(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    const struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]);
    const struct cbk_ocl_operand y = cbk_ocl_operand(op->outputs[0]);
    struct triangle_args args = make_args(&x, &y, ((const cbk_offset_params *)op->params)->offset);
    struct program program = {.element_size = cbk_dtype_size(x.meta->dtype),
                              .lanes = 1,
                              .is_upper = op->opcode == CBK_OP_TRIU,
                              .is_gpu = !caps->is_cpu,
                              .has_index64 = caps->is_cpu || is_long(&args) ||
                                             (stream->device->flags & CBK_INDEX_64) != 0};
    if (program.is_gpu && can_widen(&args, 16 / program.element_size))
        program.lanes = 16 / program.element_size;
    struct cbk_rt_launch launch = {.operation = program.is_upper ? "triu" : "tril",
                                   .dimensions = 1,
                                   .global = {plan(caps, program.lanes, &args), 1, 1},
                                   .local = {program.is_gpu ? GROUP : 1, 1, 1}};
    struct cbk_rt_spec spec = make_spec(&program);
    cbk_status status = cbk_rt_kernel(stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, x.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, y.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    return cbk_rt_launch(stream->rt, &launch);
}

// ---- list of programs ----------------------------------------------------------------------------

void cbk_ocl_triangle_programs(cbk_ocl_program_visitor visit, void *user_data) {
    for (uint32_t size = 1; size <= 8; size *= 2) {
        for (uint32_t i = 0; i < 8; i++) {
            // CPU, and GPU by elements and by vectors, the latter with both index types.
            const bool is_gpu = i % 4 != 0;
            struct program program = {.element_size = size,
                                      .lanes = i % 4 >= 2 ? 16 / size : 1,
                                      .is_upper = i >= 4,
                                      .is_gpu = is_gpu,
                                      .has_index64 = !is_gpu || i % 4 == 3};
            struct cbk_rt_spec spec = make_spec(&program);
            visit(user_data, &spec);
        }
    }
}
