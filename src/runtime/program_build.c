/// program_build.c: a program's handle: from the cache on disk, else from the compiler.
#include <string.h>

#include "hash.h"
#include "program.h"

enum { FIRST_DEFINES_SIZE = 1024 };

// ---- compiling ---------------------------------------------------------------------------------

bool cbk_rt_is_refusal(cl_int code) {
    return code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS;
}

static void add_compiler_log(const struct cbk_rt_device *device, cl_program program,
                             struct cbk_rt_bytes *out) {
    const struct cbk_rt_cl *cl = device->cl;
    size_t size = 0;
    if (cl->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) !=
            CL_SUCCESS ||
        size == 0) {
        return;
    }
    char *text = cbk_rt_host_alloc(device->rt, size);
    if (!text) return;
    if (cl->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, text, NULL) ==
        CL_SUCCESS) {
        text[size - 1] = 0;
        cbk_rt_bytes_print(out, "%s", text);
    }
    cbk_rt_host_free(device->rt, text, size);
}

cl_int cbk_rt_compile(struct cbk_rt_device *device, const char *text, size_t text_size,
                      const char *options, cl_program *out_handle, struct cbk_rt_bytes *out_log) {
    struct cbk_rt_programs *programs = device->programs;
    const struct cbk_rt_cl *cl = device->cl;
    const uint64_t start_ns = cbk_os_clock_ns();
    cl_int code = CL_SUCCESS;

    *out_handle = NULL;
    cl_program handle = cl->clCreateProgramWithSource(device->context, 1, &text, &text_size, &code);
    if (code != CL_SUCCESS) return code;
    code = cl->clBuildProgram(handle, 1, &device->id, options, NULL, NULL);
    atomic_fetch_add(&programs->build_ns, cbk_os_clock_ns() - start_ns);
    if (code != CL_SUCCESS) {
        if (cbk_rt_is_refusal(code)) add_compiler_log(device, handle, out_log);
        (void)cl->clReleaseProgram(handle);
        return code;
    }
    atomic_fetch_add(&programs->built_count, 1);
    *out_handle = handle;
    return CL_SUCCESS;
}

// ---- from the cache ----------------------------------------------------------------------------

/// Gives the binary to the driver. Also one that it accepts must be built (some drivers do nothing
/// before), and must have the entry that is wanted.
static cl_program use_binary(struct cbk_rt_device *device, const struct cbk_rt_cache_entry *entry,
                             const char *options, const char *kernel_name) {
    const struct cbk_rt_cl *cl = device->cl;
    cl_int code = CL_SUCCESS, binary_status = CL_SUCCESS;
    cl_program handle = cl->clCreateProgramWithBinary(
        device->context, 1, &device->id, &entry->payload_size,
        (const unsigned char **)&entry->payload, &binary_status, &code);
    if (code != CL_SUCCESS) return NULL;
    if (binary_status == CL_SUCCESS &&
        cl->clBuildProgram(handle, 1, &device->id, options, NULL, NULL) == CL_SUCCESS) {
        cl_kernel kernel = cl->clCreateKernel(handle, kernel_name, &code);
        if (code == CL_SUCCESS) {
            (void)cl->clReleaseKernel(kernel);
            return handle;
        }
    }
    (void)cl->clReleaseProgram(handle);
    return NULL;
}

static cl_program load(struct cbk_rt_device *device, const struct cbk_rt_cache_key *key,
                       const char *options, const struct cbk_rt_spec *spec) {
    struct cbk_rt_programs *programs = device->programs;
    struct cbk_rt_cache *cache = device->rt->cache;
    struct cbk_rt_cache_entry entry;

    switch (cbk_rt_cache_load(device->rt, cache, key, &entry)) {
    case CBK_RT_CACHE_MISS:
        atomic_fetch_add(&programs->miss_count, 1);
        return NULL;
    case CBK_RT_CACHE_REFUSED:
        atomic_fetch_add(&programs->refused_count, 1);
        return NULL;
    case CBK_RT_CACHE_HIT:
        break;
    }
    cl_program handle = use_binary(device, &entry, options, spec->entry);
    cbk_rt_cache_entry_free(device->rt, &entry);
    if (handle) {
        atomic_fetch_add(&programs->hit_count, 1);
        cbk_rt_log(device->rt, CBK_LOG_DEBUG, "program %s: from the cache", spec->source->name);
    } else {
        cbk_rt_cache_remove(cache, key);
        atomic_fetch_add(&programs->refused_count, 1);
        cbk_rt_log(device->rt, CBK_LOG_INFO, "program %s: the driver refused the cached binary",
                   spec->source->name);
    }
    return handle;
}

