// test_index.c: gather, select, scatter, select_assign against the reference.

#include "runner.h"

#include <stdio.h>

static const char *const update_names[] = {"assign", "add", "mul", "min", "max"};

/// The same update of |x| by |value| in f64.
static cbk_tensor *size_of_terms(cbk_stream *stream, const struct test_spec *spec,
                                 cbk_tensor *const *inputs) {
    cbk_tensor *wide = NULL, *x = NULL, *value = NULL, *out = NULL;
    const cbk_index_params *params = &spec->params.index;
    if (cbk_cast(stream, inputs[0], CBK_DTYPE_F64, &wide) == CBK_OK)
        (void)cbk_abs(stream, wide, &x);
    cbk_tensor_release(&wide);
    if (cbk_cast(stream, inputs[2], CBK_DTYPE_F64, &wide) == CBK_OK)
        (void)cbk_abs(stream, wide, &value);
    if (spec->opcode == CBK_OP_SCATTER)
        (void)cbk_scatter(stream, x, inputs[1], value, params->axis, params->update, &out);
    else
        (void)cbk_select_assign(stream, x, inputs[1], value, params->axis, params->update, &out);
    cbk_tensor_release(&wide);
    cbk_tensor_release(&x);
    cbk_tensor_release(&value);
    return out;
}

/// Every integer dtype indexes f32; the others see the usual two.
static cbk_dtype index_dtype(cbk_dtype dtype, uint32_t number) {
    if (dtype == CBK_DTYPE_F32 || test_is_full()) return test_ints[number % 8];
    return number % 2 ? CBK_DTYPE_I32 : CBK_DTYPE_I64;
}

static void set_shape(struct test_operand *x, const int *shape, uint32_t axis, int length) {
    x->rank = 3;
    for (uint32_t i = 0; i < 3; i++) x->shape[i] = i == axis ? length : shape[i];
}

/// x [6,7,8] or the like; 11 positions along the axis.
static void add(struct test_list *list, cbk_opcode opcode, cbk_dtype dtype, uint32_t axis,
                uint32_t update, bool has_bad_indices, uint32_t number) {
    static const int shapes[][3] = {{6, 7, 8}, {19, 3, 33}, {2, 40, 5}};
    const int *shape = shapes[number % 3];
    bool is_per_slice = opcode == CBK_OP_SELECT || opcode == CBK_OP_SELECT_ASSIGN;
    bool is_update = opcode == CBK_OP_SCATTER || opcode == CBK_OP_SELECT_ASSIGN;
    bool is_sum = update == CBK_UPDATE_ADD || update == CBK_UPDATE_MUL;
    int positions = 11;
    struct test_spec spec = {.opcode = opcode, .input_count = is_update ? 3 : 2};

    enum test_data data = update == CBK_UPDATE_ADD   ? TEST_MODERATE
                          : update == CBK_UPDATE_MUL ? TEST_NEAR_ONE
                                                     : TEST_EDGES;
    if (!test_is_float(dtype)) data = TEST_EDGES;
    for (uint32_t i = 0; i < spec.input_count; i++) {
        spec.inputs[i].dtype = i == 1 ? index_dtype(dtype, number) : dtype;
        spec.inputs[i].data = data;
        spec.inputs[i].view = (enum test_view)((number + 4 * i) % TEST_VIEW_COUNT);
        set_shape(&spec.inputs[i], shape, axis, i == 0 ? shape[axis] : positions);
    }
    struct test_operand *index = &spec.inputs[1];
    index->data = has_bad_indices ? TEST_BAD_INDEX : TEST_INDEX;
    index->bound = shape[axis];
    if (is_per_slice) {
        index->rank = 1;
        index->shape[0] = positions;
        if (has_bad_indices && index->view == TEST_EXPANDED) index->view = TEST_CONTIGUOUS;
    } else if (number % 2) { // shorter on another axis
        uint32_t other = (axis + 1) % 3;
        index->shape[other] = (index->shape[other] + 1) / 2;
        if (is_update) spec.inputs[2].shape[other] = index->shape[other];
    }
    spec.sync_status = has_bad_indices ? CBK_ERROR_INDEX_OUT_OF_RANGE : CBK_OK;
    test_set_params(&spec, index, .axis = (int32_t)axis - (number % 4 == 2 ? 3 : 0),
                    .update = update);
    spec.tolerance.closeness = is_update && update ? TEST_ULPS : TEST_BITS;
    if (is_update && is_sum && test_is_float(dtype)) {
        spec.tolerance = test_ulps(dtype, 1, 0);
        spec.tolerance.relative = 32 * test_unit_roundoff(dtype); // no element is hit more often
        spec.magnitude = size_of_terms;
    }
    char suffix[48];
    snprintf(suffix, sizeof suffix, "axis %u%s%s%s", axis, is_update ? " " : "",
             is_update ? update_names[update] : "", has_bad_indices ? " out of range" : "");
    test_add(list, &spec, suffix);
    spec.output = TEST_INTO;
    spec.output_view = (enum test_view)(number % TEST_EXPANDED);
    if (number % 2 || test_is_full()) test_add(list, &spec, suffix);
    if (is_update && test_view_is_writable(spec.inputs[0].view)) {
        spec.output = TEST_IN_PLACE;
        test_add(list, &spec, suffix);
    }
}

