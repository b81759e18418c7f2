/// interop.h: OpenCL objects that belong to the caller, and ours in the caller's hands.
///
/// The one part of the runtime's interface that names OpenCL types.
#ifndef CUBEBACK_RUNTIME_INTEROP_H
#define CUBEBACK_RUNTIME_INTEROP_H

#include "cl.h"
#include "runtime.h"

/// As cbk_rt_device_open, on the caller's context, which is retained, and the device of a queue of
/// it. Of `params`, memory_limit_bytes counts.
/// Errors: CBK_ERROR_INVALID_ARGUMENT for a queue that a stream could not use;
/// CBK_ERROR_UNSUPPORTED for a device that discovery has skipped.
cbk_status cbk_rt_device_adopt(struct cbk_rt *rt, cl_context context, cl_command_queue queue,
                               const cbk_device_params *params, struct cbk_rt_device **out);

/// A stream on the caller's queue, which is retained until the stream is destroyed.
/// Errors: CBK_ERROR_INVALID_ARGUMENT unless it is an in-order queue of the device and its context.
cbk_status cbk_rt_stream_adopt(struct cbk_rt_device *device, cl_command_queue queue,
                               struct cbk_rt_stream **out);

/// A block over the caller's buffer, which is retained; no figure of the pool counts it. `release`
/// (may be NULL) is called once after cbk_rt_free, when the work that used the block has ended: in
/// cbk_rt_free, else in a later sync, flush or read of any stream of the device, a memory cleanup,
/// or the device's close. All work that uses the block comes behind what the stream's queue holds
/// now.
/// Errors: CBK_ERROR_INVALID_ARGUMENT for what is no buffer of the device's context.
cbk_status cbk_rt_block_adopt(struct cbk_rt_stream *stream, cl_mem mem,
                              void (*release)(void *user_data), void *user_data,
                              struct cbk_rt_block **out);
/// Gives another release function, or none.
void cbk_rt_block_set_release(struct cbk_rt_block *block, void (*release)(void *user_data),
                              void *user_data);

/// The buffer behind a block (borrowed). Work on the block so far comes before what is enqueued
/// behind the stream from now on; it is handed to the device.
cbk_status cbk_rt_block_export(struct cbk_rt_stream *stream, struct cbk_rt_block *block,
                               cl_mem *out);

/// Makes later work of the stream wait for the caller's event.
cbk_status cbk_rt_event_import(struct cbk_rt_stream *stream, cl_event event);

/// An event, retained for the caller, that ends with all work in the stream's queue so far.
cbk_status cbk_rt_event_export(struct cbk_rt_stream *stream, cl_event *out);

/// What the stream works with (borrowed); NULL for what is not asked.
void cbk_rt_objects(const struct cbk_rt_stream *stream, cl_context *out_context,
                    cl_device_id *out_device, cl_command_queue *out_queue);

#endif
