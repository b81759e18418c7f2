/// test_cache_file.c: the cache directory alone, without a device: what is stored is found again,
/// and nothing that was touched in between is ever handed out.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache.h"
#include "hash.h"
#include "internal.h"
#include "runtime_side.h"
#include "support.h"

// ---- a process part without OpenCL ---------------------------------------------------------------

static void *allocate(void *user_data, size_t size, size_t alignment) {
    (void)user_data;
    (void)alignment;
    return malloc(size);
}

static void release(void *user_data, void *memory, size_t size) {
    (void)user_data;
    (void)size;
    free(memory);
}

static int warnings;

static void count_warning(void *user_data, uint32_t level, const char *text) {
    (void)user_data;
    (void)text;
    if (level == CBK_LOG_WARNING) warnings++;
}

struct place {
    struct cbk_rt rt;
    struct cbk_rt_cache *cache;
    char directory[TEST_PATH_SIZE];
};

static void open_place_with(struct place *place, cbk_backend_params params) {
    warnings = 0;
    place->rt = (struct cbk_rt){
        .allocate = allocate, .free = release, .log = count_warning, .log_level = CBK_LOG_WARNING};
    assert_ok(cbk_rt_cache_create(&place->rt, &params, &place->cache));
}

static void open_place(struct place *place) {
    test_directory_make(place->directory);
    open_place_with(place, test_runtime_params(place->directory));
}

static void close_place(struct place *place) {
    cbk_rt_cache_destroy(&place->rt, &place->cache);
    test_directory_remove(place->directory);
}

static struct cbk_rt_cache_key make_key(const char *text) {
    return (struct cbk_rt_cache_key){text, strlen(text)};
}

static bool store(struct place *place, const char *key_text, const void *data, size_t size) {
    const struct cbk_rt_cache_key key = make_key(key_text);
    return cbk_rt_cache_store(&place->rt, place->cache, &key, data, size);
}

/// Loads; a hit must give exactly these bytes.
static enum cbk_rt_cache_result load(struct place *place, const char *key_text, const void *data,
                                     size_t size) {
    const struct cbk_rt_cache_key key = make_key(key_text);
    struct cbk_rt_cache_entry entry;
    enum cbk_rt_cache_result result = cbk_rt_cache_load(&place->rt, place->cache, &key, &entry);
    if (result == CBK_RT_CACHE_HIT) {
        assert_int_equal(entry.payload_size, size);
        assert_memory_equal(entry.payload, data, size);
    } else {
        assert_null(entry.memory);
    }
    cbk_rt_cache_entry_free(&place->rt, &entry);
    return result;
}

static const char key_one[] = "device a\nprogram one\n";
static const char payload_one[] = "the first program's machine code, more than thirty-two bytes";

// ---- the plain way -------------------------------------------------------------------------------

static void what_is_stored_is_found(void **state) {
    (void)state;
    struct place place;
    unsigned char large[100001];
    for (size_t i = 0; i < sizeof large; i++) large[i] = (unsigned char)(i * i >> 3);
    open_place(&place);

    assert_int_equal(load(&place, key_one, NULL, 0), CBK_RT_CACHE_MISS);
    assert_true(store(&place, key_one, payload_one, sizeof payload_one));
    assert_true(store(&place, "empty", "", 0));
    assert_true(store(&place, "large", large, sizeof large));
    assert_int_equal(load(&place, key_one, payload_one, sizeof payload_one), CBK_RT_CACHE_HIT);
    assert_int_equal(load(&place, "empty", "", 0), CBK_RT_CACHE_HIT);
    assert_int_equal(load(&place, "large", large, sizeof large), CBK_RT_CACHE_HIT);
    assert_int_equal(load(&place, "device a\nprogram on", NULL, 0), CBK_RT_CACHE_MISS);

    // The newest value of a key counts.
    assert_true(store(&place, key_one, "new", 3));
    assert_int_equal(load(&place, key_one, "new", 3), CBK_RT_CACHE_HIT);
    assert_int_equal(test_directory_count(place.directory, ".cbk", NULL), 3);
    close_place(&place);
}

