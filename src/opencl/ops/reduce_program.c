/// reduce_program.c: the kinds of reductions and their programs.
#include "reduce.h"

#include "pointwise.h"

#include <math.h>
#include <string.h>

// clang-format off
static const struct cbk_ocl_reduce_kind kinds[] = {
    //                                    op               term         fields truth free   pair
    [CBK_OCL_REDUCE_SUM]               = {"sum",           "value",     1, false, false, false},
    [CBK_OCL_REDUCE_MEAN]              = {"mean",          "value",     1, false, false, false},
    [CBK_OCL_REDUCE_PROD]              = {"prod",          "value",     1, false, false, false},
    [CBK_OCL_REDUCE_MAX]               = {"max",           "value",     1, false, true,  false},
    [CBK_OCL_REDUCE_MIN]               = {"min",           "value",     1, false, true,  false},
    [CBK_OCL_REDUCE_ARGMAX]            = {"argmax",        "value",     0, false, false, false},
    [CBK_OCL_REDUCE_ARGMIN]            = {"argmin",        "value",     0, false, false, false},
    [CBK_OCL_REDUCE_ANY]               = {"any",           "value",     1, true,  true,  false},
    [CBK_OCL_REDUCE_ALL]               = {"all",           "value",     1, true,  true,  false},
    [CBK_OCL_REDUCE_VAR]               = {"var",           "value",     4, false, false, false},
    [CBK_OCL_REDUCE_STD]               = {"std",           "value",     4, false, false, false},
    [CBK_OCL_REDUCE_VAR_MEAN]          = {"var",           "value",     4, false, false, true},
    [CBK_OCL_REDUCE_NORM0]             = {"sum",           "nonzero",   1, false, false, false},
    [CBK_OCL_REDUCE_NORM1]             = {"sum",           "magnitude", 1, false, false, false},
    [CBK_OCL_REDUCE_NORM2]             = {"norm2",         "value",     4, false, false, false},
    [CBK_OCL_REDUCE_NORM_P]            = {"power",         "magnitude", 1, false, false, false},
    [CBK_OCL_REDUCE_LOGSUMEXP]         = {"logsumexp",     "value",     2, false, false, false},
    [CBK_OCL_REDUCE_MAX_ABS]           = {"max",           "magnitude", 1, false, true,  false},
    [CBK_OCL_REDUCE_MIN_ABS]           = {"min",           "magnitude", 1, false, true,  false},
    [CBK_OCL_REDUCE_MAX_WITH_INDICES]  = {"argmax",        "value",     0, false, false, true},
    [CBK_OCL_REDUCE_MIN_WITH_INDICES]  = {"argmin",        "value",     0, false, false, true},
    [CBK_OCL_REDUCE_COUNT_NONZERO]     = {"count_nonzero", "nonzero",   1, false, true,  false},
};
// clang-format on
#define KINDS (sizeof kinds / sizeof *kinds)

const struct cbk_ocl_reduce_kind *cbk_ocl_reduce_kind(uint32_t kind) {
    return &kinds[kind];
}

uint32_t cbk_ocl_reduce_kind_of(cbk_opcode opcode, double p) {
    switch (opcode) {
    case CBK_OP_VAR:
        return CBK_OCL_REDUCE_VAR;
    case CBK_OP_STD:
        return CBK_OCL_REDUCE_STD;
    case CBK_OP_VAR_MEAN:
        return CBK_OCL_REDUCE_VAR_MEAN;
    case CBK_OP_NORM:
        if (isinf(p)) return p > 0 ? CBK_OCL_REDUCE_MAX_ABS : CBK_OCL_REDUCE_MIN_ABS;
        return p == 0   ? CBK_OCL_REDUCE_NORM0
               : p == 1 ? CBK_OCL_REDUCE_NORM1
               : p == 2 ? CBK_OCL_REDUCE_NORM2
                        : CBK_OCL_REDUCE_NORM_P;
    case CBK_OP_LOGSUMEXP:
        return CBK_OCL_REDUCE_LOGSUMEXP;
    case CBK_OP_MAX_ABS:
        return CBK_OCL_REDUCE_MAX_ABS;
    case CBK_OP_MIN_ABS:
        return CBK_OCL_REDUCE_MIN_ABS;
    case CBK_OP_MAX_WITH_INDICES:
        return CBK_OCL_REDUCE_MAX_WITH_INDICES;
    case CBK_OP_MIN_WITH_INDICES:
        return CBK_OCL_REDUCE_MIN_WITH_INDICES;
    case CBK_OP_COUNT_NONZERO:
        return CBK_OCL_REDUCE_COUNT_NONZERO;
    default: // sum to all stand in the order of their opcodes
        return opcode & 0xff;
    }
}

