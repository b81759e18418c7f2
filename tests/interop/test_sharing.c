// test_sharing.c: cubeback/opencl.h: devices and streams over a program's own context and queue, and
// what happens when calls fail.
#include "backend.h"
#include "device.h"
#include "fault.h"
#include "sharing.h"
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

// ---- references --------------------------------------------------------------------------------

static cl_uint context_references(void) {
    cl_uint count = 0;
    clGetContextInfo(test_sharing.foreign.context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count,
                     NULL);
    return count;
}

static cl_uint queue_references(cl_command_queue queue) {
    cl_uint count = 0;
    clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL);
    return count;
}

/// References without those that a driver's threads may hold for a moment after work is done.
static void settled_references(cl_uint *out_contexts, cl_uint *out_queues) {
    *out_contexts = context_references();
    *out_queues = queue_references(test_sharing.foreign.queue);
    for (int tries = 0; tries < 20; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        const cl_uint contexts = context_references(),
                      queues = queue_references(test_sharing.foreign.queue);
        if (contexts < *out_contexts) *out_contexts = contexts;
        if (queues < *out_queues) *out_queues = queues;
    }
}

/// Fails unless the counts come back to these.
static void await_references(cl_uint contexts, cl_uint queues) {
    for (int tries = 0; tries < 2000; tries++) {
        if (context_references() == contexts &&
            queue_references(test_sharing.foreign.queue) == queues)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(context_references(), contexts);
    assert_int_equal(queue_references(test_sharing.foreign.queue), queues);
}
// ---- context and queue -------------------------------------------------------------------------

static void test_order_both_ways(void **state) {
    (void)state;
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 1); // 1 2 3 ...
    cbk_tensor *x = test_wrap(mem, TEST_COUNT, NULL);
    cl_event gate = test_foreign_hold(&test_sharing.foreign, test_sharing.foreign.queue);
    test_foreign_scale(&test_sharing.foreign, test_sharing.foreign.queue, mem, 0, TEST_COUNT, 10);
    test_raise(test_sharing.stream, x, 1);
    test_foreign_scale(&test_sharing.foreign, test_sharing.foreign.queue, mem, 0, TEST_COUNT, 2);
    test_raise(test_sharing.stream, x, 3);
    test_foreign_pass(&gate);
    assert_true(test_at(test_sharing.stream, x, 0) == (1 * 10 + 1) * 2 + 3);
    test_foreign_scale(&test_sharing.foreign, test_sharing.foreign.queue, mem, 0, TEST_COUNT, 2);
    assert_true(test_foreign_at(test_sharing.foreign.queue, mem, TEST_COUNT - 1) ==
                ((TEST_COUNT * 10 + 1) * 2 + 3) * 2);
    cbk_tensor_release(&x);
    assert_ok(cbk_sync(test_sharing.stream));
    clReleaseMemObject(mem);
}

static void test_objects(void **state) {
    (void)state;
    cl_context context = NULL;
    cl_device_id id = NULL;
    cl_command_queue queue = NULL;
    assert_ok(cbk_opencl_objects(test_sharing.stream, &context, &id, &queue));
    assert_ptr_equal(context, test_sharing.foreign.context);
    assert_ptr_equal(id, test_sharing.foreign.id);
    assert_ptr_equal(queue, test_sharing.foreign.queue);
    assert_ok(cbk_opencl_objects(test_sharing.own_stream, &context, NULL, &queue));
    assert_ptr_not_equal(context, test_sharing.foreign.context);
    assert_non_null(queue);
}

static void test_device_params(void **state) {
    (void)state;
    cbk_device *device = NULL;
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    assert_ok(cbk_opencl_open(
        test_sharing.backend, test_sharing.foreign.context, test_sharing.foreign.queue,
        &CBK_INIT(cbk_device_params, .type = CBK_DEVICE_ACCELERATOR, .index = 77, .name = "none",
                  .seed = 5, .memory_limit_bytes = 123 << 20, .default_int = CBK_DTYPE_I32),
        &device, NULL));
    assert_int_equal(cbk_device_default_dtype(device, CBK_DTYPE_I64), CBK_DTYPE_I32);
    assert_ok(cbk_memory_usage(device, &info));
    assert_int_equal(info.limit_bytes, 123 << 20);
    cbk_device_release(&device);
}

static void test_references(void **state) {
    (void)state;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cl_uint contexts, queues;
    settled_references(&contexts, &queues);
    assert_ok(cbk_opencl_open(test_sharing.backend, test_sharing.foreign.context,
                              test_sharing.foreign.queue, NULL, &device, &stream));
    assert_true(queue_references(test_sharing.foreign.queue) > queues);
    cbk_stream_release(&stream);
    assert_int_equal(queue_references(test_sharing.foreign.queue), queues);
    cbk_device_release(&device);
    await_references(contexts, queues);
}

