/// bench.h: what the files of cubeback-bench share.
///
/// A case is prepared once, then its `run` is called in batches of at least BATCH_NS, each ended by
/// a sync; the median over the batches is the case's time. The machine's own limit for the same
/// traffic or arithmetic, and a peer where one is installed, are timed the same way in the same
/// process.
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include <cubeback/backend.h>

#define BENCH_TENSORS 48

/// In a function with `cbk_status status` and a label `done`.
#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

struct bench_case;

/// One run of the program.
struct bench {
    cbk_backend *backend;
    cbk_device *device;
    cbk_stream *stream;
    cbk_device_info info;
    bool is_cpu;
    const char *executable;            ///< argv[0], for cases that start a process
    const char *device_name;           ///< as given with --device, may be NULL
    cbk_tensor *tensor[BENCH_TENSORS]; ///< of the running case; released after it
    cbk_graph *graph;                  ///< likewise
    double note_value;                 ///< a case's own figure, see bench_case.note
};

struct bench_times {
    double median_ns, p10_ns, p90_ns;
    bool valid;
};

struct bench_result {
    const struct bench_case *of;
    struct bench_times ours, peer;
    double limit; ///< GB/s, GFLOP/s, or ns for cases with neither bytes nor flops
    double note;
};

typedef cbk_status (*bench_step)(struct bench *bench, const struct bench_case *of);

/// A named case. Traffic is `reads` + `writes` arrays of `elements` elements.
struct bench_case {
    const char *name;
    bench_step setup; ///< fills bench->tensor; NULL: nothing to do
    bench_step run;   ///< enqueues the work once
    cbk_dtype dtype;
    int64_t elements; ///< of one array; 0: not bound by memory
    int64_t m, n, k;  ///< lengths that setup and run look at
    int32_t reads, writes;
    double flops;
    /// Cases that time themselves fill *out instead of being run in batches.
    cbk_status (*measure)(struct bench *bench, const struct bench_case *of,
                          struct bench_result *out);
    /// Times the same work by another library; leaves out->valid false where there is none.
    void (*peer)(struct bench *bench, const struct bench_case *of, struct bench_times *out);
    const char *peer_name;
    bench_step variant; ///< a second way used by run where a case has one
    const char *note;   ///< what `note` in the result means
    bool gpu_only;      ///< too large for a CPU
};

struct bench_table {
    const struct bench_case *cases;
    uint32_t count;
};
struct bench_table bench_pointwise_cases(void);
struct bench_table bench_reduce_cases(void);
struct bench_table bench_index_cases(void);
struct bench_table bench_order_cases(void);
struct bench_table bench_matmul_cases(void);
struct bench_table bench_linalg_cases(void);
struct bench_table bench_host_cases(void);
struct bench_table bench_graph_cases(void);
struct bench_table bench_memory_cases(void);

/// Bytes and rates of a case.
double bench_bytes(const struct bench_case *of);

// measure.c
double bench_now_ns(void);
typedef void (*bench_function)(void *state);
/// Sorts `count` samples of one run each.
void bench_summarise(double *samples, int count, struct bench_times *out);
/// Times `once` in batches ended by `finish` (may be NULL).
void bench_time(bench_function once, bench_function finish, void *state, struct bench_times *out);
cbk_status bench_run_case(struct bench *bench, const struct bench_case *of,
                          struct bench_result *out);

// limits.c: GB/s for so many arrays read and written, GFLOP/s of fused multiply-adds in f32
double bench_bandwidth_limit(struct bench *bench, int reads, int writes, int64_t bytes_per_array);
double bench_flops_limit(struct bench *bench);

// report.c
void bench_print_header(void);
void bench_print(const struct bench_result *result);
bool bench_write_json(const char *path, const struct bench *bench,
                      const struct bench_result *results, uint32_t count);

// host.c: what `--start-probe` runs in a fresh process
int bench_start_probe(const char *device_name);

#endif
