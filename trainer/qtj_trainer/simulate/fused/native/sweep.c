/* Sweeps over a state. Compiled once for each instruction set, with
 *   LANES    floats in a vector, a power of two
 *   VARIANT  the variant's name, and the end of its symbol
 *
 * A state is an array of vectors of LANES real parts and LANES imaginary parts. The lanes hold either LANES examples
 * (few qubits) or log2(LANES) qubits of one example (many qubits); the other qubits are bits of the vector's index.
 * A pass takes the state through the cache tile by tile: the vectors that differ in `tile_bits` of the index bits.
 */
#include "heads.h"
#include "kernels.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

/* Groups of four vectors that a gradient and two un-applications take in turn: what the first has read, the others find
 * in L1. */
enum { CHUNK = 16 };
/* Groups whose sums single precision can hold. */
enum { STRETCH = 512 };

static void flush(const vec *sums, double *to) {
    const float *from = (const float *)sums;
    for (int i = 0; i < 16 * LANES; i++) to[i] += from[i];
}

/* ---- one operation on one tile ---- */

static long group_of(const Engine *e, long unit) { return e->plan.qubits_in_lanes ? unit / LANES : unit; }

/* One example's matrix, taken out of its group's into `own`. */
static Coefficients one_of(const Coefficients *all, long unit, float own[32]) {
    for (int i = 0; i < 32; i++) own[i] = coefficient(all, 1, i / 16, i % 16 / 4, i % 4)[unit % LANES];
    return (Coefficients){own, NULL, 0};
}

static Coefficients unitary_of(const Engine *e, const Block *block, long unit, int adjoint, float own[32]) {
    if (block->head < 0) return (Coefficients){e->coefficients + 64 * block->kind + 32 * adjoint, NULL, 0};
    Coefficients all = {NULL, e->head_unitary + (group_of(e, unit) * e->plan.heads + block->head) * 32 * LANES, adjoint};
    return e->plan.qubits_in_lanes ? one_of(&all, unit, own) : all;
}

static Coefficients observable_of(const Engine *e, int pair, long unit, float own[32]) {
    Coefficients all = {NULL, e->observable + (group_of(e, unit) * e->plan.pairs + pair) * 32 * LANES, 0};
    return e->plan.qubits_in_lanes ? one_of(&all, unit, own) : all;
}

/* Returns where the state is afterwards. */
static cvec *forward_op(const Engine *e, Thread *t, const Op *op, long unit, cvec *psi) {
    size_t vectors = (size_t)1 << e->plan.tile_bits;
    Place place = place_of(op);
    if (op->code == APPLY) {
        float own[32];
        Coefficients c = unitary_of(e, &e->plan.block[op->index], unit, 0, own);
        cvec *into = op->flags & TURN ? psi + vectors : psi;
        apply_into(psi, into, 0, vectors / 4, &place, &c, trades_of(op));
        return into;
    }
    if (op->code == DENSITY) {
        for (size_t from = 0; from < vectors / 4; from += STRETCH) {
            vec sums[16] = {{0}};
            size_t to = from + STRETCH < vectors / 4 ? from + STRETCH : vectors / 4;
            density(psi, from, to, &place, sums, trades_of(op));
            flush(sums, t->pairs + op->index * 16 * LANES);
        }
    } else {
        swap(psi, vectors, op->bit[0], op->lane[0]);
    }
    return psi;
}

/* Takes the sums of a block, and takes the block away from both states. */
static void backward_block(const Engine *e, Thread *t, const Op *op, long unit, cvec *psi, cvec *lambda) {
    size_t groups = ((size_t)1 << e->plan.tile_bits) / 4;
    const Block *block = &e->plan.block[op->index];
    double *total = block->head < 0 ? t->kinds + block->kind * 16 * LANES : t->heads + block->head * 16 * LANES;
    Place place = place_of(op);
    int trades = trades_of(op);
    float own[32];
    Coefficients c = unitary_of(e, block, unit, 1, own);
    vec sums[16] = {{0}};
    int sums_only = op->flags & (NO_UNAPPLY | TOGETHER);
    size_t chunk = sums_only ? STRETCH : CHUNK;
    for (size_t from = 0; from < groups; from += chunk) {
        size_t to = from + chunk < groups ? from + chunk : groups;
        if (!(op->flags & NO_GRADIENT)) gradient(psi, lambda, from, to, &place, sums, trades);
        if (!sums_only) {
            apply(psi, from, to, &place, &c, trades);
            apply(lambda, from, to, &place, &c, trades);
        }
        if (to % STRETCH && to < groups) continue;
        flush(sums, total);
        memset(sums, 0, sizeof sums);
    }
}

