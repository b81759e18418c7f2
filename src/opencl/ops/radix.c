/// radix.c: launches of kernels/radix_cpu.cl and kernels/radix_gpu.cl.
#include "axes.h"
#include "mover.h"
#include "pointwise.h"
#include "radix.h"

#define GROUP 256
#define DIGIT_BITS 8
#define CPU_DIGIT_BITS 11  ///< of keys of 32 bits or more: fewer passes over memory
#define LEAST_CHUNK 4096   ///< elements of a chunk, CPU form
#define LEAST_COLLECTED 64 ///< elements of a digit in a chunk, for which a CPU collects lines
#define MOST_TILES 8       ///< of a chunk, GPU form
#define COUNT_GROUPS 8     ///< of a compute unit, that count all digits of few rows
#define WARP_CAPABILITY 70 ///< of NVIDIA devices whose instructions are used
#define CHAIN_LENGTH (1 << 30)
#define CHAIN_WORDS (4 << DIGIT_BITS) ///< tickets, and what CHAIN_AHEAD reads before the states
#define OTHER_LOCAL (20 << 10)        ///< bytes besides elements and places: counters, masks, sums
#define NVIDIA_LOCAL (12 << 10)       ///< without masks
#define MOST_ELEMENTS 8
#define NVIDIA_ELEMENTS 16

enum { READS_PLACES = 1, WRITES_VALUES = 2, WRITES_PLACES = 4, WRITES_INDICES = 8 };

/// As in kernels/include/radix.clh.
struct radix_args {
    int64_t in, out, places_in, places_out, indices, counts;
    int64_t rows, length, chunk_length, chunks, shift, pass, passes;
    int64_t tickets, states, next_states;
    int64_t stream;
    int64_t what;
    uint64_t flip;
};

struct cbk_ocl_span cbk_ocl_span(struct cbk_rt_block *block, cbk_dtype dtype) {
    return (struct cbk_ocl_span){
        .block = block, .offset = (int64_t)(cbk_rt_block_offset(block) / cbk_dtype_size(dtype))};
}

// ---- programs -----------------------------------------------------------------------------------

struct program {
    cbk_dtype x, place, index;
    bool is_gpu, has_places;
    bool is_nvidia, is_chained; ///< GPU form
    uint32_t elements;          ///< of a work-item, GPU form
    uint32_t digit_bits;
};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct program *program = spec->context;
    cbk_rt_text_add(defines, " -DX=%s -DB=%s -DPLACE=%s -DHAS_PLACES=%d -DI=%s -DDIGIT_BITS=%u",
                    cbk_ocl_dtype_word(program->x),
                    cbk_ocl_dtype_word(cbk_ocl_bits_dtype(program->x)),
                    cbk_ocl_dtype_word(program->place), program->has_places,
                    cbk_ocl_dtype_word(program->index), (unsigned)program->digit_bits);
    if (!program->is_gpu) return;
    cbk_rt_text_add(defines, " -DK=%u -DCHAINED=%d%s", (unsigned)program->elements,
                    program->is_chained, program->is_nvidia ? " -DNVIDIA" : "");
}

static struct cbk_rt_spec make_spec(const struct program *program, const char *entry) {
    return (struct cbk_rt_spec){
        .source = program->is_gpu ? &cbk_kernel_radix_gpu : &cbk_kernel_radix_cpu,
        .entry = entry,
        .key = {(uint64_t)program->x | (uint64_t)program->place << 8 |
                    (uint64_t)program->index << 16 | (uint64_t)program->has_places << 24 |
                    (uint64_t)program->is_nvidia << 25 | (uint64_t)program->is_chained << 26,
                (uint64_t)program->elements | (uint64_t)program->digit_bits << 32},
        .describe = describe,
        .context = program};
}

static uint32_t digit_bits(const struct program *program) {
    return program->is_gpu || cbk_dtype_size(program->x) < 4 ? DIGIT_BITS : CPU_DIGIT_BITS;
}

