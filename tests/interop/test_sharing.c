// test_sharing.c: cubeback/opencl.h: devices, streams and tensors over a program's own OpenCL
// objects, and the library's memory in that program's kernels.
#include "backend.h"
#include "device.h"
#include "fault.h"
#include "foreign.h"
#include "support.h"

#include <cubeback/ops.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { COUNT = 24 };

/// Of every test: the library over the foreign program's context and queue.
static struct side {
    cbk_backend *backend;
    cbk_device *own_device; ///< on a context of the library's
    cbk_stream *own_stream;
    struct test_foreign foreign;
    cbk_device *device; ///< on the foreign context
    cbk_stream *stream; ///< on the foreign queue
    struct cbk_rt_cl cl;
} side;

static int open_side(void **state) {
    cbk_backend_params params = test_backend_params();
    struct test_side own = {0};
    (void)state;
    params.allocate = cbk_fault_allocate;
    params.free = cbk_fault_free;
    cbk_fault_table(&side.cl);
    cbk_fault_reset();
    assert_ok(cbk_opencl_create_with(&params, &side.cl, &side.backend));
    assert_true(test_side_open(&own, "device", side.backend, true));
    side.own_device = own.device;
    side.own_stream = own.stream;
    test_foreign_open(&side.foreign, side.own_stream);
    assert_ok(cbk_opencl_open(side.backend, side.foreign.context, side.foreign.queue, NULL,
                              &side.device, &side.stream));
    return 0;
}

static int close_side(void **state) {
    (void)state;
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    assert_ok(cbk_sync(side.stream));
    assert_ok(cbk_memory_usage(side.device, &info));
    assert_int_equal(info.allocation_count, 0);
    cbk_stream_release(&side.stream);
    cbk_device_release(&side.device);
    cbk_stream_release(&side.own_stream);
    cbk_device_release(&side.own_device);
    cbk_backend_release(&side.backend);
    test_foreign_close(&side.foreign);
    assert_string_equal(cbk_fault_leaks(), "");
    assert_int_equal(cbk_fault_blocks_held(), 0);
    assert_int_equal(cbk_fault_wrong_sizes(), 0);
    return 0;
}

// ---- small helpers -----------------------------------------------------------------------------

static void count_release(void *user_data) {
    ++*(int *)user_data;
}

static cbk_opencl_memory whole(cl_mem mem, int64_t count, int *released) {
    return CBK_INIT(cbk_opencl_memory, .dtype = CBK_DTYPE_F32, .rank = 1, .shape = {count},
                    .memory = mem, .release = released ? count_release : NULL,
                    .user_data = released);
}

static cbk_tensor *wrap(cl_mem mem, int64_t count, int *released) {
    const cbk_opencl_memory memory = whole(mem, count, released);
    cbk_tensor *tensor = NULL;
    assert_ok(cbk_opencl_wrap(side.stream, &memory, &tensor));
    return tensor;
}

static void add(cbk_stream *stream, cbk_tensor *x, double value) {
    assert_ok(cbk_add_scalar_into(stream, x, cbk_f(value), x));
}

static float at(cbk_stream *stream, const cbk_tensor *x, size_t index) {
    float data[COUNT];
    const size_t count = (size_t)cbk_tensor_element_count(x);
    assert_true(count <= COUNT);
    assert_ok(cbk_tensor_read(stream, x, data, count * sizeof *data));
    return data[index];
}

/// The library's counts what it gave out.
static void release_event(cl_event event) {
    assert_int_equal(side.cl.clReleaseEvent(event), CL_SUCCESS);
}

static cl_uint context_references(void) {
    cl_uint count = 0;
    clGetContextInfo(side.foreign.context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL);
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
    *out_queues = queue_references(side.foreign.queue);
    for (int tries = 0; tries < 20; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        const cl_uint contexts = context_references(),
                      queues = queue_references(side.foreign.queue);
        if (contexts < *out_contexts) *out_contexts = contexts;
        if (queues < *out_queues) *out_queues = queues;
    }
}

