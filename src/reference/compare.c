// compare.c: comparisons; NaN compares false, so not_equal is the negation of equal.

#include "reference.h"

/// -1, 0, 1, or 2 when a NaN is involved.
static int order(const struct cbk_ref_view *a, int64_t a_at, const struct cbk_ref_view *b,
                 int64_t b_at) {
    enum cbk_ref_kind kind = cbk_ref_kind_of(a->dtype);
    if (kind == CBK_REF_FLOAT) {
        double x = cbk_ref_get_float(a->data, a->dtype, a_at);
        double y = cbk_ref_get_float(b->data, b->dtype, b_at);
        return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
    }
    int64_t x = cbk_ref_get_int(a->data, a->dtype, a_at);
    int64_t y = cbk_ref_get_int(b->data, b->dtype, b_at);
    if (x == y) return 0;
    bool is_less = kind == CBK_REF_SIGNED ? x < y : (uint64_t)x < (uint64_t)y;
    return is_less ? -1 : 1;
}

static bool holds(uint32_t row, int relation) {
    switch (row) {
    case CBK_OP_EQUAL & 0xff:
        return relation == 0;
    case CBK_OP_NOT_EQUAL & 0xff:
        return relation != 0;
    case CBK_OP_LESS & 0xff:
        return relation == -1;
    case CBK_OP_LESS_EQUAL & 0xff:
        return relation == -1 || relation == 0;
    case CBK_OP_GREATER & 0xff:
        return relation == 1;
    default:
        return relation == 1 || relation == 0;
    }
}

cbk_status cbk_ref_compare(struct cbk_ref_stream *stream, const cbk_op *op) {
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    struct cbk_ref_view a = cbk_ref_view_of(op->inputs[0]), b;
    const cbk_compare_params *params = op->params;
    uint32_t row = op->opcode & 0xff;
    uint64_t memory;
    (void)stream;

    if (row > (CBK_OP_GREATER_EQUAL & 0xff)) return cbk_ref_unknown(op);
    a = cbk_ref_broadcast(&a, out.rank, out.shape);
    if (op->opcode >> 8 == CBK_FAMILY_COMPARE_SCALAR) {
        b = cbk_ref_scalar_view(params->scalar, a.dtype, out.rank, out.shape, &memory);
    } else {
        b = cbk_ref_view_of(op->inputs[1]);
        b = cbk_ref_broadcast(&b, out.rank, out.shape);
    }
    for (int64_t i = 0; i < out.count; i++) {
        int relation = order(&a, cbk_ref_at(&a, i), &b, cbk_ref_at(&b, i));
        cbk_ref_put_int(out.data, out.dtype, cbk_ref_at(&out, i), holds(row, relation));
    }
    return CBK_OK;
}
