// sort.c: rows in order: sort, topk, median, quantile.

#include "reference.h"

#include <math.h>
#include <string.h>

// ---- one row ------------------------------------------------------------------------------------

/// A row of x and the order of its positions.
struct row {
    const struct cbk_ref_view *x;
    int64_t base, stride, length;
    bool is_descending;
    int64_t *order, *scratch; ///< of `length`
};

static struct cbk_ref_value get(const struct row *row, int64_t i) {
    return cbk_ref_load(row->x->data, row->x->dtype, row->base + i * row->stride);
}

/// NaN is greater than all else.
static bool is_less(struct cbk_ref_value a, struct cbk_ref_value b) {
    switch (a.kind) {
    case CBK_REF_FLOAT:
        return !isnan(a.f) && (isnan(b.f) || a.f < b.f);
    case CBK_REF_SIGNED:
        return a.i < b.i;
    default:
        return (uint64_t)a.i < (uint64_t)b.i;
    }
}

static bool comes_before(const struct row *row, int64_t i, int64_t k) {
    struct cbk_ref_value a = get(row, i), b = get(row, k);
    return row->is_descending ? is_less(b, a) : is_less(a, b);
}

/// Merges the runs [begin, middle) and [middle, end); of equal elements those of the first go first.
static void merge(struct row *row, int64_t begin, int64_t middle, int64_t end) {
    int64_t a = begin, b = middle;
    for (int64_t i = begin; i < end; i++) {
        bool takes_b = b < end && (a == middle || comes_before(row, row->order[b], row->order[a]));
        row->scratch[i] = takes_b ? row->order[b++] : row->order[a++];
    }
    memcpy(row->order + begin, row->scratch + begin, (size_t)(end - begin) * sizeof *row->order);
}

static void sort_row(struct row *row) {
    for (int64_t i = 0; i < row->length; i++) row->order[i] = i;
    for (int64_t run = 1; run < row->length; run *= 2)
        for (int64_t begin = 0; begin + run < row->length; begin += 2 * run) {
            int64_t end = begin + 2 * run < row->length ? begin + 2 * run : row->length;
            merge(row, begin, begin + run, end);
        }
}

// ---- sort, topk ---------------------------------------------------------------------------------

/// Where the results of a row go; `data` NULL: there are none of this kind.
struct target {
    struct cbk_ref_view view;
    struct cbk_ref_view rows;
    int64_t stride, length;
};

static struct target target_of(const cbk_tensor *tensor, uint32_t axis) {
    struct target target = {.view = cbk_ref_view_of(tensor)};
    target.rows = cbk_ref_sub_view(&target.view, ((1u << target.view.rank) - 1) & ~(1u << axis));
    target.stride = target.view.strides[axis];
    target.length = target.view.shape[axis];
    return target;
}

static void put_row(const cbk_op *op, const struct row *row, struct target *targets, int64_t i) {
    bool is_arg = op->opcode == CBK_OP_ARGSORT || op->opcode == CBK_OP_ARGTOPK;
    for (uint32_t k = 0; k < op->output_count; k++) {
        struct target *to = &targets[k];
        int64_t at = cbk_ref_at(&to->rows, i);
        for (int64_t j = 0; j < to->length; j++) {
            if (is_arg || k == 1)
                cbk_ref_put_int(to->view.data, to->view.dtype, at + j * to->stride, row->order[j]);
            else
                cbk_ref_copy_element(&to->view, at + j * to->stride, row->x,
                                     row->base + row->order[j] * row->stride);
        }
    }
}

// ---- median, quantile ---------------------------------------------------------------------------

/// A row sorts its NaN to the end.
static bool has_nan(const struct row *row) {
    struct cbk_ref_value last = get(row, row->order[row->length - 1]);
    return last.kind == CBK_REF_FLOAT && isnan(last.f);
}

