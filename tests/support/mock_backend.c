// mock_backend.c: see mock_backend.h. Storage is host memory; transfers move dense tensors.
#include "mock_backend.h"

#include "support.h"

#include <stdlib.h>
#include <string.h>

static const char *mock_name(void *self) {
    (void)self;
    return "mock";
}

static void mock_destroy(void *self) {
    ((struct mock *)self)->destroyed++;
}

static cbk_status mock_count(void *self, uint32_t type, uint32_t *out_count) {
    (void)self;
    *out_count = type == CBK_DEVICE_GPU ? 0 : 1;
    return CBK_OK;
}

static cbk_status mock_describe(void *self, uint32_t type, uint32_t index, cbk_device_info *out) {
    (void)self;
    (void)type;
    if (index != 0) return cbk_fail(CBK_ERROR_NOT_FOUND, 0, "there is no device %u", index);
    out->compute_units = 7;
    strcpy(out->name, "mock device");
    return CBK_OK;
}

static cbk_status mock_device_open(void *self, const cbk_device_params *params, void **out_device) {
    struct mock *mock = self;
    (void)params;
    if (mock->open_status != CBK_OK) return cbk_fail(mock->open_status, 0, "told to refuse");
    mock->devices++;
    *out_device = mock;
    return CBK_OK;
}

static void mock_device_close(void *self, void *device) {
    struct mock *mock = self;
    (void)device;
    // Children must be gone.
    assert_int_equal(mock->streams, 0);
    assert_int_equal(mock->storages, 0);
    assert_int_equal(mock->graphs, 0);
    assert_int_equal(mock->events, 0);
    mock->devices--;
}

static cbk_status mock_device_info(void *self, void *device, cbk_device_info *out) {
    (void)device;
    return mock_describe(self, 0, 0, out);
}

static cbk_status mock_usage(void *self, void *device, cbk_dtype dtype, const cbk_quant *quant,
                             uint32_t *out_usage) {
    (void)self;
    (void)device;
    (void)quant;
    *out_usage = dtype == CBK_DTYPE_F64 ? 0 : CBK_USAGE_STORAGE;
    if (dtype == CBK_DTYPE_F32) *out_usage |= CBK_USAGE_ARITHMETIC;
    return CBK_OK;
}

static cbk_status mock_alloc(void *self, void *stream, uint64_t size_bytes, void **out_storage) {
    struct mock *mock = self;
    (void)stream;
    if (mock->alloc_status != CBK_OK) return cbk_fail(mock->alloc_status, 0, "told to refuse");
    *out_storage = malloc(size_bytes < 1u << 20 ? size_bytes : 1); // huge ones are never touched
    mock->storages++;
    mock->allocations++;
    return CBK_OK;
}

static void mock_free(void *self, void *device, void *storage) {
    (void)device;
    ((struct mock *)self)->storages--;
    free(storage);
}

static size_t dense_bytes(const cbk_tensor *tensor) {
    return (size_t)cbk_tensor_element_count(tensor) * cbk_dtype_size(cbk_tensor_dtype(tensor));
}

static char *first_byte(const cbk_tensor *tensor) {
    return (char *)cbk_tensor_storage(tensor) +
           cbk_tensor_offset(tensor) * (int64_t)cbk_dtype_size(cbk_tensor_dtype(tensor));
}

static cbk_status mock_write(void *self, void *stream, const cbk_tensor *tensor, const void *data) {
    (void)self;
    (void)stream;
    memcpy(first_byte(tensor), data, dense_bytes(tensor));
    return CBK_OK;
}

static cbk_status mock_read(void *self, void *stream, const cbk_backend_read *requests,
                            uint32_t count) {
    (void)stream;
    ((struct mock *)self)->reads++;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(requests[i].data, first_byte(requests[i].tensor), dense_bytes(requests[i].tensor));
    }
    return CBK_OK;
}

static cbk_status mock_execute(void *self, void *stream, const cbk_op *op) {
    struct mock *mock = self;
    if (mock->execute_status != CBK_OK) return cbk_fail(mock->execute_status, 0, "told to fail");
    for (uint32_t i = 0; mock->attach && i < op->output_count; i++) {
        cbk_tensor *output = op->outputs[i];
        if (cbk_tensor_storage(output) != NULL || cbk_tensor_element_count(output) == 0) continue;
        void *storage = NULL;
        cbk_status status = mock_alloc(self, stream, cbk_tensor_storage_bytes(output), &storage);
        if (status == CBK_OK) status = cbk_tensor_attach(output, storage);
        if (status != CBK_OK) return status;
    }
    uint32_t place = mock->op_count++ % MOCK_MAX_OPS;
    mock->ops[place].opcode = op->opcode;
    mock->ops[place].input0 = op->input_count != 0 ? cbk_tensor_storage(op->inputs[0]) : NULL;
    mock->ops[place].output0 = cbk_tensor_storage(op->outputs[0]);
    mock->ops[place].params_size = op->params_size;
    memcpy(mock->ops[place].params, op->params, op->params_size);
    return CBK_OK;
}

