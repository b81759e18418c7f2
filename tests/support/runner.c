// runner.c: builds a row's inputs on both sides, runs it, and compares.

#include "runner.h"
#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cubeback/backend.h>

const cbk_dtype test_floats[] = {CBK_DTYPE_F64,  CBK_DTYPE_F32,    CBK_DTYPE_F16,
                                 CBK_DTYPE_BF16, CBK_DTYPE_FLEX32, 0};
const cbk_dtype test_ints[] = {CBK_DTYPE_I64, CBK_DTYPE_I32, CBK_DTYPE_I16,
                               CBK_DTYPE_I8,  CBK_DTYPE_U64, CBK_DTYPE_U32,
                               CBK_DTYPE_U16, CBK_DTYPE_U8,  0};
const cbk_dtype test_numbers[] = {CBK_DTYPE_F64,    CBK_DTYPE_F32,
                                  CBK_DTYPE_F16,    CBK_DTYPE_BF16,
                                  CBK_DTYPE_FLEX32, CBK_DTYPE_I64,
                                  CBK_DTYPE_I32,    CBK_DTYPE_I16,
                                  CBK_DTYPE_I8,     CBK_DTYPE_U64,
                                  CBK_DTYPE_U32,    CBK_DTYPE_U16,
                                  CBK_DTYPE_U8,     0};
const cbk_dtype test_ints_and_bools[] = {CBK_DTYPE_I64,
                                         CBK_DTYPE_I32,
                                         CBK_DTYPE_I16,
                                         CBK_DTYPE_I8,
                                         CBK_DTYPE_U64,
                                         CBK_DTYPE_U32,
                                         CBK_DTYPE_U16,
                                         CBK_DTYPE_U8,
                                         CBK_DTYPE_BOOL,
                                         CBK_DTYPE_BOOL32,
                                         0};
const cbk_dtype test_all_dtypes[] = {CBK_DTYPE_F64,    CBK_DTYPE_F32,    CBK_DTYPE_F16,
                                     CBK_DTYPE_BF16,   CBK_DTYPE_FLEX32, CBK_DTYPE_F8E4M3,
                                     CBK_DTYPE_F8E5M2, CBK_DTYPE_I64,    CBK_DTYPE_I32,
                                     CBK_DTYPE_I16,    CBK_DTYPE_I8,     CBK_DTYPE_U64,
                                     CBK_DTYPE_U32,    CBK_DTYPE_U16,    CBK_DTYPE_U8,
                                     CBK_DTYPE_BOOL,   CBK_DTYPE_BOOL32, 0};

// ---- choosing rows -----------------------------------------------------------------------------

bool test_is_full(void) {
    const char *full = getenv("CUBEBACK_TEST_FULL");
    return full && *full && strcmp(full, "0") != 0;
}

bool test_sampled(uint64_t one_in, uint64_t a, uint64_t b, uint64_t c) {
    if (one_in <= 1 || test_is_full()) return true;
    uint64_t seed = a * 0x9E3779B97F4A7C15 ^ b * 0xC2B2AE3D27D4EB4F ^ c;
    return test_random(&seed) % one_in == 0;
}

uint32_t test_pick_dtypes(const cbk_dtype *dtypes, uint32_t row, uint32_t others, cbk_dtype *out) {
    uint32_t total = 0, count = 0;
    while (dtypes[total]) total++;
    if (test_is_full() || others >= total) {
        memcpy(out, dtypes, total * sizeof *out);
        return total;
    }
    bool has_f32 = false;
    for (uint32_t i = 0; i < total; i++) has_f32 |= dtypes[i] == CBK_DTYPE_F32;
    if (has_f32) out[count++] = CBK_DTYPE_F32;
    uint32_t wanted = count + others;
    for (uint32_t i = 0; count < wanted && i < total; i++) {
        cbk_dtype dtype = dtypes[(row * others + i) % total];
        if (dtype != CBK_DTYPE_F32) out[count++] = dtype;
    }
    return count;
}

