// backend.c: making a backend of a vtable, and what decorators see of it.
#include "core.h"

#include <stdlib.h>
#include <string.h>

struct required_slot {
    size_t offset;
    const char *name;
};

#define REQUIRED(slot)                                                                             \
    { offsetof(cbk_vtable, slot), #slot }
static const struct required_slot required_slots[] = {
    REQUIRED(name),          REQUIRED(device_count),   REQUIRED(device_describe),
    REQUIRED(device_open),   REQUIRED(device_close),   REQUIRED(device_info),
    REQUIRED(dtype_usage),   REQUIRED(storage_alloc),  REQUIRED(storage_free),
    REQUIRED(write),         REQUIRED(read),           REQUIRED(execute),
    REQUIRED(stream_create), REQUIRED(stream_destroy), REQUIRED(sync),
};

static cbk_status check_slots(const cbk_vtable *vtable) {
    for (size_t i = 0; i < sizeof required_slots / sizeof *required_slots; i++) {
        // A function pointer and a data pointer are one size wherever there is OpenCL.
        void *slot;
        memcpy(&slot, (const char *)vtable + required_slots[i].offset, sizeof slot);
        if (slot != NULL) continue;
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "required slot %s is NULL",
                        required_slots[i].name);
    }
    const bool has_events = vtable->event_create != NULL;
    if (has_events && (vtable->event_query == NULL || vtable->event_wait == NULL ||
                       vtable->event_destroy == NULL)) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                        "event_create comes without event_query, event_wait or event_destroy");
    }
    if (vtable->read_async != NULL && !has_events) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "read_async comes without event_create");
    }
    return CBK_OK;
}

static cbk_status create(const cbk_vtable *given, void *self, cbk_backend **out) {
    cbk_status status = cbk_check_out(out);
    if (status != CBK_OK) return status;
    if (given == NULL) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "vtable is NULL");
    cbk_vtable vtable;
    memset(&vtable, 0, sizeof vtable);
    status = cbk_read_struct(given, "cbk_vtable", &vtable, (uint32_t)sizeof vtable);
    if (status != CBK_OK) return status;
    if (vtable.api_version != CBK_BACKEND_API_VERSION) {
        return cbk_fail(CBK_ERROR_VERSION, 0, "api_version is %u, this library has %u",
                        (unsigned)vtable.api_version, (unsigned)CBK_BACKEND_API_VERSION);
    }
    status = check_slots(&vtable);
    if (status != CBK_OK) return status;

    cbk_backend *backend = malloc(sizeof *backend);
    if (backend == NULL) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for %zu bytes",
                        sizeof *backend);
    }
    memset(backend, 0, sizeof *backend);
    cbk_object_init(&backend->object, CBK_TAG_BACKEND);
    backend->vtable = vtable;
    backend->self = self;
    *out = backend;
    return CBK_OK;
}

cbk_status cbk_backend_create(const cbk_vtable *vtable, void *self, cbk_backend **out) {
    struct cbk_call former = cbk_call_begin("backend_create", CBK_OP_NONE);
    return cbk_call_end(former, create(vtable, self, out));
}

cbk_status cbk_backend_set_host_allocator(cbk_backend *backend, cbk_allocate_function allocate,
                                          cbk_free_function free_function, void *user_data) {
    struct cbk_call former = cbk_call_begin("backend_set_host_allocator", CBK_OP_NONE);
    cbk_status status = cbk_check_backend(backend);
    if (status == CBK_OK && (allocate == NULL) != (free_function == NULL)) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s is given without %s",
                          allocate == NULL ? "free" : "allocate",
                          allocate == NULL ? "allocate" : "free");
    }
    if (status == CBK_OK) {
        backend->allocate = allocate;
        backend->free = free_function;
        backend->allocator_user_data = user_data;
    }
    return cbk_call_end(former, status);
}

const char *cbk_backend_name(const cbk_backend *backend) {
    if (!cbk_object_is(backend, CBK_TAG_BACKEND)) return "";
    return backend->vtable.name(backend->self);
}

const cbk_vtable *cbk_backend_vtable(const cbk_backend *backend, void **out_self) {
    if (out_self != NULL) *out_self = NULL;
    if (!cbk_object_is(backend, CBK_TAG_BACKEND)) return NULL;
    if (out_self != NULL) *out_self = backend->self;
    return &backend->vtable;
}
