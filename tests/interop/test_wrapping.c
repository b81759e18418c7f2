// test_wrapping.c: cubeback/opencl.h: tensors over a program's own buffers.
#include "sharing.h"
#include "support.h"

#include <string.h>

static void test_wrap_views(void **state) {
    (void)state;
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 0);
    cbk_tensor *x = NULL;
    float data[6];
    // Transposed, from element 5.
    cbk_opencl_memory memory =
        CBK_INIT(cbk_opencl_memory, .dtype = CBK_DTYPE_F32, .rank = 2, .shape = {2, 3},
                 .strides = {1, 4}, .offset_bytes = 5 * sizeof(float), .memory = mem);
    assert_ok(cbk_opencl_wrap(test_sharing.stream, &memory, &x));
    assert_ok(cbk_tensor_read(test_sharing.stream, x, data, sizeof data));
    for (int i = 0; i < 6; i++) assert_true(data[i] == (float)(5 + i / 3 + i % 3 * 4));
    assert_int_equal(cbk_tensor_offset(x), 5);
    assert_int_equal(cbk_tensor_is_contiguous(x), 0);
    test_raise(test_sharing.stream, x, 100);
    cbk_tensor_release(&x);
    assert_true(test_foreign_at(test_sharing.foreign.queue, mem, 4) == 4);
    assert_true(test_foreign_at(test_sharing.foreign.queue, mem, 5) == 105);
    assert_true(test_foreign_at(test_sharing.foreign.queue, mem, 14) == 114);
    // Backwards over all of it.
    memory = CBK_INIT(cbk_opencl_memory, .rank = 1, .shape = {TEST_COUNT}, .strides = {-1},
                      .offset_bytes = (TEST_COUNT - 1) * sizeof(float), .memory = mem);
    assert_ok(cbk_opencl_wrap(test_sharing.stream, &memory, &x));
    assert_int_equal(cbk_tensor_dtype(x), CBK_DTYPE_F32);
    assert_true(test_at(test_sharing.stream, x, 0) == TEST_COUNT - 1 &&
                test_at(test_sharing.stream, x, TEST_COUNT - 1) == 0);
    cbk_tensor_release(&x);
    // Broadcast: can be read, not written.
    memory = CBK_INIT(cbk_opencl_memory, .dtype = CBK_DTYPE_F32, .rank = 2, .shape = {4, 2},
                      .strides = {0, 1}, .memory = mem);
    assert_ok(cbk_opencl_wrap(test_sharing.stream, &memory, &x));
    assert_true(test_at(test_sharing.stream, x, 7) == 1);
    assert_status(CBK_ERROR_ALIASING, cbk_add_scalar_into(test_sharing.stream, x, cbk_f(1), x));
    cbk_tensor_release(&x);
    // No elements, and one.
    memory = CBK_INIT(cbk_opencl_memory, .dtype = CBK_DTYPE_I64, .rank = 2, .shape = {0, 99},
                      .memory = mem);
    assert_ok(cbk_opencl_wrap(test_sharing.stream, &memory, &x));
    assert_int_equal(cbk_tensor_element_count(x), 0);
    cbk_tensor_release(&x);
    memory = CBK_INIT(cbk_opencl_memory, .dtype = CBK_DTYPE_F32, .memory = mem,
                      .offset_bytes = 3 * sizeof(float));
    assert_ok(cbk_opencl_wrap(test_sharing.stream, &memory, &x));
    assert_true(test_at(test_sharing.stream, x, 0) == 3);
    cbk_tensor_release(&x);
    assert_ok(cbk_sync(test_sharing.stream));
    clReleaseMemObject(mem);
}

