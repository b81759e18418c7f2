// ir_run.c: runs a program: values become tensors when a step needs them, and go after the last one.
#include "ir_program.h"

#include <stdlib.h>
#include <string.h>

struct run {
    const cbk_ir_program *program;
    cbk_stream *stream;
    cbk_tensor **tensors; ///< per value
    cbk_tensor **bases;   ///< per buffer: what unmade values are views of
    /// Per buffer: the value that the base is; CBK_IR_NONE: the whole buffer as one run.
    uint32_t *base_values;
    cbk_random_state saved; ///< the stream's own state; struct_size 0: not touched
};

// ---- buffers and values -------------------------------------------------------------------------

static void set_base(struct run *run, uint32_t buffer, uint32_t value, cbk_tensor *tensor) {
    if (run->bases[buffer] != NULL || tensor->meta.element_count == 0) return;
    run->bases[buffer] = cbk_tensor_retain(tensor);
    run->base_values[buffer] = value;
}

/// Memory for a constant or an undefined buffer.
static cbk_status make_base(struct run *run, uint32_t index) {
    const struct cbk_ir_buffer *buffer = &run->program->buffers[index];
    uint64_t bytes = 0;
    cbk_tensor *tensor = NULL;
    cbk_ir_bytes(buffer->dtype, buffer->element_count, &bytes);
    cbk_status status =
        buffer->contents != NULL
            ? cbk_tensor_from_data(run->stream, buffer->dtype, 1, &buffer->element_count,
                                   buffer->contents, bytes, &tensor)
            : cbk_tensor_empty(run->stream, buffer->dtype, 1, &buffer->element_count, &tensor);
    if (status == CBK_OK) set_base(run, index, CBK_IR_NONE, tensor);
    cbk_tensor_release(&tensor);
    return status;
}

static cbk_status fail_strides(const cbk_tensor_meta *given, const cbk_tensor_meta *recorded) {
    char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                    "it depends on strides: a tensor has %s, the recorded one had %s; "
                    "cbk_ir_make_input makes inputs that fit",
                    cbk_shape_text(given->rank, given->strides, a),
                    cbk_shape_text(recorded->rank, recorded->strides, b));
}

/// A view of the buffer's memory, as far from the base as it was recorded.
static cbk_status make_view(struct run *run, const struct cbk_ir_value *value, cbk_tensor **out) {
    const cbk_tensor *base = run->bases[value->buffer];
    const uint32_t base_value = run->base_values[value->buffer];
    cbk_tensor_meta meta = value->meta;
    if (base == NULL || base->meta.layout != 0) {
        return cbk_fail(CBK_ERROR_CORRUPT, 0, "a view has no memory to show");
    }
    if (base_value != CBK_IR_NONE) {
        const cbk_tensor_meta *recorded = &run->program->values[base_value].meta;
        if (!cbk_ir_same_strides(&base->meta, recorded)) {
            return fail_strides(&base->meta, recorded);
        }
        meta.offset += base->meta.offset - recorded->offset;
    }
    if (!cbk_meta_lies_within(&meta, cbk_ir_storage_elements(base->storage))) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                        "a view of an input reaches outside of the given tensor's memory");
    }
    return cbk_tensor_make_view(base->storage, &meta, out);
}

/// The tensor of a value that a step uses.
static cbk_status bind_value(struct run *run, uint32_t index, cbk_tensor **out) {
    const struct cbk_ir_value *value = &run->program->values[index];
    cbk_tensor **tensor = &run->tensors[index];
    cbk_status status = CBK_OK;
    if (*tensor == NULL && value->meta.element_count == 0) {
        status = cbk_tensor_make(run->stream, &value->meta, tensor);
    } else if (*tensor == NULL) {
        const uint32_t kind = run->program->buffers[value->buffer].kind;
        const bool is_own = kind == CBK_IR_CONSTANT || kind == CBK_IR_UNDEFINED;
        if (is_own && run->bases[value->buffer] == NULL) status = make_base(run, value->buffer);
        if (status == CBK_OK) status = make_view(run, value, tensor);
    }
    *out = *tensor;
    return status;
}

/// The step was the last one that uses them.
static void drop_value(struct run *run, uint32_t index, uint32_t step) {
    const cbk_ir_program *program = run->program;
    if (index == CBK_IR_NONE) return;
    const uint32_t buffer = program->values[index].buffer;
    if (program->value_end[index] == step) cbk_tensor_release(&run->tensors[index]);
    if (program->buffer_end[buffer] == step) cbk_tensor_release(&run->bases[buffer]);
}

