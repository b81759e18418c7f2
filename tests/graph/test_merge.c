// test_merge.c: runs of small operations that a graph makes one launch of: the bits of the separate
// launches, in both forms of the kernels, whatever the operands' views and however they overlap.

#include "captured.h"
#include "device.h"
#include "support.h"

#include <string.h>

enum { MOST_BYTES = 1 << 17 };

/// What a run works on.
struct work {
    cbk_dtype dtype;
    int64_t rows, columns;
    cbk_tensor *x, *y, *row, *state; ///< [rows, columns], the same, [columns], [rows * columns + 1]
    struct test_outputs out;
};

static struct test_side side;
static cbk_stream *stream;
static uint32_t form; ///< CBK_CPU_KERNELS or CBK_GPU_KERNELS

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
    cbk_tensor_release(&work->y);
    cbk_tensor_release(&work->row);
    cbk_tensor_release(&work->state);
}

/// Dense chains, one feeding the next.
static cbk_status chain(cbk_stream *on, void *user_data) {
    struct work *w = user_data;
    cbk_status status = CBK_OK;
    test_release_outputs(&w->out);
    cbk_tensor **sum = test_next(&w->out), **difference = test_next(&w->out),
               **product = test_next(&w->out), **sign = test_next(&w->out);
    TRY(cbk_add(on, w->x, w->y, sum));
    TRY(cbk_rsub_scalar(on, *sum, cbk_i(3), difference));
    TRY(cbk_mul(on, *difference, *sum, product));
    TRY(cbk_sign(on, *product, sign));
    TRY(cbk_add_scalar_into(on, *product, cbk_i(1), *product));
    TRY(cbk_mul_into(on, *sum, *product, *sum));
    TRY(cbk_clamp(on, *sum, cbk_i(-2), cbk_i(5), test_next(&w->out)));
done:
    return status;
}

/// Broadcasts, transposes, casts, masks: what other work-items have made.
static cbk_status views(cbk_stream *on, void *user_data) {
    struct work *w = user_data;
    cbk_tensor *turned = NULL, *first = NULL;
    cbk_status status = CBK_OK;
    test_release_outputs(&w->out);
    cbk_tensor **biased = test_next(&w->out), **mask = test_next(&w->out),
               **copied = test_next(&w->out), **number = test_next(&w->out);
    cbk_tensor **spread = test_next(&w->out), **back = test_next(&w->out);
    TRY(cbk_add(on, w->x, w->row, biased));
    TRY(cbk_transpose(on, *biased, 0, 1, &turned));
    TRY(cbk_copy(on, turned, copied));
    TRY(cbk_less(on, *biased, w->y, mask));
    TRY(cbk_mask_fill(on, *biased, *mask, cbk_i(7), test_next(&w->out)));
    TRY(cbk_cast(on, *biased, CBK_DTYPE_I32, number));
    TRY(cbk_cast(on, *number, w->dtype, back));
    TRY(cbk_narrow(on, *back, 0, 0, 1, &first));
    TRY(cbk_add(on, *back, first, spread)); // every work-item reads the first row
    TRY(cbk_neg_into(on, w->row, w->row));
    TRY(cbk_add(on, *spread, w->row, test_next(&w->out)));
done:
    cbk_tensor_release(&turned);
    cbk_tensor_release(&first);
    return status;
}

/// Views of one tensor, an element apart: what one work-item writes the next one reads.
static cbk_status shifts(cbk_stream *on, void *user_data) {
    struct work *w = user_data;
    const int64_t count = w->rows * w->columns;
    cbk_tensor *lower = NULL, *upper = NULL;
    cbk_status status = CBK_OK;
    test_release_outputs(&w->out);
    TRY(cbk_narrow(on, w->state, 0, 0, count, &lower));
    TRY(cbk_narrow(on, w->state, 0, 1, count, &upper));
    for (int i = 0; i < 4; i++) {
        cbk_tensor **scaled = test_next(&w->out);
        TRY(cbk_add_scalar(on, lower, cbk_i(i + 1), scaled));
        TRY(cbk_copy_into(on, *scaled, upper));
        TRY(cbk_mul_into(on, lower, *scaled, lower));
    }
done:
    cbk_tensor_release(&lower);
    cbk_tensor_release(&upper);
    return status;
}

