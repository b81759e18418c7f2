/// test_memory.c: blocks do not overlap, figures are exact, memory stays bounded, shortage is a value.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "internal.h"
#include "runtime_side.h"
#include "small_kernels.h"
#include "support.h"

enum { MIB = 1 << 20 };

static struct cbk_rt_cl table;

static int open_side(void **state) {
    struct test_runtime *side = malloc(sizeof *side);
    cbk_backend_params params = test_runtime_params("");
    params.allocate = cbk_fault_allocate;
    params.free = cbk_fault_free;
    cbk_fault_table(&table);
    cbk_fault_reset();
    cbk_fault_plan_allocation(0);
    test_runtime_open(side, &params, &table);
    *state = side;
    return 0;
}

static int close_side(void **state) {
    struct test_runtime *side = *state;
    cbk_fault_reset();
    cbk_fault_plan_allocation(0);
    test_runtime_close(side);
    free(side);
    assert_string_equal(cbk_fault_leaks(), "");
    assert_int_equal(cbk_fault_blocks_held(), 0);
    assert_int_equal(cbk_fault_wrong_sizes(), 0);
    return 0;
}

static cbk_memory_info usage(struct test_runtime *side) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    assert_ok(cbk_rt_memory_usage(side->device, &info));
    return info;
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

// ---- a model that knows where every block is ---------------------------------------------------------

enum { SLOTS = 200 };

struct model {
    struct cbk_rt_block *blocks[SLOTS];
    uint64_t used_bytes, count;
};

static void check_no_overlap(const struct model *model, const struct cbk_rt_block *block) {
    for (int i = 0; i < SLOTS; i++) {
        const struct cbk_rt_block *other = model->blocks[i];
        if (!other || other == block || other->mem != block->mem) continue;
        assert_true(other->offset + other->size <= block->offset ||
                    block->offset + block->size <= other->offset);
    }
}

static void blocks_do_not_overlap(void **state) {
    struct test_runtime *side = *state;
    static struct model model;
    uint64_t random = 1;
    memset(&model, 0, sizeof model);
    for (int step = 0; step < 30000; step++) {
        struct cbk_rt_block **slot = &model.blocks[next_random(&random) % SLOTS];
        if (*slot) {
            model.used_bytes -= cbk_rt_block_size(*slot);
            model.count--;
            cbk_rt_free(side->device, slot);
            continue;
        }
        // Mostly small, now and then with a chunk of its own.
        const uint64_t size =
            1 + next_random(&random) % ((uint64_t)1 << (next_random(&random) % 24));
        assert_ok(cbk_rt_alloc(side->stream, size, slot));
        assert_int_equal(cbk_rt_block_size(*slot), size);
        assert_int_equal(cbk_rt_block_offset(*slot) % side->device->memory.alignment, 0);
        check_no_overlap(&model, *slot);
        model.used_bytes += size;
        model.count++;
        if (step % 1000 == 0) {
            const cbk_memory_info info = usage(side);
            assert_int_equal(info.used_bytes, model.used_bytes);
            assert_int_equal(info.allocation_count, model.count);
            assert_true(info.used_bytes + info.padding_bytes <= info.reserved_bytes);
        }
    }
    for (int i = 0; i < SLOTS; i++) cbk_rt_free(side->device, &model.blocks[i]);
    assert_ok(cbk_rt_memory_cleanup(side->device));
    const cbk_memory_info info = usage(side);
    assert_int_equal(info.used_bytes, 0);
    assert_int_equal(info.padding_bytes, 0);
    assert_int_equal(info.allocation_count, 0);
    assert_int_equal(info.reserved_bytes, 0);
    assert_int_equal(cbk_fault_held(CBK_FAULT_MEM), 0);
}

static void a_freed_block_serves_again(void **state) {
    struct test_runtime *side = *state;
    struct cbk_rt_block *first = NULL;
    assert_ok(cbk_rt_alloc(side->stream, 5000, &first));
    const uint64_t asked = test_runtime_counters(side).driver_allocations;
    for (int i = 0; i < 1000; i++) {
        struct cbk_rt_block *x = NULL, *big = NULL;
        assert_ok(cbk_rt_alloc(side->stream, 70000, &x));
        assert_ok(cbk_rt_alloc(side->stream, 40 * MIB, &big));
        cbk_rt_free(side->device, &x);
        cbk_rt_free(side->device, &big);
    }
    assert_int_equal(test_runtime_counters(side).driver_allocations, asked + 1);
    cbk_rt_free(side->device, &first);
}

