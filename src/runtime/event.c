/// event.c: points in a stream, to poll or to wait for, and reads that end at one.
#include "internal.h"

struct cbk_rt_event {
    struct cbk_rt_stream *stream; ///< lives as long as the device
    cl_event event;               ///< NULL: the point had passed when the event was made
    uint64_t batch;
    uint32_t writer_count, writer_capacity;
    struct cbk_rt_writer writers[]; ///< of a read: whose work made what is read
};

static size_t size_of(const struct cbk_rt_event *event) {
    return sizeof *event + event->writer_capacity * sizeof *event->writers;
}

static cbk_status make_event(struct cbk_rt_stream *stream, uint32_t writer_capacity,
                             struct cbk_rt_event **out) {
    const struct cbk_rt_event start = {.stream = stream, .writer_capacity = writer_capacity};
    cbk_status status = cbk_rt_device_check(stream->device);
    *out = NULL;
    if (status == CBK_OK) status = cbk_rt_refuse_in_capture(stream);
    if (status != CBK_OK) return status;
    struct cbk_rt_event *event = cbk_rt_host_alloc(stream->device->rt, size_of(&start));
    if (!event) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for an event of %zu bytes",
                        size_of(&start));
    }
    *event = start;
    *out = event;
    return CBK_OK;
}

/// Makes the event pass with what is enqueued so far. The stream's mutex is held.
static cbk_status close_with(struct cbk_rt_event *event) {
    const cbk_status status = cbk_rt_close_batch(event->stream, &event->event);
    event->batch = event->stream->batch - 1;
    return status;
}

cbk_status cbk_rt_event_create(struct cbk_rt_stream *stream, struct cbk_rt_event **out) {
    cbk_status status = make_event(stream, 0, out);
    if (status != CBK_OK) return status;
    cbk_os_lock(&stream->mutex);
    status = close_with(*out);
    cbk_os_unlock(&stream->mutex);
    if (status != CBK_OK) cbk_rt_event_destroy(out);
    return status;
}

// ---- reads ---------------------------------------------------------------------------------------

/// Whoever wrote the blocks last, before the reads are noted.
static void gather_writers(struct cbk_rt_event *event, const struct cbk_rt_read *reads,
                           uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (reads[i].size_bytes == 0) continue;
        event->writer_count += cbk_rt_block_writers(event->stream->device, reads[i].block,
                                                    &event->writers[event->writer_count]);
    }
}

cbk_status cbk_rt_read_async(struct cbk_rt_stream *stream, const struct cbk_rt_read *reads,
                             uint32_t count, struct cbk_rt_event **out) {
    cbk_status status = make_event(stream, count * CBK_RT_MAX_WRITERS, out);
    if (status != CBK_OK) return status;
    cbk_os_lock(&stream->mutex);
    gather_writers(*out, reads, count);
    status = cbk_rt_enqueue_reads(stream, reads, count, NULL);
    if (status == CBK_OK) status = close_with(*out);
    // Reads into the caller's memory may be on their way: they end before the call does.
    if (status != CBK_OK) (void)cbk_rt_drain(stream);
    cbk_os_unlock(&stream->mutex);
    if (status != CBK_OK) cbk_rt_event_destroy(out);
    return status;
}

/// After the event has passed: CBK_OK if what was read is good.
static cbk_status check_read(const struct cbk_rt_event *event, cl_int state) {
    struct cbk_rt_stream *stream = event->stream;
    struct cbk_rt_sticky cause;
    if (event->writer_capacity == 0) return CBK_OK; // no read
    if (state < 0) return cbk_rt_cl_fail(stream->device, state, "a command of the read");
    cbk_os_lock(&stream->mutex);
    cbk_rt_poll_batches(stream);
    cbk_rt_settle_dependencies(stream);
    cbk_os_unlock(&stream->mutex);
    for (uint32_t i = 0; i < event->writer_count; i++) {
        const struct cbk_rt_writer *writer = &event->writers[i];
        if (cbk_rt_batch_failed(writer->stream, writer->batch, &cause)) {
            return cbk_rt_fail_producer(&cause);
        }
    }
    return CBK_OK;
}

// ---- polling and waiting -------------------------------------------------------------------------

static cbk_status state_of(const struct cbk_rt_event *event, cl_int *out_state) {
    struct cbk_rt_device *device = event->stream->device;
    cbk_status status = CBK_OK;
    *out_state = CL_COMPLETE;
    if (event->event) {
        CL_TRY(device, device->cl->clGetEventInfo(event->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                  sizeof *out_state, out_state, NULL));
    }
done:
    return status;
}

cbk_status cbk_rt_event_query(struct cbk_rt_event *event, bool *out_done) {
    cl_int state = CL_COMPLETE;
    cbk_status status = cbk_rt_device_check(event->stream->device);
    *out_done = false;
    if (status != CBK_OK) return status;
    status = state_of(event, &state);
    // A failed command has ended; its error is the stream's to report, and the read's.
    *out_done = status == CBK_OK && state <= CL_COMPLETE;
    return *out_done ? check_read(event, state) : status;
}

cbk_status cbk_rt_event_wait(struct cbk_rt_event *event) {
    struct cbk_rt_device *device = event->stream->device;
    cl_int state = CL_COMPLETE;
    cbk_status status = cbk_rt_device_check(device);
    if (status != CBK_OK) return status;
    if (!event->event) return check_read(event, CL_COMPLETE);
    const cl_int code = device->cl->clWaitForEvents(1, &event->event);
    RT_TRY(state_of(event, &state));
    if (state < 0) return cbk_rt_cl_fail(device, state, "a command before the event");
    if (state > CL_COMPLETE) return cbk_rt_cl_fail(device, code, "clWaitForEvents");
    status = check_read(event, state);
done:
    return status;
}

cbk_status cbk_rt_stream_wait(struct cbk_rt_stream *stream, struct cbk_rt_event *event) {
    cbk_status status = cbk_rt_device_check(stream->device);
    if (status == CBK_OK) status = cbk_rt_refuse_in_capture(stream);
    if (status != CBK_OK || !event->event || event->stream == stream) return status;
    // A context knows nothing of another's events.
    if (event->stream->device != stream->device) return cbk_rt_event_wait(event);
    cbk_os_lock(&stream->mutex);
    status = cbk_rt_wait_for(stream, event->stream, event->batch);
    cbk_os_unlock(&stream->mutex);
    return status;
}

void cbk_rt_event_destroy(struct cbk_rt_event **handle) {
    struct cbk_rt_event *event = *handle;
    *handle = NULL;
    if (!event) return;
    struct cbk_rt_device *device = event->stream->device;
    // In a forked child the driver's locks may be held by threads that are not there.
    if (event->event && !cbk_os_is_forked(&device->rt->fork_mark)) {
        (void)device->cl->clReleaseEvent(event->event);
    }
    cbk_rt_host_free(device->rt, event, size_of(event));
}
