// foreign.c: plain OpenCL, as a program that embeds the library has it.
#include "foreign.h"

#include <stdlib.h>

#include "support.h"

static const char text[] = "kernel void scale(global float *x, ulong offset, float factor) {\n"
                           "    x[offset + get_global_id(0)] *= factor;\n"
                           "}\n";

void test_foreign_open(struct test_foreign *foreign, cbk_stream *like) {
    const char *texts[] = {text};
    cl_int code = CL_SUCCESS;
    assert_ok(cbk_opencl_objects(like, NULL, &foreign->id, NULL));
    foreign->context = clCreateContext(NULL, 1, &foreign->id, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    foreign->queue = clCreateCommandQueue(foreign->context, foreign->id, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    foreign->program = clCreateProgramWithSource(foreign->context, 1, texts, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clBuildProgram(foreign->program, 1, &foreign->id, "", NULL, NULL), CL_SUCCESS);
    foreign->scale = clCreateKernel(foreign->program, "scale", &code);
    assert_int_equal(code, CL_SUCCESS);
}

void test_foreign_close(struct test_foreign *foreign) {
    clReleaseKernel(foreign->scale);
    clReleaseProgram(foreign->program);
    clReleaseCommandQueue(foreign->queue);
    clReleaseContext(foreign->context);
}

cl_mem test_foreign_buffer(struct test_foreign *foreign, size_t count, float first) {
    cl_int code = CL_SUCCESS;
    float *data = malloc(count * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) data[i] = first + (float)i;
    cl_mem mem = clCreateBuffer(foreign->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                count * sizeof *data, data, &code);
    free(data);
    assert_int_equal(code, CL_SUCCESS);
    return mem;
}

void test_foreign_scale(struct test_foreign *foreign, cl_command_queue queue, cl_mem x,
                        size_t offset, size_t count, float factor) {
    const cl_ulong first = offset;
    clSetKernelArg(foreign->scale, 0, sizeof x, &x);
    clSetKernelArg(foreign->scale, 1, sizeof first, &first);
    clSetKernelArg(foreign->scale, 2, sizeof factor, &factor);
    assert_int_equal(
        clEnqueueNDRangeKernel(queue, foreign->scale, 1, NULL, &count, NULL, 0, NULL, NULL),
        CL_SUCCESS);
}

cl_event test_foreign_hold(struct test_foreign *foreign, cl_command_queue queue) {
    cl_int code = CL_SUCCESS;
    cl_event gate = clCreateUserEvent(foreign->context, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clEnqueueBarrierWithWaitList(queue, 1, &gate, NULL), CL_SUCCESS);
    return gate;
}

void test_foreign_pass(cl_event *gate) {
    assert_int_equal(clSetUserEventStatus(*gate, CL_COMPLETE), CL_SUCCESS);
    clReleaseEvent(*gate);
    *gate = NULL;
}

float test_foreign_at(cl_command_queue queue, cl_mem x, size_t index) {
    float value = 0;
    assert_int_equal(clEnqueueReadBuffer(queue, x, CL_TRUE, index * sizeof value, sizeof value,
                                         &value, 0, NULL, NULL),
                     CL_SUCCESS);
    return value;
}
