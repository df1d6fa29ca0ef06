/* Heads: the beginnings of blocks that depend on data. algebra.c for LANES examples at a time. */
#ifndef QTJ_HEADS_H
#define QTJ_HEADS_H

#include "lanes.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

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
    for (int i = 0; i < 16; i++) to[i] = (cvec){(vec){0} + (float)from->re[i], (vec){0} + (float)from->im[i]};
}

static void lane_gate(const Engine *e, const Gate *gate, long group, cvec *out) {
    memset(out, 0, 16 * sizeof(cvec));
    for (int k = 0; k < gate->components; k++) {
        const double *c = gate->constants + 33 * k;
        vec re = {0}, im = {0};
        for (int l = 0; l < LANES; l++) {
            long b = group * LANES + l;
            double angle = gate->angle < 0 || b >= e->batch ? 0 : e->example[b * e->plan.example_angles + gate->angle];
            re[l] = (float)cos(PI * c[0] * angle);
            im[l] = (float)sin(PI * c[0] * angle);
        }
        for (int i = 0; i < 16; i++) {
            float pr = (float)c[1 + i], pi = (float)c[17 + i];
            if (pr == 0 && pi == 0) continue;
            out[i].re += pr * re - pi * im;
            out[i].im += pr * im + pi * re;
        }
    }
}

/* The unitaries of a group's blocks with heads. */
static void heads(Engine *e, long group) {
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
        float *to = e->head_unitary + (group * e->plan.heads + h) * 32 * LANES;
        for (int i = 0; i < 16; i++) {
            *(vec *)(to + i * LANES) = next[i].re;
            *(vec *)(to + (16 + i) * LANES) = next[i].im;
        }
    }
}

static vec lane_sum(const double *from) {
    vec v = {0};
    for (int l = 0; l < LANES; l++) v[l] = (float)from[l];
    return v;
}

static void lane_anti_hermitian(const double *sums, cvec *n) {
    static const int HIGH[6] = {1, 2, 3, 6, 7, 11}, LOW[6] = {4, 8, 12, 9, 13, 14};
    for (int a = 0; a < 4; a++) n[5 * a] = (cvec){(vec){0}, lane_sum(sums + a * LANES)};
    for (int x = 0; x < 6; x++) {
        vec re = 0.5f * lane_sum(sums + (4 + x) * LANES), im = 0.5f * lane_sum(sums + (10 + x) * LANES);
        n[LOW[x]] = (cvec){re, im};
        n[HIGH[x]] = (cvec){-re, im};
    }
}

static void lane_slope(Engine *e, const Gate *gate, const cvec *n, long group) {
    vec sum = {0};
    for (int k = 0; k < gate->components; k++) {
        const double *c = gate->constants + 33 * k;
        for (int i = 0; i < 16; i++) {
            float re = (float)(c[0] * c[1 + i]), im = (float)(c[0] * c[17 + i]);
            const cvec *transposed = &n[4 * (i % 4) + i / 4];
            if (re != 0) sum += re * transposed->im;
            if (im != 0) sum += im * transposed->re;
        }
    }
    for (int l = 0; l < LANES && group * LANES + l < e->batch; l++)
        e->example_gradient[(group * LANES + l) * e->plan.example_angles + gate->angle] += -2 * PI * (double)sum[l];
}

static void head_gradients(Engine *e, long group) {
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
