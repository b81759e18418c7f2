/// programs.c: every program that the launchers can name.
#include "merge.h"

void cbk_ocl_each_program(cbk_ocl_program_visitor visit, void *user_data) {
    static void (*const families[])(cbk_ocl_program_visitor visit, void *user_data) = {
        cbk_ocl_unary_programs,
        cbk_ocl_binary_programs,
        cbk_ocl_compare_programs,
        cbk_ocl_ternary_programs,
        cbk_ocl_cast_programs,
        cbk_ocl_create_programs,
        cbk_ocl_move_programs,
        cbk_ocl_reduce_programs,
        cbk_ocl_softmax_programs,
        cbk_ocl_matmul_programs,
        cbk_ocl_index_programs,
        cbk_ocl_random_programs,
        cbk_ocl_activation_backward_programs,
        cbk_ocl_merged_programs,
        cbk_ocl_compact_programs,
        cbk_ocl_scan_programs,
        cbk_ocl_sort_programs,
        cbk_ocl_linalg_programs,
        cbk_ocl_norm_programs,
        cbk_ocl_batch_norm_programs,
    };
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) families[i](visit, user_data);
}
