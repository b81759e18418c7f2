/// backend.c: the vtable of the OpenCL backend and the slots that only pass on.
#include "backend.h"

// ---- identity --------------------------------------------------------------------------------

static const char *ocl_name(void *self) {
    (void)self;
    return "opencl";
}

static void ocl_destroy(void *self) {
    struct cbk_ocl *ocl = self;
    struct cbk_rt *rt = ocl->rt;
    cbk_rt_host_free(rt, ocl, sizeof *ocl);
    cbk_rt_destroy(&rt);
}

static cbk_status ocl_device_count(void *self, uint32_t type, uint32_t *out_count) {
    return cbk_rt_device_count(((struct cbk_ocl *)self)->rt, type, out_count);
}

static cbk_status ocl_device_describe(void *self, uint32_t type, uint32_t index,
                                      cbk_device_info *out) {
    return cbk_rt_device_describe(((struct cbk_ocl *)self)->rt, type, index, out);
}

cbk_status cbk_ocl_device_make(struct cbk_ocl *ocl, struct cbk_rt_device *rt_device,
                               const cbk_device_params *params, struct cbk_ocl_device **out) {
    struct cbk_ocl_device *device = cbk_rt_host_alloc(ocl->rt, sizeof *device);
    if (device == NULL) {
        cbk_rt_device_close(&rt_device);
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a device object");
    }
    device->rt = rt_device;
    device->caps = cbk_rt_device_caps(device->rt);
    device->flags = cbk_rt_flags(ocl->rt);
    atomic_init(&device->seed, params->seed);
    *out = device;
    return CBK_OK;
}

static cbk_status ocl_device_open(void *self, const cbk_device_params *params, void **out_device) {
    struct cbk_ocl *ocl = self;
    struct cbk_rt_device *rt_device = NULL;
    struct cbk_ocl_device *device = NULL;
    cbk_status status = cbk_rt_device_open(ocl->rt, params, &rt_device);
    if (status == CBK_OK) status = cbk_ocl_device_make(ocl, rt_device, params, &device);
    *out_device = device;
    return status;
}

void cbk_ocl_device_close(void *self, void *handle) {
    struct cbk_ocl_device *device = handle;
    cbk_rt_device_close(&device->rt);
    cbk_rt_host_free(((struct cbk_ocl *)self)->rt, device, sizeof *device);
}

static cbk_status ocl_device_info(void *self, void *device, cbk_device_info *out) {
    (void)self;
    return cbk_rt_device_info(((struct cbk_ocl_device *)device)->rt, out);
}

static cbk_status ocl_device_state(void *self, void *device) {
    (void)self;
    return cbk_rt_device_state(((struct cbk_ocl_device *)device)->rt);
}

static const char *ocl_device_build_log(void *self, void *device) {
    (void)self;
    return cbk_rt_device_build_log(((struct cbk_ocl_device *)device)->rt);
}

// ---- storage ---------------------------------------------------------------------------------

static cbk_status ocl_storage_alloc(void *self, void *stream, uint64_t size_bytes,
                                    void **out_storage) {
    (void)self;
    struct cbk_rt_block *block = NULL;
    cbk_status status = cbk_rt_alloc(((struct cbk_ocl_stream *)stream)->rt, size_bytes, &block);
    *out_storage = block;
    return status;
}

static void ocl_storage_free(void *self, void *device, void *storage) {
    (void)self;
    struct cbk_rt_block *block = storage;
    cbk_rt_free(((struct cbk_ocl_device *)device)->rt, &block);
}

static cbk_status ocl_storage_state(void *self, void *device, void *storage, cbk_error *out) {
    (void)self;
    const bool has_failed = cbk_rt_block_cause(((struct cbk_ocl_device *)device)->rt, storage, out);
    return has_failed ? CBK_ERROR_PRODUCER : CBK_OK;
}

// ---- order -----------------------------------------------------------------------------------

cbk_status cbk_ocl_stream_make(struct cbk_ocl_device *device, struct cbk_rt_stream *rt_stream,
                               struct cbk_ocl_stream **out) {
    struct cbk_rt *rt = cbk_rt_device_process(device->rt);
    struct cbk_ocl_stream *stream = cbk_rt_host_alloc(rt, sizeof *stream);
    if (stream == NULL) {
        cbk_rt_stream_destroy(&rt_stream);
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a stream object");
    }
    stream->rt = rt_stream;
    stream->device = device;
    stream->seed_generation = atomic_load(&device->seed_generation);
    *out = stream;
    return CBK_OK;
}

