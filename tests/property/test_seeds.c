// test_seeds.c: a seed gives the same numbers on every device there is and in the reference, in each
// run, whatever other streams do meanwhile; a stream's state can be taken along.
#include "compare.h"
#include "random_data.h"
#include "support.h"

#include <cubeback/opcodes.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 1003, MOST_DEVICES = 8 };

static struct test_side reference, devices[2 * MOST_DEVICES]; ///< each in both forms
static uint32_t device_count;

static bool open_device(uint32_t index, uint32_t form) {
    cbk_backend_params params = test_backend_params();
    cbk_backend *backend = NULL;
    struct test_side *side = &devices[device_count];
    cbk_device_info info = CBK_INIT(cbk_device_info);
    params.flags |= form;
    if (cbk_opencl_create(&params, &backend) != CBK_OK) return false;
    side->backend = backend;
    assert_ok(cbk_device_describe(backend, CBK_DEVICE_DEFAULT, index, &info));
    const cbk_device_params open =
        CBK_INIT(cbk_device_params, .type = info.type, .index = info.index);
    if (cbk_device_open(backend, &open, &side->device) != CBK_OK) {
        cbk_backend_release(&side->backend); // a driver may refuse
        return false;
    }
    assert_ok(cbk_stream_create(side->device, NULL, &side->stream));
    device_count++;
    return true;
}

static int open_sides(void **state) {
    cbk_backend_params params = test_backend_params();
    cbk_backend *backend = NULL;
    uint32_t count = 0;
    (void)state;
    assert_ok(cbk_reference_create(NULL, &backend));
    assert_true(test_side_open(&reference, "reference", backend, false));
    if (cbk_opencl_create(&params, &backend) != CBK_OK) return -1;
    assert_ok(cbk_device_count(backend, CBK_DEVICE_DEFAULT, &count));
    cbk_backend_release(&backend);
    for (uint32_t i = 0; i < count && i < MOST_DEVICES; i++) {
        open_device(i, CBK_CPU_KERNELS);
        open_device(i, CBK_GPU_KERNELS);
    }
    return device_count != 0 ? 0 : -1;
}

static int close_sides(void **state) {
    (void)state;
    for (uint32_t i = 0; i < device_count; i++) test_side_close(&devices[i]);
    test_side_close(&reference);
    return 0;
}

// ---- draws --------------------------------------------------------------------------------------

struct draw {
    cbk_opcode opcode;
    cbk_dtype dtype;
    cbk_scalar a, b;
};

static uint64_t bytes_of(const struct draw *draw) {
    return (uint64_t)ELEMENTS * cbk_dtype_size(draw->dtype);
}

/// Draws on a stream; `out` gets the bytes.
static void take(cbk_stream *stream, const struct draw *draw, void *out) {
    const cbk_random_params params = CBK_INIT(cbk_random_params, .dtype = draw->dtype, .rank = 1,
                                              .shape = {ELEMENTS}, .a = draw->a, .b = draw->b);
    cbk_tensor *x = NULL;
    const cbk_op op = CBK_INIT(cbk_op, .opcode = draw->opcode, .output_count = 1, .outputs = &x,
                               .params = &params, .params_size = sizeof params);
    assert_ok(cbk_execute(stream, &op));
    assert_ok(cbk_tensor_read(stream, x, out, bytes_of(draw)));
    cbk_tensor_release(&x);
}

static const struct draw draws[] = {
    {CBK_OP_RANDOM_UNIFORM, CBK_DTYPE_F32, {0}, {0}},
    {CBK_OP_RANDOM_UNIFORM, CBK_DTYPE_F16, {0}, {0}},
    {CBK_OP_RANDOM_UNIFORM, CBK_DTYPE_BF16, {0}, {0}},
    {CBK_OP_RANDOM_UNIFORM, CBK_DTYPE_F64, {0}, {0}},
    {CBK_OP_RANDOM_INTEGER, CBK_DTYPE_I64, {0}, {0}},
    {CBK_OP_RANDOM_INTEGER, CBK_DTYPE_I32, {0}, {0}},
    {CBK_OP_RANDOM_INTEGER, CBK_DTYPE_U8, {0}, {0}},
    {CBK_OP_RANDOM_BERNOULLI, CBK_DTYPE_BOOL, {0}, {0}},
    {CBK_OP_RANDOM_NORMAL, CBK_DTYPE_F32, {0}, {0}},
    {CBK_OP_RANDOM_NORMAL, CBK_DTYPE_F16, {0}, {0}},
    {CBK_OP_RANDOM_NORMAL, CBK_DTYPE_F64, {0}, {0}},
};
enum { DRAWS = sizeof draws / sizeof *draws };

static void compare(const struct draw *draw, uint32_t device, const void *want, const void *got) {
    const bool is_normal = draw->opcode == CBK_OP_RANDOM_NORMAL;
    for (int64_t i = 0; i < ELEMENTS; i++) {
        const int64_t distance = test_ulps_between(want, got, draw->dtype, i);
        if (distance <= (is_normal ? 4 : 0)) continue;
        fail_msg("opcode 0x%04x, %s, device %u, element %d: %.17g, the reference has %.17g",
                 (unsigned)draw->opcode, cbk_dtype_name(draw->dtype), (unsigned)device, (int)i,
                 test_to_double(got, draw->dtype, i), test_to_double(want, draw->dtype, i));
    }
}

