/// cubeback/backend.h: the vtable that a backend implements, and what core exports to backends.
///
/// For authors of backends and of decorators (tracing, validation, recording, remote). Users of
/// tensors need only cubeback/cubeback.h.
///
/// Who checks what. Before a slot is called, core has checked handles, struct sizes, shapes,
/// dtypes, axes, aliasing and overflow; a slot may rely on that. Slots take and return the
/// backend's own handles (`void *device`, `*stream`, `*storage`, `*graph`, `*event`); core owns
/// reference counts and metadata and keeps parents alive: `device_close` is called after every
/// stream, storage, graph and event of the device has been destroyed.
///
/// A slot that fails calls cbk_fail first, so that the caller learns why. A slot that is NULL
/// means CBK_ERROR_UNSUPPORTED unless its comment says otherwise.
///
/// Threads. Slots with a `stream` are called by one thread at a time for that stream. All others
/// may be called by several threads at once.
#ifndef CUBEBACK_BACKEND_H
#define CUBEBACK_BACKEND_H

#include <cubeback/cubeback.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CBK_BACKEND_API_VERSION 1

enum {
    /// execute is called for view operations too, with the output already made.
    CBK_BACKEND_SEES_VIEWS = 1u << 0
};

/// One tensor of a batched read.
typedef struct cbk_backend_read {
    const cbk_tensor *tensor; ///< not of size zero; its storage is ready
    void *data;               ///< row-major; exactly the tensor's bytes
} cbk_backend_read;

