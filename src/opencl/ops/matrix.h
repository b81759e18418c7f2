/// matrix.h: launchers of move and create rows that have kernels or views of their own.
#ifndef CUBEBACK_OPENCL_MATRIX_H
#define CUBEBACK_OPENCL_MATRIX_H

#include "opencl.h"

/// tril, triu (triangle.c).
cbk_status cbk_ocl_triangle(struct cbk_ocl_stream *stream, const cbk_op *op);
void cbk_ocl_triangle_programs(cbk_ocl_program_visitor visit, void *user_data);

/// cross (cross.c).
cbk_status cbk_ocl_cross(struct cbk_ocl_stream *stream, const cbk_op *op);
void cbk_ocl_cross_programs(cbk_ocl_program_visitor visit, void *user_data);

/// diag_embed, eye: zeros, then a launch over a view of the diagonal (diagonal.c).
cbk_status cbk_ocl_diag_embed(struct cbk_ocl_stream *stream, const cbk_op *op);
cbk_status cbk_ocl_eye(struct cbk_ocl_stream *stream, const cbk_op *op);

#endif
