/// runtime_side.c: see runtime_side.h.
#include "runtime_side.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

void test_runtime_open(struct test_runtime *side, const cbk_backend_params *params,
                       const struct cbk_rt_cl *cl) {
    *side = (struct test_runtime){0};
    assert_ok(cbk_rt_create(params, cl, &side->rt));
    assert_ok(cbk_rt_device_open(
        side->rt, &CBK_INIT(cbk_device_params, .name = getenv("CUBEBACK_TEST_DEVICE")),
        &side->device));
    assert_ok(cbk_rt_stream_create(side->device, &side->stream));
}

void test_runtime_close(struct test_runtime *side) {
    cbk_rt_stream_destroy(&side->stream);
    cbk_rt_device_close(&side->device);
    cbk_rt_destroy(&side->rt);
}

cbk_backend_params test_runtime_params(const char *directory) {
    return CBK_INIT(cbk_backend_params, .flags = CBK_NO_ENVIRONMENT, .cache_directory = directory);
}

cbk_counters test_runtime_counters(struct test_runtime *side) {
    cbk_counters counters = CBK_INIT(cbk_counters);
    assert_ok(cbk_rt_device_counters(side->device, &counters));
    return counters;
}

struct cbk_rt_cl test_cl_table(void) {
    struct cbk_rt_cl table;
    void *library = NULL;
    assert_ok(cbk_rt_cl_load(&table, &library));
    return table;
}

struct cbk_rt_source test_source(const char *name, const char *text) {
    return (struct cbk_rt_source){name, (const unsigned char *)text, strlen(text)};
}

// ---- directories -------------------------------------------------------------------------------

void test_path(char path[TEST_PATH_SIZE], const char *directory, const char *name) {
    int size = snprintf(path, TEST_PATH_SIZE, "%s/%s", directory, name);
    assert_in_range(size, 1, TEST_PATH_SIZE - 1);
}

void test_directory_make(char path[TEST_PATH_SIZE]) {
    const char *place = getenv("TMPDIR");
    test_path(path, place ? place : "/tmp", "cubeback-test-XXXXXX");
    assert_non_null(mkdtemp(path));
}

void test_directory_remove(const char *path) {
    char inner[TEST_PATH_SIZE];
    DIR *listing = opendir(path);
    if (!listing) {
        (void)unlink(path);
        return;
    }
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        struct stat info;
        test_path(inner, path, entry->d_name);
        if (lstat(inner, &info) == 0 && S_ISDIR(info.st_mode)) {
            test_directory_remove(inner);
        } else {
            (void)unlink(inner);
        }
    }
    closedir(listing);
    (void)rmdir(path);
}

int test_directory_count(const char *path, const char *suffix, char out_path[TEST_PATH_SIZE]) {
    int count = 0;
    DIR *listing = opendir(path);
    if (!listing) return 0;
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        size_t size = strlen(entry->d_name), suffix_size = strlen(suffix);
        if (size < suffix_size || strcmp(entry->d_name + size - suffix_size, suffix) != 0) continue;
        if (entry->d_name[0] == '.') continue;
        if (out_path) test_path(out_path, path, entry->d_name);
        count++;
    }
    closedir(listing);
    return count;
}

unsigned char *test_file_read(const char *path, size_t *out_size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *out_size = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*out_size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *out_size, file), *out_size);
    fclose(file);
    return data;
}

void test_file_write(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
}
