/* What a call needs is compared with what is free before anything is written. */
#include "room.h"
#include "budget.h"
#include "memory.h"

#include <stdio.h>

/* Bytes that a call would take now. */
typedef size_t Missing(Engine *, long batch);

static int qubits_of(const Engine *e) {
    int in_lanes = e->plan.qubits_in_lanes ? __builtin_ctz((unsigned)e->variant->lanes) : 0;
    return e->plan.vector_bits + in_lanes;
}

/* The most examples that would fit, halved so often; 0: not even one. */
static long fitting_batch(Engine *e, long batch, Missing *missing) {
    while (batch && !has_room(missing(e, batch))) batch /= 2;
    return batch;
}

/* One qubit less halves all states, also those that are taken already. */
static int fitting_qubits(int qubits, size_t missing) {
    size_t held = workspace.scratch_bytes + workspace.lambda_bytes, all = missing + held;
    while (qubits > 1 && !has_room((all /= 2) > held ? all - held : 0)) qubits--;
    return qubits - 1;
}

static const char *refuse(Engine *e, long batch, Missing *missing) {
    char what[64], remedy[64];
    int qubits = qubits_of(e);
    long fitting = fitting_batch(e, batch, missing);
    size_t needed = missing(e, batch);
    snprintf(what, sizeof what, "%s of %d qubits%s", missing == missing_batch ? "the value" : "the gradient", qubits,
             e->variant->scalar_bytes == sizeof(double) ? " in double precision" : "");
    if (fitting) snprintf(remedy, sizeof remedy, "%ld of the %ld examples would fit", fitting, batch);
    else snprintf(remedy, sizeof remedy, "%d qubits would fit", fitting_qubits(qubits, needed));
    return refusal(what, needed, remedy);
}

const char *take_room(Engine *e, long batch, Purpose purpose) {
    Missing *missing = purpose == FOR_GRADIENTS ? missing_gradient : missing_batch;
    if (!has_room(missing(e, batch))) return refuse(e, batch, missing);
    const char *problem = reserve_batch(e, batch);
    return problem || purpose == FOR_VALUES ? problem : reserve_lambda(e);
}

static size_t missing_after_values(Engine *e, long batch) {
    (void)batch;
    return missing_lambda(e);
}

const char *take_room_for_gradients(Engine *e) {
    if (!has_room(missing_lambda(e))) return refuse(e, e->batch, missing_after_values);
    return reserve_lambda(e);
}
