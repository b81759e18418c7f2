/// replay_run.c: one run of a program: inputs, results.
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cbk_status no_memory(void) {
    fprintf(stderr, "cubeback-replay: no memory\n");
    return CBK_ERROR_OUT_OF_HOST_MEMORY;
}

static uint64_t next(uint64_t *seed) { // splitmix64
    uint64_t x = *seed += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

// ---- inputs -------------------------------------------------------------------------------------

/// Floats in [-1, 1); integers, which may be indices, 0 and 1.
static void fill(double *numbers, int64_t count, cbk_dtype dtype, uint64_t *seed) {
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = next(seed);
        numbers[i] =
            dtype < CBK_DTYPE_I64 ? (double)(bits >> 11) * 0x1p-52 - 1 : (double)(bits & 1);
    }
}

/// The numbers in the input's dtype, rounded by the reference backend.
static cbk_status convert(cbk_stream *reference, const double *numbers, int64_t count,
                          cbk_dtype dtype, void *out, uint64_t size) {
    cbk_tensor *exact = NULL, *rounded = NULL;
    cbk_status status = cbk_tensor_from_data(reference, CBK_DTYPE_F64, 1, &count, numbers,
                                             (uint64_t)count * sizeof *numbers, &exact);
    if (status == CBK_OK) status = cbk_cast(reference, exact, dtype, &rounded);
    if (status == CBK_OK) status = cbk_tensor_read(reference, rounded, out, size);
    cbk_tensor_release(&rounded);
    cbk_tensor_release(&exact);
    return status;
}

static int64_t count_of(const cbk_ir_operand *operand) {
    int64_t count = 1;
    for (uint32_t i = 0; i < operand->rank; i++) count *= operand->shape[i];
    return count;
}

static cbk_status make_input(const cbk_ir_program *program, uint32_t index, cbk_stream *stream,
                             cbk_stream *reference, uint64_t *seed, cbk_tensor **out) {
    cbk_ir_operand operand = CBK_INIT(cbk_ir_operand);
    cbk_status status = cbk_ir_get_input(program, index, &operand);
    if (status != CBK_OK) return status;
    const int64_t count = count_of(&operand);
    const uint64_t size = (uint64_t)count * cbk_dtype_size(operand.dtype);
    double *numbers = malloc((size_t)count * sizeof *numbers + 1);
    void *data = malloc((size_t)size + 1);
    if (numbers == NULL || data == NULL) {
        status = no_memory();
    } else {
        fill(numbers, count, operand.dtype, seed);
        status = convert(reference, numbers, count, operand.dtype, data, size);
    }
    if (status == CBK_OK) status = cbk_ir_make_input(program, stream, index, data, size, out);
    free(data);
    free(numbers);
    return status;
}

// ---- results ------------------------------------------------------------------------------------

static cbk_status read_output(const cbk_ir_program *program, uint32_t index, cbk_stream *stream,
                              const cbk_tensor *tensor, struct replay_output *out) {
    out->operand = CBK_INIT(cbk_ir_operand);
    cbk_status status = cbk_ir_get_output(program, index, &out->operand);
    if (status != CBK_OK) return status;
    out->count = cbk_tensor_element_count(tensor);
    out->size = (uint64_t)out->count * cbk_dtype_size(out->operand.dtype);
    out->data = malloc((size_t)out->size + 1);
    return out->data != NULL ? cbk_tensor_read(stream, tensor, out->data, out->size) : no_memory();
}

void replay_results_free(struct replay_results *results) {
    for (uint32_t i = 0; results->outputs != NULL && i < results->count; i++) {
        free(results->outputs[i].data);
    }
    free(results->outputs);
    *results = (struct replay_results){0};
}

bool replay_results_equal(const struct replay_results *a, const struct replay_results *b) {
    for (uint32_t i = 0; i < a->count; i++) {
        const struct replay_output *x = &a->outputs[i], *y = &b->outputs[i];
        if (x->size != y->size || memcmp(x->data, y->data, (size_t)x->size) != 0) return false;
    }
    return true;
}

static void release_all(cbk_tensor **tensors, uint32_t count) {
    for (uint32_t i = 0; tensors != NULL && i < count; i++) cbk_tensor_release(&tensors[i]);
    free(tensors);
}

cbk_status replay_run(const cbk_ir_program *program, const struct replay_place *place,
                      const struct replay_place *reference, uint64_t seed,
                      struct replay_results *out) {
    cbk_ir_info info = CBK_INIT(cbk_ir_info);
    cbk_status status = cbk_ir_get_info(program, &info);
    if (status != CBK_OK) return status;
    cbk_tensor **inputs = calloc((size_t)info.input_count + 1, sizeof(cbk_tensor *));
    cbk_tensor **outputs = calloc((size_t)info.output_count + 1, sizeof(cbk_tensor *));
    out->count = info.output_count;
    out->outputs = calloc((size_t)info.output_count + 1, sizeof *out->outputs);
    if (inputs == NULL || outputs == NULL || out->outputs == NULL) status = no_memory();
    for (uint32_t i = 0; i < info.input_count && status == CBK_OK; i++) {
        status = make_input(program, i, place->stream, reference->stream, &seed, &inputs[i]);
    }
    if (status == CBK_OK) status = cbk_ir_run(program, place->stream, inputs, outputs);
    if (status == CBK_OK) status = cbk_sync(place->stream);
    for (uint32_t i = 0; i < info.output_count && status == CBK_OK; i++) {
        status = read_output(program, i, place->stream, outputs[i], &out->outputs[i]);
    }
    release_all(outputs, info.output_count);
    release_all(inputs, info.input_count);
    return status;
}