/// Copies, parts and constants.
static cbk_status moves(cbk_stream *on, void *user_data) {
    struct work *w = user_data;
    cbk_tensor *turned = NULL, *part = NULL;
    cbk_status status = CBK_OK;
    test_release_outputs(&w->out);
    cbk_tensor **dense = test_next(&w->out), **filled = test_next(&w->out),
               **joined = test_next(&w->out), **copied = test_next(&w->out);
    TRY(cbk_transpose(on, w->x, 0, 1, &turned));
    TRY(cbk_contiguous(on, turned, dense));
    TRY(cbk_fill(on, w->dtype, 2, (int64_t[]){w->columns, w->rows}, cbk_f(2.5), filled));
    TRY(cbk_cat(on, (const cbk_tensor *const[]){*dense, *filled, turned}, 3, 1, joined));
    TRY(cbk_narrow(on, *joined, 1, w->rows, w->rows, &part));
    TRY(cbk_copy_into(on, *dense, part)); // into the middle of what cat has made
    TRY(cbk_copy(on, *joined, copied));
    TRY(cbk_fill_into(on, cbk_i(3), part));
done:
    cbk_tensor_release(&turned);
    cbk_tensor_release(&part);
    return status;
}

static const cbk_reduce_params by_rows = {
    .struct_size = sizeof by_rows, .axis_count = 1, .axes = {1}};
static const cbk_reduce_params by_columns = {
    .struct_size = sizeof by_columns, .axis_count = 1, .axes = {0}};

/// Reductions of rows, columns and all, of what was just made, and what follows them.
static cbk_status reductions(cbk_stream *on, void *user_data) {
    struct work *w = user_data;
    cbk_tensor *flat = NULL;
    cbk_status status = CBK_OK;
    test_release_outputs(&w->out);
    cbk_tensor **most = test_next(&w->out), **shifted = test_next(&w->out),
               **sum = test_next(&w->out);
    TRY(cbk_max(on, w->x, &by_rows, most));
    TRY(cbk_sub(on, w->x, *most, shifted));
    TRY(cbk_sum(on, *shifted, &by_columns, sum));
    TRY(cbk_sum(on, *shifted, &by_rows, test_next(&w->out)));
    TRY(cbk_max(on, *shifted, NULL, test_next(&w->out)));
    TRY(cbk_argmin(on, w->y, &by_columns, test_next(&w->out)));
    TRY(cbk_argmin(on, *shifted, &by_rows, test_next(&w->out)));
    TRY(cbk_reshape(on, *sum, 1, &w->columns, &flat));
    TRY(cbk_add_into(on, w->row, flat, w->row));
done:
    cbk_tensor_release(&flat);
    return status;
}

/// Of masks and of views, and with two outputs.
static cbk_status more_reductions(cbk_stream *on, void *user_data) {
    struct work *w = user_data;
    cbk_tensor *turned = NULL, *flipped = NULL;
    cbk_status status = CBK_OK;
    test_release_outputs(&w->out);
    cbk_tensor **mean = test_next(&w->out), **mask = test_next(&w->out),
               **least = test_next(&w->out), **place = test_next(&w->out);
    cbk_tensor **most = test_next(&w->out), **column = test_next(&w->out);
    TRY(cbk_transpose(on, w->x, 0, 1, &turned));
    TRY(cbk_mean(on, turned, NULL, mean));
    TRY(cbk_less(on, w->x, *mean, mask));
    TRY(cbk_any(on, *mask, &by_rows, test_next(&w->out)));
    TRY(cbk_all(on, *mask, NULL, test_next(&w->out)));
    TRY(cbk_count_nonzero(on, *mask, &by_columns, test_next(&w->out)));
    TRY(cbk_flip(on, w->y, 1, (int32_t[]){1}, &flipped));
    TRY(cbk_prod(on, flipped, &by_rows, test_next(&w->out)));
    TRY(cbk_min_with_indices(on, flipped, &by_columns, least, place));
    TRY(cbk_max_with_indices(on, w->x, &by_rows, most, column));
    TRY(cbk_sub(on, w->x, *most, test_next(&w->out)));
    TRY(cbk_copy(on, *column, test_next(&w->out)));
done:
    cbk_tensor_release(&turned);
    cbk_tensor_release(&flipped);
    return status;
}

/// Operators of two and three operands with scalars.
static cbk_status activations(cbk_stream *on, void *user_data) {
    struct work *w = user_data;
    const cbk_activation_params params =
        CBK_INIT(cbk_activation_params, .alpha = cbk_f(2), .beta = cbk_f(3));
    cbk_status status = CBK_OK;
    test_release_outputs(&w->out);
    cbk_tensor **hidden = test_next(&w->out), **slope = test_next(&w->out),
               **mixed = test_next(&w->out), **scaled = test_next(&w->out);
    TRY(cbk_gelu(on, w->x, CBK_GELU_EXACT, hidden));
    TRY(cbk_softplus_backward(on, *hidden, w->y, &params, slope));
    TRY(cbk_lerp(on, *hidden, *slope, w->y, mixed));
    TRY(cbk_addcmul(on, *mixed, *slope, *hidden, cbk_f(0.5), scaled));
    TRY(cbk_lerp_scalar(on, *scaled, w->x, cbk_f(0.25), test_next(&w->out)));
    TRY(cbk_is_close(on, *scaled, *mixed, NULL, test_next(&w->out)));
    TRY(cbk_fmod(on, *scaled, w->y, test_next(&w->out)));
done:
    return status;
}

