/// blas.c: matrix products by CLBlast, with the guards that it needs.
///
/// It passes sizes, row lengths and offsets to its kernels as 32-bit integers; versions before 1.6.1
/// are not safe for threads; its program cache belongs to the process and keeps contexts alive
/// until it is cleared. One mutex round everything and limits checked beforehand take care of that.
#include "graph.h"

#ifdef CUBEBACK_BLAS

#include <clblast_c.h>

enum { TILE_MARGIN = 256 }; ///< operands are padded to tiles, which are smaller than this
#define SIZE_LIMIT ((uint64_t)INT32_MAX)

// ---- limits --------------------------------------------------------------------------------------

/// One operand: does every index that a kernel computes fit 31 bits?
static bool operand_fits(uint64_t rows, uint64_t columns, uint64_t offset, uint64_t row_length,
                         uint64_t stride, uint64_t batch) {
    if (offset > SIZE_LIMIT || row_length > SIZE_LIMIT || stride > SIZE_LIMIT) return false;
    if (row_length < columns) return false;
    if (batch > 1 && stride > SIZE_LIMIT / (batch - 1)) return false;
    if ((rows + TILE_MARGIN) > SIZE_LIMIT / (columns + TILE_MARGIN)) return false;
    // Factors below 2^31 each: the products do not overflow 64 bits.
    return offset + (batch - 1) * stride + (rows - 1) * row_length + columns <= SIZE_LIMIT;
}

bool cbk_rt_gemm_supported(const struct cbk_rt_device *device, const struct cbk_rt_gemm *gemm) {
    const uint64_t m = gemm->m, n = gemm->n, k = gemm->k, batch = gemm->batch;
    if (gemm->is_f64 && !device->caps.has_f64) return false;
    if (m == 0 || n == 0 || k == 0 || batch == 0) return false;
    if (m > SIZE_LIMIT || n > SIZE_LIMIT || k > SIZE_LIMIT || batch > SIZE_LIMIT) return false;
    if (batch > 1 && gemm->c_stride == 0) return false;
    return operand_fits(gemm->transpose_a ? k : m, gemm->transpose_a ? m : k, gemm->a_offset,
                        gemm->a_ld, gemm->a_stride, batch) &&
           operand_fits(gemm->transpose_b ? n : k, gemm->transpose_b ? k : n, gemm->b_offset,
                        gemm->b_ld, gemm->b_stride, batch) &&
           operand_fits(m, n, gemm->c_offset, gemm->c_ld, gemm->c_stride, batch);
}

// ---- the process's share ---------------------------------------------------------------------------

static cbk_os_once once = CBK_OS_ONCE_INIT;
static struct cbk_os_mutex library_mutex; ///< one call of CLBlast at a time
static uint32_t open_devices;             ///< under the mutex

static void init_mutex(void) {
    (void)cbk_os_mutex_init(&library_mutex);
}

static void lock_library(void) {
    cbk_os_once_run(&once, init_mutex);
    cbk_os_lock(&library_mutex);
}

void cbk_rt_blas_device_opened(struct cbk_rt_device *device) {
    (void)device;
    lock_library();
    open_devices++;
    cbk_os_unlock(&library_mutex);
}

void cbk_rt_blas_device_closing(struct cbk_rt_device *device) {
    (void)device;
    lock_library();
    // Without this the programs (and by them the contexts) live until the process ends, and are
    // then released after the driver may have gone.
    if (--open_devices == 0) (void)CLBlastClearCache();
    cbk_os_unlock(&library_mutex);
}

// ---- parameters for CPUs -----------------------------------------------------------------------------

struct parameter {
    const char *name;
    size_t value;
};

