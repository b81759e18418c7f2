// test_transfer.c: host memory to tensors and back, on the reference backend.
#include "support.h"

#include <cubeback/backend.h>

#include <string.h>

static cbk_backend *backend;
static cbk_device *device;
static cbk_stream *stream;

static int open_reference(void **state) {
    (void)state;
    assert_ok(cbk_reference_create(NULL, &backend));
    assert_ok(cbk_device_open(backend, NULL, &device));
    assert_ok(cbk_stream_create(device, NULL, &stream));
    return 0;
}

static int close_reference(void **state) {
    (void)state;
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    assert_ok(cbk_memory_usage(device, &info));
    cbk_stream_release(&stream);
    cbk_device_release(&device);
    cbk_backend_release(&backend);
    return info.allocation_count == 0 ? 0 : -1;
}

static void every_dtype_round_trips(void **state) {
    (void)state;
    const int64_t shape[2] = {5, 3};
    for (cbk_dtype dtype = 1; dtype < 64; dtype++) {
        const uint32_t size = cbk_dtype_size(dtype);
        unsigned char data[15 * 8], back[15 * 8];
        if (size == 0) continue;
        const int is_bool = dtype == CBK_DTYPE_BOOL || dtype == CBK_DTYPE_BOOL32;
        memset(data, 0, sizeof data);
        for (uint32_t i = 0; i < 15 * size; i++) {
            if (!is_bool)
                data[i] = (unsigned char)(i * 7 + dtype);
            else if (i % size == 0)
                data[i] = i % 2 == 0; // little end first
        }
        cbk_tensor *x = NULL, *turned = NULL;
        assert_ok(cbk_tensor_from_data(stream, dtype, 2, shape, data, 15u * size, &x));
        assert_ok(cbk_tensor_read(stream, x, back, 15u * size));
        assert_memory_equal(back, data, 15u * size);
        assert_ok(cbk_transpose(stream, x, 0, 1, &turned));
        assert_ok(cbk_tensor_read(stream, turned, back, 15u * size));
        for (uint32_t row = 0; row < 5; row++) {
            for (uint32_t column = 0; column < 3; column++) {
                assert_memory_equal(back + (column * 5 + row) * size,
                                    data + (row * 3 + column) * size, size);
            }
        }
        // Through the transposed view the same elements are written.
        assert_ok(cbk_tensor_write(stream, turned, back, 15u * size));
        assert_ok(cbk_tensor_read(stream, x, back, 15u * size));
        assert_memory_equal(back, data, 15u * size);
        cbk_tensor_release(&x);
        cbk_tensor_release(&turned);
    }
}

static void bools_become_zero_or_one(void **state) {
    (void)state;
    const unsigned char bytes[5] = {0, 1, 2, 128, 255}, clean[5] = {0, 1, 1, 1, 1};
    const uint32_t words[4] = {0, 1, 0x01000000, 0xfffffffe}, clean_words[4] = {0, 1, 1, 1};
    unsigned char back[5];
    uint32_t back_words[4];
    cbk_tensor *x = NULL;
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_BOOL, 1, (int64_t[]){5}, bytes, 5, &x));
    assert_ok(cbk_tensor_read(stream, x, back, 5));
    assert_memory_equal(back, clean, 5);
    assert_ok(cbk_tensor_write(stream, x, bytes, 5));
    assert_ok(cbk_tensor_read(stream, x, back, 5));
    assert_memory_equal(back, clean, 5);
    cbk_tensor_release(&x);
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_BOOL32, 1, (int64_t[]){4}, words, 16, &x));
    assert_ok(cbk_tensor_read(stream, x, back_words, 16));
    assert_memory_equal(back_words, clean_words, 16);
    cbk_tensor_release(&x);
}

