/// test_device.c: which devices are found and opened; drivers that are broken; two devices; fork.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"
#include "internal.h"
#include "runtime_side.h"
#include "small_kernels.h"
#include "support.h"

static struct cbk_rt *create(const struct cbk_rt_cl *table) {
    struct cbk_rt *rt = NULL;
    const cbk_backend_params params = test_runtime_params("");
    assert_ok(cbk_rt_create(&params, table, &rt));
    return rt;
}

static void devices_are_listed_by_type(void **state) {
    (void)state;
    struct cbk_rt *rt = create(NULL);
    uint32_t all = 0, sum = 0;
    assert_ok(cbk_rt_device_count(rt, CBK_DEVICE_DEFAULT, &all));
    assert_true(all > 0);
    uint32_t previous_type = CBK_DEVICE_GPU;
    for (uint32_t type = CBK_DEVICE_GPU; type <= CBK_DEVICE_ACCELERATOR; type++) {
        uint32_t count = 0;
        assert_ok(cbk_rt_device_count(rt, type, &count));
        for (uint32_t i = 0; i < count; i++) {
            cbk_device_info info = CBK_INIT(cbk_device_info);
            assert_ok(cbk_rt_device_describe(rt, type, i, &info));
            assert_int_equal(info.struct_size, sizeof info);
            assert_int_equal(info.type, type);
            assert_int_equal(info.index, i);
            assert_true(info.name[0] && info.platform[0] && info.version[0]);
            assert_true(info.compute_units > 0 && info.memory_bytes > 0);
        }
        sum += count;
    }
    assert_int_equal(sum, all);
    for (uint32_t i = 0; i < all; i++) {
        cbk_device_info info = CBK_INIT(cbk_device_info);
        assert_ok(cbk_rt_device_describe(rt, CBK_DEVICE_DEFAULT, i, &info));
        const bool is_after = info.type == previous_type || previous_type == CBK_DEVICE_GPU ||
                              info.type == CBK_DEVICE_CPU;
        assert_true(is_after);
        previous_type = info.type;
    }
    cbk_device_info info = CBK_INIT(cbk_device_info);
    assert_status(CBK_ERROR_NOT_FOUND, cbk_rt_device_describe(rt, CBK_DEVICE_DEFAULT, all, &info));
    cbk_rt_destroy(&rt);
}

static void a_part_of_the_name_is_enough(void **state) {
    (void)state;
    struct cbk_rt *rt = create(NULL);
    struct cbk_rt_device *device = NULL;
    cbk_device_info info = CBK_INIT(cbk_device_info);
    assert_ok(cbk_rt_device_open(rt, &CBK_INIT(cbk_device_params, .name = "pORTABLE cOMPUTING"),
                                 &device));
    assert_ok(cbk_rt_device_info(device, &info));
    assert_string_equal(info.platform, "Portable Computing Language");
    assert_true(cbk_rt_device_caps(device)->is_pocl);
    assert_true(cbk_rt_device_caps(device)->is_cpu);
    assert_true(cbk_rt_device_caps(device)->float_lanes >= 4);
    assert_ptr_equal(cbk_rt_device_process(device), rt);
    cbk_rt_device_close(&device);
    assert_status(
        CBK_ERROR_NOT_FOUND,
        cbk_rt_device_open(rt, &CBK_INIT(cbk_device_params, .name = "no such device"), &device));
    assert_non_null(strstr(cbk_last_error_message(), "no such device"));
    assert_null(device);
    assert_status(CBK_ERROR_NOT_FOUND,
                  cbk_rt_device_open(
                      rt, &CBK_INIT(cbk_device_params, .type = CBK_DEVICE_ACCELERATOR), &device));
    cbk_rt_destroy(&rt);
}

static void flags_choose_the_kernels(void **state) {
    (void)state;
    static const struct {
        uint32_t flags;
        bool is_cpu;
    } cases[] = {{CBK_GPU_KERNELS, false}, {CBK_CPU_KERNELS, true}};
    for (size_t i = 0; i < 2; i++) {
        struct cbk_rt *rt = NULL;
        struct cbk_rt_device *device = NULL;
        cbk_backend_params params = test_runtime_params("");
        params.flags |= cases[i].flags;
        assert_ok(cbk_rt_create(&params, NULL, &rt));
        assert_int_equal(cbk_rt_flags(rt), params.flags);
        assert_ok(cbk_rt_device_open(rt, &CBK_INIT(cbk_device_params), &device));
        assert_int_equal(cbk_rt_device_caps(device)->is_cpu, cases[i].is_cpu);
        if (!cases[i].is_cpu) assert_int_equal(cbk_rt_device_caps(device)->float_lanes, 4);
        cbk_rt_device_close(&device);
        cbk_rt_destroy(&rt);
    }
}

