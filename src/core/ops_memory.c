// ops_memory.c: named functions of creation, copies, concatenation and random numbers.
#include "core.h"

#include <string.h>

// ---- creation -----------------------------------------------------------------------------------

/// Dtype and shape of a tensor to write into.
static void take_form(const cbk_tensor *dst, cbk_dtype *dtype, uint32_t *rank,
                      int64_t shape[CBK_MAX_RANK]) {
    const cbk_tensor_meta *meta = cbk_tensor_metadata(dst);
    if (meta == NULL) return; // refused a little later
    *dtype = meta->dtype;
    *rank = meta->rank;
    memcpy(shape, meta->shape, meta->rank * sizeof *shape);
}

static cbk_status run_fill(const char *name, cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                           const int64_t *shape, cbk_scalar value, cbk_tensor **out) {
    cbk_create_params params = {
        .struct_size = sizeof params, .dtype = dtype, .rank = rank, .value = value};
    cbk_status status = cbk_copy_shape(name, rank, shape, params.shape);
    if (status == CBK_OK) {
        return cbk_run(stream, CBK_OP_FILL, NULL, 0, &params, sizeof params, out);
    }
    if (out != NULL) *out = NULL;
    return status;
}

cbk_status cbk_fill(cbk_stream *stream, cbk_dtype dtype, uint32_t rank, const int64_t *shape,
                    cbk_scalar value, cbk_tensor **out) {
    return run_fill("fill", stream, dtype, rank, shape, value, out);
}

cbk_status cbk_zeros(cbk_stream *stream, cbk_dtype dtype, uint32_t rank, const int64_t *shape,
                     cbk_tensor **out) {
    return run_fill("zeros", stream, dtype, rank, shape, cbk_i(0), out);
}

cbk_status cbk_ones(cbk_stream *stream, cbk_dtype dtype, uint32_t rank, const int64_t *shape,
                    cbk_tensor **out) {
    return run_fill("ones", stream, dtype, rank, shape, cbk_i(1), out);
}

cbk_status cbk_fill_into(cbk_stream *stream, cbk_scalar value, cbk_tensor *dst) {
    cbk_create_params params = {.struct_size = sizeof params, .value = value};
    take_form(dst, &params.dtype, &params.rank, params.shape);
    return cbk_run_into(stream, CBK_OP_FILL, NULL, 0, &params, sizeof params, dst);
}

cbk_status cbk_arange(cbk_stream *stream, cbk_dtype dtype, cbk_scalar start, cbk_scalar step,
                      int64_t length, cbk_tensor **out) {
    const cbk_create_params params = {.struct_size = sizeof params,
                                      .dtype = dtype,
                                      .rank = 1,
                                      .shape = {length},
                                      .value = start,
                                      .step = step};
    return cbk_run(stream, CBK_OP_ARANGE, NULL, 0, &params, sizeof params, out);
}

cbk_status cbk_arange_into(cbk_stream *stream, cbk_scalar start, cbk_scalar step, cbk_tensor *dst) {
    cbk_create_params params = {.struct_size = sizeof params, .value = start, .step = step};
    take_form(dst, &params.dtype, &params.rank, params.shape);
    return cbk_run_into(stream, CBK_OP_ARANGE, NULL, 0, &params, sizeof params, dst);
}

// ---- moves --------------------------------------------------------------------------------------

cbk_status cbk_copy(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out) {
    return cbk_run(stream, CBK_OP_COPY, &x, 1, NULL, 0, out);
}

cbk_status cbk_copy_into(cbk_stream *stream, const cbk_tensor *x, cbk_tensor *dst) {
    return cbk_run_into(stream, CBK_OP_COPY, &x, 1, NULL, 0, dst);
}

cbk_status cbk_contiguous(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("contiguous", CBK_OP_COPY);
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status == CBK_OK) status = cbk_check_tensor(x, "x");
    if (status == CBK_OK) status = cbk_check_same_device(stream, x, "x");
    if (status == CBK_OK) {
        if (cbk_meta_is_contiguous(&x->meta)) {
            *out = cbk_tensor_retain((cbk_tensor *)(uintptr_t)x);
        } else {
            status = cbk_copy(stream, x, out);
        }
    }
    return cbk_call_end(former, status);
}

cbk_status cbk_slice_assign(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *value,
                            const cbk_slice_params *params, cbk_tensor **out) {
    const cbk_tensor *const inputs[] = {x, value};
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run(stream, CBK_OP_SLICE_ASSIGN, inputs, 2, params, size, out);
}

cbk_status cbk_slice_assign_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *value,
                                 const cbk_slice_params *params, cbk_tensor *dst) {
    const cbk_tensor *const inputs[] = {x, value};
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run_into(stream, CBK_OP_SLICE_ASSIGN, inputs, 2, params, size, dst);
}