/// The queue goes back at once; the work goes on, and what the stream made can be used elsewhere.
static void test_stream_ends_at_work(void **state) {
    (void)state;
    cl_int code = CL_SUCCESS;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL, *y = NULL;
    const int64_t shape[] = {TEST_COUNT};
    float data[TEST_COUNT] = {4, 5};
    cl_command_queue queue =
        clCreateCommandQueue(test_sharing.foreign.context, test_sharing.foreign.id, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_ok(cbk_opencl_stream(test_sharing.device, queue, &stream));
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 1, shape, data, sizeof data, &x));
    cl_event gate = test_foreign_hold(&test_sharing.foreign, queue);
    test_raise(stream, x, 1);
    cbk_stream_release(&stream);
    assert_ok(cbk_add_scalar(test_sharing.stream, x, cbk_f(10), &y)); // waits on the device
    cbk_tensor_release(&x);                                           // its home is gone
    assert_ok(cbk_stream_create(test_sharing.device, NULL, &stream));
    cl_command_queue other = NULL;
    assert_ok(cbk_opencl_objects(stream, NULL, NULL, &other));
    assert_ptr_not_equal(other, queue);
    test_foreign_pass(&gate);
    assert_true(test_at(test_sharing.stream, y, 0) == 15 &&
                test_at(test_sharing.stream, y, 1) == 16);
    clReleaseCommandQueue(queue);
    assert_ok(cbk_memory_cleanup(test_sharing.device));
    assert_true(test_at(stream, y, 0) == 15);
    cbk_tensor_release(&y);
    cbk_stream_release(&stream);
}

static void test_queues_refused(void **state) {
    (void)state;
    cl_int code = CL_SUCCESS;
    cl_command_queue own = NULL;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cl_command_queue unordered =
        clCreateCommandQueue(test_sharing.foreign.context, test_sharing.foreign.id,
                             CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (unordered) {
        assert_status(CBK_ERROR_INVALID_ARGUMENT,
                      cbk_opencl_stream(test_sharing.device, unordered, &stream));
        assert_status(CBK_ERROR_INVALID_ARGUMENT,
                      cbk_opencl_open(test_sharing.backend, test_sharing.foreign.context, unordered,
                                      NULL, &device, &stream));
        clReleaseCommandQueue(unordered);
    }
    assert_ok(cbk_opencl_objects(test_sharing.own_stream, NULL, NULL, &own));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_stream(test_sharing.device, own, &stream));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_opencl_stream(test_sharing.device, NULL, &stream));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_opencl_open(test_sharing.backend, test_sharing.foreign.context, own, NULL,
                                  &device, &stream));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_opencl_open(test_sharing.backend, NULL, test_sharing.foreign.queue, NULL,
                                  &device, &stream));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_opencl_open(test_sharing.backend, test_sharing.foreign.context, NULL, NULL,
                                  &device, &stream));
    assert_status(CBK_ERROR_DTYPE,
                  cbk_opencl_open(test_sharing.backend, test_sharing.foreign.context,
                                  test_sharing.foreign.queue,
                                  &CBK_INIT(cbk_device_params, .default_int = CBK_DTYPE_F32),
                                  &device, &stream));
    assert_null(device);
    assert_null(stream);
}

static void count_record(void *user_data, const cbk_profile_record *record) {
    if (record->end_ns >= record->start_ns && record->end_ns > 0) ++*(int *)user_data;
}

// A caller's queue is not changed for another one: it must take times itself.
static void test_profiled_queue(void **state) {
    (void)state;
    cl_int code = CL_SUCCESS;
    int count = 0;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL;
    assert_status(CBK_ERROR_UNSUPPORTED,
                  cbk_profile_begin(test_sharing.stream, count_record, &count));
    cl_command_queue timed = clCreateCommandQueue(
        test_sharing.foreign.context, test_sharing.foreign.id, CL_QUEUE_PROFILING_ENABLE, &code);
    assert_non_null(timed);
    assert_ok(cbk_opencl_stream(test_sharing.device, timed, &stream));
    assert_ok(cbk_fill(stream, CBK_DTYPE_F32, 1, (int64_t[]){TEST_COUNT}, cbk_f(1), &x));
    assert_ok(cbk_profile_begin(stream, count_record, &count));
    test_raise(stream, x, 2);
    assert_ok(cbk_profile_end(stream));
    assert_int_equal(count, 1);
    assert_true(test_at(stream, x, TEST_COUNT - 1) == 3);
    cbk_tensor_release(&x);
    cbk_stream_release(&stream);
    clReleaseCommandQueue(timed);
}

// ---- errors ------------------------------------------------------------------------------------

static void test_other_backends(void **state) {
    (void)state;
    struct test_side reference = {0};
    cbk_backend *backend = NULL;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL, *y = NULL;
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 1);
    const cbk_opencl_memory memory = test_whole(mem, TEST_COUNT, NULL);
    cl_event event = NULL;
    cl_command_queue queue = NULL;
    uint64_t offset = 0;
    assert_ok(cbk_reference_create(NULL, &backend));
    assert_true(test_side_open(&reference, "reference", backend, false));
    assert_ok(cbk_tensor_empty(reference.stream, CBK_DTYPE_F32, 0, NULL, &y));
