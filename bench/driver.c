#include "driver.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

struct bench_driver {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem buffer[3];
    size_t length;
    bool is_cpu;
};

/// As many bytes as the struct that the library's pointwise kernels take by value: drivers copy
/// arguments at each enqueue, so a kernel without it would cost less than the same work does.
enum { WALK_LONGS = 54 };
struct walk {
    cl_long length, values[WALK_LONGS - 1];
};

static const char text[] =
    "struct walk { long length, values[53]; };\n"
    "kernel void add(global float *o, global const float *a, global const float *b,\n"
    "                const struct walk w) {\n"
    "#ifdef CPU\n"
    "    for (long i = 0; i < w.length; i += 8)\n"
    "        vstore8(vload8(0, a + i) + vload8(0, b + i), 0, o + i);\n"
    "#else\n"
    "    long i = get_global_id(0);\n"
    "    if (i < w.length) o[i] = a[i] + b[i];\n"
    "#endif\n"
    "}\n";

static bool contains(const char *text_in, const char *part) {
    size_t length = strlen(part);
    for (; *text_in != 0; text_in++)
        if (strncasecmp(text_in, part, length) == 0) return true;
    return length == 0;
}

static bool device_matches(cl_platform_id platform, cl_device_id device, const char *name) {
    char device_name[256] = "", platform_name[256] = "";
    if (name == NULL) return true;
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof device_name, device_name, NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name, platform_name, NULL);
    return contains(device_name, name) || contains(platform_name, name);
}

static cl_device_id find_device(const char *name) {
    cl_platform_id platforms[16];
    cl_device_id devices[16];
    cl_uint platform_count = 0, device_count = 0;
    if (clGetPlatformIDs(16, platforms, &platform_count) != CL_SUCCESS) return NULL;
    for (cl_uint p = 0; p < platform_count && p < 16; p++) {
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, devices, &device_count) != 0)
            continue;
        for (cl_uint d = 0; d < device_count && d < 16; d++)
            if (device_matches(platforms[p], devices[d], name)) return devices[d];
    }
    return NULL;
}

static bool set_arguments(const struct bench_driver *driver, cl_kernel kernel) {
    const struct walk walk = {.length = (cl_long)driver->length};
    cl_int code = 0;
    for (cl_uint i = 0; i < 3; i++)
        code |= clSetKernelArg(kernel, i, sizeof(cl_mem), &driver->buffer[i]);
    code |= clSetKernelArg(kernel, 3, sizeof walk, &walk);
    return code == CL_SUCCESS;
}

struct bench_driver *bench_driver_open(const char *name, size_t length) {
    struct bench_driver *driver = calloc(1, sizeof *driver);
    cl_device_id device = find_device(name);
    const char *texts[1] = {text};
    cl_device_type type = 0;
    cl_int code = CL_SUCCESS;
    if (driver == NULL || device == NULL) goto failed;
    driver->length = length;
    clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    driver->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
    driver->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (code != CL_SUCCESS) goto failed;
    driver->queue = clCreateCommandQueue(driver->context, device, 0, &code);
    if (code != CL_SUCCESS) goto failed;
    driver->program = clCreateProgramWithSource(driver->context, 1, texts, NULL, &code);
    if (code != CL_SUCCESS ||
        clBuildProgram(driver->program, 1, &device, driver->is_cpu ? "-DCPU" : "", NULL, NULL) != 0)
        goto failed;
    driver->kernel = clCreateKernel(driver->program, "add", &code);
    for (int i = 0; i < 3 && code == CL_SUCCESS; i++)
        driver->buffer[i] =
            clCreateBuffer(driver->context, CL_MEM_READ_WRITE, length * sizeof(float), NULL, &code);
    if (code == CL_SUCCESS && set_arguments(driver, driver->kernel)) return driver;
failed:
    bench_driver_close(driver);
    return NULL;
}

void bench_driver_close(struct bench_driver *driver) {
    if (driver == NULL) return;
    for (int i = 0; i < 3; i++)
        if (driver->buffer[i] != NULL) clReleaseMemObject(driver->buffer[i]);
    if (driver->kernel != NULL) clReleaseKernel(driver->kernel);
    if (driver->program != NULL) clReleaseProgram(driver->program);
    if (driver->queue != NULL) clReleaseCommandQueue(driver->queue);
    if (driver->context != NULL) clReleaseContext(driver->context);
    free(driver);
}

/// Kernel object i is `kernels[i]`, or the driver's one for all.
static double enqueue(const struct bench_driver *driver, const cl_kernel *kernels, int count) {
    const size_t global = driver->is_cpu ? 1 : driver->length, local = driver->is_cpu ? 1 : 256;
    double start = bench_now_ns();
    for (int i = 0; i < count; i++)
        clEnqueueNDRangeKernel(driver->queue, kernels != NULL ? kernels[i] : driver->kernel, 1,
                               NULL, &global, &local, 0, NULL, NULL);
    double spent = bench_now_ns() - start;
    clFinish(driver->queue);
    return spent / count;
}

double bench_driver_enqueue(struct bench_driver *driver, int count) {
    return enqueue(driver, NULL, count);
}

double bench_driver_enqueue_each(struct bench_driver *driver, int count) {
    cl_kernel *kernels = calloc((size_t)count, sizeof *kernels);
    cl_int code = kernels != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    int made = 0;
    double result = 0;
    while (code == CL_SUCCESS && made < count) {
        kernels[made] = clCreateKernel(driver->program, "add", &code);
        if (code == CL_SUCCESS && !set_arguments(driver, kernels[made++])) code = CL_INVALID_VALUE;
    }
    if (code == CL_SUCCESS) {
        enqueue(driver, kernels, count); // the first time is dearer
        result = enqueue(driver, kernels, count);
    }
    while (made > 0) clReleaseKernel(kernels[--made]);
    free(kernels);
    return result;
}

enum { ROUNDS = 101 };

/// Only the enqueueing is timed; the device catches up between the rounds.
cbk_status bench_measure_launches(struct bench *bench, const struct bench_case *of,
                                  cbk_status (*issue)(struct bench *, const struct bench_case *),
                                  double (*bare)(struct bench_driver *, int), int count,
                                  size_t length, struct bench_result *out) {
    double ours[ROUNDS], theirs[ROUNDS];
    struct bench_times bare_times;
    struct bench_driver *driver = bench_driver_open(bench->info.name, length);
    cbk_status status = CBK_OK;
    for (int round = -3; round < ROUNDS; round++) { // three to warm up
        double start = bench_now_ns();
        TRY(issue(bench, of));
        double spent = bench_now_ns() - start;
        TRY(cbk_sync(bench->stream));
        if (round < 0) continue;
        ours[round] = spent / count;
        theirs[round] = driver != NULL ? bare(driver, count) : 0;
    }
    bench_summarise(ours, ROUNDS, &out->ours);
    bench_summarise(theirs, ROUNDS, &bare_times);
    out->limit = bare_times.median_ns;
    out->note = out->ours.median_ns - bare_times.median_ns;
done:
    bench_driver_close(driver);
    return status;
}

int bench_driver_probe(const char *device_name) {
    double start = bench_now_ns();
    float out[4] = {0};
    struct bench_driver *driver = bench_driver_open(device_name, 1024);
    if (driver == NULL) return 1;
    bench_driver_enqueue(driver, 1);
    if (clEnqueueReadBuffer(driver->queue, driver->buffer[0], CL_TRUE, 0, sizeof out, out, 0, NULL,
                            NULL) != CL_SUCCESS)
        return 1;
    printf("%.0f\n", bench_now_ns() - start);
    bench_driver_close(driver);
    return 0;
}
