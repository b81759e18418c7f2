/// cubeback/dlpack.h: tensors to and from DLPack (version 1).
///
/// The structs have the layout that the DLPack specification fixes for DLTensor and
/// DLManagedTensorVersioned, under names of our own, so that this header can stand beside dlpack.h;
/// a pointer to the one may be cast to a pointer to the other.
#ifndef CUBEBACK_DLPACK_H
#define CUBEBACK_DLPACK_H

#include <cubeback/cubeback.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CBK_DL_MAJOR 1
#define CBK_DL_MINOR 1

enum { CBK_DL_CPU = 1, CBK_DL_OPENCL = 4 };
enum {
    CBK_DL_INT = 0,
    CBK_DL_UINT = 1,
    CBK_DL_FLOAT = 2,
    CBK_DL_BFLOAT = 4,
    CBK_DL_BOOL = 6,
    CBK_DL_FLOAT8_E4M3FN = 10,
    CBK_DL_FLOAT8_E5M2 = 12
};
enum {
    CBK_DL_READ_ONLY = 1u << 0, ///< the consumer must not write
    CBK_DL_COPIED = 1u << 1     ///< the producer made a copy for the consumer
};

/// DLTensor.
typedef struct cbk_dl_tensor {
    void *data; ///< CBK_DL_OPENCL: the cl_mem; CBK_DL_CPU: host memory; NULL for size zero
    int32_t device_type;
    int32_t device_id; ///< CBK_DL_OPENCL: cbk_device_info's index; CBK_DL_CPU: 0
    int32_t ndim;
    uint8_t code;   ///< CBK_DL_INT ...
    uint8_t bits;   ///< of one element
    uint16_t lanes; ///< 1
    int64_t *shape;
    int64_t *strides;     ///< in elements; never NULL in an export
    uint64_t byte_offset; ///< of element [0, 0, ...] from `data`
} cbk_dl_tensor;

/// DLManagedTensorVersioned. Everything up to `flags` keeps its place in all major versions.
typedef struct cbk_dl_managed {
    uint32_t major;
    uint32_t minor;
    void *manager_ctx;                            ///< the producer's
    void (*deleter)(struct cbk_dl_managed *self); ///< may be NULL; called once, frees `self` too
    uint64_t flags;                               ///< CBK_DL_READ_ONLY, CBK_DL_COPIED
    cbk_dl_tensor tensor;
} cbk_dl_managed;

/// Gives a tensor away as DLPack: CBK_DL_OPENCL shares its memory, CBK_DL_CPU copies it to host
/// memory (row-major, aligned to 256 bytes, flag CBK_DL_COPIED).
///
/// Dtypes:    all but quant; flex32 goes as 32-bit float, bool32 as a boolean of 32 bits.
/// Order:     CBK_DL_CPU waits for the stream. CBK_DL_OPENCL does not: DLPack has no place for an
///            event, so the consumer works on the stream's queue, waits for cbk_opencl_event, or
///            the caller calls cbk_sync first.
/// Ownership: the receiver calls (*out)->deleter(*out) once, on any thread. Until then a shared
///            tensor lives on; the caller's handle may be released at once.
/// Errors:    CBK_ERROR_UNSUPPORTED for CBK_DL_OPENCL on another backend than OpenCL's and for
///            private layouts; CBK_ERROR_DTYPE; CBK_ERROR_PRODUCER; CBK_ERROR_INVALID_STATE while
///            the stream captures; CBK_ERROR_INVALID_ARGUMENT for other device types.
CBK_API cbk_status cbk_dlpack_export(cbk_stream *stream, const cbk_tensor *tensor,
                                     int32_t device_type, cbk_dl_managed **out);

/// Makes a tensor of a DLPack one. CBK_DL_OPENCL shares the cl_mem, which must be of the device's
/// context; with CBK_DL_READ_ONLY it is copied on the device, because tensors can be written to.
/// CBK_DL_CPU copies. NULL strides mean row-major.
///
/// Order:     work on the tensor follows what the stream's queue got before this call; the
///            producer's work on other queues is the caller's to wait for (cbk_opencl_wait).
/// Ownership: on success `managed` is the library's; its deleter is called once: during this call
///            for CBK_DL_CPU; else when no tensor uses the memory any more and the work that did
///            has ended, as cubeback/opencl.h says of release functions. After a failure it is
///            still the caller's, who may call the deleter whatever its version is.
/// Errors:    CBK_ERROR_VERSION for another major version (nothing past `flags` is read then);
///            CBK_ERROR_DTYPE for element types without a dtype here and lanes other than 1;
///            CBK_ERROR_SHAPE when the view leaves the cl_mem; CBK_ERROR_UNSUPPORTED and
///            CBK_ERROR_INVALID_ARGUMENT as above and for a cl_mem of another context.
CBK_API cbk_status cbk_dlpack_import(cbk_stream *stream, cbk_dl_managed *managed, cbk_tensor **out);

#ifdef __cplusplus
}
#endif

#endif
