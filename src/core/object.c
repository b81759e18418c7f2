// object.c: host memory, reference counts and handle checks of all objects; the release chain.
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- host memory --------------------------------------------------------------------------------

void *cbk_core_alloc(const cbk_backend *backend, size_t size) {
    void *memory = backend->allocate != NULL
                       ? backend->allocate(backend->allocator_user_data, size, 16)
                       : malloc(size);
    if (memory == NULL) {
        cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for %zu bytes", size);
    }
    return memory;
}

void cbk_core_free(const cbk_backend *backend, void *memory, size_t size) {
    if (memory == NULL) return;
    if (backend->allocate != NULL) {
        backend->free(backend->allocator_user_data, memory, size);
    } else {
        free(memory);
    }
}

// ---- checks -------------------------------------------------------------------------------------

static cbk_status check_handle(const void *handle, uint32_t tag, const char *what,
                               const char *type) {
    if (cbk_object_is(handle, tag)) return CBK_OK;
    if (handle == NULL) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s is NULL", what);
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s (%p) is not a live %s", what, handle, type);
}

cbk_status cbk_check_backend(const cbk_backend *backend) {
    return check_handle(backend, CBK_TAG_BACKEND, "backend", "backend");
}

cbk_status cbk_check_device(const cbk_device *device) {
    return check_handle(device, CBK_TAG_DEVICE, "device", "device");
}

cbk_status cbk_check_stream(const cbk_stream *stream) {
    return check_handle(stream, CBK_TAG_STREAM, "stream", "stream");
}

cbk_status cbk_check_tensor(const cbk_tensor *tensor, const char *what) {
    return check_handle(tensor, CBK_TAG_TENSOR, what, "tensor");
}

cbk_status cbk_check_same_device(const cbk_stream *stream, const cbk_tensor *tensor,
                                 const char *what) {
    if (tensor->storage->device == stream->device) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s lives on device %p, the stream on device %p",
                    what, (void *)tensor->storage->device, (void *)stream->device);
}

cbk_status cbk_check_out(void *out) {
    if (out == NULL) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "out is NULL");
    memset(out, 0, sizeof(void *));
    return CBK_OK;
}

// ---- backend, device, stream, graph, event ------------------------------------------------------

cbk_backend *cbk_backend_retain(cbk_backend *backend) {
    if (backend != NULL) cbk_object_retain(&backend->object);
    return backend;
}

void cbk_backend_release(cbk_backend **backend) {
    cbk_backend *dying = backend != NULL ? *backend : NULL;
    if (dying == NULL) return;
    *backend = NULL;
    if (!cbk_object_drop(&dying->object)) return;
    if (dying->vtable.destroy != NULL) dying->vtable.destroy(dying->self);
    free(dying); // made before an allocator could be set
}

cbk_device *cbk_device_retain(cbk_device *device) {
    if (device != NULL) cbk_object_retain(&device->object);
    return device;
}

void cbk_device_release(cbk_device **device) {
    cbk_device *dying = device != NULL ? *device : NULL;
    if (dying == NULL) return;
    *device = NULL;
    if (!cbk_object_drop(&dying->object)) return;
    cbk_backend *backend = dying->backend;
    backend->vtable.device_close(backend->self, dying->handle);
    cbk_core_free(backend, dying, sizeof *dying);
    cbk_backend_release(&backend);
}

cbk_stream *cbk_stream_retain(cbk_stream *stream) {
    if (stream != NULL) cbk_object_retain(&stream->object);
    return stream;
}

void cbk_stream_release(cbk_stream **stream) {
    cbk_stream *dying = stream != NULL ? *stream : NULL;
    if (dying == NULL) return;
    *stream = NULL;
    if (!cbk_object_drop(&dying->object)) return;
    cbk_device *device = dying->device;
    cbk_device_vtable(device)->stream_destroy(device->backend->self, dying->handle);
    cbk_capture_release(device->backend, dying->capture);
    cbk_core_free(device->backend, dying, sizeof *dying);
    cbk_device_release(&device);
}

cbk_graph *cbk_graph_retain(cbk_graph *graph) {
    if (graph != NULL) cbk_object_retain(&graph->object);
    return graph;
}

