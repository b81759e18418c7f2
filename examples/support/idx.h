/// idx.h: reads the IDX files of MNIST and its kin, plain or gzip-compressed.
#ifndef EXAMPLES_IDX_H
#define EXAMPLES_IDX_H

#include <stddef.h>
#include <stdint.h>

struct idx_file {
    uint32_t rank; ///< 1 to 3
    uint32_t length[3];
    size_t size; ///< product of the lengths: bytes of `data`
    uint8_t *data;
};

/// Reads a file of unsigned bytes with `rank` dimensions. Returns 0, or -1 with one line in
/// `message`; free the data with idx_free.
int idx_read(const char *path, uint32_t rank, struct idx_file *out, char *message,
             size_t message_size);
void idx_free(struct idx_file *file);

#endif
