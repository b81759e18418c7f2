// execute.c: the one road of every operation: read the descriptor, validate, infer, make the
// outputs, call the backend.
#include "core.h"

#include <string.h>

/// An operation on its way: the caller's descriptor in this version's form, and what became of it.
struct execution {
    cbk_device *device;
    cbk_op op;
    const struct cbk_row *row;
    struct cbk_inference inference;
};

// ---- reading the descriptor ---------------------------------------------------------------------

static cbk_status read_op(const cbk_op *given, cbk_op *op) {
    if (given == NULL) return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "op is NULL");
    memset(op, 0, sizeof *op);
    if (given->struct_size == sizeof *op) { // the usual case, without a loop
        *op = *given;
    } else {
        cbk_status status = cbk_read_struct(given, "cbk_op", op, (uint32_t)sizeof *op);
        if (status != CBK_OK) return status;
    }
    return CBK_OK;
}

static cbk_status check_counts(const cbk_op *op, const cbk_op_info *info) {
    if (op->flags != 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "flags %u are unknown", (unsigned)op->flags);
    }
    if (op->input_count < info->min_inputs || op->input_count > info->max_inputs) {
        return cbk_fail(
            CBK_ERROR_INVALID_ARGUMENT, 0, "%u inputs; it takes %s%u", (unsigned)op->input_count,
            info->min_inputs != info->max_inputs ? "at least " : "", (unsigned)info->min_inputs);
    }
    if (op->output_count != info->output_count) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%u outputs; it has %u",
                        (unsigned)op->output_count, (unsigned)info->output_count);
    }
    if (op->outputs == NULL || (op->input_count != 0 && op->inputs == NULL)) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "the list of %s is NULL",
                        op->outputs == NULL ? "outputs" : "inputs");
    }
    if (op->input_count < 64 && op->donate >> op->input_count != 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "donate is 0x%llx for %u inputs",
                        (unsigned long long)op->donate, (unsigned)op->input_count);
    }
    return CBK_OK;
}

static cbk_status fail_operand(const char *what, uint32_t index, const cbk_tensor *tensor,
                               const cbk_device *device) {
    if (tensor == NULL) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s %u is NULL", what, (unsigned)index);
    }
    if (!cbk_object_is(tensor, CBK_TAG_TENSOR)) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "%s %u (%p) is not a live tensor", what,
                        (unsigned)index, (const void *)tensor);
    }
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                    "%s %u lives on device %p, the operation runs on device %p", what,
                    (unsigned)index, (void *)tensor->storage->device, (const void *)device);
}

static bool is_operand(const cbk_tensor *tensor, const cbk_device *device) {
    return cbk_object_is(tensor, CBK_TAG_TENSOR) && tensor->storage->device == device;
}

/// May input i be NULL?
static bool is_optional(const cbk_op_info *info, uint32_t i) {
    return (info->flags & CBK_ROW_OPTIONAL) != 0 && i >= info->min_inputs;
}

static cbk_status check_operands(const struct execution *run) {
    const cbk_op *op = &run->op;
    for (uint32_t i = 0; i < op->input_count; i++) {
        const cbk_tensor *input = op->inputs[i];
        if (input == NULL && is_optional(&run->row->info, i)) continue;
        if (!is_operand(input, run->device)) return fail_operand("input", i, input, run->device);
        if (input->meta.layout != 0 && op->opcode != CBK_OP_COPY) {
            return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "input %u has private layout %u", (unsigned)i,
                            (unsigned)input->meta.layout);
        }
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        const cbk_tensor *output = op->outputs[i];
        if (output == NULL) continue;
        if (!is_operand(output, run->device)) return fail_operand("output", i, output, run->device);
    }
    return CBK_OK;
}

static cbk_status read_params(struct execution *run) {
    const uint32_t known_size = run->row->info.params_size;
    union cbk_params *params = &run->inference.params;
    const cbk_op *op = &run->op;
    memset(params, 0, sizeof *params);
    if (op->params == NULL) {
        params->struct_size = known_size;
        return CBK_OK;
    }
    uint32_t size = 0;
    if (op->params_size >= sizeof size) memcpy(&size, op->params, sizeof size);
    if (known_size == 0 || size > op->params_size) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                        "params of %u bytes with struct_size %u; it takes %u bytes",
                        (unsigned)op->params_size, (unsigned)size, (unsigned)known_size);
    }
    return cbk_read_struct(op->params, "params", params, known_size);
}

