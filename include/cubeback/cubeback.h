/// cubeback/cubeback.h: backends, devices, streams, tensors, graphs, events, errors.
///
/// Handles are opaque and counted. `create` and `open` give one reference, `retain` adds one,
/// `release` drops one, accepts NULL, and nulls the caller's handle. A child keeps its parent
/// alive (tensor, stream, graph -> device -> backend), so handles may be released in any order.
/// Release never fails and never waits.
///
/// Every fallible function returns a cbk_status. Outputs come last; a handle output is NULL after
/// a failure, and the reason is in the calling thread's error record (cbk_last_error). Nothing is
/// printed and the process is never ended.
///
/// Threads: backends, devices, tensors' metadata and events may be used from any thread. A stream
/// is externally synchronised: one thread at a time calls with it.
#ifndef CUBEBACK_CUBEBACK_H
#define CUBEBACK_CUBEBACK_H

#include <cubeback/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- errors --------------------------------------------------------------------------------

#define CBK_ERROR_MESSAGE_SIZE 960
#define CBK_ERROR_OPERATION_SIZE 40

/// The last failure on this thread: 1 KiB, needs no allocation.
typedef struct cbk_error {
    uint32_t struct_size;
    cbk_status status;
    cbk_opcode opcode;   ///< 0 when no operation was running
    int32_t native_code; ///< the OpenCL error code, 0 when there is none
    uint64_t reserved;
    char operation[CBK_ERROR_OPERATION_SIZE]; ///< "matmul", "device_open", ...
    char message[CBK_ERROR_MESSAGE_SIZE];     ///< the reason with the values that caused it
} cbk_error;

/// Copies the calling thread's error record; status CBK_OK and empty texts if nothing failed yet.
/// A successful call does not clear the record.
CBK_API cbk_status cbk_last_error(cbk_error *out);

/// The message of the record above; valid until the next failure on this thread. Never NULL.
CBK_API const char *cbk_last_error_message(void);

// ---- backends ------------------------------------------------------------------------------

enum { CBK_LOG_ERROR = 1, CBK_LOG_WARNING = 2, CBK_LOG_INFO = 3, CBK_LOG_DEBUG = 4 };

/// Receives log lines (no newline at the end). May be called from any thread, several at once;
/// must not call the library.
typedef void (*cbk_log_function)(void *user_data, uint32_t level, const char *text);

/// Host memory for everything the library keeps; alignment is a power of two of at most 64.
/// `allocate` returns NULL when it cannot serve. Both may be called from any thread.
typedef void *(*cbk_allocate_function)(void *user_data, size_t size, size_t alignment);
typedef void (*cbk_free_function)(void *user_data, void *memory, size_t size);

enum {
    CBK_NO_ENVIRONMENT = 1u << 0,  ///< read no environment variable
    CBK_CACHE_READ_ONLY = 1u << 1, ///< use cache entries, write none
    CBK_GPU_KERNELS = 1u << 8,     ///< run the GPU forms of kernels on every device
    CBK_CPU_KERNELS = 1u << 9,     ///< run the CPU forms of kernels on every device
    CBK_INDEX_64 = 1u << 10,       ///< use 64-bit index variants for every size
    CBK_ROUTE_BLAS = 1u << 11,     ///< send each matrix product that CLBlast can serve to it
    CBK_ROUTE_NO_BLAS = 1u << 12,  ///< never use CLBlast
    /// give each tensor a driver's buffer of its own and of its exact size, so that tools that watch
    /// accesses (Oclgrind, a driver with bounds checks) see the tensor's ends; slow
    CBK_SEPARATE_BUFFERS = 1u << 13
};

