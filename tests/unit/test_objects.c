// test_objects.c: handles, counts and parents, on a backend that counts what it made.
#include "mock_backend.h"
#include "support.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static cbk_tensor *make(struct mock *mock, int64_t length) {
    cbk_tensor *tensor = NULL;
    assert_ok(cbk_tensor_empty(mock->stream, CBK_DTYPE_F32, 1, &length, &tensor));
    return tensor;
}

static void assert_all_gone(const struct mock *mock) {
    assert_int_equal(mock->storages, 0);
    assert_int_equal(mock->streams, 0);
    assert_int_equal(mock->graphs, 0);
    assert_int_equal(mock->events, 0);
    assert_int_equal(mock->devices, 0);
    assert_int_equal(mock->destroyed, 1);
}

enum { BACKEND, DEVICE, STREAM, TENSOR, VIEW, GRAPH, EVENT, HANDLES };

/// Every kind of handle, released in the order that `permutation` counts out.
static void release_in_order(unsigned permutation) {
    struct mock mock;
    mock_init(&mock);
    mock_open(&mock);
    cbk_tensor *tensor = make(&mock, 6), *view = NULL;
    cbk_graph *graph = NULL;
    cbk_event *event = NULL;
    assert_ok(cbk_flip(mock.stream, tensor, 0, NULL, &view));
    assert_ok(cbk_graph_prepare(mock.stream));
    assert_ok(cbk_graph_start_capture(mock.stream));
    assert_ok(cbk_graph_stop_capture(mock.stream, &graph));
    assert_ok(cbk_event_record(mock.stream, &event));

    int left[HANDLES] = {BACKEND, DEVICE, STREAM, TENSOR, VIEW, GRAPH, EVENT};
    for (unsigned count = HANDLES; count > 0; count--) {
        unsigned pick = permutation % count;
        permutation /= count;
        assert_int_equal(mock.destroyed, 0);
        switch (left[pick]) {
        case BACKEND:
            cbk_backend_release(&mock.backend);
            break;
        case DEVICE:
            cbk_device_release(&mock.device);
            break;
        case STREAM:
            cbk_stream_release(&mock.stream);
            break;
        case TENSOR:
            cbk_tensor_release(&tensor);
            break;
        case VIEW:
            cbk_tensor_release(&view);
            break;
        case GRAPH:
            cbk_graph_release(&graph);
            break;
        default:
            cbk_event_release(&event);
            break;
        }
        left[pick] = left[count - 1];
    }
    assert_null(mock.backend);
    assert_null(tensor);
    assert_all_gone(&mock);
}

static void any_order_of_release(void **state) {
    (void)state;
    for (unsigned permutation = 0; permutation < 5040; permutation++) release_in_order(permutation);
}

static void retain_and_release(void **state) {
    (void)state;
    struct mock mock;
    mock_init(&mock);
    mock_open(&mock);
    cbk_tensor *tensor = make(&mock, 4);
    assert_int_equal(cbk_tensor_is_unique(tensor), 1);
    cbk_tensor *again = cbk_tensor_retain(tensor);
    assert_ptr_equal(again, tensor);
    assert_int_equal(cbk_tensor_is_unique(tensor), 0);
    cbk_tensor_release(&again);
    assert_null(again);
    assert_int_equal(cbk_tensor_is_unique(tensor), 1);
    assert_int_equal(mock.storages, 1);

    cbk_tensor *view = NULL;
    assert_ok(cbk_flip(mock.stream, tensor, 0, NULL, &view));
    assert_int_equal(cbk_tensor_is_unique(tensor), 0);
    assert_int_equal(cbk_tensor_is_unique(view), 0);
    cbk_tensor_release(&tensor);
    assert_int_equal(mock.storages, 1);
    assert_int_equal(cbk_tensor_is_unique(view), 1);
    cbk_tensor_release(&view);
    assert_int_equal(mock.storages, 0);
    mock_close(&mock);
    assert_all_gone(&mock);
}

