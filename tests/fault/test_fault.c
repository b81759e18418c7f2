/// test_fault.c: programs over the public functions while the nth OpenCL call or host allocation
/// fails, for every n: a clean error or the right result, nothing kept, and the same program works
/// directly afterwards on the same device.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "fault_side.h"
#include "support.h"

enum { CODES = 2, MOST_CALLS = 3000, ROWS = 6, INNER = 4, COLUMNS = 3 };

static const cl_int codes[CODES] = {CL_OUT_OF_RESOURCES, CL_MEM_OBJECT_ALLOCATION_FAILURE};

static struct cbk_rt_cl table;

// ---- programs --------------------------------------------------------------------------------------

enum { TENSORS = 12 };

/// What a program holds; whatever happens, it is released at the end.
struct hold {
    cbk_stream *stream, *other;
    cbk_event *event;
    cbk_graph *graph;
    cbk_tensor *t[TENSORS];
};

static void release(struct hold *hold) {
    for (int i = 0; i < TENSORS; i++) cbk_tensor_release(&hold->t[i]);
    cbk_event_release(&hold->event);
    cbk_graph_release(&hold->graph);
    cbk_stream_release(&hold->other);
    cbk_stream_release(&hold->stream);
}

static cbk_status expect(bool is_right) {
    return is_right ? CBK_OK
                    : cbk_fail(CBK_ERROR_INTERNAL, 0, "a result is wrong and no call said so");
}

static cbk_status matrix(cbk_stream *stream, int64_t rows, int64_t columns, float value,
                         cbk_tensor **out) {
    float data[64];
    const int64_t shape[2] = {rows, columns};
    for (int64_t i = 0; i < rows * columns; i++) data[i] = value + (float)i;
    return cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape, data,
                                (uint64_t)(rows * columns) * sizeof(float), out);
}

static cbk_status pointwise(cbk_device *device) {
    struct hold h = {NULL};
    float back[ROWS * INNER], more[ROWS * INNER];
    cbk_status status = CBK_OK;
    RT_TRY(cbk_stream_create(device, NULL, &h.stream));
    RT_TRY(matrix(h.stream, ROWS, INNER, -3, &h.t[0]));
    RT_TRY(matrix(h.stream, ROWS, INNER, 1, &h.t[1]));
    RT_TRY(cbk_add(h.stream, h.t[0], h.t[1], &h.t[2]));
    RT_TRY(cbk_relu(h.stream, h.t[2], &h.t[3]));
    RT_TRY(cbk_mul_scalar(h.stream, h.t[3], cbk_f(2), &h.t[4]));
    RT_TRY(cbk_add_into(h.stream, h.t[4], h.t[1], h.t[4]));
    const cbk_read_request requests[] = {{h.t[4], back, sizeof back}, {h.t[3], more, sizeof more}};
    RT_TRY(cbk_tensor_read_many(h.stream, requests, 2));
    for (int i = 0; i < ROWS * INNER; i++) {
        const float sum = -2.0f + 2.0f * (float)i, rectified = sum > 0 ? sum : 0;
        RT_TRY(expect(more[i] == rectified && back[i] == 2 * rectified + 1 + (float)i));
    }
done:
    release(&h);
    return status;
}

static cbk_status views_and_sums(cbk_device *device) {
    struct hold h = {NULL};
    float back[INNER] = {0}, total = 0;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_stream_create(device, NULL, &h.stream));
    RT_TRY(matrix(h.stream, ROWS, INNER, 0, &h.t[0]));
    RT_TRY(cbk_transpose(h.stream, h.t[0], 0, 1, &h.t[1]));
    RT_TRY(cbk_flip(h.stream, h.t[1], 0, NULL, &h.t[2]));
    RT_TRY(cbk_copy(h.stream, h.t[2], &h.t[3]));
    RT_TRY(cbk_sum(h.stream, h.t[3], &CBK_INIT(cbk_reduce_params, .axis_count = 1, .axes = {1}),
                   &h.t[4]));
    RT_TRY(cbk_tensor_read(h.stream, h.t[4], back, sizeof back));
    for (int j = 0; j < INNER; j++) {
        float sum = 0;
        for (int i = 0; i < ROWS; i++) sum += (float)(i * INNER + INNER - 1 - j);
        RT_TRY(expect(back[j] == sum));
    }
    RT_TRY(cbk_sum(h.stream, h.t[0], NULL, &h.t[5]));
    RT_TRY(cbk_tensor_read(h.stream, h.t[5], &total, sizeof total));
    RT_TRY(expect(total == 276));
