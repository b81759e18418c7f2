// test_index_more.c: select by indices of any rank, gather_nd, scatter_nd, embedding_backward,
// one_hot, updates of bools and updates in any order, against the reference.

#include "runner.h"

#include <stdio.h>
#include <string.h>

static enum test_view view_of(uint32_t number) {
    return (enum test_view)(number % TEST_VIEW_COUNT);
}

/// Rows into a new tensor, into a view, and in place where that can be.
static void add_outputs(struct test_list *list, struct test_spec *spec, const char *suffix,
                        uint32_t number) {
    spec->output = TEST_NEW;
    test_add(list, spec, suffix);
    spec->output = TEST_INTO;
    spec->output_view = (enum test_view)(number % TEST_EXPANDED);
    test_add(list, spec, suffix);
    if (spec->input_count == 3 && test_view_is_writable(spec->inputs[0].view)) {
        spec->output = TEST_IN_PLACE;
        test_add(list, spec, suffix);
    }
}

static struct test_operand index_operand(uint32_t number, bool is_bad, int64_t bound, uint32_t rank,
                                         int a, int b, int c) {
    cbk_dtype dtype = test_ints[number % 8];
    struct test_operand index =
        test_input(dtype, view_of(number), is_bad ? TEST_BAD_INDEX : TEST_INDEX, rank, a, b, c);
    if (is_bad && index.view >= TEST_EXPANDED) index.view = TEST_CONTIGUOUS;
    index.bound = bound;
    return index;
}

// ---- select by any rank -------------------------------------------------------------------------

static void add_select(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    for (uint32_t rank = 0; rank <= 3; rank++) {
        if (!test_is_full() && (rank + number) % 2) continue;
        struct test_spec spec = {.opcode = CBK_OP_SELECT, .input_count = 2};
        const int32_t axis = (int32_t)((number + rank) % 3);
        spec.inputs[0] = test_input(dtype, view_of(number), TEST_EDGES, 3, 6, 5, 8);
        spec.inputs[1] =
            index_operand(number + rank, false, spec.inputs[0].shape[axis], rank, 4, 3, 7);
        test_set_params(&spec, index, .axis = axis);
        spec.tolerance.closeness = TEST_BITS;
        char suffix[24];
        snprintf(suffix, sizeof suffix, "axis %d", (int)axis);
        add_outputs(list, &spec, suffix, number + rank);
    }
}

/// Rows that go by vectors, several of them to a group.
static void add_rows(struct test_list *list, cbk_dtype dtype, uint32_t number) {
    struct test_spec spec = {.opcode = CBK_OP_SELECT, .input_count = 2};
    spec.inputs[0] = test_input(dtype, TEST_CONTIGUOUS, TEST_EDGES, 2, 50, 132);
    spec.inputs[1] = index_operand(8 * number, number % 2, 50, 2, 9, 31, 0);
    spec.sync_status = number % 2 ? CBK_ERROR_INDEX_OUT_OF_RANGE : CBK_OK;
    test_set_params(&spec, index, .axis = 0);
    spec.tolerance.closeness = TEST_BITS;
    add_outputs(list, &spec, "rows", number);
}

// ---- several axes at once -----------------------------------------------------------------------

static enum test_data data_for(cbk_dtype dtype, uint32_t update) {
    if (!test_is_float(dtype)) return TEST_EDGES;
    return update == CBK_UPDATE_ADD   ? TEST_MODERATE
           : update == CBK_UPDATE_MUL ? TEST_NEAR_ONE
                                      : TEST_EDGES;
}

/// Few values meet at one place, so that what a rounding of sums and products does stays small.
static void set_tolerance(struct test_spec *spec, cbk_dtype dtype, uint32_t update) {
    spec->tolerance.closeness = TEST_BITS;
    if (update == CBK_UPDATE_ASSIGN) return;
    spec->tolerance = test_ulps(dtype, 0, 0);
    if (!test_is_float(dtype) || update >= CBK_UPDATE_MIN) return;
    spec->tolerance = test_ulps(dtype, 1, 0);
    spec->tolerance.absolute = 512 * test_unit_roundoff(dtype);
}