// ---- steps --------------------------------------------------------------------------------------

/// Later steps rely on what was recorded.
static cbk_status check_made(struct run *run, const struct cbk_ir_step *step, uint32_t index,
                             const cbk_tensor *made, const cbk_tensor *input) {
    const struct cbk_ir_value *value = &run->program->values[index];
    if (made->meta.dtype != value->meta.dtype || !cbk_meta_same_shape(&made->meta, &value->meta)) {
        char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_CORRUPT, 0, "%s gives %s%s, recorded was %s%s",
                        cbk_op_info_of(step->opcode)->name, cbk_dtype_name(made->meta.dtype),
                        cbk_shape_text(made->meta.rank, made->meta.shape, a),
                        cbk_dtype_name(value->meta.dtype),
                        cbk_shape_text(value->meta.rank, value->meta.shape, b));
    }
    // A reshape that had strides when it was recorded must not have become a copy.
    const bool is_view = (cbk_op_info_of(step->opcode)->flags & CBK_ROW_VIEW) != 0;
    if (is_view && input != NULL && made->meta.element_count != 0 &&
        run->program->values[step->operands[0]].buffer == value->buffer &&
        made->storage != input->storage) {
        return fail_strides(&input->meta, &run->program->values[step->operands[0]].meta);
    }
    return CBK_OK;
}

static cbk_status execute_step(struct run *run, const struct cbk_ir_step *step,
                               cbk_tensor **inputs) {
    cbk_tensor *outputs[CBK_IR_MOST_OUTPUTS] = {NULL};
    const uint32_t *output_values = step->operands + step->input_count;
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < step->input_count && status == CBK_OK; i++) {
        inputs[i] = NULL;
        if (step->operands[i] == CBK_IR_NONE) continue;
        status = bind_value(run, step->operands[i], &inputs[i]);
    }
    for (uint32_t i = 0; i < step->output_count && status == CBK_OK; i++) {
        if ((step->made >> i & 1) == 0) status = bind_value(run, output_values[i], &outputs[i]);
    }
    if (status != CBK_OK) return status;
    const cbk_op op = {.struct_size = sizeof op,
                       .opcode = step->opcode,
                       .input_count = step->input_count,
                       .output_count = step->output_count,
                       .inputs = inputs,
                       .outputs = outputs,
                       .params = step->data_size != 0 ? step->data : NULL,
                       .params_size = (uint32_t)step->data_size};
    status = cbk_execute(run->stream, &op);
    for (uint32_t i = 0; i < step->output_count && status == CBK_OK; i++) {
        if ((step->made >> i & 1) == 0) continue;
        run->tensors[output_values[i]] = outputs[i];
        set_base(run, run->program->values[output_values[i]].buffer, output_values[i], outputs[i]);
    }
    for (uint32_t i = 0; i < step->output_count && status == CBK_OK; i++) {
        if ((step->made >> i & 1) == 0) continue;
        status = check_made(run, step, output_values[i], outputs[i],
                            step->input_count != 0 ? inputs[0] : NULL);
    }
    return status;
}

static cbk_status run_op(struct run *run, const struct cbk_ir_step *step) {
    enum { ON_STACK = 16 };
    cbk_tensor *few[ON_STACK], **inputs = few;
    if (cbk_op_info_of(step->opcode) == NULL) {
        return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "operation 0x%04x is unknown to this version",
                        (unsigned)step->opcode);
    }
    if (step->input_count > ON_STACK) {
        inputs = cbk_ir_alloc(step->input_count * sizeof(cbk_tensor *));
        if (inputs == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    }
    cbk_status status = execute_step(run, step, inputs);
    if (inputs != few) free(inputs);
    return status;
}

static cbk_status run_write(struct run *run, const struct cbk_ir_step *step) {
    cbk_tensor *tensor = NULL;
    cbk_status status = bind_value(run, step->operands[0], &tensor);
    return status != CBK_OK ? status
                            : cbk_tensor_write(run->stream, tensor, step->data, step->data_size);
}

static cbk_status run_random(struct run *run, const struct cbk_ir_step *step) {
    cbk_status status = CBK_OK;
    if (run->saved.struct_size == 0) {
        cbk_random_state own = {.struct_size = sizeof own};
        status = cbk_random_get_state(run->stream, &own);
        if (status == CBK_OK) run->saved = own;
    }
    return status != CBK_OK ? status : cbk_random_set_state(run->stream, &step->random);
}