done:
    release(&h);
    return status;
}

static cbk_status product(cbk_device *device) {
    struct hold h = {NULL};
    float back[ROWS * COLUMNS];
    cbk_status status = CBK_OK;
    RT_TRY(cbk_stream_create(device, NULL, &h.stream));
    RT_TRY(matrix(h.stream, ROWS, INNER, 0, &h.t[0]));
    RT_TRY(matrix(h.stream, INNER, COLUMNS, 1, &h.t[1]));
    RT_TRY(cbk_matmul(h.stream, h.t[0], h.t[1], NULL, &h.t[2]));
    RT_TRY(cbk_tensor_read(h.stream, h.t[2], back, sizeof back));
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            float sum = 0;
            for (int k = 0; k < INNER; k++) {
                sum += (float)(i * INNER + k) * (float)(1 + k * COLUMNS + j);
            }
            RT_TRY(expect(back[i * COLUMNS + j] == sum));
        }
    }
done:
    release(&h);
    return status;
}

static cbk_status indices(cbk_device *device) {
    struct hold h = {NULL};
    static const int64_t chosen[3] = {5, 0, 2}, shape[1] = {3};
    float back[3 * INNER];
    cbk_status status = CBK_OK;
    RT_TRY(cbk_stream_create(device, NULL, &h.stream));
    RT_TRY(matrix(h.stream, ROWS, INNER, 0, &h.t[0]));
    RT_TRY(cbk_tensor_from_data(h.stream, CBK_DTYPE_I64, 1, shape, chosen, sizeof chosen, &h.t[1]));
    RT_TRY(cbk_select(h.stream, h.t[0], h.t[1], 0, &h.t[2]));
    RT_TRY(cbk_softmax(h.stream, h.t[0], 1, &h.t[3]));
    RT_TRY(cbk_tensor_read(h.stream, h.t[2], back, sizeof back));
    for (int i = 0; i < 3 * INNER; i++) {
        RT_TRY(expect(back[i] == (float)(chosen[i / INNER] * INNER + i % INNER)));
    }
done:
    release(&h);
    return status;
}

/// Calls that wait for a length, operations with temporaries, a list of members.
static cbk_status compaction(cbk_device *device) {
    struct hold h = {NULL};
    enum { COUNT = ROWS * INNER - 1, MEMBERS = 17 };
    float picked[COUNT], selected[COUNT];
    const cbk_tensor *members[MEMBERS];
    cbk_status status = CBK_OK;
    RT_TRY(cbk_stream_create(device, NULL, &h.stream));
    RT_TRY(matrix(h.stream, ROWS, INNER, -1, &h.t[0])); // one of them is 0
    RT_TRY(cbk_argwhere(h.stream, h.t[0], &h.t[1]));
    RT_TRY(cbk_gather_nd(h.stream, h.t[0], h.t[1], &h.t[2]));
    RT_TRY(cbk_cast(h.stream, h.t[0], CBK_DTYPE_BOOL, &h.t[3]));
    RT_TRY(cbk_mask_select(h.stream, h.t[0], h.t[3], &h.t[4]));
    RT_TRY(cbk_scatter_nd(h.stream, h.t[0], h.t[1], h.t[4], CBK_UPDATE_ADD, &h.t[5]));
    for (int i = 0; i < MEMBERS; i++) members[i] = h.t[2];
    RT_TRY(cbk_stack(h.stream, members, MEMBERS, 1, &h.t[6]));
    RT_TRY(cbk_repeat_dim(h.stream, h.t[6], 0, 2, &h.t[7]));
    RT_TRY(cbk_tensor_read(h.stream, h.t[2], picked, sizeof picked));
    RT_TRY(cbk_tensor_read(h.stream, h.t[4], selected, sizeof selected));
    for (int i = 0; i < COUNT; i++) {
        RT_TRY(expect(picked[i] == (float)(i == 0 ? -1 : i) && selected[i] == picked[i]));
    }
done:
    release(&h);
    return status;
}