static void add_nd(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype, uint32_t update,
                   bool is_bad, uint32_t number) {
    static const int x_shape[3] = {5, 4, 6};
    const bool is_update = opcode == CBK_OP_SCATTER_ND;
    const int depth = 1 + (int)(number % 3), rows = 7;
    struct test_spec spec = {.opcode = opcode, .input_count = is_update ? 3 : 2};
    struct test_operand *value = &spec.inputs[2];
    spec.inputs[0] = test_input(dtype, view_of(number), data_for(dtype, update), 3, 5, 4, 6);
    if (number % 2)
        spec.inputs[1] = index_operand(number, is_bad, is_bad ? 6 : 4, 2, rows, depth, 0);
    else
        spec.inputs[1] = index_operand(number, is_bad, is_bad ? 6 : 4, 3, 3, rows, depth);
    *value = test_input(dtype, view_of(number / 2), data_for(dtype, update), 0);
    for (uint32_t i = 0; i + 1 < spec.inputs[1].rank; i++)
        value->shape[value->rank++] = spec.inputs[1].shape[i];
    for (int i = depth; i < 3; i++) value->shape[value->rank++] = x_shape[i];
    test_set_params(&spec, index, .update = update);
    set_tolerance(&spec, dtype, update);
    spec.sync_status = is_bad ? CBK_ERROR_INDEX_OUT_OF_RANGE : CBK_OK;
    char suffix[40];
    snprintf(suffix, sizeof suffix, "depth %d update %u%s", depth, update,
             is_bad ? " out of range" : "");
    add_outputs(list, &spec, suffix, number);
}

static void add_empty(struct test_list *list) {
    struct test_spec spec = {.opcode = CBK_OP_GATHER_ND, .input_count = 2};
    spec.inputs[0] = test_input(CBK_DTYPE_F32, TEST_TRANSPOSED, TEST_EDGES, 2, 4, 5);
    spec.inputs[1] = index_operand(0, false, 4, 2, 0, 1, 0);
    spec.tolerance.closeness = TEST_BITS;
    add_outputs(list, &spec, "no rows", 0);
    spec.inputs[1] = index_operand(1, false, 4, 1, 2, 0, 0);
    add_outputs(list, &spec, "one element", 0);
    spec.opcode = CBK_OP_SCATTER_ND;
    spec.input_count = 3;
    spec.inputs[1] = index_operand(0, false, 4, 2, 0, 1, 0);
    spec.inputs[2] = test_input(CBK_DTYPE_F32, TEST_CONTIGUOUS, TEST_EDGES, 2, 0, 5);
    add_outputs(list, &spec, "no rows", 0);
    struct test_spec none = {.opcode = CBK_OP_EMBEDDING_BACKWARD, .input_count = 2};
    none.inputs[0] = test_input(CBK_DTYPE_F16, TEST_CONTIGUOUS, TEST_EDGES, 2, 0, 5);
    none.inputs[1] = index_operand(0, false, 4, 1, 0, 0, 0);
    test_set_params(&none, embedding_backward, .rows = 3);
    none.tolerance.closeness = TEST_BITS;
    add_outputs(list, &none, "no rows", 0);
}

// ---- embedding_backward, one_hot ----------------------------------------------------------------

static void add_embedding(struct test_list *list, cbk_dtype dtype, bool is_bad, uint32_t number) {
    struct test_spec spec = {.opcode = CBK_OP_EMBEDDING_BACKWARD, .input_count = 2};
    const int rank = 1 + (int)(number % 2), width = number % 3 == 0 ? 33 : 8;
    if (rank == 1)
        spec.inputs[0] =
            test_input(dtype, view_of(number), data_for(dtype, CBK_UPDATE_ADD), 2, 150, width);
    else
        spec.inputs[0] =
            test_input(dtype, view_of(number), data_for(dtype, CBK_UPDATE_ADD), 3, 5, 30, width);
    spec.inputs[1] = rank == 1 ? index_operand(number, is_bad, 19, 1, 150, 0, 0)
                               : index_operand(number, is_bad, 19, 2, 5, 30, 0);
    test_set_params(&spec, embedding_backward, .rows = 19);
    set_tolerance(&spec, dtype, CBK_UPDATE_ADD);
    spec.sync_status = is_bad ? CBK_ERROR_INDEX_OUT_OF_RANGE : CBK_OK;
    add_outputs(list, &spec, is_bad ? "out of range" : "", number);
}

static void add_one_hot(struct test_list *list, cbk_dtype dtype, bool is_bad, uint32_t number) {
    struct test_spec spec = {.opcode = CBK_OP_ONE_HOT, .input_count = 1};
    spec.inputs[0] = number % 3 ? index_operand(number, is_bad, 11, 2, 13, 7, 0)
                                : index_operand(number, is_bad, 11, 1, 300, 0, 0);
    test_set_params(&spec, one_hot, .dtype = dtype, .classes = 11);
    if (number % 2) {
        spec.params.one_hot.on = test_is_float(dtype) ? cbk_f(0.9) : cbk_i(5);
        spec.params.one_hot.off = test_is_float(dtype) ? cbk_f(-0.01) : cbk_i(1);
    }
    spec.tolerance.closeness = TEST_BITS;
    spec.sync_status = is_bad ? CBK_ERROR_INDEX_OUT_OF_RANGE : CBK_OK;
    char suffix[40];
    snprintf(suffix, sizeof suffix, "to %s%s", cbk_dtype_name(dtype), is_bad ? " bad" : "");
    add_outputs(list, &spec, suffix, number);
}

