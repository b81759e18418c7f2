/// norm_program.c: the programs of kernels/norm_cpu.cl and kernels/norm_gpu.cl.
#include "norm.h"

#include "pointwise.h"

#include <string.h>

// clang-format off
static const struct {
    const char *formula;
    cbk_opcode opcode;
    bool is_backward, takes_gamma, takes_beta;
} kinds[] = {
    [CBK_OCL_NORM_LAYER]                = {"layer_norm", CBK_OP_LAYER_NORM, false, true, true},
    [CBK_OCL_NORM_RMS]                  = {"rms_norm", CBK_OP_RMS_NORM, false, true, false},
    [CBK_OCL_NORM_LAYER_BACKWARD]       = {"layer_norm_backward", CBK_OP_LAYER_NORM_BACKWARD, true, true, false},
    [CBK_OCL_NORM_RMS_BACKWARD]         = {"rms_norm_backward", CBK_OP_RMS_NORM_BACKWARD, true, true, false},
    [CBK_OCL_NORM_SOFTMAX_BACKWARD]     = {"softmax_backward", CBK_OP_SOFTMAX_BACKWARD, true, false, false},
    [CBK_OCL_NORM_LOG_SOFTMAX_BACKWARD] = {"log_softmax_backward", CBK_OP_LOG_SOFTMAX_BACKWARD, true, false, false},
};
// clang-format on
#define KINDS (sizeof kinds / sizeof *kinds)

/// Of [narrow, wide arithmetic][forward, backward]. What counts is registers: at most 64 of them for
/// groups that fill a multiprocessor, best with room for a second group. Two rows at a time read
/// gamma and beta once for both. The longest rows: of 16384 elements (wide: 8192).
#define SHAPES 6
#define NARROW(group, quads, rows)                                                                 \
    {                                                                                              \
        {64, 256, 1, 1}, {1024, 128, 2, 1}, {2048, 128, 4, 1}, {4096, 256, 4, 1},                  \
            {8192, 512, 4, 1}, {16384, group, quads, rows},                                        \
    }
#define WIDE(group, quads, rows)                                                                   \
    {                                                                                              \
        {64, 256, 1, 1}, {512, 128, 1, 1}, {1024, 128, 2, 1}, {2048, 256, 2, 1},                   \
            {4096, 512, 2, 1}, {8192, group, quads, rows},                                         \
    }
static const struct cbk_ocl_norm_shape shapes[2][2][SHAPES] = {
    {NARROW(512, 8, 1), NARROW(1024, 4, 1)}, {WIDE(1024, 2, 2), WIDE(1024, 2, 1)}};

const struct cbk_ocl_norm_shape cbk_ocl_norm_loop = {0, 256, 1, 1};

cbk_dtype cbk_ocl_norm_arithmetic(cbk_dtype x) {
    return x == CBK_DTYPE_F64 ? CBK_DTYPE_F64 : CBK_DTYPE_F32;
}

uint32_t cbk_ocl_norm_lanes(uint32_t float_lanes, cbk_dtype x) {
    uint32_t lanes = x == CBK_DTYPE_F64 ? float_lanes / 2 : float_lanes;
    return lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4;
}

static const struct cbk_ocl_norm_shape *shapes_of(const struct cbk_ocl_norm_program *program) {
    return shapes[program->x == CBK_DTYPE_F64][kinds[program->kind].is_backward];
}

bool cbk_ocl_norm_shape(const struct cbk_ocl_norm_program *program, int64_t length,
                        uint32_t max_work_group, struct cbk_ocl_norm_shape *out) {
    const struct cbk_ocl_norm_shape *candidates = shapes_of(program);
    for (int i = 0; i < SHAPES; i++) {
        *out = candidates[i];
        if (length <= out->length && out->group <= max_work_group) return true;
    }
    return false;
}

