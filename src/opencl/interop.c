/// interop.c: the functions of cubeback/opencl.h, and the memory that DLPack shares.
#include "backend.h"

#include "interop.h"

#include <cubeback/dlpack.h>
#include <cubeback/opencl.h>

#include <string.h>

// ---- checks ----------------------------------------------------------------------------------

static cbk_status fail_null(const char *what) {
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s is NULL", what);
}

/// The backend's state, if its vtable is this one's.
static cbk_status find_ocl(const cbk_backend *backend, struct cbk_ocl **out) {
    void *self = NULL;
    const cbk_vtable *vtable = cbk_backend_vtable(backend, &self);
    if (vtable == NULL) return fail_null("the backend, device, stream or tensor");
    *out = self;
    if (vtable->execute == cbk_ocl_execute) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "backend \"%s\" has no OpenCL objects",
                    cbk_backend_name(backend));
}

static cbk_status find_stream(const cbk_stream *stream, struct cbk_ocl_stream **out) {
    struct cbk_ocl *ocl = NULL;
    cbk_status status = find_ocl(cbk_device_backend(cbk_stream_device(stream)), &ocl);
    if (status == CBK_OK) *out = cbk_stream_handle(stream);
    return status;
}

// ---- opening ---------------------------------------------------------------------------------

/// The core stream over a runtime stream, which is destroyed on failure.
static cbk_status adopt_stream(cbk_device *device, struct cbk_rt_stream *rt_stream,
                               cbk_stream **out) {
    struct cbk_ocl_stream *stream = NULL;
    cbk_status status = cbk_ocl_stream_make(cbk_device_handle(device), rt_stream, &stream);
    if (status == CBK_OK) {
        status = cbk_stream_adopt(device, stream, &stream->number, out);
        if (status != CBK_OK) cbk_ocl_stream_destroy(NULL, stream);
    }
    return status;
}

static cbk_status open_stream(cbk_device *device, cl_command_queue queue, cbk_stream **out) {
    struct cbk_rt_stream *stream = NULL;
    const struct cbk_ocl_device *ocl_device = cbk_device_handle(device);
    const cbk_status status = cbk_rt_stream_adopt(ocl_device->rt, queue, &stream);
    return status == CBK_OK ? adopt_stream(device, stream, out) : status;
}

static cbk_status open_device(cbk_backend *backend, struct cbk_ocl *ocl, cl_context context,
                              cl_command_queue queue, const cbk_device_params *given,
                              cbk_device **out) {
    cbk_device_params params = CBK_INIT(cbk_device_params);
    struct cbk_rt_device *rt_device = NULL;
    struct cbk_ocl_device *device = NULL;
    cbk_status status = cbk_read_struct(given, "cbk_device_params", &params, sizeof params);
    if (status != CBK_OK) return status;
    params.type = CBK_DEVICE_DEFAULT;
    params.index = 0;
    params.name = NULL;
    status = cbk_rt_device_adopt(ocl->rt, context, queue, &params, &rt_device);
    if (status == CBK_OK) status = cbk_ocl_device_make(ocl, rt_device, &params, &device);
    if (status != CBK_OK) return status;
    status = cbk_device_adopt(backend, &params, device, out);
    if (status != CBK_OK) cbk_ocl_device_close(ocl, device);
    return status;
}

cbk_status cbk_opencl_open(cbk_backend *backend, cl_context context, cl_command_queue queue,
                           const cbk_device_params *params, cbk_device **out_device,
                           cbk_stream **out_stream) {
    struct cbk_ocl *ocl = NULL;
    if (out_stream != NULL) *out_stream = NULL;
    if (out_device == NULL) return fail_null("opencl_open: out_device");
    *out_device = NULL;
    cbk_status status = find_ocl(backend, &ocl);
    if (status == CBK_OK) {
        status = open_device(backend, ocl, context, queue, params, out_device);
    }
    if (status == CBK_OK && out_stream != NULL) {
        status = open_stream(*out_device, queue, out_stream);
        if (status != CBK_OK) cbk_device_release(out_device);
    }
    return status;
}

