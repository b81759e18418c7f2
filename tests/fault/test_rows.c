/// test_rows.c: operations of the table, one by one, while the nth OpenCL call or host allocation
/// fails: an error with a message and no outputs, or the right result; nothing kept; and the same
/// operation gives the same bytes directly afterwards on the same stream.
///
///   CUBEBACK_TEST_SEED   other operands
///   CUBEBACK_TEST_FULL   every row; else one in some
#include "any_op.h"
#include "backend.h"
#include "fault.h"
#include "runner.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CALLS = 4000, ONE_IN = 9 };

static struct cbk_rt_cl table;
static struct test_side side;

/// One operation with its operands, and the bytes that it gives.
struct subject {
    struct test_any_op op;
    cbk_tensor *inputs[TEST_ANY_INPUTS];
    cbk_tensor *outputs[TEST_ANY_OUTPUTS];
    void *want[TEST_ANY_OUTPUTS];
    uint64_t bytes[TEST_ANY_OUTPUTS];
    uint64_t blocks; ///< in use without the outputs
};

static uint64_t blocks_in_use(void) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    assert_ok(cbk_memory_usage(side.device, &info));
    return info.allocation_count;
}

static void release_outputs(struct subject *subject) {
    for (int i = 0; i < TEST_ANY_OUTPUTS; i++) cbk_tensor_release(&subject->outputs[i]);
}

static void make_inputs(struct subject *subject, uint64_t *seed) {
    for (uint32_t i = 0; i < subject->op.input_count; i++) {
        const struct test_any_operand *form = &subject->op.inputs[i];
        if (form->dtype == CBK_DTYPE_NONE) continue;
        const uint64_t bytes = (uint64_t)test_any_count(form) * cbk_dtype_size(form->dtype);
        void *data = calloc(1, (size_t)bytes + 1);
        assert_non_null(data);
        test_any_fill(form, TEST_MODERATE, data, seed);
        assert_ok(cbk_tensor_from_data(side.stream, form->dtype, form->rank, form->shape, data,
                                       bytes, &subject->inputs[i]));
        free(data);
    }
}

static cbk_status run(struct subject *subject) {
    assert_ok(cbk_random_set_state(side.stream, &CBK_INIT(cbk_random_state, .seed = 5)));
    return test_any_execute(side.stream, &subject->op, subject->inputs, subject->outputs);
}

/// Reads the outputs; they must be what they were if the reads succeed.
static cbk_status read_outputs(struct subject *subject) {
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < subject->op.info->output_count && status == CBK_OK; i++) {
        void *got = calloc(1, (size_t)subject->bytes[i] + 1);
        assert_non_null(got);
        status = cbk_tensor_read(side.stream, subject->outputs[i], got, subject->bytes[i]);
        if (status == CBK_OK) assert_memory_equal(got, subject->want[i], subject->bytes[i]);
        free(got);
    }
    return status;
}

/// False where the operands are at fault: an index of an axis that has no elements.
static bool note_results(struct subject *subject) {
    subject->blocks = blocks_in_use();
    assert_ok(run(subject));
    if (cbk_sync(side.stream) == CBK_ERROR_INDEX_OUT_OF_RANGE) return false;
    for (uint32_t i = 0; i < subject->op.info->output_count; i++) {
        subject->bytes[i] = cbk_tensor_data_bytes(subject->outputs[i]);
        subject->want[i] = calloc(1, (size_t)subject->bytes[i] + 1);
        assert_non_null(subject->want[i]);
        assert_ok(
            cbk_tensor_read(side.stream, subject->outputs[i], subject->want[i], subject->bytes[i]));
    }
    release_outputs(subject);
    assert_int_equal(blocks_in_use(), subject->blocks);
    return true;
}

static void expect_failure(const struct subject *subject, cbk_status status) {
    const bool is_expected = status == CBK_ERROR_DRIVER || status == CBK_ERROR_OUT_OF_MEMORY ||
                             status == CBK_ERROR_OUT_OF_HOST_MEMORY;
    if (!is_expected) print_error("%s: %s\n", cbk_status_string(status), cbk_last_error_message());
    assert_true(is_expected);
    assert_true(cbk_last_error_message()[0] != 0);
    for (uint32_t i = 0; i < subject->op.info->output_count; i++) {
        assert_null(subject->outputs[i]);
    }
}

