// ir_record.c: turns operations into steps: storages to buffers, tensors to values.
#include "ir_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CONTENTS ((uint64_t)1 << 30)

// ---- storages -----------------------------------------------------------------------------------

static uint32_t bucket_of(const struct cbk_ir_recording *recording, const void *storage) {
    const uint64_t mixed = (uint64_t)(uintptr_t)storage * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed >> 32) & (recording->bucket_count - 1);
}

uint32_t cbk_ir_find_storage(const struct cbk_ir_recording *recording, const void *storage) {
    if (recording->bucket_count == 0 || storage == NULL) return CBK_IR_NONE;
    uint32_t buffer = recording->buckets[bucket_of(recording, storage)];
    while (buffer != CBK_IR_NONE && recording->places[buffer].storage != storage) {
        buffer = recording->places[buffer].next;
    }
    return buffer;
}

void cbk_ir_forget_storage(struct cbk_ir_recording *recording, const void *storage) {
    const uint32_t buffer = cbk_ir_find_storage(recording, storage);
    if (buffer == CBK_IR_NONE) return;
    uint32_t *link = &recording->buckets[bucket_of(recording, storage)];
    while (*link != buffer) link = &recording->places[*link].next;
    *link = recording->places[buffer].next;
    recording->places[buffer].storage = NULL;
}

static uint32_t find_locked(const struct cbk_ir_recording *recording, const void *storage) {
    cbk_ir_lock(recording->lock);
    const uint32_t buffer = cbk_ir_find_storage(recording, storage);
    cbk_ir_unlock(recording->lock);
    return buffer;
}

static void enter(struct cbk_ir_recording *recording, uint32_t buffer) {
    uint32_t *bucket = &recording->buckets[bucket_of(recording, recording->places[buffer].storage)];
    recording->places[buffer].next = *bucket;
    *bucket = buffer;
}

/// Room for another buffer: memory is made outside of the lock, moved into under it.
static cbk_status make_room(struct cbk_ir_recording *recording) {
    const uint32_t count = recording->program->buffer_count;
    if (count < recording->place_capacity) return CBK_OK;
    const uint32_t capacity = count != 0 ? 2 * count : 64;
    struct cbk_ir_place *places = cbk_ir_alloc((uint64_t)capacity * sizeof *places);
    uint32_t *buckets = cbk_ir_alloc((uint64_t)capacity * sizeof *buckets);
    if (places == NULL || buckets == NULL) {
        free(places);
        free(buckets);
        return CBK_ERROR_OUT_OF_HOST_MEMORY;
    }
    memset(buckets, 0xff, capacity * sizeof *buckets);
    cbk_ir_lock(recording->lock);
    struct cbk_ir_place *old_places = recording->places;
    uint32_t *old_buckets = recording->buckets;
    if (count != 0) memcpy(places, old_places, count * sizeof *places);
    recording->places = places;
    recording->buckets = buckets;
    recording->place_capacity = recording->bucket_count = capacity;
    for (uint32_t i = 0; i < count; i++) {
        if (places[i].storage != NULL) enter(recording, i);
    }
    cbk_ir_unlock(recording->lock);
    free(old_places);
    free(old_buckets);
    return CBK_OK;
}

static cbk_status add_buffer(struct cbk_ir_recording *recording, const cbk_tensor *tensor,
                             uint32_t kind, void *contents) {
    const bool is_empty = tensor->meta.element_count == 0;
    const uint32_t index = recording->program->buffer_count;
    const struct cbk_ir_buffer buffer = {
        .dtype = tensor->meta.dtype,
        .kind = kind,
        .element_count = is_empty ? 0 : cbk_ir_storage_elements(tensor->storage),
        .contents = contents};
    cbk_status status = make_room(recording);
    if (status == CBK_OK) status = cbk_ir_add_buffer(recording->program, &buffer);
    if (status != CBK_OK) return status;
    cbk_ir_lock(recording->lock);
    recording->places[index] = (struct cbk_ir_place){.storage = cbk_tensor_storage(tensor),
                                                     .next = CBK_IR_NONE,
                                                     .first_value = CBK_IR_NONE,
                                                     .named_input = CBK_IR_NONE,
                                                     .root = *cbk_ir_root(tensor->storage)};
    if (recording->places[index].storage != NULL) enter(recording, index);
    cbk_ir_unlock(recording->lock);
    return CBK_OK;
}

