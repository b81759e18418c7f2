// test_dlpack.c: cubeback/dlpack.h on both backends.
#include "device.h"
#include "foreign.h"
#include "support.h"

#include <cubeback/dlpack.h>
#include <cubeback/ops.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    cbk_dtype dtype, back;
    uint8_t code, bits;
} types[] = {
    {CBK_DTYPE_F64, CBK_DTYPE_F64, 2, 64},       {CBK_DTYPE_F32, CBK_DTYPE_F32, 2, 32},
    {CBK_DTYPE_FLEX32, CBK_DTYPE_F32, 2, 32},    {CBK_DTYPE_F16, CBK_DTYPE_F16, 2, 16},
    {CBK_DTYPE_BF16, CBK_DTYPE_BF16, 4, 16},     {CBK_DTYPE_F8E4M3, CBK_DTYPE_F8E4M3, 10, 8},
    {CBK_DTYPE_F8E5M2, CBK_DTYPE_F8E5M2, 12, 8}, {CBK_DTYPE_I64, CBK_DTYPE_I64, 0, 64},
    {CBK_DTYPE_I32, CBK_DTYPE_I32, 0, 32},       {CBK_DTYPE_I16, CBK_DTYPE_I16, 0, 16},
    {CBK_DTYPE_I8, CBK_DTYPE_I8, 0, 8},          {CBK_DTYPE_U64, CBK_DTYPE_U64, 1, 64},
    {CBK_DTYPE_U32, CBK_DTYPE_U32, 1, 32},       {CBK_DTYPE_U16, CBK_DTYPE_U16, 1, 16},
    {CBK_DTYPE_U8, CBK_DTYPE_U8, 1, 8},          {CBK_DTYPE_BOOL, CBK_DTYPE_BOOL, 6, 8},
    {CBK_DTYPE_BOOL32, CBK_DTYPE_BOOL32, 6, 32},
};
enum { TYPES = sizeof types / sizeof *types, MOST_BYTES = 6 * 8 };

/// Elements 0 and 1 in turn, which every dtype holds as it is.
static void fill(cbk_dtype dtype, unsigned char *data, size_t count) {
    const size_t size = cbk_dtype_size(dtype);
    memset(data, 0, count * size);
    for (size_t i = 1; i < count; i += 2) data[i * size] = 1;
}

/// [2,3] of elements 4 .. 9 of a row of 12, so that the offset is not 0.
static cbk_tensor *make(cbk_stream *stream, cbk_dtype dtype) {
    unsigned char data[2 * MOST_BYTES];
    cbk_tensor *row = NULL, *part = NULL, *x = NULL;
    const int64_t shape[] = {12}, view[] = {2, 3};
    fill(dtype, data, 12);
    assert_ok(
        cbk_tensor_from_data(stream, dtype, 1, shape, data, 12 * cbk_dtype_size(dtype), &row));
    assert_ok(cbk_narrow(stream, row, 0, 4, 6, &part));
    assert_ok(cbk_reshape(stream, part, 2, view, &x));
    cbk_tensor_release(&row);
    cbk_tensor_release(&part);
    return x;
}

static void check_equal(cbk_stream *stream, const cbk_tensor *x, cbk_dtype dtype) {
    unsigned char expected[MOST_BYTES], data[MOST_BYTES];
    const size_t bytes = 6 * cbk_dtype_size(dtype);
    assert_int_equal(cbk_tensor_dtype(x), dtype);
    assert_int_equal(cbk_tensor_rank(x), 2);
    fill(dtype, expected, 6);
    assert_ok(cbk_tensor_read(stream, x, data, bytes));
    assert_memory_equal(data, expected, bytes);
}

static bool has(const struct test_side *side, cbk_dtype dtype) {
    uint32_t usage = 0;
    assert_ok(cbk_dtype_usage(side->device, dtype, NULL, &usage));
    return (usage & CBK_USAGE_STORAGE) != 0;
}

// ---- round trips -------------------------------------------------------------------------------