struct test_operand test_input(cbk_dtype dtype, enum test_view view, enum test_data data,
                               uint32_t rank, ...) {
    struct test_operand operand = {.dtype = dtype, .rank = rank, .view = view, .data = data};
    va_list lengths;
    va_start(lengths, rank);
    for (uint32_t i = 0; i < rank; i++) operand.shape[i] = va_arg(lengths, int);
    va_end(lengths);
    return operand;
}

static void append(char *text, size_t size, const char *format, ...) CBK_PRINTF(3, 4);
static void append(char *text, size_t size, const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static void append_shape(char *text, size_t size, uint32_t rank, const int64_t *shape) {
    append(text, size, "[");
    for (uint32_t i = 0; i < rank; i++) append(text, size, i ? ",%" PRId64 : "%" PRId64, shape[i]);
    append(text, size, "]");
}

static bool has_any_part(const char *text, const char *parts) {
    while (*parts) {
        size_t length = strcspn(parts, "|");
        char part[128];
        snprintf(part, sizeof part, "%.*s", (int)length, parts);
        if (length && strstr(text, part)) return true;
        parts += length + (parts[length] == '|');
    }
    return false;
}

bool test_is_wanted(const char *name) {
    const char *wanted = getenv("CUBEBACK_TEST_CASE"), *one_in = getenv("CUBEBACK_TEST_ONE_IN");
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, test_hash(name));
    if (wanted && *wanted && !has_any_part(name, wanted) && strcmp(seed, wanted) != 0) return false;
    const uint64_t share = one_in ? strtoull(one_in, NULL, 10) : 0;
    return share < 2 || test_hash(name) / 8 % share == 0;
}

void test_add(struct test_list *list, const struct test_spec *spec, const char *suffix) {
    const cbk_op_info *info = cbk_op_info_of(spec->opcode);
    struct test_spec row = *spec;
    row.name[0] = 0;
    append(row.name, sizeof row.name, "%s", info ? info->name : "?");
    for (uint32_t i = 0; i < row.input_count; i++) {
        const struct test_operand *x = &row.inputs[i];
        append(row.name, sizeof row.name, " %s", cbk_dtype_name(x->dtype));
        append_shape(row.name, sizeof row.name, x->rank, x->shape);
        if (x->view) append(row.name, sizeof row.name, "%s", test_view_names[x->view]);
    }
    if (row.output == TEST_INTO)
        append(row.name, sizeof row.name, " into %s", test_view_names[row.output_view]);
    if (row.output == TEST_IN_PLACE) append(row.name, sizeof row.name, " in place");
    if (suffix && *suffix) append(row.name, sizeof row.name, " %s", suffix);

    if (!test_is_wanted(row.name)) return;
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->specs = realloc(list->specs, list->capacity * sizeof *list->specs);
        if (!list->specs) abort();
    }
    list->specs[list->count++] = row;
}

// ---- one row -----------------------------------------------------------------------------------

/// What one side of a row holds.
struct run {
    struct test_side *side;
    cbk_tensor *inputs[TEST_MAX_INPUTS];
    /// Of TEST_INTO: the whole storages, to see writes beside the views.
    cbk_tensor *output_bases[TEST_MAX_OUTPUTS];
    cbk_tensor *outputs[TEST_MAX_OUTPUTS];
    double *magnitude; ///< of the reference's side: see struct test_spec
    int64_t magnitude_count;
};

static uint32_t output_count(const struct test_spec *spec) {
    return spec->output_count ? spec->output_count : 1;
}

static void release_run(struct run *run) {
    for (uint32_t i = 0; i < TEST_MAX_INPUTS; i++) cbk_tensor_release(&run->inputs[i]);
    for (uint32_t i = 0; i < TEST_MAX_OUTPUTS; i++) {
        cbk_tensor_release(&run->output_bases[i]);
        cbk_tensor_release(&run->outputs[i]);
    }
    free(run->magnitude);
}

