/// test_program.c: specs become kernels: one build for many threads, failures that are told once
/// and remembered, one kernel object per stream, texts without a locale, probes.
#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"
#include "runtime_side.h"
#include "support.h"

static const char good_text[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "kernel void first(global int *x) { x[get_global_id(0)] = VALUE; }\n"
    "kernel void second(global int *x) { x[get_global_id(0)] += 1; }\n";
static const char bad_text[] = "#pragma OPENCL FP_CONTRACT OFF\n"
                               "kernel void first(global int *x) {\n"
                               "    x[0] = no_such_name;\n"
                               "}\n";

static const struct cbk_rt_source good = {"good", (const unsigned char *)good_text,
                                          sizeof good_text - 1};
static const struct cbk_rt_source bad = {"bad", (const unsigned char *)bad_text,
                                         sizeof bad_text - 1};

/// The value comes from the key, as launchers do it.
static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    cbk_rt_text_add(defines, " -DVALUE=%" PRIu64, spec->key[0]);
}

static struct cbk_rt_spec make_spec(const struct cbk_rt_source *source, const char *entry,
                                    uint64_t value) {
    return (struct cbk_rt_spec){
        .source = source, .entry = entry, .key = {value, 0}, .describe = describe};
}

// ---- replaced entries of the table -------------------------------------------------------------

static struct cbk_rt_cl real;
static atomic_int build_calls, fail_next_build, slow_is_waiting, fast_is_done;

