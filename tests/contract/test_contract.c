// test_contract.c: what every backend promises, run against each that is built in. For a backend of
// your own, add its creator to `subjects`.

#include "random_data.h"
#include "support.h"

#include <cubeback/ir.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct subject {
    const char *title;
    const char *name;
    cbk_status (*create)(const cbk_backend_params *, cbk_backend **);
    bool records; ///< the stream records all the while
};

static cbk_status record_over(cbk_status (*create)(const cbk_backend_params *, cbk_backend **),
                              const cbk_backend_params *params, cbk_backend **out) {
    cbk_backend *inner = NULL;
    cbk_status status = create(params, &inner);
    if (status == CBK_OK) status = cbk_ir_recorder_create(inner, out);
    cbk_backend_release(&inner);
    return status;
}

static cbk_status record_reference(const cbk_backend_params *params, cbk_backend **out) {
    return record_over(cbk_reference_create, params, out);
}

static cbk_status record_opencl(const cbk_backend_params *params, cbk_backend **out) {
    return record_over(cbk_opencl_create, params, out);
}

static const struct subject subjects[] = {
    {"reference", "reference", cbk_reference_create, false},
    {"opencl", "opencl", cbk_opencl_create, false},
    {"recorder over reference", "recorder", record_reference, false},
    {"recorder over reference, recording", "recorder", record_reference, true},
    {"recorder over opencl, recording", "recorder", record_opencl, true},
};
#define SUBJECT_COUNT (sizeof subjects / sizeof *subjects)

static const struct subject *subject;
static struct test_side side; ///< the subject's
static cbk_stream *stream;

static cbk_backend *create_backend(void) {
    cbk_backend_params params = test_backend_params();
    cbk_backend *backend = NULL;
    assert_ok(subject->create(&params, &backend));
    return backend;
}

static int open_side(void **state) {
    (void)state;
    if (!test_side_open(&side, subject->name, create_backend(), !strcmp(subject->name, "opencl")))
        return -1;
    stream = side.stream;
    return !subject->records || cbk_ir_begin(stream, NULL) == CBK_OK ? 0 : -1;
}

static int close_side(void **state) {
    (void)state;
    if (subject->records && cbk_ir_abort(stream) != CBK_OK) return -1;
    return test_side_finish(&side);
}

static cbk_tensor *floats(uint32_t rank, const int64_t *shape, const float *data, size_t count) {
    cbk_tensor *x = NULL;
    assert_ok(
        cbk_tensor_from_data(stream, CBK_DTYPE_F32, rank, shape, data, count * sizeof *data, &x));
    return x;
}

static void expect_floats(cbk_tensor *tensor, const float *want, size_t count) {
    float *got = malloc(count * sizeof *got + 1);
    assert_non_null(got);
    assert_ok(cbk_tensor_read(stream, tensor, got, count * sizeof *got));
    for (size_t i = 0; i < count; i++)
        if (!(got[i] == want[i])) {
            print_error("element %zu: want %g, got %g\n", i, want[i], got[i]);
            fail();
        }
    free(got);
}

static const int64_t shape_2x3[] = {2, 3};
static const float one_to_six[] = {1, 2, 3, 4, 5, 6};

// ---- lifecycle ---------------------------------------------------------------------------------

static void test_any_order_of_release(void **state) {
    (void)state;
    cbk_backend *backend = create_backend();
    cbk_device *device = NULL;
    cbk_stream *own = NULL;
    cbk_tensor *x = NULL, *sum = NULL;
    cbk_event *event = NULL;
    float data[6];
    assert_ok(cbk_device_open(backend, NULL, &device));
    assert_ok(cbk_stream_create(device, NULL, &own));
    assert_ok(
        cbk_tensor_from_data(own, CBK_DTYPE_F32, 2, shape_2x3, one_to_six, sizeof one_to_six, &x));
    assert_ok(cbk_add(own, x, x, &sum));
    assert_ok(cbk_event_record(own, &event));
    cbk_backend_release(&backend);
    cbk_device_release(&device);
    assert_null(device);
    assert_ok(cbk_tensor_read(own, sum, data, sizeof data));
    assert_true(data[5] == 12);
    cbk_stream_release(&own);
    cbk_event_release(&event);
    cbk_tensor_release(&x);
    assert_ok(cbk_device_state(cbk_tensor_device(sum)));
    cbk_tensor_release(&sum);
    cbk_tensor_release(&sum); // NULL by now
}

