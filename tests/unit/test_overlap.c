// test_overlap.c: the overlap tests against counting every address.
#include "support.h"

#include "core.h"

#include <string.h>

#define SPACE 4096

static uint64_t seed = 0x9e3779b97f4a7c15u;

static int64_t random_below(int64_t bound) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)bound);
}

/// Adds 1 to the counter of each element's address.
static void mark(const cbk_tensor_meta *meta, unsigned char *counters) {
    int64_t index[CBK_MAX_RANK] = {0};
    if (meta->element_count == 0) return;
    for (;;) {
        int64_t address = SPACE / 2 + meta->offset;
        for (uint32_t i = 0; i < meta->rank; i++) address += index[i] * meta->strides[i];
        assert_in_range(address, 0, SPACE - 1);
        counters[address]++;
        uint32_t axis = meta->rank;
        while (axis > 0 && ++index[axis - 1] == meta->shape[axis - 1]) index[--axis] = 0;
        if (axis == 0) return;
    }
}

static void random_view(cbk_tensor_meta *meta) {
    int64_t shape[CBK_MAX_RANK] = {0};
    uint32_t rank = (uint32_t)random_below(4);
    for (uint32_t i = 0; i < rank; i++) shape[i] = random_below(5) + (random_below(8) != 0);
    assert_ok(cbk_meta_init(meta, CBK_DTYPE_F32, rank, shape));
    for (uint32_t i = 0; i < rank; i++) {
        meta->strides[i] = random_below(3) == 0 ? random_below(25) - 12 : random_below(12) * 4 - 16;
    }
    meta->offset = random_below(80) - 40;
}

static void random_pairs(void **state) {
    (void)state;
    int yes = 0, self = 0;
    for (int round = 0; round < 20000; round++) {
        unsigned char of_a[SPACE] = {0}, of_b[SPACE] = {0};
        cbk_tensor_meta a, b;
        random_view(&a);
        random_view(&b);
        mark(&a, of_a);
        mark(&b, of_b);
        bool meets = false, twice = false;
        for (int i = 0; i < SPACE; i++) {
            meets = meets || (of_a[i] != 0 && of_b[i] != 0);
            twice = twice || of_a[i] > 1;
        }
        assert_int_equal(cbk_meta_overlap(&a, &b), meets);
        assert_int_equal(cbk_meta_overlap(&b, &a), meets);
        assert_int_equal(cbk_meta_overlaps_itself(&a), twice);
        yes += meets;
        self += twice;
    }
    assert_in_range(yes, 2000, 18000); // both answers are really tried
    assert_in_range(self, 2000, 18000);
}

static cbk_tensor_meta view(int64_t offset, int64_t n0, int64_t n1, int64_t s0, int64_t s1) {
    cbk_tensor_meta meta;
    const int64_t shape[2] = {n0, n1};
    assert_ok(cbk_meta_init(&meta, CBK_DTYPE_F32, 2, shape));
    meta.strides[0] = s0, meta.strides[1] = s1, meta.offset = offset;
    return meta;
}

/// Large views with the structure of real ones are decided exactly.
static void large_views(void **state) {
    (void)state;
    const int64_t n = 100000, pitch = 100003;
    cbk_tensor_meta left = view(0, n, n / 2, pitch, 1);
    cbk_tensor_meta right = view(n / 2, n, n / 2, pitch, 1);
    cbk_tensor_meta middle = view(n / 2 - 1, n, n / 2, pitch, 1);
    cbk_tensor_meta even = view(0, n, n / 2, pitch, 2), odd = view(1, n, n / 2, pitch, 2);
    cbk_tensor_meta flipped = view((n - 1) * pitch + n - 1, n, n / 2, -pitch, -1);
    cbk_tensor_meta transposed = view(0, n / 2, n, 1, pitch);
    assert_false(cbk_meta_overlap(&left, &right));
    assert_true(cbk_meta_overlap(&left, &middle));
    assert_false(cbk_meta_overlap(&even, &odd));
    assert_true(cbk_meta_overlap(&even, &left));
    assert_false(cbk_meta_overlap(&flipped, &left));
    assert_true(cbk_meta_overlap(&flipped, &right));
    assert_true(cbk_meta_overlap(&transposed, &left));
    assert_false(cbk_meta_overlap(&transposed, &right));
    assert_false(cbk_meta_overlaps_itself(&flipped));
    cbk_tensor_meta expanded = view(0, n, n, 0, 1), windows = view(0, n, 3, 1, 1);
    assert_true(cbk_meta_overlaps_itself(&expanded));
    assert_true(cbk_meta_overlaps_itself(&windows));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_pairs),
        cmocka_unit_test(large_views),
    };
    return cmocka_run_group_tests_name("overlap", tests, NULL, NULL);
}
