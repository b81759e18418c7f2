// adopt.c: objects over what a backend, or the backend's caller, has made already.
#include "core.h"

#include <string.h>

static cbk_status fail_no_handle(const char *what) {
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s is NULL", what);
}

// ---- devices and streams ------------------------------------------------------------------------

cbk_status cbk_device_adopt(cbk_backend *backend, const cbk_device_params *params, void *handle,
                            cbk_device **out) {
    struct cbk_call former = cbk_call_begin("device_adopt", CBK_OP_NONE);
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK && handle == NULL) status = fail_no_handle("handle");
    if (status == CBK_OK) status = cbk_device_make(backend, params, handle, out);
    return cbk_call_end(former, status);
}

static cbk_status adopt_stream(cbk_device *device, void *handle, uint64_t *out_number,
                               cbk_stream **out) {
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_device(device);
    if (status == CBK_OK && handle == NULL) status = fail_no_handle("handle");
    if (status != CBK_OK) return status;
    cbk_stream *stream = cbk_core_alloc(device->backend, sizeof *stream);
    if (stream == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    const uint64_t number = atomic_fetch_add(&device->stream_count, 1);
    cbk_object_init(&stream->object, CBK_TAG_STREAM);
    stream->handle = handle;
    stream->capture = NULL;
    stream->persistent_depth = 0;
    stream->device = cbk_device_retain(device);
    if (out_number != NULL) *out_number = number;
    *out = stream;
    return CBK_OK;
}

cbk_status cbk_stream_adopt(cbk_device *device, void *handle, uint64_t *out_number,
                            cbk_stream **out) {
    struct cbk_call former = cbk_call_begin("stream_adopt", CBK_OP_NONE);
    return cbk_call_end(former, adopt_stream(device, handle, out_number, out));
}

// ---- tensors ------------------------------------------------------------------------------------

bool cbk_meta_lies_within(const cbk_tensor_meta *meta, int64_t capacity) {
    int64_t lowest = meta->offset, highest = meta->offset;
    if (meta->element_count == 0) return true;
    if (meta->offset < 0 || meta->offset >= capacity) return false;
    for (uint32_t i = 0; i < meta->rank; i++) {
        const int64_t steps = meta->shape[i] - 1, stride = meta->strides[i];
        if (steps == 0 || stride == 0) continue;
        // No single step may leave the storage, so the sums below cannot overflow.
        if (stride > capacity / steps || stride < -(capacity / steps)) return false;
        if (stride > 0) {
            highest += steps * stride;
        } else {
            lowest += steps * stride;
        }
    }
    return lowest >= 0 && highest < capacity;
}

static cbk_status check_view(const cbk_tensor_meta *meta, uint64_t storage_bytes) {
    const uint64_t most = INT64_MAX / (2 * CBK_MAX_RANK);
    const uint64_t elements = storage_bytes / cbk_dtype_size(meta->dtype);
    if (cbk_meta_lies_within(meta, (int64_t)(elements < most ? elements : most))) return CBK_OK;
    char shape[CBK_SHAPE_TEXT], strides[CBK_SHAPE_TEXT];
    return cbk_fail(CBK_ERROR_SHAPE, 0,
                    "%s of %s with strides %s at element %lld goes beyond the memory's %llu bytes",
                    cbk_shape_text(meta->rank, meta->shape, shape), cbk_dtype_name(meta->dtype),
                    cbk_shape_text(meta->rank, meta->strides, strides), (long long)meta->offset,
                    (unsigned long long)storage_bytes);
}

static cbk_status adopt_tensor(cbk_stream *stream, const cbk_tensor_meta *given, void *storage,
                               uint64_t storage_bytes, cbk_tensor **out) {
    cbk_tensor_meta meta;
    cbk_tensor *tensor = NULL;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status == CBK_OK && given == NULL) status = fail_no_handle("meta");
    if (status == CBK_OK && stream->capture != NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is capturing a graph");
    }
    if (status == CBK_OK) status = cbk_check_storable(given->dtype);
    if (status == CBK_OK) status = cbk_meta_init(&meta, given->dtype, given->rank, given->shape);
    if (status != CBK_OK) return status;
    memcpy(meta.strides, given->strides, meta.rank * sizeof *meta.strides);
    meta.offset = given->offset;
    status = check_view(&meta, storage_bytes);
    if (status == CBK_OK && storage == NULL && meta.element_count != 0) {
        status = fail_no_handle("storage");
    }
    if (status == CBK_OK) status = cbk_tensor_make(stream, &meta, &tensor);
    if (status != CBK_OK) return status;
    atomic_store_explicit(&tensor->storage->handle, storage, memory_order_release);
    *out = tensor;
    return CBK_OK;
}

cbk_status cbk_tensor_adopt(cbk_stream *stream, const cbk_tensor_meta *meta, void *storage,
                            uint64_t storage_bytes, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("tensor_adopt", CBK_OP_NONE);
    return cbk_call_end(former, adopt_tensor(stream, meta, storage, storage_bytes, out));
}
