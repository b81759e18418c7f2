// tensor.c: making tensors, moving their contents, and asking about them.
#include "core.h"

#include <string.h>

// ---- making -------------------------------------------------------------------------------------

static cbk_status create_stored(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                const int64_t *shape, cbk_tensor **out) {
    cbk_tensor_meta meta;
    cbk_status status = cbk_check_stream(stream);
    if (status != CBK_OK) return status;
    if (rank != 0 && shape == NULL) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "shape is NULL, rank %u", (unsigned)rank);
    }
    if (dtype == CBK_DTYPE_NONE) {
        dtype = atomic_load_explicit(&stream->device->default_float, memory_order_relaxed);
    }
    status = cbk_check_storable(dtype);
    if (status == CBK_OK) status = cbk_meta_init(&meta, dtype, rank, shape);
    return status != CBK_OK ? status : cbk_tensor_make_stored(stream, &meta, out);
}

/// Rows are padded to whole multiples of this many bytes, and never to a power of two, which would
/// send all rows of a column to one memory bank.
#define PITCH_BYTES 128

static cbk_status create_pitched(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                 const int64_t *shape, cbk_tensor **out) {
    cbk_tensor_meta meta;
    cbk_status status = cbk_check_storable(dtype);
    if (status == CBK_OK) status = cbk_meta_init(&meta, dtype, rank, shape);
    if (status != CBK_OK) return status;
    if (rank < 2 || meta.element_count == 0) return cbk_tensor_make_stored(stream, &meta, out);

    const int64_t unit = PITCH_BYTES / (int64_t)cbk_dtype_size(dtype);
    int64_t row = meta.shape[rank - 1], bytes = 0;
    bool fits = row <= INT64_MAX - 2 * unit;
    if (fits) {
        row = (row + unit - 1) / unit * unit;
        if (row >= 4 * unit && (row & (row - 1)) == 0) row += unit;
        fits = cbk_mul_i64(row, (int64_t)cbk_dtype_size(dtype), &bytes);
    }
    for (uint32_t i = rank - 1; fits && i-- > 0;) fits = cbk_mul_i64(bytes, shape[i], &bytes);
    if (!fits) {
        return cbk_fail(CBK_ERROR_OVERFLOW, 0, "padded rows need more than 2^63 - 1 bytes");
    }
    int64_t stride = row;
    for (uint32_t i = rank - 1; i-- > 0;) {
        meta.strides[i] = stride;
        stride *= shape[i];
    }
    return cbk_tensor_make_stored(stream, &meta, out);
}

static cbk_status create_quantized(cbk_stream *stream, const cbk_tensor_params *params,
                                   cbk_tensor **out) {
    cbk_quant quant = {.struct_size = sizeof quant};
    cbk_tensor_meta meta;
    if (params->quant == NULL) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "dtype quant comes without a cbk_quant");
    }
    if (params->flags != 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "a quantized tensor has no padded rows");
    }
    cbk_status status = cbk_read_struct(params->quant, "cbk_quant", &quant, (uint32_t)sizeof quant);
    if (status == CBK_OK) {
        status = cbk_meta_init(&meta, CBK_DTYPE_U8, params->rank, params->shape);
    }
    if (status == CBK_OK) status = cbk_quant_fit(&quant, &meta);
    if (status != CBK_OK) return status;
    meta.dtype = CBK_DTYPE_QUANT;
    meta.quant = &quant;
    return cbk_tensor_make_stored(stream, &meta, out);
}

static cbk_status create(cbk_stream *stream, const cbk_tensor_params *given, cbk_tensor **out) {
    cbk_tensor_params params = {.struct_size = sizeof params};
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status != CBK_OK) return status;
    if (given == NULL) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "params is NULL");
    status = cbk_read_struct(given, "cbk_tensor_params", &params, (uint32_t)sizeof params);
    if (status != CBK_OK) return status;
    if ((params.flags & ~(uint32_t)CBK_TENSOR_PITCHED) != 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "flags %u are unknown",
                        (unsigned)params.flags);
    }
    if (params.quant != NULL && params.dtype != CBK_DTYPE_QUANT) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "quant is given with dtype %s",
                        cbk_dtype_name(params.dtype));
    }
    if (params.dtype == CBK_DTYPE_QUANT) return create_quantized(stream, &params, out);
    if ((params.flags & CBK_TENSOR_PITCHED) == 0) {
        return create_stored(stream, params.dtype, params.rank, params.shape, out);
    }
    if (params.dtype == CBK_DTYPE_NONE) {
        params.dtype = atomic_load_explicit(&stream->device->default_float, memory_order_relaxed);
    }
    return create_pitched(stream, params.dtype, params.rank, params.shape, out);
}

