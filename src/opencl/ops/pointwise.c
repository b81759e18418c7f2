/// pointwise.c: from an operator and its operands to a launch of kernels/pointwise.cl.
#include "pointwise.h"

#include "merge.h"

#include <string.h>

// ---- programs ------------------------------------------------------------------------------------

/// One form of a program; with the operator it gives the defines.
struct form {
    const struct cbk_ocl_pointwise *op;
    bool is_gpu;
    bool has_index64;
    uint32_t lanes;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    static const char *const names[] = {"OUT", "A", "B", "C"};
    const struct form *form = spec->context;
    const struct cbk_ocl_pointwise *op = form->op;
    cbk_rt_text_add(defines, " -D%s -DONLY_%s -DOP=op_%s_%s", op->family, op->word, op->name,
                    op->word);
    if (op->names_result) cbk_rt_text_add(defines, "_%s", cbk_ocl_dtype_word(op->types[0]));
    cbk_rt_text_add(defines, " -DINPUTS=%u -DW=%u", (unsigned)op->input_count,
                    (unsigned)form->lanes);
    for (uint32_t k = 0; k <= op->input_count; k++)
        cbk_rt_text_add(defines, " -D%s=%s", names[k], cbk_ocl_dtype_word(op->types[k]));
    if (op->scalar_count != 0)
        cbk_rt_text_add(defines, " -DSCALARS=%u -DP=%s", (unsigned)op->scalar_count,
                        cbk_ocl_dtype_word(op->scalar_type));
    if (op->is_reversed) cbk_rt_text_add(defines, " -DREVERSED");
    if (op->is_indexed) cbk_rt_text_add(defines, " -DINDEXED");
    if (form->is_gpu) cbk_rt_text_add(defines, " -DGPU_FORM -DALIGNED");
    if (form->has_index64) cbk_rt_text_add(defines, " -DINDEX64");
}

/// Elements per two vector registers (CPU: two chains of instructions hide latencies) or 16-byte
/// access (GPU) of the widest operand.
static uint32_t choose_lanes(const struct cbk_ocl_pointwise *op, uint32_t bytes) {
    uint32_t widest = 1;
    for (uint32_t k = 0; k <= op->input_count; k++) {
        uint32_t size = cbk_dtype_size(op->types[k]);
        if (size > widest) widest = size;
    }
    uint32_t lanes = bytes / widest;
    return lanes > 16 ? 16 : lanes < 2 ? 2 : lanes;
}

static uint64_t key_of(cbk_dtype dtype) {
    return dtype == CBK_DTYPE_FLEX32 ? CBK_DTYPE_F32 : dtype;
}

static struct cbk_rt_spec make_spec(const struct form *form, const char *entry) {
    const struct cbk_ocl_pointwise *op = form->op;
    struct cbk_rt_spec spec = {
        .source = &cbk_kernel_pointwise, .entry = entry, .describe = describe, .context = form};
    spec.key[0] = (uint64_t)op->id << 32;
    for (uint32_t k = 0; k <= op->input_count; k++) spec.key[0] |= key_of(op->types[k]) << (8 * k);
    spec.key[1] = form->lanes | (uint64_t)form->is_gpu << 8 | (uint64_t)form->has_index64 << 9 |
                  (uint64_t)op->is_reversed << 10 | (uint64_t)op->scalar_count << 12 |
                  (uint64_t)op->input_count << 14 | key_of(op->scalar_type) << 16;
    return spec;
}

// ---- CPU form ------------------------------------------------------------------------------------

enum {
    BLOCK_ELEMENTS = 4096,   ///< least worth a work-item of its own
    ITEMS_PER_CORE = 16,     ///< for balance
    STREAM_BYTES = 32 << 20, ///< from here on operands outlive no cache
    STREAM_ELEMENTS = 256    ///< shortest row that bypasses the caches
};

/// As in pointwise.cl.
struct cpu_walk {
    int64_t shape[8];
    int64_t strides[4][8];
    int64_t offsets[4];
    int64_t inner;
    int64_t inner_strides[4];
    int64_t piece;
    int64_t pieces_per_row;
    int64_t pieces;
    int64_t pieces_per_item;
    int32_t outer_rank;
    int32_t stream;
};
_Static_assert(sizeof(struct cpu_walk) == 432, "the kernel's layout has no padding");

