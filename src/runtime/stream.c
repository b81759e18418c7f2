/// stream.c: making streams, and laying them to rest.
#include "internal.h"

#include <string.h>

// ---- making one ------------------------------------------------------------------------------------

static cbk_status make_queue(struct cbk_rt_stream *stream, cl_command_queue queue) {
    const struct cbk_rt_device *device = stream->device;
    cl_int code = CL_SUCCESS;
    if (queue) {
        code = device->cl->clRetainCommandQueue(queue);
        if (code != CL_SUCCESS) return cbk_rt_cl_fail(NULL, code, "clRetainCommandQueue");
        stream->is_foreign = true;
        stream->queue = queue;
        return CBK_OK;
    }
    stream->queue = device->cl->clCreateCommandQueue(device->context, device->id, 0, &code);
    return stream->queue ? CBK_OK : cbk_rt_cl_fail(stream->device, code, "clCreateCommandQueue");
}

static void free_stream(struct cbk_rt_stream *stream) {
    struct cbk_rt *rt = stream->device->rt;
    const struct cbk_rt_cl *cl = stream->device->cl;
    cbk_rt_kernels_finish(rt, &stream->kernels);
    cbk_rt_profile_abandon(stream);
    cbk_rt_index_finish(stream);
    cbk_rt_staging_finish(stream);
    cbk_rt_stream_memory_finish(stream);
    for (; stream->batch_count > 0; stream->batch_count--) {
        (void)cl->clReleaseEvent(stream->batches[stream->batch_first].event);
        stream->batch_first = (stream->batch_first + 1) % CBK_RT_MAX_BATCHES;
    }
    if (stream->queue) (void)cl->clReleaseCommandQueue(stream->queue);
    cbk_os_mutex_finish(&stream->mutex);
    cbk_rt_host_free(rt, stream, sizeof *stream);
}

/// Room for one more in the device's list; its mutex is held.
static bool grow_list(struct cbk_rt_device *device) {
    if (device->stream_count < device->stream_capacity) return true;
    const uint32_t capacity = device->stream_capacity ? 2 * device->stream_capacity : 8;
    struct cbk_rt_stream **grown = cbk_rt_host_alloc(device->rt, capacity * sizeof(void *));
    if (!grown) return false;
    if (device->stream_count) memcpy(grown, device->streams, device->stream_count * sizeof(void *));
    cbk_rt_host_free(device->rt, device->streams, device->stream_capacity * sizeof(void *));
    device->streams = grown;
    device->stream_capacity = capacity;
    return true;
}

cbk_status cbk_rt_stream_make(struct cbk_rt_device *device, cl_command_queue queue,
                              struct cbk_rt_stream **out) {
    struct cbk_rt_stream *stream = cbk_rt_host_alloc(device->rt, sizeof *stream);
    if (!stream || !cbk_os_mutex_init(&stream->mutex)) {
        cbk_rt_host_free(device->rt, stream, sizeof *stream);
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0,
                        "stream_create: no host memory for %zu bytes", sizeof *stream);
    }
    stream->device = device;
    stream->batch = 1;
    stream->flush_at = 1;
    cbk_rt_stream_memory_init(stream);
    cbk_status status = make_queue(stream, queue);
    if (status == CBK_OK) {
        cbk_os_lock(&device->mutex);
        if (grow_list(device)) {
            stream->number = device->stream_count;
            device->streams[device->stream_count++] = stream;
        } else {
            status = cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0,
                              "stream_create: no host memory for a list of streams");
        }
        cbk_os_unlock(&device->mutex);
    }
    if (status == CBK_OK) {
        *out = stream;
    } else {
        free_stream(stream);
    }
    return status;
}

