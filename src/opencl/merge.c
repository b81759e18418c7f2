/// merge.c: runs of small pointwise launches of a graph become one launch.
///
/// A launch costs microseconds, a small operation less. While a stream captures, the pointwise
/// launcher notes what it launches; at the end of the capture, launches that follow each other
/// directly become steps in a table that one work-group walks (kernels/merged.cl). The steps call
/// the operators of the launches with vectors of the same width, so that the bits stay the same.
#include "merge.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST_ELEMENTS = 8191, ///< of a step: below what the CPU form gives to more than one work-item
    MOST_OUTER_AXES = 4,
    MOST_KINDS = 8,
    MOST_BUFFERS = 8,
    MOST_TOUCHES = 48, ///< remembered between two barriers
    KIND_TEXT = 112,
    OPERANDS = 1 + CBK_OCL_POINTWISE_INPUTS
};

/// As in merged.cl.
struct step {
    int64_t strides[OPERANDS][MOST_OUTER_AXES];
    int64_t inner_strides[OPERANDS];
    int64_t offsets[OPERANDS];
    uint64_t scalars[2];
    int32_t shape[MOST_OUTER_AXES];
    int32_t buffers[OPERANDS];
    int32_t inner, per_row, vectors;
    int32_t kind, outer_rank, is_vector, needs_barrier, reserved;
};
_Static_assert(sizeof(struct step) == 272 && OPERANDS == 4, "the kernel's layout has no padding");

/// Memory that steps since the last barrier have used.
struct touch {
    const void *buffer;
    int64_t begin, end; ///< bytes
    cbk_dtype dtype;
    bool is_dense; ///< element i is of the work-item that has element i of the step
    bool is_write;
};

/// A run in the making.
struct run {
    const struct cbk_rt_caps *caps;
    uint32_t lanes;
    uint32_t count; ///< steps
    int32_t most_vectors;
    const char *word; ///< class of all operators; NULL: several
    bool has_unary, has_binary, has_compare, has_cast, has_move, has_backward;
    uint32_t kind_count;
    char kinds[MOST_KINDS][KIND_TEXT];
    uint32_t buffer_count;
    const void *buffers[MOST_BUFFERS];
    struct cbk_rt_block *blocks[MOST_BUFFERS]; ///< one in each buffer
    int64_t dense_length; ///< of the steps since the last barrier; 0: they are not dense
    uint32_t touch_count;
    struct touch touches[MOST_TOUCHES];
};

// ---- programs ------------------------------------------------------------------------------------

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct run *run = spec->context;
    cbk_rt_text_add(defines, " -DW=%u", (unsigned)run->lanes);
    if (!run->caps->is_cpu) cbk_rt_text_add(defines, " -DGPU_FORM -DALIGNED");
    if (run->word != NULL) cbk_rt_text_add(defines, " -DONLY_%s", run->word);
    if (run->has_unary) cbk_rt_text_add(defines, " -DUNARY");
    if (run->has_binary) cbk_rt_text_add(defines, " -DBINARY");
    if (run->has_compare) cbk_rt_text_add(defines, " -DCOMPARE");
    if (run->has_cast) cbk_rt_text_add(defines, " -DCAST");
    if (run->has_move) cbk_rt_text_add(defines, " -DMOVE");
    if (run->has_backward) cbk_rt_text_add(defines, " -DBACKWARD");
    cbk_rt_text_add(defines, " -DKINDS=");
    for (uint32_t i = 0; i < run->kind_count; i++)
        cbk_rt_text_add(defines, "KIND(%u,%s)", (unsigned)i, run->kinds[i]);
}

