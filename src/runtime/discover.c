/// discover.c: which devices there are. What is broken is skipped with a log line.
#include "internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PLATFORMS = 32, MAX_DEVICES_PER_PLATFORM = 64 };

// ---- texts ---------------------------------------------------------------------------------------

/// Drivers pad names with blanks; a text that fills `out` is cut.
static void trim(char *text) {
    size_t start = 0, length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) length--;
    while (start < length && isspace((unsigned char)text[start])) start++;
    memmove(text, text + start, length - start);
    text[length - start] = '\0';
}

enum { TEXT_SIZE = 1024 };

static void keep_text(cl_int code, char text[TEXT_SIZE], char *out, size_t size) {
    text[TEXT_SIZE - 1] = '\0';
    if (code != CL_SUCCESS) text[0] = '\0';
    trim(text);
    const size_t length = strlen(text) < size ? strlen(text) : size - 1;
    memcpy(out, text, length);
    out[length] = '\0';
}

void cbk_rt_device_text(const struct cbk_rt *rt, cl_device_id id, cl_device_info what, char *out,
                        size_t size) {
    char text[TEXT_SIZE] = "";
    keep_text(rt->cl.clGetDeviceInfo(id, what, sizeof text, text, NULL), text, out, size);
}

void cbk_rt_platform_text(const struct cbk_rt *rt, cl_platform_id id, cl_platform_info what,
                          char *out, size_t size) {
    char text[TEXT_SIZE] = "";
    keep_text(rt->cl.clGetPlatformInfo(id, what, sizeof text, text, NULL), text, out, size);
}

/// True if `text` contains `part` in any case.
static bool contains(const char *text, const char *part) {
    for (; *text; text++) {
        size_t i = 0;
        while (part[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) i++;
        if (!part[i]) return true;
    }
    return !*part;
}

// ---- one device ----------------------------------------------------------------------------------

static uint32_t public_type(cl_device_type type) {
    if (type & CL_DEVICE_TYPE_GPU) return CBK_DEVICE_GPU;
    if (type & CL_DEVICE_TYPE_CPU) return CBK_DEVICE_CPU;
    if (type & CL_DEVICE_TYPE_ACCELERATOR) return CBK_DEVICE_ACCELERATOR;
    return CBK_DEVICE_DEFAULT;
}

/// NULL, or why the device cannot be used.
static const char *describe(const struct cbk_rt *rt, struct cbk_rt_found *found) {
    const struct cbk_rt_cl *cl = &rt->cl;
    cl_device_type type = 0;
    cl_bool is_available = CL_FALSE, has_compiler = CL_FALSE, is_little = CL_FALSE;
    cl_bool is_unified = CL_FALSE;
    cl_ulong memory = 0, max_allocation = 0, local_memory = 0;
    cl_uint units = 0;
    size_t max_work_group = 0;
    int major = 0, minor = 0;
    cbk_device_info *info = &found->info;

    const struct {
        cl_device_info what;
        size_t size;
        void *out;
    } queries[] = {
        {CL_DEVICE_TYPE, sizeof type, &type},
        {CL_DEVICE_AVAILABLE, sizeof is_available, &is_available},
        {CL_DEVICE_COMPILER_AVAILABLE, sizeof has_compiler, &has_compiler},
        {CL_DEVICE_ENDIAN_LITTLE, sizeof is_little, &is_little},
        {CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof is_unified, &is_unified},
        {CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory},
        {CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof max_allocation, &max_allocation},
        {CL_DEVICE_LOCAL_MEM_SIZE, sizeof local_memory, &local_memory},
        {CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units},
        {CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof max_work_group, &max_work_group},
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        if (cl->clGetDeviceInfo(found->id, queries[i].what, queries[i].size, queries[i].out,
                                NULL) != CL_SUCCESS) {
            return "its driver does not describe it";
        }
    }
    cbk_rt_device_text(rt, found->id, CL_DEVICE_NAME, info->name, sizeof info->name);
    cbk_rt_device_text(rt, found->id, CL_DEVICE_VENDOR, info->vendor, sizeof info->vendor);
    cbk_rt_device_text(rt, found->id, CL_DRIVER_VERSION, info->driver, sizeof info->driver);
    cbk_rt_device_text(rt, found->id, CL_DEVICE_VERSION, info->version, sizeof info->version);
    info->type = public_type(type);
    info->compute_units = units;
    info->memory_bytes = memory;
    info->max_allocation_bytes = max_allocation;
    info->local_memory_bytes = local_memory;
    info->max_work_group = max_work_group > UINT32_MAX ? UINT32_MAX : (uint32_t)max_work_group;
    // Devices with memory of their own come before those that share the host's.
    found->rank = ((uint64_t)!is_unified << 63) | ((memory >> 20) << 16) | (units & 0xffff);

    if (info->type == CBK_DEVICE_DEFAULT) return "it is of no type this library knows";
    if (!is_available) return "it is not available";
    if (!has_compiler) return "it has no compiler";
    if (!is_little) return "it is big-endian";
    if (sscanf(info->version, "OpenCL %d.%d", &major, &minor) != 2 || major * 10 + minor < 12) {
        return "it is older than OpenCL 1.2";
    }
    return NULL;
}

// ---- all of them ---------------------------------------------------------------------------------

static cbk_status add_found(struct cbk_rt *rt, const struct cbk_rt_found *found) {
    if (rt->found_count == rt->found_capacity) {
        const uint32_t capacity = rt->found_capacity ? 2 * rt->found_capacity : 8;
        struct cbk_rt_found *grown = cbk_rt_host_alloc(rt, capacity * sizeof *grown);
        if (!grown) {
            return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0,
                            "no host memory for a list of %u devices", (unsigned)capacity);
        }
        if (rt->found_count) memcpy(grown, rt->found, rt->found_count * sizeof *grown);
        cbk_rt_host_free(rt, rt->found, rt->found_capacity * sizeof *grown);
        rt->found = grown;
        rt->found_capacity = capacity;
    }
    rt->found[rt->found_count++] = *found;
    return CBK_OK;
}