static void varying_sizes_stay_bounded(void **state) {
    struct test_runtime *side = *state;
    uint64_t random = 7, most_used = 0;
    for (int step = 0; step < 10000; step++) {
        struct cbk_rt_block *blocks[4] = {NULL};
        uint64_t used = 0;
        for (int i = 0; i < 4; i++) {
            const uint64_t size = 1 + next_random(&random) % (20 * MIB);
            assert_ok(cbk_rt_alloc(side->stream, size, &blocks[i]));
            used += size;
        }
        if (used > most_used) most_used = used;
        for (int i = 0; i < 4; i++) cbk_rt_free(side->device, &blocks[i]);
    }
    const cbk_memory_info info = usage(side);
    print_message("most used %llu MiB, peak held %llu MiB, driver buffers %llu\n",
                  (unsigned long long)most_used / MIB, (unsigned long long)info.peak_bytes / MIB,
                  (unsigned long long)test_runtime_counters(side).driver_allocations);
    assert_true(info.peak_bytes <= 3 * most_used + 3 * side->device->memory.slab_size);
}

// ---- shortage ------------------------------------------------------------------------------------------

static void the_budget_is_kept(void **state) {
    struct test_runtime *side = *state;
    struct cbk_rt_block *x = NULL, *y = NULL, *small = NULL;
    assert_ok(cbk_rt_memory_limit(side->device, 100 * MIB));
    assert_int_equal(usage(side).limit_bytes, 100 * MIB);
    assert_ok(cbk_rt_alloc(side->stream, 60 * MIB, &x));
    assert_status(CBK_ERROR_OUT_OF_MEMORY, cbk_rt_alloc(side->stream, 60 * MIB, &y));
    assert_null(y);
    assert_non_null(strstr(cbk_last_error_message(), "104857600"));
    assert_ok(cbk_rt_alloc(side->stream, 1000, &small));
    cbk_rt_free(side->device, &x);
    assert_ok(cbk_rt_alloc(side->stream, 90 * MIB, &y));
    assert_true(usage(side).peak_bytes <= 100 * MIB);
    cbk_rt_free(side->device, &y);
    cbk_rt_free(side->device, &small);
    assert_status(CBK_ERROR_OUT_OF_MEMORY, cbk_rt_alloc(side->stream, UINT64_MAX - 5, &y));
    assert_ok(cbk_rt_memory_limit(side->device, 0));
    assert_true(usage(side).limit_bytes > 100 * MIB);
}

static void what_another_stream_holds_unused_is_given_up(void **state) {
    struct test_runtime *side = *state;
    struct cbk_rt_stream *other = NULL;
    struct cbk_rt_block *x = NULL, *y = NULL;
    assert_ok(cbk_rt_stream_create(side->device, &other));
    assert_ok(cbk_rt_memory_limit(side->device, 50 * MIB));
    assert_ok(cbk_rt_alloc(other, 40 * MIB, &x));
    cbk_rt_free(side->device, &x);
    assert_ok(cbk_rt_alloc(side->stream, 45 * MIB, &y));
    cbk_rt_free(side->device, &y);
    assert_ok(cbk_rt_alloc(other, 1, &x));
    assert_ok(cbk_rt_alloc(side->stream, 47 * MIB, &y));
    cbk_rt_free(side->device, &y);
    cbk_rt_free(side->device, &x);
    cbk_rt_stream_destroy(&other);
}

/// Large blocks that one stream has freed serve another one, once their work is done, without the
/// driver being asked and without the first stream doing anything.
static void freed_memory_serves_other_streams(void **state) {
    struct test_runtime *side = *state;
    enum { BYTES = 30 * MIB, STREAMS = 4 };
    struct cbk_rt_stream *others[STREAMS] = {NULL};
    struct test_small small[STREAMS];
    struct cbk_rt_block *x = NULL;
    for (int s = 0; s < STREAMS; s++) {
        assert_ok(cbk_rt_stream_create(side->device, &others[s]));
        test_small_open(&small[s], others[s]);
    }
    assert_ok(cbk_rt_alloc(others[0], BYTES, &x));
    assert_ok(test_small_fill(&small[0], x, 100, 1));
    assert_ok(cbk_rt_sync(others[0]));
    const uint64_t asked = test_runtime_counters(side).driver_allocations;
    for (int i = 1; i < 40; i++) {
        const int to = i % STREAMS;
        cbk_rt_free(side->device, &x);
        assert_ok(cbk_rt_alloc(others[to], BYTES - (uint64_t)i, &x));
        assert_ok(test_small_fill(&small[to], x, 100, i));
        struct cbk_rt_event *event = NULL; // as the caller learns that it is done
        assert_ok(cbk_rt_event_create(others[to], &event));
        assert_ok(cbk_rt_event_wait(event));
        cbk_rt_event_destroy(&event);
    }
    assert_int_equal(test_runtime_counters(side).driver_allocations, asked);
    assert_int_equal(usage(side).allocation_count, 1);
    // Work that is still running keeps its memory.
    assert_ok(test_small_slow_add(&small[3], x, x, 100, 1));
    cbk_rt_free(side->device, &x);
    struct cbk_rt_block *y = NULL;
    assert_ok(cbk_rt_alloc(others[1], BYTES, &y));
    assert_ok(test_small_fill(&small[1], y, 100, 77));
    test_small_expect(&small[1], y, 100, 77);
    cbk_rt_free(side->device, &y);
    for (int s = 0; s < STREAMS; s++) cbk_rt_stream_destroy(&others[s]);
    assert_ok(cbk_rt_memory_cleanup(side->device));
    assert_int_equal(usage(side).reserved_bytes, 0);
}

