// test_graph.c: capture and replay, the same on every backend: recorded and not executed, refreshed
// by writing, states that recover, memory that stays the graph's.

#include "device.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct subject {
    const char *name;
    cbk_status (*create)(const cbk_backend_params *, cbk_backend **);
};

static const struct subject subjects[] = {
    {"reference", cbk_reference_create},
    {"opencl", cbk_opencl_create},
};
#define SUBJECT_COUNT (sizeof subjects / sizeof *subjects)

static const struct subject *subject;
static struct test_side side;
static cbk_stream *stream;

static int open_side(void **state) {
    cbk_backend_params params = test_backend_params();
    cbk_backend *backend = NULL;
    (void)state;
    if (subject->create(&params, &backend) != CBK_OK) return -1;
    if (!test_side_open(&side, subject->name, backend, !strcmp(subject->name, "opencl"))) return -1;
    stream = side.stream;
    return 0;
}

static int close_side(void **state) {
    (void)state;
    return test_side_finish(&side);
}

// ---- helpers -------------------------------------------------------------------------------------

static cbk_tensor *floats_on(cbk_stream *on, const float *data, int64_t count) {
    cbk_tensor *x = NULL;
    assert_ok(cbk_tensor_from_data(on, CBK_DTYPE_F32, 1, &count, data,
                                   (uint64_t)count * sizeof *data, &x));
    return x;
}

static cbk_tensor *floats(const float *data, int64_t count) {
    return floats_on(stream, data, count);
}

static void write_floats(cbk_tensor *x, const float *data, size_t count) {
    assert_ok(cbk_tensor_write(stream, x, data, count * sizeof *data));
}

static void expect_on(cbk_stream *on, const cbk_tensor *tensor, const float *want, size_t count) {
    float *got = malloc(count * sizeof *got);
    assert_non_null(got);
    assert_ok(cbk_tensor_read(on, tensor, got, count * sizeof *got));
    for (size_t i = 0; i < count; i++) {
        if (got[i] == want[i]) continue;
        print_error("element %zu: want %g, got %g\n", i, want[i], got[i]);
        fail();
    }
    free(got);
}

static void expect(const cbk_tensor *tensor, const float *want, size_t count) {
    expect_on(stream, tensor, want, count);
}

static cbk_tensor *add_one(cbk_stream *on, const cbk_tensor *x) {
    cbk_tensor *y = NULL;
    assert_ok(cbk_add_scalar(on, x, cbk_f(1), &y));
    return y;
}

static void begin_capture(cbk_stream *on) {
    assert_ok(cbk_graph_prepare(on));
    assert_ok(cbk_graph_start_capture(on));
}

static cbk_graph *end_capture(cbk_stream *on) {
    cbk_graph *graph = NULL;
    assert_ok(cbk_graph_stop_capture(on, &graph));
    assert_non_null(graph);
    return graph;
}

static uint64_t used_bytes(void) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    assert_ok(cbk_memory_usage(side.device, &info));
    return info.used_bytes;
}

static const float one_to_four[] = {1, 2, 3, 4};

// ---- what a graph does ---------------------------------------------------------------------------

static void test_add_one(void **state) {
    (void)state;
    cbk_tensor *x = floats(one_to_four, 4);
    begin_capture(stream);
    cbk_tensor *y = add_one(stream, x);
    cbk_graph *graph = end_capture(stream);
    for (int i = 0; i < 2; i++) {
        assert_ok(cbk_graph_replay(graph));
        expect(y, (float[]){2, 3, 4, 5}, 4);
    }
    write_floats(x, (float[]){10, 20, 30, 40}, 4);
    assert_ok(cbk_graph_replay(graph));
    expect(y, (float[]){11, 21, 31, 41}, 4);
    cbk_graph_release(&graph);
    expect(y, (float[]){11, 21, 31, 41}, 4);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
}

