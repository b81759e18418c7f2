/// internal.h: the structs that the files of src/runtime share.
///
/// Ownership: process part -> device -> streams -> pools -> chunks -> blocks. A stream is never
/// freed before its device: a destroyed one rests, with its queue, kernels and memory, until the
/// next create takes it over. So pointers to streams in blocks and records stay good.
///
/// Locks, and the order to take them in: the device's mutex, a stream's mutex (never two streams' at
/// once), the device's use lock or its memory lock. Whoever needs another stream's mutex gives back its own
/// first; the caller's promise that one thread at a time uses a stream makes that harmless.
#ifndef CUBEBACK_RUNTIME_INTERNAL_H
#define CUBEBACK_RUNTIME_INTERNAL_H

#include <stdatomic.h>

#include "cl.h"
#include "os.h"
#include "programs.h"
#include "runtime.h"

// ---- process ---------------------------------------------------------------------------------

/// A device that discovery found.
struct cbk_rt_found {
    cl_platform_id platform;
    cl_device_id id;
    uint64_t rank; ///< among devices of its type; higher is better
    cbk_device_info info;
};

struct cbk_rt {
    struct cbk_rt_cl cl;
    void *library; ///< of the loader, when it was opened at run time
    uint32_t flags;
    uint32_t log_level;
    cbk_log_function log;
    void *log_user_data;
    cbk_allocate_function allocate;
    cbk_free_function free;
    void *allocator_user_data;
    struct cbk_rt_cache *cache;
    struct cbk_os_fork_mark fork_mark;
    struct cbk_rt_found *found; ///< best first: GPUs, accelerators, CPUs
    uint32_t found_count, found_capacity;
};

/// Fills rt->found (discover.c). Errors: CBK_ERROR_NOT_FOUND without a platform.
cbk_status cbk_rt_discover(struct cbk_rt *rt);
/// The index-th found device of a type whose name or platform contains `name` (may be NULL).
const struct cbk_rt_found *cbk_rt_find(const struct cbk_rt *rt, uint32_t type, uint32_t index,
                                       const char *name);
/// The failure of such a search.
cbk_status cbk_rt_fail_not_found(const struct cbk_rt *rt, uint32_t type, uint32_t index,
                                 const char *name);
/// A text of the device or platform, cut to fit; "" when the driver does not answer.
void cbk_rt_device_text(const struct cbk_rt *rt, cl_device_id id, cl_device_info what, char *out,
                        size_t size);
void cbk_rt_platform_text(const struct cbk_rt *rt, cl_platform_id id, cl_platform_info what,
                          char *out, size_t size);

// ---- memory ----------------------------------------------------------------------------------

enum { CBK_RT_ALIGNMENT = 128 };

/// Streams other than its home that have used a block since its last allocation.
struct cbk_rt_use {
    struct cbk_rt_stream *stream;
    uint64_t use_batch;   ///< batch of the last use
    uint64_t write_batch; ///< of the last write; 0: none
};
enum { CBK_RT_MAX_USES = 4 };

/// A piece of a chunk. Blocks of a slab form a list in order of offset, free ones between.
struct cbk_rt_block {
    cl_mem mem; ///< of the chunk
    uint64_t offset;
    uint64_t size; ///< with rounding
    uint64_t asked_size;
    bool is_used;                            ///< else it hangs in a bin
    bool is_foreign;                         ///< the caller's memory (interop.c): of no chunk
    struct cbk_rt_stream *home;              ///< the stream that took it
    _Atomic uint32_t references;             ///< of its holder and of graphs; the last one frees it
    _Atomic uint64_t use_batch, write_batch; ///< of home
    _Atomic uint32_t is_shared; ///< `uses` counts; never cleared before the block is free
    uint32_t use_count;
    struct cbk_rt_use uses[CBK_RT_MAX_USES]; ///< under the device's use lock
    struct cbk_rt_chunk *chunk;
    struct cbk_rt_block *previous, *next;           ///< neighbours in the slab
    struct cbk_rt_block *free_previous, *free_next; ///< of a free list; `free_next` also links the
                                                    ///< return list and unused nodes
};

