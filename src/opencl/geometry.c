/// geometry.c: the loop nest over the operands of a pointwise-like operation.
#include "opencl.h"

/// Kernels compute with 32 bits up to here: a last work-group may reach beyond the count.
#define INDEX_LIMIT (INT32_MAX - (1 << 16))

/// Stride of an operand along axis `axis` of the output; 0 where it is broadcast.
static int64_t broadcast_stride(const cbk_tensor_meta *out, const cbk_tensor_meta *meta,
                                uint32_t axis) {
    if (axis + meta->rank < out->rank) return 0;
    uint32_t own = axis + meta->rank - out->rank;
    return meta->shape[own] == 1 ? 0 : meta->strides[own];
}

static int64_t magnitude(int64_t value) {
    return value < 0 ? -value : value;
}

/// Axes of a length other than 1, sorted by the output's strides (stable).
static void collect_axes(const struct cbk_ocl_operand *operands, struct cbk_ocl_nest *nest) {
    const cbk_tensor_meta *out = operands[0].meta;
    for (uint32_t axis = 0; axis < out->rank; axis++) {
        if (out->shape[axis] == 1) continue;
        uint32_t place = nest->rank++;
        while (place > 0 &&
               magnitude(nest->strides[0][place - 1]) < magnitude(out->strides[axis])) {
            nest->shape[place] = nest->shape[place - 1];
            for (uint32_t k = 0; k < nest->operand_count; k++)
                nest->strides[k][place] = nest->strides[k][place - 1];
            place--;
        }
        nest->shape[place] = out->shape[axis];
        for (uint32_t k = 0; k < nest->operand_count; k++)
            nest->strides[k][place] = broadcast_stride(out, operands[k].meta, axis);
    }
}

static bool continues(const struct cbk_ocl_nest *nest, uint32_t outer, uint32_t inner) {
    for (uint32_t k = 0; k < nest->operand_count; k++)
        if (nest->strides[k][outer] != nest->strides[k][inner] * nest->shape[inner]) return false;
    return true;
}

static void merge_axes(struct cbk_ocl_nest *nest) {
    uint32_t kept = 0;
    for (uint32_t axis = 1; axis < nest->rank; axis++) {
        if (continues(nest, kept, axis)) {
            nest->shape[axis] *= nest->shape[kept];
        } else {
            kept++;
        }
        nest->shape[kept] = nest->shape[axis];
        for (uint32_t k = 0; k < nest->operand_count; k++)
            nest->strides[k][kept] = nest->strides[k][axis];
    }
    nest->rank = kept + 1;
}

static void classify(const struct cbk_ocl_stream *stream, struct cbk_ocl_nest *nest) {
    nest->element_count = 1;
    for (uint32_t axis = 0; axis < nest->rank; axis++) nest->element_count *= nest->shape[axis];
    nest->is_dense = nest->rank == 1;
    nest->needs_64bit =
        nest->element_count > INDEX_LIMIT || (stream->device->flags & CBK_INDEX_64) != 0;
    for (uint32_t k = 0; k < nest->operand_count; k++) {
        int64_t span = 0, inner = nest->strides[k][nest->rank - 1];
        for (uint32_t axis = 0; axis < nest->rank; axis++)
            span += (nest->shape[axis] - 1) * magnitude(nest->strides[k][axis]);
        if (span > INDEX_LIMIT) nest->needs_64bit = true;
        if (inner != 0 && inner != 1) nest->is_dense = false;
    }
}

void cbk_ocl_nest(const struct cbk_ocl_stream *stream, const struct cbk_ocl_operand *operands,
                  uint32_t operand_count, struct cbk_ocl_nest *out) {
    CBK_ASSERT(operand_count >= 1 && operand_count <= CBK_OCL_MAX_OPERANDS);
    out->rank = 0;
    out->operand_count = operand_count;
    for (uint32_t k = 0; k < operand_count; k++) out->offsets[k] = operands[k].offset;
    collect_axes(operands, out);
    if (out->rank == 0) {
        out->rank = 1;
        out->shape[0] = 1;
        for (uint32_t k = 0; k < operand_count; k++) out->strides[k][0] = 1;
    } else {
        merge_axes(out);
    }
    classify(stream, out);
}
