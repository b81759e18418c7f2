// test_ir.c: programs without a device: wrong arguments, files that cannot be, versions on either side,
// captures. The backend is the reference.
#include "device.h"
#include "support.h"

#include <cubeback/ir.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 48 };

static struct test_side side;
static cbk_stream *stream;

static int open_side(void **state) {
    cbk_backend *inner = NULL, *recorder = NULL;
    (void)state;
    assert_ok(cbk_reference_create(NULL, &inner));
    assert_ok(cbk_ir_recorder_create(inner, &recorder));
    cbk_backend_release(&inner);
    if (!test_side_open(&side, "recorder", recorder, false)) return -1;
    stream = side.stream;
    return 0;
}

static int close_side(void **state) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    (void)state;
    cbk_status status = cbk_memory_usage(side.device, &info);
    test_side_close(&side);
    return status == CBK_OK && info.allocation_count == 0 ? 0 : -1;
}

static cbk_tensor *pair(float a, float b) {
    const int64_t shape[] = {2};
    cbk_tensor *x = NULL;
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 1, shape, (float[]){a, b}, 8, &x));
    return x;
}

static void expect(const cbk_tensor *x, float a, float b) {
    float got[2];
    assert_ok(cbk_tensor_read(stream, x, got, sizeof got));
    assert_true(got[0] == a && got[1] == b);
}

/// softmax([1, 1]) * 2, with the input a constant or an input.
static cbk_ir_program *make_program(uint32_t flags) {
    cbk_tensor *x = pair(1, 1), *y = NULL, *z = NULL;
    const cbk_ir_record_params params = CBK_INIT(cbk_ir_record_params, .flags = flags);
    cbk_ir_program *program = NULL;
    assert_ok(cbk_ir_begin(stream, &params));
    assert_ok(cbk_softmax(stream, x, 0, &y));
    assert_ok(cbk_mul_scalar(stream, y, cbk_f(2), &z));
    assert_ok(cbk_ir_end(stream, NULL, 0, &program));
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    cbk_tensor_release(&z);
    return program;
}

// ---- wrong arguments ----------------------------------------------------------------------------

static void null_and_dead_handles(void **state) {
    (void)state;
    cbk_ir_program *program = NULL;
    cbk_backend *backend = NULL;
    cbk_tensor *out = NULL;
    cbk_ir_info info = CBK_INIT(cbk_ir_info);
    cbk_ir_operand operand = CBK_INIT(cbk_ir_operand);
    uint64_t size = 0;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_recorder_create(NULL, &backend));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_recorder_create(side.backend, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_begin(NULL, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_end(NULL, NULL, 0, &program));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_abort(NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_get_info(NULL, &info));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_get_output(NULL, 0, &operand));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_describe(NULL, NULL, 0, &size));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_save(NULL, "/tmp/x"));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_load(NULL, &program));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_load_memory(NULL, 3, &program));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_run(NULL, stream, NULL, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_make_input(NULL, stream, 0, NULL, 0, &out));
    cbk_ir_program_release(&program);
    cbk_ir_program_release(NULL);
    assert_null(cbk_ir_program_retain(NULL));

    program = make_program(0);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_save(program, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_save_memory(program, NULL, 5, &size));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_describe(program, NULL, 5, &size));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_run(program, NULL, NULL, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_run(program, stream, NULL, NULL));
    assert_status(CBK_ERROR_NOT_FOUND, cbk_ir_make_input(program, stream, 0, NULL, 0, &out));
    assert_status(CBK_ERROR_NOT_FOUND, cbk_ir_get_output(program, 1, &operand));
    cbk_ir_program *same = cbk_ir_program_retain(program);
    cbk_ir_program_release(&program);
    assert_ok(cbk_ir_run(same, stream, NULL, &out)); // on the recorder itself
    expect(out, 1, 1);
    cbk_tensor_release(&out);
    cbk_ir_program_release(&same);
}

