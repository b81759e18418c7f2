/// cache_evict.c: keeps the cache directory within its limit.
///
/// Each process counts what it adds to what it found; other processes' additions are seen at the
/// next scan. A scan comes with the first entry stored and whenever the count exceeds the limit.
#include "cache_evict.h"

#include <stdlib.h>
#include <string.h>

#define TEMPORARY_LIFETIME_S 3600

struct found {
    char name[CBK_RT_CACHE_NAME_SIZE];
    uint64_t size;
    int64_t modified_s;
};

struct scan {
    const struct cbk_os_dir *dir;
    struct cbk_rt_bytes list; ///< of struct found
    uint64_t total_bytes;
    int64_t now_s;
};

static bool is_entry(const char *name) {
    return strlen(name) == CBK_RT_CACHE_NAME_SIZE - 1 &&
           strcmp(name + 32, CBK_RT_CACHE_SUFFIX) == 0;
}

/// Lists entries; removes temporaries that a writer has left behind.
static void visit_file(void *context, const char *name, uint64_t size, int64_t modified_s) {
    struct scan *scan = context;
    if (is_entry(name)) {
        struct found found = {.size = size, .modified_s = modified_s};
        memcpy(found.name, name, sizeof found.name);
        cbk_rt_bytes_add(&scan->list, &found, sizeof found);
        scan->total_bytes += size;
    } else if (strncmp(name, CBK_OS_TEMPORARY, strlen(CBK_OS_TEMPORARY)) == 0 &&
               scan->now_s - modified_s > TEMPORARY_LIFETIME_S) {
        (void)cbk_os_file_remove(scan->dir, name);
    }
}

static int oldest_first(const void *left, const void *right) {
    const struct found *a = left, *b = right;
    if (a->modified_s != b->modified_s) return a->modified_s < b->modified_s ? -1 : 1;
    return memcmp(a->name, b->name, sizeof a->name);
}

/// Removes the oldest entries until three quarters of the limit are left.
static void evict(struct scan *scan, uint64_t limit_bytes, const char *kept_name) {
    const uint64_t target = limit_bytes / 4 * 3;
    size_t count = scan->list.size / sizeof(struct found);
    struct found *entries = (struct found *)(void *)scan->list.data;

    if (count == 0) return;
    qsort(entries, count, sizeof *entries, oldest_first);
    for (size_t i = 0; i < count && scan->total_bytes > target; i++) {
        if (strcmp(entries[i].name, kept_name) == 0) continue;
        if (cbk_os_file_remove(scan->dir, entries[i].name) != 0) continue;
        scan->total_bytes -= entries[i].size;
    }
}

void cbk_rt_cache_account(struct cbk_rt *rt, struct cbk_rt_cache *cache,
                          const struct cbk_os_dir *dir, const char *kept_name, uint64_t size) {
    int lock;
    uint64_t estimate = atomic_fetch_add(&cache->estimate_bytes, size) + size;
    bool is_measured = atomic_exchange(&cache->is_measured, true);
    if (is_measured && estimate <= cache->limit_bytes) return;

    // Two evictors would do the same work twice; the second leaves it to the first.
    if (!cbk_os_dir_try_lock(dir, CBK_RT_CACHE_LOCK, &lock)) return;
    struct scan scan = {.dir = dir, .list.rt = rt, .now_s = cbk_os_wall_clock_s()};
    if (cbk_os_dir_visit(dir, visit_file, &scan) == 0) {
        if (scan.total_bytes > cache->limit_bytes) evict(&scan, cache->limit_bytes, kept_name);
        atomic_store(&cache->estimate_bytes, scan.total_bytes);
    }
    cbk_rt_bytes_free(&scan.list);
    cbk_os_dir_unlock(lock);
}
