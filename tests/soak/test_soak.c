/// test_soak.c: two threads, several streams each, operations, graphs, copies, events and hand-overs
/// in random order for a while; every value is known, and in the end nothing is left.
///
/// Environment: CUBEBACK_TEST_SOAK seconds (60; 600 with CUBEBACK_TEST_FULL), CUBEBACK_TEST_SEED.
/// A thread's choices follow from the seed; only hand-overs depend on the other thread.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend.h"
#include "fault.h"
#include "support.h"

enum { THREADS = 2, STREAMS = 3, SLOTS = 24, LENGTHS = 12, MOST_LENGTH = 40000 };

/// An i32 tensor whose element i is first + i * step, wrapping.
struct slot {
    cbk_tensor *tensor;
    int64_t length;
    uint32_t first, step;
};

struct worker {
    uint32_t random;
    cbk_stream *streams[STREAMS];
    cbk_stream *reference; ///< of a device of the reference backend
    struct slot slots[SLOTS];
    int32_t *data, *more; ///< MOST_LENGTH elements
    uint64_t steps;
    int failed_line; ///< 0: all is well
    char why[400];
};

static struct cbk_rt_cl table;
static cbk_device *device;
static double deadline;

/// What one thread hands to another.
static struct {
    pthread_mutex_t mutex;
    struct slot slot;
} box = {.mutex = PTHREAD_MUTEX_INITIALIZER};

// ---- small things ----------------------------------------------------------------------------------

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t draw(struct worker *w, uint32_t limit) {
    w->random = w->random * 1664525u + 1013904223u;
    return (w->random >> 8) % limit;
}

static cbk_stream *any_stream(struct worker *w) {
    return w->streams[draw(w, STREAMS)];
}

static void fail_at(struct worker *w, int line, const char *what) {
    if (w->failed_line) return;
    w->failed_line = line;
    snprintf(w->why, sizeof w->why, "step %llu: %s", (unsigned long long)w->steps, what);
}

/// In a step: leaves it when the call fails.
#define STEP(call)                                                                                 \
    do {                                                                                           \
        if ((call) != CBK_OK) {                                                                    \
            fail_at(w, __LINE__, cbk_last_error_message());                                        \
            return;                                                                                \
        }                                                                                          \
    } while (0)

/// Few enough for operands to meet, and never quite the same.
static int64_t any_length(struct worker *w) {
    static const int64_t lengths[LENGTHS] = {0,    1,    7,    64,    1000,  1023,
                                             4096, 4100, 9999, 16384, 30000, MOST_LENGTH};
    return lengths[draw(w, LENGTHS)];
}

static int32_t value_of(const struct slot *slot, int64_t i) {
    return (int32_t)(slot->first + (uint32_t)i * slot->step);
}

static void expect_values(struct worker *w, const struct slot *slot, const int32_t *got, int line) {
    for (int64_t i = 0; i < slot->length; i++) {
        if (got[i] == value_of(slot, i)) continue;
        char text[160];
        snprintf(text, sizeof text, "element %lld of %lld is %d instead of %d", (long long)i,
                 (long long)slot->length, got[i], value_of(slot, i));
        fail_at(w, line, text);
        return;
    }
}

static struct slot *used_slot(struct worker *w) {
    const uint32_t start = draw(w, SLOTS);
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &w->slots[(start + i) % SLOTS];
        if (slot->tensor) return slot;
    }
    return NULL;
}

/// Puts a result in the place of whatever is there.
static void keep(struct worker *w, struct slot slot) {
    struct slot *place = &w->slots[draw(w, SLOTS)];
    cbk_tensor_release(&place->tensor);
    *place = slot;
}

// ---- steps -------------------------------------------------------------------------------------------

static void make(struct worker *w, struct slot *x) {
    struct slot out = {NULL, any_length(w), draw(w, 100000), draw(w, 100)};
    cbk_stream *on = any_stream(w);
    (void)x;
    const bool is_weight = draw(w, 8) == 0;
    if (is_weight) STEP(cbk_persistent_begin(on));
    for (int64_t i = 0; i < out.length; i++) w->data[i] = value_of(&out, i);
    const cbk_status status = cbk_tensor_from_data(on, CBK_DTYPE_I32, 1, &out.length, w->data,
                                                   (uint64_t)out.length * 4, &out.tensor);
    if (is_weight) STEP(cbk_persistent_end(on));
    STEP(status);
    keep(w, out);
}

