/// test_stream.c: order within a stream, transfers, events, errors that come late, index reports.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "internal.h"
#include "runtime_side.h"
#include "small_kernels.h"
#include "support.h"

static struct cbk_rt_cl table;

static int open_side(void **state) {
    struct test_runtime *side = malloc(sizeof *side);
    const cbk_backend_params params = test_runtime_params("");
    cbk_fault_table(&table);
    cbk_fault_reset();
    test_runtime_open(side, &params, &table);
    *state = side;
    return 0;
}

static int close_side(void **state) {
    struct test_runtime *side = *state;
    cbk_fault_reset();
    test_runtime_close(side);
    free(side);
    assert_string_equal(cbk_fault_leaks(), "");
    return 0;
}

// ---- order and transfers -------------------------------------------------------------------------

static void commands_run_in_order(void **state) {
    struct test_runtime *side = *state;
    struct test_small small;
    enum { COUNT = 1000 };
    test_small_open(&small, side->stream);
    struct cbk_rt_block *x = test_block(side->stream, COUNT);
    assert_ok(test_small_fill(&small, x, COUNT, 5));
    for (int i = 0; i < 300; i++) assert_ok(test_small_add(&small, x, x, COUNT, 2));
    test_small_expect(&small, x, COUNT, 605);
    assert_int_equal(test_runtime_counters(side).launches, 301);
    cbk_rt_free(side->device, &x);
    assert_null(x);
}

static void empty_launches_do_nothing(void **state) {
    struct test_runtime *side = *state;
    struct test_small small;
    test_small_open(&small, side->stream);
    struct cbk_rt_block *x = test_block(side->stream, 4);
    assert_ok(test_small_fill(&small, x, 4, 1));
    assert_ok(test_small_fill(&small, x, 0, 9));
    assert_ok(cbk_rt_write(side->stream, x, 0, NULL, 0));
    assert_ok(cbk_rt_read(side->stream, NULL, 0));
    assert_ok(cbk_rt_copy(side->stream, x, 0, x, 0, 0));
    test_small_expect(&small, x, 4, 1);
    cbk_rt_free(side->device, &x);
}

/// Sizes round the limits of the staging memory; the source is overwritten directly after the call.
static void writes_take_a_copy(void **state) {
    struct test_runtime *side = *state;
    static const uint64_t sizes[] = {1,
                                     63,
                                     4096,
                                     CBK_RT_STAGING_LIMIT - 1,
                                     CBK_RT_STAGING_LIMIT,
                                     CBK_RT_STAGING_LIMIT + 1,
                                     5 * CBK_RT_STAGING_LIMIT + 77};
    unsigned char *data = malloc(6 * CBK_RT_STAGING_LIMIT);
    unsigned char *back = malloc(6 * CBK_RT_STAGING_LIMIT);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct cbk_rt_block *x = NULL;
        const size_t size = (size_t)sizes[s];
        assert_ok(cbk_rt_alloc(side->stream, size + 3, &x));
        for (size_t i = 0; i < size; i++) data[i] = (unsigned char)(i * 7 + s);
        assert_ok(cbk_rt_write(side->stream, x, 3, data, size));
        memset(data, 0, size);
        const struct cbk_rt_read read = {x, 3, back, size};
        assert_ok(cbk_rt_read(side->stream, &read, 1));
        for (size_t i = 0; i < size; i++) assert_int_equal(back[i], (unsigned char)(i * 7 + s));
        cbk_rt_free(side->device, &x);
    }
    free(data);
    free(back);
}