/// Recorded, not executed.
static void test_nothing_runs(void **state) {
    (void)state;
    cbk_tensor *x = floats(one_to_four, 4);
    begin_capture(stream);
    assert_ok(cbk_add_scalar_into(stream, x, cbk_f(1), x));
    cbk_graph *graph = end_capture(stream);
    expect(x, one_to_four, 4);
    assert_ok(cbk_graph_replay(graph));
    assert_ok(cbk_graph_replay(graph));
    expect(x, (float[]){3, 4, 5, 6}, 4);
    cbk_graph_release(&graph);
    cbk_tensor_release(&x);
}

/// An intermediate that died in the capture keeps its memory from everybody else.
static void test_dead_intermediate(void **state) {
    enum { SENTINELS = 20 };
    cbk_tensor *sentinels[SENTINELS] = {NULL};
    (void)state;
    cbk_tensor *x = floats(one_to_four, 4), *y = NULL;
    begin_capture(stream);
    cbk_tensor *middle = add_one(stream, x);
    assert_ok(cbk_mul_scalar(stream, middle, cbk_f(2), &y));
    cbk_tensor_release(&middle);
    cbk_graph *graph = end_capture(stream);
    for (int i = 0; i < SENTINELS; i++) sentinels[i] = floats((float[]){7, 8, 9, (float)i}, 4);
    for (int i = 0; i < 3; i++) assert_ok(cbk_graph_replay(graph));
    expect(y, (float[]){4, 6, 8, 10}, 4);
    for (int i = 0; i < SENTINELS; i++) {
        expect(sentinels[i], (float[]){7, 8, 9, (float)i}, 4);
        cbk_tensor_release(&sentinels[i]);
    }
    cbk_graph_release(&graph);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
}

static void test_ping_pong(void **state) {
    enum { ROUNDS = 75 };
    (void)state;
    cbk_tensor *a = floats(one_to_four, 4), *b = floats(one_to_four, 4);
    begin_capture(stream);
    for (int i = 0; i < ROUNDS; i++) {
        assert_ok(cbk_add_scalar_into(stream, a, cbk_f(1), b));
        assert_ok(cbk_add_scalar_into(stream, b, cbk_f(1), a));
    }
    cbk_graph *graph = end_capture(stream);
    assert_ok(cbk_graph_replay(graph));
    assert_ok(cbk_graph_replay(graph));
    expect(a, (float[]){301, 302, 303, 304}, 4);
    expect(b, (float[]){300, 301, 302, 303}, 4);
    cbk_graph_release(&graph);
    cbk_tensor_release(&a);
    cbk_tensor_release(&b);
}

static void test_empty_graph(void **state) {
    (void)state;
    begin_capture(stream);
    cbk_graph *graph = end_capture(stream);
    assert_ok(cbk_graph_replay(graph));
    assert_ok(cbk_sync(stream));
    cbk_graph_release(&graph);
}

/// Views, a reduction, and a copy that a reshape needs.
static void test_views(void **state) {
    (void)state;
    cbk_tensor *x = floats((float[]){1, 2, 3, 4, 5, 6}, 6);
    cbk_tensor *matrix = NULL, *turned = NULL, *flat = NULL, *sum = NULL;
    begin_capture(stream);
    assert_ok(cbk_reshape(stream, x, 2, (int64_t[]){2, 3}, &matrix));
    assert_ok(cbk_transpose(stream, matrix, 0, 1, &turned));
    assert_ok(cbk_reshape(stream, turned, 1, (int64_t[]){6}, &flat));
    assert_ok(cbk_sum(stream, turned, NULL, &sum));
    cbk_graph *graph = end_capture(stream);
    cbk_tensor_release(&matrix);
    assert_ok(cbk_graph_replay(graph));
    expect(flat, (float[]){1, 4, 2, 5, 3, 6}, 6);
    expect(sum, (float[]){21}, 1);
    write_floats(x, (float[]){2, 2, 2, 3, 3, 3}, 6);
    assert_ok(cbk_graph_replay(graph));
    expect(flat, (float[]){2, 3, 2, 3, 2, 3}, 6);
    expect(sum, (float[]){15}, 1);
    cbk_graph_release(&graph);
    cbk_tensor_release(&x);
    cbk_tensor_release(&turned);
    cbk_tensor_release(&flat);
    cbk_tensor_release(&sum);
}

