/// test_producers.c: work that fails after it was enqueued: what it should have made is not read and
/// not computed with, by nobody, and all else goes on.
#include <string.h>

#include "backend.h"
#include "device.h"
#include "fault_side.h"
#include "internal.h"
#include "support.h"

enum { COUNT = 8, CODE = -1234 };

static struct cbk_rt_cl table;
static struct cbk_fault_side side;

static int open_device(void **state) {
    (void)state;
    cbk_fault_open(&side, &table);
    return 0;
}

static int close_device(void **state) {
    (void)state;
    cbk_fault_break(NULL, 0);
    assert_int_equal(cbk_fault_memory(&side).used_bytes, 0);
    cbk_fault_close(&side);
    return 0;
}

// ---- small things ----------------------------------------------------------------------------------

static cbk_tensor *numbers(cbk_stream *on, float first) {
    float data[COUNT];
    cbk_tensor *x = NULL;
    for (int i = 0; i < COUNT; i++) data[i] = first + (float)i;
    assert_ok(
        cbk_tensor_from_data(on, CBK_DTYPE_F32, 1, (int64_t[]){COUNT}, data, sizeof data, &x));
    return x;
}

static cbk_tensor *twice(cbk_stream *on, const cbk_tensor *x) {
    cbk_tensor *sum = NULL;
    assert_ok(cbk_add(on, x, x, &sum));
    return sum;
}

static void expect_first(cbk_stream *on, const cbk_tensor *x, float first) {
    float data[COUNT] = {-1};
    assert_ok(cbk_tensor_read(on, x, data, sizeof data));
    assert_true(data[0] == first);
}

static void expect_failed(cbk_stream *on, const cbk_tensor *x) {
    float data[COUNT];
    assert_status(CBK_ERROR_PRODUCER, cbk_tensor_read(on, x, data, sizeof data));
    assert_non_null(strstr(cbk_last_error_message(), "-1234"));
}

static void begin_breaking(cbk_stream *on) {
    struct cbk_rt_stream *inner = ((struct cbk_ocl_stream *)cbk_stream_handle(on))->rt;
    cbk_fault_break(inner->queue, CODE);
}

static void end_breaking(void) {
    cbk_fault_break(NULL, 0);
}

/// The double of x, by work that fails; nobody knows yet.
static cbk_tensor *broken_twice(cbk_stream *on, const cbk_tensor *x) {
    cbk_event *event = NULL;
    begin_breaking(on);
    cbk_tensor *y = twice(on, x);
    assert_ok(cbk_event_record(on, &event)); // ends the batch
    end_breaking();
    cbk_event_release(&event);
    return y;
}

// ---- tests -------------------------------------------------------------------------------------------

static void what_failed_work_made_is_not_read(void **state) {
    (void)state;
    cbk_tensor *x = numbers(side.stream, 1), *before = twice(side.stream, x);
    assert_ok(cbk_sync(side.stream));
    cbk_tensor *y = broken_twice(side.stream, x);
    assert_status(CBK_ERROR_DRIVER, cbk_sync(side.stream));
    assert_ok(cbk_sync(side.stream));
    expect_failed(side.stream, y);
    expect_failed(side.stream, y); // it stays so
    expect_failed(side.other, y);
    expect_first(side.stream, x, 1);
    expect_first(side.other, before, 2);
    cbk_tensor *after = twice(side.stream, before);
    expect_first(side.stream, after, 4);
    cbk_tensor_release(&x), cbk_tensor_release(&y);
    cbk_tensor_release(&before), cbk_tensor_release(&after);
}

static void a_read_gives_the_error_first_and_then_the_cause(void **state) {
    (void)state;
    float data[COUNT] = {-1};
    cbk_tensor *x = numbers(side.stream, 1);
    assert_ok(cbk_sync(side.stream));
    cbk_tensor *y = broken_twice(side.stream, x);
    const cbk_read_request both[] = {{x, data, sizeof data}, {y, data, sizeof data}};
    assert_status(CBK_ERROR_DRIVER, cbk_tensor_read(side.stream, y, data, sizeof data));
    expect_failed(side.stream, y);
    assert_status(CBK_ERROR_PRODUCER, cbk_tensor_read_many(side.stream, both, 2));
    assert_ok(cbk_tensor_read_many(side.stream, both, 1));
    cbk_tensor_release(&x), cbk_tensor_release(&y);
}

