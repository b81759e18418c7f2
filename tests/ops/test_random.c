// test_random.c: draws are those of the reference: bit for bit, normals within 4 ulp;
// from given weights too, short rows and long ones, with and without replacement.

#include "runner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    uint32_t rank;
    int64_t shape[TEST_MAX_RANK];
} shapes[] = {{1, {1000}}, {3, {3, 5, 7}}, {0, {0}}, {2, {1, 3}}, {2, {0, 4}}, {1, {9001}}};

static void add(struct test_list *list, struct test_spec *spec, cbk_random_params params,
                uint32_t number, const char *name) {
    for (uint32_t i = 0; i < (test_is_full() ? 6 : 3); i++) {
        uint32_t pick = (number + i) % 6;
        params.struct_size = sizeof params;
        params.rank = shapes[pick].rank;
        memcpy(params.shape, shapes[pick].shape, sizeof params.shape);
        spec->params.random = params;
        spec->params_size = sizeof params;
        char suffix[64];
        snprintf(suffix, sizeof suffix, "%s %s shape %u", cbk_dtype_name(params.dtype), name, pick);
        spec->output = TEST_NEW;
        test_add(list, spec, suffix);
        spec->output = TEST_INTO;
        spec->output_view = (enum test_view)((number + i) % TEST_EXPANDED);
        test_add(list, spec, suffix);
    }
}

static void add_uniform(struct test_list *list) {
    static const double bounds[][2] = {{0, 1}, {-2.5, 7.1}, {1, 1.0009765625}, {-1000, -999}};
    static const char *const names[] = {"0 to 1", "-2.5 to 7.1", "narrow", "negative"};
    for (uint32_t d = 0; test_floats[d]; d++)
        for (uint32_t b = 0; b < 4; b++) {
            struct test_spec spec = {.opcode = CBK_OP_RANDOM_UNIFORM};
            spec.tolerance.closeness = TEST_BITS;
            add(list, &spec,
                (cbk_random_params){
                    .dtype = test_floats[d], .a = cbk_f(bounds[b][0]), .b = cbk_f(bounds[b][1])},
                d + b, names[b]);
        }
    // A span whose steps are subnormal.
    struct test_spec spec = {.opcode = CBK_OP_RANDOM_UNIFORM};
    spec.tolerance.closeness = TEST_BITS;
    add(list, &spec, (cbk_random_params){.dtype = CBK_DTYPE_F32, .a = cbk_f(0), .b = cbk_f(1e-31)},
        0, "tiny");
    add(list, &spec, (cbk_random_params){.dtype = CBK_DTYPE_F64, .a = cbk_f(0), .b = cbk_f(1e-305)},
        0, "tiny");
}

static void add_normal(struct test_list *list) {
    static const double shape[][2] = {{0, 1}, {0, 0.01}, {5, 2}, {-100, 0.5}};
    static const char *const names[] = {"standard", "narrow", "5 2", "-100 0.5"};
    for (uint32_t d = 0; test_floats[d]; d++)
        for (uint32_t b = 0; b < 4; b++) {
            double mean = shape[b][0], deviation = shape[b][1];
            cbk_dtype dtype = test_floats[d];
            struct test_spec spec = {.opcode = CBK_OP_RANDOM_NORMAL};
            spec.tolerance = test_ulps(dtype, 4, 0);
            // With a mean, 4 steps of the larger of it and 6 deviations.
            if (mean != 0)
                spec.tolerance.absolute =
                    8 * test_unit_roundoff(dtype) * fmax(fabs(mean), 6 * deviation);
            add(list, &spec,
                (cbk_random_params){.dtype = dtype, .a = cbk_f(mean), .b = cbk_f(deviation)}, d + b,
                names[b]);
        }
}

static void add_bernoulli(struct test_list *list) {
    static const double probabilities[] = {0.5, 0, 1, 0.1, 1e-9};
    for (uint32_t d = 0; test_all_dtypes[d]; d++) {
        if (cbk_dtype_size(test_all_dtypes[d]) == 1 && test_is_float(test_all_dtypes[d])) continue;
        for (uint32_t i = 0; i < (test_is_full() ? 5 : 2); i++) {
            uint32_t pick = (d + 2 * i) % 5;
            char name[32];
            snprintf(name, sizeof name, "p %g", probabilities[pick]);
            struct test_spec spec = {.opcode = CBK_OP_RANDOM_BERNOULLI};
            spec.tolerance.closeness = TEST_BITS;
            add(list, &spec,
                (cbk_random_params){.dtype = test_all_dtypes[d], .a = cbk_f(probabilities[pick])},
                d + i, name);
        }
    }
}

