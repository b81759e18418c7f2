/// cache.c: entries in a directory: loading and storing them.
#include "cache.h"

#include <errno.h>
#include <string.h>

#include "cache_evict.h"
#include "hash.h"

#define SECONDS_PER_DAY (24 * 3600)

/// An entry's file: 32 hexadecimal digits of the key's SHA-256.
static void entry_name(const struct cbk_rt_cache_key *key, char name[CBK_RT_CACHE_NAME_SIZE]) {
    uint8_t sum[CBK_RT_SHA256_SIZE];
    cbk_rt_sha256(key->text, key->size, sum);
    cbk_rt_hex(sum, 16, name);
    memcpy(name + 32, CBK_RT_CACHE_SUFFIX, sizeof CBK_RT_CACHE_SUFFIX);
}

// ---- loading -----------------------------------------------------------------------------------

/// Reads an open file into `out->memory` and verifies it.
static bool read_entry(struct cbk_rt *rt, const struct cbk_os_file *file,
                       const struct cbk_rt_cache_key *key, struct cbk_rt_cache_entry *out) {
    if (file->size < CBK_RT_CACHE_HEADER_SIZE || file->size > CBK_RT_CACHE_MAX_FILE) return false;
    size_t size = (size_t)file->size;
    void *memory = cbk_rt_host_alloc(rt, size);
    if (!memory) return false;
    *out = (struct cbk_rt_cache_entry){.memory = memory, .memory_size = size};
    if (cbk_os_file_read(file, memory, size) == 0 &&
        cbk_rt_cache_verify(memory, size, key, &out->payload, &out->payload_size)) {
        return true;
    }
    cbk_rt_cache_entry_free(rt, out);
    return false;
}

static enum cbk_rt_cache_result load_from(struct cbk_rt *rt, const struct cbk_rt_cache *cache,
                                          const struct cbk_os_dir *dir,
                                          const struct cbk_rt_cache_key *key,
                                          struct cbk_rt_cache_entry *out) {
    char name[CBK_RT_CACHE_NAME_SIZE];
    struct cbk_os_file file;

    entry_name(key, name);
    int error = cbk_os_file_open(dir, name, &file);
    bool is_good = false;
    if (error == 0) {
        is_good = read_entry(rt, &file, key, out);
        // The time of last change tells eviction what is in use; a day is exact enough.
        const int64_t age = cbk_os_wall_clock_s() - file.modified_s;
        if (is_good && !cache->is_read_only && age > SECONDS_PER_DAY) cbk_os_file_touch(&file);
        cbk_os_file_close(&file);
    } else if (error != EPERM && error != ELOOP) {
        return CBK_RT_CACHE_MISS;
    }
    if (is_good) return CBK_RT_CACHE_HIT;
    if (!cache->is_read_only) (void)cbk_os_file_remove(dir, name);
    return CBK_RT_CACHE_REFUSED;
}

enum cbk_rt_cache_result cbk_rt_cache_load(struct cbk_rt *rt, struct cbk_rt_cache *cache,
                                           const struct cbk_rt_cache_key *key,
                                           struct cbk_rt_cache_entry *out) {
    struct cbk_os_dir dir;

    *out = (struct cbk_rt_cache_entry){0};
    if (!cache->directory || cbk_os_dir_open(cache->directory, false, &dir) != 0) {
        return CBK_RT_CACHE_MISS;
    }
    enum cbk_rt_cache_result result = load_from(rt, cache, &dir, key, out);
    cbk_os_dir_close(&dir);
    return result;
}

void cbk_rt_cache_entry_free(struct cbk_rt *rt, struct cbk_rt_cache_entry *entry) {
    if (entry->memory) cbk_rt_host_free(rt, entry->memory, entry->memory_size);
    *entry = (struct cbk_rt_cache_entry){0};
}

void cbk_rt_cache_remove(struct cbk_rt_cache *cache, const struct cbk_rt_cache_key *key) {
    char name[CBK_RT_CACHE_NAME_SIZE];
    struct cbk_os_dir dir;

    if (!cache->directory || cache->is_read_only) return;
    if (cbk_os_dir_open(cache->directory, false, &dir) != 0) return;
    entry_name(key, name);
    (void)cbk_os_file_remove(&dir, name);
    cbk_os_dir_close(&dir);
}

// ---- storing -----------------------------------------------------------------------------------

bool cbk_rt_cache_can_store(const struct cbk_rt_cache *cache) {
    return cache->directory && !cache->is_read_only &&
           !atomic_load_explicit(&cache->writes_off, memory_order_relaxed);
}

/// The disk is full, read-only or not ours: it will be so for the next program too.
static void stop_writing(struct cbk_rt *rt, struct cbk_rt_cache *cache, int error) {
    if (atomic_exchange(&cache->writes_off, true)) return;
    const char *reason = strerror(error);
    if (error == EPERM) reason = "others than this user own it or can write to it";
    cbk_rt_log(rt, CBK_LOG_WARNING, "nothing is written to the program cache %s: %s",
               cache->directory, reason);
}

bool cbk_rt_cache_store(struct cbk_rt *rt, struct cbk_rt_cache *cache,
                        const struct cbk_rt_cache_key *key, const void *payload,
                        size_t payload_size) {
    uint8_t header[CBK_RT_CACHE_HEADER_SIZE];
    char name[CBK_RT_CACHE_NAME_SIZE];
    struct cbk_os_dir dir;
    const uint64_t size = (uint64_t)sizeof header + key->size + payload_size;

    if (!cbk_rt_cache_can_store(cache)) return false;
    if (size > CBK_RT_CACHE_MAX_FILE || size > cache->limit_bytes) return false;
    int error = cbk_os_dir_open(cache->directory, true, &dir);
    if (error != 0) {
        stop_writing(rt, cache, error);
        return false;
    }

    // No fsync: a file that a power cut has emptied is refused by its sums.
    cbk_rt_cache_header(key, payload, payload_size, header);
    entry_name(key, name);
    const struct cbk_os_piece pieces[] = {
        {header, sizeof header}, {key->text, key->size}, {payload, payload_size}};
    error = cbk_os_file_replace(&dir, name, pieces, sizeof pieces / sizeof *pieces);
    if (error == 0) {
        cbk_rt_cache_account(rt, cache, &dir, name, size);
    } else {
        stop_writing(rt, cache, error);
    }
    cbk_os_dir_close(&dir);
    return error == 0;
}