static void test_matmul(void **state) {
    enum { N = 24 };
    float data[N * N], want[N * N], got[N * N];
    (void)state;
    for (int i = 0; i < N * N; i++) data[i] = (float)(i % 7) - 3.0f;
    cbk_tensor *flat = floats(data, N * N), *x = NULL, *eager = NULL, *y = NULL;
    assert_ok(cbk_reshape(stream, flat, 2, (int64_t[]){N, N}, &x));
    assert_ok(cbk_matmul(stream, x, x, NULL, &eager));
    assert_ok(cbk_tensor_read(stream, eager, want, sizeof want));
    begin_capture(stream);
    assert_ok(cbk_matmul(stream, x, x, NULL, &y));
    cbk_graph *graph = end_capture(stream);
    for (int i = 0; i < 3; i++) {
        assert_ok(cbk_graph_replay(graph));
        assert_ok(cbk_tensor_read(stream, y, got, sizeof got));
        assert_memory_equal(got, want, sizeof got);
    }
    cbk_graph_release(&graph);
    cbk_tensor_release(&flat);
    cbk_tensor_release(&x);
    cbk_tensor_release(&eager);
    cbk_tensor_release(&y);
}

// ---- random numbers --------------------------------------------------------------------------------

static cbk_status draw(cbk_stream *on, void *user_data) {
    cbk_tensor **out = user_data;
    cbk_tensor *uniform = NULL, *normal = NULL;
    cbk_tensor_release(out);
    cbk_status status = cbk_random_uniform(on, CBK_DTYPE_F32, 1, (int64_t[]){10}, 0, 1, &uniform);
    if (status == CBK_OK) {
        status = cbk_random_normal(on, CBK_DTYPE_F32, 1, (int64_t[]){10}, 0, 1, &normal);
    }
    if (status == CBK_OK) status = cbk_add(on, uniform, normal, out);
    cbk_tensor_release(&uniform);
    cbk_tensor_release(&normal);
    return status;
}

static void draw_and_read(float data[10]) {
    cbk_tensor *out = NULL;
    assert_ok(draw(stream, &out));
    assert_ok(cbk_tensor_read(stream, out, data, 10 * sizeof *data));
    cbk_tensor_release(&out);
}

/// The k-th run is the k-th run, replayed or not, whatever is drawn in between, after any seed.
static void test_random(void **state) {
    enum { RUNS = 5 };
    float eager[RUNS][10], replayed[10];
    cbk_tensor *out = NULL;
    cbk_graph *graph = NULL;
    (void)state;
    for (uint64_t seed = 7; seed < 9; seed++) {
        assert_ok(cbk_seed(side.device, seed));
        for (int i = 0; i < RUNS; i++) draw_and_read(eager[i]);
        assert_ok(cbk_seed(side.device, seed));
        if (!graph) {
            // The warm-up is the first run; the capture draws nothing.
            assert_ok(cbk_graph_capture(stream, draw, &out, &graph));
        } else {
            assert_ok(cbk_graph_replay(graph));
        }
        for (int i = 1; i < RUNS; i++) {
            if (i == 3) {
                draw_and_read(replayed);
            } else {
                assert_ok(cbk_graph_replay(graph));
                assert_ok(cbk_tensor_read(stream, out, replayed, sizeof replayed));
            }
            assert_memory_equal(replayed, eager[i], sizeof replayed);
        }
    }
    cbk_graph_release(&graph);
    cbk_tensor_release(&out);
}

// ---- states ------------------------------------------------------------------------------------------

static void expect_message(const char *start) {
    if (strncmp(cbk_last_error_message(), start, strlen(start)) == 0) return;
    print_error("\"%s\" does not start with \"%s\"\n", cbk_last_error_message(), start);
    fail();
}

