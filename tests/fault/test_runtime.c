/// test_runtime.c: src/runtime while the nth OpenCL call or host allocation fails, for every n:
/// a clean error or success, nothing kept, and the same work succeeds directly afterwards.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_side.h"
#include "internal.h"
#include "runtime_side.h"
#include "small_kernels.h"
#include "support.h"

enum { COUNT = 32, CODES = 3, MOST_CALLS = 2000 };

static const cl_int codes[CODES] = {CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY,
                                    CL_MEM_OBJECT_ALLOCATION_FAILURE};

static struct cbk_rt_cl table;

// ---- the work ------------------------------------------------------------------------------------

struct side {
    struct test_runtime runtime;
    struct cbk_rt_stream *other;
    struct test_small small, other_small;
    uint64_t next_key;
};

static cbk_status write_and_read(struct side *side) {
    struct cbk_rt_stream *stream = side->runtime.stream;
    struct cbk_rt_block *x = NULL, *y = NULL;
    int32_t data[COUNT] = {7, 8, 9}, back[COUNT] = {0}, more[COUNT] = {0};
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_alloc(stream, sizeof data, &x));
    RT_TRY(cbk_rt_alloc(stream, sizeof data, &y));
    RT_TRY(cbk_rt_write(stream, x, 0, data, sizeof data));
    RT_TRY(cbk_rt_copy(stream, x, 0, y, 0, sizeof data));
    const struct cbk_rt_read reads[] = {{x, 0, back, sizeof back}, {y, 0, more, sizeof more}};
    RT_TRY(cbk_rt_read(stream, reads, 2));
    if (memcmp(back, data, sizeof data) || memcmp(more, data, sizeof data)) {
        status = CBK_ERROR_INTERNAL;
    }
done:
    cbk_rt_free(side->runtime.device, &x);
    cbk_rt_free(side->runtime.device, &y);
    return status;
}

static cbk_status write_much(struct side *side) {
    enum { SIZE = 3 * CBK_RT_STAGING_LIMIT };
    static unsigned char data[SIZE], back[SIZE];
    struct cbk_rt_block *x = NULL;
    cbk_status status = CBK_OK;
    memset(data, 5, sizeof data);
    memset(back, 0, sizeof back);
    RT_TRY(cbk_rt_alloc(side->runtime.stream, SIZE, &x));
    RT_TRY(cbk_rt_write(side->runtime.stream, x, 0, data, SIZE));
    for (size_t i = 0; i < 6; i++) {
        RT_TRY(cbk_rt_write(side->runtime.stream, x, i * SIZE / 6, data, SIZE / 6));
    }
    const struct cbk_rt_read read = {x, 0, back, SIZE};
    RT_TRY(cbk_rt_read(side->runtime.stream, &read, 1));
    if (memcmp(back, data, SIZE)) status = CBK_ERROR_INTERNAL;
done:
    cbk_rt_free(side->runtime.device, &x);
    return status;
}

static cbk_status launch(struct side *side) {
    struct cbk_rt_block *x = NULL;
    int32_t back[COUNT] = {0};
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_alloc(side->runtime.stream, sizeof back, &x));
    RT_TRY(test_small_fill(&side->small, x, COUNT, 1));
    for (int i = 0; i < 70; i++) RT_TRY(test_small_add(&side->small, x, x, COUNT, 1));
    RT_TRY(cbk_rt_flush(side->runtime.stream));
    RT_TRY(cbk_rt_sync(side->runtime.stream));
    const struct cbk_rt_read read = {x, 0, back, sizeof back};
    RT_TRY(cbk_rt_read(side->runtime.stream, &read, 1));
    if (back[COUNT - 1] != 71) status = CBK_ERROR_INTERNAL;
done:
    cbk_rt_free(side->runtime.device, &x);
    return status;
}

static cbk_status cross(struct side *side) {
    struct cbk_rt_block *x = NULL, *y = NULL;
    int32_t back[COUNT] = {0};
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_alloc(side->runtime.stream, sizeof back, &x));
    RT_TRY(cbk_rt_alloc(side->other, sizeof back, &y));
    RT_TRY(test_small_fill(&side->small, x, COUNT, 1));
    RT_TRY(test_small_add(&side->other_small, x, y, COUNT, 1));
    RT_TRY(test_small_add(&side->small, y, x, COUNT, 1));
    RT_TRY(test_small_add(&side->other_small, x, x, COUNT, 1));
    const struct cbk_rt_read read = {x, 0, back, sizeof back};
    RT_TRY(cbk_rt_read(side->runtime.stream, &read, 1));
    if (back[COUNT - 1] != 4) status = CBK_ERROR_INTERNAL;
