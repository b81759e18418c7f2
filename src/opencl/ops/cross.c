/// cross.c: products of vectors of three elements (kernels/cross.cl).
#include "axes.h"
#include "matrix.h"
#include "pointwise.h"

#include <string.h>

enum { GROUP = 256, VECTORS_PER_BLOCK = 1024, ITEMS_PER_CORE = 16 };

/// As in cross.cl.
struct cross_args {
    int64_t offsets[3];
    int64_t steps[3];
    int64_t shape[8], strides[3][8];
    int64_t count;
    int64_t vectors_per_item;
    int64_t rank;
};

// ---- programs ------------------------------------------------------------------------------------

struct program {
    cbk_dtype dtype;
    bool has_index64;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DT=%s -DINDEX=%s%s", cbk_ocl_dtype_word(program->dtype),
                    program->has_index64 ? "long" : "int",
                    program->dtype < CBK_DTYPE_I64 ? " -DREAL" : "");
}

static struct cbk_rt_spec make_spec(const struct program *program) {
    const cbk_dtype dtype = program->dtype == CBK_DTYPE_FLEX32 ? CBK_DTYPE_F32 : program->dtype;
    return (struct cbk_rt_spec){.source = &cbk_kernel_cross,
                                .entry = "cross_vectors",
                                .key = {dtype | (uint64_t)program->has_index64 << 8, 0},
                                .describe = describe,
                                .context = program};
}

// ---- launch --------------------------------------------------------------------------------------

/// The operand with the vectors' axis of length 1, so that the nest leaves it out; gives its stride.
static int64_t cut_axis(struct cbk_ocl_operand *operand, uint32_t axis, cbk_tensor_meta *meta) {
    *meta = *operand->meta;
    operand->meta = meta;
    meta->shape[axis] = 1;
    meta->element_count /= 3;
    return meta->strides[axis];
}

static void make_args(const struct cbk_ocl_stream *stream, const cbk_op *op,
                      struct cbk_ocl_operand operands[3], struct cross_args *args,
                      bool *out_needs_64bit) {
    const uint32_t axis = (uint32_t)((const cbk_axis_params *)op->params)->axis;
    const uint32_t rank = operands[0].meta->rank;
    cbk_tensor_meta metas[3];
    struct cbk_ocl_nest nest;
    memset(args, 0, sizeof *args);
    for (uint32_t k = 0; k < 3; k++) {
        const uint32_t own_axis = axis + operands[k].meta->rank - rank;
        args->steps[k] = cut_axis(&operands[k], own_axis, &metas[k]);
    }
    cbk_ocl_nest(stream, operands, 3, &nest);
    memcpy(args->shape, nest.shape, nest.rank * sizeof *nest.shape);
    for (uint32_t k = 0; k < 3; k++) {
        args->offsets[k] = nest.offsets[k];
        memcpy(args->strides[k], nest.strides[k], nest.rank * sizeof **nest.strides);
    }
    args->rank = nest.rank;
    args->count = nest.element_count;
    *out_needs_64bit = nest.needs_64bit;
}

cbk_status cbk_ocl_cross(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    struct cbk_ocl_operand operands[3] = {cbk_ocl_operand(op->outputs[0]),
                                          cbk_ocl_operand(op->inputs[0]),
                                          cbk_ocl_operand(op->inputs[1])};
    struct program program = {.dtype = operands[0].meta->dtype};
    struct cross_args args;
    make_args(stream, op, operands, &args, &program.has_index64);
    program.has_index64 |= caps->is_cpu;
    args.vectors_per_item = 1;
    if (caps->is_cpu) {
        const int64_t most = (int64_t)caps->compute_units * ITEMS_PER_CORE;
        const int64_t items = cbk_ocl_clamp(args.count / VECTORS_PER_BLOCK, 1, most);
        args.vectors_per_item = cbk_ocl_divide_up(args.count, items);
    }
    const size_t items = (size_t)cbk_ocl_divide_up(args.count, args.vectors_per_item);
    const size_t local = caps->is_cpu ? 1 : GROUP;
    struct cbk_rt_launch launch = {.operation = "cross", .dimensions = 1, .local = {local, 1, 1}};
    struct cbk_rt_spec spec = make_spec(&program);
    cbk_status status = cbk_rt_kernel(stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    const uint32_t most = cbk_rt_kernel_max_work_group(launch.kernel);
    while (launch.local[0] > most && launch.local[0] > 1) launch.local[0] /= 2;
    launch.global[0] = cbk_ocl_round_up(items, launch.local[0]);
    cbk_rt_arg_block(&launch, operands[0].block, CBK_RT_WRITE);
    cbk_rt_arg_block(&launch, operands[1].block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, operands[2].block, CBK_RT_READ);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    return cbk_rt_launch(stream->rt, &launch);
}

// ---- list of programs ----------------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
};

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    for (int i = 0; i < 2; i++) {
        struct program program = {dtype, i == 1};
        struct cbk_rt_spec spec = make_spec(&program);
        visit->visit(visit->user_data, &spec);
    }
}

void cbk_ocl_cross_programs(cbk_ocl_program_visitor visit, void *user_data) {
    struct visit context = {visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_CROSS, visit_dtype, &context);
}
