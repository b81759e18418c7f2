// grid_sample.c: images at places between their elements, and the gradients.

#include "reference.h"

#include <math.h>

/// One axis of x.
struct axis {
    int64_t length;
    const cbk_grid_sample_params *params;
    bool is_f64; ///< coordinates are computed in f64, else in f32: they decide between elements
};

static double rounded(const struct axis *axis, double value) {
    return axis->is_f64 ? value : (double)(float)value;
}

/// From -1 .. 1 to elements.
static double coordinate(const struct axis *axis, double g) {
    const double length = (double)axis->length, one_more = rounded(axis, g + 1);
    if (axis->params->align_corners) return rounded(axis, one_more * 0.5 * (length - 1));
    return rounded(axis, rounded(axis, one_more * length) - 1) * 0.5;
}

/// *slope is multiplied by how the result grows with `at`: 0 where an edge holds it.
static double padded(const struct axis *axis, double at, double *slope) {
    const double length = (double)axis->length;
    if (axis->params->padding == CBK_SAMPLE_ZEROS) return at;
    if (axis->params->padding == CBK_SAMPLE_REFLECTION) {
        const double low = axis->params->align_corners ? 0 : -0.5, span = length - 1 - 2 * low;
        const double away = rounded(axis, at - low);
        const double rest = span > 0 ? fmod(fabs(away), 2 * span) : 0;
        if ((rest > span) != (away < 0)) *slope = -*slope;
        at = rounded(axis, rounded(axis, rest > span ? 2 * span - rest : rest) + low);
    }
    if (!(at > 0 && at < length - 1)) *slope = 0;
    return at > 0 ? fmin(at, length - 1) : 0; // NaN: 0
}

struct taps {
    int count;
    double weights[4];
    double slopes[4];  ///< how the weights grow with the place in the grid
    int64_t places[4]; ///< -1: outside
};

static void put_tap(const struct axis *axis, struct taps *taps, double at, double weight,
                    double slope) {
    const bool exists = at >= 0 && at < (double)axis->length;
    taps->places[taps->count] = exists ? (int64_t)at : -1;
    taps->slopes[taps->count] = slope;
    taps->weights[taps->count++] = weight;
}

/// Keys' kernel with a = -3/4.
static double cubic(double d) {
    d = fabs(d);
    return d <= 1 ? (1.25 * d - 2.25) * d * d + 1 : ((-0.75 * d + 3.75) * d - 6) * d + 3;
}

static double cubic_slope(double d) {
    const double size = fabs(d);
    const double slope = size <= 1 ? (3.75 * size - 4.5) * size : (-2.25 * size + 7.5) * size - 6;
    return d < 0 ? -slope : slope;
}

static struct taps find_taps(const struct axis *axis, double g) {
    struct taps taps = {.count = 0};
    const double raw = coordinate(axis, g), length = (double)axis->length;
    double slope = (axis->params->align_corners ? length - 1 : length) / 2, ignored = 1;
    if (axis->params->mode == CBK_SAMPLE_BICUBIC) {
        const double first = floor(raw);
        for (int i = -1; i < 3; i++) {
            const double at = rounded(axis, first + i), d = raw - first - i;
            put_tap(axis, &taps, padded(axis, at, &ignored), cubic(d), slope * cubic_slope(d));
        }
        return taps;
    }
    const double at = padded(axis, raw, &slope), first = floor(at);
    if (axis->params->mode == CBK_SAMPLE_NEAREST) {
        put_tap(axis, &taps, rint(at), 1, 0);
        return taps;
    }
    put_tap(axis, &taps, first, 1 - (at - first), -slope);
    put_tap(axis, &taps, rounded(axis, first + 1), at - first, slope);
    return taps;
}

static double value_at(const struct cbk_ref_view *x, int64_t plane, const struct taps *rows,
                       const struct taps *columns) {
    double sum = 0;
    for (int j = 0; j < rows->count; j++) {
        for (int i = 0; i < columns->count; i++) {
            if (rows->places[j] < 0 || columns->places[i] < 0) continue;
            const int64_t at =
                plane + rows->places[j] * x->strides[2] + columns->places[i] * x->strides[3];
            sum +=
                rows->weights[j] * columns->weights[i] * cbk_ref_get_float(x->data, x->dtype, at);
        }
    }
    return sum;
}

/// Taps of a place in the grid.
struct sample {
    struct taps rows, columns;
};

static struct sample sample_of(const struct cbk_ref_view *x, const struct cbk_ref_view *grid,
                               const cbk_grid_sample_params *params, int64_t n, int64_t h,
                               int64_t w) {
    const bool is_f64 = x->dtype == CBK_DTYPE_F64;
    const struct axis height = {x->shape[2], params, is_f64};
    const struct axis width = {x->shape[3], params, is_f64};
    const int64_t at =
        grid->offset + n * grid->strides[0] + h * grid->strides[1] + w * grid->strides[2];
    return (struct sample){
        .rows =
            find_taps(&height, cbk_ref_get_float(grid->data, grid->dtype, at + grid->strides[3])),
        .columns = find_taps(&width, cbk_ref_get_float(grid->data, grid->dtype, at))};
}

