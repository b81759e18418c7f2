// test_slots.c: the public functions that are one slot of the vtable: what they check before, what
// they pass on, what they give back.
#include "mock_backend.h"
#include "support.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/// Letters of the slots called, in order.
static char called[64];

static cbk_status note(char letter) {
    size_t length = strlen(called);
    if (length + 1 < sizeof called) called[length] = letter;
    return CBK_OK;
}

static cbk_status on_stream(void *self, void *stream) {
    (void)self, (void)stream;
    return note('s');
}
static cbk_status on_device(void *self, void *device) {
    (void)self, (void)device;
    return note('d');
}
static cbk_status on_lost(void *self, void *device) {
    (void)self, (void)device;
    return cbk_fail(CBK_ERROR_DEVICE_LOST, 0, "gone");
}
static const char *on_log(void *self, void *device) {
    (void)self, (void)device;
    return "line 1";
}
static cbk_status on_dtype(void *self, void *device, cbk_dtype dtype) {
    (void)self, (void)device;
    return dtype == CBK_DTYPE_F64 ? cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "no f64") : note('t');
}
static cbk_status on_limit(void *self, void *device, uint64_t bytes) {
    (void)self, (void)device;
    return note(bytes == 5 ? 'l' : '?');
}
static cbk_status on_usage(void *self, void *device, cbk_memory_info *out) {
    (void)self, (void)device;
    assert_int_equal(out->struct_size, sizeof *out);
    out->used_bytes = 11, out->peak_bytes = 22;
    return note('u');
}
static cbk_status on_counters(void *self, void *device, cbk_counters *out) {
    (void)self, (void)device;
    out->launches = 33;
    return note('c');
}
static cbk_status on_seed(void *self, void *device, uint64_t seed) {
    (void)self, (void)device;
    return note(seed == 99 ? 'e' : '?');
}
static cbk_status on_staging(void *self, void *device, uint64_t bytes, void **out) {
    (void)self, (void)device;
    *out = malloc(bytes);
    return note('m');
}
static void on_staging_free(void *self, void *device, void *memory) {
    (void)self, (void)device;
    note('f');
    free(memory);
}
static cbk_status on_profile(void *self, void *stream, cbk_profile_function function,
                             void *user_data) {
    (void)self, (void)stream;
    return note(function != NULL && user_data == called ? 'p' : '?');
}
static cbk_status on_copy(void *self, void *from_stream, const cbk_tensor *source, void *to_stream,
                          const cbk_tensor *destination) {
    (void)self;
    assert_ptr_not_equal(cbk_tensor_device(source), cbk_tensor_device(destination));
    assert_non_null(from_stream);
    assert_non_null(to_stream);
    assert_int_equal(cbk_tensor_is_contiguous(source), 1);
    assert_int_equal(cbk_tensor_is_contiguous(destination), 1);
    return note('x');
}

static struct mock mock;

static int open_mock(void **state) {
    (void)state;
    memset(called, 0, sizeof called);
    mock_init(&mock);
    mock.vtable.flush = on_stream;
    mock.vtable.persistent_begin = on_stream;
    mock.vtable.persistent_end = on_stream;
    mock.vtable.profile_begin = on_profile;
    mock.vtable.profile_end = on_stream;
    mock.vtable.memory_cleanup = on_device;
    mock.vtable.device_state = on_device;
    mock.vtable.device_build_log = on_log;
    mock.vtable.supports_dtype = on_dtype;
    mock.vtable.memory_limit = on_limit;
    mock.vtable.memory_usage = on_usage;
    mock.vtable.counters = on_counters;
    mock.vtable.seed = on_seed;
    mock.vtable.staging_alloc = on_staging;
    mock.vtable.staging_free = on_staging_free;
    mock.vtable.copy_device = on_copy;
    mock_open(&mock);
    return 0;
}

static int close_mock(void **state) {
    (void)state;
    mock_close(&mock);
    return mock.destroyed == 1 ? 0 : -1;
}

static void ignore(void *user_data, const cbk_profile_record *record) {
    (void)user_data, (void)record;
}

