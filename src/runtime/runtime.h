/// runtime.h: the layer that talks to OpenCL: devices, streams, memory, programs, launches.
///
/// It knows no operation of the op table and no tensor: memory is a block with a size, a kernel is
/// a text with defines, a launch is a kernel with arguments. No OpenCL type appears here; cl.h
/// beside it has the function table, for this layer's own files and the fault tests.
///
/// Everything that can fail returns a cbk_status and has called cbk_fail.
#ifndef CUBEBACK_RUNTIME_RUNTIME_H
#define CUBEBACK_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cubeback/backend.h>

struct cbk_rt;        ///< one per backend: function table, host allocator, log, cache settings
struct cbk_rt_cl;     ///< the OpenCL function table (cl.h)
struct cbk_rt_device; ///< context, slabs, programs
struct cbk_rt_stream; ///< in-order queue, kernel objects, error state
struct cbk_rt_block;  ///< a piece of device memory
struct cbk_rt_kernel; ///< a kernel object that belongs to one stream
struct cbk_rt_event;
struct cbk_rt_graph; ///< recorded launches with the memory they pin

// ---- control flow ----------------------------------------------------------------------------

/// In a function with `cbk_status status` and a label `done`.
#define RT_TRY(call)                                                                               \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

/// States what an earlier layer has checked. Compiled in by the dev and sanitizer presets only.
#ifdef CUBEBACK_ASSERTS
#include <assert.h>
#undef NDEBUG
#define CBK_ASSERT(condition) assert(condition)
#else
#define CBK_ASSERT(condition) ((void)0)
#endif

// ---- the process part --------------------------------------------------------------------------

/// `cl` NULL: the linked loader. The table is copied.
/// Errors: CBK_ERROR_NOT_FOUND without a platform; CBK_ERROR_OUT_OF_HOST_MEMORY.
cbk_status cbk_rt_create(const cbk_backend_params *params, const struct cbk_rt_cl *cl,
                         struct cbk_rt **out);
void cbk_rt_destroy(struct cbk_rt **rt);

/// Host memory through the caller's hook; zeroed. NULL when there is none (no error is recorded).
void *cbk_rt_host_alloc(struct cbk_rt *rt, size_t size);
void cbk_rt_host_free(struct cbk_rt *rt, void *memory, size_t size);
void cbk_rt_log(struct cbk_rt *rt, uint32_t level, const char *format, ...) CBK_PRINTF(3, 4);

/// The flags of cbk_backend_params.
uint32_t cbk_rt_flags(const struct cbk_rt *rt);

cbk_status cbk_rt_device_count(struct cbk_rt *rt, uint32_t type, uint32_t *out_count);
cbk_status cbk_rt_device_describe(struct cbk_rt *rt, uint32_t type, uint32_t index,
                                  cbk_device_info *out);

// ---- devices ---------------------------------------------------------------------------------

/// What launchers decide by. Fixed when the device is opened.
struct cbk_rt_caps {
    bool is_cpu;    ///< use CPU forms (flags may have changed the device's own answer)
    bool is_nvidia; ///< inline PTX is understood
    bool is_pocl;
    bool has_f64;
    bool advertises_f16; ///< half arithmetic may be there without it (NVIDIA): probe
    bool has_unified_memory;
    uint32_t compute_units;
    uint32_t float_lanes; ///< f32 elements of the widest vector register, CPUs (8, 16); else 4
    uint32_t max_work_group;
    uint64_t local_memory_bytes;
    uint64_t max_allocation_bytes;
    uint64_t memory_bytes;
    uint32_t nvidia_capability; ///< 90 for compute capability 9.0; 0 elsewhere
};

cbk_status cbk_rt_device_open(struct cbk_rt *rt, const cbk_device_params *params,
                              struct cbk_rt_device **out);
/// Waits for the device's work, exports program binaries to the cache, frees everything.
void cbk_rt_device_close(struct cbk_rt_device **device);
const struct cbk_rt_caps *cbk_rt_device_caps(const struct cbk_rt_device *device);
struct cbk_rt *cbk_rt_device_process(const struct cbk_rt_device *device);
cbk_status cbk_rt_device_info(const struct cbk_rt_device *device, cbk_device_info *out);
cbk_status cbk_rt_device_state(const struct cbk_rt_device *device);
const char *cbk_rt_device_build_log(const struct cbk_rt_device *device);
cbk_status cbk_rt_device_counters(struct cbk_rt_device *device, cbk_counters *out);

/// Does this text build here? Verdicts are remembered, also on disk. Only what can at worst fail to
/// build or give wrong numbers may be probed so.
cbk_status cbk_rt_probe_build(struct cbk_rt_device *device, const char *name, const char *text,
                              bool *out_builds);

