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

static int64_t locate(const struct cbk_ref_view *view, const int64_t *coordinates) {
    int64_t at = view->offset;
    for (uint32_t i = 0; i < view->rank; i++) at += coordinates[i] * view->strides[i];
    return at;
}

/// What all operations share: for each element of a walked shape (an output or a value) there are one
/// or several indices and the place in x's shape that they point to.
struct indexing {
    struct cbk_ref_stream *stream;
    const cbk_op *op;
    const struct cbk_ref_view *index;
    uint32_t axis;
    enum { ALONG_AXIS, PER_SLICE, SEVERAL_AXES } form;
};

/// gather: index has the walked shape.
static bool along_axis(const struct indexing *how, const int64_t *coordinates,
                       const struct cbk_ref_view *x, int64_t *out) {
    for (uint32_t i = 0; i < x->rank; i++) out[i] = coordinates[i];
    return read_index(how->stream, how->op, how->index, locate(how->index, coordinates),
                      x->shape[how->axis], &out[how->axis]);
}

/// select: index's axes stand in the place of x's axis.
static bool per_slice(const struct indexing *how, const int64_t *coordinates,
                      const struct cbk_ref_view *x, int64_t *out) {
    const uint32_t axis = how->axis, index_rank = how->index->rank;
    for (uint32_t i = 0; i < axis; i++) out[i] = coordinates[i];
    for (uint32_t i = axis + 1; i < x->rank; i++) out[i] = coordinates[i - 1 + index_rank];
    return read_index(how->stream, how->op, how->index, locate(how->index, coordinates + axis),
                      x->shape[axis], &out[axis]);
}

/// gather_nd: index's last axis has the places in x's first axes.
static bool several_axes(const struct indexing *how, const int64_t *coordinates,
                         const struct cbk_ref_view *x, int64_t *out) {
    const uint32_t leading = how->index->rank - 1;
    const int64_t depth = how->index->shape[leading];
    int64_t place[CBK_MAX_RANK];
    for (uint32_t i = 0; i < leading; i++) place[i] = coordinates[i];
    for (int64_t i = depth; i < x->rank; i++) out[i] = coordinates[leading + i - depth];
    for (int64_t k = 0; k < depth; k++) {
        place[leading] = k;
        if (!read_index(how->stream, how->op, how->index, locate(how->index, place), x->shape[k],
                        &out[k]))
            return false;
    }
    return true;
}

/// The place in x; false, and reported, if there is none.
static bool find_place(const struct indexing *how, const int64_t *coordinates,
                       const struct cbk_ref_view *x, int64_t *out) {
    switch (how->form) {
    case ALONG_AXIS:
        return along_axis(how, coordinates, x, out);
    case PER_SLICE:
        return per_slice(how, coordinates, x, out);
    default:
        return several_axes(how, coordinates, x, out);
    }
}

