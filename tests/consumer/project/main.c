/// Adds two tensors on the reference backend: a user's first program in C.
#include <stdio.h>

#include <cubeback/cubeback.h>
#include <cubeback/ops.h>

int main(void) {
    const int64_t shape[2] = {2, 2};
    const float data[4] = {1, 2, 3, 4};
    float sums[4] = {0};
    cbk_backend *backend = NULL;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL, *y = NULL;
    cbk_status status = cbk_reference_create(NULL, &backend);

    if (!status) status = cbk_device_open(backend, NULL, &device);
    if (!status) status = cbk_stream_create(device, NULL, &stream);
    if (!status)
        status = cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape, data, sizeof data, &x);
    if (!status) status = cbk_add(stream, x, x, &y);
    if (!status) status = cbk_tensor_read(stream, y, sums, sizeof sums);
    if (status) printf("%s: %s\n", cbk_status_string(status), cbk_last_error_message());
    cbk_tensor_release(&y);
    cbk_tensor_release(&x);
    cbk_stream_release(&stream);
    cbk_device_release(&device);
    cbk_backend_release(&backend);
    if (status || sums[0] != 2 || sums[3] != 8) return 1;
    printf("cubeback %d.%d.%d from C: ok\n", (int)(cbk_version() / 10000),
           (int)(cbk_version() / 100 % 100), (int)(cbk_version() % 100));
    return cbk_version() == CBK_VERSION ? 0 : 1;
}
