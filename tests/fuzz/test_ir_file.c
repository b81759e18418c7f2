/// test_ir_file.c: program files that no writer made. Loading says no or gives a program; what loads
/// can be described, saved and run, and the run ends in some status: never in a fault. Damage comes
/// with and without a checksum that is right again.
///
/// Each file lies at the end of an allocation of its own size, so that the sanitizers see a byte too
/// many. CUBEBACK_TEST_FULL=1 takes a hundred times as many.
#include <stdlib.h>
#include <string.h>

#include <cubeback/ir.h>

#include "device.h"
#include "random_data.h"
#include "support.h"

enum { HEADER = 48 };

static struct test_side side; ///< a recorder over the reference, which also runs what loads
static unsigned char *good;
static uint64_t good_size;

static uint64_t rounds(uint64_t count) {
    return getenv("CUBEBACK_TEST_FULL") ? 100 * count : count;
}

static uint64_t fnv(const unsigned char *data, uint64_t size) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint64_t i = 0; i < size; i++) hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void put(unsigned char *at, uint64_t value) {
    for (int i = 0; i < 8; i++) at[i] = (unsigned char)(value >> (8 * i));
}

/// Makes the sums right for what is there.
static void sign(unsigned char *file, uint64_t size) {
    put(file + 16, size - HEADER);
    put(file + 24, fnv(file + HEADER, size - HEADER));
    put(file + 40, fnv(file, 40));
}

// ---- the program that is damaged ----------------------------------------------------------------

/// Constants, an input, views, in-place steps, a host write, draws, several families.
static void record(cbk_ir_program **out) {
    cbk_stream *stream = side.stream;
    const float data[6] = {1, 2, 3, 4, 5, 6};
    const int64_t shape[2] = {2, 3}, turned[2] = {3, 2};
    cbk_tensor *t[12] = {NULL};
    const cbk_reduce_params rows = CBK_INIT(cbk_reduce_params, .axis_count = 1, .axes = {1});
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, shape, data, sizeof data, &t[0]));
    assert_ok(cbk_tensor_from_data(stream, CBK_DTYPE_F32, 2, turned, data, sizeof data, &t[1]));
    const cbk_tensor *named[] = {t[0]};
    const cbk_ir_record_params params =
        CBK_INIT(cbk_ir_record_params, .inputs = named, .input_count = 1);
    assert_ok(cbk_ir_begin(stream, &params));
    assert_ok(cbk_matmul(stream, t[0], t[1], NULL, &t[2]));
    assert_ok(cbk_random_uniform(stream, CBK_DTYPE_F32, 2, shape, 0, 1, &t[3]));
    assert_ok(cbk_transpose(stream, t[3], 0, 1, &t[4]));
    assert_ok(cbk_sum(stream, t[4], &rows, &t[5]));
    assert_ok(cbk_narrow(stream, t[0], 0, 1, 1, &t[6]));
    assert_ok(cbk_neg_into(stream, t[6], t[6]));
    assert_ok(cbk_tensor_write(stream, t[5], data, 12));
    assert_ok(cbk_softmax(stream, t[5], 0, &t[7]));
    assert_ok(cbk_arange(stream, CBK_DTYPE_I64, cbk_i(0), cbk_i(1), 2, &t[8]));
    assert_ok(cbk_select(stream, t[7], t[8], 0, &t[9]));
    assert_ok(cbk_cat(stream, (const cbk_tensor *const[]){t[5], t[9]}, 2, 0, &t[10]));
    assert_ok(cbk_ir_end(stream, NULL, 0, out));
    for (int i = 0; i < 12; i++) cbk_tensor_release(&t[i]);
}

static int open_side(void **state) {
    cbk_backend *inner = NULL, *recorder = NULL;
    cbk_ir_program *program = NULL;
    (void)state;
    assert_ok(cbk_reference_create(NULL, &inner));
    assert_ok(cbk_ir_recorder_create(inner, &recorder));
    cbk_backend_release(&inner);
    assert_true(test_side_open(&side, "recorder", recorder, false));
    assert_ok(cbk_memory_limit(side.device, 1 << 20)); // what a lying shape may ask for
    record(&program);
    assert_ok(cbk_ir_save_memory(program, NULL, 0, &good_size));
    good = malloc((size_t)good_size);
    assert_non_null(good);
    assert_ok(cbk_ir_save_memory(program, good, good_size, &good_size));
    cbk_ir_program_release(&program);
    return 0;
}

static int close_side(void **state) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    (void)state;
    cbk_status status = cbk_sync(side.stream);
    if (status == CBK_OK) status = cbk_memory_usage(side.device, &info);
    test_side_close(&side);
    free(good);
    return status == CBK_OK && info.allocation_count == 0 ? 0 : -1;
}

// ---- using what loads ---------------------------------------------------------------------------

