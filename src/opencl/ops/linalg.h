/// linalg.h: what the files of matrix factorisations share.
///
/// linalg.c has matrices, their products and launches; lu.c and qr.c one factorisation each. Every
/// one works on dense matrices of f32 or f64, in the output itself where it is like that.
#ifndef CUBEBACK_OPENCL_LINALG_H
#define CUBEBACK_OPENCL_LINALG_H

#include "opencl.h"

#define CBK_OCL_PANEL 32 ///< columns factored at a time: WIDTH of kernels/include/linalg.clh

/// One factorisation of many matrices.
struct cbk_ocl_linalg {
    struct cbk_ocl_stream *stream;
    const char *operation; ///< for errors and profiles; static
    cbk_dtype dtype;       ///< what is computed in: f32 or f64
    int64_t count;         ///< of matrices
    int64_t rows, columns; ///< of x
    bool is_gpu;           ///< form of the kernels
};

/// CBK_ERROR_UNSUPPORTED for lengths that do not fit 31 bits.
cbk_status cbk_ocl_linalg_init(struct cbk_ocl_stream *stream, const char *operation,
                               const cbk_tensor *x, struct cbk_ocl_linalg *out);

static inline int64_t cbk_ocl_shorter(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// ---- matrices -----------------------------------------------------------------------------------

/// Where matrices lie, in elements; kernels/include/linalg.clh has the same struct.
struct cbk_ocl_place {
    int64_t offset, step, line; ///< first element, from matrix to matrix, from row to row
};

/// Matrices of one shape in one buffer; columns are neighbours unless they are transposed.
struct cbk_ocl_matrices {
    struct cbk_rt_block *block;
    struct cbk_ocl_place at;
    int64_t run; ///< from column to column
    int64_t rows, columns;
};

/// Dense ones in memory of their own; free the block after the last launch that uses them.
cbk_status cbk_ocl_matrices_temporary(const struct cbk_ocl_linalg *linalg, cbk_dtype dtype,
                                      int64_t rows, int64_t columns, struct cbk_ocl_matrices *out);

struct cbk_ocl_matrices cbk_ocl_matrices_part(const struct cbk_ocl_matrices *whole, int64_t row,
                                              int64_t column, int64_t rows, int64_t columns);
struct cbk_ocl_matrices cbk_ocl_matrices_transposed(const struct cbk_ocl_matrices *a);

/// out = a b, or out += a b, whose inner length is at most CBK_OCL_PANEL then.
cbk_status cbk_ocl_matrices_multiply(const struct cbk_ocl_linalg *linalg,
                                     const struct cbk_ocl_matrices *a,
                                     const struct cbk_ocl_matrices *b, bool adds,
                                     const struct cbk_ocl_matrices *out);

// ---- results ------------------------------------------------------------------------------------

/// A result in the making: dense matrices (of one row where it has vectors) of `dtype`, which are
/// the output where it is like that, else a temporary.
struct cbk_ocl_staged {
    struct cbk_ocl_matrices matrices;
    struct cbk_ocl_operand output;
    cbk_tensor_meta meta; ///< of the temporary
    bool is_temporary;
};
cbk_status cbk_ocl_stage(const struct cbk_ocl_linalg *linalg, const cbk_tensor *output,
                         cbk_dtype dtype, int64_t rows, int64_t columns,
                         struct cbk_ocl_staged *out);
/// Brings a temporary into the output.
cbk_status cbk_ocl_stage_put(const struct cbk_ocl_linalg *linalg,
                             const struct cbk_ocl_staged *staged);
/// Frees a temporary. Good for one that was never made.
void cbk_ocl_stage_free(const struct cbk_ocl_linalg *linalg, struct cbk_ocl_staged *staged);

/// x converted into dense matrices of its shape.
cbk_status cbk_ocl_matrices_load(const struct cbk_ocl_linalg *linalg, const cbk_tensor *x,
                                 const struct cbk_ocl_matrices *to);

// ---- programs and launches ----------------------------------------------------------------------

/// One program and its defines; 0 leaves a define out.
struct cbk_ocl_linalg_program {
    const struct cbk_rt_source *source;
    cbk_dtype dtype;
    uint32_t groups; ///< GROUPS, and with it ROWS
    uint32_t rows;
    uint32_t columns; ///< COLUMNS
};
struct cbk_rt_spec cbk_ocl_linalg_spec(const struct cbk_ocl_linalg_program *program,
                                       const char *entry);

/// Finds the kernel and begins a launch of `items` work-items in groups of `group`.
cbk_status cbk_ocl_linalg_begin(const struct cbk_ocl_linalg *linalg,
                                const struct cbk_ocl_linalg_program *program, const char *entry,
                                int64_t items, int64_t group, struct cbk_rt_launch *out);

/// The same for the factorisation of a panel with so many rows: a work-group for each matrix, or on
/// CPUs a work-item.
cbk_status cbk_ocl_panel_begin(const struct cbk_ocl_linalg *linalg, const struct cbk_rt_source *gpu,
                               const struct cbk_rt_source *cpu, const char *entry, int64_t rows,
                               struct cbk_rt_launch *out);
void cbk_ocl_panel_programs(const struct cbk_rt_source *gpu, const struct cbk_rt_source *cpu,
                            const char *entry, cbk_ocl_program_visitor visit, void *user_data);

// ---- factorisations -----------------------------------------------------------------------------

cbk_status cbk_ocl_lu(struct cbk_ocl_stream *stream, const cbk_op *op); ///< lu_factor
cbk_status cbk_ocl_det(struct cbk_ocl_stream *stream, const cbk_op *op);
void cbk_ocl_lu_programs(cbk_ocl_program_visitor visit, void *user_data);

cbk_status cbk_ocl_qr(struct cbk_ocl_stream *stream, const cbk_op *op);
void cbk_ocl_qr_programs(cbk_ocl_program_visitor visit, void *user_data);

#endif
