/// interop.c: the caller's OpenCL objects in the library, and the library's in the caller's hands.
///
/// A block over the caller's buffer is noted and crossed like any other. What differs is its end:
/// it belongs to no pool, and the caller wants to know when the last work on it has ended. Nobody
/// waits for that, and no callback of the driver is used: whoever drops the block last releases it
/// if it can be seen that its work is over, else it goes on a list of the device that is looked
/// through whenever a stream is synchronised, flushed or read from.
#include "interop.h"

#include "internal.h"

struct cbk_rt_foreign {
    struct cbk_rt_block block; ///< first: a block with `is_foreign` is one of these
    void (*release)(void *user_data);
    void *user_data;
};

/// The failure of a question about an object that the caller gave. It is no sign of a lost device.
static cbk_status fail_object(cl_int code, const char *call, const char *what) {
    if (code > CL_INVALID_VALUE) return cbk_rt_cl_fail(NULL, code, call);
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, code, "%s is none: %s gave %s (%d)", what, call,
                    cbk_rt_cl_error_name(code), (int)code);
}

// ---- queues -------------------------------------------------------------------------------------

/// CBK_OK for an in-order queue of the context; `*out_id` is its device.
static cbk_status check_queue(const struct cbk_rt_cl *cl, cl_context context,
                              cl_command_queue queue, cl_device_id *out_id) {
    cl_context its_context = NULL;
    cl_command_queue_properties properties = 0;
    const struct {
        cl_command_queue_info what;
        size_t size;
        void *out;
    } queries[] = {
        {CL_QUEUE_CONTEXT, sizeof its_context, &its_context},
        {CL_QUEUE_DEVICE, sizeof *out_id, out_id},
        {CL_QUEUE_PROPERTIES, sizeof properties, &properties},
    };
    if (!context) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "context is NULL");
    if (!queue) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "queue is NULL");
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        const cl_int code = cl->clGetCommandQueueInfo(queue, queries[i].what, queries[i].size,
                                                      queries[i].out, NULL);
        if (code != CL_SUCCESS) return fail_object(code, "clGetCommandQueueInfo", "queue");
    }
    if (its_context != context) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "queue is of context %p, not of %p",
                        (void *)its_context, (void *)context);
    }
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                        "queue is out of order; a stream keeps the order of its work");
    }
    return CBK_OK;
}

cbk_status cbk_rt_device_adopt(struct cbk_rt *rt, cl_context context, cl_command_queue queue,
                               const cbk_device_params *params, struct cbk_rt_device **out) {
    cl_device_id id = NULL;
    *out = NULL;
    if (cbk_os_is_forked(&rt->fork_mark)) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0,
                        "the backend belongs to the parent of this process");
    }
    const cbk_status status = check_queue(&rt->cl, context, queue, &id);
    if (status != CBK_OK) return status;
    for (uint32_t i = 0; i < rt->found_count; i++) {
        if (rt->found[i].id != id) continue;
        return cbk_rt_device_open_found(rt, &rt->found[i], context, params, out);
    }
    return cbk_fail(CBK_ERROR_UNSUPPORTED, 0,
                    "the queue's device is none of the %u that the backend has found (a part of a "
                    "device, or one that cannot be used)",
                    (unsigned)rt->found_count);
}

cbk_status cbk_rt_stream_adopt(struct cbk_rt_device *device, cl_command_queue queue,
                               struct cbk_rt_stream **out) {
    cl_device_id id = NULL;
    cbk_status status = cbk_rt_device_check(device);
    *out = NULL;
    if (status == CBK_OK) status = check_queue(device->cl, device->context, queue, &id);
    if (status != CBK_OK) return status;
    if (id != device->id) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "queue is of another device of the context");
    }
    return cbk_rt_stream_make(device, queue, out);
}

// ---- buffers ------------------------------------------------------------------------------------

