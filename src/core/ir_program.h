/// ir_program.h: what a program consists of, and how one is built.
///
/// A program has buffers, values and steps. A buffer is what a storage was: a run of elements. A
/// value is a tensor: a view of a buffer. Steps read and write values. A value is made by the step
/// that has it as a new output; any other value is a view that was there before, and is bound when
/// a step first uses it.
#ifndef CUBEBACK_CORE_IR_PROGRAM_H
#define CUBEBACK_CORE_IR_PROGRAM_H

#include "core.h"

#include <cubeback/ir.h>

/// Numbers are saved in files.
enum cbk_ir_kind {
    CBK_IR_MADE = 0,     ///< by a step
    CBK_IR_CONSTANT = 1, ///< with contents of its own
    CBK_IR_INPUT = 2,    ///< comes with each run
    CBK_IR_UNDEFINED = 3 ///< written before it is read
};

struct cbk_ir_buffer {
    cbk_dtype dtype;
    uint32_t kind;
    int64_t element_count;
    void *contents; ///< of a constant with elements, else NULL
};

struct cbk_ir_value {
    uint32_t buffer;
    uint32_t is_made; ///< 1: the output of a step
    cbk_tensor_meta meta;
};

enum cbk_ir_step_kind {
    CBK_IR_OP = 1,    ///< data: the params
    CBK_IR_WRITE = 2, ///< host memory to the one output; data: its elements, row-major
    CBK_IR_RANDOM = 3 ///< draws go on from `random`
};

/// An optional operand left out.
#define CBK_IR_NONE UINT32_MAX
/// `made` has a bit per output.
#define CBK_IR_MOST_OUTPUTS 32

struct cbk_ir_step {
    uint32_t kind;
    cbk_opcode opcode;
    uint32_t input_count, output_count;
    uint32_t made;      ///< bit i: output i is new; else it is written into
    uint32_t *operands; ///< values: inputs, then outputs
    uint64_t data_size;
    void *data;
    cbk_random_state random;
};

struct cbk_ir_program {
    struct cbk_object object;
    uint32_t buffer_count, buffer_capacity;
    uint32_t value_count, value_capacity;
    uint32_t step_count, step_capacity;
    uint32_t input_count, input_capacity;
    uint32_t output_count, output_capacity;
    struct cbk_ir_buffer *buffers;
    struct cbk_ir_value *values;
    struct cbk_ir_step *steps;
    uint32_t *inputs, *outputs; ///< values
    /// Set by cbk_ir_finish: the last step that uses each value, and any unmade value of each
    /// buffer; step_count for outputs.
    uint32_t *value_end, *buffer_end;
};

cbk_status cbk_ir_program_create(cbk_ir_program **out);

/// Memory of a program, from malloc: it belongs to no backend. NULL after noting the failure.
void *cbk_ir_alloc(uint64_t size);

/// Makes room for one more item of `item_size` in a list.
cbk_status cbk_ir_grow(void *list, uint32_t *capacity, uint32_t count, size_t item_size);

/// Appends. Steps come with operands and data, which are copied, or NULL data to be filled in.
cbk_status cbk_ir_add_buffer(cbk_ir_program *program, const struct cbk_ir_buffer *buffer);
cbk_status cbk_ir_add_value(cbk_ir_program *program, const struct cbk_ir_value *value);
cbk_status cbk_ir_add_step(cbk_ir_program *program, const struct cbk_ir_step *step);
cbk_status cbk_ir_add_input(cbk_ir_program *program, uint32_t value);
cbk_status cbk_ir_add_output(cbk_ir_program *program, uint32_t value);

/// Checks that everything a run relies on is so, and works out the ends. Any bytes may have been
/// loaded: no index is trusted before.
/// Errors: CBK_ERROR_CORRUPT.
cbk_status cbk_ir_finish(cbk_ir_program *program);

cbk_status cbk_ir_check_program(const cbk_ir_program *program);

/// Bytes of `count` elements; false when they do not fit int64_t.
bool cbk_ir_bytes(cbk_dtype dtype, int64_t count, uint64_t *out);

/// Elements of the memory behind a storage, by the tensor that it was made with.
int64_t cbk_ir_storage_elements(const struct cbk_storage *storage);

/// The tensor that a storage was made with, which may have been released; its metadata is good.
static inline const cbk_tensor_meta *cbk_ir_root(const struct cbk_storage *storage) {
    return &((const struct cbk_storage_and_tensor *)storage)->tensor.meta;
}

/// Axes of length 1 have no say.
bool cbk_ir_same_strides(const cbk_tensor_meta *a, const cbk_tensor_meta *b);

/// The program's bytes; free() them.
cbk_status cbk_ir_encode(const cbk_ir_program *program, unsigned char **out, uint64_t *out_size);
cbk_status cbk_ir_decode(const unsigned char *data, uint64_t size, cbk_ir_program **out);

#endif
