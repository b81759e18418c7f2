// categorical.c: draws from given weights, in integers, as docs/numerics.md writes them.

#include "reference.h"

#include <math.h>

// ---- logarithms and powers of 2 with 32 bits behind the point -----------------------------------

/// c[0] - x (c[1] - x (c[2] - ..)), times x; 2^32 is 1.
static uint32_t alternating(uint32_t x, const uint32_t *c, int count) {
    uint32_t sum = c[count - 1];
    for (int i = count - 2; i >= 0; i--) sum = c[i] - (uint32_t)((uint64_t)x * sum >> 32);
    return (uint32_t)((uint64_t)x * sum >> 32);
}

/// log2(1 + x), 0 <= x < 1.
static uint64_t log_of_1_and(uint32_t x) {
    static const uint32_t c[] = {0x71547638, 0xb8aa33b0, 0x7b1b6a82, 0x5c4baf52,
                                 0x499633a0, 0x3c2e7263, 0x301f2a7e, 0x22f55adc,
                                 0x14fda231, 0x095333e1, 0x02a3ce8e, 0x0059cb75};
    return (uint64_t)x + alternating(x, c, 12);
}

/// 2^-x, 0 <= x < 1.
static uint64_t power_of_minus(uint32_t x) {
    static const uint32_t c[] = {0xb17217ed, 0x3d7f7ae5, 0x0e357ad0, 0x02762d89,
                                 0x005708dd, 0x0009a97f, 0x0000b653};
    return ((uint64_t)1 << 32) - alternating(x, c, 7);
}

static int leading_bit(uint64_t number) {
    int bit = 63;
    while (number >> bit == 0) bit--;
    return bit;
}

/// log2 of a whole number from 1 on.
static int64_t log_of(uint64_t number) {
    const int bit = leading_bit(number);
    const uint32_t fraction = (uint32_t)(number << (63 - bit) >> 31);
    return ((int64_t)bit << 32) + (int64_t)log_of_1_and(fraction);
}

/// x log2(e).
static uint64_t natural_to_log2(uint64_t x) {
    return x + cbk_ref_multiply_high(x, UINT64_C(0x71547652b82fe177));
}

/// log2(-ln(1 - v)), v = (word + 1/2) / 2^64.
static int64_t log_of_exponential(uint64_t word) {
    if (word < (uint64_t)1 << 56) {
        const uint64_t v = word >> 32;
        uint64_t rest = 0x2e2a8eca;
        rest = 0x4cf198a7 + (v * rest >> 32);
        rest = 0xb8aa3b29 + (v * rest >> 32);
        return log_of(word | 1) + (int64_t)(v * rest >> 32) - ((int64_t)64 << 32);
    }
    const int64_t digits = ((int64_t)64 << 32) - log_of(0 - word);
    return log_of((uint64_t)digits) - ((int64_t)32 << 32) - 0x875d3ba7;
}

// ---- weights ------------------------------------------------------------------------------------

/// A row of weights or logits.
struct row {
    const struct cbk_ref_view *x;
    int64_t start, length, stride;
    bool is_logits;
    double peak; ///< the highest that may be drawn
    bool has_peak;
    int bits; ///< a weight has up to 2^bits steps, the highest up to twice as many
};

static double weight(const struct row *row, int64_t place) {
    return cbk_ref_get_float(row->x->data, row->x->dtype, row->start + place * row->stride);
}

static bool may_be_drawn(const struct row *row, double w) {
    return row->is_logits ? w > -INFINITY : w > 0;
}

static void find_peak(struct row *row) {
    row->has_peak = false;
    for (int64_t i = 0; i < row->length; i++) {
        const double w = weight(row, i);
        if (!may_be_drawn(row, w) || (row->has_peak && w <= row->peak)) continue;
        row->has_peak = true;
        row->peak = w;
    }
}

/// number 2^left, halves up.
static uint64_t shifted(uint64_t number, int left) {
    if (left >= 0) return number << left;
    return left > -64 ? ((number >> (-left - 1)) + 1) >> 1 : 0;
}

/// w, which is positive and finite, as mantissa times 2^exponent.
static uint64_t mantissa_of(double w, int *out_exponent) {
    const double fraction = frexp(w, out_exponent);
    *out_exponent -= 53;
    return (uint64_t)(fraction * 0x1p53);
}

static uint64_t steps_of_logit(const struct row *row, double w) {
    const double down =
        row->x->dtype == CBK_DTYPE_F64 ? row->peak - w : (double)((float)row->peak - (float)w);
    if (!(down < 64)) return 0;
    const uint64_t z = natural_to_log2((uint64_t)(down * 0x1p32));
    return shifted(power_of_minus((uint32_t)z), row->bits - 32 - (int)(z >> 32));
}

