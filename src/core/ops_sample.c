// ops_sample.c: affine_grid, a composition.
#include "core.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

/// The places of `length` elements from -1 to 1, along `axis` of base [height, width, 3], into its
/// column `k`.
static cbk_status write_places(cbk_stream *stream, cbk_tensor *base, uint32_t axis, int32_t k,
                               bool align_corners) {
    cbk_tensor *line = NULL, *along = NULL, *whole = NULL, *column = NULL;
    const int64_t *shape = base->meta.shape, length = shape[axis];
    const int64_t own[3] = {axis == 0 ? length : 1, axis == 1 ? length : 1, 1};
    const int64_t all[3] = {shape[0], shape[1], 1};
    const double last = length <= 1 ? 0 : align_corners ? 1 : 1 - 1 / (double)length;
    cbk_status status = CBK_OK;
    TRY(cbk_linspace(stream, base->meta.dtype, cbk_f(-last), cbk_f(last), length, &line));
    TRY(cbk_reshape(stream, line, 3, own, &along));
    TRY(cbk_expand(stream, along, 3, all, &whole));
    TRY(cbk_narrow(stream, base, 2, k, 1, &column));
    TRY(cbk_copy_into(stream, whole, column));
done:
    cbk_tensor_release(&column);
    cbk_tensor_release(&whole);
    cbk_tensor_release(&along);
    cbk_tensor_release(&line);
    return status;
}

/// (x, y, 1) of every place: [height, width, 3].
static cbk_status make_base(cbk_stream *stream, cbk_dtype dtype, int64_t height, int64_t width,
                            bool align_corners, cbk_tensor **out) {
    const int64_t shape[3] = {height, width, 3};
    cbk_tensor *base = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_ones(stream, dtype, 3, shape, &base));
    TRY(write_places(stream, base, 1, 0, align_corners));
    TRY(write_places(stream, base, 0, 1, align_corners));
    *out = base;
    base = NULL;
done:
    cbk_tensor_release(&base);
    return status;
}

static cbk_status affine_grid(cbk_stream *stream, const cbk_tensor *theta, int64_t height,
                              int64_t width, bool align_corners, cbk_tensor **out) {
    cbk_tensor *base = NULL, *rows = NULL, *turned = NULL, *places = NULL;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status == CBK_OK) status = cbk_check_tensor(theta, "theta");
    if (status != CBK_OK) return status;
    const cbk_tensor_meta *meta = &theta->meta;
    if (meta->rank != 3 || meta->shape[1] != 2 || meta->shape[2] != 3) {
        char text[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_SHAPE, 0, "theta is %s, not [n,2,3]",
                        cbk_shape_text(meta->rank, meta->shape, text));
    }
    TRY(make_base(stream, meta->dtype, height, width, align_corners, &base));
    const int64_t flat[2] = {height * width, 3}, shape[4] = {meta->shape[0], height, width, 2};
    TRY(cbk_reshape(stream, base, 2, flat, &rows));
    TRY(cbk_transpose(stream, theta, 1, 2, &turned));
    TRY(cbk_matmul(stream, rows, turned, NULL, &places));
    TRY(cbk_reshape(stream, places, 4, shape, out));
done:
    cbk_tensor_release(&places);
    cbk_tensor_release(&turned);
    cbk_tensor_release(&rows);
    cbk_tensor_release(&base);
    return status;
}

cbk_status cbk_affine_grid(cbk_stream *stream, const cbk_tensor *theta, int64_t height,
                           int64_t width, uint32_t align_corners, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin_composed("affine_grid", CBK_OP_MATMUL);
    return cbk_call_end(former, affine_grid(stream, theta, height, width, align_corners != 0, out));
}
