/// chunk.c: buffers of the driver: the budget, and the shelf of those nobody uses at the moment.
///
/// Chunks come back to the shelf while work on them may still run: each remembers the stream and
/// batch. The same stream may take one again at once, another stream after that work has ended.
/// The shelf holds at most as much as was ever busy at a time; beyond that the eldest go back to
/// the driver, so that varying sizes cannot pile up buffers.
#include "internal.h"

enum {
    MIB = 1 << 20,
    MAX_SHELF_COUNT = 256,
    MAX_ALIGNMENT = 4096,
    LARGE_PAGES_FROM = 32 * MIB ///< C libraries' allocators keep smaller blocks among others
};

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high) {
    return value < low ? low : value > high ? high : value;
}

/// CPUs share memory with everything else on the machine, and their drivers refuse nothing.
static uint64_t choose_limit(const struct cbk_rt_device *device) {
    const uint64_t total = device->found->info.memory_bytes;
    const bool is_cpu = device->found->info.type == CBK_DEVICE_CPU;
    return total / 100 * (is_cpu ? 80 : 95);
}

/// What the device asks of a buffer's start, which is where vectors and copies run best.
static uint64_t choose_alignment(const struct cbk_rt_device *device) {
    cl_uint bits = 0;
    uint64_t alignment = CBK_RT_ALIGNMENT;
    (void)device->cl->clGetDeviceInfo(device->id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits,
                                      NULL);
    while (alignment < bits / 8 && alignment < MAX_ALIGNMENT) alignment *= 2;
    return alignment;
}

cbk_status cbk_rt_memory_init(struct cbk_rt_device *device, uint64_t limit_bytes) {
    struct cbk_rt_memory *memory = &device->memory;
    const cbk_device_info *info = &device->found->info;
    uint64_t slab = clamp(info->memory_bytes / 64, 4 * MIB, 64 * MIB);
    if (info->max_allocation_bytes && slab > info->max_allocation_bytes) {
        slab = info->max_allocation_bytes;
    }
    if (!cbk_os_mutex_init(&memory->mutex)) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "the system has no more mutexes");
    }
    memory->has_mutex = true;
    memory->alignment = choose_alignment(device);
    memory->slab_size = slab / memory->alignment * memory->alignment;
    memory->slab_limit = slab / 8 / memory->alignment * memory->alignment;
    if (device->rt->flags & CBK_SEPARATE_BUFFERS) {
        memory->alignment = 1;
        memory->slab_limit = 0;
    }
    memory->default_limit = choose_limit(device);
    memory->limit = limit_bytes ? limit_bytes : memory->default_limit;
    return CBK_OK;
}

void cbk_rt_memory_finish(struct cbk_rt_device *device) {
    if (!device->memory.has_mutex) return;
    cbk_rt_shelf_clear(device);
    cbk_os_mutex_finish(&device->memory.mutex);
    device->memory.has_mutex = false;
}

// ---- the shelf, under the memory lock ----------------------------------------------------------------

static void unshelve(struct cbk_rt_memory *memory, struct cbk_rt_chunk *chunk) {
    if (chunk->previous) {
        chunk->previous->next = chunk->next;
    } else {
        memory->shelf = chunk->next;
    }
    if (chunk->next) {
        chunk->next->previous = chunk->previous;
    } else {
        memory->shelf_last = chunk->previous;
    }
    chunk->previous = chunk->next = NULL;
    memory->shelf_count--;
    memory->shelf_bytes -= chunk->size;
}

static void destroy(struct cbk_rt_device *device, struct cbk_rt_chunk *chunk) {
    // The driver keeps the memory until running work no longer needs it.
    (void)device->cl->clReleaseMemObject(chunk->mem);
    device->memory.reserved -= chunk->size;
    cbk_rt_host_free(device->rt, chunk, sizeof *chunk);
}

