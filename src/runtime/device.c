/// device.c: opening and closing a device, what is known about it, whether it still lives.
#include "internal.h"

#include <string.h>

// Of cl_nv_device_attribute_query.
enum { COMPUTE_CAPABILITY_MAJOR_NV = 0x4000, COMPUTE_CAPABILITY_MINOR_NV = 0x4001 };
enum { HALF_FP_CONFIG = 0x1033 }; // of cl_khr_fp16

// ---- capabilities --------------------------------------------------------------------------------

static uint32_t ask_uint(const struct cbk_rt_device *device, cl_device_info what) {
    cl_uint value = 0;
    const cl_int code = device->cl->clGetDeviceInfo(device->id, what, sizeof value, &value, NULL);
    return code == CL_SUCCESS ? value : 0;
}

static uint32_t nvidia_capability(const struct cbk_rt_device *device) {
    // A driver without the extension refuses the question: 0.
    return 10 * ask_uint(device, COMPUTE_CAPABILITY_MAJOR_NV) +
           ask_uint(device, COMPUTE_CAPABILITY_MINOR_NV);
}

static bool chooses_cpu_kernels(const struct cbk_rt_device *device) {
    if (device->rt->flags & CBK_GPU_KERNELS) return false;
    if (device->rt->flags & CBK_CPU_KERNELS) return true;
    // Mesa's llvmpipe is a CPU whose compiler crashes on the CPU form.
    return device->found->info.type == CBK_DEVICE_CPU &&
           strcmp(device->found->info.platform, "rusticl") != 0;
}

/// f32 elements of the widest vector register, a power of two from 4 to 16.
static uint32_t float_lanes(const struct cbk_rt_device *device) {
    const uint32_t native = ask_uint(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    const uint32_t preferred = ask_uint(device, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT);
    const uint32_t lanes = native > preferred ? native : preferred;
    return lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4;
}

static void fill_caps(struct cbk_rt_device *device) {
    const cbk_device_info *info = &device->found->info;
    cl_device_fp_config doubles = 0, halves = 0;
    cl_bool is_unified = CL_FALSE;
    (void)device->cl->clGetDeviceInfo(device->id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof doubles,
                                      &doubles, NULL);
    (void)device->cl->clGetDeviceInfo(device->id, HALF_FP_CONFIG, sizeof halves, &halves, NULL);
    (void)device->cl->clGetDeviceInfo(device->id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof is_unified,
                                      &is_unified, NULL);
    device->caps = (struct cbk_rt_caps){
        .is_cpu = chooses_cpu_kernels(device),
        .is_nvidia = strstr(info->platform, "NVIDIA") != NULL,
        .is_pocl = strstr(info->platform, "Portable Computing Language") != NULL,
        .has_f64 = doubles != 0,
        .advertises_f16 = halves != 0,
        .has_unified_memory = is_unified != CL_FALSE,
        .compute_units = info->compute_units ? info->compute_units : 1,
        .max_work_group = info->max_work_group ? info->max_work_group : 1,
        .local_memory_bytes = info->local_memory_bytes,
        .max_allocation_bytes = info->max_allocation_bytes,
        .memory_bytes = info->memory_bytes,
    };
    device->caps.float_lanes = device->caps.is_cpu ? float_lanes(device) : 4;
    if (device->caps.is_nvidia) device->caps.nvidia_capability = nvidia_capability(device);
}

// ---- open and close ------------------------------------------------------------------------------

static cbk_status open_driver(struct cbk_rt_device *device, cl_context context) {
    const struct cbk_rt_cl *cl = device->cl;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)device->platform, 0};
    cl_int code = CL_SUCCESS;

    if (context) {
        code = cl->clRetainContext(context);
        if (code != CL_SUCCESS) return cbk_rt_cl_fail(NULL, code, "clRetainContext");
        device->context = context;
    } else {
        device->context = cl->clCreateContext(properties, 1, &device->id, NULL, NULL, &code);
        if (!device->context) return cbk_rt_cl_fail(NULL, code, "clCreateContext");
    }
    device->service_queue = cl->clCreateCommandQueue(device->context, device->id, 0, &code);
    if (!device->service_queue) return cbk_rt_cl_fail(NULL, code, "clCreateCommandQueue");
    return CBK_OK;
}

static cbk_status open_parts(struct cbk_rt_device *device, cl_context context,
                             const cbk_device_params *params) {
    cbk_status status = CBK_OK;
    if (!cbk_os_mutex_init(&device->mutex)) goto no_mutex;
    device->has_mutex = true;
    if (!cbk_os_mutex_init(&device->use_lock)) goto no_mutex;
    device->has_use_lock = true;
    fill_caps(device);
    RT_TRY(open_driver(device, context));
    RT_TRY(cbk_rt_memory_init(device, params->memory_limit_bytes));
    RT_TRY(cbk_rt_programs_create(device, &device->programs));
    cbk_rt_blas_device_opened(device);
    device->is_open = true;
done:
    return status;
no_mutex:
    return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "device_open: the system has no more mutexes");
}

