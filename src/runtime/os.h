/// os.h: threads, clock, process, environment, memory, shared libraries. POSIX in os_posix.c; files
/// are in os_files.h. No other file of the library calls the operating system.
#ifndef CUBEBACK_RUNTIME_OS_H
#define CUBEBACK_RUNTIME_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- threads -------------------------------------------------------------------------------------

struct cbk_os_mutex {
    pthread_mutex_t handle;
};
/// False when the system has no more of them.
bool cbk_os_mutex_init(struct cbk_os_mutex *mutex);
void cbk_os_mutex_finish(struct cbk_os_mutex *mutex);
static inline void cbk_os_lock(struct cbk_os_mutex *mutex) {
    (void)pthread_mutex_lock(&mutex->handle);
}
static inline void cbk_os_unlock(struct cbk_os_mutex *mutex) {
    (void)pthread_mutex_unlock(&mutex->handle);
}

struct cbk_os_condition {
    pthread_cond_t handle;
};
bool cbk_os_condition_init(struct cbk_os_condition *condition);
void cbk_os_condition_finish(struct cbk_os_condition *condition);
/// Spurious returns are possible.
void cbk_os_wait(struct cbk_os_condition *condition, struct cbk_os_mutex *mutex);
void cbk_os_wake_all(struct cbk_os_condition *condition);

#define CBK_OS_ONCE_INIT PTHREAD_ONCE_INIT
typedef pthread_once_t cbk_os_once;
void cbk_os_once_run(cbk_os_once *once, void (*function)(void));

// ---- clock, process, environment -------------------------------------------------------------------

/// Monotonic nanoseconds.
uint64_t cbk_os_clock_ns(void);

int64_t cbk_os_process_id(void);

/// A mark that a forked child no longer carries; checking costs a load.
struct cbk_os_fork_mark {
    const volatile uint32_t *word; ///< wiped by fork; NULL: ask for the process id
    int64_t process_id;
};
void cbk_os_fork_mark_init(struct cbk_os_fork_mark *mark);
void cbk_os_fork_mark_finish(struct cbk_os_fork_mark *mark);
static inline bool cbk_os_is_forked(const struct cbk_os_fork_mark *mark) {
    return mark->word ? *mark->word == 0 : cbk_os_process_id() != mark->process_id;
}

/// NULL when unset or when the process runs with raised rights (setuid).
const char *cbk_os_environment(const char *name);
/// The index-th "NAME=value" of the environment; NULL past the last one and with raised rights.
const char *cbk_os_environment_entry(size_t index);

/// What this processor can do, as readable text: machine code made here runs where it is the same.
/// "" where it is not known how to ask (os_cpu.c).
void cbk_os_cpu_features(char *out, size_t size);

// ---- memory --------------------------------------------------------------------------------------

/// Asks for large pages under what is not touched yet of [start, start + size). A hint: where the
/// system has none nothing happens.
void cbk_os_advise_large_pages(void *start, size_t size);

// ---- shared libraries ----------------------------------------------------------------------------

/// NULL when there is none. `name` NULL: what the process has loaded already.
void *cbk_os_library_open(const char *name);
void *cbk_os_library_symbol(void *library, const char *name);
void cbk_os_library_close(void *library);

#endif
