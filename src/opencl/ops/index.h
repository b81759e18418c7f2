/// index.h: what the launchers of gather and scatter share.
#ifndef CUBEBACK_OPENCL_INDEX_H
#define CUBEBACK_OPENCL_INDEX_H

#include "axes.h"
#include "pointwise.h"

/// Axes off the indexed one, innermost first, as in kernels/include/index_ops.clh. x: the operand
/// that indices point into; y: the other (gather's output, scatter's value).
struct cbk_ocl_index_axes {
    int64_t rank, count;
    int64_t shape[CBK_MAX_RANK], x[CBK_MAX_RANK], index[CBK_MAX_RANK], y[CBK_MAX_RANK];
};

/// One indexing operation.
struct cbk_ocl_indexing {
    const char *operation;
    struct cbk_ocl_operand x, index, y;
    uint32_t axis;
    bool is_per_slice; ///< select, select_assign: index has one axis
};

/// Axes of y, innermost first; with or without the indexed one, along which x then stands still.
void cbk_ocl_index_axes(const struct cbk_ocl_indexing *indexing, bool with_axis,
                        struct cbk_ocl_index_axes *out);

/// index's stride along the indexed axis.
int64_t cbk_ocl_index_step(const struct cbk_ocl_indexing *indexing);

cbk_status cbk_ocl_gather(struct cbk_ocl_stream *stream, const struct cbk_ocl_indexing *indexing);

/// Updates x in place; y is the value.
cbk_status cbk_ocl_scatter(struct cbk_ocl_stream *stream, const struct cbk_ocl_indexing *indexing,
                           uint32_t update);

void cbk_ocl_gather_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_scatter_programs(cbk_ocl_program_visitor visit, void *user_data);

/// The integer dtypes that index, as a list that ends with 0.
extern const cbk_dtype cbk_ocl_index_dtypes[];

#endif