/// As many as fit into local memory with their places, counters and masks, of those that registers
/// hold.
static uint32_t elements_of_item(const struct cbk_rt_caps *caps, const struct program *program) {
    const uint32_t place_bytes = program->has_places ? cbk_dtype_size(program->place) : 0;
    const uint32_t bytes = cbk_dtype_size(program->x) + place_bytes;
    const uint64_t other = program->is_nvidia ? NVIDIA_LOCAL : OTHER_LOCAL;
    const uint64_t room = caps->local_memory_bytes > other ? caps->local_memory_bytes - other : 0;
    uint32_t elements = program->is_nvidia ? NVIDIA_ELEMENTS : MOST_ELEMENTS;
    if (bytes > 8) elements /= 2;
    while (elements > 1 && (uint64_t)GROUP * elements * bytes > room) elements /= 2;
    return elements;
}

/// Work-groups may wait for others that have started: where these go on, and short of the number
/// that a state has room for.
static bool may_chain(const struct cbk_rt_caps *caps, const struct cbk_ocl_radix *of) {
    const bool goes_on = caps->is_pocl || caps->nvidia_capability >= WARP_CAPABILITY;
    return goes_on && !caps->is_cpu && of->length < CHAIN_LENGTH;
}

// ---- one sort -----------------------------------------------------------------------------------

/// Room for what passes write that is no result. In `counts` tickets and the states of even and of
/// odd passes follow.
struct work {
    struct cbk_rt_block *elements[2], *places[2], *counts, *before;
};

struct sort {
    const struct cbk_ocl_radix *of;
    struct program program;
    struct radix_args args;
    struct work work;
    struct cbk_ocl_span in; ///< of the pass
    uint32_t passes;
};

static void free_work(struct sort *sort) {
    struct cbk_rt_device *device = sort->of->stream->device->rt;
    for (int i = 0; i < 2; i++) {
        cbk_rt_free(device, &sort->work.elements[i]);
        cbk_rt_free(device, &sort->work.places[i]);
    }
    cbk_rt_free(device, &sort->work.counts);
    cbk_rt_free(device, &sort->work.before);
}

/// The chunks of a launch that counts or moves.
static void set_chunks(struct radix_args *args, int64_t length) {
    args->chunk_length = length;
    args->chunks = cbk_ocl_divide_up(args->length, length);
}

static void plan(struct sort *sort) {
    const struct cbk_rt_caps *caps = sort->of->stream->device->caps;
    struct radix_args *args = &sort->args;
    const int64_t units = (int64_t)caps->compute_units;
    if (sort->program.is_gpu) {
        const int64_t tile = GROUP * (int64_t)sort->program.elements;
        const int64_t tiles = cbk_ocl_divide_up(args->length, tile);
        const int64_t wanted = sort->program.is_chained ? 1 : tiles * args->rows / (16 * units);
        set_chunks(args, tile * cbk_ocl_clamp(wanted, 1, MOST_TILES));
    } else {
        const int64_t most = cbk_ocl_divide_up(args->length, LEAST_CHUNK);
        const int64_t wanted = cbk_ocl_divide_up(4 * units, args->rows);
        set_chunks(args,
                   cbk_ocl_divide_up(args->length, cbk_ocl_clamp(wanted, 1, most > 1 ? most : 1)));
        const int64_t bytes = args->rows * args->length * cbk_dtype_size(sort->program.x);
        args->stream = bytes >= CBK_OCL_STREAM_BYTES / 2 &&
                       args->chunk_length >> sort->program.digit_bits >= LEAST_COLLECTED;
    }
}

static uint64_t count_of_counts(const struct sort *sort) {
    const int64_t each = sort->program.is_chained ? sort->passes : sort->args.chunks;
    return (uint64_t)(sort->of->rows * each) << sort->program.digit_bits;
}

static uint64_t states_of_pass(const struct sort *sort) {
    return (uint64_t)(sort->of->rows * sort->args.chunks) << DIGIT_BITS;
}

