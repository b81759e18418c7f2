/// cache_settings.c: where the cache is, and what the environment adds to every key.
#include <stdio.h>
#include <string.h>

#include "cache.h"
#include "hash.h"
#include "os.h"
#include "programs.h"

#define DEFAULT_LIMIT_BYTES ((uint64_t)512 << 20)

static char *copy_text(struct cbk_rt *rt, const char *text, size_t *out_size) {
    size_t size = strlen(text) + 1;
    char *copy = cbk_rt_host_alloc(rt, size);
    if (copy) memcpy(copy, text, size);
    *out_size = copy ? size : 0;
    return copy;
}

// ---- the place ---------------------------------------------------------------------------------

/// Appends `directory` + `rest`, if that is an absolute path.
static bool is_place(struct cbk_rt_bytes *path, const char *directory, const char *rest) {
    if (!directory || directory[0] != '/') return false;
    cbk_rt_bytes_print(path, "%s%s", directory, rest);
    return true;
}

/// The place that the environment names. Never one that all users share, such as /tmp: anybody
/// could put machine code there. Empty: none.
static void place_from_environment(struct cbk_rt_bytes *path) {
    const char *named = cbk_os_environment("CUBEBACK_CACHE_DIR");
    if (named) {
        cbk_rt_bytes_print(path, "%s", named);
        return;
    }
    if (is_place(path, cbk_os_environment("XDG_CACHE_HOME"), "/cubeback")) return;
#if defined(__APPLE__)
    (void)is_place(path, cbk_os_environment("HOME"), "/Library/Caches/cubeback");
#else
    (void)is_place(path, cbk_os_environment("HOME"), "/.cache/cubeback");
#endif
}

// ---- variables that change a driver's compiler -------------------------------------------------

/// Names of variables; one that ends with '*' stands for all that start so.
static const char *const compiler_variables[] = {
    "POCL_WORK_GROUP_METHOD",
    "POCL_WORK_GROUP_SPECIALIZATION",
    "POCL_EXTRA_BUILD_FLAGS",
    "POCL_VECTORIZER_*",
    "POCL_BITCODE_FINALIZER",
    "POCL_BINARY_SPECIALIZE_WG",
    "IGC_*",
    "CL_CONFIG_*",
    "AMD_OCL_BUILD_OPTIONS*",
};

static bool is_compiler_variable(const char *name, size_t size) {
    for (size_t i = 0; i < sizeof compiler_variables / sizeof *compiler_variables; i++) {
        const char *pattern = compiler_variables[i];
        size_t length = strlen(pattern);
        if (pattern[length - 1] == '*') {
            if (size >= length - 1 && memcmp(name, pattern, length - 1) == 0) return true;
        } else if (size == length && memcmp(name, pattern, length) == 0) {
            return true;
        }
    }
    return false;
}

/// Adds the sum of all such variables' "NAME=value" texts: the order of an environment means
/// nothing, and unset differs from empty.
static void add_compiler_variables(struct cbk_rt_bytes *out) {
    uint8_t total[CBK_RT_SHA256_SIZE] = {0};
    char digits[2 * CBK_RT_SHA256_SIZE + 1];
    const char *entry;
    bool any = false;

    for (size_t i = 0; (entry = cbk_os_environment_entry(i)) != NULL; i++) {
        const char *sign = strchr(entry, '=');
        if (!sign || !is_compiler_variable(entry, (size_t)(sign - entry))) continue;
        uint8_t sum[CBK_RT_SHA256_SIZE];
        cbk_rt_sha256(entry, strlen(entry), sum);
        for (size_t j = 0; j < sizeof sum; j++) total[j] = (uint8_t)(total[j] ^ sum[j]);
        any = true;
    }
    if (!any) return;
    cbk_rt_hex(total, sizeof total, digits);
    cbk_rt_bytes_print(out, "environment %s\n", digits);
}

// ---- life --------------------------------------------------------------------------------------

cbk_status cbk_rt_cache_create(struct cbk_rt *rt, const cbk_backend_params *params,
                               struct cbk_rt_cache **out) {
    const uint32_t flags = params ? params->flags : 0;
    const bool reads_environment = (flags & CBK_NO_ENVIRONMENT) == 0;
    struct cbk_rt_bytes place = {.rt = rt}, variables = {.rt = rt};
    struct cbk_rt_cache *cache = cbk_rt_host_alloc(rt, sizeof *cache);

    *out = NULL;
    if (!cache) goto no_memory;
    cache->is_read_only = (flags & CBK_CACHE_READ_ONLY) != 0;
    cache->limit_bytes = params ? params->cache_limit_bytes : 0;
    if (cache->limit_bytes == 0) cache->limit_bytes = DEFAULT_LIMIT_BYTES;
    if (params && params->cache_directory) {
        cbk_rt_bytes_print(&place, "%s", params->cache_directory);
    } else if (reads_environment) {
        place_from_environment(&place);
    }
    if (reads_environment) add_compiler_variables(&variables);
    if (place.failed || variables.failed) goto no_memory;

    if (place.size > 0) {
        cache->directory = copy_text(rt, place.data, &cache->directory_size);
        if (!cache->directory) goto no_memory;
    }
    cache->environment =
        copy_text(rt, variables.size > 0 ? variables.data : "", &cache->environment_size);
    if (!cache->environment) goto no_memory;
    cbk_rt_bytes_free(&place);
    cbk_rt_bytes_free(&variables);
    *out = cache;
    return CBK_OK;

no_memory:
    cbk_rt_bytes_free(&place);
    cbk_rt_bytes_free(&variables);
    cbk_rt_cache_destroy(rt, &cache);
    return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for the cache's settings");
}

void cbk_rt_cache_destroy(struct cbk_rt *rt, struct cbk_rt_cache **cache) {
    struct cbk_rt_cache *old = *cache;
    if (!old) return;
    *cache = NULL;
    if (old->directory) cbk_rt_host_free(rt, old->directory, old->directory_size);
    if (old->environment) cbk_rt_host_free(rt, old->environment, old->environment_size);
    cbk_rt_host_free(rt, old, sizeof *old);
}
