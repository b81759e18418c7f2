// test_table.c: the op table is whole: every opcode of the header, every function of ops.h.
#include "support.h"

#include "core.h"

#include <string.h>

/// Opcodes in opcodes.h, by family.
// clang-format off
static const struct {
    cbk_opcode first;
    uint32_t count;
} families[] = {
    {CBK_OP_RESHAPE, 10},
    {CBK_OP_NEG, 54},
    {CBK_OP_ADD, 21},
    {CBK_OP_ADD_SCALAR, 15},
    {CBK_OP_FMOD_SCALAR, 1},
    {CBK_OP_EQUAL, 7},
    {CBK_OP_EQUAL_SCALAR, 6},
    {CBK_OP_WHERE, 7},
    {CBK_OP_CAST, 1},
    {CBK_OP_FILL, 5},
    {CBK_OP_COPY, 5},
    {CBK_OP_TRIL, 4},
    {CBK_OP_SUM, 18},
    {CBK_OP_SOFTMAX, 6},
    {CBK_OP_COUNT_NONZERO, 1},
    {CBK_OP_LAYER_NORM, 5},
    {CBK_OP_MATMUL, 1},
    {CBK_OP_GATHER, 11},
    {CBK_OP_RANDOM_UNIFORM, 5},
    {CBK_OP_RELU_BACKWARD, 24},
    {CBK_OP_ARGWHERE, 2},
    {CBK_OP_CUMSUM, 5},
    {CBK_OP_SORT, 8},
    {CBK_OP_LU_FACTOR, 3},
};
// clang-format on

static void every_opcode_has_a_row(void **state) {
    (void)state;
    uint32_t expected = 0, seen = 0, cursor = 0;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        for (uint32_t i = 0; i < families[f].count; i++) {
            const cbk_op_info *info = cbk_op_info_of(families[f].first + i);
            assert_non_null(info);
            assert_int_equal(info->opcode, families[f].first + i);
        }
        assert_null(cbk_op_info_of(families[f].first + families[f].count));
        expected += families[f].count;
    }
    while (cbk_op_next(&cursor) != NULL) seen++;
    assert_int_equal(seen, expected);
    assert_null(cbk_op_next(&cursor));
    assert_null(cbk_op_next(NULL));
    assert_null(cbk_op_info_of(CBK_OP_NONE));
    assert_null(cbk_op_info_of(0x00ff));
    assert_null(cbk_op_info_of(0xffffffff));
}

static void rows_make_sense(void **state) {
    (void)state;
    uint32_t cursor = 0;
    for (const cbk_op_info *a; (a = cbk_op_next(&cursor)) != NULL;) {
        assert_int_equal(a->struct_size, sizeof *a);
        assert_true(a->name[0] != 0 && strlen(a->name) < CBK_ERROR_OPERATION_SIZE);
        assert_true(a->dtypes != 0);
        assert_in_range(a->output_count, 1, CBK_MAX_OUTPUTS);
        assert_true(a->min_inputs <= a->max_inputs);
        assert_true(a->params_size <= sizeof(union cbk_params));
        assert_int_equal(a->min_inputs == 0, (a->flags & CBK_ROW_CREATES) != 0);
        assert_int_equal(a->min_inputs != a->max_inputs,
                         (a->flags & (CBK_ROW_VARIADIC | CBK_ROW_OPTIONAL)) != 0);
        uint32_t other = cursor;
        for (const cbk_op_info *b; (b = cbk_op_next(&other)) != NULL;) {
            assert_string_not_equal(a->name, b->name);
        }
    }
    assert_int_equal(cbk_op_info_of(CBK_OP_ADD)->params_size, 0);
    assert_int_equal(cbk_op_info_of(CBK_OP_ADD)->flags, CBK_ROW_POINTWISE | CBK_ROW_DIFFERENTIABLE);
    assert_int_equal(cbk_op_info_of(CBK_OP_SLICE_ASSIGN)->params_size, sizeof(cbk_slice_params));
    assert_true(cbk_op_info_of(CBK_OP_SCATTER)->flags & CBK_ROW_UPDATE);
    assert_true(cbk_op_info_of(CBK_OP_RANDOM_NORMAL)->flags & CBK_ROW_RANDOM);
    assert_true(cbk_op_info_of(CBK_OP_FLIP)->flags & CBK_ROW_VIEW);
    assert_string_equal(cbk_op_info_of(CBK_OP_MATMUL)->name, "matmul");
}

/// The scalar form of a row has its index, its dtypes and its name.
static void scalar_forms_match(void **state) {
    (void)state;
    static const struct {
        cbk_opcode first;
        uint32_t count;
    } forms[] = {{CBK_OP_ADD_SCALAR, 15}, {CBK_OP_EQUAL_SCALAR, 6}, {CBK_OP_FMOD_SCALAR, 1}};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        for (uint32_t i = 0; i < forms[f].count; i++) {
            const cbk_op_info *scalar = cbk_op_info_of(forms[f].first + i);
            const cbk_op_info *tensor = cbk_op_info_of(forms[f].first + i - 0x100);
            assert_int_equal(scalar->dtypes, tensor->dtypes);
            assert_int_equal(scalar->flags, tensor->flags);
            size_t length = strlen(tensor->name);
            assert_int_equal(strncmp(scalar->name, tensor->name, length), 0);
            assert_string_equal(scalar->name + length, "_scalar");
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_opcode_has_a_row),
        cmocka_unit_test(rows_make_sense),
        cmocka_unit_test(scalar_forms_match),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
