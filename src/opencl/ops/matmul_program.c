/// matmul_program.c: the programs of the matrix product and what their launches share.
#include "matmul.h"

static void add_number(struct cbk_rt_text *defines, const char *name, uint32_t value) {
    if (value != 0) cbk_rt_text_add(defines, " -D%s=%u", name, (unsigned)value);
}

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct cbk_ocl_matmul_program *program = spec->context;
    cbk_rt_text_add(defines, " -DX=%s -DY=%s -DACC=%s", cbk_ocl_dtype_word(program->in),
                    cbk_ocl_dtype_word(program->out), cbk_ocl_dtype_word(program->acc));
    bool has_rows = program->group_y != 0;
    add_number(defines, "W", program->lanes);
    add_number(defines, "MR", program->rows);
    add_number(defines, has_rows ? "BK" : "KC", program->run);
    add_number(defines, "A_PANELS", program->panels);
    add_number(defines, has_rows ? "LX" : "THREADS", program->group_x);
    add_number(defines, "LY", program->group_y);
    add_number(defines, "TM", program->item_rows);
    add_number(defines, "TN", program->item_columns);
    if (has_rows) cbk_rt_text_add(defines, " -DINDEX=%s", program->has_index64 ? "long" : "int");
    if (program->is_aligned) cbk_rt_text_add(defines, " -DALIGNED");
    add_number(defines, "NVIDIA", program->nvidia);
}

static struct cbk_rt_spec make_spec(const struct cbk_ocl_matmul_program *p) {
    struct cbk_rt_spec spec = {
        .source = p->source, .entry = p->entry, .describe = describe, .context = p};
    spec.key[0] = p->in | (uint64_t)p->out << 8 | (uint64_t)p->acc << 16 |
                  (uint64_t)p->lanes << 24 | (uint64_t)p->rows << 32 | (uint64_t)p->run << 40 |
                  (uint64_t)p->is_aligned << 56 | (uint64_t)p->has_index64 << 57;
    spec.key[1] = p->group_x | (uint64_t)p->group_y << 16 | (uint64_t)p->item_rows << 24 |
                  (uint64_t)p->item_columns << 32 | (uint64_t)p->nvidia << 40 |
                  (uint64_t)p->panels << 48;
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
    uint32_t size     = cbk_dtype_size(acc);
    out->block        = NULL;
    cbk_status status = cbk_rt_alloc(stream->rt, (uint64_t)count * size, &out->block);
    if (status == CBK_OK) out->offset = (int64_t)(cbk_rt_block_offset(out->block) / size);
    return status;
}