static cbk_tensor *make_view(struct test_side *side, cbk_dtype dtype, enum test_view view,
                             uint32_t rank, const int64_t *shape, const void *data,
                             cbk_tensor **out_base) {
    struct test_base base = test_view_base(view, rank, shape);
    cbk_tensor *whole = NULL;
    assert_ok(cbk_tensor_from_data(side->stream, dtype, base.rank, base.shape, data,
                                   (uint64_t)base.count * cbk_dtype_size(dtype), &whole));
    cbk_tensor *result = test_view_make(side, view, whole, rank, shape);
    if (out_base)
        *out_base = whole;
    else
        cbk_tensor_release(&whole);
    return result;
}

static void make_inputs(const struct test_spec *spec, struct run *runs) {
    uint64_t seed = test_hash(spec->name);
    for (uint32_t i = 0; i < spec->input_count; i++) {
        const struct test_operand *x = &spec->inputs[i];
        struct test_base base = test_view_base(x->view, x->rank, x->shape);
        void *data = malloc((size_t)base.count * cbk_dtype_size(x->dtype) + 1);
        assert_non_null(data);
        test_fill(data, x->dtype, base.count, x->data, x->bound, &seed);
        for (int s = 0; s < 2; s++)
            runs[s].inputs[i] =
                make_view(runs[s].side, x->dtype, x->view, x->rank, x->shape, data, NULL);
        free(data);
    }
}

static cbk_status execute(const struct test_spec *spec, struct run *run) {
    cbk_op op = CBK_INIT(
        cbk_op, .opcode = spec->opcode, .input_count = spec->input_count,
        .output_count = output_count(spec), .inputs = run->inputs, .outputs = run->outputs,
        .params = spec->params_size ? &spec->params : NULL, .params_size = spec->params_size);
    return cbk_execute(run->side->stream, &op);
}

/// Memory that a result like this may well get, full of a pattern that shows what was left out.
static void leave_poison(struct test_side *side, const cbk_tensor *result) {
    int64_t length = cbk_tensor_element_count(result) * cbk_dtype_size(cbk_tensor_dtype(result));
    uint64_t size_bytes = (uint64_t)length;
    cbk_tensor *poison = NULL;
    void *data = malloc((size_t)size_bytes + 1);
    assert_non_null(data);
    memset(data, 0xA5, (size_t)size_bytes);
    assert_ok(
        cbk_tensor_from_data(side->stream, CBK_DTYPE_U8, 1, &length, data, size_bytes, &poison));
    cbk_tensor_release(&poison);
    free(data);
}

/// Replaces result k that the reference made by a prepared view on both sides.
static void prepare_output(const struct test_spec *spec, struct run *runs, uint32_t k) {
    cbk_tensor *made = runs[0].outputs[k];
    cbk_dtype dtype = k == 0 && spec->output_dtype ? spec->output_dtype : cbk_tensor_dtype(made);
    uint32_t rank = cbk_tensor_rank(made);
    int64_t shape[TEST_MAX_RANK];
    memcpy(shape, cbk_tensor_shape(made), rank * sizeof *shape);
    struct test_base base = test_view_base(spec->output_view, rank, shape);
    size_t size = (size_t)base.count * cbk_dtype_size(dtype);
    void *data = malloc(size + 1);
    assert_non_null(data);
    memset(data, dtype == CBK_DTYPE_BOOL || dtype == CBK_DTYPE_BOOL32 ? 0 : 0x2b, size);
    cbk_tensor_release(&runs[0].outputs[k]);
    for (int s = 0; s < 2; s++)
        runs[s].outputs[k] = make_view(runs[s].side, dtype, spec->output_view, rank, shape, data,
                                       &runs[s].output_bases[k]);
    free(data);
}

static void *read_tensor(struct test_side *side, const cbk_tensor *tensor) {
    uint64_t size =
        (uint64_t)cbk_tensor_element_count(tensor) * cbk_dtype_size(cbk_tensor_dtype(tensor));
    void *data = malloc((size_t)size + 1);
    assert_non_null(data);
    assert_ok(cbk_tensor_read(side->stream, tensor, data, size));
    return data;
}

/// Before the operation runs, for it may overwrite an input.
static void find_magnitude(const struct test_spec *spec, struct run *run) {
    cbk_tensor *sizes = spec->magnitude(run->side->stream, spec, run->inputs);
    assert_non_null(sizes);
    assert_status(spec->sync_status, cbk_sync(run->side->stream));
    run->magnitude_count = cbk_tensor_element_count(sizes);
    run->magnitude = read_tensor(run->side, sizes);
    cbk_tensor_release(&sizes);
}

