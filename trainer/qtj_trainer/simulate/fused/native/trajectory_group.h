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

/* Copies the random numbers of the group, so that those of one channel are side by side. */
static void take_uniforms(const Group *g) {
    size_t channels = (size_t)g->plan->channels;
    for (int i = 0; i < LANES; i++) {
        const float *from = g->plan->given->uniforms + cell(g, i) * channels;
        for (size_t k = 0; k < channels; k++) g->scratch->uniforms[k * LANES + (size_t)i] = from[k];
    }
}

#endif
