/// test_crossing.c: blocks used by several streams: each use sees what must come before it.
#include <pthread.h>
#include <stdlib.h>

#include "fault_side.h"
#include "internal.h"
#include "runtime_side.h"
#include "small_kernels.h"
#include "support.h"

enum { COUNT = 64, STREAMS = 7 };

struct side {
    struct test_runtime runtime;
    struct cbk_rt_stream *streams[STREAMS];
    struct test_small small[STREAMS];
};

static struct cbk_rt_cl table;

static int open_side(void **state) {
    struct side *side = calloc(1, sizeof *side);
    const cbk_backend_params params = test_runtime_params("");
    cbk_fault_table(&table);
    cbk_fault_reset();
    test_runtime_open(&side->runtime, &params, &table);
    for (int s = 0; s < STREAMS; s++) {
        assert_ok(cbk_rt_stream_create(side->runtime.device, &side->streams[s]));
        test_small_open(&side->small[s], side->streams[s]);
    }
    *state = side;
    return 0;
}

static int close_side(void **state) {
    struct side *side = *state;
    cbk_fault_reset();
    for (int s = 0; s < STREAMS; s++) cbk_rt_stream_destroy(&side->streams[s]);
    test_runtime_close(&side->runtime);
    free(side);
    assert_string_equal(cbk_fault_leaks(), "");
    return 0;
}

static void a_reader_waits_for_the_writer(void **state) {
    struct side *side = *state;
    struct cbk_rt_device *device = side->runtime.device;
    struct cbk_rt_block *x = test_block(side->streams[0], COUNT);
    assert_ok(test_small_fill(&side->small[0], x, COUNT, 1));
    assert_ok(test_small_slow_add(&side->small[0], x, x, COUNT, 1));
    struct cbk_rt_block *y = test_block(side->streams[1], COUNT);
    assert_ok(test_small_add(&side->small[1], x, y, COUNT, 10));
    test_small_expect(&side->small[1], y, COUNT, 12);
    cbk_rt_free(device, &x);
    cbk_rt_free(device, &y);
}

static void a_writer_waits_for_readers(void **state) {
    struct side *side = *state;
    struct cbk_rt_device *device = side->runtime.device;
    struct cbk_rt_block *x = test_block(side->streams[0], COUNT), *y[STREAMS] = {NULL};
    assert_ok(test_small_fill(&side->small[0], x, COUNT, 1));
    // More readers than a block can name.
    for (int s = 1; s < STREAMS; s++) {
        y[s] = test_block(side->streams[s], COUNT);
        assert_ok(test_small_slow_add(&side->small[s], x, y[s], COUNT, s));
    }
    assert_ok(test_small_fill(&side->small[0], x, COUNT, 100));
    for (int s = 1; s < STREAMS; s++) {
        test_small_expect(&side->small[s], y[s], COUNT, 1 + s);
        cbk_rt_free(device, &y[s]);
    }
    test_small_expect(&side->small[3], x, COUNT, 100);
    cbk_rt_free(device, &x);
}

static void a_foreign_writer_is_waited_for(void **state) {
    struct side *side = *state;
    struct cbk_rt_device *device = side->runtime.device;
    struct cbk_rt_block *x = test_block(side->streams[0], COUNT);
    int32_t expected = 5;
    assert_ok(test_small_fill(&side->small[0], x, COUNT, expected));
    for (int i = 0; i < 3 * STREAMS; i++) {
        assert_ok(test_small_slow_add(&side->small[(i * 3) % STREAMS], x, x, COUNT, i));
        expected += i;
    }
    assert_ok(cbk_rt_sync(side->streams[4]));
    for (int i = 0; i < 2000; i++) {
        assert_ok(test_small_add(&side->small[(i * 5) % STREAMS], x, x, COUNT, 1));
    }
    expected += 2000;
    test_small_expect(&side->small[2], x, COUNT, expected);
    cbk_rt_free(device, &x);
}

/// The home stream may hand the memory out again only after the foreign reader has ended.
static void freed_memory_waits_for_foreign_users(void **state) {
    struct side *side = *state;
    struct cbk_rt_device *device = side->runtime.device;
    for (int round = 0; round < 5; round++) {
        struct cbk_rt_block *x = test_block(side->streams[0], COUNT);
        struct cbk_rt_block *y = test_block(side->streams[1], COUNT);
        assert_ok(test_small_fill(&side->small[0], x, COUNT, round));
        assert_ok(test_small_fill(&side->small[1], y, COUNT, 0));
        assert_ok(test_small_slow_add(&side->small[1], y, y, COUNT, 0));
        assert_ok(test_small_add(&side->small[1], x, y, COUNT, 1));
        cbk_rt_free(device, &x);
        struct cbk_rt_block *again = test_block(side->streams[0], COUNT);
        assert_ok(test_small_fill(&side->small[0], again, COUNT, 1000));
        test_small_expect(&side->small[1], y, COUNT, round + 1);
        cbk_rt_free(device, &again);
        cbk_rt_free(device, &y);
    }
}

