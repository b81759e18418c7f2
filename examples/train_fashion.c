/// train_fashion: trains a classifier of Fashion-MNIST images on any device.
///
/// A multilayer perceptron, 784 -> hidden (relu) -> 10 (softmax), cross-entropy loss, mini-batches,
/// Adam or SGD with momentum. Forward, backward and update are this library's public operations.
/// The images are uploaded once, as bytes; a batch is gathered from them on the device.
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cubeback/cubeback.h>

#include "support/idx.h"

#define CLASSES 10
#define PIXELS 784
#define TEST_BATCH 1000

/// In a function with `cbk_status status` and a label `done`.
#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

// ---- options -----------------------------------------------------------------------------------

struct options {
    const char *data;
    const char *device; ///< part of a name, or NULL
    bool reference;     ///< --device reference
    bool sgd;
    bool graph;        ///< capture a step once and replay it
    const char *trace; ///< a file, or NULL
    int epochs;
    int64_t batch, hidden;
    double rate; ///< 0: the optimizer's own default
    uint64_t seed;
};

static const char usage[] =
    "Usage: train_fashion [options]\n"
    "  --data DIR        the four IDX files (default: /usr/share/datasets/fashion-mnist)\n"
    "  --device NAME     part of a device's or platform's name, or 'reference'\n"
    "  --epochs N        default 8\n"
    "  --batch N         default 128\n"
    "  --hidden N        default 256\n"
    "  --optimizer NAME  adam (default) or sgd\n"
    "  --rate X          learning rate; default 0.001 (adam), 0.05 (sgd)\n"
    "  --seed N          default 1\n"
    "  --graph           capture a training step once and replay it; compare the speeds\n"
    "  --trace FILE      write what ten steps did, for chrome://tracing or ui.perfetto.dev\n";

static bool parse_options(int argc, char **argv, struct options *o) {
    enum { DATA = 1, DEVICE, EPOCHS, BATCH, HIDDEN, OPTIMIZER, RATE, SEED, GRAPH, TRACE, HELP };
    static const struct option list[] = {
        {"data", 1, NULL, DATA},   {"device", 1, NULL, DEVICE}, {"epochs", 1, NULL, EPOCHS},
        {"batch", 1, NULL, BATCH}, {"hidden", 1, NULL, HIDDEN}, {"optimizer", 1, NULL, OPTIMIZER},
        {"rate", 1, NULL, RATE},   {"seed", 1, NULL, SEED},     {"graph", 0, NULL, GRAPH},
        {"trace", 1, NULL, TRACE}, {"help", 0, NULL, HELP},     {NULL, 0, NULL, 0}};
    *o = (struct options){.data = "/usr/share/datasets/fashion-mnist",
                          .epochs = 8,
                          .batch = 128,
                          .hidden = 256,
                          .seed = 1};
    for (int c; (c = getopt_long(argc, argv, "", list, NULL)) != -1;) {
        switch (c) {
        case DATA:
            o->data = optarg;
            break;
        case DEVICE:
            o->device = optarg;
            break;
        case EPOCHS:
            o->epochs = atoi(optarg);
            break;
        case BATCH:
            o->batch = atoll(optarg);
            break;
        case HIDDEN:
            o->hidden = atoll(optarg);
            break;
        case OPTIMIZER:
            o->sgd = strcmp(optarg, "sgd") == 0;
            break;
        case RATE:
            o->rate = atof(optarg);
            break;
        case SEED:
            o->seed = strtoull(optarg, NULL, 10);
            break;
        case GRAPH:
            o->graph = true;
            break;
        case TRACE:
            o->trace = optarg;
            break;
        case HELP:
            fputs(usage, stdout);
            exit(0);
        default:
            fputs(usage, stderr);
            return false;
        }
    }
    if (o->epochs < 1 || o->batch < 1 || o->batch > 10000 || o->hidden < 1 || optind < argc) {
        fputs(usage, stderr);
        return false;
    }
    o->reference = o->device != NULL && strcmp(o->device, "reference") == 0;
    if (o->rate == 0) o->rate = o->sgd ? 0.05 : 0.001;
    return true;
}

// ---- data ----------------------------------------------------------------------------------------

struct images {
    struct idx_file pixels, labels;
    int64_t count;
};