/// CBK_OK for a buffer of the device's context.
static cbk_status check_buffer(const struct cbk_rt_device *device, cl_mem mem, size_t *out_size) {
    cl_context context = NULL;
    cl_mem_object_type type = 0;
    const struct {
        cl_mem_info what;
        size_t size;
        void *out;
    } queries[] = {
        {CL_MEM_CONTEXT, sizeof context, &context},
        {CL_MEM_TYPE, sizeof type, &type},
        {CL_MEM_SIZE, sizeof *out_size, out_size},
    };
    if (!mem) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "memory is NULL");
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        const cl_int code = device->cl->clGetMemObjectInfo(mem, queries[i].what, queries[i].size,
                                                           queries[i].out, NULL);
        if (code != CL_SUCCESS) return fail_object(code, "clGetMemObjectInfo", "memory");
    }
    if (context != device->context) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                        "memory is of context %p, the device works in %p", (void *)context,
                        (void *)device->context);
    }
    if (type == CL_MEM_OBJECT_BUFFER) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "memory is no buffer (type 0x%x)",
                    (unsigned)type);
}

cbk_status cbk_rt_block_adopt(struct cbk_rt_stream *stream, cl_mem mem,
                              void (*release)(void *user_data), void *user_data,
                              struct cbk_rt_block **out) {
    struct cbk_rt_device *device = stream->device;
    struct cbk_rt_foreign *foreign = NULL;
    size_t size = 0;
    cbk_status status = CBK_OK;

    *out = NULL;
    RT_TRY(cbk_rt_device_check(device));
    RT_TRY(cbk_rt_refuse_in_capture(stream));
    RT_TRY(check_buffer(device, mem, &size));
    foreign = cbk_rt_host_alloc(device->rt, sizeof *foreign);
    if (!foreign) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a block's record");
    }
    CL_TRY(device, device->cl->clRetainMemObject(mem));
    foreign->release = release;
    foreign->user_data = user_data;
    struct cbk_rt_block *block = &foreign->block;
    block->mem = mem;
    block->size = block->asked_size = size;
    block->is_used = block->is_foreign = true;
    block->home = stream;
    atomic_store_explicit(&block->references, 1, memory_order_relaxed);
    cbk_os_lock(&stream->mutex);
    // What the caller has in the queue may write it: who uses the block elsewhere waits for that.
    stream->has_open_work = true;
    cbk_rt_note_local(stream, block, CBK_RT_WRITE);
    cbk_os_unlock(&stream->mutex);
    *out = block;
    foreign = NULL;
done:
    cbk_rt_host_free(device->rt, foreign, sizeof *foreign);
    return status;
}

void cbk_rt_block_set_release(struct cbk_rt_block *block, void (*release)(void *user_data),
                              void *user_data) {
    struct cbk_rt_foreign *foreign = (struct cbk_rt_foreign *)block;
    CBK_ASSERT(block->is_foreign);
    foreign->release = release;
    foreign->user_data = user_data;
}

cbk_status cbk_rt_block_export(struct cbk_rt_stream *stream, struct cbk_rt_block *block,
                               cl_mem *out) {
    const struct cbk_rt_access access = {block, CBK_RT_READ_WRITE};
    cbk_status status = CBK_OK;
    *out = NULL;
    RT_TRY(cbk_rt_device_check(stream->device));
    RT_TRY(cbk_rt_refuse_in_capture(stream));
    cbk_os_lock(&stream->mutex);
    status = cbk_rt_use_blocks(stream, &access, 1);
    // What the caller enqueues next is a use of the block that nobody else will note.
    if (status == CBK_OK) stream->has_open_work = true;
    cbk_os_unlock(&stream->mutex);
    if (status != CBK_OK) return status;
    const cl_int code = stream->device->cl->clFlush(stream->queue);
    if (code != CL_SUCCESS) return cbk_rt_cl_fail(stream->device, code, "clFlush");
    *out = block->mem;
done:
    return status;
}

// ---- the end of a foreign block -----------------------------------------------------------------

static void release_foreign(struct cbk_rt_device *device, struct cbk_rt_block *block) {
    const struct cbk_rt_foreign foreign = *(struct cbk_rt_foreign *)block;
    cbk_rt_host_free(device->rt, block, sizeof foreign);
    (void)device->cl->clReleaseMemObject(foreign.block.mem);
    if (foreign.release) foreign.release(foreign.user_data);
}

static bool has_ended(struct cbk_rt_stream *stream, uint64_t batch, bool polls) {
    if (atomic_load_explicit(&stream->done_batch, memory_order_acquire) >= batch) return true;
    if (!polls) return false;
    cbk_os_lock(&stream->mutex);
    cbk_rt_poll_batches(stream);
    cbk_os_unlock(&stream->mutex);
    return atomic_load_explicit(&stream->done_batch, memory_order_acquire) >= batch;
}

