/* Sweeps over a state. Compiled once for each instruction set and precision, with
 *   BITS     the bits of a real number, see scalars.h
 *   LANES    numbers in a vector, a power of two
 *   VARIANT  the variant's name, and the end of its symbol
 *
 * A state is an array of vectors of LANES real parts and LANES imaginary parts. The lanes hold either LANES examples
 * (few qubits) or log2(LANES) qubits of one example (many qubits); the other qubits are bits of the vector's index.
 * A pass takes the state through the cache tile by tile: the vectors that differ in `tile_bits` of the index bits. They
 * stay where they are in memory.
 */
#include "heads.h"
#include "kernels.h"

#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

/* Groups of four vectors that a gradient and two un-applications take in turn: what the first has read, the others find
 * in L1. */
enum { CHUNK = 16 };
/* Groups whose sums single precision can hold. */
enum { STRETCH = 512 };

static void flush(const vec *sums, double *to) {
    const scalar *from = (const scalar *)sums;
    for (int i = 0; i < 16 * LANES; i++) to[i] += from[i];
}

/* ---- one operation on one tile ---- */

static long group_of(const Engine *e, long unit) { return e->plan.qubits_in_lanes ? unit / LANES : unit; }

/* One example's matrix, taken out of its group's into `own`. */
static Coefficients one_of(const Coefficients *all, long unit, scalar own[32]) {
    for (int i = 0; i < 32; i++) own[i] = coefficient(all, 1, i / 16, i % 16 / 4, i % 4)[unit % LANES];
    return (Coefficients){own, NULL, 0};
}

static Coefficients unitary_of(const Engine *e, const Block *block, long unit, int adjoint, scalar own[32]) {
    const scalar *shared = (const scalar *)e->coefficients + 64 * block->kind + 32 * adjoint;
    if (block->head < 0) return (Coefficients){shared, NULL, 0, e->plan.kind[block->kind].parity};
    const scalar *own_of_lanes =
        (const scalar *)e->head_unitary + (group_of(e, unit) * e->plan.heads + block->head) * 32 * LANES;
    Coefficients all = {NULL, own_of_lanes, adjoint};
    return e->plan.qubits_in_lanes ? one_of(&all, unit, own) : all;
}

static Coefficients observable_of(const Engine *e, int pair, long unit, scalar own[32]) {
    const scalar *weighted = (const scalar *)e->observable;
    Coefficients all = {NULL, weighted + (group_of(e, unit) * e->plan.pairs + pair) * 32 * LANES, 0};
    return e->plan.qubits_in_lanes ? one_of(&all, unit, own) : all;
}

/* Reads the state at `from` and leaves it at `psi`, which may be the same. Returns where it is afterwards. */
static cvec *forward_op(const Engine *e, Thread *t, const Pass *pass, const Op *op, long unit, const cvec *from,
                        cvec *psi) {
    size_t vectors = (size_t)1 << e->plan.tile_bits;
    Place place = place_of(pass, op);
    if (op->code == APPLY) {
        scalar own[32];
        Coefficients c = unitary_of(e, &e->plan.block[op->index], unit, 0, own);
        cvec *into = op->flags & NEXT_BUFFER ? psi + vectors : psi;
        apply_into(from, into, 0, vectors / 4, &place, &c);
        return into;
    }
    if (op->code == DENSITY) {
        for (size_t at = 0; at < vectors / 4; at += STRETCH) {
            vec sums[16] = {{0}};
            size_t to = at + STRETCH < vectors / 4 ? at + STRETCH : vectors / 4;
            density(psi, at, to, &place, sums);
            flush(sums, t->pairs + op->index * 16 * LANES);
        }
    } else {
        swap(psi, pass, vectors, op->bit[0], op->lane[0]);
    }
    return psi;
}

/* Takes the sums of a block, and takes the block away from both states. */
static void backward_block(const Engine *e, Thread *t, const Pass *pass, const Op *op, long unit, cvec *psi,
                           cvec *lambda) {
    size_t groups = ((size_t)1 << e->plan.tile_bits) / 4;
    const Block *block = &e->plan.block[op->index];
    double *total = block->head < 0 ? t->kinds + block->kind * 16 * LANES : t->heads + block->head * 16 * LANES;
    Place place = place_of(pass, op);
    scalar own[32];
    Coefficients c = unitary_of(e, block, unit, 1, own);
    vec sums[16] = {{0}};
    int sums_only = op->flags & (NO_UNAPPLY | TOGETHER);
    size_t chunk = sums_only ? STRETCH : CHUNK;
    for (size_t from = 0; from < groups; from += chunk) {
        size_t to = from + chunk < groups ? from + chunk : groups;
        if (!(op->flags & NO_GRADIENT)) gradient(psi, lambda, from, to, &place, c.parity, sums);
        if (!sums_only) {
            apply(psi, from, to, &place, &c);
            apply(lambda, from, to, &place, &c);
        }
        if (to % STRETCH && to < groups) continue;
        flush(sums, total);
        memset(sums, 0, sizeof sums);
    }
}