/// Fails unless the counts come back to these.
static void await_references(cl_uint contexts, cl_uint queues) {
    for (int tries = 0; tries < 2000; tries++) {
        if (context_references() == contexts && queue_references(side.foreign.queue) == queues)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(context_references(), contexts);
    assert_int_equal(queue_references(side.foreign.queue), queues);
}

// ---- context and queue -------------------------------------------------------------------------

static void test_order_both_ways(void **state) {
    (void)state;
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 1); // 1 2 3 ...
    cbk_tensor *x = wrap(mem, COUNT, NULL);
    cl_event gate = test_foreign_hold(&side.foreign, side.foreign.queue);
    test_foreign_scale(&side.foreign, side.foreign.queue, mem, 0, COUNT, 10);
    add(side.stream, x, 1);
    test_foreign_scale(&side.foreign, side.foreign.queue, mem, 0, COUNT, 2);
    add(side.stream, x, 3);
    test_foreign_pass(&gate);
    assert_true(at(side.stream, x, 0) == (1 * 10 + 1) * 2 + 3);
    test_foreign_scale(&side.foreign, side.foreign.queue, mem, 0, COUNT, 2);
    assert_true(test_foreign_at(side.foreign.queue, mem, COUNT - 1) ==
                ((COUNT * 10 + 1) * 2 + 3) * 2);
    cbk_tensor_release(&x);
    assert_ok(cbk_sync(side.stream));
    clReleaseMemObject(mem);
}

static void test_objects(void **state) {
    (void)state;
    cl_context context = NULL;
    cl_device_id id = NULL;
    cl_command_queue queue = NULL;
    assert_ok(cbk_opencl_objects(side.stream, &context, &id, &queue));
    assert_ptr_equal(context, side.foreign.context);
    assert_ptr_equal(id, side.foreign.id);
    assert_ptr_equal(queue, side.foreign.queue);
    assert_ok(cbk_opencl_objects(side.own_stream, &context, NULL, &queue));
    assert_ptr_not_equal(context, side.foreign.context);
    assert_non_null(queue);
}

static void test_device_params(void **state) {
    (void)state;
    cbk_device *device = NULL;
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    assert_ok(cbk_opencl_open(
        side.backend, side.foreign.context, side.foreign.queue,
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
    assert_ok(cbk_opencl_open(side.backend, side.foreign.context, side.foreign.queue, NULL, &device,
                              &stream));
    assert_true(queue_references(side.foreign.queue) > queues);
    cbk_stream_release(&stream);
    assert_int_equal(queue_references(side.foreign.queue), queues);
    cbk_device_release(&device);
    await_references(contexts, queues);
}

/// The queue goes back at once; the work goes on, and what the stream made can be used elsewhere.
static void test_stream_ends_at_work(void **state) {
    (void)state;
    cl_int code = CL_SUCCESS;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL, *y = NULL;
    const int64_t shape[] = {COUNT};
    float data[COUNT] = {4, 5};
    cl_command_queue queue = clCreateCommandQueue(side.foreign.context, side.foreign.id, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_ok(cbk_opencl_stream(side.device, queue, &stream));
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 1, shape, data, sizeof data, &x));
    cl_event gate = test_foreign_hold(&side.foreign, queue);
    add(stream, x, 1);
    cbk_stream_release(&stream);
    assert_ok(cbk_add_scalar(side.stream, x, cbk_f(10), &y)); // waits on the device
    cbk_tensor_release(&x);                                   // its home is gone
    assert_ok(cbk_stream_create(side.device, NULL, &stream));
    cl_command_queue other = NULL;
    assert_ok(cbk_opencl_objects(stream, NULL, NULL, &other));
    assert_ptr_not_equal(other, queue);
    test_foreign_pass(&gate);
    assert_true(at(side.stream, y, 0) == 15 && at(side.stream, y, 1) == 16);
    clReleaseCommandQueue(queue);
    assert_ok(cbk_memory_cleanup(side.device));
    assert_true(at(stream, y, 0) == 15);
    cbk_tensor_release(&y);
    cbk_stream_release(&stream);
}

static void test_queues_refused(void **state) {
    (void)state;
    cl_int code = CL_SUCCESS;
    cl_command_queue own = NULL;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cl_command_queue unordered = clCreateCommandQueue(
        side.foreign.context, side.foreign.id, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (unordered) {
        assert_status(CBK_ERROR_INVALID_ARGUMENT,
                      cbk_opencl_stream(side.device, unordered, &stream));
        assert_status(
            CBK_ERROR_INVALID_ARGUMENT,
            cbk_opencl_open(side.backend, side.foreign.context, unordered, NULL, &device, &stream));
        clReleaseCommandQueue(unordered);
    }
    assert_ok(cbk_opencl_objects(side.own_stream, NULL, NULL, &own));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_stream(side.device, own, &stream));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_stream(side.device, NULL, &stream));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_opencl_open(side.backend, side.foreign.context, own, NULL, &device, &stream));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_opencl_open(side.backend, NULL, side.foreign.queue, NULL, &device, &stream));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_open(side.backend, side.foreign.context,
                                                              NULL, NULL, &device, &stream));
    assert_status(CBK_ERROR_DTYPE,
                  cbk_opencl_open(side.backend, side.foreign.context, side.foreign.queue,
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
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_profile_begin(side.stream, count_record, &count));
    cl_command_queue timed = clCreateCommandQueue(side.foreign.context, side.foreign.id,
                                                  CL_QUEUE_PROFILING_ENABLE, &code);
    assert_non_null(timed);
    assert_ok(cbk_opencl_stream(side.device, timed, &stream));
    assert_ok(cbk_fill(stream, CBK_DTYPE_F32, 1, (int64_t[]){COUNT}, cbk_f(1), &x));
    assert_ok(cbk_profile_begin(stream, count_record, &count));
    add(stream, x, 2);
    assert_ok(cbk_profile_end(stream));
    assert_int_equal(count, 1);
    assert_true(at(stream, x, COUNT - 1) == 3);
    cbk_tensor_release(&x);
    cbk_stream_release(&stream);
    clReleaseCommandQueue(timed);
}

