/// linalg.c: matrices, their products and launches, for the factorisations in lu.c and qr.c.
#include "linalg.h"

#include "axes.h"
#include "matmul.h"
#include "pointwise.h"

cbk_status cbk_ocl_linalg(struct cbk_ocl_stream *stream, const cbk_op *op) {
    switch (op->opcode) {
    case CBK_OP_DET:
        return cbk_ocl_det(stream, op);
    case CBK_OP_QR:
        return cbk_ocl_qr(stream, op);
    default:
        return cbk_ocl_lu(stream, op);
    }
}

cbk_status cbk_ocl_linalg_init(struct cbk_ocl_stream *stream, const char *operation,
                               const cbk_tensor *x, struct cbk_ocl_linalg *out) {
    const cbk_tensor_meta *meta = cbk_tensor_metadata(x);
    const int64_t limit = INT32_MAX - CBK_OCL_PANEL;
    *out = (struct cbk_ocl_linalg){.stream = stream,
                                   .operation = operation,
                                   .dtype =
                                       meta->dtype == CBK_DTYPE_F64 ? CBK_DTYPE_F64 : CBK_DTYPE_F32,
                                   .count = 1,
                                   .rows = meta->shape[meta->rank - 2],
                                   .columns = meta->shape[meta->rank - 1],
                                   .is_gpu = !stream->device->caps->is_cpu};
    for (uint32_t i = 0; i + 2 < meta->rank; i++) out->count *= meta->shape[i];
    if (out->rows <= limit && out->columns <= limit) return CBK_OK;
    return cbk_fail(CBK_ERROR_UNSUPPORTED, 0,
                    "a matrix of %lld x %lld has over 2^31 rows or columns", (long long)out->rows,
                    (long long)out->columns);
}

// ---- matrices -----------------------------------------------------------------------------------

static struct cbk_ocl_matrices dense(struct cbk_rt_block *block, int64_t offset, int64_t rows,
                                     int64_t columns) {
    return (struct cbk_ocl_matrices){.block = block,
                                     .at = {offset, rows * columns, columns},
                                     .run = 1,
                                     .rows = rows,
                                     .columns = columns};
}

cbk_status cbk_ocl_matrices_temporary(const struct cbk_ocl_linalg *linalg, cbk_dtype dtype,
                                      int64_t rows, int64_t columns, struct cbk_ocl_matrices *out) {
    const uint64_t size = cbk_dtype_size(dtype);
    const uint64_t bytes = (uint64_t)(linalg->count * rows * columns) * size;
    struct cbk_rt_block *block = NULL;
    cbk_status status = cbk_rt_alloc(linalg->stream->rt, bytes != 0 ? bytes : size, &block);
    if (status == CBK_OK)
        *out = dense(block, (int64_t)(cbk_rt_block_offset(block) / size), rows, columns);
    return status;
}

struct cbk_ocl_matrices cbk_ocl_matrices_part(const struct cbk_ocl_matrices *whole, int64_t row,
                                              int64_t column, int64_t rows, int64_t columns) {
    struct cbk_ocl_matrices part = *whole;
    part.at.offset += row * whole->at.line + column * whole->run;
    part.rows = rows;
    part.columns = columns;
    return part;
}

struct cbk_ocl_matrices cbk_ocl_matrices_transposed(const struct cbk_ocl_matrices *a) {
    struct cbk_ocl_matrices transposed = *a;
    transposed.rows = a->columns;
    transposed.columns = a->rows;
    transposed.at.line = a->run;
    transposed.run = a->at.line;
    return transposed;
}

static struct cbk_ocl_operand operand_of(const struct cbk_ocl_linalg *linalg,
                                         const struct cbk_ocl_matrices *a, cbk_tensor_meta *meta) {
    *meta = (cbk_tensor_meta){.struct_size = sizeof *meta,
                              .dtype = linalg->dtype,
                              .rank = 3,
                              .shape = {linalg->count, a->rows, a->columns},
                              .strides = {a->at.step, a->at.line, a->run},
                              .element_count = linalg->count * a->rows * a->columns};
    return (struct cbk_ocl_operand){.meta = meta, .block = a->block, .offset = a->at.offset};
}

