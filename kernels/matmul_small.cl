#pragma OPENCL FP_CONTRACT OFF
// matmul_small: matrix products on a CPU in one launch: small, thin, or many of them.
//
//   out[i, j] = sum over k of a[i, k] b[k, j]
//
// As matmul_packed, but each work-item packs what it needs into private memory: for each run of KC
// values of k, COLUMNS panels of b, then, unless a has the accumulation type and can be read where
// it is, panel after panel of a. Rows of b that are contiguous are read where they are if there is
// one panel of a only. A unit of work is a block of block_rows panels by COLUMNS panels of one
// output matrix; a work-item takes units_per_item of them in turn. k may be 0.
//
// Host guarantees: local size 1; out does not overlap a or b; `sums` has an [MR][NR] block per tile
// of the output if k > KC and the output does not have the accumulation type.
//
// The epilogue is that of matmul_epilogue.clh.
//
// Defines
//   X, Y, ACC, W, MR   see matmul_panel.clh
//   KC                 length of a run of k
#define A_SPACE private
#define B_SPACE private
#include "matmul_panel.clh"

#define COLUMNS 4

#define PANEL (KC * NR + NR) // elements; powers of two would share sets of the L1 cache

struct product {
    long m, n, k, a_row, a_k, b_k, b_column, out_row, out_column;
};

struct block {
    long i_first, i_end, j_first, j_end; // panels
    bool has_b_in_place;
};

// The first panel of the block that is packed.
static inline long first_packed(const struct product *p, const struct block *block) {
    return block->has_b_in_place ? max(block->j_first, min(block->j_end, p->n / NR))
                                 : block->j_first;
}

// a is at row panel i and the run's k, b at the run's k.
static inline void multiply_panel(const struct product *p, const struct block *block, long i,
                                  long j, global const STORAGE(X) *a, const acc_t *a_panel,
                                  global const STORAGE(X) *b, const acc_t *b_panels, int k_count,
                                  accv *tile) {
    const long j_packed = first_packed(p, block);
    const acc_t *b_panel = b_panels + (j - j_packed) * PANEL;
    global const STORAGE(X) *b_rows = b + j * NR;
    global const STORAGE(X) *next =
        j + 1 < j_packed ? b_rows + NR : b + block->j_first * NR + k_count * p->b_k;
#if IN_IS_ACC
    const int rows = (int)min((long)MR, p->m - i * MR);
    global const acc_t *a_rows = (global const acc_t *)a;
    if (j < j_packed)
        multiply_rows_in_place(a_rows, p->a_row, p->a_k, rows, b_rows, p->b_k, next, k_count, tile);
    else
        multiply_rows(a_rows, p->a_row, p->a_k, rows, b_panel, k_count, tile);
#else
    if (j < j_packed)
        multiply_panel_in_place(a_panel, b_rows, p->b_k, next, k_count, tile);
    else
        multiply_panels(a_panel, b_panel, k_count, tile);
#endif
}

static inline void multiply_block(const struct product *p, global const STORAGE(X) *a,
                                  global const STORAGE(X) *b, global STORAGE(Y) *out,
                                  global acc_t *sums, const epilogue *e,
                                  const struct block *block) {
    accv a_panel[KC * MR / W], b_panels[COLUMNS * PANEL / W];
    const long row_panels = (p->m + MR - 1) / MR, j_packed = first_packed(p, block);
    long k_first = 0;
    do {
        const int k_count = (int)min(p->k - k_first, (long)KC);
        global const STORAGE(X) *b_run = b + k_first * p->b_k;
        pack_b_panels(b_run + j_packed * NR * p->b_column, p->b_column, p->b_k,
                      min(p->n, block->j_end * NR) - j_packed * NR, k_count, (acc_t *)b_panels,
                      PANEL);
        for (long i = block->i_first; i < block->i_end; i++) {
            const int rows = (int)min((long)MR, p->m - i * MR);
            global const STORAGE(X) *a_rows = a + i * MR * p->a_row + k_first * p->a_k;
            if (!IN_IS_ACC)
                pack_a_panel(a_rows, p->a_row, p->a_k, rows, k_count, (acc_t *)a_panel);
            for (long j = block->j_first; j < block->j_end; j++) {
                accv tile[2 * MR];
                multiply_panel(p, block, i, j, a_rows, (const acc_t *)a_panel, b_run,
                               (const acc_t *)b_panels, k_count, tile);
                struct target to = {out + i * MR * p->out_row + j * NR * p->out_column,
                                    p->out_row,
                                    p->out_column,
                                    i * MR,
                                    j * NR,
                                    rows,
                                    (int)min((long)NR, p->n - j * NR)};
                finish_tile(tile, k_first == 0, k_first + KC >= p->k,
                            sums + (j * row_panels + i) * (MR * NR), e, &to);
            }
        }
        k_first += KC;
    } while (k_first < p->k);
}

kernel void multiply(global const STORAGE(X) *a, long a_offset, global const STORAGE(X) *b,
                     long b_offset, global STORAGE(Y) *out, long out_offset, global acc_t *sums,
                     long sums_offset, long m, long n, long k, long block_rows, long units,
                     long units_per_item, long a_row, long a_k, long b_k, long b_column,
                     long out_row, long out_column, batch_axes batch EPILOGUE_PARAMS) {
    struct product p = {m, n, k, a_row, a_k, b_k, b_column, out_row, out_column};
    long row_panels = (m + MR - 1) / MR, column_panels = (n + NR - 1) / NR;
    long down = (row_panels + block_rows - 1) / block_rows;
    long across = (column_panels + COLUMNS - 1) / COLUMNS;
    long first = (long)get_group_id(0) * units_per_item;
    for (long unit = first; unit < min(first + units_per_item, units); unit++) {
        long matrix = unit / down / across;
        long i = unit % down * block_rows, j = unit / down % across * COLUMNS;
        const struct block block = {i, min(i + block_rows, row_panels), j,
                                    min(j + COLUMNS, column_panels),
                                    b_column == 1 && block_rows == 1};
        EPILOGUE_AT(matrix, 0, 0);
        multiply_block(&p, a + a_offset + batch_offset(&batch, matrix, 0),
                       b + b_offset + batch_offset(&batch, matrix, 1),
                       out + out_offset + batch_offset(&batch, matrix, 2),
                       sums + sums_offset + matrix * row_panels * column_panels * (MR * NR), &e,
                       &block);
    }
}
