// test_matmul_epilogue.c: products with bias, activation and residual: the bits of the operations one
// after the other, whatever kernel makes the product; and linear layers with their gradients.

#include "runner.h"
#include "support.h"

#include <cubeback/backend.h>
#include <cubeback/opcodes.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum added { NONE, ROW, COLUMN, FULL, SCALAR, BATCH }; ///< which axes of the result it has

/// One product and what follows it.
struct row {
    cbk_dtype dtype, out_dtype; ///< 0: dtype
    int batch, m, k, n;         ///< batch 0: rank 2
    cbk_opcode activation;
    enum added bias, residual;
    enum test_view view;        ///< of a, b and residual
    enum test_view output_view; ///< contiguous: a new tensor
    uint32_t variant;
    bool is_shared; ///< b has no batch axis
};

enum { F32 = CBK_DTYPE_F32, F16 = CBK_DTYPE_F16, BF16 = CBK_DTYPE_BF16, F64 = CBK_DTYPE_F64 };

static const struct row rows[] = {
    // activations
    {F32, 0, 0, 9, 33, 21, CBK_OP_RELU, ROW, FULL, 0},
    {F32, 0, 0, 9, 33, 21, CBK_OP_SIGMOID, ROW, NONE, 0},
    {F32, 0, 0, 9, 33, 21, CBK_OP_LOG_SIGMOID, NONE, FULL, 0},
    {F32, 0, 0, 9, 33, 21, CBK_OP_TANH, ROW, FULL, 0},
    {F32, 0, 0, 9, 33, 21, CBK_OP_GELU, ROW, FULL, 0},
    {F32, 0, 0, 9, 33, 21, CBK_OP_GELU, ROW, FULL, 0, 0, CBK_GELU_TANH},
    {F32, 0, 0, 9, 33, 21, CBK_OP_SILU, NONE, NONE, 0},
    {F32, 0, 0, 9, 33, 21, CBK_OP_SOFTPLUS, ROW, NONE, 0},
    {F32, 0, 0, 9, 33, 21, CBK_OP_MISH, ROW, NONE, 0},
    {F32, 0, 0, 9, 33, 21, CBK_OP_LEAKY_RELU, ROW, NONE, 0},
    {F32, 0, 0, 9, 33, 21, CBK_OP_ELU, ROW, NONE, 0},
    {F32, 0, 0, 9, 33, 21, CBK_OP_HARD_SIGMOID, ROW, NONE, 0},
    {F32, 0, 0, 9, 33, 21, CBK_OP_SELU, ROW, NONE, 0},
    {F32, 0, 0, 9, 33, 21, CBK_OP_HARDTANH, ROW, NONE, 0},
    {F32, 0, 0, 9, 33, 21, CBK_OP_THRESHOLD, ROW, NONE, 0},
    // every way of stretching, views
    {F32, 0, 3, 5, 7, 6, 0, ROW, COLUMN, TEST_TRANSPOSED},
    {F32, 0, 3, 5, 7, 6, 0, SCALAR, BATCH, TEST_OFFSET},
    {F32, 0, 3, 5, 7, 6, 0, NONE, FULL, TEST_FLIPPED, TEST_TRANSPOSED},
    {F32, 0, 3, 5, 7, 6, 0, ROW, FULL, TEST_PERMUTED, TEST_STEPPED},
    {F32, 0, 3, 5, 7, 6, 0, FULL, FULL, TEST_UNFOLDED},
    {F32, 0, 3, 5, 7, 6, CBK_OP_RELU, ROW, FULL, TEST_CONTIGUOUS, 0, 0, true},
    {F32, 0, 3, 5, 7, 6, CBK_OP_RELU, ROW, FULL, TEST_BACKWARD, TEST_OFFSET, 0, true},
    {F32, 0, 3, 5, 7, 6, CBK_OP_RELU, BATCH, FULL, TEST_TRANSPOSED, 0, 0, true},
    {F32, 0, 3, 5, 0, 6, CBK_OP_SIGMOID, ROW, FULL, 0},
    {F32, 0, 0, 0, 5, 6, CBK_OP_RELU, ROW, FULL, 0},
    // every form of the kernels: vectors, their parts, splits of k, packed operands
    {F32, 0, 0, 1, 300, 70, CBK_OP_RELU, ROW, FULL, 0},
    {F32, 0, 0, 1, 300, 70, CBK_OP_GELU, ROW, FULL, TEST_TRANSPOSED},
    {F32, 0, 0, 70, 300, 1, CBK_OP_RELU, ROW, FULL, 0},
    {F32, 0, 0, 1, 2100, 9, CBK_OP_RELU, ROW, FULL, 0},
    {F32, 0, 0, 1, 2100, 9, CBK_OP_RELU, ROW, FULL, TEST_TRANSPOSED},
    {F32, 0, 0, 40, 2100, 9, CBK_OP_RELU, ROW, FULL, 0},
    {F32, 0, 0, 8, 256, 256, CBK_OP_RELU, ROW, FULL, 0},
    {F32, 0, 0, 4, 2100, 10, CBK_OP_RELU, ROW, FULL, TEST_TRANSPOSED},
    {F32, 0, 0, 5, 40, 8200, CBK_OP_RELU, ROW, FULL, 0},
    {BF16, 0, 0, 5, 44, 8200, CBK_OP_RELU, ROW, FULL, TEST_TRANSPOSED},
    {F16, 0, 3, 16, 50, 40, CBK_OP_RELU, ROW, FULL, TEST_TRANSPOSED, TEST_TRANSPOSED},
    {F32, 0, 0, 450, 449, 451, CBK_OP_RELU, ROW, FULL, 0},
    {F16, 0, 0, 150, 600, 170, CBK_OP_GELU, ROW, FULL, 0},
    {BF16, 0, 0, 150, 600, 170, CBK_OP_RELU, ROW, FULL, TEST_TRANSPOSED},
    {F16, F32, 0, 150, 600, 170, CBK_OP_RELU, ROW, FULL, 0},
    {BF16, 0, 0, 150, 600, 172, CBK_OP_RELU, ROW, FULL, 0}, // rows of whole vectors
    {F16, F32, 0, 150, 600, 172, CBK_OP_RELU, ROW, FULL, 0},
    {F64, 0, 0, 129, 400, 80, CBK_OP_TANH, ROW, FULL, 0},
    // every dtype
    {F64, 0, 0, 9, 33, 21, CBK_OP_GELU, ROW, FULL, 0},
    {F16, 0, 0, 9, 33, 21, CBK_OP_SILU, ROW, FULL, TEST_STEPPED},
    {BF16, 0, 0, 9, 33, 21, CBK_OP_TANH, ROW, FULL, TEST_STEPPED},
    {F16, 0, 0, 1, 300, 70, CBK_OP_RELU, ROW, FULL, 0},
    {BF16, F32, 0, 9, 33, 21, CBK_OP_RELU, ROW, NONE, 0},
    {F32, F16, 0, 9, 33, 21, CBK_OP_RELU, NONE, FULL, 0},
    {CBK_DTYPE_FLEX32, 0, 0, 9, 33, 21, CBK_OP_RELU, ROW, FULL, 0},
    {CBK_DTYPE_F8E4M3, 0, 0, 9, 33, 21, CBK_OP_RELU, ROW, FULL, 0},
    {CBK_DTYPE_F8E5M2, F16, 0, 9, 33, 21, CBK_OP_RELU, ROW, FULL, 0},
    {CBK_DTYPE_I64, 0, 0, 9, 33, 21, CBK_OP_RELU, ROW, FULL, 0},
    {CBK_DTYPE_I32, 0, 0, 9, 33, 21, CBK_OP_RELU, ROW, FULL, 0},
    {CBK_DTYPE_I16, 0, 0, 9, 33, 21, CBK_OP_RELU, ROW, FULL, 0},
    {CBK_DTYPE_I8, 0, 0, 9, 33, 21, CBK_OP_RELU, ROW, FULL, 0},
    {CBK_DTYPE_I8, CBK_DTYPE_I32, 0, 9, 33, 21, CBK_OP_RELU, ROW, FULL, 0},
    {CBK_DTYPE_U64, 0, 0, 9, 33, 21, 0, ROW, FULL, 0},
    {CBK_DTYPE_U32, 0, 0, 9, 33, 21, 0, ROW, FULL, 0},
    {CBK_DTYPE_U16, 0, 0, 9, 33, 21, 0, ROW, FULL, 0},
    {CBK_DTYPE_U8, 0, 0, 9, 33, 21, CBK_OP_RELU, ROW, FULL, 0},
};
enum { ROWS = sizeof rows / sizeof *rows };

