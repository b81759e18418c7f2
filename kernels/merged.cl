#pragma OPENCL FP_CONTRACT OFF
// merged.cl: a run of small operations, one after the other, by one work-group.
//
// A graph has many operations whose launches cost more than their work. The host
// (src/opencl/merge.c) describes such a run in a table of steps; this kernel walks the table and
// calls, for each step, the operator function that the operation's own kernel calls, in the same
// order: pointwise steps (pointwise.cl) with vectors of the same width and the same loads and
// stores, reductions (merged_reduce.clh) with the same tree. The bits are the same.
//
// A pointwise step's elements are numbered along a nest of axes, W to a vector; vector v is
// work-item v mod local size's. A step that reads or overwrites what other work-items have made has
// needs_barrier set. CPU form: one work-item, which needs no barrier.
//
// A step of few elements is all latency, so the GPU form keeps what comes next close by: the table
// in local memory, and in registers the vector that a work-item has just stored, for the next step
// reads it as often as not.
//
// Defines
//   W          lanes, the same for all pointwise steps
//   KINDS      KIND(number,inputs,scalars,operator,out,a,b,c,p) for every distinct pointwise
//              operation, without a space: operators and dtype words as pointwise.cl has them;
//              scalars 0, 1, 2, or R for one that comes first; unused words are f32
//   REDUCTIONS REDUCTION(...) for every distinct reduction, if there are any (merged_reduce.clh)
//   ROUNDS     some of them are by units; GPU form
//   UNARY, BACKWARD, BINARY, COMPARE, CAST, MOVE: which families of operators. ONLY_<class>: of
//              which class
//   GPU_FORM   GPU form; ALIGNED must be given too

#include "types.clh"
#include "vector.clh"
#include "merged_step.clh"
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
#ifdef REDUCTIONS
#include "merged_reduce.clh"
#endif

#if !defined(KINDS)
#error "merged.cl needs KINDS"
#endif

// ---- what a work-item has just stored -----------------------------------------------------------

#ifdef GPU_FORM
struct carry {
    int operands; // of this step: bit k for operand k
    vf32 f32;
    vi32 i32;
    vu32 u32;
    vi64 i64;
    vu64 u64;
#ifdef cl_khr_fp64
    vf64 f64;
#endif
};
#define CARRY_f32 f32
#define CARRY_f16 f32 // the host carries no type that is rounded when it is stored
#define CARRY_bf16 f32
#define CARRY_f8e4m3 f32
#define CARRY_f8e5m2 f32
#define CARRY_f64 f64
#define CARRY_i64 i64
#define CARRY_i32 i32
#define CARRY_i16 i32
#define CARRY_i8 i32
#define CARRY_bool i32
#define CARRY_bool32 i32
#define CARRY_u64 u64
#define CARRY_u32 u32
#define CARRY_u16 u32
#define CARRY_u8 u32
#define IS_CARRIED(k) (carry->operands >> (k) & 1)
#define CARRIED(T) carry->CAT(CARRY_, T)
#define CARRY(T, v) carry->CAT(CARRY_, T) = (v);
#else
struct carry {
    int operands;
};
#define IS_CARRIED(k) 0
#define CARRIED(T) ((MATHV(T))0)
#define CARRY(T, v)
#endif

// ---- one vector of one step ---------------------------------------------------------------------

// Lanes first .. first + n - 1 of a row, from `at`.
struct place {
    int at[4];
    int first;
    int n;
};

static inline struct place locate(const struct head h, TABLE const struct step *s, int v) {
    struct place place;
    int row = 0, part = v;
    for (int k = 0; k < 4; k++) place.at[k] = 0;
    if (h.outer_rank > 0) {
        row = v / h.per_row;
        part = v - row * h.per_row;
        for (int axis = h.outer_rank - 1; axis >= 0; axis--) {
            const int quotient = row / s->shape[axis], coordinate = row - quotient * s->shape[axis];
            for (int k = 0; k < 4; k++) place.at[k] += coordinate * s->strides[k][axis];
            row = quotient;
        }
    }
    place.first = part * W;
    place.n = min(W, h.inner - place.first);
    return place;
}

#define FETCH(T, name, k)                                                                          \
    MATHV(T) v##name;                                                                              \
    if (IS_CARRIED(k)) {                                                                           \
        v##name = CARRIED(T);                                                                      \
    } else {                                                                                       \
        global const STORAGE(T) *p = (global const STORAGE(T) *)at[k] + place.at[k];               \
        const int stride = s->inner_strides[k];                                                    \
        if (stride == 0) {                                                                         \
            v##name = (MATHV(T))(LOAD(T, p, 0));                                                   \
        } else if (h.is_vector && place.n == W) {                                                  \
            v##name = LOADV(T, p, place.first);                                                    \
        } else {                                                                                   \
            MATH(T) lanes[W];                                                                      \
            for (int lane = 0; lane < W; lane++)                                                   \
                lanes[lane] = LOAD(T, p, (place.first + min(lane, place.n - 1)) * stride);         \
            v##name = CAT(vload, W)(0, lanes);                                                     \
        }                                                                                          \
    }

#define FETCH_0(A, B, C)
#define FETCH_1(A, B, C) FETCH(A, a, 1)
#define FETCH_2(A, B, C) FETCH(A, a, 1) FETCH(B, b, 2)
#define FETCH_3(A, B, C) FETCH(A, a, 1) FETCH(B, b, 2) FETCH(C, c, 3)

