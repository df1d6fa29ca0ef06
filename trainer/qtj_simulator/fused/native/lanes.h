/* Vectors, and how a block finds its four. Included by sweep.c, which says how wide a vector is. */
#ifndef QTJ_LANES_H
#define QTJ_LANES_H

#include "scalars.h"
#include "sums.h"

#define INLINE static inline __attribute__((always_inline))

typedef scalar vec __attribute__((vector_size(sizeof(scalar) * LANES), may_alias));
typedef lane_index lane_map __attribute__((vector_size(sizeof(scalar) * LANES)));
typedef struct {
    vec re, im;
} cvec;

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* What AVX-512 has an instruction for. */
#if defined(__AVX512F__) && BITS == 32
#define PERMUTE(from, v) (vec) _mm512_permutexvar_ps((__m512i)(from), (__m512)(v))
#define PERMUTE_SOME(u, of, from, v) \
    (vec) _mm512_mask_permutexvar_ps((__m512)(u), _mm512_movepi32_mask((__m512i)(of)), (__m512i)(from), (__m512)(v))
#elif defined(__AVX512F__)
#define PERMUTE(from, v) (vec) _mm512_permutexvar_pd((__m512i)(from), (__m512d)(v))
#define PERMUTE_SOME(u, of, from, v) \
    (vec) _mm512_mask_permutexvar_pd((__m512d)(u), _mm512_movepi64_mask((__m512i)(of)), (__m512i)(from), (__m512d)(v))
#endif

/* Lane i of the result is lane from[i] of v. */
INLINE vec shuffle(vec v, lane_map from) {
#if defined(PERMUTE)
    return PERMUTE(from, v);
#elif defined(__clang__) /* whose own shuffle wants constants */
    vec out = v;
    for (int i = 0; i < LANES; i++) out[i] = v[from[i]];
    return out;
#else
    return __builtin_shuffle(v, from);
#endif
}

/* Lane bit l trades places with the vector bit that tells u from v:
 *     u' = lanes without the bit: u,               lanes with it: v without it
 *     v' = lanes without the bit: u with the bit,  lanes with it: v */
typedef struct {
    lane_map other; /* each lane's number with the bit turned */
    lane_map with;  /* all bits of the lanes that have it */
} Trade;

INLINE Trade trade_of(int lane) {
    Trade t = {{0}, {0}};
    for (int i = 0; i < LANES; i++) {
        t.other[i] = i ^ 1 << lane;
        t.with[i] = -(i >> lane & 1);
    }
    return t;
}

/* Takes the lanes that `of` names from v, each from its other, and the rest from u. One masked instruction in AVX-512,
 * which runs beside multiply-adds; what GCC makes of a shuffle of two vectors does not. */
INLINE vec mixed(vec u, vec v, lane_map of, lane_map other) {
#if defined(PERMUTE_SOME)
    return PERMUTE_SOME(u, of, other, v);
#else
    return (vec)(((lane_map)shuffle(v, other) & of) | ((lane_map)u & ~of));
#endif
}

INLINE void trade(cvec *u, cvec *v, const Trade *t) {
    cvec a = *u, b = *v;
    u->re = mixed(a.re, b.re, t->with, t->other);
    u->im = mixed(a.im, b.im, t->with, t->other);
    v->re = mixed(b.re, a.re, ~t->with, t->other);
    v->im = mixed(b.im, a.im, ~t->with, t->other);
}

/* Which of a block's qubits are in the lanes. */
enum { NONE_IN_LANES, FIRST_IN_LANES, SECOND_IN_LANES, BOTH_IN_LANES };

/* Where the vectors of a block are, in every group of its tile. */
typedef struct {
    const uint32_t *inside; /* where the vectors of the tile are in the state */
    int lanes;
    size_t first, second; /* how far apart the values 0 and 1 of the two qubits are in it */
    size_t apart;         /* with one qubit in the lanes: those of the other one */
    int low, high;        /* the bits in the tile of what is apart, in order */
    int run;              /* 2^run groups follow each other in memory */
    Trade trade[2];       /* of the qubits in the lanes, the first one first */
} Place;

INLINE Place place_of(const Pass *pass, const Op *op) {
    int a = op->bit[0], b = op->bit[1];
    Place p = {.inside = pass->inside, .lanes = (op->lane[0] >= 0) | (op->lane[1] >= 0) << 1};
    p.first = pass->inside[(size_t)1 << a];
    p.second = pass->inside[(size_t)1 << b];
    p.low = a < b ? a : b;
    p.high = a < b ? b : a;
    if (p.lanes == FIRST_IN_LANES || p.lanes == SECOND_IN_LANES) p.low = p.lanes == FIRST_IN_LANES ? b : a;
    p.apart = pass->inside[(size_t)1 << p.low];
    p.run = p.low < pass->run_bits ? p.low : pass->run_bits;
    for (int i = 0, found = 0; i < 2; i++)
        if (op->lane[i] >= 0) p.trade[found++] = trade_of(op->lane[i]);
    return p;
}

INLINE void trade_both(cvec x[4], const Place *p) {
    trade(&x[0], &x[2], &p->trade[0]);
    trade(&x[1], &x[3], &p->trade[0]);
    trade(&x[0], &x[1], &p->trade[1]);
    trade(&x[2], &x[3], &p->trade[1]);
}

/* `trades`: both qubits are in the lanes, and trade places with the two bits while the block is worked on. */
INLINE void load(cvec x[4], const cvec *at, const Place *p, int trades) {
    x[0] = at[0];
    x[1] = at[p->second];
    x[2] = at[p->first];
    x[3] = at[p->first + p->second];
    if (trades) trade_both(x, p);
}

INLINE void store(cvec *at, cvec x[4], const Place *p, int trades) {
    if (trades) trade_both(x, p);
    at[0] = x[0];
    at[p->second] = x[1];
    at[p->first] = x[2];
    at[p->first + p->second] = x[3];
}

INLINE size_t without(size_t number, int bit) {
    size_t low = ((size_t)1 << bit) - 1;
    return (number & ~low) << 1 | (number & low);
}

/* The index of the first vector of a group or a pair: its number with a 0 put in at each bit, found in the tile. */
INLINE size_t group_start(size_t group, const Place *p) { return p->inside[without(without(group, p->low), p->high)]; }
INLINE size_t pair_start(size_t pair, const Place *p) { return p->inside[without(pair, p->low)]; }
INLINE size_t vector_start(size_t vector, const Place *p) { return p->inside[vector]; }

/* The end of those that follow each other in memory. */
INLINE size_t run_end(size_t number, size_t to, const Place *p) {
    size_t end = (number | (((size_t)1 << p->run) - 1)) + 1;
    return end < to ? end : to;
}

#define FOR_RUNS(start, x0, from, to, place)                                                          \
    for (size_t at_ = (from), stop_; at_ < (to) && (stop_ = run_end(at_, to, place), 1); at_ = stop_) \
        for (size_t x0 = start(at_, place), left_ = stop_ - at_; left_; left_--, x0++)

/* For each group of four vectors from..to, with x0 the index of its first. */
#define FOR_GROUPS(x0, from, to, place) FOR_RUNS(group_start, x0, from, to, place)

/* For each pair of vectors in these groups. */
#define FOR_PAIRS(x0, from, to, place) FOR_RUNS(pair_start, x0, 2 * (from), 2 * (to), place)

/* For each vector in as many groups. */
#define FOR_VECTORS(x0, from, to, place) FOR_RUNS(vector_start, x0, 4 * (from), 4 * (to), place)

#endif
