/* What a call works with, and how its work is divided. */
#ifndef QTJ_WORK_H
#define QTJ_WORK_H

#include "plan.h"
#include "qtj.h"

/* Row-major, basis |first qubit, second qubit>. */
typedef struct {
    double re[16], im[16];
} Matrix;

/* The sums of one thread. They are in double precision, each lane for itself: [what][16][lanes]. */
typedef struct {
    double *kinds, *heads, *pairs, *strings;
    double *angles; /* [shared angles]: gradients */
} Thread;

typedef struct engine Engine;

/* One of many pieces of work that do not depend on each other. */
typedef void Piece(Engine *, Thread *, long number);

/* States that one call at a time works on, for all engines of the process: nothing in them outlives a call. */
typedef struct {
    void *scratch; /* the states of a unit, for each worker */
    void *lambda;  /* one state for each worker */
    size_t scratch_bytes, lambda_bytes;
    Engine *engines; /* those that there are */
} Workspace;

/* What one instruction set can do in one precision. A unit is a group of LANES examples, or one example with qubits in
 * the lanes. States, and what else sweeps read, are of the variant's scalars. */
typedef struct {
    const char *name;
    int lanes;
    size_t scalar_bytes;
    Piece *store_unitary;                              /* of a kind */
    Piece *weigh_observables, *heads, *head_gradients; /* of a group */
    void (*reset)(const Engine *, void *psi);
    void (*forward)(const Engine *, Thread *, long unit, int pass, long from, long to, void *psi);
    void (*backward)(const Engine *, Thread *, long unit, int pass, long from, long to, void *psi, void *lambda);
    void (*string_values)(const Engine *, Thread *, long from, long to, const void *psi);
    void (*string_seeds)(const Engine *, long unit, long from, long to, const void *psi, void *lambda);
    double (*multiply_add)(long rounds);
} Variant;

struct engine {
    Plan plan;
    const Variant *variant;
    int threads;
    long tiles;
    size_t state_bytes, bytes;
    size_t keep_bytes;      /* of states that may wait for their gradient */
    int borrows;            /* ... which the budget lends: `asked` are the most that were asked for */
    size_t asked;
    Thread *thread;

    void *base;              /* the state after the constant beginning; NULL: there is none. Engines that are alike share it */
    void *kept;              /* states of units 0..kept_units that wait for their gradient */
    long kept_units, groups;
    int is_fresh;            /* `kept` and `densities` are of the inputs and weights below */

    Matrix *gate_matrix;     /* [gates]; those of heads are made for each example */
    Matrix *unitary;         /* [kinds] */
    Matrix *pulled;          /* [terms] U^dag O U */
    void *coefficients;      /* [kinds][U, U^dag][real, imaginary][16] */

    long batch;
    double *inputs;           /* [batch][inputs] */
    double *weights;          /* [weights] */
    double *shared;           /* [shared angles] */
    double *example;          /* [batch][example angles] */
    const double *upstream;   /* [batch][readouts] */
    double *values;           /* [batch][readouts] */
    double *states;           /* [batch][2^qubits][2], if the call asks for states; NULL: it does not */
    double *shared_gradient;  /* [shared angles] */
    double *example_gradient; /* [batch][example angles] */
    void *head_unitary;       /* [groups][heads][real, imaginary][16][lanes] */
    void *observable;         /* [groups][pairs][real, imaginary][16][lanes]: sum of `pulled`, weighted by upstream */
    double *head_sums;        /* [groups][heads][16][lanes] */
    double *densities;        /* [groups][pairs][16][lanes] */
    double *string_sums;      /* [groups][strings][lanes] */
    int shifted;              /* the angle that is moved by `shift` half turns, if that is not 0 */
    double shift;
    Engine *next;
};

/* ---- how work is divided ---- */

static inline size_t groups_of(const Engine *e, long batch) {
    return ((size_t)batch + (size_t)e->variant->lanes - 1) / (size_t)e->variant->lanes;
}

static inline long units_of(const Engine *e, long batch) {
    return e->plan.qubits_in_lanes ? batch : (long)groups_of(e, batch);
}

static inline size_t group_count(const Engine *e) { return groups_of(e, e->batch); }

static inline long unit_count(const Engine *e) { return units_of(e, e->batch); }

/* A unit's state before the first layer with a buffer, and one after each. */
static inline size_t unit_states(const Engine *e) { return 1 + (size_t)e->plan.buffers; }

/* A state is divided over the threads where it has tiles enough for all of them, or where the batch has not; otherwise
 * the batch is. */
static inline int divides_state(const Engine *e) {
    return e->tiles >= 2L * e->threads || (e->tiles > 1 && unit_count(e) < e->threads);
}

#endif
