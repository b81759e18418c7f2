// ir_describe.c: programs as text.
#include "ir_program.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/// Text that is cut where it does not fit, and counted all the same.
struct page {
    char *text;
    uint64_t capacity, size;
};

static void say(struct page *page, const char *format, ...) CBK_PRINTF(2, 3);
static void say(struct page *page, const char *format, ...) {
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (int i = 0; i < length && i < (int)sizeof line - 1; i++, page->size++) {
        if (page->size < page->capacity) page->text[page->size] = line[i];
    }
}

static void say_list(struct page *page, uint32_t count, const int64_t *numbers) {
    char text[CBK_SHAPE_TEXT];
    say(page, "%s", cbk_shape_text(count, numbers, text));
}

/// "f32[2,3]", and how it lies in its buffer unless it is all of it, row-major.
static void say_value(struct page *page, const struct cbk_ir_value *value) {
    const cbk_tensor_meta *meta = &value->meta;
    say(page, "%s", cbk_dtype_name(meta->dtype));
    say_list(page, meta->rank, meta->shape);
    if (!cbk_meta_is_contiguous(meta)) {
        say(page, " strides ");
        say_list(page, meta->rank, meta->strides);
    }
    if (meta->offset != 0) say(page, " offset %" PRId64, meta->offset);
}

static void say_operand(struct page *page, uint32_t value) {
    if (value == CBK_IR_NONE) {
        say(page, "-");
    } else {
        say(page, "%%%" PRIu32, value);
    }
}

/// What follows struct_size, in words of 32 bits, without the zeros at the end.
static void say_params(struct page *page, const struct cbk_ir_step *step) {
    const unsigned char *bytes = step->data;
    uint64_t words = step->data_size / 4;
    uint32_t word = 0;
    for (; words > 1; words--) {
        memcpy(&word, bytes + 4 * (words - 1), sizeof word);
        if (word != 0) break;
    }
    if (words <= 1) return;
    say(page, " {");
    for (uint64_t i = 1; i < words; i++) {
        memcpy(&word, bytes + 4 * i, sizeof word);
        say(page, i == 1 ? "%" PRIx32 : " %" PRIx32, word);
    }
    say(page, "}");
}

static void say_op(struct page *page, const cbk_ir_program *program,
                   const struct cbk_ir_step *step) {
    const cbk_op_info *info = cbk_op_info_of(step->opcode);
    for (uint32_t i = 0; i < step->output_count; i++) {
        if (i != 0) say(page, ", ");
        say_operand(page, step->operands[step->input_count + i]);
        if ((step->made >> i & 1) == 0) say(page, " in place");
    }
    if (info != NULL) {
        say(page, " = %s(", info->name);
    } else {
        say(page, " = operation 0x%04" PRIx32 "(", step->opcode);
    }
    for (uint32_t i = 0; i < step->input_count; i++) {
        if (i != 0) say(page, ", ");
        say_operand(page, step->operands[i]);
    }
    say(page, ")");
    say_params(page, step);
    for (uint32_t i = 0; i < step->output_count; i++) {
        say(page, i == 0 ? "  -> " : ", ");
        say_value(page, &program->values[step->operands[step->input_count + i]]);
    }
    say(page, "\n");
}

static void say_step(struct page *page, const cbk_ir_program *program,
                     const struct cbk_ir_step *step) {
    switch (step->kind) {
    case CBK_IR_WRITE:
        say(page, "%%%" PRIu32 " in place = %" PRIu64 " bytes from the host\n", step->operands[0],
            step->data_size);
        break;
    case CBK_IR_RANDOM:
        say(page, "random numbers: seed %" PRIu64 ", position %" PRIu64 ", stream %" PRIu64 "\n",
            step->random.seed, step->random.position, step->random.stream_number);
        break;
    default:
        say_op(page, program, step);
        break;
    }
}

/// Values that were there before the first step.
static void say_given(struct page *page, const cbk_ir_program *program) {
    static const char *const words[] = {"view", "constant", "input", "memory"};
    for (uint32_t i = 0; i < program->value_count; i++) {
        const struct cbk_ir_value *value = &program->values[i];
        if (value->is_made) continue;
        say(page, "%%%" PRIu32 " = %s of buffer %" PRIu32 "  -> ", i,
            words[program->buffers[value->buffer].kind], value->buffer);
        say_value(page, value);
        say(page, "\n");
    }
}

static void describe(struct page *page, const cbk_ir_program *program) {
    say_given(page, program);
    for (uint32_t i = 0; i < program->step_count; i++) say_step(page, program, &program->steps[i]);
    for (uint32_t i = 0; i < program->input_count; i++) {
        say(page, "input %" PRIu32 ": %%%" PRIu32 "\n", i, program->inputs[i]);
    }
    for (uint32_t i = 0; i < program->output_count; i++) {
        say(page, "output %" PRIu32 ": %%%" PRIu32 "  ", i, program->outputs[i]);
        say_value(page, &program->values[program->outputs[i]]);
        say(page, "\n");
    }
}

cbk_status cbk_ir_describe(const cbk_ir_program *program, char *text, uint64_t capacity,
                           uint64_t *out_size) {
    struct cbk_call former = cbk_call_begin("ir_describe", CBK_OP_NONE);
    cbk_status status = cbk_ir_check_program(program);
    if (status == CBK_OK && (out_size == NULL || (text == NULL && capacity != 0))) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s is NULL",
                          out_size == NULL ? "out_size" : "text");
    }
    if (status == CBK_OK) {
        struct page page = {.text = text, .capacity = capacity != 0 ? capacity - 1 : 0};
        describe(&page, program);
        if (capacity != 0) text[page.size < capacity ? page.size : capacity - 1] = '\0';
        *out_size = page.size + 1;
    }
    return cbk_call_end(former, status);
}