#define REFUSED(call) assert_status(CBK_ERROR_INVALID_ARGUMENT, call)
    REFUSED(cbk_opencl_open(backend, test_sharing.foreign.context, test_sharing.foreign.queue, NULL,
                            &device, &stream));
    REFUSED(cbk_opencl_stream(reference.device, test_sharing.foreign.queue, &stream));
    REFUSED(cbk_opencl_wrap(reference.stream, &memory, &x));
    REFUSED(cbk_opencl_export(reference.stream, y, &mem, &offset));
    REFUSED(cbk_opencl_export(test_sharing.stream, y, &mem, &offset));
    REFUSED(cbk_opencl_event(reference.stream, &event));
    REFUSED(cbk_opencl_objects(reference.stream, NULL, NULL, &queue));
    REFUSED(cbk_opencl_open(NULL, test_sharing.foreign.context, test_sharing.foreign.queue, NULL,
                            &device, &stream));
    REFUSED(cbk_opencl_open(test_sharing.backend, test_sharing.foreign.context,
                            test_sharing.foreign.queue, NULL, NULL, &stream));
    REFUSED(cbk_opencl_stream(NULL, test_sharing.foreign.queue, &stream));
    REFUSED(cbk_opencl_stream(test_sharing.device, test_sharing.foreign.queue, NULL));
    REFUSED(cbk_opencl_export(test_sharing.stream, NULL, &mem, &offset));
    REFUSED(cbk_opencl_export(test_sharing.stream, y, NULL, &offset));
    REFUSED(cbk_opencl_event(test_sharing.stream, NULL));
    REFUSED(cbk_opencl_objects(NULL, NULL, NULL, &queue));
#undef REFUSED
    cbk_tensor_release(&y);
    test_side_close(&reference);
    clReleaseMemObject(memory.memory);
}

/// A whole visit that needs no kernel.
static cbk_status visit(cl_mem mem, int *released) {
    const cbk_opencl_memory memory = test_whole(mem, TEST_COUNT, released);
    const int64_t shape[] = {TEST_COUNT};
    float data[TEST_COUNT] = {0};
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL, *y = NULL;
    cl_mem exported = NULL;
    cl_event event = NULL;
    uint64_t offset = 0;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_opencl_open(test_sharing.backend, test_sharing.foreign.context,
                           test_sharing.foreign.queue, NULL, &device, &stream));
    RT_TRY(cbk_opencl_wrap(stream, &memory, &x));
    *released = -1; // from here on it is to be called once
    RT_TRY(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 1, shape, data, sizeof data, &y));
    RT_TRY(cbk_opencl_export(stream, y, &exported, &offset));
    RT_TRY(cbk_opencl_event(stream, &event));
    RT_TRY(cbk_opencl_wait(stream, event));
    RT_TRY(cbk_tensor_write(stream, x, data, sizeof data));
    RT_TRY(cbk_tensor_read(stream, x, data, sizeof data));
done:
    if (event) test_release_event(event);
    cbk_stream_release(&stream);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    cbk_device_release(&device);
    return status;
}

static void check_faults(bool of_allocations) {
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 1);
    int done = 0;
    char leaks[128];
    uint64_t failures = 0;
    assert_ok(visit(mem, &done)); // a driver may keep a queue's last command
    cl_uint contexts, queues;
    settled_references(&contexts, &queues);
    const long blocks = cbk_fault_blocks_held();
    snprintf(leaks, sizeof leaks, "%s", cbk_fault_leaks());
    for (uint64_t n = 1; n < 1000; n++) {
        int released = 0;
        if (of_allocations) {
            cbk_fault_plan_allocation(n);
        } else {
            cbk_fault_plan(n, CL_OUT_OF_HOST_MEMORY, NULL);
        }
        const cbk_status status = visit(mem, &released);
        const bool fired =
            of_allocations ? cbk_fault_allocation_fired() : cbk_fault_fired() != NULL;
        if (of_allocations) {
            cbk_fault_plan_allocation(0);
        } else {
            cbk_fault_plan(0, 0, NULL);
        }
        if (status != CBK_OK) failures++;
        assert_int_equal(released, 0); // never made, or exactly once
        await_references(contexts, queues);
        assert_string_equal(cbk_fault_leaks(), leaks);
        assert_int_equal(cbk_fault_blocks_held(), blocks);
        if (!fired) {
            assert_ok(status);
            assert_true(failures > 5);
            clReleaseMemObject(mem);
            return;
        }
    }
    fail_msg("the visit never ended without a fault");
}

static void test_faults(void **state) {
    (void)state;
    check_faults(false);
}

static void test_allocation_faults(void **state) {
    (void)state;
    check_faults(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_SHARING(test_order_both_ways),
        TEST_SHARING(test_objects),
        TEST_SHARING(test_device_params),
        TEST_SHARING(test_references),
        TEST_SHARING(test_stream_ends_at_work),
        TEST_SHARING(test_queues_refused),
        TEST_SHARING(test_profiled_queue),
        TEST_SHARING(test_other_backends),
        TEST_SHARING(test_faults),
        TEST_SHARING(test_allocation_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
