// any_op.c: see any_op.h.

#include "any_op.h"
#include "support.h"

#include <string.h>

enum { ATTEMPTS = 400, KNOWN_ATTEMPTS = 60 };

static int64_t below(uint64_t *seed, int64_t limit) {
    return test_random_below(seed, limit);
}

// ---- dtypes ------------------------------------------------------------------------------------

static const cbk_dtype dtypes[] = {
    CBK_DTYPE_F32,  CBK_DTYPE_F32,    CBK_DTYPE_F16,    CBK_DTYPE_BF16,   CBK_DTYPE_F64,
    CBK_DTYPE_I32,  CBK_DTYPE_I64,    CBK_DTYPE_U8,     CBK_DTYPE_I16,    CBK_DTYPE_I8,
    CBK_DTYPE_U64,  CBK_DTYPE_U32,    CBK_DTYPE_U16,    CBK_DTYPE_BOOL,   CBK_DTYPE_BOOL32,
    CBK_DTYPE_BOOL, CBK_DTYPE_FLEX32, CBK_DTYPE_F8E4M3, CBK_DTYPE_F8E5M2,
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static bool has_dtype(const cbk_op_info *info, cbk_dtype dtype) {
    return dtype < 64 && (info->dtypes >> dtype & 1) != 0;
}

static cbk_dtype any_dtype(cbk_device *device, const cbk_op_info *info, uint64_t *seed) {
    for (int i = 0; i < 200; i++) {
        cbk_dtype dtype = dtypes[below(seed, DTYPES)];
        if (info && !has_dtype(info, dtype)) continue;
        if (cbk_supports_dtype(device, dtype) == CBK_OK) return dtype;
    }
    return CBK_DTYPE_F32;
}

static cbk_dtype any_index_dtype(uint64_t *seed) {
    return below(seed, 2) ? CBK_DTYPE_I64 : CBK_DTYPE_I32;
}

static cbk_scalar any_scalar(cbk_dtype dtype, uint64_t *seed) {
    if (dtype < CBK_DTYPE_I64) return cbk_f((double)(below(seed, 33) - 16) / 8 + 0.0625);
    return cbk_i(below(seed, 5));
}

struct test_any_hint test_any_hint(cbk_device *device, uint64_t *seed, int64_t longest) {
    struct test_any_hint hint = {.rank = (uint32_t)below(seed, 5), .most_elements = 4096};
    hint.dtype = any_dtype(device, NULL, seed);
    for (uint32_t i = 0; i < hint.rank; i++) {
        hint.shape[i] = below(seed, 24) == 0 ? 0 : 1 + below(seed, longest);
    }
    return hint;
}

// ---- operands ----------------------------------------------------------------------------------

/// The making of one operation.
struct making {
    struct test_any_op *op;
    const struct test_any_hint *hint;
    cbk_device *device;
    cbk_dtype dtype; ///< of the data operands
    uint64_t *seed;
};

static void set_operand(struct making *m, uint32_t i, cbk_dtype dtype, uint32_t rank,
                        const int64_t *shape) {
    struct test_any_operand *x = &m->op->inputs[i];
    *x = (struct test_any_operand){.dtype = dtype, .rank = rank};
    for (uint32_t k = 0; k < rank; k++) x->shape[k] = shape[k];
    if (i >= m->op->input_count) m->op->input_count = i + 1;
}

static void set_index(struct making *m, uint32_t i, int64_t bound) {
    m->op->inputs[i].is_index = true;
    m->op->inputs[i].bound = bound > 0 ? bound : 1;
}

/// The hint's shape, or one that broadcasts to it.
static void set_broadcast(struct making *m, uint32_t i, cbk_dtype dtype) {
    int64_t shape[CBK_MAX_RANK];
    uint32_t rank = m->hint->rank, cut = 0;
    memcpy(shape, m->hint->shape, sizeof shape);
    if (below(m->seed, 3) == 0) {
        if (rank != 0) cut = (uint32_t)below(m->seed, rank);
        for (uint32_t k = cut; k < rank; k++) {
            if (below(m->seed, 3) == 0) shape[k] = 1;
        }
    }
    set_operand(m, i, dtype, rank - cut, shape + cut);
}

static void set_like_hint(struct making *m, uint32_t i) {
    set_operand(m, i, m->dtype, m->hint->rank, m->hint->shape);
}

static int32_t any_axis(struct making *m) {
    return m->hint->rank ? (int32_t)below(m->seed, m->hint->rank) : 0;
}

/// Params of a type, zeroed but for struct_size.
static void *start_params(struct making *m, size_t size) {
    const uint32_t struct_size = (uint32_t)size;
    memset(m->op->params, 0, sizeof m->op->params);
    memcpy(m->op->params, &struct_size, sizeof struct_size);
    m->op->params_size = struct_size;
    return m->op->params;
}
#define PARAMS(type, name) type *name = start_params(m, sizeof(type))

// ---- families whose params need thought --------------------------------------------------------

static void make_shape_view(struct making *m) {
    PARAMS(cbk_shape_params, p);
    set_like_hint(m, 0);
    p->rank = m->hint->rank;
    for (uint32_t i = 0; i < p->rank; i++) p->shape[i] = m->hint->shape[p->rank - 1 - i];
    if (m->op->info->opcode == CBK_OP_EXPAND) {
        memcpy(p->shape, m->hint->shape, sizeof p->shape);
        for (uint32_t i = 0; i < p->rank; i++) {
            if (below(m->seed, 2)) m->op->inputs[0].shape[i] = 1;
        }
    } else if (below(m->seed, 2)) {
        p->rank = 1;
        p->shape[0] = -1;
    }
}

static void make_axes_view(struct making *m) {
    PARAMS(cbk_axes_params, p);
    set_like_hint(m, 0);
    if (m->op->info->opcode == CBK_OP_PERMUTE) {
        p->axis_count = m->hint->rank;
        uint32_t turn = p->axis_count ? (uint32_t)below(m->seed, p->axis_count) : 0;
        for (uint32_t i = 0; i < p->axis_count; i++) {
            p->axes[i] = (int32_t)((i + turn) % p->axis_count);
        }
    } else if (m->op->info->opcode == CBK_OP_UNSQUEEZE || below(m->seed, 2)) {
        p->axis_count = 1;
        p->axes[0] = any_axis(m);
    }
    if (m->op->info->opcode == CBK_OP_TRANSPOSE && p->axis_count == 1) {
        p->axis_count = 2;
        p->axes[1] = any_axis(m);
    }
}

static void make_slice(struct making *m) {
    PARAMS(cbk_slice_params, p);
    set_like_hint(m, 0);
    p->axis_count = m->hint->rank;
    for (uint32_t i = 0; i < p->axis_count; i++) {
        const int64_t length = m->hint->shape[i];
        p->stop[i] = INT64_MAX;
        if (length > 1 && below(m->seed, 2)) p->start[i] = below(m->seed, length);
        if (below(m->seed, 3) == 0) p->step[i] = below(m->seed, 2) ? 2 : -1;
    }
    if (m->op->info->opcode != CBK_OP_SLICE_ASSIGN) return;
    set_like_hint(m, 1);
    for (uint32_t i = 0; i < p->axis_count; i++) {
        const int64_t rest = m->hint->shape[i] - p->start[i];
        m->op->inputs[1].shape[i] = p->step[i] == 2 ? (rest + 1) / 2 : rest;
    }
}

static void make_create(struct making *m) {
    PARAMS(cbk_create_params, p);
    const bool is_arange = m->op->info->opcode == CBK_OP_ARANGE;
    p->dtype = m->dtype;
    p->rank = is_arange ? 1 : m->hint->rank;
    memcpy(p->shape, m->hint->shape, sizeof p->shape);
    if (is_arange) p->shape[0] = below(m->seed, 40);
    p->value = any_scalar(m->dtype, m->seed);
    p->step = any_scalar(m->dtype, m->seed);
}

static void make_random(struct making *m) {
    PARAMS(cbk_random_params, p);
    p->dtype = m->dtype;
    p->rank = m->hint->rank;
    memcpy(p->shape, m->hint->shape, sizeof p->shape);
    if (m->op->info->opcode == CBK_OP_RANDOM_INTEGER) p->b = cbk_i(9);
}

static void make_categorical(struct making *m) {
    PARAMS(cbk_categorical_params, p);
    set_like_hint(m, 0);
    p->count = 1 + below(m->seed, 3);
    p->logits = (uint32_t)below(m->seed, 2);
    p->distinct = (uint32_t)below(m->seed, 2);
}

static void make_cast(struct making *m) {
    PARAMS(cbk_cast_params, p);
    set_like_hint(m, 0);
    p->dtype = any_dtype(m->device, m->op->info, m->seed);
}

static void make_cat(struct making *m) {
    PARAMS(cbk_axis_params, p);
    p->axis = any_axis(m);
    for (uint32_t i = 0; i < 3; i++) {
        set_like_hint(m, i);
        if (m->hint->rank) m->op->inputs[i].shape[p->axis] = below(m->seed, 4);
    }
}

static void make_reduce(struct making *m) {
    PARAMS(cbk_reduce_params, p);
    set_like_hint(m, 0);
    if (m->hint->rank && below(m->seed, 3)) {
        p->axis_count = 1;
        p->axes[0] = any_axis(m);
        p->drop_axes = (uint32_t)below(m->seed, 2);
    }
}

static void make_matmul(struct making *m) {
    PARAMS(cbk_matmul_params, p);
    int64_t a[3], b[3];
    const int64_t inner = 1 + below(m->seed, 40), rows = 1 + below(m->seed, 9);
    const bool has_hint = m->hint->rank >= 2 && m->hint->rank <= 3;
    const uint32_t rank = has_hint ? m->hint->rank : 2;
    p->precision = CBK_PRECISION_EXACT;
    for (uint32_t i = 0; i < rank; i++) a[i] = b[i] = has_hint ? m->hint->shape[i] : rows;
    if (!has_hint) a[rank - 1] = inner;
    b[rank - 2] = a[rank - 1];
    b[rank - 1] = 1 + below(m->seed, 9);
    set_operand(m, 0, m->dtype, rank, a);
    set_operand(m, 1, m->dtype, rank, b);
}

static void make_index(struct making *m) {
    PARAMS(cbk_index_params, p);
    const cbk_opcode opcode = m->op->info->opcode;
    int64_t shape[CBK_MAX_RANK];
    p->axis = any_axis(m);
    set_like_hint(m, 0);
    memcpy(shape, m->hint->shape, sizeof shape);
    shape[p->axis] = 1 + below(m->seed, 5);
    const bool is_list = opcode == CBK_OP_SELECT || opcode == CBK_OP_SELECT_ASSIGN;
    set_operand(m, 1, any_index_dtype(m->seed), is_list ? 1 : m->hint->rank,
                is_list ? &shape[p->axis] : shape);
    set_index(m, 1, m->hint->rank ? m->hint->shape[p->axis] : 1);
    if (opcode == CBK_OP_SCATTER || opcode == CBK_OP_SELECT_ASSIGN) {
        p->update = (uint32_t)below(m->seed, 5);
        set_operand(m, 2, m->dtype, m->hint->rank, shape);
    }
}

static void make_scalar(struct making *m) {
    PARAMS(cbk_scalar_params, p);
    set_like_hint(m, 0);
    if (m->op->info->min_inputs > 1) set_broadcast(m, 1, CBK_DTYPE_BOOL); // mask_fill
    p->scalar = any_scalar(m->dtype, m->seed);
    if (m->op->info->min_inputs == 1) p->reversed = (uint32_t)below(m->seed, 2);
}

static void make_compare_scalar(struct making *m) {
    PARAMS(cbk_compare_params, p);
    set_like_hint(m, 0);
    p->scalar = any_scalar(m->dtype, m->seed);
}

static void make_clamp(struct making *m) {
    PARAMS(cbk_clamp_params, p);
    set_like_hint(m, 0);
    p->low = any_scalar(m->dtype, m->seed);
    if (below(m->seed, 2)) p->high = any_scalar(m->dtype, m->seed);
}

static void make_compact(struct making *m) {
    PARAMS(cbk_compact_params, p);
    set_like_hint(m, 0);
    if (m->op->info->min_inputs > 1) set_broadcast(m, 1, CBK_DTYPE_BOOL);
    p->length = below(m->seed, 12);
}

static void make_axis(struct making *m) {
    PARAMS(cbk_axis_params, p);
    for (uint32_t i = 0; i < m->op->info->min_inputs; i++) set_like_hint(m, i);
    p->axis = any_axis(m);
}

static void make_eye(struct making *m) {
    PARAMS(cbk_eye_params, p);
    p->dtype = m->dtype;
    p->rows = below(m->seed, 6);
    p->columns = below(m->seed, 6);
    p->offset = below(m->seed, 5) - 2;
}

static void make_window(struct making *m) {
    PARAMS(cbk_window_params, p);
    p->dtype = m->dtype;
    p->length = below(m->seed, 20);
    p->kind = (uint32_t)below(m->seed, 3);
    p->symmetric = (uint32_t)below(m->seed, 2);
}

static void make_one_hot(struct making *m) {
    PARAMS(cbk_one_hot_params, p);
    p->dtype = m->dtype;
    p->classes = 1 + below(m->seed, 6);
    set_operand(m, 0, any_index_dtype(m->seed), m->hint->rank, m->hint->shape);
    set_index(m, 0, p->classes);
}

/// x [n, c, h, w], grid [n, ho, wo, 2].
static void make_grid_sample(struct making *m) {
    PARAMS(cbk_grid_sample_params, p);
    const int64_t n = 1 + below(m->seed, 2);
    const int64_t x[4] = {n, below(m->seed, 4), 1 + below(m->seed, 6), 1 + below(m->seed, 6)};
    const int64_t grid[4] = {n, below(m->seed, 6), 1 + below(m->seed, 6), 2};
    p->mode = (uint32_t)below(m->seed, 3);
    p->padding = (uint32_t)below(m->seed, 3);
    p->align_corners = (uint32_t)below(m->seed, 2);
    set_operand(m, 0, m->dtype, 4, x);
    set_operand(m, 1, m->dtype, 4, grid);
    if (m->op->info->min_inputs < 3) return;
    set_operand(m, 2, m->dtype, 4, (const int64_t[]){n, x[1], grid[1], grid[2]});
}

/// index [n, d] holds places in the first d axes of x.
static void make_index_nd(struct making *m) {
    PARAMS(cbk_index_params, p);
    const uint32_t rank = m->hint->rank;
    if (rank == 0) return; // core refuses it
    const uint32_t d = 1 + (uint32_t)below(m->seed, rank);
    const int64_t index[2] = {1 + below(m->seed, 5), d};
    int64_t value[CBK_MAX_RANK + 1] = {index[0]}, bound = INT64_MAX;
    for (uint32_t i = 0; i < d; i++) {
        if (m->hint->shape[i] < bound) bound = m->hint->shape[i];
    }
    for (uint32_t i = d; i < rank; i++) value[1 + i - d] = m->hint->shape[i];
    set_like_hint(m, 0);
    set_operand(m, 1, any_index_dtype(m->seed), 2, index);
    set_index(m, 1, bound);
    if (m->op->info->min_inputs < 3) return;
    p->update = (uint32_t)below(m->seed, 5);
    set_operand(m, 2, m->dtype, 1 + rank - d, value);
}

static void make_embedding_backward(struct making *m) {
    PARAMS(cbk_embedding_backward_params, p);
    set_like_hint(m, 0);
    p->rows = 1 + below(m->seed, 6);
    set_operand(m, 1, any_index_dtype(m->seed), m->hint->rank ? m->hint->rank - 1 : 0,
                m->hint->shape);
    set_index(m, 1, p->rows);
}

static void make_cross(struct making *m) {
    PARAMS(cbk_axis_params, p);
    p->axis = any_axis(m);
    for (uint32_t i = 0; i < 2; i++) {
        set_like_hint(m, i);
        if (m->hint->rank) m->op->inputs[i].shape[p->axis] = 3;
    }
}

static void make_topk(struct making *m) {
    PARAMS(cbk_topk_params, p);
    set_like_hint(m, 0);
    p->axis = any_axis(m);
    if (m->hint->rank) p->k = below(m->seed, m->hint->shape[p->axis] + 1);
    p->ascending = (uint32_t)below(m->seed, 2);
}

/// Matrices of the hint's lengths; of det they are square.
static void make_linalg(struct making *m) {
    const cbk_opcode opcode = m->op->info->opcode;
    const uint32_t rank = m->hint->rank;
    if (opcode != CBK_OP_DET) start_params(m, m->op->info->params_size);
    set_like_hint(m, 0);
    if (rank < 2) return; // core refuses it
    if (opcode == CBK_OP_DET) m->op->inputs[0].shape[rank - 1] = m->hint->shape[rank - 2];
    if (opcode == CBK_OP_QR) ((cbk_qr_params *)m->op->params)->mode = (uint32_t)below(m->seed, 2);
}

/// Factors have x's last axis, or of batch_norm its second; they may be left out.
static void make_norm(struct making *m) {
    PARAMS(cbk_layer_norm_params, p);
    const cbk_op_info *info = m->op->info;
    const bool is_batch = info->opcode == CBK_OP_BATCH_NORM;
    const uint32_t rank = m->hint->rank, whole = is_batch ? 1 : info->min_inputs;
    if (rank < 2) return; // core refuses it, or has nothing to normalise
    p->axis_count = is_batch ? 0 : (uint32_t)below(m->seed, 2);
    for (uint32_t i = 0; i < whole; i++) set_like_hint(m, i);
    const uint32_t count =
        info->min_inputs + (uint32_t)below(m->seed, info->max_inputs - info->min_inputs + 1);
    for (uint32_t i = whole; i < count; i++) {
        set_operand(m, i, m->dtype, 1, &m->hint->shape[is_batch ? 1 : rank - 1]);
        if (i >= info->min_inputs && below(m->seed, 4) == 0) m->op->inputs[i].dtype = 0;
    }
}

typedef void (*maker)(struct making *m);

static maker maker_of(cbk_opcode opcode) {
    switch (opcode) {
    case CBK_OP_RESHAPE:
    case CBK_OP_EXPAND:
        return make_shape_view;
    case CBK_OP_SLICE:
    case CBK_OP_SLICE_ASSIGN:
        return make_slice;
    case CBK_OP_PERMUTE:
    case CBK_OP_FLIP:
    case CBK_OP_SQUEEZE:
    case CBK_OP_UNSQUEEZE:
    case CBK_OP_TRANSPOSE:
        return make_axes_view;
    case CBK_OP_MASK_FILL:
        return make_scalar;
    case CBK_OP_CLAMP:
        return make_clamp;
    case CBK_OP_CAST:
        return make_cast;
    case CBK_OP_CAT:
        return make_cat;
    case CBK_OP_MATMUL:
        return make_matmul;
    case CBK_OP_RANDOM_CATEGORICAL:
        return make_categorical;
    case CBK_OP_EYE:
        return make_eye;
    case CBK_OP_WINDOW:
        return make_window;
    case CBK_OP_ONE_HOT:
        return make_one_hot;
    case CBK_OP_GRID_SAMPLE:
    case CBK_OP_GRID_SAMPLE_X_BACKWARD:
    case CBK_OP_GRID_SAMPLE_GRID_BACKWARD:
        return make_grid_sample;
    case CBK_OP_GATHER_ND:
    case CBK_OP_SCATTER_ND:
        return make_index_nd;
    case CBK_OP_EMBEDDING_BACKWARD:
        return make_embedding_backward;
    case CBK_OP_CROSS:
        return make_cross;
    case CBK_OP_TOPK:
    case CBK_OP_ARGTOPK:
    case CBK_OP_TOPK_WITH_INDICES:
        return make_topk;
    default:
        break;
    }
    switch (opcode >> 8) {
    case CBK_FAMILY_BINARY_SCALAR:
        return make_scalar;
    case CBK_FAMILY_COMPARE_SCALAR:
        return make_compare_scalar;
    case CBK_FAMILY_CREATE:
        return make_create;
    case CBK_FAMILY_REDUCE:
        return make_reduce;
    case CBK_FAMILY_SOFTMAX:
        return make_axis;
    case CBK_FAMILY_NORM:
        return make_norm;
    case CBK_FAMILY_INDEX:
        return make_index;
    case CBK_FAMILY_RANDOM:
        return make_random;
    case CBK_FAMILY_COMPACT:
        return make_compact;
    case CBK_FAMILY_LINALG:
        return make_linalg;
    default:
        return NULL;
    }
}

// ---- all others --------------------------------------------------------------------------------

/// Operands of the hint's shape or parts of it; one of them may be a mask or indices.
static void make_operands(struct making *m, int attempt) {
    const cbk_op_info *info = m->op->info;
    uint32_t count = info->min_inputs;
    if (count > TEST_ANY_INPUTS) count = TEST_ANY_INPUTS;
    const uint32_t odd = attempt % 3 == 0 ? count : (uint32_t)below(m->seed, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        set_broadcast(m, i, m->dtype);
        if (i != odd) continue;
        if (below(m->seed, 2)) {
            m->op->inputs[i].dtype = CBK_DTYPE_BOOL;
        } else {
            int64_t least = 8;
            for (uint32_t k = 0; k < m->hint->rank; k++) {
                if (m->hint->shape[k] < least) least = m->hint->shape[k];
            }
            m->op->inputs[i].dtype = any_index_dtype(m->seed);
            set_index(m, i, least);
        }
    }
}

/// Zeros, which are the defaults, then small numbers here and there: seldom where they might be the
/// upper half of a wide one. What has the size of a scalar is taken for one.
static void make_words(struct making *m, int attempt) {
    const uint32_t size = m->op->info->params_size;
    if (size == 0 || size > sizeof m->op->params) return;
    unsigned char *params = start_params(m, size);
    if (size == sizeof(cbk_scalar_params)) {
        cbk_scalar_params scalar = CBK_INIT(cbk_scalar_params);
        scalar.scalar = any_scalar(m->dtype, m->seed);
        memcpy(params, &scalar, sizeof scalar);
        return;
    }
    for (uint32_t at = 4; attempt > KNOWN_ATTEMPTS && at + 4 <= size; at += 4) {
        const uint32_t number = (uint32_t)below(m->seed, 4);
        if (below(m->seed, at % 8 == 0 ? 4 : 12) == 0) memcpy(params + at, &number, sizeof number);
    }
}

// ---- trying ------------------------------------------------------------------------------------

static void make_once(struct making *m, int attempt) {
    const maker make = maker_of(m->op->info->opcode);
    m->op->input_count = 0;
    m->op->params_size = 0;
    if (make) {
        make(m);
    } else {
        make_operands(m, attempt);
        make_words(m, attempt);
    }
}

/// Whether core accepts it; tensors without contents will do.
static bool is_accepted(const struct test_side *side, const struct test_any_op *op) {
    cbk_tensor *inputs[TEST_ANY_INPUTS] = {NULL}, *outputs[TEST_ANY_OUTPUTS] = {NULL};
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < op->input_count && status == CBK_OK; i++) {
        const struct test_any_operand *x = &op->inputs[i];
        if (x->dtype == 0) continue;
        status = cbk_tensor_empty(side->stream, x->dtype, x->rank, x->shape, &inputs[i]);
    }
    const cbk_op question =
        CBK_INIT(cbk_op, .opcode = op->info->opcode, .input_count = op->input_count,
                 .output_count = op->info->output_count, .inputs = inputs, .outputs = outputs,
                 .params = op->params_size ? op->params : NULL, .params_size = op->params_size);
    if (status == CBK_OK) status = cbk_supports_op(side->device, &question);
    for (uint32_t i = 0; i < op->input_count; i++) cbk_tensor_release(&inputs[i]);
    return status == CBK_OK;
}

