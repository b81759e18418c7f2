// test_descriptors.c: operations made at random, most of them wrong: core must refuse or accept, never
// fault, and what it accepts must lie inside its storage. CUBEBACK_TEST_SEED chooses another run.
#include "mock_backend.h"
#include "support.h"

#include <cubeback/opcodes.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { POOL = 24, ROUNDS = 60000 };

static struct mock mock;
static uint64_t seed;
static cbk_tensor *pool[POOL];

static uint64_t next(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * UINT64_C(0x2545f4914f6cdd1d);
}

static uint64_t below(uint64_t bound) {
    return (next() >> 11) % bound;
}

/// Mostly small, sometimes at the edge of something.
static int64_t any_number(void) {
    static const int64_t edges[] = {
        INT64_MIN,  INT64_MAX,     INT32_MIN, INT32_MAX,     -1,
        UINT32_MAX, INT64_MIN + 1, 1,         INT64_MAX / 2, (int64_t)1 << 40};
    if (below(6) == 0) return edges[below(sizeof edges / sizeof *edges)];
    return (int64_t)below(12) - 3;
}

static int64_t storage_elements(const cbk_tensor *tensor) {
    // The mock's tensors are made dense, so what a view may reach is what its source was given.
    return *(int64_t *)cbk_tensor_storage(tensor);
}