static void many_writes_in_flight_keep_their_data(void **state) {
    struct test_runtime *side = *state;
    enum { COUNT = 64, INTS = CBK_RT_STAGING_LIMIT / 4 / 3 };
    struct test_small small;
    test_small_open(&small, side->stream);
    int32_t *data = malloc(INTS * sizeof *data);
    struct cbk_rt_block *blocks[COUNT];
    for (int b = 0; b < COUNT; b++) {
        blocks[b] = test_block(side->stream, INTS);
        for (int i = 0; i < INTS; i++) data[i] = b;
        assert_ok(cbk_rt_write(side->stream, blocks[b], 0, data, INTS * sizeof *data));
    }
    for (int b = 0; b < COUNT; b++) {
        test_small_expect(&small, blocks[b], INTS, b);
        cbk_rt_free(side->device, &blocks[b]);
    }
    free(data);
}

static void several_reads_are_one_wait(void **state) {
    struct test_runtime *side = *state;
    struct test_small small;
    test_small_open(&small, side->stream);
    struct cbk_rt_block *x = test_block(side->stream, 100), *y = test_block(side->stream, 7);
    int32_t a[100], b[7], c[2];
    assert_ok(test_small_fill(&small, x, 100, 3));
    assert_ok(test_small_fill(&small, y, 7, 4));
    const struct cbk_rt_read reads[] = {
        {x, 0, a, sizeof a}, {y, 0, b, sizeof b}, {y, 8, NULL, 0}, {x, 40, c, sizeof c}};
    cbk_fault_plan(0, 0, "clFinish");
    assert_ok(cbk_rt_read(side->stream, reads, 4));
    assert_int_equal(cbk_fault_calls(), 1);
    for (int i = 0; i < 100; i++) assert_int_equal(a[i], 3);
    for (int i = 0; i < 7; i++) assert_int_equal(b[i], 4);
    assert_int_equal(c[1], 3);
    cbk_rt_free(side->device, &x);
    cbk_rt_free(side->device, &y);
}

static void copies_respect_offsets(void **state) {
    struct test_runtime *side = *state;
    struct test_small small;
    test_small_open(&small, side->stream);
    struct cbk_rt_block *x = test_block(side->stream, 50), *y = test_block(side->stream, 50);
    int32_t back[50];
    assert_ok(test_small_fill(&small, x, 50, 1));
    assert_ok(test_small_fill(&small, y, 50, 2));
    assert_ok(cbk_rt_copy(side->stream, x, 20, y, 40, 12));
    const struct cbk_rt_read read = {y, 0, back, sizeof back};
    assert_ok(cbk_rt_read(side->stream, &read, 1));
    for (int i = 0; i < 50; i++) assert_int_equal(back[i], i >= 10 && i < 13 ? 1 : 2);
    cbk_rt_free(side->device, &x);
    cbk_rt_free(side->device, &y);
}

// ---- events --------------------------------------------------------------------------------------

static void events_pass(void **state) {
    struct test_runtime *side = *state;
    struct test_small small;
    struct cbk_rt_event *before = NULL, *event = NULL;
    bool done = false;
    test_small_open(&small, side->stream);
    assert_ok(cbk_rt_sync(side->stream));
    assert_ok(cbk_rt_event_create(side->stream, &before));
    assert_ok(cbk_rt_event_query(before, &done));
    assert_true(done);

    struct cbk_rt_block *x = test_block(side->stream, 16);
    assert_ok(test_small_fill(&small, x, 16, 1));
    for (int i = 0; i < 5; i++) assert_ok(test_small_slow_add(&small, x, x, 16, 1));
    assert_ok(cbk_rt_event_create(side->stream, &event));
    assert_ok(cbk_rt_event_query(event, &done));
    assert_ok(cbk_rt_event_wait(event));
    assert_ok(cbk_rt_event_query(event, &done));
    assert_true(done);
    test_small_expect(&small, x, 16, 6);
    cbk_rt_event_destroy(&event);
    cbk_rt_event_destroy(&before);
    cbk_rt_event_destroy(&before);
    cbk_rt_free(side->device, &x);
}

// ---- errors that come late -------------------------------------------------------------------------

static cl_int reported_state;
static __typeof__(&clGetEventInfo) real_event_info;

