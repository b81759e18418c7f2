/// create.c: fill and arange.
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

cbk_status cbk_ocl_fill(struct cbk_ocl_stream *stream, cbk_scalar value,
                        const struct cbk_ocl_operand *destination) {
    struct cbk_ocl_pointwise fill = describe_fill(destination->meta->dtype);
    cbk_status status = cbk_ocl_scalar_bits(value, destination->meta->dtype, &fill.scalars[0]);
    return status != CBK_OK ? status : cbk_ocl_pointwise(stream, &fill, destination);
}

cbk_status cbk_ocl_create_op(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_create_params *params = op->params;
    struct cbk_ocl_operand out = cbk_ocl_operand(op->outputs[0]);
    if (op->opcode == CBK_OP_FILL) return cbk_ocl_fill(stream, params->value, &out);

    struct cbk_ocl_pointwise arange = describe_arange(out.meta->dtype);
    cbk_status status = cbk_ocl_scalar(params->value, out.meta->dtype, &arange.scalars[0]);
    if (status == CBK_OK)
        status = cbk_ocl_scalar(params->step, out.meta->dtype, &arange.scalars[1]);
    return status != CBK_OK ? status : cbk_ocl_pointwise(stream, &arange, &out);
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

void cbk_ocl_create_programs(cbk_ocl_program_visitor visit, void *user_data) {
    static const cbk_dtype sizes[] = {CBK_DTYPE_U8, CBK_DTYPE_U16, CBK_DTYPE_U32, CBK_DTYPE_U64};
    for (int size = 0; size < 4; size++) {
        struct cbk_ocl_pointwise fill = describe_fill(sizes[size]);
        cbk_ocl_pointwise_visit(&fill, visit, user_data);
    }
    struct visit context = {visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_ARANGE, visit_arange, &context);
}