static void large_memory_waits_for_its_last_stream(void **state) {
    struct side *side = *state;
    struct cbk_rt_device *device = side->runtime.device;
    enum { LARGE = 12 << 20 };
    assert_ok(cbk_rt_memory_limit(device, 100 << 20));
    for (int round = 0; round < 4; round++) {
        struct cbk_rt_block *x = test_block(side->streams[0], LARGE);
        struct cbk_rt_block *y = test_block(side->streams[0], COUNT);
        assert_ok(test_small_fill(&side->small[0], x, COUNT, round));
        assert_ok(test_small_slow_add(&side->small[0], x, x, COUNT, 1));
        assert_ok(test_small_add(&side->small[0], x, y, COUNT, 1));
        cbk_rt_free(device, &x);
        struct cbk_rt_block *other = test_block(side->streams[1], LARGE);
        assert_ok(test_small_fill(&side->small[1], other, COUNT, 1000));
        assert_ok(cbk_rt_flush(side->streams[1]));
        test_small_expect(&side->small[0], y, COUNT, round + 2);
        cbk_rt_free(device, &other);
        cbk_rt_free(device, &y);
    }
}

static void events_order_streams(void **state) {
    struct side *side = *state;
    struct cbk_rt_device *device = side->runtime.device;
    struct cbk_rt_event *event = NULL;
    struct cbk_rt_block *x = test_block(side->streams[0], COUNT);
    assert_ok(test_small_fill(&side->small[0], x, COUNT, 1));
    assert_ok(test_small_slow_add(&side->small[0], x, x, COUNT, 1));
    assert_ok(cbk_rt_event_create(side->streams[0], &event));
    assert_ok(cbk_rt_stream_wait(side->streams[1], event));
    assert_ok(cbk_rt_stream_wait(side->streams[0], event));
    assert_ok(cbk_rt_sync(side->streams[1]));
    bool done = false;
    assert_ok(cbk_rt_event_query(event, &done));
    assert_true(done);
    cbk_rt_event_destroy(&event);
    cbk_rt_free(device, &x);
}

static void a_destroyed_stream_leaves_its_work(void **state) {
    struct side *side = *state;
    struct cbk_rt_device *device = side->runtime.device;
    for (int round = 0; round < 20; round++) {
        struct cbk_rt_stream *stream = NULL;
        struct test_small small;
        assert_ok(cbk_rt_stream_create(device, &stream));
        test_small_open(&small, stream);
        struct cbk_rt_block *x = test_block(stream, COUNT);
        assert_ok(test_small_fill(&small, x, COUNT, round));
        assert_ok(test_small_slow_add(&small, x, x, COUNT, 1));
        cbk_rt_stream_destroy(&stream);
        test_small_expect(&side->small[0], x, COUNT, round + 1);
        cbk_rt_free(device, &x);
    }
    // Destroyed streams are taken up again.
    assert_true(device->stream_count <= STREAMS + 4);
}

/// A replay whose last launch ends a batch, and then more work in the next one.
static void replays_are_waited_for_like_launches(void **state) {
    struct side *side = *state;
    struct cbk_rt_device *device = side->runtime.device;
    struct cbk_rt_block *x = test_block(side->streams[0], COUNT);
    struct cbk_rt_block *y = test_block(side->streams[1], COUNT);
    struct cbk_rt_graph *graph = NULL;
    int32_t expected = 0;
    assert_ok(test_small_fill(&side->small[0], x, COUNT, 0));
    assert_ok(cbk_rt_graph_prepare(side->streams[0]));
    assert_ok(cbk_rt_graph_start(side->streams[0]));
    assert_ok(test_small_add(&side->small[0], x, x, COUNT, 1));
    assert_ok(test_small_add(&side->small[0], x, x, COUNT, 1));
    assert_ok(cbk_rt_graph_stop(side->streams[0], &graph));
    for (int i = 0; i < 8; i++) {
        assert_ok(cbk_rt_graph_replay(graph, NULL));
        assert_ok(test_small_add(&side->small[1], x, y, COUNT, 0));
        assert_ok(test_small_slow_add(&side->small[0], x, x, COUNT, 10));
        assert_ok(test_small_add(&side->small[1], x, y, COUNT, 0));
        expected += 12;
        test_small_expect(&side->small[1], y, COUNT, expected);
    }
    cbk_rt_graph_destroy(&graph);
    cbk_rt_free(device, &x);
    cbk_rt_free(device, &y);
}

