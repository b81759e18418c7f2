// test_create.c: fill and arange against the reference.

#include "runner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct shape {
    uint32_t rank;
    int64_t lengths[TEST_MAX_RANK];
};
static const struct shape shapes[] = {
    {1, {1031}},    {2, {17, 33}}, {0, {0}},
    {3, {4, 1, 9}}, {2, {0, 3}},   {8, {2, 1, 2, 1, 3, 1, 2, 2}},
};
#define SHAPE_COUNT (sizeof shapes / sizeof *shapes)

static void add(struct test_list *list, struct test_spec *spec, cbk_create_params params,
                uint32_t number, const char *name) {
    char suffix[64];
    params.struct_size = sizeof params;
    for (uint32_t i = 0; i < (test_is_full() ? SHAPE_COUNT : 2); i++) {
        const struct shape *shape = &shapes[i ? (number + i) % SHAPE_COUNT : 0];
        params.rank = shape->rank;
        memcpy(params.shape, shape->lengths, sizeof params.shape);
        spec->params.create = params;
        spec->params_size = sizeof params;
        snprintf(suffix, sizeof suffix, "%s %s rank %u number %u", cbk_dtype_name(params.dtype),
                 name, params.rank, i);
        spec->output = TEST_NEW;
        test_add(list, spec, suffix);
        spec->output = TEST_INTO;
        spec->output_view = (enum test_view)((number + i) % TEST_EXPANDED);
        test_add(list, spec, suffix);
    }
}

static void add_fills(struct test_list *list) {
    const struct {
        cbk_scalar value;
        const char *name;
    } values[] = {
        {{0}, "zero"},       {cbk_f(1.1), "1.1"},     {cbk_i(-3), "-3"},
        {cbk_f(NAN), "nan"}, {cbk_f(-1e30), "-1e30"}, {cbk_u(UINT64_MAX), "max"},
        {cbk_f(-0.0), "-0"},
    };
    for (uint32_t d = 0; test_all_dtypes[d]; d++) {
        for (uint32_t i = 0; i < (test_is_full() ? 7 : 2); i++) {
            uint32_t pick = (d + 3 * i) % 7;
            struct test_spec spec = {.opcode = CBK_OP_FILL};
            spec.tolerance = test_ulps(test_all_dtypes[d], 0, 0);
            spec.tolerance.signed_zero = true;
            add(list, &spec,
                (cbk_create_params){.dtype = test_all_dtypes[d], .value = values[pick].value},
                d + i, values[pick].name);
        }
    }
}

static void add_aranges(struct test_list *list) {
    const struct {
        cbk_scalar start, step;
        const char *name;
    } ranges[] = {
        {{0}, {0}, "default"},
        {cbk_f(-0.3), cbk_f(0.1), "-0.3 by 0.1"},
        {cbk_i(100), cbk_i(-3), "100 by -3"},
    };
    for (uint32_t d = 0; test_numbers[d]; d++) {
        for (uint32_t i = 0; i < 3; i++) {
            struct test_spec spec = {.opcode = CBK_OP_ARANGE};
            int64_t length = (int64_t[]){1000, 1, 0, 40000}[(d + i) % 4];
            cbk_create_params params = {.struct_size = sizeof params,
                                        .dtype = test_numbers[d],
                                        .rank = 1,
                                        .shape = {length},
                                        .value = ranges[i].start,
                                        .step = ranges[i].step};
            spec.params.create = params;
            spec.params_size = sizeof params;
            spec.tolerance = test_ulps(test_numbers[d], 0, 0);
            char suffix[64];
            snprintf(suffix, sizeof suffix, "%s %s length %d", cbk_dtype_name(test_numbers[d]),
                     ranges[i].name, (int)length);
            test_add(list, &spec, suffix);
            spec.output = TEST_INTO;
            spec.output_view = (enum test_view)((d + i) % TEST_EXPANDED);
            test_add(list, &spec, suffix);
        }
    }
}

int main(void) {
    struct test_list list = {0};
    add_fills(&list);
    add_aranges(&list);
    return test_run_list("create", &list);
}
