/// cubeback-ulp: runs f32 functions over every input there is and prints the largest error.
///
/// The judge is the C library's function in double. Errors are in units of the last place of the
/// exact result (2^-149 for subnormal ones), where they are smallest; a result that is infinite or
/// NaN on one side only counts as infinitely wrong. Functions of two operands get a grid of edges
/// and random pairs.
#include <float.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cubeback/cubeback.h>

#include "ulp_functions.h"

static const char help[] =
    "Usage: cubeback-ulp [options]\n"
    "Prints the largest error of f32 functions over all inputs. Exit status 1: beyond the bounds\n"
    "of docs/numerics.md.\n"
    "  --op A,B        these functions only\n"
    "  --stride N      every Nth bit pattern (default 1: all 2^32)\n"
    "  --device NAME   part of a device's or platform's name\n"
    "  --gpu-kernels   the kernels for GPUs, whatever the device is\n";

enum { BLOCK = 1 << 20 };

struct options {
    const char *op, *device;
    uint64_t stride;
    bool gpu_kernels;
};

struct side {
    cbk_backend *backend;
    cbk_device *device;
    cbk_stream *stream;
};

/// The worst input of a function so far.
struct worst {
    double ulps, share; ///< share: of the bound; over 1 is beyond it
    float a, b, got;
    double want;
};

static bool parse(int argc, char **argv, struct options *o) {
    enum { OP = 1, STRIDE, DEVICE, GPU, HELP };
    static const struct option list[] = {{"op", 1, NULL, OP},         {"stride", 1, NULL, STRIDE},
                                         {"device", 1, NULL, DEVICE}, {"gpu-kernels", 0, NULL, GPU},
                                         {"help", 0, NULL, HELP},     {NULL, 0, NULL, 0}};
    *o = (struct options){.stride = 1};
    for (int c; (c = getopt_long(argc, argv, "", list, NULL)) != -1;) {
        if (c == OP) o->op = optarg;
        if (c == STRIDE) o->stride = strtoull(optarg, NULL, 10);
        if (c == DEVICE) o->device = optarg;
        if (c == GPU) o->gpu_kernels = true;
        if (c == HELP) fputs(help, stdout), exit(0);
        if (c == '?') return false;
    }
    return optind == argc && o->stride > 0;
}

static bool is_wanted(const char *names, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = names; at != NULL && *at != 0; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0) return true;
    }
    return names == NULL;
}

// ---- inputs --------------------------------------------------------------------------------------

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t mix(uint64_t z) { // splitmix64
    z += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

/// Any bit pattern, or a magnitude near 1, in turn.
static float random_operand(uint64_t random) {
    uint32_t bits = (uint32_t)random;
    if (random >> 63) bits = (bits & 0x807fffff) | (uint32_t)(117 + (random >> 32) % 21) << 23;
    return float_of(bits);
}

static void make_pair(uint64_t number, float *a, float *b) {
    static const uint32_t edges[] = {0x00000000, 0x00000001, 0x007fffff, 0x00800000, 0x3effffff,
                                     0x3f000000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fc00000,
                                     0x40000000, 0x40400000, 0x4b800000, 0x4f000000, 0x5f3504f3,
                                     0x7f7fffff, 0x7f800000, 0x7fc00000};
    enum { COUNT = 2 * sizeof edges / sizeof *edges };
    if (number < (uint64_t)COUNT * COUNT) {
        const uint32_t i = (uint32_t)number / COUNT, k = (uint32_t)number % COUNT;
        *a = float_of(edges[i / 2] | (i & 1) << 31);
        *b = float_of(edges[k / 2] | (k & 1) << 31);
        return;
    }
    *a = random_operand(mix(2 * number));
    *b = random_operand(mix(2 * number + 1));
}

// ---- errors --------------------------------------------------------------------------------------

static double ulp_of(double x) {
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, (exponent - 1 < -126 ? -126 : exponent - 1) - 23);
}

static double error_in_ulps(float got, double want) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want) ? 0 : INFINITY;
    if (fabs(want) > FLT_MAX && isinf(got)) // rounds to infinity, or nearly
        return (got > 0) == (want > 0) ? 0 : INFINITY;
    if (isinf(got) || isinf(want))
        return isinf(want) || fabs(want) < 0.999 * FLT_MAX ? INFINITY : 1;
    return fabs((double)got - want) / ulp_of(want);
}

/// Error divided by the largest that is allowed.
static double share_of_bound(const struct ulp_function *function, float a, float got, double want,
                             double ulps) {
    double share = ulps / function->ulps;
    const double difference = fabs((double)got - want), size = fabs((double)a);
    const double absolute = 0x1p-24 * (function->of_unit + function->of_input * size);
    if (absolute > 0 && isfinite(difference) && isfinite(size))
        share = fmin(share, difference / absolute);
    // Results below the smallest normal number may be flushed to 0.
    if (difference <= function->flushed * FLT_MIN) share = 0;
    return share;
}

static void judge(const struct ulp_function *function, const float *a, const float *b,
                  const float *got, uint32_t count, struct worst *worst) {
    for (uint32_t i = 0; i < count; i++) {
        const double want = function->one != NULL ? function->one((double)a[i])
                                                  : function->two((double)a[i], (double)b[i]);
        const double ulps = error_in_ulps(got[i], want);
        if (ulps <= 0.5) continue;
        const double share = share_of_bound(function, a[i], got[i], want, ulps);
        if (share > worst->share) {
            *worst = (struct worst){.ulps = ulps,
                                    .share = share,
                                    .a = a[i],
                                    .b = b != NULL ? b[i] : 0,
                                    .got = got[i],
                                    .want = want};
        }
    }
}

