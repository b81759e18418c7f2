// test_create.c: fill, arange, eye, linspace and windows against the reference.

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

/// The row as it is, and into a view.
static void add_both(struct test_list *list, struct test_spec *spec, uint32_t number,
                     const char *suffix) {
    spec->output = TEST_NEW;
    test_add(list, spec, suffix);
    spec->output = TEST_INTO;
    spec->output_view = (enum test_view)(number % TEST_EXPANDED);
    test_add(list, spec, suffix);
}

static void add_eyes(struct test_list *list) {
    static const int64_t forms[][3] = {{17, 17, 0}, {5, 33, 3}, {33, 5, -30}, {4, 4, 4},
                                       {4, 6, -9},  {0, 3, 0},  {1, 1, 0}};
    for (uint32_t d = 0; test_all_dtypes[d]; d++) {
        for (uint32_t i = 0; i < (test_is_full() ? 7 : 3); i++) {
            const int64_t *form = forms[(d + i) % 7];
            struct test_spec spec = {.opcode = CBK_OP_EYE};
            char suffix[64];
            spec.tolerance.closeness = TEST_BITS;
            test_set_params(&spec, eye, .dtype = test_all_dtypes[d], .rows = form[0],
                            .columns = form[1], .offset = form[2]);
            snprintf(suffix, sizeof suffix, "%s %d x %d offset %d",
                     cbk_dtype_name(test_all_dtypes[d]), (int)form[0], (int)form[1], (int)form[2]);
            add_both(list, &spec, d + i, suffix);
        }
    }
}

static void add_linspaces(struct test_list *list) {
    const struct {
        double first, last;
        int64_t length;
    } ranges[] = {{0, 1, 1000}, {-3.7, 2.9, 333}, {5, -5, 2}, {1, 2, 1}, {0, 1, 0}, {7, 7, 70001}};
    for (uint32_t d = 0; test_floats[d]; d++) {
        for (uint32_t i = 0; i < 6; i++) {
            struct test_spec spec = {.opcode = CBK_OP_LINSPACE};
            char suffix[64];
            spec.tolerance = test_ulps(test_floats[d], 2, 0);
            spec.tolerance.absolute = 16 * test_unit_roundoff(test_floats[d]);
            test_set_params(&spec, create, .dtype = test_floats[d], .rank = 1,
                            .shape = {ranges[i].length}, .value = cbk_f(ranges[i].first),
                            .step = cbk_f(ranges[i].last));
            snprintf(suffix, sizeof suffix, "%s %g to %g length %d", cbk_dtype_name(test_floats[d]),
                     ranges[i].first, ranges[i].last, (int)ranges[i].length);
            add_both(list, &spec, d + i, suffix);
        }
    }
}

static void add_windows(struct test_list *list) {
    static const int64_t lengths[] = {1, 2, 400, 0, 1023, 70000};
    for (uint32_t d = 0; test_floats[d]; d++) {
        for (uint32_t i = 0; i < 18; i++) {
            struct test_spec spec = {.opcode = CBK_OP_WINDOW};
            char suffix[64];
            spec.tolerance = test_ulps(test_floats[d], 1, 0);
            // the reference's own rounding of the angle counts in f64
            spec.tolerance.absolute = 16 * test_unit_roundoff(test_floats[d]);
            test_set_params(&spec, window, .dtype = test_floats[d], .length = lengths[i / 3],
                            .kind = i % 3, .symmetric = (d + i) % 2);
            snprintf(suffix, sizeof suffix, "%s kind %u length %d %s",
                     cbk_dtype_name(test_floats[d]), (unsigned)(i % 3), (int)lengths[i / 3],
                     (d + i) % 2 ? "symmetric" : "periodic");
            add_both(list, &spec, d + i, suffix);
        }
    }
}

int main(void) {
    struct test_list list = {0};
    add_fills(&list);
    add_aranges(&list);
    add_eyes(&list);
    add_linspaces(&list);
    add_windows(&list);
    return test_run_list("create", &list);
}