static void test_references(void **state) {
    (void)state;
    cbk_tensor *x = floats(2, shape_2x3, one_to_six, 6), *same = cbk_tensor_retain(x);
    assert_ptr_equal(x, same);
    assert_int_equal(cbk_tensor_is_unique(x), 0);
    cbk_tensor_release(&same);
    assert_int_equal(cbk_tensor_is_unique(x), 1);
    cbk_tensor *view = NULL;
    assert_ok(cbk_transpose(stream, x, 0, 1, &view));
    assert_int_equal(cbk_tensor_is_unique(x), 0);
    cbk_tensor_release(&x);
    expect_floats(view, (float[]){1, 4, 2, 5, 3, 6}, 6);
    cbk_tensor_release(&view);
}

static void test_two_backends(void **state) {
    (void)state;
    cbk_backend *second = create_backend();
    cbk_device *device = NULL;
    uint32_t count = 0;
    assert_ok(cbk_device_count(second, CBK_DEVICE_DEFAULT, &count));
    assert_true(count >= 1);
    assert_ok(cbk_device_open(second, NULL, &device));
    assert_string_equal(cbk_backend_name(second), subject->name);
    cbk_backend_release(&second);
    cbk_device_release(&device);
}

static void test_device_list(void **state) {
    (void)state;
    uint32_t count = 0;
    cbk_device_info info = CBK_INIT(cbk_device_info), opened = CBK_INIT(cbk_device_info);
    cbk_device *device = NULL;
    assert_ok(cbk_device_count(side.backend, CBK_DEVICE_DEFAULT, &count));
    for (uint32_t i = 0; i < count; i++) {
        assert_ok(cbk_device_describe(side.backend, CBK_DEVICE_DEFAULT, i, &info));
        assert_true(info.name[0] != 0 && info.type >= CBK_DEVICE_GPU);
        assert_true(info.memory_bytes > 0);
    }
    assert_status(CBK_ERROR_NOT_FOUND,
                  cbk_device_describe(side.backend, CBK_DEVICE_DEFAULT, count, &info));
    assert_status(CBK_ERROR_NOT_FOUND,
                  cbk_device_open(side.backend,
                                  &CBK_INIT(cbk_device_params, .name = "no such device"), &device));
    assert_null(device);
    assert_ok(cbk_device_get_info(side.device, &opened));
    assert_true(opened.name[0] != 0);
    assert_ok(cbk_device_state(side.device));
    assert_non_null(cbk_device_build_log(side.device));
}

// ---- dtypes and transfers ----------------------------------------------------------------------

static const cbk_dtype dtypes[] = {
    CBK_DTYPE_F64,    CBK_DTYPE_F32,    CBK_DTYPE_F16, CBK_DTYPE_BF16, CBK_DTYPE_FLEX32,
    CBK_DTYPE_F8E4M3, CBK_DTYPE_F8E5M2, CBK_DTYPE_I64, CBK_DTYPE_I32,  CBK_DTYPE_I16,
    CBK_DTYPE_I8,     CBK_DTYPE_U64,    CBK_DTYPE_U32, CBK_DTYPE_U16,  CBK_DTYPE_U8,
    CBK_DTYPE_BOOL,   CBK_DTYPE_BOOL32};
#define DTYPE_COUNT (sizeof dtypes / sizeof *dtypes)

static void test_dtype_answers(void **state) {
    uint32_t usage = 99;
    (void)state;
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        assert_ok(cbk_dtype_usage(side.device, dtypes[i], NULL, &usage));
        cbk_status supported = cbk_supports_dtype(side.device, dtypes[i]);
        assert_true(supported == CBK_OK || supported == CBK_ERROR_UNSUPPORTED);
        if (supported == CBK_OK) assert_true(usage & CBK_USAGE_STORAGE);
        if (dtypes[i] != CBK_DTYPE_F64) assert_int_equal(supported, CBK_OK);
    }
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_supports_dtype(side.device, CBK_DTYPE_BOOL_NATIVE));
}

/// Where element i of a view lies among its base's elements.
static int64_t place(const cbk_tensor *view, int64_t i) {
    int64_t at = cbk_tensor_offset(view);
    for (uint32_t axis = cbk_tensor_rank(view); axis-- > 0;) {
        at += i % cbk_tensor_shape(view)[axis] * cbk_tensor_strides(view)[axis];
        i /= cbk_tensor_shape(view)[axis];
    }
    return at;
}

