/// Multiplies two matrices on the reference backend: a user's first program in C++.
#include <cstdio>
#include <memory>

#include <cubeback/cubeback.h>
#include <cubeback/ops.h>

template <class T, void (*release)(T **)> struct releaser {
    void operator()(T *handle) const {
        release(&handle);
    }
};
template <class T, void (*release)(T **)> using handle = std::unique_ptr<T, releaser<T, release>>;
using backend_handle = handle<cbk_backend, cbk_backend_release>;
using device_handle = handle<cbk_device, cbk_device_release>;
using stream_handle = handle<cbk_stream, cbk_stream_release>;
using tensor_handle = handle<cbk_tensor, cbk_tensor_release>;

static bool ok(cbk_status status) {
    if (status != CBK_OK)
        std::printf("%s: %s\n", cbk_status_string(status), cbk_last_error_message());
    return status == CBK_OK;
}

int main() {
    cbk_backend *raw_backend = nullptr;
    auto params = CBK_INIT(cbk_backend_params);
    params.flags = CBK_NO_ENVIRONMENT;
    if (!ok(cbk_reference_create(&params, &raw_backend))) return 1;
    const backend_handle backend(raw_backend);

    cbk_device *raw_device = nullptr;
    if (!ok(cbk_device_open(backend.get(), nullptr, &raw_device))) return 1;
    const device_handle device(raw_device);

    cbk_stream *raw_stream = nullptr;
    if (!ok(cbk_stream_create(device.get(), nullptr, &raw_stream))) return 1;
    const stream_handle stream(raw_stream);

    const int64_t shape[2] = {2, 2};
    const float data[4] = {1, 2, 3, 4};
    cbk_tensor *raw = nullptr;
    if (!ok(cbk_tensor_from_data(stream.get(), CBK_DTYPE_F32, 2, shape, data, sizeof data, &raw)))
        return 1;
    const tensor_handle x(raw);
    if (!ok(cbk_matmul(stream.get(), x.get(), x.get(), nullptr, &raw))) return 1;
    const tensor_handle y(raw);

    float product[4] = {};
    if (!ok(cbk_tensor_read(stream.get(), y.get(), product, sizeof product))) return 1;
    if (product[0] != 7 || product[3] != 22) return 1;
    std::printf("cubeback from C++: ok\n");
    return 0;
}
