/* Channels of a group of trajectories: which branch each lane takes, and what it does. Included by trajectory_lanes.c. */
#ifndef QTJ_TRAJECTORY_CHANNELS_H
#define QTJ_TRAJECTORY_CHANNELS_H

#include "trajectory_group.h"

#include <math.h>

static const double SMALL = 0.25;

/* ---- scales that wait ---- */

/* A real diagonal branch that all lanes took waits for the next block on its qubit, and joins its matrix. */
static void delay(const Group *g, int qubit, const Amplitude *m) {
    g->waiting[qubit].zero *= m[0];
    g->waiting[qubit].one *= m[3];
}

/* Or it is done now. */
static void settle(const Group *g, int qubit) {
    if (qubit < 0) return;
    Place p = place_in_state(g->plan, qubit, -1);
    scale_one(g->psi, g->vectors, &p, g->waiting[qubit].zero, g->waiting[qubit].one);
    g->waiting[qubit] = (Waiting){1, 1};
}

static void settle_all(const Group *g) {
    for (int qubit = 0; qubit < g->plan->qubits; qubit++) settle(g, qubit);
}

/* What the columns of a block's matrix are multiplied by. Returns whether that changes it. */
static int take_waiting(const Group *g, const Step *s, float columns[4]) {
    Waiting *first = &g->waiting[s->first], *second = &g->waiting[s->second];
    for (int j = 0; j < 4; j++)
        columns[j] = (j & 2 ? first->one : first->zero) * (j & 1 ? second->one : second->zero);
    *first = *second = (Waiting){1, 1};
    return columns[0] != 1 || columns[1] != 1 || columns[2] != 1 || columns[3] != 1;
}

/* ---- a channel ---- */

/* How likely each branch of a mixture is, in any state. */
static void likelihoods_of_mixture(const Group *g, const Channel *c, double (*to)[LANES]) {
    for (int k = 0; k < c->count; k++)
        for (int i = 0; i < LANES; i++) to[k][i] = (double)g->plan->given->branches[BRANCH_NUMBERS * (c->first + k)];
}

/* How likely each branch of another channel is. */
static void likelihoods_in_state(const Group *g, const Channel *c, const Place *p, double (*to)[LANES]) {
    double sums[16 * LANES] = {0};
    if (c->qubits == 1) density_of_one(g->psi, g->vectors, p, sums);
    else density_of_two(g->psi, g->vectors, p, sums);
    for (int k = 0; k < c->count; k++) {
        const double *effect = g->plan->effects + 32 * (c->first + k);
        for (int i = 0; i < LANES; i++)
            to[k][i] = c->qubits == 1 ? expectation_of_one(effect, sums, i) : expectation_of_two(effect, sums, i);
    }
}

/* How likely each branch is in each lane. */
static void find_likelihoods(const Group *g, const Channel *c, const Place *p, double (*to)[LANES]) {
    if (c->is_mixture) likelihoods_of_mixture(g, c, to);
    else {
        settle_all(g);
        likelihoods_in_state(g, c, p, to);
    }
}

/* Whether all lanes take the first branch, whatever their state. They need no density matrix then, and their states
 * keep the norm that they have: it is divided by at the end, or at the next choice that looks at the state. */
static int all_take_first(const float *uniforms, float least) {
    int others = 0;
    for (int i = 0; i < LANES; i++) others |= !(uniforms[i] < least);
    return !others;
}

/* For a state whose norm is this, squared, after the chosen branch: only a small one becomes a unit vector at once. So lanes
 * that looked at their states, and all took the first branch, may let it wait. */
static float scale_for(double norm) { return norm > SMALL ? 1 : (float)(1 / sqrt(norm)); }

