// ir.c: programs: their parts, the check that makes them fit to run, and questions about them.
#include "ir_program.h"

#include <stdlib.h>
#include <string.h>

// ---- memory -------------------------------------------------------------------------------------

void *cbk_ir_alloc(uint64_t size) {
    void *memory = size <= SIZE_MAX ? malloc(size != 0 ? (size_t)size : 1) : NULL;
    if (memory == NULL) {
        cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for %llu bytes of a program",
                 (unsigned long long)size);
    }
    return memory;
}

cbk_status cbk_ir_grow(void *list, uint32_t *capacity, uint32_t count, size_t item_size) {
    if (count < *capacity) return CBK_OK;
    const uint32_t grown = *capacity != 0 ? 2 * *capacity : 16;
    void *old, *memory = NULL;
    memcpy(&old, list, sizeof old);
    if (grown > *capacity && grown <= SIZE_MAX / item_size) {
        memory = realloc(old, grown * item_size);
    }
    if (memory == NULL) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for %u items of a program",
                        (unsigned)grown);
    }
    memcpy(list, &memory, sizeof memory);
    *capacity = grown;
    return CBK_OK;
}

// ---- life ---------------------------------------------------------------------------------------

cbk_status cbk_ir_program_create(cbk_ir_program **out) {
    cbk_ir_program *program = cbk_ir_alloc(sizeof *program);
    if (program == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    memset(program, 0, sizeof *program);
    cbk_object_init(&program->object, CBK_TAG_PROGRAM);
    *out = program;
    return CBK_OK;
}

cbk_ir_program *cbk_ir_program_retain(cbk_ir_program *program) {
    if (program != NULL) cbk_object_retain(&program->object);
    return program;
}

void cbk_ir_program_release(cbk_ir_program **program) {
    cbk_ir_program *dying = program != NULL ? *program : NULL;
    if (dying == NULL) return;
    *program = NULL;
    if (!cbk_object_drop(&dying->object)) return;
    for (uint32_t i = 0; i < dying->buffer_count; i++) free(dying->buffers[i].contents);
    for (uint32_t i = 0; i < dying->step_count; i++) {
        free(dying->steps[i].operands);
        free(dying->steps[i].data);
    }
    free(dying->buffers);
    free(dying->values);
    free(dying->steps);
    free(dying->inputs);
    free(dying->outputs);
    free(dying->value_end);
    free(dying->buffer_end);
    free(dying);
}

cbk_status cbk_ir_check_program(const cbk_ir_program *program) {
    if (cbk_object_is(program, CBK_TAG_PROGRAM)) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                    program == NULL ? "program is NULL" : "program (%p) is not a live program",
                    (const void *)program);
}

// ---- building -----------------------------------------------------------------------------------

cbk_status cbk_ir_add_buffer(cbk_ir_program *program, const struct cbk_ir_buffer *buffer) {
    cbk_status status = cbk_ir_grow(&program->buffers, &program->buffer_capacity,
                                    program->buffer_count, sizeof *buffer);
    if (status == CBK_OK) program->buffers[program->buffer_count++] = *buffer;
    return status;
}

cbk_status cbk_ir_add_value(cbk_ir_program *program, const struct cbk_ir_value *value) {
    cbk_status status = cbk_ir_grow(&program->values, &program->value_capacity,
                                    program->value_count, sizeof *value);
    if (status == CBK_OK) program->values[program->value_count++] = *value;
    return status;
}

