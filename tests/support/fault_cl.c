/// fault_cl.c: the OpenCL functions of fault.h: count, fail on demand, else pass on.
#include "fault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void(CL_CALLBACK *cl_notify)(const char *, const void *, size_t, void *);
typedef void(CL_CALLBACK *cl_program_notify)(cl_program, void *);

static struct cbk_rt_cl real;
static atomic_ullong calls;
static atomic_ullong planned;
static atomic_int planned_code;
static _Atomic(const char *) planned_function;
static _Atomic(const char *) fired;
static atomic_long held[CBK_FAULT_KINDS];
static atomic_bool pretends_gpu;

static void hold(enum cbk_fault_kind kind, long references) {
    atomic_fetch_add(&held[kind], references);
}

static bool fails(const char *function, cl_int *out_code) {
    const char *only = atomic_load(&planned_function);
    if (only && strcmp(only, function) != 0) return false;
    if (atomic_fetch_add(&calls, 1) + 1 != atomic_load(&planned)) return false;
    atomic_store(&fired, function);
    if (out_code) *out_code = atomic_load(&planned_code);
    return true;
}

// ---- commands that fail after they were enqueued -------------------------------------------------

enum { MOST_BROKEN = 256 };

static struct {
    pthread_mutex_t mutex;
    cl_command_queue queue; ///< whose events are broken at the moment
    cl_int state;
    uint32_t count;
    struct {
        cl_event event;
        cl_int state;
    } events[MOST_BROKEN];
} broken = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/// With the mutex locked. An event's address may be that of an earlier one.
static void forget(cl_event event) {
    for (uint32_t i = 0; i < broken.count; i++) {
        if (broken.events[i].event == event) broken.events[i--] = broken.events[--broken.count];
    }
}

/// Of every event that a call has made.
static cl_int hold_event(cl_int code, const cl_event *event) {
    if (code != CL_SUCCESS || !event || !*event) return code;
    hold(CBK_FAULT_EVENT, 1);
    pthread_mutex_lock(&broken.mutex);
    forget(*event);
    pthread_mutex_unlock(&broken.mutex);
    return code;
}

/// The same for the commands that may be broken.
static cl_int hold_command(cl_int code, cl_command_queue queue, const cl_event *event) {
    (void)hold_event(code, event);
    if (code != CL_SUCCESS || !event) return code;
    pthread_mutex_lock(&broken.mutex);
    if (queue == broken.queue && broken.count < MOST_BROKEN) {
        broken.events[broken.count].event = *event;
        broken.events[broken.count++].state = broken.state;
    }
    pthread_mutex_unlock(&broken.mutex);
    return code;
}

/// The state of an event as it is to be told.
static void tell_state(cl_event event, cl_int *state) {
    if (*state != CL_COMPLETE) return;
    pthread_mutex_lock(&broken.mutex);
    for (uint32_t i = 0; i < broken.count; i++) {
        if (broken.events[i].event == event) *state = broken.events[i].state;
    }
    pthread_mutex_unlock(&broken.mutex);
}

void cbk_fault_break(cl_command_queue queue, cl_int state) {
    pthread_mutex_lock(&broken.mutex);
    broken.queue = queue;
    broken.state = state;
    pthread_mutex_unlock(&broken.mutex);
}

// ---- the functions -----------------------------------------------------------------------------

static cl_int CL_API_CALL fake_GetPlatformIDs(cl_uint count, cl_platform_id *ids,
                                              cl_uint *out_count) {
    cl_int code = CL_SUCCESS;
    if (fails("clGetPlatformIDs", &code)) return code;
    return real.clGetPlatformIDs(count, ids, out_count);
}

static cl_int CL_API_CALL fake_GetPlatformInfo(cl_platform_id id, cl_platform_info what,
                                               size_t size, void *out, size_t *out_size) {
    cl_int code = CL_SUCCESS;
    if (fails("clGetPlatformInfo", &code)) return code;
    return real.clGetPlatformInfo(id, what, size, out, out_size);
}

static cl_int CL_API_CALL fake_GetDeviceIDs(cl_platform_id id, cl_device_type type, cl_uint count,
                                            cl_device_id *ids, cl_uint *out_count) {
    cl_int code = CL_SUCCESS;
    if (fails("clGetDeviceIDs", &code)) return code;
    return real.clGetDeviceIDs(id, type, count, ids, out_count);
}