/// Also of memory that came in when the graph was changed after its capture.
static void replays_note_what_edits_brought(void **state) {
    struct side *side = *state;
    struct cbk_rt_device *device = side->runtime.device;
    struct cbk_rt_stream *stream = side->streams[0];
    struct cbk_rt_block *x = test_block(stream, COUNT), *y = test_block(stream, COUNT);
    struct cbk_rt_graph *graph = NULL;
    assert_ok(test_small_fill(&side->small[0], x, COUNT, 1));
    assert_ok(cbk_rt_graph_prepare(stream));
    assert_ok(cbk_rt_graph_start(stream));
    assert_ok(test_small_add(&side->small[0], x, x, COUNT, 1));
    assert_ok(cbk_rt_graph_stop(stream, &graph));
    cbk_rt_graph_begin_edit(graph);
    assert_ok(test_small_add(&side->small[0], x, y, COUNT, 4));
    assert_int_equal(cbk_rt_graph_end_edit(graph, 0, 1), 1);
    assert_ok(cbk_rt_graph_settle(graph));
    assert_int_equal(atomic_load(&y->write_batch), 0);
    assert_ok(cbk_rt_graph_replay(graph, NULL));
    assert_true(atomic_load(&y->write_batch) > 0);
    assert_int_equal(atomic_load(&y->use_batch), atomic_load(&x->use_batch));
    test_small_expect(&side->small[1], y, COUNT, 5);
    cbk_rt_graph_destroy(&graph);
    cbk_rt_free(device, &x);
    cbk_rt_free(device, &y);
}

static void waiting_is_not_repeated(void **state) {
    struct side *side = *state;
    struct cbk_rt_device *device = side->runtime.device;
    struct cbk_rt_block *x = test_block(side->streams[0], COUNT);
    struct cbk_rt_block *y = test_block(side->streams[1], COUNT);
    assert_ok(test_small_fill(&side->small[0], x, COUNT, 1));
    cbk_fault_plan(0, 0, "clEnqueueBarrierWithWaitList");
    for (int i = 0; i < 20; i++) assert_ok(test_small_add(&side->small[1], x, y, COUNT, i));
    assert_in_range(cbk_fault_calls(), 0, 1);
    cbk_fault_reset();
    test_small_expect(&side->small[1], y, COUNT, 20);
    cbk_rt_free(device, &x);
    cbk_rt_free(device, &y);
}

// ---- threads -----------------------------------------------------------------------------------------

enum { ROUNDS = 200 };

struct worker {
    struct side *side;
    int number;
    struct cbk_rt_block *shared;
    int32_t wrong;
};

/// Reads a block that all threads share, computes in blocks of its own, frees them in any order.
static void *work(void *argument) {
    struct worker *worker = argument;
    struct cbk_rt_device *device = worker->side->runtime.device;
    struct test_small *small = &worker->side->small[worker->number];
    struct cbk_rt_block *kept = NULL;
    for (int i = 0; i < ROUNDS; i++) {
        struct cbk_rt_block *x = NULL, *y = NULL;
        int32_t back[COUNT];
        cbk_status status = cbk_rt_alloc(small->stream, COUNT * sizeof(int32_t), &x);
        if (status == CBK_OK) status = cbk_rt_alloc(small->stream, 4096 + (uint64_t)i, &y);
        if (status == CBK_OK) status = test_small_add(small, worker->shared, x, COUNT, i);
        if (status == CBK_OK) status = test_small_add(small, x, y, COUNT, worker->number);
        const struct cbk_rt_read read = {y, 0, back, sizeof back};
        if (status == CBK_OK && i % 16 == 0) {
            status = cbk_rt_read(small->stream, &read, 1);
            worker->wrong += back[COUNT - 1] != 7 + i + worker->number;
        }
        worker->wrong += status != CBK_OK;
        cbk_rt_free(device, &kept);
        cbk_rt_free(device, &x);
        kept = y;
    }
    cbk_rt_free(device, &kept);
    return NULL;
}

static void threads_share_a_block(void **state) {
    struct side *side = *state;
    enum { THREADS = 5 };
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    struct cbk_rt_block *shared = test_block(side->streams[STREAMS - 1], COUNT);
    assert_ok(test_small_fill(&side->small[STREAMS - 1], shared, COUNT, 7));
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (struct worker){side, t, shared, 0};
        assert_int_equal(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
    }
    for (int i = 0; i < 20; i++) assert_ok(cbk_rt_memory_cleanup(side->runtime.device));
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_int_equal(workers[t].wrong, 0);
    }
    cbk_rt_free(side->runtime.device, &shared);
}

#define WITH_SIDE(test) cmocka_unit_test_setup_teardown(test, open_side, close_side)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SIDE(a_reader_waits_for_the_writer),
        WITH_SIDE(a_writer_waits_for_readers),
        WITH_SIDE(a_foreign_writer_is_waited_for),
        WITH_SIDE(freed_memory_waits_for_foreign_users),
        WITH_SIDE(large_memory_waits_for_its_last_stream),
        WITH_SIDE(events_order_streams),
        WITH_SIDE(a_destroyed_stream_leaves_its_work),
        WITH_SIDE(replays_are_waited_for_like_launches),
        WITH_SIDE(replays_note_what_edits_brought),
        WITH_SIDE(waiting_is_not_repeated),
        WITH_SIDE(threads_share_a_block),
    };
    return CBK_FAULT_RUN(tests);
}
