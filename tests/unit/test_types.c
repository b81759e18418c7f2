// test_types.c: names, sizes, and host numbers rounded to every dtype.
#include "support.h"

#include <cubeback/backend.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const cbk_dtype plain_dtypes[] = {
    CBK_DTYPE_F64,    CBK_DTYPE_F32,    CBK_DTYPE_F16, CBK_DTYPE_BF16, CBK_DTYPE_FLEX32,
    CBK_DTYPE_F8E4M3, CBK_DTYPE_F8E5M2, CBK_DTYPE_I64, CBK_DTYPE_I32,  CBK_DTYPE_I16,
    CBK_DTYPE_I8,     CBK_DTYPE_U64,    CBK_DTYPE_U32, CBK_DTYPE_U16,  CBK_DTYPE_U8,
    CBK_DTYPE_BOOL,   CBK_DTYPE_BOOL32,
};
#define PLAIN_COUNT (sizeof plain_dtypes / sizeof *plain_dtypes)

static void names_and_sizes(void **state) {
    (void)state;
    for (size_t i = 0; i < PLAIN_COUNT; i++) {
        assert_true(cbk_dtype_size(plain_dtypes[i]) > 0);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(cbk_dtype_name(plain_dtypes[i]),
                                    cbk_dtype_name(plain_dtypes[k]));
        }
    }
    assert_string_equal(cbk_dtype_name(CBK_DTYPE_BF16), "bf16");
    assert_string_equal(cbk_dtype_name(12345), "unknown");
    assert_int_equal(cbk_dtype_size(CBK_DTYPE_QUANT), 0);
    assert_int_equal(cbk_dtype_size(CBK_DTYPE_BOOL_NATIVE), 0);
    assert_int_equal(cbk_dtype_size(CBK_DTYPE_F64), 8);
    assert_int_equal(cbk_dtype_size(CBK_DTYPE_BOOL32), 4);
    assert_string_equal(cbk_status_string(CBK_OK), "ok");
    assert_string_equal(cbk_status_string(12345), "unknown status");
    assert_string_equal(cbk_status_string(-1), "unknown status");
    const cbk_status statuses[] = {0,  1,  2,  3,  4,  5,  6,  10, 11, 12, 13,
                                   20, 21, 30, 31, 32, 33, 34, 40, 41, 99};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        assert_string_not_equal(cbk_status_string(statuses[i]), "unknown status");
    }
    assert_int_equal(cbk_version(), CBK_VERSION);
}

static uint64_t bits_of(cbk_scalar scalar, cbk_dtype dtype) {
    uint64_t bits = 0;
    assert_ok(cbk_scalar_to_bits(scalar, dtype, &bits));
    return bits;
}