static bool load_images(const char *folder, const char *stem, struct images *out) {
    char path[1024], message[1280];
    snprintf(path, sizeof path, "%s/%s-images-idx3-ubyte.gz", folder, stem);
    if (idx_read(path, 3, &out->pixels, message, sizeof message) != 0) goto bad;
    snprintf(path, sizeof path, "%s/%s-labels-idx1-ubyte.gz", folder, stem);
    if (idx_read(path, 1, &out->labels, message, sizeof message) != 0) goto bad;
    out->count = out->labels.length[0];
    snprintf(message, sizeof message, "%s: images and labels do not belong together", path);
    if (out->pixels.length[0] != out->labels.length[0] ||
        out->pixels.size != out->labels.size * PIXELS)
        goto bad;
    for (size_t i = 0; i < out->labels.size; i++)
        if (out->labels.data[i] >= CLASSES) goto bad;
    return true;
bad:
    fprintf(stderr, "train_fashion: %s\n", message);
    return false;
}

static void free_images(struct images *images) {
    idx_free(&images->pixels);
    idx_free(&images->labels);
}

/// A set on the device.
struct dataset {
    cbk_tensor *pixels; ///< u8 [count, 784]
    cbk_tensor *labels; ///< u8 [count, 1]
    int64_t count;
};

static cbk_status upload(cbk_stream *stream, const struct images *images, struct dataset *out) {
    cbk_status status = CBK_OK;
    out->count = images->count;
    TRY(cbk_tensor_from_data(stream, CBK_DTYPE_U8, 2, (int64_t[]){images->count, PIXELS},
                             images->pixels.data, images->pixels.size, &out->pixels));
    TRY(cbk_tensor_from_data(stream, CBK_DTYPE_U8, 2, (int64_t[]){images->count, 1},
                             images->labels.data, images->labels.size, &out->labels));
done:
    return status;
}

static void free_dataset(struct dataset *set) {
    cbk_tensor_release(&set->pixels);
    cbk_tensor_release(&set->labels);
}

// ---- temporaries -----------------------------------------------------------------------------------

/// Tensors that live until the end of a step.
struct scope {
    cbk_tensor *tensor[48];
    int count;
};

static cbk_tensor **slot(struct scope *scope) {
    return &scope->tensor[scope->count++];
}

static void end_scope(struct scope *scope) {
    while (scope->count > 0) cbk_tensor_release(&scope->tensor[--scope->count]);
}

// ---- model -------------------------------------------------------------------------------------------

enum { W1, B1, W2, B2, PARAMETERS };

struct model {
    cbk_tensor *value[PARAMETERS];
    cbk_tensor *moment1[PARAMETERS]; ///< Adam; SGD: the velocity
    cbk_tensor *moment2[PARAMETERS]; ///< Adam
    cbk_tensor *power1, *power2;     ///< Adam: 0.9 and 0.999 to the number of steps, rank 0
};

/// Weights uniform in +-sqrt(6 / inputs) (He), biases and moments zero.
static cbk_status create_model(cbk_stream *stream, int64_t hidden, struct model *model) {
    const int64_t shape[PARAMETERS][2] = {
        [W1] = {PIXELS, hidden}, [B1] = {hidden}, [W2] = {hidden, CLASSES}, [B2] = {CLASSES}};
    const uint32_t rank[PARAMETERS] = {[W1] = 2, [B1] = 1, [W2] = 2, [B2] = 1};
    const double bound[PARAMETERS] = {[W1] = 0.0875, [W2] = 0.153};
    cbk_status status = CBK_OK;
    for (int p = 0; p < PARAMETERS; p++) {
        TRY(bound[p] > 0 ? cbk_random_uniform(stream, CBK_DTYPE_F32, rank[p], shape[p], -bound[p],
                                              bound[p], &model->value[p])
                         : cbk_zeros(stream, CBK_DTYPE_F32, rank[p], shape[p], &model->value[p]));
        TRY(cbk_zeros(stream, CBK_DTYPE_F32, rank[p], shape[p], &model->moment1[p]));
        TRY(cbk_zeros(stream, CBK_DTYPE_F32, rank[p], shape[p], &model->moment2[p]));
    }
    TRY(cbk_ones(stream, CBK_DTYPE_F32, 0, NULL, &model->power1));
    TRY(cbk_ones(stream, CBK_DTYPE_F32, 0, NULL, &model->power2));
done:
    return status;
}

