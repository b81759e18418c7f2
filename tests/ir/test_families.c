// test_families.c: an operation of every row of the op table goes through a recording, bytes and a run
// on another backend, and gives there what it gives there directly, bit for bit.
//
// All rows run from reference to reference; a sample of them (all with CUBEBACK_TEST_FULL=1) with
// OpenCL on either end.
#include "any_op.h"
#include "runner.h"
#include "support.h"

#include <cubeback/ir.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct direction {
    const char *name;
    bool records_on_opencl, runs_on_opencl;
    uint32_t one_in; ///< rows of the sample
    uint32_t variants;
};
static const struct direction directions[] = {
    {"reference to reference", false, false, 1, 4},
    {"reference to opencl", false, true, 6, 1},
    {"opencl to reference", true, false, 6, 1},
};

static const struct direction *direction;
static struct test_side from, to;

static cbk_backend *create(bool is_opencl) {
    cbk_backend_params params = test_backend_params();
    cbk_backend *backend = NULL;
    assert_ok((is_opencl ? cbk_opencl_create : cbk_reference_create)(&params, &backend));
    return backend;
}

static int open_sides(void **state) {
    cbk_backend *inner = create(direction->records_on_opencl), *recorder = NULL;
    (void)state;
    assert_ok(cbk_ir_recorder_create(inner, &recorder));
    cbk_backend_release(&inner);
    return test_side_open(&from, "recorder", recorder, direction->records_on_opencl) &&
                   test_side_open(&to, "target", create(direction->runs_on_opencl),
                                  direction->runs_on_opencl)
               ? 0
               : -1;
}

static int close_side(struct test_side *side) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    cbk_status status = cbk_sync(side->stream);
    if (status == CBK_OK) status = cbk_memory_usage(side->device, &info);
    test_side_close(side);
    return status == CBK_OK && info.allocation_count == 0 ? 0 : -1;
}

static int close_sides(void **state) {
    (void)state;
    const int first = close_side(&from), second = close_side(&to);
    return first != 0 ? first : second;
}

// ---- one operation ------------------------------------------------------------------------------

struct work {
    struct test_any_op op;
    void *data[TEST_ANY_INPUTS]; ///< of the bases of the views
    enum test_view views[TEST_ANY_INPUTS];
};

/// False for a row that no operands are known for, which the full run does not let pass.
static bool make_work(const cbk_op_info *info, uint32_t variant, struct work *work) {
    uint64_t seed = test_hash(info->name) + variant;
    struct test_any_hint hint = test_any_hint(to.device, &seed, 5);
    if (variant == 0) hint.dtype = CBK_DTYPE_F32; // whose kernels other suites have compiled
    *work = (struct work){0};
    if (!test_any_make(info, &to, &hint, &seed, &work->op)) {
        assert_false(test_is_full());
        return false;
    }
    for (uint32_t i = 0; i < work->op.input_count; i++) {
        struct test_any_operand base = work->op.inputs[i];
        if (base.dtype == 0) continue;
        work->views[i] = (enum test_view)((variant + i) % TEST_VIEW_COUNT);
        struct test_base form = test_view_base(work->views[i], base.rank, base.shape);
        base.rank = form.rank;
        memcpy(base.shape, form.shape, sizeof base.shape);
        work->data[i] = malloc((size_t)form.count * cbk_dtype_size(base.dtype) + 1);
        assert_non_null(work->data[i]);
        test_any_fill(&base, TEST_MODERATE, work->data[i], &seed);
    }
    return true;
}

static void make_inputs(const struct work *work, struct test_side *side, cbk_tensor **inputs) {
    for (uint32_t i = 0; i < work->op.input_count; i++) {
        const struct test_any_operand *x = &work->op.inputs[i];
        if (x->dtype == 0) continue;
        struct test_base base = test_view_base(work->views[i], x->rank, x->shape);
        cbk_tensor *whole = NULL;
        assert_ok(cbk_tensor_from_data(side->stream, x->dtype, base.rank, base.shape, work->data[i],
                                       (uint64_t)base.count * cbk_dtype_size(x->dtype), &whole));
        inputs[i] = test_view_make(side, work->views[i], whole, x->rank, x->shape);
        cbk_tensor_release(&whole);
    }
}

