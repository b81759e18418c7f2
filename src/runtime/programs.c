/// programs.c: a device's programs as a whole: life, counters, export to the cache.
///
/// Reading a program's binary out of the driver can be slow (PoCL compiles a generic form of each
/// kernel first), so it never happens inside a launch: only while a stream has nothing to do, as a
/// small share of the time since the device was opened, and for a bounded time at close.
#include "program.h"

enum {
    EXPORT_SHARE = 50, ///< idle exports take at most 1/50 of the time
    NS_PER_MS = 1000000,
    SLOW_EXPORT_NS = 200 * NS_PER_MS, ///< first guess for PoCL
    FAST_EXPORT_NS = NS_PER_MS        ///< and for others
};
#define CLOSE_BUDGET_NS ((uint64_t)2000 * NS_PER_MS)

// ---- life --------------------------------------------------------------------------------------

cbk_status cbk_rt_programs_create(struct cbk_rt_device *device, struct cbk_rt_programs **out) {
    struct cbk_rt *rt = device->rt;
    *out = NULL;
    struct cbk_rt_programs *programs = cbk_rt_host_alloc(rt, sizeof *programs);
    if (!programs) goto no_memory;
    if (!cbk_os_mutex_init(&programs->mutex)) goto no_mutex;
    if (!cbk_os_mutex_init(&programs->key_mutex)) goto no_key_mutex;
    if (!cbk_os_condition_init(&programs->built)) goto no_condition;
    programs->device_key.rt = rt;
    programs->standard_options = "";
    atomic_flag_clear(&programs->is_exporting);
    programs->opened_ns = cbk_os_clock_ns();
    programs->export_estimate_ns = device->caps.is_pocl ? SLOW_EXPORT_NS : FAST_EXPORT_NS;
    *out = programs;
    return CBK_OK;

no_condition:
    cbk_os_mutex_finish(&programs->key_mutex);
no_key_mutex:
    cbk_os_mutex_finish(&programs->mutex);
no_mutex:
    cbk_rt_host_free(rt, programs, sizeof *programs);
no_memory:
    return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for the device's programs");
}

static void free_program(struct cbk_rt_device *device, struct cbk_rt_program *program) {
    if (program->handle) (void)device->cl->clReleaseProgram(program->handle);
    cbk_rt_bytes_free(&program->cache_key);
    cbk_rt_bytes_free(&program->failure);
    cbk_rt_host_free(device->rt, program, sizeof *program);
}

const char *cbk_rt_programs_build_log(const struct cbk_rt_programs *programs) {
    const char *text = atomic_load_explicit(&programs->build_log, memory_order_acquire);
    return text ? text : "";
}

void cbk_rt_programs_counters(struct cbk_rt_programs *programs, cbk_counters *out) {
    out->programs_built = atomic_load(&programs->built_count);
    out->build_ns = atomic_load(&programs->build_ns);
    out->cache_hits = atomic_load(&programs->hit_count);
    out->cache_misses = atomic_load(&programs->miss_count);
    out->cache_refused = atomic_load(&programs->refused_count);
    out->cache_stored = atomic_load(&programs->stored_count);
}

void cbk_rt_program_note_launch(struct cbk_rt_program *program) {
    atomic_store_explicit(&program->was_launched, true, memory_order_relaxed);
}

// ---- export ------------------------------------------------------------------------------------

static void store_binary(struct cbk_rt_device *device, const struct cbk_rt_program *program) {
    const struct cbk_rt_cl *cl = device->cl;
    const struct cbk_rt_cache_key key = {.text = program->cache_key.data,
                                         .size = program->cache_key.size};
    size_t size = 0;
    if (cl->clGetProgramInfo(program->handle, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) !=
            CL_SUCCESS ||
        size == 0 || size > CBK_RT_CACHE_MAX_FILE) {
        return;
    }
    unsigned char *binary = cbk_rt_host_alloc(device->rt, size);
    if (!binary) return;
    if (cl->clGetProgramInfo(program->handle, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) ==
            CL_SUCCESS &&
        cbk_rt_cache_store(device->rt, device->rt->cache, &key, binary, size)) {
        atomic_fetch_add(&device->programs->stored_count, 1);
    }
    cbk_rt_host_free(device->rt, binary, size);
}

/// One try per program, whatever comes of it.
static void export_program(struct cbk_rt_device *device, struct cbk_rt_program *program) {
    struct cbk_rt_programs *programs = device->programs;
    const uint64_t start_ns = cbk_os_clock_ns();
    store_binary(device, program);
    cbk_rt_bytes_free(&program->cache_key);
    atomic_store(&program->is_unsaved, false);
    atomic_fetch_sub(&programs->unsaved_count, 1);
    programs->export_estimate_ns = cbk_os_clock_ns() - start_ns;
    programs->export_ns += programs->export_estimate_ns;
}

/// What was built and never launched is not worth a slow export.
static bool is_exportable(const struct cbk_rt_device *device,
                          const struct cbk_rt_program *program) {
    return atomic_load(&program->is_unsaved) &&
           (atomic_load(&program->was_launched) || !device->caps.is_pocl);
}

static void export_within(struct cbk_rt_device *device, uint64_t budget_ns) {
    struct cbk_rt_programs *programs = device->programs;
    const uint64_t start_ns = programs->export_ns;
    if (!cbk_rt_cache_can_store(device->rt->cache)) return;
    for (struct cbk_rt_program *p = atomic_load(&programs->first); p; p = atomic_load(&p->next)) {
        if (!is_exportable(device, p)) continue;
        if (programs->export_ns - start_ns + programs->export_estimate_ns > budget_ns) return;
        export_program(device, p);
    }
}

void cbk_rt_programs_idle(struct cbk_rt_device *device) {
    struct cbk_rt_programs *programs = device->programs;
    if (atomic_load_explicit(&programs->unsaved_count, memory_order_relaxed) == 0) return;
    if (atomic_flag_test_and_set(&programs->is_exporting)) return;
    const uint64_t share_ns = (cbk_os_clock_ns() - programs->opened_ns) / EXPORT_SHARE;
    if (share_ns > programs->export_ns) export_within(device, share_ns - programs->export_ns);
    atomic_flag_clear(&programs->is_exporting);
}

void cbk_rt_programs_destroy(struct cbk_rt_device *device, struct cbk_rt_programs **programs) {
    struct cbk_rt_programs *old = *programs;
    if (!old) return;
    if (cbk_rt_device_check(device) == CBK_OK) export_within(device, CLOSE_BUDGET_NS);
    *programs = NULL;

    for (struct cbk_rt_program *p = atomic_load(&old->first), *next; p; p = next) {
        next = atomic_load(&p->next);
        free_program(device, p);
    }
    for (struct cbk_rt_verdict *v = old->verdicts, *next; v; v = next) {
        next = v->next;
        cbk_rt_host_free(device->rt, v, sizeof *v);
    }
    cbk_rt_bytes_free(&old->device_key);
    cbk_os_condition_finish(&old->built);
    cbk_os_mutex_finish(&old->key_mutex);
    cbk_os_mutex_finish(&old->mutex);
    cbk_rt_host_free(device->rt, old, sizeof *old);
}
