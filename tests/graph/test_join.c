// test_join.c: products of a graph with what follows them: one launch each where nobody reads what is
// between, the bits of the separate launches in any case.

#include "captured.h"
#include "device.h"
#include "support.h"

#include <string.h>

enum { MOST_BYTES = 1 << 19 };

struct work {
    cbk_dtype dtype;
    int64_t m, k, n;
    cbk_tensor *x, *weight, *square, *bias, *other; ///< [m, k], [k, n], [n, n], [n], [m, n]
    struct test_outputs out;
};

static struct test_side side;
static cbk_stream *stream;
static uint32_t form; ///< CBK_CPU_KERNELS, CBK_GPU_KERNELS, CBK_ROUTE_BLAS

static int open_side(void **state) {
    (void)state;
    if (!test_opencl_open(&side, form)) return -1;
    stream = side.stream;
    return 0;
}

static int close_side(void **state) {
    (void)state;
    return test_side_finish(&side);
}

static void release_all(struct work *work) {
    test_release_outputs(&work->out);
    cbk_tensor_release(&work->x);
    cbk_tensor_release(&work->weight);
    cbk_tensor_release(&work->square);
    cbk_tensor_release(&work->bias);
    cbk_tensor_release(&work->other);
}

// ---- the work ------------------------------------------------------------------------------------

/// In place: relu(x weight + bias) + other, then a layer on it with its own activation.
static cbk_status in_place(cbk_stream *on, void *user_data) {
    struct work *w = user_data;
    const cbk_matmul_params relu = CBK_INIT(cbk_matmul_params, .activation = CBK_OP_RELU);
    cbk_tensor *y = NULL;
    cbk_status status = CBK_OK;
    test_release_outputs(&w->out);
    TRY(cbk_matmul(on, w->x, w->weight, NULL, &y));
    TRY(cbk_add_into(on, y, w->bias, y));
    TRY(cbk_relu_into(on, y, y));
    TRY(cbk_add_into(on, w->other, y, y));
    cbk_tensor **z = test_next(&w->out);
    TRY(cbk_linear(on, y, w->square, w->bias, &relu, z));
    TRY(cbk_add_into(on, *z, y, *z));
done:
    cbk_tensor_release(&y);
    return status;
}

/// New tensors throughout, each given up when it has been used.
static cbk_status new_tensors(cbk_stream *on, void *user_data) {
    struct work *w = user_data;
    cbk_tensor *y[4] = {NULL};
    cbk_status status = CBK_OK;
    test_release_outputs(&w->out);
    TRY(cbk_matmul(on, w->x, w->weight, NULL, &y[0]));
    TRY(cbk_add(on, w->bias, y[0], &y[1]));
    cbk_tensor_release(&y[0]);
    TRY(cbk_gelu(on, y[1], CBK_GELU_TANH, &y[2]));
    cbk_tensor_release(&y[1]);
    TRY(cbk_add(on, y[2], w->other, &y[3]));
    cbk_tensor_release(&y[2]);
    TRY(cbk_matmul(on, y[3], w->square, NULL, &y[0]));
    TRY(cbk_sigmoid(on, y[0], &y[1]));
    cbk_tensor_release(&y[0]);
    TRY(cbk_add(on, y[1], y[3], test_next(&w->out)));
done:
    for (int i = 0; i < 4; i++) cbk_tensor_release(&y[i]);
    return status;
}

/// What is between is kept, or read once more.
static cbk_status read_elsewhere(cbk_stream *on, void *user_data) {
    struct work *w = user_data;
    cbk_tensor *y = NULL;
    cbk_status status = CBK_OK;
    test_release_outputs(&w->out);
    cbk_tensor **product = test_next(&w->out);
    TRY(cbk_matmul(on, w->x, w->weight, NULL, product));
    TRY(cbk_add(on, *product, w->bias, &y));
    TRY(cbk_relu(on, y, test_next(&w->out)));
    TRY(cbk_neg(on, y, test_next(&w->out)));
    cbk_tensor_release(&y);
    TRY(cbk_matmul(on, w->x, w->weight, NULL, &y));
    TRY(cbk_relu(on, y, test_next(&w->out)));
    TRY(cbk_add(on, w->out.tensors[3], y, test_next(&w->out)));
done:
    cbk_tensor_release(&y);
    return status;
}

/// The result lands where an operand was.
static cbk_status overwritten(cbk_stream *on, void *user_data) {
    struct work *w = user_data;
    cbk_tensor *h = NULL, *y = NULL;
    cbk_status status = CBK_OK;
    test_release_outputs(&w->out);
    TRY(cbk_neg(on, w->other, &h));
    TRY(cbk_matmul(on, h, w->square, NULL, &y));
    cbk_tensor_release(&h); // its memory serves the next tensor
    TRY(cbk_relu(on, y, test_next(&w->out)));
    cbk_tensor_release(&y);
    TRY(cbk_abs(on, w->out.tensors[0], &h));
    TRY(cbk_matmul(on, h, w->square, NULL, &y));
    TRY(cbk_add_into(on, y, h, h)); // x = x w + x
    TRY(cbk_copy(on, h, test_next(&w->out)));
done:
    cbk_tensor_release(&h);
    cbk_tensor_release(&y);
    return status;
}

