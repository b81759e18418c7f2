// test_move.c: copy, slice_assign, cat, pad and roll: any dtype, bit for bit.

#include "runner.h"
#include "support.h"

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
        for (uint32_t count = 1; count <= TEST_MAX_INPUTS;
             count += 2 + count / 3 * (1 + axis % 2)) {
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

/// Members whose rows lie so that several elements go as one, or many, or some of them empty.
static void add_large_cat(struct test_list *list, cbk_dtype dtype) {
    static const int lengths[][3] = {{64, 32, 96}, {40, 8, 4000}, {1, 1001, 6}, {0, 5, 0}};
    for (int32_t axis = 0; axis < 2; axis++) {
        for (uint32_t i = 0; i < 4; i++) {
            struct test_spec spec = {.opcode = CBK_OP_CAT, .input_count = 3};
            test_set_params(&spec, axis, .axis = axis);
            for (uint32_t k = 0; k < 3; k++)
                spec.inputs[k] =
                    axis == 0
                        ? test_input(dtype, TEST_CONTIGUOUS, TEST_EDGES, 2, lengths[i][k], 48)
                        : test_input(dtype, TEST_CONTIGUOUS, TEST_EDGES, 2, 37, lengths[i][k]);
            spec.tolerance.closeness = TEST_BITS;
            test_add(list, &spec, axis == 0 ? "large axis 0" : "large axis 1");
        }
    }
}

// ---- pad, roll ----------------------------------------------------------------------------------

static void add_moved(struct test_list *list, struct test_spec *spec, const char *suffix,
                      uint32_t number) {
    spec->input_count = 1;
    spec->tolerance.closeness = TEST_BITS;
    test_add(list, spec, suffix);
    spec->output = TEST_INTO;
    spec->output_view = (enum test_view)(number % TEST_EXPANDED);
    test_add(list, spec, suffix);
    spec->output = TEST_NEW;
}

static void add_pad(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    static const struct {
        int shape[4];
        int64_t before[4], after[4];
    } pads[] = {
        {{3, 5, 7, 9}, {0, 0, 2, 1}, {0, 0, 1, 8}},
        {{4, 6, 5, 8}, {3, 0, 0, 0}, {1, 2, 0, 0}},
        {{2, 3, 40, 32}, {1, 2, 4, 16}, {1, 0, 8, 16}},
        {{1, 1, 6, 300}, {0, 0, 0, 5}, {0, 0, 5, 7}},
        {{2, 3, 4, 5}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    };
    for (uint32_t mode = 0; mode <= CBK_PAD_CIRCULAR; mode++) {
        for (uint32_t i = 0; i < 5; i++) {
            if (!test_is_full() && (i + mode + number) % 3 != 0) continue;
            struct test_spec spec = {.opcode = CBK_OP_PAD};
            const int *s = pads[i].shape;
            cbk_scalar value = test_is_float(dtype) ? cbk_f(-2.5) : cbk_i(3);
            test_set_params(&spec, pad, .mode = mode,
                            .value = number % 2 ? value : (cbk_scalar){0});
            memcpy(spec.params.pad.before, pads[i].before, sizeof pads[i].before);
            memcpy(spec.params.pad.after, pads[i].after, sizeof pads[i].after);
            spec.inputs[0] = test_input(dtype, (number + i) % TEST_VIEW_COUNT, TEST_EDGES, 4, s[0],
                                        s[1], s[2], s[3]);
            if (mode == CBK_PAD_REFLECT && (i == 1 || i == 2)) { // no axis is long enough
                memset(spec.params.pad.before, 0, 2 * sizeof(int64_t));
                memset(spec.params.pad.after, 0, 2 * sizeof(int64_t));
            }
            char suffix[24];
            snprintf(suffix, sizeof suffix, "mode %u pads %u", mode, i);
            add_moved(list, &spec, suffix, number + i);
        }
    }
    // An empty tensor in a frame, an axis repeated several times, nothing at all.
    struct test_spec spec = {.opcode = CBK_OP_PAD};
    test_set_params(&spec, pad, .before = {1, 2}, .after = {0, 2}, .value = cbk_i(1));
    spec.inputs[0] = test_input(dtype, TEST_CONTIGUOUS, TEST_EDGES, 2, 0, 3);
    add_moved(list, &spec, "frame", number);
    test_set_params(&spec, pad, .mode = CBK_PAD_CIRCULAR, .before = {7, 0}, .after = {20, 9});
    spec.inputs[0] = test_input(dtype, number % TEST_VIEW_COUNT, TEST_EDGES, 2, 4, 3);
    add_moved(list, &spec, "circular", number);
    test_set_params(&spec, pad, .mode = 0);
    spec.inputs[0] = test_input(dtype, TEST_OFFSET, TEST_EDGES, 0);
    add_moved(list, &spec, "rank 0", number);
}

static void add_roll(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    struct test_spec spec = {.opcode = CBK_OP_ROLL};
    for (uint32_t view = 0; view < TEST_VIEW_COUNT; view++) {
        if (!test_is_full() && (view + number) % 3 != 0) continue;
        test_set_params(&spec, roll, .axis_count = 2, .axes = {-1, 0}, .shifts = {3, -2});
        spec.inputs[0] = test_input(dtype, view, TEST_EDGES, 3, 5, 6, 7);
        add_moved(list, &spec, "two axes", number);
        test_set_params(&spec, roll, .shifts = {-1000001, 16});
        spec.inputs[0] = test_input(dtype, view, TEST_EDGES, 2, 19, 64);
        add_moved(list, &spec, "all axes", number);
    }
    test_set_params(&spec, roll, .axis_count = 1, .shifts = {4321});
    spec.inputs[0] = test_input(dtype, TEST_CONTIGUOUS, TEST_EDGES, 1, 50001);
    add_moved(list, &spec, "long", number);
    spec.inputs[0] = test_input(dtype, TEST_CONTIGUOUS, TEST_EDGES, 2, 0, 4);
    add_moved(list, &spec, "empty", number);
}

// ---- how many launches --------------------------------------------------------------------------

/// Runs a call that makes `out` and counts what it launches.
#define expect_launches(count, call, out)                                                          \
    do {                                                                                           \
        const uint64_t before = test_launch_count(test_pair.device.device);                        \
        assert_ok(call);                                                                           \
        assert_int_equal(test_launch_count(test_pair.device.device) - before, count);              \
        cbk_tensor_release(out);                                                                   \
    } while (0)

static void test_launches(void **state) {
    cbk_stream *stream = test_pair.device.stream;
    const int64_t shape[2] = {4, 6}, row[1] = {3};
    const cbk_pad_params frame = CBK_INIT(cbk_pad_params, .before = {1, 1}, .after = {1, 1});
    cbk_tensor *x = NULL, *index = NULL, *out = NULL;
    (void)state;
    assert_ok(cbk_zeros(stream, CBK_DTYPE_F32, 2, shape, &x));
    assert_ok(cbk_zeros(stream, CBK_DTYPE_I16, 1, row, &index));
    const cbk_tensor *const many[9] = {x, x, x, x, x, x, x, x, x};
    expect_launches(1, cbk_cat(stream, many, 8, 1, &out), &out);
    expect_launches(2, cbk_cat(stream, many, 9, 0, &out), &out);
    expect_launches(1, cbk_stack(stream, many, 8, 1, &out), &out);
    expect_launches(1, cbk_pad(stream, x, &frame, &out), &out);
    expect_launches(1, cbk_roll(stream, x, &CBK_INIT(cbk_roll_params, .shifts = {1}), &out), &out);
    expect_launches(1, cbk_repeat(stream, x, (int64_t[]){2, 3}, &out), &out);
    expect_launches(1, cbk_embedding(stream, x, index, &out), &out);
    expect_launches(1, cbk_take(stream, x, index, &out), &out);
    cbk_tensor_release(&index);
    cbk_tensor_release(&x);
}

int main(void) {
    const struct CMUnitTest calls[] = {cmocka_unit_test(test_launches)};
    struct test_list list = {0};
    for (uint32_t d = 0; test_all_dtypes[d]; d++) {
        add_copies(&list, test_all_dtypes[d], d);
        add_slice_assign(&list, test_all_dtypes[d], d);
        add_cat(&list, test_all_dtypes[d], d);
        add_large_cat(&list, test_all_dtypes[d]);
        add_pad(&list, test_all_dtypes[d], d);
        add_roll(&list, test_all_dtypes[d], d);
    }
    int failed = test_run_list("move", &list);
    return failed + cmocka_run_group_tests(calls, test_pair_open, test_pair_close);
}
