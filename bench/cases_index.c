/// cases_index.c: compaction, and what reads or writes at indices.
#include "bench.h"

#define Mi ((int64_t)1 << 20)

// ---- compaction: a byte of the mask per element; traffic is counted in such bytes ----------------

/// A mask in which one element in `k` is true, x, and room for the hits.
static cbk_status setup_compact(struct bench *bench, const struct bench_case *of) {
    const int64_t hits = of->elements / of->k, places[2] = {hits, 1};
    cbk_status status = CBK_OK;
    TRY(cbk_random_bernoulli(bench->stream, CBK_DTYPE_BOOL, 1, &of->elements, 1.0 / (double)of->k,
                             &bench->tensor[0]));
    TRY(cbk_random_normal(bench->stream, CBK_DTYPE_F32, 1, &of->elements, 0, 1, &bench->tensor[1]));
    TRY(cbk_tensor_empty(bench->stream, CBK_DTYPE_I64, 2, places, &bench->tensor[2]));
    TRY(cbk_tensor_empty(bench->stream, CBK_DTYPE_F32, 1, &hits, &bench->tensor[3]));
    TRY(cbk_tensor_empty(bench->stream, CBK_DTYPE_I64, 0, NULL, &bench->tensor[4]));
done:
    return status;
}

static cbk_status run_argwhere(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_argwhere_into(bench->stream, bench->tensor[0], bench->tensor[2], bench->tensor[4]);
}
static cbk_status run_mask_select(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_mask_select_into(bench->stream, bench->tensor[1], bench->tensor[0], bench->tensor[3],
                                bench->tensor[4]);
}
static cbk_status run_count(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_count_nonzero_into(bench->stream, bench->tensor[0], NULL, bench->tensor[4]);
}

#define COMPACT(name_, run_, one_in_, reads_, writes_)                                             \
    {                                                                                              \
        .name = name_, .setup = setup_compact, .run = run_, .dtype = CBK_DTYPE_U8,                 \
        .elements = 64 * Mi, .k = one_in_, .reads = reads_, .writes = writes_                      \
    }

// ---- moves ---------------------------------------------------------------------------------------

/// k parts of the columns of y [m, n], and y.
static cbk_status setup_cat(struct bench *bench, const struct bench_case *of) {
    const int64_t shape[2] = {of->m, of->n}, part[2] = {of->m, of->n / of->k};
    cbk_status status = CBK_OK;
    for (int64_t i = 0; i < of->k; i++)
        TRY(cbk_random_normal(bench->stream, of->dtype, 2, part, 0, 1, &bench->tensor[i]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 2, shape, &bench->tensor[of->k]));
done:
    return status;
}

static cbk_status run_cat(struct bench *bench, const struct bench_case *of) {
    return cbk_cat_into(bench->stream, (const cbk_tensor *const *)bench->tensor, (uint32_t)of->k, 1,
                        bench->tensor[of->k]);
}

/// x [m, n, n], a frame of one element round its last two axes, and x turned round.
static cbk_status setup_pad(struct bench *bench, const struct bench_case *of) {
    const int64_t shape[3] = {of->m, of->n, of->n}, framed[3] = {of->m, of->n + 2, of->n + 2};
    cbk_status status = CBK_OK;
    TRY(cbk_random_normal(bench->stream, of->dtype, 3, shape, 0, 1, &bench->tensor[0]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 3, framed, &bench->tensor[1]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 3, shape, &bench->tensor[2]));
done:
    return status;
}

static cbk_status run_pad(struct bench *bench, const struct bench_case *of) {
    const cbk_pad_params params =
        CBK_INIT(cbk_pad_params, .mode = (uint32_t)of->k, .before = {0, 1, 1}, .after = {0, 1, 1});
    return cbk_pad_into(bench->stream, bench->tensor[0], &params, bench->tensor[1]);
}
static cbk_status run_roll(struct bench *bench, const struct bench_case *of) {
    const cbk_roll_params params = CBK_INIT(cbk_roll_params, .shifts = {3, -7, of->n / 4});
    return cbk_roll_into(bench->stream, bench->tensor[0], &params, bench->tensor[2]);
}

#define CAT(name_, rows_, columns_, members_)                                                      \
    {                                                                                              \
        .name = name_, .setup = setup_cat, .run = run_cat, .dtype = CBK_DTYPE_F32,                 \
        .elements = (int64_t)(rows_) * (columns_), .m = rows_, .n = columns_, .k = members_,       \
        .reads = 1, .writes = 1                                                                    \
    }
#define PAD(name_, run_, planes_, side_, mode_)                                                    \
    {                                                                                              \
        .name = name_, .setup = setup_pad, .run = run_, .dtype = CBK_DTYPE_F32,                    \
        .elements = (int64_t)(planes_) * (side_) * (side_), .m = planes_, .n = side_, .k = mode_,  \
        .reads = 1, .writes = 1                                                                    \
    }

// ---- indices -------------------------------------------------------------------------------------

/// Rows of n elements: k of a table [m, n], drawn at random, and what they are added to.
static cbk_status setup_rows(struct bench *bench, const struct bench_case *of) {
    const int64_t table[2] = {of->m, of->n}, picked[2] = {of->k, of->n};
    cbk_status status = CBK_OK;
    TRY(cbk_random_normal(bench->stream, of->dtype, 2, table, 0, 1, &bench->tensor[0]));
    TRY(cbk_random_integer(bench->stream, CBK_DTYPE_I32, 1, &of->k, 0, of->m, &bench->tensor[1]));
    TRY(cbk_random_normal(bench->stream, of->dtype, 2, picked, 0, 1, &bench->tensor[2]));
    TRY(cbk_random_integer(bench->stream, CBK_DTYPE_I32, 2, picked, 0, of->m, &bench->tensor[3]));
done:
    return status;
}