/// Commands that have ended are reported to have failed.
static cl_int CL_API_CALL failing_event_info(cl_event event, cl_event_info what, size_t size,
                                             void *out, size_t *out_size) {
    const cl_int code = real_event_info(event, what, size, out, out_size);
    cl_int *state = out;
    if (what == CL_EVENT_COMMAND_EXECUTION_STATUS && *state == CL_COMPLETE) *state = reported_state;
    return code;
}

static void plan_failing_commands(struct test_runtime *side, cl_int state) {
    real_event_info = table.clGetEventInfo;
    reported_state = state;
    side->rt->cl.clGetEventInfo = failing_event_info;
}

static void an_error_comes_up_once_and_only_on_its_stream(void **state) {
    struct test_runtime *side = *state;
    struct test_small small, other_small;
    struct cbk_rt_stream *other = NULL;
    int32_t back[8];
    test_small_open(&small, side->stream);
    assert_ok(cbk_rt_stream_create(side->device, &other));
    test_small_open(&other_small, other);
    struct cbk_rt_block *x = test_block(side->stream, 8), *y = test_block(other, 8);
    const struct cbk_rt_read read = {x, 0, back, sizeof back};

    assert_ok(test_small_fill(&small, x, 8, 1));
    assert_ok(test_small_fill(&other_small, y, 8, 2));
    assert_ok(cbk_rt_sync(other));
    plan_failing_commands(side, -1234);
    assert_status(CBK_ERROR_DRIVER, cbk_rt_read(side->stream, &read, 1));
    side->rt->cl.clGetEventInfo = real_event_info;
    assert_status(CBK_ERROR_PRODUCER, cbk_rt_read(side->stream, &read, 1));
    assert_non_null(strstr(cbk_last_error_message(), "-1234"));
    assert_ok(test_small_fill(&small, x, 8, 1));
    assert_ok(cbk_rt_read(side->stream, &read, 1));
    assert_int_equal(back[7], 1);
    test_small_expect(&other_small, y, 8, 2);

    assert_ok(test_small_fill(&small, x, 8, 3));
    plan_failing_commands(side, -5);
    assert_status(CBK_ERROR_DRIVER, cbk_rt_sync(side->stream));
    side->rt->cl.clGetEventInfo = real_event_info;
    assert_ok(cbk_rt_sync(side->stream));
    assert_ok(cbk_rt_device_state(side->device));
    cbk_rt_free(side->device, &x);
    cbk_rt_free(side->device, &y);
    cbk_rt_stream_destroy(&other);
}

static void a_refused_launch_leaves_the_stream_as_it_was(void **state) {
    struct test_runtime *side = *state;
    struct test_small small;
    test_small_open(&small, side->stream);
    struct cbk_rt_block *x = test_block(side->stream, 8);
    assert_ok(test_small_fill(&small, x, 8, 1));
    cbk_fault_plan(1, CL_INVALID_WORK_GROUP_SIZE, "clEnqueueNDRangeKernel");
    assert_status(CBK_ERROR_DRIVER, test_small_fill(&small, x, 8, 2));
    assert_non_null(strstr(cbk_last_error_message(), "CL_INVALID_WORK_GROUP_SIZE (-54)"));
    assert_non_null(strstr(cbk_last_error_message(), "fill"));
    cbk_fault_plan(2, CL_INVALID_ARG_SIZE, "clSetKernelArg");
    assert_status(CBK_ERROR_DRIVER, test_small_fill(&small, x, 8, 2));
    test_small_expect(&small, x, 8, 1);
    cbk_rt_free(side->device, &x);
}

static void a_launch_without_memory_is_tried_again(void **state) {
    struct test_runtime *side = *state;
    struct test_small small;
    test_small_open(&small, side->stream);
    struct cbk_rt_block *x = test_block(side->stream, 8);
    cbk_fault_plan(1, CL_MEM_OBJECT_ALLOCATION_FAILURE, "clEnqueueNDRangeKernel");
    assert_ok(test_small_fill(&small, x, 8, 2));
    assert_non_null(cbk_fault_fired());
    test_small_expect(&small, x, 8, 2);
    cbk_rt_free(side->device, &x);
}

