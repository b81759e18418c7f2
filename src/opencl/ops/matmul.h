/// matmul.h: what the files of the matrix product share.
///
/// matmul.c chooses a route; matmul_plan.c turns an operation into a product in a normal form;
/// matmul_program.c names the programs; one file per route launches them.
#ifndef CUBEBACK_OPENCL_MATMUL_H
#define CUBEBACK_OPENCL_MATMUL_H

#include "axes.h"

#include <cubeback/opcodes.h>

enum { CBK_OCL_A, CBK_OCL_B, CBK_OCL_C };

/// Batch axes, axis 0 the fastest, with the strides of a, b and out. kernels/include/
/// matmul_batch.clh has the same struct.
struct cbk_ocl_batch {
    int64_t rank;
    int64_t shape[6];
    int64_t strides[3][6];
};

/// One operand of a product; a has lines of m and runs along k, b has lines of n and runs along k,
/// out has rows of m and columns of n.
struct cbk_ocl_matrix {
    struct cbk_rt_block *block;
    int64_t offset; ///< elements from the start of the buffer
    int64_t line;   ///< stride along m (a, out) or n (b)
    int64_t run;    ///< stride along k (a, b) or n (out)
};

enum { CBK_OCL_BIAS, CBK_OCL_RESIDUAL, CBK_OCL_ADDED };

/// What becomes of the sums: out = activation(sum + bias) + residual, each step rounded
/// (kernels/include/matmul_epilogue.clh).
struct cbk_ocl_epilogue {
    struct cbk_rt_block *blocks[CBK_OCL_ADDED]; ///< NULL: left out
    /// matmul_epilogue.clh has the same struct: offsets in elements from the start of the buffer,
    /// strides along m, n and the batch axes.
    struct cbk_ocl_epilogue_args {
        int64_t offset[CBK_OCL_ADDED], line[CBK_OCL_ADDED], run[CBK_OCL_ADDED];
        int64_t batch[CBK_OCL_ADDED][6];
        uint32_t constants[4]; ///< of the activation: two in the result's arithmetic type
    } args;
    const char *activation; ///< its operator's name; NULL: none
    uint32_t activation_id; ///< below 512; tells activations apart
    uint32_t constant_count;
    bool is_lost; ///< an operand cannot follow the product into its normal form
};

static inline bool cbk_ocl_has_epilogue(const struct cbk_ocl_epilogue *epilogue) {
    return epilogue->activation != NULL || epilogue->blocks[CBK_OCL_BIAS] != NULL ||
           epilogue->blocks[CBK_OCL_RESIDUAL] != NULL;
}

/// out [m, n] = a [m, k] b [k, n] for every matrix of the batch. Normal form: axes of length 1 have
/// stride 1; batch axes are longer than 1 and merged; out's columns are contiguous if either axis
/// of it is; of a product with a vector the vector is a (m = 1).
struct cbk_ocl_product {
    cbk_dtype in, out_dtype, acc;
    int64_t m, n, k;
    struct cbk_ocl_matrix a, b, out;
    struct cbk_ocl_batch batch;
    int64_t matrices;
    struct cbk_ocl_epilogue epilogue;
};

/// The tensors of a product. bias and residual have no meta where they are left out.
struct cbk_ocl_matmul_operands {
    struct cbk_ocl_operand a, b, out;
    struct cbk_ocl_operand added[CBK_OCL_ADDED];
};

/// f64 where an operand or the result is; f32 for the other floats; integers modulo 2^32 or 2^64.
cbk_dtype cbk_ocl_matmul_accumulator(cbk_dtype in, cbk_dtype out);

/// The normal form follows from a, b and out alone: bias and residual come along, or are lost.
void cbk_ocl_product_init(const struct cbk_ocl_matmul_operands *operands,
                          struct cbk_ocl_product *out);

/// The product without its epilogue, whose sums are partial.
struct cbk_ocl_product cbk_ocl_product_bare(const struct cbk_ocl_product *product);

/// The same product cut in two, along the slowest batch axis, else along n at a multiple of
/// `multiple`. False: it cannot be cut.
bool cbk_ocl_product_halve(const struct cbk_ocl_product *product, int64_t multiple,
                           struct cbk_ocl_product *first, struct cbk_ocl_product *second);

/// Do all offsets within one matrix of each operand fit 31 bits?
bool cbk_ocl_product_fits_32bit(const struct cbk_ocl_product *product);

// ---- programs (matmul_program.c) ----------------------------------------------------------------

/// One program of the family and its defines; 0 leaves a define out.
struct cbk_ocl_matmul_program {
    const struct cbk_rt_source *source;
    const char *entry;
    cbk_dtype in, out, acc;
    uint32_t lanes;                   ///< W
    uint32_t rows;                    ///< MR
    uint32_t run;                     ///< KC or BK
    uint32_t panels;                  ///< A_PANELS
    uint32_t group_x, group_y;        ///< LX, LY; group_x alone: THREADS
    uint32_t item_rows, item_columns; ///< TM, TN
    bool is_aligned;                  ///< ALIGNED
    bool is_whole;                    ///< WHOLE
    bool is_along_k;                  ///< B_ALONG_K
    bool has_parts;                   ///< PARTS
    bool has_index64;                 ///< INDEX
    uint32_t nvidia;                  ///< NVIDIA: compute capability whose instructions are used
    uint32_t registers;               ///< most for a work-item; follows from the others
    const struct cbk_ocl_epilogue *epilogue; ///< NULL: none
};