static void destroy_eldest(struct cbk_rt_device *device) {
    struct cbk_rt_chunk *chunk = device->memory.shelf_last;
    unshelve(&device->memory, chunk);
    destroy(device, chunk);
}

static void note_busy(struct cbk_rt_memory *memory) {
    const uint64_t busy = memory->reserved - memory->shelf_bytes;
    if (busy > memory->busy_peak) memory->busy_peak = busy;
}

static bool is_ended(const struct cbk_rt_chunk *chunk) {
    return atomic_load_explicit(&chunk->last_stream->done_batch, memory_order_acquire) >=
           chunk->last_batch;
}

static bool is_ready(const struct cbk_rt_stream *stream, const struct cbk_rt_chunk *chunk) {
    return chunk->last_stream == stream || is_ended(chunk);
}

/// What a look at the shelf may find: a chunk that wastes at most a quarter and can be used at once,
/// one whose work may not have ended, or any that is large enough.
enum search { FIND_READY, FIND_NEAR, FIND_ANY };

/// The smallest fitting chunk.
static struct cbk_rt_chunk *find_shelved(const struct cbk_rt_stream *stream, uint64_t size,
                                         enum search search) {
    struct cbk_rt_chunk *best = NULL;
    const uint64_t most = search == FIND_ANY ? UINT64_MAX : size + size / 4;
    for (struct cbk_rt_chunk *chunk = stream->device->memory.shelf; chunk; chunk = chunk->next) {
        if (chunk->size < size || chunk->size > most) continue;
        if (best && chunk->size >= best->size) continue;
        if (search != FIND_READY || is_ready(stream, chunk)) best = chunk;
    }
    return best;
}

void cbk_rt_chunk_shelve(struct cbk_rt_stream *stream, struct cbk_rt_chunk *chunk) {
    chunk->last_stream = stream;
    chunk->last_batch = stream->has_open_work ? stream->batch : stream->batch - 1;
    cbk_rt_chunk_give(stream->device, chunk);
}

void cbk_rt_chunk_give(struct cbk_rt_device *device, struct cbk_rt_chunk *chunk) {
    struct cbk_rt_memory *memory = &device->memory;
    cbk_os_lock(&memory->mutex);
    chunk->previous = NULL;
    chunk->next = memory->shelf;
    if (chunk->next) {
        chunk->next->previous = chunk;
    } else {
        memory->shelf_last = chunk;
    }
    memory->shelf = chunk;
    memory->shelf_count++;
    memory->shelf_bytes += chunk->size;
    const uint64_t most = clamp(memory->busy_peak, 2 * memory->slab_size, UINT64_MAX);
    while (memory->shelf_bytes > most || memory->shelf_count > MAX_SHELF_COUNT) {
        destroy_eldest(device);
    }
    cbk_os_unlock(&memory->mutex);
}

void cbk_rt_chunk_release(struct cbk_rt_device *device, struct cbk_rt_chunk *chunk) {
    cbk_os_lock(&device->memory.mutex);
    destroy(device, chunk);
    cbk_os_unlock(&device->memory.mutex);
}

void cbk_rt_shelf_clear(struct cbk_rt_device *device) {
    cbk_os_lock(&device->memory.mutex);
    while (device->memory.shelf) destroy_eldest(device);
    cbk_os_unlock(&device->memory.mutex);
}

// ---- new ones ----------------------------------------------------------------------------------------

/// Takes `size` from the budget, at the shelf's expense if it must.
static bool reserve(struct cbk_rt_device *device, uint64_t size) {
    struct cbk_rt_memory *memory = &device->memory;
    cbk_os_lock(&memory->mutex);
    const bool can_ever = size <= memory->limit;
    while (can_ever && memory->reserved > memory->limit - size && memory->shelf) {
        destroy_eldest(device);
    }
    const bool fits = can_ever && memory->reserved <= memory->limit - size;
    if (fits) {
        memory->reserved += size;
        if (memory->reserved > memory->peak) memory->peak = memory->reserved;
        memory->driver_allocations++;
        note_busy(memory);
    }
    cbk_os_unlock(&memory->mutex);
    return fits;
}