/// What belongs to the process rather than to a device. Copied; strings too.
typedef struct cbk_backend_params {
    uint32_t struct_size;
    uint32_t flags;       ///< CBK_NO_ENVIRONMENT ...
    uint32_t log_level;   ///< most verbose level reported; 0: CBK_LOG_WARNING
    uint32_t tuning;      ///< 0: off
    cbk_log_function log; ///< NULL: silent
    void *log_user_data;
    cbk_allocate_function allocate; ///< NULL (with free): malloc
    cbk_free_function free;
    void *allocator_user_data;
    const char *cache_directory; ///< NULL: the default place; "": no disk cache
    uint64_t cache_limit_bytes;  ///< 0: 512 MiB
} cbk_backend_params;

/// Creates the OpenCL backend. NULL params: all defaults.
/// Errors: CBK_ERROR_NOT_FOUND when there is no OpenCL loader or platform.
CBK_API cbk_status cbk_opencl_create(const cbk_backend_params *params, cbk_backend **out);

/// Creates the reference backend: plain loops on the host, exact and slow, one device of type
/// CBK_DEVICE_CPU. It is never chosen automatically.
CBK_API cbk_status cbk_reference_create(const cbk_backend_params *params, cbk_backend **out);

CBK_API cbk_backend *cbk_backend_retain(cbk_backend *backend);
CBK_API void cbk_backend_release(cbk_backend **backend);

/// "opencl", "reference" or what a backend of your own calls itself. Valid while it lives.
CBK_API const char *cbk_backend_name(const cbk_backend *backend);

// ---- devices -------------------------------------------------------------------------------

enum {
    CBK_DEVICE_DEFAULT = 0, ///< the best found: GPUs before accelerators before CPUs
    CBK_DEVICE_GPU = 1,
    CBK_DEVICE_CPU = 2,
    CBK_DEVICE_ACCELERATOR = 3
};

/// What is known about a device. Texts are cut to fit and always end with a zero.
typedef struct cbk_device_info {
    uint32_t struct_size;
    uint32_t type;  ///< CBK_DEVICE_GPU, CBK_DEVICE_CPU or CBK_DEVICE_ACCELERATOR
    uint32_t index; ///< among the devices of that type
    uint32_t compute_units;
    uint64_t memory_bytes;         ///< global memory as the driver reports it
    uint64_t max_allocation_bytes; ///< largest single buffer
    uint64_t local_memory_bytes;
    uint32_t max_work_group;
    uint32_t reserved;
    char name[128];
    char platform[128];
    char vendor[64];
    char driver[64];
    char version[128]; ///< the driver's version text ("OpenCL 3.0 ...")
} cbk_device_info;

/// Number of devices of `type` (CBK_DEVICE_DEFAULT counts all).
CBK_API cbk_status cbk_device_count(cbk_backend *backend, uint32_t type, uint32_t *out_count);

/// Describes device `index` of `type` without opening it; in the order of CBK_DEVICE_DEFAULT's
/// preference. `out->struct_size` must be set (CBK_INIT).
/// Errors: CBK_ERROR_NOT_FOUND past the last one.
CBK_API cbk_status cbk_device_describe(cbk_backend *backend, uint32_t type, uint32_t index,
                                       cbk_device_info *out);

typedef struct cbk_device_params {
    uint32_t struct_size;
    uint32_t type;               ///< CBK_DEVICE_DEFAULT ...
    uint32_t index;              ///< among devices of that type that match `name`
    uint32_t flags;              ///< reserved, 0
    const char *name;            ///< NULL, or a part of the device's or platform's name, any case
    uint64_t memory_limit_bytes; ///< 0: from what the device reports
    uint64_t seed;               ///< of the random numbers
    cbk_dtype default_float;     ///< 0: f32
    cbk_dtype default_int;       ///< 0: i64; dtype of arg results, sort indices, argwhere
    cbk_dtype default_bool;      ///< 0: bool
    uint32_t reserved;
} cbk_device_params;

/// Opens a device. NULL params: the best device found.
/// Errors: CBK_ERROR_NOT_FOUND when nothing matches; CBK_ERROR_DRIVER when the driver refuses.
CBK_API cbk_status cbk_device_open(cbk_backend *backend, const cbk_device_params *params,
                                   cbk_device **out);
