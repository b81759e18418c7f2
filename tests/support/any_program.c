// any_program.c: making random programs and running them; see any_program.h.

#include "any_program.h"
#include "compare.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void release_all(cbk_tensor **tensors, int count) {
    for (int i = 0; i < count; i++) cbk_tensor_release(&tensors[i]);
}

static uint64_t bytes_of(const struct test_any_operand *form) {
    return (uint64_t)test_any_count(form) * cbk_dtype_size(form->dtype);
}

// ---- one side ----------------------------------------------------------------------------------

/// The tensors of a program on one side.
struct run {
    const struct test_any_program *program;
    const struct test_side *side;
    cbk_tensor *tensors[TEST_MOST_VALUES];
};

static void make_leaf(struct run *run, int index) {
    const struct test_any_value *value = &run->program->values[index];
    if (run->tensors[index] || !value->data) return;
    assert_ok(cbk_tensor_from_data(run->side->stream, value->form.dtype, value->form.rank,
                                   value->form.shape, value->data, bytes_of(&value->form),
                                   &run->tensors[index]));
}

/// What was written in place is put back.
static void refresh_leaves(struct run *run) {
    for (int i = 0; i < run->program->value_count; i++) {
        const struct test_any_value *value = &run->program->values[i];
        if (!value->data) continue;
        make_leaf(run, i);
        assert_ok(cbk_tensor_write(run->side->stream, run->tensors[i], value->data,
                                   bytes_of(&value->form)));
    }
}

static cbk_status run_node(struct run *run, const struct test_any_node *node) {
    cbk_tensor *inputs[TEST_ANY_INPUTS] = {NULL}, *outputs[TEST_ANY_OUTPUTS] = {NULL};
    for (uint32_t i = 0; i < node->op.input_count; i++) {
        if (node->inputs[i] < 0) continue;
        make_leaf(run, node->inputs[i]);
        inputs[i] = run->tensors[node->inputs[i]];
    }
    if (node->is_into) {
        make_leaf(run, node->outputs[0]);
        outputs[0] = run->tensors[node->outputs[0]];
    }
    cbk_status status = test_any_execute(run->side->stream, &node->op, inputs, outputs);
    for (uint32_t i = node->is_into ? 1 : 0; i < node->op.info->output_count; i++) {
        run->tensors[node->outputs[i]] = outputs[i];
    }
    return status;
}

static void release_made(struct run *run) {
    for (int i = 0; i < run->program->value_count; i++) {
        if (!run->program->values[i].data) cbk_tensor_release(&run->tensors[i]);
    }
}

static void set_random(const struct test_side *side, uint64_t position) {
    const cbk_random_state state = CBK_INIT(cbk_random_state, .seed = 3, .position = position);
    assert_ok(cbk_random_set_state(side->stream, &state));
}

static void *read_value(const struct run *run, int index, uint64_t *out_size) {
    const cbk_tensor *tensor = run->tensors[index];
    *out_size =
        (uint64_t)cbk_tensor_element_count(tensor) * cbk_dtype_size(cbk_tensor_dtype(tensor));
    void *data = malloc((size_t)*out_size + 1);
    assert_non_null(data);
    cbk_status status = cbk_tensor_read(run->side->stream, tensor, data, *out_size);
    // An index that is out of range is an error once; the numbers are defined all the same.
    if (status == CBK_ERROR_INDEX_OUT_OF_RANGE)
        status = cbk_tensor_read(run->side->stream, tensor, data, *out_size);
    assert_ok(status);
    return data;
}

// ---- making ------------------------------------------------------------------------------------

static int add_leaf(struct test_any_program *program, const struct test_any_operand *form,
                    uint64_t *seed) {
    struct test_any_value *value = &program->values[program->value_count];
    value->form = *form;
    value->data = malloc((size_t)bytes_of(form) + 1);
    assert_non_null(value->data);
    test_any_fill(form, TEST_MODERATE, value->data, seed);
    return program->value_count++;
}

static bool same_form(const struct test_any_operand *a, const struct test_any_operand *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}

