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

/// Draws places within rows of weights [.., n]: [.., count], a place with a probability in proportion
/// to its weight, which need not add up to 1; logits are logarithms of weights. NULL params: one draw
/// from weights. With replacement by default; distinct places come in the order in which they would
/// be drawn one after the other. Equal on every device.
/// A weight that is 0, negative or NaN (a logit: -infinity or NaN) is never drawn; beside an infinite
/// one finite ones are not. Where no place is left that could be drawn, those follow that are left,
/// in their order: a row without weights gives 0, distinct 0, 1, 2, ...
/// Dtypes: floats. Errors: CBK_ERROR_SHAPE where n is 0, or below the number of distinct draws.
CBK_API cbk_status cbk_random_categorical(cbk_stream *stream, const cbk_tensor *weights,
                                          const cbk_categorical_params *params, cbk_tensor **out);
CBK_API cbk_status cbk_random_categorical_into(cbk_stream *stream, const cbk_tensor *weights,
                                               const cbk_categorical_params *params,
                                               cbk_tensor *dst);

#ifdef __cplusplus
}
#endif
#endif