static void files_are_private(void **state) {
    (void)state;
    struct place place;
    struct stat info;
    char path[TEST_PATH_SIZE], inner[TEST_PATH_SIZE], outer[TEST_PATH_SIZE];
    test_directory_make(place.directory);
    test_path(outer, place.directory, "not");
    test_path(inner, outer, "there");
    const mode_t old_mask = umask(0);
    open_place_with(&place, test_runtime_params(inner));
    assert_true(store(&place, key_one, payload_one, sizeof payload_one));
    (void)umask(old_mask);

    assert_int_equal(stat(outer, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(stat(inner, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(test_directory_count(inner, ".cbk", path), 1);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    close_place(&place);
}

// ---- damage --------------------------------------------------------------------------------------

/// Puts `data` in the place of the entry and expects it to be refused and gone.
static void expect_refusal(struct place *place, const char *path, const void *data, size_t size) {
    test_file_write(path, data, size);
    assert_int_equal(load(place, key_one, NULL, 0), CBK_RT_CACHE_REFUSED);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(load(place, key_one, NULL, 0), CBK_RT_CACHE_MISS);
}

static void damage_is_refused(void **state) {
    (void)state;
    struct place place;
    char path[TEST_PATH_SIZE];
    size_t size = 0;
    open_place(&place);
    assert_true(store(&place, key_one, payload_one, sizeof payload_one));
    assert_int_equal(test_directory_count(place.directory, ".cbk", path), 1);
    unsigned char *file = test_file_read(path, &size);
    unsigned char *damaged = calloc(1, size + 1);
    assert_non_null(damaged);
    assert_int_equal(size, CBK_RT_CACHE_HEADER_SIZE + sizeof key_one - 1 + sizeof payload_one);

    for (size_t cut = 0; cut < size; cut++) expect_refusal(&place, path, file, cut);
    for (size_t at = 0; at < size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(damaged, file, size);
            damaged[at] = (unsigned char)(damaged[at] ^ 1u << bit);
            expect_refusal(&place, path, damaged, size);
        }
    }
    memcpy(damaged, file, size);
    damaged[size] = 0;
    expect_refusal(&place, path, damaged, size + 1);
    memset(damaged, 0, size);
    expect_refusal(&place, path, damaged, size);
    memset(damaged, 0xff, size);
    expect_refusal(&place, path, damaged, size);

    test_file_write(path, file, size);
    assert_int_equal(load(&place, key_one, payload_one, sizeof payload_one), CBK_RT_CACHE_HIT);
    free(damaged);
    free(file);
    close_place(&place);
}

static void sums_notice_exchanged_words(void **state) {
    (void)state;
    unsigned char data[256], copy[256];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 7 + 1);
    for (size_t size = 0; size <= sizeof data; size++) {
        const uint64_t sum = cbk_rt_checksum(data, size);
        if (size > 0) assert_true(cbk_rt_checksum(data, size - 1) != sum);
        for (size_t i = 0; i + 16 <= size; i += 8) {
            memcpy(copy, data, sizeof data);
            memcpy(copy + i, data + i + 8, 8);
            memcpy(copy + i + 8, data + i, 8);
            assert_true(cbk_rt_checksum(copy, size) != sum);
        }
    }
}

static void sha256_gives_the_published_values(void **state) {
    (void)state;
    static const struct {
        const char *text, *digits;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t sum[CBK_RT_SHA256_SIZE];
        char digits[2 * CBK_RT_SHA256_SIZE + 1];
        cbk_rt_sha256(rows[i].text, strlen(rows[i].text), sum);
        cbk_rt_hex(sum, sizeof sum, digits);
        assert_string_equal(digits, rows[i].digits);
    }
}

static void another_keys_file_is_refused(void **state) {
    (void)state;
    struct place place;
    char one[TEST_PATH_SIZE], two[TEST_PATH_SIZE];
    size_t size = 0;
    open_place(&place);
    assert_true(store(&place, key_one, payload_one, sizeof payload_one));
    assert_int_equal(test_directory_count(place.directory, ".cbk", one), 1);
    assert_int_equal(unlink(one), 0);
    assert_true(store(&place, "device b\nprogram one\n", payload_one, sizeof payload_one));
    assert_int_equal(test_directory_count(place.directory, ".cbk", two), 1);
    unsigned char *file = test_file_read(two, &size);
    expect_refusal(&place, one, file, size);
    free(file);
    close_place(&place);
}

// ---- who may have put it there ---------------------------------------------------------------------

static void only_our_own_files_count(void **state) {
    (void)state;
    struct place place;
    char path[TEST_PATH_SIZE], elsewhere[TEST_PATH_SIZE];
    open_place(&place);
    assert_true(store(&place, key_one, payload_one, sizeof payload_one));
    assert_int_equal(test_directory_count(place.directory, ".cbk", path), 1);

    assert_int_equal(chmod(path, 0620), 0);
    assert_int_equal(load(&place, key_one, NULL, 0), CBK_RT_CACHE_REFUSED);
    assert_true(store(&place, key_one, payload_one, sizeof payload_one));
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(load(&place, key_one, payload_one, sizeof payload_one), CBK_RT_CACHE_HIT);

    test_path(elsewhere, place.directory, "elsewhere");
    assert_int_equal(rename(path, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    assert_int_equal(load(&place, key_one, NULL, 0), CBK_RT_CACHE_REFUSED);
    assert_int_equal(access(elsewhere, F_OK), 0);

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(load(&place, key_one, NULL, 0), CBK_RT_CACHE_REFUSED);

    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(load(&place, key_one, NULL, 0), CBK_RT_CACHE_REFUSED);
    assert_int_equal(rmdir(path), 0);

    if (geteuid() == 0) {
        assert_true(store(&place, key_one, payload_one, sizeof payload_one));
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(load(&place, key_one, NULL, 0), CBK_RT_CACHE_REFUSED);
    }
    close_place(&place);
}

static void a_directory_open_to_others_is_not_used(void **state) {
    (void)state;
    struct place place;
    open_place(&place);
    assert_true(store(&place, key_one, payload_one, sizeof payload_one));
    assert_int_equal(chmod(place.directory, 0777), 0);
    assert_int_equal(load(&place, key_one, NULL, 0), CBK_RT_CACHE_MISS);
    assert_false(store(&place, "two", "2", 1));
    assert_false(store(&place, "three", "3", 1));
    assert_int_equal(warnings, 1);
    assert_int_equal(test_directory_count(place.directory, "", NULL), 2); // the entry, the lock
    close_place(&place);
}

static void anothers_directory_is_not_used(void **state) {
    (void)state;
    struct place place;
    if (geteuid() != 0) skip();
    open_place(&place);
    assert_true(store(&place, key_one, payload_one, sizeof payload_one));
    assert_int_equal(chown(place.directory, 12345, 12345), 0);
    assert_int_equal(load(&place, key_one, NULL, 0), CBK_RT_CACHE_MISS);
    assert_false(store(&place, "two", "2", 1));
    assert_int_equal(chown(place.directory, 0, 0), 0);
    close_place(&place);
}

// ---- places that cannot be written -----------------------------------------------------------------

static void read_only_mode_changes_nothing(void **state) {
    (void)state;
    struct place place;
    char path[TEST_PATH_SIZE];
    size_t size = 0;
    open_place(&place);
    assert_true(store(&place, key_one, payload_one, sizeof payload_one));
    assert_int_equal(test_directory_count(place.directory, ".cbk", path), 1);
    cbk_rt_cache_destroy(&place.rt, &place.cache);
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);

    cbk_backend_params params = test_runtime_params(place.directory);
    params.flags |= CBK_CACHE_READ_ONLY;
    open_place_with(&place, params);
    assert_int_equal(load(&place, key_one, payload_one, sizeof payload_one), CBK_RT_CACHE_HIT);
    assert_false(store(&place, "two", "2", 1));
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mtime, 1000);

    unsigned char *file = test_file_read(path, &size);
    test_file_write(path, file, size - 1);
    assert_int_equal(load(&place, key_one, NULL, 0), CBK_RT_CACHE_REFUSED);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(warnings, 0);
    free(file);
    close_place(&place);
}

static void a_place_that_is_no_directory(void **state) {
    (void)state;
    struct place place;
    char path[TEST_PATH_SIZE], below[TEST_PATH_SIZE], endless[8192];
    test_directory_make(place.directory);
    test_path(path, place.directory, "file");
    test_path(below, path, "below");
    test_file_write(path, "x", 1);
    memset(endless, 'a', sizeof endless - 1);
    endless[0] = '/';
    endless[sizeof endless - 1] = 0;

    const char *const places[] = {path, below, "/proc/no/such/place", endless};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        open_place_with(&place, test_runtime_params(places[i]));
        assert_int_equal(load(&place, key_one, NULL, 0), CBK_RT_CACHE_MISS);
        assert_false(store(&place, key_one, payload_one, sizeof payload_one));
        assert_false(store(&place, key_one, payload_one, sizeof payload_one));
        assert_int_equal(warnings, 1);
        cbk_rt_cache_destroy(&place.rt, &place.cache);
    }
    test_directory_remove(place.directory);
}

/// Runs a check in a child, whose exit code tells: 0 is good.
static void expect_in_child(int (*check)(struct place *), struct place *place) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(check(place));
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
}

