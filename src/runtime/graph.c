/// graph.c: capture: the states of a stream, and the life of a graph.
///
/// Nothing is handed to the driver while a stream captures: each launch becomes a kernel object with
/// its arguments set, and the graph holds a reference to each block, so that nobody else gets the
/// memory. Blocks taken in the capture serve again within it once only the graph holds them: a
/// replay runs its nodes in order, as the eager run did.
#include "graph.h"

// ---- life ------------------------------------------------------------------------------------------

void cbk_rt_release_node(struct cbk_rt_stream *stream, struct cbk_rt_node *node) {
    struct cbk_rt_device *device = stream->device;
    switch (node->kind) {
    case CBK_RT_NODE_LAUNCH:
        (void)device->cl->clReleaseKernel(node->as.launch.handle);
        break;
    case CBK_RT_NODE_COPY:
        break;
    case CBK_RT_NODE_GEMM:
        if (node->as.gemm->temporary) {
            cbk_os_lock(&stream->mutex);
            cbk_rt_chunk_shelve(stream, node->as.gemm->temporary);
            cbk_os_unlock(&stream->mutex);
        }
        cbk_rt_host_free(device->rt, node->as.gemm, sizeof *node->as.gemm);
        break;
    }
}

static void free_lists(struct cbk_rt_graph *graph) {
    struct cbk_rt *rt = graph->stream->device->rt;
    cbk_rt_host_free(rt, graph->nodes, graph->node_capacity * sizeof *graph->nodes);
    cbk_rt_host_free(rt, graph->pins, graph->pin_capacity * sizeof *graph->pins);
    cbk_rt_host_free(rt, graph->touches, graph->touch_capacity * sizeof *graph->touches);
    cbk_rt_host_free(rt, graph->accesses, graph->access_count * sizeof *graph->accesses);
    cbk_rt_host_free(rt, graph, sizeof *graph);
}

void cbk_rt_graph_destroy(struct cbk_rt_graph **handle) {
    struct cbk_rt_graph *graph = *handle;
    *handle = NULL;
    if (!graph) return;
    struct cbk_rt_stream *stream = graph->stream;
    // In a forked child the driver's locks may be held by threads that are not there.
    if (!cbk_os_is_forked(&stream->device->rt->fork_mark)) {
        for (uint32_t i = 0; i < graph->node_count; i++) {
            cbk_rt_release_node(stream, &graph->nodes[i]);
        }
        for (uint32_t i = 0; i < graph->pin_count; i++) {
            cbk_rt_free(stream->device, &graph->pins[i].block);
        }
    }
    free_lists(graph);
}

/// Takes the recording off the stream; its mutex is held.
static struct cbk_rt_graph *take_recording(struct cbk_rt_stream *stream) {
    struct cbk_rt_graph *graph = stream->recording;
    stream->recording = NULL;
    stream->is_prepared = false;
    return graph;
}

void cbk_rt_graph_forget(struct cbk_rt_stream *stream) {
    if (cbk_os_is_forked(&stream->device->rt->fork_mark)) return;
    cbk_os_lock(&stream->mutex);
    struct cbk_rt_graph *graph = take_recording(stream);
    cbk_os_unlock(&stream->mutex);
    cbk_rt_graph_destroy(&graph);
}

// ---- states ----------------------------------------------------------------------------------------

bool cbk_rt_is_capturing(const struct cbk_rt_stream *stream) {
    return stream->recording != NULL;
}

cbk_status cbk_rt_refuse_in_capture(struct cbk_rt_stream *stream) {
    if (!stream->recording) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_STATE, 0,
                    "the stream is capturing a graph, and nothing can be waited for or replayed "
                    "before graph_stop_capture");
}

cbk_status cbk_rt_graph_prepare(struct cbk_rt_stream *stream) {
    const cbk_status status = cbk_rt_device_check(stream->device);
    if (status != CBK_OK) return status;
    if (stream->recording) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is capturing a graph");
    }
    if (stream->is_prepared) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "a capture is prepared on this stream already");
    }
    stream->is_prepared = true;
    return CBK_OK;
}

cbk_status cbk_rt_graph_start(struct cbk_rt_stream *stream) {
    const cbk_status status = cbk_rt_device_check(stream->device);
    if (status != CBK_OK) return status;
    if (stream->recording) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is capturing a graph already");
    }
    if (!stream->is_prepared) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0,
                        "call graph_prepare, and run the work once, before a capture");
    }
    struct cbk_rt_graph *graph = cbk_rt_host_alloc(stream->device->rt, sizeof *graph);
    if (!graph) return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a graph");
    graph->stream = stream;
    cbk_os_lock(&stream->mutex);
    stream->is_prepared = false;
    stream->recording = graph;
    cbk_os_unlock(&stream->mutex);
    return CBK_OK;
}

cbk_status cbk_rt_graph_settle(struct cbk_rt_graph *graph) {
    struct cbk_rt *rt = graph->stream->device->rt;
    uint32_t count = 0;
    cbk_rt_host_free(rt, graph->accesses, graph->access_count * sizeof *graph->accesses);
    graph->accesses = NULL;
    graph->access_count = 0;
    for (uint32_t i = 0; i < graph->pin_count; i++) count += graph->pins[i].access != 0;
    if (count == 0) return CBK_OK;
    graph->accesses = cbk_rt_host_alloc(rt, count * sizeof *graph->accesses);
    if (!graph->accesses) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a graph of %u blocks",
                        (unsigned)count);
    }
    for (uint32_t i = 0; i < graph->pin_count; i++) {
        const struct cbk_rt_pin *pin = &graph->pins[i];
        if (pin->access == 0) continue;
        graph->accesses[graph->access_count++] = (struct cbk_rt_access){pin->block, pin->access};
    }
    return CBK_OK;
}

cbk_status cbk_rt_graph_stop(struct cbk_rt_stream *stream, struct cbk_rt_graph **out) {
    cbk_status status = CBK_OK;
    *out = NULL;
    if (!stream->recording) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is not capturing a graph");
    }
    cbk_os_lock(&stream->mutex);
    struct cbk_rt_graph *graph = take_recording(stream);
    cbk_os_unlock(&stream->mutex);
    RT_TRY(cbk_rt_device_check(stream->device));
    if (graph->failure) {
        status = cbk_fail(CBK_ERROR_INVALID_STATE, 0, "%s", graph->failure);
        goto done;
    }
    RT_TRY(cbk_rt_graph_settle(graph));
    *out = graph;
    graph = NULL;
done:
    cbk_rt_graph_destroy(&graph);
    return status;
}

cbk_status cbk_rt_graph_abort(struct cbk_rt_stream *stream) {
    cbk_rt_graph_forget(stream);
    return CBK_OK;
}
