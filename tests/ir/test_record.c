// test_record.c: programs recorded on one backend and run on another: what a recording takes in, how
// it tells tensors apart, what it refuses, and that it changes nothing for the one who is recorded.
#include "device.h"
#include "support.h"

#include <cubeback/backend.h>
#include <cubeback/ir.h>

#include <stdlib.h>
#include <string.h>

/// Where a program is recorded, and where it is run.
struct direction {
    const char *name;
    bool records_on_opencl, runs_on_opencl;
};
static const struct direction directions[] = {
    {"reference to reference", false, false},
    {"reference to opencl", false, true},
    {"opencl to reference", true, false},
};

static struct test_side from, to; ///< `from` is a recorder
static cbk_stream *stream;        ///< of `from`

static int open_sides(const struct direction *chosen) {
    cbk_backend_params params = test_backend_params();
    cbk_backend *inner = NULL, *recorder = NULL, *target = NULL;
    if ((chosen->records_on_opencl ? cbk_opencl_create : cbk_reference_create)(&params, &inner) !=
            CBK_OK ||
        (chosen->runs_on_opencl ? cbk_opencl_create : cbk_reference_create)(&params, &target) !=
            CBK_OK ||
        cbk_ir_recorder_create(inner, &recorder) != CBK_OK) {
        return -1;
    }
    cbk_backend_release(&inner); // the recorder keeps it
    if (!test_side_open(&from, "recorder", recorder, chosen->records_on_opencl) ||
        !test_side_open(&to, "target", target, chosen->runs_on_opencl)) {
        return -1;
    }
    stream = from.stream;
    return 0;
}

static int close_side(struct test_side *side) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    cbk_status status = cbk_sync(side->stream);
    if (status == CBK_OK) status = cbk_memory_usage(side->device, &info);
    test_side_close(side);
    return status == CBK_OK && info.allocation_count == 0 ? 0 : -1;
}

static cbk_tensor *floats(uint32_t rank, const int64_t *shape, const float *data) {
    cbk_tensor *x = NULL;
    uint64_t count = 1;
    for (uint32_t i = 0; i < rank; i++) count *= (uint64_t)shape[i];
    assert_ok(
        cbk_tensor_from_data(stream, CBK_DTYPE_F32, rank, shape, data, count * sizeof *data, &x));
    return x;
}
#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})
#define DATA(...) ((const float[]){__VA_ARGS__})

static void expect_on(cbk_stream *on, const cbk_tensor *x, const float *want, size_t count) {
    float *got = malloc(count * sizeof *got + 1);
    assert_non_null(got);
    assert_int_equal(cbk_tensor_element_count(x), count);
    assert_ok(cbk_tensor_read(on, x, got, count * sizeof *got));
    for (size_t i = 0; i < count; i++) {
        if (got[i] == want[i]) continue;
        print_error("element %zu: want %g, got %g\n", i, want[i], got[i]);
        fail();
    }
    free(got);
}

/// Ends the recording, sends the program through bytes, runs it on the target.
static void end_and_run(const cbk_tensor *const *outputs, uint32_t count, cbk_tensor *const *inputs,
                        cbk_tensor **results) {
    cbk_ir_program *program = NULL, *loaded = NULL;
    uint64_t size = 0, again = 0;
    assert_ok(cbk_ir_end(stream, outputs, count, &program));
    assert_ok(cbk_ir_save_memory(program, NULL, 0, &size));
    unsigned char *bytes = malloc((size_t)size);
    assert_non_null(bytes);
    assert_ok(cbk_ir_save_memory(program, bytes, size, &again));
    assert_int_equal(size, again);
    assert_ok(cbk_ir_load_memory(bytes, size, &loaded));
    free(bytes);
    assert_ok(cbk_ir_run(loaded, to.stream, inputs, results));
    cbk_ir_program_release(&program);
    cbk_ir_program_release(&loaded);
}

static void expect_result(const float *want, size_t count) {
    cbk_tensor *result = NULL;
    end_and_run(NULL, 0, NULL, &result);
    expect_on(to.stream, result, want, count);
    cbk_tensor_release(&result);
}

// ---- what a recording takes in ------------------------------------------------------------------

