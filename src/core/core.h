/// core.h: what the files of core share: running operation, checks, tensors in the making.
#ifndef CUBEBACK_CORE_CORE_H
#define CUBEBACK_CORE_CORE_H

#include "objects.h"

#include <cubeback/opcodes.h>

// ---- the running operation, for messages (error.c) ----------------------------------------------

struct cbk_call {
    const char *operation;
    cbk_opcode opcode;
    bool is_composed; ///< what it is made of goes by its name
};

/// Notes what the thread is doing, so that messages start with it; returns what it did before.
struct cbk_call cbk_call_begin(const char *operation, cbk_opcode opcode);

/// The same for a function whose rows go by its name in messages.
struct cbk_call cbk_call_begin_composed(const char *operation, cbk_opcode opcode);

/// Puts the former note back and passes `status` on.
cbk_status cbk_call_end(struct cbk_call former, cbk_status status);

/// Puts a record back that cleaning up after a failure may have overwritten.
void cbk_restore_error(const cbk_error *error);

/// Room for the text of any shape: 8 numbers of up to 20 characters, commas, brackets.
#define CBK_SHAPE_TEXT 176
/// "[4,3]", "[]" for rank 0. Returns `text`.
const char *cbk_shape_text(uint32_t rank, const int64_t *shape, char text[CBK_SHAPE_TEXT]);

// ---- handle checks (object.c) -------------------------------------------------------------------

/// CBK_OK, or CBK_ERROR_INVALID_ARGUMENT naming the argument.
cbk_status cbk_check_backend(const cbk_backend *backend);
cbk_status cbk_check_device(const cbk_device *device);
cbk_status cbk_check_stream(const cbk_stream *stream);
cbk_status cbk_check_tensor(const cbk_tensor *tensor, const char *what);
/// The tensor's device must be the stream's.
cbk_status cbk_check_same_device(const cbk_stream *stream, const cbk_tensor *tensor,
                                 const char *what);
/// *out becomes NULL; a NULL `out` is an error.
cbk_status cbk_check_out(void *out);

static inline const cbk_vtable *cbk_device_vtable(const cbk_device *device) {
    return &device->backend->vtable;
}
static inline const cbk_vtable *cbk_stream_vtable(const cbk_stream *stream) {
    return &stream->device->backend->vtable;
}
static inline void *cbk_stream_self(const cbk_stream *stream) {
    return stream->device->backend->self;
}

cbk_status cbk_fail_unsupported(const cbk_backend *backend, const char *slot);

// ---- metadata (meta.c) --------------------------------------------------------------------------

/// a * b for non-negative numbers; false when it does not fit int64_t.
bool cbk_mul_i64(int64_t a, int64_t b, int64_t *out);

/// Fills dtype, rank, shape and element count, with row-major strides and offset 0.
/// Errors: CBK_ERROR_SHAPE for a rank over 8 or a negative length, CBK_ERROR_OVERFLOW.
cbk_status cbk_meta_init(cbk_tensor_meta *meta, cbk_dtype dtype, uint32_t rank,
                         const int64_t *shape);

/// Row-major strides for the shape in `meta`.
void cbk_meta_row_major(cbk_tensor_meta *meta);

/// Dense and row-major; axes of length 1 have no say, and neither has the offset.
bool cbk_meta_is_contiguous(const cbk_tensor_meta *meta);

bool cbk_meta_same_shape(const cbk_tensor_meta *a, const cbk_tensor_meta *b);

/// The strides rule of pointwise rows: the order of axes that all inputs of the output's shape
/// share, if they are dense in it; else row-major.
void cbk_meta_pointwise_strides(cbk_tensor_meta *output, cbk_tensor *const *inputs, uint32_t count);

/// Two elements of `meta` lie at one address. Exact, or true where that takes too long to find out.
bool cbk_meta_overlaps_itself(const cbk_tensor_meta *meta);

/// Views of one storage have an element in common. Exact, or true as above.
bool cbk_meta_overlap(const cbk_tensor_meta *a, const cbk_tensor_meta *b);

/// Every element of the view lies within `capacity` elements, of at most 2^59.
bool cbk_meta_lies_within(const cbk_tensor_meta *meta, int64_t capacity);

/// CBK_OK for a dtype a tensor can have, else CBK_ERROR_DTYPE or CBK_ERROR_UNSUPPORTED.
cbk_status cbk_check_storable(cbk_dtype dtype);