cbk_status cbk_ref_grid_sample(const cbk_op *op) {
    const struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    const struct cbk_ref_view grid = cbk_ref_view_of(op->inputs[1]);
    const struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    int64_t place[CBK_MAX_RANK];
    for (int64_t i = 0; i < out.count; i++) {
        cbk_ref_coordinates(&out, i, place);
        const struct sample sample = sample_of(&x, &grid, op->params, place[0], place[2], place[3]);
        const int64_t plane = x.offset + place[0] * x.strides[0] + place[1] * x.strides[1];
        cbk_ref_put_result(out.data, out.dtype, cbk_ref_at(&out, i),
                           value_at(&x, plane, &sample.rows, &sample.columns));
    }
    return CBK_OK;
}

// ---- gradients ----------------------------------------------------------------------------------

/// Gives an element of the samples' gradient to the taps of its plane of sums.
static void give(double *plane, int64_t width, const struct sample *sample, double grad) {
    const struct taps *rows = &sample->rows, *columns = &sample->columns;
    for (int j = 0; j < rows->count; j++)
        for (int i = 0; i < columns->count; i++)
            if (rows->places[j] >= 0 && columns->places[i] >= 0)
                plane[rows->places[j] * width + columns->places[i]] +=
                    rows->weights[j] * columns->weights[i] * grad;
}

cbk_status cbk_ref_grid_sample_x_backward(struct cbk_ref *ref, const cbk_op *op) {
    const struct cbk_ref_view grid = cbk_ref_view_of(op->inputs[1]);
    const struct cbk_ref_view grad = cbk_ref_view_of(op->inputs[2]);
    const struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    const int64_t plane = out.shape[2] * out.shape[3];
    const size_t size = (size_t)out.count * sizeof(double);
    double *sums = cbk_ref_alloc(ref, size);
    int64_t place[CBK_MAX_RANK];
    if (sums == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    for (int64_t i = 0; i < out.count; i++) sums[i] = 0;
    for (int64_t i = 0; i < grad.count; i++) {
        cbk_ref_coordinates(&grad, i, place);
        const struct sample sample =
            sample_of(&out, &grid, op->params, place[0], place[2], place[3]);
        give(sums + (place[0] * out.shape[1] + place[1]) * plane, out.shape[3], &sample,
             cbk_ref_get_float(grad.data, grad.dtype, cbk_ref_at(&grad, i)));
    }
    for (int64_t i = 0; i < out.count; i++)
        cbk_ref_put_result(out.data, out.dtype, cbk_ref_at(&out, i), sums[i]);
    cbk_ref_free(ref, sums, size);
    return CBK_OK;
}

/// How a sample grows with its place along w, then along h: with slopes in the place of weights.
static void growth_at(const struct cbk_ref_view *x, int64_t plane, const struct sample *sample,
                      double out[2]) {
    struct taps rows = sample->rows, columns = sample->columns;
    for (int i = 0; i < 4; i++) {
        rows.weights[i] = rows.slopes[i];
        columns.weights[i] = columns.slopes[i];
    }
    out[0] = value_at(x, plane, &sample->rows, &columns);
    out[1] = value_at(x, plane, &rows, &sample->columns);
}

cbk_status cbk_ref_grid_sample_grid_backward(const cbk_op *op) {
    const struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    const struct cbk_ref_view grid = cbk_ref_view_of(op->inputs[1]);
    const struct cbk_ref_view grad = cbk_ref_view_of(op->inputs[2]);
    const struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    int64_t place[CBK_MAX_RANK];
    for (int64_t i = 0; i < out.count; i += 2) {
        double sums[2] = {0, 0};
        cbk_ref_coordinates(&out, i, place);
        const struct sample sample = sample_of(&x, &grid, op->params, place[0], place[1], place[2]);
        for (int64_t c = 0; c < x.shape[1]; c++) {
            const int64_t at = grad.offset + place[0] * grad.strides[0] + c * grad.strides[1] +
                               place[1] * grad.strides[2] + place[2] * grad.strides[3];
            const double of_sample = cbk_ref_get_float(grad.data, grad.dtype, at);
            double growth[2];
            growth_at(&x, x.offset + place[0] * x.strides[0] + c * x.strides[1], &sample, growth);
            for (int k = 0; k < 2; k++) sums[k] += of_sample * growth[k];
        }
        for (int k = 0; k < 2; k++)
            cbk_ref_put_result(out.data, out.dtype, cbk_ref_at(&out, i + k), sums[k]);
    }
    return CBK_OK;
}
