/// graph_replay.c: a graph's nodes, enqueued again: no allocation, no look-up, no argument but the
/// one that a patch names.
#include "graph.h"

enum { FIRST_PIECE = 16, MOST_PIECE = 256 }; ///< nodes between looks at the queue

static cl_int enqueue(struct cbk_rt_stream *stream, const struct cbk_rt_node *node,
                      cl_event *out_event) {
    const struct cbk_rt_cl *cl = stream->device->cl;
    const struct cbk_rt_node_launch *launch = &node->as.launch;
    const struct cbk_rt_node_copy *copy = &node->as.copy;
    switch (node->kind) {
    case CBK_RT_NODE_LAUNCH:
        return cl->clEnqueueNDRangeKernel(stream->queue, launch->handle, launch->dimensions, NULL,
                                          launch->global, launch->local, 0, NULL, out_event);
    case CBK_RT_NODE_COPY:
        return cl->clEnqueueCopyBuffer(stream->queue, copy->source, copy->destination,
                                       copy->source_offset, copy->destination_offset, copy->size, 0,
                                       NULL, out_event);
    case CBK_RT_NODE_GEMM:
        return cbk_rt_gemm_again(stream, node->as.gemm, out_event);
    }
    return CL_SUCCESS;
}

static const char *name_of(const struct cbk_rt_node *node) {
    switch (node->kind) {
    case CBK_RT_NODE_LAUNCH:
        return node->as.launch.kernel->entry;
    case CBK_RT_NODE_COPY:
        return "copy";
    case CBK_RT_NODE_GEMM:
        return "clblast_gemm";
    }
    return "";
}

/// `ends_piece`: the driver may be told to begin, and the batch may end.
static cl_int run_node(struct cbk_rt_stream *stream, const struct cbk_rt_node *node,
                       bool ends_piece) {
    const bool wants_event = ends_piece && cbk_rt_wants_event(stream);
    cl_event event = NULL;
    cl_int code = enqueue(stream, node, wants_event ? &event : NULL);
    if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE) {
        // The driver allocates at first use and has run out: give it what is unused, once.
        cbk_rt_reclaim(stream);
        cbk_rt_shelf_clear(stream->device);
        code = enqueue(stream, node, wants_event ? &event : NULL);
    }
    if (code != CL_SUCCESS) return code;
    if (stream->profile) cbk_rt_profile_note(stream, event, name_of(node));
    if (ends_piece)
        cbk_rt_note_command(stream, event);
    else
        cbk_rt_count_command(stream);
    return code;
}

static void stick(struct cbk_rt_stream *stream, const struct cbk_rt_node *node, cl_int code) {
    const cbk_status status = cbk_rt_cl_fail(stream->device, code, "graph_replay");
    cbk_rt_fail_batch(stream, stream->batch, status, code,
                      "graph_replay: %s gave %s (%d); the rest was left out", node->operation,
                      cbk_rt_cl_error_name(code), (int)code);
}

/// False when one could not be enqueued. Pieces double, so that the device begins soon and a flush,
/// which costs as much as a few launches, is rare. A profile wants an event of each node.
static bool run_nodes(struct cbk_rt_graph *graph, uint32_t first, uint32_t last) {
    struct cbk_rt_stream *stream = graph->stream;
    const uint32_t most = stream->profile ? 1 : MOST_PIECE;
    uint32_t piece = stream->profile ? 1 : FIRST_PIECE, end = first + piece - 1;
    for (uint32_t i = first; i < last; i++) {
        const bool ends_piece = i == end || i + 1 == graph->node_count;
        const cl_int code = run_node(stream, &graph->nodes[i], ends_piece);
        if (i == end) {
            if (piece < most) piece *= 2;
            end += piece;
        }
        if (code == CL_SUCCESS) continue;
        stick(stream, &graph->nodes[i], code);
        return false;
    }
    return true;
}

/// Batches may end in between, and the blocks are in use up to the last node: they are noted again
/// before that one.
static cbk_status run_all(struct cbk_rt_graph *graph) {
    const uint32_t last = graph->node_count ? graph->node_count - 1 : 0;
    const bool is_complete = run_nodes(graph, 0, last);
    const cbk_status status =
        cbk_rt_use_blocks(graph->stream, graph->accesses, graph->access_count);
    if (status == CBK_OK && is_complete) (void)run_nodes(graph, last, graph->node_count);
    return status;
}

static void note_first_replay(struct cbk_rt_graph *graph) {
    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].kind == CBK_RT_NODE_LAUNCH) {
            cbk_rt_kernel_note_launch(graph->nodes[i].as.launch.kernel);
        }
    }
    graph->was_replayed = true;
}

/// What the graph reads and does not make itself has to be good. A tensor that it only writes is
/// made good by it.
static cbk_status check_inputs(const struct cbk_rt_graph *graph) {
    struct cbk_rt_device *device = graph->stream->device;
    if (!atomic_load_explicit(&device->failure_count, memory_order_relaxed)) return CBK_OK;
    for (uint32_t i = 0; i < graph->pin_count; i++) {
        const struct cbk_rt_pin *pin = &graph->pins[i];
        if (pin->is_own || !(pin->access & CBK_RT_READ)) continue;
        const cbk_status status = cbk_rt_check_block(device, pin->block);
        if (status != CBK_OK) return status;
    }
    return CBK_OK;
}

static cbk_status replay_locked(struct cbk_rt_graph *graph, const struct cbk_rt_patch *patch) {
    struct cbk_rt_stream *stream = graph->stream;
    cbk_status status = CBK_OK;
    RT_TRY(check_inputs(graph));
    RT_TRY(cbk_rt_use_blocks(stream, graph->accesses, graph->access_count));
    if (patch) {
        CBK_ASSERT(graph->nodes[patch->node].kind == CBK_RT_NODE_LAUNCH);
        CL_TRY(stream->device,
               stream->device->cl->clSetKernelArg(graph->nodes[patch->node].as.launch.handle,
                                                  patch->arg, patch->size, patch->value));
    }
    if (graph->reports_index) stream->index_pending = true;
    status = run_all(graph);
    if (!graph->was_replayed) note_first_replay(graph);
    atomic_store_explicit(&stream->launches,
                          atomic_load_explicit(&stream->launches, memory_order_relaxed) +
                              graph->launch_count,
                          memory_order_relaxed);
done:
    return status;
}

cbk_status cbk_rt_graph_replay(struct cbk_rt_graph *graph, const struct cbk_rt_patch *patch) {
    struct cbk_rt_stream *stream = graph->stream;
    cbk_status status = cbk_rt_device_check(stream->device);
    if (status == CBK_OK) status = cbk_rt_refuse_in_capture(stream);
    if (status != CBK_OK) return status;
    cbk_os_lock(&stream->mutex);
    status = replay_locked(graph, patch);
    cbk_os_unlock(&stream->mutex);
    return status;
}
