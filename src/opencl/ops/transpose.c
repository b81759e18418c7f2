/// transpose.c: from a transposed copy to a launch of kernels/transpose.cl.
#include "transpose.h"

#include <string.h>

enum {
    SHORTEST = 8,    ///< axes shorter than this are not worth tiles
    CPU_ROWS = 32,   ///< of a tile
    CPU_BYTES = 256, ///< bytes of a tile's row
    STRIP = 16,      ///< tiles
    LINE_BYTES = 64,
    ITEMS_PER_CORE = 16,
    STREAM_BYTES = 32 << 20, ///< as in pointwise.c
    MOST_GROUPS = 65535      ///< along the second and third dimension
};

/// As in transpose.cl.
struct plan {
    int64_t rows, columns;
    int64_t source_pitch, destination_pitch;
    int64_t source_offset, destination_offset;
    int64_t batch_shape[6];
    int64_t source_strides[6], destination_strides[6];
    int64_t tiles, tiles_per_item, strip;
    int32_t batch_rank;
    int32_t stream;
};
_Static_assert(sizeof(struct plan) == 224, "the kernel's layout has no padding");

/// The axis that is contiguous in the source.
static bool find_transposition(const struct cbk_ocl_nest *nest, uint32_t *out_axis) {
    uint32_t last = nest->rank - 1;
    if (nest->rank < 2 || nest->strides[0][last] != 1 || nest->shape[last] < SHORTEST) return false;
    if (nest->strides[1][last] == 0 || nest->strides[1][last] == 1) return false;
    for (uint32_t axis = 0; axis < last; axis++) {
        if (nest->strides[1][axis] != 1 || nest->shape[axis] < SHORTEST) continue;
        *out_axis = axis;
        return true;
    }
    return false;
}

static int64_t divide_up(int64_t value, int64_t divisor) {
    return (value + divisor - 1) / divisor;
}

/// Returns the number of matrices.
static int64_t make_plan(const struct cbk_ocl_nest *nest, uint32_t source_axis, struct plan *plan) {
    uint32_t last = nest->rank - 1;
    int64_t batches = 1;
    memset(plan, 0, sizeof *plan);
    plan->rows = nest->shape[last];
    plan->columns = nest->shape[source_axis];
    plan->source_pitch = nest->strides[1][last];
    plan->destination_pitch = nest->strides[0][source_axis];
    plan->source_offset = nest->offsets[1];
    plan->destination_offset = nest->offsets[0];
    for (uint32_t axis = 0; axis < last; axis++) {
        if (axis == source_axis) continue;
        int32_t place = plan->batch_rank++;
        plan->batch_shape[place] = nest->shape[axis];
        plan->source_strides[place] = nest->strides[1][axis];
        plan->destination_strides[place] = nest->strides[0][axis];
        batches *= nest->shape[axis];
    }
    return batches;
}

// ---- programs ------------------------------------------------------------------------------------

struct form {
    cbk_dtype bits;
    bool is_gpu;
    uint32_t lanes;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct form *form = spec->context;
    const char *type = form->bits == CBK_DTYPE_U8    ? "uchar"
                       : form->bits == CBK_DTYPE_U16 ? "ushort"
                       : form->bits == CBK_DTYPE_U32 ? "uint"
                                                     : "ulong";
    cbk_rt_text_add(defines, " -DT=%s", type);
    if (form->is_gpu)
        cbk_rt_text_add(defines, " -DGPU_FORM");
    else
        cbk_rt_text_add(defines, " -DW=%u", (unsigned)form->lanes);
}

static struct cbk_rt_spec make_spec(const struct form *form, const char *entry) {
    return (struct cbk_rt_spec){.source = &cbk_kernel_transpose,
                                .entry = entry,
                                .key = {form->bits, form->lanes | (uint64_t)form->is_gpu << 8},
                                .describe = describe,
                                .context = form};
}

void cbk_ocl_transpose_programs(cbk_ocl_program_visitor visit, void *user_data) {
    static const cbk_dtype sizes[] = {CBK_DTYPE_U8, CBK_DTYPE_U16, CBK_DTYPE_U32, CBK_DTYPE_U64};
    for (int size = 0; size < 4; size++) {
        uint32_t lanes = size == 3 ? 8 : 16;
        struct form cpu = {.bits = sizes[size], .lanes = lanes};
        struct form gpu = {.bits = sizes[size], .is_gpu = true};
        struct cbk_rt_spec spec = make_spec(&cpu, "transpose_blocks");
        visit(user_data, &spec);
        spec = make_spec(&gpu, "transpose_tile");
        visit(user_data, &spec);
    }
}

// ---- launches ------------------------------------------------------------------------------------

