#pragma OPENCL FP_CONTRACT OFF
// pointwise.cl: out[i] = op(a[i], b[i], c[i]) for every position i of a loop nest of up to 8 axes.
//
// One text serves every pointwise-like family; operators come from include/*_ops.clh as functions
// of vectors of W lanes, and types from defines. Each operand has an offset and a stride per axis
// (0: broadcast); the host (src/opencl/ops/pointwise.c) merges axes, so that dense tensors have one.
// Operands may share memory only element by element: an item loads before it stores.
//
// CPU form, one work-item (local size 1) per block of pieces; a piece is a run of the innermost
// axis:
//   pointwise_rows        innermost strides are 0 or 1: vector loads, one load per row for stride 0
//   pointwise_strided     any innermost strides: lanes one by one
// GPU form, W elements per work-item, exact grid:
//   pointwise_contiguous  each operand dense or one value; aligned 16-byte accesses
//   pointwise_rows        innermost strides 0 or 1, innermost length a multiple of W; aligned
//   pointwise_strided     anything; an item's W elements lie one work-group apart, so that
//                         neighbours read neighbours and W accesses are in flight
//
// Defines
//   W         lanes (2, 4, 8, 16)
//   UNARY, BINARY, COMPARE, TERNARY, CAST, CREATE, MOVE, BACKWARD or WINDOW: which
//             operators; ONLY_<class>: of which class (vector.clh). A compiler pays for what it reads
//   OP        operator's function, e.g. op_add_f32
//   INPUTS    0..3; A, B, C and OUT are their dtype words
//   SCALARS   0..3 arguments p0, p1, p2 of the arithmetic type of dtype word P, after the inputs;
//             with REVERSED the scalar comes first. Default 0
//   INDEXED   the first operand is the vector of positions along the (only) axis
//   GPU_FORM  GPU form; ALIGNED must be given too
//   INDEX64   GPU: 64-bit positions and strides. Default 32 bits; the CPU form has always 64

#ifndef GPU_FORM
#define OWN_HALF
#endif
#include "types.clh"
#include "vector.clh"
#if defined(UNARY) || defined(BACKWARD) || defined(WINDOW)
#include "math.clh"
#include "special.clh"
#if defined(UNARY)
#include "unary_ops.clh"
#include "activation_ops.clh"
#elif defined(BACKWARD)
#include "backward_ops.clh"
#else
#include "window_ops.clh"
#endif
#elif defined(BINARY) || defined(TERNARY)
#include "power.clh"
#include "binary_ops.clh"
#include "ternary_ops.clh"
#elif defined(COMPARE)
#include "compare_ops.clh"
#elif defined(CAST) || defined(CREATE)
#include "cast_ops.clh"
#include "create_ops.clh"
#elif defined(MOVE)
#include "move_ops.clh"
#else
#error "pointwise.cl needs the name of a family of operators"
#endif

#if !defined(OP) || !defined(INPUTS) || !defined(OUT)
#error "pointwise.cl needs OP, INPUTS and OUT"
#endif
#ifndef SCALARS
#define SCALARS 0
#endif

// ---- what depends on the number of operands -----------------------------------------------------

// BODY(dtype word, pointer, place in the arrays of the walk)
#define OUTPUT(BODY) BODY(OUT, out, 0)
#if INPUTS == 0
#define EACH_INPUT(BODY)
#elif INPUTS == 1
#define EACH_INPUT(BODY) BODY(A, a, 1)
#elif INPUTS == 2
#define EACH_INPUT(BODY) BODY(A, a, 1) BODY(B, b, 2)
#else
#define EACH_INPUT(BODY) BODY(A, a, 1) BODY(B, b, 2) BODY(C, c, 3)
#endif
#define OPERANDS (INPUTS + 1)