static void free_model(struct model *model) {
    for (int p = 0; p < PARAMETERS; p++) {
        cbk_tensor_release(&model->value[p]);
        cbk_tensor_release(&model->moment1[p]);
        cbk_tensor_release(&model->moment2[p]);
    }
    cbk_tensor_release(&model->power1);
    cbk_tensor_release(&model->power2);
}

/// x [n, 784] f32 in [0, 1] and labels [n, 1] of the samples at `index` (i32 [n]).
static cbk_status gather_batch(cbk_stream *stream, const struct dataset *set,
                               const cbk_tensor *index, struct scope *scope, cbk_tensor **out_x,
                               cbk_tensor **out_labels) {
    cbk_status status = CBK_OK;
    cbk_tensor **bytes = slot(scope), **x = slot(scope), **labels = slot(scope);
    TRY(cbk_select(stream, set->pixels, index, 0, bytes));
    TRY(cbk_cast(stream, *bytes, CBK_DTYPE_F32, x));
    TRY(cbk_mul_scalar_into(stream, *x, cbk_f(1.0 / 255.0), *x));
    TRY(cbk_select(stream, set->labels, index, 0, labels));
    *out_x = *x;
    *out_labels = *labels;
done:
    return status;
}

/// hidden = relu(x W1 + b1), logits = hidden W2 + b2.
static cbk_status forward(cbk_stream *stream, const struct model *model, const cbk_tensor *x,
                          struct scope *scope, cbk_tensor **out_hidden, cbk_tensor **out_logits) {
    cbk_status status = CBK_OK;
    cbk_tensor **hidden = slot(scope), **logits = slot(scope);
    TRY(cbk_linear(stream, x, model->value[W1], model->value[B1],
                   &CBK_INIT(cbk_matmul_params, .activation = CBK_OP_RELU), hidden));
    TRY(cbk_linear(stream, *hidden, model->value[W2], model->value[B2], NULL, logits));
    *out_hidden = *hidden;
    *out_logits = *logits;
done:
    return status;
}

/// Adds -sum of the log-probabilities of the labels to `loss_sum` (rank 0).
static cbk_status add_loss(cbk_stream *stream, const cbk_tensor *logits, const cbk_tensor *labels,
                           struct scope *scope, cbk_tensor *loss_sum) {
    cbk_status status = CBK_OK;
    cbk_tensor **log_p = slot(scope), **chosen = slot(scope), **sum = slot(scope);
    TRY(cbk_log_softmax(stream, logits, 1, log_p));
    TRY(cbk_gather(stream, *log_p, labels, 1, chosen));
    TRY(cbk_sum(stream, *chosen, NULL, sum));
    TRY(cbk_sub_into(stream, loss_sum, *sum, loss_sum));
done:
    return status;
}

/// Gradients of the mean cross-entropy: d logits = (softmax - one_hot) / n, then back by the chain
/// rule through both layers.
static cbk_status backward(cbk_stream *stream, const struct model *model, const cbk_tensor *x,
                           const cbk_tensor *hidden, const cbk_tensor *logits,
                           const cbk_tensor *labels, struct scope *scope,
                           cbk_tensor *gradient[PARAMETERS]) {
    const int64_t n = cbk_tensor_shape(x)[0];
    cbk_status status = CBK_OK;
    cbk_tensor **d_logits = slot(scope), **minus_one = slot(scope), **d_hidden = slot(scope);
    cbk_tensor **grad[PARAMETERS];
    for (int p = 0; p < PARAMETERS; p++) grad[p] = slot(scope);

    TRY(cbk_softmax(stream, logits, 1, d_logits));
    TRY(cbk_fill(stream, CBK_DTYPE_F32, 2, (int64_t[]){n, 1}, cbk_f(-1), minus_one));
    TRY(cbk_scatter_add_into(stream, *d_logits, labels, *minus_one, 1, *d_logits));
    TRY(cbk_mul_scalar_into(stream, *d_logits, cbk_f(1.0 / (double)n), *d_logits));

    TRY(cbk_linear_weight_backward(stream, hidden, *d_logits, grad[W2]));
    TRY(cbk_linear_bias_backward(stream, *d_logits, grad[B2]));
    TRY(cbk_linear_x_backward(stream, model->value[W2], *d_logits, d_hidden));
    TRY(cbk_relu_backward_into(stream, hidden, *d_hidden, *d_hidden));

    TRY(cbk_linear_weight_backward(stream, x, *d_hidden, grad[W1]));
    TRY(cbk_linear_bias_backward(stream, *d_hidden, grad[B1]));
    for (int p = 0; p < PARAMETERS; p++) gradient[p] = *grad[p];
done:
    return status;
}

