/// matmul_rows.c: products of few rows on a GPU (kernels/matmul_rows.cl).
///
/// How the work is cut is a function of the shape alone, so that results do not depend on the
/// device's size.
#include "matmul.h"

enum {
    LANES = 4, ///< W
    THREADS = 256,
    FEW_THREADS = 64, ///< where each of many would have little to add
    MOST_ROWS = 16,
    FEW_ROWS = 4,
    SHORTEST_K = 32,
    SHORT_K = 1024,
    LOCAL_BYTES = 36 * 1024,
    WANTED_GROUPS = 256,  ///< that fill a device
    FEW_GROUPS = 64,      ///< for fewer k is cut
    SHORTEST_PART = 1024, ///< of k
    MOST_PARTS = 2 * FEW_GROUPS
};

struct plan {
    struct cbk_ocl_matmul_program program;
    int64_t groups, parts, part;
};

bool cbk_ocl_matmul_rows_suits(const struct cbk_ocl_stream *stream,
                               const struct cbk_ocl_product *p) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    bool has_vectors = p->b.line == 1 || (p->b.run == 1 && p->a.run == 1);
    return p->m >= 2 && p->m <= MOST_ROWS && p->k >= SHORTEST_K && has_vectors &&
           caps->max_work_group >= THREADS && caps->local_memory_bytes >= LOCAL_BYTES &&
           p->n <= INT32_MAX / MOST_PARTS / p->matrices;
}

static bool is_aligned(const struct cbk_ocl_product *p, bool is_along_k) {
    int64_t bits = p->b.offset | (is_along_k ? p->b.line : p->b.run);
    if (is_along_k) bits |= p->a.offset | p->a.line;
    for (int64_t i = 0; i < p->batch.rank; i++)
        bits |= p->batch.strides[CBK_OCL_B][i] | (is_along_k ? p->batch.strides[CBK_OCL_A][i] : 0);
    return bits % LANES == 0;
}

/// As many columns side by side as leave enough work-groups: long reads of b's rows. Where there are
/// too few in any case, small ones, which have less to add up, and more of them.
static void choose_groups(const struct cbk_ocl_product *p, struct plan *plan) {
    struct cbk_ocl_matmul_program *program = &plan->program;
    program->rows = p->m <= 4 ? 4 : p->m <= 8 ? 8 : 16;
    program->group_x = THREADS;
    program->item_columns = 16;
    do {
        program->item_columns /= 2;
        plan->groups = p->matrices * cbk_ocl_divide_up(p->n, program->item_columns * LANES);
    } while (program->item_columns > 1 && plan->groups < WANTED_GROUPS);
    if (plan->groups >= WANTED_GROUPS || p->k > SHORT_K) return;
    program->group_x = FEW_THREADS;
    program->rows = FEW_ROWS;
    plan->groups *= cbk_ocl_divide_up(p->m, FEW_ROWS);
}

static struct plan make_plan(const struct cbk_ocl_product *p) {
    struct plan plan = {.program = {.source = &cbk_kernel_matmul_rows,
                                    .entry = "multiply",
                                    .in = p->in,
                                    .out = p->out_dtype,
                                    .acc = p->acc,
                                    .lanes = LANES,
                                    .is_along_k = p->b.line != 1}};
    struct cbk_ocl_matmul_program *program = &plan.program;
    choose_groups(p, &plan);
    program->is_aligned = is_aligned(p, program->is_along_k);
    plan.parts = plan.groups < FEW_GROUPS ? MOST_PARTS / plan.groups : 1;
    if (plan.parts > p->k / SHORTEST_PART) plan.parts = p->k / SHORTEST_PART;
    if (plan.parts < 1) plan.parts = 1;
    plan.part = cbk_ocl_divide_up(p->k, plan.parts * LANES) * LANES;
    plan.parts = cbk_ocl_divide_up(p->k, plan.part);
    program->has_parts = plan.parts > 1;
    if (plan.parts == 1) program->epilogue = cbk_ocl_epilogue_of(p);
    return plan;
}

/// As in kernels/matmul_rows.cl.
struct args {
    int64_t a_offset, b_offset, out_offset, partial_offset;
    int64_t m, n, k, parts, part;
    int64_t a_line, a_run, b_stride, out_line, out_run;
    struct cbk_ocl_batch batch;
};

static struct args make_args(const struct cbk_ocl_product *p, const struct plan *plan,
                             const struct cbk_ocl_matrix *partial) {
    return (struct args){.a_offset = p->a.offset,
                         .b_offset = p->b.offset,
                         .out_offset = p->out.offset,
                         .partial_offset = partial->offset,
                         .m = p->m,
                         .n = p->n,
                         .k = p->k,
                         .parts = plan->parts,
                         .part = plan->part,
                         .a_line = p->a.line,
                         .a_run = p->a.run,
                         .b_stride = plan->program.is_along_k ? p->b.line : p->b.run,
                         .out_line = p->out.line,
                         .out_run = p->out.run,
                         .batch = p->batch};
}

static cbk_status launch(struct cbk_ocl_stream *stream, const struct cbk_ocl_product *p,
                         const struct plan *plan, const struct cbk_ocl_matrix *partial) {
    const struct args args = make_args(p, plan, partial);
    struct cbk_rt_launch launch = {
        .operation = "matmul", .dimensions = 1, .local = {plan->program.group_x}};
    cbk_status status = cbk_ocl_matmul_kernel(stream, &plan->program, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, p->a.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, p->b.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, p->out.block, CBK_RT_WRITE);
    if (plan->parts > 1) cbk_rt_arg_block(&launch, partial->block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    if (plan->parts == 1) cbk_ocl_arg_epilogue(&launch, p);
    launch.global[0] = (size_t)(plan->groups * plan->parts) * launch.local[0];
    return cbk_rt_launch(stream->rt, &launch);
}

cbk_status cbk_ocl_matmul_rows(struct cbk_ocl_stream *stream,
                               const struct cbk_ocl_product *product) {
    const struct plan plan = make_plan(product);
    struct cbk_ocl_matrix partial = {.block = NULL};
    cbk_status status = CBK_OK;

    if (plan.parts > 1)
        RT_TRY(cbk_ocl_matmul_temporary(stream, product->acc,
                                        plan.parts * product->matrices * product->m * product->n,
                                        &partial));
    RT_TRY(launch(stream, product, &plan, &partial));
    if (plan.parts > 1) RT_TRY(cbk_ocl_matmul_add_splits(stream, product, &partial, plan.parts));
done:
    if (plan.parts > 1 && partial.block != NULL) cbk_rt_free(stream->device->rt, &partial.block);
    return status;
}
