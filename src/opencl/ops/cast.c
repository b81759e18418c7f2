/// cast.c: conversions between all dtypes.
#include "pointwise.h"

static struct cbk_ocl_pointwise describe_cast(cbk_dtype in, cbk_dtype out) {
    struct cbk_ocl_pointwise op = {.operation = "cast",
                                   .id = CBK_OP_CAST,
                                   .name = "cast",
                                   .family = "CAST",
                                   .word = cbk_ocl_class_word(in),
                                   .names_result = true,
                                   .input_count = 1,
                                   .types = {out, in}};
    return op;
}

static cbk_dtype stored_dtype(cbk_dtype dtype) {
    return dtype == CBK_DTYPE_FLEX32 ? CBK_DTYPE_F32 : dtype;
}

cbk_status cbk_ocl_convert(struct cbk_ocl_stream *stream, const struct cbk_ocl_operand *source,
                           const struct cbk_ocl_operand *destination) {
    const struct cbk_ocl_operand operands[2] = {*destination, *source};
    cbk_dtype in = stored_dtype(source->meta->dtype);
    cbk_dtype out = stored_dtype(destination->meta->dtype);
    if (in == out) return cbk_ocl_copy(stream, source, destination);
    struct cbk_ocl_pointwise cast = describe_cast(in, out);
    return cbk_ocl_pointwise(stream, &cast, operands);
}

cbk_status cbk_ocl_cast(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct cbk_ocl_operand source = cbk_ocl_operand(op->inputs[0]),
                           destination = cbk_ocl_operand(op->outputs[0]);
    return cbk_ocl_convert(stream, &source, &destination);
}

// ---- list of programs ----------------------------------------------------------------------------

struct visit {
    cbk_dtype in;
    cbk_ocl_program_visitor visit;
    void *user_data;
};

static void visit_pair(void *context, cbk_dtype out) {
    const struct visit *visit = context;
    if (visit->in == out) return;
    struct cbk_ocl_pointwise op = describe_cast(visit->in, out);
    cbk_ocl_pointwise_visit(&op, visit->visit, visit->user_data);
}

static void visit_input(void *context, cbk_dtype in) {
    struct visit *visit = context;
    visit->in = in;
    cbk_ocl_each_row_dtype(CBK_OP_CAST, visit_pair, visit);
}

void cbk_ocl_cast_programs(cbk_ocl_program_visitor visit, void *user_data) {
    struct visit context = {0, visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_CAST, visit_input, &context);
}