/// A value that is there and has the form, or -1.
static int find_value(const struct test_any_program *program, const struct test_any_operand *form,
                      uint64_t *seed) {
    int found = -1;
    int64_t seen = 0;
    for (int i = 0; i < program->value_count; i++) {
        if (program->values[i].form.is_index || !same_form(&program->values[i].form, form))
            continue;
        if (test_random_below(seed, ++seen) == 0) found = i;
    }
    return found;
}

static void choose_inputs(struct test_any_program *program, struct test_any_node *node,
                          uint64_t *seed) {
    for (uint32_t i = 0; i < node->op.input_count; i++) {
        const struct test_any_operand *form = &node->op.inputs[i];
        if (form->dtype == 0) {
            node->inputs[i] = -1;
            continue;
        }
        const bool is_fresh = form->is_index || test_random_below(seed, 5) == 0;
        int value = is_fresh ? -1 : find_value(program, form, seed);
        node->inputs[i] = value >= 0 ? value : add_leaf(program, form, seed);
    }
}

/// Now and then a result goes over the first input, where the row allows it.
static void choose_output(struct test_any_node *node, const struct run *run, uint64_t *seed) {
    const uint32_t in_place = CBK_ROW_POINTWISE | CBK_ROW_UPDATE;
    node->is_into = (node->op.info->flags & in_place) != 0 && node->op.input_count != 0 &&
                    node->op.info->output_count == 1 && test_random_below(seed, 4) == 0 &&
                    run->tensors[node->inputs[0]] != NULL;
    if (node->is_into) node->outputs[0] = node->inputs[0];
}

static void note_outputs(struct test_any_program *program, struct test_any_node *node,
                         cbk_tensor *const *made) {
    for (uint32_t i = node->is_into ? 1 : 0; i < node->op.info->output_count; i++) {
        struct test_any_value *value = &program->values[node->outputs[i]];
        value->form = (struct test_any_operand){.dtype = cbk_tensor_dtype(made[i]),
                                                .rank = cbk_tensor_rank(made[i])};
        memcpy(value->form.shape, cbk_tensor_shape(made[i]),
               value->form.rank * sizeof *value->form.shape);
    }
}

/// Half of the time what graphs and fusion put together: products, what follows them, reductions.
static const cbk_op_info *next_row(uint64_t *seed) {
    static const cbk_opcode common[] = {
        CBK_OP_MATMUL, CBK_OP_ADD,  CBK_OP_ADD,        CBK_OP_MUL,     CBK_OP_SUB,
        CBK_OP_RELU,   CBK_OP_GELU, CBK_OP_MUL_SCALAR, CBK_OP_SIGMOID, CBK_OP_SUM,
        CBK_OP_MAX,    CBK_OP_MEAN, CBK_OP_SOFTMAX,    CBK_OP_EXP,     CBK_OP_TRANSPOSE,
    };
    if (test_random_below(seed, 2) == 0) return test_any_row(seed);
    return cbk_op_info_of(common[test_random_below(seed, sizeof common / sizeof *common)]);
}

/// Mostly like a value that is there, and then often the newest.
static struct test_any_hint next_hint(const struct test_any_program *program, cbk_device *device,
                                      uint64_t *seed) {
    struct test_any_hint hint = test_any_hint(device, seed, 6);
    if (program->value_count == 0 || test_random_below(seed, 4) == 0) return hint;
    const int newest = program->value_count - 1;
    const int chosen =
        test_random_below(seed, 2) ? newest : (int)test_random_below(seed, program->value_count);
    const struct test_any_operand *form = &program->values[chosen].form;
    hint.dtype = form->dtype;
    hint.rank = form->rank;
    memcpy(hint.shape, form->shape, sizeof hint.shape);
    return hint;
}

