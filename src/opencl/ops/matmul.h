/// matmul.h: what the files of the matrix product share.
///
/// matmul.c chooses a route; matmul_plan.c turns an operation into a product in a normal form;
/// matmul_program.c names the programs; one file per route launches them.
#ifndef CUBEBACK_OPENCL_MATMUL_H
#define CUBEBACK_OPENCL_MATMUL_H

#include "opencl.h"

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

/// out [m, n] = a [m, k] b [k, n] for every matrix of the batch. Normal form: axes of length 1 have
/// stride 1; batch axes are longer than 1 and merged; out's columns are contiguous if either axis
/// of it is; of a product with a vector the vector is a (m = 1).
struct cbk_ocl_product {
    cbk_dtype in, out_dtype, acc;
    int64_t m, n, k;
    struct cbk_ocl_matrix a, b, out;
    struct cbk_ocl_batch batch;
    int64_t matrices;
};

/// f64 where an operand or the result is; f32 for the other floats; integers modulo 2^32 or 2^64.
cbk_dtype cbk_ocl_matmul_accumulator(cbk_dtype in, cbk_dtype out);

void cbk_ocl_product_init(const cbk_op *op, struct cbk_ocl_product *out);

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
    bool has_index64;                 ///< INDEX
    uint32_t nvidia;                  ///< NVIDIA: compute capability whose instructions are used
    uint32_t registers;               ///< most for a work-item; follows from the others
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

static inline int64_t cbk_ocl_divide_up(int64_t value, int64_t divisor) {
    return (value + divisor - 1) / divisor;
}

/// A temporary of `count` elements of the accumulation type. Free its block after the last launch
/// that uses it.
cbk_status cbk_ocl_matmul_temporary(struct cbk_ocl_stream *stream, cbk_dtype acc, int64_t count,
                                    struct cbk_ocl_matrix *out);

// ---- routes -------------------------------------------------------------------------------------

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
