/// lu.c: LU with partial pivoting, and determinants (kernels/lu.cl, lu_gpu.cl, lu_cpu.cl).
///
///        first  steps
///      . |     |            Panel by panel: the panel is factored from its first row down; the rows
///     ---+-----+-------     of the columns beside it are swapped likewise; behind it the rows of the
///        |  L  |   U        panel become U, and the product of what is below the panel with U is
///        |-----+-------     taken from what is below U.
///        |  L  |  A - L U
#include "linalg.h"

enum { GROUP = 64, COLUMNS_CPU = 32 };

// ---- panels -------------------------------------------------------------------------------------

/// As in lu_gpu.cl and lu_cpu.cl.
struct lu_args {
    struct cbk_ocl_place a, pivots;
    int32_t rows, columns, first, reserved;
};

/// A factorisation of `a` in place.
struct lu {
    const struct cbk_ocl_linalg *linalg;
    struct cbk_ocl_matrices a;
    struct cbk_ocl_matrices pivots;  ///< i32; one row of the shorter side
    struct cbk_ocl_matrices negated; ///< -U of a panel's rows behind it; no block: nothing is there
    struct cbk_ocl_matrices work;    ///< for a panel on CPUs; no block: it needs none
};

static struct cbk_ocl_place pivots_from(const struct lu *lu, int64_t first) {
    struct cbk_ocl_place place = lu->pivots.at;
    place.offset += first;
    return place;
}

static cbk_status factor_panel(const struct lu *lu, int64_t first, int64_t steps) {
    const struct cbk_ocl_linalg *linalg = lu->linalg;
    const int64_t rows = lu->a.rows - first;
    const struct cbk_ocl_matrices panel = cbk_ocl_matrices_part(&lu->a, first, first, rows, steps);
    const struct lu_args args = {.a = panel.at,
                                 .pivots = pivots_from(lu, first),
                                 .rows = (int32_t)rows,
                                 .columns = (int32_t)steps,
                                 .first = (int32_t)first};
    struct cbk_rt_launch launch;
    cbk_status status = cbk_ocl_panel_begin(linalg, &cbk_kernel_lu_gpu, &cbk_kernel_lu_cpu,
                                            "lu_panel", rows, &launch);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, panel.block, CBK_RT_READ_WRITE);
    cbk_rt_arg_block(&launch, lu->pivots.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    if (!linalg->is_gpu) {
        cbk_rt_arg_block(&launch, lu->work.block != NULL ? lu->work.block : panel.block,
                         CBK_RT_READ_WRITE);
        cbk_rt_arg_value(&launch, &lu->work.at.offset, sizeof lu->work.at.offset);
    }
    return cbk_rt_launch(linalg->stream->rt, &launch);
}

// ---- columns beside a panel ---------------------------------------------------------------------

/// As in lu.cl.
struct columns_args {
    struct cbk_ocl_place a, pivots, negated;
    int32_t first, steps, columns, before, items, reserved;
    int64_t count;
};

static struct cbk_ocl_linalg_program lu_program(cbk_dtype dtype, bool is_gpu) {
    return (struct cbk_ocl_linalg_program){
        .source = &cbk_kernel_lu, .dtype = dtype, .columns = is_gpu ? 1 : COLUMNS_CPU};
}

static int32_t items_for(int64_t columns, uint32_t each) {
    return (int32_t)((columns + each - 1) / each);
}

static cbk_status finish_columns(const struct lu *lu, int64_t first, int64_t steps) {
    const struct cbk_ocl_linalg *linalg = lu->linalg;
    const struct cbk_ocl_linalg_program program = lu_program(linalg->dtype, linalg->is_gpu);
    const int64_t behind = lu->a.columns - first - steps;
    struct columns_args args = {.a = lu->a.at,
                                .pivots = pivots_from(lu, first),
                                .negated = lu->negated.at,
                                .first = (int32_t)first,
                                .steps = (int32_t)steps,
                                .columns = (int32_t)lu->a.columns,
                                .before = items_for(first, program.columns),
                                .count = linalg->count};
    args.items = args.before + items_for(behind, program.columns);
    if (args.items == 0) return CBK_OK;
    struct cbk_rt_launch launch;
    cbk_status status =
        cbk_ocl_linalg_begin(linalg, &program, "lu_columns", args.items * linalg->count,
                             linalg->is_gpu ? GROUP : 1, &launch);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, lu->a.block, CBK_RT_READ_WRITE);
    cbk_rt_arg_block(&launch, lu->pivots.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, lu->negated.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    return cbk_rt_launch(linalg->stream->rt, &launch);
}

