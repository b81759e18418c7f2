// test_view.c: every view row: each element of the result lies where the definition says.
#include "mock_backend.h"
#include "support.h"

#include <cubeback/opcodes.h>

#include <stdbool.h>
#include <string.h>

static struct mock mock;

static int open_mock(void **state) {
    (void)state;
    mock_init(&mock);
    mock_open(&mock);
    return 0;
}

static int close_mock(void **state) {
    (void)state;
    mock_close(&mock);
    return mock.storages == 0 && mock.destroyed == 1 ? 0 : -1;
}

static cbk_tensor *make(uint32_t rank, const int64_t *shape) {
    cbk_tensor *tensor = NULL;
    assert_ok(cbk_tensor_empty(mock.stream, CBK_DTYPE_I16, rank, shape, &tensor));
    return tensor;
}

static int64_t address(const cbk_tensor *tensor, const int64_t *index) {
    const int64_t *strides = cbk_tensor_strides(tensor);
    int64_t sum = cbk_tensor_offset(tensor);
    for (uint32_t i = 0; i < cbk_tensor_rank(tensor); i++) sum += index[i] * strides[i];
    return sum;
}

/// A row of the table below: what it does to [3,4,5] (or `shape`), and where its elements come from.
struct row {
    const char *name;
    cbk_opcode opcode;
    union {
        uint32_t struct_size;
        cbk_shape_params shape;
        cbk_axes_params axes;
        cbk_slice_params slice;
        cbk_unfold_params unfold;
        cbk_diagonal_params diagonal;
    } params;
    uint32_t rank;
    int64_t shape[CBK_MAX_RANK]; ///< of the result
    /// Index into the input of result element `at`.
    void (*source)(const int64_t *at, int64_t *from);
};

static void permuted(const int64_t *at, int64_t *from) {
    from[2] = at[0], from[0] = at[1], from[1] = at[2];
}
static void swapped(const int64_t *at, int64_t *from) {
    from[0] = at[0], from[1] = at[2], from[2] = at[1];
}
static void swapped_ends(const int64_t *at, int64_t *from) {
    from[0] = at[2], from[1] = at[1], from[2] = at[0];
}
static void repeated(const int64_t *at, int64_t *from) {
    from[0] = at[1], from[1] = at[2], from[2] = at[3];
}
static void sliced(const int64_t *at, int64_t *from) {
    from[0] = 1 + at[0], from[1] = at[1], from[2] = at[2];
}
static void stepped(const int64_t *at, int64_t *from) {
    from[0] = at[0], from[1] = 3 - 2 * at[1], from[2] = 4 - at[2];
}
static void stepped_forward(const int64_t *at, int64_t *from) {
    from[0] = at[0], from[1] = at[1], from[2] = 1 + 3 * at[2];
}
static void last_of_each(const int64_t *at, int64_t *from) {
    from[0] = 2 - 0 * at[0], from[1] = 3, from[2] = 4;
}
static void flipped(const int64_t *at, int64_t *from) {
    from[0] = 2 - at[0], from[1] = at[1], from[2] = 4 - at[2];
}
static void all_flipped(const int64_t *at, int64_t *from) {
    from[0] = 2 - at[0], from[1] = 3 - at[1], from[2] = 4 - at[2];
}
static void unfolded(const int64_t *at, int64_t *from) {
    from[0] = at[0], from[1] = at[1] * 2 + at[3], from[2] = at[2];
}
static void inserted(const int64_t *at, int64_t *from) {
    from[0] = at[1], from[1] = at[2], from[2] = at[4];
}
static void main_diagonal(const int64_t *at, int64_t *from) {
    from[0] = at[0], from[1] = at[1], from[2] = at[1];
}
static void upper_diagonal(const int64_t *at, int64_t *from) {
    from[1] = at[0], from[0] = at[1], from[2] = at[1] + 3;
}
static void lower_diagonal(const int64_t *at, int64_t *from) {
    from[0] = at[0], from[1] = at[1] + 2, from[2] = at[1];
}

#define END INT64_MAX
#define NEVER INT64_MIN

