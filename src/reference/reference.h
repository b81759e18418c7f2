/// reference.h: the reference backend: plain loops on the host that judge every other backend.
///
/// Everything is written to be believed at sight: floats are computed in double, integers in 64
/// bits, and rounded once. Streams run at once. docs/numerics.md is what is implemented here.
#ifndef CUBEBACK_REFERENCE_REFERENCE_H
#define CUBEBACK_REFERENCE_REFERENCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cubeback/backend.h>

/// In a function with `cbk_status status` and a label `done`.
#define REF_TRY(call)                                                                              \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

// ---- objects ---------------------------------------------------------------------------------

struct cbk_ref {
    cbk_allocate_function allocate;
    cbk_free_function free;
    void *user_data;
};

struct cbk_ref_device {
    struct cbk_ref *ref;
    _Atomic uint64_t used_bytes, peak_bytes, limit_bytes, allocation_count;
    _Atomic uint64_t launches, bytes_written, bytes_read, allocations;
    _Atomic uint64_t seed, seed_generation; ///< a stream of another generation restarts at 0
};

struct cbk_ref_stream {
    struct cbk_ref_device *device;
    uint64_t number;
    cbk_random_state random; ///< of the next draw
    uint64_t seed_generation;
    bool has_index_error; ///< comes up at the next sync or read
    cbk_opcode index_opcode;
    int64_t index, index_limit;      ///< the first offender and the length it was held against
    bool is_prepared;                ///< for a capture
    struct cbk_ref_graph *recording; ///< while the stream captures
    cbk_profile_function profile;    ///< NULL: none is on
    void *profile_user_data;
};

struct cbk_ref_storage {
    uint64_t size_bytes;
    void *data;
};

/// Host memory through the caller's hook, NULL when there is none.
void *cbk_ref_alloc(struct cbk_ref *ref, size_t size);
void cbk_ref_free(struct cbk_ref *ref, void *memory, size_t size);

/// Remembers the first index out of range of the stream.
void cbk_ref_report_index(struct cbk_ref_stream *stream, cbk_opcode opcode, int64_t index,
                          int64_t limit);

// ---- elements (element.c) ----------------------------------------------------------------------

enum cbk_ref_kind { CBK_REF_FLOAT, CBK_REF_SIGNED, CBK_REF_UNSIGNED, CBK_REF_BOOL };
enum cbk_ref_kind cbk_ref_kind_of(cbk_dtype dtype);

/// A float element is a double. Integers and bools are 64 bits: signed ones extended with their
/// sign, unsigned ones with zeros, u64 as its bit pattern.
double cbk_ref_get_float(const void *data, cbk_dtype dtype, int64_t index);
int64_t cbk_ref_get_int(const void *data, cbk_dtype dtype, int64_t index);

/// Rounds once, directly to the dtype; integers are cut to their width; bools become 0 or 1.
void cbk_ref_put_float(void *data, cbk_dtype dtype, int64_t index, double value);
void cbk_ref_put_int(void *data, cbk_dtype dtype, int64_t index, int64_t value);

/// Stores what arithmetic made: f16 and bf16 are computed in f32, so they are rounded to it first.
void cbk_ref_put_result(void *data, cbk_dtype dtype, int64_t index, double value);

/// A value with its kind, for what goes between dtypes.
struct cbk_ref_value {
    enum cbk_ref_kind kind;
    double f;
    int64_t i; ///< integers and bools
};
struct cbk_ref_value cbk_ref_load(const void *data, cbk_dtype dtype, int64_t index);
/// Converts by the rules of docs/numerics.md.
void cbk_ref_store(void *data, cbk_dtype dtype, int64_t index, struct cbk_ref_value value);
struct cbk_ref_value cbk_ref_scalar_value(cbk_scalar scalar);

/// The scalar, or `fallback` if it was left out, rounded to a float dtype.
double cbk_ref_scalar_float(cbk_scalar scalar, double fallback, cbk_dtype dtype);

// ---- views (view.c) ----------------------------------------------------------------------------

