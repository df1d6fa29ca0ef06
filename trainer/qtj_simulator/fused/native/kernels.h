/* The four loops over amplitudes. Each reads groups of four vectors x = (x_00, x_01, x_10, x_11), the values of a
 * block's two qubits, and does 4x4 arithmetic on them; all else in the engine prepares them or uses what they sum up. */
#ifndef QTJ_KERNELS_H
#define QTJ_KERNELS_H

#include "flips.h"
#include "patterns.h"

/* A 4x4 matrix: the same in all lanes, or one for each lane. */
typedef struct {
    const scalar *shared; /* [real, imaginary][16] */
    const scalar *lanes;  /* [real, imaginary][16][LANES]; used where `shared` is NULL */
    int adjoint;         /* take the adjoint of `lanes` */
    int parity;          /* the block preserves parity; only with `shared` */
} Coefficients;

/* Whether a block has anything in this row and column. */
INLINE int couples(int pattern, int row, int column) { return pattern >> (row ^ column) & 1; }

INLINE int first_coupled(int pattern, int row) {
    return couples(pattern, row, 0) ? 0 : couples(pattern, row, 1) ? 1 : couples(pattern, row, 2) ? 2 : 3;
}

INLINE vec coefficient(const Coefficients *c, int per_lane, int part, int row, int column) {
    if (!per_lane) return c->shared[16 * part + 4 * row + column] - (vec){0};
    int index = 16 * part + (c->adjoint ? 4 * column + row : 4 * row + column);
    vec v = *(const vec *)(c->lanes + index * LANES);
    return part && c->adjoint ? -v : v;
}

/* into = U s; both may be the same. */
INLINE void apply_groups(const cvec *s, cvec *into, size_t from, size_t to, const Place *p, const Coefficients *c,
                         int pattern, int per_lane, int trades) {
    FOR_GROUPS(x0, from, to, p) {
        cvec x[4], y[4];
        load(x, s + x0, p, trades);
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                if (!couples(pattern, i, j)) continue;
                int more = j > first_coupled(pattern, i);
                vec re = coefficient(c, per_lane, 0, i, j), im = coefficient(c, per_lane, 1, i, j);
                y[i].re = more ? y[i].re + re * x[j].re : re * x[j].re;
                y[i].im = more ? y[i].im + re * x[j].im : re * x[j].im;
                y[i].re -= im * x[j].im;
                y[i].im += im * x[j].re;
            }
        store(into + x0, y, p, trades);
    }
}