CBK_API cbk_device *cbk_device_retain(cbk_device *device);
CBK_API void cbk_device_release(cbk_device **device);

/// The backend that opened it (borrowed).
CBK_API cbk_backend *cbk_device_backend(const cbk_device *device);

CBK_API cbk_status cbk_device_get_info(const cbk_device *device, cbk_device_info *out);

/// CBK_OK while the device works, CBK_ERROR_DEVICE_LOST after its driver gave it up.
CBK_API cbk_status cbk_device_state(const cbk_device *device);

/// The whole text of the last failed kernel build (log, defines, numbered source), "" if none.
/// Valid until the next failed build on the device or its release.
CBK_API const char *cbk_device_build_log(const cbk_device *device);

/// Sets default dtypes (0 leaves one as it is).
/// Errors: CBK_ERROR_INVALID_STATE after the device's first operation.
CBK_API cbk_status cbk_device_set_defaults(cbk_device *device, cbk_dtype default_float,
                                           cbk_dtype default_int, cbk_dtype default_bool);

/// The default dtype of a kind: pass CBK_DTYPE_F32, CBK_DTYPE_I64 or CBK_DTYPE_BOOL for the kind.
CBK_API cbk_dtype cbk_device_default_dtype(const cbk_device *device, cbk_dtype kind);

enum {
    CBK_USAGE_STORAGE = 1u << 0,    ///< can be stored, moved and converted
    CBK_USAGE_ARITHMETIC = 1u << 1, ///< the device computes in it
    CBK_USAGE_ACCELERATED = 1u << 2 ///< a matrix unit is used by a kernel of this library
};

/// What the device does with a dtype; `quant` describes CBK_DTYPE_QUANT and is NULL otherwise.
/// The first question about a dtype may build a small probe kernel.
CBK_API cbk_status cbk_dtype_usage(cbk_device *device, cbk_dtype dtype, const cbk_quant *quant,
                                   uint32_t *out_usage);

/// CBK_OK if tensors of `dtype` can be stored and computed with, CBK_ERROR_UNSUPPORTED if not.
CBK_API cbk_status cbk_supports_dtype(cbk_device *device, cbk_dtype dtype);

/// Restarts the random numbers of all the device's streams from `seed`.
CBK_API cbk_status cbk_seed(cbk_device *device, uint64_t seed);

/// Where a stream's next draw of random numbers starts: Philox key and counter.
typedef struct cbk_random_state {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t seed;          ///< the key
    uint64_t position;      ///< grows by one for every four elements drawn
    uint64_t stream_number; ///< the upper half of the counter
} cbk_random_state;

/// The state that the stream's next draw has: to save with a model, or to draw the same again.
/// Errors: CBK_ERROR_UNSUPPORTED on a backend that cannot tell.
CBK_API cbk_status cbk_random_get_state(cbk_stream *stream, cbk_random_state *out);

/// Draws of the stream go on from `state`, on this or another device, until the next cbk_seed,
/// which gives the stream its own number back.
/// Errors: CBK_ERROR_INVALID_STATE while the stream captures.
CBK_API cbk_status cbk_random_set_state(cbk_stream *stream, const cbk_random_state *state);

/// Exact figures of the device's memory, in bytes and blocks.
typedef struct cbk_memory_info {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t allocation_count; ///< blocks in use
    uint64_t used_bytes;       ///< asked for, in those blocks
    uint64_t padding_bytes;    ///< added to them by rounding
    uint64_t reserved_bytes;   ///< held from the driver, in use or not
    uint64_t pending_bytes;    ///< of outputs whose storage is not attached yet
    uint64_t limit_bytes;      ///< the budget
    uint64_t peak_bytes;       ///< highest reserved_bytes so far
} cbk_memory_info;

