// grid_sample.c: images at places between their elements.

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

static double padded(const struct axis *axis, double at) {
    const double length = (double)axis->length;
    if (axis->params->padding == CBK_SAMPLE_ZEROS) return at;
    if (axis->params->padding == CBK_SAMPLE_REFLECTION) {
        const double low = axis->params->align_corners ? 0 : -0.5, span = length - 1 - 2 * low;
        const double away = rounded(axis, fabs(rounded(axis, at - low)));
        const double rest = span > 0 ? fmod(away, 2 * span) : 0;
        at = rounded(axis, rounded(axis, rest > span ? 2 * span - rest : rest) + low);
    }
    return at > 0 ? fmin(at, length - 1) : 0; // NaN: 0
}

struct taps {
    int count;
    double weights[4];
    int64_t places[4]; ///< -1: outside
};

static void put_tap(const struct axis *axis, struct taps *taps, double at, double weight) {
    const bool exists = at >= 0 && at < (double)axis->length;
    taps->places[taps->count] = exists ? (int64_t)at : -1;
    taps->weights[taps->count++] = weight;
}

/// Keys' kernel with a = -3/4.
static double cubic(double d) {
    d = fabs(d);
    return d <= 1 ? (1.25 * d - 2.25) * d * d + 1 : ((-0.75 * d + 3.75) * d - 6) * d + 3;
}

static struct taps find_taps(const struct axis *axis, double g) {
    struct taps taps = {.count = 0};
    const double raw = coordinate(axis, g);
    if (axis->params->mode == CBK_SAMPLE_BICUBIC) {
        const double first = floor(raw);
        for (int i = -1; i < 3; i++) {
            const double at = rounded(axis, first + i);
            put_tap(axis, &taps, padded(axis, at), cubic(raw - first - i));
        }
        return taps;
    }
    const double at = padded(axis, raw), first = floor(at);
    if (axis->params->mode == CBK_SAMPLE_NEAREST) {
        put_tap(axis, &taps, rint(at), 1);
        return taps;
    }
    put_tap(axis, &taps, first, 1 - (at - first));
    put_tap(axis, &taps, rounded(axis, first + 1), at - first);
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

cbk_status cbk_ref_grid_sample(const cbk_op *op) {
    const struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    const struct cbk_ref_view grid = cbk_ref_view_of(op->inputs[1]);
    const struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    const bool is_f64 = x.dtype == CBK_DTYPE_F64;
    const struct axis height = {x.shape[2], op->params, is_f64};
    const struct axis width = {x.shape[3], op->params, is_f64};
    int64_t place[CBK_MAX_RANK];
    for (int64_t i = 0; i < out.count; i++) {
        cbk_ref_coordinates(&out, i, place);
        const int64_t at = grid.offset + place[0] * grid.strides[0] + place[2] * grid.strides[1] +
                           place[3] * grid.strides[2];
        const struct taps columns = find_taps(&width, cbk_ref_get_float(grid.data, grid.dtype, at));
        const struct taps rows =
            find_taps(&height, cbk_ref_get_float(grid.data, grid.dtype, at + grid.strides[3]));
        const int64_t plane = x.offset + place[0] * x.strides[0] + place[1] * x.strides[1];
        cbk_ref_put_result(out.data, out.dtype, cbk_ref_at(&out, i),
                           value_at(&x, plane, &rows, &columns));
    }
    return CBK_OK;
}