/* Takes a layer away from lambda, once its sums are taken. */
static void unapply_layer(const Engine *e, const Op *first, const Op *end, long unit, cvec *lambda) {
    for (const Op *op = first; op < end && (op == first || !(op->flags & TURN)); op++) {
        if (!(op->flags & TOGETHER)) continue;
        float own[32];
        Place place = place_of(op);
        Coefficients c = unitary_of(e, &e->plan.block[op->index], unit, 1, own);
        apply(lambda, 0, ((size_t)1 << e->plan.tile_bits) / 4, &place, &c, trades_of(op));
    }
}

static void backward_op(const Engine *e, Thread *t, const Op *op, long unit, cvec *psi, cvec *lambda, int fresh) {
    size_t vectors = (size_t)1 << e->plan.tile_bits;
    if (op->code == APPLY) {
        backward_block(e, t, op, unit, psi, lambda);
    } else if (op->code == DENSITY) {
        float own[32];
        Place place = place_of(op);
        Coefficients c = observable_of(e, op->index, unit, own);
        observe(psi, lambda, 0, vectors / 4, &place, &c, fresh, trades_of(op));
    } else {
        swap(psi, vectors, op->bit[0], op->lane[0]);
        swap(lambda, vectors, op->bit[0], op->lane[0]);
    }
}

/* ---- passes ---- */

static void gather(cvec *restrict tile, const cvec *restrict state, const uint32_t *inside, size_t count) {
    for (size_t k = 0; k < count; k++) tile[k] = state[inside[k]];
}

static void scatter(const cvec *restrict tile, cvec *restrict state, const uint32_t *inside, size_t count) {
    for (size_t k = 0; k < count; k++) {
        stream(&state[inside[k]].re, tile[k].re);
        stream(&state[inside[k]].im, tile[k].im);
    }
    after_streams();
}

/* |0...0> */
static void reset(const Engine *e, float *psi) {
    memset(psi, 0, e->state_floats * sizeof(float));
    for (int lane = 0; lane < (e->plan.qubits_in_lanes ? 1 : LANES); lane++) psi[lane] = 1;
}

static void forward(const Engine *e, Thread *t, long unit, int number, long from, long to, float *psi) {
    const Pass *pass = &e->plan.pass[number];
    size_t count = (size_t)1 << e->plan.tile_bits;
    int whole = e->tiles == 1;
    cvec *state = (cvec *)psi, *tile = whole ? state : (cvec *)t->psi;
    const cvec *source = number == e->plan.prefix_passes && e->base ? (const cvec *)e->base : state;
    for (long o = from; o < to; o++) {
        if (!whole) gather(tile, source + pass->outside[o], pass->inside, count);
        else if (source != state) memcpy(tile, source, count * sizeof(cvec));
        for (int i = 0; i < pass->count; i++) tile = forward_op(e, t, &pass->ops[i], unit, tile);
        if (!whole) scatter(tile, state + pass->outside[o], pass->inside, count);
    }
}

static int observes_last(const Pass *pass) { return pass->count && pass->ops[pass->count - 1].code == DENSITY; }

static void backward(const Engine *e, Thread *t, long unit, int number, long from, long to, float *psi,
                     float *lambda) {
    const Pass *pass = &e->plan.pass[number];
    size_t count = (size_t)1 << e->plan.tile_bits;
    int whole = e->tiles == 1, first = number == e->plan.prefix_passes;
    int fresh = number == e->plan.passes - 1 && !e->plan.strings; /* nothing is in lambda yet */
    cvec *state = (cvec *)psi, *tile = whole ? state : (cvec *)t->psi;
    cvec *other_state = (cvec *)lambda, *other = whole ? other_state : (cvec *)t->lambda;
    for (long o = from; o < to; o++) {
        if (!whole) gather(tile, state + pass->outside[o], pass->inside, count);
        if (fresh && !observes_last(pass)) memset(other, 0, count * sizeof(cvec));
        if (!fresh && !whole) gather(other, other_state + pass->outside[o], pass->inside, count);
        for (int i = pass->count - 1; i >= 0; i--) {
            backward_op(e, t, &pass->ops[i], unit, tile, other, fresh && i == pass->count - 1);
            if (!(pass->ops[i].flags & TURN)) continue;
            unapply_layer(e, &pass->ops[i], pass->ops + pass->count, unit, other);
            tile -= count;
        }
        if (whole || first) continue;
        scatter(tile, state + pass->outside[o], pass->inside, count);
        scatter(other, other_state + pass->outside[o], pass->inside, count);
    }
}