CBK_API cbk_status cbk_memory_usage(cbk_device *device, cbk_memory_info *out);

/// Gives unused memory back to the driver.
CBK_API cbk_status cbk_memory_cleanup(cbk_device *device);

/// Sets the budget in bytes; 0: from what the device reports. What is held already stays.
CBK_API cbk_status cbk_memory_limit(cbk_device *device, uint64_t limit_bytes);

/// Between begin and end, allocations on `stream` are persistent (weights): exact in size and
/// apart from the pool. Pairs nest; an end without a begin is CBK_ERROR_INVALID_STATE.
CBK_API cbk_status cbk_persistent_begin(cbk_stream *stream);
CBK_API cbk_status cbk_persistent_end(cbk_stream *stream);

/// Allocates host memory that transfers fast (pinned where the device gains by it).
CBK_API cbk_status cbk_staging_alloc(cbk_device *device, uint64_t size_bytes, void **out);
CBK_API void cbk_staging_free(cbk_device *device, void **memory);

/// Numbers since the device was opened.
typedef struct cbk_counters {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t programs_built;     ///< compiled from source
    uint64_t build_ns;           ///< time spent on that
    uint64_t cache_hits;         ///< programs loaded from disk
    uint64_t cache_misses;       ///< looked for and not found
    uint64_t cache_refused;      ///< entries found and not usable (damaged, foreign, refused)
    uint64_t cache_stored;       ///< entries written
    uint64_t launches;           ///< kernels enqueued
    uint64_t bytes_written;      ///< host to device
    uint64_t bytes_read;         ///< device to host
    uint64_t allocations;        ///< blocks handed out
    uint64_t driver_allocations; ///< buffers asked from the driver
} cbk_counters;

CBK_API cbk_status cbk_device_counters(cbk_device *device, cbk_counters *out);

// ---- streams -------------------------------------------------------------------------------

typedef struct cbk_stream_params {
    uint32_t struct_size;
    uint32_t flags; ///< reserved, 0
} cbk_stream_params;

/// Creates an in-order queue. NULL params: all defaults. Streams are numbered in order of
/// creation; the number is part of the position in the random sequence.
CBK_API cbk_status cbk_stream_create(cbk_device *device, const cbk_stream_params *params,
                                     cbk_stream **out);
CBK_API cbk_stream *cbk_stream_retain(cbk_stream *stream);
CBK_API void cbk_stream_release(cbk_stream **stream);
CBK_API cbk_device *cbk_stream_device(const cbk_stream *stream);

/// Waits for all work of the stream. Returns the first error of that work, once. What failed work
/// should have written, on this stream or another that read from it, is refused from then on with
/// CBK_ERROR_PRODUCER and the first cause, until all of it is written anew; so is what the stream
/// enqueued between the failure and this call, for it may have used such data.
CBK_API cbk_status cbk_sync(cbk_stream *stream);

/// Hands all work to the device without waiting. Returns an error that is already known, once.
CBK_API cbk_status cbk_flush(cbk_stream *stream);

// ---- events --------------------------------------------------------------------------------

/// A point in the stream: everything enqueued before this call.
CBK_API cbk_status cbk_event_record(cbk_stream *stream, cbk_event **out);
CBK_API cbk_event *cbk_event_retain(cbk_event *event);
CBK_API void cbk_event_release(cbk_event **event);

/// *out_done is 1 when the point has passed, else 0.
CBK_API cbk_status cbk_event_query(cbk_event *event, uint32_t *out_done);

/// Waits on the host until the point has passed.
CBK_API cbk_status cbk_event_wait(cbk_event *event);

/// Makes later work of `stream` wait for the point; the host does not wait.
CBK_API cbk_status cbk_stream_wait_event(cbk_stream *stream, cbk_event *event);

// ---- tensors -------------------------------------------------------------------------------

enum { CBK_TENSOR_PITCHED = 1u << 0 /**< pad rows to the device's favourite pitch */ };

