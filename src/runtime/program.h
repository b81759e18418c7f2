/// program.h: programs and how they come to be. Private to the program files.
#ifndef CUBEBACK_RUNTIME_PROGRAM_H
#define CUBEBACK_RUNTIME_PROGRAM_H

#include "cache.h"
#include "internal.h"

enum cbk_rt_program_state {
    CBK_RT_PROGRAM_EMPTY,    ///< not built, or a build failed for a reason that may pass
    CBK_RT_PROGRAM_BUILDING, ///< one thread is at it, others wait
    CBK_RT_PROGRAM_READY,
    CBK_RT_PROGRAM_FAILED ///< the compiler refused it; asking again would give the same
};

/// One text with one set of defines on one device. Found by (source, key), never removed before
/// the device is closed.
struct cbk_rt_program {
    const struct cbk_rt_source *source;
    uint64_t key[2];
    enum cbk_rt_program_state state; ///< under the mutex
    cl_program handle;               ///< constant once READY
    uint64_t defines_sum;            ///< likewise
    struct cbk_rt_bytes cache_key;   ///< kept while the program is not on disk
    struct cbk_rt_bytes failure;     ///< the long text, once FAILED
    atomic_bool is_unsaved, was_launched;
    struct cbk_rt_program *next_in_bucket;
    struct cbk_rt_program *_Atomic next; ///< in order of creation
};

/// What a probe has found; `name` and `text` by their sum.
struct cbk_rt_verdict {
    uint8_t sum[32];
    bool builds;
    struct cbk_rt_verdict *next;
};

enum { CBK_RT_PROGRAM_BUCKETS = 256 };

struct cbk_rt_programs {
    struct cbk_os_mutex mutex;
    struct cbk_os_condition built; ///< some program left BUILDING
    struct cbk_rt_program *buckets[CBK_RT_PROGRAM_BUCKETS];
    struct cbk_rt_program *_Atomic first;
    struct cbk_rt_program *last;
    struct cbk_rt_verdict *verdicts;

    struct cbk_os_mutex key_mutex;
    struct cbk_rt_bytes device_key; ///< empty until the first build
    const char *standard_options;   ///< set with the device key

    _Atomic(const char *) build_log;
    atomic_uint_least64_t built_count, build_ns;
    atomic_uint_least64_t hit_count, miss_count, refused_count, stored_count;

    // Export: one thread at a time.
    atomic_flag is_exporting;
    atomic_uint unsaved_count;
    uint64_t opened_ns, export_ns, export_estimate_ns;
};

// ---- building (program_build.c) ------------------------------------------------------------------

/// Fills program->handle from disk or by the compiler. `out_is_final` is set when it failed and
/// would fail again. Called by one thread per program, without locks.
cbk_status cbk_rt_program_build(struct cbk_rt_device *device, const struct cbk_rt_spec *spec,
                                struct cbk_rt_program *program, bool *out_is_final);

/// Does the spec describe what the program was built with? False means that two different programs
/// were given one key. For assertions.
bool cbk_rt_program_agrees(const struct cbk_rt_program *program, const struct cbk_rt_spec *spec);

/// Compiles a text. On failure *out_handle is NULL, *out_log has what the compiler said (for codes
/// that mean "refused") and the code is returned, or that of the call that failed.
cl_int cbk_rt_compile(struct cbk_rt_device *device, const char *text, size_t text_size,
                      const char *options, cl_program *out_handle, struct cbk_rt_bytes *out_log);

/// True for codes by which a compiler refuses a text: the same text will be refused again.
bool cbk_rt_is_refusal(cl_int code);

/// Writes the long text of a failed build into program->failure, makes it the device's build log,
/// sends it to the log callback, and fails with CBK_ERROR_BUILD (program_report.c).
cbk_status cbk_rt_program_report(struct cbk_rt_device *device, struct cbk_rt_program *program,
                                 cl_int code, const char *options, const struct cbk_rt_bytes *log);
/// Fails again as the first time.
cbk_status cbk_rt_program_repeat_failure(struct cbk_rt_device *device,
                                         const struct cbk_rt_program *program);

// ---- keys (cache_key.c) ----------------------------------------------------------------------------

/// Asks the driver for everything that can change a binary; the first caller does the work.
/// Also settles the standard options. Errors: CBK_ERROR_OUT_OF_HOST_MEMORY; those of the driver.
cbk_status cbk_rt_device_key(struct cbk_rt_device *device);

/// The whole key of a program. `out` may be left failed (no host memory): then nothing is cached.
void cbk_rt_program_key(struct cbk_rt_device *device, const struct cbk_rt_source *source,
                        const char *options, const char *defines, struct cbk_rt_bytes *out);

#endif
