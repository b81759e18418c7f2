/// order.c: rows in order, by launches of kernels/sort_cpu.cl and kernels/sort_gpu.cl (short rows)
/// or by radix.c.
#include "axes.h"
#include "pointwise.h"
#include "sort.h"

#define GROUP 256
#define GPU_ROW 2048 ///< elements of a short row
#define CPU_ROW 8192
#define CPU_TOPK_ROW 1024 ///< elements of a row that is worth a work-item

enum { WRITES_VALUES = 1, WRITES_INDICES = 2 };

// ---- programs -----------------------------------------------------------------------------------

struct program {
    cbk_dtype x, index;
    bool is_gpu, has_index64;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DX=%s -DB=%s -DI=%s -DINDEX=%s", cbk_ocl_dtype_word(program->x),
                    cbk_ocl_dtype_word(cbk_ocl_bits_dtype(program->x)),
                    cbk_ocl_dtype_word(program->index), program->has_index64 ? "long" : "int");
}

static struct cbk_rt_spec make_spec(const struct program *program) {
    return (struct cbk_rt_spec){
        .source = program->is_gpu ? &cbk_kernel_sort_gpu : &cbk_kernel_sort_cpu,
        .entry = "sort_rows",
        .key = {(uint64_t)program->x | (uint64_t)program->index << 8, program->has_index64},
        .describe = describe,
        .context = program};
}

// ---- short rows ---------------------------------------------------------------------------------

/// As in kernels/sort_gpu.cl and kernels/sort_cpu.cl.
struct sort_args {
    struct cbk_ocl_axes kept;
    int64_t length, x_stride, x_offset, values_offset, indices_offset;
    int64_t keep;
    int64_t share; ///< CPU: rows of a work-item; GPU: slots of a row
    int64_t what;
    uint64_t flip;
};

/// Work-items of a launch.
static int64_t plan(const struct cbk_rt_caps *caps, struct sort_args *args, bool is_gpu) {
    if (is_gpu) {
        args->share = cbk_ocl_power_of_two(args->length);
        return cbk_ocl_divide_up(args->kept.count, GPU_ROW / args->share) * GROUP;
    }
    int64_t useful = cbk_ocl_divide_up(args->kept.count * args->length, 1024);
    int64_t items = cbk_ocl_clamp(useful, 1, 16 * (int64_t)caps->compute_units);
    args->share = cbk_ocl_divide_up(args->kept.count, items);
    return cbk_ocl_divide_up(args->kept.count, args->share);
}

static bool needs_long(const struct cbk_ocl_order *order, const struct sort_args *args) {
    struct cbk_ocl_axes whole = args->kept;
    if (whole.rank < CBK_MAX_RANK) cbk_ocl_axes_add(&whole, args->length, args->x_stride, 0);
    return cbk_ocl_axes_are_long(&whole) || (order->stream->device->flags & CBK_INDEX_64) != 0;
}

static cbk_status sort_short(const struct cbk_ocl_order *order, struct cbk_ocl_span values,
                             struct cbk_ocl_span indices, cbk_dtype index_dtype) {
    const struct cbk_rt_caps *caps = order->stream->device->caps;
    const cbk_tensor_meta *x = order->x->meta;
    struct sort_args args = {.length = x->shape[order->axis],
                             .x_stride = x->strides[order->axis],
                             .x_offset = order->x->offset,
                             .values_offset = values.offset,
                             .indices_offset = indices.offset,
                             .keep = order->keep,
                             .what = (values.block ? WRITES_VALUES : 0) |
                                     (indices.block ? WRITES_INDICES : 0),
                             .flip = order->is_descending ? UINT64_MAX : 0};
    cbk_ocl_axes_in_order(x, order->axis, &args.kept);
    struct program program = {.x = x->dtype,
                              .index = indices.block ? index_dtype : CBK_DTYPE_U32,
                              .is_gpu = !caps->is_cpu};
    program.has_index64 = !program.is_gpu || needs_long(order, &args);
    const int64_t items = plan(caps, &args, program.is_gpu);
    struct cbk_rt_spec spec = make_spec(&program);
    struct cbk_rt_launch launch = {.operation = order->operation,
                                   .dimensions = 1,
                                   .global = {(size_t)items, 1, 1},
                                   .local = {program.is_gpu ? GROUP : 1, 1, 1}};
    cbk_status status = cbk_rt_kernel(order->stream->rt, &spec, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, order->x->block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, values.block ? values.block : order->x->block,
                     values.block ? CBK_RT_WRITE : CBK_RT_READ);
    cbk_rt_arg_block(&launch, indices.block ? indices.block : order->x->block,
                     indices.block ? CBK_RT_WRITE : CBK_RT_READ);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    return cbk_rt_launch(order->stream->rt, &launch);
}

// ---- long rows ----------------------------------------------------------------------------------

/// Sorts whole rows, whose values or indices may be short of room for them.
struct whole {
    struct cbk_ocl_order order;
    struct cbk_ocl_operand x; ///< dense, the axis last
    int64_t rows, length;
};

