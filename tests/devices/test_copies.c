/// test_copies.c: tensors go from every device to every other: two OpenCL devices of one backend and
/// the reference. PoCL makes two devices where POCL_DEVICES names two.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cubeback/backend.h>

#include "device.h"
#include "support.h"

enum { SIDES = 3, ROWS = 5, COLUMNS = 6, MOST_BYTES = 4096 };

static struct test_side sides[SIDES];
static uint32_t side_count;

static bool open_opencl(uint32_t index, cbk_backend *backend) {
    struct test_side *side = &sides[side_count];
    *side = (struct test_side){.name = index ? "second" : "first",
                               .backend = cbk_backend_retain(backend)};
    if (cbk_device_open(backend, &CBK_INIT(cbk_device_params, .index = index), &side->device) ||
        cbk_stream_create(side->device, NULL, &side->stream)) {
        return false;
    }
    side_count++;
    return true;
}

static int open_sides(void **state) {
    const cbk_backend_params params = test_backend_params();
    cbk_backend *opencl = NULL, *reference = NULL;
    uint32_t count = 0;
    (void)state;
    if (cbk_opencl_create(&params, &opencl) || cbk_reference_create(NULL, &reference)) return -1;
    if (cbk_device_count(opencl, CBK_DEVICE_DEFAULT, &count)) return -1;
    for (uint32_t i = 0; i < count && i < 2; i++) {
        if (!open_opencl(i, opencl)) return -1;
    }
    cbk_backend_release(&opencl);
    if (!test_side_open(&sides[side_count++], "reference", reference, false)) return -1;
    printf("[ devices  ] %u of OpenCL\n", (unsigned)(side_count - 1));
    return 0;
}

static int close_sides(void **state) {
    int result = 0;
    (void)state;
    for (uint32_t i = 0; i < side_count; i++) {
        cbk_memory_info info = CBK_INIT(cbk_memory_info);
        if (cbk_memory_usage(sides[i].device, &info) || info.used_bytes != 0) result = -1;
        test_side_close(&sides[i]);
    }
    return result;
}

// ---- what is copied --------------------------------------------------------------------------------

static cbk_tensor *make(struct test_side *side, cbk_dtype dtype) {
    const int64_t shape[] = {ROWS, COLUMNS};
    const uint32_t size = cbk_dtype_size(dtype);
    unsigned char data[ROWS * COLUMNS * 8];
    cbk_tensor *x = NULL;
    const bool is_bool = dtype == CBK_DTYPE_BOOL || dtype == CBK_DTYPE_BOOL32;
    for (uint32_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(is_bool ? i % size == 0 && i % 3 == 0 : i * 37 + dtype);
    }
    assert_ok(cbk_tensor_from_data(side->stream, dtype, 2, shape, data,
                                   (uint64_t)size * ROWS * COLUMNS, &x));
    return x;
}

static cbk_tensor *as_it_is(cbk_stream *stream, cbk_tensor *x) {
    (void)stream;
    return cbk_tensor_retain(x);
}

static cbk_tensor *turned(cbk_stream *stream, cbk_tensor *x) {
    cbk_tensor *view = NULL;
    assert_ok(cbk_transpose(stream, x, 0, 1, &view));
    return view;
}

static cbk_tensor *flipped(cbk_stream *stream, cbk_tensor *x) {
    cbk_tensor *view = NULL;
    assert_ok(cbk_flip(stream, x, 1, (int32_t[]){1}, &view));
    return view;
}

static cbk_tensor *cut(cbk_stream *stream, cbk_tensor *x, int64_t start, int64_t stop,
                       int64_t step) {
    const cbk_slice_params params = CBK_INIT(cbk_slice_params, .axis_count = 2, .start = {1, start},
                                             .stop = {4, stop}, .step = {1, step});
    cbk_tensor *view = NULL;
    assert_ok(cbk_slice(stream, x, &params, &view));
    return view;
}

static cbk_tensor *stepped(cbk_stream *stream, cbk_tensor *x) {
    return cut(stream, x, 1, 6, 2);
}

static cbk_tensor *empty(cbk_stream *stream, cbk_tensor *x) {
    return cut(stream, x, 3, 3, 1);
}

static cbk_tensor *expanded(cbk_stream *stream, cbk_tensor *x) {
    cbk_tensor *row = NULL, *view = NULL;
    const cbk_slice_params params =
        CBK_INIT(cbk_slice_params, .axis_count = 1, .start = {2}, .stop = {3}, .step = {1});
    assert_ok(cbk_slice(stream, x, &params, &row));
    assert_ok(cbk_expand(stream, row, 3, (int64_t[]){2, 4, COLUMNS}, &view));
    cbk_tensor_release(&row);
    return view;
}

static cbk_tensor *(*const views[])(cbk_stream *stream, cbk_tensor *x) = {
    as_it_is, turned, flipped, stepped, empty, expanded};
enum { VIEWS = sizeof views / sizeof *views };

static uint64_t bytes_of(const cbk_tensor *x) {
    return (uint64_t)cbk_tensor_element_count(x) * cbk_dtype_size(cbk_tensor_dtype(x));
}

