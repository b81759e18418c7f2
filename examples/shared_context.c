/// shared_context: a program with an OpenCL context, queue and kernel of its own lets the library
/// work in them. Buffers go both ways without a copy, and nothing is waited for in between: the
/// queue's order is the order of the work.
#include <stdio.h>

#define CL_TARGET_OPENCL_VERSION 120 // what the program itself needs
#include <cubeback/opencl.h>
#include <cubeback/ops.h>

/// In a function with `cbk_status status` and a label `done`.
#define TRY(call)                                                                                  \
    if ((status = (call)) != CBK_OK) goto done
#define CL_TRY(code)                                                                               \
    if ((code) != CL_SUCCESS) {                                                                    \
        fprintf(stderr, "OpenCL error %d in line %d\n", (int)(code), __LINE__);                    \
        return 1;                                                                                  \
    }

enum { ROWS = 4, COLUMNS = 8, COUNT = ROWS * COLUMNS };

static const char text[] =
    "kernel void ramp(global float *x) { x[get_global_id(0)] = get_global_id(0) % 8; }\n"
    "kernel void percent(global float *x, ulong first) { x[first + get_global_id(0)] *= 100; }\n";

/// What the program has already: nothing here knows of the library.
struct program {
    cl_context context;
    cl_command_queue queue;
    cl_kernel ramp, percent;
    cl_mem input;
};

static int program_start(struct program *program) {
    const char *texts[] = {text};
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_int code = clGetPlatformIDs(1, &platform, NULL);
    CL_TRY(code);
    code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    CL_TRY(code);
    program->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    CL_TRY(code);
    program->queue = clCreateCommandQueue(program->context, device, 0, &code);
    CL_TRY(code);
    cl_program built = clCreateProgramWithSource(program->context, 1, texts, NULL, &code);
    CL_TRY(code);
    code = clBuildProgram(built, 1, &device, "", NULL, NULL);
    CL_TRY(code);
    program->ramp = clCreateKernel(built, "ramp", &code);
    CL_TRY(code);
    program->percent = clCreateKernel(built, "percent", &code);
    CL_TRY(code);
    clReleaseProgram(built);
    program->input =
        clCreateBuffer(program->context, CL_MEM_READ_WRITE, COUNT * sizeof(float), NULL, &code);
    CL_TRY(code);
    return 0;
}

static void program_end(struct program *program) {
    clReleaseMemObject(program->input);
    clReleaseKernel(program->percent);
    clReleaseKernel(program->ramp);
    clReleaseCommandQueue(program->queue);
    clReleaseContext(program->context);
}

static void note_release(void *user_data) {
    *(int *)user_data = 1;
}

/// The program's kernel on the library's memory.
static void run_percent(struct program *program, cl_mem memory, uint64_t offset_bytes) {
    const cl_ulong first = offset_bytes / sizeof(float);
    const size_t count = COUNT;
    clSetKernelArg(program->percent, 0, sizeof memory, &memory);
    clSetKernelArg(program->percent, 1, sizeof first, &first);
    clEnqueueNDRangeKernel(program->queue, program->percent, 1, NULL, &count, NULL, 0, NULL, NULL);
}

static int check(const float *y) {
    int wrong = 0;
    for (int row = 0; row < ROWS; row++) {
        double sum = 0;
        for (int i = 0; i < COLUMNS; i++) {
            const double value = (double)y[row * COLUMNS + i];
            printf("%6.2f%s", value, i + 1 < COLUMNS ? " " : " %\n");
            sum += value;
        }
        wrong += sum < 99.99 || sum > 100.01;
    }
    return wrong;
}

int main(void) {
    struct program program = {0};
    const size_t count = COUNT;
    float result[COUNT];
    int released = 0, wrong = 1;
    uint64_t offset_bytes = 0;
    cl_mem memory = NULL;
    cbk_status status = CBK_OK;
    cbk_backend *backend = NULL;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    cbk_tensor *x = NULL, *y = NULL;

    if (program_start(&program) != 0) return 1;
    TRY(cbk_opencl_create(NULL, &backend));
    TRY(cbk_opencl_open(backend, program.context, program.queue, NULL, &device, &stream));

    // The program writes its buffer, the library takes the softmax of it ...
    clSetKernelArg(program.ramp, 0, sizeof program.input, &program.input);
    clEnqueueNDRangeKernel(program.queue, program.ramp, 1, NULL, &count, NULL, 0, NULL, NULL);
    const cbk_opencl_memory input =
        CBK_INIT(cbk_opencl_memory, .dtype = CBK_DTYPE_F32, .rank = 2, .shape = {ROWS, COLUMNS},
                 .memory = program.input, .release = note_release, .user_data = &released);
    TRY(cbk_opencl_wrap(stream, &input, &x));
    TRY(cbk_softmax(stream, x, -1, &y));
    cbk_tensor_release(&x);

    // ... and the program goes on in the library's buffer.
    TRY(cbk_opencl_export(stream, y, &memory, &offset_bytes));
    run_percent(&program, memory, offset_bytes);
    TRY(cbk_tensor_read(stream, y, result, sizeof result)); // waits
    printf("softmax of 0 .. 7 in four rows, in percent:\n");
    wrong = check(result);
    printf("rows that do not add up to 100 %%: %d; the input was given back: %s\n", wrong,
           released ? "yes" : "no");
done:
    if (status != CBK_OK)
        fprintf(stderr, "%s: %s\n", cbk_status_string(status), cbk_last_error_message());
    cbk_tensor_release(&y);
    cbk_tensor_release(&x);
    cbk_stream_release(&stream);
    cbk_device_release(&device);
    cbk_backend_release(&backend);
    program_end(&program);
    return status == CBK_OK && wrong == 0 && released ? 0 : 1;
}
