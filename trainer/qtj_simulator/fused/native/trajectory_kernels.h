/* What trajectories need beside kernels.h: blocks by their forms, matrices on one qubit, density matrices, and the choice
 * of a branch. */
#ifndef QTJ_TRAJECTORY_KERNELS_H
#define QTJ_TRAJECTORY_KERNELS_H

#include "trajectories.h"

#include "forms.h"
#include "kernels.h"

/* Groups of vectors whose sums single precision can hold. */
enum { STRETCH = 512 };

static Place place_in_state(const TrajectoryPlan *p, int first, int second) {
    int low = second < 0 || first < second ? first : second;
    return (Place){.inside = p->inside,
                   .lanes = NONE_IN_LANES,
                   .first = (size_t)1 << first,
                   .second = second < 0 ? 0 : (size_t)1 << second,
                   .apart = (size_t)1 << first,
                   .low = low,
                   .high = second < 0 ? first : first + second - low,
                   .run = low};
}

/* One of the two real matrices of a turned U, for the parts of vectors that it is for. */
INLINE void turned_groups(cvec *s, size_t groups, const Place *p, const Form *f, int number, int pattern) {
    const size_t at[4] = {0, p->second, p->first, p->first + p->second};
    vec *part[4], m[16];
    for (int i = 0; i < 4; i++) part[i] = &s[at[i]].re + (f->part[i] ^ number);
    for (int i = 0; i < 16; i++) m[i] = f->entries[16 * number + i] - (vec){0};
    FOR_GROUPS(x0, 0, groups, p) {
        vec x[4], y[4];
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) x[j] = part[j][2 * x0];
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                if (!couples(pattern, i, j)) continue;
                y[i] = j > first_coupled(pattern, i) ? y[i] + m[4 * i + j] * x[j] : m[4 * i + j] * x[j];
            }
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) part[i][2 * x0] = y[i];
    }
}

static void apply_turned(cvec *s, size_t groups, const Place *p, const Form *f) {
    for (int number = 0; number < 2; number++)
        if (f->pattern == FIRST_KEPT) turned_groups(s, groups, p, f, number, FIRST_KEPT);
        else if (f->pattern == SECOND_KEPT) turned_groups(s, groups, p, f, number, SECOND_KEPT);
        else if (f->pattern == EVEN) turned_groups(s, groups, p, f, number, EVEN);
        else turned_groups(s, groups, p, f, number, FULL);
}

/* s = U s, the same U in all lanes. */
static void apply_form(cvec *s, size_t groups, const Place *p, const Form *f) {
    Coefficients c = {f->entries, NULL, 0, 0};
    if (f->is_turned) apply_turned(s, groups, p, f);
    else if (f->pattern == DIAGONAL) apply_groups(s, s, 0, groups, p, &c, DIAGONAL, 0, 0);
    else if (f->pattern == FIRST_KEPT) apply_groups(s, s, 0, groups, p, &c, FIRST_KEPT, 0, 0);
    else if (f->pattern == SECOND_KEPT) apply_groups(s, s, 0, groups, p, &c, SECOND_KEPT, 0, 0);
    else if (f->pattern == EVEN) apply_groups(s, s, 0, groups, p, &c, EVEN, 0, 0);
    else apply_groups(s, s, 0, groups, p, &c, FULL, 0, 0);
}

INLINE vec entry(const Amplitude *m, int part, int row, int column, int adjoint) {
    vec v = *(const vec *)(m + (16 * part + (adjoint ? 2 * column + row : 2 * row + column)) * LANES);
    return part && adjoint ? -v : v;
}

/* s = K s, one real K for each lane. */
static void apply_real_to_one(cvec *s, size_t vectors, const Place *p, const Amplitude *m, int adjoint) {
    vec re[4];
    for (int i = 0; i < 4; i++) re[i] = entry(m, 0, i / 2, i % 2, adjoint);
    FOR_RUNS(pair_start, x0, 0, vectors / 2, p) {
        cvec a = s[x0], b = s[x0 + p->apart];
        s[x0] = (cvec){re[0] * a.re + re[1] * b.re, re[0] * a.im + re[1] * b.im};
        s[x0 + p->apart] = (cvec){re[2] * a.re + re[3] * b.re, re[2] * a.im + re[3] * b.im};
    }
}

