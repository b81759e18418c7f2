// reduce.c: one result per position of the kept axes, over all positions of the reduced ones.

#include "reference.h"

#include <math.h>

/// The elements that make one result: `inner` walks the reduced axes from `base`.
struct group {
    const struct cbk_ref_view *inner;
    int64_t base;
};

static int64_t group_at(const struct group *group, int64_t i) {
    return group->base + cbk_ref_at(group->inner, i);
}

// ---- sums and products -------------------------------------------------------------------------

static double accumulate_float(cbk_opcode opcode, const struct group *group) {
    const struct cbk_ref_view *x = group->inner;
    long double total = opcode == CBK_OP_PROD ? 1 : 0;
    for (int64_t i = 0; i < x->count; i++) {
        double value = cbk_ref_get_float(x->data, x->dtype, group_at(group, i));
        total = opcode == CBK_OP_PROD ? total * value : total + value;
    }
    return (double)(opcode == CBK_OP_MEAN ? total / (long double)x->count : total);
}

/// Cuts to `width` bits and extends again.
static int64_t wrap(uint64_t value, uint32_t width, bool is_signed) {
    if (width >= 64) return (int64_t)value;
    uint64_t cut = value & (((uint64_t)1 << width) - 1);
    bool is_negative = is_signed && cut >> (width - 1) & 1;
    return is_negative ? (int64_t)(cut | ~(((uint64_t)1 << width) - 1)) : (int64_t)cut;
}

static int64_t accumulate_int(cbk_opcode opcode, const struct group *group, cbk_dtype out_dtype) {
    const struct cbk_ref_view *x = group->inner;
    bool is_signed = cbk_ref_kind_of(x->dtype) == CBK_REF_SIGNED;
    uint32_t width = 32; // of the accumulator
    if (cbk_dtype_size(x->dtype) > 4 || cbk_dtype_size(out_dtype) > 4) width = 64;

    uint64_t total = opcode == CBK_OP_PROD ? 1 : 0;
    for (int64_t i = 0; i < x->count; i++) {
        uint64_t value = (uint64_t)cbk_ref_get_int(x->data, x->dtype, group_at(group, i));
        total = opcode == CBK_OP_PROD ? total * value : total + value;
    }
    int64_t wrapped = wrap(total, width, is_signed);
    if (opcode != CBK_OP_MEAN) return wrapped;
    return is_signed ? wrapped / x->count : (int64_t)((uint64_t)wrapped / (uint64_t)x->count);
}

static void accumulate(cbk_opcode opcode, const struct group *group, const struct cbk_ref_view *out,
                       int64_t out_at) {
    struct cbk_ref_value total = {.kind = cbk_ref_kind_of(group->inner->dtype)};
    if (total.kind == CBK_REF_FLOAT)
        total.f = accumulate_float(opcode, group);
    else
        total.i = accumulate_int(opcode, group, out->dtype);
    cbk_ref_store(out->data, out->dtype, out_at, total);
}

// ---- extrema -----------------------------------------------------------------------------------

/// Does `b` beat `a`? The first NaN beats everything.
static bool beats(struct cbk_ref_value b, struct cbk_ref_value a, bool wants_max) {
    switch (a.kind) {
    case CBK_REF_FLOAT:
        if (isnan(a.f)) return false;
        if (isnan(b.f)) return true;
        return wants_max ? b.f > a.f : b.f < a.f;
    case CBK_REF_SIGNED:
        return wants_max ? b.i > a.i : b.i < a.i;
    default:
        return wants_max ? (uint64_t)b.i > (uint64_t)a.i : (uint64_t)b.i < (uint64_t)a.i;
    }
}

/// Position of the winner within the group, which is not empty.
static int64_t find_extremum(const struct group *group, bool wants_max) {
    const struct cbk_ref_view *x = group->inner;
    int64_t best = 0;
    struct cbk_ref_value best_value = cbk_ref_load(x->data, x->dtype, group_at(group, 0));
    for (int64_t i = 1; i < x->count; i++) {
        struct cbk_ref_value value = cbk_ref_load(x->data, x->dtype, group_at(group, i));
        if (!beats(value, best_value, wants_max)) continue;
        best = i;
        best_value = value;
    }
    return best;
}

// ---- any, all, count_nonzero -------------------------------------------------------------------

static bool any_or_all(const struct group *group, bool wants_all) {
    const struct cbk_ref_view *x = group->inner;
    for (int64_t i = 0; i < x->count; i++) {
        bool is_true = cbk_ref_is_true(x, group_at(group, i));
        if (is_true != wants_all) return is_true;
    }
    return wants_all;
}

static int64_t count_nonzero(const struct group *group) {
    int64_t count = 0;
    for (int64_t i = 0; i < group->inner->count; i++)
        count += cbk_ref_is_true(group->inner, group_at(group, i));
    return count;
}

// ---- the loop over results ---------------------------------------------------------------------

static void reduce_group(cbk_opcode opcode, const struct group *group,
                         const struct cbk_ref_view *out, int64_t out_at) {
    bool wants_max = opcode == CBK_OP_MAX || opcode == CBK_OP_ARGMAX;
    switch (opcode) {
    case CBK_OP_MAX:
    case CBK_OP_MIN: {
        int64_t at = group_at(group, find_extremum(group, wants_max));
        struct cbk_ref_value value = cbk_ref_load(group->inner->data, group->inner->dtype, at);
        cbk_ref_store(out->data, out->dtype, out_at, value);
        break;
    }
    case CBK_OP_ARGMAX:
    case CBK_OP_ARGMIN:
        cbk_ref_put_int(out->data, out->dtype, out_at, find_extremum(group, wants_max));
        break;
    case CBK_OP_ANY:
    case CBK_OP_ALL:
        cbk_ref_put_int(out->data, out->dtype, out_at, any_or_all(group, opcode == CBK_OP_ALL));
        break;
    case CBK_OP_COUNT_NONZERO:
        cbk_ref_put_int(out->data, out->dtype, out_at, count_nonzero(group));
        break;
    default:
        accumulate(opcode, group, out, out_at);
        break;
    }
}

cbk_status cbk_ref_reduce(struct cbk_ref_stream *stream, const cbk_op *op) {
    const cbk_reduce_params *params = op->params;
    struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    (void)stream;
    if (op->opcode > CBK_OP_ALL && op->opcode != CBK_OP_COUNT_NONZERO) return cbk_ref_unknown(op);

    uint32_t all_axes = (1u << x.rank) - 1, reduced = 0;
    for (uint32_t i = 0; i < params->axis_count; i++) reduced |= 1u << params->axes[i];
    if (params->axis_count == 0) reduced = all_axes;
    struct cbk_ref_view kept = cbk_ref_sub_view(&x, all_axes & ~reduced);
    struct cbk_ref_view inner = cbk_ref_sub_view(&x, reduced);
    inner.offset = 0; // `kept` has it

    // Reduced axes have length 1 in `out` or are gone: its order is that of `kept` either way.
    for (int64_t i = 0; i < out.count; i++) {
        struct group group = {&inner, cbk_ref_at(&kept, i)};
        reduce_group(op->opcode, &group, &out, cbk_ref_at(&out, i));
    }
    return CBK_OK;
}