static cbk_status run_step(struct run *run, uint32_t index) {
    const struct cbk_ir_step *step = &run->program->steps[index];
    cbk_status status = step->kind == CBK_IR_OP      ? run_op(run, step)
                        : step->kind == CBK_IR_WRITE ? run_write(run, step)
                                                     : run_random(run, step);
    if (status != CBK_OK) {
        static const char own[] = "ir_run: "; // comes again in front of the whole
        cbk_error reason = {.struct_size = sizeof reason};
        cbk_last_error(&reason);
        const bool is_own = strncmp(reason.message, own, sizeof own - 1) == 0;
        return cbk_fail(status, reason.native_code, "step %u: %s", (unsigned)index,
                        reason.message + (is_own ? sizeof own - 1 : 0));
    }
    for (uint32_t i = 0; i < step->input_count + step->output_count; i++) {
        drop_value(run, step->operands[i], index);
    }
    return CBK_OK;
}

// ---- the whole ----------------------------------------------------------------------------------

static cbk_status take_input(struct run *run, uint32_t index, cbk_tensor *given) {
    const uint32_t value = run->program->inputs[index];
    const cbk_tensor_meta *recorded = &run->program->values[value].meta;
    cbk_status status = cbk_check_tensor(given, "input");
    if (status == CBK_OK) status = cbk_check_same_device(run->stream, given, "the input");
    if (status != CBK_OK) return status;
    if (given->meta.dtype != recorded->dtype || given->meta.layout != 0 ||
        !cbk_meta_same_shape(&given->meta, recorded)) {
        char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
        const bool is_dtype = given->meta.dtype != recorded->dtype;
        return cbk_fail(is_dtype ? CBK_ERROR_DTYPE : CBK_ERROR_SHAPE, 0,
                        "input %u is %s%s, the program takes %s%s", (unsigned)index,
                        cbk_dtype_name(given->meta.dtype),
                        cbk_shape_text(given->meta.rank, given->meta.shape, a),
                        cbk_dtype_name(recorded->dtype),
                        cbk_shape_text(recorded->rank, recorded->shape, b));
    }
    run->tensors[value] = cbk_tensor_retain(given);
    set_base(run, run->program->values[value].buffer, value, given);
    return CBK_OK;
}

static cbk_status check_capture(const struct run *run) {
    cbk_ir_info info = {.struct_size = sizeof info};
    if (run->stream->capture == NULL) return CBK_OK;
    cbk_status status = cbk_ir_get_info(run->program, &info);
    if (status == CBK_OK && (info.contents_bytes != 0 || info.draws)) {
        status = cbk_fail(CBK_ERROR_INVALID_STATE, 0,
                          "the stream is capturing a graph, and the program %s",
                          info.draws ? "sets the state of random numbers" : "writes constants");
    }
    return status;
}

static cbk_status give_outputs(struct run *run, cbk_tensor **outputs) {
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < run->program->output_count && status == CBK_OK; i++) {
        cbk_tensor *tensor = NULL;
        status = bind_value(run, run->program->outputs[i], &tensor);
        if (status == CBK_OK) outputs[i] = cbk_tensor_retain(tensor);
    }
    for (uint32_t i = 0; i < run->program->output_count && status != CBK_OK; i++) {
        cbk_tensor_release(&outputs[i]);
    }
    return status;
}

static cbk_status run_steps(struct run *run, cbk_tensor *const *inputs, cbk_tensor **outputs) {
    const cbk_ir_program *program = run->program;
    cbk_status status = check_capture(run);
    for (uint32_t i = 0; i < program->input_count && status == CBK_OK; i++) {
        status = take_input(run, i, inputs[i]);
    }
    for (uint32_t i = 0; i < program->step_count && status == CBK_OK; i++) {
        status = run_step(run, i);
    }
    return status == CBK_OK ? give_outputs(run, outputs) : status;
}

static void restore_random(struct run *run) {
    cbk_error reason = {.struct_size = sizeof reason};
    if (run->saved.struct_size == 0) return;
    cbk_last_error(&reason);
    if (cbk_random_set_state(run->stream, &run->saved) != CBK_OK) cbk_restore_error(&reason);
}

static cbk_status check_lists(const cbk_ir_program *program, cbk_tensor *const *inputs,
                              cbk_tensor **outputs) {
    cbk_status status = cbk_ir_check_program(program);
    if (status != CBK_OK) return status;
    if ((program->input_count != 0 && inputs == NULL) ||
        (program->output_count != 0 && outputs == NULL)) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "the list of %u %s is NULL",
                        (unsigned)(outputs == NULL ? program->output_count : program->input_count),
                        outputs == NULL ? "outputs" : "inputs");
    }
    for (uint32_t i = 0; i < program->output_count; i++) outputs[i] = NULL;
    return CBK_OK;
}

