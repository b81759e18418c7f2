#pragma OPENCL FP_CONTRACT OFF
// matmul_vector: products of one row with a matrix on a CPU: memory decides, so nothing is packed.
//
//   out[j] = sum over k of x[k] b[k, j]
//
// Entries
//   columns   b's rows are contiguous: a work-item takes CHUNK columns and goes down k, four rows
//             at a time, keeping its sums in a private array
//   dots      x and b's columns are contiguous: a work-item takes `per_item` columns, four at a
//             time, with two vector sums each; lanes are added in a fixed tree at the end
//   add_parts adds the partial sums of `columns` in order, [part][matrix][n]
//
// k may be cut into `parts` of k_part steps; then the sums of a part go to `partial` and add_parts
// finishes. The host chooses parts by shape alone.
//
// Results go through the epilogue (matmul_epilogue.clh).
//
// Host guarantees: local size 1; out does not overlap x or b.
//
// Defines
//   X, Y, ACC, W   see matmul_types.clh
#include "matmul_epilogue.clh"

#define CHUNK 512

static inline void add_rows(global const STORAGE(X) *x, long x_stride, global const STORAGE(X) *b,
                            long b_stride, long k_count, int width, acc_t *sums) {
    for (long k = 0; k < k_count; k += 4) {
        int live = (int)min(4L, k_count - k);
        acc_t x0 = as_acc(LOAD(X, x, k * x_stride));
        acc_t x1 = live > 1 ? as_acc(LOAD(X, x, (k + 1) * x_stride)) : 0;
        acc_t x2 = live > 2 ? as_acc(LOAD(X, x, (k + 2) * x_stride)) : 0;
        acc_t x3 = live > 3 ? as_acc(LOAD(X, x, (k + 3) * x_stride)) : 0;
        global const STORAGE(X) *row = b + k * b_stride;
        int j = 0;
        if (live == 4)
            for (; j + W <= width; j += W) {
                accv sum = CAT(vload, W)(0, sums + j);
                sum = multiply_add((accv)(x0), as_accv(LOADV(X, row, j)), sum);
                sum = multiply_add((accv)(x1), as_accv(LOADV(X, row, b_stride + j)), sum);
                sum = multiply_add((accv)(x2), as_accv(LOADV(X, row, 2 * b_stride + j)), sum);
                sum = multiply_add((accv)(x3), as_accv(LOADV(X, row, 3 * b_stride + j)), sum);
                CAT(vstore, W)(sum, 0, sums + j);
            }
        for (; j < width; j++) {
            acc_t sum = multiply_add(x0, as_acc(LOAD(X, row, j)), sums[j]);
            if (live > 1) sum = multiply_add(x1, as_acc(LOAD(X, row, b_stride + j)), sum);
            if (live > 2) sum = multiply_add(x2, as_acc(LOAD(X, row, 2 * b_stride + j)), sum);
            if (live > 3) sum = multiply_add(x3, as_acc(LOAD(X, row, 3 * b_stride + j)), sum);
            sums[j] = sum;
        }
    }
}

// Results of neighbouring columns, W at a time.
static inline void store_sums(const accv *sums, int width, global STORAGE(Y) *out, long out_stride,
                              const epilogue *e) {
    for (int j = 0; j < width; j += W) {
        int count = min(W, width - j);
        MATH(Y) lanes[W];
        CAT(vstore, W)(finish_lanes(sums[j / W], e, 0, j, count), 0, lanes);
        for (int c = 0; c < count; c++) STORE(Y, out, (j + c) * out_stride, lanes[c]);
    }
}

kernel void columns(global const STORAGE(X) *x, long x_offset, global const STORAGE(X) *b,
                    long b_offset, global STORAGE(Y) *out, long out_offset,
                    global acc_t *partial, long partial_offset, long n, long k, long parts,
                    long k_part, long x_stride, long b_stride, long out_stride,
                    batch_axes batch EPILOGUE_PARAMS) {
    long chunks = (n + CHUNK - 1) / CHUNK;
    long id = get_group_id(0), matrix = id / chunks / parts;
    long part = id / chunks % parts, k_first = part * k_part, j_first = id % chunks * CHUNK;
    int width = (int)min((long)CHUNK, n - j_first);
    accv sums[CHUNK / W];
    acc_t *sum = (acc_t *)sums;
    for (int j = 0; j < CHUNK / W; j++) sums[j] = 0;
    add_rows(x + x_offset + batch_offset(&batch, matrix, 0) + k_first * x_stride, x_stride,
             b + b_offset + batch_offset(&batch, matrix, 1) + k_first * b_stride + j_first,
             b_stride, min(k_part, k - k_first), width, sum);
    if (parts > 1) {
        long matrices = get_num_groups(0) / chunks / parts;
        partial += partial_offset + (part * matrices + matrix) * n + j_first;
        for (int j = 0; j < width; j++) partial[j] = sum[j];
    } else {
        out += out_offset + batch_offset(&batch, matrix, 2) + j_first * out_stride;
        EPILOGUE_AT(matrix, 0, j_first);
        store_sums(sums, width, out, out_stride, &e);
    }
}