static void streams(void **state) {
    (void)state;
    assert_ok(cbk_sync(mock.stream));
    assert_int_equal(mock.syncs, 1);
    assert_ok(cbk_flush(mock.stream));
    assert_ok(cbk_persistent_begin(mock.stream));
    assert_ok(cbk_persistent_end(mock.stream));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_profile_begin(mock.stream, NULL, NULL));
    assert_ok(cbk_profile_begin(mock.stream, ignore, called));
    assert_ok(cbk_profile_end(mock.stream));
    assert_string_equal(called, "sssps");
    cbk_stream_params params = CBK_INIT(cbk_stream_params, .flags = 1);
    cbk_stream *stream = NULL;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_stream_create(mock.device, &params, &stream));
    assert_ptr_equal(cbk_stream_device(mock.stream), mock.device);
    assert_null(cbk_stream_device(NULL));
}

static void events(void **state) {
    (void)state;
    cbk_event *event = NULL;
    uint32_t done = 0;
    assert_ok(cbk_event_record(mock.stream, &event));
    assert_int_equal(mock.events, 1);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_event_query(event, NULL));
    assert_ok(cbk_event_query(event, &done));
    assert_int_equal(done, 1);
    assert_ok(cbk_event_wait(event));
    cbk_event *again = cbk_event_retain(event);
    cbk_event_release(&event);
    assert_int_equal(mock.events, 1);
    cbk_event_release(&again);
    assert_int_equal(mock.events, 0);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_event_record(mock.stream, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_event_wait((cbk_event *)mock.stream));
}

static void devices(void **state) {
    (void)state;
    uint32_t count = 9, usage = 9;
    assert_ok(cbk_device_count(mock.backend, CBK_DEVICE_GPU, &count));
    assert_int_equal(count, 0);
    assert_ok(cbk_device_count(mock.backend, CBK_DEVICE_DEFAULT, &count));
    assert_int_equal(count, 1);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_device_count(mock.backend, 9, &count));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_device_count(mock.backend, 0, NULL));

    cbk_device_info info = CBK_INIT(cbk_device_info);
    assert_ok(cbk_device_describe(mock.backend, 0, 0, &info));
    assert_string_equal(info.name, "mock device");
    assert_status(CBK_ERROR_NOT_FOUND, cbk_device_describe(mock.backend, 0, 1, &info));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_device_describe(mock.backend, 0, 0, NULL));
    info.struct_size = offsetof(cbk_device_info, memory_bytes); // an old caller's is no longer
    info.compute_units = 0, info.memory_bytes = 1234;
    assert_ok(cbk_device_get_info(mock.device, &info));
    assert_int_equal(info.compute_units, 7);
    assert_int_equal(info.memory_bytes, 1234);

    assert_ok(cbk_device_state(mock.device));
    assert_ok(cbk_memory_cleanup(mock.device));
    assert_ok(cbk_memory_limit(mock.device, 5));
    assert_ok(cbk_seed(mock.device, 99));
    assert_ok(cbk_supports_dtype(mock.device, CBK_DTYPE_I32));
    assert_string_equal(called, "ddlet");
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_supports_dtype(mock.device, CBK_DTYPE_F64));
    assert_string_equal(cbk_device_build_log(mock.device), "line 1");
    assert_ptr_equal(cbk_device_backend(mock.device), mock.backend);
    assert_ptr_equal(cbk_device_handle(mock.device), &mock);
    assert_null(cbk_device_handle(NULL));

    assert_ok(cbk_dtype_usage(mock.device, CBK_DTYPE_F32, NULL, &usage));
    assert_int_equal(usage, CBK_USAGE_STORAGE | CBK_USAGE_ARITHMETIC);
    assert_ok(cbk_dtype_usage(mock.device, CBK_DTYPE_BOOL_NATIVE, NULL, &usage));
    assert_int_equal(usage, 0);
    assert_status(CBK_ERROR_DTYPE, cbk_dtype_usage(mock.device, 7777, NULL, &usage));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_dtype_usage(mock.device, CBK_DTYPE_QUANT, NULL, &usage));
    const cbk_quant quant = CBK_INIT(cbk_quant, .value = CBK_QUANT_Q8S);
    assert_ok(cbk_dtype_usage(mock.device, CBK_DTYPE_QUANT, &quant, &usage));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_dtype_usage(mock.device, CBK_DTYPE_F32, NULL, NULL));
    assert_int_equal(cbk_device_default_dtype(mock.device, 7777), CBK_DTYPE_NONE);
    cbk_device_params params = CBK_INIT(cbk_device_params, .flags = 4);
    cbk_device *device = NULL;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_device_open(mock.backend, &params, &device));
}

