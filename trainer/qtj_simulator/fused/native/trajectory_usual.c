/* Who follows the usual path of a row, and how far. */
#include "trajectory_usual.h"

#include <string.h>

enum {
    FEWEST_GROUPS = 8, /* the path takes as long as a group or two */
    MOST_STATES = 64,  /* more would save less than a hundredth of a trajectory */
    STRIDE = 16,       /* random numbers that are looked at together */
};

long states_to_store(const TrajectoryPlan *p, size_t bytes) {
    size_t all = (size_t)p->given->rows * ((size_t)2 * sizeof(Amplitude) << p->qubits), stored = bytes / all;
    if (p->given->upstream || p->channels == 0 || p->groups_per_row < FEWEST_GROUPS) return 0;
    if (stored > MOST_STATES) stored = MOST_STATES;
    return (long)(stored < (size_t)p->channels ? stored : (size_t)p->channels);
}

/* The first channel at which a trajectory takes another branch than the first; after all channels if there is none. */
static int32_t leaves_at(const float *uniforms, const float *likely, int32_t channels) {
    int32_t k = 0;
    for (int others = 0; k + STRIDE <= channels; k += STRIDE) {
        for (int i = 0; i < STRIDE; i++) others |= !(uniforms[k + i] < likely[k + i]);
        if (others) break;
    }
    while (k < channels && uniforms[k] < likely[k]) k++;
    return k;
}

/* Sorts by counting: `before` has how many leave before each channel. */
void sort_by_leaving(const TrajectoryPlan *p, long row) {
    const UsualPath *u = &p->usual;
    size_t channels = (size_t)p->channels, many = (size_t)p->given->trajectories, first = (size_t)row * many;
    const float *likely = u->likely + (size_t)row * channels;
    int32_t *before = u->before + (size_t)row * (channels + 2);
    memset(before, 0, (channels + 2) * sizeof *before);
    for (size_t t = first; t < first + many; t++) {
        u->leaves[t] = leaves_at(p->given->uniforms + t * channels, likely, p->channels);
        before[u->leaves[t] + 1]++;
    }
    for (size_t k = 0; k <= channels; k++) before[k + 1] += before[k];
    u->leaving[row] = before[channels];
    for (size_t t = 0; t < many; t++) u->order[first + (size_t)before[u->leaves[first + t]]++] = (int32_t)t;
}