static void a_lost_device_refuses_everything(void **state) {
    struct test_runtime *side = *state;
    struct test_small small;
    struct cbk_rt_event *event = NULL;
    struct cbk_rt_stream *other = NULL;
    void *memory = NULL;
    test_small_open(&small, side->stream);
    struct cbk_rt_block *x = test_block(side->stream, 8), *y = NULL;
    int32_t back[8];
    const struct cbk_rt_read read = {x, 0, back, sizeof back};
    assert_ok(test_small_fill(&small, x, 8, 1));
    cbk_fault_plan(1, CL_INVALID_COMMAND_QUEUE, "clEnqueueNDRangeKernel");
    assert_status(CBK_ERROR_DEVICE_LOST, test_small_fill(&small, x, 8, 2));

    assert_int_equal(cbk_rt_device_state(side->device), CBK_ERROR_DEVICE_LOST);
    assert_status(CBK_ERROR_DEVICE_LOST, test_small_fill(&small, x, 8, 2));
    assert_status(CBK_ERROR_DEVICE_LOST, cbk_rt_sync(side->stream));
    assert_status(CBK_ERROR_DEVICE_LOST, cbk_rt_flush(side->stream));
    assert_status(CBK_ERROR_DEVICE_LOST, cbk_rt_read(side->stream, &read, 1));
    assert_status(CBK_ERROR_DEVICE_LOST, cbk_rt_write(side->stream, x, 0, back, sizeof back));
    assert_status(CBK_ERROR_DEVICE_LOST, cbk_rt_copy(side->stream, x, 0, x, 16, 16));
    assert_status(CBK_ERROR_DEVICE_LOST, cbk_rt_alloc(side->stream, 16, &y));
    assert_status(CBK_ERROR_DEVICE_LOST, cbk_rt_event_create(side->stream, &event));
    assert_status(CBK_ERROR_DEVICE_LOST, cbk_rt_stream_create(side->device, &other));
    assert_status(CBK_ERROR_DEVICE_LOST, cbk_rt_staging_alloc(side->device, 16, &memory));
    assert_status(CBK_ERROR_DEVICE_LOST, cbk_rt_memory_cleanup(side->device));
    assert_null(y);
    cbk_rt_free(side->device, &x);
}

static void running_out_of_resources_is_no_loss_while_the_device_answers(void **state) {
    struct test_runtime *side = *state;
    struct test_small small;
    test_small_open(&small, side->stream);
    struct cbk_rt_block *x = test_block(side->stream, 8);
    cbk_fault_plan(1, CL_OUT_OF_RESOURCES, "clEnqueueNDRangeKernel");
    assert_status(CBK_ERROR_DRIVER, test_small_fill(&small, x, 8, 2));
    assert_ok(cbk_rt_device_state(side->device));
    assert_ok(test_small_fill(&small, x, 8, 2));
    test_small_expect(&small, x, 8, 2);
    cbk_rt_free(side->device, &x);
}

// ---- index reports ---------------------------------------------------------------------------------

static void a_bad_index_is_told_once_with_its_operation(void **state) {
    struct test_runtime *side = *state;
    struct test_small small;
    test_small_open(&small, side->stream);
    struct cbk_rt_block *x = test_block(side->stream, 8);
    assert_ok(test_small_fill(&small, x, 8, 1));
    assert_ok(test_small_look_up(&small, x, 8, 3, "gather"));
    assert_ok(cbk_rt_sync(side->stream));
    assert_ok(test_small_look_up(&small, x, 8, 7, "gather"));
    assert_ok(test_small_look_up(&small, x, 8, -5000000000, "select"));
    assert_status(CBK_ERROR_INDEX_OUT_OF_RANGE, cbk_rt_sync(side->stream));
    assert_non_null(strstr(cbk_last_error_message(), "select: index -5000000000"));
    assert_ok(cbk_rt_sync(side->stream));

    int32_t back[8];
    const struct cbk_rt_read read = {x, 0, back, sizeof back};
    assert_ok(test_small_look_up(&small, x, 8, 8, "scatter_add"));
    assert_ok(test_small_look_up(&small, x, 8, 9, "gather"));
    assert_status(CBK_ERROR_INDEX_OUT_OF_RANGE, cbk_rt_read(side->stream, &read, 1));
    assert_non_null(strstr(cbk_last_error_message(), "scatter_add: index 8"));
    assert_ok(cbk_rt_read(side->stream, &read, 1));
    assert_int_equal(back[0], 1);
    cbk_rt_free(side->device, &x);
}

