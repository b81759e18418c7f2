// rows_index.c: rows that read or write at indices.
#include "rows.h"

#include <string.h>

/// Dtypes, axis and update of all index rows. The value, where there is one, is input 2.
static cbk_status check_index_params(struct cbk_inference *inference) {
    cbk_index_params *params = &inference->params.index;
    const bool updates = (inference->info->flags & CBK_ROW_UPDATE) != 0;
    cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    if ((params->flags & ~(updates ? CBK_INDEX_UNORDERED : 0u)) != 0 ||
        params->update > (updates ? CBK_UPDATE_MAX : CBK_UPDATE_ASSIGN)) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "update %u with flags %u is unknown",
                        (unsigned)params->update, (unsigned)params->flags);
    }
    cbk_status status = cbk_infer_dtype_in(cbk_input(inference, 1)->dtype, CBK_INTS, "index");
    if (status == CBK_OK) status = cbk_infer_dtype(inference, dtype);
    if (status == CBK_OK && updates) status = cbk_infer_same_dtype(inference, 0, 2);
    if (status == CBK_OK && params->update != CBK_UPDATE_ASSIGN) {
        const bool takes_bools =
            params->update == CBK_UPDATE_MIN || params->update == CBK_UPDATE_MAX;
        status = cbk_infer_dtype_in(dtype, takes_bools ? CBK_NUMBERS | CBK_BOOLS : CBK_NUMBERS,
                                    "x of such an update");
    }
    return status;
}

static cbk_status check_with_axis(struct cbk_inference *inference) {
    cbk_status status = check_index_params(inference);
    if (status != CBK_OK) return status;
    return cbk_infer_axis(inference, &inference->params.index.axis);
}

static cbk_status fail_index_shape(const struct cbk_inference *inference, const char *rule) {
    const cbk_tensor_meta *x = cbk_input(inference, 0), *index = cbk_input(inference, 1);
    char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT], c[CBK_SHAPE_TEXT] = "";
    if (inference->input_count > 2) {
        const cbk_tensor_meta *value = cbk_input(inference, 2);
        cbk_shape_text(value->rank, value->shape, c);
    }
    return cbk_fail(CBK_ERROR_SHAPE, 0, "x is %s, index %s%s%s, axis %d: %s",
                    cbk_shape_text(x->rank, x->shape, a),
                    cbk_shape_text(index->rank, index->shape, b), c[0] != '\0' ? ", value " : "", c,
                    (int)inference->params.index.axis, rule);
}

/// index has x's rank and is nowhere longer but on the axis.
static cbk_status check_full_index(const struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0), *index = cbk_input(inference, 1);
    bool fits = index->rank == x->rank;
    for (uint32_t k = 0; fits && k < x->rank; k++) {
        fits = k == (uint32_t)inference->params.index.axis || index->shape[k] <= x->shape[k];
    }
    if (fits) return CBK_OK;
    return fail_index_shape(inference,
                            "index must have x's rank and, off the axis, no longer axes");
}

static cbk_status infer_gather(struct cbk_inference *inference) {
    const cbk_tensor_meta *index = cbk_input(inference, 1);
    cbk_status status = check_with_axis(inference);
    if (status == CBK_OK) status = check_full_index(inference);
    if (status != CBK_OK) return status;
    return cbk_meta_init(&inference->outputs[0], cbk_input(inference, 0)->dtype, index->rank,
                         index->shape);
}

static cbk_status infer_scatter(struct cbk_inference *inference) {
    cbk_status status = check_with_axis(inference);
    if (status == CBK_OK) status = check_full_index(inference);
    if (status != CBK_OK) return status;
    if (!cbk_meta_same_shape(cbk_input(inference, 1), cbk_input(inference, 2))) {
        return fail_index_shape(inference, "value must have index's shape");
    }
    return cbk_infer_like(inference, cbk_input(inference, 0)->dtype);
}

