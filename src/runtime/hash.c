/// hash.c: SHA-256 and a 64-bit checksum; both read bytes in a fixed order on every machine.
#include "hash.h"

#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t x, int n) {
    return x >> n | x << (32 - n);
}

static void sha256_block(uint32_t state[8], const uint8_t *block) {
    uint32_t w[64];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }

    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
        uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void cbk_rt_sha256(const void *data, size_t size, uint8_t out[CBK_RT_SHA256_SIZE]) {
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint8_t *bytes = data;
    size_t whole = size / 64 * 64, rest = size - whole;

    for (size_t i = 0; i < whole; i += 64) sha256_block(state, bytes + i);

    // The end: the rest, a one bit, zeros, the length in bits as a big-endian 64-bit number.
    uint8_t tail[128] = {0};
    size_t tail_size = rest + 9 <= 64 ? 64 : 128;
    if (rest > 0) memcpy(tail, bytes + whole, rest);
    tail[rest] = 0x80;
    uint64_t bits = (uint64_t)size * 8;
    for (size_t i = 0; i < 8; i++) tail[tail_size - 1 - i] = (uint8_t)(bits >> (8 * i));
    for (size_t i = 0; i < tail_size; i += 64) sha256_block(state, tail + i);

    for (size_t i = 0; i < CBK_RT_SHA256_SIZE; i++)
        out[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void cbk_rt_hex(const uint8_t *data, size_t size, char *out) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        out[2 * i] = digits[data[i] >> 4];
        out[2 * i + 1] = digits[data[i] & 15];
    }
    out[2 * size] = 0;
}

static uint64_t mix64(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t load64(const uint8_t *p) {
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) value = value << 8 | p[i];
    return value;
}

uint64_t cbk_rt_checksum(const void *data, size_t size) {
    const uint8_t *bytes = data;
    // Four independent chains hide the multiply's latency; each step is a bijection of the chain,
    // so one changed word always changes the sum.
    uint64_t chain[4] = {1, 2, 3, 4};
    size_t i = 0;
    for (; i + 32 <= size; i += 32)
        for (size_t j = 0; j < 4; j++) {
            uint64_t mixed = (chain[j] ^ load64(bytes + i + 8 * j)) * 0x9e3779b97f4a7c15u;
            chain[j] = mixed ^ mixed >> 29;
        }
    for (; i < size; i += 8) {
        uint8_t last[8] = {0};
        memcpy(last, bytes + i, size - i < 8 ? size - i : 8);
        chain[0] = mix64(chain[0] ^ load64(last));
    }
    uint64_t sum = mix64(size);
    for (size_t j = 0; j < 4; j++) sum = mix64(sum ^ chain[j]) + j;
    return sum;
}