done:
    cbk_rt_free(side->runtime.device, &x);
    cbk_rt_free(side->runtime.device, &y);
    return status;
}

static cbk_status use_events(struct side *side) {
    struct cbk_rt_block *x = NULL;
    struct cbk_rt_event *event = NULL;
    bool done_flag = false;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_alloc(side->runtime.stream, COUNT * sizeof(int32_t), &x));
    RT_TRY(test_small_fill(&side->small, x, COUNT, 1));
    RT_TRY(cbk_rt_event_create(side->runtime.stream, &event));
    RT_TRY(cbk_rt_stream_wait(side->other, event));
    RT_TRY(cbk_rt_event_wait(event));
    RT_TRY(cbk_rt_event_query(event, &done_flag));
    if (!done_flag) status = CBK_ERROR_INTERNAL;
done:
    cbk_rt_event_destroy(&event);
    cbk_rt_free(side->runtime.device, &x);
    return status;
}

static cbk_status report(struct side *side) {
    struct cbk_rt_block *x = NULL;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_alloc(side->runtime.stream, COUNT * sizeof(int32_t), &x));
    RT_TRY(test_small_fill(&side->small, x, COUNT, 1));
    RT_TRY(test_small_look_up(&side->small, x, COUNT, COUNT, "gather"));
    status = cbk_rt_sync(side->runtime.stream);
    if (status == CBK_OK) {
        status = CBK_ERROR_INTERNAL;
    } else if (status == CBK_ERROR_INDEX_OUT_OF_RANGE) {
        status = CBK_OK;
    }
done:
    cbk_rt_free(side->runtime.device, &x);
    return status;
}

static cbk_status take_large(struct side *side) {
    struct cbk_rt_block *x = NULL, *y = NULL, *z = NULL;
    void *memory = NULL;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_alloc(side->runtime.stream, 20 << 20, &x));
    RT_TRY(cbk_rt_persistent_begin(side->runtime.stream));
    status = cbk_rt_alloc(side->runtime.stream, 21 << 20, &y);
    if (status == CBK_OK) status = cbk_rt_alloc(side->runtime.stream, 21, &z);
    if (cbk_rt_persistent_end(side->runtime.stream) != CBK_OK) status = CBK_ERROR_INTERNAL;
    if (status != CBK_OK) goto done;
    RT_TRY(cbk_rt_staging_alloc(side->runtime.device, 1000, &memory));
    RT_TRY(cbk_rt_memory_cleanup(side->runtime.device));
done:
    cbk_rt_staging_free(side->runtime.device, memory);
    cbk_rt_free(side->runtime.device, &x);
    cbk_rt_free(side->runtime.device, &y);
    cbk_rt_free(side->runtime.device, &z);
    if (status == CBK_OK) status = cbk_rt_memory_cleanup(side->runtime.device);
    return status;
}

static cbk_status make_stream(struct side *side) {
    struct cbk_rt_stream *streams[3] = {NULL};
    cbk_status status = CBK_OK;
    for (int i = 0; i < 3; i++) RT_TRY(cbk_rt_stream_create(side->runtime.device, &streams[i]));
done:
    for (int i = 0; i < 3; i++) cbk_rt_stream_destroy(&streams[i]);
    return status;
}

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    cbk_rt_text_add(defines, " -DVALUE=%u", (unsigned)spec->key[0]);
}

/// Each time another kernel: of a program that is new to the device.
static cbk_status build(struct side *side) {
    static const char text[] = "#pragma OPENCL FP_CONTRACT OFF\n"
                               "kernel void only(global int *x) { x[0] = VALUE; }\n";
    const struct cbk_rt_source source = test_source("only", text);
    const struct cbk_rt_spec spec = {
        .source = &source, .entry = "only", .key = {side->next_key}, .describe = describe};
    struct cbk_rt_kernel *kernel = NULL;
    const cbk_status status = cbk_rt_kernel(side->runtime.stream, &spec, &kernel);
    return status == CBK_OK && !kernel ? CBK_ERROR_INTERNAL : status;
}

static const struct work {
    const char *name;
    cbk_status (*run)(struct side *side);
    bool is_slow; ///< fewer codes
} works[] = {
    {"write_and_read", write_and_read, false},
    {"write_much", write_much, true},
    {"launch", launch, false},
    {"cross", cross, false},
    {"use_events", use_events, false},
    {"report", report, false},
    {"take_large", take_large, false},
    {"make_stream", make_stream, false},
    {"build", build, true},
};

// ---- the sides -----------------------------------------------------------------------------------

