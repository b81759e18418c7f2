// test_replay.c: what a replay asks of the driver and of the host: a command for each node, now and
// then an event and a flush, and nothing else.

#include "captured.h"
#include "device.h"
#include "fault_side.h"
#include "support.h"

enum { NODES = 300, COUNT = 10000 }; ///< more elements than merged launches have

static struct cbk_rt_cl table;
static struct cbk_fault_side side;

static int open_device(void **state) {
    (void)state;
    cbk_fault_open(&side, &table);
    return 0;
}

static int close_device(void **state) {
    (void)state;
    assert_int_equal(cbk_fault_memory(&side).used_bytes, 0);
    cbk_fault_close(&side);
    return 0;
}

struct work {
    cbk_tensor *x, *drawn;
    bool draws;
};

static cbk_status run(cbk_stream *stream, void *user_data) {
    struct work *w = user_data;
    cbk_status status = CBK_OK;
    cbk_tensor_release(&w->drawn);
    if (w->draws) {
        TRY(cbk_random_uniform(stream, CBK_DTYPE_F32, 1, (int64_t[]){COUNT}, 0, 1, &w->drawn));
        TRY(cbk_add_into(stream, w->x, w->drawn, w->x));
    }
    for (int i = 0; i < NODES; i++) TRY(cbk_add_scalar_into(stream, w->x, cbk_f(1), w->x));
done:
    return status;
}

/// Calls of a function, or of all, that one replay makes.
static uint64_t calls_of(cbk_graph *graph, const char *function) {
    assert_ok(cbk_sync(side.stream));
    cbk_fault_plan(UINT64_MAX, CL_SUCCESS, function);
    cbk_fault_plan_allocation(0);
    assert_ok(cbk_graph_replay(graph));
    const uint64_t count = cbk_fault_calls();
    assert_int_equal(cbk_fault_allocations(), 0);
    cbk_fault_reset();
    return count;
}

/// The graph of a run, replayed once; that notes what is remembered.
static cbk_graph *capture(struct work *work) {
    cbk_graph *graph = NULL;
    assert_ok(cbk_zeros(side.stream, CBK_DTYPE_F32, 1, (int64_t[]){COUNT}, &work->x));
    assert_ok(cbk_graph_capture(side.stream, run, work, &graph));
    assert_ok(cbk_graph_replay(graph));
    return graph;
}

static void release(struct work *work, cbk_graph **graph) {
    cbk_graph_release(graph);
    cbk_tensor_release(&work->x);
    cbk_tensor_release(&work->drawn);
}

static void commands_and_little_else(void **state) {
    struct work work = {NULL};
    (void)state;
    cbk_graph *graph = capture(&work);
    const uint64_t before = test_launch_count(side.device);
    assert_int_equal(calls_of(graph, "clEnqueueNDRangeKernel"), NODES);
    assert_int_equal(test_launch_count(side.device) - before, NODES);
    assert_int_equal(calls_of(graph, "clSetKernelArg"), 0);
    assert_in_range(calls_of(graph, "clFlush"), 1, 8);
    assert_in_range(calls_of(graph, NULL), NODES + 1, NODES + 32);
    release(&work, &graph);
}

static void draws_set_one_argument(void **state) {
    struct work work = {.draws = true};
    (void)state;
    cbk_graph *graph = capture(&work);
    assert_int_equal(calls_of(graph, "clSetKernelArg"), 1);
    assert_in_range(calls_of(graph, NULL), NODES + 3, NODES + 36);
    release(&work, &graph);
}

/// Small graphs one after the other: no event for each.
static void many_small_graphs(void **state) {
    float first = 0;
    cbk_graph *graph = NULL;
    cbk_tensor *x = NULL, *part = NULL;
    (void)state;
    assert_ok(cbk_zeros(side.stream, CBK_DTYPE_F32, 1, (int64_t[]){COUNT}, &x));
    assert_ok(cbk_graph_prepare(side.stream));
    assert_ok(cbk_add_scalar_into(side.stream, x, cbk_f(1), x));
    assert_ok(cbk_graph_start_capture(side.stream));
    assert_ok(cbk_add_scalar_into(side.stream, x, cbk_f(1), x));
    assert_ok(cbk_graph_stop_capture(side.stream, &graph));
    assert_ok(cbk_sync(side.stream));
    cbk_fault_plan(UINT64_MAX, CL_SUCCESS, NULL);
    for (int i = 0; i < NODES; i++) assert_ok(cbk_graph_replay(graph));
    assert_in_range(cbk_fault_calls(), NODES, NODES + NODES / 4);
    cbk_fault_reset();
    assert_ok(cbk_narrow(side.stream, x, 0, 0, 1, &part));
    assert_ok(cbk_tensor_read(side.stream, part, &first, sizeof first));
    assert_true(first == NODES + 1);
    cbk_graph_release(&graph);
    cbk_tensor_release(&part);
    cbk_tensor_release(&x);
}

#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, open_device, close_device)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_DEVICE(commands_and_little_else),
        WITH_DEVICE(draws_set_one_argument),
        WITH_DEVICE(many_small_graphs),
    };
    cbk_fault_table(&table);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