static cl_int CL_API_CALL counted_build(cl_program program, cl_uint count, const cl_device_id *ids,
                                        const char *options,
                                        void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    atomic_fetch_add(&build_calls, 1);
    if (atomic_exchange(&fail_next_build, 0)) return CL_OUT_OF_HOST_MEMORY;
    if (strstr(options, "-DVALUE=77")) {
        atomic_store(&slow_is_waiting, 1);
        // A build that blocks the others would never get past here; 20 s stand for never.
        for (int i = 0; i < 20000 && !atomic_load(&fast_is_done); i++) {
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
    }
    return real.clBuildProgram(program, count, ids, options, notify, user);
}

static struct cbk_rt_cl counting_table(void) {
    real = test_cl_table();
    struct cbk_rt_cl table = real;
    table.clBuildProgram = counted_build;
    atomic_store(&build_calls, 0);
    atomic_store(&fail_next_build, 0);
    return table;
}

// ---- kernels -----------------------------------------------------------------------------------

static void a_kernel_is_found_again(void **state) {
    (void)state;
    struct test_runtime side;
    struct cbk_rt_kernel *first = NULL, *again = NULL, *second = NULL, *other = NULL, *copy = NULL;
    cbk_backend_params params = test_runtime_params("");
    test_runtime_open(&side, &params, NULL);

    struct cbk_rt_spec spec = make_spec(&good, "first", 1);
    assert_ok(cbk_rt_kernel(side.stream, &spec, &first));
    assert_ok(cbk_rt_kernel(side.stream, &spec, &again));
    assert_ptr_equal(first, again);
    assert_true(cbk_rt_kernel_max_work_group(first) >= 1);

    struct cbk_rt_spec second_spec = make_spec(&good, "second", 1);
    assert_ok(cbk_rt_kernel(side.stream, &second_spec, &second));
    assert_ptr_not_equal(first, second);
    assert_int_equal(test_runtime_counters(&side).programs_built, 1);

    // The same entry text at another address is the same kernel.
    char entry[] = "first";
    struct cbk_rt_spec copy_spec = make_spec(&good, entry, 1);
    assert_ok(cbk_rt_kernel(side.stream, &copy_spec, &copy));
    assert_ptr_equal(copy, first);

    struct cbk_rt_spec other_spec = make_spec(&good, "first", 2);
    assert_ok(cbk_rt_kernel(side.stream, &other_spec, &other));
    assert_ptr_not_equal(first, other);
    assert_int_equal(test_runtime_counters(&side).programs_built, 2);
    test_runtime_close(&side);
}

static void many_slots_find_their_kernel(void **state) {
    (void)state;
    enum { ALIASES = 100 };
    struct test_runtime side;
    struct cbk_rt_kernel *kernel = NULL, *found = NULL;
    char entries[ALIASES][8];
    cbk_backend_params params = test_runtime_params("");
    test_runtime_open(&side, &params, NULL);

    struct cbk_rt_spec spec = make_spec(&good, "first", 3);
    assert_ok(cbk_rt_kernel(side.stream, &spec, &kernel));
    // Other addresses fill the table past its first sizes without building anything.
    for (int i = 0; i < ALIASES; i++) {
        strcpy(entries[i], "first");
        spec.entry = entries[i];
        assert_ok(cbk_rt_kernel(side.stream, &spec, &found));
        assert_ptr_equal(found, kernel);
    }
    for (int i = 0; i < ALIASES; i++) {
        spec.entry = entries[i];
        assert_ok(cbk_rt_kernel(side.stream, &spec, &found));
        assert_ptr_equal(found, kernel);
    }
    assert_int_equal(test_runtime_counters(&side).programs_built, 1);
    test_runtime_close(&side);
}

static void streams_have_kernels_of_their_own(void **state) {
    (void)state;
    struct test_runtime side;
    struct cbk_rt_stream *stream = NULL;
    struct cbk_rt_kernel *one = NULL, *two = NULL;
    cbk_backend_params params = test_runtime_params("");
    test_runtime_open(&side, &params, NULL);
    assert_ok(cbk_rt_stream_create(side.device, &stream));

    struct cbk_rt_spec spec = make_spec(&good, "first", 1);
    assert_ok(cbk_rt_kernel(side.stream, &spec, &one));
    assert_ok(cbk_rt_kernel(stream, &spec, &two));
    assert_ptr_not_equal(one->handle, two->handle);
    assert_ptr_equal(one->program, two->program);
    assert_int_equal(test_runtime_counters(&side).programs_built, 1);
    cbk_rt_stream_destroy(&stream);
    test_runtime_close(&side);
}

static void a_missing_entry_is_an_error(void **state) {
    (void)state;
    struct test_runtime side;
    struct cbk_rt_kernel *kernel = NULL;
    cbk_backend_params params = test_runtime_params("");
    test_runtime_open(&side, &params, NULL);

    struct cbk_rt_spec spec = make_spec(&good, "third", 1);
    assert_status(CBK_ERROR_BUILD, cbk_rt_kernel(side.stream, &spec, &kernel));
    assert_null(kernel);
    spec.entry = "first";
    assert_ok(cbk_rt_kernel(side.stream, &spec, &kernel));
    test_runtime_close(&side);
}

// ---- threads -----------------------------------------------------------------------------------

enum { THREADS = 8 };

struct worker {
    struct test_runtime *side;
    struct cbk_rt_spec specs[2];
    pthread_barrier_t *start;
    cbk_status status;
};

static void *ask(void *argument) {
    struct worker *worker = argument;
    struct cbk_rt_stream *stream = NULL;
    struct cbk_rt_kernel *kernel = NULL;
    worker->status = cbk_rt_stream_create(worker->side->device, &stream);
    (void)pthread_barrier_wait(worker->start);
    for (int i = 0; i < 2 && worker->status == CBK_OK; i++) {
        worker->status = cbk_rt_kernel(stream, &worker->specs[i], &kernel);
    }
    cbk_rt_stream_destroy(&stream);
    return NULL;
}

static void many_threads_build_once(void **state) {
    (void)state;
    struct test_runtime side;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    pthread_barrier_t start;
    struct cbk_rt_cl table = counting_table();
    cbk_backend_params params = test_runtime_params("");
    test_runtime_open(&side, &params, &table);
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);

    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.side = &side, .start = &start};
        workers[i].specs[i % 2] = make_spec(&good, "first", 1);
        workers[i].specs[1 - i % 2] = make_spec(&good, i % 4 < 2 ? "first" : "second", 2);
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].status, CBK_OK);
    }
    assert_int_equal(atomic_load(&build_calls), 2);
    assert_int_equal(test_runtime_counters(&side).programs_built, 2);
    (void)pthread_barrier_destroy(&start);
    test_runtime_close(&side);
}

