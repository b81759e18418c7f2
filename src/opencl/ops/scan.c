/// scan.c: launches of kernels/scan_cpu.cl and kernels/scan_gpu.cl.
///
/// The tree of a scan is fixed by positions within the axis (kernels/include/scan_ops.clh). What is
/// decided here - which kernel, how many work-items - changes who does which part of it.
#include "axes.h"
#include "pointwise.h"
#include "radix.h"

#define TILE 16384       ///< elements of a tile whose accumulators have 4 bytes; else half of it
#define STRIP 1024       ///< most columns of a strip, CPU form
#define LEAST_STRIP 16   ///< least of them that are worth it
#define GROUP_COLUMNS 32 ///< GPU form
#define COLUMN_GROUP 256 ///< work-items of its groups
#define MANY (1 << 20)   ///< elements from which on an awkward view is worth a dense copy
#define FEW 32           ///< elements of a row that are taken as they are

enum phase { PHASE_WHOLE, PHASE_TOTALS, PHASE_REST }; ///< as in the kernels

static const char *const scan_ops[] = {"sum", "prod", "max", "min", "logaddexp"};
static const char *const scan_names[] = {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"};
#define SCAN_OPS (sizeof scan_ops / sizeof *scan_ops)

// ---- programs -----------------------------------------------------------------------------------

struct program {
    uint32_t op; ///< low byte of the opcode
    cbk_dtype x, y, accumulator;
    bool is_gpu, is_run, has_index64;
    bool is_whole;         ///< GPU form, rows: a group has a tile, and all tiles are full
    uint32_t group, quads; ///< GPU form
};

static bool is_wide(const struct program *program) {
    return cbk_dtype_size(program->accumulator) == 8;
}

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DOP=op_%s -DX=%s -DY=%s -DY_CLASS=%s -DACC=%s -DW=%d -DINDEX=%s",
                    scan_ops[program->op], cbk_ocl_dtype_word(program->x),
                    cbk_ocl_dtype_word(program->y), cbk_ocl_class_word(program->y),
                    cbk_ocl_dtype_word(program->accumulator),
                    program->is_gpu    ? 4
                    : is_wide(program) ? 8
                                       : 16,
                    program->has_index64 ? "long" : "int");
    if (program->is_gpu)
        cbk_rt_text_add(defines, " -DGROUP=%u -DN=%u", (unsigned)program->group,
                        (unsigned)program->quads);
    if (program->is_run) cbk_rt_text_add(defines, " -DRUN -DALIGNED");
    if (program->is_whole) cbk_rt_text_add(defines, " -DWHOLE");
}

static struct cbk_rt_spec make_spec(const struct program *program, const char *entry) {
    uint64_t flags = (uint64_t)program->is_run | (uint64_t)program->has_index64 << 1 |
                     (uint64_t)program->is_whole << 2;
    return (struct cbk_rt_spec){
        .source = program->is_gpu ? &cbk_kernel_scan_gpu : &cbk_kernel_scan_cpu,
        .entry = entry,
        .key = {(uint64_t)program->op | (uint64_t)program->x << 8 | (uint64_t)program->y << 16 |
                    (uint64_t)program->accumulator << 24 | flags << 32,
                (uint64_t)program->group | (uint64_t)program->quads << 32},
        .describe = describe,
        .context = program};
}

// ---- one scan -----------------------------------------------------------------------------------

/// As in kernels/include/scan_ops.clh.
struct scan_args {
    struct cbk_ocl_axes kept;
    int64_t length, tiles, x_stride, y_stride, x_offset, y_offset, carry_offset;
    int64_t exclusive, phase, share, strip, stream;
};

struct scan {
    struct cbk_ocl_stream *stream;
    struct program program;
    struct cbk_rt_block *x, *y;
    struct scan_args args;
    bool is_column;
    int64_t groups; ///< of a launch that is not PHASE_WHOLE, too; CPU form: work-items
};

static bool is_run(int64_t stride) {
    return stride == 1 || stride == -1;
}

/// Quads along the axis start at multiples of 4 elements.
static bool starts_quads(int64_t offset, int64_t stride) {
    return stride > 0 ? offset % 4 == 0 : (offset + 1) % 4 == 0;
}

