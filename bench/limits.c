/// limits.c: the machine's own limits, by the plainest code that reaches them.
///
/// CPUs: one thread per core running a C loop over large pages, with ordinary and with streaming
/// stores; the faster counts. GPUs: a kernel of one 16-byte access per work-item and array.
#define _GNU_SOURCE // threads that stay on a core
#include "bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "opencl.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_STREAMING 1
#endif

#define MAX_THREADS 64

// ---- CPU -------------------------------------------------------------------------------------

static int cpu_threads(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : (int)count;
}

/// Binds threads made with `attributes` to the n-th core that this process may use. A scheduler may
/// leave a new thread on the core of the one that made it for as long as a loop takes.
static void bind_to_core(pthread_attr_t *attributes, int n) {
#ifdef __linux__
    cpu_set_t allowed, core;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed) && n-- == 0) {
            CPU_ZERO(&core);
            CPU_SET(i, &core);
            (void)pthread_attr_setaffinity_np(attributes, sizeof core, &core);
        }
#else
    (void)attributes, (void)n;
#endif
}

/// work(arguments + i * size) on core i, for all of them at once.
static void run_on_cores(void *(*work)(void *argument), void *arguments, size_t size, int threads) {
    pthread_t thread[MAX_THREADS];
    for (int i = 0; i < threads; i++) {
        pthread_attr_t attributes;
        if (pthread_attr_init(&attributes) != 0) abort();
        bind_to_core(&attributes, i);
        if (pthread_create(&thread[i], &attributes, work, (char *)arguments + (size_t)i * size))
            abort();
        (void)pthread_attr_destroy(&attributes);
    }
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
}

/// One thread's part of the loop out[i] = in0[i] + in1[i] (as many of them as there are).
struct part {
    const float *in[2];
    float *out;
    size_t count; ///< a multiple of 32
    int reads, writes;
    bool streaming;
    float sum;
};

#define LANES 8
#define FETCH_AHEAD 1024 // elements
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

static void loop_plain(struct part *p) {
    lanes zero = {0}, s0 = zero, s1 = zero, s2 = zero, s3 = zero;
    for (size_t i = 0; i < p->count; i += 4 * LANES) {
        lanes v0 = zero, v1 = zero, v2 = zero, v3 = zero;
        for (int r = 0; r < p->reads; r++) {
            const lanes *in = (const lanes *)(p->in[r] + i);
            __builtin_prefetch(p->in[r] + i + FETCH_AHEAD, 0, 2);
            __builtin_prefetch(p->in[r] + i + FETCH_AHEAD + 2 * LANES, 0, 2);
            v0 += in[0], v1 += in[1], v2 += in[2], v3 += in[3];
        }
        if (p->writes > 0) {
            lanes *out = (lanes *)(p->out + i);
            out[0] = v0, out[1] = v1, out[2] = v2, out[3] = v3;
        } else {
            s0 += v0, s1 += v1, s2 += v2, s3 += v3;
        }
    }
    s0 += s1 + (s2 + s3);
    p->sum = s0[0] + s0[1];
}

#ifdef HAS_STREAMING
__attribute__((target("avx"))) static void loop_streaming(struct part *p) {
    for (size_t i = 0; i < p->count; i += 2 * LANES) {
        __m256 v0 = _mm256_setzero_ps(), v1 = v0;
        for (int r = 0; r < p->reads; r++) {
            _mm_prefetch((const char *)(p->in[r] + i + FETCH_AHEAD), _MM_HINT_T1);
            v0 = _mm256_add_ps(v0, _mm256_loadu_ps(p->in[r] + i));
            v1 = _mm256_add_ps(v1, _mm256_loadu_ps(p->in[r] + i + LANES));
        }
        _mm256_stream_ps(p->out + i, v0);
        _mm256_stream_ps(p->out + i + LANES, v1);
    }
    _mm_sfence();
}

/// The same by whole lines.
__attribute__((target("avx512f"))) static void loop_lines(struct part *p) {
    for (size_t i = 0; i < p->count; i += 2 * LANES) {
        __m512 v = _mm512_setzero_ps();
        for (int r = 0; r < p->reads; r++) {
            _mm_prefetch((const char *)(p->in[r] + i + FETCH_AHEAD), _MM_HINT_T1);
            v = _mm512_add_ps(v, _mm512_loadu_ps(p->in[r] + i));
        }
        _mm512_stream_ps(p->out + i, v);
    }
    _mm_sfence();
}
#endif

static void *run_part(void *argument) {
    struct part *p = argument;
#ifdef HAS_STREAMING
    if (p->streaming) {
        if (__builtin_cpu_supports("avx512f"))
            loop_lines(p);
        else
            loop_streaming(p);
        return NULL;
    }
#endif
    loop_plain(p);
    return NULL;
}

