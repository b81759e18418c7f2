/// merge.c: runs of small launches of a graph become one launch.
///
/// A launch costs microseconds, a small operation less. While a stream captures, launchers note what
/// they launch; at the end of the capture, launches that follow each other directly become steps in
/// a table that one work-group walks (kernels/merged.cl). The steps call the operators of the
/// launches, in the same order with vectors of the same width, so that the bits stay the same.
#include "merge_run.h"

#include <string.h>

// ---- programs ------------------------------------------------------------------------------------

static bool has_reductions(const struct cbk_ocl_run *run) {
    for (uint32_t i = 0; i < run->kind_count; i++)
        if (run->kinds[i].is_reduction) return true;
    return false;
}

static void add_kinds(const struct cbk_ocl_run *run, bool is_reduction,
                      struct cbk_rt_text *defines) {
    for (uint32_t i = 0; i < run->kind_count; i++)
        if (run->kinds[i].is_reduction == is_reduction)
            cbk_rt_text_add(defines, "%s(%u,%s)", is_reduction ? "REDUCTION" : "KIND", (unsigned)i,
                            run->kinds[i].text);
}

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct cbk_ocl_run *run = spec->context;
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
    add_kinds(run, false, defines);
    if (!has_reductions(run)) return;
    cbk_rt_text_add(defines, " -DREDUCTIONS=");
    add_kinds(run, true, defines);
    if (run->has_rounds) cbk_rt_text_add(defines, " -DROUNDS");
}