static int64_t divide_up(int64_t value, int64_t divisor) {
    return (value + divisor - 1) / divisor;
}

/// Cuts the nest into pieces; returns the number of work-items.
static int64_t plan_cpu(const struct cbk_ocl_stream *stream, const struct form *form,
                        const struct cbk_ocl_nest *nest, struct cpu_walk *walk) {
    uint32_t last = nest->rank - 1;
    uint64_t bytes = 0;
    memset(walk, 0, sizeof *walk);
    walk->outer_rank = (int32_t)last;
    walk->inner = nest->shape[last];
    for (uint32_t axis = 0; axis < last; axis++) walk->shape[axis] = nest->shape[axis];
    for (uint32_t k = 0; k < nest->operand_count; k++) {
        walk->offsets[k] = nest->offsets[k];
        walk->inner_strides[k] = nest->strides[k][last];
        for (uint32_t axis = 0; axis < last; axis++)
            walk->strides[k][axis] = nest->strides[k][axis];
        if (nest->strides[k][last] != 0)
            bytes += (uint64_t)nest->element_count * cbk_dtype_size(form->op->types[k]);
    }
    int64_t most = (int64_t)stream->device->caps->compute_units * ITEMS_PER_CORE;
    int64_t items = nest->element_count / BLOCK_ELEMENTS;
    items = items < 1 ? 1 : items > most ? most : items;
    int64_t share = divide_up(nest->element_count, items);
    int64_t rows = nest->element_count / walk->inner;
    if (walk->inner > share) {
        walk->piece = divide_up(share, form->lanes) * form->lanes;
        walk->pieces_per_row = divide_up(walk->inner, walk->piece);
        walk->pieces_per_item = 1;
    } else {
        walk->piece = walk->inner;
        walk->pieces_per_row = 1;
        walk->pieces_per_item = divide_up(share, walk->inner);
    }
    walk->pieces = rows * walk->pieces_per_row;
    walk->stream = bytes >= STREAM_BYTES && walk->inner >= STREAM_ELEMENTS;
    return divide_up(walk->pieces, walk->pieces_per_item);
}

static const char *choose_cpu_entry(const struct cbk_ocl_nest *nest) {
    for (uint32_t k = 0; k < nest->operand_count; k++) {
        int64_t inner = nest->strides[k][nest->rank - 1];
        if (inner != 1 && (inner != 0 || k == 0)) return "pointwise_strided";
    }
    return "pointwise_rows";
}

// ---- GPU form ------------------------------------------------------------------------------------

enum { GROUP = 128 }; ///< work-items: enough for a copy at full rate, few for functions with tails

/// As in pointwise.cl, with 32- and 64-bit index_t.
#define GPU_WALK(index_t)                                                                          \
    {                                                                                              \
        int64_t offsets[4];                                                                        \
        index_t count;                                                                             \
        index_t shape[8];                                                                          \
        index_t strides[4][8];                                                                     \
        uint32_t reciprocals[8];                                                                   \
        uint32_t shifts[8];                                                                        \
        uint32_t steps[4];                                                                         \
        index_t rank;                                                                              \
    }
struct gpu_walk32 GPU_WALK(int32_t);
struct gpu_walk64 GPU_WALK(int64_t);
_Static_assert(sizeof(struct gpu_walk32) == 280, "the kernel's layout");
_Static_assert(sizeof(struct gpu_walk64) == 448, "the kernel's layout");

/// Division by d of numbers below 2^31: (mulhi(i, reciprocal) + i) >> shift.
static void set_reciprocal(uint32_t d, uint32_t *out_reciprocal, uint32_t *out_shift) {
    uint32_t shift = 0;
    while ((UINT64_C(1) << shift) < d) shift++;
    *out_shift = shift;
    *out_reciprocal = (uint32_t)(((((UINT64_C(1) << shift) - d) << 32) / d) + 1);
}

