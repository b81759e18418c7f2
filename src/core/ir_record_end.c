// ir_record_end.c: what a recording becomes: its inputs and outputs, and a checked program.
#include "ir_record.h"

// ---- inputs -------------------------------------------------------------------------------------

/// The only value through which the buffer is seen, or one that shows all of its storage.
static cbk_status find_form(struct cbk_ir_recording *recording, uint32_t buffer, uint32_t *out) {
    cbk_ir_program *program = recording->program;
    const struct cbk_ir_place *place = &recording->places[buffer];
    uint32_t given_count = 0;
    for (uint32_t v = place->first_value; v != CBK_IR_NONE; v = recording->notes[v].next) {
        if (program->values[v].is_made) continue;
        given_count++;
        *out = v;
    }
    if (given_count == 1) return CBK_OK;
    const struct cbk_ir_value root = {.buffer = buffer, .meta = place->root};
    *out = program->value_count;
    cbk_status status = cbk_ir_add_value(program, &root);
    if (status == CBK_OK) program->values[*out].meta.quant = NULL;
    return status;
}

static cbk_status settle_inputs(struct cbk_ir_recording *recording) {
    cbk_ir_program *program = recording->program;
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < program->buffer_count && status == CBK_OK; i++) {
        uint32_t form = CBK_IR_NONE;
        if (program->buffers[i].kind != CBK_IR_INPUT) continue;
        if (recording->places[i].named_input != CBK_IR_NONE) continue; // listed at the start
        status = find_form(recording, i, &form);
        if (status == CBK_OK) status = cbk_ir_add_input(program, form);
    }
    return status;
}

// ---- outputs ------------------------------------------------------------------------------------

static bool is_alive(const struct cbk_ir_recording *recording, uint32_t value) {
    cbk_ir_lock(recording->lock);
    const bool is = recording->places[recording->program->values[value].buffer].storage != NULL;
    cbk_ir_unlock(recording->lock);
    return is;
}

/// Every result that is alive and was not read since it was written.
static cbk_status find_outputs(struct cbk_ir_recording *recording) {
    cbk_ir_program *program = recording->program;
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct cbk_ir_step *step = &program->steps[i];
        for (uint32_t k = 0; k < step->output_count && status == CBK_OK; k++) {
            const uint32_t value = step->operands[step->input_count + k];
            const struct cbk_ir_note *note = &recording->notes[value];
            if (note->result_step != i || note->is_read || !is_alive(recording, value)) continue;
            status = cbk_ir_add_output(program, value);
        }
    }
    return status;
}

/// A tensor without elements has no storage to be known by; any of its kind is as good.
static cbk_status add_empty(cbk_ir_program *program, const cbk_tensor *tensor) {
    const struct cbk_ir_buffer buffer = {.dtype = tensor->meta.dtype, .kind = CBK_IR_UNDEFINED};
    struct cbk_ir_value value = {.buffer = program->buffer_count, .meta = tensor->meta};
    value.meta.quant = NULL;
    cbk_status status = cbk_ir_add_buffer(program, &buffer);
    if (status == CBK_OK) status = cbk_ir_add_value(program, &value);
    return status != CBK_OK ? status : cbk_ir_add_output(program, program->value_count - 1);
}

cbk_status cbk_ir_check_outputs(const struct cbk_ir_recording *recording,
                                const cbk_tensor *const *outputs, uint32_t count) {
    if (outputs == NULL && count != 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "outputs is NULL");
    }
    for (uint32_t i = 0; i < count; i++) {
        cbk_status status = cbk_check_tensor(outputs[i], "output");
        if (status != CBK_OK) return status;
        if (outputs[i]->meta.element_count == 0) continue;
        if (cbk_ir_known_value(recording, outputs[i]) != CBK_IR_NONE) continue;
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "output %u is no tensor of the recording",
                        (unsigned)i);
    }
    return CBK_OK;
}

cbk_status cbk_ir_recording_finish(struct cbk_ir_recording *recording,
                                   const cbk_tensor *const *outputs, uint32_t count,
                                   cbk_ir_program **out) {
    cbk_ir_program *program = recording->program;
    cbk_status status = settle_inputs(recording);
    for (uint32_t i = 0; i < count && status == CBK_OK; i++) {
        status = outputs[i]->meta.element_count == 0
                     ? add_empty(program, outputs[i])
                     : cbk_ir_add_output(program, cbk_ir_known_value(recording, outputs[i]));
    }
    if (status == CBK_OK && count == 0) status = find_outputs(recording);
    if (status == CBK_OK) status = cbk_ir_finish(program);
    if (status == CBK_OK) *out = cbk_ir_program_retain(program);
    return status;
}