/// An even number of passes goes to and fro between a temporary and the values, if those are
/// wanted; else two temporaries are needed for more than two passes.
static cbk_status alloc_work(struct sort *sort) {
    const struct cbk_ocl_radix *of = sort->of;
    struct cbk_rt_stream *rt = of->stream->rt;
    const uint64_t count = (uint64_t)(of->rows * of->length);
    const uint64_t element_bytes = count * cbk_dtype_size(of->dtype);
    const uint64_t place_size = cbk_dtype_size(sort->program.place);
    const uint64_t counts = count_of_counts(sort);
    const uint64_t chain = sort->program.is_chained ? CHAIN_WORDS + 2 * states_of_pass(sort) : 0;
    const bool is_even = sort->passes % 2 == 0;
    cbk_status status = CBK_OK;
    if (sort->passes > 1) RT_TRY(cbk_rt_alloc(rt, element_bytes, &sort->work.elements[0]));
    if (sort->passes > 2 && !(is_even && of->values.block != NULL))
        RT_TRY(cbk_rt_alloc(rt, element_bytes, &sort->work.elements[1]));
    for (uint32_t i = 0; sort->program.has_places && i < 2 && i + 1 < sort->passes; i++)
        RT_TRY(cbk_rt_alloc(rt, count * place_size, &sort->work.places[i]));
    RT_TRY(cbk_rt_alloc(rt, (counts + chain) * place_size, &sort->work.counts));
    RT_TRY(cbk_rt_alloc(rt, counts * place_size, &sort->work.before));
done:
    return status;
}

/// Where pass `pass` writes elements. The last one may have nowhere to.
static struct cbk_ocl_span elements_of(const struct sort *sort, uint32_t pass) {
    struct cbk_rt_block *temporary = sort->work.elements[pass & 1];
    if (pass + 1 == sort->passes || temporary == NULL) return sort->of->values;
    return cbk_ocl_span(temporary, sort->of->dtype);
}

static cbk_status make_launch(struct sort *sort, const char *entry, struct cbk_rt_launch *launch) {
    const size_t local = sort->program.is_gpu ? GROUP : 1;
    struct cbk_rt_spec spec = make_spec(&sort->program, entry);
    *launch = (struct cbk_rt_launch){
        .operation = sort->of->operation,
        .dimensions = 1,
        .global = {(size_t)(sort->of->rows * sort->args.chunks) * local, 1, 1},
        .local = {local, 1, 1}};
    return cbk_rt_kernel(sort->of->stream->rt, &spec, &launch->kernel);
}

static cbk_status count(struct sort *sort, const char *entry, uint32_t access) {
    struct cbk_ocl_span counts = cbk_ocl_span(sort->work.counts, sort->program.place);
    struct cbk_rt_launch launch;
    cbk_status status = make_launch(sort, entry, &launch);
    if (status != CBK_OK) return status;
    sort->args.in = sort->in.offset;
    sort->args.counts = counts.offset;
    cbk_rt_arg_block(&launch, sort->in.block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, counts.block, access);
    cbk_rt_arg_value(&launch, &sort->args, sizeof sort->args);
    return cbk_rt_launch(sort->of->stream->rt, &launch);
}

/// Exclusive sums of `rows` rows of counts: from now on these are the counts.
static cbk_status sum_counts(struct sort *sort, int64_t rows, int64_t length) {
    struct cbk_ocl_span counts = cbk_ocl_span(sort->work.counts, sort->program.place);
    struct cbk_ocl_span before = cbk_ocl_span(sort->work.before, sort->program.place);
    sort->args.counts = before.offset;
    return cbk_ocl_scan_counts(sort->of->stream, sort->program.place, rows, length, counts, before);
}

/// The digits of one pass, by chunks.
static cbk_status count_pass(struct sort *sort) {
    cbk_status status = count(sort, "radix_count", CBK_RT_WRITE);
    if (status != CBK_OK) return status;
    return sum_counts(sort, sort->of->rows, sort->args.chunks << sort->program.digit_bits);
}

