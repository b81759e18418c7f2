/// test_lost.c: a device that its driver gave up, and one that belongs to the parent of a forked
/// process: every call says so at once, nothing hangs, and everything can still be released.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault_side.h"
#include "support.h"

enum { COUNT = 8 };

static struct cbk_rt_cl table;

/// A device with one of everything.
static struct {
    struct cbk_fault_side side;
    cbk_tensor *x, *y, *view;
    cbk_event *event;
    cbk_graph *graph;
    void *staging;
} it;

static cbk_status step(cbk_stream *stream, void *user_data) {
    (void)user_data;
    return cbk_add_into(stream, it.x, it.x, it.y);
}

static int open_it(void **state) {
    const int64_t length = COUNT;
    (void)state;
    cbk_fault_open(&it.side, &table);
    assert_ok(cbk_ones(it.side.stream, CBK_DTYPE_F32, 1, &length, &it.x));
    assert_ok(cbk_neg(it.side.other, it.x, &it.y));
    assert_ok(cbk_flip(it.side.stream, it.x, 0, NULL, &it.view));
    assert_ok(cbk_graph_capture(it.side.stream, step, NULL, &it.graph));
    assert_ok(cbk_graph_replay(it.graph));
    assert_ok(cbk_event_record(it.side.stream, &it.event));
    assert_ok(cbk_staging_alloc(it.side.device, 100, &it.staging));
    return 0;
}

static void release_it(void) {
    cbk_staging_free(it.side.device, &it.staging);
    cbk_tensor_release(&it.x), cbk_tensor_release(&it.view), cbk_tensor_release(&it.y);
    cbk_event_release(&it.event);
    cbk_graph_release(&it.graph);
    cbk_stream_release(&it.side.other), cbk_stream_release(&it.side.stream);
    cbk_device_release(&it.side.device);
    cbk_backend_release(&it.side.backend);
}

static int close_it(void **state) {
    (void)state;
    cbk_fault_reset();
    release_it();
    assert_string_equal(cbk_fault_leaks(), "");
    assert_int_equal(cbk_fault_blocks_held(), 0);
    assert_int_equal(cbk_fault_wrong_sizes(), 0);
    return 0;
}

// ---- every call ----------------------------------------------------------------------------------

static cbk_status create_tensor(void) {
    cbk_tensor *out = NULL;
    return cbk_tensor_empty(it.side.stream, CBK_DTYPE_F32, 1, (int64_t[]){4}, &out);
}
static cbk_status from_data(void) {
    const float data[2] = {1, 2};
    cbk_tensor *out = NULL;
    return cbk_tensor_from_data(it.side.stream, CBK_DTYPE_F32, 1, (int64_t[]){2}, data, 8, &out);
}
static cbk_status operate(void) {
    cbk_tensor *out = NULL;
    return cbk_add(it.side.other, it.x, it.x, &out);
}
static cbk_status operate_into(void) {
    return cbk_exp_into(it.side.stream, it.x, it.y);
}
static cbk_status copy_view(void) {
    cbk_tensor *out = NULL;
    return cbk_copy(it.side.stream, it.view, &out);
}
static cbk_status multiply(void) {
    const int64_t shape[] = {2, 4}, turned[] = {4, 2};
    cbk_tensor *a = NULL, *b = NULL, *out = NULL;
    cbk_status status = cbk_reshape(it.side.stream, it.x, 2, shape, &a);
    if (status == CBK_OK) status = cbk_reshape(it.side.stream, it.x, 2, turned, &b);
    if (status == CBK_OK) status = cbk_matmul(it.side.stream, a, b, NULL, &out);
    cbk_tensor_release(&a), cbk_tensor_release(&b);
    return status;
}
static cbk_status draw(void) {
    cbk_tensor *out = NULL;
    return cbk_random_uniform(it.side.stream, CBK_DTYPE_F32, 1, (int64_t[]){4}, 0, 1, &out);
}
static float place[COUNT];
static cbk_status write_tensor(void) {
    return cbk_tensor_write(it.side.stream, it.x, place, sizeof place);
}
static cbk_status write_view(void) {
    return cbk_tensor_write(it.side.stream, it.view, place, sizeof place);
}
static cbk_status read_tensor(void) {
    return cbk_tensor_read(it.side.stream, it.x, place, sizeof place);
}
static cbk_status read_view(void) {
    return cbk_tensor_read(it.side.other, it.view, place, sizeof place);
}
static cbk_status read_async(void) {
    cbk_event *out = NULL;
    const cbk_read_request request = {it.x, place, sizeof place};
    return cbk_tensor_read_async(it.side.stream, &request, 1, &out);
}
static cbk_status to_reference(void) {
    cbk_backend *backend = NULL;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *out = NULL;
    assert_ok(cbk_reference_create(NULL, &backend));
    assert_ok(cbk_device_open(backend, NULL, &device));
    assert_ok(cbk_stream_create(device, NULL, &stream));
    const cbk_status status = cbk_tensor_to_device(it.side.stream, it.x, stream, &out);
    cbk_stream_release(&stream);
    cbk_device_release(&device);
    cbk_backend_release(&backend);
    return status;
}
static cbk_status sync_stream(void) {
    return cbk_sync(it.side.stream);
}
static cbk_status sync_other(void) {
    return cbk_sync(it.side.other);
}
static cbk_status flush_stream(void) {
    return cbk_flush(it.side.stream);
}
static cbk_status record_event(void) {
    cbk_event *out = NULL;
    return cbk_event_record(it.side.stream, &out);
}
static cbk_status query_event(void) {
    uint32_t done = 0;
    return cbk_event_query(it.event, &done);
}
static cbk_status wait_event(void) {
    return cbk_event_wait(it.event);
}
static cbk_status stream_wait_event(void) {
    return cbk_stream_wait_event(it.side.other, it.event);
}
static cbk_status create_stream(void) {
    cbk_stream *out = NULL;
    return cbk_stream_create(it.side.device, NULL, &out);
}
static cbk_status prepare(void) {
    return cbk_graph_prepare(it.side.other);
}
static cbk_status capture(void) {
    cbk_graph *out = NULL;
    return cbk_graph_capture(it.side.other, step, NULL, &out);
}
static cbk_status replay(void) {
    return cbk_graph_replay(it.graph);
}
static cbk_status clean_up(void) {
    return cbk_memory_cleanup(it.side.device);
}
static cbk_status stage(void) {
    void *memory = NULL;
    return cbk_staging_alloc(it.side.device, 64, &memory);
}