static void test_wrap_refused(void **state) {
    (void)state;
    int released = 0;
    cbk_tensor *x = NULL;
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 0);
    cl_uint references = 0;
    const struct {
        cbk_status status;
        cbk_dtype dtype;
        uint32_t rank, flags;
        int64_t shape[3], strides[3];
        uint64_t offset_bytes;
    } cases[] = {
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, 1, 0, {TEST_COUNT + 1}, {0}, 0},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F64, 1, 0, {TEST_COUNT / 2 + 1}, {0}, 0},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, 1, 0, {TEST_COUNT}, {0}, 4},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, 1, 0, {2}, {0}, 2},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, 0, 0, {0}, {0}, 4 * TEST_COUNT},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, 0, 0, {0}, {0}, UINT64_MAX - 3},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, 2, 0, {2, 2}, {-1, 1}, 0},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, 2, 0, {2, 2}, {INT64_MAX, INT64_MIN}, 0},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, 3, 0, {2, 2, 2}, {INT64_MAX, INT64_MAX, 2}, 0},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, 1, 0, {-1}, {0}, 0},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, CBK_MAX_RANK + 1, 0, {1}, {0}, 0},
        {CBK_ERROR_OVERFLOW, CBK_DTYPE_F32, 3, 0, {INT64_MAX, INT64_MAX, 3}, {0}, 0},
        {CBK_ERROR_DTYPE, CBK_DTYPE_BOOL_NATIVE, 1, 0, {1}, {0}, 0},
        {CBK_ERROR_UNSUPPORTED, CBK_DTYPE_QUANT, 1, 0, {1}, {0}, 0},
        {CBK_ERROR_DTYPE, 999, 1, 0, {1}, {0}, 0},
        {CBK_ERROR_INVALID_ARGUMENT, CBK_DTYPE_F32, 1, 1, {1}, {0}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cbk_opencl_memory memory = test_whole(mem, 1, &released);
        memory.dtype = cases[i].dtype;
        memory.rank = cases[i].rank;
        memory.flags = cases[i].flags;
        memcpy(memory.shape, cases[i].shape, sizeof cases[i].shape);
        memcpy(memory.strides, cases[i].strides, sizeof cases[i].strides);
        memory.offset_bytes = cases[i].offset_bytes;
        assert_status(cases[i].status, cbk_opencl_wrap(test_sharing.stream, &memory, &x));
        assert_null(x);
    }
    const cbk_opencl_memory memory = test_whole(mem, 1, &released),
                            none = test_whole(NULL, 1, &released);
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_opencl_wrap(test_sharing.own_stream, &memory, &x));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_wrap(test_sharing.stream, &none, &x));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_wrap(test_sharing.stream, NULL, &x));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_wrap(NULL, &memory, &x));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_wrap(test_sharing.stream, &memory, NULL));
    assert_ok(cbk_sync(test_sharing.stream));
    clGetMemObjectInfo(mem, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL);
    assert_int_equal(references, 1);
    assert_int_equal(released, 0); // a failed call leaves the memory with the caller
    clReleaseMemObject(mem);
}

static void test_release_waits_for_work(void **state) {
    (void)state;
    int released = 0;
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 0);
    cbk_tensor *x = test_wrap(mem, TEST_COUNT, &released), *view = NULL, *y = NULL;
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    clReleaseMemObject(mem); // the tensor holds it
    assert_ok(cbk_memory_usage(test_sharing.device, &info));
    assert_int_equal(info.allocation_count, 0);
    assert_ok(cbk_unsqueeze(test_sharing.stream, x, 1, (const int32_t[]){0}, &view));
    cl_event gate = test_foreign_hold(&test_sharing.foreign, test_sharing.foreign.queue);
    cbk_tensor_release(&x);
    assert_ok(cbk_add_scalar(test_sharing.stream, view, cbk_f(1), &y));
    cbk_tensor_release(&view);
    assert_int_equal(released, 0);
    assert_ok(cbk_flush(test_sharing.stream));
    assert_int_equal(released, 0);
    test_foreign_pass(&gate);
    assert_ok(cbk_sync(test_sharing.stream));
    assert_int_equal(released, 1);
    assert_true(test_at(test_sharing.stream, y, 1) == 2);
    cbk_tensor_release(&y);
    assert_int_equal(released, 1);
}

static void test_release_at_once(void **state) {
    (void)state;
    int released = 0;
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 0);
    cbk_tensor *x = test_wrap(mem, TEST_COUNT, &released);
    test_raise(test_sharing.stream, x, 1);
    assert_true(test_at(test_sharing.stream, x, 0) == 1); // waits: nothing runs any more
    assert_int_equal(released, 0);
    cbk_tensor_release(&x);
    assert_int_equal(released, 1);
    assert_ok(cbk_sync(test_sharing.stream));
    assert_int_equal(released, 1);
    clReleaseMemObject(mem);
}

static void test_release_by_flushes(void **state) {
    (void)state;
    int released = 0;
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 0);
    cbk_tensor *x = test_wrap(mem, TEST_COUNT, &released);
    test_raise(test_sharing.stream, x, 1);
    cbk_tensor_release(&x);
    assert_ok(cbk_flush(test_sharing.stream));
    clFinish(test_sharing.foreign.queue);
    assert_ok(cbk_flush(test_sharing.stream));
    assert_int_equal(released, 1);
    clReleaseMemObject(mem);
}

