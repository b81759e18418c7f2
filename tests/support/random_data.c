// random_data.c: elements by bit pattern, so that no conversion of the library is involved.

#include "random_data.h"

#include "compare.h"
#include "support.h"

#include <string.h>

uint64_t test_random(uint64_t *seed) {
    uint64_t z = *seed += 0x9E3779B97F4A7C15; // splitmix64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

int64_t test_random_below(uint64_t *seed, int64_t limit) {
    return (int64_t)(test_random(seed) % (uint64_t)limit);
}

uint64_t test_hash(const char *text) {
    uint64_t hash = 0xcbf29ce484222325;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return hash;
}

// ---- floats ------------------------------------------------------------------------------------

/// sign, power of two, and the mantissa's bits below the leading one.
static uint64_t compose(struct test_float_format l, uint64_t sign, int exponent,
                        uint64_t mantissa) {
    uint64_t bias = ((uint64_t)1 << (l.exponent_bits - 1)) - 1;
    uint64_t field = (uint64_t)((int64_t)bias + exponent);
    mantissa &= ((uint64_t)1 << l.mantissa_bits) - 1;
    return (sign << l.exponent_bits | field) << l.mantissa_bits | mantissa;
}

static uint64_t special_float(struct test_float_format l, uint64_t *seed) {
    uint64_t one = (uint64_t)1, sign = test_random(seed) & 1;
    uint64_t top = ((one << l.exponent_bits) - 1) << l.mantissa_bits; // infinity, if there is one
    uint64_t minus = sign << (l.exponent_bits + l.mantissa_bits);
    uint64_t smallest_normal = one << l.mantissa_bits;
    uint64_t largest = l.has_infinity ? top - 1 : top | ((smallest_normal - 1) - 1);
    switch (test_random_below(seed, 12)) {
    case 0:
        return minus; // zero
    case 1:
        return minus | 1; // smallest subnormal
    case 2:
        return minus | (smallest_normal - 1);
    case 3:
        return minus | smallest_normal;
    case 4:
        return minus | largest;
    case 5:
        return minus | (l.has_infinity ? top : top | (smallest_normal - 1));
    case 6:
        return minus | top | (smallest_normal >> 1) | (l.has_infinity ? 0 : smallest_normal - 1);
    case 7:
        return compose(l, sign, 0, 0); // one
    case 8:
        return compose(l, sign, 0, one << (l.mantissa_bits - 1)); // one and a half
    case 9:
        return compose(l, sign, 1, one << (l.mantissa_bits - 2)); // two and a half
    case 10:
        return compose(l, sign, 1, 0);
    default:
        return compose(l, sign, -1, 0);
    }
}

static bool is_finite_pattern(struct test_float_format l, uint64_t bits) {
    uint64_t exponent = bits >> l.mantissa_bits & (((uint64_t)1 << l.exponent_bits) - 1);
    uint64_t mantissa = bits & (((uint64_t)1 << l.mantissa_bits) - 1);
    if (exponent != ((uint64_t)1 << l.exponent_bits) - 1) return true;
    return !l.has_infinity && mantissa != ((uint64_t)1 << l.mantissa_bits) - 1;
}

static uint64_t edge_float(struct test_float_format l, uint64_t *seed) {
    uint64_t sign = test_random(seed) & 1;
    switch (test_random_below(seed, 4)) {
    case 0:
        return special_float(l, seed);
    case 1: { // any bit pattern
        int width = 1 + l.exponent_bits + l.mantissa_bits;
        return test_random(seed) >> (64 - width);
    }
    default:
        return compose(l, sign, (int)test_random_below(seed, 9) - 4, test_random(seed));
    }
}

static uint64_t random_float(struct test_float_format l, enum test_data kind, uint64_t *seed) {
    uint64_t sign = test_random(seed) & 1, bits;
    switch (kind) {
    case TEST_EDGES:
        return edge_float(l, seed);
    case TEST_FINITE:
        do bits = edge_float(l, seed);
        while (!is_finite_pattern(l, bits));
        return bits;
    case TEST_POSITIVE:
        return compose(l, 0, (int)test_random_below(seed, 6) - 3, test_random(seed));
    case TEST_UNIT:
        return compose(l, sign, -1 - (int)test_random_below(seed, 6), test_random(seed));
    case TEST_NEAR_ONE: {
        uint64_t small = test_random(seed) & (((uint64_t)1 << l.mantissa_bits) - 1);
        bool is_above = test_random(seed) & 1;
        return is_above ? compose(l, sign, 0, small >> 3) : compose(l, sign, -1, ~(small >> 2));
    }
    case TEST_ZERO_HEAVY:
        return test_random_below(seed, 40) ? 0 : special_float(l, seed);
    case TEST_COARSE: {
        int exponent = (int)test_random_below(seed, 6) - 3;
        return compose(l, sign, exponent, test_random(seed) << (l.mantissa_bits - 2));
    }
    case TEST_LARGE: {
        int highest = (1 << (l.exponent_bits - 1)) - 1;
        int exponent = highest * 2 / 3 + (int)test_random_below(seed, highest / 12 + 1);
        return compose(l, sign, exponent, test_random(seed));
    }
    default:
        return compose(l, sign, (int)test_random_below(seed, 6) - 3, test_random(seed));
    }
}

// ---- integers ----------------------------------------------------------------------------------

static bool is_signed(cbk_dtype dtype) {
    return dtype >= CBK_DTYPE_I64 && dtype <= CBK_DTYPE_I8;
}

static uint64_t edge_int(cbk_dtype dtype, uint64_t *seed) {
    uint32_t width = cbk_dtype_size(dtype) * 8;
    uint64_t high = (uint64_t)1 << (width - 1);
    switch (test_random_below(seed, 8)) {
    case 0:
        return high; // MIN
    case 1:
        return high - 1; // MAX
    case 2:
        return ~(uint64_t)0;
    case 3:
        return (uint64_t)1 << test_random_below(seed, width);
    case 4:
        return width - 1 + (uint64_t)test_random_below(seed, 3);
    case 5:
        return test_random(seed);
    default:
        return (uint64_t)(test_random_below(seed, 19) - 9);
    }
}

static uint64_t random_int(cbk_dtype dtype, enum test_data kind, int64_t bound, uint64_t *seed) {
    switch (kind) {
    case TEST_EDGES:
    case TEST_FINITE:
        return edge_int(dtype, seed);
    case TEST_POSITIVE:
        return (uint64_t)test_random_below(seed, 19);
    case TEST_UNIT:
        return (uint64_t)test_random_below(seed, 2);
    case TEST_NEAR_ONE:
        return is_signed(dtype) && test_random(seed) & 1 ? ~(uint64_t)0
                                                         : 1 + (test_random(seed) & 1);
    case TEST_ZERO_HEAVY:
        return test_random_below(seed, 40) ? 0 : edge_int(dtype, seed);
    case TEST_INDEX:
        return bound ? (uint64_t)test_random_below(seed, bound) : 0;
    case TEST_BAD_INDEX:
        switch (test_random_below(seed, 12)) {
        case 0:
            return (uint64_t)bound;
        case 1:
            return ~(uint64_t)0;
        default:
            return bound ? (uint64_t)test_random_below(seed, bound) : 0;
        }
    default:
        return (uint64_t)(test_random_below(seed, 19) - (is_signed(dtype) ? 9 : 0));
    }
}

// ---- arrays ------------------------------------------------------------------------------------

static void put_bits(void *data, uint32_t size, int64_t i, uint64_t bits) {
    switch (size) {
    case 1:
        ((uint8_t *)data)[i] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)data)[i] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)data)[i] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)data)[i] = bits;
        break;
    }
}

