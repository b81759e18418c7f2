// test_export.c: cubeback/opencl.h: the library's memory in a program's own kernels, and events both
// ways.
#include "sharing.h"
#include "support.h"

static void test_export(void **state) {
    (void)state;
    const int64_t shape[] = {4, 6};
    float data[TEST_COUNT];
    cbk_tensor *filler = NULL, *x = NULL, *part = NULL, *empty = NULL;
    cl_mem mem = NULL;
    uint64_t offset = 0;
    for (int i = 0; i < TEST_COUNT; i++) data[i] = (float)i;
    assert_ok(cbk_tensor_empty(test_sharing.stream, CBK_DTYPE_F32, 2, shape, &filler));
    assert_ok(
        cbk_tensor_from_data(test_sharing.stream, CBK_DTYPE_F32, 2, shape, data, sizeof data, &x));
    assert_ok(cbk_narrow(test_sharing.stream, x, 0, 2, 2, &part));
    assert_ok(cbk_opencl_export(test_sharing.stream, part, &mem, &offset));
    assert_non_null(mem);
    assert_int_equal(offset % sizeof(float), 0);
    test_foreign_scale(&test_sharing.foreign, test_sharing.foreign.queue, mem,
                       (size_t)(offset / sizeof(float)), 12, 3);
    assert_true(test_at(test_sharing.stream, x, 11) == 11 &&
                test_at(test_sharing.stream, x, 12) == 36);
    const int64_t none[] = {0};
    assert_ok(cbk_tensor_empty(test_sharing.stream, CBK_DTYPE_F32, 1, none, &empty));
    offset = 7;
    assert_ok(cbk_opencl_export(test_sharing.stream, empty, &mem, &offset));
    assert_null(mem);
    assert_int_equal(offset, 0);
    cbk_tensor_release(&empty);
    cbk_tensor_release(&part);
    cbk_tensor_release(&x);
    cbk_tensor_release(&filler);
}

/// Work of another stream comes before what the caller enqueues behind the exporting one.
static void test_export_orders(void **state) {
    (void)state;
    cbk_stream *other = NULL;
    cbk_tensor *x = NULL;
    cl_command_queue queue = NULL;
    cl_mem mem = NULL;
    uint64_t offset = 0;
    const int64_t shape[] = {TEST_COUNT};
    float data[TEST_COUNT] = {1, 2, 3};
    assert_ok(cbk_stream_create(test_sharing.device, NULL, &other));
    assert_ok(cbk_opencl_objects(other, NULL, NULL, &queue));
    assert_ok(cbk_tensor_from_data(other, CBK_DTYPE_F32, 1, shape, data, sizeof data, &x));
    cl_event gate = test_foreign_hold(&test_sharing.foreign, queue);
    test_raise(other, x, 1);
    assert_ok(cbk_opencl_export(test_sharing.stream, x, &mem, &offset));
    test_foreign_scale(&test_sharing.foreign, test_sharing.foreign.queue, mem,
                       (size_t)(offset / sizeof(float)), TEST_COUNT, 10);
    test_raise(other, x, 5); // waits for what was enqueued
    test_foreign_pass(&gate);
    assert_true(test_at(other, x, 2) == 45);
    cbk_tensor_release(&x);
    cbk_stream_release(&other);
}

static void test_event_in(void **state) {
    (void)state;
    cl_int code = CL_SUCCESS;
    uint32_t done = 1;
    cbk_event *point = NULL;
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 1);
    cbk_tensor *x = test_wrap(mem, TEST_COUNT, NULL);
    cl_event gate = clCreateUserEvent(test_sharing.foreign.context, &code);
    assert_ok(cbk_opencl_wait(test_sharing.stream, gate));
    test_raise(test_sharing.stream, x, 1);
    assert_ok(cbk_event_record(test_sharing.stream, &point));
    assert_ok(cbk_event_query(point, &done));
    assert_int_equal(done, 0);
    test_foreign_pass(&gate);
    assert_ok(cbk_event_wait(point));
    assert_true(test_at(test_sharing.stream, x, 0) == 2);
    cbk_event_release(&point);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_wait(test_sharing.stream, NULL));
    gate = clCreateUserEvent(test_sharing.foreign.context, &code);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_wait(test_sharing.own_stream, gate));
    test_foreign_pass(&gate);
    cbk_tensor_release(&x);
    clReleaseMemObject(mem);
}

static void test_event_out(void **state) {
    (void)state;
    cl_int code = CL_SUCCESS;
    cl_event event = NULL;
    cl_int running = 0;
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 1);
    cbk_tensor *x = test_wrap(mem, TEST_COUNT, NULL);
    cl_command_queue queue =
        clCreateCommandQueue(test_sharing.foreign.context, test_sharing.foreign.id, 0, &code);
    cl_event gate = test_foreign_hold(&test_sharing.foreign, test_sharing.foreign.queue);
    test_raise(test_sharing.stream, x, 1);
    assert_ok(cbk_opencl_event(test_sharing.stream, &event));
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof running, &running, NULL);
    assert_true(running > CL_COMPLETE);
    assert_int_equal(clEnqueueBarrierWithWaitList(queue, 1, &event, NULL), CL_SUCCESS);
    test_foreign_scale(&test_sharing.foreign, queue, mem, 0, TEST_COUNT, 10);
    test_foreign_pass(&gate);
    assert_true(test_foreign_at(queue, mem, 0) == 20);
    test_release_event(event);
    // Without any work of the library there is one too.
    assert_ok(cbk_sync(test_sharing.stream));
    assert_ok(cbk_opencl_event(test_sharing.stream, &event));
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    test_release_event(event);
    cbk_tensor_release(&x);
    clReleaseCommandQueue(queue);
    clReleaseMemObject(mem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_SHARING(test_export),
        TEST_SHARING(test_export_orders),
        TEST_SHARING(test_event_in),
        TEST_SHARING(test_event_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