// ---- both --------------------------------------------------------------------------------------

/// Asks the spec for its defines, with as much room as they need.
static cbk_status describe(struct cbk_rt *rt, const struct cbk_rt_spec *spec,
                           struct cbk_rt_bytes *out) {
    char first[FIRST_DEFINES_SIZE];
    struct cbk_rt_text text = {.data = first, .capacity = sizeof first};
    if (spec->describe) spec->describe(spec, &text);
    if (text.size <= text.capacity) {
        cbk_rt_bytes_add(out, first, text.size);
    } else {
        text.capacity = text.size;
        text.data = cbk_rt_host_alloc(rt, text.capacity);
        if (text.data) {
            text.size = 0;
            spec->describe(spec, &text);
            cbk_rt_bytes_add(out, text.data, text.size < text.capacity ? text.size : text.capacity);
            cbk_rt_host_free(rt, text.data, text.capacity);
        } else {
            out->failed = true;
        }
    }
    if (!out->failed) return CBK_OK;
    return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for the defines of %s",
                    spec->source->name);
}

bool cbk_rt_program_agrees(const struct cbk_rt_program *program, const struct cbk_rt_spec *spec) {
    char first[4 * FIRST_DEFINES_SIZE];
    struct cbk_rt_text text = {.data = first, .capacity = sizeof first};
    if (spec->describe) spec->describe(spec, &text);
    return text.size > text.capacity || cbk_rt_checksum(first, text.size) == program->defines_sum;
}

/// The options behind the defines. A text that needs a later language says so in its defines.
static void choose_options(const struct cbk_rt_device *device, const char *defines,
                           struct cbk_rt_bytes *out) {
    const bool names_language = strstr(defines, "-cl-std=") != NULL;
    cbk_rt_bytes_print(out, "%s%s", names_language ? "" : "-cl-std=CL1.2",
                       device->programs->standard_options);
}

/// Keeps the key for the export; the program counts as unsaved from now on.
static void note_unsaved(struct cbk_rt_device *device, struct cbk_rt_program *program,
                         struct cbk_rt_bytes *key) {
    if (key->failed || key->size == 0 || !cbk_rt_cache_can_store(device->rt->cache)) return;
    program->cache_key = *key;
    *key = (struct cbk_rt_bytes){.rt = device->rt};
    atomic_store(&program->is_unsaved, true);
    atomic_fetch_add(&device->programs->unsaved_count, 1);
}

cbk_status cbk_rt_program_build(struct cbk_rt_device *device, const struct cbk_rt_spec *spec,
                                struct cbk_rt_program *program, bool *out_is_final) {
    struct cbk_rt *rt = device->rt;
    struct cbk_rt_bytes defines = {.rt = rt}, options = {.rt = rt}, key = {.rt = rt};
    struct cbk_rt_bytes log = {.rt = rt};
    cbk_status status = CBK_OK;

    *out_is_final = false;
    RT_TRY(cbk_rt_device_key(device));
    RT_TRY(describe(rt, spec, &defines));
    program->defines_sum = cbk_rt_checksum(defines.data, defines.size);
    choose_options(device, defines.data, &options);
    if (rt->cache->directory) {
        cbk_rt_program_key(device, spec->source, options.data, defines.data, &key);
    }
    cbk_rt_bytes_add(&options, defines.data, defines.size);
    if (options.failed) {
        status = cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for the options of %s",
                          spec->source->name);
        goto done;
    }

    if (key.size > 0 && !key.failed) {
        const struct cbk_rt_cache_key cache_key = {.text = key.data, .size = key.size};
        program->handle = load(device, &cache_key, options.data, spec);
        if (program->handle) goto done;
    }
    cl_int code = cbk_rt_compile(device, (const char *)spec->source->text, spec->source->size,
                                 options.data, &program->handle, &log);
    if (code == CL_SUCCESS) {
        cbk_rt_log(rt, CBK_LOG_DEBUG, "program %s%s: compiled", spec->source->name, defines.data);
        note_unsaved(device, program, &key);
    } else if (cbk_rt_is_refusal(code)) {
        *out_is_final = true;
        status = cbk_rt_program_report(device, program, code, options.data, &log);
    } else {
        status = cbk_rt_cl_fail(device, code, "clBuildProgram");
    }
done:
    cbk_rt_bytes_free(&log);
    cbk_rt_bytes_free(&key);
    cbk_rt_bytes_free(&options);
    cbk_rt_bytes_free(&defines);
    return status;
}