static cbk_status streams_and_events(cbk_device *device) {
    struct hold h = {NULL};
    float back[ROWS * INNER];
    uint32_t is_done = 0;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_stream_create(device, NULL, &h.stream));
    RT_TRY(cbk_stream_create(device, NULL, &h.other));
    RT_TRY(matrix(h.stream, ROWS, INNER, 0, &h.t[0]));
    RT_TRY(cbk_event_record(h.stream, &h.event));
    RT_TRY(cbk_stream_wait_event(h.other, h.event));
    RT_TRY(cbk_add(h.other, h.t[0], h.t[0], &h.t[1]));
    RT_TRY(cbk_add(h.stream, h.t[1], h.t[0], &h.t[2]));
    RT_TRY(cbk_event_wait(h.event));
    RT_TRY(cbk_event_query(h.event, &is_done));
    RT_TRY(expect(is_done == 1));
    RT_TRY(cbk_tensor_read(h.other, h.t[2], back, sizeof back));
    for (int i = 0; i < ROWS * INNER; i++) RT_TRY(expect(back[i] == 3 * (float)i));
    RT_TRY(cbk_sync(h.stream));
    RT_TRY(cbk_flush(h.other));
done:
    release(&h);
    return status;
}

static cbk_status reads_in_flight(cbk_device *device) {
    struct hold h = {NULL};
    float back[ROWS * INNER], more[ROWS * INNER];
    cbk_status status = CBK_OK;
    RT_TRY(cbk_stream_create(device, NULL, &h.stream));
    RT_TRY(cbk_stream_create(device, NULL, &h.other));
    RT_TRY(matrix(h.stream, ROWS, INNER, 0, &h.t[0]));
    RT_TRY(cbk_add(h.other, h.t[0], h.t[0], &h.t[1]));
    RT_TRY(cbk_transpose(h.stream, h.t[1], 0, 1, &h.t[2]));
    const cbk_read_request requests[] = {{h.t[0], back, sizeof back}, {h.t[2], more, sizeof more}};
    RT_TRY(cbk_tensor_read_async(h.stream, requests, 2, &h.event));
    status = cbk_event_wait(h.event);
    // Whatever went wrong: nothing may come into these places any more.
    const cbk_status last = cbk_sync(h.stream);
    if (status == CBK_OK) status = last;
    if (status != CBK_OK) goto done;
    for (int i = 0; i < ROWS * INNER; i++) {
        RT_TRY(expect(back[i] == (float)i && more[i % INNER * ROWS + i / INNER] == 2 * (float)i));
    }
done:
    release(&h);
    return status;
}

static cbk_status random_draws(cbk_device *device) {
    struct hold h = {NULL};
    float first[32], again[32];
    const int64_t shape[1] = {32};
    cbk_status status = CBK_OK;
    RT_TRY(cbk_stream_create(device, NULL, &h.stream));
    RT_TRY(cbk_seed(device, 5));
    RT_TRY(cbk_random_uniform(h.stream, CBK_DTYPE_F32, 1, shape, 0, 1, &h.t[0]));
    RT_TRY(cbk_seed(device, 5));
    RT_TRY(cbk_random_uniform(h.stream, CBK_DTYPE_F32, 1, shape, 0, 1, &h.t[1]));
    const cbk_read_request requests[] = {{h.t[0], first, sizeof first},
                                         {h.t[1], again, sizeof again}};
    RT_TRY(cbk_tensor_read_many(h.stream, requests, 2));
    RT_TRY(expect(memcmp(first, again, sizeof first) == 0));
done:
    release(&h);
    return status;
}

static cbk_status memory(cbk_device *device) {
    struct hold h = {NULL};
    void *staging = NULL;
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    const int64_t large[2] = {2048, 2048}, small[1] = {3};
    cbk_status status = CBK_OK;
    RT_TRY(cbk_stream_create(device, NULL, &h.stream));
    RT_TRY(cbk_persistent_begin(h.stream));
    status = cbk_tensor_empty(h.stream, CBK_DTYPE_F32, 2, large, &h.t[0]);
    if (cbk_persistent_end(h.stream) != CBK_OK) status = CBK_ERROR_INTERNAL;
    if (status != CBK_OK) goto done;
    RT_TRY(cbk_tensor_empty(h.stream, CBK_DTYPE_F32, 2, large, &h.t[1]));
    RT_TRY(cbk_tensor_empty(h.stream, CBK_DTYPE_F32, 1, small, &h.t[2]));
    RT_TRY(cbk_staging_alloc(device, 100, &staging));
    RT_TRY(cbk_memory_usage(device, &info));
    RT_TRY(cbk_memory_cleanup(device));
done:
    cbk_staging_free(device, &staging);
    release(&h);
    return status;
}