static cbk_status ocl_stream_create(void *self, void *handle, const cbk_stream_params *params,
                                    uint64_t number, void **out_stream) {
    (void)self, (void)params;
    struct cbk_ocl_device *device = handle;
    struct cbk_rt_stream *rt_stream = NULL;
    struct cbk_ocl_stream *stream = NULL;
    cbk_status status = cbk_rt_stream_create(device->rt, &rt_stream);
    if (status == CBK_OK) status = cbk_ocl_stream_make(device, rt_stream, &stream);
    if (status == CBK_OK) stream->number = number;
    *out_stream = stream;
    return status;
}

void cbk_ocl_stream_destroy(void *self, void *handle) {
    struct cbk_ocl_stream *stream = handle;
    struct cbk_rt *rt = cbk_rt_device_process(stream->device->rt);
    if (cbk_rt_is_capturing(stream->rt)) (void)cbk_ocl_graph_abort(self, stream);
    cbk_ocl_profile_forget(stream);
    cbk_rt_stream_destroy(&stream->rt);
    cbk_rt_host_free(rt, stream, sizeof *stream);
}

static cbk_status ocl_sync(void *self, void *stream) {
    (void)self;
    return cbk_rt_sync(((struct cbk_ocl_stream *)stream)->rt);
}

static cbk_status ocl_flush(void *self, void *stream) {
    (void)self;
    return cbk_rt_flush(((struct cbk_ocl_stream *)stream)->rt);
}

static cbk_status ocl_event_create(void *self, void *stream, void **out_event) {
    (void)self;
    struct cbk_rt_event *event = NULL;
    cbk_status status = cbk_rt_event_create(((struct cbk_ocl_stream *)stream)->rt, &event);
    *out_event = event;
    return status;
}

static cbk_status ocl_event_query(void *self, void *event, uint32_t *out_done) {
    (void)self;
    bool done = false;
    cbk_status status = cbk_rt_event_query(event, &done);
    *out_done = done;
    return status;
}

static cbk_status ocl_event_wait(void *self, void *event) {
    (void)self;
    return cbk_rt_event_wait(event);
}

static cbk_status ocl_stream_wait(void *self, void *stream, void *event) {
    (void)self;
    return cbk_rt_stream_wait(((struct cbk_ocl_stream *)stream)->rt, event);
}

static void ocl_event_destroy(void *self, void *handle) {
    (void)self;
    struct cbk_rt_event *event = handle;
    cbk_rt_event_destroy(&event);
}

// ---- memory ----------------------------------------------------------------------------------

static cbk_status ocl_persistent_begin(void *self, void *stream) {
    (void)self;
    return cbk_rt_persistent_begin(((struct cbk_ocl_stream *)stream)->rt);
}

static cbk_status ocl_persistent_end(void *self, void *stream) {
    (void)self;
    return cbk_rt_persistent_end(((struct cbk_ocl_stream *)stream)->rt);
}

static cbk_status ocl_memory_cleanup(void *self, void *device) {
    (void)self;
    return cbk_rt_memory_cleanup(((struct cbk_ocl_device *)device)->rt);
}

static cbk_status ocl_memory_usage(void *self, void *device, cbk_memory_info *out) {
    (void)self;
    return cbk_rt_memory_usage(((struct cbk_ocl_device *)device)->rt, out);
}

static cbk_status ocl_memory_limit(void *self, void *device, uint64_t limit_bytes) {
    (void)self;
    return cbk_rt_memory_limit(((struct cbk_ocl_device *)device)->rt, limit_bytes);
}

static cbk_status ocl_staging_alloc(void *self, void *device, uint64_t size_bytes, void **out) {
    (void)self;
    return cbk_rt_staging_alloc(((struct cbk_ocl_device *)device)->rt, size_bytes, out);
}

static void ocl_staging_free(void *self, void *device, void *memory) {
    (void)self;
    cbk_rt_staging_free(((struct cbk_ocl_device *)device)->rt, memory);
}

static cbk_status ocl_counters(void *self, void *device, cbk_counters *out) {
    (void)self;
    return cbk_rt_device_counters(((struct cbk_ocl_device *)device)->rt, out);
}

static cbk_status ocl_seed(void *self, void *handle, uint64_t seed) {
    (void)self;
    struct cbk_ocl_device *device = handle;
    atomic_store(&device->seed, seed);
    atomic_fetch_add(&device->seed_generation, 1);
    return CBK_OK;
}