/// CLBlast's own choice for PoCL devices is five times slower: no local memory (on a CPU that is a
/// copy and nothing else), a register tile that fills the vector registers, vectors of 32 bytes.
static const struct parameter cpu_xgemm_f32[] = {
    {"GEMMK", 0}, {"KREG", 1},   {"KWG", 32},  {"KWI", 2},   {"MDIMA", 8}, {"MDIMC", 8},
    {"MWG", 64},  {"NDIMB", 32}, {"NDIMC", 8}, {"NWG", 128}, {"SA", 0},    {"SB", 0},
    {"STRM", 0},  {"STRN", 0},   {"VWM", 8},   {"VWN", 4},
};
static const struct parameter cpu_xgemm_f64[] = {
    {"GEMMK", 0}, {"KREG", 1},   {"KWG", 32},  {"KWI", 2},   {"MDIMA", 8}, {"MDIMC", 8},
    {"MWG", 32},  {"NDIMB", 32}, {"NDIMC", 8}, {"NWG", 128}, {"SA", 0},    {"SB", 0},
    {"STRM", 0},  {"STRN", 0},   {"VWM", 4},   {"VWN", 4},
};
/// The tiled kernels for every size: the direct one is slower even for small products.
static const struct parameter cpu_routine[] = {{"XGEMM_MIN_INDIRECT_SIZE", 1}};

static void override_kernel(cl_device_id id, const char *kernel, CLBlastPrecision precision,
                            const struct parameter *parameters, size_t count) {
    const char *names[16];
    size_t values[16];
    for (size_t i = 0; i < count; i++) {
        names[i] = parameters[i].name;
        values[i] = parameters[i].value;
    }
    // A refusal leaves CLBlast's own parameters: slower, not wrong.
    (void)CLBlastOverrideParameters(id, kernel, precision, count, names, values);
}

static void tune_precision(cl_device_id id, CLBlastPrecision precision,
                           const struct parameter *xgemm) {
    override_kernel(id, "Xgemm", precision, xgemm, sizeof cpu_xgemm_f32 / sizeof *cpu_xgemm_f32);
    override_kernel(id, "GemmRoutine", precision, cpu_routine,
                    sizeof cpu_routine / sizeof *cpu_routine);
}

/// At the first product on a device. Under the mutex.
static void tune(struct cbk_rt_device *device) {
    if (device->is_blas_tuned) return;
    device->is_blas_tuned = true;
    if (!device->caps.is_pocl) return;
    tune_precision(device->id, CLBlastPrecisionSingle, cpu_xgemm_f32);
    if (device->caps.has_f64) tune_precision(device->id, CLBlastPrecisionDouble, cpu_xgemm_f64);
}

// ---- products ------------------------------------------------------------------------------------------

static CLBlastTranspose transpose_of(bool is_transposed) {
    return is_transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
}

/// Operands that a call has in common with all others of its batch.
struct call {
    const struct cbk_rt_gemm *gemm;
    CLBlastTranspose a, b;
    cl_command_queue queue;
    cl_mem temporary; ///< NULL: CLBlast makes its own where it needs one
    bool wants_event;
    cl_event event; ///< of the last kernel
};

static CLBlastStatusCode multiply_batch(struct call *call) {
    const struct cbk_rt_gemm *g = call->gemm;
    cl_event *event = call->wants_event ? &call->event : NULL;
    if (g->is_f64) {
        return CLBlastDgemmStridedBatched(
            CLBlastLayoutRowMajor, call->a, call->b, g->m, g->n, g->k, 1.0, g->a->mem, g->a_offset,
            g->a_ld, g->a_stride, g->b->mem, g->b_offset, g->b_ld, g->b_stride, 0.0, g->c->mem,
            g->c_offset, g->c_ld, g->c_stride, g->batch, &call->queue, event);
    }
    return CLBlastSgemmStridedBatched(
        CLBlastLayoutRowMajor, call->a, call->b, g->m, g->n, g->k, 1.0f, g->a->mem, g->a_offset,
        g->a_ld, g->a_stride, g->b->mem, g->b_offset, g->b_ld, g->b_stride, 0.0f, g->c->mem,
        g->c_offset, g->c_ld, g->c_stride, g->batch, &call->queue, event);
}

