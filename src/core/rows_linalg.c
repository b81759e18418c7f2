// rows_linalg.c: factorisations of the matrices in the last two axes.
#include "rows.h"

/// Output i: x's leading axes, then `count` lengths.
static cbk_status infer_output(struct cbk_inference *inference, uint32_t i, cbk_dtype dtype,
                               uint32_t count, int64_t first, int64_t second) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    const uint32_t leading = x->rank - 2;
    int64_t shape[CBK_MAX_RANK];
    for (uint32_t axis = 0; axis < leading; axis++) shape[axis] = x->shape[axis];
    if (count > 0) shape[leading] = first;
    if (count > 1) shape[leading + 1] = second;
    return cbk_meta_init(&inference->outputs[i], dtype, leading + count, shape);
}

static cbk_status check_matrices(const struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    cbk_status status = cbk_infer_dtype(inference, x->dtype);
    if (status != CBK_OK || x->rank >= 2) return status;
    return cbk_fail(CBK_ERROR_SHAPE, 0, "x has rank %u: a matrix has two axes", (unsigned)x->rank);
}

static int64_t rows_of(const cbk_tensor_meta *x) {
    return x->shape[x->rank - 2];
}

static int64_t columns_of(const cbk_tensor_meta *x) {
    return x->shape[x->rank - 1];
}

static int64_t shorter(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static cbk_status infer_lu_factor(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    cbk_dtype *out_dtype = &inference->params.lu.out_dtype;
    cbk_status status = check_matrices(inference);
    if (status == CBK_OK) status = cbk_infer_int(inference, out_dtype);
    if (status != CBK_OK) return status;
    const int64_t m = rows_of(x), n = columns_of(x);
    if (m > 0) status = cbk_infer_fits(m - 1, *out_dtype, "row");
    if (status == CBK_OK) status = infer_output(inference, 0, x->dtype, 2, m, n);
    if (status == CBK_OK) status = infer_output(inference, 1, *out_dtype, 1, shorter(m, n), 0);
    if (status == CBK_OK) status = infer_output(inference, 2, *out_dtype, 1, m, 0);
    return status;
}

static cbk_status infer_det(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    char text[CBK_SHAPE_TEXT];
    cbk_status status = check_matrices(inference);
    if (status != CBK_OK) return status;
    if (rows_of(x) != columns_of(x)) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "x is %s: its matrices are not square",
                        cbk_shape_text(x->rank, x->shape, text));
    }
    return infer_output(inference, 0, x->dtype, 0, 0, 0);
}

static cbk_status infer_qr(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0);
    const uint32_t mode = inference->params.qr.mode;
    cbk_status status = check_matrices(inference);
    if (status != CBK_OK) return status;
    if (mode > CBK_QR_COMPLETE)
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "mode is %u", (unsigned)mode);
    const int64_t m = rows_of(x), n = columns_of(x);
    const int64_t inner = mode == CBK_QR_COMPLETE ? m : shorter(m, n);
    status = infer_output(inference, 0, x->dtype, 2, m, inner);
    return status == CBK_OK ? infer_output(inference, 1, x->dtype, 2, inner, n) : status;
}

static const struct cbk_row linalg_rows[] = {
    CBK_ROW_OUTPUTS(CBK_OP_LU_FACTOR, "lu_factor", 1, 3, sizeof(cbk_lu_params),
                    CBK_ROW_DIFFERENTIABLE, CBK_FLOATS, infer_lu_factor),
    CBK_ROW(CBK_OP_DET, "det", 1, 0, CBK_ROW_DIFFERENTIABLE, CBK_FLOATS, infer_det),
    CBK_ROW_OUTPUTS(CBK_OP_QR, "qr", 1, 2, sizeof(cbk_qr_params), CBK_ROW_DIFFERENTIABLE,
                    CBK_FLOATS, infer_qr),
};
CBK_FAMILY(cbk_linalg_family, linalg_rows);
