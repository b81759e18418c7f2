/// order.c: batches of a stream's commands, and the errors that come out of them.
///
/// Commands carry no event of their own. Now and then one does, or a marker is put behind them: it
/// closes the batch, and its state tells when the batch has ended and how. clFinish alone may
/// report success after a failed command.
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>

// ---- errors of enqueued work -----------------------------------------------------------------------

void cbk_rt_stick(struct cbk_rt_stream *stream, cbk_status status, int32_t code, const char *format,
                  ...) {
    struct cbk_rt_sticky *sticky = &stream->sticky;
    va_list arguments;
    if (sticky->status != CBK_OK) return;
    sticky->status = status;
    sticky->code = code;
    va_start(arguments, format);
    (void)vsnprintf(sticky->message, sizeof sticky->message, format, arguments);
    va_end(arguments);
}

void cbk_rt_fail_batch(struct cbk_rt_stream *stream, uint64_t batch, cbk_status status,
                       int32_t code, const char *format, ...) {
    struct cbk_rt_sticky cause = {.status = status, .code = code};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(cause.message, sizeof cause.message, format, arguments);
    va_end(arguments);
    cbk_rt_failure_add(stream, batch, &cause);
    if (stream->sticky.status == CBK_OK) stream->sticky = cause;
}

cbk_status cbk_rt_take_sticky(struct cbk_rt_stream *stream) {
    const struct cbk_rt_sticky sticky = stream->sticky;
    const cbk_status status = cbk_rt_failures_close(stream);
    if (sticky.status == CBK_OK) return status;
    stream->sticky.status = CBK_OK;
    return cbk_fail(sticky.status, sticky.code, "%s", sticky.message);
}

/// The failure of a command, or of a call in a place that cannot return it.
static void fail_batch(struct cbk_rt_stream *stream, uint64_t batch, cl_int code,
                       const char *what) {
    const cbk_status status = cbk_rt_cl_fail(stream->device, code, what);
    cbk_rt_fail_batch(stream, batch, status, code, "%s gave %s (%d)", what,
                      cbk_rt_cl_error_name(code), (int)code);
}

// ---- batches ---------------------------------------------------------------------------------------

static struct cbk_rt_batch *oldest_batch(struct cbk_rt_stream *stream) {
    return &stream->batches[stream->batch_first];
}

/// Takes the oldest batch off the ring; it has ended with `state`.
static void end_batch(struct cbk_rt_stream *stream, cl_int state) {
    struct cbk_rt_batch *batch = oldest_batch(stream);
    if (state < 0) fail_batch(stream, batch->number, state, "an enqueued command");
    atomic_store_explicit(&stream->done_batch, batch->number, memory_order_release);
    (void)stream->device->cl->clReleaseEvent(batch->event);
    batch->event = NULL;
    stream->batch_first = (stream->batch_first + 1) % CBK_RT_MAX_BATCHES;
    stream->batch_count--;
}

/// Asks how the oldest batch is: CL_COMPLETE, a negative error, or a positive state while it runs.
static cl_int ask_oldest(struct cbk_rt_stream *stream, cl_int *out_state) {
    *out_state = CL_QUEUED;
    return stream->device->cl->clGetEventInfo(oldest_batch(stream)->event,
                                              CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *out_state,
                                              out_state, NULL);
}

void cbk_rt_poll_batches(struct cbk_rt_stream *stream) {
    cl_int state = CL_QUEUED;
    while (stream->batch_count > 0) {
        if (ask_oldest(stream, &state) != CL_SUCCESS || state > CL_COMPLETE) return;
        end_batch(stream, state);
    }
}

static void wait_oldest(struct cbk_rt_stream *stream) {
    const struct cbk_rt_cl *cl = stream->device->cl;
    cl_int state = CL_QUEUED;
    cl_int code = ask_oldest(stream, &state);
    if (code != CL_SUCCESS || state > CL_COMPLETE) {
        // The wait fails when the event has; its state tells more.
        const cl_int wait_code = cl->clWaitForEvents(1, &oldest_batch(stream)->event);
        code = ask_oldest(stream, &state);
        if (code == CL_SUCCESS && state > CL_COMPLETE) {
            code = wait_code;
            (void)cl->clFinish(stream->queue);
        }
    }
    if (code != CL_SUCCESS) {
        fail_batch(stream, oldest_batch(stream)->number, code, "clWaitForEvents");
    }
    end_batch(stream, code == CL_SUCCESS ? state : CL_COMPLETE);
}

static void push_batch(struct cbk_rt_stream *stream, cl_event event) {
    if (stream->batch_count == CBK_RT_MAX_BATCHES) cbk_rt_poll_batches(stream);
    if (stream->batch_count == CBK_RT_MAX_BATCHES) wait_oldest(stream);
    const uint32_t at = (stream->batch_first + stream->batch_count) % CBK_RT_MAX_BATCHES;
    stream->batches[at] = (struct cbk_rt_batch){.number = stream->batch, .event = event};
    stream->batch_count++;
    stream->batch++;
    stream->has_open_work = false;
}