static void check_transfers(cbk_dtype dtype, enum test_view kind, uint64_t *seed) {
    static const int64_t shape[] = {5, 6, 7};
    struct test_base base = test_view_base(kind, 3, shape);
    size_t size = cbk_dtype_size(dtype), bytes = (size_t)base.count * size;
    unsigned char *data = malloc(bytes), *want = malloc(bytes), part[210 * 8], got[210 * 8];
    cbk_tensor *whole = NULL;
    assert_true(data && want);
    test_fill(data, dtype, base.count, TEST_EDGES, 0, seed);
    assert_ok(cbk_tensor_from_data(stream, dtype, base.rank, base.shape, data, bytes, &whole));
    cbk_tensor *view = test_view_make(&side, kind, whole, 3, shape);

    assert_ok(cbk_tensor_read(stream, view, got, 210 * size));
    for (int64_t i = 0; i < 210; i++)
        assert_memory_equal(got + (size_t)i * size, data + (size_t)place(view, i) * size, size);

    if (test_view_is_writable(kind)) {
        test_fill(part, dtype, 210, TEST_EDGES, 0, seed);
        assert_ok(cbk_tensor_write(stream, view, part, 210 * size));
        for (int64_t i = 0; i < 210; i++)
            memcpy(data + (size_t)place(view, i) * size, part + (size_t)i * size, size);
        assert_ok(cbk_tensor_read(stream, whole, want, bytes));
        assert_memory_equal(want, data, bytes);
    }
    cbk_tensor_release(&view);
    cbk_tensor_release(&whole);
    free(data);
    free(want);
}

static void test_transfers(void **state) {
    uint64_t seed = 1;
    (void)state;
    for (size_t d = 0; d < DTYPE_COUNT; d++) {
        if (cbk_supports_dtype(side.device, dtypes[d]) != CBK_OK) continue;
        for (int view = 0; view < TEST_VIEW_COUNT; view++)
            if (d % 3 == 0 || (view + d) % 4 == 0)
                check_transfers(dtypes[d], (enum test_view)view, &seed);
    }
}

static void test_bools_are_normalised(void **state) {
    const int64_t shape[] = {4};
    const uint8_t bytes[] = {0, 1, 2, 255};
    const uint32_t words[] = {0, 256, 1, UINT32_MAX};
    uint8_t got_bytes[4];
    uint32_t got_words[4];
    cbk_tensor *x = NULL;
    (void)state;
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_BOOL, 1, shape, bytes, sizeof bytes, &x));
    assert_ok(cbk_tensor_read(stream, x, got_bytes, sizeof got_bytes));
    assert_memory_equal(got_bytes, ((uint8_t[]){0, 1, 1, 1}), 4);
    cbk_tensor_release(&x);
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_BOOL32, 1, shape, words, sizeof words, &x));
    assert_ok(cbk_tensor_read(stream, x, got_words, sizeof got_words));
    assert_memory_equal(got_words, ((uint32_t[]){0, 1, 1, 1}), 16);
    cbk_tensor_release(&x);
}

static void test_large_transfer(void **state) {
    const int64_t count = 3000001; // over any staging buffer, and odd
    float *data = malloc((size_t)count * sizeof *data), *got = malloc((size_t)count * sizeof *got);
    cbk_tensor *x = NULL;
    (void)state;
    assert_true(data && got);
    for (int64_t i = 0; i < count; i++) data[i] = (float)i;
    assert_ok(
        cbk_tensor_from_data(stream, CBK_DTYPE_F32, 1, &count, data, (uint64_t)count * 4, &x));
    memset(data, 0, 4096); // the data was copied before the call returned
    assert_ok(cbk_tensor_read(stream, x, got, (uint64_t)count * 4));
    for (int64_t i = 0; i < count; i++) assert_true(got[i] == (float)i);
    cbk_tensor_release(&x);
    free(data);
    free(got);
}

