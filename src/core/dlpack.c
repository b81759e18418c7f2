// dlpack.c: tensors to and from DLPack: host memory by copying, a backend's own kind of memory
// through its memory_export and memory_import.
#include "core.h"

#include <cubeback/dlpack.h>

#include <string.h>

_Static_assert(sizeof(cbk_dl_tensor) == 48 || sizeof(void *) != 8, "the layout of DLTensor");
_Static_assert(offsetof(cbk_dl_managed, tensor) == 32 || sizeof(void *) != 8,
               "the layout of DLManagedTensorVersioned");

// ---- element types ------------------------------------------------------------------------------

static const struct {
    cbk_dtype dtype;
    uint8_t code, bits;
} types[] = {
    {CBK_DTYPE_F64, CBK_DL_FLOAT, 64},
    {CBK_DTYPE_F32, CBK_DL_FLOAT, 32},
    {CBK_DTYPE_FLEX32, CBK_DL_FLOAT, 32}, // comes back as f32: the first that fits is taken
    {CBK_DTYPE_F16, CBK_DL_FLOAT, 16},
    {CBK_DTYPE_BF16, CBK_DL_BFLOAT, 16},
    {CBK_DTYPE_F8E4M3, CBK_DL_FLOAT8_E4M3FN, 8},
    {CBK_DTYPE_F8E5M2, CBK_DL_FLOAT8_E5M2, 8},
    {CBK_DTYPE_I64, CBK_DL_INT, 64},
    {CBK_DTYPE_I32, CBK_DL_INT, 32},
    {CBK_DTYPE_I16, CBK_DL_INT, 16},
    {CBK_DTYPE_I8, CBK_DL_INT, 8},
    {CBK_DTYPE_U64, CBK_DL_UINT, 64},
    {CBK_DTYPE_U32, CBK_DL_UINT, 32},
    {CBK_DTYPE_U16, CBK_DL_UINT, 16},
    {CBK_DTYPE_U8, CBK_DL_UINT, 8},
    {CBK_DTYPE_BOOL, CBK_DL_BOOL, 8},
    {CBK_DTYPE_BOOL32, CBK_DL_BOOL, 32},
};
enum { TYPE_COUNT = sizeof types / sizeof *types };

static cbk_status type_of(cbk_dtype dtype, cbk_dl_tensor *out) {
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (types[i].dtype != dtype) continue;
        out->code = types[i].code;
        out->bits = types[i].bits;
        out->lanes = 1;
        return CBK_OK;
    }
    return cbk_fail(CBK_ERROR_DTYPE, 0, "DLPack has no element type for %s", cbk_dtype_name(dtype));
}

static cbk_status dtype_of(const cbk_dl_tensor *tensor, cbk_dtype *out) {
    for (size_t i = 0; i < TYPE_COUNT && tensor->lanes == 1; i++) {
        if (types[i].code != tensor->code || types[i].bits != tensor->bits) continue;
        *out = types[i].dtype;
        return CBK_OK;
    }
    return cbk_fail(CBK_ERROR_DTYPE, 0,
                    "there is no dtype for DLPack elements of code %u, %u bits, %u lanes",
                    (unsigned)tensor->code, (unsigned)tensor->bits, (unsigned)tensor->lanes);
}

// ---- export -------------------------------------------------------------------------------------

enum { DATA_ALIGNMENT = 256 };

/// What an export consists of; the host data of a copy lies behind it.
struct exported {
    cbk_dl_managed managed; ///< first: its address is the export's
    cbk_backend *backend;   ///< retained: the memory is from its allocator
    cbk_tensor *tensor;     ///< retained while its memory is shared
    size_t size;
    int64_t shape[CBK_MAX_RANK], strides[CBK_MAX_RANK];
};

static void delete_export(cbk_dl_managed *managed) {
    struct exported *exported = (struct exported *)managed;
    cbk_backend *backend = exported->backend;
    cbk_tensor_release(&exported->tensor);
    cbk_core_free(backend, exported, exported->size);
    cbk_backend_release(&backend);
}

