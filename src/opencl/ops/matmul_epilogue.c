/// matmul_epilogue.c: what follows a product: as arguments of its kernel, or as launches of its own.
#include "matmul.h"

#include "pointwise.h"

#include <string.h>

// ---- within the kernel --------------------------------------------------------------------------

void cbk_ocl_arg_epilogue(struct cbk_rt_launch *launch, const struct cbk_ocl_product *product) {
    const struct cbk_ocl_epilogue *epilogue = &product->epilogue;
    const size_t unused = cbk_dtype_size(product->out_dtype) == 8 ? 0 : 2 * sizeof(uint32_t);
    if (!cbk_ocl_has_epilogue(epilogue)) return;
    for (int k = 0; k < CBK_OCL_ADDED; k++)
        if (epilogue->blocks[k] != NULL) cbk_rt_arg_block(launch, epilogue->blocks[k], CBK_RT_READ);
    cbk_rt_arg_value(launch, &epilogue->args, sizeof epilogue->args - unused);
}

static cbk_activation_params activation_params(const cbk_matmul_params *params) {
    return (cbk_activation_params){.struct_size = sizeof(cbk_activation_params),
                                   .variant = params->activation_variant,
                                   .alpha = params->alpha,
                                   .beta = params->beta};
}

cbk_status cbk_ocl_epilogue_activate(const cbk_matmul_params *params, cbk_dtype dtype,
                                     struct cbk_ocl_epilogue *out) {
    const cbk_activation_params constants = activation_params(params);
    struct cbk_ocl_pointwise op;
    if (params->activation == CBK_OP_NONE) return CBK_OK;
    cbk_status status = cbk_ocl_describe_activation(params->activation, &constants, dtype, &op);
    if (status == CBK_OK) cbk_ocl_epilogue_take(&op, dtype, out);
    return status;
}

void cbk_ocl_epilogue_take(const struct cbk_ocl_pointwise *op, cbk_dtype dtype,
                           struct cbk_ocl_epilogue *out) {
    const size_t words = cbk_dtype_size(dtype) == 8 ? 2 : 1;
    out->activation = op->name;
    out->activation_id = (op->id & 0xff) | (op->id >> 16 & 1) << 8;
    out->constant_count = op->scalar_count;
    for (size_t i = 0; i < 2; i++) // the low bytes of what may be narrower
        memcpy(&out->args.constants[i * words], &op->scalars[i], words * sizeof(uint32_t));
}

// ---- as launches of its own ---------------------------------------------------------------------

/// out = out + added, or with NULL the activation of out.
static cbk_status launch_step(struct cbk_ocl_stream *stream, const cbk_op *op, cbk_opcode opcode,
                              cbk_tensor *added) {
    const cbk_activation_params params = activation_params(op->params);
    cbk_tensor *const inputs[] = {op->outputs[0], added};
    const cbk_op step = {.struct_size = sizeof step,
                         .opcode = opcode,
                         .input_count = added != NULL ? 2 : 1,
                         .output_count = 1,
                         .inputs = inputs,
                         .outputs = op->outputs,
                         .params = &params,
                         .params_size = sizeof params};
    return added != NULL ? cbk_ocl_binary(stream, &step) : cbk_ocl_unary(stream, &step);
}

cbk_status cbk_ocl_epilogue_launch(struct cbk_ocl_stream *stream, const cbk_op *op) {
    const cbk_matmul_params *params = op->params;
    cbk_tensor *bias = op->input_count > 2 ? op->inputs[2] : NULL;
    cbk_tensor *residual = op->input_count > 3 ? op->inputs[3] : NULL;
    cbk_status status = CBK_OK;
    if (bias != NULL) RT_TRY(launch_step(stream, op, CBK_OP_ADD, bias));
    if (params->activation != CBK_OP_NONE)
        RT_TRY(launch_step(stream, op, params->activation, NULL));
    if (residual != NULL) RT_TRY(launch_step(stream, op, CBK_OP_ADD, residual));
done:
    return status;
}
