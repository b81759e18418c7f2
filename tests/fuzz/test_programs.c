// test_programs.c: chains of operations made at random, on OpenCL and on the reference. What fails is
// made smaller, printed, and saved as a program for cubeback-replay.
//
//   CUBEBACK_TEST_SEED   SEED or SEED:COUNT: these programs instead of the sample
//   CUBEBACK_TEST_FULL   a hundred times as many
#include "any_program.h"
#include "runner.h"
#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 6, NODES = 8 };

static struct test_side reference, device;

static int open_sides(void **state) {
    cbk_backend *backend = NULL;
    (void)state;
    if (cbk_reference_create(NULL, &backend) != CBK_OK ||
        !test_side_open(&reference, "reference", backend, false) || !test_opencl_open(&device, 0)) {
        return -1;
    }
    return 0;
}

static int close_sides(void **state) {
    (void)state;
    const int result = test_side_finish(&device);
    return test_side_finish(&reference) | result;
}

// ---- checks -------------------------------------------------------------------------------------

static struct test_any_failure with_reference(const struct test_any_program *program,
                                              void *user_data) {
    return test_any_compare(program, &reference, user_data);
}

/// A program that the reference refuses is no program.
static struct test_any_failure among_ways(const struct test_any_program *program, void *user_data) {
    struct test_any_failure failure = test_any_compare(program, &reference, &reference);
    return failure.node != -1 ? (struct test_any_failure){.node = -2}
                              : test_any_compare_ways(program, user_data);
}

static void report(struct test_any_program *program, test_any_check check, void *user_data) {
    const int nodes = program->node_count;
    test_any_shrink(program, check, user_data);
    const struct test_any_failure failure = check(program, user_data);
    cbk_ir_program *small = test_any_record(program);
    char text[4096], path[64];
    uint64_t size = 0;
    assert_ok(cbk_ir_describe(small, text, sizeof text, &size));
    snprintf(path, sizeof path, "failed-%" PRIu64 ".cbkir", program->seed);
    print_error("seed %" PRIu64 ", %d of %d operations: %s %s", program->seed, program->node_count,
                nodes, program->nodes[failure.node].op.info->name, failure.how);
    if (failure.status != CBK_OK) print_error(": %s", cbk_last_error_message());
    print_error("; output %d, element %" PRId64 ": want %.17g, got %.17g\n%s", failure.output,
                failure.element, failure.want, failure.got, text);
    if (cbk_ir_save(small, path) == CBK_OK) print_error("saved to %s\n", path);
    cbk_ir_program_release(&small);
}

static void choose_seeds(uint64_t *first, uint64_t *count) {
    const char *chosen = getenv("CUBEBACK_TEST_SEED");
    char *end = NULL;
    *first = 1;
    *count = test_is_full() ? 100 * PROGRAMS : PROGRAMS;
    if (!chosen) return;
    *first = strtoull(chosen, &end, 0);
    *count = *end == ':' ? strtoull(end + 1, NULL, 0) : 1;
}

static void run_programs(test_any_check check) {
    uint64_t first, count;
    int failed = 0;
    choose_seeds(&first, &count);
    for (uint64_t i = 0; i < count && failed < 5; i++) {
        const uint64_t seed = first + i;
        struct test_any_program *program = test_any_program(&reference, &device, seed, NODES);
        if (check(program, &device).node >= 0) {
            report(program, check, &device);
            failed++;
        }
        test_any_program_free(program);
    }
    assert_int_equal(failed, 0);
}

static void device_and_reference_agree(void **state) {
    (void)state;
    run_programs(with_reference);
}

static void all_ways_agree(void **state) {
    (void)state;
    run_programs(among_ways);
}

// ---- the shrinking itself -----------------------------------------------------------------------

static const cbk_vtable *sound;

/// A reference whose abs spoils the last element of what has two axes or more.
static cbk_status spoil(void *self, void *stream, const cbk_op *op) {
    cbk_status status = sound->execute(self, stream, op);
    if (status != CBK_OK || op->opcode != CBK_OP_ABS) return status;
    const cbk_tensor *output = op->outputs[0];
    const uint64_t size =
        (uint64_t)cbk_tensor_element_count(output) * cbk_dtype_size(cbk_tensor_dtype(output));
    unsigned char *data = malloc((size_t)size);
    assert_non_null(data);
    const cbk_backend_read read = {.tensor = output, .data = data};
    status = sound->read(self, stream, &read, 1);
    data[size - 1] ^= 0x40;
    if (status == CBK_OK && cbk_tensor_rank(output) >= 2) {
        status = sound->write(self, stream, output, data);
    }
    free(data);
    return status;
}

static bool has_opcode(const struct test_any_program *program, cbk_opcode opcode) {
    for (int i = 0; i < program->node_count; i++) {
        if (program->nodes[i].op.info->opcode == opcode) return true;
    }
    return false;
}

static void failures_become_small(void **state) {
    cbk_backend *inner = NULL, *broken = NULL;
    struct test_side side;
    void *self = NULL;
    int found = 0;
    (void)state;
    assert_ok(cbk_reference_create(NULL, &inner));
    sound = cbk_backend_vtable(inner, &self);
    cbk_vtable vtable = *sound;
    vtable.execute = spoil;
    vtable.destroy = NULL;
    assert_ok(cbk_backend_create(&vtable, self, &broken));
    assert_true(test_side_open(&side, "broken", broken, false));
    for (uint64_t seed = 1; seed < 400 && found < 3; seed++) {
        struct test_any_program *program = test_any_program(&reference, &side, seed, NODES);
        if (has_opcode(program, CBK_OP_ABS) && with_reference(program, &side).node >= 0) {
            found++;
            test_any_shrink(program, with_reference, &side);
            assert_int_equal(program->node_count, 1);
            assert_int_equal(program->nodes[0].op.info->opcode, CBK_OP_ABS);
            const struct test_any_operand *form =
                &program->values[program->nodes[0].inputs[0]].form;
            assert_true(form->rank >= 2);
            assert_int_equal(test_any_count(form), 1);
            cbk_ir_program *small = test_any_record(program);
            cbk_ir_info info = CBK_INIT(cbk_ir_info);
            assert_ok(cbk_ir_get_info(small, &info));
            assert_int_equal(info.op_count, 1);
            cbk_ir_program_release(&small);
        }
        test_any_program_free(program);
    }
    assert_int_equal(found, 3);
    test_side_close(&side);
    cbk_backend_release(&inner);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_become_small),
        cmocka_unit_test(device_and_reference_agree),
        cmocka_unit_test(all_ways_agree),
    };
    return cmocka_run_group_tests_name("programs", tests, open_sides, close_sides);
}