static cbk_status run_rows(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_embedding_into(bench->stream, bench->tensor[0], bench->tensor[1], bench->tensor[2]);
}
static cbk_status run_embedding_backward(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_embedding_backward_into(bench->stream, bench->tensor[2], bench->tensor[1],
                                       bench->tensor[0]);
}
static cbk_status run_scatter_add(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_scatter_add_into(bench->stream, bench->tensor[0], bench->tensor[3], bench->tensor[2],
                                0, bench->tensor[0]);
}
static cbk_status run_unordered(struct bench *bench, const struct bench_case *of) {
    const cbk_index_params params =
        CBK_INIT(cbk_index_params, .update = CBK_UPDATE_ADD, .flags = CBK_INDEX_UNORDERED);
    cbk_tensor *const inputs[] = {bench->tensor[0], bench->tensor[3], bench->tensor[2]};
    cbk_tensor *output = bench->tensor[0];
    const cbk_op op = CBK_INIT(cbk_op, .opcode = CBK_OP_SCATTER, .input_count = 3,
                               .output_count = 1, .inputs = inputs, .outputs = &output,
                               .params = &params, .params_size = sizeof params);
    (void)of;
    return cbk_execute(bench->stream, &op);
}

#define ROWS(name_, run_, table_, columns_, picked_, reads_)                                       \
    {                                                                                              \
        .name = name_, .setup = setup_rows, .run = run_, .dtype = CBK_DTYPE_F32,                   \
        .elements = (int64_t)(picked_) * (columns_), .m = table_, .n = columns_, .k = picked_,     \
        .reads = reads_, .writes = 1                                                               \
    }

// ---- images --------------------------------------------------------------------------------------

/// Images [m, k, n, n], places in each as many as its elements, spread over it, samples like x.
static cbk_status setup_images(struct bench *bench, const struct bench_case *of) {
    const int64_t x[4] = {of->m, of->k, of->n, of->n}, grid[4] = {of->m, of->n, of->n, 2};
    cbk_status status = CBK_OK;
    TRY(cbk_random_normal(bench->stream, of->dtype, 4, x, 0, 1, &bench->tensor[0]));
    TRY(cbk_random_uniform(bench->stream, of->dtype, 4, grid, -1, 1, &bench->tensor[1]));
    TRY(cbk_random_normal(bench->stream, of->dtype, 4, x, 0, 1, &bench->tensor[2]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 4, grid, &bench->tensor[3]));
    TRY(cbk_tensor_empty(bench->stream, of->dtype, 4, x, &bench->tensor[4]));
done:
    return status;
}

static cbk_status run_grid_sample(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_grid_sample_into(bench->stream, bench->tensor[0], bench->tensor[1], NULL,
                                bench->tensor[2]);
}
static cbk_status run_sample_x_backward(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_grid_sample_x_backward_into(bench->stream, bench->tensor[0], bench->tensor[1],
                                           bench->tensor[2], NULL, bench->tensor[4]);
}
static cbk_status run_sample_grid_backward(struct bench *bench, const struct bench_case *of) {
    (void)of;
    return cbk_grid_sample_grid_backward_into(bench->stream, bench->tensor[0], bench->tensor[1],
                                              bench->tensor[2], NULL, bench->tensor[3]);
}

#define IMAGES(name_, run_, reads_, writes_)                                                       \
    {                                                                                              \
        .name = name_, .setup = setup_images, .run = run_, .dtype = CBK_DTYPE_F32,                 \
        .elements = (int64_t)8 * 64 * 256 * 256, .m = 8, .k = 64, .n = 256, .reads = reads_,       \
        .writes = writes_                                                                          \
    }

static const struct bench_case cases[] = {
    ROWS("select_rows_512B", run_rows, 1 << 20, 128, 512 << 10, 1),
    ROWS("select_rows_4KiB", run_rows, 128 << 10, 1024, 64 << 10, 1),
    ROWS("embedding_backward_32768x512", run_embedding_backward, 50000, 512, 32768, 2),
    ROWS("scatter_add_16Mi", run_scatter_add, 32768, 512, 32768, 3),
    ROWS("scatter_add_unordered_16Mi", run_unordered, 32768, 512, 32768, 3),
    IMAGES("grid_sample_8x64x256x256", run_grid_sample, 1, 1),
    IMAGES("grid_sample_x_backward_8x64x256x256", run_sample_x_backward, 1, 1),
    IMAGES("grid_sample_grid_backward_8x64x256x256", run_sample_grid_backward, 2, 0),
    CAT("cat_2_axis1_64Mi", 8192, 8192, 2),
    CAT("cat_8_axis1_64Mi", 8192, 8192, 8),
    CAT("cat_32_axis1_64Mi", 8192, 8192, 32),
    PAD("pad_frame_256x512x512", run_pad, 256, 512, CBK_PAD_CONSTANT),
    PAD("pad_reflect_256x512x512", run_pad, 256, 512, CBK_PAD_REFLECT),
    PAD("roll_256x512x512", run_roll, 256, 512, 0),
    COMPACT("count_nonzero_64Mi", run_count, 8, 1, 0),
    COMPACT("argwhere_64Mi", run_argwhere, 8, 1, 1),
    COMPACT("mask_select_64Mi", run_mask_select, 4, 5, 1),
};

struct bench_table bench_index_cases(void) {
    return (struct bench_table){cases, sizeof cases / sizeof *cases};
}
