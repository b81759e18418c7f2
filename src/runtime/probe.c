/// probe.c: does a text build on this device? Verdicts are kept in memory and on disk.
///
/// A verdict's key has the device's part (driver and versions) and the text: a new driver is asked
/// anew.
#include <string.h>

#include "hash.h"
#include "program.h"

/// The verdict about a text, from memory. Under the mutex.
static const struct cbk_rt_verdict *find_verdict(const struct cbk_rt_programs *programs,
                                                 const uint8_t sum[CBK_RT_SHA256_SIZE]) {
    for (const struct cbk_rt_verdict *v = programs->verdicts; v; v = v->next) {
        if (memcmp(v->sum, sum, CBK_RT_SHA256_SIZE) == 0) return v;
    }
    return NULL;
}

/// Without host memory nothing is remembered, and that is all.
static void remember(struct cbk_rt_device *device, const uint8_t sum[CBK_RT_SHA256_SIZE],
                     bool builds) {
    struct cbk_rt_programs *programs = device->programs;
    struct cbk_rt_verdict *verdict = cbk_rt_host_alloc(device->rt, sizeof *verdict);
    if (!verdict) return;
    memcpy(verdict->sum, sum, sizeof verdict->sum);
    verdict->builds = builds;
    cbk_os_lock(&programs->mutex);
    verdict->next = programs->verdicts;
    programs->verdicts = verdict;
    cbk_os_unlock(&programs->mutex);
}

/// "1" or "0" on disk; false if there is none.
static bool load_verdict(struct cbk_rt_device *device, const struct cbk_rt_cache_key *key,
                         bool *out_builds) {
    struct cbk_rt_cache_entry entry;
    if (cbk_rt_cache_load(device->rt, device->rt->cache, key, &entry) != CBK_RT_CACHE_HIT) {
        return false;
    }
    bool is_verdict = entry.payload_size == 1;
    if (is_verdict) *out_builds = entry.payload[0] == '1';
    cbk_rt_cache_entry_free(device->rt, &entry);
    return is_verdict;
}

cbk_status cbk_rt_probe_build(struct cbk_rt_device *device, const char *name, const char *text,
                              bool *out_builds) {
    struct cbk_rt_programs *programs = device->programs;
    struct cbk_rt *rt = device->rt;
    struct cbk_rt_bytes key = {.rt = rt}, options = {.rt = rt}, log = {.rt = rt};
    const struct cbk_rt_source source = {name, (const unsigned char *)text, strlen(text)};
    uint8_t sum[CBK_RT_SHA256_SIZE];
    cbk_status status = CBK_OK;

    *out_builds = false;
    RT_TRY(cbk_rt_device_check(device));
    cbk_rt_sha256(text, source.size, sum);
    cbk_os_lock(&programs->mutex);
    const struct cbk_rt_verdict *verdict = find_verdict(programs, sum);
    if (verdict) *out_builds = verdict->builds;
    cbk_os_unlock(&programs->mutex);
    if (verdict) goto done;

    RT_TRY(cbk_rt_device_key(device));
    cbk_rt_bytes_print(&options, "-cl-std=CL1.2%s", programs->standard_options);
    cbk_rt_program_key(device, &source, options.data, "", &key);
    cbk_rt_bytes_print(&key, "probe\n");
    if (key.failed || options.failed) {
        status = cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for probe %s", name);
        goto done;
    }
    const struct cbk_rt_cache_key cache_key = {.text = key.data, .size = key.size};
    if (!load_verdict(device, &cache_key, out_builds)) {
        cl_program handle = NULL;
        cl_int code = cbk_rt_compile(device, text, source.size, options.data, &handle, &log);
        if (code != CL_SUCCESS && !cbk_rt_is_refusal(code)) {
            status = cbk_rt_cl_fail(device, code, "clBuildProgram");
            goto done;
        }
        if (handle) (void)device->cl->clReleaseProgram(handle);
        *out_builds = code == CL_SUCCESS;
        (void)cbk_rt_cache_store(rt, rt->cache, &cache_key, *out_builds ? "1" : "0", 1);
    }
    remember(device, sum, *out_builds);
done:
    cbk_rt_bytes_free(&log);
    cbk_rt_bytes_free(&options);
    cbk_rt_bytes_free(&key);
    return status;
}
