/// bytes.c: cbk_rt_bytes, memory that grows through the host allocator.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cache.h"

/// Makes room for `size` more bytes and a zero.
static bool reserve(struct cbk_rt_bytes *bytes, size_t size) {
    if (bytes->failed || size > SIZE_MAX / 4 - bytes->size) {
        bytes->failed = true;
        return false;
    }
    size_t needed = bytes->size + size + 1;
    if (needed <= bytes->capacity) return true;

    size_t capacity = needed > 2 * bytes->capacity ? needed + 256 : 2 * bytes->capacity;
    char *data = cbk_rt_host_alloc(bytes->rt, capacity);
    if (!data) {
        bytes->failed = true;
        return false;
    }
    if (bytes->size > 0) memcpy(data, bytes->data, bytes->size);
    if (bytes->data) cbk_rt_host_free(bytes->rt, bytes->data, bytes->capacity);
    bytes->data = data;
    bytes->capacity = capacity;
    return true;
}

void cbk_rt_bytes_add(struct cbk_rt_bytes *bytes, const void *data, size_t size) {
    if (!reserve(bytes, size)) return;
    if (size > 0) memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    bytes->data[bytes->size] = 0;
}

void cbk_rt_bytes_print(struct cbk_rt_bytes *bytes, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int needed = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (needed < 0 || !reserve(bytes, (size_t)needed)) return;

    va_start(arguments, format);
    vsnprintf(bytes->data + bytes->size, (size_t)needed + 1, format, arguments);
    va_end(arguments);
    bytes->size += (size_t)needed;
}

void cbk_rt_bytes_free(struct cbk_rt_bytes *bytes) {
    if (bytes->data) cbk_rt_host_free(bytes->rt, bytes->data, bytes->capacity);
    *bytes = (struct cbk_rt_bytes){.rt = bytes->rt};
}
