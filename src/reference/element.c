// element.c: one element as double or 64-bit integer, and back with one rounding.

#include "reference.h"

#include <math.h>
#include <string.h>

enum cbk_ref_kind cbk_ref_kind_of(cbk_dtype dtype) {
    switch (dtype) {
    case CBK_DTYPE_I64:
    case CBK_DTYPE_I32:
    case CBK_DTYPE_I16:
    case CBK_DTYPE_I8:
        return CBK_REF_SIGNED;
    case CBK_DTYPE_U64:
    case CBK_DTYPE_U32:
    case CBK_DTYPE_U16:
    case CBK_DTYPE_U8:
        return CBK_REF_UNSIGNED;
    case CBK_DTYPE_BOOL:
    case CBK_DTYPE_BOOL32:
        return CBK_REF_BOOL;
    default:
        return CBK_REF_FLOAT;
    }
}

// ---- narrow floats -----------------------------------------------------------------------------

/// sign, exponent, mantissa; patterns are without the sign.
struct format {
    int mantissa_bits;
    int min_exponent; ///< of normal numbers: the smallest is 2^min_exponent
    double max;
    uint32_t sign;
    uint32_t overflow; ///< what a number that is too large becomes
    uint32_t nan;
};

static const struct format format_f16 = {10, -14, 65504.0, 0x8000, 0x7c00, 0x7e00};
static const struct format format_bf16 = {7, -126, 0x1.fep127, 0x8000, 0x7f80, 0x7fc0};
static const struct format format_f8e4m3 = {3, -6, 448.0, 0x80, 0x7f, 0x7f};
static const struct format format_f8e5m2 = {2, -14, 57344.0, 0x80, 0x7c, 0x7e};

static double decode(uint32_t bits, const struct format *format) {
    uint32_t magnitude = bits & (format->sign - 1);
    double value;
    if (magnitude >= format->overflow) {
        bool is_infinity = magnitude == format->overflow && format->overflow != format->nan;
        value = is_infinity ? INFINITY : NAN;
    } else {
        int field = (int)(magnitude >> format->mantissa_bits);
        double mantissa = magnitude & ((1u << format->mantissa_bits) - 1);
        double one = ldexp(1.0, format->mantissa_bits);
        if (field == 0) // subnormal
            value = ldexp(mantissa, format->min_exponent - format->mantissa_bits);
        else
            value = ldexp(mantissa + one, field - 1 + format->min_exponent - format->mantissa_bits);
    }
    return (bits & format->sign) ? -value : value;
}

static uint32_t encode(double value, const struct format *format) {
    uint32_t sign = signbit(value) ? format->sign : 0;
    if (isnan(value)) return sign | format->nan;
    double magnitude = fabs(value);
    if (isinf(value)) return sign | format->overflow;
    if (magnitude == 0) return sign;

    // Neighbours of the format near the number are 2^(exponent - mantissa_bits) apart.
    int exponent;
    frexp(magnitude, &exponent);
    exponent -= 1;
    if (exponent < format->min_exponent) exponent = format->min_exponent;
    double steps = rint(ldexp(magnitude, format->mantissa_bits - exponent));
    double rounded = ldexp(steps, exponent - format->mantissa_bits);
    if (rounded > format->max) return sign | format->overflow;

    // Rounding up to the next power of two carries from the mantissa into the exponent field.
    uint32_t field = (uint32_t)(exponent - format->min_exponent) << format->mantissa_bits;
    return sign | (field + (uint32_t)steps);
}

// ---- floats ------------------------------------------------------------------------------------

double cbk_ref_get_float(const void *data, cbk_dtype dtype, int64_t index) {
    switch (dtype) {
    case CBK_DTYPE_F64:
        return ((const double *)data)[index];
    case CBK_DTYPE_F16:
        return decode(((const uint16_t *)data)[index], &format_f16);
    case CBK_DTYPE_BF16:
        return decode(((const uint16_t *)data)[index], &format_bf16);
    case CBK_DTYPE_F8E4M3:
        return decode(((const uint8_t *)data)[index], &format_f8e4m3);
    case CBK_DTYPE_F8E5M2:
        return decode(((const uint8_t *)data)[index], &format_f8e5m2);
    default:
        return (double)((const float *)data)[index];
    }
}

void cbk_ref_put_float(void *data, cbk_dtype dtype, int64_t index, double value) {
    switch (dtype) {
    case CBK_DTYPE_F64:
        ((double *)data)[index] = value;
        break;
    case CBK_DTYPE_F16:
        ((uint16_t *)data)[index] = (uint16_t)encode(value, &format_f16);
        break;
    case CBK_DTYPE_BF16:
        ((uint16_t *)data)[index] = (uint16_t)encode(value, &format_bf16);
        break;
    case CBK_DTYPE_F8E4M3:
        ((uint8_t *)data)[index] = (uint8_t)encode(value, &format_f8e4m3);
        break;
    case CBK_DTYPE_F8E5M2:
        ((uint8_t *)data)[index] = (uint8_t)encode(value, &format_f8e5m2);
        break;
    default:
        ((float *)data)[index] = (float)value;
        break;
    }
}

void cbk_ref_put_result(void *data, cbk_dtype dtype, int64_t index, double value) {
    bool is_half = dtype == CBK_DTYPE_F16 || dtype == CBK_DTYPE_BF16;
    cbk_ref_put_float(data, dtype, index, is_half ? (double)(float)value : value);
}

// ---- integers and bools ------------------------------------------------------------------------