/// The index-th product of the batch.
static CLBlastStatusCode multiply_one(struct call *call, uint64_t index) {
    const struct cbk_rt_gemm *g = call->gemm;
    const uint64_t a_offset = g->a_offset + index * g->a_stride;
    const uint64_t b_offset = g->b_offset + index * g->b_stride;
    const uint64_t c_offset = g->c_offset + index * g->c_stride;
    cl_event *event = call->wants_event && index + 1 == g->batch ? &call->event : NULL;
    if (g->is_f64) {
        return CLBlastDgemmWithTempBuffer(CLBlastLayoutRowMajor, call->a, call->b, g->m, g->n, g->k,
                                          1.0, g->a->mem, a_offset, g->a_ld, g->b->mem, b_offset,
                                          g->b_ld, 0.0, g->c->mem, c_offset, g->c_ld, &call->queue,
                                          event, call->temporary);
    }
    return CLBlastSgemmWithTempBuffer(CLBlastLayoutRowMajor, call->a, call->b, g->m, g->n, g->k,
                                      1.0f, g->a->mem, a_offset, g->a_ld, g->b->mem, b_offset,
                                      g->b_ld, 0.0f, g->c->mem, c_offset, g->c_ld, &call->queue,
                                      event, call->temporary);
}

/// A stride of 0 repeats an operand; CLBlast's batched kernels are not made for that.
static bool is_one_batch(const struct cbk_rt_gemm *gemm) {
    return gemm->batch > 1 && gemm->a_stride > 0 && gemm->b_stride > 0;
}

static CLBlastStatusCode temporary_size(struct call *call, size_t *out_bytes) {
    const struct cbk_rt_gemm *g = call->gemm;
    *out_bytes = 0;
    if (is_one_batch(g)) return CLBlastSuccess;
    // An operand with an offset is always copied, one without may not be: ask for the last product.
    const uint64_t last = g->batch - 1;
    return (g->is_f64 ? CLBlastDGemmTempBufferSize : CLBlastSGemmTempBufferSize)(
        CLBlastLayoutRowMajor, call->a, call->b, g->m, g->n, g->k, g->a_offset + last * g->a_stride,
        g->a_ld, g->b_offset + last * g->b_stride, g->b_ld, g->c_offset + last * g->c_stride,
        g->c_ld, &call->queue, out_bytes);
}

static CLBlastStatusCode multiply(struct call *call) {
    if (is_one_batch(call->gemm)) return multiply_batch(call);
    CLBlastStatusCode code = CLBlastSuccess;
    for (uint64_t i = 0; i < call->gemm->batch && code == CLBlastSuccess; i++) {
        code = multiply_one(call, i);
    }
    return code;
}

static cbk_status fail(struct cbk_rt_device *device, CLBlastStatusCode code) {
    // Codes down to -1024 are OpenCL's own.
    if ((int)code > -1024) return cbk_rt_cl_fail(device, (cl_int)code, "CLBlast gemm");
    return cbk_fail(CBK_ERROR_DRIVER, (int32_t)code, "CLBlast refused a product (%d)", (int)code);
}

static struct call make_call(const struct cbk_rt_stream *stream, const struct cbk_rt_gemm *gemm) {
    return (struct call){.gemm = gemm,
                         .a = transpose_of(gemm->transpose_a),
                         .b = transpose_of(gemm->transpose_b),
                         .queue = stream->queue,
                         .wants_event = stream->profile != NULL};
}

/// The memory that CLBlast needs for the call; none: *out is NULL.
static cbk_status take_temporary(struct cbk_rt_stream *stream, struct call *call,
                                 struct cbk_rt_chunk **out) {
    size_t bytes = 0;
    cbk_status status = CBK_OK;
    lock_library();
    tune(stream->device);
    const CLBlastStatusCode code = temporary_size(call, &bytes);
    cbk_os_unlock(&library_mutex);
    if (code != CLBlastSuccess) return fail(stream->device, code);
    if (bytes > 0) {
        RT_TRY(cbk_rt_chunk_take(stream, bytes, false, out));
        call->temporary = (*out)->mem;
    }
done:
    return status;
}

