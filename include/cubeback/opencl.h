/// cubeback/opencl.h: sharing OpenCL objects with a program that has its own.
///
/// The one public header that needs OpenCL's. All functions want objects of the OpenCL backend and
/// give CBK_ERROR_INVALID_ARGUMENT for those of another, for NULL, and for objects of another
/// context. Functions with a stream are called by one thread at a time for that stream, like all
/// others with one, and give CBK_ERROR_INVALID_STATE while it captures a graph.
///
/// The library never makes the caller's queue wait on the host, never changes the caller's objects,
/// and drops its references to them as each function says.
#ifndef CUBEBACK_OPENCL_H
#define CUBEBACK_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>

#include <cubeback/cubeback.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Opens a device on the caller's context and a stream on the caller's in-order queue of it; the
/// queue's device is the one that is opened. `params` may be NULL; its type, index and name are
/// ignored. `out_stream` may be NULL when only the device is wanted.
///
/// Order:     work of the caller in the queue and work of the library on the stream keep the order
///            in which they are enqueued, each seeing what the other wrote. The library enqueues
///            at once; nothing is held back outside of a capture.
/// Ownership: the context is retained until the device's last handle is gone, the queue until the
///            stream's is. A stream or a device may be released while its work is running.
/// Errors:    CBK_ERROR_INVALID_ARGUMENT for an out-of-order queue; CBK_ERROR_UNSUPPORTED for a
///            queue on a sub-device or a device that cbk_device_count does not count.
/// Threads:   any; the caller must not enqueue from another thread where the order matters.
CBK_API cbk_status cbk_opencl_open(cbk_backend *backend, cl_context context, cl_command_queue queue,
                                   const cbk_device_params *params, cbk_device **out_device,
                                   cbk_stream **out_stream);

/// A further stream, on an in-order queue of the device and its context, retained as above. The
/// device may be any of the OpenCL backend.
CBK_API cbk_status cbk_opencl_stream(cbk_device *device, cl_command_queue queue, cbk_stream **out);

/// Called once when no tensor, view or graph uses the memory any more and the work that did has
/// ended: within the release of the last of them if that can be seen without waiting, else within a
/// later sync, flush or read of a stream of the device, cbk_memory_cleanup, or at the latest when
/// the device is closed. So it runs on a thread that calls the library, never on one of the
/// driver's. It must not call the library. In a child made by fork it is never called.
typedef void (*cbk_opencl_release_function)(void *user_data);

/// A view of a buffer.
typedef struct cbk_opencl_memory {
    uint32_t struct_size;
    cbk_dtype dtype; ///< 0: the device's default float
    uint32_t rank;
    uint32_t flags; ///< reserved, 0
    int64_t shape[CBK_MAX_RANK];
    int64_t strides[CBK_MAX_RANK]; ///< in elements, of any sign; all 0: row-major
    uint64_t offset_bytes;         ///< of element [0, 0, ...]; a multiple of the element's size
    cl_mem memory; ///< a buffer of the device's context that kernels may read and write
    cbk_opencl_release_function release; ///< may be NULL
    void *user_data;
} cbk_opencl_memory;

/// Makes a tensor over the caller's buffer, without a copy: both see what the other writes.
///
/// Dtypes:    all but quant. Elements of the bool dtypes must be 0 or 1.
/// Order:     the library's work on the tensor, on any stream, follows what the caller has in the
///            queue of `stream` at this call; on `stream` itself also what the caller enqueues
///            later. Other queues are the caller's to order, with the events below.
/// Ownership: the buffer is retained until `release` is called. After a failure it is not.
/// Memory:    counted in no figure of cbk_memory_usage, bounded by no limit, never reused.
/// Errors:    CBK_ERROR_SHAPE when an element of the view would lie outside the buffer or at a
///            part of an element; CBK_ERROR_DTYPE.
CBK_API cbk_status cbk_opencl_wrap(cbk_stream *stream, const cbk_opencl_memory *memory,
                                   cbk_tensor **out);

/// The buffer behind a tensor (borrowed) and where in it element [0, 0, ...] lies; the strides are
/// cbk_tensor_strides. NULL and 0 for a tensor of size zero.
///
/// Order:     work on the tensor so far, on any stream, comes before what the caller enqueues in
///            the queue of `stream` from now on. Work of the library on other streams follows the
///            caller's when it is enqueued after the caller's; later uses are the caller's to
///            order, with the events below or one more export.
/// Ownership: the tensor must live until the caller's work on the buffer has been enqueued and, in
///            other queues than the stream's, has ended: the memory is given to others after it.
///            The buffer has other tensors in it; only the tensor's own elements may be touched.
/// Errors:    CBK_ERROR_INVALID_STATE for a tensor without contents; CBK_ERROR_PRODUCER.
CBK_API cbk_status cbk_opencl_export(cbk_stream *stream, const cbk_tensor *tensor,
                                     cl_mem *out_memory, uint64_t *out_offset_bytes);

/// Makes later work of the stream wait for the caller's event, on the device. The driver holds the
/// event for as long as that takes.
CBK_API cbk_status cbk_opencl_wait(cbk_stream *stream, cl_event event);

/// An event that ends with all work in the stream's queue so far, the caller's included; flushed,
/// so that another queue can wait for it. The caller releases it.
CBK_API cbk_status cbk_opencl_event(cbk_stream *stream, cl_event *out);

/// The objects that the stream works with (borrowed); each out pointer may be NULL. Also for
/// streams that were made by cbk_stream_create: what is enqueued in their queue keeps the order
/// too. The queue of a stream is another one while it is profiled (cbk_profile_begin).
CBK_API cbk_status cbk_opencl_objects(cbk_stream *stream, cl_context *out_context,
                                      cl_device_id *out_device, cl_command_queue *out_queue);

#ifdef __cplusplus
}
#endif

#endif
