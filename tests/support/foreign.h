/// foreign.h: a program with OpenCL objects of its own, to share with the library.
#ifndef CUBEBACK_TEST_FOREIGN_H
#define CUBEBACK_TEST_FOREIGN_H

#include "cl.h"

#include <cubeback/opencl.h>

struct test_foreign {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel scale; ///< x[offset + i] = x[offset + i] * factor
};

/// Objects on the device that a stream of the library works on. Fails the test if it cannot.
void test_foreign_open(struct test_foreign *foreign, cbk_stream *like);
void test_foreign_close(struct test_foreign *foreign);

/// A buffer of `count` floats counting up from `first`.
cl_mem test_foreign_buffer(struct test_foreign *foreign, size_t count, float first);

/// Enqueues x[offset ..] *= factor on `count` elements.
void test_foreign_scale(struct test_foreign *foreign, cl_command_queue queue, cl_mem x,
                        size_t offset, size_t count, float factor);

/// Keeps what is enqueued from now on from running until test_foreign_pass.
cl_event test_foreign_hold(struct test_foreign *foreign, cl_command_queue queue);
void test_foreign_pass(cl_event *gate);

/// Waits for the queue and gives one element.
float test_foreign_at(cl_command_queue queue, cl_mem x, size_t index);

#endif
