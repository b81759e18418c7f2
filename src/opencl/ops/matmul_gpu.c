/// matmul_gpu.c: matrix products on any GPU (kernels/matmul_tile.cl, matmul_vector_group.cl).
///
/// Splits of k are a function of the shape alone, so that results do not depend on the device's
/// size; everything else that is chosen here changes no result.
#include "matmul.h"

// ---- tiles in local memory ----------------------------------------------------------------------

/// A form of the tiled kernel; the first that suits is taken.
struct form {
    uint32_t group, item, step; ///< LX = LY, TM = TN, BK
    int64_t least_tiles;        ///< of the output that make it worth while
};
static const struct form forms[] = {
    {16, 8, 8, 128}, // 128 x 128: most products per load
    {16, 4, 16, 0},  // 64 x 64
    {8, 4, 16, 0},   // 32 x 32: work-groups of 64
    {4, 4, 16, 0},   // 16 x 16: work-groups of 16
};

static int64_t tile_count(const struct cbk_ocl_product *product, const struct form *form) {
    int64_t side = (int64_t)form->group * form->item;
    return product->matrices * cbk_ocl_divide_up(product->m, side) *
           cbk_ocl_divide_up(product->n, side);
}

static const struct form *choose_form(const struct cbk_rt_caps *caps,
                                      const struct cbk_ocl_product *product) {
    const uint32_t last = sizeof forms / sizeof *forms - 1;
    for (uint32_t i = 0; i < last; i++) {
        const struct form *form = &forms[i];
        uint64_t bytes =
            2ull * form->step * (form->group * form->item + 1) * cbk_dtype_size(product->acc);
        if (form->group * form->group <= caps->max_work_group &&
            bytes <= caps->local_memory_bytes && tile_count(product, form) >= form->least_tiles)
            return form;
    }
    return &forms[last];
}

enum { SPLIT_TILES = 128, SHORTEST_SPLIT = 256, MOST_SPLITS = 32 };

/// Pieces of k where the output has few 64 x 64 tiles.
static int64_t choose_splits(const struct cbk_ocl_product *product) {
    int64_t tiles = tile_count(product, &forms[1]);
    int64_t splits = SPLIT_TILES / tiles, most = product->k / SHORTEST_SPLIT;
    splits = splits < most ? splits : most;
    return splits < 1 ? 1 : splits > MOST_SPLITS ? MOST_SPLITS : splits;
}

static struct cbk_ocl_matmul_program make_program(const struct cbk_rt_source *source,
                                                  const char *entry,
                                                  const struct cbk_ocl_product *product) {
    return (struct cbk_ocl_matmul_program){.source = source,
                                           .entry = entry,
                                           .in = product->in,
                                           .out = product->out_dtype,
                                           .acc = product->acc,
                                           .epilogue = cbk_ocl_epilogue_of(product)};
}

static struct cbk_ocl_matmul_program tile_program(const struct cbk_ocl_stream *stream,
                                                  const struct cbk_ocl_product *product,
                                                  const struct form *form, const char *entry) {
    struct cbk_ocl_matmul_program program = make_program(&cbk_kernel_matmul_tile, entry, product);
    program.run = form->step;
    program.group_x = program.group_y = form->group;
    program.item_rows = program.item_columns = form->item;
    // PoCL's functions of vectors round otherwise than those of scalars: here as in pointwise.cl.
    if (product->epilogue.activation != NULL && stream->device->caps->is_pocl) program.lanes = 4;
    program.has_index64 =
        (stream->device->flags & CBK_INDEX_64) != 0 || !cbk_ocl_product_fits_32bit(product);
    return program;
}

static void launch_groups(struct cbk_rt_launch *launch, int64_t groups, size_t local) {
    launch->operation = "matmul";
    launch->dimensions = 1;
    launch->global[0] = (size_t)groups * local;
    launch->local[0] = local;
}

