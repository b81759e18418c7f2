/// compare.h: is a result close enough? Tolerances are explained in docs/numerics.md.
#ifndef CUBEBACK_TEST_COMPARE_H
#define CUBEBACK_TEST_COMPARE_H

#include "device.h"

enum test_closeness {
    TEST_BITS, ///< the same bytes, NaN payloads too
    TEST_ULPS  ///< NaN equals NaN, zeros are equal, else within the tolerance
};

struct test_tolerance {
    enum test_closeness closeness;
    double ulps;     ///< steps of the dtype between the two numbers
    double absolute; ///< or this difference
    /// Or `relative` * magnitude of the element, for sums: see struct test_spec.
    double relative;
    bool signed_zero; ///< zeros of different sign differ
};

/// One element as a double (i64 and u64 may lose digits: for messages).
double test_to_double(const void *data, cbk_dtype dtype, int64_t i);

/// Steps of the dtype from a to b; 0 for equal integers, 1 or more for others. INT64_MAX if only
/// one is NaN.
int64_t test_ulps_between(const void *a, const void *b, cbk_dtype dtype, int64_t i);

/// Index of the first element that is not close, -1 if there is none. `magnitude` may be NULL.
int64_t test_first_difference(const void *want, const void *got, cbk_dtype dtype, int64_t count,
                              const struct test_tolerance *tolerance, const double *magnitude);

#endif