static void fill_unique(void *data, uint32_t size, int64_t count, uint64_t *seed) {
    // 0, 1, 2, ... in the order of a walk with a stride that has no factor in common.
    int64_t step = 1;
    for (int64_t candidate = 1 + count / 2; candidate < count; candidate++) {
        int64_t a = count, b = candidate;
        while (b) {
            int64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a != 1) continue;
        step = candidate;
        break;
    }
    int64_t at = count ? test_random_below(seed, count) : 0;
    for (int64_t i = 0; i < count; i++, at = (at + step) % count)
        put_bits(data, size, i, (uint64_t)at);
}

void test_fill(void *data, cbk_dtype dtype, int64_t count, enum test_data kind, int64_t bound,
               uint64_t *seed) {
    uint32_t size = cbk_dtype_size(dtype);
    struct test_float_format layout;
    bool is_float = test_float_format(dtype, &layout);
    bool is_bool = dtype == CBK_DTYPE_BOOL || dtype == CBK_DTYPE_BOOL32;
    if (kind == TEST_UNIQUE) {
        fill_unique(data, size, count, seed);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits;
        if (is_bool)
            bits =
                kind == TEST_ZERO_HEAVY ? test_random_below(seed, 40) == 0 : test_random(seed) & 1;
        else if (is_float)
            bits = random_float(layout, kind, seed);
        else
            bits = random_int(dtype, kind, bound, seed);
        if (kind == TEST_BAD_INDEX &&
            i % 5 == 1) // one of them lies in every view but a stretched one
            bits = test_random(seed) & 1 ? (uint64_t)bound : ~(uint64_t)0;
        put_bits(data, size, i, bits);
    }
}

// ---- views -------------------------------------------------------------------------------------

