// ir_recorder.c: the slots of a recorder that take notes, and the beginning and end of recordings.
#include "ir_recorder.h"

#include <stdlib.h>

// ---- what others do to a recording --------------------------------------------------------------

static bool is_recording(struct cbk_ir_recorder *recorder) {
    return atomic_load_explicit(&recorder->recording_count, memory_order_acquire) != 0;
}

/// A failure to record is no failure of the call: its message goes to the recording alone.
static void fail_quietly(struct cbk_ir_recording *recording, cbk_status status,
                         const cbk_error *former) {
    cbk_ir_lock(recording->lock);
    cbk_ir_recording_fail(recording, status, cbk_last_error_message());
    cbk_ir_unlock(recording->lock);
    cbk_restore_error(former);
}

/// A storage was written on a stream; other streams' recordings that know it are wrong from now on.
static void note_foreign_write(struct cbk_ir_stream *stream, const cbk_tensor *tensor) {
    struct cbk_ir_recorder *recorder = stream->recorder;
    const void *storage = cbk_tensor_storage(tensor);
    cbk_ir_lock(&recorder->lock);
    for (struct cbk_ir_stream *other = recorder->streams; other != NULL; other = other->next) {
        struct cbk_ir_recording *recording = other->recording;
        if (other == stream || recording == NULL) continue;
        if (cbk_ir_find_storage(recording, storage) == CBK_IR_NONE) continue;
        cbk_ir_recording_fail(recording, CBK_ERROR_INVALID_STATE,
                              "another stream wrote to a tensor of the recording");
    }
    cbk_ir_unlock(&recorder->lock);
}

void cbk_ir_storage_free(void *self, void *device, void *storage) {
    struct cbk_ir_recorder *recorder = self;
    if (is_recording(recorder)) {
        cbk_ir_lock(&recorder->lock);
        for (struct cbk_ir_stream *stream = recorder->streams; stream != NULL;
             stream = stream->next) {
            if (stream->recording != NULL) cbk_ir_forget_storage(stream->recording, storage);
        }
        cbk_ir_unlock(&recorder->lock);
    }
    recorder->inner->storage_free(recorder->self, device, storage);
}

cbk_status cbk_ir_seed(void *self, void *device, uint64_t seed) {
    struct cbk_ir_recorder *recorder = self;
    cbk_status status = recorder->inner->seed(recorder->self, device, seed);
    cbk_ir_lock(&recorder->lock);
    for (struct cbk_ir_stream *stream = recorder->streams; stream != NULL; stream = stream->next) {
        if (stream->device != device || stream->recording == NULL) continue;
        stream->recording->random_is_known = false;
    }
    cbk_ir_unlock(&recorder->lock);
    return status;
}

cbk_status cbk_ir_random_set(void *self, void *handle, const cbk_random_state *state) {
    struct cbk_ir_recorder *recorder = self;
    struct cbk_ir_stream *stream = handle;
    cbk_status status = recorder->inner->random_set_state(recorder->self, stream->inner, state);
    if (stream->recording != NULL) {
        cbk_ir_lock(&recorder->lock);
        stream->recording->random_is_known = false;
        cbk_ir_unlock(&recorder->lock);
    }
    return status;
}

// ---- operations and writes ----------------------------------------------------------------------

/// Views are made already; only a backend that sees them is told.
static cbk_status execute_inner(const struct cbk_ir_stream *stream, const cbk_op *op) {
    const struct cbk_ir_recorder *recorder = stream->recorder;
    const bool is_view = (cbk_op_info_of(op->opcode)->flags & CBK_ROW_VIEW) != 0;
    if (is_view && (recorder->inner->flags & CBK_BACKEND_SEES_VIEWS) == 0) return CBK_OK;
    return recorder->inner->execute(recorder->self, stream->inner, op);
}

static cbk_status execute_recorded(struct cbk_ir_stream *stream, const cbk_op *op) {
    enum { ON_STACK = 32 };
    uint32_t few[ON_STACK], *values = few, made = 0;
    const uint64_t operands = (uint64_t)op->input_count + op->output_count;
    cbk_error former = {.struct_size = sizeof former};
    cbk_last_error(&former);
    if (operands > ON_STACK) values = cbk_ir_alloc(operands * sizeof *values);
    cbk_status noted = values == NULL ? CBK_ERROR_OUT_OF_HOST_MEMORY
                       : op->output_count > CBK_IR_MOST_OUTPUTS
                           ? cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "%u outputs cannot be recorded",
                                      (unsigned)op->output_count)
                           : cbk_ir_note_before(stream->recording, op, values, &made);
    if (noted != CBK_OK) fail_quietly(stream->recording, noted, &former);
    cbk_status status = execute_inner(stream, op);
    if (status == CBK_OK && noted == CBK_OK) {
        noted = cbk_ir_note_after(stream->recording, op, values, made);
        if (noted != CBK_OK) fail_quietly(stream->recording, noted, &former);
    }
    if (values != few) free(values);
    return status;
}