static const struct {
    const char *name;
    cbk_status (*call)(void);
} calls[] = {
    {"tensor_empty", create_tensor},
    {"tensor_from_data", from_data},
    {"add", operate},
    {"exp_into", operate_into},
    {"copy", copy_view},
    {"matmul", multiply},
    {"random_uniform", draw},
    {"tensor_write", write_tensor},
    {"tensor_write of a view", write_view},
    {"tensor_read", read_tensor},
    {"tensor_read of a view", read_view},
    {"tensor_read_async", read_async},
    {"tensor_to_device", to_reference},
    {"sync", sync_stream},
    {"sync of another stream", sync_other},
    {"flush", flush_stream},
    {"event_record", record_event},
    {"event_query", query_event},
    {"event_wait", wait_event},
    {"stream_wait_event", stream_wait_event},
    {"stream_create", create_stream},
    {"graph_prepare", prepare},
    {"graph_capture", capture},
    {"graph_replay", replay},
    {"memory_cleanup", clean_up},
    {"staging_alloc", stage},
};
enum { CALLS = sizeof calls / sizeof *calls };

/// How many calls do not give the status, or ask the driver first.
static int count_wrong(cbk_status expected) {
    int wrong = 0;
    for (int i = 0; i < CALLS; i++) {
        cbk_fault_plan(0, 0, NULL);
        const cbk_status status = calls[i].call();
        if (status == expected && cbk_fault_calls() == 0) continue;
        print_error("%s: %s after %d calls of the driver\n", calls[i].name,
                    cbk_status_string(status), (int)cbk_fault_calls());
        wrong++;
    }
    return wrong;
}

// ---- tests -----------------------------------------------------------------------------------------

static void lose(const char *function, cbk_status (*call)(void)) {
    cbk_fault_plan(1, CL_INVALID_COMMAND_QUEUE, function);
    assert_status(CBK_ERROR_DEVICE_LOST, call());
    cbk_fault_reset();
    assert_int_equal(cbk_device_state(it.side.device), CBK_ERROR_DEVICE_LOST);
    assert_int_equal(count_wrong(CBK_ERROR_DEVICE_LOST), 0);
}

static void lost_at_a_launch(void **state) {
    (void)state;
    lose("clEnqueueNDRangeKernel", operate);
}

static void lost_at_a_read(void **state) {
    (void)state;
    lose("clEnqueueReadBuffer", read_tensor);
}

static void lost_while_waiting(void **state) {
    (void)state;
    lose("clFinish", sync_stream);
}

static void lost_at_an_allocation(void **state) {
    (void)state;
    lose("clEnqueueWriteBuffer", from_data);
}

static cbk_status lose_in_capture(cbk_stream *stream, void *user_data) {
    int *run = user_data;
    if ((*run)++ == 1) cbk_fault_plan(1, CL_INVALID_COMMAND_QUEUE, "clSetKernelArg");
    return step(stream, NULL);
}

static void lost_in_a_capture(void **state) {
    cbk_graph *graph = NULL;
    int run = 0;
    (void)state;
    assert_status(CBK_ERROR_DEVICE_LOST,
                  cbk_graph_capture(it.side.stream, lose_in_capture, &run, &graph));
    assert_null(graph);
    assert_int_equal(count_wrong(CBK_ERROR_DEVICE_LOST), 0);
}

/// The device has to be opened anew in the child; what the parent opened only says no.
static void a_forked_child(void **state) {
    (void)state;
    assert_ok(cbk_add_into(it.side.stream, it.x, it.x, it.y)); // in flight
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60); // a hang ends with a signal
        const int wrong = count_wrong(CBK_ERROR_INVALID_STATE);
        release_it();
        _exit(wrong ? 1 : 0);
    }
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
    assert_ok(read_tensor());
    assert_true(place[0] == 1);
}

#define WITH_IT(test) cmocka_unit_test_setup_teardown(test, open_it, close_it)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_IT(lost_at_a_launch),  WITH_IT(lost_at_a_read),        WITH_IT(lost_while_waiting),
        WITH_IT(lost_in_a_capture), WITH_IT(lost_at_an_allocation), WITH_IT(a_forked_child),
    };
    cbk_fault_table(&table);
    return CBK_FAULT_RUN(tests);
}
