/// any_op.h: operations made at random from the op table: operands and params that core accepts. A row
/// added to the table is taken in by itself; rows whose params need more than zeros and small
/// numbers get a maker of their own in any_op.c.
#ifndef CUBEBACK_TEST_ANY_OP_H
#define CUBEBACK_TEST_ANY_OP_H

#include "random_data.h"

#include <cubeback/backend.h>
#include <cubeback/opcodes.h>

#define TEST_ANY_INPUTS 8
#define TEST_ANY_OUTPUTS 8

struct test_any_operand {
    cbk_dtype dtype; ///< 0: left out
    uint32_t rank;
    int64_t shape[CBK_MAX_RANK];
    bool is_index; ///< its numbers must lie in [0, bound)
    int64_t bound;
};

struct test_any_op {
    const cbk_op_info *info;
    uint32_t input_count;
    struct test_any_operand inputs[TEST_ANY_INPUTS];
    _Alignas(8) unsigned char params[512];
    uint32_t params_size; ///< 0: NULL
};

/// What operands should look like, as far as the operation allows.
struct test_any_hint {
    cbk_dtype dtype; ///< 0: any
    uint32_t rank;
    int64_t shape[CBK_MAX_RANK];
    int64_t most_elements; ///< of a result
};

/// A hint of a dtype that `device` has, of rank 0 to 4 and lengths 0 (seldom) to `longest`.
struct test_any_hint test_any_hint(cbk_device *device, uint64_t *seed, int64_t longest);

/// Tries until core accepts the operation on the side's device; false, after a line that says so, if
/// it never does: the row needs a maker then.
bool test_any_make(const cbk_op_info *info, const struct test_side *side,
                   const struct test_any_hint *hint, uint64_t *seed, struct test_any_op *out);

/// A row of the table, each as likely as any other.
const cbk_op_info *test_any_row(uint64_t *seed);

/// Runs it on a stream; `outputs` has room for TEST_ANY_OUTPUTS and NULL entries for new ones.
cbk_status test_any_execute(cbk_stream *stream, const struct test_any_op *op,
                            cbk_tensor *const *inputs, cbk_tensor **outputs);

/// Elements for an operand: indices within the bound, else `kind`.
void test_any_fill(const struct test_any_operand *operand, enum test_data kind, void *data,
                   uint64_t *seed);

static inline int64_t test_any_count(const struct test_any_operand *operand) {
    int64_t count = 1;
    for (uint32_t i = 0; i < operand->rank; i++) count *= operand->shape[i];
    return count;
}

#endif
