/// captured.h: what suites of captured graphs share: the outputs of a function that is captured, and
/// their bytes.
#ifndef CUBEBACK_TEST_CAPTURED_H
#define CUBEBACK_TEST_CAPTURED_H

#include <cubeback/cubeback.h>

/// In a cbk_graph_function with a `status` and a label `done`.
#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

enum { TEST_OUTPUTS = 20 };
struct test_outputs {
    cbk_tensor *tensors[TEST_OUTPUTS];
    int count;
};

/// Where the next output goes.
cbk_tensor **test_next(struct test_outputs *outputs);
void test_release_outputs(struct test_outputs *outputs);

/// Reads the tensor to data + used, where `room` bytes end. What is used then.
size_t test_append(cbk_stream *stream, const cbk_tensor *tensor, unsigned char *data, size_t used,
                   size_t room);
/// Reads all outputs, one after the other. What is used then.
size_t test_read_outputs(cbk_stream *stream, const struct test_outputs *outputs,
                         unsigned char *data, size_t room);

/// A new tensor of normally distributed numbers, drawn as f32.
void test_draw(cbk_stream *stream, cbk_dtype dtype, uint32_t rank, const int64_t *shape,
               double deviation, cbk_tensor **out);

#endif
