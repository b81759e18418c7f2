// captured.c: outputs of functions that are captured.

#include "captured.h"
#include "support.h"

cbk_tensor **test_next(struct test_outputs *outputs) {
    assert_true(outputs->count < TEST_OUTPUTS);
    return &outputs->tensors[outputs->count++];
}

void test_release_outputs(struct test_outputs *outputs) {
    while (outputs->count > 0) cbk_tensor_release(&outputs->tensors[--outputs->count]);
}

size_t test_append(cbk_stream *stream, const cbk_tensor *tensor, unsigned char *data, size_t used,
                   size_t room) {
    const size_t size =
        (size_t)cbk_tensor_element_count(tensor) * cbk_dtype_size(cbk_tensor_dtype(tensor));
    assert_true(used + size <= room);
    assert_ok(cbk_tensor_read(stream, tensor, data + used, size));
    return used + size;
}

size_t test_read_outputs(cbk_stream *stream, const struct test_outputs *outputs,
                         unsigned char *data, size_t room) {
    size_t used = 0;
    for (int i = 0; i < outputs->count; i++)
        used = test_append(stream, outputs->tensors[i], data, used, room);
    return used;
}

void test_draw(cbk_stream *stream, cbk_dtype dtype, uint32_t rank, const int64_t *shape,
               double deviation, cbk_tensor **out) {
    cbk_tensor *drawn = NULL;
    assert_ok(cbk_random_normal(stream, CBK_DTYPE_F32, rank, shape, 0, deviation, &drawn));
    assert_ok(cbk_cast(stream, drawn, dtype, out));
    cbk_tensor_release(&drawn);
}
