// ir_recorder_slots.c: a recorder's vtable, and its slots that only pass on: with the inner
// backend's self, and its stream for the wrapped one.
#include "ir_recorder.h"

#include <stdlib.h>
#include <string.h>

static struct cbk_ir_recorder *of(void *self) {
    return self;
}

static void *inner_stream(void *stream) {
    return ((struct cbk_ir_stream *)stream)->inner;
}

// ---- identity -----------------------------------------------------------------------------------

static const char *recorder_name(void *self) {
    (void)self;
    return "recorder";
}

static void recorder_destroy(void *self) {
    struct cbk_ir_recorder *recorder = self;
    cbk_backend_release(&recorder->backend);
    free(recorder);
}

static cbk_status device_count(void *self, uint32_t type, uint32_t *out_count) {
    return of(self)->inner->device_count(of(self)->self, type, out_count);
}

static cbk_status device_describe(void *self, uint32_t type, uint32_t index, cbk_device_info *out) {
    return of(self)->inner->device_describe(of(self)->self, type, index, out);
}

static cbk_status device_open(void *self, const cbk_device_params *params, void **out_device) {
    return of(self)->inner->device_open(of(self)->self, params, out_device);
}

static void device_close(void *self, void *device) {
    of(self)->inner->device_close(of(self)->self, device);
}

static cbk_status device_info(void *self, void *device, cbk_device_info *out) {
    return of(self)->inner->device_info(of(self)->self, device, out);
}

static cbk_status device_state(void *self, void *device) {
    return of(self)->inner->device_state(of(self)->self, device);
}

static const char *device_build_log(void *self, void *device) {
    return of(self)->inner->device_build_log(of(self)->self, device);
}

static cbk_status dtype_usage(void *self, void *device, cbk_dtype dtype, const cbk_quant *quant,
                              uint32_t *out_usage) {
    return of(self)->inner->dtype_usage(of(self)->self, device, dtype, quant, out_usage);
}

static cbk_status supports_dtype(void *self, void *device, cbk_dtype dtype) {
    return of(self)->inner->supports_dtype(of(self)->self, device, dtype);
}

// ---- tensors ------------------------------------------------------------------------------------

static cbk_status storage_alloc(void *self, void *stream, uint64_t size_bytes, void **out_storage) {
    return of(self)->inner->storage_alloc(of(self)->self, inner_stream(stream), size_bytes,
                                          out_storage);
}

static cbk_status supports_op(void *self, void *device, const cbk_op *op) {
    return of(self)->inner->supports_op(of(self)->self, device, op);
}

static cbk_status workspace_size(void *self, void *device, const cbk_op *op, uint64_t *out_bytes) {
    return of(self)->inner->workspace_size(of(self)->self, device, op, out_bytes);
}

// ---- order --------------------------------------------------------------------------------------

