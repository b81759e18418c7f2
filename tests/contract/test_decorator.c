// test_decorator.c: a tracing decorator, written as a user would write it: the vtable of a backend
// with one slot replaced and the flag that shows views. It must see every operation in order, and
// the results must be those of the backend alone.
#include "support.h"

#include <cubeback/backend.h>

#include <stdio.h>
#include <string.h>

// ---- the decorator ------------------------------------------------------------------------------

#define MAX_LINES 64

static struct {
    cbk_backend *inner;
    const cbk_vtable *inner_vtable;
    uint32_t line_count;
    char lines[MAX_LINES][128];
} trace;

static void describe(const cbk_tensor *tensor, char *text, size_t size) {
    const cbk_tensor_meta *meta = cbk_tensor_metadata(tensor);
    int used = snprintf(text, size, "%s[", cbk_dtype_name(meta->dtype));
    for (uint32_t i = 0; i < meta->rank; i++) {
        used += snprintf(text + used, size - (size_t)used, i == 0 ? "%lld" : ",%lld",
                         (long long)meta->shape[i]);
    }
    snprintf(text + used, size - (size_t)used, "]");
}

/// Writes "add f32[2,3] f32[3] -> f32[2,3]" and passes the operation on. Views end here: they are
/// made already.
static cbk_status trace_execute(void *self, void *stream, const cbk_op *op) {
    const cbk_op_info *info = cbk_op_info_of(op->opcode);
    char *line = trace.lines[trace.line_count++ % MAX_LINES], operand[64];
    size_t size = sizeof trace.lines[0];
    int used = snprintf(line, size, "%s", info->name);
    for (uint32_t i = 0; i < op->input_count; i++) {
        describe(op->inputs[i], operand, sizeof operand);
        used += snprintf(line + used, size - (size_t)used, " %s", operand);
    }
    describe(op->outputs[0], operand, sizeof operand);
    snprintf(line + used, size - (size_t)used, " -> %s", operand);
    if ((info->flags & CBK_ROW_VIEW) == 0) return trace.inner_vtable->execute(self, stream, op);
    assert_ptr_equal(cbk_tensor_storage(op->outputs[0]), cbk_tensor_storage(op->inputs[0]));
    return CBK_OK;
}

static const char *trace_name(void *self) {
    (void)self;
    return "trace";
}

/// The decorated backend keeps the inner one: all other slots are its own, with its `self`.
static void trace_destroy(void *self) {
    (void)self;
    cbk_backend_release(&trace.inner);
}

static cbk_status trace_create(cbk_backend *inner, cbk_backend **out) {
    void *self;
    const cbk_vtable *vtable = cbk_backend_vtable(inner, &self);
    cbk_vtable traced = *vtable;
    traced.flags |= CBK_BACKEND_SEES_VIEWS;
    traced.name = trace_name;
    traced.destroy = trace_destroy;
    traced.execute = trace_execute;
    trace.inner = cbk_backend_retain(inner);
    trace.inner_vtable = vtable;
    trace.line_count = 0;
    cbk_status status = cbk_backend_create(&traced, self, out);
    if (status != CBK_OK) cbk_backend_release(&trace.inner);
    return status;
}

// ---- the program under trace --------------------------------------------------------------------

struct place {
    cbk_device *device;
    cbk_stream *stream;
};

static struct place open_place(cbk_backend *backend) {
    struct place place = {NULL, NULL};
    assert_ok(cbk_device_open(backend, NULL, &place.device));
    assert_ok(cbk_stream_create(place.device, NULL, &place.stream));
    return place;
}

static void close_place(struct place *place) {
    cbk_stream_release(&place->stream);
    cbk_device_release(&place->device);
}

