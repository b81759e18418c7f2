// test_execute.c: the road of an operation: descriptors, _into, aliasing, donation, poison, empty
// tensors, strides of results, and what the backend gets to see.
#include "mock_backend.h"
#include "support.h"

#include <cubeback/opcodes.h>

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

static cbk_tensor *make(cbk_dtype dtype, uint32_t rank, const int64_t *shape) {
    cbk_tensor *tensor = NULL;
    assert_ok(cbk_tensor_empty(mock.stream, dtype, rank, shape, &tensor));
    return tensor;
}

static cbk_tensor *matrix(int64_t rows, int64_t columns) {
    return make(CBK_DTYPE_F32, 2, (int64_t[]){rows, columns});
}

static cbk_tensor *transposed(cbk_tensor *x) {
    cbk_tensor *out = NULL;
    assert_ok(cbk_transpose(mock.stream, x, -2, -1, &out));
    return out;
}

static cbk_tensor *narrowed(cbk_tensor *x, int32_t axis, int64_t start, int64_t length) {
    cbk_tensor *out = NULL;
    assert_ok(cbk_narrow(mock.stream, x, axis, start, length, &out));
    return out;
}

static void drop(cbk_tensor *tensor) {
    cbk_tensor_release(&tensor);
}

static const unsigned char *last_params(void) {
    return mock.ops[(mock.op_count - 1) % MOCK_MAX_OPS].params;
}

// ---- descriptors --------------------------------------------------------------------------------

static void bad_descriptors(void **state) {
    (void)state;
    cbk_tensor *x = matrix(2, 3), *out = NULL;
    cbk_tensor *inputs[2] = {x, x};
    const cbk_op good = CBK_INIT(cbk_op, .opcode = CBK_OP_ADD, .input_count = 2, .output_count = 1,
                                 .inputs = inputs, .outputs = &out);
    const uint32_t ops = mock.op_count;
    cbk_op op = good;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_execute(mock.stream, NULL));
    op.opcode = 0xffff;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_execute(mock.stream, &op));
    assert_string_equal(cbk_last_error_message(), "execute: opcode 0xffff is unknown");
    op = good, op.input_count = 1;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_execute(mock.stream, &op));
    assert_string_equal(cbk_last_error_message(), "add: 1 inputs; it takes 2");
    op = good, op.output_count = 2;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_execute(mock.stream, &op));
    op = good, op.inputs = NULL;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_execute(mock.stream, &op));
    op = good, op.outputs = NULL;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_execute(mock.stream, &op));
    op = good, op.flags = 1;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_execute(mock.stream, &op));
    assert_string_equal(cbk_last_error_message(), "add: flags 1 are unknown");
    op = good, op.donate = 4;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_execute(mock.stream, &op));
    op = good, op.donate = 3; // one reference, given away twice
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_execute(mock.stream, &op));
    op = good, op.params = &good, op.params_size = sizeof good; // add takes none
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_execute(mock.stream, &op));
    op = good, op.struct_size = 0;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_execute(mock.stream, &op));
    assert_null(out);
    assert_int_equal(mock.op_count, ops);
    assert_ok(cbk_execute(mock.stream, &good));
    drop(out);
    drop(x);
}

