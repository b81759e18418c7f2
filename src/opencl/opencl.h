/// opencl.h: the OpenCL backend: opcodes to family launchers, launchers to kernel specs.
///
/// It includes no OpenCL header: src/runtime does the talking.
#ifndef CUBEBACK_OPENCL_OPENCL_H
#define CUBEBACK_OPENCL_OPENCL_H

#include <stdatomic.h>

#include "runtime.h"

#include "kernels.h" // generated: cbk_kernel_<stem>

struct cbk_ocl_device {
    struct cbk_rt_device *rt;
    const struct cbk_rt_caps *caps;
    uint32_t flags;                   ///< of cbk_backend_params
    _Atomic uint64_t seed;            ///< key of the random numbers
    _Atomic uint64_t seed_generation; ///< grows after every change of it by cbk_seed, on any thread
};

/// Draws recorded by the capture in progress.
struct cbk_ocl_draws {
    struct cbk_rt_block *start; ///< struct cbk_ocl_random_start on the device; NULL: no draw yet
    uint32_t start_node;        ///< of the launch that fills it
    uint64_t position_count;
};

struct cbk_ocl_stream {
    struct cbk_rt_stream *rt;
    struct cbk_ocl_device *device;
    uint64_t number;          ///< of the stream within its device
    cbk_random_state random;  ///< of the next draw; struct_size 0: not settled yet
    uint64_t seed_generation; ///< when it differs from the device's, `random` starts anew
    struct cbk_ocl_draws draws;
    struct cbk_ocl_profile *profile;             ///< while one is on (profile.c)
    struct cbk_ocl_small_launch *small_launches; ///< of the capture in progress (merge.h)
    uint32_t small_launch_count, small_launch_capacity;
    struct cbk_ocl_join **products; ///< likewise (join.h)
    uint32_t product_count, product_capacity;
};

/// What the draws of a graph count from, as kernels/include/random_start.clh has it.
struct cbk_ocl_random_start {
    uint64_t position, seed;
};
#define CBK_OCL_RANDOM_START_ARG 1 ///< of random_start

/// The state of the next eager draw.
cbk_random_state *cbk_ocl_random_state(struct cbk_ocl_stream *stream);

/// A tensor as kernels see it.
struct cbk_ocl_operand {
    const cbk_tensor_meta *meta;
    struct cbk_rt_block *block;
    int64_t offset; ///< elements from the start of the buffer to element [0, 0, ...]
};
struct cbk_ocl_operand cbk_ocl_operand(const cbk_tensor *tensor);

/// The word that names a dtype in kernel texts: "f32", "bf16", "bool"; flex32 is "f32".
const char *cbk_ocl_dtype_word(cbk_dtype dtype);

/// One launcher per family. Storage of every output is attached before it is called; outputs of
/// size zero have none and are never alone in an op.
typedef cbk_status (*cbk_ocl_launcher)(struct cbk_ocl_stream *stream, const cbk_op *op);

cbk_status cbk_ocl_unary(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_binary(struct cbk_ocl_stream *stream, const cbk_op *op);  ///< and scalar forms
cbk_status cbk_ocl_compare(struct cbk_ocl_stream *stream, const cbk_op *op); ///< and scalar forms
cbk_status cbk_ocl_ternary(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_cast(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_create_op(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_move(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_reduce(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_softmax(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_softmax_backward(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_norm(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_matmul(struct cbk_ocl_stream *stream, const cbk_op *op);
/// Do large products of the dtype run on the device's matrix unit?
bool cbk_ocl_matmul_is_accelerated(const struct cbk_ocl_device *device, cbk_dtype dtype);
cbk_status cbk_ocl_index(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_random(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_activation_backward(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_compact(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_scan(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_sort(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_linalg(struct cbk_ocl_stream *stream, const cbk_op *op);

/// Copies source to destination of the same shape and dtype, any strides (moves.c). What every
/// launcher uses that needs a dense operand, with cbk_ocl_temporary_like.
cbk_status cbk_ocl_copy(struct cbk_ocl_stream *stream, const struct cbk_ocl_operand *source,
                        const struct cbk_ocl_operand *destination);

/// A dense row-major temporary of the shape and dtype of `meta`. `out_meta` is filled and must
/// outlive the operand. Free its block directly after the launch that uses it.
cbk_status cbk_ocl_temporary(struct cbk_ocl_stream *stream, const cbk_tensor_meta *meta,
                             cbk_tensor_meta *out_meta, struct cbk_ocl_operand *out);

// ---- geometry: what every pointwise-like launcher needs (geometry.c) -----------------------------

#define CBK_OCL_MAX_OPERANDS 5

/// Loop nest over the shape of operand 0 (the output): adjacent axes merged where every operand
/// allows it, length-1 axes dropped, the output's largest strides outermost. Rank 0 becomes one
/// axis of length 1. Strides are in elements and may be 0 or negative.
struct cbk_ocl_nest {
    uint32_t rank; ///< 1..8
    uint32_t operand_count;
    int64_t shape[CBK_MAX_RANK]; ///< outermost first
    int64_t strides[CBK_OCL_MAX_OPERANDS][CBK_MAX_RANK];
    int64_t offsets[CBK_OCL_MAX_OPERANDS];
    int64_t element_count;
    bool is_dense;    ///< rank 1 and every operand has stride 1 or 0
    bool needs_64bit; ///< a count or an address does not fit 31 bits (or CBK_INDEX_64)
};
/// Operands broadcast against operand 0.
void cbk_ocl_nest(const struct cbk_ocl_stream *stream, const struct cbk_ocl_operand *operands,
                  uint32_t operand_count, struct cbk_ocl_nest *out);

/// Calls `visit` once for every program the launchers can name on any device, so that all of them
/// can be compiled without one (the kernels-check target). The spec is borrowed for the call.
/// Each family has its own list: cbk_ocl_<family>_programs(visit, user_data).
typedef void (*cbk_ocl_program_visitor)(void *user_data, const struct cbk_rt_spec *spec);
void cbk_ocl_each_program(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_unary_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_binary_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_compare_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_ternary_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_cast_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_create_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_move_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_reduce_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_softmax_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_norm_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_batch_norm_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_matmul_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_index_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_random_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_activation_backward_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_compact_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_scan_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_sort_programs(cbk_ocl_program_visitor visit, void *user_data);
void cbk_ocl_linalg_programs(cbk_ocl_program_visitor visit, void *user_data);

/// Rounds up to a multiple.
static inline size_t cbk_ocl_round_up(size_t value, size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

#endif
