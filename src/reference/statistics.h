/// statistics.h: what the files of the reductions share.
#ifndef CUBEBACK_REFERENCE_STATISTICS_H
#define CUBEBACK_REFERENCE_STATISTICS_H

#include "reference.h"

/// The elements that make one result: `inner` walks the reduced axes from `base`.
struct cbk_ref_group {
    const struct cbk_ref_view *inner;
    int64_t base;
};

static inline int64_t cbk_ref_group_at(const struct cbk_ref_group *group, int64_t i) {
    return group->base + cbk_ref_at(group->inner, i);
}

// statistics.c
double cbk_ref_mean(const struct cbk_ref_group *group);
double cbk_ref_variance(const struct cbk_ref_group *group, int64_t correction);
double cbk_ref_norm(const struct cbk_ref_group *group, double p);
double cbk_ref_logsumexp(const struct cbk_ref_group *group);

#endif
