/// cubeback/ops/create.h: tensors from nothing but numbers.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_CREATE_H
#define CUBEBACK_OPS_CREATE_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// All elements `value`. Dtype 0: the device's default float.
CBK_API cbk_status cbk_fill(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                            const int64_t *shape, cbk_scalar value, cbk_tensor **out);
CBK_API cbk_status cbk_fill_into(cbk_stream *stream, cbk_scalar value, cbk_tensor *dst);
CBK_API cbk_status cbk_zeros(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                             const int64_t *shape, cbk_tensor **out);
CBK_API cbk_status cbk_ones(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                            const int64_t *shape, cbk_tensor **out);
/// start, start + step, ...: `length` elements, each computed as start + i * step and rounded once.
/// Integers wrap. Dtype 0: the device's default int. Dtypes: floats, ints.
CBK_API cbk_status cbk_arange(cbk_stream *stream, cbk_dtype dtype, cbk_scalar start,
                              cbk_scalar step, int64_t length, cbk_tensor **out);
CBK_API cbk_status cbk_arange_into(cbk_stream *stream, cbk_scalar start, cbk_scalar step,
                                   cbk_tensor *dst);

/// [rows, columns]: 1 where column - row = offset, else 0. Dtype 0: the default float. Dtypes: all.
CBK_API cbk_status cbk_eye(cbk_stream *stream, cbk_dtype dtype, int64_t rows, int64_t columns,
                           int64_t offset, cbk_tensor **out);
CBK_API cbk_status cbk_eye_into(cbk_stream *stream, int64_t offset, cbk_tensor *dst);
/// `length` numbers evenly from first to last, both exact; first alone for length 1. Dtype 0: the
/// default float. Dtypes: floats.
CBK_API cbk_status cbk_linspace(cbk_stream *stream, cbk_dtype dtype, cbk_scalar first,
                                cbk_scalar last, int64_t length, cbk_tensor **out);
CBK_API cbk_status cbk_linspace_into(cbk_stream *stream, cbk_scalar first, cbk_scalar last,
                                     cbk_tensor *dst);
/// With t = i / length (symmetric: i / (length - 1)) in turns, Hann: (1 - cos t) / 2; Hamming:
/// 0.54 - 0.46 cos t; Blackman: 0.42 - 0.5 cos t + 0.08 cos 2t. 1 for length 1. Dtype 0: the default
/// float. Dtypes: floats.
CBK_API cbk_status cbk_window(cbk_stream *stream, cbk_dtype dtype, uint32_t kind, int64_t length,
                              uint32_t symmetric, cbk_tensor **out);
CBK_API cbk_status cbk_window_into(cbk_stream *stream, uint32_t kind, uint32_t symmetric,
                                   cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
