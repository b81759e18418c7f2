/// os_files_posix.c: os_files.h on POSIX.
#include "os_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_private(const struct stat *info) {
    return info->st_uid == geteuid() && (info->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// ---- directories -------------------------------------------------------------------------------

static int make_directory(const char *path) {
    if (mkdir(path, 0700) == 0 || errno == EEXIST) return 0;
    // A read-only or closed parent refuses before it says that the directory is there.
    int error = errno;
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) ? 0 : error;
}

static int make_directories(const char *path) {
    char partial[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof partial) return ENAMETOOLONG;
    memcpy(partial, path, length + 1);

    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != 0) continue;
        partial[i] = 0;
        int error = make_directory(partial);
        if (error != 0) return error;
        partial[i] = path[i];
    }
    return 0;
}

int cbk_os_dir_open(const char *path, bool create, struct cbk_os_dir *out) {
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    int descriptor = open(path, flags);
    if (descriptor < 0 && errno == ENOENT && create) {
        int error = make_directories(path);
        if (error != 0) return error;
        descriptor = open(path, flags);
    }
    if (descriptor < 0) return errno;

    struct stat info;
    int error = 0;
    if (fstat(descriptor, &info) != 0) {
        error = errno;
    } else if (!is_private(&info)) {
        error = EPERM;
    }
    if (error != 0) {
        close(descriptor);
        return error;
    }
    out->descriptor = descriptor;
    return 0;
}

void cbk_os_dir_close(struct cbk_os_dir *dir) {
    close(dir->descriptor);
    dir->descriptor = -1;
}

int cbk_os_dir_visit(const struct cbk_os_dir *dir, cbk_os_dir_visitor visit, void *context) {
    int descriptor = openat(dir->descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return errno;
    DIR *listing = fdopendir(descriptor);
    if (!listing) {
        int error = errno;
        close(descriptor);
        return error;
    }
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        struct stat info;
        if (fstatat(dir->descriptor, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (!S_ISREG(info.st_mode)) continue;
        visit(context, entry->d_name, (uint64_t)info.st_size, (int64_t)info.st_mtime);
    }
    closedir(listing);
    return 0;
}

bool cbk_os_dir_try_lock(const struct cbk_os_dir *dir, const char *name, int *out_lock) {
    int lock = openat(dir->descriptor, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0) return false;
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        close(lock);
        return false;
    }
    *out_lock = lock;
    return true;
}

void cbk_os_dir_unlock(int lock) {
    close(lock);
}

// ---- files -------------------------------------------------------------------------------------

int cbk_os_file_open(const struct cbk_os_dir *dir, const char *name, struct cbk_os_file *out) {
    // O_NONBLOCK: a pipe that somebody put there must not make us wait.
    int descriptor = openat(dir->descriptor, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return errno;

    struct stat info;
    int error = 0;
    if (fstat(descriptor, &info) != 0) {
        error = errno;
    } else if (!S_ISREG(info.st_mode) || !is_private(&info)) {
        error = EPERM;
    }
    if (error != 0) {
        close(descriptor);
        return error;
    }
    *out = (struct cbk_os_file){
        .descriptor = descriptor,
        .size = (uint64_t)info.st_size,
        .modified_s = (int64_t)info.st_mtime,
    };
    return 0;
}

int cbk_os_file_read(const struct cbk_os_file *file, void *data, size_t size) {
    char *at = data;
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(file->descriptor, at + done, size - done, (off_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) return EIO;
        done += (size_t)got;
    }
    return 0;
}

void cbk_os_file_touch(const struct cbk_os_file *file) {
    (void)futimens(file->descriptor, NULL);
}

void cbk_os_file_close(struct cbk_os_file *file) {
    close(file->descriptor);
    file->descriptor = -1;
}

static int write_all(int descriptor, const void *data, size_t size) {
    const char *at = data;
    while (size > 0) {
        ssize_t put = write(descriptor, at, size);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return errno;
        at += put;
        size -= (size_t)put;
    }
    return 0;
}

/// A name that no other thread or process uses at the moment; O_EXCL settles what is left.
static int create_temporary(const struct cbk_os_dir *dir, char *name, size_t name_size) {
    static atomic_uint counter;
    int descriptor = -1;
    for (int attempt = 0; attempt < 16; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        snprintf(name, name_size, CBK_OS_TEMPORARY "%lx-%x-%lx", (unsigned long)getpid(),
                 atomic_fetch_add(&counter, 1), (unsigned long)now.tv_nsec);
        descriptor = openat(dir->descriptor, name,
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (descriptor >= 0 || errno != EEXIST) break;
    }
    return descriptor;
}

int cbk_os_file_replace(const struct cbk_os_dir *dir, const char *name,
                        const struct cbk_os_piece *pieces, size_t count) {
    char temporary[64];
    int descriptor = create_temporary(dir, temporary, sizeof temporary);
    if (descriptor < 0) return errno;

    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        error = write_all(descriptor, pieces[i].data, pieces[i].size);
    }
    if (close(descriptor) != 0 && error == 0) error = errno;
    if (error == 0 && renameat(dir->descriptor, temporary, dir->descriptor, name) != 0) {
        error = errno;
    }
    if (error != 0) (void)unlinkat(dir->descriptor, temporary, 0);
    return error;
}

int cbk_os_file_remove(const struct cbk_os_dir *dir, const char *name) {
    return unlinkat(dir->descriptor, name, 0) == 0 ? 0 : errno;
}

int64_t cbk_os_wall_clock_s(void) {
    return (int64_t)time(NULL);
}