// ---- streams -----------------------------------------------------------------------------------

cbk_status cbk_rt_stream_create(struct cbk_rt_device *device, struct cbk_rt_stream **out);
/// Does not wait.
void cbk_rt_stream_destroy(struct cbk_rt_stream **stream);
struct cbk_rt_device *cbk_rt_stream_device(const struct cbk_rt_stream *stream);

/// The stream's sticky error comes up here and in cbk_rt_read, once.
cbk_status cbk_rt_sync(struct cbk_rt_stream *stream);
cbk_status cbk_rt_flush(struct cbk_rt_stream *stream);

cbk_status cbk_rt_event_create(struct cbk_rt_stream *stream, struct cbk_rt_event **out);
cbk_status cbk_rt_event_query(struct cbk_rt_event *event, bool *out_done);
cbk_status cbk_rt_event_wait(struct cbk_rt_event *event);
cbk_status cbk_rt_stream_wait(struct cbk_rt_stream *stream, struct cbk_rt_event *event);
void cbk_rt_event_destroy(struct cbk_rt_event **event);

// ---- memory ------------------------------------------------------------------------------------

/// Takes size_bytes (> 0) of device memory in the order of the stream: the block may have been
/// freed by work of this stream that is still running. Aligned to at least 128 bytes.
/// Errors: CBK_ERROR_OUT_OF_MEMORY with the numbers, after a cleanup and one retry.
cbk_status cbk_rt_alloc(struct cbk_rt_stream *stream, uint64_t size_bytes,
                        struct cbk_rt_block **out);

/// Gives a block back; any thread, at once, even while work that uses it is still running. Nulls
/// the handle. Temporaries are freed directly after the launch that uses them.
void cbk_rt_free(struct cbk_rt_device *device, struct cbk_rt_block **block);

/// True if the work that should have made the block's contents is known to have failed; `out` then
/// has the first cause: status, code, message. Any thread.
bool cbk_rt_block_cause(struct cbk_rt_device *device, struct cbk_rt_block *block, cbk_error *out);

/// Bytes between the start of the block's buffer and the block: a multiple of 128. Kernels take
/// (buffer, offset), so an element offset is this / element size + the tensor's own offset.
uint64_t cbk_rt_block_offset(const struct cbk_rt_block *block);
uint64_t cbk_rt_block_size(const struct cbk_rt_block *block);
/// Tells buffers apart: equal for blocks that lie in one.
const void *cbk_rt_block_buffer(const struct cbk_rt_block *block);

/// Host to block, in stream order; the data is no longer needed after return. Size 0 is fine.
cbk_status cbk_rt_write(struct cbk_rt_stream *stream, struct cbk_rt_block *block,
                        uint64_t offset_bytes, const void *data, uint64_t size_bytes);

struct cbk_rt_read {
    struct cbk_rt_block *block;
    uint64_t offset_bytes;
    void *data;
    uint64_t size_bytes;
};
/// Blocks to host with one synchronisation; fails with the stream's error rather than give stale
/// bytes.
cbk_status cbk_rt_read(struct cbk_rt_stream *stream, const struct cbk_rt_read *reads,
                       uint32_t count);

/// The same without waiting. The data is there, and the places must stay, until the event passes;
/// its query and wait then give the failure of the read or of what should have made the blocks.
cbk_status cbk_rt_read_async(struct cbk_rt_stream *stream, const struct cbk_rt_read *reads,
                             uint32_t count, struct cbk_rt_event **out);

/// Block to block in stream order; the ranges do not overlap.
cbk_status cbk_rt_copy(struct cbk_rt_stream *stream, struct cbk_rt_block *source,
                       uint64_t source_offset, struct cbk_rt_block *destination,
                       uint64_t destination_offset, uint64_t size_bytes);

cbk_status cbk_rt_persistent_begin(struct cbk_rt_stream *stream);
cbk_status cbk_rt_persistent_end(struct cbk_rt_stream *stream);
cbk_status cbk_rt_memory_cleanup(struct cbk_rt_device *device);
cbk_status cbk_rt_memory_usage(struct cbk_rt_device *device, cbk_memory_info *out);
cbk_status cbk_rt_memory_limit(struct cbk_rt_device *device, uint64_t limit_bytes);
cbk_status cbk_rt_staging_alloc(struct cbk_rt_device *device, uint64_t size_bytes, void **out);
void cbk_rt_staging_free(struct cbk_rt_device *device, void *memory);

// ---- programs and kernels ----------------------------------------------------------------------

/// One flattened kernel text, embedded at build time (generated kernels.h declares them as
/// cbk_kernel_<stem>). Found by its address: it lives as long as the devices it is used on.
struct cbk_rt_source {
    const char *name; ///< stem of the file
    const unsigned char *text;
    size_t size;
};