static const struct row rows[] = {
    {"permute",
     CBK_OP_PERMUTE,
     {.axes = {sizeof(cbk_axes_params), 3, {2, 0, -2}}},
     3,
     {5, 3, 4},
     permuted},
    {"transpose, last two",
     CBK_OP_TRANSPOSE,
     {.axes = {sizeof(cbk_axes_params), 0, {0}}},
     3,
     {3, 5, 4},
     swapped},
    {"transpose",
     CBK_OP_TRANSPOSE,
     {.axes = {sizeof(cbk_axes_params), 2, {-1, 0}}},
     3,
     {5, 4, 3},
     swapped_ends},
    {"expand",
     CBK_OP_EXPAND,
     {.shape = {sizeof(cbk_shape_params), 4, {7, -1, 4, -1}}},
     4,
     {7, 3, 4, 5},
     repeated},
    {"slice",
     CBK_OP_SLICE,
     {.slice = {sizeof(cbk_slice_params), 1, {1}, {END}, {0}}},
     3,
     {2, 4, 5},
     sliced},
    {"slice from the end",
     CBK_OP_SLICE,
     {.slice = {sizeof(cbk_slice_params), 1, {-2}, {99}, {1}}},
     3,
     {2, 4, 5},
     sliced},
    {"slice backwards",
     CBK_OP_SLICE,
     {.slice = {sizeof(cbk_slice_params), 3, {0, 0, 0}, {END, END, END}, {1, -2, -1}}},
     3,
     {3, 2, 5},
     stepped},
    {"slice with steps",
     CBK_OP_SLICE,
     {.slice = {sizeof(cbk_slice_params), 3, {0, 0, 1}, {END, -0 + 4, 5}, {1, 1, 3}}},
     3,
     {3, 4, 2},
     stepped_forward},
    {"slice with a huge step back",
     CBK_OP_SLICE,
     {.slice = {sizeof(cbk_slice_params), 3, {0, 0, 0}, {END, END, END}, {NEVER, NEVER, -99}}},
     3,
     {1, 1, 1},
     last_of_each},
    {"flip", CBK_OP_FLIP, {.axes = {sizeof(cbk_axes_params), 2, {0, -1}}}, 3, {3, 4, 5}, flipped},
    {"flip all",
     CBK_OP_FLIP,
     {.axes = {sizeof(cbk_axes_params), 0, {0}}},
     3,
     {3, 4, 5},
     all_flipped},
    {"unfold",
     CBK_OP_UNFOLD,
     {.unfold = {sizeof(cbk_unfold_params), 1, 2, 2}},
     4,
     {3, 2, 5, 2},
     unfolded},
    {"unsqueeze",
     CBK_OP_UNSQUEEZE,
     {.axes = {sizeof(cbk_axes_params), 2, {3, 0}}},
     5,
     {1, 3, 4, 1, 5},
     inserted},
    {"diagonal",
     CBK_OP_DIAGONAL,
     {.diagonal = {sizeof(cbk_diagonal_params), 0, 0, 0, 0}},
     2,
     {3, 4},
     main_diagonal},
    {"diagonal above",
     CBK_OP_DIAGONAL,
     {.diagonal = {sizeof(cbk_diagonal_params), 0, 2, 0, 3}},
     2,
     {4, 2},
     upper_diagonal},
    {"diagonal below",
     CBK_OP_DIAGONAL,
     {.diagonal = {sizeof(cbk_diagonal_params), 1, -1, 0, -2}},
     2,
     {3, 2},
     lower_diagonal},
};

static cbk_status view_of(const cbk_tensor *x, cbk_opcode opcode, const void *params,
                          uint32_t params_size, cbk_tensor **out) {
    cbk_tensor *inputs[1] = {(cbk_tensor *)(uintptr_t)x};
    *out = NULL;
    const cbk_op op =
        CBK_INIT(cbk_op, .opcode = opcode, .input_count = 1, .output_count = 1, .inputs = inputs,
                 .outputs = out, .params = params, .params_size = params_size);
    return cbk_execute(mock.stream, &op);
}