cbk_status cbk_ir_execute(void *self, void *handle, const cbk_op *op) {
    struct cbk_ir_stream *stream = handle;
    const bool is_noted =
        stream->recording != NULL && atomic_load(&stream->recording->failed) == CBK_OK;
    cbk_status status = is_noted ? execute_recorded(stream, op) : execute_inner(stream, op);
    const bool is_view = (cbk_op_info_of(op->opcode)->flags & CBK_ROW_VIEW) != 0;
    if (status != CBK_OK || is_view || !is_recording(self)) return status;
    for (uint32_t i = 0; i < op->output_count; i++) note_foreign_write(stream, op->outputs[i]);
    return CBK_OK;
}

/// Host memory, or another device's, went to a tensor. `data` is row-major.
static void note_write(struct cbk_ir_stream *stream, const cbk_tensor *tensor, const void *data) {
    if (stream->recording != NULL && atomic_load(&stream->recording->failed) == CBK_OK) {
        cbk_error former = {.struct_size = sizeof former};
        cbk_last_error(&former);
        cbk_status noted = cbk_ir_note_write(stream->recording, tensor, data);
        if (noted != CBK_OK) fail_quietly(stream->recording, noted, &former);
    }
    note_foreign_write(stream, tensor);
}

cbk_status cbk_ir_write(void *self, void *handle, const cbk_tensor *tensor, const void *data) {
    struct cbk_ir_recorder *recorder = self;
    struct cbk_ir_stream *stream = handle;
    cbk_status status = recorder->inner->write(recorder->self, stream->inner, tensor, data);
    if (status == CBK_OK && is_recording(recorder)) note_write(stream, tensor, data);
    return status;
}

cbk_status cbk_ir_copy_device(void *self, void *from, const cbk_tensor *source, void *to,
                              const cbk_tensor *destination) {
    struct cbk_ir_recorder *recorder = self;
    struct cbk_ir_stream *from_stream = from, *to_stream = to;
    cbk_status status = recorder->inner->copy_device(recorder->self, from_stream->inner, source,
                                                     to_stream->inner, destination);
    if (status != CBK_OK || !is_recording(recorder)) return status;
    // The destination is new to a recording, which reads it back when it is used; or it is known.
    const cbk_backend_read request = {.tensor = destination,
                                      .data = malloc((size_t)destination->meta.element_count *
                                                     cbk_dtype_size(destination->meta.dtype))};
    if (request.data == NULL) {
        status = cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory to record a copy");
    } else {
        status = recorder->inner->read(recorder->self, to_stream->inner, &request, 1);
    }
    if (status == CBK_OK) note_write(to_stream, destination, request.data);
    free(request.data);
    return status;
}

// ---- waiting ------------------------------------------------------------------------------------

/// An error that came up while contents were read belongs to the caller's next look at the stream.
static cbk_status with_deferred(struct cbk_ir_stream *stream, cbk_status status) {
    struct cbk_ir_deferred *deferred = &stream->deferred;
    if (status != CBK_OK || deferred->status == CBK_OK) return status;
    status = cbk_fail(deferred->status, 0, "%s", deferred->reason);
    deferred->status = CBK_OK;
    return status;
}

cbk_status cbk_ir_read(void *self, void *handle, const cbk_backend_read *requests, uint32_t count) {
    struct cbk_ir_recorder *recorder = self;
    struct cbk_ir_stream *stream = handle;
    return with_deferred(stream,
                         recorder->inner->read(recorder->self, stream->inner, requests, count));
}

cbk_status cbk_ir_sync(void *self, void *handle) {
    struct cbk_ir_recorder *recorder = self;
    struct cbk_ir_stream *stream = handle;
    return with_deferred(stream, recorder->inner->sync(recorder->self, stream->inner));
}

cbk_status cbk_ir_flush(void *self, void *handle) {
    struct cbk_ir_recorder *recorder = self;
    struct cbk_ir_stream *stream = handle;
    return with_deferred(stream, recorder->inner->flush != NULL
                                     ? recorder->inner->flush(recorder->self, stream->inner)
                                     : CBK_OK);
}

// ---- beginning and end --------------------------------------------------------------------------

cbk_status cbk_ir_refuse(const struct cbk_ir_stream *stream, const char *what) {
    if (stream->recording == NULL) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is recording a program, %s", what);
}