void cbk_graph_release(cbk_graph **graph) {
    cbk_graph *dying = graph != NULL ? *graph : NULL;
    if (dying == NULL) return;
    *graph = NULL;
    if (!cbk_object_drop(&dying->object)) return;
    cbk_stream *stream = dying->stream;
    const cbk_vtable *vtable = cbk_stream_vtable(stream);
    if (vtable->graph_destroy != NULL) {
        vtable->graph_destroy(cbk_stream_self(stream), dying->handle);
    }
    cbk_capture_release(stream->device->backend, dying->capture);
    cbk_core_free(stream->device->backend, dying, sizeof *dying);
    cbk_stream_release(&stream);
}

cbk_event *cbk_event_retain(cbk_event *event) {
    if (event != NULL) cbk_object_retain(&event->object);
    return event;
}

void cbk_event_release(cbk_event **event) {
    cbk_event *dying = event != NULL ? *event : NULL;
    if (dying == NULL) return;
    *event = NULL;
    if (!cbk_object_drop(&dying->object)) return;
    cbk_stream *stream = dying->stream;
    const cbk_vtable *vtable = cbk_stream_vtable(stream);
    if (dying->handle != NULL && vtable->event_destroy != NULL) {
        vtable->event_destroy(cbk_stream_self(stream), dying->handle);
    }
    cbk_core_free(stream->device->backend, dying, sizeof *dying);
    cbk_stream_release(&stream);
}

// ---- tensors ------------------------------------------------------------------------------------

cbk_tensor *cbk_tensor_retain(cbk_tensor *tensor) {
    if (tensor != NULL) cbk_object_retain(&tensor->object);
    return tensor;
}

static void drop_storage(struct cbk_storage *storage) {
    if (!cbk_count_drop(&storage->references)) return;
    cbk_device *device = storage->device;
    cbk_backend *backend = device->backend;
    void *handle = atomic_load_explicit(&storage->handle, memory_order_acquire);
    if (handle != NULL) backend->vtable.storage_free(backend->self, device->handle, handle);
    struct cbk_poison *poison = atomic_load_explicit(&storage->poison, memory_order_acquire);
    while (poison != NULL) {
        struct cbk_poison *former = poison->former;
        cbk_core_free(backend, poison, sizeof *poison);
        poison = former;
    }
    cbk_core_free(backend, storage->quant, sizeof *storage->quant);
    cbk_capture_release(backend, storage->capture);
    cbk_core_free(backend, storage, sizeof(struct cbk_storage_and_tensor));
    cbk_device_release(&device);
}

void cbk_tensor_release(cbk_tensor **tensor) {
    cbk_tensor *dying = tensor != NULL ? *tensor : NULL;
    if (dying == NULL) return;
    *tensor = NULL;
    if (!cbk_object_drop(&dying->object)) return;
    struct cbk_storage *storage = dying->storage;
    if (dying->is_view) cbk_core_free(storage->device->backend, dying, sizeof *dying);
    drop_storage(storage);
}

static void init_tensor(struct cbk_tensor *tensor, struct cbk_storage *storage,
                        const cbk_tensor_meta *meta, uint32_t is_view) {
    cbk_object_init(&tensor->object, CBK_TAG_TENSOR);
    tensor->is_view = is_view;
    tensor->meta = *meta;
    tensor->storage = storage;
}

void cbk_tensor_make_local(cbk_device *device, const cbk_tensor_meta *meta,
                           struct cbk_storage_and_tensor *memory) {
    struct cbk_storage *storage = &memory->storage;
    atomic_init(&storage->references, 1);
    atomic_init(&storage->poisoned, false);
    atomic_init(&storage->handle, NULL);
    atomic_init(&storage->poison, NULL);
    storage->device = device;
    storage->capture = NULL;
    storage->quant = NULL;
    init_tensor(&memory->tensor, storage, meta, 0);
}

