/// index.h: what the launchers of the index family share.
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
    bool is_per_slice; ///< index's axes stand in y where x's indexed one was; else it has y's shape
};

/// Axes of y, innermost first; with or without those of the index, along which x stands still.
void cbk_ocl_index_axes(const struct cbk_ocl_indexing *indexing, bool with_index,
                        struct cbk_ocl_index_axes *out);

/// index's stride along the indexed axis.
int64_t cbk_ocl_index_step(const struct cbk_ocl_indexing *indexing);

/// A program that moves elements of `element_size` bytes by indices of one dtype.
struct cbk_ocl_index_program {
    const struct cbk_rt_source *source;
    const char *entry;
    uint32_t element_size; ///< 1, 2, 4, 8; GPU form also 16
    cbk_dtype index;
    bool is_gpu, has_index64;
};
struct cbk_rt_spec cbk_ocl_index_spec(const struct cbk_ocl_index_program *program);
/// Visits all of a text's, for sizes up to `most_size` (on CPUs 8).
void cbk_ocl_index_programs_of(const struct cbk_rt_source *source, const char *entry,
                               uint32_t most_size, cbk_ocl_program_visitor visit, void *user_data);

cbk_status cbk_ocl_gather(struct cbk_ocl_stream *stream, const struct cbk_ocl_indexing *indexing);

/// Updates x in place; y is the value, and a per-slice index has one axis. `flags`: CBK_INDEX_*.
cbk_status cbk_ocl_scatter(struct cbk_ocl_stream *stream, const struct cbk_ocl_indexing *indexing,
                           uint32_t update, uint32_t flags);

/// The same where CBK_INDEX_UNORDERED is set and the device has atomics for it: *out_done tells.
cbk_status cbk_ocl_scatter_atomic(struct cbk_ocl_stream *stream,
                                  const struct cbk_ocl_indexing *indexing, uint32_t update,
                                  bool *out_done);

/// index [.., depth] to row-major places within `lengths`: `out`, i64, is dense and as many as the
/// rows of index.
cbk_status cbk_ocl_index_places(struct cbk_ocl_stream *stream, const char *operation,
                                const struct cbk_ocl_operand *index, const int64_t *lengths,
                                const struct cbk_ocl_operand *out);

cbk_status cbk_ocl_gather_nd(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_scatter_nd(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_one_hot(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_grid_sample(struct cbk_ocl_stream *stream, const cbk_op *op);

/// A tensor whose first axes have become one. Free `temporary` after the launches that use it.
struct cbk_ocl_flat {
    cbk_tensor_meta dense, meta;
    struct cbk_ocl_operand operand; ///< its metadata is `meta`: do not copy the struct
    struct cbk_rt_block *temporary;
};

/// Can `count` leading axes of it be walked with one stride?
bool cbk_ocl_is_flat(const cbk_tensor_meta *meta, uint32_t count);

/// Makes `count` leading axes one (of length 1 if there are none): a view, or a dense copy where no
/// stride can express it.
cbk_status cbk_ocl_flatten(struct cbk_ocl_stream *stream, const struct cbk_ocl_operand *x,
                           uint32_t count, struct cbk_ocl_flat *out);

/// An update of `x` (NULL: of zeros) into `out`. `indexing` has index and value; `depth` leading axes
/// of x are seen as one.
cbk_status cbk_ocl_update(struct cbk_ocl_stream *stream, struct cbk_ocl_indexing *indexing,
                          const struct cbk_ocl_operand *x, const struct cbk_ocl_operand *out,
                          uint32_t depth, uint32_t update, uint32_t flags);

void cbk_ocl_gather_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_scatter_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_scatter_atomic_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_index_nd_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_one_hot_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_grid_sample_programs(cbk_ocl_program_visitor visit, void *user_data);

/// The integer dtypes that index, as a list that ends with 0.
extern const cbk_dtype cbk_ocl_index_dtypes[];

#endif
