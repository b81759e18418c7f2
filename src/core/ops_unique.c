// ops_unique.c: different numbers or slices of a tensor: compositions of a sort and compactions.
#include "core.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

/// What is looked through: all elements of x (`axis` ELEMENTS) or its slices along an axis.
enum { ELEMENTS = -1 };
struct source {
    const cbk_tensor *x;
    int32_t axis;
};

/// Its numbers in ascending order, as [n], and flags [n + 1]: 1 where another number begins, and at
/// the end.
struct groups {
    cbk_tensor *sorted, *places; ///< places: of the sorted elements or slices, if asked for
    cbk_tensor *flags;
    cbk_tensor *starts; ///< the first n flags, a view
};

static void release_groups(struct groups *groups) {
    cbk_tensor_release(&groups->starts);
    cbk_tensor_release(&groups->flags);
    cbk_tensor_release(&groups->places);
    cbk_tensor_release(&groups->sorted);
}

static cbk_status sort_flat(cbk_stream *stream, struct source of, bool wants_places,
                            struct groups *groups) {
    const int64_t count = of.x->meta.element_count;
    const cbk_sort_params params = {.struct_size = sizeof params, .out_dtype = CBK_DTYPE_I64};
    cbk_tensor *flat = NULL;
    cbk_status status = CBK_OK;
    if (of.axis == ELEMENTS)
        TRY(cbk_reshape(stream, of.x, 1, &count, &flat));
    else
        TRY(cbk_number_slices(stream, of.x, of.axis, &flat));
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
static cbk_status make_groups(cbk_stream *stream, struct source of, bool wants_places,
                              struct groups *groups) {
    cbk_status status = sort_flat(stream, of, wants_places, groups);
    return status == CBK_OK ? flag_starts(stream, groups) : status;
}

// ---- results ------------------------------------------------------------------------------------

/// Where each element or slice stands among the different ones: how many of them begin before it.
static cbk_status make_inverse(cbk_stream *stream, struct source of, const struct groups *groups,
                               cbk_dtype dtype, cbk_tensor **out) {
    const cbk_scan_params params = {.struct_size = sizeof params};
    const bool is_slices = of.axis != ELEMENTS;
    const int64_t *shape = is_slices ? &of.x->meta.shape[of.axis] : of.x->meta.shape;
    cbk_tensor *flags = NULL, *rank = NULL, *flat = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_cast(stream, groups->starts, dtype, &flags));
    TRY(cbk_cumsum(stream, flags, &params, &rank));
    TRY(cbk_sub_scalar_into(stream, rank, cbk_i(1), rank));
    TRY(cbk_scatter(stream, rank, groups->places, rank, 0, CBK_UPDATE_ASSIGN, &flat));
    TRY(cbk_reshape(stream, flat, is_slices ? 1 : of.x->meta.rank, shape, out));
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

/// 0 in the slices of `values` from `count` on.
static cbk_status clear_rest(cbk_stream *stream, const cbk_tensor *count, int32_t axis,
                             cbk_tensor *values) {
    const int64_t length = values->meta.shape[axis];
    int64_t shape[CBK_MAX_RANK];
    cbk_tensor *wide = NULL, *places = NULL, *rest = NULL, *mask = NULL;
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < values->meta.rank; i++) shape[i] = i == (uint32_t)axis ? length : 1;
    TRY(cbk_cast(stream, count, CBK_DTYPE_I64, &wide));
    TRY(cbk_arange(stream, CBK_DTYPE_I64, cbk_i(0), cbk_i(1), length, &places));
    TRY(cbk_greater_equal(stream, places, wide, &rest));
    TRY(cbk_reshape(stream, rest, values->meta.rank, shape, &mask));
    TRY(cbk_mask_fill_into(stream, values, mask, cbk_i(0), values));
done:
    cbk_tensor_release(&mask);
    cbk_tensor_release(&rest);
    cbk_tensor_release(&places);
    cbk_tensor_release(&wide);
    return status;
}

/// The first slice of each group, and how many groups there are.
static cbk_status make_slices(cbk_stream *stream, struct source of, const struct groups *groups,
                              const cbk_compact_params *params, cbk_tensor **out,
                              cbk_tensor **out_count) {
    cbk_tensor *first = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_mask_select_sized(stream, groups->places, groups->starts, params, &first, out_count));
    if (of.x->meta.shape[of.axis] == 0) {
        int64_t shape[CBK_MAX_RANK];
        for (uint32_t i = 0; i < of.x->meta.rank; i++) shape[i] = of.x->meta.shape[i];
        shape[of.axis] = first->meta.shape[0];
        TRY(cbk_zeros(stream, of.x->meta.dtype, of.x->meta.rank, shape, out));
    } else {
        TRY(cbk_select(stream, of.x, first, of.axis, out));
        TRY(clear_rest(stream, *out_count, of.axis, *out));
    }
done:
    cbk_tensor_release(&first);
    return status;
}

enum { VALUES, INVERSE, COUNTS, COUNT, RESULTS };

