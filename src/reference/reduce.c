// reduce.c: one result per position of the kept axes, over all positions of the reduced ones.

#include "statistics.h"

#include <math.h>

// ---- sums and products -------------------------------------------------------------------------

static double accumulate_float(cbk_opcode opcode, const struct cbk_ref_group *group) {
    const struct cbk_ref_view *x = group->inner;
    long double total = opcode == CBK_OP_PROD ? 1 : 0;
    for (int64_t i = 0; i < x->count; i++) {
        double value = cbk_ref_get_float(x->data, x->dtype, cbk_ref_group_at(group, i));
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

static int64_t accumulate_int(cbk_opcode opcode, const struct cbk_ref_group *group,
                              cbk_dtype out_dtype) {
    const struct cbk_ref_view *x = group->inner;
    bool is_signed = cbk_ref_kind_of(x->dtype) == CBK_REF_SIGNED;
    uint32_t width = 32; // of the accumulator
    if (cbk_dtype_size(x->dtype) > 4 || cbk_dtype_size(out_dtype) > 4) width = 64;

    uint64_t total = opcode == CBK_OP_PROD ? 1 : 0;
    for (int64_t i = 0; i < x->count; i++) {
        uint64_t value = (uint64_t)cbk_ref_get_int(x->data, x->dtype, cbk_ref_group_at(group, i));
        total = opcode == CBK_OP_PROD ? total * value : total + value;
    }
    int64_t wrapped = wrap(total, width, is_signed);
    if (opcode != CBK_OP_MEAN) return wrapped;
    return is_signed ? wrapped / x->count : (int64_t)((uint64_t)wrapped / (uint64_t)x->count);
}

static void accumulate(cbk_opcode opcode, const struct cbk_ref_group *group,
                       const struct cbk_ref_view *out, int64_t out_at) {
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

/// An element, or its size. |MIN| is MIN.
static struct cbk_ref_value candidate(const struct cbk_ref_group *group, int64_t i, bool is_size) {
    const struct cbk_ref_view *x = group->inner;
    struct cbk_ref_value value = cbk_ref_load(x->data, x->dtype, cbk_ref_group_at(group, i));
    if (!is_size) return value;
    value.f = fabs(value.f);
    if (value.kind == CBK_REF_SIGNED && value.i < 0)
        value.i = wrap(0 - (uint64_t)value.i, 8 * cbk_dtype_size(x->dtype), true);
    return value;
}

/// Position of the winner within the group, which is not empty, and its value.
static int64_t find_extremum(const struct cbk_ref_group *group, bool wants_max, bool is_size,
                             struct cbk_ref_value *out_value) {
    int64_t best = 0;
    *out_value = candidate(group, 0, is_size);
    for (int64_t i = 1; i < group->inner->count; i++) {
        struct cbk_ref_value value = candidate(group, i, is_size);
        if (!beats(value, *out_value, wants_max)) continue;
        best = i;
        *out_value = value;
    }
    return best;
}

// ---- any, all, count_nonzero -------------------------------------------------------------------

static bool any_or_all(const struct cbk_ref_group *group, bool wants_all) {
    const struct cbk_ref_view *x = group->inner;
    for (int64_t i = 0; i < x->count; i++) {
        bool is_true = cbk_ref_is_true(x, cbk_ref_group_at(group, i));
        if (is_true != wants_all) return is_true;
    }
    return wants_all;
}

static int64_t count_nonzero(const struct cbk_ref_group *group) {
    int64_t count = 0;
    for (int64_t i = 0; i < group->inner->count; i++)
        count += cbk_ref_is_true(group->inner, cbk_ref_group_at(group, i));
    return count;
}

// ---- the loop over results ---------------------------------------------------------------------

/// Where results go: the same element of one or two outputs.
struct place {
    struct cbk_ref_view view;
    int64_t at;
};

static void store_extremum(cbk_opcode opcode, const struct cbk_ref_group *group,
                           const struct place *out) {
    const bool wants_max = opcode == CBK_OP_MAX || opcode == CBK_OP_ARGMAX ||
                           opcode == CBK_OP_MAX_ABS || opcode == CBK_OP_MAX_WITH_INDICES;
    const bool is_arg = opcode == CBK_OP_ARGMAX || opcode == CBK_OP_ARGMIN;
    const bool is_pair = opcode == CBK_OP_MAX_WITH_INDICES || opcode == CBK_OP_MIN_WITH_INDICES;
    const bool is_size = opcode == CBK_OP_MAX_ABS || opcode == CBK_OP_MIN_ABS;
    struct cbk_ref_value value;
    const int64_t index = find_extremum(group, wants_max, is_size, &value);
    const struct place *index_out = is_pair ? &out[1] : &out[0];
    if (!is_arg) cbk_ref_store(out->view.data, out->view.dtype, out->at, value);
    if (is_arg || is_pair)
        cbk_ref_put_int(index_out->view.data, index_out->view.dtype, index_out->at, index);
}

static void reduce_group(const cbk_op *op, const struct cbk_ref_group *group,
                         const struct place *out) {
    void *data = out->view.data;
    const cbk_dtype dtype = out->view.dtype;
    double variance;
    switch (op->opcode) {
    case CBK_OP_SUM:
    case CBK_OP_MEAN:
    case CBK_OP_PROD:
        accumulate(op->opcode, group, &out->view, out->at);
        break;
    case CBK_OP_ANY:
    case CBK_OP_ALL:
        cbk_ref_put_int(data, dtype, out->at, any_or_all(group, op->opcode == CBK_OP_ALL));
        break;
    case CBK_OP_VAR:
    case CBK_OP_STD:
    case CBK_OP_VAR_MEAN:
        variance = cbk_ref_variance(group, ((const cbk_variance_params *)op->params)->correction);
        cbk_ref_put_result(data, dtype, out->at,
                           op->opcode == CBK_OP_STD ? sqrt(variance) : variance);
        if (op->opcode == CBK_OP_VAR_MEAN)
            cbk_ref_put_result(out[1].view.data, dtype, out[1].at, cbk_ref_mean(group));
        break;
    case CBK_OP_NORM:
        cbk_ref_put_result(data, dtype, out->at,
                           cbk_ref_norm(group, ((const cbk_norm_params *)op->params)->p.v.f));
        break;
    case CBK_OP_LOGSUMEXP:
        cbk_ref_put_result(data, dtype, out->at, cbk_ref_logsumexp(group));
        break;
    case CBK_OP_COUNT_NONZERO:
        cbk_ref_put_int(data, dtype, out->at, count_nonzero(group));
        break;
    default:
        store_extremum(op->opcode, group, out);
        break;
    }
}

cbk_status cbk_ref_reduce(struct cbk_ref_stream *stream, const cbk_op *op) {
    const cbk_reduce_params *params = op->params; // the params of all rows begin like these
    struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    struct place out[2];
    (void)stream;
    if (op->opcode > CBK_OP_MIN_WITH_INDICES && op->opcode != CBK_OP_COUNT_NONZERO)
        return cbk_ref_unknown(op);
    for (uint32_t k = 0; k < op->output_count; k++) out[k].view = cbk_ref_view_of(op->outputs[k]);

    uint32_t all_axes = (1u << x.rank) - 1, reduced = 0;
    for (uint32_t i = 0; i < params->axis_count; i++) reduced |= 1u << params->axes[i];
    if (params->axis_count == 0) reduced = all_axes;
    struct cbk_ref_view kept = cbk_ref_sub_view(&x, all_axes & ~reduced);
    struct cbk_ref_view inner = cbk_ref_sub_view(&x, reduced);
    inner.offset = 0; // `kept` has it

    // Reduced axes have length 1 in `out` or are gone: its order is that of `kept` either way.
    for (int64_t i = 0; i < out[0].view.count; i++) {
        struct cbk_ref_group group = {&inner, cbk_ref_at(&kept, i)};
        for (uint32_t k = 0; k < op->output_count; k++) out[k].at = cbk_ref_at(&out[k].view, i);
        reduce_group(op, &group, out);
    }
    return CBK_OK;
}
