/// random.c: launches of kernels/random.cl; the numbers are those of docs/numerics.md.
#include "axes.h"
#include "pointwise.h"
#include "random.h"

#include <math.h>

struct random_args {
    struct cbk_ocl_axes y;
    int64_t y_offset, count;
    uint64_t position, stream_number, seed;
    uint64_t parameters[3];
    int64_t runs_per_item;
    int64_t is_dense;
    int64_t start_offset;
    int64_t stream;
};

static const char *const draws[] = {"uniform", "normal", "bernoulli", "integer"};
static const char *const operations[] = {"random_uniform", "random_normal", "random_bernoulli",
                                         "random_integer"};
#define LOW(opcode) ((opcode)&0xff)
#define GROUP 256          // as in random.cl
#define POSITIONS 8        // of a work-item at a time, as in random.cl
#define GROUPS_PER_UNIT 64 // at most, for each compute unit; a group takes several turns then

// ---- programs -----------------------------------------------------------------------------------

struct program {
    uint32_t draw; ///< low byte of the opcode
    cbk_dtype y;
    uint32_t lanes;
    bool is_gpu, is_aligned, has_index64;
    bool is_tiny; ///< uniform: the span
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DDRAW=draw_%s -DY=%s -DW=%u -DINDEX=%s", draws[program->draw],
                    cbk_ocl_dtype_word(program->y), (unsigned)program->lanes,
                    program->has_index64 ? "long" : "int");
    if (program->is_gpu) cbk_rt_text_add(defines, " -DGPU_FORM");
    if (program->is_aligned) cbk_rt_text_add(defines, " -DALIGNED");
    if (program->is_tiny) cbk_rt_text_add(defines, " -DTINY_SPAN");
}

static struct cbk_rt_spec make_spec(const struct program *program) {
    uint64_t flags = (uint64_t)program->is_gpu | (uint64_t)program->is_aligned << 1 |
                     (uint64_t)program->has_index64 << 2 | (uint64_t)program->is_tiny << 3;
    return (struct cbk_rt_spec){.source = &cbk_kernel_random,
                                .entry = "random_fill",
                                .key = {(uint64_t)program->draw | (uint64_t)program->y << 8,
                                        (uint64_t)program->lanes | flags << 8},
                                .describe = describe,
                                .context = program};
}

static uint32_t cpu_lanes(const struct cbk_rt_caps *caps, cbk_dtype y) {
    uint32_t lanes = cbk_dtype_size(y) == 8 ? caps->float_lanes / 2 : caps->float_lanes;
    return lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4;
}

// ---- parameters ---------------------------------------------------------------------------------

static uint64_t float_bits(double value, cbk_dtype dtype) {
    union {
        double real;
        uint64_t bits;
    } wide = {.real = value};
    union {
        float real;
        uint32_t bits;
    } narrow = {.real = (float)value};
    return dtype == CBK_DTYPE_F64 ? wide.bits : narrow.bits;
}

static double float_value(uint64_t bits, cbk_dtype dtype) {
    union {
        uint64_t bits;
        double real;
    } wide = {.bits = bits};
    union {
        uint32_t bits;
        float real;
    } narrow = {.bits = (uint32_t)bits};
    return dtype == CBK_DTYPE_F64 ? wide.real : (double)narrow.real;
}

/// The largest number of the dtype below `value`, which is one of its numbers.
static double below(double value, cbk_dtype dtype) {
    if (dtype == CBK_DTYPE_F64) return nextafter(value, -INFINITY);
    if (isinf(value)) return dtype == CBK_DTYPE_F16 ? 65504.0 : nextafterf((float)value, 0.0f);
    int mantissa_bits = dtype == CBK_DTYPE_F16 ? 10 : dtype == CBK_DTYPE_BF16 ? 7 : 23;
    int least = (dtype == CBK_DTYPE_F16 ? -14 : -126) - mantissa_bits;
    int exponent;
    bool is_power = frexp(value, &exponent) == 0.5; // below it the numbers are twice as dense
    int step = exponent - 1 - mantissa_bits - (is_power ? 1 : 0);
    return value - ldexp(1.0, value == 0.0 || step < least ? least : step);
}

/// *out_is_tiny: the span of a uniform draw is so small that a step of it would not be exact.
static cbk_status set_real(const cbk_random_params *params, cbk_opcode opcode, cbk_dtype dtype,
                           uint64_t out[3], bool *out_is_tiny) {
    cbk_status status = cbk_ocl_scalar(params->a, dtype, &out[0]);
    if (status == CBK_OK) status = cbk_ocl_scalar(params->b, dtype, &out[1]);
    if (status != CBK_OK || opcode != CBK_OP_RANDOM_UNIFORM) return status;
    double low = float_value(out[0], dtype), high = float_value(out[1], dtype);
    double limit = below(high, dtype);
    const bool is_wide = dtype == CBK_DTYPE_F64;
    const double span = is_wide ? high - low : (double)((float)high - (float)low);
    *out_is_tiny = fabs(span) < (is_wide ? 0x1p-980 : 0x1p-100);
    out[1] = float_bits(*out_is_tiny ? span : span * (is_wide ? 0x1p-32 : 0x1p-24), dtype);
    out[2] = float_bits(limit > low ? limit : low, dtype);
    return CBK_OK;
}

