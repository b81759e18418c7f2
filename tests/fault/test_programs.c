/// test_programs.c: programs and their cache while the nth OpenCL call or host allocation fails: a
/// clean error or success, nothing kept, and the next life works with whatever is on disk.
#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "internal.h"
#include "runtime_side.h"
#include "support.h"

enum { MOST_LIVES = 500 };

static const char text[] = "#pragma OPENCL FP_CONTRACT OFF\n"
                           "kernel void only(global int *x, uint at) { x[at] = VALUE; }\n";
static const struct cbk_rt_source source = {"faulty", (const unsigned char *)text, sizeof text - 1};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    cbk_rt_text_add(defines, " -DVALUE=%u", (unsigned)spec->key[0]);
}

static struct cbk_rt_cl table;
static char directory[TEST_PATH_SIZE];

/// What is planned before a life's first kernel.
struct plan {
    const char *function; ///< NULL: host allocations
    uint64_t nth;
};

static cbk_status use(struct test_runtime *side) {
    const struct cbk_rt_spec spec = {
        .source = &source, .entry = "only", .key = {41, 0}, .describe = describe};
    struct cbk_rt_kernel *kernel = NULL;
    struct cbk_rt_block *x = NULL;
    int32_t back = 0;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_kernel(side->stream, &spec, &kernel));
    RT_TRY(cbk_rt_alloc(side->stream, sizeof back, &x));
    const uint32_t at = (uint32_t)(cbk_rt_block_offset(x) / sizeof back);
    struct cbk_rt_launch launch = {.kernel = kernel,
                                   .operation = "only",
                                   .dimensions = 1,
                                   .global = {1, 1, 1},
                                   .local = {1, 1, 1}};
    cbk_rt_arg_block(&launch, x, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &at, sizeof at);
    RT_TRY(cbk_rt_launch(side->stream, &launch));
    RT_TRY(cbk_rt_read(side->stream, &(struct cbk_rt_read){x, 0, &back, sizeof back}, 1));
    if (back != 41) status = cbk_fail(CBK_ERROR_INTERNAL, 0, "the kernel gave %d", (int)back);
done:
    cbk_rt_free(side->device, &x);
    return status;
}

/// Opens, plans, uses, closes. True if the plan came true.
static bool live(const struct plan *plan, cbk_status *out_status, cbk_counters *out_counters) {
    cbk_backend_params params = test_runtime_params(directory);
    struct test_runtime side;
    params.allocate = cbk_fault_allocate;
    params.free = cbk_fault_free;
    test_runtime_open(&side, &params, &table);
    if (plan && plan->function) {
        cbk_fault_plan(plan->nth, CL_OUT_OF_HOST_MEMORY, plan->function);
    } else if (plan) {
        cbk_fault_plan_allocation(plan->nth);
    }
    *out_status = use(&side);
    *out_counters = test_runtime_counters(&side);
    test_runtime_close(&side);
    const bool has_fired = cbk_fault_fired() || cbk_fault_allocation_fired();
    cbk_fault_reset();
    cbk_fault_plan_allocation(0);
    assert_string_equal(cbk_fault_leaks(), "");
    assert_int_equal(cbk_fault_blocks_held(), 0);
    assert_int_equal(cbk_fault_wrong_sizes(), 0);
    return has_fired;
}

/// Lives with the nth failure, for every n; `is_warm` keeps the entry on disk between them.
static void fail_every(const char *function, bool is_warm) {
    cbk_counters counters;
    cbk_status status = CBK_OK;
    test_directory_make(directory);
    if (is_warm) (void)live(NULL, &status, &counters);
    for (uint64_t n = 1; n < MOST_LIVES; n++) {
        const struct plan plan = {function, n};
        const bool has_fired = live(&plan, &status, &counters);
        if (!has_fired) assert_int_equal(status, CBK_OK);
        if (status != CBK_OK) {
            assert_true(status == CBK_ERROR_OUT_OF_HOST_MEMORY || status == CBK_ERROR_BUILD ||
                        status == CBK_ERROR_DRIVER || status == CBK_ERROR_OUT_OF_MEMORY);
        }
        if (!is_warm) {
            test_directory_remove(directory);
            test_directory_make(directory);
        } else {
            // Whatever happened, the next life finds a good entry or makes one.
            (void)live(NULL, &status, &counters);
            assert_int_equal(status, CBK_OK);
            assert_int_equal(counters.programs_built + counters.cache_hits, 1);
            assert_int_equal(counters.cache_refused, 0);
            assert_int_equal(test_directory_count(directory, ".cbk", NULL), 1);
        }
        if (!has_fired) break;
    }
    test_directory_remove(directory);
}

static const char *const functions[] = {
    "clGetPlatformInfo",         "clGetDeviceInfo",       "clCreateProgramWithSource",
    "clCreateProgramWithBinary", "clBuildProgram",        "clCreateKernel",
    "clGetKernelWorkGroupInfo",  "clGetProgramBuildInfo", "clGetProgramInfo",
};

static void calls_fail_with_an_entry(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        fail_every(functions[i], true);
    }
}

static void calls_fail_without_an_entry(void **state) {
    (void)state;
    // What the key is made of fails alike with an entry and without.
    for (size_t i = 2; i < sizeof functions / sizeof *functions; i++) {
        fail_every(functions[i], false);
    }
}

static void allocations_fail_with_an_entry(void **state) {
    (void)state;
    fail_every(NULL, true);
}

static void allocations_fail_without_an_entry(void **state) {
    (void)state;
    fail_every(NULL, false);
}

/// A build that fails for lack of memory leaves no log and no verdict; one that the compiler
/// refuses survives every allocation that fails while the report is written.
static void reports_survive_without_memory(void **state) {
    (void)state;
    static const char bad_text[] = "kernel void only(global int *x) { x[0] = missing; }\n";
    const struct cbk_rt_source bad = {"bad", (const unsigned char *)bad_text, sizeof bad_text - 1};
    const struct cbk_rt_spec spec = {
        .source = &bad, .entry = "only", .key = {1, 0}, .describe = describe};
    for (uint64_t n = 1; n < MOST_LIVES; n++) {
        cbk_backend_params params = test_runtime_params("");
        struct test_runtime side;
        struct cbk_rt_kernel *kernel = NULL;
        params.allocate = cbk_fault_allocate;
        params.free = cbk_fault_free;
        test_runtime_open(&side, &params, &table);
        cbk_fault_plan_allocation(n);
        cbk_status status = cbk_rt_kernel(side.stream, &spec, &kernel);
        const bool has_fired = cbk_fault_allocation_fired();
        cbk_fault_plan_allocation(0);
        assert_true(status == CBK_ERROR_BUILD || status == CBK_ERROR_OUT_OF_HOST_MEMORY);
        assert_status(CBK_ERROR_BUILD, cbk_rt_kernel(side.stream, &spec, &kernel));
        if (!has_fired) assert_non_null(strstr(cbk_rt_device_build_log(side.device), "missing"));
        test_runtime_close(&side);
        assert_string_equal(cbk_fault_leaks(), "");
        assert_int_equal(cbk_fault_blocks_held(), 0);
        if (!has_fired) break;
    }
}

static int make_table(void **state) {
    (void)state;
    cbk_fault_table(&table);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_fail_with_an_entry),
        cmocka_unit_test(calls_fail_without_an_entry),
        cmocka_unit_test(allocations_fail_with_an_entry),
        cmocka_unit_test(allocations_fail_without_an_entry),
        cmocka_unit_test(reports_survive_without_memory),
    };
    return cmocka_run_group_tests(tests, make_table, NULL);
}