/// A program built with other versions of the headers.
static void descriptors_grow(void **state) {
    (void)state;
    cbk_tensor *x = matrix(2, 3), *out = NULL;
    cbk_tensor *inputs[1] = {x};
    struct {
        cbk_op op;
        uint64_t later;
    } future = {{sizeof future, CBK_OP_SUM, 1, 1, inputs, &out, NULL, 0, 0, 0}, 0};
    assert_ok(cbk_execute(mock.stream, &future.op));
    cbk_tensor_release(&out);
    future.later = 1;
    assert_status(CBK_ERROR_VERSION, cbk_execute(mock.stream, &future.op));
    future.later = 0;
    future.op.struct_size = offsetof(cbk_op, params); // before there were params
    assert_ok(cbk_execute(mock.stream, &future.op));
    assert_int_equal(cbk_tensor_rank(out), 0);
    cbk_tensor_release(&out);

    struct {
        cbk_reduce_params params;
        uint32_t later[2];
    } grown = {CBK_INIT(cbk_reduce_params, .axis_count = 1, .axes = {-1}), {0, 0}};
    grown.params.struct_size = sizeof grown;
    assert_ok(cbk_sum(mock.stream, x, &grown.params, &out));
    assert_memory_equal(cbk_tensor_shape(out), ((int64_t[]){2, 1}), 16);
    cbk_tensor_release(&out);
    grown.later[1] = 7;
    assert_status(CBK_ERROR_VERSION, cbk_sum(mock.stream, x, &grown.params, &out));
    grown.params.struct_size = offsetof(cbk_reduce_params, drop_axes);
    grown.params.drop_axes = 1; // not read
    assert_ok(cbk_sum(mock.stream, x, &grown.params, &out));
    assert_int_equal(cbk_tensor_rank(out), 2);
    cbk_tensor_release(&out);
    grown.params.struct_size = 0;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_sum(mock.stream, x, &grown.params, &out));
    grown.params.struct_size = 2;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_sum(mock.stream, x, &grown.params, &out));
    assert_null(out);
    drop(x);
}

/// What reaches the backend has no defaults left in it.
static void params_are_normalised(void **state) {
    (void)state;
    cbk_tensor *x = make(CBK_DTYPE_F32, 3, (int64_t[]){2, 3, 4}), *out = NULL;
    cbk_reduce_params reduce;
    assert_ok(cbk_mean(mock.stream, x, NULL, &out));
    memcpy(&reduce, last_params(), sizeof reduce);
    assert_int_equal(reduce.struct_size, sizeof reduce);
    assert_int_equal(reduce.axis_count, 3);
    assert_memory_equal(reduce.axes, ((int32_t[]){0, 1, 2}), 12);
    assert_int_equal(reduce.drop_axes, 1);
    assert_int_equal(reduce.out_dtype, CBK_DTYPE_F32);
    cbk_tensor_release(&out);

    const cbk_reduce_params two =
        CBK_INIT(cbk_reduce_params, .axis_count = 2, .axes = {-1, 0}, .out_dtype = CBK_DTYPE_I8);
    assert_ok(cbk_argmin(mock.stream, x, &two, &out));
    memcpy(&reduce, last_params(), sizeof reduce);
    assert_memory_equal(reduce.axes, ((int32_t[]){0, 2}), 8);
    assert_int_equal(reduce.drop_axes, 0);
    cbk_tensor_release(&out);

    cbk_activation_params activation;
    assert_ok(cbk_softplus(mock.stream, x, NULL, &out));
    memcpy(&activation, last_params(), sizeof activation);
    assert_true(activation.alpha.v.f == 1.0 && activation.beta.v.f == 20.0);
    cbk_tensor_release(&out);

    cbk_axis_params axis;
    assert_ok(cbk_softmax(mock.stream, x, -1, &out));
    memcpy(&axis, last_params(), sizeof axis);
    assert_int_equal(axis.axis, 2);
    cbk_tensor_release(&out);

    cbk_random_params random;
    assert_ok(cbk_random_integer(mock.stream, 0, 1, (int64_t[]){5}, -3, 9, &out));
    memcpy(&random, last_params(), sizeof random);
    assert_int_equal(random.dtype, CBK_DTYPE_I64);
    assert_int_equal(random.a.kind, CBK_SCALAR_INT);
    assert_int_equal(random.a.v.i, -3);
    cbk_tensor_release(&out);

    cbk_compare_params compare;
    assert_ok(cbk_equal(mock.stream, x, x, &out));
    memcpy(&compare, last_params(), sizeof compare);
    assert_int_equal(compare.out_dtype, CBK_DTYPE_BOOL);
    cbk_tensor_release(&out);

    cbk_matmul_params matmul;
    cbk_tensor *flex = make(CBK_DTYPE_FLEX32, 2, (int64_t[]){2, 2});
    assert_ok(cbk_matmul(mock.stream, flex, flex, NULL, &out));
    memcpy(&matmul, last_params(), sizeof matmul);
    assert_int_equal(matmul.precision, CBK_PRECISION_TF32);
    assert_int_equal(matmul.out_dtype, CBK_DTYPE_FLEX32);
    cbk_tensor_release(&out);
    drop(flex);

    cbk_slice_params slice;
    cbk_tensor *value = make(CBK_DTYPE_F32, 3, (int64_t[]){1, 3, 2});
    const cbk_slice_params cut = CBK_INIT(cbk_slice_params, .axis_count = 3, .start = {-1, 0, 0},
                                          .stop = {9, 9, -1}, .step = {0, 0, -2});
    assert_ok(cbk_slice_assign(mock.stream, x, value, &cut, &out));
    memcpy(&slice, last_params(), sizeof slice);
    assert_memory_equal(slice.start, ((int64_t[]){1, 0, 0}), 24);
    assert_memory_equal(slice.stop, ((int64_t[]){2, 3, 3}), 24);
    assert_memory_equal(slice.step, ((int64_t[]){1, 1, -2}), 24);
    cbk_tensor_release(&out);
    drop(value);
    drop(x);
}