static void set_axis(struct scan *scan, const struct cbk_ocl_operand *x,
                     const struct cbk_ocl_operand *y, const cbk_scan_params *params) {
    struct scan_args *args = &scan->args;
    const uint32_t axis = (uint32_t)params->axis;
    scan->x = x->block;
    scan->y = y->block;
    cbk_ocl_axes_beside(x->meta, y->meta, axis, &args->kept);
    args->length = x->meta->shape[axis];
    args->x_stride = x->meta->strides[axis];
    args->y_stride = y->meta->strides[axis];
    args->x_offset = x->offset;
    args->y_offset = y->offset;
    args->exclusive = params->exclusive;
    if (!params->reversed) return;
    args->x_offset += (args->length - 1) * args->x_stride;
    args->y_offset += (args->length - 1) * args->y_stride;
    args->x_stride = -args->x_stride;
    args->y_stride = -args->y_stride;
}

// ---- which kernel, how much for a work-item -----------------------------------------------------

/// Tiles up to `length` elements are kept in registers by groups of `group` work-items.
struct shape {
    int64_t length;
    uint32_t group, quads;
};
/// Two groups of 512 with at most 64 registers, or more of 256, fill a multiprocessor. The last
/// ones are for devices with small groups.
static const struct shape narrow_shapes[] = {
    {64, 256, 1}, {4096, 256, 4}, {16384, 512, 8}, {16384, 256, 16}};
static const struct shape wide_shapes[] = {
    {64, 256, 1}, {2048, 256, 2}, {8192, 512, 4}, {8192, 256, 8}};
#define SHAPES 4

static const struct shape *find_shape(const struct scan *scan, int64_t length) {
    const struct shape *shapes = is_wide(&scan->program) ? wide_shapes : narrow_shapes;
    const uint32_t most = scan->stream->device->caps->max_work_group;
    int i = 0;
    while (i + 1 < SHAPES && (length > shapes[i].length || shapes[i].group > most)) i++;
    return &shapes[i];
}

static void plan_rows_gpu(struct scan *scan) {
    struct scan_args *args = &scan->args;
    const int64_t tile = is_wide(&scan->program) ? TILE / 2 : TILE;
    const int64_t length = args->length < tile ? args->length : tile;
    const struct shape *shape = find_shape(scan, length);
    scan->program.group = shape->group;
    scan->program.quads = shape->quads;
    args->share =
        cbk_ocl_clamp(cbk_ocl_power_of_two(cbk_ocl_divide_up(length, 4 * (int64_t)shape->quads)), 1,
                      shape->group);
    scan->groups = cbk_ocl_divide_up(args->kept.count * args->tiles, shape->group / args->share);
    scan->program.is_run = is_run(args->x_stride) && is_run(args->y_stride) &&
                           starts_quads(args->x_offset, args->x_stride) &&
                           starts_quads(args->y_offset, args->y_stride) &&
                           cbk_ocl_axes_are_aligned(&args->kept, 4) &&
                           cbk_ocl_axes_are_aligned_y(&args->kept, 4);
    scan->program.is_whole = scan->program.is_run && args->x_stride == 1 && args->y_stride == 1 &&
                             args->share == shape->group &&
                             args->length % (4 * args->share * (int64_t)shape->quads) == 0;
}

static void plan_gpu(struct scan *scan) {
    struct scan_args *args = &scan->args;
    struct cbk_ocl_axes whole = args->kept;
    if (whole.rank < CBK_MAX_RANK)
        cbk_ocl_axes_add(&whole, args->length, args->x_stride, args->y_stride);
    scan->program.has_index64 =
        cbk_ocl_axes_are_long(&whole) || (scan->stream->device->flags & CBK_INDEX_64) != 0;
    if (!scan->is_column) {
        plan_rows_gpu(scan);
        return;
    }
    scan->program.group = COLUMN_GROUP;
    scan->program.quads = 1;
    scan->groups = args->kept.count / args->kept.shape[0] * args->tiles *
                   cbk_ocl_divide_up(args->kept.shape[0], GROUP_COLUMNS);
}

static void plan_cpu(struct scan *scan, enum phase phase) {
    struct scan_args *args = &scan->args;
    const int64_t units = (int64_t)scan->stream->device->caps->compute_units;
    int64_t count = args->kept.count * (phase == PHASE_WHOLE ? 1 : args->tiles);
    scan->program.has_index64 = true;
    args->stream = cbk_ocl_is_streamed(args->kept.count * args->length, scan->program.y);
    if (scan->is_column) {
        const int64_t width = args->kept.shape[0], others = count / width;
        args->strip = STRIP;
        while (args->strip > LEAST_STRIP &&
               others * cbk_ocl_divide_up(width, args->strip) < 4 * units)
            args->strip /= 2;
        count = others * cbk_ocl_divide_up(width, args->strip);
    }
    int64_t useful = cbk_ocl_divide_up(args->kept.count * args->length, 8192);
    int64_t items = cbk_ocl_clamp(useful, 1, 16 * units);
    args->share = cbk_ocl_divide_up(count, items);
    scan->groups = cbk_ocl_divide_up(count, args->share);
}

