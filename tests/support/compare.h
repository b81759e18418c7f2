/// compare.h: is a result close enough? Tolerances are explained in docs/numerics.md.
#ifndef CUBEBACK_TEST_COMPARE_H
#define CUBEBACK_TEST_COMPARE_H

#include "device.h"

struct test_float_format {
    int bytes, exponent_bits, mantissa_bits;
    bool has_infinity;
};
/// False, and all 0, for dtypes that are no floats.
bool test_float_format(cbk_dtype dtype, struct test_float_format *out);

enum test_closeness {
    TEST_BITS, ///< the same bytes, NaN payloads too
    TEST_ULPS  ///< NaN equals NaN, zeros are equal, else within the tolerance
};

struct test_tolerance {
    enum test_closeness closeness;
    double ulps;     ///< steps of the dtype between the two numbers
    double gpu_ulps; ///< the same on devices that are no CPUs, if it is larger
    double absolute; ///< or this difference
    /// Or `relative` * magnitude of the element, for sums: see struct test_spec.
    double relative;
    bool signed_zero; ///< zeros of different sign differ
};

/// Tolerance of a float function whose f32 and f64 results are within `ulps`: f16 and bf16 are
/// computed in f32, which moves the rounded result by at most one step. Results below the
/// smallest normal number of the arithmetic may be flushed to 0, which `flushed` of them allow.
struct test_tolerance test_ulps(cbk_dtype dtype, double ulps, double flushed);

/// Half the distance from 1 to the next number in the dtype's arithmetic (f16, bf16: f32's).
double test_unit_roundoff(cbk_dtype dtype);

/// One element as a double (i64 and u64 may lose digits: for messages).
double test_to_double(const void *data, cbk_dtype dtype, int64_t i);

/// Steps of the dtype from a to b; 0 for equal integers, 1 or more for others. INT64_MAX if only
/// one is NaN.
int64_t test_ulps_between(const void *a, const void *b, cbk_dtype dtype, int64_t i);

/// Index of the first element that is not close, -1 if there is none. `magnitude` may be NULL.
int64_t test_first_difference(const void *want, const void *got, cbk_dtype dtype, int64_t count,
                              const struct test_tolerance *tolerance, const double *magnitude);

#endif
