/// graph_record.c: from a launch, a copy or a product to a node of the graph in the making.
#include "graph.h"

#include <stdio.h>
#include <string.h>

// ---- lists -----------------------------------------------------------------------------------------

/// Doubles a list that is full.
static cbk_status grow(struct cbk_rt *rt, void **list, uint32_t count, uint32_t *capacity,
                       size_t item_size) {
    if (count < *capacity) return CBK_OK;
    const uint32_t larger = *capacity ? 2 * *capacity : 16;
    void *grown = cbk_rt_host_alloc(rt, larger * item_size);
    if (!grown) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a graph of %u items",
                        (unsigned)larger);
    }
    if (count) memcpy(grown, *list, count * item_size);
    cbk_rt_host_free(rt, *list, *capacity * item_size);
    *list = grown;
    *capacity = larger;
    return CBK_OK;
}

cbk_status cbk_rt_graph_next_node(struct cbk_rt_graph *graph, enum cbk_rt_node_kind kind,
                                  const char *operation, struct cbk_rt_node **out) {
    void *nodes = graph->nodes;
    const cbk_status status = grow(graph->stream->device->rt, &nodes, graph->node_count,
                                   &graph->node_capacity, sizeof *graph->nodes);
    graph->nodes = nodes;
    if (status != CBK_OK) return status;
    *out = &graph->nodes[graph->node_count];
    **out = (struct cbk_rt_node){.kind = kind, .operation = operation};
    return CBK_OK;
}

void cbk_rt_graph_count_node(struct cbk_rt_graph *graph) {
    graph->launch_count += graph->nodes[graph->node_count].kind == CBK_RT_NODE_LAUNCH;
    graph->node_count++;
}

static cbk_status add_pin(struct cbk_rt_graph *graph, const struct cbk_rt_pin *pin) {
    void *pins = graph->pins;
    const cbk_status status = grow(graph->stream->device->rt, &pins, graph->pin_count,
                                   &graph->pin_capacity, sizeof *graph->pins);
    graph->pins = pins;
    if (status != CBK_OK) return status;
    atomic_fetch_add_explicit(&pin->block->references, 1, memory_order_relaxed);
    graph->pins[graph->pin_count++] = *pin;
    return CBK_OK;
}

cbk_status cbk_rt_graph_pin(struct cbk_rt_graph *graph, struct cbk_rt_block *block,
                            uint32_t access) {
    // The stream's own, which lives as long and is used by nobody else.
    if (block == &graph->stream->index_block) return CBK_OK;
    cbk_rt_graph_touch(graph, block, graph->node_count);
    // Newest first: a launch mostly uses what the one before it made.
    for (uint32_t i = graph->pin_count; i-- > 0;) {
        if (graph->pins[i].block != block) continue;
        graph->pins[i].access |= access;
        return CBK_OK;
    }
    const struct cbk_rt_pin pin = {.block = block, .access = access};
    return add_pin(graph, &pin);
}

// ---- memory taken in the capture ---------------------------------------------------------------------

cbk_status cbk_rt_graph_own(struct cbk_rt_graph *graph, struct cbk_rt_block *block) {
    const struct cbk_rt_pin pin = {.block = block, .is_own = true};
    return add_pin(graph, &pin);
}

struct cbk_rt_block *cbk_rt_graph_reuse(struct cbk_rt_graph *graph, uint64_t size) {
    struct cbk_rt_block *best = NULL;
    if (graph->is_edited) return NULL; // other nodes come after those being made
    for (uint32_t i = 0; i < graph->pin_count; i++) {
        struct cbk_rt_block *block = graph->pins[i].block;
        if (!graph->pins[i].is_own || block->size < size || block->size / 2 > size) continue;
        if (best && best->size <= block->size) continue;
        // Only the graph's own reference: no tensor, and no other graph, has it.
        if (atomic_load_explicit(&block->references, memory_order_acquire) == 1) best = block;
    }
    if (best) {
        atomic_fetch_add_explicit(&best->references, 1, memory_order_relaxed);
        cbk_rt_graph_touch(graph, best, CBK_RT_TAKEN_ANEW);
    }
    return best;
}

// ---- nodes -----------------------------------------------------------------------------------------

