/// matmul_cpu.c: matrix products on a CPU (kernels/matmul_packed.cl, _small.cl, _vector.cl).
///
/// Shapes of tiles and the number of work-items change no result: sums depend on the runs of k
/// alone, and those on the dtype.
#include "matmul.h"

enum {
    RUN = 512,       ///< KC: a panel of b for one run stays near the L1 cache
    RUN_WIDE = 384,  ///< with 64-byte vectors
    SMALL_RUN = 256, ///< both operands in private memory
    SMALL_RUN_WIDE = 128,
    SMALL_COLUMNS = 4, ///< COLUMNS of matmul_small.cl
    PACK_PANELS = 8,   ///< PANELS of matmul_packed.cl
    TILE_ROWS = 192,   ///< of a macro tile, its runs of a stay in the L2 cache
    TILE_COLUMNS = 1024,
    ITEMS_PER_CORE = 4,              ///< for balance
    SMALL_ITEMS = 2,                 ///< per core, of a small product
    PACKED_BYTES = 256 * 1024 * 1024 ///< most temporary memory of one product
};

/// The register tile of a device.
struct tile {
    uint32_t lanes, rows, columns;
    int64_t row_panels, column_panels;
};

static struct tile choose_tile(const struct cbk_ocl_stream *stream,
                               const struct cbk_ocl_product *product) {
    uint32_t lanes = stream->device->caps->float_lanes;
    lanes = lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4;
    struct tile tile = {.rows = lanes == 16 ? 12 : 6};
    tile.lanes = cbk_dtype_size(product->acc) == 8 ? lanes / 2 : lanes;
    tile.columns = 2 * tile.lanes;
    tile.row_panels = cbk_ocl_divide_up(product->m, tile.rows);
    tile.column_panels = cbk_ocl_divide_up(product->n, tile.columns);
    return tile;
}

static struct cbk_ocl_matmul_program make_program(const struct cbk_rt_source *source,
                                                  const char *entry,
                                                  const struct cbk_ocl_product *product,
                                                  const struct tile *tile, uint32_t run) {
    return (struct cbk_ocl_matmul_program){.source = source,
                                           .entry = entry,
                                           .in = product->in,
                                           .out = product->out_dtype,
                                           .acc = product->acc,
                                           .lanes = tile->lanes,
                                           .rows = tile->rows,
                                           .run = run,
                                           .epilogue = cbk_ocl_epilogue_of(product)};
}

static bool is_wide(const struct tile *tile) {
    return tile->rows == 12;
}

/// Does the output hold the sums of a run exactly?
static bool out_is_acc(const struct cbk_ocl_product *product) {
    return product->acc == CBK_DTYPE_F32
               ? product->out_dtype == CBK_DTYPE_F32 || product->out_dtype == CBK_DTYPE_FLEX32
           : product->acc == CBK_DTYPE_F64
               ? product->out_dtype == CBK_DTYPE_F64
               : cbk_dtype_size(product->out_dtype) == cbk_dtype_size(product->acc);
}

/// Elements of the sums between runs, 0 if they need no place of their own.
static int64_t sums_count(const struct cbk_ocl_product *product, const struct tile *tile,
                          uint32_t run) {
    if (out_is_acc(product) || product->k <= run) return 0;
    return product->matrices * tile->row_panels * tile->column_panels * tile->rows * tile->columns;
}

static void launch_items(struct cbk_rt_launch *launch, int64_t items) {
    launch->operation = "matmul";
    launch->dimensions = 1;
    launch->global[0] = (size_t)items;
    launch->local[0] = 1;
}

// ---- packed -------------------------------------------------------------------------------------

/// b packed: which of its matrices differ, and where each matrix of the batch finds its own.
struct packing {
    struct cbk_ocl_batch distinct; ///< axes along which b does not repeat
    int64_t matrices;
    int64_t numbers[6]; ///< strides of the product's axes, in packed matrices
    int64_t count;      ///< elements
};

