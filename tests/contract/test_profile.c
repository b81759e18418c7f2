// test_profile.c: profile records and traces, against each built-in backend.
#include "device.h"
#include "support.h"

#include <cubeback/backend.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RECORDS = 1024 };

struct records {
    size_t count;
    cbk_profile_record list[MOST_RECORDS];
};

static struct test_side side;
static struct records records;
static cbk_tensor *a, *b; ///< f32 [8, 16] and [16, 4] of ones

static void keep(void *user_data, const cbk_profile_record *record) {
    struct records *to = user_data;
    assert_int_equal(record->struct_size, sizeof *record);
    assert_true(to->count < MOST_RECORDS);
    to->list[to->count] = *record;
    // Texts live during the callback only: keep what is compared.
    assert_non_null(record->kernel);
    to->list[to->count].kernel = record->kernel[0] != '\0' ? "some" : "";
    to->list[to->count].operation =
        record->opcode == CBK_OP_NONE ? "graph_replay" : cbk_op_info_of(record->opcode)->name;
    assert_string_equal(record->operation, to->list[to->count].operation);
    to->count++;
}

static int open_with(cbk_status (*create)(const cbk_backend_params *, cbk_backend **),
                     const char *name) {
    const cbk_backend_params params = test_backend_params();
    cbk_backend *backend = NULL;
    assert_ok(create(&params, &backend));
    if (!test_side_open(&side, name, backend, create == cbk_opencl_create)) return -1;
    assert_ok(cbk_fill(side.stream, CBK_DTYPE_F32, 2, (int64_t[]){8, 16}, cbk_f(1), &a));
    assert_ok(cbk_fill(side.stream, CBK_DTYPE_F32, 2, (int64_t[]){16, 4}, cbk_f(1), &b));
    return 0;
}

static int open_reference(void **state) {
    (void)state;
    return open_with(cbk_reference_create, "reference");
}

static int open_device(void **state) {
    (void)state;
    return open_with(cbk_opencl_create, "opencl");
}

static int close_side(void **state) {
    (void)state;
    cbk_tensor_release(&a);
    cbk_tensor_release(&b);
    return test_side_finish(&side);
}

static int clear(void **state) {
    (void)state;
    memset(&records, 0, sizeof records);
    return 0;
}

static cbk_tensor *product(void) {
    cbk_tensor *out = NULL;
    assert_ok(cbk_matmul(side.stream, a, b, NULL, &out));
    return out;
}

static void expect_sixteens(cbk_tensor *tensor) {
    float data[8 * 4];
    assert_ok(cbk_tensor_read(side.stream, tensor, data, sizeof data));
    for (size_t i = 0; i < 8 * 4; i++) assert_true(data[i] == 16);
}

// ---- records -----------------------------------------------------------------------------------

static void a_record_tells_of_its_operation(void **state) {
    (void)state;
    cbk_tensor *out = NULL;
    assert_ok(cbk_profile_begin(side.stream, keep, &records));
    out = product();
    assert_ok(cbk_profile_end(side.stream));
    assert_int_equal(records.count, 1);
    const cbk_profile_record *record = &records.list[0];
    assert_int_equal(record->opcode, CBK_OP_MATMUL);
    assert_string_equal(record->kernel, "some");
    assert_true(record->launch_count >= 1);
    assert_int_equal(record->operand_count, 3);
    assert_int_equal(record->dtype[0], CBK_DTYPE_F32);
    assert_int_equal(record->rank[0], 2);
    assert_memory_equal(record->shape[0], ((int64_t[]){8, 4}), 2 * sizeof(int64_t));
    assert_memory_equal(record->shape[1], ((int64_t[]){8, 16}), 2 * sizeof(int64_t));
    assert_memory_equal(record->shape[2], ((int64_t[]){16, 4}), 2 * sizeof(int64_t));
    assert_int_equal(record->bytes, 4 * (8 * 4 + 8 * 16 + 16 * 4));
    assert_int_equal(record->flops, 2 * 8 * 4 * 16);
    assert_int_equal(record->stream_number, 0);
    assert_true(record->end_ns > 0);
    expect_sixteens(out);
    cbk_tensor_release(&out);
}

static void records_come_in_order(void **state) {
    (void)state;
    const cbk_opcode wanted[] = {CBK_OP_MATMUL, CBK_OP_ADD_SCALAR, CBK_OP_EXP, CBK_OP_SUM};
    cbk_tensor *x[4] = {NULL};
    assert_ok(cbk_profile_begin(side.stream, keep, &records));
    x[0] = product();
    assert_ok(cbk_add_scalar(side.stream, x[0], cbk_f(1), &x[1]));
    assert_ok(cbk_exp(side.stream, x[1], &x[2]));
    assert_ok(cbk_sum(side.stream, x[2], NULL, &x[3]));
    assert_ok(cbk_profile_end(side.stream));
    assert_int_equal(records.count, 4);
    for (size_t i = 0; i < 4; i++) {
        const cbk_profile_record *record = &records.list[i];
        assert_int_equal(record->opcode, wanted[i]);
        assert_true(record->queued_ns <= record->submit_ns);
        assert_true(record->submit_ns <= record->start_ns);
        assert_true(record->start_ns <= record->end_ns);
        if (i > 0) assert_true(record->start_ns >= records.list[i - 1].end_ns);
        cbk_tensor_release(&x[i]);
    }
}