static void known_values(void **state) {
    (void)state;
    static const struct {
        cbk_dtype dtype;
        double value;
        uint64_t bits;
    } rows[] = {
        {CBK_DTYPE_F64, 1.0, 0x3ff0000000000000},
        {CBK_DTYPE_F32, 1.0, 0x3f800000},
        {CBK_DTYPE_FLEX32, -2.0, 0xc0000000},
        {CBK_DTYPE_F32, 1e300, 0x7f800000},
        {CBK_DTYPE_F16, 1.0, 0x3c00},
        {CBK_DTYPE_F16, 65504.0, 0x7bff},
        {CBK_DTYPE_F16, 65519.99, 0x7bff},
        {CBK_DTYPE_F16, 65520.0, 0x7c00}, // a tie, to the even infinity
        {CBK_DTYPE_F16, -0.0, 0x8000},
        {CBK_DTYPE_F16, 0x1p-24, 0x0001},
        {CBK_DTYPE_F16, 0x1p-25, 0x0000}, // a tie, to even
        {CBK_DTYPE_F16, 0x1.8p-25, 0x0001},
        {CBK_DTYPE_F16, 0x1.ff8p-15, 0x03ff},
        {CBK_DTYPE_F16, 0x1.ffcp-15, 0x0400}, // rounds up into the normal numbers
        {CBK_DTYPE_F16, 5e-324, 0x0000},
        {CBK_DTYPE_BF16, 1.0, 0x3f80},
        {CBK_DTYPE_BF16, 1.00390625, 0x3f80}, // 1 + 2^-8, a tie
        {CBK_DTYPE_BF16, 1.01171875, 0x3f82}, // 1 + 3 * 2^-8, a tie
        {CBK_DTYPE_BF16, -INFINITY, 0xff80},
        {CBK_DTYPE_BF16, 1e39, 0x7f80},
        {CBK_DTYPE_F8E4M3, 448.0, 0x7e},
        {CBK_DTYPE_F8E4M3, 464.0, 0x7e}, // a tie, to even
        {CBK_DTYPE_F8E4M3, 465.0, 0x7f},
        {CBK_DTYPE_F8E4M3, 1e30, 0x7f},
        {CBK_DTYPE_F8E4M3, -INFINITY, 0xff},
        {CBK_DTYPE_F8E4M3, 0x1p-9, 0x01},
        {CBK_DTYPE_F8E4M3, 0x1p-10, 0x00},
        {CBK_DTYPE_F8E5M2, 57344.0, 0x7b},
        {CBK_DTYPE_F8E5M2, 61440.0, 0x7c},
        {CBK_DTYPE_F8E5M2, INFINITY, 0x7c},
        {CBK_DTYPE_I8, 127.9, 0x7f},
        {CBK_DTYPE_I8, 128.0, 0x7f},
        {CBK_DTYPE_I8, -128.9, 0x80},
        {CBK_DTYPE_I8, -1.9, 0xff},
        {CBK_DTYPE_I8, -1e30, 0x80},
        {CBK_DTYPE_U8, -0.5, 0},
        {CBK_DTYPE_U8, -7.0, 0},
        {CBK_DTYPE_U8, 255.99, 255},
        {CBK_DTYPE_U8, 1e10, 255},
        {CBK_DTYPE_I64, 1e19, 0x7fffffffffffffff},
        {CBK_DTYPE_I64, -1e19, 0x8000000000000000},
        {CBK_DTYPE_U64, 1e20, 0xffffffffffffffff},
        {CBK_DTYPE_U64, 1e19, 0x8ac7230489e80000},
        {CBK_DTYPE_I32, NAN, 0},
        {CBK_DTYPE_I32, INFINITY, 0x7fffffff},
        {CBK_DTYPE_BOOL, 0.5, 1},
        {CBK_DTYPE_BOOL, -0.0, 0},
        {CBK_DTYPE_BOOL32, NAN, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t bits = bits_of(cbk_f(rows[i].value), rows[i].dtype);
        if (bits != rows[i].bits) {
            print_error("%s of %a: 0x%llx instead of 0x%llx\n", cbk_dtype_name(rows[i].dtype),
                        rows[i].value, (unsigned long long)bits, (unsigned long long)rows[i].bits);
            fail();
        }
    }
    assert_true(isnan(NAN) && (bits_of(cbk_f(NAN), CBK_DTYPE_F16) & 0x7fff) > 0x7c00);
    assert_true((bits_of(cbk_f(NAN), CBK_DTYPE_BF16) & 0x7fff) > 0x7f80);
    assert_true((bits_of(cbk_f(-NAN), CBK_DTYPE_F8E4M3) & 0x7f) == 0x7f);
}

static void whole_numbers(void **state) {
    (void)state;
    assert_int_equal(bits_of(cbk_i(-1), CBK_DTYPE_U64), UINT64_MAX);
    assert_int_equal(bits_of(cbk_i(-1), CBK_DTYPE_U8), 255);
    assert_int_equal(bits_of(cbk_i(300), CBK_DTYPE_I8), 300 - 256);
    assert_int_equal(bits_of(cbk_u(UINT64_MAX), CBK_DTYPE_I32), 0xffffffff);
    assert_int_equal(bits_of(cbk_i(INT64_MIN), CBK_DTYPE_I64), (uint64_t)INT64_MIN);
    assert_int_equal(bits_of(cbk_i(2), CBK_DTYPE_BOOL), 1);
    assert_int_equal(bits_of(cbk_i(-3), CBK_DTYPE_F16), 0xc200);
    assert_int_equal(bits_of(cbk_i(70000), CBK_DTYPE_F16), 0x7c00);
    assert_int_equal(bits_of(cbk_u(UINT64_MAX), CBK_DTYPE_F64), 0x43f0000000000000);
    assert_int_equal(bits_of(cbk_i(INT64_MIN), CBK_DTYPE_F32), 0xdf000000);
    // One rounding: through a double this would be the tie 2^62 + 2^54, which goes to even.
    int64_t above_tie = (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1;
    assert_int_equal(bits_of(cbk_i(above_tie), CBK_DTYPE_BF16),
                     bits_of(cbk_f(0x1.02p62), CBK_DTYPE_BF16));
    assert_int_equal(bits_of(cbk_i(above_tie - 1), CBK_DTYPE_BF16),
                     bits_of(cbk_f(0x1p62), CBK_DTYPE_BF16));
}

// ---- every small float against a search ---------------------------------------------------------

struct format {
    cbk_dtype dtype;
    int exponent_bits, fraction_bits;
    bool has_infinity;
};

/// Value of a finite number; for the first code past the largest one, what it would be.
static double value_of(const struct format *format, uint32_t magnitude) {
    int bias = (1 << (format->exponent_bits - 1)) - 1;
    int exponent = (int)(magnitude >> format->fraction_bits);
    double fraction = (double)(magnitude & ((1u << format->fraction_bits) - 1));
    if (exponent == 0) return ldexp(fraction, 1 - bias - format->fraction_bits);
    return ldexp(fraction + (double)(1 << format->fraction_bits),
                 exponent - bias - format->fraction_bits);
}

/// The code whose value is nearest, ties to the even code; `end`: the first code that is no number.
static uint32_t nearest(const struct format *format, double value, uint32_t end) {
    uint32_t low = 0, high = end;
    if (value >= value_of(format, end)) return end;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (value_of(format, middle) <= value)
            low = middle;
        else
            high = middle;
    }
    double below = value - value_of(format, low), above = value_of(format, high) - value;
    if (below != above) return below < above ? low : high;
    return (low & 1) == 0 ? low : high;
}

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void small_floats(void **state) {
    (void)state;
    static const struct format formats[] = {
        {CBK_DTYPE_F16, 5, 10, true},
        {CBK_DTYPE_BF16, 8, 7, true},
        {CBK_DTYPE_F8E4M3, 4, 3, false},
        {CBK_DTYPE_F8E5M2, 5, 2, true},
    };
    uint64_t seed = 88172645463325252u;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        const struct format *format = &formats[f];
        uint32_t top = (1u << format->exponent_bits) - 1;
        uint32_t end = top << format->fraction_bits; // infinity, or the NaN of e4m3
        if (!format->has_infinity) end |= (1u << format->fraction_bits) - 1;
        for (uint32_t code = 0; code < end; code++) {
            double value = value_of(format, code), next = value_of(format, code + 1);
            double middle = value + (next - value) / 2;
            assert_int_equal(bits_of(cbk_f(value), format->dtype), code);
            assert_int_equal(bits_of(cbk_f(middle), format->dtype), code + (code & 1));
            assert_int_equal(bits_of(cbk_f(nextafter(middle, 0)), format->dtype), code);
            assert_int_equal(bits_of(cbk_f(nextafter(middle, INFINITY)), format->dtype), code + 1);
        }
        double largest = value_of(format, end);
        for (int i = 0; i < 20000; i++) {
            double unit = (double)(next_random(&seed) >> 11) * 0x1p-53;
            double value = ldexp(unit, (int)(next_random(&seed) % 60) - 40) * largest;
            assert_int_equal(bits_of(cbk_f(value), format->dtype), nearest(format, value, end));
            int64_t whole = (int64_t)(next_random(&seed) >> (1 + next_random(&seed) % 62));
            if (whole < INT64_C(1) << 53) {
                assert_int_equal(bits_of(cbk_i(whole), format->dtype),
                                 nearest(format, (double)whole, end));
            }
        }
    }
}

