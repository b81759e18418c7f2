// device.c: device, streams, storage, transfers. A device is an account of memory and a seed.

#include "reference.h"

#include <stdio.h>
#include <string.h>

/// The budget unless one is set: 512 GiB, so that the host's allocator has the word.
#define DEFAULT_LIMIT ((uint64_t)1 << 39)

void *cbk_ref_alloc(struct cbk_ref *ref, size_t size) {
    return ref->allocate(ref->user_data, size ? size : 1, 64);
}

void cbk_ref_free(struct cbk_ref *ref, void *memory, size_t size) {
    struct cbk_ref hook = *ref; // `memory` may be `ref` itself
    if (memory) hook.free(hook.user_data, memory, size ? size : 1);
}

static cbk_status no_host_memory(const char *what, uint64_t size) {
    return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "%s: no memory for %llu bytes", what,
                    (unsigned long long)size);
}

// ---- the one device ----------------------------------------------------------------------------

static bool has_type(uint32_t type) {
    return type == CBK_DEVICE_DEFAULT || type == CBK_DEVICE_CPU;
}

cbk_status cbk_ref_device_count(void *self, uint32_t type, uint32_t *out_count) {
    (void)self;
    *out_count = has_type(type) ? 1 : 0;
    return CBK_OK;
}

static void describe(cbk_device_info *out) {
    uint32_t struct_size = out->struct_size;
    *out = (cbk_device_info){
        .struct_size = struct_size,
        .type = CBK_DEVICE_CPU,
        .compute_units = 1,
        .memory_bytes = DEFAULT_LIMIT,
        .max_allocation_bytes = DEFAULT_LIMIT,
        .max_work_group = 1,
        .name = "reference",
        .platform = "libcubeback",
        .vendor = "libcubeback",
        .driver = CBK_VERSION_STRING,
        .version = "plain loops on the host",
    };
}

cbk_status cbk_ref_device_describe(void *self, uint32_t type, uint32_t index,
                                   cbk_device_info *out) {
    (void)self;
    if (!has_type(type) || index != 0)
        return cbk_fail(CBK_ERROR_NOT_FOUND, 0,
                        "the reference backend has one CPU device, not number %u of type %u",
                        (unsigned)index, (unsigned)type);
    describe(out);
    return CBK_OK;
}

cbk_status cbk_ref_device_info(void *self, void *device, cbk_device_info *out) {
    (void)self, (void)device;
    describe(out);
    return CBK_OK;
}

/// Is `part` in `text`, letter case apart?
static bool contains(const char *text, const char *part) {
    for (; *text; text++) {
        size_t i = 0;
        while (part[i] && text[i] && (text[i] | 0x20) == (part[i] | 0x20)) i++;
        if (!part[i]) return true;
    }
    return !*part;
}

cbk_status cbk_ref_device_open(void *self, const cbk_device_params *params, void **out_device) {
    struct cbk_ref *ref = self;
    cbk_device_info info = {.struct_size = sizeof info};
    describe(&info);
    bool is_named =
        !params->name || contains(info.name, params->name) || contains(info.platform, params->name);
    if (!has_type(params->type) || params->index != 0 || !is_named)
        return cbk_fail(CBK_ERROR_NOT_FOUND, 0,
                        "the reference backend has one CPU device \"%s\", not number %u of type %u "
                        "named \"%s\"",
                        info.name, (unsigned)params->index, (unsigned)params->type,
                        params->name ? params->name : "");
    struct cbk_ref_device *device = cbk_ref_alloc(ref, sizeof *device);
    if (!device) return no_host_memory("device_open", sizeof *device);
    memset(device, 0, sizeof *device);
    device->ref = ref;
    atomic_init(&device->limit_bytes,
                params->memory_limit_bytes ? params->memory_limit_bytes : DEFAULT_LIMIT);
    atomic_init(&device->seed, params->seed);
    *out_device = device;
    return CBK_OK;
}

void cbk_ref_device_close(void *self, void *device) {
    cbk_ref_free(self, device, sizeof(struct cbk_ref_device));
}