static void a_slow_build_holds_up_nobody_else(void **state) {
    (void)state;
    struct test_runtime side;
    pthread_t thread;
    pthread_barrier_t start;
    struct cbk_rt_kernel *kernel = NULL;
    struct cbk_rt_cl table = counting_table();
    cbk_backend_params params = test_runtime_params("");
    test_runtime_open(&side, &params, &table);
    assert_int_equal(pthread_barrier_init(&start, NULL, 1), 0);

    struct worker slow = {.side = &side, .start = &start};
    slow.specs[0] = slow.specs[1] = make_spec(&good, "first", 77);
    assert_int_equal(pthread_create(&thread, NULL, ask, &slow), 0);
    while (!atomic_load(&slow_is_waiting)) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    struct cbk_rt_spec fast = make_spec(&good, "first", 5);
    assert_ok(cbk_rt_kernel(side.stream, &fast, &kernel));
    atomic_store(&fast_is_done, 1);

    // This one waits for the other thread's build and makes none of its own.
    assert_ok(cbk_rt_kernel(side.stream, &slow.specs[0], &kernel));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(slow.status, CBK_OK);
    assert_int_equal(atomic_load(&build_calls), 2);
    (void)pthread_barrier_destroy(&start);
    test_runtime_close(&side);
}

// ---- failures ----------------------------------------------------------------------------------

static char logged[16384];

static void log_line(void *user_data, uint32_t level, const char *text) {
    (void)user_data;
    if (level == CBK_LOG_ERROR) snprintf(logged, sizeof logged, "%s", text);
}

static void a_refused_text_is_told_and_remembered(void **state) {
    (void)state;
    struct test_runtime side;
    struct cbk_rt_kernel *kernel = NULL;
    struct cbk_rt_cl table = counting_table();
    cbk_backend_params params = test_runtime_params("");
    params.log = log_line;
    logged[0] = 0;
    test_runtime_open(&side, &params, &table);
    assert_string_equal(cbk_rt_device_build_log(side.device), "");

    struct cbk_rt_spec spec = make_spec(&bad, "first", 41);
    assert_status(CBK_ERROR_BUILD, cbk_rt_kernel(side.stream, &spec, &kernel));
    assert_null(kernel);
    assert_non_null(strstr(cbk_last_error_message(), "program bad"));
    assert_non_null(strstr(cbk_last_error_message(), "no_such_name"));
    const char *log = cbk_rt_device_build_log(side.device);
    assert_non_null(strstr(log, "no_such_name'"));             // the compiler's words
    assert_non_null(strstr(log, "-DVALUE=41"));                // the defines
    assert_non_null(strstr(log, "    3      x[0] = no_such")); // the numbered source
    assert_string_equal(log, logged);

    // The second time nothing is compiled, and the answer is the same.
    assert_status(CBK_ERROR_BUILD, cbk_rt_kernel(side.stream, &spec, &kernel));
    assert_non_null(strstr(cbk_last_error_message(), "no_such_name"));
    assert_int_equal(atomic_load(&build_calls), 1);

    // Other programs are not touched by it, and the log stays.
    struct cbk_rt_spec fine = make_spec(&good, "first", 1);
    assert_ok(cbk_rt_kernel(side.stream, &fine, &kernel));
    assert_non_null(strstr(cbk_rt_device_build_log(side.device), "no_such_name"));
    test_runtime_close(&side);
}

static void a_passing_failure_is_not_remembered(void **state) {
    (void)state;
    struct test_runtime side;
    struct cbk_rt_kernel *kernel = NULL;
    struct cbk_rt_cl table = counting_table();
    cbk_backend_params params = test_runtime_params("");
    test_runtime_open(&side, &params, &table);

    struct cbk_rt_spec spec = make_spec(&good, "first", 6);
    atomic_store(&fail_next_build, 1);
    assert_status(CBK_ERROR_OUT_OF_HOST_MEMORY, cbk_rt_kernel(side.stream, &spec, &kernel));
    assert_null(kernel);
    assert_ok(cbk_rt_kernel(side.stream, &spec, &kernel));
    assert_int_equal(atomic_load(&build_calls), 2);
    assert_string_equal(cbk_rt_device_build_log(side.device), "");
    test_runtime_close(&side);
}

// ---- texts -------------------------------------------------------------------------------------