static cbk_status launch_tiles(struct cbk_ocl_stream *stream, const struct cbk_ocl_product *product,
                               const struct form *form, const struct cbk_ocl_matrix *partial,
                               int64_t splits) {
    const struct cbk_ocl_matmul_program program = tile_program(stream, product, form, "multiply");
    struct cbk_rt_launch launch = {0};
    int64_t split = splits == 1 ? product->k : cbk_ocl_divide_up(product->k, splits);
    cbk_status status = cbk_ocl_matmul_kernel(stream, &program, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_ocl_arg_matrix(&launch, &product->a, CBK_RT_READ);
    cbk_ocl_arg_matrix(&launch, &product->b, CBK_RT_READ);
    cbk_ocl_arg_matrix(&launch, &product->out, CBK_RT_WRITE);
    cbk_ocl_arg_matrix(&launch, partial, CBK_RT_WRITE);
    cbk_ocl_arg_size(&launch, &product->m);
    cbk_ocl_arg_size(&launch, &product->n);
    cbk_ocl_arg_size(&launch, &product->k);
    cbk_ocl_arg_size(&launch, &product->a.line);
    cbk_ocl_arg_size(&launch, &product->a.run);
    cbk_ocl_arg_size(&launch, &product->b.run);
    cbk_ocl_arg_size(&launch, &product->b.line);
    cbk_ocl_arg_size(&launch, &product->out.line);
    cbk_ocl_arg_size(&launch, &product->out.run);
    cbk_ocl_arg_size(&launch, &splits);
    cbk_ocl_arg_size(&launch, &split);
    cbk_rt_arg_value(&launch, &product->batch, sizeof product->batch);
    cbk_ocl_arg_epilogue(&launch, product);
    launch_groups(&launch, tile_count(product, form) * splits, (size_t)form->group * form->group);
    return cbk_rt_launch(stream->rt, &launch);
}

cbk_status cbk_ocl_matmul_add_splits(struct cbk_ocl_stream *stream,
                                     const struct cbk_ocl_product *product,
                                     const struct cbk_ocl_matrix *partial, int64_t splits) {
    const struct form *form = choose_form(stream->device->caps, product);
    const struct cbk_ocl_matmul_program program = tile_program(stream, product, form, "add_splits");
    struct cbk_rt_launch launch = {0};
    cbk_status status = cbk_ocl_matmul_kernel(stream, &program, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_ocl_arg_matrix(&launch, partial, CBK_RT_READ);
    cbk_ocl_arg_matrix(&launch, &product->out, CBK_RT_WRITE);
    cbk_ocl_arg_size(&launch, &product->m);
    cbk_ocl_arg_size(&launch, &product->n);
    cbk_ocl_arg_size(&launch, &product->matrices);
    cbk_ocl_arg_size(&launch, &splits);
    cbk_ocl_arg_size(&launch, &product->out.line);
    cbk_ocl_arg_size(&launch, &product->out.run);
    cbk_rt_arg_value(&launch, &product->batch, sizeof product->batch);
    cbk_ocl_arg_epilogue(&launch, product);
    const size_t local = (size_t)form->group * form->group;
    launch_groups(&launch,
                  cbk_ocl_divide_up(product->m * product->n * product->matrices, (int64_t)local),
                  local);
    return cbk_rt_launch(stream->rt, &launch);
}

cbk_status cbk_ocl_matmul_tile(struct cbk_ocl_stream *stream,
                               const struct cbk_ocl_product *product) {
    const struct form *form = choose_form(stream->device->caps, product);
    int64_t splits = choose_splits(product);
    struct cbk_ocl_matrix partial = {.block = product->out.block};
    cbk_status status = CBK_OK;

    if (splits > 1)
        RT_TRY(cbk_ocl_matmul_temporary(
            stream, product->acc, splits * product->matrices * product->m * product->n, &partial));
    const struct cbk_ocl_product bare = cbk_ocl_product_bare(product);
    RT_TRY(launch_tiles(stream, splits > 1 ? &bare : product, form, &partial, splits));
    if (splits > 1) RT_TRY(cbk_ocl_matmul_add_splits(stream, product, &partial, splits));
done:
    if (splits > 1 && partial.block != NULL) cbk_rt_free(stream->device->rt, &partial.block);
    return status;
}

// ---- one row ------------------------------------------------------------------------------------

enum {
    VECTOR_LANES = 4,
    VECTOR_COLUMNS = 64, ///< COLUMNS of matmul_vector_group.cl
    VECTOR_BLOCKS = 512, ///< of that many columns that fill a device
    SHORTEST_PART = 512  ///< of k
};

/// A plan for one row: work-items of a group, those that share a column, pieces of k.
struct vector_plan {
    uint32_t threads;
    int32_t lanes;
    int64_t groups, parts, part;
};

/// Pieces of k where the output is short. A function of the shape alone.
static int64_t choose_part(const struct cbk_ocl_product *product) {
    int64_t blocks = product->matrices * cbk_ocl_divide_up(product->n, VECTOR_COLUMNS);
    int64_t parts = VECTOR_BLOCKS / blocks, most = product->k / SHORTEST_PART;
    parts = parts < most ? parts : most;
    if (parts <= 1) return product->k;
    // Each piece begins where aligned vectors do.
    return cbk_ocl_divide_up(product->k, parts * VECTOR_LANES) * VECTOR_LANES;
}

static struct vector_plan plan_vector(const struct cbk_rt_caps *caps,
                                      const struct cbk_ocl_product *product) {
    struct vector_plan plan = {.threads = caps->max_work_group >= 256 ? 256 : 64};
    int64_t per_group = VECTOR_COLUMNS;
    if (product->b.line != 1) {
        plan.lanes = 4;
        while (plan.lanes < 64 && plan.lanes * VECTOR_LANES * 4 < product->k) plan.lanes *= 2;
        per_group = plan.threads / (uint32_t)plan.lanes;
    }
    plan.part = choose_part(product);
    plan.parts = cbk_ocl_divide_up(product->k, plan.part);
    plan.groups = product->matrices * cbk_ocl_divide_up(product->n, per_group) * plan.parts;
    return plan;
}

/// Is what is read in vectors aligned: rows or columns of b, in dots also a?
static bool is_aligned(const struct cbk_ocl_product *product, bool is_dots) {
    int64_t bits = product->b.offset;
    if (is_dots)
        bits |= product->a.offset | (product->n == 1 ? 0 : product->b.line);
    else
        bits |= product->k == 1 ? 0 : product->b.run;
    for (int64_t i = 0; i < product->batch.rank; i++)
        bits |= product->batch.strides[CBK_OCL_B][i] |
                (is_dots ? product->batch.strides[CBK_OCL_A][i] : 0);
    return bits % VECTOR_LANES == 0;
}

static cbk_status launch_vector(struct cbk_ocl_stream *stream,
                                const struct cbk_ocl_product *product,
                                const struct vector_plan *plan,
                                const struct cbk_ocl_matrix *partial) {
    const bool is_dots = plan->lanes != 0;
    struct cbk_rt_launch launch = {0};
    struct cbk_ocl_matmul_program program =
        make_program(&cbk_kernel_matmul_vector_group, is_dots ? "dots" : "columns", product);
    program.lanes = VECTOR_LANES;
    program.group_x = plan->threads;
    program.is_aligned = is_aligned(product, is_dots);
    cbk_status status = cbk_ocl_matmul_kernel(stream, &program, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_ocl_arg_matrix(&launch, &product->a, CBK_RT_READ);
    cbk_ocl_arg_matrix(&launch, &product->b, CBK_RT_READ);
    cbk_ocl_arg_matrix(&launch, &product->out, CBK_RT_WRITE);
    cbk_ocl_arg_matrix(&launch, partial, CBK_RT_WRITE);
    cbk_ocl_arg_size(&launch, &product->n);
    cbk_ocl_arg_size(&launch, &product->k);
    cbk_ocl_arg_size(&launch, &plan->parts);
    cbk_ocl_arg_size(&launch, &plan->part);
    if (!is_dots) cbk_ocl_arg_size(&launch, &product->a.run);
    cbk_ocl_arg_size(&launch, is_dots ? &product->b.line : &product->b.run);
    cbk_ocl_arg_size(&launch, &product->out.run);
    if (is_dots) cbk_rt_arg_value(&launch, &plan->lanes, sizeof plan->lanes);
    cbk_rt_arg_value(&launch, &product->batch, sizeof product->batch);
    cbk_ocl_arg_epilogue(&launch, product);
    launch_groups(&launch, plan->groups, plan->threads);
    return cbk_rt_launch(stream->rt, &launch);
}

cbk_status cbk_ocl_matmul_vector_group(struct cbk_ocl_stream *stream,
                                       const struct cbk_ocl_product *product) {
    const struct vector_plan plan = plan_vector(stream->device->caps, product);
    struct cbk_ocl_matrix partial = {.block = product->out.block};
    cbk_status status = CBK_OK;

    if (plan.parts > 1)
        RT_TRY(cbk_ocl_matmul_temporary(stream, product->acc,
                                        plan.parts * product->matrices * product->n, &partial));
    const struct cbk_ocl_product bare = cbk_ocl_product_bare(product);
    RT_TRY(launch_vector(stream, plan.parts > 1 ? &bare : product, &plan, &partial));
    if (plan.parts > 1) RT_TRY(cbk_ocl_matmul_add_splits(stream, product, &partial, plan.parts));
done:
    if (plan.parts > 1 && partial.block != NULL) cbk_rt_free(stream->device->rt, &partial.block);
    return status;
}