// ---- wrapping ----------------------------------------------------------------------------------

static void test_wrap_views(void **state) {
    (void)state;
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 0);
    cbk_tensor *x = NULL;
    float data[6];
    // Transposed, from element 5.
    cbk_opencl_memory memory =
        CBK_INIT(cbk_opencl_memory, .dtype = CBK_DTYPE_F32, .rank = 2, .shape = {2, 3},
                 .strides = {1, 4}, .offset_bytes = 5 * sizeof(float), .memory = mem);
    assert_ok(cbk_opencl_wrap(side.stream, &memory, &x));
    assert_ok(cbk_tensor_read(side.stream, x, data, sizeof data));
    for (int i = 0; i < 6; i++) assert_true(data[i] == (float)(5 + i / 3 + i % 3 * 4));
    assert_int_equal(cbk_tensor_offset(x), 5);
    assert_int_equal(cbk_tensor_is_contiguous(x), 0);
    add(side.stream, x, 100);
    cbk_tensor_release(&x);
    assert_true(test_foreign_at(side.foreign.queue, mem, 4) == 4);
    assert_true(test_foreign_at(side.foreign.queue, mem, 5) == 105);
    assert_true(test_foreign_at(side.foreign.queue, mem, 14) == 114);
    // Backwards over all of it.
    memory = CBK_INIT(cbk_opencl_memory, .rank = 1, .shape = {COUNT}, .strides = {-1},
                      .offset_bytes = (COUNT - 1) * sizeof(float), .memory = mem);
    assert_ok(cbk_opencl_wrap(side.stream, &memory, &x));
    assert_int_equal(cbk_tensor_dtype(x), CBK_DTYPE_F32);
    assert_true(at(side.stream, x, 0) == COUNT - 1 && at(side.stream, x, COUNT - 1) == 0);
    cbk_tensor_release(&x);
    // Broadcast: can be read, not written.
    memory = CBK_INIT(cbk_opencl_memory, .dtype = CBK_DTYPE_F32, .rank = 2, .shape = {4, 2},
                      .strides = {0, 1}, .memory = mem);
    assert_ok(cbk_opencl_wrap(side.stream, &memory, &x));
    assert_true(at(side.stream, x, 7) == 1);
    assert_status(CBK_ERROR_ALIASING, cbk_add_scalar_into(side.stream, x, cbk_f(1), x));
    cbk_tensor_release(&x);
    // No elements, and one.
    memory = CBK_INIT(cbk_opencl_memory, .dtype = CBK_DTYPE_I64, .rank = 2, .shape = {0, 99},
                      .memory = mem);
    assert_ok(cbk_opencl_wrap(side.stream, &memory, &x));
    assert_int_equal(cbk_tensor_element_count(x), 0);
    cbk_tensor_release(&x);
    memory = CBK_INIT(cbk_opencl_memory, .dtype = CBK_DTYPE_F32, .memory = mem,
                      .offset_bytes = 3 * sizeof(float));
    assert_ok(cbk_opencl_wrap(side.stream, &memory, &x));
    assert_true(at(side.stream, x, 0) == 3);
    cbk_tensor_release(&x);
    assert_ok(cbk_sync(side.stream));
    clReleaseMemObject(mem);
}

