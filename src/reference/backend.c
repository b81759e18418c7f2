// backend.c: the vtable, and the families behind execute.

#include "reference.h"

#include <stdlib.h>
#include <string.h>

static const cbk_ref_family families[] = {
    [CBK_FAMILY_UNARY] = cbk_ref_unary,
    [CBK_FAMILY_BINARY] = cbk_ref_binary,
    [CBK_FAMILY_BINARY_SCALAR] = cbk_ref_binary,
    [CBK_FAMILY_COMPARE] = cbk_ref_compare,
    [CBK_FAMILY_COMPARE_SCALAR] = cbk_ref_compare,
    [CBK_FAMILY_TERNARY] = cbk_ref_ternary,
    [CBK_FAMILY_CAST] = cbk_ref_cast,
    [CBK_FAMILY_CREATE] = cbk_ref_create_op,
    [CBK_FAMILY_MOVE] = cbk_ref_move,
    [CBK_FAMILY_REDUCE] = cbk_ref_reduce,
    [CBK_FAMILY_SOFTMAX] = cbk_ref_softmax,
    [CBK_FAMILY_NORM] = cbk_ref_normalise,
    [CBK_FAMILY_MATMUL] = cbk_ref_matmul,
    [CBK_FAMILY_INDEX] = cbk_ref_index,
    [CBK_FAMILY_RANDOM] = cbk_ref_random,
    [CBK_FAMILY_ACTIVATION_BACKWARD] = cbk_ref_activation_backward,
    [CBK_FAMILY_COMPACT] = cbk_ref_compact,
    [CBK_FAMILY_SCAN] = cbk_ref_scan,
    [CBK_FAMILY_SORT] = cbk_ref_sort,
    [CBK_FAMILY_LINALG] = cbk_ref_linalg,
};

static const char *name(void *self) {
    (void)self;
    return "reference";
}

static void destroy(void *self) {
    struct cbk_ref *ref = self;
    cbk_ref_free(ref, ref, sizeof *ref);
}

static cbk_status attach_storage(void *self, struct cbk_ref_stream *stream, cbk_tensor *tensor) {
    void *storage = NULL;
    if (cbk_tensor_storage(tensor) || cbk_tensor_element_count(tensor) == 0) return CBK_OK;
    cbk_status status =
        cbk_ref_storage_alloc(self, stream, cbk_tensor_storage_bytes(tensor), &storage);
    if (status != CBK_OK) return status;
    status = cbk_tensor_attach(tensor, storage);
    if (status != CBK_OK) cbk_ref_storage_free(self, stream->device, storage);
    return status;
}

cbk_status cbk_ref_execute(void *self, void *handle, const cbk_op *op) {
    struct cbk_ref_stream *stream = handle;
    uint32_t family = op->opcode >> 8;
    if (family >= sizeof families / sizeof *families || !families[family])
        return cbk_ref_unknown(op);
    for (uint32_t i = 0; i < op->output_count; i++) {
        cbk_status status = attach_storage(self, stream, op->outputs[i]);
        if (status != CBK_OK) return status;
    }
    if (stream->recording) return cbk_ref_record(stream, op);
    atomic_fetch_add(&stream->device->launches, 1);
    return stream->profile ? cbk_ref_profile_op(stream, families[family], op)
                           : families[family](stream, op);
}

static const cbk_vtable vtable = {
    .struct_size = sizeof(cbk_vtable),
    .api_version = CBK_BACKEND_API_VERSION,
    .name = name,
    .destroy = destroy,
    .device_count = cbk_ref_device_count,
    .device_describe = cbk_ref_device_describe,
    .device_open = cbk_ref_device_open,
    .device_close = cbk_ref_device_close,
    .device_info = cbk_ref_device_info,
    .dtype_usage = cbk_ref_dtype_usage,
    .storage_alloc = cbk_ref_storage_alloc,
    .storage_free = cbk_ref_storage_free,
    .write = cbk_ref_write,
    .read = cbk_ref_read,
    .execute = cbk_ref_execute,
    .stream_create = cbk_ref_stream_create,
    .stream_destroy = cbk_ref_stream_destroy,
    .sync = cbk_ref_sync,
    .graph_prepare = cbk_ref_graph_prepare,
    .graph_start_capture = cbk_ref_graph_start,
    .graph_stop_capture = cbk_ref_graph_stop,
    .graph_abort = cbk_ref_graph_abort,
    .graph_replay = cbk_ref_graph_replay,
    .graph_destroy = cbk_ref_graph_destroy,
    .memory_usage = cbk_ref_memory_usage,
    .memory_limit = cbk_ref_memory_limit,
    .profile_begin = cbk_ref_profile_begin,
    .profile_end = cbk_ref_profile_end,
    .counters = cbk_ref_counters,
    .seed = cbk_ref_seed,
    .random_get_state = cbk_ref_random_get_state,
    .random_set_state = cbk_ref_random_set_state,
};

cbk_status cbk_ref_unknown(const cbk_op *op) {
    return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "the reference backend has no operation 0x%04x",
                    (unsigned)op->opcode);
}

// ---- creation ----------------------------------------------------------------------------------

static void *host_allocate(void *user_data, size_t size, size_t alignment) {
    (void)user_data;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void host_free(void *user_data, void *memory, size_t size) {
    (void)user_data, (void)size;
    free(memory);
}

static cbk_status read_params(const cbk_backend_params *params, cbk_backend_params *out) {
    *out = (cbk_backend_params){.struct_size = sizeof *out};
    cbk_status status =
        cbk_read_struct(params, "reference_create: cbk_backend_params", out, sizeof *out);
    if (status != CBK_OK) return status;
    if (!out->allocate != !out->free)
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                        "reference_create: allocate and free must be given together");
    return CBK_OK;
}

cbk_status cbk_reference_create(const cbk_backend_params *params, cbk_backend **out) {
    cbk_backend_params known;
    if (!out) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "reference_create: out is NULL");
    *out = NULL;
    cbk_status status = read_params(params, &known);
    if (status != CBK_OK) return status;

    struct cbk_ref hook = {host_allocate, host_free, NULL};
    if (known.allocate)
        hook = (struct cbk_ref){known.allocate, known.free, known.allocator_user_data};
    struct cbk_ref *ref = cbk_ref_alloc(&hook, sizeof *ref);
    if (!ref)
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0,
                        "reference_create: no memory for %zu bytes", sizeof *ref);
    *ref = hook;
    status = cbk_backend_create(&vtable, ref, out);
    if (status != CBK_OK) {
        cbk_ref_free(&hook, ref, sizeof *ref);
        return status;
    }
    return cbk_backend_set_host_allocator(*out, hook.allocate, hook.free, hook.user_data);
}