cbk_status cbk_ocl_matmul_kernel(struct cbk_ocl_stream *stream,
                                 const struct cbk_ocl_matmul_program *program,
                                 struct cbk_rt_kernel **out);

// ---- launches -----------------------------------------------------------------------------------

/// The arguments that most entries begin with: buffer and offset. The offset is borrowed.
static inline void cbk_ocl_arg_matrix(struct cbk_rt_launch *launch,
                                      const struct cbk_ocl_matrix *matrix, uint32_t access) {
    cbk_rt_arg_block(launch, matrix->block, access);
    cbk_rt_arg_value(launch, &matrix->offset, sizeof matrix->offset);
}

static inline void cbk_ocl_arg_size(struct cbk_rt_launch *launch, const int64_t *value) {
    cbk_rt_arg_value(launch, value, sizeof *value);
}

/// A temporary of `count` elements of the accumulation type. Free its block after the last launch
/// that uses it.
cbk_status cbk_ocl_matmul_temporary(struct cbk_ocl_stream *stream, cbk_dtype acc, int64_t count,
                                    struct cbk_ocl_matrix *out);

/// The arguments that entries with results end with, if there is an epilogue. Borrowed.
void cbk_ocl_arg_epilogue(struct cbk_rt_launch *launch, const struct cbk_ocl_product *product);

/// Fills in the activation of an operation, or of a pointwise launch that is one.
struct cbk_ocl_pointwise;
cbk_status cbk_ocl_epilogue_activate(const cbk_matmul_params *params, cbk_dtype dtype,
                                     struct cbk_ocl_epilogue *out);
void cbk_ocl_epilogue_take(const struct cbk_ocl_pointwise *op, cbk_dtype dtype,
                           struct cbk_ocl_epilogue *out);

/// The epilogue of an operation whose product is in its output, as launches of its own.
cbk_status cbk_ocl_epilogue_launch(struct cbk_ocl_stream *stream, const cbk_op *op);

/// For a program of the product: its epilogue, if there is one.
static inline const struct cbk_ocl_epilogue *
cbk_ocl_epilogue_of(const struct cbk_ocl_product *product) {
    return cbk_ocl_has_epilogue(&product->epilogue) ? &product->epilogue : NULL;
}

// ---- routes -------------------------------------------------------------------------------------

/// By a kernel of ours, with the epilogue.
cbk_status cbk_ocl_matmul_multiply(struct cbk_ocl_stream *stream,
                                   const struct cbk_ocl_product *product);

cbk_status cbk_ocl_matmul_packed(struct cbk_ocl_stream *stream,
                                 const struct cbk_ocl_product *product);
cbk_status cbk_ocl_matmul_small(struct cbk_ocl_stream *stream,
                                const struct cbk_ocl_product *product);
cbk_status cbk_ocl_matmul_vector(struct cbk_ocl_stream *stream,
                                 const struct cbk_ocl_product *product);
cbk_status cbk_ocl_matmul_tile(struct cbk_ocl_stream *stream,
                               const struct cbk_ocl_product *product);
cbk_status cbk_ocl_matmul_vector_group(struct cbk_ocl_stream *stream,
                                       const struct cbk_ocl_product *product);

/// Products of a few rows, neighbours in memory.
bool cbk_ocl_matmul_rows_suits(const struct cbk_ocl_stream *stream,
                               const struct cbk_ocl_product *product);
cbk_status cbk_ocl_matmul_rows(struct cbk_ocl_stream *stream,
                               const struct cbk_ocl_product *product);

/// f32, f16 and bf16 by asynchronous copies (kernels/matmul_async_f32.cl, matmul_mma.cl).
/// False: not for this device or product.
bool cbk_ocl_matmul_async_suits(const struct cbk_ocl_stream *stream,
                                const struct cbk_ocl_product *product);
cbk_status cbk_ocl_matmul_async(struct cbk_ocl_stream *stream,
                                const struct cbk_ocl_product *product);

/// Can CLBlast take the operands as they are?
bool cbk_ocl_matmul_blas_fits(const struct cbk_ocl_stream *stream,
                              const struct cbk_ocl_product *product);
cbk_status cbk_ocl_matmul_blas(struct cbk_ocl_stream *stream,
                               const struct cbk_ocl_product *product);

/// Adds partial sums [split][matrix][m][n] into the output (kernels/matmul_tile.cl).
cbk_status cbk_ocl_matmul_add_splits(struct cbk_ocl_stream *stream,
                                     const struct cbk_ocl_product *product,
                                     const struct cbk_ocl_matrix *partial, int64_t splits);

#endif