static void wrong_recordings(void **state) {
    (void)state;
    cbk_tensor *x = pair(1, 2), *view = NULL, *y = NULL;
    cbk_ir_program *program = NULL;
    assert_ok(cbk_narrow(stream, x, 0, 0, 1, &view));
    const cbk_tensor *both[] = {view, x}, *one[] = {view}, *none[] = {NULL};
    cbk_ir_record_params params = CBK_INIT(cbk_ir_record_params, .flags = 8);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_begin(stream, &params));
    params = CBK_INIT(cbk_ir_record_params, .input_count = 1);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_begin(stream, &params));
    params.inputs = none;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_begin(stream, &params));
    params.inputs = both;
    params.input_count = 2; // of one memory
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_begin(stream, &params));
    // Beside a named input nothing is known.
    params.inputs = one;
    params.input_count = 1;
    assert_ok(cbk_ir_begin(stream, &params));
    assert_ok(cbk_neg(stream, x, &y));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_end(stream, NULL, 0, &program));
    assert_non_null(strstr(cbk_last_error_message(), "the recording failed"));
    // A stream may go while it records.
    cbk_stream *second = NULL;
    assert_ok(cbk_stream_create(side.device, NULL, &second));
    assert_ok(cbk_ir_begin(second, NULL));
    assert_ok(cbk_neg_into(second, x, y));
    cbk_stream_release(&second);
    cbk_tensor_release(&x);
    cbk_tensor_release(&view);
    cbk_tensor_release(&y);
}

/// A failure to record changes neither the call's result nor the error record.
static void recording_fails_quietly(void **state) {
    (void)state;
    cbk_tensor *x = pair(1, 2), *y = NULL, *bad = NULL;
    cbk_ir_program *program = NULL;
    char before[CBK_ERROR_MESSAGE_SIZE];
    const cbk_ir_record_params params = CBK_INIT(cbk_ir_record_params, .contents_limit_bytes = 8);
    assert_ok(cbk_ir_begin(stream, &params));
    assert_ok(cbk_neg(stream, x, &y));
    assert_status(CBK_ERROR_AXIS, cbk_softmax(stream, y, 9, &bad));
    strcpy(before, cbk_last_error_message());
    assert_ok(cbk_tensor_write(stream, y, (float[]){5, 6}, 8)); // beyond the limit
    assert_ok(cbk_neg_into(stream, y, x));
    assert_string_equal(cbk_last_error_message(), before);
    expect(x, -5, -6);
    assert_status(CBK_ERROR_OUT_OF_HOST_MEMORY, cbk_ir_end(stream, NULL, 0, &program));
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
}

// ---- files --------------------------------------------------------------------------------------

static void files_that_cannot_be(void **state) {
    (void)state;
    cbk_ir_program *program = make_program(0), *loaded = NULL;
    char path[] = "/tmp/cubeback-ir-XXXXXX";
    const int file = mkstemp(path);
    cbk_tensor *out = NULL;
    assert_true(file >= 0);
    close(file);
    assert_ok(cbk_ir_save(program, path));
    assert_ok(cbk_ir_load(path, &loaded));
    assert_ok(cbk_ir_run(loaded, stream, NULL, &out));
    expect(out, 1, 1);
    cbk_tensor_release(&out);
    cbk_ir_program_release(&loaded);
    assert_int_equal(truncate(path, 60), 0);
    assert_status(CBK_ERROR_CORRUPT, cbk_ir_load(path, &loaded));
    assert_null(loaded);
    assert_int_equal(remove(path), 0);
    assert_status(CBK_ERROR_IO, cbk_ir_load(path, &loaded));
    assert_non_null(strstr(cbk_last_error_message(), path));
    assert_status(CBK_ERROR_IO, cbk_ir_load("/tmp", &loaded));
    assert_status(CBK_ERROR_IO, cbk_ir_save(program, "/nowhere/at/all.cbkir"));
    if (access("/dev/full", W_OK) == 0 && getuid() != 0) { // root would take the device away
        assert_status(CBK_ERROR_IO, cbk_ir_save(program, "/dev/full"));
    }
    cbk_ir_program_release(&program);
}

static unsigned char *bytes_of(const cbk_ir_program *program, uint64_t *out_size) {
    assert_ok(cbk_ir_save_memory(program, NULL, 0, out_size));
    unsigned char *bytes = malloc((size_t)*out_size);
    assert_non_null(bytes);
    assert_ok(cbk_ir_save_memory(program, bytes, *out_size, out_size));
    return bytes;
}

static uint64_t fnv(const unsigned char *data, uint64_t size) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint64_t i = 0; i < size; i++) hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static cbk_ir_program *sign_and_load(unsigned char *bytes, uint64_t size) {
    cbk_ir_program *program = NULL;
    uint64_t sum = fnv(bytes + HEADER, size - HEADER);
    for (int i = 0; i < 8; i++) bytes[24 + i] = (unsigned char)(sum >> 8 * i);
    sum = fnv(bytes, 40);
    for (int i = 0; i < 8; i++) bytes[40 + i] = (unsigned char)(sum >> 8 * i);
    assert_ok(cbk_ir_load_memory(bytes, size, &program));
    return program;
}