static struct packing plan_packing(const struct cbk_ocl_product *product, const struct tile *tile) {
    const struct cbk_ocl_batch *batch = &product->batch;
    struct packing packing = {.matrices = 1};
    for (int64_t i = 0; i < batch->rank; i++) {
        int64_t stride = batch->strides[CBK_OCL_B][i];
        if (stride == 0) continue;
        packing.numbers[i] = packing.matrices;
        packing.matrices *= batch->shape[i];
        packing.distinct.shape[packing.distinct.rank] = batch->shape[i];
        packing.distinct.strides[0][packing.distinct.rank++] = stride;
    }
    packing.count = packing.matrices * tile->column_panels * tile->columns * product->k;
    return packing;
}

static cbk_status pack_b(struct cbk_ocl_stream *stream, const struct cbk_ocl_product *product,
                         const struct cbk_ocl_matmul_program *program, const struct tile *tile,
                         const struct packing *packing, const struct cbk_ocl_matrix *packed) {
    struct cbk_rt_launch launch = {0};
    cbk_status status = cbk_ocl_matmul_kernel(stream, program, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_ocl_arg_matrix(&launch, &product->b, CBK_RT_READ);
    cbk_ocl_arg_size(&launch, &product->n);
    cbk_ocl_arg_size(&launch, &product->k);
    cbk_ocl_arg_size(&launch, &product->b.run);
    cbk_ocl_arg_size(&launch, &product->b.line);
    cbk_rt_arg_value(&launch, &packing->distinct, sizeof packing->distinct);
    cbk_ocl_arg_matrix(&launch, packed, CBK_RT_WRITE);
    launch_items(&launch, packing->matrices * cbk_ocl_divide_up(product->k, program->run) *
                              cbk_ocl_divide_up(tile->column_panels, PACK_PANELS));
    return cbk_rt_launch(stream->rt, &launch);
}

/// Panels of a that half of the local memory holds; drivers of CPUs derive its size from a cache.
static uint32_t choose_a_panels(const struct cbk_ocl_stream *stream,
                                const struct cbk_ocl_product *product, const struct tile *tile,
                                uint32_t run) {
    uint64_t panel_bytes = (uint64_t)tile->rows * run * cbk_dtype_size(product->acc);
    uint64_t panels = stream->device->caps->local_memory_bytes / 2 / panel_bytes;
    uint32_t most = TILE_ROWS / tile->rows;
    return panels < 1 ? 1 : panels > most ? most : (uint32_t)panels;
}

/// Equal macro tiles, at least ITEMS_PER_CORE for each core if possible.
static void choose_macro_tile(const struct cbk_ocl_stream *stream,
                              const struct cbk_ocl_product *product, const struct tile *tile,
                              int64_t a_panels, int64_t *out_rows, int64_t *out_columns) {
    int64_t wanted = (int64_t)stream->device->caps->compute_units * ITEMS_PER_CORE;
    int64_t down = cbk_ocl_divide_up(tile->row_panels, a_panels);
    int64_t across = cbk_ocl_divide_up(tile->column_panels, TILE_COLUMNS / tile->columns);
    while (product->matrices * down * across < wanted) {
        int64_t rows = cbk_ocl_divide_up(tile->row_panels, down);
        int64_t columns = cbk_ocl_divide_up(tile->column_panels, across);
        if (rows * tile->rows >= columns * tile->columns && rows > 4)
            down++;
        else if (columns > 4)
            across++;
        else
            break;
    }
    *out_rows = cbk_ocl_divide_up(tile->row_panels, down);
    *out_columns = cbk_ocl_divide_up(tile->column_panels, across);
}

static cbk_status multiply_packed(struct cbk_ocl_stream *stream,
                                  const struct cbk_ocl_product *product,
                                  const struct cbk_ocl_matmul_program *program,
                                  const struct tile *tile, const struct packing *packing,
                                  const struct cbk_ocl_matrix *packed,
                                  const struct cbk_ocl_matrix *sums) {
    struct cbk_rt_launch launch = {0};
    struct cbk_ocl_batch batch = product->batch;
    int64_t rows, columns;
    cbk_status status = cbk_ocl_matmul_kernel(stream, program, &launch.kernel);
    if (status != CBK_OK) return status;
    choose_macro_tile(stream, product, tile, program->panels, &rows, &columns);
    for (int64_t i = 0; i < batch.rank; i++) batch.strides[CBK_OCL_B][i] = packing->numbers[i];
    cbk_ocl_arg_matrix(&launch, &product->a, CBK_RT_READ);
    cbk_ocl_arg_matrix(&launch, packed, CBK_RT_READ);
    cbk_ocl_arg_matrix(&launch, &product->out, CBK_RT_WRITE);
    cbk_ocl_arg_matrix(&launch, sums, CBK_RT_READ_WRITE);
    cbk_ocl_arg_size(&launch, &product->m);
    cbk_ocl_arg_size(&launch, &product->n);
    cbk_ocl_arg_size(&launch, &product->k);
    cbk_ocl_arg_size(&launch, &rows);
    cbk_ocl_arg_size(&launch, &columns);
    cbk_ocl_arg_size(&launch, &product->a.line);
    cbk_ocl_arg_size(&launch, &product->a.run);
    cbk_ocl_arg_size(&launch, &product->out.line);
    cbk_ocl_arg_size(&launch, &product->out.run);
    cbk_rt_arg_value(&launch, &batch, sizeof batch);
    cbk_ocl_arg_epilogue(&launch, product);
    launch_items(&launch, product->matrices * cbk_ocl_divide_up(tile->row_panels, rows) *
                              cbk_ocl_divide_up(tile->column_panels, columns));
    return cbk_rt_launch(stream->rt, &launch);
}

static cbk_status run_packed(struct cbk_ocl_stream *stream, const struct cbk_ocl_product *product,
                             const struct tile *tile, const struct packing *packing, uint32_t run) {
    struct cbk_ocl_matrix packed = {0}, sums = {0};
    int64_t sums_length = sums_count(product, tile, run);
    cbk_status status = CBK_OK;
    struct cbk_ocl_matmul_program program =
        make_program(&cbk_kernel_matmul_packed, "pack_b", product, tile, run);
    program.panels = choose_a_panels(stream, product, tile, run);

    RT_TRY(cbk_ocl_matmul_temporary(stream, product->acc, packing->count, &packed));
    RT_TRY(pack_b(stream, product, &program, tile, packing, &packed));
    if (sums_length > 0)
        RT_TRY(cbk_ocl_matmul_temporary(stream, product->acc, sums_length, &sums));
    else
        sums.block = product->out.block; // stands in: it is not touched as such
    program.entry = "multiply";
    RT_TRY(multiply_packed(stream, product, &program, tile, packing, &packed, &sums));
done:
    if (sums_length > 0 && sums.block != NULL) cbk_rt_free(stream->device->rt, &sums.block);
    if (packed.block != NULL) cbk_rt_free(stream->device->rt, &packed.block);
    return status;
}

cbk_status cbk_ocl_matmul_packed(struct cbk_ocl_stream *stream,
                                 const struct cbk_ocl_product *product) {
    struct tile tile = choose_tile(stream, product);
    uint32_t run = is_wide(&tile) ? RUN_WIDE : RUN;
    struct packing packing = plan_packing(product, &tile);
    int64_t elements = packing.count + sums_count(product, &tile, run);
    if (elements * (int64_t)cbk_dtype_size(product->acc) > PACKED_BYTES) {
        struct cbk_ocl_product first, second;
        if (!cbk_ocl_product_halve(product, 64, &first, &second))
            return cbk_ocl_matmul_small(stream, product);
        cbk_status status = cbk_ocl_matmul_packed(stream, &first);
        return status == CBK_OK ? cbk_ocl_matmul_packed(stream, &second) : status;
    }
    return run_packed(stream, product, &tile, &packing, run);
}

// ---- small --------------------------------------------------------------------------------------

static cbk_status launch_small(struct cbk_ocl_stream *stream, const struct cbk_ocl_product *product,
                               const struct cbk_ocl_matmul_program *program,
                               const struct tile *tile, const struct cbk_ocl_matrix *sums) {
    struct cbk_rt_launch launch = {0};
    int64_t wanted = (int64_t)stream->device->caps->compute_units * SMALL_ITEMS;
    int64_t across = cbk_ocl_divide_up(tile->column_panels, SMALL_COLUMNS), down = 1;
    // b is packed once per block of rows: blocks of fewer than 4 panels would spend their time so.
    int64_t most_down = cbk_ocl_divide_up(tile->row_panels, 4);
    if (product->matrices * across < wanted)
        down = cbk_ocl_divide_up(wanted, product->matrices * across);
    if (down > most_down) down = most_down;
    int64_t block_rows = cbk_ocl_divide_up(tile->row_panels, down);
    int64_t units = product->matrices * across * cbk_ocl_divide_up(tile->row_panels, block_rows);
    int64_t per_item = cbk_ocl_divide_up(units, 8 * wanted);
    cbk_status status = cbk_ocl_matmul_kernel(stream, program, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_ocl_arg_matrix(&launch, &product->a, CBK_RT_READ);
    cbk_ocl_arg_matrix(&launch, &product->b, CBK_RT_READ);
    cbk_ocl_arg_matrix(&launch, &product->out, CBK_RT_WRITE);
    cbk_ocl_arg_matrix(&launch, sums, CBK_RT_READ_WRITE);
    cbk_ocl_arg_size(&launch, &product->m);
    cbk_ocl_arg_size(&launch, &product->n);
    cbk_ocl_arg_size(&launch, &product->k);
    cbk_ocl_arg_size(&launch, &block_rows);
    cbk_ocl_arg_size(&launch, &units);
    cbk_ocl_arg_size(&launch, &per_item);
    cbk_ocl_arg_size(&launch, &product->a.line);
    cbk_ocl_arg_size(&launch, &product->a.run);
    cbk_ocl_arg_size(&launch, &product->b.run);
    cbk_ocl_arg_size(&launch, &product->b.line);
    cbk_ocl_arg_size(&launch, &product->out.line);
    cbk_ocl_arg_size(&launch, &product->out.run);
    cbk_rt_arg_value(&launch, &product->batch, sizeof product->batch);
    cbk_ocl_arg_epilogue(&launch, product);
    launch_items(&launch, cbk_ocl_divide_up(units, per_item));
    return cbk_rt_launch(stream->rt, &launch);
}

cbk_status cbk_ocl_matmul_small(struct cbk_ocl_stream *stream,
                                const struct cbk_ocl_product *product) {
    struct tile tile = choose_tile(stream, product);
    uint32_t run = is_wide(&tile) ? SMALL_RUN_WIDE : SMALL_RUN;
    int64_t sums_length = sums_count(product, &tile, run);
    struct cbk_ocl_matrix sums = {.block = product->out.block};
    struct cbk_ocl_matmul_program program =
        make_program(&cbk_kernel_matmul_small, "multiply", product, &tile, run);
    cbk_status status = CBK_OK;

    if (sums_length > 0) RT_TRY(cbk_ocl_matmul_temporary(stream, product->acc, sums_length, &sums));
    RT_TRY(launch_small(stream, product, &program, &tile, &sums));
done:
    if (sums_length > 0 && sums.block != NULL) cbk_rt_free(stream->device->rt, &sums.block);
    return status;
}

// ---- one row ------------------------------------------------------------------------------------

enum {
    CHUNK = 512,         ///< of matmul_vector.cl
    DOTS = 16,           ///< columns of a work-item of dots
    SHORTEST_PART = 512, ///< of k
    MOST_PARTS = 64
};

static void add_vector_args(struct cbk_rt_launch *launch, const struct cbk_ocl_product *product) {
    cbk_ocl_arg_matrix(launch, &product->a, CBK_RT_READ);
    cbk_ocl_arg_matrix(launch, &product->b, CBK_RT_READ);
    cbk_ocl_arg_matrix(launch, &product->out, CBK_RT_WRITE);
}

static cbk_status launch_dots(struct cbk_ocl_stream *stream, const struct cbk_ocl_product *product,
                              const struct cbk_ocl_matmul_program *program) {
    struct cbk_rt_launch launch = {0};
    int64_t per_item = DOTS;
    cbk_status status = cbk_ocl_matmul_kernel(stream, program, &launch.kernel);
    if (status != CBK_OK) return status;
    add_vector_args(&launch, product);
    cbk_ocl_arg_size(&launch, &product->n);
    cbk_ocl_arg_size(&launch, &product->k);
    cbk_ocl_arg_size(&launch, &per_item);
    cbk_ocl_arg_size(&launch, &product->b.line);
    cbk_ocl_arg_size(&launch, &product->out.run);
    cbk_rt_arg_value(&launch, &product->batch, sizeof product->batch);
    cbk_ocl_arg_epilogue(&launch, product);
    launch_items(&launch, product->matrices * cbk_ocl_divide_up(product->n, per_item));
    return cbk_rt_launch(stream->rt, &launch);
}

static cbk_status launch_add_parts(struct cbk_ocl_stream *stream,
                                   const struct cbk_ocl_product *product,
                                   struct cbk_ocl_matmul_program program,
                                   const struct cbk_ocl_matrix *partial, int64_t parts) {
    struct cbk_rt_launch launch = {0};
    program.entry = "add_parts";
    cbk_status status = cbk_ocl_matmul_kernel(stream, &program, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_ocl_arg_matrix(&launch, partial, CBK_RT_READ);
    cbk_ocl_arg_matrix(&launch, &product->out, CBK_RT_WRITE);
    cbk_ocl_arg_size(&launch, &product->n);
    cbk_ocl_arg_size(&launch, &parts);
    cbk_ocl_arg_size(&launch, &product->out.run);
    cbk_rt_arg_value(&launch, &product->batch, sizeof product->batch);
    cbk_ocl_arg_epilogue(&launch, product);
    launch_items(&launch, product->matrices * cbk_ocl_divide_up(product->n, CHUNK));
    return cbk_rt_launch(stream->rt, &launch);
}

/// Pieces of k: more where there are few chunks of columns. A function of the shape alone.
static int64_t choose_parts(const struct cbk_ocl_product *product, int64_t chunks) {
    int64_t parts = MOST_PARTS / chunks, most = product->k / SHORTEST_PART;
    parts = parts < most ? parts : most;
    return parts < 1 ? 1 : parts;
}

static cbk_status launch_columns(struct cbk_ocl_stream *stream,
                                 const struct cbk_ocl_product *product,
                                 const struct cbk_ocl_matmul_program *program,
                                 const struct cbk_ocl_matrix *partial, int64_t chunks,
                                 int64_t parts) {
    struct cbk_rt_launch launch = {0};
    int64_t part = cbk_ocl_divide_up(product->k, parts);
    cbk_status status = cbk_ocl_matmul_kernel(stream, program, &launch.kernel);
    if (status != CBK_OK) return status;
    add_vector_args(&launch, product);
    cbk_ocl_arg_matrix(&launch, partial, CBK_RT_WRITE);
    cbk_ocl_arg_size(&launch, &product->n);
    cbk_ocl_arg_size(&launch, &product->k);
    cbk_ocl_arg_size(&launch, &parts);
    cbk_ocl_arg_size(&launch, &part);
    cbk_ocl_arg_size(&launch, &product->a.run);
    cbk_ocl_arg_size(&launch, &product->b.run);
    cbk_ocl_arg_size(&launch, &product->out.run);
    cbk_rt_arg_value(&launch, &product->batch, sizeof product->batch);
    cbk_ocl_arg_epilogue(&launch, product);
    launch_items(&launch, chunks * parts);
    return cbk_rt_launch(stream->rt, &launch);
}

cbk_status cbk_ocl_matmul_vector(struct cbk_ocl_stream *stream,
                                 const struct cbk_ocl_product *product) {
    struct tile tile = choose_tile(stream, product);
    tile.rows = 0;
    struct cbk_ocl_matmul_program program =
        make_program(&cbk_kernel_matmul_vector, "dots", product, &tile, 0);
    if (product->b.line != 1) return launch_dots(stream, product, &program);

    struct cbk_ocl_matrix partial = {.block = product->out.block};
    int64_t chunks = product->matrices * cbk_ocl_divide_up(product->n, CHUNK);
    int64_t parts = choose_parts(product, chunks);
    cbk_status status = CBK_OK;
    program.entry = "columns";
    if (parts > 1)
        RT_TRY(cbk_ocl_matmul_temporary(stream, product->acc,
                                        parts * product->matrices * product->n, &partial));
    if (parts > 1) {
        const struct cbk_ocl_product bare = cbk_ocl_product_bare(product);
        struct cbk_ocl_matmul_program bare_program = program;
        bare_program.epilogue = NULL;
        RT_TRY(launch_columns(stream, &bare, &bare_program, &partial, chunks, parts));
    } else {
        RT_TRY(launch_columns(stream, product, &program, &partial, chunks, parts));
    }
    if (parts > 1) RT_TRY(launch_add_parts(stream, product, program, &partial, parts));
done:
    if (parts > 1 && partial.block != NULL) cbk_rt_free(stream->device->rt, &partial.block);
    return status;
}