// ---- values -------------------------------------------------------------------------------------

static cbk_status add_value(struct cbk_ir_recording *recording, uint32_t buffer, bool is_made,
                            const cbk_tensor_meta *meta, uint32_t *out) {
    const struct cbk_ir_value value = {.buffer = buffer, .is_made = is_made, .meta = *meta};
    const uint32_t index = recording->program->value_count;
    cbk_status status =
        cbk_ir_grow(&recording->notes, &recording->note_capacity, index, sizeof *recording->notes);
    if (status == CBK_OK) status = cbk_ir_add_value(recording->program, &value);
    if (status != CBK_OK) return status;
    recording->program->values[index].meta.quant = NULL;
    recording->notes[index] = (struct cbk_ir_note){.next = recording->places[buffer].first_value,
                                                   .result_step = CBK_IR_NONE};
    recording->places[buffer].first_value = index;
    *out = index;
    return CBK_OK;
}

static uint32_t find_value(const struct cbk_ir_recording *recording, uint32_t buffer,
                           const cbk_tensor_meta *meta) {
    uint32_t value = recording->places[buffer].first_value;
    for (; value != CBK_IR_NONE; value = recording->notes[value].next) {
        const cbk_tensor_meta *known = &recording->program->values[value].meta;
        if (known->dtype == meta->dtype && known->offset == meta->offset &&
            known->layout == meta->layout && cbk_meta_same_shape(known, meta) &&
            cbk_ir_same_strides(known, meta)) {
            break;
        }
    }
    return value;
}

uint32_t cbk_ir_known_value(const struct cbk_ir_recording *recording, const cbk_tensor *tensor) {
    const uint32_t buffer = find_locked(recording, cbk_tensor_storage(tensor));
    return buffer != CBK_IR_NONE ? find_value(recording, buffer, &tensor->meta) : CBK_IR_NONE;
}

static cbk_status check_recordable(const cbk_tensor *tensor) {
    if (tensor->meta.layout != 0 || tensor->meta.dtype == CBK_DTYPE_QUANT) {
        return cbk_fail(CBK_ERROR_UNSUPPORTED, 0,
                        "a tensor of dtype %s and layout %u from before the recording cannot be "
                        "part of a program; record how it is made",
                        cbk_dtype_name(tensor->meta.dtype), (unsigned)tensor->meta.layout);
    }
    if (cbk_tensor_storage(tensor) == NULL && tensor->meta.element_count != 0) {
        return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "a tensor has no contents yet");
    }
    return CBK_OK;
}

/// Reads a whole storage. An error of the stream is not this call's: it is kept for the next sync.
static cbk_status read_contents(struct cbk_ir_recording *recording, const cbk_tensor *tensor,
                                void *out) {
    const int64_t count = cbk_ir_storage_elements(tensor->storage);
    cbk_tensor_meta meta;
    cbk_tensor *flat = NULL;
    cbk_status status = cbk_meta_init(&meta, tensor->meta.dtype, 1, &count);
    if (status == CBK_OK) status = cbk_tensor_make_view(tensor->storage, &meta, &flat);
    if (status != CBK_OK) return status;
    const cbk_backend_read request = {.tensor = flat, .data = out};
    status = recording->inner->read(recording->self, recording->stream, &request, 1);
    if (status != CBK_OK && recording->deferred->status == CBK_OK) {
        recording->deferred->status = status;
        snprintf(recording->deferred->reason, sizeof recording->deferred->reason, "%s",
                 cbk_last_error_message());
        status = recording->inner->read(recording->self, recording->stream, &request, 1);
    }
    cbk_tensor_release(&flat);
    return status;
}