// ---- messages ----------------------------------------------------------------------------------

static void print_tensor(const char *what, const cbk_tensor *tensor) {
    char text[512] = "";
    append(text, sizeof text, "  %s %s ", what, cbk_dtype_name(cbk_tensor_dtype(tensor)));
    append_shape(text, sizeof text, cbk_tensor_rank(tensor), cbk_tensor_shape(tensor));
    append(text, sizeof text, " strides ");
    append_shape(text, sizeof text, cbk_tensor_rank(tensor), cbk_tensor_strides(tensor));
    print_error("%s offset %" PRId64 "\n", text, cbk_tensor_offset(tensor));
}

static void print_difference(const struct test_spec *spec, const struct run *run,
                             const cbk_tensor *compared, uint32_t k, int64_t at, const void *want,
                             const void *got) {
    cbk_dtype dtype = cbk_tensor_dtype(compared);
    uint32_t size = cbk_dtype_size(dtype);
    char text[256] = "";
    int64_t coordinates[TEST_MAX_RANK], rest = at;
    for (uint32_t axis = cbk_tensor_rank(compared); axis-- > 0;) {
        coordinates[axis] = rest % cbk_tensor_shape(compared)[axis];
        rest /= cbk_tensor_shape(compared)[axis];
    }
    append_shape(text, sizeof text, cbk_tensor_rank(compared), coordinates);
    print_error("%s, output %" PRIu32 "\n", spec->name, k);
    for (uint32_t i = 0; i < spec->input_count; i++) print_tensor("input ", run->inputs[i]);
    print_tensor(compared == run->outputs[k] ? "output" : "storage", compared);
    print_error("  at %s: want %.17g, got %.17g, %" PRId64 " ulps apart; bits", text,
                test_to_double(want, dtype, at), test_to_double(got, dtype, at),
                test_ulps_between(want, got, dtype, at));
    for (int which = 0; which < 2; which++) {
        const unsigned char *bytes =
            (const unsigned char *)(which ? got : want) + at * (int64_t)size;
        print_error(" ");
        for (uint32_t i = size; i-- > 0;) print_error("%02x", bytes[i]);
    }
    print_error("; seed %" PRIu64 "\n", test_hash(spec->name));
    for (uint32_t i = 0; i < spec->input_count; i++) {
        const cbk_tensor *input = run->inputs[i];
        if (cbk_tensor_element_count(input) != cbk_tensor_element_count(compared)) continue;
        void *data = read_tensor(run->side, input);
        print_error("  input %" PRIu32 " there: %.17g\n", i,
                    test_to_double(data, cbk_tensor_dtype(input), at));
        free(data);
    }
}

static void compare(const struct test_spec *spec, struct run *runs, uint32_t k) {
    // The whole storage shows writes beside the view; magnitudes are known for the view alone.
    const double *magnitude = k == 0 ? runs[0].magnitude : NULL;
    bool is_whole = runs[0].output_bases[k] && !magnitude;
    const cbk_tensor *want_tensor = is_whole ? runs[0].output_bases[k] : runs[0].outputs[k];
    const cbk_tensor *got_tensor = is_whole ? runs[1].output_bases[k] : runs[1].outputs[k];
    const struct test_tolerance *tolerance = k ? &spec->more_tolerances[k - 1] : &spec->tolerance;
    assert_int_equal(cbk_tensor_dtype(want_tensor), cbk_tensor_dtype(got_tensor));
    assert_int_equal(cbk_tensor_rank(want_tensor), cbk_tensor_rank(got_tensor));
    for (uint32_t i = 0; i < cbk_tensor_rank(want_tensor); i++)
        assert_int_equal(cbk_tensor_shape(want_tensor)[i], cbk_tensor_shape(got_tensor)[i]);

    if (magnitude) assert_int_equal(runs[0].magnitude_count, cbk_tensor_element_count(want_tensor));
    void *want = read_tensor(runs[0].side, want_tensor);
    void *got = read_tensor(runs[1].side, got_tensor);
    int64_t at = test_first_difference(want, got, cbk_tensor_dtype(want_tensor),
                                       cbk_tensor_element_count(want_tensor), tolerance, magnitude);
    if (at >= 0) print_difference(spec, &runs[1], got_tensor, k, at, want, got);
    free(want);
    free(got);
    if (at >= 0) fail();
}