/// w -= rate * v with v = 0.9 v + g.
static cbk_status update_sgd(cbk_stream *stream, struct model *model, int p,
                             const cbk_tensor *gradient, double rate, struct scope *scope) {
    cbk_status status = CBK_OK;
    cbk_tensor *v = model->moment1[p], **delta = slot(scope);
    TRY(cbk_mul_scalar_into(stream, v, cbk_f(0.9), v));
    TRY(cbk_add_into(stream, v, gradient, v));
    TRY(cbk_mul_scalar(stream, v, cbk_f(rate), delta));
    TRY(cbk_sub_into(stream, model->value[p], *delta, model->value[p]));
done:
    return status;
}

/// *out = 1 - beta^t, once per step t. What changes from step to step lives on the device, so that
/// a captured step changes it too.
static cbk_status correction(cbk_stream *stream, cbk_tensor *power, double beta,
                             struct scope *scope, cbk_tensor **out) {
    cbk_status status = CBK_OK;
    cbk_tensor **value = slot(scope);
    TRY(cbk_mul_scalar_into(stream, power, cbk_f(beta), power));
    TRY(cbk_neg(stream, power, value));
    TRY(cbk_add_scalar_into(stream, *value, cbk_f(1), *value));
    *out = *value;
done:
    return status;
}

/// Adam (Kingma and Ba, 2015) with beta 0.9 and 0.999: w -= rate * m' / (sqrt(v') + 1e-8), where
/// m' and v' are the moments divided by their corrections.
static cbk_status update_adam(cbk_stream *stream, struct model *model, int p,
                              const cbk_tensor *gradient, double rate,
                              const cbk_tensor *correction1, const cbk_tensor *correction2,
                              struct scope *scope) {
    cbk_status status = CBK_OK;
    cbk_tensor *m = model->moment1[p], *v = model->moment2[p];
    cbk_tensor **scaled = slot(scope), **squared = slot(scope), **root = slot(scope);
    cbk_tensor **delta = slot(scope);
    TRY(cbk_mul_scalar_into(stream, m, cbk_f(0.9), m));
    TRY(cbk_mul_scalar(stream, gradient, cbk_f(0.1), scaled));
    TRY(cbk_add_into(stream, m, *scaled, m));
    TRY(cbk_mul_scalar_into(stream, v, cbk_f(0.999), v));
    TRY(cbk_square(stream, gradient, squared));
    TRY(cbk_mul_scalar_into(stream, *squared, cbk_f(0.001), *squared));
    TRY(cbk_add_into(stream, v, *squared, v));
    TRY(cbk_div(stream, v, correction2, root));
    TRY(cbk_sqrt_into(stream, *root, *root));
    TRY(cbk_add_scalar_into(stream, *root, cbk_f(1e-8), *root));
    TRY(cbk_div_into(stream, m, *root, *scaled));
    TRY(cbk_mul_scalar_into(stream, *scaled, cbk_f(rate), *scaled));
    TRY(cbk_div(stream, *scaled, correction1, delta));
    TRY(cbk_sub_into(stream, model->value[p], *delta, model->value[p]));
done:
    return status;
}

static cbk_status update(cbk_stream *stream, struct model *model, const struct options *options,
                         cbk_tensor *const gradient[PARAMETERS]) {
    struct scope corrections = {.count = 0}, scope = {.count = 0};
    cbk_tensor *correction1 = NULL, *correction2 = NULL;
    cbk_status status = CBK_OK;
    if (!options->sgd) {
        TRY(correction(stream, model->power1, 0.9, &corrections, &correction1));
        TRY(correction(stream, model->power2, 0.999, &corrections, &correction2));
    }
    for (int p = 0; p < PARAMETERS; p++) {
        TRY(options->sgd ? update_sgd(stream, model, p, gradient[p], options->rate, &scope)
                         : update_adam(stream, model, p, gradient[p], options->rate, correction1,
                                       correction2, &scope));
        end_scope(&scope);
    }
done:
    end_scope(&scope);
    end_scope(&corrections);
    return status;
}

// ---- a step --------------------------------------------------------------------------------------