/// t[0] becomes the sum of itself and what the product with a constant gives; t[6] is drawn.
static cbk_status step(cbk_stream *stream, void *user_data) {
    struct hold *h = user_data;
    const int64_t shape[1] = {8};
    cbk_status status = CBK_OK;
    for (int i = 2; i < 7; i++) cbk_tensor_release(&h->t[i]);
    RT_TRY(cbk_matmul(stream, h->t[0], h->t[1], NULL, &h->t[2]));
    RT_TRY(cbk_relu(stream, h->t[2], &h->t[3]));
    cbk_tensor_release(&h->t[2]); // the activation joins the product
    RT_TRY(cbk_transpose(stream, h->t[3], 0, 1, &h->t[4]));
    RT_TRY(cbk_copy(stream, h->t[4], &h->t[5]));
    RT_TRY(cbk_add_into(stream, h->t[0], h->t[4], h->t[0]));
    RT_TRY(cbk_random_uniform(stream, CBK_DTYPE_F32, 1, shape, 0, 1, &h->t[6]));
done:
    return status;
}

static cbk_status capture_and_replay(cbk_device *device) {
    struct hold h = {NULL};
    float eager[2][8], replayed[8], back[4];
    cbk_status status = CBK_OK;
    RT_TRY(cbk_stream_create(device, NULL, &h.stream));
    RT_TRY(matrix(h.stream, 2, 2, 1, &h.t[0])); // 1 2 3 4
    RT_TRY(matrix(h.stream, 2, 2, 0, &h.t[1])); // 0 1 2 3
    RT_TRY(cbk_seed(device, 5));
    for (int i = 0; i < 2; i++) {
        RT_TRY(cbk_random_uniform(h.stream, CBK_DTYPE_F32, 1, (int64_t[]){8}, 0, 1, &h.t[6]));
        RT_TRY(cbk_tensor_read(h.stream, h.t[6], eager[i], sizeof eager[i]));
        cbk_tensor_release(&h.t[6]);
    }
    RT_TRY(cbk_seed(device, 5));
    RT_TRY(cbk_graph_capture(h.stream, step, &h, &h.graph));
    RT_TRY(cbk_memory_cleanup(device));
    RT_TRY(cbk_graph_replay(h.graph));
    RT_TRY(cbk_tensor_read(h.stream, h.t[6], replayed, sizeof replayed));
    RT_TRY(expect(memcmp(replayed, eager[1], sizeof replayed) == 0));
    // [1 2; 3 4] + [4 8; 7 15] = [5 10; 10 19], and that + [20 38; 35 67].
    RT_TRY(cbk_tensor_read(h.stream, h.t[0], back, sizeof back));
    RT_TRY(expect(back[0] == 25 && back[1] == 48 && back[2] == 45 && back[3] == 86));
done:
    release(&h);
    return status;
}

/// A graph whose input another stream writes and whose output it reads, with cleanups in between.
static cbk_status graph_between_streams(cbk_device *device) {
    struct hold h = {NULL};
    float back[4];
    cbk_status status = CBK_OK;
    RT_TRY(cbk_stream_create(device, NULL, &h.stream));
    RT_TRY(cbk_stream_create(device, NULL, &h.other));
    RT_TRY(matrix(h.other, 2, 2, 1, &h.t[0])); // 1 2 3 4
    RT_TRY(matrix(h.stream, 2, 2, 0, &h.t[1]));
    RT_TRY(cbk_graph_capture(h.stream, step, &h, &h.graph));
    for (int i = 0; i < 3; i++) {
        const float data[4] = {1, 2, 3, 4};
        RT_TRY(cbk_tensor_write(h.other, h.t[0], data, sizeof data));
        RT_TRY(cbk_graph_replay(h.graph));
        RT_TRY(cbk_memory_cleanup(device));
        RT_TRY(cbk_add(h.other, h.t[0], h.t[0], &h.t[7]));
        RT_TRY(cbk_tensor_read(h.other, h.t[7], back, sizeof back));
        RT_TRY(expect(back[0] == 10 && back[1] == 20 && back[2] == 20 && back[3] == 38));
        cbk_tensor_release(&h.t[7]);
    }
done:
    release(&h);
    return status;
}