static void open_side(struct side *side) {
    cbk_backend_params params = test_runtime_params("");
    params.allocate = cbk_fault_allocate;
    params.free = cbk_fault_free;
    *side = (struct side){0};
    test_runtime_open(&side->runtime, &params, &table);
    assert_ok(cbk_rt_stream_create(side->runtime.device, &side->other));
    test_small_open(&side->small, side->runtime.stream);
    test_small_open(&side->other_small, side->other);
}

static void close_side(struct side *side) {
    cbk_rt_stream_destroy(&side->other);
    test_runtime_close(&side->runtime);
    assert_string_equal(cbk_fault_leaks(), "");
    assert_int_equal(cbk_fault_blocks_held(), 0);
    assert_int_equal(cbk_fault_wrong_sizes(), 0);
}

/// Errors of the failed run may come up late, once.
static void settle(struct side *side) {
    cbk_fault_reset();
    cbk_fault_plan_allocation(0);
    (void)cbk_rt_sync(side->runtime.stream);
    (void)cbk_rt_sync(side->other);
    assert_ok(cbk_rt_sync(side->runtime.stream));
    assert_ok(cbk_rt_sync(side->other));
}

static void check_status(cbk_status status) {
    const bool is_expected = status == CBK_OK || status == CBK_ERROR_DRIVER ||
                             status == CBK_ERROR_OUT_OF_MEMORY ||
                             status == CBK_ERROR_OUT_OF_HOST_MEMORY || status == CBK_ERROR_BUILD ||
                             status == CBK_ERROR_PRODUCER;
    if (!is_expected) {
        print_error("%s after %s failed: %s\n", cbk_status_string(status),
                    cbk_fault_fired() ? cbk_fault_fired() : "nothing", cbk_last_error_message());
    }
    assert_true(is_expected);
    if (status != CBK_OK) assert_true(cbk_last_error_message()[0] != '\0');
}

static void check_after(struct side *side, const struct work *work, uint64_t n, const char *what) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    settle(side);
    assert_ok(cbk_rt_memory_usage(side->runtime.device, &info));
    assert_int_equal(info.used_bytes, 0);
    const cbk_status status = work->run(side);
    if (status != CBK_OK) {
        print_error("%s after failure %llu (%s): %s\n", work->name, (unsigned long long)n, what,
                    cbk_last_error_message());
    }
    assert_int_equal(status, CBK_OK);
}

// ---- tests ---------------------------------------------------------------------------------------

/// With a fresh side and no slabs yet, then with one that has done the work before.
static void calls_fail(const struct work *work, cl_int code, bool is_warm) {
    struct side side;
    open_side(&side);
    if (is_warm) assert_ok(work->run(&side));
    for (uint64_t n = 1; n < MOST_CALLS; n = cbk_fault_next(n)) {
        if (!is_warm) assert_ok(cbk_rt_memory_cleanup(side.runtime.device));
        side.next_key++;
        cbk_fault_plan(n, code, NULL);
        const cbk_status status = work->run(&side);
        check_status(status);
        const char *fired = cbk_fault_fired();
        if (!fired) {
            assert_ok(status);
            break;
        }
        check_after(&side, work, n, fired);
    }
    cbk_fault_reset();
    close_side(&side);
}

static void the_nth_call_fails(void **state) {
    const struct work *work = *state;
    const int code_count = work->is_slow ? 1 : CODES;
    for (int c = 0; c < code_count; c++) {
        calls_fail(work, codes[c], false);
        if (!work->is_slow) calls_fail(work, codes[c], true);
    }
}

static void the_nth_allocation_fails(void **state) {
    const struct work *work = *state;
    struct side side;
    for (uint64_t n = 1; n < MOST_CALLS; n++) {
        open_side(&side);
        side.next_key++;
        cbk_fault_plan_allocation(n);
        const cbk_status status = work->run(&side);
        check_status(status);
        const bool fired = cbk_fault_allocation_fired();
        if (fired) check_after(&side, work, n, "allocation");
        cbk_fault_plan_allocation(0);
        close_side(&side);
        if (fired) continue;
        assert_ok(status);
        break;
    }
}