/// A text of fixed capacity. `size` goes on counting past it; `describe` is then called again with
/// as much room as it needs.
struct cbk_rt_text {
    char *data;
    size_t size, capacity;
};
/// Appends, e.g. cbk_rt_text_add(text, " -DOP=%s", name). Numbers are written without the locale.
/// Conversions: d i u x c (with l, ll, z), a e f g, s (with .*), %.
void cbk_rt_text_add(struct cbk_rt_text *text, const char *format, ...) CBK_PRINTF(2, 3);

/// Names one kernel entry. A program is (source, key): two specs with equal source and key must
/// give equal defines. `describe` is called on a miss only.
struct cbk_rt_spec {
    const struct cbk_rt_source *source;
    const char *entry; ///< static text, compared by pointer first
    uint64_t key[2];
    void (*describe)(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines);
    const void *context; ///< for describe
};

/// Finds or builds the stream's kernel object: memory, then disk, then the compiler. The kernel
/// stays the stream's.
/// Errors: CBK_ERROR_BUILD (text in cbk_rt_device_build_log).
cbk_status cbk_rt_kernel(struct cbk_rt_stream *stream, const struct cbk_rt_spec *spec,
                         struct cbk_rt_kernel **out);

/// Highest work-group size of a kernel on this device.
uint32_t cbk_rt_kernel_max_work_group(const struct cbk_rt_kernel *kernel);

// ---- launches ----------------------------------------------------------------------------------

enum { CBK_RT_READ = 1, CBK_RT_WRITE = 2, CBK_RT_READ_WRITE = 3 };

#define CBK_RT_MAX_ARGS 40

struct cbk_rt_arg {
    const void *value; ///< NULL with no block: `size` bytes of local memory
    size_t size;
    struct cbk_rt_block *block; ///< a buffer argument
    uint32_t access;            ///< CBK_RT_READ ...
};

struct cbk_rt_launch {
    struct cbk_rt_kernel *kernel;
    const char *operation; ///< for errors and profiles; static
    uint32_t arg_count;
    uint32_t dimensions;
    size_t global[3];   ///< in work-items, a multiple of local
    size_t local[3];    ///< always given; use few different ones, each is a compile on PoCL
    bool reports_index; ///< the flag argument is among the args
    struct cbk_rt_arg args[CBK_RT_MAX_ARGS];
};

/// Argument builders; values are borrowed until cbk_rt_launch returns.
static inline void cbk_rt_arg_block(struct cbk_rt_launch *launch, struct cbk_rt_block *block,
                                    uint32_t access) {
    launch->args[launch->arg_count++] = (struct cbk_rt_arg){.block = block, .access = access};
}
static inline void cbk_rt_arg_value(struct cbk_rt_launch *launch, const void *value, size_t size) {
    launch->args[launch->arg_count++] = (struct cbk_rt_arg){.value = value, .size = size};
}
static inline void cbk_rt_arg_local(struct cbk_rt_launch *launch, size_t size) {
    launch->args[launch->arg_count++] = (struct cbk_rt_arg){.size = size};
}

/// Adds two arguments, `global int *index_flag` and `uint operation`, by which a kernel reports an
/// index out of range (kernels/include/index_flag.clh); makes sync and read look at the flag.
void cbk_rt_arg_index_flag(struct cbk_rt_stream *stream, struct cbk_rt_launch *launch);

/// Sets the arguments and enqueues. A global size with a 0 in it is a no-op.
/// Errors: CBK_ERROR_DRIVER with the code; CBK_ERROR_DEVICE_LOST.
cbk_status cbk_rt_launch(struct cbk_rt_stream *stream, const struct cbk_rt_launch *launch);

// ---- graphs ------------------------------------------------------------------------------------

/// States of a stream: none -> prepared -> capturing -> none. A wrong transition is
/// CBK_ERROR_INVALID_STATE and changes nothing. While a stream captures, cbk_rt_launch, cbk_rt_copy
/// and cbk_rt_gemm record instead of enqueuing; sync, read, events and replay are refused at once;
/// cbk_rt_write does nothing but make the stop fail. Blocks that are taken or used in the capture
/// stay the graph's until it is destroyed.
cbk_status cbk_rt_graph_prepare(struct cbk_rt_stream *stream);
cbk_status cbk_rt_graph_start(struct cbk_rt_stream *stream);
/// Ends the capture, whatever comes of it, unless the stream was not capturing.
cbk_status cbk_rt_graph_stop(struct cbk_rt_stream *stream, struct cbk_rt_graph **out);
/// Forgets what was prepared or recorded; good in any state.
cbk_status cbk_rt_graph_abort(struct cbk_rt_stream *stream);

