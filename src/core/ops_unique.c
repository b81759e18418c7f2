// ops_unique.c: different numbers of a tensor: compositions of a sort and compactions.
#include "core.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

/// x in ascending order, as [n], and flags [n + 1]: 1 where another number begins, and at the end.
struct groups {
    cbk_tensor *sorted, *places; ///< places: of the sorted elements in x, if asked for
    cbk_tensor *flags;
    cbk_tensor *starts; ///< the first n flags, a view
};

static void release_groups(struct groups *groups) {
    cbk_tensor_release(&groups->starts);
    cbk_tensor_release(&groups->flags);
    cbk_tensor_release(&groups->places);
    cbk_tensor_release(&groups->sorted);
}

static cbk_status sort_flat(cbk_stream *stream, const cbk_tensor *x, bool wants_places,
                            struct groups *groups) {
    const int64_t count = x->meta.element_count;
    const cbk_sort_params params = {.struct_size = sizeof params, .out_dtype = CBK_DTYPE_I64};
    cbk_tensor *flat = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_reshape(stream, x, 1, &count, &flat));
    if (wants_places)
        TRY(cbk_sort_with_indices(stream, flat, &params, &groups->sorted, &groups->places));
    else
        TRY(cbk_sort(stream, flat, NULL, &groups->sorted));
done:
    cbk_tensor_release(&flat);
    return status;
}

static cbk_status flag_starts(cbk_stream *stream, struct groups *groups) {
    const int64_t count = groups->sorted->meta.element_count, length = count + 1;
    cbk_tensor *left = NULL, *right = NULL, *inner = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_ones(stream, CBK_DTYPE_BOOL, 1, &length, &groups->flags));
    TRY(cbk_narrow(stream, groups->flags, 0, 0, count, &groups->starts));
    if (count < 2) goto done;
    TRY(cbk_narrow(stream, groups->sorted, 0, 0, count - 1, &left));
    TRY(cbk_narrow(stream, groups->sorted, 0, 1, count - 1, &right));
    TRY(cbk_narrow(stream, groups->flags, 0, 1, count - 1, &inner));
    TRY(cbk_not_equal_into(stream, left, right, inner));
done:
    cbk_tensor_release(&inner);
    cbk_tensor_release(&right);
    cbk_tensor_release(&left);
    return status;
}

/// The caller releases what is made, also after a failure.
static cbk_status make_groups(cbk_stream *stream, const cbk_tensor *x, bool wants_places,
                              struct groups *groups) {
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK) status = cbk_check_tensor(x, "x");
    if (status == CBK_OK) status = sort_flat(stream, x, wants_places, groups);
    return status == CBK_OK ? flag_starts(stream, groups) : status;
}

// ---- results ------------------------------------------------------------------------------------

/// Where each element of x stands among the different numbers: how many of them begin before it.
static cbk_status make_inverse(cbk_stream *stream, const cbk_tensor *x, const struct groups *groups,
                               cbk_dtype dtype, cbk_tensor **out) {
    const cbk_scan_params params = {.struct_size = sizeof params};
    cbk_tensor *flags = NULL, *rank = NULL, *flat = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_cast(stream, groups->starts, dtype, &flags));
    TRY(cbk_cumsum(stream, flags, &params, &rank));
    TRY(cbk_sub_scalar_into(stream, rank, cbk_i(1), rank));
    TRY(cbk_scatter(stream, rank, groups->places, rank, 0, CBK_UPDATE_ASSIGN, &flat));
    TRY(cbk_reshape(stream, flat, x->meta.rank, x->meta.shape, out));
done:
    cbk_tensor_release(&flat);
    cbk_tensor_release(&rank);
    cbk_tensor_release(&flags);
    return status;
}

/// How often each number occurs: the distances of the flags. Past the last one they are not
/// positive.
static cbk_status make_counts(cbk_stream *stream, const struct groups *groups, int64_t length,
                              cbk_dtype dtype, cbk_tensor **out) {
    const cbk_compact_params params = {
        .struct_size = sizeof params, .out_dtype = CBK_DTYPE_I64, .length = length + 1};
    cbk_tensor *places = NULL, *flat = NULL, *first = NULL, *second = NULL, *counts = NULL;
    const int64_t all = length + 1;
    cbk_status status = CBK_OK;
    TRY(cbk_argwhere_sized(stream, groups->flags, &params, &places, NULL));
    TRY(cbk_reshape(stream, places, 1, &all, &flat));
    TRY(cbk_narrow(stream, flat, 0, 0, length, &first));
    TRY(cbk_narrow(stream, flat, 0, 1, length, &second));
    TRY(cbk_sub(stream, second, first, &counts));
    TRY(cbk_maximum_scalar_into(stream, counts, cbk_i(0), counts));
    TRY(cbk_cast(stream, counts, dtype, out));
done:
    cbk_tensor_release(&counts);
    cbk_tensor_release(&second);
    cbk_tensor_release(&first);
    cbk_tensor_release(&flat);
    cbk_tensor_release(&places);
    return status;
}

