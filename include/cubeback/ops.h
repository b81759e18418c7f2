/// cubeback/ops.h: a named function for every operation, one header for each family of them.
///
/// Each operation gives two functions. `cbk_x(stream, inputs..., options..., &out)` makes a new
/// tensor; `cbk_x_into(stream, inputs..., options..., dst)` writes into `dst`, which has the
/// result's shape and dtype and any strides that do not overlap in itself.
///
/// What holds for all of them:
///   Shapes:   operands of pointwise operations broadcast: trailing axes are aligned, length 1
///             stretches. Negative axes count from the end. Any length may be 0.
///   Dtypes:   operands must agree; nothing is promoted. "floats" are f64 f32 f16 bf16 flex32,
///             "ints" all signed and unsigned integers, "bools" bool and bool32. f16 and bf16 are
///             computed in f32 and rounded once. 8-bit floats: copies, views, casts
///             and matrix products.
///   Views:    every input may have any offset, strides of 0 and negative strides.
///   Aliasing: the result is new; `dst` of a pointwise or update operation may be exactly one of
///             the inputs, any other overlap is CBK_ERROR_ALIASING.
///   Order:    enqueued on `stream`; runs after all earlier work there.
///   Errors:   CBK_ERROR_INVALID_ARGUMENT, CBK_ERROR_SHAPE, CBK_ERROR_DTYPE, CBK_ERROR_AXIS,
///             CBK_ERROR_ALIASING, CBK_ERROR_OVERFLOW, CBK_ERROR_OUT_OF_MEMORY, CBK_ERROR_BUILD,
///             CBK_ERROR_UNSUPPORTED (a dtype the device lacks), CBK_ERROR_DEVICE_LOST; the new
///             tensor is NULL then. Errors of the running work come up at the next sync, flush or
///             read.
/// docs/numerics.md gives accuracy, docs/operations.md the table of dtypes.
#ifndef CUBEBACK_OPS_H
#define CUBEBACK_OPS_H

#include <cubeback/cubeback.h>

#include <cubeback/ops/activation.h>
#include <cubeback/ops/binary.h>
#include <cubeback/ops/compact.h>
#include <cubeback/ops/compare.h>
#include <cubeback/ops/create.h>
#include <cubeback/ops/index.h>
#include <cubeback/ops/linalg.h>
#include <cubeback/ops/matmul.h>
#include <cubeback/ops/move.h>
#include <cubeback/ops/norm.h>
#include <cubeback/ops/random.h>
#include <cubeback/ops/reduce.h>
#include <cubeback/ops/scan.h>
#include <cubeback/ops/select.h>
#include <cubeback/ops/softmax.h>
#include <cubeback/ops/sort.h>
#include <cubeback/ops/unary.h>
#include <cubeback/ops/view.h>

#endif
