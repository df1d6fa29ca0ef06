/* Second derivatives: how the gradient of sum(upstream * values) changes in a direction.
 *
 * The direction moves each angle t_a at a rate d_a, so the change is sum_a d_a dg/dt_a, with g the gradient. As a function
 * of one angle, values and gradients are trigonometric polynomials. A gate with eigenvalues exp(i pi lambda t) brings in
 * the frequencies pi (lambda_j - lambda_k); those of several gates with the angle add up. If all are multiples of
 * pi `step`, and the largest is pi `step` K, then, exactly,
 *
 *     dg/dt = pi step sum_m (-1)^m / (4 K sin^2(u_m / 2)) g(t + u_m / (pi step)),   u_m = (2 m + 1) pi / (2 K),  m < 2 K
 *
 * (general parameter-shift rule: Wierichs, Izaac, Wang, Lin, Quantum 6, 677 (2022)). With one gate of two eigenvalues
 * this is the rule of two terms. An angle with d_a = 0 costs nothing. */
#include "curvature.h"
#include "algebra.h"
#include "angles.h"
#include "pieces.h"
#include "qtj.h"
#include "walk.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_TERMS = 1 << 12 };
static const double SAME = 1e-9; /* of eigenvalues */

static const char TOO_MANY_TERMS[] =
    "a second derivative takes more than 4096 gradients: the eigenvalues of a gate have no common step";
static const char NOT_FINITE[] = "a gate has an eigenvalue that is no finite number";

/* ---- the frequencies of an angle ---- */

typedef struct {
    double step, span; /* in units of pi; 0: no gate has the angle */
} Frequencies;

/* The greatest number of which both are multiples. */
static double common_step(double a, double b) {
    while (b > SAME) {
        double rest = fabs(a - rint(a / b) * b);
        a = b;
        b = rest;
    }
    return a;
}

static void add_gate(Frequencies *f, const Gate *gate) {
    double span = 0;
    for (int k = 1; k < gate->components; k++)
        for (int j = 0; j < k; j++) {
            double apart = fabs(gate->constants[33 * k] - gate->constants[33 * j]);
            f->step = common_step(f->step, apart);
            if (!isfinite(apart)) span = NAN; /* which fmax would leave out */
            else if (!isnan(span)) span = fmax(span, apart);
        }
    f->span += span;
}

static void add_product(Frequencies *of_angles, const Plan *p, const Product *product) {
    for (int g = 0; g < product->count; g++) {
        const Gate *gate = &p->gate[product->gates[g]];
        if (gate->angle >= 0) add_gate(&of_angles[gate->angle], gate);
    }
}

/* Of the angles that all examples share, then of those of each example. */
static void find_frequencies(const Plan *p, Frequencies *f) {
    for (const Block *b = p->block; b < p->block + p->blocks; b++) {
        add_product(f, p, &p->kind[b->kind]);
        if (b->head >= 0) add_product(f + p->shared_angles, p, &p->head[b->head].product);
    }
    for (const Pair *pair = p->pair; pair < p->pair + p->pairs; pair++)
        if (pair->kind >= 0) add_product(f, p, &p->kind[pair->kind]);
}

/* ---- the sum over angles ---- */

typedef struct {
    Engine *engine;
    long batch;
    const Symbols *at;
    const double *upstream;
    const Slopes *out;
    Frequencies *frequencies;
    double *rates;    /* [batch]: of an angle, for each example */
    double *weighted; /* [batch][readouts]: upstream times the rate */
    double *values;
    Slopes part;
} Sum;

static void add_scaled(double *to, const double *from, double factor, long count) {
    for (long i = 0; i < count; i++) to[i] += factor * from[i];
}

static const char *add_term(Sum *s, double coefficient) {
    Engine *e = s->engine;
    const Plan *p = &e->plan;
    const char *problem = walk_forward(e, s->batch, s->at->inputs, s->at->weights, FOR_GRADIENTS);
    if (problem) return problem;
    e->values = s->values;
    do_all(e, example_values, s->batch, 32);
    e->upstream = s->weighted;
    walk_backward(e);
    find_slopes(e, s->part.inputs, s->part.weights);
    add_scaled(s->out->inputs, s->part.inputs, coefficient, s->batch * p->inputs);
    add_scaled(s->out->weights, s->part.weights, coefficient, p->weights);
    for (long b = 0; b < s->batch; b++)
        add_scaled(s->out->upstream + b * p->readouts, s->values + b * p->readouts, coefficient * s->rates[b],
                   p->readouts);
    return NULL;
}

static const char *add_angle(Sum *s, int angle) {
    Engine *e = s->engine;
    const Frequencies *f = &s->frequencies[angle];
    if (!isfinite(f->span)) return NOT_FINITE;
    if (f->step <= 0) return NULL;
    double count = rint(f->span / f->step);
    if (2 * count > MOST_TERMS) return TOO_MANY_TERMS;
    const char *problem = NULL;
    for (int m = 0; m < 2 * (int)count && !problem; m++) {
        double turn = (2 * m + 1) * PI / (2 * count), sine = sin(turn / 2);
        e->shifted = angle;
        e->shift = turn / (PI * f->step);
        problem = add_term(s, (m % 2 ? -1 : 1) * PI * f->step / (4 * count * sine * sine));
    }
    e->shift = 0;
    return problem;
}

/* Whether the angle moves at all. */
static int weigh_rates(Sum *s) {
    int readouts = s->engine->plan.readouts, moves = 0;
    for (long b = 0; b < s->batch; b++) {
        moves |= s->rates[b] != 0;
        for (int k = 0; k < readouts; k++)
            s->weighted[b * readouts + k] = s->rates[b] * s->upstream[b * readouts + k];
    }
    return moves;
}

static const char *add_angles(Sum *s, const Symbols *along) {
    const Plan *p = &s->engine->plan;
    const char *problem = NULL;
    find_frequencies(p, s->frequencies);
    for (int a = 0; a < p->shared_angles + p->example_angles && !problem; a++) {
        find_rates(p, a, s->batch, along, s->rates);
        if (weigh_rates(s)) problem = add_angle(s, a);
    }
    return problem;
}

const char *engine_curvature(Engine *e, long batch, const Symbols *at, const double *upstream, const Symbols *along,
                             const Slopes *out) {
    const Plan *p = &e->plan;
    size_t angles = (size_t)p->shared_angles + (size_t)p->example_angles, examples = (size_t)batch;
    size_t inputs = examples * (size_t)p->inputs, weights = (size_t)p->weights, values = examples * (size_t)p->readouts;
    double *room = calloc(2 * angles + examples + 2 * values + inputs + weights + 1, sizeof *room);
    if (!room) return QTJ_NO_MEMORY;
    Sum s = {.engine = e, .batch = batch, .at = at, .upstream = upstream, .out = out};
    s.frequencies = (Frequencies *)room;
    s.rates = room + 2 * angles;
    s.weighted = s.rates + examples;
    s.values = s.weighted + values;
    s.part.inputs = s.values + values;
    s.part.weights = s.part.inputs + inputs;
    const char *problem = add_angles(&s, along);
    free(room);
    return problem;
}
