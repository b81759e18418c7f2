// graph.c: capture and replay. The state machine is the backend's; core remembers which capture a
// tensor was made in.
#include "core.h"

typedef cbk_status (*stream_slot)(void *self, void *stream);

static cbk_status call_slot(cbk_stream *stream, stream_slot slot, const char *name) {
    if (slot == NULL) return cbk_fail_unsupported(stream->device->backend, name);
    return slot(cbk_stream_self(stream), stream->handle);
}

// ---- what is made in a capture ------------------------------------------------------------------

struct cbk_capture *cbk_capture_retain(struct cbk_capture *capture) {
    if (capture != NULL) atomic_fetch_add_explicit(&capture->references, 1, memory_order_relaxed);
    return capture;
}

void cbk_capture_release(const cbk_backend *backend, struct cbk_capture *capture) {
    if (capture == NULL || !cbk_count_drop(&capture->references)) return;
    cbk_core_free(backend, capture, sizeof *capture);
}

cbk_status cbk_check_replayed(const cbk_stream *stream, const cbk_tensor *tensor) {
    const struct cbk_capture *capture = tensor->storage->capture;
    if (capture == NULL || capture == stream->capture ||
        atomic_load_explicit(&capture->was_replayed, memory_order_acquire)) {
        return CBK_OK;
    }
    return cbk_fail(CBK_ERROR_INVALID_STATE, 0,
                    "the tensor was made in a capture that has not been replayed");
}

// ---- the slots ----------------------------------------------------------------------------------

cbk_status cbk_graph_prepare(cbk_stream *stream) {
    struct cbk_call former = cbk_call_begin("graph_prepare", CBK_OP_NONE);
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK) {
        status = call_slot(stream, cbk_stream_vtable(stream)->graph_prepare, "graph_prepare");
    }
    return cbk_call_end(former, status);
}

/// The stream captures no longer.
static void leave_capture(cbk_stream *stream) {
    cbk_capture_release(stream->device->backend, stream->capture);
    stream->capture = NULL;
}

static cbk_status start_capture(cbk_stream *stream) {
    cbk_status status = cbk_check_stream(stream);
    if (status != CBK_OK) return status;
    cbk_backend *backend = stream->device->backend;
    struct cbk_capture *capture = cbk_core_alloc(backend, sizeof *capture);
    if (capture == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    atomic_init(&capture->references, 1);
    atomic_init(&capture->was_replayed, false);
    status =
        call_slot(stream, cbk_stream_vtable(stream)->graph_start_capture, "graph_start_capture");
    if (status == CBK_OK) {
        leave_capture(stream);
        stream->capture = capture;
    } else {
        cbk_capture_release(backend, capture);
    }
    return status;
}

cbk_status cbk_graph_start_capture(cbk_stream *stream) {
    struct cbk_call former = cbk_call_begin("graph_start_capture", CBK_OP_NONE);
    return cbk_call_end(former, start_capture(stream));
}

static cbk_status stop_capture(cbk_stream *stream, cbk_graph **out) {
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status != CBK_OK) return status;
    const cbk_vtable *vtable = cbk_stream_vtable(stream);
    if (vtable->graph_stop_capture == NULL) {
        return cbk_fail_unsupported(stream->device->backend, "graph_stop_capture");
    }
    cbk_graph *graph = cbk_core_alloc(stream->device->backend, sizeof *graph);
    if (graph == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY; // still capturing; may be aborted
    cbk_object_init(&graph->object, CBK_TAG_GRAPH);
    graph->handle = NULL;
    graph->capture = cbk_capture_retain(stream->capture);
    status = vtable->graph_stop_capture(cbk_stream_self(stream), stream->handle, &graph->handle);
    // A stop that was out of place leaves no capture to forget; a failed one has ended it.
    leave_capture(stream);
    if (status != CBK_OK) {
        cbk_capture_release(stream->device->backend, graph->capture);
        cbk_core_free(stream->device->backend, graph, sizeof *graph);
        return status;
    }
    graph->stream = cbk_stream_retain(stream);
    *out = graph;
    return CBK_OK;
}

cbk_status cbk_graph_stop_capture(cbk_stream *stream, cbk_graph **out) {
    struct cbk_call former = cbk_call_begin("graph_stop_capture", CBK_OP_NONE);
    return cbk_call_end(former, stop_capture(stream, out));
}

cbk_status cbk_graph_abort(cbk_stream *stream) {
    struct cbk_call former = cbk_call_begin("graph_abort", CBK_OP_NONE);
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK) {
        status = call_slot(stream, cbk_stream_vtable(stream)->graph_abort, "graph_abort");
        leave_capture(stream);
    }
    return cbk_call_end(former, status);
}

cbk_status cbk_graph_replay(cbk_graph *graph) {
    struct cbk_call former = cbk_call_begin("graph_replay", CBK_OP_NONE);
    cbk_status status = CBK_OK;
    if (!cbk_object_is(graph, CBK_TAG_GRAPH)) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                          graph == NULL ? "graph is NULL" : "graph (%p) is not a live graph",
                          (const void *)graph);
    } else {
        cbk_stream *stream = graph->stream;
        const cbk_vtable *vtable = cbk_stream_vtable(stream);
        status = vtable->graph_replay != NULL
                     ? vtable->graph_replay(cbk_stream_self(stream), stream->handle, graph->handle)
                     : cbk_fail_unsupported(stream->device->backend, "graph_replay");
        status = cbk_note_failure(stream->device, status);
        if (status == CBK_OK && graph->capture != NULL) {
            atomic_store_explicit(&graph->capture->was_replayed, true, memory_order_release);
        }
    }
    return cbk_call_end(former, status);
}

static cbk_status capture(cbk_stream *stream, cbk_graph_function function, void *user_data,
                          cbk_graph **out) {
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status == CBK_OK && function == NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "function is NULL");
    }
    if (status == CBK_OK) status = cbk_graph_prepare(stream);
    if (status != CBK_OK) return status;

    status = function(stream, user_data);
    if (status == CBK_OK) status = cbk_graph_start_capture(stream);
    if (status == CBK_OK) status = function(stream, user_data);
    if (status == CBK_OK) {
        status = cbk_graph_stop_capture(stream, out);
        if (status == CBK_OK || stream->capture == NULL) return status; // the backend ended it
    }
    cbk_error reason = {.struct_size = sizeof reason};
    cbk_last_error(&reason);
    if (cbk_graph_abort(stream) != CBK_OK) cbk_restore_error(&reason);
    return status;
}

cbk_status cbk_graph_capture(cbk_stream *stream, cbk_graph_function function, void *user_data,
                             cbk_graph **out) {
    struct cbk_call former = cbk_call_begin("graph_capture", CBK_OP_NONE);
    return cbk_call_end(former, capture(stream, function, user_data, out));
}
