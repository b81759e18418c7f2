// table.c: see table.h.

#include "table.h"
#include "compare.h"

#include <stdlib.h>

cbk_stream *test_table_stream;

int test_table_open(void **state) {
    cbk_backend *backend = NULL;
    (void)state;
    if (cbk_reference_create(NULL, &backend) != CBK_OK ||
        !test_side_open(&test_pair.reference, "reference", backend, false))
        return -1;
    test_table_stream = test_pair.reference.stream;
    return 0;
}

int test_table_close(void **state) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    (void)state;
    cbk_status status = cbk_memory_usage(test_pair.reference.device, &info);
    test_side_close(&test_pair.reference);
    return status == CBK_OK && info.allocation_count == 0 ? 0 : -1;
}

cbk_tensor *test_vector(cbk_dtype dtype, int64_t count, const void *data) {
    cbk_tensor *tensor = NULL;
    assert_ok(cbk_tensor_from_data(test_table_stream, dtype, 1, &count, data,
                                   (uint64_t)count * cbk_dtype_size(dtype), &tensor));
    return tensor;
}

void test_expect(cbk_tensor *tensor, cbk_dtype dtype, int64_t count, const void *data,
                 const char *file, int line) {
    static const struct test_tolerance exact = {.closeness = TEST_ULPS, .signed_zero = true};
    uint64_t size = (uint64_t)count * cbk_dtype_size(dtype);
    assert_int_equal(cbk_tensor_dtype(tensor), dtype);
    assert_int_equal(cbk_tensor_element_count(tensor), count);
    void *got = malloc((size_t)size + 1);
    assert_non_null(got);
    assert_ok(cbk_tensor_read(test_table_stream, tensor, got, size));
    int64_t at = test_first_difference(data, got, dtype, count, &exact, NULL);
    if (at >= 0)
        print_error("%s:%d: element %d: want %.17g, got %.17g\n", file, line, (int)at,
                    test_to_double(data, dtype, at), test_to_double(got, dtype, at));
    free(got);
    cbk_tensor_release(&tensor);
    assert_true(at < 0);
}

cbk_tensor *test_unary(test_unary_function function, cbk_tensor *x) {
    cbk_tensor *out = NULL;
    assert_ok(function(test_table_stream, x, &out));
    cbk_tensor_release(&x);
    return out;
}

cbk_tensor *test_binary(test_binary_function function, cbk_tensor *a, cbk_tensor *b) {
    cbk_tensor *out = NULL;
    assert_ok(function(test_table_stream, a, b, &out));
    cbk_tensor_release(&a);
    cbk_tensor_release(&b);
    return out;
}

cbk_tensor *test_cast(cbk_tensor *x, cbk_dtype dtype) {
    cbk_tensor *out = NULL;
    assert_ok(cbk_cast(test_table_stream, x, dtype, &out));
    cbk_tensor_release(&x);
    return out;
}