kernel void add_parts(global const acc_t *partial, long partial_offset, global STORAGE(Y) *out,
                      long out_offset, long n, long parts, long out_stride,
                      batch_axes batch EPILOGUE_PARAMS) {
    long chunks = (n + CHUNK - 1) / CHUNK, j_first = get_group_id(0) % chunks * CHUNK;
    long matrix = get_group_id(0) / chunks, matrices = get_num_groups(0) / chunks;
    EPILOGUE_AT(matrix, 0, 0);
    out += out_offset + batch_offset(&batch, matrix, 2);
    for (long j = j_first; j < min(j_first + CHUNK, n); j++) {
        acc_t sum = 0;
        for (long part = 0; part < parts; part++)
            sum += partial[partial_offset + (part * matrices + matrix) * n + j];
        STORE(Y, out, j * out_stride, finish_sum(sum, &e, 0, j));
    }
}

// Lanes first to last half, then quarters ...: the same tree for every column.
static inline acc_t add_lanes(accv v) {
    acc_t lane[W];
    CAT(vstore, W)(v, 0, lane);
    for (int width = W / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++) lane[i] += lane[i + width];
    return lane[0];
}

static inline acc_t add_tail(acc_t sum, global const STORAGE(X) *x, global const STORAGE(X) *b,
                             long k_first, long k) {
    for (long i = k_first; i < k; i++)
        sum = multiply_add(as_acc(LOAD(X, x, i)), as_acc(LOAD(X, b, i)), sum);
    return sum;
}

kernel void dots(global const STORAGE(X) *x, long x_offset, global const STORAGE(X) *b,
                 long b_offset, global STORAGE(Y) *out, long out_offset, long n, long k,
                 long per_item, long b_stride, long out_stride, batch_axes batch EPILOGUE_PARAMS) {
    long items = (n + per_item - 1) / per_item, matrix = get_group_id(0) / items;
    long j = get_group_id(0) % items * per_item, j_end = min(j + per_item, n);
    x += x_offset + batch_offset(&batch, matrix, 0);
    b += b_offset + batch_offset(&batch, matrix, 1);
    out += out_offset + batch_offset(&batch, matrix, 2);
    EPILOGUE_AT(matrix, 0, 0);
    long k_even = k / (2 * W) * (2 * W);
    for (; j < j_end; j += 4) {
        int count = (int)min(4L, j_end - j);
        // Past the last column the last one is read again and its sum dropped.
        global const STORAGE(X) *b0 = b + j * b_stride;
        global const STORAGE(X) *b1 = b + min(j + 1, j_end - 1) * b_stride;
        global const STORAGE(X) *b2 = b + min(j + 2, j_end - 1) * b_stride;
        global const STORAGE(X) *b3 = b + min(j + 3, j_end - 1) * b_stride;
        accv s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
        for (long i = 0; i < k_even; i += 2 * W) {
            accv u = as_accv(LOADV(X, x, i)), v = as_accv(LOADV(X, x, i + W));
            s0 = multiply_add(u, as_accv(LOADV(X, b0, i)), s0);
            t0 = multiply_add(v, as_accv(LOADV(X, b0, i + W)), t0);
            s1 = multiply_add(u, as_accv(LOADV(X, b1, i)), s1);
            t1 = multiply_add(v, as_accv(LOADV(X, b1, i + W)), t1);
            s2 = multiply_add(u, as_accv(LOADV(X, b2, i)), s2);
            t2 = multiply_add(v, as_accv(LOADV(X, b2, i + W)), t2);
            s3 = multiply_add(u, as_accv(LOADV(X, b3, i)), s3);
            t3 = multiply_add(v, as_accv(LOADV(X, b3, i + W)), t3);
        }
        acc_t sums[4] = {add_tail(add_lanes(s0 + t0), x, b0, k_even, k),
                         add_tail(add_lanes(s1 + t1), x, b1, k_even, k),
                         add_tail(add_lanes(s2 + t2), x, b2, k_even, k),
                         add_tail(add_lanes(s3 + t3), x, b3, k_even, k)};
        for (int c = 0; c < count; c++)
            STORE(Y, out, (j + c) * out_stride, finish_sum(sums[c], &e, 0, j + c));
    }
}