enum { VALUES, INVERSE, COUNTS, COUNT, RESULTS };

/// What has a place among `outs`; none of it after a failure.
static cbk_status make_results(cbk_stream *stream, const cbk_tensor *x, const struct groups *groups,
                               const cbk_compact_params *params, cbk_tensor **const *outs) {
    cbk_tensor *made[RESULTS] = {NULL};
    cbk_status status = CBK_OK;
    // This checks the params and fills in the dtype.
    TRY(cbk_mask_select_sized(stream, groups->sorted, groups->starts, params, &made[VALUES],
                              &made[COUNT]));
    const cbk_dtype dtype = made[COUNT]->meta.dtype;
    if (outs[INVERSE] != NULL) TRY(make_inverse(stream, x, groups, dtype, &made[INVERSE]));
    if (outs[COUNTS] != NULL)
        TRY(make_counts(stream, groups, made[VALUES]->meta.shape[0], dtype, &made[COUNTS]));
    for (int i = 0; i < RESULTS; i++) {
        if (outs[i] == NULL) continue;
        *outs[i] = made[i];
        made[i] = NULL;
    }
done:
    for (int i = 0; i < RESULTS; i++) cbk_tensor_release(&made[i]);
    return status;
}

static void clear(cbk_tensor **const *outs) {
    for (int i = 0; i < RESULTS; i++)
        if (outs[i] != NULL) *outs[i] = NULL;
}

// ---- named functions ----------------------------------------------------------------------------

static cbk_status count_unique(cbk_stream *stream, const cbk_tensor *x,
                               const cbk_compact_params *params, cbk_tensor **out) {
    struct groups groups = {NULL, NULL, NULL, NULL};
    cbk_tensor **const outs[RESULTS] = {[COUNT] = out};
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = make_groups(stream, x, false, &groups);
    if (status == CBK_OK) status = make_results(stream, x, &groups, params, outs);
    release_groups(&groups);
    return status;
}

cbk_status cbk_count_unique(cbk_stream *stream, const cbk_tensor *x,
                            const cbk_compact_params *params, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin_composed("count_unique", CBK_OP_NONE);
    return cbk_call_end(former, count_unique(stream, x, params, out));
}

cbk_status cbk_unique_sized(cbk_stream *stream, const cbk_tensor *x,
                            const cbk_compact_params *params, cbk_tensor **out,
                            cbk_tensor **out_inverse, cbk_tensor **out_counts,
                            cbk_tensor **out_count) {
    struct cbk_call former = cbk_call_begin_composed("unique", CBK_OP_NONE);
    struct groups groups = {NULL, NULL, NULL, NULL};
    cbk_tensor **const outs[RESULTS] = {out, out_inverse, out_counts, out_count};
    clear(outs);
    cbk_status status = make_groups(stream, x, out_inverse != NULL, &groups);
    if (status == CBK_OK) status = make_results(stream, x, &groups, params, outs);
    release_groups(&groups);
    return cbk_call_end(former, status);
}

cbk_status cbk_unique(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out,
                      cbk_tensor **out_inverse, cbk_tensor **out_counts) {
    struct cbk_call former = cbk_call_begin_composed("unique", CBK_OP_NONE);
    struct groups groups = {NULL, NULL, NULL, NULL};
    cbk_compact_params params = {.struct_size = sizeof params};
    cbk_tensor **const outs[RESULTS] = {out, out_inverse, out_counts, NULL};
    clear(outs);
    cbk_status status = cbk_check_can_wait(stream);
    if (status == CBK_OK) status = make_groups(stream, x, out_inverse != NULL, &groups);
    if (status == CBK_OK) status = cbk_count_hits(stream, groups.starts, &params.length);
    if (status == CBK_OK) status = make_results(stream, x, &groups, &params, outs);
    release_groups(&groups);
    return cbk_call_end(former, status);
}