static void operations_on_it_are_not_launched(void **state) {
    (void)state;
    cbk_tensor *x = numbers(side.stream, 1), *z = numbers(side.stream, 9), *out = NULL,
               *view = NULL;
    assert_ok(cbk_sync(side.stream));
    cbk_tensor *y = broken_twice(side.stream, x);
    cbk_status status = CBK_OK;
    while (status == CBK_OK) status = cbk_flush(side.stream); // until it has ended
    assert_int_equal(status, CBK_ERROR_DRIVER);
    const uint64_t so_far = test_launch_count(side.device);
    assert_status(CBK_ERROR_PRODUCER, cbk_add(side.stream, x, y, &out));
    assert_null(out);
    assert_ok(cbk_flip(side.stream, y, 0, NULL, &view));
    assert_status(CBK_ERROR_PRODUCER, cbk_neg(side.other, view, &out));
    assert_status(CBK_ERROR_PRODUCER, cbk_neg_into(side.stream, y, z));
    assert_int_equal(test_launch_count(side.device), so_far);
    expect_failed(side.stream, z); // as an output that could not be made
    cbk_tensor_release(&x), cbk_tensor_release(&y), cbk_tensor_release(&z);
    cbk_tensor_release(&view);
}

static void rewriting_all_of_it_makes_it_good(void **state) {
    (void)state;
    float data[COUNT] = {7};
    cbk_tensor *x = numbers(side.stream, 1), *part = NULL;
    assert_ok(cbk_sync(side.stream));
    cbk_tensor *y = broken_twice(side.stream, x), *z = broken_twice(side.stream, x);
    assert_status(CBK_ERROR_DRIVER, cbk_sync(side.stream));
    assert_ok(cbk_slice(
        side.stream, y,
        &CBK_INIT(cbk_slice_params, .axis_count = 1, .start = {0}, .stop = {2}, .step = {1}),
        &part));
    assert_ok(cbk_tensor_write(side.stream, part, data, 2 * sizeof(float))); // a part is not enough
    expect_failed(side.stream, y);
    assert_ok(cbk_tensor_write(side.stream, y, data, sizeof data));
    expect_first(side.stream, y, 7);
    assert_ok(cbk_mul_into(side.other, x, x, z));
    expect_first(side.other, z, 1);
    // And it may fail again, with its own cause.
    begin_breaking(side.stream);
    assert_ok(cbk_add_into(side.stream, x, x, y));
    assert_status(CBK_ERROR_DRIVER, cbk_sync(side.stream));
    end_breaking();
    expect_failed(side.stream, y);
    cbk_tensor_release(&x), cbk_tensor_release(&y), cbk_tensor_release(&z);
    cbk_tensor_release(&part);
}

static void a_read_without_waiting_tells_at_its_event(void **state) {
    (void)state;
    float data[2][COUNT];
    uint32_t done = 0;
    cbk_event *good = NULL, *bad = NULL, *early = NULL;
    cbk_tensor *x = numbers(side.stream, 1), *before = twice(side.stream, x);
    assert_ok(cbk_sync(side.stream));
    const cbk_read_request first = {before, data[0], sizeof data[0]};
    assert_ok(cbk_tensor_read_async(side.stream, &first, 1, &early));
    cbk_tensor *y = broken_twice(side.stream, x), *z = twice(side.other, y);
    const cbk_read_request both[] = {{x, data[0], sizeof data[0]}, {z, data[1], sizeof data[1]}};
    assert_ok(cbk_tensor_read_async(side.other, both, 1, &good));
    assert_ok(cbk_tensor_read_async(side.other, both, 2, &bad));
    cbk_tensor_release(&z);
    assert_ok(cbk_event_wait(early));
    assert_ok(cbk_event_wait(good));
    assert_true(data[0][0] == 1);
    assert_status(CBK_ERROR_PRODUCER, cbk_event_wait(bad));
    assert_non_null(strstr(cbk_last_error_message(), "-1234"));
    assert_status(CBK_ERROR_PRODUCER, cbk_event_query(bad, &done));
    assert_int_equal(done, 1);
    assert_ok(cbk_sync(side.other));
    assert_status(CBK_ERROR_DRIVER, cbk_sync(side.stream));
    cbk_event_release(&good), cbk_event_release(&bad), cbk_event_release(&early);
    cbk_tensor_release(&x), cbk_tensor_release(&y), cbk_tensor_release(&before);
}

/// A host write fails like a kernel.
static void a_failed_write_counts(void **state) {
    (void)state;
    float data[COUNT] = {7};
    cbk_tensor *x = numbers(side.stream, 1), *y = numbers(side.stream, 2);
    assert_ok(cbk_sync(side.stream));
    begin_breaking(side.stream);
    assert_ok(cbk_tensor_write(side.stream, x, data, sizeof data));
    assert_status(CBK_ERROR_DRIVER, cbk_sync(side.stream));
    end_breaking();
    expect_failed(side.stream, x);
    expect_first(side.stream, y, 2);
    cbk_tensor_release(&x), cbk_tensor_release(&y);
}