static void many_at_once(void **state) {
    (void)state;
    enum { COUNT = 40 };
    cbk_tensor *tensors[COUNT] = {NULL};
    cbk_read_request requests[COUNT];
    int32_t back[COUNT][3];
    for (int32_t i = 0; i < COUNT; i++) {
        const int64_t length = i % 4; // every fourth is empty
        const int32_t data[3] = {i, i + 1, i + 2};
        assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_I32, 1, &length, data,
                                       (uint64_t)length * 4, &tensors[i]));
        requests[i] = (cbk_read_request){tensors[i], back[i], (uint64_t)length * 4};
    }
    memset(back, -1, sizeof back);
    assert_ok(cbk_tensor_read_many(stream, requests, COUNT));
    for (int32_t i = 0; i < COUNT; i++) {
        for (int32_t k = 0; k < 3; k++) assert_int_equal(back[i][k], k < i % 4 ? i + k : -1);
    }
    assert_ok(cbk_tensor_read_many(stream, requests, 1)); // an empty one alone
    assert_ok(cbk_tensor_read_many(stream, NULL, 0));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_read_many(stream, NULL, 1));
    requests[7].size_bytes++;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_read_many(stream, requests, COUNT));
    requests[7].tensor = NULL;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_read_many(stream, requests, COUNT));
    for (int32_t i = 0; i < COUNT; i++) cbk_tensor_release(&tensors[i]);
}

static void refused(void **state) {
    (void)state;
    float data[6] = {0};
    cbk_tensor *x = NULL, *wide = NULL, *point = NULL;
    const int64_t shape[2] = {2, 3};
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape, data, 20, &x));
    assert_string_equal(cbk_last_error_message(),
                        "tensor_from_data: data has 20 bytes, [2,3] of f32 has 24");
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape, NULL, 24, &x));
    assert_null(x);
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape, data, 24, &x));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_read(stream, x, NULL, 24));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_read(stream, x, data, 23));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_write(stream, x, data, 25));
    assert_ok(cbk_ones(stream, CBK_DTYPE_F32, 0, NULL, &point));
    assert_ok(cbk_expand(stream, point, 2, shape, &wide));
    assert_ok(cbk_tensor_read(stream, wide, data, 24));
    assert_true(data[5] == 1.0f);
    assert_status(CBK_ERROR_ALIASING, cbk_tensor_write(stream, wide, data, 24));
    cbk_tensor_params params = CBK_INIT(cbk_tensor_params, .rank = 1, .shape = {4}, .flags = 8);
    cbk_tensor *out = NULL;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_create(stream, &params, &out));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_create(stream, NULL, &out));
    cbk_tensor_release(&x);
    cbk_tensor_release(&wide);
    cbk_tensor_release(&point);
}

static void pitched_rows(void **state) {
    (void)state;
    float data[4 * 5 * 6], back[4 * 5 * 6];
    for (int i = 0; i < 120; i++) data[i] = (float)i;
    cbk_tensor_params params =
        CBK_INIT(cbk_tensor_params, .rank = 3, .shape = {4, 5, 6}, .flags = CBK_TENSOR_PITCHED);
    cbk_tensor *x = NULL, *sum = NULL, *y = NULL;
    assert_ok(cbk_tensor_create(stream, &params, &x));
    assert_int_equal(cbk_tensor_is_contiguous(x), 0);
    assert_int_equal(cbk_tensor_strides(x)[2], 1);
    assert_int_equal(cbk_tensor_strides(x)[1] * 4 % 128, 0);
    assert_ok(cbk_tensor_write(stream, x, data, sizeof data));
    assert_ok(cbk_tensor_read(stream, x, back, sizeof back));
    assert_memory_equal(back, data, sizeof data);
    assert_ok(cbk_sum(stream, x, NULL, &sum));
    assert_ok(cbk_tensor_read(stream, sum, back, 4));
    assert_true(back[0] == 119 * 60);
    assert_ok(cbk_contiguous(stream, x, &y));
    assert_int_equal(cbk_tensor_is_contiguous(y), 1);
    cbk_tensor_release(&x);
    cbk_tensor_release(&sum);
    cbk_tensor_release(&y);
}

