/// hash.h: SHA-256 for names and keys, a fast 64-bit sum against damage.
#ifndef CUBEBACK_RUNTIME_HASH_H
#define CUBEBACK_RUNTIME_HASH_H

#include <stddef.h>
#include <stdint.h>

#define CBK_RT_SHA256_SIZE 32

/// SHA-256 (FIPS 180-4) of `size` bytes.
void cbk_rt_sha256(const void *data, size_t size, uint8_t out[CBK_RT_SHA256_SIZE]);

/// Lower-case hexadecimal digits of `size` bytes and a zero: 2 * size + 1 characters.
void cbk_rt_hex(const uint8_t *data, size_t size, char *out);

/// A sum that notices accidental damage (cut, flipped or exchanged bytes) at memory speed. The
/// value is the same on every machine. It protects nothing against intent.
uint64_t cbk_rt_checksum(const void *data, size_t size);

#endif
