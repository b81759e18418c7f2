// profile.c: records of the operations, by the host's clock.

#include "reference.h"

#include <time.h>

static uint64_t now_ns(void) {
    struct timespec now = {0};
    (void)timespec_get(&now, TIME_UTC);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void deliver(struct cbk_ref_stream *stream, cbk_profile_record *record, uint64_t start_ns) {
    record->queued_ns = record->submit_ns = record->start_ns = start_ns;
    record->end_ns = now_ns();
    record->kernel = "reference";
    record->launch_count = 1;
    record->stream_number = stream->number;
    stream->profile(stream->profile_user_data, record);
}

cbk_status cbk_ref_profile_op(struct cbk_ref_stream *stream, cbk_ref_family family,
                              const cbk_op *op) {
    const uint64_t start_ns = now_ns();
    cbk_status status = family(stream, op);
    if (status != CBK_OK) return status;
    cbk_profile_record record;
    cbk_profile_describe(op, &record);
    deliver(stream, &record, start_ns);
    return CBK_OK;
}

cbk_status cbk_ref_profile_replay(void *self, struct cbk_ref_stream *stream, void *graph) {
    const cbk_profile_function profile = stream->profile;
    const uint64_t start_ns = now_ns();
    stream->profile = NULL; // its operations are not told one by one
    cbk_status status = cbk_ref_graph_replay(self, stream, graph);
    stream->profile = profile;
    if (status != CBK_OK) return status;
    cbk_profile_record record = {.struct_size = sizeof record, .operation = "graph_replay"};
    deliver(stream, &record, start_ns);
    return CBK_OK;
}

cbk_status cbk_ref_profile_begin(void *self, void *handle, cbk_profile_function function,
                                 void *user_data) {
    struct cbk_ref_stream *stream = handle;
    (void)self;
    cbk_status status = cbk_ref_refuse_in_capture(stream);
    if (status != CBK_OK) return status;
    if (stream->profile)
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is being profiled already");
    stream->profile = function;
    stream->profile_user_data = user_data;
    return CBK_OK;
}

cbk_status cbk_ref_profile_end(void *self, void *handle) {
    struct cbk_ref_stream *stream = handle;
    (void)self;
    cbk_status status = cbk_ref_refuse_in_capture(stream);
    if (status != CBK_OK) return status;
    if (!stream->profile)
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is not being profiled");
    stream->profile = NULL;
    return CBK_OK;
}