// ---- eager and merged ----------------------------------------------------------------------------

/// The outputs, the row and the state, one after the other.
static size_t read_all(const struct work *work, unsigned char *data) {
    const size_t outputs = test_read_outputs(stream, &work->out, data, MOST_BYTES);
    const size_t row = test_append(stream, work->row, data, outputs, MOST_BYTES);
    return test_append(stream, work->state, data, row, MOST_BYTES);
}

static void make_inputs(struct work *w) {
    const int64_t matrix[2] = {w->rows, w->columns}, flat = w->rows * w->columns + 1;
    test_draw(stream, w->dtype, 2, matrix, 3, &w->x);
    test_draw(stream, w->dtype, 2, matrix, 3, &w->y);
    test_draw(stream, w->dtype, 1, &w->columns, 3, &w->row);
    test_draw(stream, w->dtype, 1, &flat, 3, &w->state);
}

/// Runs three times eagerly, then from the same start once eagerly and twice replayed.
static void compare(cbk_graph_function function, struct work *work, uint64_t most_launches) {
    static unsigned char eager[MOST_BYTES], replayed[MOST_BYTES];
    cbk_graph *graph = NULL;
    size_t size = 0;
    assert_ok(cbk_seed(side.device, 3));
    make_inputs(work);
    for (int i = 0; i < 3; i++) assert_ok(function(stream, work));
    size = read_all(work, eager);
    release_all(work);

    assert_ok(cbk_seed(side.device, 3));
    make_inputs(work);
    assert_ok(cbk_graph_capture(stream, function, work, &graph));
    const uint64_t before = test_launch_count(side.device);
    for (int i = 0; i < 2; i++) assert_ok(cbk_graph_replay(graph));
    assert_in_range(test_launch_count(side.device) - before, 0, 2 * most_launches);
    assert_int_equal(read_all(work, replayed), size);
    assert_memory_equal(replayed, eager, size);
    cbk_graph_release(&graph);
    release_all(work);
}

/// The GPU forms take long to compile for a CPU: one dtype has to do there.
static const cbk_dtype dtypes[] = {CBK_DTYPE_F32, CBK_DTYPE_F16, CBK_DTYPE_I32};
static const int64_t shapes[][2] = {{7, 129}, {40, 25}, {3, 5}, {1, 1}};

static void compare_all(cbk_graph_function function, uint64_t most_launches) {
    const size_t dtype_count = form == CBK_CPU_KERNELS ? sizeof dtypes / sizeof *dtypes : 1;
    for (size_t d = 0; d < dtype_count; d++) {
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            struct work work = {.dtype = dtypes[d], .rows = shapes[s][0], .columns = shapes[s][1]};
            compare(function, &work, most_launches);
        }
    }
}

static void test_chain(void **state) {
    (void)state;
    compare_all(chain, 1);
}
static void test_views(void **state) {
    (void)state;
    compare_all(views, 5);
}
static void test_shifts(void **state) {
    (void)state;
    compare_all(shifts, 1);
}

static void test_moves(void **state) {
    (void)state;
    compare_all(moves, 1);
}
static void test_reductions(void **state) {
    (void)state;
    compare_all(reductions, 1);
}
static void test_more_reductions(void **state) {
    (void)state;
    compare_all(more_reductions, 1);
}

static void test_activations(void **state) {
    (void)state;
    for (size_t d = 0; d < (form == CBK_CPU_KERNELS ? 2 : 1); d++) {
        struct work work = {.dtype = dtypes[d], .rows = 5, .columns = 67};
        compare(activations, &work, 1);
    }
}

/// Rows of more than a block; the CPU forms give them to launches of their own.
static void test_long_rows(void **state) {
    (void)state;
    struct work work = {.dtype = CBK_DTYPE_F32, .rows = 2, .columns = 1300};
    compare(reductions, &work, form == CBK_CPU_KERNELS ? 8 : 1);
}

/// Large ones stay alone.
static void test_large(void **state) {
    (void)state;
    struct work work = {.dtype = CBK_DTYPE_I8, .rows = 10, .columns = 900};
    compare(chain, &work, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),       cmocka_unit_test(test_views),
        cmocka_unit_test(test_shifts),      cmocka_unit_test(test_moves),
        cmocka_unit_test(test_reductions),  cmocka_unit_test(test_more_reductions),
        cmocka_unit_test(test_activations), cmocka_unit_test(test_long_rows),
        cmocka_unit_test(test_large),
    };
    form = CBK_CPU_KERNELS;
    int failed = cmocka_run_group_tests_name("CPU forms", tests, open_side, close_side);
    form = CBK_GPU_KERNELS;
    return failed + cmocka_run_group_tests_name("GPU forms", tests, open_side, close_side);
}
