/// table.h: vectors written out in a test, on the reference backend, and their expected results.
#ifndef CUBEBACK_TEST_TABLE_H
#define CUBEBACK_TEST_TABLE_H

#include "device.h"
#include "support.h"

/// Group setup and teardown: test_table_stream is the reference backend's.
int test_table_open(void **state);
int test_table_close(void **state);
extern cbk_stream *test_table_stream;

cbk_tensor *test_vector(cbk_dtype dtype, int64_t count, const void *data);

/// Fails unless `tensor`, which is released, has these elements, bit for bit but for NaN payloads.
void test_expect(cbk_tensor *tensor, cbk_dtype dtype, int64_t count, const void *data,
                 const char *file, int line);

#define TEST_ARRAY(type, ...)                                                                      \
    (int64_t)(sizeof((type[]){__VA_ARGS__}) / sizeof(type)), (type[]) {                            \
        __VA_ARGS__                                                                                \
    }

/// VECTOR(CBK_DTYPE_I32, int32_t, 1, 2, 3)
#define VECTOR(dtype, type, ...) test_vector(dtype, TEST_ARRAY(type, __VA_ARGS__))

/// EXPECT(tensor, CBK_DTYPE_I32, int32_t, 1, 2, 3)
#define EXPECT(tensor, dtype, type, ...)                                                           \
    test_expect(tensor, dtype, TEST_ARRAY(type, __VA_ARGS__), __FILE__, __LINE__)

/// The result of an operation of one or two tensors; releases them.
typedef cbk_status (*test_unary_function)(cbk_stream *, const cbk_tensor *, cbk_tensor **);
typedef cbk_status (*test_binary_function)(cbk_stream *, const cbk_tensor *, const cbk_tensor *,
                                           cbk_tensor **);
cbk_tensor *test_unary(test_unary_function function, cbk_tensor *x);
cbk_tensor *test_binary(test_binary_function function, cbk_tensor *a, cbk_tensor *b);
cbk_tensor *test_cast(cbk_tensor *x, cbk_dtype dtype);

#endif