/// Large blocks that go from stream to stream while work on them is running.
static cbk_status large_between_streams(cbk_device *device) {
    struct hold h = {NULL};
    const int64_t length = 3 << 20;
    const cbk_slice_params end = CBK_INIT(cbk_slice_params, .axis_count = 1, .start = {length - 1},
                                          .stop = {length}, .step = {1});
    float last = 0;
    cbk_status status = CBK_OK;
    RT_TRY(cbk_stream_create(device, NULL, &h.stream));
    RT_TRY(cbk_stream_create(device, NULL, &h.other));
    RT_TRY(cbk_ones(h.stream, CBK_DTYPE_F32, 1, &length, &h.t[0]));
    for (int i = 0; i < 4; i++) {
        RT_TRY(cbk_add(i % 2 ? h.stream : h.other, h.t[0], h.t[0], &h.t[1]));
        cbk_tensor_release(&h.t[0]);
        h.t[0] = h.t[1], h.t[1] = NULL;
        if (i == 1) RT_TRY(cbk_memory_cleanup(device));
    }
    RT_TRY(cbk_slice(h.stream, h.t[0], &end, &h.t[2]));
    RT_TRY(cbk_tensor_read(h.stream, h.t[2], &last, sizeof last));
    RT_TRY(expect(last == 16));
done:
    release(&h);
    return status;
}

static const struct program {
    const char *name;
    cbk_status (*run)(cbk_device *device);
} programs[] = {
    {"pointwise", pointwise},
    {"views_and_sums", views_and_sums},
    {"product", product},
    {"indices", indices},
    {"compaction", compaction},
    {"reads_in_flight", reads_in_flight},
    {"random_draws", random_draws},
    {"streams_and_events", streams_and_events},
    {"memory", memory},
    {"capture_and_replay", capture_and_replay},
    {"graph_between_streams", graph_between_streams},
    {"large_between_streams", large_between_streams},
};

// ---- around them -------------------------------------------------------------------------------------

static cbk_status open_device(cbk_backend **out_backend, cbk_device **out_device) {
    const cbk_backend_params params =
        CBK_INIT(cbk_backend_params, .flags = CBK_NO_ENVIRONMENT, .cache_directory = "",
                 .allocate = cbk_fault_allocate, .free = cbk_fault_free);
    cbk_status status = CBK_OK;
    RT_TRY(cbk_opencl_create_with(&params, &table, out_backend));
    RT_TRY(cbk_device_open(*out_backend, NULL, out_device));
done:
    return status;
}

static void expect_nothing_held(void) {
    assert_string_equal(cbk_fault_leaks(), "");
    assert_int_equal(cbk_fault_blocks_held(), 0);
    assert_int_equal(cbk_fault_wrong_sizes(), 0);
}

static void expect_clean(cbk_status status, const char *where) {
    const bool is_expected = status == CBK_OK || status == CBK_ERROR_DRIVER ||
                             status == CBK_ERROR_OUT_OF_MEMORY ||
                             status == CBK_ERROR_OUT_OF_HOST_MEMORY || status == CBK_ERROR_BUILD ||
                             status == CBK_ERROR_NOT_FOUND || status == CBK_ERROR_PRODUCER;
    if (!is_expected) {
        print_error("%s after %s failed: %s: %s\n", where,
                    cbk_fault_fired() ? cbk_fault_fired() : "an allocation",
                    cbk_status_string(status), cbk_last_error_message());
    }
    assert_true(is_expected);
    if (status != CBK_OK) assert_true(cbk_last_error_message()[0] != '\0');
}

/// Once more without a failure, on the same device. Late errors of the failed run have gone with
/// its streams.
static void expect_works(const struct program *program, cbk_device *device, uint64_t n,
                         const char *what) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    cbk_fault_reset();
    cbk_fault_plan_allocation(0);
    assert_ok(cbk_memory_usage(device, &info));
    assert_int_equal(info.used_bytes, 0);
    const cbk_status status = program->run(device);
    if (status != CBK_OK) {
        print_error("%s after failure %llu (%s): %s\n", program->name, (unsigned long long)n, what,
                    cbk_last_error_message());
    }
    assert_int_equal(status, CBK_OK);
}

// ---- tests -------------------------------------------------------------------------------------------