/// x's shape with index's axes in the place of the indexed one.
static cbk_status selected_shape(const struct cbk_inference *inference, cbk_tensor_meta *out) {
    const cbk_tensor_meta *x = cbk_input(inference, 0), *index = cbk_input(inference, 1);
    const uint32_t axis = (uint32_t)inference->params.index.axis;
    int64_t shape[CBK_MAX_RANK];
    uint32_t rank = 0;
    if (x->rank - 1 + index->rank > CBK_MAX_RANK) {
        return fail_index_shape(inference, "the result would have more than 8 axes");
    }
    for (uint32_t i = 0; i < axis; i++) shape[rank++] = x->shape[i];
    for (uint32_t i = 0; i < index->rank; i++) shape[rank++] = index->shape[i];
    for (uint32_t i = axis + 1; i < x->rank; i++) shape[rank++] = x->shape[i];
    return cbk_meta_init(out, x->dtype, rank, shape);
}

static cbk_status infer_select(struct cbk_inference *inference) {
    cbk_status status = check_with_axis(inference);
    return status != CBK_OK ? status : selected_shape(inference, &inference->outputs[0]);
}

static cbk_status infer_select_assign(struct cbk_inference *inference) {
    cbk_tensor_meta selected;
    cbk_status status = check_with_axis(inference);
    if (status == CBK_OK && cbk_input(inference, 1)->rank != 1) {
        status = fail_index_shape(inference, "index must have rank 1");
    }
    if (status == CBK_OK) status = selected_shape(inference, &selected);
    if (status != CBK_OK) return status;
    if (!cbk_meta_same_shape(&selected, cbk_input(inference, 2))) {
        return fail_index_shape(inference, "value must be x with the axis as long as index");
    }
    return cbk_infer_like(inference, cbk_input(inference, 0)->dtype);
}

// ---- several axes at once -----------------------------------------------------------------------

/// index [.., depth] names places in the first `depth` axes of x: its other axes, then x's others.
static cbk_status nd_shape(const struct cbk_inference *inference, cbk_tensor_meta *out) {
    const cbk_tensor_meta *x = cbk_input(inference, 0), *index = cbk_input(inference, 1);
    int64_t shape[CBK_MAX_RANK];
    uint32_t rank = 0;
    const int64_t depth = index->rank > 0 ? index->shape[index->rank - 1] : 0;
    if (depth < 1 || depth > x->rank) {
        return fail_index_shape(inference, "the last axis of index counts axes of x");
    }
    if (index->rank - 1 + x->rank - (uint32_t)depth > CBK_MAX_RANK) {
        return fail_index_shape(inference, "index names slices of more than 8 axes");
    }
    for (uint32_t i = 0; i + 1 < index->rank; i++) shape[rank++] = index->shape[i];
    for (uint32_t i = (uint32_t)depth; i < x->rank; i++) shape[rank++] = x->shape[i];
    return cbk_meta_init(out, x->dtype, rank, shape);
}

static cbk_status infer_gather_nd(struct cbk_inference *inference) {
    cbk_status status = check_index_params(inference);
    return status != CBK_OK ? status : nd_shape(inference, &inference->outputs[0]);
}

static cbk_status infer_scatter_nd(struct cbk_inference *inference) {
    cbk_tensor_meta slices;
    cbk_status status = check_index_params(inference);
    if (status == CBK_OK) status = nd_shape(inference, &slices);
    if (status != CBK_OK) return status;
    if (!cbk_meta_same_shape(&slices, cbk_input(inference, 2))) {
        return fail_index_shape(inference, "value must have index's axes but the last, then those "
                                           "of a slice of x");
    }
    return cbk_infer_like(inference, cbk_input(inference, 0)->dtype);
}

// ---- embedding, one_hot -------------------------------------------------------------------------

