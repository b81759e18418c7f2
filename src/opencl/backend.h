/// backend.h: what the files of src/opencl share besides opencl.h.
#ifndef CUBEBACK_OPENCL_BACKEND_H
#define CUBEBACK_OPENCL_BACKEND_H

#include "opencl.h"

/// `self` of the vtable.
struct cbk_ocl {
    struct cbk_rt *rt;
};

/// Creates the backend over another function table (fault tests); NULL: the linked loader.
cbk_status cbk_opencl_create_with(const cbk_backend_params *params, const struct cbk_rt_cl *cl,
                                  cbk_backend **out);

// Handles over what the runtime has opened, which is closed on failure.
cbk_status cbk_ocl_device_make(struct cbk_ocl *ocl, struct cbk_rt_device *rt_device,
                               const cbk_device_params *params, struct cbk_ocl_device **out);
cbk_status cbk_ocl_stream_make(struct cbk_ocl_device *device, struct cbk_rt_stream *rt_stream,
                               struct cbk_ocl_stream **out);
void cbk_ocl_device_close(void *self, void *device);
void cbk_ocl_stream_destroy(void *self, void *stream);

// transfer.c
cbk_status cbk_ocl_write(void *self, void *stream, const cbk_tensor *tensor, const void *data);
cbk_status cbk_ocl_read(void *self, void *stream, const cbk_backend_read *requests, uint32_t count);
cbk_status cbk_ocl_read_async(void *self, void *stream, const cbk_backend_read *requests,
                              uint32_t count, void **out_event);

// execute.c
cbk_status cbk_ocl_execute(void *self, void *stream, const cbk_op *op);
cbk_status cbk_ocl_supports_op(void *self, void *device, const cbk_op *op);

// graph.c
cbk_status cbk_ocl_graph_prepare(void *self, void *stream);
cbk_status cbk_ocl_graph_start(void *self, void *stream);
cbk_status cbk_ocl_graph_stop(void *self, void *stream, void **out_graph);
cbk_status cbk_ocl_graph_abort(void *self, void *stream);
cbk_status cbk_ocl_graph_replay(void *self, void *stream, void *graph);
void cbk_ocl_graph_destroy(void *self, void *graph);

// interop.c
cbk_status cbk_ocl_memory_export(void *self, void *stream, const cbk_tensor *tensor, int32_t kind,
                                 void **out_memory, uint64_t *out_offset_bytes);
cbk_status cbk_ocl_memory_import(void *self, void *stream, int32_t kind, void *memory,
                                 void (*release)(void *user_data), void *user_data,
                                 void **out_storage, uint64_t *out_size_bytes);

// profile.c
cbk_status cbk_ocl_profile_begin(void *self, void *stream, cbk_profile_function function,
                                 void *user_data);
cbk_status cbk_ocl_profile_end(void *self, void *stream);
/// Runs the operation and adds its record.
cbk_status cbk_ocl_profile_op(struct cbk_ocl_stream *stream, cbk_ocl_launcher launcher,
                              const cbk_op *op);
/// Adds the record of a replay, whose commands were noted from the first-th on.
cbk_status cbk_ocl_profile_replay(struct cbk_ocl_stream *stream, uint32_t first);
/// Drops a profile with its records, if one is on.
void cbk_ocl_profile_forget(struct cbk_ocl_stream *stream);

// dtype.c
cbk_status cbk_ocl_dtype_usage(void *self, void *device, cbk_dtype dtype, const cbk_quant *quant,
                               uint32_t *out_usage);

#endif
