// ops_shape.c: named functions that are compositions of views; nothing is copied unless said.
#include "core.h"

#include <string.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

// ---- several results ----------------------------------------------------------------------------

/// `count` places for results, all NULL from now on.
static cbk_status check_outs(cbk_tensor **outs, uint32_t count) {
    if (count != 0 && outs == NULL) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "the list of %u results is NULL",
                        (unsigned)count);
    }
    for (uint32_t i = 0; i < count; i++) outs[i] = NULL;
    return CBK_OK;
}

/// All results or none.
static void release_outs(cbk_tensor **outs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) cbk_tensor_release(&outs[i]);
}

static cbk_status check_lengths(uint32_t count, const int64_t *lengths, int64_t whole) {
    int64_t left = whole;
    if (count != 0 && lengths == NULL) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "the list of %u lengths is NULL",
                        (unsigned)count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (lengths[i] < 0 || lengths[i] > left) {
            return cbk_fail(CBK_ERROR_SHAPE, 0, "length %lld of part %u: %lld of %lld are left",
                            (long long)lengths[i], (unsigned)i, (long long)left, (long long)whole);
        }
        left -= lengths[i];
    }
    if (left == 0) return CBK_OK;
    return cbk_fail(CBK_ERROR_SHAPE, 0, "%u parts leave %lld of %lld elements over",
                    (unsigned)count, (long long)left, (long long)whole);
}

static cbk_status split(cbk_stream *stream, const cbk_tensor *x, int32_t axis, uint32_t count,
                        const int64_t *lengths, cbk_tensor **outs) {
    int64_t start = 0;
    cbk_status status = check_outs(outs, count);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status == CBK_OK) status = cbk_check_tensor(x, "x");
    if (status == CBK_OK) status = cbk_check_axis(axis, x->meta.rank, &axis);
    if (status == CBK_OK) status = check_lengths(count, lengths, x->meta.shape[axis]);
    for (uint32_t i = 0; i < count && status == CBK_OK; i++) {
        status = cbk_narrow(stream, x, axis, start, lengths[i], &outs[i]);
        start += lengths[i];
    }
    if (status != CBK_OK && outs != NULL) release_outs(outs, count);
    return status;
}

cbk_status cbk_split(cbk_stream *stream, const cbk_tensor *x, int32_t axis, uint32_t count,
                     const int64_t *lengths, cbk_tensor **outs) {
    struct cbk_call former = cbk_call_begin("split", CBK_OP_SLICE);
    return cbk_call_end(former, split(stream, x, axis, count, lengths, outs));
}

static cbk_status chunk(cbk_stream *stream, const cbk_tensor *x, int32_t axis, uint32_t count,
                        cbk_tensor **outs, uint32_t *out_count) {
    cbk_status status = check_outs(outs, count);
    if (out_count != NULL) *out_count = 0;
    if (status == CBK_OK && (count == 0 || out_count == NULL)) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%u chunks are asked for, out_count is %s",
                          (unsigned)count, out_count != NULL ? "given" : "NULL");
    }
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status == CBK_OK) status = cbk_check_tensor(x, "x");
    if (status == CBK_OK) status = cbk_check_axis(axis, x->meta.rank, &axis);
    if (status != CBK_OK) return status;
    const int64_t whole = x->meta.shape[axis];
    const int64_t size = whole / count + (whole % count != 0);
    uint32_t made = 0;
    for (int64_t start = 0; status == CBK_OK && (start < whole || made == 0); start += size) {
        const int64_t length = size < whole - start ? size : whole - start;
        status = cbk_narrow(stream, x, axis, start, length, &outs[made++]);
    }
    if (status != CBK_OK)
        release_outs(outs, count);
    else
        *out_count = made;
    return status;
}

cbk_status cbk_chunk(cbk_stream *stream, const cbk_tensor *x, int32_t axis, uint32_t count,
                     cbk_tensor **outs, uint32_t *out_count) {
    struct cbk_call former = cbk_call_begin("chunk", CBK_OP_SLICE);
    return cbk_call_end(former, chunk(stream, x, axis, count, outs, out_count));
}

// ---- order and grouping of axes -----------------------------------------------------------------

/// Which axis of x stands at each place of the result: those that move at their destinations, the
/// others in order around them.
static cbk_status move_axes(uint32_t rank, uint32_t count, const int32_t *source,
                            const int32_t *destination, int32_t order[CBK_MAX_RANK]) {
    bool moves[CBK_MAX_RANK] = {false};
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < CBK_MAX_RANK; i++) order[i] = -1;
    for (uint32_t i = 0; i < count; i++) {
        int32_t from, to;
        status = cbk_check_axis(source[i], rank, &from);
        if (status == CBK_OK) status = cbk_check_axis(destination[i], rank, &to);
        if (status != CBK_OK) return status;
        if (moves[from] || order[to] >= 0) {
            return cbk_fail(CBK_ERROR_AXIS, 0, "axis %d to place %d: one is named twice", (int)from,
                            (int)to);
        }
        moves[from] = true;
        order[to] = from;
    }
    uint32_t next = 0;
    for (uint32_t place = 0; place < rank; place++) {
        if (order[place] >= 0) continue;
        while (moves[next]) next++;
        order[place] = (int32_t)next++;
    }
    return CBK_OK;
}