struct trainer {
    const struct options *options;
    struct model model;
    struct dataset set;
    cbk_tensor *loss;  ///< rank 0: sum over the epoch so far
    cbk_tensor *index; ///< i32 [batch]: the samples of a captured step
    cbk_graph *graph;  ///< --graph: one step
};

/// One mini-batch: forward, loss, backward, update.
static cbk_status train_step(cbk_stream *stream, struct trainer *trainer, const cbk_tensor *index) {
    struct model *model = &trainer->model;
    struct scope scope = {.count = 0};
    cbk_status status = CBK_OK;
    cbk_tensor *x, *labels, *hidden, *logits, *gradient[PARAMETERS];

    TRY(gather_batch(stream, &trainer->set, index, &scope, &x, &labels));
    TRY(forward(stream, model, x, &scope, &hidden, &logits));
    TRY(add_loss(stream, logits, labels, &scope, trainer->loss));
    TRY(backward(stream, model, x, hidden, logits, labels, &scope, gradient));
    TRY(update(stream, model, trainer->options, gradient));
done:
    end_scope(&scope);
    return status;
}

static cbk_status captured_step(cbk_stream *stream, void *user_data) {
    struct trainer *trainer = user_data;
    return train_step(stream, trainer, trainer->index);
}

/// The same as train_step: the batch goes to the tensor that the graph reads, then the graph runs.
/// The first step is the real run that comes before the capture.
static cbk_status replay_step(cbk_stream *stream, struct trainer *trainer,
                              const cbk_tensor *index) {
    cbk_status status = CBK_OK;
    TRY(cbk_copy_into(stream, index, trainer->index));
    if (trainer->graph != NULL)
        TRY(cbk_graph_replay(trainer->graph));
    else
        TRY(cbk_graph_capture(stream, captured_step, trainer, &trainer->graph));
done:
    return status;
}

static cbk_status create_trainer(cbk_stream *stream, const struct options *options,
                                 const struct images *images, struct trainer *trainer) {
    cbk_status status = CBK_OK;
    trainer->options = options;
    TRY(upload(stream, images, &trainer->set));
    TRY(create_model(stream, options->hidden, &trainer->model));
    TRY(cbk_zeros(stream, CBK_DTYPE_F32, 0, NULL, &trainer->loss));
    TRY(cbk_zeros(stream, CBK_DTYPE_I32, 1, &options->batch, &trainer->index));
done:
    return status;
}

static void free_trainer(struct trainer *trainer) {
    cbk_graph_release(&trainer->graph);
    cbk_tensor_release(&trainer->loss);
    cbk_tensor_release(&trainer->index);
    free_model(&trainer->model);
    free_dataset(&trainer->set);
}

// ---- epochs ------------------------------------------------------------------------------------------

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void show_progress(int epoch, int64_t done, int64_t total) {
    enum { WIDTH = 32 };
    char bar[WIDTH + 1];
    int filled = (int)(done * WIDTH / total);
    memset(bar, '.', WIDTH);
    memset(bar, '#', (size_t)filled);
    bar[WIDTH] = 0;
    printf("\repoch %2d [%s] %3d %%", epoch, bar, (int)(done * 100 / total));
    fflush(stdout);
}

/// A new order of the samples (Fisher-Yates over xorshift64*).
static void shuffle(int32_t *order, int64_t count, uint64_t *state) {
    for (int64_t i = count - 1; i > 0; i--) {
        *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
        int64_t j = (int64_t)((*state * 0x2545f4914f6cdd1du >> 33) % (uint64_t)(i + 1));
        int32_t other = order[i];
        order[i] = order[j], order[j] = other;
    }
}

static cbk_status train_epoch(cbk_stream *stream, struct trainer *trainer, const int32_t *order,
                              int epoch, double *out_loss) {
    const bool terminal = isatty(STDOUT_FILENO);
    const int64_t count = trainer->set.count, batch = trainer->options->batch;
    cbk_status status = CBK_OK;
    cbk_tensor *orders = NULL, *index = NULL;
    float loss_sum = 0;

    TRY(cbk_tensor_from_data(stream, CBK_DTYPE_I32, 1, &count, order,
                             (uint64_t)count * sizeof *order, &orders));
    TRY(cbk_fill_into(stream, cbk_f(0), trainer->loss));
    for (int64_t first = 0, step = 0; first < count; first += batch, step++) {
        const int64_t left = count - first;
        const bool is_whole = left >= batch;
        TRY(cbk_narrow(stream, orders, 0, first, is_whole ? batch : left, &index));
        TRY(trainer->options->graph && is_whole ? replay_step(stream, trainer, index)
                                                : train_step(stream, trainer, index));
        cbk_tensor_release(&index);
        if (step % 32 == 31) { // keeps the bar honest and the queue short
            TRY(cbk_sync(stream));
            if (terminal) show_progress(epoch, first, count);
        }
    }
    TRY(cbk_tensor_read(stream, trainer->loss, &loss_sum, sizeof loss_sum));
    if (terminal) show_progress(epoch, count, count);
    *out_loss = loss_sum / (double)count;
done:
    cbk_tensor_release(&index);
    cbk_tensor_release(&orders);
    return status;
}

