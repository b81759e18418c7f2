// norm.c: normalisations, their gradients, and the gradients of softmax, row by row.

#include "reference.h"

#include <math.h>

/// A tensor whose last axes make rows.
struct rows {
    struct cbk_ref_view view, outer, inner; ///< inner has no offset
};

static struct rows rows_of(const cbk_tensor *tensor, uint32_t axis_count) {
    struct rows rows = {.view = cbk_ref_view_of(tensor)};
    const uint32_t all = (1u << rows.view.rank) - 1;
    const uint32_t last = all & ~((1u << (rows.view.rank - axis_count)) - 1);
    rows.outer = cbk_ref_sub_view(&rows.view, all & ~last);
    rows.inner = cbk_ref_sub_view(&rows.view, last);
    rows.inner.offset = 0;
    return rows;
}

static int64_t place(const struct rows *rows, int64_t row, int64_t i) {
    return cbk_ref_at(&rows->outer, row) + cbk_ref_at(&rows->inner, i);
}

static double get(const struct rows *rows, int64_t row, int64_t i) {
    return cbk_ref_get_float(rows->view.data, rows->view.dtype, place(rows, row, i));
}

static void put(const struct rows *rows, int64_t row, int64_t i, double value) {
    cbk_ref_put_result(rows->view.data, rows->view.dtype, place(rows, row, i), value);
}

/// Element i of a factor in row-major order, or `fallback` if it was left out.
static double factor(const cbk_tensor *tensor, int64_t i, double fallback) {
    if (tensor == NULL) return fallback;
    const struct cbk_ref_view view = cbk_ref_view_of(tensor);
    return cbk_ref_get_float(view.data, view.dtype, cbk_ref_at(&view, i));
}

static const cbk_tensor *optional(const cbk_op *op, uint32_t i) {
    return i < op->input_count ? op->inputs[i] : NULL;
}

// ---- rows ---------------------------------------------------------------------------------------

struct moments {
    long double mean, rstd; ///< mean 0 for rms_norm
};

static struct moments moments_of(const struct rows *x, int64_t row, bool is_centered, double eps) {
    const int64_t length = x->inner.count;
    struct moments moments = {0, 0};
    long double squares = 0;
    for (int64_t i = 0; i < length && is_centered; i++) moments.mean += get(x, row, i);
    moments.mean /= (long double)length;
    for (int64_t i = 0; i < length; i++) {
        long double apart = get(x, row, i) - moments.mean;
        squares += apart * apart;
    }
    moments.rstd = 1 / sqrtl(squares / (long double)length + eps);
    return moments;
}

static void normalise(const cbk_op *op, bool is_centered) {
    const cbk_layer_norm_params *params = op->params;
    const struct rows x = rows_of(op->inputs[0], params->axis_count);
    const struct rows y = rows_of(op->outputs[0], params->axis_count);
    for (int64_t row = 0; row < x.outer.count; row++) {
        const struct moments m = moments_of(&x, row, is_centered, params->eps);
        for (int64_t i = 0; i < x.inner.count; i++) {
            const long double z = (get(&x, row, i) - m.mean) * m.rstd;
            put(&y, row, i,
                (double)(z * factor(optional(op, 1), i, 1) + factor(optional(op, 2), i, 0)));
        }
    }
}

static void differentiate_x(const cbk_op *op, bool is_centered) {
    const cbk_layer_norm_params *params = op->params;
    const struct rows g = rows_of(op->inputs[0], params->axis_count);
    const struct rows x = rows_of(op->inputs[1], params->axis_count);
    const struct rows dx = rows_of(op->outputs[0], params->axis_count);
    const int64_t length = x.inner.count;
    for (int64_t row = 0; row < x.outer.count; row++) {
        const struct moments m = moments_of(&x, row, is_centered, params->eps);
        long double sum = 0, product = 0;
        for (int64_t i = 0; i < length; i++) {
            const long double h = get(&g, row, i) * factor(optional(op, 2), i, 1);
            sum += h;
            product += h * (get(&x, row, i) - m.mean) * m.rstd;
        }
        for (int64_t i = 0; i < length; i++) {
            const long double h = get(&g, row, i) * factor(optional(op, 2), i, 1);
            const long double z = (get(&x, row, i) - m.mean) * m.rstd;
            const long double mean = is_centered ? sum / (long double)length : 0;
            put(&dx, row, i, (double)((h - mean - z * product / (long double)length) * m.rstd));
        }
    }
}

/// Outputs 1 and 2: the sums over rows of g z and of g.
static void differentiate_factors(const cbk_op *op, bool is_centered) {
    const cbk_layer_norm_params *params = op->params;
    const struct rows g = rows_of(op->inputs[0], params->axis_count);
    const struct rows x = rows_of(op->inputs[1], params->axis_count);
    for (uint32_t k = 1; k < op->output_count; k++) {
        const struct cbk_ref_view out = cbk_ref_view_of(op->outputs[k]);
        for (int64_t i = 0; i < out.count; i++) {
            long double total = 0;
            for (int64_t row = 0; row < x.outer.count; row++) {
                long double z = 1;
                if (k == 1) {
                    const struct moments m = moments_of(&x, row, is_centered, params->eps);
                    z = (get(&x, row, i) - m.mean) * m.rstd;
                }
                total += get(&g, row, i) * z;
            }
            cbk_ref_put_result(out.data, out.dtype, cbk_ref_at(&out, i), (double)total);
        }
    }
}

static void batch_norm(const cbk_op *op) {
    const cbk_layer_norm_params *params = op->params;
    const struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    const struct cbk_ref_view y = cbk_ref_view_of(op->outputs[0]);
    for (int64_t i = 0; i < x.count; i++) {
        int64_t at[CBK_MAX_RANK];
        cbk_ref_coordinates(&x, i, at);
        const int64_t c = at[1];
        const long double value = cbk_ref_get_float(x.data, x.dtype, cbk_ref_at(&x, i));
        const long double z = (value - factor(op->inputs[1], c, 0)) /
                              sqrtl(factor(op->inputs[2], c, 0) + (long double)params->eps);
        cbk_ref_put_result(
            y.data, y.dtype, cbk_ref_at(&y, i),
            (double)(z * factor(optional(op, 3), c, 1) + factor(optional(op, 4), c, 0)));
    }
}

cbk_status cbk_ref_normalise(struct cbk_ref_stream *stream, const cbk_op *op) {
    const bool is_centered =
        op->opcode == CBK_OP_LAYER_NORM || op->opcode == CBK_OP_LAYER_NORM_BACKWARD;
    (void)stream;
    switch (op->opcode) {
    case CBK_OP_LAYER_NORM:
    case CBK_OP_RMS_NORM:
        normalise(op, is_centered);
        return CBK_OK;
    case CBK_OP_LAYER_NORM_BACKWARD:
    case CBK_OP_RMS_NORM_BACKWARD:
        differentiate_x(op, is_centered);
        differentiate_factors(op, is_centered);
        return CBK_OK;
    case CBK_OP_BATCH_NORM:
        batch_norm(op);
        return CBK_OK;
    default:
        return cbk_ref_unknown(op);
    }
}
