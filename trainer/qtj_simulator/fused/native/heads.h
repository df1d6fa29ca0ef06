/* Heads: the beginnings of blocks that depend on data. algebra.c for LANES examples at a time. */
#ifndef QTJ_HEADS_H
#define QTJ_HEADS_H

#include "lanes.h"

#include <string.h>

INLINE void lane_multiply(const cvec *restrict a, const cvec *restrict b, cvec *restrict out) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            vec re = {0}, im = {0};
            for (int k = 0; k < 4; k++) {
                const cvec *x = &a[4 * i + k], *y = &b[4 * k + j];
                re += x->re * y->re - x->im * y->im;
                im += x->re * y->im + x->im * y->re;
            }
            out[4 * i + j] = (cvec){re, im};
        }
}

/* b becomes a^dag b a. */
static void lane_conjugate(const cvec *a, cvec *b) {
    cvec left[16], right[16];
    for (int i = 0; i < 16; i++) {
        const cvec *from = &a[4 * (i % 4) + i / 4];
        left[i] = (cvec){from->re, -from->im};
    }
    lane_multiply(b, a, right);
    lane_multiply(left, right, b);
}

static void lane_constant(const Matrix *from, cvec *to) {
    for (int i = 0; i < 16; i++) to[i] = (cvec){(vec){0} + (scalar)from->re[i], (vec){0} + (scalar)from->im[i]};
}

/* Taylor series of sine and cosine: the factors of x^(2k+1) and of x^2k. Up to pi/4, the first left-out terms are below
 * 1e-8 in single, and below 1e-17 in double precision. */
enum { TAYLOR = BITS == 32 ? 5 : 9 };
static const scalar SINE[] = {1, -1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800, 1. / 6227020800,
                              -1. / 1307674368000, 1. / 355687428096000};
static const scalar COSINE[] = {1, -1. / 2, 1. / 24, -1. / 720, 1. / 40320, -1. / 3628800, 1. / 479001600,
                                -1. / 87178291200, 1. / 20922789888000};

INLINE scalar series(const scalar *factor, scalar y) {
    scalar sum = factor[TAYLOR - 1];
#pragma GCC unroll 8
    for (int k = TAYLOR - 2; k >= 0; k--) sum = factor[k] + y * sum;
    return sum;
}

/* cos and sin of pi times an angle, for all lanes. The angle is taken to the nearest quarter turn in double precision,
 * which is exact; the rest is at most pi/4. */
static void lane_turn(const double *half_turns, scalar *restrict cosine, scalar *restrict sine) {
    for (int l = 0; l < LANES; l++) {
        double quarters = 2 * half_turns[l], nearest = __builtin_rint(quarters);
        double turn = nearest - 4 * __builtin_floor(nearest / 4);
        scalar x = (scalar)((quarters - nearest) * (PI / 2)), y = x * x;
        scalar s = x * series(SINE, y), c = series(COSINE, y);
        int odd = turn == 1 || turn == 3;
        scalar p = odd ? s : c, q = odd ? c : s;
        cosine[l] = turn == 1 || turn == 2 ? -p : p;
        sine[l] = turn >= 2 ? -q : q;
    }
}

static void lane_phase(const Engine *e, const Gate *gate, double eigenvalue, long group, cvec *out) {
    double half_turns[LANES] = {0};
    scalar cosine[LANES] __attribute__((aligned(64))), sine[LANES] __attribute__((aligned(64)));
    long first = group * LANES, present = e->batch - first < LANES ? e->batch - first : LANES;
    for (long l = 0; gate->angle >= 0 && l < present; l++)
        half_turns[l] = eigenvalue * e->example[(first + l) * e->plan.example_angles + gate->angle];
    lane_turn(half_turns, cosine, sine);
    *out = (cvec){*(const vec *)cosine, *(const vec *)sine};
}