typedef struct cbk_vtable {
    uint32_t struct_size;
    uint32_t api_version; ///< CBK_BACKEND_API_VERSION
    uint32_t flags;       ///< CBK_BACKEND_SEES_VIEWS
    uint32_t reserved;

    // identity --------------------------------------------------------------------------------
    /// Static text, lower case. Required.
    const char *(*name)(void *self);
    /// Frees `self` after the last reference to the backend went. May be NULL.
    void (*destroy)(void *self);
    /// Number of devices of a CBK_DEVICE_* type. Required. Does not open any.
    cbk_status (*device_count)(void *self, uint32_t type, uint32_t *out_count);
    /// Fills *out (whole struct, struct_size set by core). Required.
    cbk_status (*device_describe)(void *self, uint32_t type, uint32_t index, cbk_device_info *out);
    /// Required. `params` is never NULL.
    cbk_status (*device_open)(void *self, const cbk_device_params *params, void **out_device);
    /// Required. May wait for the device.
    void (*device_close)(void *self, void *device);
    /// As device_describe, for an open device. Required.
    cbk_status (*device_info)(void *self, void *device, cbk_device_info *out);
    /// CBK_OK or CBK_ERROR_DEVICE_LOST. NULL: always CBK_OK. Must be cheap.
    cbk_status (*device_state)(void *self, void *device);
    /// Text of the last failed build; NULL slot: "".
    const char *(*device_build_log)(void *self, void *device);

    // dtype queries ---------------------------------------------------------------------------
    /// CBK_USAGE_* set. Required. Native bool never gets here.
    cbk_status (*dtype_usage)(void *self, void *device, cbk_dtype dtype, const cbk_quant *quant,
                              uint32_t *out_usage);
    /// NULL: derived from dtype_usage ⊇ {Storage, Arithmetic}, or Storage alone for the 8-, 16-bit
    /// floats and bools.
    cbk_status (*supports_dtype)(void *self, void *device, cbk_dtype dtype);

    // tensor primitives -----------------------------------------------------------------------
    /// Makes storage of size_bytes (> 0) in the order of `stream`. Required.
    cbk_status (*storage_alloc)(void *self, void *stream, uint64_t size_bytes, void **out_storage);
    /// Gives storage back; called from any thread, with work that uses it possibly still running.
    /// Required.
    void (*storage_free)(void *self, void *device, void *storage);
    /// Row-major host memory to a tensor of any strides whose storage is ready. Required. The data
    /// is no longer needed after return.
    cbk_status (*write)(void *self, void *stream, const cbk_tensor *tensor, const void *data);
    /// Waits, then copies. Required. Fails with the stream's error rather than give stale bytes.
    cbk_status (*read)(void *self, void *stream, const cbk_backend_read *requests, uint32_t count);
    /// Copies between two devices of this backend; both dense and row-major. NULL: core goes
    /// through host memory.
    cbk_status (*copy_device)(void *self, void *from_stream, const cbk_tensor *source,
                              void *to_stream, const cbk_tensor *destination);
    /// Runs one operation. Required.
    /// Inputs are ready. Every outputs[i] is made; where cbk_tensor_storage(outputs[i]) is NULL and
    /// its size is not zero the backend attaches storage (cbk_tensor_attach). `params` is never
    /// NULL: defaults are filled in, axes are non-negative, dtypes are explicit. An output's storage
    /// may be that of an input only where the row allows it. Never called when every output has
    /// size zero. An input of size zero has no storage, also where an output has elements (a sum
    /// over an empty axis, a matrix product with k = 0, a member of cat).
    cbk_status (*execute)(void *self, void *stream, const cbk_op *op);
    /// CBK_OK or CBK_ERROR_UNSUPPORTED, pure and exact. NULL: everything valid is supported. The
    /// outputs are made but have no storage.
    cbk_status (*supports_op)(void *self, void *device, const cbk_op *op);
    /// Temporary bytes the operation would take. NULL: 0.
    cbk_status (*workspace_size)(void *self, void *device, const cbk_op *op, uint64_t *out_bytes);

    // order -----------------------------------------------------------------------------------
    /// `number` counts the device's streams from 0. Required.
    cbk_status (*stream_create)(void *self, void *device, const cbk_stream_params *params,
                                uint64_t number, void **out_stream);
    /// Does not wait; work already enqueued still runs. Required.
    void (*stream_destroy)(void *self, void *stream);
    cbk_status (*sync)(void *self, void *stream);  ///< Required.
    cbk_status (*flush)(void *self, void *stream); ///< NULL: nothing to do.
    /// NULL: events complete at once, after a sync.
    cbk_status (*event_create)(void *self, void *stream, void **out_event);
    cbk_status (*event_query)(void *self, void *event, uint32_t *out_done);
    cbk_status (*event_wait)(void *self, void *event);
    cbk_status (*stream_wait)(void *self, void *stream, void *event);
    void (*event_destroy)(void *self, void *event);

    // graph: the state machine is the backend's -----------------------------------------------
    cbk_status (*graph_prepare)(void *self, void *stream);
    cbk_status (*graph_start_capture)(void *self, void *stream);
    cbk_status (*graph_stop_capture)(void *self, void *stream, void **out_graph);
    cbk_status (*graph_abort)(void *self, void *stream);
    cbk_status (*graph_replay)(void *self, void *stream, void *graph);
    void (*graph_destroy)(void *self, void *graph);

    // memory ----------------------------------------------------------------------------------
    // NULL: nothing to do. Each end has a begin before it.
    cbk_status (*persistent_begin)(void *self, void *stream);
    cbk_status (*persistent_end)(void *self, void *stream);
    cbk_status (*memory_cleanup)(void *self, void *device); ///< NULL: nothing to do.
    cbk_status (*memory_usage)(void *self, void *device, cbk_memory_info *out);
    cbk_status (*memory_limit)(void *self, void *device, uint64_t limit_bytes);
    /// NULL (both): ordinary host memory.
    cbk_status (*staging_alloc)(void *self, void *device, uint64_t size_bytes, void **out);
    void (*staging_free)(void *self, void *device, void *memory);

    // observation -----------------------------------------------------------------------------
    /// From here on one record per operation of the stream goes to `function`, at the latest in
    /// profile_end; refused with CBK_ERROR_INVALID_STATE inside a capture or a second time.
    cbk_status (*profile_begin)(void *self, void *stream, cbk_profile_function function,
                                void *user_data);
    /// Waits for the profiled work and delivers what is outstanding.
    cbk_status (*profile_end)(void *self, void *stream);
    cbk_status (*counters)(void *self, void *device, cbk_counters *out);

    // random, autodiff ------------------------------------------------------------------------
    /// Sets the key and the position of every stream of the device to its start.
    cbk_status (*seed)(void *self, void *device, uint64_t seed);
    /// 1 if the backend differentiates. NULL: 0.
    uint32_t (*ad_enabled)(void *self, void *device);

    // sharing; `kind` is a DLPack device type (cubeback/dlpack.h). NULL: there is none to share --
    /// Names the memory behind a tensor, whose storage is ready, and tells where in it element
    /// [0, 0, ...] lies. Work of `stream` so far, and of others on the tensor, comes before
    /// whatever is enqueued behind the stream from now on.
    /// Errors: CBK_ERROR_UNSUPPORTED for a kind that is not this backend's.
    cbk_status (*memory_export)(void *self, void *stream, const cbk_tensor *tensor, int32_t kind,
                                void **out_memory, uint64_t *out_offset_bytes);
    /// Makes storage of somebody else's memory. `release` is called once, after storage_free and
    /// after the work that used the storage has ended, from within a call of the library.
    cbk_status (*memory_import)(void *self, void *stream, int32_t kind, void *memory,
                                void (*release)(void *user_data), void *user_data,
                                void **out_storage, uint64_t *out_size_bytes);

    // random numbers again; NULL: cannot be told, cannot be set ---------------------------------
    /// The state of the stream's next eager draw; struct_size is set.
    cbk_status (*random_get_state)(void *self, void *stream, cbk_random_state *out);
    /// Not called while the stream captures. The next seed ends it.
    cbk_status (*random_set_state)(void *self, void *stream, const cbk_random_state *state);

    // failed work -----------------------------------------------------------------------------
    /// CBK_OK, or CBK_ERROR_PRODUCER when the enqueued work that should have made the storage's
    /// contents is known to have failed; status, native_code and message of *out then tell the first
    /// cause. Asked, from any thread, only after another slot has failed on the device, before the
    /// storage is used. NULL: always CBK_OK.
    cbk_status (*storage_state)(void *self, void *device, void *storage, cbk_error *out);

    // reading without waiting -------------------------------------------------------------------
    /// As read, but *out_event passes when the data is there. event_query and event_wait then fail
    /// for a read that failed, or whose tensors' work has. NULL: core reads with `read`.
    cbk_status (*read_async)(void *self, void *stream, const cbk_backend_read *requests,
                             uint32_t count, void **out_event);
} cbk_vtable;

