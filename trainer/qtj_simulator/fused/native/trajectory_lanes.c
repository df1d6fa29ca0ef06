/* One group of trajectories, from its first step to its values, and back for gradients. Compiled once for each
 * instruction set, as sweep.c is. */
#include "trajectory_channels.h"
#include "trajectory_usual.h"

#include <string.h>

/* ---- a block ---- */

static const Form *form_of_block(const Group *g, int block) {
    return &g->plan->forms[(size_t)g->row[0] * (size_t)g->plan->blocks + (size_t)block];
}

/* Lanes of different rows have matrices of their own. */
static void take_matrices(const Group *g, int block, const float columns[4], vec matrix[32]) {
    for (int i = 0; i < LANES; i++) {
        const Amplitude *m =
            g->plan->given->matrices + 32 * ((size_t)g->row[i] * (size_t)g->plan->blocks + (size_t)block);
        for (int k = 0; k < 32; k++) matrix[k][i] = columns[k % 4] * m[k];
    }
}

static void apply_block(const Group *g, const Step *s, const Place *p) {
    float columns[4];
    int scaled = take_waiting(g, s, columns);
    if (!g->same_row) {
        vec matrix[32];
        take_matrices(g, s->index, columns, matrix);
        apply_into(g->psi, g->psi, 0, g->vectors / 4, p, &(Coefficients){NULL, (const float *)matrix, 0});
    } else if (scaled) {
        Form form = *form_of_block(g, s->index);
        for (int k = 0; k < 32; k++) form.entries[k] *= columns[k % 4];
        apply_form(g->psi, g->vectors / 4, p, &form);
    } else apply_form(g->psi, g->vectors / 4, p, form_of_block(g, s->index));
}