static void to_other_device(void **state) {
    (void)state;
    cbk_backend *other_backend = NULL;
    cbk_device *same_backend_device = NULL, *other_device = NULL;
    cbk_stream *to[2] = {NULL};
    float data[6] = {1, 2, 3, 4, 5, 6}, back[6];
    const float turned_data[6] = {1, 4, 2, 5, 3, 6};
    assert_ok(cbk_reference_create(NULL, &other_backend));
    assert_ok(cbk_device_open(backend, NULL, &same_backend_device));
    assert_ok(cbk_device_open(other_backend, NULL, &other_device));
    assert_ok(cbk_stream_create(same_backend_device, NULL, &to[0]));
    assert_ok(cbk_stream_create(other_device, NULL, &to[1]));
    cbk_tensor *x = NULL, *turned = NULL, *moved = NULL;
    assert_ok(
        cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, (int64_t[]){2, 3}, data, sizeof data, &x));
    assert_ok(cbk_transpose(stream, x, 0, 1, &turned));
    for (int i = 0; i < 2; i++) {
        assert_ok(cbk_tensor_to_device(stream, turned, to[i], &moved));
        assert_ptr_equal(cbk_tensor_device(moved), cbk_stream_device(to[i]));
        assert_int_equal(cbk_tensor_is_contiguous(moved), 1);
        assert_ok(cbk_tensor_read(to[i], moved, back, sizeof back));
        assert_memory_equal(back, turned_data, sizeof back);
        cbk_tensor_release(&moved);
    }
    assert_ok(cbk_tensor_to_device(stream, turned, stream, &moved));
    assert_ptr_not_equal(cbk_tensor_storage(moved), cbk_tensor_storage(x));
    cbk_tensor_release(&moved);
    cbk_tensor *empty = NULL;
    assert_ok(cbk_tensor_empty(stream, CBK_DTYPE_I8, 1, (int64_t[]){0}, &empty));
    assert_ok(cbk_tensor_to_device(stream, empty, to[1], &moved));
    assert_int_equal(cbk_tensor_element_count(moved), 0);
    cbk_tensor_release(&moved);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_to_device(to[0], x, stream, &moved));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_to_device(stream, x, NULL, &moved));
    cbk_tensor_release(&empty);
    cbk_tensor_release(&x);
    cbk_tensor_release(&turned);
    for (int i = 0; i < 2; i++) cbk_stream_release(&to[i]);
    cbk_device_release(&same_backend_device);
    cbk_device_release(&other_device);
    cbk_backend_release(&other_backend);
}

static void contiguous_is_shared(void **state) {
    (void)state;
    cbk_tensor *x = NULL, *same = NULL, *turned = NULL, *copy = NULL;
    assert_ok(cbk_ones(stream, CBK_DTYPE_I16, 2, (int64_t[]){3, 4}, &x));
    assert_ok(cbk_contiguous(stream, x, &same));
    assert_ptr_equal(same, x);
    assert_int_equal(cbk_tensor_is_unique(x), 0);
    cbk_tensor_release(&same);
    assert_int_equal(cbk_tensor_is_unique(x), 1);
    assert_ok(cbk_transpose(stream, x, 0, 1, &turned));
    assert_ok(cbk_contiguous(stream, turned, &copy));
    assert_ptr_not_equal(cbk_tensor_storage(copy), cbk_tensor_storage(x));
    assert_int_equal(cbk_tensor_shape(copy)[0], 4);
    cbk_tensor_release(&turned);
    cbk_tensor_release(&copy);
    cbk_tensor_release(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_round_trips),
        cmocka_unit_test(bools_become_zero_or_one),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(refused),
        cmocka_unit_test(pitched_rows),
        cmocka_unit_test(to_other_device),
        cmocka_unit_test(contiguous_is_shared),
    };
    return cmocka_run_group_tests_name("transfer", tests, open_reference, close_reference);
}
