/// report.c: the table on the terminal and the JSON file.
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#ifdef CUBEBACK_JSON
#include <jansson.h>
#endif

static bool is_rate(const struct bench_case *of) {
    return of->flops > 0 || of->elements > 0;
}

static double rate_of(const struct bench_result *result) {
    const struct bench_case *of = result->of;
    return (of->flops > 0 ? of->flops : bench_bytes(of)) / result->ours.median_ns;
}

/// How much of the limit is reached: rates by rate, times by time.
static double limit_ratio(const struct bench_result *result) {
    if (!(result->limit > 0)) return 0;
    return is_rate(result->of) ? rate_of(result) / result->limit
                               : result->limit / result->ours.median_ns;
}

void bench_print_header(void) {
    printf("%-28s %12s %10s %10s %11s %11s %6s %9s\n", "case", "median us", "p10", "p90", "rate",
           "limit", "of it", "vs peer");
}

void bench_print(const struct bench_result *result) {
    const struct bench_case *of = result->of;
    const char *unit = of->flops > 0 ? "GFLOP/s" : of->elements > 0 ? "GB/s" : "us";
    double limit = is_rate(of) ? result->limit : result->limit / 1e3;
    printf("%-28s %12.2f %10.2f %10.2f", of->name, result->ours.median_ns / 1e3,
           result->ours.p10_ns / 1e3, result->ours.p90_ns / 1e3);
    if (is_rate(of))
        printf(" %11.1f", rate_of(result));
    else
        printf(" %11s", "");
    if (result->limit > 0)
        printf(" %11.2f %6.2f", limit, limit_ratio(result));
    else
        printf(" %11s %6s", "", "");
    if (result->peer.valid)
        printf(" %9.2f", result->peer.median_ns / result->ours.median_ns);
    else
        printf(" %9s", "");
    printf(" %s", unit);
    if (result->peer.valid) printf(", peer %s", of->peer_name);
    if (of->note != NULL) printf(", %s %.2f", of->note, result->note);
    printf("\n");
    fflush(stdout);
}

#ifdef CUBEBACK_JSON
static json_t *number_or_null(double value) {
    return isfinite(value) && value > 0 ? json_real(value) : json_null();
}

static json_t *case_to_json(const struct bench_result *result) {
    const struct bench_case *of = result->of;
    double bytes = bench_bytes(of), ns = result->ours.median_ns;
    json_t *object = json_pack(
        "{s:s,s:f,s:f,s:f,s:o,s:o,s:o,s:o,s:o,s:o}", "name", of->name, "median_ns", ns, "p10_ns",
        result->ours.p10_ns, "p90_ns", result->ours.p90_ns, "bytes", number_or_null(bytes), "flops",
        number_or_null(of->flops), "gbps", number_or_null(bytes / ns), "gflops",
        number_or_null(of->flops / ns), "limit", number_or_null(result->limit), "limit_ratio",
        number_or_null(limit_ratio(result)));
    if (object != NULL && result->peer.valid) {
        json_object_set_new(object, "peer", json_string(of->peer_name));
        json_object_set_new(object, "peer_ns", json_real(result->peer.median_ns));
        json_object_set_new(object, "ratio", json_real(result->peer.median_ns / ns));
    }
    if (object != NULL && of->note != NULL)
        json_object_set_new(object, of->note, json_real(result->note));
    return object;
}

bool bench_write_json(const char *path, const struct bench *bench,
                      const struct bench_result *results, uint32_t count) {
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    json_t *cases = json_array();
    for (uint32_t i = 0; i < count; i++) json_array_append_new(cases, case_to_json(&results[i]));
    json_t *root = json_pack("{s:s,s:s,s:s,s:s,s:s,s:o}", "device", bench->info.name, "type",
                             bench->is_cpu ? "cpu" : "gpu", "driver", bench->info.driver, "library",
                             CBK_VERSION_STRING, "date", date, "cases", cases);
    bool ok = root != NULL && json_dump_file(root, path, JSON_INDENT(1)) == 0;
    json_decref(root);
    if (!ok) fprintf(stderr, "cubeback-bench: %s could not be written\n", path);
    return ok;
}
#else
bool bench_write_json(const char *path, const struct bench *bench,
                      const struct bench_result *results, uint32_t count) {
    (void)path, (void)bench, (void)results, (void)count;
    fprintf(stderr, "cubeback-bench: built without jansson, --json is not available\n");
    return false;
}
#endif