static void constants_from_before_and_within(void **state) {
    (void)state;
    cbk_tensor *a = floats(1, SHAPE(3), DATA(1, 2, 3)), *b = NULL, *sum = NULL;
    assert_ok(cbk_ir_begin(stream, NULL));
    b = floats(1, SHAPE(3), DATA(10, 20, 30));
    assert_ok(cbk_add(stream, a, b, &sum));
    expect_on(stream, sum, DATA(11, 22, 33), 3);
    expect_result(DATA(11, 22, 33), 3);
    cbk_tensor_release(&a);
    cbk_tensor_release(&b);
    cbk_tensor_release(&sum);
}

static void views_before_and_within(void **state) {
    (void)state;
    const int64_t six[1] = {6};
    cbk_tensor *x = floats(2, SHAPE(2, 3), DATA(1, 2, 3, 4, 5, 6)), *t = NULL, *flat = NULL;
    cbk_tensor *head = NULL, *row = NULL, *sum = NULL, *back = NULL;
    assert_ok(cbk_transpose(stream, x, 0, 1, &t)); // before: a value with strides
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_ok(cbk_reshape(stream, t, 1, six, &flat)); // copies: 1 4 2 5 3 6
    assert_ok(cbk_narrow(stream, flat, 0, 1, 3, &head));
    assert_ok(cbk_narrow(stream, x, 0, 1, 1, &row)); // another view of the first storage
    assert_ok(cbk_add(stream, row, head, &sum));
    assert_ok(cbk_flip(stream, sum, 0, NULL, &back));
    expect_result(DATA(11, 7, 8), 3);
    cbk_tensor *all[] = {x, t, flat, head, row, sum, back};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cbk_tensor_release(&all[i]);
}

static void in_place_and_into(void **state) {
    (void)state;
    cbk_tensor *x = floats(2, SHAPE(2, 2), DATA(1, 2, 3, 4)), *row = NULL, *dst = NULL;
    cbk_tensor *sum = NULL;
    assert_ok(cbk_tensor_empty(stream, CBK_DTYPE_F32, 2, SHAPE(2, 2), &dst));
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_ok(cbk_narrow(stream, x, 0, 1, 1, &row));
    assert_ok(cbk_mul_scalar_into(stream, row, cbk_f(10), row)); // x is [1 2; 30 40] now
    assert_ok(cbk_neg_into(stream, x, dst));
    assert_ok(cbk_add(stream, x, dst, &sum));
    assert_ok(cbk_add_into(stream, dst, x, x));
    const cbk_tensor *outputs[] = {x, dst, sum};
    cbk_tensor *results[3];
    end_and_run(outputs, 3, NULL, results);
    expect_on(to.stream, results[0], DATA(0, 0, 0, 0), 4);
    expect_on(to.stream, results[1], DATA(-1, -2, -30, -40), 4);
    expect_on(to.stream, results[2], DATA(0, 0, 0, 0), 4);
    for (int i = 0; i < 3; i++) cbk_tensor_release(&results[i]);
    cbk_tensor_release(&x);
    cbk_tensor_release(&row);
    cbk_tensor_release(&dst);
    cbk_tensor_release(&sum);
}

static void donation_still_saves_memory(void **state) {
    (void)state;
    cbk_tensor *a = floats(1, SHAPE(2), DATA(1, 2)), *b = NULL, *c = NULL;
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_ok(cbk_mul_scalar(stream, a, cbk_f(2), &b));
    const void *storage = cbk_tensor_storage(b);
    cbk_tensor *inputs[] = {b, a};
    const cbk_op op = CBK_INIT(cbk_op, .opcode = CBK_OP_ADD, .input_count = 2, .output_count = 1,
                               .inputs = inputs, .outputs = &c, .donate = 1);
    assert_ok(cbk_execute(stream, &op));
    assert_ptr_equal(cbk_tensor_storage(c), storage);
    expect_result(DATA(3, 6), 2);
    cbk_tensor_release(&a);
    cbk_tensor_release(&c);
}