static void test_wrong_transitions(void **state) {
    (void)state;
    cbk_graph *graph = NULL;
    assert_status(CBK_ERROR_INVALID_STATE, cbk_graph_start_capture(stream));
    expect_message("graph_start_capture: ");
    assert_status(CBK_ERROR_INVALID_STATE, cbk_graph_stop_capture(stream, &graph));
    expect_message("graph_stop_capture: ");
    assert_null(graph);
    assert_ok(cbk_graph_abort(stream));
    assert_ok(cbk_graph_prepare(stream));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_graph_prepare(stream));
    expect_message("graph_prepare: ");
    assert_status(CBK_ERROR_INVALID_STATE, cbk_graph_stop_capture(stream, &graph));
    assert_ok(cbk_graph_start_capture(stream));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_graph_start_capture(stream));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_graph_prepare(stream));
    graph = end_capture(stream);
    cbk_graph_release(&graph);
    assert_status(CBK_ERROR_INVALID_STATE, cbk_graph_stop_capture(stream, &graph));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_graph_start_capture(stream));
    assert_ok(cbk_graph_prepare(stream));
    assert_ok(cbk_graph_abort(stream));
    assert_ok(cbk_graph_prepare(stream));
    assert_ok(cbk_graph_abort(stream));
}

/// Read, sync, events, and a replay are refused at once, and the capture goes on.
static void test_refusals(void **state) {
    (void)state;
    float data[4];
    uint32_t done = 0;
    cbk_event *event = NULL;
    cbk_tensor *x = floats(one_to_four, 4), *view = NULL;
    begin_capture(stream);
    cbk_tensor *z = add_one(stream, x);
    cbk_graph *other = end_capture(stream);
    assert_ok(cbk_flip(stream, x, 1, (int32_t[]){0}, &view));

    begin_capture(stream);
    cbk_tensor *y = add_one(stream, x);
    assert_status(CBK_ERROR_INVALID_STATE, cbk_tensor_read(stream, x, data, sizeof data));
    expect_message("tensor_read: ");
    assert_status(CBK_ERROR_INVALID_STATE, cbk_tensor_read(stream, view, data, sizeof data));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_tensor_read(stream, y, data, sizeof data));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_sync(stream));
    expect_message("sync: ");
    assert_status(CBK_ERROR_INVALID_STATE, cbk_event_record(stream, &event));
    assert_null(event);
    assert_status(CBK_ERROR_INVALID_STATE, cbk_graph_replay(other));
    expect_message("graph_replay: ");
    assert_ok(cbk_flush(stream));
    cbk_graph *graph = end_capture(stream);

    assert_ok(cbk_graph_replay(graph));
    expect(y, (float[]){2, 3, 4, 5}, 4);
    assert_ok(cbk_event_record(stream, &event));
    assert_ok(cbk_event_wait(event));
    assert_ok(cbk_event_query(event, &done));
    assert_int_equal(done, 1);
    cbk_event_release(&event);
    cbk_graph_release(&graph);
    cbk_graph_release(&other);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    cbk_tensor_release(&z);
    cbk_tensor_release(&view);
}

static void test_write_fails_the_stop(void **state) {
    (void)state;
    cbk_graph *graph = NULL;
    cbk_tensor *x = floats(one_to_four, 4);
    begin_capture(stream);
    cbk_tensor *y = add_one(stream, x);
    write_floats(x, (float[]){9, 9, 9, 9}, 4);
    assert_status(CBK_ERROR_INVALID_STATE, cbk_graph_stop_capture(stream, &graph));
    expect_message("graph_stop_capture: host memory was written");
    assert_null(graph);
    cbk_tensor_release(&y);
    expect(x, one_to_four, 4);
    begin_capture(stream);
    y = add_one(stream, x);
    graph = end_capture(stream);
    assert_ok(cbk_graph_replay(graph));
    expect(y, (float[]){2, 3, 4, 5}, 4);
    cbk_graph_release(&graph);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
}

static void test_abort_recovers(void **state) {
    (void)state;
    cbk_tensor *x = floats(one_to_four, 4);
    const uint64_t before = used_bytes();
    begin_capture(stream);
    cbk_tensor *y = add_one(stream, x);
    assert_ok(cbk_add_scalar_into(stream, x, cbk_f(5), x));
    assert_ok(cbk_graph_abort(stream));
    cbk_tensor_release(&y);
    assert_true(used_bytes() == before);
    expect(x, one_to_four, 4);
    y = add_one(stream, x);
    expect(y, (float[]){2, 3, 4, 5}, 4);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
}