static cbk_status mock_stream_create(void *self, void *device, const cbk_stream_params *params,
                                     uint64_t number, void **out_stream) {
    struct mock *mock = self;
    (void)device;
    (void)params;
    if (mock->stream_status != CBK_OK) return cbk_fail(mock->stream_status, 0, "told to refuse");
    mock->streams++;
    *out_stream = (char *)self + number;
    return CBK_OK;
}

static void mock_stream_destroy(void *self, void *stream) {
    (void)stream;
    ((struct mock *)self)->streams--;
}

static cbk_status mock_sync(void *self, void *stream) {
    (void)stream;
    ((struct mock *)self)->syncs++;
    return CBK_OK;
}

static cbk_status mock_event_create(void *self, void *stream, void **out_event) {
    (void)stream;
    ((struct mock *)self)->events++;
    *out_event = self;
    return CBK_OK;
}

static cbk_status mock_event_query(void *self, void *event, uint32_t *out_done) {
    (void)self;
    (void)event;
    *out_done = 1;
    return CBK_OK;
}

static cbk_status mock_event_wait(void *self, void *event) {
    (void)self;
    (void)event;
    return CBK_OK;
}

static cbk_status mock_stream_wait(void *self, void *stream, void *event) {
    (void)stream;
    return mock_event_wait(self, event);
}

static void mock_event_destroy(void *self, void *event) {
    (void)event;
    ((struct mock *)self)->events--;
}

static cbk_status mock_graph_step(void *self, void *stream) {
    (void)self;
    (void)stream;
    return CBK_OK;
}

static cbk_status mock_graph_stop(void *self, void *stream, void **out_graph) {
    struct mock *mock = self;
    (void)stream;
    if (mock->stop_status != CBK_OK) return cbk_fail(mock->stop_status, 0, "told to fail");
    mock->graphs++;
    *out_graph = self;
    return CBK_OK;
}

static cbk_status mock_graph_replay(void *self, void *stream, void *graph) {
    (void)graph;
    return mock_graph_step(self, stream);
}

static void mock_graph_destroy(void *self, void *graph) {
    (void)graph;
    ((struct mock *)self)->graphs--;
}

void mock_init(struct mock *mock) {
    memset(mock, 0, sizeof *mock);
    mock->attach = 1;
    mock->vtable = (cbk_vtable){
        .struct_size = sizeof(cbk_vtable),
        .api_version = CBK_BACKEND_API_VERSION,
        .name = mock_name,
        .destroy = mock_destroy,
        .device_count = mock_count,
        .device_describe = mock_describe,
        .device_open = mock_device_open,
        .device_close = mock_device_close,
        .device_info = mock_device_info,
        .dtype_usage = mock_usage,
        .storage_alloc = mock_alloc,
        .storage_free = mock_free,
        .write = mock_write,
        .read = mock_read,
        .execute = mock_execute,
        .stream_create = mock_stream_create,
        .stream_destroy = mock_stream_destroy,
        .sync = mock_sync,
        .event_create = mock_event_create,
        .event_query = mock_event_query,
        .event_wait = mock_event_wait,
        .stream_wait = mock_stream_wait,
        .event_destroy = mock_event_destroy,
        .graph_prepare = mock_graph_step,
        .graph_start_capture = mock_graph_step,
        .graph_stop_capture = mock_graph_stop,
        .graph_abort = mock_graph_step,
        .graph_replay = mock_graph_replay,
        .graph_destroy = mock_graph_destroy,
    };
}

void mock_open(struct mock *mock) {
    assert_ok(cbk_backend_create(&mock->vtable, mock, &mock->backend));
    assert_ok(cbk_device_open(mock->backend, NULL, &mock->device));
    assert_ok(cbk_stream_create(mock->device, NULL, &mock->stream));
}

void mock_close(struct mock *mock) {
    cbk_stream_release(&mock->stream);
    cbk_device_release(&mock->device);
    cbk_backend_release(&mock->backend);
}