/// Are tiles of a row work of their own?
static bool is_split(const struct scan *scan) {
    if (scan->args.tiles == 1) return false;
    return scan->program.is_gpu || scan->is_column ||
           scan->args.kept.count < (int64_t)scan->stream->device->caps->compute_units;
}

// ---- launches -----------------------------------------------------------------------------------

static cbk_status launch(struct scan *scan, enum phase phase, struct cbk_rt_block *carry) {
    struct scan_args *args = &scan->args;
    args->phase = phase;
    if (scan->program.is_gpu)
        plan_gpu(scan);
    else
        plan_cpu(scan, phase);
    const uint32_t size = cbk_dtype_size(scan->program.accumulator);
    args->carry_offset = carry != NULL ? (int64_t)(cbk_rt_block_offset(carry) / size) : 0;
    const size_t local = scan->program.is_gpu ? scan->program.group : 1;
    struct cbk_rt_spec spec =
        make_spec(&scan->program, scan->is_column ? "scan_columns" : "scan_rows");
    struct cbk_rt_launch request = {.operation = scan_names[scan->program.op],
                                    .dimensions = 1,
                                    .global = {(size_t)scan->groups * local, 1, 1},
                                    .local = {local, 1, 1}};
    cbk_status status = cbk_rt_kernel(scan->stream->rt, &spec, &request.kernel);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&request, scan->x, CBK_RT_READ);
    cbk_rt_arg_block(&request, scan->y, CBK_RT_WRITE);
    cbk_rt_arg_block(&request, carry != NULL ? carry : scan->y,
                     phase == PHASE_REST ? CBK_RT_READ : CBK_RT_WRITE);
    cbk_rt_arg_value(&request, args, sizeof *args);
    return cbk_rt_launch(scan->stream->rt, &request);
}

static cbk_status run(struct scan *scan);

/// Exclusive sums of dense rows.
static cbk_status scan_exclusive(struct cbk_ocl_stream *stream, const struct program *program,
                                 int64_t rows, int64_t length, struct cbk_ocl_span x,
                                 struct cbk_ocl_span y) {
    struct scan scan = {.stream = stream,
                        .program = *program,
                        .x = x.block,
                        .y = y.block,
                        .args = {.length = length,
                                 .x_stride = 1,
                                 .y_stride = 1,
                                 .x_offset = x.offset,
                                 .y_offset = y.offset,
                                 .exclusive = 1}};
    scan.program.x = scan.program.y = program->accumulator;
    cbk_ocl_axes_init(&scan.args.kept);
    cbk_ocl_axes_add(&scan.args.kept, rows, length, length);
    return run(&scan);
}

static cbk_status run(struct scan *scan) {
    const int64_t tile = is_wide(&scan->program) ? TILE / 2 : TILE;
    struct cbk_rt_block *totals = NULL, *before = NULL;
    cbk_status status = CBK_OK;
    scan->args.tiles = cbk_ocl_divide_up(scan->args.length, tile);
    if (!is_split(scan)) return launch(scan, PHASE_WHOLE, NULL);
    const uint64_t bytes = (uint64_t)(scan->args.kept.count * scan->args.tiles) *
                           cbk_dtype_size(scan->program.accumulator);
    RT_TRY(cbk_rt_alloc(scan->stream->rt, bytes, &totals));
    RT_TRY(launch(scan, PHASE_TOTALS, totals));
    RT_TRY(cbk_rt_alloc(scan->stream->rt, bytes, &before));
    RT_TRY(scan_exclusive(scan->stream, &scan->program, scan->args.kept.count, scan->args.tiles,
                          cbk_ocl_span(totals, scan->program.accumulator),
                          cbk_ocl_span(before, scan->program.accumulator)));
    RT_TRY(launch(scan, PHASE_REST, before));
done:
    cbk_rt_free(scan->stream->device->rt, &before);
    cbk_rt_free(scan->stream->device->rt, &totals);
    return status;
}