/// A directory of mode 0500, as a user whom modes hold back.
static int try_unwritable(struct place *place) {
    if (geteuid() == 0) {
        if (chown(place->directory, 12345, 12345) != 0 || setgid(12345) != 0) return 2;
        if (setuid(12345) != 0) return 3;
    }
    if (store(place, key_one, payload_one, sizeof payload_one)) return 4;
    if (load(place, key_one, NULL, 0) != CBK_RT_CACHE_MISS) return 5;
    return warnings == 1 ? 0 : 6;
}

static void an_unwritable_directory(void **state) {
    (void)state;
    struct place place;
    open_place(&place);
    assert_int_equal(chmod(place.directory, 0500), 0);
    expect_in_child(try_unwritable, &place);
    assert_int_equal(chmod(place.directory, 0700), 0);
    close_place(&place);
}

/// A file size limit stands for a full disk: the write stops in the middle.
static int try_full(struct place *place) {
    unsigned char data[5000] = {1};
    (void)signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 1000, .rlim_max = 1000}) != 0)
        return 2;
    if (store(place, key_one, data, sizeof data)) return 3;
    if (load(place, key_one, NULL, 0) != CBK_RT_CACHE_MISS) return 4;
    return warnings == 1 ? 0 : 5;
}

static void a_full_disk(void **state) {
    (void)state;
    struct place place;
    open_place(&place);
    expect_in_child(try_full, &place);
    assert_int_equal(test_directory_count(place.directory, "", NULL), 0); // nothing left behind
    close_place(&place);
}

