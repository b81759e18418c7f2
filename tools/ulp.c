/// cubeback-ulp: runs f32 functions over every input there is and prints the largest error.
///
/// The judge is the C library's function in double. Errors are in units of the last place of the
/// exact result (2^-149 for subnormal ones), where they are smallest; a result that is infinite or
/// NaN on one side only counts as infinitely wrong. Functions of two operands get a grid of edges
/// and random pairs.
#include "ulp.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cubeback/backend.h>

static const char help[] =
    "Usage: cubeback-ulp [options]\n"
    "Prints the largest error of f32 functions over all inputs. Exit status 1: beyond the bounds\n"
    "of docs/numerics.md.\n"
    "  --op A,B        these functions only\n"
    "  --stride N      every Nth bit pattern (default 1: all 2^32)\n"
    "  --device A,B    parts of devices' or platforms' names (default: the first device)\n"
    "  --gpu-kernels   the kernels for GPUs, whatever the device is\n"
    "  --threads N     threads of the host (default: one per core)\n"
    "  --progress      percents done, on the standard error stream\n";

struct options {
    const char *op, *device;
    uint64_t stride;
    uint32_t threads;
    bool gpu_kernels, progress;
};

static bool parse(int argc, char **argv, struct options *o) {
    enum { OP = 1, STRIDE, DEVICE, GPU, THREADS, PROGRESS, HELP };
    static const struct option list[] = {
        {"op", 1, NULL, OP},           {"stride", 1, NULL, STRIDE},
        {"device", 1, NULL, DEVICE},   {"gpu-kernels", 0, NULL, GPU},
        {"threads", 1, NULL, THREADS}, {"progress", 0, NULL, PROGRESS},
        {"help", 0, NULL, HELP},       {NULL, 0, NULL, 0}};
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *o = (struct options){.stride = 1, .threads = cores > 0 ? (uint32_t)cores : 1};
    for (int c; (c = getopt_long(argc, argv, "", list, NULL)) != -1;) {
        if (c == OP) o->op = optarg;
        if (c == STRIDE) o->stride = strtoull(optarg, NULL, 10);
        if (c == DEVICE) o->device = optarg;
        if (c == GPU) o->gpu_kernels = true;
        if (c == THREADS) o->threads = (uint32_t)strtoul(optarg, NULL, 10);
        if (c == PROGRESS) o->progress = true;
        if (c == HELP) fputs(help, stdout), exit(0);
        if (c == '?') return false;
    }
    return optind == argc && o->stride > 0 && o->threads > 0;
}

static bool is_wanted(const char *names, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = names; at != NULL && *at != 0; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0) return true;
    }
    return names == NULL;
}

// ---- devices -------------------------------------------------------------------------------------

static cbk_status open_side(cbk_backend *backend, const char *name, struct ulp_side *side) {
    cbk_status status =
        cbk_device_open(backend, &CBK_INIT(cbk_device_params, .name = name), &side->device);
    side->info = CBK_INIT(cbk_device_info);
    if (status == CBK_OK) status = cbk_device_get_info(side->device, &side->info);
    side->is_cpu = side->info.type == CBK_DEVICE_CPU;
    return status;
}

/// Opens the devices of a comma-separated list; NULL: the first there is.
static cbk_status open_sides(cbk_backend *backend, const char *names, struct ulp_side *sides,
                             uint32_t *count) {
    char list[256], *rest = NULL;
    if (names == NULL) return *count = 1, open_side(backend, NULL, sides);
    snprintf(list, sizeof list, "%s", names);
    cbk_status status = CBK_OK;
    for (char *name = strtok_r(list, ",", &rest); name != NULL && status == CBK_OK;
         name = strtok_r(NULL, ",", &rest)) {
        if (*count == ULP_SIDES)
            return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "more than %d devices", ULP_SIDES);
        status = open_side(backend, name, &sides[(*count)++]);
    }
    return status;
}

// ---- the table -----------------------------------------------------------------------------------

