// error.c: the calling thread's error record and the operation that messages start with.
#include "core.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local cbk_error last_error;
static _Thread_local struct cbk_call running;

struct cbk_call cbk_call_begin(const char *operation, cbk_opcode opcode) {
    struct cbk_call former = running;
    if (!running.is_composed) running.operation = operation;
    running.opcode = opcode;
    return former;
}

struct cbk_call cbk_call_begin_composed(const char *operation, cbk_opcode opcode) {
    struct cbk_call former = cbk_call_begin(operation, opcode);
    running.is_composed = true;
    return former;
}

cbk_status cbk_call_end(struct cbk_call former, cbk_status status) {
    running = former;
    return status;
}

cbk_status cbk_fail(cbk_status status, int32_t native_code, const char *format, ...) {
    // The arguments may point into the record itself, so the text is made beside it.
    char message[CBK_ERROR_MESSAGE_SIZE];
    size_t used = 0;
    if (running.operation != NULL) {
        int length = snprintf(message, sizeof message, "%s: ", running.operation);
        used = length > 0 ? (size_t)length : 0;
    }
    va_list arguments;
    va_start(arguments, format);
    if (used < sizeof message) {
        vsnprintf(message + used, sizeof message - used, format, arguments);
    }
    va_end(arguments);

    last_error.struct_size = (uint32_t)sizeof last_error;
    last_error.status = status;
    last_error.opcode = running.opcode;
    last_error.native_code = native_code;
    snprintf(last_error.operation, sizeof last_error.operation, "%s",
             running.operation != NULL ? running.operation : "");
    memcpy(last_error.message, message, sizeof message);
    last_error.message[sizeof message - 1] = '\0';
    return status;
}

cbk_status cbk_last_error(cbk_error *out) {
    if (out == NULL) return CBK_ERROR_INVALID_ARGUMENT;
    cbk_error known = last_error; // a failure below overwrites the record
    return cbk_write_struct(&known, (uint32_t)sizeof known, "cbk_error", out);
}

void cbk_restore_error(const cbk_error *error) {
    last_error = *error;
}

const char *cbk_last_error_message(void) {
    return last_error.message;
}

cbk_status cbk_fail_unsupported(const cbk_backend *backend, const char *slot) {
    return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "backend %s has no %s",
                    backend->vtable.name(backend->self), slot);
}

const char *cbk_shape_text(uint32_t rank, const int64_t *shape, char text[CBK_SHAPE_TEXT]) {
    size_t used = 0;
    text[used++] = '[';
    for (uint32_t i = 0; i < rank && i < CBK_MAX_RANK; i++) {
        int length = snprintf(text + used, CBK_SHAPE_TEXT - used, i == 0 ? "%lld" : ",%lld",
                              (long long)shape[i]);
        used += length > 0 ? (size_t)length : 0;
    }
    text[used++] = ']';
    text[used] = '\0';
    return text;
}
