// test_sort.c: sort, topk, median and quantile along any axis against the reference.

#include "runner.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

struct form {
    uint32_t rank;
    int shape[4];
    int32_t axis;
};

/// Lengths around insertion (48), a bitonic network (powers of two), short rows (2048 on GPUs, 8192
/// on CPUs), tiles and chunks of long ones.
static const struct form forms[] = {
    {1, {100}, 0},        {2, {7, 48}, -1},  {2, {49, 9}, 0},   {3, {3, 64, 5}, 1},
    {2, {2, 2048}, 1},    {2, {3, 2049}, 1}, {2, {257, 3}, 0},  {4, {2, 3, 4, 5}, 2},
    {2, {5, 1}, 1},       {2, {0, 4}, 1},    {2, {2, 8193}, 1}, {1, {40000}, 0},
    {3, {2, 9000, 2}, 1}, {2, {300, 4}, 1},
};
#define FORM_COUNT (sizeof forms / sizeof *forms)
static const struct form empty = {2, {3, 0}, 1};

static int64_t length_of(const struct form *form) {
    return form->shape[form->axis < 0 ? form->axis + (int32_t)form->rank : form->axis];
}

static bool has_two(cbk_opcode opcode) {
    return opcode == CBK_OP_SORT_WITH_INDICES || opcode == CBK_OP_TOPK_WITH_INDICES;
}

static struct test_spec spec_of(cbk_opcode opcode, cbk_dtype dtype, const struct form *form,
                                uint32_t number) {
    static const enum test_data kinds[] = {TEST_EDGES, TEST_ZERO_HEAVY, TEST_MODERATE};
    const int *s = form->shape;
    struct test_spec spec = {.opcode = opcode,
                             .input_count = 1,
                             .output_count = has_two(opcode) ? 2 : 1,
                             .tolerance.closeness = TEST_BITS,
                             .more_tolerances[0].closeness = TEST_BITS};
    spec.inputs[0] = test_input(dtype, number % TEST_VIEW_COUNT, kinds[number % 3], form->rank,
                                s[0], s[1], s[2], s[3]);
    if (number % 4 == 1) {
        spec.output = TEST_INTO;
        spec.output_view = (enum test_view)(number / 4 % TEST_EXPANDED);
    }
    return spec;
}

static cbk_dtype index_dtype(const struct form *form, uint32_t number) {
    static const cbk_dtype dtypes[] = {0, CBK_DTYPE_I32, CBK_DTYPE_U16, CBK_DTYPE_U64};
    cbk_dtype dtype = dtypes[number / 3 % 4];
    return length_of(form) > 65536 ? CBK_DTYPE_I64 : dtype;
}

static void add_sort(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype,
                     const struct form *form, uint32_t number) {
    struct test_spec spec = spec_of(opcode, dtype, form, number);
    uint32_t descending = number / 2 % 2;
    cbk_dtype out_dtype = opcode == CBK_OP_SORT ? 0 : index_dtype(form, number);
    test_set_params(&spec, sort, .axis = form->axis, .descending = descending,
                    .out_dtype = out_dtype);
    char suffix[64];
    snprintf(suffix, sizeof suffix, "axis %d%s %s", (int)form->axis, descending ? " down" : "",
             cbk_dtype_name(out_dtype));
    test_add(list, &spec, suffix);
}

static void add_topk(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype,
                     const struct form *form, uint32_t number) {
    const int64_t length = length_of(form), ks[] = {0, 1, 5, 32, length / 2, length};
    struct test_spec spec = spec_of(opcode, dtype, form, number);
    uint32_t ascending = number / 2 % 2;
    int64_t k = ks[number % 6];
    if (k > length) k = length;
    test_set_params(&spec, topk, .axis = form->axis, .k = k, .ascending = ascending,
                    .out_dtype = opcode == CBK_OP_TOPK ? 0 : index_dtype(form, number));
    char suffix[64];
    snprintf(suffix, sizeof suffix, "axis %d k %d%s", (int)form->axis, (int)k,
             ascending ? " up" : "");
    test_add(list, &spec, suffix);
}

static void add_median(struct test_list *list, cbk_dtype dtype, const struct form *form,
                       uint32_t number) {
    struct test_spec spec = spec_of(CBK_OP_MEDIAN, dtype, form, number);
    test_set_params(&spec, median, .axis = form->axis, .drop_axis = number % 2);
    test_add(list, &spec, number % 2 ? "dropped" : "");
}

static void add_quantile(struct test_list *list, cbk_dtype dtype, const struct form *form,
                         uint32_t number) {
    static const uint32_t counts[] = {0, 1, 5};
    struct test_spec spec = spec_of(CBK_OP_QUANTILE, dtype, form, number);
    uint32_t interpolation = number % 5, count = counts[number / 2 % 3];
    if (number % 7 != 6) spec.inputs[0].data = TEST_MODERATE; // else with NaN
    spec.tolerance = test_ulps(dtype, 2, 0);
    spec.tolerance.absolute = 64 * test_unit_roundoff(dtype); // of numbers up to 16 apart
    test_set_params(&spec, quantile, .axis = form->axis, .drop_axis = number % 2,
                    .interpolation = interpolation, .count = count, .q = {0.3, 0, 1, 0.5, 0.87});
    if (number % 7 == 6) spec.params.quantile.interpolation = CBK_QUANTILE_LOWER;
    char suffix[64];
    snprintf(suffix, sizeof suffix, "axis %d kind %u count %u", (int)form->axis,
             (unsigned)spec.params.quantile.interpolation, (unsigned)count);
    test_add(list, &spec, suffix);
}