/// One buffer of the driver: a slab that is cut into blocks, or a block of its own.
struct cbk_rt_chunk {
    cl_mem mem;
    uint64_t size;
    uint64_t used_bytes;        ///< of its blocks
    struct cbk_rt_pool *pool;   ///< of a slab in use, else NULL
    struct cbk_rt_block *first; ///< of a slab in use
    bool is_exact;              ///< goes to the driver rather than to the shelf
    struct cbk_rt_chunk *previous, *next;
    struct cbk_rt_stream *last_stream; ///< on the shelf: work up to last_batch may still use it
    uint64_t last_batch;
};

enum { CBK_RT_BINS_PER_OCTAVE = 8, CBK_RT_OCTAVES = 32 };

/// Memory of one stream, of one kind (pool.c). Under the stream's mutex, but for `returned`.
struct cbk_rt_pool {
    struct cbk_rt_stream *stream;
    bool is_persistent;
    struct cbk_rt_chunk *chunks;
    uint32_t free_slab_count; ///< slabs without a block in use
    uint64_t slab_bytes;
    uint32_t octave_map; ///< bit o: bin_map[o] != 0
    uint8_t bin_map[CBK_RT_OCTAVES];
    struct cbk_rt_block *bins[CBK_RT_OCTAVES][CBK_RT_BINS_PER_OCTAVE];
};

/// What a device holds from its driver (chunk.c).
struct cbk_rt_memory {
    struct cbk_os_mutex mutex; ///< for all but alignment and slab sizes
    bool has_mutex;
    uint64_t alignment; ///< of blocks: a power of two, at least CBK_RT_ALIGNMENT; 1: all separate
    uint64_t slab_size;
    uint64_t slab_limit; ///< largest block that is cut from a slab; 0: none is
    uint64_t default_limit;
    uint64_t limit;
    uint64_t reserved;
    uint64_t peak;
    uint64_t driver_allocations;
    struct cbk_rt_chunk *shelf, *shelf_last; ///< unused chunks, most recent first
    uint32_t shelf_count;
    uint64_t shelf_bytes;
    uint64_t busy_peak; ///< highest (reserved - shelf_bytes) so far
};

// ---- streams ---------------------------------------------------------------------------------

/// The last command of a batch.
struct cbk_rt_batch {
    uint64_t number;
    cl_event event;
};
enum {
    CBK_RT_MAX_BATCHES = 64,  ///< whose events a stream keeps at once
    CBK_RT_FLUSH_PERIOD = 32, ///< commands between flushes
    CBK_RT_AWAITED = 4,       ///< launches with events after another stream has waited
    CBK_RT_MAX_NAMES = 64,    ///< of operations that report indices
    CBK_RT_KNOWN_STREAMS = 32 ///< whose batches a stream remembers to have waited for
};

/// The first error of a stream's enqueued work, until it is reported.
struct cbk_rt_sticky {
    cbk_status status;
    int32_t code;
    char message[240];
};

/// Batches of a stream whose work failed, or may have used what failed (failure.c).
struct cbk_rt_failure {
    uint64_t first, last; ///< `last` is UINT64_MAX until the stream has told its caller
    struct cbk_rt_sticky cause;
};

/// The reader's work from batch `from` on may have used what the writer wrote in `written`, and
/// nobody knew yet how that ends.
struct cbk_rt_dependency {
    struct cbk_rt_stream *reader, *writer;
    uint64_t from, written;
};
enum { CBK_RT_MAX_FAILURES = 8, CBK_RT_MAX_DEPENDENCIES = 128 };

/// As kernels/include/index_flag.clh writes it.
struct cbk_rt_index_report {
    int32_t state; ///< 0: nothing to report
    uint32_t operation;
    int64_t index;
};