static void test_read_many(void **state) {
    const int64_t shape[] = {3};
    const uint8_t small[] = {7, 8, 9};
    cbk_tensor *a = floats(2, shape_2x3, one_to_six, 6), *b = NULL, *c = NULL, *t = NULL;
    float got_a[6], got_t[6];
    uint8_t got_b[3];
    (void)state;
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_U8, 1, shape, small, 3, &b));
    assert_ok(cbk_tensor_empty(stream, CBK_DTYPE_F16, 1, (int64_t[]){0}, &c));
    assert_ok(cbk_transpose(stream, a, 0, 1, &t));
    const cbk_read_request requests[] = {
        {a, got_a, sizeof got_a}, {b, got_b, sizeof got_b}, {c, NULL, 0}, {t, got_t, sizeof got_t}};
    assert_ok(cbk_tensor_read_many(stream, requests, 4));
    assert_memory_equal(got_a, one_to_six, sizeof got_a);
    assert_memory_equal(got_b, small, 3);
    assert_memory_equal(got_t, ((float[]){1, 4, 2, 5, 3, 6}), sizeof got_t);
    assert_ok(cbk_tensor_read_many(stream, NULL, 0));
    cbk_tensor_release(&a);
    cbk_tensor_release(&b);
    cbk_tensor_release(&c);
    cbk_tensor_release(&t);
}

static void test_read_async(void **state) {
    cbk_tensor *x = floats(2, shape_2x3, one_to_six, 6), *t = NULL, *sum = NULL, *none = NULL;
    cbk_event *event = NULL, *empty = NULL;
    float got_t[6], got_sum[6];
    uint32_t done = 0;
    (void)state;
    assert_ok(cbk_transpose(stream, x, 0, 1, &t));
    assert_ok(cbk_add(stream, x, x, &sum));
    assert_ok(cbk_tensor_empty(stream, CBK_DTYPE_I8, 1, (int64_t[]){0}, &none));
    const cbk_read_request requests[] = {
        {t, got_t, sizeof got_t}, {sum, got_sum, sizeof got_sum}, {none, NULL, 0}};
    assert_ok(cbk_tensor_read_async(stream, requests, 3, &event));
    // What comes later does not change what is read.
    assert_ok(cbk_tensor_write(stream, sum, one_to_six, sizeof one_to_six));
    cbk_tensor_release(&t);
    cbk_tensor_release(&sum);
    while (!done) assert_ok(cbk_event_query(event, &done));
    assert_ok(cbk_event_wait(event));
    assert_memory_equal(got_t, ((float[]){1, 4, 2, 5, 3, 6}), sizeof got_t);
    assert_memory_equal(got_sum, ((float[]){2, 4, 6, 8, 10, 12}), sizeof got_sum);
    assert_ok(cbk_tensor_read_async(stream, &requests[2], 1, &empty));
    assert_ok(cbk_event_wait(empty));
    cbk_event_release(&empty);
    assert_ok(cbk_tensor_read_async(stream, NULL, 0, &empty));
    cbk_event_release(&empty);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_read_async(stream, NULL, 1, &empty));
    const cbk_read_request wrong = {x, got_t, 5};
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_read_async(stream, &wrong, 1, &empty));
    assert_null(empty);
    cbk_event_release(&event);
    cbk_tensor_release(&x);
    cbk_tensor_release(&none);
}

// ---- misuse ------------------------------------------------------------------------------------

static void test_bad_creation(void **state) {
    const int64_t huge[] = {INT64_MAX, INT64_MAX}, negative[] = {2, -1}, big[] = {(int64_t)1 << 61};
    const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    cbk_tensor *x = (cbk_tensor *)(uintptr_t)8;
    (void)state;
    assert_status(CBK_ERROR_OVERFLOW, cbk_tensor_empty(stream, CBK_DTYPE_F32, 2, huge, &x));
    assert_null(x);
    assert_status(CBK_ERROR_OVERFLOW, cbk_tensor_empty(stream, CBK_DTYPE_F64, 1, big, &x));
    assert_status(CBK_ERROR_SHAPE, cbk_tensor_empty(stream, CBK_DTYPE_F32, 2, negative, &x));
    assert_status(CBK_ERROR_SHAPE, cbk_tensor_empty(stream, CBK_DTYPE_F32, 9, nine, &x));
    assert_status(CBK_ERROR_DTYPE, cbk_tensor_empty(stream, 77, 1, nine, &x));
    assert_true(cbk_tensor_empty(stream, CBK_DTYPE_BOOL_NATIVE, 1, nine, &x) != CBK_OK);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_empty(NULL, CBK_DTYPE_F32, 1, nine, &x));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_tensor_empty(stream, CBK_DTYPE_F32, 1, nine, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape_2x3, one_to_six, 23, &x));
    assert_null(x);
    assert_true(cbk_tensor_empty(stream, CBK_DTYPE_U8, 1, (int64_t[]){(int64_t)1 << 60}, &x) !=
                CBK_OK);
    assert_null(x);
}