static void print_header(const struct ulp_run *run) {
    for (uint32_t s = 0; s < run->side_count; s++)
        printf("device %u: %s, driver %s\n", s + 1, run->sides[s].info.name,
               run->sides[s].info.driver);
    printf("every %llu. input, %u threads\n\n| %-12s | %-8s |", (unsigned long long)run->stride,
           run->threads, "function", "allowed");
    for (uint32_t s = 0; s < run->side_count; s++)
        printf(" %u: %-6s | %-8s | %-31s | %-8s |", s + 1, "ulp", "share", "at", "specials");
    printf("\n|---|---|");
    for (uint32_t s = 0; s < run->side_count; s++) printf("---|---|---|---|");
    printf("\n");
}

static void print_worst(const struct ulp_function *function, const struct ulp_worst *worst) {
    char at[64] = "";
    if (worst->share > 0 && function->two != NULL)
        snprintf(at, sizeof at, "%.9g, %.9g", (double)worst->a, (double)worst->b);
    else if (worst->share > 0)
        snprintf(at, sizeof at, "%.9g", (double)worst->a);
    if (worst->share > 0)
        printf(" %-9.3f | %-8.3f | %-31s |", worst->ulps, worst->share, at);
    else
        printf(" %-9s | %-8s | %-31s |", "0.5", "", at);
    printf(" %-8llu |", (unsigned long long)worst->specials);
}

static void print_row(const struct ulp_run *run, uint32_t index) {
    const struct ulp_function *function = &ulp_functions[index];
    char allowed[16];
    snprintf(allowed, sizeof allowed, function->rounded_on_cpus ? "0.5, %g" : "%g", function->ulps);
    printf("| %-12s | %-8s |", function->name, allowed);
    for (uint32_t s = 0; s < run->side_count; s++)
        print_worst(function, &run->worst[index * ULP_SIDES + s]);
    printf("\n");
}

/// Prints what is beyond its bound; returns how many are.
static uint32_t print_beyond(const struct ulp_run *run) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < ulp_function_count * ULP_SIDES; i++) {
        const struct ulp_worst *worst = &run->worst[i];
        if (!(worst->share > 1)) continue;
        printf("%sBEYOND: %s on device %u: x = %.9g (%a), y = %.9g: %.9g instead of %.9g\n",
               count++ == 0 ? "\n" : "", ulp_functions[i / ULP_SIDES].name, i % ULP_SIDES + 1,
               (double)worst->a, (double)worst->a, (double)worst->b, (double)worst->got,
               worst->want);
    }
    return count;
}

static cbk_status run_and_print(struct ulp_run *run, uint32_t *out_beyond) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const cbk_status status = ulp_run(run);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (status != CBK_OK) return status;
    print_header(run);
    for (uint32_t i = 0; i < ulp_function_count; i++)
        if (run->wanted[i]) print_row(run, i);
    *out_beyond = print_beyond(run);
    printf("\n%.1f s\n",
           (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
    return CBK_OK;
}

int main(int argc, char **argv) {
    struct options options;
    struct ulp_side sides[ULP_SIDES];
    struct ulp_run run = {.sides = sides};
    cbk_backend *backend = NULL;
    uint32_t beyond = 0;
    if (!parse(argc, argv, &options)) return fputs(help, stderr), 2;
    bool *wanted = calloc(ulp_function_count, sizeof *wanted);
    run.worst = calloc((size_t)ulp_function_count * ULP_SIDES, sizeof *run.worst);
    if (wanted == NULL || run.worst == NULL) abort();
    memset(sides, 0, sizeof sides);
    for (uint32_t i = 0; i < ulp_function_count; i++)
        wanted[i] = is_wanted(options.op, ulp_functions[i].name);
    run.wanted = wanted, run.stride = options.stride, run.threads = options.threads;
    run.progress = options.progress;
    cbk_status status = cbk_opencl_create(
        &CBK_INIT(cbk_backend_params, .flags = options.gpu_kernels ? CBK_GPU_KERNELS : 0),
        &backend);
    if (status == CBK_OK) status = open_sides(backend, options.device, sides, &run.side_count);
    if (status != CBK_OK)
        fprintf(stderr, "cubeback-ulp: %s\n", cbk_last_error_message());
    else
        status = run_and_print(&run, &beyond);
    for (uint32_t s = 0; s < ULP_SIDES; s++) cbk_device_release(&sides[s].device);
    cbk_backend_release(&backend);
    free(run.worst), free(wanted);
    return status != CBK_OK || beyond > 0;
}
