/// cubeback/types.h: the vocabulary of the ABI: handles, status codes, dtypes, scalars, limits.
///
/// Public structs hold fixed-width integers, double and pointers only. A struct that a caller
/// fills starts with `struct_size` and is made by CBK_INIT; a zero in every other member is the
/// default. Values are append-only: a number once given keeps its meaning for ever.
#ifndef CUBEBACK_TYPES_H
#define CUBEBACK_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <cubeback/version.h>

#if defined(CUBEBACK_STATIC)
#define CBK_API
#elif defined(_WIN32)
#if defined(CUBEBACK_BUILDING)
#define CBK_API __declspec(dllexport)
#else
#define CBK_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define CBK_API __attribute__((visibility("default")))
#else
#define CBK_API
#endif

#if defined(__GNUC__)
#define CBK_PRINTF(format_index, first_index)                                                      \
    __attribute__((format(printf, format_index, first_index)))
#else
#define CBK_PRINTF(format_index, first_index)
#endif

#ifdef __cplusplus
/// `auto p = CBK_INIT(cbk_device_params);` gives a zeroed struct with its size filled in.
template <class T> inline T cbk_init_struct() {
    T value = T();
    value.struct_size = static_cast<uint32_t>(sizeof(T));
    return value;
}
#define CBK_INIT(type) (cbk_init_struct<type>())
extern "C" {
#else
/// `&CBK_INIT(cbk_device_params, .type = CBK_DEVICE_GPU)` reads like named arguments.
#define CBK_INIT(...) CBK_INIT_(__VA_ARGS__, )
#define CBK_INIT_(type, ...) ((type){.struct_size = sizeof(type), __VA_ARGS__})
#endif

/// Highest rank of a tensor; lists of axes and lengths are arrays of this many entries.
#define CBK_MAX_RANK 8

/// The handles; cubeback/cubeback.h says what they stand for.
typedef struct cbk_backend cbk_backend;
typedef struct cbk_device cbk_device;
typedef struct cbk_stream cbk_stream;
typedef struct cbk_tensor cbk_tensor;
typedef struct cbk_graph cbk_graph;
typedef struct cbk_event cbk_event;

/// Outcome of a call. Negative numbers do not occur; numbers a caller does not know are errors.
typedef int32_t cbk_status;
enum {
    CBK_OK = 0,
    CBK_ERROR_INVALID_ARGUMENT = 1,
    CBK_ERROR_SHAPE = 2,
    CBK_ERROR_DTYPE = 3,
    CBK_ERROR_AXIS = 4,
    CBK_ERROR_ALIASING = 5,
    CBK_ERROR_OVERFLOW = 6,
    CBK_ERROR_INVALID_STATE = 10,
    CBK_ERROR_UNSUPPORTED = 11,
    CBK_ERROR_NOT_FOUND = 12,
    CBK_ERROR_VERSION = 13,
    CBK_ERROR_OUT_OF_MEMORY = 20,
    CBK_ERROR_OUT_OF_HOST_MEMORY = 21,
    CBK_ERROR_BUILD = 30,
    CBK_ERROR_DRIVER = 31,
    CBK_ERROR_DEVICE_LOST = 32,
    CBK_ERROR_INDEX_OUT_OF_RANGE = 33,
    CBK_ERROR_PRODUCER = 34,
    CBK_ERROR_IO = 40,
    CBK_ERROR_CORRUPT = 41,
    CBK_ERROR_INTERNAL = 99
};

/// Element types. See docs/numerics.md for how each is stored and computed with.
typedef uint32_t cbk_dtype;
enum {
    CBK_DTYPE_NONE = 0,
    CBK_DTYPE_F64 = 1,
    CBK_DTYPE_F32 = 2,
    CBK_DTYPE_F16 = 3,
    CBK_DTYPE_BF16 = 4,
    CBK_DTYPE_FLEX32 = 5, ///< stored as f32; matrix products may use reduced precision
    CBK_DTYPE_F8E4M3 = 6,
    CBK_DTYPE_F8E5M2 = 7,
    CBK_DTYPE_I64 = 16,
    CBK_DTYPE_I32 = 17,
    CBK_DTYPE_I16 = 18,
    CBK_DTYPE_I8 = 19,
    CBK_DTYPE_U64 = 24,
    CBK_DTYPE_U32 = 25,
    CBK_DTYPE_U16 = 26,
    CBK_DTYPE_U8 = 27,
    CBK_DTYPE_BOOL = 32,        ///< one byte, 0 or 1
    CBK_DTYPE_BOOL32 = 33,      ///< four bytes, 0 or 1
    CBK_DTYPE_BOOL_NATIVE = 34, ///< a name for a driver's own bool; refused everywhere
    CBK_DTYPE_QUANT = 48        ///< described by a cbk_quant
};

/// An operation's number: family << 8 | index. Numbers are saved in files and never reused.
typedef uint32_t cbk_opcode;

/// A host number on its way to a tensor's dtype; it is rounded once, directly to that dtype.
enum { CBK_SCALAR_NONE = 0, CBK_SCALAR_FLOAT = 1, CBK_SCALAR_INT = 2, CBK_SCALAR_UINT = 3 };
typedef struct cbk_scalar {
    uint32_t kind; ///< CBK_SCALAR_*; 0 means "left out"
    uint32_t reserved;
    union {
        double f;
        int64_t i;
        uint64_t u;
    } v;
} cbk_scalar;

static inline cbk_scalar cbk_f(double value) {
    cbk_scalar s;
    s.kind = CBK_SCALAR_FLOAT, s.reserved = 0, s.v.f = value;
    return s;
}
static inline cbk_scalar cbk_i(int64_t value) {
    cbk_scalar s;
    s.kind = CBK_SCALAR_INT, s.reserved = 0, s.v.i = value;
    return s;
}
static inline cbk_scalar cbk_u(uint64_t value) {
    cbk_scalar s;
    s.kind = CBK_SCALAR_UINT, s.reserved = 0, s.v.u = value;
    return s;
}

/// What a CBK_DTYPE_QUANT tensor holds: integers (q..) or small floats (e..) with a scale per block.
enum {
    CBK_QUANT_Q8F = 1,
    CBK_QUANT_Q8S = 2,
    CBK_QUANT_Q4F = 3,
    CBK_QUANT_Q4S = 4,
    CBK_QUANT_Q2F = 5,
    CBK_QUANT_Q2S = 6,
    CBK_QUANT_E4M3 = 7,
    CBK_QUANT_E5M2 = 8,
    CBK_QUANT_E2M1 = 9
};
enum {
    CBK_QUANT_NATIVE = 1,        ///< a byte each: 8-bit values
    CBK_QUANT_PACKED_NATIVE = 2, ///< two e2m1 to a byte
    CBK_QUANT_PACKED_U32 = 3     ///< 32 / bits values to a word, the first in its lowest bits
};
typedef struct cbk_quant {
    uint32_t struct_size;
    uint32_t value;               ///< CBK_QUANT_Q8F ...
    uint32_t store;               ///< CBK_QUANT_*; 0: native for 8-bit values, else packed in u32
    int32_t packed_axis;          ///< axis along which several values share one element; its
                                  ///< length is a multiple of their number
    int64_t block[CBK_MAX_RANK];  ///< lengths of a scale's block, which divide the axes; 0: the
                                  ///< whole axis
    cbk_dtype scale_dtype;        ///< of the block scales: f32, f16, bf16, f8e4m3; 0: f32
    cbk_dtype global_scale_dtype; ///< f32; 0: there is no global scale
} cbk_quant;

/// Static text for any number, "unknown status" for one this version does not know. Any thread.
CBK_API const char *cbk_status_string(cbk_status status);

/// "f32", "bool", ...; "unknown" for other numbers. Any thread.
CBK_API const char *cbk_dtype_name(cbk_dtype dtype);

/// Bytes of one element in storage; 0 for quant, native bool and unknown numbers. Any thread.
CBK_API uint32_t cbk_dtype_size(cbk_dtype dtype);

/// The library's version, CBK_VERSION of the headers it was built with. Any thread.
CBK_API uint32_t cbk_version(void);

#ifdef __cplusplus
}
#endif
#endif