static void null_handles(void **state) {
    (void)state;
    cbk_backend *backend = NULL;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *tensor = NULL;
    cbk_graph *graph = NULL;
    cbk_event *event = NULL;
    cbk_backend_release(&backend);
    cbk_backend_release(NULL);
    cbk_device_release(&device);
    cbk_device_release(NULL);
    cbk_stream_release(&stream);
    cbk_stream_release(NULL);
    cbk_tensor_release(&tensor);
    cbk_tensor_release(NULL);
    cbk_graph_release(&graph);
    cbk_graph_release(NULL);
    cbk_event_release(&event);
    cbk_event_release(NULL);
    assert_null(cbk_tensor_retain(NULL));
    assert_null(cbk_backend_retain(NULL));
    assert_string_equal(cbk_backend_name(NULL), "");
    assert_string_equal(cbk_device_build_log(NULL), "");
    assert_null(cbk_tensor_shape(NULL));
    assert_int_equal(cbk_tensor_dtype(NULL), CBK_DTYPE_NONE);
    assert_int_equal(cbk_tensor_is_contiguous(NULL), 0);

    uint32_t count;
    int64_t shape[1] = {1};
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_device_count(NULL, 0, &count));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_device_open(NULL, NULL, &device));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_stream_create(NULL, NULL, &stream));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_sync(NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_flush(NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_tensor_empty(NULL, CBK_DTYPE_F32, 1, shape, &tensor));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_read(NULL, NULL, NULL, 0));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_write(NULL, NULL, NULL, 0));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_add(NULL, NULL, NULL, &tensor));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_execute(NULL, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_supports_op(NULL, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_event_query(NULL, &count));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_graph_replay(NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_seed(NULL, 1));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_memory_usage(NULL, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_profile_end(NULL));
}

/// One kind of handle in another's place is seen by its tag.
static void wrong_handles(void **state) {
    (void)state;
    struct mock mock;
    mock_init(&mock);
    mock_open(&mock);
    cbk_tensor *tensor = make(&mock, 4), *out = (cbk_tensor *)&mock;
    void *device = mock.device;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_sync(device));
    assert_non_null(strstr(cbk_last_error_message(), "not a live stream"));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_neg(mock.stream, device, &out));
    assert_non_null(strstr(cbk_last_error_message(), "input 0"));
    assert_null(out);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_neg(mock.stream, NULL, &out));
    assert_non_null(strstr(cbk_last_error_message(), "neg: input 0 is NULL"));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_neg(mock.stream, tensor, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_neg_into(mock.stream, tensor, NULL));
    assert_int_equal(mock.op_count, 0);
    cbk_tensor_release(&tensor);
    mock_close(&mock);
}

/// Two devices of one backend do not mix.
static void wrong_device(void **state) {
    (void)state;
    struct mock mock;
    mock_init(&mock);
    mock_open(&mock);
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    assert_ok(cbk_device_open(mock.backend, NULL, &device));
    assert_ok(cbk_stream_create(device, NULL, &stream));
    cbk_tensor *tensor = make(&mock, 4), *out = NULL;
    float data[4];
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_neg(stream, tensor, &out));
    assert_non_null(strstr(cbk_last_error_message(), "lives on device"));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_read(stream, tensor, data, sizeof data));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_write(stream, tensor, data, sizeof data));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_contiguous(stream, tensor, &out));
    cbk_event *event = NULL;
    assert_ok(cbk_event_record(mock.stream, &event));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_stream_wait_event(stream, event));
    assert_ok(cbk_stream_wait_event(mock.stream, event));
    cbk_event_release(&event);
    cbk_tensor_release(&tensor);
    cbk_stream_release(&stream);
    mock.streams = mock.streams - 1; // the other device's stream is alive while this one closes
    cbk_device_release(&device);
    mock.streams = mock.streams + 1;
    mock_close(&mock);
}

static void failures_leave_nothing(void **state) {
    (void)state;
    struct mock mock;
    mock_init(&mock);
    mock_open(&mock);
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *tensor = NULL, *x = make(&mock, 4);
    int64_t shape[1] = {4};
    mock.open_status = CBK_ERROR_DRIVER;
    assert_status(CBK_ERROR_DRIVER, cbk_device_open(mock.backend, NULL, &device));
    assert_string_equal(cbk_last_error_message(), "device_open: told to refuse");
    mock.stream_status = CBK_ERROR_DRIVER;
    assert_status(CBK_ERROR_DRIVER, cbk_stream_create(mock.device, NULL, &stream));
    mock.alloc_status = CBK_ERROR_OUT_OF_MEMORY;
    assert_status(CBK_ERROR_OUT_OF_MEMORY,
                  cbk_tensor_empty(mock.stream, CBK_DTYPE_F32, 1, shape, &tensor));
    assert_status(CBK_ERROR_OUT_OF_MEMORY, cbk_neg(mock.stream, x, &tensor));
    assert_string_equal(cbk_last_error_message(), "neg: told to refuse");
    assert_null(device);
    assert_null(stream);
    assert_null(tensor);
    mock.alloc_status = CBK_OK, mock.stream_status = CBK_OK;
    assert_ok(cbk_stream_create(mock.device, NULL, &stream));
    // The refused stream took no number.
    assert_ptr_equal(cbk_stream_handle(stream), (char *)&mock + 1);
    cbk_stream_release(&stream);
    cbk_tensor_release(&x);
    mock_close(&mock);
    assert_all_gone(&mock);
}

