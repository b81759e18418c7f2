/// memory.c: blocks as the layers above take and free them, and the figures about them.
///
/// Small blocks are cut from the stream's slabs without any lock but the stream's own. Large ones
/// are chunks of their own and take the device's memory lock; the work on them outlasts it by far.
#include "internal.h"

enum { SMALLEST_SLAB = 2 << 20, PERSISTENT_SLAB_LIMIT = 1 << 20 };

static uint64_t round_up(uint64_t size, uint64_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
}

static uint64_t power_of_two_up(uint64_t size) {
    uint64_t power = 1;
    while (power < size) power *= 2;
    return power;
}

// ---- taking ----------------------------------------------------------------------------------------

static uint64_t block_limit(const struct cbk_rt_pool *pool) {
    const uint64_t limit = pool->stream->device->memory.slab_limit;
    return pool->is_persistent && limit > PERSISTENT_SLAB_LIMIT ? PERSISTENT_SLAB_LIMIT : limit;
}

/// Each slab is about as large as all before it, so a small program holds little and a large one
/// asks its driver rarely.
static uint64_t next_slab_size(const struct cbk_rt_pool *pool, uint64_t size) {
    const uint64_t most = pool->stream->device->memory.slab_size;
    uint64_t slab = power_of_two_up(pool->slab_bytes + 1) / 2;
    if (slab < SMALLEST_SLAB) slab = SMALLEST_SLAB;
    while (slab < 4 * size) slab *= 2;
    return slab < most ? slab : most;
}

static cbk_status take_from_new_slab(struct cbk_rt_pool *pool, uint64_t size,
                                     struct cbk_rt_block **out) {
    struct cbk_rt_chunk *chunk = NULL;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_chunk_take(pool->stream, next_slab_size(pool, size), false, &chunk));
    RT_TRY(cbk_rt_pool_add(pool, chunk));
    chunk = NULL;
    *out = cbk_rt_pool_take(pool, size);
    CBK_ASSERT(*out);
done:
    if (chunk) cbk_rt_chunk_release(pool->stream->device, chunk);
    return status;
}

/// Sizes of own chunks go up in eighths of an octave, so that near sizes can share chunks.
static uint64_t own_chunk_size(const struct cbk_rt_stream *stream, uint64_t size) {
    const uint64_t most = stream->device->found->info.max_allocation_bytes;
    const uint64_t rounded = round_up(size, power_of_two_up(size) / 16);
    return most && rounded > most && size <= most ? size : rounded;
}

static cbk_status take_own_chunk(struct cbk_rt_pool *pool, uint64_t size,
                                 struct cbk_rt_block **out) {
    struct cbk_rt_stream *stream = pool->stream;
    const bool is_exact = pool->is_persistent || stream->device->memory.slab_limit == 0;
    struct cbk_rt_chunk *chunk = NULL;
    struct cbk_rt_block *block = cbk_rt_node_take(stream);
    if (!block) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a block's record");
    }
    const cbk_status status =
        cbk_rt_chunk_take(stream, is_exact ? size : own_chunk_size(stream, size), is_exact, &chunk);
    if (status != CBK_OK) {
        cbk_rt_node_give(stream, block);
        return status;
    }
    block->mem = chunk->mem;
    block->chunk = chunk;
    block->size = chunk->size;
    block->is_used = true;
    // The queue may still have to wait for the chunk's former users, whoever comes next for this.
    if (chunk->last_stream) {
        atomic_store_explicit(&block->use_batch,
                              stream->has_open_work ? stream->batch : stream->batch - 1,
                              memory_order_relaxed);
    }
    *out = block;
    return CBK_OK;
}

static void add(_Atomic uint64_t *counter, uint64_t amount) {
    // One writer: no need for a locked addition.
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + amount,
                          memory_order_relaxed);
}

static void count_taken(struct cbk_rt_stream *stream, struct cbk_rt_block *block,
                        uint64_t size_bytes) {
    block->asked_size = size_bytes;
    add(&stream->allocated_count, 1);
    add(&stream->allocated_bytes, size_bytes);
    add(&stream->allocated_padding, block->size - size_bytes);
}

