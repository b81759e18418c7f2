/// quantile.c: median and quantile: sorted rows, and launches of kernels/quantile.cl on them.
#include "axes.h"
#include "pointwise.h"
#include "sort.h"

#include <math.h>
#include <string.h>

#define GROUP 64

/// As in kernels/quantile.cl.
struct quantile_args {
    int64_t x_offset, y_offset, rows, length, count, midpoint;
    int64_t places[CBK_MAX_RANK];
    uint64_t parts[CBK_MAX_RANK];
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const cbk_dtype dtype = *(const cbk_dtype *)spec->context;
    cbk_rt_text_add(defines, " -DX=%s -DB=%s -DACC=%s", cbk_ocl_dtype_word(dtype),
                    cbk_ocl_dtype_word(cbk_ocl_bits_dtype(dtype)),
                    dtype == CBK_DTYPE_F64 ? "f64" : "f32");
}

static struct cbk_rt_spec make_spec(const cbk_dtype *dtype, const char *entry) {
    return (struct cbk_rt_spec){.source = &cbk_kernel_quantile,
                                .entry = entry,
                                .key = {*dtype, 0},
                                .describe = describe,
                                .context = dtype};
}

/// Below 1 in any arithmetic, so that an infinite element further on has a weight that is not 0.
static uint64_t part_bits(double part, cbk_dtype dtype) {
    uint64_t bits = 0;
    const float narrow = fminf((float)part, 0x1.fffffep-1f);
    if (dtype == CBK_DTYPE_F64)
        memcpy(&bits, &part, sizeof part);
    else
        memcpy(&bits, &narrow, sizeof narrow);
    return bits;
}

static void set_places(const cbk_quantile_params *params, cbk_dtype dtype,
                       struct quantile_args *args) {
    args->count = params->count != 0 ? params->count : 1;
    args->midpoint = params->interpolation == CBK_QUANTILE_MIDPOINT;
    for (int64_t i = 0; i < args->count; i++) {
        double place = params->q[i] * (double)(args->length - 1);
        if (params->interpolation == CBK_QUANTILE_LOWER) place = floor(place);
        if (params->interpolation == CBK_QUANTILE_HIGHER) place = ceil(place);
        if (params->interpolation == CBK_QUANTILE_NEAREST) place = rint(place);
        args->places[i] = (int64_t)floor(place);
        args->parts[i] = part_bits(place - floor(place), dtype);
    }
}

static cbk_status launch(struct cbk_ocl_stream *stream, const char *operation, cbk_dtype dtype,
                         const struct quantile_args *args, struct cbk_rt_block *sorted,
                         struct cbk_rt_block *result) {
    const bool is_median = args->count == 0;
    const int64_t results = is_median ? args->rows : args->rows * args->count;
    struct cbk_rt_spec spec =
        make_spec(&dtype, is_median ? "quantile_pick" : "quantile_interpolate");
    struct cbk_rt_launch request = {.operation = operation,
                                    .dimensions = 1,
                                    .global = {cbk_ocl_round_up((size_t)results, GROUP), 1, 1},
                                    .local = {GROUP, 1, 1}};
    cbk_status status = cbk_rt_kernel(stream->rt, &spec, &request.kernel);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&request, sorted, CBK_RT_READ);
    cbk_rt_arg_block(&request, result, CBK_RT_WRITE);
    cbk_rt_arg_value(&request, args, sizeof *args);
    return cbk_rt_launch(stream->rt, &request);
}

/// Sorts the rows of x into `sorted` and reads the results off into y.
static cbk_status read_off(const struct cbk_ocl_order *order, struct quantile_args *args,
                           struct cbk_ocl_span sorted, const struct cbk_ocl_operand *y) {
    struct cbk_ocl_stream *stream = order->stream;
    const struct cbk_ocl_span none = {NULL, 0};
    struct cbk_ocl_operand dense = {.block = NULL};
    cbk_tensor_meta dense_meta;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_ocl_order_rows(order, sorted, none, CBK_DTYPE_NONE));
    RT_TRY(cbk_ocl_temporary(stream, y->meta, &dense_meta, &dense));
    args->x_offset = sorted.offset;
    args->y_offset = dense.offset;
    RT_TRY(launch(stream, order->operation, y->meta->dtype, args, sorted.block, dense.block));
    RT_TRY(cbk_ocl_copy(stream, &dense, y));
done:
    cbk_rt_free(stream->device->rt, &dense.block);
    return status;
}

cbk_status cbk_ocl_quantile(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct cbk_ocl_operand x = cbk_ocl_operand(op->inputs[0]), y = cbk_ocl_operand(op->outputs[0]);
    const cbk_dtype dtype = x.meta->dtype;
    const bool is_median = op->opcode == CBK_OP_MEDIAN;
    const cbk_quantile_params *params = is_median ? NULL : op->params;
    const int32_t axis = is_median ? ((const cbk_median_params *)op->params)->axis : params->axis;
    const struct cbk_ocl_order order = {.stream = stream,
                                        .operation = is_median ? "median" : "quantile",
                                        .x = &x,
                                        .axis = (uint32_t)axis,
                                        .keep = x.meta->shape[axis]};
    struct quantile_args args = {.length = x.meta->shape[axis],
                                 .rows = x.meta->element_count / x.meta->shape[axis]};
    struct cbk_rt_block *sorted = NULL;
    cbk_status status = CBK_OK;
    if (is_median)
        args.places[0] = (args.length - 1) / 2;
    else
        set_places(params, dtype, &args);
    RT_TRY(
        cbk_rt_alloc(stream->rt, (uint64_t)x.meta->element_count * cbk_dtype_size(dtype), &sorted));
    RT_TRY(read_off(&order, &args, cbk_ocl_span(sorted, dtype), &y));
done:
    cbk_rt_free(stream->device->rt, &sorted);
    return status;
}

// ---- the list of all programs -------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
};

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    struct cbk_rt_spec spec = make_spec(&dtype, "quantile_pick");
    visit->visit(visit->user_data, &spec);
}

void cbk_ocl_quantile_programs(cbk_ocl_program_visitor visit, void *user_data) {
    struct visit context = {visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_MEDIAN, visit_dtype, &context);
}
