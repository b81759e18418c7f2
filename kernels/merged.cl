#pragma OPENCL FP_CONTRACT OFF
// merged.cl: a run of small pointwise operations, one after the other, by one work-group.
//
// A graph has many operations whose launches cost more than their work. The host
// (src/opencl/merge.c) describes such a run in a table of steps; this kernel walks the table and
// calls, for each step, the operator function that the operation's own kernel (pointwise.cl) calls,
// with vectors of the same width and the same loads and stores: the bits are the same.
//
// A step's elements are numbered along a nest of axes, W to a vector; vector v is work-item
// v mod local size's. A step that reads or overwrites what other work-items have made has
// needs_barrier set. CPU form: one work-item, which needs no barrier.
//
// Defines
//   W        lanes, the same for all steps
//   KINDS    KIND(number,inputs,scalars,operator,out,a,b,c,p) for every distinct operation, without
//            a space: operators and dtype words as pointwise.cl has them; scalars 0, 1, 2, or R for
//            one that comes first; unused words are f32
//   UNARY, BINARY, COMPARE, CAST, MOVE, BACKWARD: which families of operators. ONLY_<class>: of which class
//   GPU_FORM GPU form; ALIGNED must be given too

#include "types.clh"
#include "vector.clh"
#if defined(UNARY) || defined(BACKWARD)
#include "math.clh"
#include "special.clh"
#endif
#ifdef UNARY
#include "unary_ops.clh"
#include "activation_ops.clh"
#endif
#ifdef BACKWARD
#include "backward_ops.clh"
#endif
#ifdef BINARY
#include "power.clh"
#include "binary_ops.clh"
#include "ternary_ops.clh"
#endif
#ifdef COMPARE
#include "compare_ops.clh"
#endif
#ifdef CAST
#include "cast_ops.clh"
#include "create_ops.clh"
#endif
#ifdef MOVE
#include "move_ops.clh"
#endif

#if !defined(KINDS)
#error "merged.cl needs KINDS"
#endif

struct step {
    long strides[4][4];   // out, a, b, c; of the outer axes, outermost first
    long inner_strides[4];
    long offsets[4];      // elements from the start of the operand's buffer
    ulong scalars[2];     // bits of the arithmetic type
    int shape[4];         // of the outer axes
    int buffers[4];
    int inner;            // length of the innermost axis
    int per_row, vectors; // vectors of a row, of all rows
    int kind, outer_rank, is_vector, needs_barrier, reserved;
};

// ---- one vector of one step ---------------------------------------------------------------------

// Lanes first .. first + n - 1 of a row, from `at`.
struct place {
    long at[4];
    int first;
    int n;
};

static inline struct place locate(global const struct step *s, int v) {
    struct place place;
    int row = 0, part = v;
    for (int k = 0; k < 4; k++) place.at[k] = s->offsets[k];
    if (s->outer_rank > 0) {
        row = v / s->per_row;
        part = v - row * s->per_row;
        for (int axis = s->outer_rank - 1; axis >= 0; axis--) {
            const int quotient = row / s->shape[axis], coordinate = row - quotient * s->shape[axis];
            for (int k = 0; k < 4; k++) place.at[k] += coordinate * s->strides[k][axis];
            row = quotient;
        }
    }
    place.first = part * W;
    place.n = min(W, s->inner - place.first);
    return place;
}