cbk_status cbk_ocl_scan_counts(struct cbk_ocl_stream *stream, cbk_dtype dtype, int64_t rows,
                               int64_t length, struct cbk_ocl_span counts,
                               struct cbk_ocl_span before) {
    const struct program program = {
        .op = CBK_OP_CUMSUM & 0xff, .accumulator = dtype, .is_gpu = !stream->device->caps->is_cpu};
    return scan_exclusive(stream, &program, rows, length, counts, before);
}

// ---- views that suit neither kernel -------------------------------------------------------------

/// Through dense temporaries whose last axis is the one in question.
static cbk_status scan_dense(struct scan *scan, const struct cbk_ocl_operand *x,
                             const struct cbk_ocl_operand *y, const cbk_scan_params *params) {
    struct cbk_ocl_stream *stream = scan->stream;
    cbk_tensor_meta x_meta, y_meta, dense_meta, result_meta;
    struct cbk_ocl_operand source = *x, target = *y, dense = {.block = NULL},
                           result = {.block = NULL};
    cbk_scan_params last = *params;
    cbk_status status = CBK_OK;
    cbk_ocl_move_last(x->meta, (uint32_t)params->axis, &x_meta);
    cbk_ocl_move_last(y->meta, (uint32_t)params->axis, &y_meta);
    source.meta = &x_meta;
    target.meta = &y_meta;
    last.axis = (int32_t)x_meta.rank - 1;
    const bool copies_x = !is_run(x_meta.strides[last.axis]);
    const bool copies_y = !is_run(y_meta.strides[last.axis]);
    if (copies_x) {
        RT_TRY(cbk_ocl_temporary(stream, &x_meta, &dense_meta, &dense));
        RT_TRY(cbk_ocl_copy(stream, &source, &dense));
    }
    if (copies_y) RT_TRY(cbk_ocl_temporary(stream, &y_meta, &result_meta, &result));
    set_axis(scan, copies_x ? &dense : &source, copies_y ? &result : &target, &last);
    RT_TRY(run(scan));
    if (copies_y) RT_TRY(cbk_ocl_copy(stream, &result, &target));
done:
    cbk_rt_free(stream->device->rt, &result.block);
    cbk_rt_free(stream->device->rt, &dense.block);
    return status;
}

cbk_status cbk_ocl_scan(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_scan_params *params = op->params;
    struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]), y = cbk_ocl_operand(op->outputs[0]);
    struct scan scan = {
        .stream = stream,
        .program = {.op = op->opcode & 0xff,
                    .x = x.meta->dtype,
                    .y = y.meta->dtype,
                    .accumulator = cbk_ocl_accumulator(x.meta->dtype, y.meta->dtype),
                    .is_gpu = !stream->device->caps->is_cpu}};
    set_axis(&scan, &x, &y, params);
    const struct scan_args *args = &scan.args;
    const bool is_rows = is_run(args->x_stride) && is_run(args->y_stride);
    scan.is_column = !is_rows && args->kept.rank > 0 && args->kept.x[0] == 1 &&
                     args->kept.y[0] == 1 && args->kept.shape[0] >= LEAST_STRIP;
    const bool is_awkward = !is_rows && !scan.is_column && args->length > FEW;
    if (is_awkward && x.meta->element_count >= MANY) return scan_dense(&scan, &x, &y, params);
    return run(&scan);
}

// ---- the list of all programs -------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
    uint32_t op;
};

static void visit_program(const struct visit *visit, const struct program *program) {
    struct cbk_rt_spec spec = make_spec(program, "scan_rows");
    visit->visit(visit->user_data, &spec);
}

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    struct program program = {.op = visit->op,
                              .x = dtype,
                              .y = dtype,
                              .accumulator = cbk_ocl_accumulator(dtype, dtype),
                              .has_index64 = true};
    visit_program(visit, &program);
    program.is_gpu = true;
    const struct shape *shapes = is_wide(&program) ? wide_shapes : narrow_shapes;
    for (int i = 0; i < SHAPES; i++) {
        program.group = shapes[i].group;
        program.quads = shapes[i].quads;
        for (int form = 0; form < 6; form++) {
            program.is_run = form / 2 > 0;
            program.is_whole = form / 2 > 1;
            program.has_index64 = form % 2 > 0;
            visit_program(visit, &program);
        }
    }
}

void cbk_ocl_scan_programs(cbk_ocl_program_visitor visit, void *user_data) {
    for (uint32_t op = 0; op < SCAN_OPS; op++) {
        struct visit context = {visit, user_data, op};
        cbk_ocl_each_row_dtype(CBK_FAMILY_SCAN << 8 | op, visit_dtype, &context);
    }
}
