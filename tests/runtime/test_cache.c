/// test_cache.c: programs through the cache on disk: a second start compiles nothing, and whatever
/// happens to an entry, the caller gets a program that works.
///
/// With the argument "--child DIRECTORY" it is one of the processes that share a cache.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"
#include "runtime_side.h"
#include "support.h"

static const char text[] = "#pragma OPENCL FP_CONTRACT OFF\n"
                           "kernel void store(global int *x, uint offset) {\n"
                           "    x[offset + get_global_id(0)] = VALUE + (int)get_global_id(0);\n"
                           "}\n";
static const struct cbk_rt_source source = {"store", (const unsigned char *)text, sizeof text - 1};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    cbk_rt_text_add(defines, " -DVALUE=%d", (int)spec->key[0]);
}

static const char *program_path;

// ---- one run of a program ------------------------------------------------------------------------

/// Builds or loads the program for `value`, launches it, checks what it wrote.
static cbk_status use_program(struct test_runtime *side, int value, bool *out_is_right) {
    enum { COUNT = 8 };
    struct cbk_rt_spec spec = {
        .source = &source, .entry = "store", .key = {(uint64_t)value, 0}, .describe = describe};
    struct cbk_rt_kernel *kernel = NULL;
    struct cbk_rt_block *block = NULL;
    int32_t data[COUNT] = {0};
    cbk_status status = CBK_OK;

    *out_is_right = true;
    RT_TRY(cbk_rt_kernel(side->stream, &spec, &kernel));
    RT_TRY(cbk_rt_alloc(side->stream, sizeof data, &block));
    uint32_t offset = (uint32_t)(cbk_rt_block_offset(block) / sizeof *data);
    struct cbk_rt_launch launch = {.kernel = kernel,
                                   .operation = "store",
                                   .dimensions = 1,
                                   .global = {COUNT, 1, 1},
                                   .local = {COUNT, 1, 1}};
    cbk_rt_arg_block(&launch, block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &offset, sizeof offset);
    RT_TRY(cbk_rt_launch(side->stream, &launch));
    RT_TRY(cbk_rt_read(side->stream, &(struct cbk_rt_read){block, 0, data, sizeof data}, 1));
    for (int i = 0; i < COUNT; i++) *out_is_right = *out_is_right && data[i] == value + i;
done:
    cbk_rt_free(side->device, &block);
    return status;
}

/// A whole life: open, use, close. Gives the counters before the close.
static cbk_counters run_with(const cbk_backend_params *params, const struct cbk_rt_cl *table,
                             int value) {
    struct test_runtime side;
    bool is_right = false;
    test_runtime_open(&side, params, table);
    assert_ok(use_program(&side, value, &is_right));
    assert_true(is_right);
    cbk_counters counters = test_runtime_counters(&side);
    test_runtime_close(&side);
    return counters;
}

static cbk_counters run(const char *directory, int value) {
    cbk_backend_params params = test_runtime_params(directory);
    return run_with(&params, NULL, value);
}

#define assert_counters(counters, built, hits, misses, refused)                                    \
    do {                                                                                           \
        const cbk_counters counters_ = (counters);                                                 \
        assert_int_equal(counters_.programs_built, built);                                         \
        assert_int_equal(counters_.cache_hits, hits);                                              \
        assert_int_equal(counters_.cache_misses, misses);                                          \
        assert_int_equal(counters_.cache_refused, refused);                                        \
    } while (0)

// ---- the plain way -------------------------------------------------------------------------------

static void a_second_start_compiles_nothing(void **state) {
    (void)state;
    char directory[TEST_PATH_SIZE];
    test_directory_make(directory);
    assert_counters(run(directory, 100), 1, 0, 1, 0);
    assert_int_equal(test_directory_count(directory, ".cbk", NULL), 1);
    assert_counters(run(directory, 100), 0, 1, 0, 0);
    // Other defines are another program.
    assert_counters(run(directory, 200), 1, 0, 1, 0);
    assert_int_equal(test_directory_count(directory, ".cbk", NULL), 2);
    assert_counters(run(directory, 100), 0, 1, 0, 0);
    assert_counters(run(directory, 200), 0, 1, 0, 0);
    test_directory_remove(directory);
}

