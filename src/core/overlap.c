// overlap.c: do two views of one storage, or two elements of one view, share an address?
//
// An element's address is offset + sum of index * stride. Two views meet where the difference of
// their addresses can be 0: a linear equation a1 x1 + ... + an xn = b with 0 <= xi <= ui, all a
// positive once signs and equal strides are folded together. It is solved by walking x from the
// largest coefficient down. What is left must lie between 0 and the sum of the rest, and be a
// multiple of their common divisor, which for the strides of real views leaves few candidates. The
// walk is bounded; beyond the bound the answer is "yes".
#include "core.h"

#define MAX_TERMS (2 * CBK_MAX_RANK)
#define MAX_STEPS 100000

struct term {
    int64_t coefficient; ///< > 0
    int64_t bound;       ///< highest value of its unknown, > 0
};

struct equation {
    struct term terms[MAX_TERMS]; ///< coefficients descend
    uint32_t count;
    int64_t target;
    int64_t rest_sum[MAX_TERMS + 1];     ///< largest sum of terms[i..]
    int64_t rest_divisor[MAX_TERMS + 1]; ///< common divisor of terms[i..], 0 for none
    bool exclude_middle;                 ///< the solution with every x at bound / 2 does not count
    uint32_t steps;
};

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/// Adds the term; equal coefficients become one term.
static void add_term(struct equation *equation, int64_t coefficient, int64_t bound) {
    uint32_t place = 0;
    while (place < equation->count && equation->terms[place].coefficient > coefficient) place++;
    if (place < equation->count && equation->terms[place].coefficient == coefficient) {
        equation->terms[place].bound += bound;
        return;
    }
    for (uint32_t i = equation->count; i > place; i--) equation->terms[i] = equation->terms[i - 1];
    equation->terms[place] = (struct term){coefficient, bound};
    equation->count++;
}

static void finish_equation(struct equation *equation) {
    equation->rest_sum[equation->count] = 0;
    equation->rest_divisor[equation->count] = 0;
    for (uint32_t i = equation->count; i-- > 0;) {
        const struct term *term = &equation->terms[i];
        equation->rest_sum[i] = equation->rest_sum[i + 1] + term->coefficient * term->bound;
        equation->rest_divisor[i] =
            common_divisor(term->coefficient, equation->rest_divisor[i + 1]);
    }
}

/// Terms from `level` on can add up to `target`. `is_middle`: every x so far is half its bound.
static bool solve(struct equation *equation, uint32_t level, int64_t target, bool is_middle) {
    if (++equation->steps > MAX_STEPS) return true;
    if (level == equation->count) return target == 0 && !(equation->exclude_middle && is_middle);
    if (target < 0 || target > equation->rest_sum[level]) return false;
    if (target % equation->rest_divisor[level] != 0) return false;

    const struct term *term = &equation->terms[level];
    int64_t highest = target / term->coefficient;
    if (highest > term->bound) highest = term->bound;
    int64_t excess = target - equation->rest_sum[level + 1];
    int64_t lowest = excess > 0 ? (excess + term->coefficient - 1) / term->coefficient : 0;
    for (int64_t x = highest; x >= lowest; x--) {
        if (solve(equation, level + 1, target - x * term->coefficient,
                  is_middle && 2 * x == term->bound)) {
            return true;
        }
    }
    return false;
}

bool cbk_meta_overlaps_itself(const cbk_tensor_meta *meta) {
    if (meta->element_count <= 1) return false;
    // Two elements differ by sum of s * d, -(n - 1) <= d <= n - 1; x = d + n - 1 makes d >= 0.
    struct equation equation = {.exclude_middle = true};
    for (uint32_t i = 0; i < meta->rank; i++) {
        if (meta->shape[i] == 1) continue;
        int64_t stride = meta->strides[i] < 0 ? -meta->strides[i] : meta->strides[i];
        if (stride == 0) return true;
        for (uint32_t k = 0; k < equation.count; k++) {
            if (equation.terms[k].coefficient == stride) return true;
        }
        add_term(&equation, stride, 2 * (meta->shape[i] - 1));
    }
    finish_equation(&equation);
    bool nests = true; // each stride lies beyond all that the smaller ones reach
    for (uint32_t k = 0; k < equation.count; k++) {
        nests = nests && equation.terms[k].coefficient > equation.rest_sum[k + 1] / 2;
    }
    return !nests && solve(&equation, 0, equation.rest_sum[0] / 2, true);
}

/// Folds one view's indices into the equation; `sign` is 1 for a and -1 for b. Returns what the
/// substitution adds to the address.
static int64_t add_view(struct equation *equation, const cbk_tensor_meta *meta, int64_t sign) {
    int64_t shift = 0;
    for (uint32_t i = 0; i < meta->rank; i++) {
        int64_t stride = sign * meta->strides[i];
        if (meta->shape[i] == 1 || stride == 0) continue;
        if (stride < 0) {
            // stride * i = |stride| * (n - 1 - i) - |stride| * (n - 1)
            shift += stride * (meta->shape[i] - 1);
            stride = -stride;
        }
        add_term(equation, stride, meta->shape[i] - 1);
    }
    return shift;
}

bool cbk_meta_overlap(const cbk_tensor_meta *a, const cbk_tensor_meta *b) {
    if (a->element_count == 0 || b->element_count == 0) return false;
    struct equation equation = {.exclude_middle = false};
    int64_t base = a->offset - b->offset;
    base += add_view(&equation, a, 1);
    base += add_view(&equation, b, -1);
    finish_equation(&equation);
    return solve(&equation, 0, -base, true);
}