static void pack_walk32(const struct gpu_walk64 *wide, struct gpu_walk32 *out) {
    out->count = (int32_t)wide->count;
    out->rank = (int32_t)wide->rank;
    for (int axis = 0; axis < 8; axis++) {
        out->shape[axis] = (int32_t)wide->shape[axis];
        out->reciprocals[axis] = out->shifts[axis] = 0;
        if (axis < wide->rank)
            set_reciprocal((uint32_t)wide->shape[axis], &out->reciprocals[axis],
                           &out->shifts[axis]);
    }
    for (int k = 0; k < 4; k++) {
        out->offsets[k] = wide->offsets[k];
        out->steps[k] = wide->steps[k];
        for (int axis = 0; axis < 8; axis++)
            out->strides[k][axis] = (int32_t)wide->strides[k][axis];
    }
}

/// Can every operand be read along the innermost axis in aligned vectors of `lanes`?
static bool has_vector_rows(const struct cbk_ocl_nest *nest, uint32_t lanes) {
    uint32_t last = nest->rank - 1;
    if (nest->rank > 1 && nest->shape[last] % lanes != 0) return false;
    for (uint32_t k = 0; k < nest->operand_count; k++) {
        int64_t step = nest->strides[k][last];
        if (step == 0 && k != 0) continue;
        if (step != 1 || nest->offsets[k] % lanes != 0) return false;
        for (uint32_t axis = 0; axis < last; axis++)
            if (nest->strides[k][axis] % lanes != 0) return false;
    }
    return true;
}

/// Fills the walk; returns the number of work-items.
static int64_t plan_gpu(const struct cbk_ocl_nest *nest, uint32_t lanes, bool is_indexed,
                        struct gpu_walk64 *walk, const char **out_entry) {
    bool is_vector = has_vector_rows(nest, lanes);
    bool is_dense = is_vector && nest->rank == 1;
    bool is_rows = is_vector && !is_dense && !is_indexed;
    uint32_t last = nest->rank - 1;
    memset(walk, 0, sizeof *walk);
    walk->rank = nest->rank;
    walk->count = nest->element_count;
    for (uint32_t axis = 0; axis < nest->rank; axis++) walk->shape[axis] = nest->shape[axis];
    for (uint32_t k = 0; k < nest->operand_count; k++) {
        walk->offsets[k] = nest->offsets[k];
        walk->steps[k] = nest->strides[k][last] == 1;
        for (uint32_t axis = 0; axis < nest->rank; axis++)
            walk->strides[k][axis] = nest->strides[k][axis];
        if (is_rows) walk->strides[k][last] *= lanes;
    }
    *out_entry = is_dense  ? "pointwise_contiguous"
                 : is_rows ? "pointwise_rows"
                           : "pointwise_strided";
    if (is_rows) {
        walk->shape[last] /= lanes;
        walk->count /= lanes;
        return walk->count;
    }
    return divide_up(walk->count, lanes);
}

// ---- launch --------------------------------------------------------------------------------------

static size_t math_size(cbk_dtype dtype) {
    return cbk_dtype_size(dtype) == 8 ? 8 : 4;
}

static cbk_status launch_walk(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                              struct cbk_rt_launch *launch, struct cbk_rt_block *const *blocks,
                              const void *walk, size_t walk_size) {
    launch->operation = op->operation;
    launch->dimensions = 1;
    cbk_rt_arg_block(launch, blocks[0], CBK_RT_WRITE);
    for (uint32_t k = 1; k <= op->input_count; k++)
        cbk_rt_arg_block(launch, blocks[k], CBK_RT_READ);
    for (uint32_t i = 0; i < op->scalar_count; i++)
        cbk_rt_arg_value(launch, &op->scalars[i], math_size(op->scalar_type));
    cbk_rt_arg_value(launch, walk, walk_size);
    return cbk_rt_launch(stream->rt, launch);
}