/// What is below and behind a panel.
static cbk_status take_product(const struct lu *lu, int64_t first, int64_t steps) {
    const int64_t next = first + steps;
    const int64_t below = lu->a.rows - next, behind = lu->a.columns - next;
    if (below == 0 || behind == 0) return CBK_OK;
    const struct cbk_ocl_matrices lower = cbk_ocl_matrices_part(&lu->a, next, first, below, steps);
    const struct cbk_ocl_matrices upper = cbk_ocl_matrices_part(&lu->negated, 0, 0, steps, behind);
    const struct cbk_ocl_matrices rest = cbk_ocl_matrices_part(&lu->a, next, next, below, behind);
    return cbk_ocl_matrices_multiply(lu->linalg, &lower, &upper, true, &rest);
}

// ---- factorisation ------------------------------------------------------------------------------

static cbk_status factor(const struct cbk_ocl_linalg *linalg, const struct cbk_ocl_matrices *a,
                         const struct cbk_ocl_matrices *pivots) {
    struct cbk_rt_device *device = linalg->stream->device->rt;
    struct lu lu = {.linalg = linalg, .a = *a, .pivots = *pivots};
    cbk_status status = CBK_OK;
    if (a->columns > cbk_ocl_shorter(a->rows, CBK_OCL_PANEL)) {
        RT_TRY(cbk_ocl_matrices_temporary(linalg, linalg->dtype, CBK_OCL_PANEL, a->columns,
                                          &lu.negated));
        if (!linalg->is_gpu)
            RT_TRY(cbk_ocl_matrices_temporary(linalg, linalg->dtype, a->rows, CBK_OCL_PANEL,
                                              &lu.work));
    }
    for (int64_t first = 0; first < pivots->columns; first += CBK_OCL_PANEL) {
        const int64_t steps = cbk_ocl_shorter(CBK_OCL_PANEL, pivots->columns - first);
        RT_TRY(factor_panel(&lu, first, steps));
        RT_TRY(finish_columns(&lu, first, steps));
        RT_TRY(take_product(&lu, first, steps));
    }
done:
    cbk_rt_free(device, &lu.work.block);
    cbk_rt_free(device, &lu.negated.block);
    return status;
}

// ---- results ------------------------------------------------------------------------------------

/// As in lu.cl.
struct result_args {
    struct cbk_ocl_place a, pivots;
    int64_t result, count;
    int32_t rows, steps;
};

static cbk_status find_permutation(const struct cbk_ocl_linalg *linalg,
                                   const struct cbk_ocl_matrices *pivots,
                                   const struct cbk_ocl_matrices *permutation) {
    const struct cbk_ocl_linalg_program program = lu_program(linalg->dtype, linalg->is_gpu);
    const struct result_args args = {.pivots = pivots->at,
                                     .result = permutation->at.offset,
                                     .count = linalg->count,
                                     .rows = (int32_t)linalg->rows,
                                     .steps = (int32_t)pivots->columns};
    struct cbk_rt_launch launch;
    cbk_status status = cbk_ocl_linalg_begin(linalg, &program, "lu_permutation",
                                             linalg->count * linalg->rows, GROUP, &launch);
    if (status != CBK_OK || linalg->count * linalg->rows == 0) return status;
    cbk_rt_arg_block(&launch, pivots->block != NULL ? pivots->block : permutation->block,
                     CBK_RT_READ);
    cbk_rt_arg_block(&launch, permutation->block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    return cbk_rt_launch(linalg->stream->rt, &launch);
}

cbk_status cbk_ocl_lu(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct cbk_ocl_linalg linalg;
    struct cbk_ocl_staged lu = {.is_temporary = false}, pivots = lu, permutation = lu;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_ocl_linalg_init(stream, "lu_factor", op->inputs[0], &linalg));
    const int64_t steps = cbk_ocl_shorter(linalg.rows, linalg.columns);
    RT_TRY(cbk_ocl_stage(&linalg, op->outputs[0], linalg.dtype, linalg.rows, linalg.columns, &lu));
    RT_TRY(cbk_ocl_stage(&linalg, op->outputs[1], CBK_DTYPE_I32, 1, steps, &pivots));
    RT_TRY(cbk_ocl_stage(&linalg, op->outputs[2], CBK_DTYPE_I32, 1, linalg.rows, &permutation));
    RT_TRY(cbk_ocl_matrices_load(&linalg, op->inputs[0], &lu.matrices));
    RT_TRY(factor(&linalg, &lu.matrices, &pivots.matrices));
    RT_TRY(find_permutation(&linalg, &pivots.matrices, &permutation.matrices));
    RT_TRY(cbk_ocl_stage_put(&linalg, &lu));
    RT_TRY(cbk_ocl_stage_put(&linalg, &pivots));
    RT_TRY(cbk_ocl_stage_put(&linalg, &permutation));
done:
    cbk_ocl_stage_free(&linalg, &permutation);
    cbk_ocl_stage_free(&linalg, &pivots);
    cbk_ocl_stage_free(&linalg, &lu);
    return status;
}