/// A block that nobody holds; `size` is rounded.
static cbk_status take(struct cbk_rt_stream *stream, uint64_t size, struct cbk_rt_block **out) {
    struct cbk_rt_pool *pool = stream->persistent_depth ? &stream->persistent : &stream->pool;
    cbk_status status = CBK_OK;
    if (size > block_limit(pool)) {
        status = take_own_chunk(pool, size, out);
    } else {
        *out = cbk_rt_pool_take(pool, size);
        if (!*out) status = take_from_new_slab(pool, size, out);
    }
    if (*out) atomic_store_explicit(&(*out)->references, 1, memory_order_relaxed);
    return status;
}

static void count_freed(const struct cbk_rt_block *block) {
    struct cbk_rt_stream *home = block->home;
    atomic_fetch_add_explicit(&home->freed_count, 1, memory_order_release);
    atomic_fetch_add_explicit(&home->freed_bytes, block->asked_size, memory_order_release);
    atomic_fetch_add_explicit(&home->freed_padding, block->size - block->asked_size,
                              memory_order_release);
}

/// In a capture: a block whose former holder is gone, or a new one.
static cbk_status take_recorded(struct cbk_rt_stream *stream, uint64_t size,
                                struct cbk_rt_block **out) {
    *out = cbk_rt_graph_reuse(stream->recording, size);
    if (*out) {
        count_freed(*out);
        return CBK_OK;
    }
    cbk_status status = take(stream, size, out);
    if (status == CBK_OK) status = cbk_rt_graph_own(stream->recording, *out);
    if (status != CBK_OK && *out) {
        count_taken(stream, *out, size);
        cbk_rt_free(stream->device, out);
    }
    return status;
}

cbk_status cbk_rt_alloc(struct cbk_rt_stream *stream, uint64_t size_bytes,
                        struct cbk_rt_block **out) {
    struct cbk_rt_block *block = NULL;
    cbk_status status = cbk_rt_device_check(stream->device);
    *out = NULL;
    if (status != CBK_OK) return status;
    CBK_ASSERT(size_bytes > 0);
    if (size_bytes > UINT64_MAX / 4) {
        return cbk_fail(CBK_ERROR_OUT_OF_MEMORY, 0, "no device memory for %llu bytes",
                        (unsigned long long)size_bytes);
    }
    const uint64_t alignment = stream->device->memory.alignment;
    const uint64_t size = (size_bytes + alignment - 1) & ~(alignment - 1);
    cbk_os_lock(&stream->mutex);
    if (atomic_load_explicit(&stream->returned, memory_order_relaxed)) {
        cbk_rt_take_returned(stream);
    }
    status = stream->recording ? take_recorded(stream, size, &block) : take(stream, size, &block);
    if (block) {
        count_taken(stream, block, size_bytes);
        *out = block;
    }
    cbk_os_unlock(&stream->mutex);
    return status;
}

uint64_t cbk_rt_block_offset(const struct cbk_rt_block *block) {
    return block->offset;
}

const void *cbk_rt_block_buffer(const struct cbk_rt_block *block) {
    return block->mem;
}

uint64_t cbk_rt_block_size(const struct cbk_rt_block *block) {
    return block->asked_size;
}

// ---- giving back -----------------------------------------------------------------------------------

static void push_returned(struct cbk_rt_stream *home, struct cbk_rt_block *block) {
    struct cbk_rt_block *head = atomic_load_explicit(&home->returned, memory_order_relaxed);
    do {
        block->free_next = head;
    } while (!atomic_compare_exchange_weak_explicit(&home->returned, &head, block,
                                                    memory_order_release, memory_order_relaxed));
}