/// Where a word is, from its only occurrence; words of a file are at multiples of 4.
static unsigned char *find_word(unsigned char *bytes, uint64_t size, uint32_t word) {
    unsigned char *found = NULL;
    for (uint64_t at = HEADER; at + 4 <= size; at += 4) {
        uint32_t there;
        memcpy(&there, bytes + at, 4);
        if (there != word) continue;
        assert_null(found);
        found = bytes + at;
    }
    assert_non_null(found);
    return found;
}

/// An operation of a later version is found when its step is run.
static void unknown_operations(void **state) {
    (void)state;
    cbk_ir_program *program = make_program(0);
    uint64_t size = 0, length = 0;
    unsigned char *bytes = bytes_of(program, &size);
    char text[1024];
    cbk_tensor *out = NULL;
    cbk_ir_program_release(&program);
    find_word(bytes, size, CBK_OP_MUL_SCALAR)[1] = 0x7f;
    program = sign_and_load(bytes, size);
    assert_ok(cbk_ir_describe(program, text, sizeof text, &length));
    assert_non_null(strstr(text, "operation 0x7f02"));
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_ir_run(program, stream, NULL, &out));
    assert_non_null(strstr(cbk_last_error_message(), "step 1: operation 0x7f02"));
    assert_null(out);
    cbk_ir_program_release(&program);
    free(bytes);
}

/// An operation of this version whose result is not what a file says.
static void other_results_than_recorded(void **state) {
    (void)state;
    cbk_ir_program *program = make_program(0);
    uint64_t size = 0;
    unsigned char *bytes = bytes_of(program, &size);
    cbk_tensor *out = NULL;
    cbk_ir_program_release(&program);
    // softmax takes the place of an operation without params, whose result has another dtype.
    unsigned char *opcode = find_word(bytes, size, CBK_OP_SOFTMAX);
    const uint32_t other = CBK_OP_IS_NAN;
    memcpy(opcode, &other, 4);
    program = sign_and_load(bytes, size);
    assert_status(CBK_ERROR_CORRUPT, cbk_ir_run(program, stream, NULL, &out));
    cbk_ir_program_release(&program);
    free(bytes);
}

/// Params that end earlier have defaults; a tail that is not zero is of a later version.
static void params_of_other_versions(void **state) {
    (void)state;
    cbk_ir_program *program = make_program(0);
    uint64_t size = 0;
    unsigned char *bytes = bytes_of(program, &size);
    cbk_tensor *out = NULL;
    const uint32_t struct_size = sizeof(cbk_scalar_params);
    cbk_ir_program_release(&program);
    unsigned char *step = find_word(bytes, size, CBK_OP_MUL_SCALAR) - 4;
    unsigned char *params = step + 32 + 8; // header, two operands
    assert_memory_equal(params, &struct_size, 4);
    params[0] = 8; // without its scalar
    program = sign_and_load(bytes, size);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_run(program, stream, NULL, &out));
    cbk_ir_program_release(&program);
    params[0] = 64; // longer than the data
    program = sign_and_load(bytes, size);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_run(program, stream, NULL, &out));
    cbk_ir_program_release(&program);
    free(bytes);
}

// ---- running ------------------------------------------------------------------------------------

static cbk_ir_program *captured_program;
static cbk_tensor *captured_input, *captured_output;

static cbk_status run_captured(cbk_stream *on, void *user_data) {
    (void)user_data;
    cbk_tensor_release(&captured_output);
    return cbk_ir_run(captured_program, on, &captured_input, &captured_output);
}

static void within_a_graph(void **state) {
    (void)state;
    cbk_graph *graph = NULL;
    captured_program = make_program(CBK_IR_LEAVE_CONTENTS_OUT);
    captured_input = pair(1, 1);
    assert_ok(cbk_graph_capture(stream, run_captured, NULL, &graph));
    assert_ok(cbk_tensor_write(stream, captured_input, (float[]){0, 1000}, 8));
    assert_ok(cbk_graph_replay(graph));
    expect(captured_output, 0, 2);
    cbk_graph_release(&graph);
    cbk_ir_program_release(&captured_program);
    captured_program = make_program(0); // has a constant
    assert_status(CBK_ERROR_INVALID_STATE, cbk_graph_capture(stream, run_captured, NULL, &graph));
    cbk_ir_program_release(&captured_program);
    cbk_tensor_release(&captured_input);
    cbk_tensor_release(&captured_output);
}