struct cbk_ref_view {
    char *data; ///< start of the storage, NULL for size zero
    cbk_dtype dtype;
    uint32_t rank;
    int64_t count;
    int64_t offset;
    int64_t shape[CBK_MAX_RANK];
    int64_t strides[CBK_MAX_RANK];
};

struct cbk_ref_view cbk_ref_view_of(const cbk_tensor *tensor);

/// `view` stretched to another shape: trailing axes are aligned, length 1 gets stride 0.
struct cbk_ref_view cbk_ref_broadcast(const struct cbk_ref_view *view, uint32_t rank,
                                      const int64_t *shape);

/// One number seen as a tensor of any shape: all strides are 0. `memory` holds the element.
struct cbk_ref_view cbk_ref_scalar_view(cbk_scalar scalar, cbk_dtype dtype, uint32_t rank,
                                        const int64_t *shape, uint64_t *memory);

/// The axes of `view` whose bit is set in `axes`, with its offset.
struct cbk_ref_view cbk_ref_sub_view(const struct cbk_ref_view *view, uint32_t axes);

/// The range of each axis, as the slice operation has it.
struct cbk_ref_view cbk_ref_slice_view(const struct cbk_ref_view *view,
                                       const cbk_slice_params *params);

/// Where element i, in row-major order of the shape, lies in the storage.
int64_t cbk_ref_at(const struct cbk_ref_view *view, int64_t i);

/// The coordinates of element i.
void cbk_ref_coordinates(const struct cbk_ref_view *view, int64_t i, int64_t *coordinates);

/// Is the element not 0? NaN is not.
bool cbk_ref_is_true(const struct cbk_ref_view *view, int64_t at);

/// Copies an element bit for bit; both dtypes are the same.
void cbk_ref_copy_element(const struct cbk_ref_view *to, int64_t to_at,
                          const struct cbk_ref_view *from, int64_t from_at);

/// Copies all elements; a copy onto the same view does nothing.
void cbk_ref_copy_view(const struct cbk_ref_view *to, const struct cbk_ref_view *from);

// ---- families ----------------------------------------------------------------------------------

/// Storage of every output is attached before a family is called.
typedef cbk_status (*cbk_ref_family)(struct cbk_ref_stream *stream, const cbk_op *op);

