#pragma OPENCL FP_CONTRACT OFF
// matmul_packed: matrix products on a CPU, both operands packed.
//
//   out[i, j] = sum over k of a[i, k] b[k, j]
//
// k is cut into runs of KC. Entries, in the order they are launched:
//   pack_b     a work-item packs PANELS panels of one run of one matrix of b
//   multiply   a work-item computes a macro tile of tile_rows x tile_columns panels of the output:
//
//       for each run of k
//           pack the tile's panels of a          tile_rows x MR x KC, in the L2 cache
//           for each b panel of the tile         KC x NR, stays in the L1 cache
//               for each a panel of the tile     MR x KC, streams from L2
//                   tile [MR][NR] in registers   (matmul_panel.clh)
//
// Sums of a run start at zero and are added run by run: in the output itself where it has the
// accumulation type, else in `sums`, one [MR][NR] block per tile of the output. The last run's
// results go through the epilogue (matmul_epilogue.clh).
//
// Packed b: [matrix][run][panel][k][NR]; only the last run is shorter than KC. Matrices along which
// b is broadcast are packed once: they are numbered by strides that are 0 on broadcast axes.
//
// Host guarantees: local size 1; out does not overlap a or b; packed buffers are 128-byte aligned;
// k > 0; tile_rows <= A_PANELS.
//
// Defines
//   X, Y, ACC, W, MR   see matmul_panel.clh
//   KC                 length of a run of k
//   A_PANELS           panels of a that local memory holds
#define A_SPACE local
#define B_SPACE global
#include "matmul_panel.clh"

#define PANELS 8 // that a work-item packs

// Strides of operand 0 of `batch` are those of b.
kernel void pack_b(global const STORAGE(X) *b, long b_offset, long n, long k, long b_k,
                   long b_column, batch_axes batch, global acc_t *packed, long packed_offset) {
    long panels = (n + NR - 1) / NR, groups = (panels + PANELS - 1) / PANELS;
    long runs = (k + KC - 1) / KC, id = get_group_id(0), matrix = id / groups / runs;
    long k_first = id / groups % runs * KC, panel = id % groups * PANELS;
    int k_count = (int)min(k - k_first, (long)KC);
    b += b_offset + batch_offset(&batch, matrix, 0) + k_first * b_k + panel * NR * b_column;
    packed += packed_offset + matrix * panels * NR * k + panels * NR * k_first;
    pack_b_panels(b, b_column, b_k, min((long)PANELS * NR, n - panel * NR), k_count,
                  packed + panel * NR * k_count, NR * k_count);
}

// Strides of operand 1 of `batch` are in matrices of the packed buffer.
kernel void multiply(global const STORAGE(X) *a, long a_offset, global const acc_t *b,
                     long b_offset, global STORAGE(Y) *out, long out_offset, global acc_t *sums,
                     long sums_offset, long m, long n, long k, long tile_rows, long tile_columns,
                     long a_row, long a_k, long out_row, long out_column,
                     batch_axes batch EPILOGUE_PARAMS) {
    local accv a_block[A_PANELS * MR * KC / W];
    local acc_t *a_panels = (local acc_t *)a_block;
    long row_panels = (m + MR - 1) / MR, column_panels = (n + NR - 1) / NR;
    long down = (row_panels + tile_rows - 1) / tile_rows;
    long across = (column_panels + tile_columns - 1) / tile_columns;
    long id = get_group_id(0), matrix = id / down / across;
    long i_first = id % down * tile_rows, i_end = min(i_first + tile_rows, row_panels);
    long j_first = id / down % across * tile_columns;
    long j_end = min(j_first + tile_columns, column_panels);

    a += a_offset + batch_offset(&batch, matrix, 0);
    b += b_offset + batch_offset(&batch, matrix, 1) * column_panels * NR * k;
    out += out_offset + batch_offset(&batch, matrix, 2);
    sums += sums_offset + matrix * row_panels * column_panels * (MR * NR);
    EPILOGUE_AT(matrix, 0, 0);
    for (long k_first = 0; k_first < k; k_first += KC) {
        int k_count = (int)min(k - k_first, (long)KC);
        global const acc_t *b_run = b + column_panels * NR * k_first;
        for (long i = i_first; i < i_end; i++)
            pack_a_panel(a + i * MR * a_row + k_first * a_k, a_row, a_k,
                         (int)min((long)MR, m - i * MR), k_count,
                         a_panels + (i - i_first) * MR * k_count);
        for (long j = j_first; j < j_end; j++) {
            int columns = (int)min((long)NR, n - j * NR);
            for (long i = i_first; i < i_end; i++) {
                accv tile[2 * MR];
                global STORAGE(Y) *at = out + i * MR * out_row + j * NR * out_column;
                global acc_t *sum = sums + (j * row_panels + i) * (MR * NR);
                if (OUT_IS_ACC && k_first > 0) prefetch_tile((global acc_t *)at, out_row);
                multiply_panels(a_panels + (i - i_first) * MR * k_count, b_run + j * NR * k_count,
                                k_count, tile);
                struct target to = {
                    at, out_row, out_column, i * MR, j * NR, (int)min((long)MR, m - i * MR), columns};
                finish_tile(tile, k_first == 0, k_first + KC >= k, sum, &e, &to);
            }
        }
    }
}
