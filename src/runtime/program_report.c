/// program_report.c: what is told about a program that the compiler refused.
#include <string.h>

#include "program.h"

/// The options one per line: a long -D list is unreadable otherwise.
static void add_options(struct cbk_rt_bytes *out, const char *options) {
    cbk_rt_bytes_print(out, "options:\n");
    while (*options) {
        const char *next = strstr(options + 1, " -");
        size_t size = next ? (size_t)(next - options) : strlen(options);
        cbk_rt_bytes_print(out, "    ");
        cbk_rt_bytes_add(out, options, size);
        cbk_rt_bytes_print(out, "\n");
        options += size;
    }
}

static void add_numbered(struct cbk_rt_bytes *out, const struct cbk_rt_source *source) {
    const char *text = (const char *)source->text;
    const char *end = text + source->size;
    cbk_rt_bytes_print(out, "source:\n");
    for (unsigned line = 1; text < end && *text; line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) stop = end;
        cbk_rt_bytes_print(out, "%5u  ", line);
        cbk_rt_bytes_add(out, text, (size_t)(stop - text));
        cbk_rt_bytes_print(out, "\n");
        text = stop + 1;
    }
}

/// The first line of the log that speaks of an error, else the first line; for the error record.
static int interesting_line(const char *log, const char **out_line) {
    const char *line = strstr(log, "error");
    if (!line) line = log;
    while (line > log && line[-1] != '\n') line--;
    *out_line = line;
    size_t size = strcspn(line, "\n");
    return size < 400 ? (int)size : 400;
}

cbk_status cbk_rt_program_report(struct cbk_rt_device *device, struct cbk_rt_program *program,
                                 cl_int code, const char *options, const struct cbk_rt_bytes *log) {
    struct cbk_rt *rt = device->rt;
    struct cbk_rt_bytes *text = &program->failure;
    const char *said = log->size > 0 ? log->data : "the compiler said nothing";
    const char *line = NULL;

    cbk_rt_bytes_free(text);
    cbk_rt_bytes_print(text, "program %s: %s (%d)\nlog:\n%s\n", program->source->name,
                       cbk_rt_cl_error_name(code), (int)code, said);
    add_options(text, options);
    add_numbered(text, program->source);
    if (text->failed) cbk_rt_bytes_free(text);
    if (text->data) {
        atomic_store_explicit(&device->programs->build_log, text->data, memory_order_release);
        if (rt->log && rt->log_level >= CBK_LOG_ERROR) {
            rt->log(rt->log_user_data, CBK_LOG_ERROR, text->data);
        }
    }
    int size = interesting_line(said, &line);
    return cbk_fail(CBK_ERROR_BUILD, code, "program %s does not build: %.*s", program->source->name,
                    size, line);
}

cbk_status cbk_rt_program_repeat_failure(struct cbk_rt_device *device,
                                         const struct cbk_rt_program *program) {
    const char *said = "log:\n", *text = program->failure.data, *line = NULL;
    if (text) {
        atomic_store_explicit(&device->programs->build_log, text, memory_order_release);
        said = strstr(text, said) + strlen(said);
    } else {
        said = "its log did not fit the host's memory";
    }
    int size = interesting_line(said, &line);
    return cbk_fail(CBK_ERROR_BUILD, CL_BUILD_PROGRAM_FAILURE, "program %s does not build: %.*s",
                    program->source->name, size, line);
}