static void add(struct worker *w, struct slot *x) {
    struct slot *y = used_slot(w);
    if (y->length != x->length) y = x;
    struct slot out = {NULL, x->length, x->first + y->first, x->step + y->step};
    STEP(cbk_add(any_stream(w), x->tensor, y->tensor, &out.tensor));
    keep(w, out);
}

static void multiply_in_place(struct worker *w, struct slot *x) {
    const uint32_t factor = draw(w, 5);
    STEP(cbk_mul_scalar_into(any_stream(w), x->tensor, cbk_i(factor), x->tensor));
    x->first *= factor, x->step *= factor;
}

static void flip(struct worker *w, struct slot *x) {
    struct slot out = {NULL, x->length, value_of(x, x->length - 1), 0u - x->step};
    cbk_stream *on = any_stream(w);
    cbk_tensor *view = NULL;
    STEP(cbk_flip(on, x->tensor, 0, NULL, &view));
    const cbk_status status = cbk_copy(on, view, &out.tensor);
    cbk_tensor_release(&view);
    STEP(status);
    keep(w, out);
}

static void cut(struct worker *w, struct slot *x) {
    struct slot out = {NULL, (x->length + 1) / 2, x->first, 2 * x->step};
    const cbk_slice_params params =
        CBK_INIT(cbk_slice_params, .axis_count = 1, .start = {0}, .stop = {x->length}, .step = {2});
    cbk_stream *on = any_stream(w);
    cbk_tensor *view = NULL;
    STEP(cbk_slice(on, x->tensor, &params, &view));
    const cbk_status status = cbk_add_scalar(on, view, cbk_i(0), &out.tensor);
    cbk_tensor_release(&view);
    STEP(status);
    keep(w, out);
}

static void sum(struct worker *w, struct slot *x) {
    const uint32_t n = (uint32_t)x->length;
    uint32_t want = n * x->first;
    for (uint32_t i = 0; i < n; i++) want += i * x->step;
    cbk_stream *on = any_stream(w);
    cbk_tensor *total = NULL;
    int32_t got = 0;
    STEP(cbk_sum(on, x->tensor, NULL, &total));
    const cbk_status status = cbk_tensor_read(on, total, &got, sizeof got);
    cbk_tensor_release(&total);
    STEP(status);
    if ((uint32_t)got != want) fail_at(w, __LINE__, "a sum is wrong");
}

static void write(struct worker *w, struct slot *x) {
    x->first = draw(w, 1000), x->step = draw(w, 10);
    for (int64_t i = 0; i < x->length; i++) w->data[i] = value_of(x, i);
    STEP(cbk_tensor_write(any_stream(w), x->tensor, w->data, (uint64_t)x->length * 4));
}

static void read(struct worker *w, struct slot *x) {
    STEP(cbk_tensor_read(any_stream(w), x->tensor, w->data, (uint64_t)x->length * 4));
    expect_values(w, x, w->data, __LINE__);
}

static void read_async(struct worker *w, struct slot *x) {
    const struct slot *y = used_slot(w), x_then = *x, y_then = *y;
    const cbk_read_request requests[] = {{x->tensor, w->data, (uint64_t)x->length * 4},
                                         {y->tensor, w->more, (uint64_t)y->length * 4}};
    cbk_event *event = NULL;
    uint32_t done = 0;
    cbk_stream *on = any_stream(w);
    STEP(cbk_tensor_read_async(on, requests, 2, &event));
    multiply_in_place(w, x); // comes after the read
    cbk_status status = cbk_event_query(event, &done);
    if (status == CBK_OK && !done) status = cbk_event_wait(event);
    cbk_event_release(&event);
    STEP(status);
    expect_values(w, &x_then, w->data, __LINE__);
    expect_values(w, &y_then, w->more, __LINE__);
}

