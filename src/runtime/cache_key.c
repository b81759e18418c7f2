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

/// Adds "name text", in one line.
static void add_line(struct cbk_rt_bytes *key, const char *name, char *text) {
    for (char *c = text; *c; c++) {
        if (*c == '\n') *c = ' ';
    }
    cbk_rt_bytes_print(key, "%s %s\n", name, text);
}

static cbk_status add_texts(struct cbk_rt_device *device, struct cbk_rt_bytes *key) {
    static const struct {
        const char *name;
        cl_platform_info what;
    } platform_rows[] = {
        {"platform", CL_PLATFORM_NAME},
        {"platform-version", CL_PLATFORM_VERSION},
    };
    static const struct {
        const char *name;
        cl_device_info what;
    } device_rows[] = {
        {"device", CL_DEVICE_NAME},
        {"vendor", CL_DEVICE_VENDOR},
        {"version", CL_DEVICE_VERSION},
        {"driver", CL_DRIVER_VERSION},
        {"language", CL_DEVICE_OPENCL_C_VERSION},
    };
    const struct cbk_rt_cl *cl = device->cl;
    char text[TEXT_SIZE] = "";
    cbk_status status = CBK_OK;

    for (size_t i = 0; i < sizeof platform_rows / sizeof *platform_rows; i++) {
        CL_TRY(device, cl->clGetPlatformInfo(device->platform, platform_rows[i].what, sizeof text,
                                             text, NULL));
        add_line(key, platform_rows[i].name, text);
    }
    for (size_t i = 0; i < sizeof device_rows / sizeof *device_rows; i++) {
        CL_TRY(device,
               cl->clGetDeviceInfo(device->id, device_rows[i].what, sizeof text, text, NULL));
        add_line(key, device_rows[i].name, text);
    }
done:
    return status;
}

/// The OpenCL C versions that an OpenCL 3.0 driver lists; older drivers do not know the question.
static cbk_status add_language_versions(struct cbk_rt_device *device, struct cbk_rt_bytes *key) {
    cl_name_version versions[32];
    size_t size = 0;
    cl_int code = device->cl->clGetDeviceInfo(device->id, CL_DEVICE_OPENCL_C_ALL_VERSIONS,
                                              sizeof versions, versions, &size);
    if (code == CL_INVALID_VALUE) return CBK_OK;
    if (code != CL_SUCCESS) return cbk_rt_cl_fail(device, code, "clGetDeviceInfo");
    cbk_rt_bytes_print(key, "languages");
    for (size_t i = 0; i < size / sizeof *versions; i++) {
        cbk_rt_bytes_print(key, " %x", (unsigned)versions[i].version);
    }
    cbk_rt_bytes_print(key, "\n");
    return CBK_OK;
}

static cbk_status add_numbers(struct cbk_rt_device *device, struct cbk_rt_bytes *key) {
    const struct cbk_rt_cl *cl = device->cl;
    cl_uint vendor = 0, address_bits = 0;
    cl_device_type type = 0;
    cbk_status status = CBK_OK;

    CL_TRY(device,
           cl->clGetDeviceInfo(device->id, CL_DEVICE_VENDOR_ID, sizeof vendor, &vendor, NULL));
    CL_TRY(device, cl->clGetDeviceInfo(device->id, CL_DEVICE_ADDRESS_BITS, sizeof address_bits,
                                       &address_bits, NULL));
    CL_TRY(device, cl->clGetDeviceInfo(device->id, CL_DEVICE_TYPE, sizeof type, &type, NULL));
    cbk_rt_bytes_print(key, "vendor-id %x\naddress-bits %u\n", (unsigned)vendor,
                       (unsigned)address_bits);
    if (type & CL_DEVICE_TYPE_CPU) {
        // A home directory may be shared by hosts with different processors.
        char features[256];
        cbk_os_cpu_features(features, sizeof features);
        cbk_rt_bytes_print(key, "processor %s\n", features);
    }
done:
    return status;
}

/// Division and square root are to be rounded correctly wherever the device can. Warnings are off
/// because some drivers print them to the process' stderr.
static cbk_status choose_options(struct cbk_rt_device *device, const char **out_options) {
    cl_device_fp_config config = 0;
    cbk_status status = CBK_OK;
    CL_TRY(device, device->cl->clGetDeviceInfo(device->id, CL_DEVICE_SINGLE_FP_CONFIG,
                                               sizeof config, &config, NULL));
    *out_options = config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT
                       ? " -w -cl-fp32-correctly-rounded-divide-sqrt"
                       : " -w";
done:
    return status;
}

static cbk_status make_device_key(struct cbk_rt_device *device, struct cbk_rt_bytes *key) {
    cbk_status status = CBK_OK;
    cbk_rt_bytes_print(key, "cubeback %s cache %d backend %d\n", CBK_VERSION_STRING,
                       CBK_RT_CACHE_FORMAT, CBK_BACKEND_API_VERSION);
    RT_TRY(add_texts(device, key));
    RT_TRY(add_language_versions(device, key));
    RT_TRY(add_numbers(device, key));
    RT_TRY(choose_options(device, &device->programs->standard_options));
    cbk_rt_bytes_print(key, "%s", device->rt->cache->environment);
    if (!key->failed) return CBK_OK;
    status = cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for the device's key");
done:
    return status;
}

cbk_status cbk_rt_device_key(struct cbk_rt_device *device) {
    struct cbk_rt_programs *programs = device->programs;
    cbk_status status = CBK_OK;

    cbk_os_lock(&programs->key_mutex);
    if (programs->device_key.size == 0) {
        // A key that lacks a line could be another driver's: whole or not at all.
        status = make_device_key(device, &programs->device_key);
        if (status != CBK_OK) cbk_rt_bytes_free(&programs->device_key);
    }
    cbk_os_unlock(&programs->key_mutex);
    return status;
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