cbk_status cbk_tensor_create(cbk_stream *stream, const cbk_tensor_params *params,
                             cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("tensor_create", CBK_OP_NONE);
    return cbk_call_end(former, create(stream, params, out));
}

cbk_status cbk_tensor_empty(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                            const int64_t *shape, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("tensor_empty", CBK_OP_NONE);
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = create_stored(stream, dtype, rank, shape, out);
    return cbk_call_end(former, status);
}

// ---- writing ------------------------------------------------------------------------------------

static bool is_bool(cbk_dtype dtype) {
    return dtype == CBK_DTYPE_BOOL || dtype == CBK_DTYPE_BOOL32;
}

static bool has_unclean_bools(cbk_dtype dtype, const void *data, size_t count) {
    uint32_t seen = 0;
    if (dtype == CBK_DTYPE_BOOL) {
        const uint8_t *bytes = data;
        for (size_t i = 0; i < count; i++) seen |= bytes[i];
    } else {
        for (size_t i = 0; i < count; i++) {
            uint32_t word;
            memcpy(&word, (const char *)data + 4 * i, sizeof word);
            seen |= word;
        }
    }
    return seen > 1;
}

static void clean_bools(cbk_dtype dtype, const void *data, size_t count, void *out) {
    for (size_t i = 0; i < count; i++) {
        if (dtype == CBK_DTYPE_BOOL) {
            ((uint8_t *)out)[i] = ((const uint8_t *)data)[i] != 0;
        } else {
            uint32_t word;
            memcpy(&word, (const char *)data + 4 * i, sizeof word);
            ((uint32_t *)out)[i] = word != 0;
        }
    }
}

static cbk_status check_data(const cbk_tensor *tensor, const void *data, uint64_t size_bytes) {
    const uint64_t needed = cbk_tensor_data_bytes(tensor);
    if (size_bytes != needed) {
        char text[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "data has %llu bytes, %s of %s has %llu",
                        (unsigned long long)size_bytes,
                        cbk_shape_text(tensor->meta.rank, tensor->meta.shape, text),
                        cbk_dtype_name(tensor->meta.dtype), (unsigned long long)needed);
    }
    if (data == NULL && needed != 0) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "data is NULL");
    return CBK_OK;
}

/// Sizes are checked.
static cbk_status write_data(cbk_stream *stream, cbk_tensor *tensor, const void *data) {
    const size_t bytes = (size_t)cbk_tensor_data_bytes(tensor);
    const size_t count = (size_t)tensor->meta.element_count;
    const cbk_dtype dtype = tensor->meta.dtype;
    cbk_backend *backend = stream->device->backend;
    void *clean = NULL;
    if (bytes == 0) return CBK_OK;
    if (is_bool(dtype) && has_unclean_bools(dtype, data, count)) {
        clean = cbk_core_alloc(backend, bytes);
        if (clean == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
        clean_bools(dtype, data, count, clean);
    }
    cbk_tensor_keep_poison(tensor);
    cbk_status status =
        backend->vtable.write(backend->self, stream->handle, tensor, clean != NULL ? clean : data);
    cbk_core_free(backend, clean, bytes);
    if (status == CBK_OK && cbk_tensor_is_poisoned(tensor)) cbk_tensor_heal(tensor);
    return cbk_note_failure(stream->device, status);
}

static cbk_status check_has_storage(const cbk_tensor *tensor) {
    if (tensor->meta.element_count == 0 || cbk_tensor_storage(tensor) != NULL) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the tensor has no contents yet");
}

static cbk_status check_transfer(const cbk_stream *stream, const cbk_tensor *tensor,
                                 const void *data, uint64_t size_bytes) {
    cbk_status status = cbk_check_tensor(tensor, "tensor");
    if (status == CBK_OK) status = cbk_check_same_device(stream, tensor, "the tensor");
    if (status == CBK_OK && tensor->meta.layout != 0) {
        status = cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "the tensor has private layout %u",
                          (unsigned)tensor->meta.layout);
    }
    if (status == CBK_OK) status = check_data(tensor, data, size_bytes);
    return status != CBK_OK ? status : check_has_storage(tensor);
}

cbk_status cbk_tensor_from_data(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                const int64_t *shape, const void *data, uint64_t size_bytes,
                                cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("tensor_from_data", CBK_OP_NONE);
    cbk_tensor *tensor = NULL;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = create_stored(stream, dtype, rank, shape, &tensor);
    if (status == CBK_OK) status = check_data(tensor, data, size_bytes);
    if (status == CBK_OK) status = write_data(stream, tensor, data);
    if (status == CBK_OK) {
        *out = tensor;
        tensor = NULL;
    }
    cbk_tensor_release(&tensor);
    return cbk_call_end(former, status);
}