static bool is_float(cbk_dtype dtype) {
    return dtype < CBK_DTYPE_I64;
}

cbk_dtype cbk_ocl_reduce_accumulator(uint32_t kind, cbk_dtype x, cbk_dtype y) {
    const bool is_arg = kinds[kind].state_fields == 0;
    if (kinds[kind].is_truth) return CBK_DTYPE_I32;
    if (kind == CBK_OCL_REDUCE_COUNT_NONZERO) return CBK_DTYPE_I32; // while that holds the count
    return cbk_ocl_accumulator(x, is_arg ? x : y);
}

bool cbk_ocl_reduce_is_order_free(uint32_t kind, cbk_dtype accumulator) {
    return kinds[kind].is_order_free || (kinds[kind].state_fields != 0 && !is_float(accumulator));
}

uint32_t cbk_ocl_reduce_lanes(uint32_t float_lanes, cbk_dtype accumulator) {
    uint32_t lanes = cbk_dtype_size(accumulator) == 8 ? float_lanes / 2 : float_lanes;
    return lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4;
}

size_t cbk_ocl_reduce_state_bytes(const struct cbk_ocl_reduce_program *program) {
    const uint32_t fields = kinds[program->kind].state_fields;
    return fields == 0 ? 16 : fields * cbk_dtype_size(program->accumulator);
}

/// A program of the GPU form has one kernel: compilers pay for all they get.
static const char *const entries[] = {"reduce_row", "reduce_any", "reduce_column", "reduce_short",
                                      "reduce_combine"};
#define ENTRIES (sizeof entries / sizeof *entries)

static uint64_t entry_number(const char *entry) {
    uint64_t i = 0;
    while (i + 1 < ENTRIES && strcmp(entries[i], entry) != 0) i++;
    return i;
}

/// Do its rows go to groups of a size of their own?
static bool sets_group(const struct cbk_ocl_reduce_program *program, const char *entry) {
    return program->is_gpu && kinds[program->kind].state_fields == 0 && entry_number(entry) == 0;
}

uint32_t cbk_ocl_reduce_group(const struct cbk_ocl_reduce_program *program, const char *entry) {
    return sets_group(program, entry) ? program->group : CBK_OCL_REDUCE_GROUP;
}

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct cbk_ocl_reduce_program *program = spec->context;
    const struct cbk_ocl_reduce_kind *kind = &kinds[program->kind];
    cbk_rt_text_add(defines, " -DOP=op_%s -DTERM=%s -DX=%s -DACC=%s -DY=%s -DW=%u -DINDEX=%s",
                    kind->op, kind->term, cbk_ocl_dtype_word(program->x),
                    cbk_ocl_dtype_word(program->accumulator), cbk_ocl_dtype_word(program->y),
                    (unsigned)program->lanes, program->has_index64 ? "long" : "int");
    if (kind->is_pair) cbk_rt_text_add(defines, " -DPAIR -DZ=%s", cbk_ocl_dtype_word(program->z));
    if (program->is_aligned) cbk_rt_text_add(defines, " -DALIGNED");
    if (program->is_gpu) cbk_rt_text_add(defines, " -DONLY_%s", spec->entry);
    if (!sets_group(program, spec->entry)) return;
    cbk_rt_text_add(defines, " -DROW_GROUP=%u", (unsigned)program->group);
    if (program->has_group) cbk_rt_text_add(defines, " -DITEMS=ROW_GROUP");
}

