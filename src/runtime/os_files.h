/// os_files.h: a private directory of small files, as the program cache needs it of the OS.
///
/// A directory is opened anew for each piece of work and every access goes through its handle: no
/// path is trusted twice, and no descriptor stays open that somebody else could close and reuse.
/// Functions return 0 or an errno value.
#ifndef CUBEBACK_RUNTIME_OS_FILES_H
#define CUBEBACK_RUNTIME_OS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cbk_os_dir {
    int descriptor;
};

/// Opens a directory that belongs to this user and that nobody else can write to; others: EPERM.
/// `create` makes it (and its parents) with mode 0700 where it is missing.
int cbk_os_dir_open(const char *path, bool create, struct cbk_os_dir *out);
void cbk_os_dir_close(struct cbk_os_dir *dir);

/// Calls `visit` for each regular file, in no order.
typedef void (*cbk_os_dir_visitor)(void *context, const char *name, uint64_t size,
                                   int64_t modified_s);
int cbk_os_dir_visit(const struct cbk_os_dir *dir, cbk_os_dir_visitor visit, void *context);

/// Takes a lock between processes; never waits. False if somebody else has it or it cannot be had.
/// `*out_lock` goes to cbk_os_dir_unlock.
bool cbk_os_dir_try_lock(const struct cbk_os_dir *dir, const char *name, int *out_lock);
void cbk_os_dir_unlock(int lock);

struct cbk_os_file {
    int descriptor;
    uint64_t size;
    int64_t modified_s; ///< seconds since 1970
};

/// Opens a regular file for reading, never through a link (ELOOP). A file of another user, or that
/// others can write to, is EPERM.
int cbk_os_file_open(const struct cbk_os_dir *dir, const char *name, struct cbk_os_file *out);
/// Reads exactly `size` bytes from the start; a shorter file is EIO.
int cbk_os_file_read(const struct cbk_os_file *file, void *data, size_t size);
/// Sets the time of last change to now.
void cbk_os_file_touch(const struct cbk_os_file *file);
void cbk_os_file_close(struct cbk_os_file *file);

struct cbk_os_piece {
    const void *data;
    size_t size;
};
/// Writes the pieces to a temporary file of mode 0600 (its name starts with CBK_OS_TEMPORARY) and
/// renames it: readers see the old file or the new one, whole. Nothing is left after a failure.
#define CBK_OS_TEMPORARY "tmp-"
int cbk_os_file_replace(const struct cbk_os_dir *dir, const char *name,
                        const struct cbk_os_piece *pieces, size_t count);
int cbk_os_file_remove(const struct cbk_os_dir *dir, const char *name);

/// Seconds since 1970, as file times count them.
int64_t cbk_os_wall_clock_s(void);

#endif
