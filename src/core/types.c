// types.c: names and sizes of the scalar vocabulary.
#include <cubeback/types.h>

const char *cbk_status_string(cbk_status status) {
    switch (status) {
    case CBK_OK:
        return "ok";
    case CBK_ERROR_INVALID_ARGUMENT:
        return "invalid argument";
    case CBK_ERROR_SHAPE:
        return "shapes do not fit";
    case CBK_ERROR_DTYPE:
        return "dtype not accepted";
    case CBK_ERROR_AXIS:
        return "axis out of range";
    case CBK_ERROR_ALIASING:
        return "memory overlaps";
    case CBK_ERROR_OVERFLOW:
        return "size overflows";
    case CBK_ERROR_INVALID_STATE:
        return "not in this state";
    case CBK_ERROR_UNSUPPORTED:
        return "not supported";
    case CBK_ERROR_NOT_FOUND:
        return "not found";
    case CBK_ERROR_VERSION:
        return "version mismatch";
    case CBK_ERROR_OUT_OF_MEMORY:
        return "out of device memory";
    case CBK_ERROR_OUT_OF_HOST_MEMORY:
        return "out of host memory";
    case CBK_ERROR_BUILD:
        return "kernel build failed";
    case CBK_ERROR_DRIVER:
        return "driver error";
    case CBK_ERROR_DEVICE_LOST:
        return "device lost";
    case CBK_ERROR_INDEX_OUT_OF_RANGE:
        return "index out of range";
    case CBK_ERROR_PRODUCER:
        return "the operation that makes an input failed";
    case CBK_ERROR_IO:
        return "input or output failed";
    case CBK_ERROR_CORRUPT:
        return "data is damaged";
    case CBK_ERROR_INTERNAL:
        return "internal error";
    default:
        return "unknown status";
    }
}

struct dtype_row {
    cbk_dtype dtype;
    uint32_t size_bytes; ///< 0: no plain elements
    const char *name;
};

static const struct dtype_row dtype_rows[] = {
    {CBK_DTYPE_F64, 8, "f64"},       {CBK_DTYPE_F32, 4, "f32"},
    {CBK_DTYPE_F16, 2, "f16"},       {CBK_DTYPE_BF16, 2, "bf16"},
    {CBK_DTYPE_FLEX32, 4, "flex32"}, {CBK_DTYPE_F8E4M3, 1, "f8e4m3"},
    {CBK_DTYPE_F8E5M2, 1, "f8e5m2"}, {CBK_DTYPE_I64, 8, "i64"},
    {CBK_DTYPE_I32, 4, "i32"},       {CBK_DTYPE_I16, 2, "i16"},
    {CBK_DTYPE_I8, 1, "i8"},         {CBK_DTYPE_U64, 8, "u64"},
    {CBK_DTYPE_U32, 4, "u32"},       {CBK_DTYPE_U16, 2, "u16"},
    {CBK_DTYPE_U8, 1, "u8"},         {CBK_DTYPE_BOOL, 1, "bool"},
    {CBK_DTYPE_BOOL32, 4, "bool32"}, {CBK_DTYPE_BOOL_NATIVE, 0, "native bool"},
    {CBK_DTYPE_QUANT, 0, "quant"},
};

static const struct dtype_row *row_of(cbk_dtype dtype) {
    for (size_t i = 0; i < sizeof dtype_rows / sizeof *dtype_rows; i++) {
        if (dtype_rows[i].dtype == dtype) return &dtype_rows[i];
    }
    return NULL;
}

const char *cbk_dtype_name(cbk_dtype dtype) {
    const struct dtype_row *row = row_of(dtype);
    return row != NULL ? row->name : "unknown";
}

uint32_t cbk_dtype_size(cbk_dtype dtype) {
    const struct dtype_row *row = row_of(dtype);
    return row != NULL ? row->size_bytes : 0;
}

uint32_t cbk_version(void) {
    return CBK_VERSION;
}