/// A destroyed stream whose work has ended, made new; NULL if there is none.
static struct cbk_rt_stream *wake_stream(struct cbk_rt_device *device) {
    struct cbk_rt_stream *found = NULL;
    cbk_os_lock(&device->mutex);
    for (uint32_t i = 0; i < device->stream_count && !found; i++) {
        struct cbk_rt_stream *stream = device->streams[i];
        if (!stream->is_resting || stream->is_foreign) continue;
        cbk_os_lock(&stream->mutex);
        cbk_rt_poll_batches(stream);
        if (stream->batch_count == 0 && !stream->has_open_work) {
            stream->is_resting = false;
            stream->sticky.status = CBK_OK;
            (void)cbk_rt_failures_close(stream);
            cbk_rt_index_finish(stream);
            found = stream;
        }
        cbk_os_unlock(&stream->mutex);
    }
    cbk_os_unlock(&device->mutex);
    return found;
}

cbk_status cbk_rt_stream_create(struct cbk_rt_device *device, struct cbk_rt_stream **out) {
    *out = NULL;
    const cbk_status status = cbk_rt_device_check(device);
    if (status != CBK_OK) return status;
    *out = wake_stream(device);
    return *out ? CBK_OK : cbk_rt_stream_make(device, NULL, out);
}

// ---- laying one to rest ----------------------------------------------------------------------------

/// Gives the caller's queue back. What the stream may still have to enqueue, when blocks come home
/// to it, goes to a queue of its own from now on, behind the work so far. Without one, the caller's
/// stays until the device is closed.
static void leave_queue(struct cbk_rt_stream *stream) {
    const struct cbk_rt_device *device = stream->device;
    cl_event event = NULL;
    cl_int code = CL_SUCCESS;
    if (cbk_rt_close_batch(stream, &event) != CBK_OK) return;
    cl_command_queue own = device->cl->clCreateCommandQueue(device->context, device->id, 0, &code);
    if (own && event) {
        code = device->cl->clEnqueueBarrierWithWaitList(own, 1, &event, NULL);
    }
    if (own && code == CL_SUCCESS) {
        (void)device->cl->clReleaseCommandQueue(stream->queue);
        stream->queue = own;
        stream->is_foreign = false;
        // The barrier is work like any other, to be waited for before the queue goes.
        stream->has_open_work = event != NULL;
        (void)cbk_rt_close_batch(stream, NULL);
    } else if (own) {
        (void)device->cl->clReleaseCommandQueue(own);
    }
    if (event) (void)device->cl->clReleaseEvent(event);
}

void cbk_rt_stream_destroy(struct cbk_rt_stream **handle) {
    struct cbk_rt_stream *stream = *handle;
    *handle = NULL;
    if (!stream || cbk_os_is_forked(&stream->device->rt->fork_mark)) return;
    cbk_rt_graph_forget(stream);
    if (cbk_rt_device_check(stream->device) == CBK_OK) {
        cbk_os_lock(&stream->mutex);
        // Its marker tells wake_stream when the work has ended; an error would have nobody to go to.
        (void)cbk_rt_close_batch(stream, NULL);
        if (stream->is_foreign) leave_queue(stream);
        cbk_rt_profile_abandon(stream);
        stream->persistent_depth = 0;
        cbk_rt_take_returned(stream);
        cbk_rt_shelve_free_slabs(stream);
        cbk_os_unlock(&stream->mutex);
    }
    cbk_os_lock(&stream->device->mutex);
    stream->is_resting = true;
    cbk_os_unlock(&stream->device->mutex);
}

void cbk_rt_streams_finish(struct cbk_rt_device *device) {
    for (uint32_t i = 0; i < device->stream_count; i++) {
        struct cbk_rt_stream *stream = device->streams[i];
        cbk_os_lock(&stream->mutex);
        (void)cbk_rt_drain(stream);
        cbk_os_unlock(&stream->mutex);
    }
    // Only now: a stream's blocks may name other streams.
    for (uint32_t i = 0; i < device->stream_count; i++) free_stream(device->streams[i]);
    cbk_rt_host_free(device->rt, device->streams, device->stream_capacity * sizeof(void *));
    device->streams = NULL;
    device->stream_count = device->stream_capacity = 0;
}

struct cbk_rt_device *cbk_rt_stream_device(const struct cbk_rt_stream *stream) {
    return stream->device;
}
