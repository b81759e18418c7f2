#pragma OPENCL FP_CONTRACT OFF
// matmul_vector_group: products of one row with a matrix on a GPU: bandwidth decides.
//
//   out[j] = sum over k of x[k] b[k, j]
//
// Entries
//   dots      x and b's columns are contiguous: `lanes` work-items share a column, W elements at a
//             time each, and add up in a tree in local memory; THREADS / lanes columns per group
//   columns   b's rows are contiguous: a group takes COLUMNS columns, a work-item W of them and
//             every SLICES-th step of k; the slices add up in local memory
//
// Where the output is short the host cuts k into `parts` of k_part steps: the sums go to
// `partial`, [part][matrix][n], and add_splits of matmul_tile adds them in order.
// The order of additions depends on k, lanes and parts alone, which the host derives from the
// shape. Results go through the epilogue (matmul_epilogue.clh).
//
// Defines
//   X, Y, ACC  see matmul_types.clh
//   W          elements a work-item reads at once: 4
//   ALIGNED    what is read so, rows or columns of b and in dots x, is aligned to W elements
//   THREADS    work-items of a group, a multiple of 64
#include "matmul_epilogue.clh"

#define COLUMNS 64
#define SLICES (THREADS * W / COLUMNS)

static inline void finish(acc_t sum, long j, long n, long matrix, long matrices, long part,
                          long parts, global acc_t *partial, global STORAGE(Y) *out,
                          long out_stride, const epilogue *e) {
    if (parts > 1)
        partial[(part * matrices + matrix) * n + j] = sum;
    else
        STORE(Y, out, j * out_stride, finish_sum(sum, e, 0, j));
}

kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
dots(global const STORAGE(X) *x, long x_offset, global const STORAGE(X) *b, long b_offset,
     global STORAGE(Y) *out, long out_offset, global acc_t *partial, long partial_offset, long n,
     long k, long parts, long k_part, long b_stride, long out_stride, int lanes,
     batch_axes batch EPILOGUE_PARAMS) {
    local acc_t sums[THREADS];
    int t = (int)get_local_id(0), lane = t % lanes, per_group = THREADS / lanes;
    long groups = (n + per_group - 1) / per_group, id = get_group_id(0);
    long part = id / groups % parts, matrix = id / groups / parts;
    long matrices = get_num_groups(0) / groups / parts;
    long j = id % groups * per_group + t / lanes, column = min(j, n - 1);
    long k_first = part * k_part, k_end = min(k_first + k_part, k);
    x += x_offset + batch_offset(&batch, matrix, 0);
    b += b_offset + batch_offset(&batch, matrix, 1) + column * b_stride;

    accv s = 0, u = 0;
    long i = k_first + lane * W, step = (long)lanes * W;
    for (; i + step + W <= k_end; i += 2 * step) {
        s = multiply_add(as_accv(LOADV(X, x, i)), as_accv(LOADV(X, b, i)), s);
        u = multiply_add(as_accv(LOADV(X, x, i + step)), as_accv(LOADV(X, b, i + step)), u);
    }
    for (; i + W <= k_end; i += step)
        s = multiply_add(as_accv(LOADV(X, x, i)), as_accv(LOADV(X, b, i)), s);
    s += u;
    acc_t sum = (s.s0 + s.s2) + (s.s1 + s.s3);
    for (; i < k_end; i++)
        sum = multiply_add(as_acc(LOAD(X, x, i)), as_acc(LOAD(X, b, i)), sum);
    sums[t] = sum;
    for (int width = lanes / 2; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < width) sums[t] += sums[t + width];
    }
    if (lane == 0 && j < n) {
        EPILOGUE_AT(matrix, 0, 0);
        finish(sums[t], j, n, matrix, matrices, part, parts, partial + partial_offset,
               out + out_offset + batch_offset(&batch, matrix, 2), out_stride, &e);
    }
}

// W elements of a row of b, of which `count` exist.
static inline accv load_columns(global const STORAGE(X) *b, long count) {
    if (count >= W) return as_accv(LOADV(X, b, 0));
    acc_t lanes[W];
    for (int i = 0; i < W; i++) lanes[i] = i < count ? as_acc(LOAD(X, b, i)) : 0;
    return CAT(vload, W)(0, lanes);
}

kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
columns(global const STORAGE(X) *x, long x_offset, global const STORAGE(X) *b, long b_offset,
        global STORAGE(Y) *out, long out_offset, global acc_t *partial, long partial_offset,
        long n, long k, long parts, long k_part, long x_stride, long b_stride, long out_stride,
        batch_axes batch EPILOGUE_PARAMS) {
    local acc_t sums[SLICES][COLUMNS];
    int t = (int)get_local_id(0), place = t % (COLUMNS / W) * W, slice = t / (COLUMNS / W);
    long groups = (n + COLUMNS - 1) / COLUMNS, id = get_group_id(0);
    long part = id / groups % parts, matrix = id / groups / parts;
    long matrices = get_num_groups(0) / groups / parts;
    long j = id % groups * COLUMNS, count = n - j - place;
    long k_end = min((part + 1) * k_part, k), i = part * k_part + slice;
    x += x_offset + batch_offset(&batch, matrix, 0);
    b += b_offset + batch_offset(&batch, matrix, 1) + j + place;

    accv s[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (; i + 7 * SLICES < k_end; i += 8 * SLICES) {
        _Pragma("unroll")
        for (int r = 0; r < 8; r++) {
            long row = i + r * SLICES;
            s[r] = multiply_add((accv)(as_acc(LOAD(X, x, row * x_stride))),
                                load_columns(b + row * b_stride, count), s[r]);
        }
    }
    for (; i < k_end; i += SLICES)
        s[0] = multiply_add((accv)(as_acc(LOAD(X, x, i * x_stride))),
                            load_columns(b + i * b_stride, count), s[0]);
    CAT(vstore, W)(((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])), 0,
                   &sums[slice][place]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < COLUMNS && j + t < n) {
        acc_t sum = sums[0][t];
        for (int r = 1; r < SLICES; r++) sum += sums[r][t];
        EPILOGUE_AT(matrix, 0, 0);
        finish(sum, j + t, n, matrix, matrices, part, parts, partial + partial_offset,
               out + out_offset + batch_offset(&batch, matrix, 2), out_stride, &e);
    }
}
