// test_bits.c: a result is a function of its operation and operands: not of the run, the stream, the
// device object, or whether the operation ran alone, in a replay, or merged with its neighbours.
//
// One operation of each row that the sample takes (all with CUBEBACK_TEST_FULL=1), in both forms of
// the kernels.
#include "any_op.h"
#include "runner.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { COPIES = 3 };

static uint32_t form;                  ///< CBK_CPU_KERNELS or CBK_GPU_KERNELS
static struct test_side first, second; ///< two devices of one backend, opened one after the other
static cbk_stream *neighbour;          ///< another stream of the first device

static int open_sides(void **state) {
    cbk_backend_params params = test_backend_params();
    cbk_backend *backend = NULL;
    (void)state;
    params.flags |= form;
    if (cbk_opencl_create(&params, &backend) != CBK_OK) return -1;
    const bool opened = test_side_open(&first, "first", cbk_backend_retain(backend), true) &&
                        test_side_open(&second, "second", cbk_backend_retain(backend), true);
    cbk_backend_release(&backend);
    return opened && cbk_stream_create(first.device, NULL, &neighbour) == CBK_OK ? 0 : -1;
}

static int close_sides(void **state) {
    (void)state;
    cbk_stream_release(&neighbour);
    test_write_stats(first.device);
    test_side_close(&second);
    test_side_close(&first);
    return 0;
}

// ---- one operation, many ways -------------------------------------------------------------------

struct work {
    struct test_any_op op;
    void *data[TEST_ANY_INPUTS];
    void *want[TEST_ANY_OUTPUTS]; ///< what the first run gave
};

static const cbk_random_state start = {
    .struct_size = sizeof start, .seed = 9, .position = 5, .stream_number = 2};

static void release_all(cbk_tensor **tensors, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) cbk_tensor_release(&tensors[i]);
}

static void make_inputs(const struct work *work, cbk_stream *stream, cbk_tensor **inputs) {
    for (uint32_t i = 0; i < work->op.input_count; i++) {
        const struct test_any_operand *x = &work->op.inputs[i];
        if (x->dtype == 0) continue;
        const uint64_t size = (uint64_t)test_any_count(x) * cbk_dtype_size(x->dtype);
        assert_ok(cbk_tensor_from_data(stream, x->dtype, x->rank, x->shape, work->data[i], size,
                                       &inputs[i]));
    }
}

/// Keeps the bytes of a first run; holds others against them.
static void look(struct work *work, cbk_stream *stream, cbk_tensor *const *outputs,
                 const char *how) {
    for (uint32_t i = 0; i < work->op.info->output_count; i++) {
        const size_t size = (size_t)cbk_tensor_element_count(outputs[i]) *
                            cbk_dtype_size(cbk_tensor_dtype(outputs[i]));
        void *got = malloc(size + 1);
        assert_non_null(got);
        assert_ok(cbk_tensor_read(stream, outputs[i], got, size));
        if (work->want[i] == NULL) {
            work->want[i] = got;
            continue;
        }
        const bool is_same = memcmp(work->want[i], got, size) == 0;
        free(got);
        if (!is_same) fail_msg("%s: other bytes %s", work->op.info->name, how);
    }
}

static void run_once(struct work *work, cbk_stream *stream, const char *how) {
    cbk_tensor *inputs[TEST_ANY_INPUTS] = {NULL}, *outputs[TEST_ANY_OUTPUTS] = {NULL};
    make_inputs(work, stream, inputs);
    assert_ok(cbk_random_set_state(stream, &start));
    assert_ok(test_any_execute(stream, &work->op, inputs, outputs));
    look(work, stream, outputs, how);
    release_all(inputs, work->op.input_count);
    release_all(outputs, work->op.info->output_count);
}

/// What is captured: the operation several times, with small pointwise ones between them.
struct capture {
    struct work *work;
    cbk_tensor *inputs[TEST_ANY_INPUTS];
    cbk_tensor *outputs[COPIES][TEST_ANY_OUTPUTS];
    cbk_tensor *count; ///< of what else runs
};