static void wait_for_each_other(struct worker *w, struct slot *x) {
    cbk_event *event = NULL;
    (void)x;
    STEP(cbk_event_record(any_stream(w), &event));
    const cbk_status status = cbk_stream_wait_event(any_stream(w), event);
    cbk_event_release(&event);
    STEP(status);
    STEP(cbk_flush(any_stream(w)));
    if (draw(w, 20) == 0) STEP(cbk_sync(any_stream(w)));
}

static cbk_status grow(cbk_stream *on, void *user_data) {
    struct slot *x = user_data;
    cbk_tensor *sum = NULL;
    cbk_status status = cbk_add_scalar(on, x->tensor, cbk_i(3), &sum);
    if (status == CBK_OK) status = cbk_mul_scalar_into(on, sum, cbk_i(2), x->tensor);
    cbk_tensor_release(&sum);
    x->first = 2 * (x->first + 3), x->step *= 2;
    return status;
}

static void replay(struct worker *w, struct slot *x) {
    cbk_graph *graph = NULL;
    struct slot other = *x;
    STEP(cbk_graph_capture(any_stream(w), grow, &other, &graph));
    cbk_status status = CBK_OK;
    x->first = 2 * (x->first + 3), x->step *= 2; // the run for real
    for (uint32_t i = draw(w, 5); i > 0 && status == CBK_OK; i--) {
        status = cbk_graph_replay(graph);
        x->first = 2 * (x->first + 3), x->step *= 2;
    }
    cbk_graph_release(&graph);
    STEP(status);
}

static void there_and_back(struct worker *w, struct slot *x) {
    struct slot out = {NULL, x->length, x->first, x->step};
    cbk_tensor *away = NULL;
    STEP(cbk_tensor_to_device(any_stream(w), x->tensor, w->reference, &away));
    const cbk_status status = cbk_tensor_to_device(w->reference, away, any_stream(w), &out.tensor);
    cbk_tensor_release(&away);
    STEP(status);
    keep(w, out);
}

static void hand_over(struct worker *w, struct slot *x) {
    (void)w;
    pthread_mutex_lock(&box.mutex);
    const struct slot taken = box.slot;
    box.slot = *x;
    pthread_mutex_unlock(&box.mutex);
    *x = taken;
}

/// A product of ones, with a temporary or two.
static void product(struct worker *w, struct slot *x) {
    const int64_t n = 1 + draw(w, 40), shape[2] = {n, n};
    cbk_stream *on = any_stream(w);
    cbk_tensor *a = NULL, *b = NULL;
    float got[41 * 41];
    (void)x;
    STEP(cbk_ones(on, CBK_DTYPE_F32, 2, shape, &a));
    cbk_status status = cbk_matmul(any_stream(w), a, a, NULL, &b);
    if (status == CBK_OK) status = cbk_tensor_read(on, b, got, (uint64_t)(n * n) * 4);
    cbk_tensor_release(&a), cbk_tensor_release(&b);
    STEP(status);
    if (got[0] != (float)n || got[n * n - 1] != (float)n)
        fail_at(w, __LINE__, "a product is wrong");
}

static void let_go(struct worker *w, struct slot *x) {
    (void)w;
    cbk_tensor_release(&x->tensor);
}

static void clean_up(struct worker *w, struct slot *x) {
    (void)x;
    if (draw(w, 10) == 0) STEP(cbk_memory_cleanup(device));
}

static void renew_stream(struct worker *w, struct slot *x) {
    (void)x;
    if (draw(w, 5) != 0) return;
    cbk_stream **stream = &w->streams[draw(w, STREAMS)];
    cbk_stream_release(stream);
    STEP(cbk_stream_create(device, NULL, stream));
}

typedef void (*step_function)(struct worker *w, struct slot *x);
static const step_function steps[] = {
    make,
    make,
    add,
    add,
    add,
    multiply_in_place,
    flip,
    cut,
    sum,
    read,
    write,
    replay,
    read_async,
    let_go,
    there_and_back,
    hand_over,
    clean_up,
    product,
    make,
    let_go,
    let_go,
    wait_for_each_other,
    renew_stream,
};

