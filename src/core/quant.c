// quant.c: what a quantized tensor is made of. No row computes with one: it is made, written, read
// and moved between devices as its serialised bytes: values, block scales, global scale.
#include "core.h"
#include "rows.h"

struct value_kind {
    const char *name;
    int64_t bits;
};

static const struct value_kind values[] = {
    [CBK_QUANT_Q8F] = {"q8f", 8},   [CBK_QUANT_Q8S] = {"q8s", 8},   [CBK_QUANT_Q4F] = {"q4f", 4},
    [CBK_QUANT_Q4S] = {"q4s", 4},   [CBK_QUANT_Q2F] = {"q2f", 2},   [CBK_QUANT_Q2S] = {"q2s", 2},
    [CBK_QUANT_E4M3] = {"e4m3", 8}, [CBK_QUANT_E5M2] = {"e5m2", 8}, [CBK_QUANT_E2M1] = {"e2m1", 4},
};

// ---- the description -----------------------------------------------------------------------------

/// Values that share one stored element; 0 where the value cannot be stored so.
static int64_t values_per_element(const cbk_quant *quant) {
    const int64_t bits = values[quant->value].bits;
    switch (quant->store) {
    case CBK_QUANT_NATIVE:
        return bits == 8 ? 1 : 0;
    case CBK_QUANT_PACKED_NATIVE:
        return quant->value == CBK_QUANT_E2M1 ? 2 : 0;
    case CBK_QUANT_PACKED_U32:
        return 32 / bits;
    default:
        return 0;
    }
}

cbk_status cbk_quant_check(cbk_quant *quant) {
    if (quant->value == 0 || quant->value >= sizeof values / sizeof *values) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "quant: value %u is unknown",
                        (unsigned)quant->value);
    }
    if (quant->store == 0) {
        quant->store = values[quant->value].bits == 8 ? CBK_QUANT_NATIVE : CBK_QUANT_PACKED_U32;
    }
    if (quant->store > CBK_QUANT_PACKED_U32) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "quant: store %u is unknown",
                        (unsigned)quant->store);
    }
    if (values_per_element(quant) == 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "quant: %s is not stored %s",
                        values[quant->value].name,
                        quant->store == CBK_QUANT_NATIVE ? "natively" : "packed natively");
    }
    if (quant->scale_dtype == CBK_DTYPE_NONE) quant->scale_dtype = CBK_DTYPE_F32;
    const uint64_t scales = CBK_BIT(CBK_DTYPE_F32) | CBK_BIT(CBK_DTYPE_F16) |
                            CBK_BIT(CBK_DTYPE_BF16) | CBK_BIT(CBK_DTYPE_F8E4M3);
    if (!cbk_dtype_in(quant->scale_dtype, scales)) {
        return cbk_fail(CBK_ERROR_DTYPE, 0, "quant: scale_dtype is %s, not f32, f16, bf16, f8e4m3",
                        cbk_dtype_name(quant->scale_dtype));
    }
    if (quant->global_scale_dtype != CBK_DTYPE_NONE && quant->global_scale_dtype != CBK_DTYPE_F32) {
        return cbk_fail(CBK_ERROR_DTYPE, 0, "quant: global_scale_dtype is %s, not f32",
                        cbk_dtype_name(quant->global_scale_dtype));
    }
    return CBK_OK;
}

// ---- for a shape ---------------------------------------------------------------------------------

static cbk_status check_packing(cbk_quant *quant, const cbk_tensor_meta *meta) {
    const int64_t shared = values_per_element(quant);
    cbk_status status = CBK_OK;
    if (shared == 1) return CBK_OK;
    status = cbk_check_axis(quant->packed_axis, meta->rank, &quant->packed_axis);
    if (status == CBK_OK && meta->shape[quant->packed_axis] % shared != 0) {
        return cbk_fail(CBK_ERROR_SHAPE, 0,
                        "quant: axis %d has length %lld, not a multiple of the %lld values that "
                        "share an element",
                        (int)quant->packed_axis, (long long)meta->shape[quant->packed_axis],
                        (long long)shared);
    }
    return status;
}

/// Blocks become explicit lengths.
static cbk_status check_blocks(cbk_quant *quant, const cbk_tensor_meta *meta) {
    for (uint32_t i = 0; i < CBK_MAX_RANK; i++) {
        const int64_t length = meta->shape[i];
        if (quant->block[i] == 0) quant->block[i] = length > 0 ? length : 1;
        if (quant->block[i] < 0 || length % quant->block[i] != 0) {
            return cbk_fail(CBK_ERROR_SHAPE, 0,
                            "quant: axis %u has length %lld, blocks of %lld do not divide it",
                            (unsigned)i, (long long)length, (long long)quant->block[i]);
        }
    }
    return CBK_OK;
}

cbk_status cbk_quant_fit(cbk_quant *quant, const cbk_tensor_meta *meta) {
    cbk_status status = cbk_quant_check(quant);
    // A scale for every value takes five times the bytes of the values at most.
    if (status == CBK_OK && meta->element_count > INT64_MAX / 8) {
        status = cbk_fail(CBK_ERROR_OVERFLOW, 0, "%lld quantized elements are too many",
                          (long long)meta->element_count);
    }
    if (status == CBK_OK) status = check_packing(quant, meta);
    return status == CBK_OK ? check_blocks(quant, meta) : status;
}

uint64_t cbk_quant_bytes(const cbk_tensor_meta *meta) {
    const cbk_quant *quant = meta->quant;
    const uint64_t count = (uint64_t)meta->element_count;
    uint64_t scale_count = 1;
    if (count == 0) return 0;
    for (uint32_t i = 0; i < meta->rank; i++) {
        scale_count *= (uint64_t)(meta->shape[i] / quant->block[i]);
    }
    const uint64_t bits = (uint64_t)values[quant->value].bits;
    return count / 8 * bits + count % 8 * bits / 8 +
           scale_count * cbk_dtype_size(quant->scale_dtype) +
           cbk_dtype_size(quant->global_scale_dtype);
}