static void without_a_cache_nothing_is_counted(void **state) {
    (void)state;
    cbk_counters counters = run("", 100);
    assert_counters(counters, 1, 0, 0, 0);
    assert_int_equal(counters.cache_stored, 0);
    assert_true(counters.build_ns > 0);
}

static void read_only_mode_uses_and_writes_not(void **state) {
    (void)state;
    char directory[TEST_PATH_SIZE];
    test_directory_make(directory);
    cbk_backend_params params = test_runtime_params(directory);
    params.flags |= CBK_CACHE_READ_ONLY;
    assert_counters(run_with(&params, NULL, 100), 1, 0, 1, 0);
    assert_int_equal(test_directory_count(directory, "", NULL), 0);
    (void)run(directory, 100);
    assert_counters(run_with(&params, NULL, 100), 0, 1, 0, 0);
    test_directory_remove(directory);
}

static void a_place_that_cannot_be_used_costs_only_time(void **state) {
    (void)state;
    char directory[TEST_PATH_SIZE], file[TEST_PATH_SIZE];
    test_directory_make(directory);
    test_path(file, directory, "file");
    test_file_write(file, "x", 1);
    assert_counters(run(file, 100), 1, 0, 1, 0);
    assert_counters(run("/proc/no/such/place", 100), 1, 0, 1, 0);
    test_directory_remove(directory);
}

static void idle_time_is_used(void **state) {
    (void)state;
    char directory[TEST_PATH_SIZE];
    struct test_runtime side;
    bool is_right = false;
    test_directory_make(directory);
    cbk_backend_params params = test_runtime_params(directory);
    test_runtime_open(&side, &params, NULL);
    assert_ok(use_program(&side, 100, &is_right));

    // Long after the device was opened a small share of the time is enough.
    side.device->programs->opened_ns = cbk_os_clock_ns() - (uint64_t)3600 * 1000000000;
    side.device->programs->export_ns = 0;
    assert_ok(cbk_rt_sync(side.stream));
    assert_int_equal(test_runtime_counters(&side).cache_stored, 1);
    assert_int_equal(test_directory_count(directory, ".cbk", NULL), 1);

    // The share is spent: the next one waits for the close.
    assert_ok(use_program(&side, 200, &is_right));
    side.device->programs->opened_ns = cbk_os_clock_ns();
    assert_ok(cbk_rt_sync(side.stream));
    assert_int_equal(test_runtime_counters(&side).cache_stored, 1);
    test_runtime_close(&side);
    assert_int_equal(test_directory_count(directory, ".cbk", NULL), 2);
    test_directory_remove(directory);
}

static void pocl_exports_only_what_was_launched(void **state) {
    (void)state;
    char directory[TEST_PATH_SIZE];
    struct test_runtime side;
    struct cbk_rt_kernel *kernel = NULL;
    test_directory_make(directory);
    cbk_backend_params params = test_runtime_params(directory);
    test_runtime_open(&side, &params, NULL);
    const bool is_pocl = cbk_rt_device_caps(side.device)->is_pocl;
    struct cbk_rt_spec spec = {
        .source = &source, .entry = "store", .key = {100, 0}, .describe = describe};
    assert_ok(cbk_rt_kernel(side.stream, &spec, &kernel));
    test_runtime_close(&side);
    assert_int_equal(test_directory_count(directory, ".cbk", NULL), is_pocl ? 0 : 1);
    test_directory_remove(directory);
}

// ---- entries that are not what they should be ------------------------------------------------------

/// Changes the file of the entry in some way.
struct damage {
    const char *name;
    size_t keep;   ///< 0: all of it; else bytes to keep, or to cut if `from_end`
    bool from_end; ///< both count from the end
    size_t flip;   ///< byte to change
    bool swap;     ///< put another program's file in its place
};