/// A stream that goes in the middle of a capture takes the recording with it.
static void test_stream_dies_capturing(void **state) {
    (void)state;
    cbk_stream *second = NULL;
    assert_ok(cbk_stream_create(side.device, NULL, &second));
    cbk_tensor *x = floats_on(second, one_to_four, 4), *drawn = NULL;
    begin_capture(second);
    cbk_tensor *y = add_one(second, x);
    assert_ok(draw(second, &drawn));
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    cbk_tensor_release(&drawn);
    cbk_stream_release(&second);
    assert_ok(cbk_stream_create(side.device, NULL, &second));
    assert_ok(cbk_sync(second));
    cbk_stream_release(&second);
}

// ---- tensors made in a capture -------------------------------------------------------------------------

static void test_contents_come_with_a_replay(void **state) {
    (void)state;
    float data[4];
    cbk_tensor *x = floats(one_to_four, 4), *z = NULL;
    begin_capture(stream);
    cbk_tensor *y = add_one(stream, x);
    cbk_graph *graph = end_capture(stream);
    assert_status(CBK_ERROR_INVALID_STATE, cbk_tensor_read(stream, y, data, sizeof data));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_add_scalar(stream, y, cbk_f(1), &z));
    assert_null(z);
    assert_ok(cbk_graph_replay(graph));
    expect(y, (float[]){2, 3, 4, 5}, 4);
    z = add_one(stream, y);
    expect(z, (float[]){3, 4, 5, 6}, 4);
    cbk_graph_release(&graph);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    cbk_tensor_release(&z);
}

/// The graph outlives all tensors, and holds just what it needs.
static void test_graph_outlives_tensors(void **state) {
    enum { COUNT = 1000 };
    static float zeros[COUNT], twos[COUNT];
    (void)state;
    const uint64_t before = used_bytes();
    cbk_tensor *x = floats(zeros, COUNT);
    begin_capture(stream);
    cbk_tensor *y = add_one(stream, x);
    cbk_tensor *z = add_one(stream, y);
    cbk_graph *graph = end_capture(stream);
    cbk_tensor_release(&y);
    cbk_tensor_release(&x);
    assert_ok(cbk_graph_replay(graph));
    for (int i = 0; i < COUNT; i++) twos[i] = 2;
    expect(z, twos, COUNT);
    cbk_tensor_release(&z);
    assert_true(used_bytes() >= before + 3 * sizeof zeros);
    assert_ok(cbk_memory_cleanup(side.device));
    assert_ok(cbk_graph_replay(graph));
    assert_ok(cbk_sync(stream));
    cbk_graph_release(&graph);
    assert_ok(cbk_sync(stream));
    assert_true(used_bytes() == before);
}

static void test_destroy_in_flight(void **state) {
    enum { COUNT = 100000 };
    float *data = calloc(COUNT, sizeof *data);
    (void)state;
    assert_non_null(data);
    cbk_tensor *x = floats(data, COUNT);
    begin_capture(stream);
    for (int i = 0; i < 20; i++) {
        cbk_tensor *y = add_one(stream, x);
        assert_ok(cbk_copy_into(stream, y, x));
        cbk_tensor_release(&y);
    }
    cbk_graph *graph = end_capture(stream);
    for (int i = 0; i < 5; i++) assert_ok(cbk_graph_replay(graph));
    cbk_graph_release(&graph);
    // Whoever gets the graph's memory now gets it after the replays.
    cbk_tensor *z = add_one(stream, x);
    for (int i = 0; i < COUNT; i++) data[i] = 101;
    expect(z, data, COUNT);
    for (int i = 0; i < COUNT; i++) data[i] = 100;
    expect(x, data, COUNT);
    cbk_tensor_release(&x);
    cbk_tensor_release(&z);
    free(data);
}

