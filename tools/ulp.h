/// ulp.h: what the files of cubeback-ulp share.
#ifndef CUBEBACK_ULP_H
#define CUBEBACK_ULP_H

#include <cubeback/cubeback.h>

#include "ulp_functions.h"

enum { ULP_SIDES = 4 };

/// A device under test.
struct ulp_side {
    cbk_device *device;
    cbk_device_info info;
    bool is_cpu;
};

/// The worst input of a function so far.
struct ulp_worst {
    double ulps, share; ///< share: of the bound; over 1 is beyond it
    uint64_t specials;  ///< infinite or NaN on one side only
    uint64_t input;     ///< number of the worst one, see ulp_fill
    float a, b, got;
    double want;
};

struct ulp_run {
    const struct ulp_side *sides;
    uint32_t side_count;
    const bool *wanted; ///< per function
    uint64_t stride;
    uint32_t threads;
    bool progress;
    struct ulp_worst *worst; ///< [function][ULP_SIDES]
};

/// Runs all wanted functions on all devices.
cbk_status ulp_run(struct ulp_run *run);

/// Inputs number `first` on: every `stride`th bit pattern, or pairs when b is not NULL.
void ulp_fill(uint64_t first, uint32_t count, uint64_t stride, float *a, float *b);
uint64_t ulp_input_count(bool is_pair, uint64_t stride);

/// The largest error in units of the last place that docs/numerics.md allows on such a device.
double ulp_allowed(const struct ulp_function *function, bool is_cpu);
/// Takes the results of inputs number `first` on into *worst.
void ulp_judge(const struct ulp_function *function, const struct ulp_side *side, uint64_t first,
               uint32_t count, const float *a, const float *b, const double *want, const float *got,
               struct ulp_worst *worst);
void ulp_merge(struct ulp_worst *worst, const struct ulp_worst *other);

#endif
