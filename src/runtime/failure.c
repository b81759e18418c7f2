/// failure.c: what became of failed work: batches whose results nobody may trust.
///
/// A block remembers who wrote it last, and in which batch. So a stream need only remember the
/// batches that failed, and a question about a block is a look at a few numbers. Commands behind a
/// failed one may have read what it should have written, and nobody notes which: everything from
/// the failed batch to the one in which the stream told its caller is not to be trusted. Work of
/// another stream is in doubt from the batch on that read a block of a failed batch; each reading of
/// what another stream has not finished is noted as a dependency, at the crossing, until it has.
///
/// All of it is under the device's use lock. Where nothing ever failed, nobody takes it for this.
#include "internal.h"

#include <stdio.h>

#define OPEN UINT64_MAX

static bool has_failed(const struct cbk_rt_device *device) {
    return atomic_load_explicit(&device->failure_count, memory_order_acquire) != 0;
}

// ---- the records, lock held ---------------------------------------------------------------------

static const struct cbk_rt_failure *find_failure(const struct cbk_rt_stream *stream,
                                                 uint64_t batch) {
    for (uint32_t i = 0; i < stream->failure_count; i++) {
        const struct cbk_rt_failure *failure = &stream->failures[i];
        if (failure->first <= batch && batch <= failure->last) return failure;
    }
    return NULL;
}

static struct cbk_rt_failure *open_failure(struct cbk_rt_stream *stream) {
    if (stream->failure_count == 0) return NULL;
    struct cbk_rt_failure *newest = &stream->failures[stream->failure_count - 1];
    return newest->last == OPEN ? newest : NULL;
}

/// Two old records become one: what was written between them counts as failed from now on.
static void make_room(struct cbk_rt_stream *stream) {
    stream->failures[0].last = stream->failures[1].last;
    for (uint32_t i = 2; i < stream->failure_count; i++) {
        stream->failures[i - 1] = stream->failures[i];
    }
    stream->failure_count--;
}

static void doubt(struct cbk_rt_stream *stream, uint64_t batch, const struct cbk_rt_sticky *cause) {
    struct cbk_rt_device *device = stream->device;
    struct cbk_rt_failure *open = open_failure(stream);
    if (open && open->first <= batch) return;
    if (open) {
        open->first = batch;
    } else {
        if (stream->failure_count == CBK_RT_MAX_FAILURES) make_room(stream);
        stream->failures[stream->failure_count++] =
            (struct cbk_rt_failure){.first = batch, .last = OPEN, .cause = *cause};
        atomic_fetch_add_explicit(&device->failure_count, 1, memory_order_release);
    }
    // Readers of readers too: each call widens what is in doubt, so this ends.
    for (uint32_t i = 0; i < device->dependency_count; i++) {
        const struct cbk_rt_dependency *known = &device->dependencies[i];
        if (known->writer == stream && known->written >= batch) {
            doubt(known->reader, known->from, cause);
        }
    }
}

// ---- what streams report ------------------------------------------------------------------------

void cbk_rt_failure_add(struct cbk_rt_stream *stream, uint64_t batch,
                        const struct cbk_rt_sticky *cause) {
    cbk_os_lock(&stream->device->use_lock);
    doubt(stream, batch, cause);
    cbk_os_unlock(&stream->device->use_lock);
}

cbk_status cbk_rt_failures_close(struct cbk_rt_stream *stream) {
    struct cbk_rt_device *device = stream->device;
    if (!has_failed(device)) return CBK_OK;
    cbk_os_lock(&device->use_lock);
    const bool is_open = open_failure(stream) != NULL;
    cbk_os_unlock(&device->use_lock);
    if (!is_open) return CBK_OK;
    const cbk_status status = cbk_rt_close_batch(stream, NULL);
    if (status != CBK_OK) return status;
    cbk_os_lock(&device->use_lock);
    open_failure(stream)->last = stream->batch - 1;
    cbk_os_unlock(&device->use_lock);
    return CBK_OK;
}