static cl_int CL_API_CALL fake_GetDeviceInfo(cl_device_id id, cl_device_info what, size_t size,
                                             void *out, size_t *out_size) {
    cl_int code = CL_SUCCESS;
    if (fails("clGetDeviceInfo", &code)) return code;
    code = real.clGetDeviceInfo(id, what, size, out, out_size);
    if (what == CL_DEVICE_TYPE && out && atomic_load(&pretends_gpu)) {
        *(cl_device_type *)out = CL_DEVICE_TYPE_GPU;
    }
    return code;
}

static cl_context CL_API_CALL fake_CreateContext(const cl_context_properties *properties,
                                                 cl_uint count, const cl_device_id *ids,
                                                 cl_notify notify, void *user_data,
                                                 cl_int *out_code) {
    if (fails("clCreateContext", out_code)) return NULL;
    cl_context object = real.clCreateContext(properties, count, ids, notify, user_data, out_code);
    if (object) hold(CBK_FAULT_CONTEXT, 1);
    return object;
}

static cl_int CL_API_CALL fake_RetainContext(cl_context object) {
    cl_int code = CL_SUCCESS;
    if (fails("clRetainContext", &code)) return code;
    hold(CBK_FAULT_CONTEXT, 1);
    return real.clRetainContext(object);
}

static cl_int CL_API_CALL fake_ReleaseContext(cl_context object) {
    hold(CBK_FAULT_CONTEXT, -1);
    return real.clReleaseContext(object);
}

static cl_int CL_API_CALL fake_GetContextInfo(cl_context object, cl_context_info what, size_t size,
                                              void *out, size_t *out_size) {
    cl_int code = CL_SUCCESS;
    if (fails("clGetContextInfo", &code)) return code;
    return real.clGetContextInfo(object, what, size, out, out_size);
}

static cl_command_queue CL_API_CALL fake_CreateCommandQueue(cl_context context, cl_device_id id,
                                                            cl_command_queue_properties properties,
                                                            cl_int *out_code) {
    if (fails("clCreateCommandQueue", out_code)) return NULL;
    cl_command_queue object = real.clCreateCommandQueue(context, id, properties, out_code);
    if (object) hold(CBK_FAULT_QUEUE, 1);
    return object;
}

static cl_int CL_API_CALL fake_RetainCommandQueue(cl_command_queue object) {
    cl_int code = CL_SUCCESS;
    if (fails("clRetainCommandQueue", &code)) return code;
    hold(CBK_FAULT_QUEUE, 1);
    return real.clRetainCommandQueue(object);
}

static cl_int CL_API_CALL fake_ReleaseCommandQueue(cl_command_queue object) {
    hold(CBK_FAULT_QUEUE, -1);
    return real.clReleaseCommandQueue(object);
}

static cl_int CL_API_CALL fake_GetCommandQueueInfo(cl_command_queue object,
                                                   cl_command_queue_info what, size_t size,
                                                   void *out, size_t *out_size) {
    cl_int code = CL_SUCCESS;
    if (fails("clGetCommandQueueInfo", &code)) return code;
    return real.clGetCommandQueueInfo(object, what, size, out, out_size);
}

static cl_mem CL_API_CALL fake_CreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                                            void *data, cl_int *out_code) {
    if (fails("clCreateBuffer", out_code)) return NULL;
    cl_mem object = real.clCreateBuffer(context, flags, size, data, out_code);
    if (object) hold(CBK_FAULT_MEM, 1);
    return object;
}

static cl_int CL_API_CALL fake_RetainMemObject(cl_mem object) {
    cl_int code = CL_SUCCESS;
    if (fails("clRetainMemObject", &code)) return code;
    hold(CBK_FAULT_MEM, 1);
    return real.clRetainMemObject(object);
}

static cl_int CL_API_CALL fake_ReleaseMemObject(cl_mem object) {
    hold(CBK_FAULT_MEM, -1);
    return real.clReleaseMemObject(object);
}

static cl_int CL_API_CALL fake_GetMemObjectInfo(cl_mem object, cl_mem_info what, size_t size,
                                                void *out, size_t *out_size) {
    cl_int code = CL_SUCCESS;
    if (fails("clGetMemObjectInfo", &code)) return code;
    return real.clGetMemObjectInfo(object, what, size, out, out_size);
}

