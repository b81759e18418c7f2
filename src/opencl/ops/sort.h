/// sort.h: rows in order, for the operations that ask for it.
#ifndef CUBEBACK_OPENCL_SORT_H
#define CUBEBACK_OPENCL_SORT_H

#include "radix.h"

/// The first `keep` elements of each sorted row of x along `axis`.
struct cbk_ocl_order {
    struct cbk_ocl_stream *stream;
    const char *operation; ///< for errors and profiles; static
    const struct cbk_ocl_operand *x;
    uint32_t axis;
    int64_t keep; ///< 1 or more
    bool is_descending;
};

/// Writes dense rows of `keep` elements, one row after the other in row-major order of the other
/// axes. Results that are not wanted have no block.
cbk_status cbk_ocl_order_rows(const struct cbk_ocl_order *order, struct cbk_ocl_span values,
                              struct cbk_ocl_span indices, cbk_dtype index_dtype);

void cbk_ocl_order_programs(cbk_ocl_program_visitor visit, void *user_data);

/// The same without a sort, for a few of many elements (topk.c).
#define CBK_OCL_TOPK_MOST 128
cbk_status cbk_ocl_topk(const struct cbk_ocl_order *order, struct cbk_ocl_span values,
                        struct cbk_ocl_span indices, cbk_dtype index_dtype);
void cbk_ocl_topk_programs(cbk_ocl_program_visitor visit, void *user_data);

// quantile.c
cbk_status cbk_ocl_quantile(struct cbk_ocl_stream *stream, const cbk_op *op); ///< and median
void cbk_ocl_quantile_programs(cbk_ocl_program_visitor visit, void *user_data);

#endif
