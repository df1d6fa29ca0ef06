/* Angles are linear functions of symbols: the weights, which all examples share, and the inputs of each example. */
#include "angles.h"
#include "pieces.h"

#include <string.h>

/* `start`, and what the symbols add to it. Inputs may be NULL where the angle has none. */
static double sum_of_symbols(const Plan *p, const Angle *angle, double start, const double *weights, const double *inputs) {
    double sum = start;
    for (int i = 0; i < angle->count; i++) {
        int symbol = angle->slopes[2 * i];
        sum += p->constants[angle->slopes[2 * i + 1]] *
               (symbol < p->weights ? weights[symbol] : inputs[symbol - p->weights]);
    }
    return sum;
}

static double angle_at(const Engine *e, const Angle *angle, const double *inputs) {
    return sum_of_symbols(&e->plan, angle, angle->constant, e->weights, inputs);
}

static void angles_of_example(Engine *e, Thread *t, long number) {
    (void)t;
    const Plan *p = &e->plan;
    for (int a = 0; a < p->example_angles; a++)
        e->example[number * p->example_angles + a] =
            angle_at(e, &p->angle[p->shared_angles + a], e->inputs + number * p->inputs);
}

static void shift_angle(Engine *e) {
    const Plan *p = &e->plan;
    if (e->shifted < p->shared_angles) e->shared[e->shifted] += e->shift;
    else
        for (long b = 0; b < e->batch; b++)
            e->example[b * p->example_angles + e->shifted - p->shared_angles] += e->shift;
}

void find_angles(Engine *e) {
    const Plan *p = &e->plan;
    for (int a = 0; a < p->shared_angles; a++) e->shared[a] = angle_at(e, &p->angle[a], NULL);
    if (p->example_angles) do_all(e, angles_of_example, e->batch, 256);
    if (e->shift != 0) shift_angle(e);
}

void find_rates(const Plan *p, int angle, long batch, const Symbols *along, double *rates) {
    for (long b = 0; b < batch; b++)
        rates[b] = sum_of_symbols(p, &p->angle[angle], 0, along->weights, along->inputs + b * p->inputs);
}

static void add_slopes(const Plan *p, const Angle *angle, double gradient, double *by_weights, double *by_inputs) {
    for (int i = 0; i < angle->count; i++) {
        int symbol = angle->slopes[2 * i];
        double *slope = symbol < p->weights ? by_weights + symbol : by_inputs + symbol - p->weights;
        *slope += p->constants[angle->slopes[2 * i + 1]] * gradient;
    }
}

void find_slopes(const Engine *e, double *by_inputs, double *by_weights) {
    const Plan *p = &e->plan;
    memset(by_weights, 0, DOUBLES(p->weights));
    memset(by_inputs, 0, DOUBLES(e->batch * p->inputs));
    for (int a = 0; a < p->shared_angles; a++)
        add_slopes(p, &p->angle[a], e->shared_gradient[a], by_weights, NULL);
    for (long b = 0; b < e->batch; b++)
        for (int a = 0; a < p->example_angles; a++)
            add_slopes(p, &p->angle[p->shared_angles + a], e->example_gradient[b * p->example_angles + a], by_weights,
                       by_inputs + b * p->inputs);
}
