/// graph.h: a recorded graph from within: nodes, pins. Private to the graph files and blas.c.
///
/// graph.c has the states of a stream and the life of a graph, graph_record.c makes nodes,
/// graph_edit.c replaces them, graph_replay.c enqueues them.
#ifndef CUBEBACK_RUNTIME_GRAPH_H
#define CUBEBACK_RUNTIME_GRAPH_H

#include "internal.h"

enum cbk_rt_node_kind { CBK_RT_NODE_LAUNCH, CBK_RT_NODE_COPY, CBK_RT_NODE_GEMM };

/// A kernel object of the node's own with all arguments set.
struct cbk_rt_node_launch {
    cl_kernel handle;
    struct cbk_rt_kernel *kernel; ///< the stream's, whose program it is
    cl_uint dimensions;
    size_t global[3], local[3];
};

struct cbk_rt_node_copy {
    cl_mem source, destination;
    size_t source_offset, destination_offset, size;
};

/// A product of CLBlast, made again at each replay.
struct cbk_rt_node_gemm {
    struct cbk_rt_gemm gemm;
    struct cbk_rt_chunk *temporary; ///< NULL: CLBlast needs none, or makes its own
};

/// One command of a graph; its memory is pinned by the graph.
struct cbk_rt_node {
    enum cbk_rt_node_kind kind;
    const char *operation; ///< static
    union {
        struct cbk_rt_node_launch launch;
        struct cbk_rt_node_copy copy;
        struct cbk_rt_node_gemm *gemm; ///< apart, because it is large and rare
    } as;
};

/// A block that the graph holds a reference to.
struct cbk_rt_pin {
    struct cbk_rt_block *block;
    uint32_t access; ///< of all nodes together; 0: taken in the capture and never used
    bool is_own;     ///< taken in the capture: may serve again once nobody else holds it
};

/// A node that used a block, or the block's being taken for something new.
struct cbk_rt_touch {
    const struct cbk_rt_block *block;
    uint32_t node;
};
#define CBK_RT_TAKEN_ANEW UINT32_MAX

struct cbk_rt_graph {
    struct cbk_rt_stream *stream; ///< the one that captured it
    struct cbk_rt_node *nodes;
    uint32_t node_count, node_capacity;
    uint32_t launch_count; ///< nodes that are launches
    struct cbk_rt_pin *pins;
    uint32_t pin_count, pin_capacity;
    struct cbk_rt_access *accesses; ///< what a replay uses: a list that needs no further thought
    uint32_t access_count;
    struct cbk_rt_touch *touches; ///< in the order of the capture
    uint32_t touch_count, touch_capacity;
    bool has_lost_touches; ///< for want of host memory
    bool is_edited;        ///< touches are complete, and no block serves again
    uint32_t edit_start;   ///< the first node of the edit in progress
    bool reports_index;
    bool was_replayed;
    const char *failure; ///< why stop has to fail; NULL: it need not
};

/// Gives up what a node holds besides its pins (graph.c); the stream's mutex is not held.
void cbk_rt_release_node(struct cbk_rt_stream *stream, struct cbk_rt_node *node);

// ---- recording (graph_record.c): under the stream's mutex, while it captures --------------------

/// Room for one more node; it counts only after cbk_rt_graph_count_node.
/// Errors: CBK_ERROR_OUT_OF_HOST_MEMORY.
cbk_status cbk_rt_graph_next_node(struct cbk_rt_graph *graph, enum cbk_rt_node_kind kind,
                                  const char *operation, struct cbk_rt_node **out);
void cbk_rt_graph_count_node(struct cbk_rt_graph *graph);
/// Holds on to a block that a node uses. Errors: CBK_ERROR_OUT_OF_HOST_MEMORY.
cbk_status cbk_rt_graph_pin(struct cbk_rt_graph *graph, struct cbk_rt_block *block,
                            uint32_t access);

/// Notes that a node uses the block (graph_edit.c).
void cbk_rt_graph_touch(struct cbk_rt_graph *graph, const struct cbk_rt_block *block,
                        uint32_t node);

// ---- replay (blas.c): under the stream's mutex --------------------------------------------------

/// Enqueues a recorded product; its blocks are noted already. A code of OpenCL or CLBlast.
cl_int cbk_rt_gemm_again(struct cbk_rt_stream *stream, const struct cbk_rt_node_gemm *node,
                         cl_event *out_event);

#endif
