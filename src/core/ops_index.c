// ops_index.c: named functions of the index family.
#include "core.h"

#define INDEX_READ(name, OP)                                                                       \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,        \
                          int32_t axis, cbk_tensor **out) {                                        \
        const cbk_tensor *const inputs[] = {x, index};                                             \
        const cbk_index_params params = {.struct_size = sizeof params, .axis = axis};              \
        return cbk_run(stream, CBK_OP_##OP, inputs, 2, &params, sizeof params, out);               \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index, \
                                 int32_t axis, cbk_tensor *dst) {                                  \
        const cbk_tensor *const inputs[] = {x, index};                                             \
        const cbk_index_params params = {.struct_size = sizeof params, .axis = axis};              \
        return cbk_run_into(stream, CBK_OP_##OP, inputs, 2, &params, sizeof params, dst);          \
    }

INDEX_READ(gather, GATHER)
INDEX_READ(select, SELECT)

/// `name` with any update, and `name_of_add` with CBK_UPDATE_ADD.
#define INDEX_UPDATE(name, name_of_add, OP)                                                        \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,        \
                          const cbk_tensor *value, int32_t axis, uint32_t update,                  \
                          cbk_tensor **out) {                                                      \
        const cbk_tensor *const inputs[] = {x, index, value};                                      \
        const cbk_index_params params = {                                                          \
            .struct_size = sizeof params, .axis = axis, .update = update};                         \
        return cbk_run(stream, CBK_OP_##OP, inputs, 3, &params, sizeof params, out);               \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index, \
                                 const cbk_tensor *value, int32_t axis, uint32_t update,           \
                                 cbk_tensor *dst) {                                                \
        const cbk_tensor *const inputs[] = {x, index, value};                                      \
        const cbk_index_params params = {                                                          \
            .struct_size = sizeof params, .axis = axis, .update = update};                         \
        return cbk_run_into(stream, CBK_OP_##OP, inputs, 3, &params, sizeof params, dst);          \
    }                                                                                              \
    cbk_status cbk_##name_of_add(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index, \
                                 const cbk_tensor *value, int32_t axis, cbk_tensor **out) {        \
        return cbk_##name(stream, x, index, value, axis, CBK_UPDATE_ADD, out);                     \
    }                                                                                              \
    cbk_status cbk_##name_of_add##_into(cbk_stream *stream, const cbk_tensor *x,                   \
                                        const cbk_tensor *index, const cbk_tensor *value,          \
                                        int32_t axis, cbk_tensor *dst) {                           \
        return cbk_##name##_into(stream, x, index, value, axis, CBK_UPDATE_ADD, dst);              \
    }

INDEX_UPDATE(scatter, scatter_add, SCATTER)
INDEX_UPDATE(select_assign, select_add, SELECT_ASSIGN)

// ---- several axes at once -----------------------------------------------------------------------

cbk_status cbk_gather_nd(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                         cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {x, index};
    return cbk_run(stream, CBK_OP_GATHER_ND, inputs, 2, NULL, 0, out);
}

cbk_status cbk_gather_nd_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                              cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {x, index};
    return cbk_run_into(stream, CBK_OP_GATHER_ND, inputs, 2, NULL, 0, dst);
}

cbk_status cbk_scatter_nd(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                          const cbk_tensor *value, uint32_t update, cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {x, index, value};
    const cbk_index_params params = {.struct_size = sizeof params, .update = update};
    return cbk_run(stream, CBK_OP_SCATTER_ND, inputs, 3, &params, sizeof params, out);
}

cbk_status cbk_scatter_nd_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                               const cbk_tensor *value, uint32_t update, cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {x, index, value};
    const cbk_index_params params = {.struct_size = sizeof params, .update = update};
    return cbk_run_into(stream, CBK_OP_SCATTER_ND, inputs, 3, &params, sizeof params, dst);
}

// ---- embedding, take, one_hot -------------------------------------------------------------------