/// Host memory through which small transfers go, in parts that are used in turn.
enum { CBK_RT_STAGING_PARTS = 4, CBK_RT_STAGING_LIMIT = 1 << 20 };
struct cbk_rt_staging {
    cl_mem mem; ///< pinned; NULL: plain memory
    unsigned char *data;
    uint32_t part;
    size_t used;                          ///< of the current part
    uint64_t batch[CBK_RT_STAGING_PARTS]; ///< of the last transfer through the part
};

struct cbk_rt_stream {
    struct cbk_rt_device *device;
    cl_command_queue queue;
    struct cbk_os_mutex mutex;
    uint32_t number; ///< position in device->streams
    bool is_resting; ///< destroyed, waiting for the next create (under the device's mutex)
    bool is_foreign; ///< the queue is the caller's; a resting stream has one of its own

    // Order. `batch` is the number of the batch now being filled; it grows when a marker or an
    // event closes it.
    uint64_t batch;
    _Atomic uint64_t done_batch; ///< every batch up to this one has ended
    uint32_t unflushed;          ///< commands since the last flush
    uint32_t flush_at;           ///< `unflushed` at which to flush: 1, 2, 4 ... after a drain
    bool has_open_work;          ///< commands in the current batch
    uint32_t awaited;            ///< so many launches more bring events: others wait for them
    uint32_t batch_first, batch_count;
    struct cbk_rt_batch batches[CBK_RT_MAX_BATCHES]; ///< a ring
    uint64_t waited[CBK_RT_KNOWN_STREAMS];           ///< by number: this queue waits for that batch
    struct cbk_rt_sticky sticky;
    struct cbk_rt_failure failures[CBK_RT_MAX_FAILURES]; ///< eldest first; under the use lock
    uint32_t failure_count;

    struct cbk_rt_kernels kernels;

    struct cbk_rt_pool pool, persistent;
    uint32_t persistent_depth;
    _Atomic(struct cbk_rt_block *) returned; ///< freed by any thread, not yet taken back
    struct cbk_rt_block *unused_nodes;
    struct cbk_rt_node_array *node_arrays;

    struct cbk_rt_staging staging;

    // Index reports.
    struct cbk_rt_block index_block;
    uint32_t index_operation;                 ///< the argument of the launch being made
    bool index_pending;                       ///< a launch may have reported since the last look
    bool index_looking;                       ///< the look is enqueued
    struct cbk_rt_index_report *index_report; ///< where it goes
    struct cbk_rt_index_report index_storage; ///< that place, where pinned memory is no gain
    uint32_t name_count;
    const char *names[CBK_RT_MAX_NAMES];

    struct cbk_rt_profile *profile; ///< while times are taken
    bool is_prepared;               ///< for a capture
    struct cbk_rt_graph *recording; ///< while the stream captures

    // Written by the owner, read by anyone; freed_* by any thread.
    _Atomic uint64_t launches, bytes_written, bytes_read;
    _Atomic uint64_t allocated_count, allocated_bytes, allocated_padding;
    _Atomic uint64_t freed_count, freed_bytes, freed_padding;
};

// ---- devices ---------------------------------------------------------------------------------

struct cbk_rt_device {
    struct cbk_rt *rt;
    const struct cbk_rt_cl *cl; ///< &rt->cl
    cl_platform_id platform;
    cl_device_id id;
    cl_context context;
    const struct cbk_rt_found *found;
    struct cbk_rt_caps caps;
    _Atomic uint32_t is_lost;
    struct cbk_os_mutex mutex;      ///< streams, staging
    struct cbk_rt_stream **streams; ///< all ever made, resting ones too
    uint32_t stream_count, stream_capacity;
    cl_command_queue service_queue; ///< for maps of staging memory
    struct cbk_rt_pinned *pinned;   ///< what cbk_rt_staging_alloc gave out
    struct cbk_os_mutex use_lock;   ///< of blocks that several streams use, and of failed work
    _Atomic uint32_t failure_count; ///< records of failed work so far, on all streams
    struct cbk_rt_dependency dependencies[CBK_RT_MAX_DEPENDENCIES]; ///< under the use lock
    uint32_t dependency_count;
    _Atomic(struct cbk_rt_block *) dying; ///< foreign, held by nobody, perhaps still in use
    struct cbk_rt_memory memory;
    struct cbk_rt_programs *programs;
    bool is_blas_tuned;                    ///< under the mutex of blas.c
    bool has_mutex, has_use_lock, is_open; ///< how far opening came
};

