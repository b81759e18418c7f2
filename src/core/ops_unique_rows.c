// ops_unique_rows.c: slices of a tensor as numbers that compare as the slices do.
#include "core.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CBK_OK) goto done;                                                           \
    } while (0)

/// Numbers below n, and n a + b for two of them.
static cbk_dtype rank_dtype(int64_t n) {
    return n <= INT64_C(1) << 16 ? CBK_DTYPE_U32 : CBK_DTYPE_I64;
}

/// Slices along `axis` as the rows of a matrix.
static cbk_status as_rows(cbk_stream *stream, const cbk_tensor *x, int32_t axis, cbk_tensor **out) {
    static const int32_t first = 0;
    int64_t shape[2] = {x->meta.shape[axis], 1};
    cbk_tensor *moved = NULL;
    cbk_status status = CBK_OK;
    for (uint32_t i = 0; i < x->meta.rank; i++)
        if (i != (uint32_t)axis) shape[1] *= x->meta.shape[i];
    TRY(cbk_movedim(stream, x, 1, &axis, &first, &moved));
    TRY(cbk_reshape(stream, moved, 2, shape, out));
done:
    cbk_tensor_release(&moved);
    return status;
}

/// How many different numbers stand before each element of sorted columns.
static cbk_status count_before(cbk_stream *stream, const cbk_tensor *sorted, cbk_dtype dtype,
                               cbk_tensor **out) {
    const cbk_scan_params down = {.struct_size = sizeof down};
    const int64_t n = sorted->meta.shape[0];
    cbk_tensor *above = NULL, *below = NULL, *differs = NULL, *flags = NULL, *rest = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_zeros(stream, dtype, 2, sorted->meta.shape, &flags));
    if (n > 1) {
        TRY(cbk_narrow(stream, sorted, 0, 0, n - 1, &above));
        TRY(cbk_narrow(stream, sorted, 0, 1, n - 1, &below));
        TRY(cbk_not_equal(stream, above, below, &differs));
        TRY(cbk_narrow(stream, flags, 0, 1, n - 1, &rest));
        TRY(cbk_cast_into(stream, differs, rest));
    }
    TRY(cbk_cumsum(stream, flags, &down, out));
done:
    cbk_tensor_release(&rest);
    cbk_tensor_release(&flags);
    cbk_tensor_release(&differs);
    cbk_tensor_release(&below);
    cbk_tensor_release(&above);
    return status;
}

/// Each element's place among the different numbers of its column; a NaN is equal to nothing.
static cbk_status rank_columns(cbk_stream *stream, const cbk_tensor *x, cbk_tensor **out) {
    const cbk_dtype dtype = rank_dtype(x->meta.shape[0]);
    const cbk_sort_params params = {.struct_size = sizeof params, .out_dtype = dtype};
    cbk_tensor *sorted = NULL, *places = NULL, *ranks = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_sort_with_indices(stream, x, &params, &sorted, &places));
    TRY(count_before(stream, sorted, dtype, &ranks));
    TRY(cbk_scatter(stream, ranks, places, ranks, 0, CBK_UPDATE_ASSIGN, out));
done:
    cbk_tensor_release(&ranks);
    cbk_tensor_release(&places);
    cbk_tensor_release(&sorted);
    return status;
}

/// Every second column of `ranks`, from `first` on.
static cbk_status alternate_columns(cbk_stream *stream, const cbk_tensor *ranks, int64_t first,
                                    int64_t count, cbk_tensor **out) {
    const cbk_slice_params params = {.struct_size = sizeof params,
                                     .axis_count = 2,
                                     .start = {0, first},
                                     .stop = {INT64_MAX, first + 2 * count - 1},
                                     .step = {1, 2}};
    return cbk_slice(stream, ranks, &params, out);
}

/// One column for every two, which compares as both of them do; an odd one stays.
static cbk_status join_columns(cbk_stream *stream, const cbk_tensor *ranks, cbk_tensor **out) {
    const int64_t n = ranks->meta.shape[0], width = ranks->meta.shape[1], pairs = width / 2;
    const int64_t shape[2] = {n, width - pairs};
    cbk_tensor *made = NULL, *left = NULL, *right = NULL, *joined = NULL, *rest = NULL,
               *last = NULL;
    cbk_status status = CBK_OK;
    TRY(cbk_tensor_empty(stream, ranks->meta.dtype, 2, shape, &made));
    TRY(cbk_narrow(stream, made, 1, 0, pairs, &joined));
    TRY(alternate_columns(stream, ranks, 0, pairs, &left));
    TRY(alternate_columns(stream, ranks, 1, pairs, &right));
    TRY(cbk_mul_scalar_into(stream, left, cbk_i(n), joined));
    TRY(cbk_add_into(stream, joined, right, joined));
    if (width % 2 != 0) {
        TRY(cbk_narrow(stream, ranks, 1, width - 1, 1, &last));
        TRY(cbk_narrow(stream, made, 1, pairs, 1, &rest));
        TRY(cbk_copy_into(stream, last, rest));
    }
    *out = made;
    made = NULL;
done:
    cbk_tensor_release(&last);
    cbk_tensor_release(&rest);
    cbk_tensor_release(&joined);
    cbk_tensor_release(&right);
    cbk_tensor_release(&left);
    cbk_tensor_release(&made);
    return status;
}

cbk_status cbk_number_slices(cbk_stream *stream, const cbk_tensor *x, int32_t axis,
                             cbk_tensor **out) {
    cbk_tensor *rows = NULL, *ranks = NULL;
    const int64_t n = x->meta.shape[axis];
    cbk_status status = CBK_OK;
    TRY(as_rows(stream, x, axis, &rows));
    if (n == 0 || rows->meta.shape[1] == 0) { // slices of nothing are equal
        TRY(cbk_zeros(stream, x->meta.dtype, 1, &n, out));
        goto done;
    }
    while (rows->meta.shape[1] > 1) {
        TRY(rank_columns(stream, rows, &ranks));
        cbk_tensor_release(&rows);
        TRY(join_columns(stream, ranks, &rows));
        cbk_tensor_release(&ranks);
    }
    TRY(cbk_reshape(stream, rows, 1, &n, out));
done:
    cbk_tensor_release(&ranks);
    cbk_tensor_release(&rows);
    return status;
}