static void check_row(const struct row *row, const cbk_tensor *x) {
    cbk_tensor *view;
    assert_ok(view_of(x, row->opcode, &row->params, row->params.struct_size, &view));
    assert_int_equal(cbk_tensor_rank(view), row->rank);
    assert_memory_equal(cbk_tensor_shape(view), row->shape, row->rank * sizeof(int64_t));
    assert_ptr_equal(cbk_tensor_storage(view), cbk_tensor_storage(x));
    int64_t at[CBK_MAX_RANK] = {0}, from[CBK_MAX_RANK] = {0};
    for (int64_t i = 0; i < cbk_tensor_element_count(view); i++) {
        int64_t rest = i;
        for (uint32_t axis = row->rank; axis-- > 0; rest /= row->shape[axis]) {
            at[axis] = rest % row->shape[axis];
        }
        row->source(at, from);
        assert_int_equal(address(view, at), address(x, from));
    }
    cbk_tensor_release(&view);
}

/// Over a dense tensor and over a view that is offset, stepped, flipped and transposed.
static void run_row(void **state) {
    const struct row *row = *state;
    const int64_t shape[3] = {3, 4, 5}, large[3] = {11, 9, 4};
    cbk_tensor *x = make(3, shape), *base = make(3, large), *sliced_base = NULL, *strange = NULL;
    cbk_slice_params cut = CBK_INIT(cbk_slice_params, .axis_count = 3, .start = {1, 2, 1},
                                    .stop = {10, 6, 4}, .step = {-2, 1, 1});
    const int32_t axes[3] = {2, 1, 0};
    assert_ok(cbk_slice(mock.stream, base, &cut, &sliced_base));
    assert_ok(cbk_permute(mock.stream, sliced_base, axes, &strange));
    assert_memory_equal(cbk_tensor_shape(strange), shape, sizeof shape);
    check_row(row, x);
    check_row(row, strange);
    cbk_tensor_release(&x);
    cbk_tensor_release(&base);
    cbk_tensor_release(&sliced_base);
    cbk_tensor_release(&strange);
}

// ---- reshape ------------------------------------------------------------------------------------

/// Reshapes; says whether it was a copy; the elements must be those in row-major order.
static bool reshape_copies(const cbk_tensor *x, uint32_t rank, const int64_t *shape) {
    cbk_tensor *out = NULL;
    const uint32_t ops = mock.op_count;
    assert_ok(cbk_reshape(mock.stream, x, rank, shape, &out));
    assert_int_equal(cbk_tensor_element_count(out), cbk_tensor_element_count(x));
    bool copied = mock.op_count != ops;
    if (copied) {
        assert_int_equal(mock.ops[ops % MOCK_MAX_OPS].opcode, CBK_OP_COPY);
        assert_int_equal(cbk_tensor_is_contiguous(out), 1);
    } else {
        int64_t at[CBK_MAX_RANK] = {0}, from[CBK_MAX_RANK] = {0};
        for (int64_t i = 0; i < cbk_tensor_element_count(x); i++) {
            int64_t rest = i;
            for (uint32_t axis = cbk_tensor_rank(out); axis-- > 0;) {
                at[axis] = rest % cbk_tensor_shape(out)[axis];
                rest /= cbk_tensor_shape(out)[axis];
            }
            rest = i;
            for (uint32_t axis = cbk_tensor_rank(x); axis-- > 0;) {
                from[axis] = rest % cbk_tensor_shape(x)[axis];
                rest /= cbk_tensor_shape(x)[axis];
            }
            assert_int_equal(address(out, at), address(x, from));
        }
    }
    cbk_tensor_release(&out);
    return copied;
}