// ---- size ------------------------------------------------------------------------------------------

static void set_age(const char *path, int64_t seconds) {
    const struct timespec then = {.tv_sec = time(NULL) - seconds};
    const struct timespec times[2] = {then, then};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/// Sets the age of the one file that the last store has made.
static void age_newest(struct place *place, const char *name, int64_t seconds) {
    const struct cbk_rt_cache_key key = make_key(name);
    uint8_t sum[CBK_RT_SHA256_SIZE];
    char digits[2 * CBK_RT_SHA256_SIZE + 1], file[80], path[TEST_PATH_SIZE];
    cbk_rt_sha256(key.text, key.size, sum);
    cbk_rt_hex(sum, 16, digits);
    snprintf(file, sizeof file, "%s.cbk", digits);
    test_path(path, place->directory, file);
    set_age(path, seconds);
}

static void the_oldest_go_first(void **state) {
    (void)state;
    enum { COUNT = 10, SIZE = 10000, LIMIT = 105000 };
    struct place place;
    unsigned char data[SIZE] = {0};
    char name[16];
    test_directory_make(place.directory);
    cbk_backend_params params = test_runtime_params(place.directory);
    params.cache_limit_bytes = LIMIT;
    open_place_with(&place, params);

    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "entry %d", i);
        assert_true(store(&place, name, data, sizeof data));
        age_newest(&place, name, 1000 * (COUNT - i));
    }
    assert_int_equal(test_directory_count(place.directory, ".cbk", NULL), COUNT);
    // A use makes the oldest one young; only a day's age is worth a touch.
    age_newest(&place, "entry 0", 3 * 24 * 3600);
    assert_int_equal(load(&place, "entry 0", data, sizeof data), CBK_RT_CACHE_HIT);

    assert_true(store(&place, "one more", data, sizeof data));
    // 110 kB became at most three quarters of the limit: seven entries.
    assert_int_equal(test_directory_count(place.directory, ".cbk", NULL), 7);
    assert_int_equal(load(&place, "one more", data, sizeof data), CBK_RT_CACHE_HIT);
    assert_int_equal(load(&place, "entry 0", data, sizeof data), CBK_RT_CACHE_HIT);
    for (int i = 1; i < COUNT; i++) {
        snprintf(name, sizeof name, "entry %d", i);
        assert_int_equal(load(&place, name, data, sizeof data),
                         i <= 4 ? CBK_RT_CACHE_MISS : CBK_RT_CACHE_HIT);
    }
    // What does not fit at all is not written.
    unsigned char *huge = calloc(1, LIMIT);
    assert_non_null(huge);
    assert_false(store(&place, "huge", huge, LIMIT));
    assert_int_equal(warnings, 0);
    free(huge);
    close_place(&place);
}