struct cpu_loop {
    struct part parts[MAX_THREADS];
    int threads;
};

static void run_loop(void *state) {
    struct cpu_loop *loop = state;
    run_on_cores(run_part, loop->parts, sizeof *loop->parts, loop->threads);
}

/// An array of touched pages, large ones where the system has them; NULL: there is no memory.
static float *make_array(size_t bytes, int value) {
    const size_t large_page = (size_t)2 << 20;
    void *array = NULL;
    if (posix_memalign(&array, large_page, bytes) != 0) return NULL;
#ifdef MADV_HUGEPAGE
    (void)madvise(array, bytes, MADV_HUGEPAGE);
#endif
    return memset(array, value, bytes);
}

static double cpu_bandwidth(int reads, int writes, size_t bytes) {
    struct cpu_loop loop = {.threads = cpu_threads()};
    struct bench_times times;
    size_t count = bytes / sizeof(float) / (size_t)loop.threads / 128 * 128;
    float *array[3] = {NULL, NULL, NULL};
    double best = 0;
    if (count == 0) return 0;
    for (int a = 0; a < 3; a++) {
        array[a] = make_array(bytes, a + 1);
        if (array[a] == NULL) goto done;
    }
    for (int streaming = 0; streaming < 2; streaming++) {
#ifdef HAS_STREAMING
        if (streaming && (writes == 0 || !__builtin_cpu_supports("avx"))) continue;
#else
        if (streaming) continue;
#endif
        for (int i = 0; i < loop.threads; i++) {
            size_t first = (size_t)i * count;
            loop.parts[i] = (struct part){.in = {array[0] + first, array[1] + first},
                                          .out = array[2] + first,
                                          .count = count,
                                          .reads = reads,
                                          .writes = writes,
                                          .streaming = streaming};
        }
        bench_time(run_loop, NULL, &loop, &times);
        double rate = (double)bytes * (reads + writes) / times.median_ns;
        if (rate > best) best = rate;
    }
done:
    for (int a = 0; a < 3; a++) free(array[a]);
    return best;
}

/// Twelve independent chains of 8-lane fused multiply-adds; 192 flops a turn.
#define FLOP_TURNS 2000000L
#ifdef HAS_STREAMING
__attribute__((target("avx2,fma"))) static void *fma_chains(void *argument) {
    __m256 a[12], x = _mm256_set1_ps(1.0f - 0x1p-20f), y = _mm256_set1_ps(0x1p-21f);
    for (int i = 0; i < 12; i++) a[i] = _mm256_set1_ps((float)i);
    for (long turn = 0; turn < FLOP_TURNS; turn++)
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) a[i] = _mm256_fmadd_ps(a[i], x, y);
    for (int i = 1; i < 12; i++) a[0] = _mm256_add_ps(a[0], a[i]);
    _mm256_storeu_ps(argument, a[0]);
    return NULL;
}

static void run_chains(void *state) {
    float sink[MAX_THREADS][LANES];
    run_on_cores(fma_chains, sink, sizeof *sink, *(int *)state);
}

static double cpu_flops(void) {
    struct bench_times times;
    int threads = cpu_threads();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
    bench_time(run_chains, NULL, &threads, &times);
    return 12.0 * LANES * 2 * FLOP_TURNS * threads / times.median_ns;
}
#else
static double cpu_flops(void) {
    return 0;
}
#endif

// ---- GPU -------------------------------------------------------------------------------------

