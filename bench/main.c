/// cubeback-bench: times named cases beside the machine's limit and, where there is one, a peer.
#include "bench.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

struct options {
    bool list;
    const char *filter; ///< comma-separated parts of names; one of them must occur
    const char *device;
    const char *json;
    bool start_probe, driver_probe; ///< run as a child of the start case
};

static const char usage[] = "Usage: cubeback-bench [options]\n"
                            "  --list           print the names of the cases\n"
                            "  --filter A,B     run the cases whose name contains A or B\n"
                            "  --device NAME    part of a device's or platform's name\n"
                            "  --json FILE      write the results\n";

static bool parse_options(int argc, char **argv, struct options *o) {
    enum { LIST = 1, FILTER, DEVICE, JSON, START, DRIVER, HELP };
    static const struct option list[] = {
        {"list", 0, NULL, LIST},         {"filter", 1, NULL, FILTER},
        {"device", 1, NULL, DEVICE},     {"json", 1, NULL, JSON},
        {"start-probe", 0, NULL, START}, {"driver-probe", 0, NULL, DRIVER},
        {"help", 0, NULL, HELP},         {NULL, 0, NULL, 0}};
    memset(o, 0, sizeof *o);
    for (int c; (c = getopt_long(argc, argv, "", list, NULL)) != -1;) {
        switch (c) {
        case LIST:
            o->list = true;
            break;
        case FILTER:
            o->filter = optarg;
            break;
        case DEVICE:
            o->device = optarg;
            break;
        case JSON:
            o->json = optarg;
            break;
        case START:
            o->start_probe = true;
            break;
        case DRIVER:
            o->driver_probe = true;
            break;
        case HELP:
            fputs(usage, stdout);
            exit(0);
        default:
            fputs(usage, stderr);
            return false;
        }
    }
    return true;
}

static bool matches(const char *name, const char *filter) {
    if (filter == NULL) return true;
    for (const char *part = filter; *part != 0;) {
        size_t length = strcspn(part, ",");
        for (const char *at = name; length > 0 && *at != 0; at++)
            if (strncmp(at, part, length) == 0) return true;
        part += length + (part[length] == ',');
    }
    return false;
}

static cbk_status open_bench(const char *device_name, struct bench *bench) {
    cbk_status status = CBK_OK;
    bench->info = CBK_INIT(cbk_device_info);
    TRY(cbk_opencl_create(NULL, &bench->backend));
    TRY(cbk_device_open(bench->backend,
                        &CBK_INIT(cbk_device_params, .name = device_name, .seed = 1),
                        &bench->device));
    TRY(cbk_device_get_info(bench->device, &bench->info));
    TRY(cbk_stream_create(bench->device, NULL, &bench->stream));
    bench->is_cpu = bench->info.type == CBK_DEVICE_CPU;
done:
    return status;
}

static void close_bench(struct bench *bench) {
    cbk_stream_release(&bench->stream);
    cbk_device_release(&bench->device);
    cbk_backend_release(&bench->backend);
}

/// All tables one after the other.
static struct bench_case const *case_at(uint32_t index) {
    const struct bench_table tables[] = {
        bench_pointwise_cases(), bench_reduce_cases(), bench_matmul_cases(),
        bench_host_cases(),      bench_graph_cases(),  bench_memory_cases(),
        bench_index_cases(),     bench_order_cases(),  bench_linalg_cases()};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        if (index < tables[t].count) return &tables[t].cases[index];
        index -= tables[t].count;
    }
    return NULL;
}

static int run_cases(struct bench *bench, const struct options *options) {
    enum { MOST = 256 };
    static struct bench_result results[MOST];
    uint32_t count = 0;
    int failures = 0;
    printf("device: %s, driver %s\n", bench->info.name, bench->info.driver);
    bench_print_header();
    for (uint32_t i = 0; case_at(i) != NULL && count < MOST; i++) {
        const struct bench_case *of = case_at(i);
        if (!matches(of->name, options->filter) || (of->gpu_only && bench->is_cpu)) continue;
        if (bench_run_case(bench, of, &results[count]) == CBK_OK) {
            bench_print(&results[count++]);
        } else {
            printf("%-28s failed: %s\n", of->name, cbk_last_error_message());
            failures++;
        }
    }
    if (options->json != NULL && !bench_write_json(options->json, bench, results, count))
        failures++;
    return failures == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    struct options options;
    struct bench bench = {.executable = argv[0]};
    if (!parse_options(argc, argv, &options)) return 2;
    if (options.start_probe) return bench_start_probe(options.device);
    if (options.driver_probe) return bench_driver_probe(options.device);
    if (options.list) {
        for (uint32_t i = 0; case_at(i) != NULL; i++) puts(case_at(i)->name);
        return 0;
    }
    bench.device_name = options.device;
    if (open_bench(options.device, &bench) != CBK_OK) {
        fprintf(stderr, "cubeback-bench: %s\n", cbk_last_error_message());
        close_bench(&bench);
        return 1;
    }
    int result = run_cases(&bench, &options);
    close_bench(&bench);
    return result;
}