static void test_wrap_refused(void **state) {
    (void)state;
    int released = 0;
    cbk_tensor *x = NULL;
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 0);
    cl_uint references = 0;
    const struct {
        cbk_status status;
        cbk_dtype dtype;
        uint32_t rank, flags;
        int64_t shape[3], strides[3];
        uint64_t offset_bytes;
    } cases[] = {
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, 1, 0, {COUNT + 1}, {0}, 0},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F64, 1, 0, {COUNT / 2 + 1}, {0}, 0},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, 1, 0, {COUNT}, {0}, 4},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, 1, 0, {2}, {0}, 2},
        {CBK_ERROR_SHAPE, CBK_DTYPE_F32, 0, 0, {0}, {0}, 4 * COUNT},
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
        cbk_opencl_memory memory = whole(mem, 1, &released);
        memory.dtype = cases[i].dtype;
        memory.rank = cases[i].rank;
        memory.flags = cases[i].flags;
        memcpy(memory.shape, cases[i].shape, sizeof cases[i].shape);
        memcpy(memory.strides, cases[i].strides, sizeof cases[i].strides);
        memory.offset_bytes = cases[i].offset_bytes;
        assert_status(cases[i].status, cbk_opencl_wrap(side.stream, &memory, &x));
        assert_null(x);
    }
    const cbk_opencl_memory memory = whole(mem, 1, &released), none = whole(NULL, 1, &released);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_wrap(side.own_stream, &memory, &x));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_wrap(side.stream, &none, &x));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_wrap(side.stream, NULL, &x));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_wrap(NULL, &memory, &x));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_wrap(side.stream, &memory, NULL));
    assert_ok(cbk_sync(side.stream));
    clGetMemObjectInfo(mem, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL);
    assert_int_equal(references, 1);
    assert_int_equal(released, 0); // a failed call leaves the memory with the caller
    clReleaseMemObject(mem);
}

static void test_release_waits_for_work(void **state) {
    (void)state;
    int released = 0;
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 0);
    cbk_tensor *x = wrap(mem, COUNT, &released), *view = NULL, *y = NULL;
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    clReleaseMemObject(mem); // the tensor holds it
    assert_ok(cbk_memory_usage(side.device, &info));
    assert_int_equal(info.allocation_count, 0);
    assert_ok(cbk_unsqueeze(side.stream, x, 1, (const int32_t[]){0}, &view));
    cl_event gate = test_foreign_hold(&side.foreign, side.foreign.queue);
    cbk_tensor_release(&x);
    assert_ok(cbk_add_scalar(side.stream, view, cbk_f(1), &y));
    cbk_tensor_release(&view);
    assert_int_equal(released, 0);
    assert_ok(cbk_flush(side.stream));
    assert_int_equal(released, 0);
    test_foreign_pass(&gate);
    assert_ok(cbk_sync(side.stream));
    assert_int_equal(released, 1);
    assert_true(at(side.stream, y, 1) == 2);
    cbk_tensor_release(&y);
    assert_int_equal(released, 1);
}

static void test_release_at_once(void **state) {
    (void)state;
    int released = 0;
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 0);
    cbk_tensor *x = wrap(mem, COUNT, &released);
    add(side.stream, x, 1);
    assert_true(at(side.stream, x, 0) == 1); // waits: nothing runs any more
    assert_int_equal(released, 0);
    cbk_tensor_release(&x);
    assert_int_equal(released, 1);
    assert_ok(cbk_sync(side.stream));
    assert_int_equal(released, 1);
    clReleaseMemObject(mem);
}

