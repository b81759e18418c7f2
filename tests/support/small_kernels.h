/// small_kernels.h: a few kernels over int blocks for suites of src/runtime.
#ifndef CUBEBACK_TEST_SMALL_KERNELS_H
#define CUBEBACK_TEST_SMALL_KERNELS_H

#include "runtime.h"

struct test_small {
    struct cbk_rt_stream *stream;
    struct cbk_rt_kernel *fill, *add, *slow_add, *look_up;
};

/// Builds the kernels for a stream.
void test_small_open(struct test_small *small, struct cbk_rt_stream *stream);

struct cbk_rt_block *test_block(struct cbk_rt_stream *stream, uint64_t int_count);

/// x[i] = value.
cbk_status test_small_fill(struct test_small *small, struct cbk_rt_block *x, uint64_t count,
                           int32_t value);
/// y[i] = x[i] + value; x and y may be one block.
cbk_status test_small_add(struct test_small *small, struct cbk_rt_block *x, struct cbk_rt_block *y,
                          uint64_t count, int32_t value);
/// The same, and takes about 10 ms.
cbk_status test_small_slow_add(struct test_small *small, struct cbk_rt_block *x,
                               struct cbk_rt_block *y, uint64_t count, int32_t value);
/// x[0] = x[index]; an index outside [0, count) is reported for `operation`.
cbk_status test_small_look_up(struct test_small *small, struct cbk_rt_block *x, uint64_t count,
                              int64_t index, const char *operation);

/// Fails the test unless all elements have the value. Synchronises.
void test_small_expect(struct test_small *small, struct cbk_rt_block *x, uint64_t count,
                       int32_t value);

#endif