static void release_all(cbk_tensor **tensors, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) cbk_tensor_release(&tensors[i]);
}

/// Records on `from`; the inputs' contents go along.
static cbk_ir_program *record(const struct work *work) {
    cbk_tensor *inputs[TEST_ANY_INPUTS] = {NULL}, *outputs[TEST_ANY_OUTPUTS] = {NULL};
    const uint32_t count = work->op.info->output_count;
    cbk_ir_program *program = NULL, *loaded = NULL;
    uint64_t size = 0;
    make_inputs(work, &from, inputs);
    assert_ok(cbk_seed(from.device, 7));
    assert_ok(cbk_ir_begin(from.stream, NULL));
    assert_ok(test_any_execute(from.stream, &work->op, inputs, outputs));
    const cbk_tensor *named[TEST_ANY_OUTPUTS];
    for (uint32_t i = 0; i < count; i++) named[i] = outputs[i];
    assert_ok(cbk_ir_end(from.stream, named, count, &program));
    release_all(inputs, work->op.input_count);
    release_all(outputs, count);

    assert_ok(cbk_ir_save_memory(program, NULL, 0, &size));
    void *bytes = malloc((size_t)size);
    assert_non_null(bytes);
    assert_ok(cbk_ir_save_memory(program, bytes, size, &size));
    assert_ok(cbk_ir_load_memory(bytes, size, &loaded));
    free(bytes);
    cbk_ir_program_release(&program);
    return loaded;
}

static void expect_same(const cbk_op_info *info, uint32_t index, cbk_tensor *want,
                        cbk_tensor *got) {
    const cbk_dtype dtype = cbk_tensor_dtype(want);
    const int64_t count = cbk_tensor_element_count(want);
    const size_t size = (size_t)count * cbk_dtype_size(dtype);
    void *a = malloc(size + 1), *b = malloc(size + 1);
    assert_true(a != NULL && b != NULL);
    assert_int_equal(cbk_tensor_dtype(got), dtype);
    assert_int_equal(cbk_tensor_element_count(got), count);
    assert_ok(cbk_tensor_read(to.stream, want, a, size));
    assert_ok(cbk_tensor_read(to.stream, got, b, size));
    const bool is_same = memcmp(a, b, size) == 0;
    free(a);
    free(b);
    if (!is_same) fail_msg("%s: output %u of the run has other bytes", info->name, (unsigned)index);
}

static void run_row(const cbk_op_info *info, uint32_t variant) {
    cbk_tensor *inputs[TEST_ANY_INPUTS] = {NULL};
    cbk_tensor *direct[TEST_ANY_OUTPUTS] = {NULL}, *results[TEST_ANY_OUTPUTS] = {NULL};
    struct work work;
    if (!make_work(info, variant, &work)) return;
    cbk_ir_program *program = record(&work);
    make_inputs(&work, &to, inputs);
    assert_ok(cbk_seed(to.device, 7));
    assert_ok(test_any_execute(to.stream, &work.op, inputs, direct));
    assert_ok(cbk_ir_run(program, to.stream, NULL, results));
    for (uint32_t i = 0; i < info->output_count; i++) {
        expect_same(info, i, direct[i], results[i]);
    }
    release_all(inputs, work.op.input_count);
    release_all(direct, info->output_count);
    release_all(results, info->output_count);
    cbk_ir_program_release(&program);
    for (uint32_t i = 0; i < work.op.input_count; i++) free(work.data[i]);
}

static void every_row(void **state) {
    uint32_t cursor = 0, rows = 0;
    (void)state;
    for (const cbk_op_info *info; (info = cbk_op_next(&cursor)) != NULL;) {
        const bool is_first = (info->opcode & 0xff) == 0; // of its family
        if (!is_first && !test_sampled(direction->one_in, info->opcode, 1, 2)) continue;
        rows++;
        const uint32_t variants = test_is_full() ? 12 : direction->variants;
        for (uint32_t v = 0; v < variants; v++) run_row(info, v);
    }
    print_message("%u rows\n", (unsigned)rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_row)};
    int failed = 0;
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
        direction = &directions[i];
        failed += cmocka_run_group_tests_name(direction->name, tests, open_sides, close_sides);
    }
    return failed;
}