/// A chunk that only its home has used need not wait for the home to come by: other streams find it
/// on the shelf. The node goes the usual way.
static void shelve_early(struct cbk_rt_device *device, struct cbk_rt_block *block) {
    struct cbk_rt_chunk *chunk = block->chunk;
    if (chunk->pool || chunk->is_exact || cbk_os_is_forked(&device->rt->fork_mark) ||
        atomic_load_explicit(&block->is_shared, memory_order_acquire)) {
        return;
    }
    block->chunk = NULL;
    chunk->last_stream = block->home;
    chunk->last_batch = atomic_load_explicit(&block->use_batch, memory_order_relaxed);
    cbk_rt_chunk_give(device, chunk);
}

void cbk_rt_free(struct cbk_rt_device *device, struct cbk_rt_block **handle) {
    struct cbk_rt_block *block = *handle;
    *handle = NULL;
    if (!block) return;
    // A block with one holder has no other that could come by: no need for a locked subtraction.
    if (atomic_load_explicit(&block->references, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&block->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (block->is_foreign) {
        cbk_rt_foreign_free(device, block);
        return;
    }
    count_freed(block);
    shelve_early(device, block);
    push_returned(block->home, block);
}

/// Makes the home stream wait for the other users. False if that failed: try again later.
static bool settle_users(struct cbk_rt_stream *stream, const struct cbk_rt_block *block) {
    for (uint32_t i = 0; i < block->use_count; i++) {
        const struct cbk_rt_use *use = &block->uses[i];
        if (cbk_rt_wait_for(stream, use->stream, use->use_batch) != CBK_OK) return false;
    }
    return true;
}

static void take_back(struct cbk_rt_stream *stream, struct cbk_rt_block *block) {
    struct cbk_rt_chunk *chunk = block->chunk;
    block->use_count = 0;
    atomic_store_explicit(&block->is_shared, 0, memory_order_relaxed);
    atomic_store_explicit(&block->use_batch, 0, memory_order_relaxed);
    atomic_store_explicit(&block->write_batch, 0, memory_order_relaxed);
    if (chunk && chunk->pool) {
        cbk_rt_pool_give(chunk->pool, block);
        return;
    }
    cbk_rt_node_give(stream, block);
    if (!chunk) return; // on the shelf already
    if (chunk->is_exact) {
        cbk_rt_chunk_release(stream->device, chunk);
    } else {
        cbk_rt_chunk_shelve(stream, chunk);
    }
}

void cbk_rt_take_returned(struct cbk_rt_stream *stream) {
    struct cbk_rt_block *block =
        atomic_exchange_explicit(&stream->returned, NULL, memory_order_acquire);
    while (block) {
        struct cbk_rt_block *next = block->free_next;
        const bool is_shared = atomic_load_explicit(&block->is_shared, memory_order_acquire) != 0;
        if (is_shared && !settle_users(stream, block)) {
            push_returned(stream, block);
        } else {
            take_back(stream, block);
        }
        block = next;
    }
    // One unused slab stays at hand; more can serve others.
    while (stream->pool.free_slab_count > 1) {
        cbk_rt_chunk_shelve(stream, cbk_rt_pool_remove_free(&stream->pool));
    }
}

void cbk_rt_shelve_free_slabs(struct cbk_rt_stream *stream) {
    struct cbk_rt_pool *const pools[] = {&stream->pool, &stream->persistent};
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        while (pools[i]->free_slab_count > 0) {
            cbk_rt_chunk_shelve(stream, cbk_rt_pool_remove_free(pools[i]));
        }
    }
}

// ---- of a stream -----------------------------------------------------------------------------------

void cbk_rt_stream_memory_init(struct cbk_rt_stream *stream) {
    cbk_rt_pool_init(&stream->pool, stream, false);
    cbk_rt_pool_init(&stream->persistent, stream, true);
}

static void release_blocks(struct cbk_rt_stream *stream, struct cbk_rt_pool *pool) {
    while (pool->chunks) {
        struct cbk_rt_chunk *chunk = pool->chunks;
        pool->chunks = chunk->next;
        cbk_rt_chunk_release(stream->device, chunk);
    }
}

void cbk_rt_stream_memory_finish(struct cbk_rt_stream *stream) {
    struct cbk_rt_block *block = atomic_exchange(&stream->returned, NULL);
    for (; block; block = block->free_next) {
        if (block->chunk && !block->chunk->pool) cbk_rt_chunk_release(stream->device, block->chunk);
    }
    release_blocks(stream, &stream->pool);
    release_blocks(stream, &stream->persistent);
    cbk_rt_nodes_finish(stream);
}

cbk_status cbk_rt_persistent_begin(struct cbk_rt_stream *stream) {
    cbk_os_lock(&stream->mutex);
    stream->persistent_depth++;
    cbk_os_unlock(&stream->mutex);
    return CBK_OK;
}

cbk_status cbk_rt_persistent_end(struct cbk_rt_stream *stream) {
    cbk_os_lock(&stream->mutex);
    const bool is_open = stream->persistent_depth > 0;
    if (is_open) stream->persistent_depth--;
    cbk_os_unlock(&stream->mutex);
    return is_open ? CBK_OK
                   : cbk_fail(CBK_ERROR_INVALID_STATE, 0,
                              "persistent_end: no persistent_begin is open on the stream");
}

// ---- of the device -----------------------------------------------------------------------------------

static struct cbk_rt_stream *stream_at(struct cbk_rt_device *device, uint32_t index) {
    cbk_os_lock(&device->mutex);
    struct cbk_rt_stream *stream = index < device->stream_count ? device->streams[index] : NULL;
    cbk_os_unlock(&device->mutex);
    return stream;
}

static void reclaim_all(struct cbk_rt_device *device, bool waits) {
    struct cbk_rt_stream *stream = NULL;
    for (uint32_t i = 0; (stream = stream_at(device, i)) != NULL; i++) {
        cbk_os_lock(&stream->mutex);
        if (waits) (void)cbk_rt_drain(stream);
        cbk_rt_take_returned(stream);
        cbk_rt_shelve_free_slabs(stream);
        cbk_os_unlock(&stream->mutex);
    }
}

void cbk_rt_reclaim(struct cbk_rt_stream *stream) {
    cbk_os_unlock(&stream->mutex);
    reclaim_all(stream->device, true);
    cbk_os_lock(&stream->mutex);
}

cbk_status cbk_rt_memory_cleanup(struct cbk_rt_device *device) {
    const cbk_status status = cbk_rt_device_check(device);
    if (status != CBK_OK) return status;
    reclaim_all(device, false);
    cbk_rt_shelf_clear(device);
    if (cbk_rt_has_dying(device)) cbk_rt_foreign_reap(device);
    return CBK_OK;
}

/// Frees first: what is freed in between was allocated before, so the difference stays positive.
static uint64_t difference(_Atomic uint64_t *allocated, _Atomic uint64_t *freed) {
    const uint64_t gone = atomic_load_explicit(freed, memory_order_acquire);
    return atomic_load_explicit(allocated, memory_order_relaxed) - gone;
}

cbk_status cbk_rt_memory_usage(struct cbk_rt_device *device, cbk_memory_info *out) {
    struct cbk_rt_memory *memory = &device->memory;
    struct cbk_rt_stream *stream = NULL;
    const uint32_t struct_size = out->struct_size;
    *out = (cbk_memory_info){.struct_size = struct_size};
    for (uint32_t i = 0; (stream = stream_at(device, i)) != NULL; i++) {
        out->allocation_count += difference(&stream->allocated_count, &stream->freed_count);
        out->used_bytes += difference(&stream->allocated_bytes, &stream->freed_bytes);
        out->padding_bytes += difference(&stream->allocated_padding, &stream->freed_padding);
    }
    cbk_os_lock(&memory->mutex);
    out->reserved_bytes = memory->reserved;
    out->limit_bytes = memory->limit;
    out->peak_bytes = memory->peak;
    cbk_os_unlock(&memory->mutex);
    return CBK_OK;
}

cbk_status cbk_rt_memory_limit(struct cbk_rt_device *device, uint64_t limit_bytes) {
    cbk_os_lock(&device->memory.mutex);
    device->memory.limit = limit_bytes ? limit_bytes : device->memory.default_limit;
    cbk_os_unlock(&device->memory.mutex);
    return CBK_OK;
}
