/// cubeback/ops/random.h: Philox 4x32-10, see docs/numerics.md.
/// What holds for every operation is said in cubeback/ops.h.
#ifndef CUBEBACK_OPS_RANDOM_H
#define CUBEBACK_OPS_RANDOM_H

#include <cubeback/opcodes.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Equal on every device for equal seed, stream number and sequence of draws (normal: within 4 ulp).
/// The `_into` forms draw as many elements as dst has. Dtype 0: default float.

/// low <= x < high. Dtypes: floats.
CBK_API cbk_status cbk_random_uniform(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                      const int64_t *shape, double low, double high,
                                      cbk_tensor **out);
CBK_API cbk_status cbk_random_uniform_into(cbk_stream *stream, double low, double high,
                                           cbk_tensor *dst);
/// Dtypes: floats.
CBK_API cbk_status cbk_random_normal(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                     const int64_t *shape, double mean, double deviation,
                                     cbk_tensor **out);
CBK_API cbk_status cbk_random_normal_into(cbk_stream *stream, double mean, double deviation,
                                          cbk_tensor *dst);
/// 1 with that probability, else 0. Dtypes: all. Dtype 0: default bool.
CBK_API cbk_status cbk_random_bernoulli(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                        const int64_t *shape, double probability, cbk_tensor **out);
CBK_API cbk_status cbk_random_bernoulli_into(cbk_stream *stream, double probability,
                                             cbk_tensor *dst);
/// low <= i < high. Dtypes: ints. Dtype 0: default int.
CBK_API cbk_status cbk_random_integer(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                      const int64_t *shape, int64_t low, int64_t high,
                                      cbk_tensor **out);
CBK_API cbk_status cbk_random_integer_into(cbk_stream *stream, int64_t low, int64_t high,
                                           cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