typedef struct cbk_tensor_params {
    uint32_t struct_size;
    cbk_dtype dtype; ///< 0: the device's default float
    uint32_t rank;
    uint32_t flags; ///< CBK_TENSOR_PITCHED
    int64_t shape[CBK_MAX_RANK];
    const cbk_quant *quant; ///< of CBK_DTYPE_QUANT, else NULL; copied
} cbk_tensor_params;

/// Creates a tensor with undefined contents, row-major. Its memory is taken in the order of
/// `stream`. A quantized tensor can be written, read and moved to other devices, as its serialised
/// bytes: values, block scales (both row-major), global scale; no operation takes it yet.
/// Errors: CBK_ERROR_SHAPE, CBK_ERROR_DTYPE, CBK_ERROR_OVERFLOW, CBK_ERROR_OUT_OF_MEMORY.
CBK_API cbk_status cbk_tensor_create(cbk_stream *stream, const cbk_tensor_params *params,
                                     cbk_tensor **out);

/// The same without a params struct. `shape` may be NULL when `rank` is 0.
CBK_API cbk_status cbk_tensor_empty(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                    const int64_t *shape, cbk_tensor **out);

/// Creates a row-major tensor from host memory of exactly element count * element size bytes.
/// The data is copied before the call returns. Bool elements other than 0 become 1.
CBK_API cbk_status cbk_tensor_from_data(cbk_stream *stream, cbk_dtype dtype, uint32_t rank,
                                        const int64_t *shape, const void *data, uint64_t size_bytes,
                                        cbk_tensor **out);
CBK_API cbk_tensor *cbk_tensor_retain(cbk_tensor *tensor);
CBK_API void cbk_tensor_release(cbk_tensor **tensor);

/// Overwrites a tensor of any strides from row-major host memory, in the order of `stream`. The
/// data is copied before the call returns.
CBK_API cbk_status cbk_tensor_write(cbk_stream *stream, cbk_tensor *tensor, const void *data,
                                    uint64_t size_bytes);

/// Waits for the stream and copies the tensor to row-major host memory. Returns the stream's
/// error, or CBK_ERROR_PRODUCER, instead of stale bytes.
CBK_API cbk_status cbk_tensor_read(cbk_stream *stream, const cbk_tensor *tensor, void *data,
                                   uint64_t size_bytes);

typedef struct cbk_read_request {
    const cbk_tensor *tensor;
    void *data;
    uint64_t size_bytes;
} cbk_read_request;

/// Reads several tensors, of any dtypes, with one synchronisation.
CBK_API cbk_status cbk_tensor_read_many(cbk_stream *stream, const cbk_read_request *requests,
                                        uint32_t count);

/// The same without waiting: the data is there when *out has passed. Until then the places must
/// stay; the tensors may be released or written at once, in stream order. Where the device gains by
/// pinned memory, places from cbk_staging_alloc keep the driver from waiting all the same.
/// Errors: those of arguments at once. When it has passed, cbk_event_query and cbk_event_wait give
/// what is wrong with the data: CBK_ERROR_DRIVER, CBK_ERROR_PRODUCER. A failure of the stream's work,
/// and an index out of range, comes up at its next sync, flush or read as ever.
CBK_API cbk_status cbk_tensor_read_async(cbk_stream *stream, const cbk_read_request *requests,
                                         uint32_t count, cbk_event **out);

/// Copies a tensor to another device, or another backend's, through host memory where the two
/// share none. `to` is the stream the copy is made on; `from` orders the reading.
CBK_API cbk_status cbk_tensor_to_device(cbk_stream *from, const cbk_tensor *tensor, cbk_stream *to,
                                        cbk_tensor **out);