/// CBK_OK, or the failure of a device that is lost or belongs to the parent process. Every entry
/// point that talks to the driver asks first.
cbk_status cbk_rt_device_refuse(struct cbk_rt_device *device);
static inline cbk_status cbk_rt_device_check(struct cbk_rt_device *device) {
    const bool is_good = !atomic_load_explicit(&device->is_lost, memory_order_relaxed) &&
                         !cbk_os_is_forked(&device->rt->fork_mark);
    return is_good ? CBK_OK : cbk_rt_device_refuse(device);
}
/// Notes that the driver gave the device up.
void cbk_rt_device_lose(struct cbk_rt_device *device);

/// Opens a device that discovery found; on `context` (retained) unless that is NULL.
cbk_status cbk_rt_device_open_found(struct cbk_rt *rt, const struct cbk_rt_found *found,
                                    cl_context context, const cbk_device_params *params,
                                    struct cbk_rt_device **out);

/// A new stream; on `queue` (retained) unless that is NULL (stream.c).
cbk_status cbk_rt_stream_make(struct cbk_rt_device *device, cl_command_queue queue,
                              struct cbk_rt_stream **out);
/// Waits for all streams and frees them (stream.c); for closing only.
void cbk_rt_streams_finish(struct cbk_rt_device *device);

// ---- order (order.c): all under the stream's mutex -----------------------------------------------

/// To be called after a command was enqueued; `event` is the command's or NULL. Takes over the
/// event, closes the batch with it, and flushes now and then.
void cbk_rt_note_command(struct cbk_rt_stream *stream, cl_event event);
/// The same for a command that others follow at once: it brings no event, and nothing is flushed.
static inline void cbk_rt_count_command(struct cbk_rt_stream *stream) {
    stream->has_open_work = true;
    stream->unflushed++;
}
/// True if the next command should bring an event.
bool cbk_rt_wants_event(const struct cbk_rt_stream *stream);
/// Closes the current batch with a marker, flushes, and gives the event of the newest batch
/// (retained; NULL when nothing was ever enqueued or all has ended).
cbk_status cbk_rt_close_batch(struct cbk_rt_stream *stream, cl_event *out_event);
/// Waits for everything and gathers errors into stream->sticky.
cbk_status cbk_rt_drain(struct cbk_rt_stream *stream);
/// Waits until a batch has ended.
cbk_status cbk_rt_wait_batch(struct cbk_rt_stream *stream, uint64_t batch);
/// Releases events of batches that have ended and gathers their errors; never waits.
void cbk_rt_poll_batches(struct cbk_rt_stream *stream);
/// Remembers the first error of enqueued work. What was written stays good, as after a bad index.
void cbk_rt_stick(struct cbk_rt_stream *stream, cbk_status status, int32_t code, const char *format,
                  ...) CBK_PRINTF(4, 5);
/// The same for work that was not done: what the stream wrote from `batch` on is not to be trusted.
void cbk_rt_fail_batch(struct cbk_rt_stream *stream, uint64_t batch, cbk_status status,
                       int32_t code, const char *format, ...) CBK_PRINTF(5, 6);
/// Reports and clears the sticky error. After it, later work is good again.
cbk_status cbk_rt_take_sticky(struct cbk_rt_stream *stream);

