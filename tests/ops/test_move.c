// test_move.c: copy, slice_assign and cat: any dtype, bit for bit.

#include "runner.h"

#include <stdio.h>
#include <string.h>

static void add_copies(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    struct test_spec spec = {.opcode = CBK_OP_COPY, .input_count = 1};
    spec.tolerance.closeness = TEST_BITS;
    for (uint32_t view = 0; view < TEST_VIEW_COUNT; view++) {
        spec.inputs[0] = (view + number) % 3 == 0
                             ? test_input(dtype, view, TEST_EDGES, 4, 3, 4, 5, 6)
                             : test_input(dtype, view, TEST_EDGES, 2, 67, 41);
        spec.output = TEST_NEW;
        test_add(list, &spec, "");
        spec.output = TEST_INTO;
        spec.output_view = (enum test_view)((view * 5 + number) % TEST_EXPANDED);
        test_add(list, &spec, "");
    }
    // A transposition large enough for tiles, and the odd shapes.
    spec.output = TEST_NEW;
    spec.inputs[0] = test_input(dtype, TEST_TRANSPOSED, TEST_EDGES, 3, 2, 130, 150);
    test_add(list, &spec, "");
    spec.inputs[0] = test_input(dtype, TEST_OFFSET, TEST_EDGES, 0);
    test_add(list, &spec, "");
    spec.inputs[0] = test_input(dtype, TEST_PERMUTED, TEST_EDGES, 3, 4, 0, 3);
    test_add(list, &spec, "");
    spec.inputs[0] = test_input(dtype, TEST_PERMUTED, TEST_EDGES, 8, 2, 3, 1, 2, 2, 3, 2, 2);
    test_add(list, &spec, "");
}

static void add_slice_assign(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    static const struct {
        int64_t start[3], stop[3], step[3];
        int value[3];
    } slices[] = {
        {{1, 2, 0}, {4, 9, INT64_MAX}, {1, 1, 1}, {3, 7, 12}},
        {{0, 0, 1}, {5, 9, 11}, {2, 1, 3}, {3, 9, 4}},
        {{-3, 0, 0}, {INT64_MAX, -1, 12}, {-1, -2, 5}, {3, 4, 3}},
        {{2, 3, 4}, {2, 9, 12}, {1, 1, 1}, {0, 6, 8}}, // empty
    };
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t pick = (i + number) % 4;
        struct test_spec spec = {.opcode = CBK_OP_SLICE_ASSIGN, .input_count = 2};
        cbk_slice_params *params = &spec.params.slice;
        *params = CBK_INIT(cbk_slice_params, .axis_count = 3);
        spec.params_size = sizeof *params;
        memcpy(params->start, slices[pick].start, sizeof slices[pick].start);
        memcpy(params->stop, slices[pick].stop, sizeof slices[pick].stop);
        memcpy(params->step, slices[pick].step, sizeof slices[pick].step);
        const int *value = slices[pick].value;
        enum test_view view = (enum test_view)((number + i) % TEST_VIEW_COUNT);
        spec.inputs[0] = test_input(dtype, view, TEST_EDGES, 3, 5, 9, 12);
        spec.inputs[1] = test_input(dtype, (view + 4) % TEST_VIEW_COUNT, TEST_EDGES, 3, value[0],
                                    value[1], value[2]);
        spec.tolerance.closeness = TEST_BITS;
        char suffix[16];
        snprintf(suffix, sizeof suffix, "slice %u", pick);
        test_add(list, &spec, suffix);
        spec.output = TEST_INTO;
        spec.output_view = (enum test_view)((number + 2 * i) % TEST_EXPANDED);
        test_add(list, &spec, suffix);
        if (!test_view_is_writable(view)) continue;
        spec.output = TEST_IN_PLACE;
        test_add(list, &spec, suffix);
    }
}

static void add_cat(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    for (int32_t axis = 0; axis < 3; axis++) {
        for (uint32_t count = 1; count <= TEST_MAX_INPUTS; count += 2 + (uint32_t)axis % 2) {
            struct test_spec spec = {.opcode = CBK_OP_CAT, .input_count = count};
            test_set_params(&spec, axis, .axis = axis - (count == 3 ? 3 : 0));
            for (uint32_t i = 0; i < count; i++) {
                int lengths[3] = {4, 5, 6};
                lengths[axis] = (int)((i * 3 + number) % 5); // some are empty
                spec.inputs[i] = test_input(dtype, (i + number) % TEST_VIEW_COUNT, TEST_EDGES, 3,
                                            lengths[0], lengths[1], lengths[2]);
            }
            spec.tolerance.closeness = TEST_BITS;
            char suffix[16];
            snprintf(suffix, sizeof suffix, "axis %d", (int)axis);
            test_add(list, &spec, suffix);
            spec.output = TEST_INTO;
            spec.output_view = (enum test_view)((number + count) % TEST_EXPANDED);
            test_add(list, &spec, suffix);
        }
    }
}

int main(void) {
    struct test_list list = {0};
    for (uint32_t d = 0; test_all_dtypes[d]; d++) {
        add_copies(&list, test_all_dtypes[d], d);
        add_slice_assign(&list, test_all_dtypes[d], d);
        add_cat(&list, test_all_dtypes[d], d);
    }
    return test_run_list("move", &list);
}