/// A tensor that the recording has not seen made.
static cbk_status add_given(struct cbk_ir_recording *recording, const cbk_tensor *tensor,
                            uint32_t kind, uint32_t *out) {
    void *contents = NULL;
    uint64_t bytes = 0;
    cbk_status status = check_recordable(tensor);
    if (status != CBK_OK) return status;
    if (tensor->meta.element_count == 0 && kind == CBK_IR_CONSTANT) kind = CBK_IR_UNDEFINED;
    cbk_ir_bytes(tensor->meta.dtype, cbk_ir_storage_elements(tensor->storage), &bytes);
    if (kind == CBK_IR_CONSTANT &&
        ((recording->flags & CBK_IR_LEAVE_CONTENTS_OUT) != 0 || bytes > recording->contents_left)) {
        kind = CBK_IR_INPUT;
    }
    if (kind == CBK_IR_CONSTANT) {
        contents = cbk_ir_alloc(bytes);
        status = contents != NULL ? read_contents(recording, tensor, contents)
                                  : CBK_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (status == CBK_OK) status = add_buffer(recording, tensor, kind, contents);
    if (status != CBK_OK) {
        free(contents);
        return status;
    }
    if (contents != NULL) recording->contents_left -= bytes;
    return add_value(recording, recording->program->buffer_count - 1, false, &tensor->meta, out);
}

/// A run's own tensor stands for a named input: nothing beside it is known to be there.
static cbk_status check_inside(const struct cbk_ir_recording *recording, uint32_t buffer,
                               const cbk_tensor_meta *meta) {
    const uint32_t named = recording->places[buffer].named_input;
    if (named == CBK_IR_NONE) return CBK_OK;
    const cbk_tensor_meta *whole = &recording->program->values[named].meta;
    int64_t low[2] = {meta->offset, whole->offset}, high[2] = {meta->offset, whole->offset};
    for (uint32_t i = 0; i < CBK_MAX_RANK; i++) {
        const cbk_tensor_meta *const both[2] = {meta, whole};
        for (int k = 0; k < 2; k++) {
            if (i >= both[k]->rank) continue;
            const int64_t reach = (both[k]->shape[i] - 1) * both[k]->strides[i];
            if (reach < 0) low[k] += reach;
            if (reach > 0) high[k] += reach;
        }
    }
    if (low[0] >= low[1] && high[0] <= high[1]) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                    "a tensor is used that reaches outside of an input which it shares memory "
                    "with");
}

/// The value of a tensor that is there. `kind`: what it is if nothing is known of it.
static cbk_status value_of(struct cbk_ir_recording *recording, const cbk_tensor *tensor,
                           uint32_t kind, uint32_t *out) {
    const uint32_t buffer = find_locked(recording, cbk_tensor_storage(tensor));
    if (buffer == CBK_IR_NONE) return add_given(recording, tensor, kind, out);
    *out = find_value(recording, buffer, &tensor->meta);
    if (*out != CBK_IR_NONE) return CBK_OK;
    cbk_status status = check_inside(recording, buffer, &tensor->meta);
    return status != CBK_OK ? status : add_value(recording, buffer, false, &tensor->meta, out);
}

// ---- steps --------------------------------------------------------------------------------------

/// A read shows what any value of the buffer has written.
static void note_read(struct cbk_ir_recording *recording, uint32_t value) {
    if (value == CBK_IR_NONE) return;
    uint32_t seen = recording->places[recording->program->values[value].buffer].first_value;
    for (; seen != CBK_IR_NONE; seen = recording->notes[seen].next) {
        recording->notes[seen].is_read = 1;
    }
}

static void note_result(struct cbk_ir_recording *recording, uint32_t value) {
    recording->notes[value].result_step = recording->program->step_count;
    recording->notes[value].is_read = 0;
}

