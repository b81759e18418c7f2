/// crossing.c: a block that more than one stream uses.
///
/// A block's home stream notes its uses in two numbers of its own. Another stream enters itself in
/// the block's list, under the device's use lock, and from then on every user looks at the list.
/// A reader waits for the writers, a writer for all users; waiting is a marker in the other queue
/// and a barrier in one's own, and what a queue waits for already it need not wait for again.
#include "internal.h"

// ---- waiting for another stream --------------------------------------------------------------------

/// An event that ends no earlier than `batch` (retained; NULL when it has ended already).
static cbk_status mark(struct cbk_rt_stream *other, uint64_t batch, cl_event *out_event,
                       uint64_t *out_batch) {
    const struct cbk_rt_cl *cl = other->device->cl;
    cbk_status status = CBK_OK;
    *out_event = NULL;
    *out_batch = batch;
    cbk_os_lock(&other->mutex);
    for (uint32_t i = 0; i < other->batch_count; i++) {
        const struct cbk_rt_batch *known =
            &other->batches[(other->batch_first + i) % CBK_RT_MAX_BATCHES];
        if (known->number < batch) continue;
        CL_TRY(other->device, cl->clRetainEvent(known->event));
        *out_event = known->event;
        *out_batch = known->number;
        break;
    }
    if (*out_event) {
        // Its command may still be on this side of the driver.
        CL_TRY(other->device, cl->clFlush(other->queue));
    } else if (atomic_load_explicit(&other->done_batch, memory_order_relaxed) < batch) {
        RT_TRY(cbk_rt_close_batch(other, out_event));
        *out_batch = other->batch - 1; // what comes now may be in the batch that was asked for
    }
    // Who is waited for once will be again: launches with events need no marker behind them.
    other->awaited = CBK_RT_AWAITED;
done:
    cbk_os_unlock(&other->mutex);
    if (status != CBK_OK && *out_event) {
        (void)cl->clReleaseEvent(*out_event);
        *out_event = NULL;
    }
    return status;
}

cbk_status cbk_rt_wait_for(struct cbk_rt_stream *stream, struct cbk_rt_stream *other,
                           uint64_t batch) {
    const struct cbk_rt_cl *cl = stream->device->cl;
    const bool is_known = other->number < CBK_RT_KNOWN_STREAMS;
    cbk_status status = CBK_OK;
    cl_event event = NULL;
    uint64_t reached = 0;

    if (other == stream || batch == 0) return CBK_OK;
    if (atomic_load_explicit(&other->done_batch, memory_order_acquire) >= batch) return CBK_OK;
    if (is_known && stream->waited[other->number] >= batch) return CBK_OK;

    cbk_os_unlock(&stream->mutex);
    status = mark(other, batch, &event, &reached);
    cbk_os_lock(&stream->mutex);
    if (status != CBK_OK) return status;
    if (event) {
        CL_TRY(stream->device, cl->clEnqueueBarrierWithWaitList(stream->queue, 1, &event, NULL));
        cbk_rt_note_command(stream, NULL);
        if (is_known) stream->waited[other->number] = reached;
    }
done:
    if (event) (void)cl->clReleaseEvent(event);
    return status;
}

// ---- the list of users -----------------------------------------------------------------------------

struct wait {
    struct cbk_rt_stream *other;
    uint64_t batch;
};
enum { MAX_WAITS = CBK_RT_MAX_USES + 1 };

static struct cbk_rt_use *find_use(struct cbk_rt_block *block, const struct cbk_rt_stream *stream) {
    for (uint32_t i = 0; i < block->use_count; i++) {
        if (block->uses[i].stream == stream) return &block->uses[i];
    }
    return NULL;
}

/// Fills `waits` with what the access must come after; gives their number.
static uint32_t gather_waits(struct cbk_rt_stream *stream, struct cbk_rt_block *block,
                             bool is_write, struct wait waits[MAX_WAITS]) {
    uint32_t count = 0;
    if (block->home != stream) {
        _Atomic uint64_t *batch = is_write ? &block->use_batch : &block->write_batch;
        waits[count++] =
            (struct wait){block->home, atomic_load_explicit(batch, memory_order_relaxed)};
    }
    for (uint32_t i = 0; i < block->use_count; i++) {
        const struct cbk_rt_use *use = &block->uses[i];
        if (use->stream == stream) continue;
        waits[count++] = (struct wait){use->stream, is_write ? use->use_batch : use->write_batch};
    }
    return count;
}

/// Makes room in a full list: the eldest reader leaves, and the newcomer waits for its work, so that
/// whoever waits for the newcomer waits for both. At most one entry is a writer's.
static struct wait make_room(struct cbk_rt_block *block) {
    uint32_t at = block->uses[0].write_batch ? 1 : 0;
    const struct cbk_rt_use leaving = block->uses[at];
    for (block->use_count--; at < block->use_count; at++) block->uses[at] = block->uses[at + 1];
    return (struct wait){leaving.stream, leaving.use_batch};
}