#define SCALAR(P, i) ((MATHV(P))(*(TABLE const MATH(P) *)&s->scalars[i]))
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
    static inline void run_##NUMBER(STEP, struct carry *carry) {                                   \
        for (int v = (int)get_local_id(0); v < h.vectors; v += (int)get_local_size(0)) {           \
            const struct place place = locate(h, s, v);                                            \
            FETCH_##INPUTS(A, B, C)                                                                \
            const MATHV(OUT) result = APPLY_##INPUTS##_##SCALARS(OP, P);                           \
            global STORAGE(OUT) *out = (global STORAGE(OUT) *)at[0] + place.at[0];                 \
            CARRY(OUT, result)                                                                     \
            if (h.is_vector && place.n == W) {                                                     \
                STOREV(OUT, out, place.first, result);                                             \
            } else {                                                                               \
                MATH(OUT) lanes[W];                                                                \
                const int stride = s->inner_strides[0];                                            \
                CAT(vstore, W)(result, 0, lanes);                                                  \
                for (int lane = 0; lane < place.n; lane++)                                         \
                    STORE(OUT, out, (place.first + lane) * stride, lanes[lane]);                   \
            }                                                                                      \
        }                                                                                          \
    }
KINDS
#undef KIND
#define KIND(NUMBER, INPUTS, SCALARS, OP, OUT, A, B, C, P)                                         \
    case NUMBER:                                                                                   \
        run_##NUMBER(h, s, at, &carry);                                                            \
        break;

#ifdef REDUCTIONS
#define REDUCTION REDUCTION_FUNCTIONS
REDUCTIONS
#undef REDUCTION
#define REDUCTION(NUMBER, SORT, OP, X, C, Y, Z)                                                    \
    case NUMBER:                                                                                   \
        alone_##NUMBER(h, s, at);                                                                  \
        break;
#else
#define REDUCTIONS
#endif

#define PARAMETERS                                                                                 \
    global char *b0, global char *b1, global char *b2, global char *b3, global char *b4,           \
        global char *b5, global char *b6, global char *b7, global const char *table,               \
        const long table_offset, const int count

#ifndef GPU_FORM

kernel void merged_run(PARAMETERS) {
    const place_t bases[8] = {b0, b1, b2, b3, b4, b5, b6, b7};
    global const struct step *s = (global const struct step *)(table + table_offset);
    struct carry carry;
    for (int i = 0; i < count; i++, s++) {
        const struct head h = s->head;
        place_t at[4];
        for (int k = 0; k < 4; k++) at[k] = bases[s->buffers[k]] + s->offsets[k];
        if (h.needs_barrier) // between types that the compiler takes for different memory
            mem_fence(CLK_GLOBAL_MEM_FENCE);
        switch (h.kind) {
            KINDS
            REDUCTIONS
        }
    }
}

#else

#define BATCH 64 // steps in local memory
#define STEP_WORDS (sizeof(struct step) / sizeof(uint))

#define ADDRESS(i) (i == 0 ? b0 : i == 1 ? b1 : i == 2 ? b2 : i == 3 ? b3                          \
                    : i == 4 ? b4 : i == 5 ? b5 : i == 6 ? b6 : b7)

kernel void merged_run(PARAMETERS) {
    local struct step steps[BATCH];
    local place_t places[4 * BATCH];
#ifdef ROUNDS
    local long states[2 * UNITS * UNIT];
#endif
    const int item = (int)get_local_id(0), items = (int)get_local_size(0);
    global const uint *words = (global const uint *)(table + table_offset);
    struct carry carry;
    for (int first = 0; first < count; first += BATCH) {
        const int here = min(BATCH, count - first), word_count = here * (int)STEP_WORDS;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = item; i < word_count; i += items)
            ((local uint *)steps)[i] = words[first * (int)STEP_WORDS + i];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = item; i < 4 * here; i += items) {
            const int buffer = steps[i / 4].buffers[i % 4];
            places[i] = ADDRESS(buffer) + steps[i / 4].offsets[i % 4];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        struct head next = steps[0].head;
        for (int i = 0; i < here; i++) {
            const struct head h = next;
            local const struct step *s = &steps[i];
            local const place_t *at = &places[4 * i];
            next = steps[min(i + 1, BATCH - 1)].head; // one less wait in the step that follows
            if (h.needs_barrier) barrier(CLK_GLOBAL_MEM_FENCE);
            carry.operands = h.vectors <= items ? h.carried : 0;
            switch (h.kind) {
                KINDS
                REDUCTIONS
            }
#ifdef ROUNDS
#undef REDUCTION
#define REDUCTION(NUMBER, SORT, OP, X, C, Y, Z)                                                    \
    case NUMBER:                                                                                   \
        units_##NUMBER(h, s, at, round, states);                                                   \
        break;
#define REDUCTION_RESULTS(NUMBER, SORT, OP, X, C, Y, Z)                                            \
    case NUMBER:                                                                                   \
        results_##NUMBER(h, s, at, round, states);                                                 \
        break;
            for (int round = 0; round < h.rounds; round++) {
                switch (h.kind) {
                    REDUCTIONS
                }
                barrier(CLK_LOCAL_MEM_FENCE);
#undef REDUCTION
#define REDUCTION REDUCTION_RESULTS
                switch (h.kind) {
                    REDUCTIONS
                }
                barrier(CLK_LOCAL_MEM_FENCE);
            }
#endif
        }
    }
}

#endif // GPU_FORM