// ---- strides of results -------------------------------------------------------------------------

static void assert_strides(const cbk_tensor *tensor, int64_t s0, int64_t s1) {
    assert_int_equal(cbk_tensor_strides(tensor)[0], s0);
    assert_int_equal(cbk_tensor_strides(tensor)[1], s1);
    assert_int_equal(cbk_tensor_offset(tensor), 0);
}

static void pointwise_strides(void **state) {
    (void)state;
    cbk_tensor *a = matrix(4, 3), *b = matrix(3, 4), *out = NULL;
    cbk_tensor *a_turned = transposed(a), *b_turned = transposed(b);
    cbk_tensor *row = matrix(1, 4), *part = narrowed(a, 1, 0, 2), *flipped = NULL;
    assert_ok(cbk_neg(mock.stream, a_turned, &out));
    assert_strides(out, 1, 3); // keeps the order of axes
    cbk_tensor_release(&out);
    assert_ok(cbk_add(mock.stream, a_turned, b, &out)); // two orders: row-major
    assert_strides(out, 4, 1);
    cbk_tensor_release(&out);
    assert_ok(cbk_add(mock.stream, a_turned, a_turned, &out));
    assert_strides(out, 1, 3);
    cbk_tensor_release(&out);
    assert_ok(cbk_add(mock.stream, row, a_turned, &out)); // a broadcast input has no say
    assert_strides(out, 1, 3);
    cbk_tensor_release(&out);
    assert_ok(cbk_neg(mock.stream, part, &out)); // not dense
    assert_strides(out, 2, 1);
    cbk_tensor_release(&out);
    assert_ok(cbk_flip(mock.stream, a, 0, NULL, &flipped));
    assert_ok(cbk_neg(mock.stream, flipped, &out));
    assert_strides(out, 3, 1);
    cbk_tensor_release(&out);
    assert_ok(cbk_copy(mock.stream, a_turned, &out)); // a move, not pointwise
    assert_strides(out, 4, 1);
    cbk_tensor_release(&out);
    assert_ok(cbk_less(mock.stream, b_turned, a, &out));
    assert_strides(out, 3, 1);
    cbk_tensor_release(&out);
    assert_ok(cbk_less(mock.stream, b_turned, b_turned, &out));
    assert_strides(out, 1, 4);
    cbk_tensor_release(&out);
    drop(a), drop(b), drop(a_turned), drop(b_turned), drop(row), drop(part), drop(flipped);
}

// ---- written into -------------------------------------------------------------------------------

