/// one_hot.c: launches of kernels/one_hot.cl.
#include "index.h"
#include "mover.h"

struct one_hot_args {
    struct cbk_ocl_axes rows;
    int64_t index_offset, y_offset;
    int64_t classes, step;
    int64_t rows_per_item;
    uint64_t on, off;
};

// ---- launch -------------------------------------------------------------------------------------

static cbk_status set_args(struct one_hot_args *args, const struct cbk_ocl_operand *index,
                           const struct cbk_ocl_operand *y, const cbk_one_hot_params *params) {
    const uint32_t last = y->meta->rank - 1;
    *args = (struct one_hot_args){.index_offset = index->offset,
                                  .y_offset = y->offset,
                                  .classes = params->classes,
                                  .step = y->meta->strides[last]};
    cbk_ocl_axes_init(&args->rows);
    for (uint32_t i = last; i-- > 0;)
        cbk_ocl_axes_add(&args->rows, y->meta->shape[i], index->meta->strides[i],
                         y->meta->strides[i]);
    cbk_status status = cbk_ocl_scalar_bits(params->on, y->meta->dtype, &args->on);
    if (status == CBK_OK) status = cbk_ocl_scalar_bits(params->off, y->meta->dtype, &args->off);
    return status;
}

/// Work-items.
static int64_t plan(const struct cbk_rt_caps *caps, struct one_hot_args *args, int64_t count,
                    uint32_t element_size) {
    const int64_t share = CBK_OCL_MOVE_GROUP * CBK_OCL_MOVE_EACH;
    if (!caps->is_cpu) return cbk_ocl_divide_up(count, share) * CBK_OCL_MOVE_GROUP;
    args->rows_per_item = cbk_ocl_divide_up(
        args->rows.count, cbk_ocl_move_items(caps, count * (int64_t)element_size));
    return cbk_ocl_divide_up(args->rows.count, args->rows_per_item);
}

cbk_status cbk_ocl_one_hot(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    const struct cbk_ocl_operand index = cbk_ocl_operand(op->inputs[0]),
                                 y = cbk_ocl_operand(op->outputs[0]);
    const int64_t count = y.meta->element_count;
    struct one_hot_args args;
    cbk_status status = set_args(&args, &index, &y, op->params);
    if (status != CBK_OK) return status;
    const struct cbk_ocl_index_program program = {
        .source = &cbk_kernel_one_hot,
        .entry = "one_hot",
        .element_size = cbk_dtype_size(y.meta->dtype),
        .index = index.meta->dtype,
        .is_gpu = !caps->is_cpu,
        .has_index64 = caps->is_cpu || count > INT32_MAX / 2 || cbk_ocl_axes_are_long(&args.rows) ||
                       (stream->device->flags & CBK_INDEX_64) != 0};
    const struct cbk_rt_spec spec = cbk_ocl_index_spec(&program);
    struct cbk_rt_launch launch = {
        .operation = "one_hot",
        .dimensions = 1,
        .global = {(size_t)plan(caps, &args, count, program.element_size), 1, 1},
        .local = {caps->is_cpu ? 1 : CBK_OCL_MOVE_GROUP, 1, 1}};
    status = cbk_rt_kernel(stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, index.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, y.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    cbk_rt_arg_index_flag(stream->rt, &launch);
    return cbk_rt_launch(stream->rt, &launch);
}

void cbk_ocl_one_hot_programs(cbk_ocl_program_visitor visit, void *user_data) {
    cbk_ocl_index_programs_of(&cbk_kernel_one_hot, "one_hot", 8, visit, user_data);
}