/// Handles come again; what is recorded is told apart all the same.
static void reused_storages(void **state) {
    (void)state;
    cbk_tensor *total = floats(1, SHAPE(2), DATA(0, 0));
    assert_ok(cbk_ir_begin(stream, NULL));
    for (int i = 1; i <= 40; i++) {
        cbk_tensor *x = floats(1, SHAPE(2), (float[]){(float)i, 1}), *y = NULL;
        assert_ok(cbk_neg(stream, x, &y));
        cbk_tensor_release(&x);
        assert_ok(cbk_add_into(stream, total, y, total));
        cbk_tensor_release(&y);
    }
    expect_on(stream, total, DATA(-820, -40), 2);
    expect_result(DATA(-820, -40), 2);
    cbk_tensor_release(&total);
}

static void host_writes(void **state) {
    (void)state;
    cbk_tensor *x = floats(1, SHAPE(4), DATA(1, 2, 3, 4)), *odd = NULL, *y = NULL, *z = NULL;
    cbk_slice_params every_second =
        CBK_INIT(cbk_slice_params, .axis_count = 1, .start = {1}, .stop = {INT64_MAX}, .step = {2});
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_ok(cbk_neg(stream, x, &y));
    assert_ok(cbk_slice(stream, x, &every_second, &odd));
    assert_ok(cbk_tensor_write(stream, odd, DATA(20, 40), 8));
    assert_ok(cbk_add(stream, x, y, &z));
    expect_result(DATA(0, 18, 0, 36), 4);
    cbk_tensor_release(&x);
    cbk_tensor_release(&odd);
    cbk_tensor_release(&y);
    cbk_tensor_release(&z);
}