static void lane_gate(const Engine *e, const Gate *gate, long group, cvec *out) {
    memset(out, 0, 16 * sizeof(cvec));
    for (int k = 0; k < gate->components; k++) {
        const double *c = gate->constants + 33 * k;
        cvec phase;
        lane_phase(e, gate, c[0], group, &phase);
        for (int i = 0; i < 16; i++) {
            scalar re = (scalar)c[1 + i], im = (scalar)c[17 + i];
            if (re != 0) {
                out[i].re += re * phase.re;
                out[i].im += re * phase.im;
            }
            if (im != 0) {
                out[i].re -= im * phase.im;
                out[i].im += im * phase.re;
            }
        }
    }
}

/* The unitaries of a group's blocks with heads. */
static void heads(Engine *e, Thread *t, long group) {
    for (int h = 0; h < e->plan.heads; h++) {
        const Head *head = &e->plan.head[h];
        cvec u[16], gate[16], next[16];
        lane_gate(e, &e->plan.gate[head->product.gates[0]], group, u);
        for (int g = 1; g < head->product.count; g++) {
            lane_gate(e, &e->plan.gate[head->product.gates[g]], group, gate);
            lane_multiply(gate, u, next);
            memcpy(u, next, sizeof u);
        }
        lane_constant(&e->unitary[head->kind], gate);
        lane_multiply(gate, u, next);
        scalar *to = (scalar *)e->head_unitary + (group * e->plan.heads + h) * 32 * LANES;
        for (int i = 0; i < 16; i++) {
            *(vec *)(to + i * LANES) = next[i].re;
            *(vec *)(to + (16 + i) * LANES) = next[i].im;
        }
    }
}

static vec lane_sum(const double *from) {
    scalar sums[LANES] __attribute__((aligned(64)));
    for (int l = 0; l < LANES; l++) sums[l] = (scalar)from[l];
    return *(const vec *)sums;
}

static void lane_anti_hermitian(const double *sums, cvec *n) {
    for (int a = 0; a < 4; a++) n[5 * a] = (cvec){(vec){0}, lane_sum(sums + a * LANES)};
    for (int x = 0; x < 6; x++) {
        vec re = (scalar)0.5 * lane_sum(sums + (4 + x) * LANES), im = (scalar)0.5 * lane_sum(sums + (10 + x) * LANES);
        n[LOW[x]] = (cvec){re, im};
        n[HIGH[x]] = (cvec){-re, im};
    }
}

static void lane_slope(Engine *e, const Gate *gate, const cvec *n, long group) {
    vec sum = {0};
    for (int k = 0; k < gate->components; k++) {
        const double *c = gate->constants + 33 * k;
        for (int i = 0; i < 16; i++) {
            scalar re = (scalar)(c[0] * c[1 + i]), im = (scalar)(c[0] * c[17 + i]);
            const cvec *transposed = &n[4 * (i % 4) + i / 4];
            if (re != 0) sum += re * transposed->im;
            if (im != 0) sum += im * transposed->re;
        }
    }
    for (int l = 0; l < LANES && group * LANES + l < e->batch; l++)
        e->example_gradient[(group * LANES + l) * e->plan.example_angles + gate->angle] += -2 * PI * (double)sum[l];
}

static void head_gradients(Engine *e, Thread *t, long group) {
    for (int h = 0; h < e->plan.heads; h++) {
        const Head *head = &e->plan.head[h];
        cvec n[16], matrix[16];
        lane_anti_hermitian(e->head_sums + (group * e->plan.heads + h) * 16 * LANES, n);
        lane_constant(&e->unitary[head->kind], matrix);
        lane_conjugate(matrix, n);
        for (int g = head->product.count - 1; g >= 0; g--) {
            const Gate *gate = &e->plan.gate[head->product.gates[g]];
            if (gate->angle >= 0) lane_slope(e, gate, n, group);
            if (!g) break;
            lane_gate(e, gate, group, matrix);
            lane_conjugate(matrix, n);
        }
    }
}

#endif
