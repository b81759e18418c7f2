// device.c: opens the two sides that a suite holds against each other.

#include "device.h"
#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_pair test_pair;

uint32_t test_backend_flags(void) {
    static const struct {
        const char *word;
        uint32_t flag;
    } words[] = {
        {"gpu", CBK_GPU_KERNELS}, {"cpu", CBK_CPU_KERNELS},      {"index64", CBK_INDEX_64},
        {"blas", CBK_ROUTE_BLAS}, {"noblas", CBK_ROUTE_NO_BLAS}, {"separate", CBK_SEPARATE_BUFFERS},
    };
    const char *forms = getenv("CUBEBACK_TEST_FORMS");
    uint32_t flags = 0;
    while (forms && *forms) {
        size_t length = strcspn(forms, " ,+");
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strlen(words[i].word) == length && !strncmp(words[i].word, forms, length))
                flags |= words[i].flag;
        forms += length;
        forms += strspn(forms, " ,+");
    }
    return flags;
}

static void log_line(void *user_data, uint32_t level, const char *text) {
    (void)user_data, (void)level;
    fprintf(stderr, "%s\n", text);
}

cbk_backend_params test_backend_params(void) {
    return CBK_INIT(cbk_backend_params, .flags = test_backend_flags(), .cache_directory = "",
                    .log = getenv("CUBEBACK_LOG") ? log_line : NULL);
}

bool test_side_open(struct test_side *side, const char *name, cbk_backend *backend, bool by_name) {
    const char *wanted = by_name ? getenv("CUBEBACK_TEST_DEVICE") : NULL;
    side->name = name;
    side->backend = backend;
    cbk_status status =
        cbk_device_open(backend, &CBK_INIT(cbk_device_params, .name = wanted), &side->device);
    if (status == CBK_OK) status = cbk_stream_create(side->device, NULL, &side->stream);
    if (status == CBK_OK) return true;
    fprintf(stderr, "%s: %s\n", name, cbk_last_error_message());
    return false;
}

void test_side_close(struct test_side *side) {
    cbk_stream_release(&side->stream);
    cbk_device_release(&side->device);
    cbk_backend_release(&side->backend);
}

bool test_opencl_open(struct test_side *side, uint32_t flags) {
    cbk_backend_params params = test_backend_params();
    cbk_backend *backend = NULL;
    params.flags |= flags;
    if (cbk_opencl_create(&params, &backend) != CBK_OK) {
        fprintf(stderr, "opencl: %s\n", cbk_last_error_message());
        return false;
    }
    return test_side_open(side, "device", backend, true);
}

uint64_t test_launch_count(cbk_device *device) {
    cbk_counters counters = CBK_INIT(cbk_counters);
    assert_ok(cbk_device_counters(device, &counters));
    return counters.launches;
}

void test_write_stats(cbk_device *device) {
    const char *path = getenv("CUBEBACK_TEST_STATS");
    cbk_counters counters = CBK_INIT(cbk_counters);
    if (!path || !*path || cbk_device_counters(device, &counters) != CBK_OK) return;
    FILE *file = fopen(path, "a");
    if (!file) return;
    fprintf(file, "programs %" PRIu64 " ns %" PRIu64 "\n", counters.programs_built,
            counters.build_ns);
    fclose(file);
}

int test_pair_open(void **state) {
    const char *kind = getenv("CUBEBACK_TEST_BACKEND");
    cbk_backend *reference = NULL, *second = NULL;
    (void)state;
    if (cbk_reference_create(NULL, &reference) != CBK_OK ||
        !test_side_open(&test_pair.reference, "reference", reference, false))
        return -1;
    if (kind && !strcmp(kind, "reference")) {
        if (cbk_reference_create(NULL, &second) != CBK_OK ||
            !test_side_open(&test_pair.device, "device", second, false))
            return -1;
    } else if (!test_opencl_open(&test_pair.device, 0)) {
        return -1;
    }
    test_pair.info = CBK_INIT(cbk_device_info);
    if (cbk_device_get_info(test_pair.device.device, &test_pair.info) != CBK_OK) return -1;
    printf("[ device   ] %s, forms: %s\n", test_pair.info.name,
           getenv("CUBEBACK_TEST_FORMS") ? getenv("CUBEBACK_TEST_FORMS") : "default");
    return 0;
}

static int check_no_memory_left(struct test_side *side) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    if (cbk_sync(side->stream) != CBK_OK || cbk_memory_usage(side->device, &info) != CBK_OK) {
        fprintf(stderr, "%s: %s\n", side->name, cbk_last_error_message());
        return -1;
    }
    if (info.allocation_count == 0 && info.used_bytes == 0) return 0;
    fprintf(stderr, "%s: %" PRIu64 " blocks, %" PRIu64 " bytes still in use\n", side->name,
            info.allocation_count, info.used_bytes);
    return -1;
}

int test_side_finish(struct test_side *side) {
    int result = 0;
    if (side->stream) {
        test_write_stats(side->device);
        result = check_no_memory_left(side);
    }
    test_side_close(side);
    return result;
}

int test_pair_close(void **state) {
    (void)state;
    const int result = test_side_finish(&test_pair.device);
    return test_side_finish(&test_pair.reference) | result;
}