// ---- quantized tensors (quant.c) ----------------------------------------------------------------

/// Refuses what no version of this struct means; fills in its defaults.
cbk_status cbk_quant_check(cbk_quant *quant);
/// cbk_quant_check for a tensor of the shape of `meta`: axes become non-negative, blocks explicit.
cbk_status cbk_quant_fit(cbk_quant *quant, const cbk_tensor_meta *meta);
/// Serialised bytes: values, block scales, global scale. meta->quant has passed cbk_quant_fit.
uint64_t cbk_quant_bytes(const cbk_tensor_meta *meta);

/// An axis counted from either end; `rank` axes exist.
cbk_status cbk_check_axis(int64_t axis, uint32_t rank, int32_t *out_axis);

// ---- tensors in the making (object.c) -----------------------------------------------------------

/// device_open; with a `handle`, over that instead (device.c).
cbk_status cbk_device_make(cbk_backend *backend, const cbk_device_params *params, void *handle,
                           cbk_device **out);

/// A tensor on the stream's device with a storage of its own, nothing attached yet.
cbk_status cbk_tensor_make(cbk_stream *stream, const cbk_tensor_meta *meta, cbk_tensor **out);

/// The same in the caller's memory, for questions: never given out, retained or released.
void cbk_tensor_make_local(cbk_device *device, const cbk_tensor_meta *meta,
                           struct cbk_storage_and_tensor *memory);

/// A tensor that shares `storage`.
cbk_status cbk_tensor_make_view(struct cbk_storage *storage, const cbk_tensor_meta *meta,
                                cbk_tensor **out);

/// A tensor with storage attached and undefined contents.
cbk_status cbk_tensor_make_stored(cbk_stream *stream, const cbk_tensor_meta *meta,
                                  cbk_tensor **out);

/// True if the backend says that the work that wrote the storage last has failed.
bool cbk_tensor_ask(const cbk_tensor *tensor, cbk_error *out_cause);

static inline bool cbk_tensor_is_poisoned(const cbk_tensor *tensor) {
    const struct cbk_storage *storage = tensor->storage;
    if (atomic_load_explicit(&storage->poisoned, memory_order_acquire)) return true;
    cbk_error cause;
    return atomic_load_explicit(&storage->device->has_failed, memory_order_relaxed) &&
           cbk_tensor_ask(tensor, &cause);
}

/// An event that has passed, until a backend's handle or cbk_event_make_point says otherwise
/// (stream.c).
cbk_status cbk_event_make(cbk_stream *stream, cbk_event **out);
/// Makes it pass with the stream's work so far.
cbk_status cbk_event_make_point(cbk_stream *stream, cbk_event *event);

/// Passes on what a slot gave that reports failures of enqueued work; from the first one on,
/// storages are asked about.
cbk_status cbk_note_failure(cbk_device *device, cbk_status status);

/// Makes `to` fail for the reason that `from` has.
void cbk_tensor_pass_poison(const cbk_tensor *from, cbk_tensor *to);

/// Before the tensor is written: what failed work left in the parts of the storage that stay as
/// they are is remembered; the backend knows of the last writer only.
void cbk_tensor_keep_poison(cbk_tensor *tensor);

/// Contents are good again if that was the whole storage.
void cbk_tensor_heal(cbk_tensor *tensor);

/// CBK_ERROR_PRODUCER with the first error's text.
cbk_status cbk_fail_poisoned(const cbk_tensor *tensor, const char *what);

// ---- captures (graph.c) -------------------------------------------------------------------------

/// NULL is fine for both.
struct cbk_capture *cbk_capture_retain(struct cbk_capture *capture);
void cbk_capture_release(const cbk_backend *backend, struct cbk_capture *capture);

/// CBK_ERROR_INVALID_STATE for a tensor made in a capture, outside of it, before the first replay.
cbk_status cbk_check_replayed(const cbk_stream *stream, const cbk_tensor *tensor);

// ---- the op table (table.c, rows_*.c) -----------------------------------------------------------

/// Outputs of one operation; rows have one to three.
#define CBK_MAX_OUTPUTS 4