static void round_trip(struct test_side *side, int32_t kind) {
    for (size_t i = 0; i < TYPES; i++) {
        cbk_dl_managed *managed = NULL;
        cbk_tensor *back = NULL;
        if (!has(side, types[i].dtype)) continue;
        cbk_tensor *x = make(side->stream, types[i].dtype);
        assert_ok(cbk_dlpack_export(side->stream, x, kind, &managed));
        cbk_tensor_release(&x);
        const cbk_dl_tensor *dl = &managed->tensor;
        assert_int_equal(managed->major, 1);
        assert_int_equal(managed->flags, kind == CBK_DL_CPU ? CBK_DL_COPIED : 0);
        assert_int_equal(dl->device_type, kind);
        assert_int_equal(dl->code, types[i].code);
        assert_int_equal(dl->bits, types[i].bits);
        assert_int_equal(dl->lanes, 1);
        assert_int_equal(dl->ndim, 2);
        assert_true(dl->shape[0] == 2 && dl->shape[1] == 3);
        assert_true(dl->strides[0] == 3 && dl->strides[1] == 1);
        assert_non_null(dl->data);
        if (kind == CBK_DL_CPU) {
            unsigned char expected[MOST_BYTES];
            fill(types[i].dtype, expected, 6);
            assert_int_equal(dl->byte_offset, 0);
            assert_int_equal((uintptr_t)dl->data % 256, 0);
            assert_memory_equal(dl->data, expected, 6 * dl->bits / 8);
        } else {
            assert_int_equal(dl->byte_offset % 128, (4 * dl->bits / 8) % 128);
        }
        assert_ok(cbk_dlpack_import(side->stream, managed, &back));
        check_equal(side->stream, back, types[i].back);
        cbk_tensor_release(&back);
    }
}

static void test_cpu(void **state) {
    (void)state;
    round_trip(&test_pair.reference, CBK_DL_CPU);
    round_trip(&test_pair.device, CBK_DL_CPU);
}

static void test_opencl(void **state) {
    (void)state;
    round_trip(&test_pair.device, CBK_DL_OPENCL);
}

/// From one backend to the other by host memory.
static void test_between_backends(void **state) {
    (void)state;
    cbk_dl_managed *managed = NULL;
    cbk_tensor *x = make(test_pair.reference.stream, CBK_DTYPE_I16), *y = NULL;
    assert_ok(cbk_dlpack_export(test_pair.reference.stream, x, CBK_DL_CPU, &managed));
    assert_ok(cbk_dlpack_import(test_pair.device.stream, managed, &y));
    check_equal(test_pair.device.stream, y, CBK_DTYPE_I16);
    cbk_tensor_release(&x);
    cbk_tensor_release(&y);
}

static void test_views_and_sizes(void **state) {
    (void)state;
    struct test_side *const sides[] = {&test_pair.reference, &test_pair.device};
    for (int i = 0; i < 2; i++) {
        cbk_stream *stream = sides[i]->stream;
        const int32_t kinds[] = {CBK_DL_CPU, i ? CBK_DL_OPENCL : CBK_DL_CPU};
        for (int k = 0; k < 2; k++) {
            cbk_dl_managed *managed = NULL;
            float data[6], expected[6];
            cbk_tensor *x = make(stream, CBK_DTYPE_F32), *t = NULL, *y = NULL;
            assert_ok(cbk_transpose(stream, x, 0, 1, &t));
            assert_ok(cbk_tensor_read(stream, t, expected, sizeof expected));
            assert_ok(cbk_dlpack_export(stream, t, kinds[k], &managed));
            assert_int_equal(managed->tensor.shape[0], 3);
            assert_int_equal(managed->tensor.strides[0], kinds[k] == CBK_DL_CPU ? 2 : 1);
            assert_ok(cbk_dlpack_import(stream, managed, &y));
            assert_ok(cbk_tensor_read(stream, y, data, sizeof data));
            assert_memory_equal(data, expected, sizeof data);
            cbk_tensor_release(&x);
            cbk_tensor_release(&t);
            cbk_tensor_release(&y);
            const int64_t none[] = {3, 0};
            assert_ok(cbk_tensor_empty(stream, CBK_DTYPE_F32, 2, none, &x));
            assert_ok(cbk_dlpack_export(stream, x, kinds[k], &managed));
            assert_null(managed->tensor.data);
            assert_non_null(managed->tensor.strides);
            assert_int_equal(managed->tensor.byte_offset, 0);
            assert_ok(cbk_dlpack_import(stream, managed, &y));
            assert_int_equal(cbk_tensor_element_count(y), 0);
            assert_int_equal(cbk_tensor_shape(y)[0], 3);
            cbk_tensor_release(&x);
            cbk_tensor_release(&y);
            assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 0, NULL, data, 4, &x));
            assert_ok(cbk_dlpack_export(stream, x, kinds[k], &managed));
            assert_int_equal(managed->tensor.ndim, 0);
            managed->deleter(managed); // not imported at all
            cbk_tensor_release(&x);
        }
    }
}