// ---- failed work (failure.c) -------------------------------------------------------------------

/// From `batch` on the stream's work is not to be trusted; the stream's mutex is held.
void cbk_rt_failure_add(struct cbk_rt_stream *stream, uint64_t batch,
                        const struct cbk_rt_sticky *cause);
/// What the stream enqueues from now on is good again; its mutex is held.
cbk_status cbk_rt_failures_close(struct cbk_rt_stream *stream);

/// The stream, whose mutex is held, is about to read what `writer` wrote. The use lock is held.
/// False when there is no room to note it: cbk_rt_end_dependency makes some.
bool cbk_rt_depend(struct cbk_rt_stream *stream, struct cbk_rt_stream *writer, uint64_t written);
/// Waits for what is depended on longest. Gives the mutex back for a while.
cbk_status cbk_rt_end_dependency(struct cbk_rt_stream *stream);
/// After a drain: learns how the work of others ended that this stream has read from. Gives the
/// mutex back for a while.
void cbk_rt_settle_dependencies(struct cbk_rt_stream *stream);

/// Those whose work made the contents of a block.
struct cbk_rt_writer {
    struct cbk_rt_stream *stream;
    uint64_t batch;
};
enum { CBK_RT_MAX_WRITERS = CBK_RT_MAX_USES + 1 };
uint32_t cbk_rt_block_writers(struct cbk_rt_device *device, struct cbk_rt_block *block,
                              struct cbk_rt_writer out[CBK_RT_MAX_WRITERS]);

/// True, with the first cause, if the batch is known to have failed. Any thread, no lock held.
bool cbk_rt_batch_failed(struct cbk_rt_stream *stream, uint64_t batch,
                         struct cbk_rt_sticky *out_cause);
bool cbk_rt_block_failed(struct cbk_rt_device *device, struct cbk_rt_block *block,
                         struct cbk_rt_sticky *out_cause);
/// CBK_ERROR_PRODUCER with the cause.
cbk_status cbk_rt_fail_producer(const struct cbk_rt_sticky *cause);
/// CBK_OK, or CBK_ERROR_PRODUCER for a block whose contents are not to be trusted.
cbk_status cbk_rt_check_block(struct cbk_rt_device *device, struct cbk_rt_block *block);

// ---- crossings (crossing.c) ------------------------------------------------------------------------

struct cbk_rt_access {
    struct cbk_rt_block *block;
    uint32_t access; ///< CBK_RT_READ ...
};
/// True if no other stream has used the block; then cbk_rt_note_local is all there is to do before
/// a command that uses it is enqueued, mutex held. Else cbk_rt_cross does it.
static inline bool cbk_rt_is_local(const struct cbk_rt_stream *stream, struct cbk_rt_block *block) {
    return block->home == stream && !atomic_load_explicit(&block->is_shared, memory_order_acquire);
}
static inline void cbk_rt_note_local(const struct cbk_rt_stream *stream, struct cbk_rt_block *block,
                                     uint32_t access) {
    atomic_store_explicit(&block->use_batch, stream->batch, memory_order_relaxed);
    if (access & CBK_RT_WRITE) {
        atomic_store_explicit(&block->write_batch, stream->batch, memory_order_relaxed);
    }
}
/// Makes the stream's queue wait for what other streams do with the blocks, then notes the uses.
/// Gives the mutex back for a while and holds it again on return.
cbk_status cbk_rt_cross(struct cbk_rt_stream *stream, const struct cbk_rt_access *accesses,
                        uint32_t count);
/// The common form of both for a few blocks.
cbk_status cbk_rt_use_blocks(struct cbk_rt_stream *stream, const struct cbk_rt_access *accesses,
                             uint32_t count);
/// Makes the stream's queue wait until `other` has ended `batch`. As cbk_rt_cross with the mutex.
cbk_status cbk_rt_wait_for(struct cbk_rt_stream *stream, struct cbk_rt_stream *other,
                           uint64_t batch);

