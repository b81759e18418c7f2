// test_diagonal.c: tril, triu and diag_embed, bit for bit; cross.

#include "runner.h"

#include <stdio.h>

static void add_triangles(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    static const int64_t offsets[] = {0, 1, -1, 5, -40, 100, INT64_MIN, INT64_MAX};
    static const int shapes[][3] = {{3, 33, 32}, {1, 16, 48}, {2, 7, 5}, {4, 0, 3}, {2, 64, 16}};
    for (uint32_t i = 0; i < (test_is_full() ? 40 : 10); i++) {
        const uint32_t pick = i * 3 + number;
        const int *shape = shapes[pick % 5];
        const enum test_view view = i < 4 ? TEST_CONTIGUOUS : pick % TEST_VIEW_COUNT;
        struct test_spec spec = {.opcode = i % 2 ? CBK_OP_TRIU : CBK_OP_TRIL, .input_count = 1};
        char suffix[32];
        spec.inputs[0] = test_input(dtype, view, TEST_EDGES, 3, shape[0], shape[1], shape[2]);
        spec.tolerance.closeness = TEST_BITS;
        test_set_params(&spec, offset, .offset = offsets[(i + number) % 8]);
        snprintf(suffix, sizeof suffix, "offset %lld", (long long)offsets[(i + number) % 8]);
        test_add(list, &spec, suffix);
        spec.output = i % 3 == 0 && test_view_is_writable(view) ? TEST_IN_PLACE : TEST_INTO;
        spec.output_view = (enum test_view)(pick % TEST_EXPANDED);
        test_add(list, &spec, suffix);
    }
}

static void add_diagonals(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    static const int64_t offsets[] = {0, 3, -2};
    for (uint32_t i = 0; i < 3; i++) {
        struct test_spec spec = {.opcode = CBK_OP_DIAG_EMBED, .input_count = 1};
        const enum test_view view = (number + 4 * i) % TEST_VIEW_COUNT;
        char suffix[32];
        spec.inputs[0] = i == 2 ? test_input(dtype, view, TEST_EDGES, 1, 70)
                                : test_input(dtype, view, TEST_EDGES, 3, 2, 3, number % 4 * 5);
        spec.tolerance.closeness = TEST_BITS;
        test_set_params(&spec, offset, .offset = offsets[i]);
        snprintf(suffix, sizeof suffix, "offset %d", (int)offsets[i]);
        test_add(list, &spec, suffix);
        spec.output = TEST_INTO;
        spec.output_view = (enum test_view)((number + i) % TEST_EXPANDED);
        test_add(list, &spec, suffix);
    }
}

static void add_cross(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    for (uint32_t i = 0; i < 4; i++) {
        struct test_spec spec = {.opcode = CBK_OP_CROSS, .input_count = 2};
        const enum test_view view = (number + 2 * i) % TEST_VIEW_COUNT;
        const enum test_view other = (number + 3 * i + 1) % TEST_VIEW_COUNT;
        const enum test_data data = test_is_float(dtype) ? TEST_MODERATE : TEST_EDGES;
        char suffix[16];
        test_set_params(&spec, axis, .axis = (int32_t[]){-1, 0, 1, 1}[i]);
        if (i < 2) {
            spec.inputs[0] = test_input(dtype, view, data, 2, i ? 3 : 257, i ? 100 : 3);
            spec.inputs[1] = test_input(dtype, other, data, 2, i ? 3 : 257, i ? 1 : 3);
        } else {
            spec.inputs[0] = test_input(dtype, view, data, 3, 5, 3, i == 2 ? 7 : 0);
            spec.inputs[1] = test_input(dtype, other, data, 2, 3, i == 2 ? 7 : 1);
        }
        spec.tolerance = test_ulps(dtype, test_is_float(dtype) ? 2 : 0, 0);
        snprintf(suffix, sizeof suffix, "axis %d", (int)spec.params.axis.axis);
        test_add(list, &spec, suffix);
        spec.output = TEST_INTO;
        spec.output_view = (enum test_view)((number + i) % TEST_EXPANDED);
        test_add(list, &spec, suffix);
    }
}

int main(void) {
    struct test_list list = {0};
    for (uint32_t d = 0; test_all_dtypes[d]; d++) {
        add_triangles(&list, test_all_dtypes[d], d);
        add_diagonals(&list, test_all_dtypes[d], d);
    }
    for (uint32_t d = 0; test_numbers[d]; d++) add_cross(&list, test_numbers[d], d);
    return test_run_list("diagonal", &list);
}
