// pointwise.c: the shapes and views that every pointwise operation is run over.

#include "runner.h"

#include <string.h>

struct form {
    uint32_t rank;
    int64_t shape[TEST_MAX_RANK];
};

static const struct form long_run = {1, {1031}};
static const struct form forms[] = {
    {2, {19, 45}},
    {3, {5, 7, 11}},
    {2, {33, 16}},
    {4, {2, 3, 4, 5}},
    {1, {257}},
    {3, {3, 1, 64}},
    {8, {2, 1, 2, 2, 1, 3, 2, 2}},
    {1, {1}},
};
#define FORM_COUNT (sizeof forms / sizeof *forms)

static void set_inputs(struct test_spec *spec, const struct form *form, enum test_view view) {
    for (uint32_t i = 0; i < spec->input_count; i++) {
        spec->inputs[i].rank = form->rank;
        memcpy(spec->inputs[i].shape, form->shape, sizeof form->shape);
        // Each input walks its storage in its own way.
        spec->inputs[i].view = i ? (enum test_view)((view + 3 * i) % TEST_VIEW_COUNT) : view;
    }
}

static void add(struct test_list *list, const struct test_spec *spec, const struct form *form,
                enum test_view view, enum test_output output, enum test_view output_view,
                const char *suffix) {
    struct test_spec row = *spec;
    set_inputs(&row, form, view);
    if (view == TEST_CONTIGUOUS && output != TEST_INTO)
        for (uint32_t i = 0; i < row.input_count; i++) row.inputs[i].view = TEST_CONTIGUOUS;
    row.output = output;
    row.output_view = output_view;
    test_add(list, &row, suffix);
}

/// The second input has fewer axes and lengths of 1.
static void add_broadcast(struct test_list *list, const struct test_spec *spec, uint32_t row_number,
                          const char *suffix) {
    static const struct form full = {3, {4, 6, 9}};
    static const struct form parts[] = {{2, {6, 1}}, {1, {9}}, {0, {0}}, {3, {1, 6, 1}}};
    struct test_spec row = *spec;
    set_inputs(&row, &full, TEST_CONTIGUOUS);
    for (uint32_t i = 1; i < row.input_count; i++) {
        const struct form *part = &parts[(row_number + i) % 4];
        row.inputs[i].rank = part->rank;
        memcpy(row.inputs[i].shape, part->shape, sizeof part->shape);
        row.inputs[i].view = TEST_CONTIGUOUS;
    }
    test_add(list, &row, suffix);
    if (row.input_count == 2) { // both are stretched
        row.inputs[0].rank = 3;
        memcpy(row.inputs[0].shape, (int64_t[]){4, 1, 9}, 3 * sizeof(int64_t));
        row.inputs[1].rank = 2;
        memcpy(row.inputs[1].shape, (int64_t[]){6, 1}, 2 * sizeof(int64_t));
        test_add(list, &row, suffix);
    }
}

/// All views, each over two of the shapes.
static void add_everything(struct test_list *list, const struct test_spec *spec, uint32_t row,
                           bool in_place, const char *suffix) {
    for (uint32_t view = 0; view < TEST_VIEW_COUNT; view++) {
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t number = row + view + 3 * i;
            const struct form *form = &forms[number % FORM_COUNT];
            add(list, spec, form, view, TEST_NEW, 0, suffix);
            if (!test_view_is_writable(view)) continue;
            add(list, spec, form, number % TEST_VIEW_COUNT, TEST_INTO, view, suffix);
            if (in_place) add(list, spec, form, view, TEST_IN_PLACE, 0, suffix);
        }
    }
}

void test_add_pointwise(struct test_list *list, const struct test_spec *spec, uint32_t row,
                        bool in_place, const char *suffix) {
    static const struct form rank_0 = {0, {0}}, empty = {3, {2, 0, 3}};
    add(list, spec, &long_run, TEST_CONTIGUOUS, TEST_NEW, 0, suffix);
    if (spec->input_count > 1) add_broadcast(list, spec, row, suffix);
    if (test_is_full()) {
        add_everything(list, spec, row, in_place, suffix);
        add(list, spec, &rank_0, TEST_OFFSET, TEST_NEW, 0, suffix);
        add(list, spec, &empty, TEST_CONTIGUOUS, TEST_NEW, 0, suffix);
        return;
    }
    enum test_view view = 1 + row % (TEST_VIEW_COUNT - 1);
    enum test_view second = 1 + (row + 4) % (TEST_VIEW_COUNT - 1);
    enum test_view written = row % TEST_EXPANDED;
    add(list, spec, &forms[row % FORM_COUNT], view, TEST_NEW, 0, suffix);
    add(list, spec, &forms[(row / 2) % FORM_COUNT], second, TEST_INTO, written, suffix);
    if (in_place && row % 2 == 0)
        add(list, spec, &forms[row % FORM_COUNT], written, TEST_IN_PLACE, 0, suffix);
    if (row % 4 == 1) add(list, spec, &rank_0, TEST_OFFSET, TEST_NEW, 0, suffix);
    if (row % 8 == 3) add(list, spec, &empty, TEST_CONTIGUOUS, TEST_NEW, 0, suffix);
}