// ---- operands ----------------------------------------------------------------------------------

struct operands {
    cbk_tensor *a, *b, *bias, *residual;
};

static void release_operands(struct operands *x) {
    cbk_tensor_release(&x->a);
    cbk_tensor_release(&x->b);
    cbk_tensor_release(&x->bias);
    cbk_tensor_release(&x->residual);
}

/// The same on every side: `seed` decides. Whole numbers, so that sums are exact.
static cbk_tensor *make(struct test_side *side, cbk_dtype dtype, enum test_view view, uint32_t rank,
                        const int64_t *shape, bool is_whole, uint64_t seed) {
    const struct test_base base = test_view_base(view, rank, shape);
    const cbk_dtype drawn = is_whole ? CBK_DTYPE_I32 : dtype;
    const size_t size = (size_t)base.count * cbk_dtype_size(drawn);
    cbk_tensor *whole = NULL, *cast = NULL;
    void *data = malloc(size + 1);
    assert_non_null(data);
    test_fill(data, drawn, base.count, TEST_MODERATE, 0, &seed);
    assert_ok(cbk_tensor_from_data(side->stream, drawn, base.rank, base.shape, data, size, &whole));
    free(data);
    assert_ok(cbk_cast(side->stream, whole, dtype, &cast));
    cbk_tensor *result = test_view_make(side, view, cast, rank, shape);
    cbk_tensor_release(&whole);
    cbk_tensor_release(&cast);
    return result;
}