static cl_int flush(struct cbk_rt_stream *stream) {
    stream->unflushed = 0;
    stream->flush_at = 2 * stream->flush_at;
    if (stream->flush_at > CBK_RT_FLUSH_PERIOD) stream->flush_at = CBK_RT_FLUSH_PERIOD;
    return stream->device->cl->clFlush(stream->queue);
}

bool cbk_rt_wants_event(const struct cbk_rt_stream *stream) {
    const bool is_time = stream->awaited > 0 || stream->unflushed + 1 >= CBK_RT_FLUSH_PERIOD;
    return stream->profile != NULL || (is_time && stream->batch_count < CBK_RT_MAX_BATCHES);
}

void cbk_rt_note_command(struct cbk_rt_stream *stream, cl_event event) {
    stream->has_open_work = true;
    stream->unflushed++;
    if (event) push_batch(stream, event);
    if (event && stream->awaited > 0) stream->awaited--;
    if (stream->unflushed < stream->flush_at) return;
    const cl_int code = flush(stream);
    if (code != CL_SUCCESS) fail_batch(stream, stream->batch, code, "clFlush");
    cbk_rt_poll_batches(stream);
}

cbk_status cbk_rt_close_batch(struct cbk_rt_stream *stream, cl_event *out_event) {
    const struct cbk_rt_cl *cl = stream->device->cl;
    cbk_status status = CBK_OK;
    cl_event event = NULL;

    if (out_event) *out_event = NULL;
    if (stream->has_open_work) {
        CL_TRY(stream->device, cl->clEnqueueMarkerWithWaitList(stream->queue, 0, NULL, &event));
        push_batch(stream, event);
        stream->unflushed++;
    }
    if (stream->unflushed > 0) CL_TRY(stream->device, flush(stream));
    if (out_event && stream->batch_count > 0) {
        const uint32_t last = stream->batch_first + stream->batch_count - 1;
        event = stream->batches[last % CBK_RT_MAX_BATCHES].event;
        CL_TRY(stream->device, cl->clRetainEvent(event));
        *out_event = event;
    }
done:
    return status;
}

cbk_status cbk_rt_wait_batch(struct cbk_rt_stream *stream, uint64_t batch) {
    if (batch == stream->batch && stream->has_open_work) {
        const cbk_status status = cbk_rt_close_batch(stream, NULL);
        if (status != CBK_OK) return status;
    }
    while (stream->batch_count > 0 && oldest_batch(stream)->number <= batch) wait_oldest(stream);
    return CBK_OK;
}

cbk_status cbk_rt_drain(struct cbk_rt_stream *stream) {
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_close_batch(stream, NULL));
    if (stream->batch_count > 0) {
        CL_TRY(stream->device, stream->device->cl->clFinish(stream->queue));
    }
    while (stream->batch_count > 0) wait_oldest(stream);
    stream->flush_at = 1;
done:
    // Whatever failed, commands may be on their way to memory that the caller takes back.
    if (status != CBK_OK) (void)stream->device->cl->clFinish(stream->queue);
    return status;
}

// ---- the public forms ------------------------------------------------------------------------------

cbk_status cbk_rt_flush(struct cbk_rt_stream *stream) {
    cbk_status status = cbk_rt_device_check(stream->device);
    if (status != CBK_OK) return status;
    cbk_os_lock(&stream->mutex);
    // The end of foreign memory's last use is seen by the event of a closed batch only.
    if (cbk_rt_has_dying(stream->device)) RT_TRY(cbk_rt_close_batch(stream, NULL));
    if (stream->unflushed > 0) CL_TRY(stream->device, flush(stream));
    cbk_rt_poll_batches(stream);
    status = cbk_rt_take_sticky(stream);
done:
    cbk_os_unlock(&stream->mutex);
    if (cbk_rt_has_dying(stream->device)) cbk_rt_foreign_reap(stream->device);
    return status;
}

cbk_status cbk_rt_sync(struct cbk_rt_stream *stream) {
    cbk_status status = cbk_rt_device_check(stream->device);
    if (status == CBK_OK) status = cbk_rt_refuse_in_capture(stream);
    if (status != CBK_OK) return status;
    cbk_os_lock(&stream->mutex);
    RT_TRY(cbk_rt_index_look(stream));
    RT_TRY(cbk_rt_drain(stream));
    RT_TRY(cbk_rt_index_settle(stream));
    cbk_rt_settle_dependencies(stream);
    status = cbk_rt_take_sticky(stream);
done:
    cbk_os_unlock(&stream->mutex);
    if (cbk_rt_has_dying(stream->device)) cbk_rt_foreign_reap(stream->device);
    if (status == CBK_OK) cbk_rt_programs_idle(stream->device);
    return status;
}
