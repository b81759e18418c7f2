// structs.c: structs that grow: the caller's version of a struct may be older or newer.
#include "core.h"

#include <string.h>

/// No struct comes near this; a larger size is a caller's mistake, not a future version.
#define LARGEST_STRUCT 65536u

static cbk_status check_size(uint32_t size, const char *type_name) {
    if (size >= sizeof(uint32_t) && size <= LARGEST_STRUCT) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s has struct_size %u; CBK_INIT fills it in",
                    type_name, (unsigned)size);
}

cbk_status cbk_read_struct(const void *given, const char *type_name, void *known,
                           uint32_t known_size) {
    if (given != NULL) {
        uint32_t size;
        memcpy(&size, given, sizeof size);
        cbk_status status = check_size(size, type_name);
        if (status != CBK_OK) return status;
        memcpy(known, given, size < known_size ? size : known_size);
        for (uint32_t i = known_size; i < size; i++) {
            if (((const unsigned char *)given)[i] != 0) {
                return cbk_fail(CBK_ERROR_VERSION, 0,
                                "%s has %u bytes and sets byte %u; this version knows %u bytes",
                                type_name, (unsigned)size, (unsigned)i, (unsigned)known_size);
            }
        }
    }
    memcpy(known, &known_size, sizeof known_size);
    return CBK_OK;
}

cbk_status cbk_write_struct(const void *known, uint32_t known_size, const char *type_name,
                            void *out) {
    if (out == NULL) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s to fill is NULL", type_name);
    }
    uint32_t size;
    memcpy(&size, out, sizeof size);
    cbk_status status = check_size(size, type_name);
    if (status != CBK_OK) return status;
    memcpy(out, known, size < known_size ? size : known_size);
    if (size > known_size) memset((char *)out + known_size, 0, size - known_size);
    memcpy(out, &size, sizeof size);
    return CBK_OK;
}
