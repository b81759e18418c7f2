/// replay_report.c: results as lines: checksums, ranges, differences.
#include "replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t checksum(const void *data, uint64_t size) { // FNV-1a 64
    const unsigned char *bytes = data;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint64_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static bool is_float(cbk_dtype dtype) {
    return dtype < CBK_DTYPE_I64;
}

/// The numbers of an output, converted by the reference backend; free() them.
static cbk_status to_doubles(const struct replay_output *output, cbk_stream *reference,
                             double **out) {
    cbk_tensor *tensor = NULL, *wide = NULL;
    const uint64_t size = (uint64_t)output->count * sizeof **out;
    *out = malloc((size_t)size + 1);
    if (*out == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    cbk_status status = cbk_tensor_from_data(reference, output->operand.dtype, 1, &output->count,
                                             output->data, output->size, &tensor);
    if (status == CBK_OK) status = cbk_cast(reference, tensor, CBK_DTYPE_F64, &wide);
    if (status == CBK_OK) status = cbk_tensor_read(reference, wide, *out, size);
    cbk_tensor_release(&wide);
    cbk_tensor_release(&tensor);
    return status;
}

static void print_head(uint32_t index, const struct replay_output *output) {
    printf("output %" PRIu32 ": %s[", index, cbk_dtype_name(output->operand.dtype));
    for (uint32_t i = 0; i < output->operand.rank; i++) {
        printf(i == 0 ? "%" PRId64 : ",%" PRId64, output->operand.shape[i]);
    }
    printf("]");
}

static void print_range(const double *numbers, int64_t count) {
    double low = INFINITY, high = -INFINITY, sum = 0;
    int64_t nans = 0;
    for (int64_t i = 0; i < count; i++) {
        nans += isnan(numbers[i]) != 0;
        low = fmin(low, numbers[i]);
        high = fmax(high, numbers[i]);
        sum += isnan(numbers[i]) ? 0 : numbers[i];
    }
    if (nans < count) {
        printf(" min %.9g max %.9g mean %.9g", low, high, sum / (double)(count - nans));
    }
    if (nans != 0) printf(" nan %" PRId64, nans);
}

cbk_status replay_print(const struct replay_results *results,
                        const struct replay_place *reference) {
    for (uint32_t i = 0; i < results->count; i++) {
        const struct replay_output *output = &results->outputs[i];
        double *numbers = NULL;
        cbk_status status = CBK_OK;
        print_head(i, output);
        printf(" checksum %016" PRIx64, checksum(output->data, output->size));
        if (is_float(output->operand.dtype)) {
            status = to_doubles(output, reference->stream, &numbers);
            if (status == CBK_OK) print_range(numbers, output->count);
        }
        printf("\n");
        free(numbers);
        if (status != CBK_OK) return status;
    }
    return CBK_OK;
}

// ---- differences --------------------------------------------------------------------------------

static double default_tolerance(cbk_dtype dtype) {
    if (dtype == CBK_DTYPE_F64 || dtype == CBK_DTYPE_F32) return 1e-4;
    return is_float(dtype) ? 1e-2 : 0;
}

/// Infinite where only one is a number, or the signs of infinities differ.
static double difference(double a, double b) {
    if (isnan(a) && isnan(b)) return 0;
    if (a == b) return 0;
    const double distance = fabs(a - b);
    return isnan(distance) ? INFINITY : distance;
}

static bool compare_output(uint32_t index, const struct replay_output *output, const double *wanted,
                           const double *got, double tolerance) {
    double worst = 0, scale = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < output->count; i++) {
        if (isfinite(wanted[i])) scale = fmax(scale, fabs(wanted[i]));
        const double distance = difference(wanted[i], got[i]);
        if (!(distance > worst)) continue;
        worst = distance;
        at = i;
    }
    const double relative = worst == 0 ? 0 : scale == 0 ? INFINITY : worst / scale;
    const bool is_good = relative <= tolerance;
    print_head(index, output);
    if (worst == 0) {
        printf(" equals the reference's\n");
    } else {
        printf(" worst difference %.3g, %.3g of the largest number, at element %" PRId64
               ": %.9g, the reference has %.9g%s\n",
               worst, relative, at, got[at], wanted[at], is_good ? "" : "  <-- too much");
    }
    return is_good;
}

int replay_compare(const struct replay_results *wanted, const struct replay_results *got,
                   const struct replay_place *reference, double tolerance) {
    int result = 0;
    for (uint32_t i = 0; i < wanted->count; i++) {
        double *a = NULL, *b = NULL;
        const cbk_dtype dtype = wanted->outputs[i].operand.dtype;
        cbk_status status = to_doubles(&wanted->outputs[i], reference->stream, &a);
        if (status == CBK_OK) status = to_doubles(&got->outputs[i], reference->stream, &b);
        if (status != CBK_OK) {
            result = REPLAY_FAILED;
        } else if (!compare_output(i, &got->outputs[i], a, b,
                                   tolerance < 0 ? default_tolerance(dtype) : tolerance)) {
            result = REPLAY_DIFFERS;
        }
        free(a);
        free(b);
        if (result == REPLAY_FAILED) break;
    }
    return result;
}
