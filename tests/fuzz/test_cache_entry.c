/// test_cache_entry.c: files that no writer made, given to the judge of cache entries: it reads
/// nothing outside the file, and accepts only what it would have written itself.
///
/// Each file lies at the end of an allocation of its own size, so that the sanitizers see a byte
/// too many. CUBEBACK_TEST_FULL=1 takes a hundred times as many.
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "hash.h"
#include "random_data.h"
#include "support.h"

static const char key_text[] = "cubeback\ndevice\nprogram\n";
static const struct cbk_rt_cache_key key = {key_text, sizeof key_text - 1};

static uint64_t rounds(uint64_t count) {
    return getenv("CUBEBACK_TEST_FULL") ? 100 * count : count;
}

static void put(unsigned char *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(value >> (8 * i));
}

/// A good entry with `payload_size` random bytes; free() it.
static unsigned char *make_entry(size_t payload_size, uint64_t *seed, size_t *out_size) {
    *out_size = CBK_RT_CACHE_HEADER_SIZE + key.size + payload_size;
    unsigned char *file = malloc(*out_size);
    assert_non_null(file);
    unsigned char *payload = file + CBK_RT_CACHE_HEADER_SIZE + key.size;
    for (size_t i = 0; i < payload_size; i++) payload[i] = (unsigned char)test_random(seed);
    cbk_rt_cache_header(&key, payload, payload_size, file);
    memcpy(file + CBK_RT_CACHE_HEADER_SIZE, key_text, key.size);
    return file;
}

static bool verify(const unsigned char *file, size_t size, size_t *out_payload_size) {
    const unsigned char *payload = NULL;
    if (!cbk_rt_cache_verify(file, size, &key, &payload, out_payload_size)) return false;
    assert_true(payload >= file && payload + *out_payload_size == file + size);
    return true;
}

static void good_entries_pass(void **state) {
    (void)state;
    uint64_t seed = test_hash("good");
    for (uint64_t i = 0; i < rounds(300); i++) {
        size_t size = 0, payload_size = 0;
        const size_t wanted = (size_t)test_random_below(&seed, 400);
        unsigned char *file = make_entry(wanted, &seed, &size);
        assert_true(verify(file, size, &payload_size));
        assert_int_equal(payload_size, wanted);
        free(file);
    }
}

static void noise_is_refused(void **state) {
    (void)state;
    uint64_t seed = test_hash("noise");
    for (uint64_t i = 0; i < rounds(2000); i++) {
        size_t payload_size = 0;
        const size_t size = (size_t)test_random_below(&seed, 200);
        unsigned char *file = malloc(size > 0 ? size : 1);
        assert_non_null(file);
        for (size_t j = 0; j < size; j++) file[j] = (unsigned char)test_random(&seed);
        if (i % 2 && size >= 8) memcpy(file, "CBKCACHE", 8);
        assert_false(verify(file, size, &payload_size));
        free(file);
    }
}

/// Sizes that lie, under a header sum that is right.
static void lying_sizes_are_refused(void **state) {
    (void)state;
    static const uint64_t lies[] = {0,
                                    1,
                                    47,
                                    48,
                                    UINT32_MAX,
                                    (uint64_t)1 << 31,
                                    (uint64_t)1 << 32,
                                    (uint64_t)1 << 63,
                                    UINT64_MAX,
                                    UINT64_MAX - 47};
    enum { LIES = sizeof lies / sizeof *lies };
    uint64_t seed = test_hash("lies");
    for (uint64_t i = 0; i < rounds(2000); i++) {
        size_t size = 0, payload_size = 0;
        unsigned char *file = make_entry((size_t)test_random_below(&seed, 100), &seed, &size);
        const uint64_t key_lie =
            lies[test_random_below(&seed, LIES)] + (uint64_t)test_random_below(&seed, 3);
        const uint64_t payload_lie =
            lies[test_random_below(&seed, LIES)] + (uint64_t)test_random_below(&seed, 3);
        const uint64_t real_payload = size - CBK_RT_CACHE_HEADER_SIZE - key.size;
        if (i % 3 != 0) put(file + 16, key_lie, 4);
        if (i % 3 != 1) put(file + 24, payload_lie, 8);
        put(file + 40, cbk_rt_checksum(file, 40), 8);
        const bool is_true = (i % 3 == 0 || (uint32_t)key_lie == key.size) &&
                             (i % 3 == 1 || payload_lie == real_payload);
        assert_int_equal(verify(file, size, &payload_size), is_true);
        free(file);
    }
}

/// One to four bytes changed, inserted or taken out anywhere.
static void mutations_are_refused(void **state) {
    (void)state;
    uint64_t seed = test_hash("mutations");
    for (uint64_t i = 0; i < rounds(5000); i++) {
        size_t size = 0, payload_size = 0;
        unsigned char *good = make_entry((size_t)test_random_below(&seed, 100), &seed, &size);
        const size_t cut = (size_t)test_random_below(&seed, 3);
        const size_t grown = size + (size_t)test_random_below(&seed, 3) - cut;
        unsigned char *file = calloc(1, grown);
        assert_non_null(file);
        const size_t from = (size_t)test_random_below(&seed, (int64_t)size - 2);
        memcpy(file, good, from < grown ? from : grown);
        for (size_t at = from; at + cut < size && at < grown; at++) file[at] = good[at + cut];
        const size_t changes = (size_t)test_random_below(&seed, 4);
        for (size_t j = 0; j < changes; j++) {
            file[test_random_below(&seed, (int64_t)grown)] ^= (unsigned char)test_random(&seed);
        }
        const bool is_same = grown == size && memcmp(file, good, size) == 0;
        assert_int_equal(verify(file, grown, &payload_size), is_same);
        free(file);
        free(good);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_entries_pass),
        cmocka_unit_test(noise_is_refused),
        cmocka_unit_test(lying_sizes_are_refused),
        cmocka_unit_test(mutations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
