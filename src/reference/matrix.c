// matrix.c: eye, linspace, windows, triangles, diagonals, cross.

#include "reference.h"

#include <math.h>

#define PI 3.14159265358979323846

// ---- creation ----------------------------------------------------------------------------------

static void put_one(const struct cbk_ref_view *out, int64_t at, bool is_one) {
    const struct cbk_ref_value value = {.kind = CBK_REF_SIGNED, .i = is_one};
    cbk_ref_store(out->data, out->dtype, at, value);
}

void cbk_ref_eye(const cbk_eye_params *params, const struct cbk_ref_view *out) {
    int64_t place[CBK_MAX_RANK];
    for (int64_t i = 0; i < out->count; i++) {
        cbk_ref_coordinates(out, i, place);
        put_one(out, cbk_ref_at(out, i), place[1] - place[0] == params->offset);
    }
}

void cbk_ref_linspace(const cbk_create_params *params, const struct cbk_ref_view *out) {
    const double first = cbk_ref_scalar_float(params->value, 0, out->dtype);
    const double last = cbk_ref_scalar_float(params->step, 1, out->dtype);
    for (int64_t i = 0; i < out->count; i++) {
        double t = out->count > 1 ? (double)i / (double)(out->count - 1) : 0;
        cbk_ref_put_result(out->data, out->dtype, cbk_ref_at(out, i),
                           fma(t, last, fma(-t, first, first)));
    }
}

void cbk_ref_window(const cbk_window_params *params, const struct cbk_ref_view *out) {
    const double period = (double)(params->symmetric ? out->count - 1 : out->count);
    for (int64_t i = 0; i < out->count; i++) {
        const double turn = 2 * PI * (double)i / period;
        double value = params->kind == CBK_WINDOW_HANN ? pow(sin(turn / 2), 2)
                       : params->kind == CBK_WINDOW_HAMMING
                           ? 0.54 - 0.46 * cos(turn)
                           : 0.42 - 0.5 * cos(turn) + 0.08 * cos(2 * turn);
        if (out->count == 1) value = 1;
        cbk_ref_put_result(out->data, out->dtype, cbk_ref_at(out, i), value);
    }
}

// ---- the last two axes -------------------------------------------------------------------------

void cbk_ref_triangle(const cbk_op *op, const struct cbk_ref_view *x,
                      const struct cbk_ref_view *out) {
    const int64_t offset = ((const cbk_offset_params *)op->params)->offset;
    int64_t place[CBK_MAX_RANK];
    for (int64_t i = 0; i < out->count; i++) {
        cbk_ref_coordinates(out, i, place);
        const int64_t above = place[out->rank - 1] - place[out->rank - 2];
        const bool keeps = op->opcode == CBK_OP_TRIL ? above <= offset : above >= offset;
        if (keeps)
            cbk_ref_copy_element(out, cbk_ref_at(out, i), x, cbk_ref_at(x, i));
        else
            put_one(out, cbk_ref_at(out, i), false);
    }
}

void cbk_ref_diag_embed(const cbk_offset_params *params, const struct cbk_ref_view *x,
                        const struct cbk_ref_view *out) {
    const uint32_t row = out->rank - 2, column = out->rank - 1;
    struct cbk_ref_view diagonal = *out;
    for (int64_t i = 0; i < out->count; i++) put_one(out, cbk_ref_at(out, i), false);
    diagonal.rank = x->rank;
    diagonal.count = x->count;
    diagonal.shape[row] = x->shape[row];
    diagonal.strides[row] = out->strides[row] + out->strides[column];
    diagonal.offset += params->offset < 0 ? -params->offset * out->strides[row]
                                          : params->offset * out->strides[column];
    cbk_ref_copy_view(&diagonal, x);
}

// ---- cross -------------------------------------------------------------------------------------

/// p q - r s of elements, floats in double, integers modulo 2^64.
static void put_difference(const struct cbk_ref_view *out, int64_t to, const struct cbk_ref_view *a,
                           const struct cbk_ref_view *b, const int64_t p_q_r_s[4]) {
    if (cbk_ref_kind_of(out->dtype) == CBK_REF_FLOAT) {
        const double p = cbk_ref_get_float(a->data, a->dtype, p_q_r_s[0]);
        const double q = cbk_ref_get_float(b->data, b->dtype, p_q_r_s[1]);
        const double r = cbk_ref_get_float(a->data, a->dtype, p_q_r_s[2]);
        const double s = cbk_ref_get_float(b->data, b->dtype, p_q_r_s[3]);
        const double product = r * s, error = fma(-r, s, product);
        const double y = fma(p, q, -product) + error; // NaN where infinity spoils the correction
        cbk_ref_put_result(out->data, out->dtype, to, isnan(y) ? p * q - product : y);
        return;
    }
    const uint64_t p = (uint64_t)cbk_ref_get_int(a->data, a->dtype, p_q_r_s[0]);
    const uint64_t q = (uint64_t)cbk_ref_get_int(b->data, b->dtype, p_q_r_s[1]);
    const uint64_t r = (uint64_t)cbk_ref_get_int(a->data, a->dtype, p_q_r_s[2]);
    const uint64_t s = (uint64_t)cbk_ref_get_int(b->data, b->dtype, p_q_r_s[3]);
    cbk_ref_put_int(out->data, out->dtype, to, (int64_t)(p * q - r * s));
}

void cbk_ref_cross(const cbk_op *op, const struct cbk_ref_view *out) {
    const uint32_t axis = (uint32_t)((const cbk_axis_params *)op->params)->axis;
    struct cbk_ref_view a = cbk_ref_view_of(op->inputs[0]), b = cbk_ref_view_of(op->inputs[1]);
    int64_t place[CBK_MAX_RANK];
    a = cbk_ref_broadcast(&a, out->rank, out->shape);
    b = cbk_ref_broadcast(&b, out->rank, out->shape);
    for (int64_t i = 0; i < out->count; i++) {
        cbk_ref_coordinates(out, i, place);
        const int64_t here = place[axis], next = (here + 1) % 3, last = (here + 2) % 3;
        const int64_t a_step = a.strides[axis], b_step = b.strides[axis];
        const int64_t a_at = cbk_ref_at(&a, i) - here * a_step;
        const int64_t b_at = cbk_ref_at(&b, i) - here * b_step;
        const int64_t places[4] = {a_at + next * a_step, b_at + last * b_step, a_at + last * a_step,
                                   b_at + next * b_step};
        put_difference(out, cbk_ref_at(out, i), &a, &b, places);
    }
}