static void test_release_by_flushes(void **state) {
    (void)state;
    int released = 0;
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 0);
    cbk_tensor *x = wrap(mem, COUNT, &released);
    add(side.stream, x, 1);
    cbk_tensor_release(&x);
    assert_ok(cbk_flush(side.stream));
    clFinish(side.foreign.queue);
    assert_ok(cbk_flush(side.stream));
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
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 0);
    cbk_tensor *x = wrap(mem, COUNT, &released);
    cl_command_queue queue = clCreateCommandQueue(side.foreign.context, side.foreign.id, 0, &code);
    assert_ok(cbk_opencl_stream(side.device, queue, &other));
    cl_event gate = test_foreign_hold(&side.foreign, queue);
    assert_ok(cbk_add_scalar(other, x, cbk_f(1), &y));
    cbk_tensor_release(&x);
    assert_ok(cbk_sync(side.stream));
    assert_int_equal(released, 0);
    test_foreign_pass(&gate);
    assert_true(at(other, y, 2) == 3);
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
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 0);
    cbk_tensor *x = wrap(mem, COUNT, &released), *y = NULL;
    assert_ok(cbk_graph_capture(side.stream, add_one, x, &graph));
    cbk_tensor_release(&x);
    assert_ok(cbk_graph_replay(graph));
    assert_ok(cbk_graph_replay(graph));
    assert_true(test_foreign_at(side.foreign.queue, mem, 0) == 3); // one run was the warm-up
    assert_ok(cbk_sync(side.stream));
    assert_int_equal(released, 0);
    cbk_graph_release(&graph);
    assert_ok(cbk_sync(side.stream));
    assert_int_equal(released, 1);
    // Nothing is shared in a capture.
    const cbk_opencl_memory memory = whole(mem, 1, &released);
    cl_event event = NULL;
    assert_ok(cbk_graph_prepare(side.stream));
    assert_ok(cbk_graph_start_capture(side.stream));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_opencl_wrap(side.stream, &memory, &y));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_opencl_event(side.stream, &event));
    assert_ok(cbk_graph_abort(side.stream));
    clReleaseMemObject(mem);
}

static void test_release_at_close(void **state) {
    (void)state;
    int released = 0;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL;
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 0);
    const cbk_opencl_memory memory = whole(mem, COUNT, &released);
    assert_ok(cbk_opencl_open(side.backend, side.foreign.context, side.foreign.queue, NULL, &device,
                              &stream));
    assert_ok(cbk_opencl_wrap(stream, &memory, &x));
    add(stream, x, 5);
    cbk_stream_release(&stream);
    cbk_device_release(&device); // the tensor keeps the device
    cbk_tensor_release(&x);      // the last handle: all of it goes
    assert_int_equal(released, 1);
    assert_true(test_foreign_at(side.foreign.queue, mem, 0) == 5);
    clReleaseMemObject(mem);
}

/// What the caller has in the queue comes first for all streams.
static void test_wrap_orders_other_streams(void **state) {
    (void)state;
    cbk_stream *other = NULL;
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 1);
    assert_ok(cbk_stream_create(side.device, NULL, &other));
    cl_event gate = test_foreign_hold(&side.foreign, side.foreign.queue);
    test_foreign_scale(&side.foreign, side.foreign.queue, mem, 0, COUNT, 10);
    cbk_tensor *x = wrap(mem, COUNT, NULL);
    add(other, x, 1);
    assert_ok(cbk_flush(other));
    test_foreign_pass(&gate);
    assert_true(at(other, x, 1) == 21);
    cbk_tensor_release(&x);
    assert_ok(cbk_sync(side.stream));
    cbk_stream_release(&other);
    clReleaseMemObject(mem);
}

// ---- export and events -------------------------------------------------------------------------

