/* What a call does: walks over the units of a batch, forward and back, and what comes before and after. Work is divided
 * by position, and sums are added in the order of threads. */
#include "walk.h"
#include "algebra.h"
#include "angles.h"
#include "memory.h"
#include "pieces.h"
#include "pool.h"
#include "qtj.h"
#include "room.h"

#include <stdlib.h>
#include <string.h>

/* ---- one unit: forward, and back ---- */

/* One pass over the state of a unit, or one look at the strings. */
typedef struct {
    const Engine *engine;
    Thread *team;
    long unit;
    int pass;
    void *psi, *lambda;
} Step;

static long share(long count, int index, int of) { return (long)((double)count * index / of); }

static void forward_pass(void *argument, int index, int of) {
    const Step *s = argument;
    long tiles = s->engine->tiles;
    s->engine->variant->forward(s->engine, &s->team[index], s->unit, s->pass, share(tiles, index, of),
                                share(tiles, index + 1, of), s->psi);
}

static void backward_pass(void *argument, int index, int of) {
    const Step *s = argument;
    long tiles = s->engine->tiles;
    s->engine->variant->backward(s->engine, &s->team[index], s->unit, s->pass, share(tiles, index, of),
                                 share(tiles, index + 1, of), s->psi, s->lambda);
}

static void string_values(void *argument, int index, int of) {
    const Step *s = argument;
    long vectors = 1L << s->engine->plan.vector_bits;
    s->engine->variant->string_values(s->engine, &s->team[index], share(vectors, index, of),
                                      share(vectors, index + 1, of), s->psi);
}

static void string_seeds(void *argument, int index, int of) {
    const Step *s = argument;
    long vectors = 1L << s->engine->plan.vector_bits;
    s->engine->variant->string_seeds(s->engine, s->unit, share(vectors, index, of), share(vectors, index + 1, of),
                                     s->psi, s->lambda);
}

static int is_kept(const Engine *e, long unit) { return unit < e->kept_units; }

static void *psi_of(const Engine *e, long unit, int worker) {
    return is_kept(e, unit) ? (char *)e->kept + (size_t)unit * unit_bytes(e)
                            : (char *)workspace.scratch + (size_t)worker * unit_bytes(e);
}

/* Where a unit's state is after the last layer with a buffer. */
static void *last_of(const Engine *e, void *psi) { return (char *)psi + (size_t)e->plan.buffers * e->state_bytes; }

static double number_at(const Engine *e, const void *state, long place) {
    return e->variant->scalar_bytes == sizeof(float) ? ((const float *)state)[place] : ((const double *)state)[place];
}

static void clear_unit(const Engine *e, Thread *t) {
    int lanes = e->variant->lanes;
    memset(t->heads, 0, DOUBLES(e->plan.heads * 16 * lanes));
    memset(t->pairs, 0, DOUBLES(e->plan.pairs * 16 * lanes));
    memset(t->strings, 0, DOUBLES(e->plan.strings * lanes));
}

/* Adds one thread's sums of a unit, [count][lanes], to those of its examples. Where qubits are in the lanes, the
 * example's sum is over all lanes, and goes to the example's own lane. */
static void keep_sums(const Engine *e, long unit, const double *sums, double *to, int count) {
    int lanes = e->variant->lanes;
    if (!e->plan.qubits_in_lanes) {
        to += unit * count * lanes;
        for (int i = 0; i < count * lanes; i++) to[i] += sums[i];
        return;
    }
    to += unit / lanes * count * lanes + unit % lanes;
    for (int i = 0; i < count; i++)
        for (int l = 0; l < lanes; l++) to[i * lanes] += sums[i * lanes + l];
}

/* A change of a head's tail changes all examples, so what the head sums up counts for the kind too. */
static void keep_heads(const Engine *e, long unit, const Thread *t) {
    int size = 16 * e->variant->lanes;
    keep_sums(e, unit, t->heads, e->head_sums, e->plan.heads * 16);
    for (int h = 0; h < e->plan.heads; h++)
        for (int i = 0; i < size; i++) t->kinds[e->plan.head[h].kind * size + i] += t->heads[h * size + i];
}