/// From nothing to the first result, and everything closed again.
static cbk_status live(bool *out_is_right) {
    cbk_backend_params params = test_runtime_params("");
    struct test_runtime side = {0};
    struct cbk_rt_block *x = NULL;
    struct cbk_rt_kernel *kernel = NULL;
    int32_t back = 0;
    static const char text[] = "#pragma OPENCL FP_CONTRACT OFF\n"
                               "kernel void only(global int *x, ulong at) { x[at] = VALUE; }\n";
    const struct cbk_rt_source source = test_source("live", text);
    const struct cbk_rt_spec spec = {
        .source = &source, .entry = "only", .key = {41}, .describe = describe};
    cbk_status status = CBK_OK;
    params.allocate = cbk_fault_allocate;
    params.free = cbk_fault_free;
    *out_is_right = false;
    RT_TRY(cbk_rt_create(&params, &table, &side.rt));
    RT_TRY(cbk_rt_device_open(side.rt, &CBK_INIT(cbk_device_params), &side.device));
    RT_TRY(cbk_rt_stream_create(side.device, &side.stream));
    RT_TRY(cbk_rt_kernel(side.stream, &spec, &kernel));
    RT_TRY(cbk_rt_alloc(side.stream, sizeof back, &x));
    const uint64_t at = cbk_rt_block_offset(x) / sizeof back;
    struct cbk_rt_launch launch = {.kernel = kernel,
                                   .operation = "only",
                                   .dimensions = 1,
                                   .global = {1, 1, 1},
                                   .local = {1, 1, 1}};
    cbk_rt_arg_block(&launch, x, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &at, sizeof at);
    RT_TRY(cbk_rt_launch(side.stream, &launch));
    const struct cbk_rt_read read = {x, 0, &back, sizeof back};
    RT_TRY(cbk_rt_read(side.stream, &read, 1));
    *out_is_right = back == 41;
done:
    if (side.device) cbk_rt_free(side.device, &x);
    cbk_rt_stream_destroy(&side.stream);
    cbk_rt_device_close(&side.device);
    cbk_rt_destroy(&side.rt);
    return status;
}

static void check_life(cbk_status status, bool is_right, bool fired) {
    check_status(status == CBK_ERROR_NOT_FOUND ? CBK_ERROR_DRIVER : status);
    assert_string_equal(cbk_fault_leaks(), "");
    assert_int_equal(cbk_fault_blocks_held(), 0);
    assert_int_equal(cbk_fault_wrong_sizes(), 0);
    if (status == CBK_OK) assert_true(is_right);
    if (!fired) assert_ok(status);
}

static void a_life_with_failing_calls(void **state) {
    bool is_right = false, fired = true;
    (void)state;
    for (uint64_t n = 1; fired && n < MOST_CALLS; n++) {
        cbk_fault_plan(n, CL_OUT_OF_HOST_MEMORY, NULL);
        const cbk_status status = live(&is_right);
        fired = cbk_fault_fired() != NULL;
        check_life(status, is_right, fired);
    }
    print_message("%llu OpenCL calls\n", (unsigned long long)cbk_fault_calls());
    cbk_fault_reset();
    assert_ok(live(&is_right));
}

static void a_life_with_failing_allocations(void **state) {
    bool is_right = false, fired = true;
    (void)state;
    for (uint64_t n = 1; fired && n < MOST_CALLS; n++) {
        cbk_fault_plan_allocation(n);
        const cbk_status status = live(&is_right);
        fired = cbk_fault_allocation_fired();
        check_life(status, is_right, fired);
    }
    cbk_fault_plan_allocation(0);
    assert_ok(live(&is_right));
}

int main(void) {
    enum { WORKS = sizeof works / sizeof *works };
    struct CMUnitTest tests[2 * WORKS + 2];
    static char names[2 * WORKS][64];
    size_t count = 0;
    cbk_fault_table(&table);
    for (size_t i = 0; i < WORKS; i++) {
        for (int allocation = 0; allocation < 2; allocation++) {
            char *name = names[count];
            (void)snprintf(name, sizeof names[0], "%s, the nth %s fails", works[i].name,
                           allocation ? "allocation" : "call");
            tests[count++] = (struct CMUnitTest){.name = name,
                                                 .test_func = allocation ? the_nth_allocation_fails
                                                                         : the_nth_call_fails,
                                                 .setup_func = cbk_fault_start_afresh,
                                                 .initial_state = (void *)&works[i]};
        }
    }
    const struct CMUnitTest lives[] = {
        cmocka_unit_test_setup(a_life_with_failing_calls, cbk_fault_start_afresh),
        cmocka_unit_test_setup(a_life_with_failing_allocations, cbk_fault_start_afresh),
    };
    for (size_t i = 0; i < 2; i++) tests[count++] = lives[i];
    const int failed = cmocka_run_group_tests_name("as it is", tests, NULL, NULL);
    cbk_fault_pretend_gpu(true);
    return failed + cmocka_run_group_tests_name("as a GPU", tests, NULL, NULL);
}