/// Makes a backend of a vtable. The vtable is copied; `self` belongs to the backend from a
/// successful call on (its `destroy` frees it).
/// Errors: CBK_ERROR_VERSION for another api_version, CBK_ERROR_INVALID_ARGUMENT naming a required
/// slot that is NULL.
CBK_API cbk_status cbk_backend_create(const cbk_vtable *vtable, void *self, cbk_backend **out);

/// The vtable and `self` of a backend, for decorators. Both live as long as the backend.
CBK_API const cbk_vtable *cbk_backend_vtable(const cbk_backend *backend, void **out_self);

/// Makes core take the host memory of this backend's objects (devices, streams, tensors, ...) from
/// these functions; NULL (both): malloc. Call it before the backend opens a device.
/// Errors: CBK_ERROR_INVALID_ARGUMENT when only one of the two is given.
CBK_API cbk_status cbk_backend_set_host_allocator(cbk_backend *backend,
                                                  cbk_allocate_function allocate,
                                                  cbk_free_function free, void *user_data);

/// The backend's own handles.
CBK_API void *cbk_device_handle(const cbk_device *device);
CBK_API void *cbk_stream_handle(const cbk_stream *stream);

// ---- what core knows about tensors ---------------------------------------------------------

/// Immutable for the tensor's life. Lengths, strides and offset are in elements.
typedef struct cbk_tensor_meta {
    uint32_t struct_size;
    cbk_dtype dtype;
    uint32_t rank;
    uint32_t layout; ///< 0: strided
    int64_t element_count;
    int64_t offset;
    int64_t shape[CBK_MAX_RANK];   ///< entries past the rank are 1
    int64_t strides[CBK_MAX_RANK]; ///< entries past the rank are 0
    const cbk_quant *quant;        ///< NULL unless dtype is CBK_DTYPE_QUANT
} cbk_tensor_meta;

CBK_API const cbk_tensor_meta *cbk_tensor_metadata(const cbk_tensor *tensor);

/// The backend's storage, NULL while none is attached. Views of one tensor share it.
CBK_API void *cbk_tensor_storage(const cbk_tensor *tensor);

/// Bytes that storage for the tensor must have.
CBK_API uint64_t cbk_tensor_storage_bytes(const cbk_tensor *tensor);

/// Bytes of the tensor's elements in row-major order, as write and read move them; of a quantized
/// tensor the serialised values, block scales, global scale, which its storage holds just so.
CBK_API uint64_t cbk_tensor_data_bytes(const cbk_tensor *tensor);

/// Attaches storage made by storage_alloc; core owns it from then on.
/// Errors: CBK_ERROR_INVALID_STATE if there is one already.
CBK_API cbk_status cbk_tensor_attach(cbk_tensor *tensor, void *storage);

/// Makes a device over a backend's handle that came about otherwise than by device_open. On success
/// core owns the handle, and closes it by device_close. Of `params`, the default dtypes count.
CBK_API cbk_status cbk_device_adopt(cbk_backend *backend, const cbk_device_params *params,
                                    void *handle, cbk_device **out);

