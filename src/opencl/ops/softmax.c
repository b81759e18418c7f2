/// softmax.c: launches of kernels/softmax_cpu.cl and kernels/softmax_gpu.cl.
#include "axes.h"
#include "pointwise.h"

#define ROW 65536      ///< elements that the CPU form keeps of a row
#define TILE_ROWS 16   ///< most rows it brings in at a time
#define FEW_ROWS 32    ///< of a strided axis, which a CPU takes as they are
#define MANY (1 << 20) ///< elements from which on a strided axis is worth two transpositions

struct cpu_args {
    struct cbk_ocl_axes kept;
    int64_t length, x_stride, y_stride, x_offset, y_offset;
    int64_t tile_rows, rows_per_item, stream;
};

struct gpu_args {
    struct cbk_ocl_axes kept;
    int64_t length, x_stride, y_stride, x_offset, y_offset;
    int64_t items;
};

// ---- programs -----------------------------------------------------------------------------------

struct program {
    bool is_log, is_min, is_quiet, is_gpu, has_index64;
    cbk_dtype x;
    uint32_t lanes; ///< CPU form
    // GPU form
    bool is_nvidia, is_run;
    bool is_long;   ///< rows that registers do not hold
    bool has_group; ///< a row has the group of its own
    uint32_t group, quads;
};

static const char *arithmetic(cbk_dtype dtype) {
    return dtype == CBK_DTYPE_F64 ? "f64" : "f32";
}

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    const char *word = cbk_ocl_dtype_word(program->x);
    cbk_rt_text_add(defines, " -DX=%s -DACC=%s -DIS_LOG=%d -DSIGN=%s", word, arithmetic(program->x),
                    program->is_log, program->is_min ? "-" : "");
    if (program->is_quiet) cbk_rt_text_add(defines, " -DQUIET");
    if (!program->is_gpu) {
        cbk_rt_text_add(defines, " -DY=%s -DOP=op_sum -DW=%u -DINDEX=long", word,
                        (unsigned)program->lanes);
        return;
    }
    cbk_rt_text_add(defines, " -DW=4 -DGROUP=%u -DN=%u -DINDEX=%s", (unsigned)program->group,
                    (unsigned)program->quads, program->has_index64 ? "long" : "int");
    if (program->is_run) cbk_rt_text_add(defines, " -DRUN -DALIGNED");
    if (program->is_long) cbk_rt_text_add(defines, " -DLONG");
    if (program->has_group) cbk_rt_text_add(defines, " -DITEMS=GROUP");
    if (program->is_nvidia) cbk_rt_text_add(defines, " -DNVIDIA");
}

static struct cbk_rt_spec make_spec(const struct program *program, const char *entry) {
    uint64_t flags = (uint64_t)program->is_log | (uint64_t)program->is_run << 1 |
                     (uint64_t)program->has_index64 << 2 | (uint64_t)program->is_min << 3 |
                     (uint64_t)program->is_long << 4 | (uint64_t)program->has_group << 5 |
                     (uint64_t)program->is_nvidia << 6 | (uint64_t)program->is_quiet << 7;
    return (struct cbk_rt_spec){
        .source = program->is_gpu ? &cbk_kernel_softmax_gpu : &cbk_kernel_softmax_cpu,
        .entry = entry,
        .key = {(uint64_t)program->x | flags << 8 | (uint64_t)program->lanes << 16,
                (uint64_t)program->group | (uint64_t)program->quads << 32},
        .describe = describe,
        .context = program};
}

static uint32_t cpu_lanes(uint32_t float_lanes, cbk_dtype dtype) {
    uint32_t lanes = dtype == CBK_DTYPE_F64 ? float_lanes / 2 : float_lanes;
    return lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4;
}

// ---- rows ---------------------------------------------------------------------------------------

static cbk_status launch(struct cbk_ocl_stream *stream, const struct program *program,
                         const char *entry, int64_t groups, const struct cbk_ocl_operand *x,
                         const struct cbk_ocl_operand *y, const void *args, size_t args_size) {
    struct cbk_rt_spec spec = make_spec(program, entry);
    size_t local = program->is_gpu ? program->group : 1;
    struct cbk_rt_launch request = {.operation = program->is_log     ? "log_softmax"
                                                 : program->is_min   ? "softmin"
                                                 : program->is_quiet ? "quiet_softmax"
                                                                     : "softmax",
                                    .dimensions = 1,
                                    .global = {(size_t)groups * local, 1, 1},
                                    .local = {local, 1, 1}};
    cbk_status status = cbk_rt_kernel(stream->rt, &spec, &request.kernel);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&request, x->block, CBK_RT_READ);
    cbk_rt_arg_block(&request, y->block, CBK_RT_WRITE);
    cbk_rt_arg_value(&request, args, args_size);
    return cbk_rt_launch(stream->rt, &request);
}

// ---- CPU form -----------------------------------------------------------------------------------