/// CBK_OK, or CBK_ERROR_INVALID_STATE while the stream captures.
cbk_status cbk_rt_refuse_in_capture(struct cbk_rt_stream *stream);
bool cbk_rt_is_capturing(const struct cbk_rt_stream *stream);

/// The number of nodes recorded so far; one less is the newest node's index.
uint32_t cbk_rt_recorded_count(const struct cbk_rt_stream *stream);

/// One argument of one recorded launch that a replay gives another value.
struct cbk_rt_patch {
    uint32_t node, arg;
    const void *value;
    size_t size;
};

/// Puts one launch in the place of `count` nodes from `first` on. The graph is not replayed yet.
cbk_status cbk_rt_graph_replace(struct cbk_rt_graph *graph, uint32_t first, uint32_t count,
                                const struct cbk_rt_launch *launch);

/// After the node `reader` read it, does nobody read the block's contents: no later node before the
/// memory is taken for something new, and nobody who holds it? Nodes as they were captured.
bool cbk_rt_graph_is_spent(const struct cbk_rt_graph *graph, const struct cbk_rt_block *block,
                           uint32_t reader);

/// Between the two, what the stream launches is recorded, with memory of its own, to take the place
/// of the `count` nodes from `first` on. Where that is more nodes, or none, the old ones stay.
/// Returns how many nodes stand there now. The graph is not replayed yet.
void cbk_rt_graph_begin_edit(struct cbk_rt_graph *graph);
uint32_t cbk_rt_graph_end_edit(struct cbk_rt_graph *graph, uint32_t first, uint32_t count);

/// After the last of these changes: notes anew what each replay uses, for whoever waits for it.
/// Errors: CBK_ERROR_OUT_OF_HOST_MEMORY; the graph can only be destroyed then.
cbk_status cbk_rt_graph_settle(struct cbk_rt_graph *graph);

/// Enqueues the recorded work on the stream that captured it. `patch` may be NULL. A failing
/// enqueue ends the replay and becomes the stream's sticky error.
/// Errors: CBK_ERROR_INVALID_STATE while that stream captures; those of crossings.
cbk_status cbk_rt_graph_replay(struct cbk_rt_graph *graph, const struct cbk_rt_patch *patch);

/// Any thread, at once, even while replays are running; the stream must still exist.
void cbk_rt_graph_destroy(struct cbk_rt_graph **graph);

// ---- profiles ----------------------------------------------------------------------------------

/// When one command ran, in nanoseconds of the device's clock; all 0 if it failed.
struct cbk_rt_times {
    const char *kernel; ///< entry; static or the program's
    uint64_t queued_ns, submit_ns, start_ns, end_ns;
};

/// From here on the times of the stream's launches, copies and products are taken.
/// Errors: CBK_ERROR_INVALID_STATE in a capture or a second time; CBK_ERROR_UNSUPPORTED for a
/// caller's queue that takes no times.
cbk_status cbk_rt_profile_begin(struct cbk_rt_stream *stream);
/// Commands noted since the begin or the last collect; 0 when no profile is on.
uint32_t cbk_rt_profile_count(const struct cbk_rt_stream *stream);
/// Waits for the commands and gives the times of the noted ones; they live until the next command.
/// An error of the commands themselves stays for the next sync.
cbk_status cbk_rt_profile_collect(struct cbk_rt_stream *stream, const struct cbk_rt_times **out,
                                  uint32_t *out_count);
/// Waits; what was not collected is lost.
/// Errors: CBK_ERROR_OUT_OF_HOST_MEMORY when commands went by without a note; the profile is over.
cbk_status cbk_rt_profile_end(struct cbk_rt_stream *stream);

// ---- BLAS (CLBlast; absent when built without it) ------------------------------------------------

struct cbk_rt_gemm {
    bool is_f64;                   ///< else f32
    bool transpose_a, transpose_b; ///< row-major operands
    uint64_t m, n, k, batch;
    struct cbk_rt_block *a, *b, *c;
    uint64_t a_offset, b_offset, c_offset; ///< elements from the start of the buffer
    uint64_t a_ld, b_ld, c_ld;             ///< elements between rows
    uint64_t a_stride, b_stride, c_stride; ///< elements between matrices of a batch
};
/// True if CLBlast was compiled in and the product is within its limits (drivers: 32-bit sizes).
bool cbk_rt_gemm_supported(const struct cbk_rt_device *device, const struct cbk_rt_gemm *gemm);
/// c = a b.
cbk_status cbk_rt_gemm(struct cbk_rt_stream *stream, const struct cbk_rt_gemm *gemm);

#endif
