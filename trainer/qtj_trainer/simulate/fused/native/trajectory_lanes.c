/* One group of trajectories, from its first step to its values, and back for gradients. Compiled once for each
 * instruction set, as sweep.c is. */
#include "trajectory_kernels.h"

#include <math.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

/* A group at work. */
typedef struct {
    const TrajectoryPlan *plan;
    TrajectoryScratch *scratch;
    size_t vectors;
    cvec *psi, *lambda;
    long row[LANES], trajectory[LANES]; /* of each lane; an idle lane does what lane 0 does, and nobody reads it */
    int slot[LANES];                    /* which of the group's rows it is; -1: it is idle */
    int same_row;
    vec norm; /* of the state after all steps, squared */
} Group;

static Group group_of(const TrajectoryPlan *p, TrajectoryScratch *s, long number) {
    const Trajectories *g = p->given;
    Group group = {p, s, (size_t)1 << p->qubits, s->psi, s->lambda, .same_row = p->rows_per_group == 1};
    for (int i = 0; i < LANES; i++) {
        long row = group.same_row ? number / p->groups_per_row : number * p->rows_per_group + i / g->trajectories;
        long trajectory =
            group.same_row ? number % p->groups_per_row * LANES + i : i % g->trajectories;
        int slot = group.same_row ? 0 : (int)(i / g->trajectories);
        int works = row < g->rows && trajectory < g->trajectories && slot < p->rows_per_group;
        group.row[i] = works ? row : group.row[0];
        group.trajectory[i] = works ? trajectory : group.trajectory[0];
        group.slot[i] = works ? slot : -1;
    }
    return group;
}

static size_t cell(const Group *g, int lane) {
    return (size_t)g->row[lane] * (size_t)g->plan->given->trajectories + (size_t)g->trajectory[lane];
}

/* ---- a channel ---- */

/* How likely each branch is, in each lane. The numbers of a mixture do not depend on the state. */
static void likelihoods(const Group *g, const Channel *c, const Place *p, double (*to)[LANES]) {
    double sums[16 * LANES] = {0};
    if (!c->is_mixture && c->qubits == 1) density_of_one(g->psi, g->vectors, p, sums);
    else if (!c->is_mixture) density_of_two(g->psi, g->vectors, p, sums);
    for (int k = 0; k < c->count; k++) {
        const double *effect = g->plan->effects + 32 * (c->first + k);
        float probability = g->plan->given->branches[BRANCH_NUMBERS * (c->first + k)];
        for (int i = 0; i < LANES; i++)
            to[k][i] = c->is_mixture ? (double)probability
                       : c->qubits == 1 ? expectation_of_one(effect, sums, i)
                                        : expectation_of_two(effect, sums, i);
    }
}

static double uniform_of(const Group *g, int number, int lane) {
    return (double)g->plan->given->uniforms[cell(g, lane) * (size_t)g->plan->channels + (size_t)number];
}

/* Whether all lanes take the first branch, whatever their state. They need no density matrix then, and their states
 * keep the norm that they have: it is divided by at the end, or at the next choice that looks at the state. */
static int all_take_first(const Group *g, int number) {
    for (int i = 0; i < LANES; i++)
        if (!(uniform_of(g, number, i) < g->plan->least[number])) return 0;
    return 1;
}

static void choose(const Group *g, int number, const Channel *c, const Place *p) {
    unsigned char *chosen = g->scratch->chosen + number * LANES;
    float *scale = g->scratch->scale + number * LANES;
    int first = all_take_first(g, number);
    double likely[256][LANES];
    if (!first) likelihoods(g, c, p, likely);
    for (int i = 0; i < LANES; i++) {
        int k = first ? 0 : pick(likely, c->count, i, uniform_of(g, number, i));
        chosen[i] = (unsigned char)k;
        scale[i] = first || c->is_mixture ? 1 : (float)(1 / sqrt(likely[k][i]));
    }
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
    int used = 4 * c->qubits * c->qubits; /* of 16 real parts, and of as many imaginary ones */
    for (int k = 0; k < 32; k++)
        for (int i = 0; i < LANES && k % 16 < used; i++)
            matrix[k][i] = scale[i] * g->plan->given->branches[BRANCH_NUMBERS * (c->first + chosen[i]) + 1 + k];
    const float *lanes = (const float *)matrix;
    if (c->qubits == 1) apply_to_one(state, g->vectors, p, lanes, adjoint);
    else apply_into(state, state, 0, g->vectors / 4, p, &(Coefficients){NULL, lanes, adjoint});
}

