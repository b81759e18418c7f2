// rows_scan.c: scans along one axis.
#include "rows.h"

static cbk_status infer_scan(struct cbk_inference *inference) {
    cbk_dtype dtype = cbk_input(inference, 0)->dtype;
    cbk_scan_params *params = &inference->params.scan;
    const cbk_opcode opcode = inference->info->opcode;
    const bool keeps_dtype = opcode != CBK_OP_CUMSUM && opcode != CBK_OP_CUMPROD;
    if (params->out_dtype == CBK_DTYPE_NONE) params->out_dtype = dtype;
    cbk_status status = cbk_infer_dtype(inference, dtype);
    if (status == CBK_OK) {
        const uint64_t alike = cbk_dtype_in(dtype, CBK_INTS) ? CBK_INTS : CBK_FLOATS;
        status = cbk_infer_dtype_in(params->out_dtype, keeps_dtype ? CBK_BIT(dtype) : alike,
                                    "out_dtype");
    }
    if (status == CBK_OK) status = cbk_infer_flag(params->exclusive, "exclusive");
    if (status == CBK_OK) status = cbk_infer_flag(params->reversed, "reversed");
    if (status == CBK_OK) status = cbk_infer_axis(inference, &params->axis);
    return status != CBK_OK ? status : cbk_infer_like(inference, params->out_dtype);
}

#define SCAN(op, name, dtypes)                                                                     \
    CBK_ROW(op, name, 1, sizeof(cbk_scan_params), CBK_ROW_DIFFERENTIABLE, dtypes, infer_scan)

static const struct cbk_row scan_rows[] = {
    SCAN(CBK_OP_CUMSUM, "cumsum", CBK_NUMBERS),
    SCAN(CBK_OP_CUMPROD, "cumprod", CBK_NUMBERS),
    SCAN(CBK_OP_CUMMAX, "cummax", CBK_NUMBERS),
    SCAN(CBK_OP_CUMMIN, "cummin", CBK_NUMBERS),
    SCAN(CBK_OP_LOGCUMSUMEXP, "logcumsumexp", CBK_FLOATS),
};
CBK_FAMILY(cbk_scan_family, scan_rows);
