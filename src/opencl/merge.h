/// merge.h: runs of small launches of a graph as one launch (kernels/merged.cl).
///
/// While a stream captures, launchers note what they have just launched: each launch that may become
/// a step of a merged one. merge.c makes the runs, merge_step.c the steps.
#ifndef CUBEBACK_OPENCL_MERGE_H
#define CUBEBACK_OPENCL_MERGE_H

#include "ops/axes.h"
#include "ops/pointwise.h"

/// A reduction in a single launch.
struct cbk_ocl_small_reduction {
    const char *name; ///< "sum"; static
    const char *sort; ///< of merged_reduce.clh: "VALUE"; static
    bool is_pair;     ///< two outputs at the same strides: values and places
    cbk_dtype x, accumulator, y, z;
    struct cbk_ocl_axes kept, reduced;    ///< as kernels/reduce_*.cl walk them
    int64_t x_offset, y_offset, z_offset; ///< elements from the start of the buffer
};

/// One recorded launch that may become a step of a merged one.
struct cbk_ocl_small_launch {
    uint32_t node;
    bool is_reduction;
    union {
        struct {
            struct cbk_ocl_pointwise op;
            struct cbk_ocl_nest nest;
        } pointwise;
        struct cbk_ocl_small_reduction reduction;
    } as;
    /// Pinned by the graph: the output and the inputs; of a reduction y, x and z.
    struct cbk_rt_block *blocks[1 + CBK_OCL_POINTWISE_INPUTS];
};

/// May launches over so many elements become steps, when the capture in progress ends?
bool cbk_ocl_will_merge(const struct cbk_ocl_stream *stream, int64_t element_count);

/// Notes the newest recorded launch, if it is small enough. Without host memory it stays alone.
/// Blocks are those of a struct cbk_ocl_small_launch.
void cbk_ocl_note_small_launch(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                               const struct cbk_ocl_nest *nest, struct cbk_rt_block *const *blocks);
void cbk_ocl_note_small_reduction(struct cbk_ocl_stream *stream,
                                  const struct cbk_ocl_small_reduction *reduction,
                                  struct cbk_rt_block *const blocks[3]);

/// Replaces runs of noted launches that follow each other directly. What cannot be merged, for
/// whatever reason, stays as it is. `*start_node` is moved along with the nodes.
void cbk_ocl_merge(struct cbk_ocl_stream *stream, struct cbk_rt_graph *graph, uint32_t *start_node);

/// Forgets what was noted.
void cbk_ocl_forget_small_launches(struct cbk_ocl_stream *stream);

/// Visits some programs of merged runs: their texts are combinations without end.
void cbk_ocl_merged_programs(cbk_ocl_program_visitor visit, void *user_data);

#endif
