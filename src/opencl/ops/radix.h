/// radix.h: stable sorts of long rows by the digits of their keys (kernels/radix_*.cl).
#ifndef CUBEBACK_OPENCL_RADIX_H
#define CUBEBACK_OPENCL_RADIX_H

#include "opencl.h"

/// Elements of a buffer from `offset` (in elements) on; `block` NULL: there are none.
struct cbk_ocl_span {
    struct cbk_rt_block *block;
    int64_t offset;
};
struct cbk_ocl_span cbk_ocl_span(struct cbk_rt_block *block, cbk_dtype dtype);

/// Sorts dense rows. `in` is only read; results that are not wanted have no block.
struct cbk_ocl_radix {
    struct cbk_ocl_stream *stream;
    const char *operation; ///< for errors and profiles; static
    cbk_dtype dtype;       ///< of the elements
    int64_t rows, length;
    bool is_descending;
    uint32_t key_bits; ///< lowest bits of the keys that differ; 0: all
    struct cbk_ocl_span in, values, indices;
    cbk_dtype index_dtype;
};
cbk_status cbk_ocl_radix_sort(const struct cbk_ocl_radix *sort);

void cbk_ocl_radix_programs(cbk_ocl_program_visitor visit, void *user_data);

/// Exclusive sums of dense rows of u32 or u64, from one buffer to another (scan.c).
cbk_status cbk_ocl_scan_counts(struct cbk_ocl_stream *stream, cbk_dtype dtype, int64_t rows,
                               int64_t length, struct cbk_ocl_span counts,
                               struct cbk_ocl_span before);

#endif
