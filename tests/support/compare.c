// compare.c: distances between numbers, independent of the library's own conversions.

#include "compare.h"
#include "support.h"

#include <math.h>
#include <string.h>

bool test_float_format(cbk_dtype dtype, struct test_float_format *out) {
    switch (dtype) {
    case CBK_DTYPE_F64:
        *out = (struct test_float_format){8, 11, 52, true};
        return true;
    case CBK_DTYPE_F32:
    case CBK_DTYPE_FLEX32:
        *out = (struct test_float_format){4, 8, 23, true};
        return true;
    case CBK_DTYPE_F16:
        *out = (struct test_float_format){2, 5, 10, true};
        return true;
    case CBK_DTYPE_BF16:
        *out = (struct test_float_format){2, 8, 7, true};
        return true;
    case CBK_DTYPE_F8E4M3:
        *out = (struct test_float_format){1, 4, 3, false};
        return true;
    case CBK_DTYPE_F8E5M2:
        *out = (struct test_float_format){1, 5, 2, true};
        return true;
    default:
        *out = (struct test_float_format){0};
        return false;
    }
}

struct test_tolerance test_ulps(cbk_dtype dtype, double ulps, double flushed) {
    struct test_tolerance tolerance = {.closeness = TEST_ULPS, .ulps = ulps};
    bool is_half = dtype == CBK_DTYPE_F16 || dtype == CBK_DTYPE_BF16;
    if (is_half && ulps > 0) tolerance.ulps = 1;
    if (dtype != CBK_DTYPE_F16)
        tolerance.absolute = flushed * (dtype == CBK_DTYPE_F64 ? 0x1p-1022 : 0x1p-126);
    return tolerance;
}

double test_unit_roundoff(cbk_dtype dtype) {
    return dtype == CBK_DTYPE_F64 ? 0x1p-53 : 0x1p-24;
}

static uint64_t bits_of(const void *data, uint32_t size, int64_t i) {
    uint64_t bits = 0;
    switch (size) {
    case 1:
        bits = ((const uint8_t *)data)[i];
        break;
    case 2:
        bits = ((const uint16_t *)data)[i];
        break;
    case 4:
        bits = ((const uint32_t *)data)[i];
        break;
    default:
        bits = ((const uint64_t *)data)[i];
        break;
    }
    return bits;
}

static uint64_t magnitude_mask(const struct test_float_format *f) {
    return ((uint64_t)1 << (f->exponent_bits + f->mantissa_bits)) - 1;
}

static bool is_nan_pattern(const struct test_float_format *f, uint64_t bits) {
    uint64_t magnitude = bits & magnitude_mask(f);
    uint64_t top = (((uint64_t)1 << f->exponent_bits) - 1) << f->mantissa_bits;
    return f->has_infinity ? magnitude > top : magnitude == magnitude_mask(f);
}

double test_to_double(const void *data, cbk_dtype dtype, int64_t i) {
    struct test_float_format f;
    uint32_t size = cbk_dtype_size(dtype);
    uint64_t bits = bits_of(data, size, i);
    if (!test_float_format(dtype, &f)) {
        if (dtype == CBK_DTYPE_I64) return (double)(int64_t)bits;
        if (dtype >= CBK_DTYPE_I32 && dtype <= CBK_DTYPE_I8)
            return (double)((int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size));
        return (double)bits;
    }
    bool is_negative = bits >> (f.exponent_bits + f.mantissa_bits) & 1;
    uint64_t magnitude = bits & magnitude_mask(&f);
    int field = (int)(magnitude >> f.mantissa_bits), bias = (1 << (f.exponent_bits - 1)) - 1;
    double fraction = (double)(magnitude & (((uint64_t)1 << f.mantissa_bits) - 1));
    double one = ldexp(1, f.mantissa_bits), value;
    if (is_nan_pattern(&f, bits))
        value = NAN;
    else if (f.has_infinity && field == (1 << f.exponent_bits) - 1)
        value = INFINITY;
    else
        value =
            ldexp(field ? fraction + one : fraction, (field ? field : 1) - bias - f.mantissa_bits);
    return is_negative ? -value : value;
}

int64_t test_ulps_between(const void *a, const void *b, cbk_dtype dtype, int64_t i) {
    struct test_float_format f;
    uint32_t size = cbk_dtype_size(dtype);
    uint64_t x = bits_of(a, size, i), y = bits_of(b, size, i);
    if (!test_float_format(dtype, &f)) {
        if (x == y) return 0;
        double distance = fabs(test_to_double(a, dtype, i) - test_to_double(b, dtype, i));
        return distance < 1 ? 1 : distance > 1e18 ? INT64_MAX : (int64_t)distance;
    }
    bool x_nan = is_nan_pattern(&f, x), y_nan = is_nan_pattern(&f, y);
    if (x_nan || y_nan) return x_nan && y_nan ? 0 : INT64_MAX;
    // Patterns without their sign are in the order of the numbers.
    uint64_t mx = x & magnitude_mask(&f), my = y & magnitude_mask(&f);
    bool same_sign = (x > magnitude_mask(&f)) == (y > magnitude_mask(&f));
    uint64_t distance = same_sign ? (mx > my ? mx - my : my - mx) : mx + my;
    return distance > INT64_MAX ? INT64_MAX : (int64_t)distance;
}

static bool is_close(const void *want, const void *got, cbk_dtype dtype, int64_t i,
                     const struct test_tolerance *tolerance, const double *magnitude) {
    int64_t distance = test_ulps_between(want, got, dtype, i);
    double x = test_to_double(want, dtype, i), y = test_to_double(got, dtype, i);
    if (distance == 0 && x == 0 && tolerance->signed_zero) return !signbit(x) == !signbit(y);
    bool is_gpu = test_pair.info.type != CBK_DEVICE_CPU;
    double ulps = is_gpu ? fmax(tolerance->ulps, tolerance->gpu_ulps) : tolerance->ulps;
    if ((double)distance <= ulps) return true;
    if (isnan(x) || isnan(y) || isinf(x) || isinf(y)) return false;
    double difference = fabs(x - y);
    if (difference <= tolerance->absolute) return true;
    return magnitude && difference <= tolerance->relative * magnitude[i];
}

int64_t test_first_difference(const void *want, const void *got, cbk_dtype dtype, int64_t count,
                              const struct test_tolerance *tolerance, const double *magnitude) {
    uint32_t size = cbk_dtype_size(dtype);
    if (!memcmp(want, got, (size_t)count * size)) return -1;
    for (int64_t i = 0; i < count; i++) {
        bool is_equal = bits_of(want, size, i) == bits_of(got, size, i);
        if (is_equal) continue;
        if (tolerance->closeness == TEST_BITS) return i;
        if (!is_close(want, got, dtype, i, tolerance, magnitude)) return i;
    }
    return -1;
}
