// index.c: gather, select and their updating counterparts.

#include "reference.h"

#include <math.h>
#include <string.h>

/// Reads index number `at`. False, and reported, if it is outside an axis of `length`.
static bool read_index(struct cbk_ref_stream *stream, const cbk_op *op,
                       const struct cbk_ref_view *index, int64_t at, int64_t length, int64_t *out) {
    *out = cbk_ref_get_int(index->data, index->dtype, at);
    bool is_inside = *out >= 0 && *out < length; // u64 from 2^63 on reads as negative
    if (!is_inside) cbk_ref_report_index(stream, op->opcode, *out, length);
    return is_inside;
}

/// Where `coordinates` with `position` on `axis` lie in the storage.
static int64_t locate(const struct cbk_ref_view *view, const int64_t *coordinates, uint32_t axis,
                      int64_t position) {
    int64_t at = view->offset;
    for (uint32_t i = 0; i < view->rank; i++)
        at += (i == axis ? position : coordinates[i]) * view->strides[i];
    return at;
}

/// What the four operations share: for each position of a walked shape there is an index, a place
/// in x's shape that it points to, and for updates a value.
struct indexing {
    const struct cbk_ref_view *index;
    uint32_t axis;
    bool is_per_slice; ///< select: index has rank 1 and serves a whole slice
};

static int64_t index_at(const struct indexing *indexing, const int64_t *coordinates) {
    const struct cbk_ref_view *index = indexing->index;
    if (indexing->is_per_slice)
        return index->offset + coordinates[indexing->axis] * index->strides[0];
    return locate(index, coordinates, indexing->axis, coordinates[indexing->axis]);
}

static void gather(struct cbk_ref_stream *stream, const cbk_op *op, const struct indexing *indexing,
                   const struct cbk_ref_view *x, const struct cbk_ref_view *out) {
    int64_t coordinates[CBK_MAX_RANK], position;
    size_t size = cbk_dtype_size(out->dtype);
    for (int64_t i = 0; i < out->count; i++) {
        cbk_ref_coordinates(out, i, coordinates);
        int64_t to = cbk_ref_at(out, i);
        if (read_index(stream, op, indexing->index, index_at(indexing, coordinates),
                       x->shape[indexing->axis], &position))
            cbk_ref_copy_element(out, to, x, locate(x, coordinates, indexing->axis, position));
        else
            memset(out->data + to * (int64_t)size, 0, size);
    }
}

// ---- updates -----------------------------------------------------------------------------------

static double update_float(uint32_t update, double old, double value) {
    switch (update) {
    case CBK_UPDATE_ADD:
        return old + value;
    case CBK_UPDATE_MUL:
        return old * value;
    case CBK_UPDATE_MIN:
        return isnan(old) || old < value ? old : value;
    default:
        return isnan(old) || old > value ? old : value;
    }
}

static int64_t update_int(uint32_t update, int64_t old, int64_t value, bool is_signed) {
    bool is_less = is_signed ? old < value : (uint64_t)old < (uint64_t)value;
    switch (update) {
    case CBK_UPDATE_ADD:
        return (int64_t)((uint64_t)old + (uint64_t)value);
    case CBK_UPDATE_MUL:
        return (int64_t)((uint64_t)old * (uint64_t)value);
    case CBK_UPDATE_MIN:
        return is_less ? old : value;
    default:
        return is_less ? value : old;
    }
}

static void update_value(uint32_t update, struct cbk_ref_value *old, struct cbk_ref_value value) {
    if (old->kind == CBK_REF_FLOAT)
        old->f = update_float(update, old->f, value.f);
    else
        old->i = update_int(update, old->i, value.i, old->kind == CBK_REF_SIGNED);
}

/// The shape of `view` in fresh row-major memory.
static struct cbk_ref_view dense_like(const struct cbk_ref_view *view) {
    struct cbk_ref_view dense = *view;
    int64_t stride = 1;
    for (uint32_t axis = view->rank; axis-- > 0; stride *= view->shape[axis])
        dense.strides[axis] = stride;
    dense.offset = 0;
    return dense;
}

/// Updates in row-major order of the values. `wide`, one entry per element of out in row-major
/// order, keeps sums and products unrounded; NULL for assign.
static void scatter(struct cbk_ref_stream *stream, const cbk_op *op,
                    const struct indexing *indexing, const struct cbk_ref_view *value,
                    const struct cbk_ref_view *out, struct cbk_ref_value *wide) {
    const cbk_index_params *params = op->params;
    struct cbk_ref_view dense = dense_like(out);
    int64_t coordinates[CBK_MAX_RANK], position;
    for (int64_t i = 0; i < value->count; i++) {
        cbk_ref_coordinates(value, i, coordinates);
        int64_t from = cbk_ref_at(value, i);
        if (!read_index(stream, op, indexing->index, index_at(indexing, coordinates),
                        out->shape[indexing->axis], &position))
            continue;
        int64_t to = locate(out, coordinates, indexing->axis, position);
        if (!wide) {
            cbk_ref_copy_element(out, to, value, from);
            continue;
        }
        struct cbk_ref_value *sum = &wide[locate(&dense, coordinates, indexing->axis, position)];
        update_value(params->update, sum, cbk_ref_load(value->data, value->dtype, from));
        // Later updates of the same element start from `wide` again, so this rounds once.
        cbk_ref_store(out->data, out->dtype, to, *sum);
    }
}

static cbk_status run_update(struct cbk_ref_stream *stream, const cbk_op *op,
                             const struct indexing *indexing, const struct cbk_ref_view *x,
                             const struct cbk_ref_view *out) {
    const cbk_index_params *params = op->params;
    struct cbk_ref *ref = stream->device->ref;
    struct cbk_ref_view value = cbk_ref_view_of(op->inputs[2]);
    struct cbk_ref_value *wide = NULL;
    size_t size = (size_t)out->count * sizeof *wide;

    if (params->update != CBK_UPDATE_ASSIGN) {
        wide = cbk_ref_alloc(ref, size);
        if (!wide)
            return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "scatter: no memory for %zu bytes",
                            size);
        for (int64_t i = 0; i < x->count; i++)
            wide[i] = cbk_ref_load(x->data, x->dtype, cbk_ref_at(x, i));
    }
    cbk_ref_copy_view(out, x);
    scatter(stream, op, indexing, &value, out, wide);
    cbk_ref_free(ref, wide, size);
    return CBK_OK;
}

cbk_status cbk_ref_index(struct cbk_ref_stream *stream, const cbk_op *op) {
    const cbk_index_params *params = op->params;
    struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    struct cbk_ref_view index = cbk_ref_view_of(op->inputs[1]);
    struct indexing indexing = {
        .index = &index,
        .axis = (uint32_t)params->axis,
        .is_per_slice = op->opcode == CBK_OP_SELECT || op->opcode == CBK_OP_SELECT_ASSIGN,
    };
    switch (op->opcode) {
    case CBK_OP_GATHER:
    case CBK_OP_SELECT:
        gather(stream, op, &indexing, &x, &out);
        return CBK_OK;
    case CBK_OP_SCATTER:
    case CBK_OP_SELECT_ASSIGN:
        return run_update(stream, op, &indexing, &x, &out);
    default:
        return cbk_ref_unknown(op);
    }
}
