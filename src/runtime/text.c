/// text.c: cbk_rt_text, the text of a program's defines.
///
/// A text has a fixed capacity and goes on counting past it, as snprintf does: the caller sees from
/// `size` how much room a second try needs. Each conversion is formatted alone, so that a locale's
/// decimal sign can be taken out of numbers without touching strings.
#include "runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void append(struct cbk_rt_text *text, const char *data, size_t size) {
    if (text->size < text->capacity) {
        size_t room = text->capacity - text->size;
        memcpy(text->data + text->size, data, size < room ? size : room);
    }
    text->size += size;
}

/// Puts '.' for whatever the locale writes between 1 and 5 in 1.5.
static void fix_decimal_sign(char *number) {
    char sample[16];
    snprintf(sample, sizeof sample, "%.1f", 1.5);
    size_t sign_size = strlen(sample) - 2;
    sample[1 + sign_size] = 0;
    char *sign = strstr(number, sample + 1);
    if (!sign) return;
    *sign = '.';
    memmove(sign + 1, sign + sign_size, strlen(sign + sign_size) + 1);
}

enum length { LENGTH_INT, LENGTH_LONG, LENGTH_LONG_LONG, LENGTH_SIZE };

/// One conversion such as "%08x", copied from the format.
struct conversion {
    char format[16];
    enum length length;
    bool has_size_argument; ///< "%.*s"
    char kind;
};

/// Reads the conversion at `at` (past its '%'); returns where the format goes on.
static const char *parse(const char *at, struct conversion *out) {
    size_t count = 0;
    *out = (struct conversion){.length = LENGTH_INT};
    out->format[count++] = '%';
    while (*at && strchr("-+ #0123456789.lz*", *at)) {
        if (*at == '*')
            out->has_size_argument = true;
        else if (*at == 'l')
            out->length = out->length == LENGTH_LONG ? LENGTH_LONG_LONG : LENGTH_LONG;
        else if (*at == 'z')
            out->length = LENGTH_SIZE;
        if (count < sizeof out->format - 2) out->format[count++] = *at;
        at++;
    }
    out->kind = *at;
    out->format[count++] = *at;
    out->format[count] = 0;
    return *at ? at + 1 : at;
}

/// The formats are copies of ones that the compiler has checked at cbk_rt_text_add.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif

static void append_conversion(struct cbk_rt_text *text, const struct conversion *conversion,
                              va_list *arguments) {
    char number[400];
    const char *format = conversion->format;
    number[0] = 0;
    switch (conversion->kind) {
    case 's': {
        size_t limit = SIZE_MAX;
        if (conversion->has_size_argument) limit = (size_t)va_arg(*arguments, int);
        const char *string = va_arg(*arguments, const char *);
        size_t size = 0;
        while (size < limit && string[size]) size++;
        append(text, string, size);
        return;
    }
    case 'a':
    case 'e':
    case 'f':
    case 'g':
        snprintf(number, sizeof number, format, va_arg(*arguments, double));
        fix_decimal_sign(number);
        break;
    case '%':
        number[0] = '%', number[1] = 0;
        break;
    case 'c':
    case 'd':
    case 'i':
    case 'u':
    case 'x':
        // Signed and unsigned arguments of one width are read alike.
        if (conversion->length == LENGTH_INT)
            snprintf(number, sizeof number, format, va_arg(*arguments, int));
        else if (conversion->length == LENGTH_LONG)
            snprintf(number, sizeof number, format, va_arg(*arguments, long));
        else if (conversion->length == LENGTH_LONG_LONG)
            snprintf(number, sizeof number, format, va_arg(*arguments, long long));
        else
            snprintf(number, sizeof number, format, va_arg(*arguments, size_t));
        break;
    default:
        CBK_ASSERT(!"conversion that cbk_rt_text_add does not know");
        break;
    }
    append(text, number, strlen(number));
}

void cbk_rt_text_add(struct cbk_rt_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    while (*format) {
        const char *percent = strchr(format, '%');
        if (!percent) {
            append(text, format, strlen(format));
            break;
        }
        append(text, format, (size_t)(percent - format));
        struct conversion conversion;
        format = parse(percent + 1, &conversion);
        append_conversion(text, &conversion, &arguments);
    }
    va_end(arguments);
}