static cbk_status infer_embedding_backward(struct cbk_inference *inference) {
    const cbk_tensor_meta *grad = cbk_input(inference, 0), *index = cbk_input(inference, 1);
    const cbk_embedding_backward_params *params = &inference->params.embedding_backward;
    if ((params->flags & ~CBK_INDEX_UNORDERED) != 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "flags %u are unknown",
                        (unsigned)params->flags);
    }
    cbk_status status = cbk_infer_dtype_in(index->dtype, CBK_INTS, "index");
    if (status == CBK_OK) status = cbk_infer_dtype(inference, grad->dtype);
    if (status != CBK_OK) return status;
    bool fits = grad->rank == index->rank + 1;
    for (uint32_t i = 0; fits && i < index->rank; i++) fits = grad->shape[i] == index->shape[i];
    if (!fits) {
        char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_SHAPE, 0, "grad is %s, index %s: grad has one axis more",
                        cbk_shape_text(grad->rank, grad->shape, a),
                        cbk_shape_text(index->rank, index->shape, b));
    }
    const int64_t shape[2] = {params->rows, grad->shape[grad->rank - 1]};
    return cbk_meta_init(&inference->outputs[0], grad->dtype, 2, shape);
}

static cbk_status infer_one_hot(struct cbk_inference *inference) {
    const cbk_tensor_meta *index = cbk_input(inference, 0);
    cbk_one_hot_params *params = &inference->params.one_hot;
    int64_t shape[CBK_MAX_RANK];
    if (params->dtype == CBK_DTYPE_NONE) {
        params->dtype = atomic_load_explicit(&inference->device->default_int, memory_order_relaxed);
    }
    if (params->on.kind == CBK_SCALAR_NONE) params->on = cbk_i(1);
    if (params->off.kind == CBK_SCALAR_NONE) params->off = cbk_i(0);
    cbk_status status = cbk_infer_dtype(inference, index->dtype);
    if (status == CBK_OK) status = cbk_infer_dtype_in(params->dtype, CBK_STORED, "dtype");
    if (status == CBK_OK) status = cbk_infer_scalar(&params->on, "on");
    if (status == CBK_OK) status = cbk_infer_scalar(&params->off, "off");
    if (status != CBK_OK) return status;
    if (index->rank == CBK_MAX_RANK) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "index has rank 8: there is no room for an axis");
    }
    for (uint32_t i = 0; i < index->rank; i++) shape[i] = index->shape[i];
    shape[index->rank] = params->classes;
    return cbk_meta_init(&inference->outputs[0], params->dtype, index->rank + 1, shape);
}

// ---- grid_sample --------------------------------------------------------------------------------

/// Params and both operands; gives the shape of the samples.
static cbk_status sample_shape(const struct cbk_inference *inference, int64_t out[4]) {
    const cbk_tensor_meta *x = cbk_input(inference, 0), *grid = cbk_input(inference, 1);
    const cbk_grid_sample_params *params = &inference->params.grid_sample;
    cbk_status status = cbk_infer_dtype(inference, x->dtype);
    if (status == CBK_OK) status = cbk_infer_same_dtype(inference, 0, 1);
    if (status == CBK_OK) status = cbk_infer_flag(params->align_corners, "align_corners");
    if (status != CBK_OK) return status;
    if (params->mode > CBK_SAMPLE_BICUBIC || params->padding > CBK_SAMPLE_REFLECTION) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "mode %u with padding %u is unknown",
                        (unsigned)params->mode, (unsigned)params->padding);
    }
    const bool is_image = x->rank == 4 && x->shape[2] > 0 && x->shape[3] > 0;
    if (!is_image || grid->rank != 4 || grid->shape[3] != 2 || grid->shape[0] != x->shape[0]) {
        char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_SHAPE, 0,
                        "x is %s, grid %s: they are [n, c, h, w] with elements, [n, ho, wo, 2]",
                        cbk_shape_text(x->rank, x->shape, a),
                        cbk_shape_text(grid->rank, grid->shape, b));
    }
    out[0] = x->shape[0], out[1] = x->shape[1];
    out[2] = grid->shape[1], out[3] = grid->shape[2];
    return CBK_OK;
}

