// stream.c: streams and the events on them.
#include "core.h"

static cbk_status create(cbk_device *device, const cbk_stream_params *given, cbk_stream **out) {
    cbk_stream_params params = {.struct_size = sizeof params};
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_device(device);
    if (status == CBK_OK) {
        status = cbk_read_struct(given, "cbk_stream_params", &params, (uint32_t)sizeof params);
    }
    if (status != CBK_OK) return status;
    if (params.flags != 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "flags %u are unknown",
                        (unsigned)params.flags);
    }
    cbk_stream *stream = cbk_core_alloc(device->backend, sizeof *stream);
    if (stream == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    cbk_object_init(&stream->object, CBK_TAG_STREAM);
    stream->handle = NULL;
    stream->capture = NULL;
    stream->persistent_depth = 0;
    uint64_t number = atomic_fetch_add(&device->stream_count, 1);
    status = cbk_device_vtable(device)->stream_create(device->backend->self, device->handle,
                                                      &params, number, &stream->handle);
    if (status != CBK_OK) {
        // The number is given back if no other stream was created meanwhile.
        unsigned long long next = number + 1;
        atomic_compare_exchange_strong(&device->stream_count, &next, number);
        cbk_core_free(device->backend, stream, sizeof *stream);
        return status;
    }
    stream->device = cbk_device_retain(device);
    *out = stream;
    return CBK_OK;
}

cbk_status cbk_stream_create(cbk_device *device, const cbk_stream_params *params,
                             cbk_stream **out) {
    struct cbk_call former = cbk_call_begin("stream_create", CBK_OP_NONE);
    return cbk_call_end(former, create(device, params, out));
}

cbk_device *cbk_stream_device(const cbk_stream *stream) {
    return cbk_object_is(stream, CBK_TAG_STREAM) ? stream->device : NULL;
}

void *cbk_stream_handle(const cbk_stream *stream) {
    return cbk_object_is(stream, CBK_TAG_STREAM) ? stream->handle : NULL;
}

cbk_status cbk_note_failure(cbk_device *device, cbk_status status) {
    if (status != CBK_OK) atomic_store_explicit(&device->has_failed, true, memory_order_relaxed);
    return status;
}

cbk_status cbk_sync(cbk_stream *stream) {
    struct cbk_call former = cbk_call_begin("sync", CBK_OP_NONE);
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK) {
        status = cbk_stream_vtable(stream)->sync(cbk_stream_self(stream), stream->handle);
        status = cbk_note_failure(stream->device, status);
    }
    return cbk_call_end(former, status);
}

cbk_status cbk_flush(cbk_stream *stream) {
    struct cbk_call former = cbk_call_begin("flush", CBK_OP_NONE);
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK && cbk_stream_vtable(stream)->flush != NULL) {
        status = cbk_stream_vtable(stream)->flush(cbk_stream_self(stream), stream->handle);
        status = cbk_note_failure(stream->device, status);
    }
    return cbk_call_end(former, status);
}

// ---- random numbers -----------------------------------------------------------------------------

cbk_status cbk_random_get_state(cbk_stream *stream, cbk_random_state *out) {
    struct cbk_call former = cbk_call_begin("random_get_state", CBK_OP_NONE);
    cbk_random_state state = {.struct_size = sizeof state};
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK) {
        const cbk_vtable *vtable = cbk_stream_vtable(stream);
        status = vtable->random_get_state != NULL
                     ? vtable->random_get_state(cbk_stream_self(stream), stream->handle, &state)
                     : cbk_fail_unsupported(stream->device->backend, "random_get_state");
    }
    if (status == CBK_OK) {
        status = cbk_write_struct(&state, (uint32_t)sizeof state, "cbk_random_state", out);
    }
    return cbk_call_end(former, status);
}

static cbk_status set_random_state(cbk_stream *stream, const cbk_random_state *given) {
    cbk_random_state state = {.struct_size = sizeof state};
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK && given == NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "state is NULL");
    }
    if (status == CBK_OK) {
        status = cbk_read_struct(given, "cbk_random_state", &state, (uint32_t)sizeof state);
    }
    if (status != CBK_OK) return status;
    if (stream->capture != NULL) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is capturing a graph");
    }
    const cbk_vtable *vtable = cbk_stream_vtable(stream);
    return vtable->random_set_state != NULL
               ? vtable->random_set_state(cbk_stream_self(stream), stream->handle, &state)
               : cbk_fail_unsupported(stream->device->backend, "random_set_state");
}

