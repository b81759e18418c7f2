// test_grid_sample.c: grid_sample and its gradients in all modes and paddings against the reference.

#include "runner.h"

#include <stdio.h>

static const struct {
    int x[4], grid[4];
} forms[] = {
    {{2, 3, 7, 9}, {2, 5, 6, 2}},     {{1, 1, 1, 1}, {1, 3, 3, 2}}, {{3, 2, 4, 1}, {3, 1, 65, 2}},
    {{1, 5, 33, 40}, {1, 40, 37, 2}}, {{2, 0, 3, 3}, {2, 2, 2, 2}}, {{2, 3, 3, 3}, {2, 0, 2, 2}},
};
#define FORM_COUNT (sizeof forms / sizeof *forms)
enum { MODES = 3, PADDINGS = 3 };

static void add(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype, uint32_t form,
                uint32_t number) {
    const uint32_t mode = number % MODES, padding = number / MODES % PADDINGS;
    const int *x = forms[form].x, *grid = forms[form].grid;
    const bool is_forward = opcode == CBK_OP_GRID_SAMPLE;
    struct test_spec spec = {.opcode = opcode, .input_count = is_forward ? 2 : 3};
    spec.inputs[0] =
        test_input(dtype, number % TEST_VIEW_COUNT, TEST_MODERATE, 4, x[0], x[1], x[2], x[3]);
    spec.inputs[1] =
        test_input(dtype, (number + 3) % TEST_VIEW_COUNT, number % 2 ? TEST_UNIT : TEST_MODERATE, 4,
                   grid[0], grid[1], grid[2], grid[3]);
    spec.inputs[2] = test_input(dtype, (number + 5) % TEST_VIEW_COUNT, TEST_UNIT, 4, x[0], x[1],
                                grid[1], grid[2]);
    // Infinite places in a cubic make NaN, finite ones far outside products that overflow.
    if (mode == CBK_SAMPLE_NEAREST && number % 4 == 2) spec.inputs[1].data = TEST_EDGES;
    test_set_params(&spec, grid_sample, .mode = mode, .padding = padding,
                    .align_corners = number / (MODES * PADDINGS) % 2);
    // Places have the same bits on both sides; weights and sums are of a few terms of up to 16,
    // those of gradients of many, or of terms that are longer by half an axis.
    spec.tolerance = test_ulps(dtype, 4, 1);
    if (mode != CBK_SAMPLE_NEAREST || !is_forward)
        spec.tolerance.absolute = (is_forward ? 1024 : 32768) * test_unit_roundoff(dtype);
    if (number % 5 == 1) {
        spec.output = TEST_INTO;
        spec.output_view = (enum test_view)(number % TEST_EXPANDED);
    }
    char suffix[64];
    snprintf(suffix, sizeof suffix, "mode %u padding %u align %u", mode, padding,
             spec.params.grid_sample.align_corners);
    test_add(list, &spec, suffix);
}

int main(void) {
    static const cbk_opcode opcodes[] = {CBK_OP_GRID_SAMPLE, CBK_OP_GRID_SAMPLE_X_BACKWARD,
                                         CBK_OP_GRID_SAMPLE_GRID_BACKWARD};
    struct test_list list = {0};
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t number = 0;
        for (uint32_t d = 0; test_floats[d]; d++)
            for (uint32_t f = 0; f < FORM_COUNT; f++)
                for (uint32_t i = 0; i < 2 * MODES * PADDINGS; i++, number++)
                    if (test_is_full() || test_floats[d] == CBK_DTYPE_F32 || (i + f) % 3 == 0)
                        add(&list, opcodes[k], test_floats[d], f, number);
    }
    return test_run_list("grid_sample", &list);
}