static void into(void **state) {
    (void)state;
    cbk_tensor *a = matrix(4, 3), *b = matrix(4, 3), *dst = matrix(4, 3), *other = matrix(3, 4);
    cbk_tensor *turned = transposed(other), *point = make(CBK_DTYPE_F32, 2, (int64_t[]){1, 1});
    cbk_tensor *expanded = NULL, *bools = make(CBK_DTYPE_BOOL32, 2, (int64_t[]){4, 3});
    assert_ok(cbk_add_into(mock.stream, a, b, dst));
    assert_ok(cbk_add_into(mock.stream, a, b, turned));
    assert_ok(cbk_add_into(mock.stream, a, b, a));
    assert_ok(cbk_add_into(mock.stream, a, b, b));
    assert_ok(cbk_add_into(mock.stream, a, a, a));
    assert_status(CBK_ERROR_SHAPE, cbk_add_into(mock.stream, a, b, other));
    assert_string_equal(cbk_last_error_message(), "add: the output is [3,4], the result [4,3]");
    assert_status(CBK_ERROR_DTYPE, cbk_add_into(mock.stream, a, b, bools));
    assert_string_equal(cbk_last_error_message(), "add: the output is bool32, the result f32");
    assert_ok(cbk_less_into(mock.stream, a, b, bools)); // bool or bool32
    assert_ok(cbk_is_nan_into(mock.stream, a, bools));
    assert_ok(cbk_expand(mock.stream, point, 2, (int64_t[]){4, 3}, &expanded));
    assert_status(CBK_ERROR_ALIASING, cbk_add_into(mock.stream, a, b, expanded));
    assert_non_null(strstr(cbk_last_error_message(), "overlaps in itself"));
    assert_ok(cbk_add_into(mock.stream, a, expanded, dst));

    // These take their form from dst.
    cbk_tensor *ints = make(CBK_DTYPE_I32, 1, (int64_t[]){7});
    assert_ok(cbk_cast_into(mock.stream, a, dst));
    assert_ok(cbk_fill_into(mock.stream, cbk_f(1), turned));
    assert_ok(cbk_arange_into(mock.stream, cbk_i(0), cbk_i(1), ints));
    assert_status(CBK_ERROR_SHAPE, cbk_arange_into(mock.stream, cbk_i(0), cbk_i(1), a));
    assert_ok(cbk_random_normal_into(mock.stream, 0, 1, a));
    assert_ok(cbk_random_integer_into(mock.stream, 0, 5, ints));
    assert_status(CBK_ERROR_DTYPE, cbk_random_uniform_into(mock.stream, 0, 1, ints));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_fill_into(mock.stream, cbk_f(1), NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_cast_into(mock.stream, a, NULL));
    drop(a), drop(b), drop(dst), drop(other), drop(turned), drop(point), drop(expanded);
    drop(bools), drop(ints);
}

static void aliasing(void **state) {
    (void)state;
    cbk_tensor *square = matrix(4, 4), *turned = transposed(square), *b = matrix(4, 4);
    cbk_tensor *left = narrowed(square, 1, 0, 2), *right = narrowed(square, 1, 2, 2);
    cbk_tensor *middle = narrowed(square, 1, 1, 2), *again = narrowed(square, 1, 0, 2);
    assert_status(CBK_ERROR_ALIASING, cbk_neg_into(mock.stream, turned, square));
    assert_status(CBK_ERROR_ALIASING, cbk_add_into(mock.stream, square, turned, square));
    assert_string_equal(cbk_last_error_message(),
                        "add: the output, [4,4] at offset 0, shares memory with input 1, [4,4] at "
                        "offset 0");
    assert_ok(cbk_add_into(mock.stream, left, right, left));
    assert_ok(cbk_add_into(mock.stream, left, left, right));
    assert_ok(cbk_neg_into(mock.stream, left, again)); // exactly the same view
    assert_status(CBK_ERROR_ALIASING, cbk_neg_into(mock.stream, left, middle));
    assert_status(CBK_ERROR_ALIASING, cbk_neg_into(mock.stream, middle, right));
    assert_status(CBK_ERROR_ALIASING, cbk_matmul_into(mock.stream, square, b, NULL, square));
    assert_status(CBK_ERROR_ALIASING, cbk_softmax_into(mock.stream, square, 0, square));
    assert_ok(cbk_copy_into(mock.stream, square, square));
    assert_ok(cbk_copy_into(mock.stream, left, right));
    assert_status(CBK_ERROR_ALIASING, cbk_copy_into(mock.stream, left, middle));

    // An update may write into its first input, and into no other.
    const cbk_slice_params cut = CBK_INIT(cbk_slice_params, .axis_count = 1, .stop = {1});
    cbk_tensor *top = narrowed(square, 0, 0, 1), *value = matrix(1, 4);
    assert_ok(cbk_slice_assign_into(mock.stream, square, value, &cut, square));
    assert_status(CBK_ERROR_ALIASING,
                  cbk_slice_assign_into(mock.stream, square, top, &cut, square));
    cbk_tensor *index = make(CBK_DTYPE_I64, 2, (int64_t[]){4, 4});
    assert_ok(cbk_scatter_add_into(mock.stream, square, index, b, 0, square));
    assert_status(CBK_ERROR_ALIASING, cbk_scatter_add_into(mock.stream, square, index, b, 0, b));
    assert_status(CBK_ERROR_ALIASING,
                  cbk_scatter_add_into(mock.stream, square, index, square, 0, square));
    cbk_tensor *both[2] = {left, right};
    assert_status(CBK_ERROR_ALIASING,
                  cbk_cat_into(mock.stream, (const cbk_tensor *const *)both, 2, 1, square));
    drop(square), drop(turned), drop(b), drop(left), drop(right), drop(middle), drop(again);
    drop(top), drop(value), drop(index);
}

