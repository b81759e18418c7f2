/// profile.c: when each command of a stream ran.
///
/// A queue that takes times makes every launch dearer, and so does an event on every launch: a
/// profiled stream changes to a queue of its own, behind its work so far, and changes back at the
/// end.
#include "internal.h"

#include <string.h>

struct cbk_rt_profile {
    cl_command_queue plain_queue; ///< NULL: the caller's queue takes times itself
    uint32_t count, capacity;
    cl_event *events; ///< NULL once its times are known
    struct cbk_rt_times *times;
    bool has_gap; ///< a command had no room
};

// ---- notes ---------------------------------------------------------------------------------------

static bool grow(struct cbk_rt *rt, struct cbk_rt_profile *profile) {
    const uint32_t capacity = profile->capacity ? 2 * profile->capacity : 256;
    cl_event *events = cbk_rt_host_alloc(rt, capacity * sizeof *events);
    struct cbk_rt_times *times = cbk_rt_host_alloc(rt, capacity * sizeof *times);
    if (!events || !times) {
        cbk_rt_host_free(rt, events, capacity * sizeof *events);
        cbk_rt_host_free(rt, times, capacity * sizeof *times);
        return false;
    }
    if (profile->count > 0) {
        memcpy(events, profile->events, profile->count * sizeof *events);
        memcpy(times, profile->times, profile->count * sizeof *times);
    }
    cbk_rt_host_free(rt, profile->events, profile->capacity * sizeof *events);
    cbk_rt_host_free(rt, profile->times, profile->capacity * sizeof *times);
    profile->events = events;
    profile->times = times;
    profile->capacity = capacity;
    return true;
}

void cbk_rt_profile_note(struct cbk_rt_stream *stream, cl_event event, const char *kernel) {
    struct cbk_rt_profile *profile = stream->profile;
    if (!profile || !event) return;
    const bool has_room = profile->count < profile->capacity || grow(stream->device->rt, profile);
    if (!has_room || stream->device->cl->clRetainEvent(event) != CL_SUCCESS) {
        profile->has_gap = true;
        return;
    }
    profile->times[profile->count] = (struct cbk_rt_times){.kernel = kernel};
    profile->events[profile->count++] = event;
}

static void release_events(const struct cbk_rt_device *device, struct cbk_rt_profile *profile) {
    for (uint32_t i = 0; i < profile->count; i++) {
        if (profile->events[i]) (void)device->cl->clReleaseEvent(profile->events[i]);
    }
    profile->count = 0;
}

static void free_profile(struct cbk_rt_stream *stream) {
    struct cbk_rt *rt = stream->device->rt;
    struct cbk_rt_profile *profile = stream->profile;
    release_events(stream->device, profile);
    cbk_rt_host_free(rt, profile->events, profile->capacity * sizeof *profile->events);
    cbk_rt_host_free(rt, profile->times, profile->capacity * sizeof *profile->times);
    cbk_rt_host_free(rt, profile, sizeof *profile);
    stream->profile = NULL;
}

// ---- begin and end -------------------------------------------------------------------------------

/// The caller's queue stays, so that the order with the caller's own commands does.
static cbk_status check_foreign(struct cbk_rt_stream *stream) {
    cl_command_queue_properties properties = 0;
    cbk_status status = CBK_OK;
    CL_TRY(stream->device,
           stream->device->cl->clGetCommandQueueInfo(stream->queue, CL_QUEUE_PROPERTIES,
                                                     sizeof properties, &properties, NULL));
    if (!(properties & CL_QUEUE_PROFILING_ENABLE)) {
        status = cbk_fail(CBK_ERROR_UNSUPPORTED, 0,
                          "the stream works in a queue of yours that was made without "
                          "CL_QUEUE_PROFILING_ENABLE");
    }
done:
    return status;
}

/// The stream goes on in a queue that takes times, behind what is enqueued.
static cbk_status change_queue(struct cbk_rt_stream *stream, struct cbk_rt_profile *profile) {
    const struct cbk_rt_device *device = stream->device;
    cl_command_queue queue = NULL;
    cl_event event = NULL;
    cl_int code = CL_SUCCESS;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_close_batch(stream, &event));
    queue = device->cl->clCreateCommandQueue(device->context, device->id, CL_QUEUE_PROFILING_ENABLE,
                                             &code);
    if (!queue) {
        status = cbk_rt_cl_fail(stream->device, code, "clCreateCommandQueue");
        goto done;
    }
    if (event) {
        CL_TRY(stream->device, device->cl->clEnqueueBarrierWithWaitList(queue, 1, &event, NULL));
        stream->has_open_work = true;
    }
    profile->plain_queue = stream->queue;
    stream->queue = queue;
    queue = NULL;