/* The sums of algebra.c for M_ab = conj(lambda_a) psi_b. */
INLINE void gradient_groups(const cvec *restrict psi, const cvec *restrict lambda, size_t from, size_t to,
                            const Place *p, vec *restrict sums, int pattern, int trades) {
    vec w[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) w[i] = sums[i];
    FOR_GROUPS(x0, from, to, p) {
        cvec x[4], l[4];
        load(x, psi + x0, p, trades);
        load(l, lambda + x0, p, trades);
#pragma GCC unroll 4
        for (int a = 0; a < 4; a++) {
            w[a] += l[a].re * x[a].im;
            w[a] -= l[a].im * x[a].re;
#pragma GCC unroll 4
            for (int b = 0; b < 4; b++) {
                if (a == b || !couples(pattern, a, b)) continue;
                int pair = a < b ? sum_of(a, b) : sum_of(b, a);
                w[pair] = a < b ? w[pair] + l[a].re * x[b].re : w[pair] - l[a].re * x[b].re;
                w[pair] = a < b ? w[pair] + l[a].im * x[b].im : w[pair] - l[a].im * x[b].im;
                w[pair + 6] += l[a].re * x[b].im;
                w[pair + 6] -= l[a].im * x[b].re;
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) sums[i] = w[i];
}

/* The sums of rho_ab = psi_a conj(psi_b). */
INLINE void density_groups(const cvec *restrict psi, size_t from, size_t to, const Place *p, vec *restrict sums,
                           int trades) {
    vec w[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) w[i] = sums[i];
    FOR_GROUPS(x0, from, to, p) {
        cvec x[4];
        load(x, psi + x0, p, trades);
#pragma GCC unroll 4
        for (int a = 0; a < 4; a++) {
            w[a] += x[a].re * x[a].re;
            w[a] += x[a].im * x[a].im;
#pragma GCC unroll 4
            for (int b = 1; b < 4; b++) {
                if (b <= a) continue;
                int pair = sum_of(a, b);
                w[pair] += x[a].re * x[b].re;
                w[pair] += x[a].im * x[b].im;
                w[pair + 6] += x[a].im * x[b].re;
                w[pair + 6] -= x[a].re * x[b].im;
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) sums[i] = w[i];
}

/* lambda += O psi, O Hermitian; where lambda is `fresh`, what is in it counts as 0. */
INLINE void observe_groups(const cvec *restrict psi, cvec *restrict lambda, size_t from, size_t to, const Place *p,
                           const Coefficients *c, int fresh, int per_lane, int trades) {
    FOR_GROUPS(x0, from, to, p) {
        cvec x[4], y[4] = {{{0}, {0}}};
        load(x, psi + x0, p, trades);
        if (!fresh) load(y, lambda + x0, p, trades);
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                vec re = coefficient(c, per_lane, 0, i, j);
                y[i].re += re * x[j].re;
                y[i].im += re * x[j].im;
                if (i == j) continue;
                vec im = coefficient(c, per_lane, 1, i, j);
                y[i].re -= im * x[j].im;
                y[i].im += im * x[j].re;
            }
        store(lambda + x0, y, p, trades);
    }
}

/* Lanes with matrices of their own hold examples, so there are no qubits in them. */
static void apply_into(const cvec *s, cvec *into, size_t from, size_t to, const Place *p, const Coefficients *c) {
    if (!c->shared && c->adjoint) apply_groups(s, into, from, to, p, &(Coefficients){NULL, c->lanes, 1}, FULL, 1, 0);
    else if (!c->shared) apply_groups(s, into, from, to, p, &(Coefficients){NULL, c->lanes, 0}, FULL, 1, 0);
    else if (p->lanes == NONE_IN_LANES && c->parity) apply_groups(s, into, from, to, p, c, EVEN, 0, 0);
    else if (p->lanes == NONE_IN_LANES) apply_groups(s, into, from, to, p, c, FULL, 0, 0);
    else if (p->lanes != BOTH_IN_LANES) flip(s, into, from, to, p, c->shared, c->parity, 0);
    else if (c->parity) across(s, into, from, to, p, c->shared);
    else apply_groups(s, into, from, to, p, c, FULL, 0, 1);
}

static void apply(cvec *s, size_t from, size_t to, const Place *p, const Coefficients *c) {
    apply_into(s, s, from, to, p, c);
}

static void observe_shared(const cvec *psi, cvec *lambda, size_t from, size_t to, const Place *p, const Coefficients *c,
                           int fresh) {
    if (p->lanes == NONE_IN_LANES && fresh) observe_groups(psi, lambda, from, to, p, c, 1, 0, 0);
    else if (p->lanes == NONE_IN_LANES) observe_groups(psi, lambda, from, to, p, c, 0, 0, 0);
    else if (p->lanes != BOTH_IN_LANES) flip(psi, lambda, from, to, p, c->shared, 0, !fresh);
    else if (fresh) observe_groups(psi, lambda, from, to, p, c, 1, 0, 1);
    else observe_groups(psi, lambda, from, to, p, c, 0, 0, 1);
}

static void observe(const cvec *psi, cvec *lambda, size_t from, size_t to, const Place *p, const Coefficients *c,
                    int fresh) {
    if (c->shared) observe_shared(psi, lambda, from, to, p, c, fresh);
    else observe_groups(psi, lambda, from, to, p, &(Coefficients){NULL, c->lanes, 0}, fresh, 1, 0);
}

static void gradient(const cvec *psi, const cvec *lambda, size_t from, size_t to, const Place *p, int parity,
                     vec *sums) {
    if (p->lanes == NONE_IN_LANES && parity) gradient_groups(psi, lambda, from, to, p, sums, EVEN, 0);
    else if (p->lanes == NONE_IN_LANES) gradient_groups(psi, lambda, from, to, p, sums, FULL, 0);
    else if (p->lanes != BOTH_IN_LANES) flip_gradient(psi, lambda, from, to, p, parity, sums);
    else if (parity) across_gradient(psi, lambda, from, to, p, sums);
    else gradient_groups(psi, lambda, from, to, p, sums, FULL, 1);
}

static void density(const cvec *psi, size_t from, size_t to, const Place *p, vec *sums) {
    if (p->lanes == NONE_IN_LANES) density_groups(psi, from, to, p, sums, 0);
    else if (p->lanes == BOTH_IN_LANES) density_groups(psi, from, to, p, sums, 1);
    else flip_density(psi, from, to, p, sums);
}

/* Exchanges a lane bit and a vector bit for good. */
static void swap(cvec *s, const Pass *pass, size_t vectors, int bit, int lane) {
    Trade t = trade_of(lane);
    size_t step = (size_t)1 << bit, apart = pass->inside[step];
    for (size_t x = 0; x < vectors; x += 2 * step)
        for (size_t k = x; k < x + step; k++) trade(&s[pass->inside[k]], &s[pass->inside[k] + apart], &t);
}

#endif