static void test_bad_operations(void **state) {
    cbk_tensor *x = floats(2, shape_2x3, one_to_six, 6), *wide = NULL, *out = NULL, *view = NULL;
    cbk_tensor *row = NULL;
    float data[6];
    (void)state;
    assert_ok(cbk_cast(stream, x, CBK_DTYPE_I32, &wide));
    assert_status(CBK_ERROR_DTYPE, cbk_add(stream, x, wide, &out));
    assert_status(CBK_ERROR_SHAPE, cbk_matmul(stream, x, x, NULL, &out));
    assert_non_null(strstr(cbk_last_error_message(), "[2,3]"));
    assert_status(
        CBK_ERROR_AXIS,
        cbk_sum(stream, x, &CBK_INIT(cbk_reduce_params, .axis_count = 1, .axes = {2}), &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_add(stream, NULL, x, &out));
    assert_null(out);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_read(stream, x, data, 20));
    assert_ok(cbk_narrow(stream, x, 0, 0, 1, &row));
    assert_ok(cbk_expand(stream, row, 2, shape_2x3, &view));
    assert_status(CBK_ERROR_ALIASING, cbk_add_into(stream, x, x, view));
    cbk_reduce_params future = CBK_INIT(cbk_reduce_params);
    struct {
        cbk_reduce_params known;
        uint64_t unknown;
    } larger = {future, 1};
    larger.known.struct_size = sizeof larger;
    assert_status(CBK_ERROR_VERSION, cbk_sum(stream, x, &larger.known, &out));
    larger.unknown = 0; // a caller from the future that uses nothing new
    assert_ok(cbk_sum(stream, x, &larger.known, &out));
    expect_floats(out, (float[]){21}, 1);
    expect_floats(x, one_to_six, 6); // nothing was damaged
    cbk_tensor_release(&out);
    cbk_tensor_release(&view);
    cbk_tensor_release(&row);
    cbk_tensor_release(&wide);
    cbk_tensor_release(&x);
}

static void test_wrong_device(void **state) {
    cbk_device *device = NULL;
    cbk_stream *other = NULL;
    cbk_tensor *x = floats(2, shape_2x3, one_to_six, 6), *out = NULL, *copy = NULL;
    (void)state;
    assert_ok(cbk_device_open(side.backend, NULL, &device));
    assert_ok(cbk_stream_create(device, NULL, &other));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_add(other, x, x, &out));
    assert_ok(cbk_tensor_to_device(stream, x, other, &copy));
    assert_ok(cbk_add(other, copy, copy, &out));
    float data[6];
    assert_ok(cbk_tensor_read(other, out, data, sizeof data));
    assert_true(data[0] == 2 && data[5] == 12);
    cbk_tensor_release(&copy);
    cbk_tensor_release(&out);
    cbk_tensor_release(&x);
    cbk_stream_release(&other);
    cbk_device_release(&device);
}

// ---- zero sizes --------------------------------------------------------------------------------

static void test_zero_sizes(void **state) {
    const int64_t shape[] = {2, 0, 3};
    cbk_memory_info before = CBK_INIT(cbk_memory_info), after = CBK_INIT(cbk_memory_info);
    cbk_tensor *x = NULL, *y = NULL, *out = NULL;
    (void)state;
    assert_ok(cbk_memory_usage(side.device, &before));
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 3, shape, NULL, 0, &x));
    assert_ok(cbk_fill(stream, CBK_DTYPE_F32, 3, shape, cbk_i(1), &y));
    assert_ok(cbk_add(stream, x, y, &out));
    assert_int_equal(cbk_tensor_element_count(out), 0);
    assert_ok(cbk_tensor_read(stream, out, NULL, 0));
    assert_ok(cbk_memory_usage(side.device, &after));
    assert_int_equal(before.allocation_count, after.allocation_count);
    cbk_tensor_release(&out);
    assert_ok(cbk_matmul(stream, x, x, NULL, &out) == CBK_ERROR_SHAPE ? CBK_OK
                                                                      : CBK_ERROR_INTERNAL);
    assert_ok(cbk_transpose(stream, x, 1, 2, &out));
    cbk_tensor_release(&y);
    assert_ok(cbk_matmul(stream, out, x, NULL, &y)); // [2,3,0] x [2,0,3]: zeros
    expect_floats(y, (float[18]){0}, 18);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
    cbk_tensor_release(&out);
}