static cbk_status launch_cpu(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                             const struct cbk_ocl_nest *nest, struct cbk_rt_block *const *blocks) {
    uint32_t bytes = stream->device->caps->float_lanes * 8;
    struct form form = {.op = op, .lanes = choose_lanes(op, bytes)};
    struct cpu_walk walk;
    struct cbk_rt_launch launch = {.local = {1}};
    launch.global[0] = (size_t)plan_cpu(stream, &form, nest, &walk);
    struct cbk_rt_spec spec = make_spec(&form, choose_cpu_entry(nest));
    cbk_status status = cbk_rt_kernel(stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    return launch_walk(stream, op, &launch, blocks, &walk, sizeof walk);
}

static cbk_status launch_gpu(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                             const struct cbk_ocl_nest *nest, struct cbk_rt_block *const *blocks) {
    struct form form = {
        .op = op, .is_gpu = true, .has_index64 = nest->needs_64bit, .lanes = choose_lanes(op, 16)};
    struct gpu_walk64 walk;
    struct gpu_walk32 narrow;
    const char *entry = NULL;
    struct cbk_rt_launch launch = {.local = {GROUP}};
    size_t items = (size_t)plan_gpu(nest, form.lanes, op->is_indexed, &walk, &entry);

    struct cbk_rt_spec spec = make_spec(&form, entry);
    cbk_status status = cbk_rt_kernel(stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    uint32_t most = cbk_rt_kernel_max_work_group(launch.kernel);
    while (launch.local[0] > most && launch.local[0] > 1) launch.local[0] /= 2;
    launch.global[0] = cbk_ocl_round_up(items, launch.local[0]);
    if (nest->needs_64bit) return launch_walk(stream, op, &launch, blocks, &walk, sizeof walk);
    pack_walk32(&walk, &narrow);
    return launch_walk(stream, op, &launch, blocks, &narrow, sizeof narrow);
}

cbk_status cbk_ocl_pointwise_nest(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                                  const struct cbk_ocl_nest *nest,
                                  struct cbk_rt_block *const *blocks) {
    if (nest->element_count == 0) return CBK_OK;
    cbk_status status = stream->device->caps->is_cpu ? launch_cpu(stream, op, nest, blocks)
                                                     : launch_gpu(stream, op, nest, blocks);
    if (status == CBK_OK && cbk_rt_is_capturing(stream->rt))
        cbk_ocl_note_small_launch(stream, op, nest, blocks);
    return status;
}

uint32_t cbk_ocl_pointwise_lanes(const struct cbk_rt_caps *caps,
                                 const struct cbk_ocl_pointwise *op) {
    return choose_lanes(op, caps->is_cpu ? caps->float_lanes * 8 : 16);
}

bool cbk_ocl_pointwise_is_vector(const struct cbk_rt_caps *caps, const struct cbk_ocl_nest *nest,
                                 uint32_t lanes) {
    return caps->is_cpu ? strcmp(choose_cpu_entry(nest), "pointwise_rows") == 0
                        : has_vector_rows(nest, lanes);
}

// ---- lists of programs ---------------------------------------------------------------------------

void cbk_ocl_pointwise_visit(const struct cbk_ocl_pointwise *op, cbk_ocl_program_visitor visit,
                             void *user_data) {
    enum { CPU_BYTES = 64, GPU_BYTES = 16 };
    struct form form = {.op = op, .lanes = choose_lanes(op, CPU_BYTES)};
    struct cbk_rt_spec spec = make_spec(&form, "pointwise_rows");
    visit(user_data, &spec);
    form.is_gpu = true;
    form.lanes = choose_lanes(op, GPU_BYTES);
    spec = make_spec(&form, "pointwise_contiguous");
    visit(user_data, &spec);
    form.has_index64 = true;
    spec = make_spec(&form, "pointwise_contiguous");
    visit(user_data, &spec);
}

void cbk_ocl_each_row_dtype(cbk_opcode opcode, void (*visit_dtype)(void *context, cbk_dtype dtype),
                            void *context) {
    const cbk_op_info *info = cbk_op_info_of(opcode);
    if (info == NULL) return;
    for (cbk_dtype dtype = 0; dtype < 64; dtype++)
        if ((info->dtypes >> dtype & 1) != 0 && dtype != CBK_DTYPE_FLEX32)
            visit_dtype(context, dtype);
}