static cbk_status softmax_cpu(struct cbk_ocl_stream *stream, struct program *program,
                              const struct cbk_ocl_operand *x, const struct cbk_ocl_operand *y,
                              uint32_t axis) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    struct cpu_args args = {.length = x->meta->shape[axis],
                            .x_stride = x->meta->strides[axis],
                            .y_stride = y->meta->strides[axis],
                            .x_offset = x->offset,
                            .y_offset = y->offset};
    cbk_ocl_axes_beside(x->meta, y->meta, axis, &args.kept);
    program->lanes = cpu_lanes(caps->float_lanes, program->x);

    bool interleaves = args.x_stride != 1 && args.kept.rank > 0 && args.length <= ROW;
    args.tile_rows = interleaves ? cbk_ocl_clamp(ROW / args.length, 1, TILE_ROWS) : 1;
    int64_t useful = cbk_ocl_divide_up(args.kept.count * args.length, 8192);
    int64_t items = cbk_ocl_clamp(useful, 1, 16 * (int64_t)caps->compute_units);
    int64_t share = cbk_ocl_divide_up(args.kept.count, items);
    args.rows_per_item = cbk_ocl_divide_up(share, args.tile_rows) * args.tile_rows;
    args.stream = cbk_ocl_is_streamed(args.kept.count * args.length, program->x);
    return launch(stream, program, "softmax_rows",
                  cbk_ocl_divide_up(args.kept.count, args.rows_per_item), x, y, &args, sizeof args);
}

// ---- GPU form -----------------------------------------------------------------------------------

/// Rows up to `length` elements are kept in registers by groups of `group` work-items.
struct shape {
    int64_t length;
    uint32_t group, quads;
};
/// Two groups of 512 with at most 64 registers, or more of 256, fill a multiprocessor.
/// A row that needs several wavefronts has a group of its own: its barriers stop no other row.
static const struct shape narrow_shapes[] = {
    {64, 256, 1}, {1024, 64, 4}, {2048, 128, 4}, {4096, 256, 4}, {16384, 512, 8}};
static const struct shape wide_shapes[] = {
    {64, 256, 1}, {512, 64, 2}, {1024, 128, 2}, {2048, 256, 2}, {8192, 512, 4}};
#define SHAPES 5
static const struct shape long_shape = {0, 256, 1};

/// NULL: no shape is long enough.
static const struct shape *find_shape(cbk_dtype dtype, int64_t length, uint32_t max_work_group) {
    const struct shape *shapes = dtype == CBK_DTYPE_F64 ? wide_shapes : narrow_shapes;
    for (int i = 0; i < SHAPES; i++)
        if (length <= shapes[i].length && shapes[i].group <= max_work_group) return &shapes[i];
    return NULL;
}

static cbk_status softmax_rows_gpu(struct cbk_ocl_stream *stream, struct program *program,
                                   const struct cbk_ocl_operand *x, const struct cbk_ocl_operand *y,
                                   uint32_t axis) {
    struct gpu_args args = {.length = x->meta->shape[axis],
                            .x_stride = x->meta->strides[axis],
                            .y_stride = y->meta->strides[axis],
                            .x_offset = x->offset,
                            .y_offset = y->offset};
    cbk_ocl_axes_beside(x->meta, y->meta, axis, &args.kept);
    struct cbk_ocl_axes whole = args.kept;
    if (whole.rank < CBK_MAX_RANK)
        cbk_ocl_axes_add(&whole, args.length, args.x_stride, args.y_stride);
    program->has_index64 =
        cbk_ocl_axes_are_long(&whole) || (stream->device->flags & CBK_INDEX_64) != 0;
    program->is_run = args.x_stride == 1 && args.y_stride == 1 && args.length % 4 == 0 &&
                      args.x_offset % 4 == 0 && args.y_offset % 4 == 0 &&
                      cbk_ocl_axes_are_aligned(&args.kept, 4) &&
                      cbk_ocl_axes_are_aligned_y(&args.kept, 4);
    const struct shape *shape =
        find_shape(program->x, args.length, stream->device->caps->max_work_group);
    program->is_nvidia = stream->device->caps->is_nvidia;
    program->is_long = shape == NULL;
    if (shape == NULL) shape = &long_shape;
    program->group = shape->group;
    program->quads = shape->quads;
    const int64_t share = cbk_ocl_divide_up(args.length, 4 * (int64_t)shape->quads);
    args.items = cbk_ocl_clamp(cbk_ocl_power_of_two(share), 1, shape->group);
    program->has_group = args.items == shape->group;
    return launch(stream, program, program->is_long ? "softmax_long" : "softmax_rows",
                  cbk_ocl_divide_up(args.kept.count, (int64_t)shape->group / args.items), x, y,
                  &args, sizeof args);
}

// ---- either -------------------------------------------------------------------------------------