/// Every address that the tensor's strides reach is one of its storage.
static void check_tensor(const cbk_tensor *tensor) {
    const cbk_tensor_meta *meta = cbk_tensor_metadata(tensor);
    int64_t low = meta->offset, high = meta->offset, count = 1;
    assert_true(meta->rank <= CBK_MAX_RANK);
    assert_true(cbk_dtype_size(meta->dtype) != 0);
    for (uint32_t i = 0; i < meta->rank; i++) {
        assert_true(meta->shape[i] >= 0);
        count *= meta->shape[i];
    }
    for (uint32_t i = meta->rank; i < CBK_MAX_RANK; i++) assert_int_equal(meta->shape[i], 1);
    assert_int_equal(count, meta->element_count);
    if (count == 0) {
        assert_null(cbk_tensor_storage(tensor));
        return;
    }
    for (uint32_t i = 0; i < meta->rank; i++) {
        int64_t reach = (meta->shape[i] - 1) * meta->strides[i];
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    assert_true(low >= 0);
    assert_true(high < storage_elements(tensor));
}

/// Storage that remembers how many elements it has room for.
static cbk_status alloc(void *self, void *stream, uint64_t size_bytes, void **out_storage) {
    struct mock *owner = self;
    int64_t *storage = malloc(sizeof *storage);
    (void)stream;
    *storage = (int64_t)size_bytes; // turned into elements by the tensor's maker
    *out_storage = storage;
    owner->storages++;
    return CBK_OK;
}

static cbk_status execute(void *self, void *stream, const cbk_op *op) {
    for (uint32_t i = 0; i < op->output_count; i++) {
        cbk_tensor *output = op->outputs[i];
        void *storage;
        if (cbk_tensor_storage(output) != NULL || cbk_tensor_element_count(output) == 0) continue;
        alloc(self, stream, cbk_tensor_storage_bytes(output), &storage);
        *(int64_t *)storage /= cbk_dtype_size(cbk_tensor_dtype(output));
        assert_ok(cbk_tensor_attach(output, storage));
    }
    assert_non_null(op->params);
    return CBK_OK;
}

static cbk_tensor *make_tensor(void) {
    static const cbk_dtype dtypes[] = {CBK_DTYPE_F32, CBK_DTYPE_F32,   CBK_DTYPE_F16,
                                       CBK_DTYPE_I32, CBK_DTYPE_I32,   CBK_DTYPE_U8,
                                       CBK_DTYPE_I64, CBK_DTYPE_BOOL,  CBK_DTYPE_BOOL32,
                                       CBK_DTYPE_F64, CBK_DTYPE_F8E4M3};
    int64_t shape[CBK_MAX_RANK];
    uint32_t rank = (uint32_t)(below(8) == 0 ? below(9) : below(4));
    cbk_tensor *tensor = NULL;
    for (uint32_t i = 0; i < rank; i++) shape[i] = (int64_t)below(5);
    cbk_dtype dtype = dtypes[below(sizeof dtypes / sizeof *dtypes)];
    assert_ok(cbk_tensor_empty(mock.stream, dtype, rank, shape, &tensor));
    if (cbk_tensor_storage(tensor) != NULL) {
        *(int64_t *)cbk_tensor_storage(tensor) /= cbk_dtype_size(dtype);
    }
    return tensor;
}

/// Params of any row: a size that fits, and words that are mostly small.
static uint32_t make_params(const cbk_op_info *info, unsigned char *params, size_t size) {
    memset(params, 0, size);
    uint32_t length = info->params_size;
    if (below(20) == 0) length = (uint32_t)below(size);
    if (below(40) == 0) return length; // struct_size 0
    memcpy(params, &length, sizeof length);
    for (uint32_t at = 4; at + 4 <= info->params_size; at += 4) {
        if (below(3) != 0) continue;
        int64_t number = any_number();
        if (at % 8 == 0 && at + 8 <= info->params_size) {
            memcpy(params + at, &number, 8);
        } else {
            memcpy(params + at, &number, 4);
        }
    }
    return length;
}

static const cbk_op_info *any_row(void) {
    uint32_t cursor = (uint32_t)below(0x1000);
    const cbk_op_info *info = cbk_op_next(&cursor);
    cursor = 0;
    return info != NULL ? info : cbk_op_next(&cursor);
}

static void random_operations(void **state) {
    (void)state;
    unsigned accepted = 0, views = 0, written = 0;
    for (int round = 0; round < ROUNDS; round++) {
        _Alignas(8) unsigned char params[320];
        const cbk_op_info *info = any_row();
        cbk_tensor *inputs[5], *out = NULL;
        uint32_t count = info->min_inputs;
        if ((info->flags & CBK_ROW_VARIADIC) != 0) count += (uint32_t)below(4);
        if (below(50) == 0) count = (uint32_t)below(5);
        for (uint32_t i = 0; i < count; i++) inputs[i] = pool[below(POOL)];
        if (count > 1 && below(2) == 0) inputs[1] = inputs[0];
        const bool into = below(4) == 0;
        if (into) out = below(2) == 0 && count > 0 ? inputs[0] : pool[below(POOL)];
        cbk_tensor *given = out;
        cbk_op op = CBK_INIT(cbk_op, .opcode = info->opcode, .input_count = count,
                             .output_count = 1, .inputs = inputs, .outputs = &out);
        op.params_size = make_params(info, params, sizeof params);
        op.params = op.params_size != 0 && below(8) != 0 ? params : NULL;

        const cbk_status asked = cbk_supports_op(mock.device, &op);
        assert_ptr_equal(out, given);
        const cbk_status status = cbk_execute(mock.stream, &op);
        if (asked != status) fail_msg("%s: asked %d, run %d", info->name, asked, status);
        if (status != CBK_OK) {
            assert_true(status < CBK_ERROR_OUT_OF_MEMORY);
            assert_int_equal(strncmp(cbk_last_error_message(), info->name, strlen(info->name)), 0);
            assert_ptr_equal(out, given);
            continue;
        }
        check_tensor(out);
        accepted++;
        if (into) {
            written++;
            continue;
        }
        if ((info->flags & CBK_ROW_VIEW) != 0) views++;
        // Results become operands, new tensors keep the pool from growing stale.
        cbk_tensor **place = &pool[below(POOL)];
        cbk_tensor_release(place);
        if (cbk_tensor_element_count(out) > 1000 || below(3) == 0) {
            cbk_tensor_release(&out);
            out = make_tensor();
        }
        *place = out;
    }
    assert_true(accepted > ROUNDS / 20);
    assert_true(views > ROUNDS / 100);
    assert_true(written > ROUNDS / 1000);
}

static int open_mock(void **state) {
    (void)state;
    const char *chosen = getenv("CUBEBACK_TEST_SEED");
    seed = chosen != NULL ? strtoull(chosen, NULL, 0) | 1 : UINT64_C(0x853c49e6748fea9b);
    print_message("seed 0x%llx\n", (unsigned long long)seed);
    mock_init(&mock);
    mock.vtable.storage_alloc = alloc;
    mock.vtable.execute = execute;
    mock_open(&mock);
    for (int i = 0; i < POOL; i++) pool[i] = make_tensor();
    return 0;
}

static int close_mock(void **state) {
    (void)state;
    for (int i = 0; i < POOL; i++) cbk_tensor_release(&pool[i]);
    mock_close(&mock);
    return mock.storages == 0 && mock.destroyed == 1 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_operations)};
    return cmocka_run_group_tests_name("descriptors", tests, open_mock, close_mock);
}
