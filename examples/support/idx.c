#include "idx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#define LARGEST_DATA ((size_t)1 << 30)

/// zlib reads plain files as they are, so one path serves both.
static int read_exactly(gzFile file, void *to, size_t size) {
    return size <= LARGEST_DATA && gzread(file, to, (unsigned)size) == (int)size ? 0 : -1;
}

static uint32_t big_endian(const uint8_t *b) {
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static int read_header(gzFile file, uint32_t rank, struct idx_file *out) {
    uint8_t header[16];
    if (read_exactly(file, header, 4 + 4 * (size_t)rank) != 0) return -1;
    if (header[0] != 0 || header[1] != 0 || header[2] != 0x08 || header[3] != rank) return -1;
    out->rank = rank;
    out->size = 1;
    for (uint32_t i = 0; i < rank; i++) {
        out->length[i] = big_endian(header + 4 + 4 * i);
        if (out->length[i] == 0 || out->size > LARGEST_DATA / out->length[i]) return -1;
        out->size *= out->length[i];
    }
    return 0;
}

/// The data, then the end of the file: a further byte or a failed checksum is damage.
static int read_body(gzFile file, struct idx_file *out) {
    uint8_t further;
    out->data = malloc(out->size);
    if (out->data == NULL || read_exactly(file, out->data, out->size) != 0) return -1;
    return gzread(file, &further, 1) == 0 ? 0 : -1;
}

int idx_read(const char *path, uint32_t rank, struct idx_file *out, char *message,
             size_t message_size) {
    memset(out, 0, sizeof *out);
    gzFile file = gzopen(path, "rb");
    if (file == NULL) {
        snprintf(message, message_size, "%s: cannot be opened", path);
        return -1;
    }
    int result = read_header(file, rank, out);
    if (result != 0)
        snprintf(message, message_size, "%s: not an IDX file of bytes with %u dimensions", path,
                 (unsigned)rank);
    else if ((result = read_body(file, out)) != 0)
        snprintf(message, message_size, "%s: damaged: %zu bytes of data were expected", path,
                 out->size);
    gzclose(file);
    if (result != 0) idx_free(out);
    return result;
}

void idx_free(struct idx_file *file) {
    free(file->data);
    file->data = NULL;
}
