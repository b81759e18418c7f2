// trace.c: profile records as a file in Chrome's trace-event format.
//
// Every event is one fwrite of ",\n{...}", so that threads need no lock of ours between them. Numbers
// are written as integers, so the locale has no say.
#include "core.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct cbk_trace {
    FILE *file;
    _Atomic uint32_t has_failed;
};

enum { EVENT_TEXT = 4096 };

struct text {
    char data[EVENT_TEXT];
    size_t size;
};

static void add(struct text *text, const char *format, ...) CBK_PRINTF(2, 3);
static void add(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int count =
        vsnprintf(text->data + text->size, sizeof text->data - text->size, format, arguments);
    va_end(arguments);
    if (count > 0) text->size += (size_t)count;
    if (text->size >= sizeof text->data) text->size = sizeof text->data - 1;
}

static void write_text(cbk_trace *trace, const char *data, size_t size) {
    if (fwrite(data, 1, size, trace->file) != size) {
        atomic_store_explicit(&trace->has_failed, 1, memory_order_relaxed);
    }
}

// ---- events --------------------------------------------------------------------------------------

/// Nanoseconds as microseconds, the format's unit.
static void add_time(struct text *text, const char *name, uint64_t ns) {
    add(text, ",\"%s\":%" PRIu64 ".%03u", name, ns / 1000, (unsigned)(ns % 1000));
}

static void add_operands(struct text *text, const cbk_profile_record *record) {
    add(text, ",\"operands\":\"");
    for (uint32_t i = 0; i < record->operand_count; i++) {
        add(text, "%s%s[", i > 0 ? " " : "", cbk_dtype_name(record->dtype[i]));
        for (uint32_t k = 0; k < record->rank[i]; k++) {
            add(text, "%s%" PRId64, k > 0 ? "," : "", record->shape[i][k]);
        }
        add(text, "]");
    }
    add(text, "\"");
}

/// Units per nanosecond are billions per second.
static void add_rate(struct text *text, const char *name, uint64_t amount, uint64_t ns) {
    if (amount == 0 || ns == 0) return;
    const uint64_t thousandths = (uint64_t)((double)amount * 1000 / (double)ns);
    add(text, ",\"%s\":%" PRIu64 ".%03u", name, thousandths / 1000, (unsigned)(thousandths % 1000));
}

void cbk_trace_record(void *handle, const cbk_profile_record *record) {
    cbk_trace *trace = handle;
    const uint64_t duration = record->end_ns - record->start_ns;
    struct text text = {.size = 0};
    add(&text, ",\n{\"ph\":\"X\",\"cat\":\"operation\",\"name\":\"%s\",\"pid\":0,\"tid\":%" PRIu64,
        record->operation, record->stream_number);
    add_time(&text, "ts", record->start_ns);
    add_time(&text, "dur", duration);
    add(&text, ",\"args\":{\"kernel\":\"%s\",\"launches\":%u", record->kernel,
        (unsigned)record->launch_count);
    add_operands(&text, record);
    add(&text, ",\"waited_ns\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"flops\":%" PRIu64,
        record->start_ns - record->queued_ns, record->bytes, record->flops);
    add_rate(&text, "GB/s", record->bytes, duration);
    add_rate(&text, "GFLOP/s", record->flops, duration);
    add(&text, "}}");
    write_text(trace, text.data, text.size);
}

// ---- the file ------------------------------------------------------------------------------------

cbk_status cbk_trace_open(const char *path, cbk_trace **out) {
    static const char start[] = "[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,"
                                "\"args\":{\"name\":\"libcubeback\"}}";
    struct cbk_call former = cbk_call_begin("trace_open", CBK_OP_NONE);
    cbk_status status = cbk_check_out(out);
    cbk_trace *trace = NULL;
    if (status == CBK_OK && path == NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "path is NULL");
    }
    if (status == CBK_OK && (trace = malloc(sizeof *trace)) == NULL) {
        status = cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a trace");
    }
    if (status == CBK_OK) {
        *trace = (cbk_trace){.file = fopen(path, "w")};
        if (trace->file == NULL) {
            status = cbk_fail(CBK_ERROR_IO, errno, "%s cannot be written", path);
            free(trace);
        } else {
            write_text(trace, start, sizeof start - 1);
            *out = trace;
        }
    }
    return cbk_call_end(former, status);
}

cbk_status cbk_trace_close(cbk_trace **handle) {
    struct cbk_call former = cbk_call_begin("trace_close", CBK_OP_NONE);
    cbk_status status = CBK_OK;
    if (handle != NULL && *handle != NULL) {
        cbk_trace *trace = *handle;
        *handle = NULL;
        write_text(trace, "\n]\n", 3);
        const bool is_closed = fclose(trace->file) == 0;
        if (!is_closed || atomic_load_explicit(&trace->has_failed, memory_order_relaxed)) {
            status = cbk_fail(CBK_ERROR_IO, 0, "the trace could not be written in full");
        }
        free(trace);
    }
    return cbk_call_end(former, status);
}
