// ops_compose.c: named functions that are compositions: rows over views of their arguments.
#include "core.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

/// A result that a composition makes or writes into.
struct target {
    cbk_tensor **out; ///< NULL: dst is written into
    cbk_tensor *dst;
};

static struct target new_result(cbk_tensor **out) {
    return (struct target){.out = out};
}

static struct target into(cbk_tensor *dst) {
    return (struct target){.dst = dst};
}

static cbk_status run(cbk_stream *stream, cbk_opcode opcode, const cbk_tensor *const *inputs,
                      uint32_t count, const void *params, uint32_t params_size,
                      struct target target) {
    return target.out != NULL
               ? cbk_run(stream, opcode, inputs, count, params, params_size, target.out)
               : cbk_run_into(stream, opcode, inputs, count, params, params_size, target.dst);
}

/// Stream, target and inputs are there.
static cbk_status check(const cbk_stream *stream, struct target target, const cbk_tensor *a,
                        const char *a_name, const cbk_tensor *b, const char *b_name) {
    cbk_status status =
        target.dst != NULL ? cbk_check_tensor(target.dst, "dst") : cbk_check_out(target.out);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status == CBK_OK) status = cbk_check_tensor(a, a_name);
    if (status == CBK_OK && b_name != NULL) status = cbk_check_tensor(b, b_name);
    return status;
}

/// cbk_<name> and cbk_<name>_into over `name(stream, target, ...)`.
#define COMPOSITION(name, OP, PARAMETERS, ...)                                                     \
    cbk_status cbk_##name(cbk_stream *stream, PARAMETERS, cbk_tensor **out) {                      \
        struct cbk_call former = cbk_call_begin_composed(#name, OP);                               \
        return cbk_call_end(former, name(stream, new_result(out), __VA_ARGS__));                   \
    }                                                                                              \
    cbk_status cbk_##name##_into(cbk_stream *stream, PARAMETERS, cbk_tensor *dst) {                \
        struct cbk_call former = cbk_call_begin_composed(#name, OP);                               \
        return cbk_call_end(former, name(stream, into(dst), __VA_ARGS__));                         \
    }
#define LIST(...) __VA_ARGS__

// ---- activations of two operands ----------------------------------------------------------------

static cbk_status glu(cbk_stream *stream, struct target target, const cbk_tensor *x, int32_t axis) {
    cbk_tensor *half[2] = {NULL, NULL};
    cbk_status status = CBK_OK;
    TRY(check(stream, target, x, "x", NULL, NULL));
    TRY(cbk_check_axis(axis, x->meta.rank, &axis));
    const int64_t length = x->meta.shape[axis];
    if (length % 2 != 0) {
        status = cbk_fail(CBK_ERROR_SHAPE, 0, "axis %d has length %lld, which has no halves",
                          (int)axis, (long long)length);
        goto done;
    }
    TRY(cbk_narrow(stream, x, axis, 0, length / 2, &half[0]));
    TRY(cbk_narrow(stream, x, axis, length / 2, length / 2, &half[1]));
    TRY(run(stream, CBK_OP_GLU, (const cbk_tensor *const *)half, 2, NULL, 0, target));
done:
    cbk_tensor_release(&half[1]);
    cbk_tensor_release(&half[0]);
    return status;
}
COMPOSITION(glu, CBK_OP_GLU, LIST(const cbk_tensor *x, int32_t axis), x, axis)

/// The outputs of the two launches must not lie over what the second one reads.
static cbk_status check_apart(const cbk_tensor *dst, const cbk_tensor *input, const char *name) {
    if (dst->storage != input->storage || !cbk_meta_overlap(&dst->meta, &input->meta))
        return CBK_OK;
    return cbk_fail(CBK_ERROR_ALIASING, 0, "dst shares memory with %s", name);
}