static void half_an_allocator_is_refused(void **state) {
    (void)state;
    struct cbk_rt *rt = NULL;
    cbk_backend_params params = test_runtime_params("");
    params.allocate = cbk_fault_allocate;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_rt_create(&params, NULL, &rt));
    assert_null(rt);
}

// ---- broken drivers --------------------------------------------------------------------------------

static struct cbk_rt_cl real;
static char lines[4][1024];
static int line_count;

static void keep_line(void *user_data, uint32_t level, const char *line) {
    (void)user_data;
    (void)level;
    if (line_count < 4) strncpy(lines[line_count++], line, sizeof lines[0] - 1);
}

/// A platform more than there is, whose every call fails.
static cl_int CL_API_CALL one_more_platform(cl_uint count, cl_platform_id *ids,
                                            cl_uint *out_count) {
    const cl_int code = real.clGetPlatformIDs(count - 1, ids + 1, out_count);
    ids[0] = (cl_platform_id)&lines;
    ++*out_count;
    return code;
}

static cl_int CL_API_CALL broken_platform_info(cl_platform_id id, cl_platform_info what,
                                               size_t size, void *out, size_t *out_size) {
    if (id == (cl_platform_id)&lines) return CL_INVALID_PLATFORM;
    return real.clGetPlatformInfo(id, what, size, out, out_size);
}

static cl_int CL_API_CALL broken_device_ids(cl_platform_id id, cl_device_type type, cl_uint count,
                                            cl_device_id *ids, cl_uint *out_count) {
    if (id == (cl_platform_id)&lines) return CL_OUT_OF_HOST_MEMORY;
    return real.clGetDeviceIDs(id, type, count, ids, out_count);
}

static cl_int CL_API_CALL no_platform(cl_uint count, cl_platform_id *ids, cl_uint *out_count) {
    (void)count;
    (void)ids;
    *out_count = 0;
    return -1001;
}

static cl_int CL_API_CALL old_device(cl_device_id id, cl_device_info what, size_t size, void *out,
                                     size_t *out_size) {
    if (what != CL_DEVICE_VERSION) return real.clGetDeviceInfo(id, what, size, out, out_size);
    strncpy(out, "OpenCL 1.1 old", size);
    return CL_SUCCESS;
}

static void a_broken_platform_is_skipped(void **state) {
    (void)state;
    struct cbk_rt *rt = NULL;
    uint32_t count = 0;
    cbk_backend_params params = test_runtime_params("");
    real = test_cl_table();
    struct cbk_rt_cl table = real;
    table.clGetPlatformIDs = one_more_platform;
    table.clGetPlatformInfo = broken_platform_info;
    table.clGetDeviceIDs = broken_device_ids;
    params.log = keep_line;
    line_count = 0;
    assert_ok(cbk_rt_create(&params, &table, &rt));
    assert_ok(cbk_rt_device_count(rt, CBK_DEVICE_DEFAULT, &count));
    assert_true(count > 0);
    assert_true(line_count >= 1);
    assert_non_null(strstr(lines[0], "is skipped"));
    assert_non_null(strstr(lines[0], "CL_OUT_OF_HOST_MEMORY"));
    cbk_rt_destroy(&rt);
}

static void without_a_platform_there_is_nothing(void **state) {
    (void)state;
    struct cbk_rt *rt = NULL;
    const cbk_backend_params params = test_runtime_params("");
    real = test_cl_table();
    struct cbk_rt_cl table = real;
    table.clGetPlatformIDs = no_platform;
    assert_status(CBK_ERROR_NOT_FOUND, cbk_rt_create(&params, &table, &rt));
    assert_null(rt);
}