static cbk_status write_tensor(cbk_stream *stream, cbk_tensor *tensor, const void *data,
                               uint64_t size_bytes) {
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK) status = check_transfer(stream, tensor, data, size_bytes);
    if (status != CBK_OK) return status;
    if (cbk_meta_overlaps_itself(&tensor->meta)) {
        char text[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_ALIASING, 0, "the tensor, with strides %s, overlaps in itself",
                        cbk_shape_text(tensor->meta.rank, tensor->meta.strides, text));
    }
    return write_data(stream, tensor, data);
}

cbk_status cbk_tensor_write(cbk_stream *stream, cbk_tensor *tensor, const void *data,
                            uint64_t size_bytes) {
    struct cbk_call former = cbk_call_begin("tensor_write", CBK_OP_NONE);
    return cbk_call_end(former, write_tensor(stream, tensor, data, size_bytes));
}

// ---- reading ------------------------------------------------------------------------------------

static cbk_status check_request(const cbk_stream *stream, const cbk_read_request *request) {
    cbk_status status = check_transfer(stream, request->tensor, request->data, request->size_bytes);
    if (status == CBK_OK) status = cbk_check_replayed(stream, request->tensor);
    if (status == CBK_OK && cbk_tensor_is_poisoned(request->tensor)) {
        status = cbk_fail_poisoned(request->tensor, "the tensor");
    }
    return status;
}

/// Requests read with one call of the backend without asking for host memory.
#define READS_ON_STACK 16

/// Without an event it waits.
static cbk_status call_read(cbk_stream *stream, const cbk_backend_read *reads, uint32_t count,
                            cbk_event *event) {
    const cbk_backend *backend = stream->device->backend;
    if (event != NULL && backend->vtable.read_async != NULL) {
        return count != 0 ? backend->vtable.read_async(backend->self, stream->handle, reads, count,
                                                       &event->handle)
                          : cbk_event_make_point(stream, event);
    }
    return count != 0 ? backend->vtable.read(backend->self, stream->handle, reads, count)
                      : backend->vtable.sync(backend->self, stream->handle);
}

static cbk_status read_many(cbk_stream *stream, const cbk_read_request *requests, uint32_t count,
                            cbk_event *event) {
    cbk_status status = CBK_OK;
    if (requests == NULL && count != 0) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "requests is NULL");
    }
    for (uint32_t i = 0; i < count && status == CBK_OK; i++) {
        status = check_request(stream, &requests[i]);
    }
    if (status != CBK_OK) return status;

    cbk_backend *backend = stream->device->backend;
    cbk_backend_read stack[READS_ON_STACK], *reads = stack;
    if (count > READS_ON_STACK) {
        reads = cbk_core_alloc(backend, count * sizeof *reads);
        if (reads == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (requests[i].tensor->meta.element_count == 0) continue;
        reads[used++] = (cbk_backend_read){requests[i].tensor, requests[i].data};
    }
    status = call_read(stream, reads, used, event);
    if (reads != stack) cbk_core_free(backend, reads, count * sizeof *reads);
    return cbk_note_failure(stream->device, status);
}

cbk_status cbk_tensor_read(cbk_stream *stream, const cbk_tensor *tensor, void *data,
                           uint64_t size_bytes) {
    struct cbk_call former = cbk_call_begin("tensor_read", CBK_OP_NONE);
    const cbk_read_request request = {tensor, data, size_bytes};
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK) status = read_many(stream, &request, 1, NULL);
    return cbk_call_end(former, status);
}

cbk_status cbk_tensor_read_many(cbk_stream *stream, const cbk_read_request *requests,
                                uint32_t count) {
    struct cbk_call former = cbk_call_begin("tensor_read_many", CBK_OP_NONE);
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK) status = read_many(stream, requests, count, NULL);
    return cbk_call_end(former, status);
}

static cbk_status read_async(cbk_stream *stream, const cbk_read_request *requests, uint32_t count,
                             cbk_event **out) {
    cbk_event *event = NULL;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status == CBK_OK) status = cbk_event_make(stream, &event);
    if (status != CBK_OK) return status;
    status = read_many(stream, requests, count, event);
    if (status == CBK_OK) {
        *out = event;
    } else {
        cbk_event_release(&event);
    }
    return status;
}

cbk_status cbk_tensor_read_async(cbk_stream *stream, const cbk_read_request *requests,
                                 uint32_t count, cbk_event **out) {
    struct cbk_call former = cbk_call_begin("tensor_read_async", CBK_OP_NONE);
    return cbk_call_end(former, read_async(stream, requests, count, out));
}

// ---- to another device --------------------------------------------------------------------------