static cbk_status captured(cbk_stream *stream, void *user_data) {
    struct capture *capture = user_data;
    const struct test_any_op *op = &capture->work->op;
    cbk_status status = CBK_OK;
    for (int i = 0; i < COPIES && status == CBK_OK; i++) {
        release_all(capture->outputs[i], op->info->output_count);
        status = test_any_execute(stream, op, capture->inputs, capture->outputs[i]);
        if (status != CBK_OK) break;
        status = cbk_add_scalar_into(stream, capture->count, cbk_f(1), capture->count);
    }
    return status;
}

static void run_captured(struct work *work) {
    struct capture capture = {.work = work};
    const bool draws = (work->op.info->flags & CBK_ROW_RANDOM) != 0;
    const float zero = 0;
    float count = 0;
    cbk_graph *graph = NULL;
    make_inputs(work, first.stream, capture.inputs);
    assert_ok(cbk_tensor_from_data(first.stream, CBK_DTYPE_F32, 0, NULL, &zero, sizeof zero,
                                   &capture.count));
    assert_ok(cbk_random_set_state(first.stream, &start));
    assert_ok(cbk_graph_capture(first.stream, captured, &capture, &graph));
    for (int k = 0; k < 2; k++) {
        assert_ok(cbk_random_set_state(first.stream, &start));
        assert_ok(cbk_graph_replay(graph));
        for (int i = 0; i < (draws ? 1 : COPIES); i++) {
            look(work, first.stream, capture.outputs[i], "in a replay");
        }
    }
    assert_ok(cbk_tensor_read(first.stream, capture.count, &count, sizeof count));
    assert_true(count == 3 * COPIES);
    cbk_graph_release(&graph);
    release_all(capture.inputs, work->op.input_count);
    for (int i = 0; i < COPIES; i++) release_all(capture.outputs[i], work->op.info->output_count);
    cbk_tensor_release(&capture.count);
}

static void run_row(const cbk_op_info *info, uint32_t variant) {
    uint64_t seed = test_hash(info->name) + variant;
    struct work work = {0};
    struct test_any_hint hint = test_any_hint(first.device, &seed, variant % 2 ? 30 : 5);
    if (variant == 0) hint.dtype = CBK_DTYPE_F32; // whose kernels other suites have compiled
    if (!test_any_make(info, &first, &hint, &seed, &work.op)) {
        assert_false(test_is_full());
        return;
    }
    for (uint32_t i = 0; i < work.op.input_count; i++) {
        const struct test_any_operand *x = &work.op.inputs[i];
        if (x->dtype == 0) continue;
        work.data[i] = malloc((size_t)test_any_count(x) * cbk_dtype_size(x->dtype) + 1);
        assert_non_null(work.data[i]);
        test_any_fill(x, variant % 3 == 2 ? TEST_EDGES : TEST_MODERATE, work.data[i], &seed);
    }
    run_once(&work, first.stream, "");
    run_once(&work, first.stream, "in a second run");
    run_once(&work, neighbour, "on another stream");
    if (test_is_full() || info->opcode % 4 == 0) { // it compiles everything again
        run_once(&work, second.stream, "on a device opened anew");
    }
    run_captured(&work);
    for (uint32_t i = 0; i < work.op.input_count; i++) free(work.data[i]);
    for (uint32_t i = 0; i < info->output_count; i++) free(work.want[i]);
}

static void rows(void **state) {
    uint32_t cursor = 0, taken = 0;
    (void)state;
    for (const cbk_op_info *info; (info = cbk_op_next(&cursor)) != NULL;) {
        if ((info->flags & CBK_ROW_VIEW) != 0) continue;  // nothing runs
        const bool is_first = (info->opcode & 0xff) == 0; // of its family
        if (!is_first && !test_sampled(12, info->opcode, form, 4)) continue;
        taken++;
        for (uint32_t v = 0; v < (test_is_full() ? 6 : 1); v++) run_row(info, v);
    }
    print_message("%u rows\n", (unsigned)taken);
}

int main(void) {
    static const struct {
        const char *name;
        uint32_t flag;
    } forms[] = {{"cpu form", CBK_CPU_KERNELS}, {"gpu form", CBK_GPU_KERNELS}};
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows)};
    int failed = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        form = forms[i].flag;
        failed += cmocka_run_group_tests_name(forms[i].name, tests, open_sides, close_sides);
    }
    return failed;
}