/* Takes a layer away from lambda, once its sums are taken. */
static void unapply_layer(const Engine *e, const Pass *pass, const Op *first, long unit, cvec *lambda) {
    const Op *end = pass->ops + pass->count;
    for (const Op *op = first; op < end && (op == first || !(op->flags & NEXT_BUFFER)); op++) {
        if (!(op->flags & TOGETHER)) continue;
        scalar own[32];
        Place place = place_of(pass, op);
        Coefficients c = unitary_of(e, &e->plan.block[op->index], unit, 1, own);
        apply(lambda, 0, ((size_t)1 << e->plan.tile_bits) / 4, &place, &c);
    }
}

static void backward_op(const Engine *e, Thread *t, const Pass *pass, const Op *op, long unit, cvec *psi, cvec *lambda,
                        int fresh) {
    size_t vectors = (size_t)1 << e->plan.tile_bits;
    if (op->code == APPLY) {
        backward_block(e, t, pass, op, unit, psi, lambda);
    } else if (op->code == DENSITY) {
        scalar own[32];
        Place place = place_of(pass, op);
        Coefficients c = observable_of(e, op->index, unit, own);
        observe(psi, lambda, 0, vectors / 4, &place, &c, fresh);
    } else {
        swap(psi, pass, vectors, op->bit[0], op->lane[0]);
        swap(lambda, pass, vectors, op->bit[0], op->lane[0]);
    }
}

/* ---- passes ---- */

/* Copies a tile, or clears it where there is nothing to copy. */
static void fill(const Engine *e, const Pass *pass, const cvec *from, cvec *to) {
    size_t count = (size_t)1 << e->plan.tile_bits, run = (size_t)1 << pass->run_bits;
    for (size_t k = 0; k < count; k += run)
        if (from) memcpy(to + pass->inside[k], from + pass->inside[k], run * sizeof(cvec));
        else memset(to + pass->inside[k], 0, run * sizeof(cvec));
}

/* |0...0>, from a state that is 0. */
static void reset(const Engine *e, void *state) {
    scalar *psi = state;
    for (int lane = 0; lane < (e->plan.qubits_in_lanes ? 1 : LANES); lane++) psi[lane] = 1;
}

/* A block that does not keep what was before it may read it from anywhere. */
static int reads_anywhere(const Pass *pass) {
    return pass->count && pass->ops[0].code == APPLY && !(pass->ops[0].flags & NEXT_BUFFER);
}

static void forward(const Engine *e, Thread *t, long unit, int number, long from, long to, void *psi) {
    const Pass *pass = &e->plan.pass[number];
    cvec *state = psi;
    const cvec *source = number == e->plan.prefix_passes && e->base ? (const cvec *)e->base : state;
    for (long o = from; o < to; o++) {
        cvec *tile = state + pass->outside[o];
        const cvec *read = source + pass->outside[o];
        if (source != state && !reads_anywhere(pass)) {
            fill(e, pass, read, tile);
            read = tile;
        }
        for (int i = 0; i < pass->count; i++) read = tile = forward_op(e, t, pass, &pass->ops[i], unit, read, tile);
    }
}

static int observes_last(const Pass *pass) { return pass->count && pass->ops[pass->count - 1].code == DENSITY; }

static void backward(const Engine *e, Thread *t, long unit, int number, long from, long to, void *psi,
                     void *lambda) {
    const Pass *pass = &e->plan.pass[number];
    int fresh = number == e->plan.passes - 1 && !e->plan.strings; /* nothing is in lambda yet */
    for (long o = from; o < to; o++) {
        cvec *tile = (cvec *)psi + pass->outside[o], *other = (cvec *)lambda + pass->outside[o];
        if (fresh && !observes_last(pass)) fill(e, pass, NULL, other);
        for (int i = pass->count - 1; i >= 0; i--) {
            backward_op(e, t, pass, &pass->ops[i], unit, tile, other, fresh && i == pass->count - 1);
            if (!(pass->ops[i].flags & NEXT_BUFFER)) continue;
            unapply_layer(e, pass, &pass->ops[i], unit, other);
            tile -= (size_t)1 << e->plan.tile_bits;
        }
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
        l.sign[i] = __builtin_parity((unsigned)j & s->lane_z) ? -1 : 1;
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
static void string_values(const Engine *e, Thread *t, long from, long to, const void *state) {
    const cvec *psi = state;
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
            weight[i] = (scalar)(s->factor * e->upstream[example * e->plan.readouts + s->readout]);
    }
    return weight;
}

/* lambda = sum of (dL/d<P>) P psi */
static void string_seeds(const Engine *e, long unit, long from, long to, const void *state, void *other) {
    const cvec *psi = state;
    cvec *lambda = other;
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
    vec x = (vec){0} + (scalar)0.999, y = (vec){0} + (scalar)1e-3, a[12];
    for (int i = 0; i < 12; i++) a[i] = y * (scalar)i;
    for (long r = 0; r < rounds; r++)
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) a[i] = a[i] * x + y;
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += (double)a[i][0];
    return sum;
}

const Variant JOIN(variant_, VARIANT) = {
    TEXT(VARIANT), LANES, sizeof(scalar), JOIN(store_unitary_, BITS), JOIN(weigh_observables_, BITS),
    heads, head_gradients, reset, forward, backward, string_values, string_seeds, multiply_add,
};
