/// device.h: what a suite runs on: the reference backend and the device under test.
///
/// Environment:
///   CUBEBACK_TEST_DEVICE   part of the device's or platform's name; default: any OpenCL device
///   CUBEBACK_TEST_FORMS    words of gpu, cpu (forms of kernels to run), index64, blas, noblas,
///                          separate (a buffer for each tensor)
///   CUBEBACK_TEST_BACKEND  "reference": hold the reference against itself
///   CUBEBACK_TEST_STATS    file that gets a line "programs <count> ns <time>" at the end
#ifndef CUBEBACK_TEST_DEVICE_H
#define CUBEBACK_TEST_DEVICE_H

#include <stdbool.h>

#include <cubeback/cubeback.h>

struct test_side {
    const char *name; ///< "reference", "device"
    cbk_backend *backend;
    cbk_device *device;
    cbk_stream *stream;
};

struct test_pair {
    struct test_side reference;
    struct test_side device;
    cbk_device_info info; ///< of the device under test
};

/// The pair of the running suite; opened by test_pair_open.
extern struct test_pair test_pair;

/// For cmocka's group setup and teardown. Close checks that no memory is left in use.
int test_pair_open(void **state);
int test_pair_close(void **state);

/// Flags of cbk_backend_params for CUBEBACK_TEST_FORMS.
uint32_t test_backend_flags(void);

/// Backend params with the disk cache off and the flags above.
cbk_backend_params test_backend_params(void);

/// Opens a backend's device by CUBEBACK_TEST_DEVICE and a stream. False after a printed reason.
bool test_side_open(struct test_side *side, const char *name, cbk_backend *backend, bool by_name);
void test_side_close(struct test_side *side);

/// The side with the OpenCL backend, and more of its flags (CBK_CPU_KERNELS, ...). False after a
/// printed reason.
bool test_opencl_open(struct test_side *side, uint32_t flags);

/// Waits, writes the stats, closes. 0, or -1 after a printed reason: work failed, or memory is still
/// in use.
int test_side_finish(struct test_side *side);

/// Launches of the device so far.
uint64_t test_launch_count(cbk_device *device);

/// Appends the line of CUBEBACK_TEST_STATS.
void test_write_stats(cbk_device *device);

#endif
