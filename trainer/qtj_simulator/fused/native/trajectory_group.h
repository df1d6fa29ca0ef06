/* A group of trajectories, one in each lane of a vector. Included by trajectory_lanes.c. */
#ifndef QTJ_TRAJECTORY_GROUP_H
#define QTJ_TRAJECTORY_GROUP_H

#include "trajectory_kernels.h"

/* A real diagonal matrix that a qubit's amplitudes are still to be multiplied by. */
typedef struct {
    float zero, one;
} Waiting;

/* A group at work. */
typedef struct {
    const TrajectoryPlan *plan;
    TrajectoryScratch *scratch;
    size_t vectors;
    cvec *psi, *lambda;
    long row[LANES], trajectory[LANES]; /* of each lane; an idle lane does what lane 0 does, and nobody reads it */
    int slot[LANES];                    /* which of the group's rows it is; -1: it is idle */
    int same_row;
    Waiting *waiting; /* [qubits] */
    vec norm;         /* of the state after all steps, squared */
} Group;

static Group group_on(const TrajectoryPlan *p, TrajectoryScratch *s, Waiting waiting[MOST_TRAJECTORY_QUBITS]) {
    for (int i = 0; i < MOST_TRAJECTORY_QUBITS; i++) waiting[i] = (Waiting){1, 1};
    size_t vectors = (size_t)1 << p->qubits;
    return (Group){p, s, vectors, s->psi, s->lambda, .same_row = p->rows_per_group == 1, .waiting = waiting};
}

/* Trajectories that share a path are in the order in which they leave it. */
static void take_lanes(Group *to, long number) {
    const TrajectoryPlan *p = to->plan;
    const Trajectories *g = p->given;
    for (int i = 0; i < LANES; i++) {
        long row = to->same_row ? number / p->groups_per_row : number * p->rows_per_group + i / g->trajectories;
        long place = to->same_row ? number % p->groups_per_row * LANES + i : i % g->trajectories;
        int slot = to->same_row ? 0 : (int)(i / g->trajectories);
        int works = row < g->rows && slot < p->rows_per_group &&
                    place < (p->usual.stored ? p->usual.leaving[row] : g->trajectories);
        if (works && p->usual.stored) place = p->usual.order[row * g->trajectories + place];
        to->row[i] = works ? row : to->row[0];
        to->trajectory[i] = works ? place : to->trajectory[0];
        to->slot[i] = works ? slot : -1;
    }
}

static size_t cell(const Group *g, int lane) {
    return (size_t)g->row[lane] * (size_t)g->plan->given->trajectories + (size_t)g->trajectory[lane];
}

/* Copies the random numbers of the group from a channel on, so that those of one channel are side by side. As long as a
 * trajectory follows the usual path, 0 has it take the first branch. */
static void take_uniforms(const Group *g, size_t first) {
    size_t channels = (size_t)g->plan->channels;
    for (int i = 0; i < LANES; i++) {
        const float *from = g->plan->given->uniforms + cell(g, i) * channels;
        size_t leaves = g->plan->usual.stored ? (size_t)g->plan->usual.leaves[cell(g, i)] : 0;
        for (size_t k = first; k < channels; k++)
            g->scratch->uniforms[k * LANES + (size_t)i] = k < leaves ? 0 : from[k];
    }
}

#endif