CBK_API cbk_dtype cbk_tensor_dtype(const cbk_tensor *tensor);
CBK_API uint32_t cbk_tensor_rank(const cbk_tensor *tensor);
/// Arrays of `rank` entries, in elements; they live as long as the tensor.
CBK_API const int64_t *cbk_tensor_shape(const cbk_tensor *tensor);
CBK_API const int64_t *cbk_tensor_strides(const cbk_tensor *tensor);
/// Elements between the storage's first element and the tensor's element [0, 0, ...].
CBK_API int64_t cbk_tensor_offset(const cbk_tensor *tensor);
CBK_API int64_t cbk_tensor_element_count(const cbk_tensor *tensor);
/// 0: strided. Other layouts are private to the backend that made the tensor.
CBK_API uint32_t cbk_tensor_layout(const cbk_tensor *tensor);
CBK_API const cbk_quant *cbk_tensor_quant(const cbk_tensor *tensor);
CBK_API cbk_device *cbk_tensor_device(const cbk_tensor *tensor);
/// 1 if the tensor's elements are dense and row-major (the offset may be anything).
CBK_API uint32_t cbk_tensor_is_contiguous(const cbk_tensor *tensor);
/// 1 if nobody else holds the tensor or its storage, so that donating it saves an allocation.
CBK_API uint32_t cbk_tensor_is_unique(const cbk_tensor *tensor);

// ---- operations ----------------------------------------------------------------------------

/// One operation. cubeback/ops.h has a named function for every opcode; this is the form behind
/// them and the only one with donation.
typedef struct cbk_op {
    uint32_t struct_size;
    cbk_opcode opcode;
    uint32_t input_count;
    uint32_t output_count;
    cbk_tensor *const *inputs; ///< borrowed for the call; NULL entry: optional operand left out
    cbk_tensor **outputs;      ///< [i] NULL: make it; else write into it
    const void *params;        ///< flat; NULL: all defaults
    uint32_t params_size;
    uint32_t flags;  ///< reserved, 0
    uint64_t donate; ///< bit i: takes over the caller's reference to inputs[i], on success only
} cbk_op;

/// Validates and enqueues an operation on `stream`.
///
/// Aliasing: an output to write into may be exactly one of the inputs for pointwise and update
/// rows; any other overlap is CBK_ERROR_ALIASING, and so is an output that overlaps itself.
/// Order: runs after all earlier work of the stream.
/// Errors: see each operation; outputs made by the call are NULL after a failure.
CBK_API cbk_status cbk_execute(cbk_stream *stream, const cbk_op *op);

/// CBK_OK if cbk_execute would accept the operation; nothing is run and no output is made.
/// CBK_ERROR_UNSUPPORTED if it is valid but this device cannot run it.
CBK_API cbk_status cbk_supports_op(cbk_device *device, const cbk_op *op);

// ---- graphs --------------------------------------------------------------------------------

/// States of a stream: none -> prepared -> capturing -> none. A wrong transition is
/// CBK_ERROR_INVALID_STATE and changes nothing. docs/architecture.md tells how they are used.
///
/// While a stream captures, operations are recorded and not run. Reads, syncs, events and replays on
/// it are CBK_ERROR_INVALID_STATE, and the capture goes on; a host write does nothing and makes
/// the stop fail with that status. Tensors made in the capture have contents from the first replay
/// on. The graph keeps the memory that it uses; inputs are refreshed by writing into the tensors
/// that were captured, and the k-th replay gives what the k-th eager run would have given. abort
/// is good in any state.
CBK_API cbk_status cbk_graph_prepare(cbk_stream *stream);
CBK_API cbk_status cbk_graph_start_capture(cbk_stream *stream);
CBK_API cbk_status cbk_graph_stop_capture(cbk_stream *stream, cbk_graph **out);
CBK_API cbk_status cbk_graph_abort(cbk_stream *stream);

/// Enqueues the recorded work once, on the stream that captured it.
CBK_API cbk_status cbk_graph_replay(cbk_graph *graph);
CBK_API cbk_graph *cbk_graph_retain(cbk_graph *graph);
CBK_API void cbk_graph_release(cbk_graph **graph);

