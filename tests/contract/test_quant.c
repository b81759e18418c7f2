// test_quant.c: quantized tensors are stored as their serialised bytes, on each built-in backend.
#include "device.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

static struct test_side reference, device;

static int open_sides(void **state) {
    const cbk_backend_params params = test_backend_params();
    const char *wanted = getenv("CUBEBACK_TEST_BACKEND");
    const bool reference_alone = wanted != NULL && strcmp(wanted, "reference") == 0;
    cbk_backend *a = NULL, *b = NULL;
    (void)state;
    assert_ok(cbk_reference_create(&params, &a));
    if (!test_side_open(&reference, "reference", a, false)) return -1;
    assert_ok((reference_alone ? cbk_reference_create : cbk_opencl_create)(&params, &b));
    return test_side_open(&device, "device", b, !reference_alone) ? 0 : -1;
}

static int close_sides(void **state) {
    (void)state;
    const int result = test_side_finish(&device);
    return test_side_finish(&reference) | result;
}

struct form {
    cbk_quant quant;
    uint32_t rank;
    int64_t shape[2];
    uint64_t bytes; ///< values, block scales, global scale
};

#define QUANT(...)                                                                                 \
    { .struct_size = sizeof(cbk_quant), __VA_ARGS__ }

static const struct form forms[] = {
    {QUANT(.value = CBK_QUANT_Q8S), 2, {3, 5}, 15 + 4},
    {QUANT(.value = CBK_QUANT_Q8F, .store = CBK_QUANT_PACKED_U32, .packed_axis = -1,
           .block = {1, 4}, .scale_dtype = CBK_DTYPE_F16),
     2,
     {3, 8},
     24 + 6 * 2},
    {QUANT(.value = CBK_QUANT_Q4S, .packed_axis = 1, .block = {2, 8}), 2, {4, 16}, 32 + 4 * 4},
    {QUANT(.value = CBK_QUANT_Q2F, .packed_axis = 0), 1, {32}, 8 + 4},
    {QUANT(.value = CBK_QUANT_E2M1, .store = CBK_QUANT_PACKED_NATIVE, .packed_axis = 1,
           .block = {1, 16}, .scale_dtype = CBK_DTYPE_F8E4M3, .global_scale_dtype = CBK_DTYPE_F32),
     2,
     {2, 32},
     32 + 4 + 4},
    {QUANT(.value = CBK_QUANT_E4M3, .scale_dtype = CBK_DTYPE_BF16), 0, {0}, 1 + 2},
    {QUANT(.value = CBK_QUANT_E5M2), 2, {0, 3}, 0},
};

static cbk_status create(cbk_stream *stream, const struct form *form, cbk_tensor **out) {
    cbk_tensor_params params = CBK_INIT(cbk_tensor_params, .dtype = CBK_DTYPE_QUANT,
                                        .rank = form->rank, .quant = &form->quant);
    memcpy(params.shape, form->shape, sizeof form->shape);
    return cbk_tensor_create(stream, &params, out);
}

static void bytes_go_everywhere(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *form = &forms[i];
        unsigned char data[256], back[256];
        cbk_tensor *here = NULL, *there = NULL, *again = NULL;
        for (size_t k = 0; k < sizeof data; k++) data[k] = (unsigned char)(7 * k + i);
        memset(back, 0xa5, sizeof back);
        assert_ok(create(device.stream, form, &here));
        assert_int_equal(cbk_tensor_dtype(here), CBK_DTYPE_QUANT);
        assert_int_equal(cbk_tensor_quant(here)->value, form->quant.value);
        assert_ok(cbk_tensor_write(device.stream, here, data, form->bytes));
        assert_status(CBK_ERROR_INVALID_ARGUMENT,
                      cbk_tensor_write(device.stream, here, data, form->bytes + 1));
        assert_ok(cbk_tensor_to_device(device.stream, here, reference.stream, &there));
        assert_ok(cbk_tensor_to_device(reference.stream, there, device.stream, &again));
        cbk_tensor_release(&here);
        cbk_tensor_release(&there);
        assert_ok(cbk_tensor_to_device(device.stream, again, device.stream, &here));
        cbk_tensor_release(&again);
        assert_ok(cbk_tensor_read(device.stream, here, back, form->bytes));
        assert_memory_equal(data, back, form->bytes);
        if (form->bytes < sizeof back) assert_int_equal(back[form->bytes], 0xa5);
        assert_int_equal(cbk_tensor_quant(here)->store != 0, 1);
        cbk_tensor_release(&here);
    }
}

