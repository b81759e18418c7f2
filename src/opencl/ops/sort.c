/// sort.c: sort and topk: rows in order, to wherever the results are.
#include "axes.h"
#include "sort.h"

static bool is_arg(cbk_opcode opcode) {
    return opcode == CBK_OP_ARGSORT || opcode == CBK_OP_ARGTOPK;
}

static const char *const names[] = {"sort", "argsort", "sort_with_indices",
                                    "topk", "argtopk", "topk_with_indices"};

/// A result, and where its rows are made: in place, if they are dense there, or in a temporary.
struct result {
    struct cbk_ocl_operand target, dense;
    cbk_tensor_meta target_meta, dense_meta;
    bool is_temporary;
};

static cbk_status begin_result(struct cbk_ocl_stream *stream, const cbk_tensor *tensor,
                               uint32_t axis, struct result *result) {
    result->target = cbk_ocl_operand(tensor);
    cbk_ocl_move_last(result->target.meta, axis, &result->target_meta);
    result->target.meta = &result->target_meta;
    result->dense = result->target;
    if (cbk_ocl_is_dense(&result->target_meta)) return CBK_OK;
    result->is_temporary = true;
    result->dense.block = NULL;
    return cbk_ocl_temporary(stream, &result->target_meta, &result->dense_meta, &result->dense);
}

static cbk_status end_result(struct cbk_ocl_stream *stream, const struct result *result) {
    return result->is_temporary ? cbk_ocl_copy(stream, &result->dense, &result->target) : CBK_OK;
}

static void free_result(struct cbk_ocl_stream *stream, struct result *result) {
    if (result->is_temporary) cbk_rt_free(stream->device->rt, &result->dense.block);
}

static struct cbk_ocl_span span_of(const struct result *result) {
    return (struct cbk_ocl_span){result->dense.block, result->dense.offset};
}

static cbk_status order(struct cbk_ocl_stream *stream, const cbk_op *op, uint32_t axis,
                        bool is_descending) {
    struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]);
    struct result results[2] = {{.is_temporary = false}, {.is_temporary = false}};
    struct cbk_ocl_order request = {.stream = stream,
                                    .operation = names[op->opcode & 0xff],
                                    .x = &x,
                                    .axis = axis,
                                    .is_descending = is_descending};
    struct cbk_ocl_span values = {NULL, 0}, indices = {NULL, 0};
    cbk_dtype index_dtype = CBK_DTYPE_NONE;
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < op->output_count; i++) {
        RT_TRY(begin_result(stream, op->outputs[i], axis, &results[i]));
        request.keep = cbk_tensor_shape(op->outputs[i])[axis];
        if (i == 1 || is_arg(op->opcode)) {
            indices = span_of(&results[i]);
            index_dtype = cbk_tensor_dtype(op->outputs[i]);
        } else {
            values = span_of(&results[i]);
        }
    }
    RT_TRY(cbk_ocl_order_rows(&request, values, indices, index_dtype));
    for (uint32_t i = 0; i < op->output_count; i++) RT_TRY(end_result(stream, &results[i]));
done:
    for (int i = 0; i < 2; i++) free_result(stream, &results[i]);
    return status;
}

cbk_status cbk_ocl_sort(struct cbk_ocl_stream *stream, const cbk_op *op) {
    if (op->opcode >= CBK_OP_MEDIAN) return cbk_ocl_quantile(stream, op);
    if (op->opcode >= CBK_OP_TOPK) {
        const cbk_topk_params *params = op->params;
        return order(stream, op, (uint32_t)params->axis, params->ascending == 0);
    }
    const cbk_sort_params *params = op->params;
    return order(stream, op, (uint32_t)params->axis, params->descending != 0);
}

void cbk_ocl_sort_programs(cbk_ocl_program_visitor visit, void *user_data) {
    cbk_ocl_order_programs(visit, user_data);
    cbk_ocl_radix_programs(visit, user_data);
    cbk_ocl_topk_programs(visit, user_data);
    cbk_ocl_quantile_programs(visit, user_data);
}
