/// matmul_program.c: the programs of the matrix product and what their launches share.
#include "matmul.h"

#include "pointwise.h"

static void add_number(struct cbk_rt_text *defines, const char *name, uint32_t value) {
    if (value != 0) cbk_rt_text_add(defines, " -D%s=%u", name, (unsigned)value);
}

static void describe_epilogue(const struct cbk_ocl_matmul_program *program,
                              struct cbk_rt_text *defines) {
    const struct cbk_ocl_epilogue *epilogue = program->epilogue;
    const bool is_gpu = program->group_x != 0 || program->nvidia != 0;
    cbk_rt_text_add(defines, " -DEPILOGUE");
    if (epilogue->blocks[CBK_OCL_BIAS] != NULL) cbk_rt_text_add(defines, " -DBIAS");
    if (epilogue->blocks[CBK_OCL_RESIDUAL] != NULL) cbk_rt_text_add(defines, " -DRESIDUAL");
    if (is_gpu) cbk_rt_text_add(defines, " -DGPU_FORM");
    if (epilogue->activation == NULL) return;
    const char *word = cbk_ocl_class_word(program->out);
    cbk_rt_text_add(defines, " -DACTIVATION=op_%s_%s -DONLY_%s -DCONSTANTS=%u",
                    epilogue->activation, word, word, (unsigned)epilogue->constant_count);
}

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct cbk_ocl_matmul_program *program = spec->context;
    cbk_rt_text_add(defines, " -DX=%s -DY=%s -DACC=%s", cbk_ocl_dtype_word(program->in),
                    cbk_ocl_dtype_word(program->out), cbk_ocl_dtype_word(program->acc));
    bool has_steps = program->group_y != 0 || program->nvidia != 0;
    bool has_index = program->group_y != 0;
    add_number(defines, "W", program->lanes);
    add_number(defines, "MR", program->rows);
    add_number(defines, has_steps ? "BK" : "KC", program->run);
    add_number(defines, "A_PANELS", program->panels);
    add_number(defines, has_index ? "LX" : "THREADS", program->group_x);
    add_number(defines, "LY", program->group_y);
    add_number(defines, "TM", program->item_rows);
    add_number(defines, "TN", program->item_columns);
    if (has_index) cbk_rt_text_add(defines, " -DINDEX=%s", program->has_index64 ? "long" : "int");
    if (program->is_aligned) cbk_rt_text_add(defines, " -DALIGNED");
    if (program->is_whole) cbk_rt_text_add(defines, " -DWHOLE");
    if (program->is_along_k) cbk_rt_text_add(defines, " -DB_ALONG_K");
    if (program->has_parts) cbk_rt_text_add(defines, " -DPARTS");
    add_number(defines, "NVIDIA", program->nvidia);
    if (program->epilogue != NULL) describe_epilogue(program, defines);
    if (program->registers != 0)
        cbk_rt_text_add(defines, " -cl-nv-maxrregcount=%u", (unsigned)program->registers);
}

/// Bits of the key: 60 to 63 of its first word, 56 to 63 of its second.
static void add_epilogue(const struct cbk_ocl_epilogue *epilogue, uint64_t key[2]) {
    key[0] |= UINT64_C(1) << 60 | (uint64_t)(epilogue->blocks[CBK_OCL_BIAS] != NULL) << 61 |
              (uint64_t)(epilogue->blocks[CBK_OCL_RESIDUAL] != NULL) << 62 |
              (uint64_t)(epilogue->activation_id >> 8) << 63;
    key[1] |= (uint64_t)(epilogue->activation_id & 0xff) << 56;
}

static struct cbk_rt_spec make_spec(const struct cbk_ocl_matmul_program *p) {
    struct cbk_rt_spec spec = {
        .source = p->source, .entry = p->entry, .describe = describe, .context = p};
    spec.key[0] = p->in | (uint64_t)p->out << 8 | (uint64_t)p->acc << 16 |
                  (uint64_t)p->lanes << 24 | (uint64_t)p->rows << 32 | (uint64_t)p->run << 40 |
                  (uint64_t)p->is_aligned << 56 | (uint64_t)p->has_index64 << 57 |
                  (uint64_t)p->is_whole << 58 | (uint64_t)p->is_along_k << 59;
    spec.key[1] = p->group_x | (uint64_t)p->group_y << 16 | (uint64_t)p->item_rows << 24 |
                  (uint64_t)p->item_columns << 32 | (uint64_t)p->nvidia << 40 |
                  (uint64_t)p->panels << 48 | (uint64_t)p->has_parts << 55;
    if (p->epilogue != NULL) add_epilogue(p->epilogue, spec.key);
    return spec;
}

cbk_status cbk_ocl_matmul_kernel(struct cbk_ocl_stream *stream,
                                 const struct cbk_ocl_matmul_program *program,
                                 struct cbk_rt_kernel **out) {
    const struct cbk_rt_spec spec = make_spec(program);
    return cbk_rt_kernel(stream->rt, &spec, out);
}

cbk_status cbk_ocl_matmul_temporary(struct cbk_ocl_stream *stream, cbk_dtype acc, int64_t count,
                                    struct cbk_ocl_matrix *out) {
    uint32_t size = cbk_dtype_size(acc);
    out->block = NULL;
    cbk_status status = cbk_rt_alloc(stream->rt, (uint64_t)count * size, &out->block);
    if (status == CBK_OK) out->offset = (int64_t)(cbk_rt_block_offset(out->block) / size);
    return status;
}