static void scalars_and_empty_tensors(void **state) {
    (void)state;
    cbk_tensor *none = floats(2, SHAPE(0, 3), NULL), *one = floats(0, NULL, DATA(5)), *zero = NULL;
    cbk_tensor *same = NULL, *sum = NULL, *members[2], *cat = NULL;
    const cbk_reduce_params rows = CBK_INIT(cbk_reduce_params, .axis_count = 1);
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_ok(cbk_sum(stream, none, &rows, &zero)); // [1,3] of zeros
    assert_ok(cbk_add(stream, zero, one, &sum));
    assert_ok(cbk_neg(stream, none, &same)); // no backend sees it
    members[0] = same, members[1] = sum;
    assert_ok(cbk_cat(stream, (const cbk_tensor *const *)members, 2, 0, &cat));
    const cbk_tensor *outputs[] = {cat, same};
    cbk_tensor *results[2];
    end_and_run(outputs, 2, NULL, results);
    expect_on(to.stream, results[0], DATA(5, 5, 5), 3);
    assert_int_equal(cbk_tensor_element_count(results[1]), 0);
    assert_int_equal(cbk_tensor_shape(results[1])[1], 3);
    cbk_tensor *all[] = {none, one, zero, same, sum, cat, results[0], results[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cbk_tensor_release(&all[i]);
}

static void random_numbers(void **state) {
    (void)state;
    cbk_tensor *x = NULL, *y = NULL, *z = NULL;
    const cbk_random_state mine = CBK_INIT(cbk_random_state, .seed = 5, .position = 7);
    float got[5], next[5], want[3][5];
    cbk_random_state now = CBK_INIT(cbk_random_state);
    assert_ok(cbk_seed(from.device, 42));
    assert_ok(cbk_random_uniform(stream, CBK_DTYPE_F32, 1, SHAPE(9), 0, 1, &x)); // not recorded
    cbk_tensor_release(&x);
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_ok(cbk_random_uniform(stream, CBK_DTYPE_F32, 1, SHAPE(5), 0, 1, &x));
    assert_ok(cbk_seed(from.device, 43));
    assert_ok(cbk_random_uniform(stream, CBK_DTYPE_F32, 1, SHAPE(5), 0, 1, &y));
    assert_ok(cbk_random_set_state(stream, &mine));
    assert_ok(cbk_random_uniform(stream, CBK_DTYPE_F32, 1, SHAPE(5), 0, 1, &z));
    const cbk_tensor *outputs[] = {x, y, z};
    for (int i = 0; i < 3; i++) {
        assert_ok(cbk_tensor_read(stream, outputs[i], want[i], sizeof want[i]));
    }
    assert_ok(cbk_random_set_state(to.stream, &mine));
    cbk_tensor *results[3];
    end_and_run(outputs, 3, NULL, results);
    for (int i = 0; i < 3; i++) {
        assert_ok(cbk_tensor_read(to.stream, results[i], got, sizeof got));
        assert_memory_equal(got, want[i], sizeof got);
        cbk_tensor_release(&results[i]);
    }
    // The target's own numbers go on where they were.
    assert_ok(cbk_random_get_state(to.stream, &now));
    assert_int_equal(now.seed, 5);
    assert_int_equal(now.position, 7);
    assert_ok(cbk_random_uniform(to.stream, CBK_DTYPE_F32, 1, SHAPE(5), 0, 1, &results[0]));
    assert_ok(cbk_tensor_read(to.stream, results[0], next, sizeof next));
    assert_memory_equal(next, want[2], sizeof next);
    assert_ok(cbk_seed(to.device, 0));
    assert_ok(cbk_random_get_state(to.stream, &now));
    assert_int_equal(now.seed + now.position + now.stream_number, 0);
    cbk_tensor_release(&results[0]);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    cbk_tensor_release(&z);
}

// ---- inputs -------------------------------------------------------------------------------------

static cbk_tensor *on_target(uint32_t rank, const int64_t *shape, const float *data) {
    cbk_stream *own = stream;
    stream = to.stream;
    cbk_tensor *x = floats(rank, shape, data);
    stream = own;
    return x;
}

static void named_inputs(void **state) {
    (void)state;
    cbk_tensor *w = floats(1, SHAPE(2), DATA(1, 2)), *x = floats(1, SHAPE(2), DATA(3, 4)),
               *y = NULL;
    const cbk_tensor *named[] = {x, w};
    const cbk_ir_record_params params =
        CBK_INIT(cbk_ir_record_params, .inputs = named, .input_count = 2);
    cbk_ir_program *program = NULL;
    cbk_ir_info info = CBK_INIT(cbk_ir_info);
    cbk_ir_operand operand = CBK_INIT(cbk_ir_operand);
    assert_ok(cbk_ir_begin(stream, &params));
    assert_ok(cbk_mul(stream, x, w, &y));
    assert_ok(cbk_sub_into(stream, w, y, w)); // a step of training
    assert_ok(cbk_ir_end(stream, (const cbk_tensor *const[]){y}, 1, &program));
    assert_ok(cbk_ir_get_info(program, &info));
    assert_int_equal(info.op_count, 2);
    assert_int_equal(info.input_count, 2);
    assert_int_equal(info.output_count, 1);
    assert_int_equal(info.contents_bytes, 0);
    assert_ok(cbk_ir_get_input(program, 0, &operand));
    assert_int_equal(operand.flags, 0);
    assert_ok(cbk_ir_get_input(program, 1, &operand));
    assert_int_equal(operand.flags, CBK_IR_IS_WRITTEN);
    assert_int_equal(operand.shape[0], 2);
    assert_status(CBK_ERROR_NOT_FOUND, cbk_ir_get_input(program, 2, &operand));
    assert_ok(cbk_ir_get_output(program, 0, &operand));

    cbk_tensor *inputs[] = {on_target(1, SHAPE(2), DATA(10, 10)),
                            on_target(1, SHAPE(2), DATA(1, 2))};
    cbk_tensor *result = NULL;
    for (int i = 0; i < 2; i++) { // 1 2 -> -9 -18 -> 81 162
        assert_ok(cbk_ir_run(program, to.stream, inputs, &result));
        expect_on(to.stream, result, i == 0 ? DATA(10, 20) : DATA(-90, -180), 2);
        expect_on(to.stream, inputs[1], i == 0 ? DATA(-9, -18) : DATA(81, 162), 2);
        cbk_tensor_release(&result);
    }
    cbk_tensor *wrong[] = {inputs[0], on_target(1, SHAPE(3), DATA(1, 2, 3))};
    assert_status(CBK_ERROR_SHAPE, cbk_ir_run(program, to.stream, wrong, &result));
    assert_null(result);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_run(program, to.stream, NULL, &result));
    cbk_tensor_release(&inputs[0]);
    cbk_tensor_release(&inputs[1]);
    cbk_tensor_release(&wrong[1]);
    cbk_ir_program_release(&program);
    cbk_tensor_release(&w);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
}

static void contents_left_out(void **state) {
    (void)state;
    cbk_tensor *x = floats(2, SHAPE(2, 2), DATA(1, 2, 3, 4)), *t = NULL, *y = NULL, *bytes = NULL;
    cbk_tensor *given = NULL, *result = NULL, *turned = NULL;
    const cbk_ir_record_params params =
        CBK_INIT(cbk_ir_record_params, .flags = CBK_IR_LEAVE_CONTENTS_OUT);
    cbk_ir_program *program = NULL;
    assert_ok(cbk_transpose(stream, x, 0, 1, &t));
    assert_ok(cbk_ir_begin(stream, &params));
    assert_ok(cbk_sub(stream, x, t, &y)); // two views of one input
    assert_ok(cbk_ir_end(stream, NULL, 0, &program));
    assert_ok(cbk_ir_make_input(program, to.stream, 0, DATA(1, 5, 3, 4), 16, &given));
    assert_ok(cbk_ir_run(program, to.stream, &given, &result));
    expect_on(to.stream, result, DATA(0, 2, -2, 0), 4);
    cbk_tensor_release(&result);
    // Other strides would not be the same two views.
    assert_ok(cbk_transpose(to.stream, given, 0, 1, &turned));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_run(program, to.stream, &turned, &result));
    cbk_tensor *all[] = {given, turned, x, t, y, bytes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cbk_tensor_release(&all[i]);
    cbk_ir_program_release(&program);
}

static void a_limit_of_contents(void **state) {
    (void)state;
    cbk_tensor *small = floats(1, SHAPE(1), DATA(1)),
               *large = floats(1, SHAPE(4), DATA(1, 2, 3, 4));
    cbk_tensor *sum = NULL;
    const cbk_ir_record_params params = CBK_INIT(cbk_ir_record_params, .contents_limit_bytes = 8);
    cbk_ir_program *program = NULL;
    cbk_ir_info info = CBK_INIT(cbk_ir_info);
    assert_ok(cbk_ir_begin(stream, &params));
    assert_ok(cbk_add(stream, small, large, &sum));
    assert_ok(cbk_ir_end(stream, NULL, 0, &program));
    assert_ok(cbk_ir_get_info(program, &info));
    assert_int_equal(info.input_count, 1);
    assert_int_equal(info.contents_bytes, 4);
    cbk_ir_program_release(&program);
    assert_ok(cbk_ir_begin(stream, &params));
    assert_ok(cbk_neg_into(stream, sum, sum));
    assert_ok(cbk_tensor_write(stream, sum, DATA(1, 2, 3, 4), 16));
    assert_status(CBK_ERROR_OUT_OF_HOST_MEMORY, cbk_ir_end(stream, NULL, 0, &program));
    assert_null(program);
    cbk_tensor_release(&small);
    cbk_tensor_release(&large);
    cbk_tensor_release(&sum);
}

/// Strides, offset and in-place use reach the target as they were.
static void inputs_keep_their_strides(void **state) {
    (void)state;
    cbk_tensor *base = floats(2, SHAPE(3, 2), DATA(0, 1, 2, 3, 4, 5)), *part = NULL,
               *flipped = NULL;
    cbk_tensor *y = NULL, *given = NULL, *result = NULL;
    const cbk_ir_record_params params =
        CBK_INIT(cbk_ir_record_params, .flags = CBK_IR_LEAVE_CONTENTS_OUT);
    cbk_ir_program *program = NULL;
    cbk_ir_operand operand = CBK_INIT(cbk_ir_operand);
    assert_ok(cbk_narrow(stream, base, 0, 1, 2, &part));
    assert_ok(cbk_flip(stream, part, 1, (int32_t[]){0}, &flipped));
    assert_ok(cbk_ir_begin(stream, &params));
    assert_ok(cbk_neg(stream, flipped, &y));
    assert_ok(cbk_ir_end(stream, NULL, 0, &program));
    assert_ok(cbk_ir_get_input(program, 0, &operand));
    assert_int_equal(operand.strides[0], -2);
    assert_ok(cbk_ir_make_input(program, to.stream, 0, DATA(4, 5, 2, 3), 16, &given));
    assert_int_equal(cbk_tensor_strides(given)[0], -2);
    assert_int_equal(cbk_tensor_offset(given), cbk_tensor_offset(flipped));
    assert_ok(cbk_ir_run(program, to.stream, &given, &result));
    expect_on(to.stream, result, DATA(-4, -5, -2, -3), 4);
    cbk_tensor *all[] = {base, part, flipped, y, given, result};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cbk_tensor_release(&all[i]);
    cbk_ir_program_release(&program);
}

// ---- what is refused ----------------------------------------------------------------------------

static void wrong_calls(void **state) {
    (void)state;
    cbk_ir_program *program = NULL;
    cbk_tensor *x = floats(1, SHAPE(1), DATA(1)), *y = NULL, *z = NULL, *out = NULL;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_begin(to.stream, NULL));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_ir_end(stream, NULL, 0, &program));
    assert_ok(cbk_ir_abort(stream)); // nothing to forget
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_ir_begin(stream, NULL));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_graph_prepare(stream));
    assert_ok(cbk_neg(stream, x, &y));
    z = floats(1, SHAPE(1), DATA(1)); // not used
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_ir_end(stream, (const cbk_tensor *const[]){z}, 1, &program));
    assert_status(CBK_ERROR_AXIS, cbk_softmax(stream, x, 7, &out)); // changes nothing
    assert_ok(cbk_ir_end(stream, NULL, 0, &program));
    assert_ok(cbk_ir_run(program, to.stream, NULL, &out));
    expect_on(to.stream, out, DATA(-1), 1);
    cbk_tensor_release(&out);
    cbk_ir_program_release(&program);
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_ok(cbk_neg_into(stream, x, y));
    assert_ok(cbk_ir_abort(stream));
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_ok(cbk_ir_end(stream, NULL, 0, &program)); // of nothing
    assert_ok(cbk_ir_run(program, to.stream, NULL, NULL));
    cbk_ir_program_release(&program);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    cbk_tensor_release(&z);
}