/// The draws follow each other on one stream, so that positions are held together too.
static void every_device_draws_the_same(void **state) {
    uint64_t want[ELEMENTS], got[ELEMENTS];
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        const uint64_t chosen = seed == 2 ? UINT64_C(0x9e3779b97f4a7c15) : seed;
        for (uint32_t k = 0; k < device_count; k++) {
            assert_ok(cbk_seed(reference.device, chosen));
            assert_ok(cbk_seed(devices[k].device, chosen));
            for (uint32_t i = 0; i < DRAWS; i++) {
                if (cbk_supports_dtype(devices[k].device, draws[i].dtype) != CBK_OK) continue;
                take(reference.stream, &draws[i], want);
                take(devices[k].stream, &draws[i], got);
                compare(&draws[i], k, want, got);
            }
        }
    }
}

/// A device opened anew draws what the first one drew, bit for bit, normals too.
static void every_run_draws_the_same(void **state) {
    uint64_t first[ELEMENTS], again[ELEMENTS];
    (void)state;
    for (uint32_t i = 0; i < DRAWS; i++) {
        if (cbk_supports_dtype(devices[0].device, draws[i].dtype) != CBK_OK) continue;
        cbk_device *device = NULL;
        cbk_stream *stream = NULL;
        const cbk_device_params params = CBK_INIT(cbk_device_params, .seed = 11);
        assert_ok(cbk_device_open(devices[0].backend, &params, &device));
        assert_ok(cbk_stream_create(device, NULL, &stream));
        take(stream, &draws[i], again);
        assert_ok(cbk_seed(devices[0].device, 11));
        take(devices[0].stream, &draws[i], first);
        assert_memory_equal(first, again, bytes_of(&draws[i]));
        cbk_stream_release(&stream);
        cbk_device_release(&device);
    }
}

/// What a stream draws depends on its number alone, not on what others draw in between.
static void streams_are_independent(void **state) {
    enum { STREAMS = 3, ROUNDS = 4 };
    static uint64_t alone[STREAMS][ROUNDS][ELEMENTS], mixed[STREAMS][ROUNDS][ELEMENTS];
    const struct draw *draw = &draws[0];
    (void)state;
    for (int pass = 0; pass < 2; pass++) {
        cbk_device *device = NULL;
        cbk_stream *streams[STREAMS];
        const cbk_device_params params = CBK_INIT(cbk_device_params, .seed = 5);
        assert_ok(cbk_device_open(devices[0].backend, &params, &device));
        for (int s = 0; s < STREAMS; s++) assert_ok(cbk_stream_create(device, NULL, &streams[s]));
        for (int k = 0; k < STREAMS * ROUNDS; k++) {
            const int s = pass == 0 ? k / ROUNDS : k % STREAMS;
            const int round = pass == 0 ? k % ROUNDS : k / STREAMS;
            take(streams[s], draw, pass == 0 ? alone[s][round] : mixed[s][round]);
        }
        for (int s = 0; s < STREAMS; s++) cbk_stream_release(&streams[s]);
        cbk_device_release(&device);
    }
    assert_memory_equal(alone, mixed, sizeof alone);
    assert_memory_not_equal(alone[0][0], alone[1][0], bytes_of(draw));
    assert_memory_not_equal(alone[0][0], alone[0][1], bytes_of(draw));
}

/// A state goes from one device to another, and a seed ends it.
static void states_travel(void **state) {
    uint64_t want[ELEMENTS], got[ELEMENTS];
    cbk_stream *second = NULL;
    cbk_random_state saved = CBK_INIT(cbk_random_state), now = CBK_INIT(cbk_random_state);
    (void)state;
    assert_ok(cbk_stream_create(devices[0].device, NULL, &second));
    assert_ok(cbk_seed(devices[0].device, 3));
    take(second, &draws[0], got);
    assert_ok(cbk_random_get_state(second, &saved));
    assert_int_equal(saved.seed, 3);
    assert_int_equal(saved.position, (ELEMENTS + 3) / 4);
    assert_int_equal(saved.stream_number, 1);
    take(second, &draws[0], want);
    assert_ok(cbk_random_set_state(reference.stream, &saved));
    take(reference.stream, &draws[0], got);
    assert_memory_equal(want, got, bytes_of(&draws[0]));
    assert_ok(cbk_random_set_state(devices[0].stream, &saved));
    take(devices[0].stream, &draws[0], got);
    assert_memory_equal(want, got, bytes_of(&draws[0]));
    assert_ok(cbk_seed(devices[0].device, 3));
    assert_ok(cbk_random_get_state(devices[0].stream, &now));
    assert_int_equal(now.position, 0);
    assert_int_equal(now.stream_number, 0);
    assert_status(CBK_ERROR_INVALID_ARGUMENT, cbk_random_set_state(second, NULL));
    assert_ok(cbk_graph_prepare(second));
    assert_ok(cbk_graph_start_capture(second));
    assert_status(CBK_ERROR_INVALID_STATE, cbk_random_set_state(second, &saved));
    assert_ok(cbk_graph_abort(second));
    cbk_stream_release(&second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_device_draws_the_same),
        cmocka_unit_test(every_run_draws_the_same),
        cmocka_unit_test(streams_are_independent),
        cmocka_unit_test(states_travel),
    };
    return cmocka_run_group_tests_name("seeds", tests, open_sides, close_sides);
}
