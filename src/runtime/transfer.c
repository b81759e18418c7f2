/// transfer.c: bytes between host and device, and from block to block.
#include "internal.h"

#include <string.h>

static void add(_Atomic uint64_t *counter, uint64_t amount) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + amount,
                          memory_order_relaxed);
}

// ---- host to device ----------------------------------------------------------------------------------

/// Small data goes through the stream's staging memory and the call need not wait; for large data
/// a second copy would cost more than waiting.
static cbk_status enqueue_write(struct cbk_rt_stream *stream, struct cbk_rt_block *block,
                                uint64_t offset, const void *data, uint64_t size) {
    const struct cbk_rt_cl *cl = stream->device->cl;
    const bool is_small = size <= CBK_RT_STAGING_LIMIT;
    const void *source = data;
    cbk_status status = CBK_OK;
    if (is_small) {
        void *staged = NULL;
        RT_TRY(cbk_rt_staging_take(stream, (size_t)size, &staged));
        memcpy(staged, data, (size_t)size);
        source = staged;
    }
    const struct cbk_rt_access access = {block, CBK_RT_WRITE};
    RT_TRY(cbk_rt_use_blocks(stream, &access, 1));
    if (is_small) cbk_rt_staging_note(stream);
    CL_TRY(stream->device,
           cl->clEnqueueWriteBuffer(stream->queue, block->mem, is_small ? CL_FALSE : CL_TRUE,
                                    (size_t)(block->offset + offset), (size_t)size, source, 0, NULL,
                                    NULL));
    cbk_rt_note_command(stream, NULL);
    add(&stream->bytes_written, size);
done:
    return status;
}

cbk_status cbk_rt_write(struct cbk_rt_stream *stream, struct cbk_rt_block *block,
                        uint64_t offset_bytes, const void *data, uint64_t size_bytes) {
    cbk_status status = cbk_rt_device_check(stream->device);
    if (status != CBK_OK || size_bytes == 0) return status;
    CBK_ASSERT(offset_bytes + size_bytes <= block->size);
    cbk_os_lock(&stream->mutex);
    if (stream->recording) {
        cbk_rt_record_failure(stream,
                              "host memory was written to a tensor while the stream captured");
    } else {
        status = enqueue_write(stream, block, offset_bytes, data, size_bytes);
    }
    cbk_os_unlock(&stream->mutex);
    return status;
}

// ---- device to host ----------------------------------------------------------------------------------

static uint64_t total_size(const struct cbk_rt_read *reads, uint32_t count) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) total += reads[i].size_bytes;
    return total;
}

cbk_status cbk_rt_enqueue_reads(struct cbk_rt_stream *stream, const struct cbk_rt_read *reads,
                                uint32_t count, unsigned char *staged) {
    const struct cbk_rt_cl *cl = stream->device->cl;
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < count; i++) {
        const struct cbk_rt_read *read = &reads[i];
        if (read->size_bytes == 0) continue;
        CBK_ASSERT(read->offset_bytes + read->size_bytes <= read->block->size);
        const struct cbk_rt_access access = {read->block, CBK_RT_READ};
        RT_TRY(cbk_rt_use_blocks(stream, &access, 1));
        if (staged) cbk_rt_staging_note(stream);
        CL_TRY(stream->device,
               cl->clEnqueueReadBuffer(stream->queue, read->block->mem, CL_FALSE,
                                       (size_t)(read->block->offset + read->offset_bytes),
                                       (size_t)read->size_bytes, staged ? staged : read->data, 0,
                                       NULL, NULL));
        cbk_rt_note_command(stream, NULL);
        if (staged) staged += read->size_bytes;
        add(&stream->bytes_read, read->size_bytes);
    }
done:
    return status;
}

static void unstage(const struct cbk_rt_read *reads, uint32_t count, const unsigned char *staged) {
    for (uint32_t i = 0; i < count; i++) {
        if (reads[i].size_bytes == 0) continue;
        memcpy(reads[i].data, staged, (size_t)reads[i].size_bytes);
        staged += reads[i].size_bytes;
    }
}

/// No contents that failed work should have made.
static cbk_status check_sources(struct cbk_rt_stream *stream, const struct cbk_rt_read *reads,
                                uint32_t count) {
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < count && status == CBK_OK; i++) {
        if (reads[i].size_bytes != 0) status = cbk_rt_check_block(stream->device, reads[i].block);
    }
    return status;
}

static cbk_status read_all(struct cbk_rt_stream *stream, const struct cbk_rt_read *reads,
                           uint32_t count) {
    const uint64_t total = total_size(reads, count);
    void *staged = NULL;
    cbk_status status = CBK_OK;
    if (total <= CBK_RT_STAGING_LIMIT && cbk_rt_gains_by_pinning(stream->device)) {
        RT_TRY(cbk_rt_staging_take(stream, (size_t)total, &staged));
    }
    RT_TRY(cbk_rt_index_look(stream));
    status = cbk_rt_enqueue_reads(stream, reads, count, staged);
    if (status != CBK_OK) {
        // Reads into the caller's memory may be on their way: they end before the call does.
        (void)cbk_rt_drain(stream);
        goto done;
    }
    RT_TRY(cbk_rt_drain(stream));
    RT_TRY(cbk_rt_index_settle(stream));
    cbk_rt_settle_dependencies(stream);
    RT_TRY(cbk_rt_take_sticky(stream));
    RT_TRY(check_sources(stream, reads, count));
    if (staged) unstage(reads, count, staged);
done:
    return status;
}

cbk_status cbk_rt_read(struct cbk_rt_stream *stream, const struct cbk_rt_read *reads,
                       uint32_t count) {
    cbk_status status = cbk_rt_device_check(stream->device);
    if (status == CBK_OK) status = cbk_rt_refuse_in_capture(stream);
    if (status != CBK_OK || total_size(reads, count) == 0) return status;
    cbk_os_lock(&stream->mutex);
    status = read_all(stream, reads, count);
    cbk_os_unlock(&stream->mutex);
    if (cbk_rt_has_dying(stream->device)) cbk_rt_foreign_reap(stream->device);
    return status;
}

// ---- device to device --------------------------------------------------------------------------------

cbk_status cbk_rt_copy(struct cbk_rt_stream *stream, struct cbk_rt_block *source,
                       uint64_t source_offset, struct cbk_rt_block *destination,
                       uint64_t destination_offset, uint64_t size_bytes) {
    cbk_status status = cbk_rt_device_check(stream->device);
    if (status != CBK_OK || size_bytes == 0) return status;
    CBK_ASSERT(source_offset + size_bytes <= source->size);
    CBK_ASSERT(destination_offset + size_bytes <= destination->size);
    const struct cbk_rt_access accesses[] = {{source, CBK_RT_READ}, {destination, CBK_RT_WRITE}};
    cbk_os_lock(&stream->mutex);
    if (stream->recording) {
        status = cbk_rt_record_copy(stream, source, source_offset, destination, destination_offset,
                                    size_bytes);
        goto done;
    }
    RT_TRY(cbk_rt_use_blocks(stream, accesses, 2));
    cl_event event = NULL;
    CL_TRY(stream->device, stream->device->cl->clEnqueueCopyBuffer(
                               stream->queue, source->mem, destination->mem,
                               (size_t)(source->offset + source_offset),
                               (size_t)(destination->offset + destination_offset),
                               (size_t)size_bytes, 0, NULL, stream->profile ? &event : NULL));
    cbk_rt_profile_note(stream, event, "copy");
    cbk_rt_note_command(stream, event);
done:
    cbk_os_unlock(&stream->mutex);
    return status;
}