static void what_others_have_stored_counts(void **state) {
    (void)state;
    enum { SIZE = 10000 };
    struct place place;
    unsigned char data[SIZE] = {0};
    char name[16];
    open_place(&place);
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "entry %d", i);
        assert_true(store(&place, name, data, sizeof data));
        age_newest(&place, name, 100);
    }
    cbk_rt_cache_destroy(&place.rt, &place.cache);

    cbk_backend_params params = test_runtime_params(place.directory);
    params.cache_limit_bytes = 4 * SIZE;
    open_place_with(&place, params);
    assert_true(store(&place, "new", data, 10));
    assert_in_range(test_directory_count(place.directory, ".cbk", NULL), 2, 3);
    assert_int_equal(load(&place, "new", data, 10), CBK_RT_CACHE_HIT);
    close_place(&place);
}

static void old_temporaries_are_swept(void **state) {
    (void)state;
    struct place place;
    char old[TEST_PATH_SIZE], young[TEST_PATH_SIZE], foreign[TEST_PATH_SIZE];
    open_place(&place);
    test_path(old, place.directory, "tmp-1-2-3");
    test_path(young, place.directory, "tmp-4-5-6");
    test_path(foreign, place.directory, "notes.txt");
    test_file_write(old, "x", 1);
    test_file_write(young, "x", 1);
    test_file_write(foreign, "x", 1);
    set_age(old, 3700);
    set_age(foreign, 37000);
    assert_true(store(&place, key_one, payload_one, sizeof payload_one));
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(access(young, F_OK), 0);
    assert_int_equal(access(foreign, F_OK), 0);
    close_place(&place);
}

// ---- where it is -----------------------------------------------------------------------------------

