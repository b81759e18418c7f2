/// matmul_async.c: products on GPUs with asynchronous copies to local memory: f32
/// (kernels/matmul_async_f32.cl), f16 and bf16 by matrix units (kernels/matmul_mma.cl).
///
/// The kernels take rows of a along k and rows of b along n (the 16-bit one also columns of b along
/// k), aligned to 16 bytes. An operand that lies otherwise is copied first: many products follow
/// for each element that is moved.
#include "matmul.h"

enum {
    TILE = 128,    ///< BM, BN
    SHORTEST = 64, ///< m and n from which the tiles pay
    SHORTEST_HALF = 16,
    SHORTEST_K = 32,
    SHORTEST_SPLIT = 256,
    MOST_SPLITS = 16,
    GROUPS_PER_CORE = 2, ///< that run at once
    LEAST_CAPABILITY = 80,
    TESTED = 90 ///< capability that is known to grant 96 KiB of local memory
};

static bool is_half(const struct cbk_ocl_product *p) {
    return p->in == CBK_DTYPE_F16 || p->in == CBK_DTYPE_BF16;
}

bool cbk_ocl_matmul_is_accelerated(const struct cbk_ocl_device *device, cbk_dtype dtype) {
    const bool is_half_dtype = dtype == CBK_DTYPE_F16 || dtype == CBK_DTYPE_BF16;
    return is_half_dtype && !device->caps->is_cpu && device->caps->nvidia_capability == TESTED;
}

bool cbk_ocl_matmul_async_suits(const struct cbk_ocl_stream *stream,
                                const struct cbk_ocl_product *p) {
    const uint32_t capability = stream->device->caps->nvidia_capability;
    bool is_f32 = p->in == CBK_DTYPE_F32 || p->in == CBK_DTYPE_FLEX32;
    int64_t shortest = is_half(p) ? SHORTEST_HALF : SHORTEST;
    if (p->acc != CBK_DTYPE_F32 || p->m > INT32_MAX || p->n > INT32_MAX || p->k > INT32_MAX)
        return false;
    if (p->m < shortest || p->n < shortest || p->k < SHORTEST_K) return false;
    return is_half(p) ? cbk_ocl_matmul_is_accelerated(stream->device, p->in)
                      : is_f32 && capability >= LEAST_CAPABILITY;
}

/// Elements of a 16-byte copy.
static int64_t lanes_of(const struct cbk_ocl_product *p) {
    return 16 / (int64_t)cbk_dtype_size(p->in);
}

// ---- operands -----------------------------------------------------------------------------------

/// Are rows of the operand contiguous and aligned? `contiguous`: stride within a row.
static bool is_ready(const struct cbk_ocl_product *p, int operand,
                     const struct cbk_ocl_matrix *matrix, int64_t contiguous, int64_t pitch) {
    int64_t bits = matrix->offset | pitch;
    for (int64_t i = 0; i < p->batch.rank; i++) bits |= p->batch.strides[operand][i];
    return contiguous == 1 && bits % lanes_of(p) == 0 && pitch >= 0 && pitch < INT32_MAX;
}

