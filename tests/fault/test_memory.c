/// test_memory.c: memory through the public functions: exact figures, budgets, shortage and what
/// comes after it, ever other shapes.
#include <string.h>

#include "fault_side.h"
#include "internal.h"
#include "support.h"

enum { MIB = 1 << 20, SLOTS = 40 };

static struct cbk_rt_cl table;
static struct cbk_fault_side side;

static int open_device(void **state) {
    (void)state;
    cbk_fault_open(&side, &table);
    return 0;
}

static cbk_memory_info usage(void) {
    return cbk_fault_memory(&side);
}

static void expect_nothing_used(void) {
    assert_int_equal(usage().used_bytes, 0);
    assert_int_equal(usage().allocation_count, 0);
    assert_int_equal(usage().padding_bytes, 0);
    assert_int_equal(usage().pending_bytes, 0);
}

static int close_device(void **state) {
    (void)state;
    cbk_fault_reset();
    assert_ok(cbk_sync(side.stream));
    assert_ok(cbk_sync(side.other));
    expect_nothing_used();
    assert_ok(cbk_memory_cleanup(side.device));
    assert_int_equal(usage().reserved_bytes, 0);
    cbk_fault_close(&side);
    return 0;
}

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static cbk_tensor *zeros(cbk_stream *on, cbk_dtype dtype, int64_t length) {
    cbk_tensor *x = NULL;
    assert_ok(cbk_zeros(on, dtype, 1, &length, &x));
    return x;
}

static void expect_first(cbk_tensor *x, float value) {
    cbk_tensor *part = NULL;
    float got = -1;
    const cbk_slice_params params =
        CBK_INIT(cbk_slice_params, .axis_count = 1, .start = {0}, .stop = {1}, .step = {1});
    assert_ok(cbk_slice(side.stream, x, &params, &part));
    assert_ok(cbk_tensor_read(side.stream, part, &got, sizeof got));
    assert_true(got == value);
    cbk_tensor_release(&part);
}

// ---- figures ---------------------------------------------------------------------------------------

/// Tensors, views and results come and go in any order; the figures are those of what is held.
static void figures_are_exact(void **state) {
    static const cbk_dtype dtypes[] = {CBK_DTYPE_F32, CBK_DTYPE_I8, CBK_DTYPE_F16, CBK_DTYPE_I64};
    cbk_tensor *slots[SLOTS] = {NULL}, *views[SLOTS] = {NULL};
    uint64_t bytes[SLOTS] = {0}, used = 0, count = 0;
    uint32_t random = 5;
    (void)state;
    for (int step = 0; step < 4000; step++) {
        const uint32_t i = next_random(&random) % SLOTS;
        cbk_stream *on = step % 3 ? side.stream : side.other;
        if (slots[i] == NULL && views[i] == NULL) {
            const cbk_dtype dtype = dtypes[next_random(&random) % 4];
            const int64_t length =
                next_random(&random) % (1u << next_random(&random) % 18); // may be 0
            slots[i] = zeros(on, dtype, length);
            bytes[i] = (uint64_t)length * cbk_dtype_size(dtype);
            used += bytes[i], count += length != 0;
        } else if (slots[i] != NULL && views[i] == NULL && step % 2) {
            assert_ok(cbk_flip(on, slots[i], 0, NULL, &views[i]));
        } else { // one of the two keeps the memory
            cbk_tensor_release(slots[i] != NULL ? &slots[i] : &views[i]);
            if (slots[i] != NULL || views[i] != NULL) continue;
            used -= bytes[i], count -= bytes[i] != 0;
        }
        assert_int_equal(usage().used_bytes, used);
        assert_int_equal(usage().allocation_count, count);
        assert_int_equal(usage().pending_bytes, 0); // nothing is held back
        assert_true(used + usage().padding_bytes <= usage().reserved_bytes);
    }
    for (int i = 0; i < SLOTS; i++) cbk_tensor_release(&slots[i]), cbk_tensor_release(&views[i]);
}

struct loop {
    cbk_tensor *x, *made[3];
};

static cbk_status step(cbk_stream *on, void *user_data) {
    struct loop *loop = user_data;
    cbk_status status = CBK_OK;
    for (int i = 0; i < 3; i++) cbk_tensor_release(&loop->made[i]);
    RT_TRY(cbk_exp(on, loop->x, &loop->made[0]));
    RT_TRY(cbk_add(on, loop->made[0], loop->x, &loop->made[1]));
    RT_TRY(cbk_sum(on, loop->made[1], NULL, &loop->made[2]));
done:
    return status;
}

static void a_graph_gives_back_what_it_holds(void **state) {
    struct loop loop = {.x = zeros(side.stream, CBK_DTYPE_F32, 300000)};
    (void)state;
    const uint64_t before = usage().used_bytes;
    for (int round = 0; round < 5; round++) {
        cbk_graph *graph = NULL;
        assert_ok(cbk_graph_capture(side.stream, step, &loop, &graph));
        for (int i = 0; i < 20; i++) assert_ok(cbk_graph_replay(graph));
        for (int i = 0; i < 3; i++) cbk_tensor_release(&loop.made[i]);
        cbk_graph_release(&graph);
        assert_ok(cbk_sync(side.stream));
        assert_int_equal(usage().used_bytes, before);
    }
    cbk_tensor_release(&loop.x);
}