static void clear_state(void *argument, int index, int of) {
    const Step *s = argument;
    long vectors = 1L << s->engine->plan.vector_bits, from = share(vectors, index, of);
    size_t size = s->engine->state_bytes / (size_t)vectors;
    memset((char *)s->psi + (size_t)from * size, 0, (size_t)(share(vectors, index + 1, of) - from) * size);
}

/* The first pass, over |0...0>: only the first tile has an amplitude that is not 0, and all others stay 0. */
static void start(Step *s, int threads) {
    pool_run(threads, clear_state, s);
    s->engine->variant->reset(s->engine, s->psi);
    s->engine->variant->forward(s->engine, s->team, s->unit, s->pass++, 0, 1, s->psi);
}

static void forward_unit(const Engine *e, Thread *team, int threads, long unit, void *psi) {
    Step step = {e, team, unit, e->base ? e->plan.prefix_passes : 0, psi, NULL};
    if (!e->base) start(&step, threads);
    for (; step.pass < e->plan.passes; step.pass++)
        pool_run(threads, forward_pass, &step);
}

/* The vectors of a state, as numbers; see qtj_final_states. */
static void copy_vectors(void *argument, int index, int of) {
    const Step *s = argument;
    const Engine *e = s->engine;
    long lanes = e->variant->lanes, vectors = 1L << e->plan.vector_bits, end = share(vectors, index + 1, of);
    long step = e->plan.qubits_in_lanes ? 1 : vectors; /* between two lanes */
    long first = e->plan.qubits_in_lanes ? s->unit * vectors * lanes : s->unit * lanes * vectors;
    long used = e->plan.qubits_in_lanes || e->batch - s->unit * lanes > lanes ? lanes : e->batch - s->unit * lanes;
    for (long v = share(vectors, index, of); v < end; v++) {
        double *to = e->states + 2 * (first + v * (e->plan.qubits_in_lanes ? lanes : 1));
        for (long l = 0; l < used; l++, to += 2 * step)
            for (long part = 0; part < 2; part++) to[part] = number_at(e, s->psi, (2 * v + part) * lanes + l);
    }
}

static void value_unit(const Engine *e, Thread *team, int threads, long unit, int worker) {
    void *psi = psi_of(e, unit, worker);
    for (int i = 0; i < threads; i++) clear_unit(e, &team[i]);
    forward_unit(e, team, threads, unit, psi);
    Step last = {e, team, unit, 0, last_of(e, psi), NULL};
    if (e->plan.strings) pool_run(threads, string_values, &last);
    if (e->states) pool_run(threads, copy_vectors, &last);
    for (int i = 0; i < threads; i++) {
        keep_sums(e, unit, team[i].pairs, e->densities, e->plan.pairs * 16);
        keep_sums(e, unit, team[i].strings, e->string_sums, e->plan.strings);
    }
}

static void gradient_unit(const Engine *e, Thread *team, int threads, long unit, int worker) {
    void *psi = psi_of(e, unit, worker), *lambda = (char *)workspace.lambda + (size_t)worker * e->state_bytes;
    if (!is_kept(e, unit)) forward_unit(e, team, threads, unit, psi);
    for (int i = 0; i < threads; i++) clear_unit(e, &team[i]);
    Step step = {e, team, unit, 0, last_of(e, psi), lambda};
    if (e->plan.strings) pool_run(threads, string_seeds, &step);
    for (step.pass = e->plan.passes - 1; step.pass >= e->plan.prefix_passes; step.pass--)
        pool_run(threads, backward_pass, &step);
    for (int i = 0; i < threads; i++) keep_heads(e, unit, &team[i]);
}

/* ---- all units ---- */

typedef struct {
    const Engine *engine;
    void (*visit)(const Engine *, Thread *team, int threads, long unit, int worker);
} Walk;

static void walk_share(void *argument, int index, int of) {
    const Walk *w = argument;
    const Engine *e = w->engine;
    long units = unit_count(e);
    for (long unit = share(units, index, of); unit < share(units, index + 1, of); unit++)
        w->visit(e, &e->thread[index], 1, unit, index);
}

