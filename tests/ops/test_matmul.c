// test_matmul.c: products of all dtypes, layouts and batches against the reference.

#include "runner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct form {
    uint32_t a_batch_rank, b_batch_rank;
    int a_batch[3], b_batch[3];
    int m, k, n;
};

static const struct form forms[] = {
    {0, 0, {0}, {0}, 33, 65, 17},       {0, 0, {0}, {0}, 64, 128, 48},
    {1, 1, {3}, {3}, 16, 24, 40},       {0, 0, {0}, {0}, 130, 70, 90},
    {2, 1, {2, 3}, {1}, 9, 5, 7},       {0, 0, {0}, {0}, 1, 300, 64},
    {0, 0, {0}, {0}, 64, 300, 1},       {0, 2, {0}, {2, 2}, 12, 20, 8},
    {2, 2, {2, 1}, {1, 3}, 4, 6, 5},    {0, 0, {0}, {0}, 1, 1, 1},
    {0, 0, {0}, {0}, 8, 256, 256},      {0, 0, {0}, {0}, 16, 70, 2050},
    {0, 0, {0}, {0}, 3, 0, 4},          {0, 0, {0}, {0}, 0, 5, 3},
    {1, 1, {0}, {1}, 2, 3, 4},          {0, 0, {0}, {0}, 257, 513, 65},
    {3, 1, {2, 1, 2}, {2}, 17, 16, 16}, {0, 0, {0}, {0}, 2, 3000, 3},
    {0, 0, {0}, {0}, 7, 300, 100}, // CPUs read rows of b in place
};
#define FORM_COUNT (sizeof forms / sizeof *forms)

/// |a| |b| in f64.
static cbk_tensor *size_of_terms(cbk_stream *stream, const struct test_spec *spec,
                                 cbk_tensor *const *inputs) {
    cbk_tensor *wide[2] = {0}, *size[2] = {0}, *out = NULL;
    (void)spec;
    for (int i = 0; i < 2; i++)
        if (cbk_cast(stream, inputs[i], CBK_DTYPE_F64, &wide[i]) == CBK_OK)
            (void)cbk_abs(stream, wide[i], &size[i]);
    (void)cbk_matmul(stream, size[0], size[1], NULL, &out);
    for (int i = 0; i < 2; i++) {
        cbk_tensor_release(&wide[i]);
        cbk_tensor_release(&size[i]);
    }
    return out;
}

static struct test_operand operand(cbk_dtype dtype, enum test_view view, uint32_t batch_rank,
                                   const int *batch, int rows, int columns) {
    enum test_data data = test_is_float(dtype) ? TEST_MODERATE : TEST_EDGES;
    struct test_operand x = {.dtype = dtype, .rank = batch_rank + 2, .view = view, .data = data};
    for (uint32_t i = 0; i < batch_rank; i++) x.shape[i] = batch[i];
    x.shape[batch_rank] = rows;
    x.shape[batch_rank + 1] = columns;
    return x;
}

static void add(struct test_list *list, cbk_dtype dtype, cbk_dtype out_dtype,
                const struct form *form, enum test_view a_view, enum test_view b_view,
                uint32_t number) {
    struct test_spec spec = {.opcode = CBK_OP_MATMUL, .input_count = 2};
    spec.inputs[0] = operand(dtype, a_view, form->a_batch_rank, form->a_batch, form->m, form->k);
    spec.inputs[1] = operand(dtype, b_view, form->b_batch_rank, form->b_batch, form->k, form->n);
    if (out_dtype) test_set_params(&spec, matmul, .out_dtype = out_dtype);
    cbk_dtype result = out_dtype ? out_dtype : dtype;
    spec.tolerance = test_ulps(result, 0, 0);
    if (test_is_float(dtype)) {
        // Roundings of a running sum grow like the square root of its length. flex32 may round
        // each operand to tf32, which has 11 bits.
        bool is_small = cbk_dtype_size(dtype) == 1; // its products are summed in f32
        double unit = dtype == CBK_DTYPE_FLEX32
                          ? 0x1p-11
                          : test_unit_roundoff(is_small ? CBK_DTYPE_F32 : dtype);
        spec.tolerance = test_ulps(result, 1, 0);
        spec.tolerance.relative = (8 + 2 * sqrt(form->k)) * unit;
        spec.magnitude = size_of_terms;
    }
    if (number % 4 == 3) {
        spec.output = TEST_INTO;
        spec.output_view = (enum test_view)(number % TEST_EXPANDED);
    }
    char suffix[24] = "";
    if (out_dtype) snprintf(suffix, sizeof suffix, "to %s", cbk_dtype_name(out_dtype));
    test_add(list, &spec, suffix);
}