// ---- profiles (profile.c), under the stream's mutex ------------------------------------------------

/// Keeps a reference to the event of a command while a profile is on.
void cbk_rt_profile_note(struct cbk_rt_stream *stream, cl_event event, const char *kernel);
/// Ends a profile without waiting.
void cbk_rt_profile_abandon(struct cbk_rt_stream *stream);

// ---- pools (pool.c), under the stream's mutex ------------------------------------------------------

void cbk_rt_pool_init(struct cbk_rt_pool *pool, struct cbk_rt_stream *stream, bool is_persistent);
/// Cuts a block of `size` (rounded) from a slab; NULL when no slab has room.
struct cbk_rt_block *cbk_rt_pool_take(struct cbk_rt_pool *pool, uint64_t size);
/// Gives a block back; it joins free neighbours.
void cbk_rt_pool_give(struct cbk_rt_pool *pool, struct cbk_rt_block *block);
/// Makes a chunk a slab of the pool. Errors: CBK_ERROR_OUT_OF_HOST_MEMORY.
cbk_status cbk_rt_pool_add(struct cbk_rt_pool *pool, struct cbk_rt_chunk *chunk);
/// Takes a slab without used blocks out of the pool; NULL if there is none.
struct cbk_rt_chunk *cbk_rt_pool_remove_free(struct cbk_rt_pool *pool);
/// Nodes for blocks; they are recycled within the stream.
struct cbk_rt_block *cbk_rt_node_take(struct cbk_rt_stream *stream);
void cbk_rt_node_give(struct cbk_rt_stream *stream, struct cbk_rt_block *node);
void cbk_rt_nodes_finish(struct cbk_rt_stream *stream);

// ---- chunks (chunk.c) ------------------------------------------------------------------------------

cbk_status cbk_rt_memory_init(struct cbk_rt_device *device, uint64_t limit_bytes);
void cbk_rt_memory_finish(struct cbk_rt_device *device);
/// A chunk of at least `size` bytes from the shelf or the driver; the stream's queue waits for
/// earlier users of it. The stream's mutex is held and may be given back for a while.
cbk_status cbk_rt_chunk_take(struct cbk_rt_stream *stream, uint64_t size, bool is_exact,
                             struct cbk_rt_chunk **out);
/// Puts a chunk on the shelf; work up to the stream's current batch may still use it.
void cbk_rt_chunk_shelve(struct cbk_rt_stream *stream, struct cbk_rt_chunk *chunk);
/// The same where `last_stream` and `last_batch` are set already; no mutex needs to be held.
void cbk_rt_chunk_give(struct cbk_rt_device *device, struct cbk_rt_chunk *chunk);
/// Hands a chunk back to the driver, now.
void cbk_rt_chunk_release(struct cbk_rt_device *device, struct cbk_rt_chunk *chunk);
/// Hands all chunks on the shelf back to the driver.
void cbk_rt_shelf_clear(struct cbk_rt_device *device);

// ---- memory of a stream (memory.c) -------------------------------------------------------------------

void cbk_rt_stream_memory_init(struct cbk_rt_stream *stream);
void cbk_rt_stream_memory_finish(struct cbk_rt_stream *stream);
/// Takes freed blocks back into the pools. The mutex is held and may be given back for a while.
void cbk_rt_take_returned(struct cbk_rt_stream *stream);
/// Waits for all streams of the device and shelves what they do not use. The mutex is held and
/// given back for a while.
void cbk_rt_reclaim(struct cbk_rt_stream *stream);
/// Shelves the stream's unused slabs; mutex held.
void cbk_rt_shelve_free_slabs(struct cbk_rt_stream *stream);

// ---- foreign memory (interop.c) ------------------------------------------------------------------------