static cbk_status copy_through_host(cbk_stream *from, const cbk_tensor *tensor, cbk_stream *to,
                                    cbk_tensor *destination) {
    const size_t bytes = (size_t)cbk_tensor_data_bytes(tensor);
    cbk_backend *backend = from->device->backend;
    void *data = cbk_core_alloc(backend, bytes);
    if (data == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    cbk_status status = cbk_tensor_read(from, tensor, data, bytes);
    if (status == CBK_OK) status = write_data(to, destination, data);
    cbk_core_free(backend, data, bytes);
    return status;
}

static cbk_status copy_across(cbk_stream *from, const cbk_tensor *tensor, cbk_stream *to,
                              cbk_tensor *destination) {
    cbk_backend *backend = from->device->backend;
    if (backend != to->device->backend || backend->vtable.copy_device == NULL ||
        tensor->meta.quant != NULL) {
        return copy_through_host(from, tensor, to, destination);
    }
    cbk_tensor *dense = NULL;
    cbk_status status = cbk_contiguous(from, tensor, &dense);
    if (status == CBK_OK) {
        status = backend->vtable.copy_device(backend->self, from->handle, dense, to->handle,
                                             destination);
    }
    cbk_tensor_release(&dense);
    return status;
}

static cbk_status to_device(cbk_stream *from, const cbk_tensor *tensor, cbk_stream *to,
                            cbk_tensor **out) {
    cbk_tensor *destination = NULL;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_stream(from);
    if (status == CBK_OK) status = cbk_check_stream(to);
    if (status == CBK_OK) status = cbk_check_tensor(tensor, "tensor");
    if (status == CBK_OK) status = cbk_check_same_device(from, tensor, "the tensor");
    if (status != CBK_OK) return status;
    const cbk_tensor_meta *meta = &tensor->meta;
    if (from->device == to->device && meta->quant == NULL) return cbk_copy(to, tensor, out);
    if (cbk_tensor_is_poisoned(tensor)) return cbk_fail_poisoned(tensor, "the tensor");
    status = meta->quant != NULL
                 ? cbk_tensor_make_stored(to, meta, &destination)
                 : create_stored(to, meta->dtype, meta->rank, meta->shape, &destination);
    if (status == CBK_OK && tensor->meta.element_count != 0) {
        status = copy_across(from, tensor, to, destination);
    }
    if (status == CBK_OK) {
        *out = destination;
        destination = NULL;
    }
    cbk_tensor_release(&destination);
    return status;
}

cbk_status cbk_tensor_to_device(cbk_stream *from, const cbk_tensor *tensor, cbk_stream *to,
                                cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("tensor_to_device", CBK_OP_NONE);
    return cbk_call_end(former, to_device(from, tensor, to, out));
}

// ---- asking -------------------------------------------------------------------------------------

static bool is_tensor(const cbk_tensor *tensor) {
    return cbk_object_is(tensor, CBK_TAG_TENSOR);
}

cbk_dtype cbk_tensor_dtype(const cbk_tensor *tensor) {
    return is_tensor(tensor) ? tensor->meta.dtype : CBK_DTYPE_NONE;
}

uint32_t cbk_tensor_rank(const cbk_tensor *tensor) {
    return is_tensor(tensor) ? tensor->meta.rank : 0;
}

const int64_t *cbk_tensor_shape(const cbk_tensor *tensor) {
    return is_tensor(tensor) ? tensor->meta.shape : NULL;
}

const int64_t *cbk_tensor_strides(const cbk_tensor *tensor) {
    return is_tensor(tensor) ? tensor->meta.strides : NULL;
}

int64_t cbk_tensor_offset(const cbk_tensor *tensor) {
    return is_tensor(tensor) ? tensor->meta.offset : 0;
}

int64_t cbk_tensor_element_count(const cbk_tensor *tensor) {
    return is_tensor(tensor) ? tensor->meta.element_count : 0;
}

uint32_t cbk_tensor_layout(const cbk_tensor *tensor) {
    return is_tensor(tensor) ? tensor->meta.layout : 0;
}

const cbk_quant *cbk_tensor_quant(const cbk_tensor *tensor) {
    return is_tensor(tensor) ? tensor->meta.quant : NULL;
}

cbk_device *cbk_tensor_device(const cbk_tensor *tensor) {
    return is_tensor(tensor) ? tensor->storage->device : NULL;
}

uint32_t cbk_tensor_is_contiguous(const cbk_tensor *tensor) {
    return is_tensor(tensor) && cbk_meta_is_contiguous(&tensor->meta);
}

uint32_t cbk_tensor_is_unique(const cbk_tensor *tensor) {
    return is_tensor(tensor) &&
           atomic_load_explicit(&tensor->object.references, memory_order_acquire) == 1 &&
           atomic_load_explicit(&tensor->storage->references, memory_order_acquire) == 1;
}