/// Adds one operation that the reference runs; leaves the program as it was if it does not.
static void add_node(struct test_any_program *program, struct run *run, cbk_device *device,
                     uint64_t *seed) {
    struct test_any_node *node = &program->nodes[program->node_count];
    const int values = program->value_count;
    const struct test_any_hint hint = next_hint(program, device, seed);
    memset(node, 0, sizeof *node);
    if (!test_any_make(next_row(seed), run->side, &hint, seed, &node->op)) return;
    choose_inputs(program, node, seed);
    choose_output(node, run, seed);
    for (uint32_t i = node->is_into ? 1 : 0; i < node->op.info->output_count; i++) {
        node->outputs[i] = program->value_count++;
        program->values[node->outputs[i]].data = NULL;
    }
    if (run_node(run, node) == CBK_OK) {
        cbk_tensor *made[TEST_ANY_OUTPUTS];
        bool is_small = true;
        for (uint32_t i = 0; i < node->op.info->output_count; i++) {
            made[i] = run->tensors[node->outputs[i]];
            is_small &= cbk_tensor_element_count(made[i]) <= hint.most_elements;
        }
        (void)cbk_sync(run->side->stream);
        if (is_small) {
            note_outputs(program, node, made);
            program->node_count++;
            return;
        }
    }
    for (int i = values; i < program->value_count; i++) {
        cbk_tensor_release(&run->tensors[i]);
        free(program->values[i].data);
        program->values[i].data = NULL;
    }
    program->value_count = values;
}

struct test_any_program *test_any_program(const struct test_side *reference,
                                          const struct test_side *device, uint64_t seed,
                                          int nodes) {
    struct test_any_program *program = calloc(1, sizeof *program);
    struct run *run = calloc(1, sizeof *run);
    uint64_t state = seed;
    assert_true(program != NULL && run != NULL);
    program->seed = seed;
    *run = (struct run){.program = program, .side = reference};
    for (int tries = 0; program->node_count < nodes && tries < 10 * nodes; tries++) {
        add_node(program, run, device->device, &state);
    }
    release_all(run->tensors, program->value_count);
    free(run);
    assert_true(program->node_count > 0);
    return program;
}

void test_any_program_free(struct test_any_program *program) {
    for (int i = 0; program && i < program->value_count; i++) free(program->values[i].data);
    free(program);
}

// ---- comparing with the reference --------------------------------------------------------------

static double tolerance_of(cbk_dtype dtype) {
    switch (dtype) {
    case CBK_DTYPE_F64:
        return 0x1p-36;
    case CBK_DTYPE_F32:
        return 0x1p-15;
    case CBK_DTYPE_F16:
    case CBK_DTYPE_FLEX32:
        return 0x1p-8;
    case CBK_DTYPE_BF16:
        return 0x1p-5;
    default:
        return 0; // 8-bit floats are made by casts, which are exact
    }
}

static double largest(cbk_dtype dtype) {
    return dtype == CBK_DTYPE_F64 ? 0x1.fp1023 : dtype == CBK_DTYPE_F16 ? 65504 : 0x1.fep127;
}

static double largest_of(const void *data, cbk_dtype dtype, int64_t count) {
    double scale = 0;
    for (int64_t i = 0; i < count; i++) {
        const double number = fabs(test_to_double(data, dtype, i));
        if (isfinite(number)) scale = fmax(scale, number);
    }
    return scale;
}

/// The largest finite number among a node's operands: errors are measured against it.
static double scale_of(const struct run *run, const struct test_any_node *node) {
    double scale = 0;
    for (uint32_t i = 0; i < node->op.input_count; i++) {
        uint64_t size = 0;
        if (node->inputs[i] < 0) continue;
        void *data = read_value(run, node->inputs[i], &size);
        const cbk_dtype dtype = cbk_tensor_dtype(run->tensors[node->inputs[i]]);
        scale = fmax(scale, largest_of(data, dtype, (int64_t)(size / cbk_dtype_size(dtype))));
        free(data);
    }
    return scale;
}

/// The suites of operations are strict about accuracy; this one looks for wrong elements.
static bool is_close(double want, double got, cbk_dtype dtype, double scale) {
    if (want == got || (isnan(want) && isnan(got))) return true;
    if (isnan(want) || isnan(got)) return false;
    if (isinf(want) || isinf(got)) { // at the edge of overflow
        const double finite = isinf(want) ? got : want, infinite = isinf(want) ? want : got;
        return (finite > 0) == (infinite > 0) && fabs(finite) > largest(dtype) / 2;
    }
    const double size = fmax(fmax(fabs(want), fabs(got)), fmin(scale, 64 * fabs(want) + 64));
    return fabs(want - got) <= tolerance_of(dtype) * size;
}

