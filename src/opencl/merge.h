/// merge.h: runs of small pointwise launches of a graph as one launch (kernels/merged.cl).
#ifndef CUBEBACK_OPENCL_MERGE_H
#define CUBEBACK_OPENCL_MERGE_H

#include "ops/pointwise.h"

/// One recorded launch that may become a step of a merged one.
struct cbk_ocl_small_launch {
    uint32_t node;
    struct cbk_ocl_pointwise op;
    struct cbk_ocl_nest nest;
    struct cbk_rt_block *blocks[1 + CBK_OCL_POINTWISE_INPUTS]; ///< pinned by the graph
};

/// Notes the newest recorded launch, if it is small enough. Without host memory it stays alone.
void cbk_ocl_note_small_launch(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                               const struct cbk_ocl_nest *nest, struct cbk_rt_block *const *blocks);

/// Replaces runs of noted launches that follow each other directly. What cannot be merged, for
/// whatever reason, stays as it is. `*start_node` is moved along with the nodes.
void cbk_ocl_merge(struct cbk_ocl_stream *stream, struct cbk_rt_graph *graph, uint32_t *start_node);

/// Forgets what was noted.
void cbk_ocl_forget_small_launches(struct cbk_ocl_stream *stream);

/// Visits some programs of merged runs: their texts are combinations without end.
void cbk_ocl_merged_programs(cbk_ocl_program_visitor visit, void *user_data);

#endif
