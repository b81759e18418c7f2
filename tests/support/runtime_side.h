/// runtime_side.h: what suites of src/runtime run on: a device and a stream of the runtime itself.
#ifndef CUBEBACK_TEST_RUNTIME_SIDE_H
#define CUBEBACK_TEST_RUNTIME_SIDE_H

#include "cl.h"
#include "runtime.h"

struct test_runtime {
    struct cbk_rt *rt;
    struct cbk_rt_device *device;
    struct cbk_rt_stream *stream;
};

/// Opens the device that CUBEBACK_TEST_DEVICE names; fails the test if it cannot. `cl` may be NULL.
void test_runtime_open(struct test_runtime *side, const cbk_backend_params *params,
                       const struct cbk_rt_cl *cl);
void test_runtime_close(struct test_runtime *side);

/// Params with the disk cache in `directory` ("": off) and no environment.
cbk_backend_params test_runtime_params(const char *directory);

cbk_counters test_runtime_counters(struct test_runtime *side);

/// The linked loader's table, to replace entries of.
struct cbk_rt_cl test_cl_table(void);

/// A kernel text as a source.
struct cbk_rt_source test_source(const char *name, const char *text);

// ---- directories -------------------------------------------------------------------------------

enum { TEST_PATH_SIZE = 512 };

/// A new directory of mode 0700 below TMPDIR.
void test_directory_make(char path[TEST_PATH_SIZE]);
/// Removes a directory with everything in it.
void test_directory_remove(const char *path);
/// directory/name.
void test_path(char path[TEST_PATH_SIZE], const char *directory, const char *name);
/// Counts files whose names end with `suffix`; the last one's path goes to `out_path` if given.
int test_directory_count(const char *path, const char *suffix, char out_path[TEST_PATH_SIZE]);
/// A whole file; free() it.
unsigned char *test_file_read(const char *path, size_t *out_size);
void test_file_write(const char *path, const void *data, size_t size);

#endif