/// Notes whose work the contents are. False without room for that.
static bool depend_on_writers(struct cbk_rt_stream *stream, struct cbk_rt_block *block) {
    const uint64_t batch = atomic_load_explicit(&block->write_batch, memory_order_relaxed);
    bool is_noted = block->home == stream || !batch || cbk_rt_depend(stream, block->home, batch);
    for (uint32_t i = 0; i < block->use_count && is_noted; i++) {
        const struct cbk_rt_use *use = &block->uses[i];
        if (use->stream == stream || !use->write_batch) continue;
        is_noted = cbk_rt_depend(stream, use->stream, use->write_batch);
    }
    return is_noted;
}

/// Before a read: the contents are only as good as the work that made them.
static cbk_status depend(struct cbk_rt_stream *stream, struct cbk_rt_block *block) {
    cbk_status status = CBK_OK;
    bool is_noted = false;
    while (!is_noted && status == CBK_OK) {
        cbk_os_lock(&stream->device->use_lock);
        is_noted = depend_on_writers(stream, block);
        cbk_os_unlock(&stream->device->use_lock);
        if (!is_noted) status = cbk_rt_end_dependency(stream);
    }
    return status;
}

/// Before an access: puts the stream in the list (unless it is the home) and fills `waits`.
static uint32_t prepare(struct cbk_rt_stream *stream, const struct cbk_rt_access *access,
                        struct wait waits[MAX_WAITS + 1]) {
    struct cbk_rt_block *block = access->block;
    const bool is_write = (access->access & CBK_RT_WRITE) != 0;
    cbk_os_lock(&stream->device->use_lock);
    uint32_t count = gather_waits(stream, block, is_write, waits);
    if (block->home != stream && !find_use(block, stream)) {
        if (block->use_count == CBK_RT_MAX_USES) waits[count++] = make_room(block);
        block->uses[block->use_count++] = (struct cbk_rt_use){.stream = stream};
        atomic_store_explicit(&block->is_shared, 1u, memory_order_release);
    }
    cbk_os_unlock(&stream->device->use_lock);
    return count;
}

/// A writer has waited for all users before it: who waits for the writer waits for them too.
static void forget_others(const struct cbk_rt_stream *stream, struct cbk_rt_block *block) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < block->use_count; i++) {
        if (block->uses[i].stream == stream) block->uses[kept++] = block->uses[i];
    }
    block->use_count = kept;
    if (block->home != stream) {
        atomic_store_explicit(&block->use_batch, 0, memory_order_relaxed);
        atomic_store_explicit(&block->write_batch, 0, memory_order_relaxed);
    }
}

/// Just before the command is enqueued. False if a newcomer has pushed the stream out of the list
/// since it was put in.
static bool note(struct cbk_rt_stream *stream, const struct cbk_rt_access *access) {
    struct cbk_rt_block *block = access->block;
    const bool is_write = (access->access & CBK_RT_WRITE) != 0;
    if (cbk_rt_is_local(stream, block)) {
        cbk_rt_note_local(stream, block, access->access);
        return true;
    }
    cbk_os_lock(&stream->device->use_lock);
    struct cbk_rt_use *use = find_use(block, stream);
    const bool is_listed = block->home == stream || use;
    if (is_listed && is_write) {
        forget_others(stream, block);
        use = find_use(block, stream);
    }
    if (block->home == stream) {
        cbk_rt_note_local(stream, block, access->access);
    } else if (use) {
        use->use_batch = stream->batch;
        if (is_write) use->write_batch = stream->batch;
    }
    cbk_os_unlock(&stream->device->use_lock);
    return is_listed;
}

cbk_status cbk_rt_cross(struct cbk_rt_stream *stream, const struct cbk_rt_access *accesses,
                        uint32_t count) {
    struct wait waits[MAX_WAITS + 1];
    bool are_noted = false;
    while (!are_noted) {
        for (uint32_t i = 0; i < count; i++) {
            if (cbk_rt_is_local(stream, accesses[i].block)) continue;
            if (accesses[i].access & CBK_RT_READ) {
                const cbk_status status = depend(stream, accesses[i].block);
                if (status != CBK_OK) return status;
            }
            const uint32_t wait_count = prepare(stream, &accesses[i], waits);
            for (uint32_t w = 0; w < wait_count; w++) {
                const cbk_status status = cbk_rt_wait_for(stream, waits[w].other, waits[w].batch);
                if (status != CBK_OK) return status;
            }
        }
        are_noted = true;
        for (uint32_t i = 0; i < count; i++) are_noted &= note(stream, &accesses[i]);
    }
    return CBK_OK;
}

cbk_status cbk_rt_use_blocks(struct cbk_rt_stream *stream, const struct cbk_rt_access *accesses,
                             uint32_t count) {
    bool are_local = true;
    for (uint32_t i = 0; i < count; i++) are_local &= cbk_rt_is_local(stream, accesses[i].block);
    if (!are_local) return cbk_rt_cross(stream, accesses, count);
    for (uint32_t i = 0; i < count; i++) {
        cbk_rt_note_local(stream, accesses[i].block, accesses[i].access);
    }
    return CBK_OK;
}
