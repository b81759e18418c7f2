// ir_file.c: programs as bytes and back. docs/ir.md is the description of the format; every number
// is little-endian, whatever the machine.
#include "ir_program.h"

#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'C', 'B', 'K', 'I', 'R', '\0', '\r', '\n'};

enum { VERSION = 1, HEADER_SIZE = 48, HEADER_SUMMED = 40 };

/// Sections; those that a reader does not know are skipped.
enum {
    BUFFERS = 0x46465542, // "BUFF"
    VALUES = 0x554c4156,  // "VALU"
    STEPS = 0x50455453,   // "STEP"
    INPUTS = 0x53504e49,  // "INPS"
    OUTPUTS = 0x5354554f  // "OUTS"
};

static uint64_t checksum(const unsigned char *data, uint64_t size) { // FNV-1a
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint64_t i = 0; i < size; i++) hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/// Params are structs as they lie in memory.
static bool is_little_endian(void) {
    const uint32_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static cbk_status check_machine(void) {
    if (is_little_endian()) return CBK_OK;
    return cbk_fail(CBK_ERROR_UNSUPPORTED, 0,
                    "program files hold params of little-endian machines, and this is none");
}

// ---- writing ------------------------------------------------------------------------------------

/// Counts when there is no memory yet, writes when there is.
struct writer {
    unsigned char *data;
    uint64_t size;
};

static void put(struct writer *writer, uint64_t number, uint32_t bytes) {
    for (uint32_t i = 0; writer->data != NULL && i < bytes; i++) {
        writer->data[writer->size + i] = (unsigned char)(number >> 8 * i);
    }
    writer->size += bytes;
}

static void put_bytes(struct writer *writer, const void *data, uint64_t size) {
    if (writer->data != NULL && size != 0) memcpy(writer->data + writer->size, data, (size_t)size);
    writer->size += size;
}

static void put_buffer(struct writer *writer, const cbk_ir_program *program, uint32_t index) {
    const struct cbk_ir_buffer *buffer = &program->buffers[index];
    uint64_t size = 0;
    if (buffer->contents != NULL) cbk_ir_bytes(buffer->dtype, buffer->element_count, &size);
    put(writer, buffer->dtype, 4);
    put(writer, buffer->kind, 4);
    put(writer, (uint64_t)buffer->element_count, 8);
    put(writer, size, 8);
    put_bytes(writer, buffer->contents, size);
}

static void put_value(struct writer *writer, const cbk_ir_program *program, uint32_t index) {
    const struct cbk_ir_value *value = &program->values[index];
    put(writer, value->buffer, 4);
    put(writer, value->meta.dtype, 4);
    put(writer, value->meta.rank, 4);
    put(writer, value->is_made, 4);
    put(writer, value->meta.layout, 4);
    put(writer, 0, 4);
    put(writer, (uint64_t)value->meta.offset, 8);
    for (uint32_t i = 0; i < value->meta.rank; i++) put(writer, (uint64_t)value->meta.shape[i], 8);
    for (uint32_t i = 0; i < value->meta.rank; i++) {
        put(writer, (uint64_t)value->meta.strides[i], 8);
    }
}

enum { RANDOM_BYTES = 24 };

static void put_step(struct writer *writer, const cbk_ir_program *program, uint32_t index) {
    const struct cbk_ir_step *step = &program->steps[index];
    const bool is_random = step->kind == CBK_IR_RANDOM;
    put(writer, step->kind, 4);
    put(writer, step->opcode, 4);
    put(writer, step->input_count, 4);
    put(writer, step->output_count, 4);
    put(writer, step->made, 4);
    put(writer, 0, 4);
    put(writer, is_random ? RANDOM_BYTES : step->data_size, 8);
    for (uint32_t i = 0; i < step->input_count + step->output_count; i++) {
        put(writer, step->operands[i], 4);
    }
    if (is_random) {
        put(writer, step->random.seed, 8);
        put(writer, step->random.position, 8);
        put(writer, step->random.stream_number, 8);
    } else {
        put_bytes(writer, step->data, step->data_size);
    }
}

static void put_input(struct writer *writer, const cbk_ir_program *program, uint32_t index) {
    put(writer, program->inputs[index], 4);
}

static void put_output(struct writer *writer, const cbk_ir_program *program, uint32_t index) {
    put(writer, program->outputs[index], 4);
}

typedef void (*put_item)(struct writer *writer, const cbk_ir_program *program, uint32_t index);

static void put_section(struct writer *writer, uint32_t tag, const cbk_ir_program *program,
                        uint32_t count, put_item put_one) {
    struct writer body = {.size = 0};
    for (uint32_t i = 0; i < count; i++) put_one(&body, program, i);
    put(writer, tag, 4);
    put(writer, count, 4);
    put(writer, body.size, 8);
    if (writer->data == NULL) {
        writer->size += body.size;
        return;
    }
    for (uint32_t i = 0; i < count; i++) put_one(writer, program, i);
}

static void put_program(struct writer *writer, const cbk_ir_program *program) {
    put_section(writer, BUFFERS, program, program->buffer_count, put_buffer);
    put_section(writer, VALUES, program, program->value_count, put_value);
    put_section(writer, STEPS, program, program->step_count, put_step);
    put_section(writer, INPUTS, program, program->input_count, put_input);
    put_section(writer, OUTPUTS, program, program->output_count, put_output);
}

cbk_status cbk_ir_encode(const cbk_ir_program *program, unsigned char **out, uint64_t *out_size) {
    struct writer writer = {.size = HEADER_SIZE};
    cbk_status status = check_machine();
    if (status != CBK_OK) return status;
    put_program(&writer, program);
    *out_size = writer.size;
    writer.data = cbk_ir_alloc(writer.size);
    if (writer.data == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    writer.size = HEADER_SIZE;
    put_program(&writer, program);

    struct writer header = {.data = writer.data};
    put_bytes(&header, magic, sizeof magic);
    put(&header, VERSION, 4);
    put(&header, HEADER_SIZE, 4);
    put(&header, writer.size - HEADER_SIZE, 8);
    put(&header, checksum(writer.data + HEADER_SIZE, writer.size - HEADER_SIZE), 8);
    put(&header, 0, 8);
    put(&header, checksum(writer.data, HEADER_SUMMED), 8);
    *out = writer.data;
    return CBK_OK;
}

// ---- reading ------------------------------------------------------------------------------------

/// What is left of the bytes. Taking more than there is fails once and for all, and gives 0.
struct reader {
    const unsigned char *data;
    uint64_t size;
    bool failed;
};

static const unsigned char *take_bytes(struct reader *reader, uint64_t size) {
    if (size > reader->size) {
        reader->failed = true;
        reader->size = 0;
        return NULL;
    }
    const unsigned char *bytes = reader->data;
    reader->data += size;
    reader->size -= size;
    return bytes;
}

static uint64_t take(struct reader *reader, uint32_t bytes) {
    const unsigned char *data = take_bytes(reader, bytes);
    uint64_t number = 0;
    for (uint32_t i = 0; data != NULL && i < bytes; i++) number |= (uint64_t)data[i] << 8 * i;
    return number;
}

static cbk_status fail_bytes(const char *what) {
    return cbk_fail(CBK_ERROR_CORRUPT, 0, "%s", what);
}

/// A copy of the next `size` bytes; *out is NULL for none.
static cbk_status take_copy(struct reader *reader, uint64_t size, void **out) {
    const unsigned char *bytes = take_bytes(reader, size);
    *out = NULL;
    if (bytes == NULL) return fail_bytes("contents go beyond the end");
    if (size == 0) return CBK_OK;
    *out = cbk_ir_alloc(size);
    if (*out == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    memcpy(*out, bytes, (size_t)size);
    return CBK_OK;
}

static cbk_status take_buffer(struct reader *reader, cbk_ir_program *program) {
    struct cbk_ir_buffer buffer = {.dtype = (cbk_dtype)take(reader, 4)};
    buffer.kind = (uint32_t)take(reader, 4);
    buffer.element_count = (int64_t)take(reader, 8);
    const uint64_t size = take(reader, 8);
    uint64_t expected = 0;
    const bool fits = cbk_ir_bytes(buffer.dtype, buffer.element_count, &expected);
    if (reader->failed || !fits ||
        (buffer.kind == CBK_IR_CONSTANT ? size != expected : size != 0)) {
        return fail_bytes("a buffer's contents are not of its size");
    }
    cbk_status status = take_copy(reader, size, &buffer.contents);
    if (status == CBK_OK) status = cbk_ir_add_buffer(program, &buffer);
    if (status != CBK_OK) free(buffer.contents);
    return status;
}

static cbk_status take_value(struct reader *reader, cbk_ir_program *program) {
    struct cbk_ir_value value = {.buffer = (uint32_t)take(reader, 4)};
    int64_t shape[CBK_MAX_RANK] = {0};
    const cbk_dtype dtype = (cbk_dtype)take(reader, 4);
    const uint32_t rank = (uint32_t)take(reader, 4);
    value.is_made = take(reader, 4) != 0;
    const uint32_t layout = (uint32_t)take(reader, 4);
    (void)take(reader, 4);
    const int64_t offset = (int64_t)take(reader, 8);
    if (reader->failed || rank > CBK_MAX_RANK) return fail_bytes("a value has an impossible rank");
    for (uint32_t i = 0; i < rank; i++) shape[i] = (int64_t)take(reader, 8);
    if (cbk_check_storable(dtype) != CBK_OK ||
        cbk_meta_init(&value.meta, dtype, rank, shape) != CBK_OK) {
        return fail_bytes("a value has an impossible dtype or shape");
    }
    for (uint32_t i = 0; i < rank; i++) value.meta.strides[i] = (int64_t)take(reader, 8);
    value.meta.offset = offset;
    value.meta.layout = layout;
    return reader->failed ? fail_bytes("a value is cut off") : cbk_ir_add_value(program, &value);
}

static cbk_status take_operands(struct reader *reader, struct cbk_ir_step *step) {
    const uint64_t count = (uint64_t)step->input_count + step->output_count;
    if (reader->failed || count > reader->size / 4) return fail_bytes("a step is cut off");
    step->operands = cbk_ir_alloc(count * sizeof *step->operands);
    if (step->operands == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint64_t i = 0; i < count; i++) step->operands[i] = (uint32_t)take(reader, 4);
    return CBK_OK;
}

static cbk_status take_step(struct reader *reader, cbk_ir_program *program) {
    struct cbk_ir_step step = {.kind = (uint32_t)take(reader, 4)};
    step.opcode = (cbk_opcode)take(reader, 4);
    step.input_count = (uint32_t)take(reader, 4);
    step.output_count = (uint32_t)take(reader, 4);
    step.made = (uint32_t)take(reader, 4);
    (void)take(reader, 4);
    const uint64_t size = take(reader, 8);
    cbk_status status = take_operands(reader, &step);
    if (status == CBK_OK && step.kind == CBK_IR_RANDOM) {
        step.random = (cbk_random_state){.struct_size = sizeof step.random};
        step.random.seed = take(reader, 8);
        step.random.position = take(reader, 8);
        step.random.stream_number = take(reader, 8);
        if (reader->failed || size != RANDOM_BYTES) status = fail_bytes("a step is cut off");
    } else if (status == CBK_OK) {
        const unsigned char *data = take_bytes(reader, size);
        union { // read only: it is copied
            const unsigned char *given;
            void *held;
        } bytes = {data};
        step.data = bytes.held;
        step.data_size = size;
        if (data == NULL) status = fail_bytes("a step's data go beyond the end");
    }
    if (status == CBK_OK) status = cbk_ir_add_step(program, &step);
    free(step.operands);
    return status;
}

static cbk_status take_input(struct reader *reader, cbk_ir_program *program) {
    const uint32_t value = (uint32_t)take(reader, 4);
    return reader->failed ? fail_bytes("an input is cut off") : cbk_ir_add_input(program, value);
}

static cbk_status take_output(struct reader *reader, cbk_ir_program *program) {
    const uint32_t value = (uint32_t)take(reader, 4);
    return reader->failed ? fail_bytes("an output is cut off") : cbk_ir_add_output(program, value);
}

typedef cbk_status (*take_item)(struct reader *reader, cbk_ir_program *program);

static take_item taker_of(uint32_t tag) {
    switch (tag) {
    case BUFFERS:
        return take_buffer;
    case VALUES:
        return take_value;
    case STEPS:
        return take_step;
    case INPUTS:
        return take_input;
    case OUTPUTS:
        return take_output;
    default:
        return NULL;
    }
}

static cbk_status take_section(struct reader *reader, cbk_ir_program *program) {
    const take_item take_one = taker_of((uint32_t)take(reader, 4));
    const uint32_t count = (uint32_t)take(reader, 4);
    const uint64_t size = take(reader, 8);
    struct reader section = {.data = take_bytes(reader, size), .size = size};
    if (reader->failed) return fail_bytes("a section goes beyond the end");
    if (take_one == NULL) return CBK_OK;
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < count && status == CBK_OK; i++) status = take_one(&section, program);
    if (status == CBK_OK && section.size != 0) status = fail_bytes("a section is too long");
    return status;
}

static cbk_status check_header(const unsigned char *data, uint64_t size) {
    struct reader reader = {.data = data, .size = size};
    const unsigned char *start = take_bytes(&reader, sizeof magic);
    const uint32_t version = (uint32_t)take(&reader, 4);
    if (reader.failed || memcmp(start, magic, sizeof magic) != 0) {
        return fail_bytes("these are not the bytes of a program");
    }
    if (version != VERSION) {
        return cbk_fail(CBK_ERROR_VERSION, 0, "the program has format %u, this version reads %u",
                        (unsigned)version, (unsigned)VERSION);
    }
    const uint32_t header_size = (uint32_t)take(&reader, 4);
    const uint64_t body_size = take(&reader, 8), body_sum = take(&reader, 8);
    (void)take(&reader, 8);
    const uint64_t header_sum = take(&reader, 8);
    if (reader.failed || header_size != HEADER_SIZE ||
        header_sum != checksum(data, HEADER_SUMMED)) {
        return fail_bytes("the header is damaged");
    }
    if (body_size != size - HEADER_SIZE) {
        return cbk_fail(CBK_ERROR_CORRUPT, 0, "the program has %llu bytes, its header says %llu",
                        (unsigned long long)size, (unsigned long long)body_size + HEADER_SIZE);
    }
    if (body_sum != checksum(data + HEADER_SIZE, body_size)) {
        return fail_bytes("the checksum is another one: the bytes are damaged");
    }
    return CBK_OK;
}

cbk_status cbk_ir_decode(const unsigned char *data, uint64_t size, cbk_ir_program **out) {
    cbk_ir_program *program = NULL;
    cbk_status status = check_machine();
    if (status == CBK_OK) status = check_header(data, size);
    if (status == CBK_OK) status = cbk_ir_program_create(&program);
    if (status != CBK_OK) return status;
    struct reader reader = {.data = data + HEADER_SIZE, .size = size - HEADER_SIZE};
    while (status == CBK_OK && reader.size != 0) status = take_section(&reader, program);
    if (status == CBK_OK) status = cbk_ir_finish(program);
    if (status == CBK_OK) {
        *out = program;
        program = NULL;
    }
    cbk_ir_program_release(&program);
    return status;
}