/// Adds the number of right answers among samples first .. first + count to `hits` (rank 0, i64).
static cbk_status test_batch(cbk_stream *stream, const struct model *model,
                             const struct dataset *set, int64_t first, int64_t count,
                             cbk_tensor *hits) {
    struct scope scope = {.count = 0};
    cbk_status status = CBK_OK;
    cbk_tensor *x, *labels, *hidden, *logits;
    cbk_tensor **index = slot(&scope), **guess = slot(&scope), **wanted = slot(&scope);
    cbk_tensor **right = slot(&scope), **counted = slot(&scope), **sum = slot(&scope);

    TRY(cbk_arange(stream, CBK_DTYPE_I32, cbk_i(first), cbk_i(1), count, index));
    TRY(gather_batch(stream, set, *index, &scope, &x, &labels));
    TRY(forward(stream, model, x, &scope, &hidden, &logits));
    TRY(cbk_argmax(stream, logits, &CBK_INIT(cbk_reduce_params, .axis_count = 1, .axes = {1}),
                   guess));
    TRY(cbk_cast(stream, labels, cbk_tensor_dtype(*guess), wanted));
    TRY(cbk_equal(stream, *guess, *wanted, right));
    TRY(cbk_cast(stream, *right, CBK_DTYPE_I64, counted));
    TRY(cbk_sum(stream, *counted, NULL, sum));
    TRY(cbk_add_into(stream, hits, *sum, hits));
done:
    end_scope(&scope);
    return status;
}

static cbk_status test_accuracy(cbk_stream *stream, const struct model *model,
                                const struct dataset *set, double *out_percent) {
    cbk_status status = CBK_OK;
    cbk_tensor *hits = NULL;
    int64_t count = 0;
    TRY(cbk_zeros(stream, CBK_DTYPE_I64, 0, NULL, &hits));
    for (int64_t first = 0; first < set->count; first += TEST_BATCH) {
        int64_t left = set->count - first;
        TRY(test_batch(stream, model, set, first, left < TEST_BATCH ? left : TEST_BATCH, hits));
    }
    TRY(cbk_tensor_read(stream, hits, &count, sizeof count));
    *out_percent = 100.0 * (double)count / (double)set->count;
done:
    cbk_tensor_release(&hits);
    return status;
}

// ---- what the graph is good for ------------------------------------------------------------------

static cbk_status time_steps(cbk_stream *stream, struct trainer *trainer, bool replays,
                             double *seconds) {
    enum { STEPS = 40 };
    const double start = now();
    cbk_status status = CBK_OK;
    for (int i = 0; i < STEPS; i++)
        TRY(replays ? cbk_graph_replay(trainer->graph)
                    : train_step(stream, trainer, trainer->index));
    TRY(cbk_sync(stream));
    const double spent = (now() - start) / STEPS;
    if (*seconds == 0 || spent < *seconds) *seconds = spent;
done:
    return status;
}

/// Shows what a step takes with and without the graph: the best of some rounds in turns. The last
/// batch again and again; the model is not used after this.
static cbk_status compare_speeds(cbk_stream *stream, struct trainer *trainer) {
    const double batch = (double)trainer->options->batch;
    double eager = 0, replayed = 0;
    cbk_status status = CBK_OK;
    if (trainer->graph == NULL) return CBK_OK;
    for (int round = 0; round < 5; round++) {
        TRY(time_steps(stream, trainer, false, &eager));
        TRY(time_steps(stream, trainer, true, &replayed));
    }
    printf("one step, launched operation by operation: %8.3f ms, %8.0f images/s\n"
           "one step, replayed as a graph:             %8.3f ms, %8.0f images/s (%.2f x)\n",
           1e3 * eager, batch / eager, 1e3 * replayed, batch / replayed, eager / replayed);
done:
    return status;
}

