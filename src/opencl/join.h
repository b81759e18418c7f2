/// join.h: products of a graph take in the bias, activation and residual that follow them.
#ifndef CUBEBACK_OPENCL_JOIN_H
#define CUBEBACK_OPENCL_JOIN_H

#include "ops/matmul.h"
#include "ops/pointwise.h"

enum { CBK_OCL_JOIN_STEPS = 3 };

/// A recorded product made by a kernel of ours, and the launches directly behind it that its
/// epilogue may become. The metas of its operands are kept here.
struct cbk_ocl_join {
    uint32_t first_node, node_count; ///< of the product; each step has one node more
    uint32_t step_count;
    struct cbk_ocl_matmul_operands operands; ///< with the product's own epilogue
    struct cbk_ocl_epilogue activation;      ///< only that of it
    struct cbk_ocl_join_step {
        bool is_activation;
        uint32_t slot; ///< CBK_OCL_BIAS or _RESIDUAL
        struct cbk_ocl_pointwise op;
        struct cbk_ocl_operand added, out;
        cbk_tensor_meta added_meta, out_meta;
    } steps[CBK_OCL_JOIN_STEPS];
    cbk_tensor_meta metas[3 + CBK_OCL_ADDED];
};

/// Notes the product whose nodes from `first_node` on are the newest. Without host memory it stays
/// as it is.
void cbk_ocl_note_product(struct cbk_ocl_stream *stream, uint32_t first_node,
                          const struct cbk_ocl_matmul_operands *operands,
                          const struct cbk_ocl_epilogue *epilogue);

/// Notes the newest node, if it may be a step behind the newest product.
void cbk_ocl_note_step(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                       const struct cbk_ocl_operand *operands);

/// Puts products with epilogues in the place of those whose results between are read by nobody
/// else. What cannot be joined stays as it is. `*start_node`, and the small launches that were noted
/// for merging, move along with the nodes.
void cbk_ocl_join(struct cbk_ocl_stream *stream, struct cbk_rt_graph *graph, uint32_t *start_node);

/// Forgets what was noted.
void cbk_ocl_forget_products(struct cbk_ocl_stream *stream);

#endif
