/// graph_edit.c: a finished capture looked over: which results nobody reads, and other nodes in the
/// place of some.
#include "graph.h"

#include <string.h>

// ---- touches: which node used which block, in the order of the capture -----------------------------

static bool grow(struct cbk_rt_graph *graph) {
    struct cbk_rt *rt = graph->stream->device->rt;
    const uint32_t capacity = graph->touch_capacity, larger = capacity ? 2 * capacity : 64;
    const size_t size = sizeof *graph->touches;
    if (graph->touch_count < capacity) return true;
    struct cbk_rt_touch *grown = cbk_rt_host_alloc(rt, larger * size);
    if (!grown) return false;
    if (capacity) memcpy(grown, graph->touches, capacity * size);
    cbk_rt_host_free(rt, graph->touches, capacity * size);
    graph->touches = grown;
    graph->touch_capacity = larger;
    return true;
}

void cbk_rt_graph_touch(struct cbk_rt_graph *graph, const struct cbk_rt_block *block,
                        uint32_t node) {
    if (graph->is_edited || graph->has_lost_touches) return;
    if (grow(graph))
        graph->touches[graph->touch_count++] = (struct cbk_rt_touch){block, node};
    else
        graph->has_lost_touches = true;
}

bool cbk_rt_graph_is_spent(const struct cbk_rt_graph *graph, const struct cbk_rt_block *block,
                           uint32_t reader) {
    bool was_read = false;
    if (graph->has_lost_touches) return false;
    for (uint32_t i = 0; i < graph->touch_count; i++) {
        const struct cbk_rt_touch *touch = &graph->touches[i];
        if (touch->block != block) continue;
        if (touch->node == reader)
            was_read = true;
        else if (was_read)
            return touch->node == CBK_RT_TAKEN_ANEW;
    }
    return was_read && atomic_load_explicit(&block->references, memory_order_acquire) == 1;
}

// ---- edits ---------------------------------------------------------------------------------------

void cbk_rt_graph_begin_edit(struct cbk_rt_graph *graph) {
    struct cbk_rt_stream *stream = graph->stream;
    CBK_ASSERT(stream->recording == NULL && !graph->was_replayed);
    cbk_os_lock(&stream->mutex);
    graph->is_edited = true;
    graph->edit_start = graph->node_count;
    stream->recording = graph;
    cbk_os_unlock(&stream->mutex);
}

static void drop_nodes(struct cbk_rt_graph *graph, uint32_t first, uint32_t count) {
    for (uint32_t i = first; i < first + count; i++) {
        graph->launch_count -= graph->nodes[i].kind == CBK_RT_NODE_LAUNCH;
        cbk_rt_release_node(graph->stream, &graph->nodes[i]);
    }
}

uint32_t cbk_rt_graph_end_edit(struct cbk_rt_graph *graph, uint32_t first, uint32_t count) {
    struct cbk_rt_stream *stream = graph->stream;
    struct cbk_rt_node *nodes = graph->nodes;
    const uint32_t start = graph->edit_start, made = graph->node_count - start;
    const bool is_kept = made > 0 && made <= count;
    cbk_os_lock(&stream->mutex);
    stream->recording = NULL;
    cbk_os_unlock(&stream->mutex);
    graph->node_count = start;
    if (!is_kept) {
        drop_nodes(graph, start, made);
        return count;
    }
    drop_nodes(graph, first, count);
    memcpy(&nodes[first], &nodes[start], made * sizeof *nodes);
    memmove(&nodes[first + made], &nodes[first + count], (start - first - count) * sizeof *nodes);
    graph->node_count = start - (count - made);
    return made;
}