// ---- somebody else's tensors -------------------------------------------------------------------

static void count_deletion(cbk_dl_managed *managed) {
    ++*(int *)managed->manager_ctx;
}

static void test_import_of_host_views(void **state) {
    (void)state;
    int deleted = 0;
    float data[12], back[6];
    int64_t shape[] = {2, 3}, strides[] = {-1, 4};
    cbk_tensor *x = NULL;
    for (int i = 0; i < 12; i++) data[i] = (float)i;
    cbk_dl_managed managed = {.major = 1,
                              .minor = 99,
                              .manager_ctx = &deleted,
                              .deleter = count_deletion,
                              .flags = CBK_DL_READ_ONLY};
    managed.tensor = (cbk_dl_tensor){.data = data,
                                     .device_type = CBK_DL_CPU,
                                     .ndim = 2,
                                     .code = 2,
                                     .bits = 32,
                                     .lanes = 1,
                                     .shape = shape,
                                     .strides = strides,
                                     .byte_offset = 4};
    assert_ok(cbk_dlpack_import(test_pair.device.stream, &managed, &x));
    assert_int_equal(deleted, 1);
    assert_ok(cbk_tensor_read(test_pair.device.stream, x, back, sizeof back));
    for (int i = 0; i < 6; i++) assert_true(back[i] == (float)(1 - i / 3 + i % 3 * 4));
    cbk_tensor_release(&x);
    managed.tensor.strides = NULL; // row-major
    managed.deleter = NULL;
    assert_ok(cbk_dlpack_import(test_pair.reference.stream, &managed, &x));
    assert_ok(cbk_tensor_read(test_pair.reference.stream, x, back, sizeof back));
    assert_memory_equal(back, data + 1, sizeof back);
    cbk_tensor_release(&x);
    assert_int_equal(deleted, 1);
}

static void test_import_of_buffers(void **state) {
    (void)state;
    int deleted = 0;
    float back[4];
    int64_t shape[] = {2, 2}, strides[] = {1, 3};
    struct test_foreign foreign;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL;
    test_foreign_open(&foreign, test_pair.device.stream);
    assert_ok(cbk_opencl_open(test_pair.device.backend, foreign.context, foreign.queue, NULL,
                              &device, &stream));
    cl_mem mem = test_foreign_buffer(&foreign, 8, 0);
    cbk_dl_managed managed = {
        .major = 1, .minor = 0, .manager_ctx = &deleted, .deleter = count_deletion};
    managed.tensor = (cbk_dl_tensor){.data = mem,
                                     .device_type = CBK_DL_OPENCL,
                                     .ndim = 2,
                                     .code = 2,
                                     .bits = 32,
                                     .lanes = 1,
                                     .shape = shape,
                                     .strides = strides,
                                     .byte_offset = 8};
    assert_ok(cbk_dlpack_import(stream, &managed, &x));
    assert_ok(cbk_add_scalar_into(stream, x, cbk_f(100), x));
    assert_ok(cbk_tensor_read(stream, x, back, sizeof back));
    assert_true(back[0] == 102 && back[1] == 105 && back[2] == 103 && back[3] == 106);
    assert_true(test_foreign_at(foreign.queue, mem, 6) == 106);
    assert_int_equal(deleted, 0);
    cbk_tensor_release(&x);
    assert_int_equal(deleted, 1);
    // What must not be written to is copied.
    managed.flags = CBK_DL_READ_ONLY;
    assert_ok(cbk_dlpack_import(stream, &managed, &x));
    assert_ok(cbk_add_scalar_into(stream, x, cbk_f(1000), x));
    assert_ok(cbk_tensor_read(stream, x, back, sizeof back));
    assert_true(back[3] == 1106);
    assert_int_equal(deleted, 2);
    assert_true(test_foreign_at(foreign.queue, mem, 6) == 106);
    cbk_tensor_release(&x);
    assert_int_equal(deleted, 2);
    // Refused, and still the caller's.
    managed.flags = 0;
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_dlpack_import(test_pair.device.stream, &managed, &x)); // another context
    managed.tensor.byte_offset = 6;
    assert_status(CBK_ERROR_SHAPE, cbk_dlpack_import(stream, &managed, &x));
    managed.tensor.byte_offset = 16;
    assert_status(CBK_ERROR_SHAPE, cbk_dlpack_import(stream, &managed, &x));
    managed.tensor.byte_offset = 0;
    strides[1] = -1;
    assert_status(CBK_ERROR_SHAPE, cbk_dlpack_import(stream, &managed, &x));
    managed.tensor.data = NULL;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_dlpack_import(stream, &managed, &x));
    managed.tensor.data = mem;
    assert_status(CBK_ERROR_UNSUPPORTED,
                  cbk_dlpack_import(test_pair.reference.stream, &managed, &x));
    assert_ok(cbk_sync(stream));
    assert_int_equal(deleted, 2);
    cbk_stream_release(&stream);
    cbk_device_release(&device);
    clReleaseMemObject(mem);
    test_foreign_close(&foreign);
}