cbk_status cbk_random_set_state(cbk_stream *stream, const cbk_random_state *state) {
    struct cbk_call former = cbk_call_begin("random_set_state", CBK_OP_NONE);
    return cbk_call_end(former, set_random_state(stream, state));
}

// ---- events -------------------------------------------------------------------------------------

static cbk_status check_event(const cbk_event *event) {
    if (cbk_object_is(event, CBK_TAG_EVENT)) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                    event == NULL ? "event is NULL" : "event (%p) is not a live event",
                    (const void *)event);
}

cbk_status cbk_event_make(cbk_stream *stream, cbk_event **out) {
    cbk_event *event = cbk_core_alloc(stream->device->backend, sizeof *event);
    if (event == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    cbk_object_init(&event->object, CBK_TAG_EVENT);
    event->handle = NULL;
    event->stream = cbk_stream_retain(stream);
    *out = event;
    return CBK_OK;
}

cbk_status cbk_event_make_point(cbk_stream *stream, cbk_event *event) {
    const cbk_vtable *vtable = cbk_stream_vtable(stream);
    return vtable->event_create != NULL
               ? vtable->event_create(cbk_stream_self(stream), stream->handle, &event->handle)
               : vtable->sync(cbk_stream_self(stream), stream->handle);
}

static cbk_status record(cbk_stream *stream, cbk_event **out) {
    cbk_event *event = NULL;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status == CBK_OK) status = cbk_event_make(stream, &event);
    if (status != CBK_OK) return status;
    status = cbk_event_make_point(stream, event);
    if (status == CBK_OK) {
        *out = event;
    } else {
        cbk_event_release(&event);
    }
    return status;
}

cbk_status cbk_event_record(cbk_stream *stream, cbk_event **out) {
    struct cbk_call former = cbk_call_begin("event_record", CBK_OP_NONE);
    return cbk_call_end(former, record(stream, out));
}

cbk_status cbk_event_query(cbk_event *event, uint32_t *out_done) {
    struct cbk_call former = cbk_call_begin("event_query", CBK_OP_NONE);
    cbk_status status = check_event(event);
    if (status == CBK_OK && out_done == NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "out_done is NULL");
    }
    if (status == CBK_OK) {
        *out_done = event->handle == NULL;
        if (event->handle != NULL) {
            status = cbk_stream_vtable(event->stream)
                         ->event_query(cbk_stream_self(event->stream), event->handle, out_done);
            status = cbk_note_failure(event->stream->device, status);
        }
    }
    return cbk_call_end(former, status);
}

cbk_status cbk_event_wait(cbk_event *event) {
    struct cbk_call former = cbk_call_begin("event_wait", CBK_OP_NONE);
    cbk_status status = check_event(event);
    if (status == CBK_OK && event->handle != NULL) {
        status = cbk_stream_vtable(event->stream)
                     ->event_wait(cbk_stream_self(event->stream), event->handle);
        status = cbk_note_failure(event->stream->device, status);
    }
    return cbk_call_end(former, status);
}

static cbk_status wait_event(cbk_stream *stream, cbk_event *event) {
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK) status = check_event(event);
    if (status != CBK_OK || event->handle == NULL) return status;
    if (event->stream->device != stream->device) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                        "the event belongs to device %p, the stream to device %p",
                        (void *)event->stream->device, (void *)stream->device);
    }
    const cbk_vtable *vtable = cbk_stream_vtable(stream);
    if (vtable->stream_wait == NULL) {
        return cbk_fail_unsupported(stream->device->backend, "stream_wait");
    }
    return vtable->stream_wait(cbk_stream_self(stream), stream->handle, event->handle);
}

cbk_status cbk_stream_wait_event(cbk_stream *stream, cbk_event *event) {
    struct cbk_call former = cbk_call_begin("stream_wait_event", CBK_OP_NONE);
    return cbk_call_end(former, wait_event(stream, event));
}