static void another_stream_writes(void **state) {
    (void)state;
    cbk_stream *second = NULL;
    cbk_ir_program *program = NULL;
    cbk_tensor *x = floats(1, SHAPE(1), DATA(1)), *y = NULL, *z = NULL;
    assert_ok(cbk_stream_create(from.device, NULL, &second));
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_ok(cbk_neg(stream, x, &y));
    assert_ok(cbk_exp(second, x, &z)); // reads: fine
    assert_ok(cbk_add_into(stream, y, z, y));
    assert_ok(cbk_ir_end(stream, NULL, 0, &program));
    cbk_ir_program_release(&program);
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_ok(cbk_neg_into(stream, x, y));
    assert_ok(cbk_neg_into(second, z, x));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_ir_end(stream, NULL, 0, &program));
    assert_non_null(strstr(cbk_last_error_message(), "another stream"));
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    cbk_tensor_release(&z);
    cbk_stream_release(&second);
}

/// An error that reading contents brings up is the caller's, at the next look and once.
static void errors_of_the_stream_are_kept(void **state) {
    (void)state;
    cbk_tensor *x = floats(1, SHAPE(2), DATA(1, 2)), *other = floats(1, SHAPE(2), DATA(3, 4));
    cbk_tensor *index = NULL, *picked = NULL, *y = NULL;
    const int64_t bad[1] = {9};
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_I64, 1, SHAPE(1), bad, sizeof bad, &index));
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_ok(cbk_gather(stream, x, index, 0, &picked));
    assert_ok(cbk_neg(stream, other, &y));
    assert_status(CBK_ERROR_INDEX_OUT_OF_RANGE, cbk_sync(stream));
    assert_ok(cbk_sync(stream));
    cbk_tensor *result = NULL;
    end_and_run((const cbk_tensor *const[]){y}, 1, NULL, &result);
    assert_status(CBK_ERROR_INDEX_OUT_OF_RANGE, cbk_sync(to.stream)); // so does the program
    expect_on(to.stream, result, DATA(-3, -4), 2);
    cbk_tensor *all[] = {x, other, index, picked, y, result};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cbk_tensor_release(&all[i]);
}