static cbk_status ocl_random_get_state(void *self, void *stream, cbk_random_state *out) {
    (void)self;
    *out = *cbk_ocl_random_state(stream);
    return CBK_OK;
}

static cbk_status ocl_random_set_state(void *self, void *stream, const cbk_random_state *state) {
    (void)self;
    *cbk_ocl_random_state(stream) = *state;
    return CBK_OK;
}

// ---- the vtable ------------------------------------------------------------------------------

// clang-format off
static const cbk_vtable ocl_vtable = {
    .struct_size        = sizeof(cbk_vtable),
    .api_version        = CBK_BACKEND_API_VERSION,
    .name               = ocl_name,
    .destroy            = ocl_destroy,
    .device_count       = ocl_device_count,
    .device_describe    = ocl_device_describe,
    .device_open        = ocl_device_open,
    .device_close       = cbk_ocl_device_close,
    .device_info        = ocl_device_info,
    .device_state       = ocl_device_state,
    .device_build_log   = ocl_device_build_log,
    .dtype_usage        = cbk_ocl_dtype_usage,
    .storage_alloc      = ocl_storage_alloc,
    .storage_free       = ocl_storage_free,
    .write              = cbk_ocl_write,
    .read               = cbk_ocl_read,
    .execute            = cbk_ocl_execute,
    .supports_op        = cbk_ocl_supports_op,
    .stream_create      = ocl_stream_create,
    .stream_destroy     = cbk_ocl_stream_destroy,
    .sync               = ocl_sync,
    .flush              = ocl_flush,
    .event_create       = ocl_event_create,
    .event_query        = ocl_event_query,
    .event_wait         = ocl_event_wait,
    .stream_wait        = ocl_stream_wait,
    .event_destroy      = ocl_event_destroy,
    .graph_prepare      = cbk_ocl_graph_prepare,
    .graph_start_capture = cbk_ocl_graph_start,
    .graph_stop_capture = cbk_ocl_graph_stop,
    .graph_abort        = cbk_ocl_graph_abort,
    .graph_replay       = cbk_ocl_graph_replay,
    .graph_destroy      = cbk_ocl_graph_destroy,
    .persistent_begin   = ocl_persistent_begin,
    .persistent_end     = ocl_persistent_end,
    .memory_cleanup     = ocl_memory_cleanup,
    .memory_usage       = ocl_memory_usage,
    .memory_limit       = ocl_memory_limit,
    .staging_alloc      = ocl_staging_alloc,
    .staging_free       = ocl_staging_free,
    .profile_begin      = cbk_ocl_profile_begin,
    .profile_end        = cbk_ocl_profile_end,
    .counters           = ocl_counters,
    .seed               = ocl_seed,
    .memory_export      = cbk_ocl_memory_export,
    .memory_import      = cbk_ocl_memory_import,
    .random_get_state   = ocl_random_get_state,
    .random_set_state   = ocl_random_set_state,
    .storage_state      = ocl_storage_state,
    .read_async         = cbk_ocl_read_async,
};
// clang-format on

/// Core's objects come from the caller's allocator too.
static void *core_allocate(void *user_data, size_t size, size_t alignment) {
    (void)alignment; // at most what the runtime's own objects need
    return cbk_rt_host_alloc(user_data, size);
}

static void core_free(void *user_data, void *memory, size_t size) {
    cbk_rt_host_free(user_data, memory, size);
}

cbk_status cbk_opencl_create_with(const cbk_backend_params *params, const struct cbk_rt_cl *cl,
                                  cbk_backend **out) {
    struct cbk_rt *rt = NULL;
    if (out == NULL) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "opencl_create: out is NULL");
    *out = NULL;
    cbk_backend_params known = CBK_INIT(cbk_backend_params);
    cbk_status status =
        cbk_read_struct(params, "opencl_create: cbk_backend_params", &known, sizeof known);
    if (status == CBK_OK) status = cbk_rt_create(&known, cl, &rt);
    if (status != CBK_OK) return status;
    struct cbk_ocl *ocl = cbk_rt_host_alloc(rt, sizeof *ocl);
    if (ocl == NULL) {
        cbk_rt_destroy(&rt);
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a backend object");
    }
    ocl->rt = rt;
    status = cbk_backend_create(&ocl_vtable, ocl, out);
    if (status != CBK_OK) {
        ocl_destroy(ocl);
        return status;
    }
    return cbk_backend_set_host_allocator(*out, core_allocate, core_free, rt);
}

cbk_status cbk_opencl_create(const cbk_backend_params *params, cbk_backend **out) {
    return cbk_opencl_create_with(params, NULL, out);
}