cbk_status cbk_rt_device_open_found(struct cbk_rt *rt, const struct cbk_rt_found *found,
                                    cl_context context, const cbk_device_params *params,
                                    struct cbk_rt_device **out) {
    struct cbk_rt_device *device = NULL;
    cbk_status status = CBK_OK;

    *out = NULL;
    if (cbk_os_is_forked(&rt->fork_mark)) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0,
                        "device_open: the backend belongs to the parent of this process");
    }
    device = cbk_rt_host_alloc(rt, sizeof *device);
    if (!device) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0,
                        "device_open: no host memory for %zu bytes", sizeof *device);
    }
    device->rt = rt;
    device->cl = &rt->cl;
    device->platform = found->platform;
    device->id = found->id;
    device->found = found;
    RT_TRY(open_parts(device, context, params));
    cbk_rt_log(rt, CBK_LOG_INFO, "device \"%s\" of platform \"%s\" is open", found->info.name,
               found->info.platform);
    *out = device;
    device = NULL;
done:
    cbk_rt_device_close(&device);
    return status;
}

cbk_status cbk_rt_device_open(struct cbk_rt *rt, const cbk_device_params *params,
                              struct cbk_rt_device **out) {
    const struct cbk_rt_found *found = cbk_rt_find(rt, params->type, params->index, params->name);
    *out = NULL;
    if (!found) return cbk_rt_fail_not_found(rt, params->type, params->index, params->name);
    return cbk_rt_device_open_found(rt, found, NULL, params, out);
}

void cbk_rt_device_close(struct cbk_rt_device **handle) {
    struct cbk_rt_device *device = *handle;
    *handle = NULL;
    if (!device) return;
    struct cbk_rt *rt = device->rt;
    const struct cbk_rt_cl *cl = device->cl;

    // A forked child has the driver's locks but not its threads: whatever it calls may hang. What
    // it inherited goes with the process.
    if (cbk_os_is_forked(&rt->fork_mark)) return;
    cbk_rt_streams_finish(device);
    cbk_rt_foreign_finish(device);
    if (device->is_open) cbk_rt_blas_device_closing(device);
    if (device->programs) cbk_rt_programs_destroy(device, &device->programs);
    cbk_rt_pinned_finish(device);
    cbk_rt_memory_finish(device);
    if (device->service_queue) (void)cl->clReleaseCommandQueue(device->service_queue);
    if (device->context) (void)cl->clReleaseContext(device->context);
    if (device->has_use_lock) cbk_os_mutex_finish(&device->use_lock);
    if (device->has_mutex) cbk_os_mutex_finish(&device->mutex);
    cbk_rt_host_free(rt, device, sizeof *device);
}

// ---- state ---------------------------------------------------------------------------------------

cbk_status cbk_rt_device_refuse(struct cbk_rt_device *device) {
    if (cbk_os_is_forked(&device->rt->fork_mark)) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0,
                        "the device was opened by the parent of this process; open it anew here");
    }
    return cbk_fail(CBK_ERROR_DEVICE_LOST, 0, "the driver of \"%s\" has given the device up",
                    device->found->info.name);
}

void cbk_rt_device_lose(struct cbk_rt_device *device) {
    if (atomic_exchange(&device->is_lost, 1u)) return;
    cbk_rt_log(device->rt, CBK_LOG_ERROR, "device \"%s\" is lost", device->found->info.name);
}

cbk_status cbk_rt_device_state(const struct cbk_rt_device *device) {
    return atomic_load_explicit(&device->is_lost, memory_order_relaxed) ? CBK_ERROR_DEVICE_LOST
                                                                        : CBK_OK;
}

// ---- questions -----------------------------------------------------------------------------------

const struct cbk_rt_caps *cbk_rt_device_caps(const struct cbk_rt_device *device) {
    return &device->caps;
}

struct cbk_rt *cbk_rt_device_process(const struct cbk_rt_device *device) {
    return device->rt;
}

cbk_status cbk_rt_device_info(const struct cbk_rt_device *device, cbk_device_info *out) {
    const uint32_t struct_size = out->struct_size;
    *out = device->found->info;
    out->struct_size = struct_size;
    return CBK_OK;
}

const char *cbk_rt_device_build_log(const struct cbk_rt_device *device) {
    return cbk_rt_programs_build_log(device->programs);
}

static uint64_t load(_Atomic uint64_t *value) {
    return atomic_load_explicit(value, memory_order_relaxed);
}

cbk_status cbk_rt_device_counters(struct cbk_rt_device *device, cbk_counters *out) {
    const uint32_t struct_size = out->struct_size;
    *out = (cbk_counters){.struct_size = struct_size};
    cbk_rt_programs_counters(device->programs, out);
    cbk_os_lock(&device->mutex);
    for (uint32_t i = 0; i < device->stream_count; i++) {
        struct cbk_rt_stream *stream = device->streams[i];
        out->launches += load(&stream->launches);
        out->bytes_written += load(&stream->bytes_written);
        out->bytes_read += load(&stream->bytes_read);
        out->allocations += load(&stream->allocated_count);
    }
    cbk_os_unlock(&device->mutex);
    cbk_os_lock(&device->memory.mutex);
    out->driver_allocations = device->memory.driver_allocations;
    cbk_os_unlock(&device->memory.mutex);
    return CBK_OK;
}