/// A backend that a program cannot draw on, or be recorded with draws from.
static void backends_without_random_state(void **state) {
    (void)state;
    void *self = NULL;
    cbk_vtable vtable = *cbk_backend_vtable(to.backend, &self);
    cbk_backend *poor = NULL, *recorder = NULL;
    struct test_side side;
    cbk_ir_program *program = NULL;
    cbk_tensor *x = NULL;
    vtable.random_get_state = NULL;
    vtable.random_set_state = NULL;
    vtable.destroy = NULL;
    assert_ok(cbk_backend_create(&vtable, self, &poor));
    assert_ok(cbk_ir_recorder_create(poor, &recorder));
    cbk_backend_release(&poor);
    assert_true(test_side_open(&side, "poor", recorder, false));
    cbk_random_state unknown = CBK_INIT(cbk_random_state);
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_random_get_state(side.stream, &unknown));
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_random_set_state(side.stream, &unknown));
    assert_ok(cbk_ir_begin(side.stream, NULL));
    assert_ok(cbk_random_uniform(side.stream, CBK_DTYPE_F32, 1, SHAPE(2), 0, 1, &x));
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_ir_end(side.stream, NULL, 0, &program));
    cbk_tensor_release(&x);
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_ok(cbk_random_uniform(stream, CBK_DTYPE_F32, 1, SHAPE(2), 0, 1, &x));
    assert_ok(cbk_ir_end(stream, NULL, 0, &program));
    cbk_tensor *result = NULL;
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_ir_run(program, side.stream, NULL, &result));
    assert_non_null(strstr(cbk_last_error_message(), "step 0"));
    cbk_tensor_release(&x);
    cbk_ir_program_release(&program);
    test_side_close(&side);
}