static cl_program CL_API_CALL fake_CreateProgramWithSource(cl_context context, cl_uint count,
                                                           const char **texts, const size_t *sizes,
                                                           cl_int *out_code) {
    if (fails("clCreateProgramWithSource", out_code)) return NULL;
    cl_program object = real.clCreateProgramWithSource(context, count, texts, sizes, out_code);
    if (object) hold(CBK_FAULT_PROGRAM, 1);
    return object;
}

static cl_program CL_API_CALL fake_CreateProgramWithBinary(cl_context context, cl_uint count,
                                                           const cl_device_id *ids,
                                                           const size_t *sizes,
                                                           const unsigned char **data,
                                                           cl_int *states, cl_int *out_code) {
    if (fails("clCreateProgramWithBinary", out_code)) return NULL;
    cl_program object =
        real.clCreateProgramWithBinary(context, count, ids, sizes, data, states, out_code);
    if (object) hold(CBK_FAULT_PROGRAM, 1);
    return object;
}

static cl_int CL_API_CALL fake_RetainProgram(cl_program object) {
    cl_int code = CL_SUCCESS;
    if (fails("clRetainProgram", &code)) return code;
    hold(CBK_FAULT_PROGRAM, 1);
    return real.clRetainProgram(object);
}

static cl_int CL_API_CALL fake_ReleaseProgram(cl_program object) {
    hold(CBK_FAULT_PROGRAM, -1);
    return real.clReleaseProgram(object);
}

static cl_int CL_API_CALL fake_BuildProgram(cl_program program, cl_uint count,
                                            const cl_device_id *ids, const char *options,
                                            cl_program_notify notify, void *user_data) {
    cl_int code = CL_SUCCESS;
    if (fails("clBuildProgram", &code)) return code;
    return real.clBuildProgram(program, count, ids, options, notify, user_data);
}

static cl_int CL_API_CALL fake_GetProgramInfo(cl_program object, cl_program_info what, size_t size,
                                              void *out, size_t *out_size) {
    cl_int code = CL_SUCCESS;
    if (fails("clGetProgramInfo", &code)) return code;
    return real.clGetProgramInfo(object, what, size, out, out_size);
}

static cl_int CL_API_CALL fake_GetProgramBuildInfo(cl_program object, cl_device_id id,
                                                   cl_program_build_info what, size_t size,
                                                   void *out, size_t *out_size) {
    cl_int code = CL_SUCCESS;
    if (fails("clGetProgramBuildInfo", &code)) return code;
    return real.clGetProgramBuildInfo(object, id, what, size, out, out_size);
}

static cl_kernel CL_API_CALL fake_CreateKernel(cl_program program, const char *name,
                                               cl_int *out_code) {
    if (fails("clCreateKernel", out_code)) return NULL;
    cl_kernel object = real.clCreateKernel(program, name, out_code);
    if (object) hold(CBK_FAULT_KERNEL, 1);
    return object;
}

static cl_int CL_API_CALL fake_RetainKernel(cl_kernel object) {
    cl_int code = CL_SUCCESS;
    if (fails("clRetainKernel", &code)) return code;
    hold(CBK_FAULT_KERNEL, 1);
    return real.clRetainKernel(object);
}

static cl_int CL_API_CALL fake_ReleaseKernel(cl_kernel object) {
    hold(CBK_FAULT_KERNEL, -1);
    return real.clReleaseKernel(object);
}

static cl_int CL_API_CALL fake_SetKernelArg(cl_kernel kernel, cl_uint index, size_t size,
                                            const void *value) {
    cl_int code = CL_SUCCESS;
    if (fails("clSetKernelArg", &code)) return code;
    return real.clSetKernelArg(kernel, index, size, value);
}

static cl_int CL_API_CALL fake_GetKernelInfo(cl_kernel object, cl_kernel_info what, size_t size,
                                             void *out, size_t *out_size) {
    cl_int code = CL_SUCCESS;
    if (fails("clGetKernelInfo", &code)) return code;
    return real.clGetKernelInfo(object, what, size, out, out_size);
}

