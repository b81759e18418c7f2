/// scalar.c: dtypes as kernels see them, scalars as kernels take them.
#include "pointwise.h"

#include <math.h>
#include <string.h>

const char *cbk_ocl_class_word(cbk_dtype dtype) {
    switch (dtype) {
    case CBK_DTYPE_F64:
        return "f64";
    case CBK_DTYPE_I64:
        return "i64";
    case CBK_DTYPE_U64:
        return "u64";
    case CBK_DTYPE_U32:
    case CBK_DTYPE_U16:
    case CBK_DTYPE_U8:
        return "u32";
    case CBK_DTYPE_I32:
    case CBK_DTYPE_I16:
    case CBK_DTYPE_I8:
    case CBK_DTYPE_BOOL:
    case CBK_DTYPE_BOOL32:
        return "i32";
    default:
        return "f32";
    }
}

cbk_dtype cbk_ocl_accumulator(cbk_dtype x, cbk_dtype y) {
    if (x == CBK_DTYPE_F64) return CBK_DTYPE_F64;
    if (x < CBK_DTYPE_I64) return CBK_DTYPE_F32;
    const bool is_wide = cbk_dtype_size(x) == 8 || cbk_dtype_size(y) == 8;
    if (x >= CBK_DTYPE_U64) return is_wide ? CBK_DTYPE_U64 : CBK_DTYPE_U32;
    return is_wide ? CBK_DTYPE_I64 : CBK_DTYPE_I32;
}

cbk_dtype cbk_ocl_bits_dtype(cbk_dtype dtype) {
    switch (cbk_dtype_size(dtype)) {
    case 1:
        return CBK_DTYPE_U8;
    case 2:
        return CBK_DTYPE_U16;
    case 4:
        return CBK_DTYPE_U32;
    default:
        return CBK_DTYPE_U64;
    }
}

/// The value of a float of 1 + exponent_bits + mantissa_bits bits.
static float decode_float(uint64_t bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
    int bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = (int)(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    int mantissa = (int)bits & ((1 << mantissa_bits) - 1);
    bool is_negative = (bits >> (exponent_bits + mantissa_bits) & 1) != 0;
    bool is_top = exponent == (1 << exponent_bits) - 1;
    float value;
    if (is_top && has_infinity)
        value = mantissa == 0 ? INFINITY : NAN;
    else if (is_top && mantissa == (1 << mantissa_bits) - 1)
        value = NAN;
    else if (exponent == 0)
        value = ldexpf((float)mantissa, 1 - bias - mantissa_bits);
    else
        value = ldexpf((float)(mantissa | 1 << mantissa_bits), exponent - bias - mantissa_bits);
    return is_negative ? -value : value;
}

/// Widens the bits of an element to its arithmetic type, into the first bytes of *out_bits.
static void widen(uint64_t bits, cbk_dtype dtype, uint64_t *out_bits) {
    float real;
    int32_t integer;
    uint32_t word = (uint32_t)bits;
    *out_bits = 0;
    switch (dtype) {
    case CBK_DTYPE_F64:
    case CBK_DTYPE_I64:
    case CBK_DTYPE_U64:
        *out_bits = bits;
        return;
    case CBK_DTYPE_F16:
        real = decode_float(bits, 5, 10, true);
        break;
    case CBK_DTYPE_BF16:
        real = decode_float(bits, 8, 7, true);
        break;
    case CBK_DTYPE_F8E5M2:
        real = decode_float(bits, 5, 2, true);
        break;
    case CBK_DTYPE_F8E4M3:
        real = decode_float(bits, 4, 3, false);
        break;
    case CBK_DTYPE_I16:
        integer = (int16_t)bits;
        memcpy(out_bits, &integer, sizeof integer);
        return;
    case CBK_DTYPE_I8:
        integer = (int8_t)bits;
        memcpy(out_bits, &integer, sizeof integer);
        return;
    default:
        memcpy(out_bits, &word, sizeof word);
        return;
    }
    memcpy(out_bits, &real, sizeof real);
}

cbk_status cbk_ocl_scalar(cbk_scalar scalar, cbk_dtype dtype, uint64_t *out_bits) {
    uint64_t bits = 0;
    cbk_status status = cbk_scalar_to_bits(scalar, dtype, &bits);
    if (status == CBK_OK) widen(bits, dtype, out_bits);
    return status;
}

cbk_status cbk_ocl_scalar_bits(cbk_scalar scalar, cbk_dtype dtype, uint64_t *out_bits) {
    uint64_t bits = 0;
    cbk_status status = cbk_scalar_to_bits(scalar, dtype, &bits);
    if (status == CBK_OK) widen(bits, cbk_ocl_bits_dtype(dtype), out_bits);
    return status;
}
