/// measure.c: warm-up, batches, medians.
#include "bench.h"

#include <stdlib.h>
#include <time.h>

#define BATCH_NS 20e6
#define BATCHES 15
#define WARM_NS 60e6

double bench_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double bench_bytes(const struct bench_case *of) {
    return (double)of->elements * cbk_dtype_size(of->dtype) * (of->reads + of->writes);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_summarise(double *samples, int count, struct bench_times *out) {
    qsort(samples, (size_t)count, sizeof *samples, ascending);
    *out = (struct bench_times){.median_ns = samples[count / 2],
                                .p10_ns = samples[count / 10],
                                .p90_ns = samples[count - 1 - count / 10],
                                .valid = true};
}

static double time_batch(bench_function once, bench_function finish, void *state, long count) {
    double start = bench_now_ns();
    for (long i = 0; i < count; i++) once(state);
    if (finish != NULL) finish(state);
    return (bench_now_ns() - start) / (double)count;
}

void bench_time(bench_function once, bench_function finish, void *state, struct bench_times *out) {
    double samples[BATCHES], each = time_batch(once, finish, state, 1);
    for (double spent = 0; spent < WARM_NS; spent += each)
        each = time_batch(once, finish, state, 1);
    long count = each < BATCH_NS ? (long)(BATCH_NS / each) + 1 : 1;
    each = time_batch(once, finish, state, count);
    count = each < BATCH_NS ? (long)(BATCH_NS / each) + 1 : 1;
    for (int i = 0; i < BATCHES; i++) samples[i] = time_batch(once, finish, state, count);
    bench_summarise(samples, BATCHES, out);
}

// ---- cases -----------------------------------------------------------------------------------

struct running {
    struct bench *bench;
    const struct bench_case *of;
    cbk_status status; ///< the first failure
};

static void run_once(void *state) {
    struct running *running = state;
    cbk_status status = running->of->run(running->bench, running->of);
    if (running->status == CBK_OK) running->status = status;
}

static void run_finish(void *state) {
    struct running *running = state;
    cbk_status status = cbk_sync(running->bench->stream);
    if (running->status == CBK_OK) running->status = status;
}

static void find_limit(struct bench *bench, const struct bench_case *of, struct bench_result *out) {
    if (of->flops > 0)
        out->limit = bench_flops_limit(bench);
    else if (of->elements > 0)
        out->limit = bench_bandwidth_limit(bench, of->reads, of->writes,
                                           of->elements * (int64_t)cbk_dtype_size(of->dtype));
}

cbk_status bench_run_case(struct bench *bench, const struct bench_case *of,
                          struct bench_result *out) {
    struct running running = {.bench = bench, .of = of};
    cbk_status status = CBK_OK;
    *out = (struct bench_result){.of = of};
    if (of->setup != NULL) TRY(of->setup(bench, of));
    TRY(cbk_sync(bench->stream));
    if (of->measure != NULL) {
        TRY(of->measure(bench, of, out));
    } else {
        bench_time(run_once, run_finish, &running, &out->ours);
        TRY(running.status);
        find_limit(bench, of, out);
    }
    if (of->peer != NULL) of->peer(bench, of, &out->peer);
done:
    cbk_graph_release(&bench->graph);
    for (int i = 0; i < BENCH_TENSORS; i++) cbk_tensor_release(&bench->tensor[i]);
    return status;
}