static cl_int CL_API_CALL fake_GetKernelWorkGroupInfo(cl_kernel object, cl_device_id id,
                                                      cl_kernel_work_group_info what, size_t size,
                                                      void *out, size_t *out_size) {
    cl_int code = CL_SUCCESS;
    if (fails("clGetKernelWorkGroupInfo", &code)) return code;
    return real.clGetKernelWorkGroupInfo(object, id, what, size, out, out_size);
}

static cl_int CL_API_CALL fake_WaitForEvents(cl_uint count, const cl_event *events) {
    cl_int code = CL_SUCCESS;
    if (fails("clWaitForEvents", &code)) return code;
    return real.clWaitForEvents(count, events);
}

static cl_int CL_API_CALL fake_GetEventInfo(cl_event object, cl_event_info what, size_t size,
                                            void *out, size_t *out_size) {
    cl_int code = CL_SUCCESS;
    if (fails("clGetEventInfo", &code)) return code;
    code = real.clGetEventInfo(object, what, size, out, out_size);
    if (code == CL_SUCCESS && what == CL_EVENT_COMMAND_EXECUTION_STATUS && out) {
        tell_state(object, out);
    }
    return code;
}

static cl_int CL_API_CALL fake_GetEventProfilingInfo(cl_event object, cl_profiling_info what,
                                                     size_t size, void *out, size_t *out_size) {
    cl_int code = CL_SUCCESS;
    if (fails("clGetEventProfilingInfo", &code)) return code;
    return real.clGetEventProfilingInfo(object, what, size, out, out_size);
}

static cl_int CL_API_CALL fake_RetainEvent(cl_event object) {
    cl_int code = CL_SUCCESS;
    if (fails("clRetainEvent", &code)) return code;
    hold(CBK_FAULT_EVENT, 1);
    return real.clRetainEvent(object);
}

static cl_int CL_API_CALL fake_ReleaseEvent(cl_event object) {
    hold(CBK_FAULT_EVENT, -1);
    return real.clReleaseEvent(object);
}

static cl_int CL_API_CALL fake_Flush(cl_command_queue queue) {
    cl_int code = CL_SUCCESS;
    if (fails("clFlush", &code)) return code;
    return real.clFlush(queue);
}

static cl_int CL_API_CALL fake_Finish(cl_command_queue queue) {
    cl_int code = CL_SUCCESS;
    if (fails("clFinish", &code)) return code;
    return real.clFinish(queue);
}

static cl_int CL_API_CALL fake_EnqueueReadBuffer(cl_command_queue queue, cl_mem mem,
                                                 cl_bool blocking, size_t offset, size_t size,
                                                 void *data, cl_uint wait_count,
                                                 const cl_event *waits, cl_event *event) {
    cl_int code = CL_SUCCESS;
    if (fails("clEnqueueReadBuffer", &code)) return code;
    return hold_event(real.clEnqueueReadBuffer(queue, mem, blocking, offset, size, data, wait_count,
                                               waits, event),
                      event);
}

static cl_int CL_API_CALL fake_EnqueueWriteBuffer(cl_command_queue queue, cl_mem mem,
                                                  cl_bool blocking, size_t offset, size_t size,
                                                  const void *data, cl_uint wait_count,
                                                  const cl_event *waits, cl_event *event) {
    cl_int code = CL_SUCCESS;
    if (fails("clEnqueueWriteBuffer", &code)) return code;
    return hold_event(real.clEnqueueWriteBuffer(queue, mem, blocking, offset, size, data,
                                                wait_count, waits, event),
                      event);
}

static cl_int CL_API_CALL fake_EnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                                 size_t from_offset, size_t to_offset, size_t size,
                                                 cl_uint wait_count, const cl_event *waits,
                                                 cl_event *event) {
    cl_int code = CL_SUCCESS;
    if (fails("clEnqueueCopyBuffer", &code)) return code;
    return hold_event(real.clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size,
                                               wait_count, waits, event),
                      event);
}

static cl_int CL_API_CALL fake_EnqueueFillBuffer(cl_command_queue queue, cl_mem mem,
                                                 const void *pattern, size_t pattern_size,
                                                 size_t offset, size_t size, cl_uint wait_count,
                                                 const cl_event *waits, cl_event *event) {
    cl_int code = CL_SUCCESS;
    if (fails("clEnqueueFillBuffer", &code)) return code;
    return hold_event(real.clEnqueueFillBuffer(queue, mem, pattern, pattern_size, offset, size,
                                               wait_count, waits, event),
                      event);
}

