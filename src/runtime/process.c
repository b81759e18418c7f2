/// process.c: what belongs to the process rather than to a device: function table, host allocator,
/// log, environment.
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_LINE_SIZE = 1024 };

static const struct {
    const char *name;
    uint32_t level;
} log_levels[] = {
    {"error", CBK_LOG_ERROR},
    {"warning", CBK_LOG_WARNING},
    {"info", CBK_LOG_INFO},
    {"debug", CBK_LOG_DEBUG},
};

/// Parameters win over CUBEBACK_LOG; without either, warnings and errors are reported.
static uint32_t choose_log_level(const cbk_backend_params *params) {
    const bool may_ask = !(params->flags & CBK_NO_ENVIRONMENT);
    const char *text = may_ask ? cbk_os_environment("CUBEBACK_LOG") : NULL;
    if (params->log_level) return params->log_level;
    for (size_t i = 0; text && i < sizeof log_levels / sizeof *log_levels; i++) {
        if (strcmp(text, log_levels[i].name) == 0) return log_levels[i].level;
    }
    return CBK_LOG_WARNING;
}

static void *default_allocate(void *user_data, size_t size, size_t alignment) {
    (void)user_data;
    (void)alignment;
    return calloc(1, size);
}

static void default_free(void *user_data, void *memory, size_t size) {
    (void)user_data;
    (void)size;
    free(memory);
}

static void take_params(struct cbk_rt *rt, const cbk_backend_params *params) {
    const bool has_allocator = params->allocate && params->free;
    rt->flags = params->flags;
    rt->log_level = choose_log_level(params);
    rt->log = params->log;
    rt->log_user_data = params->log_user_data;
    rt->allocate = has_allocator ? params->allocate : default_allocate;
    rt->free = has_allocator ? params->free : default_free;
    rt->allocator_user_data = params->allocator_user_data;
}

cbk_status cbk_rt_create(const cbk_backend_params *params, const struct cbk_rt_cl *cl,
                         struct cbk_rt **out) {
    const cbk_backend_params defaults = CBK_INIT(cbk_backend_params);
    struct cbk_rt start = {0};
    struct cbk_rt *rt = NULL;
    cbk_status status = CBK_OK;

    *out = NULL;
    if (!params) params = &defaults;
    if (!params->allocate != !params->free) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                        "backend_create: allocate and free must be given together");
    }
    take_params(&start, params);
    rt = cbk_rt_host_alloc(&start, sizeof *rt);
    if (!rt) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0,
                        "backend_create: no host memory for %zu bytes", sizeof *rt);
    }
    *rt = start;
    if (cl) {
        rt->cl = *cl;
    } else {
        RT_TRY(cbk_rt_cl_load(&rt->cl, &rt->library));
    }
    cbk_os_fork_mark_init(&rt->fork_mark);
    RT_TRY(cbk_rt_discover(rt));
    RT_TRY(cbk_rt_cache_create(rt, params, &rt->cache));
    *out = rt;
    rt = NULL;
done:
    cbk_rt_destroy(&rt);
    return status;
}

void cbk_rt_destroy(struct cbk_rt **handle) {
    struct cbk_rt *rt = *handle;
    *handle = NULL;
    if (!rt) return;
    if (rt->cache) cbk_rt_cache_destroy(rt, &rt->cache);
    cbk_rt_host_free(rt, rt->found, rt->found_capacity * sizeof *rt->found);
    cbk_os_fork_mark_finish(&rt->fork_mark);
    cbk_rt_cl_unload(&rt->library);
    cbk_rt_host_free(rt, rt, sizeof *rt);
}

uint32_t cbk_rt_flags(const struct cbk_rt *rt) {
    return rt->flags;
}

// ---- host memory ---------------------------------------------------------------------------------

void *cbk_rt_host_alloc(struct cbk_rt *rt, size_t size) {
    void *memory = rt->allocate(rt->allocator_user_data, size, 64);
    // calloc has zeroed it, and need not touch fresh pages for that.
    if (memory && rt->allocate != default_allocate) memset(memory, 0, size);
    return memory;
}

void cbk_rt_host_free(struct cbk_rt *rt, void *memory, size_t size) {
    if (memory) rt->free(rt->allocator_user_data, memory, size);
}

// ---- log -----------------------------------------------------------------------------------------

void cbk_rt_log(struct cbk_rt *rt, uint32_t level, const char *format, ...) {
    char line[LOG_LINE_SIZE];
    va_list arguments;
    if (!rt->log || level > rt->log_level) return;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    rt->log(rt->log_user_data, level, line);
}