static void lost_device(void **state) {
    (void)state;
    struct mock own;
    mock_init(&own);
    own.vtable.device_state = on_lost;
    mock_open(&own);
    assert_status(CBK_ERROR_DEVICE_LOST, cbk_device_state(own.device));
    assert_string_equal(cbk_last_error_message(), "device_state: gone");
    mock_close(&own);
}

static void memory(void **state) {
    (void)state;
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    cbk_counters counters = CBK_INIT(cbk_counters);
    void *staging = NULL;
    assert_ok(cbk_memory_usage(mock.device, &info));
    assert_int_equal(info.used_bytes, 11);
    assert_int_equal(info.peak_bytes, 22);
    assert_ok(cbk_device_counters(mock.device, &counters));
    assert_int_equal(counters.launches, 33);
    assert_ok(cbk_staging_alloc(mock.device, 8, &staging));
    cbk_staging_free(mock.device, &staging);
    assert_null(staging);
    cbk_staging_free(mock.device, &staging);
    assert_string_equal(called, "ucmf");
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_staging_alloc(mock.device, 0, &staging));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_staging_alloc(mock.device, UINT64_MAX, &staging));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_staging_alloc(mock.device, 8, NULL));
}

static void between_devices(void **state) {
    (void)state;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL, *turned = NULL, *moved = NULL;
    assert_ok(cbk_device_open(mock.backend, NULL, &device));
    assert_ok(cbk_stream_create(device, NULL, &stream));
    assert_ok(cbk_tensor_empty(mock.stream, CBK_DTYPE_F32, 2, (int64_t[]){2, 3}, &x));
    assert_ok(cbk_transpose(mock.stream, x, 0, 1, &turned));
    assert_ok(cbk_tensor_to_device(mock.stream, turned, stream, &moved));
    assert_string_equal(called, "x");
    assert_int_equal(mock.ops[0].opcode, CBK_OP_COPY); // the transposed one is made dense first
    assert_int_equal(cbk_tensor_shape(moved)[0], 3);
    cbk_tensor_release(&x);
    cbk_tensor_release(&turned);
    cbk_tensor_release(&moved);
    cbk_stream_release(&stream);
    long streams_left = mock.streams;
    mock.streams = 0; // the first device's stream outlives the second device
    cbk_device_release(&device);
    mock.streams = streams_left;
}

static void tensors(void **state) {
    (void)state;
    cbk_tensor *x = NULL, *y = NULL;
    void *handle = &mock;
    cbk_tensor_params params = CBK_INIT(cbk_tensor_params, .rank = 2, .shape = {2, 3});
    assert_ok(cbk_tensor_create(mock.stream, &params, &x));
    assert_int_equal(cbk_tensor_dtype(x), CBK_DTYPE_F32);
    assert_int_equal(cbk_tensor_layout(x), 0);
    assert_null(cbk_tensor_quant(x));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_tensor_attach(x, handle));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_attach(x, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_attach(NULL, handle));
    const cbk_quant quant = CBK_INIT(cbk_quant);
    params.quant = &quant;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_create(mock.stream, &params, &y));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_tensor_empty(mock.stream, CBK_DTYPE_F32, 1, NULL, &y));
    params = CBK_INIT(cbk_tensor_params, .rank = 2, .flags = CBK_TENSOR_PITCHED,
                      .shape = {INT64_MAX / 8, 1});
    assert_status(CBK_ERROR_OVERFLOW, cbk_tensor_create(mock.stream, &params, &y));
    assert_null(y);
    // A backend that attaches later: there is nothing to move yet.
    float data[6];
    mock.attach = 0;
    assert_ok(cbk_neg(mock.stream, x, &y));
    assert_null(cbk_tensor_storage(y));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_tensor_read(mock.stream, y, data, sizeof data));
    mock.attach = 1;
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(streams, open_mock, close_mock),
        cmocka_unit_test_setup_teardown(events, open_mock, close_mock),
        cmocka_unit_test_setup_teardown(devices, open_mock, close_mock),
        cmocka_unit_test_setup_teardown(lost_device, open_mock, close_mock),
        cmocka_unit_test_setup_teardown(memory, open_mock, close_mock),
        cmocka_unit_test_setup_teardown(between_devices, open_mock, close_mock),
        cmocka_unit_test_setup_teardown(tensors, open_mock, close_mock),
    };
    return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