static cbk_status stream_create(void *self, void *device, const cbk_stream_params *params,
                                uint64_t number, void **out_stream) {
    struct cbk_ir_recorder *recorder = self;
    struct cbk_ir_stream *stream = cbk_ir_alloc(sizeof *stream);
    if (stream == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    *stream = (struct cbk_ir_stream){.recorder = recorder, .device = device};
    cbk_status status =
        recorder->inner->stream_create(recorder->self, device, params, number, &stream->inner);
    if (status != CBK_OK) {
        free(stream);
        return status;
    }
    cbk_ir_lock(&recorder->lock);
    stream->next = recorder->streams;
    recorder->streams = stream;
    cbk_ir_unlock(&recorder->lock);
    *out_stream = stream;
    return CBK_OK;
}

static void stream_destroy(void *self, void *handle) {
    struct cbk_ir_recorder *recorder = self;
    struct cbk_ir_stream *stream = handle;
    cbk_ir_lock(&recorder->lock);
    struct cbk_ir_stream **link = &recorder->streams;
    while (*link != stream) link = &(*link)->next;
    *link = stream->next;
    cbk_ir_unlock(&recorder->lock);
    if (stream->recording != NULL) atomic_fetch_sub(&recorder->recording_count, 1);
    cbk_ir_recording_destroy(&stream->recording);
    recorder->inner->stream_destroy(recorder->self, stream->inner);
    free(stream);
}

static cbk_status event_create(void *self, void *stream, void **out_event) {
    return of(self)->inner->event_create(of(self)->self, inner_stream(stream), out_event);
}

static cbk_status event_query(void *self, void *event, uint32_t *out_done) {
    return of(self)->inner->event_query(of(self)->self, event, out_done);
}

static cbk_status event_wait(void *self, void *event) {
    return of(self)->inner->event_wait(of(self)->self, event);
}

static cbk_status stream_wait(void *self, void *stream, void *event) {
    return of(self)->inner->stream_wait(of(self)->self, inner_stream(stream), event);
}

static void event_destroy(void *self, void *event) {
    of(self)->inner->event_destroy(of(self)->self, event);
}

// ---- graphs: not on a stream that records: a replay shows no operations -------------------------

#define NO_GRAPHS "and graphs have to wait"

static cbk_status graph_prepare(void *self, void *stream) {
    cbk_status status = cbk_ir_refuse(stream, NO_GRAPHS);
    return status != CBK_OK ? status
                            : of(self)->inner->graph_prepare(of(self)->self, inner_stream(stream));
}

static cbk_status graph_start_capture(void *self, void *stream) {
    cbk_status status = cbk_ir_refuse(stream, NO_GRAPHS);
    return status != CBK_OK
               ? status
               : of(self)->inner->graph_start_capture(of(self)->self, inner_stream(stream));
}

static cbk_status graph_stop_capture(void *self, void *stream, void **out_graph) {
    return of(self)->inner->graph_stop_capture(of(self)->self, inner_stream(stream), out_graph);
}

static cbk_status graph_abort(void *self, void *stream) {
    return of(self)->inner->graph_abort(of(self)->self, inner_stream(stream));
}

static cbk_status graph_replay(void *self, void *stream, void *graph) {
    cbk_status status = cbk_ir_refuse(stream, NO_GRAPHS);
    return status != CBK_OK
               ? status
               : of(self)->inner->graph_replay(of(self)->self, inner_stream(stream), graph);
}

static void graph_destroy(void *self, void *graph) {
    of(self)->inner->graph_destroy(of(self)->self, graph);
}

// ---- memory -------------------------------------------------------------------------------------

static cbk_status persistent_begin(void *self, void *stream) {
    return of(self)->inner->persistent_begin(of(self)->self, inner_stream(stream));
}

static cbk_status persistent_end(void *self, void *stream) {
    return of(self)->inner->persistent_end(of(self)->self, inner_stream(stream));
}

static cbk_status memory_cleanup(void *self, void *device) {
    return of(self)->inner->memory_cleanup(of(self)->self, device);
}

static cbk_status memory_usage(void *self, void *device, cbk_memory_info *out) {
    return of(self)->inner->memory_usage(of(self)->self, device, out);
}

static cbk_status memory_limit(void *self, void *device, uint64_t limit_bytes) {
    return of(self)->inner->memory_limit(of(self)->self, device, limit_bytes);
}

static cbk_status staging_alloc(void *self, void *device, uint64_t size_bytes, void **out) {
    return of(self)->inner->staging_alloc(of(self)->self, device, size_bytes, out);
}

static void staging_free(void *self, void *device, void *memory) {
    of(self)->inner->staging_free(of(self)->self, device, memory);
}

// ---- the rest -----------------------------------------------------------------------------------

static cbk_status profile_begin(void *self, void *stream, cbk_profile_function function,
                                void *user_data) {
    return of(self)->inner->profile_begin(of(self)->self, inner_stream(stream), function,
                                          user_data);
}

static cbk_status profile_end(void *self, void *stream) {
    return of(self)->inner->profile_end(of(self)->self, inner_stream(stream));
}

static cbk_status counters(void *self, void *device, cbk_counters *out) {
    return of(self)->inner->counters(of(self)->self, device, out);
}

static uint32_t ad_enabled(void *self, void *device) {
    return of(self)->inner->ad_enabled(of(self)->self, device);
}

/// What others do to the memory would not be seen.
static cbk_status memory_export(void *self, void *stream, const cbk_tensor *tensor, int32_t kind,
                                void **out_memory, uint64_t *out_offset_bytes) {
    cbk_status status = cbk_ir_refuse(stream, "and does not share memory");
    return status != CBK_OK
               ? status
               : of(self)->inner->memory_export(of(self)->self, inner_stream(stream), tensor, kind,
                                                out_memory, out_offset_bytes);
}

static cbk_status memory_import(void *self, void *stream, int32_t kind, void *memory,
                                void (*release)(void *user_data), void *user_data,
                                void **out_storage, uint64_t *out_size_bytes) {
    return of(self)->inner->memory_import(of(self)->self, inner_stream(stream), kind, memory,
                                          release, user_data, out_storage, out_size_bytes);
}

static cbk_status storage_state(void *self, void *device, void *storage, cbk_error *out) {
    return of(self)->inner->storage_state(of(self)->self, device, storage, out);
}

static cbk_status read_async(void *self, void *stream, const cbk_backend_read *requests,
                             uint32_t count, void **out_event) {
    return of(self)->inner->read_async(of(self)->self, inner_stream(stream), requests, count,
                                       out_event);
}

static cbk_status random_get_state(void *self, void *stream, cbk_random_state *out) {
    return of(self)->inner->random_get_state(of(self)->self, inner_stream(stream), out);
}

// ---- the vtable ---------------------------------------------------------------------------------

// clang-format off
static const cbk_vtable all_slots = {
    .name                = recorder_name,
    .destroy             = recorder_destroy,
    .device_count        = device_count,
    .device_describe     = device_describe,
    .device_open         = device_open,
    .device_close        = device_close,
    .device_info         = device_info,
    .device_state        = device_state,
    .device_build_log    = device_build_log,
    .dtype_usage         = dtype_usage,
    .supports_dtype      = supports_dtype,
    .storage_alloc       = storage_alloc,
    .storage_free        = cbk_ir_storage_free,
    .write               = cbk_ir_write,
    .read                = cbk_ir_read,
    .copy_device         = cbk_ir_copy_device,
    .execute             = cbk_ir_execute,
    .supports_op         = supports_op,
    .workspace_size      = workspace_size,
    .stream_create       = stream_create,
    .stream_destroy      = stream_destroy,
    .sync                = cbk_ir_sync,
    .flush               = cbk_ir_flush,
    .event_create        = event_create,
    .event_query         = event_query,
    .event_wait          = event_wait,
    .stream_wait         = stream_wait,
    .event_destroy       = event_destroy,
    .graph_prepare       = graph_prepare,
    .graph_start_capture = graph_start_capture,
    .graph_stop_capture  = graph_stop_capture,
    .graph_abort         = graph_abort,
    .graph_replay        = graph_replay,
    .graph_destroy       = graph_destroy,
    .persistent_begin    = persistent_begin,
    .persistent_end      = persistent_end,
    .memory_cleanup      = memory_cleanup,
    .memory_usage        = memory_usage,
    .memory_limit        = memory_limit,
    .staging_alloc       = staging_alloc,
    .staging_free        = staging_free,
    .profile_begin       = profile_begin,
    .profile_end         = profile_end,
    .counters            = counters,
    .seed                = cbk_ir_seed,
    .ad_enabled          = ad_enabled,
    .memory_export       = memory_export,
    .memory_import       = memory_import,
    .random_get_state    = random_get_state,
    .random_set_state    = cbk_ir_random_set,
    .storage_state       = storage_state,
    .read_async          = read_async,
};
// clang-format on

/// The slots that the inner backend has; a slot that is not listed above is not passed on.
static cbk_vtable make_vtable(const cbk_vtable *inner) {
    cbk_vtable vtable = all_slots;
    void *slot;
    for (size_t at = offsetof(cbk_vtable, name); at < sizeof vtable; at += sizeof slot) {
        memcpy(&slot, (const char *)inner + at, sizeof slot);
        if (slot == NULL) memcpy((char *)&vtable + at, &slot, sizeof slot);
    }
    vtable.destroy = recorder_destroy;
    vtable.flush = cbk_ir_flush;
    vtable.struct_size = (uint32_t)sizeof vtable;
    vtable.api_version = CBK_BACKEND_API_VERSION;
    vtable.flags = CBK_BACKEND_SEES_VIEWS;
    return vtable;
}

struct cbk_ir_stream *cbk_ir_stream_of(const cbk_stream *stream) {
    return cbk_stream_vtable(stream)->execute == cbk_ir_execute ? stream->handle : NULL;
}

static cbk_status create(cbk_backend *inner, cbk_backend **out) {
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_backend(inner);
    if (status != CBK_OK) return status;
    struct cbk_ir_recorder *recorder = cbk_ir_alloc(sizeof *recorder);
    if (recorder == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    *recorder = (struct cbk_ir_recorder){.lock = ATOMIC_FLAG_INIT};
    recorder->inner = cbk_backend_vtable(inner, &recorder->self);
    const cbk_vtable vtable = make_vtable(recorder->inner);
    status = cbk_backend_create(&vtable, recorder, out);
    if (status != CBK_OK) {
        free(recorder);
        return status;
    }
    recorder->backend = cbk_backend_retain(inner);
    return cbk_backend_set_host_allocator(*out, inner->allocate, inner->free,
                                          inner->allocator_user_data);
}

cbk_status cbk_ir_recorder_create(cbk_backend *inner, cbk_backend **out) {
    struct cbk_call former = cbk_call_begin("ir_recorder_create", CBK_OP_NONE);
    return cbk_call_end(former, create(inner, out));
}
