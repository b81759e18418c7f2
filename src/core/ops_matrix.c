// ops_matrix.c: named functions of eye, linspace, windows, triangles, diagonals and cross.
#include "core.h"

// ---- creation -----------------------------------------------------------------------------------

cbk_status cbk_eye(cbk_stream *stream, cbk_dtype dtype, int64_t rows, int64_t columns,
                   int64_t offset, cbk_tensor **out) {
    const cbk_eye_params params = {.struct_size = sizeof params,
                                   .dtype = dtype,
                                   .rows = rows,
                                   .columns = columns,
                                   .offset = offset};
    return cbk_run(stream, CBK_OP_EYE, NULL, 0, &params, sizeof params, out);
}

cbk_status cbk_eye_into(cbk_stream *stream, int64_t offset, cbk_tensor *dst) {
    cbk_eye_params params = {.struct_size = sizeof params, .offset = offset};
    const cbk_tensor_meta *meta = cbk_tensor_metadata(dst);
    if (meta != NULL) params.dtype = meta->dtype;
    if (meta != NULL && meta->rank == 2)
        params.rows = meta->shape[0], params.columns = meta->shape[1];
    return cbk_run_into(stream, CBK_OP_EYE, NULL, 0, &params, sizeof params, dst);
}

cbk_status cbk_linspace(cbk_stream *stream, cbk_dtype dtype, cbk_scalar first, cbk_scalar last,
                        int64_t length, cbk_tensor **out) {
    const cbk_create_params params = {.struct_size = sizeof params,
                                      .dtype = dtype,
                                      .rank = 1,
                                      .shape = {length},
                                      .value = first,
                                      .step = last};
    return cbk_run(stream, CBK_OP_LINSPACE, NULL, 0, &params, sizeof params, out);
}

cbk_status cbk_linspace_into(cbk_stream *stream, cbk_scalar first, cbk_scalar last,
                             cbk_tensor *dst) {
    cbk_create_params params = {.struct_size = sizeof params, .value = first, .step = last};
    const cbk_tensor_meta *meta = cbk_tensor_metadata(dst);
    if (meta != NULL) {
        params.dtype = meta->dtype;
        params.rank = meta->rank;
        for (uint32_t i = 0; i < meta->rank; i++) params.shape[i] = meta->shape[i];
    }
    return cbk_run_into(stream, CBK_OP_LINSPACE, NULL, 0, &params, sizeof params, dst);
}

cbk_status cbk_window(cbk_stream *stream, cbk_dtype dtype, uint32_t kind, int64_t length,
                      uint32_t symmetric, cbk_tensor **out) {
    const cbk_window_params params = {.struct_size = sizeof params,
                                      .dtype = dtype,
                                      .length = length,
                                      .kind = kind,
                                      .symmetric = symmetric};
    return cbk_run(stream, CBK_OP_WINDOW, NULL, 0, &params, sizeof params, out);
}

cbk_status cbk_window_into(cbk_stream *stream, uint32_t kind, uint32_t symmetric, cbk_tensor *dst) {
    const cbk_tensor_meta *meta = cbk_tensor_metadata(dst);
    cbk_window_params params = {.struct_size = sizeof params, .kind = kind, .symmetric = symmetric};
    if (meta != NULL) params.dtype = meta->dtype;
    if (meta != NULL && meta->rank == 1) params.length = meta->shape[0];
    return cbk_run_into(stream, CBK_OP_WINDOW, NULL, 0, &params, sizeof params, dst);
}

// ---- the last two axes --------------------------------------------------------------------------

#define WITH_OFFSET(name, OP)                                                                      \
    cbk_status cbk_##name(cbk_stream *stream, const cbk_tensor *x, int64_t offset,                 \
                          cbk_tensor **out) {                                                      \
        const cbk_offset_params params = {.struct_size = sizeof params, .offset = offset};         \
        return cbk_run(stream, CBK_OP_##OP, &x, 1, &params, sizeof params, out);                   \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, const cbk_tensor *x, int64_t offset,          \
                                 cbk_tensor *dst) {                                                \
        const cbk_offset_params params = {.struct_size = sizeof params, .offset = offset};         \
        return cbk_run_into(stream, CBK_OP_##OP, &x, 1, &params, sizeof params, dst);              \
    }

WITH_OFFSET(tril, TRIL)
WITH_OFFSET(triu, TRIU)
WITH_OFFSET(diag_embed, DIAG_EMBED)

// ---- vectors of three ---------------------------------------------------------------------------

cbk_status cbk_cross(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b, int32_t axis,
                     cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {a, b};
    const cbk_axis_params params = {.struct_size = sizeof params, .axis = axis};
    return cbk_run(stream, CBK_OP_CROSS, inputs, 2, &params, sizeof params, out);
}

cbk_status cbk_cross_into(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                          int32_t axis, cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {a, b};
    const cbk_axis_params params = {.struct_size = sizeof params, .axis = axis};
    return cbk_run_into(stream, CBK_OP_CROSS, inputs, 2, &params, sizeof params, dst);
}