// ---- order -------------------------------------------------------------------------------------

static void test_events(void **state) {
    cbk_tensor *x = floats(2, shape_2x3, one_to_six, 6), *out = NULL;
    cbk_event *event = NULL, *same = NULL;
    cbk_stream *second = NULL;
    uint32_t done = 7;
    (void)state;
    assert_ok(cbk_stream_create(side.device, NULL, &second));
    assert_ok(cbk_add(stream, x, x, &out));
    assert_ok(cbk_event_record(stream, &event));
    assert_ok(cbk_stream_wait_event(second, event));
    assert_ok(cbk_event_wait(event));
    assert_ok(cbk_event_query(event, &done));
    assert_int_equal(done, 1);
    same = cbk_event_retain(event);
    cbk_event_release(&event);
    assert_ok(cbk_event_query(same, &done));
    cbk_event_release(&same);
    assert_ok(cbk_flush(second));
    assert_ok(cbk_sync(second));
    cbk_tensor_release(&x);
    cbk_tensor_release(&out);
    cbk_stream_release(&second);
}

static void test_streams_cross(void **state) {
    cbk_stream *second = NULL;
    cbk_tensor *x = floats(2, shape_2x3, one_to_six, 6), *sum = NULL, *product = NULL;
    float data[6];
    (void)state;
    assert_ok(cbk_stream_create(side.device, NULL, &second));
    for (int i = 0; i < 20; i++) {
        assert_ok(cbk_add(stream, x, x, &sum));
        assert_ok(cbk_mul(second, sum, sum, &product)); // reads what the first has just written
        assert_ok(cbk_add_into(stream, x, x, sum));     // writes what the second reads
        assert_ok(cbk_tensor_read(second, product, data, sizeof data));
        assert_true(data[0] == 4 && data[5] == 144);
        cbk_tensor_release(&sum);
        cbk_tensor_release(&product);
    }
    cbk_tensor_release(&x);
    cbk_stream_release(&second);
}

static void test_index_error_is_the_streams(void **state) {
    cbk_stream *second = NULL;
    cbk_tensor *x = floats(2, shape_2x3, one_to_six, 6), *index = NULL, *out = NULL;
    float data[6];
    (void)state;
    assert_ok(cbk_stream_create(side.device, NULL, &second));
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_I32, 1, (int64_t[]){2}, (int32_t[]){1, 77}, 8,
                                   &index));
    assert_ok(cbk_select(stream, x, index, 0, &out));
    assert_ok(cbk_sync(second));
    assert_status(CBK_ERROR_INDEX_OUT_OF_RANGE, cbk_tensor_read(stream, out, data, sizeof data));
    assert_ok(cbk_tensor_read(stream, out, data, sizeof data));
    assert_memory_equal(data, ((float[]){4, 5, 6, 0, 0, 0}), sizeof data);
    assert_ok(cbk_sync(stream));
    cbk_tensor_release(&x);
    cbk_tensor_release(&index);
    cbk_tensor_release(&out);
    cbk_stream_release(&second);
}

// ---- memory ------------------------------------------------------------------------------------

static void test_memory_accounting(void **state) {
    cbk_memory_info before = CBK_INIT(cbk_memory_info), now = CBK_INIT(cbk_memory_info);
    cbk_tensor *x = NULL, *view = NULL;
    (void)state;
    assert_ok(cbk_sync(stream));
    assert_ok(cbk_memory_usage(side.device, &before));
    assert_ok(cbk_tensor_empty(stream, CBK_DTYPE_F32, 1, (int64_t[]){1000}, &x));
    assert_ok(cbk_memory_usage(side.device, &now));
    assert_int_equal(now.allocation_count, before.allocation_count + 1);
    assert_int_equal(now.used_bytes, before.used_bytes + 4000);
    assert_true(now.reserved_bytes >= now.used_bytes + now.padding_bytes);
    assert_true(now.peak_bytes >= now.reserved_bytes);
    assert_ok(cbk_flip(stream, x, 0, NULL, &view)); // a view takes nothing and keeps the storage
    cbk_tensor_release(&x);
    assert_ok(cbk_memory_usage(side.device, &now));
    assert_int_equal(now.used_bytes, before.used_bytes + 4000);
    cbk_tensor_release(&view);
    assert_ok(cbk_sync(stream));
    assert_ok(cbk_memory_usage(side.device, &now));
    assert_int_equal(now.allocation_count, before.allocation_count);
    assert_int_equal(now.used_bytes, before.used_bytes);
    assert_ok(cbk_memory_cleanup(side.device));
}

