// compare.c: comparisons; NaN compares false, so not_equal is the negation of equal.

#include "reference.h"

#include <math.h>

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

// ---- is_close: part of the definition is the arithmetic it is decided in, f32 or f64 ------------

static bool is_close_f64(double a, double b, const cbk_close_params *params) {
    double difference = fabs(a - b);
    double bound = fma(cbk_ref_scalar_float(params->relative, 1e-5, CBK_DTYPE_F64), fabs(b),
                       cbk_ref_scalar_float(params->absolute, 1e-8, CBK_DTYPE_F64));
    return a == b || (isfinite(difference) && difference <= bound);
}

static bool is_close_f32(float a, float b, const cbk_close_params *params) {
    float difference = fabsf(a - b);
    float bound = fmaf((float)cbk_ref_scalar_float(params->relative, 1e-5, CBK_DTYPE_F32), fabsf(b),
                       (float)cbk_ref_scalar_float(params->absolute, 1e-8, CBK_DTYPE_F32));
    return a == b || (isfinite(difference) && difference <= bound);
}

static cbk_status is_close(const cbk_op *op, const struct cbk_ref_view *out) {
    const cbk_close_params *params = op->params;
    struct cbk_ref_view a = cbk_ref_view_of(op->inputs[0]), b = cbk_ref_view_of(op->inputs[1]);
    a = cbk_ref_broadcast(&a, out->rank, out->shape);
    b = cbk_ref_broadcast(&b, out->rank, out->shape);
    for (int64_t i = 0; i < out->count; i++) {
        double x = cbk_ref_get_float(a.data, a.dtype, cbk_ref_at(&a, i));
        double y = cbk_ref_get_float(b.data, b.dtype, cbk_ref_at(&b, i));
        bool close = a.dtype == CBK_DTYPE_F64 ? is_close_f64(x, y, params)
                                              : is_close_f32((float)x, (float)y, params);
        if (isnan(x) && isnan(y)) close = params->equal_nan != 0;
        cbk_ref_put_int(out->data, out->dtype, cbk_ref_at(out, i), close);
    }
    return CBK_OK;
}

cbk_status cbk_ref_compare(struct cbk_ref_stream *stream, const cbk_op *op) {
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    struct cbk_ref_view a = cbk_ref_view_of(op->inputs[0]), b;
    const cbk_compare_params *params = op->params;
    uint32_t row = op->opcode & 0xff;
    uint64_t memory;
    (void)stream;

    if (op->opcode == CBK_OP_IS_CLOSE) return is_close(op, &out);
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
