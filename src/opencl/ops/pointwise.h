/// pointwise.h: what the launchers of the pointwise-like families share: one kernel text
/// (kernels/pointwise.cl), one way to choose its form, one way to name its programs.
#ifndef CUBEBACK_OPENCL_POINTWISE_H
#define CUBEBACK_OPENCL_POINTWISE_H

#include "opencl.h"

#define CBK_OCL_POINTWISE_INPUTS 3

/// One operator over tensors. Operand 0 is the output.
struct cbk_ocl_pointwise {
    const char *operation; ///< for errors and profiles; static
    uint32_t id;           ///< opcode, and a variant above it: tells operators apart in the key
    const char *name;      ///< "add"; the kernel's operator is op_<name>_<word>[_<word of out>]
    const char *family;    ///< "BINARY": the operators that the kernel text takes in
    const char *word;      ///< class or dtype the operator is written for
    bool names_result;     ///< the operator's name ends with the word of the output
    bool is_reversed;      ///< the scalar is the first operand
    bool is_indexed;       ///< the first operand is the position along the only axis
    uint32_t input_count;
    uint32_t scalar_count;
    cbk_dtype types[1 + CBK_OCL_POINTWISE_INPUTS]; ///< what the kernel sees: out, inputs
    cbk_dtype scalar_type;
    uint64_t scalars[3]; ///< bits in the scalar's arithmetic type
};

/// The word of the arithmetic a dtype is computed in: f32, f64, i32, u32, i64, u64.
const char *cbk_ocl_class_word(cbk_dtype dtype);

/// What a sum of x that gives y is accumulated in: f32 f64 i32 u32 i64 u64 (scalar.c).
cbk_dtype cbk_ocl_accumulator(cbk_dtype x, cbk_dtype y);

/// The unsigned integer type of a dtype's size: what moves see.
cbk_dtype cbk_ocl_bits_dtype(cbk_dtype dtype);

/// Rounds a scalar to `dtype` and widens it to its arithmetic type.
cbk_status cbk_ocl_scalar(cbk_scalar scalar, cbk_dtype dtype, uint64_t *out_bits);

/// Rounds a scalar to `dtype`; the bits are those of an element, for rows that move elements as
/// unsigned integers.
cbk_status cbk_ocl_scalar_bits(cbk_scalar scalar, cbk_dtype dtype, uint64_t *out_bits);

/// The constants of an activation, as many scalars as `op` takes (activation.c).
cbk_status cbk_ocl_set_constants(const cbk_activation_params *params, struct cbk_ocl_pointwise *op);

/// The operator and constants of an activation, whose operands have one dtype (unary.c).
cbk_status cbk_ocl_describe_activation(cbk_opcode opcode, const cbk_activation_params *params,
                                       cbk_dtype dtype, struct cbk_ocl_pointwise *out);

/// Converts source to destination of the same shape, any dtypes and strides (cast.c).
cbk_status cbk_ocl_convert(struct cbk_ocl_stream *stream, const struct cbk_ocl_operand *source,
                           const struct cbk_ocl_operand *destination);

/// Fills a tensor of any strides with one value.
cbk_status cbk_ocl_fill(struct cbk_ocl_stream *stream, cbk_scalar value,
                        const struct cbk_ocl_operand *destination);

/// Launches over the nest of the operands' shapes (operand 0 the output).
cbk_status cbk_ocl_pointwise(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                             const struct cbk_ocl_operand *operands);

/// The same over a nest that is already made; blocks by operand.
cbk_status cbk_ocl_pointwise_nest(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                                  const struct cbk_ocl_nest *nest,
                                  struct cbk_rt_block *const *blocks);

/// Width of the vectors of an operation's kernels.
uint32_t cbk_ocl_pointwise_lanes(const struct cbk_rt_caps *caps,
                                 const struct cbk_ocl_pointwise *op);

/// Do they load and store whole vectors, where a row has them?
bool cbk_ocl_pointwise_is_vector(const struct cbk_rt_caps *caps, const struct cbk_ocl_nest *nest,
                                 uint32_t lanes);

/// Visits the program of `op` in its CPU form, its GPU form, and that with 64-bit indices.
void cbk_ocl_pointwise_visit(const struct cbk_ocl_pointwise *op, cbk_ocl_program_visitor visit,
                             void *user_data);

/// What a list of programs passes on through cbk_ocl_each_row_dtype.
struct cbk_ocl_row_visit {
    cbk_opcode opcode;
    cbk_ocl_program_visitor visit;
    void *user_data;
};

/// Calls `visit_dtype` for every dtype that rows of `opcode` accept.
void cbk_ocl_each_row_dtype(cbk_opcode opcode, void (*visit_dtype)(void *context, cbk_dtype dtype),
                            void *context);

#endif