/// The start of each whole row to its place.
static cbk_status keep_start(const struct whole *whole, struct cbk_rt_block *from, cbk_dtype dtype,
                             struct cbk_ocl_span to) {
    const int64_t keep = whole->order.keep;
    cbk_tensor_meta source = {.dtype = dtype,
                              .rank = 2,
                              .element_count = whole->rows * keep,
                              .shape = {whole->rows, keep},
                              .strides = {whole->length, 1}};
    cbk_tensor_meta target = source;
    target.strides[0] = keep;
    struct cbk_ocl_operand x = {
        .meta = &source, .block = from, .offset = cbk_ocl_span(from, dtype).offset};
    struct cbk_ocl_operand y = {.meta = &target, .block = to.block, .offset = to.offset};
    return cbk_ocl_copy(whole->order.stream, &x, &y);
}

static cbk_status sort_whole(const struct whole *whole, struct cbk_ocl_span values,
                             struct cbk_ocl_span indices, cbk_dtype index_dtype) {
    struct cbk_ocl_stream *stream = whole->order.stream;
    const cbk_dtype dtype = whole->x.meta->dtype;
    const uint64_t count = (uint64_t)(whole->rows * whole->length);
    const bool is_all = whole->order.keep == whole->length;
    struct cbk_rt_block *all_values = NULL, *all_indices = NULL;
    struct cbk_ocl_radix sort = {.stream = stream,
                                 .operation = whole->order.operation,
                                 .dtype = dtype,
                                 .rows = whole->rows,
                                 .length = whole->length,
                                 .is_descending = whole->order.is_descending,
                                 .in = {whole->x.block, whole->x.offset},
                                 .values = values,
                                 .indices = indices,
                                 .index_dtype = index_dtype};
    cbk_status status = CBK_OK;
    if (!is_all && values.block != NULL) {
        RT_TRY(cbk_rt_alloc(stream->rt, count * cbk_dtype_size(dtype), &all_values));
        sort.values = cbk_ocl_span(all_values, dtype);
    }
    if (!is_all && indices.block != NULL) {
        RT_TRY(cbk_rt_alloc(stream->rt, count * cbk_dtype_size(index_dtype), &all_indices));
        sort.indices = cbk_ocl_span(all_indices, index_dtype);
    }
    RT_TRY(cbk_ocl_radix_sort(&sort));
    if (all_values != NULL) RT_TRY(keep_start(whole, all_values, dtype, values));
    if (all_indices != NULL) RT_TRY(keep_start(whole, all_indices, index_dtype, indices));
done:
    cbk_rt_free(stream->device->rt, &all_indices);
    cbk_rt_free(stream->device->rt, &all_values);
    return status;
}

static cbk_status sort_long(const struct cbk_ocl_order *order, struct cbk_ocl_span values,
                            struct cbk_ocl_span indices, cbk_dtype index_dtype) {
    struct cbk_ocl_stream *stream = order->stream;
    cbk_tensor_meta meta, dense_meta;
    struct cbk_ocl_operand source = *order->x, dense = {.block = NULL};
    cbk_status status = CBK_OK;
    cbk_ocl_move_last(order->x->meta, order->axis, &meta);
    source.meta = &meta;
    if (!cbk_ocl_is_dense(&meta)) {
        RT_TRY(cbk_ocl_temporary(stream, &meta, &dense_meta, &dense));
        RT_TRY(cbk_ocl_copy(stream, &source, &dense));
    }
    struct whole whole = {.order = *order,
                          .x = dense.block != NULL ? dense : source,
                          .length = meta.shape[meta.rank - 1]};
    whole.rows = meta.element_count / whole.length;
    RT_TRY(sort_whole(&whole, values, indices, index_dtype));
done:
    cbk_rt_free(stream->device->rt, &dense.block);
    return status;
}

/// Is a look through the row better than a sort of it?
static bool prefers_topk(const struct cbk_ocl_order *order, int64_t length) {
    const int64_t least = order->stream->device->caps->is_cpu ? CPU_TOPK_ROW : GPU_ROW + 1;
    return order->keep <= CBK_OCL_TOPK_MOST && 16 * order->keep <= length && length >= least;
}

cbk_status cbk_ocl_order_rows(const struct cbk_ocl_order *order, struct cbk_ocl_span values,
                              struct cbk_ocl_span indices, cbk_dtype index_dtype) {
    const int64_t most = order->stream->device->caps->is_cpu ? CPU_ROW : GPU_ROW;
    const int64_t length = order->x->meta->shape[order->axis];
    if (prefers_topk(order, length)) return cbk_ocl_topk(order, values, indices, index_dtype);
    return length <= most ? sort_short(order, values, indices, index_dtype)
                          : sort_long(order, values, indices, index_dtype);
}

// ---- the list of all programs -------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
};

static void visit_dtype(void *context, cbk_dtype dtype) {
    const struct visit *visit = context;
    for (int form = 0; form < 3; form++) {
        struct program program = {
            .x = dtype, .index = CBK_DTYPE_I64, .is_gpu = form<2, .has_index64 = form> 0};
        struct cbk_rt_spec spec = make_spec(&program);
        visit->visit(visit->user_data, &spec);
    }
}

void cbk_ocl_order_programs(cbk_ocl_program_visitor visit, void *user_data) {
    struct visit context = {visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_SORT, visit_dtype, &context);
}