static cbk_status set_parameters(const cbk_op *op, cbk_dtype dtype, uint64_t out[3],
                                 bool *out_is_tiny) {
    const cbk_random_params *params = op->params;
    cbk_status status;
    switch (op->opcode) {
    case CBK_OP_RANDOM_BERNOULLI: {
        uint64_t bits;
        status = cbk_ocl_scalar(params->a, CBK_DTYPE_F64, &bits);
        if (status == CBK_OK) out[0] = (uint64_t)floor(float_value(bits, CBK_DTYPE_F64) * 0x1p32);
        return status;
    }
    case CBK_OP_RANDOM_INTEGER:
        status = cbk_ocl_scalar(params->a, CBK_DTYPE_I64, &out[0]);
        if (status == CBK_OK) status = cbk_ocl_scalar(params->b, CBK_DTYPE_I64, &out[1]);
        out[1] -= out[0];
        return status;
    default:
        return set_real(params, op->opcode, dtype, out, out_is_tiny);
    }
}

// ---- launch -------------------------------------------------------------------------------------

cbk_random_state *cbk_ocl_random_state(struct cbk_ocl_stream *stream) {
    cbk_random_state *state = &stream->random;
    struct cbk_ocl_device *device = stream->device;
    const uint64_t generation = atomic_load(&device->seed_generation);
    if (state->struct_size == 0 || stream->seed_generation != generation) {
        stream->seed_generation = generation;
        *state = CBK_INIT(cbk_random_state, .seed = atomic_load(&device->seed),
                          .stream_number = stream->number);
    }
    return state;
}

/// Records the launch that stores what the draws of the graph count from.
static cbk_status record_start(struct cbk_ocl_stream *stream, const struct cbk_rt_spec *draw) {
    const struct cbk_ocl_random_start start = {0};
    struct cbk_rt_block *block = NULL;
    struct cbk_rt_spec spec = *draw;
    struct cbk_rt_launch launch = {
        .operation = "random_start", .dimensions = 1, .global = {1, 1, 1}, .local = {1, 1, 1}};
    cbk_status status = CBK_OK;
    spec.entry = "random_start";
    RT_TRY(cbk_rt_kernel(stream->rt, &spec, &launch.kernel));
    RT_TRY(cbk_rt_alloc(stream->rt, sizeof start, &block));
    cbk_rt_arg_block(&launch, block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &start, sizeof start); // CBK_OCL_RANDOM_START_ARG
    const int64_t offset = (int64_t)(cbk_rt_block_offset(block) / sizeof start);
    cbk_rt_arg_value(&launch, &offset, sizeof offset);
    RT_TRY(cbk_rt_launch(stream->rt, &launch));
    stream->draws.start_node = cbk_rt_recorded_count(stream->rt) - 1;
    stream->draws.start = block;
    block = NULL;
done:
    cbk_rt_free(stream->device->rt, &block);
    return status;
}

cbk_status cbk_ocl_take_positions(struct cbk_ocl_stream *stream, const struct cbk_rt_spec *draw,
                                  uint64_t count, struct cbk_ocl_positions *out) {
    cbk_status status = CBK_OK;
    *out = (struct cbk_ocl_positions){.start = NULL};
    if (cbk_rt_is_capturing(stream->rt)) {
        if (stream->draws.start == NULL) RT_TRY(record_start(stream, draw));
        out->first = stream->draws.position_count;
        stream->draws.position_count += count;
        out->start = stream->draws.start;
        out->start_offset =
            (int64_t)(cbk_rt_block_offset(out->start) / sizeof(struct cbk_ocl_random_start));
    } else {
        out->first = stream->random.position;
        stream->random.position += count;
    }
done:
    return status;
}

void cbk_ocl_arg_start(struct cbk_rt_launch *launch, const struct cbk_ocl_positions *positions) {
    static const void *const no_buffer = NULL;
    if (positions->start != NULL)
        cbk_rt_arg_block(launch, positions->start, CBK_RT_READ);
    else
        cbk_rt_arg_value(launch, &no_buffer, sizeof no_buffer);
}

static void set_output(const struct cbk_ocl_operand *y, struct random_args *args) {
    cbk_ocl_axes_init(&args->y);
    for (uint32_t i = y->meta->rank; i-- > 0;)
        cbk_ocl_axes_add(&args->y, y->meta->shape[i], y->meta->strides[i], y->meta->strides[i]);
    args->count = y->meta->element_count;
    args->y_offset = y->offset;
    args->is_dense = args->y.rank == 0 || (args->y.rank == 1 && args->y.y[0] == 1);
}