static cbk_status find_stream(const cbk_stream *stream, struct cbk_ir_stream **out) {
    cbk_status status = cbk_check_stream(stream);
    if (status != CBK_OK) return status;
    *out = cbk_ir_stream_of(stream);
    if (*out != NULL) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                    "backend %s does not record; open the device on cbk_ir_recorder_create's",
                    cbk_backend_name(stream->device->backend));
}

static cbk_status read_record_params(const cbk_stream *stream, const cbk_ir_record_params *given,
                                     cbk_ir_record_params *out) {
    *out = (cbk_ir_record_params){.struct_size = sizeof *out};
    cbk_status status = cbk_read_struct(given, "cbk_ir_record_params", out, (uint32_t)sizeof *out);
    if (status != CBK_OK) return status;
    if ((out->flags & ~(uint32_t)CBK_IR_LEAVE_CONTENTS_OUT) != 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "flags %u are unknown",
                        (unsigned)out->flags);
    }
    if (out->input_count != 0 && out->inputs == NULL) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "inputs is NULL");
    }
    for (uint32_t i = 0; i < out->input_count && status == CBK_OK; i++) {
        status = cbk_check_tensor(out->inputs[i], "input");
        if (status == CBK_OK) status = cbk_check_same_device(stream, out->inputs[i], "an input");
    }
    return status;
}

static void set_recording(struct cbk_ir_stream *stream, struct cbk_ir_recording *recording) {
    cbk_ir_lock(&stream->recorder->lock);
    stream->recording = recording;
    cbk_ir_unlock(&stream->recorder->lock);
}

static cbk_status begin(cbk_stream *stream, const cbk_ir_record_params *given) {
    cbk_ir_record_params params;
    struct cbk_ir_stream *own = NULL;
    struct cbk_ir_recording *recording = NULL;
    cbk_status status = find_stream(stream, &own);
    if (status == CBK_OK) status = read_record_params(stream, given, &params);
    if (status == CBK_OK) status = cbk_ir_refuse(own, "and records one at a time");
    if (status == CBK_OK && stream->capture != NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is capturing a graph");
    }
    if (status == CBK_OK && own->recorder->inner->flush != NULL) { // nothing is pending then
        status = own->recorder->inner->flush(own->recorder->self, own->inner);
    }
    if (status == CBK_OK) {
        status =
            cbk_ir_recording_create(&params, own->recorder->inner, own->recorder->self, own->inner,
                                    &own->recorder->lock, &own->deferred, &recording);
    }
    if (status != CBK_OK) return status;
    atomic_fetch_add(&own->recorder->recording_count, 1);
    set_recording(own, recording);
    return CBK_OK;
}

cbk_status cbk_ir_begin(cbk_stream *stream, const cbk_ir_record_params *params) {
    struct cbk_call former = cbk_call_begin("ir_begin", CBK_OP_NONE);
    return cbk_call_end(former, begin(stream, params));
}

static void drop_recording(struct cbk_ir_stream *stream) {
    struct cbk_ir_recording *recording = stream->recording;
    set_recording(stream, NULL);
    atomic_fetch_sub(&stream->recorder->recording_count, 1);
    cbk_ir_recording_destroy(&recording);
}

static cbk_status end(cbk_stream *stream, const cbk_tensor *const *outputs, uint32_t count,
                      cbk_ir_program **out) {
    struct cbk_ir_stream *own = NULL;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = find_stream(stream, &own);
    if (status == CBK_OK && own->recording == NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_STATE, 0, "the stream is not recording");
    }
    if (status != CBK_OK) return status;
    struct cbk_ir_recording *recording = own->recording;
    const cbk_status failed = atomic_load(&recording->failed);
    if (failed != CBK_OK) {
        status = cbk_fail(failed, 0, "the recording failed: %s", recording->reason);
    } else {
        status = cbk_ir_check_outputs(recording, outputs, count);
        if (status != CBK_OK) return status; // it goes on
        status = cbk_ir_recording_finish(recording, outputs, count, out);
    }
    drop_recording(own);
    return status;
}

cbk_status cbk_ir_end(cbk_stream *stream, const cbk_tensor *const *outputs, uint32_t output_count,
                      cbk_ir_program **out) {
    struct cbk_call former = cbk_call_begin("ir_end", CBK_OP_NONE);
    return cbk_call_end(former, end(stream, outputs, output_count, out));
}

cbk_status cbk_ir_abort(cbk_stream *stream) {
    struct cbk_call former = cbk_call_begin("ir_abort", CBK_OP_NONE);
    struct cbk_ir_stream *own = NULL;
    cbk_status status = find_stream(stream, &own);
    if (status == CBK_OK && own->recording != NULL) drop_recording(own);
    return cbk_call_end(former, status);
}
