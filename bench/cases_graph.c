/// cases_graph.c: many small operations, one by one and as a replayed graph.
#include "bench.h"

#include "driver.h"

enum { PAIRS = 100, SMALL = 1024, LAYERS = 20, WIDTH = 256, BATCH = 8 };

// ---- the work ------------------------------------------------------------------------------------

/// Multiplies by a scalar and adds a scalar, PAIRS times.
static cbk_status elementwise(cbk_stream *stream, void *user_data) {
    struct bench *bench = user_data;
    cbk_tensor *x = cbk_tensor_retain(bench->tensor[0]), *y = NULL;
    cbk_status status = CBK_OK;
    for (int i = 0; i < PAIRS; i++) {
        TRY(cbk_mul_scalar(stream, x, cbk_f(0.5), &y));
        cbk_tensor_release(&x);
        TRY(cbk_add_scalar(stream, y, cbk_f(0.25), &x));
        cbk_tensor_release(&y);
    }
done:
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    return status;
}

/// x = relu(x w + b) + x, LAYERS times; tensors 1 .. 2 LAYERS are weights and biases.
static cbk_status perceptron(cbk_stream *stream, void *user_data) {
    struct bench *bench = user_data;
    cbk_tensor *x = cbk_tensor_retain(bench->tensor[0]), *y = NULL;
    cbk_status status = CBK_OK;
    for (int i = 0; i < LAYERS; i++) {
        TRY(cbk_matmul(stream, x, bench->tensor[1 + 2 * i], NULL, &y));
        TRY(cbk_add_into(stream, y, bench->tensor[2 + 2 * i], y));
        TRY(cbk_relu_into(stream, y, y));
        TRY(cbk_add_into(stream, y, x, y));
        cbk_tensor_release(&x);
        x = y;
        y = NULL;
    }
done:
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    return status;
}

// ---- eager and replayed ----------------------------------------------------------------------------

static cbk_status setup_elementwise(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_random_normal(bench->stream, CBK_DTYPE_F32, 1, (int64_t[]){SMALL}, 0, 1,
                             &bench->tensor[0]);
}

static cbk_status setup_perceptron(struct bench *bench, const struct bench_case *of) {
    const int64_t input[2] = {BATCH, WIDTH}, weight[2] = {WIDTH, WIDTH}, bias[1] = {WIDTH};
    cbk_status status = CBK_OK;
    (void)of;
    TRY(cbk_random_normal(bench->stream, CBK_DTYPE_F32, 2, input, 0, 1, &bench->tensor[0]));
    for (int i = 0; i < LAYERS; i++) {
        TRY(cbk_random_normal(bench->stream, CBK_DTYPE_F32, 2, weight, 0, 0.01,
                              &bench->tensor[1 + 2 * i]));
        TRY(cbk_random_normal(bench->stream, CBK_DTYPE_F32, 1, bias, 0, 0.01,
                              &bench->tensor[2 + 2 * i]));
    }
done:
    return status;
}

static cbk_status capture_elementwise(struct bench *bench, const struct bench_case *of) {
    cbk_status status = setup_elementwise(bench, of);
    return status == CBK_OK ? cbk_graph_capture(bench->stream, elementwise, bench, &bench->graph)
                            : status;
}

static cbk_status capture_perceptron(struct bench *bench, const struct bench_case *of) {
    cbk_status status = setup_perceptron(bench, of);
    return status == CBK_OK ? cbk_graph_capture(bench->stream, perceptron, bench, &bench->graph)
                            : status;
}

static cbk_status run_elementwise(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return elementwise(bench->stream, bench);
}

static cbk_status run_perceptron(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return perceptron(bench->stream, bench);
}

static cbk_status replay(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_graph_replay(bench->graph);
}

// ---- what a replayed launch costs the host ---------------------------------------------------------

enum { LAUNCHES = 200, UNMERGED = 8192 };

/// Too large to be merged; the driver's own addition has the same arguments and the same work.
static cbk_status additions(cbk_stream *stream, void *user_data) {
    struct bench *bench = user_data;
    cbk_status status = CBK_OK;
    for (int i = 0; i < LAUNCHES; i++)
        TRY(cbk_add_into(stream, bench->tensor[0], bench->tensor[1], bench->tensor[2]));
done:
    return status;
}

static cbk_status capture_additions(struct bench *bench, const struct bench_case *of) {
    cbk_status status = CBK_OK;
    (void)of;
    for (int i = 0; i < 3; i++)
        TRY(cbk_random_normal(bench->stream, CBK_DTYPE_F32, 1, (int64_t[]){UNMERGED}, 0, 1,
                              &bench->tensor[i]));
    TRY(cbk_graph_capture(bench->stream, additions, bench, &bench->graph));
done:
    return status;
}

/// Against bare enqueues of as many kernel objects.
static cbk_status measure_replay(struct bench *bench, const struct bench_case *of,
                                 struct bench_result *out) {
    return bench_measure_launches(bench, of, replay, bench_driver_enqueue_each, LAUNCHES, UNMERGED,
                                  out);
}

static const struct bench_case cases[] = {
    {.name = "elem200_1024", .setup = setup_elementwise, .run = run_elementwise},
    {.name = "elem200_1024_graph", .setup = capture_elementwise, .run = replay},
    {.name = "mlp20_b8", .setup = setup_perceptron, .run = run_perceptron},
    {.name = "mlp20_b8_graph", .setup = capture_perceptron, .run = replay},
    {.name = "graph_launch",
     .setup = capture_additions,
     .measure = measure_replay,
     .note = "ns_over_bare_enqueue"},
};

struct bench_table bench_graph_cases(void) {
    return (struct bench_table){cases, sizeof cases / sizeof *cases};
}