static cbk_status write_glu_gradient(cbk_stream *stream, const cbk_tensor *x,
                                     const cbk_tensor *grad, int32_t axis, cbk_tensor *dst) {
    cbk_tensor *half[2] = {NULL, NULL}, *to[2] = {NULL, NULL};
    const int64_t length = x->meta.shape[axis] / 2;
    cbk_status status = CBK_OK;
    for (int i = 0; i < 2; i++) {
        TRY(cbk_narrow(stream, x, axis, i * length, length, &half[i]));
        TRY(cbk_narrow(stream, dst, axis, i * length, length, &to[i]));
    }
    const cbk_tensor *const gated[] = {grad, half[1]}, *const all[] = {half[0], half[1], grad};
    TRY(cbk_run_into(stream, CBK_OP_GLU, gated, 2, NULL, 0, to[0]));
    TRY(cbk_run_into(stream, CBK_OP_GLU_BACKWARD, all, 3, NULL, 0, to[1]));
done:
    for (int i = 0; i < 2; i++) {
        cbk_tensor_release(&to[i]);
        cbk_tensor_release(&half[i]);
    }
    return status;
}

static cbk_status glu_backward(cbk_stream *stream, struct target target, const cbk_tensor *x,
                               const cbk_tensor *grad, int32_t axis) {
    cbk_tensor *made = NULL;
    cbk_status status = CBK_OK;
    TRY(check(stream, target, x, "x", grad, "grad"));
    TRY(cbk_check_axis(axis, x->meta.rank, &axis));
    const cbk_tensor_meta *meta = &x->meta;
    if (meta->shape[axis] % 2 != 0) {
        status = cbk_fail(CBK_ERROR_SHAPE, 0, "axis %d has length %lld, which has no halves",
                          (int)axis, (long long)meta->shape[axis]);
        goto done;
    }
    if (target.dst != NULL) {
        TRY(check_apart(target.dst, x, "x"));
        TRY(check_apart(target.dst, grad, "grad"));
        if (!cbk_meta_same_shape(&target.dst->meta, meta)) {
            status = cbk_fail(CBK_ERROR_SHAPE, 0, "dst does not have the shape of x");
            goto done;
        }
        TRY(write_glu_gradient(stream, x, grad, axis, target.dst));
    } else {
        TRY(cbk_tensor_empty(stream, meta->dtype, meta->rank, meta->shape, &made));
        TRY(write_glu_gradient(stream, x, grad, axis, made));
        *target.out = made;
        made = NULL;
    }
done:
    cbk_tensor_release(&made);
    return status;
}
COMPOSITION(glu_backward, CBK_OP_GLU_BACKWARD,
            LIST(const cbk_tensor *x, const cbk_tensor *grad, int32_t axis), x, grad, axis)

/// slope [channels] as [channels, 1, ...], so that it lies along axis 1 of x.
static cbk_status slope_along_channels(cbk_stream *stream, const cbk_tensor *x,
                                       const cbk_tensor *slope, cbk_tensor **out) {
    const uint32_t rank = x->meta.rank > 1 ? x->meta.rank - 1 : 1;
    const int64_t channels = x->meta.rank > 1 ? x->meta.shape[1] : 1;
    int64_t shape[CBK_MAX_RANK] = {channels};
    if (slope->meta.rank != 1 || (slope->meta.shape[0] != 1 && slope->meta.shape[0] != channels)) {
        char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_SHAPE, 0, "x is %s, slope %s: it must be [1] or [%lld]",
                        cbk_shape_text(x->meta.rank, x->meta.shape, a),
                        cbk_shape_text(slope->meta.rank, slope->meta.shape, b),
                        (long long)channels);
    }
    shape[0] = slope->meta.shape[0];
    for (uint32_t i = 1; i < rank; i++) shape[i] = 1;
    if (x->meta.rank == 0) return cbk_reshape(stream, slope, 0, shape, out);
    return cbk_reshape(stream, slope, rank, shape, out);
}