/// Everything up to the output's metadata.
static cbk_status prepare(struct execution *run, cbk_device *device, const cbk_op *given) {
    cbk_op *op = &run->op;
    run->device = device;
    cbk_status status = read_op(given, op);
    if (status != CBK_OK) return status;
    run->row = cbk_row_of(op->opcode);
    if (run->row == NULL) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "opcode 0x%04x is unknown",
                        (unsigned)op->opcode);
    }
    cbk_call_begin(run->row->info.name, op->opcode); // the caller puts the former one back
    status = check_counts(op, &run->row->info);
    if (status == CBK_OK) status = check_operands(run);
    if (status == CBK_OK) status = read_params(run);
    if (status != CBK_OK) return status;

    struct cbk_inference *inference = &run->inference;
    inference->info = &run->row->info;
    inference->device = device;
    inference->input_count = op->input_count;
    inference->inputs = op->inputs;
    inference->given = op->outputs;
    inference->needs_copy = false;
    return run->row->infer(inference);
}

// ---- outputs that are written into --------------------------------------------------------------

static bool is_same_view(const cbk_tensor *a, const cbk_tensor *b) {
    const cbk_tensor_meta *x = &a->meta, *y = &b->meta;
    if (a == b) return true;
    if (x->offset != y->offset || !cbk_meta_same_shape(x, y)) return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (x->shape[i] != 1 && x->strides[i] != y->strides[i]) return false;
    }
    return true; // views of one storage have one dtype
}

static cbk_status check_aliases(const struct execution *run, const cbk_tensor *output) {
    const uint32_t flags = run->row->info.flags;
    for (uint32_t i = 0; i < run->op.input_count; i++) {
        const cbk_tensor *input = run->op.inputs[i];
        if (input == NULL || input->storage != output->storage) continue;
        const bool in_place =
            (flags & CBK_ROW_POINTWISE) != 0 || ((flags & CBK_ROW_UPDATE) != 0 && i == 0);
        if (in_place && is_same_view(input, output)) continue;
        if (!cbk_meta_overlap(&input->meta, &output->meta)) continue;
        char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_ALIASING, 0,
                        "the output, %s at offset %lld, shares memory with input %u, %s at offset "
                        "%lld",
                        cbk_shape_text(output->meta.rank, output->meta.shape, a),
                        (long long)output->meta.offset, (unsigned)i,
                        cbk_shape_text(input->meta.rank, input->meta.shape, b),
                        (long long)input->meta.offset);
    }
    return CBK_OK;
}

static cbk_status check_given_output(const struct execution *run, const cbk_tensor *output,
                                     const cbk_tensor_meta *meta) {
    const cbk_tensor_meta *given = &output->meta;
    if (given->dtype != meta->dtype) {
        return cbk_fail(CBK_ERROR_DTYPE, 0, "the output is %s, the result %s",
                        cbk_dtype_name(given->dtype), cbk_dtype_name(meta->dtype));
    }
    if (!cbk_meta_same_shape(given, meta)) {
        char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_SHAPE, 0, "the output is %s, the result %s",
                        cbk_shape_text(given->rank, given->shape, a),
                        cbk_shape_text(meta->rank, meta->shape, b));
    }
    if (given->layout != 0) {
        return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "the output has private layout %u",
                        (unsigned)given->layout);
    }
    if (!cbk_meta_is_contiguous(given) && cbk_meta_overlaps_itself(given)) {
        char a[CBK_SHAPE_TEXT], b[CBK_SHAPE_TEXT];
        return cbk_fail(CBK_ERROR_ALIASING, 0, "the output, %s with strides %s, overlaps in itself",
                        cbk_shape_text(given->rank, given->shape, a),
                        cbk_shape_text(given->rank, given->strides, b));
    }
    return check_aliases(run, output);
}

/// Outputs that are written into lie apart.
static cbk_status check_outputs_apart(const struct execution *run, uint32_t index) {
    const cbk_tensor *output = run->op.outputs[index];
    for (uint32_t i = 0; i < index; i++) {
        const cbk_tensor *other = run->op.outputs[i];
        if (other == NULL || other->storage != output->storage) continue;
        if (!cbk_meta_overlap(&other->meta, &output->meta)) continue;
        return cbk_fail(CBK_ERROR_ALIASING, 0, "outputs %u and %u share memory", (unsigned)i,
                        (unsigned)index);
    }
    return CBK_OK;
}

static cbk_status check_given_outputs(const struct execution *run) {
    for (uint32_t i = 0; i < run->op.output_count; i++) {
        if (run->op.outputs[i] == NULL) continue;
        if ((run->row->info.flags & CBK_ROW_VIEW) != 0) {
            return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                            "output %u is given, but a view is always made", (unsigned)i);
        }
        cbk_status status = check_given_output(run, run->op.outputs[i], &run->inference.outputs[i]);
        if (status == CBK_OK) status = check_outputs_apart(run, i);
        if (status != CBK_OK) return status;
    }
    return CBK_OK;
}

// ---- donation -----------------------------------------------------------------------------------