static void expect_copy(struct test_side *from, const cbk_tensor *x, struct test_side *to) {
    unsigned char want[MOST_BYTES], got[MOST_BYTES];
    cbk_tensor *copy = NULL;
    assert_ok(cbk_tensor_to_device(from->stream, x, to->stream, &copy));
    assert_ptr_equal(cbk_tensor_device(copy), to->device);
    assert_int_equal(cbk_tensor_dtype(copy), cbk_tensor_dtype(x));
    assert_int_equal(cbk_tensor_rank(copy), cbk_tensor_rank(x));
    assert_memory_equal(cbk_tensor_shape(copy), cbk_tensor_shape(x),
                        cbk_tensor_rank(x) * sizeof(int64_t));
    assert_in_range(bytes_of(x), 0, MOST_BYTES);
    assert_ok(cbk_tensor_read(from->stream, x, want, bytes_of(x)));
    assert_ok(cbk_tensor_read(to->stream, copy, got, bytes_of(x)));
    assert_memory_equal(want, got, bytes_of(x));
    cbk_tensor_release(&copy);
}

// ---- tests -------------------------------------------------------------------------------------------

static void every_dtype_and_view(void **state) {
    (void)state;
    for (uint32_t pair = 0; pair < side_count * side_count; pair++) {
        struct test_side *from = &sides[pair / side_count], *to = &sides[pair % side_count];
        for (cbk_dtype dtype = 1; dtype < CBK_DTYPE_QUANT; dtype++) {
            uint32_t from_usage = 0, to_usage = 0;
            if (cbk_dtype_size(dtype) == 0) continue;
            assert_ok(cbk_dtype_usage(from->device, dtype, NULL, &from_usage));
            assert_ok(cbk_dtype_usage(to->device, dtype, NULL, &to_usage));
            if (!(from_usage & to_usage & CBK_USAGE_STORAGE)) continue;
            cbk_tensor *x = make(from, dtype);
            for (int v = 0; v < VIEWS; v++) {
                cbk_tensor *view = views[v](from->stream, x);
                expect_copy(from, view, to);
                cbk_tensor_release(&view);
            }
            cbk_tensor_release(&x);
        }
    }
}

static void ranks_and_large_ones(void **state) {
    (void)state;
    const int64_t ones[8] = {1, 1, 2, 1, 3, 1, 1, 2}, many = 1000003;
    const float seven = 7;
    float *got = calloc((size_t)many, sizeof *got);
    for (uint32_t pair = 0; pair < side_count * side_count; pair++) {
        struct test_side *from = &sides[pair / side_count], *to = &sides[pair % side_count];
        cbk_tensor *x = NULL, *copy = NULL;
        assert_ok(cbk_tensor_from_data(from->stream, CBK_DTYPE_F32, 0, NULL, &seven, 4, &x));
        expect_copy(from, x, to);
        cbk_tensor_release(&x);
        assert_ok(cbk_ones(from->stream, CBK_DTYPE_I16, 8, ones, &x));
        expect_copy(from, x, to);
        cbk_tensor_release(&x);
        assert_ok(cbk_ones(from->stream, CBK_DTYPE_F32, 1, &many, &x));
        assert_ok(cbk_mul_scalar_into(from->stream, x, cbk_f(3), x));
        assert_ok(cbk_tensor_to_device(from->stream, x, to->stream, &copy));
        assert_ok(cbk_tensor_read(to->stream, copy, got, (uint64_t)many * sizeof *got));
        for (int64_t i = 0; i < many; i++) assert_true(got[i] == 3);
        cbk_tensor_release(&x), cbk_tensor_release(&copy);
    }
    free(got);
}

/// The copy sees the work before it, not what comes after, and is used without a sync.
static void copies_keep_their_place(void **state) {
    (void)state;
    for (uint32_t pair = 0; pair < side_count * side_count; pair++) {
        struct test_side *from = &sides[pair / side_count], *to = &sides[pair % side_count];
        const int64_t length = 1000;
        cbk_tensor *x = NULL, *copy = NULL, *sum = NULL;
        float got[1000];
        assert_ok(cbk_ones(from->stream, CBK_DTYPE_F32, 1, &length, &x));
        for (int i = 0; i < 20; i++) assert_ok(cbk_add_into(from->stream, x, x, x));
        assert_ok(cbk_tensor_to_device(from->stream, x, to->stream, &copy));
        assert_ok(cbk_sub_into(from->stream, x, x, x));
        assert_ok(cbk_add(to->stream, copy, copy, &sum));
        cbk_tensor_release(&copy);
        assert_ok(cbk_tensor_read(to->stream, sum, got, sizeof got));
        assert_true(got[0] == 2097152 && got[999] == 2097152);
        cbk_tensor_release(&x), cbk_tensor_release(&sum);
    }
}

static void refused(void **state) {
    (void)state;
    cbk_tensor *x = make(&sides[0], CBK_DTYPE_F32), *out = NULL;
    struct test_side *last = &sides[side_count - 1];
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_tensor_to_device(last->stream, x, sides[0].stream, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_to_device(NULL, x, last->stream, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_to_device(sides[0].stream, x, NULL, &out));
    // Between devices the host waits, which a capture must not.
    assert_ok(cbk_graph_prepare(sides[0].stream));
    assert_ok(cbk_graph_start_capture(sides[0].stream));
    assert_status(CBK_ERROR_INVALID_STATE,
                  cbk_tensor_to_device(sides[0].stream, x, last->stream, &out));
    assert_ok(cbk_graph_abort(sides[0].stream));
    assert_null(out);
    cbk_tensor_poison(x, CBK_ERROR_DRIVER, "made up");
    assert_status(CBK_ERROR_PRODUCER, cbk_tensor_to_device(sides[0].stream, x, last->stream, &out));
    cbk_tensor_release(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_and_view),
        cmocka_unit_test(ranks_and_large_ones),
        cmocka_unit_test(copies_keep_their_place),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests_name("copies", tests, open_sides, close_sides);
}