static void walk(Walk w) {
    const Engine *e = w.engine;
    long units = unit_count(e);
    if (!divides_state(e)) pool_run(team_for(e, units), walk_share, &w);
    else
        for (long unit = 0; unit < units; unit++) w.visit(e, e->thread, e->threads, unit, 0);
}

static void do_groups(Engine *e, Piece *piece) { do_all(e, piece, (long)group_count(e), 1); }

static void prepare(Engine *e) {
    do_all(e, prepare_gate, e->plan.gates, 16);
    do_all(e, prepare_kind, e->plan.kinds, 2);
    do_all(e, pull_term, e->plan.terms, 8);
}

int is_known(const Engine *e, long batch, const double *inputs, const double *weights) {
    return e->is_fresh && e->batch == batch && !memcmp(e->weights, weights, DOUBLES(e->plan.weights)) &&
           !memcmp(e->inputs, inputs, DOUBLES(batch * e->plan.inputs));
}

static void take_symbols(Engine *e, const double *inputs, const double *weights) {
    memcpy(e->weights, weights, DOUBLES(e->plan.weights));
    memcpy(e->inputs, inputs, DOUBLES(e->batch * e->plan.inputs));
    find_angles(e);
}

const char *walk_forward(Engine *e, long batch, const double *inputs, const double *weights, Purpose purpose) {
    e->is_fresh = 0;
    const char *problem = take_room(e, batch, purpose);
    if (problem) return problem;
    size_t cells = group_count(e) * (size_t)e->variant->lanes;
    take_symbols(e, inputs, weights);
    prepare(e);
    memset(e->densities, 0, DOUBLES(cells * (size_t)e->plan.pairs * 16));
    memset(e->string_sums, 0, DOUBLES(cells * (size_t)e->plan.strings));
    if (e->plan.heads) do_groups(e, e->variant->heads);
    walk((Walk){e, value_unit});
    e->is_fresh = 1;
    return NULL;
}

static void clear_sums(Engine *e) {
    size_t lanes = (size_t)e->variant->lanes;
    memset(e->shared_gradient, 0, DOUBLES(e->plan.shared_angles));
    memset(e->example_gradient, 0, DOUBLES(e->batch * e->plan.example_angles));
    memset(e->head_sums, 0, DOUBLES(group_count(e) * lanes * (size_t)e->plan.heads * 16));
    for (int i = 0; i < e->threads; i++) {
        memset(e->thread[i].kinds, 0, DOUBLES((size_t)e->plan.kinds * 16 * lanes));
        memset(e->thread[i].angles, 0, DOUBLES(e->plan.shared_angles));
    }
}

void walk_backward(Engine *e) {
    e->is_fresh = 0; /* the backward walk overwrites the kept states */
    clear_sums(e);
    do_groups(e, e->variant->weigh_observables);
    walk((Walk){e, gradient_unit});
    do_all(e, term_sums, e->plan.terms, 2);
    do_all(e, kind_gradient, e->plan.kinds, 1);
    if (e->plan.heads) do_groups(e, e->variant->head_gradients);
    for (int i = 0; i < e->threads; i++)
        for (int a = 0; a < e->plan.shared_angles; a++) e->shared_gradient[a] += e->thread[i].angles[a];
}

const char *make_base(Engine *e) {
    if (!e->plan.prefix_passes || (e->base = known_base(e))) return NULL;
    if (!has_room(e->state_bytes + missing_gradient(e, 1))) return NULL;
    void *base = allocate_states(e, 1);
    if (!base) return QTJ_NO_MEMORY;
    prepare(e); /* no angle is known yet, and the beginning has none */
    int threads = divides_state(e) ? e->threads : 1;
    Step step = {e, e->thread, 0, 0, base, NULL};
    start(&step, threads);
    for (; step.pass < e->plan.prefix_passes; step.pass++) pool_run(threads, forward_pass, &step);
    e->base = base;
    return NULL;
}