/// All but the data and where it lies.
static cbk_status make_export(cbk_stream *stream, const cbk_tensor *tensor, int32_t device_type,
                              size_t data_bytes, struct exported **out) {
    const size_t size = sizeof(struct exported) + (data_bytes ? data_bytes + DATA_ALIGNMENT : 0);
    cbk_backend *backend = stream->device->backend;
    cbk_dl_tensor dl = {.device_type = device_type, .ndim = (int32_t)tensor->meta.rank};
    cbk_status status = type_of(tensor->meta.dtype, &dl);
    if (status != CBK_OK) return status;
    struct exported *exported = cbk_core_alloc(backend, size);
    if (exported == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    memset(exported, 0, sizeof *exported);
    exported->size = size;
    exported->backend = cbk_backend_retain(backend);
    memcpy(exported->shape, tensor->meta.shape, sizeof exported->shape);
    dl.shape = exported->shape;
    dl.strides = exported->strides;
    exported->managed = (cbk_dl_managed){.major = CBK_DL_MAJOR,
                                         .minor = CBK_DL_MINOR,
                                         .manager_ctx = exported,
                                         .deleter = delete_export,
                                         .tensor = dl};
    *out = exported;
    return CBK_OK;
}

static cbk_status export_copy(cbk_stream *stream, const cbk_tensor *tensor, int32_t device_type,
                              struct exported **out) {
    const cbk_tensor_meta *meta = &tensor->meta;
    const size_t bytes = (size_t)meta->element_count * cbk_dtype_size(meta->dtype);
    cbk_tensor_meta dense = *meta;
    struct exported *exported = NULL;
    cbk_status status = make_export(stream, tensor, device_type, bytes, &exported);
    if (status != CBK_OK) return status;
    cbk_meta_row_major(&dense);
    memcpy(exported->strides, dense.strides, sizeof exported->strides);
    exported->managed.flags = CBK_DL_COPIED;
    if (bytes != 0) {
        const uintptr_t end = (uintptr_t)(exported + 1) + DATA_ALIGNMENT - 1;
        exported->managed.tensor.data = (void *)(end & ~(uintptr_t)(DATA_ALIGNMENT - 1));
    }
    status = cbk_tensor_read(stream, tensor, exported->managed.tensor.data, bytes);
    if (status != CBK_OK) {
        delete_export(&exported->managed);
        return status;
    }
    *out = exported;
    return CBK_OK;
}

static cbk_status fail_kind(const cbk_stream *stream, int32_t kind) {
    return cbk_fail(CBK_ERROR_UNSUPPORTED, 0,
                    "backend \"%s\" shares no memory of DLPack device type %d",
                    cbk_backend_name(stream->device->backend), (int)kind);
}

static cbk_status export_shared(cbk_stream *stream, const cbk_tensor *tensor, int32_t device_type,
                                struct exported **out) {
    const cbk_vtable *vtable = cbk_stream_vtable(stream);
    cbk_device_info info = {.struct_size = sizeof info};
    struct exported *exported = NULL;
    if (vtable->memory_export == NULL) return fail_kind(stream, device_type);
    cbk_status status = cbk_check_replayed(stream, tensor);
    if (status == CBK_OK && cbk_tensor_is_poisoned(tensor)) {
        status = cbk_fail_poisoned(tensor, "the tensor");
    }
    if (status == CBK_OK) {
        status = vtable->device_info(cbk_stream_self(stream), stream->device->handle, &info);
    }
    if (status == CBK_OK) status = make_export(stream, tensor, device_type, 0, &exported);
    if (status != CBK_OK) return status;
    cbk_dl_tensor *dl = &exported->managed.tensor;
    dl->device_id = (int32_t)info.index;
    memcpy(exported->strides, tensor->meta.strides, sizeof exported->strides);
    status = vtable->memory_export(cbk_stream_self(stream), stream->handle, tensor, device_type,
                                   &dl->data, &dl->byte_offset);
    if (status != CBK_OK) {
        delete_export(&exported->managed);
        return status;
    }
    exported->tensor = cbk_tensor_retain((cbk_tensor *)tensor);
    *out = exported;
    return CBK_OK;
}

static cbk_status check_kind(int32_t device_type) {
    if (device_type == CBK_DL_CPU || device_type == CBK_DL_OPENCL) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "DLPack device type %d is not known here",
                    (int)device_type);
}