#define S0 ((MATHV(P))(p0))
#define S1 ((MATHV(P))(p1))
#define S2 ((MATHV(P))(p2))
#if defined(INDEXED) && SCALARS == 1
#define APPLY() OP(positions, S0)
#elif defined(INDEXED) && SCALARS == 2
#define APPLY() OP(positions, S0, S1)
#elif defined(INDEXED)
#define APPLY() OP(positions, S0, S1, S2)
#elif INPUTS == 0
#define APPLY() OP(S0)
#elif INPUTS == 1 && SCALARS == 0
#define APPLY() OP(va)
#elif INPUTS == 1 && SCALARS == 1 && defined(REVERSED)
#define APPLY() OP(S0, va)
#elif INPUTS == 1 && SCALARS == 1
#define APPLY() OP(va, S0)
#elif INPUTS == 1
#define APPLY() OP(va, S0, S1)
#elif INPUTS == 2 && SCALARS == 0
#define APPLY() OP(va, vb)
#elif INPUTS == 2 && SCALARS == 1
#define APPLY() OP(va, vb, S0)
#elif INPUTS == 2
#define APPLY() OP(va, vb, S0, S1)
#elif SCALARS == 0
#define APPLY() OP(va, vb, vc)
#else
#define APPLY() OP(va, vb, vc, S0)
#endif

#define POINTER_PARAMETER(T, p, k) global const STORAGE(T) *p,
#if SCALARS == 0
#define SCALAR_PARAMETERS
#elif SCALARS == 1
#define SCALAR_PARAMETERS const MATH(P) p0,
#elif SCALARS == 2
#define SCALAR_PARAMETERS const MATH(P) p0, const MATH(P) p1,
#else
#define SCALAR_PARAMETERS const MATH(P) p0, const MATH(P) p1, const MATH(P) p2,
#endif
#define PARAMETERS                                                                                 \
    global STORAGE(OUT) *out, EACH_INPUT(POINTER_PARAMETER) SCALAR_PARAMETERS const struct walk w

#ifdef INDEXED
constant int lane_numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#define LANE_NUMBERS TO_I64(CAT(vload, W)(0, lane_numbers))
#define POSITIONS(first, step) vi64 positions = (vi64)(first) + LANE_NUMBERS * (vi64)(step);
#else
#define POSITIONS(first, step)
#endif

#ifndef GPU_FORM
// ---- CPU form -----------------------------------------------------------------------------------

struct walk {
    long shape[8];             // of the outer axes, outermost first
    long strides[4 * 8];       // out, a, b, c
    long offsets[4];
    long inner;                // length of the innermost axis
    long inner_strides[4];
    long piece;                // elements of a piece, a multiple of W unless it is a whole row
    long pieces_per_row;
    long pieces;
    long pieces_per_item;
    int outer_rank;
    int stream;                // stores should bypass the caches
};

// Loads W lanes `stride` elements apart, of which the first n exist; the others repeat the last.
#define DEFINE_GATHER(T, p, k)                                                                     \
    static inline MATHV(T) gather_##p(global const STORAGE(T) *p, long stride, long n) {           \
        MATH(T) lanes[W];                                                                          \
        for (int lane = 0; lane < W; lane++)                                                       \
            lanes[lane] = LOAD(T, p, min((long)lane, n - 1) * stride);                             \
        return CAT(vload, W)(0, lanes);                                                            \
    }
EACH_INPUT(DEFINE_GATHER)

static inline void scatter_out(global STORAGE(OUT) *out, long stride, long n, MATHV(OUT) v) {
    MATH(OUT) lanes[W];
    CAT(vstore, W)(v, 0, lanes);
    for (int lane = 0; lane < W; lane++)
        if (lane < n) STORE(OUT, out, lane * stride, lanes[lane]);
}

static inline void store_row(global STORAGE(OUT) *out, long n, bool stream, MATHV(OUT) v) {
    if (n < W)
        scatter_out(out, 1, n, v);
    else if (stream)
        STREAMV(OUT, out, 0, v);
    else
        STOREV(OUT, out, 0, v);
}

#define ROW_POINTER(T, p, k) global const STORAGE(T) *row_##p = p + at[k];
// Of a row that is no repeated value, an element of this piece: others may be being written.
#define ROW_VALUE(T, p, k)                                                                         \
    const MATHV(T) once_##p = (MATHV(T))(LOAD(T, row_##p, begin * w.inner_strides[k]));
