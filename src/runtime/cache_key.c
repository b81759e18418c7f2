/// cache_key.c: the key of a program: everything that can change its binary, as readable lines.
///
/// Not in it: addresses, times, the platform's position in the list, memory sizes (PoCL reports
/// other ones from run to run).
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "program.h"

enum { TEXT_SIZE = 1024, MAX_DEFINES = 256 };

// ---- the device's part -------------------------------------------------------------------------

static void add_line(struct cbk_rt_bytes *key, const char *name, char *text) {
    for (char *c = text; *c; c++) {
        if (*c == '\n') *c = ' ';
    }
    cbk_rt_bytes_print(key, "%s %s\n", name, text);
}

static void add_texts(const struct cbk_rt_device *device, struct cbk_rt_bytes *key) {
    static const struct {
        const char *name;
        cl_device_info what;
    } rows[] = {
        {"device", CL_DEVICE_NAME},
        {"vendor", CL_DEVICE_VENDOR},
        {"version", CL_DEVICE_VERSION},
        {"driver", CL_DRIVER_VERSION},
        {"language", CL_DEVICE_OPENCL_C_VERSION},
    };
    char text[TEXT_SIZE];
    cbk_rt_platform_text(device->rt, device->platform, CL_PLATFORM_NAME, text, sizeof text);
    add_line(key, "platform", text);
    cbk_rt_platform_text(device->rt, device->platform, CL_PLATFORM_VERSION, text, sizeof text);
    add_line(key, "platform-version", text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cbk_rt_device_text(device->rt, device->id, rows[i].what, text, sizeof text);
        add_line(key, rows[i].name, text);
    }
}

/// The OpenCL C versions that an OpenCL 3.0 driver lists; older drivers refuse the question.
static void add_language_versions(const struct cbk_rt_device *device, struct cbk_rt_bytes *key) {
    cl_name_version versions[32];
    size_t size = 0;
    if (device->cl->clGetDeviceInfo(device->id, CL_DEVICE_OPENCL_C_ALL_VERSIONS, sizeof versions,
                                    versions, &size) != CL_SUCCESS) {
        return;
    }
    cbk_rt_bytes_print(key, "languages");
    for (size_t i = 0; i < size / sizeof *versions && i < 32; i++) {
        cbk_rt_bytes_print(key, " %x", (unsigned)versions[i].version);
    }
    cbk_rt_bytes_print(key, "\n");
}

static void add_numbers(const struct cbk_rt_device *device, struct cbk_rt_bytes *key) {
    cl_uint vendor = 0, address_bits = 0;
    cl_device_type type = 0;
    const struct cbk_rt_cl *cl = device->cl;
    (void)cl->clGetDeviceInfo(device->id, CL_DEVICE_VENDOR_ID, sizeof vendor, &vendor, NULL);
    (void)cl->clGetDeviceInfo(device->id, CL_DEVICE_ADDRESS_BITS, sizeof address_bits,
                              &address_bits, NULL);
    (void)cl->clGetDeviceInfo(device->id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    cbk_rt_bytes_print(key, "vendor-id %x\naddress-bits %u\n", (unsigned)vendor,
                       (unsigned)address_bits);
    if (type & CL_DEVICE_TYPE_CPU) {
        // A home directory may be shared by hosts with different processors.
        char features[256];
        cbk_os_cpu_features(features, sizeof features);
        cbk_rt_bytes_print(key, "processor %s\n", features);
    }
}

/// Division and square root are to be rounded correctly wherever the device can.
static const char *choose_options(const struct cbk_rt_device *device) {
    cl_device_fp_config config = 0;
    (void)device->cl->clGetDeviceInfo(device->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config,
                                      &config, NULL);
    return config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ? " -cl-fp32-correctly-rounded-divide-sqrt"
                                                        : "";
}

cbk_status cbk_rt_device_key(struct cbk_rt_device *device) {
    struct cbk_rt_programs *programs = device->programs;
    struct cbk_rt_bytes *key = &programs->device_key;

    cbk_os_lock(&programs->key_mutex);
    if (key->size == 0) {
        cbk_rt_bytes_print(key, "cubeback %s cache %d backend %d\n", CBK_VERSION_STRING,
                           CBK_RT_CACHE_FORMAT, CBK_BACKEND_API_VERSION);
        add_texts(device, key);
        add_language_versions(device, key);
        add_numbers(device, key);
        cbk_rt_bytes_print(key, "%s", device->rt->cache->environment);
        programs->standard_options = choose_options(device);
        if (key->failed) cbk_rt_bytes_free(key);
    }
    const bool is_there = key->size > 0;
    cbk_os_unlock(&programs->key_mutex);
    if (is_there) return CBK_OK;
    return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for the device's cache key");
}

// ---- the program's part ------------------------------------------------------------------------

static int by_text(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/// Adds " -DX=1 -DY=2" as sorted lines; what is past MAX_DEFINES stays one text.
static void add_defines(struct cbk_rt_bytes *key, const char *defines) {
    char *found[MAX_DEFINES];
    size_t count = 0;
    struct cbk_rt_bytes copy = {.rt = key->rt};

    cbk_rt_bytes_print(&copy, "%s", defines);
    if (copy.failed) {
        key->failed = true;
        return;
    }
    for (char *at = copy.data; at && count < MAX_DEFINES;) {
        char *next = count < MAX_DEFINES - 1 ? strstr(at, " -D") : NULL;
        if (next) *next++ = 0;
        if (*at) found[count++] = at;
        at = next;
    }
    qsort(found, count, sizeof *found, by_text);
    for (size_t i = 0; i < count; i++) cbk_rt_bytes_print(key, "define %s\n", found[i]);
    cbk_rt_bytes_free(&copy);
}

void cbk_rt_program_key(struct cbk_rt_device *device, const struct cbk_rt_source *source,
                        const char *options, const char *defines, struct cbk_rt_bytes *out) {
    const struct cbk_rt_bytes *device_key = &device->programs->device_key;
    uint8_t sum[CBK_RT_SHA256_SIZE];
    char digits[2 * CBK_RT_SHA256_SIZE + 1];

    cbk_rt_sha256(source->text, source->size, sum);
    cbk_rt_hex(sum, sizeof sum, digits);
    cbk_rt_bytes_add(out, device_key->data, device_key->size);
    cbk_rt_bytes_print(out, "program %s\nsource %zu %s\noptions %s\n", source->name, source->size,
                       digits, options);
    add_defines(out, defines);
}
