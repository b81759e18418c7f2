/// ulp_inputs.c: what the functions are given.
#include <string.h>

#include "ulp.h"

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t mix(uint64_t z) { // splitmix64
    z += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

/// Any bit pattern, or a magnitude near 1, in turn.
static float random_operand(uint64_t random) {
    uint32_t bits = (uint32_t)random;
    if (random >> 63) bits = (bits & 0x807fffff) | (uint32_t)(117 + (random >> 32) % 21) << 23;
    return float_of(bits);
}

static void make_pair(uint64_t number, float *a, float *b) {
    static const uint32_t edges[] = {0x00000000, 0x00000001, 0x007fffff, 0x00800000, 0x3effffff,
                                     0x3f000000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fc00000,
                                     0x40000000, 0x40400000, 0x4b800000, 0x4f000000, 0x5f3504f3,
                                     0x7f7fffff, 0x7f800000, 0x7fc00000};
    enum { COUNT = 2 * sizeof edges / sizeof *edges };
    if (number < (uint64_t)COUNT * COUNT) {
        const uint32_t i = (uint32_t)number / COUNT, k = (uint32_t)number % COUNT;
        *a = float_of(edges[i / 2] | (i & 1) << 31);
        *b = float_of(edges[k / 2] | (k & 1) << 31);
        return;
    }
    *a = random_operand(mix(2 * number));
    *b = random_operand(mix(2 * number + 1));
}

void ulp_fill(uint64_t first, uint32_t count, uint64_t stride, float *a, float *b) {
    for (uint32_t i = 0; i < count; i++) {
        if (b == NULL)
            a[i] = float_of((uint32_t)((first + i) * stride));
        else
            make_pair(first + i, &a[i], &b[i]);
    }
}

uint64_t ulp_input_count(bool is_pair, uint64_t stride) {
    const uint64_t patterns = ((UINT64_C(1) << 32) - 1) / stride + 1, pairs = patterns / 16;
    if (!is_pair) return patterns;
    return pairs > 4096 ? pairs : 4096;
}
