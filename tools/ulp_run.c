/// ulp_run.c: the threads. Each takes a block of inputs at a time, hands it to the devices once, runs
/// all functions on it there and in double beside, and compares.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "ulp.h"

enum { BLOCK = 1 << 18 };

struct shared {
    struct ulp_run *run;
    uint64_t blocks[2]; ///< of single inputs, of pairs
    atomic_uint_fast64_t next;
    atomic_bool stopped;
    pthread_mutex_t lock; ///< of what follows and run->worst
    cbk_status status;    ///< the first failure
    uint32_t started;
};

struct worker {
    struct shared *shared;
    uint32_t number; ///< of the thread
    float *a, *b;
    double *want;
    struct ulp_worst *worst; ///< [function][ULP_SIDES]
    cbk_stream *stream[ULP_SIDES];
    cbk_tensor *input[ULP_SIDES][2], *result[ULP_SIDES];
    void *got[ULP_SIDES];
};

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

static cbk_status upload(struct worker *worker, uint32_t side, bool is_pair, uint32_t count) {
    const int64_t length = count;
    const uint64_t bytes = (uint64_t)count * sizeof *worker->a;
    const float *data[2] = {worker->a, is_pair ? worker->b : NULL};
    cbk_status status = CBK_OK;
    for (int i = 0; i < 2; i++) {
        cbk_tensor_release(&worker->input[side][i]);
        if (data[i] == NULL) continue;
        TRY(cbk_tensor_from_data(worker->stream[side], CBK_DTYPE_F32, 1, &length, data[i], bytes,
                                 &worker->input[side][i]));
    }
done:
    return status;
}

static cbk_status enqueue(struct worker *worker, uint32_t side,
                          const struct ulp_function *function) {
    const cbk_activation_params params =
        CBK_INIT(cbk_activation_params, .variant = function->variant);
    cbk_op op = CBK_INIT(cbk_op, .opcode = function->opcode,
                         .input_count = function->two != NULL ? 2 : 1, .output_count = 1,
                         .inputs = worker->input[side], .outputs = &worker->result[side]);
    cbk_status status = CBK_OK;
    if (function->has_params) op.params = &params, op.params_size = sizeof params;
    TRY(cbk_execute(worker->stream[side], &op));
    TRY(cbk_flush(worker->stream[side]));
done:
    return status;
}

static void compute(struct worker *worker, const struct ulp_function *function, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        worker->want[i] = function->one != NULL
                              ? function->one((double)worker->a[i])
                              : function->two((double)worker->a[i], (double)worker->b[i]);
}

/// One function on the block that is uploaded.
static cbk_status run_function(struct worker *worker, uint32_t index, uint64_t first,
                               uint32_t count) {
    const struct ulp_function *function = &ulp_functions[index];
    const struct ulp_run *run = worker->shared->run;
    cbk_status status = CBK_OK;
    for (uint32_t s = 0; s < run->side_count; s++) TRY(enqueue(worker, s, function));
    compute(worker, function, count);
    for (uint32_t s = 0; s < run->side_count; s++) {
        TRY(cbk_tensor_read(worker->stream[s], worker->result[s], worker->got[s],
                            (uint64_t)count * sizeof *worker->a));
        cbk_tensor_release(&worker->result[s]);
        ulp_judge(function, &run->sides[s], first, count, worker->a,
                  function->two != NULL ? worker->b : NULL, worker->want, worker->got[s],
                  &worker->worst[index * ULP_SIDES + s]);
    }
done:
    return status;
}

static cbk_status run_block(struct worker *worker, bool is_pair, uint64_t block) {
    const struct ulp_run *run = worker->shared->run;
    const uint64_t total = ulp_input_count(is_pair, run->stride), first = block * BLOCK;
    const uint32_t count = (uint32_t)(total - first < BLOCK ? total - first : BLOCK);
    cbk_status status = CBK_OK;
    ulp_fill(first, count, run->stride, worker->a, is_pair ? worker->b : NULL);
    for (uint32_t s = 0; s < run->side_count; s++) TRY(upload(worker, s, is_pair, count));
    for (uint32_t i = 0; i < ulp_function_count; i++) {
        // Threads begin with different functions, so that kernels are compiled side by side.
        const uint32_t index =
            (i + worker->number * ulp_function_count / run->threads) % ulp_function_count;
        if (run->wanted[index] && (ulp_functions[index].two != NULL) == is_pair)
            TRY(run_function(worker, index, first, count));
    }
done:
    return status;
}