int64_t cbk_ref_get_int(const void *data, cbk_dtype dtype, int64_t index) {
    switch (dtype) {
    case CBK_DTYPE_I64:
        return ((const int64_t *)data)[index];
    case CBK_DTYPE_I32:
        return ((const int32_t *)data)[index];
    case CBK_DTYPE_I16:
        return ((const int16_t *)data)[index];
    case CBK_DTYPE_I8:
        return ((const int8_t *)data)[index];
    case CBK_DTYPE_U64:
        return (int64_t)((const uint64_t *)data)[index];
    case CBK_DTYPE_U32:
        return ((const uint32_t *)data)[index];
    case CBK_DTYPE_U16:
        return ((const uint16_t *)data)[index];
    case CBK_DTYPE_BOOL32:
        return ((const uint32_t *)data)[index] != 0;
    case CBK_DTYPE_BOOL:
        return ((const uint8_t *)data)[index] != 0;
    default:
        return ((const uint8_t *)data)[index];
    }
}

void cbk_ref_put_int(void *data, cbk_dtype dtype, int64_t index, int64_t value) {
    switch (dtype) {
    case CBK_DTYPE_I64:
    case CBK_DTYPE_U64:
        ((uint64_t *)data)[index] = (uint64_t)value;
        break;
    case CBK_DTYPE_I32:
    case CBK_DTYPE_U32:
        ((uint32_t *)data)[index] = (uint32_t)value;
        break;
    case CBK_DTYPE_I16:
    case CBK_DTYPE_U16:
        ((uint16_t *)data)[index] = (uint16_t)value;
        break;
    case CBK_DTYPE_BOOL32:
        ((uint32_t *)data)[index] = value != 0;
        break;
    case CBK_DTYPE_BOOL:
        ((uint8_t *)data)[index] = value != 0;
        break;
    default:
        ((uint8_t *)data)[index] = (uint8_t)value;
        break;
    }
}

// ---- conversions -------------------------------------------------------------------------------

struct cbk_ref_value cbk_ref_load(const void *data, cbk_dtype dtype, int64_t index) {
    struct cbk_ref_value value = {.kind = cbk_ref_kind_of(dtype)};
    if (value.kind == CBK_REF_FLOAT)
        value.f = cbk_ref_get_float(data, dtype, index);
    else
        value.i = cbk_ref_get_int(data, dtype, index);
    return value;
}

struct cbk_ref_value cbk_ref_scalar_value(cbk_scalar scalar) {
    switch (scalar.kind) {
    case CBK_SCALAR_FLOAT:
        return (struct cbk_ref_value){.kind = CBK_REF_FLOAT, .f = scalar.v.f};
    case CBK_SCALAR_UINT:
        return (struct cbk_ref_value){.kind = CBK_REF_UNSIGNED, .i = (int64_t)scalar.v.u};
    case CBK_SCALAR_INT:
        return (struct cbk_ref_value){.kind = CBK_REF_SIGNED, .i = scalar.v.i};
    default:
        return (struct cbk_ref_value){.kind = CBK_REF_SIGNED, .i = 0};
    }
}

/// A double that rounds to every narrower float as the integer itself does: bits that do not fit
/// are gathered in one that stays below every halfway point ("round to odd").
static double sticky_double(int64_t value, bool is_signed) {
    bool is_negative = is_signed && value < 0;
    uint64_t magnitude = is_negative ? 0 - (uint64_t)value : (uint64_t)value;
    double result;
    if (magnitude >> 53) {
        uint64_t sticky = (magnitude & 0x7ff) != 0;
        result = ldexp((double)((magnitude >> 11) | sticky), 11);
    } else {
        result = (double)magnitude;
    }
    return is_negative ? -result : result;
}

static void int_to_float(void *data, cbk_dtype dtype, int64_t index, int64_t value,
                         bool is_signed) {
    if (dtype == CBK_DTYPE_F64)
        ((double *)data)[index] = is_signed ? (double)value : (double)(uint64_t)value;
    else
        cbk_ref_put_float(data, dtype, index, sticky_double(value, is_signed));
}

/// Toward zero, saturating, NaN to 0.
static int64_t float_to_int(double value, cbk_dtype dtype) {
    int bits = (int)cbk_dtype_size(dtype) * 8;
    if (isnan(value)) return 0;
    if (cbk_ref_kind_of(dtype) == CBK_REF_SIGNED) {
        double limit = ldexp(1.0, bits - 1); // -limit <= result < limit
        if (value >= limit) return (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
        if (value <= -limit) return -(int64_t)(((uint64_t)1 << (bits - 1)) - 1) - 1;
        return (int64_t)value;
    }
    if (value <= 0) return 0;
    if (value >= ldexp(1.0, bits)) return -1; // all bits set; the store cuts it to the width
    return (int64_t)(uint64_t)value;
}

void cbk_ref_store(void *data, cbk_dtype dtype, int64_t index, struct cbk_ref_value value) {
    enum cbk_ref_kind to = cbk_ref_kind_of(dtype);
    bool from_float = value.kind == CBK_REF_FLOAT;
    if (to == CBK_REF_FLOAT) {
        if (from_float)
            cbk_ref_put_float(data, dtype, index, value.f);
        else
            int_to_float(data, dtype, index, value.i, value.kind == CBK_REF_SIGNED);
    } else if (to == CBK_REF_BOOL) {
        cbk_ref_put_int(data, dtype, index, from_float ? !(value.f == 0) : value.i);
    } else {
        cbk_ref_put_int(data, dtype, index, from_float ? float_to_int(value.f, dtype) : value.i);
    }
}

double cbk_ref_scalar_float(cbk_scalar scalar, double fallback, cbk_dtype dtype) {
    uint64_t memory = 0;
    cbk_scalar chosen = scalar.kind == CBK_SCALAR_NONE ? cbk_f(fallback) : scalar;
    cbk_ref_store(&memory, dtype, 0, cbk_ref_scalar_value(chosen));
    return cbk_ref_get_float(&memory, dtype, 0);
}