static cbk_status multiply_diagonal(const struct cbk_ocl_linalg *linalg,
                                    const struct cbk_ocl_matrices *a,
                                    const struct cbk_ocl_matrices *pivots,
                                    const struct cbk_ocl_matrices *result) {
    const struct cbk_ocl_linalg_program program = lu_program(linalg->dtype, linalg->is_gpu);
    const struct result_args args = {.a = a->at,
                                     .pivots = pivots->at,
                                     .result = result->at.offset,
                                     .count = linalg->count,
                                     .rows = (int32_t)linalg->rows,
                                     .steps = (int32_t)linalg->rows};
    struct cbk_rt_launch launch;
    cbk_status status =
        cbk_ocl_linalg_begin(linalg, &program, "lu_determinant", linalg->count, GROUP, &launch);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, a->block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, pivots->block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, result->block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    return cbk_rt_launch(linalg->stream->rt, &launch);
}

cbk_status cbk_ocl_det(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct cbk_rt_device *device = stream->device->rt;
    struct cbk_ocl_linalg linalg;
    struct cbk_ocl_matrices a = {.block = NULL}, pivots = a;
    struct cbk_ocl_staged result = {.is_temporary = false};
    cbk_status status = CBK_OK;
    RT_TRY(cbk_ocl_linalg_init(stream, "det", op->inputs[0], &linalg));
    RT_TRY(cbk_ocl_matrices_temporary(&linalg, linalg.dtype, linalg.rows, linalg.rows, &a));
    RT_TRY(cbk_ocl_matrices_temporary(&linalg, CBK_DTYPE_I32, 1, linalg.rows, &pivots));
    RT_TRY(cbk_ocl_stage(&linalg, op->outputs[0], linalg.dtype, 1, 1, &result));
    RT_TRY(cbk_ocl_matrices_load(&linalg, op->inputs[0], &a));
    RT_TRY(factor(&linalg, &a, &pivots));
    RT_TRY(multiply_diagonal(&linalg, &a, &pivots, &result.matrices));
    RT_TRY(cbk_ocl_stage_put(&linalg, &result));
done:
    cbk_ocl_stage_free(&linalg, &result);
    cbk_rt_free(device, &pivots.block);
    cbk_rt_free(device, &a.block);
    return status;
}

// ---- list of programs ---------------------------------------------------------------------------

void cbk_ocl_lu_programs(cbk_ocl_program_visitor visit, void *user_data) {
    static const cbk_dtype dtypes[] = {CBK_DTYPE_F32, CBK_DTYPE_F64};
    cbk_ocl_panel_programs(&cbk_kernel_lu_gpu, &cbk_kernel_lu_cpu, "lu_panel", visit, user_data);
    for (int i = 0; i < 4; i++) {
        const struct cbk_ocl_linalg_program program = lu_program(dtypes[i / 2], i % 2 != 0);
        const struct cbk_rt_spec spec = cbk_ocl_linalg_spec(&program, "lu_columns");
        visit(user_data, &spec);
    }
}
