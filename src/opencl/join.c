/// join.c: a product of a graph and what follows it become one launch.
///
/// While a stream captures, the product's launcher notes its operands, and the pointwise launcher
/// each launch that may be a step behind the newest product: an addition to its result, or an
/// activation of it. At the end of the capture it is known which of the results between nobody else
/// reads: the steps up to the last such are recorded once more as the product's epilogue, which
/// gives the same bits (kernels/include/matmul_epilogue.clh), and the new nodes take the old ones'
/// place.
#include "join.h"

#include "merge.h"

#include <string.h>

// ---- notes ---------------------------------------------------------------------------------------

static bool grow(struct cbk_ocl_stream *stream) {
    struct cbk_rt *rt = cbk_rt_device_process(stream->device->rt);
    const uint32_t capacity = stream->product_capacity, larger = capacity != 0 ? 2 * capacity : 8;
    const size_t size = sizeof(struct cbk_ocl_join *);
    if (stream->product_count < capacity) return true;
    struct cbk_ocl_join **grown = cbk_rt_host_alloc(rt, larger * size);
    if (grown == NULL) return false;
    if (capacity != 0) memcpy(grown, stream->products, capacity * size);
    cbk_rt_host_free(rt, stream->products, capacity * size);
    stream->products = grown;
    stream->product_capacity = larger;
    return true;
}

/// A place for a note; that of a product that nothing followed serves again.
static struct cbk_ocl_join *next_note(struct cbk_ocl_stream *stream) {
    struct cbk_rt *rt = cbk_rt_device_process(stream->device->rt);
    const uint32_t count = stream->product_count;
    if (count != 0 && stream->products[count - 1]->step_count == 0)
        return stream->products[count - 1];
    if (!grow(stream)) return NULL;
    struct cbk_ocl_join *join = cbk_rt_host_alloc(rt, sizeof *join);
    if (join != NULL) stream->products[stream->product_count++] = join;
    return join;
}

static void keep_operand(struct cbk_ocl_operand *operand, cbk_tensor_meta *meta) {
    if (operand->meta == NULL) return;
    *meta = *operand->meta;
    operand->meta = meta;
}

void cbk_ocl_note_product(struct cbk_ocl_stream *stream, uint32_t first_node,
                          const struct cbk_ocl_matmul_operands *operands,
                          const struct cbk_ocl_epilogue *epilogue) {
    struct cbk_ocl_join *join = next_note(stream);
    if (join == NULL) return;
    join->first_node = first_node;
    join->node_count = cbk_rt_recorded_count(stream->rt) - first_node;
    join->step_count = 0;
    join->operands = *operands;
    join->activation = *epilogue;
    keep_operand(&join->operands.a, &join->metas[0]);
    keep_operand(&join->operands.b, &join->metas[1]);
    keep_operand(&join->operands.out, &join->metas[2]);
    for (int k = 0; k < CBK_OCL_ADDED; k++)
        keep_operand(&join->operands.added[k], &join->metas[3 + k]);
}

void cbk_ocl_forget_products(struct cbk_ocl_stream *stream) {
    struct cbk_rt *rt = cbk_rt_device_process(stream->device->rt);
    for (uint32_t i = 0; i < stream->product_count; i++)
        cbk_rt_host_free(rt, stream->products[i], sizeof *stream->products[i]);
    cbk_rt_host_free(rt, stream->products, stream->product_capacity * sizeof *stream->products);
    stream->products = NULL;
    stream->product_count = stream->product_capacity = 0;
}

// ---- steps ---------------------------------------------------------------------------------------

/// What the epilogue has so far: of the product itself and of the steps noted.
struct taken {
    bool slots[CBK_OCL_ADDED], activation;
};

static struct taken find_taken(const struct cbk_ocl_join *join) {
    struct taken taken = {.activation = join->activation.activation != NULL};
    for (int k = 0; k < CBK_OCL_ADDED; k++) taken.slots[k] = join->operands.added[k].meta != NULL;
    for (uint32_t i = 0; i < join->step_count; i++) {
        taken.activation |= join->steps[i].is_activation;
        if (!join->steps[i].is_activation) taken.slots[join->steps[i].slot] = true;
    }
    return taken;
}

static const struct cbk_ocl_operand *result_of(const struct cbk_ocl_join *join, uint32_t steps) {
    return steps == 0 ? &join->operands.out : &join->steps[steps - 1].out;
}

/// The same shape, dtype and strides.
static bool is_alike(const cbk_tensor_meta *a, const cbk_tensor_meta *b) {
    bool is_same = a->dtype == b->dtype && a->rank == b->rank;
    for (uint32_t i = 0; i < a->rank && is_same; i++)
        is_same =
            a->shape[i] == b->shape[i] && (a->shape[i] == 1 || a->strides[i] == b->strides[i]);
    return is_same;
}

static bool is_same_view(const struct cbk_ocl_operand *a, const struct cbk_ocl_operand *b) {
    return a->block == b->block && a->offset == b->offset && is_alike(a->meta, b->meta);
}

static bool is_activation(const struct cbk_ocl_pointwise *op) {
    const cbk_opcode opcode = op->id & 0xffff;
    return (opcode >= CBK_OP_RELU && opcode <= CBK_OP_THRESHOLDED_RELU) || opcode == CBK_OP_TANH;
}

