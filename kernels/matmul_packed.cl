#pragma OPENCL FP_CONTRACT OFF
// matmul_packed: matrix products on a CPU, both operands packed.
//
//   out[i, j] = sum over k of a[i, k] b[k, j]
//
// k is cut into runs of KC. Entries, in the order they are launched:
//   pack_a, pack_b   a work-item packs the panels [first, first + PANELS) of one run of one matrix
//   multiply         a work-item computes a macro tile of tile_rows x tile_columns panels:
//
//       for each run of k                        the a panels of the tile stay in the L2 cache
//           for each b panel of the tile         KC x NR stays in the L1 cache
//               for each a panel of the tile     KC x MR streams from L2
//                   tile [MR][NR] in registers   (matmul_panel.clh)
//
// Sums of a run start at zero and are added run by run: in the output itself where it has the
// accumulation type, else in `sums`, one [MR][NR] block per tile of the output.
//
// Packed layout: [matrix][run][panel][k][MR or NR]; only the last run is shorter than KC.
// Batch axes: axis 0 the fastest; broadcast operands are packed once, their matrices are numbered
// by strides that are 0 on broadcast axes.
//
// Host guarantees: local size 1; out does not overlap a or b; packed buffers are 128-byte aligned.
//
// Defines
//   X, Y, ACC, W, MR   see matmul_panel.clh
//   KC                 length of a run of k
#define PANEL global
#include "matmul_batch.clh"
#include "matmul_panel.clh"

#define PANELS 8 // that a work-item packs

inline void pack(global const STORAGE(X) *x, long offset, long count, long k,
                 long line_stride, long k_stride, const batch_axes *batch, const int width, global acc_t *packed) {
    long panels = (count + width - 1) / width, groups = (panels + PANELS - 1) / PANELS;
    long runs = (k + KC - 1) / KC;
    long id = get_group_id(0), group = id % groups, run = id / groups % runs;
    long matrix = id / groups / runs;
    long k_first = run * KC;
    int k_count = (int)min(k - k_first, (long)KC);
    x += offset + batch_offset(batch, matrix, 0) + k_first * k_stride;
    packed += matrix * panels * width * k + panels * width * k_first;
    for (long panel = group * PANELS; panel < min((group + 1) * PANELS, panels); panel++) {
        long first = panel * width;
        pack_panel(x + first * line_stride, line_stride, k_stride,
                   (int)min((long)width, count - first), k_count, width,
                   packed + panel * width * k_count);
    }
}

kernel void pack_a(global const STORAGE(X) *a, long offset, long m, long k,
                   long row_stride, long k_stride, batch_axes batch, global acc_t *packed, long packed_offset) {
    pack(a, offset, m, k, row_stride, k_stride, &batch, MR, packed + packed_offset);
}

kernel void pack_b(global const STORAGE(X) *b, long offset, long n, long k,
                   long column_stride, long k_stride, batch_axes batch, global acc_t *packed, long packed_offset) {
    pack(b, offset, n, k, column_stride, k_stride, &batch, NR, packed + packed_offset);
}

// Strides of `batch`: operands 0 and 1 in matrices of the packed buffers, operand 2 in elements.
kernel void multiply(global const acc_t *a, long a_offset, global const acc_t *b, long b_offset,
                     global STORAGE(Y) *out, long out_offset, global acc_t *sums, long sums_offset,
                     long m, long n, long k, long tile_rows, long tile_columns, long row_stride,
                     long column_stride, batch_axes batch) {
    long row_panels = (m + MR - 1) / MR, column_panels = (n + NR - 1) / NR;
    long tiles_down = (row_panels + tile_rows - 1) / tile_rows;
    long tiles_across = (column_panels + tile_columns - 1) / tile_columns;
    long id = get_group_id(0), matrix = id / tiles_down / tiles_across;
    long i_first = id % tiles_down * tile_rows, j_first = id / tiles_down % tiles_across * tile_columns;
    long i_end = min(i_first + tile_rows, row_panels);
    long j_end = min(j_first + tile_columns, column_panels);

    a += a_offset + batch_offset(&batch, matrix, 0) * row_panels * MR * k;
    b += b_offset + batch_offset(&batch, matrix, 1) * column_panels * NR * k;
    out += out_offset + batch_offset(&batch, matrix, 2);
    sums += sums_offset + matrix * row_panels * column_panels * (MR * NR);
    for (long k_first = 0; k_first < k; k_first += KC) {
        int k_count = (int)min(k - k_first, (long)KC);
        global const acc_t *a_run = a + row_panels * MR * k_first;
        global const acc_t *b_run = b + column_panels * NR * k_first;
        for (long j = j_first; j < j_end; j++) {
            int columns = (int)min((long)NR, n - j * NR);
            for (long i = i_first; i < i_end; i++) {
                accv tile[2 * MR];
                multiply_panels(a_run + i * MR * k_count, b_run + j * NR * k_count, k_count, tile);
                finish_tile(tile, k_first == 0, k_first + KC >= k,
                            sums + (j * row_panels + i) * (MR * NR),
                            out + i * MR * row_stride + j * NR * column_stride, row_stride,
                            column_stride, (int)min((long)MR, m - i * MR), columns);
            }
        }
    }
}