static void numbers_know_no_locale(void **state) {
    (void)state;
    char data[256];
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C"};
    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++) {
        if (setlocale(LC_ALL, locales[i])) break;
    }
    struct cbk_rt_text text = {.data = data, .capacity = sizeof data};
    cbk_rt_text_add(&text, " -DA=%d -DB=%.1f -DC=%a -DD=%s", -5, 0.5, 1.5, "x,y");
    cbk_rt_text_add(&text, " %08x %" PRIu64 " %" PRId64 " %zu %c %%", 0xbeefu, UINT64_MAX,
                    INT64_MIN, (size_t)7, 'q');
    cbk_rt_text_add(&text, " %.*s|", 3, "abcdef");
    (void)setlocale(LC_ALL, "C");
    const char expected[] = " -DA=-5 -DB=0.5 -DC=0x1.8p+0 -DD=x,y 0000beef 18446744073709551615 "
                            "-9223372036854775808 7 q % abc|";
    assert_int_equal(text.size, sizeof expected - 1);
    assert_memory_equal(data, expected, text.size);
}

static void a_text_counts_past_its_end(void **state) {
    (void)state;
    char data[8] = "........";
    struct cbk_rt_text text = {.data = data, .capacity = 4};
    cbk_rt_text_add(&text, "ab%d", 12345);
    assert_int_equal(text.size, 7);
    assert_memory_equal(data, "ab12....", 8);
}

static void describe_at_length(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    (void)spec;
    for (int i = 0; i < 400; i++) cbk_rt_text_add(defines, " -DNAME_%d=%d", i, i);
    cbk_rt_text_add(defines, " -DVALUE=NAME_399");
}

static void long_defines_reach_the_compiler(void **state) {
    (void)state;
    struct test_runtime side;
    struct cbk_rt_kernel *kernel = NULL;
    cbk_backend_params params = test_runtime_params("");
    test_runtime_open(&side, &params, NULL);
    struct cbk_rt_spec spec = make_spec(&good, "first", 400);
    spec.describe = describe_at_length;
    assert_ok(cbk_rt_kernel(side.stream, &spec, &kernel));
    test_runtime_close(&side);
}

// ---- probes ------------------------------------------------------------------------------------

static void probes_answer_and_remember(void **state) {
    (void)state;
    struct test_runtime side;
    char directory[TEST_PATH_SIZE];
    bool builds = false;
    test_directory_make(directory);
    for (int run = 0; run < 2; run++) {
        struct cbk_rt_cl table = counting_table();
        cbk_backend_params params = test_runtime_params(directory);
        test_runtime_open(&side, &params, &table);
        for (int i = 0; i < 2; i++) {
            assert_ok(cbk_rt_probe_build(side.device, "yes", "kernel void f() {}\n", &builds));
            assert_true(builds);
            assert_ok(cbk_rt_probe_build(side.device, "no", bad_text, &builds));
            assert_false(builds);
        }
        assert_int_equal(atomic_load(&build_calls), run == 0 ? 2 : 0);
        assert_string_equal(cbk_rt_device_build_log(side.device), "");
        test_runtime_close(&side);
    }
    test_directory_remove(directory);
}

static void a_passing_failure_is_no_verdict(void **state) {
    (void)state;
    struct test_runtime side;
    bool builds = false;
    struct cbk_rt_cl table = counting_table();
    cbk_backend_params params = test_runtime_params("");
    test_runtime_open(&side, &params, &table);
    atomic_store(&fail_next_build, 1);
    assert_status(CBK_ERROR_OUT_OF_HOST_MEMORY,
                  cbk_rt_probe_build(side.device, "yes", "kernel void f() {}\n", &builds));
    assert_ok(cbk_rt_probe_build(side.device, "yes", "kernel void f() {}\n", &builds));
    assert_true(builds);
    test_runtime_close(&side);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_is_found_again),
        cmocka_unit_test(many_slots_find_their_kernel),
        cmocka_unit_test(streams_have_kernels_of_their_own),
        cmocka_unit_test(a_missing_entry_is_an_error),
        cmocka_unit_test(many_threads_build_once),
        cmocka_unit_test(a_slow_build_holds_up_nobody_else),
        cmocka_unit_test(a_refused_text_is_told_and_remembered),
        cmocka_unit_test(a_passing_failure_is_not_remembered),
        cmocka_unit_test(numbers_know_no_locale),
        cmocka_unit_test(a_text_counts_past_its_end),
        cmocka_unit_test(long_defines_reach_the_compiler),
        cmocka_unit_test(probes_answer_and_remember),
        cmocka_unit_test(a_passing_failure_is_no_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
