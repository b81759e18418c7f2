/// rows.h: what the rows of the op table share: dtype sets, infer functions, the families' tables.
#ifndef CUBEBACK_CORE_ROWS_H
#define CUBEBACK_CORE_ROWS_H

#include "core.h"

#define CBK_BIT(dtype) (UINT64_C(1) << (dtype))

#define CBK_FLOATS                                                                                 \
    (CBK_BIT(CBK_DTYPE_F64) | CBK_BIT(CBK_DTYPE_F32) | CBK_BIT(CBK_DTYPE_F16) |                    \
     CBK_BIT(CBK_DTYPE_BF16) | CBK_BIT(CBK_DTYPE_FLEX32))
#define CBK_SIGNED                                                                                 \
    (CBK_BIT(CBK_DTYPE_I64) | CBK_BIT(CBK_DTYPE_I32) | CBK_BIT(CBK_DTYPE_I16) |                    \
     CBK_BIT(CBK_DTYPE_I8))
#define CBK_UNSIGNED                                                                               \
    (CBK_BIT(CBK_DTYPE_U64) | CBK_BIT(CBK_DTYPE_U32) | CBK_BIT(CBK_DTYPE_U16) |                    \
     CBK_BIT(CBK_DTYPE_U8))
#define CBK_INTS (CBK_SIGNED | CBK_UNSIGNED)
#define CBK_BOOLS (CBK_BIT(CBK_DTYPE_BOOL) | CBK_BIT(CBK_DTYPE_BOOL32))
#define CBK_SMALL_FLOATS (CBK_BIT(CBK_DTYPE_F8E4M3) | CBK_BIT(CBK_DTYPE_F8E5M2))
#define CBK_NUMBERS (CBK_FLOATS | CBK_INTS)
#define CBK_COMPUTED (CBK_NUMBERS | CBK_BOOLS)
#define CBK_STORED (CBK_COMPUTED | CBK_SMALL_FLOATS)

/// One of the device's default dtypes.
static inline cbk_dtype cbk_default_of(const atomic_uint *dtype) {
    return atomic_load_explicit(dtype, memory_order_relaxed);
}

static inline bool cbk_dtype_in(cbk_dtype dtype, uint64_t set) {
    return dtype < 64 && (set >> dtype & 1) != 0;
}

/// A table entry: op, its name, inputs, size of its params, flags, dtypes, infer function.
#define CBK_ROW(op, text, inputs, params, row_flags, dtype_set, infer_function)                    \
    CBK_ROW_OUTPUTS(op, text, inputs, 1, params, row_flags, dtype_set, infer_function)

/// The same with `outputs` results.
#define CBK_ROW_OUTPUTS(op, text, inputs, outputs, params, row_flags, dtype_set, infer_function)   \
    [(op)&0xff] = {.info = {.struct_size = sizeof(cbk_op_info),                                    \
                            .opcode = (op),                                                        \
                            .name = (text),                                                        \
                            .flags = (row_flags),                                                  \
                            .min_inputs = (inputs),                                                \
                            .max_inputs = (inputs),                                                \
                            .output_count = (outputs),                                             \
                            .params_size = (params),                                               \
                            .dtypes = (dtype_set)},                                                \
                   .infer = (infer_function)}

/// A family's rows, indexed by the opcode's low byte.
struct cbk_family {
    const struct cbk_row *rows;
    uint32_t count;
};
extern const struct cbk_family cbk_view_family, cbk_unary_family, cbk_binary_family,
    cbk_binary_scalar_family, cbk_compare_family, cbk_compare_scalar_family, cbk_ternary_family,
    cbk_cast_family, cbk_create_family, cbk_move_family, cbk_reduce_family, cbk_softmax_family,
    cbk_matmul_family, cbk_index_family, cbk_random_family, cbk_activation_backward_family;
extern const struct cbk_family cbk_compact_family, cbk_scan_family, cbk_sort_family,
    cbk_norm_family, cbk_linalg_family;

#define CBK_FAMILY(name, rows_of_it)                                                               \
    const struct cbk_family name = {rows_of_it, sizeof(rows_of_it) / sizeof *(rows_of_it)}

// ---- parts of infer functions (infer.c) ---------------------------------------------------------

/// The dtype must be one of the row's.
cbk_status cbk_infer_dtype(const struct cbk_inference *inference, cbk_dtype dtype);
/// `what` names the operand or parameter in the message.
cbk_status cbk_infer_dtype_in(cbk_dtype dtype, uint64_t set, const char *what);
/// Inputs i and j must agree.
cbk_status cbk_infer_same_dtype(const struct cbk_inference *inference, uint32_t i, uint32_t j);

/// Trailing alignment, 1 stretches. `rank` and `shape` hold the shape so far; input i is laid over
/// it.
cbk_status cbk_infer_broadcast(const struct cbk_inference *inference, uint32_t i, uint32_t *rank,
                               int64_t shape[CBK_MAX_RANK]);

/// Output 0 like input 0 in shape, row-major.
cbk_status cbk_infer_like(struct cbk_inference *inference, cbk_dtype dtype);

/// Output 0 with the broadcast shape of all inputs and the strides rule of pointwise rows.
cbk_status cbk_infer_pointwise(struct cbk_inference *inference, cbk_dtype dtype);

/// The params of an activation or its backward form: fills in defaults, checks the variant.
cbk_status cbk_infer_constants(struct cbk_inference *inference);

/// Rows that families' tables list and rows_matrix.c has.
cbk_status cbk_infer_eye(struct cbk_inference *inference);
cbk_status cbk_infer_window(struct cbk_inference *inference);
cbk_status cbk_infer_triangle(struct cbk_inference *inference);
cbk_status cbk_infer_diag_embed(struct cbk_inference *inference);
cbk_status cbk_infer_cross(struct cbk_inference *inference);

/// A bool dtype asked for, or the given output's, or `preferred`, or the device's default.
cbk_status cbk_infer_bool(const struct cbk_inference *inference, cbk_dtype preferred,
                          cbk_dtype *in_out_dtype);

/// An integer dtype asked for, or the device's default.
cbk_status cbk_infer_int(const struct cbk_inference *inference, cbk_dtype *in_out_dtype);

/// `value`, an index or a count as `what` says, must be within the integer dtype.
cbk_status cbk_infer_fits(int64_t value, cbk_dtype dtype, const char *what);

/// An axis of input 0.
cbk_status cbk_infer_axis(const struct cbk_inference *inference, int32_t *in_out_axis);

/// 0 or 1; `what` names it in the message.
cbk_status cbk_infer_flag(uint32_t value, const char *what);

/// A scalar that must be given.
cbk_status cbk_infer_scalar(const cbk_scalar *scalar, const char *what);

/// Clamps to input 0's axes, fills in defaults for all of them; gives the slice's lengths.
cbk_status cbk_infer_slice(const cbk_tensor_meta *input, cbk_slice_params *params,
                           int64_t out_shape[CBK_MAX_RANK]);

#endif
