/* Blocks whose lanes find their partners in their own vectors: those with one qubit in the lanes, and at the end of the
 * file those with both of them there that preserve parity.
 *
 * One qubit in the lanes: the two values of the other qubit are vectors u and v, a pair, and each lane has a partner that
 * differs in the qubit in the lanes: x = (u, u's partners, v, v's partners). So nothing trades places, and a pair is read
 * and written as it lies there. */
#ifndef QTJ_FLIPS_H
#define QTJ_FLIPS_H

#include "lanes.h"

enum { OTHERS = 6 };
/* Products between vector `row` and x[column] that belong to different rows and columns of a 4x4 matrix. */
static const int OTHER[OTHERS][2] = {{0, 1}, {1, 3}, {0, 2}, {0, 3}, {1, 0}, {1, 1}};
/* Of a Hermitian matrix the first four are enough, and of the first two the lanes whose qubit is 0. */
enum { HERMITIAN_OTHERS = 4, WITHIN = 2 };

/* Number of the basis state in which the qubit in the lanes has the value `lane`, and the other one `other`. */
INLINE int basis(const Place *p, int lane, int other) {
    return p->lanes == FIRST_IN_LANES ? 2 * lane + other : 2 * other + lane;
}

/* Whether both qubits differ, or none, between vector `row` and x[column]. */
#define KEEPS_PARITY(row, column) (((row) ^ (column) / 2) == ((column) & 1))

/* Number of the one that such a lane finds in x[column]. */
INLINE int met(const Place *p, int lane, int column) { return basis(p, lane ^ (column & 1), column / 2); }

INLINE void load_pair(cvec x[4], const cvec *at, const Place *p) {
    for (int v = 0; v < 2; v++) {
        x[2 * v] = at[v * p->apart];
        x[2 * v + 1] = (cvec){shuffle(x[2 * v].re, p->trade[0].other), shuffle(x[2 * v].im, p->trade[0].other)};
    }
}

/* The lanes whose qubit is `value`; 0 elsewhere. */
INLINE vec lanes_of(const Place *p, int value, vec v) {
    lane_map with = p->trade[0].with;
    return (vec)((lane_map)v & (value ? with : ~with));
}

/* What goes from x[column] to vector `row`. */
INLINE vec flip_coefficient(const Place *p, const scalar *matrix, int row, int column) {
    vec both = {0};
    for (int lane = 0; lane < 2; lane++)
        both += lanes_of(p, lane, matrix[4 * basis(p, lane, row) + met(p, lane, column)] - (vec){0});
    return both;
}

/* into = U s, or into += U s */
INLINE void flip_groups(const cvec *s, cvec *into, size_t from, size_t to, const Place *p, const scalar *matrix,
                        int parity, int add) {
    cvec u[2][4];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            u[i][j] = (cvec){flip_coefficient(p, matrix, i, j), flip_coefficient(p, matrix + 16, i, j)};
    FOR_PAIRS(x0, from, to, p) {
        cvec x[4];
        load_pair(x, s + x0, p);
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) {
            cvec *at = into + x0 + i * p->apart, y = add ? *at : (cvec){{0}, {0}};
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) {
                if (parity && !KEEPS_PARITY(i, j)) continue;
                int more = add || j > (parity ? i : 0);
                y.re = more ? y.re + u[i][j].re * x[j].re : u[i][j].re * x[j].re;
                y.im = more ? y.im + u[i][j].re * x[j].im : u[i][j].re * x[j].im;
                y.re -= u[i][j].im * x[j].im;
                y.im += u[i][j].im * x[j].re;
            }
            *at = y;
        }
    }
}

static void flip(const cvec *s, cvec *into, size_t from, size_t to, const Place *p, const scalar *matrix, int parity,
                 int add) {
    if (add) flip_groups(s, into, from, to, p, matrix, 0, 1);
    else if (parity) flip_groups(s, into, from, to, p, matrix, 1, 0);
    else flip_groups(s, into, from, to, p, matrix, 0, 0);
}

/* Adds what a loop summed up to the sums of algebra.c. The other side of a Hermitian w_ab is w_ba = conj(w_ab), that of an
 * anti-Hermitian one -conj(w_ab). */
INLINE void add_sums(const Place *p, const vec same[2], const cvec *w, int hermitian, vec *sums) {
    for (int lane = 0; lane < 2; lane++) {
        for (int i = 0; i < 2; i++) sums[basis(p, lane, i)] += lanes_of(p, lane, same[i]);
        for (int k = hermitian && lane ? WITHIN : 0; k < (hermitian ? HERMITIAN_OTHERS : OTHERS); k++) {
            int a = basis(p, lane, OTHER[k][0]), b = met(p, lane, OTHER[k][1]);
            int pair = a < b ? sum_of(a, b) : sum_of(b, a);
            sums[pair] += lanes_of(p, lane, a < b || hermitian ? w[k].re : -w[k].re);
            sums[pair + 6] += lanes_of(p, lane, a > b && hermitian ? -w[k].im : w[k].im);
        }
    }
}