/// Runs `function` once for real, then captures a second run of it. A failure of either run
/// leaves the stream as it was before.
typedef cbk_status (*cbk_graph_function)(cbk_stream *stream, void *user_data);
CBK_API cbk_status cbk_graph_capture(cbk_stream *stream, cbk_graph_function function,
                                     void *user_data, cbk_graph **out);

// ---- profiles ------------------------------------------------------------------------------

#define CBK_PROFILE_OPERANDS 6

/// What one operation did, or one replay of a graph (opcode CBK_OP_NONE, no operands). Times are
/// those of the operation's first and last command on the device, in nanoseconds from a start of
/// its own; all 0 where nothing ran or the work failed. Of a product of CLBlast, which is several
/// kernels, the last one is seen. Texts live during the callback only.
typedef struct cbk_profile_record {
    uint32_t struct_size;
    cbk_opcode opcode;
    const char *operation; ///< "matmul"
    const char *kernel;    ///< the kernel's entry; of the longest one where there were several
    uint32_t launch_count;
    uint32_t operand_count; ///< outputs, then inputs, as many as fit below
    cbk_dtype dtype[CBK_PROFILE_OPERANDS];
    uint32_t rank[CBK_PROFILE_OPERANDS];
    int64_t shape[CBK_PROFILE_OPERANDS][CBK_MAX_RANK];
    uint64_t queued_ns, submit_ns, start_ns, end_ns;
    uint64_t bytes;         ///< of all operands, each once, a repeated element once
    uint64_t flops;         ///< of matrix products; 0 elsewhere
    uint64_t stream_number; ///< counts the device's streams from 0
} cbk_profile_record;

typedef void (*cbk_profile_function)(void *user_data, const cbk_profile_record *record);

/// Delivers a record per operation of the stream, in order, until cbk_profile_end, which waits for
/// the rest; some come earlier, from within an operation, which waits for them. Transfers and what
/// is recorded in a capture have no record. The callback runs on the calling thread and must not
/// use the stream. Costs nothing when off; when on, the device takes times of every launch, which
/// makes small ones two to three times dearer for the host.
///
/// Errors: CBK_ERROR_INVALID_STATE while the stream captures, when a profile is on already, for
/// `end` when none is; CBK_ERROR_UNSUPPORTED on a backend without profiles, and for a stream in a
/// queue of the caller's made without CL_QUEUE_PROFILING_ENABLE. `end` may give
/// CBK_ERROR_OUT_OF_HOST_MEMORY for a profile with gaps; it is over then. Errors of the profiled
/// work come up at the next sync or read as ever. Releasing the stream drops what is outstanding.
CBK_API cbk_status cbk_profile_begin(cbk_stream *stream, cbk_profile_function function,
                                     void *user_data);
CBK_API cbk_status cbk_profile_end(cbk_stream *stream);

/// A file of profile records in Chrome's trace-event format (JSON), which chrome://tracing and
/// ui.perfetto.dev show: one row per stream, one slice per operation, its arguments the kernel,
/// shapes, bytes and rates. Several streams, also of several threads, may write to one trace.
typedef struct cbk_trace cbk_trace;

/// Creates or empties the file. Errors: CBK_ERROR_IO.
CBK_API cbk_status cbk_trace_open(const char *path, cbk_trace **out);

/// A cbk_profile_function: cbk_profile_begin(stream, cbk_trace_record, trace). A failure to write
/// is remembered for cbk_trace_close.
CBK_API void cbk_trace_record(void *trace, const cbk_profile_record *record);

/// Ends the file and frees the trace, whatever comes of it; nulls the handle, NULL is fine. No
/// profile may still write to it.
/// Errors: CBK_ERROR_IO when a part of the trace could not be written.
CBK_API cbk_status cbk_trace_close(cbk_trace **trace);

#ifdef __cplusplus
}
#endif

#include <cubeback/ops.h>

#endif