/// With a failure planned: the operation, and then the same without. False if nothing failed.
static bool fail_and_repeat(struct subject *subject) {
    cbk_status status = run(subject);
    if (status != CBK_OK)
        expect_failure(subject, status);
    else
        (void)read_outputs(subject);
    release_outputs(subject);
    (void)cbk_sync(side.stream); // a late error of the failed call
    const bool has_fired = cbk_fault_fired() || cbk_fault_allocation_fired();
    cbk_fault_reset();
    cbk_fault_plan_allocation(0);
    assert_ok(cbk_sync(side.stream));
    assert_int_equal(blocks_in_use(), subject->blocks);
    if (!has_fired) return false;
    assert_ok(run(subject));
    assert_ok(read_outputs(subject));
    release_outputs(subject);
    return true;
}

static void fail_everywhere(struct subject *subject) {
    bool has_fired = true;
    for (uint64_t n = 1; has_fired && n < MOST_CALLS; n = cbk_fault_next(n)) {
        if (n % 2) assert_ok(cbk_memory_cleanup(side.device));
        cbk_fault_plan(n, n % 3 ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_OUT_OF_RESOURCES, NULL);
        has_fired = fail_and_repeat(subject);
    }
    has_fired = true;
    for (uint64_t n = 1; has_fired && n < MOST_CALLS; n++) {
        cbk_fault_plan_allocation(n);
        has_fired = fail_and_repeat(subject);
    }
}

static void run_row(const cbk_op_info *info, uint64_t seed) {
    struct subject *subject = calloc(1, sizeof *subject);
    struct test_any_hint hint = test_any_hint(side.device, &seed, 40);
    assert_non_null(subject);
    hint.dtype = CBK_DTYPE_F32;
    assert_true(test_any_make(info, &side, &hint, &seed, &subject->op));
    make_inputs(subject, &seed);
    assert_ok(cbk_sync(side.stream));
    if (note_results(subject)) fail_everywhere(subject);
    release_outputs(subject);
    for (uint32_t i = 0; i < TEST_ANY_INPUTS; i++) cbk_tensor_release(&subject->inputs[i]);
    for (uint32_t i = 0; i < TEST_ANY_OUTPUTS; i++) free(subject->want[i]);
    free(subject);
    (void)cbk_sync(side.stream);
    assert_int_equal(blocks_in_use(), 0);
}

static void rows(void **state) {
    (void)state;
    const char *chosen = getenv("CUBEBACK_TEST_SEED");
    const uint64_t seed = chosen ? strtoull(chosen, NULL, 0) : 1;
    uint32_t cursor = 0;
    for (const cbk_op_info *info; (info = cbk_op_next(&cursor)) != NULL;) {
        if ((info->flags & CBK_ROW_VIEW) != 0 || !test_is_wanted(info->name)) continue;
        if (!test_is_full() && !test_sampled(ONE_IN, info->opcode, seed, 0)) continue;
        print_message("%s\n", info->name);
        run_row(info, seed * 1000003 + info->opcode);
    }
}

static int open_side(void **state) {
    (void)state;
    const cbk_backend_params params =
        CBK_INIT(cbk_backend_params, .flags = CBK_NO_ENVIRONMENT | test_backend_flags(),
                 .cache_directory = "", .allocate = cbk_fault_allocate, .free = cbk_fault_free);
    cbk_backend *backend = NULL;
    cbk_fault_table(&table);
    if (cbk_opencl_create_with(&params, &table, &backend) != CBK_OK) return -1;
    return test_side_open(&side, "faulty", backend, true) ? 0 : -1;
}

static int close_side(void **state) {
    (void)state;
    test_side_close(&side);
    return cbk_fault_leaks()[0] == 0 && cbk_fault_blocks_held() == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows)};
    return cmocka_run_group_tests_name("rows", tests, open_side, close_side);
}
