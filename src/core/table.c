// table.c: the op table: families side by side, rows by opcode.
#include "rows.h"

static const struct cbk_family *const families[] = {
    [CBK_FAMILY_VIEW] = &cbk_view_family,
    [CBK_FAMILY_UNARY] = &cbk_unary_family,
    [CBK_FAMILY_BINARY] = &cbk_binary_family,
    [CBK_FAMILY_BINARY_SCALAR] = &cbk_binary_scalar_family,
    [CBK_FAMILY_COMPARE] = &cbk_compare_family,
    [CBK_FAMILY_COMPARE_SCALAR] = &cbk_compare_scalar_family,
    [CBK_FAMILY_TERNARY] = &cbk_ternary_family,
    [CBK_FAMILY_CAST] = &cbk_cast_family,
    [CBK_FAMILY_CREATE] = &cbk_create_family,
    [CBK_FAMILY_MOVE] = &cbk_move_family,
    [CBK_FAMILY_REDUCE] = &cbk_reduce_family,
    [CBK_FAMILY_SOFTMAX] = &cbk_softmax_family,
    [CBK_FAMILY_NORM] = &cbk_norm_family,
    [CBK_FAMILY_MATMUL] = &cbk_matmul_family,
    [CBK_FAMILY_INDEX] = &cbk_index_family,
    [CBK_FAMILY_RANDOM] = &cbk_random_family,
    [CBK_FAMILY_ACTIVATION_BACKWARD] = &cbk_activation_backward_family,
    [CBK_FAMILY_COMPACT] = &cbk_compact_family,
    [CBK_FAMILY_SCAN] = &cbk_scan_family,
    [CBK_FAMILY_SORT] = &cbk_sort_family,
    [CBK_FAMILY_LINALG] = &cbk_linalg_family,
};
#define FAMILY_COUNT (sizeof families / sizeof *families)

const struct cbk_row *cbk_row_of(cbk_opcode opcode) {
    uint32_t family = opcode >> 8, index = opcode & 0xff;
    if (family >= FAMILY_COUNT || families[family] == NULL) return NULL;
    if (index >= families[family]->count) return NULL;
    const struct cbk_row *row = &families[family]->rows[index];
    return row->infer != NULL ? row : NULL;
}

const cbk_op_info *cbk_op_info_of(cbk_opcode opcode) {
    const struct cbk_row *row = cbk_row_of(opcode);
    return row != NULL ? &row->info : NULL;
}

const cbk_op_info *cbk_op_next(uint32_t *cursor) {
    if (cursor == NULL) return NULL;
    for (uint32_t opcode = *cursor; opcode < FAMILY_COUNT << 8; opcode++) {
        const struct cbk_row *row = cbk_row_of(opcode);
        if (row == NULL) continue;
        *cursor = opcode + 1;
        return &row->info;
    }
    *cursor = FAMILY_COUNT << 8;
    return NULL;
}
