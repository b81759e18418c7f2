/// cl.h: the OpenCL function table. The only header of the library proper that includes CL/cl.h;
/// for the files of src/runtime and for the fault tests, which replace entries of the table.
#ifndef CUBEBACK_RUNTIME_CL_H
#define CUBEBACK_RUNTIME_CL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <cubeback/types.h>

struct cbk_rt_device;

/// One pointer per OpenCL function used: `cl->clFinish(queue)`. Optional ones may be NULL.
struct cbk_rt_cl {
#define CL_REQUIRED(function) __typeof__(&function) function;
#define CL_OPTIONAL(function) __typeof__(&function) function;
#include "cl_symbols.def"
};

/// Fills the table from the linked loader (or, built with CUBEBACK_DLOPEN, from the loader found at
/// run time). `out_library` is what cbk_rt_cl_unload takes; NULL when there is nothing to close.
/// Errors: CBK_ERROR_NOT_FOUND when there is no loader.
cbk_status cbk_rt_cl_load(struct cbk_rt_cl *out, void **out_library);
void cbk_rt_cl_unload(void **library);

/// "CL_OUT_OF_RESOURCES"; "unknown OpenCL error" for numbers it does not know.
const char *cbk_rt_cl_error_name(cl_int code);

/// Records the failure of an OpenCL call and gives the status it stands for: out of memory for the
/// allocation codes, CBK_ERROR_DEVICE_LOST once the driver has given up the device, else
/// CBK_ERROR_DRIVER. `device` may be NULL (then no loss is noticed).
cbk_status cbk_rt_cl_fail(struct cbk_rt_device *device, cl_int code, const char *call);

/// In a function with `cbk_status status` and a label `done`; `call` gives a cl_int.
#define CL_TRY(device, call)                                                                       \
    do {                                                                                           \
        const cl_int cl_code_ = (call);                                                            \
        if (cl_code_ != CL_SUCCESS) {                                                              \
            status = cbk_rt_cl_fail(device, cl_code_, #call);                                      \
            goto done;                                                                             \
        }                                                                                          \
    } while (0)

#endif