/// The digits of all passes. The chain is as before its first pass, then.
static cbk_status count_all(struct sort *sort) {
    const int64_t units = (int64_t)sort->of->stream->device->caps->compute_units;
    const int64_t tile = sort->args.chunk_length, chunks = sort->args.chunks;
    const uint64_t counts = count_of_counts(sort), states = states_of_pass(sort);
    const struct cbk_ocl_span whole = cbk_ocl_span(sort->work.counts, CBK_DTYPE_U32);
    cbk_tensor_meta meta = {.dtype = CBK_DTYPE_U32, .rank = 1, .strides = {1}};
    meta.element_count = meta.shape[0] = (int64_t)(counts + CHAIN_WORDS + states);
    const struct cbk_ocl_operand cleared = {
        .meta = &meta, .block = whole.block, .offset = whole.offset};
    const int64_t share = cbk_ocl_divide_up(chunks * sort->of->rows, COUNT_GROUPS * units);
    cbk_status status = cbk_ocl_fill(sort->of->stream, cbk_i(0), &cleared);
    if (status != CBK_OK) return status;
    sort->args.tickets = whole.offset + (int64_t)counts;
    sort->args.states = sort->args.tickets + CHAIN_WORDS;
    sort->args.next_states = sort->args.states + (int64_t)states;
    set_chunks(&sort->args, tile * cbk_ocl_clamp(share, 1, chunks));
    status = count(sort, "radix_count_all", CBK_RT_READ_WRITE);
    set_chunks(&sort->args, tile);
    if (status != CBK_OK) return status;
    return sum_counts(sort, sort->of->rows * (int64_t)sort->passes, 1 << DIGIT_BITS);
}

static void add_span(struct cbk_rt_launch *launch, struct cbk_ocl_span span,
                     struct cbk_ocl_span fallback, uint32_t access) {
    cbk_rt_arg_block(launch, span.block != NULL ? span.block : fallback.block,
                     span.block != NULL ? access : CBK_RT_READ);
}

static cbk_status move(struct sort *sort, uint32_t pass) {
    const bool is_last = pass + 1 == sort->passes;
    const cbk_dtype place = sort->program.place;
    struct radix_args *args = &sort->args;
    struct cbk_ocl_span in = sort->in, none = {NULL, 0}, out = elements_of(sort, pass);
    struct cbk_ocl_span from = none, to = none, indices = is_last ? sort->of->indices : none;
    if (sort->program.has_places && pass > 0)
        from = cbk_ocl_span(sort->work.places[(pass - 1) & 1], place);
    if (sort->program.has_places && !is_last) to = cbk_ocl_span(sort->work.places[pass & 1], place);
    args->in = in.offset;
    args->out = out.offset;
    args->places_in = from.offset;
    args->places_out = to.offset;
    args->indices = indices.offset;
    args->what = (from.block != NULL ? READS_PLACES : 0) | (out.block != NULL ? WRITES_VALUES : 0) |
                 (to.block != NULL ? WRITES_PLACES : 0) |
                 (indices.block != NULL ? WRITES_INDICES : 0);
    struct cbk_rt_launch launch;
    cbk_status status = make_launch(sort, "radix_move", &launch);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, in.block, CBK_RT_READ);
    add_span(&launch, out, in, CBK_RT_WRITE);
    add_span(&launch, from, in, CBK_RT_READ);
    add_span(&launch, to, in, CBK_RT_WRITE);
    add_span(&launch, indices, in, CBK_RT_WRITE);
    cbk_rt_arg_block(&launch, sort->work.before, CBK_RT_READ);
    if (sort->program.is_gpu)
        cbk_rt_arg_block(&launch, sort->work.counts,
                         sort->program.is_chained ? CBK_RT_READ_WRITE : CBK_RT_READ);
    cbk_rt_arg_value(&launch, args, sizeof *args);
    return cbk_rt_launch(sort->of->stream->rt, &launch);
}