#define NO_FLIP SIZE_MAX

static const struct damage damages[] = {
    {"cut to one byte", 1, false, NO_FLIP, false},
    {"cut inside the header", 40, false, NO_FLIP, false},
    {"cut after the header", 48, false, NO_FLIP, false},
    {"cut inside the key", 100, false, NO_FLIP, false},
    {"cut inside the binary", 100, true, NO_FLIP, false},
    {"cut by the last byte", 1, true, NO_FLIP, false},
    {"changed magic", 0, false, 0, false},
    {"changed format", 0, false, 8, false},
    {"changed sizes", 0, false, 17, false},
    {"changed sum", 0, false, 33, false},
    {"changed key", 0, false, 60, false},
    {"changed binary", 0, true, 50, false},
    {"another program's file", 0, false, NO_FLIP, true},
};

static void damage_file(const char *path, const struct damage *damage, const char *other) {
    size_t size = 0;
    unsigned char *data = test_file_read(damage->swap ? other : path, &size);
    assert_true(size > 500);
    if (damage->flip != NO_FLIP)
        data[damage->from_end ? size - damage->flip : damage->flip] ^= 0x55;
    if (damage->keep > 0) size = damage->from_end ? size - damage->keep : damage->keep;
    test_file_write(path, data, size);
    free(data);
}

static void damaged_entries_are_rebuilt(void **state) {
    (void)state;
    char directory[TEST_PATH_SIZE], path[TEST_PATH_SIZE], elsewhere[TEST_PATH_SIZE];
    char other[TEST_PATH_SIZE];
    test_directory_make(directory);
    test_directory_make(elsewhere);
    (void)run(directory, 100);
    (void)run(elsewhere, 200);
    assert_int_equal(test_directory_count(directory, ".cbk", path), 1);
    assert_int_equal(test_directory_count(elsewhere, ".cbk", other), 1);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        print_message("    %s\n", damages[i].name);
        damage_file(path, &damages[i], other);
        assert_counters(run(directory, 100), 1, 0, 0, 1);
        // The rebuilt one took its place. Seeing that once is enough; a run takes its time.
        if (i % 4 == 0) assert_counters(run(directory, 100), 0, 1, 0, 0);
    }
    test_directory_remove(elsewhere);
    test_directory_remove(directory);
}

// ---- a driver that refuses -------------------------------------------------------------------------

static struct cbk_rt_cl real;
static int refuse_step; ///< 0 create, 1 binary status, 2 build, 3 kernel
static atomic_bool refuse_next;

static cl_program CL_API_CALL refusing_create(cl_context context, cl_uint count,
                                              const cl_device_id *ids, const size_t *sizes,
                                              const unsigned char **binaries, cl_int *statuses,
                                              cl_int *code) {
    atomic_store(&refuse_next, true);
    if (refuse_step == 0) {
        *code = CL_INVALID_BINARY;
        return NULL;
    }
    cl_program program =
        real.clCreateProgramWithBinary(context, count, ids, sizes, binaries, statuses, code);
    if (refuse_step == 1) *statuses = CL_INVALID_BINARY;
    return program;
}

static cl_int CL_API_CALL refusing_build(cl_program program, cl_uint count, const cl_device_id *ids,
                                         const char *options,
                                         void(CL_CALLBACK *notify)(cl_program, void *),
                                         void *user) {
    if (refuse_step == 2 && atomic_exchange(&refuse_next, false)) return CL_BUILD_PROGRAM_FAILURE;
    return real.clBuildProgram(program, count, ids, options, notify, user);
}

static cl_kernel CL_API_CALL refusing_kernel(cl_program program, const char *name, cl_int *code) {
    if (refuse_step == 3 && atomic_exchange(&refuse_next, false)) {
        *code = CL_INVALID_KERNEL_NAME;
        return NULL;
    }
    return real.clCreateKernel(program, name, code);
}