static void persistent_windows_nest(void **state) {
    cbk_tensor *outer = NULL, *inner = NULL, *between = NULL;
    const int64_t length = 3 * MIB + 5;
    (void)state;
    assert_status(CBK_ERROR_INVALID_STATE, cbk_persistent_end(side.stream));
    assert_ok(cbk_persistent_begin(side.stream));
    outer = zeros(side.stream, CBK_DTYPE_F32, length);
    assert_ok(cbk_persistent_begin(side.stream));
    inner = zeros(side.stream, CBK_DTYPE_F32, length);
    assert_ok(cbk_persistent_end(side.stream));
    assert_ok(cbk_neg(side.stream, inner, &between)); // still in the outer window
    assert_ok(cbk_persistent_end(side.stream));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_persistent_end(side.stream));
    // Exact but for the alignment.
    assert_int_equal(usage().used_bytes, 3 * (uint64_t)length * 4);
    assert_true(usage().padding_bytes < 3 * 4096);
    assert_true(usage().reserved_bytes < usage().used_bytes + 3 * 4096 + 2 * MIB);
    cbk_tensor_release(&outer), cbk_tensor_release(&inner), cbk_tensor_release(&between);
}

/// Ever other shapes on two streams: what is held stays near what is used at a time.
static void ever_other_shapes_stay_bounded(void **state) {
    uint32_t random = 11;
    uint64_t most = 0;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        const int64_t rows = 1 + next_random(&random) % 300,
                      columns = 1 + next_random(&random) % 900;
        cbk_stream *on = i % 5 ? side.stream : side.other;
        cbk_tensor *x = NULL, *y = NULL, *z = NULL;
        assert_ok(cbk_zeros(on, CBK_DTYPE_F32, 2, (int64_t[]){rows, columns}, &x));
        assert_ok(cbk_add_scalar(on, x, cbk_f(1), &y));
        assert_ok(cbk_add(i % 7 ? on : side.stream, x, y, &z));
        if (usage().used_bytes > most) most = usage().used_bytes;
        cbk_tensor_release(&x), cbk_tensor_release(&y), cbk_tensor_release(&z);
    }
    print_message("most used %u KiB, peak held %u KiB\n", (unsigned)(most >> 10),
                  (unsigned)(usage().peak_bytes >> 10));
    assert_true(usage().peak_bytes <= 4 * most + 64 * (uint64_t)MIB);
}

// ---- shortage --------------------------------------------------------------------------------------

static void out_of_memory_is_a_value(void **state) {
    cbk_tensor *x = NULL, *y = NULL, *out = NULL;
    (void)state;
    assert_ok(cbk_memory_limit(side.device, 100 * (uint64_t)MIB));
    x = zeros(side.stream, CBK_DTYPE_F32, 15 * MIB); // 60 MiB
    assert_status(CBK_ERROR_OUT_OF_MEMORY, cbk_add(side.stream, x, x, &out));
    assert_null(out);
    assert_non_null(strstr(cbk_last_error_message(), "62914560"));  // asked for
    assert_non_null(strstr(cbk_last_error_message(), "104857600")); // the budget
    assert_non_null(strstr(cbk_last_error_message(), "add: "));
    assert_status(CBK_ERROR_OUT_OF_MEMORY, cbk_tensor_to_device(side.stream, x, side.other, &out));
    // Work goes on, on both streams, in what is left and in place.
    assert_ok(cbk_add_scalar_into(side.stream, x, cbk_f(3), x));
    y = zeros(side.other, CBK_DTYPE_F32, 4 * MIB);
    cbk_tensor_release(&y);
    expect_first(x, 3);
    cbk_tensor_release(&x);
    x = zeros(side.other, CBK_DTYPE_F32, 20 * MIB); // what the other stream had
    assert_true(usage().peak_bytes <= 100 * (uint64_t)MIB);
    cbk_tensor_release(&x);
    assert_ok(cbk_memory_limit(side.device, 0));
}

/// Held, but unused: given up on demand rather than in the way.
static void unused_memory_is_no_obstacle(void **state) {
    (void)state;
    assert_ok(cbk_memory_limit(side.device, 100 * (uint64_t)MIB));
    for (int i = 0; i < 30; i++) {
        cbk_tensor *x =
            zeros(i % 2 ? side.stream : side.other, CBK_DTYPE_F32, (10 + i % 3 * 7) * MIB);
        cbk_tensor_release(&x);
    }
    assert_true(usage().peak_bytes <= 100 * (uint64_t)MIB);
    assert_ok(cbk_memory_limit(side.device, 0));
}

/// The driver has nothing the first time it is asked.
static void a_shortage_is_tried_again(void **state) {
    static const char *const functions[] = {"clCreateBuffer", "clEnqueueNDRangeKernel"};
    cbk_tensor *x = zeros(side.stream, CBK_DTYPE_F32, 9 * MIB), *out = NULL;
    (void)state;
    assert_ok(cbk_add(side.stream, x, x, &out)); // its kernel is there from now on
    cbk_tensor_release(&out);
    for (int f = 0; f < 2; f++) {
        cbk_tensor *big = NULL;
        assert_ok(cbk_memory_cleanup(side.device));
        cbk_fault_plan(1, CL_MEM_OBJECT_ALLOCATION_FAILURE, functions[f]);
        assert_ok(cbk_add(side.stream, x, x, &big));
        assert_non_null(cbk_fault_fired());
        expect_first(big, 0);
        cbk_tensor_release(&big);
    }
    cbk_tensor_release(&x);
}

#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, open_device, close_device)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_DEVICE(figures_are_exact),         WITH_DEVICE(a_graph_gives_back_what_it_holds),
        WITH_DEVICE(persistent_windows_nest),   WITH_DEVICE(ever_other_shapes_stay_bounded),
        WITH_DEVICE(out_of_memory_is_a_value),  WITH_DEVICE(unused_memory_is_no_obstacle),
        WITH_DEVICE(a_shortage_is_tried_again),
    };
    cbk_fault_table(&table);
    return CBK_FAULT_RUN(tests);
}