// An element that is added to is read and written by one work-item, once: sums over so few terms
// are never partial.
cbk_status cbk_ocl_matrices_multiply(const struct cbk_ocl_linalg *linalg,
                                     const struct cbk_ocl_matrices *a,
                                     const struct cbk_ocl_matrices *b, bool adds,
                                     const struct cbk_ocl_matrices *out) {
    cbk_tensor_meta metas[3];
    struct cbk_ocl_matmul_operands operands = {.a = operand_of(linalg, a, &metas[CBK_OCL_A]),
                                               .b = operand_of(linalg, b, &metas[CBK_OCL_B]),
                                               .out = operand_of(linalg, out, &metas[CBK_OCL_C])};
    struct cbk_ocl_product product;
    if (adds) operands.added[CBK_OCL_RESIDUAL] = operands.out;
    cbk_ocl_product_init(&operands, &product);
    return cbk_ocl_matmul_multiply(linalg->stream, &product);
}

/// The shape of a tensor, dense, in another dtype.
static cbk_tensor_meta dense_meta(const cbk_tensor_meta *like, cbk_dtype dtype) {
    cbk_tensor_meta meta = *like;
    int64_t stride = 1;
    for (uint32_t axis = meta.rank; axis-- > 0;) {
        meta.strides[axis] = stride;
        stride *= meta.shape[axis];
    }
    meta.dtype = dtype;
    meta.offset = 0;
    meta.layout = 0;
    return meta;
}

cbk_status cbk_ocl_matrices_load(const struct cbk_ocl_linalg *linalg, const cbk_tensor *x,
                                 const struct cbk_ocl_matrices *to) {
    const struct cbk_ocl_operand source = cbk_ocl_operand(x);
    const cbk_tensor_meta meta = dense_meta(source.meta, linalg->dtype);
    const struct cbk_ocl_operand target = {
        .meta = &meta, .block = to->block, .offset = to->at.offset};
    if (meta.element_count == 0) return CBK_OK;
    return cbk_ocl_convert(linalg->stream, &source, &target);
}

// ---- results ------------------------------------------------------------------------------------

cbk_status cbk_ocl_stage(const struct cbk_ocl_linalg *linalg, const cbk_tensor *output,
                         cbk_dtype dtype, int64_t rows, int64_t columns,
                         struct cbk_ocl_staged *out) {
    const struct cbk_ocl_operand operand = cbk_ocl_operand(output);
    const cbk_dtype own =
        operand.meta->dtype == CBK_DTYPE_FLEX32 ? CBK_DTYPE_F32 : operand.meta->dtype;
    *out = (struct cbk_ocl_staged){.output = operand};
    out->is_temporary = own != dtype || !cbk_ocl_is_dense(operand.meta);
    if (out->is_temporary) {
        out->meta = dense_meta(operand.meta, dtype);
        return cbk_ocl_matrices_temporary(linalg, dtype, rows, columns, &out->matrices);
    }
    out->matrices = dense(operand.block, operand.offset, rows, columns);
    return CBK_OK;
}

cbk_status cbk_ocl_stage_put(const struct cbk_ocl_linalg *linalg,
                             const struct cbk_ocl_staged *staged) {
    const struct cbk_ocl_operand source = {.meta = &staged->meta,
                                           .block = staged->matrices.block,
                                           .offset = staged->matrices.at.offset};
    if (!staged->is_temporary || staged->meta.element_count == 0) return CBK_OK;
    return cbk_ocl_convert(linalg->stream, &source, &staged->output);
}

void cbk_ocl_stage_free(const struct cbk_ocl_linalg *linalg, struct cbk_ocl_staged *staged) {
    if (staged->is_temporary) cbk_rt_free(linalg->stream->device->rt, &staged->matrices.block);
}

// ---- programs -----------------------------------------------------------------------------------

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct cbk_ocl_linalg_program *program = spec->context;
    cbk_rt_text_add(defines, " -DX=%s", cbk_ocl_dtype_word(program->dtype));
    if (program->groups != 0)
        cbk_rt_text_add(defines, " -DGROUPS=%u -DROWS=%u", (unsigned)program->groups,
                        (unsigned)program->rows);
    if (program->columns != 0)
        cbk_rt_text_add(defines, " -DCOLUMNS=%u", (unsigned)program->columns);
}

