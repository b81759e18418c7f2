/// cases_memory.c: what blocks of the pool, crossings between streams and uploads cost.
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 101

// ---- the pool ------------------------------------------------------------------------------------

/// Blocks of mixed sizes, 64 at a time, as the backend takes them for its outputs. The note is what
/// giving one back costs.
static cbk_status measure_pool(struct bench *bench, const struct bench_case *of,
                               struct bench_result *out) {
    enum { BLOCKS = 64, REPEATS = 50 };
    void *self = NULL, *blocks[BLOCKS];
    const cbk_vtable *vtable = cbk_backend_vtable(bench->backend, &self);
    void *stream = cbk_stream_handle(bench->stream), *device = cbk_device_handle(bench->device);
    double taking[ROUNDS], giving[ROUNDS];
    struct bench_times giving_times;
    cbk_status status = CBK_OK;
    (void)of;
    for (int round = -3; round < ROUNDS; round++) { // three to warm up
        double take_ns = 0, give_ns = 0;
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            const double start = bench_now_ns();
            for (int i = 0; i < BLOCKS; i++)
                TRY(vtable->storage_alloc(self, stream, 256u + 1000u * (unsigned)(i * 7 % BLOCKS),
                                          &blocks[i]));
            const double taken = bench_now_ns();
            for (int i = 0; i < BLOCKS; i++) vtable->storage_free(self, device, blocks[i]);
            take_ns += taken - start;
            give_ns += bench_now_ns() - taken;
        }
        if (round < 0) continue;
        taking[round] = take_ns / (BLOCKS * REPEATS);
        giving[round] = give_ns / (BLOCKS * REPEATS);
    }
    bench_summarise(taking, ROUNDS, &out->ours);
    bench_summarise(giving, ROUNDS, &giving_times);
    out->note = giving_times.median_ns;
done:
    return status;
}

// ---- crossings -------------------------------------------------------------------------------------

static cbk_status setup_crossing(struct bench *bench, const struct bench_case *of) {
    const int64_t length = 1024;
    (void)of;
    return cbk_zeros(bench->stream, CBK_DTYPE_F32, 1, &length, &bench->tensor[0]);
}

/// Additions to one tensor, in turn on both streams; nanoseconds for each.
static cbk_status add_in_turn(cbk_tensor *x, cbk_stream *first, cbk_stream *second,
                              double *out_ns) {
    enum { ADDITIONS = 200 };
    cbk_status status = CBK_OK;
    const double start = bench_now_ns();
    for (int i = 0; i < ADDITIONS; i++)
        TRY(cbk_add_scalar_into(i % 2 ? first : second, x, cbk_f(1), x));
    TRY(cbk_sync(second));
    TRY(cbk_sync(first));
    *out_ns = (bench_now_ns() - start) / ADDITIONS;
done:
    return status;
}

/// A ping-pong of two streams, where each launch waits for the other stream's. The limit is the same
/// on one stream; the note is what a crossing adds.
static cbk_status measure_crossing(struct bench *bench, const struct bench_case *of,
                                   struct bench_result *out) {
    double crossing[ROUNDS], alone[ROUNDS];
    struct bench_times alone_times;
    cbk_stream *other = NULL;
    cbk_status status = CBK_OK;
    (void)of;
    TRY(cbk_stream_create(bench->device, NULL, &other));
    for (int round = -3; round < ROUNDS; round++) {
        double crossing_ns = 0, alone_ns = 0;
        TRY(add_in_turn(bench->tensor[0], bench->stream, other, &crossing_ns));
        TRY(add_in_turn(bench->tensor[0], bench->stream, bench->stream, &alone_ns));
        if (round >= 0) crossing[round] = crossing_ns, alone[round] = alone_ns;
    }
    bench_summarise(crossing, ROUNDS, &out->ours);
    bench_summarise(alone, ROUNDS, &alone_times);
    out->limit = alone_times.median_ns;
    out->note = (out->ours.median_ns - alone_times.median_ns) / 1e3;
done:
    cbk_stream_release(&other);
    return status;
}

// ---- uploads ---------------------------------------------------------------------------------------

static cbk_status setup_upload(struct bench *bench, const struct bench_case *of) {
    const int64_t length = of->n;
    return cbk_zeros(bench->stream, CBK_DTYPE_F32, 1, &length, &bench->tensor[0]);
}

static cbk_status upload(struct bench *bench, const void *data, int64_t length, double *out_ns) {
    cbk_status status = CBK_OK;
    const double start = bench_now_ns();
    TRY(cbk_tensor_write(bench->stream, bench->tensor[0], data, (uint64_t)length * 4));
    TRY(cbk_sync(bench->stream));
    *out_ns = bench_now_ns() - start;
done:
    return status;
}

/// A write from memory of cbk_staging_alloc; the limit is the same from malloc's memory, the note how
/// many times faster staging is. On CPUs the two are one kind.
static cbk_status measure_upload(struct bench *bench, const struct bench_case *of,
                                 struct bench_result *out) {
    enum { UPLOADS = 31 };
    double staged_ns[UPLOADS], plain_ns[UPLOADS];
    struct bench_times plain_times;
    const size_t size = (size_t)of->n * 4;
    void *staged = NULL, *plain = malloc(size);
    cbk_status status = CBK_OK;
    if (plain == NULL) TRY(cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory"));
    TRY(cbk_staging_alloc(bench->device, size, &staged));
    memset(plain, 1, size);
    memset(staged, 1, size);
    for (int i = -2; i < UPLOADS; i++) {
        double first = 0, second = 0;
        TRY(upload(bench, staged, of->n, &first));
        TRY(upload(bench, plain, of->n, &second));
        if (i >= 0) staged_ns[i] = first, plain_ns[i] = second;
    }
    bench_summarise(staged_ns, UPLOADS, &out->ours);
    bench_summarise(plain_ns, UPLOADS, &plain_times);
    out->limit = plain_times.median_ns;
    out->note = plain_times.median_ns / out->ours.median_ns;
done:
    cbk_staging_free(bench->device, &staged);
    free(plain);
    return status;
}

static const struct bench_case cases[] = {
    {.name = "pool_alloc", .measure = measure_pool, .note = "ns_to_free"},
    {.name = "crossing",
     .setup = setup_crossing,
     .measure = measure_crossing,
     .note = "us_over_one_stream"},
    {.name = "staging_upload",
     .setup = setup_upload,
     .measure = measure_upload,
     .n = 16 << 20,
     .note = "times_pageable"},
};

struct bench_table bench_memory_cases(void) {
    return (struct bench_table){cases, sizeof cases / sizeof *cases};
}