static cbk_status export_tensor(cbk_stream *stream, const cbk_tensor *tensor, int32_t device_type,
                                cbk_dl_managed **out) {
    struct exported *exported = NULL;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status == CBK_OK) status = cbk_check_tensor(tensor, "tensor");
    if (status == CBK_OK) status = cbk_check_same_device(stream, tensor, "the tensor");
    if (status == CBK_OK) status = check_kind(device_type);
    if (status == CBK_OK && tensor->meta.layout != 0) {
        status = cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "the tensor has private layout %u",
                          (unsigned)tensor->meta.layout);
    }
    if (status != CBK_OK) return status;
    status = device_type == CBK_DL_CPU ? export_copy(stream, tensor, device_type, &exported)
                                       : export_shared(stream, tensor, device_type, &exported);
    if (status == CBK_OK) *out = &exported->managed;
    return status;
}

cbk_status cbk_dlpack_export(cbk_stream *stream, const cbk_tensor *tensor, int32_t device_type,
                             cbk_dl_managed **out) {
    struct cbk_call former = cbk_call_begin("dlpack_export", CBK_OP_NONE);
    return cbk_call_end(former, export_tensor(stream, tensor, device_type, out));
}

// ---- import -------------------------------------------------------------------------------------

static void delete_managed(cbk_dl_managed *managed) {
    if (managed->deleter != NULL) managed->deleter(managed);
}

/// Fills all but offset. A NULL list of strides means row-major.
static cbk_status read_meta(const cbk_dl_tensor *dl, cbk_tensor_meta *meta) {
    cbk_dtype dtype = CBK_DTYPE_NONE;
    cbk_status status = dtype_of(dl, &dtype);
    if (status != CBK_OK) return status;
    if (dl->ndim < 0 || dl->ndim > CBK_MAX_RANK) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "rank %d is not in 0 .. %d", (int)dl->ndim,
                        CBK_MAX_RANK);
    }
    if (dl->ndim != 0 && dl->shape == NULL) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "shape is NULL, rank %d", (int)dl->ndim);
    }
    status = cbk_meta_init(meta, dtype, (uint32_t)dl->ndim, dl->shape);
    if (status != CBK_OK) return status;
    if (meta->element_count != 0 && dl->data == NULL) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "data is NULL");
    }
    if (dl->strides != NULL) {
        memcpy(meta->strides, dl->strides, meta->rank * sizeof *meta->strides);
    }
    return CBK_OK;
}

/// Copies elements of any strides to dense ones, innermost axis last.
static void gather(const cbk_tensor_meta *meta, const unsigned char *source, unsigned char *out) {
    const int64_t size = cbk_dtype_size(meta->dtype);
    int64_t index[CBK_MAX_RANK] = {0};
    for (int64_t n = 0; n < meta->element_count; n++) {
        memcpy(out + n * size, source, (size_t)size);
        for (uint32_t i = meta->rank; i-- > 0;) {
            source += meta->strides[i] * size;
            if (++index[i] < meta->shape[i]) break;
            source -= meta->shape[i] * meta->strides[i] * size;
            index[i] = 0;
        }
    }
}