static void unreserve(struct cbk_rt_device *device, uint64_t size) {
    cbk_os_lock(&device->memory.mutex);
    device->memory.reserved -= size;
    cbk_os_unlock(&device->memory.mutex);
}

/// Large pages save CPUs most of their address translation. Mapping tells where the driver keeps the
/// buffer; nobody waits for it, for the contents are not looked at.
static cl_int advise_pages(struct cbk_rt_stream *stream, cl_mem mem, uint64_t size) {
    const struct cbk_rt_cl *cl = stream->device->cl;
    cl_int code = CL_SUCCESS;
    if (size < LARGE_PAGES_FROM) return CL_SUCCESS;
    void *start = cl->clEnqueueMapBuffer(stream->queue, mem, CL_FALSE, CL_MAP_READ, 0, (size_t)size,
                                         0, NULL, NULL, &code);
    if (!start) return code ? code : CL_MEM_OBJECT_ALLOCATION_FAILURE;
    cbk_os_advise_large_pages(start, (size_t)size);
    cbk_rt_note_command(stream, NULL);
    return cl->clEnqueueUnmapMemObject(stream->queue, mem, start, 0, NULL, NULL);
}

/// Many drivers allocate at first use: moving the buffer to the device makes a shortage known here
/// rather than at a launch.
static cl_int move_to_device(struct cbk_rt_stream *stream, cl_mem mem) {
    const cl_int code = stream->device->cl->clEnqueueMigrateMemObjects(
        stream->queue, 1, &mem, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
    if (code == CL_SUCCESS) cbk_rt_note_command(stream, NULL);
    return code;
}

/// Asks the driver.
static cl_int create_buffer(struct cbk_rt_stream *stream, uint64_t size, cl_mem *out) {
    const struct cbk_rt_device *device = stream->device;
    cl_int code = CL_SUCCESS;
    *out =
        device->cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE, (size_t)size, NULL, &code);
    if (!*out) return code ? code : CL_MEM_OBJECT_ALLOCATION_FAILURE;
    code = device->found->info.type == CBK_DEVICE_CPU ? advise_pages(stream, *out, size)
                                                      : move_to_device(stream, *out);
    if (code != CL_SUCCESS) {
        (void)device->cl->clReleaseMemObject(*out);
        *out = NULL;
    }
    return code;
}

static bool means_full(cl_int code) {
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
           code == CL_INVALID_BUFFER_SIZE;
}

static cbk_status fail_full(struct cbk_rt_stream *stream, uint64_t size, cl_int code) {
    struct cbk_rt_memory *memory = &stream->device->memory;
    const cbk_device_info *info = &stream->device->found->info;
    cbk_os_lock(&memory->mutex);
    const uint64_t reserved = memory->reserved, limit = memory->limit;
    cbk_os_unlock(&memory->mutex);
    return cbk_fail(CBK_ERROR_OUT_OF_MEMORY, code,
                    "no device memory for a buffer of %llu bytes: %llu of at most %llu bytes are "
                    "held, the device has %llu, the largest buffer is %llu%s%s",
                    (unsigned long long)size, (unsigned long long)reserved,
                    (unsigned long long)limit, (unsigned long long)info->memory_bytes,
                    (unsigned long long)info->max_allocation_bytes,
                    code ? "; the driver says " : "", code ? cbk_rt_cl_error_name(code) : "");
}