/// Room for the params of any row.
union cbk_params {
    uint32_t struct_size;
    cbk_shape_params shape;
    cbk_axes_params axes;
    cbk_slice_params slice;
    cbk_unfold_params unfold;
    cbk_diagonal_params diagonal;
    cbk_activation_params activation;
    cbk_bool_params boolean;
    cbk_scalar_params scalar;
    cbk_compare_params compare;
    cbk_close_params close;
    cbk_clamp_params clamp;
    cbk_cast_params cast;
    cbk_create_params create;
    cbk_eye_params eye;
    cbk_window_params window;
    cbk_offset_params offset;
    cbk_axis_params axis;
    cbk_reduce_params reduce;
    cbk_variance_params variance; ///< begins like `reduce`
    cbk_layer_norm_params layer_norm;
    cbk_norm_params norm; ///< begins like `reduce`
    cbk_matmul_params matmul;
    cbk_index_params index;
    cbk_random_params random;
    cbk_categorical_params categorical;
    cbk_compact_params compact;
    cbk_embedding_backward_params embedding_backward;
    cbk_one_hot_params one_hot;
    cbk_grid_sample_params grid_sample;
    cbk_scan_params scan;
    cbk_pad_params pad;
    cbk_roll_params roll;
    cbk_sort_params sort;
    cbk_topk_params topk;
    cbk_median_params median;
    cbk_quantile_params quantile;
    cbk_lu_params lu;
    cbk_qr_params qr;
};

/// One operation between validation and execution. Rows read inputs, normalise `params` in place
/// and fill `outputs`.
struct cbk_inference {
    const cbk_op_info *info;
    const cbk_device *device;
    uint32_t input_count;
    cbk_tensor *const *inputs; ///< checked handles of one device
    cbk_tensor *const *given;  ///< outputs to write into, or NULL entries
    union cbk_params params;
    bool needs_copy; ///< reshape: no strides can express it; outputs[0] is row-major
    cbk_tensor_meta outputs[CBK_MAX_OUTPUTS];
};

struct cbk_row {
    cbk_op_info info;
    /// Validates, infers, fills in defaults.
    cbk_status (*infer)(struct cbk_inference *inference);
};

/// NULL if there is none.
const struct cbk_row *cbk_row_of(cbk_opcode opcode);

static inline const cbk_tensor_meta *cbk_input(const struct cbk_inference *inference, uint32_t i) {
    return &inference->inputs[i]->meta;
}

// ---- operations by name (ops_*.c) ---------------------------------------------------------------

/// cbk_execute for a row with one output. `params` may be NULL where its size is 0.
cbk_status cbk_run(cbk_stream *stream, cbk_opcode opcode, const cbk_tensor *const *inputs,
                   uint32_t input_count, const void *params, uint32_t params_size,
                   cbk_tensor **out);

/// The same, into `dst`.
cbk_status cbk_run_into(cbk_stream *stream, cbk_opcode opcode, const cbk_tensor *const *inputs,
                        uint32_t input_count, const void *params, uint32_t params_size,
                        cbk_tensor *dst);

/// The same for a row with `output_count` (up to CBK_MAX_OUTPUTS) results: `outs` lists where each
/// of them goes, `dsts` what they are written into.
cbk_status cbk_run_outputs(cbk_stream *stream, cbk_opcode opcode, const cbk_tensor *const *inputs,
                           uint32_t input_count, const void *params, uint32_t params_size,
                           cbk_tensor **const *outs, uint32_t output_count);
cbk_status cbk_run_into_outputs(cbk_stream *stream, cbk_opcode opcode,
                                const cbk_tensor *const *inputs, uint32_t input_count,
                                const void *params, uint32_t params_size, cbk_tensor *const *dsts,
                                uint32_t output_count);

/// A number for each slice of x along `axis`, a vector: equal for equal slices, in their lexicographic
/// order; slices with a NaN are equal to nothing (ops_unique_rows.c).
cbk_status cbk_number_slices(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                             cbk_tensor **out);

/// Refuses functions that wait for a number of hits while the stream captures.
cbk_status cbk_check_can_wait(cbk_stream *stream);

/// Waits for the number of elements of `x` that are not 0.
cbk_status cbk_count_hits(cbk_stream *stream, const cbk_tensor *x, int64_t *out_hits);

/// Copies a caller's list of lengths; `operation` is for the message.
/// Errors: CBK_ERROR_SHAPE for a rank over 8, CBK_ERROR_INVALID_ARGUMENT for a NULL list.
cbk_status cbk_copy_shape(const char *operation, uint32_t rank, const int64_t *shape,
                          int64_t out[CBK_MAX_RANK]);
cbk_status cbk_copy_axes(const char *operation, uint32_t count, const int32_t *axes,
                         int32_t out[CBK_MAX_RANK]);

#endif