// ---- donation -----------------------------------------------------------------------------------

static cbk_status run_donating(cbk_opcode opcode, uint32_t count, cbk_tensor *const *inputs,
                               uint64_t donate, cbk_tensor **out) {
    *out = NULL;
    const cbk_op op = CBK_INIT(cbk_op, .opcode = opcode, .input_count = count, .output_count = 1,
                               .inputs = inputs, .outputs = out, .donate = donate);
    return cbk_execute(mock.stream, &op);
}

static void donation(void **state) {
    (void)state;
    const uint32_t before = mock.allocations;
    cbk_tensor *a = matrix(4, 3), *b = matrix(4, 3), *out = NULL;
    void *storage = cbk_tensor_storage(a);
    assert_ok(run_donating(CBK_OP_ADD, 2, (cbk_tensor *[]){a, b}, 1, &out));
    assert_ptr_equal(cbk_tensor_storage(out), storage);
    assert_int_equal(cbk_tensor_is_unique(out), 1);
    assert_int_equal(mock.allocations, before + 2);

    // The second input serves as well; its memory is the result's.
    storage = cbk_tensor_storage(b);
    cbk_tensor *sum = NULL;
    assert_ok(run_donating(CBK_OP_ADD, 2, (cbk_tensor *[]){out, b}, 2, &sum));
    assert_ptr_equal(cbk_tensor_storage(sum), storage);
    cbk_tensor_release(&out);

    // Held elsewhere: the reference is taken over, the storage is not.
    cbk_tensor *held = cbk_tensor_retain(sum);
    assert_ok(run_donating(CBK_OP_NEG, 1, (cbk_tensor *[]){sum}, 1, &out));
    assert_ptr_not_equal(cbk_tensor_storage(out), storage);
    assert_int_equal(cbk_tensor_is_unique(held), 1);
    drop(out), out = NULL;

    // Another dtype, shape or order of axes cannot live there.
    cbk_tensor *cast = NULL;
    assert_ok(run_donating(CBK_OP_IS_NAN, 1, (cbk_tensor *[]){held}, 1, &cast));
    cbk_tensor *row = matrix(1, 3), *wide = matrix(4, 3);
    assert_ok(run_donating(CBK_OP_ADD, 2, (cbk_tensor *[]){row, wide}, 1, &out));
    assert_ptr_not_equal(cbk_tensor_storage(out), cbk_tensor_storage(wide));
    drop(out), out = NULL;
    drop(cast);

    // Not pointwise: nothing is reused.
    assert_ok(run_donating(CBK_OP_SOFTMAX, 1, (cbk_tensor *[]){wide}, 1, &out));
    assert_int_equal(cbk_tensor_is_unique(out), 1);

    // A failure leaves the caller's reference.
    mock.execute_status = CBK_ERROR_DRIVER;
    cbk_tensor *failed = NULL;
    assert_status(CBK_ERROR_DRIVER, run_donating(CBK_OP_NEG, 1, (cbk_tensor *[]){out}, 1, &failed));
    mock.execute_status = CBK_OK;
    assert_null(failed);
    assert_int_equal(cbk_tensor_is_unique(out), 1);

    // The same tensor twice, with two references; and as both inputs of an update.
    cbk_tensor_retain(out);
    assert_ok(run_donating(CBK_OP_MUL, 2, (cbk_tensor *[]){out, out}, 3, &sum));
    drop(sum), sum = NULL;
    cbk_tensor *x = matrix(4, 4), *turned = transposed(x);
    drop(x);
    storage = cbk_tensor_storage(turned);
    assert_ok(
        run_donating(CBK_OP_NEG, 1, (cbk_tensor *[]){turned}, 1, &sum)); // dense, in its order
    assert_ptr_equal(cbk_tensor_storage(sum), storage);
    cbk_tensor *index = make(CBK_DTYPE_I32, 2, (int64_t[]){4, 4});
    out = NULL;
    assert_ok(run_donating(CBK_OP_SCATTER, 3, (cbk_tensor *[]){sum, index, sum}, 1, &out));
    assert_ptr_not_equal(cbk_tensor_storage(out), storage);
    drop(out), drop(index);
}