/// One attempt; *out_code is set when the driver refused, CL_SUCCESS when the budget did.
static cbk_status create_chunk(struct cbk_rt_stream *stream, uint64_t size,
                               struct cbk_rt_chunk **out, cl_int *out_code) {
    struct cbk_rt_device *device = stream->device;
    struct cbk_rt_chunk *chunk = NULL;
    *out_code = CL_SUCCESS;
    if (!reserve(device, size)) return CBK_ERROR_OUT_OF_MEMORY;
    chunk = cbk_rt_host_alloc(device->rt, sizeof *chunk);
    if (!chunk) {
        unreserve(device, size);
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a buffer's record");
    }
    chunk->size = size;
    *out_code = create_buffer(stream, size, &chunk->mem);
    if (*out_code == CL_SUCCESS) {
        *out = chunk;
        return CBK_OK;
    }
    unreserve(device, size);
    cbk_rt_host_free(device->rt, chunk, sizeof *chunk);
    if (means_full(*out_code)) return CBK_ERROR_OUT_OF_MEMORY;
    return cbk_rt_cl_fail(device, *out_code, "clCreateBuffer");
}

static struct cbk_rt_chunk *take_shelved(struct cbk_rt_stream *stream, uint64_t size,
                                         enum search search) {
    struct cbk_rt_memory *memory = &stream->device->memory;
    cbk_os_lock(&memory->mutex);
    struct cbk_rt_chunk *chunk = find_shelved(stream, size, search);
    if (chunk) {
        unshelve(memory, chunk);
        note_busy(memory);
    }
    cbk_os_unlock(&memory->mutex);
    return chunk;
}

/// Before the driver is asked: another stream's chunk may be free without anybody having looked.
/// The stream's mutex is given back for a while.
static struct cbk_rt_chunk *take_ended(struct cbk_rt_stream *stream, uint64_t size) {
    struct cbk_rt_memory *memory = &stream->device->memory;
    cbk_os_lock(&memory->mutex);
    const struct cbk_rt_chunk *chunk = find_shelved(stream, size, FIND_NEAR);
    struct cbk_rt_stream *other = chunk ? chunk->last_stream : NULL;
    const uint64_t batch = chunk ? chunk->last_batch : 0;
    cbk_os_unlock(&memory->mutex);
    if (!other || other == stream) return NULL;
    cbk_os_unlock(&stream->mutex);
    cbk_os_lock(&other->mutex);
    // An open batch has no event to ask; the next one who comes by will know.
    if (batch == other->batch) (void)cbk_rt_close_batch(other, NULL);
    cbk_rt_poll_batches(other);
    cbk_os_unlock(&other->mutex);
    cbk_os_lock(&stream->mutex);
    return take_shelved(stream, size, FIND_READY);
}

cbk_status cbk_rt_chunk_take(struct cbk_rt_stream *stream, uint64_t size, bool is_exact,
                             struct cbk_rt_chunk **out) {
    cl_int code = CL_SUCCESS;
    cbk_status status = CBK_OK;
    struct cbk_rt_chunk *chunk = is_exact ? NULL : take_shelved(stream, size, FIND_READY);

    if (!chunk && !is_exact) chunk = take_ended(stream, size);
    if (!chunk) status = create_chunk(stream, size, &chunk, &code);
    if (status == CBK_ERROR_OUT_OF_MEMORY) {
        cbk_rt_reclaim(stream);
        status = CBK_OK;
        chunk = is_exact ? NULL : take_shelved(stream, size, FIND_ANY);
        if (!chunk) {
            if (code != CL_SUCCESS) cbk_rt_shelf_clear(stream->device);
            status = create_chunk(stream, size, &chunk, &code);
        }
        if (status == CBK_ERROR_OUT_OF_MEMORY) status = fail_full(stream, size, code);
    }
    if (status != CBK_OK) return status;
    if (chunk->last_stream && is_ended(chunk)) chunk->last_stream = NULL;
    if (chunk->last_stream) {
        status = cbk_rt_wait_for(stream, chunk->last_stream, chunk->last_batch);
        if (status != CBK_OK) {
            cbk_rt_chunk_release(stream->device, chunk);
            return status;
        }
    }
    chunk->is_exact = is_exact;
    *out = chunk;
    return CBK_OK;
}
