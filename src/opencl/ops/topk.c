/// topk.c: the k greatest or least elements of long rows for a k up to CBK_OCL_TOPK_MOST, by
/// launches of kernels/topk_cpu.cl and kernels/topk_gpu.cl.
#include "axes.h"
#include "pointwise.h"
#include "sort.h"

#define GROUP 256
#define GPU_PART 8192 ///< least elements of a part of a row
#define CPU_PART 16384
#define MOST_PARTS 1024 ///< so that the last part is not short of k elements

enum { WRITES_VALUES = 1, WRITES_INDICES = 2, READS_MAP = 4 };

// ---- programs -----------------------------------------------------------------------------------

struct program {
    cbk_dtype x, index, map;
    bool is_gpu, is_run, has_index64;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DX=%s -DB=%s -DI=%s -DM=%s -DINDEX=%s%s",
                    cbk_ocl_dtype_word(program->x),
                    cbk_ocl_dtype_word(cbk_ocl_bits_dtype(program->x)),
                    cbk_ocl_dtype_word(program->index), cbk_ocl_dtype_word(program->map),
                    program->has_index64 ? "long" : "int", program->is_run ? " -DRUN" : "");
}

static struct cbk_rt_spec make_spec(const struct program *program) {
    return (struct cbk_rt_spec){
        .source = program->is_gpu ? &cbk_kernel_topk_gpu : &cbk_kernel_topk_cpu,
        .entry = "topk",
        .key = {(uint64_t)program->x | (uint64_t)program->index << 8 | (uint64_t)program->map << 16,
                (uint64_t)program->is_run | (uint64_t)program->has_index64 << 1},
        .describe = describe,
        .context = program};
}

// ---- one launch ---------------------------------------------------------------------------------

/// As in kernels/include/topk.clh.
struct topk_args {
    struct cbk_ocl_axes kept;
    int64_t length, x_stride, x_offset, values_offset, indices_offset, map_offset;
    int64_t k, chunk_length, chunks, what;
    uint64_t flip;
};

/// Rows that are looked through, and where the results of their parts go.
struct topk {
    struct cbk_ocl_stream *stream;
    const char *operation;
    cbk_dtype dtype, map_dtype;
    struct cbk_rt_block *x;
    struct cbk_ocl_span map; ///< of positions to indices; no block: they are the indices
    struct topk_args args;
};

static void plan(struct topk *topk) {
    const struct cbk_rt_caps *caps = topk->stream->device->caps;
    struct topk_args *args = &topk->args;
    const int64_t least = caps->is_cpu ? CPU_PART : GPU_PART;
    const int64_t busy = 4 * (int64_t)caps->compute_units;
    int64_t most = args->length / least < MOST_PARTS ? args->length / least : MOST_PARTS;
    int64_t chunks =
        cbk_ocl_clamp(cbk_ocl_divide_up(busy, args->kept.count), 1, most > 1 ? most : 1);
    args->chunk_length =
        (int64_t)cbk_ocl_round_up((size_t)cbk_ocl_divide_up(args->length, chunks), 4);
    args->chunks = cbk_ocl_divide_up(args->length, args->chunk_length);
}

static bool is_run(const struct topk_args *args) {
    return args->x_stride == 1 && args->x_offset % 4 == 0 && args->length % 4 == 0 &&
           cbk_ocl_axes_are_aligned(&args->kept, 4);
}

static void add_span(struct cbk_rt_launch *launch, struct cbk_ocl_span span,
                     struct cbk_rt_block *fallback, uint32_t access) {
    cbk_rt_arg_block(launch, span.block != NULL ? span.block : fallback,
                     span.block != NULL ? access : CBK_RT_READ);
}

static cbk_status launch(struct topk *topk, struct cbk_ocl_span values, struct cbk_ocl_span indices,
                         cbk_dtype index_dtype) {
    const bool is_gpu = !topk->stream->device->caps->is_cpu;
    struct topk_args *args = &topk->args;
    struct cbk_ocl_axes whole = args->kept;
    if (whole.rank < CBK_MAX_RANK) cbk_ocl_axes_add(&whole, args->length, args->x_stride, 0);
    const struct program program = {.x = topk->dtype,
                                    .index = indices.block != NULL ? index_dtype : CBK_DTYPE_U32,
                                    .map = topk->map_dtype,
                                    .is_gpu = is_gpu,
                                    .is_run = is_gpu && is_run(args),
                                    .has_index64 =
                                        !is_gpu || cbk_ocl_axes_are_long(&whole) ||
                                        (topk->stream->device->flags & CBK_INDEX_64) != 0};
    args->values_offset = values.offset;
    args->indices_offset = indices.offset;
    args->map_offset = topk->map.offset;
    args->what = (values.block != NULL ? WRITES_VALUES : 0) |
                 (indices.block != NULL ? WRITES_INDICES : 0) |
                 (topk->map.block != NULL ? READS_MAP : 0);
    const size_t local = is_gpu ? GROUP : 1;
    struct cbk_rt_spec spec = make_spec(&program);
    struct cbk_rt_launch request = {
        .operation = topk->operation,
        .dimensions = 1,
        .global = {(size_t)(args->kept.count * args->chunks) * local, 1, 1},
        .local = {local, 1, 1}};
    cbk_status status = cbk_rt_kernel(topk->stream->rt, &spec, &request.kernel);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&request, topk->x, CBK_RT_READ);
    add_span(&request, values, topk->x, CBK_RT_WRITE);
    add_span(&request, indices, topk->x, CBK_RT_WRITE);
    add_span(&request, topk->map, topk->x, CBK_RT_READ);
    cbk_rt_arg_value(&request, args, sizeof *args);
    return cbk_rt_launch(topk->stream->rt, &request);
}