/// Copies the matrices of an operand that differ into rows of `columns` elements, padded to 16
/// bytes. On return the product reads the copy, whose block is to be freed.
static cbk_status copy_operand(struct cbk_ocl_stream *stream, struct cbk_ocl_product *p,
                               int operand, int64_t rows, int64_t columns, int64_t row_stride,
                               int64_t column_stride, struct cbk_ocl_matrix *matrix,
                               struct cbk_rt_block **out_block) {
    const int64_t pitch = cbk_ocl_divide_up(columns, lanes_of(p)) * lanes_of(p);
    cbk_tensor_meta source = {.struct_size = sizeof source, .dtype = p->in}, target;
    int64_t *strides = p->batch.strides[operand];
    int64_t from[6], to[6], size = rows * pitch;
    int32_t axes[6], count = 0;
    for (int32_t i = 0; i < (int32_t)p->batch.rank; i++) {
        if (strides[i] == 0) continue;
        axes[count] = i, from[count] = strides[i], to[count++] = size;
        size *= p->batch.shape[i];
    }
    source.rank = (uint32_t)count + 2;
    target = source;
    for (int32_t i = 0; i < count; i++) { // metas begin with the slowest axis
        int32_t axis = count - 1 - i;
        source.shape[axis] = target.shape[axis] = p->batch.shape[axes[i]];
        source.strides[axis] = from[i];
        target.strides[axis] = strides[axes[i]] = to[i];
    }
    source.shape[count] = target.shape[count] = rows;
    source.shape[count + 1] = target.shape[count + 1] = columns;
    source.strides[count] = row_stride;
    source.strides[count + 1] = column_stride;
    target.strides[count] = pitch;
    target.strides[count + 1] = 1;
    source.element_count = target.element_count = size / pitch * columns;

    struct cbk_ocl_matrix copy;
    cbk_status status = cbk_ocl_matmul_temporary(stream, p->in, size, &copy);
    if (status != CBK_OK) return status;
    *out_block = copy.block;
    const struct cbk_ocl_operand a = {&source, matrix->block, matrix->offset},
                                 b = {&target, copy.block, copy.offset};
    matrix->block = copy.block;
    matrix->offset = copy.offset;
    return cbk_ocl_copy(stream, &a, &b);
}

/// Copies what the kernel cannot take; *out_is_along_k: it reads columns of b.
static cbk_status prepare(struct cbk_ocl_stream *stream, struct cbk_ocl_product *p,
                          struct cbk_rt_block *blocks[2], bool *out_is_along_k) {
    const int64_t lanes = lanes_of(p);
    cbk_status status = CBK_OK;
    if (!is_ready(p, CBK_OCL_A, &p->a, p->a.run, p->a.line)) {
        status =
            copy_operand(stream, p, CBK_OCL_A, p->m, p->k, p->a.line, p->a.run, &p->a, &blocks[0]);
        p->a.line = cbk_ocl_divide_up(p->k, lanes) * lanes;
        p->a.run = 1;
    }
    *out_is_along_k = is_half(p) && is_ready(p, CBK_OCL_B, &p->b, p->b.run, p->b.line);
    if (status != CBK_OK || *out_is_along_k || is_ready(p, CBK_OCL_B, &p->b, p->b.line, p->b.run))
        return status;
    status = copy_operand(stream, p, CBK_OCL_B, p->k, p->n, p->b.run, p->b.line, &p->b, &blocks[1]);
    p->b.run = cbk_ocl_divide_up(p->n, lanes) * lanes;
    p->b.line = 1;
    return status;
}

// ---- launch -------------------------------------------------------------------------------------

/// How the product is cut: steps of k at a time, steps of k for a group, groups along k.
struct plan {
    struct cbk_ocl_matmul_program program;
    int64_t tiles, splits, split;
    size_t threads;
};

static struct plan make_plan(const struct cbk_rt_caps *caps, const struct cbk_ocl_product *p) {
    struct plan plan = {.program = {.entry = "multiply",
                                    .in = p->in == CBK_DTYPE_FLEX32 ? CBK_DTYPE_F32 : p->in,
                                    .out = p->out_dtype,
                                    .acc = CBK_DTYPE_F32,
                                    .nvidia = LEAST_CAPABILITY,
                                    .epilogue = cbk_ocl_epilogue_of(p)},
                        .tiles = p->matrices * cbk_ocl_divide_up(p->m, TILE) *
                                 cbk_ocl_divide_up(p->n, TILE)};
    if (is_half(p)) {
        plan.program.source = &cbk_kernel_matmul_mma;
        plan.program.run = 64;
        plan.threads = 128;
    } else {
        plan.program.source = &cbk_kernel_matmul_async_f32;
        plan.program.run = caps->nvidia_capability == TESTED ? 32 : 16;
        plan.program.registers = 128;
        plan.threads = 256;
    }
    const int64_t step = plan.program.run;
    int64_t splits = (int64_t)caps->compute_units * GROUPS_PER_CORE / plan.tiles;
    int64_t most = p->k / SHORTEST_SPLIT;
    splits = splits < most ? splits : most;
    splits = splits < 1 ? 1 : splits > MOST_SPLITS ? MOST_SPLITS : splits;
    plan.split = cbk_ocl_divide_up(p->k, splits * step) * step;
    plan.splits = cbk_ocl_divide_up(p->k, plan.split);
    if (plan.splits > 1) plan.program.epilogue = NULL;
    plan.program.is_whole = !is_half(p) && p->m % TILE == 0 && p->n % TILE == 0 && p->k % step == 0;
    return plan;
}

