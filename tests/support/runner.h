/// runner.h: rows that become tests: one operation on both sides, results held together.
#ifndef CUBEBACK_TEST_RUNNER_H
#define CUBEBACK_TEST_RUNNER_H

#include "compare.h"
#include "random_data.h"

#include <cubeback/opcodes.h>

#define TEST_MAX_INPUTS 17
#define TEST_MAX_OUTPUTS 4

struct test_operand {
    cbk_dtype dtype;
    uint32_t rank;
    int64_t shape[TEST_MAX_RANK];
    enum test_view view;
    enum test_data data;
    int64_t bound; ///< of indices
};

enum test_output {
    TEST_NEW,     ///< the operation makes its results
    TEST_INTO,    ///< it writes into prepared views
    TEST_IN_PLACE ///< it writes its first result into its first input
};

union test_params {
    uint32_t struct_size;
    cbk_slice_params slice;
    cbk_activation_params activation;
    cbk_bool_params boolean;
    cbk_scalar_params scalar;
    cbk_compare_params compare;
    cbk_clamp_params clamp;
    cbk_close_params close;
    cbk_cast_params cast;
    cbk_create_params create;
    cbk_eye_params eye;
    cbk_window_params window;
    cbk_offset_params offset;
    cbk_axis_params axis;
    cbk_reduce_params reduce;
    cbk_variance_params variance;
    cbk_norm_params norm;
    cbk_layer_norm_params layer_norm;
    cbk_matmul_params matmul;
    cbk_index_params index;
    cbk_random_params random;
    cbk_categorical_params categorical;
    cbk_pad_params pad;
    cbk_embedding_backward_params embedding_backward;
    cbk_one_hot_params one_hot;
    cbk_grid_sample_params grid_sample;
    cbk_roll_params roll;
    cbk_compact_params compact;
    cbk_scan_params scan;
    cbk_sort_params sort;
    cbk_topk_params topk;
    cbk_median_params median;
    cbk_quantile_params quantile;
};

struct test_spec {
    char name[128];
    cbk_opcode opcode;
    uint32_t input_count;
    struct test_operand inputs[TEST_MAX_INPUTS];
    union test_params params;
    uint32_t params_size;  ///< 0: NULL params
    uint32_t output_count; ///< 0: 1
    enum test_output output;
    enum test_view output_view; ///< of TEST_INTO
    cbk_dtype output_dtype;     ///< of TEST_INTO, first output; 0: what the reference makes
    struct test_tolerance tolerance;
    struct test_tolerance more_tolerances[TEST_MAX_OUTPUTS - 1]; ///< of outputs 1, 2, ...
    /// For tolerance.relative: the size of the terms behind each element of the first output, made
    /// on the reference side from the inputs as f64 without signs; NULL: none.
    cbk_tensor *(*magnitude)(cbk_stream *stream, const struct test_spec *spec,
                             cbk_tensor *const *inputs);
    cbk_status sync_status; ///< what both sides' sync must return
};

/// Sets .params and its size: test_set_params(&spec, reduce, .axis_count = 1, ...).
#define test_set_params(spec, member, ...)                                                         \
    ((spec)->params.member = CBK_INIT(__typeof__((spec)->params.member), __VA_ARGS__),             \
     (spec)->params_size = sizeof(spec)->params.member)

struct test_list {
    struct test_spec *specs;
    size_t count, capacity;
};

/// Everything (CUBEBACK_TEST_FULL=1) rather than the sample?
bool test_is_full(void);

/// Is a row of this name to run? CUBEBACK_TEST_CASE keeps only those whose names contain it, or one
/// of its parts between bars, or whose seed it is; CUBEBACK_TEST_ONE_IN=n one in n of them.
bool test_is_wanted(const char *name);

/// Appends a row. Its name, made of the operation, dtypes, views, shapes and `suffix`, seeds its
/// data.
void test_add(struct test_list *list, const struct test_spec *spec, const char *suffix);

/// `rows` of everything, chosen by the words that follow: the same in each run.
bool test_sampled(uint64_t one_in, uint64_t a, uint64_t b, uint64_t c);

/// Dtypes for row number `row` of a family: f32 and a rotating choice of `others` from `dtypes`
/// (which ends with 0); all in full mode. Returns how many were written to `out`.
uint32_t test_pick_dtypes(const cbk_dtype *dtypes, uint32_t row, uint32_t others, cbk_dtype *out);

extern const cbk_dtype test_floats[];  ///< f64 f32 f16 bf16 flex32, 0
extern const cbk_dtype test_ints[];    ///< all, 0
extern const cbk_dtype test_numbers[]; ///< floats and ints, 0
extern const cbk_dtype test_ints_and_bools[];
extern const cbk_dtype test_all_dtypes[]; ///< also 8-bit floats and bools, 0
static inline bool test_is_float(cbk_dtype dtype) {
    return dtype < CBK_DTYPE_I64;
}

/// An operand of `rank` lengths: test_input(CBK_DTYPE_F32, TEST_FLIPPED, TEST_EDGES, 2, 3, 4).
struct test_operand test_input(cbk_dtype dtype, enum test_view view, enum test_data data,
                               uint32_t rank, ...);

/// Rows for a pointwise operation, of which `spec` has the opcode, params, tolerance, and each
/// input's dtype and data: a long contiguous run and a choice of views, ranks and outputs that
/// turns with `row`; in full mode all of them. `in_place`: the first input may be written into.
void test_add_pointwise(struct test_list *list, const struct test_spec *spec, uint32_t row,
                        bool in_place, const char *suffix);

/// Runs the rows as one group over test_pair; frees the list.
int test_run_list(const char *group, struct test_list *list);

#endif
