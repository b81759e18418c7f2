// graph.c: a graph is a list of operations with their tensors, executed at replay.

#include "reference.h"

#include <string.h>

/// One recorded operation; `tensors` are its inputs, then its outputs, each with a reference.
struct node {
    struct node *next;
    cbk_op op;
    size_t size; ///< of this allocation, with the tensors and params behind it
    cbk_tensor *tensors[];
};

struct cbk_ref_graph {
    struct node *first, **end;
    bool was_written; ///< host memory went to a tensor meanwhile
};

static void free_graph(struct cbk_ref *ref, struct cbk_ref_graph *graph) {
    for (struct node *node = graph->first, *next; node; node = next) {
        next = node->next;
        for (uint32_t i = 0; i < node->op.input_count + node->op.output_count; i++)
            cbk_tensor_release(&node->tensors[i]);
        cbk_ref_free(ref, node, node->size);
    }
    cbk_ref_free(ref, graph, sizeof *graph);
}

// ---- recording -----------------------------------------------------------------------------------

cbk_status cbk_ref_record(struct cbk_ref_stream *stream, const cbk_op *op) {
    const uint32_t count = op->input_count + op->output_count;
    const size_t params_at = sizeof(struct node) + count * sizeof(cbk_tensor *);
    const size_t size = params_at + op->params_size;
    struct node *node = cbk_ref_alloc(stream->device->ref, size);
    if (!node)
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no memory for %zu bytes of a graph",
                        size);
    *node = (struct node){.op = *op, .size = size};
    for (uint32_t i = 0; i < count; i++)
        node->tensors[i] = cbk_tensor_retain(
            i < op->input_count ? op->inputs[i] : op->outputs[i - op->input_count]);
    node->op.inputs = node->tensors;
    node->op.outputs = node->tensors + op->input_count;
    node->op.params = memcpy((char *)node + params_at, op->params, op->params_size);
    *stream->recording->end = node;
    stream->recording->end = &node->next;
    return CBK_OK;
}

void cbk_ref_record_write(struct cbk_ref_stream *stream) {
    stream->recording->was_written = true;
}

cbk_status cbk_ref_refuse_in_capture(const struct cbk_ref_stream *stream) {
    if (!stream->recording) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_STATE, 0,
                    "the stream is capturing a graph, and nothing can be waited for or replayed "
                    "before graph_stop_capture");
}

// ---- states --------------------------------------------------------------------------------------

cbk_status cbk_ref_graph_prepare(void *self, void *handle) {
    struct cbk_ref_stream *stream = handle;
    (void)self;
    if (stream->recording || stream->is_prepared)
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "a capture is %s on this stream already",
                        stream->recording ? "in progress" : "prepared");
    stream->is_prepared = true;
    return CBK_OK;
}

cbk_status cbk_ref_graph_start(void *self, void *handle) {
    struct cbk_ref_stream *stream = handle;
    if (stream->recording)
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is capturing a graph already");
    if (!stream->is_prepared)
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0,
                        "call graph_prepare, and run the work once, before a capture");
    struct cbk_ref_graph *graph = cbk_ref_alloc(self, sizeof *graph);
    if (!graph) return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no memory for a graph");
    *graph = (struct cbk_ref_graph){.end = &graph->first};
    stream->recording = graph;
    stream->is_prepared = false;
    return CBK_OK;
}

cbk_status cbk_ref_graph_stop(void *self, void *handle, void **out_graph) {
    struct cbk_ref_stream *stream = handle;
    struct cbk_ref_graph *graph = stream->recording;
    if (!graph) return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is not capturing a graph");
    stream->recording = NULL;
    if (graph->was_written) {
        free_graph(self, graph);
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0,
                        "host memory was written to a tensor while the stream captured");
    }
    *out_graph = graph;
    return CBK_OK;
}

cbk_status cbk_ref_graph_abort(void *self, void *handle) {
    struct cbk_ref_stream *stream = handle;
    struct cbk_ref_graph *graph = stream->recording;
    stream->recording = NULL;
    stream->is_prepared = false;
    if (graph) free_graph(self, graph);
    return CBK_OK;
}

void cbk_ref_graph_destroy(void *self, void *graph) {
    free_graph(self, graph);
}

// ---- replay --------------------------------------------------------------------------------------

cbk_status cbk_ref_graph_replay(void *self, void *stream, void *handle) {
    const struct cbk_ref_graph *graph = handle;
    cbk_status status = cbk_ref_refuse_in_capture(stream);
    if (status == CBK_OK && ((struct cbk_ref_stream *)stream)->profile)
        return cbk_ref_profile_replay(self, stream, handle);
    for (const struct node *node = graph->first; node && status == CBK_OK; node = node->next)
        status = cbk_ref_execute(self, stream, &node->op);
    return status;
}