static cbk_status launch(struct cbk_ocl_stream *stream, const struct cbk_ocl_product *p,
                         const struct plan *plan, const struct cbk_ocl_matrix *partial) {
    const uint32_t a_pitch = (uint32_t)p->a.line;
    const uint32_t b_pitch = (uint32_t)(plan->program.is_along_k ? p->b.line : p->b.run);
    struct cbk_rt_launch launch = {
        .operation = "matmul", .dimensions = 1, .local = {plan->threads}};
    cbk_status status = cbk_ocl_matmul_kernel(stream, &plan->program, &launch.kernel);
    if (status != CBK_OK) return status;
    cbk_ocl_arg_matrix(&launch, &p->a, CBK_RT_READ);
    cbk_ocl_arg_matrix(&launch, &p->b, CBK_RT_READ);
    cbk_ocl_arg_matrix(&launch, &p->out, CBK_RT_WRITE);
    cbk_ocl_arg_matrix(&launch, partial, CBK_RT_WRITE);
    cbk_ocl_arg_size(&launch, &p->m);
    cbk_ocl_arg_size(&launch, &p->n);
    cbk_ocl_arg_size(&launch, &p->k);
    cbk_rt_arg_value(&launch, &a_pitch, sizeof a_pitch);
    cbk_rt_arg_value(&launch, &b_pitch, sizeof b_pitch);
    cbk_ocl_arg_size(&launch, &p->out.line);
    cbk_ocl_arg_size(&launch, &p->out.run);
    cbk_ocl_arg_size(&launch, &plan->splits);
    cbk_ocl_arg_size(&launch, &plan->split);
    cbk_rt_arg_value(&launch, &p->batch, sizeof p->batch);
    if (plan->splits == 1) cbk_ocl_arg_epilogue(&launch, p);
    launch.global[0] = (size_t)(plan->tiles * plan->splits) * plan->threads;
    return cbk_rt_launch(stream->rt, &launch);
}

cbk_status cbk_ocl_matmul_async(struct cbk_ocl_stream *stream,
                                const struct cbk_ocl_product *product) {
    struct cbk_ocl_product p = *product;
    struct cbk_rt_block *blocks[2] = {NULL, NULL};
    struct plan plan = make_plan(stream->device->caps, &p);
    struct cbk_ocl_matrix partial = {.block = p.out.block};
    cbk_status status = CBK_OK;

    RT_TRY(prepare(stream, &p, blocks, &plan.program.is_along_k));
    if (plan.splits > 1)
        RT_TRY(cbk_ocl_matmul_temporary(stream, p.acc, plan.splits * p.matrices * p.m * p.n,
                                        &partial));
    RT_TRY(launch(stream, &p, &plan, &partial));
    if (plan.splits > 1) RT_TRY(cbk_ocl_matmul_add_splits(stream, &p, &partial, plan.splits));
done:
    if (partial.block != NULL && partial.block != p.out.block)
        cbk_rt_free(stream->device->rt, &partial.block);
    for (int i = 0; i < 2; i++)
        if (blocks[i] != NULL) cbk_rt_free(stream->device->rt, &blocks[i]);
    return status;
}