static void gather(const struct indexing *how, const struct cbk_ref_view *x,
                   const struct cbk_ref_view *out) {
    int64_t coordinates[CBK_MAX_RANK], place[CBK_MAX_RANK];
    size_t size = cbk_dtype_size(out->dtype);
    for (int64_t i = 0; i < out->count; i++) {
        cbk_ref_coordinates(out, i, coordinates);
        int64_t to = cbk_ref_at(out, i);
        if (find_place(how, coordinates, x, place))
            cbk_ref_copy_element(out, to, x, locate(x, place));
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
static void scatter(const struct indexing *how, uint32_t update, const struct cbk_ref_view *value,
                    const struct cbk_ref_view *out, struct cbk_ref_value *wide) {
    struct cbk_ref_view dense = dense_like(out);
    int64_t coordinates[CBK_MAX_RANK], place[CBK_MAX_RANK];
    for (int64_t i = 0; i < value->count; i++) {
        cbk_ref_coordinates(value, i, coordinates);
        int64_t from = cbk_ref_at(value, i);
        if (!find_place(how, coordinates, out, place)) continue;
        int64_t to = locate(out, place);
        if (!wide) {
            cbk_ref_copy_element(out, to, value, from);
            continue;
        }
        struct cbk_ref_value *sum = &wide[locate(&dense, place)];
        update_value(update, sum, cbk_ref_load(value->data, value->dtype, from));
        // Later updates of the same element start from `wide` again, so this rounds once.
        cbk_ref_store(out->data, out->dtype, to, *sum);
    }
}

/// x NULL: zeros are updated.
static cbk_status run_update(const struct indexing *how, uint32_t update,
                             const struct cbk_ref_view *x, const struct cbk_ref_view *value,
                             const struct cbk_ref_view *out) {
    struct cbk_ref *ref = how->stream->device->ref;
    struct cbk_ref_value *wide = NULL;
    size_t size = (size_t)out->count * sizeof *wide;

    if (update != CBK_UPDATE_ASSIGN) {
        wide = cbk_ref_alloc(ref, size);
        if (!wide)
            return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "scatter: no memory for %zu bytes",
                            size);
        for (int64_t i = 0; i < out->count; i++)
            wide[i] = x ? cbk_ref_load(x->data, x->dtype, cbk_ref_at(x, i))
                        : (struct cbk_ref_value){.kind = cbk_ref_kind_of(out->dtype)};
    }
    if (x)
        cbk_ref_copy_view(out, x);
    else
        for (int64_t i = 0; i < out->count; i++)
            cbk_ref_store(out->data, out->dtype, cbk_ref_at(out, i), wide[i]);
    scatter(how, update, value, out, wide);
    cbk_ref_free(ref, wide, size);
    return CBK_OK;
}

// ---- one_hot -----------------------------------------------------------------------------------

static void one_hot(const struct indexing *how, const cbk_one_hot_params *params,
                    const struct cbk_ref_view *out) {
    const struct cbk_ref_value on = cbk_ref_scalar_value(params->on),
                               off = cbk_ref_scalar_value(params->off);
    const uint32_t last = out->rank - 1;
    int64_t coordinates[CBK_MAX_RANK], place;
    for (int64_t i = 0; i < out->count; i++) {
        cbk_ref_coordinates(out, i, coordinates);
        bool exists = read_index(how->stream, how->op, how->index, locate(how->index, coordinates),
                                 out->shape[last], &place);
        cbk_ref_store(out->data, out->dtype, cbk_ref_at(out, i),
                      exists && place == coordinates[last] ? on : off);
    }
}

// ---- the family --------------------------------------------------------------------------------

cbk_status cbk_ref_index(struct cbk_ref_stream *stream, const cbk_op *op) {
    const cbk_index_params *params = op->params;
    struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    struct cbk_ref_view index = cbk_ref_view_of(op->inputs[op->opcode == CBK_OP_ONE_HOT ? 0 : 1]);
    struct cbk_ref_view value = cbk_ref_view_of(op->inputs[op->input_count - 1]);
    struct indexing how = {.stream = stream, .op = op, .index = &index};
    switch (op->opcode) {
    case CBK_OP_GATHER:
    case CBK_OP_SELECT:
        how.axis = (uint32_t)params->axis;
        how.form = op->opcode == CBK_OP_SELECT ? PER_SLICE : ALONG_AXIS;
        gather(&how, &x, &out);
        return CBK_OK;
    case CBK_OP_SCATTER:
    case CBK_OP_SELECT_ASSIGN:
        how.axis = (uint32_t)params->axis;
        how.form = op->opcode == CBK_OP_SELECT_ASSIGN ? PER_SLICE : ALONG_AXIS;
        return run_update(&how, params->update, &x, &value, &out);
    case CBK_OP_GATHER_ND:
        how.form = SEVERAL_AXES;
        gather(&how, &x, &out);
        return CBK_OK;
    case CBK_OP_SCATTER_ND:
        how.form = SEVERAL_AXES;
        return run_update(&how, params->update, &x, &value, &out);
    case CBK_OP_EMBEDDING_BACKWARD: // x is the gradient
        how.form = PER_SLICE;
        return run_update(&how, CBK_UPDATE_ADD, NULL, &x, &out);
    case CBK_OP_ONE_HOT:
        one_hot(&how, op->params, &out);
        return CBK_OK;
    case CBK_OP_GRID_SAMPLE:
        return cbk_ref_grid_sample(op);
    case CBK_OP_GRID_SAMPLE_X_BACKWARD:
        return cbk_ref_grid_sample_x_backward(stream->device->ref, op);
    case CBK_OP_GRID_SAMPLE_GRID_BACKWARD:
        return cbk_ref_grid_sample_grid_backward(op);
    default:
        return cbk_ref_unknown(op);
    }
}