static void refusals(void **state) {
    (void)state;
    uint64_t bits;
    cbk_scalar none = {0};
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_scalar_to_bits(none, CBK_DTYPE_F32, &bits));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_scalar_to_bits(cbk_f(1), CBK_DTYPE_F32, NULL));
    assert_status(CBK_ERROR_DTYPE, cbk_scalar_to_bits(cbk_f(1), CBK_DTYPE_QUANT, &bits));
    assert_status(CBK_ERROR_DTYPE, cbk_scalar_to_bits(cbk_f(1), CBK_DTYPE_BOOL_NATIVE, &bits));
    assert_status(CBK_ERROR_DTYPE, cbk_scalar_to_bits(cbk_f(1), 200, &bits));
}

// ---- structs that grow --------------------------------------------------------------------------

struct grown {
    uint32_t struct_size;
    uint32_t first;
    uint64_t second;
};

static void structs_grow(void **state) {
    (void)state;
    struct grown known = {0};
    struct {
        struct grown now;
        uint64_t later;
    } future = {{sizeof future, 1, 2}, 0};
    assert_ok(cbk_read_struct(&future, "grown", &known, sizeof known));
    assert_int_equal(known.struct_size, sizeof known);
    assert_int_equal(known.first, 1);
    assert_int_equal(known.second, 2);
    future.later = 1u << 8; // not the first byte of the tail
    assert_status(CBK_ERROR_VERSION, cbk_read_struct(&future, "grown", &known, sizeof known));
    assert_non_null(strstr(cbk_last_error_message(), "grown"));

    struct {
        uint32_t struct_size;
        uint32_t first;
    } past = {sizeof past, 9};
    memset(&known, 0, sizeof known);
    assert_ok(cbk_read_struct(&past, "grown", &known, sizeof known));
    assert_int_equal(known.first, 9);
    assert_int_equal(known.second, 0);

    memset(&known, 0, sizeof known);
    assert_ok(cbk_read_struct(NULL, "grown", &known, sizeof known));
    assert_int_equal(known.struct_size, sizeof known);
    past.struct_size = 0;
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_read_struct(&past, "grown", &known, sizeof known));
    past.struct_size = 0x7fffffff;
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_read_struct(&past, "grown", &known, sizeof known));

    known = (struct grown){sizeof known, 5, 6};
    past.struct_size = sizeof past;
    assert_ok(cbk_write_struct(&known, sizeof known, "grown", &past));
    assert_int_equal(past.struct_size, sizeof past);
    assert_int_equal(past.first, 5);
    future.later = UINT64_MAX;
    assert_ok(cbk_write_struct(&known, sizeof known, "grown", &future));
    assert_int_equal(future.now.struct_size, sizeof future);
    assert_int_equal(future.now.second, 6);
    assert_int_equal(future.later, 0);
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_write_struct(&known, sizeof known, "grown", NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_sizes), cmocka_unit_test(known_values),
        cmocka_unit_test(whole_numbers),   cmocka_unit_test(small_floats),
        cmocka_unit_test(refusals),        cmocka_unit_test(structs_grow),
    };
    return cmocka_run_group_tests_name("types", tests, NULL, NULL);
}
