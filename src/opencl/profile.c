/// profile.c: from the times of commands to a record per operation.
///
/// The runtime notes the commands; here stands which of them belong to which operation. Records go
/// out at the end of the profile, and whenever enough of them have gathered.
#include "backend.h"

enum { MOST_PENDING = 256 };

struct pending {
    cbk_profile_record record;
    uint32_t first, count; ///< commands
};

struct cbk_ocl_profile {
    cbk_profile_function function;
    void *user_data;
    uint32_t count;
    struct pending pending[MOST_PENDING];
};

// ---- delivery ------------------------------------------------------------------------------------

/// First to last command; the kernel of the longest one.
static void set_times(cbk_profile_record *record, const struct cbk_rt_times *times,
                      uint32_t count) {
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t duration_ns = times[i].end_ns - times[i].start_ns;
        if (i == 0 || duration_ns > longest_ns) {
            record->kernel = times[i].kernel;
            longest_ns = duration_ns;
        }
    }
    record->queued_ns = times[0].queued_ns;
    record->submit_ns = times[0].submit_ns;
    record->start_ns = times[0].start_ns;
    record->end_ns = times[count - 1].end_ns;
}

static cbk_status deliver(struct cbk_ocl_stream *stream) {
    struct cbk_ocl_profile *profile = stream->profile;
    const struct cbk_rt_times *times = NULL;
    uint32_t count = 0;
    cbk_status status = cbk_rt_profile_collect(stream->rt, &times, &count);
    if (status != CBK_OK) return status;
    for (uint32_t i = 0; i < profile->count; i++) {
        struct pending *pending = &profile->pending[i];
        if (pending->count > 0) {
            set_times(&pending->record, &times[pending->first], pending->count);
        }
        profile->function(profile->user_data, &pending->record);
    }
    profile->count = 0;
    return CBK_OK;
}

/// Adds a record of the commands since `first`.
static cbk_status add(struct cbk_ocl_stream *stream, const cbk_profile_record *record,
                      uint32_t first) {
    struct cbk_ocl_profile *profile = stream->profile;
    struct pending *pending = &profile->pending[profile->count++];
    pending->record = *record;
    pending->record.stream_number = stream->number;
    pending->first = first;
    pending->count = cbk_rt_profile_count(stream->rt) - first;
    pending->record.launch_count = pending->count;
    return profile->count == MOST_PENDING ? deliver(stream) : CBK_OK;
}

// ---- what is profiled ----------------------------------------------------------------------------

cbk_status cbk_ocl_profile_op(struct cbk_ocl_stream *stream, cbk_ocl_launcher launcher,
                              const cbk_op *op) {
    const uint32_t first = cbk_rt_profile_count(stream->rt);
    cbk_profile_record record;
    cbk_status status = launcher(stream, op);
    if (status != CBK_OK || cbk_rt_is_capturing(stream->rt)) return status;
    cbk_profile_describe(op, &record);
    return add(stream, &record, first);
}

cbk_status cbk_ocl_profile_replay(struct cbk_ocl_stream *stream, uint32_t first) {
    const cbk_profile_record record = {.struct_size = sizeof record,
                                       .opcode = CBK_OP_NONE,
                                       .operation = "graph_replay",
                                       .kernel = ""};
    return add(stream, &record, first);
}

// ---- begin and end -------------------------------------------------------------------------------

void cbk_ocl_profile_forget(struct cbk_ocl_stream *stream) {
    cbk_rt_host_free(cbk_rt_device_process(stream->device->rt), stream->profile,
                     sizeof *stream->profile);
    stream->profile = NULL;
}

cbk_status cbk_ocl_profile_begin(void *self, void *handle, cbk_profile_function function,
                                 void *user_data) {
    struct cbk_ocl_stream *stream = handle;
    struct cbk_rt *rt = ((struct cbk_ocl *)self)->rt;
    cbk_status status = cbk_rt_profile_begin(stream->rt);
    if (status != CBK_OK) return status;
    stream->profile = cbk_rt_host_alloc(rt, sizeof *stream->profile);
    if (stream->profile == NULL) {
        (void)cbk_rt_profile_end(stream->rt);
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a profile");
    }
    stream->profile->function = function;
    stream->profile->user_data = user_data;
    return CBK_OK;
}

cbk_status cbk_ocl_profile_end(void *self, void *handle) {
    (void)self;
    struct cbk_ocl_stream *stream = handle;
    cbk_status status = cbk_rt_refuse_in_capture(stream->rt);
    if (status != CBK_OK) return status;
    if (stream->profile == NULL)
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is not being profiled");
    status = deliver(stream);
    const cbk_status end_status = cbk_rt_profile_end(stream->rt);
    cbk_ocl_profile_forget(stream);
    return status != CBK_OK ? status : end_status;
}
