// profile.c: records of what each operation did.
#include "core.h"

cbk_status cbk_profile_begin(cbk_stream *stream, cbk_profile_function function, void *user_data) {
    struct cbk_call former = cbk_call_begin("profile_begin", CBK_OP_NONE);
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK && function == NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "function is NULL");
    }
    if (status == CBK_OK) {
        const cbk_vtable *vtable = cbk_stream_vtable(stream);
        status = vtable->profile_begin != NULL
                     ? vtable->profile_begin(cbk_stream_self(stream), stream->handle, function,
                                             user_data)
                     : cbk_fail_unsupported(stream->device->backend, "profile_begin");
    }
    return cbk_call_end(former, status);
}

cbk_status cbk_profile_end(cbk_stream *stream) {
    struct cbk_call former = cbk_call_begin("profile_end", CBK_OP_NONE);
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK) {
        const cbk_vtable *vtable = cbk_stream_vtable(stream);
        status = vtable->profile_end != NULL
                     ? vtable->profile_end(cbk_stream_self(stream), stream->handle)
                     : cbk_fail_unsupported(stream->device->backend, "profile_end");
    }
    return cbk_call_end(former, status);
}