/// Work-items; the CPU form gives each of them several runs.
static int64_t plan(const struct cbk_rt_caps *caps, const struct program *program,
                    struct random_args *args) {
    int64_t positions = cbk_ocl_divide_up(args->count, 4);
    if (program->is_gpu) {
        int64_t groups = cbk_ocl_divide_up(positions, GROUP * POSITIONS);
        return GROUP * cbk_ocl_clamp(groups, 1, GROUPS_PER_UNIT * (int64_t)caps->compute_units);
    }
    int64_t runs = cbk_ocl_divide_up(positions, program->lanes);
    int64_t items = cbk_ocl_clamp(args->count / 4096, 1, 8 * (int64_t)caps->compute_units);
    args->runs_per_item = cbk_ocl_divide_up(runs, items);
    return cbk_ocl_divide_up(runs, args->runs_per_item);
}

cbk_status cbk_ocl_random(struct cbk_ocl_stream *stream, const cbk_op *op) {
    if (op->opcode == CBK_OP_RANDOM_CATEGORICAL) return cbk_ocl_categorical(stream, op);
    const struct cbk_rt_caps *caps = stream->device->caps;
    struct cbk_ocl_operand y = cbk_ocl_operand(op->outputs[0]);
    const cbk_random_state *state = cbk_ocl_random_state(stream);
    struct random_args args = {.stream_number = state->stream_number, .seed = state->seed};
    struct program program = {.draw = LOW(op->opcode), .y = y.meta->dtype, .is_gpu = !caps->is_cpu};
    cbk_status status = set_parameters(op, y.meta->dtype, args.parameters, &program.is_tiny);
    if (status != CBK_OK) return status;

    set_output(&y, &args);
    program.lanes = program.is_gpu ? 4 : cpu_lanes(caps, program.y);
    program.is_aligned = program.is_gpu && args.y_offset % 4 == 0;
    program.has_index64 = !program.is_gpu || cbk_ocl_axes_are_long(&args.y) ||
                          (stream->device->flags & CBK_INDEX_64) != 0;
    args.stream = cbk_ocl_is_streamed(args.count, program.y);
    size_t items = (size_t)plan(caps, &program, &args), local = program.is_gpu ? GROUP : 1;
    struct cbk_rt_launch launch = {.operation = operations[program.draw],
                                   .dimensions = 1,
                                   .global = {items, 1, 1},
                                   .local = {local, 1, 1}};
    struct cbk_rt_spec spec = make_spec(&program);
    struct cbk_ocl_positions positions;
    RT_TRY(cbk_rt_kernel(stream->rt, &spec, &launch.kernel));
    RT_TRY(cbk_ocl_take_positions(stream, &spec, (uint64_t)cbk_ocl_divide_up(args.count, 4),
                                  &positions));
    args.position = positions.first;
    args.start_offset = positions.start_offset;
    cbk_rt_arg_block(&launch, y.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    cbk_ocl_arg_start(&launch, &positions);
    RT_TRY(cbk_rt_launch(stream->rt, &launch));
done:
    return status;
}

// ---- the list of all programs -------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
    uint32_t draw;
};

static void visit_program(const struct visit *visit, const struct program *program) {
    const struct cbk_rt_spec spec = make_spec(program);
    visit->visit(visit->user_data, &spec);
}

static void visit_forms(const struct visit *visit, cbk_dtype dtype, bool is_tiny) {
    const struct cbk_rt_caps caps[] = {{.float_lanes = 4}, {.float_lanes = 8}, {.float_lanes = 16}};
    struct program program = {.draw = visit->draw, .y = dtype, .is_tiny = is_tiny};
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) {
        program.lanes = cpu_lanes(&caps[i], dtype);
        program.has_index64 = true;
        visit_program(visit, &program);
    }
    program.lanes = 4;
    program.is_gpu = true;
    for (int form = 0; form < 4; form++) {
        program.is_aligned = (form & 1) != 0;
        program.has_index64 = (form & 2) != 0;
        visit_program(visit, &program);
    }
}

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    visit_forms(visit, dtype, false);
    if (visit->draw == LOW(CBK_OP_RANDOM_UNIFORM)) visit_forms(visit, dtype, true);
}

void cbk_ocl_random_programs(cbk_ocl_program_visitor visit, void *user_data) {
    for (uint32_t draw = 0; draw < sizeof draws / sizeof *draws; draw++) {
        struct visit context = {visit, user_data, draw};
        cbk_ocl_each_row_dtype(CBK_FAMILY_RANDOM << 8 | draw, visit_dtype, &context);
    }
    cbk_ocl_categorical_programs(visit, user_data);
}