static void usage_is_storage_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        uint32_t usage = 0;
        assert_ok(cbk_dtype_usage(device.device, CBK_DTYPE_QUANT, &forms[i].quant, &usage));
        assert_int_equal(usage, CBK_USAGE_STORAGE);
        assert_ok(cbk_dtype_usage(reference.device, CBK_DTYPE_QUANT, &forms[i].quant, &usage));
        assert_int_equal(usage, CBK_USAGE_STORAGE);
    }
    uint32_t usage = 1;
    assert_status(CBK_ERROR_INVALID_ARGUMENT,
                  cbk_dtype_usage(device.device, CBK_DTYPE_QUANT, NULL, &usage));
    assert_ok(cbk_dtype_usage(device.device, CBK_DTYPE_BOOL_NATIVE, NULL, &usage));
    assert_int_equal(usage, 0);
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_supports_dtype(device.device, CBK_DTYPE_QUANT));
    assert_status(CBK_ERROR_UNSUPPORTED, cbk_supports_dtype(device.device, CBK_DTYPE_BOOL_NATIVE));
}

static void operations_refuse_it(void **state) {
    (void)state;
    cbk_tensor *x = NULL, *out = NULL;
    assert_ok(create(device.stream, &forms[0], &x));
    assert_status(CBK_ERROR_DTYPE, cbk_add(device.stream, x, x, &out));
    assert_status(CBK_ERROR_DTYPE, cbk_transpose(device.stream, x, 0, 1, &out));
    assert_status(CBK_ERROR_DTYPE, cbk_copy(device.stream, x, &out));
    assert_status(CBK_ERROR_DTYPE, cbk_cast(device.stream, x, CBK_DTYPE_F32, &out));
    assert_null(out);
    cbk_tensor_release(&x);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    const struct {
        cbk_status status;
        struct form form;
    } bad[] = {
        {CBK_ERROR_INVALID_ARGUMENT, {QUANT(.value = 0), 2, {3, 8}, 0}},
        {CBK_ERROR_INVALID_ARGUMENT, {QUANT(.value = 10), 2, {3, 8}, 0}},
        {CBK_ERROR_INVALID_ARGUMENT, {QUANT(.value = CBK_QUANT_Q8S, .store = 4), 2, {3, 8}, 0}},
        {CBK_ERROR_INVALID_ARGUMENT,
         {QUANT(.value = CBK_QUANT_Q4S, .store = CBK_QUANT_NATIVE), 2, {3, 8}, 0}},
        {CBK_ERROR_INVALID_ARGUMENT,
         {QUANT(.value = CBK_QUANT_Q4S, .store = CBK_QUANT_PACKED_NATIVE), 2, {3, 8}, 0}},
        {CBK_ERROR_SHAPE, {QUANT(.value = CBK_QUANT_Q4S, .packed_axis = 1), 2, {3, 12}, 0}},
        {CBK_ERROR_SHAPE, {QUANT(.value = CBK_QUANT_Q8S, .block = {2}), 2, {3, 8}, 0}},
        {CBK_ERROR_SHAPE, {QUANT(.value = CBK_QUANT_Q8S, .block = {-1}), 2, {3, 8}, 0}},
        {CBK_ERROR_SHAPE, {QUANT(.value = CBK_QUANT_Q8S, .block = {1, 1, 3}), 2, {3, 8}, 0}},
        {CBK_ERROR_AXIS, {QUANT(.value = CBK_QUANT_Q4S, .packed_axis = 2), 2, {8, 8}, 0}},
        {CBK_ERROR_AXIS, {QUANT(.value = CBK_QUANT_Q4S), 0, {0}, 0}},
        {CBK_ERROR_DTYPE,
         {QUANT(.value = CBK_QUANT_Q8S, .scale_dtype = CBK_DTYPE_F64), 2, {3, 8}, 0}},
        {CBK_ERROR_DTYPE,
         {QUANT(.value = CBK_QUANT_Q8S, .global_scale_dtype = CBK_DTYPE_F16), 2, {3, 8}, 0}},
        {CBK_ERROR_OVERFLOW, {QUANT(.value = CBK_QUANT_Q8S), 2, {INT64_MAX / 4, 2}, 0}},
        {CBK_ERROR_OVERFLOW, {QUANT(.value = CBK_QUANT_Q8S), 2, {INT64_MAX, 8}, 0}},
    };
    cbk_tensor *out = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_status(bad[i].status, create(device.stream, &bad[i].form, &out));
        assert_null(out);
    }
    const cbk_tensor_params none = CBK_INIT(cbk_tensor_params, .dtype = CBK_DTYPE_QUANT);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_create(device.stream, &none, &out));
    cbk_tensor_params padded =
        CBK_INIT(cbk_tensor_params, .dtype = CBK_DTYPE_QUANT, .rank = 2, .shape = {3, 5},
                 .quant = &forms[0].quant, .flags = CBK_TENSOR_PITCHED);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_tensor_create(device.stream, &padded, &out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_everywhere),
        cmocka_unit_test(usage_is_storage_alone),
        cmocka_unit_test(operations_refuse_it),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, open_sides, close_sides);
}
