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

/// Reads all; without waiting where there is an `out_event`. The temporaries may go before the work
/// that uses them has ended.
static cbk_status read_all(struct cbk_ocl_stream *stream, const cbk_backend_read *requests,
                           uint32_t count, struct cbk_rt_read *reads,
                           struct cbk_rt_block **temporaries, struct cbk_rt_event **out_event) {
    cbk_status status = cbk_rt_refuse_in_capture(stream->rt); // before copies are recorded
    for (uint32_t i = 0; i < count; i++) temporaries[i] = NULL;
    for (uint32_t i = 0; i < count && status == CBK_OK; i++)
        status = plan_read(stream, &requests[i], &reads[i], &temporaries[i]);
    if (status == CBK_OK)
        status = out_event != NULL ? cbk_rt_read_async(stream->rt, reads, count, out_event)
                                   : cbk_rt_read(stream->rt, reads, count);
    for (uint32_t i = 0; i < count; i++) cbk_rt_free(stream->device->rt, &temporaries[i]);
    return status;
}

static cbk_status read_list(struct cbk_ocl_stream *stream, const cbk_backend_read *requests,
                            uint32_t count, struct cbk_rt_event **out_event) {
    struct cbk_rt *rt = cbk_rt_device_process(stream->device->rt);
    struct cbk_rt_read one, *reads = &one;
    struct cbk_rt_block *temporary, **temporaries = &temporary;
    if (count == 1) // the usual case needs no list
        return read_all(stream, requests, 1, reads, temporaries, out_event);
    reads = cbk_rt_host_alloc(rt, count * sizeof *reads);
    temporaries = cbk_rt_host_alloc(rt, count * sizeof *temporaries);
    cbk_status status =
        reads != NULL && temporaries != NULL
            ? read_all(stream, requests, count, reads, temporaries, out_event)
            : cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for %u reads", count);
    cbk_rt_host_free(rt, temporaries, count * sizeof *temporaries);
    cbk_rt_host_free(rt, reads, count * sizeof *reads);
    return status;
}

cbk_status cbk_ocl_read(void *self, void *stream, const cbk_backend_read *requests,
                        uint32_t count) {
    (void)self;
    return read_list(stream, requests, count, NULL);
}

cbk_status cbk_ocl_read_async(void *self, void *stream, const cbk_backend_read *requests,
                              uint32_t count, void **out_event) {
    (void)self;
    struct cbk_rt_event *event = NULL;
    cbk_status status = read_list(stream, requests, count, &event);
    *out_event = event;
    return status;
}