cbk_status cbk_embedding(cbk_stream *stream, const cbk_tensor *weights, const cbk_tensor *index,
                         cbk_tensor **out) {
    return cbk_select(stream, weights, index, 0, out);
}

cbk_status cbk_embedding_into(cbk_stream *stream, const cbk_tensor *weights,
                              const cbk_tensor *index, cbk_tensor *dst) {
    return cbk_select_into(stream, weights, index, 0, dst);
}

cbk_status cbk_embedding_backward(cbk_stream *stream, const cbk_tensor *grad,
                                  const cbk_tensor *index, int64_t rows, cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {grad, index};
    const cbk_embedding_backward_params params = {.struct_size = sizeof params, .rows = rows};
    return cbk_run(stream, CBK_OP_EMBEDDING_BACKWARD, inputs, 2, &params, sizeof params, out);
}

cbk_status cbk_embedding_backward_into(cbk_stream *stream, const cbk_tensor *grad,
                                       const cbk_tensor *index, cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {grad, index};
    const cbk_tensor_meta *meta = cbk_tensor_metadata(dst);
    const cbk_embedding_backward_params params = {
        .struct_size = sizeof params, .rows = meta != NULL && meta->rank > 0 ? meta->shape[0] : 0};
    return cbk_run_into(stream, CBK_OP_EMBEDDING_BACKWARD, inputs, 2, &params, sizeof params, dst);
}

static cbk_status take(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                       cbk_tensor **out) {
    cbk_tensor *flat = NULL;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_reshape(stream, x, 1, (const int64_t[]){-1}, &flat);
    if (status == CBK_OK) status = cbk_select(stream, flat, index, 0, out);
    cbk_tensor_release(&flat);
    return status;
}

cbk_status cbk_take(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *index,
                    cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("take", CBK_OP_SELECT);
    return cbk_call_end(former, take(stream, x, index, out));
}

cbk_status cbk_one_hot(cbk_stream *stream, const cbk_tensor *index,
                       const cbk_one_hot_params *params, cbk_tensor **out) {
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run(stream, CBK_OP_ONE_HOT, &index, 1, params, size, out);
}

cbk_status cbk_one_hot_into(cbk_stream *stream, const cbk_tensor *index,
                            const cbk_one_hot_params *params, cbk_tensor *dst) {
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run_into(stream, CBK_OP_ONE_HOT, &index, 1, params, size, dst);
}

// ---- grid_sample --------------------------------------------------------------------------------

cbk_status cbk_grid_sample(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *grid,
                           const cbk_grid_sample_params *params, cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {x, grid};
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run(stream, CBK_OP_GRID_SAMPLE, inputs, 2, params, size, out);
}

cbk_status cbk_grid_sample_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *grid,
                                const cbk_grid_sample_params *params, cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {x, grid};
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run_into(stream, CBK_OP_GRID_SAMPLE, inputs, 2, params, size, dst);
}

#define GRID_SAMPLE_BACKWARD(name, OP)                                                             \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *grid,         \
                          const cbk_tensor *grad, const cbk_grid_sample_params *params,            \
                          cbk_tensor **out) {                                                      \
        const cbk_tensor *const inputs[] = {x, grid, grad};                                        \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run(stream, CBK_OP_##OP, inputs, 3, params, size, out);                         \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *grid,  \
                                 const cbk_tensor *grad, const cbk_grid_sample_params *params,     \
                                 cbk_tensor *dst) {                                                \
        const cbk_tensor *const inputs[] = {x, grid, grad};                                        \
        uint32_t size = params != NULL ? params->struct_size : 0;                                  \
        return cbk_run_into(stream, CBK_OP_##OP, inputs, 3, params, size, dst);                    \
    }

GRID_SAMPLE_BACKWARD(grid_sample_x_backward, GRID_SAMPLE_X_BACKWARD)
GRID_SAMPLE_BACKWARD(grid_sample_grid_backward, GRID_SAMPLE_GRID_BACKWARD)