cbk_status cbk_ref_dtype_usage(void *self, void *device, cbk_dtype dtype, const cbk_quant *quant,
                               uint32_t *out_usage) {
    (void)self, (void)device, (void)quant;
    bool is_stored = cbk_dtype_size(dtype) != 0 || dtype == CBK_DTYPE_QUANT;
    bool is_computed = is_stored && dtype != CBK_DTYPE_QUANT && dtype != CBK_DTYPE_F8E4M3 &&
                       dtype != CBK_DTYPE_F8E5M2 && cbk_ref_kind_of(dtype) != CBK_REF_BOOL;
    *out_usage = (is_stored ? CBK_USAGE_STORAGE : 0) | (is_computed ? CBK_USAGE_ARITHMETIC : 0);
    return CBK_OK;
}

// ---- storage -----------------------------------------------------------------------------------

cbk_status cbk_ref_storage_alloc(void *self, void *handle, uint64_t size_bytes,
                                 void **out_storage) {
    struct cbk_ref *ref = self;
    struct cbk_ref_device *device = ((struct cbk_ref_stream *)handle)->device;
    uint64_t used = atomic_fetch_add(&device->used_bytes, size_bytes);
    uint64_t limit = atomic_load(&device->limit_bytes);
    struct cbk_ref_storage *storage = NULL;
    cbk_status status;

    if (size_bytes > limit || used > limit - size_bytes) {
        REF_TRY(cbk_fail(
            CBK_ERROR_OUT_OF_MEMORY, 0, "%llu bytes asked for, %llu of a budget of %llu in use",
            (unsigned long long)size_bytes, (unsigned long long)used, (unsigned long long)limit));
    }
    storage = cbk_ref_alloc(ref, sizeof *storage);
    if (!storage) REF_TRY(no_host_memory("storage", sizeof *storage));
    storage->size_bytes = size_bytes;
    storage->data = size_bytes <= SIZE_MAX - 64 ? cbk_ref_alloc(ref, (size_t)size_bytes) : NULL;
    if (!storage->data)
        REF_TRY(cbk_fail(CBK_ERROR_OUT_OF_MEMORY, 0, "the host has no %llu bytes",
                         (unsigned long long)size_bytes));

    atomic_fetch_add(&device->allocation_count, 1);
    atomic_fetch_add(&device->allocations, 1);
    uint64_t peak = atomic_load(&device->peak_bytes);
    while (peak < used + size_bytes &&
           !atomic_compare_exchange_weak(&device->peak_bytes, &peak, used + size_bytes))
        continue;
    *out_storage = storage;
    return CBK_OK;
done:
    cbk_ref_free(ref, storage, sizeof *storage);
    atomic_fetch_sub(&device->used_bytes, size_bytes);
    return status;
}

void cbk_ref_storage_free(void *self, void *handle, void *memory) {
    struct cbk_ref_device *device = handle;
    struct cbk_ref_storage *storage = memory;
    atomic_fetch_sub(&device->used_bytes, storage->size_bytes);
    atomic_fetch_sub(&device->allocation_count, 1);
    cbk_ref_free(self, storage->data, (size_t)storage->size_bytes);
    cbk_ref_free(self, storage, sizeof *storage);
}

cbk_status cbk_ref_memory_usage(void *self, void *handle, cbk_memory_info *out) {
    struct cbk_ref_device *device = handle;
    (void)self;
    out->allocation_count = atomic_load(&device->allocation_count);
    out->used_bytes = atomic_load(&device->used_bytes);
    out->padding_bytes = 0;
    out->reserved_bytes = out->used_bytes;
    out->pending_bytes = 0;
    out->limit_bytes = atomic_load(&device->limit_bytes);
    out->peak_bytes = atomic_load(&device->peak_bytes);
    return CBK_OK;
}

cbk_status cbk_ref_memory_limit(void *self, void *handle, uint64_t limit_bytes) {
    struct cbk_ref_device *device = handle;
    (void)self;
    atomic_store(&device->limit_bytes, limit_bytes ? limit_bytes : DEFAULT_LIMIT);
    return CBK_OK;
}

cbk_status cbk_ref_counters(void *self, void *handle, cbk_counters *out) {
    struct cbk_ref_device *device = handle;
    uint32_t struct_size = out->struct_size;
    (void)self;
    *out = (cbk_counters){
        .struct_size = struct_size,
        .launches = atomic_load(&device->launches),
        .bytes_written = atomic_load(&device->bytes_written),
        .bytes_read = atomic_load(&device->bytes_read),
        .allocations = atomic_load(&device->allocations),
        .driver_allocations = atomic_load(&device->allocations),
    };
    return CBK_OK;
}