/// Draws must give the same numbers in a run.
static cbk_status note_random(struct cbk_ir_recording *recording) {
    struct cbk_ir_step step = {.kind = CBK_IR_RANDOM};
    cbk_ir_lock(recording->lock);
    const bool is_known = recording->random_is_known;
    recording->random_is_known = true;
    cbk_ir_unlock(recording->lock);
    if (is_known) return CBK_OK;
    if (recording->inner->random_get_state == NULL) {
        return cbk_fail(CBK_ERROR_UNSUPPORTED, 0,
                        "backend %s cannot tell where its random numbers start",
                        recording->inner->name(recording->self));
    }
    step.random = (cbk_random_state){.struct_size = sizeof step.random};
    cbk_status status =
        recording->inner->random_get_state(recording->self, recording->stream, &step.random);
    return status != CBK_OK ? status : cbk_ir_add_step(recording->program, &step);
}

/// The operation will write all of the output's memory and reads none of it.
static bool is_overwritten(const cbk_op *op, const cbk_tensor *output) {
    if (!cbk_meta_is_contiguous(&output->meta) ||
        output->meta.element_count != cbk_ir_storage_elements(output->storage)) {
        return false;
    }
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (op->inputs[i] != NULL && op->inputs[i]->storage == output->storage) return false;
    }
    return true;
}

/// A new output gets its storage here, so that it is known by it even if the backend would rather
/// wait.
static cbk_status attach(struct cbk_ir_recording *recording, cbk_tensor *output) {
    void *storage = NULL;
    cbk_status status = recording->inner->storage_alloc(recording->self, recording->stream,
                                                        cbk_tensor_storage_bytes(output), &storage);
    return status != CBK_OK ? status : cbk_tensor_attach(output, storage);
}

cbk_status cbk_ir_note_before(struct cbk_ir_recording *recording, const cbk_op *op,
                              uint32_t *values, uint32_t *out_made) {
    const uint32_t flags = cbk_op_info_of(op->opcode)->flags;
    cbk_status status = CBK_OK;
    *out_made = 0;
    if ((flags & CBK_ROW_RANDOM) != 0) status = note_random(recording);
    for (uint32_t i = 0; i < op->input_count && status == CBK_OK; i++) {
        values[i] = CBK_IR_NONE;
        if (op->inputs[i] == NULL) continue;
        status = value_of(recording, op->inputs[i], CBK_IR_CONSTANT, &values[i]);
    }
    for (uint32_t i = 0; i < op->output_count && status == CBK_OK; i++) {
        cbk_tensor *output = op->outputs[i];
        uint32_t *value = &values[op->input_count + i];
        const bool is_new = (flags & CBK_ROW_VIEW) != 0 || cbk_tensor_storage(output) == NULL;
        if (is_new) {
            *out_made |= UINT32_C(1) << i;
            if ((flags & CBK_ROW_VIEW) == 0 && output->meta.element_count != 0) {
                status = attach(recording, output);
            }
        } else {
            const uint32_t kind = is_overwritten(op, output) ? CBK_IR_UNDEFINED : CBK_IR_CONSTANT;
            status = value_of(recording, output, kind, value);
        }
    }
    return status;
}

static cbk_status note_made(struct cbk_ir_recording *recording, const cbk_tensor *output,
                            uint32_t *out) {
    uint32_t buffer = find_locked(recording, cbk_tensor_storage(output));
    cbk_status status = CBK_OK;
    if (buffer == CBK_IR_NONE) {
        buffer = recording->program->buffer_count;
        status = add_buffer(recording, output, CBK_IR_MADE, NULL);
    }
    return status != CBK_OK ? status : add_value(recording, buffer, true, &output->meta, out);
}

cbk_status cbk_ir_note_after(struct cbk_ir_recording *recording, const cbk_op *op, uint32_t *values,
                             uint32_t made) {
    union { // read only: it is copied
        const void *given;
        void *held;
    } params = {op->params};
    struct cbk_ir_step step = {.kind = CBK_IR_OP,
                               .opcode = op->opcode,
                               .input_count = op->input_count,
                               .output_count = op->output_count,
                               .made = made,
                               .operands = values,
                               .data = params.held,
                               .data_size = op->params_size};
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < op->output_count && status == CBK_OK; i++) {
        if ((made >> i & 1) == 0) continue;
        status = note_made(recording, op->outputs[i], &values[op->input_count + i]);
    }
    if (status != CBK_OK) return status;
    for (uint32_t i = 0; i < op->input_count; i++) note_read(recording, values[i]);
    for (uint32_t i = 0; i < op->output_count; i++) {
        note_result(recording, values[op->input_count + i]);
    }
    return cbk_ir_add_step(recording->program, &step);
}