static void vtables_are_checked(void **state) {
    (void)state;
    struct mock mock;
    mock_init(&mock);
    cbk_backend *backend = NULL;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_backend_create(NULL, NULL, &backend));
    mock.vtable.api_version = 99;
    assert_status(CBK_ERROR_VERSION, cbk_backend_create(&mock.vtable, &mock, &backend));
    mock_init(&mock);
    mock.vtable.execute = NULL;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_backend_create(&mock.vtable, &mock, &backend));
    assert_non_null(strstr(cbk_last_error_message(), "execute"));
    mock_init(&mock);
    mock.vtable.event_wait = NULL;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_backend_create(&mock.vtable, &mock, &backend));
    assert_null(backend);
    assert_int_equal(mock.destroyed, 0); // self is still the caller's
}

/// What a NULL slot means.
static void optional_slots(void **state) {
    (void)state;
    struct mock mock;
    mock_init(&mock);
    mock.vtable.event_create = NULL;
    mock.vtable.graph_prepare = NULL;
    mock_open(&mock);
    uint32_t done = 0;
    cbk_event *event = NULL;
    assert_ok(cbk_event_record(mock.stream, &event));
    assert_int_equal(mock.syncs, 1);
    assert_ok(cbk_event_query(event, &done));
    assert_int_equal(done, 1);
    assert_ok(cbk_event_wait(event));
    assert_ok(cbk_stream_wait_event(mock.stream, event));
    cbk_event_release(&event);

    assert_ok(cbk_flush(mock.stream));
    assert_ok(cbk_persistent_begin(mock.stream));
    assert_ok(cbk_persistent_end(mock.stream));
    assert_ok(cbk_memory_cleanup(mock.device));
    assert_ok(cbk_device_state(mock.device));
    assert_string_equal(cbk_device_build_log(mock.device), "");
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_memory_limit(mock.device, 1));
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_seed(mock.device, 1));
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_graph_prepare(mock.stream));
    assert_non_null(strstr(cbk_last_error_message(), "graph_prepare"));
    cbk_counters counters = CBK_INIT(cbk_counters);
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_device_counters(mock.device, &counters));

    assert_ok(cbk_supports_dtype(mock.device, CBK_DTYPE_F32));
    assert_ok(cbk_supports_dtype(mock.device, CBK_DTYPE_F16));
    assert_ok(cbk_supports_dtype(mock.device, CBK_DTYPE_BOOL));
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_supports_dtype(mock.device, CBK_DTYPE_F64));
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_supports_dtype(mock.device, CBK_DTYPE_I32));
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_supports_dtype(mock.device, CBK_DTYPE_BOOL_NATIVE));
    assert_status(CBK_ERROR_DTYPE, cbk_supports_dtype(mock.device, 99));

    void *staging = NULL;
    assert_ok(cbk_staging_alloc(mock.device, 1000, &staging));
    memset(staging, 1, 1000);
    cbk_staging_free(mock.device, &staging);
    assert_null(staging);
    mock_close(&mock);
    assert_all_gone(&mock);
}

// ---- host memory --------------------------------------------------------------------------------

struct host {
    long blocks, bytes, left; ///< left: allocations before one fails; -1: none does
};

static void *host_allocate(void *user_data, size_t size, size_t alignment) {
    struct host *host = user_data;
    (void)alignment;
    if (host->left == 0) return NULL;
    if (host->left > 0) host->left--;
    host->blocks++;
    host->bytes += (long)size;
    return malloc(size);
}

static void host_free(void *user_data, void *memory, size_t size) {
    struct host *host = user_data;
    host->blocks--;
    host->bytes -= (long)size;
    free(memory);
}

/// Everything once; what was made is given back. Returns the first failure.
static cbk_status use_everything(struct mock *mock) {
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *a = NULL, *b = NULL, *c = NULL;
    cbk_graph *graph = NULL;
    cbk_event *event = NULL;
    const int64_t shape[2] = {2, 3};
    const unsigned char dirty[6] = {0, 1, 2, 3, 0, 255};
    void *staging = NULL;
    cbk_status status = cbk_device_open(mock->backend, NULL, &device);
    if (status == CBK_OK) status = cbk_stream_create(device, NULL, &stream);
    if (status == CBK_OK) {
        status = cbk_tensor_from_data(stream, CBK_DTYPE_BOOL, 2, shape, dirty, 6, &a);
    }
    if (status == CBK_OK) status = cbk_transpose(stream, a, 0, 1, &b);
    if (status == CBK_OK) {
        const int64_t flat[1] = {6};
        status = cbk_reshape(stream, b, 1, flat, &c); // a copy
    }
    if (status == CBK_OK) status = cbk_event_record(stream, &event);
    if (status == CBK_OK) status = cbk_staging_alloc(device, 8, &staging);
    if (status == CBK_OK) status = cbk_graph_prepare(stream);
    if (status == CBK_OK) status = cbk_graph_start_capture(stream);
    if (status == CBK_OK) status = cbk_graph_stop_capture(stream, &graph);
    cbk_staging_free(device, &staging);
    cbk_graph_release(&graph);
    cbk_event_release(&event);
    cbk_tensor_release(&c);
    cbk_tensor_release(&b);
    cbk_tensor_release(&a);
    cbk_stream_release(&stream);
    cbk_device_release(&device);
    return status;
}