static void choose(const Group *g, int number, const Channel *c, const Place *p) {
    unsigned char *chosen = g->scratch->chosen + number * LANES;
    float *scale = g->scratch->scale + number * LANES, least = (float)g->plan->least[number];
    const float *uniforms = g->scratch->uniforms + number * LANES;
    for (int i = 0; i < LANES; i++) chosen[i] = 0, scale[i] = 1;
    if (all_take_first(uniforms, least)) return;
    double likely[256][LANES];
    find_likelihoods(g, c, p, likely);
    for (int i = 0; i < LANES; i++) {
        int k = uniforms[i] < least ? 0 : pick(likely, c->count, i, (double)uniforms[i]);
        chosen[i] = (unsigned char)k;
        if (!c->is_mixture) scale[i] = scale_for(likely[k][i]);
    }
}

/* Takes the first branch in all lanes, which are alike. Returns how likely it is. */
static float choose_first(const Group *g, int number, const Channel *c, const Place *p) {
    double likely[256][LANES], total = 0;
    find_likelihoods(g, c, p, likely);
    for (int k = 0; k < c->count; k++) total += likely[k][0];
    for (int i = 0; i < LANES; i++) {
        g->scratch->chosen[number * LANES + i] = 0;
        g->scratch->scale[number * LANES + i] = c->is_mixture ? 1 : (float)(1 / sqrt(likely[0][i]));
    }
    return likely[0][0] > 0 ? (float)(likely[0][0] / total) : 0;
}

/* The branch that all lanes took without a change of their norm; -1: they did not. */
static int common_branch(const Group *g, int number, const Channel *c) {
    const unsigned char *chosen = g->scratch->chosen + number * LANES;
    for (int i = 0; i < LANES; i++)
        if (chosen[i] != chosen[0] || g->scratch->scale[number * LANES + i] != 1) return -1;
    return c->first + chosen[0];
}

static void apply_lanes(const Group *g, int number, const Channel *c, const Place *p, cvec *state, int adjoint) {
    vec matrix[32];
    const unsigned char *chosen = g->scratch->chosen + number * LANES;
    const float *scale = g->scratch->scale + number * LANES;
    int is_real = g->plan->real[number], used = 4 * c->qubits * c->qubits; /* of 16 real parts, and 16 imaginary ones */
    for (int i = 0; i < LANES; i++) {
        const Amplitude *m = g->plan->given->branches + BRANCH_NUMBERS * (c->first + chosen[i]) + 1;
        for (int k = 0; k < used; k++) matrix[k][i] = scale[i] * m[k];
        for (int k = 16; k < 16 + used; k++) matrix[k][i] = scale[i] * m[k];
    }
    const float *lanes = (const float *)matrix;
    if (c->qubits == 2) apply_into(state, state, 0, g->vectors / 4, p, &(Coefficients){NULL, lanes, adjoint});
    else if (is_real) apply_real_to_one(state, g->vectors, p, lanes, adjoint);
    else apply_to_one(state, g->vectors, p, lanes, adjoint);
}

static void apply_channel(const Group *g, const Step *s, const Place *p) {
    const Channel *c = &g->plan->channel[s->index];
    int common = common_branch(g, s->index, c);
    if (common >= 0 && g->plan->idle[common]) return;
    if (common >= 0 && g->plan->scales[common]) {
        delay(g, s->first, g->plan->given->branches + BRANCH_NUMBERS * common + 1);
        return;
    }
    settle(g, s->first);
    settle(g, s->second);
    apply_lanes(g, s->index, c, p, g->psi, 0);
}

static void take_back_channel(const Group *g, const Step *s, const Place *p, cvec *state) {
    const Channel *c = &g->plan->channel[s->index];
    int common = common_branch(g, s->index, c);
    const Amplitude *m = g->plan->given->branches + BRANCH_NUMBERS * common + 1;
    if (common >= 0 && g->plan->idle[common]) return;
    if (common >= 0 && g->plan->scales[common]) scale_one(state, g->vectors, p, m[0], m[3]);
    else apply_lanes(g, s->index, c, p, state, 1);
}

#endif