static double interpolate(double a, double b, double t, uint32_t interpolation) {
    if (a == b || t == 0) return a;
    if (interpolation == CBK_QUANTILE_MIDPOINT) return a / 2 + b / 2;
    if (isinf(b - a)) return a * (1 - t) + b * t;
    return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

static double quantile(const struct row *row, double q, uint32_t interpolation) {
    double place = q * (double)(row->length - 1);
    if (interpolation == CBK_QUANTILE_LOWER) place = floor(place);
    if (interpolation == CBK_QUANTILE_HIGHER) place = ceil(place);
    if (interpolation == CBK_QUANTILE_NEAREST) place = rint(place);
    int64_t i = (int64_t)floor(place);
    int64_t next = i + 1 < row->length ? i + 1 : i;
    return interpolate(get(row, row->order[i]).f, get(row, row->order[next]).f, place - (double)i,
                       interpolation);
}

static void put_median(const struct row *row, const struct cbk_ref_view *out, int64_t at) {
    int64_t i = has_nan(row) ? row->length - 1 : (row->length - 1) / 2;
    cbk_ref_copy_element(out, at, row->x, row->base + row->order[i] * row->stride);
}

/// The i-th of `rows` results of each q, one q after the other.
static void put_quantiles(const cbk_quantile_params *params, const struct row *row,
                          const struct cbk_ref_view *out, int64_t i, int64_t rows) {
    uint32_t count = params->count ? params->count : 1;
    for (uint32_t k = 0; k < count; k++) {
        double value = has_nan(row) ? NAN : quantile(row, params->q[k], params->interpolation);
        cbk_ref_put_result(out->data, out->dtype, cbk_ref_at(out, k * rows + i), value);
    }
}

// ---- all rows -----------------------------------------------------------------------------------

/// sort, topk, median and quantile params all begin with the axis.
static uint32_t axis_of(const cbk_op *op) {
    return (uint32_t)((const cbk_axis_params *)op->params)->axis;
}

static bool is_descending(const cbk_op *op) {
    if (op->opcode <= CBK_OP_SORT_WITH_INDICES)
        return ((const cbk_sort_params *)op->params)->descending != 0;
    if (op->opcode <= CBK_OP_TOPK_WITH_INDICES)
        return ((const cbk_topk_params *)op->params)->ascending == 0;
    return false;
}

static void do_rows(const cbk_op *op, struct row *row) {
    const struct cbk_ref_view *x = row->x;
    uint32_t axis = axis_of(op);
    struct cbk_ref_view rows = cbk_ref_sub_view(x, ((1u << x->rank) - 1) & ~(1u << axis));
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    bool is_order = op->opcode <= CBK_OP_TOPK_WITH_INDICES;
    struct target targets[2];
    for (uint32_t k = 0; is_order && k < op->output_count; k++)
        targets[k] = target_of(op->outputs[k], axis);
    for (int64_t i = 0; i < rows.count; i++) {
        row->base = cbk_ref_at(&rows, i);
        sort_row(row);
        if (is_order)
            put_row(op, row, targets, i);
        else if (op->opcode == CBK_OP_MEDIAN)
            put_median(row, &out, cbk_ref_at(&out, i));
        else
            put_quantiles(op->params, row, &out, i, rows.count);
    }
}

cbk_status cbk_ref_sort(struct cbk_ref_stream *stream, const cbk_op *op) {
    struct cbk_ref *ref = stream->device->ref;
    struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    if (op->opcode > CBK_OP_QUANTILE) return cbk_ref_unknown(op);

    uint32_t axis = axis_of(op);
    struct row row = {.x = &x,
                      .stride = x.strides[axis],
                      .length = x.shape[axis],
                      .is_descending = is_descending(op)};
    size_t size = 2 * (size_t)row.length * sizeof *row.order;
    row.order = cbk_ref_alloc(ref, size);
    if (!row.order)
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no memory to sort %lld elements",
                        (long long)row.length);
    row.scratch = row.order + row.length;
    do_rows(op, &row);
    cbk_ref_free(ref, row.order, size);
    return CBK_OK;
}
