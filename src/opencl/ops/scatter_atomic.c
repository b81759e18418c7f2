/// scatter_atomic.c: launches of kernels/scatter_atomic.cl.
#include "index.h"

#define GROUP 256

struct atomic_args {
    struct cbk_ocl_index_axes axes;
    int64_t x_offset, index_offset, value_offset;
    int64_t x_step, length;
};

static const char *const updates[] = {
    [CBK_UPDATE_ADD] = "add",
    [CBK_UPDATE_MUL] = "mul",
    [CBK_UPDATE_MIN] = "min",
    [CBK_UPDATE_MAX] = "max",
};

struct program {
    uint32_t update;
    cbk_dtype x, value, index;
    bool is_nvidia, has_index64;
};

static bool is_int(cbk_dtype dtype) {
    return dtype == CBK_DTYPE_I32 || dtype == CBK_DTYPE_U32;
}

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    const char *update = updates[program->update];
    cbk_rt_text_add(defines, " -DUPDATE=update_%s -DX=%s -DV=%s -DI=%s -DINDEX=%s", update,
                    cbk_ocl_dtype_word(program->x), cbk_ocl_dtype_word(program->value),
                    cbk_ocl_dtype_word(program->index), program->has_index64 ? "long" : "int");
    if (program->update == CBK_UPDATE_ADD) cbk_rt_text_add(defines, " -DADDS");
    if (program->is_nvidia) cbk_rt_text_add(defines, " -DNVIDIA");
    if (is_int(program->x) && program->update != CBK_UPDATE_MUL)
        cbk_rt_text_add(defines, " -DCALL=atomic_%s", update);
}

static struct cbk_rt_spec make_spec(const struct program *program) {
    return (struct cbk_rt_spec){
        .source = &cbk_kernel_scatter_atomic,
        .entry = "scatter_atomic",
        .key = {(uint64_t)program->update | (uint64_t)program->x << 8 |
                    (uint64_t)program->value << 16 | (uint64_t)program->index << 24,
                (uint64_t)program->is_nvidia | (uint64_t)program->has_index64 << 1},
        .describe = describe,
        .context = program};
}

/// Words of 32 bits; a CPU's ordered form is as fast.
static bool has_atomics(const struct cbk_rt_caps *caps, cbk_dtype x, uint32_t update) {
    const bool is_word = x == CBK_DTYPE_F32 || x == CBK_DTYPE_FLEX32 || is_int(x);
    return !caps->is_cpu && is_word && update != CBK_UPDATE_ASSIGN;
}

cbk_status cbk_ocl_scatter_atomic(struct cbk_ocl_stream *stream,
                                  const struct cbk_ocl_indexing *indexing, uint32_t update,
                                  bool *out_done) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    const cbk_tensor_meta *x = indexing->x.meta;
    *out_done = has_atomics(caps, x->dtype, update);
    if (!*out_done) return CBK_OK;
    struct atomic_args args = {.x_offset = indexing->x.offset,
                               .index_offset = indexing->index.offset,
                               .value_offset = indexing->y.offset,
                               .x_step = x->strides[indexing->axis],
                               .length = x->shape[indexing->axis]};
    cbk_ocl_index_axes(indexing, true, &args.axes);
    const struct program program = {.update = update,
                                    .x = x->dtype,
                                    .value = indexing->y.meta->dtype,
                                    .index = indexing->index.meta->dtype,
                                    .is_nvidia = caps->is_nvidia,
                                    .has_index64 = args.axes.count > INT32_MAX - GROUP ||
                                                   (stream->device->flags & CBK_INDEX_64) != 0};
    const struct cbk_rt_spec spec = make_spec(&program);
    struct cbk_rt_launch launch = {
        .operation = indexing->operation,
        .dimensions = 1,
        .global = {cbk_ocl_round_up((size_t)args.axes.count, GROUP), 1, 1},
        .local = {GROUP, 1, 1}};
    cbk_status status = cbk_rt_kernel(stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, indexing->x.block, CBK_RT_READ_WRITE);
    cbk_rt_arg_block(&launch, indexing->index.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, indexing->y.block, CBK_RT_READ);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    cbk_rt_arg_index_flag(stream->rt, &launch);
    return cbk_rt_launch(stream->rt, &launch);
}

/// The index is read in one place: one dtype of it stands for all.
void cbk_ocl_scatter_atomic_programs(cbk_ocl_program_visitor visit, void *user_data) {
    static const cbk_dtype pairs[][2] = {{CBK_DTYPE_F32, CBK_DTYPE_F32},
                                         {CBK_DTYPE_F32, CBK_DTYPE_F16},
                                         {CBK_DTYPE_F32, CBK_DTYPE_BF16},
                                         {CBK_DTYPE_I32, CBK_DTYPE_I32},
                                         {CBK_DTYPE_U32, CBK_DTYPE_U32}};
    for (uint32_t update = CBK_UPDATE_ADD; update <= CBK_UPDATE_MAX; update++) {
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
            for (int form = 0; form < 4; form++) {
                const struct program program = {update,        pairs[i][0],     pairs[i][1],
                                                CBK_DTYPE_I64, (form & 1) != 0, (form & 2) != 0};
                const struct cbk_rt_spec spec = make_spec(&program);
                visit(user_data, &spec);
            }
        }
    }
}