static uint64_t steps_of(const struct row *row, double w) {
    if (!may_be_drawn(row, w)) return 0;
    if (w == row->peak && (row->is_logits || isinf(w))) return (uint64_t)1 << row->bits;
    if (row->is_logits) return steps_of_logit(row, w);
    if (isinf(row->peak)) return 0;
    int top, exponent;
    frexp(row->peak, &top);
    const uint64_t mantissa = mantissa_of(w, &exponent);
    return shifted(mantissa, exponent - (top - 1) + row->bits);
}

// ---- draws --------------------------------------------------------------------------------------

/// The 64 bits of element i of a draw, which has two elements to a position.
static uint64_t word_of(const cbk_random_state *state, int64_t i) {
    uint32_t words[4];
    cbk_ref_philox(state->position + (uint64_t)i / 2, state->stream_number, state->seed, words);
    return (uint64_t)words[i % 2 * 2] << 32 | words[i % 2 * 2 + 1];
}

static int64_t draw(const struct row *row, uint64_t word) {
    uint64_t total = 0;
    for (int64_t i = 0; i < row->length; i++) total += steps_of(row, weight(row, i));
    uint64_t step = cbk_ref_multiply_high(word, total);
    for (int64_t i = 0; i < row->length; i++) {
        const uint64_t own = steps_of(row, weight(row, i));
        if (step < own) return i;
        step -= own;
    }
    return 0; // a row without weight
}

/// Where a place stands among the distinct draws: the greatest key is drawn first.
static int64_t key_of(const struct row *row, int64_t place, uint64_t word) {
    const double w = weight(row, place);
    if (!may_be_drawn(row, w)) return INT64_MIN;
    if (row->is_logits) {
        const double size = fmin(fabs(w), 0x1p20);
        const int64_t logarithm = (int64_t)natural_to_log2((uint64_t)(size * 0x1p32));
        return (w < 0 ? -logarithm : logarithm) - log_of_exponential(word);
    }
    if (isinf(w)) return ((int64_t)2048 << 32) - log_of_exponential(word);
    int exponent;
    const uint64_t mantissa = mantissa_of(w, &exponent);
    return log_of(mantissa) + exponent * ((int64_t)1 << 32) - log_of_exponential(word);
}

static int64_t greatest(const int64_t *keys, const bool *is_drawn, int64_t length) {
    int64_t best = -1;
    for (int64_t i = 0; i < length; i++)
        if (!is_drawn[i] && (best < 0 || keys[i] > keys[best])) best = i;
    return best;
}

static cbk_status draw_distinct(struct cbk_ref *ref, const struct row *row,
                                const cbk_random_state *state, int64_t first_element,
                                const struct cbk_ref_view *out, int64_t at, int64_t count) {
    const size_t size = (size_t)row->length * (sizeof(int64_t) + sizeof(bool));
    int64_t *keys = cbk_ref_alloc(ref, size);
    if (keys == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    bool *is_drawn = (bool *)(keys + row->length);
    for (int64_t i = 0; i < row->length; i++) {
        keys[i] = key_of(row, i, word_of(state, first_element + i));
        is_drawn[i] = false;
    }
    for (int64_t k = 0; k < count; k++) {
        const int64_t place = greatest(keys, is_drawn, row->length);
        is_drawn[place] = true;
        cbk_ref_put_int(out->data, out->dtype, cbk_ref_at(out, at + k), place);
    }
    cbk_ref_free(ref, keys, size);
    return CBK_OK;
}

static int bits_for(int64_t length) {
    int bits = 62;
    while (length > (int64_t)1 << (62 - bits)) bits--;
    return bits;
}

cbk_status cbk_ref_categorical(struct cbk_ref_stream *stream, const cbk_op *op) {
    const cbk_categorical_params *params = op->params;
    const struct cbk_ref_view x = cbk_ref_view_of(op->inputs[0]);
    const struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    cbk_random_state *state = cbk_ref_random_state(stream);
    struct row row = {.x = &x,
                      .length = x.shape[x.rank - 1],
                      .stride = x.strides[x.rank - 1],
                      .is_logits = params->logits != 0};
    const int64_t rows = x.count / row.length, count = params->count;
    cbk_status status = CBK_OK;
    row.bits = bits_for(row.length);
    for (int64_t r = 0; r < rows && status == CBK_OK; r++) {
        row.start = cbk_ref_at(&x, r * row.length);
        find_peak(&row);
        if (params->distinct != 0) {
            status = draw_distinct(stream->device->ref, &row, state, r * row.length, &out,
                                   r * count, count);
            continue;
        }
        for (int64_t i = r * count; i < (r + 1) * count; i++)
            cbk_ref_put_int(out.data, out.dtype, cbk_ref_at(&out, i),
                            draw(&row, word_of(state, i)));
    }
    const int64_t elements = params->distinct != 0 ? x.count : out.count;
    state->position += (uint64_t)(elements + 1) / 2;
    return status;
}
