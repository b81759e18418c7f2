/// cubeback/ops/compact.h: as many results as there are hits.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_COMPACT_H
#define CUBEBACK_OPS_COMPACT_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The shape of a result never depends on data. So there are two steps: cbk_count_nonzero tells how
/// many hits there are, and the `_sized` form takes that as params->length: hits in row-major order,
/// rows past the last one 0, hits past the last row left out. Its second result, of rank 0, is the
/// true number of hits; `out_count` and `dst_count` may be NULL. `_into` forms take length and
/// dtypes from what they write into. Both steps may be captured.
/// The short forms do both and wait in between for the number; in a capture they are
/// CBK_ERROR_INVALID_STATE. CBK_ERROR_OVERFLOW where out_dtype could not hold the number of elements.

/// The places where x is not 0 (NaN is not): [hits, rank of x], in the default int.
/// Dtypes: floats, ints, bools.
CBK_API cbk_status cbk_argwhere(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out);
CBK_API cbk_status cbk_argwhere_sized(cbk_stream *stream, const cbk_tensor *x,
                                      const cbk_compact_params *params, cbk_tensor **out,
                                      cbk_tensor **out_count);
CBK_API cbk_status cbk_argwhere_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst,
                                     cbk_tensor *dst_count);
/// The elements of x where the mask, which broadcasts to x, is true: [hits].
/// Dtypes: mask bools; x any.
CBK_API cbk_status cbk_mask_select(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *mask,
                                   cbk_tensor **out);
CBK_API cbk_status cbk_mask_select_sized(cbk_stream *stream, const cbk_tensor *x,
                                         const cbk_tensor *mask, const cbk_compact_params *params,
                                         cbk_tensor **out, cbk_tensor **out_count);
CBK_API cbk_status cbk_mask_select_into(cbk_stream *stream, const cbk_tensor *x,
                                        const cbk_tensor *mask, cbk_tensor *dst,
                                        cbk_tensor *dst_count);

// ---- distinct elements --------------------------------------------------------------------------

/// How many different numbers x holds, of rank 0. -0 equals 0, a NaN equals nothing. out_dtype of the
/// params (NULL: the default int) may be any integer type. Dtypes of x: floats, ints, bools.
CBK_API cbk_status cbk_count_unique(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_compact_params *params, cbk_tensor **out);
/// The different numbers of x, ascending: [length]; of each, where it stands among them: x's shape;
/// and how often it occurs: [length]. What is asked for by a place that is not NULL is made, all of
/// it from one stable sort. params->length as for the other sized forms: what is past the last
/// number is 0; numbers past the last place are left out, and so are the positions that tell of them.
/// The short form waits for the number.
CBK_API cbk_status cbk_unique_sized(cbk_stream *stream, const cbk_tensor *x,
                                    const cbk_compact_params *params, cbk_tensor **out,
                                    cbk_tensor **out_inverse, cbk_tensor **out_counts,
                                    cbk_tensor **out_count);
CBK_API cbk_status cbk_unique(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out,
                              cbk_tensor **out_inverse, cbk_tensor **out_counts);

/// The same of the slices of x along `axis`, which are compared as wholes: the different ones in
/// lexicographic order of their elements, x's shape with the axis as long as there are or as
/// params->length says; where each slice stands among them, and how often it occurs: vectors. A slice
/// with a NaN equals nothing; slices without elements are equal. Some sorts of the whole for every
/// doubling of the elements of a slice, and memory as for several copies of x in i64 (along axes of
/// up to 65536: u32).
CBK_API cbk_status cbk_count_unique_along(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                          const cbk_compact_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_unique_along_sized(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                          const cbk_compact_params *params, cbk_tensor **out,
                                          cbk_tensor **out_inverse, cbk_tensor **out_counts,
                                          cbk_tensor **out_count);
CBK_API cbk_status cbk_unique_along(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                    cbk_tensor **out, cbk_tensor **out_inverse,
                                    cbk_tensor **out_counts);

#ifdef __cplusplus
}
#endif
#endif