static void apply_channel(const Group *g, int number, const Channel *c, const Place *p, cvec *state, int adjoint) {
    int common = common_branch(g, number, c);
    if (common >= 0 && g->plan->idle[common]) return;
    if (common >= 0 && g->plan->scales[common])
        scale_one(state, g->vectors, p, g->plan->given->branches + BRANCH_NUMBERS * common + 1);
    else apply_lanes(g, number, c, p, state, adjoint);
}

/* ---- a block ---- */

static const Amplitude *matrix_of(const Group *g, int block, int lane) {
    return g->plan->given->matrices + 32 * ((size_t)g->row[lane] * (size_t)g->plan->blocks + (size_t)block);
}

static int keeps_parity(const Amplitude *m) {
    for (int i = 0; i < 16; i++)
        if (!couples(1, i / 4, i % 4) && (m[i] != 0 || m[16 + i] != 0)) return 0;
    return 1;
}

static void apply_same(const Group *g, const Amplitude *m, const Place *p, cvec *state, int adjoint) {
    Amplitude other[32];
    for (int i = 0; adjoint && i < 16; i++) {
        other[i] = m[4 * (i % 4) + i / 4];
        other[16 + i] = -m[16 + 4 * (i % 4) + i / 4];
    }
    apply_into(state, state, 0, g->vectors / 4, p, &(Coefficients){adjoint ? other : m, NULL, 0, keeps_parity(m)});
}

static void apply_block(const Group *g, int block, const Place *p, cvec *state, int adjoint) {
    if (g->same_row) {
        apply_same(g, matrix_of(g, block, 0), p, state, adjoint);
        return;
    }
    vec matrix[32];
    for (int k = 0; k < 32; k++)
        for (int i = 0; i < LANES; i++) matrix[k][i] = matrix_of(g, block, i)[k];
    apply_into(state, state, 0, g->vectors / 4, p, &(Coefficients){NULL, (const float *)matrix, adjoint});
}

/* M_ab = sum of conj(lambda_a) psi_b, psi before the block and lambda after it. */
static void block_sums(const Group *g, const Place *p, double to[32 * LANES]) {
    for (size_t at = 0; at < g->vectors / 4; at += STRETCH) {
        size_t end = at + STRETCH < g->vectors / 4 ? at + STRETCH : g->vectors / 4;
        vec w[32] = {{0}};
        FOR_GROUPS(x0, at, end, p) {
            cvec x[4], l[4];
            load(x, g->psi + x0, p, 0);
            load(l, g->lambda + x0, p, 0);
#pragma GCC unroll 16
            for (int i = 0; i < 16; i++) {
                cvec a = l[i / 4], b = x[i % 4];
                w[i] += a.re * b.re + a.im * b.im;
                w[16 + i] += a.re * b.im - a.im * b.re;
            }
        }
        for (int i = 0; i < 32 * LANES; i++) to[i] += (double)((const float *)w)[i];
    }
}

/* With L = 2 Re sum_ab M_ab U_ab: the gradient is 2 Re M by the real part of U, and -2 Im M by the imaginary one. */
static void add_block_gradient(const Group *g, long number, int block, const double *sums) {
    const TrajectoryPlan *p = g->plan;
    float *rows = p->partial + (size_t)number * (size_t)p->rows_per_group * (size_t)p->blocks * 32;
    for (int i = 0; i < LANES; i++) {
        if (g->slot[i] < 0) continue;
        float *to = rows + ((size_t)g->slot[i] * (size_t)p->blocks + (size_t)block) * 32;
        for (int k = 0; k < 16; k++) {
            to[k] += (float)(2 * sums[k * LANES + i]);
            to[16 + k] -= (float)(2 * sums[(16 + k) * LANES + i]);
        }
    }
}

/* ---- readouts ---- */

/* i^phase (-1)^popcount(j & signs) z */
INLINE cvec turned(const PauliTerm *t, size_t j, cvec z) {
    int quarter = (t->phase + 2 * __builtin_popcountl(j & (size_t)t->signs)) & 3;
    if (quarter == 0) return z;
    if (quarter == 1) return (cvec){-z.im, z.re};
    if (quarter == 2) return (cvec){-z.re, -z.im};
    return (cvec){z.im, -z.re};
}