static cbk_status discover_platform(struct cbk_rt *rt, cl_platform_id platform) {
    cl_device_id ids[MAX_DEVICES_PER_PLATFORM];
    cl_uint count = 0;
    char name[sizeof((cbk_device_info *)0)->platform];

    cbk_rt_platform_text(rt, platform, CL_PLATFORM_NAME, name, sizeof name);
    const cl_int code =
        rt->cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES_PER_PLATFORM, ids, &count);
    if (code != CL_SUCCESS || count == 0) {
        const bool is_normal = code == CL_SUCCESS || code == CL_DEVICE_NOT_FOUND;
        cbk_rt_log(rt, is_normal ? CBK_LOG_INFO : CBK_LOG_WARNING,
                   "platform \"%s\" is skipped: clGetDeviceIDs gave %s (%d)", name,
                   cbk_rt_cl_error_name(code), (int)code);
        return CBK_OK;
    }
    if (count > MAX_DEVICES_PER_PLATFORM) count = MAX_DEVICES_PER_PLATFORM;
    for (cl_uint i = 0; i < count; i++) {
        struct cbk_rt_found found = {.platform = platform, .id = ids[i]};
        const char *reason = describe(rt, &found);
        memcpy(found.info.platform, name, sizeof name);
        if (reason) {
            cbk_rt_log(rt, CBK_LOG_WARNING, "device \"%s\" of platform \"%s\" is skipped: %s",
                       found.info.name, name, reason);
            continue;
        }
        const cbk_status status = add_found(rt, &found);
        if (status != CBK_OK) return status;
    }
    return CBK_OK;
}

static uint32_t type_order(uint32_t type) {
    return type == CBK_DEVICE_GPU ? 0 : type == CBK_DEVICE_ACCELERATOR ? 1 : 2;
}