static void test_cleanup_in_capture(void **state) {
    (void)state;
    cbk_tensor *x = floats(one_to_four, 4), *big = NULL;
    begin_capture(stream);
    cbk_tensor *y = add_one(stream, x);
    cbk_tensor *z = add_one(stream, y);
    cbk_tensor_release(&y);
    assert_ok(cbk_memory_cleanup(side.device));
    assert_ok(cbk_tensor_empty(stream, CBK_DTYPE_F32, 1, (int64_t[]){3000000}, &big));
    assert_ok(cbk_fill_into(stream, cbk_f(2), big));
    cbk_graph *graph = end_capture(stream);
    assert_ok(cbk_memory_cleanup(side.device));
    assert_ok(cbk_graph_replay(graph));
    expect(z, (float[]){3, 4, 5, 6}, 4);
    cbk_graph_release(&graph);
    cbk_tensor_release(&x);
    cbk_tensor_release(&z);
    cbk_tensor_release(&big);
    assert_ok(cbk_memory_cleanup(side.device));
}

// ---- several streams -----------------------------------------------------------------------------------

static void test_two_captures(void **state) {
    (void)state;
    cbk_stream *second = NULL;
    float data[4];
    assert_ok(cbk_stream_create(side.device, NULL, &second));
    cbk_tensor *x = floats(one_to_four, 4), *u = floats_on(second, one_to_four, 4);
    begin_capture(stream);
    begin_capture(second);
    cbk_tensor *y = add_one(stream, x);
    cbk_tensor *v = NULL, *w = NULL;
    assert_ok(cbk_mul_scalar(second, u, cbk_f(3), &v));
    // What the other capture makes does not exist yet.
    assert_status(CBK_ERROR_INVALID_STATE, cbk_add_scalar(second, y, cbk_f(1), &w));
    cbk_graph *first_graph = end_capture(stream);
    assert_ok(cbk_graph_replay(first_graph)); // while the other still captures
    cbk_graph *second_graph = end_capture(second);
    assert_ok(cbk_graph_replay(second_graph));
    expect(y, (float[]){2, 3, 4, 5}, 4);
    expect_on(second, v, (float[]){3, 6, 9, 12}, 4);
    assert_ok(cbk_add(second, y, v, &w));
    assert_ok(cbk_tensor_read(second, w, data, sizeof data));
    assert_true(data[3] == 17);
    cbk_graph_release(&first_graph);
    cbk_graph_release(&second_graph);
    cbk_tensor *all[] = {x, y, u, v, w};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cbk_tensor_release(&all[i]);
    cbk_stream_release(&second);
}

/// Another stream works on while this one captures, and reads what a replay made.
static void test_isolation(void **state) {
    (void)state;
    cbk_stream *second = NULL;
    assert_ok(cbk_stream_create(side.device, NULL, &second));
    cbk_tensor *x = floats(one_to_four, 4);
    begin_capture(stream);
    cbk_tensor *y = add_one(stream, x);
    cbk_tensor *u = floats_on(second, (float[]){5, 6, 7, 8}, 4);
    cbk_tensor *v = add_one(second, u);
    expect_on(second, v, (float[]){6, 7, 8, 9}, 4);
    cbk_tensor *shared = add_one(second, x); // what was there before the capture
    expect_on(second, shared, (float[]){2, 3, 4, 5}, 4);
    cbk_graph *graph = end_capture(stream);
    for (int i = 0; i < 3; i++) {
        const float base = (float)(10 * i);
        write_floats(x, (float[]){base, base + 1, base + 2, base + 3}, 4);
        assert_ok(cbk_graph_replay(graph));
        cbk_tensor *w = add_one(second, y); // waits for the replay
        assert_ok(cbk_add_scalar_into(second, w, cbk_f(1), w));
        expect_on(second, w, (float[]){base + 3, base + 4, base + 5, base + 6}, 4);
        cbk_tensor_release(&w);
    }
    cbk_graph_release(&graph);
    cbk_tensor *all[] = {x, y, u, v, shared};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cbk_tensor_release(&all[i]);
    cbk_stream_release(&second);
}

// ---- errors in replays -----------------------------------------------------------------------------------

