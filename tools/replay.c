/// cubeback-replay: runs a saved program and tells what came out.
#include "replay.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char help[] =
    "Usage: cubeback-replay FILE [options]\n"
    "Runs a program saved by cbk_ir_save and prints dtype, shape, checksum (FNV-1a 64 of the\n"
    "row-major bytes) and range of each result.\n"
    "\n"
    "  --backend NAME       opencl (default) or reference\n"
    "  --device N|NAME      device number, or a part of its name; default: the best one\n"
    "  --compare reference  run on the reference backend too and print the worst difference\n"
    "  --tolerance T        of --compare, relative to an output's largest number; default: 1e-4 "
    "for\n"
    "                       f64 and f32, 1e-2 for smaller floats, 0 for everything else\n"
    "  --seed-data N        seed of the numbers that inputs without contents get (default 1)\n"
    "  --repeat N           run N times; all must give the same bytes\n"
    "  --dump               print the program and stop\n"
    "\n"
    "Exit status: 0 all is well, 1 the library refused something, 2 wrong use, 3 --compare found "
    "a\n"
    "difference above the tolerance, 4 two runs gave different bytes.\n";

struct options {
    const char *file, *backend, *device;
    bool compares, dumps;
    double tolerance; ///< negative: by dtype
    uint64_t seed;
    uint32_t repeats;
};

// ---- options ------------------------------------------------------------------------------------

static bool read_number(const char *text, uint64_t *out) {
    char *end = NULL;
    *out = strtoull(text, &end, 0);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

static bool read_option(int option, struct options *options) {
    uint64_t number = 0;
    switch (option) {
    case 'b':
        options->backend = optarg;
        return strcmp(optarg, "opencl") == 0 || strcmp(optarg, "reference") == 0;
    case 'd':
        options->device = optarg;
        return true;
    case 'c':
        options->compares = true;
        return strcmp(optarg, "reference") == 0;
    case 't':
        options->tolerance = atof(optarg);
        return options->tolerance >= 0;
    case 's':
        return read_number(optarg, &options->seed);
    case 'r':
        if (!read_number(optarg, &number) || number == 0 || number > UINT32_MAX) return false;
        options->repeats = (uint32_t)number;
        return true;
    case 'u':
        options->dumps = true;
        return true;
    default:
        return false;
    }
}

/// -1: go on; else the exit status.
static int read_options(int argc, char **argv, struct options *options) {
    static const struct option list[] = {
        {"backend", 1, NULL, 'b'},   {"device", 1, NULL, 'd'},    {"compare", 1, NULL, 'c'},
        {"tolerance", 1, NULL, 't'}, {"seed-data", 1, NULL, 's'}, {"repeat", 1, NULL, 'r'},
        {"dump", 0, NULL, 'u'},      {"help", 0, NULL, 'h'},      {0}};
    *options = (struct options){.backend = "opencl", .tolerance = -1, .seed = 1, .repeats = 1};
    for (int c; (c = getopt_long(argc, argv, "", list, NULL)) != -1;) {
        if (c == 'h') return fputs(help, stdout) < 0;
        if (!read_option(c, options)) return fputs(help, stderr), REPLAY_USAGE;
    }
    if (optind + 1 != argc) return fputs(help, stderr), REPLAY_USAGE;
    options->file = argv[optind];
    return -1;
}

// ---- the place ----------------------------------------------------------------------------------

static cbk_status open_place(const struct options *options, struct replay_place *place) {
    cbk_device_params params = CBK_INIT(cbk_device_params);
    uint64_t index = 0;
    const bool is_reference = strcmp(options->backend, "reference") == 0;
    if (options->device != NULL && read_number(options->device, &index)) {
        params.index = (uint32_t)index;
    } else {
        params.name = options->device;
    }
    cbk_status status = is_reference ? cbk_reference_create(NULL, &place->backend)
                                     : cbk_opencl_create(NULL, &place->backend);
    if (status == CBK_OK) status = cbk_device_open(place->backend, &params, &place->device);
    if (status == CBK_OK) status = cbk_stream_create(place->device, NULL, &place->stream);
    return status;
}

static cbk_status open_reference(struct replay_place *place) {
    const struct options plain = {.backend = "reference"};
    return open_place(&plain, place);
}

static void close_place(struct replay_place *place) {
    cbk_stream_release(&place->stream);
    cbk_device_release(&place->device);
    cbk_backend_release(&place->backend);
}

// ---- running ------------------------------------------------------------------------------------

static double now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static int dump(const cbk_ir_program *program) {
    uint64_t size = 0;
    char *text = NULL;
    cbk_status status = cbk_ir_describe(program, NULL, 0, &size);
    if (status == CBK_OK) text = malloc((size_t)size);
    if (text != NULL) status = cbk_ir_describe(program, text, size, &size);
    if (text == NULL || status != CBK_OK) return free(text), REPLAY_FAILED;
    const bool is_written = fputs(text, stdout) >= 0;
    free(text);
    return is_written ? 0 : REPLAY_FAILED;
}

/// Runs as often as asked; the results of the first run stay. All runs must agree.
static int run_all(const struct options *options, const struct replay_place *place,
                   const struct replay_place *reference, const cbk_ir_program *program,
                   struct replay_results *results) {
    double least = 0;
    for (uint32_t i = 0; i < options->repeats; i++) {
        struct replay_results again = {0};
        struct replay_results *into = i == 0 ? results : &again;
        double start = now_ms();
        if (replay_run(program, place, reference, options->seed, into) != CBK_OK) {
            replay_results_free(&again);
            return REPLAY_FAILED;
        }
        double took = now_ms() - start;
        if (i == 0 || took < least) least = took;
        const bool is_same = i == 0 || replay_results_equal(results, &again);
        replay_results_free(&again);
        if (!is_same) {
            printf("run %u gave other bytes than the first one\n", (unsigned)i + 1);
            return REPLAY_UNSTEADY;
        }
    }
    if (options->repeats > 1) {
        printf("%u runs, all the same; the fastest took %.3f ms with its transfers\n",
               (unsigned)options->repeats, least);
    }
    return 0;
}

static int replay(const struct options *options, const cbk_ir_program *program) {
    struct replay_place place = {0}, reference = {0};
    struct replay_results results = {0}, wanted = {0};
    int result = REPLAY_FAILED;
    if (open_place(options, &place) != CBK_OK || open_reference(&reference) != CBK_OK) goto done;
    result = run_all(options, &place, &reference, program, &results);
    if (result != 0) goto done;
    result = REPLAY_FAILED;
    if (replay_print(&results, &reference) != CBK_OK) goto done;
    result = 0;
    if (!options->compares) goto done;
    result = REPLAY_FAILED;
    if (replay_run(program, &reference, &reference, options->seed, &wanted) != CBK_OK) goto done;
    result = replay_compare(&wanted, &results, &reference, options->tolerance);
done:
    replay_results_free(&wanted);
    replay_results_free(&results);
    close_place(&reference);
    close_place(&place);
    return result;
}

int main(int argc, char **argv) {
    struct options options;
    cbk_ir_program *program = NULL;
    int result = read_options(argc, argv, &options);
    if (result >= 0) return result;
    result = cbk_ir_load(options.file, &program) != CBK_OK ? REPLAY_FAILED
             : options.dumps                               ? dump(program)
                                                           : replay(&options, program);
    if (result == REPLAY_FAILED) fprintf(stderr, "cubeback-replay: %s\n", cbk_last_error_message());
    cbk_ir_program_release(&program);
    return result;
}