/// Infinity and NaN run through sums as IEEE 754 says.
static void add_edges(struct test_list *list, cbk_dtype dtype) {
    struct test_spec spec = {.opcode = CBK_OP_MATMUL, .input_count = 2};
    spec.inputs[0] = test_input(dtype, TEST_CONTIGUOUS, TEST_EDGES, 2, 21, 1);
    spec.inputs[1] = test_input(dtype, TEST_TRANSPOSED, TEST_EDGES, 2, 1, 19);
    spec.tolerance = test_ulps(dtype, 0, 0);
    test_add(list, &spec, "edges");
}

int main(void) {
    static const enum test_view layouts[][2] = {
        {TEST_CONTIGUOUS, TEST_CONTIGUOUS}, {TEST_TRANSPOSED, TEST_CONTIGUOUS},
        {TEST_CONTIGUOUS, TEST_TRANSPOSED}, {TEST_TRANSPOSED, TEST_TRANSPOSED},
        {TEST_STEPPED, TEST_FLIPPED},       {TEST_OFFSET, TEST_EXPANDED},
        {TEST_UNFOLDED, TEST_PERMUTED},     {TEST_BACKWARD, TEST_OFFSET},
    };
    static const cbk_dtype wider[][2] = {
        {CBK_DTYPE_I8, CBK_DTYPE_I32},     {CBK_DTYPE_F16, CBK_DTYPE_F32},
        {CBK_DTYPE_BF16, CBK_DTYPE_F32},   {CBK_DTYPE_I16, CBK_DTYPE_I32},
        {CBK_DTYPE_U8, CBK_DTYPE_U32},     {CBK_DTYPE_F8E4M3, CBK_DTYPE_BF16},
        {CBK_DTYPE_F8E5M2, CBK_DTYPE_F32}, {CBK_DTYPE_F8E5M2, CBK_DTYPE_F16},
    };
    struct test_list list = {0};
    for (uint32_t d = 0; test_numbers[d]; d++) {
        cbk_dtype dtype = test_numbers[d];
        for (uint32_t f = 0; f < FORM_COUNT; f++) {
            bool takes_all = test_is_full() || dtype == CBK_DTYPE_F32;
            bool is_thin = f == FORM_COUNT - 1;
            if (!takes_all && f > 3 && (f + d) % 3 && !is_thin) continue;
            for (uint32_t v = 0; v < 8; v++) {
                bool is_chosen = takes_all ? f < 9 || v < 2 : v == (is_thin ? 0 : (f + d) % 8);
                if (is_chosen)
                    add(&list, dtype, 0, &forms[f], layouts[v][0], layouts[v][1], f + d + v);
            }
        }
        if (test_is_float(dtype) && dtype != CBK_DTYPE_FLEX32) add_edges(&list, dtype);
    }
    for (uint32_t i = 0; i < sizeof wider / sizeof *wider; i++)
        for (uint32_t f = 0; f < 3; f++)
            add(&list, wider[i][0], wider[i][1], &forms[f], layouts[i][0], layouts[i][1], i + f);
    return test_run_list("matmul", &list);
}