/// Makes a stream over a backend's handle. On success core owns the handle; *out_number (may be
/// NULL) is what stream_create would have got as `number`.
CBK_API cbk_status cbk_stream_adopt(cbk_device *device, void *handle, uint64_t *out_number,
                                    cbk_stream **out);

/// Makes a tensor over storage of `storage_bytes` that has contents. dtype, rank, shape, strides
/// and offset of `meta` count. On success core owns the storage; it may be NULL for size zero.
/// Errors: CBK_ERROR_SHAPE when an element would lie outside the storage; CBK_ERROR_DTYPE;
/// CBK_ERROR_INVALID_STATE while the stream captures.
CBK_API cbk_status cbk_tensor_adopt(cbk_stream *stream, const cbk_tensor_meta *meta, void *storage,
                                    uint64_t storage_bytes, cbk_tensor **out);

/// Marks the tensor's contents as failed: reading it or computing with it gives
/// CBK_ERROR_PRODUCER with `message`.
CBK_API void cbk_tensor_poison(cbk_tensor *tensor, cbk_status status, const char *message);

// ---- the op table --------------------------------------------------------------------------

enum {
    CBK_ROW_POINTWISE = 1u << 0, ///< element i of the output depends on element i of inputs
    CBK_ROW_VIEW = 1u << 1,      ///< shares its input's storage
    CBK_ROW_UPDATE = 1u << 2,    ///< output may be the first input (in-place form)
    CBK_ROW_DIFFERENTIABLE = 1u << 3,
    CBK_ROW_RANDOM = 1u << 4,         ///< draws random numbers
    CBK_ROW_CREATES = 1u << 5,        ///< has no tensor inputs
    CBK_ROW_CHECKS_INDICES = 1u << 6, ///< may report CBK_ERROR_INDEX_OUT_OF_RANGE
    CBK_ROW_VARIADIC = 1u << 7,       ///< takes any number of inputs
    CBK_ROW_OPTIONAL = 1u << 8        ///< inputs from min_inputs on may be NULL: left out
};

typedef struct cbk_op_info {
    uint32_t struct_size;
    cbk_opcode opcode;
    const char *name; ///< "matmul"
    uint32_t flags;   ///< CBK_ROW_*
    uint32_t min_inputs;
    uint32_t max_inputs;
    uint32_t output_count;
    uint32_t params_size; ///< 0: the row takes no params
    uint64_t dtypes;      ///< bit d: the row's data operands may have dtype d
} cbk_op_info;

/// The row of an opcode, NULL if there is none.
CBK_API const cbk_op_info *cbk_op_info_of(cbk_opcode opcode);

/// Visits all rows: `*cursor` starts at 0; NULL ends.
CBK_API const cbk_op_info *cbk_op_next(uint32_t *cursor);

/// Fills what a profile record says of an operation: opcode, name, operands, bytes, flops. Times,
/// kernel, launches and stream number are the backend's, and 0 or "" here.
CBK_API void cbk_profile_describe(const cbk_op *op, cbk_profile_record *out);

// ---- scalars and structs -------------------------------------------------------------------

/// The bits of `scalar` in `dtype`, in the low bytes of *out_bits. Rounds once: to floats to nearest
/// even; float to integer toward zero, saturating, NaN to 0; integer to integer wraps; to bools
/// 0 or 1. Never fails silently: CBK_ERROR_INVALID_ARGUMENT for a left-out scalar,
/// CBK_ERROR_DTYPE for a dtype without plain elements.
CBK_API cbk_status cbk_scalar_to_bits(cbk_scalar scalar, cbk_dtype dtype, uint64_t *out_bits);

/// Reads a struct that a caller filled (struct_size first) into `known`, a zeroed struct of this
/// version: what both sizes cover is copied, known's struct_size becomes `known_size`. NULL `given`:
/// all defaults. `type_name` is for the message.
/// Errors: CBK_ERROR_INVALID_ARGUMENT for an impossible size, CBK_ERROR_VERSION for a tail beyond
/// known_size that is not zero.
CBK_API cbk_status cbk_read_struct(const void *given, const char *type_name, void *known,
                                   uint32_t known_size);

/// The way back: copies `known` into `out`, whose struct_size says how much it holds and stays;
/// what `known` does not cover is zeroed.
CBK_API cbk_status cbk_write_struct(const void *known, uint32_t known_size, const char *type_name,
                                    void *out);

// ---- errors --------------------------------------------------------------------------------

/// Fills the calling thread's error record and returns `status`. `native_code` 0 if none. The
/// message must carry the values. Keeps the operation that core noted for the call.
CBK_API cbk_status cbk_fail(cbk_status status, int32_t native_code, const char *format, ...)
    CBK_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif
#endif