struct cbk_rt_spec cbk_ocl_reduce_spec(const struct cbk_ocl_reduce_program *program,
                                       const char *entry) {
    uint64_t flags = (uint64_t)program->is_aligned | (uint64_t)program->has_index64 << 1;
    if (program->is_gpu) flags |= entry_number(entry) << 2;
    if (sets_group(program, entry))
        flags |= (uint64_t)program->has_group << 5 | (uint64_t)program->group << 8;
    return (struct cbk_rt_spec){.source = program->is_gpu ? &cbk_kernel_reduce_gpu
                                                          : &cbk_kernel_reduce_cpu,
                                .entry = entry,
                                .key = {(uint64_t)program->kind | (uint64_t)program->x << 8 |
                                            (uint64_t)program->accumulator << 16 |
                                            (uint64_t)program->y << 24 | (uint64_t)program->z << 32,
                                        (uint64_t)program->lanes | flags << 8},
                                .describe = describe,
                                .context = program};
}

// ---- the list of all programs -------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
    struct cbk_ocl_reduce_program program;
};

static void visit_forms(struct visit *visit) {
    struct cbk_ocl_reduce_program *program = &visit->program;
    program->is_gpu = program->is_aligned = false;
    program->has_index64 = true;
    const uint32_t float_lanes[] = {4, 8, 16};
    for (size_t i = 0; i < 3; i++) {
        program->lanes = cbk_ocl_reduce_lanes(float_lanes[i], program->accumulator);
        struct cbk_rt_spec spec = cbk_ocl_reduce_spec(program, "reduce_row");
        visit->visit(visit->user_data, &spec);
    }
    program->is_gpu = true;
    program->lanes = 4;
    program->group = 2 * CBK_OCL_REDUCE_GROUP;
    for (uint64_t i = 0; i < ENTRIES; i++) {
        program->is_aligned = i % 2 == 0;                                  // rows and columns
        for (int has_index64 = 0; has_index64 <= (i < 2); has_index64++) { // that of rows will do
            program->has_index64 = has_index64 != 0;
            const struct cbk_rt_spec spec = cbk_ocl_reduce_spec(program, entries[i]);
            visit->visit(visit->user_data, &spec);
        }
    }
}

static void visit_dtype(void *context, cbk_dtype dtype) {
    struct visit *visit = context;
    struct cbk_ocl_reduce_program *program = &visit->program;
    const struct cbk_ocl_reduce_kind *kind = &kinds[program->kind];
    const bool is_arg = kind->state_fields == 0;
    const bool is_count = program->kind == CBK_OCL_REDUCE_COUNT_NONZERO;
    program->x = dtype;
    program->y = is_count || (is_arg && !kind->is_pair) ? CBK_DTYPE_I64
                 : kind->is_truth                       ? CBK_DTYPE_BOOL
                                                        : dtype;
    program->z = !kind->is_pair ? CBK_DTYPE_NONE : is_arg ? CBK_DTYPE_I64 : dtype;
    program->accumulator = cbk_ocl_reduce_accumulator(program->kind, dtype, program->y);
    visit_forms(visit);
    if (!is_count) return;
    program->accumulator = CBK_DTYPE_I64;
    visit_forms(visit);
}

void cbk_ocl_reduce_programs(cbk_ocl_program_visitor visit, void *user_data) {
    static const double exponents[] = {0, 1, 2, 3};
    for (cbk_opcode opcode = CBK_OP_SUM; opcode <= CBK_OP_COUNT_NONZERO; opcode++) {
        if (cbk_op_info_of(opcode) == NULL) continue;
        for (int i = 0; i < (opcode == CBK_OP_NORM ? 4 : 1); i++) {
            struct visit context = {
                visit, user_data, {.kind = cbk_ocl_reduce_kind_of(opcode, exponents[i])}};
            cbk_ocl_each_row_dtype(opcode, visit_dtype, &context);
        }
    }
}
