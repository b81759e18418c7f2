// ternary.c: where, mask_fill, clamp, lerp, addcmul, addcdiv.

#include "reference.h"

#include <math.h>

/// mask ? a : b, element by element and bit for bit.
static void choose(const struct cbk_ref_view *mask, const struct cbk_ref_view *a,
                   const struct cbk_ref_view *b, const struct cbk_ref_view *out) {
    for (int64_t i = 0; i < out->count; i++) {
        bool is_set = cbk_ref_get_int(mask->data, mask->dtype, cbk_ref_at(mask, i)) != 0;
        const struct cbk_ref_view *from = is_set ? a : b;
        cbk_ref_copy_element(out, cbk_ref_at(out, i), from, cbk_ref_at(from, i));
    }
}

static struct cbk_ref_view input(const cbk_op *op, uint32_t number,
                                 const struct cbk_ref_view *out) {
    struct cbk_ref_view view = cbk_ref_view_of(op->inputs[number]);
    return cbk_ref_broadcast(&view, out->rank, out->shape);
}

static double clamp_float(double x, double low, double high) {
    if (isnan(x) || isnan(low) || isnan(high)) return NAN;
    double raised = x < low ? low : x;
    return raised > high ? high : raised;
}

static bool int_less(int64_t a, int64_t b, bool is_signed) {
    return is_signed ? a < b : (uint64_t)a < (uint64_t)b;
}

static void clamp(const cbk_clamp_params *params, const struct cbk_ref_view *x,
                  const struct cbk_ref_view *out) {
    bool has_low = params->low.kind != CBK_SCALAR_NONE;
    bool has_high = params->high.kind != CBK_SCALAR_NONE;
    uint64_t low_memory, high_memory;
    cbk_ref_store(&low_memory, x->dtype, 0, cbk_ref_scalar_value(params->low));
    cbk_ref_store(&high_memory, x->dtype, 0, cbk_ref_scalar_value(params->high));
    struct cbk_ref_value low = cbk_ref_load(&low_memory, x->dtype, 0);
    struct cbk_ref_value high = cbk_ref_load(&high_memory, x->dtype, 0);
    bool is_signed = low.kind == CBK_REF_SIGNED;

    for (int64_t i = 0; i < out->count; i++) {
        int64_t from = cbk_ref_at(x, i), to = cbk_ref_at(out, i);
        if (low.kind == CBK_REF_FLOAT) {
            double value = cbk_ref_get_float(x->data, x->dtype, from);
            value = clamp_float(value, has_low ? low.f : -INFINITY, has_high ? high.f : INFINITY);
            cbk_ref_put_result(out->data, out->dtype, to, value);
        } else {
            int64_t value = cbk_ref_get_int(x->data, x->dtype, from);
            if (has_low && int_less(value, low.i, is_signed)) value = low.i;
            if (has_high && int_less(high.i, value, is_signed)) value = high.i;
            cbk_ref_put_int(out->data, out->dtype, to, value);
        }
    }
}

// ---- three floats -------------------------------------------------------------------------------

/// (1 - w) a + w b: a for w = 0, b for w = 1.
static double lerp(double a, double b, double weight) {
    return fma(weight, b, fma(-weight, a, a));
}

static double combine(cbk_opcode opcode, double x, double a, double b, double value) {
    switch (opcode) {
    case CBK_OP_ADDCMUL:
        return x + value * a * b;
    case CBK_OP_ADDCDIV:
        return x + value * a / b;
    default:
        return lerp(x, a, b);
    }
}

static void run_floats(const cbk_op *op, const struct cbk_ref_view *x, const struct cbk_ref_view *a,
                       const struct cbk_ref_view *b, double value, const struct cbk_ref_view *out) {
    for (int64_t i = 0; i < out->count; i++) {
        double p = cbk_ref_get_float(x->data, x->dtype, cbk_ref_at(x, i));
        double q = cbk_ref_get_float(a->data, a->dtype, cbk_ref_at(a, i));
        double r = cbk_ref_get_float(b->data, b->dtype, cbk_ref_at(b, i));
        cbk_ref_put_result(out->data, out->dtype, cbk_ref_at(out, i),
                           combine(op->opcode, p, q, r, value));
    }
}

cbk_status cbk_ref_ternary(struct cbk_ref_stream *stream, const cbk_op *op) {
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    struct cbk_ref_view x = input(op, 0, &out);
    uint64_t memory;
    (void)stream;

    switch (op->opcode) {
    case CBK_OP_WHERE: {
        struct cbk_ref_view a = input(op, 1, &out), b = input(op, 2, &out);
        choose(&x, &a, &b, &out);
        return CBK_OK;
    }
    case CBK_OP_MASK_FILL: {
        const cbk_scalar_params *params = op->params;
        struct cbk_ref_view mask = input(op, 1, &out);
        struct cbk_ref_view value =
            cbk_ref_scalar_view(params->scalar, out.dtype, out.rank, out.shape, &memory);
        choose(&mask, &value, &x, &out);
        return CBK_OK;
    }
    case CBK_OP_CLAMP:
        clamp(op->params, &x, &out);
        return CBK_OK;
    case CBK_OP_LERP: {
        struct cbk_ref_view b = input(op, 1, &out), weight = input(op, 2, &out);
        run_floats(op, &x, &b, &weight, 0, &out);
        return CBK_OK;
    }
    case CBK_OP_LERP_SCALAR: {
        const cbk_scalar_params *params = op->params;
        struct cbk_ref_view b = input(op, 1, &out);
        struct cbk_ref_view weight =
            cbk_ref_scalar_view(params->scalar, out.dtype, out.rank, out.shape, &memory);
        run_floats(op, &x, &b, &weight, 0, &out);
        return CBK_OK;
    }
    case CBK_OP_ADDCMUL:
    case CBK_OP_ADDCDIV: {
        const cbk_scalar_params *params = op->params;
        struct cbk_ref_view a = input(op, 1, &out), b = input(op, 2, &out);
        run_floats(op, &x, &a, &b, cbk_ref_scalar_float(params->scalar, 1, out.dtype), &out);
        return CBK_OK;
    }
    default:
        return cbk_ref_unknown(op);
    }
}