static void next_pass(struct sort *sort) {
    struct radix_args *args = &sort->args;
    const int64_t states = args->states;
    sort->in = elements_of(sort, (uint32_t)args->pass);
    args->pass++;
    args->shift += sort->program.digit_bits;
    args->states = args->next_states;
    args->next_states = states;
}

cbk_status cbk_ocl_radix_sort(const struct cbk_ocl_radix *of) {
    const struct cbk_rt_caps *caps = of->stream->device->caps;
    const uint32_t bits = of->key_bits != 0 ? of->key_bits : 8 * cbk_dtype_size(of->dtype);
    const bool is_long = of->length >= UINT32_MAX || (of->stream->device->flags & CBK_INDEX_64);
    struct sort sort = {.of = of,
                        .program = {.x = of->dtype,
                                    .place = is_long ? CBK_DTYPE_U64 : CBK_DTYPE_U32,
                                    .index = of->indices.block ? of->index_dtype : CBK_DTYPE_U32,
                                    .is_gpu = !caps->is_cpu,
                                    .is_nvidia = caps->nvidia_capability >= WARP_CAPABILITY,
                                    .is_chained = !is_long && may_chain(caps, of),
                                    .has_places = of->indices.block != NULL},
                        .in = of->in,
                        .args = {.rows = of->rows,
                                 .length = of->length,
                                 .flip = of->is_descending ? UINT64_MAX : 0}};
    cbk_status status = CBK_OK;
    if (sort.program.is_gpu) sort.program.elements = elements_of_item(caps, &sort.program);
    sort.program.digit_bits = digit_bits(&sort.program);
    sort.passes = (bits + sort.program.digit_bits - 1) / sort.program.digit_bits;
    sort.args.passes = (int64_t)sort.passes;
    plan(&sort);
    RT_TRY(alloc_work(&sort));
    if (sort.program.is_chained) RT_TRY(count_all(&sort));
    for (uint32_t pass = 0; pass < sort.passes; pass++) {
        if (!sort.program.is_chained) RT_TRY(count_pass(&sort));
        RT_TRY(move(&sort, pass));
        next_pass(&sort);
    }
done:
    free_work(&sort);
    return status;
}

// ---- the list of all programs -------------------------------------------------------------------

struct visit {
    cbk_ocl_program_visitor visit;
    void *user_data;
};

static void visit_dtype(void *context, cbk_dtype dtype) {
    static const struct {
        cbk_dtype place;
        bool is_gpu, is_nvidia, is_chained;
    } forms[] = {{CBK_DTYPE_U32, false, false, false}, {CBK_DTYPE_U64, false, false, false},
                 {CBK_DTYPE_U32, true, false, false},  {CBK_DTYPE_U64, true, false, false},
                 {CBK_DTYPE_U32, true, false, true},   {CBK_DTYPE_U32, true, true, true},
                 {CBK_DTYPE_U64, true, true, false}};
    const struct visit *visit = context;
    for (uint32_t i = 0; i < 2 * sizeof forms / sizeof *forms; i++) {
        struct program program = {.x = dtype,
                                  .place = forms[i / 2].place,
                                  .index = CBK_DTYPE_I64,
                                  .has_places = i % 2,
                                  .is_gpu = forms[i / 2].is_gpu,
                                  .is_nvidia = forms[i / 2].is_nvidia,
                                  .is_chained = forms[i / 2].is_chained,
                                  .elements = forms[i / 2].is_gpu ? MOST_ELEMENTS : 0};
        program.digit_bits = digit_bits(&program);
        struct cbk_rt_spec spec = make_spec(&program, "radix_move");
        visit->visit(visit->user_data, &spec);
    }
}

void cbk_ocl_radix_programs(cbk_ocl_program_visitor visit, void *user_data) {
    struct visit context = {visit, user_data};
    cbk_ocl_each_row_dtype(CBK_OP_SORT, visit_dtype, &context);
}
