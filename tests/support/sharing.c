/// sharing.c: the library over the context and queue of a foreign program.
#include "sharing.h"

#include "backend.h"
#include "device.h"
#include "fault.h"
#include "support.h"

struct test_sharing test_sharing;

int test_sharing_open(void **state) {
    cbk_backend_params params = test_backend_params();
    struct test_side own = {0};
    (void)state;
    params.allocate = cbk_fault_allocate;
    params.free = cbk_fault_free;
    cbk_fault_table(&test_sharing.cl);
    cbk_fault_reset();
    assert_ok(cbk_opencl_create_with(&params, &test_sharing.cl, &test_sharing.backend));
    assert_true(test_side_open(&own, "device", test_sharing.backend, true));
    test_sharing.own_device = own.device;
    test_sharing.own_stream = own.stream;
    test_foreign_open(&test_sharing.foreign, test_sharing.own_stream);
    assert_ok(cbk_opencl_open(test_sharing.backend, test_sharing.foreign.context,
                              test_sharing.foreign.queue, NULL, &test_sharing.device,
                              &test_sharing.stream));
    return 0;
}

int test_sharing_close(void **state) {
    (void)state;
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    assert_ok(cbk_sync(test_sharing.stream));
    assert_ok(cbk_memory_usage(test_sharing.device, &info));
    assert_int_equal(info.allocation_count, 0);
    cbk_stream_release(&test_sharing.stream);
    cbk_device_release(&test_sharing.device);
    cbk_stream_release(&test_sharing.own_stream);
    cbk_device_release(&test_sharing.own_device);
    cbk_backend_release(&test_sharing.backend);
    test_foreign_close(&test_sharing.foreign);
    assert_string_equal(cbk_fault_leaks(), "");
    assert_int_equal(cbk_fault_blocks_held(), 0);
    assert_int_equal(cbk_fault_wrong_sizes(), 0);
    return 0;
}

static void count_release(void *user_data) {
    ++*(int *)user_data;
}

cbk_opencl_memory test_whole(cl_mem mem, int64_t count, int *released) {
    return CBK_INIT(cbk_opencl_memory, .dtype = CBK_DTYPE_F32, .rank = 1, .shape = {count},
                    .memory = mem, .release = released ? count_release : NULL,
                    .user_data = released);
}

cbk_tensor *test_wrap(cl_mem mem, int64_t count, int *released) {
    const cbk_opencl_memory memory = test_whole(mem, count, released);
    cbk_tensor *tensor = NULL;
    assert_ok(cbk_opencl_wrap(test_sharing.stream, &memory, &tensor));
    return tensor;
}

void test_raise(cbk_stream *stream, cbk_tensor *x, double value) {
    assert_ok(cbk_add_scalar_into(stream, x, cbk_f(value), x));
}

float test_at(cbk_stream *stream, const cbk_tensor *x, size_t index) {
    float data[TEST_COUNT];
    const size_t count = (size_t)cbk_tensor_element_count(x);
    assert_true(count <= TEST_COUNT);
    assert_ok(cbk_tensor_read(stream, x, data, count * sizeof *data));
    return data[index];
}

void test_release_event(cl_event event) {
    assert_int_equal(test_sharing.cl.clReleaseEvent(event), CL_SUCCESS);
}