/// A reference can be given away once; more bits for one tensor need more references.
static cbk_status check_donation(const cbk_op *op) {
    for (uint32_t i = 0; i < op->input_count && i < 64; i++) {
        if ((op->donate >> i & 1) == 0) continue;
        if (op->inputs[i] == NULL) {
            return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "input %u is donated and NULL",
                            (unsigned)i);
        }
        unsigned times = 1;
        for (uint32_t k = i + 1; k < op->input_count && k < 64; k++) {
            times += (op->donate >> k & 1) != 0 && op->inputs[k] == op->inputs[i];
        }
        unsigned references =
            atomic_load_explicit(&op->inputs[i]->object.references, memory_order_relaxed);
        if (times > references) {
            return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0,
                            "input %u is donated %u times and has %u references", (unsigned)i,
                            times, references);
        }
    }
    return CBK_OK;
}

/// The output may live in input i: nobody else can see it, and it has the right form.
static bool can_reuse(const struct execution *run, const cbk_stream *stream, uint32_t i,
                      const cbk_tensor_meta *meta) {
    const cbk_tensor *input = run->op.inputs[i];
    const struct cbk_storage *storage = input->storage;
    const uint32_t flags = run->row->info.flags;
    if ((flags & CBK_ROW_POINTWISE) == 0) {
        if ((flags & CBK_ROW_UPDATE) == 0 || i != 0) return false;
        for (uint32_t k = 1; k < run->op.input_count; k++) {
            if (run->op.inputs[k] == input) return false;
        }
    }
    if (!cbk_tensor_is_unique(input) || input->meta.dtype != meta->dtype) return false;
    if (stream->capture != NULL && storage->capture != stream->capture) return false;
    if (cbk_tensor_storage(input) == NULL || !cbk_meta_same_shape(&input->meta, meta)) return false;
    for (uint32_t k = 0; k < meta->rank; k++) {
        if (meta->shape[k] != 1 && meta->strides[k] != input->meta.strides[k]) return false;
    }
    return true;
}

static void take_donations(const cbk_op *op) {
    for (uint32_t i = 0; i < op->input_count && i < 64; i++) {
        if ((op->donate >> i & 1) == 0) continue;
        cbk_tensor *input = op->inputs[i];
        cbk_tensor_release(&input);
    }
}

// ---- running ------------------------------------------------------------------------------------

static cbk_status make_output(struct execution *run, cbk_stream *stream, uint32_t index,
                              cbk_tensor **out) {
    cbk_tensor_meta *meta = &run->inference.outputs[index];
    for (uint32_t i = 0; run->op.donate != 0 && i < run->op.input_count && i < 64; i++) {
        if ((run->op.donate >> i & 1) == 0 || !can_reuse(run, stream, i, meta)) continue;
        meta->offset = run->op.inputs[i]->meta.offset;
        return cbk_tensor_make_view(run->op.inputs[i]->storage, meta, out);
    }
    return cbk_tensor_make(stream, meta, out);
}

static cbk_status check_contents(const struct execution *run, const cbk_stream *stream) {
    for (uint32_t i = 0; i < run->op.input_count; i++) {
        const cbk_tensor *input = run->op.inputs[i];
        if (input == NULL) continue;
        const cbk_status status = cbk_check_replayed(stream, input);
        if (status != CBK_OK) return status;
        if (!cbk_tensor_is_poisoned(input)) continue;
        for (uint32_t k = 0; k < run->op.output_count; k++) {
            cbk_tensor *output = run->op.outputs[k];
            if (output != NULL) cbk_tensor_pass_poison(input, output);
        }
        return cbk_fail_poisoned(input, "an input");
    }
    return CBK_OK;
}

/// Calls the backend with the op in its normal form.
static cbk_status call_backend(struct execution *run, cbk_stream *stream, cbk_tensor *const *inputs,
                               cbk_tensor **outputs) {
    cbk_op op = {
        .struct_size = sizeof op,
        .opcode = run->op.opcode,
        .input_count = run->op.input_count,
        .output_count = run->op.output_count,
        .inputs = inputs,
        .outputs = outputs,
        .params = &run->inference.params,
        .params_size = run->row->info.params_size,
    };
    return cbk_stream_vtable(stream)->execute(cbk_stream_self(stream), stream->handle, &op);
}