/// A kernel object for one node: two launches of a stream's kernel need two sets of arguments.
static cl_int make_kernel(const struct cbk_rt_device *device, const struct cbk_rt_kernel *kernel,
                          cl_kernel *out) {
    const struct cbk_rt_cl *cl = device->cl;
    int major = 1, minor = 2;
    cl_int code = CL_SUCCESS;
    (void)sscanf(device->found->info.version, "OpenCL %d.%d", &major, &minor);
    if (cl->clCloneKernel && 10 * major + minor >= 21) {
        *out = cl->clCloneKernel(kernel->handle, &code);
        if (*out) return CL_SUCCESS;
    }
    cl_program program = NULL;
    code = cl->clGetKernelInfo(kernel->handle, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    if (code == CL_SUCCESS) *out = cl->clCreateKernel(program, kernel->entry, &code);
    return code;
}

static cbk_status record_launch(struct cbk_rt_stream *stream, const struct cbk_rt_launch *launch,
                                struct cbk_rt_node_launch *node) {
    cl_int code = make_kernel(stream->device, launch->kernel, &node->handle);
    if (code != CL_SUCCESS) return cbk_rt_fail_launch(stream, launch, code, "clCreateKernel");
    code = cbk_rt_set_args(stream, node->handle, launch);
    if (code != CL_SUCCESS) {
        (void)stream->device->cl->clReleaseKernel(node->handle);
        return cbk_rt_fail_launch(stream, launch, code, "clSetKernelArg");
    }
    node->kernel = launch->kernel;
    node->dimensions = launch->dimensions;
    memcpy(node->global, launch->global, sizeof node->global);
    memcpy(node->local, launch->local, sizeof node->local);
    return CBK_OK;
}

cbk_status cbk_rt_record_launch(struct cbk_rt_stream *stream, const struct cbk_rt_launch *launch) {
    struct cbk_rt_graph *graph = stream->recording;
    struct cbk_rt_node *node = NULL;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_graph_next_node(graph, CBK_RT_NODE_LAUNCH, launch->operation, &node));
    if (launch->reports_index) RT_TRY(cbk_rt_index_begin(stream, launch->operation));
    for (uint32_t i = 0; i < launch->arg_count; i++) {
        const struct cbk_rt_arg *arg = &launch->args[i];
        if (arg->block) RT_TRY(cbk_rt_graph_pin(graph, arg->block, arg->access));
    }
    RT_TRY(record_launch(stream, launch, &node->as.launch));
    graph->reports_index |= launch->reports_index;
    cbk_rt_graph_count_node(graph);
done:
    return status;
}

cbk_status cbk_rt_graph_replace(struct cbk_rt_graph *graph, uint32_t first, uint32_t count,
                                const struct cbk_rt_launch *launch) {
    struct cbk_rt_node node = {.kind = CBK_RT_NODE_LAUNCH, .operation = launch->operation};
    cbk_status status = CBK_OK;
    CBK_ASSERT(count > 0 && first + count <= graph->node_count && !launch->reports_index);
    for (uint32_t i = 0; i < launch->arg_count; i++) {
        const struct cbk_rt_arg *arg = &launch->args[i];
        if (arg->block) RT_TRY(cbk_rt_graph_pin(graph, arg->block, arg->access));
    }
    RT_TRY(record_launch(graph->stream, launch, &node.as.launch));
    for (uint32_t i = first; i < first + count; i++) {
        graph->launch_count -= graph->nodes[i].kind == CBK_RT_NODE_LAUNCH;
        cbk_rt_release_node(graph->stream, &graph->nodes[i]);
    }
    graph->nodes[first] = node;
    graph->launch_count++;
    graph->node_count -= count - 1;
    memmove(&graph->nodes[first + 1], &graph->nodes[first + count],
            (graph->node_count - first - 1) * sizeof *graph->nodes);
done:
    return status;
}

cbk_status cbk_rt_record_copy(struct cbk_rt_stream *stream, struct cbk_rt_block *source,
                              uint64_t source_offset, struct cbk_rt_block *destination,
                              uint64_t destination_offset, uint64_t size_bytes) {
    struct cbk_rt_graph *graph = stream->recording;
    struct cbk_rt_node *node = NULL;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_graph_next_node(graph, CBK_RT_NODE_COPY, "copy", &node));
    RT_TRY(cbk_rt_graph_pin(graph, source, CBK_RT_READ));
    RT_TRY(cbk_rt_graph_pin(graph, destination, CBK_RT_WRITE));
    node->as.copy = (struct cbk_rt_node_copy){
        .source = source->mem,
        .destination = destination->mem,
        .source_offset = (size_t)(source->offset + source_offset),
        .destination_offset = (size_t)(destination->offset + destination_offset),
        .size = (size_t)size_bytes};
    cbk_rt_graph_count_node(graph);
done:
    return status;
}

void cbk_rt_record_failure(struct cbk_rt_stream *stream, const char *reason) {
    if (!stream->recording->failure) stream->recording->failure = reason;
}

uint32_t cbk_rt_recorded_count(const struct cbk_rt_stream *stream) {
    return stream->recording ? stream->recording->node_count : 0;
}
