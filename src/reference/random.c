// random.c: Philox 4x32-10 and the four distributions, as docs/numerics.md writes them.

#include "reference.h"

#include <math.h>

#define PI 3.14159265358979323846

void cbk_ref_philox(uint64_t position, uint64_t stream_number, uint64_t seed, uint32_t words[4]) {
    uint32_t c0 = (uint32_t)position, c1 = (uint32_t)(position >> 32);
    uint32_t c2 = (uint32_t)stream_number, c3 = (uint32_t)(stream_number >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)0xD2511F53 * c0;
        uint64_t product1 = (uint64_t)0xCD9E8D57 * c2;
        c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)product1;
        c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)product0;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    words[0] = c0, words[1] = c1, words[2] = c2, words[3] = c3;
}

/// What a draw needs besides the words.
struct draw {
    cbk_opcode opcode;
    cbk_dtype dtype;
    double a, b;         ///< floats: both parameters, rounded to the dtype
    double limit;        ///< uniform: the largest result
    uint64_t low, range; ///< integers
    uint64_t threshold;  ///< Bernoulli
};

// ---- uniform -----------------------------------------------------------------------------------

/// The largest number of the dtype below x, which is one of its numbers.
static double below(double x, cbk_dtype dtype) {
    if (dtype == CBK_DTYPE_F64) return nextafter(x, -INFINITY);
    if (dtype == CBK_DTYPE_F32 || dtype == CBK_DTYPE_FLEX32) return nextafterf((float)x, -INFINITY);
    uint16_t bits;
    cbk_ref_put_float(&bits, dtype, 0, x == 0 ? -0.0 : x);
    bits = (uint16_t)(bits & 0x8000 ? bits + 1 : bits - 1);
    return cbk_ref_get_float(&bits, dtype, 0);
}

static double uniform(const struct draw *draw, uint32_t word) {
    double value;
    if (draw->dtype == CBK_DTYPE_F64) {
        double t = word * 0x1p-32, span = draw->b - draw->a;
        double product = t * span;
        value = draw->a + product;
    } else {
        float t = (float)(word >> 8) * 0x1p-24f, span = (float)draw->b - (float)draw->a;
        float product = t * span;
        float sum = (float)draw->a + product;
        uint32_t memory;
        cbk_ref_put_float(&memory, draw->dtype, 0, sum);
        value = cbk_ref_get_float(&memory, draw->dtype, 0);
    }
    return value < draw->limit ? value : draw->limit;
}

// ---- normal ------------------------------------------------------------------------------------

/// cos or sin of 2 pi `turns`, 0 <= turns < 1, reduced exactly to an eighth of a turn first.
static double wave(double turns, bool is_sine) {
    double quarter = rint(turns * 4);
    double angle = (turns - quarter / 4) * 2 * PI;
    switch (((int)quarter + (is_sine ? 3 : 0)) % 4) { // sin(x) = cos(x - a quarter)
    case 0:
        return cos(angle);
    case 1:
        return -sin(angle);
    case 2:
        return -cos(angle);
    default:
        return sin(angle);
    }
}

static double normal(const struct draw *draw, const uint32_t words[4], int element) {
    uint32_t a = words[element & 2], b = words[(element & 2) + 1];
    double u, v;
    if (draw->dtype == CBK_DTYPE_F64) {
        u = ((double)a + 1) * 0x1p-32;
        v = b * 0x1p-32;
    } else {
        u = ((a >> 8) + 1) * 0x1p-24;
        v = (b >> 8) * 0x1p-24;
    }
    return draw->a + draw->b * (sqrt(-2 * log(u)) * wave(v, element & 1));
}

// ---- integers ----------------------------------------------------------------------------------

uint64_t cbk_ref_multiply_high(uint64_t a, uint64_t b) {
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t carry = (a_low * b_low) >> 32;
    uint64_t middle = a_high * b_low + carry;
    uint64_t other = a_low * b_high + (uint32_t)middle;
    return a_high * b_high + (middle >> 32) + (other >> 32);
}

static uint64_t integer(const struct draw *draw, const uint32_t words[4], int element) {
    uint64_t word = words[element];
    if (draw->range <= (uint64_t)1 << 32) return draw->low + (word * draw->range >> 32);
    return draw->low + cbk_ref_multiply_high(word << 32 | words[(element + 1) % 4], draw->range);
}

