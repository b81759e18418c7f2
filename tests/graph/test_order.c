// test_order.c: scans and sorts of long rows take temporaries and several launches; captured, they
// give the bits of the eager run, also for other inputs.

#include "device.h"
#include "random_data.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

#define COUNT 50000
#define KEPT 40

static struct test_side side;
static uint32_t form; ///< CBK_CPU_KERNELS or CBK_GPU_KERNELS

static int open_side(void **state) {
    (void)state;
    return test_opencl_open(&side, form) ? 0 : -1;
}

static int close_side(void **state) {
    (void)state;
    return test_side_finish(&side);
}

struct results {
    cbk_tensor *sums, *sorted, *places, *best, *median;
};

static void release_results(struct results *results) {
    cbk_tensor_release(&results->sums);
    cbk_tensor_release(&results->sorted);
    cbk_tensor_release(&results->places);
    cbk_tensor_release(&results->best);
    cbk_tensor_release(&results->median);
}

static void run(const cbk_tensor *x, struct results *out) {
    const cbk_topk_params topk = CBK_INIT(cbk_topk_params, .k = KEPT);
    assert_ok(cbk_cumsum(side.stream, x, NULL, &out->sums));
    assert_ok(cbk_sort_with_indices(side.stream, x, NULL, &out->sorted, &out->places));
    assert_ok(cbk_topk(side.stream, x, &topk, &out->best));
    assert_ok(cbk_median(side.stream, x, NULL, &out->median));
}

static void expect_equal(const cbk_tensor *want, const cbk_tensor *got) {
    size_t size = (size_t)cbk_tensor_element_count(want) * cbk_dtype_size(cbk_tensor_dtype(want));
    char *a = malloc(size), *b = malloc(size);
    assert_true(a && b);
    assert_ok(cbk_tensor_read(side.stream, want, a, size));
    assert_ok(cbk_tensor_read(side.stream, got, b, size));
    assert_memory_equal(a, b, size);
    free(a);
    free(b);
}

static void replay_equals_eager(void **state) {
    static float data[COUNT];
    const int64_t count = COUNT;
    struct results captured = {NULL};
    cbk_graph *graph = NULL;
    cbk_tensor *x = NULL;
    uint64_t seed = 5;
    (void)state;
    test_fill(data, CBK_DTYPE_F32, COUNT, TEST_MODERATE, 0, &seed);
    assert_ok(cbk_tensor_from_data(side.stream, CBK_DTYPE_F32, 1, &count, data, sizeof data, &x));
    assert_ok(cbk_graph_prepare(side.stream));
    assert_ok(cbk_graph_start_capture(side.stream));
    run(x, &captured);
    assert_ok(cbk_graph_stop_capture(side.stream, &graph));
    for (int i = 0; i < 2; i++) {
        struct results eager = {NULL};
        test_fill(data, CBK_DTYPE_F32, COUNT, TEST_MODERATE, 0, &seed);
        assert_ok(cbk_tensor_write(side.stream, x, data, sizeof data));
        assert_ok(cbk_graph_replay(graph));
        run(x, &eager);
        expect_equal(eager.sums, captured.sums);
        expect_equal(eager.sorted, captured.sorted);
        expect_equal(eager.places, captured.places);
        expect_equal(eager.best, captured.best);
        expect_equal(eager.median, captured.median);
        release_results(&eager);
    }
    cbk_graph_release(&graph);
    release_results(&captured);
    cbk_tensor_release(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(replay_equals_eager)};
    form = CBK_CPU_KERNELS;
    const int failed =
        cmocka_run_group_tests_name("order, CPU forms", tests, open_side, close_side);
    form = CBK_GPU_KERNELS;
    return failed + cmocka_run_group_tests_name("order, GPU forms", tests, open_side, close_side);
}