cbk_status cbk_ref_unary(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_binary(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_compare(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_ternary(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_cast(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_create_op(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_move(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_reduce(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_softmax(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_normalise(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_matmul(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_index(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_random(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_activation_backward(struct cbk_ref_stream *stream, const cbk_op *op);

/// The unary rows that are activations, on floats (activation.c).
cbk_status cbk_ref_activation(const cbk_op *op, const struct cbk_ref_view *x,
                              const struct cbk_ref_view *out);
cbk_status cbk_ref_compact(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_scan(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_sort(struct cbk_ref_stream *stream, const cbk_op *op);
cbk_status cbk_ref_linalg(struct cbk_ref_stream *stream, const cbk_op *op);

/// Rows of the create and move families (matrix.c).
void cbk_ref_eye(const cbk_eye_params *params, const struct cbk_ref_view *out);
void cbk_ref_linspace(const cbk_create_params *params, const struct cbk_ref_view *out);
void cbk_ref_window(const cbk_window_params *params, const struct cbk_ref_view *out);
void cbk_ref_triangle(const cbk_op *op, const struct cbk_ref_view *x,
                      const struct cbk_ref_view *out);
void cbk_ref_diag_embed(const cbk_offset_params *params, const struct cbk_ref_view *x,
                        const struct cbk_ref_view *out);
void cbk_ref_cross(const cbk_op *op, const struct cbk_ref_view *out);

/// Rows of the indexing family (grid_sample.c).
cbk_status cbk_ref_grid_sample(const cbk_op *op);
cbk_status cbk_ref_grid_sample_x_backward(struct cbk_ref *ref, const cbk_op *op);
cbk_status cbk_ref_grid_sample_grid_backward(const cbk_op *op);

/// What draws are made of (random.c): the four words of a position; the high 64 bits of a * b; the
/// state of the next draw, which a seed given since the last one starts anew.
void cbk_ref_philox(uint64_t position, uint64_t stream_number, uint64_t seed, uint32_t words[4]);
uint64_t cbk_ref_multiply_high(uint64_t a, uint64_t b);
cbk_random_state *cbk_ref_random_state(struct cbk_ref_stream *stream);
/// A row of the random family (categorical.c).
cbk_status cbk_ref_categorical(struct cbk_ref_stream *stream, const cbk_op *op);

/// Fails for an opcode that a family does not know.
cbk_status cbk_ref_unknown(const cbk_op *op);

// ---- graphs (graph.c) --------------------------------------------------------------------------

/// Runs one operation, or records it while the stream captures (backend.c).
cbk_status cbk_ref_execute(void *self, void *stream, const cbk_op *op);

/// Adds an operation to the graph in the making; its outputs have storage.
cbk_status cbk_ref_record(struct cbk_ref_stream *stream, const cbk_op *op);
/// Makes the capture fail at its stop.
void cbk_ref_record_write(struct cbk_ref_stream *stream);
/// CBK_OK, or CBK_ERROR_INVALID_STATE while the stream captures.
cbk_status cbk_ref_refuse_in_capture(const struct cbk_ref_stream *stream);

cbk_status cbk_ref_graph_prepare(void *self, void *stream);
cbk_status cbk_ref_graph_start(void *self, void *stream);
cbk_status cbk_ref_graph_stop(void *self, void *stream, void **out_graph);
cbk_status cbk_ref_graph_abort(void *self, void *stream);
cbk_status cbk_ref_graph_replay(void *self, void *stream, void *graph);
void cbk_ref_graph_destroy(void *self, void *graph);

// ---- profiles (profile.c) ----------------------------------------------------------------------

cbk_status cbk_ref_profile_begin(void *self, void *stream, cbk_profile_function function,
                                 void *user_data);
cbk_status cbk_ref_profile_end(void *self, void *stream);
/// Runs an operation, or replays a graph, and delivers its record.
cbk_status cbk_ref_profile_op(struct cbk_ref_stream *stream, cbk_ref_family family,
                              const cbk_op *op);
cbk_status cbk_ref_profile_replay(void *self, struct cbk_ref_stream *stream, void *graph);

// ---- slots of the vtable outside execute (device.c) --------------------------------------------

cbk_status cbk_ref_device_count(void *self, uint32_t type, uint32_t *out_count);
cbk_status cbk_ref_device_describe(void *self, uint32_t type, uint32_t index, cbk_device_info *out);
cbk_status cbk_ref_device_open(void *self, const cbk_device_params *params, void **out_device);
void cbk_ref_device_close(void *self, void *device);
cbk_status cbk_ref_device_info(void *self, void *device, cbk_device_info *out);
cbk_status cbk_ref_dtype_usage(void *self, void *device, cbk_dtype dtype, const cbk_quant *quant,
                               uint32_t *out_usage);
cbk_status cbk_ref_storage_alloc(void *self, void *stream, uint64_t size_bytes, void **out_storage);
void cbk_ref_storage_free(void *self, void *device, void *storage);
cbk_status cbk_ref_write(void *self, void *stream, const cbk_tensor *tensor, const void *data);
cbk_status cbk_ref_read(void *self, void *stream, const cbk_backend_read *requests, uint32_t count);
cbk_status cbk_ref_stream_create(void *self, void *device, const cbk_stream_params *params,
                                 uint64_t number, void **out_stream);
void cbk_ref_stream_destroy(void *self, void *stream);
cbk_status cbk_ref_sync(void *self, void *stream);
cbk_status cbk_ref_memory_usage(void *self, void *device, cbk_memory_info *out);
cbk_status cbk_ref_memory_limit(void *self, void *device, uint64_t limit_bytes);
cbk_status cbk_ref_counters(void *self, void *device, cbk_counters *out);
cbk_status cbk_ref_seed(void *self, void *device, uint64_t seed);
cbk_status cbk_ref_random_get_state(void *self, void *stream, cbk_random_state *out);
cbk_status cbk_ref_random_set_state(void *self, void *stream, const cbk_random_state *state);

#endif