static bool device_has_dtypes(const struct test_spec *spec) {
    cbk_device *device = test_pair.device.device;
    for (uint32_t i = 0; i < spec->input_count; i++)
        if (cbk_supports_dtype(device, spec->inputs[i].dtype) == CBK_ERROR_UNSUPPORTED)
            return false;
    cbk_dtype made = 0;
    if (spec->opcode == CBK_OP_CAST) made = spec->params.cast.dtype;
    if (spec->opcode >> 8 == CBK_FAMILY_CREATE) made = spec->params.create.dtype;
    if (spec->opcode >> 8 == CBK_FAMILY_RANDOM) made = spec->params.random.dtype;
    if (spec->opcode >> 8 == CBK_FAMILY_REDUCE) made = spec->params.reduce.out_dtype;
    if (spec->opcode >> 8 == CBK_FAMILY_SCAN) made = spec->params.scan.out_dtype;
    return !made || cbk_supports_dtype(device, made) != CBK_ERROR_UNSUPPORTED;
}

static int run_row(void **state, struct run *runs) {
    const struct test_spec *spec = *state;
    if (!device_has_dtypes(spec)) return 1;
    make_inputs(spec, runs);
    if (spec->magnitude) find_magnitude(spec, &runs[0]);
    for (int s = 0; s < 2; s++) {
        assert_ok(cbk_seed(runs[s].side->device, test_hash(spec->name)));
        if (spec->output == TEST_IN_PLACE)
            runs[s].outputs[0] = cbk_tensor_retain(runs[s].inputs[0]);
    }
    assert_ok(execute(spec, &runs[0]));
    if (spec->output == TEST_INTO) {
        assert_status(spec->sync_status, cbk_sync(runs[0].side->stream));
        assert_ok(cbk_seed(runs[0].side->device, test_hash(spec->name)));
        for (uint32_t k = 0; k < output_count(spec); k++) prepare_output(spec, runs, k);
        assert_ok(execute(spec, &runs[0]));
    } else if (spec->output == TEST_NEW) {
        leave_poison(runs[1].side, runs[0].outputs[0]);
    }
    assert_ok(execute(spec, &runs[1]));
    for (int s = 0; s < 2; s++) assert_status(spec->sync_status, cbk_sync(runs[s].side->stream));
    for (uint32_t k = 0; k < output_count(spec); k++) compare(spec, runs, k);
    return 0;
}

/// The row that runs; its tensors are released by the test's teardown, also after a failure.
static struct run runs_of_row[2];

static void test_row(void **state) {
    if (run_row(state, runs_of_row)) skip();
}

static int begin_row(void **state) {
    (void)state;
    memset(runs_of_row, 0, sizeof runs_of_row);
    runs_of_row[0].side = &test_pair.reference;
    runs_of_row[1].side = &test_pair.device;
    return 0;
}

static int end_row(void **state) {
    (void)state;
    for (int s = 0; s < 2; s++) {
        release_run(&runs_of_row[s]);
        cbk_sync(runs_of_row[s].side->stream);
    }
    return 0;
}

int test_run_list(const char *group, struct test_list *list) {
    struct CMUnitTest *tests = calloc(list->count + 1, sizeof *tests);
    if (!tests) return 1;
    for (size_t i = 0; i < list->count; i++)
        tests[i] = (struct CMUnitTest){
            .name = list->specs[i].name,
            .test_func = test_row,
            .setup_func = begin_row,
            .teardown_func = end_row,
            .initial_state = &list->specs[i],
        };
    int failed =
        _cmocka_run_group_tests(group, tests, list->count, test_pair_open, test_pair_close);
    free(tests);
    free(list->specs);
    *list = (struct test_list){0};
    return failed;
}