static cl_int CL_API_CALL fake_EnqueueMigrateMemObjects(cl_command_queue queue, cl_uint count,
                                                        const cl_mem *mems,
                                                        cl_mem_migration_flags flags,
                                                        cl_uint wait_count, const cl_event *waits,
                                                        cl_event *event) {
    cl_int code = CL_SUCCESS;
    if (fails("clEnqueueMigrateMemObjects", &code)) return code;
    return hold_event(
        real.clEnqueueMigrateMemObjects(queue, count, mems, flags, wait_count, waits, event),
        event);
}

static cl_int CL_API_CALL fake_EnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                    cl_uint dimensions, const size_t *offset,
                                                    const size_t *global, const size_t *local,
                                                    cl_uint wait_count, const cl_event *waits,
                                                    cl_event *event) {
    cl_int code = CL_SUCCESS;
    if (fails("clEnqueueNDRangeKernel", &code)) return code;
    return hold_command(real.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global,
                                                    local, wait_count, waits, event),
                        queue, event);
}

static cl_int CL_API_CALL fake_EnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint wait_count,
                                                         const cl_event *waits, cl_event *event) {
    cl_int code = CL_SUCCESS;
    if (fails("clEnqueueMarkerWithWaitList", &code)) return code;
    return hold_command(real.clEnqueueMarkerWithWaitList(queue, wait_count, waits, event), queue,
                        event);
}

static cl_int CL_API_CALL fake_EnqueueBarrierWithWaitList(cl_command_queue queue,
                                                          cl_uint wait_count, const cl_event *waits,
                                                          cl_event *event) {
    cl_int code = CL_SUCCESS;
    if (fails("clEnqueueBarrierWithWaitList", &code)) return code;
    return hold_event(real.clEnqueueBarrierWithWaitList(queue, wait_count, waits, event), event);
}

static void *CL_API_CALL fake_EnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                                               cl_map_flags flags, size_t offset, size_t size,
                                               cl_uint wait_count, const cl_event *waits,
                                               cl_event *event, cl_int *out_code) {
    if (fails("clEnqueueMapBuffer", out_code)) return NULL;
    void *data = real.clEnqueueMapBuffer(queue, mem, blocking, flags, offset, size, wait_count,
                                         waits, event, out_code);
    if (data) hold(CBK_FAULT_MAP, 1);
    if (data) (void)hold_event(CL_SUCCESS, event);
    return data;
}

static cl_int CL_API_CALL fake_EnqueueUnmapMemObject(cl_command_queue queue, cl_mem mem, void *data,
                                                     cl_uint wait_count, const cl_event *waits,
                                                     cl_event *event) {
    hold(CBK_FAULT_MAP, -1);
    return hold_event(real.clEnqueueUnmapMemObject(queue, mem, data, wait_count, waits, event),
                      event);
}

// ---- control -----------------------------------------------------------------------------------