// ---- running -------------------------------------------------------------------------------------

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

static cbk_status run_block(cbk_stream *stream, const struct ulp_function *function, const float *a,
                            const float *b, float *out, uint32_t count) {
    const int64_t length = count;
    const uint64_t bytes = (uint64_t)count * sizeof *a;
    const cbk_activation_params params =
        CBK_INIT(cbk_activation_params, .variant = function->variant);
    cbk_tensor *inputs[2] = {NULL, NULL}, *result = NULL;
    cbk_op op = CBK_INIT(cbk_op, .opcode = function->opcode, .input_count = b != NULL ? 2 : 1,
                         .output_count = 1, .inputs = inputs, .outputs = &result);
    cbk_status status = CBK_OK;
    if (function->has_params) op.params = &params, op.params_size = sizeof params;
    TRY(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 1, &length, a, bytes, &inputs[0]));
    if (b != NULL)
        TRY(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 1, &length, b, bytes, &inputs[1]));
    TRY(cbk_execute(stream, &op));
    TRY(cbk_tensor_read(stream, result, out, bytes));
done:
    cbk_tensor_release(&result);
    cbk_tensor_release(&inputs[1]);
    cbk_tensor_release(&inputs[0]);
    return status;
}

/// Fills a block from input number `first` on; returns its length.
static uint32_t fill_block(const struct ulp_function *function, uint64_t first, uint64_t total,
                           uint64_t stride, float *a, float *b) {
    const uint32_t count = (uint32_t)(total - first < BLOCK ? total - first : BLOCK);
    for (uint32_t i = 0; i < count; i++) {
        if (function->one != NULL)
            a[i] = float_of((uint32_t)((first + i) * stride));
        else
            make_pair(first + i, &a[i], &b[i]);
    }
    return count;
}

static cbk_status run_function(cbk_stream *stream, const struct ulp_function *function,
                               uint64_t stride, struct worst *worst) {
    static float a[BLOCK], b[BLOCK], got[BLOCK];
    const bool is_pair = function->one == NULL;
    uint64_t total = ((UINT64_C(1) << 32) - 1) / stride + 1;
    if (is_pair) total = total / 16 > 4096 ? total / 16 : 4096;
    *worst = (struct worst){0};
    for (uint64_t first = 0; first < total; first += BLOCK) {
        const uint32_t count = fill_block(function, first, total, stride, a, b);
        cbk_status status = run_block(stream, function, a, is_pair ? b : NULL, got, count);
        if (status != CBK_OK) return status;
        judge(function, a, is_pair ? b : NULL, got, count, worst);
    }
    return CBK_OK;
}

static void print_worst(const struct ulp_function *function, const struct worst *worst) {
    printf("%-12s %10.3f %8g %8.3f", function->name, worst->ulps, function->ulps, worst->share);
    if (worst->share > 0) {
        printf("   x = %.9g (%a)", (double)worst->a, (double)worst->a);
        if (function->two != NULL) printf(", y = %.9g", (double)worst->b);
        printf(": %.9g instead of %.9g", (double)worst->got, worst->want);
    }
    printf("%s\n", worst->share > 1 ? "   BEYOND" : "");
    fflush(stdout);
}

static cbk_status open_side(const struct options *options, struct side *side) {
    cbk_status status = CBK_OK;
    TRY(cbk_opencl_create(
        &CBK_INIT(cbk_backend_params, .flags = options->gpu_kernels ? CBK_GPU_KERNELS : 0),
        &side->backend));
    TRY(cbk_device_open(side->backend, &CBK_INIT(cbk_device_params, .name = options->device),
                        &side->device));
    TRY(cbk_stream_create(side->device, NULL, &side->stream));
done:
    return status;
}

int main(int argc, char **argv) {
    struct options options;
    struct side side = {NULL, NULL, NULL};
    cbk_device_info info = CBK_INIT(cbk_device_info);
    int beyond = 0;
    if (!parse(argc, argv, &options)) return fputs(help, stderr), 2;
    cbk_status status = open_side(&options, &side);
    if (status == CBK_OK) status = cbk_device_get_info(side.device, &info);
    if (status == CBK_OK)
        printf("device: %s, driver %s, stride %llu\n%-12s %10s %8s %8s\n", info.name, info.driver,
               (unsigned long long)options.stride, "function", "ulps", "bound", "share");
    for (uint32_t i = 0; i < ulp_function_count && status == CBK_OK; i++) {
        struct worst worst;
        if (!is_wanted(options.op, ulp_functions[i].name)) continue;
        status = run_function(side.stream, &ulp_functions[i], options.stride, &worst);
        if (status == CBK_OK) print_worst(&ulp_functions[i], &worst);
        beyond += status == CBK_OK && worst.share > 1;
    }
    if (status != CBK_OK) fprintf(stderr, "cubeback-ulp: %s\n", cbk_last_error_message());
    cbk_stream_release(&side.stream);
    cbk_device_release(&side.device);
    cbk_backend_release(&side.backend);
    return status != CBK_OK || beyond > 0;
}
