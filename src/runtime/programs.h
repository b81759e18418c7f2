/// programs.h: programs of a device, kernel objects of a stream, the cache on disk.
///
/// Three lifetimes: `struct cbk_rt_cache` belongs to the process part (where the cache is, what the
/// environment says), `struct cbk_rt_programs` to a device (each program built once), and
/// `struct cbk_rt_kernels` to a stream (its own kernel objects, because clSetKernelArg on a shared
/// one is a race).
#ifndef CUBEBACK_RUNTIME_PROGRAMS_H
#define CUBEBACK_RUNTIME_PROGRAMS_H

#include "cl.h"
#include "runtime.h"

struct cbk_rt_cache;
struct cbk_rt_program;
struct cbk_rt_programs;

/// A kernel object of one stream; used by that stream's caller only.
struct cbk_rt_kernel {
    cl_kernel handle;
    struct cbk_rt_program *program;
    const char *entry;
    uint32_t max_work_group;
    bool launched;
    struct cbk_rt_kernel *next; ///< of the stream
};

/// A stream's kernels: open addressing, keyed by (source, key, entry); never shrinks.
struct cbk_rt_kernels {
    struct cbk_rt_kernel_slot *slots;
    uint32_t capacity; ///< 0 or a power of two, at least twice `count`
    uint32_t count;
    struct cbk_rt_kernel *first;
};

// ---- the process part --------------------------------------------------------------------------

/// Settles where the cache is: parameters first, then the environment unless CBK_NO_ENVIRONMENT.
/// Touches no file. A place that cannot be used only means that nothing is kept.
/// Errors: CBK_ERROR_OUT_OF_HOST_MEMORY.
cbk_status cbk_rt_cache_create(struct cbk_rt *rt, const cbk_backend_params *params,
                               struct cbk_rt_cache **out);
void cbk_rt_cache_destroy(struct cbk_rt *rt, struct cbk_rt_cache **cache);

// ---- the device's part -------------------------------------------------------------------------

/// Call when the device's context exists; asks the driver nothing yet.
cbk_status cbk_rt_programs_create(struct cbk_rt_device *device, struct cbk_rt_programs **out);

/// Writes program binaries to the cache while the device has nothing to do. May do nothing; on
/// drivers where an export is slow it takes a small share of the time since the device was opened.
void cbk_rt_programs_idle(struct cbk_rt_device *device);

/// Writes what is still unsaved (for a bounded time) and frees the programs. The device's streams
/// and their kernels are gone by now, its context is not.
void cbk_rt_programs_destroy(struct cbk_rt_device *device, struct cbk_rt_programs **programs);

/// "" or the text of the last build that failed; lives as long as the device.
const char *cbk_rt_programs_build_log(const struct cbk_rt_programs *programs);

/// Fills programs_built, build_ns and the cache_* members.
void cbk_rt_programs_counters(struct cbk_rt_programs *programs, cbk_counters *out);

// ---- the stream's part -------------------------------------------------------------------------

/// Releases all kernel objects. A zeroed table is an empty one.
void cbk_rt_kernels_finish(struct cbk_rt *rt, struct cbk_rt_kernels *kernels);

void cbk_rt_program_note_launch(struct cbk_rt_program *program);

/// To be called after a successful launch: only programs that were used are worth exporting.
static inline void cbk_rt_kernel_note_launch(struct cbk_rt_kernel *kernel) {
    if (!kernel->launched) {
        kernel->launched = true;
        cbk_rt_program_note_launch(kernel->program);
    }
}

// ---- BLAS --------------------------------------------------------------------------------------

/// To be called when a device is opened and after its last queue is gone: CLBlast keeps programs
/// (and with them contexts) in a cache of the process, which the last close clears.
void cbk_rt_blas_device_opened(struct cbk_rt_device *device);
void cbk_rt_blas_device_closing(struct cbk_rt_device *device);

#endif