static void test_memory_limit(void **state) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    cbk_tensor *x = NULL;
    const int64_t over[] = {512 << 20};
    (void)state;
    assert_ok(cbk_memory_limit(side.device, 256 << 20));
    assert_ok(cbk_memory_usage(side.device, &info));
    assert_int_equal(info.limit_bytes, 256 << 20);
    assert_status(CBK_ERROR_OUT_OF_MEMORY, cbk_tensor_empty(stream, CBK_DTYPE_U8, 1, over, &x));
    assert_null(x);
    assert_ok(cbk_tensor_empty(stream, CBK_DTYPE_U8, 1, (int64_t[]){1 << 20}, &x));
    cbk_tensor_release(&x);
    assert_ok(cbk_memory_limit(side.device, 0));
    assert_ok(cbk_memory_usage(side.device, &info));
    assert_true(info.limit_bytes > 256 << 20);
}

static void test_staging_and_persistent(void **state) {
    void *memory = NULL;
    cbk_tensor *x = NULL;
    (void)state;
    assert_ok(cbk_staging_alloc(side.device, sizeof one_to_six, &memory));
    memcpy(memory, one_to_six, sizeof one_to_six);
    assert_ok(cbk_persistent_begin(stream));
    assert_ok(
        cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape_2x3, memory, sizeof one_to_six, &x));
    assert_ok(cbk_persistent_end(stream));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_persistent_end(stream));
    expect_floats(x, one_to_six, 6);
    cbk_tensor_release(&x);
    cbk_staging_free(side.device, &memory);
    assert_null(memory);
}

static void test_donation(void **state) {
    cbk_tensor *x = floats(2, shape_2x3, one_to_six, 6), *kept = cbk_tensor_retain(x), *out = NULL;
    (void)state;
    for (int round = 0; round < 2; round++) {
        cbk_tensor *inputs[] = {x, x};
        cbk_op op = CBK_INIT(cbk_op, .opcode = CBK_OP_ADD, .input_count = 2, .output_count = 1,
                             .inputs = inputs, .outputs = &out, .donate = 1);
        if (round == 0) { // held elsewhere: the donated reference is gone, the contents stay
            assert_ok(cbk_execute(stream, &op));
            expect_floats(kept, one_to_six, 6);
        } else {
            cbk_tensor *y = floats(2, shape_2x3, one_to_six, 6);
            inputs[1] = y;
            assert_ok(cbk_execute(stream, &op));
            cbk_tensor_release(&y);
        }
        expect_floats(out, (float[]){2, 4, 6, 8, 10, 12}, 6);
        cbk_tensor_release(&out);
        x = kept;
    }
}

// ---- random ------------------------------------------------------------------------------------

static void draw(cbk_stream *on, int64_t count, float *data) {
    cbk_tensor *x = NULL;
    assert_ok(cbk_random_uniform(on, CBK_DTYPE_F32, 1, &count, 0, 1, &x));
    assert_ok(cbk_tensor_read(on, x, data, (uint64_t)count * sizeof *data));
    cbk_tensor_release(&x);
}