/// FNV-1a over all that the defines depend on.
static uint64_t hash_run(const struct cbk_ocl_run *run, uint64_t hash) {
    for (uint32_t i = 0; i < run->kind_count; i++)
        for (const char *at = run->kinds[i].text; *at != '\0'; at++)
            hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    for (const char *at = run->word; at != NULL && *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    return (hash ^ (run->lanes << 2 | (uint32_t)run->has_rounds << 1 | run->caps->is_cpu)) *
           0x100000001b3u;
}

static struct cbk_rt_spec make_spec(const struct cbk_ocl_run *run) {
    return (struct cbk_rt_spec){
        .source = &cbk_kernel_merged,
        .entry = "merged_run",
        .key = {hash_run(run, 0xcbf29ce484222325u), hash_run(run, 0x9ae16a3b2f90404fu)},
        .describe = describe,
        .context = run};
}

// ---- a merged launch -----------------------------------------------------------------------------

/// Of the one work-group. Few different sizes: each is a compile on PoCL.
static size_t group_size(const struct cbk_ocl_run *run, const struct cbk_rt_kernel *kernel) {
    const uint32_t most = cbk_rt_kernel_max_work_group(kernel);
    size_t size = run->most_vectors > 256 ? 1024 : 256;
    if (run->caps->is_cpu) return 1;
    while (size > most && size > 1) size /= 2;
    return size;
}

static cbk_status replace(struct cbk_ocl_stream *stream, struct cbk_rt_graph *graph,
                          const struct cbk_ocl_run *run, uint32_t first,
                          const struct cbk_ocl_step *steps) {
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
    for (uint32_t i = 0; i < CBK_OCL_MERGE_BUFFERS; i++) // unused ones are never followed
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

static bool follows(const struct cbk_ocl_stream *stream, uint32_t first, uint32_t i) {
    const struct cbk_ocl_small_launch *launches = stream->small_launches;
    return i < stream->small_launch_count && launches[i].node == launches[first].node + (i - first);
}

/// What the first launch that is particular about it wants.
static uint32_t choose_lanes(const struct cbk_ocl_stream *stream, uint32_t first) {
    uint32_t lanes = 0;
    for (uint32_t i = first; lanes == 0 && follows(stream, first, i); i++)
        lanes = cbk_ocl_small_launch_lanes(stream->device->caps, &stream->small_launches[i]);
    return lanes != 0 ? lanes : 4;
}

/// The longest run from launch `first` on; its steps go to `steps`.
static void find_run(const struct cbk_ocl_stream *stream, uint32_t first, struct cbk_ocl_run *run,
                     struct cbk_ocl_step *steps) {
    *run = (struct cbk_ocl_run){.caps = stream->device->caps, .lanes = choose_lanes(stream, first)};
    for (uint32_t i = first; follows(stream, first, i); i++)
        if (!cbk_ocl_run_add(run, &stream->small_launches[i], &steps[i - first])) return;
}

void cbk_ocl_merge(struct cbk_ocl_stream *stream, struct cbk_rt_graph *graph,
                   uint32_t *start_node) {
    struct cbk_rt *rt = cbk_rt_device_process(stream->device->rt);
    const uint32_t count = stream->small_launch_count, original_start = *start_node;
    struct cbk_ocl_step *steps = NULL;
    uint32_t removed = 0, taken = 0;
    if (count > 1) steps = cbk_rt_host_alloc(rt, count * sizeof *steps);
    if (steps == NULL) return;
    for (uint32_t first = 0; first < count; first += taken) {
        const uint32_t node = stream->small_launches[first].node;
        struct cbk_ocl_run run;
        find_run(stream, first, &run, steps);
        taken = run.count > 0 ? run.count : 1;
        if (taken == 1 || replace(stream, graph, &run, node - removed, steps) != CBK_OK) continue;
        if (node < original_start) *start_node -= taken - 1;
        removed += taken - 1;
    }
    cbk_rt_host_free(rt, steps, count * sizeof *steps);
}

// ---- notes in a capture --------------------------------------------------------------------------

bool cbk_ocl_will_merge(const struct cbk_ocl_stream *stream, int64_t element_count) {
    const struct cbk_rt_caps *caps = stream->device->caps;
    // The kernel keeps its table and the states of reductions in local memory.
    const bool has_room = caps->is_cpu || caps->local_memory_bytes >= 24 << 10;
    return cbk_rt_is_capturing(stream->rt) && has_room && element_count <= CBK_OCL_MERGE_ELEMENTS;
}

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

/// The note for the newest node; NULL without host memory.
static struct cbk_ocl_small_launch *next_note(struct cbk_ocl_stream *stream) {
    if (!grow(stream)) return NULL;
    struct cbk_ocl_small_launch *launch = &stream->small_launches[stream->small_launch_count++];
    *launch = (struct cbk_ocl_small_launch){.node = cbk_rt_recorded_count(stream->rt) - 1};
    return launch;
}

void cbk_ocl_note_small_launch(struct cbk_ocl_stream *stream, const struct cbk_ocl_pointwise *op,
                               const struct cbk_ocl_nest *nest,
                               struct cbk_rt_block *const *blocks) {
    if (!cbk_ocl_will_merge(stream, nest->element_count) || op->is_indexed) return;
    if (nest->rank > 1 + CBK_OCL_MERGE_AXES || nest->needs_64bit) return;
    struct cbk_ocl_small_launch *launch = next_note(stream);
    if (launch == NULL) return;
    launch->as.pointwise.op = *op;
    launch->as.pointwise.nest = *nest;
    for (uint32_t k = 0; k <= op->input_count; k++) launch->blocks[k] = blocks[k];
}

void cbk_ocl_note_small_reduction(struct cbk_ocl_stream *stream,
                                  const struct cbk_ocl_small_reduction *reduction,
                                  struct cbk_rt_block *const blocks[3]) {
    if (!cbk_ocl_will_merge(stream, reduction->kept.count * reduction->reduced.count) ||
        !cbk_ocl_reduction_is_small(stream->device->caps, reduction))
        return;
    struct cbk_ocl_small_launch *launch = next_note(stream);
    if (launch == NULL) return;
    launch->is_reduction = true;
    launch->as.reduction = *reduction;
    for (uint32_t k = 0; k < 3; k++) launch->blocks[k] = blocks[k];
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
        struct cbk_ocl_run run = {.caps = &all_caps[i],
                                  .lanes = all_caps[i].is_cpu ? 16 : 4,
                                  .has_unary = true,
                                  .has_binary = true,
                                  .has_compare = true,
                                  .has_cast = true,
                                  .has_move = true,
                                  .has_backward = true,
                                  .has_rounds = !all_caps[i].is_cpu,
                                  .kind_count = 10,
                                  .kinds = {{false, "2,0,op_add_f32,f32,f32,f32,f32,f32"},
                                            {false, "1,R,op_sub_f32,f16,f16,f32,f32,f32"},
                                            {false, "1,0,op_exp_f32,bf16,bf16,f32,f32,f32"},
                                            {false, "2,0,op_less_i32,bool,i32,i32,f32,f32"},
                                            {false, "1,0,op_identity_u32,u32,u32,f32,f32,f32"},
                                            {true, "VALUE,op_mean,f16,f32,f16,f16"},
                                            {true, "PLACE,op_argmin,u64,u64,i64,i64"},
                                            {true, "PAIR,op_argmax,bf16,f32,bf16,i32"},
                                            {true, "TRUTH,op_all,bool,i32,bool,bool"},
                                            {true, "COUNT,op_count_nonzero,f32,i64,i64,i64"}}};
        struct cbk_rt_spec spec = make_spec(&run);
        visit(user_data, &spec);
    }
}