static cbk_status movedim(cbk_stream *stream, const cbk_tensor *x, uint32_t count,
                          const int32_t *source, const int32_t *destination, cbk_tensor **out) {
    int32_t from[CBK_MAX_RANK], to[CBK_MAX_RANK], order[CBK_MAX_RANK];
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_tensor(x, "x");
    if (status == CBK_OK) status = cbk_copy_axes("movedim", count, source, from);
    if (status == CBK_OK) status = cbk_copy_axes("movedim", count, destination, to);
    if (status == CBK_OK) status = move_axes(x->meta.rank, count, from, to, order);
    return status != CBK_OK ? status : cbk_permute(stream, x, order, out);
}

cbk_status cbk_movedim(cbk_stream *stream, const cbk_tensor *x, uint32_t count,
                       const int32_t *source, const int32_t *destination, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("movedim", CBK_OP_PERMUTE);
    return cbk_call_end(former, movedim(stream, x, count, source, destination, out));
}

static cbk_status flatten(cbk_stream *stream, const cbk_tensor *x, int32_t first, int32_t last,
                          cbk_tensor **out) {
    static const int64_t one = 1;
    int64_t shape[CBK_MAX_RANK];
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_tensor(x, "x");
    if (status != CBK_OK) return status;
    if (x->meta.rank == 0) return cbk_reshape(stream, x, 1, &one, out);
    status = cbk_check_axis(first, x->meta.rank, &first);
    if (status == CBK_OK) status = cbk_check_axis(last, x->meta.rank, &last);
    if (status != CBK_OK) return status;
    if (first > last) {
        return cbk_fail(CBK_ERROR_AXIS, 0, "axis %d comes after axis %d", (int)first, (int)last);
    }
    uint32_t rank = 0;
    for (int32_t i = 0; i < (int32_t)x->meta.rank; i++) {
        if (i <= first || i > last)
            shape[rank++] = x->meta.shape[i];
        else
            shape[first] *= x->meta.shape[i];
    }
    return cbk_reshape(stream, x, rank, shape, out);
}

cbk_status cbk_flatten(cbk_stream *stream, const cbk_tensor *x, int32_t first, int32_t last,
                       cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("flatten", CBK_OP_RESHAPE);
    return cbk_call_end(former, flatten(stream, x, first, last, out));
}

/// Replaces a -1 and checks that the lengths make up `whole`.
static cbk_status resolve_lengths(uint32_t count, int64_t *lengths, int64_t whole) {
    int64_t known = 1;
    int64_t *open = NULL;
    bool fits = count > 0;
    for (uint32_t i = 0; i < count && fits; i++) {
        if (lengths[i] == -1 && open == NULL)
            open = &lengths[i];
        else
            fits = lengths[i] >= 0 && cbk_mul_i64(known, lengths[i], &known);
    }
    if (fits && open != NULL) {
        fits = known != 0 && whole % known == 0;
        *open = fits ? whole / known : 0;
    } else if (fits) {
        fits = known == whole;
    }
    if (fits) return CBK_OK;
    return cbk_fail(CBK_ERROR_SHAPE, 0, "%u lengths do not make up an axis of %lld",
                    (unsigned)count, (long long)whole);
}

static cbk_status unflatten(cbk_stream *stream, const cbk_tensor *x, int32_t axis, uint32_t count,
                            const int64_t *lengths, cbk_tensor **out) {
    int64_t shape[CBK_MAX_RANK], parts[CBK_MAX_RANK] = {0};
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_tensor(x, "x");
    if (status == CBK_OK) status = cbk_check_axis(axis, x->meta.rank, &axis);
    if (status == CBK_OK) status = cbk_copy_shape("unflatten", count, lengths, parts);
    if (status == CBK_OK) status = resolve_lengths(count, parts, x->meta.shape[axis]);
    if (status != CBK_OK) return status;
    if (x->meta.rank - 1 + count > CBK_MAX_RANK) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "%u axes in the place of one of %u are over %d in all",
                        (unsigned)count, (unsigned)x->meta.rank, CBK_MAX_RANK);
    }
    uint32_t rank = 0;
    for (int32_t i = 0; i < (int32_t)x->meta.rank; i++) {
        if (i != axis) shape[rank++] = x->meta.shape[i];
        for (uint32_t k = 0; i == axis && k < count; k++) shape[rank++] = parts[k];
    }
    return cbk_reshape(stream, x, rank, shape, out);
}

cbk_status cbk_unflatten(cbk_stream *stream, const cbk_tensor *x, int32_t axis, uint32_t count,
                         const int64_t *lengths, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("unflatten", CBK_OP_RESHAPE);
    return cbk_call_end(former, unflatten(stream, x, axis, count, lengths, out));
}

// ---- grids --------------------------------------------------------------------------------------