static void reshape(void **state) {
    (void)state;
    const int64_t shape[4] = {2, 3, 1, 4};
    cbk_tensor *x = make(4, shape), *t = NULL, *f = NULL, *wide = NULL, *out = NULL;
    assert_false(reshape_copies(x, 1, (int64_t[]){24}));
    assert_false(reshape_copies(x, 1, (int64_t[]){-1}));
    assert_false(reshape_copies(x, 6, (int64_t[]){1, 2, -1, 1, 4, 1}));
    assert_false(reshape_copies(x, 2, (int64_t[]){8, 3}));

    assert_ok(cbk_transpose(mock.stream, x, 0, 1, &t)); // [3,2,1,4] with strides 4,12,4,1
    assert_true(reshape_copies(t, 1, (int64_t[]){24}));
    assert_true(reshape_copies(t, 2, (int64_t[]){6, 4}));
    assert_false(reshape_copies(t, 4, (int64_t[]){3, 2, 2, 2}));
    assert_false(reshape_copies(t, 5, (int64_t[]){1, 3, 2, 1, 4}));
    assert_false(reshape_copies(t, 3, (int64_t[]){3, 2, -1}));
    assert_true(reshape_copies(t, 2, (int64_t[]){2, 12}));

    assert_ok(cbk_flip(mock.stream, x, 0, NULL, &f)); // all strides negative: still one run
    assert_false(reshape_copies(f, 1, (int64_t[]){24}));
    assert_ok(cbk_expand(mock.stream, x, 5, (int64_t[]){5, 2, 3, 1, 4}, &wide));
    assert_false(reshape_copies(wide, 2, (int64_t[]){5, 24}));
    assert_true(reshape_copies(wide, 1, (int64_t[]){120}));

    assert_status(CBK_ERROR_SHAPE, cbk_reshape(mock.stream, x, 2, (int64_t[]){5, 5}, &out));
    assert_string_equal(cbk_last_error_message(),
                        "reshape: [2,3,1,4] to [5,5]: the element counts differ");
    assert_status(CBK_ERROR_SHAPE, cbk_reshape(mock.stream, x, 2, (int64_t[]){-1, -1}, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_reshape(mock.stream, x, 2, (int64_t[]){-1, 7}, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_reshape(mock.stream, x, 2, (int64_t[]){-1, 0}, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_reshape(mock.stream, x, 2, (int64_t[]){-2, -12}, &out));
    assert_status(CBK_ERROR_SHAPE,
                  cbk_reshape(mock.stream, x, 3, (int64_t[]){INT64_MAX, INT64_MAX, 24}, &out));
    const int64_t wrapping[3] = {-1, (int64_t)1 << 32, (int64_t)1 << 32}; // to 0, modulo 2^64
    assert_status(CBK_ERROR_SHAPE, cbk_reshape(mock.stream, x, 3, wrapping, &out));
    assert_non_null(strstr(cbk_last_error_message(), "do not divide the element count"));
    const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 24};
    assert_status(CBK_ERROR_SHAPE, cbk_reshape(mock.stream, x, 9, nine, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_reshape(mock.stream, x, 1, NULL, &out));
    assert_null(out);
    cbk_tensor_release(&x);
    cbk_tensor_release(&t);
    cbk_tensor_release(&f);
    cbk_tensor_release(&wide);
}

static void rank_zero_and_empty(void **state) {
    (void)state;
    const int64_t empty_shape[3] = {2, 0, 3};
    cbk_tensor *point = make(0, NULL), *empty = make(3, empty_shape), *out = NULL;
    assert_int_equal(cbk_tensor_element_count(point), 1);
    assert_ok(cbk_reshape(mock.stream, point, 3, (int64_t[]){1, 1, 1}, &out));
    assert_int_equal(cbk_tensor_rank(out), 3);
    cbk_tensor *back = NULL;
    assert_ok(cbk_squeeze(mock.stream, out, 0, NULL, &back));
    assert_int_equal(cbk_tensor_rank(back), 0);
    cbk_tensor_release(&back);
    cbk_tensor_release(&out);
    assert_ok(cbk_reshape(mock.stream, point, 0, NULL, &out));
    cbk_tensor_release(&out);
    assert_ok(cbk_permute(mock.stream, point, NULL, &out));
    cbk_tensor_release(&out);
    assert_ok(cbk_flip(mock.stream, point, 0, NULL, &out));
    cbk_tensor_release(&out);
    assert_ok(cbk_slice(mock.stream, point, NULL, &out));
    cbk_tensor_release(&out);
    assert_ok(cbk_expand(mock.stream, point, 2, (int64_t[]){3, 4}, &out));
    assert_int_equal(cbk_tensor_element_count(out), 12);
    assert_int_equal(cbk_tensor_storage_bytes(out), 2);
    cbk_tensor_release(&out);
    assert_status(CBK_ERROR_AXIS, cbk_transpose(mock.stream, point, 0, 0, &out));

    // What is empty has no storage, also as a view of something that has.
    assert_null(cbk_tensor_storage(empty));
    assert_ok(cbk_reshape(mock.stream, empty, 2, (int64_t[]){0, 7}, &out));
    assert_null(cbk_tensor_storage(out));
    cbk_tensor_release(&out);
    assert_ok(cbk_expand(mock.stream, point, 2, (int64_t[]){0, 4}, &out));
    assert_null(cbk_tensor_storage(out));
    assert_int_equal(cbk_tensor_storage_bytes(out), 0);
    assert_int_equal(cbk_tensor_is_unique(point), 1);
    cbk_tensor_release(&out);
    assert_ok(cbk_flip(mock.stream, empty, 0, NULL, &out));
    cbk_tensor_release(&out);
    assert_ok(cbk_unfold(mock.stream, empty, 0, 1, 1, &out));
    cbk_tensor_release(&out);
    assert_ok(cbk_diagonal(mock.stream, empty, 0, 0, 1, &out));
    assert_int_equal(cbk_tensor_element_count(out), 0);
    cbk_tensor_release(&out);
    assert_status(CBK_ERROR_SHAPE, cbk_expand(mock.stream, empty, 3, (int64_t[]){2, 1, 3}, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_reshape(mock.stream, empty, 1, (int64_t[]){1}, &out));
    cbk_tensor_release(&point);
    cbk_tensor_release(&empty);
}

static void empty_ranges(void **state) {
    (void)state;
    const int64_t shape[2] = {4, 6};
    cbk_tensor *x = make(2, shape), *out = NULL;
    static const struct {
        int64_t start, stop, step, length;
    } cuts[] = {
        {4, END, 1, 0},   {3, 2, 1, 0},     {-1, 0, -1, 0},   {0, 0, 1, 0},     {NEVER, END, 1, 4},
        {NEVER, 2, 1, 2}, {-3, -1, 1, 2},   {1, 99, 2, 2},    {0, 4, 3, 2},     {0, 4, 4, 1},
        {0, 4, END, 1},   {0, 4, NEVER, 1}, {END, END, 1, 0}, {0, NEVER, 1, 0},
    };
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        const cbk_slice_params params =
            CBK_INIT(cbk_slice_params, .axis_count = 1, .start = {cuts[i].start},
                     .stop = {cuts[i].stop}, .step = {cuts[i].step});
        assert_ok(cbk_slice(mock.stream, x, &params, &out));
        assert_int_equal(cbk_tensor_shape(out)[0], cuts[i].length);
        assert_int_equal(cbk_tensor_shape(out)[1], 6);
        cbk_tensor_release(&out);
    }
    assert_ok(cbk_narrow(mock.stream, x, -1, 2, 3, &out));
    assert_int_equal(cbk_tensor_offset(out), 2);
    assert_memory_equal(cbk_tensor_shape(out), ((int64_t[]){4, 3}), 16);
    cbk_tensor_release(&out);
    assert_ok(cbk_narrow(mock.stream, x, 0, 4, 0, &out));
    cbk_tensor_release(&out);
    assert_status(CBK_ERROR_SHAPE, cbk_narrow(mock.stream, x, 0, 3, 2, &out));
    assert_string_equal(cbk_last_error_message(),
                        "narrow: 2 elements from 3 on an axis of length 4");
    assert_status(CBK_ERROR_SHAPE, cbk_narrow(mock.stream, x, 0, -1, 2, &out));
    assert_status(CBK_ERROR_AXIS, cbk_narrow(mock.stream, x, 2, 0, 1, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_narrow(mock.stream, NULL, 0, 0, 1, &out));
    cbk_tensor_release(&x);
}

static void refused(void **state) {
    (void)state;
    const int64_t shape[3] = {3, 1, 5}, eight[8] = {1, 2, 1, 1, 1, 1, 1, 1};
    cbk_tensor *x = make(3, shape), *full = make(8, eight), *out = NULL;
    cbk_stream *s = mock.stream;
    assert_status(CBK_ERROR_AXIS, cbk_permute(s, x, (int32_t[]){0, 0, 1}, &out));
    assert_status(CBK_ERROR_AXIS, cbk_permute(s, x, (int32_t[]){0, 1, 3}, &out));
    assert_string_equal(cbk_last_error_message(), "permute: axis 3 of a tensor of rank 3");
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_permute(s, x, NULL, &out));
    assert_status(CBK_ERROR_AXIS, cbk_transpose(s, x, -4, 0, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_expand(s, x, 3, (int64_t[]){3, 4, 4}, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_expand(s, x, 2, (int64_t[]){1, 5}, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_expand(s, x, 4, (int64_t[]){-1, 3, 1, 5}, &out));
    assert_status(CBK_ERROR_OVERFLOW,
                  cbk_expand(s, x, 4, (int64_t[]){INT64_MAX / 2, 3, 1, 5}, &out));
    assert_status(CBK_ERROR_AXIS, cbk_flip(s, x, 2, (int32_t[]){1, 1}, &out));
    assert_status(CBK_ERROR_AXIS, cbk_flip(s, x, 4, (int32_t[]){0, 1, 2, 3}, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_unfold(s, full, 1, 1, 1, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_unfold(s, x, 0, -1, 1, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_unfold(s, x, 0, 1, -1, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_squeeze(s, x, 1, (int32_t[]){0}, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_unsqueeze(s, full, 1, (int32_t[]){0}, &out));
    assert_status(CBK_ERROR_AXIS, cbk_unsqueeze(s, x, 1, (int32_t[]){4}, &out));
    assert_status(CBK_ERROR_AXIS, cbk_unsqueeze(s, x, 2, (int32_t[]){0, -5}, &out));
    assert_status(CBK_ERROR_AXIS, cbk_diagonal(s, x, 0, 1, 1, &out));
    assert_null(out);
    assert_ok(cbk_diagonal(s, x, 99, 0, 2, &out));
    assert_int_equal(cbk_tensor_element_count(out), 0);
    cbk_tensor_release(&out);
    assert_ok(cbk_diagonal(s, x, INT64_MIN, 0, 2, &out));
    assert_int_equal(cbk_tensor_element_count(out), 0);
    cbk_tensor_release(&out);
    assert_ok(cbk_unfold(s, x, 0, 4, 1, &out)); // longer than the axis
    assert_memory_equal(cbk_tensor_shape(out), ((int64_t[]){0, 1, 5, 4}), 32);
    cbk_tensor_release(&out);

    // A view is always made, and it takes over a donated input.
    cbk_tensor *inputs[1] = {x}, *given = full;
    cbk_axes_params axes = CBK_INIT(cbk_axes_params);
    cbk_op op =
        CBK_INIT(cbk_op, .opcode = CBK_OP_FLIP, .input_count = 1, .output_count = 1,
                 .inputs = inputs, .outputs = &given, .params = &axes, .params_size = sizeof axes);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_execute(s, &op));
    given = NULL, op.donate = 1;
    assert_ok(cbk_execute(s, &op));
    assert_int_equal(cbk_tensor_is_unique(given), 1);
    cbk_tensor_release(&given);
    cbk_tensor_release(&full);
}

int main(void) {
    enum { ROWS = sizeof rows / sizeof *rows };
    struct CMUnitTest tests[ROWS + 4] = {
        cmocka_unit_test(reshape),
        cmocka_unit_test(rank_zero_and_empty),
        cmocka_unit_test(empty_ranges),
        cmocka_unit_test(refused),
    };
    for (size_t i = 0; i < ROWS; i++) {
        tests[4 + i] = (struct CMUnitTest){.name = rows[i].name,
                                           .test_func = run_row,
                                           .initial_state = (void *)(uintptr_t)&rows[i]};
    }
    return cmocka_run_group_tests_name("view", tests, open_mock, close_mock);
}