static cbk_status import_copy(cbk_stream *stream, cbk_dl_managed *managed,
                              const cbk_tensor_meta *meta, cbk_tensor **out) {
    const size_t bytes = (size_t)meta->element_count * cbk_dtype_size(meta->dtype);
    const cbk_dl_tensor *dl = &managed->tensor;
    const unsigned char *data = dl->data;
    cbk_backend *backend = stream->device->backend;
    void *dense = NULL;
    if (bytes != 0) data += dl->byte_offset;
    if (bytes != 0 && !cbk_meta_is_contiguous(meta)) {
        dense = cbk_core_alloc(backend, bytes);
        if (dense == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
        gather(meta, data, dense);
        data = dense;
    }
    const cbk_status status =
        cbk_tensor_from_data(stream, meta->dtype, meta->rank, meta->shape, data, bytes, out);
    cbk_core_free(backend, dense, bytes);
    if (status == CBK_OK) delete_managed(managed);
    return status;
}

/// What the backend gives back when it is done with shared memory.
struct imported {
    cbk_dl_managed *managed; ///< NULL: the import failed, and it is still the caller's
    cbk_backend *backend;    ///< lives as long as its device
};

static void release_import(void *user_data) {
    struct imported *imported = user_data;
    if (imported->managed != NULL) delete_managed(imported->managed);
    cbk_core_free(imported->backend, imported, sizeof *imported);
}

static cbk_status adopt_import(cbk_stream *stream, const cbk_dl_tensor *dl,
                               const cbk_tensor_meta *meta, struct imported *imported,
                               cbk_tensor **out) {
    const cbk_vtable *vtable = cbk_stream_vtable(stream);
    void *storage = NULL;
    uint64_t bytes = 0;
    cbk_status status =
        vtable->memory_import(cbk_stream_self(stream), stream->handle, dl->device_type, dl->data,
                              release_import, imported, &storage, &bytes);
    if (status != CBK_OK) {
        release_import(imported);
        return status;
    }
    status = cbk_tensor_adopt(stream, meta, storage, bytes, out);
    if (status != CBK_OK) {
        vtable->storage_free(cbk_stream_self(stream), stream->device->handle, storage);
    }
    return status;
}

/// The copy takes the import's place; what was shared goes once the copy has been made.
static cbk_status replace_by_copy(cbk_stream *stream, cbk_tensor **tensor) {
    cbk_tensor *copy = NULL;
    const cbk_status status = cbk_copy(stream, *tensor, &copy);
    cbk_tensor_release(tensor);
    *tensor = copy;
    return status;
}

static cbk_status import_shared(cbk_stream *stream, cbk_dl_managed *managed, cbk_tensor_meta *meta,
                                cbk_tensor **out) {
    const cbk_dl_tensor *dl = &managed->tensor;
    const uint32_t size = cbk_dtype_size(meta->dtype);
    cbk_backend *backend = stream->device->backend;
    cbk_tensor *tensor = NULL;
    if (cbk_stream_vtable(stream)->memory_import == NULL) {
        return fail_kind(stream, dl->device_type);
    }
    if (meta->element_count == 0) {
        const cbk_status status =
            cbk_tensor_empty(stream, meta->dtype, meta->rank, meta->shape, out);
        if (status == CBK_OK) delete_managed(managed);
        return status;
    }
    if (dl->byte_offset % size != 0 || dl->byte_offset > INT64_MAX) {
        return cbk_fail(CBK_ERROR_SHAPE, 0, "byte_offset %llu is no multiple of the element's %u",
                        (unsigned long long)dl->byte_offset, (unsigned)size);
    }
    meta->offset = (int64_t)(dl->byte_offset / size);
    struct imported *imported = cbk_core_alloc(backend, sizeof *imported);
    if (imported == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    *imported = (struct imported){.backend = backend};
    cbk_status status = adopt_import(stream, dl, meta, imported, &tensor);
    if (status != CBK_OK) return status;
    imported->managed = managed;
    if ((managed->flags & CBK_DL_READ_ONLY) != 0) {
        // After a failure the release, which may come later, must not touch what is the caller's.
        imported->managed = NULL;
        cbk_tensor *shared = cbk_tensor_retain(tensor);
        status = replace_by_copy(stream, &tensor);
        if (status == CBK_OK) imported->managed = managed;
        cbk_tensor_release(&shared);
    }
    if (status == CBK_OK) *out = tensor;
    return status;
}

static cbk_status import_tensor(cbk_stream *stream, cbk_dl_managed *managed, cbk_tensor **out) {
    cbk_tensor_meta meta;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status == CBK_OK && managed == NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "managed is NULL");
    }
    if (status != CBK_OK) return status;
    if (managed->major != CBK_DL_MAJOR) {
        return cbk_fail(CBK_ERROR_VERSION, 0, "the tensor is of DLPack %u.%u, known is %d.x",
                        (unsigned)managed->major, (unsigned)managed->minor, CBK_DL_MAJOR);
    }
    status = check_kind(managed->tensor.device_type);
    if (status == CBK_OK) status = read_meta(&managed->tensor, &meta);
    if (status != CBK_OK) return status;
    return managed->tensor.device_type == CBK_DL_CPU ? import_copy(stream, managed, &meta, out)
                                                     : import_shared(stream, managed, &meta, out);
}

cbk_status cbk_dlpack_import(cbk_stream *stream, cbk_dl_managed *managed, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("dlpack_import", CBK_OP_NONE);
    return cbk_call_end(former, import_tensor(stream, managed, out));
}
