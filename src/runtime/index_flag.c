/// index_flag.c: how a kernel tells that an index was out of range.
///
/// The stream has a flag on the device (kernels/include/index_flag.clh). Sync and read fetch it only
/// if an operation that may report ran since the last look, together with their own wait.
#include "internal.h"

enum { FLAG_SIZE = CBK_RT_ALIGNMENT };

static cbk_status make_flag(struct cbk_rt_stream *stream) {
    struct cbk_rt_device *device = stream->device;
    const struct cbk_rt_cl *cl = device->cl;
    const cl_int zero = 0;
    cbk_status status = CBK_OK;
    cl_int code = CL_SUCCESS;
    cl_mem mem = cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE, FLAG_SIZE, NULL, &code);
    if (!mem) return cbk_rt_cl_fail(device, code, "clCreateBuffer");
    CL_TRY(device, cl->clEnqueueFillBuffer(stream->queue, mem, &zero, sizeof zero, 0, FLAG_SIZE, 0,
                                           NULL, NULL));
    cbk_rt_note_command(stream, NULL);
    stream->index_block.mem = mem;
    stream->index_block.home = stream;
    mem = NULL;
done:
    if (mem) (void)cl->clReleaseMemObject(mem);
    return status;
}

/// Operations are few and their names static: each gets a number at first sight.
static uint32_t number_of(struct cbk_rt_stream *stream, const char *operation) {
    for (uint32_t i = 0; i < stream->name_count; i++) {
        if (stream->names[i] == operation) return i;
    }
    if (stream->name_count == CBK_RT_MAX_NAMES) return CBK_RT_MAX_NAMES;
    stream->names[stream->name_count] = operation;
    return stream->name_count++;
}

void cbk_rt_arg_index_flag(struct cbk_rt_stream *stream, struct cbk_rt_launch *launch) {
    launch->reports_index = true;
    cbk_rt_arg_block(launch, &stream->index_block, CBK_RT_READ_WRITE);
    cbk_rt_arg_value(launch, &stream->index_operation, sizeof stream->index_operation);
}

cbk_status cbk_rt_index_begin(struct cbk_rt_stream *stream, const char *operation) {
    if (!stream->index_block.mem) {
        const cbk_status status = make_flag(stream);
        if (status != CBK_OK) return status;
    }
    stream->index_operation = number_of(stream, operation);
    if (!stream->recording) stream->index_pending = true;
    return CBK_OK;
}

cbk_status cbk_rt_index_look(struct cbk_rt_stream *stream) {
    struct cbk_rt_device *device = stream->device;
    cbk_status status = CBK_OK;
    void *place = &stream->index_storage;
    stream->index_looking = false;
    if (!stream->index_pending) return CBK_OK;
    if (cbk_rt_gains_by_pinning(device)) {
        RT_TRY(cbk_rt_staging_take(stream, sizeof *stream->index_report, &place));
        cbk_rt_staging_note(stream);
    }
    CL_TRY(device,
           device->cl->clEnqueueReadBuffer(stream->queue, stream->index_block.mem, CL_FALSE, 0,
                                           sizeof *stream->index_report, place, 0, NULL, NULL));
    cbk_rt_note_command(stream, NULL);
    stream->index_report = place;
    stream->index_looking = true;
done:
    return status;
}

cbk_status cbk_rt_index_settle(struct cbk_rt_stream *stream) {
    struct cbk_rt_device *device = stream->device;
    const cl_int zero = 0;
    cbk_status status = CBK_OK;
    if (!stream->index_looking) return CBK_OK;
    stream->index_looking = false;
    const struct cbk_rt_index_report report = *stream->index_report;
    if (report.state != 0) {
        const bool is_named = report.operation < stream->name_count;
        cbk_rt_stick(stream, CBK_ERROR_INDEX_OUT_OF_RANGE, 0, "%s: index %lld is out of range",
                     is_named ? stream->names[report.operation] : "an indexing operation",
                     (long long)report.index);
        CL_TRY(device,
               device->cl->clEnqueueFillBuffer(stream->queue, stream->index_block.mem, &zero,
                                               sizeof zero, 0, sizeof report, 0, NULL, NULL));
        cbk_rt_note_command(stream, NULL);
    }
    stream->index_pending = false;
done:
    return status;
}

void cbk_rt_index_finish(struct cbk_rt_stream *stream) {
    if (stream->index_block.mem) {
        (void)stream->device->cl->clReleaseMemObject(stream->index_block.mem);
    }
    stream->index_block.mem = NULL;
    stream->index_pending = false;
}