/// All work on a block that nobody holds any more. A user that left the list, or was forgotten by a
/// writer, is waited for by one that is in it.
static bool is_over(struct cbk_rt_block *block, bool polls) {
    const uint64_t batch = atomic_load_explicit(&block->use_batch, memory_order_relaxed);
    if (!has_ended(block->home, batch, polls)) return false;
    for (uint32_t i = 0; i < block->use_count; i++) {
        if (!has_ended(block->uses[i].stream, block->uses[i].use_batch, polls)) return false;
    }
    return true;
}

static void push_dying(struct cbk_rt_device *device, struct cbk_rt_block *block) {
    struct cbk_rt_block *head = atomic_load_explicit(&device->dying, memory_order_relaxed);
    do {
        block->free_next = head;
    } while (!atomic_compare_exchange_weak_explicit(&device->dying, &head, block,
                                                    memory_order_release, memory_order_relaxed));
}

void cbk_rt_foreign_free(struct cbk_rt_device *device, struct cbk_rt_block *block) {
    // In a forked child the driver's locks may be held by threads that are not there.
    if (cbk_os_is_forked(&device->rt->fork_mark)) return;
    // The lock is for what other streams wrote into the list before the last holder let go.
    cbk_os_lock(&device->use_lock);
    const bool is_idle = is_over(block, false);
    cbk_os_unlock(&device->use_lock);
    if (is_idle) {
        release_foreign(device, block);
    } else {
        push_dying(device, block);
    }
}

void cbk_rt_foreign_reap(struct cbk_rt_device *device) {
    struct cbk_rt_block *block =
        atomic_exchange_explicit(&device->dying, NULL, memory_order_acquire);
    while (block) {
        struct cbk_rt_block *next = block->free_next;
        if (is_over(block, true)) {
            release_foreign(device, block);
        } else {
            push_dying(device, block);
        }
        block = next;
    }
}

void cbk_rt_foreign_finish(struct cbk_rt_device *device) {
    struct cbk_rt_block *block = atomic_exchange(&device->dying, NULL);
    while (block) {
        struct cbk_rt_block *next = block->free_next;
        release_foreign(device, block);
        block = next;
    }
}

// ---- events -------------------------------------------------------------------------------------

cbk_status cbk_rt_event_import(struct cbk_rt_stream *stream, cl_event event) {
    struct cbk_rt_device *device = stream->device;
    cl_context context = NULL;
    cbk_status status = cbk_rt_device_check(device);
    if (status == CBK_OK) status = cbk_rt_refuse_in_capture(stream);
    if (status != CBK_OK) return status;
    if (!event) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "event is NULL");
    const cl_int code =
        device->cl->clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, NULL);
    if (code != CL_SUCCESS) return fail_object(code, "clGetEventInfo", "event");
    if (context != device->context) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                        "event is of context %p, the device works in %p", (void *)context,
                        (void *)device->context);
    }
    cbk_os_lock(&stream->mutex);
    CL_TRY(device, device->cl->clEnqueueBarrierWithWaitList(stream->queue, 1, &event, NULL));
    cbk_rt_note_command(stream, NULL);
done:
    cbk_os_unlock(&stream->mutex);
    return status;
}

cbk_status cbk_rt_event_export(struct cbk_rt_stream *stream, cl_event *out) {
    struct cbk_rt_device *device = stream->device;
    cbk_status status = cbk_rt_device_check(device);
    *out = NULL;
    if (status == CBK_OK) status = cbk_rt_refuse_in_capture(stream);
    if (status != CBK_OK) return status;
    cbk_os_lock(&stream->mutex);
    // With open work there is always a marker, behind the caller's own commands too.
    stream->has_open_work = true;
    status = cbk_rt_close_batch(stream, out);
    cbk_os_unlock(&stream->mutex);
    return status;
}

void cbk_rt_objects(const struct cbk_rt_stream *stream, cl_context *out_context,
                    cl_device_id *out_device, cl_command_queue *out_queue) {
    if (out_context) *out_context = stream->device->context;
    if (out_device) *out_device = stream->device->id;
    if (out_queue) *out_queue = stream->queue;
}
