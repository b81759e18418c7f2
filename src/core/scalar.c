// scalar.c: host numbers to the bits of a dtype, rounded once.
#include "core.h"

#include <math.h>
#include <string.h>

/// A binary floating-point format of up to 16 bits.
struct small_float {
    int exponent_bits;
    int fraction_bits;
    bool has_infinity; ///< false (e4m3): the top exponent is finite but for the all-ones NaN
};

static const struct small_float *small_float_of(cbk_dtype dtype) {
    static const struct small_float f16 = {5, 10, true}, bf16 = {8, 7, true};
    static const struct small_float e4m3 = {4, 3, false}, e5m2 = {5, 2, true};
    switch (dtype) {
    case CBK_DTYPE_F16:
        return &f16;
    case CBK_DTYPE_BF16:
        return &bf16;
    case CBK_DTYPE_F8E4M3:
        return &e4m3;
    case CBK_DTYPE_F8E5M2:
        return &e5m2;
    default:
        return NULL;
    }
}

/// significand / 2^shift, to nearest, halves to even.
static uint64_t shift_right_rounded(uint64_t significand, int shift) {
    if (shift <= 0) return significand << -shift;
    if (shift > 64) return 0;
    uint64_t whole = shift == 64 ? 0 : significand >> shift;
    uint64_t rest = shift == 64 ? significand : significand & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);
    if (rest > half || (rest == half && (whole & 1) != 0)) whole++;
    return whole;
}

/// Bits of significand * 2^exponent; significand 0 is zero.
static uint64_t round_small(const struct small_float *format, bool negative, uint64_t significand,
                            int exponent) {
    const int fraction_bits = format->fraction_bits;
    const int bias = (1 << (format->exponent_bits - 1)) - 1;
    const uint64_t sign = (uint64_t)negative << (format->exponent_bits + fraction_bits);
    const uint64_t top = ((UINT64_C(1) << format->exponent_bits) - 1) << fraction_bits;
    if (significand == 0) return sign;

    while (significand >> 63 == 0) {
        significand <<= 1;
        exponent--;
    }
    int power = exponent + 63; // of the leading bit
    int field = power + bias;
    int shift = 63 - fraction_bits;
    if (field < 1) shift += 1 - field;
    uint64_t magnitude = shift_right_rounded(significand, shift > 65 ? 65 : shift);
    if (field >= 1) {
        if (field > 1 << format->exponent_bits) field = 1 << format->exponent_bits;
        // The leading bit of the significand adds one to the exponent field; so does a carry.
        magnitude += (uint64_t)(field - 1) << fraction_bits;
    }
    if (format->has_infinity) return sign | (magnitude > top ? top : magnitude);
    const uint64_t nan = top | ((UINT64_C(1) << fraction_bits) - 1);
    return sign | (magnitude > nan ? nan : magnitude);
}

static uint64_t double_to_small(const struct small_float *format, double value) {
    const uint64_t top = ((UINT64_C(1) << format->exponent_bits) - 1) << format->fraction_bits;
    const bool negative = signbit(value) != 0;
    const uint64_t sign = (uint64_t)negative << (format->exponent_bits + format->fraction_bits);
    if (isnan(value) || (isinf(value) && !format->has_infinity)) {
        if (!format->has_infinity) return sign | top | ((UINT64_C(1) << format->fraction_bits) - 1);
        return sign | top | (UINT64_C(1) << (format->fraction_bits - 1));
    }
    if (isinf(value)) return sign | top;
    int exponent;
    double fraction = frexp(fabs(value), &exponent);
    return round_small(format, negative, (uint64_t)ldexp(fraction, 53), exponent - 53);
}

static bool is_signed_int(cbk_dtype dtype) {
    return dtype >= CBK_DTYPE_I64 && dtype <= CBK_DTYPE_I8;
}

static uint64_t low_bits(uint64_t bits, cbk_dtype dtype) {
    uint32_t size = cbk_dtype_size(dtype);
    return size >= 8 ? bits : bits & ((UINT64_C(1) << (8 * size)) - 1);
}

/// Toward zero, saturating, NaN to 0.
static uint64_t double_to_int(double value, cbk_dtype dtype) {
    const int width = 8 * (int)cbk_dtype_size(dtype);
    if (isnan(value)) return 0;
    if (is_signed_int(dtype)) {
        const double limit = ldexp(1.0, width - 1);
        if (value >= limit) return (UINT64_C(1) << (width - 1)) - 1;
        if (value <= -limit) return low_bits(UINT64_C(1) << (width - 1), dtype);
        return low_bits((uint64_t)(int64_t)value, dtype);
    }
    if (value <= -1.0) return 0;
    if (value >= ldexp(1.0, width)) return low_bits(UINT64_MAX, dtype);
    return value < 0.0 ? 0 : (uint64_t)value;
}

static uint64_t bits_of_f64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t bits_of_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t float_bits(double value, cbk_dtype dtype) {
    if (dtype == CBK_DTYPE_F64) return bits_of_f64(value);
    if (dtype == CBK_DTYPE_F32 || dtype == CBK_DTYPE_FLEX32) return bits_of_f32((float)value);
    const struct small_float *format = small_float_of(dtype);
    if (format != NULL) return double_to_small(format, value);
    if (dtype == CBK_DTYPE_BOOL || dtype == CBK_DTYPE_BOOL32) return value != 0.0;
    return double_to_int(value, dtype);
}

/// `magnitude` with a sign; `wrapped` is the number in two's complement.
static uint64_t int_bits(bool negative, uint64_t magnitude, uint64_t wrapped, cbk_dtype dtype) {
    const struct small_float *format = small_float_of(dtype);
    if (format != NULL) return round_small(format, negative, magnitude, 0);
    switch (dtype) {
    case CBK_DTYPE_F64:
        return bits_of_f64(negative ? -(double)magnitude : (double)magnitude);
    case CBK_DTYPE_F32:
    case CBK_DTYPE_FLEX32:
        return bits_of_f32(negative ? -(float)magnitude : (float)magnitude);
    case CBK_DTYPE_BOOL:
    case CBK_DTYPE_BOOL32:
        return magnitude != 0;
    default:
        return low_bits(wrapped, dtype);
    }
}

cbk_status cbk_scalar_to_bits(cbk_scalar scalar, cbk_dtype dtype, uint64_t *out_bits) {
    if (out_bits == NULL) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "out_bits is NULL");
    *out_bits = 0;
    if (cbk_dtype_size(dtype) == 0) {
        return cbk_fail(CBK_ERROR_DTYPE, 0, "dtype %s (%u) has no plain elements",
                        cbk_dtype_name(dtype), (unsigned)dtype);
    }
    switch (scalar.kind) {
    case CBK_SCALAR_FLOAT:
        *out_bits = float_bits(scalar.v.f, dtype);
        return CBK_OK;
    case CBK_SCALAR_INT: {
        uint64_t wrapped = (uint64_t)scalar.v.i;
        bool negative = scalar.v.i < 0;
        *out_bits = int_bits(negative, negative ? 0 - wrapped : wrapped, wrapped, dtype);
        return CBK_OK;
    }
    case CBK_SCALAR_UINT:
        *out_bits = int_bits(false, scalar.v.u, scalar.v.u, dtype);
        return CBK_OK;
    default:
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                        "scalar has kind %u: it is left out or unknown", (unsigned)scalar.kind);
    }
}