cbk_status cbk_ir_add_step(cbk_ir_program *program, const struct cbk_ir_step *step) {
    const uint64_t operand_bytes =
        ((uint64_t)step->input_count + step->output_count) * sizeof *step->operands;
    struct cbk_ir_step copy = *step;
    cbk_status status =
        cbk_ir_grow(&program->steps, &program->step_capacity, program->step_count, sizeof *step);
    if (status != CBK_OK) return status;
    copy.operands = cbk_ir_alloc(operand_bytes);
    copy.data = cbk_ir_alloc(step->data_size);
    if (copy.operands == NULL || copy.data == NULL) {
        free(copy.operands);
        free(copy.data);
        return CBK_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (operand_bytes != 0) memcpy(copy.operands, step->operands, (size_t)operand_bytes);
    if (step->data_size != 0 && step->data != NULL) {
        memcpy(copy.data, step->data, (size_t)step->data_size);
    }
    program->steps[program->step_count++] = copy;
    return CBK_OK;
}

cbk_status cbk_ir_add_input(cbk_ir_program *program, uint32_t value) {
    cbk_status status =
        cbk_ir_grow(&program->inputs, &program->input_capacity, program->input_count, sizeof value);
    if (status == CBK_OK) program->inputs[program->input_count++] = value;
    return status;
}

cbk_status cbk_ir_add_output(cbk_ir_program *program, uint32_t value) {
    cbk_status status = cbk_ir_grow(&program->outputs, &program->output_capacity,
                                    program->output_count, sizeof value);
    if (status == CBK_OK) program->outputs[program->output_count++] = value;
    return status;
}

// ---- sizes --------------------------------------------------------------------------------------

bool cbk_ir_bytes(cbk_dtype dtype, int64_t count, uint64_t *out) {
    int64_t bytes = 0;
    if (count < 0 || !cbk_mul_i64(count, (int64_t)cbk_dtype_size(dtype), &bytes)) return false;
    *out = (uint64_t)bytes;
    return true;
}

int64_t cbk_ir_storage_elements(const struct cbk_storage *storage) {
    const cbk_tensor_meta *meta = cbk_ir_root(storage);
    int64_t elements = meta->offset + 1; // up to and including the last one
    if (meta->element_count == 0) return 0;
    for (uint32_t i = 0; i < meta->rank; i++) {
        if (meta->strides[i] > 0) elements += (meta->shape[i] - 1) * meta->strides[i];
    }
    return elements;
}

bool cbk_ir_same_strides(const cbk_tensor_meta *a, const cbk_tensor_meta *b) {
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->shape[i] != 1 && a->strides[i] != b->strides[i]) return false;
    }
    return true;
}

// ---- the check ----------------------------------------------------------------------------------

/// What the check knows while it walks the steps.
struct check {
    cbk_ir_program *program;
    unsigned char *value_is_known, *buffer_is_known; ///< something is there to use
};

static cbk_status fail_part(const char *what, uint32_t index, const char *why) {
    return cbk_fail(CBK_ERROR_CORRUPT, 0, "%s %u %s", what, (unsigned)index, why);
}

static cbk_status check_buffer(const cbk_ir_program *program, uint32_t index) {
    const struct cbk_ir_buffer *buffer = &program->buffers[index];
    uint64_t bytes;
    if (cbk_check_storable(buffer->dtype) != CBK_OK) {
        return fail_part("buffer", index, "has a dtype that no tensor has");
    }
    if (buffer->kind > CBK_IR_UNDEFINED) return fail_part("buffer", index, "is of no known kind");
    if (!cbk_ir_bytes(buffer->dtype, buffer->element_count, &bytes) ||
        bytes > INT64_MAX / (2 * CBK_MAX_RANK)) {
        return fail_part("buffer", index, "has an impossible size");
    }
    const bool has_contents = buffer->kind == CBK_IR_CONSTANT && buffer->element_count != 0;
    if (has_contents != (buffer->contents != NULL)) {
        return fail_part("buffer", index, "has contents and should not, or the other way round");
    }
    return CBK_OK;
}

static cbk_status check_value(const cbk_ir_program *program, uint32_t index) {
    const struct cbk_ir_value *value = &program->values[index];
    if (value->buffer >= program->buffer_count) {
        return fail_part("value", index, "names no buffer");
    }
    const struct cbk_ir_buffer *buffer = &program->buffers[value->buffer];
    if (value->meta.dtype != buffer->dtype) {
        return fail_part("value", index, "has another dtype than its buffer");
    }
    // What a step makes gets its memory then; only what is bound to memory must lie in it.
    if (!value->is_made && !cbk_meta_lies_within(&value->meta, buffer->element_count)) {
        return fail_part("value", index, "lies outside of its buffer");
    }
    if (!value->is_made && value->meta.layout != 0) {
        return fail_part("value", index, "has a private layout");
    }
    return CBK_OK;
}

/// Something that a step reads, or writes into.
static cbk_status use_value(struct check *check, uint32_t index, uint32_t value, uint32_t step) {
    cbk_ir_program *program = check->program;
    if (value >= program->value_count)
        return fail_part(step < program->step_count ? "step" : "output", index, "names no value");
    const struct cbk_ir_value *used = &program->values[value];
    const bool is_known = used->is_made ? check->value_is_known[value] != 0
                                        : program->buffers[used->buffer].kind != CBK_IR_MADE ||
                                              check->buffer_is_known[used->buffer] != 0;
    if (!is_known) {
        return fail_part(step < program->step_count ? "step" : "output", index,
                         "uses a value that is not there yet");
    }
    program->value_end[value] = step;
    program->buffer_end[used->buffer] = step;
    return CBK_OK;
}