static void repeated_elements_count_once(void **state) {
    (void)state;
    cbk_tensor *row = NULL, *wide = NULL, *out = NULL;
    assert_ok(cbk_fill(side.stream, CBK_DTYPE_F32, 2, (int64_t[]){1, 16}, cbk_f(1), &row));
    assert_ok(cbk_expand(side.stream, row, 2, (int64_t[]){8, 16}, &wide));
    assert_ok(cbk_profile_begin(side.stream, keep, &records));
    assert_ok(cbk_add(side.stream, a, wide, &out));
    assert_ok(cbk_profile_end(side.stream));
    assert_int_equal(records.list[0].bytes, 4 * (8 * 16 + 8 * 16 + 16));
    cbk_tensor_release(&row);
    cbk_tensor_release(&wide);
    cbk_tensor_release(&out);
}

static void a_long_profile_is_delivered_in_parts(void **state) {
    (void)state;
    cbk_tensor *x = product(), *next = NULL;
    assert_ok(cbk_profile_begin(side.stream, keep, &records));
    for (int i = 0; i < 700; i++) {
        assert_ok(cbk_add_scalar(side.stream, x, cbk_f(0), &next));
        cbk_tensor_release(&x);
        x = next;
    }
    assert_ok(cbk_profile_end(side.stream));
    assert_int_equal(records.count, 700);
    for (size_t i = 1; i < records.count; i++)
        assert_true(records.list[i].start_ns >= records.list[i - 1].end_ns);
    expect_sixteens(x);
    cbk_tensor_release(&x);
}

// Work before, within and after a profile is in order, also across streams.
static void order_holds_across_the_borders(void **state) {
    (void)state;
    enum { LENGTH = 1 << 20 };
    const int64_t length = LENGTH;
    cbk_stream *other = NULL;
    cbk_tensor *x = NULL, *copy = NULL;
    float *data = malloc(LENGTH * sizeof *data);
    assert_non_null(data);
    assert_ok(cbk_stream_create(side.device, NULL, &other));
    assert_ok(cbk_fill(side.stream, CBK_DTYPE_F32, 1, &length, cbk_f(0), &x));
    for (int round = 0; round < 8; round++) {
        assert_ok(cbk_add_scalar_into(side.stream, x, cbk_f(1), x));
        assert_ok(cbk_profile_begin(side.stream, keep, &records));
        assert_ok(cbk_mul_scalar_into(side.stream, x, cbk_f(2), x));
        assert_ok(cbk_profile_end(side.stream));
        assert_ok(cbk_add_scalar_into(side.stream, x, cbk_f(-1), x));
        assert_ok(cbk_add_scalar(other, x, cbk_f(0), &copy));
        assert_ok(cbk_tensor_read(other, copy, data, LENGTH * sizeof *data));
        const float want = (float)((2 << round) - 1);
        for (size_t i = 0; i < LENGTH; i += 4097) assert_true(data[i] == want);
        cbk_tensor_release(&copy);
    }
    free(data);
    cbk_tensor_release(&x);
    cbk_stream_release(&other);
}

// ---- states ------------------------------------------------------------------------------------

static void wrong_states_are_refused(void **state) {
    (void)state;
    assert_status(CBK_ERROR_INVALID_STATE, cbk_profile_end(side.stream));
    assert_ok(cbk_profile_begin(side.stream, keep, &records));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_profile_begin(side.stream, keep, &records));
    assert_ok(cbk_profile_end(side.stream));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_profile_end(side.stream));
    assert_int_equal(records.count, 0);
}

static void a_failed_operation_has_no_record(void **state) {
    (void)state;
    cbk_tensor *out = NULL;
    assert_ok(cbk_profile_begin(side.stream, keep, &records));
    assert_status(CBK_ERROR_SHAPE, cbk_matmul(side.stream, a, a, NULL, &out));
    assert_ok(cbk_profile_end(side.stream));
    assert_int_equal(records.count, 0);
}

static cbk_status multiply(cbk_stream *stream, void *out) {
    return cbk_matmul_into(stream, a, b, NULL, out);
}

