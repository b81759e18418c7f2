/// transfer.c: host memory to tensors of any strides and back.
#include "backend.h"

static uint64_t element_size(const cbk_tensor_meta *meta) {
    return cbk_dtype_size(meta->dtype);
}

cbk_status cbk_ocl_write(void *self, void *handle, const cbk_tensor *tensor, const void *data) {
    (void)self;
    struct cbk_ocl_stream *stream = handle;
    const cbk_tensor_meta *meta = cbk_tensor_metadata(tensor);
    const uint64_t size = cbk_tensor_data_bytes(tensor);

    if (cbk_tensor_is_contiguous(tensor))
        return cbk_rt_write(stream->rt, cbk_tensor_storage(tensor),
                            (uint64_t)meta->offset * element_size(meta), data, size);

    struct cbk_ocl_operand target = cbk_ocl_operand(tensor), dense;
    cbk_tensor_meta dense_meta;
    cbk_status status = cbk_ocl_temporary(stream, meta, &dense_meta, &dense);
    if (status != CBK_OK) return status;
    status = cbk_rt_write(stream->rt, dense.block, 0, data, size);
    if (status == CBK_OK) status = cbk_ocl_copy(stream, &dense, &target);
    cbk_rt_free(stream->device->rt, &dense.block);
    return status;
}

/// A read of one tensor; a temporary is left in `*out_temporary` when its elements had to be put
/// in order first.
static cbk_status plan_read(struct cbk_ocl_stream *stream, const cbk_backend_read *request,
                            struct cbk_rt_read *out, struct cbk_rt_block **out_temporary) {
    const cbk_tensor_meta *meta = cbk_tensor_metadata(request->tensor);
    *out = (struct cbk_rt_read){.block = cbk_tensor_storage(request->tensor),
                                .offset_bytes = (uint64_t)meta->offset * element_size(meta),
                                .data = request->data,
                                .size_bytes = cbk_tensor_data_bytes(request->tensor)};
    if (cbk_tensor_is_contiguous(request->tensor)) return CBK_OK;

    struct cbk_ocl_operand source = cbk_ocl_operand(request->tensor), dense;
    cbk_tensor_meta dense_meta;
    cbk_status status = cbk_ocl_temporary(stream, meta, &dense_meta, &dense);
    if (status != CBK_OK) return status;
    *out_temporary = out->block = dense.block;
    out->offset_bytes = 0;
    return cbk_ocl_copy(stream, &source, &dense);
}

cbk_status cbk_ocl_read(void *self, void *handle, const cbk_backend_read *requests,
                        uint32_t count) {
    struct cbk_ocl_stream *stream = handle;
    struct cbk_rt *rt = ((struct cbk_ocl *)self)->rt;
    struct read_slot {
        struct cbk_rt_read read;
        struct cbk_rt_block *temporary;
    } one;
    struct cbk_rt_read *reads = NULL;
    struct cbk_rt_block **temporaries = NULL;
    cbk_status status = cbk_rt_refuse_in_capture(stream->rt); // before copies are recorded

    if (status != CBK_OK) return status;
    if (count == 1) { // the usual case needs no list
        one.temporary = NULL;
        RT_TRY(plan_read(stream, requests, &one.read, &one.temporary));
        RT_TRY(cbk_rt_read(stream->rt, &one.read, 1));
        goto done;
    }
    reads = cbk_rt_host_alloc(rt, count * sizeof *reads);
    temporaries = cbk_rt_host_alloc(rt, count * sizeof *temporaries);
    if (reads == NULL || temporaries == NULL) {
        status = cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for %u reads", count);
        goto done;
    }
    for (uint32_t i = 0; i < count; i++)
        RT_TRY(plan_read(stream, &requests[i], &reads[i], &temporaries[i]));
    RT_TRY(cbk_rt_read(stream->rt, reads, count));
done:
    if (count == 1) cbk_rt_free(stream->device->rt, &one.temporary);
    for (uint32_t i = 0; temporaries != NULL && i < count; i++)
        cbk_rt_free(stream->device->rt, &temporaries[i]);
    cbk_rt_host_free(rt, temporaries, count * sizeof *temporaries);
    cbk_rt_host_free(rt, reads, count * sizeof *reads);
    return status;
}