static cbk_status softmax_rows(struct cbk_ocl_stream *stream, struct program *program,
                               const struct cbk_ocl_operand *x, const struct cbk_ocl_operand *y,
                               uint32_t axis) {
    return program->is_gpu ? softmax_rows_gpu(stream, program, x, y, axis)
                           : softmax_cpu(stream, program, x, y, axis);
}

/// Through dense temporaries whose last axis is the one in question.
static cbk_status softmax_transposed(struct cbk_ocl_stream *stream, struct program *program,
                                     const struct cbk_ocl_operand *x,
                                     const struct cbk_ocl_operand *y, uint32_t axis) {
    cbk_tensor_meta x_meta, y_meta, dense_meta, result_meta;
    struct cbk_ocl_operand source = *x, target = *y, dense = {.block = NULL},
                           result = {.block = NULL};
    cbk_status status = CBK_OK;
    cbk_ocl_move_last(x->meta, axis, &x_meta);
    cbk_ocl_move_last(y->meta, axis, &y_meta);
    source.meta = &x_meta;
    target.meta = &y_meta;
    RT_TRY(cbk_ocl_temporary(stream, &x_meta, &dense_meta, &dense));
    RT_TRY(cbk_ocl_copy(stream, &source, &dense));
    RT_TRY(cbk_ocl_temporary(stream, &y_meta, &result_meta, &result));
    RT_TRY(softmax_rows(stream, program, &dense, &result, x_meta.rank - 1));
    RT_TRY(cbk_ocl_copy(stream, &result, &target));
done:
    cbk_rt_free(stream->device->rt, &result.block);
    cbk_rt_free(stream->device->rt, &dense.block);
    return status;
}

cbk_status cbk_ocl_softmax(struct cbk_ocl_stream *stream, const cbk_op *op) {
    if (op->opcode == CBK_OP_SOFTMAX_BACKWARD || op->opcode == CBK_OP_LOG_SOFTMAX_BACKWARD)
        return cbk_ocl_softmax_backward(stream, op);
    const cbk_axis_params *params = op->params;
    struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]), y = cbk_ocl_operand(op->outputs[0]);
    struct program program = {.is_log = op->opcode == CBK_OP_LOG_SOFTMAX,
                              .is_min = op->opcode == CBK_OP_SOFTMIN,
                              .is_quiet = op->opcode == CBK_OP_QUIET_SOFTMAX,
                              .is_gpu = !stream->device->caps->is_cpu,
                              .x = x.meta->dtype};
    uint32_t axis = (uint32_t)params->axis;
    const int64_t length = x.meta->shape[axis], few = program.is_gpu ? 1 : FEW_ROWS;
    const bool is_strided = x.meta->strides[axis] != 1 && length > few;
    if (is_strided && x.meta->element_count >= MANY)
        return softmax_transposed(stream, &program, &x, &y, axis);
    return softmax_rows(stream, &program, &x, &y, axis);
}

// ---- the list of all programs -------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
    bool is_log, is_min, is_quiet;
};

static void visit_program(const struct visit *visit, struct program program) {
    program.is_log = visit->is_log;
    program.is_min = visit->is_min;
    program.is_quiet = visit->is_quiet;
    const char *entry = program.is_long ? "softmax_long" : "softmax_rows";
    const struct cbk_rt_spec spec = make_spec(&program, entry);
    visit->visit(visit->user_data, &spec);
}

static void visit_shape(const struct visit *visit, struct program program,
                        const struct shape *shape) {
    program.is_gpu = true;
    program.is_long = shape == &long_shape;
    program.group = shape->group;
    program.quads = shape->quads;
    program.has_group = shape->length > 64;
    for (int form = 0; form < 4; form++) {
        program.is_run = program.is_nvidia = (form & 1) != 0;
        program.has_index64 = (form & 2) != 0;
        visit_program(visit, program);
    }
}

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    const uint32_t float_lanes[] = {4, 8, 16};
    struct program program = {.x = dtype};
    for (size_t i = 0; i < sizeof float_lanes / sizeof *float_lanes; i++) {
        program.lanes = cpu_lanes(float_lanes[i], dtype);
        visit_program(visit, program);
    }
    program.lanes = 0;
    const struct shape *shapes = dtype == CBK_DTYPE_F64 ? wide_shapes : narrow_shapes;
    for (int i = 0; i < SHAPES; i++) visit_shape(visit, program, &shapes[i]);
    visit_shape(visit, program, &long_shape);
}

void cbk_ocl_softmax_programs(cbk_ocl_program_visitor visit, void *user_data) {
    static const cbk_opcode opcodes[] = {CBK_OP_SOFTMAX, CBK_OP_LOG_SOFTMAX, CBK_OP_SOFTMIN,
                                         CBK_OP_QUIET_SOFTMAX};
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++) {
        struct visit context = {visit, user_data, i == 1, i == 2, i == 3};
        cbk_ocl_each_row_dtype(opcodes[i], visit_dtype, &context);
    }
}