cbk_status cbk_ir_note_write(struct cbk_ir_recording *recording, const cbk_tensor *tensor,
                             const void *data) {
    uint64_t bytes = 0;
    uint32_t value = CBK_IR_NONE;
    if (find_locked(recording, cbk_tensor_storage(tensor)) == CBK_IR_NONE) return CBK_OK;
    cbk_ir_bytes(tensor->meta.dtype, tensor->meta.element_count, &bytes);
    if (bytes > recording->contents_left) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0,
                        "%llu bytes were written to a tensor; contents_limit_bytes leaves %llu",
                        (unsigned long long)bytes, (unsigned long long)recording->contents_left);
    }
    recording->contents_left -= bytes;
    cbk_status status = value_of(recording, tensor, CBK_IR_CONSTANT, &value);
    if (status != CBK_OK) return status;
    union { // read only: it is copied
        const void *given;
        void *held;
    } copied = {data};
    const struct cbk_ir_step step = {.kind = CBK_IR_WRITE,
                                     .output_count = 1,
                                     .operands = &value,
                                     .data = copied.held,
                                     .data_size = bytes};
    return cbk_ir_add_step(recording->program, &step);
}

// ---- start --------------------------------------------------------------------------------------

void cbk_ir_recording_fail(struct cbk_ir_recording *recording, cbk_status status,
                           const char *reason) {
    if (atomic_load(&recording->failed) != CBK_OK) return;
    snprintf(recording->reason, sizeof recording->reason, "%s", reason);
    atomic_store(&recording->failed, status);
}

static cbk_status name_inputs(struct cbk_ir_recording *recording,
                              const cbk_ir_record_params *params) {
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < params->input_count && status == CBK_OK; i++) {
        uint32_t value = CBK_IR_NONE;
        const cbk_tensor *tensor = params->inputs[i];
        if (find_locked(recording, cbk_tensor_storage(tensor)) != CBK_IR_NONE) {
            return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "input %u shares memory with another",
                            (unsigned)i);
        }
        status = value_of(recording, tensor, CBK_IR_INPUT, &value);
        if (status == CBK_OK) {
            recording->places[recording->program->values[value].buffer].named_input = value;
            status = cbk_ir_add_input(recording->program, value);
        }
    }
    return status;
}

cbk_status cbk_ir_recording_create(const cbk_ir_record_params *params, const cbk_vtable *inner,
                                   void *self, void *stream, atomic_flag *lock,
                                   struct cbk_ir_deferred *deferred,
                                   struct cbk_ir_recording **out) {
    struct cbk_ir_recording *recording = cbk_ir_alloc(sizeof *recording);
    if (recording == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    *recording = (struct cbk_ir_recording){.inner = inner,
                                           .self = self,
                                           .stream = stream,
                                           .lock = lock,
                                           .deferred = deferred,
                                           .flags = params->flags,
                                           .contents_left = params->contents_limit_bytes != 0
                                                                ? params->contents_limit_bytes
                                                                : DEFAULT_CONTENTS};
    cbk_status status = cbk_ir_program_create(&recording->program);
    if (status == CBK_OK) status = name_inputs(recording, params);
    if (status == CBK_OK) {
        *out = recording;
        recording = NULL;
    }
    cbk_ir_recording_destroy(&recording);
    return status;
}

void cbk_ir_recording_destroy(struct cbk_ir_recording **recording) {
    struct cbk_ir_recording *dying = *recording;
    if (dying == NULL) return;
    *recording = NULL;
    cbk_ir_program_release(&dying->program);
    free(dying->places);
    free(dying->notes);
    free(dying->buckets);
    free(dying);
}