static void donation_in_capture(void **state) {
    (void)state;
    cbk_tensor *before = matrix(2, 2), *inside = NULL, *out = NULL;
    cbk_graph *graph = NULL;
    void *storage = cbk_tensor_storage(before);
    assert_ok(cbk_graph_prepare(mock.stream));
    assert_ok(cbk_graph_start_capture(mock.stream));
    assert_ok(run_donating(CBK_OP_NEG, 1, (cbk_tensor *[]){before}, 1, &inside));
    assert_ptr_not_equal(cbk_tensor_storage(inside), storage);
    storage = cbk_tensor_storage(inside);
    assert_ok(run_donating(CBK_OP_NEG, 1, (cbk_tensor *[]){inside}, 1, &out));
    assert_ptr_equal(cbk_tensor_storage(out), storage);
    assert_ok(cbk_graph_stop_capture(mock.stream, &graph));
    cbk_graph_release(&graph);
    drop(out);
}

// ---- empty tensors ------------------------------------------------------------------------------

static void empty_tensors(void **state) {
    (void)state;
    const uint32_t ops = mock.op_count, allocations = mock.allocations;
    cbk_tensor *empty = matrix(0, 3), *row = matrix(1, 3), *out = NULL, *total = NULL;
    assert_null(cbk_tensor_storage(empty));
    assert_ok(cbk_add(mock.stream, empty, row, &out));
    assert_memory_equal(cbk_tensor_shape(out), ((int64_t[]){0, 3}), 16);
    assert_int_equal(cbk_tensor_is_contiguous(out), 1);
    cbk_tensor_release(&out);
    assert_ok(cbk_add_into(mock.stream, empty, row, empty));
    assert_status(CBK_ERROR_DTYPE, cbk_logical_and(mock.stream, empty, empty, &out));
    assert_ok(cbk_random_normal(mock.stream, 0, 1, (int64_t[]){0}, 0, 1, &out));
    cbk_tensor_release(&out);
    assert_int_equal(mock.op_count, ops); // nothing was launched
    assert_int_equal(mock.allocations, allocations + 1);
    assert_ok(cbk_sum(mock.stream, empty, NULL, &total)); // one element from none
    assert_int_equal(mock.op_count, ops + 1);
    assert_non_null(cbk_tensor_storage(total));
    float value;
    assert_ok(cbk_tensor_read(mock.stream, empty, NULL, 0));
    assert_ok(cbk_tensor_write(mock.stream, empty, NULL, 0));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_read(mock.stream, empty, &value, 4));
    drop(empty), drop(row), drop(total);
}

// ---- failures -----------------------------------------------------------------------------------

