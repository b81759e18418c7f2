/// event.c: points in a stream, to poll or to wait for.
#include "internal.h"

struct cbk_rt_event {
    struct cbk_rt_stream *stream; ///< lives as long as the device
    cl_event event;               ///< NULL: the point had passed when the event was made
    uint64_t batch;
};

cbk_status cbk_rt_event_create(struct cbk_rt_stream *stream, struct cbk_rt_event **out) {
    struct cbk_rt *rt = stream->device->rt;
    struct cbk_rt_event *event = NULL;
    cbk_status status = cbk_rt_device_check(stream->device);
    *out = NULL;
    if (status == CBK_OK) status = cbk_rt_refuse_in_capture(stream);
    if (status != CBK_OK) return status;
    event = cbk_rt_host_alloc(rt, sizeof *event);
    if (!event) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0,
                        "event_record: no host memory for %zu bytes", sizeof *event);
    }
    cbk_os_lock(&stream->mutex);
    event->stream = stream;
    status = cbk_rt_close_batch(stream, &event->event);
    event->batch = stream->batch - 1;
    cbk_os_unlock(&stream->mutex);
    if (status == CBK_OK) {
        *out = event;
    } else {
        cbk_rt_host_free(rt, event, sizeof *event);
    }
    return status;
}

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
    // A failed command has ended; its error is the stream's to report.
    *out_done = status == CBK_OK && state <= CL_COMPLETE;
    return status;
}

cbk_status cbk_rt_event_wait(struct cbk_rt_event *event) {
    struct cbk_rt_device *device = event->stream->device;
    cl_int state = CL_COMPLETE;
    cbk_status status = cbk_rt_device_check(device);
    if (status != CBK_OK || !event->event) return status;
    const cl_int code = device->cl->clWaitForEvents(1, &event->event);
    RT_TRY(state_of(event, &state));
    if (state < 0) return cbk_rt_cl_fail(device, state, "a command before the event");
    if (state > CL_COMPLETE) return cbk_rt_cl_fail(device, code, "clWaitForEvents");
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
    if (event->event) (void)device->cl->clReleaseEvent(event->event);
    cbk_rt_host_free(device->rt, event, sizeof *event);
}