// ---- the list of all programs -------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
    struct cbk_ocl_matmul_program program; ///< dtypes, epilogue
};

static void visit_program(const struct visit *visit, struct cbk_ocl_matmul_program program) {
    program.in = visit->program.in;
    program.out = visit->program.out;
    program.acc = visit->program.acc;
    program.epilogue = visit->program.epilogue;
    const struct cbk_rt_spec spec = make_spec(&program);
    visit->visit(visit->user_data, &spec);
}

static void visit_cpu_forms(const struct visit *visit) {
    const uint32_t halves = cbk_dtype_size(visit->program.acc) == 8 ? 2 : 1;
    for (uint32_t lanes = 4; lanes <= 16; lanes *= 2) {
        struct cbk_ocl_matmul_program program = {.source = &cbk_kernel_matmul_packed,
                                                 .entry = "multiply",
                                                 .lanes = lanes / halves,
                                                 .rows = lanes == 16 ? 12 : 6,
                                                 .run = 512,
                                                 .panels = 16};
        visit_program(visit, program);
        program.source = &cbk_kernel_matmul_small;
        program.panels = 0;
        visit_program(visit, program);
        program.source = &cbk_kernel_matmul_vector;
        program.entry = "columns";
        program.rows = program.run = 0;
        visit_program(visit, program);
    }
}

static void visit_gpu_forms(const struct visit *visit) {
    for (uint32_t form = 0; form < 4; form++) {
        struct cbk_ocl_matmul_program program = {.source = &cbk_kernel_matmul_tile,
                                                 .entry = "multiply",
                                                 .run = form & 1 ? 8 : 16,
                                                 .group_x = 16,
                                                 .group_y = 16,
                                                 .item_rows = form & 1 ? 8 : 4,
                                                 .item_columns = form & 1 ? 8 : 4,
                                                 .has_index64 = (form & 2) != 0};
        visit_program(visit, program);
    }
    for (uint32_t form = 0; form < 4; form++)
        visit_program(visit,
                      (struct cbk_ocl_matmul_program){.source = &cbk_kernel_matmul_vector_group,
                                                      .entry = "dots",
                                                      .lanes = 4,
                                                      .group_x = form & 1 ? 64 : 256,
                                                      .is_aligned = (form & 2) != 0});
}

static void visit_rows_forms(const struct visit *visit) {
    for (uint32_t form = 0; form < 4; form++)
        visit_program(visit, (struct cbk_ocl_matmul_program){.source = &cbk_kernel_matmul_rows,
                                                             .entry = "multiply",
                                                             .lanes = 4,
                                                             .rows = form & 1 ? 16 : 4,
                                                             .group_x = form & 1 ? 256 : 64,
                                                             .item_columns = form & 1 ? 8 : 1,
                                                             .is_aligned = form & 1,
                                                             .has_parts = form == 1,
                                                             .is_along_k = (form & 2) != 0});
}

static void visit_nvidia_forms(const struct visit *visit) {
    const struct cbk_ocl_matmul_program *types = &visit->program;
    struct cbk_ocl_matmul_program program = {.entry = "multiply", .nvidia = 80};
    if (types->acc != CBK_DTYPE_F32) return;
    for (uint32_t form = 0; form < 4 && types->in == CBK_DTYPE_F32; form++) {
        program.source = &cbk_kernel_matmul_async_f32;
        program.run = form & 1 ? 16 : 32;
        program.is_whole = (form & 2) != 0;
        visit_program(visit, program);
    }
    bool is_half = types->in == CBK_DTYPE_F16 || types->in == CBK_DTYPE_BF16;
    for (uint32_t form = 0; form < 2 && is_half; form++) {
        program.source = &cbk_kernel_matmul_mma;
        program.run = 64;
        program.is_along_k = form != 0;
        visit_program(visit, program);
    }
}

static void visit_forms(struct visit *visit, cbk_dtype in, cbk_dtype out) {
    visit->program.in = in;
    visit->program.out = out;
    visit->program.acc = cbk_ocl_matmul_accumulator(in, out);
    visit_cpu_forms(visit);
    visit_gpu_forms(visit);
    visit_rows_forms(visit);
    visit_nvidia_forms(visit);
}

/// Which block stands there does not matter.
static struct cbk_rt_block *const some_block = (struct cbk_rt_block *)(uintptr_t)1;

static void visit_dtype(void *context, cbk_dtype dtype) {
    struct visit *visit = context;
    const bool is_float = dtype < CBK_DTYPE_I64, is_small = cbk_dtype_size(dtype) == 1 && is_float;
    const struct cbk_ocl_epilogue epilogue = {.blocks = {some_block, some_block},
                                              .activation = is_float ? "gelu" : "relu",
                                              .activation_id = 1};
    const cbk_dtype usual = is_small ? CBK_DTYPE_BF16 : dtype;
    const cbk_dtype wider = is_float ? CBK_DTYPE_F32 : CBK_DTYPE_I32;
    visit_forms(visit, dtype, usual);
    if (usual != wider) visit_forms(visit, dtype, wider);
    visit->program.epilogue = &epilogue;
    visit_forms(visit, dtype, usual);
    visit->program.epilogue = NULL;
}

void cbk_ocl_matmul_programs(cbk_ocl_program_visitor visit, void *user_data) {
    struct visit context = {visit, user_data, {0}};
    cbk_ocl_each_row_dtype(CBK_OP_MATMUL, visit_dtype, &context);
}
