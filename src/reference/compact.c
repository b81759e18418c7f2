// compact.c: argwhere and mask_select: the places where a mask is true, and what another tensor has
// there.

#include "reference.h"

#include <string.h>

static void clear(const struct cbk_ref_view *out, int64_t at) {
    size_t size = cbk_dtype_size(out->dtype);
    memset(out->data + at * (int64_t)size, 0, size);
}

/// The coordinates of element i of the mask.
static void put_place(const struct cbk_ref_view *mask, int64_t i, const struct cbk_ref_view *out,
                      int64_t row) {
    int64_t coordinates[CBK_MAX_RANK];
    cbk_ref_coordinates(mask, i, coordinates);
    for (uint32_t axis = 0; axis < mask->rank; axis++)
        cbk_ref_put_int(out->data, out->dtype, cbk_ref_at(out, row * mask->rank + axis),
                        coordinates[axis]);
}

/// `source`: what is selected, NULL for coordinates.
static void compact(const struct cbk_ref_view *mask, const struct cbk_ref_view *source,
                    const struct cbk_ref_view *out, const struct cbk_ref_view *out_count) {
    int64_t hits = 0, rows = out->shape[0];
    for (int64_t i = 0; i < out->count; i++) clear(out, cbk_ref_at(out, i));
    for (int64_t i = 0; i < mask->count; i++) {
        if (!cbk_ref_is_true(mask, cbk_ref_at(mask, i))) continue;
        if (hits < rows && source)
            cbk_ref_copy_element(out, cbk_ref_at(out, hits), source, cbk_ref_at(source, i));
        else if (hits < rows)
            put_place(mask, i, out, hits);
        hits++;
    }
    cbk_ref_put_int(out_count->data, out_count->dtype, out_count->offset, hits);
}

cbk_status cbk_ref_compact(struct cbk_ref_stream *stream, const cbk_op *op) {
    struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    struct cbk_ref_view count = cbk_ref_view_of(op->outputs[1]);
    (void)stream;
    if (op->opcode == CBK_OP_ARGWHERE) {
        compact(&x, NULL, &out, &count);
        return CBK_OK;
    }
    if (op->opcode != CBK_OP_MASK_SELECT) return cbk_ref_unknown(op);
    struct cbk_ref_view mask = cbk_ref_view_of(op->inputs[1]);
    mask = cbk_ref_broadcast(&mask, x.rank, x.shape);
    compact(&mask, &x, &out, &count);
    return CBK_OK;
}
