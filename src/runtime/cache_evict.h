/// cache_evict.h: names in the cache directory and its size limit. Private to the cache files.
#ifndef CUBEBACK_RUNTIME_CACHE_EVICT_H
#define CUBEBACK_RUNTIME_CACHE_EVICT_H

#include "cache.h"
#include "os_files.h"

#define CBK_RT_CACHE_SUFFIX ".cbk"
#define CBK_RT_CACHE_LOCK "lock"
#define CBK_RT_CACHE_NAME_SIZE (32 + sizeof CBK_RT_CACHE_SUFFIX)

/// Counts a new entry of `size` bytes; over the limit, removes the oldest ones, never `kept_name`.
void cbk_rt_cache_account(struct cbk_rt *rt, struct cbk_rt_cache *cache,
                          const struct cbk_os_dir *dir, const char *kept_name, uint64_t size);

#endif