/// What has a place among `outs`; none of it after a failure.
static cbk_status make_results(cbk_stream *stream, struct source of, const struct groups *groups,
                               const cbk_compact_params *params, cbk_tensor **const *outs) {
    cbk_tensor *made[RESULTS] = {NULL};
    cbk_status status = CBK_OK;
    // Either checks the params and fills in the dtype.
    if (of.axis == ELEMENTS || outs[VALUES] == NULL)
        TRY(cbk_mask_select_sized(stream, groups->sorted, groups->starts, params, &made[VALUES],
                                  &made[COUNT]));
    else
        TRY(make_slices(stream, of, groups, params, &made[VALUES], &made[COUNT]));
    const cbk_dtype dtype = made[COUNT]->meta.dtype;
    if (outs[INVERSE] != NULL) TRY(make_inverse(stream, of, groups, dtype, &made[INVERSE]));
    const int64_t length = params != NULL ? params->length : 0;
    if (outs[COUNTS] != NULL) TRY(make_counts(stream, groups, length, dtype, &made[COUNTS]));
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

/// A source of the caller's; `axis` NULL: all elements.
static cbk_status check_source(const cbk_stream *stream, const cbk_tensor *x, const int32_t *axis,
                               struct source *out) {
    *out = (struct source){.x = x, .axis = ELEMENTS};
    cbk_status status = cbk_check_stream(stream);
    if (status == CBK_OK) status = cbk_check_tensor(x, "x");
    if (status == CBK_OK && axis != NULL) status = cbk_check_axis(*axis, x->meta.rank, &out->axis);
    return status;
}

static cbk_status count_unique(cbk_stream *stream, const cbk_tensor *x, const int32_t *axis,
                               const cbk_compact_params *params, cbk_tensor **out) {
    struct groups groups = {NULL, NULL, NULL, NULL};
    struct source of;
    cbk_tensor **const outs[RESULTS] = {[COUNT] = out};
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = check_source(stream, x, axis, &of);
    if (status == CBK_OK) status = make_groups(stream, of, false, &groups);
    if (status == CBK_OK) status = make_results(stream, of, &groups, params, outs);
    release_groups(&groups);
    return status;
}

static cbk_status unique_sized(cbk_stream *stream, const cbk_tensor *x, const int32_t *axis,
                               const cbk_compact_params *params, cbk_tensor **const *outs) {
    struct groups groups = {NULL, NULL, NULL, NULL};
    struct source of;
    clear(outs);
    cbk_status status = check_source(stream, x, axis, &of);
    if (status == CBK_OK)
        status = make_groups(stream, of, axis != NULL || outs[INVERSE] != NULL, &groups);
    if (status == CBK_OK) status = make_results(stream, of, &groups, params, outs);
    release_groups(&groups);
    return status;
}

static cbk_status unique(cbk_stream *stream, const cbk_tensor *x, const int32_t *axis,
                         cbk_tensor **const *outs) {
    struct groups groups = {NULL, NULL, NULL, NULL};
    cbk_compact_params params = {.struct_size = sizeof params};
    struct source of;
    clear(outs);
    cbk_status status = cbk_check_can_wait(stream);
    if (status == CBK_OK) status = check_source(stream, x, axis, &of);
    if (status == CBK_OK)
        status = make_groups(stream, of, axis != NULL || outs[INVERSE] != NULL, &groups);
    if (status == CBK_OK) status = cbk_count_hits(stream, groups.starts, &params.length);
    if (status == CBK_OK) status = make_results(stream, of, &groups, &params, outs);
    release_groups(&groups);
    return status;
}

cbk_status cbk_count_unique(cbk_stream *stream, const cbk_tensor *x,
                            const cbk_compact_params *params, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin_composed("count_unique", CBK_OP_NONE);
    return cbk_call_end(former, count_unique(stream, x, NULL, params, out));
}

cbk_status cbk_count_unique_along(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                  const cbk_compact_params *params, cbk_tensor **out) {
    struct cbk_call former = cbk_call_begin_composed("count_unique_along", CBK_OP_NONE);
    return cbk_call_end(former, count_unique(stream, x, &axis, params, out));
}

cbk_status cbk_unique_sized(cbk_stream *stream, const cbk_tensor *x,
                            const cbk_compact_params *params, cbk_tensor **out,
                            cbk_tensor **out_inverse, cbk_tensor **out_counts,
                            cbk_tensor **out_count) {
    struct cbk_call former = cbk_call_begin_composed("unique", CBK_OP_NONE);
    cbk_tensor **const outs[RESULTS] = {out, out_inverse, out_counts, out_count};
    return cbk_call_end(former, unique_sized(stream, x, NULL, params, outs));
}

cbk_status cbk_unique_along_sized(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                                  const cbk_compact_params *params, cbk_tensor **out,
                                  cbk_tensor **out_inverse, cbk_tensor **out_counts,
                                  cbk_tensor **out_count) {
    struct cbk_call former = cbk_call_begin_composed("unique_along", CBK_OP_NONE);
    cbk_tensor **const outs[RESULTS] = {out, out_inverse, out_counts, out_count};
    return cbk_call_end(former, unique_sized(stream, x, &axis, params, outs));
}

cbk_status cbk_unique(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out,
                      cbk_tensor **out_inverse, cbk_tensor **out_counts) {
    struct cbk_call former = cbk_call_begin_composed("unique", CBK_OP_NONE);
    cbk_tensor **const outs[RESULTS] = {out, out_inverse, out_counts, NULL};
    return cbk_call_end(former, unique(stream, x, NULL, outs));
}

cbk_status cbk_unique_along(cbk_stream *stream, const cbk_tensor *x, int32_t axis, cbk_tensor **out,
                            cbk_tensor **out_inverse, cbk_tensor **out_counts) {
    struct cbk_call former = cbk_call_begin_composed("unique_along", CBK_OP_NONE);
    cbk_tensor **const outs[RESULTS] = {out, out_inverse, out_counts, NULL};
    return cbk_call_end(former, unique(stream, x, &axis, outs));
}