/* s = K s, one K for each lane. */
static void apply_to_one(cvec *s, size_t vectors, const Place *p, const Amplitude *m, int adjoint) {
    vec re[4], im[4];
    for (int i = 0; i < 4; i++) {
        re[i] = entry(m, 0, i / 2, i % 2, adjoint);
        im[i] = entry(m, 1, i / 2, i % 2, adjoint);
    }
    FOR_RUNS(pair_start, x0, 0, vectors / 2, p) {
        cvec a = s[x0], b = s[x0 + p->apart];
        s[x0].re = re[0] * a.re - im[0] * a.im + re[1] * b.re - im[1] * b.im;
        s[x0].im = re[0] * a.im + im[0] * a.re + re[1] * b.im + im[1] * b.re;
        s[x0 + p->apart].re = re[2] * a.re - im[2] * a.im + re[3] * b.re - im[3] * b.im;
        s[x0 + p->apart].im = re[2] * a.im + im[2] * a.re + re[3] * b.im + im[3] * b.re;
    }
}

/* rho_00, rho_11, and the real and imaginary part of rho_01. */
static void density_of_one(const cvec *s, size_t vectors, const Place *p, double to[4 * LANES]) {
    for (size_t at = 0; at < vectors / 2; at += STRETCH) {
        size_t end = at + STRETCH < vectors / 2 ? at + STRETCH : vectors / 2;
        vec w[4] = {{0}};
        FOR_RUNS(pair_start, x0, at, end, p) {
            cvec a = s[x0], b = s[x0 + p->apart];
            w[0] += a.re * a.re + a.im * a.im;
            w[1] += b.re * b.re + b.im * b.im;
            w[2] += a.re * b.re + a.im * b.im;
            w[3] += a.im * b.re - a.re * b.im;
        }
        for (int i = 0; i < 4 * LANES; i++) to[i] += (double)((const float *)w)[i];
    }
}

/* s = K s, K = diag(zero, one), the same in all lanes. */
static void scale_one(cvec *s, size_t vectors, const Place *p, float zero, float one) {
    if (zero != 1) FOR_RUNS(pair_start, x0, 0, vectors / 2, p) s[x0].re *= zero, s[x0].im *= zero;
    if (one != 1)
        FOR_RUNS(pair_start, x0, 0, vectors / 2, p) s[x0 + p->apart].re *= one, s[x0 + p->apart].im *= one;
}

static void density_of_two(const cvec *s, size_t vectors, const Place *p, double to[16 * LANES]) {
    for (size_t at = 0; at < vectors / 4; at += STRETCH) {
        vec w[16] = {{0}};
        density_groups(s, at, at + STRETCH < vectors / 4 ? at + STRETCH : vectors / 4, p, w, 0);
        for (int i = 0; i < 16 * LANES; i++) to[i] += (double)((const float *)w)[i];
    }
}

/* tr(E rho) of one lane, E Hermitian. */
static double expectation_of_two(const double *effect, const double *sums, int lane) {
    double total = 0;
    for (int a = 0; a < 4; a++) {
        total += effect[5 * a] * sums[a * LANES + lane];
        for (int b = a + 1; b < 4; b++) {
            int pair = sum_of(a, b);
            double re = sums[pair * LANES + lane], im = sums[(pair + 6) * LANES + lane];
            total += 2 * (effect[4 * a + b] * re + effect[16 + 4 * a + b] * im);
        }
    }
    return total;
}

static double expectation_of_one(const double *effect, const double *sums, int lane) {
    return effect[0] * sums[lane] + effect[3] * sums[LANES + lane] +
           2 * (effect[1] * sums[2 * LANES + lane] + effect[17] * sums[3 * LANES + lane]);
}

/* The branch that a number between 0 and 1 names; never one of probability 0. */
static int pick(double (*likely)[LANES], int count, int lane, double uniform) {
    double total = 0, sum = 0;
    for (int k = 0; k < count; k++) total += likely[k][lane];
    int last = 0;
    for (int k = 0; k < count; k++) {
        if (!(likely[k][lane] > 0)) continue;
        last = k;
        sum += likely[k][lane];
        if (uniform * total < sum) break;
    }
    return last;
}

#endif
