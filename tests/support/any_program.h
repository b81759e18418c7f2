/// any_program.h: chains of operations made at random, run on two sides and held together, and made
/// smaller as long as they still fail.
#ifndef CUBEBACK_TEST_ANY_PROGRAM_H
#define CUBEBACK_TEST_ANY_PROGRAM_H

#include "any_op.h"

#include <cubeback/ir.h>

#define TEST_MOST_NODES 16
#define TEST_MOST_VALUES (TEST_MOST_NODES * (TEST_ANY_INPUTS + TEST_ANY_OUTPUTS))

struct test_any_value {
    struct test_any_operand form;
    void *data; ///< of a leaf; NULL: a node makes it
};

struct test_any_node {
    struct test_any_op op;
    int inputs[TEST_ANY_INPUTS], outputs[TEST_ANY_OUTPUTS]; ///< values; -1: left out
    bool is_into; ///< output 0 was there before: it is written into
};

struct test_any_program {
    uint64_t seed;
    int node_count, value_count;
    struct test_any_node nodes[TEST_MOST_NODES];
    struct test_any_value values[TEST_MOST_VALUES];
};

/// Where and how two sides differ. node -1: they do not.
struct test_any_failure {
    int node;
    cbk_status status; ///< of the device, when it refused
    int output;
    int64_t element;
    double want, got;
    const char *how;
};

/// A program of up to `nodes` operations that the reference side runs. Fails the test if it cannot
/// be made.
struct test_any_program *test_any_program(const struct test_side *reference,
                                          const struct test_side *device, uint64_t seed, int nodes);
void test_any_program_free(struct test_any_program *program);

/// Runs node by node on both sides. The device gets the reference's result to go on with, so errors
/// do not grow. Node -2: the reference refuses the program.
struct test_any_failure test_any_compare(const struct test_any_program *program,
                                         const struct test_side *reference,
                                         const struct test_side *device);

/// Runs three ways on the device: reading after each node, reading at the end, replayed from a
/// graph. All bytes must be the same.
struct test_any_failure test_any_compare_ways(const struct test_any_program *program,
                                              const struct test_side *device);

typedef struct test_any_failure (*test_any_check)(const struct test_any_program *program,
                                                  void *user_data);

/// Takes nodes out and lengths down while `check` still fails.
void test_any_shrink(struct test_any_program *program, test_any_check check, void *user_data);

/// The program in the form of cubeback/ir.h, recorded over a reference backend.
cbk_ir_program *test_any_record(const struct test_any_program *program);

#endif
