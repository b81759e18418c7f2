/// launch.c: from a kernel with arguments to a command in the queue. The hot path: no allocation,
/// no lock but the stream's own, no event but for one launch in CBK_RT_FLUSH_PERIOD.
#include "internal.h"

/// Notes the blocks; crossing to other streams' work is the rare case.
static cbk_status use_blocks(struct cbk_rt_stream *stream, const struct cbk_rt_launch *launch) {
    struct cbk_rt_access accesses[CBK_RT_MAX_ARGS];
    uint32_t count = 0;
    bool are_local = true;
    for (uint32_t i = 0; i < launch->arg_count; i++) {
        const struct cbk_rt_arg *arg = &launch->args[i];
        if (!arg->block) continue;
        are_local &= cbk_rt_is_local(stream, arg->block);
        accesses[count++] = (struct cbk_rt_access){arg->block, arg->access};
    }
    if (!are_local) return cbk_rt_cross(stream, accesses, count);
    for (uint32_t i = 0; i < count; i++) {
        cbk_rt_note_local(stream, accesses[i].block, accesses[i].access);
    }
    return CBK_OK;
}

cl_int cbk_rt_set_args(const struct cbk_rt_stream *stream, cl_kernel kernel,
                       const struct cbk_rt_launch *launch) {
    const struct cbk_rt_cl *cl = stream->device->cl;
    for (uint32_t i = 0; i < launch->arg_count; i++) {
        const struct cbk_rt_arg *arg = &launch->args[i];
        const cl_int code = arg->block
                                ? cl->clSetKernelArg(kernel, i, sizeof(cl_mem), &arg->block->mem)
                                : cl->clSetKernelArg(kernel, i, arg->size, arg->value);
        if (code != CL_SUCCESS) return code;
    }
    return CL_SUCCESS;
}

static cl_int enqueue(struct cbk_rt_stream *stream, const struct cbk_rt_launch *launch) {
    const bool wants_event = cbk_rt_wants_event(stream);
    cl_event event = NULL;
    const cl_int code = stream->device->cl->clEnqueueNDRangeKernel(
        stream->queue, launch->kernel->handle, launch->dimensions, NULL, launch->global,
        launch->local, 0, NULL, wants_event ? &event : NULL);
    if (code == CL_SUCCESS) {
        cbk_rt_profile_note(stream, event, launch->kernel->entry);
        cbk_rt_note_command(stream, event);
    }
    return code;
}

cbk_status cbk_rt_fail_launch(struct cbk_rt_stream *stream, const struct cbk_rt_launch *launch,
                              cl_int code, const char *call) {
    const cbk_status status = cbk_rt_cl_fail(stream->device, code, call);
    return cbk_fail(status, code,
                    "%s: %s gave %s (%d): kernel %s, %u arguments, global size %zu x %zu x %zu, "
                    "local size %zu x %zu x %zu",
                    launch->operation, call, cbk_rt_cl_error_name(code), (int)code,
                    launch->kernel->entry, (unsigned)launch->arg_count, launch->global[0],
                    launch->global[1], launch->global[2], launch->local[0], launch->local[1],
                    launch->local[2]);
}

static cbk_status launch_locked(struct cbk_rt_stream *stream, const struct cbk_rt_launch *launch) {
    cbk_status status = CBK_OK;
    if (launch->reports_index) RT_TRY(cbk_rt_index_begin(stream, launch->operation));
    RT_TRY(use_blocks(stream, launch));
    cl_int code = cbk_rt_set_args(stream, launch->kernel->handle, launch);
    if (code != CL_SUCCESS) return cbk_rt_fail_launch(stream, launch, code, "clSetKernelArg");
    code = enqueue(stream, launch);
    if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE) {
        // The driver allocates at first use and has run out: give it what is unused, once.
        cbk_rt_reclaim(stream);
        cbk_rt_shelf_clear(stream->device);
        RT_TRY(use_blocks(stream, launch)); // the batch is another one now
        code = enqueue(stream, launch);
    }
    if (code != CL_SUCCESS)
        return cbk_rt_fail_launch(stream, launch, code, "clEnqueueNDRangeKernel");
    cbk_rt_kernel_note_launch(launch->kernel);
    atomic_store_explicit(&stream->launches,
                          atomic_load_explicit(&stream->launches, memory_order_relaxed) + 1,
                          memory_order_relaxed);
done:
    return status;
}

cbk_status cbk_rt_launch(struct cbk_rt_stream *stream, const struct cbk_rt_launch *launch) {
    cbk_status status = cbk_rt_device_check(stream->device);
    if (status != CBK_OK) return status;
    for (uint32_t i = 0; i < launch->dimensions; i++) {
        if (launch->global[i] == 0) return CBK_OK;
    }
    cbk_os_lock(&stream->mutex);
    status =
        stream->recording ? cbk_rt_record_launch(stream, launch) : launch_locked(stream, launch);
    cbk_os_unlock(&stream->mutex);
    return status;
}