static cbk_status run_operation(struct execution *run, cbk_stream *stream) {
    cbk_tensor *outputs[CBK_MAX_OUTPUTS] = {NULL};
    const uint32_t count = run->op.output_count;
    bool is_empty = true;
    cbk_status status = check_contents(run, stream);
    for (uint32_t i = 0; i < count && status == CBK_OK; i++) {
        if (run->op.outputs[i] != NULL) {
            outputs[i] = run->op.outputs[i];
            cbk_tensor_keep_poison(outputs[i]);
        } else {
            status = make_output(run, stream, i, &outputs[i]);
        }
        is_empty = is_empty && run->inference.outputs[i].element_count == 0;
    }
    if (status == CBK_OK && !is_empty) {
        status = call_backend(run, stream, run->op.inputs, outputs);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (run->op.outputs[i] != NULL) {
            if (status == CBK_OK && cbk_tensor_is_poisoned(outputs[i])) cbk_tensor_heal(outputs[i]);
        } else if (status == CBK_OK) {
            run->op.outputs[i] = outputs[i];
        } else {
            cbk_tensor_release(&outputs[i]);
        }
    }
    return status;
}

/// A dense copy of x, for a reshape that no strides can express.
static cbk_status copy_input(cbk_stream *stream, cbk_tensor *x, cbk_tensor **out) {
    const cbk_op op = {.struct_size = sizeof op,
                       .opcode = CBK_OP_COPY,
                       .input_count = 1,
                       .output_count = 1,
                       .inputs = &x,
                       .outputs = out};
    return cbk_execute(stream, &op);
}

static cbk_status make_view(struct execution *run, cbk_stream *stream) {
    const cbk_tensor_meta *meta = &run->inference.outputs[0];
    cbk_tensor *source = run->op.inputs[0];
    cbk_tensor *copy = NULL, *view = NULL;
    cbk_status status = CBK_OK;
    if (run->inference.needs_copy) {
        status = copy_input(stream, source, &copy);
        if (status != CBK_OK) return status;
        source = copy;
    }
    status = meta->element_count != 0 ? cbk_tensor_make_view(source->storage, meta, &view)
                                      : cbk_tensor_make(stream, meta, &view);
    if (status == CBK_OK && (cbk_stream_vtable(stream)->flags & CBK_BACKEND_SEES_VIEWS) != 0) {
        status = call_backend(run, stream, &source, &view);
    }
    if (status == CBK_OK) {
        run->op.outputs[0] = view;
        view = NULL;
    }
    cbk_tensor_release(&view);
    cbk_tensor_release(&copy);
    return status;
}

static cbk_status execute(cbk_stream *stream, const cbk_op *given) {
    struct execution run;
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK) status = prepare(&run, stream->device, given);
    if (status == CBK_OK) status = check_given_outputs(&run);
    if (status == CBK_OK && run.op.donate != 0) status = check_donation(&run.op);
    if (status != CBK_OK) return status;

    if (!atomic_load_explicit(&stream->device->started, memory_order_relaxed)) {
        atomic_store_explicit(&stream->device->started, true, memory_order_relaxed);
    }
    status = (run.row->info.flags & CBK_ROW_VIEW) != 0 ? make_view(&run, stream)
                                                       : run_operation(&run, stream);
    if (status == CBK_OK && run.op.donate != 0) take_donations(&run.op);
    return status;
}

cbk_status cbk_execute(cbk_stream *stream, const cbk_op *op) {
    struct cbk_call former = cbk_call_begin("execute", CBK_OP_NONE);
    return cbk_call_end(former, execute(stream, op));
}

// ---- questions ----------------------------------------------------------------------------------

static cbk_status supports(cbk_device *device, const cbk_op *given) {
    struct execution run;
    cbk_status status = cbk_check_device(device);
    if (status == CBK_OK) status = prepare(&run, device, given);
    if (status == CBK_OK) status = check_given_outputs(&run);
    const cbk_vtable *vtable = status == CBK_OK ? cbk_device_vtable(device) : NULL;
    if (status != CBK_OK || vtable->supports_op == NULL) return status;

    struct cbk_storage_and_tensor memory[CBK_MAX_OUTPUTS];
    cbk_tensor *outputs[CBK_MAX_OUTPUTS];
    for (uint32_t i = 0; i < run.op.output_count; i++) {
        cbk_tensor_make_local(device, &run.inference.outputs[i], &memory[i]);
        outputs[i] = &memory[i].tensor;
    }
    cbk_op op = run.op;
    op.outputs = outputs;
    op.params = &run.inference.params;
    op.params_size = run.row->info.params_size;
    op.donate = 0;
    if ((run.row->info.flags & CBK_ROW_VIEW) != 0) {
        if (!run.inference.needs_copy) return CBK_OK;
        cbk_tensor_meta dense = op.inputs[0]->meta;
        cbk_meta_row_major(&dense);
        dense.offset = 0;
        memory[0].tensor.meta = dense;
        op.opcode = CBK_OP_COPY;
        op.params_size = 0;
    }
    return vtable->supports_op(device->backend->self, device->handle, &op);
}

cbk_status cbk_supports_op(cbk_device *device, const cbk_op *op) {
    struct cbk_call former = cbk_call_begin("supports_op", CBK_OP_NONE);
    return cbk_call_end(former, supports(device, op));
}