static void a_refusing_driver_is_asked_once_more(void **state) {
    struct test_runtime *side = *state;
    struct cbk_rt_block *x = NULL;
    cbk_fault_plan(1, CL_MEM_OBJECT_ALLOCATION_FAILURE, "clCreateBuffer");
    assert_ok(cbk_rt_alloc(side->stream, 1000, &x));
    assert_non_null(cbk_fault_fired());
    cbk_rt_free(side->device, &x);

    side->rt->cl.clCreateBuffer = NULL; // must not be asked for a size that no device has
    assert_status(CBK_ERROR_OUT_OF_MEMORY, cbk_rt_alloc(side->stream, (uint64_t)1 << 50, &x));
    side->rt->cl.clCreateBuffer = table.clCreateBuffer;
}

/// CPUs' large buffers are mapped when they are new.
static void a_buffer_that_cannot_be_mapped_is_not_kept(void **state) {
    struct test_runtime *side = *state;
    struct cbk_rt_block *x = NULL;
    if (side->device->found->info.type != CBK_DEVICE_CPU) return;
    cbk_fault_plan(1, CL_MEM_OBJECT_ALLOCATION_FAILURE, "clEnqueueMapBuffer");
    assert_ok(cbk_rt_alloc(side->stream, 40 * MIB, &x));
    assert_non_null(cbk_fault_fired());
    assert_int_equal(usage(side).reserved_bytes, 40 * MIB);
    cbk_rt_free(side->device, &x);
    assert_ok(cbk_rt_memory_cleanup(side->device));
    assert_int_equal(usage(side).reserved_bytes, 0);
}

static void without_host_memory_nothing_is_lost(void **state) {
    struct test_runtime *side = *state;
    for (uint64_t n = 1; n < 6; n++) {
        struct cbk_rt_block *blocks[100] = {NULL};
        assert_ok(cbk_rt_memory_cleanup(side->device));
        cbk_fault_plan_allocation(n);
        for (int i = 0; i < 100; i++) {
            const cbk_status status = cbk_rt_alloc(side->stream, 1 + (uint64_t)i * 100, &blocks[i]);
            assert_true(status == CBK_OK || status == CBK_ERROR_OUT_OF_HOST_MEMORY);
        }
        for (int i = 0; i < 100; i++) cbk_rt_free(side->device, &blocks[i]);
        cbk_fault_plan_allocation(0);
        assert_int_equal(usage(side).used_bytes, 0);
    }
}

// ---- kinds ---------------------------------------------------------------------------------------------

static void persistent_blocks_are_exact(void **state) {
    struct test_runtime *side = *state;
    struct cbk_rt_block *weights = NULL, *small = NULL;
    assert_status(CBK_ERROR_INVALID_STATE, cbk_rt_persistent_end(side->stream));
    assert_ok(cbk_rt_persistent_begin(side->stream));
    assert_ok(cbk_rt_persistent_begin(side->stream));
    assert_ok(cbk_rt_persistent_end(side->stream));
    assert_ok(cbk_rt_alloc(side->stream, 33 * MIB + 4096, &weights));
    assert_int_equal(usage(side).padding_bytes, 0);
    assert_int_equal(usage(side).reserved_bytes, 33 * MIB + 4096);
    assert_ok(cbk_rt_alloc(side->stream, 10, &small));
    assert_ok(cbk_rt_persistent_end(side->stream));
    assert_ptr_equal(small->chunk->pool, &side->stream->persistent);
    const uint64_t before = usage(side).reserved_bytes;
    cbk_rt_free(side->device, &weights);
    cbk_rt_free(side->device, &small);
    assert_ok(cbk_rt_memory_cleanup(side->device));
    assert_true(usage(side).reserved_bytes < before);
    assert_int_equal(usage(side).reserved_bytes, 0);
}