static cbk_status run_program(const cbk_ir_program *program, cbk_stream *stream,
                              cbk_tensor *const *inputs, cbk_tensor **outputs) {
    struct run run = {.program = program, .stream = stream};
    cbk_status status = check_lists(program, inputs, outputs);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status != CBK_OK) return status;
    run.tensors = calloc((size_t)program->value_count + 1, sizeof(cbk_tensor *));
    run.bases = calloc((size_t)program->buffer_count + 1, sizeof(cbk_tensor *));
    run.base_values = calloc((size_t)program->buffer_count + 1, sizeof *run.base_values);
    status = run.tensors != NULL && run.bases != NULL && run.base_values != NULL
                 ? run_steps(&run, inputs, outputs)
                 : cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory to run a program");
    restore_random(&run);
    for (uint32_t i = 0; run.tensors != NULL && i < program->value_count; i++) {
        cbk_tensor_release(&run.tensors[i]);
    }
    for (uint32_t i = 0; run.bases != NULL && i < program->buffer_count; i++) {
        cbk_tensor_release(&run.bases[i]);
    }
    free(run.tensors);
    free(run.bases);
    free(run.base_values);
    return status;
}

cbk_status cbk_ir_run(const cbk_ir_program *program, cbk_stream *stream, cbk_tensor *const *inputs,
                      cbk_tensor **outputs) {
    struct cbk_call former = cbk_call_begin("ir_run", CBK_OP_NONE);
    return cbk_call_end(former, run_program(program, stream, inputs, outputs));
}

// ---- inputs that fit ----------------------------------------------------------------------------

/// Alignment, which chooses kernels, is kept up to this many elements.
#define KEPT_OFFSET 64

static cbk_status make_strided(cbk_stream *stream, const cbk_tensor_meta *recorded,
                               cbk_tensor **out) {
    cbk_tensor_meta meta = *recorded;
    int64_t lowest = meta.offset, highest = meta.offset;
    for (uint32_t i = 0; i < meta.rank; i++) {
        const int64_t reach = (meta.shape[i] - 1) * meta.strides[i];
        if (reach > 0) highest += reach;
        if (reach < 0) lowest += reach;
    }
    const int64_t start = lowest % KEPT_OFFSET, elements = start + highest - lowest + 1;
    cbk_tensor *memory = NULL;
    cbk_status status = cbk_tensor_empty(stream, meta.dtype, 1, &elements, &memory);
    meta.offset += start - lowest;
    if (status == CBK_OK) status = cbk_tensor_make_view(memory->storage, &meta, out);
    cbk_tensor_release(&memory);
    return status;
}

static cbk_status make_input(const cbk_ir_program *program, cbk_stream *stream, uint32_t index,
                             const void *data, uint64_t size_bytes, cbk_tensor **out) {
    cbk_tensor *tensor = NULL;
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_ir_check_program(program);
    if (status == CBK_OK) status = cbk_check_stream(stream);
    if (status != CBK_OK) return status;
    if (index >= program->input_count) {
        return cbk_fail(CBK_ERROR_NOT_FOUND, 0, "there is no input %u among %u", (unsigned)index,
                        (unsigned)program->input_count);
    }
    const cbk_tensor_meta *meta = &program->values[program->inputs[index]].meta;
    // Elements that share memory cannot be written one by one: such an input is made row-major.
    const bool is_plain = meta->element_count == 0 || cbk_meta_overlaps_itself(meta);
    status = is_plain ? cbk_tensor_empty(stream, meta->dtype, meta->rank, meta->shape, &tensor)
                      : make_strided(stream, meta, &tensor);
    if (status == CBK_OK && data != NULL) {
        status = cbk_tensor_write(stream, tensor, data, size_bytes);
    }
    if (status == CBK_OK) {
        *out = tensor;
        tensor = NULL;
    }
    cbk_tensor_release(&tensor);
    return status;
}

cbk_status cbk_ir_make_input(const cbk_ir_program *program, cbk_stream *stream, uint32_t index,
                             const void *data, uint64_t size_bytes, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin("ir_make_input", CBK_OP_NONE);
    return cbk_call_end(former, make_input(program, stream, index, data, size_bytes, out));
}
