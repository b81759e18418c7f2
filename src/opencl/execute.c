/// execute.c: from an operation to the launcher of its family.
#include "backend.h"

/// The table of contents of this backend.
// clang-format off
static const cbk_ocl_launcher launchers[] = {
    [CBK_FAMILY_UNARY]          = cbk_ocl_unary,
    [CBK_FAMILY_BINARY]         = cbk_ocl_binary,
    [CBK_FAMILY_BINARY_SCALAR]  = cbk_ocl_binary,
    [CBK_FAMILY_COMPARE]        = cbk_ocl_compare,
    [CBK_FAMILY_COMPARE_SCALAR] = cbk_ocl_compare,
    [CBK_FAMILY_TERNARY]        = cbk_ocl_ternary,
    [CBK_FAMILY_CAST]           = cbk_ocl_cast,
    [CBK_FAMILY_CREATE]         = cbk_ocl_create_op,
    [CBK_FAMILY_MOVE]           = cbk_ocl_move,
    [CBK_FAMILY_REDUCE]         = cbk_ocl_reduce,
    [CBK_FAMILY_SOFTMAX]        = cbk_ocl_softmax,
    [CBK_FAMILY_NORM]           = cbk_ocl_norm,
    [CBK_FAMILY_MATMUL]         = cbk_ocl_matmul,
    [CBK_FAMILY_INDEX]          = cbk_ocl_index,
    [CBK_FAMILY_RANDOM]         = cbk_ocl_random,
    [CBK_FAMILY_ACTIVATION_BACKWARD] = cbk_ocl_activation_backward,
    [CBK_FAMILY_COMPACT]        = cbk_ocl_compact,
    [CBK_FAMILY_SCAN]           = cbk_ocl_scan,
    [CBK_FAMILY_SORT]           = cbk_ocl_sort,
    [CBK_FAMILY_LINALG]         = cbk_ocl_linalg,
};
// clang-format on

static cbk_ocl_launcher find_launcher(cbk_opcode opcode) {
    uint32_t family = opcode >> 8;
    return family < sizeof launchers / sizeof *launchers ? launchers[family] : NULL;
}

/// CBK_OK if the device has the dtype.
static cbk_status check_dtype(const struct cbk_ocl_device *device, const cbk_tensor *tensor) {
    cbk_dtype dtype = cbk_tensor_dtype(tensor);
    if (dtype == CBK_DTYPE_QUANT)
        return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "quantized tensors have no kernels");
    if (dtype == CBK_DTYPE_F64 && !device->caps->has_f64)
        return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "the device has no f64");
    return CBK_OK;
}

static cbk_status check_op(const struct cbk_ocl_device *device, const cbk_op *op) {
    if (find_launcher(op->opcode) == NULL)
        return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "opcode 0x%04x has no kernel",
                        (unsigned)op->opcode);
    for (uint32_t i = 0; i < op->input_count; i++) {
        cbk_status status = op->inputs[i] ? check_dtype(device, op->inputs[i]) : CBK_OK;
        if (status != CBK_OK) return status;
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        cbk_status status = check_dtype(device, op->outputs[i]);
        if (status != CBK_OK) return status;
    }
    return CBK_OK;
}

static cbk_status attach(struct cbk_ocl_stream *stream, cbk_tensor *tensor) {
    if (cbk_tensor_storage(tensor) != NULL || cbk_tensor_element_count(tensor) == 0) return CBK_OK;
    struct cbk_rt_block *block = NULL;
    cbk_status status = cbk_rt_alloc(stream->rt, cbk_tensor_storage_bytes(tensor), &block);
    if (status != CBK_OK) return status;
    status = cbk_tensor_attach(tensor, block);
    if (status != CBK_OK) cbk_rt_free(stream->device->rt, &block);
    return status;
}

cbk_status cbk_ocl_execute(void *self, void *handle, const cbk_op *op) {
    (void)self;
    struct cbk_ocl_stream *stream = handle;
    cbk_status status = check_op(stream->device, op);
    for (uint32_t i = 0; i < op->output_count && status == CBK_OK; i++)
        status = attach(stream, op->outputs[i]);
    if (status != CBK_OK) return status;
    const cbk_ocl_launcher launcher = find_launcher(op->opcode);
    return stream->profile == NULL ? launcher(stream, op)
                                   : cbk_ocl_profile_op(stream, launcher, op);
}

cbk_status cbk_ocl_supports_op(void *self, void *device, const cbk_op *op) {
    (void)self;
    return check_op(device, op);
}
