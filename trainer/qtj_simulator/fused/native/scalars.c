/* What sweeps read of a call, in the precision of the states. Compiled once for each precision, see scalars.h. */
#include "scalars.h"

#include <string.h>

/* The unitary of a kind and its adjoint. */
void JOIN(store_unitary_, BITS)(Engine *e, Thread *t, long kind) {
    (void)t;
    const Matrix *u = &e->unitary[kind];
    scalar *to = (scalar *)e->coefficients + 64 * kind, *adjoint = to + 32;
    for (int i = 0; i < 16; i++) {
        int transposed = 4 * (i % 4) + i / 4;
        to[i] = (scalar)u->re[i];
        to[16 + i] = (scalar)u->im[i];
        adjoint[i] = (scalar)u->re[transposed];
        adjoint[16 + i] = (scalar)-u->im[transposed];
    }
}

/* The observable whose expectation value the loss sees: for each example and pair, sum_k (dL/d<O_k>) U^dag O_k U. */
void JOIN(weigh_observables_, BITS)(Engine *e, Thread *t, long group) {
    (void)t;
    const Plan *plan = &e->plan;
    int lanes = e->variant->lanes;
    long first = group * lanes, present = e->batch - first < lanes ? e->batch - first : lanes;
    scalar *all = (scalar *)e->observable + group * plan->pairs * 32 * lanes;
    memset(all, 0, sizeof(scalar) * (size_t)plan->pairs * 32 * (size_t)lanes);
    for (int k = 0; k < plan->terms; k++) {
        scalar *to = all + plan->term[k].pair * 32 * lanes, weight[64] = {0};
        for (long l = 0; l < present; l++)
            weight[l] = (scalar)e->upstream[(first + l) * plan->readouts + plan->term[k].readout];
        for (int i = 0; i < 32; i++) {
            scalar part = (scalar)(i < 16 ? e->pulled[k].re[i] : e->pulled[k].im[i - 16]);
            for (int l = 0; l < lanes; l++) to[i * lanes + l] += part * weight[l];
        }
    }
}
