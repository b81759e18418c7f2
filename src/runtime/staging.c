/// staging.c: host memory that transfers fast: pinned on devices with memory of their own, plain on
/// CPUs.
#include "internal.h"

enum { STAGING_SIZE = CBK_RT_STAGING_PARTS * CBK_RT_STAGING_LIMIT, STAGING_ALIGNMENT = 64 };

// ---- pinned memory ---------------------------------------------------------------------------------

/// Makes a buffer in host memory and maps it for its whole life.
static cbk_status pin(struct cbk_rt_device *device, size_t size, cl_mem *out_mem, void **out) {
    const struct cbk_rt_cl *cl = device->cl;
    cbk_status status = CBK_OK;
    cl_int code = CL_SUCCESS;
    cl_mem mem = cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                    size, NULL, &code);
    if (!mem) return cbk_rt_cl_fail(device, code, "clCreateBuffer");
    // Not on a stream's queue: mapping waits for everything before it.
    *out = cl->clEnqueueMapBuffer(device->service_queue, mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                  0, size, 0, NULL, NULL, &code);
    if (!*out) status = cbk_rt_cl_fail(device, code, "clEnqueueMapBuffer");
    if (status == CBK_OK) {
        *out_mem = mem;
    } else {
        (void)cl->clReleaseMemObject(mem);
    }
    return status;
}

static void unpin(struct cbk_rt_device *device, cl_mem mem, void *data) {
    const struct cbk_rt_cl *cl = device->cl;
    (void)cl->clEnqueueUnmapMemObject(device->service_queue, mem, data, 0, NULL, NULL);
    (void)cl->clFinish(device->service_queue);
    (void)cl->clReleaseMemObject(mem);
}

/// Pinned memory, or plain memory with *out_mem NULL.
static cbk_status host_memory(struct cbk_rt_device *device, size_t size, cl_mem *out_mem,
                              void **out) {
    *out_mem = NULL;
    if (cbk_rt_gains_by_pinning(device)) return pin(device, size, out_mem, out);
    *out = cbk_rt_host_alloc(device->rt, size);
    return *out ? CBK_OK
                : cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0,
                           "no host memory for %zu bytes of staging", size);
}

static void free_host_memory(struct cbk_rt_device *device, size_t size, cl_mem mem, void *data) {
    if (mem) {
        unpin(device, mem, data);
    } else {
        cbk_rt_host_free(device->rt, data, size);
    }
}

// ---- a stream's ring ---------------------------------------------------------------------------------

cbk_status cbk_rt_staging_take(struct cbk_rt_stream *stream, size_t size, void **out) {
    struct cbk_rt_staging *staging = &stream->staging;
    cbk_status status = CBK_OK;
    CBK_ASSERT(size <= CBK_RT_STAGING_LIMIT);
    if (!staging->data) {
        void *data = NULL;
        RT_TRY(host_memory(stream->device, STAGING_SIZE, &staging->mem, &data));
        staging->data = data;
    }
    if (staging->used + size > CBK_RT_STAGING_LIMIT) {
        staging->part = (staging->part + 1) % CBK_RT_STAGING_PARTS;
        staging->used = 0;
        RT_TRY(cbk_rt_wait_batch(stream, staging->batch[staging->part]));
    }
    *out = staging->data + (size_t)staging->part * CBK_RT_STAGING_LIMIT + staging->used;
    staging->used += (size + STAGING_ALIGNMENT - 1) / STAGING_ALIGNMENT * STAGING_ALIGNMENT;
done:
    return status;
}

void cbk_rt_staging_note(struct cbk_rt_stream *stream) {
    stream->staging.batch[stream->staging.part] = stream->batch;
}

void cbk_rt_staging_finish(struct cbk_rt_stream *stream) {
    struct cbk_rt_staging *staging = &stream->staging;
    if (staging->data) {
        free_host_memory(stream->device, STAGING_SIZE, staging->mem, staging->data);
    }
    *staging = (struct cbk_rt_staging){0};
}

// ---- what callers take -------------------------------------------------------------------------------

struct cbk_rt_pinned {
    struct cbk_rt_pinned *next;
    cl_mem mem; ///< NULL: plain memory
    void *data;
    size_t size;
};

cbk_status cbk_rt_staging_alloc(struct cbk_rt_device *device, uint64_t size_bytes, void **out) {
    struct cbk_rt *rt = device->rt;
    struct cbk_rt_pinned *pinned = NULL;
    cbk_status status = cbk_rt_device_check(device);
    *out = NULL;
    if (status != CBK_OK) return status;
    if (size_bytes == 0 || size_bytes > SIZE_MAX / 2) {
        return cbk_fail(size_bytes ? CBK_ERROR_OUT_OF_HOST_MEMORY : CBK_ERROR_INVALID_ARGUMENT, 0,
                        "staging_alloc: %llu bytes", (unsigned long long)size_bytes);
    }
    pinned = cbk_rt_host_alloc(rt, sizeof *pinned);
    if (!pinned) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "staging_alloc: no host memory");
    }
    pinned->size = (size_t)size_bytes;
    status = host_memory(device, pinned->size, &pinned->mem, &pinned->data);
    if (status != CBK_OK) {
        cbk_rt_host_free(rt, pinned, sizeof *pinned);
        return status;
    }
    cbk_os_lock(&device->mutex);
    pinned->next = device->pinned;
    device->pinned = pinned;
    cbk_os_unlock(&device->mutex);
    *out = pinned->data;
    return CBK_OK;
}

static void free_pinned(struct cbk_rt_device *device, struct cbk_rt_pinned *pinned) {
    free_host_memory(device, pinned->size, pinned->mem, pinned->data);
    cbk_rt_host_free(device->rt, pinned, sizeof *pinned);
}

void cbk_rt_staging_free(struct cbk_rt_device *device, void *memory) {
    struct cbk_rt_pinned *found = NULL;
    if (cbk_os_is_forked(&device->rt->fork_mark)) return; // goes with the process
    cbk_os_lock(&device->mutex);
    for (struct cbk_rt_pinned **at = &device->pinned; *at; at = &(*at)->next) {
        if ((*at)->data != memory) continue;
        found = *at;
        *at = found->next;
        break;
    }
    cbk_os_unlock(&device->mutex);
    if (found) free_pinned(device, found);
}

void cbk_rt_pinned_finish(struct cbk_rt_device *device) {
    while (device->pinned) {
        struct cbk_rt_pinned *pinned = device->pinned;
        device->pinned = pinned->next;
        free_pinned(device, pinned);
    }
}
