/// cl.c: filling the OpenCL function table, and what becomes of a failed call.

#include "internal.h"

#include <string.h>

// A data pointer from the linker turned into a function pointer, which C has no conversion for.
static void set_function(void *slot, size_t size, void *symbol) {
    memset(slot, 0, size);
    if (symbol) memcpy(slot, &symbol, size);
}

#ifdef CUBEBACK_DLOPEN

static const char *const loader_names[] = {
#ifdef __APPLE__
    "/System/Library/Frameworks/OpenCL.framework/OpenCL",
#endif
    "libOpenCL.so.1",
    "libOpenCL.so",
};

cbk_status cbk_rt_cl_load(struct cbk_rt_cl *out, void **out_library) {
    void *library = NULL;
    const char *missing = NULL;
    *out_library = NULL;
    *out = (struct cbk_rt_cl){0};
    for (size_t i = 0; i < sizeof loader_names / sizeof *loader_names && !library; i++) {
        library = cbk_os_library_open(loader_names[i]);
    }
    if (!library) {
        return cbk_fail(CBK_ERROR_NOT_FOUND, 0, "no OpenCL loader: %s cannot be loaded",
                        loader_names[0]);
    }
#define CL_OPTIONAL(function)                                                                      \
    set_function(&out->function, sizeof out->function, cbk_os_library_symbol(library, #function));
#define CL_REQUIRED(function)                                                                      \
    CL_OPTIONAL(function)                                                                          \
    if (!out->function) missing = #function;
#include "cl_symbols.def"
    if (missing) {
        cbk_os_library_close(library);
        return cbk_fail(CBK_ERROR_NOT_FOUND, 0, "the OpenCL loader has no %s", missing);
    }
    *out_library = library;
    return CBK_OK;
}

#else

cbk_status cbk_rt_cl_load(struct cbk_rt_cl *out, void **out_library) {
    // Newer functions are looked up in what is loaded already: linking them would keep the library
    // from loading beside an older loader.
    void *library = cbk_os_library_open(NULL);
    *out_library = library;
    *out = (struct cbk_rt_cl){0};
#define CL_REQUIRED(function) out->function = function;
#define CL_OPTIONAL(function)                                                                      \
    set_function(&out->function, sizeof out->function,                                             \
                 library ? cbk_os_library_symbol(library, #function) : NULL);
#include "cl_symbols.def"
    return CBK_OK;
}

#endif

void cbk_rt_cl_unload(void **library) {
    if (*library) cbk_os_library_close(*library);
    *library = NULL;
}

// Codes a driver gives for objects that were good when they were made: its context is gone.
static bool means_lost(cl_int code) {
    return code == CL_INVALID_COMMAND_QUEUE || code == CL_INVALID_CONTEXT ||
           code == CL_DEVICE_NOT_AVAILABLE || code == CL_INVALID_DEVICE || code == -9999;
}

// CL_OUT_OF_RESOURCES may be a launch that asked too much or the end of the context: try another
// queue.
static bool still_works(struct cbk_rt_device *device) {
    const struct cbk_rt_cl *cl = device->cl;
    if (!device->service_queue) return true;
    return cl->clEnqueueMarkerWithWaitList(device->service_queue, 0, NULL, NULL) == CL_SUCCESS &&
           cl->clFinish(device->service_queue) == CL_SUCCESS;
}

static cbk_status status_of(cl_int code) {
    switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_INVALID_BUFFER_SIZE:
        return CBK_ERROR_OUT_OF_MEMORY;
    case CL_OUT_OF_HOST_MEMORY:
        return CBK_ERROR_OUT_OF_HOST_MEMORY;
    default:
        return CBK_ERROR_DRIVER;
    }
}

// "cl->clFinish(queue)" -> "clFinish".
static int function_name(const char *call, const char **out_name) {
    const char *arrow = strstr(call, "->cl");
    const char *parenthesis = strchr(call, '(');
    const char *name = arrow && (!parenthesis || arrow < parenthesis) ? arrow + 2 : call;
    // A call through a member of a member: the last arrow before the parenthesis counts.
    for (const char *next = strstr(name, "->cl"); next && next < parenthesis;
         next = strstr(name, "->cl")) {
        name = next + 2;
    }
    *out_name = name;
    return parenthesis && parenthesis > name ? (int)(parenthesis - name) : (int)strlen(name);
}

cbk_status cbk_rt_cl_fail(struct cbk_rt_device *device, cl_int code, const char *call) {
    cbk_status status = status_of(code);
    const char *name = NULL;
    const int length = function_name(call, &name);
    if (device && (means_lost(code) || (code == CL_OUT_OF_RESOURCES && !still_works(device)))) {
        cbk_rt_device_lose(device);
        status = CBK_ERROR_DEVICE_LOST;
    }
    return cbk_fail(status, code, "%.*s gave %s (%d)%s", length, name, cbk_rt_cl_error_name(code),
                    (int)code, status == CBK_ERROR_DEVICE_LOST ? ": the device is lost" : "");
}