static void refused_binaries_are_rebuilt(void **state) {
    (void)state;
    char directory[TEST_PATH_SIZE];
    test_directory_make(directory);
    (void)run(directory, 100);
    real = test_cl_table();
    struct cbk_rt_cl table = real;
    table.clCreateProgramWithBinary = refusing_create;
    table.clBuildProgram = refusing_build;
    table.clCreateKernel = refusing_kernel;
    cbk_backend_params params = test_runtime_params(directory);
    for (refuse_step = 0; refuse_step < 4; refuse_step++) {
        atomic_store(&refuse_next, false);
        assert_counters(run_with(&params, &table, 100), 1, 0, 0, 1);
        assert_int_equal(test_directory_count(directory, ".cbk", NULL), 1);
        assert_counters(run(directory, 100), 0, 1, 0, 0);
    }
    test_directory_remove(directory);
}

static cl_int CL_API_CALL refusing_info(cl_program program, cl_program_info what, size_t size,
                                        void *value, size_t *out_size) {
    if (what == CL_PROGRAM_BINARIES) return CL_OUT_OF_HOST_MEMORY;
    return real.clGetProgramInfo(program, what, size, value, out_size);
}

static void a_driver_that_gives_no_binary(void **state) {
    (void)state;
    char directory[TEST_PATH_SIZE];
    test_directory_make(directory);
    real = test_cl_table();
    struct cbk_rt_cl table = real;
    table.clGetProgramInfo = refusing_info;
    cbk_backend_params params = test_runtime_params(directory);
    assert_counters(run_with(&params, &table, 100), 1, 0, 1, 0);
    assert_int_equal(test_directory_count(directory, ".cbk", NULL), 0);
    test_directory_remove(directory);
}

// ---- several processes -----------------------------------------------------------------------------

/// One of the processes: two programs, three times over. The exit code tells: 0 is good.
static int be_child(const char *directory) {
    cbk_backend_params params = test_runtime_params(directory);
    for (int round = 0; round < 3; round++) {
        struct test_runtime side;
        bool is_right = false;
        test_runtime_open(&side, &params, NULL);
        for (int value = 100; value <= 200; value += 100) {
            if (use_program(&side, value, &is_right) != CBK_OK || !is_right) return 1;
        }
        test_runtime_close(&side);
    }
    return 0;
}

static void processes_share_the_cache(void **state) {
    (void)state;
    enum { CHILDREN = 3 };
    char directory[TEST_PATH_SIZE];
    pid_t children[CHILDREN];
    test_directory_make(directory);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            (void)execl(program_path, program_path, "--child", directory, (char *)NULL);
            _exit(127);
        }
    }
    for (int i = 0; i < CHILDREN; i++) {
        int result = -1;
        assert_int_equal(waitpid(children[i], &result, 0), children[i]);
        assert_true(WIFEXITED(result));
        assert_int_equal(WEXITSTATUS(result), 0);
    }
    assert_int_equal(test_directory_count(directory, ".cbk", NULL), 2);
    assert_counters(run(directory, 100), 0, 1, 0, 0);
    assert_counters(run(directory, 200), 0, 1, 0, 0);
    test_directory_remove(directory);
}

int main(int argument_count, char **arguments) {
    if (argument_count == 3 && strcmp(arguments[1], "--child") == 0) return be_child(arguments[2]);
    program_path = arguments[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_start_compiles_nothing),
        cmocka_unit_test(without_a_cache_nothing_is_counted),
        cmocka_unit_test(read_only_mode_uses_and_writes_not),
        cmocka_unit_test(a_place_that_cannot_be_used_costs_only_time),
        cmocka_unit_test(idle_time_is_used),
        cmocka_unit_test(pocl_exports_only_what_was_launched),
        cmocka_unit_test(damaged_entries_are_rebuilt),
        cmocka_unit_test(refused_binaries_are_rebuilt),
        cmocka_unit_test(a_driver_that_gives_no_binary),
        cmocka_unit_test(processes_share_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