done:
    if (queue) (void)device->cl->clReleaseCommandQueue(queue);
    if (event) (void)device->cl->clReleaseEvent(event);
    return status;
}

cbk_status cbk_rt_profile_begin(struct cbk_rt_stream *stream) {
    struct cbk_rt *rt = stream->device->rt;
    struct cbk_rt_profile *profile = NULL;
    cbk_status status = cbk_rt_device_check(stream->device);
    if (status == CBK_OK) status = cbk_rt_refuse_in_capture(stream);
    if (status != CBK_OK) return status;
    if (stream->profile) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is being profiled already");
    }
    profile = cbk_rt_host_alloc(rt, sizeof *profile);
    if (!profile) return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a profile");
    cbk_os_lock(&stream->mutex);
    status = stream->is_foreign ? check_foreign(stream) : change_queue(stream, profile);
    if (status == CBK_OK) {
        stream->profile = profile;
    } else {
        cbk_rt_host_free(rt, profile, sizeof *profile);
    }
    cbk_os_unlock(&stream->mutex);
    return status;
}

cbk_status cbk_rt_profile_end(struct cbk_rt_stream *stream) {
    cbk_status status = cbk_rt_device_check(stream->device);
    if (status == CBK_OK) status = cbk_rt_refuse_in_capture(stream);
    if (status != CBK_OK) return status;
    CBK_ASSERT(stream->profile);
    cbk_os_lock(&stream->mutex);
    RT_TRY(cbk_rt_drain(stream));
    if (stream->profile->plain_queue) {
        (void)stream->device->cl->clReleaseCommandQueue(stream->queue);
        stream->queue = stream->profile->plain_queue;
    }
    if (stream->profile->has_gap) {
        status = cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0,
                          "there was no host memory for the times of every command");
    }
    free_profile(stream);
done:
    cbk_os_unlock(&stream->mutex);
    return status;
}

void cbk_rt_profile_abandon(struct cbk_rt_stream *stream) {
    struct cbk_rt_profile *profile = stream->profile;
    if (!profile) return;
    // Everything in the plain queue lies before the barrier in the other one, which stays.
    if (profile->plain_queue) {
        (void)stream->device->cl->clReleaseCommandQueue(profile->plain_queue);
    }
    free_profile(stream);
}

// ---- times ---------------------------------------------------------------------------------------

uint32_t cbk_rt_profile_count(const struct cbk_rt_stream *stream) {
    return stream->profile ? stream->profile->count : 0;
}

/// A command that failed has no times: they stay 0.
static void take_times(const struct cbk_rt_device *device, cl_event event,
                       struct cbk_rt_times *out) {
    const struct {
        cl_profiling_info what;
        uint64_t *out;
    } parts[] = {{CL_PROFILING_COMMAND_QUEUED, &out->queued_ns},
                 {CL_PROFILING_COMMAND_SUBMIT, &out->submit_ns},
                 {CL_PROFILING_COMMAND_START, &out->start_ns},
                 {CL_PROFILING_COMMAND_END, &out->end_ns}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        cl_ulong value = 0;
        if (device->cl->clGetEventProfilingInfo(event, parts[i].what, sizeof value, &value, NULL) !=
            CL_SUCCESS) {
            value = 0;
        }
        *parts[i].out = value;
    }
}

cbk_status cbk_rt_profile_collect(struct cbk_rt_stream *stream, const struct cbk_rt_times **out,
                                  uint32_t *out_count) {
    struct cbk_rt_profile *profile = stream->profile;
    cbk_status status = cbk_rt_device_check(stream->device);
    *out = NULL;
    *out_count = 0;
    if (status != CBK_OK) return status;
    cbk_os_lock(&stream->mutex);
    RT_TRY(cbk_rt_drain(stream));
    for (uint32_t i = 0; i < profile->count; i++) {
        take_times(stream->device, profile->events[i], &profile->times[i]);
    }
    *out = profile->times;
    *out_count = profile->count;
    release_events(stream->device, profile);
done:
    cbk_os_unlock(&stream->mutex);
    return status;
}