static const char limit_text[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "kernel void read0write1(global const float4 *a, global const float4 *b, global float4 *o) {\n"
    "    o[get_global_id(0)] = (float4)(1.0f);\n"
    "}\n"
    "kernel void read1write1(global const float4 *a, global const float4 *b, global float4 *o) {\n"
    "    o[get_global_id(0)] = a[get_global_id(0)];\n"
    "}\n"
    "kernel void read2write1(global const float4 *a, global const float4 *b, global float4 *o) {\n"
    "    o[get_global_id(0)] = a[get_global_id(0)] + b[get_global_id(0)];\n"
    "}\n"
    "kernel void read1write0(global const float4 *a, global const float4 *b, global float4 *o) {\n"
    "    size_t i = get_group_id(0) * 4096 + get_local_id(0);\n"
    "    float4 s = 0;\n"
    "    for (int j = 0; j < 16; j++) s += a[i + j * 256];\n"
    "    if (s.x + s.y == 12345.0f) o[0] = s;\n"
    "}\n"
    "kernel void fma_chains(global const float4 *a, global const float4 *b, global float4 *o) {\n"
    "    float4 v[4];\n"
    "    for (int i = 0; i < 4; i++) v[i] = (float4)(get_global_id(0) + i);\n"
    "    for (int turn = 0; turn < 4096; turn++)\n"
    "        for (int i = 0; i < 4; i++) v[i] = fma(v[i], (float4)(0.999999f), (float4)(1e-6f));\n"
    "    v[0] += v[1] + v[2] + v[3];\n"
    "    if (v[0].x == 12345.0f) o[0] = v[0];\n"
    "}\n";

static const struct cbk_rt_source limit_source = {
    .name = "limits", .text = (const unsigned char *)limit_text, .size = sizeof limit_text - 1};

static void no_defines(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    (void)spec, (void)defines;
}

struct gpu_loop {
    struct cbk_rt_stream *stream;
    struct cbk_rt_launch launch;
};

static void launch_once(void *state) {
    struct gpu_loop *loop = state;
    (void)cbk_rt_launch(loop->stream, &loop->launch);
}
static void launch_finish(void *state) {
    (void)cbk_rt_sync(((struct gpu_loop *)state)->stream);
}

/// Nanoseconds of a kernel over three arrays of `bytes`; 0 when it cannot run.
static double time_kernel(struct bench *bench, const char *entry, size_t items, size_t bytes) {
    struct cbk_ocl_stream *ocl = cbk_stream_handle(bench->stream);
    struct gpu_loop loop = {.stream = ocl->rt};
    struct cbk_rt_block *block[3] = {NULL, NULL, NULL};
    struct bench_times times = {0};
    struct cbk_rt_spec spec = {.source = &limit_source, .entry = entry, .describe = no_defines};
    cbk_status status = cbk_rt_kernel(loop.stream, &spec, &loop.launch.kernel);
    loop.launch.operation = "limit";
    loop.launch.dimensions = 1;
    loop.launch.global[0] = items;
    loop.launch.local[0] = 256;
    for (int i = 0; i < 3 && status == CBK_OK; i++) {
        status = cbk_rt_alloc(loop.stream, bytes, &block[i]);
        if (status == CBK_OK) cbk_rt_arg_block(&loop.launch, block[i], CBK_RT_READ_WRITE);
        // blocks of this size are buffers of their own: their offset is 0
        if (status == CBK_OK && cbk_rt_block_offset(block[i]) != 0) status = CBK_ERROR_INTERNAL;
    }
    if (status == CBK_OK) bench_time(launch_once, launch_finish, &loop, &times);
    for (int i = 0; i < 3; i++) cbk_rt_free(ocl->device->rt, &block[i]);
    return times.median_ns;
}

static double gpu_bandwidth(struct bench *bench, int reads, int writes, size_t bytes) {
    const char *entry = writes == 0  ? "read1write0"
                        : reads == 0 ? "read0write1"
                        : reads == 1 ? "read1write1"
                                     : "read2write1";
    size_t vectors = bytes / 16 / 4096 * 4096;
    size_t items = writes == 0 ? vectors / 16 : vectors;
    double ns = items > 0 ? time_kernel(bench, entry, items, bytes) : 0;
    return ns > 0 ? (double)bytes * (reads + writes) / ns : 0;
}

static double gpu_flops(struct bench *bench) {
    size_t items = (size_t)bench->info.compute_units * 256 * 64;
    double ns = time_kernel(bench, "fma_chains", items, (size_t)512 << 20);
    return ns > 0 ? (double)items * 4096 * 32 / ns : 0;
}

// ---- what cases ask for ------------------------------------------------------------------------

/// Small working sets are measured at their own size, large ones at 256 MiB at least.
double bench_bandwidth_limit(struct bench *bench, int reads, int writes, int64_t bytes_per_array) {
    static struct {
        int reads, writes;
        int64_t bytes;
        double rate;
    } known[32];
    static int known_count;
    if (reads > 2) reads = 2;
    if (writes > 1) writes = 1;
    for (int i = 0; i < known_count; i++)
        if (known[i].reads == reads && known[i].writes == writes &&
            known[i].bytes == bytes_per_array)
            return known[i].rate;
    double rate = bench->is_cpu ? cpu_bandwidth(reads, writes, (size_t)bytes_per_array)
                                : gpu_bandwidth(bench, reads, writes, (size_t)bytes_per_array);
    if (known_count < 32) {
        known[known_count].reads = reads, known[known_count].writes = writes;
        known[known_count].bytes = bytes_per_array, known[known_count++].rate = rate;
    }
    return rate;
}

double bench_flops_limit(struct bench *bench) {
    static double rate;
    if (rate == 0) rate = bench->is_cpu ? cpu_flops() : gpu_flops(bench);
    return rate;
}