static void test_export(void **state) {
    (void)state;
    const int64_t shape[] = {4, 6};
    float data[COUNT];
    cbk_tensor *filler = NULL, *x = NULL, *part = NULL, *empty = NULL;
    cl_mem mem = NULL;
    uint64_t offset = 0;
    for (int i = 0; i < COUNT; i++) data[i] = (float)i;
    assert_ok(cbk_tensor_empty(side.stream, CBK_DTYPE_F32, 2, shape, &filler));
    assert_ok(cbk_tensor_from_data(side.stream, CBK_DTYPE_F32, 2, shape, data, sizeof data, &x));
    assert_ok(cbk_narrow(side.stream, x, 0, 2, 2, &part));
    assert_ok(cbk_opencl_export(side.stream, part, &mem, &offset));
    assert_non_null(mem);
    assert_int_equal(offset % sizeof(float), 0);
    test_foreign_scale(&side.foreign, side.foreign.queue, mem, (size_t)(offset / sizeof(float)), 12,
                       3);
    assert_true(at(side.stream, x, 11) == 11 && at(side.stream, x, 12) == 36);
    const int64_t none[] = {0};
    assert_ok(cbk_tensor_empty(side.stream, CBK_DTYPE_F32, 1, none, &empty));
    offset = 7;
    assert_ok(cbk_opencl_export(side.stream, empty, &mem, &offset));
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
    const int64_t shape[] = {COUNT};
    float data[COUNT] = {1, 2, 3};
    assert_ok(cbk_stream_create(side.device, NULL, &other));
    assert_ok(cbk_opencl_objects(other, NULL, NULL, &queue));
    assert_ok(cbk_tensor_from_data(other, CBK_DTYPE_F32, 1, shape, data, sizeof data, &x));
    cl_event gate = test_foreign_hold(&side.foreign, queue);
    add(other, x, 1);
    assert_ok(cbk_opencl_export(side.stream, x, &mem, &offset));
    test_foreign_scale(&side.foreign, side.foreign.queue, mem, (size_t)(offset / sizeof(float)),
                       COUNT, 10);
    add(other, x, 5); // waits for what was enqueued
    test_foreign_pass(&gate);
    assert_true(at(other, x, 2) == 45);
    cbk_tensor_release(&x);
    cbk_stream_release(&other);
}

static void test_event_in(void **state) {
    (void)state;
    cl_int code = CL_SUCCESS;
    uint32_t done = 1;
    cbk_event *point = NULL;
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 1);
    cbk_tensor *x = wrap(mem, COUNT, NULL);
    cl_event gate = clCreateUserEvent(side.foreign.context, &code);
    assert_ok(cbk_opencl_wait(side.stream, gate));
    add(side.stream, x, 1);
    assert_ok(cbk_event_record(side.stream, &point));
    assert_ok(cbk_event_query(point, &done));
    assert_int_equal(done, 0);
    test_foreign_pass(&gate);
    assert_ok(cbk_event_wait(point));
    assert_true(at(side.stream, x, 0) == 2);
    cbk_event_release(&point);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_wait(side.stream, NULL));
    gate = clCreateUserEvent(side.foreign.context, &code);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_opencl_wait(side.own_stream, gate));
    test_foreign_pass(&gate);
    cbk_tensor_release(&x);
    clReleaseMemObject(mem);
}

static void test_event_out(void **state) {
    (void)state;
    cl_int code = CL_SUCCESS;
    cl_event event = NULL;
    cl_int running = 0;
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 1);
    cbk_tensor *x = wrap(mem, COUNT, NULL);
    cl_command_queue queue = clCreateCommandQueue(side.foreign.context, side.foreign.id, 0, &code);
    cl_event gate = test_foreign_hold(&side.foreign, side.foreign.queue);
    add(side.stream, x, 1);
    assert_ok(cbk_opencl_event(side.stream, &event));
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof running, &running, NULL);
    assert_true(running > CL_COMPLETE);
    assert_int_equal(clEnqueueBarrierWithWaitList(queue, 1, &event, NULL), CL_SUCCESS);
    test_foreign_scale(&side.foreign, queue, mem, 0, COUNT, 10);
    test_foreign_pass(&gate);
    assert_true(test_foreign_at(queue, mem, 0) == 20);
    release_event(event);
    // Without any work of the library there is one too.
    assert_ok(cbk_sync(side.stream));
    assert_ok(cbk_opencl_event(side.stream, &event));
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    release_event(event);
    cbk_tensor_release(&x);
    clReleaseCommandQueue(queue);
    clReleaseMemObject(mem);
}

// ---- errors ------------------------------------------------------------------------------------