cbk_status cbk_tensor_make(cbk_stream *stream, const cbk_tensor_meta *meta, cbk_tensor **out) {
    struct cbk_storage_and_tensor *both =
        cbk_core_alloc(stream->device->backend, sizeof(struct cbk_storage_and_tensor));
    if (both == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    cbk_tensor_make_local(cbk_device_retain(stream->device), meta, both);
    both->storage.capture = cbk_capture_retain(stream->capture);
    if (meta->quant != NULL) {
        both->storage.quant = cbk_core_alloc(stream->device->backend, sizeof(cbk_quant));
        if (both->storage.quant == NULL) {
            cbk_tensor *failed = &both->tensor;
            cbk_tensor_release(&failed);
            return CBK_ERROR_OUT_OF_HOST_MEMORY;
        }
        *both->storage.quant = *meta->quant;
        both->tensor.meta.quant = both->storage.quant;
    }
    *out = &both->tensor;
    return CBK_OK;
}

cbk_status cbk_tensor_make_view(struct cbk_storage *storage, const cbk_tensor_meta *meta,
                                cbk_tensor **out) {
    cbk_tensor *view = cbk_core_alloc(storage->device->backend, sizeof *view);
    if (view == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    atomic_fetch_add_explicit(&storage->references, 1, memory_order_relaxed);
    init_tensor(view, storage, meta, 1);
    *out = view;
    return CBK_OK;
}

cbk_status cbk_tensor_make_stored(cbk_stream *stream, const cbk_tensor_meta *meta,
                                  cbk_tensor **out) {
    cbk_tensor *tensor;
    cbk_status status = cbk_tensor_make(stream, meta, &tensor);
    if (status != CBK_OK) return status;
    if (meta->element_count != 0) {
        void *handle = NULL;
        status = cbk_stream_vtable(stream)->storage_alloc(
            cbk_stream_self(stream), stream->handle, cbk_tensor_storage_bytes(tensor), &handle);
        if (status != CBK_OK) {
            cbk_tensor_release(&tensor);
            return status;
        }
        atomic_store_explicit(&tensor->storage->handle, handle, memory_order_release);
    }
    *out = tensor;
    return CBK_OK;
}

// ---- what backends do to tensors ----------------------------------------------------------------

const cbk_tensor_meta *cbk_tensor_metadata(const cbk_tensor *tensor) {
    return cbk_object_is(tensor, CBK_TAG_TENSOR) ? &tensor->meta : NULL;
}

void *cbk_tensor_storage(const cbk_tensor *tensor) {
    if (!cbk_object_is(tensor, CBK_TAG_TENSOR) || tensor->meta.element_count == 0) return NULL;
    return atomic_load_explicit(&tensor->storage->handle, memory_order_acquire);
}

uint64_t cbk_tensor_storage_bytes(const cbk_tensor *tensor) {
    if (!cbk_object_is(tensor, CBK_TAG_TENSOR) || tensor->meta.element_count == 0) return 0;
    const cbk_tensor_meta *meta = &tensor->meta;
    if (meta->quant != NULL) return cbk_quant_bytes(meta);
    int64_t elements = meta->offset + 1; // up to and including the last one
    for (uint32_t i = 0; i < meta->rank; i++) {
        if (meta->strides[i] > 0) elements += (meta->shape[i] - 1) * meta->strides[i];
    }
    return (uint64_t)elements * cbk_dtype_size(meta->dtype);
}

uint64_t cbk_tensor_data_bytes(const cbk_tensor *tensor) {
    if (!cbk_object_is(tensor, CBK_TAG_TENSOR)) return 0;
    const cbk_tensor_meta *meta = &tensor->meta;
    return meta->quant != NULL ? cbk_quant_bytes(meta)
                               : (uint64_t)meta->element_count * cbk_dtype_size(meta->dtype);
}

cbk_status cbk_tensor_attach(cbk_tensor *tensor, void *storage) {
    cbk_status status = cbk_check_tensor(tensor, "tensor");
    if (status != CBK_OK) return status;
    if (storage == NULL) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "storage is NULL");
    void *none = NULL;
    if (!atomic_compare_exchange_strong(&tensor->storage->handle, &none, storage)) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the tensor has storage (%p) already", none);
    }
    return CBK_OK;
}