/// A program of the GPU form has one kernel: compilers pay for all they get.
static uint64_t entry_number(const char *entry) {
    return strcmp(entry, "norm_rows") == 0 ? 0 : strcmp(entry, "norm_long") == 0 ? 1 : 2;
}

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct cbk_ocl_norm_program *program = spec->context;
    const char *word = cbk_ocl_dtype_word(program->x);
    cbk_rt_text_add(defines, " -DNORM=%s -DX=%s -DACC=%s -DHAS_GAMMA=%d -DHAS_BETA=%d",
                    kinds[program->kind].formula, word,
                    cbk_ocl_dtype_word(cbk_ocl_norm_arithmetic(program->x)), program->has_gamma,
                    program->has_beta);
    if (!program->is_gpu) {
        cbk_rt_text_add(defines, " -DY=%s -DOP=op_sum -DW=%u -DINDEX=long", word,
                        (unsigned)program->lanes);
        return;
    }
    cbk_rt_text_add(defines, " -DW=4 -DGROUP=%u -DN=%u -DROWS=%u -DINDEX=%s",
                    (unsigned)program->shape.group, (unsigned)program->shape.quads,
                    (unsigned)program->shape.rows, program->has_index64 ? "long" : "int");
    cbk_rt_text_add(defines, " -DONLY_%s", spec->entry);
    if (program->is_aligned) cbk_rt_text_add(defines, " -DALIGNED");
    if (program->has_group) cbk_rt_text_add(defines, " -DITEMS=GROUP");
    if (program->is_nvidia) cbk_rt_text_add(defines, " -DNVIDIA");
}

struct cbk_rt_spec cbk_ocl_norm_spec(const struct cbk_ocl_norm_program *program,
                                     const char *entry) {
    const uint64_t flags = (uint64_t)program->is_aligned | (uint64_t)program->has_index64 << 1 |
                           (uint64_t)program->has_gamma << 2 | (uint64_t)program->has_beta << 3 |
                           (uint64_t)program->has_group << 4 | (uint64_t)program->is_nvidia << 5 |
                           (program->is_gpu ? entry_number(entry) : 0) << 6;
    return (struct cbk_rt_spec){
        .source = program->is_gpu ? &cbk_kernel_norm_gpu : &cbk_kernel_norm_cpu,
        .entry = entry,
        .key = {(uint64_t)program->kind | (uint64_t)program->x << 8 | flags << 16 |
                    (uint64_t)program->lanes << 24,
                (uint64_t)program->shape.group | (uint64_t)program->shape.quads << 16 |
                    (uint64_t)program->shape.rows << 32},
        .describe = describe,
        .context = program};
}

// ---- the list of all programs -------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
    struct cbk_ocl_norm_program program;
};

static void visit_program(const struct visit *visit, const struct cbk_ocl_norm_program *program,
                          const char *entry) {
    const struct cbk_rt_spec spec = cbk_ocl_norm_spec(program, entry);
    visit->visit(visit->user_data, &spec);
}

static void visit_forms(const struct visit *visit, struct cbk_ocl_norm_program program) {
    static const uint32_t float_lanes[] = {4, 8, 16};
    program.has_index64 = true;
    for (size_t i = 0; i < sizeof float_lanes / sizeof *float_lanes; i++) {
        program.lanes = cbk_ocl_norm_lanes(float_lanes[i], program.x);
        visit_program(visit, &program, "norm_rows");
    }
    const bool has_columns = kinds[program.kind].takes_gamma && kinds[program.kind].is_backward;
    program.lanes = 0;
    program.is_gpu = true;
    for (int form = 0; form < 4; form++) {
        program.is_aligned = program.is_nvidia = (form & 1) != 0;
        program.has_index64 = (form & 2) != 0;
        for (int i = 0; i < SHAPES; i++) {
            program.shape = shapes_of(&program)[i];
            program.has_group = program.shape.length > 64;
            visit_program(visit, &program, "norm_rows");
        }
        program.has_group = false;
        program.shape = cbk_ocl_norm_loop;
        visit_program(visit, &program, "norm_long");
        if (has_columns && !program.has_gamma) visit_program(visit, &program, "norm_columns");
    }
}

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    struct cbk_ocl_norm_program program = visit->program;
    program.x = dtype;
    for (int has_gamma = 0; has_gamma <= kinds[program.kind].takes_gamma; has_gamma++)
        for (int has_beta = 0; has_beta <= kinds[program.kind].takes_beta; has_beta++) {
            program.has_gamma = has_gamma != 0;
            program.has_beta = has_beta != 0;
            visit_forms(visit, program);
        }
}

void cbk_ocl_norm_programs(cbk_ocl_program_visitor visit, void *user_data) {
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        struct visit context = {visit, user_data, {.kind = kind}};
        cbk_ocl_each_row_dtype(kinds[kind].opcode, visit_dtype, &context);
    }
}
