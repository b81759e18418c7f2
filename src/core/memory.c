// memory.c: the device's memory figures and controls, staging memory, counters.
#include "core.h"

#include <string.h>

cbk_status cbk_memory_usage(cbk_device *device, cbk_memory_info *out) {
    struct cbk_call former = cbk_call_begin("memory_usage", CBK_OP_NONE);
    cbk_memory_info info = {.struct_size = sizeof info};
    cbk_status status = cbk_check_device(device);
    if (status == CBK_OK) {
        const cbk_vtable *vtable = cbk_device_vtable(device);
        status = vtable->memory_usage != NULL
                     ? vtable->memory_usage(device->backend->self, device->handle, &info)
                     : cbk_fail_unsupported(device->backend, "memory_usage");
    }
    if (status == CBK_OK) {
        status = cbk_write_struct(&info, (uint32_t)sizeof info, "cbk_memory_info", out);
    }
    return cbk_call_end(former, status);
}

cbk_status cbk_memory_cleanup(cbk_device *device) {
    struct cbk_call former = cbk_call_begin("memory_cleanup", CBK_OP_NONE);
    cbk_status status = cbk_check_device(device);
    if (status == CBK_OK && cbk_device_vtable(device)->memory_cleanup != NULL) {
        status = cbk_device_vtable(device)->memory_cleanup(device->backend->self, device->handle);
    }
    return cbk_call_end(former, status);
}

cbk_status cbk_memory_limit(cbk_device *device, uint64_t limit_bytes) {
    struct cbk_call former = cbk_call_begin("memory_limit", CBK_OP_NONE);
    cbk_status status = cbk_check_device(device);
    if (status == CBK_OK) {
        const cbk_vtable *vtable = cbk_device_vtable(device);
        status = vtable->memory_limit != NULL
                     ? vtable->memory_limit(device->backend->self, device->handle, limit_bytes)
                     : cbk_fail_unsupported(device->backend, "memory_limit");
    }
    return cbk_call_end(former, status);
}

cbk_status cbk_persistent_begin(cbk_stream *stream) {
    struct cbk_call former = cbk_call_begin("persistent_begin", CBK_OP_NONE);
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK && cbk_stream_vtable(stream)->persistent_begin != NULL) {
        status =
            cbk_stream_vtable(stream)->persistent_begin(cbk_stream_self(stream), stream->handle);
    }
    if (status == CBK_OK) stream->persistent_depth++;
    return cbk_call_end(former, status);
}

static cbk_status persistent_end(cbk_stream *stream) {
    cbk_status status = cbk_check_stream(stream);
    if (status != CBK_OK) return status;
    if (stream->persistent_depth == 0) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "no persistent_begin is open on the stream");
    }
    stream->persistent_depth--;
    const cbk_vtable *vtable = cbk_stream_vtable(stream);
    return vtable->persistent_end != NULL
               ? vtable->persistent_end(cbk_stream_self(stream), stream->handle)
               : CBK_OK;
}

cbk_status cbk_persistent_end(cbk_stream *stream) {
    struct cbk_call former = cbk_call_begin("persistent_end", CBK_OP_NONE);
    return cbk_call_end(former, persistent_end(stream));
}

// ---- staging ------------------------------------------------------------------------------------

/// In front of staging memory that is ordinary host memory, since the way back gives no size.
#define STAGING_HEAD 64

static cbk_status staging_alloc(cbk_device *device, uint64_t size_bytes, void **out) {
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_device(device);
    if (status != CBK_OK) return status;
    if (size_bytes == 0 || size_bytes > SIZE_MAX - STAGING_HEAD) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "size is %llu bytes",
                        (unsigned long long)size_bytes);
    }
    const cbk_vtable *vtable = cbk_device_vtable(device);
    if (vtable->staging_alloc != NULL && vtable->staging_free != NULL) {
        return vtable->staging_alloc(device->backend->self, device->handle, size_bytes, out);
    }
    size_t whole = (size_t)size_bytes + STAGING_HEAD;
    char *memory = cbk_core_alloc(device->backend, whole);
    if (memory == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    memcpy(memory, &whole, sizeof whole);
    *out = memory + STAGING_HEAD;
    return CBK_OK;
}

cbk_status cbk_staging_alloc(cbk_device *device, uint64_t size_bytes, void **out) {
    struct cbk_call former = cbk_call_begin("staging_alloc", CBK_OP_NONE);
    return cbk_call_end(former, staging_alloc(device, size_bytes, out));
}

void cbk_staging_free(cbk_device *device, void **memory) {
    if (memory == NULL || *memory == NULL || !cbk_object_is(device, CBK_TAG_DEVICE)) return;
    char *dying = *memory;
    *memory = NULL;
    const cbk_vtable *vtable = cbk_device_vtable(device);
    if (vtable->staging_alloc != NULL && vtable->staging_free != NULL) {
        vtable->staging_free(device->backend->self, device->handle, dying);
        return;
    }
    size_t whole;
    dying -= STAGING_HEAD;
    memcpy(&whole, dying, sizeof whole);
    cbk_core_free(device->backend, dying, whole);
}

cbk_status cbk_device_counters(cbk_device *device, cbk_counters *out) {
    struct cbk_call former = cbk_call_begin("device_counters", CBK_OP_NONE);
    cbk_counters counters = {.struct_size = sizeof counters};
    cbk_status status = cbk_check_device(device);
    if (status == CBK_OK) {
        const cbk_vtable *vtable = cbk_device_vtable(device);
        status = vtable->counters != NULL
                     ? vtable->counters(device->backend->self, device->handle, &counters)
                     : cbk_fail_unsupported(device->backend, "counters");
    }
    if (status == CBK_OK) {
        status = cbk_write_struct(&counters, (uint32_t)sizeof counters, "cbk_counters", out);
    }
    return cbk_call_end(former, status);
}