static void add_empty(struct test_list *list) {
    struct test_spec spec = {.opcode = CBK_OP_SELECT, .input_count = 2};
    test_set_params(&spec, index, .axis = 1);
    spec.inputs[0] = test_input(CBK_DTYPE_F32, TEST_CONTIGUOUS, TEST_EDGES, 2, 4, 5);
    spec.inputs[1] = test_input(CBK_DTYPE_I64, TEST_CONTIGUOUS, TEST_INDEX, 1, 0);
    test_add(list, &spec, "nothing selected");
    spec.opcode = CBK_OP_SELECT_ASSIGN;
    spec.input_count = 3;
    spec.inputs[2] = test_input(CBK_DTYPE_F32, TEST_CONTIGUOUS, TEST_EDGES, 2, 4, 0);
    spec.tolerance.closeness = TEST_BITS;
    test_add(list, &spec, "nothing assigned");
}

/// Many values for few places, so that the order of additions matters.
static void add_crowded(struct test_list *list, cbk_dtype dtype) {
    struct test_spec spec = {.opcode = CBK_OP_SCATTER, .input_count = 3};
    spec.inputs[0] = test_input(dtype, TEST_CONTIGUOUS, TEST_MODERATE, 1, 7);
    spec.inputs[1] = test_input(CBK_DTYPE_I32, TEST_CONTIGUOUS, TEST_INDEX, 1, 3000);
    spec.inputs[1].bound = 7;
    spec.inputs[2] = test_input(dtype, TEST_CONTIGUOUS, TEST_MODERATE, 1, 3000);
    test_set_params(&spec, index, .axis = 0, .update = CBK_UPDATE_ADD);
    spec.tolerance = test_ulps(dtype, test_is_float(dtype) ? 1 : 0, 0);
    spec.tolerance.relative = 64 * test_unit_roundoff(dtype); // about 430 roundings at random
    if (test_is_float(dtype)) spec.magnitude = size_of_terms;
    test_add(list, &spec, "crowded");
    spec.params.index.update = CBK_UPDATE_ASSIGN;
    spec.tolerance.closeness = TEST_BITS;
    spec.magnitude = NULL;
    test_add(list, &spec, "crowded assign");
}

int main(void) {
    struct test_list list = {0};
    cbk_dtype dtypes[20];
    uint32_t number = 0;
    for (uint32_t d = 0; test_all_dtypes[d]; d++) {
        for (uint32_t axis = 0; axis < 3; axis++) {
            if (!test_is_full() && axis != d % 3 && test_all_dtypes[d] != CBK_DTYPE_F32) continue;
            for (uint32_t is_bad = 0; is_bad < 2; is_bad++) {
                add(&list, CBK_OP_GATHER, test_all_dtypes[d], axis, 0, is_bad, number++);
                add(&list, CBK_OP_SELECT, test_all_dtypes[d], axis, 0, is_bad, number++);
                add(&list, CBK_OP_SCATTER, test_all_dtypes[d], axis, 0, is_bad, number++);
                add(&list, CBK_OP_SELECT_ASSIGN, test_all_dtypes[d], axis, 0, is_bad, number++);
            }
        }
    }
    for (uint32_t update = CBK_UPDATE_ADD; update <= CBK_UPDATE_MAX; update++) {
        uint32_t count = test_pick_dtypes(test_numbers, update, 2, dtypes);
        for (uint32_t d = 0; d < count; d++) {
            for (uint32_t axis = 0; axis < 3; axis++) {
                add(&list, CBK_OP_SCATTER, dtypes[d], axis, update, number % 3 == 0, number);
                number++;
                add(&list, CBK_OP_SELECT_ASSIGN, dtypes[d], axis, update, number % 3 == 0, number);
                number++;
            }
        }
    }
    add_empty(&list);
    add_crowded(&list, CBK_DTYPE_F32);
    add_crowded(&list, CBK_DTYPE_I32);
    add_crowded(&list, CBK_DTYPE_F16);
    return test_run_list("index", &list);
}