/// The last holder has let a foreign block go.
void cbk_rt_foreign_free(struct cbk_rt_device *device, struct cbk_rt_block *block);
/// Releases the foreign blocks whose work has ended. No mutex may be held: the caller's release
/// functions run in here.
void cbk_rt_foreign_reap(struct cbk_rt_device *device);
static inline bool cbk_rt_has_dying(struct cbk_rt_device *device) {
    return atomic_load_explicit(&device->dying, memory_order_relaxed) != NULL;
}
/// Releases all of them; for closing, after all work has ended.
void cbk_rt_foreign_finish(struct cbk_rt_device *device);

// ---- staging (staging.c), under the stream's mutex ---------------------------------------------------

/// True where transfers gain by pinned memory.
static inline bool cbk_rt_gains_by_pinning(const struct cbk_rt_device *device) {
    return device->found->info.type != CBK_DEVICE_CPU;
}
/// Space of `size` bytes (at most CBK_RT_STAGING_LIMIT) that earlier transfers no longer use.
cbk_status cbk_rt_staging_take(struct cbk_rt_stream *stream, size_t size, void **out);
/// To be called directly before the transfer from or to the space is enqueued.
void cbk_rt_staging_note(struct cbk_rt_stream *stream);
void cbk_rt_staging_finish(struct cbk_rt_stream *stream);
void cbk_rt_pinned_finish(struct cbk_rt_device *device);

// ---- reads (transfer.c), under the stream's mutex ------------------------------------------------

/// Enqueues all reads without waiting; with `staged` they go there, one after the other.
cbk_status cbk_rt_enqueue_reads(struct cbk_rt_stream *stream, const struct cbk_rt_read *reads,
                                uint32_t count, unsigned char *staged);

// ---- index reports (index_flag.c), under the stream's mutex --------------------------------------------

/// Makes the flag on the device at first need and gives the launch's operation its number.
cbk_status cbk_rt_index_begin(struct cbk_rt_stream *stream, const char *operation);
/// Enqueues the look at the flag if a launch may have reported. To be called before draining.
cbk_status cbk_rt_index_look(struct cbk_rt_stream *stream);
/// After draining: turns a report into the stream's sticky error and resets the flag.
cbk_status cbk_rt_index_settle(struct cbk_rt_stream *stream);
/// Forgets the flag and what it may hold.
void cbk_rt_index_finish(struct cbk_rt_stream *stream);

// ---- captures (graph.c, graph_record.c), under the stream's mutex ------------------------------------

/// What cbk_rt_launch, cbk_rt_copy and cbk_rt_write do while the stream captures.
cbk_status cbk_rt_record_launch(struct cbk_rt_stream *stream, const struct cbk_rt_launch *launch);
cbk_status cbk_rt_record_copy(struct cbk_rt_stream *stream, struct cbk_rt_block *source,
                              uint64_t source_offset, struct cbk_rt_block *destination,
                              uint64_t destination_offset, uint64_t size_bytes);
void cbk_rt_record_failure(struct cbk_rt_stream *stream, const char *reason);
/// A block that was taken in this capture and that only the graph still holds; NULL: none fits.
struct cbk_rt_block *cbk_rt_graph_reuse(struct cbk_rt_graph *graph, uint64_t size);
/// Makes a block that was just taken one of the capture's. Errors: CBK_ERROR_OUT_OF_HOST_MEMORY.
cbk_status cbk_rt_graph_own(struct cbk_rt_graph *graph, struct cbk_rt_block *block);
/// Sets all arguments of a launch on a kernel object (launch.c).
cl_int cbk_rt_set_args(const struct cbk_rt_stream *stream, cl_kernel kernel,
                       const struct cbk_rt_launch *launch);
/// The failure of a launch, with all that belongs to it (launch.c).
cbk_status cbk_rt_fail_launch(struct cbk_rt_stream *stream, const struct cbk_rt_launch *launch,
                              cl_int code, const char *call);
/// Forgets a capture in progress, without a word.
void cbk_rt_graph_forget(struct cbk_rt_stream *stream);

#endif