/// A user in another stream counts too.
static void test_release_of_crossed(void **state) {
    (void)state;
    int released = 0;
    cl_int code = CL_SUCCESS;
    cbk_stream *other = NULL;
    cbk_tensor *y = NULL;
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 0);
    cbk_tensor *x = test_wrap(mem, TEST_COUNT, &released);
    cl_command_queue queue =
        clCreateCommandQueue(test_sharing.foreign.context, test_sharing.foreign.id, 0, &code);
    assert_ok(cbk_opencl_stream(test_sharing.device, queue, &other));
    cl_event gate = test_foreign_hold(&test_sharing.foreign, queue);
    assert_ok(cbk_add_scalar(other, x, cbk_f(1), &y));
    cbk_tensor_release(&x);
    assert_ok(cbk_sync(test_sharing.stream));
    assert_int_equal(released, 0);
    test_foreign_pass(&gate);
    assert_true(test_at(other, y, 2) == 3);
    assert_int_equal(released, 1);
    cbk_tensor_release(&y);
    cbk_stream_release(&other);
    clReleaseCommandQueue(queue);
    clReleaseMemObject(mem);
}

static cbk_status add_one(cbk_stream *stream, void *x) {
    return cbk_add_scalar_into(stream, x, cbk_f(1), x);
}

/// A graph holds what it uses, and replays on it.
static void test_release_by_graph(void **state) {
    (void)state;
    int released = 0;
    cbk_graph *graph = NULL;
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 0);
    cbk_tensor *x = test_wrap(mem, TEST_COUNT, &released), *y = NULL;
    assert_ok(cbk_graph_capture(test_sharing.stream, add_one, x, &graph));
    cbk_tensor_release(&x);
    assert_ok(cbk_graph_replay(graph));
    assert_ok(cbk_graph_replay(graph));
    assert_true(test_foreign_at(test_sharing.foreign.queue, mem, 0) ==
                3); // one run was the warm-up
    assert_ok(cbk_sync(test_sharing.stream));
    assert_int_equal(released, 0);
    cbk_graph_release(&graph);
    assert_ok(cbk_sync(test_sharing.stream));
    assert_int_equal(released, 1);
    // Nothing is shared in a capture.
    const cbk_opencl_memory memory = test_whole(mem, 1, &released);
    cl_event event = NULL;
    assert_ok(cbk_graph_prepare(test_sharing.stream));
    assert_ok(cbk_graph_start_capture(test_sharing.stream));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_opencl_wrap(test_sharing.stream, &memory, &y));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_opencl_event(test_sharing.stream, &event));
    assert_ok(cbk_graph_abort(test_sharing.stream));
    clReleaseMemObject(mem);
}

static void test_release_at_close(void **state) {
    (void)state;
    int released = 0;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL;
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 0);
    const cbk_opencl_memory memory = test_whole(mem, TEST_COUNT, &released);
    assert_ok(cbk_opencl_open(test_sharing.backend, test_sharing.foreign.context,
                              test_sharing.foreign.queue, NULL, &device, &stream));
    assert_ok(cbk_opencl_wrap(stream, &memory, &x));
    test_raise(stream, x, 5);
    cbk_stream_release(&stream);
    cbk_device_release(&device); // the tensor keeps the device
    cbk_tensor_release(&x);      // the last handle: all of it goes
    assert_int_equal(released, 1);
    assert_true(test_foreign_at(test_sharing.foreign.queue, mem, 0) == 5);
    clReleaseMemObject(mem);
}

/// What the caller has in the queue comes first for all streams.
static void test_wrap_orders_other_streams(void **state) {
    (void)state;
    cbk_stream *other = NULL;
    cl_mem mem = test_foreign_buffer(&test_sharing.foreign, TEST_COUNT, 1);
    assert_ok(cbk_stream_create(test_sharing.device, NULL, &other));
    cl_event gate = test_foreign_hold(&test_sharing.foreign, test_sharing.foreign.queue);
    test_foreign_scale(&test_sharing.foreign, test_sharing.foreign.queue, mem, 0, TEST_COUNT, 10);
    cbk_tensor *x = test_wrap(mem, TEST_COUNT, NULL);
    test_raise(other, x, 1);
    assert_ok(cbk_flush(other));
    test_foreign_pass(&gate);
    assert_true(test_at(other, x, 1) == 21);
    cbk_tensor_release(&x);
    assert_ok(cbk_sync(test_sharing.stream));
    cbk_stream_release(&other);
    clReleaseMemObject(mem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_SHARING(test_wrap_views),
        TEST_SHARING(test_wrap_refused),
        TEST_SHARING(test_release_waits_for_work),
        TEST_SHARING(test_release_at_once),
        TEST_SHARING(test_release_by_flushes),
        TEST_SHARING(test_release_of_crossed),
        TEST_SHARING(test_release_by_graph),
        TEST_SHARING(test_release_at_close),
        TEST_SHARING(test_wrap_orders_other_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