// ---- threads -----------------------------------------------------------------------------------------

static void *work(void *argument) {
    struct worker *w = argument;
    while (!w->failed_line && now() < deadline) {
        const step_function step = steps[draw(w, sizeof steps / sizeof *steps)];
        struct slot *x = used_slot(w);
        (x ? step : make)(w, x);
        w->steps++;
    }
    return NULL;
}

static void open_worker(struct worker *w, uint32_t seed, cbk_device *reference) {
    *w = (struct worker){.random = seed};
    for (int s = 0; s < STREAMS; s++) assert_ok(cbk_stream_create(device, NULL, &w->streams[s]));
    assert_ok(cbk_stream_create(reference, NULL, &w->reference));
    w->data = malloc(MOST_LENGTH * sizeof *w->data);
    w->more = malloc(MOST_LENGTH * sizeof *w->more);
    assert_true(w->data && w->more);
}

static void close_worker(struct worker *w) {
    for (int i = 0; i < SLOTS; i++) cbk_tensor_release(&w->slots[i].tensor);
    for (int s = 0; s < STREAMS; s++) {
        assert_ok(cbk_sync(w->streams[s]));
        cbk_stream_release(&w->streams[s]);
    }
    cbk_stream_release(&w->reference);
    free(w->data);
    free(w->more);
}

static void expect_nothing_left(cbk_device *of) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    assert_ok(cbk_memory_cleanup(of));
    assert_ok(cbk_memory_usage(of, &info));
    assert_int_equal(info.used_bytes, 0);
    assert_int_equal(info.allocation_count, 0);
    assert_int_equal(info.padding_bytes, 0);
    assert_int_equal(info.reserved_bytes, 0);
}

static double seconds(void) {
    const char *given = getenv("CUBEBACK_TEST_SOAK"), *full = getenv("CUBEBACK_TEST_FULL");
    if (given && *given) return atof(given);
    return full && *full ? 600 : 60;
}

static void soak(void **state) {
    const cbk_backend_params params =
        CBK_INIT(cbk_backend_params, .flags = CBK_NO_ENVIRONMENT, .cache_directory = "",
                 .allocate = cbk_fault_allocate, .free = cbk_fault_free);
    const char *given = getenv("CUBEBACK_TEST_SEED");
    const uint32_t seed = given && *given ? (uint32_t)strtoul(given, NULL, 0) : 1;
    cbk_backend *opencl = NULL, *plain = NULL;
    cbk_device *reference = NULL;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    (void)state;
    assert_ok(cbk_opencl_create_with(&params, &table, &opencl));
    assert_ok(cbk_device_open(
        opencl, &CBK_INIT(cbk_device_params, .name = getenv("CUBEBACK_TEST_DEVICE")), &device));
    assert_ok(cbk_reference_create(NULL, &plain));
    assert_ok(cbk_device_open(plain, NULL, &reference));
    for (int t = 0; t < THREADS; t++) open_worker(&workers[t], seed + (uint32_t)t, reference);
    deadline = now() + seconds();
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
    }
    bool is_good = true;
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        print_message("thread %d: %llu steps\n", t, (unsigned long long)workers[t].steps);
        if (!workers[t].failed_line) continue;
        is_good = false;
        print_error("seed %u, thread %d, line %d, %s\n", (unsigned)seed, t, workers[t].failed_line,
                    workers[t].why);
    }
    assert_true(is_good);
    cbk_tensor_release(&box.slot.tensor);
    for (int t = 0; t < THREADS; t++) close_worker(&workers[t]);
    expect_nothing_left(device);
    expect_nothing_left(reference);
    cbk_device_release(&reference);
    cbk_backend_release(&plain);
    cbk_device_release(&device);
    cbk_backend_release(&opencl);
    assert_string_equal(cbk_fault_leaks(), "");
    assert_int_equal(cbk_fault_blocks_held(), 0);
    assert_int_equal(cbk_fault_wrong_sizes(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(soak)};
    cbk_fault_table(&table);
    return cmocka_run_group_tests_name("soak", tests, NULL, NULL);
}