cbk_status cbk_opencl_stream(cbk_device *device, cl_command_queue queue, cbk_stream **out) {
    struct cbk_ocl *ocl = NULL;
    if (out == NULL) return fail_null("opencl_stream: out");
    *out = NULL;
    const cbk_status status = find_ocl(cbk_device_backend(device), &ocl);
    return status == CBK_OK ? open_stream(device, queue, out) : status;
}

// ---- memory ----------------------------------------------------------------------------------

static cbk_status read_memory(const cbk_stream *stream, const cbk_opencl_memory *given,
                              cbk_opencl_memory *out) {
    if (given == NULL) return fail_null("opencl_wrap: memory");
    cbk_status status = cbk_read_struct(given, "cbk_opencl_memory", out, sizeof *out);
    if (status != CBK_OK) return status;
    if (out->flags != 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "flags %u are unknown",
                        (unsigned)out->flags);
    }
    if (out->rank > CBK_MAX_RANK) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "rank %u is over %d", (unsigned)out->rank,
                        CBK_MAX_RANK);
    }
    if (out->dtype == CBK_DTYPE_NONE) {
        out->dtype = cbk_device_default_dtype(cbk_stream_device(stream), CBK_DTYPE_F32);
    }
    return CBK_OK;
}

/// Row-major strides where none are given. The products of a shape too large for them wrap; the
/// shape is refused when the tensor is made.
static void fill_strides(const cbk_opencl_memory *memory, int64_t strides[CBK_MAX_RANK]) {
    bool are_given = false;
    uint64_t stride = 1;
    for (uint32_t i = 0; i < memory->rank; i++) are_given |= memory->strides[i] != 0;
    memcpy(strides, memory->strides, sizeof memory->strides);
    for (uint32_t i = memory->rank; i-- > 0 && !are_given;) {
        strides[i] = (int64_t)stride;
        stride *= memory->shape[i] > 1 ? (uint64_t)memory->shape[i] : 1;
    }
}

static cbk_status describe(const cbk_opencl_memory *memory, cbk_tensor_meta *out) {
    const uint32_t size = cbk_dtype_size(memory->dtype);
    *out =
        (cbk_tensor_meta){.struct_size = sizeof *out, .dtype = memory->dtype, .rank = memory->rank};
    memcpy(out->shape, memory->shape, sizeof out->shape);
    fill_strides(memory, out->strides);
    if (size == 0) return CBK_OK; // refused when the tensor is made
    if (memory->offset_bytes % size != 0 || memory->offset_bytes > INT64_MAX) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "offset_bytes %llu is no multiple of %s's %u",
                        (unsigned long long)memory->offset_bytes, cbk_dtype_name(memory->dtype),
                        (unsigned)size);
    }
    out->offset = (int64_t)(memory->offset_bytes / size);
    return CBK_OK;
}

cbk_status cbk_opencl_wrap(cbk_stream *handle, const cbk_opencl_memory *given, cbk_tensor **out) {
    cbk_opencl_memory memory = CBK_INIT(cbk_opencl_memory);
    struct cbk_ocl_stream *stream = NULL;
    struct cbk_rt_block *block = NULL;
    cbk_tensor *tensor = NULL;
    cbk_tensor_meta meta;
    cbk_status status = CBK_OK;

    if (out == NULL) return fail_null("opencl_wrap: out");
    *out = NULL;
    RT_TRY(find_stream(handle, &stream));
    RT_TRY(read_memory(handle, given, &memory));
    RT_TRY(describe(&memory, &meta));
    RT_TRY(cbk_rt_block_adopt(stream->rt, memory.memory, NULL, NULL, &block));
    RT_TRY(cbk_tensor_adopt(handle, &meta, block, cbk_rt_block_size(block), &tensor));
    cbk_rt_block_set_release(block, memory.release, memory.user_data);
    block = NULL; // now the tensor's
    *out = tensor;
done:
    if (block != NULL) cbk_rt_free(stream->device->rt, &block);
    return status;
}