/// The other stream computes with y before anybody knows that it failed.
static void another_stream_fails_only_through_such_tensors(void **state) {
    (void)state;
    cbk_tensor *x = numbers(side.stream, 1), *own = numbers(side.other, 5);
    assert_ok(cbk_sync(side.stream));
    assert_ok(cbk_sync(side.other));
    cbk_tensor *y = broken_twice(side.stream, x);
    cbk_tensor *from_y = twice(side.other, y), *again = twice(side.other, from_y);
    assert_ok(cbk_sync(side.other)); // the error is not its own
    expect_failed(side.other, from_y);
    expect_failed(side.other, again);
    expect_first(side.other, own, 5);
    cbk_tensor *later = twice(side.other, own), *of_x = twice(side.other, x);
    expect_first(side.other, later, 10);
    expect_first(side.other, of_x, 2);
    assert_status(CBK_ERROR_DRIVER, cbk_sync(side.stream));
    assert_ok(cbk_sync(side.stream));
    assert_ok(cbk_sync(side.other));
    expect_first(side.other, later, 10);
    expect_failed(side.stream, again);
    cbk_tensor_release(&x), cbk_tensor_release(&y), cbk_tensor_release(&own);
    cbk_tensor_release(&from_y), cbk_tensor_release(&again);
    cbk_tensor_release(&later), cbk_tensor_release(&of_x);
}

/// Through two streams, the middle one being waited for by nobody.
static void a_chain_of_streams(void **state) {
    (void)state;
    cbk_stream *third = NULL;
    assert_ok(cbk_stream_create(side.device, NULL, &third));
    cbk_tensor *x = numbers(side.stream, 1);
    assert_ok(cbk_sync(side.stream));
    cbk_tensor *good = twice(side.other, x), *y = broken_twice(side.stream, x),
               *z = twice(side.other, y);
    cbk_tensor *w = twice(third, z);
    expect_failed(third, w);
    expect_failed(third, z);
    assert_status(CBK_ERROR_DRIVER, cbk_sync(side.stream));
    assert_ok(cbk_sync(side.other));
    assert_ok(cbk_sync(third));
    cbk_tensor *after = twice(third, x);
    expect_first(third, after, 2);
    cbk_tensor_release(&x), cbk_tensor_release(&y), cbk_tensor_release(&z);
    cbk_tensor_release(&w), cbk_tensor_release(&after), cbk_tensor_release(&good);
    cbk_stream_release(&third);
}

/// More failures than a stream keeps apart.
static void old_failures_are_not_forgotten(void **state) {
    (void)state;
    enum { FAILURES = 3 * CBK_RT_MAX_FAILURES };
    cbk_tensor *x = numbers(side.stream, 1), *y[FAILURES] = {NULL};
    assert_ok(cbk_sync(side.stream));
    for (int i = 0; i < FAILURES; i++) {
        y[i] = broken_twice(side.stream, x);
        assert_status(CBK_ERROR_DRIVER, cbk_sync(side.stream));
    }
    for (int i = 0; i < FAILURES; i++) expect_failed(side.other, y[i]);
    expect_first(side.stream, x, 1);
    for (int i = 0; i < FAILURES; i++) cbk_tensor_release(&y[i]);
    cbk_tensor_release(&x);
}

/// A stream taken over from a destroyed one owes nothing for it; its tensors do.
static void a_destroyed_stream_takes_nobody_along(void **state) {
    (void)state;
    cbk_stream *brief = NULL;
    assert_ok(cbk_stream_create(side.device, NULL, &brief));
    cbk_tensor *x = numbers(brief, 1);
    assert_ok(cbk_sync(brief));
    cbk_tensor *y = broken_twice(brief, x);
    cbk_stream_release(&brief);
    assert_ok(cbk_stream_create(side.device, NULL, &brief));
    cbk_tensor *z = twice(brief, x);
    expect_first(brief, z, 2);
    expect_failed(brief, y);
    cbk_tensor_release(&x), cbk_tensor_release(&y), cbk_tensor_release(&z);
    cbk_stream_release(&brief);
}