static cbk_status run_blocks(struct worker *worker) {
    struct shared *shared = worker->shared;
    const uint64_t total = shared->blocks[0] + shared->blocks[1];
    cbk_status status = CBK_OK;
    while (!atomic_load(&shared->stopped)) {
        const uint64_t number = atomic_fetch_add(&shared->next, 1);
        if (number >= total) break;
        if (shared->run->progress && (number * 100 / total != (number + 1) * 100 / total))
            fprintf(stderr, "\r%3d %%", (int)((number + 1) * 100 / total));
        const bool is_pair = number >= shared->blocks[0];
        TRY(run_block(worker, is_pair, is_pair ? number - shared->blocks[0] : number));
    }
done:
    return status;
}

// ---- threads -------------------------------------------------------------------------------------

static cbk_status open_worker(struct worker *worker) {
    const struct ulp_run *run = worker->shared->run;
    cbk_status status = CBK_OK;
    worker->a = malloc(BLOCK * sizeof *worker->a);
    worker->b = malloc(BLOCK * sizeof *worker->b);
    worker->want = malloc(BLOCK * sizeof *worker->want);
    worker->worst = calloc((size_t)ulp_function_count * ULP_SIDES, sizeof *worker->worst);
    if (worker->a == NULL || worker->b == NULL || worker->want == NULL || worker->worst == NULL)
        return CBK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t s = 0; s < run->side_count; s++) {
        TRY(cbk_stream_create(run->sides[s].device, NULL, &worker->stream[s]));
        TRY(cbk_staging_alloc(run->sides[s].device, BLOCK * sizeof *worker->a, &worker->got[s]));
    }
done:
    return status;
}

static void close_worker(struct worker *worker) {
    const struct ulp_run *run = worker->shared->run;
    for (uint32_t s = 0; s < run->side_count; s++) {
        cbk_tensor_release(&worker->result[s]);
        for (int i = 0; i < 2; i++) cbk_tensor_release(&worker->input[s][i]);
        cbk_staging_free(run->sides[s].device, &worker->got[s]);
        cbk_stream_release(&worker->stream[s]);
    }
    free(worker->a), free(worker->b), free(worker->want), free(worker->worst);
}

static void *work(void *user_data) {
    struct shared *shared = user_data;
    struct worker worker = {.shared = shared};
    pthread_mutex_lock(&shared->lock);
    worker.number = shared->started++;
    pthread_mutex_unlock(&shared->lock);
    cbk_status status = open_worker(&worker);
    if (status == CBK_OK) status = run_blocks(&worker);
    pthread_mutex_lock(&shared->lock);
    if (status != CBK_OK) {
        atomic_store(&shared->stopped, true);
        if (shared->status == CBK_OK)
            fprintf(stderr, "cubeback-ulp: %s\n", cbk_last_error_message());
        shared->status = status;
    } else {
        for (uint32_t i = 0; i < ulp_function_count * ULP_SIDES; i++)
            ulp_merge(&shared->run->worst[i], &worker.worst[i]);
    }
    pthread_mutex_unlock(&shared->lock);
    close_worker(&worker);
    return NULL;
}

static uint64_t count_blocks(const struct ulp_run *run, bool is_pair) {
    bool any = false;
    for (uint32_t i = 0; i < ulp_function_count; i++)
        any |= run->wanted[i] && (ulp_functions[i].two != NULL) == is_pair;
    return any ? (ulp_input_count(is_pair, run->stride) - 1) / BLOCK + 1 : 0;
}

cbk_status ulp_run(struct ulp_run *run) {
    struct shared shared = {.run = run,
                            .blocks = {count_blocks(run, false), count_blocks(run, true)}};
    pthread_t *threads = calloc(run->threads, sizeof *threads);
    uint32_t count = 0;
    if (threads == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    pthread_mutex_init(&shared.lock, NULL);
    while (count < run->threads && pthread_create(&threads[count], NULL, work, &shared) == 0)
        count++;
    if (count == 0) shared.status = CBK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
    if (run->progress) fprintf(stderr, "\r     \r");
    pthread_mutex_destroy(&shared.lock);
    free(threads);
    return shared.status;
}