static void backend_failures(void **state) {
    (void)state;
    cbk_tensor *x = matrix(2, 2), *out = NULL;
    mock.execute_status = CBK_ERROR_OUT_OF_MEMORY;
    assert_status(CBK_ERROR_OUT_OF_MEMORY, cbk_exp(mock.stream, x, &out));
    assert_null(out);
    assert_status(CBK_ERROR_OUT_OF_MEMORY, cbk_exp_into(mock.stream, x, x));
    mock.execute_status = CBK_OK;
    cbk_error error = CBK_INIT(cbk_error);
    assert_ok(cbk_last_error(&error));
    assert_int_equal(error.status, CBK_ERROR_OUT_OF_MEMORY);
    assert_int_equal(error.opcode, CBK_OP_EXP);
    assert_string_equal(error.operation, "exp");
    assert_string_equal(error.message, "exp: told to fail");
    assert_ok(cbk_exp(mock.stream, x, &out)); // a success does not clear the record
    assert_string_equal(cbk_last_error_message(), "exp: told to fail");
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_last_error(NULL));
    drop(x), drop(out);
}

static void poison(void **state) {
    (void)state;
    cbk_tensor *x = matrix(2, 2), *y = matrix(2, 2), *out = NULL, *view = transposed(x);
    float data[4] = {0};
    cbk_tensor_poison(x, CBK_ERROR_INDEX_OUT_OF_RANGE, "gather: index 9 of axis 0, length 4");
    cbk_tensor_poison(x, CBK_ERROR_DRIVER, "a later reason"); // the first one stands
    const uint32_t ops = mock.op_count;
    assert_status(CBK_ERROR_PRODUCER, cbk_tensor_read(mock.stream, x, data, sizeof data));
    assert_non_null(strstr(cbk_last_error_message(), "gather: index 9"));
    assert_status(CBK_ERROR_PRODUCER, cbk_add(mock.stream, y, view, &out));
    assert_null(out);
    assert_status(CBK_ERROR_PRODUCER, cbk_neg_into(mock.stream, x, y));
    assert_status(CBK_ERROR_PRODUCER, cbk_tensor_read(mock.stream, y, data, sizeof data));
    assert_non_null(strstr(cbk_last_error_message(), "gather: index 9"));
    assert_int_equal(mock.op_count, ops);
    // Writing all of it makes it good again; writing a part does not.
    cbk_tensor *part = narrowed(x, 0, 0, 1);
    assert_ok(cbk_tensor_write(mock.stream, part, data, 8));
    assert_status(CBK_ERROR_PRODUCER, cbk_tensor_read(mock.stream, x, data, sizeof data));
    assert_ok(cbk_tensor_write(mock.stream, x, data, sizeof data));
    assert_ok(cbk_tensor_read(mock.stream, x, data, sizeof data));
    assert_ok(cbk_neg_into(mock.stream, x, y));
    assert_ok(cbk_tensor_read(mock.stream, y, data, sizeof data));
    drop(x), drop(y), drop(view), drop(part);
}

// ---- sizes --------------------------------------------------------------------------------------