/// Enqueues the product. The stream's mutex is held and may be given back for a while.
static cbk_status enqueue(struct cbk_rt_stream *stream, const struct cbk_rt_gemm *gemm) {
    struct call call = make_call(stream, gemm);
    const struct cbk_rt_access accesses[] = {
        {gemm->a, CBK_RT_READ}, {gemm->b, CBK_RT_READ}, {gemm->c, CBK_RT_WRITE}};
    struct cbk_rt_chunk *chunk = NULL;
    cbk_status status = CBK_OK;

    RT_TRY(take_temporary(stream, &call, &chunk));
    RT_TRY(cbk_rt_use_blocks(stream, accesses, 3));
    lock_library();
    const CLBlastStatusCode code = multiply(&call);
    cbk_os_unlock(&library_mutex);
    // A product is several kernels; the last ones may have failed after the first were enqueued.
    cbk_rt_profile_note(stream, call.event, "clblast_gemm");
    cbk_rt_note_command(stream, call.event);
    if (code != CLBlastSuccess) status = fail(stream->device, code);
done:
    if (chunk) cbk_rt_chunk_shelve(stream, chunk);
    return status;
}

/// A node with the product and its temporary memory.
static cbk_status record(struct cbk_rt_stream *stream, const struct cbk_rt_gemm *gemm) {
    struct cbk_rt *rt = stream->device->rt;
    struct cbk_rt_graph *graph = stream->recording;
    struct call call = make_call(stream, gemm);
    struct cbk_rt_node_gemm *product = NULL;
    struct cbk_rt_node *node = NULL;
    cbk_status status = CBK_OK;

    RT_TRY(cbk_rt_graph_next_node(graph, CBK_RT_NODE_GEMM, "matmul", &node));
    RT_TRY(cbk_rt_graph_pin(graph, gemm->a, CBK_RT_READ));
    RT_TRY(cbk_rt_graph_pin(graph, gemm->b, CBK_RT_READ));
    RT_TRY(cbk_rt_graph_pin(graph, gemm->c, CBK_RT_WRITE));
    product = cbk_rt_host_alloc(rt, sizeof *product);
    if (!product) {
        status = cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a recorded product");
        goto done;
    }
    product->gemm = *gemm;
    RT_TRY(take_temporary(stream, &call, &product->temporary));
    node->as.gemm = product;
    product = NULL;
    cbk_rt_graph_count_node(graph);
done:
    cbk_rt_host_free(rt, product, sizeof *product);
    return status;
}

cl_int cbk_rt_gemm_again(struct cbk_rt_stream *stream, const struct cbk_rt_node_gemm *node,
                         cl_event *out_event) {
    struct call call = make_call(stream, &node->gemm);
    call.temporary = node->temporary ? node->temporary->mem : NULL;
    lock_library();
    const CLBlastStatusCode code = multiply(&call);
    cbk_os_unlock(&library_mutex);
    if (out_event) *out_event = call.event;
    return (cl_int)code;
}

cbk_status cbk_rt_gemm(struct cbk_rt_stream *stream, const struct cbk_rt_gemm *gemm) {
    CBK_ASSERT(cbk_rt_gemm_supported(stream->device, gemm));
    cbk_status status = cbk_rt_device_check(stream->device);
    if (status != CBK_OK) return status;
    cbk_os_lock(&stream->mutex);
    status = stream->recording ? record(stream, gemm) : enqueue(stream, gemm);
    cbk_os_unlock(&stream->mutex);
    return status;
}

#else

void cbk_rt_blas_device_opened(struct cbk_rt_device *device) {
    (void)device;
}

void cbk_rt_blas_device_closing(struct cbk_rt_device *device) {
    (void)device;
}

bool cbk_rt_gemm_supported(const struct cbk_rt_device *device, const struct cbk_rt_gemm *gemm) {
    (void)device;
    (void)gemm;
    return false;
}

cbk_status cbk_rt_gemm(struct cbk_rt_stream *stream, const struct cbk_rt_gemm *gemm) {
    (void)stream;
    (void)gemm;
    return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "this library was built without CLBlast");
}

cl_int cbk_rt_gemm_again(struct cbk_rt_stream *stream, const struct cbk_rt_node_gemm *node,
                         cl_event *out_event) {
    (void)stream, (void)node, (void)out_event;
    return CL_INVALID_OPERATION;
}

#endif