/// Close to singular matrices, where every digit of a factor may differ: the suite of the operations
/// judges them by what they must fulfil.
static bool is_sensitive(const cbk_op_info *info) {
    return info->opcode >> 8 == CBK_FAMILY_LINALG;
}

static struct test_any_failure compare_output(const struct run *reference, const struct run *device,
                                              int node_index, int output, double scale) {
    const struct test_any_node *node = &reference->program->nodes[node_index];
    struct test_any_failure failure = {.node = -1, .output = output, .how = "differs"};
    const int value = node->outputs[output];
    uint64_t want_size = 0, got_size = 0;
    const cbk_dtype dtype = cbk_tensor_dtype(reference->tensors[value]);
    void *want = read_value(reference, value, &want_size);
    void *got = read_value(device, value, &got_size);
    if (want_size != got_size || dtype != cbk_tensor_dtype(device->tensors[value])) {
        failure.node = node_index;
        failure.how = "has another size";
    }
    const int64_t count = (int64_t)(want_size / cbk_dtype_size(dtype));
    if (node->op.input_count == 0) scale = largest_of(want, dtype, count);
    const bool is_same = failure.node < 0 && !memcmp(want, got, (size_t)want_size);
    const bool looks = failure.node < 0 && !is_same && !is_sensitive(node->op.info);
    for (int64_t i = 0; looks && i < count && failure.node < 0; i++) {
        failure.want = test_to_double(want, dtype, i);
        failure.got = test_to_double(got, dtype, i);
        const bool is_equal = dtype < CBK_DTYPE_I64
                                  ? is_close(failure.want, failure.got, dtype, scale)
                                  : test_ulps_between(want, got, dtype, i) == 0;
        if (is_equal) continue;
        failure.node = node_index;
        failure.element = i;
    }
    // Both go on with the same numbers.
    if (failure.node < 0 && !is_same) {
        assert_ok(cbk_tensor_write(device->side->stream, device->tensors[value], want, want_size));
    }
    free(want);
    free(got);
    return failure;
}

static struct test_any_failure compare_node(struct run *reference, struct run *device, int index) {
    const struct test_any_node *node = &reference->program->nodes[index];
    struct test_any_failure failure = {.node = -1};
    for (uint32_t i = 0; i < node->op.input_count; i++) {
        if (node->inputs[i] >= 0) make_leaf(reference, node->inputs[i]);
    }
    const double scale = scale_of(reference, node);
    set_random(reference->side, (uint64_t)index);
    set_random(device->side, (uint64_t)index);
    if (run_node(reference, node) != CBK_OK) {
        failure.node = -2;
        return failure;
    }
    failure.status = run_node(device, node);
    if (failure.status != CBK_OK) {
        failure.node = index;
        failure.how = "is refused";
        return failure;
    }
    const bool is_view = (node->op.info->flags & CBK_ROW_VIEW) != 0;
    for (uint32_t i = 0; i < node->op.info->output_count && failure.node == -1 && !is_view; i++) {
        failure = compare_output(reference, device, index, (int)i, scale);
    }
    return failure;
}

struct test_any_failure test_any_compare(const struct test_any_program *program,
                                         const struct test_side *reference,
                                         const struct test_side *device) {
    struct run *runs = calloc(2, sizeof *runs);
    struct test_any_failure failure = {.node = -1};
    assert_non_null(runs);
    runs[0] = (struct run){.program = program, .side = reference};
    runs[1] = (struct run){.program = program, .side = device};
    for (int i = 0; i < program->node_count && failure.node == -1; i++) {
        failure = compare_node(&runs[0], &runs[1], i);
    }
    for (int s = 0; s < 2; s++) {
        (void)cbk_sync(runs[s].side->stream);
        release_all(runs[s].tensors, program->value_count);
    }
    free(runs);
    return failure;
}

// ---- comparing ways of running -----------------------------------------------------------------

