/// cases_host.c: what the host pays: launches, the start of a program, memory over many shapes.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <spawn.h>
#include <sys/wait.h>

#include "driver.h"

#define SMALL 1024
#define ENQUEUES 200

// ---- cost of an asynchronous launch ------------------------------------------------------------

static cbk_status setup_small(struct bench *bench, const struct bench_case *of) {
    const int64_t length = SMALL;
    cbk_status status = CBK_OK;
    (void)of;
    for (int i = 0; i < 3; i++)
        TRY(cbk_random_normal(bench->stream, CBK_DTYPE_F32, 1, &length, 0, 1, &bench->tensor[i]));
done:
    return status;
}

static cbk_status add_new(struct bench *bench, const struct bench_case *of) {
    cbk_tensor *sum = NULL;
    (void)of;
    cbk_status status = cbk_add(bench->stream, bench->tensor[0], bench->tensor[1], &sum);
    cbk_tensor_release(&sum);
    return status;
}

static cbk_status add_into(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_add_into(bench->stream, bench->tensor[0], bench->tensor[1], bench->tensor[2]);
}

static cbk_status issue(struct bench *bench, const struct bench_case *of) {
    cbk_status status = CBK_OK;
    for (int i = 0; i < ENQUEUES && status == CBK_OK; i++) status = of->variant(bench, of);
    return status;
}

static cbk_status measure_launch(struct bench *bench, const struct bench_case *of,
                                 struct bench_result *out) {
    return bench_measure_launches(bench, of, issue, bench_driver_enqueue, ENQUEUES, 1024, out);
}

// ---- second start of a program -------------------------------------------------------------------

/// From main to the first addition read back, in a process of its own with warm caches; prints
/// nanoseconds.
int bench_start_probe(const char *device_name) {
    double start = bench_now_ns();
    float one[4] = {1, 2, 3, 4};
    const int64_t length = 4;
    cbk_status status = CBK_OK;
    struct bench bench = {0};
    TRY(cbk_opencl_create(NULL, &bench.backend));
    TRY(cbk_device_open(bench.backend, &CBK_INIT(cbk_device_params, .name = device_name),
                        &bench.device));
    TRY(cbk_stream_create(bench.device, NULL, &bench.stream));
    TRY(cbk_tensor_from_data(bench.stream, CBK_DTYPE_F32, 1, &length, one, sizeof one,
                             &bench.tensor[0]));
    TRY(cbk_add(bench.stream, bench.tensor[0], bench.tensor[0], &bench.tensor[1]));
    TRY(cbk_tensor_read(bench.stream, bench.tensor[1], one, sizeof one));
    printf("%.0f\n", bench_now_ns() - start);
done:
    if (status != CBK_OK) fprintf(stderr, "cubeback-bench: %s\n", cbk_last_error_message());
    for (int i = 0; i < 2; i++) cbk_tensor_release(&bench.tensor[i]);
    cbk_stream_release(&bench.stream);
    cbk_device_release(&bench.device);
    cbk_backend_release(&bench.backend);
    return status == CBK_OK && one[3] == 8.0f ? 0 : 1;
}

extern char **environ;

/// Runs this program with an option and reads the number it prints; negative on failure.
static double number_from_child(const char *executable, const char *option,
                                const char *device_name) {
    char *arguments[5] = {(char *)executable, (char *)option, NULL, NULL, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], exit_status = -1;
    double number = -1;
    pid_t child;
    if (device_name != NULL) arguments[2] = "--device", arguments[3] = (char *)device_name;
    if (pipe(ends) != 0) return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    int failed = posix_spawnp(&child, executable, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (!failed) {
        FILE *output = fdopen(ends[0], "r");
        if (output == NULL || fscanf(output, "%lf", &number) != 1) number = -1;
        if (output != NULL) fclose(output);
        waitpid(child, &exit_status, 0);
    } else {
        close(ends[0]);
    }
    return exit_status == 0 ? number : -1;
}

/// The limit is the driver's own start: platforms, context, queue, a kernel from source that its
/// cache knows, one launch and read.
static cbk_status measure_start(struct bench *bench, const struct bench_case *of,
                                struct bench_result *out) {
    enum { STARTS = 11 };
    double ours[STARTS], drivers[STARTS];
    struct bench_times driver_times;
    (void)of;
    for (int i = -2; i < STARTS; i++) { // two to warm the caches
        double total = number_from_child(bench->executable, "--start-probe", bench->device_name);
        double driver = number_from_child(bench->executable, "--driver-probe", bench->device_name);
        if (total < 0 || driver < 0)
            return cbk_fail(CBK_ERROR_INTERNAL, 0, "the probe process failed");
        if (i >= 0) ours[i] = total, drivers[i] = driver;
    }
    bench_summarise(ours, STARTS, &out->ours);
    bench_summarise(drivers, STARTS, &driver_times);
    out->limit = driver_times.median_ns;
    out->note = (out->ours.median_ns - driver_times.median_ns) / 1e6;
    return CBK_OK;
}

// ---- memory over varying shapes --------------------------------------------------------------------

/// 10,000 additions of ever other lengths up to 4 MiB; the note is the memory held at the end.
static cbk_status measure_memory(struct bench *bench, const struct bench_case *of,
                                 struct bench_result *out) {
    enum { OPERATIONS = 10000 };
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    cbk_tensor *x = NULL, *y = NULL;
    cbk_status status = CBK_OK;
    uint32_t random = 1;
    double start = bench_now_ns();
    (void)of;
    for (int i = 0; i < OPERATIONS; i++) {
        random = random * 1664525u + 1013904223u;
        int64_t length = 1 + (random >> 12); // below 2^20
        TRY(cbk_zeros(bench->stream, CBK_DTYPE_F32, 1, &length, &x));
        TRY(cbk_add_scalar(bench->stream, x, cbk_f(1), &y));
        cbk_tensor_release(&x);
        cbk_tensor_release(&y);
    }
    TRY(cbk_sync(bench->stream));
    out->ours.median_ns = out->ours.p10_ns = out->ours.p90_ns =
        (bench_now_ns() - start) / OPERATIONS;
    TRY(cbk_memory_usage(bench->device, &info));
    out->note = (double)info.reserved_bytes / (1 << 20);
done:
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    return status;
}

static const struct bench_case cases[] = {
    {.name = "host_add_1024",
     .setup = setup_small,
     .measure = measure_launch,
     .variant = add_new,
     .note = "ns_over_bare_enqueue"},
    {.name = "host_add_into_1024",
     .setup = setup_small,
     .measure = measure_launch,
     .variant = add_into,
     .note = "ns_over_bare_enqueue"},
    {.name = "start_first_add", .measure = measure_start, .note = "ms_over_driver"},
    {.name = "memory_10000_shapes", .measure = measure_memory, .note = "reserved_mib"},
};

struct bench_table bench_host_cases(void) {
    return (struct bench_table){cases, sizeof cases / sizeof *cases};
}