static void take_back_block(const Group *g, int block, const Place *p, cvec *state) {
    if (g->same_row) {
        Form adjoint = adjoint_of(form_of_block(g, block));
        apply_form(state, g->vectors / 4, p, &adjoint);
        return;
    }
    vec matrix[32];
    take_matrices(g, block, (const float[]){1, 1, 1, 1}, matrix);
    apply_into(state, state, 0, g->vectors / 4, p, &(Coefficients){NULL, (const float *)matrix, 1});
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

/* The value of a term in each lane. */
static void find_values(const Group *g, int number, double to[LANES]) {
    const PauliTerm *t = &g->plan->term[number];
    for (int i = 0; i < LANES; i++) to[i] = 0;
    for (size_t at = 0; at < g->vectors; at += STRETCH) {
        size_t end = at + STRETCH < g->vectors ? at + STRETCH : g->vectors;
        vec sum = {0};
        for (size_t j = at; j < end; j++) {
            cvec p = turned(t, j, g->psi[j]), other = g->psi[j ^ (size_t)t->flips];
            sum += other.re * p.re + other.im * p.im;
        }
        for (int i = 0; i < LANES; i++) to[i] += (double)sum[i];
    }
    for (int i = 0; i < LANES; i++) to[i] /= (double)g->norm[i];
}

static float *value_at(const Group *g, int lane, int number) {
    return &g->plan->given->values[cell(g, lane) * (size_t)g->plan->terms + (size_t)number];
}

static void write_values(const Group *g) {
    for (int number = 0; g->plan->given->values && number < g->plan->terms; number++) {
        double values[LANES];
        find_values(g, number, values);
        for (int i = 0; i < LANES; i++)
            if (g->slot[i] >= 0)
                *value_at(g, i, number) = (float)values[i];
    }
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

static void start(const Group *g) {
    memset(g->psi, 0, g->vectors * sizeof(cvec));
    g->psi[0].re += 1;
}

static int forward(const Group *g, int from, int keeps) {
    int saved = 0;
    for (int i = from; i < g->plan->steps; i++) {
        const Step *s = &g->plan->step[i];
        Place p = place_in_state(g->plan, s->first, s->second);
        if (s->code == STEP_BLOCK) {
            apply_block(g, s, &p);
            continue;
        }
        const Channel *c = &g->plan->channel[s->index];
        if (keeps && !c->is_mixture) {
            settle_all(g);
            memcpy(saved_state(g, saved++), g->psi, g->vectors * sizeof(cvec));
        }
        choose(g, s->index, c, &p);
        apply_channel(g, s, &p);
    }
    settle_all(g);
    return saved;
}

static void back_through_channel(const Group *g, const Step *s, const Place *p, int *saved) {
    take_back_channel(g, s, p, g->lambda);
    if (g->plan->channel[s->index].is_mixture) take_back_channel(g, s, p, g->psi);
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
        take_back_block(g, s->index, &p, g->psi);
        block_sums(g, &p, sums);
        add_block_gradient(g, number, s->index, sums);
        take_back_block(g, s->index, &p, g->lambda);
    }
}

/* ---- the usual path ---- */

static Amplitude *stored_state(const Group *g, int channel) {
    const UsualPath *u = &g->plan->usual;
    return u->states + 2 * g->vectors * (size_t)(g->row[0] * u->stored + channel / u->apart);
}

static void store_state(const Group *g, int channel) {
    Amplitude *to = stored_state(g, channel);
    settle_all(g);
    for (size_t j = 0; j < g->vectors; j++) to[2 * j] = g->psi[j].re[0], to[2 * j + 1] = g->psi[j].im[0];
}

/* Returns the channel before which the state is that of the path. */
static int take_stored_state(const Group *g) {
    const UsualPath *u = &g->plan->usual;
    int leaves = u->leaves[cell(g, 0)], channel = leaves - leaves % u->apart;
    const Amplitude *from = stored_state(g, channel);
    for (size_t j = 0; j < g->vectors; j++) g->psi[j] = (cvec){from[2 * j] - (vec){0}, from[2 * j + 1] - (vec){0}};
    return channel;
}

/* Returns whether it is possible: not if the first branch of a channel never happens. */
static int walk_along(const Group *g, float *likely) {
    start(g);
    memset(likely, 0, (size_t)g->plan->channels * sizeof *likely);
    for (int i = 0; i < g->plan->steps; i++) {
        const Step *s = &g->plan->step[i];
        Place p = place_in_state(g->plan, s->first, s->second);
        if (s->code == STEP_BLOCK) {
            apply_block(g, s, &p);
            continue;
        }
        if (s->index % g->plan->usual.apart == 0) store_state(g, s->index);
        likely[s->index] = choose_first(g, s->index, &g->plan->channel[s->index], &p);
        if (!(likely[s->index] > 0)) return 0;
        apply_channel(g, s, &p);
    }
    settle_all(g);
    return 1;
}

static void follow(const TrajectoryPlan *p, TrajectoryScratch *s, long row) {
    const UsualPath *u = &p->usual;
    long many = p->given->trajectories;
    Waiting waiting[MOST_TRAJECTORY_QUBITS];
    Group g = group_on(p, s, waiting);
    for (int i = 0; i < LANES; i++) g.row[i] = row;
    int has_end = walk_along(&g, u->likely + row * p->channels);
    sort_by_leaving(p, row);
    if (!has_end) return;
    g.norm = norm_of(&g);
    for (int number = 0; number < p->terms; number++) {
        double values[LANES];
        find_values(&g, number, values);
        for (long i = u->leaving[row]; i < many; i++) {
            g.trajectory[0] = u->order[row * many + i];
            *value_at(&g, 0, number) = (float)values[0];
        }
    }
}

static void run(const TrajectoryPlan *p, TrajectoryScratch *s, long number) {
    Waiting waiting[MOST_TRAJECTORY_QUBITS];
    Group g = group_on(p, s, waiting);
    take_lanes(&g, number);
    if (g.slot[0] < 0) return;
    int first = p->usual.stored ? take_stored_state(&g) : 0;
    if (!p->usual.stored) start(&g);
    take_uniforms(&g, (size_t)first);
    int saved = forward(&g, p->usual.stored ? p->usual.step[first] : 0, p->partial != NULL);
    g.norm = norm_of(&g);
    write_values(&g);
    if (!p->partial) return;
    seed(&g);
    backward(&g, number, saved);
}

#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

const TrajectoryVariant JOIN(trajectories_, VARIANT) = {TEXT(VARIANT), LANES, follow, run};