static void the_nth_call_fails(void **state) {
    const struct program *program = *state;
    cbk_backend *backend = NULL;
    cbk_device *device = NULL;
    cbk_fault_reset();
    assert_ok(open_device(&backend, &device));
    assert_ok(program->run(device)); // its kernels are there from now on
    for (int c = 0; c < CODES; c++) {
        const char *fired = "";
        for (uint64_t n = 1; fired && n < MOST_CALLS; n = cbk_fault_next(n)) {
            if (n % 2) assert_ok(cbk_memory_cleanup(device));
            cbk_fault_plan(n, codes[c], NULL);
            const cbk_status status = program->run(device);
            fired = cbk_fault_fired();
            expect_clean(status, program->name);
            if (fired) {
                expect_works(program, device, n, fired);
            } else {
                assert_ok(status);
            }
        }
    }
    cbk_fault_reset();
    cbk_device_release(&device);
    cbk_backend_release(&backend);
    expect_nothing_held();
}

static void the_nth_allocation_fails(void **state) {
    const struct program *program = *state;
    cbk_backend *backend = NULL;
    cbk_device *device = NULL;
    bool fired = true;
    assert_ok(open_device(&backend, &device));
    assert_ok(program->run(device));
    for (uint64_t n = 1; fired && n < MOST_CALLS; n++) {
        cbk_fault_plan_allocation(n);
        const cbk_status status = program->run(device);
        fired = cbk_fault_allocation_fired();
        expect_clean(status, program->name);
        if (fired) {
            expect_works(program, device, n, "allocation");
        } else {
            assert_ok(status);
        }
    }
    cbk_fault_plan_allocation(0);
    cbk_device_release(&device);
    cbk_backend_release(&backend);
    expect_nothing_held();
}

/// From nothing to a result, kernels built on the way, everything released.
static cbk_status live(void) {
    cbk_backend *backend = NULL;
    cbk_device *device = NULL;
    cbk_status status = CBK_OK;
    RT_TRY(open_device(&backend, &device));
    RT_TRY(streams_and_events(device));
done:
    cbk_device_release(&device);
    cbk_backend_release(&backend);
    return status;
}

static void a_life_with_failing_calls(void **state) {
    const char *fired = "";
    (void)state;
    for (uint64_t n = 1; fired && n < MOST_CALLS; n++) {
        cbk_fault_plan(n, CL_OUT_OF_HOST_MEMORY, NULL);
        const cbk_status status = live();
        fired = cbk_fault_fired();
        expect_clean(status, "life");
        expect_nothing_held();
        if (!fired) assert_ok(status);
    }
    cbk_fault_reset();
    assert_ok(live());
}

static void a_life_with_failing_allocations(void **state) {
    bool fired = true;
    (void)state;
    for (uint64_t n = 1; fired && n < MOST_CALLS; n++) {
        cbk_fault_plan_allocation(n);
        const cbk_status status = live();
        fired = cbk_fault_allocation_fired();
        expect_clean(status, "life");
        expect_nothing_held();
        if (!fired) assert_ok(status);
    }
    cbk_fault_plan_allocation(0);
    assert_ok(live());
}

int main(void) {
    enum { PROGRAMS = sizeof programs / sizeof *programs };
    struct CMUnitTest tests[2 * PROGRAMS + 2];
    static char names[2 * PROGRAMS][64];
    size_t count = 0;
    cbk_fault_table(&table);
    for (size_t i = 0; i < PROGRAMS; i++) {
        for (int allocation = 0; allocation < 2; allocation++) {
            (void)snprintf(names[count], sizeof names[0], "%s, the nth %s fails", programs[i].name,
                           allocation ? "allocation" : "call");
            tests[count] = (struct CMUnitTest){.name = names[count],
                                               .test_func = allocation ? the_nth_allocation_fails
                                                                       : the_nth_call_fails,
                                               .setup_func = cbk_fault_start_afresh,
                                               .initial_state = (void *)&programs[i]};
            count++;
        }
    }
    const struct CMUnitTest lives[] = {
        cmocka_unit_test_setup(a_life_with_failing_calls, cbk_fault_start_afresh),
        cmocka_unit_test_setup(a_life_with_failing_allocations, cbk_fault_start_afresh),
    };
    for (size_t i = 0; i < 2; i++) tests[count++] = lives[i];
    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