static void an_old_device_is_skipped(void **state) {
    (void)state;
    uint32_t count = 1;
    struct cbk_rt_device *device = NULL;
    real = test_cl_table();
    struct cbk_rt_cl table = real;
    table.clGetDeviceInfo = old_device;
    struct cbk_rt *rt = create(&table);
    assert_ok(cbk_rt_device_count(rt, CBK_DEVICE_DEFAULT, &count));
    assert_int_equal(count, 0);
    assert_status(CBK_ERROR_NOT_FOUND,
                  cbk_rt_device_open(rt, &CBK_INIT(cbk_device_params), &device));
    cbk_rt_destroy(&rt);
}

// ---- two devices -----------------------------------------------------------------------------------

static void two_devices_keep_apart(void **state) {
    (void)state;
    enum { COUNT = 100 };
    struct cbk_rt *rt = create(NULL);
    struct cbk_rt_device *devices[2] = {NULL};
    struct cbk_rt_stream *streams[2] = {NULL};
    struct cbk_rt_block *blocks[2] = {NULL};
    struct cbk_rt_event *event = NULL;
    struct test_small small[2];
    uint32_t count = 0;
    assert_ok(cbk_rt_device_count(rt, CBK_DEVICE_CPU, &count));
    if (count < 2) {
        cbk_rt_destroy(&rt);
        skip();
    }
    for (uint32_t d = 0; d < 2; d++) {
        assert_ok(cbk_rt_device_open(
            rt, &CBK_INIT(cbk_device_params, .type = CBK_DEVICE_CPU, .index = d), &devices[d]));
        assert_ok(cbk_rt_stream_create(devices[d], &streams[d]));
        test_small_open(&small[d], streams[d]);
        blocks[d] = test_block(streams[d], COUNT);
        assert_ok(test_small_fill(&small[d], blocks[d], COUNT, (int32_t)d + 1));
    }
    // An event of another device is waited for on the host.
    assert_ok(cbk_rt_event_create(streams[0], &event));
    assert_ok(cbk_rt_stream_wait(streams[1], event));
    cbk_rt_event_destroy(&event);
    for (uint32_t d = 0; d < 2; d++) {
        test_small_expect(&small[d], blocks[d], COUNT, (int32_t)d + 1);
        cbk_rt_free(devices[d], &blocks[d]);
        cbk_rt_stream_destroy(&streams[d]);
        cbk_rt_device_close(&devices[d]);
    }
    cbk_rt_destroy(&rt);
}

// ---- fork ------------------------------------------------------------------------------------------

static int in_the_child(struct test_runtime *side) {
    struct cbk_rt_block *block = NULL;
    struct cbk_rt_device *device = NULL;
    if (cbk_rt_sync(side->stream) != CBK_ERROR_INVALID_STATE) return 1;
    if (cbk_rt_alloc(side->stream, 16, &block) != CBK_ERROR_INVALID_STATE) return 2;
    if (cbk_rt_device_open(side->rt, &CBK_INIT(cbk_device_params), &device) !=
        CBK_ERROR_INVALID_STATE) {
        return 3;
    }
    test_runtime_close(side); // must not hang
    return 0;
}

static void a_forked_child_is_refused(void **state) {
    (void)state;
    struct test_runtime side;
    struct test_small small;
    const cbk_backend_params params = test_runtime_params("");
    test_runtime_open(&side, &params, NULL);
    test_small_open(&small, side.stream);
    struct cbk_rt_block *x = test_block(side.stream, 4);
    assert_ok(test_small_fill(&small, x, 4, 1));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(in_the_child(&side));
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
    test_small_expect(&small, x, 4, 1);
    cbk_rt_free(side.device, &x);
    test_runtime_close(&side);
}

int main(void) {
    // PoCL then shows two devices; other drivers do not know the variable.
    (void)setenv("POCL_DEVICES", "pthread basic", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_listed_by_type),
        cmocka_unit_test(a_part_of_the_name_is_enough),
        cmocka_unit_test(flags_choose_the_kernels),
        cmocka_unit_test(half_an_allocator_is_refused),
        cmocka_unit_test(a_broken_platform_is_skipped),
        cmocka_unit_test(without_a_platform_there_is_nothing),
        cmocka_unit_test(an_old_device_is_skipped),
        cmocka_unit_test(two_devices_keep_apart),
        cmocka_unit_test(a_forked_child_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
