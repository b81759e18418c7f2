/// quickstart: a softmax over a matrix product, on the best device found.
#include <stdio.h>

#include <cubeback/cubeback.h>
#include <cubeback/ops.h>

/// In a function with `cbk_status status` and a label `done`.
#define TRY(call)                                                                                  \
    if ((status = (call)) != CBK_OK) goto done

int main(void) {
    const int64_t shape_x[] = {2, 3}, shape_w[] = {3, 4};
    const float x_data[] = {1, 2, 3, 4, 5, 6};
    const float w_data[] = {.1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f, .9f, 1.f, 1.1f, 1.2f};
    float y_data[2][4];
    cbk_status status = CBK_OK;
    cbk_backend *backend = NULL;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL, *w = NULL, *product = NULL, *y = NULL;
    cbk_device_info info = CBK_INIT(cbk_device_info);

    TRY(cbk_opencl_create(NULL, &backend));
    TRY(cbk_device_open(backend, NULL, &device));
    TRY(cbk_device_get_info(device, &info));
    TRY(cbk_stream_create(device, NULL, &stream));

    TRY(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape_x, x_data, sizeof x_data, &x));
    TRY(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape_w, w_data, sizeof w_data, &w));
    TRY(cbk_matmul(stream, x, w, NULL, &product));
    TRY(cbk_softmax(stream, product, -1, &y));
    TRY(cbk_tensor_read(stream, y, y_data, sizeof y_data)); // waits

    printf("on %s:\n", info.name);
    for (int row = 0; row < 2; row++)
        printf("%.4f %.4f %.4f %.4f\n", (double)y_data[row][0], (double)y_data[row][1],
               (double)y_data[row][2], (double)y_data[row][3]);
done:
    if (status != CBK_OK)
        fprintf(stderr, "%s: %s\n", cbk_status_string(status), cbk_last_error_message());
    cbk_tensor_release(&y);
    cbk_tensor_release(&product);
    cbk_tensor_release(&w);
    cbk_tensor_release(&x);
    cbk_stream_release(&stream);
    cbk_device_release(&device);
    cbk_backend_release(&backend);
    return status == CBK_OK ? 0 : 1;
}