/// More crossings than can be noted at once: the eldest are waited for.
static void many_crossings_in_flight(void **state) {
    (void)state;
    enum { ROUNDS = 3 * CBK_RT_MAX_DEPENDENCIES };
    cbk_tensor *x = numbers(side.stream, 0);
    for (int i = 0; i < ROUNDS; i++) {
        cbk_tensor *sum = NULL;
        assert_ok(cbk_add_scalar(i % 2 ? side.stream : side.other, x, cbk_f(1), &sum));
        cbk_tensor_release(&x);
        x = sum;
    }
    expect_first(side.stream, x, ROUNDS);
    cbk_tensor_release(&x);
}

// ---- graphs ------------------------------------------------------------------------------------------

struct graph {
    cbk_tensor *x, *made, *target;
};

static cbk_status step(cbk_stream *on, void *user_data) {
    struct graph *graph = user_data;
    cbk_tensor_release(&graph->made);
    const cbk_status status = cbk_add(on, graph->x, graph->x, &graph->made);
    return status == CBK_OK ? cbk_neg_into(on, graph->made, graph->target) : status;
}

static void replays_fail_and_work_again(void **state) {
    (void)state;
    float data[COUNT] = {3};
    struct graph it = {.x = numbers(side.stream, 1), .target = numbers(side.stream, 0)};
    cbk_graph *graph = NULL;
    assert_ok(cbk_graph_capture(side.stream, step, &it, &graph));
    assert_ok(cbk_graph_replay(graph));
    expect_first(side.stream, it.made, 2);
    begin_breaking(side.stream);
    assert_ok(cbk_graph_replay(graph));
    assert_status(CBK_ERROR_DRIVER, cbk_sync(side.stream));
    end_breaking();
    expect_failed(side.stream, it.made);
    expect_failed(side.stream, it.target);
    assert_ok(cbk_graph_replay(graph)); // it writes both anew
    expect_first(side.stream, it.made, 2);
    expect_first(side.stream, it.target, -2);
    // Without a good input there is no replay.
    begin_breaking(side.other);
    assert_ok(cbk_tensor_write(side.other, it.x, data, sizeof data));
    assert_status(CBK_ERROR_DRIVER, cbk_sync(side.other));
    end_breaking();
    assert_status(CBK_ERROR_PRODUCER, cbk_graph_replay(graph));
    expect_first(side.stream, it.made, 2);
    assert_ok(cbk_tensor_write(side.stream, it.x, data, sizeof data));
    assert_ok(cbk_graph_replay(graph));
    expect_first(side.stream, it.made, 6);
    cbk_graph_release(&graph);
    cbk_tensor_release(&it.x), cbk_tensor_release(&it.made), cbk_tensor_release(&it.target);
}

static void a_replay_that_stops_half_way(void **state) {
    (void)state;
    struct graph it = {.x = numbers(side.stream, 1), .target = numbers(side.stream, 0)};
    float data[COUNT];
    cbk_graph *graph = NULL;
    assert_ok(cbk_graph_capture(side.stream, step, &it, &graph));
    assert_ok(cbk_graph_replay(graph));
    assert_ok(cbk_sync(side.stream));
    cbk_fault_plan(1, CODE, "clEnqueueNDRangeKernel");
    assert_ok(cbk_graph_replay(graph));
    assert_status(CBK_ERROR_DRIVER, cbk_tensor_read(side.stream, it.made, data, sizeof data));
    assert_non_null(strstr(cbk_last_error_message(), "graph_replay"));
    assert_ok(cbk_graph_replay(graph));
    expect_first(side.stream, it.target, -2);
    cbk_graph_release(&graph);
    cbk_tensor_release(&it.x), cbk_tensor_release(&it.made), cbk_tensor_release(&it.target);
}

#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, open_device, close_device)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_DEVICE(what_failed_work_made_is_not_read),
        WITH_DEVICE(a_read_gives_the_error_first_and_then_the_cause),
        WITH_DEVICE(operations_on_it_are_not_launched),
        WITH_DEVICE(rewriting_all_of_it_makes_it_good),
        WITH_DEVICE(a_read_without_waiting_tells_at_its_event),
        WITH_DEVICE(a_failed_write_counts),
        WITH_DEVICE(another_stream_fails_only_through_such_tensors),
        WITH_DEVICE(a_chain_of_streams),
        WITH_DEVICE(old_failures_are_not_forgotten),
        WITH_DEVICE(a_destroyed_stream_takes_nobody_along),
        WITH_DEVICE(many_crossings_in_flight),
        WITH_DEVICE(replays_fail_and_work_again),
        WITH_DEVICE(a_replay_that_stops_half_way),
    };
    cbk_fault_table(&table);
    return CBK_FAULT_RUN(tests);
}