bool test_any_make(const cbk_op_info *info, const struct test_side *side,
                   const struct test_any_hint *given, uint64_t *seed, struct test_any_op *out) {
    struct test_any_hint hint = *given;
    *out = (struct test_any_op){.info = info};
    if (info->output_count > TEST_ANY_OUTPUTS) return false;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (attempt % 8 == 7) { // another shape may do
            hint = test_any_hint(side->device, seed, 6);
            hint.most_elements = given->most_elements;
        }
        struct making m = {.op = out, .hint = &hint, .device = side->device, .seed = seed};
        m.dtype = hint.dtype && has_dtype(info, hint.dtype) ? hint.dtype
                                                            : any_dtype(side->device, info, seed);
        make_once(&m, attempt);
        if (is_accepted(side, out)) return true;
    }
    print_message("no operands were found for %s; give it a maker in any_op.c\n", info->name);
    return false;
}

const cbk_op_info *test_any_row(uint64_t *seed) {
    uint32_t cursor = 0, count = 0;
    while (cbk_op_next(&cursor)) count++;
    int64_t chosen = below(seed, count);
    const cbk_op_info *info = NULL;
    for (cursor = 0; chosen >= 0; chosen--) info = cbk_op_next(&cursor);
    return info;
}

// ---- running -----------------------------------------------------------------------------------

cbk_status test_any_execute(cbk_stream *stream, const struct test_any_op *op,
                            cbk_tensor *const *inputs, cbk_tensor **outputs) {
    const cbk_op run =
        CBK_INIT(cbk_op, .opcode = op->info->opcode, .input_count = op->input_count,
                 .output_count = op->info->output_count, .inputs = inputs, .outputs = outputs,
                 .params = op->params_size ? op->params : NULL, .params_size = op->params_size);
    return cbk_execute(stream, &run);
}

void test_any_fill(const struct test_any_operand *operand, enum test_data kind, void *data,
                   uint64_t *seed) {
    test_fill(data, operand->dtype, test_any_count(operand), operand->is_index ? TEST_INDEX : kind,
              operand->bound, seed);
}