cbk_status cbk_cat(cbk_stream *stream, const cbk_tensor *const *tensors, uint32_t count,
                   int32_t axis, cbk_tensor **out) {
    const cbk_axis_params params = {.struct_size = sizeof params, .axis = axis};
    return cbk_run(stream, CBK_OP_CAT, tensors, count, &params, sizeof params, out);
}

cbk_status cbk_cat_into(cbk_stream *stream, const cbk_tensor *const *tensors, uint32_t count,
                        int32_t axis, cbk_tensor *dst) {
    const cbk_axis_params params = {.struct_size = sizeof params, .axis = axis};
    return cbk_run_into(stream, CBK_OP_CAT, tensors, count, &params, sizeof params, dst);
}

// ---- random -------------------------------------------------------------------------------------

static cbk_status run_random(const char *name, cbk_opcode opcode, cbk_stream *stream,
                             cbk_dtype dtype, uint32_t rank, const int64_t *shape, cbk_scalar a,
                             cbk_scalar b, cbk_tensor **out) {
    cbk_random_params params = {
        .struct_size = sizeof params, .dtype = dtype, .rank = rank, .a = a, .b = b};
    cbk_status status = cbk_copy_shape(name, rank, shape, params.shape);
    if (status == CBK_OK) return cbk_run(stream, opcode, NULL, 0, &params, sizeof params, out);
    if (out != NULL) *out = NULL;
    return status;
}

static cbk_status run_random_into(cbk_opcode opcode, cbk_stream *stream, cbk_scalar a, cbk_scalar b,
                                  cbk_tensor *dst) {
    cbk_random_params params = {.struct_size = sizeof params, .a = a, .b = b};
    take_form(dst, &params.dtype, &params.rank, params.shape);
    return cbk_run_into(stream, opcode, NULL, 0, &params, sizeof params, dst);
}

cbk_status cbk_random_uniform(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                              const int64_t *shape, double low, double high, cbk_tensor **out) {
    return run_random("random_uniform", CBK_OP_RANDOM_UNIFORM, stream, dtype, rank, shape,
                      cbk_f(low), cbk_f(high), out);
}

cbk_status cbk_random_uniform_into(cbk_stream *stream, double low, double high, cbk_tensor *dst) {
    return run_random_into(CBK_OP_RANDOM_UNIFORM, stream, cbk_f(low), cbk_f(high), dst);
}

cbk_status cbk_random_normal(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                             const int64_t *shape, double mean, double deviation,
                             cbk_tensor **out) {
    return run_random("random_normal", CBK_OP_RANDOM_NORMAL, stream, dtype, rank, shape,
                      cbk_f(mean), cbk_f(deviation), out);
}

cbk_status cbk_random_normal_into(cbk_stream *stream, double mean, double deviation,
                                  cbk_tensor *dst) {
    return run_random_into(CBK_OP_RANDOM_NORMAL, stream, cbk_f(mean), cbk_f(deviation), dst);
}

cbk_status cbk_random_bernoulli(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                const int64_t *shape, double probability, cbk_tensor **out) {
    return run_random("random_bernoulli", CBK_OP_RANDOM_BERNOULLI, stream, dtype, rank, shape,
                      cbk_f(probability), cbk_f(1.0), out);
}

cbk_status cbk_random_bernoulli_into(cbk_stream *stream, double probability, cbk_tensor *dst) {
    return run_random_into(CBK_OP_RANDOM_BERNOULLI, stream, cbk_f(probability), cbk_f(1.0), dst);
}

cbk_status cbk_random_integer(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                              const int64_t *shape, int64_t low, int64_t high, cbk_tensor **out) {
    return run_random("random_integer", CBK_OP_RANDOM_INTEGER, stream, dtype, rank, shape,
                      cbk_i(low), cbk_i(high), out);
}

cbk_status cbk_random_integer_into(cbk_stream *stream, int64_t low, int64_t high, cbk_tensor *dst) {
    return run_random_into(CBK_OP_RANDOM_INTEGER, stream, cbk_i(low), cbk_i(high), dst);
}

cbk_status cbk_random_categorical(cbk_stream *stream, const cbk_tensor *weights,
                                  const cbk_categorical_params *params, cbk_tensor **out) {
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run(stream, CBK_OP_RANDOM_CATEGORICAL, &weights, 1, params, size, out);
}

cbk_status cbk_random_categorical_into(cbk_stream *stream, const cbk_tensor *weights,
                                       const cbk_categorical_params *params, cbk_tensor *dst) {
    uint32_t size = params != NULL ? params->struct_size : 0;
    return cbk_run_into(stream, CBK_OP_RANDOM_CATEGORICAL, &weights, 1, params, size, dst);
}