static cbk_status prelu(cbk_stream *stream, struct target target, const cbk_tensor *x,
                        const cbk_tensor *slope) {
    cbk_tensor *view = NULL;
    cbk_status status = CBK_OK;
    TRY(check(stream, target, x, "x", slope, "slope"));
    TRY(slope_along_channels(stream, x, slope, &view));
    const cbk_tensor *const inputs[] = {x, view};
    TRY(run(stream, CBK_OP_PRELU, inputs, 2, NULL, 0, target));
done:
    cbk_tensor_release(&view);
    return status;
}
COMPOSITION(prelu, CBK_OP_PRELU, LIST(const cbk_tensor *x, const cbk_tensor *slope), x, slope)

/// The sum of grad min(x, 0) over the elements of each of `count` slopes.
static cbk_status slope_gradient(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *grad,
                                 int64_t count, struct target target) {
    cbk_reduce_params params = {.struct_size = sizeof params};
    cbk_tensor *below = NULL, *product = NULL, *sum = NULL;
    int64_t kept[CBK_MAX_RANK];
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < x->meta.rank; i++) {
        const bool is_kept = i == 1 && count != 1;
        kept[i] = is_kept ? count : 1;
        if (!is_kept) params.axes[params.axis_count++] = (int32_t)i;
    }
    TRY(cbk_minimum_scalar(stream, x, cbk_f(0), &below));
    TRY(cbk_mul(stream, below, grad, &product));
    if (target.out != NULL) {
        TRY(cbk_sum(stream, product, &params, &sum));
        TRY(cbk_reshape(stream, sum, 1, &count, target.out));
    } else {
        TRY(cbk_reshape(stream, target.dst, x->meta.rank, kept, &sum));
        TRY(cbk_sum_into(stream, product, &params, sum));
    }
done:
    cbk_tensor_release(&sum);
    cbk_tensor_release(&product);
    cbk_tensor_release(&below);
    return status;
}

/// `slopes` has neither place where nobody asks for that gradient. It comes first, for the other one
/// may be written over x or grad.
static cbk_status prelu_backward(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *slope,
                                 const cbk_tensor *grad, struct target target,
                                 struct target slopes) {
    cbk_tensor *view = NULL;
    cbk_status status = CBK_OK;
    if (slopes.out != NULL) *slopes.out = NULL;
    TRY(check(stream, target, x, "x", slope, "slope"));
    TRY(cbk_check_tensor(grad, "grad"));
    TRY(slope_along_channels(stream, x, slope, &view));
    if (!cbk_meta_same_shape(&x->meta, &grad->meta)) {
        status = cbk_fail(CBK_ERROR_SHAPE, 0, "grad does not have the shape of x");
        goto done;
    }
    if (slopes.dst != NULL) {
        TRY(check_apart(slopes.dst, x, "x"));
        TRY(check_apart(slopes.dst, slope, "slope"));
        TRY(check_apart(slopes.dst, grad, "grad"));
        if (target.dst != NULL) TRY(check_apart(slopes.dst, target.dst, "the gradient of x"));
    }
    if (slopes.out != NULL || slopes.dst != NULL)
        TRY(slope_gradient(stream, x, grad, slope->meta.shape[0], slopes));
    const cbk_tensor *const inputs[] = {x, view, grad};
    TRY(run(stream, CBK_OP_PRELU_BACKWARD, inputs, 3, NULL, 0, target));
done:
    if (status != CBK_OK && slopes.out != NULL) cbk_tensor_release(slopes.out);
    cbk_tensor_release(&view);
    return status;
}

cbk_status cbk_prelu_backward(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *slope,
                              const cbk_tensor *grad, cbk_tensor **out_x, cbk_tensor **out_slope) {
    struct cbk_call former = cbk_call_begin_composed("prelu_backward", CBK_OP_PRELU_BACKWARD);
    return cbk_call_end(
        former, prelu_backward(stream, x, slope, grad, new_result(out_x), new_result(out_slope)));
}

cbk_status cbk_prelu_backward_into(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *slope,
                                   const cbk_tensor *grad, cbk_tensor *dst_x,
                                   cbk_tensor *dst_slope) {
    struct cbk_call former = cbk_call_begin_composed("prelu_backward", CBK_OP_PRELU_BACKWARD);
    return cbk_call_end(former,
                        prelu_backward(stream, x, slope, grad, into(dst_x), into(dst_slope)));
}