// ---- all parts ----------------------------------------------------------------------------------

/// The best of the parts become the rows of `topk`: values in `best`, indices in `places`.
static void take_parts(struct topk *topk, struct cbk_ocl_span best, struct cbk_ocl_span places) {
    struct topk_args *args = &topk->args;
    const int64_t rows = args->kept.count;
    topk->x = best.block;
    topk->map = places;
    args->x_offset = best.offset;
    args->x_stride = 1;
    args->length = args->chunks * args->k;
    cbk_ocl_axes_init(&args->kept);
    cbk_ocl_axes_add(&args->kept, rows, args->length, 0);
}

static cbk_status run(struct topk *topk, struct cbk_ocl_span values, struct cbk_ocl_span indices,
                      cbk_dtype index_dtype) {
    struct cbk_rt_device *device = topk->stream->device->rt;
    struct cbk_rt_block *best = NULL, *places = NULL, *old_best = NULL, *old_places = NULL;
    cbk_status status = CBK_OK;
    for (plan(topk); topk->args.chunks > 1; plan(topk)) {
        const uint64_t count = (uint64_t)(topk->args.kept.count * topk->args.chunks * topk->args.k);
        struct cbk_ocl_span to = {NULL, 0};
        RT_TRY(cbk_rt_alloc(topk->stream->rt, count * cbk_dtype_size(topk->dtype), &best));
        if (indices.block != NULL) {
            RT_TRY(
                cbk_rt_alloc(topk->stream->rt, count * cbk_dtype_size(topk->map_dtype), &places));
            to = cbk_ocl_span(places, topk->map_dtype);
        }
        RT_TRY(launch(topk, cbk_ocl_span(best, topk->dtype), to, topk->map_dtype));
        take_parts(topk, cbk_ocl_span(best, topk->dtype), to);
        cbk_rt_free(device, &old_best);
        cbk_rt_free(device, &old_places);
        old_best = best, old_places = places;
        best = places = NULL;
    }
    RT_TRY(launch(topk, values, indices, index_dtype));
done:
    cbk_rt_free(device, &best);
    cbk_rt_free(device, &places);
    cbk_rt_free(device, &old_best);
    cbk_rt_free(device, &old_places);
    return status;
}

cbk_status cbk_ocl_topk(const struct cbk_ocl_order *order, struct cbk_ocl_span values,
                        struct cbk_ocl_span indices, cbk_dtype index_dtype) {
    const cbk_tensor_meta *x = order->x->meta;
    struct topk topk = {.stream = order->stream,
                        .operation = order->operation,
                        .dtype = x->dtype,
                        .map_dtype =
                            x->shape[order->axis] > UINT32_MAX ? CBK_DTYPE_U64 : CBK_DTYPE_U32,
                        .x = order->x->block,
                        .args = {.length = x->shape[order->axis],
                                 .x_stride = x->strides[order->axis],
                                 .x_offset = order->x->offset,
                                 .k = order->keep,
                                 .flip = order->is_descending ? 0 : UINT64_MAX}};
    cbk_ocl_axes_in_order(x, order->axis, &topk.args.kept);
    return run(&topk, values, indices, index_dtype);
}

// ---- the list of all programs -------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
};

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    for (int form = 0; form < 5; form++) {
        struct program program = {.x = dtype,
                                  .index = CBK_DTYPE_I64,
                                  .map = CBK_DTYPE_U32,
                                  .is_gpu = form < 4,
                                  .is_run = form < 4 && (form & 1) != 0,
                                  .has_index64 = form >= 2};
        struct cbk_rt_spec spec = make_spec(&program);
        visit->visit(visit->user_data, &spec);
    }
}

void cbk_ocl_topk_programs(cbk_ocl_program_visitor visit, void *user_data) {
    struct visit context = {visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_TOPK, visit_dtype, &context);
}
