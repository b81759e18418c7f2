/// qr.c: QR by Householder reflections (kernels/qr.cl, qr_gpu.cl, qr_cpu.cl).
///
/// Panel by panel: the panel's reflections make 1 - V T V', of which the kernel gives V and -T;
/// three products apply it, transposed, to what is behind the panel. Q comes from the identity, to
/// which the panels' products of reflections are applied from the last one to the first.
#include "linalg.h"

enum { GROUP = 64 };

/// As in qr_gpu.cl and qr_cpu.cl.
struct qr_args {
    struct cbk_ocl_place a, v, t;
    int32_t rows, columns;
};

/// A factorisation of `a` in place.
struct qr {
    const struct cbk_ocl_linalg *linalg;
    struct cbk_ocl_matrices a;
    struct cbk_ocl_matrices v;          ///< V of all panels, one panel after the other
    struct cbk_ocl_matrices t;          ///< -T of all panels likewise
    struct cbk_ocl_matrices product[2]; ///< rows of a panel
    int64_t steps;                      ///< the shorter side
};

// ---- panels -------------------------------------------------------------------------------------

/// One panel: from row and column `first` on.
struct panel {
    int64_t first;
    struct cbk_ocl_matrices v, t;
};

/// The panel's matrices within memory for all of them, where `before` elements come first.
static struct cbk_ocl_matrices place(const struct cbk_ocl_matrices *all, int64_t before,
                                     int64_t rows, int64_t columns) {
    struct cbk_ocl_matrices part = *all;
    part.at = (struct cbk_ocl_place){all->at.offset + before, rows * columns, columns};
    part.rows = rows;
    part.columns = columns;
    return part;
}

/// Panels before this one have CBK_OCL_PANEL columns, and all of their rows.
static struct panel panel_at(const struct qr *qr, int64_t first) {
    const int64_t count = qr->linalg->count, rows = qr->a.rows;
    const int64_t columns = cbk_ocl_shorter(CBK_OCL_PANEL, qr->steps - first);
    const int64_t before = first / CBK_OCL_PANEL;
    const int64_t rows_before = before * rows - before * (before - 1) / 2 * CBK_OCL_PANEL;
    return (struct panel){
        .first = first,
        .v = place(&qr->v, count * rows_before * CBK_OCL_PANEL, rows - first, columns),
        .t = place(&qr->t, count * first * CBK_OCL_PANEL, columns, columns)};
}

