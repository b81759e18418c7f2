/// dtype.c: what the device does with each dtype, found out by building probes.
#include "backend.h"

static const char half_probe[] = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
                                 "kernel void probe(global half *x) {\n"
                                 "    half a = x[0], b = x[1];\n"
                                 "    x[2] = a * b + a;\n"
                                 "}\n";

/// PoCL's compiler knows half arithmetic only where PoCL advertises it, and it prints to the
/// process' stderr when a build fails: it is not asked then.
static cbk_status half_usage(struct cbk_ocl_device *device, uint32_t *out_usage) {
    const bool is_asked = device->caps->advertises_f16 || !device->caps->is_pocl;
    bool builds = false;
    cbk_status status =
        is_asked ? cbk_rt_probe_build(device->rt, "half", half_probe, &builds) : CBK_OK;
    *out_usage = CBK_USAGE_STORAGE | (builds ? (uint32_t)CBK_USAGE_ARITHMETIC : 0u);
    return status;
}

static cbk_status plain_usage(struct cbk_ocl_device *device, cbk_dtype dtype, uint32_t *out_usage) {
    *out_usage = 0;
    switch (dtype) {
    case CBK_DTYPE_F16:
        return half_usage(device, out_usage);
    case CBK_DTYPE_F64:
        if (device->caps->has_f64) *out_usage = CBK_USAGE_STORAGE | CBK_USAGE_ARITHMETIC;
        return CBK_OK;
    case CBK_DTYPE_QUANT: // no kernel takes one yet
    case CBK_DTYPE_BF16:
    case CBK_DTYPE_F8E4M3:
    case CBK_DTYPE_F8E5M2:
        *out_usage = CBK_USAGE_STORAGE;
        return CBK_OK;
    default:
        *out_usage = CBK_USAGE_STORAGE | CBK_USAGE_ARITHMETIC;
        return CBK_OK;
    }
}

cbk_status cbk_ocl_dtype_usage(void *self, void *handle, cbk_dtype dtype, const cbk_quant *quant,
                               uint32_t *out_usage) {
    (void)self, (void)quant;
    cbk_status status = plain_usage(handle, dtype, out_usage);
    if (cbk_ocl_matmul_is_accelerated(handle, dtype)) *out_usage |= CBK_USAGE_ACCELERATED;
    return status;
}