static cbk_status launch_plan(struct cbk_ocl_stream *stream, struct cbk_rt_launch *launch,
                              struct cbk_rt_block *destination, struct cbk_rt_block *source,
                              const struct plan *plan) {
    launch->operation = "copy";
    cbk_rt_arg_block(launch, destination, CBK_RT_WRITE);
    cbk_rt_arg_block(launch, source, CBK_RT_READ);
    cbk_rt_arg_value(launch, plan, sizeof *plan);
    return cbk_rt_launch(stream->rt, launch);
}

static cbk_status launch_cpu(struct cbk_ocl_stream *stream, cbk_dtype bits, int64_t batches,
                             struct plan *plan, struct cbk_rt_block *destination,
                             struct cbk_rt_block *source) {
    int64_t size = cbk_dtype_size(bits);
    uint32_t lanes = stream->device->caps->float_lanes * 4 / (uint32_t)size;
    struct form form = {.bits = bits, .lanes = lanes > 16 ? 16 : lanes < 2 ? 2 : lanes};
    struct cbk_rt_launch launch = {.dimensions = 1, .local = {1}};
    plan->tiles =
        batches * divide_up(plan->rows, CPU_ROWS) * divide_up(plan->columns, CPU_BYTES / size);
    int64_t items = (int64_t)stream->device->caps->compute_units * ITEMS_PER_CORE;
    plan->tiles_per_item = divide_up(plan->tiles, items);
    if (plan->tiles_per_item < 4) plan->tiles_per_item = 4;
    plan->stream = batches * plan->rows * plan->columns * size >= STREAM_BYTES / 2;
    plan->strip = plan->stream && plan->destination_pitch * size % LINE_BYTES == 0 ? 1 : STRIP;
    launch.global[0] = (size_t)divide_up(plan->tiles, plan->tiles_per_item);

    struct cbk_rt_spec spec = make_spec(&form, "transpose_blocks");
    cbk_status status = cbk_rt_kernel(stream->rt, &spec, &launch.kernel);
    return status != CBK_OK ? status : launch_plan(stream, &launch, destination, source, plan);
}

static bool has_quads(cbk_dtype bits, const struct plan *plan) {
    int64_t all = plan->rows | plan->columns | plan->source_pitch | plan->destination_pitch |
                  plan->source_offset | plan->destination_offset;
    for (int32_t axis = 0; axis < plan->batch_rank; axis++)
        all |= plan->source_strides[axis] | plan->destination_strides[axis];
    return bits == CBK_DTYPE_U32 && all % 4 == 0;
}

static cbk_status launch_gpu(struct cbk_ocl_stream *stream, cbk_dtype bits, int64_t batches,
                             const struct plan *plan, struct cbk_rt_block *destination,
                             struct cbk_rt_block *source) {
    uint32_t most = stream->device->caps->max_work_group;
    bool is_vector = has_quads(bits, plan) && most >= 256;
    int64_t tile = is_vector ? 64 : 32;
    struct form form = {.bits = bits, .is_gpu = true};
    struct cbk_rt_launch launch = {.dimensions = 3, .local = {256, 1, 1}};
    while (launch.local[0] > most && launch.local[0] > 32) launch.local[0] /= 2;
    launch.global[0] = (size_t)divide_up(plan->rows, tile) * launch.local[0];
    launch.global[1] = (size_t)divide_up(plan->columns, tile);
    launch.global[2] = (size_t)batches;

    struct cbk_rt_spec spec = make_spec(&form, is_vector ? "transpose_vector" : "transpose_tile");
    cbk_status status = cbk_rt_kernel(stream->rt, &spec, &launch.kernel);
    return status != CBK_OK ? status : launch_plan(stream, &launch, destination, source, plan);
}

static bool fits_grid(const struct plan *plan, int64_t batches) {
    return batches <= MOST_GROUPS && divide_up(plan->columns, 32) <= MOST_GROUPS;
}

cbk_status cbk_ocl_transpose(struct cbk_ocl_stream *stream, cbk_dtype bits,
                             const struct cbk_ocl_nest *nest, struct cbk_rt_block *destination,
                             struct cbk_rt_block *source, bool *out_done) {
    bool is_cpu = stream->device->caps->is_cpu;
    uint32_t axis;
    struct plan plan;
    *out_done = false;
    if (!find_transposition(nest, &axis)) return CBK_OK;
    int64_t batches = make_plan(nest, axis, &plan);
    if (!is_cpu && !fits_grid(&plan, batches)) return CBK_OK;
    *out_done = true;
    return is_cpu ? launch_cpu(stream, bits, batches, &plan, destination, source)
                  : launch_gpu(stream, bits, batches, &plan, destination, source);
}