static void nth_host_allocation_fails(void **state) {
    (void)state;
    struct mock mock;
    struct host host = {0, 0, -1};
    mock_init(&mock);
    assert_ok(cbk_backend_create(&mock.vtable, &mock, &mock.backend));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_backend_set_host_allocator(mock.backend, host_allocate, NULL, &host));
    assert_ok(cbk_backend_set_host_allocator(mock.backend, host_allocate, host_free, &host));
    bool worked = false;
    for (int n = 0; !worked && n < 100; n++) {
        host.left = n;
        cbk_status status = use_everything(&mock);
        worked = status == CBK_OK;
        if (!worked) assert_int_equal(status, CBK_ERROR_OUT_OF_HOST_MEMORY);
        assert_int_equal(host.blocks, 0);
        assert_int_equal(host.bytes, 0);
        assert_int_equal(mock.storages + mock.streams + mock.devices + mock.graphs, 0);
    }
    assert_true(worked);
    cbk_backend_release(&mock.backend);
}

// ---- defaults -----------------------------------------------------------------------------------

static void defaults_are_fixed_by_use(void **state) {
    (void)state;
    struct mock mock;
    mock_init(&mock);
    mock_open(&mock);
    assert_int_equal(cbk_device_default_dtype(mock.device, CBK_DTYPE_F32), CBK_DTYPE_F32);
    assert_int_equal(cbk_device_default_dtype(mock.device, CBK_DTYPE_I64), CBK_DTYPE_I64);
    assert_int_equal(cbk_device_default_dtype(mock.device, CBK_DTYPE_BOOL), CBK_DTYPE_BOOL);
    assert_status(CBK_ERROR_DTYPE, cbk_device_set_defaults(mock.device, CBK_DTYPE_I32, 0, 0));
    assert_status(CBK_ERROR_DTYPE, cbk_device_set_defaults(mock.device, 0, CBK_DTYPE_BOOL, 0));
    assert_ok(cbk_device_set_defaults(mock.device, CBK_DTYPE_F16, CBK_DTYPE_I32, CBK_DTYPE_BOOL32));

    cbk_tensor *x = NULL, *index = NULL, *is_less = NULL;
    const int64_t shape[1] = {3};
    assert_ok(cbk_zeros(mock.stream, 0, 1, shape, &x));
    assert_int_equal(cbk_tensor_dtype(x), CBK_DTYPE_F16);
    assert_ok(cbk_argmax(mock.stream, x, NULL, &index));
    assert_int_equal(cbk_tensor_dtype(index), CBK_DTYPE_I32);
    assert_ok(cbk_less_scalar(mock.stream, x, cbk_f(1), &is_less));
    assert_int_equal(cbk_tensor_dtype(is_less), CBK_DTYPE_BOOL32);
    assert_status(CBK_ERROR_INVALID_STATE,
                  cbk_device_set_defaults(mock.device, CBK_DTYPE_F32, 0, 0));
    cbk_tensor_release(&x);
    cbk_tensor_release(&index);
    cbk_tensor_release(&is_less);
    mock_close(&mock);

    cbk_device_params params = CBK_INIT(cbk_device_params, .default_int = CBK_DTYPE_U8);
    mock_init(&mock);
    assert_ok(cbk_backend_create(&mock.vtable, &mock, &mock.backend));
    assert_ok(cbk_device_open(mock.backend, &params, &mock.device));
    assert_int_equal(cbk_device_default_dtype(mock.device, CBK_DTYPE_I8), CBK_DTYPE_U8);
    cbk_device_release(&mock.device);
    params.default_float = CBK_DTYPE_F8E4M3;
    assert_status(CBK_ERROR_DTYPE, cbk_device_open(mock.backend, &params, &mock.device));
    params.default_float = 0, params.type = 77;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_device_open(mock.backend, &params, &mock.device));
    cbk_backend_release(&mock.backend);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_of_release),
        cmocka_unit_test(retain_and_release),
        cmocka_unit_test(null_handles),
        cmocka_unit_test(wrong_handles),
        cmocka_unit_test(wrong_device),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(vtables_are_checked),
        cmocka_unit_test(optional_slots),
        cmocka_unit_test(nth_host_allocation_fails),
        cmocka_unit_test(defaults_are_fixed_by_use),
    };
    return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