static void term_values(const Group *g, int number) {
    const PauliTerm *t = &g->plan->term[number];
    double total[LANES] = {0};
    for (size_t at = 0; at < g->vectors; at += STRETCH) {
        size_t end = at + STRETCH < g->vectors ? at + STRETCH : g->vectors;
        vec sum = {0};
        for (size_t j = at; j < end; j++) {
            cvec p = turned(t, j, g->psi[j]), other = g->psi[j ^ (size_t)t->flips];
            sum += other.re * p.re + other.im * p.im;
        }
        for (int i = 0; i < LANES; i++) total[i] += (double)sum[i];
    }
    for (int i = 0; i < LANES; i++)
        if (g->slot[i] >= 0)
            g->plan->given->values[cell(g, i) * (size_t)g->plan->terms + (size_t)number] =
                (float)(total[i] / (double)g->norm[i]);
}

/* 1 where all channels are mixtures: only other channels change it. */
static vec norm_of(const Group *g) {
    if (!g->plan->saved) return (vec){0} + 1;
    double total[LANES] = {0};
    for (size_t at = 0; at < g->vectors; at += STRETCH) {
        vec sum = {0};
        for (size_t j = at; j < at + STRETCH && j < g->vectors; j++)
            sum += g->psi[j].re * g->psi[j].re + g->psi[j].im * g->psi[j].im;
        for (int i = 0; i < LANES; i++) total[i] += (double)sum[i];
    }
    vec norm = {0};
    for (int i = 0; i < LANES; i++) norm[i] = (float)total[i];
    return norm;
}

/* lambda = sum of upstream P psi, for values that are divided by the norm */
static void seed(const Group *g) {
    memset(g->lambda, 0, g->vectors * sizeof(cvec));
    for (int number = 0; number < g->plan->terms; number++) {
        const PauliTerm *t = &g->plan->term[number];
        vec weight = {0};
        for (int i = 0; i < LANES; i++)
            if (g->slot[i] >= 0)
                weight[i] = g->plan->given->upstream[cell(g, i) * (size_t)g->plan->terms + (size_t)number] / g->norm[i];
        for (size_t j = 0; j < g->vectors; j++) {
            cvec p = turned(t, j, g->psi[j]), *to = &g->lambda[j ^ (size_t)t->flips];
            to->re += weight * p.re;
            to->im += weight * p.im;
        }
    }
}

/* ---- a group ---- */

static cvec *saved_state(const Group *g, int number) { return (cvec *)g->scratch->saved + (size_t)number * g->vectors; }

static int forward(const Group *g, int keeps) {
    memset(g->psi, 0, g->vectors * sizeof(cvec));
    g->psi[0].re += 1;
    int saved = 0;
    for (int i = 0; i < g->plan->steps; i++) {
        const Step *s = &g->plan->step[i];
        Place p = place_in_state(g->plan, s->first, s->second);
        if (s->code == STEP_BLOCK) {
            apply_block(g, s->index, &p, g->psi, 0);
            continue;
        }
        const Channel *c = &g->plan->channel[s->index];
        if (keeps && !c->is_mixture) memcpy(saved_state(g, saved++), g->psi, g->vectors * sizeof(cvec));
        choose(g, s->index, c, &p);
        apply_channel(g, s->index, c, &p, g->psi, 0);
    }
    return saved;
}

static void back_through_channel(const Group *g, const Step *s, const Place *p, int *saved) {
    const Channel *c = &g->plan->channel[s->index];
    apply_channel(g, s->index, c, p, g->lambda, 1);
    if (c->is_mixture) apply_channel(g, s->index, c, p, g->psi, 1);
    else memcpy(g->psi, saved_state(g, --*saved), g->vectors * sizeof(cvec));
}

static void backward(const Group *g, long number, int saved) {
    for (int i = g->plan->steps - 1; i >= 0; i--) {
        const Step *s = &g->plan->step[i];
        Place p = place_in_state(g->plan, s->first, s->second);
        if (s->code == STEP_CHANNEL) {
            back_through_channel(g, s, &p, &saved);
            continue;
        }
        double sums[32 * LANES] = {0};
        apply_block(g, s->index, &p, g->psi, 1);
        block_sums(g, &p, sums);
        add_block_gradient(g, number, s->index, sums);
        apply_block(g, s->index, &p, g->lambda, 1);
    }
}

static void run(const TrajectoryPlan *p, TrajectoryScratch *s, long number) {
    Group g = group_of(p, s, number);
    int saved = forward(&g, p->partial != NULL);
    g.norm = norm_of(&g);
    for (int i = 0; p->given->values && i < p->terms; i++) term_values(&g, i);
    if (!p->partial) return;
    seed(&g);
    backward(&g, number, saved);
}

const TrajectoryVariant JOIN(trajectories_, VARIANT) = {TEXT(VARIANT), LANES, run};