// ---- dependencies -------------------------------------------------------------------------------

static bool has_ended(const struct cbk_rt_dependency *dependency) {
    return atomic_load_explicit(&dependency->writer->done_batch, memory_order_acquire) >=
           dependency->written;
}

/// What the writer wrote may itself hang on `other`.
static bool hangs_on(const struct cbk_rt_dependency *dependency,
                     const struct cbk_rt_dependency *other) {
    return other->reader == dependency->writer && other->from <= dependency->written;
}

/// Drops those of which it is known how they ended, with all that they hang on.
static void drop_settled(struct cbk_rt_device *device) {
    struct cbk_rt_dependency *all = device->dependencies;
    bool is_open[CBK_RT_MAX_DEPENDENCIES], has_changed = true;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < device->dependency_count; i++) is_open[i] = !has_ended(&all[i]);
    while (has_changed) {
        has_changed = false;
        for (uint32_t i = 0; i < device->dependency_count; i++) {
            for (uint32_t k = 0; k < device->dependency_count && !is_open[i]; k++) {
                is_open[i] = is_open[k] && hangs_on(&all[i], &all[k]);
                has_changed |= is_open[i];
            }
        }
    }
    for (uint32_t i = 0; i < device->dependency_count; i++) {
        if (is_open[i]) all[kept++] = all[i];
    }
    device->dependency_count = kept;
}

/// True if it has ended and hangs on nothing, or is noted already.
static bool need_not_be_noted(const struct cbk_rt_device *device,
                              const struct cbk_rt_dependency *wanted) {
    bool is_settled = has_ended(wanted);
    for (uint32_t i = device->dependency_count; i-- > 0;) {
        const struct cbk_rt_dependency *known = &device->dependencies[i];
        if (known->reader == wanted->reader && known->writer == wanted->writer &&
            known->from <= wanted->from && known->written == wanted->written) {
            return true;
        }
        is_settled &= !hangs_on(wanted, known);
    }
    return is_settled;
}

bool cbk_rt_depend(struct cbk_rt_stream *stream, struct cbk_rt_stream *writer, uint64_t written) {
    struct cbk_rt_device *device = stream->device;
    const struct cbk_rt_dependency wanted = {stream, writer, stream->batch, written};
    const struct cbk_rt_failure *failure = find_failure(writer, written);
    if (failure) {
        const struct cbk_rt_sticky cause = failure->cause;
        doubt(stream, stream->batch, &cause);
        return true;
    }
    if (need_not_be_noted(device, &wanted)) return true;
    if (device->dependency_count == CBK_RT_MAX_DEPENDENCIES) drop_settled(device);
    if (device->dependency_count == CBK_RT_MAX_DEPENDENCIES) return false;
    device->dependencies[device->dependency_count++] = wanted;
    return true;
}

/// Learns how a stream's batches have ended; with `batch` it waits until that one has.
static cbk_status look_at(struct cbk_rt_stream *stream, struct cbk_rt_stream *other,
                          uint64_t batch) {
    if (other != stream) {
        cbk_os_unlock(&stream->mutex);
        cbk_os_lock(&other->mutex);
    }
    const cbk_status status = batch ? cbk_rt_wait_batch(other, batch) : CBK_OK;
    cbk_rt_poll_batches(other);
    if (other != stream) {
        cbk_os_unlock(&other->mutex);
        cbk_os_lock(&stream->mutex);
    }
    return status;
}

cbk_status cbk_rt_end_dependency(struct cbk_rt_stream *stream) {
    struct cbk_rt_device *device = stream->device;
    struct cbk_rt_dependency eldest = {NULL};
    cbk_os_lock(&device->use_lock);
    drop_settled(device);
    for (uint32_t i = 0; i < device->dependency_count && !eldest.writer; i++) {
        if (!has_ended(&device->dependencies[i])) eldest = device->dependencies[i];
    }
    const bool is_full = device->dependency_count == CBK_RT_MAX_DEPENDENCIES;
    cbk_os_unlock(&device->use_lock);
    return is_full && eldest.writer ? look_at(stream, eldest.writer, eldest.written) : CBK_OK;
}