static void text(void **state) {
    (void)state;
    cbk_tensor *x = floats(2, SHAPE(2, 2), DATA(1, 2, 3, 4)), *t = NULL, *y = NULL;
    cbk_ir_program *program = NULL;
    char all[512], some[20];
    uint64_t size = 0;
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_ok(cbk_transpose(stream, x, 0, 1, &t));
    assert_ok(cbk_add(stream, x, t, &y));
    assert_ok(cbk_neg_into(stream, y, y));
    assert_ok(cbk_ir_end(stream, NULL, 0, &program));
    assert_ok(cbk_ir_describe(program, all, sizeof all, &size));
    assert_string_equal(all, "%0 = constant of buffer 0  -> f32[2,2]\n"
                             "%1 = transpose(%0) {2 0 1}  -> f32[2,2] strides [1,2]\n"
                             "%2 = add(%0, %1)  -> f32[2,2]\n"
                             "%2 in place = neg(%2)  -> f32[2,2]\n"
                             "output 0: %2  f32[2,2]\n");
    assert_int_equal(size, strlen(all) + 1);
    assert_ok(cbk_ir_describe(program, some, sizeof some, &size));
    assert_memory_equal(some, all, sizeof some - 1);
    assert_int_equal(some[sizeof some - 1], 0);
    assert_ok(cbk_ir_describe(program, NULL, 0, &size));
    assert_int_equal(size, strlen(all) + 1);
    cbk_ir_program_release(&program);
    cbk_tensor_release(&x);
    cbk_tensor_release(&t);
    cbk_tensor_release(&y);
}

static const struct direction *direction;

static int open_direction(void **state) {
    (void)state;
    return open_sides(direction);
}

static int close_direction(void **state) {
    (void)state;
    const int first = close_side(&from), second = close_side(&to);
    return first != 0 ? first : second;
}

#define TEST(function) cmocka_unit_test(function)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(constants_from_before_and_within),
        TEST(views_before_and_within),
        TEST(in_place_and_into),
        TEST(donation_still_saves_memory),
        TEST(reused_storages),
        TEST(host_writes),
        TEST(scalars_and_empty_tensors),
        TEST(random_numbers),
        TEST(named_inputs),
        TEST(contents_left_out),
        TEST(a_limit_of_contents),
        TEST(inputs_keep_their_strides),
        TEST(wrong_calls),
        TEST(another_stream_writes),
        TEST(errors_of_the_stream_are_kept),
        TEST(backends_without_random_state),
        TEST(text),
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
        direction = &directions[i];
        failed +=
            cmocka_run_group_tests_name(direction->name, tests, open_direction, close_direction);
    }
    return failed;
}