#define FETCH(T, name, k)                                                                          \
    global const STORAGE(T) *p##name =                                                             \
        (global const STORAGE(T) *)bases[s->buffers[k]] + place.at[k];                             \
    const long step##name = s->inner_strides[k];                                                   \
    MATHV(T) v##name;                                                                              \
    if (step##name == 0) {                                                                         \
        v##name = (MATHV(T))(LOAD(T, p##name, 0));                                                 \
    } else if (s->is_vector && place.n == W) {                                                     \
        v##name = LOADV(T, p##name, place.first);                                                  \
    } else {                                                                                       \
        MATH(T) lanes[W];                                                                          \
        for (int lane = 0; lane < W; lane++)                                                       \
            lanes[lane] =                                                                          \
                LOAD(T, p##name, (place.first + min(lane, place.n - 1)) * step##name);       \
        v##name = CAT(vload, W)(0, lanes);                                                         \
    }

#define FETCH_0(A, B, C)
#define FETCH_1(A, B, C) FETCH(A, a, 1)
#define FETCH_2(A, B, C) FETCH(A, a, 1) FETCH(B, b, 2)
#define FETCH_3(A, B, C) FETCH(A, a, 1) FETCH(B, b, 2) FETCH(C, c, 3)

#define SCALAR(P, i) ((MATHV(P))(*(global const MATH(P) *)&s->scalars[i]))
#define APPLY_0_1(OP, P) OP(SCALAR(P, 0))
#define APPLY_1_0(OP, P) OP(va)
#define APPLY_1_1(OP, P) OP(va, SCALAR(P, 0))
#define APPLY_1_R(OP, P) OP(SCALAR(P, 0), va)
#define APPLY_1_2(OP, P) OP(va, SCALAR(P, 0), SCALAR(P, 1))
#define APPLY_2_0(OP, P) OP(va, vb)
#define APPLY_2_1(OP, P) OP(va, vb, SCALAR(P, 0))
#define APPLY_2_2(OP, P) OP(va, vb, SCALAR(P, 0), SCALAR(P, 1))
#define APPLY_3_0(OP, P) OP(va, vb, vc)
#define APPLY_3_1(OP, P) OP(va, vb, vc, SCALAR(P, 0))

// ---- the steps ----------------------------------------------------------------------------------

#define KIND(NUMBER, INPUTS, SCALARS, OP, OUT, A, B, C, P)                                         \
    static inline void run_##NUMBER(global char *const *bases, global const struct step *s) {      \
        for (int v = (int)get_local_id(0); v < s->vectors; v += (int)get_local_size(0)) {          \
            const struct place place = locate(s, v);                                               \
            FETCH_##INPUTS(A, B, C)                                                                \
            const MATHV(OUT) result = APPLY_##INPUTS##_##SCALARS(OP, P);                           \
            global STORAGE(OUT) *out = (global STORAGE(OUT) *)bases[s->buffers[0]] + place.at[0];  \
            const long out_step = s->inner_strides[0];                                             \
            if (s->is_vector && place.n == W) {                                                    \
                STOREV(OUT, out, place.first, result);                                             \
            } else {                                                                               \
                MATH(OUT) lanes[W];                                                                \
                CAT(vstore, W)(result, 0, lanes);                                                  \
                for (int lane = 0; lane < place.n; lane++)                                         \
                    STORE(OUT, out, (place.first + lane) * out_step, lanes[lane]);                 \
            }                                                                                      \
        }                                                                                          \
    }
KINDS
#undef KIND
#define KIND(NUMBER, INPUTS, SCALARS, OP, OUT, A, B, C, P)                                         \
    case NUMBER:                                                                                   \
        run_##NUMBER(bases, s);                                                                    \
        break;

#ifdef GPU_FORM
#define STEP_BARRIER barrier
#else
#define STEP_BARRIER mem_fence // between types that the compiler takes for different memory
#endif

kernel void merged_run(global char *b0, global char *b1, global char *b2, global char *b3,
                       global char *b4, global char *b5, global char *b6, global char *b7,
                       global const char *table, const long table_offset, const int count) {
    global char *const bases[8] = {b0, b1, b2, b3, b4, b5, b6, b7};
    global const struct step *s = (global const struct step *)(table + table_offset);
    for (int i = 0; i < count; i++, s++) {
        if (s->needs_barrier) STEP_BARRIER(CLK_GLOBAL_MEM_FENCE);
        switch (s->kind) {
            KINDS
        }
    }
}