struct cbk_rt_spec cbk_ocl_linalg_spec(const struct cbk_ocl_linalg_program *program,
                                       const char *entry) {
    return (struct cbk_rt_spec){.source = program->source,
                                .entry = entry,
                                .key = {(uint64_t)program->dtype | (uint64_t)program->groups << 8 |
                                            (uint64_t)program->columns << 16,
                                        program->rows},
                                .describe = describe,
                                .context = program};
}

cbk_status cbk_ocl_linalg_begin(const struct cbk_ocl_linalg *linalg,
                                const struct cbk_ocl_linalg_program *program, const char *entry,
                                int64_t items, int64_t group, struct cbk_rt_launch *out) {
    const struct cbk_rt_spec spec = cbk_ocl_linalg_spec(program, entry);
    *out = (struct cbk_rt_launch){.operation = linalg->operation,
                                  .dimensions = 1,
                                  .global = {cbk_ocl_round_up((size_t)items, (size_t)group), 1, 1},
                                  .local = {(size_t)group, 1, 1}};
    return cbk_rt_kernel(linalg->stream->rt, &spec, &out->kernel);
}

// ---- panels -------------------------------------------------------------------------------------

/// Forms of a panel's kernel on GPUs: few rows, rows that fit local memory, others.
enum { SHORT_ROWS = 32, SHORT_GROUPS = 4, TILE_BYTES = 16384, GROUPS = 16, NARROW_GROUPS = 8 };

static struct cbk_ocl_linalg_program panel_program(const struct cbk_rt_source *source,
                                                   cbk_dtype dtype, int64_t rows, bool is_narrow) {
    const int64_t tile_rows = TILE_BYTES / (CBK_OCL_PANEL * cbk_dtype_size(dtype));
    struct cbk_ocl_linalg_program program = {.source = source, .dtype = dtype};
    program.groups = rows <= SHORT_ROWS ? SHORT_GROUPS : is_narrow ? NARROW_GROUPS : GROUPS;
    program.rows = rows <= SHORT_ROWS ? SHORT_ROWS : rows <= tile_rows ? (uint32_t)tile_rows : 0;
    return program;
}

cbk_status cbk_ocl_panel_begin(const struct cbk_ocl_linalg *linalg, const struct cbk_rt_source *gpu,
                               const struct cbk_rt_source *cpu, const char *entry, int64_t rows,
                               struct cbk_rt_launch *out) {
    if (!linalg->is_gpu) {
        const struct cbk_ocl_linalg_program program = {.source = cpu, .dtype = linalg->dtype};
        return cbk_ocl_linalg_begin(linalg, &program, entry, linalg->count, 1, out);
    }
    const bool is_narrow = linalg->stream->device->caps->max_work_group < GROUPS * CBK_OCL_PANEL;
    const struct cbk_ocl_linalg_program program =
        panel_program(gpu, linalg->dtype, rows, is_narrow);
    cbk_status status = cbk_ocl_linalg_begin(linalg, &program, entry, linalg->count * CBK_OCL_PANEL,
                                             CBK_OCL_PANEL, out);
    out->dimensions = 2;
    out->global[1] = out->local[1] = program.groups;
    return status;
}

static const cbk_dtype dtypes[] = {CBK_DTYPE_F32, CBK_DTYPE_F64};

void cbk_ocl_panel_programs(const struct cbk_rt_source *gpu, const struct cbk_rt_source *cpu,
                            const char *entry, cbk_ocl_program_visitor visit, void *user_data) {
    static const int64_t rows[] = {1, SHORT_ROWS + 1, TILE_BYTES};
    for (int d = 0; d < 2; d++) {
        const struct cbk_ocl_linalg_program item = {.source = cpu, .dtype = dtypes[d]};
        const struct cbk_rt_spec cpu_spec = cbk_ocl_linalg_spec(&item, entry);
        visit(user_data, &cpu_spec);
        for (int i = 0; i < 6; i++) {
            const struct cbk_ocl_linalg_program group =
                panel_program(gpu, dtypes[d], rows[i % 3], i >= 3);
            const struct cbk_rt_spec spec = cbk_ocl_linalg_spec(&group, entry);
            if (i != 3) visit(user_data, &spec); // few rows: the same for all devices
        }
    }
}

void cbk_ocl_linalg_programs(cbk_ocl_program_visitor visit, void *user_data) {
    cbk_ocl_lu_programs(visit, user_data);
    cbk_ocl_qr_programs(visit, user_data);
}
