/// gather.c: launches of kernels/gather.cl.
#include "index.h"
#include "mover.h"

#define PIECE 4096         ///< elements of the innermost axis that a CPU work-item does at a time
#define FETCHED_BYTES 4096 ///< that are on their way while a CPU copies a row
#define LEAST_FETCHED 64   ///< bytes of a row for which that is worth a look at its index

struct gather_args {
    struct cbk_ocl_index_axes axes;
    int64_t x_offset, index_offset, y_offset;
    int64_t x_step, length;
    int64_t piece, units_per_item, stream;
    int64_t ahead, fetched;
};

// ---- launch -------------------------------------------------------------------------------------

/// Can `factor` elements of the innermost axis go as one?
static bool can_widen(const struct gather_args *args, int64_t factor) {
    const struct cbk_ocl_index_axes *axes = &args->axes;
    if (axes->rank == 0 || axes->index[0] != 0 || axes->x[0] != 1 || axes->y[0] != 1) return false;
    if (axes->shape[0] % factor != 0 || args->x_step % factor != 0) return false;
    if (args->x_offset % factor != 0 || args->y_offset % factor != 0) return false;
    for (int64_t d = 1; d < axes->rank; d++)
        if (axes->x[d] % factor != 0 || axes->y[d] % factor != 0) return false;
    return true;
}

static void widen(struct gather_args *args, int64_t factor) {
    struct cbk_ocl_index_axes *axes = &args->axes;
    axes->shape[0] /= factor;
    axes->count /= factor;
    args->x_step /= factor;
    args->x_offset /= factor;
    args->y_offset /= factor;
    for (int64_t d = 1; d < axes->rank; d++) {
        axes->x[d] /= factor;
        axes->y[d] /= factor;
    }
}

/// CPUs follow a row by themselves once they are in it; finding the next one takes them longest.
static void plan_fetching(struct gather_args *args, int64_t inner, uint32_t size) {
    const struct cbk_ocl_index_axes *axes = &args->axes;
    const int64_t bytes = inner * size;
    if (axes->rank == 0 || axes->index[0] != 0 || axes->x[0] != 1 || inner > args->piece) return;
    if (bytes < LEAST_FETCHED) return;
    args->fetched = (bytes < FETCHED_BYTES ? bytes : FETCHED_BYTES) / size;
    args->ahead = bytes < FETCHED_BYTES ? FETCHED_BYTES / bytes : 1;
}

/// Work-items.
static int64_t plan(const struct cbk_rt_caps *caps, struct gather_args *args, uint32_t size) {
    const struct cbk_ocl_index_axes *axes = &args->axes;
    const int64_t share = CBK_OCL_MOVE_GROUP * CBK_OCL_MOVE_EACH;
    if (!caps->is_cpu) return cbk_ocl_divide_up(axes->count, share) * CBK_OCL_MOVE_GROUP;
    int64_t inner = axes->rank > 0 ? axes->shape[0] : 1;
    args->piece = inner < PIECE ? inner : PIECE;
    args->stream = axes->count * size >= CBK_OCL_STREAM_BYTES / 2 && inner * size >= 256;
    plan_fetching(args, inner, size);
    int64_t units = axes->count / inner * cbk_ocl_divide_up(inner, args->piece);
    int64_t items = cbk_ocl_clamp(axes->count / 4096, 1, 16 * (int64_t)caps->compute_units);
    args->units_per_item = cbk_ocl_divide_up(units, items);
    return cbk_ocl_divide_up(units, args->units_per_item);
}

cbk_status cbk_ocl_gather(struct cbk_ocl_stream *stream, const struct cbk_ocl_indexing *indexing) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    struct gather_args args = {.x_offset = indexing->x.offset,
                               .index_offset = indexing->index.offset,
                               .y_offset = indexing->y.offset,
                               .x_step = indexing->x.meta->strides[indexing->axis],
                               .length = indexing->x.meta->shape[indexing->axis]};
    uint32_t size = cbk_dtype_size(indexing->x.meta->dtype);
    cbk_ocl_index_axes(indexing, true, &args.axes);
    for (uint32_t wide = caps->is_cpu ? 8 : 16; wide > size; wide /= 2) {
        if (!can_widen(&args, wide / size)) continue;
        widen(&args, wide / size);
        size = wide;
    }
    struct cbk_ocl_index_program program = {.source = &cbk_kernel_gather,
                                            .entry = "gather",
                                            .element_size = size,
                                            .index = indexing->index.meta->dtype,
                                            .is_gpu = !caps->is_cpu,
                                            .has_index64 =
                                                caps->is_cpu || args.axes.count > INT32_MAX / 2 ||
                                                (stream->device->flags & CBK_INDEX_64) != 0};
    size_t local = program.is_gpu ? CBK_OCL_MOVE_GROUP : 1;
    struct cbk_rt_launch launch = {.operation = indexing->operation,
                                   .dimensions = 1,
                                   .global = {(size_t)plan(caps, &args, size), 1, 1},
                                   .local = {local, 1, 1}};
    struct cbk_rt_spec spec = cbk_ocl_index_spec(&program);
    cbk_status status = cbk_rt_kernel(stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    // x may have no elements: then no index is within it.
    struct cbk_rt_block *x = indexing->x.block ? indexing->x.block : indexing->y.block;
    cbk_rt_arg_block(&launch, x, CBK_RT_READ);
    cbk_rt_arg_block(&launch, indexing->index.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, indexing->y.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    cbk_rt_arg_index_flag(stream->rt, &launch);
    return cbk_rt_launch(stream->rt, &launch);
}

// ---- the list of all programs -------------------------------------------------------------------

void cbk_ocl_gather_programs(cbk_ocl_program_visitor visit, void *user_data) {
    cbk_ocl_index_programs_of(&cbk_kernel_gather, "gather", 16, visit, user_data);
}
