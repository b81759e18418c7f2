// shrink.c: smaller programs that still fail; see any_program.h.
//
// Two ways, as long as either helps: leave a node out, giving leaves to those that took its results;
// make a length of all leaves smaller. A change that the check does not confirm is taken back.

#include "any_program.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6 };

/// A copy that owns its leaves' data.
static struct test_any_program *copy_program(const struct test_any_program *program) {
    struct test_any_program *copy = malloc(sizeof *copy);
    assert_non_null(copy);
    *copy = *program;
    for (int i = 0; i < copy->value_count; i++) {
        const struct test_any_value *value = &program->values[i];
        if (!value->data) continue;
        const size_t size =
            (size_t)test_any_count(&value->form) * cbk_dtype_size(value->form.dtype);
        copy->values[i].data = malloc(size + 1);
        assert_non_null(copy->values[i].data);
        memcpy(copy->values[i].data, value->data, size);
    }
    return copy;
}

static void replace(struct test_any_program *program, struct test_any_program *by) {
    for (int i = 0; i < program->value_count; i++) free(program->values[i].data);
    *program = *by;
    free(by);
}

/// Takes the candidate if it still fails; frees it otherwise.
static bool try_candidate(struct test_any_program *program, struct test_any_program *candidate,
                          test_any_check check, void *user_data) {
    const struct test_any_failure failure = check(candidate, user_data);
    if (failure.node >= 0) {
        replace(program, candidate);
        return true;
    }
    test_any_program_free(candidate);
    return false;
}

static void refill(struct test_any_value *value, uint64_t seed) {
    const size_t size = (size_t)test_any_count(&value->form) * cbk_dtype_size(value->form.dtype);
    free(value->data);
    value->data = malloc(size + 1);
    assert_non_null(value->data);
    test_any_fill(&value->form, TEST_MODERATE, value->data, &seed);
}

// ---- fewer nodes -------------------------------------------------------------------------------

static struct test_any_program *without_node(const struct test_any_program *program, int index) {
    struct test_any_program *copy = copy_program(program);
    const struct test_any_node *node = &program->nodes[index];
    for (uint32_t i = node->is_into ? 1 : 0; i < node->op.info->output_count; i++) {
        refill(&copy->values[node->outputs[i]], program->seed + (uint64_t)node->outputs[i]);
    }
    copy->node_count--;
    memmove(&copy->nodes[index], &copy->nodes[index + 1],
            (size_t)(copy->node_count - index) * sizeof *copy->nodes);
    return copy;
}

static bool drop_nodes(struct test_any_program *program, test_any_check check, void *user_data) {
    bool dropped = false;
    for (int i = program->node_count - 1; i >= 0 && program->node_count > 1; i--) {
        dropped |= try_candidate(program, without_node(program, i), check, user_data);
    }
    return dropped;
}

/// What comes after the failing node has no part in it.
static void cut_tail(struct test_any_program *program, test_any_check check, void *user_data) {
    const struct test_any_failure failure = check(program, user_data);
    while (failure.node >= 0 && program->node_count > failure.node + 1) {
        struct test_any_program *copy = without_node(program, program->node_count - 1);
        if (!try_candidate(program, copy, check, user_data)) return;
    }
}

// ---- shorter axes ------------------------------------------------------------------------------

/// All leaves' axes of one length get another one. Params stay: where they name lengths the
/// reference refuses the candidate.
static struct test_any_program *with_length(const struct test_any_program *program, int64_t from,
                                            int64_t to) {
    struct test_any_program *copy = copy_program(program);
    for (int i = 0; i < copy->value_count; i++) {
        struct test_any_value *value = &copy->values[i];
        bool changed = false;
        for (uint32_t k = 0; value->data && k < value->form.rank; k++) {
            if (value->form.shape[k] != from) continue;
            value->form.shape[k] = to;
            changed = true;
        }
        if (changed && value->form.is_index && value->form.bound == from) value->form.bound = to;
        if (changed) refill(value, program->seed + (uint64_t)i);
    }
    return copy;
}

static int64_t longest(const struct test_any_program *program, int64_t below) {
    int64_t length = 1;
    for (int i = 0; i < program->value_count; i++) {
        const struct test_any_operand *form = &program->values[i].form;
        for (uint32_t k = 0; program->values[i].data && k < form->rank; k++) {
            if (form->shape[k] > length && form->shape[k] < below) length = form->shape[k];
        }
    }
    return length;
}

static bool shorten(struct test_any_program *program, test_any_check check, void *user_data) {
    bool shortened = false;
    for (int64_t length = longest(program, INT64_MAX); length > 1;
         length = longest(program, length)) {
        const int64_t tries[] = {1, length / 2, length - 1};
        for (size_t k = 0; k < 3; k++) {
            if (tries[k] < 1 || tries[k] == length) continue;
            if (!try_candidate(program, with_length(program, length, tries[k]), check, user_data))
                continue;
            shortened = true;
            break;
        }
    }
    return shortened;
}

void test_any_shrink(struct test_any_program *program, test_any_check check, void *user_data) {
    cut_tail(program, check, user_data);
    for (int round = 0; round < ROUNDS; round++) {
        const bool dropped = drop_nodes(program, check, user_data);
        const bool shortened = shorten(program, check, user_data);
        if (!dropped && !shortened) break;
    }
}
