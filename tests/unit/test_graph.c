// test_graph.c: what core adds to the backend's capture: the convenience call and its way out.
#include "mock_backend.h"
#include "support.h"

#include <string.h>

/// Calls of the graph slots, in order: p(repare), s(tart), e(nd), a(bort), r(eplay).
static char steps[16];

static void step(char letter) {
    size_t length = strlen(steps);
    if (length + 1 < sizeof steps) steps[length] = letter;
}

static cbk_status on_prepare(void *self, void *stream) {
    (void)self, (void)stream;
    step('p');
    return CBK_OK;
}
static cbk_status on_start(void *self, void *stream) {
    (void)self, (void)stream;
    step('s');
    return CBK_OK;
}
static cbk_status on_abort(void *self, void *stream) {
    (void)self, (void)stream;
    step('a');
    return cbk_fail(CBK_ERROR_DRIVER, 0, "a failure of the abort");
}
static cbk_status on_replay(void *self, void *stream, void *graph) {
    (void)self, (void)stream, (void)graph;
    step('r');
    return CBK_OK;
}

static struct mock mock;

static int open_mock(void **state) {
    (void)state;
    memset(steps, 0, sizeof steps);
    mock_init(&mock);
    mock.vtable.graph_prepare = on_prepare;
    mock.vtable.graph_start_capture = on_start;
    mock.vtable.graph_abort = on_abort;
    mock.vtable.graph_replay = on_replay;
    mock_open(&mock);
    return 0;
}

static int close_mock(void **state) {
    (void)state;
    mock_close(&mock);
    return mock.graphs == 0 && mock.storages == 0 && mock.destroyed == 1 ? 0 : -1;
}

struct workload {
    int runs, failing_run;
};

static cbk_status work(cbk_stream *stream, void *user_data) {
    struct workload *workload = user_data;
    cbk_tensor *x = NULL;
    const int64_t shape[1] = {workload->runs++ == workload->failing_run ? -1 : 4};
    cbk_status status = cbk_zeros(stream, CBK_DTYPE_F32, 1, shape, &x);
    cbk_tensor_release(&x);
    return status;
}

static void captures(void **state) {
    (void)state;
    struct workload workload = {0, -1};
    cbk_graph *graph = NULL, *again = NULL;
    assert_ok(cbk_graph_capture(mock.stream, work, &workload, &graph));
    assert_int_equal(workload.runs, 2);
    assert_ok(cbk_graph_replay(graph));
    assert_ok(cbk_graph_replay(graph));
    assert_string_equal(steps, "psrr");
    again = cbk_graph_retain(graph);
    cbk_graph_release(&graph);
    assert_int_equal(mock.graphs, 1);
    cbk_graph_release(&again);
    assert_int_equal(mock.graphs, 0);
}

/// Whichever run fails, the capture is left and the reason is the run's.
static void failing_runs(void **state) {
    (void)state;
    for (int run = 0; run < 2; run++) {
        struct workload workload = {0, run};
        cbk_graph *graph = (cbk_graph *)&mock;
        memset(steps, 0, sizeof steps);
        assert_status(CBK_ERROR_SHAPE, cbk_graph_capture(mock.stream, work, &workload, &graph));
        assert_null(graph);
        assert_string_equal(steps, run == 0 ? "pa" : "psa");
        assert_string_equal(cbk_last_error_message(), "fill: length -1 of axis 0 is negative");
    }
}

static void failing_stop(void **state) {
    (void)state;
    struct workload workload = {0, -1};
    cbk_graph *graph = NULL;
    mock.stop_status = CBK_ERROR_INVALID_STATE;
    assert_status(CBK_ERROR_INVALID_STATE, cbk_graph_capture(mock.stream, work, &workload, &graph));
    assert_null(graph);
    assert_string_equal(cbk_last_error_message(), "graph_stop_capture: told to fail");
}

static void bad_arguments(void **state) {
    (void)state;
    struct workload workload = {0, -1};
    cbk_graph *graph = NULL;
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_graph_capture(mock.stream, NULL, &workload, &graph));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_graph_capture(NULL, work, &workload, &graph));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_graph_capture(mock.stream, work, &workload, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_graph_stop_capture(mock.stream, NULL));
    assert_string_equal(steps, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(captures, open_mock, close_mock),
        cmocka_unit_test_setup_teardown(failing_runs, open_mock, close_mock),
        cmocka_unit_test_setup_teardown(failing_stop, open_mock, close_mock),
        cmocka_unit_test_setup_teardown(bad_arguments, open_mock, close_mock),
    };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