void cbk_fault_table(struct cbk_rt_cl *out) {
    void *library = NULL;
    (void)cbk_rt_cl_load(&real, &library); // stays open: the table is used until the process ends
    *out = real;
    out->clGetPlatformIDs = fake_GetPlatformIDs;
    out->clGetPlatformInfo = fake_GetPlatformInfo;
    out->clGetDeviceIDs = fake_GetDeviceIDs;
    out->clGetDeviceInfo = fake_GetDeviceInfo;
    out->clCreateContext = fake_CreateContext;
    out->clRetainContext = fake_RetainContext;
    out->clReleaseContext = fake_ReleaseContext;
    out->clGetContextInfo = fake_GetContextInfo;
    out->clCreateCommandQueue = fake_CreateCommandQueue;
    out->clRetainCommandQueue = fake_RetainCommandQueue;
    out->clReleaseCommandQueue = fake_ReleaseCommandQueue;
    out->clGetCommandQueueInfo = fake_GetCommandQueueInfo;
    out->clCreateBuffer = fake_CreateBuffer;
    out->clRetainMemObject = fake_RetainMemObject;
    out->clReleaseMemObject = fake_ReleaseMemObject;
    out->clGetMemObjectInfo = fake_GetMemObjectInfo;
    out->clCreateProgramWithSource = fake_CreateProgramWithSource;
    out->clCreateProgramWithBinary = fake_CreateProgramWithBinary;
    out->clRetainProgram = fake_RetainProgram;
    out->clReleaseProgram = fake_ReleaseProgram;
    out->clBuildProgram = fake_BuildProgram;
    out->clGetProgramInfo = fake_GetProgramInfo;
    out->clGetProgramBuildInfo = fake_GetProgramBuildInfo;
    out->clCreateKernel = fake_CreateKernel;
    out->clRetainKernel = fake_RetainKernel;
    out->clReleaseKernel = fake_ReleaseKernel;
    out->clSetKernelArg = fake_SetKernelArg;
    out->clGetKernelInfo = fake_GetKernelInfo;
    out->clGetKernelWorkGroupInfo = fake_GetKernelWorkGroupInfo;
    out->clWaitForEvents = fake_WaitForEvents;
    out->clGetEventInfo = fake_GetEventInfo;
    out->clGetEventProfilingInfo = fake_GetEventProfilingInfo;
    out->clRetainEvent = fake_RetainEvent;
    out->clReleaseEvent = fake_ReleaseEvent;
    out->clFlush = fake_Flush;
    out->clFinish = fake_Finish;
    out->clEnqueueReadBuffer = fake_EnqueueReadBuffer;
    out->clEnqueueWriteBuffer = fake_EnqueueWriteBuffer;
    out->clEnqueueCopyBuffer = fake_EnqueueCopyBuffer;
    out->clEnqueueFillBuffer = fake_EnqueueFillBuffer;
    out->clEnqueueMigrateMemObjects = fake_EnqueueMigrateMemObjects;
    out->clEnqueueNDRangeKernel = fake_EnqueueNDRangeKernel;
    out->clEnqueueMarkerWithWaitList = fake_EnqueueMarkerWithWaitList;
    out->clEnqueueBarrierWithWaitList = fake_EnqueueBarrierWithWaitList;
    out->clEnqueueMapBuffer = fake_EnqueueMapBuffer;
    out->clEnqueueUnmapMemObject = fake_EnqueueUnmapMemObject;
    // What the table can do without must not hide what it needs.
    out->clCreateCommandQueueWithProperties = NULL;
    out->clCloneKernel = NULL;
}

void cbk_fault_pretend_gpu(bool pretend) {
    atomic_store(&pretends_gpu, pretend);
}

void cbk_fault_reset(void) {
    cbk_fault_plan(0, CL_SUCCESS, NULL);
}

void cbk_fault_plan(uint64_t nth, cl_int code, const char *function) {
    atomic_store(&planned, 0);
    atomic_store(&planned_code, code);
    atomic_store(&planned_function, function);
    atomic_store(&fired, NULL);
    atomic_store(&calls, 0);
    atomic_store(&planned, nth);
}

uint64_t cbk_fault_next(uint64_t n) {
    const char *full = getenv("CUBEBACK_TEST_FULL");
    return n < 60 || (full && *full) ? n + 1 : n + 1 + n / 20;
}

uint64_t cbk_fault_calls(void) {
    return atomic_load(&calls);
}

const char *cbk_fault_fired(void) {
    return atomic_load(&fired);
}

long cbk_fault_held(enum cbk_fault_kind kind) {
    return atomic_load(&held[kind]);
}

void cbk_fault_forget(void) {
    for (size_t kind = 0; kind < CBK_FAULT_KINDS; kind++) atomic_store(&held[kind], 0);
}

const char *cbk_fault_leaks(void) {
    static const char *const names[CBK_FAULT_KINDS] = {"context", "queue", "mem", "program",
                                                       "kernel",  "event", "map"};
    static char text[200];
    size_t used = 0;
    text[0] = '\0';
    for (size_t kind = 0; kind < CBK_FAULT_KINDS; kind++) {
        const long count = atomic_load(&held[kind]);
        if (count == 0) continue;
        const int length = snprintf(text + used, sizeof text - used, "%s%ld %s", used ? ", " : "",
                                    count, names[kind]);
        used += length > 0 ? (size_t)length : 0;
    }
    return text;
}