static void add_integers(struct test_list *list) {
    const struct {
        cbk_scalar low, high;
        const char *name;
        uint32_t bytes; ///< of the narrowest dtype that holds the range
        bool is_signed;
    } ranges[] = {
        {cbk_i(0), cbk_i(100), "0 to 100", 1, false},
        {cbk_i(-7), cbk_i(9), "-7 to 9", 1, true},
        {cbk_i(0), cbk_i(1), "one value", 1, false},
        {cbk_i(0), cbk_i((int64_t)1 << 32), "2^32 values", 8, false},
        {cbk_i(5), cbk_i((int64_t)3 << 32), "more than 2^32", 8, false},
        {cbk_i(INT64_MIN), cbk_i(INT64_MAX), "nearly all", 8, true},
        {cbk_i(1000), cbk_i(60000), "1000 to 60000", 4, false},
    };
    for (uint32_t d = 0; test_ints[d]; d++) {
        for (uint32_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            cbk_dtype dtype = test_ints[d];
            if (cbk_dtype_size(dtype) < ranges[r].bytes) continue;
            if (ranges[r].is_signed && dtype >= CBK_DTYPE_U64) continue;
            struct test_spec spec = {.opcode = CBK_OP_RANDOM_INTEGER};
            spec.tolerance.closeness = TEST_BITS;
            add(list, &spec,
                (cbk_random_params){.dtype = dtype, .a = ranges[r].low, .b = ranges[r].high}, d + r,
                ranges[r].name);
        }
    }
}

// ---- draws from given weights -------------------------------------------------------------------

static const struct {
    uint32_t rank;
    int shape[3];
    int count;
} rows_of[] = {
    {1, {7}, 1000},       {2, {5, 1}, 3},      {2, {3, 64}, 5},  {2, {3, 65}, 65},
    {3, {2, 3, 1000}, 1}, {2, {2, 4097}, 100}, {1, {40000}, 40}, {2, {0, 4}, 2},
};
#define ROWS_OF (sizeof rows_of / sizeof *rows_of)
enum { CATEGORICAL_FORMS = 4 };

static void add_categorical_row(struct test_list *list, cbk_dtype dtype, uint32_t form, uint32_t r,
                                uint32_t number) {
    static const cbk_dtype places[] = {CBK_DTYPE_NONE, CBK_DTYPE_NONE, CBK_DTYPE_I32};
    static const enum test_data data[] = {TEST_UNIT, TEST_MODERATE, TEST_EDGES, TEST_UNIT};
    const int *shape = rows_of[r].shape;
    const bool is_distinct = (form & 2) != 0;
    struct test_spec spec = {.opcode = CBK_OP_RANDOM_CATEGORICAL, .input_count = 1};
    int64_t count = rows_of[r].count;
    const int64_t length = shape[rows_of[r].rank - 1];
    spec.tolerance.closeness = TEST_BITS;
    spec.inputs[0] =
        test_input(dtype, (enum test_view)(number % TEST_VIEW_COUNT), data[number / 3 % 4],
                   rows_of[r].rank, shape[0], shape[1], shape[2]);
    if (is_distinct && count > length) count = length;
    test_set_params(&spec, categorical, .count = count, .logits = form & 1, .distinct = is_distinct,
                    .out_dtype = places[number % 3]);
    if (number % 4 == 1) {
        spec.output = TEST_INTO;
        spec.output_view = (enum test_view)(number % TEST_EXPANDED);
    }
    char suffix[64];
    snprintf(suffix, sizeof suffix, "%lld%s%s", (long long)count, form & 1 ? " logits" : "",
             is_distinct ? " distinct" : "");
    test_add(list, &spec, suffix);
}

static void add_categorical(struct test_list *list) {
    uint32_t number = 0;
    for (uint32_t d = 0; test_floats[d]; d++)
        for (uint32_t r = 0; r < ROWS_OF; r++)
            for (uint32_t form = 0; form < CATEGORICAL_FORMS; form++, number++)
                if (test_is_full() || test_floats[d] == CBK_DTYPE_F32 || (d + r + form) % 3 == 0)
                    add_categorical_row(list, test_floats[d], form, r, number);
}

int main(void) {
    struct test_list list = {0};
    add_uniform(&list);
    add_normal(&list);
    add_bernoulli(&list);
    add_integers(&list);
    add_categorical(&list);
    return test_run_list("random", &list);
}
