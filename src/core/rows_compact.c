// rows_compact.c: argwhere and mask_select. The length of the result is a parameter: shapes follow
// from shapes and parameters alone.
#include "rows.h"

/// What both have in common; `count`: positions of the mask.
static cbk_status check_params(struct cbk_inference *inference, int64_t count) {
    cbk_compact_params *params = &inference->params.compact;
    cbk_status status = cbk_infer_dtype(inference, cbk_input(inference, 0)->dtype);
    if (status == CBK_OK) status = cbk_infer_int(inference, &params->out_dtype);
    if (status == CBK_OK) status = cbk_infer_fits(count, params->out_dtype, "a count of");
    if (status != CBK_OK) return status;
    return cbk_meta_init(&inference->outputs[1], params->out_dtype, 0, NULL);
}

static cbk_status infer_argwhere(struct cbk_inference *inference) {
    const cbk_tensor_meta *mask = cbk_input(inference, 0);
    const cbk_compact_params *params = &inference->params.compact;
    cbk_status status = check_params(inference, mask->element_count);
    if (status != CBK_OK) return status;
    const int64_t shape[2] = {params->length, mask->rank};
    return cbk_meta_init(&inference->outputs[0], params->out_dtype, 2, shape);
}

static cbk_status infer_mask_select(struct cbk_inference *inference) {
    const cbk_tensor_meta *x = cbk_input(inference, 0), *mask = cbk_input(inference, 1);
    cbk_tensor_meta both = *x;
    cbk_status status = check_params(inference, x->element_count);
    if (status == CBK_OK) status = cbk_infer_dtype_in(mask->dtype, CBK_BOOLS, "mask");
    if (status == CBK_OK) status = cbk_infer_broadcast(inference, 1, &both.rank, both.shape);
    if (status != CBK_OK) return status;
    if (!cbk_meta_same_shape(&both, x)) {
        char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_SHAPE, 0, "x is %s, mask %s: the mask must broadcast to x",
                        cbk_shape_text(x->rank, x->shape, a),
                        cbk_shape_text(mask->rank, mask->shape, b));
    }
    const int64_t shape[1] = {inference->params.compact.length};
    return cbk_meta_init(&inference->outputs[0], x->dtype, 1, shape);
}

static const struct cbk_row compact_rows[] = {
    CBK_ROW_OUTPUTS(CBK_OP_ARGWHERE, "argwhere", 1, 2, sizeof(cbk_compact_params), 0, CBK_COMPUTED,
                    infer_argwhere),
    CBK_ROW_OUTPUTS(CBK_OP_MASK_SELECT, "mask_select", 2, 2, sizeof(cbk_compact_params),
                    CBK_ROW_DIFFERENTIABLE, CBK_STORED, infer_mask_select),
};
CBK_FAMILY(cbk_compact_family, compact_rows);