static cbk_dtype result_dtype(const struct row *row) {
    const bool is_small = row->dtype == CBK_DTYPE_F8E4M3 || row->dtype == CBK_DTYPE_F8E5M2;
    return row->out_dtype ? row->out_dtype : is_small ? CBK_DTYPE_BF16 : row->dtype;
}

static cbk_tensor *make_added(struct test_side *side, const struct row *row, enum added kind,
                              enum test_view view, bool is_whole, uint64_t seed) {
    const int64_t shapes[][3] = {[ROW] = {1, 1, row->n},
                                 [COLUMN] = {1, row->m, 1},
                                 [FULL] = {row->batch, row->m, row->n},
                                 [SCALAR] = {1, 1, 1},
                                 [BATCH] = {row->batch, 1, 1}};
    uint32_t first = kind == ROW ? 2 : row->batch ? 0 : 1;
    if (kind == NONE) return NULL;
    if (kind != FULL) view = TEST_CONTIGUOUS;
    return make(side, result_dtype(row), view, 3 - first, shapes[kind] + first, is_whole, seed);
}

static struct operands make_operands(struct test_side *side, const struct row *row, bool is_whole) {
    const int64_t a[] = {row->batch, row->m, row->k}, b[] = {row->batch, row->k, row->n};
    const uint32_t first = row->batch ? 0 : 1, first_b = row->is_shared ? 1 : first;
    return (struct operands){
        make(side, row->dtype, row->view, 3 - first, a + first, is_whole, 1),
        make(side, row->dtype, row->view, 3 - first_b, b + first_b, is_whole, 2),
        make_added(side, row, row->bias, TEST_CONTIGUOUS, is_whole, 3),
        make_added(side, row, row->residual, row->view, is_whole, 4)};
}

// ---- both ways ---------------------------------------------------------------------------------

static cbk_tensor *run_fused(struct test_side *side, const struct row *row,
                             const struct operands *x) {
    const cbk_matmul_params params =
        CBK_INIT(cbk_matmul_params, .out_dtype = row->out_dtype, .activation = row->activation,
                 .activation_variant = row->variant);
    cbk_tensor *out = NULL;
    const int64_t shape[] = {row->batch, row->m, row->n};
    const uint32_t first = row->batch ? 0 : 1;
    if (row->output_view == TEST_CONTIGUOUS) {
        assert_ok(cbk_matmul_fused(side->stream, x->a, x->b, x->bias, x->residual, &params, &out));
        return out;
    }
    out = make(side, result_dtype(row), row->output_view, 3 - first, shape + first, true, 5);
    assert_ok(cbk_matmul_fused_into(side->stream, x->a, x->b, x->bias, x->residual, &params, out));
    return out;
}

/// Replaces *x by op(*x, y).
static void step(struct test_side *side, const struct row *row, cbk_opcode opcode, cbk_tensor **x,
                 cbk_tensor *y) {
    const cbk_activation_params params = CBK_INIT(cbk_activation_params, .variant = row->variant);
    const bool has_params = cbk_op_info_of(opcode)->params_size != 0;
    cbk_tensor *inputs[] = {*x, y}, *out = NULL;
    cbk_op op = CBK_INIT(cbk_op, .opcode = opcode, .input_count = y ? 2 : 1, .output_count = 1,
                         .inputs = inputs, .outputs = &out, .params = has_params ? &params : NULL,
                         .params_size = has_params ? sizeof params : 0);
    assert_ok(cbk_execute(side->stream, &op));
    cbk_tensor_release(x);
    *x = out;
}