static cbk_tensor *row_maximum(cbk_stream *stream, const struct test_spec *spec,
                               cbk_tensor *const *inputs) {
    const cbk_reduce_params rows =
        CBK_INIT(cbk_reduce_params, .axis_count = 1, .axes = {spec->params.quantile.axis});
    cbk_tensor *wide = NULL, *largest = NULL;
    assert_ok(cbk_cast(stream, inputs[0], CBK_DTYPE_F64, &wide));
    assert_ok(cbk_max_abs(stream, wide, &rows, &largest));
    cbk_tensor_release(&wide);
    return largest;
}

/// Neighbours as far apart as they can be, or one of them infinite.
static void add_far_quantiles(struct test_list *list) {
    static const cbk_dtype floats[] = {CBK_DTYPE_F32, CBK_DTYPE_F64, CBK_DTYPE_F16, CBK_DTYPE_BF16};
    for (uint32_t i = 0; i < 8; i++) {
        const cbk_dtype dtype = floats[i % 4];
        struct test_spec spec = {.opcode = CBK_OP_QUANTILE,
                                 .input_count = 1,
                                 .tolerance = test_ulps(dtype, 2, 0),
                                 .magnitude = row_maximum};
        spec.tolerance.relative = 8 * test_unit_roundoff(dtype);
        spec.inputs[0] = test_input(dtype, TEST_CONTIGUOUS, TEST_EDGES, 2, 400, 3);
        test_set_params(&spec, quantile, .axis = 1, .interpolation = i < 4 ? 0 : i - 3,
                        .q = {i < 4 ? 0.2 : 0.3});
        test_add(list, &spec, i < 4 ? "far linear" : "far");
    }
}

static void add_dtype(struct test_list *list, cbk_dtype dtype, uint32_t d) {
    for (uint32_t f = 0; f < FORM_COUNT; f++) {
        uint32_t number = 5 * f + 3 * d;
        bool is_all = test_is_full() || dtype == CBK_DTYPE_F32;
        cbk_opcode turn = (f + d) % 3;
        for (cbk_opcode k = 0; k < 3; k++) {
            if (!is_all && k != turn) continue;
            add_sort(list, CBK_OP_SORT + k, dtype, &forms[f], number + k);
            add_topk(list, CBK_OP_TOPK + k, dtype, &forms[f], number + k + 1);
        }
        if (dtype >= CBK_DTYPE_BOOL) continue;
        if (is_all || turn == 0) add_median(list, dtype, &forms[f], number);
        if (test_is_float(dtype) && (is_all || turn == 1))
            add_quantile(list, dtype, &forms[f], number);
    }
}

static const cbk_dtype dtypes[] = {
    CBK_DTYPE_F32,    CBK_DTYPE_F64,  CBK_DTYPE_F16,    CBK_DTYPE_BF16,
    CBK_DTYPE_FLEX32, CBK_DTYPE_I64,  CBK_DTYPE_I32,    CBK_DTYPE_I16,
    CBK_DTYPE_I8,     CBK_DTYPE_U64,  CBK_DTYPE_U32,    CBK_DTYPE_U16,
    CBK_DTYPE_U8,     CBK_DTYPE_BOOL, CBK_DTYPE_BOOL32, 0};

/// A few of many: parts of rows, a tie longer than any list.
static void add_few_of_many(struct test_list *list) {
    static const struct form many[] = {
        {2, {2, 70001}, 1}, {3, {2, 9001, 3}, 1}, {2, {5, 12000}, -1}, {1, {600000}, 0}};
    static const cbk_dtype few[] = {CBK_DTYPE_F32, CBK_DTYPE_F64, CBK_DTYPE_BF16,
                                    CBK_DTYPE_I8,  CBK_DTYPE_U64, CBK_DTYPE_BOOL};
    static const int64_t ks[] = {1, 32, 128};
    for (uint32_t d = 0; d < 6; d++) {
        for (uint32_t f = 0; f < 4; f++) {
            uint32_t number = 7 * f + 3 * d;
            cbk_opcode opcode = CBK_OP_TOPK + number % 3;
            struct test_spec spec = spec_of(opcode, few[d], &many[f], number);
            if (f == 2) spec.inputs[0].view = TEST_CONTIGUOUS;
            test_set_params(&spec, topk, .axis = many[f].axis, .k = ks[(f + d) % 3],
                            .ascending = d % 2);
            test_add(list, &spec, d % 2 ? "few up" : "few");
        }
    }
}

/// More than caches hold: what a chunk has of a digit goes out by lines.
static void add_large(struct test_list *list) {
    static const struct form forms_of_large[] = {{1, {4200123}, 0}, {2, {2, 1060001}, 1}};
    struct test_spec spec = spec_of(CBK_OP_SORT, CBK_DTYPE_F32, &forms_of_large[0], 0);
    test_set_params(&spec, sort, .axis = 0, .descending = 1);
    spec.output = TEST_INTO;
    spec.output_view = TEST_OFFSET;
    test_add(list, &spec, "large");
    spec = spec_of(CBK_OP_SORT, CBK_DTYPE_F64, &forms_of_large[1], 1);
    test_set_params(&spec, sort, .axis = 1);
    test_add(list, &spec, "large");
}

int main(void) {
    struct test_list list = {0};
    for (uint32_t d = 0; dtypes[d]; d++) add_dtype(&list, dtypes[d], d);
    add_sort(&list, CBK_OP_SORT, CBK_DTYPE_F32, &empty, 0);
    add_few_of_many(&list);
    add_large(&list);
    add_far_quantiles(&list);
    return test_run_list("sort", &list);
}