/// The vector x along axis `axis` of a tensor of this shape.
static cbk_status spread(cbk_stream *stream, const cbk_tensor *x, uint32_t axis, uint32_t rank,
                         const int64_t *shape, cbk_tensor **out) {
    int64_t column[CBK_MAX_RANK];
    cbk_tensor *view = NULL;
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < rank; i++) column[i] = i == axis ? shape[axis] : 1;
    TRY(cbk_reshape(stream, x, rank, column, &view));
    TRY(cbk_expand(stream, view, rank, shape, out));
done:
    cbk_tensor_release(&view);
    return status;
}

/// Checks the vectors; gives the lengths of the grid. is_xy: axes 0 and 1 change places.
static cbk_status grid_shape(const cbk_tensor *const *vectors, uint32_t count, bool is_xy,
                             int64_t shape[CBK_MAX_RANK]) {
    if (count > CBK_MAX_RANK || (count != 0 && vectors == NULL)) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%u vectors, at most %d", (unsigned)count,
                        CBK_MAX_RANK);
    }
    for (uint32_t i = 0; i < count; i++) {
        cbk_status status = cbk_check_tensor(vectors[i], "a vector");
        if (status != CBK_OK) return status;
        const cbk_tensor_meta *meta = &vectors[i]->meta;
        if (meta->rank != 1) {
            return cbk_fail(CBK_ERROR_SHAPE, 0, "vector %u has rank %u", (unsigned)i,
                            (unsigned)meta->rank);
        }
        shape[is_xy && i < 2 ? 1 - i : i] = meta->shape[0];
    }
    return CBK_OK;
}

static cbk_status meshgrid(cbk_stream *stream, const cbk_tensor *const *vectors, uint32_t count,
                           uint32_t indexing, cbk_tensor **outs) {
    const bool is_xy = indexing == CBK_GRID_XY && count > 1;
    int64_t shape[CBK_MAX_RANK] = {0};
    cbk_status status = check_outs(outs, count);
    if (status == CBK_OK && indexing > CBK_GRID_XY) {
        status =
            cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "indexing %u is unknown", (unsigned)indexing);
    }
    if (status == CBK_OK) status = grid_shape(vectors, count, is_xy, shape);
    for (uint32_t i = 0; i < count && status == CBK_OK; i++) {
        const uint32_t axis = is_xy && i < 2 ? 1 - i : i;
        status = spread(stream, vectors[i], axis, count, shape, &outs[i]);
    }
    if (status != CBK_OK && outs != NULL) release_outs(outs, count);
    return status;
}

cbk_status cbk_meshgrid(cbk_stream *stream, const cbk_tensor *const *vectors, uint32_t count,
                        uint32_t indexing, cbk_tensor **outs) {
    struct cbk_call former = cbk_call_begin("meshgrid", CBK_OP_EXPAND);
    return cbk_call_end(former, meshgrid(stream, vectors, count, indexing, outs));
}

/// Writes the coordinate along `axis` into plane `axis` of the grid.
static cbk_status write_coordinate(cbk_stream *stream, uint32_t axis, cbk_tensor *grid) {
    const uint32_t rank = grid->meta.rank;
    int64_t shape[CBK_MAX_RANK];
    cbk_tensor *plane = NULL, *numbers = NULL, *view = NULL;
    cbk_status status = CBK_OK;
    memcpy(shape, grid->meta.shape, sizeof shape);
    shape[rank - 1] = 1;
    TRY(cbk_narrow(stream, grid, -1, axis, 1, &plane));
    TRY(cbk_arange(stream, grid->meta.dtype, cbk_i(0), cbk_i(1), shape[axis], &numbers));
    TRY(spread(stream, numbers, axis, rank, shape, &view));
    TRY(cbk_copy_into(stream, view, plane));
done:
    cbk_tensor_release(&view);
    cbk_tensor_release(&numbers);
    cbk_tensor_release(&plane);
    return status;
}

static cbk_status cartesian_grid(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                 const int64_t *lengths, cbk_tensor **out) {
    int64_t shape[CBK_MAX_RANK + 1] = {0};
    cbk_tensor *grid = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_check_out(out));
    TRY(cbk_check_stream(stream));
    TRY(cbk_copy_shape("cartesian_grid", rank, lengths, shape));
    shape[rank] = rank;
    if (dtype == CBK_DTYPE_NONE)
        dtype = atomic_load_explicit(&stream->device->default_int, memory_order_relaxed);
    TRY(cbk_tensor_empty(stream, dtype, rank + 1, shape, &grid));
    for (uint32_t axis = 0; axis < rank && grid->meta.element_count != 0; axis++)
        TRY(write_coordinate(stream, axis, grid));
    *out = grid;
    grid = NULL;
done:
    cbk_tensor_release(&grid);
    return status;
}

cbk_status cbk_cartesian_grid(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                              const int64_t *lengths, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("cartesian_grid", CBK_OP_ARANGE);
    return cbk_call_end(former, cartesian_grid(stream, dtype, rank, lengths, out));
}