// ---- comparison ---------------------------------------------------------------------------------

static cbk_status all_close(cbk_stream *stream, struct target target, const cbk_tensor *a,
                            const cbk_tensor *b, const cbk_close_params *params) {
    cbk_tensor *close = NULL;
    cbk_status status = CBK_OK;
    TRY(check(stream, target, a, "a", b, "b"));
    TRY(cbk_is_close(stream, a, b, params, &close));
    const cbk_tensor *const inputs[] = {close};
    TRY(run(stream, CBK_OP_ALL, inputs, 1, NULL, 0, target));
done:
    cbk_tensor_release(&close);
    return status;
}
COMPOSITION(all_close, CBK_OP_IS_CLOSE,
            LIST(const cbk_tensor *a, const cbk_tensor *b, const cbk_close_params *params), a, b,
            params)

// ---- products of vectors ------------------------------------------------------------------------

static cbk_status check_vector(const cbk_tensor *x, const char *name) {
    if (x->meta.rank == 1) return CBK_OK;
    char text[CBK_SHAPE_TEXT];
    return cbk_fail(CBK_ERROR_SHAPE, 0, "%s is %s, not a vector", name,
                    cbk_shape_text(x->meta.rank, x->meta.shape, text));
}

static cbk_status outer(cbk_stream *stream, struct target target, const cbk_tensor *a,
                        const cbk_tensor *b) {
    static const int32_t last = 1;
    cbk_tensor *column = NULL;
    cbk_status status = CBK_OK;
    TRY(check(stream, target, a, "a", b, "b"));
    TRY(check_vector(a, "a"));
    TRY(check_vector(b, "b"));
    TRY(cbk_unsqueeze(stream, a, 1, &last, &column));
    const cbk_tensor *const inputs[] = {column, b};
    TRY(run(stream, CBK_OP_MUL, inputs, 2, NULL, 0, target));
done:
    cbk_tensor_release(&column);
    return status;
}
COMPOSITION(outer, CBK_OP_MUL, LIST(const cbk_tensor *a, const cbk_tensor *b), a, b)

/// The product of a as a row with b as a column: [1, 1].
static cbk_status multiply(cbk_stream *stream, const cbk_tensor *a, const cbk_tensor *b,
                           struct target target) {
    static const int32_t first = 0, last = 1;
    cbk_tensor *row = NULL, *column = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_unsqueeze(stream, a, 1, &first, &row));
    TRY(cbk_unsqueeze(stream, b, 1, &last, &column));
    const cbk_tensor *const inputs[] = {row, column};
    TRY(run(stream, CBK_OP_MATMUL, inputs, 2, NULL, 0, target));
done:
    cbk_tensor_release(&column);
    cbk_tensor_release(&row);
    return status;
}

static cbk_status dot(cbk_stream *stream, struct target target, const cbk_tensor *a,
                      const cbk_tensor *b) {
    static const int32_t axes[2] = {0, 1};
    cbk_tensor *product = NULL;
    cbk_status status = CBK_OK;
    TRY(check(stream, target, a, "a", b, "b"));
    TRY(check_vector(a, "a"));
    TRY(check_vector(b, "b"));
    if (target.out != NULL) {
        TRY(multiply(stream, a, b, new_result(&product)));
        TRY(cbk_reshape(stream, product, 0, NULL, target.out));
    } else if (target.dst->meta.rank != 0) {
        status = cbk_fail(CBK_ERROR_SHAPE, 0, "the output has rank %u, the result 0",
                          (unsigned)target.dst->meta.rank);
    } else {
        TRY(cbk_unsqueeze(stream, target.dst, 2, axes, &product));
        TRY(multiply(stream, a, b, into(product)));
    }
done:
    cbk_tensor_release(&product);
    return status;
}
COMPOSITION(dot, CBK_OP_MATMUL, LIST(const cbk_tensor *a, const cbk_tensor *b), a, b)
