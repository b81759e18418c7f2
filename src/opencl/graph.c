/// graph.c: the graph slots, and random numbers in replays.
///
/// A graph that draws has two words on the device: the position its draws count from, and the seed.
/// Its first draw is preceded by a launch that stores both (ops/random.c). A replay gives that
/// launch the stream's position and moves the stream on by what the graph draws, so each replay
/// draws what an eager run in its place would have drawn.
#include "backend.h"
#include "join.h"
#include "merge.h"

struct cbk_ocl_graph {
    struct cbk_rt_graph *rt;
    bool draws;
    uint32_t start_node;     ///< the launch that stores the start
    uint64_t position_count; ///< positions that one replay takes
};

// ---- capture ---------------------------------------------------------------------------------

/// The start of draws stays the graph's, if there is one.
static void forget_capture(struct cbk_ocl_stream *stream) {
    cbk_rt_free(stream->device->rt, &stream->draws.start);
    stream->draws = (struct cbk_ocl_draws){.start = NULL};
    cbk_ocl_forget_small_launches(stream);
    cbk_ocl_forget_products(stream);
}

cbk_status cbk_ocl_graph_prepare(void *self, void *handle) {
    (void)self;
    return cbk_rt_graph_prepare(((struct cbk_ocl_stream *)handle)->rt);
}

cbk_status cbk_ocl_graph_start(void *self, void *handle) {
    (void)self;
    return cbk_rt_graph_start(((struct cbk_ocl_stream *)handle)->rt);
}

cbk_status cbk_ocl_graph_stop(void *self, void *handle, void **out_graph) {
    struct cbk_ocl_stream *stream = handle;
    struct cbk_rt *rt = ((struct cbk_ocl *)self)->rt;
    struct cbk_rt_graph *recorded = NULL;
    cbk_status status = cbk_rt_graph_stop(stream->rt, &recorded);
    struct cbk_ocl_graph *graph = NULL;
    if (status == CBK_OK) {
        cbk_ocl_join(stream, recorded, &stream->draws.start_node);
        cbk_ocl_merge(stream, recorded, &stream->draws.start_node);
        status = cbk_rt_graph_settle(recorded);
        graph = status == CBK_OK ? cbk_rt_host_alloc(rt, sizeof *graph) : NULL;
    }
    if (graph != NULL) {
        *graph = (struct cbk_ocl_graph){.rt = recorded,
                                        .draws = stream->draws.start != NULL,
                                        .start_node = stream->draws.start_node,
                                        .position_count = stream->draws.position_count};
        *out_graph = graph;
    } else if (recorded != NULL) {
        cbk_rt_graph_destroy(&recorded);
        if (status == CBK_OK)
            status = cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a graph object");
    }
    forget_capture(stream);
    return status;
}

cbk_status cbk_ocl_graph_abort(void *self, void *handle) {
    (void)self;
    struct cbk_ocl_stream *stream = handle;
    forget_capture(stream);
    return cbk_rt_graph_abort(stream->rt);
}

// ---- replay ----------------------------------------------------------------------------------

static cbk_status replay(struct cbk_ocl_stream *stream, const struct cbk_ocl_graph *graph) {
    if (!graph->draws) return cbk_rt_graph_replay(graph->rt, NULL);

    cbk_random_state *state = cbk_ocl_random_state(stream);
    const struct cbk_ocl_random_start start = {state->position, state->seed};
    const struct cbk_rt_patch patch = {.node = graph->start_node,
                                       .arg = CBK_OCL_RANDOM_START_ARG,
                                       .value = &start,
                                       .size = sizeof start};
    cbk_status status = cbk_rt_graph_replay(graph->rt, &patch);
    if (status == CBK_OK) state->position += graph->position_count;
    return status;
}

cbk_status cbk_ocl_graph_replay(void *self, void *handle, void *graph) {
    (void)self;
    struct cbk_ocl_stream *stream = handle;
    const uint32_t first = cbk_rt_profile_count(stream->rt);
    cbk_status status = replay(stream, graph);
    return status == CBK_OK && stream->profile != NULL ? cbk_ocl_profile_replay(stream, first)
                                                       : status;
}

void cbk_ocl_graph_destroy(void *self, void *handle) {
    struct cbk_ocl_graph *graph = handle;
    cbk_rt_graph_destroy(&graph->rt);
    cbk_rt_host_free(((struct cbk_ocl *)self)->rt, graph, sizeof *graph);
}
