/// os_posix.c: os.h for POSIX systems.

#include "os.h"

#include <dlfcn.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// ---- threads -------------------------------------------------------------------------------------

bool cbk_os_mutex_init(struct cbk_os_mutex *mutex) {
    return pthread_mutex_init(&mutex->handle, NULL) == 0;
}

void cbk_os_mutex_finish(struct cbk_os_mutex *mutex) {
    (void)pthread_mutex_destroy(&mutex->handle);
}

bool cbk_os_condition_init(struct cbk_os_condition *condition) {
    return pthread_cond_init(&condition->handle, NULL) == 0;
}

void cbk_os_condition_finish(struct cbk_os_condition *condition) {
    (void)pthread_cond_destroy(&condition->handle);
}

void cbk_os_wait(struct cbk_os_condition *condition, struct cbk_os_mutex *mutex) {
    (void)pthread_cond_wait(&condition->handle, &mutex->handle);
}

void cbk_os_wake_all(struct cbk_os_condition *condition) {
    (void)pthread_cond_broadcast(&condition->handle);
}

void cbk_os_once_run(cbk_os_once *once, void (*function)(void)) {
    (void)pthread_once(once, function);
}

// ---- clock, process, environment -------------------------------------------------------------------

uint64_t cbk_os_clock_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int64_t cbk_os_process_id(void) {
    return (int64_t)getpid();
}

static size_t page_size(void) {
    const long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (size_t)size : 4096;
}

// Linux can be asked to clear a page in the child; elsewhere the process id is compared.
void cbk_os_fork_mark_init(struct cbk_os_fork_mark *mark) {
    *mark = (struct cbk_os_fork_mark){.process_id = cbk_os_process_id()};
#ifdef MADV_WIPEONFORK
    const size_t size = page_size();
    uint32_t *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, size, MADV_WIPEONFORK) != 0) {
        (void)munmap(page, size);
        return;
    }
    *page = 1;
    mark->word = page;
#endif
}

void cbk_os_fork_mark_finish(struct cbk_os_fork_mark *mark) {
    if (mark->word) (void)munmap((void *)(uintptr_t)mark->word, page_size());
    mark->word = NULL;
}

static bool has_raised_rights(void) {
#ifdef __linux__
    return getauxval(AT_SECURE) != 0;
#else
    return getuid() != geteuid() || getgid() != getegid();
#endif
}

const char *cbk_os_environment(const char *name) {
    return has_raised_rights() ? NULL : getenv(name);
}

extern char **environ;

const char *cbk_os_environment_entry(size_t index) {
    if (has_raised_rights() || !environ) return NULL;
    for (size_t i = 0; environ[i]; i++) {
        if (i == index) return environ[i];
    }
    return NULL;
}

// ---- memory --------------------------------------------------------------------------------------

#ifdef MADV_HUGEPAGE
void cbk_os_advise_large_pages(void *start, size_t size) {
    const uintptr_t page = page_size();
    const uintptr_t first = ((uintptr_t)start + page - 1) / page * page;
    const uintptr_t last = ((uintptr_t)start + size) / page * page;
    if (first < last) (void)madvise((void *)first, last - first, MADV_HUGEPAGE);
}
#else
void cbk_os_advise_large_pages(void *start, size_t size) {
    (void)start, (void)size;
}
#endif

// ---- shared libraries ----------------------------------------------------------------------------

void *cbk_os_library_open(const char *name) {
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void *cbk_os_library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

void cbk_os_library_close(void *library) {
    (void)dlclose(library);
}