static void test_index_report(void **state) {
    (void)state;
    const int32_t good[2] = {0, 3}, bad[2] = {0, 9};
    cbk_tensor *x = floats(one_to_four, 4), *index = NULL, *y = NULL;
    assert_ok(
        cbk_tensor_from_data(stream, CBK_DTYPE_I32, 1, (int64_t[]){2}, good, sizeof good, &index));
    begin_capture(stream);
    assert_ok(cbk_select(stream, x, index, 0, &y));
    cbk_graph *graph = end_capture(stream);
    assert_ok(cbk_sync(stream));
    assert_ok(cbk_graph_replay(graph));
    expect(y, (float[]){1, 4}, 2);
    assert_ok(cbk_tensor_write(stream, index, bad, sizeof bad));
    assert_ok(cbk_graph_replay(graph));
    assert_status(CBK_ERROR_INDEX_OUT_OF_RANGE, cbk_sync(stream));
    assert_non_null(strstr(cbk_last_error_message(), "select"));
    expect(y, (float[]){1, 0}, 2);
    assert_ok(cbk_tensor_write(stream, index, good, sizeof good));
    assert_ok(cbk_graph_replay(graph));
    assert_ok(cbk_sync(stream));
    cbk_graph_release(&graph);
    cbk_tensor_release(&x);
    cbk_tensor_release(&index);
    cbk_tensor_release(&y);
}

// ---- the convenience call ----------------------------------------------------------------------------------

struct training {
    cbk_tensor *weight, *gradient;
    int runs, failing_run;
};

static cbk_status train(cbk_stream *on, void *user_data) {
    struct training *training = user_data;
    cbk_tensor *step = NULL;
    if (training->runs++ == training->failing_run) return CBK_ERROR_INTERNAL;
    cbk_status status = cbk_mul_scalar(on, training->gradient, cbk_f(0.5), &step);
    if (status == CBK_OK) status = cbk_sub_into(on, training->weight, step, training->weight);
    cbk_tensor_release(&step);
    return status;
}

static void test_capture_call(void **state) {
    (void)state;
    struct training training = {floats(one_to_four, 4), floats((float[]){2, 2, 2, 2}, 4), 0, -1};
    cbk_graph *graph = NULL;
    assert_ok(cbk_graph_capture(stream, train, &training, &graph));
    assert_int_equal(training.runs, 2);
    expect(training.weight, (float[]){0, 1, 2, 3}, 4); // the warm-up counts
    assert_ok(cbk_graph_replay(graph));
    assert_ok(cbk_graph_replay(graph));
    expect(training.weight, (float[]){-2, -1, 0, 1}, 4);
    cbk_graph_release(&graph);
    for (int run = 0; run < 2; run++) {
        training.runs = 0;
        training.failing_run = run;
        assert_int_equal(cbk_graph_capture(stream, train, &training, &graph), CBK_ERROR_INTERNAL);
        assert_null(graph);
        assert_ok(cbk_sync(stream));
    }
    expect(training.weight, (float[]){-3, -2, -1, 0}, 4); // the second failed after its warm-up
    cbk_tensor_release(&training.weight);
    cbk_tensor_release(&training.gradient);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_one),
        cmocka_unit_test(test_nothing_runs),
        cmocka_unit_test(test_dead_intermediate),
        cmocka_unit_test(test_ping_pong),
        cmocka_unit_test(test_empty_graph),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_wrong_transitions),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_write_fails_the_stop),
        cmocka_unit_test(test_abort_recovers),
        cmocka_unit_test(test_stream_dies_capturing),
        cmocka_unit_test(test_contents_come_with_a_replay),
        cmocka_unit_test(test_graph_outlives_tensors),
        cmocka_unit_test(test_destroy_in_flight),
        cmocka_unit_test(test_cleanup_in_capture),
        cmocka_unit_test(test_two_captures),
        cmocka_unit_test(test_isolation),
        cmocka_unit_test(test_index_report),
        cmocka_unit_test(test_capture_call),
    };
    const char *wanted = getenv("CUBEBACK_TEST_BACKEND");
    int failed = 0;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        subject = &subjects[i];
        if (wanted && *wanted && strcmp(wanted, subject->name) != 0) continue;
        failed += cmocka_run_group_tests_name(subject->name, tests, open_side, close_side);
    }
    return failed;
}