static cbk_tensor *run_apart(struct test_side *side, const struct row *row,
                             const struct operands *x) {
    const cbk_matmul_params params = CBK_INIT(cbk_matmul_params, .out_dtype = row->out_dtype);
    cbk_tensor *out = NULL;
    const int64_t shape[] = {row->batch, row->m, row->n};
    const uint32_t first = row->batch ? 0 : 1;
    if (row->output_view == TEST_CONTIGUOUS) {
        assert_ok(cbk_matmul(side->stream, x->a, x->b, &params, &out));
    } else {
        out = make(side, result_dtype(row), row->output_view, 3 - first, shape + first, true, 5);
        assert_ok(cbk_matmul_into(side->stream, x->a, x->b, &params, out));
    }
    if (x->bias) step(side, row, CBK_OP_ADD, &out, x->bias);
    if (row->activation) step(side, row, row->activation, &out, NULL);
    if (x->residual) step(side, row, CBK_OP_ADD, &out, x->residual);
    return out;
}

static void *read(struct test_side *side, const cbk_tensor *tensor, size_t *out_size) {
    *out_size = (size_t)cbk_tensor_element_count(tensor) * cbk_dtype_size(cbk_tensor_dtype(tensor));
    void *data = malloc(*out_size + 1);
    assert_non_null(data);
    assert_ok(cbk_tensor_read(side->stream, tensor, data, *out_size));
    return data;
}