/// Inputs of other strides are as good, where no step depends on them.
static void inputs_of_other_strides(void **state) {
    (void)state;
    const int64_t shape[] = {2, 2}, four[] = {4};
    const float data[] = {1, 2, 3, 4};
    cbk_tensor *x = NULL, *flat = NULL, *out = NULL, *turned = NULL;
    cbk_ir_program *program = NULL;
    float got[4];
    const cbk_ir_record_params params =
        CBK_INIT(cbk_ir_record_params, .flags = CBK_IR_LEAVE_CONTENTS_OUT);
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape, data, sizeof data, &x));
    assert_ok(cbk_transpose(stream, x, 0, 1, &turned));
    assert_ok(cbk_ir_begin(stream, &params));
    assert_ok(cbk_neg(stream, x, &out));
    assert_ok(cbk_ir_end(stream, NULL, 0, &program));
    cbk_tensor_release(&out);
    assert_ok(cbk_ir_run(program, stream, &turned, &out));
    assert_ok(cbk_tensor_read(stream, out, got, sizeof got));
    assert_memory_equal(got, ((float[]){-1, -3, -2, -4}), sizeof got);
    cbk_ir_program_release(&program);
    cbk_tensor_release(&out);
    // A reshape that was a view would have to copy.
    assert_ok(cbk_ir_begin(stream, &params));
    assert_ok(cbk_reshape(stream, x, 1, four, &flat));
    assert_ok(cbk_neg_into(stream, flat, flat));
    assert_ok(cbk_ir_end(stream, NULL, 0, &program));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_ir_run(program, stream, &turned, &out));
    assert_non_null(strstr(cbk_last_error_message(), "strides"));
    cbk_ir_program_release(&program);
    cbk_tensor_release(&x);
    cbk_tensor_release(&flat);
    cbk_tensor_release(&turned);
}

// ---- threads ------------------------------------------------------------------------------------

enum { ROUNDS = 300 };

/// Works on a stream of its own and releases what the recording thread has made.
struct helper {
    cbk_stream *stream;
    cbk_tensor *handed[ROUNDS];
    pthread_mutex_t mutex;
    int count;
};

static void *help(void *argument) {
    struct helper *helper = argument;
    const int64_t shape[] = {2};
    for (int done = 0; done < ROUNDS;) {
        cbk_tensor *own = NULL, *result = NULL;
        pthread_mutex_lock(&helper->mutex);
        const int count = helper->count;
        pthread_mutex_unlock(&helper->mutex);
        while (done < count) cbk_tensor_release(&helper->handed[done++]);
        if (cbk_tensor_from_data(helper->stream, CBK_DTYPE_F32, 1, shape, (float[]){1, 2}, 8,
                                 &own) == CBK_OK) {
            (void)cbk_neg(helper->stream, own, &result);
        }
        cbk_tensor_release(&own);
        cbk_tensor_release(&result);
    }
    return NULL;
}

static void tensors_released_by_other_threads(void **state) {
    (void)state;
    struct helper helper = {.count = 0};
    cbk_tensor *total = pair(0, 0), *result = NULL;
    cbk_ir_program *program = NULL;
    pthread_t thread;
    assert_ok(cbk_stream_create(side.device, NULL, &helper.stream));
    assert_int_equal(pthread_mutex_init(&helper.mutex, NULL), 0);
    assert_ok(cbk_ir_begin(stream, NULL));
    assert_int_equal(pthread_create(&thread, NULL, help, &helper), 0);
    for (int i = 0; i < ROUNDS; i++) {
        cbk_tensor *one = pair(1, (float)i);
        assert_ok(cbk_add_into(stream, total, one, total));
        pthread_mutex_lock(&helper.mutex);
        helper.handed[helper.count++] = one;
        pthread_mutex_unlock(&helper.mutex);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(cbk_ir_end(stream, (const cbk_tensor *const[]){total}, 1, &program));
    assert_ok(cbk_ir_run(program, stream, NULL, &result));
    expect(result, ROUNDS, ROUNDS * (ROUNDS - 1) / 2);
    cbk_tensor_release(&result);
    cbk_ir_program_release(&program);
    cbk_tensor_release(&total);
    cbk_stream_release(&helper.stream);
    pthread_mutex_destroy(&helper.mutex);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_and_dead_handles),
        cmocka_unit_test(wrong_recordings),
        cmocka_unit_test(recording_fails_quietly),
        cmocka_unit_test(files_that_cannot_be),
        cmocka_unit_test(unknown_operations),
        cmocka_unit_test(other_results_than_recorded),
        cmocka_unit_test(params_of_other_versions),
        cmocka_unit_test(within_a_graph),
        cmocka_unit_test(inputs_of_other_strides),
        cmocka_unit_test(tensors_released_by_other_threads),
    };
    return cmocka_run_group_tests_name("ir", tests, open_side, close_side);
}