#define LOAD_ROW(T, p, k)                                                                          \
    MATHV(T) v##p = w.inner_strides[k] == 0 ? once_##p                                             \
                    : n < W                 ? gather_##p(row_##p + i, 1, n)                        \
                                            : LOADV(T, row_##p, i);
#define LOAD_STRIDED(T, p, k)                                                                      \
    MATHV(T) v##p = gather_##p(row_##p + i * w.inner_strides[k], w.inner_strides[k], n);

// A line of each input arrives meanwhile: hardware stops fetching ahead at a page.
#define AHEAD 2048 // bytes
#define AHEAD_ROW(T, p, k)                                                                         \
    if (stream) FETCH_LINE(row_##p + i + AHEAD / (long)sizeof(*row_##p));
#define FIRST_ROW(T, p, k) at[k] += coordinate * w.strides[8 * k + axis];
#define NEXT_ROW(T, p, k) at[k] += w.strides[8 * k + axis];
#define REWIND(T, p, k) at[k] -= w.strides[8 * k + axis] * w.shape[axis];

// Walks the pieces of a work-item; PIECE handles the elements begin <= i < end of the row at `at`.
#define WALK(PIECE)                                                                                \
    long piece = (long)get_global_id(0) * w.pieces_per_item;                                       \
    long last = min(piece + w.pieces_per_item, w.pieces);                                          \
    long row = piece / w.pieces_per_row, part = piece % w.pieces_per_row;                          \
    long coordinates[8], at[4] = {w.offsets[0], w.offsets[1], w.offsets[2], w.offsets[3]};         \
    for (int axis = w.outer_rank - 1; axis >= 0; axis--) {                                         \
        long coordinate = row % w.shape[axis];                                                     \
        row /= w.shape[axis];                                                                      \
        coordinates[axis] = coordinate;                                                            \
        OUTPUT(FIRST_ROW) EACH_INPUT(FIRST_ROW)                                                    \
    }                                                                                              \
    for (; piece < last; piece++) {                                                                \
        long begin = part * w.piece, end = min(begin + w.piece, w.inner);                          \
        PIECE                                                                                      \
        if (++part < w.pieces_per_row) continue;                                                   \
        part = 0;                                                                                  \
        for (int axis = w.outer_rank - 1; axis >= 0; axis--) {                                     \
            OUTPUT(NEXT_ROW) EACH_INPUT(NEXT_ROW)                                                  \
            if (++coordinates[axis] < w.shape[axis]) break;                                        \
            OUTPUT(REWIND) EACH_INPUT(REWIND)                                                      \
            coordinates[axis] = 0;                                                                 \
        }                                                                                          \
    }

kernel void pointwise_rows(PARAMETERS) {
    WALK({
        global STORAGE(OUT) *row_out = out + at[0];
        EACH_INPUT(ROW_POINTER)
        EACH_INPUT(ROW_VALUE)
        // a bypassing store needs the whole vector's alignment
        bool stream = w.stream != 0 && IS_STREAMABLE(row_out + begin);
        for (long i = begin; i < end; i += W) {
            long n = end - i;
            POSITIONS(i, 1)
            EACH_INPUT(AHEAD_ROW)
            EACH_INPUT(LOAD_ROW)
            store_row(row_out + i, n, stream, APPLY());
        }
    })
}

kernel void pointwise_strided(PARAMETERS) {
    WALK({
        EACH_INPUT(ROW_POINTER)
        for (long i = begin; i < end; i += W) {
            long n = end - i;
            POSITIONS(i, 1)
            EACH_INPUT(LOAD_STRIDED)
            scatter_out(out + at[0] + i * w.inner_strides[0], w.inner_strides[0], n, APPLY());
        }
    })
}

#else
// ---- GPU form -----------------------------------------------------------------------------------

#ifdef INDEX64
typedef long index_t;
#define DIVIDE(i, axis) ((i) / w->shape[axis])
#else
typedef int index_t;
// i / d for 0 <= i < 2^31 by the host's reciprocal of d: (mulhi(i, m) + i) >> s
#define DIVIDE(i, axis)                                                                            \
    ((int)((mul_hi((uint)(i), w->reciprocals[axis]) + (uint)(i)) >> w->shifts[axis]))
#endif

struct walk {
    long offsets[4];           // out, a, b, c
    index_t count;             // elements (contiguous, strided) or vectors (rows)
    index_t shape[8];          // outermost first; rows: the innermost in vectors
    index_t strides[4 * 8];
    uint reciprocals[8];       // of shape; 32-bit form
    uint shifts[8];
    uint steps[4];             // contiguous, rows: innermost stride, 0 or 1
    index_t rank;              // no int: an argument without padding at its end
};

#define START(T, p, k) at[k] = 0;
#define ADD_AXIS(T, p, k) at[k] += coordinate * w->strides[8 * k + axis];
#define ADD_FIRST_AXIS(T, p, k) at[k] += i * w->strides[8 * k];

// Places of position i, in elements from each operand's offset.
static inline void locate(const struct walk *w, index_t i, index_t *at) {
    OUTPUT(START) EACH_INPUT(START)
#pragma unroll
    for (int axis = 7; axis > 0; axis--) {
        if (axis < w->rank) {
            index_t quotient = DIVIDE(i, axis);
            index_t coordinate = i - quotient * w->shape[axis];
            OUTPUT(ADD_AXIS) EACH_INPUT(ADD_AXIS)
            i = quotient;
        }
    }
    OUTPUT(ADD_FIRST_AXIS) EACH_INPUT(ADD_FIRST_AXIS)
}

#define LOAD_VECTOR(T, p, k)                                                                       \
    MATHV(T) v##p = w.steps[k] == 0 ? (MATHV(T))(LOAD(T, p + w.offsets[k], at[k]))                 \
                                    : LOADV(T, p + w.offsets[k], at[k]);
#define LOAD_TAIL(T, p, k)                                                                         \
    MATH(T) tail_##p[W];                                                                           \
    for (int lane = 0; lane < W; lane++)                                                           \
        tail_##p[lane] =                                                                           \
            LOAD(T, p + w.offsets[k], at[k] + min(lane, n - 1) * (index_t)w.steps[k]);             \
    MATHV(T) v##p = CAT(vload, W)(0, tail_##p);
#define PLACE(T, p, k) at[k] = w.steps[k] == 0 ? 0 : i;

kernel void pointwise_contiguous(PARAMETERS) {
    index_t i = (index_t)get_global_id(0) * W, at[4];
    if (i >= w.count) return;
    OUTPUT(PLACE) EACH_INPUT(PLACE)
    POSITIONS(i, 1)
    if (w.count - i >= W) {
        EACH_INPUT(LOAD_VECTOR)
        STOREV(OUT, out + w.offsets[0], i, APPLY());
    } else {
        int n = (int)(w.count - i);
        EACH_INPUT(LOAD_TAIL)
        MATH(OUT) lanes[W];
        CAT(vstore, W)(APPLY(), 0, lanes);
        for (int lane = 0; lane < n; lane++)
            STORE(OUT, out + w.offsets[0], i + lane, lanes[lane]);
    }
}

#ifndef INDEXED
kernel void pointwise_rows(PARAMETERS) {
    index_t i = (index_t)get_global_id(0), at[4];
    if (i >= w.count) return;
    locate(&w, i, at);
    EACH_INPUT(LOAD_VECTOR)
    STOREV(OUT, out + w.offsets[0], at[0], APPLY());
}
#endif

#define DECLARE_LANES(T, p, k) MATH(T) lanes_##p[W];
#define LOAD_LANE(T, p, k) lanes_##p[lane] = LOAD(T, p + w.offsets[k], at[k]);
#define CLEAR_LANE(T, p, k) lanes_##p[lane] = 0;
#define LANES_VECTOR(T, p, k) MATHV(T) v##p = CAT(vload, W)(0, lanes_##p);

kernel void pointwise_strided(PARAMETERS) {
    index_t group = (index_t)get_local_size(0);
    index_t first = (index_t)get_group_id(0) * group * W + (index_t)get_local_id(0);
    index_t out_at[W];
    EACH_INPUT(DECLARE_LANES)
#pragma unroll
    for (int lane = 0; lane < W; lane++) {
        index_t i = first + lane * group, at[4];
        if (i < w.count) {
            locate(&w, i, at);
            EACH_INPUT(LOAD_LANE)
            out_at[lane] = at[0];
        } else {
            EACH_INPUT(CLEAR_LANE)
        }
    }
    POSITIONS(first, group)
    EACH_INPUT(LANES_VECTOR)
    MATH(OUT) lanes_out[W];
    CAT(vstore, W)(APPLY(), 0, lanes_out);
#pragma unroll
    for (int lane = 0; lane < W; lane++)
        if (first + lane * group < w.count)
            STORE(OUT, out + w.offsets[0], out_at[lane], lanes_out[lane]);
}

#endif // GPU_FORM