// ---- streams and transfers ---------------------------------------------------------------------

cbk_status cbk_ref_stream_create(void *self, void *device, const cbk_stream_params *params,
                                 uint64_t number, void **out_stream) {
    struct cbk_ref_stream *stream = cbk_ref_alloc(self, sizeof *stream);
    (void)params;
    if (!stream) return no_host_memory("stream_create", sizeof *stream);
    *stream = (struct cbk_ref_stream){.device = device, .number = number};
    stream->seed_generation = atomic_load(&stream->device->seed_generation);
    stream->random = (cbk_random_state){.struct_size = sizeof stream->random,
                                        .seed = atomic_load(&stream->device->seed),
                                        .stream_number = number};
    *out_stream = stream;
    return CBK_OK;
}

void cbk_ref_stream_destroy(void *self, void *stream) {
    (void)cbk_ref_graph_abort(self, stream);
    cbk_ref_free(self, stream, sizeof(struct cbk_ref_stream));
}

void cbk_ref_report_index(struct cbk_ref_stream *stream, cbk_opcode opcode, int64_t index,
                          int64_t limit) {
    if (stream->has_index_error) return;
    stream->has_index_error = true;
    stream->index_opcode = opcode;
    stream->index = index;
    stream->index_limit = limit;
}

cbk_status cbk_ref_sync(void *self, void *handle) {
    struct cbk_ref_stream *stream = handle;
    cbk_status status = cbk_ref_refuse_in_capture(stream);
    (void)self;
    if (status != CBK_OK || !stream->has_index_error) return status;
    stream->has_index_error = false;
    const cbk_op_info *info = cbk_op_info_of(stream->index_opcode);
    return cbk_fail(CBK_ERROR_INDEX_OUT_OF_RANGE, 0,
                    "%s: index %lld is outside an axis of length %lld", info ? info->name : "?",
                    (long long)stream->index, (long long)stream->index_limit);
}

cbk_status cbk_ref_write(void *self, void *handle, const cbk_tensor *tensor, const void *data) {
    struct cbk_ref_stream *stream = handle;
    struct cbk_ref_view to = cbk_ref_view_of(tensor);
    bool is_bool = cbk_ref_kind_of(to.dtype) == CBK_REF_BOOL;
    int64_t size = cbk_dtype_size(to.dtype);
    (void)self;
    if (stream->recording) {
        cbk_ref_record_write(stream);
        return CBK_OK;
    }
    if (to.dtype == CBK_DTYPE_QUANT) {
        memcpy(to.data, data, (size_t)cbk_tensor_data_bytes(tensor));
        return CBK_OK;
    }
    for (int64_t i = 0; i < to.count; i++) {
        int64_t at = cbk_ref_at(&to, i);
        if (is_bool)
            cbk_ref_put_int(to.data, to.dtype, at, cbk_ref_get_int(data, to.dtype, i));
        else
            memcpy(to.data + at * size, (const char *)data + i * size, (size_t)size);
    }
    atomic_fetch_add(&stream->device->bytes_written, (uint64_t)(to.count * size));
    return CBK_OK;
}

cbk_status cbk_ref_read(void *self, void *handle, const cbk_backend_read *requests,
                        uint32_t count) {
    struct cbk_ref_stream *stream = handle;
    cbk_status status = cbk_ref_sync(self, stream);
    if (status != CBK_OK) return status;
    for (uint32_t r = 0; r < count; r++) {
        struct cbk_ref_view from = cbk_ref_view_of(requests[r].tensor);
        int64_t size = cbk_dtype_size(from.dtype);
        if (from.dtype == CBK_DTYPE_QUANT)
            memcpy(requests[r].data, from.data, (size_t)cbk_tensor_data_bytes(requests[r].tensor));
        for (int64_t i = 0; i < from.count; i++)
            memcpy((char *)requests[r].data + i * size, from.data + cbk_ref_at(&from, i) * size,
                   (size_t)size);
        atomic_fetch_add(&stream->device->bytes_read, cbk_tensor_data_bytes(requests[r].tensor));
    }
    return CBK_OK;
}

cbk_status cbk_ref_seed(void *self, void *handle, uint64_t seed) {
    struct cbk_ref_device *device = handle;
    (void)self;
    atomic_store(&device->seed, seed);
    atomic_fetch_add(&device->seed_generation, 1);
    return CBK_OK;
}
