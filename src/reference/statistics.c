// statistics.c: variances, norms and logsumexp of the elements that make one result.

#include "statistics.h"

#include <math.h>

static double element(const struct cbk_ref_group *group, int64_t i) {
    return cbk_ref_get_float(group->inner->data, group->inner->dtype, cbk_ref_group_at(group, i));
}

double cbk_ref_mean(const struct cbk_ref_group *group) {
    long double total = 0;
    for (int64_t i = 0; i < group->inner->count; i++) total += element(group, i);
    return (double)(total / (long double)group->inner->count);
}

/// Beyond the range of f32, in which variances of all but f64 are computed, it is infinite.
double cbk_ref_variance(const struct cbk_ref_group *group, int64_t correction) {
    const int64_t count = group->inner->count;
    long double mean = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) mean += element(group, i);
    mean /= (long double)count;
    for (int64_t i = 0; i < count; i++) {
        long double apart = element(group, i) - mean;
        squares += apart * apart;
    }
    squares /= (long double)(count > correction ? count - correction : 0);
    return group->inner->dtype == CBK_DTYPE_F64 ? (double)squares : (double)(float)squares;
}

/// p is infinite: the largest or the smallest |x|; of nothing 0.
static double extreme_size(const struct cbk_ref_group *group, bool wants_max) {
    double best = wants_max ? 0 : INFINITY;
    for (int64_t i = 0; i < group->inner->count; i++) {
        double size = fabs(element(group, i));
        if (isnan(size)) return size;
        if (wants_max ? size > best : size < best) best = size;
    }
    return best;
}

double cbk_ref_norm(const struct cbk_ref_group *group, double p) {
    if (isinf(p)) return extreme_size(group, p > 0);
    long double total = 0;
    for (int64_t i = 0; i < group->inner->count; i++) {
        long double size = fabs(element(group, i));
        total += p == 0 ? !(size == 0) : p == 1 ? size : p == 2 ? size * size : powl(size, p);
    }
    return (double)(p == 0 || p == 1 ? total : p == 2 ? sqrtl(total) : powl(total, 1 / p));
}

double cbk_ref_logsumexp(const struct cbk_ref_group *group) {
    long double sum = 0;
    double max = -INFINITY;
    for (int64_t i = 0; i < group->inner->count; i++) {
        double x = element(group, i);
        if (isnan(x)) return x;
        if (x > max) max = x;
    }
    if (isinf(max)) return max;
    for (int64_t i = 0; i < group->inner->count; i++) sum += expl(element(group, i) - max);
    return (double)(max + logl(sum));
}
