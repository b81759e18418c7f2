/// cache_file.c: the form of a cache entry: writing its header, judging a file before anything in
/// it reaches the driver (a damaged binary makes some drivers abort the process).
#include <string.h>

#include "cache.h"
#include "hash.h"

static const char magic[8] = {'C', 'B', 'K', 'C', 'A', 'C', 'H', 'E'};

enum {
    AT_FORMAT = 8,
    AT_HEADER_SIZE = 12,
    AT_KEY_SIZE = 16,
    AT_RESERVED = 20,
    AT_PAYLOAD_SIZE = 24,
    AT_PAYLOAD_SUM = 32,
    AT_HEADER_SUM = 40
};

static void put(uint8_t *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
    return value;
}

void cbk_rt_cache_header(const struct cbk_rt_cache_key *key, const void *payload,
                         size_t payload_size, uint8_t out[CBK_RT_CACHE_HEADER_SIZE]) {
    memcpy(out, magic, sizeof magic);
    put(out + AT_FORMAT, CBK_RT_CACHE_FORMAT, 4);
    put(out + AT_HEADER_SIZE, CBK_RT_CACHE_HEADER_SIZE, 4);
    put(out + AT_KEY_SIZE, key->size, 4);
    put(out + AT_RESERVED, 0, 4);
    put(out + AT_PAYLOAD_SIZE, payload_size, 8);
    put(out + AT_PAYLOAD_SUM, cbk_rt_checksum(payload, payload_size), 8);
    put(out + AT_HEADER_SUM, cbk_rt_checksum(out, AT_HEADER_SUM), 8);
}

static bool header_is_sound(const uint8_t *header) {
    return memcmp(header, magic, sizeof magic) == 0 &&
           get(header + AT_HEADER_SUM, 8) == cbk_rt_checksum(header, AT_HEADER_SUM) &&
           get(header + AT_FORMAT, 4) == CBK_RT_CACHE_FORMAT &&
           get(header + AT_HEADER_SIZE, 4) == CBK_RT_CACHE_HEADER_SIZE;
}

bool cbk_rt_cache_verify(const void *file, size_t file_size, const struct cbk_rt_cache_key *key,
                         const unsigned char **out_payload, size_t *out_payload_size) {
    const uint8_t *bytes = file;
    if (file_size < CBK_RT_CACHE_HEADER_SIZE || !header_is_sound(bytes)) return false;

    // Sizes are compared by subtraction: none of them can overflow.
    size_t rest = file_size - CBK_RT_CACHE_HEADER_SIZE;
    uint64_t key_size = get(bytes + AT_KEY_SIZE, 4);
    uint64_t payload_size = get(bytes + AT_PAYLOAD_SIZE, 8);
    if (key_size > rest || payload_size != rest - key_size) return false;

    const uint8_t *key_at = bytes + CBK_RT_CACHE_HEADER_SIZE;
    if (key_size != key->size || memcmp(key_at, key->text, key->size) != 0) return false;

    const uint8_t *payload = key_at + key_size;
    if (get(bytes + AT_PAYLOAD_SUM, 8) != cbk_rt_checksum(payload, (size_t)payload_size))
        return false;
    *out_payload = payload;
    *out_payload_size = (size_t)payload_size;
    return true;
}
