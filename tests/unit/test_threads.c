// test_threads.c: what any thread may do at once: count references, make views, read metadata, fail.
#include "mock_backend.h"
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 2000 };

static struct mock mock;

struct job {
    cbk_tensor *tensor;
    int number;
    int wrong;
};

/// Own references to a shared tensor, its device and its backend come and go.
static void *count_references(void *argument) {
    struct job *job = argument;
    for (int i = 0; i < ROUNDS; i++) {
        cbk_tensor *tensor = cbk_tensor_retain(job->tensor);
        cbk_device *device = cbk_device_retain(cbk_tensor_device(tensor));
        cbk_backend *backend = cbk_backend_retain(cbk_device_backend(device));
        job->wrong += cbk_tensor_shape(tensor)[0] != 6 || cbk_tensor_is_unique(tensor);
        cbk_tensor_release(&tensor);
        cbk_backend_release(&backend);
        cbk_device_release(&device);
    }
    cbk_tensor_release(&job->tensor);
    return NULL;
}

/// Each thread's record holds its own failures.
static void *fail_alone(void *argument) {
    struct job *job = argument;
    for (int i = 0; i < ROUNDS; i++) {
        char expected[64];
        uint64_t bits;
        const cbk_scalar scalar = {1000u + (uint32_t)job->number, 0, {0}};
        snprintf(expected, sizeof expected, "kind %u:", (unsigned)scalar.kind);
        job->wrong += cbk_scalar_to_bits(scalar, CBK_DTYPE_F32, &bits) == CBK_OK;
        job->wrong += strstr(cbk_last_error_message(), expected) == NULL;
    }
    return NULL;
}

static void run(void *(*work)(void *), struct job jobs[THREADS]) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i].number = i;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) assert_int_equal(jobs[i].wrong, 0);
}

static void references(void **state) {
    (void)state;
    struct job jobs[THREADS] = {{0}};
    cbk_tensor *tensor = NULL;
    mock_init(&mock);
    mock_open(&mock);
    assert_ok(cbk_tensor_empty(mock.stream, CBK_DTYPE_F32, 1, (int64_t[]){6}, &tensor));
    for (int i = 0; i < THREADS; i++) jobs[i].tensor = cbk_tensor_retain(tensor);
    cbk_tensor_release(&tensor); // a thread will be the last to hold it
    run(count_references, jobs);
    assert_int_equal(mock.storages, 0);
    mock_close(&mock);
    assert_int_equal(mock.destroyed, 1);
}

static void errors(void **state) {
    (void)state;
    struct job jobs[THREADS] = {{0}};
    uint64_t bits;
    const cbk_scalar none = {0};
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_scalar_to_bits(none, CBK_DTYPE_F32, &bits));
    run(fail_alone, jobs);
    assert_non_null(strstr(cbk_last_error_message(), "kind 0:")); // still this thread's own
}

/// Streams of one device on threads of their own.
static void *use_stream(void *argument) {
    struct job *job = argument;
    cbk_stream *stream = NULL;
    job->wrong += cbk_stream_create(cbk_tensor_device(job->tensor), NULL, &stream) != CBK_OK;
    for (int i = 0; i < ROUNDS / 10; i++) {
        cbk_tensor *view = NULL, *sum = NULL;
        job->wrong += cbk_flip(stream, job->tensor, 0, NULL, &view) != CBK_OK;
        job->wrong += cbk_add(stream, view, job->tensor, &sum) != CBK_OK;
        cbk_tensor_release(&view);
        cbk_tensor_release(&sum);
    }
    cbk_stream_release(&stream);
    cbk_tensor_release(&job->tensor);
    return NULL;
}

static void streams(void **state) {
    (void)state;
    cbk_backend *backend = NULL;
    cbk_device *device = NULL;
    cbk_stream *stream = NULL;
    struct job jobs[THREADS] = {{0}};
    assert_ok(cbk_reference_create(NULL, &backend));
    assert_ok(cbk_device_open(backend, NULL, &device));
    assert_ok(cbk_stream_create(device, NULL, &stream));
    for (int i = 0; i < THREADS; i++) {
        if (i == 0) {
            assert_ok(cbk_ones(stream, CBK_DTYPE_F32, 1, (int64_t[]){6}, &jobs[0].tensor));
        } else {
            jobs[i].tensor = cbk_tensor_retain(jobs[0].tensor);
        }
    }
    run(use_stream, jobs);
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    assert_ok(cbk_memory_usage(device, &info));
    assert_int_equal(info.allocation_count, 0);
    cbk_stream_release(&stream);
    cbk_device_release(&device);
    cbk_backend_release(&backend);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references),
        cmocka_unit_test(errors),
        cmocka_unit_test(streams),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
