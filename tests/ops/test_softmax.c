// test_softmax.c: softmax, log_softmax, softmin and quiet_softmax along any axis against the
// reference.

#include "runner.h"

#include <stdio.h>

static const struct {
    uint32_t rank;
    int shape[4];
    int32_t axis;
} forms[] = {
    {1, {1000}, 0},      {2, {17, 33}, -1},    {2, {33, 17}, 0}, {3, {3, 5, 70}, 1},
    {2, {3, 3001}, 1},   {4, {2, 3, 4, 5}, 2}, {2, {5, 1}, 1},   {2, {0, 4}, 1},
    {2, {2, 40000}, -1}, {3, {6, 10, 16}, 2},
};

static const cbk_opcode opcodes[] = {CBK_OP_SOFTMAX, CBK_OP_LOG_SOFTMAX, CBK_OP_SOFTMIN,
                                     CBK_OP_QUIET_SOFTMAX};

int main(void) {
    struct test_list list = {0};
    for (uint32_t d = 0; test_floats[d]; d++) {
        for (uint32_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            for (uint32_t row = 0; row < 4; row++) {
                bool has_edges = (f + d) % 3 == 0;
                const int *s = forms[f].shape;
                cbk_dtype dtype = test_floats[d];
                struct test_spec spec = {.opcode = opcodes[row], .input_count = 1};
                spec.inputs[0] = test_input(dtype, (f + d + row) % TEST_VIEW_COUNT,
                                            has_edges ? TEST_FINITE : TEST_MODERATE, forms[f].rank,
                                            s[0], s[1], s[2], s[3]);
                // x - max loses up to |x - max| / 2 steps of the exponential: 8 of moderate data,
                // 44 before the result underflows; the sum adds less than 20.
                spec.tolerance =
                    row == 1 ? test_ulps(dtype, 4, 0) : test_ulps(dtype, has_edges ? 64 : 28, 1);
                if (row == 1) spec.tolerance.absolute = 64 * test_unit_roundoff(dtype);
                test_set_params(&spec, axis, .axis = forms[f].axis);
                char suffix[16];
                snprintf(suffix, sizeof suffix, "axis %d", (int)forms[f].axis);
                test_add(&list, &spec, suffix);
                if ((f + d) % 2) {
                    spec.output = TEST_INTO;
                    spec.output_view = (enum test_view)((f + d) % TEST_EXPANDED);
                    test_add(&list, &spec, suffix);
                }
                if (f == 1 && row % 2 == d % 2) { // infinities and NaN
                    spec.output = TEST_NEW;
                    spec.inputs[0].data = TEST_EDGES;
                    test_add(&list, &spec, "edges");
                }
            }
        }
    }
    return test_run_list("softmax", &list);
}