static cbk_status factor_panel(const struct qr *qr, const struct panel *panel) {
    const struct cbk_ocl_linalg *linalg = qr->linalg;
    const struct cbk_ocl_matrices a =
        cbk_ocl_matrices_part(&qr->a, panel->first, panel->first, panel->v.rows, panel->v.columns);
    const struct qr_args args = {.a = a.at,
                                 .v = panel->v.at,
                                 .t = panel->t.at,
                                 .rows = (int32_t)panel->v.rows,
                                 .columns = (int32_t)panel->v.columns};
    struct cbk_rt_launch launch;
    cbk_status status = cbk_ocl_panel_begin(linalg, &cbk_kernel_qr_gpu, &cbk_kernel_qr_cpu,
                                            "qr_panel", panel->v.rows, &launch);
    if (status != CBK_OK) return status;
    cbk_rt_arg_block(&launch, a.block, CBK_RT_READ_WRITE);
    cbk_rt_arg_block(&launch, panel->v.block, CBK_RT_READ_WRITE);
    cbk_rt_arg_block(&launch, panel->t.block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    return cbk_rt_launch(linalg->stream->rt, &launch);
}

/// x = (1 - V T V') x, or with T transposed; x has the panel's rows.
static cbk_status reflect(const struct qr *qr, const struct panel *panel, bool is_transposed,
                          const struct cbk_ocl_matrices *x) {
    const int64_t columns = panel->v.columns;
    const struct cbk_ocl_matrices v_transposed = cbk_ocl_matrices_transposed(&panel->v);
    const struct cbk_ocl_matrices t =
        is_transposed ? cbk_ocl_matrices_transposed(&panel->t) : panel->t;
    const struct cbk_ocl_matrices first =
        cbk_ocl_matrices_part(&qr->product[0], 0, 0, columns, x->columns);
    const struct cbk_ocl_matrices second =
        cbk_ocl_matrices_part(&qr->product[1], 0, 0, columns, x->columns);
    cbk_status status = cbk_ocl_matrices_multiply(qr->linalg, &v_transposed, x, false, &first);
    if (status == CBK_OK)
        status = cbk_ocl_matrices_multiply(qr->linalg, &t, &first, false, &second);
    if (status == CBK_OK)
        status = cbk_ocl_matrices_multiply(qr->linalg, &panel->v, &second, true, x);
    return status;
}

static cbk_status factor(const struct qr *qr) {
    cbk_status status = CBK_OK;
    for (int64_t first = 0; first < qr->steps && status == CBK_OK; first += CBK_OCL_PANEL) {
        const struct panel panel = panel_at(qr, first);
        const int64_t next = first + panel.v.columns;
        status = factor_panel(qr, &panel);
        if (status != CBK_OK || next == qr->a.columns) continue;
        const struct cbk_ocl_matrices behind =
            cbk_ocl_matrices_part(&qr->a, first, next, panel.v.rows, qr->a.columns - next);
        status = reflect(qr, &panel, true, &behind);
    }
    return status;
}

// ---- results ------------------------------------------------------------------------------------

/// As in qr.cl.
struct element_args {
    struct cbk_ocl_place from, to;
    int64_t count;
    int32_t rows, columns;
};

/// `from` NULL: the identity.
static cbk_status make_elements(const struct cbk_ocl_linalg *linalg,
                                const struct cbk_ocl_matrices *from,
                                const struct cbk_ocl_matrices *to) {
    const struct cbk_ocl_linalg_program program = {.source = &cbk_kernel_qr,
                                                   .dtype = linalg->dtype};
    const int64_t elements = linalg->count * to->rows * to->columns;
    const struct element_args args = {.from = from != NULL ? from->at : to->at,
                                      .to = to->at,
                                      .count = linalg->count,
                                      .rows = (int32_t)to->rows,
                                      .columns = (int32_t)to->columns};
    struct cbk_rt_launch launch;
    if (elements == 0) return CBK_OK;
    cbk_status status = cbk_ocl_linalg_begin(
        linalg, &program, from != NULL ? "qr_upper" : "qr_identity", elements, GROUP, &launch);
    if (status != CBK_OK) return status;
    if (from != NULL) cbk_rt_arg_block(&launch, from->block, CBK_RT_READ);
    cbk_rt_arg_block(&launch, to->block, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &args, sizeof args);
    return cbk_rt_launch(linalg->stream->rt, &launch);
}

static cbk_status make_q(const struct qr *qr, const struct cbk_ocl_matrices *q) {
    cbk_status status = make_elements(qr->linalg, NULL, q);
    const int64_t panels = (qr->steps + CBK_OCL_PANEL - 1) / CBK_OCL_PANEL;
    for (int64_t i = panels; i-- > 0 && status == CBK_OK;) {
        // Rows and columns before the panel are those of the identity still.
        const struct panel panel = panel_at(qr, i * CBK_OCL_PANEL);
        const struct cbk_ocl_matrices rest = cbk_ocl_matrices_part(
            q, panel.first, panel.first, panel.v.rows, q->columns - panel.first);
        status = reflect(qr, &panel, false, &rest);
    }
    return status;
}

static cbk_status make_memory(struct qr *qr, int64_t q_columns) {
    const struct cbk_ocl_linalg *linalg = qr->linalg;
    const cbk_dtype dtype = linalg->dtype;
    const int64_t longest = q_columns > linalg->columns ? q_columns : linalg->columns;
    const int64_t panel = cbk_ocl_shorter(CBK_OCL_PANEL, qr->steps);
    cbk_status status = CBK_OK;
    RT_TRY(cbk_ocl_matrices_temporary(linalg, dtype, linalg->rows, linalg->columns, &qr->a));
    RT_TRY(cbk_ocl_matrices_temporary(linalg, dtype, linalg->rows, qr->steps, &qr->v));
    RT_TRY(cbk_ocl_matrices_temporary(linalg, dtype, panel, qr->steps, &qr->t));
    for (int i = 0; i < 2; i++)
        RT_TRY(cbk_ocl_matrices_temporary(linalg, dtype, panel, longest, &qr->product[i]));
done:
    return status;
}

static void free_memory(struct qr *qr) {
    struct cbk_rt_device *device = qr->linalg->stream->device->rt;
    for (int i = 0; i < 2; i++) cbk_rt_free(device, &qr->product[i].block);
    cbk_rt_free(device, &qr->t.block);
    cbk_rt_free(device, &qr->v.block);
    cbk_rt_free(device, &qr->a.block);
}

cbk_status cbk_ocl_qr(struct cbk_ocl_stream *stream, const cbk_op *op) {
    struct cbk_ocl_linalg linalg = {.stream = stream};
    struct cbk_ocl_staged q = {.is_temporary = false}, r = q;
    struct qr qr = {.linalg = &linalg};
    cbk_status status = CBK_OK;
    RT_TRY(cbk_ocl_linalg_init(stream, "qr", op->inputs[0], &linalg));
    const cbk_tensor_meta *q_meta = cbk_tensor_metadata(op->outputs[0]);
    const int64_t inner = q_meta->shape[q_meta->rank - 1];
    qr.steps = cbk_ocl_shorter(linalg.rows, linalg.columns);
    RT_TRY(cbk_ocl_stage(&linalg, op->outputs[0], linalg.dtype, linalg.rows, inner, &q));
    RT_TRY(cbk_ocl_stage(&linalg, op->outputs[1], linalg.dtype, inner, linalg.columns, &r));
    RT_TRY(make_memory(&qr, inner));
    RT_TRY(cbk_ocl_matrices_load(&linalg, op->inputs[0], &qr.a));
    RT_TRY(factor(&qr));
    RT_TRY(make_elements(&linalg, &qr.a, &r.matrices));
    RT_TRY(make_q(&qr, &q.matrices));
    RT_TRY(cbk_ocl_stage_put(&linalg, &q));
    RT_TRY(cbk_ocl_stage_put(&linalg, &r));
done:
    free_memory(&qr);
    cbk_ocl_stage_free(&linalg, &r);
    cbk_ocl_stage_free(&linalg, &q);
    return status;
}

// ---- list of programs ---------------------------------------------------------------------------

void cbk_ocl_qr_programs(cbk_ocl_program_visitor visit, void *user_data) {
    static const cbk_dtype dtypes[] = {CBK_DTYPE_F32, CBK_DTYPE_F64};
    cbk_ocl_panel_programs(&cbk_kernel_qr_gpu, &cbk_kernel_qr_cpu, "qr_panel", visit, user_data);
    for (int i = 0; i < 2; i++) {
        const struct cbk_ocl_linalg_program program = {.source = &cbk_kernel_qr,
                                                       .dtype = dtypes[i]};
        const struct cbk_rt_spec spec = cbk_ocl_linalg_spec(&program, "qr_upper");
        visit(user_data, &spec);
    }
}