INLINE void flip_gradient_groups(const cvec *restrict psi, const cvec *restrict lambda, size_t from, size_t to,
                                 const Place *p, int parity, vec *restrict sums) {
    vec same[2] = {{0}};
    cvec w[OTHERS] = {{{0}, {0}}};
    FOR_PAIRS(x0, from, to, p) {
        cvec x[4], l[2] = {lambda[x0], lambda[x0 + p->apart]};
        load_pair(x, psi + x0, p);
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) {
            same[i] += l[i].re * x[2 * i].im;
            same[i] -= l[i].im * x[2 * i].re;
        }
#pragma GCC unroll 6
        for (int k = 0; k < OTHERS; k++) {
            if (parity && !KEEPS_PARITY(OTHER[k][0], OTHER[k][1])) continue;
            const cvec *a = &l[OTHER[k][0]], *b = &x[OTHER[k][1]];
            w[k].re += a->re * b->re;
            w[k].re += a->im * b->im;
            w[k].im += a->re * b->im;
            w[k].im -= a->im * b->re;
        }
    }
    add_sums(p, same, w, 0, sums);
}

static void flip_gradient(const cvec *psi, const cvec *lambda, size_t from, size_t to, const Place *p, int parity,
                          vec *sums) {
    if (parity) flip_gradient_groups(psi, lambda, from, to, p, 1, sums);
    else flip_gradient_groups(psi, lambda, from, to, p, 0, sums);
}

static void flip_density(const cvec *restrict psi, size_t from, size_t to, const Place *p, vec *restrict sums) {
    vec same[2] = {{0}};
    cvec w[HERMITIAN_OTHERS] = {{{0}, {0}}};
    FOR_PAIRS(x0, from, to, p) {
        cvec x[4];
        load_pair(x, psi + x0, p);
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) {
            same[i] += x[2 * i].re * x[2 * i].re;
            same[i] += x[2 * i].im * x[2 * i].im;
        }
#pragma GCC unroll 4
        for (int k = 0; k < HERMITIAN_OTHERS; k++) {
            const cvec *a = &x[2 * OTHER[k][0]], *b = &x[OTHER[k][1]];
            w[k].re += a->re * b->re;
            w[k].re += a->im * b->im;
            w[k].im += a->im * b->re;
            w[k].im -= a->re * b->im;
        }
    }
    add_sums(p, same, w, 1, sums);
}

/* ---- both qubits in the lanes, and parity preserved: a lane needs itself, and the one that differs in both ---- */

INLINE cvec opposites(const cvec *x, lane_map other) { return (cvec){shuffle(x->re, other), shuffle(x->im, other)}; }

/* The lane that differs in both qubits. */
INLINE lane_map opposite(const Place *p) {
    lane_map other = p->trade[0].other ^ p->trade[1].other;
    for (int i = 0; i < LANES; i++) other[i] ^= i;
    return other;
}

/* The lanes that have a basis state; 0 elsewhere. */
INLINE vec lanes_with(const Place *p, int state, vec v) {
    lane_map first = p->trade[0].with, second = p->trade[1].with;
    return (vec)((lane_map)v & (state & 2 ? first : ~first) & (state & 1 ? second : ~second));
}

static void across(const cvec *s, cvec *into, size_t from, size_t to, const Place *p, const scalar *matrix) {
    lane_map other = opposite(p);
    cvec own = {{0}, {0}}, others = {{0}, {0}};
    for (int a = 0; a < 4; a++) {
        own.re += lanes_with(p, a, matrix[5 * a] - (vec){0});
        own.im += lanes_with(p, a, matrix[16 + 5 * a] - (vec){0});
        others.re += lanes_with(p, a, matrix[3 * a + 3] - (vec){0});
        others.im += lanes_with(p, a, matrix[16 + 3 * a + 3] - (vec){0});
    }
    FOR_VECTORS(x0, from, to, p) {
        cvec x = s[x0], y = opposites(&x, other);
        into[x0].re = own.re * x.re - own.im * x.im + others.re * y.re - others.im * y.im;
        into[x0].im = own.re * x.im + own.im * x.re + others.re * y.im + others.im * y.re;
    }
}

static void across_gradient(const cvec *restrict psi, const cvec *restrict lambda, size_t from, size_t to,
                            const Place *p, vec *restrict sums) {
    lane_map other = opposite(p);
    vec same = {0};
    cvec w = {{0}, {0}};
    FOR_VECTORS(x0, from, to, p) {
        cvec l = lambda[x0], x = psi[x0], y = opposites(&x, other);
        same += l.re * x.im - l.im * x.re;
        w.re += l.re * y.re + l.im * y.im;
        w.im += l.re * y.im - l.im * y.re;
    }
    for (int a = 0; a < 4; a++) {
        int pair = a < 2 ? sum_of(a, 3 - a) : sum_of(3 - a, a);
        sums[a] += lanes_with(p, a, same);
        sums[pair] += lanes_with(p, a, a < 2 ? w.re : -w.re);
        sums[pair + 6] += lanes_with(p, a, w.im);
    }
}

#endif