static cbk_status run_all(cbk_stream *stream, void *user_data) {
    struct run *run = user_data;
    cbk_status status = CBK_OK;
    (void)stream;
    release_made(run);
    for (int i = 0; i < run->program->node_count && status == CBK_OK; i++) {
        status = run_node(run, &run->program->nodes[i]);
    }
    return status;
}

/// Waiting after each node leaves nothing to be fused or merged.
static void run_apart(struct run *run) {
    uint64_t size = 0;
    refresh_leaves(run);
    set_random(run->side, 0);
    for (int i = 0; i < run->program->node_count; i++) {
        const struct test_any_node *node = &run->program->nodes[i];
        assert_ok(run_node(run, node));
        free(read_value(run, node->outputs[0], &size));
    }
}

static struct test_any_failure compare_runs(const struct run *want_run, const struct run *got_run,
                                            const char *how) {
    struct test_any_failure failure = {.node = -1, .how = how};
    const struct test_any_program *program = want_run->program;
    for (int i = 0; i < program->node_count && failure.node < 0; i++) {
        for (uint32_t k = 0; k < program->nodes[i].op.info->output_count; k++) {
            const int value = program->nodes[i].outputs[k];
            uint64_t want_size = 0, got_size = 0;
            void *want = read_value(want_run, value, &want_size);
            void *got = read_value(got_run, value, &got_size);
            if (want_size != got_size || memcmp(want, got, (size_t)want_size)) failure.node = i;
            failure.output = (int)k;
            free(want);
            free(got);
        }
    }
    return failure;
}

static struct test_any_failure compare_ways(struct run *runs, const struct test_side *side) {
    struct test_any_failure failure = {.node = -1};
    cbk_graph *graph = NULL;
    run_apart(&runs[0]);
    refresh_leaves(&runs[1]);
    set_random(side, 0);
    assert_ok(run_all(side->stream, &runs[1]));
    failure = compare_runs(&runs[0], &runs[1], "has other bytes when nothing is read in between");
    if (failure.node >= 0) return failure;
    refresh_leaves(&runs[1]);
    set_random(side, 0);
    failure.status = cbk_graph_capture(side->stream, run_all, &runs[1], &graph);
    if (failure.status != CBK_OK) {
        failure.node = 0;
        failure.how = "cannot be captured";
        return failure;
    }
    for (int replay = 0; replay < 2 && failure.node < 0; replay++) {
        refresh_leaves(&runs[1]);
        set_random(side, 0);
        assert_ok(cbk_graph_replay(graph));
        failure = compare_runs(&runs[0], &runs[1], "has other bytes in a replay");
    }
    cbk_graph_release(&graph);
    return failure;
}

struct test_any_failure test_any_compare_ways(const struct test_any_program *program,
                                              const struct test_side *device) {
    struct run *runs = calloc(2, sizeof *runs);
    assert_non_null(runs);
    runs[0] = runs[1] = (struct run){.program = program, .side = device};
    const struct test_any_failure failure = compare_ways(runs, device);
    (void)cbk_sync(device->stream);
    for (int s = 0; s < 2; s++) release_all(runs[s].tensors, program->value_count);
    free(runs);
    return failure;
}

// ---- as a program of cubeback/ir.h -------------------------------------------------------------

cbk_ir_program *test_any_record(const struct test_any_program *program) {
    cbk_backend *inner = NULL, *recorder = NULL;
    struct test_side side;
    cbk_ir_program *recorded = NULL;
    assert_ok(cbk_reference_create(NULL, &inner));
    assert_ok(cbk_ir_recorder_create(inner, &recorder));
    cbk_backend_release(&inner);
    assert_true(test_side_open(&side, "recorder", recorder, false));
    struct run *run = calloc(1, sizeof *run);
    assert_non_null(run);
    *run = (struct run){.program = program, .side = &side};
    set_random(&side, 0);
    assert_ok(cbk_ir_begin(side.stream, NULL));
    assert_ok(run_all(side.stream, run));
    assert_ok(cbk_ir_end(side.stream, NULL, 0, &recorded));
    (void)cbk_sync(side.stream);
    release_all(run->tensors, program->value_count);
    free(run);
    test_side_close(&side);
    return recorded;
}