/// Ten steps more, with a profile; the model is not used after this.
static cbk_status trace_steps(cbk_stream *stream, struct trainer *trainer) {
    enum { STEPS = 10 };
    cbk_trace *trace = NULL;
    cbk_tensor *index = NULL;
    cbk_status status = CBK_OK;
    if (trainer->options->trace == NULL) return CBK_OK;
    TRY(cbk_arange(stream, CBK_DTYPE_I32, cbk_i(0), cbk_i(1), trainer->options->batch, &index));
    TRY(cbk_trace_open(trainer->options->trace, &trace));
    TRY(cbk_profile_begin(stream, cbk_trace_record, trace));
    for (int i = 0; i < STEPS && status == CBK_OK; i++) status = train_step(stream, trainer, index);
    const cbk_status end_status = cbk_profile_end(stream);
    if (status == CBK_OK) status = end_status;
    const cbk_status close_status = cbk_trace_close(&trace);
    if (status == CBK_OK) status = close_status;
    if (status == CBK_OK) printf("ten steps are in %s\n", trainer->options->trace);
done:
    (void)cbk_trace_close(&trace);
    cbk_tensor_release(&index);
    return status;
}

static cbk_status run(cbk_stream *stream, const struct options *options,
                      const struct images *train_images, const struct images *test_images) {
    const bool terminal = isatty(STDOUT_FILENO);
    struct trainer trainer = {0};
    struct dataset test = {0};
    cbk_status status = CBK_OK;
    uint64_t shuffle_state = options->seed * 0x9e3779b97f4a7c15u + 1;
    double accuracy = 0;
    int32_t *order = malloc((size_t)train_images->count * sizeof *order);
    if (order == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    for (int64_t i = 0; i < train_images->count; i++) order[i] = (int32_t)i;

    TRY(create_trainer(stream, options, train_images, &trainer));
    TRY(upload(stream, test_images, &test));
    for (int epoch = 1; epoch <= options->epochs; epoch++) {
        double loss = 0, start = now();
        shuffle(order, trainer.set.count, &shuffle_state);
        TRY(train_epoch(stream, &trainer, order, epoch, &loss));
        double seconds = now() - start;
        TRY(test_accuracy(stream, &trainer.model, &test, &accuracy));
        printf("%sepoch %2d  loss %.4f  test accuracy %.2f %%  %.0f images/s%s\n",
               terminal ? "\r" : "", epoch, loss, accuracy, (double)trainer.set.count / seconds,
               terminal ? "            " : "");
        fflush(stdout);
    }
    TRY(compare_speeds(stream, &trainer));
    TRY(trace_steps(stream, &trainer));
    printf("test accuracy %.1f %%\n", accuracy);
done:
    free_dataset(&test);
    free_trainer(&trainer);
    free(order);
    return status;
}

static cbk_status open_stream(const struct options *options, cbk_stream **out) {
    cbk_status status = CBK_OK;
    cbk_backend *backend = NULL;
    cbk_device *device = NULL;
    cbk_device_info info = CBK_INIT(cbk_device_info);
    TRY(options->reference ? cbk_reference_create(NULL, &backend)
                           : cbk_opencl_create(NULL, &backend));
    TRY(cbk_device_open(backend,
                        &CBK_INIT(cbk_device_params, .seed = options->seed,
                                  .name = options->reference ? NULL : options->device),
                        &device));
    TRY(cbk_device_get_info(device, &info));
    TRY(cbk_stream_create(device, NULL, out));
    printf("device: %s (%s)\n", info.name, info.platform);
done:
    cbk_device_release(&device); // the stream keeps its parents
    cbk_backend_release(&backend);
    return status;
}

int main(int argc, char **argv) {
    struct options options;
    struct images train = {0}, test = {0};
    cbk_stream *stream = NULL;
    if (!parse_options(argc, argv, &options)) return 2;

    bool ok =
        load_images(options.data, "train", &train) && load_images(options.data, "t10k", &test);
    if (ok && (open_stream(&options, &stream) != CBK_OK ||
               run(stream, &options, &train, &test) != CBK_OK)) {
        fprintf(stderr, "train_fashion: %s\n", cbk_last_error_message());
        ok = false;
    }
    cbk_stream_release(&stream);
    free_images(&test);
    free_images(&train);
    return ok ? 0 : 1;
}
