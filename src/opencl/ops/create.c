/// create.c: fill, arange, linspace, windows.
#include "matrix.h"
#include "pointwise.h"

static struct cbk_ocl_pointwise describe_fill(cbk_dtype dtype) {
    cbk_dtype bits = cbk_ocl_bits_dtype(dtype);
    struct cbk_ocl_pointwise op = {.operation = "fill",
                                   .id = CBK_OP_FILL,
                                   .name = "fill",
                                   .family = "MOVE",
                                   .word = cbk_ocl_class_word(bits),
                                   .scalar_count = 1,
                                   .types = {bits},
                                   .scalar_type = bits};
    return op;
}

/// Dtypes narrower than f32 are computed wider, so that they are rounded once.
static struct cbk_ocl_pointwise describe_arange(cbk_dtype dtype) {
    bool is_narrow = dtype == CBK_DTYPE_F16 || dtype == CBK_DTYPE_BF16;
    struct cbk_ocl_pointwise op = {.operation = "arange",
                                   .id = CBK_OP_ARANGE,
                                   .name = is_narrow ? "arange_wide" : "arange",
                                   .family = "CREATE",
                                   .word = cbk_ocl_class_word(dtype),
                                   .is_indexed = true,
                                   .scalar_count = 2,
                                   .types = {dtype},
                                   .scalar_type = dtype};
    return op;
}

/// Its scalars are in the arithmetic type: f16 could not say how many steps there are.
static struct cbk_ocl_pointwise describe_linspace(cbk_dtype dtype) {
    struct cbk_ocl_pointwise op = {.operation = "linspace",
                                   .id = CBK_OP_LINSPACE,
                                   .name = "linspace",
                                   .family = "CREATE",
                                   .word = cbk_ocl_class_word(dtype),
                                   .is_indexed = true,
                                   .scalar_count = 3,
                                   .types = {dtype},
                                   .scalar_type =
                                       dtype == CBK_DTYPE_F64 ? CBK_DTYPE_F64 : CBK_DTYPE_F32};
    return op;
}

static struct cbk_ocl_pointwise describe_window(uint32_t kind, cbk_dtype dtype) {
    static const char *const names[] = {"window_hann", "window_hamming", "window_blackman"};
    struct cbk_ocl_pointwise op = {.operation = "window",
                                   .id = CBK_OP_WINDOW | kind << 16,
                                   .name = names[kind],
                                   .family = "WINDOW",
                                   .word = cbk_ocl_class_word(dtype),
                                   .is_indexed = true,
                                   .scalar_count = 1,
                                   .types = {dtype},
                                   .scalar_type =
                                       dtype == CBK_DTYPE_F64 ? CBK_DTYPE_F64 : CBK_DTYPE_F32};
    return op;
}

cbk_status cbk_ocl_fill(struct cbk_ocl_stream *stream, cbk_scalar value,
                        const struct cbk_ocl_operand *destination) {
    struct cbk_ocl_pointwise fill = describe_fill(destination->meta->dtype);
    cbk_status status = cbk_ocl_scalar_bits(value, destination->meta->dtype, &fill.scalars[0]);
    return status != CBK_OK ? status : cbk_ocl_pointwise(stream, &fill, destination);
}

/// arange, linspace.
static cbk_status launch_range(struct cbk_ocl_stream *stream, const cbk_op *op,
                               const struct cbk_ocl_operand *out) {
    const cbk_create_params *params = op->params;
    const cbk_dtype dtype = out->meta->dtype;
    struct cbk_ocl_pointwise range =
        op->opcode == CBK_OP_ARANGE ? describe_arange(dtype) : describe_linspace(dtype);
    cbk_status status = cbk_ocl_scalar(params->value, dtype, &range.scalars[0]);
    if (status == CBK_OK) status = cbk_ocl_scalar(params->step, dtype, &range.scalars[1]);
    if (status == CBK_OK && range.scalar_count == 3) {
        const int64_t steps = out->meta->element_count > 1 ? out->meta->element_count - 1 : 1;
        status = cbk_ocl_scalar(cbk_i(steps), range.scalar_type, &range.scalars[2]);
    }
    return status != CBK_OK ? status : cbk_ocl_pointwise(stream, &range, out);
}

static cbk_status launch_window(struct cbk_ocl_stream *stream, const cbk_op *op,
                                const struct cbk_ocl_operand *out) {
    const cbk_window_params *params = op->params;
    struct cbk_ocl_pointwise window = describe_window(params->kind, out->meta->dtype);
    const int64_t period = params->symmetric != 0 ? params->length - 1 : params->length;
    if (params->length == 1) return cbk_ocl_fill(stream, cbk_i(1), out);
    cbk_status status = cbk_ocl_scalar(cbk_i(period), window.scalar_type, &window.scalars[0]);
    return status != CBK_OK ? status : cbk_ocl_pointwise(stream, &window, out);
}

cbk_status cbk_ocl_create_op(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const struct cbk_ocl_operand out = cbk_ocl_operand(op->outputs[0]);
    switch (op->opcode) {
    case CBK_OP_FILL:
        return cbk_ocl_fill(stream, ((const cbk_create_params *)op->params)->value, &out);
    case CBK_OP_EYE:
        return cbk_ocl_eye(stream, op);
    case CBK_OP_WINDOW:
        return launch_window(stream, op, &out);
    default:
        return launch_range(stream, op, &out);
    }
}

// ---- list of programs ----------------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
};

static void visit_arange(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    struct cbk_ocl_pointwise op = describe_arange(dtype);
    cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
}

static void visit_linspace(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    struct cbk_ocl_pointwise op = describe_linspace(dtype);
    cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
}

static void visit_window(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    for (uint32_t kind = CBK_WINDOW_HANN; kind <= CBK_WINDOW_BLACKMAN; kind++) {
        struct cbk_ocl_pointwise op = describe_window(kind, dtype);
        cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
    }
}

void cbk_ocl_create_programs(cbk_ocl_program_visitor visit, void *user_data) {
    static const cbk_dtype sizes[] = {CBK_DTYPE_U8, CBK_DTYPE_U16, CBK_DTYPE_U32, CBK_DTYPE_U64};
    for (int size = 0; size < 4; size++) {
        struct cbk_ocl_pointwise fill = describe_fill(sizes[size]);
        cbk_ocl_pointwise_visit(&fill, visit, user_data);
    }
    struct visit context = {visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_ARANGE, visit_arange, &context);
    cbk_ocl_each_row_dtype(CBK_OP_LINSPACE, visit_linspace, &context);
    cbk_ocl_each_row_dtype(CBK_OP_WINDOW, visit_window, &context);
}