/// Room for a reason; the error record is kept when there is none.
static struct cbk_poison *make_poison(const cbk_backend *backend, cbk_status status,
                                      const char *message) {
    struct cbk_poison *poison =
        backend->allocate != NULL
            ? backend->allocate(backend->allocator_user_data, sizeof *poison, 16)
            : malloc(sizeof *poison);
    if (poison == NULL) return NULL;
    poison->status = status;
    snprintf(poison->text, sizeof poison->text, "%s", message != NULL ? message : "");
    return poison;
}

void cbk_tensor_poison(cbk_tensor *tensor, cbk_status status, const char *message) {
    if (!cbk_object_is(tensor, CBK_TAG_TENSOR)) return;
    struct cbk_storage *storage = tensor->storage;
    cbk_backend *backend = storage->device->backend;
    if (atomic_load_explicit(&storage->poisoned, memory_order_acquire)) return;
    // Without memory for the text the mark alone has to do.
    struct cbk_poison *poison = make_poison(backend, status, message);
    struct cbk_poison *former = atomic_load_explicit(&storage->poison, memory_order_acquire);
    if (poison != NULL) {
        poison->former = former;
        if (!atomic_compare_exchange_strong(&storage->poison, &former, poison)) {
            cbk_core_free(backend, poison, sizeof *poison); // another thread was first
        }
    }
    atomic_store_explicit(&storage->poisoned, true, memory_order_release);
}

bool cbk_tensor_ask(const cbk_tensor *tensor, cbk_error *out_cause) {
    const struct cbk_storage *storage = tensor->storage;
    const cbk_device *device = storage->device;
    const cbk_vtable *vtable = cbk_device_vtable(device);
    void *handle = atomic_load_explicit(&storage->handle, memory_order_acquire);
    if (vtable->storage_state == NULL || handle == NULL) return false;
    *out_cause = (cbk_error){.struct_size = sizeof *out_cause, .status = CBK_ERROR_PRODUCER};
    return vtable->storage_state(device->backend->self, device->handle, handle, out_cause) !=
           CBK_OK;
}

/// The reason why a tensor is poisoned; `text` lives as long as the storage and `memory`.
static cbk_status cause_of(const cbk_tensor *tensor, cbk_error *memory, const char **out_text) {
    const struct cbk_storage *storage = tensor->storage;
    *out_text = "";
    if (!atomic_load_explicit(&storage->poisoned, memory_order_acquire)) {
        if (!cbk_tensor_ask(tensor, memory)) return CBK_ERROR_PRODUCER;
        *out_text = memory->message;
        return memory->status;
    }
    const struct cbk_poison *poison = atomic_load_explicit(&storage->poison, memory_order_acquire);
    if (poison == NULL) return CBK_ERROR_PRODUCER;
    *out_text = poison->text;
    return poison->status;
}

void cbk_tensor_pass_poison(const cbk_tensor *from, cbk_tensor *to) {
    cbk_error memory;
    const char *text;
    const cbk_status status = cause_of(from, &memory, &text);
    cbk_tensor_poison(to, status, text);
}

/// Only a tensor with its own storage is known to cover all of it.
static bool is_whole(const cbk_tensor *tensor) {
    return !tensor->is_view && cbk_tensor_data_bytes(tensor) == cbk_tensor_storage_bytes(tensor);
}

void cbk_tensor_keep_poison(cbk_tensor *tensor) {
    if (cbk_tensor_is_poisoned(tensor) && !is_whole(tensor)) cbk_tensor_pass_poison(tensor, tensor);
}

void cbk_tensor_heal(cbk_tensor *tensor) {
    if (!is_whole(tensor)) return;
    atomic_store_explicit(&tensor->storage->poisoned, false, memory_order_release);
}

cbk_status cbk_fail_poisoned(const cbk_tensor *tensor, const char *what) {
    cbk_error memory;
    const char *text;
    const cbk_status status = cause_of(tensor, &memory, &text);
    if (text[0] == '\0') return cbk_fail(CBK_ERROR_PRODUCER, 0, "%s: its operation failed", what);
    return cbk_fail(CBK_ERROR_PRODUCER, 0, "%s: its operation failed (%s): %s", what,
                    cbk_status_string(status), text);
}