// ---- draws -------------------------------------------------------------------------------------

static uint64_t scalar_bits(cbk_scalar scalar, int64_t fallback) {
    uint64_t bits;
    cbk_scalar chosen = scalar.kind == CBK_SCALAR_NONE ? cbk_i(fallback) : scalar;
    cbk_ref_store(&bits, CBK_DTYPE_I64, 0, cbk_ref_scalar_value(chosen));
    return bits;
}

static cbk_status prepare(const cbk_op *op, cbk_dtype dtype, struct draw *draw) {
    const cbk_random_params *params = op->params;
    *draw = (struct draw){.opcode = op->opcode, .dtype = dtype};
    switch (op->opcode) {
    case CBK_OP_RANDOM_UNIFORM:
    case CBK_OP_RANDOM_NORMAL:
        draw->a = cbk_ref_scalar_float(params->a, 0, dtype);
        draw->b = cbk_ref_scalar_float(params->b, 1, dtype);
        draw->limit = below(draw->b, dtype);
        if (!(draw->limit > draw->a)) draw->limit = draw->a;
        return CBK_OK;
    case CBK_OP_RANDOM_BERNOULLI: {
        double p = cbk_ref_scalar_float(params->a, 0.5, CBK_DTYPE_F64);
        draw->threshold = (uint64_t)floor(p * 0x1p32);
        return CBK_OK;
    }
    case CBK_OP_RANDOM_INTEGER:
        draw->low = scalar_bits(params->a, 0);
        draw->range = scalar_bits(params->b, 256) - draw->low;
        return CBK_OK;
    default:
        return cbk_ref_unknown(op);
    }
}

static void put(const struct draw *draw, const struct cbk_ref_view *out, int64_t at,
                const uint32_t words[4], int element) {
    switch (draw->opcode) {
    case CBK_OP_RANDOM_UNIFORM:
        cbk_ref_put_float(out->data, out->dtype, at, uniform(draw, words[element]));
        break;
    case CBK_OP_RANDOM_NORMAL:
        cbk_ref_put_result(out->data, out->dtype, at, normal(draw, words, element));
        break;
    case CBK_OP_RANDOM_BERNOULLI: {
        struct cbk_ref_value value = {.kind = CBK_REF_BOOL, .i = words[element] < draw->threshold};
        cbk_ref_store(out->data, out->dtype, at, value);
        break;
    }
    default:
        cbk_ref_put_int(out->data, out->dtype, at, (int64_t)integer(draw, words, element));
        break;
    }
}

cbk_random_state *cbk_ref_random_state(struct cbk_ref_stream *stream) {
    const uint64_t generation = atomic_load(&stream->device->seed_generation);
    if (stream->seed_generation != generation) {
        stream->seed_generation = generation;
        stream->random.seed = atomic_load(&stream->device->seed);
        stream->random.position = 0;
        stream->random.stream_number = stream->number;
    }
    return &stream->random;
}

cbk_status cbk_ref_random_get_state(void *self, void *stream, cbk_random_state *out) {
    (void)self;
    *out = *cbk_ref_random_state(stream);
    return CBK_OK;
}

cbk_status cbk_ref_random_set_state(void *self, void *stream, const cbk_random_state *state) {
    (void)self;
    *cbk_ref_random_state(stream) = *state;
    return CBK_OK;
}

cbk_status cbk_ref_random(struct cbk_ref_stream *stream, const cbk_op *op) {
    if (op->opcode == CBK_OP_RANDOM_CATEGORICAL) return cbk_ref_categorical(stream, op);
    struct cbk_ref_view out = cbk_ref_view_of(op->outputs[0]);
    struct draw draw;
    cbk_status status = prepare(op, out.dtype, &draw);
    if (status != CBK_OK) return status;

    cbk_random_state *state = cbk_ref_random_state(stream);
    uint32_t words[4];
    for (int64_t i = 0; i < out.count; i++) {
        if (i % 4 == 0) cbk_ref_philox(state->position++, state->stream_number, state->seed, words);
        put(&draw, &out, cbk_ref_at(&out, i), words, (int)(i % 4));
    }
    return CBK_OK;
}
