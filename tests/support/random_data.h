/// random_data.h: seeded elements that lean to the edges, and views of every kind over them.
#ifndef CUBEBACK_TEST_RANDOM_DATA_H
#define CUBEBACK_TEST_RANDOM_DATA_H

#include "device.h"

/// A small generator; equal seeds give equal tests everywhere.
uint64_t test_random(uint64_t *seed);
int64_t test_random_below(uint64_t *seed, int64_t limit);

/// FNV-1a, for seeds made of names.
uint64_t test_hash(const char *text);

enum test_data {
    TEST_EDGES,      ///< extremes, signed zeros, subnormals, infinities, NaN, any bit pattern
    TEST_FINITE,     ///< the same without infinities and NaN
    TEST_MODERATE,   ///< 1/8 <= |x| < 8; integers -9..9, unsigned 0..18
    TEST_POSITIVE,   ///< the same without signs
    TEST_UNIT,       ///< |x| < 1
    TEST_NEAR_ONE,   ///< 7/8 < |x| < 9/8, for products; integers 1, 2, -1
    TEST_ZERO_HEAVY, ///< mostly 0, for any and all
    TEST_INDEX,      ///< 0 <= i < bound
    TEST_BAD_INDEX,  ///< some of them outside
    TEST_UNIQUE,     ///< 0, 1, 2, ... shuffled, for indices without duplicates
    TEST_LARGE,      ///< floats whose squares are out of range
    TEST_COARSE      ///< as moderate, with three bits: sums of thousands are exact in f32
};

/// Fills `count` elements of `dtype`. `bound` is for indices.
void test_fill(void *data, cbk_dtype dtype, int64_t count, enum test_data kind, int64_t bound,
               uint64_t *seed);

enum test_view {
    TEST_CONTIGUOUS,
    TEST_TRANSPOSED, ///< last two axes swapped
    TEST_OFFSET,     ///< starts inside its storage
    TEST_STEPPED,    ///< every second element of the last axis
    TEST_FLIPPED,    ///< negative strides
    TEST_PERMUTED,   ///< axes rotated
    TEST_BACKWARD,   ///< a slice with step -2
    TEST_EXPANDED,   ///< stride 0 on an axis; overlaps itself
    TEST_UNFOLDED,   ///< windows; overlaps itself
    TEST_VIEW_COUNT
};
extern const char *const test_view_names[TEST_VIEW_COUNT];

/// Is a view of this kind fit to be written into?
static inline bool test_view_is_writable(enum test_view view) {
    return view < TEST_EXPANDED;
}

#define TEST_MAX_RANK CBK_MAX_RANK

/// The tensor that a view of this kind and shape is made from.
struct test_base {
    uint32_t rank;
    int64_t shape[TEST_MAX_RANK];
    int64_t count;
};
struct test_base test_view_base(enum test_view view, uint32_t rank, const int64_t *shape);

/// Makes the view; `base` is a tensor of the shape above. Returns a new reference.
cbk_tensor *test_view_make(struct test_side *side, enum test_view view, cbk_tensor *base,
                           uint32_t rank, const int64_t *shape);

#endif