/// FNV-1a over all that the defines depend on.
static uint64_t hash_run(const struct run *run, uint64_t hash) {
    for (uint32_t i = 0; i < run->kind_count; i++)
        for (const char *at = run->kinds[i]; *at != '\0'; at++)
            hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    for (const char *at = run->word; at != NULL && *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    return (hash ^ (run->lanes << 1 | run->caps->is_cpu)) * 0x100000001b3u;
}

static struct cbk_rt_spec make_spec(const struct run *run) {
    return (struct cbk_rt_spec){
        .source = &cbk_kernel_merged,
        .entry = "merged_run",
        .key = {hash_run(run, 0xcbf29ce484222325u), hash_run(run, 0x9ae16a3b2f90404fu)},
        .describe = describe,
        .context = run};
}

// ---- steps ---------------------------------------------------------------------------------------

/// What tells operations apart: merged.cl's KIND after the number.
static bool write_kind(const struct cbk_ocl_pointwise *op, char text[KIND_TEXT]) {
    const char *words[OPERANDS + 1];
    for (uint32_t k = 0; k < OPERANDS; k++)
        words[k] = cbk_ocl_dtype_word(k <= op->input_count ? op->types[k] : CBK_DTYPE_F32);
    words[OPERANDS] = cbk_ocl_dtype_word(op->scalar_count != 0 ? op->scalar_type : CBK_DTYPE_F32);
    const char scalars = op->is_reversed ? 'R' : (char)('0' + op->scalar_count);
    const int length = snprintf(text, KIND_TEXT, "%u,%c,op_%s_%s%s%s,%s,%s,%s,%s,%s",
                                (unsigned)op->input_count, scalars, op->name, op->word,
                                op->names_result ? "_" : "", op->names_result ? words[0] : "",
                                words[0], words[1], words[2], words[3], words[4]);
    return length > 0 && length < KIND_TEXT;
}

static bool find_kind(struct run *run, const struct cbk_ocl_pointwise *op, int32_t *out) {
    char text[KIND_TEXT];
    uint32_t i = 0;
    if (!write_kind(op, text)) return false;
    while (i < run->kind_count && strcmp(run->kinds[i], text) != 0) i++;
    if (i == MOST_KINDS) return false;
    if (i == run->kind_count) memcpy(run->kinds[run->kind_count++], text, sizeof text);
    if (run->count == 0)
        run->word = op->word;
    else if (run->word != NULL && strcmp(run->word, op->word) != 0)
        run->word = NULL;
    run->has_unary |= strcmp(op->family, "UNARY") == 0;
    run->has_binary |= strcmp(op->family, "BINARY") == 0 || strcmp(op->family, "TERNARY") == 0;
    run->has_compare |= strcmp(op->family, "COMPARE") == 0;
    run->has_cast |= strcmp(op->family, "CAST") == 0 || strcmp(op->family, "CREATE") == 0;
    run->has_move |= strcmp(op->family, "MOVE") == 0;
    run->has_backward |= strcmp(op->family, "BACKWARD") == 0;
    *out = (int32_t)i;
    return true;
}

static bool find_buffer(struct run *run, struct cbk_rt_block *block, int32_t *out) {
    const void *buffer = cbk_rt_block_buffer(block);
    uint32_t i = 0;
    while (i < run->buffer_count && run->buffers[i] != buffer) i++;
    if (i == MOST_BUFFERS) return false;
    if (i == run->buffer_count) {
        run->buffers[i] = buffer;
        run->blocks[i] = block;
        run->buffer_count++;
    }
    *out = (int32_t)i;
    return true;
}

static bool touches_harm(const struct touch *a, const struct touch *b) {
    if (a->buffer != b->buffer || a->end <= b->begin || b->end <= a->begin) return false;
    if (!a->is_write && !b->is_write) return false;
    return !a->is_dense || !b->is_dense || a->begin != b->begin || a->dtype != b->dtype;
}

/// Must all work-items have ended what is before this step? Dense steps of one length may run on
/// as long as each work-item touches only what it has made itself.
static bool needs_barrier(struct run *run, const struct cbk_ocl_small_launch *launch) {
    const struct cbk_ocl_nest *nest = &launch->nest;
    struct touch touches[OPERANDS];
    const int64_t dense_length = nest->is_dense ? nest->element_count : 0;
    bool is_harmful = dense_length == 0 || dense_length != run->dense_length ||
                      run->touch_count + nest->operand_count > MOST_TOUCHES;
    for (uint32_t k = 0; k < nest->operand_count; k++) {
        const int64_t size = cbk_dtype_size(launch->op.types[k]);
        const int64_t length = nest->strides[k][0] == 1 ? nest->element_count : 1;
        touches[k] = (struct touch){.buffer = cbk_rt_block_buffer(launch->blocks[k]),
                                    .begin = nest->offsets[k] * size,
                                    .end = (nest->offsets[k] + length) * size,
                                    .dtype = launch->op.types[k],
                                    .is_dense = nest->strides[k][0] == 1,
                                    .is_write = k == 0};
        for (uint32_t i = 0; i < run->touch_count && !is_harmful; i++)
            is_harmful = touches_harm(&touches[k], &run->touches[i]);
    }
    if (is_harmful) run->touch_count = 0;
    for (uint32_t k = 0; k < nest->operand_count && dense_length != 0; k++)
        run->touches[run->touch_count++] = touches[k];
    run->dense_length = dense_length;
    return is_harmful && run->count > 0;
}

/// Adds a launch to the run. False if it does not fit; the run is then as before.
static bool add_step(struct run *run, const struct cbk_ocl_small_launch *launch,
                     struct step *step) {
    const struct cbk_ocl_nest *nest = &launch->nest;
    const uint32_t last = nest->rank - 1;
    struct run longer = *run;
    memset(step, 0, sizeof *step);
    if (!find_kind(&longer, &launch->op, &step->kind)) return false;
    for (uint32_t k = 0; k < nest->operand_count; k++) {
        if (!find_buffer(&longer, launch->blocks[k], &step->buffers[k])) return false;
        step->offsets[k] = nest->offsets[k];
        step->inner_strides[k] = nest->strides[k][last];
        for (uint32_t axis = 0; axis < last; axis++)
            step->strides[k][axis] = nest->strides[k][axis];
    }
    for (uint32_t axis = 0; axis < last; axis++) step->shape[axis] = (int32_t)nest->shape[axis];
    step->inner = (int32_t)nest->shape[last];
    step->outer_rank = (int32_t)last;
    step->per_row = (step->inner + (int32_t)run->lanes - 1) / (int32_t)run->lanes;
    step->vectors = step->per_row * (int32_t)(nest->element_count / step->inner);
    step->is_vector = cbk_ocl_pointwise_is_vector(run->caps, nest, run->lanes);
    memcpy(step->scalars, launch->op.scalars, sizeof step->scalars);
    step->needs_barrier = needs_barrier(&longer, launch);
    if (longer.most_vectors < step->vectors) longer.most_vectors = step->vectors;
    longer.count++;
    *run = longer;
    return true;
}

// ---- a merged launch -----------------------------------------------------------------------------

/// Of the one work-group. Few different sizes: each is a compile on PoCL.
static size_t group_size(const struct run *run, const struct cbk_rt_kernel *kernel) {
    const uint32_t most = cbk_rt_kernel_max_work_group(kernel);
    size_t size = run->most_vectors > 256 ? 1024 : 256;
    if (run->caps->is_cpu) return 1;
    while (size > most && size > 1) size /= 2;
    return size;
}

static cbk_status replace(struct cbk_ocl_stream *stream, struct cbk_rt_graph *graph,
                          const struct run *run, uint32_t first, const struct step *steps) {
    const uint64_t size = run->count * sizeof *steps;
    const int32_t count = (int32_t)run->count;
    struct cbk_rt_block *table = NULL;
    struct cbk_rt_launch launch = {.operation = "merged", .dimensions = 1};
    struct cbk_rt_spec spec = make_spec(run);
    cbk_status status = CBK_OK;
    RT_TRY(cbk_rt_kernel(stream->rt, &spec, &launch.kernel));
    RT_TRY(cbk_rt_alloc(stream->rt, size, &table));
    RT_TRY(cbk_rt_write(stream->rt, table, 0, steps, size));
    launch.local[0] = launch.global[0] = group_size(run, launch.kernel);
    for (uint32_t i = 0; i < MOST_BUFFERS; i++) // unused ones are never followed
        cbk_rt_arg_block(&launch, run->blocks[i < run->buffer_count ? i : 0], CBK_RT_READ);
    cbk_rt_arg_block(&launch, table, CBK_RT_READ);
    const int64_t table_offset = (int64_t)cbk_rt_block_offset(table);
    cbk_rt_arg_value(&launch, &table_offset, sizeof table_offset);
    cbk_rt_arg_value(&launch, &count, sizeof count);
    RT_TRY(cbk_rt_graph_replace(graph, first, run->count, &launch));
done:
    cbk_rt_free(stream->device->rt, &table);
    return status;
}

// ---- runs ----------------------------------------------------------------------------------------

/// The longest run from launch `first` on; its steps go to `steps`.
static void find_run(const struct cbk_ocl_stream *stream, uint32_t first, struct run *run,
                     struct step *steps) {
    const struct cbk_ocl_small_launch *launches = stream->small_launches;
    const struct cbk_rt_caps *caps = stream->device->caps;
    *run = (struct run){.caps = caps, .lanes = cbk_ocl_pointwise_lanes(caps, &launches[first].op)};
    for (uint32_t i = first; i < stream->small_launch_count; i++) {
        const struct cbk_ocl_small_launch *launch = &launches[i];
        if (launch->node != launches[first].node + (i - first)) return;
        if (cbk_ocl_pointwise_lanes(caps, &launch->op) != run->lanes) return;
        if (!add_step(run, launch, &steps[i - first])) return;
    }
}

void cbk_ocl_merge(struct cbk_ocl_stream *stream, struct cbk_rt_graph *graph,
                   uint32_t *start_node) {
    struct cbk_rt *rt = cbk_rt_device_process(stream->device->rt);
    const uint32_t count = stream->small_launch_count;
    const uint32_t original_start = *start_node;
    uint32_t removed = 0;
    struct step *steps = count > 1 ? cbk_rt_host_alloc(rt, count * sizeof *steps) : NULL;
    struct run run;
    if (steps == NULL) return;
    for (uint32_t first = 0; first<count; first += run.count> 0 ? run.count : 1) {
        const uint32_t node = stream->small_launches[first].node;
        find_run(stream, first, &run, steps);
        if (run.count < 2) continue;
        if (replace(stream, graph, &run, node - removed, steps) != CBK_OK) continue;
        if (node < original_start) *start_node -= run.count - 1;
        removed += run.count - 1;
    }
    cbk_rt_host_free(rt, steps, count * sizeof *steps);
}

// ---- notes in a capture --------------------------------------------------------------------------

static bool grow(struct cbk_ocl_stream *stream) {
    struct cbk_rt *rt = cbk_rt_device_process(stream->device->rt);
    const uint32_t capacity = stream->small_launch_capacity;
    const uint32_t larger = capacity != 0 ? 2 * capacity : 32;
    const size_t size = sizeof *stream->small_launches;
    if (stream->small_launch_count < capacity) return true;
    struct cbk_ocl_small_launch *grown = cbk_rt_host_alloc(rt, larger * size);
    if (grown == NULL) return false;
    if (capacity != 0) memcpy(grown, stream->small_launches, capacity * size);
    cbk_rt_host_free(rt, stream->small_launches, capacity * size);
    stream->small_launches = grown;
    stream->small_launch_capacity = larger;
    return true;
}

void cbk_ocl_note_small_launch(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                               const struct cbk_ocl_nest *nest,
                               struct cbk_rt_block *const *blocks) {
    if (nest->element_count > MOST_ELEMENTS || nest->rank > 1 + MOST_OUTER_AXES || op->is_indexed ||
        nest->needs_64bit || !grow(stream))
        return;
    struct cbk_ocl_small_launch *launch = &stream->small_launches[stream->small_launch_count++];
    *launch = (struct cbk_ocl_small_launch){
        .node = cbk_rt_recorded_count(stream->rt) - 1, .op = *op, .nest = *nest};
    for (uint32_t k = 0; k <= op->input_count; k++) launch->blocks[k] = blocks[k];
}

void cbk_ocl_forget_small_launches(struct cbk_ocl_stream *stream) {
    cbk_rt_host_free(cbk_rt_device_process(stream->device->rt), stream->small_launches,
                     stream->small_launch_capacity * sizeof *stream->small_launches);
    stream->small_launches = NULL;
    stream->small_launch_count = stream->small_launch_capacity = 0;
}

// ---- the list of programs --------------------------------------------------------------------------

void cbk_ocl_merged_programs(cbk_ocl_program_visitor visit, void *user_data) {
    static const struct cbk_rt_caps all_caps[] = {{.is_cpu = true}, {.is_cpu = false}};
    for (size_t i = 0; i < sizeof all_caps / sizeof *all_caps; i++) {
        struct run run = {.caps = &all_caps[i],
                          .lanes = all_caps[i].is_cpu ? 16 : 4,
                          .has_unary = true,
                          .has_binary = true,
                          .has_compare = true,
                          .has_cast = true,
                          .has_move = true,
                          .kind_count = 5,
                          .kinds = {"2,0,op_add_f32,f32,f32,f32,f32,f32",
                                    "1,R,op_sub_f32,f16,f16,f32,f32,f32",
                                    "1,0,op_exp_f32,bf16,bf16,f32,f32,f32",
                                    "2,0,op_less_i32,bool,i32,i32,f32,f32",
                                    "1,0,op_identity_u32,u32,u32,f32,f32,f32"}};
        struct cbk_rt_spec spec = make_spec(&run);
        visit(user_data, &spec);
    }
}