static void run(const cbk_ir_program *program) {
    enum { MOST = 16 };
    cbk_tensor *inputs[MOST] = {NULL}, *outputs[MOST] = {NULL};
    cbk_ir_info info = CBK_INIT(cbk_ir_info);
    assert_ok(cbk_ir_get_info(program, &info));
    if (info.input_count > MOST || info.output_count > MOST) return;
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < info.input_count && status == CBK_OK; i++) {
        status = cbk_ir_make_input(program, side.stream, i, NULL, 0, &inputs[i]);
    }
    if (status == CBK_OK) status = cbk_ir_run(program, side.stream, inputs, outputs);
    (void)cbk_sync(side.stream);
    for (uint32_t i = 0; i < info.output_count; i++) {
        if (status != CBK_OK) assert_null(outputs[i]);
    }
    for (int i = 0; i < MOST; i++) {
        cbk_tensor_release(&inputs[i]);
        cbk_tensor_release(&outputs[i]);
    }
}

static bool use(const unsigned char *bytes, uint64_t size) {
    cbk_ir_program *program = NULL;
    char text[64];
    uint64_t length = 0, saved = 0;
    const cbk_status status = cbk_ir_load_memory(bytes, size, &program);
    if (status != CBK_OK) {
        assert_null(program);
        assert_true(status == CBK_ERROR_CORRUPT || status == CBK_ERROR_VERSION);
        return false;
    }
    assert_ok(cbk_ir_describe(program, text, sizeof text, &length));
    assert_ok(cbk_ir_save_memory(program, NULL, 0, &saved));
    run(program);
    cbk_ir_program_release(&program);
    return true;
}

/// A copy of `size` bytes of the good file, more of them zeros.
static unsigned char *copy_good(uint64_t size) {
    unsigned char *file = calloc(1, size != 0 ? (size_t)size : 1);
    assert_non_null(file);
    memcpy(file, good, (size_t)(size < good_size ? size : good_size));
    return file;
}

// ---- damage -------------------------------------------------------------------------------------

static void the_good_file_runs(void **state) {
    (void)state;
    assert_true(use(good, good_size));
}

static void every_length(void **state) {
    (void)state;
    for (uint64_t size = 0; size < good_size + 20; size++) {
        if (size == good_size) continue;
        unsigned char *file = copy_good(size);
        assert_false(use(file, size));
        if (size > HEADER) {
            sign(file, size);
            use(file, size); // at the end of a section it is a program
        }
        free(file);
    }
}

static void every_byte_with_the_old_sum(void **state) {
    (void)state;
    uint64_t seed = test_hash("bytes");
    for (uint64_t at = 0; at < good_size; at++) {
        unsigned char *file = copy_good(good_size);
        file[at] ^= (unsigned char)(1 + test_random_below(&seed, 255));
        assert_false(use(file, good_size));
        free(file);
    }
}

/// One to four bytes or numbers changed under a sum that is right.
static void changes_with_a_new_sum(void **state) {
    static const uint64_t numbers[] = {0,          1,          2,           8,
                                       9,          31,         UINT32_MAX,  (uint64_t)1 << 31,
                                       1ull << 32, 1ull << 40, 1ull << 59,  INT64_MAX,
                                       1ull << 63, UINT64_MAX, 0xffffffff0, 0x0101010101010101};
    uint64_t seed = test_hash("changes"), loaded = 0;
    (void)state;
    for (uint64_t i = 0; i < rounds(20000); i++) {
        unsigned char *file = copy_good(good_size);
        for (int64_t k = test_random_below(&seed, 4); k >= 0; k--) {
            const int64_t at = HEADER + test_random_below(&seed, (int64_t)good_size - HEADER - 8);
            const uint64_t number = numbers[test_random_below(&seed, 16)];
            switch (test_random_below(&seed, 4)) {
            case 0:
                put(file + at / 4 * 4, number);
                break;
            case 1:
                memcpy(file + at / 4 * 4, &number, 4);
                break;
            case 2:
                file[at / 4 * 4] = (unsigned char)test_random_below(&seed, 24);
                break;
            default:
                file[at] = (unsigned char)test_random(&seed);
                break;
            }
        }
        sign(file, good_size);
        loaded += use(file, good_size);
        free(file);
    }
    assert_true(loaded > rounds(20000) / 20); // and so the run is fuzzed too
}

static void noise(void **state) {
    (void)state;
    uint64_t seed = test_hash("noise");
    for (uint64_t i = 0; i < rounds(3000); i++) {
        const uint64_t size = (uint64_t)test_random_below(&seed, 300) + HEADER;
        unsigned char *file = copy_good(size);
        for (uint64_t k = HEADER; k < size; k++) {
            if (i % 2 == 0 || k > HEADER + 16) file[k] = (unsigned char)test_random(&seed);
        }
        sign(file, size);
        use(file, size);
        free(file);
    }
}

/// What only a later version writes.
static void newer_files(void **state) {
    (void)state;
    unsigned char *file = copy_good(good_size + 24);
    cbk_ir_program *program = NULL;
    file[8] = 2; // the format
    assert_status(CBK_ERROR_VERSION, cbk_ir_load_memory(file, good_size, &program));
    file[8] = 1;
    memcpy(file + good_size, "NEXT\1\0\0\0\10\0\0\0\0\0\0\0whatever", 24); // a section
    sign(file, good_size + 24);
    assert_true(use(file, good_size + 24));
    free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_good_file_runs),
        cmocka_unit_test(every_length),
        cmocka_unit_test(every_byte_with_the_old_sum),
        cmocka_unit_test(changes_with_a_new_sum),
        cmocka_unit_test(noise),
        cmocka_unit_test(newer_files),
    };
    return cmocka_run_group_tests(tests, open_side, close_side);
}