/// Is it an operation that an epilogue has room for? Fills in all but the output.
static bool make_step(const struct cbk_ocl_join *join, const struct cbk_ocl_pointwise *op,
                      const struct cbk_ocl_operand *operands, struct cbk_ocl_join_step *step) {
    const struct cbk_ocl_operand *result = result_of(join, join->step_count);
    const struct taken taken = find_taken(join);
    *step = (struct cbk_ocl_join_step){.op = *op, .is_activation = is_activation(op)};
    if (taken.slots[CBK_OCL_RESIDUAL]) return false;
    if (step->is_activation) return !taken.activation && is_same_view(&operands[1], result);
    if (op->id != CBK_OP_ADD) return false;
    const uint32_t other = is_same_view(&operands[1], result) ? 2 : 1;
    if (!is_same_view(&operands[3 - other], result)) return false;
    step->slot = taken.activation || taken.slots[CBK_OCL_BIAS] ? CBK_OCL_RESIDUAL : CBK_OCL_BIAS;
    step->added = operands[other];
    return true;
}

void cbk_ocl_note_step(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                       const struct cbk_ocl_operand *operands) {
    struct cbk_ocl_join *join =
        stream->product_count != 0 ? stream->products[stream->product_count - 1] : NULL;
    struct cbk_ocl_join_step step;
    if (join == NULL || join->step_count == CBK_OCL_JOIN_STEPS) return;
    // Its node must follow those of the product directly.
    const uint32_t end = join->first_node + join->node_count + join->step_count;
    if (cbk_rt_recorded_count(stream->rt) != end + 1) return;
    if (!make_step(join, op, operands, &step) ||
        !is_alike(operands[0].meta, join->operands.out.meta))
        return;
    struct cbk_ocl_join_step *kept = &join->steps[join->step_count++];
    *kept = step;
    kept->out = operands[0];
    keep_operand(&kept->out, &kept->out_meta);
    keep_operand(&kept->added, &kept->added_meta);
}

// ---- joining -------------------------------------------------------------------------------------

/// Does nothing but step `index` read what it starts from?
static bool is_free(const struct cbk_rt_graph *graph, const struct cbk_ocl_join *join,
                    uint32_t index) {
    const struct cbk_ocl_operand *from = result_of(join, index);
    if (is_same_view(from, &join->steps[index].out)) return true; // it is overwritten
    return cbk_rt_graph_is_spent(graph, from->block, join->first_node + join->node_count + index);
}

/// The product with its first steps. False: not as one launch.
static bool make_product(const struct cbk_ocl_join *join, uint32_t steps,
                         struct cbk_ocl_product *out) {
    struct cbk_ocl_matmul_operands operands = join->operands;
    const struct cbk_ocl_epilogue *activation = &join->activation;
    operands.out = *result_of(join, steps);
    for (uint32_t i = 0; i < steps; i++)
        if (!join->steps[i].is_activation)
            operands.added[join->steps[i].slot] = join->steps[i].added;
    const struct cbk_rt_block *const block = operands.out.block;
    bool is_apart = operands.a.block != block && operands.b.block != block;
    for (int k = 0; k < CBK_OCL_ADDED; k++) is_apart = is_apart && operands.added[k].block != block;
    if (!is_apart) return false; // the kernel would read what it has overwritten

    cbk_ocl_product_init(&operands, out);
    out->epilogue.activation = activation->activation;
    out->epilogue.activation_id = activation->activation_id;
    out->epilogue.constant_count = activation->constant_count;
    memcpy(out->epilogue.args.constants, activation->args.constants,
           sizeof activation->args.constants);
    for (uint32_t i = 0; i < steps; i++)
        if (join->steps[i].is_activation)
            cbk_ocl_epilogue_take(&join->steps[i].op, out->out_dtype, &out->epilogue);
    return !out->epilogue.is_lost;
}

/// Small launches that were noted: those in the replaced nodes go, those behind move up.
static void renumber(struct cbk_ocl_stream *stream, uint32_t first, uint32_t count, uint32_t made) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < stream->small_launch_count; i++) {
        struct cbk_ocl_small_launch *launch = &stream->small_launches[i];
        if (launch->node >= first && launch->node < first + count) continue;
        if (launch->node >= first + count) launch->node -= count - made;
        if (kept != i) stream->small_launches[kept] = *launch;
        kept++;
    }
    stream->small_launch_count = kept;
}

static void join_product(struct cbk_ocl_stream *stream, struct cbk_rt_graph *graph,
                         const struct cbk_ocl_join *join, uint32_t *start_node) {
    struct cbk_ocl_product product;
    uint32_t steps = 0;
    while (steps < join->step_count && is_free(graph, join, steps)) steps++;
    while (steps > 0 && !make_product(join, steps, &product)) steps--;
    if (steps == 0) return;
    const uint32_t first = join->first_node, count = join->node_count + steps;
    const uint32_t small_launches = stream->small_launch_count;
    cbk_rt_graph_begin_edit(graph);
    const cbk_status status = cbk_ocl_matmul_multiply(stream, &product);
    stream->small_launch_count = small_launches; // copies of operands are the product's
    const uint32_t made = cbk_rt_graph_end_edit(graph, first, status == CBK_OK ? count : 0);
    if (status != CBK_OK || made == count) return;
    renumber(stream, first, count, made);
    if (*start_node >= first + count) *start_node -= count - made;
}

void cbk_ocl_join(struct cbk_ocl_stream *stream, struct cbk_rt_graph *graph, uint32_t *start_node) {
    // The last ones first: the nodes of the others stay where they are.
    for (uint32_t i = stream->product_count; i-- > 0;)
        join_product(stream, graph, stream->products[i], start_node);
}