const char *const test_view_names[TEST_VIEW_COUNT] = {
    [TEST_CONTIGUOUS] = "contiguous", [TEST_TRANSPOSED] = "transposed",
    [TEST_OFFSET] = "offset",         [TEST_STEPPED] = "stepped",
    [TEST_FLIPPED] = "flipped",       [TEST_PERMUTED] = "permuted",
    [TEST_BACKWARD] = "backward",     [TEST_EXPANDED] = "expanded",
    [TEST_UNFOLDED] = "unfolded",
};

/// Kinds that need more axes than there are fall back to one that does not.
static enum test_view fitting(enum test_view view, uint32_t rank, const int64_t *shape) {
    if (rank < 2 && (view == TEST_TRANSPOSED || view == TEST_PERMUTED)) return TEST_STEPPED;
    if (view == TEST_UNFOLDED && (rank < 2 || shape[rank - 2] == 0 || shape[rank - 1] == 0))
        return TEST_STEPPED;
    return view;
}

/// The axis that an expanded view stretches: the longest.
static uint32_t expanded_axis(uint32_t rank, const int64_t *shape) {
    uint32_t axis = 0;
    for (uint32_t i = 1; i < rank; i++)
        if (shape[i] > shape[axis]) axis = i;
    return axis;
}

struct test_base test_view_base(enum test_view view, uint32_t rank, const int64_t *shape) {
    struct test_base base = {.rank = rank, .count = 1};
    if (rank == 0 && view != TEST_CONTIGUOUS) {
        base.rank = 1;
        base.shape[0] = base.count = 3;
        return base;
    }
    for (uint32_t i = 0; i < rank; i++) base.shape[i] = shape[i];
    uint32_t last = rank - 1;
    switch (rank ? fitting(view, rank, shape) : TEST_CONTIGUOUS) {
    case TEST_TRANSPOSED:
        base.shape[last] = shape[last - 1];
        base.shape[last - 1] = shape[last];
        break;
    case TEST_OFFSET:
        base.shape[0] += 2;
        break;
    case TEST_STEPPED:
    case TEST_BACKWARD:
        base.shape[last] = 2 * shape[last] + 1;
        break;
    case TEST_PERMUTED:
        for (uint32_t i = 0; i < rank; i++) base.shape[(i + 1) % rank] = shape[i];
        break;
    case TEST_EXPANDED:
        base.shape[expanded_axis(rank, shape)] = 1;
        break;
    case TEST_UNFOLDED:
        base.rank = last;
        base.shape[last - 1] = shape[last - 1] + shape[last] - 1;
        break;
    default:
        break;
    }
    for (uint32_t i = 0; i < base.rank; i++) base.count *= base.shape[i];
    return base;
}

static cbk_tensor *make_rank_0(struct test_side *side, cbk_tensor *base) {
    cbk_tensor *part = NULL, *view = NULL;
    assert_ok(cbk_narrow(side->stream, base, 0, 1, 1, &part));
    assert_ok(cbk_squeeze(side->stream, part, 0, NULL, &view));
    cbk_tensor_release(&part);
    return view;
}

cbk_tensor *test_view_make(struct test_side *side, enum test_view view, cbk_tensor *base,
                           uint32_t rank, const int64_t *shape) {
    cbk_stream *stream = side->stream;
    cbk_tensor *out = NULL;
    int32_t last = (int32_t)rank - 1, axes[TEST_MAX_RANK];
    if (rank == 0)
        return view == TEST_CONTIGUOUS ? cbk_tensor_retain(base) : make_rank_0(side, base);
    switch (fitting(view, rank, shape)) {
    case TEST_TRANSPOSED:
        assert_ok(cbk_transpose(stream, base, -2, -1, &out));
        break;
    case TEST_OFFSET:
        assert_ok(cbk_narrow(stream, base, 0, 1, shape[0], &out));
        break;
    case TEST_STEPPED:
    case TEST_BACKWARD: {
        bool is_backward = view == TEST_BACKWARD;
        cbk_slice_params params = CBK_INIT(cbk_slice_params, .axis_count = rank);
        for (int32_t i = 0; i <= last; i++) params.stop[i] = INT64_MAX;
        params.start[last] = 1;
        params.step[last] = is_backward ? -2 : 2;
        assert_ok(cbk_slice(stream, base, &params, &out));
        break;
    }
    case TEST_FLIPPED:
        assert_ok(cbk_flip(stream, base, 0, NULL, &out));
        break;
    case TEST_PERMUTED:
        for (int32_t i = 0; i <= last; i++) axes[i] = (i + 1) % (int32_t)rank;
        assert_ok(cbk_permute(stream, base, axes, &out));
        break;
    case TEST_EXPANDED:
        assert_ok(cbk_expand(stream, base, rank, shape, &out));
        break;
    case TEST_UNFOLDED:
        assert_ok(cbk_unfold(stream, base, last - 1, shape[last], 1, &out));
        break;
    default:
        out = cbk_tensor_retain(base);
        break;
    }
    return out;
}