static void test_seeds(void **state) {
    float first[10], next[10], again[10], other[10];
    cbk_stream *second = NULL;
    (void)state;
    assert_ok(cbk_stream_create(side.device, NULL, &second));
    assert_ok(cbk_seed(side.device, 42));
    draw(stream, 10, first);
    draw(stream, 10, next);
    draw(second, 10, other);
    assert_memory_not_equal(first, next, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
    assert_ok(cbk_seed(side.device, 42));
    draw(stream, 0, again);
    draw(stream, 10, again);
    assert_memory_equal(first, again, sizeof first);
    draw(stream, 10, again);
    assert_memory_equal(next, again, sizeof next);
    draw(second, 10, again);
    assert_memory_equal(other, again, sizeof other);
    assert_ok(cbk_seed(side.device, 43));
    draw(stream, 10, again);
    assert_memory_not_equal(first, again, sizeof first);
    for (int i = 0; i < 10; i++) assert_true(again[i] >= 0 && again[i] < 1);
    cbk_stream_release(&second);
}

static void *seed_often(void *failures) {
    for (uint64_t i = 0; i < 2000; i++) *(int *)failures += cbk_seed(side.device, i) != CBK_OK;
    return NULL;
}

/// A device may be seeded on any thread, also while a stream draws on another.
static void test_seeds_of_another_thread(void **state) {
    float first[10], again[10];
    pthread_t thread;
    int failures = 0;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, seed_often, &failures), 0);
    for (int i = 0; i < 200; i++) draw(stream, 10, first);
    pthread_join(thread, NULL);
    assert_int_equal(failures, 0);
    assert_ok(cbk_seed(side.device, 42));
    draw(stream, 10, first);
    assert_ok(cbk_seed(side.device, 42));
    draw(stream, 10, again);
    assert_memory_equal(first, again, sizeof first);
}

// ---- questions ---------------------------------------------------------------------------------

static void test_supports_op(void **state) {
    cbk_tensor *x = floats(2, shape_2x3, one_to_six, 6), *inputs[] = {x, x}, *out = NULL;
    cbk_op op = CBK_INIT(cbk_op, .opcode = CBK_OP_ADD, .input_count = 2, .output_count = 1,
                         .inputs = inputs, .outputs = &out);
    (void)state;
    assert_ok(cbk_supports_op(side.device, &op));
    assert_null(out);
    op.opcode = CBK_OP_MATMUL;
    assert_status(CBK_ERROR_SHAPE, cbk_supports_op(side.device, &op));
    op.opcode = 0xff01;
    assert_true(cbk_supports_op(side.device, &op) != CBK_OK);
    assert_true(cbk_execute(stream, &op) != CBK_OK);
    cbk_tensor_release(&x);
}

static void test_counters(void **state) {
    cbk_counters before = CBK_INIT(cbk_counters), after = CBK_INIT(cbk_counters);
    cbk_tensor *x = NULL, *out = NULL;
    (void)state;
    assert_ok(cbk_device_counters(side.device, &before));
    x = floats(2, shape_2x3, one_to_six, 6);
    assert_ok(cbk_neg(stream, x, &out));
    expect_floats(out, (float[]){-1, -2, -3, -4, -5, -6}, 6);
    assert_ok(cbk_device_counters(side.device, &after));
    assert_true(after.launches > before.launches);
    assert_int_equal(after.bytes_written, before.bytes_written + sizeof one_to_six);
    const uint64_t reads = subject->records ? 2 : 1; // a recording takes in x
    assert_int_equal(after.bytes_read, before.bytes_read + reads * sizeof one_to_six);
    assert_true(after.allocations >= before.allocations + 2);
    cbk_tensor_release(&x);
    cbk_tensor_release(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order_of_release),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_two_backends),
        cmocka_unit_test(test_device_list),
        cmocka_unit_test(test_dtype_answers),
        cmocka_unit_test(test_transfers),
        cmocka_unit_test(test_bools_are_normalised),
        cmocka_unit_test(test_large_transfer),
        cmocka_unit_test(test_read_many),
        cmocka_unit_test(test_read_async),
        cmocka_unit_test(test_bad_creation),
        cmocka_unit_test(test_bad_operations),
        cmocka_unit_test(test_wrong_device),
        cmocka_unit_test(test_zero_sizes),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_streams_cross),
        cmocka_unit_test(test_index_error_is_the_streams),
        cmocka_unit_test(test_memory_accounting),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_staging_and_persistent),
        cmocka_unit_test(test_donation),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_seeds_of_another_thread),
        cmocka_unit_test(test_supports_op),
        cmocka_unit_test(test_counters),
    };
    const char *wanted = getenv("CUBEBACK_TEST_BACKEND");
    int failed = 0;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        subject = &subjects[i];
        if (wanted && *wanted && strcmp(wanted, subject->name) != 0) continue;
        failed += cmocka_run_group_tests_name(subject->title, tests, open_side, close_side);
    }
    return failed;
}
