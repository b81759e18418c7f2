// ir_save.c: programs in files and in the caller's memory.
#include "ir_program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- memory -------------------------------------------------------------------------------------

static cbk_status save_memory(const cbk_ir_program *program, void *data, uint64_t capacity,
                              uint64_t *out_size) {
    unsigned char *bytes = NULL;
    cbk_status status = cbk_ir_check_program(program);
    if (status == CBK_OK && (out_size == NULL || (data == NULL && capacity != 0))) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s is NULL",
                          out_size == NULL ? "out_size" : "data");
    }
    if (status == CBK_OK) status = cbk_ir_encode(program, &bytes, out_size);
    if (status != CBK_OK) return status;
    if (*out_size <= capacity) memcpy(data, bytes, (size_t)*out_size);
    free(bytes);
    return CBK_OK;
}

cbk_status cbk_ir_save_memory(const cbk_ir_program *program, void *data, uint64_t capacity,
                              uint64_t *out_size) {
    struct cbk_call former = cbk_call_begin("ir_save_memory", CBK_OP_NONE);
    return cbk_call_end(former, save_memory(program, data, capacity, out_size));
}

cbk_status cbk_ir_load_memory(const void *data, uint64_t size_bytes, cbk_ir_program **out) {
    struct cbk_call former = cbk_call_begin("ir_load_memory", CBK_OP_NONE);
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK && data == NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "data is NULL");
    }
    if (status == CBK_OK) status = cbk_ir_decode(data, size_bytes, out);
    return cbk_call_end(former, status);
}

// ---- files --------------------------------------------------------------------------------------

static cbk_status fail_file(const char *what, const char *path, int reason) {
    return cbk_fail(CBK_ERROR_IO, reason, "%s %s: %s", what, path, strerror(reason));
}

static cbk_status write_file(const char *path, const unsigned char *bytes, uint64_t size) {
    FILE *file = fopen(path, "wb");
    if (file == NULL) return fail_file("cannot make", path, errno);
    errno = 0;
    bool is_good = fwrite(bytes, 1, (size_t)size, file) == size;
    int reason = errno;
    if (fclose(file) != 0 && is_good) {
        is_good = false;
        reason = errno;
    }
    if (is_good) return CBK_OK;
    remove(path);
    return fail_file("cannot write", path, reason);
}

static cbk_status check_path(const char *path) {
    if (path != NULL) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "path is NULL");
}

cbk_status cbk_ir_save(const cbk_ir_program *program, const char *path) {
    struct cbk_call former = cbk_call_begin("ir_save", CBK_OP_NONE);
    unsigned char *bytes = NULL;
    uint64_t size = 0;
    cbk_status status = cbk_ir_check_program(program);
    if (status == CBK_OK) status = check_path(path);
    if (status == CBK_OK) status = cbk_ir_encode(program, &bytes, &size);
    if (status == CBK_OK) status = write_file(path, bytes, size);
    free(bytes);
    return cbk_call_end(former, status);
}

/// Reads to the end, whatever a size would say: the file may be a pipe.
static cbk_status read_all(FILE *file, const char *path, unsigned char **out, uint64_t *out_size) {
    size_t size = 0, capacity = 0;
    for (size_t got = 1; got != 0; size += got) {
        if (size == capacity) {
            const size_t grown = capacity != 0 ? 2 * capacity : 1 << 16;
            unsigned char *memory = grown > capacity ? realloc(*out, grown) : NULL;
            if (memory == NULL) {
                return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for %s", path);
            }
            *out = memory;
            capacity = grown;
        }
        errno = 0;
        got = fread(*out + size, 1, capacity - size, file);
    }
    if (ferror(file)) return fail_file("cannot read", path, errno);
    *out_size = size;
    return CBK_OK;
}

static cbk_status load(const char *path, cbk_ir_program **out) {
    unsigned char *bytes = NULL;
    uint64_t size = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return fail_file("cannot open", path, errno);
    cbk_status status = read_all(file, path, &bytes, &size);
    fclose(file);
    if (status == CBK_OK) status = cbk_ir_decode(bytes, size, out);
    free(bytes);
    return status;
}

cbk_status cbk_ir_load(const char *path, cbk_ir_program **out) {
    struct cbk_call former = cbk_call_begin("ir_load", CBK_OP_NONE);
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = check_path(path);
    if (status == CBK_OK) status = load(path, out);
    return cbk_call_end(former, status);
}