static void sizes_that_overflow(void **state) {
    (void)state;
    cbk_tensor *out = NULL;
    const int64_t big = INT64_C(1) << 31;
    assert_status(CBK_ERROR_OVERFLOW,
                  cbk_zeros(mock.stream, CBK_DTYPE_F32, 2, (int64_t[]){big, big}, &out));
    assert_status(CBK_ERROR_OVERFLOW,
                  cbk_tensor_empty(mock.stream, CBK_DTYPE_F64, 3, (int64_t[]){big, big, 0}, &out));
    assert_non_null(strstr(cbk_last_error_message(), "[2147483648,2147483648,0]"));
    assert_status(CBK_ERROR_SHAPE, cbk_zeros(mock.stream, CBK_DTYPE_F32, 1, (int64_t[]){-1}, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_zeros(mock.stream, CBK_DTYPE_F32, 9, NULL, &out));
    assert_status(CBK_ERROR_SHAPE,
                  cbk_tensor_empty(mock.stream, CBK_DTYPE_F32, UINT32_MAX, (int64_t[]){1}, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ones(mock.stream, CBK_DTYPE_F32, 2, NULL, &out));
    assert_string_equal(cbk_last_error_message(), "ones: the list of 2 lengths (the rank) is NULL");
    assert_status(CBK_ERROR_DTYPE, cbk_zeros(mock.stream, CBK_DTYPE_BOOL_NATIVE, 0, NULL, &out));
    assert_status(CBK_ERROR_DTYPE, cbk_tensor_empty(mock.stream, 99, 0, NULL, &out));
    assert_status(CBK_ERROR_UNSUPPORTED,
                  cbk_tensor_empty(mock.stream, CBK_DTYPE_QUANT, 0, NULL, &out));
    assert_null(out);
    // Past 2^31 elements all is well.
    cbk_tensor *point = make(CBK_DTYPE_F32, 0, NULL);
    assert_ok(cbk_expand(mock.stream, point, 2, (int64_t[]){big, 4}, &out));
    assert_int_equal(cbk_tensor_element_count(out), 4 * big);
    cbk_tensor *sum = NULL;
    assert_ok(cbk_sum(mock.stream, out, NULL, &sum));
    drop(out), drop(sum), drop(point);
}

// ---- questions ----------------------------------------------------------------------------------

static cbk_status refuse_f16(void *self, void *device, const cbk_op *op) {
    (void)self, (void)device;
    assert_null(cbk_tensor_storage(op->outputs[0]));
    assert_non_null(op->params);
    if (cbk_tensor_dtype(op->outputs[0]) != CBK_DTYPE_F16) return CBK_OK;
    return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "no f16 here");
}

static void supports(void **state) {
    (void)state;
    struct mock own;
    mock_init(&own);
    own.vtable.supports_op = refuse_f16;
    mock_open(&own);
    cbk_tensor *x = NULL, *out = NULL, *turned = NULL;
    assert_ok(cbk_tensor_empty(own.stream, CBK_DTYPE_F32, 2, (int64_t[]){2, 3}, &x));
    cbk_cast_params cast = CBK_INIT(cbk_cast_params, .dtype = CBK_DTYPE_F16);
    cbk_tensor *inputs[1] = {x};
    cbk_op op =
        CBK_INIT(cbk_op, .opcode = CBK_OP_CAST, .input_count = 1, .output_count = 1,
                 .inputs = inputs, .outputs = &out, .params = &cast, .params_size = sizeof cast);
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_supports_op(own.device, &op));
    assert_string_equal(cbk_last_error_message(), "cast: no f16 here");
    cast.dtype = CBK_DTYPE_I8;
    assert_ok(cbk_supports_op(own.device, &op));
    cast.dtype = 0;
    assert_status(CBK_ERROR_DTYPE, cbk_supports_op(own.device, &op));
    cbk_shape_params shape = CBK_INIT(cbk_shape_params, .rank = 1, .shape = {6});
    assert_ok(cbk_transpose(own.stream, x, 0, 1, &turned));
    op.opcode = CBK_OP_RESHAPE, op.params = &shape, op.params_size = sizeof shape;
    assert_ok(cbk_supports_op(own.device, &op));
    inputs[0] = turned; // asks for the copy
    assert_ok(cbk_supports_op(own.device, &op));
    assert_null(out);
    assert_int_equal(own.op_count, 0);
    drop(x), drop(turned);
    mock_close(&own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_descriptors),
        cmocka_unit_test(descriptors_grow),
        cmocka_unit_test(params_are_normalised),
        cmocka_unit_test(pointwise_strides),
        cmocka_unit_test(into),
        cmocka_unit_test(aliasing),
        cmocka_unit_test(donation),
        cmocka_unit_test(donation_in_capture),
        cmocka_unit_test(empty_tensors),
        cmocka_unit_test(backend_failures),
        cmocka_unit_test(poison),
        cmocka_unit_test(sizes_that_overflow),
        cmocka_unit_test(supports),
    };
    return cmocka_run_group_tests_name("execute", tests, open_mock, close_mock);
}
