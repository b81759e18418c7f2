// test_create.c: the built-in backends' params: growth, refusals, the host allocator.
#include "support.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef cbk_status (*create_function)(const cbk_backend_params *params, cbk_backend **out);

static create_function creator(void **state) {
    return *(create_function *)*state;
}

/// CBK_OK, or CBK_ERROR_NOT_FOUND where there is no OpenCL platform.
static bool works(create_function create) {
    cbk_backend *backend = NULL;
    const cbk_backend_params params = CBK_INIT(cbk_backend_params, .cache_directory = "");
    cbk_status status = create(&params, &backend);
    cbk_backend_release(&backend);
    if (status != CBK_ERROR_NOT_FOUND) assert_int_equal(status, CBK_OK);
    return status == CBK_OK;
}

static void params_grow(void **state) {
    create_function create = creator(state);
    struct {
        cbk_backend_params params;
        uint64_t later;
    } grown = {CBK_INIT(cbk_backend_params, .cache_directory = ""), 0};
    cbk_backend *backend = NULL;
    if (!works(create)) skip();
    grown.params.struct_size = sizeof grown;
    assert_ok(create(&grown.params, &backend));
    cbk_backend_release(&backend);
    grown.later = 1;
    assert_status(CBK_ERROR_VERSION, create(&grown.params, &backend));
    grown.params.struct_size = 0;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, create(&grown.params, &backend));
    assert_null(backend);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, create(NULL, NULL));
    // A caller from before the cache's members: they are not read.
    grown.params = CBK_INIT(cbk_backend_params, .flags = CBK_NO_ENVIRONMENT,
                            .cache_directory = (const char *)1);
    grown.params.struct_size = offsetof(cbk_backend_params, cache_directory);
    assert_ok(create(&grown.params, &backend));
    cbk_backend_release(&backend);
}

static long blocks;

static void *allocate(void *user_data, size_t size, size_t alignment) {
    assert_ptr_equal(user_data, &blocks);
    assert_true(alignment <= 64 && (alignment & (alignment - 1)) == 0);
    void *memory = aligned_alloc(64, (size + 63) / 64 * 64);
    if (memory != NULL) memset(memory, 0xa5, size); // nobody may count on zeros
    blocks++;
    return memory;
}

static void release(void *user_data, void *memory, size_t size) {
    assert_ptr_equal(user_data, &blocks);
    memset(memory, 0x5a, size);
    blocks--;
    free(memory);
}

/// Everything comes from the caller's allocator and goes back to it.
static void host_allocator(void **state) {
    create_function create = creator(state);
    cbk_backend_params params = CBK_INIT(cbk_backend_params, .cache_directory = "",
                                         .allocate = allocate, .allocator_user_data = &blocks);
    cbk_backend *backend = NULL;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL, *y = NULL;
    uint32_t count = 0;
    if (!works(create)) skip();
    assert_status(CBK_ERROR_INVALID_ARGUMENT, create(&params, &backend));
    params.free = release;
    assert_ok(create(&params, &backend));
    assert_ok(cbk_device_count(backend, CBK_DEVICE_DEFAULT, &count));
    if (count != 0) {
        assert_ok(cbk_device_open(backend, NULL, &device));
        assert_ok(cbk_stream_create(device, NULL, &stream));
        const long before = blocks;
        assert_ok(cbk_ones(stream, CBK_DTYPE_F32, 1, (int64_t[]){5}, &x));
        assert_true(blocks > before);
        assert_ok(cbk_exp(stream, x, &y));
        assert_ok(cbk_sync(stream));
    }
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    cbk_stream_release(&stream);
    cbk_device_release(&device);
    cbk_backend_release(&backend);
    assert_int_equal(blocks, 0);
}

int main(void) {
    static create_function creators[] = {cbk_reference_create, cbk_opencl_create};
    const struct CMUnitTest tests[] = {
        {"params grow: reference", params_grow, NULL, NULL, &creators[0]},
        {"params grow: opencl", params_grow, NULL, NULL, &creators[1]},
        {"host allocator: reference", host_allocator, NULL, NULL, &creators[0]},
        {"host allocator: opencl", host_allocator, NULL, NULL, &creators[1]},
    };
    return cmocka_run_group_tests_name("create", tests, NULL, NULL);
}