/// Buffer and offset of a tensor of this device whose storage is ready.
static cbk_status export_block(struct cbk_ocl_stream *stream, const cbk_tensor *tensor,
                               cl_mem *out_memory, uint64_t *out_offset_bytes) {
    const struct cbk_ocl_operand operand = cbk_ocl_operand(tensor);
    *out_offset_bytes = 0;
    *out_memory = NULL;
    if (operand.meta->element_count == 0) return CBK_OK;
    if (operand.block == NULL) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the tensor has no contents yet");
    }
    const cbk_status status = cbk_rt_block_export(stream->rt, operand.block, out_memory);
    if (status != CBK_OK) return status;
    *out_offset_bytes = cbk_rt_block_offset(operand.block) +
                        (uint64_t)operand.meta->offset * cbk_dtype_size(operand.meta->dtype);
    return CBK_OK;
}

cbk_status cbk_opencl_export(cbk_stream *handle, const cbk_tensor *tensor, cl_mem *out_memory,
                             uint64_t *out_offset_bytes) {
    struct cbk_ocl_stream *stream = NULL;
    cbk_dl_managed *shared = NULL;
    if (out_memory == NULL) return fail_null("opencl_export: out_memory");
    if (out_offset_bytes == NULL) return fail_null("opencl_export: out_offset_bytes");
    *out_memory = NULL;
    *out_offset_bytes = 0;
    cbk_status status = find_stream(handle, &stream);
    // Core's checks of tensors that are given away are those of DLPack.
    if (status == CBK_OK) status = cbk_dlpack_export(handle, tensor, CBK_DL_OPENCL, &shared);
    if (status != CBK_OK) return status;
    *out_memory = shared->tensor.data;
    *out_offset_bytes = shared->tensor.byte_offset;
    shared->deleter(shared);
    return CBK_OK;
}

// ---- events and objects ----------------------------------------------------------------------

cbk_status cbk_opencl_wait(cbk_stream *handle, cl_event event) {
    struct cbk_ocl_stream *stream = NULL;
    const cbk_status status = find_stream(handle, &stream);
    return status == CBK_OK ? cbk_rt_event_import(stream->rt, event) : status;
}

cbk_status cbk_opencl_event(cbk_stream *handle, cl_event *out) {
    struct cbk_ocl_stream *stream = NULL;
    if (out == NULL) return fail_null("opencl_event: out");
    *out = NULL;
    const cbk_status status = find_stream(handle, &stream);
    return status == CBK_OK ? cbk_rt_event_export(stream->rt, out) : status;
}

cbk_status cbk_opencl_objects(cbk_stream *handle, cl_context *out_context, cl_device_id *out_device,
                              cl_command_queue *out_queue) {
    struct cbk_ocl_stream *stream = NULL;
    const cbk_status status = find_stream(handle, &stream);
    if (status == CBK_OK) cbk_rt_objects(stream->rt, out_context, out_device, out_queue);
    return status;
}

// ---- the slots -------------------------------------------------------------------------------

static cbk_status check_kind(int32_t kind) {
    if (kind == CBK_DL_OPENCL) return CBK_OK;
    return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "OpenCL memory is not of DLPack device type %d",
                    (int)kind);
}

cbk_status cbk_ocl_memory_export(void *self, void *stream, const cbk_tensor *tensor, int32_t kind,
                                 void **out_memory, uint64_t *out_offset_bytes) {
    (void)self;
    cl_mem memory = NULL;
    cbk_status status = check_kind(kind);
    if (status == CBK_OK) status = export_block(stream, tensor, &memory, out_offset_bytes);
    *out_memory = memory;
    return status;
}

cbk_status cbk_ocl_memory_import(void *self, void *stream, int32_t kind, void *memory,
                                 void (*release)(void *user_data), void *user_data,
                                 void **out_storage, uint64_t *out_size_bytes) {
    (void)self;
    struct cbk_rt_block *block = NULL;
    cbk_status status = check_kind(kind);
    if (status == CBK_OK) {
        status = cbk_rt_block_adopt(((struct cbk_ocl_stream *)stream)->rt, memory, release,
                                    user_data, &block);
    }
    *out_storage = block;
    *out_size_bytes = block != NULL ? cbk_rt_block_size(block) : 0;
    return status;
}