static cbk_status make_value(struct check *check, uint32_t value, uint32_t step) {
    cbk_ir_program *program = check->program;
    if (value >= program->value_count) return fail_part("step", step, "names no value");
    const struct cbk_ir_value *made = &program->values[value];
    if (!made->is_made || check->value_is_known[value]) {
        return fail_part("step", step, "makes a value that is there");
    }
    check->value_is_known[value] = 1;
    check->buffer_is_known[made->buffer] = 1;
    program->value_end[value] = step;
    program->buffer_end[made->buffer] = step;
    return CBK_OK;
}

static cbk_status check_write(const struct check *check, const struct cbk_ir_step *step,
                              uint32_t index) {
    uint64_t bytes = 0;
    if (step->input_count != 0 || step->output_count != 1 || step->made != 0 ||
        step->operands[0] >= check->program->value_count) {
        return fail_part("step", index, "writes to nothing, or to too much");
    }
    const cbk_tensor_meta *meta = &check->program->values[step->operands[0]].meta;
    if (!cbk_ir_bytes(meta->dtype, meta->element_count, &bytes) || bytes != step->data_size) {
        return fail_part("step", index, "writes data of another size than its tensor");
    }
    return CBK_OK;
}

static cbk_status check_step(struct check *check, uint32_t index) {
    const struct cbk_ir_step *step = &check->program->steps[index];
    cbk_status status = CBK_OK;
    if (step->kind < CBK_IR_OP || step->kind > CBK_IR_RANDOM) {
        return fail_part("step", index, "is of no known kind");
    }
    if (step->output_count > CBK_IR_MOST_OUTPUTS ||
        (step->output_count < 32 && step->made >> step->output_count != 0)) {
        return fail_part("step", index, "has too many outputs");
    }
    if (step->kind == CBK_IR_WRITE) status = check_write(check, step, index);
    if (step->kind == CBK_IR_RANDOM && step->input_count + (uint64_t)step->output_count != 0) {
        status = fail_part("step", index, "has operands and should not");
    }
    if (step->kind == CBK_IR_OP && step->data_size > UINT32_MAX) {
        status = fail_part("step", index, "has impossible params");
    }
    for (uint32_t i = 0; i < step->input_count && status == CBK_OK; i++) {
        if (step->operands[i] == CBK_IR_NONE) continue;
        status = use_value(check, index, step->operands[i], index);
    }
    for (uint32_t i = 0; i < step->output_count && status == CBK_OK; i++) {
        const uint32_t value = step->operands[step->input_count + i];
        status = (step->made >> i & 1) != 0 ? make_value(check, value, index)
                                            : use_value(check, index, value, index);
    }
    return status;
}

/// Each input stands for one buffer of that kind, and each such buffer has one.
static cbk_status check_inputs(const struct check *check) {
    const cbk_ir_program *program = check->program;
    uint32_t expected = 0;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        expected += program->buffers[i].kind == CBK_IR_INPUT;
    }
    if (expected != program->input_count) {
        return fail_part("input", program->input_count, "is missing, or is one too many");
    }
    for (uint32_t i = 0; i < program->input_count; i++) {
        const uint32_t value = program->inputs[i];
        if (value >= program->value_count) return fail_part("input", i, "names no value");
        const uint32_t buffer = program->values[value].buffer;
        if (program->values[value].is_made || program->buffers[buffer].kind != CBK_IR_INPUT ||
            check->buffer_is_known[buffer]) {
            return fail_part("input", i, "is none, or there twice");
        }
        check->buffer_is_known[buffer] = 1;
    }
    return CBK_OK;
}

static cbk_status check_all(struct check *check) {
    const cbk_ir_program *program = check->program;
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < program->buffer_count && status == CBK_OK; i++) {
        status = check_buffer(program, i);
    }
    for (uint32_t i = 0; i < program->value_count && status == CBK_OK; i++) {
        status = check_value(program, i);
    }
    if (status == CBK_OK) status = check_inputs(check);
    for (uint32_t i = 0; i < program->step_count && status == CBK_OK; i++) {
        status = check_step(check, i);
    }
    for (uint32_t i = 0; i < program->output_count && status == CBK_OK; i++) {
        status = use_value(check, i, program->outputs[i], program->step_count);
    }
    return status;
}

