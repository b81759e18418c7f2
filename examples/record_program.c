/// record_program: records a training step of a one-layer classifier and saves it to a file, as for
/// a bug report. Play it with
///
///     cubeback-replay FILE --compare reference
///
/// The weights are an input of the program, which each run writes anew; the batch and the noise on
/// it are part of the program.
#include <stdio.h>

#include <cubeback/ir.h>

/// In a function with `cbk_status status` and a label `done`.
#define TRY(call)                                                                                  \
    if ((status = (call)) != CBK_OK) goto done

enum { BATCH = 8, FEATURES = 5, CLASSES = 3 };

/// weights -= 0.1 * gradient of the cross entropy; gives the probabilities.
static cbk_status train(cbk_stream *stream, const cbk_tensor *x, const cbk_tensor *labels,
                        cbk_tensor *weights, cbk_tensor **out) {
    const int64_t shape[] = {BATCH, FEATURES};
    cbk_status status = CBK_OK;
    cbk_tensor *noise = NULL, *noisy = NULL, *logits = NULL, *error = NULL, *turned = NULL;
    cbk_tensor *gradient = NULL, *step = NULL;

    TRY(cbk_random_normal(stream, CBK_DTYPE_F32, 2, shape, 0, .01, &noise));
    TRY(cbk_add(stream, x, noise, &noisy));
    TRY(cbk_matmul(stream, noisy, weights, NULL, &logits));
    TRY(cbk_softmax(stream, logits, -1, out));
    TRY(cbk_sub(stream, *out, labels, &error));
    TRY(cbk_transpose(stream, noisy, 0, 1, &turned));
    TRY(cbk_matmul(stream, turned, error, NULL, &gradient));
    TRY(cbk_mul_scalar(stream, gradient, cbk_f(.1 / BATCH), &step));
    TRY(cbk_sub_into(stream, weights, step, weights));
done:
    cbk_tensor_release(&step);
    cbk_tensor_release(&gradient);
    cbk_tensor_release(&turned);
    cbk_tensor_release(&error);
    cbk_tensor_release(&logits);
    cbk_tensor_release(&noisy);
    cbk_tensor_release(&noise);
    return status;
}

static cbk_status record(cbk_stream *stream, cbk_ir_program **out) {
    const int64_t shape_x[] = {BATCH, FEATURES}, shape_w[] = {FEATURES, CLASSES};
    const int64_t shape_y[] = {BATCH, CLASSES};
    float x_data[BATCH][FEATURES], y_data[BATCH][CLASSES] = {{0}};
    cbk_status status = CBK_OK;
    cbk_tensor *x = NULL, *labels = NULL, *weights = NULL, *y = NULL;
    for (int i = 0; i < BATCH; i++) {
        for (int k = 0; k < FEATURES; k++) x_data[i][k] = (float)((i * 7 + k * 3) % 11) / 11;
        y_data[i][i % CLASSES] = 1;
    }
    TRY(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape_x, x_data, sizeof x_data, &x));
    TRY(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape_y, y_data, sizeof y_data, &labels));
    TRY(cbk_random_normal(stream, CBK_DTYPE_F32, 2, shape_w, 0, .5, &weights));

    const cbk_tensor *inputs[] = {weights};
    const cbk_ir_record_params params =
        CBK_INIT(cbk_ir_record_params, .inputs = inputs, .input_count = 1);
    TRY(cbk_ir_begin(stream, &params));
    TRY(train(stream, x, labels, weights, &y));
    const cbk_tensor *outputs[] = {y, weights};
    TRY(cbk_ir_end(stream, outputs, 2, out));
done:
    cbk_tensor_release(&y);
    cbk_tensor_release(&weights);
    cbk_tensor_release(&labels);
    cbk_tensor_release(&x);
    return status;
}

int main(int argc, char **argv) {
    cbk_status status = CBK_OK;
    cbk_backend *opencl = NULL, *recorder = NULL;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_ir_program *program = NULL;
    if (argc != 2) return fprintf(stderr, "Usage: record_program FILE\n"), 2;

    TRY(cbk_opencl_create(NULL, &opencl));
    TRY(cbk_ir_recorder_create(opencl, &recorder));
    TRY(cbk_device_open(recorder, NULL, &device));
    TRY(cbk_stream_create(device, NULL, &stream));
    TRY(record(stream, &program));
    TRY(cbk_ir_save(program, argv[1]));
    printf("saved to %s\n", argv[1]);
done:
    if (status != CBK_OK)
        fprintf(stderr, "%s: %s\n", cbk_status_string(status), cbk_last_error_message());
    cbk_ir_program_release(&program);
    cbk_stream_release(&stream);
    cbk_device_release(&device);
    cbk_backend_release(&recorder);
    cbk_backend_release(&opencl);
    return status == CBK_OK ? 0 : 1;
}
