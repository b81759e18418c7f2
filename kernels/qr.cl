#pragma OPENCL FP_CONTRACT OFF
// qr: what a QR factorisation begins and ends with: a work-item makes one element.
//
//   qr_upper     the factored matrix on and above the diagonal, 0 below: R
//   qr_identity  1 on the diagonal, 0 elsewhere: what Q is made from
//
// Defines: those of linalg.clh
#include "linalg.clh"

struct element_args {
    struct matrices from, to;
    long count; // of matrices
    int rows, columns; // of a result
};

struct place {
    long number;
    int row, column;
};
static inline struct place place_of(long item, const struct element_args *args) {
    struct place at;
    const long line = item / args->columns;
    at.column = (int)(item - line * args->columns);
    at.number = line / args->rows;
    at.row = (int)(line - at.number * args->rows);
    return at;
}

kernel void qr_upper(global const real *from, global real *to, const struct element_args args) {
    const struct place at = place_of((long)get_global_id(0), &args);
    if (at.number >= args.count) return;
    const real x = MATRIX(from, args.from, at.number)[at.row * args.from.line + at.column];
    to = MATRIX(to, args.to, at.number);
    to[at.row * args.to.line + at.column] = at.column < at.row ? (real)0 : x;
}

kernel void qr_identity(global real *to, const struct element_args args) {
    const struct place at = place_of((long)get_global_id(0), &args);
    if (at.number >= args.count) return;
    MATRIX(to, args.to, at.number)[at.row * args.to.line + at.column] = at.column == at.row;
}