static void test_refused(void **state) {
    (void)state;
    int deleted = 0;
    float data[4] = {0};
    int64_t shape[] = {4};
    cbk_tensor *x = NULL, *y = make(test_pair.device.stream, CBK_DTYPE_F32);
    cbk_dl_managed *exported = NULL;
    cbk_stream *stream = test_pair.reference.stream;
    cbk_dl_managed good = {.major = 1, .manager_ctx = &deleted, .deleter = count_deletion};
    good.tensor = (cbk_dl_tensor){.data = data,
                                  .device_type = CBK_DL_CPU,
                                  .ndim = 1,
                                  .code = 2,
                                  .bits = 32,
                                  .lanes = 1,
                                  .shape = shape};
    cbk_dl_managed managed = good;
#define REFUSED(status, member, value)                                                             \
    managed = good;                                                                                \
    managed.member = (value);                                                                      \
    assert_status(status, cbk_dlpack_import(stream, &managed, &x));                                \
    assert_null(x)
    REFUSED(CBK_ERROR_VERSION, major, 2);
    managed.deleter(&managed); // what the caller may do whatever the version
    assert_int_equal(deleted, 1);
    REFUSED(CBK_ERROR_VERSION, major, 0);
    REFUSED(CBK_ERROR_DTYPE, tensor.lanes, 4);
    REFUSED(CBK_ERROR_DTYPE, tensor.code, 5);
    REFUSED(CBK_ERROR_DTYPE, tensor.bits, 4);
    REFUSED(CBK_ERROR_SHAPE, tensor.ndim, 9);
    REFUSED(CBK_ERROR_SHAPE, tensor.ndim, -1);
    REFUSED(CBK_ERROR_INVALID_ARGUMENT, tensor.shape, NULL);
    REFUSED(CBK_ERROR_INVALID_ARGUMENT, tensor.data, NULL);
    REFUSED(CBK_ERROR_INVALID_ARGUMENT, tensor.device_type, 2);
#undef REFUSED
    assert_int_equal(deleted, 1);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_dlpack_import(stream, NULL, &x));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_dlpack_import(NULL, &good, &x));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_dlpack_import(stream, &good, NULL));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_dlpack_export(stream, y, CBK_DL_CPU, &exported));
    stream = test_pair.device.stream;
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_dlpack_export(stream, y, 2, &exported));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_dlpack_export(stream, NULL, 1, &exported));
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_dlpack_export(stream, y, 1, NULL));
    cbk_tensor_release(&y);
    y = make(test_pair.reference.stream, CBK_DTYPE_F32);
    assert_status(CBK_ERROR_UNSUPPORTED,
                  cbk_dlpack_export(test_pair.reference.stream, y, CBK_DL_OPENCL, &exported));
    assert_null(exported);
    cbk_tensor_release(&y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_opencl),
        cmocka_unit_test(test_between_backends),
        cmocka_unit_test(test_views_and_sizes),
        cmocka_unit_test(test_import_of_host_views),
        cmocka_unit_test(test_import_of_buffers),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, test_pair_open, test_pair_close);
}