static void test_other_backends(void **state) {
    (void)state;
    struct test_side reference = {0};
    cbk_backend *backend = NULL;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL, *y = NULL;
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 1);
    const cbk_opencl_memory memory = whole(mem, COUNT, NULL);
    cl_event event = NULL;
    cl_command_queue queue = NULL;
    uint64_t offset = 0;
    assert_ok(cbk_reference_create(NULL, &backend));
    assert_true(test_side_open(&reference, "reference", backend, false));
    assert_ok(cbk_tensor_empty(reference.stream, CBK_DTYPE_F32, 0, NULL, &y));
#define REFUSED(call) assert_status(CBK_ERROR_INVALID_ARGUMENT, call)
    REFUSED(
        cbk_opencl_open(backend, side.foreign.context, side.foreign.queue, NULL, &device, &stream));
    REFUSED(cbk_opencl_stream(reference.device, side.foreign.queue, &stream));
    REFUSED(cbk_opencl_wrap(reference.stream, &memory, &x));
    REFUSED(cbk_opencl_export(reference.stream, y, &mem, &offset));
    REFUSED(cbk_opencl_export(side.stream, y, &mem, &offset));
    REFUSED(cbk_opencl_event(reference.stream, &event));
    REFUSED(cbk_opencl_objects(reference.stream, NULL, NULL, &queue));
    REFUSED(
        cbk_opencl_open(NULL, side.foreign.context, side.foreign.queue, NULL, &device, &stream));
    REFUSED(cbk_opencl_open(side.backend, side.foreign.context, side.foreign.queue, NULL, NULL,
                            &stream));
    REFUSED(cbk_opencl_stream(NULL, side.foreign.queue, &stream));
    REFUSED(cbk_opencl_stream(side.device, side.foreign.queue, NULL));
    REFUSED(cbk_opencl_export(side.stream, NULL, &mem, &offset));
    REFUSED(cbk_opencl_export(side.stream, y, NULL, &offset));
    REFUSED(cbk_opencl_event(side.stream, NULL));
    REFUSED(cbk_opencl_objects(NULL, NULL, NULL, &queue));
#undef REFUSED
    cbk_tensor_release(&y);
    test_side_close(&reference);
    clReleaseMemObject(memory.memory);
}

/// A whole visit that needs no kernel.
static cbk_status visit(cl_mem mem, int *released) {
    const cbk_opencl_memory memory = whole(mem, COUNT, released);
    const int64_t shape[] = {COUNT};
    float data[COUNT] = {0};
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL, *y = NULL;
    cl_mem exported = NULL;
    cl_event event = NULL;
    uint64_t offset = 0;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_opencl_open(side.backend, side.foreign.context, side.foreign.queue, NULL, &device,
                           &stream));
    RT_TRY(cbk_opencl_wrap(stream, &memory, &x));
    *released = -1; // from here on it is to be called once
    RT_TRY(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 1, shape, data, sizeof data, &y));
    RT_TRY(cbk_opencl_export(stream, y, &exported, &offset));
    RT_TRY(cbk_opencl_event(stream, &event));
    RT_TRY(cbk_opencl_wait(stream, event));
    RT_TRY(cbk_tensor_write(stream, x, data, sizeof data));
    RT_TRY(cbk_tensor_read(stream, x, data, sizeof data));
done:
    if (event) release_event(event);
    cbk_stream_release(&stream);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    cbk_device_release(&device);
    return status;
}

static void check_faults(bool of_allocations) {
    cl_mem mem = test_foreign_buffer(&side.foreign, COUNT, 1);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_side, close_side)
        TEST(test_order_both_ways),
        TEST(test_objects),
        TEST(test_device_params),
        TEST(test_references),
        TEST(test_stream_ends_at_work),
        TEST(test_queues_refused),
        TEST(test_profiled_queue),
        TEST(test_wrap_views),
        TEST(test_wrap_refused),
        TEST(test_release_waits_for_work),
        TEST(test_release_at_once),
        TEST(test_release_by_flushes),
        TEST(test_release_of_crossed),
        TEST(test_release_by_graph),
        TEST(test_release_at_close),
        TEST(test_wrap_orders_other_streams),
        TEST(test_export),
        TEST(test_export_orders),
        TEST(test_event_in),
        TEST(test_event_out),
        TEST(test_other_backends),
        TEST(test_faults),
        TEST(test_allocation_faults),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