static void a_report_goes_with_its_stream(void **state) {
    struct test_runtime *side = *state;
    struct cbk_rt_stream *stream = NULL;
    struct test_small small;
    assert_ok(cbk_rt_stream_create(side->device, &stream));
    test_small_open(&small, stream);
    struct cbk_rt_block *x = test_block(stream, 8);
    assert_ok(test_small_fill(&small, x, 8, 1));
    assert_ok(test_small_look_up(&small, x, 8, 99, "gather"));
    struct cbk_rt_event *event = NULL;
    assert_ok(cbk_rt_event_create(stream, &event));
    cbk_rt_stream_destroy(&stream);
    assert_ok(cbk_rt_event_wait(event));
    assert_ok(cbk_rt_stream_create(side->device, &stream));
    test_small_open(&small, stream);
    assert_ok(test_small_look_up(&small, x, 8, 2, "gather"));
    assert_ok(cbk_rt_sync(stream));
    cbk_rt_event_destroy(&event);
    cbk_rt_free(side->device, &x);
    cbk_rt_stream_destroy(&stream);
}

static void the_flag_is_fetched_only_after_an_indexing_operation(void **state) {
    struct test_runtime *side = *state;
    struct test_small small;
    test_small_open(&small, side->stream);
    struct cbk_rt_block *x = test_block(side->stream, 8);
    assert_ok(test_small_fill(&small, x, 8, 1));
    assert_ok(test_small_look_up(&small, x, 8, 3, "gather"));
    cbk_fault_plan(0, 0, "clEnqueueReadBuffer");
    assert_ok(cbk_rt_sync(side->stream));
    assert_int_equal(cbk_fault_calls(), 1);
    assert_ok(test_small_fill(&small, x, 8, 1));
    assert_ok(cbk_rt_sync(side->stream));
    assert_int_equal(cbk_fault_calls(), 1);
    cbk_rt_free(side->device, &x);
}

#define WITH_SIDE(test) cmocka_unit_test_setup_teardown(test, open_side, close_side)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SIDE(commands_run_in_order),
        WITH_SIDE(empty_launches_do_nothing),
        WITH_SIDE(writes_take_a_copy),
        WITH_SIDE(many_writes_in_flight_keep_their_data),
        WITH_SIDE(several_reads_are_one_wait),
        WITH_SIDE(copies_respect_offsets),
        WITH_SIDE(events_pass),
        WITH_SIDE(an_error_comes_up_once_and_only_on_its_stream),
        WITH_SIDE(a_refused_launch_leaves_the_stream_as_it_was),
        WITH_SIDE(a_launch_without_memory_is_tried_again),
        WITH_SIDE(a_lost_device_refuses_everything),
        WITH_SIDE(running_out_of_resources_is_no_loss_while_the_device_answers),
        WITH_SIDE(a_bad_index_is_told_once_with_its_operation),
        WITH_SIDE(a_report_goes_with_its_stream),
        WITH_SIDE(the_flag_is_fetched_only_after_an_indexing_operation),
    };
    const int failed = cmocka_run_group_tests_name("as it is", tests, NULL, NULL);
    cbk_fault_pretend_gpu(true);
    return failed + cmocka_run_group_tests_name("as a GPU", tests, NULL, NULL);
}