/// The next stream by number, from `number` on, that is known to have written something of which
/// nobody has seen how it ended.
static struct cbk_rt_stream *next_writer(struct cbk_rt_device *device, uint32_t number) {
    struct cbk_rt_stream *next = NULL;
    cbk_os_lock(&device->use_lock);
    for (uint32_t i = 0; i < device->dependency_count; i++) {
        struct cbk_rt_stream *writer = device->dependencies[i].writer;
        if (writer->number < number || has_ended(&device->dependencies[i])) continue;
        if (!next || writer->number < next->number) next = writer;
    }
    cbk_os_unlock(&device->use_lock);
    return next;
}

void cbk_rt_settle_dependencies(struct cbk_rt_stream *stream) {
    struct cbk_rt_stream *writer = NULL;
    for (uint32_t number = 0; (writer = next_writer(stream->device, number)) != NULL;) {
        (void)look_at(stream, writer, 0);
        number = writer->number + 1;
    }
}

// ---- questions ----------------------------------------------------------------------------------

bool cbk_rt_batch_failed(struct cbk_rt_stream *stream, uint64_t batch,
                         struct cbk_rt_sticky *out_cause) {
    if (!has_failed(stream->device)) return false;
    cbk_os_lock(&stream->device->use_lock);
    const struct cbk_rt_failure *failure = find_failure(stream, batch);
    if (failure) *out_cause = failure->cause;
    cbk_os_unlock(&stream->device->use_lock);
    return failure != NULL;
}

uint32_t cbk_rt_block_writers(struct cbk_rt_device *device, struct cbk_rt_block *block,
                              struct cbk_rt_writer out[CBK_RT_MAX_WRITERS]) {
    uint32_t count = 0;
    const uint64_t batch = atomic_load_explicit(&block->write_batch, memory_order_relaxed);
    if (batch) out[count++] = (struct cbk_rt_writer){block->home, batch};
    if (!atomic_load_explicit(&block->is_shared, memory_order_acquire)) return count;
    cbk_os_lock(&device->use_lock);
    for (uint32_t i = 0; i < block->use_count; i++) {
        const struct cbk_rt_use *use = &block->uses[i];
        if (use->write_batch) out[count++] = (struct cbk_rt_writer){use->stream, use->write_batch};
    }
    cbk_os_unlock(&device->use_lock);
    return count;
}

bool cbk_rt_block_failed(struct cbk_rt_device *device, struct cbk_rt_block *block,
                         struct cbk_rt_sticky *out_cause) {
    struct cbk_rt_writer writers[CBK_RT_MAX_WRITERS];
    if (!has_failed(device)) return false;
    const uint32_t count = cbk_rt_block_writers(device, block, writers);
    for (uint32_t i = 0; i < count; i++) {
        if (cbk_rt_batch_failed(writers[i].stream, writers[i].batch, out_cause)) return true;
    }
    return false;
}

cbk_status cbk_rt_fail_producer(const struct cbk_rt_sticky *cause) {
    return cbk_fail(CBK_ERROR_PRODUCER, cause->code, "what it was made of failed (%s): %s",
                    cbk_status_string(cause->status), cause->message);
}

cbk_status cbk_rt_check_block(struct cbk_rt_device *device, struct cbk_rt_block *block) {
    struct cbk_rt_sticky cause;
    return cbk_rt_block_failed(device, block, &cause) ? cbk_rt_fail_producer(&cause) : CBK_OK;
}

bool cbk_rt_block_cause(struct cbk_rt_device *device, struct cbk_rt_block *block, cbk_error *out) {
    struct cbk_rt_sticky cause;
    if (!cbk_rt_block_failed(device, block, &cause)) return false;
    out->status = cause.status;
    out->native_code = cause.code;
    (void)snprintf(out->message, sizeof out->message, "%s", cause.message);
    return true;
}