/* ---- Pauli strings on more than two qubits: over the whole state ---- */

typedef struct {
    lane_map from;
    vec sign;
} StringLanes;

static StringLanes string_lanes(const String *s) {
    StringLanes l = {{0}, {0}};
    for (int i = 0; i < LANES; i++) {
        int j = i ^ (int)s->lane_x;
        l.from[i] = j;
        l.sign[i] = __builtin_parity((unsigned)j & s->lane_z) ? -1.0f : 1.0f;
    }
    return l;
}

/* Vector v of P psi. */
INLINE cvec string_vector(const String *s, const StringLanes *l, const cvec *psi, size_t v) {
    size_t j = v ^ s->x;
    vec sign = __builtin_parity((unsigned)j & s->z) ? -l->sign : l->sign;
    vec re = sign * shuffle(psi[j].re, l->from), im = sign * shuffle(psi[j].im, l->from);
    switch (s->phase) {
        case 0: return (cvec){re, im};
        case 1: return (cvec){-im, re};
        case 2: return (cvec){-re, -im};
        default: return (cvec){im, -re};
    }
}

/* The sums <psi|P|psi>, in stretches short enough for single precision. */
static void string_values(const Engine *e, Thread *t, long from, long to, const float *state) {
    const cvec *psi = (const cvec *)state;
    for (int k = 0; k < e->plan.strings; k++) {
        const String *s = &e->plan.string[k];
        StringLanes l = string_lanes(s);
        for (long v = from; v < to;) {
            long stop = v + 1024 < to ? v + 1024 : to;
            vec sum = {0};
            for (; v < stop; v++) {
                cvec p = string_vector(s, &l, psi, (size_t)v);
                sum += psi[v].re * p.re + psi[v].im * p.im;
            }
            for (int i = 0; i < LANES; i++) t->strings[k * LANES + i] += (double)sum[i];
        }
    }
}

static vec string_weight(const Engine *e, const String *s, long unit) {
    vec weight = {0};
    for (int i = 0; i < LANES; i++) {
        long example = e->plan.qubits_in_lanes ? unit : unit * LANES + i;
        if (example < e->batch)
            weight[i] = (float)(s->factor * e->upstream[example * e->plan.readouts + s->readout]);
    }
    return weight;
}

/* lambda = sum of (dL/d<P>) P psi */
static void string_seeds(const Engine *e, long unit, long from, long to, const float *state, float *other) {
    const cvec *psi = (const cvec *)state;
    cvec *lambda = (cvec *)other;
    memset(lambda + from, 0, (size_t)(to - from) * sizeof(cvec));
    for (int k = 0; k < e->plan.strings; k++) {
        const String *s = &e->plan.string[k];
        StringLanes l = string_lanes(s);
        vec weight = string_weight(e, s, unit);
        for (long v = from; v < to; v++) {
            cvec p = string_vector(s, &l, psi, (size_t)v);
            lambda[v].re += weight * p.re;
            lambda[v].im += weight * p.im;
        }
    }
}

/* 12 independent chains of multiply-adds, to see what this processor can do at best: 24 LANES operations a round. */
static double multiply_add(long rounds) {
    vec x = (vec){0} + 0.999f, y = (vec){0} + 1e-3f, a[12];
    for (int i = 0; i < 12; i++) a[i] = y * (float)i;
    for (long r = 0; r < rounds; r++)
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) a[i] = a[i] * x + y;
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += (double)a[i][0];
    return sum;
}

const Variant JOIN(variant_, VARIANT) = {
    TEXT(VARIANT), LANES, heads, head_gradients, reset, forward, backward, string_values, string_seeds, multiply_add,
};