// ---- updates ------------------------------------------------------------------------------------

/// min and max of bools are and and or.
static void add_bools(struct test_list *list, cbk_dtype dtype, cbk_opcode opcode, uint32_t update,
                      uint32_t number) {
    const bool is_per_slice = opcode == CBK_OP_SELECT_ASSIGN;
    struct test_spec spec = {.opcode = opcode, .input_count = 3};
    spec.inputs[0] = test_input(dtype, view_of(number), TEST_EDGES, 2, 9, 40);
    spec.inputs[1] = index_operand(number, false, 9, is_per_slice ? 1 : 2, 21, 40, 0);
    spec.inputs[2] = test_input(dtype, view_of(number / 3), TEST_EDGES, 2, 21, 40);
    test_set_params(&spec, index, .axis = 0, .update = update);
    spec.tolerance.closeness = TEST_BITS;
    add_outputs(list, &spec, update == CBK_UPDATE_MIN ? "and" : "or", number);
}

/// In any order: exact where that does not matter, near where it does.
static void add_unordered(struct test_list *list, cbk_dtype dtype, uint32_t update,
                          uint32_t number) {
    struct test_spec spec = {.opcode = CBK_OP_SCATTER, .input_count = 3};
    spec.inputs[0] = test_input(dtype, view_of(number), data_for(dtype, update), 2, 70, 12);
    spec.inputs[1] = index_operand(number, false, 70, 2, 300, 12, 0);
    spec.inputs[2] = test_input(dtype, view_of(number / 2), data_for(dtype, update), 2, 300, 12);
    test_set_params(&spec, index, .axis = 0, .update = update, .flags = CBK_INDEX_UNORDERED);
    set_tolerance(&spec, dtype, update);
    add_outputs(list, &spec, "unordered", number);
    struct test_spec embedding = {.opcode = CBK_OP_EMBEDDING_BACKWARD, .input_count = 2};
    if (update != CBK_UPDATE_ADD) return;
    embedding.inputs[0] = spec.inputs[2];
    embedding.inputs[1] = index_operand(number, false, 60, 1, 300, 0, 0);
    test_set_params(&embedding, embedding_backward, .rows = 60, .flags = CBK_INDEX_UNORDERED);
    set_tolerance(&embedding, dtype, update);
    add_outputs(list, &embedding, "unordered", number);
}

int main(void) {
    struct test_list list = {0};
    cbk_dtype dtypes[20];
    uint32_t number = 0;
    for (uint32_t d = 0; test_all_dtypes[d]; d++) {
        const cbk_dtype dtype = test_all_dtypes[d];
        add_select(&list, dtype, number);
        add_rows(&list, dtype, number++);
        for (uint32_t is_bad = 0; is_bad < 2; is_bad++) {
            add_nd(&list, CBK_OP_GATHER_ND, dtype, 0, is_bad, number++);
            add_nd(&list, CBK_OP_SCATTER_ND, dtype, 0, is_bad, number++);
            add_one_hot(&list, dtype, is_bad, number++);
        }
    }
    for (uint32_t update = CBK_UPDATE_ADD; update <= CBK_UPDATE_MAX; update++) {
        uint32_t count = test_pick_dtypes(test_numbers, update, 2, dtypes);
        for (uint32_t d = 0; d < count; d++) {
            for (uint32_t i = 0; i < 3; i++)
                add_nd(&list, CBK_OP_SCATTER_ND, dtypes[d], update, i == 2, number++);
        }
        const cbk_dtype words[] = {CBK_DTYPE_F32,    CBK_DTYPE_I32,  CBK_DTYPE_U32, CBK_DTYPE_F16,
                                   CBK_DTYPE_FLEX32, CBK_DTYPE_BF16, CBK_DTYPE_I8};
        for (uint32_t d = 0; d < sizeof words / sizeof *words; d++)
            add_unordered(&list, words[d], update, number++);
    }
    for (uint32_t update = CBK_UPDATE_MIN; update <= CBK_UPDATE_MAX; update++) {
        add_bools(&list, CBK_DTYPE_BOOL, CBK_OP_SCATTER, update, number++);
        add_bools(&list, CBK_DTYPE_BOOL32, CBK_OP_SELECT_ASSIGN, update, number++);
        add_bools(&list, CBK_DTYPE_BOOL, CBK_OP_SELECT_ASSIGN, update, number++);
    }
    for (uint32_t d = 0; test_numbers[d]; d++)
        for (uint32_t is_bad = 0; is_bad < 2; is_bad++)
            add_embedding(&list, test_numbers[d], is_bad, number++);
    add_empty(&list);
    return test_run_list("index_more", &list);
}
