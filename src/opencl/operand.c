/// operand.c: tensors as kernels see them.
#include "opencl.h"

struct cbk_ocl_operand cbk_ocl_operand(const cbk_tensor *tensor) {
    struct cbk_ocl_operand operand = {.meta = cbk_tensor_metadata(tensor),
                                      .block = cbk_tensor_storage(tensor)};
    operand.offset = operand.meta->offset;
    if (operand.block != NULL)
        operand.offset +=
            (int64_t)(cbk_rt_block_offset(operand.block) / cbk_dtype_size(operand.meta->dtype));
    return operand;
}

const char *cbk_ocl_dtype_word(cbk_dtype dtype) {
    return dtype == CBK_DTYPE_FLEX32 ? "f32" : cbk_dtype_name(dtype);
}
