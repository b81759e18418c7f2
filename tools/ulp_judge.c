/// ulp_judge.c: how far results are off.
#include <float.h>
#include <math.h>
#include <string.h>

#include "ulp.h"

/// The unit of the last place at a finite x.
static double ulp_of(double x) {
    uint64_t bits;
    double result;
    memcpy(&bits, &x, sizeof bits);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    bits = (uint64_t)((exponent < -126 ? -126 : exponent) - 23 + 1023) << 52;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static double error_in_ulps(float got, double want) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want) ? 0 : INFINITY;
    if (fabs(want) > FLT_MAX && isinf(got)) // rounds to infinity, or nearly
        return (got > 0) == (want > 0) ? 0 : INFINITY;
    if (isinf(got) || isinf(want))
        return isinf(want) || fabs(want) < 0.999 * FLT_MAX ? INFINITY : 1;
    return fabs((double)got - want) / ulp_of(want);
}

double ulp_allowed(const struct ulp_function *function, bool is_cpu) {
    return function->rounded_on_cpus && is_cpu ? 0.5001 : function->ulps;
}

/// Error divided by the largest that is allowed.
static double share_of_bound(const struct ulp_function *function, float a, float got, double want,
                             double share) {
    const double difference = fabs((double)got - want), size = fabs((double)a);
    const double absolute = 0x1p-24 * (function->of_unit + function->of_input * size);
    if (absolute > 0 && isfinite(difference) && isfinite(size))
        share = fmin(share, difference / absolute);
    // Results below the smallest normal number may be flushed to 0.
    if (difference <= function->flushed * FLT_MIN) share = 0;
    return share;
}

void ulp_judge(const struct ulp_function *function, const struct ulp_side *side, uint64_t first,
               uint32_t count, const float *a, const float *b, const double *want, const float *got,
               struct ulp_worst *worst) {
    const double allowed = ulp_allowed(function, side->is_cpu);
    for (uint32_t i = 0; i < count; i++) {
        if ((float)want[i] == got[i]) continue; // off by half a unit at most
        const double ulps = error_in_ulps(got[i], want[i]);
        worst->specials += isinf(ulps) != 0;
        if (ulps <= 0.5 || ulps <= worst->share * allowed) continue;
        const double share = share_of_bound(function, a[i], got[i], want[i], ulps / allowed);
        if (share > worst->share) {
            worst->ulps = ulps, worst->share = share, worst->input = first + i;
            worst->a = a[i], worst->b = b != NULL ? b[i] : 0;
            worst->got = got[i], worst->want = want[i];
        }
    }
}

void ulp_merge(struct ulp_worst *worst, const struct ulp_worst *other) {
    const uint64_t specials = worst->specials + other->specials;
    if (other->share > worst->share ||
        (other->share == worst->share && other->input < worst->input))
        *worst = *other;
    worst->specials = specials;
}