cbk_status cbk_ir_finish(cbk_ir_program *program) {
    const size_t values = program->value_count, buffers = program->buffer_count;
    struct check check = {program, calloc(values + 1, 1), calloc(buffers + 1, 1)};
    free(program->value_end);
    free(program->buffer_end);
    program->value_end = calloc(values + 1, sizeof *program->value_end);
    program->buffer_end = calloc(buffers + 1, sizeof *program->buffer_end);
    cbk_status status = CBK_OK;
    if (check.value_is_known == NULL || check.buffer_is_known == NULL ||
        program->value_end == NULL || program->buffer_end == NULL) {
        status = cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory to check a program");
    }
    if (status == CBK_OK) status = check_all(&check);
    free(check.value_is_known);
    free(check.buffer_is_known);
    return status;
}

// ---- questions ----------------------------------------------------------------------------------

static cbk_ir_info count_parts(const cbk_ir_program *program) {
    cbk_ir_info info = {.struct_size = sizeof info,
                        .step_count = program->step_count,
                        .input_count = program->input_count,
                        .output_count = program->output_count};
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct cbk_ir_step *step = &program->steps[i];
        info.op_count += step->kind == CBK_IR_OP;
        info.draws |= step->kind == CBK_IR_RANDOM;
        if (step->kind == CBK_IR_WRITE) info.contents_bytes += step->data_size;
    }
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const struct cbk_ir_buffer *buffer = &program->buffers[i];
        if (buffer->contents == NULL) continue;
        info.contents_bytes += (uint64_t)buffer->element_count * cbk_dtype_size(buffer->dtype);
    }
    return info;
}

cbk_status cbk_ir_get_info(const cbk_ir_program *program, cbk_ir_info *out) {
    struct cbk_call former = cbk_call_begin("ir_get_info", CBK_OP_NONE);
    cbk_status status = cbk_ir_check_program(program);
    if (status == CBK_OK) {
        const cbk_ir_info info = count_parts(program);
        status = cbk_write_struct(&info, (uint32_t)sizeof info, "cbk_ir_info", out);
    }
    return cbk_call_end(former, status);
}

/// A step writes to the buffer.
static bool is_written(const cbk_ir_program *program, uint32_t buffer) {
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct cbk_ir_step *step = &program->steps[i];
        for (uint32_t k = 0; k < step->output_count; k++) {
            const uint32_t value = step->operands[step->input_count + k];
            const bool is_view = step->kind == CBK_IR_OP && cbk_op_info_of(step->opcode) != NULL &&
                                 (cbk_op_info_of(step->opcode)->flags & CBK_ROW_VIEW) != 0;
            if (!is_view && program->values[value].buffer == buffer) return true;
        }
    }
    return false;
}

static cbk_status get_operand(const cbk_ir_program *program, const uint32_t *list, uint32_t count,
                              uint32_t index, cbk_ir_operand *out) {
    if (index >= count) {
        return cbk_fail(CBK_ERROR_NOT_FOUND, 0, "there is no number %u among %u", (unsigned)index,
                        (unsigned)count);
    }
    const struct cbk_ir_value *value = &program->values[list[index]];
    cbk_ir_operand operand = {
        .struct_size = sizeof operand, .dtype = value->meta.dtype, .rank = value->meta.rank};
    memcpy(operand.shape, value->meta.shape, sizeof operand.shape);
    memcpy(operand.strides, value->meta.strides, sizeof operand.strides);
    if (list == program->inputs && is_written(program, value->buffer)) {
        operand.flags |= CBK_IR_IS_WRITTEN;
    }
    return cbk_write_struct(&operand, (uint32_t)sizeof operand, "cbk_ir_operand", out);
}

cbk_status cbk_ir_get_input(const cbk_ir_program *program, uint32_t index, cbk_ir_operand *out) {
    struct cbk_call former = cbk_call_begin("ir_get_input", CBK_OP_NONE);
    cbk_status status = cbk_ir_check_program(program);
    if (status == CBK_OK) {
        status = get_operand(program, program->inputs, program->input_count, index, out);
    }
    return cbk_call_end(former, status);
}

cbk_status cbk_ir_get_output(const cbk_ir_program *program, uint32_t index, cbk_ir_operand *out) {
    struct cbk_call former = cbk_call_begin("ir_get_output", CBK_OP_NONE);
    cbk_status status = cbk_ir_check_program(program);
    if (status == CBK_OK) {
        status = get_operand(program, program->outputs, program->output_count, index, out);
    }
    return cbk_call_end(former, status);
}
