// scan.c: running sums, products, maxima, minima and logarithms of sums of exponentials along one
// axis.

#include "reference.h"

#include <math.h>

/// What has been seen so far. Floats are summed in long double, integers in 64 bits.
struct running {
    cbk_opcode opcode;
    enum cbk_ref_kind kind;
    bool is_started; ///< of maxima and minima
    long double f;
    uint64_t i;
};

static struct running nothing(cbk_opcode opcode, cbk_dtype dtype) {
    bool is_product = opcode == CBK_OP_CUMPROD;
    return (struct running){
        .opcode = opcode,
        .kind = cbk_ref_kind_of(dtype),
        .f = opcode == CBK_OP_LOGCUMSUMEXP ? -INFINITY : is_product,
        .i = is_product,
    };
}

/// log(exp(a) + exp(b)).
static long double add_exponentials(long double a, long double b) {
    if (isnan(a) || isnan(b)) return NAN;
    long double most = a > b ? a : b;
    return isinf(most) ? most : most + log1pl(expl(-fabsl(a - b)));
}

static bool beats(const struct running *so_far, struct cbk_ref_value value) {
    bool wants_max = so_far->opcode == CBK_OP_CUMMAX;
    if (!so_far->is_started) return true;
    switch (so_far->kind) {
    case CBK_REF_FLOAT:
        if (isnan(so_far->f)) return false;
        return isnan(value.f) || (wants_max ? value.f > so_far->f : value.f < so_far->f);
    case CBK_REF_SIGNED:
        return wants_max ? value.i > (int64_t)so_far->i : value.i < (int64_t)so_far->i;
    default:
        return wants_max ? (uint64_t)value.i > so_far->i : (uint64_t)value.i < so_far->i;
    }
}

static void take(struct running *so_far, struct cbk_ref_value value) {
    switch (so_far->opcode) {
    case CBK_OP_CUMSUM:
        so_far->f += value.f;
        so_far->i += (uint64_t)value.i;
        break;
    case CBK_OP_CUMPROD:
        so_far->f *= value.f;
        so_far->i *= (uint64_t)value.i;
        break;
    case CBK_OP_LOGCUMSUMEXP:
        so_far->f = add_exponentials(so_far->f, value.f);
        break;
    default:
        if (!beats(so_far, value)) break;
        so_far->f = value.f;
        so_far->i = (uint64_t)value.i;
        so_far->is_started = true;
        break;
    }
}

/// The least number of the dtype, or the greatest.
static struct cbk_ref_value extreme(cbk_dtype dtype, bool wants_least) {
    uint32_t bits = 8 * cbk_dtype_size(dtype);
    struct cbk_ref_value value = {.kind = cbk_ref_kind_of(dtype)};
    if (value.kind == CBK_REF_FLOAT) {
        value.f = wants_least ? -INFINITY : INFINITY;
    } else {
        uint64_t all = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
        uint64_t top = value.kind == CBK_REF_SIGNED ? all >> 1 : all;
        value.i = (int64_t)(wants_least ? ~top & all : top);
    }
    return value;
}

static struct cbk_ref_value result(const struct running *so_far, cbk_dtype dtype) {
    bool is_extremum = so_far->opcode == CBK_OP_CUMMAX || so_far->opcode == CBK_OP_CUMMIN;
    if (is_extremum && !so_far->is_started) return extreme(dtype, so_far->opcode == CBK_OP_CUMMAX);
    return (struct cbk_ref_value){
        .kind = so_far->kind, .f = (double)so_far->f, .i = (int64_t)so_far->i};
}

/// Sums of integers wrap in 32 bits unless the input or the result is wider.
static struct cbk_ref_value wrapped(struct cbk_ref_value value, cbk_dtype x, cbk_dtype out) {
    if (value.kind == CBK_REF_FLOAT || cbk_dtype_size(x) > 4 || cbk_dtype_size(out) > 4)
        return value;
    uint32_t low = (uint32_t)value.i;
    value.i = value.kind == CBK_REF_SIGNED ? (int32_t)low : (int64_t)low;
    return value;
}

static void scan_row(const cbk_op *op, const struct cbk_ref_view *x, int64_t x_at,
                     const struct cbk_ref_view *out, int64_t out_at) {
    const cbk_scan_params *params = op->params;
    uint32_t axis = (uint32_t)params->axis;
    struct running so_far = nothing(op->opcode, x->dtype);
    for (int64_t k = 0; k < x->shape[axis]; k++) {
        int64_t i = params->reversed ? x->shape[axis] - 1 - k : k;
        struct running before = so_far;
        take(&so_far, cbk_ref_load(x->data, x->dtype, x_at + i * x->strides[axis]));
        struct cbk_ref_value value = result(params->exclusive ? &before : &so_far, out->dtype);
        cbk_ref_store(out->data, out->dtype, out_at + i * out->strides[axis],
                      wrapped(value, x->dtype, out->dtype));
    }
}

cbk_status cbk_ref_scan(struct cbk_ref_stream *stream, const cbk_op *op) {
    const cbk_scan_params *params = op->params;
    struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    (void)stream;
    if (op->opcode > CBK_OP_LOGCUMSUMEXP) return cbk_ref_unknown(op);

    uint32_t others = ((1u << x.rank) - 1) & ~(1u << params->axis);
    struct cbk_ref_view x_rows = cbk_ref_sub_view(&x, others);
    struct cbk_ref_view out_rows = cbk_ref_sub_view(&out, others);
    for (int64_t i = 0; i < x_rows.count; i++)
        scan_row(op, &x, cbk_ref_at(&x_rows, i), &out, cbk_ref_at(&out_rows, i));
    return CBK_OK;
}