static void captures_and_replays(void **state) {
    (void)state;
    cbk_tensor *out = product();
    cbk_graph *graph = NULL;
    assert_ok(cbk_graph_prepare(side.stream));
    assert_ok(cbk_graph_start_capture(side.stream));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_profile_begin(side.stream, keep, &records));
    assert_ok(multiply(side.stream, out));
    assert_ok(cbk_graph_stop_capture(side.stream, &graph));
    cbk_graph_release(&graph);

    // A capture within a profile: its warm-up has a record, what it records has none.
    assert_ok(cbk_profile_begin(side.stream, keep, &records));
    assert_ok(cbk_graph_capture(side.stream, multiply, out, &graph));
    assert_ok(cbk_graph_replay(graph));
    assert_ok(cbk_graph_replay(graph));
    assert_ok(cbk_profile_end(side.stream));
    assert_int_equal(records.count, 3);
    assert_int_equal(records.list[0].opcode, CBK_OP_MATMUL);
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(records.list[i].opcode, CBK_OP_NONE);
        assert_true(records.list[i].launch_count >= 1);
        assert_true(records.list[i].end_ns >= records.list[i].start_ns);
    }
    expect_sixteens(out);
    cbk_graph_release(&graph);
    cbk_tensor_release(&out);
}

static void a_stream_may_go_while_profiled(void **state) {
    (void)state;
    cbk_stream *own = NULL;
    cbk_tensor *out = NULL, *copy = NULL;
    assert_ok(cbk_stream_create(side.device, NULL, &own));
    assert_ok(cbk_profile_begin(own, keep, &records));
    assert_ok(cbk_matmul(own, a, b, NULL, &out));
    cbk_stream_release(&own);
    assert_ok(cbk_add_scalar(side.stream, out, cbk_f(0), &copy));
    expect_sixteens(copy);
    cbk_tensor_release(&out);
    cbk_tensor_release(&copy);
    // Its successor starts without a profile.
    assert_ok(cbk_stream_create(side.device, NULL, &own));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_profile_end(own));
    cbk_stream_release(&own);
}

// ---- traces ------------------------------------------------------------------------------------

static char *read_file(const char *path) {
    enum { CAPACITY = 1 << 16 };
    char *text = calloc(1, CAPACITY);
    FILE *file = fopen(path, "r");
    assert_non_null(text);
    assert_non_null(file);
    assert_true(fread(text, 1, CAPACITY - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part)) count++;
    return count;
}

static void a_trace_is_a_list_of_events(void **state) {
    (void)state;
    char path[64];
    cbk_trace *trace = NULL;
    cbk_tensor *out = NULL, *sum = NULL;
    snprintf(path, sizeof path, "cubeback-trace-%s.json", side.name);
    assert_ok(cbk_trace_open(path, &trace));
    assert_ok(cbk_profile_begin(side.stream, cbk_trace_record, trace));
    out = product();
    assert_ok(cbk_sum(side.stream, out, NULL, &sum));
    assert_ok(cbk_profile_end(side.stream));
    assert_ok(cbk_trace_close(&trace));
    assert_null(trace);
    char *text = read_file(path);
    assert_int_equal(text[0], '[');
    assert_string_equal(text + strlen(text) - 3, "\n]\n");
    assert_int_equal(count_of(text, "\"ph\":\"X\""), 2);
    assert_int_equal(count_of(text, "{"), count_of(text, "}"));
    assert_int_equal(count_of(text, "\"name\":\"matmul\""), 1);
    assert_int_equal(count_of(text, "\"operands\":\"f32[8,4] f32[8,16] f32[16,4]\""), 1);
    free(text);
    assert_int_equal(remove(path), 0);
    cbk_tensor_release(&out);
    cbk_tensor_release(&sum);
}

static void traces_fail_as_files_do(void **state) {
    (void)state;
    cbk_trace *trace = NULL;
    assert_status(CBK_ERROR_IO, cbk_trace_open("no/such/directory/trace.json", &trace));
    assert_null(trace);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_trace_open(NULL, &trace));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_trace_open("trace.json", NULL));
    assert_ok(cbk_trace_close(&trace));
    assert_ok(cbk_trace_close(NULL));
    // A disk without room.
    if (cbk_trace_open("/dev/full", &trace) != CBK_OK) return;
    assert_status(CBK_ERROR_IO, cbk_trace_close(&trace));
    assert_null(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_record_tells_of_its_operation, clear),
        cmocka_unit_test_setup(records_come_in_order, clear),
        cmocka_unit_test_setup(repeated_elements_count_once, clear),
        cmocka_unit_test_setup(a_long_profile_is_delivered_in_parts, clear),
        cmocka_unit_test_setup(order_holds_across_the_borders, clear),
        cmocka_unit_test_setup(wrong_states_are_refused, clear),
        cmocka_unit_test_setup(a_failed_operation_has_no_record, clear),
        cmocka_unit_test_setup(captures_and_replays, clear),
        cmocka_unit_test_setup(a_stream_may_go_while_profiled, clear),
        cmocka_unit_test_setup(a_trace_is_a_list_of_events, clear),
        cmocka_unit_test(traces_fail_as_files_do),
    };
    const char *wanted = getenv("CUBEBACK_TEST_BACKEND");
    const bool reference_alone = wanted != NULL && strcmp(wanted, "reference") == 0;
    int failed = cmocka_run_group_tests_name("reference", tests, open_reference, close_side);
    if (!reference_alone)
        failed += cmocka_run_group_tests_name("opencl", tests, open_device, close_side);
    return failed;
}
