/// cache.h: the cache on disk: entries found and stored by key. Private to the program files.
///
/// A key is readable text. An entry is one file, named by the key's SHA-256, that holds the key and
/// a payload; nothing of it is handed out before sums and key have been compared. No failure here
/// is an error of the caller: a cache that does not work only costs time.
#ifndef CUBEBACK_RUNTIME_CACHE_H
#define CUBEBACK_RUNTIME_CACHE_H

#include <stdatomic.h>

#include "runtime.h"

/// Grows whenever keys or files change their meaning.
#define CBK_RT_CACHE_FORMAT 1
#define CBK_RT_CACHE_HEADER_SIZE 48
#define CBK_RT_CACHE_MAX_FILE ((uint64_t)256 << 20)

struct cbk_rt_cache {
    char *directory;   ///< NULL: nothing is kept
    char *environment; ///< key lines of the variables that change a driver's compiler
    size_t directory_size, environment_size;
    uint64_t limit_bytes;
    bool is_read_only;
    atomic_bool writes_off;  ///< full or read-only disk: no more attempts in this process
    atomic_bool is_measured; ///< `estimate_bytes` counts what was there before
    atomic_uint_least64_t estimate_bytes;
};

/// A growing piece of host memory; `failed` after the allocator has refused.
struct cbk_rt_bytes {
    struct cbk_rt *rt;
    char *data;
    size_t size, capacity;
    bool failed;
};
void cbk_rt_bytes_add(struct cbk_rt_bytes *bytes, const void *data, size_t size);
/// A zero is kept behind the end, not counted in `size`.
void cbk_rt_bytes_print(struct cbk_rt_bytes *bytes, const char *format, ...) CBK_PRINTF(2, 3);
void cbk_rt_bytes_free(struct cbk_rt_bytes *bytes);

struct cbk_rt_cache_key {
    const char *text;
    size_t size;
};

/// A loaded entry. `payload` lies in `memory`.
struct cbk_rt_cache_entry {
    void *memory;
    size_t memory_size;
    const unsigned char *payload;
    size_t payload_size;
};

enum cbk_rt_cache_result {
    CBK_RT_CACHE_HIT,
    CBK_RT_CACHE_MISS,
    CBK_RT_CACHE_REFUSED ///< there was a file, damaged or not ours; it is removed
};

enum cbk_rt_cache_result cbk_rt_cache_load(struct cbk_rt *rt, struct cbk_rt_cache *cache,
                                           const struct cbk_rt_cache_key *key,
                                           struct cbk_rt_cache_entry *out);
void cbk_rt_cache_entry_free(struct cbk_rt *rt, struct cbk_rt_cache_entry *entry);

/// Removes an entry that the driver did not want.
void cbk_rt_cache_remove(struct cbk_rt_cache *cache, const struct cbk_rt_cache_key *key);

/// True if it was written. May evict entries that were not used for longest.
bool cbk_rt_cache_store(struct cbk_rt *rt, struct cbk_rt_cache *cache,
                        const struct cbk_rt_cache_key *key, const void *payload,
                        size_t payload_size);
bool cbk_rt_cache_can_store(const struct cbk_rt_cache *cache);

// ---- the file (cache_file.c) -------------------------------------------------------------------

/// magic[8] "CBKCACHE" | format u32 | header size u32 | key size u32 | 0 u32 | payload size u64 |
/// payload sum u64 | sum u64 of the 40 bytes before; then key and payload. All little-endian.
void cbk_rt_cache_header(const struct cbk_rt_cache_key *key, const void *payload,
                         size_t payload_size, uint8_t out[CBK_RT_CACHE_HEADER_SIZE]);

/// Looks at a whole file in memory: true if it is undamaged and of this key.
bool cbk_rt_cache_verify(const void *file, size_t file_size, const struct cbk_rt_cache_key *key,
                         const unsigned char **out_payload, size_t *out_payload_size);

#endif