static cbk_status infer_grid_sample(struct cbk_inference *inference) {
    int64_t shape[4];
    cbk_status status = sample_shape(inference, shape);
    if (status != CBK_OK) return status;
    return cbk_meta_init(&inference->outputs[0], cbk_input(inference, 0)->dtype, 4, shape);
}

static cbk_status infer_grid_sample_backward(struct cbk_inference *inference) {
    const cbk_tensor_meta *grad = cbk_input(inference, 2);
    const bool is_of_grid = inference->info->opcode == CBK_OP_GRID_SAMPLE_GRID_BACKWARD;
    int64_t shape[4];
    cbk_status status = sample_shape(inference, shape);
    if (status == CBK_OK) status = cbk_infer_same_dtype(inference, 0, 2);
    if (status != CBK_OK) return status;
    if (grad->rank != 4 || memcmp(grad->shape, shape, sizeof shape) != 0) {
        char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_SHAPE, 0, "grad is %s, the samples are %s",
                        cbk_shape_text(grad->rank, grad->shape, a), cbk_shape_text(4, shape, b));
    }
    const cbk_tensor_meta *like = cbk_input(inference, is_of_grid ? 1 : 0);
    return cbk_meta_init(&inference->outputs[0], like->dtype, 4, like->shape);
}

// ---- the table ----------------------------------------------------------------------------------

enum {
    READS = CBK_ROW_CHECKS_INDICES | CBK_ROW_DIFFERENTIABLE,
    UPDATES = CBK_ROW_CHECKS_INDICES | CBK_ROW_DIFFERENTIABLE | CBK_ROW_UPDATE,
};

static const struct cbk_row index_rows[] = {
    CBK_ROW(CBK_OP_GATHER, "gather", 2, sizeof(cbk_index_params), READS, CBK_STORED, infer_gather),
    CBK_ROW(CBK_OP_SELECT, "select", 2, sizeof(cbk_index_params), READS, CBK_STORED, infer_select),
    CBK_ROW(CBK_OP_SCATTER, "scatter", 3, sizeof(cbk_index_params), UPDATES, CBK_STORED,
            infer_scatter),
    CBK_ROW(CBK_OP_SELECT_ASSIGN, "select_assign", 3, sizeof(cbk_index_params), UPDATES, CBK_STORED,
            infer_select_assign),
    CBK_ROW(CBK_OP_GATHER_ND, "gather_nd", 2, sizeof(cbk_index_params), READS, CBK_STORED,
            infer_gather_nd),
    CBK_ROW(CBK_OP_SCATTER_ND, "scatter_nd", 3, sizeof(cbk_index_params), UPDATES, CBK_STORED,
            infer_scatter_nd),
    CBK_ROW(CBK_OP_EMBEDDING_BACKWARD, "embedding_backward", 2,
            sizeof(cbk_embedding_backward_params), READS, CBK_NUMBERS, infer_embedding_backward),
    CBK_ROW(CBK_OP_ONE_HOT, "one_hot", 1, sizeof(cbk_one_hot_params), CBK_ROW_CHECKS_INDICES,
            CBK_INTS, infer_one_hot),
    CBK_ROW(CBK_OP_GRID_SAMPLE, "grid_sample", 2, sizeof(cbk_grid_sample_params),
            CBK_ROW_DIFFERENTIABLE, CBK_FLOATS, infer_grid_sample),
    CBK_ROW(CBK_OP_GRID_SAMPLE_X_BACKWARD, "grid_sample_x_backward", 3,
            sizeof(cbk_grid_sample_params), CBK_ROW_DIFFERENTIABLE, CBK_FLOATS,
            infer_grid_sample_backward),
    CBK_ROW(CBK_OP_GRID_SAMPLE_GRID_BACKWARD, "grid_sample_grid_backward", 3,
            sizeof(cbk_grid_sample_params), CBK_ROW_DIFFERENTIABLE, CBK_FLOATS,
            infer_grid_sample_backward),
};
CBK_FAMILY(cbk_index_family, index_rows);