/// Views of many kinds, a reshape that has to copy, a donation and an update.
static void run_program(cbk_stream *stream, float result[4], cbk_tensor **kept) {
    const float data[6] = {1, 2, 3, 4, 5, 6};
    const int64_t two_three[2] = {2, 3}, six[1] = {6};
    cbk_tensor *x = NULL, *t = NULL, *flat = NULL, *head = NULL, *sum = NULL, *wide = NULL;
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, two_three, data, sizeof data, &x));
    assert_ok(cbk_transpose(stream, x, 0, 1, &t));
    assert_ok(cbk_reshape(stream, t, 1, six, &flat));    // 1 4 2 5 3 6
    assert_ok(cbk_narrow(stream, flat, 0, 1, 4, &head)); // 4 2 5 3
    assert_ok(cbk_mul_scalar(stream, head, cbk_f(10), &sum));
    cbk_tensor *inputs[2] = {sum, head}, *donated = NULL;
    const cbk_op op = CBK_INIT(cbk_op, .opcode = CBK_OP_ADD, .input_count = 2, .output_count = 1,
                               .inputs = inputs, .outputs = &donated, .donate = 1);
    assert_ok(cbk_execute(stream, &op));
    assert_ok(cbk_neg_into(stream, donated, donated));
    assert_ok(cbk_unsqueeze(stream, donated, 1, (int32_t[]){0}, &wide));
    assert_ok(cbk_tensor_read(stream, wide, result, 4 * sizeof *result));
    *kept = head;
    cbk_tensor_release(&x);
    cbk_tensor_release(&t);
    cbk_tensor_release(&flat);
    cbk_tensor_release(&donated);
    cbk_tensor_release(&wide);
}

static const char *const expected[] = {
    "transpose f32[2,3] -> f32[3,2]", "copy f32[3,2] -> f32[3,2]",    "reshape f32[3,2] -> f32[6]",
    "slice f32[6] -> f32[4]",         "mul_scalar f32[4] -> f32[4]",  "add f32[4] f32[4] -> f32[4]",
    "neg f32[4] -> f32[4]",           "unsqueeze f32[4] -> f32[1,4]",
};

static void traces_in_order(void **state) {
    cbk_backend *(**create)(void) = *state;
    cbk_backend *inner = (*create)(), *traced = NULL;
    if (inner == NULL) skip();
    assert_ok(trace_create(inner, &traced));
    assert_string_equal(cbk_backend_name(traced), "trace");
    float alone[4], through[4];
    cbk_tensor *kept = NULL;

    struct place place = open_place(inner);
    run_program(place.stream, alone, &kept);
    cbk_tensor_release(&kept);
    close_place(&place);
    assert_int_equal(trace.line_count, 0);
    assert_memory_equal(alone, ((float[]){-44, -22, -55, -33}), sizeof alone);

    cbk_backend_release(&inner); // the decorator keeps it
    place = open_place(traced);
    run_program(place.stream, through, &kept);
    assert_memory_equal(through, alone, sizeof alone);
    assert_int_equal(trace.line_count, sizeof expected / sizeof *expected);
    for (uint32_t i = 0; i < trace.line_count; i++) {
        assert_string_equal(trace.lines[i], expected[i]);
    }
    // What fails validation never gets there.
    cbk_tensor *out = NULL;
    assert_status(CBK_ERROR_AXIS, cbk_softmax(place.stream, kept, 7, &out));
    assert_int_equal(trace.line_count, sizeof expected / sizeof *expected);
    close_place(&place);
    cbk_backend_release(&traced);
    assert_non_null(trace.inner); // held by the tensor that is left
    cbk_tensor_release(&kept);
    assert_null(trace.inner);
}

static cbk_backend *create_reference(void) {
    cbk_backend *backend = NULL;
    assert_ok(cbk_reference_create(NULL, &backend));
    return backend;
}

static cbk_backend *create_opencl(void) {
    cbk_backend *backend = NULL;
    const cbk_backend_params params = CBK_INIT(cbk_backend_params, .cache_directory = "");
    uint32_t count = 0;
    if (cbk_opencl_create(&params, &backend) != CBK_OK) return NULL;
    assert_ok(cbk_device_count(backend, CBK_DEVICE_DEFAULT, &count));
    if (count == 0) cbk_backend_release(&backend);
    return backend;
}

int main(void) {
    static cbk_backend *(*creators[])(void) = {create_reference, create_opencl};
    const struct CMUnitTest tests[] = {
        {"trace over reference", traces_in_order, NULL, NULL, &creators[0]},
        {"trace over opencl", traces_in_order, NULL, NULL, &creators[1]},
    };
    return cmocka_run_group_tests_name("decorator", tests, NULL, NULL);
}
