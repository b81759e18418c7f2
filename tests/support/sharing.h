/// sharing.h: the library over the context and queue of a foreign program, for suites of
/// cubeback/opencl.h.
#ifndef CUBEBACK_TEST_SHARING_H
#define CUBEBACK_TEST_SHARING_H

#include "foreign.h"

enum { TEST_COUNT = 24 }; ///< elements of the buffers

struct test_sharing {
    cbk_backend *backend;
    cbk_device *own_device; ///< on a context of the library's
    cbk_stream *own_stream;
    struct test_foreign foreign;
    cbk_device *device; ///< on the foreign context
    cbk_stream *stream; ///< on the foreign queue
    struct cbk_rt_cl cl;
};

/// The one of the running test.
extern struct test_sharing test_sharing;

/// For cmocka's setup and teardown: at the end nothing is in use or held.
int test_sharing_open(void **state);
int test_sharing_close(void **state);
#define TEST_SHARING(name)                                                                         \
    cmocka_unit_test_setup_teardown(name, test_sharing_open, test_sharing_close)

/// A description of `count` f32 from the start of `mem`. `released`, unless it is NULL, counts calls
/// of the release function.
cbk_opencl_memory test_whole(cl_mem mem, int64_t count, int *released);
/// A tensor of them on the shared stream.
cbk_tensor *test_wrap(cl_mem mem, int64_t count, int *released);

/// x += value.
void test_raise(cbk_stream *stream, cbk_tensor *x, double value);
/// Element `index` of at most TEST_COUNT.
float test_at(cbk_stream *stream, const cbk_tensor *x, size_t index);

/// Releases an event that the library gave out, which counts it.
void test_release_event(cl_event event);

#endif