/// Environment -> directory; NULL unsets.
static void the_environment_names_the_place(void **state) {
    (void)state;
    static const struct {
        const char *cubeback, *xdg, *home, *expected;
        uint32_t flags;
    } rows[] = {
        {"/a/b", "/x", "/h", "/a/b", 0},
        {"", "/x", "/h", NULL, 0},
        {NULL, "/x", "/h", "/x/cubeback", 0},
        {NULL, "relative", "/h", "/h/.cache/cubeback", 0},
        {NULL, NULL, "/h", "/h/.cache/cubeback", 0},
        {NULL, NULL, "relative", NULL, 0},
        {NULL, NULL, NULL, NULL, 0},
        {"/a/b", "/x", "/h", NULL, CBK_NO_ENVIRONMENT},
    };
    static const char *const names[] = {"CUBEBACK_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const values[] = {rows[i].cubeback, rows[i].xdg, rows[i].home};
        struct place place;
        for (int j = 0; j < 3; j++) {
            if (values[j]) {
                assert_int_equal(setenv(names[j], values[j], 1), 0);
            } else {
                assert_int_equal(unsetenv(names[j]), 0);
            }
        }
        open_place_with(&place, CBK_INIT(cbk_backend_params, .flags = rows[i].flags));
        if (rows[i].expected) {
            assert_non_null(place.cache->directory);
            assert_string_equal(place.cache->directory, rows[i].expected);
        } else {
            assert_null(place.cache->directory);
            assert_false(store(&place, key_one, payload_one, sizeof payload_one));
            assert_int_equal(load(&place, key_one, NULL, 0), CBK_RT_CACHE_MISS);
        }
        cbk_rt_cache_destroy(&place.rt, &place.cache);
    }
    // Parameters win.
    struct place place;
    assert_int_equal(setenv("CUBEBACK_CACHE_DIR", "/a/b", 1), 0);
    open_place_with(&place, CBK_INIT(cbk_backend_params, .cache_directory = "/c"));
    assert_string_equal(place.cache->directory, "/c");
    cbk_rt_cache_destroy(&place.rt, &place.cache);
    open_place_with(&place, CBK_INIT(cbk_backend_params, .cache_directory = ""));
    assert_null(place.cache->directory);
    cbk_rt_cache_destroy(&place.rt, &place.cache);
}

static char *key_lines(void) {
    struct place place;
    open_place_with(&place, CBK_INIT(cbk_backend_params, .cache_directory = ""));
    char *copy = strdup(place.cache->environment);
    cbk_rt_cache_destroy(&place.rt, &place.cache);
    assert_non_null(copy);
    return copy;
}

static void compiler_variables_change_the_key(void **state) {
    (void)state;
    char *lines[6];
    (void)unsetenv("IGC_TEST");
    (void)unsetenv("POCL_EXTRA_BUILD_FLAGS");
    lines[0] = key_lines();
    (void)setenv("IGC_TEST", "", 1);
    lines[1] = key_lines();
    (void)setenv("IGC_TEST", "1", 1);
    lines[2] = key_lines();
    (void)unsetenv("IGC_TEST");
    (void)setenv("POCL_EXTRA_BUILD_FLAGS", "1", 1);
    lines[3] = key_lines();
    (void)setenv("IGC_TEST", "1", 1);
    lines[4] = key_lines();
    (void)unsetenv("IGC_TEST");
    (void)unsetenv("POCL_EXTRA_BUILD_FLAGS");
    (void)setenv("CUBEBACK_UNRELATED", "1", 1);
    lines[5] = key_lines();
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < i; j++) assert_string_not_equal(lines[i], lines[j]);
    }
    assert_string_equal(lines[5], lines[0]);
    for (int i = 0; i < 6; i++) free(lines[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stored_is_found),
        cmocka_unit_test(files_are_private),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(sums_notice_exchanged_words),
        cmocka_unit_test(sha256_gives_the_published_values),
        cmocka_unit_test(another_keys_file_is_refused),
        cmocka_unit_test(only_our_own_files_count),
        cmocka_unit_test(a_directory_open_to_others_is_not_used),
        cmocka_unit_test(anothers_directory_is_not_used),
        cmocka_unit_test(read_only_mode_changes_nothing),
        cmocka_unit_test(a_place_that_is_no_directory),
        cmocka_unit_test(an_unwritable_directory),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(the_oldest_go_first),
        cmocka_unit_test(what_others_have_stored_counts),
        cmocka_unit_test(old_temporaries_are_swept),
        cmocka_unit_test(the_environment_names_the_place),
        cmocka_unit_test(compiler_variables_change_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
