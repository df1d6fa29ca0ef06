/* What the branches of channels are like, found once for a call. */
#include "trajectory_branches.h"

#include <string.h>

static void find_effect(const Amplitude *m, int width, double *to) {
    for (int i = 0; i < width * width; i++)
        for (int k = 0; k < width; k++) {
            int a = width * k + i / width, b = width * k + i % width;
            double ar = (double)m[a], ai = (double)m[16 + a], br = (double)m[b], bi = (double)m[16 + b];
            to[i] += ar * br + ai * bi;
            to[16 + i] += ar * bi - ai * br;
        }
}

static int is_identity(const Amplitude *m, int width) {
    for (int i = 0; i < width * width; i++)
        if (m[i] != (i / width == i % width) || m[16 + i] != 0) return 0;
    return 1;
}

static int is_diagonal(const Amplitude *m) { return m[1] == 0 && m[2] == 0 && m[17] == 0 && m[18] == 0; }

/* The least of <K^dag K> over all states, where that is easy to see; else 0, which is right too. */
static double least_likelihood(const double *effect, int width) {
    double least = 1;
    for (int i = 0; i < width * width; i++) {
        if (i / width != i % width && (effect[i] != 0 || effect[16 + i] != 0)) return 0;
        if (i / width == i % width && effect[i] < least) least = effect[i];
    }
    return least;
}

static int is_real(const Amplitude *m) {
    for (int i = 0; i < 16; i++)
        if (m[16 + i] != 0) return 0;
    return 1;
}

void look_at_branches(TrajectoryPlan *p) {
    for (int c = 0; c < p->channels; c++) {
        p->real[c] = 1;
        for (int k = 0; k < p->channel[c].count; k++) {
            int branch = p->channel[c].first + k, width = 2 * p->channel[c].qubits;
            const Amplitude *m = p->given->branches + BRANCH_NUMBERS * branch + 1;
            memset(p->effects + 32 * branch, 0, 32 * sizeof(double));
            find_effect(m, width, p->effects + 32 * branch);
            p->idle[branch] = (unsigned char)is_identity(m, width);
            p->scales[branch] = (unsigned char)(width == 2 && is_real(m) && is_diagonal(m));
            p->real[c] &= (unsigned char)is_real(m);
        }
        const Channel *of = &p->channel[c];
        p->least[c] = of->is_mixture ? (double)p->given->branches[BRANCH_NUMBERS * of->first]
                                     : least_likelihood(p->effects + 32 * of->first, 2 * of->qubits);
    }
}