/// Releases both.
static void assert_equal(struct test_side *a_side, cbk_tensor *a, struct test_side *b_side,
                         cbk_tensor *b) {
    size_t a_size, b_size;
    assert_int_equal(cbk_tensor_dtype(a), cbk_tensor_dtype(b));
    void *want = read(a_side, a, &a_size), *got = read(b_side, b, &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(want, got, a_size);
    free(want);
    free(got);
    cbk_tensor_release(&a);
    cbk_tensor_release(&b);
}

static void test_row(void **state) {
    const struct row *row = *state;
    struct test_side *device = &test_pair.device, *reference = &test_pair.reference;
    if (cbk_supports_dtype(device->device, row->dtype) == CBK_ERROR_UNSUPPORTED) skip();
    struct operands x = make_operands(device, row, false);
    cbk_tensor *apart = run_apart(device, row, &x);
    assert_equal(device, apart, device, run_fused(device, row, &x));
    release_operands(&x);
    if (row->activation != 0 && row->activation != CBK_OP_RELU) return;

    // Sums of whole numbers are exact: the reference has the same bits.
    x = make_operands(device, row, true);
    struct operands y = make_operands(reference, row, true);
    cbk_tensor *want = run_fused(reference, row, &y);
    assert_equal(reference, want, device, run_fused(device, row, &x));
    release_operands(&x);
    release_operands(&y);
}

// ---- linear layers -------------------------------------------------------------------------------

/// x [.., 6] with weight [6, 4]: all of it on both sides.
static void compare_linear(enum test_view view, uint32_t rank, const int64_t *lengths) {
    struct test_side *sides[] = {&test_pair.reference, &test_pair.device};
    const cbk_matmul_params relu = CBK_INIT(cbk_matmul_params, .activation = CBK_OP_RELU);
    cbk_tensor *results[2][8] = {{0}};
    int64_t in[CBK_MAX_RANK], out[CBK_MAX_RANK];
    memcpy(in, lengths, rank * sizeof *in);
    memcpy(out, lengths, rank * sizeof *out);
    in[rank - 1] = 6, out[rank - 1] = 4;
    for (int s = 0; s < 2; s++) {
        struct test_side *side = sides[s];
        cbk_tensor **r = results[s];
        cbk_tensor *x = make(side, F32, view, rank, in, true, 1);
        cbk_tensor *grad = make(side, F32, view, rank, out, true, 2);
        cbk_tensor *weight = make(side, F32, 0, 2, (int64_t[]){6, 4}, true, 3);
        cbk_tensor *bias = make(side, F32, 0, 1, (int64_t[]){4}, true, 4);
        r[4] = make(side, F32, 0, rank, out, true, 5);
        r[5] = make(side, F32, 0, rank, in, true, 5);
        r[6] = make(side, F32, TEST_TRANSPOSED, 2, (int64_t[]){6, 4}, true, 5);
        r[7] = make(side, F32, TEST_STEPPED, 1, (int64_t[]){4}, true, 5);
        assert_ok(cbk_linear(side->stream, x, weight, bias, &relu, &r[0]));
        assert_ok(cbk_linear_into(side->stream, x, weight, NULL, NULL, r[4]));
        assert_ok(cbk_linear_x_backward(side->stream, weight, grad, &r[1]));
        assert_ok(cbk_linear_x_backward_into(side->stream, weight, grad, r[5]));
        assert_ok(cbk_linear_weight_backward(side->stream, x, grad, &r[2]));
        assert_ok(cbk_linear_weight_backward_into(side->stream, x, grad, r[6]));
        assert_ok(cbk_linear_bias_backward(side->stream, grad, &r[3]));
        assert_ok(cbk_linear_bias_backward_into(side->stream, grad, r[7]));
        assert_int_equal(cbk_tensor_rank(r[0]), rank);
        assert_int_equal(cbk_tensor_rank(r[3]), 1);
        cbk_tensor_release(&x);
        cbk_tensor_release(&grad);
        cbk_tensor_release(&weight);
        cbk_tensor_release(&bias);
    }
    for (int i = 0; i < 8; i++) assert_equal(sides[0], results[0][i], sides[1], results[1][i]);
}

static void test_linear(void **state) {
    (void)state;
    compare_linear(TEST_CONTIGUOUS, 1, (int64_t[]){0});
    compare_linear(TEST_CONTIGUOUS, 2, (int64_t[]){5, 0});
    compare_linear(TEST_CONTIGUOUS, 4, (int64_t[]){2, 3, 5, 0});
    compare_linear(TEST_TRANSPOSED, 3, (int64_t[]){3, 5, 0});
    compare_linear(TEST_PERMUTED, 3, (int64_t[]){3, 5, 0});
    compare_linear(TEST_EXPANDED, 3, (int64_t[]){3, 5, 0});
    compare_linear(TEST_CONTIGUOUS, 3, (int64_t[]){3, 0, 0});
}

/// A layer is one launch, whatever the rank of x.
static void test_launches(void **state) {
    struct test_side *side = &test_pair.device;
    const cbk_matmul_params relu = CBK_INIT(cbk_matmul_params, .activation = CBK_OP_RELU);
    cbk_tensor *x = make(side, F32, 0, 3, (int64_t[]){4, 5, 48}, true, 1), *out = NULL;
    cbk_tensor *weight = make(side, F32, 0, 2, (int64_t[]){48, 32}, true, 2);
    cbk_tensor *bias = make(side, F32, 0, 1, (int64_t[]){32}, true, 3);
    const uint64_t before = test_launch_count(test_pair.device.device);
    (void)state;
    assert_ok(cbk_linear(side->stream, x, weight, bias, &relu, &out));
    if ((test_backend_flags() & CBK_ROUTE_BLAS) == 0)
        assert_int_equal(test_launch_count(test_pair.device.device) - before, 1);
    cbk_tensor_release(&x);
    cbk_tensor_release(&weight);
    cbk_tensor_release(&bias);
    cbk_tensor_release(&out);
}

static void test_errors(void **state) {
    struct test_side *side = &test_pair.device;
    cbk_tensor *x = make(side, F32, 0, 2, (int64_t[]){2, 3}, true, 1), *out = NULL;
    cbk_tensor *weight = make(side, F32, 0, 2, (int64_t[]){3, 4}, true, 2);
    cbk_tensor *scalar = make(side, F32, 0, 0, NULL, true, 3);
    (void)state;
    assert_status(CBK_ERROR_SHAPE, cbk_linear(side->stream, scalar, weight, NULL, NULL, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_linear_bias_backward(side->stream, scalar, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_linear(side->stream, x, weight, x, NULL, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_linear(side->stream, NULL, weight, NULL, NULL, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_linear_into(side->stream, x, weight, NULL, NULL, NULL));
    assert_null(out);
    cbk_tensor_release(&x);
    cbk_tensor_release(&weight);
    cbk_tensor_release(&scalar);
}

// ---- the suite -----------------------------------------------------------------------------------

int main(void) {
    static char names[ROWS][96];
    struct CMUnitTest tests[ROWS + 3] = {
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_errors),
    };
    size_t count = 3;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        snprintf(names[i], sizeof names[i], "%s %d[%d,%d]x[%d,%d] %s %d+%d %s to %s",
                 cbk_dtype_name(row->dtype), row->batch, row->m, row->k, row->k, row->n,
                 row->activation ? cbk_op_info_of(row->activation)->name : "none", row->bias,
                 row->residual, test_view_names[row->view], test_view_names[row->output_view]);
        if (!test_is_wanted(names[i])) continue;
        tests[count++] = (struct CMUnitTest){
            .name = names[i], .test_func = test_row, .initial_state = (void *)(uintptr_t)row};
    }
    return _cmocka_run_group_tests("matmul_epilogue", tests, count, test_pair_open,
                                   test_pair_close);
}