static bool is_better(const struct cbk_rt_found *a, const struct cbk_rt_found *b) {
    const uint32_t order_a = type_order(a->info.type), order_b = type_order(b->info.type);
    return order_a != order_b ? order_a < order_b : a->rank > b->rank;
}

/// Best first; equals stay in the driver's order.
static void sort_found(struct cbk_rt *rt) {
    uint32_t seen[4] = {0};
    for (uint32_t i = 1; i < rt->found_count; i++) {
        const struct cbk_rt_found moving = rt->found[i];
        uint32_t at = i;
        for (; at > 0 && is_better(&moving, &rt->found[at - 1]); at--) {
            rt->found[at] = rt->found[at - 1];
        }
        rt->found[at] = moving;
    }
    for (uint32_t i = 0; i < rt->found_count; i++) {
        rt->found[i].info.index = seen[rt->found[i].info.type]++;
    }
}

cbk_status cbk_rt_discover(struct cbk_rt *rt) {
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint count = 0;
    const cl_int code = rt->cl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &count);
    if (code != CL_SUCCESS || count == 0) {
        return cbk_fail(CBK_ERROR_NOT_FOUND, code,
                        "no OpenCL platform: clGetPlatformIDs gave %s (%d); is a driver installed "
                        "(for CPUs: pocl-opencl-icd)?",
                        cbk_rt_cl_error_name(code), (int)code);
    }
    if (count > MAX_PLATFORMS) count = MAX_PLATFORMS;
    for (cl_uint i = 0; i < count; i++) {
        const cbk_status status = discover_platform(rt, platforms[i]);
        if (status != CBK_OK) return status;
    }
    sort_found(rt);
    return CBK_OK;
}

// ---- asking --------------------------------------------------------------------------------------

static bool matches(const struct cbk_rt_found *found, uint32_t type, const char *name) {
    if (type != CBK_DEVICE_DEFAULT && found->info.type != type) return false;
    return !name || contains(found->info.name, name) || contains(found->info.platform, name);
}

const struct cbk_rt_found *cbk_rt_find(const struct cbk_rt *rt, uint32_t type, uint32_t index,
                                       const char *name) {
    for (uint32_t i = 0; i < rt->found_count; i++) {
        if (matches(&rt->found[i], type, name) && index-- == 0) return &rt->found[i];
    }
    return NULL;
}

cbk_status cbk_rt_device_count(struct cbk_rt *rt, uint32_t type, uint32_t *out_count) {
    *out_count = 0;
    for (uint32_t i = 0; i < rt->found_count; i++) {
        *out_count += matches(&rt->found[i], type, NULL);
    }
    return CBK_OK;
}

static const char *type_name(uint32_t type) {
    static const char *const names[] = {"", "gpu ", "cpu ", "accelerator "};
    return type < sizeof names / sizeof *names ? names[type] : "unknown ";
}

cbk_status cbk_rt_fail_not_found(const struct cbk_rt *rt, uint32_t type, uint32_t index,
                                 const char *name) {
    uint32_t count = 0;
    while (cbk_rt_find(rt, type, count, name)) count++;
    return cbk_fail(CBK_ERROR_NOT_FOUND, 0,
                    "there is no %sdevice %u%s%s%s: %u match, %u devices were found",
                    type_name(type), (unsigned)index, name ? " named \"" : "", name ? name : "",
                    name ? "\"" : "", (unsigned)count, (unsigned)rt->found_count);
}

cbk_status cbk_rt_device_describe(struct cbk_rt *rt, uint32_t type, uint32_t index,
                                  cbk_device_info *out) {
    const struct cbk_rt_found *found = cbk_rt_find(rt, type, index, NULL);
    if (!found) return cbk_rt_fail_not_found(rt, type, index, NULL);
    const uint32_t struct_size = out->struct_size;
    *out = found->info;
    out->struct_size = struct_size;
    return CBK_OK;
}