/// Transposed operands, batches, a product of k = 0, a residual that stretches.
static cbk_status views(cbk_stream *on, void *user_data) {
    struct work *w = user_data;
    cbk_tensor *turned = NULL, *first = NULL, *batch = NULL, *y = NULL, *none[2] = {NULL};
    cbk_status status = CBK_OK;
    test_release_outputs(&w->out);
    TRY(cbk_transpose(on, w->square, 0, 1, &turned));
    TRY(cbk_narrow(on, w->other, 0, 0, 1, &first));
    TRY(cbk_matmul(on, w->other, turned, NULL, &y));
    TRY(cbk_relu_into(on, y, y));
    TRY(cbk_add(on, y, first, test_next(&w->out)));
    cbk_tensor_release(&y);
    TRY(cbk_unsqueeze(on, w->other, 1, (int32_t[]){0}, &batch));
    TRY(cbk_matmul(on, batch, w->square, NULL, &y));
    TRY(cbk_add_into(on, y, w->bias, y));
    TRY(cbk_relu(on, y, test_next(&w->out)));
    cbk_tensor_release(&y);
    TRY(cbk_narrow(on, w->other, 1, 0, 0, &none[0]));
    TRY(cbk_narrow(on, w->square, 0, 0, 0, &none[1]));
    TRY(cbk_matmul(on, none[0], none[1], NULL, &y));
    TRY(cbk_add(on, y, w->bias, test_next(&w->out)));
done:
    cbk_tensor_release(&turned);
    cbk_tensor_release(&first);
    cbk_tensor_release(&batch);
    cbk_tensor_release(&none[0]);
    cbk_tensor_release(&none[1]);
    cbk_tensor_release(&y);
    return status;
}

// ---- eager and joined ----------------------------------------------------------------------------

static void make_inputs(struct work *w) {
    test_draw(stream, w->dtype, 2, (int64_t[]){w->m, w->k}, 1, &w->x);
    test_draw(stream, w->dtype, 2, (int64_t[]){w->k, w->n}, 1, &w->weight);
    test_draw(stream, w->dtype, 2, (int64_t[]){w->n, w->n}, 1, &w->square);
    test_draw(stream, w->dtype, 1, (int64_t[]){w->n}, 1, &w->bias);
    test_draw(stream, w->dtype, 2, (int64_t[]){w->m, w->n}, 1, &w->other);
}

/// `most_launches` of one replay where kernels of ours make the products.
static void compare(cbk_graph_function function, struct work *work, uint64_t most_launches) {
    static unsigned char eager[MOST_BYTES], replayed[MOST_BYTES];
    cbk_graph *graph = NULL;
    assert_ok(cbk_seed(side.device, 3));
    make_inputs(work);
    assert_ok(function(stream, work));
    const size_t size = test_read_outputs(stream, &work->out, eager, MOST_BYTES);
    test_release_outputs(&work->out);
    assert_ok(cbk_graph_capture(stream, function, work, &graph));
    const uint64_t before = test_launch_count(side.device);
    for (int i = 0; i < 2; i++) {
        assert_ok(cbk_graph_replay(graph));
        memset(replayed, 0, size);
        assert_int_equal(test_read_outputs(stream, &work->out, replayed, MOST_BYTES), size);
        assert_memory_equal(replayed, eager, size);
    }
    if (form != CBK_ROUTE_BLAS)
        assert_in_range(test_launch_count(side.device) - before, 0, 2 * most_launches);
    cbk_graph_release(&graph);
    release_all(work);
}

static void compare_all(cbk_graph_function function, uint64_t most_launches) {
    static const int64_t shapes[][3] = {{8, 64, 48}, {1, 40, 24}, {130, 129, 131}};
    const bool is_gpu = form == CBK_GPU_KERNELS; // whose forms take long to compile for a CPU
    for (size_t s = 0; s < (is_gpu ? 1 : sizeof shapes / sizeof *shapes); s++) {
        struct work work = {.dtype = s == 1 ? CBK_DTYPE_BF16 : CBK_DTYPE_F32,
                            .m = shapes[s][0],
                            .k = shapes[s][1],
                            .n = shapes[s][2]};
        compare(function, &work, most_launches);
    }
}

static void test_in_place(void **state) {
    (void)state;
    compare_all(in_place, 2);
}
static void test_new_tensors(void **state) {
    (void)state;
    compare_all(new_tensors, 2);
}
static void test_read_elsewhere(void **state) {
    (void)state;
    compare_all(read_elsewhere, 7);
}
static void test_overwritten(void **state) {
    (void)state;
    compare_all(overwritten, 7);
}
static void test_views(void **state) {
    (void)state;
    compare_all(views, 5);
}

/// Products whose k is cut: the launch that adds the parts takes the epilogue.
static void test_splits(void **state) {
    struct work work = {.dtype = CBK_DTYPE_F32, .m = 20, .k = 2100, .n = 9};
    (void)state;
    compare(in_place, &work, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_place),       cmocka_unit_test(test_new_tensors),
        cmocka_unit_test(test_read_elsewhere), cmocka_unit_test(test_overwritten),
        cmocka_unit_test(test_views),          cmocka_unit_test(test_splits),
    };
    form = CBK_CPU_KERNELS;
    int failed = cmocka_run_group_tests_name("CPU forms", tests, open_side, close_side);
    form = CBK_GPU_KERNELS;
    failed += cmocka_run_group_tests_name("GPU forms", tests, open_side, close_side);
    form = CBK_ROUTE_BLAS;
    return failed + cmocka_run_group_tests_name("CLBlast", tests, open_side, close_side);
}