static void blocks_can_be_buffers_of_their_own(void **state) {
    enum { COUNT = 5 };
    static const uint64_t sizes[COUNT] = {1, 13, 4096, 4097, MIB + 3};
    struct test_runtime separate;
    struct cbk_rt_block *blocks[COUNT] = {NULL};
    cbk_backend_params params = test_runtime_params("");
    params.flags |= CBK_SEPARATE_BUFFERS;
    (void)state;
    test_runtime_open(&separate, &params, NULL);
    for (int i = 0; i < COUNT; i++) {
        size_t size = 0;
        assert_ok(cbk_rt_alloc(separate.stream, sizes[i], &blocks[i]));
        assert_int_equal(clGetMemObjectInfo(blocks[i]->mem, CL_MEM_SIZE, sizeof size, &size, NULL),
                         CL_SUCCESS);
        assert_int_equal(size, sizes[i]);
        assert_int_equal(blocks[i]->offset, 0);
        for (int k = 0; k < i; k++) assert_ptr_not_equal(blocks[k]->mem, blocks[i]->mem);
    }
    for (int i = 0; i < COUNT; i++) cbk_rt_free(separate.device, &blocks[i]);
    assert_ok(cbk_rt_memory_cleanup(separate.device));
    assert_int_equal(usage(&separate).reserved_bytes, 0);
    test_runtime_close(&separate);
}

static void staging_memory_comes_and_goes(void **state) {
    struct test_runtime *side = *state;
    void *a = NULL, *b = NULL, *left = NULL;
    assert_ok(cbk_rt_staging_alloc(side->device, 1000, &a));
    assert_ok(cbk_rt_staging_alloc(side->device, 5 * MIB, &b));
    assert_ok(cbk_rt_staging_alloc(side->device, 5, &left)); // closing frees it
    memset(a, 1, 1000);
    memset(b, 2, 5 * MIB);
    cbk_rt_staging_free(side->device, a);
    cbk_rt_staging_free(side->device, b);
    cbk_rt_staging_free(side->device, NULL);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_rt_staging_alloc(side->device, 0, &a));
}

// ---- threads -------------------------------------------------------------------------------------------

enum { HANDED = 2000 };
struct handed {
    struct cbk_rt_device *device;
    struct cbk_rt_block *blocks[HANDED];
};

static void *free_all(void *argument) {
    struct handed *handed = argument;
    for (int i = 0; i < HANDED; i++) cbk_rt_free(handed->device, &handed->blocks[i]);
    return NULL;
}

static void any_thread_may_free(void **state) {
    struct test_runtime *side = *state;
    enum { THREADS = 3 };
    static struct handed handed[THREADS];
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        handed[t].device = side->device;
        for (int i = 0; i < HANDED; i++) {
            assert_ok(cbk_rt_alloc(side->stream, 100 + (uint64_t)i, &handed[t].blocks[i]));
        }
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_create(&threads[t], NULL, free_all, &handed[t]), 0);
    }
    for (int i = 0; i < 3000; i++) {
        struct cbk_rt_block *x = NULL;
        assert_ok(cbk_rt_alloc(side->stream, 64 + (uint64_t)i, &x));
        cbk_rt_free(side->device, &x);
    }
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    assert_ok(cbk_rt_memory_cleanup(side->device));
    assert_int_equal(usage(side).used_bytes, 0);
    assert_int_equal(usage(side).reserved_bytes, 0);
}

#define WITH_SIDE(test) cmocka_unit_test_setup_teardown(test, open_side, close_side)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SIDE(blocks_do_not_overlap),
        WITH_SIDE(a_freed_block_serves_again),
        WITH_SIDE(varying_sizes_stay_bounded),
        WITH_SIDE(the_budget_is_kept),
        WITH_SIDE(what_another_stream_holds_unused_is_given_up),
        WITH_SIDE(freed_memory_serves_other_streams),
        WITH_SIDE(a_refusing_driver_is_asked_once_more),
        WITH_SIDE(a_buffer_that_cannot_be_mapped_is_not_kept),
        WITH_SIDE(without_host_memory_nothing_is_lost),
        WITH_SIDE(persistent_blocks_are_exact),
        WITH_SIDE(blocks_can_be_buffers_of_their_own),
        WITH_SIDE(staging_memory_comes_and_goes),
        WITH_SIDE(any_thread_may_free),
    };
    const int failed = cmocka_run_group_tests_name("as it is", tests, NULL, NULL);
    cbk_fault_pretend_gpu(true);
    return failed + cmocka_run_group_tests_name("as a GPU", tests, NULL, NULL);
}
